// Free bodies and floating systems that hit one another and stay together: no other force acts, so that momentum is
// kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { about, add, cross, dot, rotate, run } from './headless.mjs';
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

// The last ones turn too fast to step in lockstep.
for (let seed = 1; seed <= 32; seed++)
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
          w: Array.from({ length: 3 }, () => (seed > 24 ? 50 : 1) * between(-2, 2)),
        },
      };
    });
    const material = { id: 'm', restitution: pick([0, 0, 0.3, 1]), friction: pick([0, 0.3]) };
    const done = run({ gravity: [0, 0, 0], materials: [material], contact: { enabled: true }, objects }, 0.8);
    const [before, after] = [0, -1].map((k) => momenta(done, objects, k));
    assert.ok(Math.hypot(...add(after[0], before[0], -1)) < 1e-12, `${add(after[0], before[0], -1)} N s`);
    assert.ok(Math.hypot(...add(after[1], before[1], -1)) < 1e-6, `${add(after[1], before[1], -1)} N m s`);
  });

// Two bodies that meet, turning, with an edge or a rim of each at a point: both have the normal t_a x t_b there. Each
// in its own frame: the point, the tangent, and the normals of the two faces there.
const unit = (v) => v.map((x) => x / Math.hypot(...v));
const times = ([w, ...u], [s, ...v]) => [w * s - dot(u, v), ...add(add(cross(u, v), v, w), u, s)];
const onRim = (geometry, end, angle, rise) => {
  const out = [Math.cos(angle), Math.sin(angle), 0];
  const point = [...out.slice(0, 2).map((x) => geometry.radius * x), end * geometry.height];
  return {
    geometry,
    point,
    tangent: cross([0, 0, 1], out),
    normals: [[0, 0, end < 0 ? -1 : 1], unit([...out.slice(0, 2), rise])],
  };
};
const EDGES = {
  box: (x) => ({
    geometry: { type: 'box', size: [0.1, 0.08, 0.12] },
    point: [0.05, -0.04, 0.03 * Math.cos(x)],
    tangent: [0, 0, 1],
    normals: [
      [1, 0, 0],
      [0, -1, 0],
    ],
  }),
  cylinder: (x) => onRim({ type: 'cylinder', radius: 0.04, height: 0.08 }, 0.5, x, 0),
  cone: (x) => {
    const rim = onRim({ type: 'cone', radius: 0.04, height: 0.08 }, 0, x, 0.5);
    return { ...rim, normals: [[0, 0, -1], rim.normals[1]] };
  },
  capsule: (x) => ({
    geometry: { type: 'capsule', radius: 0.03, height: 0.1 },
    point: [0.03 * Math.cos(x), 0.03 * Math.sin(x), 0.02],
    tangent: [0, 0, 1],
    normals: Array(2).fill([Math.cos(x), Math.sin(x), 0]),
  }),
};
// The edge with that outward normal at the origin, turned about it.
const placed = ({ geometry, point, tangent, normals }, share, outward, turn) => {
  const out = unit(add(normals[0], add(normals[1], normals[0], -1), share));
  const q = times(about(outward, turn), unit([1 + dot(out, outward), ...cross(out, outward)]));
  return { geometry, q, p: rotate(q, point).map((x) => -x), tangent: rotate(q, tangent) };
};

