// The same scene gives the same bits: what a client of the stream sees of every tick is what `run` writes to its
// CSV, whatever the appliance did before and does beside it. (A scene with `contact.model` `local` runs on what the
// world's thread saw last, so its bits depend on when that looked; none of the bundled ones is.)
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
  const csv = join(folder, `${name}.csv`);
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

for (const name of ['double-pendulum', 'gear-train', 'stewart-platform', 'ur5-load', 'sphere'])
  test(`wrenches of the joints of ${name} on the stream are those that run writes`, async () => {
    const plain = await headless(name),
      { head, rows } = await headless(name, '--wrenches'),
      first = plain.head.length;
    assert.deepEqual(
      [head.slice(0, first), rows.map((row) => row.slice(0, first))],
      [plain.head, plain.rows],
      'what else the CSV has stays as it is',
    );
    await expect(200, 'POST', '/scene/open', { scene: name });
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
