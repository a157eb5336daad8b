// Every route and every status that the OpenAPI document declares, each reply held against it; the
// document and the route table are the same; no schema is open.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { example } from '../../web/public/example.js';
import { client, guideway, raw, request, sleep, start, until } from './server.mjs';

let server, locked, contract, expect, call;
const token = 'a-token-that-is-long-enough';

before(async () => {
  server = await start();
  ({ contract, expect, call } = await client(server));
  const file = join(mkdtempSync(join(tmpdir(), 'guideway-token-')), 'token');
  writeFileSync(file, `${token}\n`);
  locked = await start({ args: ['--token-file', file] });
});

after(async () => {
  await server?.stop();
  await locked?.stop();
});

const scene = {
  format: 'guideway-scene/1',
  name: 'Contract',
  objects: [
    { id: 'cylinder', geometry: { type: 'cylinder', radius: 0.1, height: 0.2 }, fixed: true },
    {
      id: 'cone',
      geometry: { type: 'cone', radius: 0.04, height: 0.1 },
      pose: { p: [0.1, 0, 0.3], q: [1, 0, 0, 0] },
      body: { mass: 2 },
    },
  ],
  tool: { object: 'cone', device: 'sim' },
  devices: [{ id: 'sim', driver: 'sim' }],
};

