// The program on the command line: what it wrote and how it ended.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { guideway } from './server.mjs';

// A folder of the test file's own, where the program runs.
export const scratch = mkdtempSync(join(tmpdir(), 'guideway-command-'));
after(() => rmSync(scratch, { recursive: true, force: true }));

export function command(args, input) {
  const r = spawnSync(guideway, args, { input, encoding: 'utf8', cwd: scratch, timeout: 60000, maxBuffer: 1 << 26 });
  return { code: r.status, out: r.stdout, err: r.stderr };
}

// The answer to a problem, the summary of a run: JSON.
export function solve(problem) {
  const r = command(['solve', '-'], JSON.stringify(problem));
  assert.equal(r.code, 0, r.err);
  return JSON.parse(r.out);
}

export function run(scene, ...args) {
  const r = command(['run', scene, ...args]);
  assert.equal(r.code, 0, r.err);
  return JSON.parse(r.out);
}
