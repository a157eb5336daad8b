// `node check.mjs`: the types (tsc), then layout, findings and arrows between folders (biome, its rules in
// ../biome.jsonc). With --write biome mends what it can. biome is one binary: its package for this processor is an
// optional dependency, so that npm installs no other.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generate } from './generate.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const write = process.argv.includes('--write');
const biome = join(here, `node_modules/@biomejs/cli-${process.platform}-${process.arch}/biome`);

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (error) console.error(`check: ${error.message}`);
  if (status !== 0) process.exitCode = 1;
}

if (!generate()) {
  console.error('check: there is no OpenAPI document (make build/openapi.json)');
  process.exitCode = 1;
}
if (!write) run(process.execPath, [join(here, 'node_modules/typescript/bin/tsc'), '--noEmit'], here);
if (existsSync(biome)) run(biome, ['check', write ? '--write' : '--error-on-warnings'], dirname(here));
else {
  console.error(`check: biome has no package for ${process.platform} on ${process.arch} here`);
  process.exitCode = 1;
}
