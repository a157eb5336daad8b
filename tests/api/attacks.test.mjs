// Attacks that must reach neither library: another protocol over the stream's address, heads that two
// readers read differently, senders that are named twice.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { connect, raw, request, sanitized, start, stream, until } from './server.mjs';

let server;
before(async () => {
  server = await start();
});
after(() => server?.stop());

const lengthOf = (got) => Number(/content-length: (\d+)/i.exec(got)?.[1] ?? 0);
const bodyOf = (got) => got.slice(got.indexOf('\r\n\r\n') + 4);

// The answer to a text on a connection of its own; one that leaves the connection open is cut after the head.
async function ask(text) {
  const c = raw(server, text);
  await until('an answer', () => c.ended || c.got.includes('\r\n\r\n'));
  const status = Number(/^HTTP\/1.1 (\d+)/.exec(c.got)?.[1]);
  const length = lengthOf(c.got);
  if (status !== 101) await until('its body', () => c.ended || bodyOf(c.got).length >= length);
  c.socket.destroy();
  return { status, got: c.got, body: bodyOf(c.got), length };
}

const handshake = (changes = {}, more = '') => {
  const fields = {
    Host: server.address,
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version': '13',
    ...changes,
  };
  return `GET /ws HTTP/1.1\r\n${Object.entries(fields)
    .filter(([, v]) => v !== null)
    .map(([k, v]) => `${k}: ${v}\r\n`)
    .join('')}${more}\r\n`;
};

