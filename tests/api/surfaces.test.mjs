// Free-form curves and surfaces: problems, scenes, refusals.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { command, scratch, solve } from './command.mjs';
import { guideway, request, root, sanitized, sleep, start, stream, until } from './server.mjs';

// The paraboloid z = x^2 - y^2 over -1 .. 1, biquadratic: one exact Bezier patch.
const bend = [1, -1, 1]; // of t^2 over -1 .. 1
const saddle = {
  degree: [2, 2],
  knots: [
    [0, 0, 0, 1, 1, 1],
    [0, 0, 0, 1, 1, 1],
  ],
  points: [-1, 0, 1].map((x, i) => [-1, 0, 1].map((y, j) => [x, y, bend[i] - bend[j]])),
};
const off = ([x, y, z]) => Math.abs(z - (x * x - y * y));
// Sheets for what lies on them or in them: flat, a half tube along y and half a ball, open upwards.
const half = Math.SQRT1_2;
const flatSheet = {
  type: 'nurbs-surface',
  degree: [1, 1],
  knots: [
    [0, 0, 1, 1],
    [0, 0, 1, 1],
  ],
  points: [-0.5, 0.5].map((x) => [-0.5, 0.5].map((y) => [x, y, 0])),
};
const halfTube = (r, length) => ({
  type: 'nurbs-surface',
  degree: [2, 1],
  knots: [
    [0, 0, 0, 0.5, 0.5, 1, 1, 1],
    [0, 0, 1, 1],
  ],
  points: [
    [-r, 0],
    [-r, -r],
    [0, -r],
    [r, -r],
    [r, 0],
  ].map(([x, z]) => [-0.5, 0.5].map((y) => [x, length * y, z])),
  weights: [1, half, 1, half, 1].map((w) => [w, w]),
});
const halfBall = (r) => {
  const around = [1, 1, 0, -1, -1, -1, 0, 1, 1];
  const w = [1, half, 1];
  return {
    type: 'nurbs-surface',
    degree: [2, 2],
    knots: [
      [0, 0, 0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1, 1, 1],
      [0, 0, 0, 1, 1, 1],
    ],
    points: around.map((x, i) => {
      const y = around[(i + 6) % 8];
      return [
        [r * x, r * y, 0],
        [r * x, r * y, -r],
        [0, 0, -r],
      ];
    }),
    weights: around.map((_, i) => w.map((v) => v * (i % 2 ? half : 1))),
  };
};
// A point of the body in the world.
function moved({ p, q: [w, x, y, z] }, [a, b, c]) {
  const t = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [
    p[0] + a + w * t[0] + y * t[2] - z * t[1],
    p[1] + b + w * t[1] + z * t[0] - x * t[2],
    p[2] + c + w * t[2] + x * t[1] - y * t[0],
  ];
}

test('a point on a surface keeps its three rotations', () => {
  const s = solve({
    mobile: { pose: { p: [0.2, -0.1, 0.4] } },
    samples: 20,
    constraints: [{ type: 'coincident', mobile: { point: [0.1, 0.2, 0] }, fixed: { surface: saddle } }],
  });
  assert.equal(s.status, 'solved');
  assert.equal(s.method, 'closed-form');
  assert.equal(s.dof, 5);
  const [b] = s.branches;
  assert.equal(b.rotation.kind, 'free');
  assert.equal(b.translation.kind, 'surface');
  assert.deepEqual(b.translation.element, { constraint: 'c1', side: 'fixed' });
  assert.deepEqual(
    b.parameters.slice(3).map((p) => [p.name, p.range]),
    [
      ['u', [0, 1]],
      ['v', [0, 1]],
    ],
  );
  for (const { pose } of b.samples) assert.ok(off(moved(pose, [0.1, 0.2, 0])) < 1e-12);
  assert.ok(off(moved(b.nearest.pose, [0.1, 0.2, 0])) < 1e-12);
});

test('a distance from a surface is along its normal, with its sign', () => {
  for (const value of [0.1, -0.1]) {
    const s = solve({
      mobile: { pose: { p: [0, 0, 0.4] } },
      samples: 20,
      constraints: [
        { type: 'distance', value, mobile: { point: [0, 0, 0] }, fixed: { surface: saddle } },
        {
          type: 'parallel',
          sense: 'same',
          mobile: { line: { point: [0, 0, 0], direction: [0, 0, 1] } },
          fixed: { line: { point: [0, 0, 0], direction: [0, 0, 1] } },
        },
      ],
    });
    assert.equal(s.dof, 3);
    for (const { pose, parameters } of s.branches[0].samples) {
      const [x, y] = parameters.slice(1).map((t) => 2 * t - 1);
      const n = [-2 * x, 2 * y, 1],
        l = Math.hypot(...n);
      const expected = [x, y, x * x - y * y].map((e, i) => e + (value * n[i]) / l);
      pose.p.forEach((e, i) => assert.ok(Math.abs(e - expected[i]) < 1e-12));
    }
  }
});

// Over the saddle n = (-2x, 2y, 1) / |..|, so that n . e_x is at most 2 / sqrt(5), and z is within -1 .. 1.
test('what no point of a surface allows is refused with its bound', () => {
  const origin = [0, 0, 0];
  const axis = (direction) => ({ line: { point: origin, direction } });
  const level = (z) => ({ plane: { point: [0, 0, z], normal: [0, 0, 1] } });
  const wall = (d) => ({ plane: { point: origin, normal: [d, 1 - d, 0] } });
  const seen = { point: origin };
  const on = { id: 'on', type: 'coincident', mobile: seen, fixed: { surface: saddle } };
  const along = { id: 'on', type: 'normal', sense: 'same', mobile: axis([0, 0, 1]), fixed: { surface: saddle } };
  const held = { id: 'on', type: 'normal', sense: 'same', mobile: { surface: saddle }, fixed: axis([0, 0, 1]) };
  const lean = Math.acos(2 / Math.sqrt(5));
  const turn = (value) => ({ id: 'x', type: 'angle', value, mobile: axis([0, 0, 1]), fixed: axis([1, 0, 0]) });
  const back = (value) => ({ id: 'x', type: 'angle', value, mobile: axis([1, 0, 0]), fixed: axis([0, 0, 1]) });
  const high = (value) => ({ id: 'x', type: 'distance', value, mobile: seen, fixed: level(0) });
  const far = (z) => ({ id: 'x', type: 'coincident', mobile: { point: [0, 0, 0.5] }, fixed: { point: [0, 0, z] } });
  let offsetToSide = Infinity; // of points 0.5 above the saddle along n, from (0, 4, 0)
  for (let i = -1000; i <= 1000; i++) {
    const x = i / 1000;
    const to = 0.5 / Math.hypot(2 * x, 2, 1);
    offsetToSide = Math.min(offsetToSide, Math.hypot(x - 2 * x * to, 2 * to - 3, x * x - 1 + to));
  }
  for (const [relation, other, name, asked, bound] of [
    [along, turn(0.3), 'least', 0.3, lean],
    [along, turn(2.8), 'most', 2.8, Math.PI - lean],
    [held, back(0.3), 'least', 0.3, lean],
    [{ ...along, sense: 'either' }, turn(0.3), 'least', 0.3, lean],
    [along, { ...turn(0), type: 'parallel', sense: 'opposite' }, 'most', Math.PI, Math.PI - lean],
    [along, { ...turn(0), type: 'parallel' }, 'least', 0, lean], // either sense
    [along, { ...turn(0), type: 'parallel', fixed: axis([-1, 0, 0]) }, 'least', 0, lean],
    [on, high(1.5), 'most', 1.5, 1],
    [on, high(-1.5), 'least', -1.5, -1],
    [on, { ...high(0), type: 'coincident', fixed: level(1.5) }, 'most', 0, -0.5],
    [on, far(3), 'least', 0, Math.hypot(1, 2) - 0.5],
    [along, { ...far(0), fixed: { point: [0, 4, 0] } }, 'least', 0, offsetToSide],
    [{ ...along, fixed: { surface: halfBall(1) } }, { ...turn(2.9), fixed: axis([0, 0, 1]) }, 'most', 2.9, Math.PI / 2],
  ]) {
    const s = solve({ mobile: {}, constraints: [relation, other] });
    const what = JSON.stringify([other, s.conflict, s.reason]);
    assert.equal(s.status, 'incompatible', what);
    assert.deepEqual(s.conflict.constraints, ['on', 'x']);
    assert.ok(Math.abs(s.conflict.values.asked - asked) < 1e-12, what);
    assert.ok(Math.abs(s.conflict.values[name] - bound) < 1e-5, what);
  }
  const message = solve({ mobile: {}, constraints: [along, turn(0.3)] }).conflict.message;
  assert.match(message, /Wherever on holds, the angle of x is at least 26.5651 degrees; 17.1887 degrees are asked/);
  // two that each have points: z = 0.5 where y = 0, and z = -y^2 where x = 0
  const wide = { id: 'wall', type: 'coincident', mobile: seen, fixed: wall(1) };
  const up = { ...high(0.5), id: 'up' };
  assert.equal(solve({ mobile: {}, constraints: [on, up] }).status, 'solved');
  assert.equal(solve({ mobile: {}, constraints: [on, wide] }).status, 'solved');
  const both = solve({ mobile: {}, constraints: [on, wide, up] });
  assert.equal(both.status, 'incompatible');
  assert.deepEqual(both.conflict.constraints, ['on', 'wall', 'up']);
  // and two that need different turns: x + 0.2 cos t = 0.65 and x - 0.2 sin t = 0.65, x <= 0.5
  const flat = { ...along, fixed: { surface: flatSheet } };
  const reach = (id, point) => ({
    id,
    type: 'coincident',
    mobile: { point },
    fixed: { plane: { point: [0.65, 0, 0], normal: [1, 0, 0] } },
  });
  const [front, side] = [reach('front', [0.2, 0, 0]), reach('side', [0, 0.2, 0])];
  assert.equal(solve({ mobile: {}, constraints: [flat, front] }).status, 'solved');
  assert.equal(solve({ mobile: {}, constraints: [flat, side] }).status, 'solved');
  const turned = solve({ mobile: {}, constraints: [flat, front, side] });
  assert.deepEqual([turned.status, turned.conflict?.constraints], ['incompatible', ['on', 'front', 'side']]);
  assert.ok(Math.abs(turned.conflict.values.most - (0.5 + 0.2 * half - 0.65)) < 1e-3);
  assert.match(both.conflict.message, /At the best place for on, wall and up, the distance of up is/);
});

test('the nearest offset from beyond an edge is the nearest one of all', () => {
  const value = 0.2;
  const offset = (x, y) => {
    const n = [-2 * x, 2 * y, 1].map((e) => (value * e) / Math.hypot(2 * x, 2 * y, 1));
    return [x + n[0], y + n[1], x * x - y * y + n[2]];
  };
  for (const p of [
    [1.5, 0.4, 1.2],
    [-0.3, 1.6, -0.2],
    [0.7, -1.4, 0.5],
    [1.6, 1.3, 0.3],
  ]) {
    const s = solve({
      mobile: { pose: { p } },
      constraints: [{ type: 'distance', value, mobile: { point: [0, 0, 0] }, fixed: { surface: saddle } }],
    });
    let least = Infinity;
    for (let i = -2000; i <= 2000; i++)
      for (const at of [offset(i / 2000, 1), offset(i / 2000, -1), offset(1, i / 2000), offset(-1, i / 2000)])
        least = Math.min(least, Math.hypot(...at.map((e, k) => e - p[k])));
    const { distance } = s.branches[0].nearest;
    assert.ok(Math.abs(distance - least) < 1e-6, `${distance}, ${least} from ${p}`);
  }
});

