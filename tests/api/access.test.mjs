// Who is let in, and what happens to connections that stall, flood or ask too much.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect, guideway, raw, request, sanitized, sleep, start, stream, until } from './server.mjs';

let server;
before(async () => {
  server = await start();
});
after(() => server?.stop());

const scratch = mkdtempSync(join(tmpdir(), 'guideway-access-'));
const port = () => Number(server.address.split(':').at(-1));
const tokenFile = (text) => {
  const file = join(scratch, `token-${text.length}`);
  writeFileSync(file, `${text}\n`);
  return file;
};

const seconds = (pid) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
};

test('the page comes with a strict policy, from the root and from nowhere above it', async () => {
  const page = await request(server, 'GET', '/');
  assert.equal(page.status, 200);
  assert.match(page.headers['content-security-policy'], /default-src 'none'.*frame-ancestors 'none'/);
  assert.doesNotMatch(page.headers['content-security-policy'], /unsafe/);
  assert.equal(page.headers['x-content-type-options'], 'nosniff');
  const packed = await request(server, 'GET', '/app.js', undefined, { 'accept-encoding': 'gzip' });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  const known = await request(server, 'GET', '/app.js', undefined, {
    'if-none-match': (await request(server, 'GET', '/app.js')).headers.etag,
  });
  assert.equal(known.status, 304);
  for (const path of [
    '/../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/scenes/paper-plane.json',
    '/openapi.json',
    '/app.js/',
    '//app.js',
    '/%00',
  ])
    assert.equal((await request(server, 'GET', path)).status, 404, path);
  for (const path of [
    '/api/v1/scenes/..%2f..%2fetc%2fpasswd',
    '/api/v1/scenes/.hidden',
    '/api/v1/objects/%ff%fe',
    '/api/v1/objects/a%00b',
    '/api/v1/objects/%zz',
    `/api/v1/objects/${'x'.repeat(3000)}`,
  ])
    assert.equal((await request(server, 'GET', path)).status, 404, path);
  assert.equal((await request(server, 'HEAD', '/')).text, '');
  assert.equal((await request(server, 'POST', '/', {})).status, 405);
  assert.equal((await request(server, 'GET', '/healthz')).text, 'ok\n');
  assert.match((await request(server, 'GET', '/metrics')).text, /^guideway_rt_thread_id \d+$/m);
  assert.equal((await request(server, 'GET', '/ws')).status, 426);
});

test('methods that an address does not know', async () => {
  const refused = await request(server, 'DELETE', '/api/v1/simulation');
  assert.equal(refused.status, 405);
  assert.equal(refused.headers.allow, 'GET, HEAD, PUT');
  assert.equal((await request(server, 'OPTIONS', '/api/v1/constraints')).status, 204);
  const head = await request(server, 'HEAD', '/api/v1/scene');
  assert.deepEqual([head.status, head.text], [200, '']);
  for (const later of ['recordings']) {
    const reply = await request(server, 'GET', `/api/v1/${later}`);
    assert.equal(reply.status, 501);
    assert.match(reply.json.detail, /later version/);
  }
  assert.equal((await request(server, 'GET', '/api/v1/nonsense')).status, 404);
});

test('hosts and origins', async () => {
  const hosts = {
    [`localhost:${port()}`]: 200,
    '127.0.0.1': 200,
    [`[::1]:${port()}`]: 200,
    'evil.example': 421,
    '127.0.0.1.evil.example': 421,
    'localhost.': 421,
    '192.168.0.1': 421,
    'localhost:80:80': 421,
  };
  for (const [host, status] of Object.entries(hosts))
    for (const path of ['/', '/api/v1/scene', '/metrics', '/healthz'])
      assert.equal((await request(server, 'GET', path, undefined, { host })).status, status, `${host} ${path}`);
  for (const text of ['', 'Host: \r\n', `Host: ${server.address}\r\nHost: ${server.address}\r\n`]) {
    const odd = raw(server, `GET /api/v1/scene HTTP/1.1\r\n${text}\r\n`);
    await until('an answer', () => odd.got);
    assert.match(odd.got, /^HTTP\/1.1 4(00|21)/);
    odd.socket.destroy();
  }
  const origins = {
    [`http://${server.address}`]: 200,
    'http://evil.example': 403,
    null: 403,
    'https://127.0.0.1': 403,
    [`http://localhost:${port()}`]: 403,
    'http://127.0.0.1:1': 403,
  };
  for (const [origin, status] of Object.entries(origins))
    assert.equal((await request(server, 'GET', '/api/v1/scene', undefined, { origin })).status, status, origin);
});

