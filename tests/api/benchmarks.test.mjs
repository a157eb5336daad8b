// Published multibody benchmarks as scenes of joints and constraints, run by the command line at 1 kHz.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  about,
  add,
  apart,
  closed,
  cross,
  far,
  frame,
  G,
  ground,
  integrate,
  revolute,
  rod,
  rotate,
  run,
  sized,
  wrap,
} from './headless.mjs';
import { near } from './running.mjs';

const [cos, sin] = [Math.cos, Math.sin];
const still = { linear: 0, angular: 0 };
const z = [0, 0, 1];

// IFToMM's benchmark A01: crank and rod of 1 m and 1 kg, a slider without mass. With the crank upright crank and rod
// lie on one another and the slider at the crank's pivot: the loop may go on in two ways, and keeps the one it came.
test('a slider-crank with equal bars passes its singular posture', () => {
  const at = Math.PI / 4,
    rate = 4 / (2 * sin(at)); // the slider starts at -4 m/s
  const velocity = (x, w) => ({ v: [-x * rate * sin(at), 0.5 * rate * cos(at), 0], w: [0, 0, w] });
  const r = run(
    {
      gravity: [0, -G, 0],
      objects: [
        rod('crank', 1, [0.5 * cos(at), 0.5 * sin(at), 0], at, { velocity: velocity(0.5, rate) }),
        rod('rod', 1, [1.5 * cos(at), 0.5 * sin(at), 0], -at, { velocity: velocity(1.5, -rate) }),
        {
          id: 'rail',
          geometry: { type: 'cylinder', radius: 0.01, height: 6 },
          pose: { p: [0, 0, 0], q: about([0, 1, 0], Math.PI / 2) },
          fixed: true,
        },
      ],
      features: [{ id: 'rod/tip', point: [0.5, 0, 0] }],
      joints: [
        revolute('pivot', frame('crank', [-0.5, 0, 0]), frame('world')),
        revolute('elbow', frame('rod', [-0.5, 0, 0]), frame('crank', [0.5, 0, 0])),
      ],
      constraints: [{ id: 'slides', type: 'coincident', a: 'rod/tip', b: 'rail/axis' }],
    },
    10.001,
  );
  closed(r);
  // T = M(q) q'^2 / 2 and V = g sin q of the crank's angle
  const mass = (q) => 2 * (1 / 6 + 1.125 * sin(q) ** 2 + 0.125 * cos(q) ** 2 + 1 / 24);
  const equation = ([q, w]) => [w, -(G * cos(q) + 2 * w * w * sin(q) * cos(q)) / mass(q)];
  let state = [at, rate];
  for (let k = 0; k <= 10000; k += 100) {
    near(r.get(k, 'pivot.q0'), state[0] + r.get(0, 'pivot.q0') - at, 1e-8);
    near(r.get(k, 'elbow.q0'), -2 * r.get(k, 'pivot.q0') + (r.get(0, 'elbow.q0') + 2 * r.get(0, 'pivot.q0')), 1e-7);
    state = integrate(equation, state, 1e-4, 1000);
  }
  assert.ok(r.get(10000, 'pivot.q0') > 34, 'ten turns through the posture');
});

