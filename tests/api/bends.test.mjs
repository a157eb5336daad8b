// What keeps to the normal of a surface turns at another rate at knots where the curvature jumps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { G, run } from './headless.mjs';

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

test('over bends of a surface that moves a linkage goes on', () => {
  const scene = thrown(2, { fixed: false, free: true, body: { mass: 3, inertia: [0.2, 0.2, 0.3, 0, 0, 0] } });
  scene.joints = [{ id: 'rail', type: 'prismatic', a: { object: 'waves' }, b: { object: 'world' } }];
  assert.ok(kept(scene, 1e-4).length <= 1); // what a step could not account for is told
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
