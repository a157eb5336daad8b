// The page's cost: frames a second and main-thread milliseconds a frame at 800 x 600, compared with a
// bare three.js scene of as many moving meshes in the same Chromium. Prints a CSV header and one row.
//
//   node tests/bench/page.mjs [OBJECTS] [SECONDS]
//
// Both windows are as large, both canvases too, and both show as many bodies, lit the same way, from
// the same side; the page moves half of them by the stream. They take turns in one browser, and the
// medians of the turns are printed. A frame counts if the WebGL context drew; its cost is the time in
// requestAnimationFrame callbacks and in the socket's messages. The processor time of scripts on the
// main thread per frame, which other load on the machine does not change, is printed, too.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Appliance, launch, sleep, until } from '../web/harness.mjs';

const web = resolve(dirname(fileURLToPath(import.meta.url)), '../../web');
const need = createRequire(join(web, 'package.json'));
const count = Number(process.argv[2] ?? 200);
const seconds = Number(process.argv[3] ?? 3);
const TURNS = 5;

const grid = (i) => [0.06 * (i % 20), 0.06 * Math.floor(i / 20), 0.02];

function scene() {
  const objects = Array.from({ length: count }, (_, i) => ({
    id: `b${i}`,
    geometry: { type: 'box', size: [0.04, 0.04, 0.04] },
    fixed: i % 2 === 0,
    pose: { p: grid(i), q: [1, 0, 0, 0] },
  }));
  return {
    format: 'guideway-scene/1',
    name: `Page bench ${count}`,
    objects,
    tool: { object: 'b1', device: 'sim' },
    devices: [
      {
        id: 'sim',
        driver: 'sim',
        operator: { type: 'wrench', samples: [{ t: 0, force: [0.002, 0.001, 0], torque: [1e-7, 0, 1e-7] }] },
      },
    ],
  };
}

const bare = `
import { Scene, PerspectiveCamera, WebGLRenderer, Mesh, BoxGeometry, MeshLambertMaterial, HemisphereLight, DirectionalLight } from 'three';
const D = 1.75; // as far away as the page's own framing
const canvas = document.querySelector('canvas');
const renderer = new WebGLRenderer({ canvas, antialias: true });
renderer.setSize(800, 600, false);
const stage = new Scene();
const camera = new PerspectiveCamera(40, 800 / 600, 0.01, 100);
camera.up.set(0, 0, 1);
const middle = [0.57, 0.27, 0.02];
camera.position.set(middle[0] + 0.53 * D, middle[1] - 0.83 * D, middle[2] + 0.33 * D);
camera.lookAt(...middle);
stage.add(new HemisphereLight(0xffffff, 0x9aa0aa, 2.3), new DirectionalLight(0xffffff, 1.7));
const geometry = new BoxGeometry(0.04, 0.04, 0.04);
const material = new MeshLambertMaterial({ color: 0x5b95e6 });
const meshes = [];
for (let i = 0; i < ${count}; i++) {
  const mesh = new Mesh(geometry, material);
  mesh.position.set(0.06 * (i % 20), 0.06 * Math.floor(i / 20), 0.02);
  stage.add(mesh);
  meshes.push(mesh);
}
function frame(t) {
  requestAnimationFrame(frame);
  for (let i = 1; i < meshes.length; i += 2) meshes[i].position.z = 0.02 + 0.01 * Math.sin(t / 500 + i);
  renderer.render(stage, camera);
}
requestAnimationFrame(frame);
`;

// Runs in both pages before anything else: counts frames that drew, and times what they cost.
function meter() {
  const m = { frames: [], spent: 0, drew: 0 };
  window.meter = m;
  for (const name of ['drawElements', 'drawElementsInstanced']) {
    const draw = WebGL2RenderingContext.prototype[name];
    WebGL2RenderingContext.prototype[name] = function (...args) {
      m.drew++;
      return draw.apply(this, args);
    };
  }
  const request = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (run) =>
    request((t) => {
      const before = m.drew;
      const start = performance.now();
      run(t);
      const cost = performance.now() - start;
      if (m.drew > before) m.frames.push(cost + m.spent);
      else m.spent += cost;
      if (m.drew > before) m.spent = 0;
    });
  const on = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
  Object.defineProperty(WebSocket.prototype, 'onmessage', {
    ...on,
    set(run) {
      on.set.call(this, (e) => {
        const start = performance.now();
        run(e);
        m.spent += performance.now() - start;
      });
    },
  });
}

