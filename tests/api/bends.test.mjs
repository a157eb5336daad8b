// A body along the normal of a surface turns at another rate at knots where the curvature jumps.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { about, add, far, G, rotate, run, sized } from './headless.mjs';
import { guideway } from './server.mjs';

const COUNT = 7;
const clamped = (degree) => {
  const spans = COUNT - degree;
  const inner = Array.from({ length: spans - 1 }, (_, i) => (i + 1) / spans);
  return [...Array(degree + 1).fill(0), ...inner, ...Array(degree + 1).fill(1)];
};
const each = (f) => Array.from({ length: COUNT }, (_, i) => f(i));
const at = (i) => (i / (COUNT - 1) - 0.5) * 0.8;
const waves = (degree) => ({
  type: 'nurbs-surface',
  degree: [degree, degree],
  knots: [clamped(degree), clamped(degree)],
  points: each((i) => each((j) => [at(i), at(j), 0.05 * Math.sin(2.1 * i) * Math.cos(1.3 * j)])),
});

// A box thrown over the waves, its axis along the normal, its centre of mass beside that; no gravity.
const thrown = (degree, more = {}, upright = []) => ({
  gravity: [0, 0, 0],
  objects: [
    { id: 'waves', geometry: waves(degree), pose: { p: [0, 0, 0], q: [1, 0, 0, 0] }, fixed: true, ...more },
    {
      id: 'box',
      geometry: { type: 'box', size: [0.05, 0.08, 0.1] },
      pose: { p: [-0.2, -0.1, 0.1], q: [1, 0, 0, 0] },
      free: true,
      body: { mass: 1, com: [0.01, 0.02, 0.05] },
      velocity: { v: [0.5, 0.2, 0], w: [0, 0, 1] },
    },
    {
      id: 'wall',
      geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
      pose: { p: [0, -0.6, 0], q: [1, 0, 0, 0] },
      fixed: true,
    },
  ],
  constraints: [{ id: 'on', type: 'normal', a: 'box/axis-z', b: 'waves/surface' }, ...upright],
});

const upright = { id: 'upright', type: 'perpendicular', a: 'box/axis-x', b: 'wall/axis-z' };

function kept(scene, most) {
  const { energy, events, constraint_residual_max: residual } = run(scene, 0.8).summary;
  const lost = (energy.initial - energy.final) / energy.initial;
  assert.ok(Math.abs(lost) < most, `${lost} of ${energy.initial} J`);
  assert.ok(Math.abs(energy.final - energy.initial + energy.dissipated) < 1e-9 * energy.initial);
  assert.ok(residual < 1e-12, `${residual} m`);
  return events.map((e) => e.kind).filter((kind) => kind !== 'projected');
}

test('over bends of a surface of degree 2 the energy stays', () => {
  assert.deepEqual(kept(thrown(2), 1e-12), []);
  assert.deepEqual(kept(thrown(2, {}, [upright]), 1e-12), []);
  assert.deepEqual(kept(thrown(3, {}, [upright]), 1e-12), []); // where only the rate of the curvature jumps
});

test('over bends of a surface that moves a linkage keeps its energy', () => {
  const scene = thrown(2, { fixed: false, free: true, body: { mass: 3, inertia: [0.2, 0.2, 0.3, 0, 0, 0] } });
  scene.joints = [{ id: 'rail', type: 'prismatic', a: { object: 'waves' }, b: { object: 'world' } }];
  assert.deepEqual(kept(scene, 1e-10), []);
});

// The hand presses it onto a knot: stages of a step that began there at rest saw either side.
test('what is pressed on a bend rests there', () => {
  const pressed = ([x, y], turned) => {
    const scene = thrown(2);
    const q = turned.map((e) => e / Math.hypot(...turned));
    const box = scene.objects[1];
    delete box.free;
    delete box.velocity;
    box.body = { mass: 1, com: [0, 0, 0], damping: { linear: 1.4, angular: 2e-4 } };
    const path = [
      { t: 0, p: box.pose.p, q },
      { t: 1, p: [x, y, -0.1], q },
    ];
    const operator = { type: 'hand', mass: 0.3, stiffness: 300, damping: 15, path };
    const devices = [{ id: 'sim', driver: 'sim', operator }];
    box.pose = { p: box.pose.p, q };
    return { ...scene, gravity: [0, 0, -G], tool: { object: 'box', device: 'sim' }, devices };
  };
  const hands = [
    [
      [0.14, 0.1],
      [-0.5312, 0.2895, -0.7944, -0.0564],
    ],
    [
      [-0.1, 0.02],
      [-0.6606, 0.7039, -0.1838, -0.1855],
    ],
    [
      [-0.11, -0.16],
      [-0.3947, 0.3019, 0.7931, 0.3522],
    ],
    [
      [-0.02, 0.02],
      [0.5722, -0.2951, -0.7643, -0.0377],
    ],
  ];
  for (const [to, turned] of hands) {
    const kinds = run(pressed(to, turned), 4).summary.events.map((e) => e.kind);
    assert.ok(!kinds.includes('not-finite'), `${to}: ${kinds}`);
  }
});