test('a request that can be read as two is refused, and nothing behind it is read', async () => {
  const body = '{"constraints":[]}';
  const head = (lines) =>
    `POST /api/v1/solve HTTP/1.1\r\nHost: ${server.address}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n`;
  const next = `GET /healthz HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`;
  for (const lines of [
    `Content-Length: ${body.length}\r\nContent-Length: 4`,
    `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked`,
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: identity',
    'Transfer-Encoding: xchunked',
    `Content-Length: +${body.length}`,
  ]) {
    const sent = raw(server, head(lines) + body + next);
    await until(lines, () => sent.ended);
    assert.match(sent.got, /^HTTP\/1.1 400 /, lines);
    assert.doesNotMatch(sent.got, /\r\n\r\nok\n/, lines);
  }
  const chunks = raw(
    server,
    `${head('Transfer-Encoding: chunked')}${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n${next}`,
  );
  await until('both answers', () => /solved[\s\S]*\r\n\r\nok\n/.test(chunks.got));
  chunks.socket.destroy();
});

test('the stream says no hello to foreign hosts and origins', async () => {
  for (const headers of [{ host: 'evil.example' }, { origin: 'http://evil.example' }, { origin: 'null' }])
    for (const protocols of ['guideway.v1', []]) {
      const live = stream(server, { headers, protocols });
      live.socket.on('error', () => {});
      await live.closed;
      assert.equal(live.messages.length, 0);
    }
  const own = stream(server, { headers: { origin: `http://${server.address}` } });
  await own.wait('hello');
  await own.close();
});

test('a token, where one is asked for', async () => {
  const token = 'correct horse battery staple';
  const locked = await start({ args: ['--token-file', tokenFile(token)] });
  const get = (authorization) =>
    request(locked, 'GET', '/api/v1/scene', undefined, authorization ? { authorization } : {});
  assert.equal((await get()).status, 401);
  assert.equal((await get('Bearer wrong')).status, 401);
  assert.equal((await get(`Basic ${token}`)).status, 401);
  assert.equal((await get(`Bearer ${token}`)).status, 200);
  assert.equal((await request(locked, 'GET', '/')).status, 200, 'the page itself has to come first');
  assert.equal((await request(locked, 'GET', '/metrics')).status, 401);
  const wrong = stream(locked);
  await wrong.opened;
  wrong.send({ op: 'auth', token: 'wrong' });
  assert.equal((await wrong.closed).code, 4401);
  const eager = stream(locked);
  await eager.opened;
  eager.send({ op: 'halt' });
  assert.equal((await eager.closed).code, 4401);
  const right = stream(locked);
  await right.opened;
  right.send({ op: 'auth', token });
  await right.wait('hello');
  assert.equal(right.messages.length && wrong.messages.length, 0);
  const silent = stream(locked);
  const began = performance.now();
  assert.equal((await silent.closed).code, 4401);
  const took = performance.now() - began;
  assert.ok(took > 3500 && took < 20000, `${took} ms`);
  await right.close();
  await locked.stop();
});

test('command line: what is refused, by name', () => {
  const run = (...args) => spawnSync(guideway, ['serve', ...args], { encoding: 'utf8', timeout: 20000 });
  const taken = run('--listen', server.address, '--data', scratch);
  assert.equal(taken.status, 1);
  assert.match(taken.stderr, new RegExp(`${server.address} is taken`));
  const cases = [
    [['--listen', '0.0.0.0:0'], /token-file/],
    [['--listen', 'nonsense'], /not an address/],
    [['--listen', '127.0.0.1:99999'], /not an address/],
    [['--listen', '127.0.0.1:0', '--token-file', tokenFile('short')], /16/],
    [['--listen', '127.0.0.1:0', '--token-file', '/nowhere'], /nowhere/],
    [['--listen', '127.0.0.1:0', '--scene', '/nowhere.json'], /nowhere/],
    [['--colour'], /usage/],
    [['extra'], /extra/],
  ];
  for (const [args, words] of cases) {
    const refused = run('--data', scratch, ...args);
    assert.equal(refused.status, 2, `${args}: ${refused.stderr}`);
    assert.match(refused.stderr, words);
  }
  const file = join(scratch, 'bad.json');
  writeFileSync(
    file,
    '{"format":"guideway-scene/1","name":"Bad","objects":[{"id":"a","geometry":{"type":"sphere","radius":-1}}]}',
  );
  const bad = run('--listen', '127.0.0.1:0', '--data', scratch, '--scene', file);
  assert.equal(bad.status, 2);
  assert.match(bad.stderr, /bad\.json/);
  assert.match(bad.stderr, /\/objects\/0\/geometry\/radius/);
});

