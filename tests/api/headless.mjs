// Scenes of systems of bodies run by the command line, what their CSV says, and the vectors, frames and bars
// that they are made of.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { near } from './running.mjs';
import { guideway } from './server.mjs';

export const folder = mkdtempSync(join(tmpdir(), 'guideway-headless-'));
after(() => rmSync(folder, { recursive: true }));
export const G = 9.81;

export function command(scene, ...more) {
  const file = join(folder, 'scene.json');
  writeFileSync(file, JSON.stringify({ format: 'guideway-scene/1', name: 'headless', ...scene }));
  return spawnSync(guideway, ['run', file, ...more], { encoding: 'utf8', maxBuffer: 1 << 26 });
}

// A free-form shape as `guideway surface` makes it: { convert: .. } or { revolve: .. }, say.
export function made(from) {
  const done = spawnSync(guideway, ['surface', '-'], { input: JSON.stringify(from), encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout).geometry;
}

// A flat sheet from -size to size.
export const flat = (size) => ({
  type: 'nurbs-surface',
  degree: [1, 1],
  knots: [
    [0, 0, 1, 1],
    [0, 0, 1, 1],
  ],
  points: [-size, size].map((x) => [-size, size].map((y) => [x, y, 0])),
});

// A CSV, its cells by row and column's name.
export function table(file) {
  const [head, ...rows] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  const at = new Map(head.map((name, i) => [name, i]));
  return { head, rows, get: (k, name) => Number(rows.at(k)[at.get(name)]) };
}

// A run: its summary, the columns of all bodies, and the same of the tool.
export function run(scene, seconds) {
  const csv = join(folder, 'bodies.csv'),
    tool = join(folder, 'tool.csv');
  const done = command(scene, '--seconds', `${seconds}`, '--bodies', csv, '--csv', tool);
  assert.equal(done.status, 0, done.stderr);
  const bodies = table(csv);
  const vec = (k, id, names) => names.map((n) => bodies.get(k, `${id}.${n}`));
  return {
    summary: JSON.parse(done.stdout),
    head: bodies.head,
    count: bodies.rows.length,
    text: readFileSync(csv, 'utf8'),
    get: bodies.get,
    tool: table(tool).get,
    p: (k, id) => vec(k, id, ['px', 'py', 'pz']),
    q: (k, id) => vec(k, id, ['qw', 'qx', 'qy', 'qz']),
    v: (k, id) => vec(k, id, ['vx', 'vy', 'vz']),
    w: (k, id) => vec(k, id, ['wx', 'wy', 'wz']),
  };
}

// Invariants of a system without external forces: its energy balance and its relations.
export function closed({ summary: { energy: e, constraint_residual_max: residual } }, tolerance = 1e-8) {
  near(e.final, e.initial + e.work_in + e.motors - e.dissipated + e.edits, tolerance);
  assert.ok(residual <= 1e-12, `residual ${residual}`);
}

export const add = (a, b, s = 1) => a.map((x, i) => x + s * b[i]);
export const cross = ([a, b, c], [x, y, z]) => [b * z - c * y, c * x - a * z, a * y - b * x];
export const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
export const rotate = ([w, ...u], v) => add(add(v, cross(u, v), 2 * w), cross(u, cross(u, v)), 2);
export const about = (axis, angle) => [Math.cos(angle / 2), ...axis.map((x) => x * Math.sin(angle / 2))];
export const far = (a, b) => Math.hypot(...add(a, b, -1));
export const apart = (q, r) =>
  Math.min(
    far(q, r),
    far(
      q,
      r.map((x) => -x),
    ),
  ); // quaternions
export const wrap = (a) => a - 2 * Math.PI * Math.round(a / 2 / Math.PI);

export const ground = {
  id: 'ground',
  geometry: { type: 'box', size: [4, 4, 0.1] },
  pose: { p: [0, 0, -0.05] },
  fixed: true,
};
export const sized = (id, size, more) => ({ id, geometry: { type: 'box', size }, free: true, ...more });
export const frame = (object, p = [0, 0, 0], q = [1, 0, 0, 0]) => ({ object, at: { p, q } });
export const revolute = (id, a, b, more) => ({ id, type: 'revolute', a, b, ...more });
// a uniform bar of 1 kg along its x, thin
export const rod = (id, length, p, angle, more) =>
  sized(id, [length, 0.01, 0.01], {
    pose: { p, q: about([0, 0, 1], angle) },
    body: { mass: 1, com: [0, 0, 0], inertia: [1e-5, length ** 2 / 12, length ** 2 / 12, 0, 0, 0] },
    ...more,
  });

// Fourth-order Runge-Kutta of y' = f(y), steps of h.
export function integrate(f, y, h, steps) {
  for (let i = 0; i < steps; i++) {
    const a = f(y),
      b = f(add(y, a, h / 2)),
      c = f(add(y, b, h / 2)),
      d = f(add(y, c, h));
    y = y.map((x, k) => x + (h / 6) * (a[k] + 2 * b[k] + 2 * c[k] + d[k]));
  }
  return y;
}
