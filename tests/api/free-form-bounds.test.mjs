// Bounds of distances from free-form curves and surfaces, against the same bounds of the points, lines and planes that
// they amount to: a ball's surface at a distance d is its centre at d plus its radius.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { command, scratch } from './command.mjs';
import { flat } from './headless.mjs';

const half = Math.SQRT1_2;
const around = [1, 1, 0, -1, -1, -1, 0, 1, 1];
const ball = (r) => ({
  type: 'nurbs-surface',
  degree: [2, 2],
  knots: [
    [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    [0, 0, 0, 1, 1, 2, 2, 2],
  ],
  points: around.map((x, i) =>
    [
      [0, -1],
      [1, -1],
      [1, 0],
      [1, 1],
      [0, 1],
    ].map(([rho, z]) => [r * rho * x, r * rho * around[(i + 6) % 8], r * z]),
  ),
  weights: around.map((_, i) => [1, half, 1, half, 1].map((w) => w * (i % 2 ? half : 1))),
});
const straight = {
  type: 'nurbs-curve',
  degree: 1,
  knots: [0, 0, 1, 1],
  points: [
    [-3, 0, 0],
    [3, 0, 0],
  ],
};

const moving = (id, geometry, p, q, v, w) => ({
  id,
  geometry,
  pose: { p, q },
  free: true,
  body: { mass: 0.8, com: [0.03, -0.02, 0.01], inertia: [0.02, 0.03, 0.04, 0.002, 0.001, -0.003] },
  velocity: { v, w },
  material: 'elastic',
});

function motion(objects, features, constraint, seconds, rate) {
  const csv = join(scratch, 'free-form-bounds.csv');
  const scene = {
    format: 'guideway-scene/1',
    name: 'bound',
    gravity: [1.7, -2.4, -3.3],
    rate,
    materials: [{ id: 'elastic', restitution: 1 }],
    objects,
    features,
    constraints: [{ id: 'c', type: 'distance', ...constraint }],
  };
  const r = command(['run', '-', '--seconds', `${seconds}`, '--bodies', csv], JSON.stringify(scene));
  assert.equal(r.code, 0, r.err);
  const e = JSON.parse(r.out).energy;
  assert.ok(Math.abs(e.final - e.initial - e.work_in + e.dissipated) < 1e-12);
  const rows = readFileSync(csv, 'utf8').trim().split('\n').slice(1);
  return rows.map((l) => l.split(',').slice(1, 14).map(Number));
}

test('a bound near a free-form ball or straight curve moves bodies as that of its centre or line', () => {
  const R = 0.15;
  let turned = 0;
  const q = [0.5, 0.5, -0.1, 0.7].map((x) => x / Math.hypot(0.5, 0.5, 0.1, 0.7));
  const stone = { type: 'sphere', radius: 0.01 };
  const f = (element) => [{ id: 'm/f', ...element }];
  const axis = { line: { point: [0.02, 0.05, 0], direction: [1, 0.2, 0] } };
  const level = { plane: { point: [0.02, 0.05, 0], normal: [0.1, 0.2, 1] } };
  // [a's geometry, b's geometry, features, the free-form bound, the bound that it amounts to, where b begins]
  for (const [name, shape, other, features, bounds, start] of [
    ['a point', ball(R), stone, f({ point: [0.02, 0.05, 0] }), ['s/surface', 'm/f', 's/center', 'm/f', R], 0.5],
    ['a line', ball(R), stone, f(axis), ['s/surface', 'm/f', 's/center', 'm/f', R], 0.9],
    ['a plane', ball(R), stone, f(level), ['s/surface', 'm/f', 's/center', 'm/f', R], -0.5],
    ['a ball', ball(R), ball(0.08), [], ['s/surface', 'm/surface', 's/center', 'm/center', R + 0.08], 0.5],
    [
      'a curve',
      ball(R),
      straight,
      f({ line: { point: [0, 0, 0], direction: [1, 0, 0] } }),
      ['s/surface', 'm/curve', 's/center', 'm/f', R],
      0.75,
    ],
    [
      'a curve and a point',
      straight,
      stone,
      f({ line: { point: [0, 0, 0], direction: [1, 0, 0] } }),
      ['s/curve', 'm/center', 's/f', 'm/center', 0],
      0.4,
    ],
  ])
    for (const bound of ['at-least', 'at-most'])
      for (const rate of [500, 1000]) {
        const [a, b, c, d, more] = bounds;
        const plane = name === 'a plane';
        const value = bound === 'at-least' ? 0.2 : plane ? -0.1 : 0.42;
        const p = plane && bound === 'at-most' ? [0, 0, 0.5] : [0, 0.1, bound === 'at-least' ? 1.1 * start : start];
        const equivalent = plane && bound === 'at-most' ? value - R : value + more;
        const s = moving('s', shape, [0, 0, 0], [1, 0, 0, 0], [0, 0, bound === 'at-least' ? 0.3 : -0.3], [1, 0.5, 0.2]);
        const m = moving('m', other, p, plane ? [1, 0, 0, 0] : q, [0.1, 0.2, -0.1], [0.3, -0.5, 0.2]);
        const as = (o) => ({ ...o, geometry: stone });
        const shown = c === 's/f' ? [{ id: 's/f', line: { point: [0, 0, 0], direction: [1, 0, 0] } }] : features;
        const one = motion([s, m], features, { a, b, bound, value }, 1, rate);
        const two = motion([as(s), as(m)], shown, { a: c, b: d, bound, value: equivalent }, 1, rate);
        const apart = Math.max(...one.map((row, i) => Math.max(...row.map((x, k) => Math.abs(x - two[i][k])))));
        assert.ok(apart < 1e-9, `${name}, ${bound}, ${rate} Hz: ${apart}`);
        turned += two.some((row, i) => i > 0 && Math.hypot(...[7, 8, 9].map((k) => row[k] - two[i - 1][k])) > 0.05);
      }
  assert.ok(turned >= 12, `${turned} come to their bounds`);
});

test('a signed bound keeps a point on its side of a surface', () => {
  const R = 0.15;
  const stone = { type: 'sphere', radius: 0.01 };
  const ground = {
    id: 's',
    geometry: ball(R),
    pose: { p: [0, 0, 0], q: [1, 0, 0, 0] },
    fixed: true,
    material: 'elastic',
  };
  for (const [bound, sense, value, outside] of [
    ['at-least', 'same', 0.05, true],
    ['at-least', 'either', 0, true],
    ['at-least', 'either', -0.06, true],
    ['at-most', 'same', 0.05, false],
    ['at-most', 'either', 0, false],
    ['at-most', 'either', -0.05, false],
    ['at-least', 'opposite', 0.05, false],
    ['at-most', 'opposite', 0.05, true],
  ]) {
    const r = R + (sense === 'opposite' ? -value : value);
    const m = moving('m', stone, [0.02, 0.01, r + (outside ? 0.04 : -0.04)], [1, 0, 0, 0], [0.1, 0.2, -0.1], [0, 0, 0]);
    const one = motion([ground, m], [], { a: 'm/center', b: 's/surface', bound, value, sense }, 1, 1000);
    const equal = { a: 'm/center', b: 's/center', bound: outside ? 'at-least' : 'at-most', value: r };
    const two = motion([{ ...ground, geometry: stone }, m], [], equal, 1, 1000);
    const apart = Math.max(...one.map((row, i) => Math.max(...row.map((x, k) => Math.abs(x - two[i][k])))));
    assert.ok(apart < 1e-9, `${bound} ${sense} ${value}: ${apart}`);
  }
});

test('a bound of a distance without sign from a free-form shape has a value above 0', () => {
  for (const [geometry, feature, other] of [
    [straight, 'curve', 'center'],
    [ball(0.1), 'surface', 'f'],
  ])
    for (const value of [0, -0.1]) {
      const scene = {
        format: 'guideway-scene/1',
        name: 'bound',
        objects: [
          { id: 's', geometry, pose: { p: [0, 0, 0], q: [1, 0, 0, 0] }, fixed: true },
          moving('m', { type: 'sphere', radius: 0.01 }, [0, 0, 1], [1, 0, 0, 0], [0, 0, 0], [0, 0, 0]),
        ],
        materials: [{ id: 'elastic', restitution: 1 }],
        features: [{ id: 'm/f', line: { point: [0, 0, 0], direction: [1, 0, 0] } }],
        constraints: [{ id: 'c', type: 'distance', a: `m/${other}`, b: `s/${feature}`, bound: 'at-least', value }],
      };
      const r = command(['run', '-', '--seconds', '0.01'], JSON.stringify(scene));
      assert.equal(r.code, 2);
      assert.match(r.err, /\/constraints\/0\/value: .*(has no sign|must be 0 or more)/);
    }
});

test('what rests on a bound lies still: flat, on its rim, in a groove, over a ring', () => {
  const circle = (r) => ({
    type: 'nurbs-curve',
    degree: 2,
    knots: [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    points: around.map((x, i) => [r * x, r * around[(i + 6) % 8], 0]),
    weights: around.map((_, i) => (i % 2 ? half : 1)),
  });
  const groove = {
    ...flat(1),
    knots: [
      [0, 0, 1, 2, 2],
      [0, 0, 1, 1],
    ],
    points: [-1, 0, 1].map((x) => [-1, 1].map((y) => [x, y, Math.abs(x)])),
  };
  const box = { type: 'box', size: [2, 2, 0.2] };
  const stone = { type: 'sphere', radius: 0.01 };
  for (const [name, body, feature, ground, on, value, from, height] of [
    ['a sheet on a plane', flat(0.3), 'surface', box, '+z', 0.1, 0.4, 0.2],
    ['a sheet on a sheet', flat(0.2), 'surface', flat(0.5), 'surface', 0.1, 0.3, 0.1],
    ['a ring on a plane', circle(0.2), 'curve', box, '+z', 0.05, 0.4, 0.15],
    ['a ring on a sheet', circle(0.2), 'curve', flat(0.5), 'surface', 0.1, 0.3, 0.1],
    ['a ball on a ring', ball(0.1), 'surface', circle(0.2), 'curve', 0.15, 0.45, 0.15],
    ['a point over a ring', stone, 'center', circle(0.2), 'curve', 0.25, 0.45, 0.15],
    ['a point in a groove', stone, 'center', groove, 'surface', 0.1, 0.4, 0.1 / half],
  ]) {
    const csv = join(scratch, 'free-form-rest.csv');
    const turns = feature !== 'center' && name !== 'a ball on a ring';
    const scene = {
      format: 'guideway-scene/1',
      name,
      gravity: [0, 0, -9.81],
      materials: [{ id: 'clay', restitution: 0 }],
      objects: [
        { id: 's', geometry: ground, pose: { p: [0, 0, 0], q: [1, 0, 0, 0] }, fixed: true, material: 'clay' },
        {
          ...moving('m', body, [0.01, 0, from], [1, 0, 0, 0], [0, 0, 0], turns ? [0.2, 0.1, 0] : [0, 0, 0]),
          body: { mass: 1, com: [0, 0, 0], inertia: [0.03, 0.03, 0.05, 0, 0, 0] },
          material: 'clay',
        },
      ],
      constraints: [{ id: 'c', type: 'distance', a: `m/${feature}`, b: `s/${on}`, bound: 'at-least', value }],
    };
    const r = command(['run', '-', '--seconds', '3', '--bodies', csv], JSON.stringify(scene));
    assert.equal(r.code, 0, r.err);
    const last = readFileSync(csv, 'utf8').trim().split('\n').at(-1).split(',').map(Number);
    assert.ok(Math.abs(last[3] - height) < (name === 'a ball on a ring' ? 1e-3 : 1e-4), `${name}: at ${last[3]}`);
    assert.ok(Math.abs(last[10]) < 1e-3, `${name}: ${last[10]} m/s`);
    assert.ok(Math.hypot(last[11], last[12]) < 1e-3, `${name}: ${last[11]}, ${last[12]} rad/s`);
  }
});

test('an angle to the normal or tangent of a free-form shape is bounded at the closest point', () => {
  const stone = { type: 'sphere', radius: 0.01 };
  const run = (objects, features, constraint) => {
    const csv = join(scratch, 'free-form-angle.csv');
    const scene = {
      format: 'guideway-scene/1',
      name: 'angle',
      materials: [{ id: 'elastic', restitution: 1 }],
      objects,
      features,
      constraints: [{ id: 'c', type: 'angle', bound: 'at-least', ...constraint }],
    };
    const r = command(['run', '-', '--seconds', '2', '--bodies', csv], JSON.stringify(scene));
    assert.equal(r.code, 0, r.err);
    const e = JSON.parse(r.out).energy;
    assert.ok(Math.abs(e.final - e.initial) < 1e-12, `${e.final - e.initial} J`);
    const rows = readFileSync(csv, 'utf8').trim().split('\n').slice(1);
    return rows.map((l) => l.split(',').slice(1, 14).map(Number));
  };
  const fixed = (geometry) => ({
    id: 's',
    geometry,
    pose: { p: [0, 0, 0], q: [1, 0, 0, 0] },
    fixed: true,
    material: 'elastic',
  });
  const f = { id: 'm/f', line: { point: [0.02, 0.01, 0], direction: [0.2, 0.3, 0.9] } };
  // a straight curve is a line
  const from = moving('m', stone, [0.1, 0.2, 0.4], [1, 0, 0, 0], [0.1, 0.2, 0.1], [0.5, -1, 0.7]);
  const along = { id: 's/f', line: { point: [0, 0, 0], direction: [1, 0, 0] } };
  const one = run([fixed(straight), from], [f], { a: 'm/f', b: 's/curve', value: 1.5, bound: 'at-most' });
  const two = run([fixed(stone), from], [f, along], { a: 'm/f', b: 's/f', value: 1.5, bound: 'at-most' });
  one.forEach((row, i) => row.forEach((x, k) => assert.ok(Math.abs(x - two[i][k]) < 1e-9)));
  assert.ok(two.some((row, i) => i > 0 && Math.abs(row[11] - two[i - 1][11]) > 0.1));
  // the normal of a ball goes through its centre: the moment of momentum about that is kept
  const cross = (a, b) => [0, 1, 2].map((i) => a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]);
  const turned = ([w, ...u], v) =>
    cross(
      u,
      cross(u, v).map((x, i) => x + w * v[i]),
    ).map((x, i) => v[i] + 2 * x);
  const { com, inertia, mass } = from.body;
  const [xx, yy, zz, xy, xz, yz] = inertia;
  const moment = (row) => {
    const [p, q, v, w] = [row.slice(0, 3), row.slice(3, 7), row.slice(7, 10), row.slice(10, 13)];
    const c = turned(q, com);
    const [a, b, d] = turned([q[0], -q[1], -q[2], -q[3]], w);
    const own = turned(q, [xx * a + xy * b + xz * d, xy * a + yy * b + yz * d, xz * a + yz * b + zz * d]);
    const turns = cross(w, c);
    return cross(
      p.map((x, i) => x + c[i]),
      v.map((x, i) => mass * (x + turns[i])),
    ).map((x, i) => x + own[i]);
  };
  const rows = run([fixed(ball(0.15)), from], [f], { a: 'm/f', b: 's/surface', value: 0.6 });
  const before = moment(rows[0]);
  for (const row of rows) moment(row).forEach((x, i) => assert.ok(Math.abs(x - before[i]) < 1e-12));
  const least = Math.min(
    ...rows.map((row) => {
      const at = turned(row.slice(3, 7), f.line.point).map((x, i) => x + row[i]);
      const d = turned(row.slice(3, 7), f.line.direction);
      return Math.asin(at.reduce((sum, x, i) => sum + x * d[i], 0) / Math.hypot(...at) / Math.hypot(...d));
    }),
  );
  assert.ok(least > 0.6 - 1e-6 && least < 0.62, `${least} rad`);
});
