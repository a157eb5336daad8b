// Tasks: the assembly of the paper from REST, stream and `run`; guards for the right reason, wrong
// orders with a reason, stops in the middle, a base that was moved.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { client, guideway, root, sanitized, sleep, start, stream, until } from './server.mjs';

let server, expect;

before(async () => {
  server = await start();
  ({ expect } = await client(server));
});
after(async () => {
  await server?.stop();
});

beforeEach(async () => {
  await expect(200, 'POST', '/simulation/arm');
  await expect(200, 'POST', '/scene/open', { scene: 'cover-and-base' });
});

const patient = sanitized ? 120000 : 30000;
const progress = async () => (await expect(200, 'GET', '/tasks/assemble/progress')).json;
const over = (ms = patient) =>
  until(
    'the task to end',
    async () => {
      const now = await progress();
      return now.state !== 'running' && now;
    },
    ms,
  );
const begin = async () => (await expect(200, 'POST', '/tasks/assemble/start')).json;
const step = (n) =>
  until(
    `step ${n}`,
    async () => {
      const now = await progress();
      assert.equal(now.state, 'running', now.message);
      return now.step >= n && now;
    },
    patient,
  );
const parameters = async () => (await expect(200, 'GET', '/solutions/cover')).json.parameters;

// The assembled cover in the base: its frame at (-0.014, 0, 0.044), turned as the base is.
const turn = ([w, x, y, z], v) => {
  const u = [x, y, z],
    cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const t = cross(u, v).map((c) => 2 * c),
    s = cross(u, t);
  return v.map((c, i) => c + w * t[i] + s[i]);
};
const apart = (a, b) => Math.hypot(...a.map((c, i) => c - b[i]));
const angle = (a, b) => 2 * Math.acos(Math.min(1, Math.abs(a.reduce((sum, c, i) => sum + c * b[i], 0))));

async function assertAssembled() {
  const base = (await expect(200, 'GET', '/objects/base')).json.pose;
  const { tools } = (await expect(200, 'GET', '/simulation')).json;
  const at = turn(base.q, [-0.014, 0, 0.044 + 0.03]); // of the tool, 3 cm above the cover's frame
  const there = base.p.map((c, i) => c + at[i]);
  assert.ok(apart(tools[0].pose.p, there) < 1e-4, `${apart(tools[0].pose.p, there)} m off`);
  assert.ok(angle(tools[0].pose.q, base.q) < 1e-3, `${angle(tools[0].pose.q, base.q)} rad off`);
  assert.deepEqual(
    tools[0].walls.slice().sort(),
    ['back', 'lock', 'rail-left', 'rail-right'].filter((w) => tools[0].walls.includes(w)),
  );
  assert.ok(tools[0].penetration < 1e-4);
}

const reasons = (now) => now.steps.map((s) => s.reason);
const whole = ['applied', 'reached', 'contact', 'reaction', 'reaction', 'waited'];

test('the assembly runs to its end, every guard for its reason', async () => {
  const heard = stream(server);
  await heard.wait('hello');
  const first = await begin();
  assert.deepEqual([first.state, first.step, first.steps.length], ['running', 0, 6]);
  const done = await over();
  assert.equal(done.state, 'done', done.message);
  assert.deepEqual(reasons(done), whole);
  const [, above, , back, lock] = done.steps;
  assert.ok(
    Math.abs(above.parameters.phi + 0.35) < 1e-3 &&
      Math.abs(above.parameters.s - 0.08) < 1e-4 &&
      Math.abs(above.parameters.t - 0.05) < 1e-4,
  );
  assert.ok(Math.abs(done.steps[2].parameters.s) < 2e-4); // on the rails
  assert.ok(back.reaction >= 5 && Math.abs(back.parameters.t) < 2e-4);
  assert.ok(lock.reaction >= 0.3 && Math.abs(lock.parameters.phi) < 2e-3);
  await assertAssembled();
  // the stream told of it all, in sentences
  const told = await until('the result on the stream', () =>
    heard.find('event', (m) => m.event.kind === 'task' && /is done/.test(m.event.message)),
  );
  assert.match(told.event.message, /^Task assemble is done\. Done: 6 steps in \d/);
  const words = heard.messages.filter((m) => m.op === 'event' && m.event.kind === 'task').map((m) => m.event.message);
  assert.equal(words.length, 8, words.join('\n'));
  assert.match(words[0], /^Task assemble \(Cover onto base\) starts: 6 steps\.$/);
  assert.match(words[4], /^Step 4 of 6: \d.* N push back after/);
  assert.match(words[5], /^Step 5 of 6: \d.* N m push back after/);
  const state = await heard.wait('state', (m) => m.task?.progress.state === 'done');
  assert.equal(state.task.id, 'assemble');
  assert.ok(heard.messages.some((m) => m.op === 'state' && m.task?.progress.state === 'running'));
  const residuals = heard.messages
    .filter((m) => m.op === 'state')
    .flatMap((m) => m.simulation.tools.map((t) => t.residual));
  assert.ok(residuals.length > 10 && Math.max(...residuals) < 1e-12);
  await heard.close();
});

