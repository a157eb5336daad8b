// Writes the benchmark table of docs/figures.md from a CSV of `guideway bench --csv`:
//   node tests/bench/figures.mjs [tests/bench/cloud-2cpu.csv] [--check]
// Everything between the two marks is replaced; with --check nothing is written, and the script
// fails if the table differs from the CSV.
import { readFileSync, writeFileSync } from 'node:fs';

const args = process.argv.slice(2);
const check = args.includes('--check');
const csv = args.find((a) => !a.startsWith('--')) ?? 'tests/bench/cloud-2cpu.csv';
const page = 'docs/figures.md';
const marks = ['<!-- table of the benchmark: begin -->', '<!-- table of the benchmark: end -->'];

/** Fields of a CSV line; quoted as in RFC 4180. */
function fields(line) {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map((m) =>
    m[1] !== undefined ? m[1].replaceAll('""', '"') : m[2],
  );
}

/** The CSV's tables: a head line, rows, an empty line between two of them. */
function tables(text) {
  const lines = text.split('\n').filter((line) => !line.startsWith('#'));
  return lines
    .join('\n')
    .split(/\n\s*\n/)
    .map((block) =>
      block
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map(fields),
    )
    .filter((rows) => rows.length > 1)
    .map(([head, ...rows]) => rows.map((row) => Object.fromEntries(head.map((h, i) => [h, row[i] ?? '']))));
}

const short = (text) =>
  Number.isFinite(Number(text)) && text !== '' ? String(Number(Number(text).toPrecision(3))) : text;

function markdown(rows) {
  if ('median' in rows[0]) {
    return [
      '| row | measures | median | p99 | unit | held to |',
      '|---|---|---|---|---|---|',
      ...rows.map(
        (r) =>
          `| \`${r.name}\` | ${r.what ?? ''} | ${short(r.median)} | ${short(r.p99)} | ${r.unit} | ` +
          `${r.figure}${r.result === 'missed' ? ' (missed)' : ''} |`,
      ),
    ].join('\n');
  }
  const heads = Object.keys(rows[0]);
  return [
    `| ${heads.join(' | ')} |`,
    `|${heads.map(() => '---').join('|')}|`,
    ...rows.map((r) => `| ${heads.map((h) => (h === 'name' ? `\`${r[h]}\`` : short(r[h]))).join(' | ')} |`),
  ].join('\n');
}

const source = readFileSync(csv, 'utf8');
const body = tables(source).map(markdown).join('\n\n');
const old = readFileSync(page, 'utf8');
const [before, rest] = old.split(marks[0]);
const after = rest.split(marks[1])[1];
const now = `${before}${marks[0]}\n\n${body}\n\n${marks[1]}${after}`;
if (check && now !== old) {
  console.error(`${page} is not what ${csv} says: node tests/bench/figures.mjs`);
  process.exit(1);
}
if (!check) writeFileSync(page, now);
