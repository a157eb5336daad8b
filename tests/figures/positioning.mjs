// Fig. 11 of the paper on relational positioning is a picture of its solver at work; its section VII-B says what a
// solution takes. Both here: our times beside those, and (make figures) the page at the same task.
import { bench, check, least, most, solve } from './play.mjs';

/** Two directions of either sense at right angles and a point at distances from three axes. */
const thirtyTwo = () => {
  const line = (d) => ({ line: { point: [0, 0, 0], direction: d } }),
    axes = [
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ];
  return {
    constraints: [
      ...axes.slice(0, 2).map((d) => ({ type: 'parallel', mobile: line(d), fixed: line(d), sense: 'either' })),
      ...axes.map((d, k) => ({
        type: 'distance',
        mobile: { point: [0.01, -0.02, 0.015] },
        fixed: line(d),
        value: k < 2 ? 0.1 : 0.05,
      })),
    ],
  };
};

export function figures() {
  const times = bench('solve'),
    one = Object.entries(times)
      .filter(([name]) => name.startsWith('solve-one-'))
      .map(([, median]) => median),
    named = (name) => times[name],
    all = [...one, ...['solve-circle', 'solve-three-peg', 'solve-three-corner', 'solve-32'].map(named)];
  const points = [
    ...one.map((us) => [1, us]),
    [2, named('solve-circle')],
    ...['peg', 'corner', 'walls', 'hinge', 'socket'].map((n) => [3, named(`solve-three-${n}`)]),
    [5, named('solve-32')],
  ];
  const branches = solve(thirtyTwo()).branches.length;
  return [
    {
      name: 'relational-positioning-11',
      picture: 'cover-and-base',
      title: 'Relational positioning, section VII-B: time of a solution',
      panels: [
        {
          x: 'constraints',
          y: 'µs',
          log: true,
          band: [50, 1500, 'the paper: 50 µs to 1.5 ms, Pentium 4 at 3.4 GHz'],
          series: [{ points, look: 'dot', name: 'ours, median of a kind of problem' }],
        },
      ],
      checks: [
        check('one constraint, one solution', '50 µs', most(one), { high: 50, unit: 'µs' }),
        check('five constraints, 32 solutions', '1500 µs', named('solve-32'), { high: 1500, unit: 'µs' }),
        check('solutions of these five', '32 distinct', branches, { low: 32, high: 32 }),
        check('decades from the fastest to the slowest', 'two', Math.log10(most(all) / least(all)), { high: 2.5 }),
      ],
    },
  ];
}
