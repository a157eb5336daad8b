// Edits of the running simulation: in effect within 50 ms, settled within half a second,
// undone, stopped, and apart from the state that a stop goes back to.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expect, live, run, serve, server, tool } from './running.mjs';
import { sanitized, sleep, stream, until } from './server.mjs';

serve();

const plane = { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top', sense: 'opposite' };
const distance = { id: 'c2', type: 'distance', a: 'cone/axis', b: 'cylinder/axis', value: 0.05 };
const open = (scene) => expect(200, 'POST', '/scene/open', { scene });
const pose = async () => (await tool()).pose;
const close = (a, b, tolerance = 1e-9) =>
  a.forEach((v, i) => assert.ok(Math.abs(v - b[i]) <= tolerance, `${a} is not ${b}`));

test('a constraint posted while running is in effect, and its event here, within 50 ms', async () => {
  const times = [];
  await open('cone-on-cylinder');
  await run('running');
  for (let i = 0; i < 20; i++) {
    const from = live.messages.length,
      sent = performance.now();
    const { headers } = await expect(201, 'POST', '/constraints', plane);
    const revision = Number(headers.etag.slice(1, -1));
    const event = await until('the event', () =>
      live.messages
        .slice(from)
        .find((m) => m.op === 'event' && m.event.kind === 'active' && m.event.revision === revision),
    );
    const scene = live.messages.slice(from).find((m) => m.op === 'scene' && m.revision === revision);
    assert.ok(scene, 'the scene comes first');
    times.push(event.at - sent);
    await expect(204, 'DELETE', '/constraints/c1');
  }
  times.sort((a, b) => a - b);
  console.log(`# edit to event: median ${times[10].toFixed(1)} ms, worst ${times[19].toFixed(1)} ms`);
  assert.ok(times[10] < 50 && (sanitized || times[17] < 50), `${times.map((t) => t.toFixed(1))}`);
});

test('an edit settles within half a second of simulated time from 5 cm away', async () => {
  await open('cone-on-cylinder');
  await expect(200, 'PATCH', '/objects/cone', { pose: { p: [0, 0, 0.15], q: [0, 1, 0, 0] } });
  await run('running');
  await sleep(50);
  const from = live.messages.length;
  await expect(201, 'POST', '/constraints', { ...plane, sense: 'same' });
  const of = (kind) =>
    live.messages
      .slice(from)
      .filter((m) => m.op === 'event' && m.event.kind === kind)
      .at(-1)?.event;
  await until('settled', () => of('settled')?.tick > of('active')?.tick);
  assert.ok((of('settled').tick - of('active').tick) / 1000 <= 0.5, `${of('settled').tick - of('active').tick} ticks`);
  const told = async () => (await expect(200, 'GET', '/simulation')).json; // may be a tick behind the event
  const json = await until('its state', async () => {
    const state = await told();
    return state.tick > of('settled').tick && state;
  });
  assert.ok(json.tools[0].residual < 1e-9);
  assert.ok(Math.abs(json.tools[0].pose.p[2] - 0.1) < 1e-6);
});

test('stopped goes back to the poses of the scene, whatever was edited on the way', async () => {
  await open('cone-on-cylinder');
  const home = await pose();
  await run('running');
  await expect(201, 'POST', '/constraints', plane);
  await sleep(300);
  await expect(204, 'DELETE', '/constraints/c1');
  await run('stopped');
  close((await pose()).p, home.p);
  await run('running');
  await expect(201, 'POST', '/constraints', plane);
  await run('stopped');
  const placed = await pose();
  assert.ok(Math.abs(placed.p[2] - 0.1) < 1e-9, 'on the constraint, nearest to the stated pose');
  close(placed.p.slice(0, 2), home.p.slice(0, 2), 0.05);
});

test('a type without a value leaves that of the former type behind', async () => {
  await open('cone-on-cylinder');
  await expect(201, 'POST', '/constraints', { ...plane, id: 'gap', type: 'distance', value: 0.02 });
  const there = await expect(200, 'PATCH', '/constraints/gap', { type: 'coincident' });
  assert.equal(there.json.value, 0);
  assert.ok(Math.abs((await pose()).p[2] - 0.1) < 1e-9);
});

test('an edit while stopped places the object before anything runs', async () => {
  await open('cone-on-cylinder');
  await expect(201, 'POST', '/constraints', plane);
  assert.ok(Math.abs((await pose()).p[2] - 0.1) < 1e-9);
  const { json } = await expect(200, 'GET', '/solutions/cone');
  assert.equal(json.words, '3 freedoms: slides in the plane (2), turns about its normal (1)');
  await expect(201, 'POST', '/constraints', distance);
  const p = (await pose()).p;
  assert.ok(Math.abs(Math.hypot(p[0], p[1]) - 0.05) < 1e-9);
});

test('disabling, enabling and deleting while it runs', async () => {
  await open('paper-circle');
  await run('running');
  const [first] = (await expect(200, 'GET', '/constraints')).json;
  const off = await expect(200, 'PATCH', `/constraints/${first.id}`, { enabled: false });
  assert.equal(off.json.state, 'disabled');
  await expect(200, 'PATCH', `/constraints/${first.id}`, { enabled: true });
  await sleep(50);
  await expect(204, 'DELETE', `/constraints/${first.id}`);
  assert.equal((await expect(200, 'GET', '/simulation')).json.state, 'running');
});

test('a refused edit changes nothing, and the simulation does not notice', async () => {
  await open('paper-plane');
  await run('running');
  const before = await expect(200, 'GET', '/scene');
  const { json } = await expect(422, 'POST', '/constraints', {
    type: 'distance',
    a: 'cone/base',
    b: 'cylinder/top',
    value: 0.2,
  });
  assert.equal(json.status, 'incompatible');
  assert.equal(json.object, 'cone');
  const now = await expect(200, 'GET', '/scene');
  assert.deepEqual(now.json, before.json);
  assert.equal(now.headers.etag, before.headers.etag);
});

test('a dry run tells of a conflict, too, and of whichever object has it', async () => {
  await open('paper-plane');
  const { json } = await expect(200, 'POST', '/constraints?dryRun=true', {
    type: 'distance',
    a: 'cone/base',
    b: 'cylinder/top',
    value: 0.2,
  });
  assert.deepEqual([json.status, json.state, json.object], ['incompatible', 'conflict', 'cone']);
  assert.ok(json.conflict.message.length > 10 && json.conflict.constraints.includes('c1'));
  const moved = await expect(200, 'PATCH', '/objects/cylinder?dryRun=true', { geometry: { height: 0.3 } });
  assert.equal((Array.isArray(moved.json) ? moved.json[0] : moved.json).status, 'solved');
});

test('undo and redo go through every kind of edit', async () => {
  await open('cone-on-cylinder');
  const states = [(await expect(200, 'GET', '/scene')).json];
  for (const [method, path, body] of [
    ['POST', '/constraints', plane],
    ['PATCH', '/objects/cone', { id: 'hat' }],
    ['POST', '/features', { id: 'hat/rim', point: [0.04, 0, 0] }],
    ['PUT', '/devices/sim/operator', { type: 'wrench', samples: [{ t: 0, force: [1, 0, 0] }] }],
    ['PATCH', '/constraints/c1', { enabled: false }],
    ['POST', '/devices', { id: 'other', driver: 'sim' }],
    ['DELETE', '/tool'],
    ['POST', '/objects', { id: 'ball', geometry: { type: 'sphere', radius: 0.1 } }],
    ['PATCH', '/scene', { gravity: [0, 0, -9.81] }],
  ]) {
    await expect(method === 'POST' ? 201 : method === 'DELETE' ? 204 : 200, method, path, body);
    states.push((await expect(200, 'GET', '/scene')).json);
  }
  for (let i = states.length - 2; i >= 0; i--) {
    await expect(200, 'POST', '/scene/undo');
    assert.deepEqual((await expect(200, 'GET', '/scene')).json, states[i], `undone to state ${i}`);
  }
  for (let i = 1; i < states.length; i++) {
    await expect(200, 'POST', '/scene/redo');
    assert.deepEqual((await expect(200, 'GET', '/scene')).json, states[i], `redone to state ${i}`);
  }
});

test('a scene that takes another name runs on, also when that is undone; another scene stops', async () => {
  await open('sphere');
  await run('running');
  await expect(200, 'PATCH', '/scene', { name: 'Another name' });
  for (const way of ['undo', 'redo']) {
    await expect(200, 'POST', `/scene/${way}`);
    assert.equal((await expect(200, 'GET', '/simulation')).json.state, 'running', way);
  }
  await open('free-body');
  await run('running');
  await expect(200, 'POST', '/scene/undo');
  assert.equal((await expect(200, 'GET', '/simulation')).json.state, 'stopped');
});

test('patches of one group are one step for undo, those of the next another', async () => {
  await open('cone-on-cylinder');
  const at = async () => (await expect(200, 'GET', '/objects/cone')).json.pose.p[0];
  const from = await at();
  const drag = (group, x) =>
    expect(200, 'PATCH', `/objects/cone?group=${group}`, { pose: { p: [x, 0, 0.3], q: [1, 0, 0, 0] } });
  for (const x of [0.11, 0.12]) await drag('d1', x);
  await sleep(1200); // it rests in the middle
  await drag('d1', 0.13);
  const between = await at();
  for (const x of [0.14, 0.15]) await drag('d2', x);
  await expect(200, 'POST', '/scene/undo');
  assert.equal(await at(), between);
  await expect(200, 'POST', '/scene/undo');
  assert.equal(await at(), from);
  await expect(400, 'PATCH', '/objects/cone?group=a%20b', { fixed: false });
  await expect(400, 'PATCH', `/objects/cone?group=${'x'.repeat(65)}`, { fixed: false });
});

test('a drag of a slider is one step for undo', async () => {
  await open('paper-plane');
  const before = (await expect(200, 'GET', '/scene')).json;
  for (let i = 0; i < 10; i++) await expect(200, 'PATCH', '/solutions/cone', { parameters: [0.1 * i, 0, 0] });
  await expect(200, 'POST', '/scene/undo');
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, before);
});