test('the document and the route table are the same', () => {
  const routes = execFileSync(guideway, ['routes'], { encoding: 'utf8' }).trim().split('\n').sort();
  const declared = Object.entries(contract.document.paths)
    .flatMap(([path, item]) => Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`))
    .sort();
  assert.deepEqual(routes, declared);
});

test('no schema is open', async () => {
  await expect(200, 'GET', '/openapi.json');
  const closed = (schema, where) => {
    if (schema === null || typeof schema !== 'object') return;
    if (schema.type === 'object')
      assert.ok(
        schema.additionalProperties === false || typeof schema.additionalProperties === 'object',
        `${where} is open`,
      );
    else
      assert.ok(
        schema.$ref || schema.type || schema.oneOf || schema.anyOf || schema.enum || 'const' in schema,
        `${where} says nothing`,
      );
    for (const [name, part] of Object.entries(schema.properties ?? {})) closed(part, `${where}/${name}`);
    for (const list of ['oneOf', 'anyOf'])
      (schema[list] ?? []).forEach((part, i) => closed(part, `${where}/${list}/${i}`));
    if (schema.items) closed(schema.items, `${where}/items`);
    if (typeof schema.additionalProperties === 'object') closed(schema.additionalProperties, `${where}/*`);
  };
  for (const [name, schema] of Object.entries(contract.document.components.schemas)) closed(schema, name);
});

// The entries that the examples' addresses and bodies name.
const bench = {
  ...scene,
  objects: [
    ...scene.objects,
    { id: 'door', geometry: { type: 'box', size: [0.2, 0.02, 0.3] }, pose: { p: [1, 1, 0] } },
  ],
  features: [{ id: 'cone/handle', point: [0, 0, 0.05] }],
  constraints: [{ id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top', sense: 'opposite' }],
  joints: [{ id: 'slide', type: 'prismatic', a: { object: 'lift' }, b: { object: 'world' } }],
  springs: [{ id: 'coil', a: { object: 'lift' }, b: { object: 'world', p: [0, 0, 1] }, stiffness: 10 }],
  mechanisms: [
    {
      id: 'arm',
      base: { p: [2, 0, 0] },
      links: [{ joint: { type: 'revolute' }, mass: 1, inertia: [1, 1, 1, 0, 0, 0] }],
    },
  ],
  materials: [{ id: 'steel' }],
  tasks: [{ id: 'rest', object: 'cone', steps: [{ type: 'wait', seconds: 1 }] }],
};
bench.objects.push({ id: 'lift', geometry: { type: 'sphere', radius: 0.1 }, pose: { p: [0, 2, 0] } });
const named = {
  objects: 'cone',
  constraints: 'c1',
  joints: 'slide',
  springs: 'coil',
  devices: 'sim',
  mechanisms: 'arm',
  materials: 'steel',
  tasks: 'rest',
};
const addressOf = (path) =>
  path
    .replace('/api/v1', '')
    .replace('{object}', 'cone')
    .replace('{feature}', 'handle')
    .replace('{link}', '0')
    .replace('{file}', 'restored')
    .replace(/(\w+)\/\{id\}/, (_, collection) => `${collection}/${named[collection]}`);

test('every body has an example, which is right and does what it says', async (t) => {
  const own = await start(); // what it saves is nobody else's
  t.after(() => own.stop());
  const { contract, expect, call } = await client(own);
  for (const [path, item] of Object.entries(contract.document.paths))
    for (const [method, operation] of Object.entries(item)) {
      const media = operation.requestBody?.content['application/json'];
      if (!media) continue;
      const what = `${method.toUpperCase()} ${path}`;
      assert.ok(media.example !== undefined, `${what} has an example`);
      contract.validate(media.schema, media.example, `${what}: its example`);
      await expect(200, 'PUT', '/scene', bench);
      await expect(200, 'POST', '/simulation/arm'); // a stall turned off the latched device of an example before
      await expect(200, 'PUT', '/simulation', { state: 'paused' });
      if (path.endsWith('/restore')) {
        await expect(201, 'POST', '/scene/save', { name: 'restored' });
        media.example.version = (await expect(200, 'GET', '/scenes/restored/versions')).json[0].version;
        await expect(201, 'POST', '/scene/save', { name: 'restored' });
      }
      const answered = await call(method.toUpperCase(), addressOf(path), media.example);
      assert.ok(answered.status < 300, `${what} ${JSON.stringify(media.example)}: ${answered.text}`);
    }
});

test('what the page of the specification shows for an answer or a schema is one that the schema takes', () => {
  const { document } = contract;
  const shown = (schema, what) => contract.validate(schema, example(document, schema), `${what}: its example`);
  let count = 0;
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item))
      for (const [status, answer] of Object.entries(operation.responses))
        for (const media of Object.values(contract.follow(answer).content ?? {}))
          if (media.schema && ++count) shown(media.schema, `${method} ${path} ${status}`);
  assert.ok(count > 500);
  for (const name of Object.keys(document.components.schemas)) shown({ $ref: `#/components/schemas/${name}` }, name);
});

test('a merge patch knows the members of what it patches', () => {
  const { schemas } = contract.document.components;
  const members = (schema) => Object.keys(schema.properties ?? {}).sort();
  const read = { Constraint: ['state'], Device: ['info'], Task: ['progress'] }; // and what answers have besides
  for (const name of [
    'Body',
    'Constraint',
    'Contact',
    'Device',
    'Joint',
    'Link',
    'Material',
    'Object',
    'Scene',
    'Settings',
    'Task',
  ])
    assert.deepEqual(members(schemas[`${name}Patch`]), [...members(schemas[name]), ...(read[name] ?? [])].sort(), name);
  const motor = schemas.JointPatch.properties.motor.anyOf.find((part) => part.properties);
  assert.deepEqual(members(motor), members(schemas.Motor), 'Motor');
});

test('the scene', async () => {
  await expect(200, 'GET', '/scene');
  await expect(200, 'PUT', '/scene?dryRun=true', scene);
  const put = await expect(200, 'PUT', '/scene', scene);
  assert.equal(put.json.objects.length, 2);
  await expect(200, 'PATCH', '/scene', { gravity: [0, 0, -9.81], name: 'Patched' });
  await expect(200, 'PATCH', '/scene?dryRun=true', { gravity: null });
  await expect(200, 'POST', '/scene/undo');
  await expect(200, 'POST', '/scene/redo');
  await expect(409, 'POST', '/scene/redo');
  await expect(400, 'PUT', '/scene', { ...scene, colour: 'red' });
  await expect(400, 'PATCH', '/scene', { rate: 1 });
  const clash = {
    ...scene,
    constraints: [
      { id: 'c1', type: 'distance', a: 'cone/apex', b: 'cylinder/top', value: 0.1 },
      { id: 'c2', type: 'distance', a: 'cone/apex', b: 'cylinder/top', value: 0.2 },
    ],
  };
  const refused = await expect(422, 'PUT', '/scene', clash);
  assert.equal(refused.json.status, 'incompatible');
  assert.deepEqual(refused.json.conflict.constraints.sort(), ['c1', 'c2']);
  await expect(422, 'PATCH', '/scene', { constraints: clash.constraints });
  const twice = { ...scene, objects: [...scene.objects, scene.objects[0]] };
  assert.equal((await expect(409, 'PUT', '/scene', twice)).json.errors[0].pointer, '/objects/2/id');
  await expect(409, 'PATCH', '/scene', { objects: twice.objects });
});

test('several edits at once', async () => {
  const ball = { method: 'POST', path: '/objects', body: { id: 'ball', geometry: { type: 'sphere', radius: 0.1 } } };
  await expect(200, 'POST', '/scene/edits?dryRun=true', [ball]);
  await expect(200, 'POST', '/scene/edits', [ball, { method: 'DELETE', path: '/objects/ball' }]);
  await expect(409, 'POST', '/scene/edits', [ball, ball]);
  await expect(400, 'POST', '/scene/edits', [{ method: 'DELETE', path: '/objects/ball' }]);
  const distance = (id, value) => ({
    method: 'POST',
    path: '/constraints',
    body: { id, type: 'distance', a: 'cone/apex', b: 'cylinder/top', value },
  });
  await expect(422, 'POST', '/scene/edits', [distance('c1', 0.1), distance('c2', 0.2)]);
});

test('saving and opening', async () => {
  const saved = await expect(201, 'POST', '/scene/save', { name: 'my scene' });
  assert.equal(saved.headers.location, '/api/v1/scenes/my-scene');
  await expect(409, 'POST', '/scene/save', { name: 'paper-plane' });
  await expect(400, 'POST', '/scene/save', { name: '///' });
  const list = await expect(200, 'GET', '/scenes');
  assert.ok(list.json.some((s) => s.file === 'my-scene' && s.saved));
  await expect(200, 'GET', '/scenes/my-scene');
  await expect(404, 'GET', '/scenes/nowhere');
  writeFileSync(
    join(server.folder, 'scenes/clash.json'),
    JSON.stringify({
      ...scene,
      constraints: [
        { id: 'c1', type: 'distance', a: 'cone/apex', b: 'cylinder/top', value: 0.1 },
        { id: 'c2', type: 'distance', a: 'cone/apex', b: 'cylinder/top', value: 0.2 },
      ],
    }),
  );
  await expect(422, 'POST', '/scene/open', { scene: 'clash' });
  await expect(404, 'POST', '/scene/open', { scene: 'nowhere' });
  await expect(400, 'POST', '/scene/open', { scene: 7 });
  await expect(412, 'POST', '/scene/open', { scene: 'my-scene' }, { 'if-match': '"0"' });
  await expect(200, 'POST', '/scene/open', { scene: 'my-scene' });
  await expect(412, 'POST', '/scene/save', { name: 'my scene' }, { 'if-none-match': '*' });
  await expect(204, 'DELETE', '/scenes/my-scene');
  assert.equal((await expect(200, 'GET', '/scenes/my-scene/versions')).json.length, 1);
  await expect(404, 'GET', '/scenes/nowhere/versions');
  await expect(200, 'POST', '/scenes/my-scene/restore', {});
  await expect(200, 'POST', '/scenes/my-scene/restore');
  await expect(400, 'POST', '/scenes/my-scene/restore', { version: 0 });
  const unknown = await expect(404, 'POST', '/scenes/my-scene/restore', { version: 12345 });
  assert.equal(unknown.json.errors[0].pointer, '/version');
  await expect(404, 'POST', '/scenes/nowhere/restore', {});
  await expect(409, 'POST', '/scenes/paper-plane/restore', {});
  await expect(204, 'DELETE', '/scenes/my-scene');
  await expect(404, 'DELETE', '/scenes/my-scene');
  await expect(409, 'DELETE', '/scenes/paper-plane');
  await expect(200, 'PUT', '/scene', scene);
});

test('objects', async () => {
  const box = { id: 'box', geometry: { type: 'box', size: [0.1, 0.2, 0.3] } };
  await expect(200, 'GET', '/objects');
  await expect(200, 'POST', '/objects?dryRun=true', box);
  const made = await expect(201, 'POST', '/objects', box);
  assert.equal(made.headers.location, '/api/v1/objects/box');
  await expect(409, 'POST', '/objects', box);
  await expect(400, 'POST', '/objects', { ...box, id: 'bad', geometry: { type: 'sphere', radius: -1 } });
  await expect(200, 'GET', '/objects/box');
  await expect(404, 'GET', '/objects/nothing');
  await expect(200, 'PATCH', '/objects/box', { id: 'crate', body: { mass: 3 } });
  const round = await expect(200, 'PATCH', '/objects/crate', { geometry: { type: 'sphere', radius: 0.1 } });
  assert.deepEqual(round.json.geometry, { type: 'sphere', radius: 0.1 });
  await expect(200, 'PATCH', '/objects/crate?dryRun=true', { fixed: true });
  await expect(409, 'PATCH', '/objects/crate', { id: 'cone' });
  await expect(404, 'PATCH', '/objects/box', { fixed: true });
  await expect(400, 'PATCH', '/objects/crate', { geometry: { radius: 'wide' } });
  const refused = await expect(409, 'DELETE', '/objects/cone');
  assert.match(refused.json.detail, /tool sim/);
  await expect(200, 'DELETE', '/objects/crate?dryRun=true');
  await expect(204, 'DELETE', '/objects/crate');
  await expect(404, 'DELETE', '/objects/crate');
});

test('features', async () => {
  await expect(200, 'GET', '/features');
  const of = await expect(200, 'GET', '/features?object=cone');
  assert.deepEqual(of.json.map((f) => f.id).sort(), ['cone/apex', 'cone/axis', 'cone/base', 'cone/base-rim']);
  await expect(404, 'GET', '/features?object=nothing');
  await expect(200, 'POST', '/features?dryRun=true', { id: 'cone/rim', point: [0.04, 0, 0] });
  await expect(201, 'POST', '/features', { id: 'cone/rim', point: [0.04, 0, 0] });
  await expect(409, 'POST', '/features', { id: 'cone/rim', point: [0.04, 0, 0] });
  await expect(409, 'POST', '/features', { id: 'cone/base', point: [0.04, 0, 0] });
  await expect(409, 'PUT', '/features/cone/base', { point: [0.04, 0, 0] });
  await expect(400, 'POST', '/features', { id: 'cone/edge', line: { point: [0, 0, 0], direction: [0, 0, 0] } });
  await expect(200, 'GET', '/features/cone/rim');
  await expect(200, 'GET', '/features/cone/apex');
  await expect(404, 'GET', '/features/cone/nose');
  await expect(200, 'PUT', '/features/cone/rim', { point: [0, 0.04, 0] });
  await expect(201, 'PUT', '/features/cone/seam', { line: { point: [0.04, 0, 0], direction: [-4, 0, 10] } });
  await expect(200, 'PUT', '/features/cone/rim?dryRun=true', { point: [0, 0, 0] });
  await expect(400, 'PUT', '/features/cone/rim', { id: 'cone/other', point: [0, 0, 0] });
  await expect(200, 'PATCH', '/features/cone/rim', { plane: { point: [0, 0, 0], normal: [0, 0, 2] } });
  await expect(200, 'PATCH', '/features/cone/rim', { point: [0, 0.04, 0] });
  await expect(200, 'PATCH', '/features/cone/rim?dryRun=true', { point: [0, 0, 0] });
  await expect(400, 'PATCH', '/features/cone/rim', { point: [0, 0] });
  await expect(404, 'PATCH', '/features/cone/nose', { point: [0, 0, 0] });
  await expect(409, 'PATCH', '/features/cone/apex', { point: [0, 0, 0] });
  await expect(201, 'POST', '/constraints', {
    id: 'f1',
    type: 'distance',
    a: 'cone/rim',
    b: 'cylinder/center',
    value: 0.2,
  });
  await expect(201, 'POST', '/constraints', {
    id: 'f2',
    type: 'distance',
    a: 'cone/base',
    b: 'cylinder/top',
    value: 0.05,
    sense: 'same',
  });
  await expect(422, 'PUT', '/features/cone/rim', { point: [0, 0, 9] });
  await expect(422, 'PATCH', '/features/cone/rim', { point: [0, 0, 9] });
  await expect(409, 'DELETE', '/features/cone/rim');
  await expect(204, 'DELETE', '/constraints/f1');
  await expect(204, 'DELETE', '/constraints/f2');
  await expect(200, 'DELETE', '/features/cone/rim?dryRun=true');
  await expect(204, 'DELETE', '/features/cone/rim');
  await expect(404, 'DELETE', '/features/cone/rim');
});

test('constraints', async () => {
  const c1 = { id: 'c1', type: 'coincident', a: 'cone/base', b: 'cylinder/top', sense: 'opposite' };
  await expect(200, 'GET', '/constraints');
  const would = await expect(200, 'POST', '/constraints?dryRun=true', c1);
  assert.equal(would.json.dof, 3);
  assert.equal(would.json.object, 'cone');
  const made = await expect(201, 'POST', '/constraints', c1);
  assert.equal(made.headers.location, '/api/v1/constraints/c1');
  await expect(409, 'POST', '/constraints', c1);
  await expect(400, 'POST', '/constraints', { ...c1, id: 'c9', a: 'cone/nose' });
  const clash = await expect(422, 'POST', '/constraints', {
    id: 'c2',
    type: 'distance',
    a: 'cone/base',
    b: 'cylinder/top',
    value: 0.1,
  });
  assert.equal(clash.json.conflict.message.length > 10, true);
  await expect(200, 'GET', '/constraints/c1');
  await expect(404, 'GET', '/constraints/c2');
  await expect(200, 'PATCH', '/constraints/c1', { enabled: false });
  await expect(201, 'POST', '/constraints', {
    id: 'c2',
    type: 'distance',
    a: 'cone/base',
    b: 'cylinder/top',
    value: 0.1,
  });
  await expect(422, 'PATCH', '/constraints/c1', { enabled: true });
  await expect(409, 'PATCH', '/constraints/c2', { id: 'c1' });
  await expect(404, 'PATCH', '/constraints/c3', { enabled: true });
  await expect(400, 'PATCH', '/constraints/c2', { value: 'far' });
  await expect(200, 'PATCH', '/constraints/c2?dryRun=true', { value: 0.2 });
  await expect(200, 'PATCH', '/scene', {
    tasks: [{ id: 'lift', object: 'cone', steps: [{ type: 'constrain', disable: ['c2'] }] }],
  });
  assert.match((await expect(409, 'DELETE', '/constraints/c2')).json.detail, /task lift/);
  assert.match((await expect(409, 'DELETE', '/objects/cone')).json.detail, /task lift/);
  await expect(200, 'PATCH', '/scene', { tasks: [] });
  const wall = await expect(201, 'POST', '/constraints', {
    id: 'wall',
    type: 'distance',
    bound: 'at-least',
    a: 'cone/apex',
    b: 'cylinder/top',
    value: 0.02,
  });
  assert.equal(wall.json.bound, 'at-least');
  const planes = await expect(201, 'POST', '/constraints', {
    type: 'distance',
    bound: 'at-most',
    a: 'cone/base',
    b: 'cylinder/top',
    value: 0.2,
  });
  await expect(204, 'DELETE', `/constraints/${planes.json.id}`);
  const pair = await expect(400, 'POST', '/constraints', {
    type: 'parallel',
    bound: 'at-most',
    a: 'cone/base',
    b: 'cylinder/top',
  });
  assert.equal(pair.json.errors[0].pointer, '/bound');
  await expect(204, 'DELETE', '/constraints/wall');
  await expect(200, 'DELETE', '/constraints/c2?dryRun=true');
  await expect(204, 'DELETE', '/constraints/c2');
  await expect(404, 'DELETE', '/constraints/c2');
  await expect(200, 'PATCH', '/constraints/c1', { enabled: true });
  const unnamed = await expect(201, 'POST', '/constraints', {
    type: 'distance',
    a: 'cone/axis',
    b: 'cylinder/axis',
    value: 0.05,
  });
  assert.match(unnamed.json.id, /^c\d+$/);
  await expect(204, 'DELETE', `/constraints/${unnamed.json.id}`);
});

test('a geometry that cannot hold its constraints is refused', async () => {
  await expect(201, 'POST', '/constraints', {
    id: 'tall',
    type: 'distance',
    a: 'cone/apex',
    b: 'cylinder/top',
    value: 0.1,
  });
  await expect(422, 'PATCH', '/objects/cone', { geometry: { height: 0.2 } });
  await expect(204, 'DELETE', '/constraints/tall');
});

test('solutions', async () => {
  const all = await expect(200, 'GET', '/solutions');
  assert.deepEqual(
    all.json.map((s) => s.object),
    ['cone'],
  );
  const one = await expect(200, 'GET', '/solutions/cone');
  assert.equal(one.json.state, 'under');
  assert.equal(one.json.parameters.length, 3);
  await expect(404, 'GET', '/solutions/cylinder');
  const moved = await expect(200, 'PATCH', '/solutions/cone', { parameters: [0.5, 0.02, -0.03] });
  one.json.branches[0].parameters.forEach((_, i) =>
    assert.ok(Math.abs(moved.json.parameters[i] - [0.5, 0.02, -0.03][i]) < 1e-9),
  );
  await expect(200, 'PATCH', '/solutions/cone', { branch: moved.json.branch });
  await expect(200, 'PATCH', '/solutions/cone?dryRun=true', { parameters: [0, 0, 0] });
  await expect(400, 'PATCH', '/solutions/cone', { parameters: [0] });
  const beyond = await expect(400, 'PATCH', '/solutions/cone', { parameters: [0, 1e76, 0] });
  assert.equal(beyond.json.errors[0].pointer, '/parameters/1', 'no scene that could not be opened again');
  assert.match(beyond.json.detail, /from -1e\+75 to 1e\+75 m/);
  await expect(400, 'PATCH', '/solutions/cone', { branch: 'b77' });
  await expect(404, 'PATCH', '/solutions/nothing', { parameters: [] });
  const near = { p: [0.031, 0.012, 0.5], q: [1, 0, 0, 0] };
  const { branch } = (await expect(200, 'PATCH', '/solutions/cone', { near })).json;
  assert.ok(branch, 'the branch stays chosen');
  const { json } = await expect(200, 'GET', '/solutions/cone?strands=5');
  assert.equal(json.strands.length, json.dof);
  const slides = json.parameters.slice(-2).map((v) => v.toFixed(9));
  assert.ok(slides.includes('0.031000000') && slides.includes('0.012000000'), `nearest in the plane: ${slides}`);
  for (const s of json.strands) {
    assert.equal(s.poses.length, 11);
    assert.equal(s.here, 5);
    for (const g of s.poses) assert.ok(Math.abs(g.p[2] - s.poses[5].p[2]) < 1e-12, 'in the plane');
  }
  await expect(400, 'GET', '/solutions/cone?strands=0');
  await expect(400, 'GET', '/solutions/cone?strands=many');
  await expect(400, 'PATCH', '/solutions/cone', { near, parameters: [0, 0, 0] });
  await expect(400, 'PATCH', '/solutions/cone', { near: { p: [0, 0] } });
  const would = await expect(200, 'PATCH', '/solutions/cone?dryRun=true&strands=3', { near });
  assert.equal(would.json.strands.length, would.json.dof);
});

test('joints and springs', async () => {
  for (const id of ['hub', 'wheel'])
    await expect(201, 'POST', '/objects', { id, geometry: { type: 'sphere', radius: 0.1 } });
  const hinge = { id: 'hinge', type: 'revolute', a: { object: 'wheel' }, b: { object: 'hub' } };
  const spring = { id: 'coil', a: { object: 'wheel' }, b: { object: 'world' }, stiffness: 10 };
  const gear = { id: 'gear', type: 'gear', joints: ['hinge', 'j1'], ratio: 2 };
  await expect(200, 'POST', '/joints?dryRun=true', hinge);
  const made = await expect(201, 'POST', '/joints', hinge);
  assert.equal(made.headers.location, '/api/v1/joints/hinge');
  await expect(201, 'POST', '/joints', { ...hinge, id: undefined, type: 'prismatic', limits: [[0, 1]] });
  await expect(409, 'POST', '/joints', hinge);
  await expect(400, 'POST', '/joints', { ...hinge, id: 'odd', limits: [] });
  await expect(201, 'POST', '/joints', gear);
  await expect(200, 'GET', '/joints');
  await expect(200, 'GET', '/joints/hinge');
  await expect(404, 'GET', '/joints/none');
  await expect(200, 'PATCH', '/joints/hinge', { damping: [0.1], motor: { torque: 1 } });
  await expect(200, 'PATCH', '/joints/hinge?dryRun=true', { enabled: false });
  await expect(400, 'PATCH', '/joints/hinge', { damping: [-1] });
  await expect(404, 'PATCH', '/joints/none', {});
  await expect(409, 'PATCH', '/joints/hinge', { id: 'j1' });
  await expect(409, 'DELETE', '/joints/hinge');
  await expect(200, 'DELETE', '/joints/gear?dryRun=true');
  await expect(204, 'DELETE', '/joints/gear');
  await expect(404, 'DELETE', '/joints/gear');
  await expect(200, 'POST', '/springs?dryRun=true', spring);
  assert.equal((await expect(201, 'POST', '/springs', spring)).headers.location, '/api/v1/springs/coil');
  await expect(201, 'POST', '/springs', { ...spring, id: undefined });
  await expect(409, 'POST', '/springs', spring);
  await expect(400, 'POST', '/springs', { ...spring, id: 'odd', stiffness: -1 });
  await expect(200, 'GET', '/springs');
  await expect(200, 'GET', '/springs/coil');
  await expect(404, 'GET', '/springs/none');
  await expect(200, 'PATCH', '/springs/coil', { length: 0.1, a: { p: [0, 0, 0.1] } });
  await expect(200, 'PATCH', '/springs/coil?dryRun=true', { enabled: false });
  await expect(400, 'PATCH', '/springs/coil', { length: -1 });
  await expect(404, 'PATCH', '/springs/none', {});
  await expect(409, 'PATCH', '/springs/coil', { id: 's1' });
  await expect(200, 'DELETE', '/springs/s1?dryRun=true');
  await expect(204, 'DELETE', '/springs/s1');
  await expect(404, 'DELETE', '/springs/s1');
  const full = (await expect(200, 'GET', '/scene')).json;
  assert.deepEqual([full.joints.map((j) => j.id), full.springs.map((s) => s.id)], [['hinge', 'j1'], ['coil']]);
  await expect(200, 'PATCH', '/scene', { joints: full.joints, springs: full.springs });
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, full);
});

test('devices and operators', async () => {
  const wrench = {
    type: 'wrench',
    samples: [
      { t: 0, force: [0, 0, 0], torque: [0, 0, 0] },
      { t: 0.5, force: [1, 0, -5], torque: [0, 0, 0] },
    ],
  };
  const { json: drivers } = await expect(200, 'GET', '/drivers');
  assert.deepEqual(
    drivers.map((d) => [d.name, d.class]),
    [
      ['sim', 'admittance'],
      ['sim-impedance', 'impedance'],
    ],
  );
  assert.ok(drivers.every((d) => d.settings.every((s) => s.low <= s.ideal && s.ideal <= s.high)));
  await expect(200, 'GET', '/devices');
  await expect(200, 'POST', '/devices?dryRun=true', { id: 'second', driver: 'sim' });
  await expect(201, 'POST', '/devices', {
    id: 'second',
    driver: 'sim',
    settings: { profile: 'cobotic-hand-controller' },
    operator: wrench,
  });
  await expect(409, 'POST', '/devices', { id: 'second', driver: 'sim' });
  await expect(400, 'POST', '/devices', { id: 'third', driver: 'teleport' });
  const got = await expect(200, 'GET', '/devices/second');
  assert.ok(got.json.info.stiffness > 0);
  await expect(404, 'GET', '/devices/third');
  await expect(200, 'PATCH', '/devices/second', { id: 'other', settings: { bandwidth: 20 } });
  await expect(200, 'PATCH', '/devices/other?dryRun=true', { settings: { bandwidth: 30 } });
  await expect(400, 'PATCH', '/devices/other', { settings: { bandwidth: -20 } });
  await expect(409, 'PATCH', '/devices/other', { id: 'sim' });
  await expect(404, 'PATCH', '/devices/second', { settings: {} });
  await expect(200, 'GET', '/devices/other/operator');
  await expect(404, 'GET', '/devices/third/operator');
  await expect(200, 'PUT', '/devices/sim/operator', wrench);
  await expect(200, 'PUT', '/devices/sim/operator?dryRun=true', { type: 'none' });
  const hand = await expect(200, 'PUT', '/devices/sim/operator', {
    type: 'hand',
    mass: 0.5,
    stiffness: 500,
    damping: 20,
    path: [{ t: 0, p: [0, 0, 0.2] }],
  });
  assert.deepEqual(hand.json.path[0].q, [1, 0, 0, 0]);
  await expect(400, 'PUT', '/devices/sim/operator', { type: 'wrench', samples: [{ t: -1 }] });
  await expect(404, 'PUT', '/devices/third/operator', wrench);
  await expect(200, 'DELETE', '/devices/sim/operator?dryRun=true');
  await expect(204, 'DELETE', '/devices/sim/operator');
  await expect(404, 'DELETE', '/devices/third/operator');
  await expect(409, 'DELETE', '/devices/sim');
  await expect(200, 'DELETE', '/devices/other?dryRun=true');
  await expect(204, 'DELETE', '/devices/other');
  await expect(404, 'DELETE', '/devices/other');
});

test('the tool', async () => {
  await expect(200, 'GET', '/tool');
  await expect(200, 'GET', '/tools');
  await expect(200, 'PATCH', '/tool', { limits: { force: 30 } });
  const [{ mass, stiffness }] = (await expect(200, 'GET', '/tools/rendered')).json;
  assert.deepEqual([mass.why, mass.requested === mass.applied, stiffness], ['as-asked', true, undefined]);
  const rates = { force_rate: 1000, torque_rate: 50, acceleration: 20, spin_acceleration: 100, reach: 0.4 };
  assert.equal((await expect(200, 'GET', '/tool')).json.limits.reach, undefined);
  assert.deepEqual((await expect(200, 'PATCH', '/tool', { limits: rates })).json.limits, {
    force: 30,
    torque: 0,
    speed: 0,
    spin: 0,
    ...rates,
  });
  await expect(400, 'PATCH', '/tool', { limits: { reach: -1 } });
  await expect(200, 'PATCH', '/tool?dryRun=true', { object: 'cone' });
  await expect(400, 'PATCH', '/tool', { object: 'nothing' });
  await expect(200, 'PUT', '/tool', { object: 'cone' });
  await expect(200, 'PUT', '/tool?dryRun=true', { object: 'cone' });
  await expect(400, 'PUT', '/tool', { object: 'cone', control: 'telepathy' });
  await expect(200, 'DELETE', '/tool?dryRun=true');
  await expect(204, 'DELETE', '/tool');
  await expect(404, 'GET', '/tool');
  await expect(404, 'PATCH', '/tool', { object: 'cone' });
  await expect(404, 'DELETE', '/tool');
  await expect(204, 'DELETE', '/devices/sim');
  await expect(201, 'PUT', '/tool', { object: 'cone' });
  assert.equal((await expect(200, 'GET', '/devices')).json[0].id, 'sim');
});

test('the simulation', async () => {
  assert.equal((await expect(200, 'GET', '/simulation')).json.state, 'stopped');
  await expect(409, 'POST', '/simulation/step', { ticks: 1 });
  assert.equal((await expect(200, 'PUT', '/simulation', { state: 'running' })).json.state, 'running');
  await sleep(20);
  const paused = await expect(200, 'PUT', '/simulation', { state: 'paused' });
  assert.equal(paused.json.state, 'paused');
  const stepped = await expect(200, 'POST', '/simulation/step', { ticks: 25 });
  assert.equal(stepped.json.tick, paused.json.tick + 25);
  await expect(400, 'POST', '/simulation/step', { ticks: 0 });
  await expect(400, 'PUT', '/simulation', { state: 'asleep' });
  assert.equal((await expect(200, 'POST', '/simulation/halt')).json.halted, true);
  await expect(409, 'PUT', '/simulation', { state: 'running' });
  await expect(409, 'POST', '/simulation/step', { ticks: 1 });
  assert.equal((await expect(200, 'PUT', '/simulation', { state: 'stopped' })).json.state, 'stopped');
  await expect(200, 'POST', '/simulation/arm');
  await expect(200, 'POST', '/simulation/halt'); // of now: arming waits until it has stood for a tenth of a second
  const arming = expect(409, 'POST', '/simulation/arm'); // a halt comes meanwhile
  await sleep(20);
  await expect(200, 'POST', '/simulation/halt');
  await arming;
  assert.equal((await expect(200, 'POST', '/simulation/arm')).json.halted, false);
  const stopped = await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  assert.deepEqual([stopped.json.state, stopped.json.tick], ['stopped', 0]);
});

test('tasks', async () => {
  const task = {
    id: 'lift',
    name: 'Lift',
    object: 'cone',
    steps: [
      { type: 'wait', seconds: 0.05 },
      { type: 'move', by: { s: 0.01 }, speed: 0.1 },
    ],
  };
  await expect(200, 'GET', '/tasks');
  await expect(200, 'POST', '/tasks?dryRun=true', task);
  const made = await expect(201, 'POST', '/tasks', task);
  assert.equal(made.headers.location, '/api/v1/tasks/lift');
  assert.deepEqual(
    [made.json.progress.state, made.json.progress.steps.map((s) => s.state)],
    ['idle', ['waiting', 'waiting']],
  );
  await expect(409, 'POST', '/tasks', task);
  await expect(400, 'POST', '/tasks', { ...task, id: 'none', steps: [] });
  await expect(200, 'GET', '/tasks/lift');
  await expect(404, 'GET', '/tasks/nothing');
  await expect(200, 'GET', '/tasks/lift/progress');
  await expect(404, 'GET', '/tasks/nothing/progress');
  await expect(200, 'PUT', '/tasks/lift?dryRun=true', { object: 'cone', steps: task.steps });
  await expect(200, 'PUT', '/tasks/lift', { object: 'cone', steps: task.steps });
  await expect(201, 'PUT', '/tasks/second', { object: 'cone', steps: [{ type: 'wait', seconds: 60 }] });
  await expect(400, 'PUT', '/tasks/lift', { ...task, id: 'other' });
  await expect(200, 'PATCH', '/tasks/lift', { name: 'Up' });
  await expect(200, 'PATCH', '/tasks/lift?dryRun=true', { name: 'Down' });
  await expect(400, 'PATCH', '/tasks/lift', { object: 'nothing' });
  await expect(404, 'PATCH', '/tasks/nothing', { name: 'x' });
  await expect(409, 'PATCH', '/tasks/lift', { id: 'second' });
  await expect(200, 'POST', '/simulation/halt');
  await expect(409, 'POST', '/tasks/second/start');
  await expect(200, 'POST', '/simulation/arm');
  const started = await expect(200, 'POST', '/tasks/second/start');
  assert.equal(started.json.state, 'running');
  await expect(409, 'POST', '/tasks/lift/start');
  await expect(409, 'PUT', '/tasks/second', { object: 'cone', steps: task.steps });
  await expect(409, 'PATCH', '/tasks/second', { name: 'x' });
  await expect(409, 'DELETE', '/tasks/second');
  await expect(404, 'POST', '/tasks/nothing/start');
  await expect(404, 'POST', '/tasks/nothing/stop');
  assert.equal((await expect(200, 'POST', '/tasks/second/stop')).json.state, 'stopped');
  await expect(200, 'DELETE', '/tasks/second?dryRun=true');
  await expect(204, 'DELETE', '/tasks/second');
  await expect(404, 'DELETE', '/tasks/second');
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
});

const link = {
  joint: { type: 'revolute', axis: [0, 0, 1] },
  mass: 1,
  com: [0.2, 0, 0],
  inertia: [0.01, 0.02, 0.02, 0, 0, 0],
};
const arm = {
  id: 'arm',
  base: { p: [1, 0, 0] },
  links: [
    link,
    {
      joint: { type: 'prismatic', origin: { p: [0.4, 0, 0] }, axis: [1, 0, 0] },
      geometry: { type: 'sphere', radius: 0.05 },
    },
  ],
};

test('mechanisms', async () => {
  await expect(200, 'GET', '/mechanisms');
  await expect(200, 'POST', '/mechanisms?dryRun=true', arm);
  const made = await expect(201, 'POST', '/mechanisms', arm);
  assert.equal(made.headers.location, '/api/v1/mechanisms/arm');
  assert.equal(made.json.state.positions.length, 2);
  await expect(409, 'POST', '/mechanisms', arm);
  await expect(409, 'POST', '/mechanisms', { ...arm, id: 'cone' });
  await expect(400, 'POST', '/mechanisms', { ...arm, id: 'empty', links: [] });
  assert.equal((await expect(200, 'GET', '/mechanisms')).json.length, 1);
  await expect(200, 'GET', '/mechanisms/arm');
  await expect(404, 'GET', '/mechanisms/leg');
  await expect(200, 'PATCH', '/mechanisms/arm', { base: { p: [1, 0, 0.1] } });
  await expect(200, 'PATCH', '/mechanisms/arm?dryRun=true', { base: null });
  await expect(400, 'PATCH', '/mechanisms/arm', { links: 'none' });
  await expect(404, 'PATCH', '/mechanisms/leg', {});
  await expect(409, 'PATCH', '/mechanisms/arm', { id: 'cone' });
  await expect(200, 'GET', '/mechanisms/arm/links');
  await expect(404, 'GET', '/mechanisms/leg/links');
  await expect(200, 'POST', '/mechanisms/arm/links?dryRun=true', link);
  const added = await expect(201, 'POST', '/mechanisms/arm/links', link);
  assert.equal(added.headers.location, '/api/v1/mechanisms/arm/links/2');
  await expect(400, 'POST', '/mechanisms/arm/links', { ...link, mass: -1 });
  await expect(404, 'POST', '/mechanisms/leg/links', link);
  await expect(200, 'GET', '/mechanisms/arm/links/2');
  await expect(404, 'GET', '/mechanisms/arm/links/3');
  await expect(200, 'PATCH', '/mechanisms/arm/links/2', { joint: { position: 0.3 } });
  await expect(200, 'PATCH', '/mechanisms/arm/links/2?dryRun=true', { mass: 2 });
  await expect(400, 'PATCH', '/mechanisms/arm/links/2', { joint: { limits: { lower: 1, upper: 0 } } });
  await expect(404, 'PATCH', '/mechanisms/arm/links/9', {});
  await expect(409, 'DELETE', '/mechanisms/arm/links/0');
  await expect(200, 'DELETE', '/mechanisms/arm/links/2?dryRun=true');
  await expect(204, 'DELETE', '/mechanisms/arm/links/2');
  await expect(404, 'DELETE', '/mechanisms/arm/links/2');
  const motor = { torque: 0.1, stiffness: 2, target: 0.5, max: 5 };
  await expect(200, 'PUT', '/mechanisms/arm/joints/0/motor', motor);
  await expect(200, 'PUT', '/mechanisms/arm/joints/0/motor?dryRun=true', {});
  await expect(400, 'PUT', '/mechanisms/arm/joints/0/motor', { max: -1 });
  await expect(404, 'PUT', '/mechanisms/arm/joints/7/motor', motor);
  assert.equal((await expect(200, 'GET', '/mechanisms/arm/joints/0/motor')).json.target, 0.5);
  await expect(404, 'GET', '/mechanisms/leg/joints/0/motor');
  await expect(200, 'DELETE', '/mechanisms/arm/joints/0/motor?dryRun=true');
  await expect(204, 'DELETE', '/mechanisms/arm/joints/0/motor');
  await expect(404, 'DELETE', '/mechanisms/arm/joints/x/motor');
  await expect(200, 'PATCH', '/contact', { ignore: [['arm.0', 'cone']] });
  assert.match((await expect(409, 'DELETE', '/mechanisms/arm')).json.detail, /ignore/);
  assert.match((await expect(409, 'DELETE', '/objects/cone')).json.detail, /ignore arm.0/);
  await expect(200, 'PATCH', '/contact', { ignore: null });
  await expect(200, 'DELETE', '/mechanisms/arm?dryRun=true');
  await expect(204, 'DELETE', '/mechanisms/arm');
  await expect(404, 'DELETE', '/mechanisms/arm');
  await expect(201, 'POST', '/mechanisms', arm);
});

test('materials and contacts', async () => {
  const rubber = { id: 'rubber', restitution: 0.8 };
  await expect(200, 'GET', '/materials');
  await expect(200, 'POST', '/materials?dryRun=true', rubber);
  const made = await expect(201, 'POST', '/materials', rubber);
  assert.equal(made.headers.location, '/api/v1/materials/rubber');
  await expect(201, 'POST', '/materials', { id: 'steel', friction: 0.1 });
  await expect(409, 'POST', '/materials', rubber);
  await expect(400, 'POST', '/materials', { id: 'odd', restitution: 2 });
  await expect(200, 'GET', '/materials/rubber');
  await expect(404, 'GET', '/materials/glass');
  await expect(200, 'PATCH', '/materials/rubber', { friction: 0.9 });
  await expect(200, 'PATCH', '/materials/rubber?dryRun=true', { friction: 1 });
  await expect(400, 'PATCH', '/materials/rubber', { friction: -1 });
  await expect(404, 'PATCH', '/materials/glass', {});
  await expect(409, 'PATCH', '/materials/rubber', { id: 'steel' });
  await expect(200, 'PATCH', '/objects/cone', { material: 'rubber' });
  assert.match((await expect(409, 'DELETE', '/materials/rubber')).json.detail, /object cone/);
  await expect(200, 'DELETE', '/materials/steel?dryRun=true');
  await expect(204, 'DELETE', '/materials/steel');
  await expect(404, 'DELETE', '/materials/steel');
  await expect(200, 'GET', '/contact');
  await expect(200, 'PATCH', '/contact', { enabled: false, friction: 'creep' });
  await expect(200, 'PATCH', '/contact?dryRun=true', { model: 'local' });
  await expect(400, 'PATCH', '/contact', { model: 'guess' });
  await expect(200, 'GET', '/contacts');
  const full = await expect(200, 'GET', '/scene');
  assert.deepEqual(
    [full.json.mechanisms.length, full.json.materials.length, full.json.contact.friction],
    [1, 1, 'creep'],
  );
  await expect(200, 'PUT', '/scene?dryRun=true', full.json);
  const again = { mechanisms: full.json.mechanisms, materials: full.json.materials, contact: full.json.contact };
  await expect(200, 'PATCH', '/scene', again);
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, full.json);
});

test('the ticks before a fault', async () => {
  await expect(200, 'POST', '/simulation/halt');
  const faults = (await expect(200, 'GET', '/loop/faults')).json;
  await expect(200, 'GET', `/loop/faults/${faults.at(-1).number}`);
  await expect(404, 'GET', '/loop/faults/0');
  await expect(200, 'POST', '/simulation/arm');
});

test('events and solve', async () => {
  await expect(200, 'GET', '/loop');
  const events = (await expect(200, 'GET', '/events')).json;
  assert.ok(events.length > 0);
  assert.deepEqual(
    (await expect(200, 'GET', `/events?since=${events.at(-1).seq}`)).json.filter((e) => e.seq <= events.at(-1).seq),
    [],
  );
  await expect(400, 'GET', '/events?since=yesterday');
  const solved = await expect(200, 'POST', '/solve', {
    constraints: [
      {
        type: 'coincident',
        mobile: { plane: { point: [0, 0, 0], normal: [0, 0, 1] } },
        fixed: { plane: { point: [0, 0, 1], normal: [0, 0, 1] } },
      },
    ],
    samples: 3,
  });
  assert.equal(solved.json.dof, 3);
  const clash = await expect(200, 'POST', '/solve', {
    constraints: [
      { type: 'coincident', mobile: { point: [0, 0, 0] }, fixed: { point: [0, 0, 0] } },
      { type: 'coincident', mobile: { point: [0, 0, 0] }, fixed: { point: [1, 0, 0] } },
    ],
  });
  assert.equal(clash.json.status, 'incompatible');
  const normals = [
    [2, 1, 2],
    [1, 2, 2],
    [2, 2, 1],
    [-1, 2, 2],
    [2, -1, 2],
    [2, 2, -1],
  ].map((n) => n.map((x) => x / 3));
  const planes = [
    [1, 0, 0],
    [1, 2, 0],
    [0, 0, 3],
    [0, 1, 0],
    [0, 1, 2],
    [2, 0, 1],
  ].map((p, i) => ({
    type: 'coincident',
    mobile: { point: p },
    fixed: { plane: { point: p, normal: normals[i] } },
  }));
  const isolated = await expect(200, 'POST', '/solve', { constraints: planes });
  assert.equal(isolated.json.dof, 0);
  assert.equal(isolated.json.roots.real, isolated.json.branches.length);
  assert.ok(isolated.json.roots.complex >= isolated.json.roots.real);
  assert.equal(solved.json.roots, undefined);
  await expect(400, 'POST', '/solve', { constraints: [{ type: 'near' }] });
});

test('surfaces are made of points and curves', async () => {
  const profile = [
    [0.1, 0, 0],
    [0.2, 0, 0.1],
    [0.1, 0, 0.2],
  ];
  const points = [0, 1, 2].map((x) => [0, 1, 2].map((y) => [x, y, x * y]));
  assert.ok((await expect(200, 'POST', '/surfaces', { fit: { points } })).json.deviation < 1e-12);
  await expect(200, 'POST', '/surfaces', { revolve: { profile, axis: [0, 0, 1], angle: 3 } });
  await expect(200, 'POST', '/surfaces', { loft: { sections: points, degree: 1 } });
  await expect(200, 'POST', '/surfaces', { sweep: { profile, path: points[1] } });
  await expect(200, 'POST', '/surfaces', { convert: { type: 'cone', radius: 0.1, height: 0.2 } });
  await expect(400, 'POST', '/surfaces', { fit: { points }, sweep: {} });
});

test('assembly', async () => {
  const { json } = await expect(200, 'POST', '/assemble', { method: 'newton', ground: ['cylinder'], seed: 3 });
  assert.equal(json.method, 'newton');
  await expect(400, 'POST', '/assemble', { method: 'magic' });
});

// An address for a path of the document: ids that exist where that matters.
const address = (path) =>
  path
    .replace('/api/v1', '')
    .replace('{file}', 'paper-plane')
    .replace('{name}', 'wedge.obj')
    .replace('{object}/{feature}', 'cone/apex')
    .replace('{object}', 'cone')
    .replace('/devices/{id}', '/devices/sim')
    .replace('/objects/{id}', '/objects/cone')
    .replace('/constraints/{id}', '/constraints/c1')
    .replace('/tasks/{id}', '/tasks/lift')
    .replace('/joints/{id}', '/joints/hinge')
    .replace('/springs/{id}', '/springs/coil')
    .replace('/mechanisms/{id}', '/mechanisms/arm')
    .replace('{link}', '1')
    .replace('/materials/{id}', '/materials/rubber');
const operations = () =>
  Object.entries(contract.document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path: address(path),
      operation,
    })),
  );

const wedge = 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n';

test('meshes', async () => {
  await expect(201, 'PUT', '/meshes/wedge.obj', wedge);
  await expect(200, 'PUT', '/meshes/wedge.obj', wedge);
  await expect(400, 'PUT', '/meshes/wedge.obj', 'v 0 0\n');
  await expect(413, 'PUT', '/meshes/wedge.obj', Buffer.alloc((16 << 20) + 1, 32));
  await expect(200, 'GET', '/meshes');
  await expect(200, 'GET', '/meshes/wedge.obj');
  await expect(404, 'GET', '/meshes/none.obj');
  await expect(201, 'POST', '/objects', { id: 'wedge', geometry: { type: 'mesh', file: 'wedge.obj' } });
  await expect(409, 'PUT', '/meshes/wedge.obj', wedge);
  await expect(409, 'DELETE', '/meshes/wedge.obj');
  await expect(204, 'DELETE', '/objects/wedge');
  await expect(204, 'DELETE', '/meshes/wedge.obj');
  await expect(404, 'DELETE', '/meshes/wedge.obj');
});

test('every route refuses foreign hosts, foreign origins and strangers', async () => {
  for (const { method, path, operation } of operations()) {
    const body = operation.requestBody ? {} : undefined;
    await expect(421, method, path, body, { host: 'evil.example' });
    await expect(403, method, path, body, { origin: 'http://evil.example' });
    const refused = await request(locked, method, `/api/v1${path}`, body);
    assert.equal(refused.status, 401, `${method} ${path}`);
    contract.check(method, `/api/v1${path}`, body, refused);
  }
  const known = await request(locked, 'GET', '/api/v1/scene', undefined, { authorization: `Bearer ${token}` });
  assert.equal(known.status, 200);
});

test('every route with a body refuses other types, rubbish and too much', async () => {
  const much = `{"x":"${'y'.repeat(1 << 20)}"}`;
  for (const { method, path, operation } of operations().filter(
    (o) => o.operation.requestBody && !o.operation.requestBody.content['application/octet-stream'],
  )) {
    await expect(415, method, path, '{}', { 'content-type': 'text/plain' });
    await expect(415, method, path, '{}', { 'content-type': null });
    await expect(400, method, path, '{"open":');
    await expect(413, method, path, much);
    if (operation.responses[412]) assert.ok(operation.parameters.some((p) => p.$ref?.endsWith('ifMatch')));
  }
});

test('every route refuses query parameters that it does not know, and names those that it does', async () => {
  const isHalt = (o) => o.path === '/simulation/halt'; // halts whatever comes with it, but for a dry run
  for (const { method, path } of operations().filter(isHalt)) await expect(400, method, `${path}?dryRun=true`);
  for (const { method, path, operation } of operations().filter((o) => !isHalt(o))) {
    const known = (operation.parameters ?? [])
      .map((p) => contract.follow(p))
      .filter((p) => p.in === 'query')
      .map((p) => p.name);
    const { json } = await expect(400, method, `${path}?nonsense=1`, operation.requestBody ? {} : undefined);
    assert.match(json.detail, /nonsense/);
    for (const name of known) assert.ok(json.detail.includes(name), `${method} ${path}: ${json.detail}`);
  }
});

test('what is known already is not sent again', async () => {
  const still = operations().filter((o) => o.operation.responses[304]);
  for (const path of ['', '/constraints', '/devices', '/drivers', '/scenes', '/meshes', '/contact', '/openapi.json'])
    assert.ok(
      still.some((o) => o.path === path),
      `${path || 'the address of the interface'} has no ETag`,
    );
  await expect(201, 'POST', '/scene/save', { name: 'listed' });
  await expect(201, 'PUT', '/meshes/wedge.obj', wedge);
  for (const path of still.map((o) => o.path.replace('/scenes/paper-plane/', '/scenes/listed/'))) {
    const first = await expect(200, 'GET', path),
      tag = first.headers.etag;
    await expect(304, 'GET', path, undefined, { 'if-none-match': tag });
    assert.equal((await expect(200, 'GET', path, undefined, { 'if-none-match': '"0"' })).text, first.text);
  }
  const { headers } = await expect(200, 'GET', '/objects');
  await expect(200, 'PATCH', '/scene', { description: 'another revision' });
  await expect(200, 'GET', '/objects', undefined, { 'if-none-match': headers.etag });
  const listed = (await expect(200, 'GET', '/scenes')).headers.etag;
  await expect(304, 'GET', '/scenes', undefined, { 'if-none-match': `"t0", ${listed}` });
  await expect(201, 'POST', '/scene/save', { name: 'one more' });
  await expect(200, 'GET', '/scenes', undefined, { 'if-none-match': listed });
});

test('an answer with the present state is not sent again while nothing moves, and its ETag serves If-Match', async () => {
  const moving = await start({ args: ['--scene', 'paper-mechanism-middle'] });
  const { expect, call } = await client(moving);
  const lists = ['/joints', '/mechanisms', '/tools', '/solutions', '/tasks', '/contacts'];
  const [arm] = (await expect(200, 'GET', '/mechanisms')).json;
  for (const path of [...lists, '/tool', `/mechanisms/${arm.id}`]) {
    const { headers } = await expect(200, 'GET', path);
    await expect(304, 'GET', path, undefined, { 'if-none-match': headers.etag });
  }
  const push = { type: 'wrench', samples: [{ t: 0, force: [5, 0, 5], torque: [0, 0, 0] }] };
  await expect(200, 'PUT', '/devices/sim/operator', push);
  const before = (await expect(200, 'GET', '/mechanisms')).headers.etag;
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await until('another place', async () => {
    const now = await call('GET', '/mechanisms', undefined, { 'if-none-match': before });
    return now.status === 200 && JSON.stringify(now.json[0].state) !== JSON.stringify(arm.state);
  });
  const { etag } = (await expect(200, 'GET', '/tool')).headers;
  await expect(412, 'PATCH', '/tool', { limits: { force: 10 } }, { 'if-match': etag.replace(/\d+/, '0') });
  await expect(200, 'PATCH', '/tool', { limits: { force: 10 } }, { 'if-match': etag });
  await moving.stop();
});

test('collections are read by the page', async () => {
  const lists = operations().filter((o) => o.operation.parameters?.some((p) => p.$ref?.endsWith('/limit')));
  assert.ok(lists.length > 10, `${lists.length} lists`);
  for (const path of lists.map((o) => o.path.replace('/scenes/paper-plane/', '/scenes/listed/'))) {
    const all = (await expect(200, 'GET', path)).json;
    const { json } = await expect(200, 'GET', `${path}?limit=2&offset=1`);
    if (path !== '/events') assert.deepEqual(json, all.slice(1, 3), path);
    assert.ok(json.length <= 2, path);
    assert.deepEqual((await expect(200, 'GET', `${path}?limit=0`)).json, []);
    await expect(400, 'GET', `${path}?limit=-1`);
    await expect(400, 'GET', `${path}?offset=half`);
    const id = all[0]?.id ?? all[0]?.file ?? all[0]?.object ?? all[0]?.name;
    if (typeof id === 'string')
      assert.deepEqual((await expect(200, 'GET', `${path}?after=${encodeURIComponent(id)}`)).json, all.slice(1), path);
    await expect(400, 'GET', `${path}?after=nobody`);
    await expect(400, 'GET', `${path}?nobody=1`);
  }
});

test('numbers are as short as they read back the same', async () => {
  const p = [0.1, 1 / 3, -1e-9],
    q = [0.30000000000000004, 4.35, 1e22];
  const { text } = await expect(200, 'PATCH', '/objects/cone?dryRun=false', { pose: { p } });
  assert.ok(text.includes(`"p":[0.1,${1 / 3},-0.000000001]`), text);
  for (const each of [
    q,
    ...Array.from({ length: 50 }, () =>
      [0, 1, 2].map(() => (Math.random() - 0.5) * 10 ** Math.floor(Math.random() * 30 - 15)),
    ),
  ]) {
    const { json } = await expect(200, 'PATCH', '/objects/cone', { pose: { p: each } });
    assert.deepEqual(json.pose.p, each);
  }
  await expect(200, 'PUT', '/scene', scene);
});

test('a refusal tells what was sent, too', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'cone-on-cylinder' });
  const details = async (method, path, body) =>
    (await expect(400, method, path, body)).json.errors.map((e) => e.detail);
  assert.deepEqual(await details('PATCH', '/objects/cone', { pose: { p: [0, 0], q: 'x' } }), [
    'is [0,0], must be an array of 3 numbers',
    'is "x", must be an array of 4 numbers',
  ]);
  assert.match(
    (await details('PATCH', '/objects/cone', { geometry: { type: 'cube' } }))[0],
    /^type: is "cube", must be/,
  );
  assert.deepEqual(await details('PATCH', '/scene', { rate: 'fast', name: ['x'.repeat(100)] }), [
    'name: must be a string', // too long to be repeated
    'rate: is "fast", must be a number',
  ]);
  assert.match((await details('GET', '/objects?limit=-2'))[0], /^limit is -2, must be/);
  assert.match((await details('PUT', '/simulation', { state: 'flying' }))[0], /^"flying": a state is/);
});

test('entries of a list are chosen by their members', async () => {
  const objects = (await expect(200, 'GET', '/objects')).json,
    features = (await expect(200, 'GET', '/features')).json;
  assert.deepEqual(
    (await expect(200, 'GET', '/objects?fixed=true')).json,
    objects.filter((o) => o.fixed),
  );
  assert.deepEqual(
    (await expect(200, 'GET', '/objects?id=cone')).json,
    objects.filter((o) => o.id === 'cone'),
  );
  assert.deepEqual(
    (await expect(200, 'GET', '/features?object=cone&derived=true&limit=1')).json,
    features.filter((f) => f.id.startsWith('cone/') && f.derived).slice(0, 1),
  );
  assert.deepEqual(
    (await expect(200, 'GET', '/objects?fixed=false')).json,
    objects.filter((o) => !o.fixed),
  );
  assert.deepEqual((await expect(200, 'GET', '/constraints?type=tangent')).json, []);
  for (const path of ['/contacts', '/loop/faults', '/tools/rendered'])
    assert.ok((await expect(200, 'GET', `${path}?limit=1`)).json.length <= 1);
  // the second one would be passed over
  assert.match((await expect(400, 'GET', '/objects?limit=1&limit=2')).json.detail, /limit is given once/);
  await expect(400, 'GET', '/objects?id=cone&id=cylinder');
});

// Ids have plus signs, names have spaces; a form's encoding writes the one for the other.
// A value that the schema of a query's member refuses: [a wrong value, what would be right], or nothing where any text goes.
function wrongValue(schema) {
  const s = contract.follow(schema),
    ways = [...(s.anyOf ?? []), ...(s.oneOf ?? []), ...(s.allOf ?? [])].map(wrongValue);
  if (s.enum) return ['nonsense', s.enum[0]];
  if (s.const) return ['nonsense', s.const];
  if (s.type === 'string' || ways.some((way) => way === undefined)) return undefined;
  if (s.type === 'boolean') return ['maybe', 'true'];
  if (s.type === 'integer') return ['1.5', 'whole number'];
  return s.type === 'number' ? ['1e', 'a number'] : (ways[0] ?? ['1', 'left out']);
}

function membersOf(schema) {
  const s = contract.follow(schema),
    all = { ...s.properties };
  for (const way of [...(s.anyOf ?? []), ...(s.oneOf ?? []), ...(s.allOf ?? [])])
    for (const [name, each] of Object.entries(membersOf(way)))
      all[name] = all[name] ? { anyOf: [all[name], each] } : each;
  return all;
}

test('every query parameter with a value that it cannot have is refused, with what would be right', async () => {
  let refused = 0;
  await expect(201, 'POST', '/scene/save', { name: 'listed' });
  const refuse = async (method, path_, name, value, right, body) => {
    const path = path_.replace('/scenes/paper-plane/', '/scenes/listed/');
    const { json } = await expect(400, method, `${path}?${name}=${value}`, body);
    for (const word of [name, value, right])
      assert.ok(json.detail.includes(word), `${method} ${path}?${name}=${value}: ${json.detail}, not ${word}`);
    refused++;
  };
  const wrong = {
    dryRun: ['maybe', 'true or false'],
    strands: ['many', 'whole number'],
    limit: ['-1', 'whole number'],
    offset: ['1.5', 'whole number'],
    since: ['yesterday', 'sequence number'],
    group: ['a/b', 'A-Za-z0-9'],
    after: ['nonsense', 'no entry'],
    object: ['nonsense', 'there are cylinder'],
  };
  for (const { method, path, operation } of operations().filter((o) => o.path !== '/simulation/halt')) {
    const parameters = (operation.parameters ?? []).map((p) => contract.follow(p)).filter((p) => p.in === 'query');
    const body = operation.requestBody?.content['application/json']?.example;
    if (
      method === 'GET' &&
      (await call(method, path.replace('/scenes/paper-plane/', '/scenes/listed/'))).status === 404
    )
      continue; // an entry that this scene does not have
    for (const { name } of parameters.filter((p) => p.name !== 'members')) {
      if (name === 'object') {
        const { json } = await expect(404, method, `${path}?object=nonsense`);
        assert.match(json.detail, /no object nonsense: there are .*cone/);
      } else if (wrong[name]) await refuse(method, path, name, ...wrong[name], body);
      else assert.fail(`${method} ${path}: ${name} is not tried`);
    }
    if (!parameters.some((p) => p.name === 'members')) continue;
    const entry = operation.responses[200].content['application/json'].schema.items;
    for (const [name, schema] of Object.entries(membersOf(entry))) {
      const tried = wrongValue(schema);
      if (tried && !wrong[name]) await refuse(method, path, name, ...tried);
    }
  }
  assert.ok(refused > 200, `${refused} refused`);
});

test('what is not there is refused with what there is', async () => {
  await expect(201, 'POST', '/scene/save', { name: 'here to stay' });
  await expect(201, 'PUT', '/meshes/here.obj', wedge);
  const none = async (status, method, path, body, ...words) => {
    const { json } = await expect(status, method, path, body);
    for (const word of words) assert.ok(json.detail.includes(word), `${method} ${path}: ${json.detail}, not ${word}`);
  };
  await none(404, 'POST', '/scene/open', { scene: 'nowhere' }, 'nowhere', 'here-to-stay', 'cone-on-cylinder');
  for (const [method, path, ...words] of [
    ['GET', '/scenes/nowhere', 'here-to-stay', 'cone-on-cylinder'],
    ['GET', '/scenes/nowhere/versions', 'here-to-stay'],
    ['DELETE', '/scenes/nowhere', 'here-to-stay'],
    ['GET', '/meshes/nowhere.obj', 'here.obj'],
    ['DELETE', '/meshes/nowhere.obj', 'here.obj'],
    ['GET', '/objects/nothing', 'cylinder', 'cone'],
    ['DELETE', '/objects/nothing', 'cylinder', 'cone'],
    ['GET', '/features/nothing/top', 'cylinder', 'cone'],
    ['GET', '/features/cone/top', 'apex'],
    ['DELETE', '/features/cone/top', 'apex'],
    ['GET', '/solutions/nothing', 'cone'],
    ['GET', '/devices/nothing', 'sim'],
    ['GET', '/devices/nothing/operator', 'sim'],
    ['POST', '/tasks/nothing/start', 'task'],
    ['GET', '/tasks/nothing/progress', 'task'],
  ])
    await none(404, method, path, undefined, path.split('/')[2], ...words);
  for (const [path, body, ...words] of [
    ['/constraints', { type: 'coincident', a: 'nothing/top', b: 'cone/base' }, 'cylinder'],
    ['/constraints', { type: 'coincident', a: 'cylinder/nothing', b: 'cone/base' }, 'top'],
    ['/joints', { type: 'fixed', a: { object: 'nothing' }, b: { object: 'world' } }, 'cylinder'],
    ['/tasks', { id: 't', name: 'T', object: 'nothing', steps: [{ type: 'wait', seconds: 1 }] }, 'cylinder'],
    ['/assemble', { ground: ['nothing'] }, 'cylinder'],
  ])
    await none(400, 'POST', path, body, 'nothing', ...words);
  await expect(204, 'DELETE', '/meshes/here.obj');
  await expect(204, 'DELETE', '/scenes/here-to-stay');
});

test('a plus sign of a query means itself or a space, escaped or not', async () => {
  await expect(200, 'PUT', '/scene', {
    ...scene,
    objects: [...scene.objects, { id: 'box', geometry: { type: 'box', size: [1, 1, 1] } }],
  });
  const box = (await expect(200, 'GET', '/features?object=box')).json;
  const at = box.findIndex(({ id }) => id === 'box/+x');
  for (const id of ['box/+x', 'box/%2Bx', 'box%2F%2bx']) {
    assert.deepEqual((await expect(200, 'GET', `/features?object=box&after=${id}`)).json, box.slice(at + 1), id);
    assert.deepEqual((await expect(200, 'GET', `/features?id=${id}`)).json, [box[at]], id);
  }
  await expect(200, 'PATCH', '/scene', { name: 'C++ and more' });
  await expect(201, 'POST', '/scene/save', { name: 'C++ and more' });
  for (const name of ['C%2B%2B+and+more', 'C%2B%2B%20and%20more', new URLSearchParams({ name: 'C++ and more' })]) {
    const query = typeof name === 'string' ? `name=${name}` : String(name);
    assert.equal((await expect(200, 'GET', `/scenes?${query}`)).json[0]?.name, 'C++ and more', query);
  }
  assert.deepEqual((await expect(200, 'GET', '/features?object=box&after=box/+x&limit=0')).json, []);
  await expect(400, 'GET', '/features?object=box&after=box/+y+&limit=0');
  await expect(400, 'GET', '/objects?limit=+1');
  await expect(200, 'PUT', '/scene', scene);
});

test('a value of a query that cannot be read is refused, not passed over', async () => {
  const long = 'x'.repeat(300);
  for (const name of ['limit', 'offset', 'after', 'id', 'nothing'])
    for (const value of ['%zz', '%4', '%', 'a%00', long]) {
      const { detail } = (await expect(400, 'GET', `/objects?${name}=${value}`)).json;
      assert.ok(detail.startsWith(`${name} is ${value.slice(0, 60)}: a value has at most 255 bytes`), detail);
    }
  const nine = [...'abcdefghi'].map((name) => `${name}=1`).join('&');
  assert.match((await expect(400, 'GET', `/objects?${nine}`)).json.detail, /more than 8 parameters/);
  const members = ['id', 'fixed', 'free', 'massless', 'material', 'collide', 'group', 'limit', 'x'];
  await expect(400, 'GET', `/objects?${members.map((name) => `${name}=1`).join('&')}`);
  for (const number of ['99999999999999999', '99999999999999999999999999', '%2B1', '%201', '-1', '1.0', ''])
    assert.match((await expect(400, 'GET', `/objects?limit=${number}`)).json.detail, /whole number/, number);
  assert.equal((await expect(200, 'GET', '/objects?limit=00000000000000000001')).json.length, 1);
  for (const since of ['%20-5', '-5', '1e3', '%2B1', ''])
    assert.match(
      (await expect(400, 'GET', `/events?since=${since}`)).json.detail,
      /^since is .*, must be the sequence/,
    );
  await expect(400, 'GET', `/events?since=${long}`);
  const { detail } = (await expect(400, 'GET', '/solutions/cone?strands=00000000000000000099')).json;
  assert.match(detail, /^strands is 0+99, must be a whole number from 1 to /);
  assert.match((await expect(400, 'PATCH', '/objects/cone?dryRun=yes', {})).json.detail, /dryRun is yes, must be true/);
  await expect(400, 'GET', '/features?object=%zz');
  await expect(400, 'PATCH', '/objects/cone?group=%zz', {});
});

test('surfaces and rims of primitives are features, by the names that constraints take', async () => {
  const h = Math.SQRT1_2;
  const ball = { type: 'sphere', radius: 0.1 };
  const shapes = {
    ball,
    can: { type: 'cylinder', radius: 0.05, height: 0.2 },
    pill: { type: 'capsule', radius: 0.04, height: 0.3 },
    top: { type: 'cone', radius: 0.03, height: 0.1 },
    pair: {
      type: 'compound',
      parts: [
        { geometry: ball, pose: { p: [1, 0, 0] } },
        { geometry: { type: 'cylinder', radius: 0.05, height: 0.2 }, pose: { p: [0, 2, 0], q: [h, h, 0, 0] } },
      ],
    },
  };
  const objects = Object.entries(shapes).map(([id, geometry], i) => ({ id, geometry, pose: { p: [3 * i, 0, 0] } }));
  await expect(200, 'PUT', '/scene', { format: 'guideway-scene/1', name: 'surfaces', objects });
  const z = [0, 0, 1];
  const wanted = {
    'ball/surface': { touches: 'sphere', point: [0, 0, 0], radius: 0.1 },
    'can/surface': { touches: 'cylinder', point: [0, 0, 0], axis: z, radius: 0.05 },
    'can/top-rim': { touches: 'rim', point: [0, 0, 0.1], axis: z, radius: 0.05 },
    'can/bottom-rim': { touches: 'rim', point: [0, 0, -0.1], axis: z, radius: 0.05 },
    'pill/surface': { touches: 'cylinder', point: [0, 0, 0], axis: z, radius: 0.04 },
    'top/base-rim': { touches: 'rim', point: [0, 0, 0], axis: z, radius: 0.03 },
    'pair/part0.surface': { touches: 'sphere', point: [1, 0, 0], radius: 0.1 },
    'pair/part1.surface': { touches: 'cylinder', point: [0, 2, 0], axis: [0, -1, 0], radius: 0.05 },
    'pair/part1.top-rim': { touches: 'rim', point: [0, 1.9, 0], axis: [0, -1, 0], radius: 0.05 },
    'pair/part1.bottom-rim': { touches: 'rim', point: [0, 2.1, 0], axis: [0, -1, 0], radius: 0.05 },
  };
  const list = (await expect(200, 'GET', '/features')).json.filter((f) => f.touches);
  assert.deepEqual(list.map((f) => f.id).sort(), Object.keys(wanted).sort());
  const near = (a, b) => [a].flat().every((v, k) => Math.abs(v - [b].flat()[k]) < 1e-12);
  for (const [id, is] of Object.entries(wanted)) {
    const { json } = await expect(200, 'GET', `/features/${id}`);
    assert.deepEqual(
      json,
      list.find((f) => f.id === id),
    );
    assert.equal(json.derived, true);
    assert.equal(json.touches, is.touches, id);
    for (const member of ['point', 'axis', 'radius'])
      assert.ok(is[member] === undefined ? !(member in json) : near(json[member], is[member]), `${id} ${member}`);
    await expect(409, 'POST', '/features', { id, point: [0, 0, 0] });
  }
  await expect(404, 'GET', '/features/ball/top-rim');
  await expect(200, 'PUT', '/scene', scene);
});

test('a list that is long comes in pieces, with all of its entries', async () => {
  const boxes = Array.from({ length: 200 }, (_, i) => ({
    id: `b${i}`,
    fixed: true,
    geometry: { type: 'box', size: [1, 1, 1] },
    pose: { p: [2 * i, 0, 0] },
  }));
  await expect(200, 'PUT', '/scene', { format: 'guideway-scene/1', name: 'boxes', objects: boxes });
  const { json, headers } = await expect(200, 'GET', '/features');
  assert.equal(headers['transfer-encoding'], 'chunked');
  const each = (await expect(200, 'GET', '/features?object=b0')).json.length;
  assert.equal(json.length, 200 * each);
  assert.equal(new Set(json.map((f) => f.id)).size, json.length);
  await expect(304, 'GET', '/features', undefined, { 'if-none-match': headers.etag });
  const head = raw(server, `HEAD /api/v1/features HTTP/1.1\r\nHost: ${server.address}\r\n\r\n`);
  await until('the head', () => head.ended);
  assert.match(head.got, /^HTTP\/1.1 200 OK\r\n/);
  assert.equal(head.got.indexOf('\r\n\r\n'), head.got.length - 4, 'and nothing behind it');
  assert.deepEqual((await expect(200, 'GET', `/features?offset=${199 * each}`)).json, json.slice(199 * each));
  await expect(200, 'PUT', '/scene', scene);
});

test('every edit heeds If-Match', async () => {
  const bodies = {
    'PUT /scene': scene,
    'PATCH /scene': {},
    'POST /scene/open': { scene: 'sphere' },
    'POST /scene/save': { name: 'conditional' },
    'POST /scene/edits': [{ method: 'DELETE', path: '/tool' }],
    'POST /scenes/kept/restore': {},
    'POST /objects': { id: 'o', geometry: { type: 'sphere', radius: 1 } },
    'PATCH /objects/cone': {},
    'POST /features': { id: 'cone/f', point: [0, 0, 0] },
    'PUT /features/cone/apex': { point: [0, 0, 0] },
    'PATCH /features/cone/apex': {},
    'POST /constraints': { type: 'parallel', a: 'cone/axis', b: 'cylinder/axis' },
    'PATCH /constraints/c1': {},
    'POST /joints': { type: 'fixed', a: { object: 'wheel' }, b: { object: 'hub' } },
    'PATCH /joints/hinge': {},
    'POST /springs': { a: { object: 'cone' }, b: { object: 'cylinder' } },
    'PATCH /springs/coil': {},
    'PATCH /solutions/cone': {},
    'POST /devices': { id: 'd', driver: 'sim' },
    'PATCH /devices/sim': {},
    'PUT /devices/sim/operator': { type: 'none' },
    'PUT /tool': { object: 'cone' },
    'PATCH /tool': {},
    'POST /tasks': { id: 't', object: 'cone', steps: [{ type: 'wait', seconds: 1 }] },
    'PATCH /tasks/lift': {},
    'POST /mechanisms': { ...arm, id: 'leg' },
    'PATCH /mechanisms/arm': {},
    'POST /mechanisms/arm/links': link,
    'PATCH /mechanisms/arm/links/1': {},
    'PUT /mechanisms/arm/joints/1/motor': {},
    'POST /materials': { id: 'm' },
    'PATCH /materials/rubber': {},
    'PATCH /contact': {},
    'POST /assemble': { commit: true },
    'PUT /tasks/lift': { object: 'cone', steps: [{ type: 'wait', seconds: 1 }] },
  };
  await expect(201, 'POST', '/scene/save', { name: 'kept' });
  const heeds = ({ operation }) => operation.parameters?.some((p) => p.$ref?.endsWith('/ifMatch'));
  for (const { method, path: example, operation } of operations().filter(heeds)) {
    const path = example.replace(/^\/scenes\/[^/]*/, '/scenes/kept');
    const body = operation.requestBody ? bodies[`${method} ${path}`] : undefined;
    const before = (await expect(200, 'GET', '/scene')).headers.etag;
    await expect(412, method, path, body, { 'if-match': '"0"' });
    assert.equal((await expect(200, 'GET', '/scene')).headers.etag, before);
  }
  const { headers } = await expect(200, 'GET', '/scene');
  await expect(200, 'PATCH', '/scene', { name: 'Matched' }, { 'if-match': headers.etag });
});

