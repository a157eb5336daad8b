// Assembly: a four-bar whose parts lie anywhere comes together, by the command and over REST.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { box, call, expect, near, serve } from './running.mjs';
import { guideway } from './server.mjs';

serve({ watched: false });

const folder = mkdtempSync(join(tmpdir(), 'guideway-assemble-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const at = (object, p) => ({ object, at: { p, q: [1, 0, 0, 0] } });
const hinge = (id, a, b, more = {}) => ({ id, type: 'revolute', a, b, ...more });
const turned = { p: [-2, 1, 3], q: [0.5, 0.5, -0.5, 0.5] };
const fourBar = {
  format: 'guideway-scene/1',
  name: 'Scattered',
  objects: [
    box('ground', [0, 0, 0], { fixed: true }),
    box('crank', [1, 2, 3]),
    box('coupler', [0, 0, 0], { pose: turned, free: true }),
    box('rocker', [3, -1, 0.5]),
  ],
  joints: [
    hinge('j1', at('crank', [0, 0, 0]), at('ground', [0, 0, 0])),
    hinge('j2', at('coupler', [0, 0, 0]), at('crank', [0.1, 0, 0])),
    hinge('j3', at('rocker', [0, 0, 0]), at('ground', [0.3, 0, 0])),
    hinge('j4', at('coupler', [0.3, 0, 0]), at('rocker', [0.2, 0, 0])),
  ],
};
const torn = {
  ...fourBar,
  joints: fourBar.joints.map((j) => (j.id === 'j3' ? { ...j, b: at('ground', [2, 0, 0]) } : j)),
};

// A point of an object in the world: p + q x q*.
function point({ p, q: [w, ...u] }, x) {
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const t = cross(u, x).map((c) => 2 * c),
    s = cross(u, t);
  return x.map((c, i) => p[i] + c + w * t[i] + s[i]);
}
const apart = (a, b) => Math.hypot(...a.map((c, i) => c - b[i]));

// By how much the hinges of a four-bar with these poses are open.
function opening(joints, poses) {
  const place = (end) => point(poses[end.object], end.at.p),
    above = (end) =>
      point(
        poses[end.object],
        end.at.p.map((c, i) => c + (i === 2)),
      );
  return Math.max(...joints.flatMap(({ a, b }) => [apart(place(a), place(b)), apart(above(a), above(b))]));
}
const byId = (list) => Object.fromEntries(list.map(({ id, pose }) => [id, pose]));

const file = (name, value) => {
  writeFileSync(join(folder, name), JSON.stringify(value));
  return join(folder, name);
};
const assemble = (...args) => spawnSync(guideway, ['assemble', ...args], { encoding: 'utf8' });

for (const method of ['auto', 'lm', 'newton', 'gradient'])
  test(`the command assembles by ${method}`, () => {
    const out = join(folder, `${method}.json`),
      csv = join(folder, `${method}.csv`);
    const ran = assemble(file('far.json', fourBar), '--out', out, '--csv', csv, '--method', method, '--seed', '7');
    assert.equal(ran.status, 0, ran.stderr);
    const told = JSON.parse(ran.stdout);
    assert.deepEqual(Object.keys(told), ['residual', 'iterations', 'starts', 'method', 'remaining']);
    assert.deepEqual(told.remaining, []);
    assert.equal(told.method, method === 'auto' ? 'lm' : method);
    assert.ok(told.residual < 1e-9 && told.starts >= 1);
    const scene = JSON.parse(readFileSync(out));
    assert.ok(opening(fourBar.joints, byId(scene.objects)) < 1e-8);
    assert.deepEqual(scene.objects[0].pose, fourBar.objects[0].pose);
    const [head, ...rows] = readFileSync(csv, 'utf8').trim().split('\n');
    assert.equal(head, 'start,iteration,residual,step');
    assert.equal(rows.length, told.iterations);
    const last = rows.at(-1).split(',').map(Number);
    assert.equal(last[0], told.starts - 1);
    assert.ok(last.every(Number.isFinite) && last[2] < 1e-9);
    const run = spawnSync(guideway, ['run', out, '--seconds', '0.1'], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    assert.equal(JSON.parse(run.stdout).mobility, 1);
    assert.ok(JSON.parse(run.stdout).constraint_residual_max < 1e-9);
  });

for (const method of ['lm', 'newton', 'gradient'])
  test(`the last residual of the table is the one that is told, by ${method}`, () => {
    const csv = join(folder, `last-${method}.csv`);
    const ran = assemble('cover-and-base', '--csv', csv, '--method', method);
    const told = JSON.parse(ran.stdout).residual,
      last = Number(readFileSync(csv, 'utf8').trim().split('\n').at(-1).split(',')[2]);
    assert.ok(Math.abs(last - told) <= 1e-6 * told + 1e-15, `${last} in the table, ${told} told`);
  });

test('the same seed makes the same scene', () => {
  const [a, b] = ['a.json', 'b.json'].map((name) => {
    assemble(file('far.json', fourBar), '--out', join(folder, name), '--seed', '3');
    return readFileSync(join(folder, name), 'utf8');
  });
  assert.equal(a, b);
});

test('where relations remain it says which, exits 1 and writes nothing', () => {
  const out = join(folder, 'torn.out.json');
  const ran = assemble(file('torn.json', torn), '--out', out);
  assert.equal(ran.status, 1);
  const words = /j1, j2, j3 and 1 more cannot hold together with what else joins these bodies: [\d.]+ m stay open/;
  assert.match(ran.stderr, words);
  assert.deepEqual(JSON.parse(ran.stdout).remaining, ['j1', 'j2', 'j3', 'j4']);
  assert.ok(!existsSync(out));
  // where nothing moves it, a run goes on, and says so; else it is refused in the same words
  const run = (scene) =>
    spawnSync(guideway, ['run', file('torn.json', scene), '--seconds', '0.01'], { encoding: 'utf8' });
  const idle = { ...torn, objects: torn.objects.map(({ free: _, ...o }) => o) };
  const stands = run(idle);
  assert.equal(stands.status, 0, stands.stderr);
  assert.match(stands.stderr, new RegExp(`note: ${words.source}`));
  const moves = run({ ...torn, objects: idle.objects.map((o, i) => (i ? { ...o, free: true } : o)) });
  assert.equal(moves.status, 2, moves.stderr);
  assert.match(moves.stderr, new RegExp(`/joints/0: ${words.source}`));
});

// Free-form surfaces touch where they are put; the run's own placing then finds nothing left to do.
for (const name of ['rolling-on-saddle', 'rattleback', 'cam-and-follower'])
  test(`parts of ${name} that lie anywhere come to touch`, () => {
    const scene = JSON.parse(readFileSync(new URL(`../../scenes/${name}.json`, import.meta.url)));
    scene.objects.forEach((o, i) => {
      if (o.fixed) return;
      const q = [Math.cos(i), Math.sin(i) * 0.6, -Math.sin(i) * 0.64, Math.sin(i) * 0.48];
      o.pose = { p: [0.2 * Math.cos(i), 0.2 * Math.sin(i), 0.3], q };
    });
    const out = join(folder, `${name}.out.json`),
      bodies = join(folder, `${name}.csv`);
    const ran = assemble(file(`${name}.json`, scene), '--out', out);
    assert.equal(ran.status, 0, ran.stderr);
    const run = spawnSync(guideway, ['run', out, '--seconds', '0.01', '--bodies', bodies], { encoding: 'utf8' });
    assert.equal(run.status, 0, run.stderr);
    assert.ok(JSON.parse(run.stdout).constraint_residual_max < 1e-9);
    const [head, first] = readFileSync(bodies, 'utf8')
      .split('\n')
      .map((row) => row.split(','));
    for (const { id, pose } of JSON.parse(readFileSync(out)).objects)
      ['px', 'py', 'pz'].forEach((c, i) => {
        const column = head.indexOf(`${id}.${c}`);
        if (column >= 0) near(Number(first[column]), pose.p[i], 1e-9);
      });
  });

test('what stands can be told', () => {
  const scene = { ...fourBar, joints: fourBar.joints.slice(1, 2) };
  const out = join(folder, 'stands.json');
  assert.equal(assemble(file('pair.json', scene), '--ground', 'coupler,ground', '--out', out).status, 0);
  const poses = byId(JSON.parse(readFileSync(out)).objects);
  assert.deepEqual(poses.coupler, turned);
  assert.ok(opening(scene.joints, poses) < 1e-9);
});

test('what is asked wrongly is refused by name', () => {
  const far = file('far.json', fourBar);
  for (const [args, words] of [
    [['--method', 'magic'], /--method takes auto, gradient, newton or lm, not "magic"/],
    [['--ground', 'crank,nobody'], /^guideway: --ground: there is no object "nobody": there are ground, crank, /],
    [['--ground', 'crank,,rocker'], /--ground takes ids/],
    [['--ground', 'ground,crank,coupler,rocker'], /nothing to move/],
    [['--seed', '-1'], /--seed takes 0 to/],
  ]) {
    const ran = assemble(far, ...args);
    assert.equal(ran.status, 2, ran.stderr);
    assert.match(ran.stderr, words);
    assert.equal(ran.stdout, '');
  }
});

// ---- REST: the parts lie apart in a scene that nothing has to move -------------------------------

const still = { ...fourBar, objects: fourBar.objects.map(({ free, ...o }) => o) };

test('POST answers where the parts go and changes nothing', async () => {
  await expect(200, 'PUT', '/scene', still);
  const { json: before, headers } = await expect(200, 'GET', '/scene');
  const { json } = await expect(200, 'POST', '/assemble', { method: 'auto', seed: 2 });
  assert.deepEqual(Object.keys(json), [
    'residual',
    'iterations',
    'starts',
    'method',
    'remaining',
    'ended',
    'progress',
    'size',
    'poses',
    'committed',
  ]);
  assert.ok(json.size > 0.2 && json.size < 1, `the length of the largest part: ${json.size}`);
  assert.deepEqual(
    json.poses.map((o) => o.id),
    ['crank', 'coupler', 'rocker'],
  );
  assert.ok(opening(still.joints, { ...byId(json.poses), ground: still.objects[0].pose }) < 1e-9);
  assert.equal(json.committed, false);
  const after = await expect(200, 'GET', '/scene');
  assert.deepEqual(after.json, before);
  assert.equal(after.headers.etag, headers.etag);
});

test('a commit is one edit that undo takes back', async () => {
  await expect(200, 'PUT', '/scene', still);
  const { json: before, headers } = await expect(200, 'GET', '/scene');
  const revision = (tag) => Number(JSON.parse(tag));
  const made = await expect(200, 'POST', '/assemble', { commit: true });
  assert.equal(made.json.committed, true);
  assert.equal(revision(made.headers.etag), revision(headers.etag) + 1);
  const objects = byId((await expect(200, 'GET', '/objects')).json);
  for (const { id, pose } of made.json.poses) {
    pose.p.forEach((c, i) => near(objects[id].p[i], c, 1e-12));
    pose.q.forEach((c, i) => near(objects[id].q[i], c, 1e-12));
  }
  await expect(200, 'POST', '/scene/undo');
  assert.deepEqual((await expect(200, 'GET', '/scene')).json.objects, before.objects);
  const stale = await call('POST', '/assemble', { commit: true }, { 'If-Match': '"1"' });
  assert.equal(stale.status, 412);
});

test('commits of one drag are one step for undo', async () => {
  await expect(200, 'PUT', '/scene', still);
  const { json: before } = await expect(200, 'GET', '/scene');
  const first = (await expect(200, 'POST', '/assemble?group=drag-1', { commit: true })).json;
  const { id, pose } = first.poses[0];
  const poses = [{ id, pose: { ...pose, p: pose.p.map((c) => c + 0.002) } }];
  const second = (await expect(200, 'POST', '/assemble?group=drag-1', { poses, commit: true })).json;
  assert.equal(second.committed, true);
  await expect(200, 'POST', '/scene/undo');
  assert.deepEqual((await expect(200, 'GET', '/scene')).json.objects, before.objects);
});

// As a page does it: slices, each from where the one before was stopped.
async function inSlices(request, iterations) {
  const slices = [];
  for (let next = {}; ; ) {
    const { json } = await expect(200, 'POST', '/assemble', { ...request, iterations, trace: true, ...next });
    slices.push(json);
    if (json.ended !== 'stopped') return slices;
    next = { poses: json.poses, progress: json.progress };
  }
}

for (const method of ['lm', 'newton', 'gradient'])
  test(`in slices ${method} comes to the same place`, async () => {
    await expect(200, 'PUT', '/scene', still);
    const whole = (await expect(200, 'POST', '/assemble', { method, trace: true })).json;
    assert.equal(whole.ended, 'held');
    const slices = await inSlices({ method }, method === 'gradient' ? 40 : 2);
    assert.ok(slices.length > 2, `${slices.length} slices`);
    assert.equal(slices.at(-1).ended, 'held');
    assert.deepEqual(slices.at(-1).remaining, []);
    // descent goes on below what counts as held where nobody stops it
    const traced = slices.flatMap((s) => s.trace);
    const made = slices.reduce((sum, s) => sum + s.iterations, 0);
    assert.ok(made <= whole.iterations && made > 0.8 * whole.iterations, `${made} of ${whole.iterations}`);
    assert.equal(traced.length, made);
    assert.deepEqual(
      traced.map(({ start, iteration }) => [start, iteration]),
      whole.trace.slice(0, made).map(({ start, iteration }) => [start, iteration]),
    );
    traced.forEach(({ residual, step }, i) => {
      near(residual, whole.trace[i].residual, 1e-9);
      near(step, whole.trace[i].step, 1e-9);
    });
    const there = byId(whole.poses);
    for (const { id, pose } of slices.at(-1).poses) pose.p.forEach((c, i) => near(c, there[id].p[i], 1e-8));
  });

test('what cannot hold ends when no start is left, in slices too', async () => {
  const objects = torn.objects.map(({ free, ...o }) => o);
  await expect(200, 'PUT', '/scene', { ...torn, objects });
  const whole = (await expect(200, 'POST', '/assemble', { starts: 3 })).json;
  assert.equal(whole.ended, 'starts');
  assert.equal(whole.starts, 3);
  const slices = await inSlices({ starts: 3 }, 4);
  assert.equal(slices.at(-1).ended, 'starts');
  assert.equal(slices.at(-1).starts, 3);
  assert.equal(
    slices.reduce((sum, s) => sum + s.iterations, 0),
    whole.iterations,
  );
});

// A loop with a bar too many: no start can end well, and thousands of iterations each do not end soon.
test('after two seconds it answers with its best, and says why', async () => {
  const bars = 60,
    objects = [box('ground', [0, 0, 0], { fixed: true })],
    joints = [];
  for (let i = 0; i < bars; i++) {
    objects.push(box(`bar${i}`, [0.1 * i, 0.3 * (i % 3), 0]));
    joints.push({
      id: `j${i}`,
      type: 'spherical',
      a: at(`bar${i}`, [0, 0, 0]),
      b: at(i ? `bar${i - 1}` : 'ground', [i ? 0.1 : 0, 0, 0]),
    });
  }
  joints.push({ id: 'last', type: 'spherical', a: at(`bar${bars - 1}`, [0.1, 0, 0]), b: at('ground', [9, 0, 0]) });
  await expect(200, 'PUT', '/scene', { format: 'guideway-scene/1', name: 'Too short', objects, joints });
  const start = performance.now();
  const { json } = await expect(200, 'POST', '/assemble', { method: 'gradient', starts: 1000, apply: true });
  const took = performance.now() - start;
  assert.ok(took > 1900 && took < 20000, `${took} ms`);
  assert.equal(json.ended, 'stopped');
  assert.equal(json.stopped_by, 'time');
  assert.ok(json.remaining.includes('last'));
  assert.ok(json.best.residual > 1e-3 && json.best.residual <= json.residual + 1e-9, `${json.best.residual}`);
  const now = byId((await expect(200, 'GET', '/objects')).json);
  for (const { id, pose } of json.best.poses) pose.p.forEach((c, i) => near(now[id].p[i], c, 1e-12));
  const { json: sliced } = await expect(200, 'POST', '/assemble', { method: 'gradient', iterations: 3 });
  assert.equal(sliced.stopped_by, 'iterations');
  assert.equal(sliced.best, undefined);
});

test('a stop in the middle is applied as one edit that undo takes back', async () => {
  await expect(200, 'PUT', '/scene', still);
  const { json: before, headers } = await expect(200, 'GET', '/scene');
  const { json: middle } = await expect(200, 'POST', '/assemble', { iterations: 2 });
  assert.equal(middle.ended, 'stopped');
  assert.ok(middle.remaining.length > 0 && middle.residual > 1e-6);
  const poses = middle.poses;
  const judged = (await expect(200, 'POST', '/assemble', { iterations: 0, poses, commit: true })).json;
  assert.equal(judged.committed, false);
  assert.equal(judged.iterations, 0);
  assert.equal(judged.ended, 'stopped');
  near(judged.residual, middle.residual, 1e-12);
  const made = await expect(200, 'POST', '/assemble', { iterations: 0, poses, apply: true });
  assert.equal(made.json.committed, true);
  assert.deepEqual(made.json.remaining, middle.remaining);
  const shown = byId(made.json.poses);
  for (const { id, pose } of poses) pose.p.forEach((c, i) => near(shown[id].p[i], c, 1e-12));
  assert.equal(Number(JSON.parse(made.headers.etag)), Number(JSON.parse(headers.etag)) + 1);
  const objects = byId((await expect(200, 'GET', '/objects')).json);
  for (const { id, pose } of made.json.poses) pose.p.forEach((c, i) => near(objects[id].p[i], c, 1e-12));
  await expect(200, 'POST', '/scene/undo');
  assert.deepEqual((await expect(200, 'GET', '/scene')).json.objects, before.objects);
});

// Inverse kinematics is the same call: the tip of an arm is tied to a point.
test('links of a mechanism follow in slices, and undo puts the joints back', async () => {
  const link = (axis, p) => ({
    joint: { type: 'revolute', origin: { p, q: [1, 0, 0, 0] }, axis, position: 0.2 },
    mass: 1,
    com: [0.15, 0, 0],
    inertia: [0.001, 0.01, 0.01, 0, 0, 0],
  });
  const goal = [0.1, 0.4, 0.3];
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'Arm',
    objects: [box('ground', [0, 0, -0.2], { fixed: true })],
    mechanisms: [
      { id: 'arm', links: [link([0, 0, 1], [0, 0, 0]), link([0, 1, 0], [0.3, 0, 0]), link([0, 1, 0], [0.3, 0, 0])] },
    ],
    joints: [{ id: 'tip', type: 'spherical', a: at('arm.2', [0.3, 0, 0]), b: at('ground', [0.1, 0.4, 0.5]) }],
  });
  const before = (await expect(200, 'GET', '/mechanisms/arm')).json;
  const slices = await inSlices({}, 1);
  const last = slices.at(-1);
  assert.equal(last.ended, 'held');
  assert.deepEqual(
    last.poses.map((o) => o.id),
    ['arm.0', 'arm.1', 'arm.2'],
  );
  assert.ok(apart(point(last.poses[2].pose, [0.3, 0, 0]), goal) < 1e-9);
  const made = await expect(200, 'POST', '/assemble', { poses: last.poses, iterations: 0, apply: true });
  assert.equal(made.json.committed, true);
  const positions = ({ links }) => links.map((l) => l.joint.position);
  assert.ok(apart(positions((await expect(200, 'GET', '/mechanisms/arm')).json), positions(before)) > 0.05);
  await expect(200, 'POST', '/scene/undo');
  assert.deepEqual((await expect(200, 'GET', '/mechanisms/arm')).json, before);
});

// A crane of three hinges whose middle one bends one way only, and a needle geared to its column.
test('limits are kept, and gears keep their ratio', async () => {
  const link = (axis, p, more) => ({
    joint: { type: 'revolute', origin: { p, q: [1, 0, 0, 0] }, axis, position: 0.2, ...more },
    mass: 1,
    com: [0.15, 0, 0],
    inertia: [0.001, 0.01, 0.01, 0, 0, 0],
  });
  const crane = (target, bend) => ({
    format: 'guideway-scene/1',
    name: 'Crane',
    objects: [box('ground', [0, 0, -0.2], { fixed: true })],
    mechanisms: [
      {
        id: 'arm',
        links: [link([0, 0, 1], [0, 0, 0]), link([0, 1, 0], [0.3, 0, 0]), link([0, 1, 0], [0.3, 0, 0], bend)],
      },
      { id: 'needle', links: [link([0, 0, 1], [1, 0, 0])] },
    ],
    joints: [
      { id: 'tip', type: 'spherical', a: at('arm.2', [0.3, 0, 0]), b: at('ground', target) },
      { id: 'dial', type: 'gear', joints: ['needle.0', 'arm.0'], ratio: -2 },
    ],
  });
  const read = (out) => JSON.parse(readFileSync(out)).mechanisms.map((m) => m.links.map((l) => l.joint.position));
  const answers = [
    [0, 2.5],
    [-2.5, 0.2],
  ].map((limits, i) => {
    const out = join(folder, `crane${i}.out.json`);
    const ran = assemble(
      file(`crane${i}.json`, crane([0.1, 0.4, 0.5], { limits: { lower: limits[0], upper: limits[1] } })),
      '--out',
      out,
    );
    assert.equal(ran.status, 0, ran.stderr);
    const [arm, needle] = read(out);
    assert.ok(arm[2] >= limits[0] && arm[2] <= limits[1], `${arm[2]} in ${limits}`);
    near(needle[0] - 0.2, -2 * (arm[0] - 0.2), 1e-8);
    return arm[2];
  });
  assert.ok(answers[0] > 0.1 && answers[1] < -0.1, `${answers}`); // either elbow, as its limits have it
  const torn = assemble(file('crane2.json', crane([0.1, 0.4, 0.5], { limits: { lower: 0.1, upper: 0.3 } })));
  assert.equal(torn.status, 1);
  const { remaining } = JSON.parse(torn.stdout);
  assert.ok(remaining.length > 0);
  assert.equal(new Set(remaining).size, remaining.length, `each id once: ${remaining}`);
});

test('where relations remain nothing is committed', async () => {
  const objects = torn.objects.map(({ free, ...o }) => o);
  await expect(200, 'PUT', '/scene', { ...torn, objects });
  const { headers } = await expect(200, 'GET', '/scene');
  const made = await expect(200, 'POST', '/assemble', { commit: true });
  assert.equal(made.json.committed, false);
  assert.deepEqual(made.json.remaining, ['j1', 'j2', 'j3', 'j4']);
  assert.equal(made.headers.etag, headers.etag);
});

test('REST refuses by pointer', async () => {
  await expect(200, 'PUT', '/scene', still);
  for (const [body, pointer] of [
    [{ method: 'magic' }, '/method'],
    [{ ground: ['crank', 'nobody'] }, '/ground/1'],
    [{ ground: 'crank' }, '/ground'],
    [{ seed: -1 }, '/seed'],
    [{ iterations: -1 }, '/iterations'],
    [{ starts: 1.5 }, '/starts'],
    [{ poses: [{ id: 'crank' }] }, '/poses/0/pose'],
    [{ poses: [{ id: 'nobody', pose: turned }] }, '/poses/0/id'],
    [{ poses: [{ id: 'crank', pose: { p: [0, 0], q: [1, 0, 0, 0] } }] }, '/poses/0/pose/p'],
    [{ progress: { start: -1 } }, '/progress/start'],
    [{ progress: { damping: -1 } }, '/progress/damping'],
    [{ trace: 'yes' }, '/trace'],
    [{ poses: [{ id: 'crank', pose: { p: [1e300, 0, 0], q: [1, 0, 0, 0] } }] }, '/poses/0/pose/p/0'],
    [{ speed: 1 }, '/speed'],
    [{ ground: ['ground', 'crank', 'coupler', 'rocker'] }, ''],
  ]) {
    const { json } = await expect(400, 'POST', '/assemble', body);
    assert.equal(json.errors[0].pointer, pointer);
  }
});
