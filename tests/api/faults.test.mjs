// Faults of the machine: the process is stopped for a while, the processors are busy. The loop
// goes on from where it was, reports the ticks that it missed, and does not make up for them.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, request, root, sanitized, sleep, start, stream, until } from './server.mjs';

const circle = Array.from({ length: 400 }, (_, i) => ({
  t: i / 20,
  p: [0.08 * Math.cos(i / 10), 0.08 * Math.sin(i / 10), 0.2],
}));
const SPEED = 0.3; // m/s: what the tool may do

// A tool that a hand leads round, and a stream with every tick of it.
async function moving(t) {
  const server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  t.after(() => server.stop('SIGKILL'));
  const { expect } = await client(server);
  await expect(201, 'POST', '/constraints', {
    id: 'c1',
    type: 'coincident',
    a: 'cone/base',
    b: 'cylinder/top',
    sense: 'either',
  });
  await expect(200, 'PATCH', '/tool', { limits: { speed: SPEED } });
  await expect(200, 'PUT', '/devices/sim/operator', { type: 'hand', path: circle });
  const live = stream(server);
  await live.wait('hello');
  live.send({ op: 'subscribe', stream: 'samples' });
  await live.wait('subscribed');
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const ask = async () => {
    const asked = performance.now(),
      { json } = await expect(200, 'GET', '/simulation');
    return { asked, at: performance.now(), tick: json.tick, loop: json.loop };
  };
  await until('movement', async () => (await ask()).tick > 600, 20000);
  return { server, expect, live, ask };
}

const overruns = (live) =>
  live.messages.filter((m) => m.op === 'event' && m.event.kind === 'overrun').map((m) => m.event);
const counted = (events) => events.reduce((sum, e) => sum + (e.count ?? 1), 0);

// The largest distance from one tick to the next, of the ticks that came one after the other, from
// a tick on: a hand that begins far from its path is not what this is about.
function largestStep(live, from) {
  const rows = live.frames
    .filter((f) => f.type !== 1)
    .flatMap((f) => f.rows.map((row, i) => ({ tick: f.first + i, p: row.slice(1, 4) })));
  let largest = 0,
    pairs = 0;
  for (let i = 1; i < rows.length; i++) {
    if (rows[i - 1].tick < from || rows[i].tick !== rows[i - 1].tick + 1) continue;
    largest = Math.max(largest, Math.hypot(...rows[i].p.map((v, k) => v - rows[i - 1].p[k])));
    pairs++;
  }
  return { largest, pairs };
}

for (const ms of [30, 500])
  test(`stopped for ${ms} ms while it runs: it goes on from where it was`, { timeout: 60000 }, async (t) => {
    const { server, live, ask } = await moving(t);
    const before = await ask();
    process.kill(server.pid, 'SIGSTOP');
    const stopped = performance.now();
    await sleep(ms);
    const lost = performance.now() - stopped; // at least: what woke may come before what follows here
    process.kill(server.pid, 'SIGCONT');
    const after = await until(
      'ticks after it',
      async () => {
        const now = await ask();
        return now.tick > before.tick + 300 && now;
      },
      20000,
    );
    // A loop that chases would have made up for the ticks that are lost by now.
    const most = after.at - before.asked - lost + 25;
    assert.ok(after.tick - before.tick <= most, `${after.tick - before.tick} ticks, at most ${most} were due`);
    assert.ok(after.loop.overruns > before.loop.overruns, 'an overrun is counted');
    // A stop while the loop sleeps makes it late; one amid a tick, that tick long.
    const { late_us: late, tick_us: took } = after.loop;
    assert.ok(Math.max(late.max, took.max) >= 1000 * (ms - 10), `${late.max} us late, ${took.max} us long at most`);
    const worst = await until('the event that tells of it', () =>
      overruns(live).find((e) => e.over_us >= 1000 * (ms - 10)),
    );
    assert.ok(worst.over_us < 1000 * (lost + 1000), `${worst.over_us} us over`);
    const began = performance.now();
    await until('the next one', async () => (await ask()).tick > after.tick + 20);
    const seconds = (performance.now() - began + (after.at - before.at)) / 1000,
      told = overruns(live);
    assert.ok(told.length <= 6 + 2 * seconds + before.at / 1000, `${told.length} events in ${seconds} s`);
    assert.ok(counted(told) >= told.length);
    const { largest, pairs } = largestStep(live, before.tick);
    console.log(
      `# ${after.tick - before.tick} ticks in ${Math.round(after.at - before.at)} ms with ${Math.round(lost)} ms lost; ${told.length} events of ${counted(told)} overruns; the largest step ${(1e3 * largest).toFixed(3)} mm of ${pairs}`,
    );
    assert.ok(pairs > 200, `${pairs} ticks seen`);
    assert.ok(largest > 0 && largest <= (1.01 * SPEED) / 1000, `a step of ${largest} m`);
    await live.close();
    await server.stop();
  });

