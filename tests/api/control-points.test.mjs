// Control points of surfaces under contact, patched 200 times a second as the page drags them, while it runs: contacts
// stay on their branches and nothing jumps; what an edit cannot do is said in words, and nothing is lost.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { request, root, sanitized, sleep, start, stream, until } from './server.mjs';

const bundled = (name) => JSON.parse(readFileSync(join(root, `scenes/${name}.json`)));
const get = async (server, path) => (await request(server, 'GET', `/api/v1/${path}`)).json;
const put = (server, path, body) => request(server, 'PUT', `/api/v1/${path}`, body);
const patch = (server, path, body) => request(server, 'PATCH', `/api/v1/${path}`, body);
const events = async (server) => await get(server, 'events');

async function running(scene, work) {
  const server = await start();
  try {
    assert.equal((await put(server, 'scene', scene)).status, 200);
    await put(server, 'simulation', { state: 'running' });
    await work(server);
  } finally {
    await server.stop();
  }
}

// A ball that slides in the trough z = 20 x^2, too large to lie at its bottom: it touches the right wall, and the left
// one is as near.
const bend = 20,
  radius = 0.06,
  half = 0.1,
  high = bend * half * half;
const walls = (into) =>
  [
    [-half + into, high + into],
    [0, -high],
    [half, high],
  ].map(([x, z]) => [-0.1, 0.1].map((y) => [x, y, z]));
const trough = (into = 0) => ({
  type: 'nurbs-surface',
  degree: [2, 1],
  knots: [
    [0, 0, 0, 1, 1, 1],
    [0, 0, 1, 1],
  ],
  points: walls(into),
});
const inTrough = (more = {}) => ({
  format: 'guideway-scene/1',
  name: 'between walls',
  objects: [
    { id: 'trough', geometry: trough(), fixed: true },
    {
      id: 'ball',
      geometry: { type: 'sphere', radius },
      pose: { p: [0.001, 0, bend * radius ** 2 + 0.25 / bend], q: [1, 0, 0, 0] },
      free: true,
      body: { mass: 0.5, damping: { linear: 1, angular: 0.01 } },
    },
  ],
  constraints: [{ id: 'touches', type: 'sliding', a: 'ball/surface', b: 'trough/surface' }],
  ...more,
});

test('the branch that is followed stays over 200 edits while another one comes nearer', async () => {
  await running(inTrough(), async (server) => {
    const touches = async () => (await get(server, 'contacts')).find((c) => c.constraint === 'touches');
    const began = (await touches()).point;
    assert.ok(began[0] > 0.04, `it touches the right wall: ${began}`);
    let last = began,
      step = 0;
    const start = performance.now();
    for (let k = 1; k <= 200; k++) {
      await sleep(Math.max(0, start + 5 * k - performance.now()));
      const into = 0.003 * (1 - Math.cos(k / 20));
      const geometry = { type: 'nurbs-surface', points: walls(into) };
      const reply = await patch(server, 'objects/trough?group=drag', { geometry });
      assert.equal(reply.status, 200, reply.text);
      const now = (await touches()).point;
      step = Math.max(step, Math.hypot(...now.map((x, i) => x - last[i])));
      last = now;
    }
    assert.ok(last[0] > 0.04, `it still touches the right wall: ${last}`);
    assert.ok(step < 1e-3, `from one edit to the next the contact goes ${step} m`);
    const kinds = new Set((await events(server)).map((e) => e.kind));
    for (const kind of ['fault', 'energy', 'degenerate', 'left-behind']) assert.ok(!kinds.has(kind), kind);
  });
});