for (const pair of [
  'box cylinder',
  'cylinder box',
  'cone box',
  'cylinder cylinder',
  'cone cylinder',
  'cylinder capsule',
])
  for (let seed = 1; seed <= 4; seed++)
    test(`rims hit along the normal to both edges: ${pair}, ${seed}`, () => {
      const { random } = generator(seed);
      const between = (low, high) => low + (high - low) * random();
      const vector = (size) => Array.from({ length: 3 }, () => between(-size, size));
      const kinds = pair.split(' '),
        n = unit(vector(1)),
        before = between(0.011, 0.019);
      let ends;
      do
        ends = kinds.map((kind, i) =>
          placed(
            EDGES[kind](between(0, 6)),
            between(0.25, 0.75),
            n.map((x) => (i ? x : -x)),
            between(0, 6),
          ),
        );
      while (Math.hypot(...cross(ends[0].tangent, ends[1].tangent)) < 0.4);
      const bodies = ends.map(({ geometry, q, p }, i) => ({
        mass: i + 1,
        inertia: 1e-3 * (i + 1),
        p,
        q,
        geometry,
        v: add(vector(0.3), n, i ? 0.4 : -0.4),
        w: vector(2),
      }));
      // at a point of the normal, and of an impulse along it at the origin
      const rate = bodies.reduce((sum, { v, w, p }, i) => sum + (i ? -1 : 1) * dot(n, add(v, cross(w, p), -1)), 0);
      const mobility = bodies.reduce(
        (sum, { mass, inertia, p }) => sum + 1 / mass + dot(cross(p, n), cross(p, n)) / inertia,
        0,
      );
      const impulse = (-2 * rate) / mobility;
      const objects = bodies.map(({ mass, inertia, p, q, geometry, v, w }, i) => ({
        id: `b${i}`,
        geometry,
        material: 'm',
        pose: { p: add(p, v, -before), q: times(about(unit(w), -before * Math.hypot(...w)), q) },
        free: true,
        body: { mass, com: [0, 0, 0], inertia: [inertia, inertia, inertia, 0, 0, 0] },
        velocity: { v, w },
      }));
      const materials = [{ id: 'm', restitution: 1, friction: 0 }];
      const done = run({ gravity: [0, 0, 0], materials, contact: { enabled: true }, objects }, 0.022);
      assert.ok(rate < -0.1, `${rate} m/s`);
      bodies.forEach(({ mass, inertia, p, v, w }, i) => {
        const push = i ? -impulse : impulse,
          off = add(done.v(-1, `b${i}`), add(v, n, push / mass), -1),
          turned = add(done.w(-1, `b${i}`), add(w, cross(p, n), -push / inertia), -1);
        assert.ok(Math.hypot(...off) < 1e-10, `${off} m/s`);
        assert.ok(Math.hypot(...turned) < 1e-9, `${turned} rad/s`);
      });
    });

// Two or three floating systems, of bodies that ball joints and hinges join in a row, or of one body alone: they touch
// one another only, each integrated by a formula and in substeps of its own.
const rowOf = (at, count, { pick, between }, system) => {
  const turned = () => {
    const q = Array.from({ length: 4 }, () => between(-1, 1));
    return q.map((x) => x / Math.hypot(...q));
  };
  const objects = Array.from({ length: count }, (_, i) => {
    const mass = pick([0.3, 1, 2]);
    return {
      id: `${system}${i}`,
      geometry: pick(SOME),
      material: 'm',
      pose: { p: [at, 0.16 * (i - (count - 1) / 2), between(-0.02, 0.02)], q: turned() },
      free: true,
      body: {
        mass,
        com: [0, 0, 0],
        inertia: [...Array.from({ length: 3 }, () => mass * between(1e-3, 1.6e-3)), 0, 0, 0],
      },
      velocity: { v: [0.8 - 2.5 * at, between(-0.1, 0.1), between(-0.1, 0.1)], w: [0, 0, 0] },
    };
  });
  const end = ({ id, pose: { p, q } }, middle) => {
    const back = [q[0], -q[1], -q[2], -q[3]];
    return { object: id, at: { p: rotate(back, add(middle, p, -1)), q: back } };
  };
  const joints = objects.slice(1).map((a, i) => {
    const b = objects[i],
      middle = add(a.pose.p, b.pose.p).map((x) => x / 2);
    const type = pick(['spherical', 'revolute']);
    return { id: `${system}-${i}`, type, a: end(a, middle), b: end(b, middle) };
  });
  return { objects, joints };
};

for (let seed = 1; seed <= 20; seed++)
  test(`floating systems of joined bodies keep both momenta, scene ${seed}`, () => {
    const { random, pick } = generator(100 + seed);
    const between = (low, high) => low + (high - low) * random();
    const systems = ['a', 'b', 'c']
      .slice(0, pick([2, 2, 3]))
      .map((name, i) => rowOf(0.3 * i, i ? pick([1, 2, 3, 4]) : pick([2, 3, 4]), { pick, between }, name));
    const objects = systems.flatMap((s) => s.objects),
      joints = systems.flatMap((s) => s.joints);
    const material = { id: 'm', restitution: pick([0, 0, 0, 0.3]), friction: pick([0, 0.3]) };
    const done = run({ gravity: [0, 0, 0], materials: [material], contact: { enabled: true }, objects, joints }, 0.8);
    const [before, after] = [0, -1].map((k) => momenta(done, objects, k));
    assert.ok(Math.hypot(...add(after[0], before[0], -1)) < 1e-8, `${add(after[0], before[0], -1)} N s`);
    assert.ok(Math.hypot(...add(after[1], before[1], -1)) < 1e-8, `${add(after[1], before[1], -1)} N m s`);
    const { initial, final, dissipated } = done.summary.energy;
    assert.ok(Math.abs(final - initial + dissipated) < 1e-12);
  });

