// The page beside the story: primitives, files, refusals, losing the server, HALT, the keyboard
// alone, colours, accessibility, what is sent and what is written to the console.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { beforeEach, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { appliance, browser, page, person, show, suite, visit } from './fixture.mjs';
import { Appliance, audit, place, sleep, until } from './harness.mjs';

const objects = () => appliance.get('/objects');
const constraints = () => appliance.get('/constraints');

// Opens an object in the tree and picks one of its features, by keys alone.
async function pickByKeys(ref) {
  const [object] = ref.split('/');
  await page.locator('.tree [tabindex="0"]').focus();
  await page.keyboard.press('Home');
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('data-key'));
  for (let i = 0; i < 60 && (await focused()) !== object; i++) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.waitForSelector(`[data-key="${ref}"]`);
  for (let i = 0; i < 60 && (await focused()) !== ref; i++) await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), ref);
  await page.keyboard.press('Enter');
}

suite('the page', () => {
  beforeEach(() => visit('cone-on-cylinder'));

  test('parts that are added are alike in size, stand on the ground at round places, and are seen whole', async () => {
    await page.click('button[aria-label="New scene"]');
    await until(async () => (await objects()).length === 0, 'an empty scene');
    const kinds = ['box', 'box', 'cylinder', 'cone', 'sphere', 'capsule'];
    for (let i = 0; i < kinds.length; i++) {
      await page.click(`button[aria-label="Add a ${kinds[i]}"]`);
      await until(async () => (await objects()).length === i + 1, kinds[i]);
      await until(async () => (await page.locator('.tree [aria-selected=true]').count()) === 1, 'it is selected');
      await sleep(200);
    }
    const all = await objects();
    for (const { id, geometry: g, pose } of all) {
      const half = { box: g.size?.[2] / 2, cone: 0, sphere: g.radius, capsule: g.height / 2 + g.radius };
      assert.equal(pose.p[2], half[g.type] ?? g.height / 2, `${id} stands on the ground`);
      assert.ok(
        pose.p.every((x) => Math.abs(1000 * x - Math.round(1000 * x)) < 1e-9),
        `${id} at ${pose.p}`,
      );
      const shown = await person.at(pose.p);
      assert.ok(shown.inside, `${id} is in the picture`);
    }
    assert.deepEqual(all[1].geometry, all[0].geometry);
  });

  test('a box is added, sized, placed, renamed and deleted', async () => {
    await page.click('button[aria-label="Add a box"]');
    await until(async () => (await objects()).some((o) => o.id === 'box'), 'the box');
    const set = async (label, value) => {
      const field = page.locator(`.right input[aria-label^="${label}"]`);
      await field.fill(String(value));
      await field.press('Enter');
    };
    await set('Size along x', 120);
    await until(
      async () => Math.abs((await appliance.get('/objects/box')).geometry.size[0] - 0.12) < 1e-12,
      'its size',
    );
    await set('Position z', 75);
    await until(async () => Math.abs((await appliance.get('/objects/box')).pose.p[2] - 0.075) < 1e-12, 'its place');
    await set('Orientation yaw', 90);
    await until(
      async () => Math.abs((await appliance.get('/objects/box')).pose.q[3] - Math.SQRT1_2) < 1e-6,
      'its turn',
    );
    const name = page.locator('.right input.name');
    await name.fill('peg');
    await name.press('Enter');
    await until(async () => (await objects()).some((o) => o.id === 'peg'), 'its name');
    await page.click('.right button[aria-label="Delete peg"]');
    await until(async () => !(await objects()).some((o) => o.id === 'peg'), 'it is gone');
    for (let i = 0; i < 3; i++) await page.click('button[aria-label="Undo"]');
    await until(async () => (await objects()).some((o) => o.id === 'box' || o.id === 'peg'), 'undo brings it back');
  });

  test('numbers take arrows, the wheel and Esc, and refuse what is no number', async () => {
    await page.click('.tree [data-key="cone"]');
    const field = page.locator('.right input[aria-label^="Radius"]');
    await field.focus();
    await page.keyboard.press('ArrowUp');
    await until(
      async () => Math.abs((await appliance.get('/objects/cone')).geometry.radius - 0.041) < 1e-9,
      'one millimetre more',
    );
    await field.hover();
    await page.mouse.wheel(0, 100);
    await until(async () => Math.abs((await appliance.get('/objects/cone')).geometry.radius - 0.04) < 1e-9, 'one less');
    await field.fill('wide');
    await field.press('Enter');
    await until(async () => (await field.getAttribute('aria-invalid')) === 'true', 'it is no number');
    await field.press('Escape');
    await until(async () => (await field.inputValue()) === '40', 'as it was');
  });

  test('the server refuses a radius below zero, and the page says so', async () => {
    await page.click('.tree [data-key="cone"]');
    const field = page.locator('.right input[aria-label^="Radius"]');
    await field.fill('-5');
    await field.press('Enter');
    await until(async () => (await person.text('.notice.error p')).length > 10, 'a sentence');
    assert.equal((await appliance.get('/objects/cone')).geometry.radius, 0.04);
  });

  test('what the server refuses is told by the name and in the unit of the field', async () => {
    await page.click('.tree [data-key="cone"]');
    const refused = async (label, text, words) => {
      const field = page.getByLabel(label, { exact: true });
      await field.evaluate((e) => {
        for (let d = e.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
      });
      await field.fill(text);
      await field.press('Enter');
      await until(async () => (await person.text('.notice.error p')) === words, words);
    };
    await refused('Position x, mm', '1e99', 'Position x is 1e+99 mm, must be from -1e+78 to 1e+78 mm.');
    await refused('Linear damping, N s/m', '-1', 'Linear damping is \u22121 N s/m, must be 0 or more.');
    await refused('Limit of force, N', '-3', 'Limit of force is \u22123 N, must be 0 (no limit) or more.');
    await refused('sim, bandwidth, Hz', '-1', 'sim, bandwidth is \u22121 Hz, must be 0 to 4000 Hz.');
    await refused(
      'Device metres per metre of the task, \u00d7',
      '0',
      'Device metres per metre of the task is 0, must be greater than 0.',
    );
  });

  test('deleting what others refer to is refused by name, with a way out', async () => {
    await appliance.api('POST', '/constraints', { type: 'coincident', a: 'cone/base', b: 'cylinder/top' });
    await page.click('.tree [data-key="cone"]');
    await page.click('.right button[aria-label="Delete cone"]');
    await page.waitForSelector('.notice.error');
    await page.click('.notice button:has-text("Delete cone with")');
    await until(async () => !(await objects()).some((o) => o.id === 'cone'), 'it is gone');
  });

  test('a constraint is made with the keyboard alone', async () => {
    await pickByKeys('cone/base');
    await pickByKeys('cylinder/top');
    await page.waitForSelector('[data-kind=coincident]');
    const kind = page.locator('[data-kind=coincident]');
    for (let i = 0; i < 120 && !(await kind.evaluate((b) => b === document.activeElement)); i++)
      await page.keyboard.press('Tab');
    assert.ok(await kind.evaluate((b) => b === document.activeElement), 'Tab reaches the kind');
    await until(async () => /3 freedoms/.test(await person.text('.outcome')), 'focus previews it');
    assert.equal((await constraints()).length, 0);
    await page.keyboard.press('Enter');
    await until(async () => (await constraints()).length === 1, 'Enter commits it');
    await until(async () => /3 freedoms/.test(await page.locator('[data-said]').innerText()), 'it is read out');
  });

  test('Tab steps through the features that overlap under the cursor', async () => {
    await person.point(/^cylinder\/top 1 of \d/, [-0.05, 0.02, 0.1]); // the top goes first
    await page.keyboard.press('Tab');
    await until(async () => / 2 of \d/.test(await person.hovered()), 'the next');
    await page.keyboard.press('Shift+Tab');
    await until(async () => /^cylinder\/top/.test(await person.hovered()), 'and back');
  });

  test('what passes under a cursor at rest is named: a body moves away, the camera turns', async () => {
    await person.point(/^cylinder\/top/, [-0.05, 0.02, 0.1]);
    const { pose } = await appliance.get('/objects/cylinder');
    await appliance.api('PATCH', '/objects/cylinder', {
      pose: { ...pose, p: [pose.p[0], pose.p[1], pose.p[2] - 0.3] },
    });
    await until(async () => !/^cylinder\/top/.test(await person.hovered()), 'it went away');
    await appliance.api('PATCH', '/objects/cylinder', { pose });
    await until(async () => /^cylinder\/top/.test(await person.hovered()), 'it is back');
    await page.locator('#canvas').focus();
    await page.keyboard.press('1');
    await until(async () => !/^cylinder\/top/.test(await person.hovered()), 'seen from elsewhere it is not there');
  });

  test('kind first, then the features', async () => {
    await page.click('.kinds button:has-text("parallel")');
    await pickByKeys('cone/axis');
    await pickByKeys('cylinder/axis');
    await until(
      async () => (await page.locator('.offer.active').innerText()).startsWith('parallel'),
      'it is tried at once',
    );
    await page.keyboard.press('Escape');
    await until(async () => (await page.locator('.offer.active').count()) === 0, 'Esc drops it');
  });

  test('kinds that do not fit are grey and say why', async () => {
    await pickByKeys('cone/apex');
    await pickByKeys('cylinder/center');
    const text = await until(async () => {
      const all = await page.locator('.offer.misfit').allInnerTexts();
      return all.length === 3 && all;
    }, 'three are grey');
    for (const t of text) assert.match(t, /a point has no direction/);
    await page.locator('.picked button').last().click();
    await pickByKeys('cone/base');
    await until(async () => {
      const all = await page.locator('.offer.misfit').allInnerTexts();
      return all.length > 0 && all.every((t) => /Both belong to cone/.test(t));
    }, 'one object only');
  });

  test('a set that cannot hold is refused in words, its culprits lit, with fixes', async () => {
    await appliance.api('POST', '/constraints', { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top' });
    await pickByKeys('cone/base');
    await pickByKeys('cylinder/top');
    await page.hover('[data-kind=distance]');
    const field = page.locator('.offer.active input');
    await field.fill('20');
    await until(async () => /Cannot hold\./.test(await person.text('.refused')), 'it is refused');
    await until(async () => (await person.text('.refused p')).length > 25, 'in a sentence');
    await until(async () => /conflict/.test(await person.text('.entry')), 'the culprit is marked in the list');
    assert.equal((await constraints()).length, 1, 'nothing was changed');
    await page.click('.fixes button:has-text("Disable c1")');
    await until(async () => (await page.locator('.outcome:not(.refused) .primary').count()) === 1, 'now it can hold');
    await page.click('.outcome .primary');
    await until(async () => (await constraints()).length === 2, 'committed');
  });

  test('an edit that clashes with another constraint is refused, and a fix carries it out', async () => {
    await appliance.api('POST', '/constraints', { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top' });
    await appliance.api('POST', '/constraints', {
      id: 'c2',
      type: 'distance',
      a: 'cone/base',
      b: 'cylinder/bottom',
      value: -0.2,
      enabled: false,
    });
    await page.click('.entry-main:has-text("c2")');
    const value = page.locator('.right input[aria-label^="Value"]');
    await value.fill('-150');
    await value.press('Enter');
    await until(async () => Math.abs((await constraints())[1].value + 0.15) < 1e-9, 'disabled, it may be anything');
    await page.click('input[aria-label="c2 enabled"]');
    await page.waitForSelector('.notice.error');
    assert.equal((await constraints())[1].enabled, false);
    await page.click('.notice button:has-text("Disable c1")');
    await until(async () => (await constraints())[1].enabled !== false, 'now it is in force');
  });

  test('a scene is saved, opened from the gallery and deleted', async () => {
    await page.keyboard.press('Control+s');
    const name = page.locator('.modal input[type=text]');
    await name.fill('my cone');
    await name.press('Enter');
    await until(async () => (await appliance.get('/scenes')).some((s) => s.saved), 'saved');
    await page.locator('#canvas').focus();
    await page.keyboard.press('g');
    await until(async () => (await page.locator('.card').count()) >= 9, 'the cards');
    await page.click('.card-main:has-text("peg-and-hole")');
    await until(
      async () => (await objects()).length === 2 && (await appliance.get('/scene')).name !== 'Cone over cylinder',
      'the peg',
    );
    await page.selectOption('.scene-menu', 'my-cone').catch(async () => {
      const { file } = (await appliance.get('/scenes')).find((s) => s.saved);
      await page.selectOption('.scene-menu', file);
    });
    await until(async () => (await objects()).some((o) => o.id === 'cone'), 'the saved one');
    await page.click('button[aria-label="Gallery of scenes"]');
    await page.click('.card button[aria-label^="Delete the saved scene"]');
    await until(async () => !(await appliance.get('/scenes')).some((s) => s.saved), 'deleted');
  });

  test('a scene is downloaded and opened again from its file', async () => {
    await appliance.api('POST', '/constraints', { id: 'kept', type: 'coincident', a: 'cone/base', b: 'cylinder/top' });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.click('button[aria-label="Download scene"]'),
    ]);
    const file = join(appliance.data, 'downloaded.json');
    await download.saveAs(file);
    assert.equal(JSON.parse(await readFile(file, 'utf8')).constraints[0].id, 'kept');
    await appliance.open('sphere');
    await page.setInputFiles('#scene-file', file);
    await until(async () => (await constraints()).some((c) => c.id === 'kept'), 'it is back');
    const rubbish = join(appliance.data, 'rubbish.json');
    await writeFile(rubbish, 'no scene');
    await page.setInputFiles('#scene-file', rubbish);
    await page.waitForSelector('.notice.error:has-text("rubbish.json")');
  });

  test('HALT acts at once by key and button; arming asks', async () => {
    await page.click('.transport button[aria-label="Run"]');
    await until(async () => (await appliance.get('/simulation')).state === 'running', 'it runs');
    await page.keyboard.press('Control+.');
    await until(async () => (await appliance.get('/simulation')).halted, 'halted');
    await page.waitForSelector('.banner.halted');
    await page.click('.arm');
    await page.waitForSelector('dialog[open]');
    assert.ok((await appliance.get('/simulation')).halted, 'asking arms nothing');
    await page.click('dialog .primary');
    await until(async () => !(await appliance.get('/simulation')).halted, 'armed');
    await page.waitForSelector('.halt');
    await page.click('.halt');
    await until(async () => (await appliance.get('/simulation')).halted, 'halted by the button');
  });

  test('the page comes back by itself after the server was away, and shows what it missed', async () => {
    await appliance.down();
    await page.waitForSelector('.banner.lost');
    await appliance.up();
    await appliance.open('paper-circle');
    await page.waitForSelector('.banner.lost', { state: 'detached', timeout: 20000 });
    await until(async () => /2 freedoms/.test(await person.words()), 'the other scene is shown');
    await page.waitForSelector('.notice.info:has-text("started anew")');
  });

  test('where only the stream was lost, what happened meanwhile is counted', async () => {
    await visit('cone-on-cylinder', {});
    let cut,
      shut = false;
    await page.routeWebSocket('**/ws', (ws) => {
      if (shut) return void ws.close();
      const server = ws.connectToServer();
      cut = () => {
        server.close();
        ws.close();
      };
    });
    await page.reload();
    await person.ready();
    shut = true;
    cut();
    await page.waitForSelector('.banner.lost');
    await appliance.api('PUT', '/simulation', { state: 'running' });
    await appliance.api('PUT', '/simulation', { state: 'stopped' });
    shut = false;
    await page.waitForSelector('.banner.lost', { state: 'detached', timeout: 20000 });
    await page.waitForSelector('.notice.info:has-text("meanwhile, in the list")');
  });

  test('arming says when the device is far from what it holds, and can bring both together', async () => {
    const hand = { type: 'wrench', samples: [{ t: 0, force: [0.4, 0, 0], torque: [0, 0, 0] }] };
    await show({
      name: 'Let go',
      objects: [{ id: 'block', geometry: { type: 'box', size: [0.1, 0.1, 0.1] } }],
      devices: [{ id: 'sim', driver: 'sim-impedance', operator: hand }],
      tool: { object: 'block', device: 'sim', control: 'penalty' },
    });
    await page.click('.transport button[aria-label="Run"]');
    await until(async () => (await appliance.get('/simulation')).time > 0.3, 'it runs');
    await page.click('.halt');
    await until(async () => (await appliance.tool()).error_p > 0.03, 'the halted device goes on', 30000);
    await page.click('.arm');
    await page.click('button:has-text("go back to the start")');
    await until(async () => {
      const now = await appliance.get('/simulation');
      return !now.halted && now.state === 'stopped' && now.tools[0].error_p < 1e-3;
    }, 'together again');
  });

  test('the device takes a profile, an operator and the clutch', async () => {
    await page.selectOption('select[aria-label=Profile]', 'cobotic-hand-controller');
    await until(
      async () => (await appliance.get('/devices/sim')).settings.profile === 'cobotic-hand-controller',
      'the profile',
    );
    await page.click('.figures summary');
    await until(async () => /40 Hz|kN\/m/.test(await person.text('.figures')), 'its figures');
    await page.selectOption('select[aria-label=Profile]', '');
    await until(async () => !(await appliance.get('/devices/sim')).settings.profile, 'ideal again');
    await page.selectOption('select[aria-label=Operator]', 'wrench');
    await until(async () => (await appliance.get('/devices/sim/operator')).type === 'wrench', 'a script');
    await page.selectOption('select[aria-label=Operator]', 'none');
    await until(async () => (await appliance.get('/devices/sim')).operator.type === 'none', 'the mouse again');
    await page.click('.transport button[aria-label="Run"]');
    await page.click('button:has-text("Clutch")');
    await until(async () => (await appliance.tool()).clutched, 'clutched');
    await page.click('button:has-text("Release the clutch")');
    await until(async () => !(await appliance.tool()).clutched, 'released');
  });

  test('beyond this machine the page asks for the token', async () => {
    const address = Object.values(networkInterfaces())
      .flat()
      .find((i) => i.family === 'IPv4' && !i.internal)?.address;
    if (!address) return;
    const file = join(appliance.data, 'token');
    await writeFile(file, 'a token of good length\n', { mode: 0o600 });
    const guarded = await Appliance.start(['--token-file', file], address);
    try {
      const visitor = await (await browser.newContext()).newPage();
      await visitor.goto(guarded.url);
      await visitor.fill('dialog input', 'a token that is wrong');
      await visitor.keyboard.press('Enter');
      await until(
        async () => (await visitor.inputValue('dialog input', { timeout: 1000 }).catch(() => '-')) === '',
        'it asks again',
        20000,
      );
      await visitor.fill('dialog input', 'a token of good length');
      await visitor.keyboard.press('Enter');
      await visitor.waitForSelector('#canvas[data-ready="yes"]');
      await visitor.context().close();
    } finally {
      await guarded.stop();
    }
  });

  test('every command is found by name, and ? shows the keys', async () => {
    await page.keyboard.press('Control+k');
    await page.waitForSelector('.palette-input:focus');
    await page.keyboard.type('add a sph');
    await page.keyboard.press('Enter');
    await until(async () => (await objects()).some((o) => o.id === 'sphere'), 'the sphere');
    await page.locator('#canvas').focus();
    await page.keyboard.press('?');
    await until(async () => /Ctrl\+Z/.test(await person.text('.sheet')), 'the keys');
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
  });

  test('the views turn the camera: from the top, right and front, and F frames', async () => {
    const seen = new Set();
    await page.locator('#canvas').focus();
    const camera = () => page.getAttribute('#canvas', 'data-camera');
    for (const key of ['7', '3', '1']) {
      const before = await camera();
      await page.keyboard.press(key);
      await until(async () => (await camera()) !== before, 'the camera turns');
      await person.settled();
      seen.add(await camera());
    }
    assert.equal(seen.size, 3);
    await page.keyboard.press('f');
    await person.settled();
    await page.click('.cube-face.cube-top', { force: true }).catch(() => undefined);
  });

  test('with Shift a drag goes along the view, with Alt it turns the object', async () => {
    const tool = () => appliance.tool();
    const begin = async () => {
      // where it stood at first, at rest
      await appliance.api('PUT', '/simulation', { state: 'stopped' });
      await page.waitForSelector('.transport button[aria-label^="Stop"][aria-pressed="true"]');
      await page.click('.transport button[aria-label="Run"]');
      await page.waitForSelector('.transport button[aria-label="Run"][aria-pressed="true"]');
    };
    const pull = async (key, by, reached) => {
      await begin();
      const start = (await tool()).pose;
      const from = await person.at(place(start, [0, 0, 0.03]));
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.keyboard.down(key);
      await page.mouse.move(from.x + by[0], from.y + by[1], { steps: 6 });
      const end = await until(
        async () => reached(start, (await tool()).pose) && (await tool()).pose,
        `a drag with ${key} acts`,
      );
      await page.mouse.up();
      await page.keyboard.up(key);
      await until(async () => !(await tool()).dragging, 'it is let go');
      return [start, end];
    };
    const gone = (a, b) => Math.hypot(...a.p.map((v, i) => v - b.p[i]));
    const turned = (a, b) => 2 * Math.acos(Math.min(1, Math.abs(a.q.reduce((sum, v, i) => sum + v * b.q[i], 0))));
    // up the screen is away from the person: on the screen the grabbed point hardly moves
    const [near, far] = await pull('Shift', [0, -90], (a, b) => gone(a, b) > 0.02);
    const before = await person.at(near.p),
      later = await person.at(far.p);
    assert.ok(Math.hypot(later.x - before.x, later.y - before.y) < 40, 'it went along the view');
    await pull('Alt', [70, 0], (a, b) => turned(a, b) > 0.15);
  });

  test('gravity, the rate of the loop and how a body starts are set', async () => {
    await page.click('.left [aria-label="Gravity"] button:has-text("Earth")');
    await until(async () => (await appliance.get('/scene')).gravity[2] === -9.81, 'it weighs');
    await page.selectOption('select[aria-label="Rate of the loop"]', '2000');
    await until(async () => (await appliance.get('/scene')).rate === 2000, 'twice as fast');
    await page.click('.tree [data-key="cone"]');
    await page.click('.right summary:has-text("Damping and start")');
    const field = page.locator('.right input[aria-label^="Starts with speed x"]');
    await field.fill('40');
    await field.press('Enter');
    await until(
      async () => Math.abs((await appliance.get('/objects/cone')).velocity.v[0] - 0.04) < 1e-12,
      'it starts with a speed',
    );
    const limit = page.locator('.right input[aria-label^="Limit of force"]');
    await page.click('.right summary:has-text("Limits and map")');
    await limit.fill('12');
    await limit.press('Enter');
    await until(async () => (await appliance.get('/tool')).limits?.force === 12, 'and the hand feels 12 N at most');
  });

  test('how a set was solved is told step by step', async () => {
    await appliance.api('POST', '/constraints', { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top' });
    await appliance.api('POST', '/constraints', {
      id: 'c2',
      type: 'distance',
      a: 'cone/axis',
      b: 'cylinder/axis',
      value: 0.06,
    });
    const { trace } = await appliance.get('/solutions/cone');
    assert.ok(trace.length > 0);
    await page.click('.right summary:has-text("How it was solved")');
    await until(
      async () => (await page.locator('.trace li').allInnerTexts()).join('|') === trace.join('|'),
      'as the solver tells it',
    );
  });

  test('an empty scene says what to do', async () => {
    await appliance.api('PUT', '/scene', { format: 'guideway-scene/1', name: 'Nothing', objects: [] });
    await until(async () => /empty/.test(await person.text('.empty')), 'words');
  });

  const luminance = (text) =>
    text
      .match(/\d+/g)
      .slice(0, 3)
      .reduce((sum, x) => sum + Number(x), 0);

  test('dark where the system is dark, and by the switch', async () => {
    await visit('cone-on-cylinder', {});
    const ground = () => page.evaluate(() => getComputedStyle(document.querySelector('.left')).backgroundColor);
    const light = async () => luminance(await ground()) > 600;
    await until(light, 'light at first');
    await page.emulateMedia({ colorScheme: 'dark' });
    await until(async () => luminance(await ground()) < 200, 'dark as the system is');
    await until(
      async () => (await person.screenshot()).pixel(300, 500).reduce((a, b) => a + b) < 260,
      'the canvas is dark too',
    );
    await page.click('button[aria-label="Colours: auto"]');
    await until(light, 'light by choice');
  });

  for (const [name, options] of [
    ['on a screen', {}],
    ['on a phone', { viewport: { width: 390, height: 844 }, hasTouch: true }],
    ['at 200 % zoom', { viewport: { width: 640, height: 360 }, deviceScaleFactor: 2 }],
  ])
    test(`axe finds nothing serious, ${name}`, async () => {
      await visit('cone-on-cylinder', options);
      await appliance.api('POST', '/constraints', { type: 'coincident', a: 'cone/base', b: 'cylinder/top' });
      await page.waitForSelector('.entry', { state: 'attached' });
      const serious = await audit(page);
      await serious('at rest');
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        'nothing is wider than the screen',
      );
      if (name === 'on a screen') {
        await page.click('.tree [data-key="cone"]');
        await serious('with an object');
        await page.click('.entry-main');
        await page.selectOption('select[aria-label="Sense of the constraint"]', 'same');
        await page.waitForSelector('.outcome .primary');
        await serious('with a changed constraint');
        for (const ref of ['cone/apex', 'cylinder/top']) {
          await page.click(`[data-key="${ref.split('/')[0]}"] .twist`);
          await page.click(`[data-key="${ref}"]`);
        }
        await page.waitForSelector('.measured');
        await serious('joining');
        await page.keyboard.press('g');
        await page.waitForSelector('.cards');
        await serious('in the gallery');
      }
    });

  test('the specification shows an example of every operation, from this origin alone', async () => {
    await visit('cone-on-cylinder', {});
    const asked = [];
    page.on('request', (r) => asked.push(r.url()));
    await page.goto(`${appliance.url}/docs`);
    const operations = page.locator('#operations details');
    const { paths } = await (await fetch(`${appliance.url}/api/v1/openapi.json`)).json();
    const count = Object.values(paths).flatMap((methods) => Object.keys(methods)).length;
    await until(async () => (await operations.count()) === count, `${count} operations`);
    await page.evaluate(() => {
      for (const each of document.querySelectorAll('#operations details')) each.open = true;
    });
    await until(
      async () => (await page.locator('#operations h4', { hasText: 'Example' }).count()) === count,
      'examples',
    );
    const examples = await page.locator('#operations details > h4:has-text("Example") + pre').allInnerTexts();
    for (const text of examples) {
      assert.match(text, /^curl -X [A-Z]+ /);
      const body = /-d '(.*)'/.exec(text);
      if (body) assert.notEqual(JSON.parse(body[1]), null, text);
    }
    await page.fill('#filter', '/assemble');
    await until(async () => (await page.locator('#operations details:visible').count()) === 1, 'the filter');
    assert.ok(asked.length > 3 && asked.every((url) => url.startsWith(appliance.url)), `${asked}`);
  });

  test('only files of this origin are asked for, within 250 kB gzip, under a strict policy', async () => {
    await visit('cone-on-cylinder', {});
    const asked = [];
    page.on('request', (r) => asked.push(r.url()));
    const reply = await page.goto(appliance.url);
    await person.ready();
    const policy = reply.headers()['content-security-policy'];
    assert.match(policy, /default-src 'none'|default-src 'self'/);
    assert.doesNotMatch(policy, /unsafe/);
    let bytes = 0;
    for (const url of asked) {
      assert.ok(url.startsWith(appliance.url) || url.startsWith('blob:'), url);
      if (!url.includes('/api/')) bytes += gzipSync(Buffer.from(await (await fetch(url)).arrayBuffer())).length;
    }
    assert.ok(bytes > 50e3 && bytes <= 250e3, `${bytes} bytes`);
  });

  test('a dialog whose code cannot be fetched closes, says so, and opens when it can be', async () => {
    await visit('cone-on-cylinder', {});
    await page.route('**/seldom-*.js', (r) => r.abort());
    await page.reload();
    await person.ready();
    await page.keyboard.press('g');
    await page.waitForSelector('.notice.error:has-text("could not be loaded")');
    await until(async () => (await page.locator('dialog').count()) === 0, 'it closes');
    await page.unroute('**/seldom-*.js');
    await page.reload();
    await person.ready();
    await page.keyboard.press('g');
    await page.waitForSelector('.cards');
    await page.keyboard.press('Escape');
  });

  test('two hundred objects are shown and can be selected', async () => {
    const many = Array.from({ length: 200 }, (_, i) => ({
      id: `b${i}`,
      geometry: { type: 'box', size: [0.03, 0.03, 0.03] },
      fixed: i % 2 === 0,
      pose: { p: [0.05 * (i % 20), 0.05 * Math.floor(i / 20), 0], q: [1, 0, 0, 0] },
    }));
    await appliance.api('PUT', '/scene', { format: 'guideway-scene/1', name: 'Many', objects: many });
    await until(async () => (await page.locator('.tree-line').count()) === 200, 'the list');
    await page.click('.tree [data-key="b199"]');
    await page.locator('#canvas').focus();
    await page.keyboard.press('f');
    await sleep(300);
    await person.settled();
    await person.pick('b199/+z', [0.05 * 19, 0.05 * 9, 0.015]);
  });
});
