// Steps are made as fast as they are computed, all of them by the time of the answer, and whatever
// else is asked for has its turn meanwhile.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client, request, sanitized, sleep, start, until } from './server.mjs';

let server, expect, call;
before(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  ({ expect, call } = await client(server));
});
after(() => server?.stop());

const now = async () => (await expect(200, 'GET', '/simulation')).json;
const step = (ticks) => request(server, 'POST', '/api/v1/simulation/step', { ticks });

async function paused(scene) {
  if (scene) await expect(200, 'POST', '/scene/open', { scene });
  await expect(200, 'PUT', '/simulation', { state: 'paused' });
  return (await now()).tick;
}

test('10000 ticks are made when it answers, faster than real time', { timeout: 60000 }, async () => {
  const from = await paused(),
    began = performance.now();
  const { json } = await expect(200, 'POST', '/simulation/step', { ticks: 10000 });
  const ms = performance.now() - began;
  assert.equal(json.tick, from + 10000);
  await sleep(30);
  assert.equal((await now()).tick, from + 10000, 'nothing goes on');
  console.log(`# 10000 ticks in ${ms.toFixed(0)} ms`);
  if (!sanitized) assert.ok(ms < 5000, `${ms} ms for 10 s`);
});

test('whole numbers may be written with a point, as some languages do', async () => {
  const from = await paused();
  const post = (body) => request(server, 'POST', '/api/v1/simulation/step', body);
  assert.equal((await post('{"ticks":2.0}')).json.tick, from + 2);
  for (const ticks of ['2.5', '0.0', '-1', '1e75', '"2"']) {
    const refused = await post(`{"ticks":${ticks}}`);
    assert.equal(refused.status, 400, ticks);
    assert.equal(refused.json.errors[0].pointer, '/ticks', ticks);
  }
  const line = '{"degree":1.0,"knots":[0,0,1,1],"points":[[0,0,0],[1,0,0]]}';
  const problem = `{"constraints":[{"type":"coincident","mobile":{"point":[0,0,0]},"fixed":{"curve":${line}}}],"samples":2.0}`;
  assert.equal((await request(server, 'POST', '/api/v1/solve', problem)).json.status, 'solved');
});

test('a scene with contacts finds them as it would in real time', { timeout: 60000 }, async () => {
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'dropped',
    gravity: [0, 0, -9.81],
    contact: {},
    objects: [
      { id: 'floor', fixed: true, geometry: { type: 'box', size: [1, 1, 0.1] }, pose: { p: [0, 0, -0.05] } },
      { id: 'ball', free: true, geometry: { type: 'sphere', radius: 0.05 }, pose: { p: [0, 0, 0.3] } },
    ],
  });
  const from = await paused(),
    began = performance.now();
  const { json } = await expect(200, 'POST', '/simulation/step', { ticks: 5000 });
  const ms = performance.now() - began;
  assert.equal(json.tick, from + 5000);
  const ball = json.bodies.find((b) => b.object === 'ball');
  console.log(`# 5000 ticks with contacts in ${ms.toFixed(0)} ms, at rest at ${ball.pose.p[2]} m`);
  assert.ok(Math.abs(ball.pose.p[2] - 0.05) < 2e-3, `it lies at ${ball.pose.p[2]} m`);
  if (!sanitized) assert.ok(ms < 4000, `${ms} ms for 5 s`);
});

test('requests of steps follow one another; a fifth is refused by name', { timeout: 60000 }, async () => {
  const from = await paused('cone-on-cylinder');
  const all = await Promise.all([1, 2, 3, 4].map(() => step(2000)));
  assert.deepEqual(
    all.map((a) => a.status),
    [200, 200, 200, 200],
  );
  assert.deepEqual(
    all.map((a) => a.json.tick).sort((a, b) => a - b),
    [1, 2, 3, 4].map((n) => from + 2000 * n),
  );
  const many = await Promise.all([1, 2, 3, 4, 5, 6].map(() => step(20000)));
  assert.ok(many.some((a) => a.status === 409 && /wait already/.test(a.json.detail)));
});

test('a halt and a stop end the steps that are left', { timeout: 60000 }, async () => {
  for (const [method, path, body, words] of [
    ['POST', '/simulation/halt', undefined, /halted after/],
    ['PUT', '/simulation', { state: 'stopped' }, /after \d+ of 1000000/],
  ]) {
    const from = await paused('cone-on-cylinder');
    const long = step(1000000);
    await until('ticks', async () => (await now()).tick > from + 100);
    const began = performance.now();
    await expect(200, method, path, body);
    const refused = await long;
    assert.equal(refused.status, 409);
    assert.match(refused.json.detail, words);
    assert.ok(performance.now() - began < (sanitized ? 5000 : 500));
    const { tick } = await now();
    await sleep(50);
    assert.equal((await now()).tick, tick);
    await call('POST', '/simulation/arm');
  }
});

test('another scene ends the steps that are left', { timeout: 60000 }, async () => {
  for (const [method, path, body] of [
    ['POST', '/scene/open', { scene: 'sphere' }],
    ['PATCH', '/scene', { rate: 500 }],
  ]) {
    const from = await paused('cone-on-cylinder'),
      long = step(1000000);
    await until('ticks', async () => (await now()).tick > from + 100);
    await expect(200, method, path, body);
    const began = performance.now();
    const refused = await long;
    assert.equal(refused.status, 409);
    assert.match(refused.json.detail, /another scene was opened/);
    assert.ok(performance.now() - began < 5000, `${path}: ${performance.now() - began} ms`);
  }
});

test('clients that want different states at once all get theirs', { timeout: 60000 }, async () => {
  await paused('cone-on-cylinder');
  const states = ['running', 'stopped', 'paused'];
  const client = async (first) => {
    for (let i = 0; i < 60; i++)
      assert.equal((await call('PUT', '/simulation', { state: states[(first + i) % 3] })).status, 200);
  };
  await Promise.all([0, 1, 2, 0, 1, 2].map(client));
});

test('other requests are answered while steps are made', { timeout: 60000 }, async () => {
  await paused('cone-on-cylinder');
  const long = step(200000);
  let slowest = 0;
  for (let i = 0; i < 50; i++) {
    const began = performance.now();
    await expect(200, 'GET', '/solutions');
    slowest = Math.max(slowest, performance.now() - began);
  }
  assert.ok(slowest < (sanitized ? 5000 : 500), `${slowest} ms`);
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  assert.ok([200, 409].includes((await long).status));
});

test('the server ends while steps are made', { timeout: 60000 }, async () => {
  const other = await start({ args: ['--scene', 'cone-on-cylinder'] });
  await request(other, 'PUT', '/api/v1/simulation', { state: 'paused' });
  const long = [1, 2, 3].map(() =>
    request(other, 'POST', '/api/v1/simulation/step', { ticks: 1000000 }).catch(() => {}),
  );
  await until('ticks', async () => (await request(other, 'GET', '/api/v1/simulation')).json.tick > 100);
  const began = performance.now();
  assert.equal((await other.stop()).code, 0);
  assert.ok(performance.now() - began < (sanitized ? 20000 : 3000), `${performance.now() - began} ms`);
  await Promise.all(long);
});