// IFToMM's benchmark A03, Andrews' squeezer, with the figures of Hairer and Wanner (Solving Ordinary Differential
// Equations II, VII.7): seven bars in three loops, of grams and millimetres, a spring of 4530 N/m; in 30 ms a motor of
// 0.033 N m turns the crank by two and a half turns.
test("Andrews' squeezer turns as published", () => {
  const [A, B, C] = [
    [-0.06934, -0.00227],
    [-0.03635, 0.03273],
    [0.014, 0.072],
  ];
  const q = [
    -0.06171389001427645, 0, 0.4552798191630704, 0.22266839016588588, 0.4873649795438426, -0.22266839016588588,
    1.2305474445498212,
  ];
  // where body axes of angle t put (x, y)
  const on = ([px, py], t, [x, y]) => [px + x * cos(t) - y * sin(t), py + x * sin(t) + y * cos(t)];
  const knee = on([0, 0], q[0], [0.007, 0]);
  const bars = [
    // joint that the bar's axes are at, angle, centre of mass, mass, inertia about it
    [[0, 0], q[0], [92e-5, 0], 0.04325, 2.194e-6],
    [knee, q[0] + q[1], [-115e-4, 0], 0.00365, 4.41e-7],
    [B, q[2], [1043e-5, -1874e-5], 0.02373, 5.255e-6],
    [on(A, q[4], [0.04, 0]), q[3] + q[4], [0, -(0.02 - 1421e-5)], 0.00706, 5.667e-7],
    [A, q[4], [2308e-5, 916e-5], 0.0705, 1.169e-5],
    [on(A, q[6], [0, -0.04]), q[5] + q[6], [0.02 - 1421e-5, 0], 0.00706, 5.667e-7],
    [A, q[6], [-449e-5, -1228e-5], 0.05498, 1.912e-5],
  ];
  const objects = bars.map(([p, angle, com, mass, inertia], i) => ({
    id: `k${i + 1}`,
    geometry: { type: 'sphere', radius: 1e-3 },
    pose: { p: [...p, 0], q: about(z, angle) },
    free: i > 0,
    body: { mass, com: [...com, 0], inertia: [inertia, inertia, inertia, 0, 0, 0], damping: still },
  }));
  const hinge = (id, a, p, b, r) => revolute(id, frame(a, [...p, 0]), frame(b, [...r, 0]));
  const r = run(
    {
      objects,
      joints: [
        hinge('crank', 'k1', [0, 0], 'world', [0, 0]),
        hinge('knee', 'k2', [0, 0], 'k1', [0.007, 0]),
        hinge('b', 'k3', [0, 0], 'world', B),
        hinge('e3', 'k3', [0, -0.035], 'k2', [-0.028, 0]),
        hinge('a5', 'k5', [0, 0], 'world', A),
        hinge('45', 'k4', [0, 0], 'k5', [0.04, 0]),
        hinge('e4', 'k4', [0, -0.02], 'k2', [-0.028, 0]),
        hinge('a7', 'k7', [0, 0], 'world', A),
        hinge('67', 'k6', [0, 0], 'k7', [0, -0.04]),
        hinge('e6', 'k6', [0.02, 0], 'k2', [-0.028, 0]),
      ],
      springs: [
        {
          id: 'spring',
          a: { object: 'k3', p: [0.02, -0.018, 0] },
          b: { object: 'world', p: [...C, 0] },
          stiffness: 4530,
          length: 0.07785,
        },
      ],
      tool: { object: 'k1', device: 'sim', control: 'admittance' },
      devices: [
        {
          id: 'sim',
          driver: 'sim',
          operator: { type: 'wrench', samples: [{ t: 0, force: [0, 0, 0], torque: [0, 0, 0.033] }] },
        },
      ],
    },
    0.031,
  );
  closed(r);
  assert.equal(r.summary.mobility, 1);
  near(r.get(30, 'crank.q0') - r.get(0, 'crank.q0') + q[0], 15.81077119629904, 1e-8);
  near(r.get(30, 'knee.q0') - r.get(0, 'knee.q0') + q[1], -15.75637105984298, 1e-8);
  near(r.get(30, 'b.q0') - r.get(0, 'b.q0') + q[2], 0.04082224013073101, 1e-8);
  near(r.get(30, 'a5.q0') - r.get(0, 'a5.q0') + q[4], 0.52440996588053, 1e-8);
  near(r.get(30, 'a7.q0') - r.get(0, 'a7.q0') + q[6], 1.048080741042263, 1e-8);
});

