// Contacts by mouse and keys: switched on, bodies made free, materials given, what touches told in
// words and drawn, impulses plotted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance, browser, page, person, suite, visit } from './fixture.mjs';
import { Person, sleep, until } from './harness.mjs';
import { changed } from './png.mjs';

const table = {
  id: 'table',
  fixed: true,
  geometry: { type: 'box', size: [0.4, 0.4, 0.04] },
  pose: { p: [0, 0, -0.02], q: [1, 0, 0, 0] },
};
const ball = { id: 'ball', geometry: { type: 'sphere', radius: 0.03 }, pose: { p: [0, 0, 0.045], q: [1, 0, 0, 0] } };

const arrive = (scene) =>
  visit({ name: 'Ball over a table', gravity: [0, 0, -9.81], objects: [table, ball], ...scene });

const run = () => page.click('.transport button[aria-label="Run"]');
const contacts = () => appliance.get('/contacts');

suite('contacts', () => {
  test('a ball is made free and of rubber, falls, bounces and comes to rest; all of it is told', async () => {
    await arrive({});
    assert.match(await person.text('[aria-labelledby="title-contacts"]'), /pass through/);
    await page.click('button[aria-label="Contacts are off"]');
    await until(async () => (await appliance.get('/contact')).enabled, 'contacts are on');
    await page.click('.left summary:has-text("Materials")');
    await page.click('button:has-text("Add a material")');
    await until(async () => (await appliance.get('/materials')).length === 1, 'a material');
    const name = page.locator('input[aria-label="Name of the material"]');
    await name.fill('rubber');
    await name.press('Enter');
    await page.waitForSelector('[data-material="rubber"]');
    const bounce = page.locator('input[aria-label^="rubber, restitution"]');
    await bounce.fill('0.5');
    await bounce.press('Enter');
    await until(async () => (await appliance.get('/materials/rubber')).restitution === 0.5, 'that bounces');
    await page.click('[data-key="ball"]');
    await page.click('label:has-text("moves freely")');
    await page.selectOption('select[aria-label="Material"]', 'rubber');
    await until(async () => (await appliance.get('/objects/ball')).material === 'rubber', 'given to the ball');
    await appliance.api('PATCH', '/objects/table', { material: 'rubber' });
    assert.ok((await appliance.get('/objects/ball')).free);
    assert.match(await page.locator('[data-key="ball"]').innerText(), /free body/);
    await page.click('.plot-tabs button:has-text("Energy")');
    await run();
    const sim = () => appliance.get('/simulation');
    await until(async () => (await sim()).contact.collisions >= 3, 'it bounces', 15000);
    const slow = async () => (await sim()).energy.kinetic < 1e-6; // at the top of a bounce too
    const touch = await until(
      async () => (await slow()) && (await contacts()).find((c) => c.state === 'continuous'),
      'it rests',
      15000,
    );
    assert.deepEqual([touch.a, touch.b].sort(), ['ball', 'table']);
    await until(async () => /touches/.test(await page.locator('.touches').innerText()), 'in words');
    await until(
      async () =>
        /mN/.test(await page.locator('.plot').nth(1).innerText()) &&
        !/ 0 mN/.test(await page.locator('.plot').nth(1).innerText()),
      'its impulse is plotted',
    );
    await until(
      async () => /collisions so far/.test(await person.text('[aria-labelledby="title-contacts"]')),
      'and counted',
    );
  });

  test('a ball that runs free is dragged by the mouse: up from the table, and falls when let go', async () => {
    await arrive({
      contact: { enabled: true },
      objects: [table, { ...ball, free: true, pose: { p: [0, 0, 0.031], q: [1, 0, 0, 0] } }],
    });
    await run();
    await until(async () => (await contacts()).some((c) => c.state === 'continuous'), 'it rests');
    const body = async () => (await appliance.get('/simulation')).bodies.find((b) => b.object === 'ball');
    await page.locator('#canvas').focus();
    await page.keyboard.press('1'); // from the front: up on the screen is straight up
    await person.settled();
    const from = await person.at([0, 0, 0.031]),
      up = await person.at([0, 0, 0.13]);
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(up.x, up.y, { steps: 8 });
    await until(async () => (await body())?.dragging && (await contacts()).length === 0, 'it is lifted');
    await until(async () => Math.hypot(...(await body()).twist.v) < 0.02, 'it hangs still', 20000);
    await page.mouse.up();
    await until(async () => !(await body()).dragging, 'it is let go');
    await until(async () => (await contacts()).some((c) => c.state === 'continuous'), 'it rests again', 15000);
  });

  test('a free ball that is selected is pushed by the arrow keys', async () => {
    await arrive({
      contact: { enabled: true },
      objects: [table, { ...ball, free: true, pose: { p: [0, 0, 0.031], q: [1, 0, 0, 0] } }],
    });
    await page.click('[data-key="ball"]');
    await run();
    await page.waitForSelector('.transport button[aria-label="Run"][aria-pressed="true"]');
    await page.locator('#canvas').focus();
    await page.keyboard.down('ArrowRight');
    const body = async () => (await appliance.get('/simulation')).bodies?.find((b) => b.object === 'ball');
    await until(async () => Math.hypot(...((await body())?.operator.force ?? [0])) > 0.1, 'it is pushed');
    await page.keyboard.up('ArrowRight');
    await until(async () => Math.hypot(...((await body())?.operator.force ?? [0])) === 0, 'and let go');
  });

  test('of two who drag the same ball the second is told who has it', async () => {
    await arrive({
      contact: { enabled: true },
      objects: [table, { ...ball, free: true, pose: { p: [0, 0, 0.031], q: [1, 0, 0, 0] } }],
    });
    await run();
    await until(async () => (await contacts()).some((c) => c.state === 'continuous'), 'it rests');
    const other = await Person.arrive(browser, appliance);
    const grab = async (who) => {
      await who.page.mouse.up();
      const { x, y } = await who.at([0, 0, 0.031]);
      await who.page.mouse.move(x, y);
      await who.page.mouse.down();
      await who.page.mouse.move(x + 6, y, { steps: 3 });
    };
    const dragged = async () => (await appliance.get('/simulation')).bodies.find((b) => b.object === 'ball')?.dragging;
    // A page whose processor is busy may lose its lease, and with it the ball: then both grab again.
    await until(
      async () => {
        await grab(person);
        await until(dragged, 'the first has it', 2000);
        await grab(other);
        return other.page
          .locator('.notice.error:has-text("another operator")')
          .waitFor({ timeout: 2000 })
          .then(() => true);
      },
      'the second is told',
      30000,
    );
    await other.page.mouse.up();
    await page.mouse.up();
    await other.page.waitForSelector('.notice', { state: 'detached' });
    await other.leave();
  });

  test('a contact is drawn where it is', async () => {
    await arrive({
      contact: { enabled: true },
      objects: [table, { ...ball, free: true, pose: { p: [0, 0, 0.031], q: [1, 0, 0, 0] } }],
    });
    await sleep(300);
    const before_ = await person.screenshot();
    await run();
    await until(async () => (await contacts()).some((c) => c.state === 'continuous'), 'it rests');
    await sleep(500);
    await until(
      async () => changed(before_, await person.screenshot(), await person.at([0, 0, 0]), 8, 10) > 25,
      'a point and its normal',
    );
  });

  test('a pair that touches is left out by a click, and taken back', async () => {
    await arrive({
      contact: { enabled: true },
      objects: [table, { ...ball, free: true, pose: { p: [0, 0, 0.031], q: [1, 0, 0, 0] } }],
    });
    await run();
    await page.click('button[aria-label^="Leave out"]');
    await until(async () => (await appliance.get('/contact')).ignore?.length === 1, 'left out');
    await page.click('.left summary:has-text("Rules")');
    await page.click('.left-out button');
    await until(async () => !(await appliance.get('/contact')).ignore?.length, 'taken back');
  });

  test('a pair is left out by its names before it touches', async () => {
    await arrive({ contact: { enabled: true } });
    await page.click('.left summary:has-text("Rules")');
    await page.selectOption('select[aria-label="First that passes through"]', 'ball');
    await page.selectOption('select[aria-label="Second that passes through"]', 'table');
    await page.click('button:has-text("Leave the two out")');
    await until(
      async () => JSON.stringify((await appliance.get('/contact')).ignore) === '[["ball","table"]]',
      'left out',
    );
  });

  test('a bound that bears is told while contacts are off', async () => {
    await arrive({
      objects: [table, { ...ball, free: true }],
      constraints: [{ id: 'above', type: 'distance', a: 'ball/center', b: 'table/+z', value: 0.04, bound: 'at-least' }],
    });
    await run();
    await until(async () => (await appliance.get('/contacts')).some((c) => c.state === 'continuous'), 'it rests');
    const told = async () => person.text('[aria-labelledby="title-contacts"]');
    await until(async () => /ball\s*touches\s*table/.test(await told()), 'in words');
    assert.doesNotMatch(await told(), /pass through/);
    assert.equal(await page.locator('button[aria-label^="Leave out"]').count(), 0);
  });

  test('rules are chosen by name', async () => {
    await arrive({ contact: { enabled: true } });
    await page.click('.left summary:has-text("Rules")');
    await page.selectOption('select[aria-label="Contacts: impulses"]', 'non-adhesive');
    await page.selectOption('select[aria-label="Contacts: slow friction"]', 'creep');
    const field = page.locator('input[aria-label^="Slips above"]');
    await field.fill('2');
    await field.press('Enter');
    await until(async () => {
      const c = await appliance.get('/contact');
      return c.impulse === 'non-adhesive' && c.friction === 'creep' && Math.abs(c.slip_speed - 2e-3) < 1e-12;
    }, 'all three');
    await page.click('button[aria-label="Undo"]');
    await until(async () => Math.abs((await appliance.get('/contact')).slip_speed - 1e-3) < 1e-12, 'undone');
  });

  test('edits are carried out in the order in which they were made, though one is slow on its way', async () => {
    await arrive({ contact: { enabled: true } });
    await page.click('.left summary:has-text("Rules")');
    let held = 0;
    await page.route('**/api/v1/contact', async (route) => {
      if (route.request().method() === 'PATCH' && held++ === 0) await sleep(500);
      await route.continue();
    });
    await page.selectOption('select[aria-label="Contacts: impulses"]', 'non-adhesive');
    await page.selectOption('select[aria-label="Contacts: slow friction"]', 'creep');
    await page.click('button[aria-label="Undo"]');
    await until(async () => (await appliance.get('/contact')).impulse === 'non-adhesive', 'the first holds');
    await until(
      async () => (await appliance.get('/contact')).friction !== 'creep' && held === 2,
      'the second was undone',
    );
    await page.unroute('**/api/v1/contact');
    assert.equal((await appliance.get('/contact')).impulse, 'non-adhesive');
  });
});
