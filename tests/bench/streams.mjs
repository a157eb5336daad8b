// The stream with many clients, while another client subscribes to every tick and reads nothing: 100 at 60 Hz without a
// missing frame, 10 that take every tick, and 1000 at 60 Hz with frames at most 20 ms old (p99):
// node tests/bench/streams.mjs [SECONDS] [ADDRESS]. It starts a server unless one is named, and fails if a limit is
// exceeded. Clients are bare sockets of this process, as 60,000 frames a second are too many for a library. It runs at the
// niceness of the server's threads where the system grants it: elsewhere each client would have a machine of its own, and
// a frame that waits for this process counts as old.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import { request, sleep, start } from '../api/server.mjs';

const seconds = Number(process.argv[2] ?? 10);
const server = process.argv[3]
  ? { address: process.argv[3], stop: () => undefined }
  : await start({ args: ['--scene', 'scenes/free-body.json'] });
try {
  os.setPriority(-10);
} catch {
  console.log('without the niceness of the server');
}
const [host, port] = server.address.split(/:(?=\d+$)/);
const [POSES, SAMPLES] = [1, 2];

// Messages of a client must be masked; a mask of zero leaves the payload unchanged.
function text(value) {
  const data = Buffer.from(JSON.stringify(value));
  return Buffer.concat([Buffer.from([0x81, 0x80 | data.length, 0, 0, 0, 0]), data]);
}

// All clients are read into one buffer: the bytes are used before the next read.
const shared = Buffer.alloc(65536);

// One client: `take` gets the payload of each binary frame as a buffer with offset and size, `hear` each message. If
// `reads` is false, nothing is read after `ask` is sent.
function client(ask, take, { reads = true, hear } = {}) {
  let rest = null, // bytes of a frame that has not arrived whole
    open = false;
  // Takes whole frames, returns where the next one begins.
  const parse = (data, end) => {
    let at = 0;
    if (!open) {
      const head = data.indexOf('\r\n\r\n');
      if (head < 0 || head + 4 > end) return 0;
      if (!data.toString('latin1', 0, 12).endsWith('101')) throw new Error(data.toString('latin1', 0, 200));
      open = true;
      at = head + 4;
      socket.write(text(ask));
      if (!reads) socket.pause();
    }
    while (end - at >= 2) {
      let size = data[at + 1] & 127,
        from = at + 2;
      if (size === 126) {
        if (end - at < 4) break;
        [size, from] = [data.readUInt16BE(at + 2), at + 4];
      } else if (size === 127) {
        if (end - at < 10) break;
        [size, from] = [Number(data.readBigUInt64BE(at + 2)), at + 10];
      }
      if (end < from + size) break;
      if (data[at] === 0x82) take(data, from, size);
      else if (data[at] === 0x81) hear?.(JSON.parse(data.toString('utf8', from, from + size)));
      at = from + size;
    }
    return at;
  };
  const callback = (size) => {
    const data = rest ? Buffer.concat([rest, shared.subarray(0, size)]) : shared;
    const end = rest ? data.length : size;
    const at = parse(data, end);
    rest = at < end ? Buffer.from(data.subarray(at, end)) : null;
    return true;
  };
  const socket = net.connect({ host, port: Number(port), noDelay: true, onread: { buffer: shared, callback } });
  const key = randomBytes(16).toString('base64');
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: ${server.address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: guideway.v1\r\n\r\n`,
  );
  socket.on('error', (e) => console.error(e.message));
  return socket;
}

// Processor time (ms) of the server's thread for the stream, and of this process.
function processorTime() {
  const task = `/proc/${server.pid}/task`;
  const thread = server.pid && readdirSync(task).find((id) => /gw-stream/.test(readFileSync(`${task}/${id}/comm`)));
  const { user, system } = process.cpuUsage();
  return {
    stream: thread ? Number(readFileSync(`${task}/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1e6 : NaN,
    client: (user + system) / 1e3,
  };
}

// Runs `count` clients for the time stated, after a warm-up; `note` gets client, frame (buffer, offset) and time (ms),
// `hear` the messages of the first client. Returns the shares of a processor that stream and clients took.
async function crowd(count, ask, note, hear) {
  let counting = false;
  const sockets = Array.from({ length: count }, (_, i) =>
    client(ask, (data, at) => counting && note(i, data, at, performance.now()), { hear: i === 0 ? hear : undefined }),
  );
  await sleep(1000 + count);
  counting = true;
  const [began, before] = [performance.now(), processorTime()];
  await sleep(seconds * 1000);
  const [ms, after] = [performance.now() - began, processorTime()];
  counting = false;
  for (const socket of sockets) socket.destroy();
  return { stream: (after.stream - before.stream) / ms, client: (after.client - before.client) / ms };
}