test('a PUT with If-None-Match: * makes what is not there and replaces nothing', async () => {
  await expect(200, 'PUT', '/scene', scene);
  const triangle =
    'solid t\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid t\n';
  const steps = [{ type: 'wait', seconds: 1 }];
  await expect(204, 'DELETE', '/tool');
  for (const [path, body, other] of [
    ['/features/cone/tip', { point: [0, 0, 0] }, { point: [1, 0, 0] }],
    ['/tasks/once', { object: 'cone', steps }, { object: 'cone', name: 'other', steps }],
    ['/tool', { object: 'cone', device: 'sim' }, { object: 'cone', device: 'sim', control: 'admittance' }],
    ['/meshes/once.stl', triangle, triangle.replace('1 0 0', '2 0 0')],
  ]) {
    const put = (status, what, headers) =>
      expect(status, 'PUT', path, what, path.endsWith('.stl') ? { ...headers, 'content-type': null } : headers);
    await put(201, body, { 'if-none-match': '*' });
    const made = (await expect(200, 'GET', path)).json;
    const { json } = await put(412, other, { 'if-none-match': '*' });
    assert.match(json.detail, /already/, path);
    assert.deepEqual((await expect(200, 'GET', path)).json, made);
    await put(200, other);
  }
  await expect(204, 'DELETE', '/meshes/once.stl');
  await expect(200, 'PUT', '/scene', scene);
});

