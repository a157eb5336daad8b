// The two arms of the gallery: a hand leads them round a square at their ends.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { guideway, root } from './server.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'guideway-robots-'));

for (const name of ['ur5', 'puma-560'])
  test(`${name} follows the hand, and its energy is the hand's work`, () => {
    const csv = join(scratch, `${name}.csv`);
    const r = spawnSync(guideway, ['run', name, '--seconds', '8', '--csv', csv], { encoding: 'utf8', timeout: 60000 });
    assert.equal(r.status, 0, r.stderr);
    const { energy, final } = JSON.parse(r.stdout);
    assert.ok(energy.work_in > 1e-3, `work ${energy.work_in}`);
    assert.ok(
      Math.abs(energy.final - energy.initial - energy.work_in + energy.dissipated) < 1e-9,
      JSON.stringify(energy),
    );
    // where the path of the scene ends
    const { path } = JSON.parse(readFileSync(join(root, 'scenes', `${name}.json`), 'utf8')).devices[0].operator;
    const end = path.at(-1).p;
    assert.ok(Math.hypot(...final.pose.p.map((x, i) => x - end[i])) < 5e-3, `${final.pose.p} for ${end}`);
    // device and arm stay together
    const [head, ...rows] = readFileSync(csv, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(','));
    const apart = Math.max(...rows.map((row) => Number(row[head.indexOf('error_p')])));
    assert.ok(apart < 1e-3, `${apart} m apart`);
  });