const poses = { op: 'subscribe', stream: 'poses', hz: 60 };
const samples = { op: 'subscribe', stream: 'samples' };
// Without the big integers of readBigUInt64LE().
const tickOf = (data, at) => data.readUInt32LE(at + 8) + 2 ** 32 * data.readUInt32LE(at + 12);
const misses = [];
const tell = (what, value, limit, met) => {
  console.log(`${what}: ${value} (${limit})${met ? '' : ' MISSED'}`);
  if (!met) misses.push(what);
};

await request(server, 'PUT', '/api/v1/simulation', { state: 'running' });
const stuck = client(samples, () => undefined, { reads: false });

// A frame is missing if two successive ones are more than one and a half periods apart.
{
  const last = new Map();
  let frames = 0,
    gaps = 0,
    longest = 0;
  await crowd(100, poses, (i, data, at) => {
    if (data.readUInt32LE(at) !== POSES) return;
    const tick = tickOf(data, at);
    const by = tick - (last.get(i) ?? tick);
    gaps += by > 25;
    longest = Math.max(longest, by);
    frames++;
    last.set(i, tick);
  });
  const rate = frames / 100 / seconds;
  tell('100 at 60 Hz: frames a second each', rate.toFixed(1), '>= 59', rate >= 59);
  tell('100 at 60 Hz: gaps', `${gaps}, the longest ${longest} ms`, '0', gaps === 0);
}

{
  const next = new Map();
  let rows = 0,
    lost = 0;
  await crowd(10, samples, (i, data, at) => {
    if (data.readUInt32LE(at) !== SAMPLES) return;
    const [count, first] = [data.readUInt32LE(at + 4), tickOf(data, at)];
    lost += first - (next.get(i) ?? first);
    rows += count;
    next.set(i, first + count);
  });
  const rate = rows / 10 / seconds;
  tell('10 that take every tick: ticks a second each', rate.toFixed(0), '>= 990', rate >= 990);
  tell('10 that take every tick: ticks lost', lost, '0', lost === 0);
}

// Ages are relative to the youngest frame, as the offset between the clocks of server and client is not known. A tick
// that the loop misses delays the simulated time of all later ones, which is not an age of their frames: the messages
// `state` tell how many were missed before a tick.
{
  const period = 1; // ms
  const room = 1000 * 60 * (seconds + 2);
  const ages = new Float64Array(room),
    ticks = new Float64Array(room);
  const missed = []; // [tick, ticks missed until then]
  let frames = 0;
  const shares = await crowd(
    1000,
    poses,
    (_, data, from, now) => {
      if (data.readUInt32LE(from) !== POSES || frames === room) return;
      ticks[frames] = tickOf(data, from);
      ages[frames] = now - period * ticks[frames];
      frames++;
    },
    ({ op, simulation }) => op === 'state' && missed.push([simulation.tick, simulation.missed]),
  );
  const missedBefore = (tick) => (missed.findLast(([at]) => at <= tick) ?? missed[0])[1];
  const before = new Map();
  for (let i = 0; i < frames; i++) {
    if (!before.has(ticks[i])) before.set(ticks[i], missedBefore(ticks[i]));
    ages[i] -= period * before.get(ticks[i]);
  }
  const sorted = ages.subarray(0, frames).sort();
  const at = (q) => sorted[Math.min(frames - 1, Math.floor(q * frames))] - sorted[0];
  const rate = frames / 1000 / seconds;
  tell('1000 at 60 Hz: frames a second each', rate.toFixed(1), '>= 55', rate >= 55);
  tell(
    '1000 at 60 Hz: age p50, p99 (ms)',
    `${at(0.5).toFixed(1)}, ${at(0.99).toFixed(1)}; ${Math.max(...before.values()) - Math.min(...before.values())} ticks missed`,
    'p99 <= 20',
    at(0.99) <= 20,
  );
  const percent = (share) => `${(100 * share).toFixed(0)} %`;
  console.log(
    `1000 at 60 Hz: processor of the stream's thread, of the clients: ${percent(shares.stream)}, ${percent(shares.client)}`,
  );
}

stuck.destroy();
await server.stop();
process.exitCode = misses.length > 0 ? 1 : 0;
