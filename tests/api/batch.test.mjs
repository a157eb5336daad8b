// Several edits in one request: all or none, one revision, one step for undo; errors name the edit.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { client, request, start } from './server.mjs';

let server, expect;

before(async () => {
  server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  ({ expect } = await client(server));
});
after(() => server?.stop());

const scene = async () => {
  const { json, headers } = await expect(200, 'GET', '/scene');
  return { json, revision: Number(headers.etag.slice(1, -1)) };
};
const ball = (id, x = 0) => ({
  method: 'POST',
  path: '/objects',
  body: { id, geometry: { type: 'sphere', radius: 0.05 }, pose: { p: [x, 1, 1] } },
});

test('edits that need one another go together: one revision, one step for undo', async () => {
  const old = await scene();
  const { json, headers } = await expect(200, 'POST', '/scene/edits', [
    ball('ball', 1),
    { method: 'POST', path: '/features', body: { id: 'ball/pole', point: [0, 0, 0.05] } },
    {
      method: 'POST',
      path: '/api/v1/constraints',
      body: { id: 'b1', type: 'coincident', a: 'ball/pole', b: 'cylinder/top' },
    },
    { method: 'PATCH', path: '/constraints/b1', body: { enabled: false } },
    { method: 'PATCH', path: '/objects/ball', body: { id: 'globe' } },
    { method: 'PATCH', path: '/scene', body: { description: 'many at once' } },
    { method: 'DELETE', path: '/tool' },
  ]);
  const now = await scene();
  assert.deepEqual(
    [json.revision, headers.etag, now.revision],
    [old.revision + 1, `"${old.revision + 1}"`, old.revision + 1],
  );
  assert.equal(now.json.constraints.find((c) => c.id === 'b1').a, 'globe/pole');
  assert.equal(now.json.description, 'many at once');
  assert.equal(now.json.tool, undefined);
  await expect(200, 'POST', '/scene/undo');
  assert.deepEqual((await scene()).json, old.json);
});

const wrong = [
  [
    'a member',
    [
      ball('x1'),
      ball('x2'),
      { method: 'POST', path: '/objects', body: { id: 'x3', geometry: { type: 'sphere', radius: -1 } } },
    ],
    400,
    '/2/body/geometry/radius',
  ],
  ['an id that is taken by an edit before', [ball('x1'), ball('x1')], 409, '/1/body/id'],
  [
    'what is not there',
    [ball('x1'), { method: 'PATCH', path: '/objects/nobody', body: { fixed: true } }],
    400,
    '/1/path',
  ],
  [
    'what is gone by then',
    [
      { method: 'DELETE', path: '/tool' },
      { method: 'DELETE', path: '/objects/cone' },
      { method: 'PATCH', path: '/objects/cone', body: {} },
    ],
    400,
    '/2/path',
  ],
  ['what others refer to', [ball('x1'), { method: 'DELETE', path: '/objects/cone' }], 409, '/1'],
  [
    'a reference to nothing',
    [
      ball('x1'),
      { method: 'POST', path: '/constraints', body: { id: 'k', type: 'coincident', a: 'x1/center', b: 'nobody/top' } },
      ball('x2'),
    ],
    400,
    '/1/body/b',
  ],
  ['an address that is none', [{ method: 'POST', path: '', body: {} }], 400, '/0/path'],
  ['an unknown address', [{ method: 'POST', path: '/nothing', body: {} }], 400, '/0/path'],
  [
    'a method that it does not take',
    [ball('x1'), { method: 'POST', path: '/objects/cone', body: {} }],
    400,
    '/1/method',
  ],
  ['what is no edit of the document', [{ method: 'POST', path: '/scene/save', body: { name: 'x' } }], 400, '/0/path'],
  [
    'an assembly among them',
    [ball('x1'), { method: 'POST', path: '/assemble', body: { commit: true } }],
    400,
    '/1/path',
  ],
  ['undo among them', [{ method: 'POST', path: '/scene/undo' }], 400, '/0/path'],
  ['a batch in a batch', [{ method: 'POST', path: '/scene/edits', body: {} }], 400, '/0/path'],
  ['a body that is missing', [{ method: 'POST', path: '/objects' }], 400, '/0'],
  ['a body that is too much', [{ method: 'DELETE', path: '/tool', body: {} }], 400, '/0'],
  ['a member of the edit', [{ method: 'DELETE', path: '/tool', when: 'now' }], 400, '/0/when'],
  [
    'an id that is found by an edit of the whole scene',
    [ball('x1'), ball(''), { method: 'PATCH', path: '/scene', body: { name: 'x' } }],
    400,
    '/1/body/id',
  ],
  [
    'a scene that is wrong by itself',
    [ball('x1'), { method: 'PATCH', path: '/scene', body: { rate: -1 } }],
    400,
    '/1/body/rate',
  ],
  ['no edit at all', [7], 400, '/0'],
];

