// Surfaces that come to touch along a line: rings that settle flat, by ever faster impacts on alternating sides.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { about, flat, G, made, run } from './headless.mjs';
import { near } from './running.mjs';

const RING = 0.1,
  TUBE = 0.03;
const torus = made({ convert: { type: 'torus', radius: RING, tube_radius: TUBE } });

const sheet = (size) => ({ id: 'sheet', geometry: flat(size), fixed: true, material: 'm' });

const falls = (restitution, pose, velocity = { v: [0, 0, 0], w: [0, 0, 0] }) => ({
  gravity: [0, 0, -G],
  objects: [
    sheet(3),
    {
      id: 'torus',
      geometry: torus,
      pose,
      velocity,
      free: true,
      body: { mass: 1, inertia: [0.003, 0.003, 0.005, 0, 0, 0] },
      material: 'm',
    },
  ],
  constraints: [{ id: 'c', type: 'sliding', a: 'torus/surface', b: 'sheet/surface', contact: 'unilateral' }],
  materials: [{ id: 'm', restitution }],
});

// Height of the torus' lowest point in a tick, and the sine of its tilt.
function lowest({ get }, k) {
  const [x, y] = [get(k, 'torus.qx'), get(k, 'torus.qy')];
  const up = 1 - 2 * (x * x + y * y);
  const sine = Math.sqrt(Math.max(0, 1 - up * up));
  return { gap: get(k, 'torus.pz') - TUBE - RING * sine, sine };
}

for (const restitution of [0.3, 0.5, 0.8])
  test(`a torus that falls at a tilt settles flat: restitution ${restitution}`, () => {
    const done = run(falls(restitution, { p: [0, 0, 0.4], q: about([0.8, 0.6, 0], 0.3) }), 3);
    for (let k = 0; k < done.count; k++) assert.ok(lowest(done, k).gap > -1e-4, `tick ${k}: ${lowest(done, k).gap}`);
    const end = lowest(done, done.count - 1);
    assert.ok(end.sine < 1e-4 && Math.abs(end.gap) < 1e-5, `${end.gap} ${end.sine}`);
    // more impacts in a tick than its effort allows are told
    assert.ok(done.summary.events.every((e) => e.kind === 'crowded'));
    const { initial, final, dissipated, edits } = done.summary.energy;
    near(final + dissipated - edits, initial, 1e-9);
    near(final, G * TUBE, 1e-4);
  });

test('a torus that is put down flat rests on its ring', () => {
  const done = run(falls(0, { p: [0, 0, TUBE + 1e-3], q: [1, 0, 0, 0] }), 1);
  const end = lowest(done, done.count - 1);
  assert.ok(end.sine < 1e-6 && Math.abs(end.gap) < 1e-6, `${end.gap} ${end.sine}`);
  assert.deepEqual(done.summary.events, []);
});

// Spin about the vertical and slide go on without friction, whatever the impacts: I_z w_z of the tilted torus is kept.
test('a torus that spins and slides as it falls keeps both, and lies flat', () => {
  const tilt = 0.3;
  const scene = falls(0, { p: [0, 0, 0.4], q: about([0.8, 0.6, 0], tilt) }, { v: [0.5, 0.2, 0], w: [0, 0, 10] });
  const done = run(scene, 1.5);
  const inertia = 0.005 * Math.cos(tilt) ** 2 + 0.003 * Math.sin(tilt) ** 2;
  near(done.w(-1, 'torus')[2], (10 * inertia) / 0.005, 1e-3);
  near(done.v(-1, 'torus')[0], 0.5, 1e-6);
  near(done.v(-1, 'torus')[1], 0.2, 1e-6);
  const end = lowest(done, done.count - 1);
  assert.ok(end.sine < 1e-6 && Math.abs(end.gap) < 1e-7, `${end.gap} ${end.sine}`);
  assert.deepEqual(done.summary.events, []);
});

test('which of two surfaces is named first does not matter to a ring that settles on them', () => {
  const scene = falls(0.5, { p: [0, 0, 0.4], q: about([0.8, 0.6, 0], 0.3) });
  const [c] = scene.constraints;
  scene.constraints = [{ ...c, a: c.b, b: c.a }];
  const done = run(scene, 1.5);
  const end = lowest(done, done.count - 1);
  assert.ok(end.sine < 1e-4 && Math.abs(end.gap) < 1e-6, `${end.gap} ${end.sine}`);
  assert.deepEqual(done.summary.events, []);
});

test('a wire ring settles flat', () => {
  const s = Math.SQRT1_2;
  const scene = falls(0.5, { p: [0, 0, 0.4], q: about([0.8, 0.6, 0], 0.3) });
  scene.objects[1].geometry = {
    type: 'nurbs-curve',
    degree: 2,
    knots: [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    points: [
      [1, 0],
      [1, 1],
      [0, 1],
      [-1, 1],
      [-1, 0],
      [-1, -1],
      [0, -1],
      [1, -1],
      [1, 0],
    ].map(([x, y]) => [RING * x, RING * y, 0]),
    weights: [1, s, 1, s, 1, s, 1, s, 1],
  };
  scene.objects[1].body.inertia = [0.005, 0.005, 0.01, 0, 0, 0];
  scene.constraints[0].a = 'torus/curve';
  const done = run(scene, 2.5);
  for (let k = 0; k < done.count; k++) assert.ok(lowest(done, k).gap + TUBE > -1e-5, `tick ${k}`);
  assert.ok(Math.abs(lowest(done, done.count - 1).gap + TUBE) < 1e-6);
  assert.ok(lowest(done, done.count - 1).sine < 1e-4);
});

// Round ends, which touch in a point, and a straight side between them: one end strikes, and then the other.
test('a rod with round ends falls on its side, and rolls on at two thirds of its speed', () => {
  const [r, half, c] = [0.05, 0.1, Math.SQRT1_2];
  const profile = [
    [0, -half - r, 1],
    [r, -half - r, c],
    [r, -half, 1],
    [r, 0, 1],
    [r, half, 1],
    [r, half + r, c],
    [0, half + r, 1],
  ];
  const rod = made({
    revolve: {
      profile: {
        type: 'nurbs-curve',
        degree: 2,
        knots: [0, 0, 0, 1, 1, 2, 2, 3, 3, 3],
        points: profile.map(([out, z]) => [out, 0, z]),
        weights: profile.map(([, , weight]) => weight),
      },
    },
  });
  for (const [type, friction, speed] of [
    ['sliding', undefined, 0.3],
    ['rolling', 0.3, 0.2],
  ]) {
    const pose = { p: [0, 0, 0.1], q: about([1, 0, 0], Math.PI / 2 - 1e-3) };
    const scene = falls(0, pose, { v: [0.3, 0, 0], w: [0, 0, 0] });
    scene.objects[1].geometry = rod;
    scene.objects[1].body.inertia = [0.004, 0.004, (r * r) / 2, 0, 0, 0];
    scene.constraints[0].type = type;
    if (friction) scene.materials[0].friction = friction;
    const done = run(scene, 0.8);
    for (let k = 0; k < done.count; k++) {
      const [w, x, y, z] = done.q(k, 'torus');
      const up = Math.abs(w * w - x * x - y * y + z * z);
      assert.ok(done.get(k, 'torus.pz') - r - half * up > -1e-4, `tick ${k}`);
    }
    assert.ok(Math.abs(done.get(-1, 'torus.pz') - r) < 1e-5);
    near(done.v(-1, 'torus')[0], speed, 2e-3);
    assert.ok(!done.summary.events.some((e) => e.kind === 'degenerate'));
  }
});
