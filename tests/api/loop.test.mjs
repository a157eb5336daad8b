// How the loop does, as it tells: what the system grants it, and what its ticks are like.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { client, request, sleep, start, until } from './server.mjs';

let server, expect;
before(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  ({ expect } = await client(server));
});
after(() => server?.stop());

const loop = async () => (await expect(200, 'GET', '/loop')).json;

test('scheduling is told as the system has it', async () => {
  const now = await until('figures', async () => ((await loop()).ticks > 0 && loop()));
  // /proc/PID/task/TID/stat: fields behind the name; the 38th of them is the policy, 1 for SCHED_FIFO
  const fields = readFileSync(`/proc/${server.pid}/task/${now.thread}/stat`, 'utf8').split(') ').at(-1).split(' ');
  assert.equal(now.scheduling, fields[38] === '1' ? 'fifo' : 'best effort');
  assert.equal(now.priority > 0, now.scheduling === 'fifo');
  assert.deepEqual([now.rate, now.period_us], [1000, 1000]);
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
    return now.missed >= from.missed + 190 && now;
  });
  assert.ok(to.ticks > from.ticks && to.late_us.max >= 190000);
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
});
