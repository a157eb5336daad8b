// A halt is answered and in effect under any other load, on a connection of its own
// and on one that is kept.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import { after, before as beforeAll, test } from 'node:test';
import { client, request, sanitized, sleep, start, until } from './server.mjs';

const HALTS = Number(process.env.GUIDEWAY_HALTS ?? 100);
const SLOWEST = sanitized ? 2000 : 250; // ms, on a machine that is busy with other things
const script = new URL('load.mjs', import.meta.url).pathname;

// Of the process, in MB: what it takes now and the most that it ever took.
const memory = () =>
  Object.fromEntries(
    ['VmRSS', 'VmHWM'].map((name) => [
      name,
      Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) / 1024,
    ]),
  );

// The client stands for one on another machine: nothing on this one comes before it.
function setNiceness(pid, niceness) {
  try {
    os.setPriority(pid, niceness);
  } catch {
    // not permitted here
  }
}

let server, expect, before;
beforeAll(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  setNiceness(process.pid, -15);
  ({ expect } = await client(server));
  before = memory();
});
after(() => server?.stop());

const boxes = {
  format: 'guideway-scene/1',
  name: 'boxes',
  objects: [
    { id: 'cone', geometry: { type: 'cone', radius: 0.04, height: 0.1 }, body: { mass: 2 } },
    ...Array.from({ length: Number(process.env.GUIDEWAY_BOXES ?? 600) }, (_, i) => ({
      id: `b${i}`,
      fixed: true,
      geometry: { type: 'box', size: [0.01, 0.01, 0.01] },
      pose: { p: [i / 10, 1, 0] },
    })),
  ],
  tool: { object: 'cone', device: 'sim' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

// Milliseconds that a halt took on a connection of its own, or on the agent's.
function halt(agent) {
  const [host, port] = server.address.split(':');
  const began = performance.now();
  return new Promise((done, failed) => {
    const sent = http.request(
      { host, port, method: 'POST', path: '/api/v1/simulation/halt', agent: agent ?? new http.Agent() },
      (reply) => {
        let text = '';
        reply.on('data', (part) => (text += part));
        reply.on('end', () => done({ ms: performance.now() - began, status: reply.statusCode, text }));
      },
    );
    sent.on('error', failed);
    sent.end();
  });
}

async function halts(kind, prepare) {
  const load = spawn(process.execPath, [script, server.address, kind], { stdio: ['ignore', 'ignore', 'inherit'] });
  setNiceness(load.pid, 0);
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 }),
    took = { new: [], kept: [] };
  try {
    await sleep(500);
    for (let i = 0; i < HALTS; i++) {
      const kept = i % 2 === 1;
      if (i % 10 === 0) await prepare?.();
      // a connection that was used for something else before is one of HTTP's
      if (kept)
        await new Promise((done) =>
          http
            .get({ host: '127.0.0.1', port: server.address.split(':')[1], path: '/healthz', agent }, (r) =>
              r.resume().on('end', done),
            )
            .on('error', done),
        );
      const answered = await halt(kept ? agent : undefined);
      assert.equal(answered.status, 200, answered.text);
      const told = JSON.parse(answered.text);
      assert.ok(told.halted && told.state !== 'running', answered.text);
      took[kept ? 'kept' : 'new'].push(answered.ms);
      await sleep(2);
    }
  } finally {
    load.kill('SIGKILL');
    agent.destroy();
  }
  for (const [name, list] of Object.entries(took)) {
    list.sort((a, b) => a - b);
    const at = (share) => list[Math.min(list.length - 1, Math.floor(share * list.length))].toFixed(1);
    console.log(
      `# ${kind}, ${name} connections: ${list.length} halts, p50 ${at(0.5)} ms, p99 ${at(0.99)}, p99.9 ${at(0.999)}, max ${at(1)}`,
    );
    assert.ok(list.at(-1) < SLOWEST, `the slowest halt took ${list.at(-1)} ms`);
  }
}

const runs = async () => {
  await request(server, 'POST', '/api/v1/simulation/arm');
  await request(server, 'PUT', '/api/v1/simulation', { state: 'running' });
};

test('nothing else', { timeout: 60000 }, () => halts('none', runs));
test('readers of all features of many boxes', { timeout: 60000 }, async () => {
  await expect(200, 'PUT', '/scene', boxes);
  await halts('readers');
});
test('512 idle connections, and as many that say nothing, again and again', { timeout: 60000 }, () => halts('idle'));
test('loads of scenes', { timeout: 60000 }, () => halts('loads'));
test('edits by sixteen clients', { timeout: 60000 }, async () => {
  await request(server, 'POST', '/api/v1/scene/open', { scene: 'cone-on-cylinder' });
  await halts('edits');
});
test('commands by streams and over REST, as fast as they go', { timeout: 60000 }, () => halts('commands', runs));
test('steps of 100000 ticks', { timeout: 60000 }, async () => {
  await request(server, 'POST', '/api/v1/simulation/arm');
  await expect(200, 'PUT', '/simulation', { state: 'paused' });
  await halts('steps', () => request(server, 'POST', '/api/v1/simulation/arm'));
});
test('clients that arm in a loop', { timeout: 60000 }, () => halts('arms'));
test('afterwards it is well', { timeout: 60000 }, async () => {
  await until('it to run again', async () => {
    await runs();
    return (await expect(200, 'GET', '/simulation')).json.state === 'running';
  });
});

test('and all of that took little memory, and gave it back', { skip: sanitized }, async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'cone-on-cylinder' });
  const { VmRSS, VmHWM } = memory();
  console.log(`# ${VmRSS.toFixed(0)} MB, at most ${VmHWM.toFixed(0)} MB`);
  assert.ok(VmHWM < 100, `${VmHWM} MB`);
  assert.ok(VmRSS < before.VmRSS + 30, `${VmRSS} MB, at first ${before.VmRSS}`);
});