test('what a task shows before it ran, and beside another', async () => {
  assert.equal((await progress()).state, 'idle');
  const heard = stream(server);
  await heard.wait('hello');
  await begin();
  await expect(409, 'POST', '/tasks/assemble/start');
  await expect(409, 'DELETE', '/constraints/middle');
  await expect(200, 'POST', '/tasks/assemble/stop');
  await expect(204, 'DELETE', '/tasks/assemble');
  await heard.wait('state', (m) => m.task === null && m.simulation.state === 'running');
  await expect(204, 'DELETE', '/constraints/middle');
  await heard.close();
});

test('a base that was moved is no other task', async () => {
  const yaw = -1.1;
  const before = (await expect(200, 'GET', '/tasks/assemble')).json.steps;
  await expect(200, 'PATCH', '/objects/base', {
    pose: { p: [-0.3, 0.2, 0.07], q: [Math.cos(yaw / 2), 0, 0, Math.sin(yaw / 2)] },
  });
  await begin();
  const done = await over();
  assert.deepEqual([done.state, reasons(done)], ['done', whole]);
  assert.deepEqual((await expect(200, 'GET', '/tasks/assemble')).json.steps, before);
  await assertAssembled();
  // and once more, moved while the simulation runs
  await expect(200, 'PATCH', '/objects/base', { pose: { p: [0.1, 0.05, 0], q: [Math.cos(0.4), 0, 0, Math.sin(0.4)] } });
  await until('the travel to end', async () => !(await expect(200, 'GET', '/simulation')).json.tools[0].travelling);
  await begin();
  const again = await over();
  assert.deepEqual([again.state, reasons(again)], ['done', whole], again.message);
  await assertAssembled();
});

test('a base that moves while the task runs takes it along', async () => {
  await begin();
  await step(2);
  await expect(200, 'PATCH', '/objects/base', {
    pose: { p: [0.08, -0.05, -0.03], q: [Math.cos(0.3), 0, 0, Math.sin(0.3)] },
  });
  const done = await over();
  assert.deepEqual([done.state, reasons(done)], ['done', whole], done.message);
  await assertAssembled();
});

test('a wall that is missing fails the guard that needs it', async () => {
  await expect(200, 'PATCH', '/constraints/back', { enabled: false });
  await begin();
  const failed = await over();
  assert.equal(failed.state, 'failed');
  assert.deepEqual(reasons(failed), ['applied', 'reached', 'contact', 'no-guard', '', '']);
  assert.deepEqual(
    failed.steps.map((s) => s.state),
    ['done', 'done', 'done', 'failed', 'waiting', 'waiting'],
  );
  assert.match(failed.message, /^Step 4 of 6 failed: it reached its end, and nothing had pushed back/);
  const events = (await expect(200, 'GET', '/events')).json.filter((e) => e.kind === 'task');
  assert.equal(events.at(-1).severity, 'error');
});

