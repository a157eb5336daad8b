// Draws a figure as SVG: a grid of panels, each with axes and series. A figure is
//   { title, columns, panels: [panel or null] }
// and a panel
//   { title, x, y, series, equal, log, band, floor, also, afloat }
// with x and y the axes' labels, `equal` one scale for both axes (a picture of a plane), `log` a
// logarithmic y axis, `band` [low, high, words] a published range of y, `floor` the least value that a
// logarithmic axis shows, `also` values that the y axis shows as well, `afloat` that it need not show
// zero. A series is { points: [[x, y] ...], look, name, colour }, its look `line`,
// `dash`, `dot`, `cross`, `stem` or `shape` (a closed outline); a colour is an index of COLOURS.
export const COLOURS = ['#0f766e', '#b45309', '#4338ca', '#9f1239', '#525252', '#a3a3a3'];

const LEFT = 58,
  RIGHT = 14,
  TOP = 24,
  BOTTOM = 34,
  WIDTH = 380,
  HEIGHT = 170,
  SQUARE = 300;

const escape = (text) => String(text).replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
const short = (v) => {
  const size = Math.abs(v);
  return size !== 0 && (size < 1e-3 || size >= 1e5)
    ? v
        .toExponential(1)
        .replace('.0e', 'e')
        .replace('e+', 'e')
    : String(Number(v.toPrecision(6)));
};

/** Round values between low and high, at most `most` of them. */
function ticks(low, high, most) {
  const step = [1, 2, 5, 10]
    .map((m) => m * 10 ** Math.floor(Math.log10((high - low) / most)))
    .find((s) => (high - low) / s <= most);
  const list = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) list.push(n * step);
  return list;
}

/** Powers of ten of a logarithmic axis, at most about five of them. */
function decades(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9),
    last = Math.floor(Math.log10(high) + 1e-9),
    every = Math.max(1, Math.ceil((last - first) / 5)),
    list = [];
  for (let n = first; n <= last; n += every) list.push(10 ** n);
  return list;
}

function range(values, pad) {
  let low = Infinity,
    high = -Infinity;
  for (const v of values) {
    if (v < low) low = v;
    if (v > high) high = v;
  }
  if (!(high >= low)) return [0, 1];
  if (high === low) return [low - (Math.abs(low) || 1) / 2, high + (Math.abs(high) || 1) / 2];
  return [low - pad * (high - low), high + pad * (high - low)];
}

/** Limits of both axes: [x0, x1, y0, y1]. */
function limits(panel, width, height) {
  const points = panel.series.flatMap((s) => s.points);
  let [x0, x1] = range(
    points.map((p) => p[0]),
    panel.equal || panel.series.some((s) => s.look === 'stem') ? 0.05 : 0,
  );
  if (panel.log) {
    const positive = points.map((p) => Math.max(p[1], panel.floor ?? 1e-300)).concat(panel.band?.slice(0, 2) ?? []);
    const [y0, y1] = range(
      positive.map((v) => Math.log10(v)),
      0.08,
    );
    return [x0, x1, 10 ** y0, 10 ** y1];
  }
  const seen = points.map((p) => p[1]).concat(panel.band?.slice(0, 2) ?? []);
  if (!panel.equal && !panel.afloat) seen.push(0);
  let [y0, y1] = range(seen.concat(panel.also ?? []), 0.06);
  if (panel.equal) {
    // one scale for both axes, the picture in the middle
    const scale = Math.max((x1 - x0) / width, (y1 - y0) / height),
      dx = (scale * width - (x1 - x0)) / 2,
      dy = (scale * height - (y1 - y0)) / 2;
    [x0, x1, y0, y1] = [x0 - dx, x1 + dx, y0 - dy, y1 + dy];
  }
  return [x0, x1, y0, y1];
}