test('a token allows what its roles say', async () => {
  const [watch, edit, operate, all] = [
    'watches-and-no-more',
    'edits-but-never-runs',
    'runs-but-never-edits',
    'everything: even with a colon',
  ];
  const file = tokenFile(`watch: ${watch}\nedit:${edit}\n\noperate: ${operate}\n${all}`);
  const locked = await start({ args: ['--scene', 'cone-on-cylinder', '--token-file', file] });
  const ask = async (token, method, path, body) =>
    (await request(locked, method, `/api/v1${path}`, body, { authorization: `Bearer ${token}` })).status;
  for (const [method, path, body, allowed] of [
    ['GET', '/scene', undefined, [watch, edit, operate, all]],
    ['PATCH', '/tool', { limits: { force: 3 } }, [edit, all]],
    ['POST', '/scene/save', { name: 'kept' }, [edit, all]],
    ['PUT', '/simulation', { state: 'running' }, [operate, all]],
    ['POST', '/simulation/halt', undefined, [watch, edit, operate, all]],
    ['POST', '/simulation/arm', undefined, [operate, all]],
    ['POST', '/scene/edits', [{ method: 'PATCH', path: '/tool', body: {} }], [edit, all]],
  ])
    for (const token of [watch, edit, operate, all]) {
      const status = await ask(token, method, path, body);
      assert.equal(
        status,
        allowed.includes(token) ? (path.endsWith('save') ? 201 : 200) : 403,
        `${token}: ${method} ${path}`,
      );
    }
  const { json } = await request(locked, 'GET', '/api/v1/openapi.json', undefined, { authorization: `Bearer ${all}` });
  for (const [path, methods] of Object.entries(json.paths))
    for (const method of Object.keys(methods).map((m) => m.toUpperCase())) {
      const address = path.slice('/api/v1'.length).replaceAll(/\{[^}]*\}/g, 'nothing');
      const operates = /^\/simulation|\/(start|stop)$/.test(address);
      const role = method === 'GET' || address === '/solve' ? undefined : operates ? operate : edit;
      if (address === '/simulation/halt') continue; // for everybody, above
      for (const token of [watch, edit, operate]) {
        const status = await ask(token, method, address, method === 'GET' || method === 'DELETE' ? undefined : {});
        assert.equal(status === 403, role !== undefined && token !== role, `${token}: ${method} ${address}: ${status}`);
      }
    }
  await ask(all, 'POST', '/scene/open', { scene: 'cone-on-cylinder' });
  const keyed = async (token) =>
    (
      await request(
        locked,
        'POST',
        '/api/v1/simulation/step',
        { ticks: 1 },
        {
          authorization: `Bearer ${token}`,
          'idempotency-key': 'of-all-tokens',
        },
      )
    ).status;
  await ask(all, 'PUT', '/simulation', { state: 'paused' });
  // what one token may not is neither kept for the next nor told from the one before
  assert.deepEqual([await keyed(watch), await keyed(operate), await keyed(watch)], [403, 200, 403]);
  for (const [token, may] of [
    [watch, false],
    [edit, false],
    [operate, true],
  ]) {
    const live = stream(locked);
    await live.opened;
    live.send({ op: 'auth', token });
    await live.wait('hello');
    live.send({ op: 'clutch', tool: 0, engaged: true, id: 'x' });
    live.send({ op: 'subscribe', stream: 'poses' });
    if (!may) assert.match(JSON.stringify(await live.wait('error')), /may not operate/);
    else await until('frames', () => live.frames.length > 0);
    await live.close();
  }
  await locked.stop();
});

test('tokens are not guessed: an event for each, and an end to them', async () => {
  const token = 'correct horse battery staple';
  const locked = await start({ args: ['--token-file', tokenFile(token)] });
  const ask = (text, path = '/scene', method = 'GET') =>
    request(locked, method, `/api/v1${path}`, undefined, { authorization: `Bearer ${text}` });
  for (let i = 0; i < 3; i++) assert.equal((await ask(`guess ${i}`)).status, 401);
  const told = (await ask(token, '/events?kind=token')).json;
  assert.equal(told.length, 3);
  assert.match(told[0].message, /wrong token was refused: rest 127.0.0.1:\d+, request [0-9a-f]{16}/);
  for (let i = 3; i < 20; i++) assert.equal((await ask(`guess ${i}`)).status, 401);
  const limited = await ask(token);
  assert.deepEqual(
    [limited.status, limited.headers['retry-after'], limited.json.type],
    [429, '60', '/problems/too-many-guesses'],
  );
  assert.equal((await ask(token, '/simulation')).status, 429, 'the state is no way to go on guessing');
  assert.equal((await ask(token, '/simulation/halt', 'POST')).status, 200, 'a halt comes through');
  await locked.stop();
});

