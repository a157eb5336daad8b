// Unilateral contacts at the edges of free-form sheets: what comes over an edge pivots about it, leaves it where the
// normal force vanishes, and comes back onto the sheet.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { add, far, flat, G, integrate, made, run } from './headless.mjs';

const R = 0.1;
const I = 0.004; // 2/5 m R^2 of 1 kg

// A saddle of degree 3 from -0.5 to 0.5.
const at = [0, 1, 2, 3].map((i) => i / 3 - 0.5);
const saddle = {
  type: 'nurbs-surface',
  degree: [3, 3],
  knots: [
    [0, 0, 0, 0, 1, 1, 1, 1],
    [0, 0, 0, 0, 1, 1, 1, 1],
  ],
  points: at.map((x) => at.map((y) => [x, y, 0.3 * (x * x - y * y)])),
};

const sphere = { type: 'sphere', radius: R };

const round = made({ convert: sphere });

// A ball on a sheet, rolling at v without slip.
const scene = (type, geometry, sheet, p, v, more = {}) => ({
  gravity: [0, 0, -G],
  objects: [
    { id: 'sheet', geometry: sheet, fixed: true, material: 'plain', ...more.sheet },
    {
      id: 'ball',
      geometry,
      free: true,
      pose: { p },
      body: { mass: 1, inertia: [I, I, I, 0, 0, 0] },
      velocity: { v, w: [-v[1] / R, v[0] / R, 0] },
      material: 'plain',
    },
  ],
  constraints: [{ id: 'on', type, a: 'ball/surface', b: 'sheet/surface', contact: 'unilateral' }],
  materials: [{ id: 'plain', restitution: 0, ...more.material }],
  ...more.scene,
});

/*
 * The centre of a ball that rolls (J = I + m R^2, about the contact) or slides (J = m R^2) over the edge x = 1, with a
 * gravity of (gx, 0, -G). Along the sheet x'' = m R^2 gx / J; at the edge, with theta from the vertical,
 *
 *   J theta'' = m R (G sin theta + gx cos theta),   until   G cos theta - gx sin theta = R theta'^2
 *
 * where it flies; or until theta = 0, where it is on the sheet again.
 */
function over(rolls, gx, x, v, times) {
  const J = (rolls ? I : 0) + R * R,
    steps = 200;
  const rate = ([a, w]) => [w, (R * (G * Math.sin(a) + gx * Math.cos(a))) / J];
  const advance = (y, h) => integrate(rate, y, h, 1);
  const lifts = ([a, w]) => R * w * w - G * Math.cos(a) + gx * Math.sin(a);
  let t = 0,
    phase = 'sheet',
    y;
  const out = [];
  const state = { x, v, p: null, u: null };
  for (const end of times) {
    while (t < end) {
      if (phase === 'sheet') {
        const a = (R * R * gx) / J,
          d = state.v * state.v + 2 * a * (1 - state.x),
          to = d < 0 ? Infinity : (2 * (1 - state.x)) / (state.v + Math.sqrt(d)),
          h = Math.min(end - t, to > 0 || state.v > 0 ? to : Infinity);
        state.x += state.v * h + (a * h * h) / 2;
        state.v += a * h;
        t = h < end - t ? t + h : end;
        if (t < end) [phase, y] = ['edge', [0, state.v / R]];
      } else if (phase === 'edge') {
        const left = (y1) => Math.max(lifts(y1), -y1[0]);
        let h = (end - t) / steps,
          i = 0;
        while (i < steps && left(advance(y, h)) < 0) {
          y = advance(y, h);
          i++;
        }
        t = i === steps ? end : t + i * h;
        if (i === steps) continue;
        let low = 0;
        for (let k = 0, high = h; k < 60; k++) {
          const middle = (low + high) / 2;
          if (left(advance(y, middle)) < 0) low = middle;
          else high = middle;
        }
        y = advance(y, low);
        t += low;
        if (y[0] < 1e-9) [phase, state.x, state.v] = ['sheet', 1 - 1e-15, y[1] * R];
        else {
          phase = 'flight';
          state.p = [1 + R * Math.sin(y[0]), R * Math.cos(y[0])];
          state.u = [R * y[1] * Math.cos(y[0]), -R * y[1] * Math.sin(y[0])];
        }
      } else {
        const h = end - t;
        state.p = [state.p[0] + state.u[0] * h + (gx * h * h) / 2, state.p[1] + state.u[1] * h - (G * h * h) / 2];
        state.u = [state.u[0] + gx * h, state.u[1] - G * h];
        t = end;
      }
    }
    out.push(
      phase === 'sheet' ? [state.x, R] : phase === 'edge' ? [1 + R * Math.sin(y[0]), R * Math.cos(y[0])] : [...state.p],
    );
  }
  return { centres: out, phase };
}