test('a slider moves the object along its freedoms while it runs, at bounded speed', async () => {
  await open('paper-circle');
  await expect(200, 'PATCH', '/devices/sim', { settings: { profile: 'ideal' }, operator: { type: 'none' } });
  await run('running');
  const { json } = await expect(200, 'GET', '/solutions/cone');
  const there = json.parameters.map((v, i) => v + (i === 0 ? 0.5 : 0));
  await expect(200, 'PATCH', '/solutions/cone', { parameters: there });
  await until('the arrival', async () => {
    const now = (await expect(200, 'GET', '/solutions/cone')).json.parameters;
    return now.every((v, i) => Math.abs(v - there[i]) < 1e-3);
  });
});

test('an operator takes effect at once and its time counts from there', async () => {
  await open('free-body');
  await run('running');
  await sleep(100);
  await expect(200, 'PUT', '/devices/sim/operator', {
    type: 'wrench',
    samples: [
      { t: 0, force: [0, 0, 0] },
      { t: 0.1, force: [3, 0, 0] },
    ],
  });
  await sleep(20);
  assert.equal((await expect(200, 'GET', '/simulation')).json.tools[0].operator.force[0], 0);
  await until('the force', async () => (await expect(200, 'GET', '/simulation')).json.tools[0].operator.force[0] === 3);
});

