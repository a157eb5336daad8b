// A sphere that is written as NURBS moves what is on it as the primitive does, whatever joins them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { command } from './command.mjs';
import { G, run } from './headless.mjs';
import { near } from './running.mjs';

const R = 0.1;
const sphere = { type: 'sphere', radius: R };
const { out } = command(['surface', '-'], JSON.stringify({ convert: sphere }));
const nurbs = JSON.parse(out).geometry;
const ball = { geometry: sphere, body: { mass: 2, inertia: [0.008, 0.008, 0.008, 0, 0, 0] } };
const other = {
  id: 'other',
  geometry: { type: 'sphere', radius: 0.05 },
  // on none of the sets below, and its axis leads past the poles
  pose: {
    p: [0.05, 0.03, 0.14],
    q: [0.9233805168766388, 0.10259783520851541, -0.20519567041703082, 0.30779350562554625],
  },
  body: { mass: 1, inertia: [0.0012, 0.0015, 0.001, 0.0001, 0, 0.0002] },
};
const features = [
  { id: 'other/p', point: [0.01, 0, 0.02] },
  { id: 'other/axis', line: { point: [0, 0, 0.01], direction: [0, 0, 1] } },
  { id: 'other/foot', point: [0, 0, 0.01] },
];
const velocity = { v: [0.1, 0.05, 0], w: [1, 2, -1] };
// constraints with the sphere's surface, and of the primitive where it has no such surface
const kinds = {
  coincident: [
    [{ type: 'coincident', a: 'other/p', b: 'ball/surface' }],
    [{ type: 'distance', a: 'other/p', b: 'ball/center', value: R }],
  ],
  'distance outside': [
    [{ type: 'distance', a: 'other/p', b: 'ball/surface', value: 0.02 }],
    [{ type: 'distance', a: 'other/p', b: 'ball/center', value: R + 0.02 }],
  ],
  'distance inside': [
    [{ type: 'distance', a: 'other/p', b: 'ball/surface', value: -0.03 }],
    [{ type: 'distance', a: 'other/p', b: 'ball/center', value: R - 0.03 }],
  ],
  normal: [
    [{ type: 'normal', a: 'other/axis', b: 'ball/surface', value: 0.03, sense: 'same' }],
    [
      { type: 'coincident', a: 'other/axis', b: 'ball/center' },
      { type: 'distance', a: 'other/foot', b: 'ball/center', value: R + 0.03 },
    ],
  ],
};
for (const type of ['sliding', 'rolling', 'pure-rolling'])
  for (const inside of [false, true]) {
    const touch = [{ type, a: 'other/surface', b: 'ball/surface', inside }];
    kinds[`${type}${inside ? ' inside' : ''}`] = [touch, touch];
  }

// and its own surface, which positional constraints follow as a free-form one
for (const name of Object.keys(kinds)) if (kinds[name][0] !== kinds[name][1]) kinds[name].push(kinds[name][0]);

for (const [name, constraints] of Object.entries(kinds))
  test(`a sphere as NURBS and as a primitive: ${name}`, () => {
    const positional = !/sliding|rolling/.test(name);
    for (const moving of ['ball', 'both', 'other']) {
      // a point that tumbles about a fixed sphere under its weight is chaotic
      const gravity = [0, 0, moving === 'other' && positional ? 0 : -G];
      const [a, ...others] = constraints.map((of, primitive) =>
        run(
          {
            gravity,
            objects: [{ ...ball, id: 'ball', geometry: primitive ? sphere : nurbs }, { ...other }].map((o) => {
              const moves = moving === 'both' || moving === o.id;
              return moves ? { ...o, free: true, velocity } : { ...o, fixed: true };
            }),
            features,
            constraints: of.map((c, i) => ({ id: `c${i}`, ...c })),
          },
          3,
        ),
      );
      for (const b of others) {
        for (const id of moving === 'both' ? ['ball', 'other'] : [moving])
          for (const k of [0, 500, 1500, 2999]) {
            a.p(k, id).forEach((x, i) => near(x, b.p(k, id)[i], 1e-10));
            a.q(k, id).forEach((x, i) => near(x, b.q(k, id)[i], 1e-10));
          }
        assert.equal(a.summary.mobility, b.summary.mobility);
      }
    }
  });

// Surfaces and rims of other primitives are followed as the same shape written as NURBS, to the bit.
const round = {
  'cylinder/surface': [{ type: 'cylinder', radius: 0.1, height: 0.3 }, 'surface', ['coincident', 'distance', 'normal']],
  'capsule/surface': [{ type: 'capsule', radius: 0.1, height: 0.3 }, 'surface', ['coincident', 'distance']],
  'cone/base-rim': [
    { type: 'cone', radius: 0.1, height: 0.2 },
    'curve',
    ['coincident'],
    { type: 'circle', radius: 0.1 },
  ],
};
for (const [of, [primitive, feature, types, like = primitive]] of Object.entries(round))
  test(`a body follows ${of} as it follows the same NURBS`, () => {
    const converted = command(['surface', '-'], JSON.stringify({ convert: like }));
    for (const type of types) {
      const [, own] = of.split('/');
      const [a, b] = [
        [primitive, own],
        [JSON.parse(converted.out).geometry, feature],
      ].map(([geometry, name]) =>
        run(
          {
            gravity: [1, 0, -G],
            objects: [
              { id: 'solid', geometry, pose: { p: [0, 0, 0], q: [0.96, 0, 0.28, 0] }, fixed: true },
              {
                id: 'box',
                geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
                pose: { p: [0.12, 0.05, 0.02] },
                free: true,
                body: { mass: 1 },
              },
            ],
            features: [
              { id: 'box/p', point: [0.02, 0.01, 0] },
              { id: 'box/l', line: { point: [0, 0, 0.01], direction: [0, 0, 1] } },
            ],
            constraints: [
              {
                id: 'on',
                type,
                a: type === 'normal' ? 'box/l' : 'box/p',
                b: `solid/${name}`,
                ...(type !== 'coincident' && { value: 0.03 }),
              },
            ],
          },
          1,
        ),
      );
      assert.deepEqual(a.p(-1, 'box'), b.p(-1, 'box'));
      assert.deepEqual(a.q(-1, 'box'), b.q(-1, 'box'));
    }
  });