// IFToMM's benchmark A04: five thin bars of 1 m and 1 kg along the edges of a cube, each hinged to the next across both.
// Counted by rows it cannot move (30 coordinates, 30 rows): one of them is redundant, and it has one freedom.
test("Bricard's loop moves, closed and with its energy", () => {
  const corners = [
    [0, 0, 0],
    [1, 0, 0],
    [1, -1, 0],
    [1, -1, 1],
    [0, -1, 1],
    [0, 0, 1],
  ];
  const axes = [
    about([1, 0, 0], -Math.PI / 2),
    [1, 0, 0, 0],
    about([0, 1, 0], Math.PI / 2),
    about([1, 0, 0], -Math.PI / 2),
    [1, 0, 0, 0],
    about([0, 1, 0], Math.PI / 2),
  ];
  const middle = (i) => corners[i].map((x, k) => (x + corners[i + 1][k]) / 2);
  const bar = (i) => ({
    id: `bar${i}`,
    geometry: { type: 'sphere', radius: 0.01 },
    free: true,
    pose: { p: middle(i) },
    body: {
      mass: 1,
      inertia: [...corners[i].map((x, k) => (x === corners[i + 1][k] ? 1 / 12 : 1e-9)), 0, 0, 0],
      damping: still,
    },
  });
  const local = (i, p) => p.map((x, k) => x - middle(i)[k]);
  const side = (i, k) =>
    i < 0 || i > 4 ? frame('world', corners[k], axes[k]) : frame(`bar${i}`, local(i, corners[k]), axes[k]);
  const r = run(
    {
      gravity: [0, -G, 0],
      objects: [0, 1, 2, 3, 4].map(bar),
      joints: corners.map((_, k) =>
        k < 5 ? revolute(`j${k}`, side(k, k), side(k - 1, k)) : revolute('j5', side(4, 5), side(5, 5)),
      ),
    },
    10.001,
  );
  closed(r);
  assert.equal(r.summary.mobility, 1);
  let turned = 0;
  for (let k = 0; k <= 10000; k++) {
    near(r.tool(k, 'kinetic') + r.tool(k, 'potential'), -3 * G, 1e-9);
    // it keeps its threefold symmetry: every other hinge turns alike
    near(r.get(k, 'j2.q0'), r.get(k, 'j0.q0'), 1e-9);
    near(r.get(k, 'j4.q0'), r.get(k, 'j0.q0'), 1e-9);
    turned = Math.max(turned, r.get(k, 'j0.q0'));
  }
  assert.ok(turned > 1.5, `it turned by ${turned}`);
});

// Coefficients of the given functions of time that come nearest to the samples (t, y), and how far off the worst is.
function fit(functions, samples) {
  const rows = functions.map((f) => [
    ...functions.map((g) => samples.reduce((sum, [t]) => sum + f(t) * g(t), 0)),
    samples.reduce((sum, [t, y]) => sum + f(t) * y, 0),
  ]);
  for (const [i, row] of rows.entries())
    for (const [k, other] of rows.entries()) if (k !== i) rows[k] = add(other, row, -other[i] / row[i]);
  const c = rows.map((row, i) => row.at(-1) / row[i]);
  return Math.max(...samples.map(([t, y]) => Math.abs(y - functions.reduce((sum, f, i) => sum + c[i] * f(t), 0))));
}