test('killed in the midst of a series: the same document, with its contact on the branch that it was on', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'guideway-series-'));
  let server = await start({ data });
  t.after(async () => {
    await server.stop('SIGKILL');
    rmSync(data, { recursive: true, force: true });
  });
  const contact = async () => (await get(server, 'contacts')).find((c) => c.constraint === 'touches').point;
  assert.equal((await put(server, 'scene', inTrough())).status, 200);
  await put(server, 'simulation', { state: 'running' });
  for (let k = 1; k <= 60; k++) {
    const geometry = { type: 'nurbs-surface', points: walls(k * 2.5e-5) }; // to where a search finds the other wall
    const reply = await patch(server, 'objects/trough?group=drag', { geometry });
    assert.equal(reply.status, 200, reply.text);
    await sleep(5);
  }
  const before = await request(server, 'GET', '/api/v1/scene');
  await server.stop('SIGKILL');
  server = await start({ data });
  const now = await request(server, 'GET', '/api/v1/scene');
  assert.equal(now.headers.etag, before.headers.etag);
  assert.deepEqual(now.json, before.json);
  assert.ok((await contact())[0] > 0.04, `it touches the right wall: ${await contact()}`);
  assert.equal((await request(server, 'POST', '/api/v1/scene/undo')).status, 200);
  assert.deepEqual((await get(server, 'objects/trough')).geometry.points, walls(0));
  assert.equal((await request(server, 'POST', '/api/v1/scene/redo')).status, 200);
  assert.deepEqual((await get(server, 'scene')).objects, before.json.objects);
});

test('killed in the midst of a series under a nozzle: the same document, and the nozzle is placed again', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'guideway-series-'));
  let server = await start({ data });
  t.after(async () => {
    await server.stop('SIGKILL');
    rmSync(data, { recursive: true, force: true });
  });
  const scene = bundled('nozzle-over-hood'),
    { type, points } = scene.objects[0].geometry;
  assert.equal((await put(server, 'scene', scene)).status, 200);
  await put(server, 'simulation', { state: 'running' });
  const solution = async () => (await get(server, 'solutions/nozzle')).branches[0].nearest.pose.p;
  const first = await solution();
  for (let k = 1; k <= 100; k++) {
    const moved = structuredClone(points);
    for (const [i, j] of [2, 3].flatMap((i) => [2, 3].map((j) => [i, j]))) moved[i][j][2] += k * 8e-5;
    const reply = await patch(server, 'objects/hood?group=drag', { geometry: { type, points: moved } });
    assert.equal(reply.status, 200, reply.text);
  }
  const before = await request(server, 'GET', '/api/v1/scene');
  await server.stop('SIGKILL');
  server = await start({ data });
  const now = await request(server, 'GET', '/api/v1/scene');
  assert.deepEqual(now.json, before.json);
  const again = await solution(); // from the stated pose, on the hood as it is now
  assert.ok(again[2] - first[2] > 1e-3, `${first} to ${again}`);
  assert.equal((await put(server, 'scene', scene)).status, 200);
  assert.deepEqual(await solution(), first);
});

// In every bundled scene that has a free-form shape under a contact: no edit is refused, none is missed.
for (const [name, id, contact] of [
  ['rolling-on-saddle', 'saddle', 'egg-rolls'],
  ['contact-freedoms', 'saddle', 'c2'],
  ['cam-and-follower', 'cam', 'touch'],
  ['curve-on-curve', 'cam', 'touch'],
  ['knee', 'plateau', 'medial-contact'],
  ['marble-run', 'track', 'marble-track'],
  ['blade-under-probe', 'blade', 'meets'],
  ['nozzle-over-hood', 'hood', 'c1'],
])
  test(`control points under contact, 200 a second (${name})`, async () => {
    const scene = bundled(name);
    await running(scene, async (server) => {
      const live = stream(server);
      await live.opened;
      try {
        const { type, points } = scene.objects.find((o) => o.id === id).geometry;
        const count = 300,
          started = performance.now(),
          replies = [];
        for (let k = 1; k <= count; k++) {
          await sleep(Math.max(0, started + 5 * k - performance.now()));
          const moved = structuredClone(points);
          const p = type === 'nurbs-curve' ? moved[2] : moved[1][1];
          p[type === 'nurbs-curve' ? 1 : 2] += 5e-4 * (1 - Math.cos(k / 20));
          replies.push(patch(server, `objects/${id}?group=drag`, { geometry: { type, points: moved } }));
          if (k % 8 === 0) await replies.at(-8);
        }
        for (const reply of replies) assert.equal((await reply).status, 200, (await reply).text);
        const rate = (1000 * count) / (performance.now() - started);
        console.log(`# ${Math.round(rate)} edits a second`);
        assert.ok(rate > (sanitized ? 1 : 20), `${rate} edits a second`);
        await until('the last edit', async () => (await get(server, 'simulation')).revision >= count);
        const all = await events(server);
        for (const e of all) assert.ok(!['fault', 'energy', 'left-behind'].includes(e.kind), JSON.stringify(e));
        const kept = (await get(server, 'contacts')).find((c) => c.constraint === contact);
        if (kept) assert.ok(Math.abs(kept.gap) < 1e-3, `${contact} is open by ${kept.gap} m`);
      } finally {
        await live.close();
      }
    });
  });

