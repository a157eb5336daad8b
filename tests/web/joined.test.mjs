// Members of systems that are moved while stopped: what is joined to them comes along, whichever of them is taken, and
// every joint holds afterwards. One step for undo.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { place, rotate, sleep, until } from './harness.mjs';
import { changed } from './png.mjs';

const poseOf = async (id) => (await appliance.get(`/objects/${id}`)).pose;
const length = (v) => Math.hypot(...v);
const apart = (a, b) => length(a.map((x, i) => x - b[i]));

// How far the relations are from holding where everything is.
const residual = async () => (await appliance.api('POST', '/assemble', { iterations: 0, starts: 1 })).residual;

// Takes an object at a point of its frame and draws that by pixels; answers where the point was and is.
async function draw(id, local, [dx, dy]) {
  const from = await person.point(new RegExp(`^${id}/`), async () => place(await poseOf(id), local));
  const { x, y } = await person.at(from);
  await page.mouse.down();
  await page.mouse.move(x + dx, y + dy, { steps: 8 });
  await sleep(300);
  await page.mouse.up();
  await until(async () => apart(place(await poseOf(id), local), from) > 1e-3, `${id} moved`);
  await sleep(300);
  return { from, to: place(await poseOf(id), local), target: { x: x + dx, y: y + dy } };
}

