// A halt stays until the devices are armed, through loads, edits, undo and restarts.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { client, raw, request, sleep, start, stream, until } from './server.mjs';

let server, expect, call;
before(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  ({ expect, call } = await client(server));
});
after(() => server?.stop());

const now = async () => (await expect(200, 'GET', '/simulation')).json;

test('a halt tells its cause, who and since when; nothing runs or steps', async () => {
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  assert.equal((await now()).halt, undefined);
  const asked = Date.now();
  assert.equal((await expect(200, 'POST', '/simulation/halt')).json.halted, true);
  const { halted, halt, state, tick } = await now();
  assert.deepEqual([halted, state, halt.cause], [true, 'paused', 'software']);
  assert.match(halt.by, /^rest 127\.0\.0\.1:\d+$/);
  assert.match(halt.since, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  assert.ok(Math.abs(Date.parse(halt.since) - asked) < 2000, halt.since);
  await expect(409, 'PUT', '/simulation', { state: 'running' });
  await expect(409, 'POST', '/simulation/step', { ticks: 1 });
  await sleep(50);
  assert.equal((await now()).tick, tick);
  await expect(200, 'POST', '/simulation/halt'); // the first cause stays
  assert.deepEqual((await now()).halt, halt);
});

test('it outlives loads, new scenes, another rate, undo and stops', async () => {
  const { halt } = await now();
  const scene = (await expect(200, 'GET', '/scene')).json;
  const steps = [
    ['POST', '/scene/open', { scene: 'sphere' }],
    ['PUT', '/scene', scene],
    ['PATCH', '/scene', { rate: 500 }],
    ['POST', '/scene/undo'],
    ['POST', '/scene/redo'],
    ['POST', '/scene/undo'],
    ['PUT', '/simulation', { state: 'stopped' }],
    ['PATCH', '/tool', { limits: { force: 9 } }],
    ['PUT', '/simulation', { state: 'paused' }],
  ];
  for (const [method, path, body] of steps) {
    const answered = await call(method, path, body);
    assert.ok(answered.status < 300, `${method} ${path}: ${answered.text}`);
    const then = await now();
    assert.deepEqual([then.halted, then.halt], [true, halt], `${method} ${path}`);
    await expect(409, 'PUT', '/simulation', { state: 'running' });
    assert.equal((await now()).tick, 0, 'no tick is made');
  }
});

test('arming ends it, says who, and what comes after it runs', async () => {
  const live = stream(server);
  await live.wait('hello', (m) => m.simulation.halted && m.simulation.halt.cause === 'software');
  assert.equal((await expect(200, 'POST', '/simulation/arm')).json.halted, false);
  const told = await live.wait('event', (m) => m.event.kind === 'armed');
  assert.match(told.event.by, /^rest 127/);
  await expect(200, 'POST', '/simulation/arm'); // what is armed may be armed
  assert.equal((await expect(200, 'PUT', '/simulation', { state: 'running' })).json.state, 'running');
  live.send({ op: 'halt' });
  const halted = await live.wait('event', (m) => m.event.kind === 'halted');
  assert.deepEqual([halted.event.cause, /^stream 127/.test(halted.event.by)], ['software', true], halted.event.by);
  assert.match((await now()).halt.by, /^stream 127/);
  await live.close();
});

test('one press that comes by two ways halts once: the later way undoes no arming', async () => {
  const live = stream(server);
  await live.wait('hello');
  const halt = (key) =>
    request(server, 'POST', '/api/v1/simulation/halt', undefined, key && { 'Idempotency-Key': key });
  const arm = () => expect(200, 'POST', '/simulation/arm');
  // by REST, armed, then by the stream; an answer to a later message says that it was read
  assert.equal((await halt('press-1')).json.halted, true);
  await arm();
  live.send({ op: 'halt', press: 'press-1' });
  live.send({ op: 'halt', press: '', id: 'wrong' });
  await live.wait('error', (m) => m.id === 'wrong');
  assert.equal((await now()).halted, false, 'the same press again');
  live.send({ op: 'halt', press: 'press-2' });
  await until('the halt of another press', async () => (await now()).halted);
  await arm();
  // by the stream first, then by REST, on a connection of its own and after something else on it
  const asked = performance.now();
  assert.equal((await halt('press-2')).json.halted, false);
  assert.ok(performance.now() - asked < 1000);
  assert.equal((await now()).halted, false);
  // it says that it halted nothing, on a new connection and on a kept one
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const kept = (method, path, key) =>
    new Promise((done, failed) => {
      const [host, port] = server.address.split(':');
      const headers = key ? { 'Idempotency-Key': key } : {};
      http
        .request({ host, port, path, method, headers, agent }, (r) => r.resume().on('end', () => done(r)))
        .on('error', failed)
        .end();
    });
  assert.equal((await halt('press-2')).headers['idempotency-replayed'], 'true');
  await kept('GET', '/healthz');
  const again = await kept('POST', '/api/v1/simulation/halt', 'press-2');
  assert.deepEqual([again.statusCode, again.headers['idempotency-replayed']], [200, 'true']);
  const first = await kept('POST', '/api/v1/simulation/halt', 'press-4');
  assert.deepEqual([first.statusCode, first.headers['idempotency-replayed']], [200, undefined]);
  agent.destroy();
  await arm();
  // who names no press, or another one, halts
  assert.equal((await halt()).json.halted, true);
  await arm();
  assert.equal((await halt()).json.halted, true);
  await arm();
  assert.equal((await halt('press-3')).json.halted, true);
  await arm();
  // nor does another way to write the address, whose answers are not stored as those of other requests
  for (let i = 0; i < 2; i++) {
    const encoded = '/api/v1/simulation/%68alt';
    const reply = await request(server, 'POST', encoded, undefined, { 'Idempotency-Key': 'press-5' });
    assert.deepEqual([reply.status, reply.json.halted], [200, true]);
    assert.equal((await now()).halted, true);
    await arm();
  }
  await live.close();
});

test('a halt that comes while another one stands, stands as long: it is answered before it is armed', async () => {
  const halt = async () => (await expect(200, 'POST', '/simulation/halt')).json.halted;
  assert.equal(await halt(), true);
  await sleep(200);
  for (let i = 0; i < 5; i++) {
    const asked = performance.now();
    assert.equal(await halt(), true);
    await expect(200, 'POST', '/simulation/arm');
    assert.ok(performance.now() - asked > 95, `armed after ${performance.now() - asked} ms`);
    assert.equal(await halt(), true);
    await sleep(150);
  }
  await expect(200, 'POST', '/simulation/arm');
});

test('a halt halts whatever body or query comes with it, and says what it ignored', async () => {
  const path = '/api/v1/simulation/halt';
  const text = { 'content-type': 'text/plain' };
  const cases = [
    [path, '{}', {}, undefined],
    [path, ' { } ', {}, undefined],
    [path, '{"reason":"smoke"}', {}, 'body'],
    [path, '{"reason":', {}, 'body'],
    [path, '[]', {}, 'body'],
    [path, 'null', {}, 'body'],
    [path, 'stop!', text, 'body'],
    [path, Buffer.from([0xff, 0]), { 'content-type': null }, 'body'],
    [path, 'x'.repeat(9000), {}, 'body'], // longer than what the listener reads itself
    [path, 'x'.repeat(1048577), {}, 'body'], // longer than a body may be
    [path, '{"reason":', { 'transfer-encoding': 'chunked' }, 'body'],
    [`${path}?reason=smoke`, undefined, {}, 'query'],
    [`${path}?limit=x`, '{"x":1}', {}, 'body and query'],
  ];
  const fresh = () => ({ connection: 'close' }); // read by the listener, not by HTTP on a kept connection
  for (const connection of [fresh, () => ({})])
    for (const [address, body, headers, ignored] of cases) {
      await expect(200, 'PUT', '/simulation', { state: 'running' });
      const answered = await request(server, 'POST', address, body, { ...headers, ...connection() });
      const said = `${address} ${String(body).slice(0, 20)}: ${answered.text}`;
      assert.deepEqual([answered.status, answered.json.halted, answered.json.ignored], [200, true, ignored], said);
      assert.equal((await now()).halted, true, said);
      await expect(200, 'POST', '/simulation/arm');
    }
  assert.equal((await request(server, 'POST', `${path}?dryRun=true`)).status, 400); // asks for no halt
  assert.equal((await now()).halted, false);
});

test('a halt waits neither for its body nor for what was asked before it on its connection', async () => {
  const head = (line, fields = '') => `${line} HTTP/1.1\r\nHost: ${server.address}\r\n${fields}\r\n`;
  const post = (fields) => head('POST /api/v1/simulation/halt', fields);
  const json = (size) => `Content-Type: application/json\r\nContent-Length: ${size}\r\n`;
  const first = head('GET /healthz');
  const steps = `${head('POST /api/v1/simulation/step', json(17))}{"ticks":1000000}`;
  const cases = [
    ['running', '', post('Content-Length: 200\r\n')],
    ['running', '', post('Content-Length: 20000\r\n')],
    ['running', '', post('Transfer-Encoding: chunked\r\n')],
    ['running', '', post('Expect: 100-continue\r\nContent-Length: 9000\r\n')],
    ['running', first, post('Content-Length: 200\r\n')],
    ['paused', first, steps + post()],
    ['paused', '', steps + post()],
    ['paused', first, steps + first + post('Content-Length: 200\r\n')],
  ];
  for (const [state, before, text] of cases) {
    await expect(200, 'PUT', '/simulation', { state });
    const c = raw(server, before);
    if (before) await until('the first answer', () => c.got.endsWith('ok\n'));
    c.socket.write(text);
    await until(`a halt by ${JSON.stringify(text)}`, async () => (await now()).halted, 2000);
    assert.match((await now()).halt.by, new RegExp(`:${c.socket.localPort}$`));
    if (text === steps + post()) {
      await until('both answers', () => c.got.includes('"halted":true'));
      assert.match(c.got, /HTTP\/1.1 409 [^]*HTTP\/1.1 200 /);
    }
    await expect(200, 'POST', '/simulation/arm');
    c.socket.destroy();
    await sleep(50);
    assert.equal((await now()).halted, false, 'it halts once');
  }
  for (const fields of ['Origin: http://evil.example\r\n', `Host: ${server.address}\r\n`]) {
    const c = raw(server, post(`${fields}Content-Length: 200\r\n`));
    await sleep(100);
    assert.equal((await now()).halted, false, fields);
    c.socket.destroy();
  }
});

test('arming loses against a halt that comes while it waits', async () => {
  await expect(200, 'POST', '/simulation/arm');
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await expect(200, 'POST', '/simulation/halt');
  const arming = call('POST', '/simulation/arm'); // a halt stands for a tenth of a second
  await sleep(30);
  await expect(200, 'POST', '/simulation/halt');
  const lost = await arming;
  assert.equal(lost.status, 409, lost.text);
  assert.match(lost.json.detail, /same time/);
  assert.equal((await now()).halted, true);
  await expect(200, 'POST', '/simulation/arm');
  await until('armed', async () => !(await now()).halted);
});
