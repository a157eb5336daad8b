// Fig. 6, 7 and 11 to 14 of the mechanisms' paper: the arm of Table I held at a link, simulated (section VI), at a
// device (VIII, first set), and among walls and rectangles (VIII, second set).
import { check, least, most, run, scene, unwound } from './play.mjs';

/** Section VI as the scenes have it, J-dot v left out as in the paper; only the control differs. */
function simulated(link, control) {
  const s = scene(`paper-mechanism-${link}`);
  s.tool.control = control;
  return run(s, 3).csv;
}

/** Section VIII, first set: a device with viscous friction and a tick of delay, its mass taken for 0.9 of what it
 * is. */
function experiment(link, control, jdot) {
  const s = scene(`paper-mechanism-${link}`);
  [0, Math.PI / 6, -Math.PI / 3].forEach((q, i) => (s.mechanisms[0].links[i].joint.position = q));
  s.tool.control = control;
  delete s.tool.start;
  delete s.tool.substeps;
  const { coordination, coupling } = s.tool.rendering;
  s.tool.rendering = { jdot, coordination, coupling, mass_known: 0.9, passivity: false };
  s.devices[0].profile = 'planar-haptic-interface';
  s.devices[0].settings = { workspace_radius: 0, coulomb: 0, coulomb_angular: 0 };
  return run(s, 8).csv;
}

/** Section VIII, second set: the arm's last link led about in the enclosure. */
function enclosure(control) {
  const s = scene('paper-enclosure-elastic');
  s.tool.control = control;
  s.tool.rendering = {
    passivity: false,
    coupling: { linear: 50, angular: 0.2, linear_damping: 3, angular_damping: 0.005 },
  };
  return run(s, 6, ['csv', 'device']);
}

const turn = (w, z) => 2 * Math.atan2(z, w);
const apart = (r) => 1e3 * Math.hypot(r.mpx - r.px, r.mpy - r.py);
const APART = 'apart (mm)';
const lines = [
  { name: 'HD: the hand at the device' },
  { name: 'VM: the operational point', look: 'dash', colour: 1 },
  { name: 'distance of both', colour: 2 },
];
const quantities = [
  ['x (mm)', (r) => 1e3 * r.mpx, (r) => 1e3 * r.px],
  ['y (mm)', (r) => 1e3 * r.mpy, (r) => 1e3 * r.py],
  ['θ (rad)', (r) => turn(r.mqw, r.mqz), (r) => turn(r.qw, r.qz)],
  [APART, apart],
];

/** Panels of a row have one scale, so that its columns compare. */
function trajectories(columns) {
  const panels = quantities.flatMap(([y, ...series], q) => {
    const also = columns.flatMap(([, rows]) => series.flatMap((f) => [most(rows.map(f)), least(rows.map(f))]));
    return columns.map(([title, rows]) => ({
      title: q === 0 ? title : '',
      x: 'time (s)',
      y,
      also,
      afloat: true,
      series: series.map((f, k) => ({ points: rows.map((r) => [r.t, f(r)]), ...lines[y === APART ? 2 : k] })),
    }));
  });
  return panels;
}

const end = (rows) => apart(rows.at(-1));
/** By how much the distance goes beyond where it ends (mm). */
const overshoot = (rows) => most(rows.map(apart)) - end(rows);

function sectionSix(name, number, link, words) {
  const alone = simulated(link, 'impedance'),
    penalty = simulated(link, 'penalty');
  return {
    name,
    title: `Mechanisms, Fig. ${number}: held at the ${words} link's centre of mass, 0.4 N`,
    columns: 2,
    panels: trajectories([
      ['(a) impedance control', alone],
      ['(b) penalties', penalty],
    ]),
    checks: [
      check('(a) drift after 3 s', 'the hand drifts, by centimetres', end(alone), { low: 10, high: 100, unit: 'mm' }),
      check('(b) drift by that of (a)', 'substantially reduced', end(penalty) / end(alone), { high: 1 / 3 }),
    ],
  };
}

