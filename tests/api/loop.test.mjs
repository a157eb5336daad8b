// The loop's own figures: the scheduling that the system grants it, and its ticks.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { client, guideway, request, sleep, start, until } from './server.mjs';

let server, expect;
before(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  ({ expect } = await client(server));
});
after(() => server?.stop());

const loop = async () => (await expect(200, 'GET', '/loop')).json;

test('scheduling is told as the system has it', async () => {
  const now = await until('figures', async () => (await loop()).ticks > 0 && loop());
  // /proc/PID/task/TID/stat: fields behind the name; the 38th of them is the policy, 1 for SCHED_FIFO
  const fields = readFileSync(`/proc/${server.pid}/task/${now.thread}/stat`, 'utf8').split(') ').at(-1).split(' ');
  assert.equal(now.scheduling, fields[38] === '1' ? 'fifo' : 'best effort');
  assert.equal(now.priority > 0, now.scheduling === 'fifo');
  assert.deepEqual([now.rate, now.period_us], [1000, 1000]);
});

// /proc/PID/status: one field of it.
const status = (path, name) => new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(readFileSync(path, 'utf8'))[1];

test('memory is locked as it says', async () => {
  const now = await until('figures', async () => (await loop()).ticks > 0 && loop());
  const locked = Number.parseInt(status(`/proc/${server.pid}/status`, 'VmLck'), 10);
  assert.equal(now.memory_locked, locked > 0, `${locked} kB`);
  assert.deepEqual([now.processor, now.spin_us], [undefined, 0]);
});

test('the processors are kept awake while devices may exert force, and not else', async () => {
  const path = '/dev/cpu_dma_latency';
  let granted = true;
  try {
    accessSync(path, constants.W_OK);
  } catch {
    granted = false; // not for us, or the machine has none
  }
  const held = () =>
    readdirSync(`/proc/${server.pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${server.pid}/fd/${fd}`) === path;
      } catch {
        return false; // closed meanwhile
      }
    });
  const becomes = (what, wanted) =>
    until(`${what}: ${wanted}`, async () => held() === wanted && (await loop()).kept_awake === wanted);
  await becomes('stopped', false);
  for (let i = 0; i < 2; i++) {
    await expect(200, 'PUT', '/simulation', { state: 'running' });
    await becomes('running', granted);
    await expect(200, 'POST', '/simulation/halt');
    await becomes('halted', false);
    await sleep(100);
    await expect(200, 'POST', '/simulation/arm');
    await expect(200, 'PUT', '/simulation', { state: 'running' });
    await becomes('armed again', granted);
    await expect(200, 'PATCH', '/scene', { rate: i === 0 ? 500 : 1000 });
    await expect(200, 'PUT', '/simulation', { state: 'running' });
    await becomes('another loop', granted);
    await expect(200, 'PUT', '/simulation', { state: 'paused' });
    await becomes('paused', false);
    await expect(200, 'PUT', '/simulation', { state: 'stopped' });
    await becomes('stopped again', false);
  }
});