test('another rate is another loop, the stream goes on', async () => {
  await open('cone-on-cylinder');
  await expect(200, 'PATCH', '/scene', { rate: 2000 });
  const { json } = await expect(200, 'GET', '/simulation');
  assert.deepEqual([json.loop.rate, json.state], [2000, 'stopped']);
  const frames = live.frames.length;
  await until('frames', () => live.frames.length > frames + 5);
});

test('a hand that holds still feels a switch as at most 0.05 N per ms', async () => {
  await open('cone-on-cylinder');
  const above = { p: [0, 0, 0.15], q: [0, 1, 0, 0] };
  await expect(200, 'PATCH', '/objects/cone', { pose: above });
  await expect(200, 'PUT', '/devices/sim/operator', {
    type: 'hand',
    mass: 0.5,
    stiffness: 500,
    damping: 20,
    path: [{ t: 0, ...above }],
  });
  await run('running');
  const own = stream(server);
  await own.wait('hello');
  own.send({ op: 'subscribe', stream: 'samples' });
  const { columns } = await own.wait('subscribed');
  await sleep(200);
  await expect(201, 'POST', '/constraints', { ...plane, sense: 'same' });
  await own.wait('event', (m) => m.event.kind === 'settled');
  const force = ['fx', 'fy', 'fz'].map((name) => columns.indexOf(name));
  const ticks = own.frames
    .filter((f) => f.type === 2)
    .flatMap((f) => f.rows.map((row, i) => [f.first + i, force.map((k) => row[k])]));
  let worst = 0;
  for (let i = 1; i < ticks.length; i++)
    if (ticks[i][0] === ticks[i - 1][0] + 1)
      worst = Math.max(worst, Math.hypot(...ticks[i][1].map((f, k) => f - ticks[i - 1][1][k])));
  console.log(`# the hand's force changes by at most ${worst.toFixed(4)} N per ms`);
  assert.ok(worst > 0.001 && worst <= 0.05, `${worst} N per ms`);
  await own.close();
});

