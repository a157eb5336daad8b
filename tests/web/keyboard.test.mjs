// The keyboard alone: a scene from nothing, joined, run, halted, armed, saved, opened, undone; where the keyboard is
// when what had it goes; keys that are typed, not shortcuts.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { audit, sleep, until } from './harness.mjs';

const press = async (...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};
const type = (text) => page.keyboard.type(text);

// The name of what has the keyboard.
const focused = () =>
  page.evaluate(() => {
    const e = document.activeElement;
    return e === document.body ? 'nothing' : (e.dataset.key ?? e.getAttribute('aria-label') ?? e.innerText ?? e.id);
  });
async function isFocused(like) {
  let now = '';
  const has = async () => like.test((now = await focused()));
  await until(has, '', 3000).catch(() => assert.fail(`${now} has the keyboard, not ${like}`));
}
const said = (like) => until(async () => like.test(await person.text('[data-said]')), `${like} is said`);

// Tab until something has the keyboard.
async function tabTo(like, most = 60) {
  const passed = [];
  for (let i = 0; i < most; i++) {
    await press('Tab');
    const now = await focused();
    if (like.test(now)) return passed;
    passed.push(now);
  }
  throw new Error(`no ${like} among ${passed.join(' | ')}`);
}

// A command by its name.
async function command(name) {
  await press('Control+k');
  await page.waitForSelector('dialog[open] .palette-input');
  await type(name);
  await press('Enter');
}

// From a line of the tree down to another one, and Enter.
async function pickLine(key) {
  for (let i = 0; i < 90; i++) {
    if ((await focused()) === key) {
      await press('Enter');
      return until(async () => (await person.text('.picked')).includes(key), `${key} is picked`);
    }
    await press('ArrowDown');
  }
  throw new Error(`no ${key} below`);
}

async function openLine(key) {
  await press('ArrowRight');
  await until(async () => (await page.locator(`.tree [data-key^="${key}/"]`).count()) > 20, 'its features are listed');
}

const objects = () => appliance.get('/objects');
const constraints = () => appliance.get('/constraints');
const simulation = () => appliance.get('/simulation');

suite(
  'the keyboard alone, from an empty scene',
  () => {
    before(() => visit('sphere', {}));

    test('a table and a box are made, named, sized, placed', async () => {
      await command('new scene');
      await said(/empty/);
      await command('add a box');
      await said(/box was added/);
      await press('F6'); // from nothing to the bar, then to the list
      await isFocused(/^Scene$/);
      await press('F6');
      await isFocused(/^box$/);
      await press('F6');
      await isFocused(/three dimensions/);
      await press('F6');
      await isFocused(/SELECTION/i);
      await tabTo(/Name of the box/);
      await press('Control+a');
      await type('table');
      await press('Enter');
      await until(async () => (await objects())[0].id === 'table', 'it is renamed');
      await page.waitForSelector('.tree [data-key="table"]');
      await isFocused(/Name of the box/);
      await tabTo(/^$|on/, 2); // its bin, then the box to tick
      await press('Space');
      await until(async () => (await objects())[0].fixed, 'it is fixed');
      await tabTo(/Size along x/, 3);
      await type('30 cm');
      await press('Tab');
      await type('0,2 m');
      await press('Tab');
      await type('20');
      await press('Tab', 'Tab', 'Tab');
      await isFocused(/Position z/);
      await type('-10');
      await press('Enter');
      await until(async () => {
        const [{ geometry, pose }] = await objects();
        return `${geometry.size} ${pose.p}` === '0.3,0.2,0.02 0,0,-0.01';
      }, 'it has its size and its place');
      await command('add a box');
      await until(async () => (await objects()).length === 2, 'the box is there');
    });

    test('a size of nothing is refused where it is typed, in the unit of the field', async () => {
      await page.locator('input[aria-label^="Size along x"]').focus();
      await press('Control+a');
      await type('0');
      await press('Enter');
      await until(async () => /Size along x: .0. is not above 0 \(mm\)/.test(await person.text('.notice')), 'said');
      assert.equal((await objects())[1].geometry.size[0] > 0, true);
      await press('Escape');
      await page.locator('.notice button').press('Enter');
    });

    test('its base is put on the top of the table, the axes 3 cm apart', async () => {
      await press('Shift+F6', 'Shift+F6', 'Shift+F6'); // from where the notice was
      await page.locator('.tree [data-key="box"]').focus();
      await openLine('box');
      await pickLine('box/-z');
      await said(/Picked: box\/-z/);
      await press('ArrowLeft', 'ArrowUp', 'Home');
      await openLine('table');
      await pickLine('table/+z');
      await press('F6', 'F6'); // the view, then the kinds that join the two
      await isFocused(/^coincident/);
      await said(/Would leave 3 freedoms/);
      await press('Enter');
      await until(async () => (await constraints()).length === 1, 'it is made');
      await isFocused(/^c1 coincident/);
      await press('Shift+F6', 'F6', 'Shift+Tab');
      await page.locator('.tree [data-key="table/+z"]').focus();
      await pickLine('table/axis-z');
      await press('ArrowDown');
      await pickLine('box/axis-z');
      await press('F6', 'F6');
      await tabTo(/apart/, 4);
      await press('Tab');
      await isFocused(/Distance, mm/);
      await type('3 cm');
      await press('Enter');
      await until(async () => (await constraints())[1]?.value === 0.03, 'it is made');
      await isFocused(/^c2 30 mm apart/);
      assert.match(await person.words(), /2 freedoms/, 'what is constrained shows what it may do');
    });

    test('what nothing holds says so when it is pushed, and the way out is reached', async () => {
      await page.locator('.tree [data-key="box"]').focus();
      await press('Enter', 'F6');
      await isFocused(/three dimensions/);
      await press('Space');
      await until(async () => (await simulation()).state === 'running', 'it runs');
      await until(async () => /nothing here moves/.test(await person.text('.notice')), 'said when it runs');
      await press('ArrowRight');
      await until(
        async () => /box stands: nothing holds it/.test(await person.text('.notice')),
        'said when it is pushed',
      );
      await tabTo(/^Hold it with the device$/, 12);
      await press('Enter');
      await until(async () => (await simulation()).tools.length === 1, 'it is held');
      await page.locator('#canvas').focus();
      const from = (await appliance.tool()).pose.p;
      await page.keyboard.down('ArrowUp');
      await until(async () => {
        const { p } = (await appliance.tool()).pose;
        return Math.hypot(...p.map((x, i) => x - from[i])) > 0.005;
      }, 'it goes');
      await page.keyboard.up('ArrowUp');
    });

    test('it is halted, and armed by the palette; the keyboard comes back to where it was', async () => {
      await press('Control+.');
      await until(async () => (await simulation()).halted, 'halted');
      await page.waitForSelector('button.halt[aria-pressed=true]'); // the palette offers what is possible as it opens
      await command('arm again');
      await isFocused(/^Leave it halted$/);
      await press('Shift+Tab');
      await isFocused(/^Arm$/);
      await press('Enter');
      await until(async () => !(await simulation()).halted, 'armed');
      await isFocused(/three dimensions/);
    });

    test('it is saved under its name, told apart in the list, opened, undone and done again', async () => {
      await command('stop and go back');
      await press('Control+s');
      await isFocused(/^$|Name/);
      await press('Control+a');
      await type('Box on a table');
      await press('Enter');
      await until(async () => (await appliance.get('/scene')).name === 'Box on a table', 'the scene has its name');
      await until(
        async () => (await appliance.get('/scenes')).some((s) => s.saved && s.name === 'Box on a table'),
        'so has the file',
      );
      await command('new scene');
      await said(/empty/);
      await press('g');
      await page.waitForSelector('dialog[open] .card-main');
      await tabTo(/Box on a table/, 3);
      await press('Enter');
      await said(/Opened Box on a table/);
      await until(async () => (await constraints()).length === 2, 'it is back');
      await press('Control+z');
      await until(async () => (await objects()).length === 0, 'undone: the new scene');
      await press('Control+y');
      await until(async () => (await constraints()).length === 2, 'done again');
    });

    test('nothing serious by axe', async () => {
      await page.locator('.tree [data-key="box"]').focus();
      await press('Enter');
      await (await audit(page))('a scene that was made by the keyboard');
    });
  },
  { together: true },
);