test('edits of a surface under contact that are paused, batched, weighted, trimmed and undone', async () => {
  await running(inTrough(), async (server) => {
    const at = async () => (await get(server, 'contacts'))[0].point;
    const on = async (what) => {
      await until(`${what}: the right wall`, async () => {
        const c = (await get(server, 'contacts'))[0];
        return c && c.point[0] > 0.04 && Math.abs(c.gap) < 1e-9;
      });
    };
    await put(server, 'simulation', { state: 'paused' });
    const before = await at();
    assert.equal((await patch(server, 'objects/trough', { geometry: { points: walls(0.004) } })).status, 200);
    await request(server, 'POST', '/api/v1/simulation/step', { ticks: 500 });
    await on('paused');
    assert.ok(Math.hypot(...(await at()).map((x, i) => x - before[i])) < 2e-3, `${await at()} after ${before}`);
    await put(server, 'simulation', { state: 'running' });
    const weights = (w) => [w, 1, 1].map((x) => [x, x]);
    assert.equal((await patch(server, 'objects/trough', { geometry: { weights: weights(1.3) } })).status, 200);
    await on('weights');
    const batch = [0.002, 0.004].map((into) => ({
      method: 'PATCH',
      path: '/objects/trough',
      body: { geometry: { points: walls(into), weights: null } },
    }));
    assert.equal((await request(server, 'POST', '/api/v1/scene/edits', batch)).status, 200);
    await on('a batch');
    assert.equal((await patch(server, 'objects/trough', { geometry: { trim: [[0.1, 1], null] } })).status, 200);
    await on('a trim');
    for (let k = 0; k < 4; k++) {
      assert.equal((await request(server, 'POST', '/api/v1/scene/undo')).status, 200);
      await on(`undo ${k + 1}`);
    }
    assert.deepEqual((await get(server, 'objects/trough')).geometry.points, walls(0));
    for (let k = 0; k < 4; k++) assert.equal((await request(server, 'POST', '/api/v1/scene/redo')).status, 200);
    await on('redo');
  });
});

test('edits that leave no contact are refused in words, and change nothing', async () => {
  await running(inTrough(), async (server) => {
    const stated = await get(server, 'scene');
    // as the ball bends: it would touch all along an arc
    const r = radius / Math.SQRT2,
      c = bend * radius ** 2 + 0.25 / bend;
    const pipe = {
      weights: [1, Math.SQRT1_2, 1].map((w) => [w, w]),
      points: [
        [-r, c - r],
        [0, c - 2 * r],
        [r, c - r],
      ].map(([x, z]) => [-0.1, 0.1].map((y) => [x, y, z])),
    };
    const conforms = await patch(server, 'objects/trough', { geometry: pipe });
    assert.equal(conforms.status, 422, conforms.text);
    assert.match(conforms.json.detail, /touches cannot keep ball and trough in touch: the surfaces conform/);
    assert.deepEqual(await get(server, 'scene'), stated);
    const point = (await get(server, 'contacts'))[0].point;
    assert.ok(point[0] > 0.04, `it goes on where it was: ${point}`);
    // away, and out of reach
    const down = (by) => ({ points: walls(0).map((row) => row.map(([x, y, z]) => [x, y, z - by])) });
    const far = await patch(server, 'objects/trough', { geometry: down(0.3) });
    assert.equal(far.status, 422, far.text);
    assert.match(far.json.detail, /touches cannot keep ball and trough in touch: .*no common normal/);
    assert.deepEqual(await get(server, 'scene'), stated);
    // within reach: the ball follows no faster than edits move it
    assert.equal((await patch(server, 'objects/trough', { geometry: down(0.02) })).status, 200);
    await until('the ball on what went down', async () => Math.abs((await get(server, 'contacts'))[0].gap) < 1e-9);
    // what ends the branch makes the contact another one, and says so
    const ends = await patch(server, 'objects/trough', { geometry: { weights: [4, 1, 1].map((x) => [x, x]) } });
    assert.equal(ends.status, 200, ends.text);
    assert.match(ends.headers['guideway-note'], /touches was searched for over all of ball and trough/);
    assert.ok((await events(server)).some((e) => e.kind === 'edit' && /touches was searched for/.test(e.message)));
    await until('the ball on it', async () => Math.abs((await get(server, 'contacts'))[0].gap) < 1e-9);
  });
});

