// Geometry that moves while it runs, and objects that follow: features by PATCH, fixed objects,
// trees, cycles; what clients see of it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { box, expect, live, near, now, run, serve, tool } from './running.mjs';
import { guideway, sanitized, sleep, until } from './server.mjs';

serve();

const shelfAt = (z) => ({ plane: { point: [0, 0, z], normal: [0, 0, 1] } });
const scene = {
  format: 'guideway-scene/1',
  name: 'moving shelf',
  objects: [
    box('ground', [0, 0, 0], { fixed: true }),
    box('lid', [0, 0, 0.2]),
    box('knob', [0, 0, 0.4], { massless: true }),
  ],
  features: [{ id: 'ground/shelf', ...shelfAt(0.1) }],
  constraints: [
    { id: 'c1', type: 'coincident', a: 'lid/-z', b: 'ground/shelf', sense: 'opposite' },
    { id: 'c2', type: 'coincident', a: 'knob/-z', b: 'lid/+z', sense: 'opposite' },
  ],
  tool: { object: 'lid', device: 'sim', control: 'admittance' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

async function load() {
  await expect(200, 'PUT', '/scene', scene);
  await run('running');
}

test('the tool follows a feature that is patched again and again, and so does what lies on it', async () => {
  await load();
  const sent = performance.now();
  let z = 0.1;
  for (let k = 1; k <= 400; k++) {
    z = 0.1 + 0.02 * (1 - Math.cos(k / 40));
    await expect(200, 'PATCH', '/features/ground/shelf', shelfAt(z));
  }
  const took = performance.now() - sent;
  console.log(`# ${Math.round(400000 / took)} patches a second, one after the other`);
  await until('the tool at the last value', async () => Math.abs((await tool()).pose.p[2] - z - 0.05) < 1e-9);
  const moved = await tool();
  assert.ok(!moved.travelling, 'it followed, it did not travel');
  assert.ok(moved.residual < 1e-12);
  const knob = await until('a frame of all', () => live.frames.at(-1)?.poses.length === 2 && live.frames.at(-1));
  const at = live.frames.length;
  await until('a newer frame', () => live.frames.length > at + 2);
  near(live.frames.at(-1).poses[1].p[2], z + 0.15, 1e-6);
  assert.ok(knob);
  assert.equal((await expect(200, 'GET', '/features/ground/shelf')).json.plane.point[2], z);
});

test('a stream of values is told to clients some times a second, and the newest revision last', async () => {
  await load();
  let quiet = 0; // what came before has been told
  for (
    let count = -1;
    quiet < 8;
    quiet = count === live.messages.filter((m) => m.op === 'event').length ? quiet + 1 : 0
  ) {
    count = live.messages.filter((m) => m.op === 'event').length;
    await sleep(100);
  }
  const from = live.messages.length;
  let revision;
  for (let k = 0; k < 300; k++)
    revision = Number(
      (await expect(200, 'PATCH', '/features/ground/shelf', shelfAt(0.1 + 1e-5 * k))).headers.etag.slice(1, -1),
    );
  const since = () => live.messages.slice(from);
  await until('the newest scene', () => since().some((m) => m.op === 'scene' && m.revision === revision));
  await until('the newest event', () =>
    since().some((m) => m.op === 'event' && m.event.kind === 'active' && m.event.revision === revision),
  );
  const events = since().filter((m) => m.op === 'event' && m.event.kind === 'active');
  assert.ok(events.length < 100, `${events.length} events`);
  assert.equal(
    events.reduce((sum, m) => sum + (m.event.count ?? 1), 0),
    300,
  );
  assert.ok(since().filter((m) => m.op === 'scene').length < 150);
});

test('values that came in a row are undone as one', async () => {
  await load();
  for (let k = 1; k <= 20; k++) await expect(200, 'PATCH', '/features/ground/shelf', shelfAt(0.1 + 1e-3 * k));
  await expect(200, 'POST', '/scene/undo');
  near((await expect(200, 'GET', '/features/ground/shelf')).json.plane.point[2], 0.1, 0);
  await until('the tool back', async () => Math.abs((await tool()).pose.p[2] - 0.15) < 1e-9);
});

test('a single value is gone to at bounded speed', async () => {
  await load();
  await sleep(200);
  const from = live.frames.length;
  await expect(200, 'PATCH', '/features/ground/shelf', shelfAt(0.2));
  await until('the tool there', async () => Math.abs((await tool()).pose.p[2] - 0.25) < 1e-9);
  const frames = live.frames.slice(from);
  for (let i = 1; i < frames.length; i++) {
    const [a, b] = [frames[i - 1], frames[i]],
      dt = (b.tick - a.tick) / 1000;
    assert.ok(Math.abs(b.poses[0].p[2] - a.poses[0].p[2]) <= 0.2501 * dt + 1e-6, 'too fast');
  }
});

test('geometry that takes a branch away brings the tool onto another one', async () => {
  // two spheres about pins cut in a circle; on their way to the other side they cut no more
  const pins = {
    ...scene,
    name: 'pins',
    features: [
      { id: 'ground/pin', point: [0, 0, 0.1] },
      { id: 'ground/other', point: [0.1, 0, 0.1] },
    ],
    constraints: [
      { id: 'c1', type: 'distance', a: 'lid/center', b: 'ground/pin', value: 0.1 },
      { id: 'c2', type: 'distance', a: 'lid/center', b: 'ground/other', value: 0.05 },
    ],
  };
  await expect(200, 'PUT', '/scene', pins);
  await run('running');
  await sleep(100);
  const from = live.messages.length;
  await expect(200, 'PATCH', '/features/ground/other', { point: [-0.1, 0, 0.1] });
  const of = (kind) => live.messages.slice(from).find((m) => m.op === 'event' && m.event.kind === kind);
  await until('the branch to be gone', () => of('left-behind'));
  await until('the tool on its constraints again', async () => {
    const t = await tool();
    return (
      !t.travelling &&
      t.residual < 1e-9 &&
      Math.abs(Math.hypot(t.pose.p[0] + 0.1, t.pose.p[1], t.pose.p[2] - 0.1) - 0.05) < 1e-9
    );
  });
});

test('a value that cannot hold changes nothing', async () => {
  await load();
  await expect(201, 'POST', '/features', { id: 'ground/pin', point: [0, 0, 0.1] });
  await expect(201, 'POST', '/constraints', {
    id: 'c3',
    type: 'distance',
    a: 'lid/center',
    b: 'ground/pin',
    value: 0.06,
  });
  const refused = await expect(422, 'PATCH', '/features/ground/pin', { point: [0, 0, 0.9] });
  assert.equal(refused.json.status, 'incompatible');
  assert.ok(refused.json.conflict.constraints.includes('c3'));
  assert.deepEqual((await expect(200, 'GET', '/features/ground/pin')).json.point, [0, 0, 0.1]);
  await until('the tool on its constraints', async () => (await tool()).residual < 1e-9);
});

test('a fixed object that is moved takes along what stands on it; a stop goes back to the scene', async () => {
  await load();
  await expect(200, 'PATCH', '/objects/ground', { pose: { p: [0, 0, 0.03], q: [1, 0, 0, 0] } });
  await until('the tool there', async () => Math.abs((await tool()).pose.p[2] - 0.18) < 1e-9);
  assert.ok(!(await tool()).travelling);
  await run('stopped');
  near((await tool()).pose.p[2], 0.18, 1e-9);
  await expect(200, 'PATCH', '/objects/ground', { pose: { p: [0, 0, 0], q: [1, 0, 0, 0] } });
  near((await tool()).pose.p[2], 0.15, 1e-9);
});

test('a value patched while stopped is where the scene begins', async () => {
  await expect(200, 'PUT', '/scene', scene);
  await expect(200, 'PATCH', '/features/ground/shelf', shelfAt(0.13));
  near((await tool()).pose.p[2], 0.18, 1e-9);
  await run('running');
  await sleep(50);
  near((await tool()).pose.p[2], 0.18, 1e-9);
});

test('solutions say who follows whom and what was solved as a whole', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'four-bar' });
  for (const id of ['coupler', 'rocker']) await expect(200, 'PATCH', `/objects/${id}`, { massless: true });
  const crank = (await expect(200, 'GET', '/solutions/crank')).json;
  const coupler = (await expect(200, 'GET', '/solutions/coupler')).json;
  assert.equal(crank.dof, 1);
  assert.equal(crank.follows, undefined);
  assert.deepEqual(coupler.follows, ['crank', 'rocker']);
  assert.deepEqual(coupler.cluster, ['coupler', 'rocker']);
  assert.equal(coupler.cluster_dof, 0);
  await run('running');
  const from = live.frames.length;
  await sleep(sanitized ? 1500 : 500);
  const turned = live.frames.slice(from).map((f) => Math.abs(f.poses[2].q[3]));
  assert.ok(Math.max(...turned) - Math.min(...turned) > 0.01, 'the rocker moves with the crank');
});