test('the loop is pinned to a processor and waits awake where it is asked to', { timeout: 60000 }, async () => {
  const ours = Number(/\d+$/.exec(status('/proc/self/status', 'Cpus_allowed_list'))[0]);
  const pinned = await start({ args: ['--processor', `${ours}`, '--spin', '100'] });
  const asked = await client(pinned);
  const figures = async () => (await asked.expect(200, 'GET', '/loop')).json;
  const before = await until('figures', async () => (await figures()).ticks > 100 && figures());
  assert.deepEqual([before.processor, before.spin_us], [ours, 100]);
  const allowed = () => status(`/proc/${pinned.pid}/task/${thread}/status`, 'Cpus_allowed_list');
  let thread = before.thread;
  assert.equal(allowed(), `${ours}`);
  // awake for a tenth of every millisecond, less what waking takes (70 us on virtual processors), other load or not; so
  // ticks begin at their deadlines
  const used = () =>
    readFileSync(`/proc/${pinned.pid}/task/${thread}/schedstat`, 'utf8').split(' ').map(Number)[0] / 1e9;
  const from = { used: used(), ticks: before.ticks };
  await sleep(1000);
  const after = await figures();
  const spent = (used() - from.used) / (after.ticks - from.ticks);
  assert.ok(spent > 25e-6 && spent < 400e-6, `${1e6 * spent} us a tick`);
  assert.ok(after.late_us.p50 < 5, `${after.late_us.p50} us late`);
  await asked.expect(200, 'PATCH', '/scene', { rate: 500 });
  thread = (await until('the other loop', async () => (await figures()).rate === 500 && figures())).thread;
  assert.equal(allowed(), `${ours}`);
  await pinned.stop();
  const nowhere = spawnSync(guideway, ['serve', '--listen', '127.0.0.1:0', '--processor', '1023'], {
    encoding: 'utf8',
  });
  assert.equal(nowhere.status, 2);
  assert.match(nowhere.stderr, /--processor 1023: this process may not run there/);
});

test('quantiles ascend, ticks are counted, a stop of the process is among the worst', { timeout: 60000 }, async () => {
  await sleep(300);
  const from = await loop();
  for (const q of [from.late_us, from.tick_us]) {
    assert.ok(q.p50 > 0 && q.p50 <= q.p90 && q.p90 <= q.p99 && q.p99 <= q.p999, JSON.stringify(q));
    assert.ok(q.p999 <= 1.05 * q.max);
  }
  process.kill(server.pid, 'SIGSTOP');
  await sleep(200);
  process.kill(server.pid, 'SIGCONT');
  const to = await until('the next figures', async () => {
    const now = await loop();
    return now.missed >= from.missed + 190 && now.late_us.max >= 190000 && now;
  });
  assert.ok(to.ticks > from.ticks);
  assert.ok(to.worst.length <= 8 && to.worst[0].late_us >= 190000, JSON.stringify(to.worst));
  assert.ok(Math.abs(Date.parse(to.worst[0].at) - Date.now()) < 60000);
  for (let i = 1; i < to.worst.length; i++) {
    const size = ({ late_us, tick_us }) => Math.max(late_us, tick_us);
    assert.ok(size(to.worst[i - 1]) >= size(to.worst[i]), JSON.stringify(to.worst));
  }
  const metrics = (await request(server, 'GET', '/metrics')).text;
  const value = (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics)[1]);
  assert.ok(value('guideway_missed_ticks_total') >= to.missed && value('guideway_ticks_total') >= to.ticks);
  assert.ok(value('guideway_late_seconds_p999') > 0 && value('guideway_tick_seconds_p999') > 0);
  for (const name of ['late', 'tick']) {
    const histogram = to[`${name}_histogram`];
    assert.equal(
      histogram.reduce((all, octave) => all + octave.count, 0),
      to.ticks,
    );
    const { p50 } = to[`${name}_us`]; // the median lies where half of the ticks are below
    const below = (us) => histogram.filter((o) => o.below_us <= us).reduce((all, o) => all + o.count, 0);
    assert.ok(below(p50 / 1.1) <= to.ticks / 2 && below(2.2 * p50) >= to.ticks / 2, JSON.stringify(histogram));
    const buckets = [...metrics.matchAll(new RegExp(`^guideway_${name}_seconds_bucket{le="(\\S+)"} (\\d+)$`, 'gm'))];
    assert.deepEqual([buckets.length, buckets.at(-1)[1]], [histogram.length, '+Inf']);
    buckets.forEach(([, , count], i) => assert.ok(Number(count) >= Number(buckets[i - 1]?.[2] ?? 0)));
    assert.equal(Number(buckets.at(-1)[2]), value(`guideway_${name}_seconds_count`));
    assert.ok(value(`guideway_${name}_seconds_sum`) > 0);
  }
  assert.ok(to.late_histogram.filter((o) => o.below_us > 190000).some((o) => o.count > 0));
});

