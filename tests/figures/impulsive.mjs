// Fig. 5 to 7 of the paper on impulsive forces: every collision of the arm in the enclosure, and what the hand feels.
import { check, most, quantile, run, scene } from './play.mjs';

function energies(name, number, played, words, checks) {
  const { collisions } = played;
  return {
    name,
    title: `Impulsive forces, Fig. ${number}: kinetic energy through collisions with e = ${words}`,
    columns: 2,
    panels: [
      {
        title: '(a) simultaneous collisions',
        x: 'time (s)',
        y: 'number',
        series: [{ points: collisions.map((c) => [c.t, c.contacts]), look: 'stem' }],
      },
      {
        title: '(b) change of kinetic energy',
        x: 'time (s)',
        y: 'J',
        series: [{ points: collisions.map((c) => [c.t, c.kinetic_after - c.kinetic_before]), look: 'stem', colour: 1 }],
      },
    ],
    checks,
  };
}

const change = (c) => (c.kinetic_after - c.kinetic_before) / c.kinetic_before;

export function figures() {
  const plastic = run(scene('paper-enclosure-plastic'), 6, ['collisions']),
    elastic = run(scene('paper-enclosure-elastic'), 6, ['collisions', 'device']);
  const force = elastic.device.map((r) => Math.hypot(r.ux, r.uy)),
    impulsive = elastic.device.map((r) => Math.hypot(r.ix, r.iy)),
    quasiStatic = force.filter((f, i) => impulsive[i] === 0 && f > 0.1);
  const counted = (played) => played.collisions.length / played.summary.contact.collisions;
  return [
    energies('impulsive-forces-5', 5, plastic, '0', [
      check('largest change of energy by that before', 'always decreases, redundant or not', most(plastic.collisions.map(change)), {
        high: 1e-12,
      }),
      check('collisions of more than three contacts', 'some are redundant (three freedoms)', plastic.collisions.filter((c) => c.contacts > 3).length, {
        low: 1,
      }),
      check('recorded, of all that were', 'every collision is shown', counted(plastic), { low: 1, high: 1 }),
    ]),
    energies('impulsive-forces-6', 6, elastic, '1', [
      check(
        'largest change of energy by that before',
        'constant, within the limits of numerical accuracy',
        most(elastic.collisions.map((c) => Math.abs(change(c)))),
        { high: 1e-12 },
      ),
      check('recorded, of all that were', 'every collision is shown', counted(elastic), { low: 1, high: 1 }),
    ]),
    {
      name: 'impulsive-forces-7',
      title: 'Impulsive forces, Fig. 7: what the hand feels, e = 1',
      columns: 2,
      panels: [
        {
          title: '(a) force',
          x: 'time (s)',
          y: 'N',
          series: [{ points: elastic.device.map((r, i) => [r.t, force[i]]), colour: 2 }],
        },
        {
          title: '(b) torque',
          x: 'time (s)',
          y: 'N m',
          series: [{ points: elastic.device.map((r) => [r.t, r.utz]), colour: 2 }],
        },
      ],
      checks: [
        check(
          'largest impulsive force by the median without impulses',
          'more than an order of magnitude larger than in quasi-static contact',
          most(impulsive) / quantile(quasiStatic, 0.5),
          { low: 10 },
        ),
      ],
    },
  ];
}