test('what is joined is put where an edit says: a door that hangs free at once, one in a hand when it does not run', async () => {
  const still = { type: 'wrench', samples: [{ t: 0, force: [0, 0, 0], torque: [0, 0, 0] }] };
  const box = { type: 'box', size: [0.1, 0.02, 0.02] };
  const door = (angle) => ({ p: [0, 0, 0], q: [Math.cos(angle / 2), 0, 0, Math.sin(angle / 2)] });
  const scene = (tool) => ({
    format: 'guideway-scene/1',
    name: 'door',
    objects: [
      { id: 'post', geometry: box, fixed: true },
      { id: 'door', geometry: box, free: true },
    ],
    joints: [{ id: 'hinge', type: 'revolute', a: { object: 'door' }, b: { object: 'post' } }],
    ...(tool ? { tool: { object: 'door', device: 'sim' } } : {}),
    devices: [{ id: 'sim', driver: 'sim', operator: still }],
  });
  const angle = async () => (await expect(200, 'GET', '/joints/hinge')).json.state.position[0];
  const patch = (to) => expect(200, 'PATCH', '/objects/door', { pose: door(to) });
  const comesTo = (to) => until(`${to} rad`, async () => Math.abs((await angle()) - to) < 1e-6);
  for (const held of [false, true]) {
    await expect(200, 'PUT', '/scene', scene(held));
    await run('running');
    await patch(0.5);
    if (!held) await comesTo(0.5);
    await sleep(100);
    close([await angle()], [held ? 0 : 0.5], 1e-6);
    await run('paused');
    await patch(0.8);
    await comesTo(0.8);
    await run('running');
    await sleep(100);
    close([await angle()], [0.8], 1e-6);
  }
});

test('an arm that is held at its flange does not jump out of the hand when the start of a joint is edited', async () => {
  await open('ur5');
  await expect(200, 'PUT', '/devices/sim/operator', {
    type: 'wrench',
    samples: [{ t: 0, force: [0, 0, 0], torque: [0, 0, 0] }],
  });
  const [{ id, links }] = (await expect(200, 'GET', '/mechanisms')).json;
  await run('running');
  await sleep(50);
  const before = (await pose()).p;
  links[0].joint.position = (links[0].joint.position ?? 0) + 0.5;
  await expect(200, 'PATCH', `/mechanisms/${id}`, { links });
  await sleep(100);
  close((await pose()).p, before, 1e-3);
});

const rod = { type: 'box', size: [0.1, 0.02, 0.02] };
const aboutZ = (x, angle) => ({ p: [x, 0, 0], q: [Math.cos(angle / 2), 0, 0, Math.sin(angle / 2)] });
const hinge = (id, a, b, x, more) => ({
  id,
  type: 'revolute',
  a: { object: a },
  b: { object: b, at: aboutZ(x, 0) },
  ...more,
});
// a crank on a post, a rod on the crank, a free ball beside them
const crankAndRod = (more = {}) => ({
  format: 'guideway-scene/1',
  name: 'crank and rod',
  objects: [
    { id: 'post', geometry: rod, fixed: true },
    { id: 'crank', geometry: rod, free: true },
    { id: 'rod', geometry: rod, pose: aboutZ(0.2, 0) },
    { id: 'ball', geometry: { type: 'sphere', radius: 0.02 }, free: true, pose: aboutZ(1, 0) },
  ],
  joints: [hinge('j1', 'crank', 'post', 0, { position: [0.3] }), hinge('j2', 'rod', 'crank', 0.2, { velocity: [20] })],
  devices: [{ id: 'sim', driver: 'sim' }],
  ...more,
});
const joint = async (id) => (await expect(200, 'GET', `/joints/${id}`)).json.state;
const settle = async (path, patch) => {
  const { headers } = await expect(200, 'PATCH', path, patch);
  await until(
    'the edit',
    async () => (await expect(200, 'GET', '/simulation')).json.revision >= +headers.etag.slice(1, -1),
  );
  return headers['guideway-note'] ?? '';
};

test('turns of a joint count on over an edit', async () => {
  await expect(200, 'PUT', '/scene', crankAndRod());
  await run('running');
  await until('two turns', async () => (await joint('j2')).position[0] > 13);
  await run('paused');
  const { position } = await joint('j2');
  assert.equal(await settle('/scene', { gravity: [0, 0, -1] }), '');
  close((await joint('j2')).position, position, 1e-9);
});