test('beyond loopback with a token', async (t) => {
  const outside = Object.values(networkInterfaces())
    .flat()
    .find((i) => i.family === 'IPv4' && !i.internal);
  if (!outside) return t.skip('no other interface');
  const open = await start({ listen: '0.0.0.0:0', args: ['--token-file', tokenFile('correct horse battery staple')] });
  const there = { address: `${outside.address}:${open.address.split(':').at(-1)}` };
  const authorization = 'Bearer correct horse battery staple';
  assert.equal((await request(there, 'GET', '/api/v1/scene', undefined, { authorization })).status, 200);
  assert.equal((await request(there, 'GET', '/api/v1/scene')).status, 401);
  assert.equal(
    (await request(there, 'GET', '/api/v1/scene', undefined, { authorization, host: 'rebound.example' })).status,
    421,
  );
  await open.stop();
});

// Those below wait for time-outs: side by side.
describe('connections that stall', { concurrency: true, timeout: 120000 }, () => {
  test('half a request line costs nothing and goes away', async () => {
    const halves = [
      'GET /w',
      'G',
      '',
      'GET /ws',
      'GET / HTTP/1.1\r\nHost: localhost\r\n',
      'GET /ws HTTP/1.1\r\nHost: localhost\r\n',
    ].map((text) => raw(server, text));
    const burned = seconds(server.pid),
      began = performance.now();
    await sleep(2000);
    assert.ok(
      seconds(server.pid) - burned < (sanitized ? 3 : 1),
      `${seconds(server.pid) - burned} s of processor in 2 s`,
    );
    await until('their end', () => halves.every((h) => h.ended), 20000);
    assert.ok(performance.now() - began > 5000);
    assert.equal((await request(server, 'GET', '/healthz')).status, 200);
  });

  const drip = async (text, every, low, high) => {
    const slow = raw(server, text),
      began = performance.now();
    while (!slow.ended && performance.now() - began < 2000 + high) {
      slow.socket.write(every);
      await sleep(500);
    }
    const took = performance.now() - began;
    assert.ok(took > low && took < high, `${took} ms`);
  };

  test('headers that drip are cut after 10 seconds, however busy they look', () =>
    drip(`GET / HTTP/1.1\r\nHost: ${server.address}\r\n`, 'X-Drip: 1\r\n', 8000, 14000));

  test('a body that drips is cut after 30', () =>
    drip(
      `PUT /api/v1/scene HTTP/1.1\r\nHost: ${server.address}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n`,
      ' ',
      28000,
      35000,
    ));

  // its other end is gone without a word: the system there would answer, nobody does
  test('a stream that answers no ping is cut after a minute', async () => {
    const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';
    const half = raw(
      server,
      `GET /ws HTTP/1.1\r\nHost: ${server.address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n${key}\r\n`,
    );
    await until('hello', () => half.got.includes('"hello"'));
    const began = performance.now();
    await until('its end', () => half.ended, 100000);
    const took = performance.now() - began;
    assert.ok(took > 50000, `${took} ms`);
    assert.ok(half.got.includes('\x89\x00'), 'it was asked before');
  });
});

