// Freedoms on the page: the ghost that swings along a freedom, sets whose
// freedoms do not separate, arrows and rings to pull at, branches.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { place, sleep, until } from './harness.mjs';
import { changed, teal } from './png.mjs';

// A bar with one end on a table and the other at a distance from the tip of a post.
const bar = {
  format: 'guideway-scene/1',
  name: 'Bar, post and table',
  objects: [
    {
      id: 'table',
      geometry: { type: 'box', size: [0.4, 0.3, 0.02] },
      pose: { p: [0, 0, -0.01], q: [1, 0, 0, 0] },
      fixed: true,
    },
    {
      id: 'post',
      geometry: { type: 'cylinder', radius: 0.01, height: 0.1 },
      pose: { p: [-0.12, 0.05, 0.05], q: [1, 0, 0, 0] },
      fixed: true,
    },
    {
      id: 'bar',
      geometry: { type: 'box', size: [0.2, 0.02, 0.02] },
      pose: { p: [0, 0, 0.06], q: [1, 0, 0, 0] },
      body: { mass: 1 },
    },
  ],
  features: [
    { id: 'bar/left', point: [-0.1, 0, 0] },
    { id: 'bar/right', point: [0.1, 0, 0] },
    { id: 'post/tip', point: [0, 0, 0.05] },
  ],
  constraints: [
    { id: 'c1', type: 'distance', a: 'bar/left', b: 'post/tip', value: 0.08 },
    { id: 'c2', type: 'coincident', a: 'bar/right', b: 'table/+z' },
    { id: 'c3', type: 'distance', a: 'bar/center', b: 'post/tip', value: 0.1 },
  ],
  tool: { object: 'bar', device: 'sim' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

const onPlane = { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top' };
const conePose = async () => (await appliance.tool()).pose;

// The cone's base on the cylinder's top, and the page knows.
async function joined() {
  await appliance.api('POST', '/constraints', onPlane);
  await page.waitForSelector('[data-freedom="2"]');
  await until(async () => /3 freedoms/.test(await person.words()), 'it is joined');
}

const away = () => page.mouse.move(20, 500);

suite('freedoms', () => {
  test('pointing at a freedom in the list makes a ghost swing along it, and nothing else moves', async () => {
    await visit('cone-on-cylinder');
    await joined();
    await page.waitForSelector('[data-freedom="2"]');
    const before = await appliance.get('/scene');
    await away();
    await sleep(300);
    const still = await person.screenshot();
    const { x, y } = await person.at(place(await conePose(), [0, 0, 0.05]));
    await page.hover('[data-freedom="1"]');
    const seen = [];
    await until(async () => {
      seen.push(changed(still, await person.screenshot(), { x, y }, 60));
      return seen.at(-1) > 150;
    }, 'the ghost is drawn');
    const drawn = seen.length - 1;
    await until(async () => {
      await sleep(150);
      seen.push(changed(still, await person.screenshot(), { x, y }, 60));
      const since = seen.slice(drawn);
      return Math.max(...since) - Math.min(...since) > 60;
    }, 'it moves');
    assert.deepEqual(await appliance.get('/scene'), before, 'the scene is as it was');
    await away();
    await sleep(300);
    await until(async () => changed(still, await person.screenshot(), { x, y }, 60) < 40, 'it goes with the pointer');
  });

  test('with less motion the ghosts stand still at the ends; the keyboard shows them, too', async () => {
    await visit('cone-on-cylinder', { reducedMotion: 'reduce' });
    await joined();
    await away();
    await sleep(300);
    const still = await person.screenshot();
    const { x, y } = await person.at(place(await conePose(), [0, 0, 0.05]));
    await page.locator('[data-freedom="1"] input[type=range]').focus();
    await until(async () => changed(still, await person.screenshot(), { x, y }, 60) > 150, 'two ghosts');
    await sleep(400);
    const first = await person.screenshot();
    await sleep(400);
    assert.equal(changed(first, await person.screenshot(), { x, y }, 60), 0, 'which do not move');
  });

  test('an arrow in the view lights its freedom in the list; pulled, the object goes along it alone', async () => {
    await visit('cone-on-cylinder');
    await joined();
    await away();
    const start = await conePose();
    // the arrow of the first slide runs along x through the point of the locus
    const end = await until(async () => {
      for (let d = 0.02; d < 0.12; d += 0.006) {
        await person.moveTo([start.p[0] + d, start.p[1], start.p[2]]);
        await sleep(60);
        if (await page.locator('[data-freedom="1"].hot').count()) return [start.p[0] + d, start.p[1], start.p[2]];
      }
      return null;
    }, 'the arrow is found');
    const from = await person.at(end);
    const to = await person.at([end[0] + 0.03, end[1] + 0.05, end[2]]);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 5 });
    await until(
      async () => Math.abs((await conePose()).p[0] - start.p[0]) > 0.01,
      `it went (from ${from.x}, ${from.y})`,
    );
    await page.mouse.up();
    await sleep(200);
    const { p } = await conePose();
    assert.ok(Math.abs(p[1] - start.p[1]) < 1e-9 && Math.abs(p[2] - start.p[2]) < 1e-9, `along x only: ${p}`);
  });

  test('taken by its middle, where the arrows cross, a body is dragged over the pole of its sphere', async () => {
    await visit({
      name: 'On a sphere',
      objects: [
        { id: 'hub', geometry: { type: 'sphere', radius: 0.01 }, fixed: true },
        { id: 'box', geometry: { type: 'box', size: [0.03, 0.03, 0.03] }, pose: { p: [0, 0, 0.05] } },
      ],
      constraints: [{ id: 'c', type: 'distance', a: 'box/center', b: 'hub/center', value: 0.05 }],
      tool: { object: 'box', device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim' }],
    });
    await away();
    const from = await person.at([0, 0, 0.05]);
    for (const way of [0.03, -0.03]) {
      const at = await person.at((await appliance.tool()).pose.p);
      const to = await person.at([way, 0, 0.04]);
      await page.mouse.move(at.x, at.y);
      await page.mouse.down();
      await page.mouse.move(from.x, from.y, { steps: 8 });
      await page.mouse.move(to.x, to.y, { steps: 8 });
      await until(async () => {
        const { p } = (await appliance.tool()).pose;
        return p[0] * Math.sign(way) > 0.008;
      }, `it comes to the side of ${way}`);
      await page.mouse.up();
    }
    const { pose } = await appliance.tool();
    assert.deepEqual(pose.q, [1, 0, 0, 0]);
    assert.ok(Math.abs(Math.hypot(...pose.p) - 0.05) < 1e-12);
    assert.equal(await page.locator('.notice.error').count(), 0);
  });

  test('freedoms that do not separate are named, drawn and gone along by steps', async () => {
    await visit(bar);
    await until(async () => /3 freedoms/.test(await person.words()), 'it has three');
    await until(
      async () =>
        (await page.locator('[data-freedom]').allInnerTexts()).filter((t) => /turn|slide/.test(t)).length === 3,
      'three by name',
    );
    const { pose } = await appliance.tool();
    await away();
    await sleep(500);
    await until(
      async () => teal(await person.screenshot(), await person.at(pose.p), 60) > 150,
      'their ways and marks are drawn',
    );
    await page.click('[data-freedom="0"] button[aria-label$="on"]');
    await until(
      async () =>
        Math.hypot(...(await appliance.tool()).pose.p.map((v, i) => v - pose.p[i])) > 5e-4 ||
        Math.abs((await appliance.tool()).pose.q.reduce((s, v, i) => s + v * pose.q[i], 0)) < 1 - 1e-5,
      'a step moves it',
    );
    assert.ok((await appliance.tool()).residual < 1e-9);
  });

  test('such an object is dragged along its freedoms while stopped', async () => {
    await visit(bar);
    await away();
    const start = (await appliance.tool()).pose;
    const grip = [-0.08, 0, 0.01];
    const from = await person.at(place(start, grip));
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(from.x + 40, from.y + 15, { steps: 5 });
    await until(
      async () =>
        Math.hypot(...place((await appliance.tool()).pose, grip).map((v, i) => v - place(start, grip)[i])) > 0.01,
      'it moved',
    );
    await page.mouse.up();
    const { pose, residual } = await appliance.tool();
    assert.ok(residual < 1e-9, `on its set: ${residual}`);
    assert.ok(Math.abs(place(pose, [0.1, 0, 0])[2]) < 1e-9, 'its end is on the table');
  });

  test('branches tell how far they are and their ids; one is chosen afterwards, by list or by key', async () => {
    await visit('cone-on-cylinder');
    await joined();
    const { branch, branches } = await appliance.get('/solutions/cone');
    let text;
    await until(
      async () =>
        (text = await page.locator('.branches label').allInnerTexts()).length === 2 && /here/.test(text.join(' ')),
      'both, and where it is',
    );
    branches.forEach((b, i) => assert.match(text[i], new RegExp(`\\b${b.id}\\b`)));
    assert.match(text.join(' '), /180\u00b0 away/);
    const other = branches.find((b) => b.id !== branch).id;
    await page.click(`[data-branch="${other}"] input`);
    await until(async () => (await appliance.get('/solutions/cone')).branch === other, 'the other one');
    await page.locator('#canvas').focus();
    await until(async () => {
      await page.keyboard.press(']'); // of what the page shows by then
      await sleep(400);
      return (await appliance.get('/solutions/cone')).branch === branch;
    }, 'and back');
  });

  test('who follows whom is told in words', async () => {
    await visit('four-bar');
    // with mass they would be felt
    for (const id of ['coupler', 'rocker']) await appliance.api('PATCH', `/objects/${id}`, { massless: true });
    await page.click('[data-key="coupler"]');
    await until(async () => /coupler follows crank and rocker/.test(await person.text('.follows')), 'in the inspector');
    const solution = await appliance.get('/solutions/coupler');
    assert.deepEqual(solution.cluster, ['coupler', 'rocker']);
    await until(
      async () => /solved together with rocker: they stand while the rest does/.test(await person.text('.follows')),
      'who is solved with it',
    );
    await until(
      async () =>
        /follows crank and rocker/.test(
          await page.locator('[data-key="coupler"] .tree-note').getAttribute('title', { timeout: 1000 }),
        ),
      'in the tree',
    );
  });

  test('a body of a linkage has the freedoms of the linkage, not those of its own constraints', async () => {
    await visit('scissor-lift');
    await until(async () => /\b1 dof/.test(await page.locator('[data-key="deck"]').innerText()), 'told in the tree');
    await page.click('[data-key="deck"]');
    await until(async () => /7 bodies has 1 freedom/.test(await person.text('[data-words]')), 'the linkage in words');
    await until(async () => (await page.locator('[data-freedom]').count()) === 0, 'no sliders that its joints forbid');
    await visit('four-bar');
    await page.click('[data-key="crank"]');
    await until(async () => (await page.locator('[data-freedom]').count()) === 1, 'one that it can go along');
    await page.click('[data-key="coupler"]'); // solved together with the rocker, and it moves
    await until(async () => /3 bodies has 1 freedom/.test(await person.text('[data-words]')), 'of the coupler too');
    assert.doesNotMatch(await page.locator('.right').innerText(), /they stand/);
  });

  test('what a free object may still do is told as of any other', async () => {
    await visit('door-and-drawer');
    await until(
      async () => /free, 1 dof/.test(await page.locator('[data-key="door"]').innerText()),
      'told in the tree',
    );
    await page.click('[data-key="drawer"]');
    await until(
      async () => /1 freedom: slides along/.test(await page.locator('.right').innerText()),
      'its freedom in words',
    );
    await until(async () => /moves along its freedoms/.test(await person.text('.badges')), 'by its badge');
  });
});