test('every dry run leaves the scene alone', async () => {
  const before = await expect(200, 'GET', '/scene');
  await expect(200, 'PATCH', '/scene?dryRun=true', { name: 'Never' });
  await expect(200, 'POST', '/constraints?dryRun=true', { type: 'parallel', a: 'cone/axis', b: 'cylinder/axis' });
  await expect(200, 'DELETE', '/tool?dryRun=true');
  const afterwards = await expect(200, 'GET', '/scene');
  assert.equal(afterwards.headers.etag, before.headers.etag);
  assert.deepEqual(afterwards.json, before.json);
  const refused = await request(server, 'POST', '/api/v1/simulation/halt?dryRun=true');
  assert.equal(refused.status, 400);
});

test('what cannot be joined is unhandled, wherever it is asked', async () => {
  const at = (object, p) => ({ object, at: { p, q: [1, 0, 0, 0] } });
  const bar = (joint) => ({
    joint: { type: 'revolute', origin: { p: [0.1, 0, 0] }, ...joint },
    mass: 1,
    inertia: [0.01, 0.01, 0.01, 0, 0, 0],
  });
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'Apart',
    tool: { mechanism: 'left', link: 0, device: 'sim' },
    devices: [{ id: 'sim', driver: 'sim' }],
    objects: [{ id: 'table', geometry: { type: 'box', size: [1, 1, 0.1] }, fixed: true }],
    mechanisms: [
      { id: 'left', links: [bar(), bar()] },
      { id: 'right', base: { p: [0.2, 0, 0] }, links: [bar(), bar()] },
    ],
    joints: [{ id: 'near', type: 'revolute', a: at('left.1', [0.1, 0, 0]), b: at('right.1', [0.1, 0, 0]) }],
  });
  const before = await expect(200, 'GET', '/scene');
  const far = { type: 'revolute', a: at('left.0', [0.1, 0, 0]), b: at('world', [9, 0, 0]) };
  for (const [method, path, body] of [
    ['POST', '/joints', far],
    ['PATCH', '/joints/near', far],
    ['PATCH', '/mechanisms/right', { base: { p: [9, 0, 0] } }],
    ['PATCH', '/mechanisms/right/links/0', { joint: { origin: { p: [9, 0, 0] } } }],
  ])
    assert.equal((await expect(422, method, path, body)).json.status, 'unhandled');
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, before.json);
});

