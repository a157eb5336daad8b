// Fig. 12 to 14 of the framework's paper: its two experiments with a device of the cobotic hand controller's
// stiffness. The hand of the paper is not known but for what the text says; ours pushes with 30 N and 0.5 N m.
import { check, most, run, scene, unwound } from './play.mjs';

const HEIGHT = 0.1, // of the cylinder's top (m)
  RADIUS = 0.06; // between the axes (m)

/** The z axis of the device's frame against the plane's normal (degrees). */
const tilt = (r) =>
  (Math.atan2(Math.hypot(2 * (r.mqx * r.mqz + r.mqw * r.mqy), 2 * (r.mqy * r.mqz - r.mqw * r.mqx)), 1 - 2 * (r.mqx ** 2 + r.mqy ** 2)) *
    180) /
  Math.PI;
const outward = (r) => (r.fx * r.px + r.fy * r.py) / Math.hypot(r.px, r.py);
const along = (r) => (r.fy * r.px - r.fx * r.py) / Math.hypot(r.px, r.py);
const offPlane = (r) => 1e6 * (r.mpz - HEIGHT);
const offCircle = (r) => 1e6 * Math.hypot(Math.hypot(r.mpx, r.mpy) - RADIUS, r.mpz - HEIGHT);
const over = (rows, f) => rows.map((r, i) => [r.t, f(r, i)]);

export function figures() {
  const plane = run(scene('paper-plane'), 6.4).csv,
    circle = run(scene('paper-circle'), 6.4).csv;
  const angles = unwound(circle.map((r) => Math.atan2(r.mpy, r.mpx)));
  const marks = (rows, every) => rows.filter((_, i) => i % every === 0).map((r) => [1e3 * r.mpx, 1e3 * r.mpy]);
  const ring = Array.from({ length: 181 }, (_, i) => [
    60 * Math.cos((i * Math.PI) / 90),
    60 * Math.sin((i * Math.PI) / 90),
  ]);
  const panel = (title, y, rows, f, colour = 0) => ({
    title,
    x: 'time (s)',
    y,
    series: [{ points: over(rows, f), colour }],
  });
  return [
    {
      name: 'framework-12',
      title: 'Framework, Fig. 12: where the hand goes, on the plane (○) and on the circle (×)',
      panels: [
        {
          title: 'seen along the normal',
          x: 'x (mm)',
          y: 'y (mm)',
          equal: true,
          series: [
            { points: ring, look: 'dash', colour: 5, thin: true, name: 'the circle that is asked for' },
            { points: marks(plane, 80), look: 'dot', colour: 0, name: 'plane on plane' },
            { points: marks(circle, 80), look: 'cross', colour: 1, name: 'and axes apart' },
          ],
        },
      ],
      checks: [
        check(
          'plane: way along the normal, by way in the plane',
          'movements normal to the plane are not allowed',
          most(plane.map((r) => Math.abs(offPlane(r)))) / most(plane.map((r) => 1e6 * Math.hypot(r.mpx - 0.05, r.mpy))),
          { high: 5e-3 },
        ),
        check(
          'circle: most distance from it, by its radius',
          'a circular path',
          most(circle.map(offCircle)) / (1e6 * RADIUS),
          { high: 2e-3 },
        ),
      ],
    },
    {
      name: 'framework-13',
      title: 'Framework, Fig. 13: plane on plane',
      columns: 2,
      panels: [
        panel('(a) force normal to the plane', 'N', plane, (r) => r.fz),
        panel('(c) torque against the plane', 'N m', plane, (r) => Math.hypot(r.tx, r.ty)),
        panel('(b) distance of the device from the plane', 'µm', plane, offPlane, 1),
        panel('(d) angle of the device to the plane', 'degrees', plane, tilt, 1),
      ],
      checks: [
        check(
          'most distance under 30 N',
          'very small constraint errors even under substantial forces',
          most(plane.map((r) => Math.abs(offPlane(r)))),
          { high: 100, unit: 'µm' },
        ),
        check('most angle under 0.5 N m', 'very small, even under substantial torques', most(plane.map(tilt)), {
          high: 0.1,
          unit: 'degrees',
        }),
      ],
    },
    {
      name: 'framework-14',
      title: 'Framework, Fig. 14: on a circle',
      columns: 2,
      panels: [
        panel('(a) force normal to the circle', 'N', circle, (r) => Math.hypot(outward(r), r.fz)),
        panel('(b) distance of the device from the circle', 'µm', circle, offCircle, 1),
        panel('(a) force along the circle', 'N', circle, along),
        panel('angle travelled', 'degrees', circle, (_, i) => (180 / Math.PI) * angles[i], 1),
      ],
      checks: [
        check('most distance under 30 N', 'very small constraint errors', most(circle.map(offCircle)), {
          high: 100,
          unit: 'µm',
        }),
        check(
          'force along the circle, by force against it',
          'tangential forces are small (2 kg, little damping)',
          most(circle.map((r) => Math.abs(along(r)))) / most(circle.map((r) => Math.hypot(outward(r), r.fz))),
          { high: 0.1 },
        ),
      ],
    },
  ];
}
