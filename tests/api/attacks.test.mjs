// What must not reach either library: another protocol over the stream's address, heads that two
// readers read differently, senders that are named twice.
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { request, start, stream, until } from './server.mjs';

let server;
before(async () => {
  server = await start();
});
after(() => server?.stop());

// What a bare connection gets for a text, to its end; an answer that leaves it open is cut after the head.
async function ask(text) {
  const socket = net.connect({ host: '127.0.0.1', port: Number(server.address.split(':').at(-1)) });
  let got = '',
    ended = false;
  socket.on('data', (data) => (got += data.toString('latin1')));
  socket.on('error', () => {});
  socket.on('close', () => (ended = true));
  socket.write(text);
  await until('an answer', () => ended || got.includes('\r\n\r\n'));
  const status = Number(/^HTTP\/1.1 (\d+)/.exec(got)?.[1]);
  const length = Number(/content-length: (\d+)/i.exec(got)?.[1] ?? 0);
  if (status !== 101) await until('its body', () => ended || got.length >= got.indexOf('\r\n\r\n') + 4 + length);
  socket.destroy();
  return { status, got, body: got.slice(got.indexOf('\r\n\r\n') + 4), length };
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
    [handshake({}, `Host: ${server.address}\r\n`), 421],
    [handshake({ Origin: 'http://evil.example' }), 403],
    [handshake({ Origin: `http://${server.address}` }, 'Origin: http://evil.example\r\n'), 400],
    [handshake({}, 'Content-Length: 5\r\n'), 400],
    [handshake({}, 'Upgrade : h2c\r\n'), 400],
    [handshake().replace('HTTP/1.1', 'HTTP/2.0'), 400],
    [handshake({}, `X: ${'x'.repeat(9000)}\r\n`), 400],
  ];
  for (const [text, status] of cases) {
    const refused = await ask(text);
    assert.equal(refused.status, status, text.slice(0, 400));
    assert.equal(refused.body.length, refused.length, 'its length is right');
    assert.equal(JSON.parse(refused.body).status, status);
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
  assert.equal(
    (await request(server, 'POST', '/api/v1/simulation/halt', '{}', { 'content-type': 'text/plain' })).status,
    415,
  );
  assert.equal((await request(server, 'POST', '/api/v1/simulation/halt', '{"x":1}')).status, 400);
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

test('what libmicrohttpd would refuse in its own words is a problem like any other', async () => {
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