test('undo without anything to undo', async () => {
  let last;
  do last = await call('POST', '/scene/undo');
  while (last.status === 200);
  assert.equal(last.status, 409);
});

test('every problem has a type with a page', async () => {
  const types = new Set();
  for (const [method, path, body, status] of [
    ['GET', '/objects/nobody', undefined, 404],
    ['PATCH', '/tool', { hui: 1 }, 400],
    ['POST', '/solutions/cone', {}, 405],
    ['POST', '/objects', { id: 'cone', geometry: { type: 'sphere', radius: 1 } }, 409],
  ]) {
    const { json, headers, ...answer } = await request(server, method, `/api/v1${path}`, body);
    assert.equal(answer.status, status);
    assert.match(headers['content-type'], /problem\+json/);
    types.add(json.type);
  }
  assert.equal(types.size, 4);
  for (const type of types) {
    const page = await request(server, 'GET', type);
    assert.equal(page.status, 200, type);
    assert.match(page.type, /text\/html/);
    assert.match(page.headers['content-security-policy'], /default-src 'none'/);
  }
  const { text } = await request(server, 'GET', '/problems');
  for (const type of types) assert.ok(text.includes(`href="${type}"`), type);
  assert.equal((await request(server, 'GET', '/problems/none')).status, 404);
});

