// The stream: messages sent unasked, subscriptions, a person's hand, and malformed messages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { box, contract, expect, serve, server } from './running.mjs';
import { connect, sanitized, sleep, stream, until } from './server.mjs';

serve({ watched: false });

const schema = (name) => ({ $ref: `#/components/schemas/${name}` });
// Every message so far is one that the document describes.
const described = (live) => {
  for (const { at, ...message } of live.messages) contract.validate(schema('ServerMessage'), message, message.op);
};
const tool = (live) => live.messages.filter((m) => m.op === 'state').at(-1)?.simulation.tools[0];

async function entered(options) {
  const live = stream(server, options);
  await live.opened;
  await live.wait('hello');
  return live;
}

test('hello is the whole scene, and its parts are those of the document', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'peg-and-hole' });
  const live = await entered();
  const hello = live.messages[0];
  assert.equal(hello.op, 'hello');
  assert.equal(hello.protocol, 'guideway.v1');
  contract.validate(schema('Scene'), hello.scene, 'hello.scene');
  contract.validate({ type: 'array', items: schema('Solution') }, hello.solutions, 'hello.solutions');
  contract.validate(schema('Simulation'), hello.simulation, 'hello.simulation');
  assert.deepEqual(
    hello.index,
    hello.scene.objects.filter((o) => !o.fixed).map((o) => o.id),
  );
  await until('frames', () => live.frames.length > 3);
  assert.deepEqual(
    live.frames[0].poses.map((p) => p.index),
    hello.index.map((_, i) => i),
  );
  assert.equal(live.frames[0].size, 24 + 32 * hello.index.length);
  live.send({ op: 'subscribe', stream: 'samples', id: 'mine' });
  await live.wait('subscribed', (m) => m.columns.length > 4);
  await expect(200, 'PATCH', '/scene', { name: 'Another' });
  await live.wait('event', (m) => m.event.kind === 'active');
  await live.wait('scene');
  await live.wait('state');
  described(live);
  await live.close();
});

test('a client without a sub-protocol is served too', async () => {
  const live = stream(server, { protocols: [] });
  await live.wait('hello');
  await live.close();
});

test('poses come 60 times a second, or as often as asked', async () => {
  const live = await entered();
  for (const [hz, ask] of [
    [60],
    [20, { op: 'subscribe', stream: 'poses', hz: 20 }],
    [200, { op: 'subscribe', stream: 'poses', hz: 200 }],
  ]) {
    if (ask) live.send(ask);
    // the best of a few seconds: the machine may be busy with other things
    const counts = [];
    for (let i = 0; i < 5 && !counts.some((n) => Math.abs(n - hz) <= (sanitized ? hz : 0.15 * hz)); i++) {
      await sleep(100);
      const from = live.frames.length,
        began = performance.now();
      await sleep(1000);
      counts.push(((live.frames.length - from) * 1000) / (performance.now() - began));
    }
    assert.ok(
      Math.abs(counts.at(-1) - hz) <= (sanitized ? hz : 0.15 * hz),
      `${counts} frames in a second, ${hz} asked`,
    );
  }
  live.send({ op: 'unsubscribe', stream: 'poses' });
  await sleep(100);
  const from = live.frames.length;
  await sleep(200);
  assert.equal(live.frames.length, from);
  await live.close();
});

test('clients are served one after the other, after a delay too: their frames are of different ticks', async () => {
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const all = await Promise.all(Array.from({ length: 32 }, () => entered()));
  for (const live of all) live.send({ op: 'subscribe', stream: 'poses', hz: 10 });
  const spread = (when) =>
    until(`the frames of ${when} to be of eight ticks or more`, async () => {
      const from = all.map((live) => live.frames.length);
      await until('a frame each', () => all.every((live, i) => live.frames.length > from[i]));
      return new Set(all.map((live, i) => live.frames[from[i]].tick)).size >= 8;
    });
  await spread('clients that came together');
  process.kill(server.pid, 'SIGSTOP');
  await sleep(300);
  process.kill(server.pid, 'SIGCONT');
  await spread('clients that waited together');
  await Promise.all(all.map((live) => live.close()));
});

