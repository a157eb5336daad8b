// Allocations that fail once, at every place in turn: an answer that is right or an error that says
// so, no crash, nothing half changed.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { client, guideway, request, root, sanitized, start, stream, until } from './server.mjs';

// Sanitizers bring their own malloc: a preloaded one does not go with them.
const options = { skip: sanitized && 'sanitizers have their own malloc', timeout: 600000 };
// Set: every call fails in its turn, however long that takes; else the first one from each place, or, of each edit, as
// many as EDIT_TIME allows.
const EVERY = Boolean(process.env.GUIDEWAY_MEMORY_EVERY);
const EDIT_TIME = 5000; // ms
const folder = mkdtempSync(join(tmpdir(), 'guideway-memory-'));
const library = join(folder, 'fault.so');
after(() => rmSync(folder, { recursive: true, force: true }));
if (!sanitized) execFileSync('gcc', ['-shared', '-fPIC', '-O2', '-o', library, join(root, 'tests/api/alloc_fault.c')]);

function page(name) {
  const path = join(folder, name);
  writeFileSync(path, Buffer.alloc(1 << 15));
  const word = (at, value) => {
    const fd = openSync(path, 'r+'),
      bytes = Buffer.alloc(4);
    if (value !== undefined) {
      bytes.writeInt32LE(value);
      writeSync(fd, bytes, 0, 4, at);
    }
    readSync(fd, bytes, 0, 4, at);
    closeSync(fd);
    return bytes.readInt32LE(0);
  };
  return {
    env: { LD_PRELOAD: library, GUIDEWAY_FAULT: path },
    arm: (n) => word(0, n),
    armed: () => word(0),
    counted: () => word(4),
    failed: () => word(8),
    // How to make a call fail: each in its turn, or the first one from each place.
    ways: () => {
      if (EVERY) return Array.from({ length: word(4) }, (_, i) => `at ${i + 1}`);
      const bytes = readFileSync(path),
        places = Array.from({ length: 4096 }, (_, i) => bytes.readUInt32LE(12 + 4 * i));
      return places.filter(Boolean).map((place) => `site ${place}`);
    },
  };
}

function command(args, env) {
  return new Promise((done) => {
    const child = spawn(guideway, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '',
      err = '';
    child.stdout.on('data', (text) => (out += text));
    child.stderr.on('data', (text) => (err += text));
    child.on('close', (code, signal) => done({ code, signal, out, err }));
  });
}

// Runs the command once for each way in which a call fails, each time in a process of its own that begins where the
// libraries are loaded: take(way, heard) answers how it ended. `heard` is given what it has written, and its id.
function inTurns(args) {
  const env = { ...process.env, LD_PRELOAD: library, GUIDEWAY_FAIL_TURNS: '1' };
  const child = spawn(guideway, args, { env, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] });
  const all = ['', '', '']; // output, error output, what is told of turns
  let told;
  const gone = new Promise((_, failed) => {
    child.on('exit', (code, signal) => failed(new Error(`turns ended: ${code} ${signal} ${all}`)));
  });
  gone.catch(() => {});
  for (const i of all.keys())
    child.stdio[i + 1].setEncoding('utf8').on('data', (text) => {
      all[i] += text;
      told?.();
    });
  const turn = (heard) =>
    new Promise((done) => {
      told = () => {
        const [out, err, [pid, status]] = [...all.slice(0, 2), all[2].split(/\n/).slice(0, -1).map(Number)];
        if (pid && status === undefined) heard?.(out, pid);
        if (status !== undefined && out.endsWith('\0') && err.endsWith('\0'))
          done({
            code: status & 127 ? null : status >> 8,
            signal: status & 127,
            out: out.slice(0, -1),
            err: err.slice(0, -1),
          });
      };
    });
  return {
    args,
    take: (way, heard) => {
      all.fill('');
      const ended = turn(heard);
      child.stdin.write(`${way}\n`);
      return Promise.race([ended, gone]);
    },
    end: () => child.stdin.end(),
  };
}

// Takes all ways, some at a time; `use` is called with each and with the turns of its worker.
async function takeAll(ways, workers, use) {
  const left = [...ways];
  const worker = async (args) => {
    const turns = inTurns(args);
    for (let way; (way = left.shift()); ) await use(way, turns);
    turns.end();
  };
  await Promise.all(workers.map(worker));
}

// Every n up to `dense`, then ever sparser ones up to all of them.
function spread(all, dense) {
  const chosen = [];
  for (let n = 1; n <= all; n += n < dense ? 1 : Math.max(1, Math.ceil(n / 60))) chosen.push(n);
  return chosen;
}