test('the wrong order fails with a reason', async () => {
  const { steps } = (await expect(200, 'GET', '/tasks/assemble')).json;
  const [constrain, above, lower, slide, close, wait] = steps;
  // closed before it is at the back: the lock is met, then nothing lets it come to the back tilted
  await expect(200, 'PATCH', '/tasks/assemble', { steps: [constrain, above, close, lower, slide, wait] });
  await begin();
  const failed = await over();
  assert.equal(failed.state, 'failed');
  assert.deepEqual([failed.step, failed.steps[2].reason], [2, 'no-guard']); // it turned in the air
  // a parameter that the branch has not
  await expect(200, 'PATCH', '/tasks/assemble', { steps: [{ type: 'move', to: { z: 0.1 } }] });
  await begin();
  const named = await over();
  assert.equal(named.steps[0].reason, 'no-parameter');
  assert.match(named.message, /no parameter "z" here, the branch has phi, s, t/);
  // an obstacle without a guard ends the move as blocked
  await expect(200, 'PATCH', '/tasks/assemble', {
    steps: [
      { type: 'move', to: { phi: 0, s: 0.05, t: 0.02 } },
      { type: 'move', by: { s: -0.1 } },
    ],
  });
  await begin();
  const blocked = await over();
  assert.deepEqual(reasons(blocked), ['reached', 'blocked']);
});

test('an edit of a task is an edit: visible, undone as one, refused where it has no solution', async () => {
  await expect(201, 'POST', '/constraints', {
    id: 'flat',
    type: 'distance',
    a: 'cover/back-left',
    b: 'base/part1.+z',
    value: 0.06,
    enabled: false,
  });
  await expect(201, 'POST', '/constraints', {
    id: 'high',
    type: 'distance',
    a: 'cover/back-left',
    b: 'base/part1.+z',
    value: 0.09,
    enabled: false,
  });
  await expect(200, 'PATCH', '/tasks/assemble', {
    steps: [
      { type: 'constrain', enable: ['flat'] },
      { type: 'move', by: { t: 0.03 } },
      { type: 'constrain', enable: ['high'], disable: ['flat'] },
    ],
  });
  const heard = stream(server);
  await heard.wait('hello');
  const { headers } = await expect(200, 'GET', '/scene');
  await begin();
  const failed = await over();
  // on the line above the rail the slide is "s": the names are those of the branch as it is then
  assert.equal(failed.steps[0].reason, 'applied');
  assert.equal(failed.steps[1].reason, 'no-parameter');
  assert.equal((await expect(200, 'GET', '/constraints/flat')).json.enabled, true);
  assert.notEqual((await expect(200, 'GET', '/scene')).headers.etag, headers.etag);
  await heard.wait('scene', (m) => m.scene.constraints.some((c) => c.id === 'flat' && c.enabled));
  await expect(200, 'POST', '/scene/undo');
  assert.equal((await expect(200, 'GET', '/constraints/flat')).json.enabled, false);
  await expect(200, 'PATCH', '/tasks/assemble', {
    steps: [
      { type: 'constrain', enable: ['flat'] },
      { type: 'move', by: { s: 0.03 } },
      { type: 'constrain', enable: ['high'], disable: ['flat'] },
      { type: 'constrain', enable: ['flat'] },
    ],
  });
  await begin();
  const refused = await over();
  assert.deepEqual(reasons(refused), ['applied', 'reached', 'applied', 'refused'], refused.message);
  assert.match(refused.message, /contradict one another/);
  const { tools } = (await expect(200, 'GET', '/simulation')).json;
  assert.ok(tools[0].residual < 1e-12);
  await heard.close();
});

test('a halt in the middle stops the task and what it moves', async () => {
  await begin();
  await step(2);
  await expect(200, 'POST', '/simulation/halt');
  const halted = await over(2000);
  assert.deepEqual([halted.state, halted.steps[halted.step].reason], ['stopped', 'halted']);
  await expect(409, 'POST', '/tasks/assemble/start');
  const place = async () => (await expect(200, 'GET', '/simulation')).json.tools[0].pose.p;
  const at = await place(); // parameters may have other names by then
  await expect(200, 'POST', '/simulation/arm');
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await sleep(300);
  const moved = apart(await place(), at);
  assert.ok(moved < 1e-3, `it holds, but for ${moved}`);
  await begin();
  assert.equal((await over()).state, 'done');
});