test('a scene comes before the first frame that it concerns', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'cone-on-cylinder' });
  const live = await entered();
  live.send({ op: 'subscribe', stream: 'poses', hz: 250 });
  const order = [];
  live.socket.on('message', (data, binary) => order.push(binary ? data.readUInt32LE(4) : JSON.parse(data)));
  for (let i = 0; i < 6; i++) {
    await expect(201, 'POST', '/objects', { id: `ball${i}`, geometry: { type: 'sphere', radius: 0.01 } });
    await sleep(30);
  }
  let count = 1;
  for (const item of order)
    if (typeof item === 'number') assert.equal(item, count, 'a frame has the objects of the scene before it');
    else if (item.op === 'scene') count = item.index.length;
  assert.equal(count, 7);
  await live.close();
});

test('samples are every tick, in order, also across a load', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'paper-plane' });
  const live = await entered();
  live.send({ op: 'subscribe', stream: 'samples' });
  const { columns } = await live.wait('subscribed', (m) => m.stream === 'samples');
  assert.equal(columns[0], 't');
  const ticks = () =>
    live.frames.filter((f) => f.type === 2).flatMap((f) => f.rows.map((row, i) => [f.first + i, row]));
  for (let load = 0; load < 2; load++) {
    const from = live.frames.length;
    await expect(200, 'PUT', '/simulation', { state: 'running' });
    await until(
      'samples',
      () =>
        live.frames
          .slice(from)
          .filter((f) => f.type === 2)
          .reduce((n, f) => n + f.count, 0) > 500,
    );
    await expect(200, 'POST', '/scene/open', { scene: 'paper-plane' });
  }
  let before = -1,
    gaps = 0;
  assert.equal(ticks()[0][0], 0, 'the first tick comes too');
  for (const [tick, row] of ticks()) {
    assert.equal(row.length, columns.length);
    assert.ok(Math.abs(row[0] - tick / 1000) < 1e-9, 't is the tick');
    if (tick !== before + 1 && tick > before) gaps++;
    if (tick <= before) assert.equal(tick, 0, 'a load begins at tick 0');
    before = tick;
  }
  assert.ok(gaps <= 1, `${gaps} gaps`);
  live.send({ op: 'unsubscribe', stream: 'samples' });
  await live.close();
});

test('a drag is a spring: the object follows, and is let go when the client goes', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'cone-on-cylinder' });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const watcher = await entered(),
    live = await entered();
  const start = live.messages[0].simulation.tools[0].pose.p;
  const target = [start[0] + 0.05, start[1], start[2]];
  live.send({ op: 'drag', tool: 0, point: [0, 0, 0], target });
  await until('the pull', () => tool(watcher)?.dragging && tool(watcher).pose.p[0] > start[0] + 0.03);
  const other = watcher.messages.length;
  watcher.send({ op: 'drag', id: 'mine', tool: 0, point: [0, 0, 0], target });
  const refused = await until('the refusal', () => watcher.messages.slice(other).find((m) => m.op === 'error'));
  assert.equal(refused.id, 'mine');
  assert.match(refused.detail, /another operator/);
  live.socket.terminate();
  await until('the release', () => tool(watcher) && !tool(watcher).dragging);
  await watcher.close();
});

