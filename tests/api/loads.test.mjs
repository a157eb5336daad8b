// Unilateral constraints that hold: bounds, joint limits, edges of free-form shapes. Their forces are linear in each
// step, steps end where one lifts off, and motions converge with the fourth order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, far, frame, G, revolute, run, sized } from './headless.mjs';

const base = { id: 'base', geometry: { type: 'box', size: [0.05, 0.05, 0.05] }, fixed: true };
const toward = [Math.SQRT1_2, -Math.SQRT1_2, 0, 0]; // z onto y

// The largest distance between the ways of bodies at two rates (Hz).
function apart(scene, ids, rate, fine, seconds) {
  const [a, b] = [rate, fine].map((r) => run({ ...scene, rate: r }, seconds));
  const every = fine / rate;
  let most = 0;
  for (let k = 0; k < a.count; k++) for (const id of ids) most = Math.max(most, far(a.p(k, id), b.p(k * every, id)));
  return most;
}

test('a taut rope swings as a rod', () => {
  for (const point of [
    [0, 0, 0],
    [-0.03, 0.01, 0.02],
  ]) {
    const start = [0.4, 0, -0.3];
    const held = (bound) => ({
      gravity: [0, 0, -G],
      objects: [base, { ...sized('load', [0.1, 0.1, 0.1]), pose: { p: start }, body: { mass: 1 } }],
      features: [
        { id: 'base/hook', point: [0, 0, 0] },
        { id: 'load/eye', point },
      ],
      constraints: [
        {
          id: 'rope',
          type: 'distance',
          a: 'load/eye',
          b: 'base/hook',
          value: Math.hypot(...add(start, point)),
          ...bound,
        },
      ],
    });
    const rope = run(held({ bound: 'at-most' }), 1.5),
      rod = run(held({}), 1.5);
    let most = 0;
    for (let k = 0; k < rod.count; k++) most = Math.max(most, far(rope.p(k, 'load'), rod.p(k, 'load')));
    assert.ok(most < 1e-10, `${most} m`);
  }
});

// A double pendulum that swings into limits of its first or its second joint, rests there, and leaves.
const pendulum = (first, second, more) => ({
  gravity: [0, 0, -G],
  objects: [
    base,
    ...[0, 1].map((i) => sized(`l${i}`, [0.3, 0.04, 0.04], { pose: { p: [0.15 + 0.3 * i, 0, 0] }, body: { mass: 1 } })),
  ],
  joints: [
    revolute('shoulder', frame('base', [0, 0, 0], toward), frame('l0', [-0.15, 0, 0], toward), first),
    revolute('elbow', frame('l0', [0.15, 0, 0], toward), frame('l1', [-0.15, 0, 0], toward), second),
  ],
  ...more,
});

test('joints leave their limits when the force there vanishes', () => {
  const limited = pendulum({ limits: [[-1, 1]] }, {}),
    beyond = pendulum({}, { limits: [[-0.3, 0.4]] });
  assert.ok(apart(limited, ['l0', 'l1'], 1000, 4000, 1.5) < 5e-9);
  assert.ok(apart(beyond, ['l0', 'l1'], 1000, 4000, 1.5) < 1e-9);
  const ways = [500, 1000, 2000].map((rate) => apart(limited, ['l0', 'l1'], rate, 8000, 0.5));
  assert.ok(ways[0] < 1e-8 && ways[2] < ways[0] / 64, ways.join(' '));
});

test('a point of a linkage slides along the plane that bounds it, and leaves it', () => {
  const floor = { id: 'floor', geometry: { type: 'box', size: [4, 4, 0.1] }, pose: { p: [0, 0, -0.55] }, fixed: true };
  const scene = pendulum(
    {},
    {},
    {
      gravity: [2, 0, -G],
      features: [{ id: 'l1/tip', point: [0.15, 0, 0] }],
      constraints: [{ id: 'above', type: 'distance', a: 'l1/tip', b: 'floor/+z', value: 0.1, bound: 'at-least' }],
    },
  );
  scene.objects.push(floor);
  assert.ok(apart(scene, ['l0', 'l1'], 1000, 4000, 1.4) < 1e-8);
});