for (const [what, edits, status, pointer] of wrong)
  test(`one that is wrong, ${what}: none is made, and it is named`, async () => {
    const old = await scene();
    const { json } = await expect(status, 'POST', '/scene/edits', edits);
    assert.equal(json.errors[0].pointer, pointer, JSON.stringify(json));
    assert.deepEqual(await scene(), old);
  });

test('constraints that clash only together: refused with the conflict, none is made', async () => {
  const old = await scene();
  const at = (id, value) => ({
    method: 'POST',
    path: '/constraints',
    body: { id, type: 'distance', a: 'cone/apex', b: 'cylinder/top', value },
  });
  const { json } = await expect(422, 'POST', '/scene/edits', [at('d1', 0.1), at('d2', 0.2)]);
  assert.deepEqual(json.conflict.constraints.sort(), ['d1', 'd2']);
  assert.deepEqual(await scene(), old);
});

test('a dry run changes nothing, a revision that is not the present one is refused', async () => {
  const old = await scene();
  const dry = await expect(200, 'POST', '/scene/edits?dryRun=true', [ball('x1'), ball('x2')]);
  assert.ok(Array.isArray(dry.json));
  await expect(412, 'POST', '/scene/edits', [ball('x1')], { 'if-match': '"0"' });
  await expect(400, 'POST', '/scene/edits', []);
  await expect(400, 'POST', '/scene/edits', {});
  await expect(
    413,
    'POST',
    '/scene/edits',
    Array.from({ length: 1025 }, (_, i) => ({ method: 'DELETE', path: `/objects/o${i}` })),
  );
  assert.deepEqual(await scene(), old);
});

test('a thousand edits at once are one edit', async () => {
  const old = await scene(),
    begun = performance.now();
  await expect(
    200,
    'POST',
    '/scene/edits',
    Array.from({ length: 1024 }, (_, i) => ball(`many${i}`, i)),
  );
  console.log(`# 1024 objects in one request: ${Math.round(performance.now() - begun)} ms`);
  const now = await scene();
  assert.equal(now.revision, old.revision + 1);
  assert.equal(now.json.objects.length, old.json.objects.length + 1024);
  await expect(200, 'POST', '/scene/undo');
  assert.deepEqual((await scene()).json, old.json);
});

test('others edit meanwhile: each batch is whole or not there', async () => {
  const pair = (k, n) => [
    { method: 'PATCH', path: '/scene', body: { name: `${k} ${n}` } },
    { method: 'PATCH', path: '/scene', body: { description: `${k} ${n}` } },
  ];
  let over = false;
  const reader = (async () => {
    while (!over) {
      const { json } = await request(server, 'GET', '/api/v1/scene');
      if (json.description?.includes(' ') && /^\d \d+$/.test(json.name)) assert.equal(json.name, json.description);
    }
  })();
  await Promise.all(
    [1, 2, 3].map(async (k) => {
      for (let n = 0; n < 30; n++) await expect(200, 'POST', '/scene/edits', pair(k, n));
    }),
  );
  over = true;
  await reader;
});
