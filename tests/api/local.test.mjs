// Local models from the command line: `contact.model` in a scene file, against the exact ones.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, start } from './server.mjs';

const GUIDEWAY = process.env.GUIDEWAY ?? new URL('../../build/guideway', import.meta.url).pathname;
const scratch = mkdtempSync(join(tmpdir(), 'guideway-local-'));
const bundled = (name) => JSON.parse(readFileSync(new URL(`../../scenes/${name}.json`, import.meta.url)));

function run(scene, seconds) {
  const file = join(scratch, 'scene.json'),
    csv = join(scratch, 'out.csv');
  writeFileSync(file, JSON.stringify(scene));
  const r = spawnSync(GUIDEWAY, ['run', file, '--seconds', `${seconds}`, '--csv', csv], {
    encoding: 'utf8',
    timeout: 120000,
  });
  assert.equal(r.status, 0, r.stderr);
  const [head, ...rows] = readFileSync(csv, 'utf8')
    .trim()
    .split('\n')
    .map((l) => l.split(','));
  const column = (name) => rows.map((row) => Number(row[head.indexOf(name)]));
  return { summary: JSON.parse(r.stdout), column };
}

const furthest = (a, b) => Math.max(...a.map((v, i) => Math.abs(v - b[i])));

test("the paper's mechanism moves as the exact one does, at every rate of the world", () => {
  const scene = bundled('paper-mechanism-middle');
  const exact = run(scene, 3);
  assert.equal(exact.summary.energy.edits, 0);
  const way = Math.hypot(...['px', 'py'].map((c) => exact.column(c).at(-1) - exact.column(c)[0]));
  assert.ok(way > 0.01);
  for (const rate of [1000, 200, 50]) {
    const local = run({ ...scene, contact: { enabled: false, model: 'local', rate } }, 3);
    for (const c of ['px', 'py']) assert.ok(furthest(exact.column(c), local.column(c)) <= 0.01 * way, c);
    assert.ok(furthest(exact.column('error_p'), local.column('error_p')) <= 1e-4);
    assert.ok(furthest(exact.column('q1'), local.column('q1')) <= 0.02);
    const e = local.summary.energy;
    assert.ok(Math.abs(e.final - e.initial - e.work_in - e.edits + e.dissipated) <= 1e-9);
    assert.ok(e.edits !== 0 && Math.abs(e.edits) <= 0.05 * e.work_in);
  }
});

test('a local model runs the same way twice', () => {
  const scene = { ...bundled('paper-mechanism-distal'), contact: { enabled: true, model: 'local', rate: 100 } };
  const [a, b] = [run(scene, 1), run(scene, 1)];
  assert.deepEqual(a.summary.final, b.summary.final);
  assert.deepEqual(a.column('q3'), b.column('q3'));
});

test('a mechanism that is added while local models run falls', async () => {
  const server = await start({ args: ['--scene', 'paper-mechanism-middle'] });
  const { expect } = await client(server);
  await expect(200, 'PATCH', '/scene', { gravity: [0, 0, -9.81] });
  await expect(200, 'PATCH', '/contact', { model: 'local' });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const joint = { type: 'revolute', axis: [0, 1, 0] },
    link = { mass: 1, com: [0.1, 0, 0], inertia: [0.01, 0.01, 0.01, 0, 0, 0] };
  await expect(201, 'POST', '/mechanisms', { id: 'beam', base: { p: [3, 0, 0] }, links: [{ joint, ...link }] });
  await expect(200, 'PUT', '/simulation', { state: 'paused' });
  await expect(200, 'POST', '/simulation/step', { ticks: 100 });
  const { positions, velocities } = (await expect(200, 'GET', '/simulation')).json.mechanisms[1];
  const fallen = (2 * 9.81 * 0.1 * Math.sin(positions[0])) / 0.02; // v^2 = 2 m g r sin q / (I + m r^2)
  assert.ok(positions[0] > 0.2 && Math.abs(velocities[0] ** 2 / fallen - 1) < 0.05, `${positions} ${velocities}`);
  await server.stop();
});