test('a hand lets go of what is renamed: nobody could let go of it by the name that it had', async () => {
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'renamed',
    objects: [
      { ...box('ball', [0, 0, 0]), free: true },
      { ...box('door', [1, 0, 0]), free: true },
    ],
    joints: [{ id: 'hinge', type: 'revolute', a: { object: 'door' }, b: { object: 'world', at: { p: [1, 0, 0] } } }],
  });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const watcher = await entered(),
    hand = await entered();
  const bodies = () => watcher.messages.findLast((m) => m.op === 'state')?.simulation.bodies ?? [];
  const dragged = () =>
    bodies()
      .filter((b) => b.dragging)
      .map((b) => b.object);
  for (const [object, id] of [
    ['ball', 'globe'],
    ['door', 'gate'],
  ]) {
    hand.send({ op: 'drag', object, point: [0.05, 0, 0], target: [0, 0.2, 0] });
    await until(`${object} is dragged`, () => dragged().includes(object));
    await expect(200, 'PATCH', `/objects/${object}`, { id });
    await until(`${id} is shown`, () => bodies().some((b) => b.object === id));
    assert.deepEqual(dragged(), []);
    hand.send({ op: 'drag', object: id, point: [0.05, 0, 0], target: [0, 0.2, 0] });
    await until(`${id} is dragged`, () => dragged().includes(id));
    hand.send({ op: 'release', object: id });
    await until(`${id} is let go of`, () => dragged().length === 0);
  }
  for (const each of [hand, watcher]) await each.close();
});

test('a free object is dragged and pushed by its name while it runs', async () => {
  const door = { ...box('door', [0.1, 0, 0]), free: true, body: { mass: 1, damping: { angular: 0.05 } } },
    pin = (point) => ({ line: { point, direction: [0, 0, 1] } });
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'door',
    objects: [{ ...box('wall', [0, 0, 0]), fixed: true }, door],
    features: [
      { id: 'wall/pin', ...pin([0, 0, 0]) },
      { id: 'door/pin', ...pin([-0.1, 0, 0]) },
    ],
    constraints: [
      { id: 'hinge', type: 'coincident', a: 'door/pin', b: 'wall/pin', sense: 'same' },
      { id: 'level', type: 'coincident', a: 'door/mid-z', b: 'wall/mid-z', sense: 'same' },
    ],
  });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const watcher = await entered(),
    live = await entered();
  const body = () => watcher.messages.filter((m) => m.op === 'state').at(-1)?.simulation.bodies[0];
  const at = () => watcher.frames.at(-1).poses[0].p;
  live.send({ op: 'drag', object: 'door', point: [0.05, 0, 0], target: [0, 0.15, 0.3] });
  await until('it has come round', () => body()?.dragging && Math.abs(at()[0]) < 1e-3 && at()[1] > 0.099);
  assert.ok(Math.abs(body().operator.force[2]) > 29 && Math.abs(at()[2]) < 1e-6, 'the hinge bears what leads off it');
  assert.ok(Math.hypot(...body().operator.force) <= 30 + 1e-9, 'a bounded pull');
  contract.validate(
    schema('Simulation'),
    watcher.messages.filter((m) => m.op === 'state').at(-1).simulation,
    'state.simulation',
  );
  assert.ok((await expect(200, 'GET', '/simulation')).json.energy.work_in > 0);
  for (const [message, words] of [
    [{ op: 'drag', object: 'door', point: [0, 0, 0], target: [0, 0, 0] }, /another operator holds door/],
    [{ op: 'drag', object: 'wall', point: [0, 0, 0], target: [0, 0, 0] }, /wall does not move by itself: make it free/],
    [{ op: 'drag', object: 'nobody', point: [0, 0, 0], target: [0, 0, 0] }, /no object nobody/],
    [{ op: 'push', object: 'door', tool: 0, force: [1, 0, 0] }, /either a tool or an object/],
    [{ op: 'release', object: 7 }, /id of an object that moves by itself/],
  ]) {
    const from = watcher.messages.length;
    watcher.send(message);
    assert.match(
      (await until('the refusal', () => watcher.messages.slice(from).find((m) => m.op === 'error'))).detail,
      words,
    );
  }
  live.socket.terminate();
  await until('the release', () => body() && !body().dragging);
  watcher.send({ op: 'push', object: 'door', force: [0, 0, 0], torque: [0, 0, 2] });
  await until('the push', () => body()?.operator.torque[2] === 2 && body().twist.w[2] > 0);
  await until('its end', () => body()?.operator.torque[2] === 0);
  await watcher.close();
});