// Along a groove of a surface, whose sides press it from both sides, a damped body goes as on a rail.
test('what lies in a groove goes along it', () => {
  const groove = {
    type: 'nurbs-surface',
    degree: [1, 1],
    knots: [
      [0, 0, 1, 1],
      [0, 0, 0.5, 1, 1],
    ],
    points: [-0.5, 0.5].map((x) => [-0.3, 0, 0.3].map((y) => [x, y, Math.abs(y)])),
  };
  const wrench = (t, force) => ({ t, force, torque: [0, 0, 0] });
  const samples = [wrench(0, [0, 0, 0]), wrench(3, [1, 0, 0])];
  const { summary } = run(
    {
      gravity: [0, 0, -G],
      objects: [
        { id: 'groove', geometry: groove, pose: { p: [0, 0, 0], q: [1, 0, 0, 0] }, fixed: true },
        {
          id: 'box',
          geometry: { type: 'box', size: [0.05, 0.05, 0.05] },
          pose: { p: [-0.2, 0.05, 0.1], q: [1, 0, 0, 0] },
          body: { mass: 1, damping: { linear: 30, angular: 1e-3 } },
        },
      ],
      constraints: [{ id: 'in', type: 'coincident', a: 'box/center', b: 'groove/surface' }],
      tool: { object: 'box', device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim', operator: { type: 'wrench', samples } }],
    },
    4,
  );
  const [x, y] = summary.final.pose.p;
  const rail = -0.2 + (1 - (1 - Math.exp(-30)) / 30) / 30;
  assert.ok(Math.abs(x - rail) < 1e-9 && Math.abs(y) < 1e-9, `${x} ${y}, ${rail} along a rail`);
  const e = summary.energy;
  assert.ok(Math.abs(e.final - e.initial - e.work_in + e.dissipated) < 1e-9);
});

// ---- kinks of what moves: a bead on a shape of 3 kg that slides along x -------------------------

const X = [Math.SQRT1_2, 0, Math.SQRT1_2, 0];
const onRail = (shape, at, more = {}) => ({
  gravity: [0, 0, -G],
  objects: [
    {
      id: 'shape',
      geometry: shape,
      pose: { p: [0, 0, 0], q: [1, 0, 0, 0] },
      free: true,
      body: { mass: 3, inertia: [0.2, 0.2, 0.3, 0, 0, 0] },
    },
    {
      id: 'bead',
      geometry: { type: 'box', size: [0.05, 0.05, 0.05] },
      pose: { p: at, q: [1, 0, 0, 0] },
      free: true,
      velocity: { v: more.v ?? [0, 0, 0], w: [0, 0, 0] },
      body: { mass: 1, com: [0, 0, 0], damping: { linear: more.damping ?? 0, angular: 1e-3 } },
    },
  ],
  constraints: [
    { id: 'on', type: 'coincident', a: 'bead/center', b: `shape/${shape.degree.length ? 'surface' : 'curve'}` },
  ],
  joints: [
    {
      id: 'rail',
      type: 'prismatic',
      a: { object: 'shape', at: { p: [0, 0, 0], q: X } },
      b: { object: 'world', at: { p: [0, 0, 0], q: X } },
    },
  ],
});
const folded = (xs, ys, z) => ({
  type: 'nurbs-surface',
  degree: [1, 1],
  knots: [xs, ys].map((s) => [0, ...s.map((_, i) => i / (s.length - 1)), 1]),
  points: xs.map((x) => ys.map((y) => [x, y, z(x, y)])),
});
const groove = folded([-0.5, 0.5], [-0.3, 0, 0.3], (_, y) => Math.abs(y));
const wire = (points) => ({
  type: 'nurbs-curve',
  degree: 1,
  knots: [0, ...points.map((_, i) => i / (points.length - 1)), 1],
  points,
});
const told = ({ summary }) => summary.events.filter((e) => !['projected', 'edge'].includes(e.kind));
const balance = ({ summary: { energy: e } }) => e.final - e.initial - e.work_in + e.dissipated;

// Down one side and up the other, s = a t^2 / 2 along the side, as over a fillet.
test('a bead in a groove that moves goes to and fro as its fall says', () => {
  const done = run(onRail(groove, [-0.2, 0.05, 0.05]), 3);
  const a = G * Math.SQRT1_2,
    quarter = Math.sqrt((2 * 0.05 * Math.SQRT2) / a);
  for (let k = 0; k < done.count; k += 7) {
    const t = done.get(k, 't'),
      turns = Math.round(t / (2 * quarter));
    const since = t - 2 * turns * quarter;
    const y = (turns % 2 ? -1 : 1) * (0.05 - (0.5 * a * since * since) / Math.SQRT2);
    assert.ok(Math.abs(done.p(k, 'bead')[1] - y) < 1e-9, `${t} s: ${done.p(k, 'bead')[1]}, ${y}`);
  }
  assert.ok(Math.abs(done.summary.energy.dissipated) < 1e-12);
  assert.deepEqual(told(done), []);
  // of steps cut short to the finest for as long as it is near the bottom: 7 ms
  assert.ok(done.summary.tick_us.p50 < 1000, `${done.summary.tick_us.p50} us`);
});

// The hand pushes it along once it rests in the bottom, then up one side, and lets it come back.
test('a damped bead slides along a groove that moves, and can be pushed out of it', () => {
  const scene = onRail(groove, [-0.2, 0.05, 0.05], { damping: 30 });
  const wrench = (t, force) => ({ t, force, torque: [0, 0, 0] });
  const samples = [wrench(0, [0, 0, 0]), wrench(2, [1, 0, 0]), wrench(3, [0, 15, 0]), wrench(3.5, [0, 0, 0])];
  delete scene.objects[1].free;
  scene.tool = { object: 'bead', device: 'sim' };
  scene.devices = [{ id: 'sim', driver: 'sim', operator: { type: 'wrench', samples } }];
  const done = run(scene, 6);
  const along = (t) => (t - (1 - Math.exp(-30 * t)) / 30) / 30;
  for (const k of [2100, 2500, 2999]) {
    const [x, y] = done.p(k, 'bead'),
      rail = -0.2 + along(done.get(k, 't') - 2);
    assert.ok(Math.abs(x - rail) < 1e-9 && Math.abs(y) < 1e-9, `${x} ${y}, ${rail} along a rail`);
  }
  // up the side by what the force along it is more than the weight's
  const [, y] = done.p(3500, 'bead');
  const side = ((15 - G) * Math.SQRT1_2 * along(0.5)) / Math.SQRT2;
  assert.ok(Math.abs(y - side) < 1e-6, `${y}, ${side}`);
  assert.ok(Math.abs(done.p(-1, 'bead')[1]) < 1e-9);
  assert.ok(Math.abs(balance(done)) < 1e-9);
  assert.deepEqual(told(done), []);
});

test('a bead comes to rest in a corner of folded sheets that move', () => {
  const sheets = folded([-0.3, 0, 0.3], [-0.3, 0, 0.3], (x, y) => Math.abs(x) + 0.5 * Math.abs(y));
  const done = run(onRail(sheets, [0.1, 0.07, 0.135], { damping: 30 }), 6);
  const { energy } = done.summary;
  assert.ok(Math.hypot(...done.v(-1, 'bead')) < 1e-9);
  assert.ok(Math.abs(done.p(-1, 'bead')[2]) < 1e-9, `${done.p(-1, 'bead')}`);
  assert.ok(Math.abs(energy.initial - energy.dissipated - energy.final) < 1e-9);
  assert.deepEqual(told(done), []);
});

// Round a square, once over its seam: the shape recoils, so that its turns count, too.
test('a bead on a bent wire that moves keeps its energy, and rests where the wire is lowest', () => {
  const square = [-1, 1, 1, -1, -1].map((x, i) => [0.2 * x, [-0.2, -0.2, 0.2, 0.2, -0.2][i], 0]);
  for (const v of [
    [1, 0, 0],
    [-1, 0, 0],
  ]) {
    const { gravity: _, ...scene } = onRail(wire(square), [0, -0.2, 0], { v });
    const done = run({ ...scene, gravity: [0, 0, 0] }, 4);
    const e = done.summary.energy;
    assert.ok(Math.abs(e.final - e.initial) < 1e-12 && Math.abs(e.dissipated) < 1e-12);
    assert.deepEqual(told(done), []);
    const momentum = add(done.v(-1, 'bead'), done.v(-1, 'shape'), 3)[0];
    assert.ok(Math.abs(momentum - v[0]) < 1e-12, `${momentum} N s along the rail`);
  }
  const vee = [
    [0, -0.3, 0.3],
    [0, 0, 0],
    [0, 0.3, 0.3],
  ];
  const done = run(onRail(wire(vee), [0, 0.1, 0.1], { damping: 30 }), 4);
  assert.ok(Math.hypot(...done.p(-1, 'bead')) < 1e-9 && Math.hypot(...done.v(-1, 'bead')) < 1e-9);
  assert.ok(Math.abs(balance(done)) < 1e-9);
});

// Its curvature is so sharp that the closest point of a continued part jumps, and no time leads to the bend.
test('where the closest point jumps over a bend the energy balance closes', () => {
  const points = [
    [0.21701549571143658, 0.06797737166096701, 0.05206058172725053],
    [0.16519679220593314, 0.024762713123200497, -0.19668541020483674],
    [-0.03848690314760417, -0.055124456621705786, -0.16722947253559664],
    [0.03034704527999732, 0.00029604730215126995, -0.13781924712914037],
    [0.21701549571143658, 0.06797737166096701, 0.05206058172725053],
  ];
  const bent = { type: 'nurbs-curve', degree: 2, knots: [0, 0, 0, 1 / 3, 2 / 3, 1, 1, 1], points };
  const done = run(onRail(bent, points[1], { damping: 0.5, v: [0.0991, -0.658, 0.8202] }), 1.5);
  assert.ok(Math.abs(balance(done)) < 1e-8, `${balance(done)} J`);
  assert.ok(done.summary.energy.dissipated > 0);
});

// Two knots so close that the way along the curve changes much for its parameter within a step: the bead is on a
// straight line, along which its speed stays.
test('a bead keeps its speed where two knots are close', () => {
  const points = [-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3].map((x) => [x, 0, 0]);
  const line = { type: 'nurbs-curve', degree: 2, knots: [0, 0, 0, 0.4999, 0.5, 0.75, 0.8, 1, 1, 1], points };
  const speed = 10;
  const done = run(
    {
      gravity: [0, 0, 0],
      objects: [
        { id: 'line', geometry: line, fixed: true },
        {
          id: 'bead',
          geometry: { type: 'sphere', radius: 0.02 },
          pose: { p: [-0.29, 0, 0], q: [1, 0, 0, 0] },
          free: true,
          body: { mass: 1 },
          velocity: { v: [speed, 0, 0], w: [0, 0, 0] },
        },
      ],
      constraints: [{ id: 'on', type: 'coincident', a: 'bead/center', b: 'line/curve' }],
    },
    0.05,
  );
  assert.deepEqual(told(done), []);
  for (let k = 0; k < done.count; k++) assert.ok(Math.abs(done.v(k, 'bead')[0] - speed) < 1e-8, `tick ${k}`);
});

// A patch whose edges meet at 30 degrees. The force leads out over the one edge, and back from the other: along
// the parameter it would go up the first, but by its part along that edge it goes down, into the corner.
test('a body that is pressed on an edge moves as the force along it says, into the corner', () => {
  const a = [1, 0, 0],
    b = [Math.cos(Math.PI / 6), 0.5, 0];
  const force = add(add([0, 0, 0], a, -1), b, 0.5),
    along = force[0] * b[0] + force[1] * b[1];
  const sheet = {
    type: 'nurbs-surface',
    degree: [1, 1],
    knots: [
      [0, 0, 1, 1],
      [0, 0, 1, 1],
    ],
    points: [
      [[0, 0, 0], b],
      [a, add(a, b)],
    ],
  };
  for (const u of [0, 0.1]) {
    const body = {
      id: 'body',
      geometry: { type: 'sphere', radius: 0.05 },
      pose: { p: add(add([0, 0, 0], a, u), b, 0.5), q: [1, 0, 0, 0] },
      free: true,
      body: { mass: 1 },
    };
    const scene = {
      gravity: force,
      objects: [{ id: 'sheet', geometry: sheet, fixed: true }, body],
      constraints: [{ id: 'on', type: 'coincident', a: 'body/center', b: 'sheet/surface' }],
    };
    const done = run(scene, 3);
    const { energy } = done.summary;
    assert.ok(Math.abs(energy.final - energy.initial + energy.dissipated) < 1e-9 && energy.dissipated > 0);
    const arrived = Array.from({ length: done.count }, (_, k) => k).find(
      (k) => Math.hypot(...done.p(k, 'body')) < 1e-9,
    );
    for (let k = arrived; k < done.count; k++)
      assert.ok(Math.hypot(...done.v(k, 'body')) < 1e-12, `at ${done.v(k, 'body')} m/s in the corner`);
    if (u > 0) continue; // by then it was on its way for some time
    assert.ok(Math.abs(arrived / 1000 - Math.sqrt(-1 / along)) < 2e-3, `arrives in tick ${arrived}`);
    for (let i = 0; i < 3; i++) assert.ok(Math.abs(done.v(1000, 'body')[i] - along * b[i]) < 1e-9);
  }
});

// A carriage with a pendulum, on a shape that slopes down towards its end. Where the shape lies may be stated by
// its pose or by its points: the motion is the same, and so is the place where the end stops it.
const slope = { p: [0.1, 0.2, 0.05], q: about([0.48, 0.6, 0.64], 0.7) };
const placed = (x) => add(rotate(slope.q, x), slope.p);
const track = each((i) => [at(i), 0.03 * Math.sin(1.7 * i), 0.04 * Math.cos(i)]);
const curve = (place) => ({ type: 'nurbs-curve', degree: 3, knots: clamped(3), points: track.map(place) });
const sheet = (place) => ({
  type: 'nurbs-surface',
  degree: [1, 1],
  knots: [
    [0, 0, 1, 1],
    [0, 0, 1, 1],
  ],
  points: [-0.4, 0.4].map((x) => [-0.4, 0.4].map((y) => place([x, y, 0]))),
});
const box = { type: 'box', size: [0.16, 0.04, 0.02] };
const toEdge = (x) => Math.abs(rotate(about([0.48, 0.6, 0.64], -0.7), add(x, slope.p, -1))[0] - 0.4);
const rails = [
  {
    what: 'two points on one wire',
    shape: curve,
    geometry: box,
    front: [0.08, 0, 0],
    on: [
      ['coincident', 'rear', 'curve'],
      ['coincident', 'front', 'curve'],
    ],
    toEnd: (x) => far(x, placed(track.at(-1))),
  },
  { what: 'a point on a sheet', shape: sheet, geometry: box, front: [0.08, 0, 0], toEnd: toEdge },
  {
    what: 'a ball on a sheet',
    shape: sheet,
    geometry: { type: 'sphere', radius: 0.05 },
    front: [0, 0, 0],
    on: [['sliding', 'surface', 'surface']],
    above: 0.05,
    toEnd: toEdge,
  },
];
for (const { what, shape, geometry, front, on = [['coincident', 'front', 'surface']], above = 0, toEnd } of rails)
  test(`a carriage with a pendulum stops at the end of what it is on, wherever that lies: ${what}`, () => {
    const scene = (of, pose) => ({
      gravity: rotate(slope.q, [6, 0, -4]),
      objects: [
        { id: 'shape', geometry: of, pose, fixed: true },
        {
          id: 'carriage',
          geometry,
          pose: { p: placed([0, 0, above]), q: slope.q },
          free: true,
          body: { mass: 1 },
        },
        sized('bob', [0.04, 0.04, 0.04], { pose: { p: placed([0, 0, above - 0.1]), q: slope.q }, body: { mass: 0.1 } }),
      ],
      features: [
        { id: 'carriage/front', point: front },
        { id: 'carriage/rear', point: [-0.08, 0.01, 0] },
      ],
      constraints: on.map(([type, a, b]) => ({ id: a, type, a: `carriage/${a}`, b: `shape/${b}` })),
      joints: [
        {
          id: 'hook',
          type: 'spherical',
          a: { object: 'bob', at: { p: [0, 0, 0.1], q: [1, 0, 0, 0] } },
          b: { object: 'carriage', at: { p: [0, 0, 0], q: [1, 0, 0, 0] } },
        },
      ],
    });
    const still = { p: [0, 0, 0], q: [1, 0, 0, 0] };
    const asItIs = shape((x) => x);
    const [posed, baked] = [scene(asItIs, slope), scene(shape(placed), still)].map((s) => run(s, 0.6));
    for (const done of [posed, baked]) {
      const { energy, events, constraint_residual_max: residual } = done.summary;
      assert.ok(Math.abs(energy.final - energy.initial + energy.dissipated) < 1e-9 && energy.dissipated > 0.1);
      assert.ok(events.some((e) => e.kind === 'edge'));
      assert.ok(residual < 1e-6, `${residual} m past the end`);
      const off = (k) => toEnd(add(rotate(done.q(k, 'carriage'), front), done.p(k, 'carriage')));
      const nearest = Math.min(...Array.from({ length: done.count }, (_, k) => off(k)));
      assert.ok(nearest < 1e-9, `${nearest} m from the end`);
    }
    for (let k = 0; k < posed.count; k++)
      for (const id of ['carriage', 'bob']) {
        const by = far(posed.p(k, id), baked.p(k, id));
        assert.ok(by < 1e-9, `${id} is ${by} m off in tick ${k}`);
      }
  });

test('of a free body, too, it is told that its step failed', () => {
  const light = { id: 'light', geometry: { type: 'sphere', radius: 0.02 }, free: true, body: { mass: 1e-300 } };
  const { events } = run({ gravity: [0, 0, -G], objects: [light] }, 0.1).summary;
  assert.deepEqual(
    events.map(({ kind, object }) => [kind, object]),
    [['not-finite', 'light']],
  );
});

// A straight piece, a quarter of a circle and a straight piece, each over as much of the parameter, so that its
// speed jumps between them.
test('pieces of other lengths over as much of the parameter keep the speed of what slides over them', () => {
  const w = Math.SQRT1_2;
  const weights = [1, 1, 1, w, 1, 1, 1];
  const knots = [0, 0, 0, 1, 1, 2, 2, 3, 3, 3];
  for (const radius of [0.2, 0.02]) {
    const points = [
      [-1, 0],
      [-0.5, 0],
      [0, 0],
      [radius, 0],
      [radius, radius],
      [radius, 0.5],
      [radius, 1],
    ];
    const wire = {
      type: 'nurbs-curve',
      degree: 2,
      knots,
      points: points.map(([x, y]) => [x, y, 0]),
      weights,
    };
    const gutter = {
      type: 'nurbs-surface',
      degree: [2, 1],
      knots: [knots, [0, 0, 1, 1]],
      points: points.map(([x, y]) => [-1, 1].map((z) => [x, y, z])),
      weights: weights.map((e) => [e, e]),
    };
    for (const [geometry, feature, across, most] of [
      [wire, 'curve', 0, 1e-9],
      [gutter, 'surface', 0.1, 1e-3],
    ]) {
      const q = [1, 0, 0, 0];
      const objects = [
        { id: 'track', geometry, pose: { p: [0, 0, 0], q }, fixed: true },
        {
          id: 'bead',
          geometry: { type: 'sphere', radius: 0.005 },
          pose: { p: [-0.5, 0, 0], q },
          free: true,
          velocity: { v: [0.97, 0, across], w: [0, 0, 0] },
        },
      ];
      const constraints = [{ id: 'on', type: 'coincident', a: 'bead/center', b: `track/${feature}` }];
      const done = run({ objects, constraints }, 1);
      const k = done.count - 1,
        [x, y] = done.p(k, 'bead'),
        passed = 0.5 + (Math.PI / 2) * radius + y - radius;
      assert.ok(Math.abs(x - radius) < 1e-9);
      assert.ok(Math.abs(passed - 0.97 * 1e-3 * k) < most, `${passed} m along the ${feature}`);
    }
  }
});

// A puck on a disc slides out to its rim, whose force is radial: the angular momentum about the middle stays, at the
// impact, which the step goes past, and on the way round.
test('a puck keeps its angular momentum at the rim of a disc and along it', () => {
  const made = spawnSync(guideway, ['surface', '-'], {
    input: JSON.stringify({ convert: { type: 'disc', radius: 0.05 } }),
    encoding: 'utf8',
  });
  const q = [1, 0, 0, 0];
  const objects = [
    { id: 'disc', geometry: JSON.parse(made.stdout).geometry, pose: { p: [0, 0, 0], q }, fixed: true },
    {
      id: 'puck',
      geometry: { type: 'sphere', radius: 0.005 },
      pose: { p: [0.025, 0, 0], q },
      free: true,
      velocity: { v: [1, 0.2, 0], w: [0, 0, 0] },
    },
  ];
  const constraints = [{ id: 'on', type: 'coincident', a: 'puck/center', b: 'disc/surface' }];
  const { summary } = run({ objects, constraints }, 3);
  assert.deepEqual(
    summary.events.map((e) => e.kind),
    ['edge'],
  );
  const mass = (4 / 3) * Math.PI * 0.005 ** 3 * 1000;
  const wanted = (mass * 0.1 ** 2) / 2; // it came with 0.005 m2/s
  assert.ok(Math.abs(summary.energy.final / wanted - 1) < 1e-5, `${summary.energy.final} of ${wanted} J`);
});

// A bead on a cylinder slides out to its edge and along that: only the speed along it is left, at every knot.
test('a bead keeps its speed round the edge of a cylinder of four pieces', () => {
  const made = spawnSync(guideway, ['surface', '-'], {
    input: JSON.stringify({ convert: { type: 'cylinder', radius: 0.05, height: 0.1 } }),
    encoding: 'utf8',
  });
  const q = [1, 0, 0, 0];
  const objects = [
    { id: 'tube', geometry: JSON.parse(made.stdout).geometry, pose: { p: [0, 0, 0], q }, fixed: true },
    {
      id: 'bead',
      geometry: { type: 'sphere', radius: 0.005 },
      pose: { p: [0.05, 0, 0], q },
      free: true,
      body: { mass: 2 },
      velocity: { v: [0, 1, 0.2], w: [0, 0, 0] },
    },
  ];
  const constraints = [{ id: 'on', type: 'coincident', a: 'bead/center', b: 'tube/surface' }];
  const { summary } = run({ gravity: [0, 0, 0], objects, constraints }, 2);
  assert.deepEqual(
    summary.events.map((e) => e.kind),
    ['edge'],
  );
  assert.ok(Math.abs(summary.energy.final - 1) < 1e-9, `${summary.energy.final} of 1 J`);
});

// Control points x, z and weights of a line, an arc of 90 degrees and a line.
const angle = (bend) => [
  [-0.3, 0, 1],
  [-0.15, 0, 1],
  [0, 0, 1],
  [bend, 0, Math.SQRT1_2],
  [bend, -bend, 1],
  [bend, -0.15, 1],
  [bend, -0.3, 1],
];

// A sheet bent by 90 degrees with a radius of 1 cm is developable: the path is straight in the unrolled sheet. A body
// that follows the normal turns, with the squared radius of gyration `gyration`, while it is on the bend.
for (const [what, constraint, radius, z, gyration] of [
  ['its centre on it', { type: 'coincident', a: 'box/center' }, 0.01, 0, 0],
  ['its centre at a distance', { type: 'distance', value: 0.005, a: 'box/center' }, 0.015, 0.005, 0],
  ['its axis along the normal', { type: 'normal', a: 'box/axis-z' }, 0.01, 0, (0.02 ** 2 + 0.04 ** 2) / 12],
]) {
  test(`a body passes a narrow bend obliquely as if the sheet were flat: ${what}`, () => {
    const q = [1, 0, 0, 0],
      bend = 0.01;
    const profile = angle(bend);
    const sheet = {
      type: 'nurbs-surface',
      degree: [2, 1],
      knots: [
        [0, 0, 0, 1, 1, 2, 2, 3, 3, 3],
        [0, 0, 1, 1],
      ],
      points: profile.map(([x, z]) => [-1, 1].map((y) => [x, y, z])),
      weights: profile.map(([, , w]) => [w, w]),
    };
    const objects = [
      { id: 'sheet', geometry: sheet, pose: { p: [0, 0, 0], q }, fixed: true },
      {
        id: 'box',
        geometry: { type: 'box', size: [0.02, 0.03, 0.04] },
        pose: { p: [-0.1, -0.3, z], q },
        free: true,
        velocity: { v: [1, 0.8, 0], w: [0, 0, 0] },
      },
    ];
    const done = run(
      { gravity: [0, 0, 0], objects, constraints: [{ id: 'on', b: 'sheet/surface', ...constraint }] },
      0.3,
    );
    for (const k of [150, 299]) {
      const [x, y, down] = done.p(k, 'box'),
        arc = (Math.PI / 2) * radius * Math.sqrt(1 + gyration / radius ** 2), // slower while it turns
        far = [x - radius, y + 0.3 - 0.8e-3 * k, 0.1 + arc - bend - down - 1e-3 * k];
      assert.ok(Math.hypot(...far) < 1e-10, `${far} m`);
    }
  });
}

// The acceleration on a surface of degree 2 jumps at every knot, that of an axis along the normal also where only the
// rate of the curvature does: whatever the rate, steps end there, and where the fourth derivative jumps.
for (const degree of [2, 3, 4]) {
  for (const [what, constraint] of [
    ['on it', { type: 'coincident', a: 'box/center' }],
    ['at a distance', { type: 'distance', value: 0.02, a: 'box/center' }],
    ['along the normal', { type: 'normal', a: 'box/axis-z' }],
  ]) {
    test(`over waves of degree ${degree} a body goes the same way at any rate: ${what}`, () => {
      const scene = { ...thrown(degree), constraints: [{ id: 'on', b: 'waves/surface', ...constraint }] };
      const done = [500, 1000, 8000].map((rate) => run({ ...scene, rate }, 0.45));
      const apart = [0, 1].map((i) => far(done[i].p(200 * (i + 1), 'box'), done[2].p(3200, 'box')));
      assert.ok(apart[0] < 1e-11 && apart[1] < 1e-11, `${apart} m`);
    });
  }
}

// Where its points lie unevenly a surface of degree 2 may be smooth, and yet the derivatives by its parameters jump.
// Its sheet bends as a polynomial of second degree does, so that its curvature is continuous.
const saddle = (degree, count = degree + 3, half = 0.4) => {
  const places = Array.from({ length: count }, (_, i) => half * ((2 * i) / (count - 1) - 1));
  const spans = count - degree,
    inner = Array.from({ length: spans - 1 }, (_, i) => (i + 1) / spans),
    knots = [...Array(degree + 1).fill(0), ...inner, ...Array(degree + 1).fill(1)];
  const height = (x, y) => 0.3 * (x * x - y * y) + 0.1 * x;
  return {
    sheet: {
      type: 'nurbs-surface',
      degree: [degree, degree],
      knots: [knots, knots],
      points: places.map((x) => places.map((y) => [x + 0.1 * y, y, height(x, y)])),
    },
    wire: { type: 'nurbs-curve', degree, knots, points: places.map((x) => [x, 0.1 * x * x, 0.05 * Math.sin(5 * x)]) },
  };
};

// A box that hangs from a point of it, on or at a distance from a shape, and is driven to its edge, along that and
// away from it.
const driven = (geometry, constraint, gravity, rate, more = []) => ({
  rate,
  gravity,
  objects: [
    { id: 'shape', geometry, fixed: true },
    sized('wall', [0.1, 0.1, 0.1], { pose: { p: [0, 0, -2], q: [1, 0, 0, 0] }, free: false, fixed: true }),
    sized('box', [0.16, 0.06, 0.04], { pose: { p: [-0.08, 0, 0], q: [1, 0, 0, 0] }, body: { mass: 1 } }),
  ],
  features: [{ id: 'box/front', point: [0.08, 0.01, 0] }],
  constraints: [{ id: 'on', a: 'box/front', ...constraint }, ...more],
});
const onSheet = { type: 'coincident', b: 'shape/surface' };
const onPlane = { id: 'plane', type: 'coincident', a: 'box/center', b: 'wall/mid-y' };
const level = { id: 'level', type: 'perpendicular', a: 'box/axis-x', b: 'wall/axis-z' };
const atEdges = {
  'on a flat sheet': [saddle(1, 2).sheet, onSheet, [6, 1, -3]],
  'on a smooth sheet of degree 2': [saddle(2).sheet, onSheet, [6, 2, -4]],
  'on a saddle': [saddle(3).sheet, onSheet, [6, 2, -4]],
  'at a distance from a saddle': [saddle(3).sheet, { type: 'distance', value: 0.05, b: 'shape/surface' }, [6, 2, -4]],
  'at a distance from a sheet of degree 2': [
    saddle(2).sheet,
    { type: 'distance', value: 0.03, b: 'shape/surface' },
    [5, -3, 1],
  ],
  'along the normal of a saddle': [
    saddle(3).sheet,
    { type: 'normal', a: 'box/axis-z', b: 'shape/surface' },
    [6, 2, -4],
  ],
  'at a distance from a saddle and on a plane': [
    saddle(3).sheet,
    { type: 'distance', value: 0.03, b: 'shape/surface' },
    [6, 0, -4],
    [onPlane],
  ],
  'along the normal of a saddle, with a level axis': [
    saddle(3).sheet,
    { type: 'normal', a: 'box/axis-z', b: 'shape/surface' },
    [6, 2, -4],
    [level],
  ],
  'on a wire': [saddle(3).wire, { type: 'coincident', b: 'shape/curve' }, [6, 2, -4]],
};
for (const [what, [geometry, constraint, gravity, more = []]] of Object.entries(atEdges))
  test(`at an edge, along it and away from it a body goes the same way at any rate: ${what}`, () => {
    const rates = [500, 1000, 4000];
    const done = rates.map((rate) => run(driven(geometry, constraint, gravity, rate, more), 1.2));
    for (const t of [0.4, 0.6, 0.8, 1, 1.19])
      for (const i of [0, 1]) {
        const off = far(done[i].p(t * rates[i], 'box'), done[2].p(t * rates[2], 'box'));
        assert.ok(off < 1e-8, `${off} m at ${t} s, ${rates[i]} Hz`);
      }
    assert.ok(done[1].summary.events.some(({ kind }) => kind === 'edge'));
    assert.deepEqual(told(done[1]), []);
    assert.ok(Math.abs(balance(done[1])) < 1e-9);
  });

// No closed form is known here: the way at 1 kHz is the one at 4 kHz, with the energy.
test('a carriage on two or three points of a line and an arc goes the same way at any rate', () => {
  const q = [1, 0, 0, 0],
    bend = 0.03;
  const profile = angle(bend);
  const knots = [0, 0, 0, 1, 1, 2, 2, 3, 3, 3];
  const rail = {
    type: 'nurbs-curve',
    degree: 2,
    knots,
    points: profile.map(([x, z]) => [x, 0, z]),
    weights: profile.map(([, , w]) => w),
  };
  const sheet = {
    type: 'nurbs-surface',
    degree: [2, 1],
    knots: [knots, [0, 0, 1, 1]],
    points: profile.map(([x, z]) => [-1, 1].map((y) => [x, y, z])),
    weights: profile.map(([, , w]) => [w, w]),
  };
  const wheels = {
    front: [0.01, 0, 0],
    back: [-0.01, 0, 0],
    side: [-0.005, -0.01, 0],
  };
  for (const [geometry, feature, points] of [
    [rail, 'curve', ['front', 'back']],
    [sheet, 'surface', ['front', 'side']],
    [sheet, 'surface', ['front', 'back', 'side']],
  ]) {
    const scene = (rate) => ({
      rate,
      gravity: [0, 0, 0],
      objects: [
        { id: 'track', geometry, pose: { p: [0, 0, 0], q }, fixed: true },
        {
          id: 'carriage',
          geometry: { type: 'box', size: [0.02, 0.03, 0.04] },
          pose: { p: [-0.1, 0, 0], q },
          free: true,
          velocity: { v: [1, feature === 'surface' ? 0.2 : 0, 0], w: [0, 0, 0] },
        },
      ],
      features: points.map((name) => ({ id: `carriage/${name}`, point: wheels[name] })),
      constraints: points.map((id) => ({ id, type: 'coincident', a: `carriage/${id}`, b: `track/${feature}` })),
    });
    const done = [1000, 4000].map((rate) => run(scene(rate), 0.25));
    const apart = far(done[0].p(240, 'carriage'), done[1].p(960, 'carriage'));
    assert.ok(apart < 1e-9, `${points}: ${apart} m`);
    for (const { summary } of done) {
      const { initial, final } = summary.energy;
      assert.ok(Math.abs(final / initial - 1) < 1e-8, `${points}: ${initial} to ${final} J`);
      assert.deepEqual(summary.events, []);
    }
  }
});