// Seconds of processor time that scripts took on the main thread so far: other load does not count.
async function scripted(page, into) {
  into.session ??= await page.context().newCDPSession(page);
  await into.session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const { metrics } = await into.session.send('Performance.getMetrics');
  return metrics.find((m) => m.name === 'ScriptDuration').value;
}

async function turn(page, into) {
  await page.bringToFront();
  await sleep(700);
  await page.evaluate(() => (window.meter.frames.length = 0));
  const before = await scripted(page, into);
  const start = Date.now();
  await sleep(seconds * 1000);
  const frames = await page.evaluate(() => window.meter.frames);
  into.rates.push((frames.length * 1000) / (Date.now() - start));
  into.costs.push(...frames);
  if (frames.length) into.scripts.push((((await scripted(page, into)) - before) * 1000) / frames.length);
}

function quantile(values, q) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

async function bundleBare(folder) {
  const { build } = need('esbuild');
  await writeFile(join(folder, 'bare.js'), bare);
  await build({
    entryPoints: [join(folder, 'bare.js')],
    bundle: true,
    minify: true,
    format: 'esm',
    outfile: join(folder, 'bare.out.js'),
    nodePaths: [join(web, 'node_modules')],
    logLevel: 'error',
  });
  return readFile(join(folder, 'bare.out.js'));
}

async function main() {
  const folder = await mkdtemp(join(tmpdir(), 'guideway-bench-'));
  const script = await bundleBare(folder);
  const html =
    '<!doctype html><style>html,body{margin:0}canvas{display:block;width:800px;height:600px}</style><canvas></canvas><script type="module" src="bare.js"></script>';
  const server = createServer((request, reply) => {
    const js = request.url === '/bare.js';
    reply.writeHead(200, { 'Content-Type': js ? 'text/javascript' : 'text/html' });
    reply.end(js ? script : html);
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  await writeFile(join(folder, 'scene.json'), JSON.stringify(scene()));
  const appliance = await Appliance.start(['--scene', join(folder, 'scene.json')]);
  const browser = await launch();
  try {
    // the canvas of the page is 800 x 600 between its panels
    const open = async (url) => {
      const page = await browser.newPage({ viewport: { width: 800 + 236 + 292, height: 600 + 46 + 150 } });
      await page.addInitScript(meter);
      await page.goto(url);
      return page;
    };
    const ours = await open(appliance.url);
    await until(() => ours.locator('#canvas[data-ready="yes"]').count(), 'the page is ready');
    await appliance.api('PUT', '/simulation', { state: 'running' });
    const other = await open(`http://127.0.0.1:${server.address().port}/`);
    const page = { rates: [], costs: [], scripts: [] };
    const plain = { rates: [], costs: [], scripts: [] };
    for (let i = 0; i < TURNS; i++) {
      await turn(ours, page);
      await turn(other, plain);
    }
    const { width, height } = await ours.locator('#canvas').boundingBox();
    const [rate, reference] = [quantile(page.rates, 0.5), quantile(plain.rates, 0.5)];
    const f = (x) => x.toFixed(2);
    console.log(
      'name,objects,width,height,page_hz,bare_hz,ratio,page_ms_p50,page_ms_p99,bare_ms_p50,bare_ms_p99,page_script_ms,bare_script_ms',
    );
    console.log(
      [
        'page',
        count,
        width,
        height,
        f(rate),
        f(reference),
        f(rate / reference),
        ...[page, plain].flatMap((x) => [f(quantile(x.costs, 0.5)), f(quantile(x.costs, 0.99))]),
        ...[page, plain].map((x) => f(quantile(x.scripts, 0.5))),
      ].join(','),
    );
  } finally {
    await browser.close();
    await appliance.stop();
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

await main();