test('a start that is stated of a joint acts at once while paused, and while it runs where no hand is', async () => {
  const held = { tool: { object: 'rod', device: 'sim' } };
  for (const hand of [false, true]) {
    await expect(200, 'PUT', '/scene', crankAndRod(hand ? held : {}));
    await run('running');
    await sleep(50);
    await run('paused');
    const before = (await joint('j2')).position;
    for (let again = 0; again < 2; again++) {
      assert.equal(await settle('/joints/j1', { position: [0.8] }), '');
      close((await joint('j1')).position, [0.8], 1e-12);
      close((await joint('j2')).position, before, 1e-9); // the rod is carried along
      await expect(200, 'POST', '/simulation/step', { ticks: 20 });
      close((await joint('j2')).velocity, [20], 1e-6);
      assert.equal(await settle('/joints/j2', { position: before }), '');
      await settle('/joints/j2', { velocity: [20] });
    }
    assert.equal(await settle('/joints/j2', { velocity: [1] }), '');
    close((await joint('j2')).velocity, [1], 1e-9);
    close((await joint('j2')).position, before, 1e-9);
    await run('running');
    const note = await settle('/joints/j1', { position: [-0.8] });
    const { position } = await joint('j1');
    if (hand) {
      assert.match(note, /^j1 begins so at the next start; .* pause first$/);
      assert.ok(Math.abs(position[0] + 0.8) > 1, position);
      assert.equal((await expect(200, 'GET', '/events')).json.findLast((e) => e.kind === 'edit').message, `${note}.`);
    } else {
      assert.equal(note, '');
      close(position, [-0.8], 0.1);
    }
    await run('stopped');
    close((await joint('j1')).position, [-0.8], 1e-12);
  }
});

// Where the stream shows what moves, a while after everything that was asked.
async function shown() {
  await sleep(150);
  const { index } = live.messages.findLast((m) => m.op === 'scene');
  const { poses } = live.frames.findLast((f) => f.type === 1);
  return (id) => poses.find((pose) => index[pose.index] === id)?.p;
}

// Everything falls or swings from rest: what began anew by a new id would have less speed, or be elsewhere.
test('what is renamed goes on where it is and as it moves, alone and among other edits', async () => {
  const box = { type: 'box', size: [0.2, 0.02, 0.3] };
  const falling = (held) => ({
    format: 'guideway-scene/1',
    name: 'Falling',
    gravity: [0, 0, -1],
    objects: [
      { id: 'ball', geometry: { type: 'sphere', radius: 0.05 }, pose: { p: [0, 0, 10] }, free: true },
      { id: 'door', geometry: box, pose: { p: [3, 0, 0] }, free: true },
    ],
    features: [{ id: 'door/edge', point: [0.1, 0, 0] }],
    joints: [
      {
        id: 'hinge',
        type: 'revolute',
        a: { object: 'door', at: { p: [-0.1, 0, 0], q: [Math.SQRT1_2, Math.SQRT1_2, 0, 0] } },
        b: { object: 'world', at: { p: [2.9, 0, 0], q: [Math.SQRT1_2, Math.SQRT1_2, 0, 0] } },
      },
    ],
    mechanisms: [
      {
        id: 'arm',
        links: [
          { joint: { type: 'revolute', axis: [0, 1, 0] }, mass: 1, com: [0.5, 0, 0], inertia: [1, 1, 1, 0, 0, 0] },
        ],
      },
    ],
    ...(held ? { tool: held, devices: [{ id: 'sim', driver: 'sim' }] } : {}),
  });
  const places = async () => {
    const of = await shown();
    const [joint] = (await expect(200, 'GET', '/joints')).json,
      [arm] = (await expect(200, 'GET', '/mechanisms')).json;
    return [(of('ball') ?? of('globe'))[2], joint.state.position[0], arm.state.positions[0]];
  };
  const step = (ticks) => expect(200, 'POST', '/simulation/step', { ticks });
  const renames = [
    ['/objects/ball', 'globe'],
    ['/objects/door', 'gate'],
    ['/joints/hinge', 'pivot'],
    ['/mechanisms/arm', 'limb'],
  ].map(([path, id]) => ({ method: 'PATCH', path, body: { id } }));
  const ways = {
    'not at all': async () => {},
    'one by one': async () => {
      for (const { path, body } of renames) await expect(200, 'PATCH', path, body);
    },
    'all at once, and undone': async () => {
      await expect(200, 'POST', '/scene/edits', renames);
      await step(200);
      await expect(200, 'POST', '/scene/undo');
      return 200;
    },
    'beside a new one that takes its id': async () =>
      void (await expect(200, 'POST', '/scene/edits', [
        ...renames,
        { method: 'PATCH', path: '/objects/globe', body: { id: 'sphere' } },
        { method: 'POST', path: '/objects', body: { id: 'ball2', geometry: box, pose: { p: [9, 9, 9] } } },
        { method: 'PATCH', path: '/objects/sphere', body: { id: 'globe' } },
      ])),
  };
  for (const held of [
    null,
    { object: 'door', device: 'sim' },
    { mechanism: 'arm', link: 0, device: 'sim', control: 'impedance' },
  ]) {
    let expected;
    for (const rename of Object.values(ways)) {
      const scene = falling(held);
      if (held?.mechanism) scene.devices[0].driver = 'sim-impedance';
      await expect(200, 'PUT', '/scene', scene);
      await run('paused');
      await step(400);
      const made = (await rename()) ?? 0;
      await step(400 - made);
      const now = await places();
      expected ??= now;
      close(now, expected, held?.mechanism ? 5e-3 : 1e-6); // an impedance device meets any edit with some braking
      await run('stopped');
    }
    assert.ok(expected[0] < 9.7 && Math.abs(expected[1]) > 0.1, `${expected}`);
  }
});