test("only WebSocket comes through the stream's address", async () => {
  assert.equal((await ask(handshake())).status, 101);
  const cases = [
    [
      handshake({
        Upgrade: 'h2c',
        Connection: 'Upgrade, HTTP2-Settings',
        'HTTP2-Settings': 'AAMAAABkAARAAAAAAAIAAAAA',
      }),
      426,
    ],
    [handshake({ Upgrade: 'h2c', Host: 'evil.example' }), 421],
    [handshake({ Upgrade: 'websocket, h2c' }), 426],
    [handshake({}, 'Upgrade: h2c\r\n'), 426],
    [handshake({ Upgrade: null }), 426],
    [handshake({ Connection: 'keep-alive' }), 426],
    [handshake({ 'Sec-WebSocket-Version': '8' }), 426],
    [handshake({ Host: 'evil.example' }), 421],
    [handshake({ Host: null }), 421],
    [handshake({}, `Host: ${server.address}\r\n`), 400],
    [handshake({ Origin: 'http://evil.example' }), 403],
    [handshake({ Origin: `http://${server.address}` }, 'Origin: http://evil.example\r\n'), 400],
    [handshake({}, 'Content-Length: 5\r\n'), 400],
    [handshake({ 'Sec-WebSocket-Key': null }), 400],
    [handshake({ 'Sec-WebSocket-Key': 'c2hvcnQ=' }), 400],
    [handshake({}, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'), 400],
    [handshake({ 'Sec-WebSocket-Protocol': 'chat' }), 400],
    [handshake({}, 'Upgrade : h2c\r\n'), 400],
    [handshake().replace('HTTP/1.1', 'HTTP/2.0'), 400],
    [handshake({}, `X: ${'x'.repeat(9000)}\r\n`), 400],
  ];
  for (const [text, status] of cases) {
    const refused = await ask(text);
    assert.equal(refused.status, status, text.slice(0, 400));
    assert.equal(refused.body.length, refused.length, 'its length is right');
    const problem = JSON.parse(refused.body);
    assert.equal(problem.status, status);
    assert.deepEqual(problem.errors, [{ pointer: '', detail: problem.detail }]);
  }
  const live = stream(server);
  await live.wait('hello');
  await live.close();
});

test('HTTP/2 by itself is refused', async () => {
  const refused = await ask('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  assert.ok(refused.status >= 400 || refused.got === '', refused.got);
});

test('a space before a colon, and an Origin told twice, are refused on every address', async () => {
  for (const path of ['/api/v1/solve', '/api/v1/simulation/halt']) {
    const head = (lines) =>
      `POST ${path} HTTP/1.1\r\nHost: ${server.address}\r\nContent-Type: application/json\r\n${lines}\r\n\r\n`;
    for (const lines of [
      'Content-Length : 2',
      `Content-Length: 2\r\nOrigin: http://${server.address}\r\nOrigin: http://evil.example`,
      'X y: 1\r\nContent-Length: 2',
    ]) {
      const refused = await ask(`${head(lines)}{}`);
      assert.equal(refused.status, 400, `${path} ${lines}: ${refused.got}`);
    }
  }
});

test('a halt is for the same senders as everything else', async () => {
  const cases = [
    [{ host: 'evil.example' }, 421],
    [{ origin: 'http://evil.example' }, 403],
    [{ origin: 'null' }, 403],
  ];
  for (const [headers, status] of cases)
    assert.equal((await request(server, 'POST', '/api/v1/simulation/halt', undefined, headers)).status, status);
  assert.equal((await request(server, 'POST', '/api/v1/simulation/halt?dryRun=true')).status, 400);
  assert.equal((await request(server, 'GET', '/api/v1/simulation')).json.halted, false);
  for (const body of [undefined, '{}', ' { } ']) {
    assert.equal((await request(server, 'POST', '/api/v1/simulation/halt', body)).json.halted, true);
    assert.equal((await request(server, 'POST', '/api/v1/simulation/arm')).json.halted, false);
  }
});

test('a text message that is no UTF-8 ends its connection with 1007', async () => {
  for (const bytes of [[0xc3, 0x28], [0xff], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
    const live = stream(server);
    await live.wait('hello');
    live.socket.send(Buffer.from(bytes), { binary: false });
    assert.equal((await live.closed).code, 1007);
  }
  const fine = stream(server);
  await fine.wait('hello');
  fine.send('{"op":"nonsense","id":"\u00e9\u{1f600}"}');
  await fine.wait('error');
  await fine.close();
});

test('what libmicrohttpd would answer in its own words is a problem like any other', async () => {
  const host = `Host: ${server.address}\r\n`;
  for (const [text, status, type] of [
    ['GET / HTTP/1.1\r\n\r\n', 400, 'bad-request'],
    [`GET / HTTP/3.7\r\n${host}\r\n`, 505, 'wrong-version'],
    ['rubbish\r\n\r\n', 400, 'bad-request'],
    [`GET / HTTP/1.1\r\n${host}no colon\r\n\r\n`, 400, 'bad-request'],
    [`POST /api/v1/objects HTTP/1.1\r\n${host}Content-Length: 12x\r\n\r\n`, 400, 'bad-request'],
    [
      `POST /api/v1/objects HTTP/1.1\r\n${host}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
      400,
      'bad-request',
    ],
  ]) {
    const { got: refused } = await ask(text);
    assert.match(
      refused,
      new RegExp(`^HTTP/1.1 ${status} [^]*Content-Type: application/problem\\+json[^]*"type":"/problems/${type}"`),
      text,
    );
    assert.match(refused, /X-Request-Id: [0-9a-f]{16}/);
    assert.equal(Number(/Content-Length: (\d+)/.exec(refused)[1]), refused.split('\r\n\r\n')[1].length);
  }
  assert.match((await ask(`GET /healthz HTTP/1.0\r\n${host}\r\n`)).got, /^HTTP\/1.[01] 200 [\s\S]*ok\n$/);
});

// Requests on one connection, one after the other; answers the statuses, bodies and heads.
async function talk(texts) {
  const c = raw(server);
  const answers = [];
  for (const text of texts) {
    c.got = '';
    c.socket.write(text);
    const whole = () => c.got.includes('\r\n\r\n') && bodyOf(c.got).length >= lengthOf(c.got);
    await until('an answer', () => c.ended || whole());
    answers.push({
      status: Number(/^HTTP\/1.1 (\d+)/.exec(c.got)?.[1]),
      head: c.got.split('\r\n\r\n')[0],
      body: bodyOf(c.got),
    });
  }
  c.socket.destroy();
  return answers;
}

// Texts that are refused whatever came before them on their connection, each with its status.
const malformed = () => {
  const host = `Host: ${server.address}\r\n`;
  const get = (lines, line = 'GET /healthz HTTP/1.1') => `${line}\r\n${host}${lines}\r\n`;
  const chunked = (body, version = '1.1') =>
    `POST /api/v1/solve HTTP/${version}\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;
  const length = (value) =>
    `POST /api/v1/solve HTTP/1.1\r\n${host}Content-Type: application/json\r\nContent-Length: ${value}\r\n\r\n{}`;
  return [
    [get('X: a\r\n folded\r\n'), 400],
    [get('X: a\0b\r\n'), 400],
    [get('X: a\rb\r\n'), 400],
    [get('X: a\nb\r\n'), 400],
    [get('no colon\r\n'), 400],
    [get(': no name\r\n'), 400],
    [get('X : a\r\n'), 400],
    [get('X y: a\r\n'), 400],
    [get('', 'GET  /healthz HTTP/1.1'), 400],
    [get('', 'GET\t/healthz HTTP/1.1'), 400],
    [get('', 'G(T /healthz HTTP/1.1'), 400],
    [get('', ' GET /healthz HTTP/1.1'), 400],
    [get('', 'GET /healthz'), 400],
    [get('', 'GET /healthz http/1.1'), 400],
    [get('', 'GET /healthz HTTP/1.1 '), 505],
    [get('', 'GET /healthz HTTP/2.0'), 505],
    [get('', 'GET /healthz HTTP/1.2'), 505],
    ['GET /healthz HTTP/1.1\r\n\r\n', 400],
    [get(host), 400],
    [`GET /healthz HTTP/1.1\n${host.trim()}\n\n`, 400], // at once, whatever may follow
    ['GET /healthz HTTP/1.1\n', 400],
    ['\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03', 400], // a handshake of TLS
    ['rubbish\r\n\r\n', 400],
    [get('X: 1\r\n'.repeat(64)), 431],
    [get(`X: ${'x'.repeat(40000)}\r\n`), 431],
    [`GET /${'x'.repeat(60000)}`, 431],
    [get('', `GET /healthz?${'a&'.repeat(1000)} HTTP/1.1`), 414],
    [get(`Cookie: ${'a=b;'.repeat(1000)}\r\n`), 431],
    [get('Content-Length: 1\r\nTransfer-Encoding: chunked\r\n'), 400],
    [get('Content-Length: 0\r\nContent-Length: 0\r\n'), 400],
    [get('Transfer-Encoding: gzip, chunked\r\n'), 400],
    ...['+2', '0x2', '-1', '2, 2', ' ', '2 2', '12x'].map((value) => [length(value), 400]),
    ...['18446744073709551618', '9'.repeat(40), '40000000'].map((value) => [length(value), 413]),
    ...['zz\r\n', '-2\r\n', '+2\r\n', '2 x\r\n', ';\r\n', '\r\n', '2;\u0001\r\n', '2\r\n{}X\r\n', '2\r\n{}\r\n2\n'].map(
      (body) => [chunked(body + ' '.repeat(2000)), 400],
    ),
    [chunked(`2;${'x'.repeat(2000)}`), 400],
    [chunked(`2\r\n{}\r\n0\r\nno colon\r\n\r\n`), 400],
    [chunked(`0\r\n${`X: ${'y'.repeat(500)}\r\n`.repeat(100)}`), 431],
    [chunked('7fffffff\r\n'), 413],
    [chunked('fffffffff\r\n'), 413],
    [chunked('2\r\n{}\r\n0\r\n\r\n', '1.0'), 400],
  ];
};

test('what is against HTTP/1.1 is a problem and ends its connection, a kept one like a new one', async () => {
  const fine = `GET /healthz HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`;
  const state = fine.replace('/healthz', '/api/v1/simulation');
  const task = async ([text, status], before) => {
    const { status: got, head, body } = (await talk([...before, text])).at(-1);
    const what = `after ${before.length}: ${text.slice(0, 200)}\n${head}`;
    assert.equal(got, status, what);
    assert.match(head, /Content-Type: application\/problem\+json/, what);
    assert.match(head, /X-Request-Id: [0-9a-f]{16}/, what);
    assert.match(head, /Connection: close/, what);
    assert.equal(JSON.parse(body).status, status, what);
  };
  for (const before of [[], [fine, fine], [state, state]])
    await Promise.all(malformed().map((each) => task(each, before)));
});

test('what is against HTTP/1.1 behind other requests at once is answered behind them', async () => {
  const fine = (path) => `GET ${path} HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`;
  await Promise.all(
    malformed().map(async ([text, status]) => {
      const c = raw(server, fine('/api/v1/features') + fine('/api/v1/scene') + text);
      await until('the end', () => c.ended);
      const statuses = [...c.got.matchAll(/HTTP\/1.1 (\d+) /g)].map((m) => Number(m[1]));
      assert.deepEqual(statuses, [200, 200, status], text.slice(0, 200));
      assert.match(c.got, /application\/problem\+json[^]*"status":\d+[^]*\}$/);
      assert.doesNotMatch(c.got, /<html/i);
    }),
  );
});

test('requests one behind the other, chunks with extensions and trailers are what they are', async (t) => {
  const host = `Host: ${server.address}\r\n`;
  const problem = '{"constraints":[]}';
  const solve = (body) =>
    `POST /api/v1/solve HTTP/1.1\r\n${host}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${body}`;
  const pieces = `5;a=b;c="d e"\r\n${problem.slice(0, 5)}\r\n${(problem.length - 5).toString(16).toUpperCase()} ;x\r\n${problem.slice(5)}\r\n`;
  const all =
    `GET /healthz HTTP/1.1\r\n${host}\r\n\r\n` + // and an empty line
    solve(`${pieces}0\r\n\r\n`) +
    solve(`${pieces}0;x\r\nContent-Length: 5\r\nX: y\r\n\r\n`) +
    `GET /api/v1/simulation HTTP/1.1\r\n${host}\r\n` +
    `HEAD /api/v1/scene HTTP/1.1\r\n${host}\r\n` +
    `GET /api/v1/features HTTP/1.1\r\n${host}\r\n` +
    `GET /healthz HTTP/1.1\r\n${host}Connection: close\r\n\r\n`;
  for (const size of [all.length, 1, 7]) {
    const c = raw(server);
    t.after(() => c.socket.destroy());
    c.socket.setNoDelay(true);
    for (let at = 0; at < all.length; at += size) {
      c.socket.write(all.slice(at, at + size));
      await new Promise((done) => setImmediate(done));
    }
    await until('seven answers', () => /Connection: close[^]*ok\n$/i.test(c.got));
    assert.equal(c.got.match(/HTTP\/1\.1 200 OK/g).length, 7, c.got);
    assert.equal(c.got.match(/"status":"solved"/g).length, 2);
  }
});

test('an address may be absolute, and escaped where it need not be; it names one server', async () => {
  const get = (target) => `GET ${target} HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`;
  const port = server.address.split(':')[1];
  for (const [target, status] of [
    [`http://${server.address}/healthz`, 200],
    [`HTTP://${server.address}/api/v1/objects?limit=1`, 200],
    [`http://${server.address}`, 200],
    ['/api/v1/%6fbjects', 200],
    ['/api/v1/%6Fbjects/cone', 200],
    ['/api/v1/objects%2Fcone', 404],
    ['/api/v1/objects/%zz', 404],
    ['/api/v1/', 200],
    [`http://evil.example:${port}/healthz`, 421],
    [`http://${server.address}.evil.example/healthz`, 421],
    [`http://user@${server.address}/healthz`, 421],
    [`https://${server.address}/healthz`, 404],
  ]) {
    const [answer] = await talk([get(target)]);
    assert.equal(answer.status, status, `${target}\n${answer.head}`);
  }
});

test('who waits for 100 Continue gets it, and a body that is too large is refused before it is sent', async (t) => {
  const head = (length) =>
    `POST /api/v1/solve HTTP/1.1\r\nHost: ${server.address}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nExpect: 100-continue\r\n\r\n`;
  const c = raw(server, head(18));
  t.after(() => c.socket.destroy());
  await until('100', () => c.got === 'HTTP/1.1 100 Continue\r\n\r\n');
  c.socket.write('{"constraints":[]}');
  await until('the answer', () => c.got.includes('"solved"'));
  assert.equal((await talk([head(40e6)]))[0].status, 413);
});

test('an answer comes whole to who reads it slowly, and to who has said all before it', async (t) => {
  const whole = JSON.stringify((await request(server, 'GET', '/api/v1/openapi.json')).json);
  for (const delay of [0, 20]) {
    const slow = connect(server, { allowHalfOpen: true });
    t.after(() => slow.destroy());
    let got = '',
      ended = false;
    slow.on('end', () => (ended = true));
    slow.on('data', (data) => {
      got += data.toString('utf8');
      slow.pause();
      setTimeout(() => slow.resume(), delay);
    });
    slow.end(`GET /api/v1/openapi.json HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
    await until('the end', () => ended);
    assert.equal(JSON.stringify(JSON.parse(got.slice(got.indexOf('\r\n\r\n') + 4))), whole);
  }
});

test('bodies take a bounded part of the memory together; who is refused reads why', async (t) => {
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) / 1024;
  const before = resident();
  const sockets = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  let refused = 0;
  // all but the last byte of 96 megabytes, then that byte
  for (let i = 0; i < 96; i++) {
    const socket = connect(server);
    sockets.push(socket);
    socket.on('data', (data) => (refused += /^HTTP\/1.1 503 [^]*problem\+json/.test(data.toString())));
    const all = Buffer.alloc(1048575, 32);
    const head = `POST /api/v1/solve HTTP/1.1\r\nHost: ${server.address}\r\nContent-Type: application/json\r\n`;
    socket.write(`${head}Content-Length: 1048576\r\n\r\n`);
    await new Promise((done) => socket.write(all, done));
  }
  if (!sanitized) assert.ok(resident() < before + 60, `${before} MB, then ${resident()}`);
  const halted = performance.now();
  assert.equal((await request(server, 'POST', '/api/v1/simulation/halt')).status, 200);
  assert.ok(performance.now() - halted < 1000);
  await request(server, 'POST', '/api/v1/simulation/arm');
  sockets.slice(40).forEach((socket) => socket.write(' '));
  await until('refusals', () => refused >= 50, 20000);
  sockets.forEach((socket) => socket.destroy());
  const large = ' '.repeat(200000);
  await until('room again', async () => {
    const { status } = await request(server, 'POST', '/api/v1/solve', `{"constraints":[]${large}}`);
    return status === 200;
  });
});

test('who asks for the state again and again is held to the same rules as everybody', async () => {
  const ask = (lines = '', path = '/api/v1/simulation', method = 'GET') =>
    `${method} ${path} HTTP/1.1\r\nHost: ${server.address}\r\n${lines}\r\n`;
  const [first, again, named, renamed, scene, after] = await talk([
    ask(),
    ask(),
    ask('X-Request-Id: mine\r\n'),
    ask('X-Request-Id: other\r\n'),
    ask('', '/api/v1/scene'),
    ask(),
  ]);
  for (const each of [first, again, named, renamed, scene, after]) assert.equal(each.status, 200, each.head);
  for (const each of [first, again, after]) {
    assert.equal(JSON.parse(each.body).state, 'stopped');
    for (const field of ['Date', 'X-Request-Id', 'X-Content-Type-Options', 'X-Frame-Options', 'Cache-Control'])
      assert.match(each.head, new RegExp(`\r\n${field}: .`));
  }
  assert.notEqual(/X-Request-Id: (.*)/.exec(first.head)[1], /X-Request-Id: (.*)/.exec(again.head)[1]);
  assert.match(named.head, /X-Request-Id: mine/);
  assert.match(renamed.head, /X-Request-Id: other/);
  assert.equal(JSON.parse(scene.body).format, 'guideway-scene/1');
  const refused = [
    [ask().replace(server.address, 'evil.example'), 421],
    [ask('Origin: http://evil.example\r\n'), 403],
    [ask(`Host: ${server.address}\r\n`), 400],
    [ask('', '/api/v1/simulation?x=1'), 400],
    [ask('', '/api/v1/simulation/'), 404],
    [ask('', '/api/v1/simulation', 'DELETE'), 405],
    [ask('Content-Length : 0\r\n'), 400],
  ];
  for (const [text, status] of refused) assert.equal((await talk([ask(), ask(), text]))[2].status, status, text);
  const c = raw(server, ask());
  await until('an answer', () => c.got.includes('}'));
  c.got = '';
  c.socket.write(ask().slice(0, 30));
  await new Promise((done) => setTimeout(done, 100));
  c.socket.write(ask().slice(30));
  await until('the answer to pieces', () => /200 OK[^]*"state"/.test(c.got));
  c.socket.write(ask() + ask('', '/healthz'));
  await until('both answers', () => c.got.endsWith('ok\n'));
  c.socket.destroy();
});

test('a first head that comes in pieces is refused as a problem, too', async () => {
  const c = raw(server);
  for (const piece of ['GET /api/v1/scene HT', `TP/1.1\r\nHost: ${server.address}\r\nno co`, 'lon\r\n\r\n']) {
    c.socket.write(piece);
    await new Promise((done) => setTimeout(done, 30));
  }
  await until('an answer', () => c.got.includes('}'));
  assert.match(c.got, /^HTTP\/1.1 400 [^]*application\/problem\+json/);
  c.socket.destroy();
});

// ---- frames, byte by byte ---------------------------------------------------------------------------

// A frame of a client: `first` is its first byte, FIN and RSV bits with the opcode.
function frame(first, payload, { masked = true, length } = {}) {
  const data = Buffer.from(payload);
  const size = length ?? (data.length < 126 ? 0 : data.length < 65536 ? 2 : 8);
  const head = Buffer.alloc(2 + size);
  head[0] = first;
  head[1] = (masked ? 0x80 : 0) | (size === 0 ? data.length : size === 2 ? 126 : 127);
  if (size === 2) head.writeUInt16BE(data.length, 2);
  if (size === 8) head.writeBigUInt64BE(BigInt(data.length), 2);
  const mask = Buffer.from([0x12, 0x9a, 0, 0xff]);
  return Buffer.concat([head, masked ? mask : Buffer.alloc(0), masked ? data.map((b, i) => b ^ mask[i % 4]) : data]);
}

const TEXT = 0x81,
  BINARY = 0x82,
  CLOSE = 0x88,
  PING = 0x89,
  PONG = 0x8a,
  MORE = 0x80;

// A stream without a library: answers the server's frames as they come.
async function bare() {
  const socket = connect(server);
  const live = { socket, frames: [], ended: false };
  let got = Buffer.alloc(0),
    open = false;
  socket.on('close', () => (live.ended = true));
  socket.on('data', (data) => {
    got = Buffer.concat([got, data]);
    if (!open) {
      const end = got.indexOf('\r\n\r\n');
      if (end < 0) return;
      live.head = got.toString('latin1', 0, end);
      got = got.subarray(end + 4);
      open = true;
    }
    for (;;) {
      if (got.length < 2) return;
      const short = got[1] & 127,
        more = short === 126 ? 2 : short === 127 ? 8 : 0;
      if (got.length < 2 + more) return;
      const size = more === 2 ? got.readUInt16BE(2) : more === 8 ? Number(got.readBigUInt64BE(2)) : short;
      if (got.length < 2 + more + size) return;
      live.frames.push({ first: got[0], masked: got[1] > 127, data: got.subarray(2 + more, 2 + more + size) });
      got = got.subarray(2 + more + size);
    }
  });
  socket.write(handshake({ 'Sec-WebSocket-Protocol': 'chat, guideway.v1' }));
  live.find = (test, what) => until(what, () => live.frames.find(test));
  await live.find((f) => f.first === TEXT, 'hello');
  return live;
}

// The code that the server closes with.
async function closedWith(live) {
  const close = await live.find((f) => f.first === CLOSE, 'a close');
  return close.data.length >= 2 ? close.data.readUInt16BE(0) : 0;
}

test('a handshake is answered as RFC 6455 has it, and frames of the server are not masked', async () => {
  const live = await bare();
  assert.match(live.head, /^HTTP\/1.1 101 .*\r\n/);
  assert.match(live.head, /Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
  assert.match(live.head, /Sec-WebSocket-Protocol: guideway.v1/);
  assert.ok(live.frames.every((f) => !f.masked));
  live.socket.destroy();
});

test('a frame that is not masked, or breaks another rule, ends its connection with 1002', async () => {
  const wrong = [
    [frame(TEXT, '{"op":"halt"}', { masked: false })],
    [frame(TEXT, '{"op":"clutch"}'), frame(TEXT, '{"op":"halt"}', { masked: false })], // a later one
    [frame(PING, '', { masked: false })],
    [frame(0xc1, '{}')],
    [frame(0xa1, '{}')],
    [frame(0x91, '{}')], // RSV
    [frame(0x83, '')],
    [frame(0x87, '')],
    [frame(0x8b, '')],
    [frame(0x8f, '')], // no opcodes
    [frame(0x09, 'half a ping')],
    [frame(PING, Buffer.alloc(126))],
    [frame(TEXT, 'abc', { length: 2 })],
    [frame(TEXT, 'abc', { length: 8 })],
    [frame(BINARY, Buffer.alloc(300), { length: 8 })],
    [frame(MORE, 'the rest of nothing')],
    [frame(0x01, '{"op"'), frame(TEXT, '{}')],
    [frame(0x01, '{'), frame(MORE, '}'), frame(MORE, '')],
    [frame(CLOSE, 'x')],
    [frame(CLOSE, [0x03, 0xed])],
    [frame(CLOSE, [0x03, 0xe7])],
    [frame(CLOSE, [0x13, 0x88])],
  ];
  await Promise.all(
    wrong.map(async (frames) => {
      const live = await bare();
      for (const each of frames) live.socket.write(each);
      assert.equal(await closedWith(live), 1002, frames.map((f) => f.toString('hex')).join(' '));
      live.socket.write(frame(CLOSE, [0x03, 0xea]));
      await until('the end', () => live.ended);
    }),
  );
  assert.equal((await request(server, 'GET', '/api/v1/simulation')).json.halted, false, 'no frame was obeyed');
});

test('texts in pieces, pings between them and closes are what they are', async () => {
  const live = await bare();
  const error = (id) =>
    live.find(
      (f) => f.first === TEXT && f.data.includes(`"${id}"`) && f.data.includes('"error"'),
      `an error for ${id}`,
    );
  const text = Buffer.from('{"op":"nonsense","id":"\u00e9\u{1f600}a"}');
  const cut = text.indexOf('\u{1f600}') + 2; // within a character
  const pieces = Buffer.concat([
    frame(0x01, text.subarray(0, cut)),
    frame(PING, 'between'),
    frame(0x00, ''),
    frame(MORE, text.subarray(cut)),
  ]);
  for (const byte of pieces) {
    live.socket.write(Buffer.from([byte]));
    await new Promise((done) => setImmediate(done));
  }
  await error('\u00e9\u{1f600}a');
  await live.find((f) => f.first === PONG && f.data.toString() === 'between', 'the pong');
  live.socket.write(
    Buffer.concat([
      frame(PONG, 'unasked'),
      frame(BINARY, '{"op":"nonsense","id":"b"}'),
      frame(TEXT, `{"op":"nonsense","id":"c"}${' '.repeat(60000)}`),
    ]),
  );
  await error('b');
  await error('c');
  live.socket.write(frame(CLOSE, Buffer.concat([Buffer.from([0x0f, 0xa0]), Buffer.from('bye')])));
  assert.equal(await closedWith(live), 4000);
  await until('the end', () => live.ended);
  for (const [bytes, code] of [
    [frame(TEXT, Buffer.alloc(70000, 32)), 1009],
    [frame(0x01, [0xf0, 0x9f]), 0],
    [frame(CLOSE, [0x03, 0xe8, 0xff]), 1007],
    [frame(0x01, [0xc0]), 1007],
  ]) {
    const other = await bare();
    other.socket.write(bytes);
    if (code === 0) other.socket.write(frame(MORE, ''));
    assert.equal(await closedWith(other), code || 1007, bytes.subarray(0, 9).toString('hex'));
    other.socket.destroy();
  }
});
