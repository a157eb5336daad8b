// Load on a server from a separate process: node crowd.mjs ADDRESS REST STREAMS. REST kept connections request the
// state in a loop, STREAMS streams take poses at 60 Hz; a line each second counts the answers and frames.
import net from 'node:net';
import { stream } from '../api/server.mjs';

const [address, rest, streams] = process.argv.slice(2);
const [host, port] = address.split(/:(?=\d+$)/);
const ask = `GET /api/v1/simulation HTTP/1.1\r\nHost: ${address}\r\n\r\n`;
let answers = 0,
  frames = 0;

for (let i = 0; i < Number(rest); i++) {
  const socket = net.connect({ host, port: Number(port), noDelay: true });
  let left = 0;
  socket.on('connect', () => socket.write(ask));
  socket.on('error', (e) => console.error(e.message));
  socket.on('data', (data) => {
    if (left === 0)
      left =
        data.indexOf('\r\n\r\n') + 4 + Number.parseInt(/Content-Length: (\d+)/.exec(data.toString('latin1'))[1], 10);
    left -= data.length;
    if (left > 0) return;
    answers++;
    socket.write(ask);
  });
}
for (let i = 0; i < Number(streams); i++) {
  const live = stream({ address });
  live.socket.on('message', (_, binary) => (frames += binary));
  live.opened.then(() => live.send({ op: 'subscribe', stream: 'poses', hz: 60 }));
}
setInterval(() => {
  console.log(`${answers} answers, ${frames} frames a second`);
  answers = frames = 0;
}, 1000);
