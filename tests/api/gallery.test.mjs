// Every bundled scene over REST: what is read of it is as the document says, and says the same where
// it is sent back as it was read, where it is taken away and brought back, and where that is undone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client, start, until } from './server.mjs';

const MOST = 2; // entries of each collection that are tried
let server, expect, call;
before(async () => {
  server = await start();
  ({ expect, call } = await client(server));
});
after(() => server?.stop());

const scene = async () => JSON.stringify((await expect(200, 'GET', '/scene')).json);
const address = (collection, id) => `/${collection}/${id.split('/').map(encodeURIComponent).join('/')}`;

// Members that an answer has besides the entry.
const read = ['state', 'info', 'progress', 'derived', 'rendered'];
const entry = (json) => Object.fromEntries(Object.entries(json).filter(([name]) => !read.includes(name)));

async function sentBack(path, method = 'PATCH') {
  const got = (await expect(200, 'GET', path)).json;
  const answered = (await expect(200, method, path, got)).json;
  assert.deepEqual(entry(answered), entry(got), `${method} ${path}`);
  return got;
}

async function takenAway(collection, path, got) {
  const before = await scene();
  const taken = await call('DELETE', path);
  assert.ok([204, 409].includes(taken.status), `${path}: ${taken.text}`); // 409: others refer to it
  if (taken.status === 409) return;
  const put = await expect(201, 'POST', `/${collection}`, entry(got));
  assert.equal(decodeURIComponent(put.headers.location), decodeURIComponent(`/api/v1${path}`));
  await expect(200, 'POST', '/scene/undo');
  await expect(200, 'POST', '/scene/undo');
  assert.equal(await scene(), before, `${path} is there again`);
}

const collections = [
  'objects',
  'features',
  'constraints',
  'joints',
  'springs',
  'devices',
  'mechanisms',
  'materials',
  'tasks',
];

async function tried() {
  const whole = await scene();
  await expect(200, 'PUT', '/scene', JSON.parse(whole));
  assert.equal(await scene(), whole);
  for (const collection of collections) {
    const list = (await expect(200, 'GET', `/${collection}`)).json;
    for (const { id } of list.filter(({ derived }) => !derived).slice(0, MOST)) {
      const path = address(collection, id);
      await takenAway(collection, path, await sentBack(path));
    }
  }
  if ((await call('GET', '/tool')).status === 200)
    for (const method of ['PATCH', 'PUT']) await sentBack('/tool', method);
  await sentBack('/contact');
  for (const path of ['/solutions', '/tools', '/contacts', '/simulation', '/loop', '/events'])
    await expect(200, 'GET', path);
}

test('what is read of every bundled scene can be sent back', { timeout: 600000 }, async () => {
  for (const { file } of (await expect(200, 'GET', '/scenes')).json) {
    await expect(200, 'POST', '/scene/open', { scene: file });
    await tried();
  }
});

test('every bundled scene begins where it says, and as fast', { timeout: 300000 }, async () => {
  for (const { file } of (await expect(200, 'GET', '/scenes')).json) {
    await expect(200, 'POST', '/scene/open', { scene: file });
    const { json: before } = await expect(200, 'GET', '/events');
    await expect(200, 'PUT', '/simulation', { state: 'running' });
    await until(`${file} runs`, async () => (await expect(200, 'GET', '/simulation')).json.tick > 1);
    await expect(200, 'PUT', '/simulation', { state: 'stopped' });
    const last = Math.max(0, ...before.map(({ seq }) => seq));
    const told = async () => (await expect(200, 'GET', '/events')).json.filter(({ seq }) => seq > last);
    const ends = ({ kind, message }) => kind === 'state' && /stopped/.test(message);
    await until(`${file}: the run's end is told`, async () => (await told()).some(ends));
    const since = await told();
    assert.deepEqual(
      since.filter(({ kind }) => kind === 'projected'),
      [],
      file,
    );
  }
});
