// Plots the solver's time over the number of constraints (compare relational-positioning
// VII-A), from the benchmark's rows: node tests/bench/growth.mjs tests/bench/cloud-2cpu.csv rt/positioning/growth.svg
import { readFileSync, writeFileSync } from 'node:fs';

const [, , input, output] = process.argv;
const rows = readFileSync(input, 'utf8')
  .split('\n')
  .map((line) => line.split(','))
  .filter(([name]) => /^solve-many-\d+$/.test(name))
  .map(([name, , median, p99]) => ({ n: Number(name.split('-').at(-1)), median: Number(median), p99: Number(p99) }));
if (rows.length < 2) throw new Error(`${input} has no rows solve-many-1, solve-many-2, ...`);

const W = 560,
  H = 300,
  LEFT = 62,
  RIGHT = 92,
  TOP = 26,
  BOTTOM = 40;
const decades = (values) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))];
const [low, high] = decades(rows.flatMap((r) => [r.median, r.p99]));
const most = Math.log2(rows.at(-1).n);
const x = (n) => LEFT + ((W - LEFT - RIGHT) * Math.log2(n)) / most;
const y = (us) => TOP + ((H - TOP - BOTTOM) * (high - Math.log10(us))) / (high - low);
const at = (n, us) => `${x(n).toFixed(1)} ${y(us).toFixed(1)}`;
const path = (points) => points.map(([n, us], i) => `${i ? 'L' : 'M'}${at(n, us)}`).join('');

// n^2 through the last median, down to where it leaves the frame
const last = rows.at(-1),
  least = Math.max(1, last.n * Math.sqrt(10 ** low / last.median));
const square = path([
  [least, last.median * (least / last.n) ** 2],
  [last.n, last.median],
]);
const names = {
  '-3': '1 ns',
  '-2': '10 ns',
  '-1': '0.1 µs',
  0: '1 µs',
  1: '10 µs',
  2: '0.1 ms',
  3: '1 ms',
  4: '10 ms',
  5: '0.1 s',
};
const grid = Array.from({ length: high - low + 1 }, (_, i) => low + i)
  .map(
    (d) =>
      `<path class="g" d="M${LEFT} ${y(10 ** d).toFixed(1)}H${W - RIGHT}"/><text x="${LEFT - 6}" y="${(y(10 ** d) + 4).toFixed(1)}" text-anchor="end">${names[d]}</text>`,
  )
  .join('');
const counts = rows
  .map((r) => `<text x="${x(r.n).toFixed(1)}" y="${H - BOTTOM + 16}" text-anchor="middle">${r.n}</text>`)
  .join('');
const curve = (key) =>
  `<path class="${key}" d="${path(rows.map((r) => [r.n, r[key]]))}"/>` +
  rows.map((r) => `<circle class="${key}" cx="${x(r.n).toFixed(1)}" cy="${y(r[key]).toFixed(1)}" r="2.5"/>`).join('') +
  `<text x="${W - RIGHT + 8}" y="${(y(last[key]) + 4).toFixed(1)}">${key}</text>`;

writeFileSync(
  output,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${W} ${H}" width="${W}" height="${H}">
<style>svg{background:#fff}text{font:11px sans-serif;fill:#555}.t{font-size:12px;fill:#111}rect{fill:none;stroke:#999}.g{stroke:#e4e4e4}path.median,path.p99,path.s{fill:none;stroke-width:1.4}path.median{stroke:#0f766e}circle.median{fill:#0f766e}path.p99{stroke:#b45309}circle.p99{fill:#b45309}path.s{stroke:#999;stroke-dasharray:4 4}</style>
<text class="t" x="${LEFT}" y="17">time of one answer over consistent constraints of mixed kinds (dashed: n²)</text>
<rect x="${LEFT}" y="${TOP}" width="${W - LEFT - RIGHT}" height="${H - TOP - BOTTOM}"/>${grid}${counts}
<path class="s" d="${square}"/>${curve('p99')}${curve('median')}
<text x="${(LEFT + W - RIGHT) / 2}" y="${H - 6}" text-anchor="middle">constraints</text></svg>
`,
);