// The bicycle of Meijaard, Papadopoulos, Ruina and Schwab (Linearized dynamics equations for the balance and steer of a
// bicycle, Proc. R. Soc. A 463, 2007, Table 1), wheels on their rims, at 5 m/s: pushed over a little it rights itself,
// lean and steer by the eigenvalues of their Table 2, weave, capsize and castering. Leaning by 1e-5 it is as linear as that.
test('a bicycle balances by the published eigenvalues', () => {
  const v = 5,
    lean = 1e-4,
    thin = 1e-4;
  const side = about([1, 0, 0], -Math.PI / 2); // z to the left, where the wheels' axles point
  const tilt = -Math.PI / 10; // of the steering axis, which meets the ground at 1.1 m
  const moving = (o, w) => ({
    ...o,
    velocity: { v: add([v, 0, 0], cross([lean, 0, 0], o.pose.p)), w: [lean, w, 0] },
  });
  // by its lower rim in the plane of the bicycle
  const wheel = (id, x, radius, mass, across, axial) =>
    moving(
      {
        id,
        geometry: { type: 'cylinder', radius, height: thin },
        pose: { p: [x, -thin / 2, radius], q: side },
        free: true,
        body: { mass, com: [0, 0, thin / 2], inertia: [across, across, axial, 0, 0, 0], damping: still },
      },
      v / radius,
    );
  const part = (id, p, mass, inertia) =>
    moving(sized(id, [0.1, 0.1, 0.1], { pose: { p }, body: { mass, com: [0, 0, 0], inertia, damping: still } }), 0);
  const steer = [1.1 + 0.9 * Math.tan(tilt), 0, 0.9];
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        { id: 'road', geometry: { type: 'box', size: [100, 10, 0.1] }, pose: { p: [0, 0, -0.05] }, fixed: true },
        wheel('rear', 0, 0.3, 2, 0.0603, 0.12),
        wheel('front', 1.02, 0.35, 3, 0.1405, 0.28),
        part('frame', [0.3, 0, 0.9], 85, [9.2, 11, 2.8, 0, -2.4, 0]),
        part('fork', [0.9, 0, 0.7], 4, [0.05892, 0.06, 0.00708, 0, 0.00756, 0]),
      ],
      joints: [
        revolute('hub', frame('rear', [0, 0, thin / 2]), frame('frame', [-0.3, 0, -0.6], side)),
        revolute('axle', frame('front', [0, 0, thin / 2]), frame('fork', [0.12, 0, -0.35], side)),
        revolute(
          'head',
          frame('fork', add(steer, [0.9, 0, 0.7], -1), about([0, 1, 0], tilt)),
          frame('frame', add(steer, [0.3, 0, 0.9], -1), about([0, 1, 0], tilt)),
        ),
      ],
      constraints: [
        { id: 'rolls-rear', type: 'rolling', a: 'rear/top-rim', b: 'road/+z' },
        { id: 'rolls-front', type: 'rolling', a: 'front/top-rim', b: 'road/+z' },
      ],
    },
    3.001,
  );
  closed(r);
  assert.equal(r.summary.mobility, 3);
  const decay = (rate) => (t) => Math.exp(rate * t);
  const weave = (wave) => (t) => Math.exp(-0.775341882195845 * t) * wave(4.46486771378823 * t);
  const modes = [decay(-14.0783896927982), decay(-0.322866429004087), weave(cos), weave(sin)];
  const sampled = (value) => Array.from({ length: 301 }, (_, i) => [i / 100, value(10 * i)]);
  const leaning = sampled((k) => Math.asin(rotate(r.q(k, 'frame'), [0, 1, 0])[2]));
  const steering = sampled((k) => r.get(k, 'head.q0'));
  for (const samples of [leaning, steering]) {
    assert.ok(Math.max(...samples.map(([, y]) => Math.abs(y))) > 2e-5, 'it is pushed');
    near(fit(modes, samples), 0, 1e-12);
  }
});

/* ---- problems with known answers ---------------------------------------------------------------- */

// A free body of which mass and inertia are given.
const thing = (id, p, mass, inertia, more) => ({
  id,
  geometry: { type: 'sphere', radius: 0.01 },
  pose: { p },
  free: true,
  body: { mass, inertia: [...inertia, 0, 0, 0], damping: still },
  ...more,
});

// The figures are those of the mathematical pendulum with m = L = 1 from (-1, 0), whichever relation holds the mass.
test('a pendulum swings by the elliptic functions, held by a distance, a joint or a coincidence', () => {
  const pivot = { features: [{ id: 'ground/o', point: [0, 0, 0.05] }] };
  const eye = { features: [...pivot.features, { id: 'm/o', point: [1, 0, 0] }] };
  const ways = [
    [{ ...pivot, constraints: [{ id: 'c', type: 'distance', a: 'm/center', b: 'ground/o', value: 1 }] }, 5],
    [{ ...eye, constraints: [{ id: 'c', type: 'coincident', a: 'm/o', b: 'ground/o' }] }, 3],
    [{ joints: [revolute('j', frame('m', [1, 0, 0]), frame('world'))] }, 1],
    [{ joints: [{ id: 'j', type: 'spherical', a: frame('m', [1, 0, 0]), b: frame('world') }] }, 3],
  ];
  for (const [relations, mobility] of ways) {
    const r = run(
      { gravity: [0, -G, 0], objects: [ground, thing('m', [-1, 0, 0], 1, [1e-12, 1e-12, 1e-12])], ...relations },
      10.001,
    );
    assert.ok(far(r.p(1000, 'm'), [0.98629175113188, -0.16501085312554, 0]) < 1e-9);
    assert.ok(far(r.p(5000, 'm'), [-0.94230543504376, -0.334754338414, 0]) < 1e-9);
    assert.ok(far(r.p(10000, 'm'), [-0.27508746257612, -0.96141920509913, 0]) < 1e-9);
    assert.equal(r.summary.mobility, mobility);
    closed(r);
  }
});