test('a path that only begins like the stream is no stream', async () => {
  assert.equal((await request(server, 'GET', '/wsx')).status, 404);
  assert.equal((await request(server, 'GET', '/ws/x')).status, 404);
  const query = stream(server, { path: '/ws?x=1' });
  await query.wait('hello');
  await query.close();
  const plain = raw(server, `GET /ws HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
  await until('an answer', () => plain.got.includes('HTTP/1.1') || plain.ended);
});

test('10 MB are read and refused; the same connection lives on', async () => {
  const much = `{"name":"${'x'.repeat(10 << 20)}"}`;
  const refused = await request(server, 'PUT', '/api/v1/scene', much);
  assert.equal(refused.status, 413);
  assert.match(refused.json.detail, /1048576/);
  assert.equal((await request(server, 'GET', '/api/v1/scene')).status, 200);
});

test('beyond 512 connections: 503, and well again afterwards', { timeout: 60000 }, async () => {
  const many = [];
  // each waits for its body: none rests, to give way to the next one
  const head = `POST /api/v1/solve HTTP/1.1\r\nHost: ${server.address}\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n`;
  for (let i = 0; i < 520; i++) {
    many.push(raw(server, head));
    if (i % 64 === 63) await sleep(20);
  }
  const turnedAway = () => many.filter((c) => c.got.startsWith('HTTP/1.1 503'));
  await until('refusals', () => turnedAway().length >= 4, 20000);
  many.forEach((c) => c.socket.write('{"constraints":[]}'));
  await until('answers', () => many.every((c) => c.got || c.ended), 20000);
  const busy = turnedAway();
  assert.ok(busy.length >= 4 && busy.length < 20, `${busy.length} were turned away`);
  assert.match(busy[0].got, /Retry-After/);
  assert.equal(many.filter((c) => c.got.startsWith('HTTP/1.1 200')).length + busy.length, 520);
  many.forEach((c) => c.socket.destroy());
  await until('room', async () => (await request(server, 'GET', '/healthz').catch(() => ({}))).status === 200, 10000);
});

test('512 connections that rest give way to who asks; a 503 is as long as it says', { timeout: 60000 }, async () => {
  const many = Array.from({ length: 512 }, () =>
    raw(server, `GET /healthz HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`),
  );
  await until('answers', () => many.every((c) => c.got || c.ended), 20000);
  const late = Array.from({ length: 4 }, () => raw(server, `GET /healthz HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`));
  await until('their answers', () => late.every((c) => c.ended || c.got.startsWith('HTTP/1.1 200')), 20000);
  for (const { got } of [...many, ...late].filter((c) => c.got.startsWith('HTTP/1.1 503')))
    assert.equal(got.length - got.indexOf('\r\n\r\n') - 4, Number(/Content-Length: (\d+)/.exec(got)[1]));
  await sleep(1200);
  for (let i = 0; i < 20; i++) {
    const fresh = raw(server, `GET /api/v1/scene HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
    await until('an answer', () => fresh.got || fresh.ended);
    assert.match(fresh.got, /^HTTP\/1.1 200/);
    many.push(fresh);
  }
  const silent = Array.from({ length: 1100 }, () => raw(server)); // more than may wait to be peeked
  await until('connections', () => silent.every((c) => c.ended || !c.socket.connecting), 20000);
  const after = raw(server, `GET /healthz HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
  await until('an answer', () => after.got || after.ended);
  assert.match(after.got, /^HTTP\/1.1 200/);
  [...many, ...late, ...silent, after].forEach((c) => c.socket.destroy());
  await until('room', async () => (await request(server, 'GET', '/healthz').catch(() => ({}))).status === 200, 10000);
});

test('raw WebSocket frames against the rules end that connection only', async () => {
  const upgrade = `GET /ws HTTP/1.1\r\nHost: ${server.address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n`;
  const bad = [
    [0x81, 0x05, 1, 2, 3],
    [0x83, 0x80, 0, 0, 0, 0],
    [0xf1, 0x80, 0, 0, 0, 0],
    [0x89, 0xfe, 0xff, 0xff, 0, 0, 0, 0],
    [0x80, 0x80, 0, 0, 0, 0],
    [0x81, 0x82, 0, 0, 0, 0, 0xc3, 0x28],
    [0x88, 0x81, 0, 0, 0, 0, 1],
    [0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0],
  ];
  for (const bytes of bad) {
    const client = raw(server, upgrade);
    await until('the upgrade', () => client.got.includes('101') || client.ended);
    client.socket.write(Buffer.from(bytes));
    await sleep(100);
    client.socket.destroy();
  }
  const live = stream(server);
  await live.wait('hello');
  await live.close();
});

test('with too few open files it says so and ends; with few a halt still comes in', { timeout: 60000 }, async () => {
  for (const files of [14, 32]) {
    const few = spawnSync(
      'sh',
      ['-c', `ulimit -n ${files}; exec ${guideway} serve --listen 127.0.0.1:0 --data ${scratch}/few`],
      { encoding: 'utf8', timeout: 20000 },
    );
    assert.equal(few.status, 1);
    assert.match(few.stderr, new RegExp(`${files} files .* 64 are needed`));
  }
  const script = join(scratch, 'hundred.sh');
  writeFileSync(script, `#!/bin/sh\nulimit -n 100\nexec ${guideway} "$@"\n`, { mode: 0o755 });
  const tight = await start({ program: script });
  const idle = Array.from({ length: 150 }, () => connect(tight));
  await sleep(200);
  for (let i = 0; i < 20; i++) {
    const halted = await request(tight, 'POST', '/api/v1/simulation/halt');
    assert.equal(halted.status, 200);
  }
  idle.forEach((socket) => socket.destroy());
  await tight.stop();
});

test('it ends in order on SIGTERM, SIGINT and SIGHUP, clients or not', async () => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) {
    const other = await start();
    const live = stream(other);
    await live.wait('hello');
    const { code, err } = await other.stop(signal);
    assert.equal(code, 0, err);
  }
});
