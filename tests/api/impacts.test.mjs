// Free bodies that hit one another and stay together: no other force acts, so that momentum is kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, cross, rotate, run } from './headless.mjs';
import { generator } from './random.mjs';

const SHAPES = {
  boxes: { type: 'box', size: [0.1, 0.1, 0.1] },
  cylinders: { type: 'cylinder', radius: 0.05, height: 0.1 },
  capsules: { type: 'capsule', radius: 0.03, height: 0.1 },
};
const MASSES = [1, 3];

const collide = (geometry, beside, friction) =>
  run(
    {
      gravity: [0, 0, 0],
      contact: { enabled: true },
      materials: [{ id: 'lead', restitution: 0, friction }],
      objects: MASSES.map((mass, i) => ({
        id: `b${i}`,
        geometry,
        material: 'lead',
        pose: { p: [0.3 * i, beside * i, 0], q: [1, 0, 0, 0] },
        free: true,
        body: { mass },
        velocity: { v: [i ? 0 : 2, 0, 0], w: [0, 0, 0] },
      })),
    },
    0.5,
  );

for (const [name, geometry] of Object.entries(SHAPES))
  for (const beside of [0, 0.01, 0.03])
    for (const friction of [0, 0.3])
      test(`${name} without rebound keep their momentum: ${beside} m off, friction ${friction}`, () => {
        const done = collide(geometry, beside, friction);
        const v = MASSES.map((_, i) => done.v(-1, `b${i}`));
        const momentum = [0, 1, 2].map((k) => MASSES[0] * v[0][k] + MASSES[1] * v[1][k]);
        assert.ok(Math.hypot(momentum[0] - 2 * MASSES[0], momentum[1], momentum[2]) < 1e-6, `${momentum} N s`);
        const { initial, final, dissipated } = done.summary.energy;
        assert.ok(Math.abs(final - initial + dissipated) < 1e-12);
        assert.ok(beside > 0 || Math.abs(v[0][0] - 0.5) < 1e-6, `${v[0]} m/s`);
      });

// Up to four tumbling bodies that hit one another, slide and roll on each other: their contacts, among them edges
// across edges, have neither force nor couple from outside.
const SOME = [
  { type: 'sphere', radius: 0.05 },
  { type: 'box', size: [0.1, 0.08, 0.06] },
  { type: 'capsule', radius: 0.03, height: 0.1 },
  { type: 'cylinder', radius: 0.04, height: 0.08 },
];
const momenta = (done, objects, k) =>
  objects.reduce(
    ([p, l], { id, body: { mass, inertia } }) => {
      const q = done.q(k, id),
        mv = done.v(k, id).map((x) => mass * x),
        w = rotate([q[0], -q[1], -q[2], -q[3]], done.w(k, id));
      const spin = rotate(
        q,
        w.map((x, i) => inertia[i] * x),
      );
      return [add(p, mv), add(l, add(cross(done.p(k, id), mv), spin))];
    },
    [
      [0, 0, 0],
      [0, 0, 0],
    ],
  );

for (let seed = 1; seed <= 24; seed++)
  test(`free bodies among themselves keep both momenta, scene ${seed}`, () => {
    const { random, pick } = generator(seed);
    const between = (low, high) => low + (high - low) * random();
    const objects = Array.from({ length: pick([2, 2, 3, 4]) }, (_, i) => {
      const q = Array.from({ length: 4 }, () => between(-1, 1)),
        mass = pick([0.3, 1, 3]);
      return {
        id: `b${i}`,
        geometry: pick(SOME),
        material: 'm',
        pose: { p: [0.16 * i, between(-0.02, 0.02), between(-0.02, 0.02)], q: q.map((x) => x / Math.hypot(...q)) },
        free: true,
        body: {
          mass,
          com: [0, 0, 0],
          inertia: [...Array.from({ length: 3 }, () => mass * between(1e-3, 1.8e-3)), 0, 0, 0],
        },
        velocity: {
          v: [1 - 0.8 * i, between(-0.1, 0.1), between(-0.1, 0.1)],
          w: Array.from({ length: 3 }, () => between(-2, 2)),
        },
      };
    });
    const material = { id: 'm', restitution: pick([0, 0, 0.3, 1]), friction: pick([0, 0.3]) };
    const done = run({ gravity: [0, 0, 0], materials: [material], contact: { enabled: true }, objects }, 0.8);
    const [before, after] = [0, -1].map((k) => momenta(done, objects, k));
    assert.ok(Math.hypot(...add(after[0], before[0], -1)) < 1e-12, `${add(after[0], before[0], -1)} N s`);
    assert.ok(Math.hypot(...add(after[1], before[1], -1)) < 1e-6, `${add(after[1], before[1], -1)} N m s`);
  });