// A palm with two fingers that motors drive onto a block floats with it: what the fingers push the block pushes back,
// for as long as they hold it.
for (const force of [1, 20])
  for (const friction of [0, 0.5])
    test(`a floating gripper keeps both momenta with what it holds: ${force} N, friction ${friction}`, () => {
      const part = (id, size, p, mass, v, w = [0, 0, 0]) => ({
        id,
        geometry: { type: 'box', size },
        material: 'm',
        pose: { p },
        free: true,
        body: { mass, com: [0, 0, 0], inertia: [1e-3, 1.2e-3, 0.9e-3].map((x) => x * mass).concat([0, 0, 0]) },
        velocity: { v, w },
      });
      const objects = [
        part('palm', [0.2, 0.05, 0.02], [0, 0, -0.1], 1, [0.1, 0, 0.05]),
        part('left', [0.02, 0.05, 0.12], [-0.06, 0, 0], 0.3, [0.1, 0, 0.05]),
        part('right', [0.02, 0.05, 0.12], [0.06, 0, 0], 0.3, [0.1, 0, 0.05]),
        part('block', [0.08, 0.04, 0.05], [0.003, 0.004, 0.01], 0.5, [0.1, 0.02, 0.05], [0.3, 0.2, 0.5]),
      ];
      const q = about([0, 1, 0], Math.PI / 2);
      const joints = ['left', 'right'].map((finger, i) => ({
        id: `slide-${finger}`,
        type: 'prismatic',
        a: { object: finger, at: { p: [0, 0, -0.1], q } },
        b: { object: 'palm', at: { p: [0, 0, 0], q } },
        motor: { torque: i ? -force : force, max: force },
      }));
      const materials = [{ id: 'm', restitution: 0, friction }];
      const done = run({ gravity: [0, 0, 0], materials, contact: { enabled: true }, objects, joints }, 1);
      const [before, after] = [0, -1].map((k) => momenta(done, objects, k));
      assert.ok(Math.hypot(...add(after[0], before[0], -1)) < 1e-10, `${add(after[0], before[0], -1)} N s`);
      assert.ok(Math.hypot(...add(after[1], before[1], -1)) < 1e-8, `${add(after[1], before[1], -1)} N m s`);
      const { initial, final, motors, dissipated } = done.summary.energy;
      assert.ok(Math.abs(final - initial - motors + dissipated) < 1e-12);
    });