test('a point follows the rims of a cylinder', () => {
  for (const [rim, z] of [
    ['top-rim', 0.15],
    ['bottom-rim', -0.15],
  ]) {
    const { p, summary } = run(
      {
        gravity: [1, 0, -G],
        objects: [
          { id: 'drum', geometry: { type: 'cylinder', radius: 0.1, height: 0.3 }, fixed: true },
          { ...other, free: true, body: { mass: 1, inertia: [0.001, 0.001, 0.001, 0, 0, 0] } },
        ],
        constraints: [{ id: 'on', type: 'coincident', a: 'other/center', b: `drum/${rim}` }],
      },
      1,
    );
    const [x, y, height] = p(-1, 'other');
    near(Math.hypot(x, y), 0.1, 1e-12);
    near(height, z, 1e-12);
    near(summary.energy.final, summary.energy.initial, 1e-9);
  }
});

test('an ellipsoid rolls over its poles as over its sides, however unevenly it bends there', () => {
  // a rattleback: its shape and its inertia (kg m^2), whose axes lie a little beside those of the shape
  const [a, b, c] = [0.1, 0.02, 0.015];
  const [xx, yy, zz, xy] = [0.000051563, 0.001188437, 0.0012, -0.00011523];
  const q = [0.999970576671, 0.005604766411, 0.005237592375, -0.000003576515];
  const s = Math.SQRT1_2;
  const turned = [s * (q[0] - q[2]), s * (q[1] - q[3]), s * (q[2] + q[0]), s * (q[3] + q[1])];
  const rolled = [
    [[a, b, c], [xx, yy, zz, xy, 0, 0], q], // it rests on a pole
    [[c, b, a], [zz, yy, xx, 0, 0, xy], turned], // its poles are its far ends
  ].map(([axes, inertia, at]) => {
    const made = command(['surface', '-'], JSON.stringify({ convert: { type: 'ellipsoid', semi_axes: axes } }));
    return run(
      {
        gravity: [0, 0, -G],
        objects: [
          {
            id: 'table',
            geometry: { type: 'box', size: [2, 2, 0.02] },
            pose: { p: [0, 0, -0.01], q: [1, 0, 0, 0] },
            fixed: true,
          },
          {
            id: 'stone',
            geometry: JSON.parse(made.out).geometry,
            pose: { p: [0, 0, 0.015036440365], q: at },
            body: { mass: 0.4, inertia },
            velocity: { v: [0.0005203895, 0.0272369153, 0], w: [0, 0, -4] },
            free: true,
          },
        ],
        constraints: [{ id: 'rolls', type: 'rolling', a: 'stone/surface', b: 'table/+z' }],
      },
      1.5,
    );
  });
  for (const k of [0, 100, 200, 500, 1000, 1499])
    rolled[0].p(k, 'stone').forEach((x, i) => near(x, rolled[1].p(k, 'stone')[i], 1e-8));
  near(rolled[0].get(-1, 'stone.wz'), rolled[1].get(-1, 'stone.wz'), 1e-6);
  assert.ok(rolled[0].get(-1, 'stone.wz') > 1, 'it has turned back');
  for (const { summary } of rolled) {
    near(summary.energy.final, summary.energy.initial, 1e-10);
    assert.deepEqual(
      summary.events.filter((e) => e.kind !== 'projected'),
      [],
    );
  }
});

// In a step its point of contact goes over a third of a flat side: it is one point nevertheless, and on its branch.
test('a flat ellipsoid rocks over its flat sides, which is no end of its contact', () => {
  const made = command(['surface', '-'], JSON.stringify({ convert: { type: 'ellipsoid', semi_axes: [1, 1, 0.02] } }));
  const floor = { type: 'box', size: [40, 40, 1] };
  const { summary } = run(
    {
      gravity: [0, 0, -G],
      objects: [
        { id: 'floor', geometry: floor, pose: { p: [0, 0, -0.5], q: [1, 0, 0, 0] }, fixed: true },
        {
          id: 'disc',
          geometry: JSON.parse(made.out).geometry,
          pose: { p: [0, 0, 1], q: [Math.cos(0.35), 0.6 * Math.sin(0.35), 0.8 * Math.sin(0.35), 0] },
          body: { mass: 80, inertia: [16, 16, 32, 0, 0, 0] },
          free: true,
        },
      ],
      constraints: [{ id: 'slides', type: 'sliding', a: 'disc/surface', b: 'floor/+z' }],
    },
    3,
  );
  near(summary.energy.final, summary.energy.initial, 1e-6);
  assert.deepEqual(
    summary.events.map((e) => e.kind),
    [],
  );
});
