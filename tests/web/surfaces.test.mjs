// Free-form curves and surfaces on the page: picked, joined, felt.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { audit, rotate, until } from './harness.mjs';
import { changed, tealStrokes } from './png.mjs';

const bundled = (name) => JSON.parse(readFileSync(new URL(`../../scenes/${name}.json`, import.meta.url), 'utf8'));
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
    await preview('normal', /3 freedoms: slides on the hood \(2\), turns about its normal \(1\)/);
    await until(async () => /ghost 1 of 2/.test(await person.text('.outcome')), 'there are two senses');
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

  test('a line is made tangent to a curve: previewed in words, made, felt', async () => {
    await visit({
      name: 'Bead on a wire',
      objects: [
        {
          id: 'wire',
          geometry: {
            type: 'nurbs-curve',
            degree: 2,
            knots: [0, 0, 0, 1, 1, 1],
            points: [
              [-0.2, 0, 0],
              [0, 0, 0.15],
              [0.2, 0, 0],
            ],
          },
          fixed: true,
        },
        { id: 'bead', geometry: { type: 'box', size: [0.02, 0.02, 0.02] }, pose: { p: [0.02, 0.01, 0.06] } },
      ],
      tool: { object: 'bead', device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim' }],
    });
    await pickInList('wire/curve');
    await pickInList('bead/axis-x');
    await preview('tangent', /2 freedoms: slides along the wire \(1\), turns about its tangent \(1\)/);
    const from = page.getByLabel('From its point, mm');
    await from.fill('5');
    await from.press('Tab');
    await page.getByLabel('Sense').selectOption('same');
    await page.click('.outcome button.primary');
    const [c] = await until(async () => {
      const list = await appliance.get('/constraints');
      return list.length === 1 && list;
    }, 'it is made');
    assert.deepEqual([c.type, c.value, c.sense], ['tangent', 0.005, 'same']);
    await until(async () => /tangent, 5 mm from its point/.test(await person.text('.entry-words')), 'told in words');
    assert.ok((await appliance.tool()).residual < 1e-9);
  });

  test('a bead on a sheet and on a wire is dragged along them while stopped', async () => {
    const sheet = {
      type: 'nurbs-surface',
      degree: [2, 2],
      knots: [
        [0, 0, 0, 1, 1, 1],
        [0, 0, 0, 1, 1, 1],
      ],
      points: [-0.1, 0, 0.1].map((x) => [-0.1, 0, 0.1].map((y) => [x, y, 0.1 - 4 * (x * x + y * y)])),
    };
    const wire = { type: 'nurbs-curve', degree: 2, knots: [0, 0, 0, 1, 1, 1], points: sheet.points.map((p) => p[1]) };
    for (const [geometry, on] of [
      [sheet, 'guide/surface'],
      [wire, 'guide/curve'],
    ]) {
      await visit({
        name: 'Bead',
        objects: [
          { id: 'guide', geometry, fixed: true },
          { id: 'bead', geometry: { type: 'box', size: [0.03, 0.03, 0.03] }, pose: { p: [0, 0, 0.05] } },
        ],
        constraints: [{ id: 'on', type: 'coincident', a: 'bead/center', b: on }],
        tool: { object: 'bead', device: 'sim' },
        devices: [{ id: 'sim', driver: 'sim' }],
      });
      const place = async () => (await appliance.get('/objects/bead')).pose.p;
      const from = (await appliance.tool()).pose.p;
      const at = await person.at(from);
      const to = await person.at([0.05, 0, from[2] - 0.01]);
      await page.mouse.move(at.x, at.y);
      await page.mouse.down();
      for (let i = 1; i <= 20; i++) {
        await page.mouse.move(at.x + ((to.x - at.x) * i) / 20, at.y + ((to.y - at.y) * i) / 20);
        await page.waitForTimeout(20);
      }
      await page.mouse.up();
      const end = await until(async () => (await place())[0] > 0.03 && (await place()), `it slides on ${on}`);
      assert.ok(Math.hypot(end[0] - 0.05, end[1]) < 0.02, `${on}: ${end}`);
      assert.deepEqual((await appliance.get('/objects/bead')).pose.q, [1, 0, 0, 0]);
      assert.ok((await appliance.tool()).residual < 1e-9);
    }
  });

  test('a ball rolls on a saddle: the surfaces of bodies are offered', async () => {
    await visit(unjoined('rolling-on-saddle'));
    await pickInList('saddle/surface');
    await person.point('ball/surface', [-0.08, -0.1, 0.07]); // what takes nothing else goes before the centre
    await pickInList('ball/surface');
    await preview('rolling', /3 freedoms: rolls on the saddle \(2\), turns about its normal \(1\)/);
    assert.equal(await page.locator('.offers .misfit:has-text("at an angle")').count(), 0);
    await page.locator('.outcome button.primary').click();
    const [c] = await until(async () => {
      const list = await appliance.get('/constraints');
      return list.length === 1 && list;
    }, 'it is made');
    assert.deepEqual([c.type, c.a, c.b], ['rolling', 'ball/surface', 'saddle/surface']);
  });

  test('two curves that were picked keep one tangent: previewed in words, made', async () => {
    const scene = unjoined('curve-on-curve');
    scene.joints = [];
    scene.objects = scene.objects
      .filter((o) => /^(cam|follower)$/.test(o.id))
      .map((o) => ({ ...o, fixed: o.id === 'follower', free: false }));
    await visit(scene);
    await pickInList('cam/curve');
    await pickInList('follower/curve');
    await preview('sliding', /3 freedoms: slides along both curves \(2\), turns about their tangent \(1\)/);
    await preview('pure-rolling', /1 freedom: rolls along the curve \(1\)/);
    await preview('rolling', /2 freedoms: rolls along the curve \(1\), turns about their tangent \(1\)/);
    assert.equal(await page.getByLabel('Contact', { exact: true }).count(), 0); // they do not part
    await page.locator('.outcome button.primary').click();
    const [c] = await until(async () => {
      const list = await appliance.get('/constraints');
      return list.length === 1 && list;
    }, 'it is made');
    assert.deepEqual([c.type, c.a, c.b], ['rolling', 'cam/curve', 'follower/curve']);
    await until(async () => (await appliance.get('/contacts')).length === 1, 'the contact is told');
    await page.click('header button:has-text("Run")');
    await until(async () => (await appliance.get('/simulation')).state === 'running', 'it runs');
    assert.ok((await appliance.tool()).residual < 1e-9);
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

  test('surfaces are lofted through sections and swept along a path in the dialog', async () => {
    await visit({ name: 'Nothing yet', objects: [] });
    const made = async (way, name, fill) => {
      await page.getByRole('button', { name: 'Add a surface or a curve' }).click();
      await page.getByRole('button', { name: way, exact: true }).click();
      await page.getByLabel('Name', { exact: true }).fill(name);
      for (const [label, text] of fill) await page.getByLabel(label).fill(text);
      await page.getByRole('button', { name: 'Make it' }).click();
      const object = await until(
        async () => (await appliance.get('/objects')).find((o) => o.id === name),
        `${name} is made`,
      );
      await page.locator('dialog').waitFor({ state: 'detached' });
      return object.geometry;
    };
    const near = (a, b) => a.every((x, k) => Math.abs(x - b[k]) < 1e-9);
    const loft = await made('Loft', 'skin', [
      [/^Sections: x, y, z in mm/, '0, 0, 0\n0, 100, 0\n\n100, 0, 40\n100, 100, 60'],
    ]);
    assert.equal(loft.type, 'nurbs-surface');
    const corners = [loft.points[0][0], loft.points.at(-1).at(-1)];
    assert.ok(near(corners[0], [0, 0, 0]) && near(corners[1], [0.1, 0.1, 0.06]), `${corners}`);
    const sweep = await made('Sweep', 'rail', [
      [/^Profile: x, y, z in mm/, '0, -20, 0\n0, 20, 0'],
      [/^Path: x, y, z in mm/, '0, 0, 0\n200, 0, 50'],
    ]);
    assert.equal(sweep.type, 'nurbs-surface');
    const all = sweep.points.flat();
    for (const corner of [
      [0, -0.02, 0],
      [0, 0.02, 0],
      [0.2, -0.02, 0.05],
      [0.2, 0.02, 0.05],
    ])
      assert.ok(
        all.some((p) => near(p, corner)),
        `${corner} is a corner of ${JSON.stringify(all)}`,
      );
  });

  for (const [name, options] of [
    ['on a screen', undefined],
    ['on a phone', { viewport: { width: 390, height: 844 }, hasTouch: true }],
  ])
    test(`axe finds nothing serious in the dialog of surfaces, ${name}`, async () => {
      await visit('nozzle-over-hood', options);
      if (name === 'on a phone') await page.click('.tabs button:has-text("Scene")');
      await page.getByRole('button', { name: 'Add a surface or a curve' }).click();
      await page.waitForSelector('dialog[open] .kinds');
      const serious = await audit(page);
      const room = () =>
        page.evaluate(() => {
          const parts = [...document.querySelectorAll('dialog[open] *')].map((e) => e.getBoundingClientRect());
          return parts.every((r) => r.width === 0 || (r.left >= -0.5 && r.right <= innerWidth + 0.5));
        });
      for (const way of await page.locator('dialog .kinds button').allTextContents()) {
        await page.locator(`dialog .kinds button:text-is("${way}")`).click();
        await serious(way);
        assert.ok(await room(), `${way}: nothing is wider than the screen`);
      }
      await page.getByLabel(/^Profile: x, y, z in mm/).fill('0, zwei');
      await page.getByRole('button', { name: 'Make it' }).click();
      await page.waitForSelector('.modal .refused');
      await serious('refused');
      assert.ok(await room(), 'refused: nothing is wider than the screen');
    });

  test('where a ball rolls on a saddle the contact is told and drawn', async () => {
    await visit('rolling-on-saddle');
    const contacts = () => appliance.get('/contacts');
    const [c] = await until(async () => (await contacts()).length === 2 && contacts(), 'they are told');
    assert.deepEqual([c.a, c.b, c.state], ['ball', 'saddle', 'continuous']);
    assert.ok(Math.abs(Math.hypot(...c.normal) - 1) < 1e-9 && Math.abs(c.gap) < 1e-9, JSON.stringify(c));
    await person.settled();
    const with_ = await person.screenshot();
    const [id] = (await appliance.get('/constraints')).filter((k) => k.a === 'ball/surface').map((k) => k.id);
    await appliance.api('PATCH', `/constraints/${id}`, { enabled: false });
    await until(async () => (await contacts()).length === 1, 'it is gone');
    await until(
      async () => changed(with_, await person.screenshot(), await person.at(c.point), 10, 10) > 25,
      'a point with its normal and tangents',
    );
  });

  // ---- the contact of a constraint that is selected or pointed at ----------------------------------

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const entry = (id) => page.locator(`.entry-main:has(.entry-id:text-is("${id}"))`);
  const drawn = async () => JSON.parse((await page.getAttribute('#canvas', 'data-contact')) || 'null');

  // The drawing of a constraint, and whether its frame is one about the normal that the appliance tells.
  async function select(id) {
    await entry(id).click();
    const shown = await until(async () => {
      const now = await drawn();
      return now?.constraint === id && now;
    }, `${id} has a contact`);
    const { e1, e2, e3 } = shown.frame;
    for (const [a, b, is] of [
      [e1, e1, 1],
      [e2, e2, 1],
      [e3, e3, 1],
      [e1, e2, 0],
      [e2, e3, 0],
      [e3, e1, 0],
    ])
      assert.ok(Math.abs(dot(a, b) - is) < 1e-9, JSON.stringify(shown.frame));
    const axes = (turns) => shown.motions.filter((m) => m.turns === turns).map((m) => m.axis);
    return { ...shown, slides: axes(false), turns: axes(true) };
  }

  test('what surfaces that slide, roll and roll purely allow is drawn about their normal, and told', async () => {
    await visit('contact-freedoms');
    const contacts = await until(async () => {
      const list = await appliance.get('/contacts');
      return list.length === 3 && list;
    }, 'all touch');
    for (const [id, body, slides, turns, words] of [
      ['c1', 'slides', [0, 1], [0, 1, 2], /slides on the saddle \(2\), turns freely \(3\)/],
      ['c2', 'rolls', [], [0, 1, 2], /rolls on the saddle \(2\), turns about its normal \(1\)/],
      ['c3', 'rolls-purely', [], [0, 1], /allows: rolls on the saddle \(2\)\./],
    ]) {
      const { point, normal } = contacts.find((c) => c.a === body);
      await page.locator('#canvas').focus();
      await page.keyboard.press('Escape');
      await page.mouse.move(640, 5);
      await until(async () => (await drawn()) === null, 'nothing is selected');
      const before = await person.screenshot();
      const shown = await select(id);
      assert.deepEqual([shown.touch, shown.slides, shown.turns], ['point', slides, turns]);
      assert.ok(Math.abs(dot(shown.frame.e3, normal)) > 1 - 1e-9);
      assert.ok(Math.hypot(...shown.point.map((x, k) => x - point[k])) < 1e-9);
      await until(async () => words.test(await person.text('[data-contact-words]')), `${id} in words`);
      await page.mouse.move(640, 5);
      const at = await person.at(point);
      await until(
        async () => tealStrokes(await person.screenshot(), at, 60) > tealStrokes(before, at, 60) + 150,
        `${id} has arrows or rings`,
      );
    }
  });

  test('a contact is drawn while its constraint is pointed at in the list, and no longer', async () => {
    await visit('rolling-on-saddle');
    await until(async () => (await appliance.get('/contacts')).length === 2, 'they touch');
    assert.equal(await drawn(), null);
    await entry('egg-rolls').hover();
    await until(async () => (await drawn())?.constraint === 'egg-rolls', 'shown');
    await entry('ball-rolls').hover();
    await until(async () => (await drawn())?.constraint === 'ball-rolls', 'the other');
    await page.mouse.move(640, 5);
    await until(async () => (await drawn()) === null, 'put away');
    await entry('ball-rolls').focus();
    await until(async () => (await drawn())?.constraint === 'ball-rolls', 'by the keyboard too');
  });

  test('curves have the common tangent of the two ellipses, and roll about what stands on both', async () => {
    await visit('elliptic-wheels');
    const shown = await select('rolls');
    assert.deepEqual([shown.touch, shown.slides, shown.turns], ['curves', [], [0, 1]]);
    const { geometry, pose } = await appliance.get('/objects/driver');
    const inverse = [pose.q[0], ...pose.q.slice(1).map((x) => -x)];
    const [x, y] = rotate(
      inverse,
      shown.point.map((c, k) => c - pose.p[k]),
    );
    const centre = [0, 1].map((k) => {
      const all = geometry.points.map((p) => p[k]);
      return (Math.max(...all) + Math.min(...all)) / 2;
    });
    const half = [0, 1].map((k) => Math.max(...geometry.points.map((p) => p[k])) - centre[k]);
    const gradient = [(x - centre[0]) / half[0] ** 2, (y - centre[1]) / half[1] ** 2, 0];
    const tangent = rotate(pose.q, [-gradient[1], gradient[0], 0]);
    const cosine = Math.abs(dot(tangent, shown.frame.e1)) / Math.hypot(...tangent);
    assert.ok(cosine > Math.cos(Math.PI / 180), `${cosine}`);
    assert.ok(Math.abs(dot(shown.frame.e2, rotate(pose.q, [0, 0, 1]))) > 1 - 1e-6, 'across the wheels');
    await until(
      async () =>
        /rolls along the curve \(1\), turns about their tangent/.test(await person.text('[data-contact-words]')),
      'in words',
    );
    await visit('curve-on-curve');
    const slid = await select('touch');
    assert.deepEqual([slid.touch, slid.slides, slid.turns], ['curves', [0], [0, 1]]);
  });

  test('a roller on a table touches along its axis; what has parted is told', async () => {
    const q = [Math.SQRT1_2, 0, Math.SQRT1_2, 0];
    const roller = (height, contact) => ({
      name: `Roller on a table, ${contact}`,
      objects: [
        { id: 'table', geometry: { type: 'box', size: [0.4, 0.4, 0.02] }, fixed: true },
        { id: 'roller', geometry: { type: 'cylinder', radius: 0.03, height: 0.1 }, pose: { p: [0, 0, height], q } },
      ],
      constraints: [{ id: 'lies', type: 'sliding', a: 'roller/surface', b: 'table/+z', contact }],
      tool: { object: 'roller', device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim' }],
    });
    await visit(roller(0.04, 'bilateral'));
    const shown = await select('lies');
    assert.deepEqual([shown.touch, shown.slides, shown.turns], ['line', [0, 1], [0, 2]]);
    assert.ok(Math.abs(shown.frame.e1[0]) > 1 - 1e-6, 'along its axis');
    await until(
      async () => /turns about its normal \(1\), rolls \(1\)/.test(await person.text('[data-contact-words]')),
      'in words',
    );
    await appliance.api('PATCH', '/constraints/lies', { enabled: false });
    await until(async () => (await drawn()) === null, 'nothing is drawn of what does not hold');
    await visit(roller(0.1, 'unilateral'));
    await entry('lies').click();
    await until(async () => /do not touch now/.test(await person.text('[data-contact-words]')), 'parted');
    assert.equal(await drawn(), null);
  });
});
