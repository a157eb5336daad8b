// One body in two hands: each with a device, a grip and a control of its own. Their wrenches add, and each device
// feels its own grip.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { about, add, apart, closed, command, cross, dot, far, frame, G, rotate, run } from './headless.mjs';
import { expect, live, near, now, serve, run as set } from './running.mjs';
import { until } from './server.mjs';

serve();

const six = (linear, angular) => [linear, linear, linear, angular, angular, angular];
const push = (force, torque = [0, 0, 0]) => ({ type: 'wrench', samples: [{ t: 0, force, torque }] });
const MASS = 2,
  I = [0.02, 0.03, 0.04];
// Hands: {p, q, control, operator, ..} at the bar, whose centre of mass is its origin.
const scene = (hands, more = {}, body = {}) => ({
  format: 'guideway-scene/1',
  name: 'two hands',
  objects: [
    {
      id: 'bar',
      geometry: { type: 'box', size: [0.4, 0.1, 0.1] },
      body: { mass: MASS, inertia: [...I, 0, 0, 0] },
      ...body,
    },
  ],
  tools: hands.map(({ p, q = [1, 0, 0, 0], operator, ...tool }, i) => ({
    object: 'bar',
    at: { p, q },
    device: `hand${i}`,
    control: 'admittance',
    ...tool,
  })),
  devices: hands.map(({ control, operator = push([0, 0, 0]) }, i) => ({
    id: `hand${i}`,
    driver: control && control !== 'admittance' ? 'sim-impedance' : 'sim',
    operator,
  })),
  ...more,
});
const left = { p: [-0.2, 0, 0] },
  right = { p: [0.2, 0, 0] };

test('two forces move the bar as their sum does, and turn it by their moments', () => {
  const r = run(
    scene([
      { ...left, operator: push([1, 2, 3], [0.01, 0, 0]) },
      { ...right, q: about([0, 1, 0], 0.7), operator: push([-0.5, 2, 1], [-0.01, 0, 0]) },
    ]),
    1.001,
  );
  assert.ok(far(r.p(1000, 'bar'), [0.125, 1, 1]) < 1e-12); // F t^2 / 2 m
  assert.ok(far(r.v(1000, 'bar'), [0.25, 2, 2]) < 1e-12);
  closed(r, 1e-10);
});

test('equal and opposite forces are a couple: a dipole in a uniform field', () => {
  const F = 3;
  const r = run(
    scene([
      { ...left, operator: push([0, -F, 0]) },
      { ...right, operator: push([0, F, 0]) },
    ]),
    1.001,
  );
  for (const k of [200, 500, 1000]) {
    const x = rotate(r.q(k, 'bar'), [1, 0, 0]);
    assert.ok(far(r.p(k, 'bar'), [0, 0, 0]) < 1e-12);
    near((I[2] * r.w(k, 'bar')[2] ** 2) / 2, 2 * 0.2 * F * x[1], 1e-9); // its energy is the work of both
  }
  near(r.summary.energy.final, r.summary.energy.work_in, 1e-9);
});

// Springs of both hands at the same place add up, however stiff, and so do dampers.
for (const k of [50, 5000])
  test(`the springs of two hands of ${k} N/m are one of twice that`, () => {
    const hand = { desired: { stiffness: six(k, 0.5) } },
      w = Math.sqrt((2 * k) / MASS),
      turn = Math.sqrt((2 * 0.5) / I[0]);
    const r = run(
      scene(
        [
          { ...left, ...hand },
          { ...right, ...hand },
        ],
        {},
        { velocity: { v: [0, 0.1, 0], w: [0.3, 0, 0] } },
      ),
      1.001,
    );
    for (const n of [100, 1000]) {
      near(r.p(n, 'bar')[1], (0.1 / w) * Math.sin((w * n) / 1000), k > 1000 ? 2e-7 : 1e-9);
      near(2 * Math.atan2(r.q(n, 'bar')[1], r.q(n, 'bar')[0]), (0.3 / turn) * Math.sin((turn * n) / 1000), 1e-9);
    }
    closed(r, 1e-9);
  });