// A body whose side comes down on a table's edge, tilted across it: the lowest line of the side is over the edge, where
// the table's top and the edge have different normals.
for (const [name, geometry] of [
  ['capsule', { type: 'capsule', radius: 0.03, height: 0.2 }],
  ['cylinder', { type: 'cylinder', radius: 0.03, height: 0.2 }],
  ['cone', { type: 'cone', radius: 0.04, height: 0.2 }],
])
  for (const tilt of [0.02, 0.09, 0.11, 0.4, 0.7])
    test(`a ${name} tilted by ${tilt} rad hits an edge along the normal to both`, () => {
      const n = [Math.sin(tilt), 0, Math.cos(tilt)],
        along = [Math.cos(tilt), 0, -Math.sin(tilt)],
        before = 0.0123;
      // the contact is at the origin; `end`: the apex of a cone, else where the lowest line has its middle
      const half = name === 'cone' ? Math.atan(0.2) : 0,
        axis = add(add([0, 0, 0], n, -Math.sin(half)), along, Math.cos(half)),
        end = along.map((x) => (name === 'cone' ? 0.12 : 0.01) * x);
      const at = name === 'cone' ? add(end, axis, -0.2) : add(end, n, 0.03),
        q = about([0, 1, 0], Math.atan2(axis[0], axis[2])),
        [v, w] = [
          [0.1, 0.05, -1],
          [0.3, 0.5, -0.4],
        ],
        inertia = 1.2e-3;
      const arm = cross(at, n).map((x) => -x),
        rate = dot(n, v) + dot(arm, w),
        impulse = (-2 * rate) / (1 + dot(arm, arm) / inertia);
      const object = {
        id: 'a',
        geometry,
        material: 'm',
        pose: { p: add(at, v, -before), q: times(about(unit(w), -before * Math.hypot(...w)), q) },
        free: true,
        body: { mass: 1, com: [0, 0, 0], inertia: [inertia, inertia, inertia, 0, 0, 0] },
        velocity: { v, w },
      };
      const table = {
        id: 'table',
        geometry: { type: 'box', size: [0.4, 0.8, 0.2] },
        material: 'm',
        fixed: true,
        pose: { p: [-0.2, 0, -0.1], q: [1, 0, 0, 0] },
      };
      const materials = [{ id: 'm', restitution: 1, friction: 0 }];
      const done = run({ gravity: [0, 0, 0], materials, contact: { enabled: true }, objects: [object, table] }, 0.014);
      const wrong = [
        add(done.v(-1, 'a'), add(v, n, impulse), -1),
        add(done.w(-1, 'a'), add(w, arm, impulse / inertia), -1),
      ];
      assert.ok(Math.hypot(...wrong[0]) < 1e-10, `${wrong[0]} m/s`);
      assert.ok(Math.hypot(...wrong[1]) < 1e-9, `${wrong[1]} rad/s`);
    });

// Edges that rise outwards under the rim of a cylinder, and level ones round the side of a cone whose apex is below
// them: without friction each spins on where it is.
for (const [name, spin] of [
  ['cylinder', 2],
  ['cylinder', 20],
  ['cone', 0],
  ['cone', 20],
])
  test(`a ${name} spins on three edges at ${spin} rad/s`, () => {
    const cone = name === 'cone',
      root = Math.SQRT1_2,
      half = Math.atan(0.5);
    const bars = [0.1, 0.1 + (2 * Math.PI) / 3, 0.1 + (4 * Math.PI) / 3].map((at, i) => {
      const round = about([0, 0, 1], at);
      // the edge +y+z of the bar is at the contact, in the plane y = 0 before it is turned round z
      const lean = cone
        ? times(
            about([0, 1, 0], half - Math.PI / 2),
            times(about([0, 0, 1], Math.PI / 2), about([1, 0, 0], Math.PI / 4)),
          )
        : times(about([0, 1, 0], -Math.PI / 4), about([1, 0, 0], Math.PI / 4));
      const up = cone ? [-Math.cos(half), 0, Math.sin(half)] : [-root, 0, root];
      const p = add([cone ? 0.025 : 0.04, 0, 0], up, -0.02 * Math.SQRT2);
      return {
        id: `bar${i}`,
        geometry: { type: 'box', size: [0.06, 0.04, 0.04] },
        material: 'm',
        fixed: true,
        pose: { p: rotate(round, p), q: times(round, lean) },
      };
    });
    const top = {
      id: 'top',
      geometry: { type: name, radius: 0.04, height: 0.08 },
      material: 'm',
      pose: cone ? { p: [0, 0, 0.03], q: [0, 1, 0, 0] } : { p: [0, 0, 0.04], q: [1, 0, 0, 0] },
      free: true,
      body: { mass: 1, com: [0, 0, 0], inertia: [6e-4, 6e-4, 3e-4, 0, 0, 0] },
      velocity: { v: [0, 0, 0], w: [0, 0, spin] },
    };
    const materials = [{ id: 'm', restitution: 0, friction: 0 }];
    const done = run({ gravity: [0, 0, -9.81], materials, contact: { enabled: true }, objects: [...bars, top] }, 1);
    assert.ok(Math.hypot(...add(done.p(-1, 'top'), top.pose.p, -1)) < 1e-5, `${done.p(-1, 'top')} m`);
    assert.ok(Math.hypot(...add(done.w(-1, 'top'), [0, 0, spin], -1)) < 1e-3, `${done.w(-1, 'top')} rad/s`);
  });