// Two bodies hinged by a ball joint, a point of the first on a sheet: they reach its edges, slide along them, and leave.
test('linked bodies follow the edges of a sheet', () => {
  const knots = [0, 0, 0, 0, 1 / 3, 2 / 3, 1, 1, 1, 1];
  const at = (i) => -0.4 + 0.16 * i;
  const saddle = {
    type: 'nurbs-surface',
    degree: [3, 3],
    knots: [knots, knots],
    points: [...Array(6).keys()].map((i) =>
      [...Array(6).keys()].map((j) => [at(i), at(j), 0.3 * (at(i) ** 2 - at(j) ** 2) + 0.1 * at(i)]),
    ),
  };
  const flat = {
    type: 'nurbs-surface',
    degree: [1, 1],
    knots: Array(2).fill([0, 0, 1, 1]),
    points: [-0.4, 0.4].map((x) => [-0.4, 0.4].map((y) => [x, y, 0])),
  };
  const slides = (geometry, gravity, seconds, rate, most) => {
    const scene = {
      gravity,
      objects: [
        { id: 'sheet', geometry, fixed: true },
        sized('body', [0.16, 0.06, 0.04], { pose: { p: [-0.08, 0, 0] }, body: { mass: 1 } }),
        sized('bob', [0.04, 0.04, 0.04], { pose: { p: [-0.08, 0, -0.1] }, body: { mass: 0.3 } }),
      ],
      joints: [{ id: 'ball', type: 'spherical', a: frame('body', [-0.05, 0, 0]), b: frame('bob', [0.03, 0, 0.1]) }],
      features: [{ id: 'body/front', point: [0.08, 0, 0] }],
      constraints: [{ id: 'on', type: 'coincident', a: 'body/front', b: 'sheet/surface' }],
    };
    const { summary } = run({ ...scene, rate }, seconds);
    assert.ok(summary.events.some((e) => e.kind === 'edge'));
    const error = apart(scene, ['body', 'bob'], rate, 4 * rate, seconds);
    assert.ok(error < most, `${error} m`);
  };
  slides(flat, [6, 1, -3], 1.5, 1000, 1e-8);
  slides(saddle, [6, 2, -4], 0.7, 1000, 1e-8);
});

// Where a bound's direction turns far in a step, the step is divided.
test('a body on a short rope goes round fast', () => {
  const round = (rate) =>
    run(
      {
        gravity: [0, 0, 0],
        rate,
        objects: [
          base,
          sized('load', [0.01, 0.01, 0.01], {
            pose: { p: [0.02, 0, 0] },
            body: { mass: 1 },
            velocity: { v: [0, 3, 0], w: [0, 0, 0] },
          }),
        ],
        features: [
          { id: 'base/hook', point: [0, 0, 0] },
          { id: 'load/eye', point: [0, 0, 0] },
        ],
        constraints: [{ id: 'rope', type: 'distance', a: 'load/eye', b: 'base/hook', value: 0.02, bound: 'at-most' }],
      },
      0.5,
    );
  const { summary, count, p } = round(500); // 0.3 rad in a tick
  assert.ok(Math.abs(summary.energy.final - 4.5) < 0.002, `${summary.energy.final} J`);
  for (let k = 0; k < count; k += 10) assert.ok(Math.abs(Math.hypot(...p(k, 'load')) - 0.02) < 1e-10);
});

// Friction turns where the joint comes to rest, also next to a step's end and where the bristle's span is a rounding.
test('a pendulum with joint friction turns at the same times at any rate', () => {
  const swinging = (friction, rate) =>
    run(
      {
        gravity: [0, 0, -G],
        rate,
        objects: [
          base,
          sized('rod', [0.3, 0.04, 0.04], {
            pose: { p: [0.15, 0, 0] },
            body: { mass: 1, com: [0, 0, 0], inertia: [0.001, 0.01, 0.01, 0, 0, 0] },
          }),
        ],
        joints: [
          revolute('hinge', frame('base', [0, 0, 0], toward), frame('rod', [-0.15, 0, 0], toward), {
            friction: [friction],
          }),
        ],
      },
      1.5,
    );
  for (const [friction, rate] of [
    [0.01, 4000],
    [0.030416666666666668, 8000],
    [0.07125, 8000],
    [0.21416666666666667, 1000],
    [0.255, 4000],
  ]) {
    const [a, b] = [rate, 2000].map((r) => swinging(friction, r));
    for (let t = 0.05; t < 1.5; t += 0.05) {
      const off = far(a.p(Math.round(t * rate), 'rod'), b.p(Math.round(t * 2000), 'rod'));
      assert.ok(off < 1e-8, `${friction} N m, ${rate} Hz: ${off} m at ${t} s`);
    }
  }
});