test('a request has an id, its own where it brings one', async () => {
  // also where the listener itself answers, and who asks for the state again and again
  for (const [method, path, status] of [
    ['POST', '/api/v1/simulation/halt', 200],
    ['POST', '/api/v1/simulation/arm', 200],
    ['GET', '/api/v1/simulation', 200],
    ['GET', '/ws', 426],
  ]) {
    const named = { connection: 'close', 'x-request-id': 'mine' };
    const answered = await request(server, method, path, undefined, named);
    assert.deepEqual([answered.status, answered.headers['x-request-id']], [status, 'mine'], path);
    const other = await request(server, method, path, undefined, { connection: 'close' });
    assert.match(other.headers['x-request-id'], /^[0-9a-f]{16}$/, path);
  }
  const first = (await request(server, 'GET', '/api/v1/scene')).headers['x-request-id'];
  const second = (await request(server, 'GET', '/')).headers['x-request-id'];
  assert.match(first, /^[0-9a-f]{16}$/);
  assert.notEqual(first, second);
  assert.equal(
    (await request(server, 'GET', '/api/v1/nothing', undefined, { 'x-request-id': 'mine:1' })).headers['x-request-id'],
    'mine:1',
  );
  assert.match(
    (await request(server, 'GET', '/healthz', undefined, { 'x-request-id': 'two words' })).headers['x-request-id'],
    /^[0-9a-f]{16}$/,
  );
});