test('a mechanism that nothing is joined to is dragged by any of its links, held elsewhere or not', async () => {
  const link = (x) => ({
    joint: { type: 'revolute', origin: { p: [x, 0, 0] }, axis: [0, 0, 1], damping: 0.2 },
    mass: 1,
    com: [0.1, 0, 0],
    inertia: [0.01, 0.01, 0.01, 0, 0, 0],
  });
  for (const held of [undefined, { mechanism: 'arm', link: 0, device: 'sim', control: 'admittance' }]) {
    await expect(200, 'PUT', '/scene', {
      format: 'guideway-scene/1',
      name: 'arm',
      mechanisms: [{ id: 'arm', links: [link(0), link(0.2)] }],
      ...(held ? { tool: held, devices: [{ id: 'sim', driver: 'sim' }] } : {}),
    });
    await expect(200, 'PUT', '/simulation', { state: 'running' });
    const watcher = await entered(),
      live = await entered();
    const now = () => watcher.messages.filter((m) => m.op === 'state').at(-1)?.simulation;
    const tip = () => {
      const [a, b] = now()?.mechanisms[0].positions ?? [0, 0];
      return [0.2 * (Math.cos(a) + Math.cos(a + b)), 0.2 * (Math.sin(a) + Math.sin(a + b))];
    };
    live.send({ op: 'drag', object: 'arm.1', point: [0.2, 0, 0], target: [0.1, 0.25, 0] });
    await until('it has come there', () => Math.hypot(tip()[0] - 0.1, tip()[1] - 0.25) < 2e-3);
    const from = watcher.messages.length;
    watcher.send({ op: 'drag', object: 'arm.1', point: [0, 0, 0], target: [0, 0, 0] });
    assert.match(
      (await until('the refusal', () => watcher.messages.slice(from).find((m) => m.op === 'error'))).detail,
      /another operator holds arm.1/,
    );
    const e = (await expect(200, 'GET', '/simulation')).json.energy;
    assert.ok(
      Math.abs(e.kinetic + e.potential - e.initial - e.work_in - e.motors - e.edits + e.dissipated) < 1e-9 &&
        e.work_in > 0.01,
    );
    live.socket.terminate();
    watcher.send({ op: 'push', object: 'arm.0', force: [0, 0, 0], torque: [0, 0, -1] });
    await until('the push', () => now().mechanisms[0].velocities[0] < -0.05);
    await watcher.close();
  }
});

test('a push ends by itself, a clutch freezes, a halt halts', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'free-body' });
  await expect(200, 'PUT', '/devices/sim/operator', { type: 'none' });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const live = await entered();
  live.send({ op: 'push', tool: 0, force: [2, 0, 0], torque: [0, 0, 0] });
  await until('the push', () => tool(live)?.operator.force[0] === 2);
  await until('its end', () => tool(live)?.operator.force[0] === 0);
  live.send({ op: 'clutch', tool: 0, on: true });
  await until('the clutch', () => tool(live)?.clutched);
  live.send({ op: 'clutch', tool: 0, on: false });
  await until('its end', () => tool(live) && !tool(live).clutched);
  live.send({ op: 'halt' });
  await live.wait('event', (m) => m.event.kind === 'halted');
  await expect(200, 'POST', '/simulation/arm');
  await live.close();
});

