// Rims of discs and curves on surfaces that bend: discs that roll in their own upright plane, against the equation
// of a pendulum.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { command as spawn } from './command.mjs';
import { about, command, far, G, integrate, run } from './headless.mjs';
import { near } from './running.mjs';

const S = Math.SQRT1_2;
const ALONG_Y = [S, S, 0, 0]; // turns z into -y

// phi'' = rate sin(phi) from rest, after so many ticks.
const pendulum = (rate, phi, ticks) => integrate(([x, w]) => [w, rate * Math.sin(x)], [phi, 0], 1e-4, 10 * ticks)[0];

const R = 0.5,
  r = 0.1,
  HEIGHT = 0.02;
const round = {
  sphere: { id: 'ground', geometry: { type: 'sphere', radius: R }, fixed: true },
  cylinder: {
    id: 'ground',
    geometry: { type: 'cylinder', radius: R, height: 4 },
    pose: { p: [0, 0, 0], q: ALONG_Y },
    fixed: true,
  },
};

// A disc whose weight lies in the plane of its lower rim, which is the plane y = 0, its centre at an angle `phi`
// from straight up, `away` from the middle of the ground.
function disc(phi, away, inertia) {
  const [x, z] = [away * Math.sin(phi), away * Math.cos(phi)];
  const body = { mass: 2, com: [0, 0, -HEIGHT / 2], inertia: [0.012, 0.012, inertia, 0, 0, 0] };
  const geometry = { type: 'cylinder', radius: r, height: HEIGHT };
  return { id: 'disc', geometry, free: true, body, pose: { p: [x, -HEIGHT / 2, z], q: ALONG_Y } };
}

const scene = (ground, moving, constraint) => ({
  gravity: [0, 0, -G],
  objects: [ground, moving],
  constraints: [{ id: 'c', a: 'disc/bottom-rim', b: 'ground/surface', ...constraint }],
});

for (const [name, ground] of Object.entries(round))
  for (const type of ['sliding', 'rolling', 'pure-rolling'])
    test(`a disc on its rim: ${type} over a ${name} and within one`, () => {
      const inertia = 0.016,
        by = type === 'sliding' ? 1 : 1 + inertia / (2 * r * r);
      for (const [inside, phi, away, sign] of [
        [false, 0.2, R + r, 1],
        [true, Math.PI - 0.5, R - r, 1],
      ]) {
        const s = scene(ground, disc(phi, away, inertia), { type, inside });
        const done = run(s, 0.301);
        const at = pendulum((sign * G) / (away * by), phi, 300);
        near(far(done.p(-1, 'disc'), [away * Math.sin(at), -HEIGHT / 2, away * Math.cos(at)]), 0, 1e-9);
        assert.equal(done.summary.mobility, { sliding: 5, rolling: 3, 'pure-rolling': 2 }[type]);
        assert.ok(done.summary.constraint_residual_max < 1e-12);
        assert.deepEqual(done.summary.events, []);
        const { initial, final, dissipated } = done.summary.energy;
        near(final + dissipated, initial, 1e-9);
      }
    });

test('which of the two is named first does not matter', () => {
  const start = disc(0.2, R + r, 0.016);
  const geometry = {
    type: 'nurbs-curve',
    degree: 2,
    knots: [0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4],
    points: [
      [r, 0],
      [r, r],
      [0, r],
      [-r, r],
      [-r, 0],
      [-r, -r],
      [0, -r],
      [r, -r],
      [r, 0],
    ].map(([x, y]) => [x, y, -HEIGHT / 2]),
    weights: [1, S, 1, S, 1, S, 1, S, 1],
  };
  const seen = [];
  for (const [moving, edge] of [
    [start, 'disc/bottom-rim'],
    [{ ...start, geometry }, 'disc/curve'],
  ])
    for (const [a, b] of [
      [edge, 'ground/surface'],
      ['ground/surface', edge],
    ])
      seen.push(run(scene(round.sphere, moving, { type: 'rolling', a, b }), 0.301).p(-1, 'disc'));
  for (const other of seen.slice(1)) near(far(other, seen[0]), 0, 1e-9);
});