// The largest distance between the ways of the ball at 1 and 8 kHz.
function apart(s, seconds) {
  const [a, b] = [1000, 8000].map((rate) => run({ ...s, rate }, seconds));
  let most = 0;
  for (let k = 0; k < a.count; k++) most = Math.max(most, far(a.p(k, 'ball'), b.p(8 * k, 'ball')));
  return [most, a];
}

test('a ball pivots about the edge of a sheet and leaves it, or comes back onto the sheet', () => {
  const ends = new Set();
  for (const geometry of [sphere, round])
    for (const type of ['rolling', 'sliding', 'pure-rolling'])
      for (const [gx, v] of [
        [0, 0.3],
        [0, 0.05],
        [-3, 0.3],
        [-3, 0.5],
        [-6, 0.9],
      ]) {
        const start = gx < 0 || v > 0.1 ? 0.99 : 0.995;
        const r = run(
          scene(type, geometry, flat(1), [start, 0, R], [v, 0, 0], { scene: { gravity: [gx, 0, -G] } }),
          0.6,
        );
        const times = Array.from({ length: r.count }, (_, k) => k / 1000);
        const { centres, phase } = over(type !== 'sliding', gx, start, v, times);
        ends.add(phase);
        let most = 0;
        for (let k = 0; k < r.count; k++) most = Math.max(most, far(r.p(k, 'ball'), [centres[k][0], 0, centres[k][1]]));
        assert.ok(most < 2e-9, `${geometry.type} ${type}, ${v} m/s, gravity ${gx}: ${most} m`);
        assert.deepEqual(r.summary.events, [], `${geometry.type} ${type}`);
      }
  assert.deepEqual([...ends].sort(), ['flight', 'sheet']);
});

test('over the edges of a curved sheet, obliquely, with and without slip', () => {
  // points of the edges u1, v0 and v1: Bezier curves
  const [p, border] = [saddle.points, []];
  for (const control of [p[3], p.map((row) => row[0]), p.map((row) => row[3])])
    for (let t = 0; t <= 1; t += 1 / 64)
      border.push(
        [0, 1, 2].map((k) =>
          [1, 3, 3, 1].reduce((sum, c, i) => sum + c * t ** i * (1 - t) ** (3 - i) * control[i][k], 0),
        ),
      );
  for (const type of ['rolling', 'sliding', 'pure-rolling'])
    for (const [p, v] of [
      [
        [0.3, 0.1, 0.15],
        [1, 0.3, 0],
      ], // across u1, obliquely
      [
        [-0.2, 0.33, 0.1],
        [-0.4, 0.9, 0],
      ], // across v1
      [
        [0.1, -0.35, 0.1],
        [0.3, -1.4, 0],
      ],
    ])
      for (const material of [{}, { friction: 0.15 }]) {
        const [most, way] = apart(scene(type, sphere, saddle, p, v, { material }), 0.6);
        assert.ok(most < (material.friction ? 1e-6 : 1e-10), `${type} ${p} ${material.friction}: ${most} m`);
        assert.ok(way.p(way.count - 1, 'ball')[2] < -0.05, 'it has fallen past the sheet');
        for (let k = 0; k < way.count; k += 2)
          for (const at of border) assert.ok(far(way.p(k, 'ball'), at) > R - 1e-9, `${type} ${p}: tick ${k} at ${at}`);
      }
});

