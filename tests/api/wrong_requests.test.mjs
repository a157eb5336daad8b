// Every route with a request that is wrong in one thing: a member of a wrong type, unknown or out of range, a missing
// body, nesting, rubbish in a header. None is answered with a 5xx, each refusal is a problem that names the place,
// and a refused request has changed nothing. A share of all that there are, always the same: GUIDEWAY_FUZZ_SEED makes
// others, GUIDEWAY_FUZZ_SHARE=1 all of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generator } from './random.mjs';
import { client, request, start } from './server.mjs';

const seed = Number(process.env.GUIDEWAY_FUZZ_SEED ?? 1);
const SHARE = Number(process.env.GUIDEWAY_FUZZ_SHARE ?? 0.04);
const { chance } = generator(seed);

// As JSON text, since some are none.
const ODD = [
  'null',
  'true',
  '-1',
  '0',
  '1e308',
  '-1e308',
  '1e999',
  '1.5',
  '""',
  '"no/such"',
  '[]',
  '{}',
  '[[[]]]',
  '"\\u0000"',
];
ODD.push(
  `"${'a'.repeat(300)}"`,
  '99999999999999999999',
  '{"colour":1}',
  `${'['.repeat(40)}${']'.repeat(40)}`,
  'NaN',
  "'x'",
);