test('stages add up to ticks, samples are young, a stop is the fault of waking', { timeout: 60000 }, async () => {
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await sleep(300);
  const now = await loop();
  const sum = Object.values(now.stages).reduce((all, q) => all + q.p50, 0);
  assert.ok(sum > 0.2 * now.tick_us.p50 && sum < 2 * now.tick_us.p50, `${sum} of ${now.tick_us.p50} us`);
  assert.ok(now.stages.dynamics.p50 > 0 && now.stages.device.p50 > 0);
  assert.ok(now.sample_age_us > 0 && now.sample_age_us < 1e6, `${now.sample_age_us} us`);
  assert.deepEqual([typeof now.events_lost, now.commands_refused], ['number', 0]);
  process.kill(server.pid, 'SIGSTOP');
  await sleep(100);
  process.kill(server.pid, 'SIGCONT');
  const then = await until('figures after it', async () => {
    const figures = await loop();
    return figures.overruns_by.wake > now.overruns_by.wake && figures;
  });
  assert.equal(then.worst[0].stage, 'wake');
  assert.equal(
    Object.values(then.overruns_by).reduce((all, n) => all + n, 0),
    then.overruns,
  );
  const metrics = (await request(server, 'GET', '/metrics')).text;
  assert.match(metrics, /^guideway_stage_seconds\{stage="dynamics",quantile="0.99"\} \d/m);
  assert.match(metrics, /^guideway_overruns_by_stage_total\{stage="wake"\} [1-9]/m);
});

test('the last ticks before a fault are kept and can be downloaded', { timeout: 60000 }, async () => {
  await expect(200, 'POST', '/simulation/arm');
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const begun = (await expect(200, 'GET', '/loop')).json.ticks;
  await until('a thousand ticks', async () => (await loop()).ticks > begun + 1100, 20000);
  const { tick } = (await expect(200, 'POST', '/simulation/halt')).json;
  const faults = (await expect(200, 'GET', '/loop/faults')).json,
    fault = faults.at(-1);
  assert.deepEqual([fault.cause, fault.ticks], ['software', 1000]);
  assert.match(fault.by, /^rest 127/);
  const whole = (await expect(200, 'GET', `/loop/faults/${fault.number}`)).text,
    csv = whole.trimEnd().split('\n');
  const names = csv[0].split(','),
    rows = csv.slice(1).map((row) => row.split(','));
  assert.equal(rows.length, 1000);
  for (const row of rows) assert.equal(row.length, names.length);
  const column = (name) => rows.map((row) => Number(row[names.indexOf(name)]));
  const ticks = column('tick'),
    t = column('t');
  for (let i = 1; i < 1000; i++) {
    assert.ok(ticks[i] >= ticks[i - 1] && ticks[i] <= ticks[i - 1] + 1 && t[i] > t[i - 1], `row ${i}`);
  }
  assert.ok(Math.abs(ticks.at(-1) - tick) <= 2, `${ticks.at(-1)}, halted at ${tick}`);
  assert.equal(t.at(-1), 0);
  assert.ok(column('dynamics_us').some((us) => us > 0) && column('tool0.px').every(Number.isFinite));
  for (let i = 0; i < 5; i++) {
    await expect(200, 'POST', '/simulation/arm');
    await expect(200, 'POST', '/simulation/halt');
    await until(
      'it is kept',
      async () => (await expect(200, 'GET', '/loop/faults')).json.at(-1).number === fault.number + i + 1,
    );
  }
  // the memory has the newest four, the database the others
  const kept = (await expect(200, 'GET', '/loop/faults')).json.slice(-6);
  assert.deepEqual(kept[0], fault);
  assert.deepEqual(
    kept.map((k) => k.number - fault.number),
    [0, 1, 2, 3, 4, 5],
  );
  assert.equal((await expect(200, 'GET', `/loop/faults/${fault.number}`)).text, whole);
  for (const no of ['0', 'first', `${fault.number + 6}`]) await expect(404, 'GET', `/loop/faults/${no}`);
  await expect(200, 'POST', '/simulation/arm');
});