for (const [b, k] of [
  [10, 0],
  [1000, 0],
  [100000, 0],
  [300, 2e5],
  [0, 3e6],
])
  test(`two hands of ${b} N s/m and ${k} N/m bear half of the weight each`, () => {
    const hand = { desired: { damping: six(b, 0), stiffness: six(k, 0) } };
    const r = run(
      scene(
        [
          { ...left, ...hand },
          { ...right, ...hand },
        ],
        { gravity: [0, 0, -G] },
      ),
      2.001,
    );
    if (k > 0) near(r.p(2000, 'bar')[2] / ((-MASS * G) / (2 * k)), 1, 1e-3);
    else near(r.v(2000, 'bar')[2] / ((-MASS * G) / (2 * b)), 1, 1e-6);
    closed(r, 1e-9);
  });

test('a stiff damper at one hand lets the other one push', () => {
  const r = run(
    scene([
      { ...left, p: [0, 0, 0], desired: { damping: six(4000, 0) } },
      { ...right, p: [0, 0, 0], operator: push([0, 8, 0]) },
    ]),
    1.001,
  );
  near(r.v(1000, 'bar')[1], 8 / 4000, 1e-9);
});

test('hands that hold points exert no torque, and hold the bar together', () => {
  const hands = [
    { ...left, grasp: 'point', operator: push([0, 0, 2], [5, 5, 5]) },
    { ...right, grasp: 'point', operator: push([0, 0, 2], [5, 5, 5]) },
  ];
  const r = run(scene(hands), 0.501);
  near(r.p(500, 'bar')[2], 0.25, 1e-12);
  assert.ok(apart(r.q(500, 'bar'), [1, 0, 0, 0]) < 1e-12);
});

const controls = ['admittance', 'impedance', 'penalty', 'coupling', 'four-channel'];
const spun = { velocity: { v: [0.05, 0, 0], w: [0.1, 0.2, 0.3] } };

// Each pair of controls: calm, books that close, and the same motion with the tools in the other order.
for (const a of controls)
  for (const b of controls)
    test(`${a} and ${b} at one bar`, () => {
      const hands = scene(
        [
          { p: [-0.15, 0.03, 0], q: about([0, 0, 1], 0.4), control: a, operator: push([1, 0.5, 0], [0.01, 0, 0.02]) },
          { p: [0.15, 0, 0.02], control: b, operator: push([-0.5, 0.5, 1], [0, 0.02, 0]) },
        ],
        {},
        spun,
      );
      const there = run(hands, 1.001),
        back = run({ ...hands, tools: [...hands.tools].reverse() }, 1.001);
      assert.ok(far(there.p(1000, 'bar'), back.p(1000, 'bar')) < 1e-9);
      assert.ok(apart(there.q(1000, 'bar'), back.q(1000, 'bar')) < 1e-9);
      assert.ok(far(there.v(1000, 'bar'), [0, 0, 0]) < 1.2);
      for (const r of [there, back]) {
        closed(r, 1e-9);
        assert.ok(r.tool(1000, 'error_p') < 0.02, `${r.tool(1000, 'error_p')}`);
      }
    });

