// The state over REST, asked for by hundreds of connections at once: every one is answered, again and again.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client, connect, sanitized, sleep, start } from './server.mjs';

const CONNECTIONS = 256;
const LONGEST = sanitized ? 5000 : 1500; // ms without an answer, on a machine that is busy with other things

let server, expect;
before(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  ({ expect } = await client(server));
});
after(() => server?.stop());

// Asks for the state again whenever it is there, as its length says; how often it was, and the longest wait.
function asker() {
  const ask = `GET /api/v1/simulation HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`;
  const socket = connect(server);
  const seen = { socket, answers: 0, longest: 0, refused: '' };
  let left = 0,
    begun = performance.now();
  socket.on('connect', () => {
    begun = performance.now();
    socket.write(ask);
  });
  socket.on('data', (data) => {
    if (left === 0) {
      const text = data.toString('latin1');
      if (!text.startsWith('HTTP/1.1 200')) seen.refused = text;
      left = text.indexOf('\r\n\r\n') + 4 + Number(/Content-Length: (\d+)/.exec(text)[1]);
    }
    left -= data.length;
    if (left > 0) return;
    seen.answers++;
    seen.longest = Math.max(seen.longest, performance.now() - begun);
    begun = performance.now();
    socket.write(ask);
  });
  seen.waits = () => performance.now() - begun;
  return seen;
}

test('256 connections read the state without a stall, and others are served', { timeout: 60000 }, async () => {
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const all = Array.from({ length: CONNECTIONS }, asker);
  await sleep(1000);
  let slowest = 0;
  for (let i = 0; i < 20; i++) {
    const begun = performance.now();
    await expect(200, 'GET', '/objects');
    slowest = Math.max(slowest, performance.now() - begun);
    await sleep(100);
  }
  const longest = Math.max(...all.map((a) => Math.max(a.longest, a.waits())));
  const counts = all.map((a) => a.answers).sort((a, b) => a - b);
  for (const a of all) a.socket.destroy();
  assert.equal(all.find((a) => a.refused)?.refused, undefined);
  console.log(`# ${counts[0]} to ${counts.at(-1)} answers each, the longest wait ${longest.toFixed(0)} ms`);
  assert.ok(longest < LONGEST, `one waited ${longest} ms`);
  assert.ok(slowest < LONGEST, `another request took ${slowest} ms`);
  assert.ok(counts[0] >= 10 && counts[0] > counts[CONNECTIONS / 2] / 4, `the least ${counts[0]} answers`);
});