// Runs the command with each of its memory calls failing, a few at a time.
async function sweep(args, plain) {
  const counter = page('count'),
    { code, out: first, err } = await command(args, counter.env);
  assert.equal(code, 0, err);
  const right = plain(first),
    all = counter.ways(),
    wrong = [];
  let made = 0,
    refused = 0;
  await takeAll(all, [args, args, args], async (way, turns) => {
    const { code, signal, out, err } = await turns.take(way);
    const fine = code === 0 ? out !== '' && plain(out) === right : code === 1 && out === '' && /^guideway: ./.test(err);
    made++;
    refused += code === 1;
    if (!fine) wrong.push({ way, code, signal, out: out.slice(0, 200), err: err.slice(0, 200) });
  });
  console.log(
    `# ${args.slice(0, 2).join(' ')}: ${counter.counted()} memory calls, ${made} of ${all.length} tried, ${refused} refused`,
  );
  assert.deepEqual(wrong, []);
  assert.ok(made > 20, `${made} runs`);
  assert.ok(refused > made / 2, `${refused} of ${made} were refused`);
}

test('solve with one memory call failing: right, or exit 1 with a message', options, async () => {
  const file = join(folder, 'problem.json');
  writeFileSync(
    file,
    JSON.stringify({
      mobile: { pose: { p: [0, 0, 0], q: [1, 0, 0, 0] }, length: 1 },
      constraints: [
        {
          id: 'c1',
          type: 'coincident',
          mobile: { point: [0, 5, 3] },
          fixed: { line: { point: [0, 0, 3], direction: [0, 1, 0] } },
        },
        { id: 'c2', type: 'coincident', mobile: { point: [0, 7, 3] }, fixed: { point: [-2, 0, 3] } },
      ],
      samples: 2,
      seed: 1,
    }),
  );
  const plain = (out) => out.replace(/"time_us":[^,}]*/, '');
  await sweep(['solve', file], plain);
});

test('run with one memory call failing: right, or exit 1 with a message', options, async () => {
  const args = ['run', 'paper-circle', '--seconds', '0.02'];
  const plain = (out) => out.replace(/"wall_s":[^,}]*|"tick_us":\{[^}]*\}|"overruns":[^,}]*/g, '');
  await sweep(args, plain);
});

test('a run of a mechanism among bodies with one memory call failing: right, or exit 1', options, async () => {
  const file = join(folder, 'arm.json');
  writeFileSync(
    file,
    JSON.stringify({
      format: 'guideway-scene/1',
      gravity: [0, 0, -9.81],
      contact: { ignore: [['arm.0', 'floor']] },
      materials: [{ id: 'steel' }],
      mechanisms: [arm],
      objects: [
        { id: 'floor', fixed: true, geometry: { type: 'box', size: [1, 1, 0.1] } },
        {
          id: 'ball',
          free: true,
          material: 'steel',
          geometry: { type: 'sphere', radius: 0.1 },
          pose: { p: [0, 0, 0.151] },
        },
      ],
      tool: { mechanism: 'arm', link: 0, device: 'hand', control: 'penalty' },
      devices: [{ id: 'hand', driver: 'sim-impedance' }],
    }),
  );
  const args = ['run', file, '--seconds', '0.02'];
  const plain = (out) => out.replace(/"wall_s":[^,}]*|"tick_us":\{[^}]*\}|"overruns":[^,}]*/g, '');
  await sweep(args, plain);
});

test('a task run with one memory call failing: right, or exit 1 with a message', options, async () => {
  const args = ['run', 'cover-and-base', '--task', 'assemble'];
  const plain = (out) => out.replace(/"wall_s":[^,}]*|"tick_us":\{[^}]*\}|"overruns":[^,}]*/g, '');
  await sweep(args, plain);
});