test('a ball pivots about a corner of a sheet', () => {
  // along the diagonal as across an edge
  for (const geometry of [sphere, round])
    for (const type of ['rolling', 'sliding', 'pure-rolling']) {
      const d = 0.05 * Math.SQRT1_2,
        u = 0.4 * Math.SQRT1_2;
      const r = run(scene(type, geometry, flat(1), [1 - d, 1 - d, R], [u, u, 0]), 0.5);
      const times = Array.from({ length: r.count }, (_, k) => k / 1000);
      const { centres, phase } = over(type !== 'sliding', 0, 0.95, 0.4, times);
      assert.equal(phase, 'flight');
      for (let k = 0; k < r.count; k++) {
        const along = (centres[k][0] - 1) * Math.SQRT1_2,
          e = far(r.p(k, 'ball'), [1 + along, 1 + along, centres[k][1]]);
        assert.ok(e < 2e-9, `${geometry.type} ${type}, tick ${k}: ${e} m`);
      }
      assert.deepEqual(r.summary.events, [], `${geometry.type} ${type}`);
    }
  // beside it: over the edge first, then along that to the corner
  for (const type of ['rolling', 'sliding'])
    for (const beside of [0.003, 0.02]) {
      const [most, r] = apart(scene(type, sphere, flat(1), [0.95, 0.95 - beside, R], [0.3, 0.3, 0]), 0.5);
      assert.ok(most < 1e-9, `${type} ${beside}: ${most} m`);
      for (let k = 0; k < r.count; k++) assert.ok(far(r.p(k, 'ball'), [1, 1, 0]) > R - 1e-12, `${type}, tick ${k}`);
    }
});

test('a ball that falls onto an edge bounces off it', () => {
  // its centre is d beyond the edge: the normal is that from the edge to the centre, which turns the velocity around
  for (const d of [0.02, 0.06]) {
    const height = 0.3,
      rise = Math.sqrt(R * R - d * d);
    const s = scene('sliding', sphere, flat(1), [1 + d, 0.2, rise + height], [0, 0, 0], {
      material: { restitution: 1 },
    });
    const r = run(s, 0.4);
    const t = Math.sqrt((2 * height) / G),
      n = [d / R, 0, rise / R],
      u = add([0, 0, -G * t], n, 2 * G * t * n[2]);
    const k = 390,
      h = k / 1000 - t;
    const at = add(add([1 + d, 0.2, rise], u, h), [0, 0, (-G * h * h) / 2]);
    assert.ok(far(r.p(k, 'ball'), at) < 1e-10, `${far(r.p(k, 'ball'), at)} m`);
  }
});

test('a sheet that floats keeps both momenta while a ball comes over its edge', () => {
  const sheet = { fixed: false, free: true, body: { mass: 2, inertia: [0.2, 0.2, 0.4, 0, 0, 0] } };
  for (const type of ['rolling', 'sliding']) {
    const s = scene(type, sphere, flat(0.5), [0.35, 0.05, R], [1.8, 0.3, 0], {
      sheet,
      scene: {
        gravity: [0, 0, 0],
        springs: [
          {
            id: 'pull',
            a: { object: 'sheet', p: [0, 0, -0.3] },
            b: { object: 'ball', p: [0, 0, 0] },
            stiffness: 20,
            length: 0.1,
          },
        ],
      },
    });
    const [most, r] = apart(s, 0.6);
    assert.ok(most < 1e-10, `${most} m`);
    const momentum = (k) => add(r.v(k, 'ball'), r.v(k, 'sheet'), 2);
    for (let k = 0; k < r.count; k += 50) assert.ok(far(momentum(k), momentum(0)) < 1e-11, `${type}, tick ${k}`);
    const farthest = Math.max(...Array.from({ length: r.count }, (_, k) => far(r.p(k, 'ball'), r.p(k, 'sheet'))));
    assert.ok(farthest > 0.5, `it was past the edge: ${farthest} m`);
  }
});