test('a POST that is repeated with its key is carried out once', async () => {
  const ball = { id: 'ball', geometry: { type: 'sphere', radius: 0.1 } },
    key = { 'idempotency-key': 'k-1' };
  const first = await expect(201, 'POST', '/objects', ball, key);
  const again = await expect(201, 'POST', '/objects', ball, key);
  assert.deepEqual(
    [again.json, again.headers.etag, again.headers.location],
    [first.json, first.headers.etag, first.headers.location],
  );
  assert.equal(again.headers['idempotency-replayed'], 'true');
  const other = await call('POST', '/objects', { ...ball, id: 'other' }, key);
  assert.deepEqual([other.status, other.json.type], [422, '/problems/key-reused']);
  for (const { path } of operations().filter((o) => o.method === 'POST' && o.operation.responses[422]))
    await expect(422, 'POST', path, {}, key);
  const seen = { ...ball, id: 'seen' };
  const stale = { 'idempotency-key': 'k-4', 'if-match': '"0"' };
  await expect(412, 'POST', '/objects', seen, stale);
  await expect(412, 'POST', '/objects', seen, stale);
  for (const condition of [{ 'if-match': '*' }, { 'if-match': '' }, {}]) {
    const { status, json } = await call('POST', '/objects', seen, { 'idempotency-key': 'k-4', ...condition });
    assert.deepEqual([status, json.type], [422, '/problems/key-reused'], JSON.stringify(condition));
  }
  const saved = { 'idempotency-key': 'k-5', 'if-none-match': '*' };
  await expect(201, 'POST', '/scene/save', { name: 'keyed' }, saved);
  await expect(422, 'POST', '/scene/save', { name: 'keyed' }, { 'idempotency-key': 'k-5' });
  await expect(201, 'POST', '/scene/save', { name: 'keyed' }, saved);
  await expect(409, 'POST', '/objects', ball, { 'idempotency-key': 'k-2' });
  await expect(409, 'POST', '/objects', ball);
  assert.equal((await call('POST', '/objects', ball, { 'idempotency-key': 'two words' })).status, 400);
  const both = await Promise.all(
    [1, 2].map(() => call('POST', '/objects', { ...ball, id: 'twice' }, { 'idempotency-key': 'k-3' })),
  );
  assert.ok(
    both.some((r) => r.status === 201) && both.every((r) => r.status === 201 || /carried out/.test(r.json.detail)),
    both.map((r) => r.text),
  );
  await expect(200, 'PUT', '/scene', scene);
});

