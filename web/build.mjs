// Bundles the page into the folder given: index.html, app.js and the chunks that it imports, app.css, favicon.svg;
// and docs.html, which shows the specification. Nothing inline: the server's content security policy allows this
// origin's files only.

import { copyFile, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { generate } from './generate.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];
if (!out) {
  console.error('usage: node build.mjs OUTDIR');
  process.exit(2);
}

// Shaders are text to the minifier: their comments and indentation are taken out here.
const plainShaders = {
  name: 'plain-shaders',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]three[\\/]build[\\/].*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: text.replace(/^\s*\/\/.*$/gm, '').replace(/\\n(\\t)+/g, '\\n') };
    });
  },
};

generate(); // types for whoever looks at the sources; nothing of them is bundled
const to = resolve(out);
await rm(to, { recursive: true, force: true }); // chunks of earlier builds have other names
await mkdir(to, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { app: 'src/main.tsx' },
  outdir: to,
  bundle: true,
  splitting: true, // what is imported when it is needed
  chunkNames: '[name]-[hash]',
  minify: true,
  plugins: [plainShaders],
  format: 'esm',
  target: 'es2022',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  logLevel: 'warning',
});
const files = ['index.html', 'favicon.svg', 'docs.html', 'docs.css', 'docs.js', 'example.js'];
for (const name of files) await copyFile(join(here, 'public', name), join(to, name));