/** Fewer points: of each pixel's column the first, lowest, highest and last. */
function thin(points, x) {
  if (points.length < 400) return points;
  const kept = [];
  for (let i = 0; i < points.length; ) {
    const column = Math.round(x(points[i][0]));
    let j = i,
      low = i,
      high = i;
    for (; j < points.length && Math.round(x(points[j][0])) === column; j++) {
      if (points[j][1] < points[low][1]) low = j;
      if (points[j][1] > points[high][1]) high = j;
    }
    for (const k of [...new Set([i, low, high, j - 1])].sort((a, b) => a - b)) kept.push(points[k]);
    i = j;
  }
  return kept;
}

/** Fewer points of a curve in a plane: those a third of a pixel apart. */
function sparse(points, x, y) {
  let last = null;
  return points.filter((p, i) => {
    const here = [x(p[0]), y(p[1])];
    if (last && i < points.length - 1 && Math.hypot(here[0] - last[0], here[1] - last[1]) < 0.34) return false;
    last = here;
    return true;
  });
}

/** Without points that lie a tenth of a pixel from the line between the last one kept and the next. */
function straight(points, x, y) {
  const kept = [points[0]];
  for (let i = 1; i + 1 < points.length; i++) {
    const [a, b, c] = [kept.at(-1), points[i], points[i + 1]].map((p) => [x(p[0]), y(p[1])]),
      d = [c[0] - a[0], c[1] - a[1]],
      length = Math.hypot(...d),
      off = length && Math.abs(d[0] * (b[1] - a[1]) - d[1] * (b[0] - a[0])) / length;
    if (off > 0.1 || length > 12) kept.push(points[i]);
  }
  if (points.length > 1) kept.push(points.at(-1));
  return kept;
}

function drawSeries(s, x, y, panel) {
  const colour = COLOURS[s.colour ?? 0],
    at = (p) => `${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`;
  if (s.look === 'stem')
    return s.points
      .map(
        (p) =>
          `<path d="M${x(p[0]).toFixed(1)} ${y(0).toFixed(1)}V${y(p[1]).toFixed(1)}" stroke="${colour}" fill="none"/>` +
          `<circle cx="${x(p[0]).toFixed(1)}" cy="${y(p[1]).toFixed(1)}" r="2" fill="${colour}"/>`,
      )
      .join('');
  if (s.look === 'none') return '';
  if (s.look === 'dot' || s.look === 'cross')
    return s.points
      .map((p) =>
        s.look === 'dot'
          ? `<circle cx="${x(p[0]).toFixed(1)}" cy="${y(p[1]).toFixed(1)}" r="2.4" fill="none" stroke="${colour}"/>`
          : `<path d="M${(x(p[0]) - 2.4).toFixed(1)} ${(y(p[1]) - 2.4).toFixed(1)}l4.8 4.8m0 -4.8l-4.8 4.8" stroke="${colour}"/>`,
      )
      .join('');
  const points = straight(panel.equal ? sparse(s.points, x, y) : thin(s.points, x), x, y);
  const path = points.map((p, i) => `${i ? 'L' : 'M'}${at(p)}`).join('') + (s.look === 'shape' ? 'Z' : '');
  const fill = s.look === 'shape' && s.fill ? `fill="${colour}" fill-opacity="0.14"` : 'fill="none"';
  return `<path d="${path}" ${fill} stroke="${colour}" stroke-width="${s.thin ? 0.8 : 1.3}"${
    s.look === 'dash' ? ' stroke-dasharray="5 3"' : ''
  }${s.faint ? ` opacity="${s.faint}"` : ''}/>`;
}