test('a disc that falls onto a sphere or a cylinder from which it may part does not go through', () => {
  for (const ground of Object.values(round)) {
    const falls = { ...disc(0, R + 0.3, 0.016), pose: { p: [0.02, 0.03, R + 0.3], q: about([0.8, 0.6, 0], 0.1) } };
    const done = run(scene(ground, falls, { type: 'rolling', contact: 'unilateral' }), 0.6);
    for (let k = 0; k < done.count; k++) {
      const [x, y, z] = done.p(k, 'disc');
      assert.ok(Math.hypot(ground === round.sphere ? y : 0, x, z) > R - r, `at ${[x, y, z]} in tick ${k}`);
    }
    const { initial, final, dissipated } = done.summary.energy;
    near(final + dissipated, initial, 1e-9);
  }
});

test('a rim around a ball of its own size conforms to it, and that is said', () => {
  const around = { ...disc(0, 0, 0.016), geometry: { type: 'cylinder', radius: R, height: HEIGHT } };
  const done = command(scene(round.sphere, around, { type: 'sliding' }), '--seconds', '0.01');
  assert.equal(done.status, 2);
  assert.match(done.stderr, /\/constraints\/0: .*the surfaces conform/);
});

// A torus without spin that is dropped at a tilt strikes a plane on one side, turns through its flat pose and strikes
// it on the opposite one: its lowest point goes half round in an instant. With h = tube + R |sin tilt| the gap is
// z - h; both are in free flight between impulses along z at R cos(tilt) from the centre.
function rockingTorus(ring, tube, inertia, restitution, tilt, z, ticks) {
  let [v, w] = [0, 0];
  const after = (d) => [z + v * d - (G / 2) * d * d, tilt + w * d];
  const gap = (d) => after(d)[0] - tube - ring * Math.abs(Math.sin(after(d)[1]));
  const heights = [];
  for (let k = 0; k < ticks; k++) {
    heights.push(z);
    for (let left = 1e-3; left > 0; ) {
      const open = gap(left) >= 0;
      let [low, high] = [open ? left : 0, left];
      while (high - low > 1e-15) {
        const middle = (low + high) / 2;
        [low, high] = gap(middle) < 0 ? [low, middle] : [middle, high];
      }
      [z, tilt] = after(low);
      v -= G * low;
      left -= low;
      if (open) break;
      const arm = Math.sign(tilt) * ring * Math.cos(tilt);
      const impulse = (-(1 + restitution) * (v - arm * w)) / (1 + (arm * arm) / inertia);
      v += impulse;
      w -= (arm * impulse) / inertia;
    }
  }
  return heights;
}

const table = {
  id: 'table',
  geometry: { type: 'box', size: [4, 4, 0.02] },
  pose: { p: [0, 0, -0.01], q: [1, 0, 0, 0] },
  fixed: true,
};

test('a torus strikes a plane on one side and then on the opposite one', () => {
  const made = spawn(['surface', '-'], JSON.stringify({ convert: { type: 'torus', radius: 0.1, tube_radius: 0.03 } }));
  const { geometry } = JSON.parse(made.out);
  for (const [restitution, tilt] of [
    [1, 0.3],
    [0.8, 0.3],
    [0.9, 0.6],
  ]) {
    const { summary, get } = run(
      {
        gravity: [0, 0, -G],
        objects: [
          { ...table, material: 'm' },
          {
            id: 'torus',
            geometry,
            pose: { p: [0, 0, 0.4], q: about([0.8, 0.6, 0], tilt) },
            free: true,
            body: { mass: 1, inertia: [0.003, 0.003, 0.005, 0, 0, 0] },
            material: 'm',
          },
        ],
        constraints: [{ id: 'c', type: 'sliding', a: 'torus/surface', b: 'table/+z', contact: 'unilateral' }],
        materials: [{ id: 'm', restitution }],
      },
      0.35,
    );
    const height = rockingTorus(0.1, 0.03, 0.003, restitution, tilt, 0.4, 350);
    for (const k of [260, 270, 280, 300, 349]) near(get(k, 'torus.pz'), height[k], 1e-9);
    assert.deepEqual(summary.events, []);
  }
});
