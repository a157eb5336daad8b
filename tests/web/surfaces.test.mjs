// Free-form curves and surfaces on the page: picked, joined, felt.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { until } from './harness.mjs';

const bundled = (name) => JSON.parse(readFileSync(join(import.meta.dirname, `../../scenes/${name}.json`), 'utf8'));
const unjoined = (name) => ({ ...bundled(name), constraints: [] });

async function pickInList(ref) {
  const [object] = ref.split('/');
  if (!(await page.locator(`[data-key="${ref}"]`).count())) await page.click(`[data-key="${object}"] .twist`);
  await page.click(`[data-key="${ref}"]`);
}

// Rests on a kind until its preview reads like that.
const preview = (kind, like) =>
  until(async () => {
    await page.hover(`[data-kind=${kind}]`);
    await page.locator(`[data-kind=${kind}]`).focus();
    return like.test(await person.text('.outcome'));
  }, `${kind} previews ${like}`);

suite('curves and surfaces', () => {
  test('a surface and its edges are under the cursor', async () => {
    await visit(unjoined('nozzle-over-hood'));
    await person.point('hood/surface', [0.25, -0.15, 0.08]);
    await person.point('hood/u0', [-0.4, 0, 0.099]);
    await person.point('hood/v0', [0, -0.3, 0.09]);
  });

  test('a nozzle along the normal of a hood: previewed in words, made, dragged while it runs', async () => {
    await visit(unjoined('nozzle-over-hood'));
    await person.pick('hood/surface', [0.25, -0.15, 0.08]);
    await pickInList('nozzle/jet');
    await preview('normal', /3 freedoms: slides on the surface \(2\), turns about its normal \(1\)/);
    assert.match(await person.text('.outcome'), /ghost 1 of 2/); // there are two senses
    const offset = page.getByLabel('Offset, mm');
    await offset.fill('-4000');
    await offset.press('Tab');
    await until(async () => /beyond the focal distance, -2\.154\d* m/.test(await person.text('.outcome')), 'refused');
    await offset.fill('60');
    await offset.press('Tab');
    await until(async () => /It would leave 3 freedoms/.test(await person.text('.outcome')), 'taken');
    await page.getByLabel('Sense').selectOption('opposite');
    await until(async () => !/ghost 1 of 2/.test(await person.text('.outcome')), 'one sense, one branch');
    await page.click('.outcome button.primary');
    const [c] = await until(async () => {
      const list = await appliance.get('/constraints');
      return list.length === 1 && list;
    }, 'it is made');
    assert.deepEqual([c.type, c.a, c.b, c.value, c.sense], ['normal', 'nozzle/jet', 'hood/surface', 0.06, 'opposite']);
    await page.click('header button:has-text("Run")');
    await until(async () => (await appliance.get('/simulation')).state === 'running', 'it runs');
    const tip = async () => (await appliance.tool()).pose.p;
    const from = await tip();
    await page.bringToFront();
    const at = await person.at(from);
    await page.mouse.move(at.x, at.y);
    await page.mouse.down();
    for (let i = 1; i <= 20; i++) await page.mouse.move(at.x + 6 * i, at.y);
    await until(async () => Math.hypot(...(await tip()).map((x, k) => x - from[k])) > 0.03, 'it slides');
    await page.mouse.up();
    assert.ok((await appliance.tool()).residual < 1e-9);
  });

  test('a ball rolls on a saddle: the surfaces of bodies are offered', async () => {
    await visit(unjoined('rolling-on-saddle'));
    await pickInList('saddle/surface');
    await person.point('ball/surface', [-0.08, -0.1, 0.07]); // what takes nothing else goes before the centre
    await pickInList('ball/surface');
    await preview('rolling', /3 freedoms: rolls on the surface \(2\), turns about its normal \(1\)/);
    assert.equal(await page.locator('.offers .misfit:has-text("at an angle")').count(), 0);
    await page.locator('.outcome button.primary').click();
    const [c] = await until(async () => {
      const list = await appliance.get('/constraints');
      return list.length === 1 && list;
    }, 'it is made');
    assert.deepEqual([c.type, c.a, c.b], ['rolling', 'ball/surface', 'saddle/surface']);
  });

  test('a rim that slides on a face may lift off, and then is held again', async () => {
    await visit({
      name: 'Cup on a table',
      objects: [
        { id: 'table', geometry: { type: 'box', size: [0.4, 0.4, 0.02] }, fixed: true },
        { id: 'cup', geometry: { type: 'cylinder', radius: 0.03, height: 0.08 }, pose: { p: [0, 0, 0.06] } },
      ],
      tool: { object: 'cup', device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim' }],
    });
    await pickInList('table/+z');
    await pickInList('cup/bottom-rim');
    await preview('sliding', /It would leave/);
    await page.getByLabel('Contact', { exact: true }).selectOption('unilateral');
    await page.locator('.outcome button.primary').click();
    const contact = async () => (await appliance.get('/constraints'))[0]?.contact ?? 'none';
    await until(async () => (await contact()) === 'unilateral', 'it is made');
    await until(async () => /sliding, may lift off/.test(await person.text('.entry-words')), 'told in words');
    await page.getByLabel('Contact', { exact: true }).selectOption('bilateral');
    await page.locator('.outcome button.primary').click();
    await until(async () => (await contact()) === 'none', 'it is held both ways');
  });

  test('a control point is dragged while the nozzle runs over the hood: bumpless, one step for undo', async () => {
    const scene = bundled('nozzle-over-hood');
    for (const device of scene.devices) delete device.operator; // nobody pushes
    await visit(scene);
    await page.click('.tree [data-key="hood"]');
    await page.getByLabel('control points', { exact: true }).check();
    await page.click('header button:has-text("Run")');
    await until(async () => (await appliance.get('/simulation')).state === 'running', 'it runs');
    await page.locator('#canvas').focus();
    await page.keyboard.press('1'); // from the front: up is up
    await person.settled();
    const points = async () => (await appliance.get('/objects/hood')).geometry.points;
    const before = await points();
    const tool = (await appliance.tool()).pose.p;
    const front = await person.at(before[2][0]);
    await page.bringToFront();
    await page.mouse.move(front.x, front.y);
    await page.mouse.down();
    for (let i = 1; i <= 40; i++) await page.mouse.move(front.x, front.y - i);
    const moved = async () => (await points())[2][0][2] - before[2][0][2];
    await until(async () => (await moved()) > 0.02, 'the control point follows');
    await page.mouse.up();
    let rest = '';
    let since = 0;
    await until(async () => {
      const now = JSON.stringify(await points());
      if (now !== rest) [rest, since] = [now, Date.now()];
      return Date.now() - since > 600;
    }, 'the last patch is answered');
    const after = await points();
    assert.deepEqual(after[3], before[3], 'the others stay');
    const { residual } = await until(async () => {
      const t = await appliance.tool();
      return !t.travelling && t;
    }, 'it has come to the new surface');
    assert.ok(residual < 1e-9, `${residual}`);
    assert.ok(Math.hypot(...(await appliance.tool()).pose.p.map((x, k) => x - tool[k])) < 0.05, 'it stays near');
    await appliance.api('POST', '/scene/undo');
    assert.deepEqual(await points(), before);
    // and as numbers
    await page.getByLabel('Row of the control point, along u').selectOption({ value: '3' });
    const z = page.getByLabel('Control point, z, mm');
    await z.fill('120');
    await z.press('Enter');
    await until(async () => (await points())[3][0][2] === 0.12, 'typed');
  });

  test('a surface is fitted to points that were pasted, a curve read from a file, both one step for undo', async () => {
    await visit({ name: 'Nothing yet', objects: [] });
    const open = () => page.getByRole('button', { name: 'Add a surface or a curve' }).click();
    const objects = () => appliance.get('/objects');
    await open();
    await page.getByLabel('Name', { exact: true }).fill('sheet');
    const text = page.getByLabel(/^Points: x, y, z in mm/);
    await text.fill('x,y,z\n0,0,0\n0,50,zwei');
    await page.getByRole('button', { name: 'Make it' }).click();
    await until(async () => /Line 3 is not x, y, z: 0,50,zwei/.test(await person.text('.modal .refused')), 'told');
    const rows = [0, 1, 2, 3].map((i) => [0, 1, 2, 3].map((j) => `${50 * i}, ${50 * j}, ${5 * i * j}`).join('\n'));
    await text.fill(rows.join('\n\n'));
    await page.getByRole('button', { name: 'Make it' }).click();
    const [sheet] = await until(async () => (await objects()).length === 1 && objects(), 'it is made');
    assert.deepEqual([sheet.id, sheet.fixed, sheet.geometry.type], ['sheet', true, 'nurbs-surface']);
    const corner = sheet.geometry.points[3][3];
    for (const [k, x] of [0.15, 0.15, 0.045].entries()) assert.ok(Math.abs(corner[k] - x) < 1e-12, `${corner}`);
    await page.locator('dialog').waitFor({ state: 'detached' });
    await until(async () => /4 × 4 control points/.test(await person.text('.notice p')), 'told in words');
    await open();
    const bow = {
      type: 'nurbs-curve',
      degree: 2,
      knots: [0, 0, 0, 1, 1, 1],
      points: [
        [0, 0, 0.1],
        [0.1, 0, 0.2],
        [0.2, 0, 0.1],
      ],
    };
    await page.getByLabel('Shape as JSON').setInputFiles({
      name: 'bow.json',
      mimeType: 'application/json',
      buffer: Buffer.from(JSON.stringify(bow)),
    });
    await until(async () => (await objects()).some((o) => o.id === 'bow' && o.geometry.type === 'nurbs-curve'), 'read');
    await page.locator('#canvas').focus();
    await page.keyboard.press('Escape'); // nothing is selected: no control mesh over it
    await person.settled();
    await person.point('bow/curve', [0.1, 0, 0.15]);
    await person.point('bow/start', [0, 0, 0.1]);
    await appliance.api('POST', '/scene/undo');
    assert.deepEqual(
      (await objects()).map((o) => o.id),
      ['sheet'],
    );
    await appliance.api('POST', '/scene/undo');
    assert.deepEqual(await objects(), []);
  });
});
