// What a machine may do to the appliance: stop it for a while, keep its processors busy. The loop
// goes on from where it was, says what it missed, and never hurries after it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { client, request, sanitized, sleep, start, stream, until } from './server.mjs';

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
    process.kill(server.pid, 'SIGCONT');
    const lost = performance.now() - stopped;
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
    assert.ok(after.loop.late_us.max >= 1000 * (ms - 10), `${after.loop.late_us.max} us late at most`);
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