// A corner folded over, step by step: at some step contacts are searched for, at some the surfaces cross.
test('every refusal of a series names the contact, and what is accepted can be opened', async () => {
  const scene = bundled('contact-freedoms'),
    { type, points } = scene.objects[0].geometry,
    corner = points[2][0],
    to = [-0.3, 0.3, 0.06];
  await running(scene, async (server) => {
    await put(server, 'simulation', { state: 'paused' });
    await request(server, 'POST', '/api/v1/simulation/step', { ticks: 1500 });
    let refused = 0;
    for (let k = 0; k <= 45; k++) {
      const moved = structuredClone(points);
      moved[2][0] = corner.map((x, i) => x + (k / 100) * (to[i] - x));
      const reply = await patch(server, 'objects/saddle?group=fold', { geometry: { type, points: moved } });
      if (reply.status === 200) continue;
      assert.equal(reply.status, 422, reply.text);
      assert.match(reply.json.detail, /c[123] cannot keep rolls|c[123] cannot keep slides/);
      refused++;
    }
    assert.ok(refused > 0, 'the last ones cross');
    const stated = await get(server, 'scene');
    assert.equal((await put(server, 'scene', stated)).status, 200, 'what was accepted can be opened');
  });
});

test('numbers of control points are read to the last bit, however they are written', async () => {
  const forms = ['0', '-0', '0.0', '1e-3', '2.5E-2', '-0.1', '0.30000000000000004', '0.1234567890123456789', '5e-324']
    .concat([
      '0.000000000000000001',
      '9007199254740993e-17',
      '-1',
      '0.1e+1',
      '0.09007199254740993',
      '1.7976931348e-308',
    ])
    .concat(Array.from({ length: 60 }, (_, k) => String(Math.sin(k) * 10 ** -(k % 9))));
  const rows = Array.from({ length: forms.length }, (_, i) => [0, 1].map((j) => [String(i / 10), String(j), forms[i]]));
  const points = `[ ${rows.map((row) => `[${row.map((p) => `[${p.join(' , ')}]`).join(',\n')}]`).join(',')}]`;
  const inner = Array.from({ length: forms.length }, (_, i) => i);
  const knots = JSON.stringify([
    [0, ...inner, forms.length - 1],
    [0, 0, 1, 1],
  ]);
  const geometry = `{"type":"nurbs-surface","degree":[1,1],"knots":${knots},"points":${points}}`;
  await running(inTrough(), async (server) => {
    for (const id of ['"read"', '"re\\u0061d"']) {
      const posted = await request(
        server,
        'POST',
        '/api/v1/objects',
        `{"id":${id},"geometry":${geometry},"fixed":true}`,
      );
      assert.equal(posted.status, 201, posted.text);
      const read = (await get(server, 'objects/read')).geometry.points;
      assert.deepEqual(
        read,
        JSON.parse(points, (_, x) => (Object.is(x, -0) ? 0 : x)),
      );
      assert.equal((await request(server, 'DELETE', '/api/v1/objects/read')).status, 204);
    }
    for (const [body, line] of [
      ['{"pose":{"p":[0,0,01]}}', 1],
      ['{"pose":\n{"p":[0,0,1.]}}', 2],
      ['{"pose":{"p":[0,0,1e400]}}', 1],
      ['{"fixed":true,\n\n"fixed":true}', 3],
      ['{"fixed":true', 1],
    ]) {
      const refused = await request(server, 'PATCH', '/api/v1/objects/trough', body);
      assert.equal(refused.status, 400, refused.text);
      assert.match(refused.json.detail, new RegExp(`line ${line} column`));
    }
  });
});