test('a coupler in two hands moves as two that are joined, in one hand each', () => {
  const half = { mass: 0.5, inertia: [0.001, 0.002, 0.002, 0, 0, 0] };
  const link = (id, size, p) => ({ id, geometry: { type: 'box', size }, pose: { p, q: [1, 0, 0, 0] } });
  const y = about([1, 0, 0], -Math.PI / 2),
    ends = {
      fixed: [
        { id: 'ground', geometry: { type: 'box', size: [1, 1, 0.1] }, pose: { p: [0, 0, -1] }, fixed: true },
        link('crank', [0.05, 0.05, 0.3], [-0.2, 0, 0.15]),
        link('rocker', [0.05, 0.05, 0.3], [0.2, 0, 0.15]),
      ],
      hinge: (id, one, p, other, at) => ({ id, type: 'revolute', a: frame(one, p, y), b: frame(other, at, y) }),
    };
  const devices = [push([3, 0, 0]), push([0, 0, -2], [0, 0.1, 0])].map((operator, i) => ({
    id: `hand${i}`,
    driver: 'sim',
    operator,
  }));
  const closing = (a, b, at) => [
    ends.hinge('j1', 'crank', [0, 0, -0.15], 'world', [-0.2, 0, 0]),
    ends.hinge('j2', 'rocker', [0, 0, -0.15], 'world', [0.2, 0, 0]),
    ends.hinge('j3', a, [-at, 0, 0], 'crank', [0, 0, 0.15]),
    ends.hinge('j4', b, [at, 0, 0], 'rocker', [0, 0, 0.15]),
  ];
  const base = { format: 'guideway-scene/1', name: 'coupler', gravity: [0, 0, -G], devices };
  const whole = {
    ...base,
    objects: [
      ...ends.fixed,
      {
        ...link('coupler', [0.4, 0.05, 0.05], [0, 0, 0.3]),
        body: { mass: 1, inertia: [0.002, 0.004 + 0.01, 0.004 + 0.01, 0, 0, 0] },
      },
    ],
    joints: closing('coupler', 'coupler', 0.2),
    tools: [-0.1, 0.1].map((x, i) => ({ object: 'coupler', at: { p: [x, 0, 0.02] }, device: `hand${i}` })),
  };
  const parts = {
    ...base,
    objects: [
      ...ends.fixed,
      { ...link('a', [0.2, 0.05, 0.05], [-0.1, 0, 0.3]), body: half },
      { ...link('b', [0.2, 0.05, 0.05], [0.1, 0, 0.3]), body: half },
    ],
    joints: [
      ...closing('a', 'b', 0.1),
      { id: 'weld', type: 'fixed', a: frame('a', [0.1, 0, 0]), b: frame('b', [-0.1, 0, 0]) },
    ],
    tools: ['a', 'b'].map((object, i) => ({ object, at: { p: [0, 0, 0.02] }, device: `hand${i}` })),
  };
  const one = run(whole, 1.001),
    two = run(parts, 1.001);
  const middle = two.p(1000, 'a').map((x, i) => (x + two.p(1000, 'b')[i]) / 2);
  assert.ok(far(one.p(1000, 'coupler'), [0, 0, 0.3]) > 0.05);
  assert.ok(far(one.p(1000, 'coupler'), middle) < 1e-9);
  assert.ok(far(one.p(1000, 'crank'), two.p(1000, 'crank')) < 1e-9);
  closed(one);
  closed(two);
});

