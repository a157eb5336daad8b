// Everything at once, for SECONDS: load, streams that read slowly or not at all, edits, halts, stops of the
// process, a device that fails in every way it can, kill -9. Writes what came of it as a table.
//   node soak.mjs SECONDS TABLE.md
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request, root, sleep, start, stream } from '../api/server.mjs';

const seconds = Number(process.argv[2] ?? 3600),
  table = process.argv[3] ?? 'soak.md';
const data = mkdtempSync(join(tmpdir(), 'guideway-soak-'));
const begun = performance.now(),
  end = begun + 1000 * seconds;
const left = () => end - performance.now();

const done = { edits: 0, conflicts: 0, halts: 0, arms: 0, stops: 0, kills: 0, lives: 0, loads: 0, faults: 0 };
const causes = {},
  failures = [],
  refused = {},
  haltMs = [];
const figures = {
  ticks: 0,
  missed: 0,
  overruns: 0,
  late_p99: 0,
  late_p999: 0,
  tick_p99: 0,
  rss: 0,
  commands_refused: 0,
};
const fail = (what) => {
  if (failures.length < 50) failures.push(what);
};

let server,
  kept,
  killing = false,
  seen = 0;
const call = async (method, path, body) => {
  try {
    const answered = await request(server, method, `/api/v1${path}`, body);
    if (answered.status >= 500 && answered.status !== 503)
      fail(`${method} ${path}: ${answered.status} ${answered.text.slice(0, 120)}`);
    if (answered.status >= 400) refused[answered.status] = (refused[answered.status] ?? 0) + 1;
    return answered;
  } catch (error) {
    if (!killing) fail(`${method} ${path}: ${error.code ?? error.message}`);
    return { status: 0 };
  }
};

// ---- one life of the server ------------------------------------------------------------------------

const streams = [],
  loads = [];

async function live() {
  server = await start({
    data,
    program: process.env.GUIDEWAY_FAULTS,
    args: done.lives ? [] : ['--scene', 'cone-on-cylinder'],
  });
  server.ended.then(({ code, signal }) => {
    if (!killing) fail(`the server ended: ${code ?? signal} ${server.log().slice(-300)}`);
  });
  if (done.lives++ === 0) {
    await call('POST', '/devices', {
      id: 'failing',
      driver: 'faults',
      safety: 'latched',
      settings: { fault_period: 1.1, fault_lasts: 0.03 },
    });
    await call('PATCH', '/tool', { device: 'failing' });
  } else {
    const scene = (await call('GET', '/scene')).json;
    if (scene?.tool?.limits?.force !== kept)
      fail(`after kill -9 the limit is ${scene?.tool?.limits?.force}, ${kept} was acknowledged`);
  }
  seen = 0;
  for (let i = 0; i < 10; i++) {
    const one = stream(server);
    one.socket.on('error', () => {});
    one.opened.then(
      () => {
        one.send({ op: 'subscribe', stream: i % 2 ? 'samples' : 'poses', hz: 60 });
        if (i > 7) one.socket.pause();
      },
      () => {},
    );
    streams.push(one);
  }
}

async function die() {
  await look();
  killing = true;
  loads.splice(0).forEach((load) => load.kill('SIGKILL'));
  streams.splice(0).forEach(({ socket }) => socket.terminate());
  await server.stop('SIGKILL');
  killing = false;
}

// ---- what is done to it ----------------------------------------------------------------------------

async function edit() {
  const force = 10 + Math.floor(Math.random() * 1000) / 10;
  const { status } = await call('PATCH', '/tool', { limits: { force } });
  if (status === 200) {
    kept = force;
    done.edits++;
  }
  if (Math.random() < 0.2) {
    await call('POST', '/constraints', {
      id: 'soak',
      type: 'coincident',
      a: 'cone/base',
      b: 'cylinder/top',
      sense: 'either',
    });
    await call('DELETE', '/constraints/soak');
  }
}

async function halt() {
  const asked = performance.now(),
    { status } = await call('POST', '/simulation/halt');
  if (status !== 200) {
    if (status) fail(`a halt was answered ${status}`);
    return;
  }
  haltMs.push(performance.now() - asked);
  done.halts++;
  const now = (await call('GET', '/simulation')).json;
  if (now && !now.halted) fail('answered, and not halted');
}

async function run() {
  if ((await call('POST', '/simulation/arm')).status === 200) done.arms++;
  if ((await call('PUT', '/simulation', { state: 'running' })).status === 409) done.conflicts++;
}

const STALL_TICKS = 21; // at 1 kHz: a stall of more than 20 ms