test('the nearest offset from above the apex of a cone is at its end, without a turn', () => {
  const [R, h, d] = [0.2, 0.3, 0.05];
  const around = [1, 1, 0, -1, -1, -1, 0, 1, 1];
  const cone = {
    degree: [2, 1],
    knots: [
      [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
      [0, 0, 1, 1],
    ],
    points: around.map((x, i) => [
      [R * x, R * around[(i + 6) % 8], 0],
      [0, 0, h],
    ]),
    weights: around.map((_, i) => (i % 2 ? [half, half] : [1, 1])),
  };
  const n = [h, R].map((x) => x / Math.hypot(h, R));
  for (const p of [
    [-0.024, 0.049, 0.437],
    [0.068, 0.046, 0.429],
    [0.11, 0.04, 0.543],
    [-0.047, 0.013, 0.359],
    [-0.128, -0.073, 0.529],
  ]) {
    const s = solve({
      mobile: { pose: { p, q: [1, 0, 0, 0] }, length: 0.1 },
      constraints: [{ id: 'c', type: 'distance', value: d, mobile: { point: [0, 0, 0] }, fixed: { surface: cone } }],
    });
    const best = Math.hypot(Math.hypot(p[0], p[1]) - d * n[0], p[2] - h - d * n[1]);
    const { distance } = s.branches[0].nearest;
    assert.ok(Math.abs(distance - best) < 1e-6, `${p}: ${distance}, not ${best}`);
  }
});

test('an offset at the focal distance is refused with its number', () => {
  const { type: _, ...ball } = halfBall(0.5);
  const problem = (type, value) => ({
    mobile: { pose: { p: [0.1, 0.05, -0.2], q: [1, 0, 0, 0] } },
    constraints: [
      {
        type,
        value,
        mobile: type === 'normal' ? { line: { point: [0, 0, 0], direction: [0, 0, 1] } } : { point: [0, 0, 0] },
        fixed: { surface: ball },
      },
    ],
  });
  for (const type of ['normal', 'distance'])
    for (const share of [1, 1 - 1e-15, 1 + 1e-15, 1 - 1e-12, 1 - 1e-8, 1 - 1e-6, 1 + 1e-6]) {
      const { code, err } = command(['solve', '-'], JSON.stringify(problem(type, 0.5 * share)));
      assert.equal(code, 2, `${type} ${share}`);
      assert.match(err, /\/constraints\/0\/value: .* 0\.\d* m is at the focal distance, 0\.5 m/);
    }
  assert.equal(solve(problem('normal', 0.5 * (1 - 1e-4))).dof, 3);
  assert.equal(solve(problem('distance', 0.5 * (1 - 1e-4))).dof, 5);
});

// Nowhere within a flat ellipsoid is the surface farther than its least half axis, though its focal distance is more.
test('an offset that no point within a flat surface has is refused in words of its own', () => {
  const made = command(['surface', '-'], JSON.stringify({ convert: { type: 'ellipsoid', semi_axes: [1, 0.6, 0.2] } }));
  const { type: _, ...flat } = JSON.parse(made.out).geometry;
  const within = (value) =>
    solve({
      mobile: { pose: { p: [0.3, 0.1, 0.02], q: [1, 0, 0, 0] } },
      constraints: [{ type: 'distance', value, mobile: { point: [0, 0, 0] }, fixed: { surface: flat } }],
    });
  assert.equal(within(-0.19).dof, 5);
  for (const value of [-0.21, -0.4]) {
    const { status, reason } = within(value);
    assert.equal(status, 'unhandled');
    assert.match(reason, /stated distance along the surface's normal: .* another part of the surface is nearer/);
  }
});

test('a trimmed surface gives its parameters between its trims', () => {
  const s = solve({
    mobile: { pose: { p: [0.9, 0, 0.9], q: [1, 0, 0, 0] } },
    samples: 20,
    constraints: [
      {
        type: 'coincident',
        mobile: { point: [0, 0, 0] },
        fixed: { surface: { ...saddle, trim: [[0.25, 0.8], null] } },
      },
    ],
  });
  const [b] = s.branches;
  assert.deepEqual(
    b.parameters.slice(3).map((p) => p.range),
    [
      [0.25, 0.8],
      [0, 1],
    ],
  );
  assert.ok(Math.abs(b.nearest.pose.p[0] - 0.6) < 1e-9, 'the nearest point lies at the trim');
  for (const { pose } of b.samples) assert.ok(pose.p[0] >= -0.5 && pose.p[0] <= 0.6 && off(pose.p) < 1e-12);
});

test('the body may own the curve', () => {
  const curve = {
    degree: 1,
    knots: [0, 0, 1, 2, 2],
    points: [
      [0, 0, 0],
      [1, 0, 0],
      [1, 1, 0],
    ],
    weights: [1, 2, 1],
  };
  const s = solve({
    mobile: { pose: { p: [0, 0.3, 0.2] } },
    constraints: [{ type: 'coincident', mobile: { curve }, fixed: { point: [0.5, 0.5, 0] } }],
  });
  assert.equal(s.dof, 4);
  assert.equal(s.branches[0].translation.kind, 'curve');
  assert.equal(s.branches[0].translation.in, 'mobile');
  assert.equal(s.branches[0].translation.element.side, 'mobile');
  assert.equal(s.branches[0].parameters.at(-1).name, 's');
});

test('a point on a free-form shape keeps two angles, at its nearest pose of all', () => {
  const curve = {
    degree: 3,
    knots: [0, 0, 0, 0, 0.5, 1, 1, 1, 1],
    points: [
      [-1, 0.4, 0],
      [-0.6, -0.8, 0.5],
      [0, 0.9, -0.4],
      [0.5, -0.7, 0.6],
      [1, 0.3, 0.2],
    ],
  };
  const line = (direction) => ({ line: { point: [0, 0, 0], direction } });
  const cosine = (a, b) => a.reduce((sum, e, i) => sum + e * b[i], 0) / Math.hypot(...a) / Math.hypot(...b);
  const turned = (pose, v) => moved({ p: [0, 0, 0], q: pose.q }, v);
  const angles = [
    [[1, 0.2, 0.4], [0.9, -0.1, -0.4], 1.2],
    [[-0.3, 0.9, 0.3], [0.9, 0.4, 0.1], 0.9],
  ];
  const pose = { p: [0.3, 0.5, -0.2], q: [0.5, 0.5, -0.5, 0.5] };
  const point = [0.7, -0.3, 0.5];
  for (const shape of [{ surface: saddle }, { curve }])
    for (const owns of [false, true]) {
      const problem = {
        mobile: { pose },
        samples: 12,
        constraints: [
          owns
            ? { type: 'coincident', mobile: shape, fixed: { point } }
            : { type: 'coincident', mobile: { point }, fixed: shape },
          ...angles.map(([u, f, value]) => ({ type: 'angle', value, mobile: line(u), fixed: line(f) })),
        ],
      };
      const s = solve(problem);
      assert.equal(s.method, 'closed-form');
      assert.equal(s.dof, shape.surface ? 3 : 2);
      for (const b of s.branches) {
        assert.equal(b.rotation.kind, 'two-angles');
        for (const at of [b.nearest, ...b.samples]) {
          for (const [u, f, value] of angles)
            assert.ok(Math.abs(Math.acos(cosine(turned(at.pose, u), f)) - value) < 1e-9);
          if (shape.surface && !owns) assert.ok(off(moved(at.pose, point)) < 1e-9);
        }
        // no pose is nearer, of a grid over the branch and of finer ones about its best
        const far = ({ p, q }) => {
          const half = Math.min(1, Math.abs(q.reduce((sum, e, i) => sum + e * pose.q[i], 0)));
          return Math.hypot(...p.map((e, i) => e - pose.p[i]), 2 * Math.acos(half));
        };
        assert.ok(Math.abs(far(b.nearest.pose) - b.nearest.distance) < 1e-7);
        let middle = b.parameters.map(({ range }) => (range[0] + range[1]) / 2);
        let half = b.parameters.map(({ range }) => (range[1] - range[0]) / 2);
        const counts = shape.surface ? [10, 5, 5] : [25, 10];
        for (let round = 0; round < 6; round++) {
          const steps = counts.map((count, k) =>
            Array.from({ length: count }, (_, i) => {
              const { range } = b.parameters[k];
              const z = middle[k] + half[k] * ((2 * i) / (count - 1) - 1);
              return Math.min(range[1], Math.max(range[0], z));
            }),
          );
          const parameters = steps.reduce((all, more) => all.flatMap((z) => more.map((e) => [...z, e])), [[]]);
          const at = solve({ ...problem, samples: 0, at: { branch: b.id, parameters } });
          const samples = at.branches.find((c) => c.id === b.id).samples;
          assert.equal(samples.length, parameters.length);
          const distances = samples.map((x) => far(x.pose));
          const least = Math.min(...distances);
          assert.ok(least > b.nearest.distance - 1e-9, `${least} < ${b.nearest.distance}`);
          middle = parameters[distances.indexOf(least)];
          half = half.map((h, k) => (round ? h / 3 : (2 * h) / (counts[k] - 1)));
          if (round === 5) assert.ok(least < b.nearest.distance + 1e-3, `${least} > ${b.nearest.distance}`);
        }
      }
    }
});

// Constraints that a hidden pose satisfies, on the saddle and on a curve: both directions of ownership.
function planted(seed) {
  let state = seed;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const between = (low, high) => low + (high - low) * random();
  const q = [0, 0, 0, 0].map(() => between(-1, 1));
  const length = Math.hypot(...q);
  const pose = { p: [0, 0, 0].map(() => between(-0.5, 0.5)), q: q.map((e) => e / length) };
  const back = { p: [0, 0, 0], q: pose.q.map((e, i) => (i ? -e : e)) };
  const toBody = (x) =>
    moved(
      back,
      x.map((e, i) => e - pose.p[i]),
    );
  const onSaddle = () => {
    const [x, y] = [between(-0.9, 0.9), between(-0.9, 0.9)];
    const n = [-2 * x, 2 * y, 1];
    return { point: [x, y, x * x - y * y], normal: n.map((e) => e / Math.hypot(...n)) };
  };
  const apart = () => {
    const [a, b] = [0, 1].map(() => [0, 0, 0].map(() => between(-0.5, 0.5)));
    const to = moved(pose, a);
    return {
      type: 'distance',
      value: Math.hypot(...to.map((e, i) => e - b[i])),
      mobile: { point: a },
      fixed: { point: b },
    };
  };
  const pointOn = () => ({
    type: 'coincident',
    mobile: { point: toBody(onSaddle().point) },
    fixed: { surface: saddle },
  });
  const underBody = () => ({
    type: 'coincident',
    mobile: { surface: saddle },
    fixed: { point: moved(pose, onSaddle().point) },
  });
  const nozzle = () => {
    const { point, normal } = onSaddle();
    const direction = moved(back, normal);
    return {
      type: 'normal',
      sense: 'same',
      value: 0.05,
      mobile: { line: { point: toBody(point.map((e, i) => e + 0.05 * normal[i])), direction } },
      fixed: { surface: saddle },
    };
  };
  return { pose, apart, pointOn, underBody, nozzle };
}
const solveFrom = (constraints, pose) =>
  solve({ mobile: { pose }, samples: 3, constraints: constraints.map((c, i) => ({ id: `c${i}`, ...c })) });
function offOf(c, pose) {
  if (c.fixed.surface && c.mobile.point) return off(moved(pose, c.mobile.point));
  if (c.mobile.surface) {
    const d = c.fixed.point.map((e, i) => e - pose.p[i]);
    return off(moved({ p: [0, 0, 0], q: pose.q.map((e, i) => (i ? -e : e)) }, d));
  }
  if (c.type === 'distance')
    return Math.abs(Math.hypot(...moved(pose, c.mobile.point).map((e, i) => e - c.fixed.point[i])) - c.value);
  const { point, direction } = c.mobile.line;
  const to = moved({ p: [0, 0, 0], q: pose.q }, direction);
  return off(moved(pose, point).map((e, i) => e - c.value * to[i]));
}

test('sets on several surfaces are found, and nothing is called redundant that is not', () => {
  for (let seed = 1; seed <= 6; seed++) {
    const make = planted(seed);
    for (const [dof, constraints] of [
      [3, [make.pointOn(), make.pointOn(), make.apart()]],
      [2, [make.pointOn(), make.nozzle()]],
      [1, [make.underBody(), make.nozzle(), make.apart()]],
      [0, [make.nozzle(), make.nozzle()]],
    ]) {
      const s = solveFrom(constraints, { p: [0.1, 0.2, 0.3], q: [1, 0, 0, 0] });
      const kinds = constraints.map((c) => c.type).join();
      assert.equal(s.status, 'solved', `${seed} ${kinds}`);
      assert.equal(s.dof, dof, `${seed} ${kinds}`);
      assert.deepEqual(s.redundant, [], `${seed} ${kinds}`);
      for (const b of s.branches)
        for (const { pose } of [b.nearest, ...b.samples])
          for (const c of constraints) assert.ok(offOf(c, pose) < 1e-8, `${seed} ${kinds}: ${c.type}`);
    }
    // stated twice, it is
    const point = make.pointOn();
    const twice = solveFrom([point, make.apart(), point], { p: [0, 0, 0], q: [1, 0, 0, 0] });
    assert.deepEqual(
      twice.redundant.map((r) => r.id),
      ['c2'],
    );
  }
});

test('bad shapes are refused at their member', () => {
  const refused = (surface, where) => {
    const r = command(
      ['solve', '-'],
      JSON.stringify({ constraints: [{ type: 'coincident', mobile: { point: [0, 0, 0] }, fixed: { surface } }] }),
    );
    assert.equal(r.code, 2);
    assert.ok(r.err.includes(`/constraints/0/fixed/surface${where}:`), r.err);
  };
  refused({ ...saddle, degree: [2, 12] }, '/degree/1');
  refused({ ...saddle, knots: [saddle.knots[0], [0, 0, 0, 1, 1]] }, '/knots/1');
  refused({ ...saddle, knots: [[0, 0, 0, 1, 1, 0.5], saddle.knots[1]] }, '/knots/0/5');
  refused({ ...saddle, points: [saddle.points[0], saddle.points[1], [[0, 0, 0]]] }, '/points/2');
  refused(
    {
      ...saddle,
      weights: [
        [1, 1, 1],
        [1, 0, 1],
        [1, 1, 1],
      ],
    },
    '/weights/1/1',
  );
  // a line, and a curve: no area
  refused({ ...saddle, points: [-1, 0, 1].map((x) => [-1, 0, 1].map((y) => [2 * x + y, 0, 0])) }, '/points');
  refused({ ...saddle, points: [0, 0, 0].map(() => [-1, 0, 1].map((y) => [y, y * y, 0])) }, '/points');
  refused({ ...saddle, trim: [null, [0.5, 1.25]] }, '/trim/1');
  refused({ ...saddle, trim: [[0.5], null] }, '/trim/0');
  refused({ ...saddle, trim: [0.5, 1] }, '/trim/0');
  const angle = command(
    ['solve', '-'],
    JSON.stringify({
      constraints: [
        { type: 'angle', mobile: { plane: { point: [0, 0, 0], normal: [0, 0, 1] } }, fixed: { surface: saddle } },
      ],
    }),
  );
  assert.equal(angle.code, 2);
  assert.match(angle.err, /takes a point/);
});

// A probe that a hand pushes along x and y over the saddle.
const probed = (trim) => ({
  format: 'guideway-scene/1',
  name: 'saddle',
  objects: [
    { id: 'saddle', geometry: { type: 'nurbs-surface', ...saddle, ...(trim && { trim }) }, fixed: true },
    {
      id: 'probe',
      geometry: { type: 'sphere', radius: 0.02 },
      pose: { p: [0, 0, 0.1], q: [1, 0, 0, 0] },
      body: { mass: 1 },
    },
  ],
  constraints: [{ id: 'c1', type: 'coincident', a: 'probe/center', b: 'saddle/surface' }],
  tool: { object: 'probe', device: 'sim' },
  devices: [
    {
      id: 'sim',
      driver: 'sim',
      operator: { type: 'wrench', samples: [{ t: 0, force: [0.8, 0.3, 0], torque: [0, 0, 0] }] },
    },
  ],
});

for (const { what, trim, end } of [
  { what: 'edge', end: 1 },
  { what: 'trim', trim: [[0.25, 0.8], null], end: 0.6 },
])
  test(`a held body slides on a surface, up to its ${what}`, () => {
    const file = join(scratch, 'saddle.json');
    const scene = probed(trim);
    writeFileSync(file, JSON.stringify(scene));
    const csv = join(scratch, 'saddle.csv');
    const r = command(['run', file, '--seconds', '3', '--csv', csv]);
    assert.equal(r.code, 0, r.err);
    const summary = JSON.parse(r.out),
      e = summary.energy;
    assert.ok(summary.constraint_residual_max < 1e-12);
    assert.ok(Math.abs(e.final - e.initial - e.work_in + e.dissipated) < 1e-5);
    const rows = readFileSync(csv, 'utf8')
      .trim()
      .split('\n')
      .slice(1)
      .map((l) => l.split(',').map(Number));
    for (const [, x, y, z] of rows) {
      assert.ok(off([x, y, z]) < 1e-12);
      assert.ok(x <= end + 1e-12);
    }
    assert.ok(Math.abs(rows.at(-1)[1] - end) < 1e-9, `the ${what} stops it`);
    const moving = structuredClone(scene);
    delete moving.objects[0].fixed;
    writeFileSync(file, JSON.stringify(moving));
    const refused = command(['run', file, '--seconds', '1']);
    assert.equal(refused.code, 2);
    assert.match(refused.err, /\/objects\/0\/body: .*states its mass/);
  });

// The edges of the saddle's corners are not perpendicular: stopped at one, the probe is driven over the other.
test('a held body that is pushed into a corner lies still there', () => {
  const file = join(scratch, 'corner.json');
  const csv = join(scratch, 'corner.csv');
  const part = [
    [0.25, 0.8],
    [0.4, 0.6],
  ];
  const corners = [
    { force: [30, 30, 0], at: [1, 1] },
    { force: [-300, 150, 0], at: [-1, 1] },
    { force: [300, -300, 0], trim: part, at: [0.6, -0.2] },
  ];
  for (const { force, trim, at } of corners) {
    const scene = probed(trim);
    scene.devices[0].operator.samples[0].force = force;
    writeFileSync(file, JSON.stringify(scene));
    const r = command(['run', file, '--seconds', '2', '--csv', csv]);
    assert.equal(r.code, 0, r.err);
    const e = JSON.parse(r.out).energy;
    assert.ok(Math.abs(e.final - e.initial - e.work_in + e.dissipated) < 1e-9 * e.work_in);
    const last = readFileSync(csv, 'utf8').trim().split('\n').at(-1).split(',').map(Number);
    for (const k of [0, 1]) assert.ok(Math.abs(last[1 + k] - at[k]) < 1e-12, `at ${last.slice(1, 4)}`);
    assert.ok(Math.hypot(...last.slice(8, 11)) < 1e-12, `moves at ${last.slice(8, 11)} m/s`);
  }
});

test('surfaces are read as they were written, and may be replaced while one is felt', async () => {
  const server = await start();
  try {
    await request(
      server,
      'PUT',
      '/api/v1/scene',
      JSON.parse(readFileSync(new URL('../../scenes/probe-on-hood.json', import.meta.url))),
    );
    const scene = (await request(server, 'GET', '/api/v1/scene')).json;
    const again = JSON.parse(readFileSync(new URL('../../scenes/probe-on-hood.json', import.meta.url)));
    assert.deepEqual(scene.objects[0].geometry, again.objects[0].geometry);
    const edge = (await request(server, 'GET', '/api/v1/features/hood/u0')).json;
    assert.equal(edge.curve.degree, 3);
    const trim = [[0.25, 0.75], null];
    const part = { ...again.objects[0].geometry, trim };
    assert.equal((await request(server, 'PATCH', '/api/v1/objects/hood', { geometry: { trim } })).status, 200);
    assert.deepEqual((await request(server, 'GET', '/api/v1/objects/hood')).json.geometry, part);
    assert.deepEqual((await request(server, 'GET', '/api/v1/features/hood/v0')).json.curve.trim, trim[0]);
    assert.equal((await request(server, 'PATCH', '/api/v1/objects/hood', { geometry: { trim: null } })).status, 200);
    assert.deepEqual((await request(server, 'GET', '/api/v1/objects/hood')).json.geometry, again.objects[0].geometry);
    await request(server, 'PUT', '/api/v1/simulation', { state: 'running' });
    for (let k = 0; k < 10; k++) {
      const geometry = structuredClone(again.objects[0].geometry);
      geometry.points[2][2][2] += 0.002 * k;
      const r = await request(server, 'PATCH', '/api/v1/objects/hood', { geometry });
      assert.equal(r.status, 200, JSON.stringify(r));
    }
    const now = async () => (await request(server, 'GET', '/api/v1/simulation')).json;
    const higher = structuredClone(again.objects[0].geometry);
    for (const row of higher.points) for (const p of row) p[2] += 0.02;
    // how far the tip is from that surface, as the solver says
    const distance = async () => {
      const surface = { ...higher, type: undefined };
      const r = await request(server, 'POST', '/api/v1/solve', {
        mobile: { pose: (await now()).tools[0].pose },
        constraints: [{ id: 'c1', type: 'coincident', mobile: { point: [0, 0, 0.1] }, fixed: { surface } }],
      });
      return r.json.branches[0].nearest.distance;
    };
    assert.ok((await distance()) > 0.01);
    assert.equal((await request(server, 'PATCH', '/api/v1/objects/hood', { geometry: higher })).status, 200);
    const end = Date.now() + 30000;
    let far = 1;
    while (far > 1e-6 && Date.now() < end) far = await distance();
    assert.ok(far <= 1e-6, `the tip is on the surface that was put there: ${far} m off`);
    assert.equal((await now()).state, 'running');
    // the edge of what it slides on is told once it is there
    await request(server, 'PUT', '/api/v1/scene', {
      format: 'guideway-scene/1',
      name: 'edge',
      objects: [
        { id: 'saddle', geometry: { type: 'nurbs-surface', ...saddle }, fixed: true },
        {
          id: 'ball',
          geometry: { type: 'sphere', radius: 0.1 },
          pose: { p: [0, 0.9, -0.7], q: [1, 0, 0, 0] },
          free: true,
          body: { mass: 0.5 },
        },
      ],
      constraints: [{ id: 'c1', type: 'rolling', a: 'ball/surface', b: 'saddle/surface' }],
      gravity: [0, 0, -9.81],
    });
    await request(server, 'PUT', '/api/v1/simulation', { state: 'running' });
    const told = async () => JSON.stringify((await request(server, 'GET', '/api/v1/events')).json).includes('"edge"');
    for (let k = 0; k < 300 && !(await told()); k++) await new Promise((done) => setTimeout(done, 50));
    assert.ok(await told(), 'the edge is told');
  } finally {
    await server.stop();
  }
});

// Control points patched as fast as a page drags them, each patch sent when it is due, on few connections.
for (const [name, tip] of [
  ['probe-on-hood', [0, 0, 0.1]],
  ['nozzle-over-hood', [0, 0, 0.1]],
])
  test(`200 edits of control points a second: no jump, the branch kept (${name})`, async () => {
    const server = await start();
    const live = stream(server);
    try {
      await live.opened;
      const scene = JSON.parse(readFileSync(join(root, `scenes/${name}.json`)));
      // gently, so that it does not come to an edge, however long that takes
      for (const s of scene.devices[0].operator.samples) s.force = s.force.map((f) => 0.2 * f);
      await request(server, 'PUT', '/api/v1/scene', scene);
      live.send({ op: 'subscribe', stream: 'samples' });
      const { columns } = await live.wait('subscribed', (m) => m.stream === 'samples');
      await request(server, 'PUT', '/api/v1/simulation', { state: 'running' });
      const lifted = (k) => {
        const { geometry } = structuredClone(scene.objects[0]);
        for (const i of [2, 3]) for (const j of [2, 3]) geometry.points[i][j][2] += 0.01 * (1 - Math.cos(k / 40));
        return geometry;
      };
      const count = 600,
        began = performance.now(),
        replies = [];
      for (let k = 1; k <= count; k++) {
        await sleep(Math.max(0, began + 5 * k - performance.now()));
        replies.push(request(server, 'PATCH', '/api/v1/objects/hood', { geometry: lifted(k) }));
        if (k % 8 === 0) await replies.at(-8); // no more on the way than there are connections
      }
      for (const reply of replies) assert.equal((await reply).status, 200);
      const took = performance.now() - began;
      console.log(`# ${Math.round((1000 * count) / took)} edits a second`);
      // on what came there last, at the stated distance
      const { degree, knots, points } = (await request(server, 'GET', '/api/v1/objects/hood')).json.geometry;
      const off = (state) =>
        solve({
          mobile: { pose: state.tools[0].pose },
          constraints: [
            {
              type: 'distance',
              value: scene.constraints[0].value ?? 0,
              mobile: { point: tip },
              fixed: { surface: { degree, knots, points } },
            },
          ],
        }).branches[0].nearest.distance;
      await until('the tool on what was put there last', async () => {
        const s = (await request(server, 'GET', '/api/v1/simulation')).json;
        assert.equal(s.state, 'running');
        return off(s) < 1e-6;
      });
      const kinds = new Set((await request(server, 'GET', '/api/v1/events')).json.map((e) => e.kind));
      for (const kind of ['left-behind', 'limited', 'fault', 'energy', 'edge']) assert.ok(!kinds.has(kind), kind);
      const ticks = live.frames
        .filter((f) => f.type === 2)
        .flatMap((f) => f.rows.map((row, i) => ({ tick: f.first + i, row })));
      const at = (names) => names.map((n) => columns.indexOf(n));
      const changes = (names, bend) => {
        const most = { by: 0 };
        for (let i = 2; i < ticks.length; i++) {
          const [a, b, c] = ticks.slice(i - 2, i + 1);
          // the operator's own steps of force are felt as such
          if (c.tick !== a.tick + 2 || at(['fx', 'fy', 'fz', 'tx']).some((k) => Math.abs(c.row[k] - b.row[k]) > 0.01))
            continue;
          const by = Math.hypot(...at(names).map((k) => c.row[k] - (bend ? 2 : 1) * b.row[k] + (bend ? a.row[k] : 0)));
          if (by > most.by) Object.assign(most, { by, tick: c.tick });
        }
        return most;
      };
      assert.ok(ticks.length > 2500, `${ticks.length} ticks`);
      for (const [what, names, limit, bend] of [
        ['position, bent (m)', ['px', 'py', 'pz'], 2e-5, true],
        ['rotation, bent', ['qw', 'qx', 'qy', 'qz'], 1e-4, true],
        ['velocity (m/s)', ['vx', 'vy', 'vz'], 2e-2, false],
        ['constraint force (N)', ['lambda_f'], 0.5, false],
      ]) {
        const { by, tick } = changes(names, bend);
        assert.ok(by < limit, `${what}: ${by} at tick ${tick}`);
      }
    } finally {
      await live.close();
      await server.stop();
    }
  });

test('control points that are accepted while it runs can be opened from a file', async () => {
  const server = await start();
  try {
    const scene = JSON.parse(readFileSync(join(root, 'scenes/contact-freedoms.json')));
    const put = (what) => request(server, 'PUT', '/api/v1/scene', what);
    const stated = async () => (await request(server, 'GET', '/api/v1/scene')).json;
    // one corner folded over to the other side, and one moved a little
    for (const [i, j, point] of [
      [2, 0, [-0.3, 0.3, 0.06]],
      [2, 2, [-0.3, -0.3, 0.06]],
      [2, 0, [0.3, -0.3, 0.03]],
    ]) {
      await put(scene);
      await request(server, 'PUT', '/api/v1/simulation', { state: 'paused' });
      await request(server, 'POST', '/api/v1/simulation/step', { ticks: 1500 });
      const before = await stated();
      const { geometry } = structuredClone(scene.objects[0]);
      geometry.points[i][j] = point;
      const edited = await request(server, 'PATCH', '/api/v1/objects/saddle', { geometry });
      if (edited.status !== 200) {
        assert.equal(edited.status, 422, edited.text);
        assert.match(edited.json.detail, /could not be opened, from the poses that it states: .*cross/);
        assert.deepEqual(await stated(), before);
      }
      assert.equal((await put(await stated())).status, 200, 'what was accepted can be opened');
    }
  } finally {
    await server.stop();
  }
});

// A spike makes closest points hard to find: all over it the sheets are nearly as far as one another.
test('a control point far off costs a bounded search, which says that it ended', async () => {
  const seconds = sanitized ? 60 : 5; // of the processor, where 0.5 to 0.9 are enough
  for (const name of ['nozzle-over-hood', 'hood-over-nozzle'])
    for (const height of [30, 1e3, 1e5]) {
      const scene = JSON.parse(readFileSync(join(root, `scenes/${name}.json`)));
      scene.objects[0].geometry.points[2][2][2] = height;
      const file = join(scratch, 'spike.json');
      writeFileSync(file, JSON.stringify(scene));
      const limited = ['-c', `ulimit -t ${seconds}; exec "$0" "$@"`, guideway, 'run', file, '--seconds', '0.01'];
      const r = spawnSync('sh', limited, { encoding: 'utf8', timeout: 600000 });
      assert.equal(r.signal, null, `${name}, ${height} m: more than ${seconds} s of the processor`);
      if (r.status !== 0) assert.match(r.stderr, /cannot be placed: .*(ended at its bound|no pose was found|none was)/);
    }
  const server = await start();
  try {
    const scene = JSON.parse(readFileSync(join(root, 'scenes/nozzle-over-hood.json')));
    await request(server, 'PUT', '/api/v1/scene', scene);
    await request(server, 'PUT', '/api/v1/simulation', { state: 'running' });
    const { geometry } = structuredClone(scene.objects[0]);
    geometry.points[2][2][2] = 1e5;
    const refused = await request(server, 'PATCH', '/api/v1/objects/hood', { geometry });
    assert.equal(refused.status, 422, JSON.stringify(refused.json));
    assert.deepEqual((await request(server, 'GET', '/api/v1/objects/hood')).json.geometry, scene.objects[0].geometry);
  } finally {
    await server.stop();
  }
});

// A hoop of radius 0.06 m falls towards the end of an ellipse, where the radius of curvature is 0.05 m: on the way they
// bend alike, and no contact in one point goes on from there.
test('a contact of curves that degenerates is told', async () => {
  const loop = (a, b) => ({
    type: 'nurbs-curve',
    degree: 2,
    knots: [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    points: [
      [a, 0, 0],
      [a, b, 0],
      [0, b, 0],
      [-a, b, 0],
      [-a, 0, 0],
      [-a, -b, 0],
      [0, -b, 0],
      [a, -b, 0],
      [a, 0, 0],
    ],
    weights: [1, Math.SQRT1_2, 1, Math.SQRT1_2, 1, Math.SQRT1_2, 1, Math.SQRT1_2, 1],
  });
  const scene = (b) => ({
    format: 'guideway-scene/1',
    name: 'hoop',
    gravity: [9.81, -4, 0],
    objects: [
      { id: 'ring', geometry: loop(0.2, b), fixed: true },
      {
        id: 'hoop',
        geometry: loop(0.06, 0.06),
        pose: { p: [0.02, 0.06 - b * Math.sqrt(1 - 0.01), 0], q: [1, 0, 0, 0] },
        body: { mass: 1, inertia: [0.0018, 0.0018, 0.0036, 0, 0, 0] },
        free: true,
      },
    ],
    constraints: [{ id: 'c1', type: 'pure-rolling', a: 'hoop/curve', b: 'ring/curve' }],
  });
  const server = await start();
  try {
    for (const [b, degenerates] of [
      [0.13, false],
      [0.1, true],
    ]) {
      const put = await request(server, 'PUT', '/api/v1/scene', scene(b));
      assert.ok(put.status < 300, JSON.stringify(put.json));
      await request(server, 'PUT', '/api/v1/simulation', { state: 'paused' });
      await request(server, 'POST', '/api/v1/simulation/step', { ticks: 600 });
      const told = async () =>
        JSON.stringify((await request(server, 'GET', '/api/v1/events')).json).includes('"degenerate"');
      for (let k = 0; k < 40 && !(await told()); k++) await new Promise((done) => setTimeout(done, 50));
      assert.equal(await told(), degenerates);
    }
  } finally {
    await server.stop();
  }
});

test("an axis stays along a surface's normal, at its offset, whoever is held", () => {
  const nozzle = {
    type: 'normal',
    value: 0.06,
    sense: 'opposite',
    mobile: { line: { point: [0, 0, 0.1], direction: [0, 0, 1] } },
    fixed: { surface: saddle },
  };
  const pose = { p: [0.1, -0.2, 0.4], q: [0, 1, 0, 0] };
  const s = solve({ mobile: { pose }, constraints: [nozzle] });
  assert.equal(s.method, 'closed-form');
  assert.equal(s.branches[0].words, '3 freedoms: slides on the surface (2), turns about its normal (1)');
  assert.deepEqual(
    s.branches[0].parameters.map((p) => p.name),
    ['phi', 'u', 'v'],
  );
  const beyond = command(
    ['solve', '-'],
    JSON.stringify({ mobile: { pose: { p: [0, 0, 0.3], q: [0, 1, 0, 0] } }, constraints: [{ ...nozzle, value: 0.6 }] }),
  );
  assert.equal(beyond.code, 2);
  assert.match(beyond.err, /\/constraints\/0\/value: .*0\.6 m is beyond the focal distance, 0\.5 m/);
  const hood = command([
    'run',
    new URL('../../scenes/hood-over-nozzle.json', import.meta.url).pathname,
    '--seconds',
    '3',
  ]);
  assert.equal(hood.code, 0, hood.err);
  const run = JSON.parse(hood.out);
  assert.equal(run.mobility, 3);
  assert.ok(run.constraint_residual_max < 1e-12);
  assert.ok(Math.hypot(...run.final.twist.w) > 0.01, 'the hood tilts as it slides');
});

// A roof of two flat halves: its normal turns by 2 atan 0.3 at u = 1.
test('no normal and no offset is followed over a sharp bend', async () => {
  const roof = {
    degree: [1, 1],
    knots: [
      [0, 0, 1, 2, 2],
      [0, 0, 1, 1],
    ],
    points: [-1, 0, 1].map((x) => [-1, 1].map((y) => [x, y, -0.3 * Math.abs(x)])),
  };
  const line = { line: { point: [0, 0, 0], direction: [0, 0, 1] } },
    point = { point: [0, 0, 0] };
  const asked = (type, value, mobile, fixed) =>
    command(
      ['solve', '-'],
      JSON.stringify({
        mobile: { pose: { p: [-0.5, 0, 0] } },
        constraints: [{ id: 'c1', type, ...(value !== undefined && { value }), mobile, fixed }],
      }),
    );
  const lacks = { normal: /no one normal/, distance: /offsets jump/ };
  for (const [type, value, element] of [
    ['normal', 0, line],
    ['normal', 0.1, line],
    ['distance', -0.1, point],
  ]) {
    for (const [mobile, fixed, side] of [
      [element, { surface: roof }, 'fixed'],
      [{ surface: roof }, element, 'mobile'],
    ]) {
      const r = asked(type, value, mobile, fixed);
      assert.equal(r.code, 2);
      assert.match(r.err, new RegExp(`constraints/0/${side}: The surface has a sharp bend at u = 1`));
      assert.match(r.err, lacks[type]);
    }
    const half = { ...roof, trim: [[0, 1], null] };
    assert.equal(JSON.parse(asked(type, value, element, { surface: half }).out).status, 'solved');
  }
  for (const type of ['coincident', 'distance'])
    assert.equal(JSON.parse(asked(type, undefined, point, { surface: roof }).out).status, 'solved');
  // a flat sheet under a nozzle is not folded
  const sheet = structuredClone(roof);
  for (const row of sheet.points) for (const p of row) p[2] = 0;
  const scene = {
    format: 'guideway-scene/1',
    name: 'sheet',
    objects: [
      { id: 'sheet', geometry: { type: 'nurbs-surface', ...sheet }, fixed: true },
      { id: 'nozzle', geometry: { type: 'cylinder', radius: 0.02, height: 0.1 }, body: { mass: 1 } },
    ],
    constraints: [{ id: 'c1', type: 'normal', value: 0.1, a: 'nozzle/axis', b: 'sheet/surface' }],
    tool: { object: 'nozzle', device: 'sim' },
    devices: [{ id: 'sim', driver: 'sim' }],
  };
  const server = await start();
  try {
    const put = await request(server, 'PUT', '/api/v1/scene', scene);
    assert.ok(put.status < 300, JSON.stringify(put));
    await request(server, 'PUT', '/api/v1/simulation', { state: 'running' });
    const folded = await request(server, 'PATCH', '/api/v1/objects/sheet', { geometry: { points: roof.points } });
    assert.equal(folded.status, 400, JSON.stringify(folded));
    assert.match(JSON.stringify(folded.json), /sharp bend at u = 1/);
    assert.deepEqual((await request(server, 'GET', '/api/v1/objects/sheet')).json.geometry.points, sheet.points);
    scene.objects[0].geometry.points = roof.points;
    const refused = await request(server, 'PUT', '/api/v1/scene', scene);
    assert.match(JSON.stringify(refused.json), /constraints\/0\/b.*sharp bend at u = 1/);
  } finally {
    await server.stop();
  }
});

// A point at a shape, free with a velocity or held and pushed.
function beadAt(geometry, p, v, force) {
  const scene = {
    format: 'guideway-scene/1',
    name: 'bead',
    objects: [
      { id: 'shape', geometry, fixed: true },
      {
        id: 'bead',
        geometry: { type: 'sphere', radius: 0.02 },
        pose: { p, q: [1, 0, 0, 0] },
        velocity: { v, w: [0, 0, 0] },
        body: { mass: 1 },
        free: true,
      },
    ],
    constraints: [
      {
        id: 'c1',
        type: 'coincident',
        a: 'bead/center',
        b: `shape/${geometry.type === 'nurbs-curve' ? 'curve' : 'surface'}`,
      },
    ],
  };
  if (!force) return scene;
  scene.tool = { object: 'bead', device: 'sim' };
  const samples = [{ t: 0, force, torque: [0, 0, 0] }];
  scene.devices = [{ id: 'sim', driver: 'sim', operator: { type: 'wrench', samples } }];
  return scene;
}

// Where the bead is, and how fast, after some seconds, and by how much the energy is out.
function beadAfter(scene, seconds) {
  const csv = join(scratch, 'bead.csv');
  const r = command(['run', '-', '--seconds', `${seconds}`, '--bodies', csv], JSON.stringify(scene));
  assert.equal(r.code, 0, r.err);
  const e = JSON.parse(r.out).energy;
  const [head, ...rows] = readFileSync(csv, 'utf8').trim().split('\n');
  const of = Object.fromEntries(
    head.split(',').map((name, i) => [name.replace('bead.', ''), Number(rows.at(-1).split(',')[i])]),
  );
  return {
    p: [of.px, of.py, of.pz],
    v: [of.vx, of.vy, of.vz],
    out: Math.abs(e.final - e.initial - e.work_in + e.dissipated),
    energy: e,
  };
}

const near = (a, b, within) => a.forEach((x, i) => assert.ok(Math.abs(x - b[i]) < within, `${a} and not ${b}`));

test('a point goes over sharp bends with its speed', () => {
  // two legs whose parameters run at 1 and at f metres each, then a square closed at its seam
  for (const f of [0.5, 2])
    for (const turn of [0.5, -1.2, 2.5]) {
      const leg = [Math.cos(turn), 0, Math.sin(turn)];
      const wire = {
        type: 'nurbs-curve',
        degree: 1,
        knots: [0, 0, 1, 2, 2],
        points: [[-1, 0, 0], [0, 0, 0], leg.map((x) => f * x)],
      };
      const end = beadAfter(beadAt(wire, [-0.3003, 0, 0], [1, 0, 0]), 0.501); // the last row is at 0.5 s
      near(
        end.p,
        leg.map((x) => x * (0.5 - 0.3003)),
        1e-11,
      );
      near(end.v, leg, 1e-11);
      assert.ok(end.out < 1e-12);
    }
  const corners = [
    [0, 0, 0],
    [1, 0, 0],
    [1, 1, 0],
    [0, 1, 0],
    [0, 0, 0],
  ];
  const square = { type: 'nurbs-curve', degree: 1, knots: [0, 0, 1, 2, 3, 4, 4], points: corners };
  near(beadAfter(beadAt(square, [0.7003, 0, 0], [1, 0, 0]), 4.501).p, [1, 0.2003, 0], 1e-10);
  near(beadAfter(beadAt(square, [0.3003, 0, 0], [-1, 0, 0]), 4.501).p, [0, 0.1997, 0], 1e-10);

  // a sheet folded at right angles along y, whose halves are drawn out askew: the way is straight where it is unfolded
  const sheet = {
    type: 'nurbs-surface',
    degree: [1, 1],
    knots: [
      [0, 0, 1, 2, 2],
      [0, 0, 1, 1],
    ],
    points: [
      [-1, 0.3, 0],
      [0, 0, 0],
      [0, -0.2, 2],
    ].map(([x, y, z]) => [-2, 2].map((along) => [x, y + along, z])),
  };
  const over = beadAfter(beadAt(sheet, [-0.3003, 0, 0], [1, 0.5, 0]), 0.501);
  near(over.p, [0, 0.25, 0.5 - 0.3003], 1e-11);
  near(over.v, [0, 0.5, 1], 1e-11);

  // pushed into a corner it comes to rest there, with all of its energy told
  const valley = {
    type: 'nurbs-curve',
    degree: 1,
    knots: [0, 0, 1, 2, 2],
    points: [
      [-1, 0, 1],
      [0, 0, 0],
      [1, 0, 1],
    ],
  };
  const scene = beadAt(valley, [-0.01, 0, 0.01], [0, 0, 0], [0, 0, -100]);
  scene.objects[1].body.damping = { linear: 20, angular: 1 };
  const rest = beadAfter(scene, 2);
  near(rest.p, [0, 0, 0], 1e-11);
  assert.ok(rest.out < 1e-12 && Math.abs(rest.energy.dissipated - 1) < 1e-6, JSON.stringify(rest));
});

// A plate of which two or three points are on a folded sheet, or one and a rod from below: sets without a closed form.
test('a body on several points goes over sharp bends with its energy', () => {
  const points = { left: [-0.2, 0, 0], right: [0.2, 0, 0], third: [0, 0.1, 0] };
  const on = (name) => ({ id: name, type: 'coincident', a: `body/${name}`, b: 'shape/surface' });
  const rod = { id: 'rod', type: 'distance', value: 2.05, a: 'body/right', b: 'post/pin' };
  for (const slope of [-0.3, 0.3])
    for (const constraints of [[on('left'), on('right')], ['left', 'right', 'third'].map(on), [on('left'), rod]])
      for (const force of [undefined, [2, 0.3, 0]]) {
        const turn = Math.atan(slope) / 2;
        const scene = beadAt(
          {
            type: 'nurbs-surface',
            degree: [1, 1],
            knots: [
              [0, 0, 1, 2, 2],
              [0, 0, 1, 1],
            ],
            points: [-1, 0, 1].map((x) => [-1, 1].map((y) => [x, y, slope * Math.abs(x)])),
          },
          [-0.5, 0.05, 0.5 * slope],
          force ? [0, 0, 0] : [Math.cos(2 * turn), 0.1, -Math.sin(2 * turn)],
          force,
        );
        const [shape, bead] = scene.objects;
        const pin = {
          id: 'post',
          geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
          pose: { p: [0, 0, -2] },
          fixed: true,
        };
        Object.assign(bead, { id: 'body', geometry: { type: 'box', size: [0.4, 0.2, 0.1] } });
        bead.pose.q = [Math.cos(turn), 0, Math.sin(turn), 0];
        scene.objects = [shape, pin, bead];
        scene.features = Object.entries(points).map(([name, point]) => ({ id: `body/${name}`, point }));
        scene.features.push({ id: 'post/pin', point: [0, 0, 0] });
        scene.constraints = constraints;
        if (force) scene.tool.object = 'body';
        const csv = join(scratch, 'body.csv');
        const r = command(['run', '-', '--seconds', '0.8', '--bodies', csv], JSON.stringify(scene));
        assert.equal(r.code, 0, r.err);
        const { energy: e, constraint_residual_max: residual } = JSON.parse(r.out);
        const [head, ...rows] = readFileSync(csv, 'utf8')
          .trim()
          .split('\n')
          .map((l) => l.split(','));
        const of = (row, names) => names.map((n) => Number(row[head.indexOf(`body.${n}`)]));
        const v = of(rows.at(-1), ['vx', 'vy', 'vz', 'wx', 'wy', 'wz']);
        const what = `${constraints.map((c) => c.id)}, ${slope}, ${force}: ${v}`;
        assert.ok(Math.abs(e.final - e.initial - e.work_in + e.dissipated) < 1e-12, what);
        assert.equal(e.dissipated, 0, what);
        assert.ok(residual < 1e-12, what);
        assert.ok(of(rows.at(-1), ['px'])[0] > 0.02, 'past the bend');
        rows.slice(1).forEach((row, i) => {
          const way = of(row, ['px', 'py', 'pz']).map((x, k) => x - of(rows[i], ['px', 'py', 'pz'])[k]);
          const speed = Math.max(...[row, rows[i]].map((at) => Math.hypot(...of(at, ['vx', 'vy', 'vz']))));
          assert.ok(Math.hypot(...way) < 1e-3 * speed + 1e-5, what);
        });
        // both points on the other half: the speed across the bend is kept, and that along it
        if (constraints.length === 2 && constraints[1] !== rod && !force)
          near(v, [Math.cos(2 * turn), 0.1, Math.sin(2 * turn), 0, 0, 0], 1e-9);
      }
});

test('a bound of the distance from a surface holds over sharp bends, to either side', () => {
  const half = Math.hypot(1, 0.3);
  // z = slope |x|, and how far a point beside it is
  const folded = (slope) => ({
    type: 'nurbs-surface',
    degree: [1, 1],
    knots: [
      [0, 0, 1, 2, 2],
      [0, 0, 1, 1],
    ],
    points: [-1, 0, 1].map((x) => [-1, 1].map((y) => [x, y, slope * Math.abs(x)])),
  });
  const off = (slope, x, z) => {
    const along = Math.min(1, Math.max(0, (Math.abs(x) + slope * z) / (half * half)));
    return Math.hypot(Math.abs(x) - along, z - slope * along);
  };
  for (const { slope, bound, start, gravity, v, rests } of [
    { slope: 0.3, bound: 'at-least', start: [-0.1, 0.05, 0.2], gravity: -9.81, rests: 0.1 * half },
    { slope: -0.3, bound: 'at-least', start: [-0.1, 0.05, -0.2], gravity: 9.81, rests: -0.1 * half },
    { slope: -0.3, bound: 'at-least', start: [-0.4, 0.05, 0.05], gravity: -1, v: [1, 0.2, 0] },
    { slope: 0.3, bound: 'at-most', start: [-0.3, 0.05, 0.1], gravity: -9.81 },
    { slope: -0.3, bound: 'at-most', start: [-0.3, 0.05, -0.1], gravity: 9.81, v: [0.1, 0.1, 0] },
  ])
    for (const swapped of [false, true]) {
      const scene = beadAt(folded(slope), start, v ?? [0, 0, 0]);
      scene.gravity = [0, 0, gravity];
      const [c] = scene.constraints;
      Object.assign(c, { type: 'distance', value: 0.1, bound });
      if (swapped) [c.a, c.b] = [c.b, c.a];
      const csv = join(scratch, 'bound.csv');
      const seconds = rests ? 6 : 0.6; // what does not come to rest is looked at before it comes to an edge
      const r = command(['run', '-', '--seconds', `${seconds}`, '--bodies', csv], JSON.stringify(scene));
      assert.equal(r.code, 0, r.err);
      const e = JSON.parse(r.out).energy;
      assert.ok(Math.abs(e.final - e.initial - e.work_in + e.dissipated) < 1e-12);
      const [head, ...rows] = readFileSync(csv, 'utf8')
        .trim()
        .split('\n')
        .map((l) => l.split(','));
      const [px, pz, vx, vy, vz] = ['px', 'pz', 'vx', 'vy', 'vz'].map((n) => head.indexOf(`bead.${n}`));
      let met = false;
      rows.forEach((row, i) => {
        const x = Number(row[px]),
          z = Number(row[pz]),
          open = bound === 'at-least' ? off(slope, x, z) - 0.1 : 0.1 - off(slope, x, z);
        met ||= open < 1e-3;
        assert.ok(open > -1e-3, `${bound}, ${slope}: ${open} m open at ${i} ms`);
        if (i === 0) return;
        const speed = Math.max(...[row, rows[i - 1]].map((of) => Math.hypot(of[vx], of[vy], of[vz])));
        const way = Math.hypot(x - rows[i - 1][px], z - rows[i - 1][pz]);
        assert.ok(way < 1e-3 * speed + 1e-5, `${way} m at ${speed} m/s`);
      });
      assert.ok(met, 'it comes to its bound');
      if (rests) near([Number(rows.at(-1)[px]), Number(rows.at(-1)[pz])], [0, rests], 1e-3);
    }
});

test('what hangs on a point goes over sharp bends with it, and no energy is lost', () => {
  for (const turn of [0.5, -1.2])
    for (const f of [0.5, 1, 2])
      for (const kind of ['curve', 'surface']) {
        const legs = [
          [-1, 0, 0],
          [0, 0, 0],
          [f * Math.cos(turn), 0, f * Math.sin(turn)],
        ];
        const ends = [0, 0, 1, 2, 2];
        const sheet = legs.map(([x, , z]) => [-1, 1].map((y) => [x, y, z]));
        const shape =
          kind === 'curve'
            ? { type: 'nurbs-curve', degree: 1, knots: ends, points: legs }
            : { type: 'nurbs-surface', degree: [1, 1], knots: [ends, [0, 0, 1, 1]], points: sheet };
        const scene = beadAt(shape, [-0.3003, 0, 0], [1, 0, 0]);
        const rider = structuredClone(scene.objects[1]);
        Object.assign(rider, { id: 'rider', body: { mass: 0.3 } });
        rider.pose.p[2] += 0.1;
        scene.objects.push(rider);
        scene.constraints.push({ id: 'c2', type: 'distance', value: 0.1, a: 'bead/center', b: 'rider/center' });
        const end = beadAfter(scene, 0.45);
        const along = end.p[0] * Math.cos(turn) + end.p[2] * Math.sin(turn);
        near(end.p, [along * Math.cos(turn), 0, along * Math.sin(turn)], 1e-12);
        assert.ok(along > 0.03 && Math.abs(end.energy.final - 0.65) < 1e-9, `${kind} ${turn} ${f}: ${along}`);
      }
});

// The twisted cubic (x, x^2, x^3) over -1 .. 1.
const cubic = {
  degree: 3,
  knots: [0, 0, 0, 0, 1, 1, 1, 1],
  points: [
    [-1, 1, -1],
    [-1 / 3, -1 / 3, 1],
    [1 / 3, -1 / 3, -1],
    [1, 1, 1],
  ],
};

test('a line is tangent to a curve, solved and felt, whichever side has the curve', () => {
  const line = { line: { point: [0, 0, 0.1], direction: [0, 0, 1] } };
  const pose = { p: [0.1, -0.2, 0.4], q: [1, 0, 0, 0] };
  for (const [mobile, fixed] of [
    [line, { curve: cubic }],
    [{ curve: cubic }, line],
  ]) {
    const s = solve({ mobile: { pose }, samples: 8, constraints: [{ type: 'tangent', value: 0.05, mobile, fixed }] });
    assert.equal(s.method, 'closed-form');
    assert.equal(s.branches.length, 2); // both senses
    for (const b of s.branches) {
      assert.equal(b.words, '2 freedoms: slides along the curve (1), turns about its tangent (1)');
      assert.equal(b.rotation.kind, 'tangent');
      assert.deepEqual(
        b.parameters.map((p) => p.name),
        ['phi', 's'],
      );
      if (mobile !== line) continue;
      for (const { pose: at } of b.samples) {
        const [x, y, z] = moved(at, [0, 0, 0.15]);
        const ahead = moved(at, [0, 0, 1.15]).map((c, i) => c - [x, y, z][i]);
        const speed = Math.hypot(1, 2 * x, 3 * x * x);
        const along = (ahead[0] + 2 * x * ahead[1] + 3 * x * x * ahead[2]) / speed;
        assert.ok(Math.hypot(y - x * x, z - x ** 3) < 1e-12, 'it touches');
        assert.ok(Math.abs(Math.abs(along) - 1) < 1e-12, 'along the tangent');
      }
    }
  }
  // a bead that slides down the wire, and a frame with the wire that slides on a standing axis; with mass, as rows of
  // a system of bodies, where a rider turns on it
  const bead = { geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, body: { mass: 1 } };
  const wire = { geometry: { type: 'nurbs-curve', ...cubic } };
  const inertia = { mass: 1, inertia: [0.1, 0.1, 0.1, 0, 0, 0] };
  for (const held of [true, false])
    for (const rides of [false, true]) {
      const scene = {
        format: 'guideway-scene/1',
        name: 'wire',
        gravity: [0, 0, -1],
        objects: [
          { id: 'bead', ...bead, ...(held ? { pose: { p: [0.4, 0.2, 0.1], q: [1, 0, 0, 0] } } : { fixed: true }) },
          { id: 'wire', ...wire, ...(held ? { fixed: true } : { body: inertia }) },
          { id: 'rider', ...bead, free: true },
        ].slice(0, rides ? 3 : 2),
        features: [{ id: 'bead/axis', line: { point: [0, 0, 0], direction: [0, 0, 1] } }],
        constraints: [{ id: 'c1', type: 'tangent', a: 'bead/axis', b: 'wire/curve', value: 0.02 }],
        joints: rides
          ? [{ id: 'j1', type: 'revolute', a: { object: 'rider' }, b: { object: held ? 'bead' : 'wire' } }]
          : [],
        tool: { object: held ? 'bead' : 'wire', device: 'sim' },
        devices: [{ id: 'sim', driver: 'sim' }],
      };
      const ran = command(['run', '-', '--seconds', '0.5'], JSON.stringify(scene));
      assert.equal(ran.code, 0, ran.err);
      const run = JSON.parse(ran.out);
      assert.equal(run.mobility, rides ? 3 : 2);
      assert.ok(run.constraint_residual_max < 1e-12, `${run.constraint_residual_max}`);
      assert.ok(Math.hypot(...run.final.twist.v) > 0.05, 'it slides');
      const { initial, final, work_in, dissipated } = run.energy;
      assert.ok(Math.abs(final - initial - work_in + dissipated) < 1e-9, JSON.stringify(run.energy));
    }
  const refused = (type, mobile, fixed, why) => {
    const answer = command(['solve', '-'], JSON.stringify({ constraints: [{ type, mobile, fixed }] }));
    assert.equal(answer.code, 2);
    assert.match(answer.err, why);
  };
  refused('tangent', { point: [0, 0, 0] }, { curve: cubic }, /tangent joins a line and a free-form curve/);
  const bent = {
    degree: 1,
    knots: [0, 0, 1, 2, 2],
    points: [
      [0, 0, 0],
      [1, 0, 0],
      [1, 1, 0],
    ],
  };
  refused('tangent', line, { curve: bent }, /constraints\/0\/fixed: The curve has a sharp bend at s = 1/);
  const angled = {
    format: 'guideway-scene/1',
    name: 'bent',
    objects: [
      { id: 'wire', geometry: { type: 'nurbs-curve', ...bent }, fixed: true },
      { id: 'bead', geometry: bead.geometry },
    ],
    constraints: [{ id: 'c1', type: 'tangent', a: 'bead/axis-x', b: 'wire/curve' }],
  };
  const sharp = command(['run', '-', '--seconds', '0.1'], JSON.stringify(angled));
  assert.match(sharp.err, /constraints\/0\/b: "wire\/curve" has a sharp bend at s = 1/);
  angled.objects[0].geometry.trim = [0, 1];
  const part = command(['run', '-', '--seconds', '0.1'], JSON.stringify(angled));
  assert.equal(part.code, 0, part.err);
  refused('tangent', line, { surface: saddle }, /tangent joins a line and a free-form curve/);
  refused('parallel', line, { curve: cubic }, /a curve one along its tangent/);
});

test('free-form surfaces roll on one another, and say why they cannot', () => {
  const w = 0.3,
    k = (w * w) / 1.2;
  const valley = {
    type: 'nurbs-surface',
    degree: [2, 2],
    knots: saddle.knots,
    points: [-1, 0, 1].map((x, i) => [-1, 0, 1].map((y, j) => [w * x, w * y, k * (bend[i] - bend[j])])),
  };
  const scene = {
    format: 'guideway-scene/1',
    name: 'ball',
    gravity: [0, 0, -9.81],
    objects: [
      { id: 'saddle', geometry: valley, fixed: true },
      {
        id: 'ball',
        geometry: { type: 'sphere', radius: 0.04 },
        pose: { p: [0.1, 0.02, 0.06], q: [1, 0, 0, 0] },
        body: { mass: 0.5 },
      },
    ],
    constraints: [{ id: 'c1', type: 'rolling', a: 'saddle/surface', b: 'ball/surface' }],
    tool: { object: 'ball', device: 'sim' },
    devices: [{ id: 'sim', driver: 'sim' }],
  };
  const file = join(scratch, 'rolling.json');
  const run = () => {
    writeFileSync(file, JSON.stringify(scene));
    return command(['run', file, '--seconds', '0.5']);
  };
  const good = run();
  assert.equal(good.code, 0, good.err);
  const { energy: e, mobility } = JSON.parse(good.out);
  assert.equal(mobility, 3);
  assert.ok(Math.abs(e.final - e.initial) < 1e-9);
  scene.constraints[0].contact = 'unilateral';
  const parts = JSON.parse(run().out);
  assert.equal(parts.mobility, 6);
  assert.ok(
    Math.abs(parts.energy.final - parts.energy.initial - parts.energy.work_in + parts.energy.dissipated) < 1e-9,
  );
  delete scene.constraints[0].contact;
  scene.objects[1].geometry = { type: 'cylinder', radius: 0.04, height: 0.1 };
  scene.constraints[0].b = 'ball/top';
  assert.equal(run().code, 2);
});

test('surfaces that conform are refused where they may part, and told in motion', async () => {
  const box = { type: 'box', size: [0.2, 0.2, 0.1] };
  const cylinder = (height) => ({ type: 'cylinder', radius: 0.1, height });
  const lying = [half, half, 0, 0];
  const scene = (geometry, feature, z, q, sheet) => ({
    format: 'guideway-scene/1',
    name: 'conforming',
    gravity: [0, 0, -9.81],
    objects: [
      { id: 'sheet', geometry: sheet, fixed: true },
      {
        id: 'body',
        geometry,
        pose: { p: [0, 0, z], q: q ?? [1, 0, 0, 0] },
        free: true,
        body: { mass: 1, inertia: [0.002, 0.002, 0.002, 0, 0, 0] },
      },
    ],
    constraints: [{ id: 'c1', type: 'sliding', a: `body/${feature}`, b: 'sheet/surface', contact: 'unilateral' }],
  });
  const file = join(scratch, 'conforming.json');
  const run = (s) => {
    writeFileSync(file, JSON.stringify(s));
    return command(['run', file, '--seconds', '0.6']);
  };
  const tilted = [Math.cos(0.2), Math.sin(0.2), 0, 0];
  const small = { ...flatSheet, points: flatSheet.points.map((r) => r.map((p) => p.map((x) => 0.2 * x))) };
  for (const [name, ...s] of [
    ['a face on a flat surface', box, '-z', 0.05, undefined, flatSheet],
    ['a face above it', box, '-z', 0.15, undefined, flatSheet],
    ['a face inclined to it', box, '-z', 0.25, tilted, flatSheet],
    ['a flat surface', small, 'surface', 0.01, undefined, flatSheet],
    ['a cylinder that is longer', cylinder(1.2), 'surface', 0.1, lying, flatSheet],
    ['half a tube', halfTube(0.1, 0.2), 'surface', 0.1, undefined, flatSheet],
    ['a face on half a tube', { ...box }, '+z', 0, undefined, halfTube(0.1, 1)],
    ['a cylinder in its own tube', cylinder(0.2), 'surface', 0, lying, halfTube(0.1, 1)],
    ['half a tube in another', halfTube(0.1, 0.2), 'surface', 0, undefined, halfTube(0.1, 1)],
    ['a ball in its own socket', { type: 'sphere', radius: 0.1 }, 'surface', 0, undefined, halfBall(0.1)],
    ['half a ball in it', halfBall(0.1), 'surface', 0, undefined, halfBall(0.1)],
  ])
    for (const type of ['sliding', 'rolling', 'pure-rolling']) {
      const it = scene(...s);
      it.constraints[0].type = type;
      const { code, err } = run(it);
      assert.equal(code, 2, `${name}, ${type}: ${err}`);
      assert.match(err, /\/constraints\/0: c1 cannot keep body and sheet apart: the surfaces conform/, name);
      it.constraints[0].contact = 'bilateral'; // a refusal names the constraint
      const bilateral = run(it);
      if (bilateral.code !== 0) assert.match(bilateral.err, /\/constraints\/0(\/[ab])?: /, `${name}: ${bilateral.err}`);
    }
  const kept = (z, end, ...s) => {
    const { code, out, err } = run(scene(...s));
    assert.equal(code, 0, err);
    const summary = JSON.parse(out);
    assert.deepEqual(summary.events, []);
    assert.ok(Math.abs(summary.energy.final - summary.energy.initial - 9.81 * (end - z)) < 1e-4, `${z}`);
  };
  kept(0.1, 0.1, cylinder(0.2), 'surface', 0.1, lying, flatSheet);
  kept(0.1, 0.1, cylinder(0.2), 'bottom-rim', 0.1, undefined, flatSheet);
  kept(-0.02, -0.02, { type: 'sphere', radius: 0.08 }, 'surface', -0.02, undefined, halfBall(0.1));
  // in the centre of its socket a smaller ball touches nothing, and falls
  const fallen = run(scene({ type: 'sphere', radius: 0.05 }, 'surface', 0, undefined, halfBall(0.1)));
  assert.equal(fallen.code, 0, fallen.err);
  assert.ok(Math.abs(JSON.parse(fallen.out).energy.final + 9.81 * 0.05) < 1e-3, fallen.out);
  // one too large goes through the rim, by name
  const large = run(scene({ type: 'sphere', radius: 0.11 }, 'surface', 0.1, undefined, halfBall(0.1)));
  const [through] = JSON.parse(large.out).events;
  assert.deepEqual([through.kind, through.constraint], ['degenerate', 'c1']);
  assert.match(through.message, /The contact of c1 ends here/);
  // a rim that comes to lie flat
  const lies = JSON.parse(run(scene(cylinder(0.2), 'bottom-rim', 0.2, tilted, flatSheet)).out);
  assert.deepEqual(lies.events, []);
  assert.ok(Math.abs(lies.energy.final - 0.981) < 1e-3, `${lies.energy.final}`);
  const server = await start();
  try {
    const ask = (method, path, body) => request(server, method, `/api/v1/${path}`, body);
    const ball = scene({ type: 'sphere', radius: 0.1 }, 'surface', 0.1, undefined, flatSheet);
    ball.objects.push({ ...ball.objects[1], id: 'box', geometry: box, pose: { p: [0, 0, 0.5], q: [1, 0, 0, 0] } });
    assert.equal((await ask('PUT', 'scene', ball)).status, 200);
    await ask('PUT', 'simulation', { state: 'running' });
    const refused = await ask('POST', 'constraints', {
      id: 'c2',
      type: 'sliding',
      a: 'box/-z',
      b: 'sheet/surface',
      contact: 'unilateral',
    });
    assert.equal(refused.status, 422);
    assert.match(JSON.stringify(refused.json), /c2 cannot keep box and sheet apart/);
    const both = { id: 'c2', type: 'sliding', a: 'box/-z', b: 'sheet/surface' };
    const kept = await ask('POST', 'constraints', both);
    assert.deepEqual([kept.status, kept.json.left, kept.json.object], [422, ['c2'], 'box']);
    assert.equal((await ask('GET', 'constraints')).json.length, 1);
  } finally {
    await server.stop();
  }
});

// Beside a curve, at the stages of a step, its three rows have rank three by a share of the distance.
test('a body with points on a curve and on a surface keeps its energy as it falls', () => {
  const wire = {
    type: 'nurbs-curve',
    degree: 3,
    knots: [0, 0, 0, 0, 1, 1, 1, 1],
    points: [
      [-0.4, 0.1, 0.3],
      [-0.1, -0.1, 0],
      [0.1, 0.2, -0.4],
      [0.4, 0, -0.9],
    ],
  };
  const sheet = { ...saddle, type: 'nurbs-surface' };
  const { code, out, err } = command(
    ['run', '-', '--seconds', '0.45'],
    JSON.stringify({
      format: 'guideway-scene/1',
      name: 'on a wire and a sheet',
      gravity: [0, 0, -9.81],
      objects: [
        { id: 'wire', geometry: wire, fixed: true },
        { id: 'sheet', geometry: sheet, pose: { p: [0, 0, -0.2] }, fixed: true },
        {
          id: 'body',
          geometry: { type: 'box', size: [0.2, 0.1, 0.05] },
          pose: { p: [-0.2, 0, 0.1] },
          free: true,
          body: { mass: 1, inertia: [0.002, 0.003, 0.0035, 0, 0, 0.0001] },
        },
      ],
      features: [
        { id: 'body/p', point: [0.08, 0.04, -0.025] },
        { id: 'body/q', point: [-0.08, 0.04, -0.025] },
      ],
      constraints: [
        { id: 'c1', type: 'coincident', a: 'body/p', b: 'wire/curve' },
        { id: 'c2', type: 'coincident', a: 'body/q', b: 'sheet/surface' },
      ],
    }),
  );
  assert.equal(code, 0, err);
  const { energy, events, constraint_residual_max: residual } = JSON.parse(out);
  assert.deepEqual(events, [], out);
  assert.ok(Math.abs(energy.final - energy.initial) < 1e-11 && residual < 1e-13, out);
});

// A cap z = 5 (x^2 + y^2) over -0.08 .. 0.08, its normal downwards.
const cap = {
  ...saddle,
  type: 'nurbs-surface',
  points: [-1, 0, 1].map((y, j) => [-1, 0, 1].map((x, i) => [0.08 * x, 0.08 * y, 5 * 0.08 ** 2 * (bend[i] + bend[j])])),
};

// The bowl is 5 radii of gyration below: on the way there by the mass metric the cap would turn past its edge.
test('what is far above a surface comes down to it', () => {
  const bowl = {
    ...saddle,
    points: saddle.points.map((r, i) => r.map(([x, y], j) => [x, y, (bend[i] + bend[j]) / 3])),
  };
  for (const type of ['sliding', 'rolling', 'pure-rolling']) {
    const csv = join(scratch, 'down.csv');
    const { code, out, err } = command(
      ['run', '-', '--seconds', '0.5', '--bodies', csv],
      JSON.stringify({
        format: 'guideway-scene/1',
        name: 'a cap over a bowl',
        gravity: [0, 0, -9.81],
        objects: [
          { id: 'bowl', geometry: { ...bowl, type: 'nurbs-surface' }, fixed: true },
          {
            id: 'cap',
            geometry: cap,
            pose: { p: [0.3, 0.1, 0.35], q: [Math.cos(0.1), Math.sin(0.1), 0, 0] },
            free: true,
            body: { mass: 1, inertia: [0.004, 0.005, 0.0045, 0, 0, 0] },
          },
        ],
        constraints: [{ id: 'c1', type, a: 'cap/surface', b: 'bowl/surface' }],
      }),
    );
    assert.equal(code, 0, err);
    const { energy, events } = JSON.parse(out);
    assert.ok(!events.some((e) => ['unbooked', 'degenerate'].includes(e.kind)), out);
    assert.ok(Math.abs(energy.final + energy.dissipated - energy.initial) < 1e-9, out);
    // it is where it was put but for the way down
    const [x, y] = readFileSync(csv, 'utf8').split('\n')[1].split(',').slice(1, 3).map(Number);
    assert.ok(Math.hypot(x - 0.3, y - 0.1) < 0.1, `${x} ${y}`);
  }
});

// A cap rolls along a trough z = y^2 (2 + 18 (x + 0.5)) / 2 that bends ever more sharply.
// Where both bend alike the contact ends: told, and not searched for at every stage of each tick.
test('a contact of two free-form surfaces that ends in motion costs a bounded search', () => {
  const trough = [
    [-0.5, 2],
    [0.5, 20],
  ].map(([x, k]) => [-1, 0, 1].map((y, j) => [x, 0.3 * y, (0.3 ** 2 * bend[j] * k) / 2]));
  const end = [0, 0, 0, 1, 1, 1];
  const sheet = (degree, knots, points) => ({ type: 'nurbs-surface', degree, knots, points });
  const { code, out, err } = command(
    ['run', '-', '--seconds', '0.3'],
    JSON.stringify({
      format: 'guideway-scene/1',
      name: 'a contact that ends',
      objects: [
        { id: 'trough', geometry: sheet([1, 2], [[0, 0, 1, 1], end], trough), fixed: true },
        {
          id: 'cap',
          geometry: cap,
          pose: { p: [-0.2, 0.005, 0] },
          free: true,
          body: { mass: 1, inertia: [0.002, 0.002, 0.003, 0, 0, 0], com: [0, 0, 0.05] },
          velocity: { v: [1, 0, 0], w: [0, 0, 0] },
        },
      ],
      constraints: [{ id: 'c1', type: 'rolling', a: 'cap/surface', b: 'trough/surface' }],
    }),
  );
  assert.equal(code, 0, err);
  const { events, tick_us, energy } = JSON.parse(out);
  assert.ok(
    events.some((e) => e.kind === 'degenerate' && e.constraint === 'c1'),
    out,
  );
  assert.ok(tick_us.p50 < 2000, `${tick_us.p50} us`); // 26 ms where each stage searches
  assert.ok(energy.final <= energy.initial + 1e-9);
});

// z = k (x^2 + y^2) over -0.5 .. 0.5, and how deep a cylinder's rims, or the centres of its caps, come
// through it in a second.
function depthInBowl(k, radius, height, mass, pose) {
  const paraboloid = {
    ...saddle,
    type: 'nurbs-surface',
    points: saddle.points.map((r, i) => r.map(([x, y], j) => [x / 2, y / 2, (k * (bend[i] + bend[j])) / 4])),
  };
  const across = (mass * (3 * radius * radius + height * height)) / 12;
  const inertia = [across, across, (mass * radius * radius) / 2, 0, 0, 0];
  const scene = {
    format: 'guideway-scene/1',
    name: 'cylinder in a bowl',
    gravity: [0, 0, -9.81],
    objects: [
      { id: 'bowl', geometry: paraboloid, fixed: true },
      { id: 'body', geometry: { type: 'cylinder', radius, height }, pose, free: true, body: { mass, inertia } },
    ],
    constraints: [{ id: 'c1', type: 'sliding', a: 'body/surface', b: 'bowl/surface', contact: 'unilateral' }],
  };
  const csv = join(scratch, 'bowl.csv');
  const { code, err } = command(['run', '-', '--seconds', '1', '--bodies', csv], JSON.stringify(scene));
  assert.equal(code, 0, err);
  let least = Infinity;
  for (const line of readFileSync(csv, 'utf8').trim().split('\n').slice(1)) {
    const [px, py, pz, w, x, y, z] = line.split(',').slice(1, 8).map(Number);
    for (let i = 0; i < 130; i++) {
      const r = i < 128 ? radius : 0;
      const [a, b] = [r * Math.cos((i * Math.PI) / 64), r * Math.sin((i * Math.PI) / 64)];
      const c = i % 2 ? height / 2 : -height / 2;
      const at = [
        px + (1 - 2 * (y * y + z * z)) * a + 2 * (x * y - w * z) * b + 2 * (x * z + w * y) * c,
        py + 2 * (x * y + w * z) * a + (1 - 2 * (x * x + z * z)) * b + 2 * (y * z - w * x) * c,
        pz + 2 * (x * z - w * y) * a + 2 * (y * z + w * x) * b + (1 - 2 * (x * x + y * y)) * c,
      ];
      const out = at[0] * at[0] + at[1] * at[1];
      least = Math.min(least, (at[2] - k * out) / Math.sqrt(1 + 4 * k * k * out));
    }
  }
  return -least;
}

test('a cylinder stays in a bowl on its rims, whose lowest points run round', () => {
  for (const [k, radius, height, p, q] of [
    [0.5, 0.03, 0.06, [0.06776, 0.00829, 0.05798], [0.04861, -0.07115, -0.09734, 0.99151]],
    [1, 0.1, 0.15, [-0.10193, 0.06138, 0.23658], [0.42743, 0.12729, -0.2841, 0.84876]],
    [4, 0.1, 0.3, [-0.08636, -0.13577, 0.3822], [0.98058, 0.04574, -0.1312, -0.13844]],
    [0.5, 0.05, 0.15, [-0.14746, 0.11362, 0.11021], [0.92246, 0.2223, -0.01221, -0.31545]],
    [4, 0.05, 0.06, [-0.02123, -0.07004, 0.0952], [0.97755, 0.11294, 0.17069, 0.05002]],
    [1, 0.05, 0.06, [0.14501, -0.01563, 0.16888], [0.9043, -0.15218, 0.00907, 0.39875]],
  ]) {
    const mass = 1000 * Math.PI * radius * radius * height;
    const unit = q.map((x) => x / Math.hypot(...q));
    const depth = depthInBowl(k, radius, height, mass, { p, q: unit });
    assert.ok(depth < 1.5e-3, `${radius} x ${height} in ${k}: ${depth}`);
  }
});

test('a cylinder that falls on a hill stands on its cap', () => {
  const q = [Math.cos(0.025), Math.sin(0.025), 0, 0];
  const depth = depthInBowl(-4, 0.05, 0.1, 1, { p: [0, 0, 0.06], q });
  assert.ok(depth < 5e-5, `${depth}`);
});

test('contact kept both ways is refused where a shape bends sharply', () => {
  const roof = {
    type: 'nurbs-surface',
    degree: [1, 1],
    knots: [
      [0, 0, 1, 2, 2],
      [0, 0, 1, 1],
    ],
    points: [-1, 0, 1].map((x) => [-1, 1].map((y) => [x, y, -0.3 * Math.abs(x)])),
  };
  const tip = Math.hypot(1, 0.3);
  for (const type of ['sliding', 'rolling', 'pure-rolling'])
    for (const swapped of [false, true]) {
      const relation = { id: 'c1', type, a: 'ball/surface', b: 'roof/surface' };
      if (swapped) [relation.a, relation.b] = [relation.b, relation.a];
      const scene = {
        format: 'guideway-scene/1',
        name: 'roof',
        objects: [
          { id: 'roof', geometry: roof, fixed: true },
          {
            id: 'ball',
            geometry: { type: 'sphere', radius: 0.1 },
            pose: { p: [-0.5 - 0.03 / tip, 0, -0.15 + 0.1 / tip], q: [1, 0, 0, 0] },
            velocity: { v: [1 / tip, 0, 0.3 / tip], w: [0, 0, 0] },
            free: true,
          },
        ],
        constraints: [relation],
      };
      const ran = (change) => command(['run', '-', '--seconds', '0.3'], JSON.stringify(Object.assign(scene, change)));
      const refused = ran({});
      assert.equal(refused.code, 2);
      assert.match(refused.err, new RegExp(`constraints/0/${swapped ? 'a' : 'b'}: "roof/surface" has a sharp bend`));
      assert.equal(ran({ constraints: [{ ...relation, contact: 'unilateral' }] }).code, 0);
      const objects = [{ ...scene.objects[0], geometry: { ...roof, trim: [[0, 1], null] } }, scene.objects[1]];
      const part = ran({ constraints: [relation], objects });
      assert.equal(part.code, 0, part.err);
    }
});

test('two curves keep one tangent, and say why they cannot part', () => {
  const bow = (lift) => ({
    type: 'nurbs-curve',
    degree: 3,
    knots: [0, 0, 0, 0, 1, 1, 1, 1],
    points: [
      [-0.2, 0, 0],
      [-0.07, 0, lift],
      [0.07, 0.03, lift],
      [0.2, 0, 0],
    ],
  });
  const mass = { mass: 0.2, com: [0, 0, 0], inertia: [1e-3, 1e-3, 1e-3, 0, 0, 0] };
  const scene = {
    format: 'guideway-scene/1',
    name: 'wires',
    gravity: [0, 0, -9.81],
    objects: [
      { id: 'rail', geometry: bow(-0.1), fixed: true },
      { id: 'wire', geometry: bow(0.15), pose: { p: [0, 0, -0.2], q: [1, 0, 0, 0] }, body: mass },
    ],
    constraints: [{ id: 'c1', type: 'sliding', a: 'wire/curve', b: 'rail/curve' }],
    tool: { object: 'wire', device: 'sim' },
    devices: [{ id: 'sim', driver: 'sim' }],
  };
  const file = join(scratch, 'wires.json');
  const run = (change) => {
    Object.assign(scene.constraints[0], change);
    writeFileSync(file, JSON.stringify(scene));
    return command(['run', file, '--seconds', '0.1']);
  };
  for (const [type, freedoms] of [
    ['sliding', 3],
    ['rolling', 2],
    ['pure-rolling', 1],
  ]) {
    const r = run({ type });
    assert.equal(r.code, 0, r.err);
    const { energy: e, mobility, constraint_residual_max: open } = JSON.parse(r.out);
    assert.equal(mobility, freedoms, type);
    assert.ok(Math.abs(e.final - e.initial) < 1e-9 && open < 1e-12, r.out);
  }
  const parts = run({ contact: 'unilateral' });
  assert.equal(parts.code, 2);
  assert.match(parts.err, /constraints\/0\/contact.*two curves keep one tangent and do not part/);
  const within = run({ contact: 'bilateral', inside: true });
  assert.match(within.err, /a curve has no inside/);
});

test('what is bundled of free-form contacts balances its energy', () => {
  const mobility = {
    'marble-run': 12,
    knee: 6,
    'blade-under-probe': 6,
    'belt-drive': 1,
    'elliptic-wheels': 1,
    'two-links': 1,
    'curve-on-curve': 1,
    'contact-freedoms': 10,
  };
  for (const [name, freedoms] of Object.entries(mobility)) {
    const r = command(['run', name, '--seconds', '3']);
    assert.equal(r.code, 0, r.err);
    const s = JSON.parse(r.out),
      e = s.energy;
    const off = e.final - e.initial - e.work_in + e.dissipated - e.edits;
    assert.ok(Math.abs(off) < 1e-9, `${name}: energy off by ${off} J`);
    assert.equal(s.mobility, freedoms, name);
    assert.deepEqual(s.events, [], name);
    assert.ok(s.penetration_max < 1e-4 && s.constraint_residual_max < 1e-9, name);
  }
});

test('run tells in its summary that a bead has come to the end of its wire, and how often', () => {
  const wire = { type: 'nurbs-curve', degree: 1, knots: [0, 0, 1, 1] };
  const scene = {
    format: 'guideway-scene/1',
    name: 'bead',
    gravity: [0, 0, -1],
    objects: [
      { id: 'wire', geometry: { ...wire, points: [0, 1].map((z) => [0, 0, z]) }, fixed: true },
      {
        id: 'bead',
        geometry: { type: 'sphere', radius: 0.05 },
        pose: { p: [0, 0, 0.5], q: [1, 0, 0, 0] },
        free: true,
      },
    ],
    constraints: [{ id: 'c1', type: 'coincident', a: 'bead/center', b: 'wire/curve' }],
  };
  const told = (seconds) => {
    const r = command(['run', '-', '--seconds', String(seconds)], JSON.stringify(scene));
    assert.equal(r.code, 0, r.err);
    return JSON.parse(r.out).events;
  };
  assert.deepEqual(told(0.9), []);
  const [edge, ...more] = told(1.5); // it falls half a metre in a second
  assert.deepEqual(more, []);
  assert.equal(edge.kind, 'edge');
  assert.equal(edge.severity, 'info');
  assert.ok(Math.abs(edge.time - 1) < 0.003 && edge.tick === Math.round(1000 * edge.time), `${edge.time} s`);
  assert.match(edge.message, /^bead has come to the edge of a free-form shape/);
  assert.equal(edge.object, 'bead');
});

// ten minutes of it are off by 1e-12 of the energy, too
test('what slides or rolls on a saddle without friction keeps its energy', () => {
  const scene = JSON.parse(readFileSync(join(root, 'scenes/rolling-on-saddle.json'), 'utf8'));
  const [, ball, egg] = scene.objects;
  delete scene.tool;
  delete scene.devices;
  for (const o of [ball, egg]) delete o.body.damping;
  Object.assign(ball, { free: true, velocity: { v: [0.05, 0.02, 0], w: [0, 0, 1] } });
  egg.velocity = { v: [0.03, -0.02, 0], w: [0.3, 0, 0] };
  const tied = (object, p) => ({
    id: `spring-${object}`,
    a: { object, p: [0, 0, 0] },
    b: { object: 'saddle', p },
    stiffness: 1.5,
    damping: 0,
    length: 0,
  });
  scene.springs = [tied('ball', [-0.08, -0.05, 0.02]), tied('egg', [0.1, 0.07, 0.02])];
  for (const types of [
    ['sliding', 'sliding'],
    ['rolling', 'pure-rolling'],
  ]) {
    scene.constraints.forEach((c, i) => {
      c.type = types[i];
    });
    const file = join(scratch, 'saddle.json');
    writeFileSync(file, JSON.stringify(scene));
    const r = command(['run', file, '--seconds', '20']);
    assert.equal(r.code, 0, r.err);
    const { energy: e } = JSON.parse(r.out);
    assert.ok(Math.abs(e.final - e.initial) < 1e-8 * e.initial, `${types}: ${e.final} J of ${e.initial} J`);
  }
});

test('surfaces are fitted to points, lofted, revolved, swept and converted', async () => {
  const made = (ask) => {
    writeFileSync(join(scratch, 'ask.json'), JSON.stringify(ask));
    const r = command(['surface', join(scratch, 'ask.json')]);
    assert.equal(r.code, 0, r.err);
    return JSON.parse(r.out);
  };
  const wave = (i, j) => [i / 9, j / 7, 0.1 * Math.sin(i / 3) * Math.cos(j / 3)];
  const points = Array.from({ length: 10 }, (_, i) => Array.from({ length: 8 }, (_, j) => wave(i, j)));
  const through = made({ fit: { points } }),
    near = made({ fit: { points, degree: [3, 2], count: [6, 5] } });
  assert.ok(through.deviation < 1e-12 && near.deviation > 1e-6 && near.deviation < 0.01);
  assert.deepEqual([near.geometry.points.length, near.geometry.points[0].length], [6, 5]);
  const profile = [0.1, 0.2, 0.15].map((x, k) => [x, 0, 0.1 * k]);
  const vase = made({ revolve: { profile } }).geometry;
  assert.equal(vase.weights.length, 9);
  assert.deepEqual(made({ loft: { sections: points.slice(0, 4) } }).geometry.degree, [3, 3]);
  assert.deepEqual(
    made({
      sweep: {
        profile,
        path: [
          [0, 0, 0],
          [0, 1, 0],
        ],
      },
    }).geometry.degree,
    [2, 1],
  );
  const torus = made({ convert: { type: 'torus', radius: 0.1, tube_radius: 0.02 } }).geometry;
  const touch = { type: 'coincident', mobile: { point: [0, 0, 0] }, fixed: { surface: { ...torus, type: undefined } } };
  const { pose } = solve({ mobile: { pose: { p: [0.3, 0.4, 0.1] } }, constraints: [touch] }).branches[0].nearest;
  const [x, y, z] = pose.p;
  assert.ok(Math.abs(Math.hypot(Math.hypot(x, y) - 0.1, z) - 0.02) < 1e-15);
  assert.ok(Math.abs(z * (0.5 - 0.1) - 0.1 * (Math.hypot(x, y) - 0.1)) < 1e-12); // towards the point
  const server = await start();
  try {
    const convert = (primitive) => request(server, 'POST', '/api/v1/surfaces', { convert: primitive });
    assert.equal((await convert({ type: 'sphere', radius: 0.1 })).json.geometry.points.length, 9);
    const narrow = (await convert({ type: 'torus', radius: 0.1, tube_radius: 0.2 })).json.errors[0];
    assert.equal(narrow.pointer, '/convert/tube_radius');
    const same = await request(server, 'POST', '/api/v1/surfaces', { revolve: { profile } });
    assert.deepEqual(same.json.geometry, vase);
    const object = { id: 'vase', geometry: vase, fixed: true };
    assert.equal((await request(server, 'POST', '/api/v1/objects', object)).status, 201);
    const refused = await request(server, 'POST', '/api/v1/surfaces', { fit: { points, count: 2 } });
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.json.errors[0].pointer, '/fit/count');
    for (const degree of [[2], [2, 2, 2]]) {
      const { status, json } = await request(server, 'POST', '/api/v1/surfaces', { fit: { points, degree } });
      assert.deepEqual([status, json.errors[0].pointer], [400, '/fit/degree']);
    }
    const wrong = async (revolve) =>
      (await request(server, 'POST', '/api/v1/surfaces', { revolve })).json.errors[0].pointer;
    assert.equal(await wrong({ profile: [...profile, 7] }), '/revolve/profile/3');
    assert.equal(await wrong({ profile: [...profile, [0, 0, 'x']] }), '/revolve/profile/3/2');
    assert.equal(await wrong({ profile: [...profile, profile[2]] }), '/revolve/profile');
    assert.equal(await wrong({ profile: points }), '/revolve/profile');
    assert.equal(await wrong({ profile, angle: 1e-300 }), '/revolve/angle');
    const across = { profile: [-1, 1].map((x) => [x, 0, x]), point: [0, 0, 0.5] };
    const crossing = (await request(server, 'POST', '/api/v1/surfaces', { revolve: across })).json.errors[0];
    assert.equal(crossing.pointer, '/revolve/profile');
    assert.match(crossing.detail, /meets the axis between its ends, at \[0, 0, 0\] m/);
    const line = [0, 1].map((z) => [0, 0, z]); // on the axis: a surface without area
    assert.equal(await wrong({ profile: line }), '/revolve');
  } finally {
    await server.stop();
  }
});

test('a contact names the constraint that it belongs to', async () => {
  const ball = (id, x, z) => ({
    id,
    geometry: { type: 'sphere', radius: 0.05 },
    pose: { p: [x, 0.5, z], q: [1, 0, 0, 0] },
    free: true,
  });
  const scene = {
    format: 'guideway-scene/1',
    name: 'Skate',
    gravity: [0, 0, -9.81],
    contact: {},
    objects: [
      {
        id: 'floor',
        geometry: { type: 'box', size: [4, 4, 0.2] },
        pose: { p: [0, 0, -0.1], q: [1, 0, 0, 0] },
        fixed: true,
      },
      {
        id: 'skate',
        geometry: {
          type: 'compound',
          parts: [-0.2, 0.2].map((x) => ({
            geometry: { type: 'sphere', radius: 0.05 },
            pose: { p: [x, 0, 0], q: [1, 0, 0, 0] },
          })),
        },
        pose: { p: [0, 0, 0.05], q: [1, 0, 0, 0] },
        free: true,
      },
      ball('held-off', 1, 0.05),
      ball('lying', -1, 0.05),
    ],
    // the second part's first: no order of contacts tells which is which
    constraints: [
      { id: 'front', type: 'sliding', a: 'skate/part1.surface', b: 'floor/+z' },
      { id: 'back', type: 'rolling', a: 'skate/part0.surface', b: 'floor/+z' },
      { id: 'one-sided', type: 'rolling', a: 'held-off/surface', b: 'floor/+z', contact: 'unilateral' },
    ],
  };
  const server = await start();
  try {
    assert.equal((await request(server, 'PUT', '/api/v1/scene', scene)).status, 200);
    await request(server, 'PUT', '/api/v1/simulation', { state: 'paused' });
    await request(server, 'POST', '/api/v1/simulation/step', { ticks: 50 });
    const { json: body } = await request(server, 'GET', '/api/v1/contacts');
    const of = Object.fromEntries(body.filter((c) => c.constraint).map((c) => [c.constraint, c]));
    assert.deepEqual(Object.keys(of).sort(), ['back', 'front', 'one-sided']);
    assert.ok(Math.abs(of.front.point[0] - 0.2) < 1e-6, `${of.front.point}`);
    assert.ok(Math.abs(of.back.point[0] + 0.2) < 1e-6, `${of.back.point}`);
    assert.ok([of['one-sided'].a, of['one-sided'].b].includes('held-off'));
    const free = body.filter((c) => [c.a, c.b].includes('lying'));
    assert.ok(free.length > 0);
    for (const c of free) assert.equal(c.constraint, undefined);
  } finally {
    await server.stop();
  }
});

test('parameters of a general set mean the same in a problem and in a scene', async () => {
  const on = [
    [0.1, 0, 0],
    [-0.05, 0.08, 0],
    [-0.05, -0.08, 0.02],
  ];
  const above = [
    [0.3, 0.02, 0.4],
    [-0.2, 0.25, 0.35],
    [-0.15, -0.3, 0.42],
  ];
  const server = await start();
  try {
    const put = await request(server, 'PUT', '/api/v1/scene', {
      format: 'guideway-scene/1',
      name: 'Three legs',
      objects: [
        { id: 'base', geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, fixed: true },
        {
          id: 'plate',
          geometry: { type: 'box', size: [0.3, 0.3, 0.02] },
          pose: { p: [0, 0, 0.05], q: [1, 0, 0, 0] },
        },
      ],
      features: on.flatMap((p, i) => [
        { id: `plate/p${i}`, point: p },
        { id: `base/f${i}`, point: above[i] },
      ]),
      constraints: on.map((_, i) => ({ id: `c${i}`, type: 'distance', value: 0.5, a: `plate/p${i}`, b: `base/f${i}` })),
      tool: { object: 'plate', device: 'sim' },
      devices: [{ id: 'sim', driver: 'sim' }],
    });
    assert.equal(put.status, 200);
    const { zero: pose } = (await request(server, 'GET', '/api/v1/solutions/plate')).json.branches[0];
    const wanted = [0.3, -0.2, 0.25]; // far enough to tell a geodesic from a straight way
    const problem = solve({
      mobile: { pose },
      constraints: on.map((p, i) => ({
        type: 'distance',
        value: 0.5,
        mobile: { point: p },
        fixed: { point: above[i] },
      })),
      at: { branch: 'b0', parameters: [wanted] },
    });
    const set = await request(server, 'PATCH', '/api/v1/solutions/plate', { parameters: wanted });
    assert.equal(set.status, 200, JSON.stringify(set.json));
    const now = (await request(server, 'GET', '/api/v1/objects/plate')).json.pose;
    const [at] = problem.branches[0].samples;
    for (let k = 0; k < 3; k++) assert.ok(Math.abs(now.p[k] - at.pose.p[k]) < 1e-9, `${now.p} ${at.pose.p}`);
    const cosine = now.q.reduce((sum, x, k) => sum + x * at.pose.q[k], 0);
    assert.ok(1 - Math.abs(cosine) < 1e-12);
  } finally {
    await server.stop();
  }
});

// A valley z = k x^2 over -0.3 .. 0.3, straight along y: it folds at an offset of 1 / (2 k).
const valley = (k, w) => ({
  type: 'nurbs-surface',
  degree: [2, 1],
  knots: [
    [0, 0, 0, 1, 1, 1],
    [0, 0, 1, 1],
  ],
  points: [1, -1, 1].map((z, i) => [-w, w].map((y) => [(i - 1) * w, y, k * w * w * z])),
});

// Columns NAME.* of a row of `run --bodies`.
const runBodies = (scene, seconds) => {
  const file = join(scratch, 'bodies.csv');
  const r = command(['run', '-', '--seconds', String(seconds), '--bodies', file], JSON.stringify(scene));
  assert.equal(r.code, 0, r.err);
  const [names, ...rows] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  const column = new Map(names.map((name, k) => [name, k]));
  const summary = JSON.parse(r.out),
    e = summary.energy;
  assert.ok(e.final - e.initial - e.work_in + e.dissipated - e.edits < 1e-12, 'no energy comes of a stop');
  assert.ok(Math.abs(e.final - e.initial - e.work_in + e.dissipated - e.edits) < 1e-12, 'the audit closes');
  const vector = (row, name, kind, axes) => axes.map((axis) => Number(row[column.get(`${name}.${kind}${axis}`)]));
  return {
    summary,
    at: rows.map((row) => ({
      t: Number(row[0]),
      p: (name) => vector(row, name, 'p', ['x', 'y', 'z']),
      q: (name) => vector(row, name, 'q', ['w', 'x', 'y', 'z']),
    })),
  };
};
// The first axis of a body of orientation q.
const firstAxis = ([w, x, y, z]) => [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)];
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const minus = (a, b) => a.map((x, i) => x - b[i]);

test('a bead on a wire that moves stops at its end, stays while it is pressed, and leaves', () => {
  const still = [1, 0, 0, 0];
  const body = (mass, inertia) => ({ mass, com: [0, 0, 0], inertia: [inertia, inertia, inertia, 0, 0, 0] });
  const scene = (gravity, v, type) => ({
    format: 'guideway-scene/1',
    name: 'bead',
    gravity,
    objects: [
      { id: 'ground', geometry: { type: 'box', size: [0.01, 0.01, 0.01] }, fixed: true },
      {
        id: 'wire',
        geometry: {
          type: 'nurbs-curve',
          degree: 1,
          knots: [0, 0, 1, 1],
          points: [
            [0, 0, 0],
            [1, 0, 0],
          ],
        },
        free: true,
        body: body(0.2, 0.01),
      },
      {
        id: 'bead',
        geometry: { type: 'sphere', radius: 0.01 },
        pose: { p: [0.5, 0, 0], q: still },
        free: true,
        velocity: { v },
        body: body(0.1, 1e-5),
      },
    ],
    constraints: [{ id: 'on', type: 'coincident', a: 'bead/center', b: 'wire/curve' }],
    joints: type
      ? [
          {
            id: 'j',
            type,
            a: { object: 'wire', at: { p: [0, 0, 0], q: still } },
            b: { object: 'ground', at: { p: [0, 0, 0], q: still } },
          },
        ]
      : [],
  });
  const cases = {
    // 0.1 kg at 1 m/s takes 0.2 kg along: a third of the energy is left, and they stay together
    free: { scene: scene([0, 0, 0], [1, 0, 0]), seconds: 1, from: 0.5, energy: 0.05 / 3 },
    // along the wire, which slides across itself
    slides: { scene: scene([0, 0, -9.81], [0.8, 0, 0], 'prismatic'), seconds: 1, from: 0.63 },
    // the wire falls about its other end, hangs and swings: the bead is thrown and pressed outwards
    swings: { scene: scene([0, -9.81, 0], [0, 0, 0], 'revolute'), seconds: 2, from: 0.5 },
  };
  for (const [name, c] of Object.entries(cases)) {
    const { summary, at } = runBodies(c.scene, c.seconds);
    const along = at.map((x) => dot(minus(x.p('bead'), x.p('wire')), firstAxis(x.q('wire'))));
    assert.ok(Math.max(...along) < 1 + 1e-6, `${name}: ${Math.max(...along) - 1} m past its end`);
    const left = at.filter((x, i) => x.t > c.from && Math.abs(along[i] - 1) > 1e-6);
    assert.equal(left.length, 0, `${name}: it stays`);
    assert.deepEqual(
      summary.events.map((e) => e.kind),
      ['edge'],
      name,
    );
    if (c.energy) assert.ok(Math.abs(summary.energy.final - c.energy) < 1e-12, `${summary.energy.final} J`);
  }
  // gravity brakes it, and takes it back from where it has stopped
  const back = scene([0, 0, 0], [1, 0, 0], 'prismatic');
  back.gravity = [-0.5, 0, 0];
  const { at } = runBodies(back, 2);
  const x = at.map((row) => row.p('bead')[0]);
  assert.ok(Math.max(...x) > 1 - 1e-6, 'it comes to the end');
  const last = at[at.length - 1].t - (2 - Math.SQRT2); // since it came there
  assert.ok(Math.abs(x[x.length - 1] - 1 + 0.25 * last * last) < 1e-6, `it leaves: ${x[x.length - 1]} m`);
});

test('a belt stops where its edge leaves a pulley, and turns back', () => {
  const scene = JSON.parse(readFileSync(join(root, 'scenes/belt-drive.json'), 'utf8'));
  for (const torque of [0.02, 0.2]) {
    const turned = [torque, -torque].map((y, i) => ({ t: 2 * i, force: [0, 0, 0], torque: [0, y, 0] }));
    scene.devices[0].operator.samples = turned;
    const { at, summary } = runBodies(scene, 3);
    // how far the driver's centre, and so where the belt touches it, is from either end of the belt
    const within = at.map((x) => 0.42 - Math.abs(dot(minus(x.p('driver'), x.p('belt')), firstAxis(x.q('belt')))));
    assert.ok(Math.min(...within) > -1e-9, `${torque} N m: ${-Math.min(...within)} m past its end`);
    const resting = within.filter((_, i) => at[i].t > 1.6 && at[i].t < 2);
    assert.ok(Math.max(...resting) < 1e-9, `${torque} N m: it rests ${Math.max(...resting)} m off`);
    assert.ok(within[within.length - 1] > 0.01, 'it leaves');
    assert.ok(summary.events.every((e) => e.kind === 'edge') && summary.events.length > 0);
  }
});

test('what is held over a surface ends at its edges and where its offset folds', () => {
  const scene = (constraints, z, samples) => ({
    format: 'guideway-scene/1',
    name: 'over a valley',
    objects: [
      { id: 'valley', geometry: valley(3, 0.3), fixed: true },
      {
        id: 'tool',
        geometry: { type: 'box', size: [0.1, 0.02, 0.02] },
        pose: { p: [-0.2, 0, z], q: [1, 0, 0, 0] },
        body: { mass: 1 },
      },
    ],
    features: [
      { id: 'tool/p', point: [-0.04, 0, 0] },
      { id: 'tool/q', point: [0.04, 0, 0] },
      { id: 'tool/axis', line: { point: [0, 0, 0], direction: [0, 0, 1] } },
    ],
    constraints: constraints.map(([type, a, value], i) => ({
      id: `c${i}`,
      type,
      a: `tool/${a}`,
      b: 'valley/surface',
      value,
    })),
    tool: { object: 'tool', device: 'sim' },
    devices: [{ id: 'sim', driver: 'sim', operator: { type: 'wrench', samples } }],
  });
  const push = (...f) => f.map((force, i) => ({ t: 2 * i, force, torque: [0, 0, 0] }));
  const there = push([1, 0.3, 0], [-2, -0.6, 0], [0.5, 0.1, 0]);
  for (const [name, constraints, reach, samples] of [
    [
      'two points on it',
      [
        ['coincident', 'p', 0],
        ['coincident', 'q', 0],
      ],
      0.31,
      there,
    ],
    [
      'two points over it',
      [
        ['distance', 'p', 0.05],
        ['distance', 'q', 0.05],
      ],
      0.31,
      there,
    ],
    ['a point beyond the focal distance', [['distance', 'p', 0.25]], 0.35, there],
    ['an axis beyond it', [['normal', 'axis', 0.25]], 0.35, there],
  ]) {
    const file = join(scratch, 'valley.json'),
      csv = join(scratch, 'valley.csv');
    writeFileSync(file, JSON.stringify(scene(constraints, 0.3, samples)));
    const { code, out, err } = command(['run', file, '--seconds', '6', '--csv', csv]);
    assert.equal(code, 0, err);
    const s = JSON.parse(out);
    const { initial, final, work_in: work, dissipated } = s.energy;
    assert.ok(s.constraint_residual_max < 1e-6, `${name}: ${s.constraint_residual_max}`);
    assert.ok(Math.abs(final - initial - work + dissipated) < 1e-5 * work, `${name}: ${JSON.stringify(s.energy)}`);
    assert.ok(s.events.some((e) => e.kind === 'edge') && s.events.every((e) => e.kind !== 'not-finite'), name);
    const rows = readFileSync(csv, 'utf8')
      .trim()
      .split('\n')
      .map((l) => l.split(',').map(Number));
    for (const r of rows.slice(1)) {
      assert.ok(Math.hypot(r[1], r[2]) < 0.5 && Math.abs(r[1]) < reach, `${name}: at ${r.slice(1, 4)}`);
      assert.ok(Math.hypot(r[8], r[9], r[10]) < 3, `${name}: ${r.slice(8, 11)} m/s`);
    }
  }
});

test('what is fixed and heavy takes no accuracy from what slides on it', () => {
  const R = 12;
  const around = [1, 1, 0, -1, -1, -1, 0, 1, 1];
  const arc = [
    [0, -1],
    [1, -1],
    [1, 0],
    [1, 1],
    [0, 1],
  ];
  const knots = (n) => [0, ...Array.from({ length: n }, (_, i) => [i, i]).flat(), n - 1].map((x) => x);
  const ball = {
    type: 'nurbs-surface',
    degree: [2, 2],
    knots: [knots(5), knots(3)],
    points: around.map((x, i) => arc.map(([r, z]) => [2 * r * x, 2 * r * around[(i + 6) % 8], 2 * z])),
    weights: around.map((_, i) => arc.map((_, j) => (i % 2 ? half : 1) * (j % 2 ? half : 1))),
  };
  const ends = [ball, { type: 'sphere', radius: 2 }].map((geometry) => {
    const scene = {
      format: 'guideway-scene/1',
      name: 'on a tank',
      gravity: [0, 0, -9.81],
      rate: 500,
      objects: [
        {
          id: 'tank',
          geometry: { type: 'cylinder', radius: R, height: 80 },
          pose: { p: [0, 0, -R], q: [half, 0, half, 0] },
          fixed: true,
        },
        {
          id: 'ball',
          geometry,
          pose: { p: [0, 0, 2], q: [0.6, 0.48, 0.64, 0] },
          free: true,
          body: { mass: 1, com: [0, 0, 0], inertia: [1.6, 1.6, 1.6, 0, 0, 0] },
          velocity: { v: [1, 0.4, 0], w: [0, 0, 0] },
        },
      ],
      constraints: [{ id: 'c1', type: 'sliding', a: 'ball/surface', b: 'tank/surface' }],
    };
    const file = join(scratch, 'tank.json'),
      csv = join(scratch, 'tank.csv');
    writeFileSync(file, JSON.stringify(scene));
    const { code, out, err } = command(['run', file, '--seconds', '10', '--bodies', csv]);
    assert.equal(code, 0, err);
    const { initial, final } = JSON.parse(out).energy;
    assert.ok(Math.abs(initial) < 100 && Math.abs(final - initial) < 1e-8, `${initial} ${final} J`);
    return readFileSync(csv, 'utf8').trim().split('\n').at(-1).split(',').slice(1, 4).map(Number);
  });
  for (let k = 0; k < 3; k++) assert.ok(Math.abs(ends[0][k] - ends[1][k]) < 1e-9, `${ends}`);
});

// Contacts see free-form surfaces, too, with no constraint stated.
test('what falls on a free-form sheet lies on it', () => {
  const size = 0.05,
    radius = 0.03;
  const scene = {
    format: 'guideway-scene/1',
    gravity: [0, 0, -9.81],
    contact: { enabled: true },
    objects: [
      { id: 'sheet', geometry: flatSheet, fixed: true },
      { id: 'bowl', geometry: halfTube(0.2, 0.6), pose: { p: [1.5, 0, 0.2] }, fixed: true },
      { id: 'box', geometry: { type: 'box', size: [size, size, size] }, pose: { p: [0.1, 0, 0.1] }, free: true },
      { id: 'ball', geometry: { type: 'sphere', radius }, pose: { p: [1.5, 0.1, 0.1] }, free: true },
    ],
  };
  const end = runBodies(scene, 3).at.at(-1);
  const [, , box] = end.p('box'),
    [x, y, z] = end.p('ball');
  assert.ok(Math.abs(box - size / 2) < 2e-4, `the box at ${box}`);
  assert.ok(Math.abs(z - radius) < 1e-3, `the ball at ${z}`);
  assert.ok(Math.abs(x - 1.5) < 0.02 && Math.abs(y - 0.1) < 0.01, `the ball at ${x}, ${y}`);
});
