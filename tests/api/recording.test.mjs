// `run --record`: the MCAP file, read by a reader that is not ours, against the CSV files of the same run.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { command, run, scratch } from './command.mjs';

const web = fileURLToPath(new URL('../../web/package.json', import.meta.url));
const { McapIndexedReader, McapStreamReader } = createRequire(web)('@mcap/core');

// All messages of a file by topic, read through its index, which checks the sums of its parts.
async function read(name) {
  const file = await open(join(scratch, name));
  const readable = {
    size: async () => BigInt((await file.stat()).size),
    read: async (offset, size) => {
      const buffer = new Uint8Array(Number(size));
      await file.read(buffer, 0, buffer.length, Number(offset));
      return buffer;
    },
  };
  const reader = await McapIndexedReader.Initialize({ readable });
  const topics = new Map();
  let last = -1n;
  for await (const m of reader.readMessages()) {
    const { topic, schemaId, messageEncoding } = reader.channelsById.get(m.channelId);
    assert.equal(messageEncoding, 'json');
    assert.ok(m.logTime >= last, 'in order of time');
    last = m.logTime;
    if (!topics.has(topic)) topics.set(topic, { schema: reader.schemasById.get(schemaId), messages: [] });
    topics.get(topic).messages.push({ time: m.logTime, data: JSON.parse(new TextDecoder().decode(m.data)) });
  }
  await file.close();
  return { topics, statistics: reader.statistics, chunks: reader.chunkIndexes };
}

function csv(name) {
  const [head, ...rows] = readFileSync(join(scratch, name), 'utf8').trim().split('\n');
  const names = head.split(',');
  return rows.map((row) => Object.fromEntries(row.split(',').map((x, i) => [names[i], Number(x)])));
}

for (const scene of ['four-bar', 'nozzle-over-hood', 'ur5-load', 'curve-on-curve', 'tray', 'free-body'])
  test(`${scene}: samples and poses of every tick are those of the CSV files`, async () => {
    run(scene, '--seconds', '0.3', '--csv', 'a.csv', '--bodies', 'b.csv', '--record', 'c.mcap');
    const { topics, statistics } = await read('c.mcap');
    const samples = topics.get('/samples'),
      poses = topics.get('/poses');
    const [rows, bodies] = [csv('a.csv'), csv('b.csv')];
    assert.equal(samples.schema.name, 'guideway.Sample');
    assert.equal(samples.messages.length, rows.length);
    const columns = Object.keys(JSON.parse(new TextDecoder().decode(samples.schema.data)).properties);
    for (const [i, { time, data }] of samples.messages.entries()) {
      assert.equal(time, BigInt(Math.round(1e9 * rows[i].t)));
      assert.deepEqual(Object.keys(data), columns);
      for (const [name, value] of Object.entries(rows[i])) assert.equal(data[name], value, name);
    }
    assert.equal(poses.schema.name, 'foxglove.FrameTransforms');
    assert.equal(poses.messages.length, bodies.length);
    for (const [i, { data }] of poses.messages.entries())
      for (const f of data.transforms) {
        const at = (name) => bodies[i][`${f.child_frame_id}.${name}`];
        assert.equal(f.parent_frame_id, 'world');
        if (at('px') === undefined) continue; // nothing moves it
        assert.deepEqual(f.translation, { x: at('px'), y: at('py'), z: at('pz') });
        assert.deepEqual(f.rotation, { x: at('qx'), y: at('qy'), z: at('qz'), w: at('qw') });
      }
    // what is drawn is drawn at a frame that is told, and the document opens again
    const frames = new Set(
      [poses, topics.get('/fixed')].flatMap((t) => t.messages[0].data.transforms.map((f) => f.child_frame_id)),
    );
    const { entities } = topics.get('/shapes').messages[0].data;
    assert.ok(entities.length > 0);
    for (const e of entities) {
      assert.ok(frames.has(e.frame_id), e.frame_id);
      const drawn = ['cubes', 'spheres', 'cylinders', 'lines', 'triangles'].flatMap((kind) => e[kind]);
      assert.ok(drawn.length > 0, `${e.id} is drawn`);
      for (const t of e.triangles) assert.ok(t.indices.length % 3 === 0 && Math.max(...t.indices) < t.points.length);
    }
    const [document] = topics.get('/scene').messages;
    assert.equal(document.data.format, 'guideway-scene/1');
    let count = 0;
    for (const { messages } of topics.values()) count += messages.length;
    assert.equal(statistics.messageCount, BigInt(count));
  });

test('a longer one has several parts, each with its index, and a reader of the stream alone agrees', async () => {
  run('stewart-platform', '--seconds', '2', '--record', 'long.mcap');
  const { chunks, statistics } = await read('long.mcap');
  assert.ok(chunks.length > 2, `${chunks.length} chunks`);
  const reader = new McapStreamReader({ validateCrcs: true });
  reader.append(readFileSync(join(scratch, 'long.mcap')));
  let count = 0n;
  for (let record; (record = reader.nextRecord()); ) if (record.type === 'Message') count++;
  assert.ok(reader.done());
  assert.equal(count, statistics.messageCount);
});

test('events are recorded at their ticks, and the same run gives the same bytes', async () => {
  const pushed = {
    format: 'guideway-scene/1',
    name: 'Pushed beyond its limit',
    objects: [{ id: 'body', geometry: { type: 'sphere', radius: 0.1 } }],
    devices: [{ id: 'sim', driver: 'sim', operator: { type: 'wrench', samples: [{ t: 0.1, force: [9, 0, 0] }] } }],
    tool: { object: 'body', device: 'sim', limits: { force: 1 } },
  };
  writeFileSync(join(scratch, 'pushed.json'), JSON.stringify(pushed));
  const { events } = run('pushed.json', '--seconds', '1', '--record', '1.mcap');
  run('pushed.json', '--seconds', '1', '--record', '2.mcap');
  assert.ok(readFileSync(join(scratch, '1.mcap')).equals(readFileSync(join(scratch, '2.mcap'))));
  const told = (await read('1.mcap')).topics.get('/events').messages;
  const kinds = new Set(told.map((m) => m.data.kind));
  assert.deepEqual([...kinds].sort(), [...new Set(events.map((e) => e.kind))].sort());
  assert.ok(kinds.has('limited'), JSON.stringify(events));
  for (const { time, data } of told) assert.equal(time, BigInt(Math.round(1e9 * data.time)));
});

test('a file that cannot be written is told by its name', () => {
  for (const [file, words] of [
    ['no/such/folder.mcap', /no\/such\/folder\.mcap/],
    ['/dev/full', /\/dev\/full could not be written whole/],
  ]) {
    const { code, err } = command(['run', 'free-body', '--seconds', '1', '--record', file]);
    assert.equal(code, 1);
    assert.match(err, words);
  }
});
