// Bad input gets its error by name; the running simulation never notices.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { command, scratch } from './command.mjs';
import { client, request, sleep, start, stream } from './server.mjs';

let server, expect, before_;
before(async () => {
  server = await start({ args: ['--scene', 'paper-plane'] });
  ({ expect } = await client(server));
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  before_ = await expect(200, 'GET', '/scene');
});
after(() => server?.stop());

const scene = (change) => ({ ...before_.json, ...change });
const box = { id: 'box', geometry: { type: 'box', size: [1, 1, 1] } };
const c = { id: 'x', type: 'coincident', a: 'cone/base', b: 'cylinder/top' };

// what, method, path, body, status, pointer, words
const cases = [
  ['an unknown feature', 'POST', '/constraints', { ...c, a: 'cone/nose' }, 400, '/a', /nose/],
  ['an unknown object', 'POST', '/constraints', { ...c, b: 'table/top' }, 400, '/b', /table/],
  ['a constraint within one object', 'POST', '/constraints', { ...c, b: 'cone/apex' }, 400, /^\/?/, /./],
  ['kinds that do not fit', 'POST', '/constraints', { ...c, type: 'parallel', a: 'cone/apex' }, 400, /^\//, /./],
  [
    'a negative distance of points',
    'POST',
    '/constraints',
    { ...c, type: 'distance', a: 'cone/apex', b: 'cylinder/center', value: -1 },
    400,
    '/value',
    /./,
  ],
  [
    'a value where there is none',
    'POST',
    '/constraints',
    { ...c, type: 'coincident', a: 'cone/axis', b: 'cylinder/axis', value: 0.05 },
    400,
    '/value',
    /0\.05.*only a distance/,
  ],
  [
    'an angle out of range',
    'POST',
    '/constraints',
    { ...c, type: 'angle', a: 'cone/axis', b: 'cylinder/axis', value: 7 },
    400,
    '/value',
    /./,
  ],
  ['an unknown member', 'POST', '/constraints', { ...c, colour: 'red' }, 400, '/colour', /colour/],
  ['a wrong type', 'POST', '/constraints', { ...c, enabled: 'yes' }, 400, '/enabled', /./],
  ['an unknown type', 'POST', '/constraints', { ...c, type: 'near' }, 400, '/type', /./],
  ['a bad id', 'POST', '/objects', { ...box, id: 'a/b' }, 400, '/id', /./],
  [
    'an empty id',
    'POST',
    '/constraints',
    { id: '', type: 'coincident', a: 'cone/base', b: 'cylinder/top' },
    400,
    '/id',
    /left out/,
  ],
  ['a long id', 'POST', '/objects', { ...box, id: 'a'.repeat(65) }, 400, '/id', /./],
  [
    'a negative radius',
    'POST',
    '/objects',
    { ...box, geometry: { type: 'sphere', radius: -1 } },
    400,
    '/geometry/radius',
    /./,
  ],
  [
    'a zero size',
    'POST',
    '/objects',
    { ...box, geometry: { type: 'box', size: [1, 0, 1] } },
    400,
    /^\/geometry\/size/,
    /./,
  ],
  [
    'a quaternion that is none',
    'POST',
    '/objects',
    { ...box, pose: { p: [0, 0, 0], q: [1, 1, 0, 0] } },
    400,
    '/pose/q',
    /./,
  ],
  [
    'a control point that is none',
    'POST',
    '/objects',
    {
      ...box,
      geometry: {
        type: 'nurbs-curve',
        degree: 1,
        knots: [0, 0, 1, 1],
        points: [
          [0, 0, 0],
          [1, 'x', 0],
        ],
      },
    },
    400,
    '/geometry/points/1/1',
    /finite/,
  ],
  ['a negative mass', 'POST', '/objects', { ...box, body: { mass: -1 } }, 400, '/body/mass', /./],
  [
    'a mesh that is not there',
    'POST',
    '/objects',
    { ...box, geometry: { type: 'mesh', file: 'a.stl' } },
    400,
    '/geometry/file',
    /no mesh/,
  ],
  [
    'a capsule without length',
    'POST',
    '/objects',
    { ...box, geometry: { type: 'capsule', radius: 1, height: 0 } },
    400,
    '/geometry/height',
    /greater than 0/,
  ],
  [
    'control that the device cannot have',
    'PUT',
    '/tool',
    { object: 'cone', device: 'sim', control: 'impedance' },
    400,
    '/control',
    /admittance device/,
  ],
  [
    'a held mechanism that is not there',
    'PUT',
    '/tool',
    { mechanism: 'arm', link: 1, device: 'sim' },
    400,
    '/mechanism',
    /no mechanism "arm"/,
  ],
  ['a fixed object held', 'PUT', '/tool', { object: 'cylinder' }, 400, /^\/object/, /./],
  ['an unknown device', 'PUT', '/tool', { object: 'cone', device: 'glove' }, 400, '/device', /glove/],
  [
    'an operator back in time',
    'PUT',
    '/devices/sim/operator',
    {
      type: 'wrench',
      samples: [
        { t: 1, force: [0, 0, 0] },
        { t: 0, force: [0, 0, 0] },
      ],
    },
    400,
    '/samples/1/t',
    /./,
  ],
  ['a list for an object', 'PATCH', '/solutions/cone', [1], 400, '', /object/],
  ['a string for an object', 'PATCH', '/scene', '"x"', 400, '', /object/],
  ['another format', 'PUT', '/scene', () => scene({ format: 'guideway-scene/9' }), 400, '/format', /./],
  [
    'a mechanism without links',
    'PUT',
    '/scene',
    () => scene({ mechanisms: [{ id: 'arm' }] }),
    400,
    '/mechanisms/0/links',
    /missing/,
  ],
  [
    'two of one id',
    'PUT',
    '/scene',
    () => scene({ objects: [...before_.json.objects, before_.json.objects[0]] }),
    [400, 409],
    /^\/objects\/2/,
    /./,
  ],
  [
    '10,000 objects',
    'PUT',
    '/scene',
    () =>
      scene({
        objects: Array.from({ length: 10000 }, (_, i) => ({ id: `o${i}`, geometry: { type: 'sphere', radius: 1 } })),
      }),
    413,
    '/objects',
    /4096/,
  ],
  [
    '2,000 constraints',
    'PUT',
    '/scene',
    () => scene({ constraints: Array.from({ length: 2000 }, (_, i) => ({ ...c, id: `c${i}` })) }),
    413,
    '/constraints',
    /1024/,
  ],
];

for (const [what, method, path, body, status, pointer, words] of cases)
  test(what, async () => {
    const {
      json,
      text,
      status: got,
    } = await request(server, method, `/api/v1${path}`, typeof body === 'function' ? body() : body);
    assert.ok([status].flat().includes(got), `${got}: ${text}`);
    assert.equal(json.status, got);
    assert.match(
      json.errors[0].pointer,
      pointer instanceof RegExp ? pointer : new RegExp(`^${pointer.replaceAll('/', '\\/')}$`),
    );
    assert.match(json.errors[0].detail, words);
  });

// what, body as text, words
const texts = [
  ['NaN', '{"gravity":[NaN,0,0]}', /line 1/],
  ['a number too large', '{"gravity":[1e400,0,0]}', /^line 1 column 17: the number 1e400 is out of range/],
  [
    'a whole number too large',
    '{\n"rate":99999999999999999999}',
    /^line 2 column 27: the number 99999999999999999999 is out of range/,
  ],
  ['infinity', '{"gravity":[Infinity,0,0]}', /./],
  ['half of it', '{"gravity":[0,', /./],
  ['nothing', '', /./],
  ['two members of one name', '{"name":"a","name":"b"}', /duplicate/],
  ['40 levels', `{"name":\n ${'['.repeat(40)}${']'.repeat(40)}}`, /^line 2 column 33: nested deeper than 32 levels/],
  ['bytes that are no text', Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString('latin1'), /./],
  ['a million brackets', '['.repeat(1 << 19) + ']'.repeat((1 << 19) - 8), /deep/],
  ['a zero byte', '{"name":"a\\u0000b"}', /./],
];
for (const [what, text, words] of texts)
  test(`text: ${what}`, async () => {
    const { status, json } = await request(server, 'PATCH', '/api/v1/scene', text);
    assert.equal(status, 400);
    assert.match(json.detail, words);
  });

test('a merge patch of null takes members away, and what must be there is missed', async () => {
  await expect(400, 'PATCH', '/objects/cone', { geometry: null });
  await expect(400, 'PATCH', '/constraints/c1', { a: null });
});

test('after all that: the scene is as before and the simulation runs on', async () => {
  const now = await expect(200, 'GET', '/scene');
  assert.deepEqual(now.json, before_.json);
  assert.equal(now.headers.etag, before_.headers.etag);
  const live = stream(server);
  await live.wait('hello');
  live.socket.send(Buffer.from('00ff00ff', 'hex'));
  live.send('rubbish');
  await live.wait('error');
  const first = (await expect(200, 'GET', '/simulation')).json;
  await sleep(200);
  const second = (await expect(200, 'GET', '/simulation')).json;
  assert.equal(second.state, 'running');
  assert.ok(second.tick > first.tick);
  await live.close();
});

test('a fixed object has no velocity, and one that becomes fixed loses it', async () => {
  const still = { ...box, fixed: true, velocity: { v: [1, 0, 0] } };
  const undo = async () => {
    await expect(200, 'POST', '/scene/undo');
  };
  assert.equal((await expect(400, 'POST', '/objects', still)).json.errors[0].pointer, '/velocity');
  assert.equal(
    (await expect(400, 'PATCH', '/objects/cylinder', { velocity: { w: [0, 0, 1] } })).json.errors[0].pointer,
    '/velocity',
  );
  await expect(201, 'POST', '/objects', { ...still, fixed: false });
  const fixed = (await expect(200, 'PATCH', '/objects/box', { fixed: true })).json;
  assert.deepEqual(fixed.velocity ?? null, null);
  await undo();
  assert.deepEqual((await expect(200, 'GET', '/objects/box')).json.velocity.v, [1, 0, 0]);
  await undo();
  // a file of before, in which it was left over, still opens
  await expect(200, 'PUT', '/scene', scene({ objects: [...before_.json.objects, still] }));
  assert.equal((await expect(200, 'GET', '/objects/box')).json.velocity, undefined);
  await undo();
});

test('a body put beyond all numbers: its state is still told, and the way back is open', async () => {
  const gravity = before_.json.gravity;
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  await expect(200, 'POST', '/scene/open', { scene: 'cone-on-cylinder' });
  const wrong = (await expect(400, 'PATCH', '/scene', { gravity: [0, 0, -1e200] })).json.errors[0];
  assert.deepEqual(wrong, { pointer: '/gravity/2', detail: 'is -1e+200, must be from -1e+75 to 1e+75' });
  for (const [path, patch, pointer] of [
    ['/objects/cone', { pose: { p: [1e300, 0, 1e300], q: [1, 0, 0, 0] } }, '/pose/p/0'],
    ['/objects/cone', { body: { mass: 1e76 } }, '/body/mass'],
    ['/objects/cone', { velocity: { v: [0, -1e76, 0] } }, '/velocity/v/1'],
  ])
    assert.equal((await expect(400, 'PATCH', path, patch)).json.errors[0].pointer, pointer);
  await expect(200, 'PATCH', '/scene', { gravity: [0, 0, -1e75] });
  await expect(200, 'PATCH', '/objects/cone', { pose: { p: [1e75, 0, 1e75], q: [1, 0, 0, 0] } });
  const { json } = await expect(200, 'PUT', '/simulation', { state: 'running' });
  assert.ok(Number.isFinite(json.energy.potential) && Math.abs(json.energy.potential) < 1e200);
  assert.ok(
    json.tools.every((t) => Math.hypot(...t.constraint.force) < 1e200),
    'lambda is a number',
  );
  await expect(200, 'GET', '/simulation');
  await expect(200, 'POST', '/scene/undo');
  await expect(200, 'PATCH', '/scene', { gravity });
});

test('a control point too far away is told the limit of shapes, not that of numbers', async () => {
  const wire = (x) => ({
    id: 'wire',
    geometry: {
      type: 'nurbs-curve',
      degree: 1,
      knots: [0, 0, 1, 1],
      points: [
        [0, 0, 0],
        [x, 0, 0],
      ],
    },
    fixed: true,
  });
  for (const x of [2e6, -1e80]) {
    const { pointer, detail } = (await expect(400, 'POST', '/objects', wire(x))).json.errors[0];
    assert.equal(pointer, '/geometry/points/1/0');
    assert.match(detail, /must be from -1e\+06 to 1e\+06 m$/);
  }
});

test('all errors of a document are told, twenty at most', async () => {
  const { json } = await expect(400, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    gravity: 1,
    foo: 2,
    objects: [
      { id: 'a', geometry: { type: 'box', size: [1, 2] }, hui: 1 },
      { id: 'b', geometry: { type: 'cone', radius: -0.1, height: 1 } },
    ],
  });
  const pointers = json.errors.map((e) => e.pointer);
  for (const pointer of [
    '/foo',
    '/gravity',
    '/objects/0/hui',
    '/objects/0/geometry/size',
    '/objects/1/geometry/radius',
  ])
    assert.ok(pointers.includes(pointer), `${pointer} in ${pointers}`);
  assert.equal(new Set(json.errors.map((e) => e.pointer + e.detail)).size, json.errors.length);
  assert.match(json.errors.find((e) => e.pointer === '/objects/1/geometry/radius').detail, /is -0\.1, must/);
  assert.equal(json.detail, json.errors[0].detail);
  const many = await expect(400, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    objects: Array.from({ length: 50 }, () => ({ wrong: 1 })),
  });
  assert.equal(many.json.errors.length, 20);
});

