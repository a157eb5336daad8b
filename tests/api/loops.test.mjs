// Balls on and in elliptic tracks and shells written as rational shapes, slow and fast: where they leave, by the
// balance of forces on the parallel curve that their centres follow, and that they go round where they do not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { G, run } from './headless.mjs';
import { near } from './running.mjs';

const S = Math.SQRT1_2;
const knots = [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
// Quarters of the ellipse x = a cos, z = b sin, from x = a upwards.
const quarters = (a, b) =>
  [
    [1, 0, 1],
    [1, 1, S],
    [0, 1, 1],
    [-1, 1, S],
    [-1, 0, 1],
    [-1, -1, S],
    [0, -1, 1],
    [1, -1, S],
    [1, 0, 1],
  ].map(([x, z, w]) => ({ x: a * x, z: b * z, w }));
const curve = (a, b) => ({
  type: 'nurbs-curve',
  degree: 2,
  knots,
  points: quarters(a, b).map(({ x, z }) => [x, 0, z]),
  weights: quarters(a, b).map(({ w }) => w),
});
// The same as a tube along y, with its normals inwards, or outwards where the curve is run backwards.
function tube(a, b, outwards) {
  const at = outwards ? quarters(a, b).reverse() : quarters(a, b);
  return {
    type: 'nurbs-surface',
    degree: [2, 1],
    knots: [knots, [0, 0, 1, 1]],
    points: at.map(({ x, z }) => [-0.1, 0.1].map((y) => [x, y, z])),
    weights: at.map(({ w }) => [w, w]),
  };
}
// Half of it turned about x's perpendicular z: a ball of semi-axes a, a, b with its poles at +-b.
function shell(a, b) {
  const round = quarters(1, 1),
    half = [
      [0, -1, 1],
      [1, -1, S],
      [1, 0, 1],
      [1, 1, S],
      [0, 1, 1],
    ];
  return {
    type: 'nurbs-surface',
    degree: [2, 2],
    knots: [knots, [0, 0, 0, 1, 1, 2, 2, 2]],
    points: round.map((u) => half.map(([out, up]) => [a * out * u.x, a * out * u.z, b * up])),
    weights: round.map((u) => half.map(([, , w]) => u.w * w)),
  };
}

const ball = (r, z, v, rolls) => ({
  id: 'ball',
  geometry: { type: 'sphere', radius: r },
  free: true,
  body: { mass: 0.1, inertia: [0.04 * r * r, 0.04 * r * r, 0.04 * r * r, 0, 0, 0] },
  pose: { p: [0, 0, z], q: [1, 0, 0, 0] },
  velocity: { v, w: rolls ? [-v[1] / r, v[0] / r, 0] : [0, 0, 0] },
});
const scene = (geometry, moving, type, contact) => ({
  gravity: [0, 0, -G],
  objects: [{ id: 'track', geometry, fixed: true }, moving],
  constraints: [
    { id: 'c', type, contact, a: 'ball/surface', b: geometry.type === 'nurbs-curve' ? 'track/curve' : 'track/surface' },
  ],
});
const quiet = ({ summary }) => assert.deepEqual(summary.events ?? [], []);

// Along the parallel curve of the ellipse at the distance `side` r (1: outside, from its top; -1: inside, from its
// bottom), with v^2 = v0^2 - 2 g (z - z0) / k: where the track's force side (g n_z - v^2 K) ends; null where the ball
// comes to rest or goes round first.
function leaves({ a, b, r, side, v0, k }) {
  const at = (t) => {
    const l = Math.hypot(a * Math.cos(t), b * Math.sin(t)),
      n = [(b * Math.sin(t)) / l, (side * a * Math.cos(t)) / l],
      p = [a * Math.sin(t) + side * r * n[0], side * b * Math.cos(t) + side * r * n[1]],
      bend = (a * b) / l ** 3 / (1 + (side * r * a * b) / l ** 3),
      v2 = v0 * v0 - (2 * G * (p[1] - side * (b + side * r))) / k,
      v = [a * Math.cos(t), -side * b * Math.sin(t)].map((x) => (x / l) * Math.sqrt(Math.max(v2, 0)));
    return { p, v2, v, held: side * (G * n[1] - v2 * bend) > 0 };
  };
  for (let t = 1e-3; t < 2 * Math.PI; t += 1e-3) {
    if (at(t).v2 < 0) return null;
    let [low, high] = [t - 1e-3, t];
    if (at(high).held) continue;
    for (let i = 0; i < 60; i++) {
      const middle = (low + high) / 2;
      [low, high] = at(middle).held ? [middle, high] : [low, middle];
    }
    return at(low);
  }
  return null;
}

// The first tick in free flight, taken back along its parabola to the velocity at which it should have begun.
function begins(out) {
  for (let k = 0; k + 1 < out.count; k++) {
    const [v, w] = [out.v(k, 'ball'), out.v(k + 1, 'ball')];
    if (Math.abs(w[2] - v[2] + G / 1000) < 1e-10 && Math.abs(w[0] - v[0]) < 1e-10) return { p: out.p(k, 'ball'), v };
  }
  return null;
}

const kinds = { sliding: 1, rolling: 1.4 };
for (const type of Object.keys(kinds))
  for (const [a, b] of [
    [0.3, 0.2],
    [0.2, 0.3],
  ])
    for (const [what, geometry, side, r, v0] of [
      ['curve', curve(a, b), 1, 0.02, 0.5],
      ['tube', tube(a, b, true), 1, 0.02, 0.5],
      ['loop', tube(a, b), -1, 0.01, Math.sqrt(3.5 * G * b)],
      ['loop', tube(a, b), -1, 0.01, Math.sqrt(7 * G * b)],
      ['loop', tube(a, b), -1, 0.004, Math.sqrt(7.5 * G * b)],
    ])
      test(`a ball of ${r} m ${type} at ${v0.toFixed(2)} m/s leaves an elliptic ${what} (${a}, ${b}) where it must`, () => {
        const start = side * (b + side * r),
          k = kinds[type];
        const out = run(scene(geometry, ball(r, start, [v0, 0, 0], type === 'rolling'), type, 'unilateral'), 0.5);
        const closed = leaves({ a, b, r, side, v0, k }),
          found = begins(out);
        if (!closed) {
          assert.equal(found, null);
          quiet(out);
          for (let i = 0; i < out.count; i += 20) {
            const v = Math.hypot(...out.v(i, 'ball'));
            near(v * v, v0 * v0 - (2 * G * (out.p(i, 'ball')[2] - start)) / k, 1e-7);
          }
          return;
        }
        const t = (closed.v[1] - found.v[2]) / G;
        near(found.v[0], closed.v[0], 1e-7);
        near(found.p[0] - found.v[0] * t, closed.p[0], 1e-7);
        near(found.p[2] - closed.v[1] * t + (G * t * t) / 2, closed.p[1], 1e-7);
      });

// A pole is a point of the surface like any other.
for (const contact of ['bilateral', 'unilateral'])
  for (const type of ['sliding', 'rolling'])
    test(`a ball that begins at a shell's pole, ${type} (${contact}), goes off in any direction`, () => {
      for (let i = 0; i < 8; i++) {
        const v = [Math.cos((i * Math.PI) / 4), Math.sin((i * Math.PI) / 4), 0];
        const begins = ball(0.02, 0.22, v, type === 'rolling');
        const out = run({ ...scene(shell(0.5, 0.2), begins, type, contact), gravity: [0, 0, 0] }, 0.1);
        quiet(out);
        const speed = Math.hypot(...out.v(-1, 'ball')),
          p = out.p(-1, 'ball');
        near(speed, 1, 1e-9);
        near(p[0] * v[1] - p[1] * v[0], 0, 1e-9);
        assert.ok(contact === 'unilateral' || p[0] * v[0] + p[1] * v[1] > 0.095, `${p} along ${v}`);
      }
    });

// A small body that slides fast over a surface stays on its branch and is not reported to have left it.
test('a small ball that slides fast is not told to degenerate', () => {
  const out = run(scene(tube(0.2, 0.2), ball(0.004, -0.196, [4, 0, 0], false), 'sliding', 'bilateral'), 0.5);
  quiet(out);
  near(out.summary.energy.final, out.summary.energy.initial, 1e-8);
});

// A surface that is upside down does not bear what lies on it: as that falls through, the event says which way it faces.
test('what begins behind a surface is told which way that faces', () => {
  const behind = scene(tube(0.2, 0.3, true), ball(0.02, -0.28, [0, 0, 0], false), 'sliding', 'unilateral');
  const { summary } = run(behind, 0.2);
  assert.deepEqual(
    summary.events.map((e) => e.kind),
    ['degenerate'],
  );
  assert.match(summary.events[0].message, /faces along its normal, Su x Sv, and with "inside" against it/);
  behind.constraints[0].inside = true;
  quiet(run(behind, 0.2));
});

// A valley that is narrower than the ball: on its way down one wall the ball meets the other one, where it stops without
// rebound. Kept both ways the contact ends there, and the ball rests.
const valley = (width, depth, n = 17) => {
  const spans = n - 3,
    ends = (k) => Math.min(Math.max(k - 3, 0), spans) / spans;
  const row = (y) => Array.from({ length: n }, (_, i) => [width * ((2 * i) / (n - 1) - 1), y]);
  const rows = [-0.2, 0.2].map(row);
  return {
    type: 'nurbs-surface',
    degree: [3, 1],
    knots: [Array.from({ length: n + 4 }, (_, k) => ends(k)), [0, 0, 1, 1]],
    points: rows[0].map(([x], i) => rows.map((r) => [x, r[i][1], -depth * Math.cos((Math.PI * x) / width)])),
  };
};
test('a ball in a valley too narrow for it lies on both walls', () => {
  for (const contact of ['unilateral', 'bilateral'])
    for (const type of ['sliding', 'rolling', 'pure-rolling'])
      for (const v of contact === 'unilateral' ? [0.4, 0.8, 1, 1.2, 1.6] : [0.8]) {
        const it = scene(valley(0.3, 0.05), ball(0.2, 0.25, [v, 0, 0], false), type, contact);
        it.objects[1].pose.p = [-0.15, 0, 0.25];
        const done = run(it, 1),
          e = done.summary.energy,
          what = `${type} ${contact} at ${v} m/s`;
        const kinds = done.summary.events.map((event) => event.kind).filter((kind) => kind !== 'projected');
        assert.deepEqual(kinds, contact === 'unilateral' ? [] : ['degenerate'], what);
        near(e.final, e.initial - e.dissipated, 1e-9);
        const [x, , z] = done.p(-1, 'ball'),
          [vx, , vz] = done.v(-1, 'ball');
        assert.ok(Math.hypot(vx, vz) < 1e-6, `${what}: ${vx}, ${vz}`);
        if (contact === 'unilateral') near(x, 0, 1e-4);
        assert.ok(z > 0.14 && z < 0.25, `${what}: ${z}`);
      }
});

// The other wall comes up within a few millimetres of the ball, and is met before the ball is in it.
test('both walls of a sharp valley are met in time', () => {
  const sharp = (n) => {
    const of = valley(0.3, 0.1, n);
    of.points = of.points.map((pair) => pair.map(([x, y]) => [x, y, 0.1 * (Math.abs(x) / 0.15 - 1)]));
    return of;
  };
  for (const [n, radius, v] of [
    [9, 0.06, 0.3],
    [9, 0.06, 2],
    [9, 0.12, 0.3],
    [17, 0.03, 0.3],
    [17, 0.03, 1],
    [17, 0.06, 2],
    [33, 0.03, 0.3],
    [33, 0.03, 2],
    [33, 0.06, 0.3],
  ]) {
    const it = scene(sharp(n), ball(radius, 0.1 + radius, [v, 0, 0], false), 'rolling', 'unilateral');
    it.objects[1].pose.p = [-0.15, 0, 0.1 + radius];
    const { events, energy: e } = run(it, 1).summary;
    assert.deepEqual(
      events.filter((event) => event.kind !== 'projected'),
      [],
      `${radius} m at ${v} m/s`,
    );
    near(e.final, e.initial - e.dissipated, 1e-9);
  }
});
