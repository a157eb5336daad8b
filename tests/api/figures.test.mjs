// The papers' figures come out as the papers say: the checks of `make figures`, without its files.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { draw } from '../figures/draw.mjs';
import { figuresOf, papers } from '../figures/figures.mjs';
import { guideway } from './server.mjs';

process.env.GUIDEWAY = guideway;

for (const paper of papers)
  test(`figures of ${paper}`, async () => {
    for (const f of await figuresOf(paper)) {
      assert.match(draw(f), /^<svg [\s\S]*<path[\s\S]*<\/svg>\n$/, f.name);
      assert.ok(!/NaN|Infinity/.test(draw(f)), `${f.name} has points that are no numbers`);
      assert.ok(f.checks.length > 0, f.name);
      for (const c of f.checks)
        assert.ok(c.holds, `${f.name}: ${c.what}: ${c.ours} ${c.unit}, the paper: ${c.published}`);
    }
  });