const all = {
  format: 'guideway-scene/1',
  name: 'All',
  materials: [{ id: 'rubber', friction: 0.5 }],
  objects: [
    { id: 'cylinder', geometry: { type: 'cylinder', radius: 0.1, height: 0.2 }, fixed: true },
    {
      id: 'cone',
      geometry: { type: 'cone', radius: 0.04, height: 0.1 },
      pose: { p: [0.1, 0, 0.3] },
      body: { mass: 2 },
    },
    { id: 'door', free: true, geometry: { type: 'box', size: [0.5, 0.02, 0.4] }, pose: { p: [0, 1, 0.2] } },
  ],
  features: [{ id: 'cone/grip', point: [0, 0, 0.05] }],
  constraints: [{ id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top', sense: 'opposite' }],
  joints: [{ id: 'hinge', type: 'revolute', a: { object: 'door' }, b: { object: 'world', at: { p: [0, 1, 0.2] } } }],
  springs: [{ id: 'coil', a: { object: 'door' }, b: { object: 'world' }, stiffness: 10, length: 1 }],
  mechanisms: [
    {
      id: 'arm',
      base: { p: [2, 0, 0] },
      links: [0, 1].map(() => ({
        joint: { type: 'revolute', origin: { p: [0.4, 0, 0] }, axis: [0, 0, 1] },
        mass: 1,
        com: [0.1, 0, 0],
        inertia: [0.01, 0.01, 0.01, 0, 0, 0],
      })),
    },
  ],
  tool: { object: 'cone', device: 'sim' },
  devices: [{ id: 'sim', driver: 'sim' }],
  tasks: [{ id: 'lift', name: 'Lift', object: 'cone', steps: [{ type: 'wait', seconds: 0.2 }] }],
};

const entries = {
  objects: 'cone',
  constraints: 'c1',
  joints: 'hinge',
  springs: 'coil',
  devices: 'sim',
  materials: 'rubber',
};
Object.assign(entries, { mechanisms: 'arm', tasks: 'lift', scenes: 'mine', meshes: 'wedge.obj', solutions: 'cone' });
const address = (path) =>
  path
    .replace('/api/v1', '')
    .replace('{object}/{feature}', 'cone/grip')
    .replace('/loop/faults/{id}', '/loop/faults/1')
    .replace('{link}', '1')
    .replace(/^\/(\w+)\/\{\w+\}/, (_, name) => `/${name}/${entries[name]}`);

// The pointers of all members and entries of a value.
function* places(value, at = '') {
  if (value === null || typeof value !== 'object') return;
  for (const [name, part] of Object.entries(value)) {
    yield `${at}/${name}`;
    yield* places(part, `${at}/${name}`);
  }
}

// The value as JSON text, with `text` in place of what is at the pointer; null: without it.
function changed(value, pointer, text) {
  if (pointer === '') return text;
  const [, name, rest] = /^\/([^/]*)(.*)$/s.exec(pointer);
  const parts = Object.entries(value)
    .filter(([key]) => rest !== '' || key !== name || text !== null)
    .map(([key, part]) => [key, key === name ? changed(part, rest, text) : JSON.stringify(part)]);
  if (!(name in value)) parts.push([name, text]);
  return Array.isArray(value)
    ? `[${parts.map(([, part]) => part).join(',')}]`
    : `{${parts.map(([key, part]) => `${JSON.stringify(key)}:${part}`).join(',')}}`;
}

test('a request that is wrong in one thing is refused by name, and changes nothing', { timeout: 900000 }, async (t) => {
  const server = await start();
  t.after(() => server.stop('SIGKILL'));
  const { contract, expect } = await client(server);
  const wrong = [];
  let sent = 0,
    refused = 0;
  const put = async () => {
    await expect(200, 'PUT', '/scene', all);
    await expect(201, 'POST', '/scene/save', { name: 'mine' });
  };
  await put();
  const scene = async () => (await expect(200, 'GET', '/scene')).text;
  let before = await scene();
  // Sends it, where it is one of the share; `place` is where the body is wrong, undefined where the error may be anywhere.
  const send = async (method, path, body, given, place) => {
    if (!chance(SHARE)) return;
    const headers = { ...given };
    if (body !== undefined) headers['content-length'] = Buffer.byteLength(body); // which node leaves out of a DELETE
    const what = `${method} ${path} ${body?.slice(0, 300)} ${JSON.stringify(headers)}`;
    const reply = await request(server, method, `/api/v1${path}`, body, headers);
    sent++;
    if (reply.status < 400) {
      if (method !== 'GET' && (await scene()) !== before) {
        await put();
        before = await scene();
      }
      return;
    }
    refused++;
    contract.check(method, `/api/v1${path}`, body, reply);
    const said = `${what}: ${reply.status} ${reply.text.slice(0, 400)}`;
    const { detail, errors } = reply.json;
    if (reply.status >= 500 && reply.status !== 501) wrong.push(said);
    if (!detail || !errors?.length || errors.some((e) => !e.detail)) wrong.push(`${said} (says nothing)`);
    if (reply.status !== 412 && (await scene()) !== before) wrong.push(`${said} (changed the scene)`);
    // what is no JSON is refused by line and column
    if (reply.status === 400 && place !== undefined && !/^(not JSON, )?line \d+ column \d+: /.test(detail)) {
      const near = ({ pointer }) => pointer.startsWith(place) || place.startsWith(pointer);
      if (!errors.some(near)) wrong.push(`${said} (not at ${place})`);
      else if (errors.every((e) => e.pointer === '') && place.split('/').length > 2)
        wrong.push(`${said} (names no place)`);
    }
  };
  for (const [route, item] of Object.entries(contract.document.paths))
    for (const [name, operation] of Object.entries(item)) {
      const method = name.toUpperCase(),
        path = address(route),
        example = operation.requestBody?.content['application/json']?.example;
      if (path === '/simulation/halt') continue; // it halts whatever comes with it
      for (const tag of ['rubbish', '"', '""', 'W/"1"', '"99999999999999999999"', '"1".', ',,,'])
        await send(method, path, example && JSON.stringify(example), { 'if-match': tag });
      for (const key of ['', '"', 'a'.repeat(500)])
        if (method === 'POST') await send(method, path, example && JSON.stringify(example), { 'idempotency-key': key });
      for (const header of [
        { 'if-none-match': '"' },
        { 'content-type': 'application/json; charset=x' },
        { accept: 'x' },
      ])
        await send(method, path, example && JSON.stringify(example), header);
      if (method !== 'GET') for (const body of ['{"colour":1}', '{', '7', 'null', '[]']) await send(method, path, body);
      if (!example) continue;
      await send(method, path);
      await send(method, path, '{}');
      for (const place of ['', ...places(example)]) {
        // a list without entries is wrong where something refers to them, as is a member that a merge patch removes
        for (const odd of ODD)
          await send(
            method,
            path,
            changed(example, place, odd),
            {},
            odd === '[]' || odd === 'null' ? undefined : place,
          );
        if (place) await send(method, path, changed(example, place, null), {});
        const part = place
          .split('/')
          .slice(1)
          .reduce((whole, key) => whole[key], example);
        if (part !== null && typeof part === 'object' && !Array.isArray(part))
          await send(method, path, changed(example, `${place}/colour`, '1'), {}, place);
      }
    }
  console.log(`# ${sent} requests, ${refused} refused, seed ${seed}`);
  assert.deepEqual(wrong, []);
  assert.ok(refused > sent / 2 && sent > 5000 * SHARE, `${refused} of ${sent} refused`);
  assert.equal((await expect(200, 'GET', '/simulation')).json.halted, false);
  assert.equal((await server.stop()).code, 0);
});
