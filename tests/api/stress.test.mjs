// Ten seconds of edits, branch switches and dragging at the real server: it stays well, the tool
// stays on its constraints, and the loop's thread makes no memory call, proven by counting them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, request, root, sanitized, sleep, start, stream, until } from './server.mjs';

const SECONDS = Number(process.env.GUIDEWAY_STRESS_SECONDS ?? 10);

// Counts of memory calls in the server, by a preloaded library; not under sanitizers, which bring
// their own malloc.
function probe() {
  const folder = mkdtempSync(join(tmpdir(), 'guideway-probe-'));
  const library = join(folder, 'probe.so'),
    page = join(folder, 'page');
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-o', library, join(root, 'tests/api/alloc_probe.c')]);
  writeFileSync(page, Buffer.alloc(4096));
  const read = (at) => {
    const fd = openSync(page, 'r'),
      word = Buffer.alloc(4);
    readSync(fd, word, 0, 4, at);
    closeSync(fd);
    return word.readUInt32LE(0);
  };
  return {
    env: { LD_PRELOAD: library, GUIDEWAY_PROBE: page },
    watch(thread) {
      const fd = openSync(page, 'r+'),
        words = Buffer.alloc(8);
      words.writeUInt32LE(thread, 0);
      writeSync(fd, words, 0, 8, 0);
      closeSync(fd);
    },
    ofWatched: () => read(4),
    ofAll: () => read(8),
  };
}

const metric = async (server, name) =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec((await request(server, 'GET', '/metrics')).text)[1]);
const threadNamed = (pid, name) =>
  Number(
    readdirSync(`/proc/${pid}/task`).find((id) => readFileSync(`/proc/${pid}/task/${id}/comm`, 'utf8').trim() === name),
  );

