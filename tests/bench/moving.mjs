// Geometry that moves at 1 kHz over REST: a plane under a held object is patched every millisecond
// for ten seconds, on one connection, while the stream is read. Prints a CSV row: the rate reached,
// the time of a PATCH, and the distance of the tool in the stream's frames (60 Hz) from the plane's
// last requested position.
//
//   GUIDEWAY=build/guideway node tests/bench/moving.mjs
import http from 'node:http';
import { request, sleep, start, stream } from '../api/server.mjs';

const SECONDS = 10,
  AMPLITUDE = 0.02,
  PERIOD_S = 2;
const height = (t) => 0.1 + AMPLITUDE * (1 - Math.cos((2 * Math.PI * t) / PERIOD_S));
const box = (id, p, more) => ({
  id,
  geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
  pose: { p, q: [1, 0, 0, 0] },
  ...more,
});
const scene = {
  format: 'guideway-scene/1',
  name: 'moving shelf',
  objects: [box('ground', [0, 0, 0], { fixed: true }), box('lid', [0, 0, 0.2])],
  features: [{ id: 'ground/shelf', plane: { point: [0, 0, 0.1], normal: [0, 0, 1] } }],
  constraints: [{ id: 'c1', type: 'coincident', a: 'lid/-z', b: 'ground/shelf', sense: 'opposite' }],
  tool: { object: 'lid', device: 'sim', control: 'admittance' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

const quantile = (sorted, q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
const server = await start();
const ask = async (method, path, body) => {
  const reply = await request(server, method, `/api/v1${path}`, body);
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
};
await ask('PUT', '/scene', scene);
const live = stream(server);
await live.opened;
await ask('PUT', '/simulation', { state: 'running' });
await sleep(200);

// one connection, the next value as soon as it is due and the one before it is answered
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const [host, port] = server.address.split(/:(?=\d+$)/);
const patch = (z) =>
  new Promise((done, failed) => {
    const body = `{"plane":{"point":[0,0,${z}],"normal":[0,0,1]}}`;
    const sent = http.request(
      {
        host,
        port,
        agent,
        method: 'PATCH',
        path: '/api/v1/features/ground/shelf',
        headers: { 'content-type': 'application/json', 'content-length': body.length },
      },
      (reply) => {
        reply.resume();
        reply.on('end', () => (reply.statusCode === 200 ? done() : failed(new Error(`${reply.statusCode}`))));
      },
    );
    sent.on('error', failed);
    sent.end(body);
  });

const took = [],
  begin = performance.now();
let told = height(0),
  off = 0,
  seen = live.frames.length;
for (let k = 0; performance.now() - begin < 1000 * SECONDS; k++) {
  while (performance.now() - begin < k) await new Promise(setImmediate);
  const sent = performance.now();
  told = height((sent - begin) / 1000);
  await patch(told);
  took.push(performance.now() - sent);
  if (live.frames.length > seen) off = Math.max(off, Math.abs(live.frames.at(-1).poses[0].p[2] - 0.05 - told));
  seen = live.frames.length;
  if (k < performance.now() - begin - 1) k = Math.floor(performance.now() - begin) - 1; // late values are skipped
}
took.sort((a, b) => a - b);
console.log('name,seconds,patches_per_s,patch_ms_p50,patch_ms_p99,tool_off_mm');
console.log(
  `moving,${SECONDS},${Math.round(took.length / SECONDS)},${quantile(took, 0.5).toFixed(3)},${quantile(took, 0.99).toFixed(3)},${(1000 * off).toFixed(3)}`,
);
await live.close();
agent.destroy();
await server.stop();
process.exit(0);
