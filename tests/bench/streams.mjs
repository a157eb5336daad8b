// The stream with many clients, while another client subscribes to every tick and reads nothing: 100 at 60 Hz without a
// missing frame, 10 that take every tick, and 1000 at 60 Hz with frames at most 20 ms old (p99):
// node tests/bench/streams.mjs [SECONDS] [ADDRESS]. It starts a server unless one is named, and fails if a limit is
// exceeded. Clients are bare sockets of this process, as 60,000 frames a second are too many for a library.
import { randomBytes } from 'node:crypto';
import net from 'node:net';
import { request, sleep, start } from '../api/server.mjs';

const seconds = Number(process.argv[2] ?? 10);
const server = process.argv[3]
  ? { address: process.argv[3], stop: () => undefined }
  : await start({ args: ['--scene', 'scenes/free-body.json'] });
const [host, port] = server.address.split(/:(?=\d+$)/);
const [POSES, SAMPLES] = [1, 2];

// Messages of a client must be masked; a mask of zero leaves the payload unchanged.
function text(value) {
  const data = Buffer.from(JSON.stringify(value));
  return Buffer.concat([Buffer.from([0x81, 0x80 | data.length, 0, 0, 0, 0]), data]);
}

// One client: `take` gets the payload of each binary frame, `hear` each message. If `reads` is false, nothing is read
// after `ask` is sent.
function client(ask, take, { reads = true, hear } = {}) {
  const socket = net.connect({ host, port: Number(port), noDelay: true });
  let rest = Buffer.alloc(0),
    open = false;
  const key = randomBytes(16).toString('base64');
  socket.write(
    `GET /ws HTTP/1.1\r\nHost: ${server.address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: guideway.v1\r\n\r\n`,
  );
  socket.on('error', (e) => console.error(e.message));
  socket.on('data', (data) => {
    rest = rest.length > 0 ? Buffer.concat([rest, data]) : data;
    if (!open) {
      const end = rest.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (!rest.toString('latin1', 0, 12).endsWith('101')) throw new Error(rest.toString('latin1', 0, 200));
      open = true;
      rest = rest.subarray(end + 4);
      socket.write(text(ask));
      if (!reads) return void socket.pause();
    }
    for (;;) {
      if (rest.length < 2) return;
      let size = rest[1] & 127,
        from = 2;
      if (size === 126) {
        if (rest.length < 4) return;
        [size, from] = [rest.readUInt16BE(2), 4];
      } else if (size === 127) {
        if (rest.length < 10) return;
        [size, from] = [Number(rest.readBigUInt64BE(2)), 10];
      }
      if (rest.length < from + size) return;
      if (rest[0] === 0x82) take(rest.subarray(from, from + size));
      else if (rest[0] === 0x81) hear?.(JSON.parse(rest.toString('utf8', from, from + size)));
      rest = rest.subarray(from + size);
    }
  });
  return socket;
}

// Runs `count` clients for the time stated, after a warm-up; `note` gets client, payload and time (ms), `hear` the
// messages of the first client.
async function crowd(count, ask, note, hear) {
  let counting = false;
  const sockets = Array.from({ length: count }, (_, i) =>
    client(ask, (frame) => counting && note(i, frame, performance.now()), { hear: i === 0 ? hear : undefined }),
  );
  await sleep(1000 + count);
  counting = true;
  await sleep(seconds * 1000);
  counting = false;
  for (const socket of sockets) socket.destroy();
}

const poses = { op: 'subscribe', stream: 'poses', hz: 60 };
const samples = { op: 'subscribe', stream: 'samples' };
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
  await crowd(100, poses, (i, frame) => {
    if (frame.readUInt32LE(0) !== POSES) return;
    const tick = Number(frame.readBigUInt64LE(8));
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
  await crowd(10, samples, (i, frame) => {
    if (frame.readUInt32LE(0) !== SAMPLES) return;
    const [count, first] = [frame.readUInt32LE(4), Number(frame.readBigUInt64LE(8))];
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
  await crowd(
    1000,
    poses,
    (_, frame, now) => {
      if (frame.readUInt32LE(0) !== POSES || frames === room) return;
      ticks[frames] = Number(frame.readBigUInt64LE(8));
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
}

stuck.destroy();
await server.stop();
process.exitCode = misses.length > 0 ? 1 : 0;