test('trees and cycles keep their constraints in headless runs', () => {
  for (const name of ['tray', 'four-bar']) {
    const done = spawnSync(guideway, ['run', name, '--seconds', '3'], { encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
    const summary = JSON.parse(done.stdout),
      e = summary.energy;
    assert.ok(summary.constraint_residual_max < 1e-12, `${name}: ${summary.constraint_residual_max}`);
    near(e.final - e.initial, e.work_in - e.dissipated, 1e-12);
  }
});

test('two hands hold bodies of one system; to hold what has no mass and follows is refused by name', async () => {
  const two = (massless) => ({
    ...scene,
    tool: undefined,
    devices: [
      { id: 'sim', driver: 'sim' },
      { id: 'left', driver: 'sim' },
    ],
    objects: [...scene.objects.slice(0, 2), box('knob', [0, 0, 0.4], { massless })],
    tools: [
      { object: 'lid', device: 'sim', control: 'admittance' },
      { object: 'knob', device: 'left', control: 'admittance' },
    ],
  });
  const { json } = await expect(400, 'PUT', '/scene', two(true));
  assert.match(json.errors[0].detail, /lid.*knob|knob.*lid/);
  await expect(200, 'PUT', '/scene', two(false));
  await run('running');
  await expect(200, 'PUT', '/devices/left/operator', {
    type: 'wrench',
    samples: [{ t: 0, force: [0.1, 0, -1], torque: [0, 0, 0] }],
  });
  const tools = await until('the knob slides on the lid', async () => {
    const { tools } = await now();
    return tools[1].pose.p[0] > 0.01 && tools;
  });
  for (const t of tools) assert.ok(t.residual < 1e-12);
  near(tools[0].pose.p[0], 0, 1e-12);
  near(tools[1].pose.p[2] - tools[0].pose.p[2], 0.1, 1e-12);
});