test('a feature that there is not is answered with those that there are', async () => {
  const { json } = await expect(400, 'POST', '/constraints', { type: 'coincident', a: 'cone/top', b: 'cylinder/top' });
  assert.match(json.detail, /no feature "top", but axis, base, apex/);
  assert.equal((await expect(404, 'GET', '/features/cone/top')).json.detail, json.detail);
});

test('what a scene refers to and is not there is told all at once, with pointers', async () => {
  const box = (id, more) => ({ id, geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, ...more });
  const scene = (more) =>
    JSON.stringify({
      format: 'guideway-scene/1',
      name: 'Wrong',
      objects: [box('a', { fixed: true }), box('b'), box('c')],
      ...more,
    });
  const pointers = async (text) => {
    const put = await request(server, 'PUT', '/api/v1/scene', text);
    assert.equal(put.status, 400, put.text);
    assert.equal(put.json.detail, put.json.errors[0].detail);
    return put.json.errors.map((e) => e.pointer);
  };
  const joined = (a, b) => ({ type: 'coincident', a, b });
  assert.deepEqual(
    await pointers(
      scene({
        constraints: [
          joined('b/+x', 'a/+x'),
          joined('b/+x', 'a/top'),
          joined('nobody/+x', 'a/+x'),
          { type: 'distance', a: 'c/+x', b: 'c/-x', value: 0.1 },
        ],
        tasks: [{ id: 't', object: 'z', steps: [{ type: 'wait', seconds: 1 }] }],
        devices: [{ id: 'd', driver: 'sim' }],
        tool: { object: 'q', device: 'd' },
      }),
    ),
    ['/constraints/1/b', '/constraints/2/a', '/constraints/3/b', '/tool/object', '/tasks/0/object'],
  );
  // also beside bodies that are wrong
  assert.deepEqual(
    await pointers(
      scene({
        objects: [
          box('a', { fixed: true }),
          box('b', { velocity: { v: [1, 0, 0] }, fixed: true }),
          box('c', { body: { mass: 1, inertia: [1, 1, 5, 0, 0, 0] } }),
        ],
        devices: [{ id: 'd', driver: 'none' }],
        constraints: [joined('b/+x', 'a/top')],
      }),
    ).then((list) => list.map((p) => p.split('/').slice(1, 3).join('/'))),
    ['objects/2', 'devices/0', 'constraints/0'],
  );
  const many = Array.from({ length: 40 }, (_, i) => joined(`b/no${i}`, 'a/+x'));
  assert.equal((await pointers(scene({ constraints: many }))).length, 20);
});