test('documents are packed for who takes gzip', async () => {
  const plain = await request(server, 'GET', '/api/v1/openapi.json');
  const { headers, status } = await request(server, 'HEAD', '/api/v1/openapi.json', undefined, {
    'accept-encoding': 'br, gzip',
  });
  assert.deepEqual([status, headers['content-encoding'], headers.vary], [200, 'gzip', 'Accept-Encoding']);
  assert.ok(Number(headers['content-length']) < plain.text.length / 4);
  const packed = await fetch(`http://${server.address}/api/v1/openapi.json`);
  assert.equal(await packed.text(), plain.text);
  for (const [accepts, coding] of [
    ['gzip;q=0', undefined],
    ['br, gzip; q=0.0', undefined],
    ['gzip ;q=0', undefined],
    ['x-nogzip', undefined],
    ['identity', undefined],
    ['gzip;q=0.5', 'gzip'],
    ['br;q=1, GZIP', 'gzip'],
  ])
    for (const path of ['/api/v1/openapi.json', '/app.js'])
      assert.equal(
        (await request(server, 'HEAD', path, undefined, { 'accept-encoding': accepts })).headers['content-encoding'],
        coding,
        `${accepts}: ${path}`,
      );
});

test('the address of the interface lists what there is, and the specification has a page', async () => {
  const { json } = await expect(200, 'GET', '');
  const paths = Object.entries(contract.document.paths);
  assert.equal(json.resources.length, paths.length);
  for (const [path, methods] of paths)
    assert.deepEqual(
      json.resources
        .find((r) => r.path === path)
        .methods.map((m) => m.toLowerCase())
        .sort(),
      Object.keys(methods).sort(),
      path,
    );
  const page = await request(server, 'GET', json.docs);
  assert.match(page.type, /text\/html/);
  for (const file of page.text.matchAll(/(?:src|href)="(\/docs[^"]+)"/g))
    assert.equal((await request(server, 'GET', file[1])).status, 200, file[1]);
});

test('everything that the document declares was seen', () => {
  const declared = Object.entries(contract.document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, operation]) =>
      Object.keys(operation.responses)
        .filter((s) => s !== 'default')
        .map((status) => `${method.toUpperCase()} ${path} ${status}`),
    ),
  );
  assert.deepEqual(
    declared.filter((what) => !contract.seen.has(what)),
    [],
  );
});