test('what two hands cannot do at one body is refused by name', () => {
  const refused = (change, words, body = {}) => {
    const hands = scene([left, right], {}, body);
    Object.assign(hands.tools[1], change);
    const r = command(hands, '--seconds', '0.01');
    assert.equal(r.status, 2);
    assert.match(r.stderr, words);
  };
  refused({ device: 'hand0' }, /two tools need two devices: "hand0" is tool 0's/);
  refused({}, /two tools hold "bar", which is massless: it follows one hand/, { massless: true });
  refused({ desired: { mass: six(1, 1) } }, /one body, which can have no desired mass at one hand and another mass/);
});

// An arm of two rods of 1 kg, held at its elbow and at its tip; pushed at the tip from rest.
const arm = (desired, others) => ({
  format: 'guideway-scene/1',
  name: 'arm in two hands',
  mechanisms: [
    {
      id: 'arm',
      links: [
        [0, 0.5, 0.2],
        [0.5, 0.4, 0.3],
      ].map(([x, length, position]) => ({
        joint: { type: 'revolute', origin: { p: [x, 0, 0], q: [1, 0, 0, 0] }, axis: [0, 0, 1], position },
        mass: 1,
        com: [length / 2, 0, 0],
        inertia: [0.001, length ** 2 / 12, length ** 2 / 12, 0, 0, 0],
      })),
    },
  ],
  tools: [
    [0, 0.5, desired],
    [1, 0.4, others],
  ].map(([link, x, mass], i) => ({
    ...{ mechanism: 'arm', link, at: { p: [x, 0, 0] }, device: `hand${i}` },
    ...(mass && { desired: { mass: six(mass, 0.02 * mass) } }),
  })),
  devices: [0, 5].map((f, i) => ({ id: `hand${i}`, driver: 'sim', operator: push([0, f, 0]) })),
});

// The arm moves with another mass at its elbow: D + J^T (M - Lambda) J with J the elbow's, whose one motion is
// [-L sin, L cos, 1]. The push at the tip moved the elbow by the arm's own mass: 100 kg by 13 times too much.
for (const mass of [0.5, 5, 100])
  test(`a push at the tip meets the ${mass} kg desired at the elbow`, () => {
    const r = run(arm(mass), 0.01);
    const [L, l, a, b] = [0.5, 0.4, 0.2, 0.5];
    const rod = (x) => x ** 2 / 3;
    const c = (L * l * Math.cos(b - a)) / 2;
    const D = [rod(L) + L ** 2 + rod(l) + 2 * c, rod(l) + c, rod(l)]; // of the joints
    const shown = (D[0] * D[2] - D[1] ** 2) / D[2]; // of the elbow's motion, by the first joint
    D[0] += mass * (L ** 2 + 0.02) - shown;
    const f = [5 * (L * Math.cos(a) + l * Math.cos(b)), 5 * l * Math.cos(b)];
    const det = D[0] * D[2] - D[1] ** 2;
    const want = [(D[2] * f[0] - D[1] * f[1]) / det, (D[0] * f[1] - D[1] * f[0]) / det];
    want.forEach((x, i) => near(r.get(1, `arm.${i}.v0`) * 1000, x, 2e-3 * Math.abs(x)));
    closed(r);
  });

test('two desired masses in one system are refused by name', () => {
  const r = command(arm(1, 1), '--seconds', '0.01');
  assert.equal(r.status, 2);
  assert.match(r.stderr, /tools\/1\/desired\/mass: tools 0 and 1 hold one system of bodies/);
});

// Edits that are refused only as a scenario is built.
test('a dry run refuses what the edit would be refused for', async () => {
  await expect(200, 'PUT', '/scene', arm(0, 1));
  const same = async (method, path, body, words) => {
    const { json: dry } = await expect(400, method, `${path}?dryRun=true`, body);
    assert.match(dry.detail, words);
    assert.deepEqual((await expect(400, method, path, body)).json, dry);
  };
  await same('PATCH', '/tool', { desired: { mass: six(1, 0.02) } }, /tools 0 and 1 hold one system of bodies/);
  await same('PUT', '/scene', arm(1, 1), /tools 0 and 1 hold one system of bodies/);
  const bodies = [0, 1].map((i) => ({
    ...{ id: `b${i}`, geometry: { type: 'sphere', radius: 0.1 }, pose: { p: [i, 0, 0], q: [1, 0, 0, 0] }, free: true },
  }));
  await expect(200, 'PUT', '/scene', {
    ...{ format: 'guideway-scene/1', name: 'two balls', objects: bodies },
    tools: bodies.map(({ id }, i) => ({ object: id, device: `hand${i}`, desired: { mass: six(1, 0.02) } })),
    devices: [0, 1].map((i) => ({ id: `hand${i}`, driver: 'sim' })),
  });
  const bar = { id: 'bar', type: 'distance', a: 'b0/center', b: 'b1/center', value: 1 };
  await same('POST', '/constraints', bar, /tools 0 and 1 hold one system of bodies/);
});

const to = async (tick) => until(`tick ${tick}`, async () => (await now()).tick >= tick);

test('a hand that lets go, and takes hold again, leaves the other one and the bar in motion', async () => {
  const hands = scene([
    { ...left, operator: push([0, 1, 0]) },
    { ...right, operator: push([0, 1.5, 0.5]) },
  ]);
  await expect(200, 'PUT', '/scene', hands);
  await set('paused');
  await expect(200, 'POST', '/simulation/step', { ticks: 400 });
  await to(400);
  const before = (await now()).tools[1];
  await expect(200, 'PATCH', '/scene', { tools: [hands.tools[1]] });
  const alone = (await now()).tools;
  assert.equal(alone.length, 1);
  for (const key of ['v', 'w']) assert.ok(far(alone[0].twist[key], before.twist[key]) < 1e-9);
  assert.ok(far(alone[0].pose.p, before.pose.p) < 1e-9 && alone[0].error_p < 1e-9);
  await expect(200, 'POST', '/simulation/step', { ticks: 1 });
  await to(401);
  const after = (await now()).tools[0];
  const arm = rotate(after.pose.q, [0.2, 0, 0]);
  const moment = rotate([after.pose.q[0], ...after.pose.q.slice(1).map((x) => -x)], cross(arm, [0, 1.5, 0.5]));
  const spin = rotate(
    after.pose.q,
    moment.map((x, i) => x / I[i]),
  );
  const gain = add([0, 0.75, 0.25], cross(spin, arm)); // the acceleration of the grip, but for the spin's square
  assert.ok(
    far(
      add(after.twist.v, before.twist.v, -1),
      gain.map((x) => x / 1000),
    ) < 1e-3,
  );
  await expect(200, 'PATCH', '/scene', { tool: null, tools: hands.tools });
  const both = (await now()).tools;
  assert.ok(far(both[1].twist.v, after.twist.v) < 1e-9 && far(both[1].pose.p, after.pose.p) < 1e-9);
  const { energy: e } = await now();
  near(e.kinetic + e.potential, e.initial + e.work_in + e.motors + e.edits - e.dissipated, 1e-9);
  near(e.edits, 0, 1e-9);
});

// The coupling's share of the bar's mass changes with the number of hands, and with it its stiffness. It was slack at
// first after any edit: 1 N fell to 0.04 N in 4 ms and came back in 100.
for (const [what, count, ticks, edit] of [
  [
    'something else comes',
    2,
    30,
    ({ objects: [bar] }) => ({ objects: [bar, { ...bar, id: 'far', pose: { p: [5, 0, 0] } }] }),
  ],
  ['the other hand lets go', 2, 30, ({ tools }) => ({ tools: [tools[0]] })],
  // the other device is at rest as it takes hold, and brakes the bar from the next tick on
  ['another hand takes hold', 1, 1, ({ tools }) => ({ tool: null, tools })],
])
  test(`a coupling keeps its force while ${what}`, async () => {
    const hand = (p) => ({
      type: 'hand',
      ...{ mass: 0.5, stiffness: 200, damping: 20, stiffness_angular: 1, damping_angular: 0.05 },
      path: [0, 1, 3].map((t) => ({ t, p: add(p, [0, Math.min(t, 1) / 10, t > 1 ? 0.2 : 0]) })),
    });
    const hands = scene(
      [
        { p: [0.05, 0, 0], control: 'coupling', operator: hand([0.05, 0, 0]) },
        { p: [-0.15, 0, 0], control: 'coupling', operator: push([0, 1, 0.5]) },
      ],
      {},
      { body: { mass: MASS, damping: { linear: 5, angular: 0.1 } } },
    );
    for (const device of hands.devices) device.settings = { mass: 0.5, inertia: 0.001 };
    await expect(200, 'PUT', '/scene', { ...hands, tools: hands.tools.slice(0, count) });
    await set('paused');
    await expect(200, 'POST', '/simulation/step', { ticks: 700 });
    await to(700);
    const force = async () => (await now()).tools[0].command.force;
    let last = await force();
    assert.ok(Math.hypot(...last) > 0.4, `${last}`);
    await expect(200, 'PATCH', '/scene', edit(hands));
    for (let tick = 701; tick <= 700 + ticks; tick++) {
      await expect(200, 'POST', '/simulation/step', { ticks: 1 });
      await to(tick);
      const next = await force();
      assert.ok(far(next, last) < 0.15, `${last} to ${next} in tick ${tick}`);
      last = next;
    }
  });

test('a drag that names a body in two hands is told to name one of them', async () => {
  await expect(200, 'PUT', '/scene', scene([left, right]));
  await set('running');
  const drag = (what) =>
    live.socket.send(JSON.stringify({ op: 'drag', point: [0, 0, 0], target: [0, 0, 0.1], ...what }));
  const from = live.messages.length;
  drag({ object: 'bar' });
  const refused = await until('the refusal', () => live.messages.slice(from).find((m) => m.op === 'error'));
  assert.match(refused.detail, /bar is held by 2 tools: name one of them/);
  drag({ tool: 1 });
  await until('the drag', async () => (await now()).tools[1].dragging);
  assert.equal((await now()).tools[0].dragging, false);
});

test('the bar in two hands keeps to its constraint', () => {
  const plane = {
    objects: [
      ...scene([left, right]).objects,
      { id: 'table', geometry: { type: 'box', size: [1, 1, 0.1] }, pose: { p: [0, 0, -0.1] }, fixed: true },
    ],
    constraints: [{ id: 'on', type: 'coincident', a: 'bar/-z', b: 'table/+z', sense: 'opposite' }],
    gravity: [0, 0, -G],
  };
  const r = run(
    scene(
      [
        { ...left, operator: push([1, 0, 5], [2, 2, 0]) },
        { ...right, operator: push([1, 0, -9]) },
      ],
      plane,
    ),
    1.001,
  );
  near(r.p(1000, 'bar')[0], 0.5, 1e-12);
  near(r.p(1000, 'bar')[2], 0, 1e-12);
  near(dot(r.w(1000, 'bar'), [1, 1, 1]), 0, 1e-12);
  closed(r);
});
