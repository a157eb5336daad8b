// Durable edits per second by one client and by eight: of a scenario (a limit of the tool), of a body's pose, and of
// a value (numbers of a feature, while it runs): node tests/bench/durable.mjs [SECONDS] [ADDRESS]
import net from 'node:net';
import { performance } from 'node:perf_hooks';
import { request, start } from '../api/server.mjs';

const seconds = Number(process.argv[2] ?? 3);
const server = process.argv[3] ? { address: process.argv[3], stop: () => undefined } : await start();
const [host, port] = server.address.split(/:(?=\d+$)/);
let turn = 0;
const kinds = {
  scenarios: () => ['/tool', { limits: { force: 10 + (turn++ % 1000) / 1000 } }],
  poses: () => ['/objects/body', { pose: { p: [(turn++ % 1000) * 1e-5, 0, 0.1], q: [1, 0, 0, 0] } }],
  values: () => ['/features/base/shelf', { plane: { point: [0, 0, 0.1 + (turn++ % 100) * 1e-6], normal: [0, 0, 1] } }],
};
const box = (id, more) => ({ id, geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, ...more });
const scene = {
  format: 'guideway-scene/1',
  name: 'edited',
  objects: [box('base', { fixed: true }), box('body', { pose: { p: [0, 0, 0.15], q: [1, 0, 0, 0] } })],
  features: [{ id: 'base/shelf', plane: { point: [0, 0, 0.1], normal: [0, 0, 1] } }],
  constraints: [{ id: 'c1', type: 'coincident', a: 'body/-z', b: 'base/shelf', sense: 'opposite' }],
  devices: [{ id: 'sim', driver: 'sim' }],
  tool: { object: 'body', device: 'sim' },
};

// One connection, which sends the next edit when the last one is answered.
function client(kind, counts) {
  const socket = net.connect({ host, port: Number(port), noDelay: true });
  let left = 0;
  const again = () => {
    const [path, patch] = kinds[kind]();
    const body = JSON.stringify(patch);
    socket.write(
      `PATCH /api/v1${path} HTTP/1.1\r\nHost: ${server.address}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
  };
  socket.on('connect', again);
  socket.on('data', (data) => {
    if (left === 0) {
      const text = data.toString('latin1');
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(text);
      left = text.indexOf('\r\n\r\n') + 4 + Number(/Content-Length: (\d+)/.exec(text)[1]);
    }
    left -= data.length;
    if (left > 0) return;
    counts.n++;
    again();
  });
  return socket;
}

for (const kind of Object.keys(kinds)) {
  const put = await request(server, 'PUT', '/api/v1/scene', JSON.stringify(scene));
  if (put.status !== 200) throw new Error(put.text);
  if (kind === 'values') await request(server, 'PUT', '/api/v1/simulation', '{"state":"running"}');
  for (const clients of [1, 8]) {
    const counts = { n: 0 };
    const sockets = Array.from({ length: clients }, () => client(kind, counts));
    await new Promise((done) => setTimeout(done, 300));
    const before = counts.n,
      begun = performance.now();
    await new Promise((done) => setTimeout(done, seconds * 1000));
    console.log(
      `${kind}, ${clients}: ${((counts.n - before) / ((performance.now() - begun) / 1000)).toFixed(0)} a second`,
    );
    for (const s of sockets) s.destroy();
  }
}
await server.stop();
