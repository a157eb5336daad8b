// Plays sections VI and VIII of the mechanisms paper with the appliance's own `run` and draws what the hand's device
// and the mechanism do, as the paper's Fig. 6, 7, 11 and 12:
//   node tests/bench/mechanism.mjs build/guideway rt/haptics
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [, , guideway, folder] = process.argv;
const work = mkdtempSync(join(tmpdir(), 'mechanism-'));
const scene = (link) =>
  JSON.parse(readFileSync(new URL(`../../scenes/paper-mechanism-${link}.json`, import.meta.url), 'utf8'));

function play(document, seconds) {
  const file = join(work, 'scene.json'),
    csv = join(work, 'run.csv');
  writeFileSync(file, JSON.stringify(document));
  execFileSync(guideway, ['run', file, '--seconds', String(seconds), '--csv', csv]);
  const [header, ...lines] = readFileSync(csv, 'utf8').trimEnd().split('\n');
  const names = header.split(',');
  return lines.map((line) => {
    const values = line.split(',').map(Number);
    return Object.fromEntries(names.map((n, i) => [n, values[i]]));
  });
}

// Section VI as the scenes have it; only the control differs.
function simulated(link, control) {
  const s = scene(link);
  s.tool.control = control;
  return play(s, 3);
}

// Section VIII, first set: a device with viscous friction and a tick of delay, its mass taken for 0.9 of what it is.
function experiment(link, control, jdot) {
  const s = scene(link);
  [0, Math.PI / 6, -Math.PI / 3].forEach((q, i) => (s.mechanisms[0].links[i].joint.position = q));
  s.tool.control = control;
  delete s.tool.start;
  delete s.tool.substeps;
  const { coordination, coupling } = s.tool.rendering;
  s.tool.rendering = { jdot, coordination, coupling, mass_known: 0.9, passivity: false };
  s.devices[0].profile = 'planar-haptic-interface';
  s.devices[0].settings = { workspace_radius: 0, coulomb: 0, coulomb_angular: 0 };
  return play(s, 8);
}

const turn = (w, z) => 2 * Math.atan2(z, w);
const quantities = [
  ['x (mm)', (r) => 1e3 * r.mpx, (r) => 1e3 * r.px],
  ['y (mm)', (r) => 1e3 * r.mpy, (r) => 1e3 * r.py],
  ['θ (rad)', (r) => turn(r.mqw, r.mqz), (r) => turn(r.qw, r.qz)],
  ['apart (mm)', (r) => 1e3 * Math.hypot(r.mpx - r.px, r.mpy - r.py)],
];

const PANEL = 270,
  H = 96,
  LEFT = 44,
  TOP = 44,
  GAP = 26,
  SIDE = 14;

function grid(low, high) {
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const wide = (high - low) / step > 5 ? step * 2 : step;
  const list = [];
  for (let n = Math.ceil(low / wide); n * wide <= high + 1e-12; n++) list.push(Number((n * wide).toPrecision(6)));
  return list;
}

// The scale of a quantity is that of the whole row, so that its columns compare.
function range(columns, series) {
  const all = columns.flatMap(([, rows]) => series.flatMap((f) => rows.map(f)));
  const low = Math.min(...all),
    high = Math.max(...all),
    pad = Math.max((high - low) * 0.06, 1e-6);
  return [low - pad, high + pad];
}

function panel(rows, series, [low, high], x0, y0) {
  const end = rows.at(-1).t,
    width = PANEL - LEFT - SIDE;
  const x = (t) => (x0 + LEFT + (width * t) / end).toFixed(1);
  const y = (v) => (y0 + H - (H * (v - low)) / (high - low)).toFixed(1);
  const every = Math.ceil(rows.length / 400);
  const path = (f) =>
    rows
      .filter((_, i) => i % every === 0)
      .map((r, i) => `${i ? 'L' : 'M'}${x(r.t)} ${y(f(r))}`)
      .join('');
  const lines = grid(low, high).map(
    (v) =>
      `<path class="g" d="M${x0 + LEFT} ${y(v)}h${width}"/><text x="${x0 + LEFT - 4}" y="${Number(y(v)) + 4}" text-anchor="end">${v}</text>`,
  );
  const seconds = Array.from(
    { length: Math.round(end) + 1 },
    (_, s) => `<text x="${x(Math.min(s, end))}" y="${y0 + H + 13}" text-anchor="middle">${s}</text>`,
  );
  return (
    `<rect x="${x0 + LEFT}" y="${y0}" width="${width}" height="${H}"/>${lines.join('')}${seconds.join('')}` +
    series
      .map((f, i) => `<path class="${i || series.length === 1 ? 'm' : 'l'}" d="${path(f)}"/>`)
      .reverse()
      .join('')
  );
}

function draw(name, columns) {
  const width = columns.length * PANEL + 40,
    height = TOP + quantities.length * (H + GAP) + 18;
  const body = quantities.map(([title, ...series], row) => {
    const y0 = TOP + row * (H + GAP),
      scale = range(columns, series);
    return (
      `<text class="t" transform="translate(14 ${y0 + H / 2}) rotate(-90)" text-anchor="middle">${title}</text>` +
      columns.map(([, rows], i) => panel(rows, series, scale, 24 + i * PANEL, y0)).join('\n')
    );
  });
  const heads = columns.map(
    ([title], i) => `<text class="t" x="${24 + i * PANEL + LEFT}" y="${TOP - 8}">${title}</text>`,
  );
  writeFileSync(
    join(folder, `${name}.svg`),
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">
<style>svg{background:#fff}text{font:11px sans-serif;fill:#555}.t{font-size:12px;fill:#111}rect{fill:none;stroke:#999}.g{stroke:#e4e4e4}.l{fill:none;stroke:#0f766e;stroke-width:1.4}.m{fill:none;stroke:#b45309;stroke-width:1.2;stroke-dasharray:4 2}</style>
<text x="${24 + LEFT}" y="16"><tspan fill="#0f766e">device (line)</tspan>, <tspan fill="#b45309">operational point of the mechanism, and distance of both (dashed)</tspan></text>
${heads.join('\n')}
${body.join('\n')}
<text x="${width - 10}" y="${height - 4}" text-anchor="end">time (s)</text></svg>
`,
  );
}

function tell(title, rows) {
  const apart = rows.map(quantities[3][1]);
  console.log(`${title}: apart at the end ${apart.at(-1).toFixed(3)} mm, at most ${Math.max(...apart).toFixed(3)} mm`);
  return [title, rows];
}

for (const link of ['middle', 'distal']) {
  draw(`simulated-${link}`, [
    tell('impedance control alone', simulated(link, 'impedance')),
    tell('with penalties', simulated(link, 'penalty')),
  ]);
  draw(`experiment-${link}`, [
    tell('penalties', experiment(link, 'penalty', 'full')),
    tell('virtual coupling', experiment(link, 'coupling', 'full')),
    tell('impedance control, no J̇v', experiment(link, 'impedance', 'paper')),
  ]);
}
rmSync(work, { recursive: true });
