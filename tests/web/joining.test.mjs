// Joining beyond the first story: measured values kept, changes tried before they are taken, redundant
// and refused constraints with their ways out, stated features.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { place, sleep, until } from './harness.mjs';
import { changed } from './png.mjs';

const onPlane = { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top' };
const constraints = () => appliance.get('/constraints');
const make = (c) => appliance.api('POST', '/constraints', c);
const conePose = async () => (await appliance.tool()).pose;

async function pick(...refs) {
  for (const ref of refs) {
    const [object] = ref.split('/');
    if (!(await page.locator(`[data-key="${ref}"]`).count())) await page.click(`[data-key="${object}"] .twist`);
    await page.click(`[data-key="${ref}"]`);
  }
}

suite('joining', () => {
  beforeEach(() => visit('cone-on-cylinder'));

  test('with two features picked the page says what lies between them, and keeps exactly that', async () => {
    await pick('cone/apex', 'cylinder/center');
    const pose = await conePose();
    const d = Math.hypot(...place(pose, [0, 0, 0.1]));
    const measured = new RegExp(`^Distance\\s+${Number((1000 * d).toFixed(2))} mm`);
    await until(async () => measured.test(await person.text('.measured')), 'it is measured');
    assert.equal(await page.locator('.measured li').count(), 1, 'points have no angle');
    await page.getByRole('button', { name: 'Keep this distance' }).focus();
    await until(async () => /5 freedoms/.test(await person.text('.outcome')), 'it is tried first');
    assert.equal((await constraints()).length, 0);
    await page.getByRole('button', { name: 'Keep this distance' }).click();
    const [c] = await until(async () => (await constraints()).length === 1 && constraints(), 'it is made');
    assert.equal(c.type, 'distance');
    assert.ok(Math.abs(c.value - d) < 1e-12, `${c.value} for ${d}`);
    assert.ok(Math.hypot(...(await conePose()).p.map((v, i) => v - pose.p[i])) < 1e-9, 'the cone stays where it is');
  });

  test('an angle is kept as well', async () => {
    await pick('cone/axis', 'cylinder/axis');
    const [, x, y] = (await conePose()).q;
    const angle = Math.acos(1 - 2 * (x * x + y * y));
    await page.getByRole('button', { name: 'Keep this angle' }).click();
    const [c] = await until(async () => (await constraints()).length === 1 && constraints(), 'it is made');
    assert.equal(c.type, 'angle');
    assert.ok(Math.abs(c.value - angle) < 1e-9, `${c.value} for ${angle}`);
  });

  test('a typed value shows its ghost before it is taken; Esc leaves all as it was', async () => {
    await make(onPlane);
    await make({ id: 'c2', type: 'distance', a: 'cone/axis', b: 'cylinder/axis', value: 0.06 });
    await page.click('.entry-main:has-text("c2")');
    const field = page.locator('.right input[aria-label^="Value"]');
    await page.mouse.move(20, 500);
    await sleep(300);
    const before = await person.screenshot();
    const { p } = await conePose();
    const there = await person.at([p[0] * (0.02 / 0.06), p[1] * (0.02 / 0.06), 0.15]);
    await field.fill('20');
    await until(async () => /2 freedoms/.test(await person.text('.outcome')), 'what would be left');
    await sleep(400);
    await until(
      async () => changed(before, await person.screenshot(), there, 20) > 80,
      'the ghost is where the cone would go',
    );
    assert.equal((await constraints())[1].value, 0.06, 'nothing is changed yet');
    await page.locator('#canvas').focus();
    await page.keyboard.press('Escape');
    await until(async () => (await page.locator('.outcome').count()) === 0, 'dropped');
    await field.fill('20');
    await field.press('Enter');
    await until(async () => Math.abs((await constraints())[1].value - 0.02) < 1e-12, 'taken');
  });

  test('a sense is tried first and committed by the button; pointing at a switch tries it', async () => {
    await make(onPlane);
    await page.click('.entry-main:has-text("c1")');
    await page.selectOption('select[aria-label="Sense of the constraint"]', 'same');
    await until(async () => /3 freedoms/.test(await person.text('.outcome')), 'tried');
    assert.equal((await constraints())[0].sense, 'either');
    await page.getByRole('button', { name: /^Commit/ }).click();
    await until(async () => (await constraints())[0].sense === 'same', 'committed');
    await page.hover('.switch:has([aria-label="c1 enabled"])');
    await until(
      async () => /would leave 6 freedoms/.test(await person.text('.status-words')),
      'what disabling would leave',
    );
    assert.equal((await constraints())[0].enabled, true);
    await page.mouse.move(600, 500);
    await until(async () => !/would/.test(await person.text('.status-words')), 'and no more');
  });

  test('the ghosts of a change have their branches, and the chosen one is kept', async () => {
    await make({ ...onPlane, sense: 'opposite' });
    await page.click('.entry-main:has-text("c1")');
    await page.selectOption('select[aria-label="Sense of the constraint"]', 'either');
    await until(async () => /ghost 1 of 2/.test(await person.text('.branch-step')), 'two ghosts');
    await page.getByRole('button', { name: 'Next branch' }).click();
    await until(async () => /ghost 2 of 2/.test(await person.text('.branch-step')), 'the second');
    await page.getByRole('button', { name: /^Commit/ }).click();
    await until(async () => (await constraints())[0].sense === 'either', 'committed');
    await until(async () => {
      const s = await appliance.get('/solutions/cone');
      return s.branches.findIndex((b) => b.id === s.branch) === 1 || (await conePose()).q[0] ** 2 < 0.5;
    }, 'on the second branch');
  });

  test('a redundant constraint says what it follows from, lights it, and is disabled by a click', async () => {
    await make(onPlane);
    await make({ id: 'c2', type: 'parallel', a: 'cone/axis', b: 'cylinder/axis' });
    const constrained = (how) =>
      until(
        async () =>
          (await page.locator('[data-key="cone"] .tree-note svg').last().getAttribute('aria-label')).includes(how),
        `the tree says ${how}`,
      );
    await until(async () => /c2 follows from c1: .{10,}/.test(await person.text('.redundancy')), 'it is told');
    await constrained('over-constrained');
    await page.hover('.redundancy');
    await page.waitForSelector('.entry.related:has-text("c1")');
    await page.getByRole('button', { name: 'Disable c2' }).first().click();
    await until(async () => (await constraints())[1].enabled === false, 'disabled');
    await page.waitForSelector('.redundancy', { state: 'detached' });
    await constrained('under-constrained');
  });

  test('a distance that cannot be is refused with one that can, and a click takes it', async () => {
    await make(onPlane);
    await make({ id: 'c2', type: 'distance', a: 'cone/axis', b: 'cylinder/axis', value: 0.03 });
    await pick('cone/base', 'cylinder/bottom');
    await page.hover('[data-kind=distance]');
    await page.locator('.offer.active input').fill('150');
    await until(async () => /150 mm|50 mm/.test(await person.text('.refused')), 'it is refused');
    await until(async () => /conflict/.test(await person.text('.entry')), 'the culprit is lit');
    await page.waitForSelector('[data-key="cone"] [aria-label="in conflict"]');
    await page.getByRole('button', { name: 'Delete c1' }).first().waitFor();
    const fix = page.locator('.refused button', { hasText: /^Make it .?200 mm/ });
    await fix.click();
    await page.waitForSelector('.outcome:not(.refused) .primary');
    await page.getByRole('button', { name: /^Commit/ }).click();
    await until(async () => (await constraints()).some((c) => Math.abs(Math.abs(c.value) - 0.2) < 1e-9), 'committed');
  });

  test('a point of an object is stated, moved by typing and arrows, joined, and goes again', async () => {
    await page.click('[data-key="cone"]');
    await page.getByRole('button', { name: 'Add point' }).click();
    const ref = '/features/cone/point1';
    await until(() => appliance.get(ref), 'it is made');
    const x = page.getByRole('textbox', { name: 'point1, x' });
    await x.fill('12.5');
    await x.press('Enter');
    await until(async () => Math.abs((await appliance.get(ref)).point[0] - 0.0125) < 1e-12, 'typed');
    await x.focus();
    await page.keyboard.press('ArrowUp');
    await until(async () => Math.abs((await appliance.get(ref)).point[0] - 0.0135) < 1e-12, 'by an arrow');
    await make({ id: 'c1', type: 'coincident', a: 'cone/point1', b: 'cylinder/center' });
    await page.getByRole('button', { name: 'Delete cone/point1', exact: true }).click();
    await page.waitForSelector('.notice.error:has-text("c1")');
    await appliance.api('DELETE', '/constraints/c1');
    await page.getByRole('button', { name: 'Delete cone/point1', exact: true }).click();
    await until(
      async () => !(await appliance.get('/features?object=cone')).some((f) => f.id === 'cone/point1'),
      'gone',
    );
  });

  test('steps of a number are all taken though each answer is slow', async () => {
    await page.click('[data-key="cone"]');
    await page.getByRole('button', { name: 'Add point' }).click();
    await until(() => appliance.get('/features/cone/point1'), 'it is made');
    await page.route('**/api/v1/features/**', async (route) => {
      if (route.request().method() === 'PATCH') await sleep(1200);
      await route.continue();
    });
    const z = page.getByRole('textbox', { name: 'point1, z' });
    await z.focus();
    for (let i = 0; i < 3; i++) {
      await page.keyboard.press('ArrowUp');
      await sleep(500);
    }
    await until(
      async () => Math.abs((await appliance.get('/features/cone/point1')).point[2] - 0.103) < 1e-9,
      'three millimetres on',
    );
    await page.unroute('**/api/v1/features/**');
  });

  test('a feature moved while it runs takes the tool along', async () => {
    await page.click('[data-key="cone"]');
    await page.getByRole('button', { name: 'Add point' }).click();
    await until(() => appliance.get('/features/cone/point1'), 'it is made');
    await make({ id: 'c1', type: 'coincident', a: 'cone/point1', b: 'cylinder/center' });
    await page.click('.transport button[aria-label="Run"]');
    await until(
      async () => (await appliance.get('/simulation')).state === 'running' && !(await appliance.tool()).travelling,
      'it runs',
    );
    const z = page.getByRole('textbox', { name: 'point1, z' });
    await z.focus();
    for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowUp');
    await until(
      async () => Math.abs((await appliance.get('/features/cone/point1')).point[2] - 0.105) < 1e-9,
      'five millimetres on',
    );
    await until(async () => Math.hypot(...place(await conePose(), [0, 0, 0.105])) < 1e-6, 'the cone went with it');
  });

  test('lines and planes are stated with their directions', async () => {
    await page.click('[data-key="cone"]');
    await page.getByRole('button', { name: 'Add plane' }).click();
    await until(() => appliance.get('/features/cone/plane1'), 'it is made');
    const n = page.getByRole('textbox', { name: 'plane1, normal x' });
    await n.fill('1');
    await n.press('Enter');
    await until(
      async () => Math.abs((await appliance.get('/features/cone/plane1')).plane.normal[0] - Math.SQRT1_2) < 1e-9,
      'normalised',
    );
    const name = page.getByRole('textbox', { name: 'Name of the plane' });
    await name.fill('slope');
    await name.press('Enter');
    await until(() => appliance.get('/features/cone/slope'), 'renamed');
    await page.getByRole('button', { name: 'Add line' }).click();
    await until(async () => (await appliance.get('/features/cone/line1')).line.direction[2] === 1, 'a line along z');
  });

  test('a distance may be a wall: at least, at most; drawn, marked in the list, touched while it pushes', async () => {
    await make(onPlane);
    await pick('cone/apex', 'cylinder/axis');
    await page.hover('[data-kind=distance]');
    await page.selectOption('.offer.active select[aria-label=Bound]', 'at-most');
    const field = page.locator('.offer.active input');
    await page.mouse.move(600, 300);
    await sleep(300);
    await field.fill('90');
    await until(async () => /keep at most 90 mm apart/.test(await person.text('[data-kind=distance]')), 'in words');
    await field.press('Enter');
    const [, c] = await until(async () => (await constraints()).length === 2 && constraints(), 'it is made');
    assert.equal(c.bound, 'at-most');
    await page.waitForSelector('.entry-main[aria-pressed="true"]:has-text("c2")');
    await until(
      async () => /at most 90 mm apart[\s\S]*wall/.test(await page.locator('.entry').nth(1).innerText()),
      'marked in the list',
    );
    await page.keyboard.press('Escape');
    await page.waitForSelector('.entry-main[aria-pressed="true"]', { state: 'detached' });
    await page.mouse.move(20, 500);
    await sleep(300);
    const drawn = await person.screenshot();
    const side = await person.at([0.09, 0, 0.15]);
    await appliance.api('PATCH', `/constraints/${c.id}`, { enabled: false });
    await until(async () => /disabled/.test(await page.locator('.entry').nth(1).innerText()), 'disabled');
    await sleep(400);
    await until(async () => changed(drawn, await person.screenshot(), side, 25, 10) > 60, 'the wall was drawn');
    await page.click('.entry-main:has-text("c2")');
    await page.selectOption('select[aria-label="Bound"]', 'at-least');
    await page.locator('.right input[aria-label^="Value"]').fill('20');
    await page.locator('.right input[aria-label^="Value"]').press('Enter');
    await until(async () => (await constraints())[1].bound === 'at-least', 'changed, both at once');
    assert.ok(Math.abs((await constraints())[1].value - 0.02) < 1e-12);
  });
});