test('a body that spins about its middle axis flips every 19.55 s, held or free', () => {
  const velocity = { v: [0, 0, 0], w: [0.01, 1, 0.01] };
  const hand = { tool: { object: 'm', device: 'sim' }, devices: [{ id: 'sim', driver: 'sim' }] };
  for (const [free, more] of [
    [true, {}],
    [false, hand],
  ]) {
    const r = run({ objects: [thing('m', [0, 0, 0], 1, [1, 2, 3], { free, velocity })], ...more }, 31);
    const w = (k) => {
      const [q0, ...q] = r.q(k, 'm');
      return rotate([q0, ...q.map((x) => -x)], r.w(k, 'm')); // in body axes
    };
    assert.ok(far(w(10000), [-0.874573437891, 0.484996187341, 0.505001220548]) < 1e-11);
    assert.ok(apart(r.q(10000, 'm'), [0.24270299092, 0.118144126725, -0.822720146747, -0.500268711449]) < 1e-11);
    const flips = [];
    for (let k = 1, before = w(0)[1]; k < r.count; k++) {
      const now = w(k)[1];
      if (before * now < 0) flips.push((k - 1 + before / (before - now)) / 1000);
      before = now;
    }
    near(flips[1] - flips[0], 19.5528670986344, 1e-8);
  }
});

// SUNDIALS' example idasSlCrank: the rod's mass and its own turning are at the slider, the spring stands between the
// middles of crank and rod, the force acts at the rod's far end.
test('the slider-crank of SUNDIALS is where its example puts it after 2 s', () => {
  const a = 0.5,
    p = Math.asin(-a);
  const turned = (angle) => ({ q: about(z, angle) });
  const r = run(
    {
      objects: [
        ground,
        thing('crank', [0, 0, 0], 1, [1, 1, 1], { pose: { p: [0, 0, 0], ...turned(Math.PI / 2) } }),
        thing('rod', [cos(p), 0, 0], 1, [2, 2, 2], { pose: { p: [cos(p), 0, 0], ...turned(p) } }),
      ],
      features: [{ id: 'ground/rail', line: { point: [0, 0, 0.05], direction: [1, 0, 0] } }],
      joints: [
        revolute('pivot', frame('crank'), frame('world')),
        revolute('elbow', frame('rod', [-1, 0, 0]), frame('crank', [a, 0, 0])),
      ],
      constraints: [{ id: 'slides', type: 'coincident', a: 'rod/center', b: 'ground/rail' }],
      springs: [
        {
          id: 's',
          a: { object: 'crank', p: [a / 2, 0, 0] },
          b: { object: 'rod', p: [-0.5, 0, 0] },
          stiffness: 1,
          damping: 1,
          length: 1,
        },
      ],
      tool: { object: 'rod', at: { p: [1, 0, 0] }, device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim', operator: { type: 'wrench', samples: [{ t: 0, force: [1, 0, 0] }] } }],
    },
    2.001,
  );
  const angle = (id) => wrap(2 * Math.atan2(r.q(2000, id)[3], r.q(2000, id)[0]));
  near(angle('crank'), 0.579038812049, 1e-11);
  near(r.p(2000, 'rod')[0], 1.380335271961, 1e-11);
  near(angle('rod'), -0.277144095739, 1e-11);
  closed(r);
});

test('a ball on a turntable is where two sevenths of its rate put it', () => {
  const radius = 0.02;
  const table = {
    id: 'table',
    geometry: { type: 'cylinder', radius: 1, height: 0.1 },
    pose: { p: [0, 0, -0.05] },
    free: true,
  };
  // the table below the ball moves at 0.2 m/s, the ball at 0.05
  const velocity = { v: [0, 0.05, 0], w: [0.15 / radius, 0, 0] };
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        table,
        { id: 'ball', geometry: { type: 'sphere', radius }, pose: { p: [0.1, 0, radius] }, free: true, velocity },
      ],
      joints: [
        revolute('axle', frame('table'), frame('world', [0, 0, -0.05]), {
          velocity: [2],
          motor: { rate: 2, damping: 1e9 },
        }),
      ],
      constraints: [{ id: 'rolls', type: 'rolling', a: 'ball/surface', b: 'table/top' }],
    },
    10.001,
  );
  assert.ok(far(r.p(1000, 'ball'), [0.086098806173833, 0.047322993668898, radius]) < 1e-11);
  assert.ok(far(r.p(10000, 'ball'), [0.086218249522437, -0.047136712733789, radius]) < 1e-11);
  closed(r);
});