test('what a batch states of a place and then renames begins there, whatever else comes or goes', async () => {
  const ball = { geometry: { type: 'sphere', radius: 0.05 }, free: true };
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'Restated',
    gravity: [0, 0, -1],
    objects: [
      { id: 'a', ...ball, pose: { p: [0, 0, 1] } },
      { id: 'b', ...ball, pose: { p: [1, 0, 1] } },
    ],
    mechanisms: [
      { id: 'arm', links: [{ joint: { type: 'revolute', velocity: 1 }, mass: 1, inertia: [1, 1, 1, 0, 0, 0] }] },
    ],
  });
  await run('paused');
  await expect(200, 'POST', '/simulation/step', { ticks: 400 });
  await expect(200, 'POST', '/scene/edits', [
    { method: 'PATCH', path: '/objects/a', body: { pose: { p: [0, 0, 1] } } },
    { method: 'PATCH', path: '/objects/a', body: { id: 'c' } },
    { method: 'DELETE', path: '/objects/b' },
    { method: 'POST', path: '/objects', body: { id: 'd', ...ball, pose: { p: [2, 0, 3] } } },
    { method: 'PATCH', path: '/mechanisms/arm/links/0', body: { joint: { position: 0 } } },
    { method: 'PATCH', path: '/mechanisms/arm', body: { id: 'limb' } },
  ]);
  const of = await shown();
  close(of('c'), [0, 0, 1], 1e-6);
  close(of('d'), [2, 0, 3], 1e-6); // a new one, where the one that is gone stood in the list
  close((await expect(200, 'GET', '/mechanisms')).json[0].state.positions, [0], 1e-12);
  await run('stopped');
});

test('a joint of a loop that is put elsewhere takes the loop along', async () => {
  const bar = (id, p, angle) => ({ id, geometry: rod, free: true, pose: { p, q: aboutZ(0, angle).q } });
  const up = Math.PI / 2;
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'four-bar',
    objects: [
      { id: 'post', geometry: rod, fixed: true },
      bar('a', [0, 0, 0], up),
      bar('b', [0, 0.2, 0], 0),
      bar('c', [0.3, 0, 0], up),
    ],
    joints: [
      hinge('j1', 'a', 'post', 0, { position: [up] }),
      hinge('j2', 'b', 'a', 0.2),
      hinge('j3', 'c', 'post', 0.3),
      { id: 'j4', type: 'revolute', a: { object: 'c', at: aboutZ(0.2, 0) }, b: { object: 'b', at: aboutZ(0.3, 0) } },
    ],
  });
  await run('paused');
  for (const [id, to] of [
    ['j1', up - 0.4],
    ['j1', up + 0.3],
    ['j3', up - 0.2],
  ]) {
    await settle(`/joints/${id}`, { position: [to] });
    for (const side of ['j1', 'j3']) close((await joint(side)).position, [to], 1e-6); // a parallelogram
  }
});