test('a stop in the middle leaves the object where it is, and the next start works', async () => {
  await begin();
  await step(3);
  const stopped = (await expect(200, 'POST', '/tasks/assemble/stop')).json;
  assert.deepEqual([stopped.state, stopped.step, stopped.steps[3].reason], ['stopped', 3, 'stopped']);
  const at = await parameters();
  await sleep(300);
  assert.ok(apart(await parameters(), at) < 2e-3);
  await begin();
  assert.equal((await over()).state, 'done');
  await assertAssembled();
});

test('a simulation that is stopped, and another scene, end the task', async () => {
  await begin();
  await step(1);
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  assert.equal((await over(2000)).steps[1].reason, 'stopped');
  await begin();
  await step(1);
  await expect(200, 'POST', '/scene/open', { scene: 'paper-plane' });
  await until(
    'the task to be gone',
    async () =>
      (await expect(200, 'GET', '/events')).json.at(-1).message.startsWith('Task assemble was left') ||
      (await expect(200, 'GET', '/events')).json.some((e) => e.kind === 'task' && /left at step 2/.test(e.message)),
  );
  await expect(404, 'GET', '/tasks/assemble');
});

test('a person who drags and lets go does not end the task', async () => {
  const heard = stream(server);
  await heard.wait('hello');
  await begin();
  await step(2);
  const center = (await expect(200, 'GET', '/simulation')).json.tools[0].pose.p;
  heard.send({ op: 'drag', tool: 0, point: [0, 0, 0.03], target: center.map((c, i) => c + (i === 2 ? 0.002 : 0)) });
  await heard.wait('state', (m) => m.simulation.tools[0].dragging);
  for (let i = 0; i < 3; i++) heard.send({ op: 'release', tool: 0 });
  const done = await over();
  assert.deepEqual([done.state, reasons(done)], ['done', whole], done.message);
  await heard.close();
});

test('a pause holds the task, and it goes on', async () => {
  await begin();
  await until('the third step under way', async () => (await progress()).steps[2].state === 'running');
  await expect(200, 'PUT', '/simulation', { state: 'paused' });
  const paused = await progress();
  await sleep(200);
  assert.deepEqual(await progress(), paused);
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  assert.equal((await over()).state, 'done');
});

test("a drag takes the assembled cover out of the robot's hand", async () => {
  await begin();
  await over();
  const heard = stream(server);
  await heard.wait('hello');
  assert.ok((await expect(200, 'GET', '/simulation')).json.tools[0].guided);
  heard.send({ op: 'drag', tool: 0, point: [0, 0, 0], target: [0.1, 0, 0.2] });
  await heard.wait('state', (m) => m.simulation.tools[0].dragging && !m.simulation.tools[0].guided);
  await until('the cover to be up', async () => (await parameters())[1] > 0.05);
  await heard.close();
});

test('starts, stops, edits and loads at once leave everything in order', async () => {
  const { call } = await client(server);
  const end = performance.now() + (sanitized ? 6000 : 3000);
  const loop = async (work) => {
    for (let i = 0; performance.now() < end; i++) await work(i);
  };
  await Promise.all([
    loop(() => call('POST', '/tasks/assemble/start')),
    loop(async () => {
      await sleep(37);
      await call('POST', '/tasks/assemble/stop');
    }),
    loop(async (i) => {
      await call('PATCH', '/constraints/back', { enabled: i % 2 === 0 });
      await sleep(11);
    }),
    loop(async (i) => {
      await call('PATCH', '/tasks/assemble', { name: `Name ${i}` });
      await sleep(3);
    }),
    loop(async (i) => {
      await sleep(151);
      await call('PUT', '/simulation', { state: ['stopped', 'paused', 'running'][i % 3] });
    }),
    loop(async () => {
      await sleep(701);
      await call('POST', '/scene/open', { scene: 'cover-and-base' });
    }),
    loop(() => call('GET', '/tasks')),
  ]);
  await expect(200, 'POST', '/tasks/assemble/stop');
  assert.notEqual((await progress()).state, 'running');
  await expect(200, 'POST', '/scene/open', { scene: 'cover-and-base' });
  await begin();
  assert.equal((await over()).state, 'done');
  await assertAssembled();
});

