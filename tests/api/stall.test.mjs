// The process is stopped while it runs: a device that is latched stays off until armed, a lenient one
// goes on, and no tick that was missed is made up for or forgotten.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { client, sleep, start, stream, until } from './server.mjs';

let server, expect;
before(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  ({ expect } = await client(server));
});
after(() => server?.stop());

const now = async () => (await expect(200, 'GET', '/simulation')).json;

async function stopped(ms) {
  process.kill(server.pid, 'SIGSTOP');
  const began = performance.now();
  await sleep(ms);
  process.kill(server.pid, 'SIGCONT');
  return performance.now() - began;
}

test('a device says whether it is latched; a simulated one is lenient unless told otherwise', async () => {
  assert.equal((await expect(200, 'GET', '/devices/sim')).json.safety, 'lenient');
  assert.equal((await expect(200, 'GET', '/scene')).json.devices[0].safety, undefined);
  assert.equal((await expect(200, 'PATCH', '/devices/sim', { safety: 'latched' })).json.safety, 'latched');
  assert.equal((await expect(200, 'GET', '/scene')).json.devices[0].safety, 'latched');
  assert.match((await expect(400, 'PATCH', '/devices/sim', { safety: 'brave' })).json.detail, /latched/);
  await expect(200, 'PATCH', '/devices/sim', { safety: null });
  assert.equal((await expect(200, 'GET', '/devices/sim')).json.safety, 'lenient');
});

test('a lenient device goes on; every missed tick is counted', { timeout: 60000 }, async () => {
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await sleep(100);
  const begun = performance.now(),
    from = await now(),
    asked = performance.now();
  const lost = await stopped(1000);
  const to = await until('ticks after it', async () => {
    const sent = performance.now(),
      s = await now();
    return s.tick > from.tick + 100 && { ...s, least: sent - asked, most: performance.now() - begun };
  });
  const counted = to.tick - from.tick + to.missed - from.missed;
  assert.equal(to.halted, false);
  assert.ok(to.missed - from.missed >= lost - 20, `${to.missed - from.missed} missed of ${lost} ms`);
  assert.ok(counted <= to.most + 20, `${counted} of ${to.most}: none is counted twice or made up for`);
  assert.ok(counted >= to.least - 30, `${counted} of ${to.least}: none is forgotten`);
});

for (const ms of [40, 300])
  test(`a latched device that was stopped for ${ms} ms stays off`, { timeout: 60000 }, async () => {
    await expect(200, 'PATCH', '/devices/sim', { safety: 'latched' });
    await expect(200, 'PUT', '/simulation', { state: 'running' });
    const live = stream(server);
    await live.wait('hello');
    await sleep(100);
    assert.equal((await now()).halted, false);
    await stopped(ms);
    const told = await live.wait('event', (m) => m.event.kind === 'halted');
    assert.ok(['overrun', 'watchdog'].includes(told.event.cause), told.event.message);
    const then = await now();
    assert.deepEqual([then.halted, then.state, then.halt.cause], [true, 'paused', told.event.cause]);
    await expect(409, 'PUT', '/simulation', { state: 'running' });
    await sleep(50);
    assert.equal((await now()).tick, then.tick);
    await expect(200, 'POST', '/simulation/arm');
    assert.equal((await expect(200, 'PUT', '/simulation', { state: 'running' })).json.state, 'running');
    await live.close();
  });

test('what takes the processor of the loop, above its priority, turns a latched device off', {
  timeout: 60000,
}, async (t) => {
  const cpus = /^Cpus_allowed_list:.*?(\d+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1];
  const above = ['-c', cpus, 'chrt', '-f', '98'];
  if (spawnSync('taskset', [...above, 'true']).status !== 0) return t.skip('no priority is granted here');
  const pinned = await start({ args: ['--scene', 'cone-on-cylinder', '--processor', cpus] });
  t.after(() => pinned.stop());
  const asked = await client(pinned);
  const told = async () => (await asked.expect(200, 'GET', '/simulation')).json;
  if ((await asked.expect(200, 'GET', '/loop')).json.scheduling !== 'fifo') return t.skip('nor to the loop');
  await asked.expect(200, 'PATCH', '/devices/sim', { safety: 'latched' });
  await until('ticks with nobody in their way', async () => {
    await asked.expect(200, 'POST', '/simulation/arm');
    const run = await asked.call('PUT', '/simulation', { state: 'running' });
    await sleep(100);
    return run.status === 200 && !(await told()).halted;
  });
  const from = await told();
  const busy = 'for (const end = Date.now() + 300; Date.now() < end; );'; // it ends by itself, at 300 ms
  const hog = spawn('taskset', [...above, process.execPath, '-e', busy], { stdio: 'ignore' });
  await new Promise((done) => hog.on('exit', done));
  const then = await until('the halt', async () => {
    const now = await told();
    return now.halted && now;
  });
  assert.ok(['overrun', 'watchdog'].includes(then.halt.cause), JSON.stringify(then.halt));
  await until('they are counted', async () => (await told()).missed >= from.missed + 200);
  assert.equal((await told()).tick, then.tick);
  await asked.expect(409, 'PUT', '/simulation', { state: 'running' });
});