function sectionEight(name, number, link, words) {
  const penalty = experiment(link, 'penalty', 'full'),
    coupling = experiment(link, 'coupling', 'full'),
    alone = experiment(link, 'impedance', 'paper');
  return {
    name,
    title: `Mechanisms, Fig. ${number}: at a device, held at the ${words} link`,
    columns: 3,
    panels: trajectories([
      ['(a) penalties', penalty],
      ['(b) virtual coupling', coupling],
      ['(c) impedance control', alone],
    ]),
    checks: [
      check(
        '(a) distance at the end by that of (b)',
        'a smaller steady-state error than by coupling',
        end(penalty) / end(coupling),
        { high: 0.2 },
      ),
      check('(c) drift after 8 s', 'by tens of centimetres; for how long and at which friction is not said', end(alone), {
        low: 10,
        unit: 'mm',
      }),
      check(
        '(a) overshoot of the distance by that of (b)',
        'comes to rest quickly; by coupling it oscillates',
        overshoot(penalty) / overshoot(coupling),
        { high: 0.2 },
      ),
    ],
  };
}

/** The enclosure's walls and what moves in it, seen from above: the hand's way over them. */
const wall = (x0, y0, x1, y1) => [
  [x0, y0],
  [x1, y0],
  [x1, y1],
  [x0, y1],
];

function sectionEightSecond(name, number, played, words, checks) {
  const force = played.device.map((r) => [r.t, Math.hypot(r.ux, r.uy)]),
    torque = played.device.map((r) => [r.t, r.utz]),
    turns = (w, z) => unwound(played.csv.map((r) => turn(r[w], r[z]))).map((a, i) => [played.csv[i].t, a]);
  return {
    name,
    title: `Mechanisms, Fig. ${number}: in the enclosure, connected by ${words}`,
    columns: 2,
    panels: [
      {
        title: '(a) trajectory in the plane',
        x: 'x (mm)',
        y: 'y (mm)',
        equal: true,
        series: [
          { points: wall(-100, -75, 60, 75), look: 'shape', colour: 4, thin: true, name: 'the enclosure' },
          {
            points: played.csv.map((r) => [1e3 * r.px, 1e3 * r.py]),
            look: 'dash',
            colour: 1,
            name: 'VM: the operational point',
          },
          { points: played.csv.map((r) => [1e3 * r.mpx, 1e3 * r.mpy]), name: 'HD: the hand at the device' },
        ],
      },
      {
        title: '(a) turn',
        x: 'time (s)',
        y: 'θ (rad)',
        series: [
          { points: turns('mqw', 'mqz') },
          { points: turns('qw', 'qz'), look: 'dash', colour: 1 },
        ],
      },
      { title: '(b) force that the hand feels', x: 'time (s)', y: 'N', series: [{ points: force, colour: 2 }] },
      { title: '(b) torque that the hand feels', x: 'time (s)', y: 'N m', series: [{ points: torque, colour: 2 }] },
    ],
    checks,
  };
}

export function figures() {
  const penalty = enclosure('penalty'),
    coupling = enclosure('coupling');
  const peak = (played) => most(played.device.map((r) => Math.hypot(r.ux, r.uy)));
  const ratio = peak(penalty) / peak(coupling);
  return [
    sectionSix('mechanisms-6', 6, 'middle', 'middle'),
    sectionSix('mechanisms-7', 7, 'distal', 'last'),
    sectionEight('mechanisms-11', 11, 'middle', 'middle'),
    sectionEight('mechanisms-12', 12, 'distal', 'last'),
    sectionEightSecond('mechanisms-13', 13, penalty, 'penalties and four channels', [
      check('largest force by that of Fig. 14', 'two orders of magnitude larger', ratio, { low: 30 }),
    ]),
    sectionEightSecond('mechanisms-14', 14, coupling, 'a virtual coupling', [
      check('largest force', 'impulsive wrenches are filtered away', peak(coupling), { high: 20, unit: 'N' }),
    ]),
  ];
}
