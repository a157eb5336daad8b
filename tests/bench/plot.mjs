// Draws what `run --csv` wrote for the scenes of framework V-A and V-B as the paper's Fig. 13 and
// 14 do: node tests/bench/plot.mjs plane|circle IN.csv OUT.svg
import { readFileSync, writeFileSync } from 'node:fs';

const [, , which, input, output] = process.argv;
const [header, ...lines] = readFileSync(input, 'utf8').trimEnd().split('\n');
const names = header.split(',');
const rows = lines.map((line) => {
  const values = line.split(',').map(Number);
  return Object.fromEntries(names.map((n, i) => [n, values[i]]));
});

const HEIGHT = 0.1,
  RADIUS = 0.06; // of the cylinder's top; between the axes (m)

// The z axis of the device's frame against the plane's normal (degrees).
const tilt = (r) => {
  const zz = 1 - 2 * (r.mqx ** 2 + r.mqy ** 2);
  return (
    (Math.atan2(Math.hypot(2 * (r.mqx * r.mqz + r.mqw * r.mqy), 2 * (r.mqy * r.mqz - r.mqw * r.mqx)), zz) * 180) /
    Math.PI
  );
};
const outward = (r) => (r.fx * r.px + r.fy * r.py) / Math.hypot(r.px, r.py);
const along = (r) => (r.fy * r.px - r.fx * r.py) / Math.hypot(r.px, r.py);
const offCircle = (r) => Math.hypot(Math.hypot(r.mpx, r.mpy) - RADIUS, r.mpz - HEIGHT);

const panels = {
  plane: [
    ["operator's force normal to the plane (N)", (r) => r.fz],
    ['distance of the device from the plane (µm)', (r) => (r.mpz - HEIGHT) * 1e6],
    ["operator's torque against the plane (N m)", (r) => Math.hypot(r.tx, r.ty)],
    ['angle of the device to the plane (degrees)', tilt],
  ],
  circle: [
    ["operator's force normal to the circle (N)", (r) => Math.hypot(outward(r), r.fz)],
    ["operator's force along the circle (N)", along],
    ['distance of the device from the circle (µm)', (r) => offCircle(r) * 1e6],
  ],
}[which];

const W = 760,
  H = 130,
  LEFT = 62,
  TOP = 26,
  GAP = 34;
const end = rows.at(-1).t;

function ticks(low, high) {
  const step = 10 ** Math.floor(Math.log10((high - low) / 2));
  const wide = (high - low) / step > 5 ? step * 2 : step;
  const list = [];
  for (let v = Math.ceil(low / wide) * wide; v <= high + 1e-12; v += wide) list.push(Number(v.toPrecision(6)));
  return list;
}

function panel([title, value], index) {
  const y0 = TOP + index * (H + GAP);
  const values = rows.map(value);
  let low = Math.min(0, ...values),
    high = Math.max(0, ...values);
  if (high === low) high = low + 1;
  const pad = (high - low) * 0.06;
  low -= pad;
  high += pad;
  const x = (t) => (LEFT + ((W - LEFT - 10) * t) / end).toFixed(1);
  const y = (v) => (y0 + H - (H * (v - low)) / (high - low)).toFixed(1);
  const path = values
    .map((v, i) => `${i ? 'L' : 'M'}${x(rows[i].t)} ${y(v)}`)
    .filter((_, i) => i % 4 === 0)
    .join('');
  const grid = ticks(low, high)
    .map(
      (v) =>
        `<path class="g" d="M${LEFT} ${y(v)}H${W - 10}"/><text x="${LEFT - 6}" y="${Number(y(v)) + 4}" text-anchor="end">${v}</text>`,
    )
    .join('');
  const seconds = Array.from(
    { length: Math.floor(end) + 1 },
    (_, s) => `<text x="${x(s)}" y="${y0 + H + 14}" text-anchor="middle">${s}</text>`,
  ).join('');
  return `<text class="t" x="${LEFT}" y="${y0 - 7}">${title}</text><rect x="${LEFT}" y="${y0}" width="${W - LEFT - 10}" height="${H}"/>${grid}${seconds}<path class="l" d="${path}"/>`;
}

const total = TOP + panels.length * (H + GAP) + 6;
writeFileSync(
  output,
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${W} ${total}" width="${W}" height="${total}">
<style>svg{background:#fff}text{font:11px sans-serif;fill:#555}.t{font-size:12px;fill:#111}rect{fill:none;stroke:#999}.g{stroke:#e4e4e4}.l{fill:none;stroke:#0f766e;stroke-width:1.2}</style>
${panels.map(panel).join('\n')}
<text x="${W - 10}" y="${total - 6}" text-anchor="end">time (s)</text></svg>
`,
);