test('a pose, a velocity and the start of a link act at once, also where the document says so already', async () => {
  await expect(200, 'PUT', '/scene', crankAndRod({ gravity: [0, 0, -9.81] }));
  await run('running');
  await sleep(100);
  await run('paused');
  const ball = async () =>
    (await expect(200, 'GET', '/simulation')).json.bodies.find((b) => b.object === 'ball').pose.p;
  const fallen = await ball();
  assert.ok(fallen[2] < -1e-3, fallen);
  assert.equal(await settle('/objects/ball', { velocity: { v: [0, 1, 0], w: [0, 0, 0] } }), '');
  close(await ball(), fallen, 1e-9);
  await expect(200, 'POST', '/simulation/step', { ticks: 10 });
  close([(await ball())[1]], [0.01], 1e-6);
  assert.equal(await settle('/objects/ball', { pose: aboutZ(1, 0) }), '');
  close(await ball(), [1, 0, 0], 1e-12);
  const note = await settle('/objects/crank', { pose: aboutZ(0, 0.5) });
  assert.match(note, /^joint j1 states a position, which wins over the pose of crank at a start/);
  close((await joint('j1')).position, [0.5], 1e-9);
  await run('stopped');
  close((await joint('j1')).position, [0.3], 1e-9);
  assert.match(await settle('/objects/crank', { pose: aboutZ(0, 0.6) }), /^joint j1 states a position/);
  assert.equal(await settle('/objects/crank', { pose: aboutZ(0, 0.3) }), '');
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'pendulum',
    gravity: [0, -9.81, 0],
    mechanisms: [
      {
        id: 'arm',
        links: [0.4, 0.2].map((position) => ({
          joint: { type: 'revolute', axis: [0, 0, 1], origin: aboutZ(0.2, 0), position },
          mass: 1,
          com: [0.1, 0, 0],
          inertia: [1e-3, 1e-3, 1e-3, 0, 0, 0],
        })),
      },
    ],
    devices: [{ id: 'sim', driver: 'sim' }],
  });
  await run('running');
  await sleep(50);
  await run('paused');
  const arm = async () => (await expect(200, 'GET', '/mechanisms/arm')).json.state;
  const swung = await arm();
  assert.ok(Math.abs(swung.positions[0] - 0.4) > 1e-4, swung.positions);
  await settle('/mechanisms/arm/links/0', { joint: { position: 0.4 } });
  close((await arm()).positions, [0.4, swung.positions[1]], 1e-9);
  await settle('/mechanisms/arm/links/1', { joint: { velocity: 2 } });
  close((await arm()).positions, [0.4, swung.positions[1]], 1e-9);
  close((await arm()).velocities, [0, 2], 1e-9);
});

test('a joint that poses have beyond its limits begins at the limit, and says so', async () => {
  const door = (angle, limits, more) => ({
    ...crankAndRod(),
    objects: [
      { id: 'post', geometry: rod, fixed: true },
      { id: 'door', geometry: rod, free: true, pose: aboutZ(0, angle) },
    ],
    joints: [hinge('hinge', 'door', 'post', 0, { limits: [limits], ...more })],
  });
  for (const [angle, limits, at, said] of [
    [1, [-0.5, 0.5], 0.5, 1],
    [-3, [-0.5, 2.5], 2.5, 3.28319], // the shorter way round
    [-1, [5, 6], 2 * Math.PI - 1, undefined], // it is within them, a turn on
    [0.5, [-0.5, 0.5], 0.5, undefined],
  ]) {
    const before = (await expect(200, 'GET', '/events')).json.at(-1)?.seq ?? 0;
    const { headers } = await expect(200, 'PUT', '/scene', door(angle, limits));
    const note =
      said &&
      `joint hinge is at ${said} by the poses of its bodies, outside its limits, ${limits.join(' to ')}: it begins at ${at}`;
    assert.equal(headers['guideway-note'], note);
    close((await joint('hinge')).position, [at], 1e-6);
    await run('running');
    await run('stopped');
    const events = async () => (await expect(200, 'GET', `/events?since=${before}`)).json;
    const projected = (list) => list.some((e) => e.kind === 'projected' && /^door /.test(e.message));
    if (said) await until('what tick 0 says', async () => projected(await events()));
    const list = await events();
    assert.equal(
      list.some((e) => e.message === `${note}.`),
      said !== undefined,
    );
    assert.equal(projected(list), said !== undefined);
  }
  await expect(200, 'PUT', '/scene', door(1, [-2, 2]));
  await run('running');
  for (const state of ['running', 'paused']) {
    await run(state);
    const { json } = await expect(400, 'PATCH', '/joints/hinge', { limits: [[-0.5, 0.5]] });
    assert.deepEqual(json.errors, [
      {
        pointer: '/limits/0',
        detail: 'are -0.5 to 0.5, and the joint is at 1 now: bring it within them first, or stop the simulation',
      },
    ]);
    await settle('/joints/hinge', { limits: [[-2, 1]] });
    await settle('/joints/hinge', { limits: [[-2, 2]] });
  }
  const note = await settle('/objects/door', { pose: aboutZ(0, 2.2) });
  assert.match(
    note,
    /^joint hinge is at 2\.2 by the poses of its bodies, outside its limits, -2 to 2: it begins at 2$/,
  );
  close((await joint('hinge')).position, [2], 1e-9);
  await settle('/objects/door', { pose: aboutZ(0, 1) });
  await run('stopped');
  assert.match(await settle('/joints/hinge', { limits: [[-0.5, 0.5]] }), /: it begins at 0\.5$/);
  close((await joint('hinge')).position, [0.5], 1e-9);
});