async function stop() {
  const latchedAt = (await call('GET', '/simulation')).json;
  process.kill(server.pid, 'SIGSTOP');
  await sleep(30 + 300 * Math.random());
  process.kill(server.pid, 'SIGCONT');
  done.stops++;
  await sleep(60);
  const now = (await call('GET', '/simulation')).json;
  // on a busy machine the stop may be taken back before any thread has heeded it: then no tick was missed
  if (latchedAt?.state === 'running' && now && !now.halted && now.missed - latchedAt.missed > STALL_TICKS)
    fail('a latched device went on after a stop of the process');
}

function load() {
  const kind = ['readers', 'idle', 'edits', 'arms'][done.loads++ % 4];
  if (kind === 'edits' || kind === 'arms') return; // they would edit what is compared, and arm what is to stay halted
  const child = spawn(process.execPath, [join(root, 'tests/api/load.mjs'), server.address, kind], { stdio: 'ignore' });
  loads.push(child);
  setTimeout(() => child.kill('SIGKILL'), 4000);
}

// The loop's figures and the faults that it kept.
async function look() {
  const loop = (await call('GET', '/loop')).json,
    faults = (await call('GET', '/loop/faults')).json ?? [];
  for (const fault of faults) {
    if (fault.number <= seen) continue;
    seen = fault.number;
    causes[fault.cause] = (causes[fault.cause] ?? 0) + 1;
    done.faults++;
  }
  const last = faults.at(-1);
  if (last && Math.random() < 0.2) {
    const { status, text } = await call('GET', `/loop/faults/${last.number}`);
    if (status === 200 && text.split('\n').length < 2) fail('a fault without ticks');
  }
  if (!loop) return;
  figures.late_p99 = Math.max(figures.late_p99, loop.late_us.p99);
  figures.late_p999 = Math.max(figures.late_p999, loop.late_us.p999);
  figures.tick_p99 = Math.max(figures.tick_p99, loop.tick_us.p99);
  figures.commands_refused = Math.max(figures.commands_refused, loop.commands_refused);
  figures.now = loop;
  const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'));
  figures.rss = Math.max(figures.rss, Number(rss?.[1] ?? 0) / 1024);
}

function closeBooks() {
  for (const name of ['ticks', 'missed', 'overruns']) figures[name] += figures.now?.[name] ?? 0;
}

// ---- the run ---------------------------------------------------------------------------------------

const LIFE_MS = Math.max(15000, Math.min(60000, (1000 * seconds) / 6));
while (left() > 0) {
  await live();
  const over = performance.now() + Math.min(LIFE_MS, left());
  for (let turn = 0; performance.now() < over; turn++) {
    await edit();
    if (turn % 3 === 0) await run();
    if (turn % 19 === 0) await halt();
    if (turn % 23 === 11) {
      await run();
      await stop();
    }
    if (turn % 40 === 3) load();
    if (turn % 4 === 1) await look();
    await sleep(40);
  }
  closeBooks();
  await die();
  done.kills++;
}
rmSync(data, { recursive: true, force: true });

haltMs.sort((a, b) => a - b);
const at = (share) =>
  haltMs.length ? `${haltMs[Math.min(haltMs.length - 1, Math.floor(share * haltMs.length))].toFixed(1)} ms` : 'none';
const rows = [
  ['time', `${Math.round((performance.now() - begun) / 1000)} s`],
  ['servers started, kill -9', `${done.lives}, ${done.kills}`],
  ['edits acknowledged, lost', `${done.edits}, ${failures.filter((f) => f.includes('kill -9')).length}`],
  ['halts asked for; p50, p99, p99.9 to the answer', `${done.halts}; ${at(0.5)}, ${at(0.99)}, ${at(0.999)}`],
  [
    'halts and force-offs by cause',
    Object.entries(causes)
      .map(([cause, n]) => `${cause} ${n}`)
      .join(', '),
  ],
  ['stops of the process', done.stops],
  ['ticks, missed, overruns', `${figures.ticks}, ${figures.missed}, ${figures.overruns}`],
  ['lateness of waking, worst life: p99, p99.9', `${figures.late_p99} us, ${figures.late_p999} us`],
  ['a tick, worst life: p99', `${figures.tick_p99} us`],
  ['commands refused', figures.commands_refused],
  ['resident memory at most', `${figures.rss.toFixed(1)} MB`],
  [
    'answers that refuse',
    Object.entries(refused)
      .map(([status, n]) => `${status}: ${n}`)
      .join(', ') || 'none',
  ],
  ['failures', failures.length],
];
const text = `# Soak\n\n| what | result |\n|---|---|\n${rows.map(([what, result]) => `| ${what} | ${result} |\n`).join('')}${failures.map((f) => `\n- ${f}`).join('')}\n`;
writeFileSync(table, text);
console.log(text);
assert.ok(done.edits > 0 && done.halts > 0 && done.stops > 0 && done.faults > 0, 'something was never done');
process.exit(failures.length ? 1 : 0);
