// A first visit, by mouse and keys on the canvas: join the cone to the cylinder,
// see what it may do, feel it, join more, undo. Each step goes on from the one before.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { place, sleep, until } from './harness.mjs';
import { changed, teal } from './png.mjs';

const conePose = async () => (await appliance.tool()).pose;

// Points of the two faces, beside their middles, where an axis stands out.
const top = [-0.05, 0.02, 0.1];
const basePoint = async () => place(await conePose(), [0.022, 0.01, 0]);

suite(
  'the story of someone new',
  () => {
    before(() => visit('cone-on-cylinder', {}));

    test('the first visit shows three hints on the cone and the cylinder', async () => {
      await page.waitForSelector('.hints');
      assert.equal(await page.locator('.hints li').count(), 3);
      await until(async () => /6 freedoms/.test(await person.words()), 'six freedoms');
    });

    test('hovering names the feature under the cursor, clicking selects it', async () => {
      await person.pick('cone/base', await basePoint());
      await person.pick('cylinder/top', top);
      await until(async () => /cone\/base[\s\S]*cylinder\/top/.test(await person.text('.picked')), 'both');
    });

    test('exactly the kinds that fit two planes are offered, in words', async () => {
      const kinds = () =>
        page.locator('.offer:not(.misfit) [data-kind]').evaluateAll((all) => all.map((b) => b.dataset.kind).join(' '));
      await until(async () => (await kinds()) === 'coincident distance parallel perpendicular angle', 'five kinds');
      await until(async () => /mm apart/.test(await person.text('[data-kind=distance]')), 'in words');
    });

    test('hovering a kind shows the ghost, the plane and the freedoms that would be left', async () => {
      const { x, y } = await person.at([0.02, -0.02, 0.1]);
      await page.mouse.move(20, 500);
      await sleep(300);
      const empty = await person.screenshot();
      await page.hover('[data-kind=coincident]');
      await until(
        async () =>
          /3 freedoms: slides in the plane \(2\), turns about its normal \(1\)/.test(await person.text('.outcome')),
        'the words come',
      );
      await until(
        async () => changed(empty, await person.screenshot(), { x, y }, 30) > 200,
        'the preview is drawn over the top of the cylinder',
      );
      assert.equal((await appliance.get('/constraints')).length, 0, 'a preview changes nothing');
    });

    test('both branches are ghosts; ] steps to the second and [ back', async () => {
      await until(async () => /ghost 1 of 2/.test(await person.text('.branch-step')), 'two ghosts');
      await page.keyboard.press(']');
      await until(async () => /ghost 2 of 2/.test(await person.text('.branch-step')), 'the second ghost');
      await page.keyboard.press('[');
      await until(async () => /ghost 1 of 2/.test(await person.text('.branch-step')), 'the first ghost');
    });

    test('Enter commits, and the page says what is left', async () => {
      await page.keyboard.press('Enter');
      await until(async () => (await appliance.get('/constraints')).length === 1, 'the constraint is there');
      await until(
        async () => /3 freedoms: slides in the plane \(2\), turns about its normal \(1\)/.test(await person.words()),
        'the words',
      );
      await until(async () => /coincident[\s\S]*ok/.test(await person.text('.entries')), 'it is in the list');
      const { p } = await conePose();
      assert.ok(Math.abs(p[2] - 0.1) < 1e-9, `the cone stands on the top, z = ${p[2]}`);
    });

    test('the plane is drawn in teal where it should be', async () => {
      await page.mouse.move(20, 500);
      await page.keyboard.press('Escape');
      const { p } = await conePose();
      const beside = await person.at([p[0] - 0.07, p[1] + 0.03, 0.1]);
      await until(async () => teal(await person.screenshot(), beside, 12) > 60, 'the patch is seen beside the cone');
    });

    // Drags the cone from a point on its side to a place on the screen, and holds there.
    async function grab(toward, hold) {
      const pose = await conePose();
      const from = await person.at(place(pose, [0, 0, 0.045]));
      await page.mouse.move(from.x, from.y);
      await page.mouse.down();
      await page.mouse.move(from.x + toward[0], from.y + toward[1], { steps: 6 });
      await hold();
      await page.mouse.up();
    }

    test('running, the mouse pulls the cone by a force: it slides and stays on the plane', async () => {
      await page.click('.transport button[aria-label="Run"]');
      await page.waitForSelector('.transport button[aria-label="Run"][aria-pressed="true"]');
      const start = await conePose();
      const path = [];
      await grab([-110, 30], async () => {
        await until(async () => {
          path.push(await appliance.tool());
          return path.length > 12 && Math.hypot(...path.at(-1).pose.p.map((v, i) => v - start.p[i])) > 0.025;
        }, 'it slides');
      });
      const end = await conePose();
      const moved = Math.hypot(end.p[0] - start.p[0], end.p[1] - start.p[1]);
      assert.ok(moved > 0.02, `it slid ${moved * 1000} mm`);
      assert.ok(
        path.some((t) => t.dragging),
        'the server was told of a drag',
      );
      assert.ok(
        path.some((t) => Math.hypot(...t.operator.force) > 0.2),
        'a force, not a jump',
      );
      for (const t of path) assert.ok(Math.abs(t.pose.p[2] - 0.1) < 1e-9, `on the plane: z = ${t.pose.p[2]}`);
    });

    test('pulled off the plane it stops dead at the constraint, which pushes back', async () => {
      let held;
      await grab([0, -150], async () => {
        held = await until(async () => {
          const tool = await appliance.tool();
          return tool.constraint.force[2] < -0.2 && tool;
        }, 'the constraint pulls down');
      });
      assert.ok(Math.abs(held.pose.p[2] - 0.1) < 1e-9, `z = ${held.pose.p[2]}`);
      assert.ok(held.residual < 1e-9, `residual ${held.residual}`);
    });

    test('a distance between the two axes leaves the circle, and it is drawn', async () => {
      await page.keyboard.press('Escape');
      // the round side means the axis; the axis stands out of its body, too, and can be pointed at there
      await appliance.api('PUT', '/simulation', { state: 'paused' }); // it slides on otherwise
      await person.pick('cylinder/axis', [0.06, -0.08, -0.03]);
      await person.pick('cone/axis', async () => place(await conePose(), [0, 0, 0.123]));
      await appliance.api('PUT', '/simulation', { state: 'running' });
      await page.hover('[data-kind=distance]');
      const field = page.locator('.offer.active input');
      await field.fill('60');
      await until(async () => /circle/.test(await person.text('.outcome')), 'the preview speaks of the circle');
      await field.press('Enter');
      await until(async () => (await appliance.get('/constraints')).length === 2, 'the second constraint');
      await until(async () => /2 freedoms[\s\S]*circle/.test(await person.words()), 'two freedoms, one on a circle');
      const c = (await appliance.get('/constraints'))[1];
      assert.equal(c.type, 'distance');
      assert.ok(Math.abs(c.value - 0.06) < 1e-12);
      await until(async () => {
        const { travelling, pose } = await appliance.tool();
        return !travelling && Math.abs(Math.hypot(pose.p[0], pose.p[1]) - 0.06) < 1e-6;
      }, 'it runs on the circle');
      await page.mouse.move(20, 500);
      await page.keyboard.press('Escape');
      const circle = await Promise.all(
        Array.from({ length: 12 }, (_, k) =>
          person.at([0.06 * Math.cos((k * Math.PI) / 6), 0.06 * Math.sin((k * Math.PI) / 6), 0.1]),
        ),
      );
      await until(async () => {
        const image = await person.screenshot();
        return circle.filter((at) => teal(image, at, 3) > 3).length >= 7;
      }, 'the circle is seen at 7 of 12 places');
    });

    test('while it runs, a constraint is edited, disabled, enabled and deleted', async () => {
      const entry = page.locator('.entry').nth(1);
      await entry.locator('.entry-main').click();
      const value = page.locator('.right input[aria-label^="Value"]');
      await value.fill('45');
      await value.press('Enter');
      await until(
        async () => Math.abs((await appliance.get('/constraints'))[1].value - 0.045) < 1e-12,
        'the new value',
      );
      await until(async () => {
        const { p } = await conePose();
        return Math.abs(Math.hypot(p[0], p[1]) - 0.045) < 1e-6;
      }, 'it travelled to the smaller circle');
      await entry.locator('input[type=checkbox]').click();
      await until(async () => /3 freedoms/.test(await person.words()), 'three freedoms again');
      await until(async () => /disabled/.test(await entry.innerText()), 'told in the list');
      await entry.locator('input[type=checkbox]').click();
      await until(async () => /2 freedoms/.test(await person.words()), 'two freedoms again');
      await entry.getByRole('button', { name: /^Delete/ }).click();
      await until(async () => (await appliance.get('/constraints')).length === 1, 'it is gone');
      assert.equal((await appliance.get('/simulation')).state, 'running');
    });

    test('undo brings it back, redo takes it away again', async () => {
      await page.keyboard.press('Control+z');
      await until(async () => (await appliance.get('/constraints')).length === 2, 'undone');
      await page.keyboard.press('Control+Shift+Z');
      await until(async () => (await appliance.get('/constraints')).length === 1, 'redone');
    });

    test('Esc lets go of a drag in the middle of it', async () => {
      await grab([40, 10], async () => {
        await until(async () => (await appliance.tool()).dragging, 'it is dragged');
        await page.keyboard.press('Escape');
        await until(async () => !(await appliance.tool()).dragging, 'it is let go');
      });
    });

    test('arrow keys push while it runs', async () => {
      await page.locator('#canvas').focus();
      await page.keyboard.down('ArrowRight');
      await until(async () => Math.hypot(...(await appliance.tool()).operator.force) > 1, 'the push is felt');
      await page.keyboard.up('ArrowRight');
      await until(async () => Math.hypot(...(await appliance.tool()).operator.force) < 0.01, 'and ends');
    });

    test('pause, step and stop do as they say', async () => {
      await page.locator('#canvas').focus();
      await page.keyboard.press('Space');
      await until(async () => (await appliance.get('/simulation')).state === 'paused', 'paused');
      const { tick } = await appliance.get('/simulation');
      await page.keyboard.press('.');
      await until(async () => (await appliance.get('/simulation')).tick === tick + 1, 'one tick on');
      await page.click('.transport button[aria-label^="Stop"]');
      await until(async () => (await appliance.get('/simulation')).state === 'stopped', 'stopped');
      await page.waitForSelector('.transport button[aria-label^="Stop"][aria-pressed="true"]');
    });

    test('stopped, a drag moves the cone along its freedoms only', async () => {
      const start = await conePose();
      // where it is taken a ring passes behind it: that is not what is meant
      await grab([-60, 20], () => sleep(400));
      const end = await until(async () => {
        const now = await conePose();
        return Math.hypot(now.p[0] - start.p[0], now.p[1] - start.p[1]) > 0.01 && now;
      }, 'it moved');
      assert.ok(Math.abs(end.p[2] - 0.1) < 1e-9, `z = ${end.p[2]}`);
      assert.ok(Math.abs(end.q[3] - start.q[3]) < 1e-3, 'it slid, it did not turn');
    });

    test('a slider and the arrow keys move it along one freedom', async () => {
      const before = (await appliance.get('/solutions/cone')).parameters;
      await page.locator('.freedom input[type=range]').nth(1).focus();
      await page.keyboard.press('ArrowRight');
      await until(
        async () => (await appliance.get('/solutions/cone')).parameters[1] !== before[1],
        'the slider moves it',
      );
      await sleep(400);
      const middle = (await appliance.get('/solutions/cone')).parameters;
      await page.locator('#canvas').focus();
      await page.keyboard.press('ArrowRight');
      await until(
        async () => Math.abs((await appliance.get('/solutions/cone')).parameters[1] - middle[1] - 0.001) < 1e-6,
        'the key nudges it by 1 mm',
      );
    });

    test('the hints are dismissed for good', async () => {
      await page.click('.hints button');
      await page.reload();
      await person.ready();
      await page.waitForSelector('.scene-menu option[value=cone-on-cylinder]', { state: 'attached' });
      assert.equal(await page.locator('.hints').count(), 0);
    });

    test('nothing of ours was written to the console', () => {
      assert.deepEqual(person.messages, []);
    });
  },
  { together: true },
);
