// Fig. 5 to 8 of the paper on surface constraints: a spatial four-bar held at its coupler, and mechanisms that are
// assembled from parts which lie apart, by the paper's descent along the gradient (eq. 15).
import { assemble, bench, check, drawn, least, most, place, run, scene } from './play.mjs';

const box = (id, more = {}) => ({ id, geometry: { type: 'box', size: [0.02, 0.02, 0.02] }, ...more });
const at = (object, p, q = [1, 0, 0, 0]) => ({ object, at: { p, q } });

/** How a part is drawn: outlines through points of its frame. */
const outline = (row, id, shape) => shape.map((p) => place(row, id, p));
const views = {
  front: ([x, , z]) => [1e3 * x, 1e3 * z],
  above: ([x, y]) => [1e3 * x, 1e3 * y],
  aside: ([x, y, z]) => [1e3 * (0.87 * x - 0.5 * y), 1e3 * (z + 0.25 * x + 0.43 * y)],
};

/** Parts of a mechanism at one row of poses, as series. `shapes`: by id. */
const picture = (row, shapes, view, look = {}) =>
  Object.entries(shapes).map(([id, shape], i) => ({
    points: outline(row, id, shape).map(view),
    colour: i % 4,
    ...look,
  }));

// ---- Fig. 5 -----------------------------------------------------------------------------------

function fourBar() {
  const s = scene('spatial-four-bar');
  const far = s.joints.find((j) => j.id === 'far-ball');
  // Fig. 5 has a universal joint at one end of the coupler: its axes are the coupler's, and one of the rocker's
  far.type = 'universal';
  return s;
}

function figure5() {
  const s = fourBar(),
    played = run(s, 1.8, ['csv', 'bodies']),
    shapes = {
      crank: [
        [-0.05, 0, 0],
        [0.05, 0, 0],
      ],
      coupler: [
        [0, 0, -0.143614066],
        [0, 0, 0.143614066],
      ],
      rocker: [
        [0, 0, -0.1],
        [0, 0, 0.1],
      ],
    };
  const held = (view) => ({
    points: played.bodies.map((r) => view(place(r, 'coupler', [0, 0, 0]))),
    colour: 3,
    look: 'dash',
    name: 'the middle of the coupler, which is held',
  });
  const shown = [0, 300, 600, 900, 1200].map((i) => played.bodies[i]);
  const panel = (title, view, [x, y]) => ({
    title,
    x,
    y,
    equal: true,
    series: [...shown.flatMap((row, i) => picture(row, shapes, view, { faint: i === 0 ? 1 : 0.35 })), held(view)],
  });
  return {
    name: 'surface-constraints-5',
    title: 'Surface constraints, Fig. 5: a four-bar with two hinges, a ball joint and a universal joint',
    columns: 2,
    panels: [
      panel('from the front', views.front, ['x (mm)', 'z (mm)']),
      panel('from above', views.above, ['x (mm)', 'y (mm)']),
    ],
    checks: [
      check('freedoms', '1', played.summary.mobility, { low: 1, high: 1 }),
      check('most opening of a joint', 'joints hold', played.summary.constraint_residual_max, { high: 1e-10, unit: 'm' }),
      check(
        'way of the held point',
        'it is moved by the hand',
        played.bodies.slice(1).reduce((sum, r, i) => {
          const a = place(played.bodies[i], 'coupler', [0, 0, 0]),
            b = place(r, 'coupler', [0, 0, 0]);
          return sum + Math.hypot(...a.map((c, k) => c - b[k]));
        }, 0),
        { low: 0.02, unit: 'm' },
      ),
    ],
  };
}

// ---- assembly: steps and the largest opening by iteration ---------------------------------------

