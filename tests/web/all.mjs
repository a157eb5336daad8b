// Tests of the page in one process, so that they share an appliance, a browser and a page: the files that
// PAGE_TESTS names ("story,joining"), else all of them.
import { readdirSync } from 'node:fs';

const all = readdirSync(new URL('.', import.meta.url))
  .filter((file) => file.endsWith('.test.mjs'))
  .map((file) => file.replace('.test.mjs', ''));
for (const name of process.env.PAGE_TESTS?.split(',') ?? all) await import(`./${name}.test.mjs`);