test('two processes that take every processor for 2 s: requests are answered, the loop keeps its rate', {
  timeout: 60000,
}, async (t) => {
  const { server, expect, live, ask } = await moving(t);
  const hogs = [0, 1].map(() => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  t.after(() => hogs.forEach((hog) => hog.kill('SIGKILL')));
  const before = await ask();
  let asked = 0,
    slowest = 0;
  for (const end = before.at + 2000; performance.now() < end; asked++) {
    const began = performance.now();
    assert.equal((await request(server, 'GET', '/api/v1/solutions')).status, 200);
    await expect(200, 'PATCH', '/tool', { limits: { force: 10 + (asked % 5) } });
    slowest = Math.max(slowest, performance.now() - began);
    await sleep(10);
  }
  const after = await ask();
  hogs.forEach((hog) => hog.kill('SIGKILL'));
  const share = (after.tick - before.tick) / (after.at - before.at);
  console.log(
    `# ${(100 * share).toFixed(1)} % of the ticks, real time ${after.loop.real_time}, ${asked} edits, the slowest ${Math.round(slowest)} ms`,
  );
  assert.ok(asked >= 3, `${asked} edits`);
  const most = after.at - before.asked + 25;
  assert.ok(after.tick - before.tick <= most, `${after.tick - before.tick} ticks, at most ${most} were due`);
  if (after.loop.real_time && !sanitized) assert.ok(share >= 0.95, `${share} of the ticks`);
  const { largest } = largestStep(live, before.tick);
  assert.ok(largest <= (1.01 * SPEED) / 1000, `a step of ${largest} m`);
  await until('ticks after it', async () => (await ask()).tick > after.tick + 100, 20000);
  await live.close();
  await server.stop();
});

// ---- a clock that jumps: a preloaded library stands between the server and the time of day ----------

test('the time of day jumps by hours and days: the loop, edits and halts do not notice', {
  skip: sanitized,
  timeout: 60000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'guideway-clock-'));
  const library = join(folder, 'clock.so'),
    clock = join(folder, 'clock');
  execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-o', library, join(root, 'tests/api/clock_fault.c')]);
  writeFileSync(clock, '0');
  const server = await start({
    args: ['--scene', 'cone-on-cylinder'],
    env: { LD_PRELOAD: library, GUIDEWAY_CLOCK: clock },
  });
  t.after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const { expect } = await client(server);
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const ask = async () => ({ at: performance.now(), ...(await expect(200, 'GET', '/simulation')).json });
  await until('ticks', async () => (await ask()).tick > 200);
  for (const jump of [3600, -86400, 10 * 365 * 86400, 0]) {
    const from = await ask();
    writeFileSync(clock, `${jump}`);
    await sleep(500);
    const to = await ask();
    const due = to.at - from.at,
      made = to.tick - from.tick;
    assert.equal(to.state, 'running');
    assert.ok(made + to.missed - from.missed > 0.8 * due - 50 && made < due + 50, `${made} ticks in ${due} ms`);
    await expect(200, 'PATCH', '/tool', { limits: { force: 10 + (jump > 0) } });
    const began = performance.now();
    const halted = (await expect(200, 'POST', '/simulation/halt')).json;
    const took = performance.now() - began;
    assert.ok(took < 2000, `a halt took ${took} ms after a jump of ${jump} s`);
    assert.ok(Math.abs(Date.parse(halted.halt.since) - (Date.now() + 1000 * jump)) < 60000, halted.halt.since);
    await expect(200, 'POST', '/simulation/arm');
    await expect(200, 'PUT', '/simulation', { state: 'running' });
  }
});

test('ticks that are late while nothing runs are counted, and no events', { timeout: 60000 }, async (t) => {
  const server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  t.after(() => server.stop());
  const { expect } = await client(server);
  const events = async () => (await expect(200, 'GET', '/events')).json.length;
  const loop = async () => (await expect(200, 'GET', '/loop')).json;
  await until('figures', async () => (await loop()).ticks > 100);
  const from = { events: await events(), missed: (await loop()).missed };
  for (let i = 0; i < 20; i++) {
    process.kill(server.pid, 'SIGSTOP');
    await sleep(30);
    process.kill(server.pid, 'SIGCONT');
    await sleep(30);
  }
  await until('they are counted', async () => (await loop()).missed >= from.missed + 300);
  assert.ok((await events()) - from.events <= 1, `${(await events()) - from.events} events`);
});
