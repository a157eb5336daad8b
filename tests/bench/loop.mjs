// A server's loop at 1 kHz and 4 kHz, compared with a bare probe of the same priority, while 64 REST connections and
// 50 streams keep both processors busy: node tests/bench/loop.mjs [SECONDS] [RATE..]. Fails if the loop's lateness
// exceeds 1.5 times the probe's plus 20 us, if it misses too many ticks, if a tick's p99 exceeds 1.5 times that of the
// idle server (the mean of before and after the load), or if publishing takes longer than a microsecond.
import { execFile, spawn } from 'node:child_process';
import { guideway as program, request, sleep, start } from '../api/server.mjs';

const seconds = Number(process.argv[2] ?? 60);
const rates = process.argv.length > 3 ? process.argv.slice(3).map(Number) : [1000, 4000];
const IDLE_S = Math.min(10, seconds);
const script = new URL('crowd.mjs', import.meta.url).pathname;

const probe = (rate, length) =>
  new Promise((done, failed) =>
    execFile(program, ['selftest', '--bare', '--rate', rate, '--seconds', length].map(String), (error, out) =>
      error ? failed(error) : done(JSON.parse(out)),
    ),
  );

const set = async (server, method, path, body) => {
  const { status, text } = await request(server, method, `/api/v1${path}`, body);
  if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
};

// A new loop of this rate, from its first tick on, and a probe at the same time.
async function measure(server, rate, length) {
  await set(server, 'PATCH', '/scene', { rate: rate === 500 ? 1000 : 500 }); // a change of the rate starts a new loop
  await set(server, 'PATCH', '/scene', { rate });
  await set(server, 'PUT', '/simulation', { state: 'running' });
  const bare = await probe(rate, length);
  const { json } = await request(server, 'GET', '/api/v1/loop');
  return { bare, loop: json, onTime: json.ticks / (json.ticks + json.missed) };
}

// Share of both processors that was not idle, and the load's answers and frames a second.
async function loaded(server, what) {
  const crowd = spawn(process.execPath, [script, server.address, '64', '50'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let told = '';
  crowd.stdout.on('data', (text) => (told += text));
  await sleep(1500);
  try {
    return { ...(await what()), crowd: told.trim().split('\n').at(-1) };
  } finally {
    crowd.kill('SIGKILL');
  }
}

const failures = [];
const hold = (name, value, most) => {
  const fine = value <= most;
  if (!fine) failures.push(`${name}: ${value.toFixed(2)}, at most ${most.toFixed(2)}`);
  return `${value.toFixed(1)} (<= ${most.toFixed(1)}${fine ? '' : ', missed'})`;
};

console.log(
  '| rate | late p99 us | late p99.9 us | bare probe | missed, % | tick p99 us | idle, before and after | publish p99.9 us | load |',
);
console.log('|---|---|---|---|---|---|---|---|---|');
const server = await start({ args: ['--scene', 'cone-on-cylinder'] });
for (const rate of rates) {
  const before = await measure(server, rate, IDLE_S);
  const { loop, bare, onTime, crowd } = await loaded(server, () => measure(server, rate, seconds));
  const after = await measure(server, rate, IDLE_S); // a shared host may have changed its speed meanwhile
  const idle = (before.loop.tick_us.p99 + after.loop.tick_us.p99) / 2;
  const row = [
    rate,
    hold(`${rate} Hz, lateness p99`, loop.late_us.p99, 1.5 * bare.late_us.p99 + 20),
    hold(`${rate} Hz, lateness p99.9`, loop.late_us.p999, 1.5 * bare.late_us.p999 + 20),
    `${bare.late_us.p99.toFixed(1)}, ${bare.late_us.p999.toFixed(1)}; missed ${(100 * (1 - bare.on_time)).toFixed(3)} %`,
    hold(`${rate} Hz, missed`, 100 * (1 - onTime), rate >= 2000 ? 0.2 : 0.1),
    hold(`${rate} Hz, tick p99`, loop.tick_us.p99, 1.5 * idle),
    `${before.loop.tick_us.p99.toFixed(1)}, ${after.loop.tick_us.p99.toFixed(1)}`,
    hold(`${rate} Hz, publishing p99.9`, loop.stages.publish.p999, 1),
    crowd,
  ];
  console.log(`| ${row.join(' | ')} |`);
}
await server.stop();
for (const failure of failures) console.log(`missed: ${failure}`);
process.exit(failures.length ? 1 : 0);