suite('the keyboard', () => {
  test('an open list of choices has its keys itself', async () => {
    await visit('cone-on-cylinder');
    await page.locator('.scene-menu').focus();
    await press('Space');
    await isFocused(/Cone over cylinder/);
    await type('r');
    await isFocused(/Rattleback/);
    await type('g'); // no gallery
    await sleep(500);
    assert.equal(await page.locator('dialog[open]').count(), 0);
    await press('Escape');
    await page.locator('select[aria-label="Rate of the loop"]').focus();
    await press('Space', 'ArrowDown', 'ArrowUp', 'Space');
    await sleep(300);
    assert.equal((await simulation()).state, 'stopped', 'Space took the choice');
    await press('Escape');
  });

  test('a dialog whose code is fetched first gives the keyboard back', async () => {
    await visit('cone-on-cylinder', {});
    for (const name of ['Gallery of scenes', 'Add a surface or a curve']) {
      await page.locator(`button[aria-label="${name}"]`).focus();
      await press('Enter');
      await page.waitForSelector('dialog[open]');
      await press('Escape');
      await isFocused(new RegExp(name));
    }
    await command('gallery');
    await page.waitForSelector('dialog[open] .cards');
    await press('Escape');
    await isFocused(/Add a surface or a curve/);
  });

  test('a line that is deleted leaves the keyboard on the next one', async () => {
    await visit('paper-circle');
    const names = async () => (await constraints()).map(({ id }) => id);
    const [first, second] = await names();
    await page.locator(`button[aria-label="Delete ${first}"]`).focus();
    await press('Enter');
    await until(async () => !(await names()).includes(first), 'it is gone');
    await isFocused(new RegExp(`^${second}`));
  });

  test('a drag on what nothing holds says why it stands', async () => {
    await visit({
      name: 'Nothing held',
      objects: [
        {
          id: 'floor',
          geometry: { type: 'box', size: [0.4, 0.4, 0.02] },
          pose: { p: [0, 0, -0.01], q: [1, 0, 0, 0] },
          fixed: true,
        },
        { id: 'brick', geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, pose: { p: [0, 0, 0.05], q: [1, 0, 0, 0] } },
      ],
      constraints: [{ id: 'c1', type: 'coincident', a: 'brick/-z', b: 'floor/+z', sense: 'opposite' }],
    });
    await appliance.api('PUT', '/simulation', { state: 'running' });
    await page.waitForSelector('.transport button[aria-label="Run"][aria-pressed="true"]');
    const { x, y } = await person.at([0, 0, 0.1]);
    await page.mouse.move(x, y + 4);
    await page.mouse.down();
    await page.mouse.move(x + 40, y + 4, { steps: 4 });
    await page.mouse.up();
    await until(async () => /brick stands/.test(await person.text('.notice')), 'it is said');
    await page.click('.notice .fixes button >> text=Let it move freely');
    await until(async () => (await objects())[1].free, 'it is free');
  });
});