const plane = { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top', sense: 'either' };
const wrench = { type: 'wrench', samples: [{ t: 0, force: [0, 0, -1], torque: [0, 0, 0] }] };

const arm = {
  id: 'arm',
  base: { p: [2, 0, 0] },
  links: [
    {
      joint: { type: 'revolute' },
      geometry: { type: 'compound', parts: [{ geometry: { type: 'box', size: [0.2, 0.1, 0.1] } }] },
    },
  ],
};

// An edit, and what the scene needs before it: a constraint, a mechanism.
const edits = [
  { name: 'a constraint more', method: 'POST', path: '/constraints', body: plane },
  { name: 'a constraint less', before: plane, method: 'DELETE', path: '/constraints/c1' },
  { name: 'a constraint changed', before: plane, method: 'PATCH', path: '/constraints/c1', body: { enabled: false } },
  {
    name: 'an object more',
    method: 'POST',
    path: '/objects',
    body: { id: 'ball', geometry: { type: 'compound', parts: [{ geometry: { type: 'sphere', radius: 0.1 } }] } },
  },
  {
    name: 'an object changed',
    method: 'PATCH',
    path: '/objects/cone',
    body: { id: 'hat', geometry: { height: 0.15 } },
  },
  { name: 'another branch', before: plane, method: 'PATCH', path: '/solutions/cone', body: { branch: 'b0' } },
  { name: 'an operator', method: 'PUT', path: '/devices/sim/operator', body: wrench },
  { name: 'a device with an operator', method: 'PATCH', path: '/devices/sim', body: { operator: wrench } },
  { name: 'undo', before: plane, method: 'POST', path: '/scene/undo' },
  { name: 'another scene', method: 'POST', path: '/scene/open', body: { scene: 'sphere' } },
  {
    name: 'a task more',
    method: 'POST',
    path: '/tasks',
    body: {
      id: 'lift',
      object: 'cone',
      steps: [
        { type: 'move', by: { z: 0.1 }, until: { reaction: 5 } },
        { type: 'wait', seconds: 1 },
      ],
    },
  },
  { name: 'a mechanism more', method: 'POST', path: '/mechanisms', body: arm },
  { name: 'a link more', with: arm, method: 'POST', path: '/mechanisms/arm/links', body: arm.links[0] },
  { name: 'another motor', with: arm, method: 'PUT', path: '/mechanisms/arm/joints/0/motor', body: { torque: 0.1 } },
  {
    name: 'contacts',
    with: arm,
    method: 'PATCH',
    path: '/contact',
    body: {
      enabled: true,
      ignore: [
        ['arm.0', 'cone'],
        ['cone', 'cylinder'],
      ],
    },
  },
  {
    name: 'a free object',
    method: 'POST',
    path: '/objects',
    body: { id: 'ball', free: true, geometry: { type: 'sphere', radius: 0.1 } },
  },
  { name: 'a list', method: 'GET', path: '/scenes' },
];

test('edits with one memory call failing: done or not done, and the server goes on', {
  ...options,
  timeout: EVERY ? 3600000 : 600000,
}, async (t) => {
  const fault = page('server'),
    server = await start({ env: fault.env, args: ['--scene', 'cone-on-cylinder'] });
  t.after(() => server.stop('SIGKILL'));
  const { call, expect } = await client(server);
  const first = (await expect(200, 'GET', '/scene')).json;
  const scene = async () => (await expect(200, 'GET', '/scene')).json;
  const prepare = async (edit) => {
    await expect(200, 'PUT', '/scene', first);
    if (edit.with) await expect(201, 'POST', '/mechanisms', edit.with);
    if (edit.before) await expect(201, 'POST', '/constraints', edit.before);
    await expect(200, 'PUT', '/simulation', { state: 'running' });
  };
  const perform = (edit) =>
    call(edit.method, edit.path, edit.body).catch((error) => {
      if (error.code === 'ERR_ASSERTION') throw error;
      return { status: 0, text: error.message }; // the connection ended: an answer of sorts
    });
  let made = 0,
    refused = 0;
  for (const edit of edits) {
    await prepare(edit);
    const old = await scene(),
      idle = fault.counted();
    const right = await perform(edit),
      calls = fault.counted() - idle;
    assert.ok(right.status < 300, `${edit.name}: ${right.text}`);
    const after = await scene();
    await prepare(edit);
    const thin = (each, i, all) => EVERY || each <= 10 || i % Math.ceil(all.length / 60) === 0,
      chosen = spread(calls + 20, EVERY ? calls + 20 : 60).filter(thin),
      ordered = [0, 4, 2, 6, 1, 5, 3, 7].flatMap((first) => chosen.filter((_, i) => i % 8 === first)),
      since = Date.now();
    for (const [i, n] of ordered.entries()) {
      if (!EVERY && i >= chosen.length / 8 && Date.now() - since > EDIT_TIME) break;
      fault.arm(n);
      const reply = await perform(edit);
      fault.arm(0);
      const now = await scene(),
        what = `${edit.name}, call ${n}: ${reply.status} ${reply.text.slice(0, 200)}`;
      const changed = JSON.stringify(now) !== JSON.stringify(old);
      made++;
      refused += reply.status >= 300 || reply.status === 0;
      assert.ok(reply.status < 300 || reply.status >= 500, what);
      if (reply.status && reply.status < 300)
        assert.deepEqual(reply.json, edit.path === '/scenes' ? right.json : reply.json, what);
      assert.deepEqual(now, (reply.status && reply.status < 300) || changed ? after : old, what);
      if (edit.name === 'undo' && !changed)
        // no step of the history is lost
        assert.deepEqual((await expect(200, 'POST', '/scene/undo')) && (await scene()), first, what);
      if (changed || edit.name === 'undo' || made % 8 === 0) await prepare(edit);
    }
  }
  console.log(`# ${made} edits, ${fault.failed()} memory calls failed, ${refused} edits refused`);
  assert.ok(refused > made / 4, `${refused} of ${made}`);
  assert.equal((await server.stop()).code, 0);
});

// A server that starts, or says why not and ends.
async function serving(way, turns) {
  let address = '',
    asked,
    late,
    ill = '';
  const end = (pid, signal) => {
    try {
      process.kill(pid, signal);
    } catch {} // it has ended
  };
  const ask = () => request({ address }, 'GET', '/healthz').catch((error) => ({ status: error.code }));
  const { code, signal, err } = await turns.take(way, (text, pid) => {
    late ??= setTimeout(() => end(pid, 'SIGKILL'), 20000);
    const found = /http:..(\S+?:\d+)./.exec(text);
    if (!found || address) return;
    address = found[1];
    asked = (async () => {
      let answered = await ask();
      if (answered.status === 500 || answered.status === 503) answered = await ask(); // the one call was of that request
      if (answered.status !== 200) ill = `healthz: ${answered.status}`;
      end(pid, 'SIGTERM');
    })();
  });
  clearTimeout(late);
  await asked;
  rmSync(turns.args.at(-1), { recursive: true, force: true });
  return { way, code, signal, err: err + ill, address };
}

test('serve with one memory call failing at its start: it serves, or ends with a message', {
  ...options,
  timeout: 3600000,
}, async () => {
  const scene = ['--scene', 'cone-on-cylinder'],
    counter = page('start'),
    server = await start({ env: counter.env, args: scene });
  await server.stop();
  const all = counter.ways(),
    wrong = [];
  let made = 0,
    served = 0;
  const folders = [1, 2].map((n) => join(folder, `start-${n}`));
  const args = folders.map((data) => ['serve', '--listen', '127.0.0.1:0', ...scene, '--data', data]);
  await takeAll(all, args, async (way, turns) => {
    const how = await serving(way, turns);
    made++;
    served += how.address !== '';
    const fine = how.address
      ? how.code === 0 && !how.err.includes('healthz')
      : how.code === 1 && /^guideway: ./m.test(how.err);
    if (!fine) wrong.push({ ...how, err: how.err.slice(0, 300) });
  });
  console.log(`# ${counter.counted()} memory calls, ${made} of ${all.length} tried, ${served} served`);
  assert.deepEqual(wrong, []);
  assert.ok(made > 100 && served < made, `${made} starts, ${served} served`);
});

test('a stream with memory calls failing: it lives on or can be opened again', options, async (t) => {
  const fault = page('stream'),
    server = await start({ env: fault.env, args: ['--scene', 'cone-on-cylinder'] });
  t.after(() => server.stop('SIGKILL'));
  const { expect } = await client(server);
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  let live = stream(server),
    opened = 1;
  await live.wait('hello');
  for (let n = 1; n < 240; n += n < 40 ? 3 : 25) {
    fault.arm(n);
    live.send({ op: 'subscribe', stream: 'samples', id: `n${n}` });
    live.send({ op: 'drag', tool: 0, point: [0, 0, 0.05], target: [0.1, 0, 0.2 + n / 1000] });
    await until('the memory call that fails', () => fault.armed() <= 0);
    fault.arm(0);
    const seen = live.frames.length;
    await until(
      'frames, or an end',
      () => live.frames.length > seen + 1 || live.socket.readyState !== live.socket.OPEN,
    );
    if (live.socket.readyState === live.socket.OPEN) continue;
    live = stream(server);
    opened++;
    await live.wait('hello');
  }
  console.log(`# ${fault.failed()} memory calls failed, the stream was opened ${opened} times`);
  const { json } = await expect(200, 'GET', '/simulation');
  assert.equal(json.state, 'running');
  await live.close();
  assert.equal((await server.stop()).code, 0);
});