suite('what is joined moves together while stopped', () => {
  test('a platform goes where it is drawn, and its legs with it; undo brings all of it back', async () => {
    await visit('stewart-platform');
    const [before, leg] = [await poseOf('platform'), await poseOf('cylinder1')];
    const { to, target } = await draw('platform', [0.05, -0.12, 0.01], [45, -20]);
    const now = await person.at(to);
    assert.ok(Math.hypot(now.x - target.x, now.y - target.y) < 6, `${now.x}, ${now.y} for ${target.x}, ${target.y}`);
    assert.ok((await residual()) < 1e-9, `${await residual()}`);
    assert.ok(apart((await poseOf('cylinder1')).q, leg.q) > 1e-3, 'the leg turned');
    await page.keyboard.press('Control+z');
    await until(async () => apart((await poseOf('platform')).p, before.p) < 1e-12, 'one step back');
    assert.ok(apart((await poseOf('cylinder1')).q, leg.q) < 1e-12);
  });

  test('an edit right after the release comes after it: undo takes back what was drawn', async () => {
    await visit('four-bar');
    const before = await poseOf('crank');
    const { revision } = await appliance.get('/simulation');
    await page.route('**/api/v1/assemble', async (route) => {
      await sleep(80);
      await route.continue();
    });
    const from = await person.point(/^coupler\//, async () => place(await poseOf('coupler'), [0.1, 0, 0]));
    const { x, y } = await person.at(from);
    await page.mouse.down();
    await page.mouse.move(x - 50, y + 25, { steps: 8 });
    await sleep(300);
    await page.mouse.up();
    await page.keyboard.press('Control+z');
    const edits = async () => (await appliance.get('/simulation')).revision - revision;
    await until(async () => (await edits()) >= 2, 'the drag and the step back');
    await sleep(800);
    await page.unroute('**/api/v1/assemble');
    assert.equal(await edits(), 2);
    assert.ok(apart((await poseOf('crank')).q, before.q) < 1e-12, 'it is where it was');
  });

  test('a slider moves the platform along one freedom, and its legs with it', async () => {
    await visit('stewart-platform');
    const field = page.locator('.freedom input[type=text]').nth(5);
    const { p } = await poseOf('platform');
    await field.fill('340');
    await field.press('Enter');
    await until(async () => Math.abs((await poseOf('platform')).p[2] - 0.34) < 1e-9, 'it is at 340 mm');
    const now = await poseOf('platform');
    assert.ok(Math.hypot(now.p[0] - p[0], now.p[1] - p[1]) < 1e-6, JSON.stringify(now));
    assert.ok((await residual()) < 1e-9);
  });

  test('the coupler of a four-bar can be taken as well as its crank', async () => {
    await visit('four-bar');
    const crank = await poseOf('crank');
    const { from, to } = await draw('coupler', [0.1, 0, 0], [-50, 25]);
    assert.ok(apart(from, to) > 0.005, `${apart(from, to)}`);
    assert.ok(apart((await poseOf('crank')).q, crank.q) > 1e-2, 'the crank turned with it');
    assert.ok((await residual()) < 1e-9);
  });

  test('a link of a loop takes the whole loop along, and no joint opens', async () => {
    const upright = [Math.SQRT1_2, Math.SQRT1_2, 0, 0]; // its axes along -y
    const link = (along, length, position) => ({
      joint: { type: 'revolute', origin: { p: [along, 0, 0] }, axis: [0, 0, 1], position },
      mass: 1,
      geometry: { type: 'box', size: [length, 0.04, 0.04] },
      geometry_at: { p: [length / 2, 0, 0] },
    });
    await visit({
      name: 'A closed chain',
      mechanisms: [
        {
          id: 'arm',
          base: { p: [0, 0, 0], q: upright },
          links: [link(0, 0.3, Math.PI / 2), link(0.3, 0.4, -Math.PI / 2), link(0.4, 0.3, -Math.PI / 2)],
        },
      ],
      joints: [
        {
          id: 'close',
          type: 'revolute',
          a: { object: 'arm.2', at: { p: [0.3, 0, 0], q: [1, 0, 0, 0] } },
          b: { object: 'world', at: { p: [0.4, 0, 0], q: upright } },
        },
      ],
    });
    await page.keyboard.press('1');
    await person.settled();
    const positions = async () => (await appliance.get('/mechanisms/arm')).links.map((l) => l.joint.position);
    const before = await positions();
    const grabbed = [0.1, -0.02, 0.3];
    await person.moveTo(grabbed);
    const { x, y } = await person.at(grabbed);
    await page.mouse.down();
    await page.mouse.move(x + 60, y + 10, { steps: 8 });
    await sleep(300);
    await page.mouse.up();
    const after = await until(async () => {
      const now = await positions();
      return now[0] !== before[0] && now;
    }, 'it moved');
    assert.ok(before[0] - after[0] > 0.05, `the first link turned towards the cursor: ${before} to ${after}`);
    assert.ok((await residual()) < 1e-9, `${await residual()}`);
    await page.keyboard.press('Control+z');
    await until(async () => (await positions())[0] === before[0], 'one step back');
  });

  test('paused, it is drawn from where it is, and goes on from where it was drawn', async () => {
    await visit('spatial-four-bar');
    await appliance.api('POST', '/assemble', { commit: true });
    await appliance.api('PUT', '/simulation', { state: 'paused' });
    await appliance.api('POST', '/simulation/step', { ticks: 300 });
    await page.keyboard.press('7');
    await person.settled();
    const joint = async () => (await appliance.get('/joints/crank-axle')).state.position[0];
    const before = await joint();
    const stated = await poseOf('crank');
    assert.ok(Math.abs(before - 2 * Math.asin(stated.q[3])) > 0.05, 'it is no longer where the scene has it');
    const out = 0.07; // m from its hinge, which is at the origin
    const from = await person.point(/^crank\//, [out * Math.cos(before), out * Math.sin(before), 0.005]);
    const { x, y } = await person.at(from);
    await page.mouse.down();
    await page.mouse.move(x, y - 30, { steps: 8 });
    await sleep(300);
    await page.mouse.up();
    const after = await until(async () => {
      const now = await joint();
      return Math.abs(now - before) > 1e-2 && now;
    }, 'it turned');
    const { state, tick } = await appliance.get('/simulation');
    assert.deepEqual([state, tick], ['paused', 300]);
    assert.ok(after > before && after - before < 1, `from ${before} to ${after}: towards the cursor, not anew`);
    await appliance.api('POST', '/simulation/step', { ticks: 5 });
    assert.ok(Math.abs((await joint()) - after) < 0.05, 'it goes on from there');
  });

  test('a crank in a joint turns about its axis and does not leave it', async () => {
    await visit('spatial-four-bar');
    await appliance.api('POST', '/assemble', { commit: true }); // its poses are those that are seen now
    await page.keyboard.press('7');
    await person.settled();
    const before = await poseOf('crank');
    await draw('crank', [0.02, 0, 0.005], [0, -30]);
    const after = await poseOf('crank');
    const { a } = await appliance.get('/joints/crank-axle');
    assert.ok(apart(place(before, a.at.p), place(after, a.at.p)) < 1e-9, 'its hinge stays');
    assert.ok(apart(rotate(before.q, [0, 0, 1]), rotate(after.q, [0, 0, 1])) < 1e-9, 'and so does its axle');
    assert.ok(apart(before.q, after.q) > 1e-2, 'it turned');
    assert.ok((await residual()) < 1e-9);
  });

  // Takes an object where it is under the cursor and draws that by pixels: how near the grabbed point came, in pixels.
  async function drawnNearer(id, local, [dx, dy], beside = [0, 0]) {
    const from = await person.at(place(await poseOf(id), local));
    const start = { x: from.x + beside[0], y: from.y + beside[1] };
    await until(async () => {
      await page.mouse.move(start.x - 2, start.y - 2);
      await page.mouse.move(start.x, start.y);
      await sleep(120);
      return (await person.hovered()).startsWith(`${id}/`);
    }, `${id} is under the cursor`);
    await page.mouse.down();
    await page.mouse.move(start.x + dx, start.y + dy, { steps: 8 });
    await sleep(900);
    await page.mouse.up();
    await sleep(900);
    const to = await person.at(place(await poseOf(id), local));
    return Math.hypot(dx, dy) - Math.hypot(to.x - from.x - dx, to.y - from.y - dy);
  }

  test('a leg that stands on a joint follows to either side, though it is taken close to its middle', async () => {
    for (const dx of [60, -60]) {
      await visit('stewart-platform');
      const nearer = await drawnNearer('cylinder1', [0, 0, -0.04], [dx, 0]);
      assert.ok(nearer > 15, `${nearer} pixels nearer by ${dx}`);
      assert.ok((await residual()) < 1e-9);
    }
  });

  test('a wheel is drawn from where stated positions of joints have it', async () => {
    await visit('car');
    assert.ok((await residual()) > 1e-3, 'its steering is not as the poses of the scene have it');
    const nearer = await drawnNearer('wheel-fl', [0, -0.03, 0], [60, -30]);
    assert.ok(nearer > 20, `${nearer} pixels nearer`);
    assert.ok((await residual()) < 1e-9);
  });

  test('a wire is taken beside its line, where that is named', async () => {
    await visit('elliptic-wheels');
    await person.settled();
    const { q } = await poseOf('driver');
    const { geometry } = await appliance.get('/objects/driver');
    const local = geometry.points[2]; // near the line, its weight being large
    const nearer = await drawnNearer('driver', local, [0, -40], [0, 3]);
    assert.ok(apart((await poseOf('driver')).q, q) > 0.05, `it turned; ${nearer} pixels nearer`);
  });

  test('of two linkages that are paused the other one stays where it is', async () => {
    const pendulum = (id, x) => ({
      id,
      geometry: { type: 'box', size: [0.04, 0.04, 0.2] },
      pose: { p: [x, 0, 0.1], q: [1, 0, 0, 0] },
      free: true,
    });
    const hinge = (id, x) => ({
      id: `hinge-${id}`,
      type: 'revolute',
      a: { object: id, at: { p: [0, 0, -0.1], q: [Math.SQRT1_2, Math.SQRT1_2, 0, 0] } },
      b: { object: 'world', at: { p: [x, 0, 0], q: [Math.SQRT1_2, Math.SQRT1_2, 0, 0] } },
      velocity: [1],
    });
    await visit({
      name: 'Two pendulums',
      objects: [pendulum('left', 0), pendulum('right', 0.3)],
      joints: [hinge('left', 0), hinge('right', 0.3)],
    });
    await appliance.api('PUT', '/simulation', { state: 'paused' });
    await appliance.api('POST', '/simulation/step', { ticks: 400 });
    await page.keyboard.press('1');
    await person.settled();
    const angle = async (id) => (await appliance.get(`/joints/hinge-${id}`)).state.position[0];
    const before = { left: await angle('left'), right: await angle('right') };
    assert.ok(Math.abs(before.right) > 0.3, 'it is not where the scene has it');
    const at = [-0.15 * Math.sin(before.left), -0.02, 0.15 * Math.cos(before.left)];
    await person.point(/^left\//, at);
    const { x, y } = await person.at(at);
    const upright = await person.at([0.3, 0, 0.15]);
    const seen = await person.screenshot();
    await page.mouse.down();
    await page.mouse.move(x + 40, y + 10, { steps: 8 });
    await sleep(400);
    assert.equal(changed(seen, await person.screenshot(), upright, 6), 0, 'nor is it drawn elsewhere meanwhile');
    await page.mouse.up();
    await until(async () => Math.abs((await angle('left')) - before.left) > 0.05, 'the left one turned');
    assert.ok(Math.abs((await angle('right')) - before.right) < 1e-9, `${await angle('right')} was ${before.right}`);
  });
});