/** A figure of some steps of an assembly, then how far it is open. */
function assembly({ name, number, words, document, shapes, view, shown, labels, begin, checks }) {
  const done = assemble(document, 'gradient'),
    rows = [drawn(document), ...done.poses];
  const steps = [...shown.filter((i) => i < rows.length - 1), rows.length - 1];
  const titles = steps.map((i) => (i === 0 ? 'as drawn' : `after ${i} iteration${i === 1 ? '' : 's'}`));
  const started = begin?.(done);
  const frames = steps.map((i) => picture(rows[i], shapes, view));
  if (started) {
    frames.push(picture(started.bodies[0], shapes, view));
    titles.push('as the run begins');
  }
  const all = frames.flat().flatMap((s) => s.points);
  // all steps in one frame
  const [x0, x1] = [least(all.map((p) => p[0])), most(all.map((p) => p[0]))],
    [y0, y1] = [least(all.map((p) => p[1])), most(all.map((p) => p[1]))];
  const corners = {
    points: [
      [x0, y0],
      [x1, y1],
    ],
    look: 'none',
  };
  return {
    name,
    title: `Surface constraints, Fig. ${number}: ${words}`,
    columns: 3,
    panels: [
      ...frames.map((series, i) => ({
        title: titles[i],
        x: labels[0],
        y: labels[1],
        equal: true,
        series: [...series, corners],
      })),
      {
        title: 'largest row of the constraints',
        x: 'iterations',
        y: 'm',
        log: true,
        series: [{ points: done.residuals.map((r) => [r.iteration, r.residual]) }],
      },
    ],
    checks: checks(done, started),
  };
}

/** The scene as the last iteration left it. */
function assembled(document, done) {
  const s = structuredClone(document),
    row = done.poses.at(-1);
  for (const o of s.objects)
    if (!o.fixed)
      o.pose = {
        p: ['px', 'py', 'pz'].map((n) => row[`${o.id}.${n}`]),
        q: ['qw', 'qx', 'qy', 'qz'].map((n) => row[`${o.id}.${n}`]),
      };
  return s;
}

const closes = (done) => check('largest row at the end', 'assembled', done.residual, { high: 1e-9, unit: 'm' });

// ---- Fig. 6 -----------------------------------------------------------------------------------

const ELBOW = [
  [0, 0, 0],
  [0.1, 0, 0],
  [0.1, 0, 0.1],
];

/** Bent pieces in a row on ball joints, both ends of it on the ground; scattered. */
function bendy(count, reach) {
  const objects = [box('ground', { fixed: true })],
    joints = [];
  const end = ELBOW.at(-1);
  for (let i = 0; i < count; i++) {
    const a = 2.4 * i;
    objects.push(
      box(`piece${i}`, {
        free: true,
        body: { mass: 0.1 },
        pose: {
          p: [0.12 * i - 0.1, 0.15 * Math.sin(a), 0.3 + 0.12 * Math.cos(1.7 * a)],
          q: [Math.cos(a / 2), 0.4 * Math.sin(a / 2), Math.sin(a / 2) * Math.sqrt(1 - 0.16), 0],
        },
      }),
    );
    joints.push({
      id: `j${i}`,
      type: 'spherical',
      a: at(`piece${i}`, [0, 0, 0]),
      b: i ? at(`piece${i - 1}`, end) : at('ground', [0, 0, 0]),
    });
  }
  joints.push({ id: 'last', type: 'spherical', a: at(`piece${count - 1}`, end), b: at('ground', [reach, 0, 0]) });
  return { format: 'guideway-scene/1', name: 'Bendy pieces', gravity: [0, 0, 0], objects, joints };
}

function figure6() {
  const document = bendy(5, 0.45),
    shapes = Object.fromEntries(document.objects.slice(1).map((o) => [o.id, ELBOW]));
  return assembly({
    name: 'surface-constraints-6',
    number: 6,
    words: 'assembly of bent pieces with two constraints to the ground',
    document,
    shapes,
    view: views.aside,
    labels: ['aside (mm)', 'up (mm)'],
    shown: [0, 5, 15, 40],
    checks: (done) => {
      // held at its end by a finger at 1 m/s, looked after every 33 us
      const moved = assembled(document, done);
      moved.joints.at(-1).b.at.p[0] += 33e-6;
      const again = assemble(moved, 'newton');
      const update = bench('assembly-update');
      return [
        closes(done),
        check('iterations of the gradient from far away', 'more than 15', done.iterations, { low: 16 }),
        check('then, the end moved by 33 µm: left after one iteration', 'one iteration is sufficient', again.residuals[0].residual, {
          high: 1e-8,
          unit: 'm',
        }),
        check('updates a second (four-bar)', '30 000 for small examples', 1e6 / Object.values(update)[0], {
          low: 3e4,
          unit: 'Hz',
        }),
      ];
    },
  });
}

// ---- Fig. 7 -----------------------------------------------------------------------------------