// Such sets are solved by homotopy continuation; with the snapshots of an edit that is the deepest call there is.
test('edits of a platform on six rods while it runs, one after the other', async () => {
  const ring = (radius, turn) =>
    [0, 1, 2, 3, 4, 5].map((i) => [
      radius * Math.cos(turn + (Math.floor((i + 1) / 2) * 2 * Math.PI) / 3 + (i % 2 ? -0.2 : 0.2)),
      radius * Math.sin(turn + (Math.floor((i + 1) / 2) * 2 * Math.PI) / 3 + (i % 2 ? -0.2 : 0.2)),
      0.01 * i,
    ]);
  const below = ring(0.3, 0),
    above = ring(0.15, 1);
  const rod = (i) => Math.hypot(...above[i].map((x, k) => x + (k === 2 ? 0.3 : 0) - below[i][k]));
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    objects: [
      { id: 'ground', geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, fixed: true },
      { id: 'platform', geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, pose: { p: [0, 0, 0.3] }, body: { mass: 1 } },
    ],
    features: [0, 1, 2, 3, 4, 5].flatMap((i) => [
      { id: `ground/p${i}`, point: below[i] },
      { id: `platform/p${i}`, point: above[i] },
    ]),
    constraints: [0, 1, 2, 3, 4, 5].map((i) => ({
      id: `rod${i}`,
      type: 'distance',
      a: `platform/p${i}`,
      b: `ground/p${i}`,
      value: rod(i),
    })),
    tool: { object: 'platform', device: 'sim' },
    devices: [{ id: 'sim', driver: 'sim' }],
  });
  await run('running');
  for (let i = 0; i < 6; i++) {
    const [x, y, z] = below[i];
    await expect(200, 'PATCH', `/features/ground/p${i}`, { point: [x + 0.002, y, z] });
    await expect(200, 'PATCH', `/constraints/rod${i}`, { value: rod(i) + 0.002 });
  }
});

// The friction of a material bounds the traction of a rolling contact only where it is stated: 0.3, which bodies
// without a stated one collide with, is a change too. On 70 degrees a ball then slips, a = g (sin - mu cos).
test('friction stated as the value that collisions take anyway limits a rolling contact', async () => {
  const [sin, cos] = [Math.sin(1.2217304763960306), Math.cos(1.2217304763960306)];
  const still = { q: [1, 0, 0, 0] };
  const scene = {
    format: 'guideway-scene/1',
    name: 'slope',
    gravity: [9.81 * sin, 0, -9.81 * cos],
    materials: [{ id: 'm' }],
    objects: [
      {
        id: 'ground',
        geometry: { type: 'box', size: [10, 1, 0.1] },
        pose: { p: [0, 0, -0.05], ...still },
        fixed: true,
      },
      { id: 'ball', geometry: { type: 'sphere', radius: 0.1 }, pose: { p: [0, 0, 0.1], ...still }, free: true },
    ].map((o) => ({ ...o, material: 'm' })),
    constraints: [{ id: 'c', type: 'rolling', a: 'ball/surface', b: 'ground/+z', contact: 'unilateral' }],
  };
  const speed = async () => {
    await run('paused');
    await expect(200, 'POST', '/simulation/step', { ticks: 300 });
    const state = await until('300 ticks', async () => {
      const { json } = await expect(200, 'GET', '/simulation');
      return json.tick >= 300 && json;
    });
    return state.bodies.find((b) => b.object === 'ball').twist.v[0];
  };
  await expect(200, 'PUT', '/scene', scene);
  assert.ok(Math.abs((await speed()) - (5 / 7) * 9.81 * sin * 0.3) < 1e-3, 'it rolls');
  await expect(200, 'PUT', '/scene', scene); // stopped
  await expect(200, 'PATCH', '/materials/m', { friction: 0.3 });
  const slips = await speed();
  assert.ok(Math.abs(slips - 9.81 * (sin - 0.3 * cos) * 0.3) < 1e-2, `it slips: ${slips}`);
});
