// Saved scenes: whole or not at all, across restarts, kills and broken files.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { client, guideway, request, root, sleep, start } from './server.mjs';

const folder = () => mkdtempSync(join(tmpdir(), 'guideway-store-'));
const saved = async (server) =>
  (await request(server, 'GET', '/api/v1/scenes')).json.filter((s) => s.saved).map((s) => s.file);

test('the scene saved last is what the next start opens', async () => {
  const data = folder();
  let server = await start({ data });
  let { expect } = await client(server);
  assert.equal((await expect(200, 'GET', '/scene')).json.name, 'Cone over cylinder', 'the first of the gallery');
  await expect(200, 'POST', '/scene/open', { scene: 'sphere' });
  await expect(201, 'POST', '/scene/save', { name: 'first' });
  await expect(200, 'PATCH', '/scene', { name: 'Second', description: 'naïve café ✓' });
  await expect(201, 'POST', '/scene/save', { name: 'second' });
  const before = (await expect(200, 'GET', '/scene')).json;
  await server.stop();
  server = await start({ data });
  ({ expect } = await client(server));
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, before);
  const list = (await expect(200, 'GET', '/scenes')).json;
  assert.deepEqual(
    list.filter((s) => s.saved).map((s) => s.file),
    ['first', 'second'],
  );
  assert.equal(list[0].saved, false, 'the gallery comes first');
  const { json, headers } = await expect(200, 'GET', '/scenes/second');
  assert.equal(json.format, 'guideway-scene/1');
  assert.match(headers.etag, /^"s\d+"$/);
  await server.stop();
  rmSync(data, { recursive: true });
});

test('names cannot lead out of the folder', async () => {
  const server = await start();
  const { expect } = await client(server);
  const names = {
    '../../evil': 'evil',
    '.hidden': 'hidden',
    'a/b\\c': 'a-b-c',
    'Ünï cødé': 'n-c-d',
    ['x'.repeat(200)]: 'x'.repeat(64),
    '  two  words ': 'two-words',
  };
  for (const [name, file] of Object.entries(names)) {
    const { headers } = await expect(201, 'POST', '/scene/save', { name });
    assert.equal(headers.location, `/api/v1/scenes/${file}`);
  }
  for (const name of ['', '..', '...', '✓', '/', '\n']) await expect(400, 'POST', '/scene/save', { name });
  assert.deepEqual((await saved(server)).sort(), Object.values(names).sort());
  assert.deepEqual(
    readdirSync(server.folder).filter((f) => !/^(guideway\.db(-wal)?|lock|scenes)$/.test(f)),
    [],
  );
  for (const scene of ['../../../etc/passwd', '/etc/passwd', '.hidden', 'evil.json', ''])
    await expect(404, 'POST', '/scene/open', { scene });
  await server.stop();
});

test('an escaped slash in an address leads to no file outside the folder', async (t) => {
  const data = folder();
  writeFileSync(join(data, 'outside.json'), JSON.stringify({ name: 'Not a scene of this folder' }));
  const server = await start({ data });
  t.after(() => server.stop('SIGKILL'));
  for (const [method, path, body] of [
    ['GET', '', undefined],
    ['GET', '/versions', undefined],
    ['POST', '/restore', {}],
    ['DELETE', '', undefined],
  ]) {
    const { status, text } = await request(server, method, `/api/v1/scenes/..%2Foutside${path}`, body);
    assert.equal(status, 404, `${method} ${path}`);
    assert.doesNotMatch(text, /Not a scene/);
  }
  assert.deepEqual(await saved(server), []);
  assert.ok(existsSync(join(data, 'outside.json')));
});

test('a pipe in the place of a file holds nobody up', async (t) => {
  const data = folder();
  mkdirSync(join(data, 'scenes'));
  spawnSync('mkfifo', [join(data, 'scenes/pipe.json')]);
  const server = await start({ data });
  t.after(() => server.stop('SIGKILL'));
  assert.match((await request(server, 'GET', '/api/v1/scenes')).json.at(-1).description, /damaged/);
  assert.equal((await request(server, 'POST', '/api/v1/scene/open', { scene: 'pipe' })).status, 500);
});