function drawPanel(panel, x0, y0, width, height, id) {
  const w = width - LEFT - RIGHT,
    h = height - TOP - BOTTOM,
    [a, b, c, d] = limits(panel, w, h),
    left = x0 + LEFT,
    top = y0 + TOP;
  const x = (v) => left + (w * (v - a)) / (b - a);
  const y = panel.log
    ? (v) => top + h - (h * Math.log(Math.max(v, panel.floor ?? 1e-300) / c)) / Math.log(d / c)
    : (v) => top + h - (h * (v - c)) / (d - c);
  const out = [`<clipPath id="${id}"><rect x="${left}" y="${top}" width="${w}" height="${h}"/></clipPath>`];
  out.push(`<text class="t" x="${left}" y="${top - 8}">${escape(panel.title ?? '')}</text>`);
  if (panel.band) {
    const [low, high, words] = panel.band,
      t = Math.max(top, y(high)),
      bottom = Math.min(top + h, y(low));
    out.push(`<rect class="b" x="${left}" y="${t.toFixed(1)}" width="${w}" height="${Math.max(1, bottom - t).toFixed(1)}"/>`);
    out.push(`<text class="n" x="${left + 6}" y="${(t + 12).toFixed(1)}">${escape(words)}</text>`);
  }
  for (const v of panel.log ? decades(c, d) : ticks(c, d, panel.equal ? 7 : 5))
    out.push(
      `<path class="g" d="M${left} ${y(v).toFixed(1)}h${w}"/>` +
        `<text x="${left - 6}" y="${(y(v) + 4).toFixed(1)}" text-anchor="end">${short(v)}</text>`,
    );
  for (const v of ticks(a, b, 7))
    out.push(
      `<path class="g" d="M${x(v).toFixed(1)} ${top}v${h}"/>` +
        `<text x="${x(v).toFixed(1)}" y="${top + h + 14}" text-anchor="middle">${short(v)}</text>`,
    );
  out.push(`<g clip-path="url(#${id})">`, ...panel.series.map((s) => drawSeries(s, x, y, panel)), '</g>');
  out.push(`<rect class="f" x="${left}" y="${top}" width="${w}" height="${h}"/>`);
  if (panel.x)
    out.push(`<text x="${left + w / 2}" y="${top + h + 28}" text-anchor="middle">${escape(panel.x)}</text>`);
  if (panel.y)
    out.push(
      `<text transform="translate(${x0 + 12} ${top + h / 2}) rotate(-90)" text-anchor="middle">${escape(panel.y)}</text>`,
    );
  return out.join('');
}

/** Names of the series, each once. */
function legend(figure, y) {
  const named = new Map();
  for (const p of figure.panels)
    for (const s of p?.series ?? []) if (s.name && !named.has(s.name)) named.set(s.name, s);
  let x = LEFT;
  return [...named.values()]
    .map((s) => {
      const colour = COLOURS[s.colour ?? 0],
        at = x;
      x += 40 + 6.4 * s.name.length;
      const mark = { dot: '○', cross: '×', stem: '●' }[s.look];
      return (
        (mark
          ? `<text x="${at + 6}" y="${y + 4}" style="fill:${colour}">${mark}</text>`
          : `<path d="M${at} ${y}h20" stroke="${colour}" stroke-width="1.6"${s.look === 'dash' ? ' stroke-dasharray="5 3"' : ''}/>`) +
        `<text x="${at + 25}" y="${y + 4}">${escape(s.name)}</text>`
      );
    })
    .join('');
}

/** The figure as a text of SVG. */
export function draw(figure) {
  const columns = figure.columns ?? 1,
    rows = [],
    body = [];
  for (let i = 0; i < figure.panels.length; i += columns) rows.push(figure.panels.slice(i, i + columns));
  const heading = figure.panels.some((p) => p?.series.some((s) => s.name)) ? 50 : 30;
  let y = heading;
  rows.forEach((row, r) => {
    const height = (row.some((p) => p?.equal) ? SQUARE : HEIGHT) + TOP;
    const wide = columns === 1 ? 2 * WIDTH : WIDTH; // one alone has the width of two
    row.forEach((p, i) => p && body.push(drawPanel(p, i * WIDTH, y, wide, height, `p${r}-${i}`)));
    y += height + 6;
  });
  const width = Math.max(columns, 2) * WIDTH + 10;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}">
<style>svg{background:#fff}text{font:11px sans-serif;fill:#555}.h{font-size:14px;fill:#111}.t{font-size:12px;fill:#111}.n{fill:#4338ca}.f{fill:none;stroke:#999}.b{fill:#4338ca;opacity:.12}.g{stroke:#e7e7e7;fill:none}</style>
<text class="h" x="${LEFT}" y="18">${escape(figure.title)}</text>
${legend(figure, 36)}
${body.join('\n')}
</svg>
`;
}
