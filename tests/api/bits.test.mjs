// The same scene gives the same bits: what a client of the stream sees of every tick is what `run` writes to its
// CSV, whatever the appliance did before and does beside it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, test } from 'node:test';
import { client, guideway, root, sanitized, start, stream, until } from './server.mjs';

const names = readdirSync(join(root, 'scenes'))
  .filter((f) => f.endsWith('.json'))
  .map((f) => f.slice(0, -5));
const folder = mkdtempSync(join(tmpdir(), 'guideway-bits-'));
let server, expect;

before(async () => {
  server = await start();
  ({ expect } = await client(server));
});
after(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function headless(name, ...more) {
  const csv = join(folder, `${basename(name)}.csv`);
  const child = spawn(guideway, ['run', name, '--seconds', '1', '--csv', csv, ...more], { stdio: 'ignore' });
  assert.equal(await new Promise((done) => child.on('exit', done)), 0, name);
  const [head, ...rows] = readFileSync(csv, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  return { head, rows: rows.map((row) => row.map(Number)) };
}

// From tick 0 on for so many ticks; what came of them, by tick.
async function watched(name, ticks) {
  const live = stream(server),
    rows = new Map();
  await live.opened;
  live.send({ op: 'subscribe', stream: 'samples' });
  const { columns } = await live.wait('subscribed');
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const take = () => {
    const frames = live.frames.splice(0).filter((f) => f.type === 2);
    // those of tick 0 that wait for it go first
    for (const frame of frames) frame.rows.forEach((row, i) => rows.set(frame.first + i, row));
    return rows.has(ticks);
  };
  await until(`${ticks} ticks of ${name}`, take, sanitized ? 60000 : 10000);
  await live.close();
  return { columns, rows };
}

function compare(what, { head, rows }, seen, ticks, least) {
  assert.deepEqual(seen.columns.slice(0, head.length), head);
  let found = 0;
  for (let k = 0; k < ticks; k++) {
    const row = seen.rows.get(k);
    if (!row) continue; // a client that is slow loses rows, never bits
    found++;
    head.forEach((column, i) =>
      assert.ok(Object.is(row[i], rows[k][i]), `${what}, tick ${k}: ${column} is ${row[i]}, run has ${rows[k][i]}`),
    );
  }
  assert.ok(found >= least * ticks, `${what}: ${found} of ${ticks} ticks arrived`);
}

for (const name of names)
  test(`${name} on the stream is what run writes`, async () => {
    const alone = await headless(name);
    const ticks = alone.rows.length,
      least = sanitized ? 0.2 : 0.9;
    await expect(200, 'POST', '/scene/open', { scene: name });
    compare(name, alone, await watched(name, ticks), ticks, least);
    // stopped amid its motion and started again at once: nothing of the first time is left
    await expect(200, 'PUT', '/simulation', { state: 'stopped' });
    compare(`${name} again`, alone, await watched(name, 200), 200, sanitized ? 0 : 0.5);
    await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  });

// Boxes and balls that fall into an enclosure, a held ball that stirs them: which pairs are known, and since when,
// is in every bit of it.
function heap() {
  const wall = (id, p, size) => ({ id, geometry: { type: 'box', size }, pose: { p }, fixed: true });
  const objects = [
    wall('floor', [0, 0, -0.1], [2, 2, 0.2]),
    wall('east', [0.4, 0, 0.4], [0.1, 0.9, 0.8]),
    wall('west', [-0.4, 0, 0.4], [0.1, 0.9, 0.8]),
    wall('north', [0, 0.4, 0.4], [0.9, 0.1, 0.8]),
    wall('south', [0, -0.4, 0.4], [0.9, 0.1, 0.8]),
  ];
  for (let i = 0; i < 24; i++) {
    const geometry = i % 2 ? { type: 'sphere', radius: 0.05 } : { type: 'box', size: [0.1, 0.12, 0.08] };
    const turn = 0.3 * i,
      q = [Math.cos(turn), Math.sin(turn) * 0.6, 0, Math.sin(turn) * 0.8];
    const p = [0.16 * (i % 4) - 0.24, 0.16 * (Math.floor(i / 4) % 3) - 0.16, 0.08 + 0.16 * Math.floor(i / 12)];
    objects.push({
      id: `b${i}`,
      geometry,
      free: true,
      pose: { p, q },
      velocity: { v: [1.5 * Math.sin(i), Math.cos(i), 0] },
    });
  }
  objects.push({
    id: 'stirrer',
    geometry: { type: 'sphere', radius: 0.04 },
    pose: { p: [0, 0, 0.5] },
    body: { mass: 1 },
  });
  const samples = [
    { t: 0, force: [0, 0, 4], torque: [0, 0, 0] },
    { t: 0.2, force: [3, 1, -4], torque: [0, 0, 0] },
  ];
  return {
    format: 'guideway-scene/1',
    name: 'Heap',
    gravity: [0, 0, -9.81],
    objects,
    contact: { enabled: true },
    tool: { object: 'stirrer', device: 'sim', control: 'admittance' },
    devices: [{ id: 'sim', driver: 'sim', profile: 'cobotic-hand-controller', operator: { type: 'wrench', samples } }],
  };
}

// An arm on local models, which are the world's thread's too.
function local() {
  const scene = JSON.parse(readFileSync(join(root, 'scenes', 'paper-mechanism-distal.json'), 'utf8'));
  return { ...scene, name: 'Local', contact: { ...scene.contact, model: 'local', rate: 100 } };
}

for (const scene of [heap(), local()]) {
  const file = join(folder, `${scene.name}.json`);

  test(`${scene.name}: the same on the stream, with the machine under load`, async () => {
    writeFileSync(file, JSON.stringify(scene));
    const alone = await headless(file),
      ticks = alone.rows.length;
    await expect(200, 'PUT', '/scene', scene);
    let loaded = true;
    const load = Array.from({ length: 4 }, async () => {
      while (loaded) {
        await expect(200, 'GET', '/scene');
        await expect(200, 'GET', '/contacts');
      }
    });
    for (let k = 0; k < 3; k++) {
      compare(scene.name, alone, await watched(scene.name, ticks), ticks, sanitized ? 0.2 : 0.9);
      await expect(200, 'PUT', '/simulation', { state: 'stopped' });
    }
    loaded = false;
    await Promise.all(load);
  });

  test(`${scene.name}: the same by steps, with rests between them`, async () => {
    writeFileSync(file, JSON.stringify(scene));
    const alone = await headless(file),
      live = stream(server),
      rows = new Map();
    await expect(200, 'PUT', '/scene', scene);
    await live.opened;
    live.send({ op: 'subscribe', stream: 'samples' });
    const { columns } = await live.wait('subscribed');
    await expect(200, 'PUT', '/simulation', { state: 'paused' });
    for (let left = 600; left > 0; left -= 40) {
      await new Promise((done) => setTimeout(done, 12));
      await expect(200, 'POST', '/simulation/step', { ticks: 40 });
    }
    await until('the last tick', () => {
      for (const frame of live.frames.splice(0).filter((f) => f.type === 2))
        frame.rows.forEach((row, i) => rows.set(frame.first + i, row));
      return rows.has(599);
    });
    compare(scene.name, alone, { columns, rows }, 600, sanitized ? 0.2 : 0.9);
    await expect(200, 'PUT', '/simulation', { state: 'stopped' });
    await live.close();
  });
}

// A double pendulum beside so many boxes that collision detection may last longer than a tick.
function crowd() {
  const scene = JSON.parse(readFileSync(join(root, 'scenes', 'double-pendulum.json'), 'utf8'));
  const boxes = Array.from({ length: 64 }, (_, i) => ({
    id: `crowd${i}`,
    geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
    free: true,
    pose: { p: [4 + 0.04 * (i % 8), 0.04 * Math.floor(i / 8), 0] },
  }));
  return {
    ...scene,
    name: 'Crowd',
    objects: [...scene.objects, ...boxes],
    contact: { ...scene.contact, enabled: true },
  };
}

for (const name of ['double-pendulum', 'gear-train', 'stewart-platform', 'ur5-load', 'sphere', 'Crowd'])
  test(`wrenches of the joints of ${name} on the stream are those that run writes`, async () => {
    const file = join(folder, `${name}.json`);
    if (name === 'Crowd') writeFileSync(file, JSON.stringify(crowd()));
    const source = name === 'Crowd' ? file : name,
      plain = await headless(source),
      { head, rows } = await headless(source, '--wrenches'),
      first = plain.head.length;
    assert.deepEqual(
      [head.slice(0, first), rows.map((row) => row.slice(0, first))],
      [plain.head, plain.rows],
      'what else the CSV has stays as it is',
    );
    if (name === 'Crowd') await expect(200, 'PUT', '/scene', crowd());
    else await expect(200, 'POST', '/scene/open', { scene: name });
    const live = stream(server);
    await live.opened;
    live.send({ op: 'subscribe', stream: 'wrenches', hz: 250 });
    const { columns } = await live.wait('subscribed', (m) => m.stream === 'wrenches');
    assert.deepEqual(columns, head.slice(first));
    await expect(200, 'PUT', '/simulation', { state: 'running' });
    const frames = () => live.frames.filter((f) => f.type === 3 && f.tick > 0 && f.tick < rows.length); // before it runs nothing is borne
    await until('frames', () => live.frames.some((f) => f.type === 3 && f.tick >= rows.length));
    assert.ok(frames().length >= (sanitized ? 10 : 100), `${frames().length} frames`);
    for (const { tick, t, values } of frames()) {
      assert.ok(Object.is(t, rows[tick][0]), 't is that of the tick');
      assert.deepEqual(values, rows[tick].slice(first), `${name}, tick ${tick}`);
    }
    await expect(200, 'PUT', '/simulation', { state: 'stopped' });
    await live.close();
  });

test('columns of wrenches are told anew where the joints are others, and only then', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'double-pendulum' });
  const live = stream(server);
  await live.opened;
  live.send({ op: 'subscribe', stream: 'wrenches', hz: 100 });
  const told = () => live.messages.filter((m) => m.op === 'subscribed');
  await until('frames', () => live.frames.some((f) => f.type === 3));
  await expect(200, 'PATCH', '/scene', { name: 'Another' });
  await live.wait('scene');
  assert.equal(told().length, 1);
  const scene = (await expect(200, 'GET', '/scene')).json;
  const [{ id }] = scene.joints;
  await expect(200, 'PATCH', `/joints/${id}`, { id: 'renamed' });
  await until('other names', () => told().length === 2);
  assert.deepEqual(
    told()[1].columns,
    told()[0].columns.map((name) => name.replace(new RegExp(`^${id}[.]`), 'renamed.')),
  );
  live.send({ op: 'unsubscribe', stream: 'wrenches' });
  await live.close();
});