const plane = { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top', sense: 'either' };
const distance = { id: 'c2', type: 'distance', a: 'cone/axis', b: 'cylinder/axis', value: 0.05 };

async function edits(expect, end) {
  const made = { edits: 0, switches: 0 };
  for (let i = 0; performance.now() < end; i++) {
    await expect(201, 'POST', '/constraints', plane);
    await sleep(20);
    await expect(201, 'POST', '/constraints', distance);
    await sleep(60);
    const { json } = await expect(200, 'GET', '/solutions/cone');
    for (const branch of json.branches.slice(0, 4)) {
      await expect(200, 'PATCH', '/solutions/cone', { branch: branch.id });
      made.switches++;
      await sleep(20);
    }
    await expect(200, 'PATCH', '/constraints/c2', { value: 0.03 + 0.01 * (i % 5) });
    await expect(200, 'PATCH', '/constraints/c1', { enabled: false });
    await expect(200, 'POST', '/scene/undo');
    await expect(200, 'POST', '/scene/redo');
    await expect(200, 'PUT', '/devices/sim/operator', {
      type: 'wrench',
      samples: [
        { t: 0, force: [i % 3, 0, -5] },
        { t: 0.05, force: [0, 0, 0] },
      ],
    });
    await expect(422, 'POST', '/constraints', { type: 'distance', a: 'cone/axis', b: 'cylinder/axis', value: 0.5 });
    await expect(204, 'DELETE', '/constraints/c2');
    await expect(204, 'DELETE', '/constraints/c1');
    made.edits += 9;
  }
  return made;
}

async function drags(live, end) {
  for (let i = 0; performance.now() < end; i++) {
    const angle = i / 10;
    live.send({
      op: 'drag',
      tool: 0,
      point: [0, 0, 0.05],
      target: [0.1 * Math.cos(angle), 0.1 * Math.sin(angle), 0.2],
      turn: i % 50 > 40,
    });
    if (i % 60 === 59) live.send({ op: 'release', tool: 0 });
    if (i % 25 === 0) live.send({ op: 'push', tool: 0, force: [1, -1, 0], torque: [0, 0, 0.01] });
    if (i % 90 === 30) live.send({ op: 'clutch', tool: 0, on: true });
    if (i % 90 === 35) live.send({ op: 'clutch', tool: 0, on: false });
    await sleep(16);
  }
}

// Features patched as fast as they go: the loop takes every value without a call for memory.
async function moves(expect, end) {
  let made = 0;
  for (; performance.now() < end; made++)
    await expect(200, 'PATCH', '/features/cylinder/shelf', {
      plane: { point: [0, 0, 0.1 + 0.01 * Math.sin(made / 200)], normal: [0.02 * Math.sin(made / 300), 0, 1] },
    });
  return made;
}

const shelf = {
  format: 'guideway-scene/1',
  name: 'moving shelf',
  objects: [
    { id: 'cylinder', geometry: { type: 'cylinder', radius: 0.1, height: 0.2 }, fixed: true },
    {
      id: 'cone',
      geometry: { type: 'cone', radius: 0.04, height: 0.1 },
      pose: { p: [0.1, 0, 0.3], q: [1, 0, 0, 0] },
      body: { mass: 2 },
    },
    { id: 'bead', geometry: { type: 'sphere', radius: 0.02 }, pose: { p: [0.1, 0, 0.5], q: [1, 0, 0, 0] } },
  ],
  features: [{ id: 'cylinder/shelf', plane: { point: [0, 0, 0.1], normal: [0, 0, 1] } }],
  constraints: [
    { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/shelf', sense: 'opposite' },
    { id: 'c2', type: 'coincident', a: 'bead/center', b: 'cone/apex' },
    { id: 'c3', type: 'distance', a: 'cone/axis', b: 'cylinder/axis', value: 0.05, enabled: false },
  ],
  tool: { object: 'cone', device: 'sim', control: 'admittance' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

test('three seconds of geometry that moves under a dragged tool', { timeout: 120000 }, async () => {
  const counter = sanitized ? null : probe();
  const server = await start({ env: counter?.env });
  const { expect } = await client(server);
  const live = stream(server);
  await live.wait('hello');
  await expect(200, 'PUT', '/scene', shelf);
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await sleep(100);
  counter?.watch(await metric(server, 'guideway_rt_thread_id'));
  const end = performance.now() + Math.min(3000, 300 * SECONDS);
  const [made] = await Promise.all([moves(expect, end), drags(live, end)]);
  const { json } = await expect(200, 'GET', '/simulation');
  assert.ok(json.tools[0].residual < 1e-9, `${json.tools[0].residual}`);
  assert.deepEqual(
    live.messages.filter((m) => m.op === 'event' && m.event.severity === 'error'),
    [],
  );
  if (counter) {
    console.log(
      `# ${made} values, ${counter.ofWatched()} memory calls in the loop's thread, ${counter.ofAll()} in all`,
    );
    assert.equal(counter.ofWatched(), 0);
  }
  await live.close();
  const { code, err } = await server.stop();
  assert.equal(code, 0, err);
  assert.equal(err, '', err);
});

// An arm of three links that sweeps among balls on a floor, held by an impedance device.
const playground = {
  format: 'guideway-scene/1',
  name: 'playground',
  gravity: [0, 0, -9.81],
  objects: [
    { id: 'floor', geometry: { type: 'box', size: [3, 3, 0.1] }, pose: { p: [0, 0, -0.05] }, fixed: true },
    ...[0, 1, 2, 3].map((i) => ({
      id: `ball${i}`,
      free: true,
      material: 'rubber',
      geometry: { type: 'sphere', radius: 0.08 },
      pose: { p: [0.6 * Math.cos(1.5 * i), 0.6 * Math.sin(1.5 * i), 0.08] },
    })),
  ],
  materials: [{ id: 'rubber', restitution: 0.7, friction: 0.4 }],
  contact: {},
  mechanisms: [
    {
      id: 'arm',
      base: { p: [0, 0, 0.08] },
      links: [0, 1, 2].map((i) => ({
        joint: { type: 'revolute', origin: { p: [i ? 0.3 : 0, 0, 0] }, damping: 0.2 },
        geometry: { type: 'box', size: [0.3, 0.04, 0.04] },
        geometry_at: { p: [0.15, 0, 0] },
      })),
    },
  ],
  tool: { mechanism: 'arm', link: 2, at: { p: [0.3, 0, 0] }, device: 'hand', control: 'penalty' },
  devices: [
    {
      id: 'hand',
      driver: 'sim-impedance',
      operator: {
        type: 'hand',
        path: Array.from({ length: 300 }, (_, i) => ({
          t: i / 10,
          p: [0.7 * Math.cos(i / 7), 0.7 * Math.sin(i / 7), 0.08],
        })),
      },
    },
  ],
};

async function plays(expect, end) {
  const controls = ['impedance', 'penalty', 'coupling', 'four-channel'];
  let made = 0;
  for (; performance.now() < end; made++) {
    await expect(200, 'PATCH', '/tool', { control: controls[made % 4] });
    await expect(200, 'PUT', `/mechanisms/arm/joints/${made % 3}/motor`, {
      torque: Math.sin(made),
      damping: 0.1,
      max: 2,
    });
    if (made % 3 === 0)
      await expect(200, 'PATCH', '/contact', {
        friction: made % 2 ? 'stick' : 'creep',
        model: made % 4 ? 'exact' : 'local',
      });
    if (made % 5 === 0) await expect(200, 'PATCH', '/materials/rubber', { restitution: (made % 10) / 10 });
    if (made % 7 === 0)
      await expect(201, 'POST', '/objects', {
        id: `late${made}`,
        free: true,
        geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
        pose: { p: [0.8, 0.1 * (made % 5), 0.3] },
      });
    if (made % 11 === 10) await expect(200, 'POST', '/scene/undo');
    await sleep(15);
  }
  return made;
}

test('five seconds of an arm that is played among bodies', { timeout: 120000 }, async () => {
  const counter = sanitized ? null : probe();
  const server = await start({ env: counter?.env });
  const { expect } = await client(server);
  const live = stream(server);
  await live.wait('hello');
  live.send({ op: 'subscribe', stream: 'samples' });
  await expect(200, 'PUT', '/scene', playground);
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await sleep(100);
  counter?.watch(await metric(server, 'guideway_rt_thread_id'));
  const made = await plays(expect, performance.now() + Math.min(5000, 500 * SECONDS));
  const { json } = await expect(200, 'GET', '/simulation');
  assert.ok(json.contact.collisions > 0, 'something was hit');
  assert.ok(
    json.tick > 100 && json.mechanisms[0].positions.every((q) => Math.abs(q) < 1e3),
    JSON.stringify(json.mechanisms),
  );
  assert.deepEqual(
    live.messages.filter((m) => m.op === 'event' && m.event.severity === 'error'),
    [],
  );
  if (counter) {
    console.log(
      `# ${made} rounds, ${json.contact.collisions} collisions, ${counter.ofWatched()} memory calls in the loop's thread, ${counter.ofAll()} in all`,
    );
    assert.equal(counter.ofWatched(), 0);
  }
  await live.close();
  const { code, err } = await server.stop();
  assert.equal(code, 0, err);
  assert.equal(err, '', err);
});

test('ten seconds of edits, branch switches and dragging', { timeout: 180000 }, async () => {
  const counter = sanitized ? null : probe();
  const server = await start({ env: counter?.env, args: ['--scene', 'cone-on-cylinder'] });
  const { expect } = await client(server);
  const live = stream(server);
  await live.wait('hello');
  live.send({ op: 'subscribe', stream: 'samples' });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await sleep(100);
  if (counter) {
    // a count that cannot be other than zero would prove nothing: the stream's thread makes some
    counter.watch(threadNamed(server.pid, 'gw-stream'));
    await until('calls of another thread', () => counter.ofWatched() > 0);
    counter.watch(await metric(server, 'guideway_rt_thread_id'));
  }
  const first = (await expect(200, 'GET', '/simulation')).json.tick;
  const end = performance.now() + 1000 * SECONDS;
  const [made] = await Promise.all([edits(expect, end), drags(live, end)]);
  const { json } = await expect(200, 'GET', '/simulation');
  assert.equal(json.state, 'running');
  assert.ok(json.tick - first > (sanitized ? 100 : 900 * SECONDS), `${json.tick - first} ticks`);
  assert.ok(made.edits > (sanitized ? 9 : 9 * SECONDS), `${made.edits} edits`);
  const events = live.messages.filter((m) => m.op === 'event').map((m) => m.event);
  assert.deepEqual(
    events.filter((e) => e.severity === 'error'),
    [],
  );
  for (const state of live.messages.filter((m) => m.op === 'state'))
    for (const tool of state.simulation.tools)
      assert.ok(tool.travelling || tool.residual < 1e-9, `residual ${tool.residual}`);
  if (counter) {
    console.log(
      `# ${made.edits} edits, ${made.switches} branch switches, ${json.tick - first} ticks: ${counter.ofWatched()} memory calls in the loop's thread, ${counter.ofAll()} in all`,
    );
    assert.equal(counter.ofWatched(), 0);
    assert.equal((await metric(server, 'guideway_rt_thread_id')) > 0, true);
  }
  await live.close();
  const { code, err } = await server.stop();
  assert.equal(code, 0, err);
  assert.equal(err, '', err);
});
