// Draws the figures of the five papers that show data, from what the appliance does, each beside what the paper says
// of it: make figures, or GUIDEWAY=$PWD/build/guideway node tests/figures/figures.mjs build/figures
// Ends with 1 where a figure is not as the paper says.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { draw } from './draw.mjs';

export const papers = ['framework', 'mechanisms', 'positioning', 'impulsive', 'surfaces'];

export const figuresOf = async (paper) => (await import(`./${paper}.mjs`)).figures();

const number = (v) => (Number.isInteger(v) ? String(v) : Number(v.toPrecision(3)).toString());

function allowed({ low, high, unit }) {
  const words = [low > -Infinity ? `at least ${number(low)}` : '', high < Infinity ? `at most ${number(high)}` : ''];
  if (low === high) return `${number(low)} ${unit}`.trim();
  return `${words.filter(Boolean).join(', ')} ${unit}`.trim();
}

const heads = ['figure', 'what', 'the paper', 'ours', 'held to', ''];
const table = (list) =>
  list.flatMap((f) =>
    f.checks.map((c) => [
      f.name,
      c.what,
      c.published,
      `${number(c.ours)} ${c.unit}`.trim(),
      allowed(c),
      c.holds ? 'holds' : 'FAILS',
    ]),
  );

function markdown(list) {
  const lines = table(list).map((cells) => `| ${cells.map((c) => c.replaceAll('|', '\\|')).join(' | ')} |`);
  return `# The papers' figures\n\n| ${heads.join(' | ')} |\n|${heads.map(() => '---|').join('')}\n${lines.join('\n')}\n`;
}

const escape = (text) => text.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);

function page(list) {
  const row = (cells, tag) => `<tr>${cells.map((c) => `<${tag}>${escape(c)}</${tag}>`).join('')}</tr>`;
  const of = (f) =>
    `<h2 id="${f.name}">${escape(f.title)}</h2><img src="${f.name}.svg" alt="${escape(f.title)}">${f.photo ? `<img src="${f.name}.png" alt="The page at this task">` : ''}<table>${row(heads.slice(1), 'th')}${table([f])
      .map((cells) => row(cells.slice(1), 'td'))
      .join('')}</table>`;
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>The papers' figures</title>
<style>body{font:15px sans-serif;max-width:1200px;margin:2em auto;color:#222}img{max-width:100%}td,th{text-align:left;padding:2px 12px 2px 0;font-size:13px}h2{font-size:16px;margin-top:2.2em}</style>
<h1>The papers' figures</h1>
<p>${list.map((f) => `<a href="#${f.name}">${f.name}</a>`).join(', ')}</p>
${list.map(of).join('\n')}</html>
`;
}

/** The page at the task of a figure that is a picture of the program; where no browser is, none. */
async function photograph(scene, file) {
  const { Appliance, launch, sleep } = await import('../web/harness.mjs');
  const appliance = await Appliance.start();
  const browser = await launch().catch(() => null);
  try {
    if (!browser) return false;
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    await appliance.open(scene);
    await page.goto(appliance.url);
    await page.waitForSelector('canvas', { timeout: 120000 });
    await sleep(2500);
    await page.screenshot({ path: file });
    return true;
  } finally {
    await browser?.close();
    await appliance.stop();
  }
}

async function main(folder) {
  const list = [];
  mkdirSync(folder, { recursive: true });
  for (const paper of papers)
    for (const f of await figuresOf(paper)) {
      writeFileSync(join(folder, `${f.name}.svg`), draw(f));
      f.photo = f.picture && (await photograph(f.picture, join(folder, `${f.name}.png`)));
      list.push(f);
    }
  writeFileSync(join(folder, 'index.html'), page(list));
  writeFileSync(join(folder, 'index.md'), markdown(list));
  process.stdout.write(markdown(list));
  return list.every((f) => f.checks.every((c) => c.holds)) ? 0 : 1;
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url))
  process.exitCode = await main(process.argv[2] ?? 'build/figures');
