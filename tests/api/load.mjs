// Load for a server, from a process of its own: node load.mjs ADDRESS KIND. It goes on until it is
// ended, and reads answers without looking at them.
import net from 'node:net';

const [address, kind] = process.argv.slice(2);
const [host, port] = address.split(/:(?=\d+$)/);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const connect = () => {
  const socket = net.connect({ host, port: Number(port) });
  socket.on('error', () => {});
  return socket;
};
const text = (method, path, body) => {
  const data = body ? JSON.stringify(body) : '';
  return `${method} /api/v1${path} HTTP/1.1\r\nHost: ${address}\r\n${body ? 'Content-Type: application/json\r\n' : ''}Content-Length: ${data.length}\r\n\r\n${data}`;
};

// Asks the same again and again on one connection: when an answer is there, as its length says, or
// its last chunk.
function again(next) {
  const socket = connect();
  let left = -1,
    head = '',
    tail = '';
  const ask = () => {
    left = -1;
    head = '';
    tail = '';
    socket.write(next());
  };
  socket.on('connect', ask);
  socket.on('close', () => setTimeout(() => again(next), 20));
  socket.on('data', (data) => {
    if (left < 0) {
      head += data.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = /content-length: (\d+)/i.exec(head.slice(0, end + 2))?.[1];
      left = length === undefined ? Infinity : Number(length) - (head.length - end - 4);
    } else left -= data.length;
    if (left === Infinity) {
      tail = (tail + data.toString('latin1')).slice(-7);
      if (tail === '\r\n0\r\n\r\n') left = 0;
    }
    if (left <= 0) ask();
  });
}

// A text as one frame of a client, masked by zeros.
const frame = (order) => {
  const data = Buffer.from(JSON.stringify(order));
  return Buffer.concat([Buffer.from([0x81, 0x80 | data.length, 0, 0, 0, 0]), data]);
};
const orders = Buffer.concat(
  [
    { op: 'push', tool: 0, force: [1, 0, 0], torque: [0, 0, 0] },
    { op: 'drag', tool: 0, point: [0, 0, 0], target: [0.1, 0, 0.2] },
    { op: 'release', tool: 0 },
  ].map(frame),
);

// Commands on a stream, as fast as they go; what comes back is read.
function pushes() {
  const socket = connect();
  socket.on('close', () => setTimeout(pushes, 50));
  socket.on('connect', () =>
    socket.write(
      `GET /ws HTTP/1.1\r\nHost: ${address}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: guideway.v1\r\n\r\n`,
    ),
  );
  socket.once('data', () => {
    const flood = setInterval(() => socket.writableLength < 65536 && socket.write(orders), 1);
    socket.on('close', () => clearInterval(flood));
    socket.resume();
  });
}

const scenes = ['sphere', 'cone-on-cylinder', 'paper-plane'];
let turn = 0;
const kinds = {
  readers: () => {
    for (let i = 0; i < 24; i++) again(() => text('GET', '/features'));
  },
  idle: async () => {
    for (; ; await sleep(1000))
      for (let i = 0; i < 256; i++) {
        connect();
        connect().write(`GET /healthz HTTP/1.1\r\nHost: ${address}\r\n\r\n`);
      }
  },
  loads: () => {
    for (let i = 0; i < 3; i++) again(() => text('POST', '/scene/open', { scene: scenes[turn++ % 3] }));
  },
  edits: () => {
    for (let i = 0; i < 16; i++) again(() => text('PATCH', '/tool', { limits: { force: 10 + (turn++ % 5) } }));
  },
  commands: () => {
    for (let i = 0; i < 8; i++) {
      pushes();
      again(() => text('PUT', '/simulation', { state: turn++ % 2 ? 'running' : 'paused' }));
    }
  },
  steps: () => {
    for (let i = 0; i < 4; i++) again(() => text('POST', '/simulation/step', { ticks: 100000 }));
  },
  none: () => setInterval(() => {}, 1000),
  arms: () => {
    for (let i = 0; i < 4; i++) again(() => text('POST', '/simulation/arm'));
  },
};
kinds[kind]();
