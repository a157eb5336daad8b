// Runs scenes with the appliance's own commands; what they write comes back as rows.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const guideway = process.env.GUIDEWAY ?? 'build/guideway';
const work = mkdtempSync(join(tmpdir(), 'figures-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));

/** Rows of a CSV: an object each, by the names of its head; words stay words. */
export function rows(file) {
  const [head, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
  const names = head.split(',');
  return lines.map((line) => {
    const values = line.split(',');
    return Object.fromEntries(
      names.map((n, i) => [n, Number.isNaN(Number(values[i])) ? values[i] : Number(values[i])]),
    );
  });
}

/** A bundled scene, to be changed. */
export const scene = (name) =>
  JSON.parse(readFileSync(new URL(`../../scenes/${name}.json`, import.meta.url), 'utf8'));

function write(name, value) {
  const file = join(work, name);
  writeFileSync(file, JSON.stringify(value));
  return file;
}

const tables = ['csv', 'bodies', 'collisions', 'device'];

/** Plays a scene; `wanted` names tables of `run`. The summary, and the tables as rows by their names. */
export function run(document, seconds, wanted = ['csv']) {
  const file = write('scene.json', document),
    args = ['run', file, '--seconds', String(seconds)];
  for (const t of tables) if (wanted.includes(t)) args.push(`--${t}`, join(work, `${t}.csv`));
  const summary = JSON.parse(execFileSync(guideway, args, { encoding: 'utf8' }));
  return { summary, ...Object.fromEntries(wanted.map((t) => [t, rows(join(work, `${t}.csv`))])) };
}

/** Assembles a scene: the result, its iterations and the objects' poses at each. */
export function assemble(document, method) {
  const file = write('scene.json', document),
    csv = join(work, 'iterations.csv'),
    bodies = join(work, 'bodies.csv');
  const args = ['assemble', file, '--method', method, '--csv', csv, '--bodies', bodies];
  const result = JSON.parse(execFileSync(guideway, args, { encoding: 'utf8' }));
  return { ...result, residuals: rows(csv), poses: rows(bodies) };
}

export const solve = (problem) =>
  JSON.parse(execFileSync(guideway, ['solve', write('problem.json', problem)], { encoding: 'utf8' }));

/** Rows of the benchmark whose names begin so, by their names; a figure that it missed is no failure here. */
export function bench(name) {
  const file = join(work, 'bench.csv');
  const ran = spawnSync(guideway, ['bench', name, '--csv', file], { encoding: 'utf8' });
  if (ran.error || ran.stderr) throw ran.error ?? new Error(ran.stderr);
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((l) => l && !l.startsWith('#'))
    .map((l) => [...l.matchAll(/(?:^|,)(?:"([^"]*)"|([^,]*))/g)].map((m) => m[1] ?? m[2]));
  const [head, ...list] = lines;
  const median = head.indexOf('median');
  return Object.fromEntries(list.map((r) => [r[0], Number(r[median])]));
}

// ---- rotations, as [w, x, y, z] ---------------------------------------------------------------

export function rotate([w, x, y, z], [a, b, c]) {
  const t = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * t[0] + y * t[2] - z * t[1], b + w * t[1] + z * t[0] - x * t[2], c + w * t[2] + x * t[1] - y * t[0]];
}

/** World place of an object's point, from a row of poses. */
export function place(row, id, point) {
  const turned = rotate([row[`${id}.qw`], row[`${id}.qx`], row[`${id}.qy`], row[`${id}.qz`]], point);
  return [row[`${id}.px`] + turned[0], row[`${id}.py`] + turned[1], row[`${id}.pz`] + turned[2]];
}

/** The poses of a scene's objects as a row of such a table. */
export const drawn = (document) =>
  Object.fromEntries(
    document.objects.flatMap((o) => {
      const p = o.pose?.p ?? [0, 0, 0],
        q = o.pose?.q ?? [1, 0, 0, 0];
      return ['px', 'py', 'pz', 'qw', 'qx', 'qy', 'qz'].map((n, i) => [`${o.id}.${n}`, [...p, ...q][i]]);
    }),
  );

/** Angles that follow one another, without jumps of whole turns (rad). */
export function unwound(angles) {
  let turns = 0,
    last = 0;
  return angles.map((a) => {
    turns = Math.round((last - a) / (2 * Math.PI));
    last = a + 2 * Math.PI * turns;
    return last;
  });
}

// ---- numbers ----------------------------------------------------------------------------------

export const most = (list) => list.reduce((a, b) => Math.max(a, b), -Infinity);
export const least = (list) => list.reduce((a, b) => Math.min(a, b), Infinity);
export function quantile(list, q) {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
}

/** A statement of the paper beside what came out: `ours` is to be at least `low` and at most `high`. */
export const check = (what, published, ours, { low = -Infinity, high = Infinity, unit = '' }) => ({
  what,
  published,
  ours,
  low,
  high,
  unit,
  holds: ours >= low && ours <= high,
});