test('rubbish is answered by name and does no harm', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'paper-plane' });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const live = await entered();
  const bad = [
    ['rubbish', /not JSON/],
    ['[1,2]', /object/],
    ['{"op":"dance","id":9}', /op is/],
    ['{"op":"drag","tool":0}', /point/],
    ['{"op":"drag","tool":7,"point":[0,0,0],"target":[0,0,0]}', /tool/],
    ['{"op":"drag","tool":0,"point":[0,0,0],"target":[1e60,0,0]}', /target/],
    ['{"op":"drag","tool":0,"point":[0,0,0],"target":[1e300,0,0]}', /1e\+75/],
    ['{"op":"drag","tool":0,"point":[0,0],"target":[0,0,0]}', /point|three|3/],
    ['{"op":"push","tool":0,"force":[1,0,0],"colour":1}', /colour/],
    ['{"op":"subscribe","stream":"poses","hz":1e9}', /250/],
    ['{"op":"subscribe","stream":"gossip"}', /poses, samples or wrenches/],
    ['{"op":"clutch"}', /on/],
    ['['.repeat(40) + ']'.repeat(40), /deep/],
    ['{"op":"halt","op":"halt"}', /not JSON/],
    ['', /not JSON/],
  ];
  for (const [text, words] of bad) {
    const from = live.messages.length;
    live.send(text);
    const error = await until(`the error for ${text}`, () => live.messages.slice(from).find((m) => m.op === 'error'));
    assert.match(error.detail, words, text);
  }
  assert.equal(live.messages.find((m) => m.op === 'error' && m.id === 9)?.id, 9);
  described(live);
  const drag = { op: 'drag', tool: 0, point: [0, 0, 0], target: [0, 0, 0] };
  contract.validate(schema('ClientMessage'), drag, 'a drag');
  assert.throws(() => contract.validate(schema('ClientMessage'), { ...drag, colour: 1 }, 'a drag'));
  live.socket.send(Buffer.from([1, 2, 3]));
  await sleep(50);
  live.socket.send('x'.repeat(100000));
  assert.equal((await live.closed).code, 1009);
  assert.equal((await expect(200, 'GET', '/simulation')).json.state, 'running');
});

test('a client that floods is cut off, or served; the others do not notice', async () => {
  const flood = await entered(),
    calm = await entered();
  for (let i = 0; i < 5000; i++) flood.socket.send('rubbish');
  await sleep(300);
  const from = calm.frames.length;
  await until('frames', () => calm.frames.length > from + 20);
  flood.socket.terminate();
  await calm.close();
});

// A WebSocket client that never reads what it is sent.
async function deaf() {
  const socket = connect(server);
  await new Promise((done) => socket.on('connect', done));
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: ${server.address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: guideway.v1\r\n\r\n`,
  );
  socket.pause();
  return socket;
}

test('who does not read loses poses and holds up nobody', async () => {
  const sleepers = await Promise.all(Array.from({ length: 20 }, deaf));
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const live = await entered();
  const from = live.frames.length;
  await sleep(1000);
  assert.ok(live.frames.length - from > (sanitized ? 5 : 20), `${live.frames.length - from} frames`);
  sleepers.forEach((socket) => socket.destroy());
  await live.close();
});

// The socket of a paused client fills up amid a frame, the rest of which is sent first when it reads again; frames of
// another size than their head says would end the connection.
test('who reads by fits and starts gets whole frames, and the newest', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'tray' });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const live = await entered();
  live.send({ op: 'subscribe', stream: 'poses', hz: 200 });
  for (let i = 0; i < 4; i++) {
    live.socket.pause();
    await sleep(1500);
    const { tick } = (await expect(200, 'GET', '/simulation')).json;
    live.socket.resume();
    await until('the newest frame', () => live.frames.at(-1)?.tick >= tick);
  }
  const states = live.messages.filter((m) => m.op === 'state').length;
  await until('another state', () => live.messages.filter((m) => m.op === 'state').length > states);
  for (const frame of live.frames) assert.equal(frame.size, 24 + 32 * frame.poses.length);
  await live.close();
});

test('who reads slowly still gets every event, in order', async () => {
  const live = await entered();
  const from = live.messages.length;
  live.socket.pause();
  for (let i = 0; i < 30; i++) await expect(200, 'PUT', '/simulation', { state: i % 2 ? 'running' : 'paused' });
  await sleep(200);
  live.socket.resume();
  const states = () =>
    live.messages
      .slice(from)
      .filter((m) => m.op === 'event' && m.event.kind === 'state')
      .map((m) => m.event.seq);
  await until('all events', () => states().length >= 30);
  const seqs = live.messages
    .slice(from)
    .filter((m) => m.op === 'event')
    .map((m) => m.event.seq);
  seqs.forEach((seq, i) => i && assert.equal(seq, seqs[i - 1] + 1));
  await live.close();
});