test('wrong members, ids, bodies and references are told together; what names a wrong entry is not', async () => {
  const ball = (id, more) => ({ id, geometry: { type: 'sphere', radius: 0.1 }, ...more });
  const document = {
    format: 'guideway-scene/1',
    name: 'Wrong in everything',
    rate: 1,
    objects: [
      ball('a', { fixed: true }),
      ball('b', { geometry: { type: 'sphere', radius: -1 } }),
      ball('c', { body: { mass: -1 } }),
      ball('c'),
      ball('b'),
      ball('d', { fixed: 'no' }),
      ball('e'),
      ball('e'),
    ],
    features: [
      { id: 'z/p', point: [0, 0, 0] },
      { id: 'd/p', point: [0, 0, 0] },
    ],
    constraints: [
      { id: 'k', type: 'coincident', a: 'd/center', b: 'a/center' },
      { id: 'l', type: 'coincident', a: 'c/top', b: 'a/center' },
    ],
    joints: [{ type: 'revolute', a: { object: 'y' }, b: { object: 'a' }, limits: [[1, -1]] }],
    springs: [{ a: { object: 'x', p: [0, 0, 0] }, b: { object: 'c', p: [0, 0, 0] }, stiffness: -1 }],
    devices: [{ id: 'sim', driver: 'none' }],
    tool: { object: 'w', device: 'v' },
  };
  const wrong = [
    '/constraints/1/a',
    '/devices/0/driver',
    '/features/0/id',
    '/joints/0/a/object',
    '/joints/0/limits/0',
    '/objects/1/geometry/radius',
    '/objects/2/body/mass',
    '/objects/3/id',
    '/objects/4/id',
    '/objects/5/fixed',
    '/objects/7/id',
    '/rate',
    '/springs/0/a/object',
    '/springs/0/stiffness',
    '/tool/device',
    '/tool/object',
  ];
  const { json } = await expect(400, 'PUT', '/scene', document);
  assert.deepEqual(json.errors.map((e) => e.pointer).sort(), wrong);
  const taken = (pointer) => json.errors.find((e) => e.pointer === pointer).detail;
  assert.equal(taken('/objects/3/id'), 'the id c is taken by /objects/2');
  assert.equal(taken('/objects/4/id'), 'the id b is taken by /objects/1');
  assert.equal(taken('/objects/7/id'), 'the id e is taken by /objects/6');
  // no member wrong: the same, but for what was wrong in members; ids that are taken lead
  document.rate = 1000;
  document.objects[1] = ball('b');
  document.objects[5] = ball('d');
  const rest = await expect(409, 'PUT', '/scene', document);
  assert.deepEqual(
    rest.json.errors.map((e) => e.pointer).sort(),
    wrong.filter((p) => !['/rate', '/objects/1/geometry/radius', '/objects/5/fixed'].includes(p)),
  );
  // ids alone: a conflict, with all of them
  const ids = { format: 'guideway-scene/1', name: 'Twice', objects: [ball('a'), ball('a'), ball('b'), ball('b')] };
  const twice = await expect(409, 'PUT', '/scene', ids);
  assert.deepEqual(
    twice.json.errors.map((e) => e.pointer),
    ['/objects/1/id', '/objects/3/id'],
  );
  // the command line has the same, a line each
  document.rate = 1;
  document.objects[5].fixed = 'no';
  document.objects[1].geometry.radius = -1;
  writeFileSync(join(scratch, 'wrong.json'), JSON.stringify(document));
  const run = command(['run', join(scratch, 'wrong.json')]);
  assert.equal(run.code, 2);
  const named = [...run.err.matchAll(/wrong\.json: (\/[^:]+): /g)].map((m) => m[1]);
  assert.deepEqual(named.sort(), wrong);
});