test('what is wrong with a task is said by pointer', async () => {
  const good = { id: 'x', object: 'cover', steps: [{ type: 'wait', seconds: 1 }] };
  const wrong = [
    [{ ...good, steps: [] }, '/steps', /1 to 64 steps/],
    [{ ...good, steps: Array(65).fill(good.steps[0]) }, '/steps', /64/],
    [{ ...good, object: 'lid' }, '/object', /no object "lid"/],
    [{ ...good, object: 'base' }, '/object', /is fixed/],
    [{ ...good, steps: [{ type: 'jump' }] }, '/steps/0/type', /"constrain", "move", "wait"/],
    [{ ...good, steps: [{ type: 'wait', seconds: -1 }] }, '/steps/0/seconds', /0 to 3600/],
    [
      { ...good, steps: [{ type: 'constrain', enable: ['middle', 'none'] }] },
      '/steps/0/enable/1',
      /no constraint "none"/,
    ],
    [{ ...good, steps: [{ type: 'constrain', enable: ['back'], disable: ['back'] }] }, '/steps/0/disable', /not both/],
    [{ ...good, steps: [{ type: 'move' }] }, '/steps/0', /"to" or "by"/],
    [
      { ...good, steps: [good.steps[0], { type: 'move', to: { sideways: 1 } }] },
      '/steps/1/to/sideways',
      /no parameter/,
    ],
    [{ ...good, steps: [{ type: 'move', to: { s: 1 }, by: { s: 1 } }] }, '/steps/0/by/s', /not both/],
    [{ ...good, steps: [{ type: 'move', to: { s: 'far' } }] }, '/steps/0/to/s', /number/],
    [{ ...good, steps: [{ type: 'move', by: { s: 1 }, speed: 0 }] }, '/steps/0/speed', /0\.0001/],
    [{ ...good, steps: [{ type: 'move', by: { s: 1 }, until: {} }] }, '/steps/0/until', /reaction .*contact/],
    [
      { ...good, steps: [{ type: 'move', by: { s: 1 }, until: { reaction: 0 } }] },
      '/steps/0/until/reaction',
      /greater than 0/,
    ],
    [{ ...good, steps: [{ type: 'move', by: { s: 1 }, required: true }] }, '/steps/0/required', /until/],
    [{ ...good, colour: 'red' }, '/colour', /unknown/],
  ];
  for (const [body, pointer, words] of wrong) {
    const status = body.steps.length > 64 ? 413 : 400;
    const refused = await (await client(server)).call('POST', '/tasks', body);
    assert.ok([400, status].includes(refused.status), refused.text);
    assert.equal(refused.json.errors[0].pointer, pointer, refused.text);
    assert.match(refused.json.detail, words);
  }
  const scene = (await expect(200, 'GET', '/scene')).json;
  scene.tasks[0].steps[2].by = { q: 1 };
  assert.equal((await expect(400, 'PUT', '/scene', scene)).json.errors[0].pointer, '/tasks/0/steps/2/by/q');
});

test('a task is renamed with what it names, and kept by saving and opening', async () => {
  await expect(200, 'PATCH', '/constraints/middle', { id: 'mid' });
  await expect(200, 'PATCH', '/objects/cover', { id: 'lid' });
  const task = (await expect(200, 'GET', '/tasks/assemble')).json;
  assert.deepEqual([task.object, task.steps[0].enable], ['lid', ['mid']]);
  await expect(200, 'PATCH', '/tasks/assemble', { id: 'close' });
  await expect(201, 'POST', '/scene/save', { name: 'with task' });
  await expect(200, 'POST', '/scene/open', { scene: 'with-task' });
  const again = (await expect(200, 'GET', '/tasks/close')).json;
  assert.deepEqual(again.steps, task.steps);
  await expect(200, 'POST', '/tasks/close/start');
  const done = await until(
    'the end',
    async () => {
      const now = (await expect(200, 'GET', '/tasks/close/progress')).json;
      return now.state !== 'running' && now;
    },
    patient,
  );
  assert.equal(done.state, 'done');
  await expect(204, 'DELETE', '/scenes/with-task');
});

