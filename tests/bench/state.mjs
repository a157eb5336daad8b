// Rate and latency of requests for the state on kept REST connections:
// node tests/bench/state.mjs [CONNECTIONS] [SECONDS] [ADDRESS]. It starts a server unless one is named.
import net from 'node:net';
import { performance } from 'node:perf_hooks';
import { start } from '../api/server.mjs';

const connections = Number(process.argv[2] ?? 32);
const seconds = Number(process.argv[3] ?? 10);
const server = process.argv[4] ? { address: process.argv[4], stop: () => undefined } : await start();
const [host, port] = server.address.split(/:(?=\d+$)/);
const ask = Buffer.from(`GET /api/v1/simulation HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
const took = new Float64Array(4e6);
let answers = 0,
  counting = false,
  ended = false;

// One connection, which sends the next request when the answer is complete by its Content-Length.
function client() {
  const socket = net.connect({ host, port: Number(port), noDelay: true });
  let left = 0,
    begun = 0;
  const again = () => {
    begun = performance.now();
    socket.write(ask);
  };
  socket.on('connect', again);
  socket.on('error', (e) => !ended && console.error(e.message));
  socket.on('data', (data) => {
    if (left === 0) {
      const end = data.indexOf('\r\n\r\n');
      const at = data.indexOf('Content-Length: ');
      if (data[9] !== 50 || end < 0 || at < 0) throw new Error(data.toString());
      left = end + 4 + Number.parseInt(data.toString('latin1', at + 16, at + 24), 10);
    }
    left -= data.length;
    if (left > 0) return;
    if (counting && answers < took.length) took[answers++] = performance.now() - begun;
    again();
  });
  return socket;
}

const sockets = Array.from({ length: connections }, client);
await new Promise((done) => setTimeout(done, 1000));
counting = true;
const begun = performance.now();
await new Promise((done) => setTimeout(done, seconds * 1000));
counting = false;
const rate = answers / ((performance.now() - begun) / 1000);
ended = true;
for (const s of sockets) s.destroy();
const sorted = took.slice(0, answers).sort();
const at = (q) => sorted[Math.min(answers - 1, Math.floor(q * answers))].toFixed(2);
console.log(
  `${connections} connections: ${rate.toFixed(0)} a second, p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, p99.9 ${at(0.999)} ms`,
);
await server.stop();