test('a scene of as many objects as there can be is saved, opened, run and started with', {
  timeout: 120000,
}, async () => {
  const data = folder(),
    server = await start({ data });
  const { expect } = await client(server);
  const pose = (i) => ({ p: [(i % 64) / 7, Math.floor(i / 64) / 7, i / 3], q: [1, 0, 0, 0] });
  const objects = Array.from({ length: 4096 }, (_, i) => ({
    id: `a-box-with-a-name-of-its-own-${i}`,
    geometry: { type: 'box', size: [0.1 / 3, 0.2 / 3, 0.1] },
    pose: pose(i),
    fixed: true,
  }));
  await expect(200, 'PUT', '/scene', { format: 'guideway-scene/1', name: 'Large', objects: objects.slice(0, 2048) });
  for (let at = 2048; at < 4096; at += 512) {
    // a body has at most 1 MiB
    const { json } = await request(server, 'GET', '/api/v1/scene');
    const short = [...json.objects, ...objects.slice(at, at + 512)].map(({ id, geometry, pose, fixed }) => ({
      id,
      geometry,
      pose: { p: pose.p },
      fixed,
    }));
    await expect(200, 'PUT', '/scene', { ...json, objects: short });
  }
  const before = await request(server, 'GET', '/api/v1/scene');
  assert.equal(before.json.objects.length, 4096);
  assert.ok(before.text.length > 1 << 20, `${before.text.length} bytes`);
  assert.equal((await request(server, 'POST', '/api/v1/scene/save', { name: 'large' })).status, 201);
  assert.equal((await request(server, 'POST', '/api/v1/scene/open', { scene: 'paper-plane' })).status, 200);
  assert.equal((await request(server, 'POST', '/api/v1/scene/open', { scene: 'large' })).status, 200);
  assert.deepEqual((await request(server, 'GET', '/api/v1/scene')).json, before.json);
  const file = (await request(server, 'GET', '/api/v1/scenes/large')).text;
  assert.deepEqual(JSON.parse(file), before.json);
  await server.stop();
  writeFileSync(join(data, 'large.json'), file);
  const run = spawnSync(guideway, ['run', join(data, 'large.json'), '--seconds', '0.002'], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  const again = await start({ args: ['--scene', join(data, 'large.json')] });
  assert.equal((await request(again, 'GET', '/api/v1/scene')).json.objects.length, 4096);
  await again.stop();
  rmSync(data, { recursive: true });
});

test('a value left behind by a change of type is no reason not to open a scene', async () => {
  const data = folder();
  const scene = JSON.parse(readFileSync(join(root, 'scenes/cone-on-cylinder.json')));
  scene.constraints = [{ id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top', value: 0.03 }];
  mkdirSync(join(data, 'scenes'));
  writeFileSync(join(data, 'scenes/older.json'), JSON.stringify(scene));
  const server = await start({ data });
  const { expect } = await client(server);
  await expect(200, 'POST', '/scene/open', { scene: 'older' });
  const [c] = (await expect(200, 'GET', '/constraints')).json;
  assert.deepEqual([c.type, c.value ?? 0], ['coincident', 0]);
  await server.stop();
  rmSync(data, { recursive: true });
});

test('a data folder has one server', async () => {
  const data = folder(),
    server = await start({ data });
  const second = () =>
    spawnSync(guideway, ['serve', '--listen', '127.0.0.1:0', '--data', data], { encoding: 'utf8', timeout: 20000 });
  const { status, stderr } = second();
  assert.equal(status, 2, stderr);
  assert.ok(stderr.includes(`another server uses the data folder ${data}`), stderr);
  await request(server, 'POST', '/api/v1/scene/save', { name: 'still here' });
  assert.equal((await request(server, 'GET', '/api/v1/scenes/still-here')).status, 200);
  await server.stop('SIGKILL'); // the lock ends with the process
  const again = await start({ data });
  await again.stop();
  rmSync(data, { recursive: true });
});

test('a data folder that cannot be written in is refused by name', () => {
  const { status, stderr } = spawnSync(guideway, ['serve', '--listen', '127.0.0.1:0', '--data', '/proc/guideway'], {
    encoding: 'utf8',
    timeout: 20000,
  });
  assert.equal(status, 1, stderr);
  assert.match(stderr, /\/proc\/guideway/);
});

test('a damaged file is listed as such, refused by name, and no reason not to start', async () => {
  const data = folder();
  mkdirSync(join(data, 'scenes'));
  writeFileSync(join(data, 'scenes/broken.json'), '{"format":"guideway-scene/1","obj');
  writeFileSync(join(data, 'scenes/future.json'), '{"format":"guideway-scene/9","name":"Future","objects":[]}');
  const server = await start({ data });
  const { expect } = await client(server);
  assert.match(server.log(), /cannot be opened/);
  assert.match((await expect(200, 'GET', '/scenes')).json.find((s) => s.file === 'broken').description, /damaged/);
  const { status } = await request(server, 'POST', '/api/v1/scene/open', { scene: 'broken' });
  assert.equal(status, 500);
  const future = await expect(400, 'POST', '/scene/open', { scene: 'future' });
  assert.equal(future.json.errors[0].pointer, '/format');
  await server.stop();
  rmSync(data, { recursive: true });
});

test('killed while saving: the old scene or the new one, never half of one', async () => {
  const data = folder();
  const objects = (n) =>
    Array.from({ length: 400 }, (_, i) => ({ id: `o${i}`, geometry: { type: 'sphere', radius: n + 1 }, fixed: true }));
  for (let round = 0; round < 6; round++) {
    const server = await start({ data });
    await request(server, 'PUT', '/api/v1/scene', {
      format: 'guideway-scene/1',
      name: `Round ${round}`,
      objects: objects(round),
    });
    if (round === 0) await request(server, 'POST', '/api/v1/scene/save', { name: 'kept' });
    const saves = Array.from({ length: 40 }, () =>
      request(server, 'POST', '/api/v1/scene/save', { name: 'kept' }).catch(() => null),
    );
    await sleep(10 + 15 * round);
    await server.stop('SIGKILL');
    await Promise.all(saves);
    const reader = await start({ data });
    const { json: scene } = await request(reader, 'GET', '/api/v1/scenes/kept');
    assert.equal(new Set(scene.objects.map((o) => o.geometry.radius)).size, 1, 'all of one round');
    assert.equal(scene.objects.length, 400);
    assert.match((await request(reader, 'GET', '/api/v1/scene')).json.name, /^Round/);
    assert.deepEqual(await saved(reader), ['kept']);
    await reader.stop();
  }
  rmSync(data, { recursive: true });
});

test('killed while deleting, restoring, undoing and redoing: each is done or has not happened', async () => {
  const data = folder();
  const objects = (n) =>
    Array.from({ length: 200 }, (_, i) => ({ id: `o${i}`, geometry: { type: 'sphere', radius: n + 1 }, fixed: true }));
  const one = (list) => assert.deepEqual([list.length, new Set(list.map((o) => o.geometry.radius)).size], [200, 1]);
  for (let round = 0; round < 6; round++) {
    const server = await start({ data });
    for (const n of [0, 1]) {
      const scene = { format: 'guideway-scene/1', name: `Round ${round}`, objects: objects(2 * round + n) };
      await request(server, 'PUT', '/api/v1/scene', scene);
      await request(server, 'POST', '/api/v1/scene/save', { name: 'kept' });
    }
    let revision = 0,
      going = true;
    const repeat = async (...ways) => {
      for (let i = 0; going; i = (i + 1) % ways.length) {
        const { status, json } = await request(server, ...ways[i]).catch(() => (going = false) || {});
        if (status === 200 && json.revision) revision = json.revision;
      }
    };
    const all = [
      repeat(['DELETE', '/api/v1/scenes/kept'], ['POST', '/api/v1/scenes/kept/restore', {}]),
      repeat(['POST', '/api/v1/scene/undo'], ['POST', '/api/v1/scene/redo']),
    ];
    await sleep(10 + 15 * round);
    await server.stop('SIGKILL');
    going = false;
    await Promise.all(all);
    const reader = await start({ data });
    const { json: versions } = await request(reader, 'GET', '/api/v1/scenes/kept/versions');
    const now = versions.filter((v) => v.replaced === undefined);
    assert.ok(now.length <= 1, JSON.stringify(versions));
    assert.deepEqual(await saved(reader), now.length ? ['kept'] : []);
    if (!now.length)
      assert.equal((await request(reader, 'POST', '/api/v1/scenes/kept/restore', {})).status, 200, `round ${round}`);
    one((await request(reader, 'GET', '/api/v1/scenes/kept')).json.objects);
    const { headers, json: scene } = await request(reader, 'GET', '/api/v1/scene');
    one(scene.objects);
    assert.ok(Number(headers.etag.slice(1, -1)) >= revision, `${headers.etag}, acknowledged ${revision}`);
    await reader.stop();
  }
  rmSync(data, { recursive: true });
});

test('a folder that is gone: an error that says so, and nothing else happens', async () => {
  const server = await start({ data: folder() });
  const before = (await request(server, 'GET', '/api/v1/scene')).json;
  rmSync(server.folder, { recursive: true });
  const { status, json } = await request(server, 'POST', '/api/v1/scene/save', { name: 'lost' });
  assert.equal(status, 500);
  assert.match(json.detail, /cannot save .*lost/);
  const edit = await request(server, 'PATCH', '/api/v1/scene', { name: 'Lost' });
  assert.equal(edit.status, 500);
  assert.match(edit.json.detail, /taken away/);
  assert.deepEqual((await request(server, 'GET', '/api/v1/scene')).json, before);
  await server.stop();
});

test('a disk that is full: what was saved stays, the document too', async (t) => {
  const data = folder(),
    server = await start({ data });
  t.after(() => server.stop('SIGKILL'));
  const { call, expect } = await client(server);
  await expect(201, 'POST', '/scene/save', { name: 'kept' });
  const { json: before, headers } = await expect(200, 'GET', '/scenes/kept');
  const document = await expect(200, 'GET', '/scene');
  // a limit on file size stands in for a full disk: prlimit works on a running process
  const limit = (bytes) =>
    spawnSync('prlimit', ['--pid', String(server.pid), `--fsize=${bytes}:unlimited`]).status === 0;
  if (!limit(100)) return t.skip('no prlimit here');
  for (const [method, path, body] of [
    ['POST', '/scene/save', { name: 'kept' }],
    ['POST', '/scene/save', { name: 'other' }],
    ['DELETE', '/scenes/kept'],
    ['PATCH', '/scene', { name: 'Never' }],
    ['DELETE', '/tool'],
    ['POST', '/scene/open', { scene: 'sphere' }],
  ]) {
    const { status, json } = await call(method, path, body);
    assert.ok(status === 500 || status === 507, `${method} ${path}: ${status}`);
    assert.match(json.detail, /nothing was changed/);
  }
  assert.deepEqual((await expect(200, 'GET', '/scenes/kept')).json, before);
  assert.equal((await expect(200, 'GET', '/scenes/kept')).headers.etag, headers.etag);
  const now = await expect(200, 'GET', '/scene');
  assert.deepEqual([now.json, now.headers.etag], [document.json, document.headers.etag]);
  assert.deepEqual(await saved(server), ['kept']);
  assert.ok(
    (await expect(200, 'GET', '/events')).json.some((e) => e.kind === 'storage' && e.severity === 'error'),
    'an event tells',
  );
  limit('unlimited'); // there is room again
  await expect(200, 'PATCH', '/scene', { name: 'After' });
  const last = await expect(200, 'GET', '/scene');
  assert.equal((await server.stop()).code, 0);
  const again = await start({ data }),
    back = await request(again, 'GET', '/api/v1/scene');
  assert.deepEqual([back.json, back.headers.etag], [last.json, last.headers.etag]);
  await again.stop();
  rmSync(data, { recursive: true });
});

test('two names that are written alike have a file each', async () => {
  const server = await start();
  const { expect } = await client(server);
  const save = async (name) => (await expect(201, 'POST', '/scene/save', { name })).headers.location.split('/').pop();
  assert.deepEqual([await save('a/b'), await save('a b'), await save('a?b')], ['a-b', 'a-b-2', 'a-b-3']);
  assert.deepEqual(
    [await save('a b'), await save('a/b'), await save('a-b')],
    ['a-b-2', 'a-b', 'a-b'],
    'each finds its own',
  );
  assert.deepEqual(
    [await save(`${'x'.repeat(63)}/y`), await save(`${'x'.repeat(63)} y`)],
    ['x'.repeat(63), `${'x'.repeat(62)}-2`],
  );
  await server.stop();
});

test('a name may be of any script', async () => {
  const server = await start();
  const { expect } = await client(server);
  const save = async (name) => (await expect(201, 'POST', '/scene/save', { name })).headers.location.split('/').pop();
  assert.deepEqual([await save('日本語'), await save('маятник'), await save('日本語')], ['scene', 'scene-2', 'scene']);
  await expect(400, 'POST', '/scene/save', { name: '«»' });
  await expect(404, 'DELETE', `/scenes/${encodeURIComponent('日本語')}`);
  assert.deepEqual((await saved(server)).sort(), ['scene', 'scene-2']);
  await server.stop();
});

test('saving over another scene: a condition that is stated is heeded', async () => {
  const server = await start();
  const { expect } = await client(server);
  const save = (status, headers) => expect(status, 'POST', '/scene/save', { name: 'mine' }, headers);
  await save(412, { 'if-match': '*' });
  await save(201, { 'if-none-match': '*' });
  await save(412, { 'if-none-match': '*' });
  const tag = async () => (await expect(200, 'GET', '/scenes/mine')).headers.etag;
  const first = await tag();
  await save(201, { 'if-match': first });
  await save(412, { 'if-match': first });
  assert.notEqual(await tag(), first);
  await save(201, { 'if-match': '*' });
  await save(201, { 'if-match': (await expect(200, 'GET', '/scene')).headers.etag });
  await save(412, { 'if-match': '"0"' });
  await save(201);
  await server.stop();
});

test('a saved scene is deleted or restored as it was seen: If-Match', async () => {
  const server = await start();
  const { expect } = await client(server);
  const save = async () => {
    await expect(201, 'POST', '/scene/save', { name: 'seen' });
    return (await expect(200, 'GET', '/scenes/seen')).headers.etag;
  };
  const first = await save(),
    second = await save();
  for (const stale of [first, '"0"', `W/${second}`]) {
    const { json } = await expect(412, 'DELETE', '/scenes/seen', undefined, { 'if-match': stale });
    assert.match(json.detail, /seen is saved as version "s/);
    await expect(412, 'POST', '/scenes/seen/restore', { version: 1 }, { 'if-match': stale });
    await expect(412, 'POST', '/scenes/seen/restore', {}, { 'if-match': stale });
  }
  const third = (await expect(200, 'POST', '/scenes/seen/restore', {}, { 'if-match': second })).headers.etag;
  assert.notEqual(third, second);
  await expect(204, 'DELETE', '/scenes/seen', undefined, { 'if-match': `"0", ${third}` });
  for (const gone of ['*', third]) await expect(412, 'POST', '/scenes/seen/restore', {}, { 'if-match': gone });
  await expect(200, 'POST', '/scenes/seen/restore', {});
  await expect(204, 'DELETE', '/scenes/seen', undefined, { 'if-match': '*' });
  await server.stop();
});

test('what was saved over or deleted can be brought back', async () => {
  const data = folder();
  let server = await start({ data }),
    { expect } = await client(server);
  const names = ['One', 'Two', 'Three'];
  for (const name of names) {
    await expect(200, 'PATCH', '/scene', { name });
    await expect(201, 'POST', '/scene/save', { name: 'kept' });
  }
  const versions = async () => (await expect(200, 'GET', '/scenes/kept/versions')).json;
  const name = async () => (await expect(200, 'GET', '/scenes/kept')).json.name;
  assert.deepEqual(
    (await versions()).map((v) => v.name),
    ['Three', 'Two', 'One'],
  );
  assert.deepEqual(
    (await versions()).map((v) => v.replaced === undefined),
    [true, false, false],
  );
  assert.equal((await expect(200, 'POST', '/scenes/kept/restore', {})).json.name, 'Two');
  assert.equal(await name(), 'Two');
  await expect(204, 'DELETE', '/scenes/kept');
  await expect(404, 'GET', '/scenes/kept');
  await server.stop('SIGKILL');
  server = await start({ data });
  ({ expect } = await client(server));
  await expect(404, 'GET', '/scenes/kept');
  await expect(200, 'POST', '/scenes/kept/restore', {});
  assert.equal(await name(), 'Two', 'deleted and back');
  await expect(200, 'POST', '/scenes/kept/restore', { version: (await versions()).at(-1).version });
  assert.equal(await name(), 'One');
  await expect(404, 'POST', '/scenes/kept/restore', { version: 4711 });
  for (let i = 0; i < 25; i++) await expect(201, 'POST', '/scene/save', { name: 'kept' });
  assert.equal((await versions()).length, 21, 'the newest and twenty former ones');
  await server.stop();
  rmSync(data, { recursive: true });
});

test('a file that is put into the folder is a scene, again when it changes', async () => {
  const server = await start();
  const { expect } = await client(server);
  const put = (name) =>
    writeFileSync(
      join(server.folder, 'scenes/mine.json'),
      JSON.stringify({ format: 'guideway-scene/1', name, objects: [] }),
    );
  const listed = async () => (await expect(200, 'GET', '/scenes')).json.find((s) => s.file === 'mine');
  put('First');
  assert.deepEqual([(await listed()).name, (await listed()).saved], ['First', true]);
  put('Second, longer');
  assert.equal((await expect(200, 'POST', '/scene/open', { scene: 'mine' })).json.name, 'Second, longer');
  assert.deepEqual(
    (await expect(200, 'GET', '/scenes/mine/versions')).json.map((v) => v.name),
    ['Second, longer', 'First'],
  );
  await expect(204, 'DELETE', '/scenes/mine');
  assert.equal(await listed(), undefined);
  await server.stop();
});

const whole = readFileSync(join(root, 'scenes/sphere.json'));
const damaged = {
  'nothing in it': ['', /not JSON/],
  'cut in the middle': [whole.subarray(0, whole.length / 2), /not JSON/],
  'bytes that are no text': [Buffer.from([0x1f, 0x8b, 0x08, 0x00, 0xff, 0xfe]), /not JSON/],
  'zeros, as a crash may leave': [Buffer.alloc(4096), /not JSON/],
  'a later format': ['{"format":"guideway-scene/9","objects":[]}', /\/format/],
  "another program's": ['{"version":3,"nodes":[]}', /version|format/],
  'a list': ['[1, 2]', /object/],
  'deeper than anyone writes': ['['.repeat(100000), /deeper/],
  'larger than any scene': [`{"name":"${'x'.repeat(33 << 20)}"}`, /at most/],
  'a constraint on nothing': [
    '{"format":"guideway-scene/1","objects":[],"constraints":[{"type":"coincident","a":"x/y","b":"z/w"}]}',
    /constraints/,
  ],
};

for (const [what, [content, words]] of Object.entries(damaged))
  test(`the newest file is damaged, ${what}: the gallery opens, and a word why`, async (t) => {
    const data = folder();
    mkdirSync(join(data, 'scenes'));
    writeFileSync(join(data, 'scenes/worn.json'), content);
    const server = await start({ data });
    t.after(() => server.stop('SIGKILL'));
    const { expect } = await client(server);
    assert.equal((await expect(200, 'GET', '/scene')).json.name, 'Cone over cylinder');
    assert.match(server.log(), /^guideway: the saved scene worn cannot be opened: ./);
    assert.match(server.log(), words);
    assert.ok(
      (await expect(200, 'GET', '/scenes')).json.some((s) => s.file === 'worn'),
      'it is listed',
    );
    const { status } = await request(server, 'POST', '/api/v1/scene/open', { scene: 'worn' });
    assert.ok(status >= 400, `opened with ${status}`);
    await expect(201, 'POST', '/scene/save', { name: 'worn' }); // and can be replaced
    await server.stop();
    const again = await start({ data });
    assert.equal(again.log(), '');
    await again.stop();
    rmSync(data, { recursive: true });
  });

test('a folder or a closed door in the place of a file', async (t) => {
  const data = folder();
  mkdirSync(join(data, 'scenes/odd.json'), { recursive: true });
  const server = await start({ data });
  t.after(() => server.stop('SIGKILL'));
  assert.match(server.log(), /odd cannot be opened: ./);
  assert.equal((await request(server, 'GET', '/api/v1/scenes')).status, 200);
  assert.equal((await request(server, 'POST', '/api/v1/scene/open', { scene: 'odd' })).status, 500);
  assert.match(
    (await request(server, 'GET', '/api/v1/scenes')).json.find((s) => s.file === 'odd').description,
    /damaged/,
  );
  assert.equal(
    (await request(server, 'POST', '/api/v1/scene/save', { name: 'odd' })).status,
    201,
    'a scene of that name can be saved',
  );
  assert.equal((await request(server, 'POST', '/api/v1/scene/open', { scene: 'odd' })).status, 200);
  assert.deepEqual(readdirSync(join(data, 'scenes')), ['odd.json'], 'what is no file of ours stays');
  await server.stop();
  rmSync(data, { recursive: true });
});

test('a scene asked for by name that is damaged: exit 2 and a word why', () => {
  const data = folder(),
    file = join(data, 'cut.json');
  writeFileSync(file, whole.subarray(0, whole.length / 2));
  const { status, stderr } = spawnSync(
    guideway,
    ['serve', '--listen', '127.0.0.1:0', '--data', data, '--scene', file],
    { encoding: 'utf8', timeout: 20000 },
  );
  assert.equal(status, 2, stderr);
  assert.match(stderr, /cut\.json: not JSON/);
  rmSync(data, { recursive: true });
});