test('a task without a tool is refused', async () => {
  await expect(204, 'DELETE', '/tool');
  assert.match((await expect(409, 'POST', '/tasks/assemble/start')).json.detail, /no tool holds cover/);
});

// ---- run -----------------------------------------------------------------------------------------

const run = (args) => spawnSync(guideway, ['run', ...args], { encoding: 'utf8' });

test('run --task: the same task, deterministic, its constraint kept all along', () => {
  const twice = [0, 1].map(() =>
    JSON.parse(execFileSync(guideway, ['run', 'cover-and-base', '--task', 'assemble'], { encoding: 'utf8' })),
  );
  const [a, b] = twice;
  assert.equal(a.task.progress.state, 'done');
  assert.deepEqual(
    a.task.progress.steps.map((s) => s.reason),
    whole,
  );
  assert.deepEqual(a.task, b.task);
  assert.deepEqual(a.final, b.final);
  assert.ok(a.constraint_residual_max < 1e-12, `${a.constraint_residual_max} m`);
  assert.ok(a.penetration_max < 2e-4, `${a.penetration_max} m`);
  const e = a.energy;
  assert.ok(Math.abs(e.final - e.initial - e.work_in + e.dissipated) < 1e-9 * e.work_in);
  const end = a.task.progress.steps[5].parameters;
  for (const name of ['phi', 's', 't'])
    assert.ok(Math.abs(end[name]) < (name === 'phi' ? 1e-3 : 1e-4), `${name} ${end[name]}`);
});

test('run --task: failures and bad names by exit code', () => {
  const scene = JSON.parse(readFileSync(join(root, 'scenes/cover-and-base.json'), 'utf8'));
  scene.constraints.find((c) => c.id === 'lock').enabled = false;
  const file = join(mkdtempSync(join(tmpdir(), 'guideway-task-')), 'open.json');
  writeFileSync(file, JSON.stringify(scene));
  const failed = run([file, '--task', 'assemble']);
  assert.equal(failed.status, 1);
  assert.match(failed.stderr, /task assemble: Step 5 of 6 failed/);
  assert.equal(JSON.parse(failed.stdout).task.progress.steps[4].reason, 'no-guard');
  const unknown = run(['cover-and-base', '--task', 'nothing']);
  assert.equal(unknown.status, 2);
  assert.match(unknown.stderr, /no task "nothing"/);
  const short = run(['cover-and-base', '--task', 'assemble', '--seconds', '1']);
  assert.equal(short.status, 1);
  assert.match(short.stderr, /time was over/);
});

test('a step that joins a linkage ends when all of it has arrived', () => {
  const pose = (x, z) => ({ p: [x, 0, z], q: [1, 0, 0, 0] });
  const box = (id, x, z, more) => ({ id, geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, pose: pose(x, z), ...more });
  const at = (object, x) => ({ object, at: pose(x, 0) });
  const scene = {
    format: 'guideway-scene/1',
    name: 'lowered',
    objects: [box('floor', 0, -0.05, { fixed: true }), box('held', 0, 0.25), box('joined', 0.3, 0.25)],
    constraints: [{ id: 'down', type: 'coincident', a: 'held/-z', b: 'floor/+z', sense: 'opposite', enabled: false }],
    joints: [{ type: 'revolute', a: at('joined', -0.15), b: at('held', 0.15) }],
    tool: { object: 'held', device: 'sim' },
    devices: [{ id: 'sim', driver: 'sim' }],
    tasks: [{ id: 'lower', object: 'held', steps: [{ type: 'constrain', enable: ['down'] }] }],
  };
  const file = join(mkdtempSync(join(tmpdir(), 'guideway-task-')), 'lowered.json');
  writeFileSync(file, JSON.stringify(scene));
  const done = run([file, '--task', 'lower']);
  assert.equal(done.status, 0, done.stderr);
  const { ticks, final, events, constraint_residual_max: residual } = JSON.parse(done.stdout);
  assert.ok(Math.abs(final.pose.p[2] - 0.05) < 1e-9 && residual < 1e-9, `${final.pose.p[2]}, ${residual}`);
  assert.ok(ticks >= 800 && ticks < 1500, `0.2 m at 0.25 m/s took ${ticks} ticks`);
  assert.deepEqual(
    events.map((e) => [e.kind, e.object]),
    [['settled', 'held']],
  );
});