function figure7() {
  const document = scene('stewart-platform'),
    ring = (radius, z) =>
      Array.from({ length: 25 }, (_, i) => [
        radius * Math.cos((i * Math.PI) / 12),
        radius * Math.sin((i * Math.PI) / 12),
        z,
      ]);
  const shapes = { base: ring(0.25, 0.01), platform: ring(0.15, 0) };
  document.objects.forEach((o, i) => {
    if (o.fixed) return;
    if (/cylinder|rod/.test(o.id))
      shapes[o.id] = [
        [0, 0, -0.1],
        [0, 0, 0.1],
      ];
    const a = 2.4 * i;
    o.pose = {
      p: [0.25 * Math.cos(a), 0.25 * Math.sin(a), 0.15 + 0.02 * i],
      q: [Math.cos(0.6), Math.sin(0.6) * Math.cos(a), Math.sin(0.6) * Math.sin(a), 0],
    };
  });
  delete document.tool;
  return assembly({
    name: 'surface-constraints-7',
    number: 7,
    words: 'assembly of a Stewart platform',
    document,
    shapes,
    view: views.aside,
    labels: ['aside (mm)', 'up (mm)'],
    shown: [0, 5, 15, 50],
    checks: (done) => [
      closes(done),
      check('iterations of the gradient from far away', 'more than 15', done.iterations, { low: 16 }),
    ],
  });
}

// ---- Fig. 8 -----------------------------------------------------------------------------------

/** Points of such a curve, for the picture. */
function spline(points) {
  const out = [];
  for (let i = 0; i + 3 < points.length; i++)
    for (let k = 0; k < 8; k++) {
      const t = k / 8,
        b = [(1 - t) ** 3, 3 * t ** 3 - 6 * t ** 2 + 4, -3 * t ** 3 + 3 * t ** 2 + 3 * t + 1, t ** 3];
      out.push([0, 1].map((c) => b.reduce((sum, w, j) => sum + (w * points[i + j][c]) / 6, 0)).concat(0));
    }
  return [...out, out[0]];
}

/** The bundled scene of two links on hinges of the ground, the edge of one along that of the other, taken apart. */
function curveOnCurve() {
  const document = scene('curve-on-curve'),
    apart = { cam: [[-0.06, 0, -0.05], 0.4], follower: [[0.15, 0, 0.06], -0.6] };
  const shapes = {};
  for (const o of document.objects.filter((o) => !o.fixed)) {
    const [p, turn] = apart[o.id.replace('-hub', '')],
      [c, s] = [Math.SQRT1_2 * Math.cos(turn / 2), Math.SQRT1_2 * Math.sin(turn / 2)];
    o.pose = { p, q: [c, c, -s, s] };
    if (o.geometry.type === 'nurbs-curve') shapes[o.id] = spline(o.geometry.points);
  }
  delete document.tool;
  return { document, shapes };
}

/** The least distance of the two outlines' points, those of one taken for short lines (m). */
function apart(shapes, row) {
  const [a, b] = ['cam', 'follower'].map((id) => outline(row, id, shapes[id]).map(([x, , z]) => [x, z]));
  let near = Infinity;
  for (const p of a)
    for (let i = 0; i + 1 < b.length; i++) {
      const d = [b[i + 1][0] - b[i][0], b[i + 1][1] - b[i][1]],
        e = [p[0] - b[i][0], p[1] - b[i][1]],
        t = Math.min(1, Math.max(0, (d[0] * e[0] + d[1] * e[1]) / (d[0] ** 2 + d[1] ** 2 || 1)));
      near = Math.min(near, Math.hypot(e[0] - t * d[0], e[1] - t * d[1]));
    }
  return near;
}

function figure8() {
  const { document, shapes } = curveOnCurve();
  return assembly({
    name: 'surface-constraints-8',
    number: 8,
    words: 'assembly of two links with curves in contact, each on a hinge of the ground',
    document,
    shapes,
    view: views.front,
    labels: ['x (mm)', 'z (mm)'],
    shown: [0, 5, 15, 40],
    begin: (done) => run(assembled(document, done), 0.01, ['bodies']),
    checks: (done, started) => [
      closes(done),
      check('freedoms', '1', started.summary.mobility, { low: 1, high: 1 }),
      check('distance of the curves, as drawn', 'in contact', apart(shapes, started.bodies[0]), { high: 2e-4, unit: 'm' }),
      check('most residual of the run', 'constraints hold', started.summary.constraint_residual_max, {
        high: 1e-10,
        unit: 'm',
      }),
    ],
  });
}

export function figures() {
  return [figure5(), figure6(), figure7(), figure8()];
}
