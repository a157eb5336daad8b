// Velocities that joints do not allow are projected in the mass metric of all bodies at once: v minimises the kinetic
// energy of the change, 1/2 (v - v0)^T M (v - v0), under the rows J v = b of joints and of stated joint velocities.
// Compared with the dense solution of [M J^T; J 0] [v; lambda] = [M v0; b].
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, cross, run } from './headless.mjs';
import { generator } from './random.mjs';
import { near } from './running.mjs';

const matrix = ([w, x, y, z]) => [
  [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
  [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
  [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
];
const times = (m, v) => m.map((row) => row.reduce((sum, x, i) => sum + x * v[i], 0));
const turned = (m) => m[0].map((_, i) => m.map((row) => row[i]));
const product = ([a, b, c, d], [w, x, y, z]) => [
  a * w - b * x - c * y - d * z,
  a * x + b * w + c * z - d * y,
  a * y - b * z + c * w + d * x,
  a * z + b * y - c * x + d * w,
];

// Gauss and Jordan with row pivots.
function solve(a, b) {
  const rows = a.map((row, i) => [...row, b[i]]);
  for (let k = 0; k < rows.length; k++) {
    const best = rows.reduce((most, row, i) => (i > k && Math.abs(row[k]) > Math.abs(rows[most][k]) ? i : most), k);
    [rows[k], rows[best]] = [rows[best], rows[k]];
    for (let i = 0; i < rows.length; i++) {
      const factor = i === k ? 0 : rows[i][k] / rows[k][k];
      if (factor) for (let j = k; j <= rows.length; j++) rows[i][j] -= factor * rows[k][j];
    }
  }
  return rows.map((row, i) => row[rows.length] / row[i]);
}

// The joint's freedoms: components of the relative twist [v; w] in the joint's frame, in the order of its coordinates.
const freedoms = { revolute: [5], prismatic: [2], cylindrical: [2, 5], spherical: [3, 4, 5], planar: [0, 1, 5] };
const types = Object.keys(freedoms);

// Bodies in series from the world, every second joint with a stated velocity; `closed`: a ball joint from the last
// body to the world closes a loop, and no velocity is stated.
function scene(seed, count, closed) {
  const { random, pick } = generator(seed),
    next = () => 2 * random() - 1,
    some = (scale) => [next() * scale, next() * scale, next() * scale];
  const quaternion = () => {
    const q = [next(), next(), next(), next()];
    return q.map((x) => x / Math.hypot(...q));
  };
  const bodies = Array.from({ length: count }, (_, i) => {
    const points = Array.from({ length: 6 }, () => some(0.3)),
      mass = 1 + 0.8 * next();
    const com = [0, 1, 2].map((k) => points.reduce((sum, p) => sum + p[k] / 6, 0));
    const tensor = [0, 1, 2].map((r) =>
      [0, 1, 2].map((c) =>
        points.reduce((sum, p) => {
          const d = add(p, com, -1);
          return sum + (mass / 6) * ((r === c ? d.reduce((s, x) => s + x * x, 0) : 0) - d[r] * d[c]);
        }, 0),
      ),
    );
    return { id: `b${i}`, p: some(0.5), q: quaternion(), v: some(1), w: some(2), mass, com, tensor };
  });
  const joints = [];
  const join = (i, parent, type, velocity) => {
    const p = some(0.5),
      q = quaternion();
    const end = (k) => {
      if (k < 0) return { object: 'world', at: { p, q } };
      const [w, ...u] = bodies[k].q;
      return {
        object: bodies[k].id,
        at: {
          p: times(turned(matrix(bodies[k].q)), add(p, bodies[k].p, -1)),
          q: product([w, ...u.map((x) => -x)], q),
        },
      };
    };
    joints.push({ i, parent, type, velocity, p, q, a: end(i), b: end(parent) });
  };
  for (let i = 0; i < count; i++) {
    const type = pick(types);
    join(i, i - 1, type, !closed && i % 2 ? freedoms[type].map(() => next()) : undefined);
  }
  if (closed) join(count - 1, -1, 'spherical');
  return { bodies, joints };
}

function dense({ bodies, joints }) {
  const n = 6 * bodies.length,
    mass = Array.from({ length: n }, () => new Array(n).fill(0)),
    v0 = bodies.flatMap((b) => [...b.v, ...b.w]);
  bodies.forEach((b, k) => {
    const r = matrix(b.q),
      c = times(r, b.com);
    for (let j = 0; j < 6; j++) {
      const unit = [0, 1, 2, 3, 4, 5].map((i) => (i === j ? 1 : 0)),
        w = unit.slice(3);
      const f = add(unit.slice(0, 3), cross(w, c)).map((x) => x * b.mass); // of the centre of mass
      const t = add(times(r, times(b.tensor, times(turned(r), w))), cross(c, f));
      [...f, ...t].forEach((x, i) => {
        mass[6 * k + i][6 * k + j] = x;
      });
    }
  });
  const rows = [],
    right = [];
  for (const { i, parent, type, velocity, p, q } of joints) {
    const back = turned(matrix(q)),
      at = freedoms[type];
    const relative = new Array(6).fill(0);
    velocity?.forEach((x, k) => {
      relative[at[k]] = x;
    });
    for (let m = 0; m < 6; m++) {
      if (!velocity && at.includes(m)) continue;
      const row = new Array(n).fill(0);
      for (const [k, sign] of [
        [i, 1],
        [parent, -1],
      ])
        for (let j = 0; j < 6 && k >= 0; j++) {
          const unit = [0, 1, 2, 3, 4, 5].map((l) => (l === j ? 1 : 0));
          const v = add(unit.slice(0, 3), cross(unit.slice(3), add(p, bodies[k].p, -1)));
          row[6 * k + j] += sign * [...times(back, v), ...times(back, unit.slice(3))][m];
        }
      rows.push(row);
      right.push(relative[m]);
    }
    if (!velocity) continue; // the joint carries its body with its parent, whatever velocity is stated for the body
    const w = times(matrix(q), relative.slice(3)),
      v = add(times(matrix(q), relative.slice(0, 3)), cross(w, add(bodies[i].p, p, -1)));
    const [pv, pw] =
      parent < 0 ? [v, w] : [v0.slice(6 * parent, 6 * parent + 3), v0.slice(6 * parent + 3, 6 * parent + 6)];
    const to =
      parent < 0
        ? [...v, ...w]
        : [...add(add(pv, cross(pw, add(bodies[i].p, bodies[parent].p, -1))), v), ...add(pw, w)];
    v0.splice(6 * i, 6, ...to);
  }
  const all = [
    ...mass.map((row, i) => [...row, ...rows.map((r) => r[i])]),
    ...rows.map((r) => [...r, ...rows.map(() => 0)]),
  ];
  return solve(all, [...times(mass, v0), ...right]).slice(0, n);
}

for (const closed of [false, true])
  for (let seed = 1; seed <= 6; seed++)
    test(`velocities of ${closed ? 'a loop' : 'a chain with driven joints'} are projected all at once, seed ${seed}`, () => {
      const of = scene(seed, 3 + (seed % 3), closed),
        want = dense(of);
      const answer = run(
        {
          objects: of.bodies.map(({ id, p, q, v, w, mass, com, tensor: t }) => ({
            id,
            free: true,
            geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
            pose: { p, q },
            velocity: { v, w },
            body: { mass, com, inertia: [t[0][0], t[1][1], t[2][2], t[0][1], t[0][2], t[1][2]] },
          })),
          joints: of.joints.map(({ type, velocity, a, b }, i) => ({ id: `j${i}`, type, a, b, velocity })),
        },
        0.001,
      );
      const size = Math.max(1, ...want.map(Math.abs));
      of.bodies.forEach(({ id }, k) => {
        [...answer.v(0, id), ...answer.w(0, id)].forEach((x, i) => near(x / size, want[6 * k + i] / size, 1e-12));
      });
      assert.ok(Number.isFinite(answer.summary.energy.initial));
    });