// z - z0 = -(5 g / (2 W^2)) (1 - cos(sqrt(2/7) W t)): it comes up again.
test('a ball that rolls round in an upright tube goes down and comes up again', () => {
  const [R, radius, W] = [0.5, 0.1, 3],
    around = (R - radius) * W;
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        { id: 'tube', geometry: { type: 'cylinder', radius: R, height: 10 }, fixed: true },
        {
          id: 'ball',
          geometry: { type: 'sphere', radius },
          pose: { p: [R - radius, 0, 0] },
          free: true,
          body: { mass: 1, damping: still },
          velocity: { v: [0, around, 0], w: [0, 0, -around / radius] },
        },
      ],
      constraints: [{ id: 'rolls', type: 'rolling', a: 'ball/surface', b: 'tube/surface', inside: true }],
    },
    10.001,
  );
  for (let k = 0; k <= 10000; k += 500) {
    const [x, y, height] = r.p(k, 'ball'),
      t = k / 1000;
    near(height, (-5 * G * (1 - cos(Math.sqrt(2 / 7) * W * t))) / (2 * W * W), 1e-9);
    near(wrap(Math.atan2(y, x) - W * t), 0, 1e-9);
  }
  assert.equal(r.summary.mobility, 3);
  closed(r);
});

test('a rolling coin that leans by a degree touches the table where it should', () => {
  const radius = 0.01,
    thin = 1e-3,
    lean = about([0, 1, 0], Math.PI / 180);
  // the cylinder's z along the coin's axis, x; its upper rim is the coin's; it touches at the origin
  const q = about([0, 1, 0], Math.PI / 180 + Math.PI / 2);
  const p = add(rotate(lean, [0, 0, radius]), rotate(q, [0, 0, thin / 2]), -1),
    w = [0, 0, 10 * Math.PI];
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        { ...ground, pose: { p: [0, 0, -0.05] } },
        {
          id: 'coin',
          geometry: { type: 'cylinder', radius, height: thin },
          pose: { p, q },
          free: true,
          body: { mass: 1, com: [0, 0, thin / 2], inertia: [0.25e-4, 0.25e-4, 0.5e-4, 0, 0, 0], damping: still },
          velocity: { v: cross(w, p), w },
        },
      ],
      constraints: [{ id: 'rolls', type: 'rolling', a: 'coin/top-rim', b: 'ground/+z' }],
    },
    0.501,
  );
  const contact = (k) => {
    const axis = rotate(r.q(k, 'coin'), [0, 0, 1]),
      down = add([0, 0, -1], axis, axis[2]);
    return add(add(r.p(k, 'coin'), axis, thin / 2), down, radius / Math.hypot(...down));
  };
  assert.ok(far(contact(100), [0.0014070838046, 0.00145518324835, 0]) < 1e-9);
  assert.ok(far(contact(500), [0.00200494702076, 0.0025969231036, 0]) < 1e-9);
  closed(r);
});
