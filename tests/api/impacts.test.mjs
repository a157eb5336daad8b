// Free bodies that hit one another and stay together: no other force acts, so that momentum is kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from './headless.mjs';

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