test('run without a task: walls alone, the same as ever', () => {
  const still = JSON.parse(execFileSync(guideway, ['run', 'cover-and-base', '--seconds', '1'], { encoding: 'utf8' }));
  assert.equal(still.task, undefined);
  assert.equal(still.ticks, 1000);
});

// A task of one bead on something free-form: where its parameters end.
async function guided(geometry, constraint, steps) {
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    objects: [
      { id: 'guide', geometry, fixed: true },
      { id: 'bead', geometry: { type: 'box', size: [0.03, 0.03, 0.03] }, pose: { p: [0.09, 0.01, 0.06] } },
    ],
    constraints: [{ id: 'on', ...constraint }],
    tool: { object: 'bead', device: 'sim' },
    devices: [{ id: 'sim', driver: 'sim' }],
    tasks: [{ id: 'assemble', object: 'bead', steps }],
  });
  const read = async () => {
    const { branches, branch, parameters: values } = (await expect(200, 'GET', '/solutions/bead')).json;
    const { parameters: named } = branches.find((b) => b.id === branch);
    return Object.fromEntries(named.map(({ name }, i) => [name, values[i]]));
  };
  const from = await read();
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await begin();
  const end = await over();
  assert.equal(end.state, 'done', end.message);
  return { from, to: await read(), end };
}

const close = (a, b, within = 2e-3) => assert.ok(Math.abs(a - b) < within, `${a}, ${b} wanted`);

test('a move names the parameters of a surface and of a curve', async () => {
  const points = [-0.1, 0, 0.1].map((x) => [-0.1, 0, 0.1].map((y) => [x, y, 0.1 - 4 * (x * x + y * y)]));
  const knots = [0, 0, 0, 1, 1, 1];
  const sheet = { type: 'nurbs-surface', degree: [2, 2], knots: [knots, knots], points };
  const onSheet = { type: 'coincident', a: 'bead/center', b: 'guide/surface' };
  const moved = await guided(sheet, onSheet, [
    { type: 'move', to: { u: 0.8, v: 0.3 } },
    { type: 'move', by: { u: -0.4 } },
    { type: 'move', by: { v: 2 } },
  ]);
  close(moved.to.u, 0.4);
  close(moved.to.v, 1); // the edge
  assert.ok(moved.end.steps[0].seconds > 0.7, 'at 5 cm/s');
  const nozzle = await guided(sheet, { type: 'normal', a: 'bead/axis-z', b: 'guide/surface', value: 0.02 }, [
    { type: 'move', to: { u: 0.2, phi: 0.5 } },
  ]);
  close(nozzle.to.u, 0.2);
  close(nozzle.to.phi, 0.5);
  const wire = { type: 'nurbs-curve', degree: 2, knots, points: points.map((row) => row[1]) };
  const onWire = { type: 'coincident', a: 'bead/center', b: 'guide/curve' };
  close((await guided(wire, onWire, [{ type: 'move', to: { s: 0.25 } }])).to.s, 0.25);
});

test('along a closed curve a move takes the shorter way, over the seam', async () => {
  const corners = [0, 1, 2, 3, 4, 5].map((k) => [
    0.1 * Math.cos((k * Math.PI) / 3),
    0.1 * Math.sin((k * Math.PI) / 3),
    0,
  ]);
  const loop = {
    type: 'nurbs-curve',
    degree: 3,
    knots: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    points: [...corners, ...corners.slice(0, 3)],
  };
  const on = { type: 'coincident', a: 'bead/center', b: 'guide/curve' };
  const first = await guided(loop, on, [
    { type: 'move', to: { s: 3.5 } },
    { type: 'move', to: { s: 8.5 } },
  ]);
  close(first.end.steps[0].parameters.s, 3.5);
  close(first.end.steps[1].parameters.s, 8.5);
  const [way, over] = first.end.steps.map((s) => s.seconds);
  assert.ok(over < 3, `one sixth of the way round, ${way} s and then ${over} s`);
});
