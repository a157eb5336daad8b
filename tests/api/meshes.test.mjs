// Mesh files: kept, listed, drawn from, used by scenes; what is no mesh, or too much of one, is refused.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { client, guideway, request, start } from './server.mjs';

let server, call, expect;
before(async () => {
  server = await start();
  ({ call, expect } = await client(server));
});
after(async () => server?.stop());

// A box of full lengths a, b, c as 12 triangles [corner, corner, corner], counter-clockwise from outside.
function block(a, b, c) {
  const p = (i) => [i & 1 ? a / 2 : -a / 2, i & 2 ? b / 2 : -b / 2, i & 4 ? c / 2 : -c / 2];
  return [
    [1, 3, 7, 5],
    [0, 4, 6, 2],
    [2, 6, 7, 3],
    [0, 1, 5, 4],
    [4, 5, 7, 6],
    [0, 2, 3, 1],
  ].flatMap(([i, j, k, l]) => [
    [p(i), p(j), p(k)],
    [p(i), p(k), p(l)],
  ]);
}

function binary(triangles, count = triangles.length) {
  const out = Buffer.alloc(84 + 50 * triangles.length);
  out.write('solid by name only');
  out.writeUInt32LE(count, 80);
  triangles.forEach((t, i) => t.flat().forEach((x, k) => out.writeFloatLE(x, 84 + 50 * i + 12 + 4 * k)));
  return out;
}

const ascii = (triangles) =>
  `solid box\n${triangles
    .map(
      (t) =>
        `facet normal 0 0 0\n outer loop\n${t.map((p) => `  vertex ${p.join(' ')}\n`).join('')} endloop\nendfacet\n`,
    )
    .join('')}endsolid box\n`;

const obj = `# a cube\nv -.5 -.5 -.5\nv .5 -.5 -.5\nv .5 .5 -.5\nv -.5 .5 -.5\nv -.5 -.5 .5\nv .5 -.5 .5\nv .5 .5 .5\nv -.5 .5 .5
vn 0 0 1\nusemtl grey\nf 4 3 2 1\nf 5/1 6/1 7/1 8/1\nf 1//1 2//1 6//1 5//1\nf 2/1/1 3/1/1 7/1/1 6/1/1\nf 3 4 8 7\nf -8 -4 -1 -5\n`;

const put = (name, body) =>
  request(server, 'PUT', `/api/v1/meshes/${name}`, body, { 'content-type': 'application/octet-stream' });

test('STL and OBJ make the round trip', async () => {
  for (const [name, body] of [
    ['a.stl', binary(block(0.1, 0.2, 0.3))],
    ['b.STL', ascii(block(0.1, 0.2, 0.3))],
  ]) {
    const reply = await expect(201, 'PUT', `/meshes/${name}`, body);
    assert.equal(reply.headers.location, `/api/v1/meshes/${name}`);
    assert.deepEqual([reply.json.vertices, reply.json.triangles, reply.json.closed], [8, 12, true]);
    assert.ok(Math.abs(reply.json.volume - 0.006) < 1e-8 && Math.abs(reply.json.high[2] - 0.15) < 1e-8);
    const mesh = (await expect(200, 'GET', `/meshes/${name}`)).json;
    assert.deepEqual([mesh.vertices.length, mesh.triangles.length], [24, 36]);
    assert.ok(mesh.triangles.every((i) => i >= 0 && i < 8));
  }
  const cube = await expect(201, 'PUT', '/meshes/cube.obj', obj);
  assert.ok(cube.json.closed && Math.abs(cube.json.volume - 1) < 1e-12);
  assert.equal((await expect(200, 'PUT', '/meshes/cube.obj', obj)).json.triangles, 12);
  assert.deepEqual(
    (await expect(200, 'GET', '/meshes')).json.map((m) => m.name),
    ['a.stl', 'b.STL', 'cube.obj'],
  );
  await expect(204, 'DELETE', '/meshes/b.STL');
  await expect(404, 'DELETE', '/meshes/b.STL');
  await expect(404, 'GET', '/meshes/b.STL');
  assert.deepEqual(readdirSync(join(server.folder, 'meshes')).sort(), ['a.stl', 'cube.obj']);
});

test('objects take their shape from a mesh, which then stays', async () => {
  await put('part.stl', binary(block(0.1, 0.2, 0.3)));
  const geometry = { type: 'mesh', file: 'part.stl' };
  const made = await expect(201, 'POST', '/objects', { id: 'part', geometry });
  assert.deepEqual(made.json.geometry, { ...geometry, convex: false });
  await expect(200, 'PATCH', '/objects/part', { geometry: { convex: true } });
  assert.equal((await expect(200, 'GET', '/objects/part')).json.geometry.convex, true);
  assert.ok((await expect(200, 'GET', '/features')).json.some((f) => f.id === 'part/center'));
  assert.match((await expect(409, 'DELETE', '/meshes/part.stl')).json.detail, /part/);
  await expect(409, 'PUT', '/meshes/part.stl', binary(block(1, 1, 1)));
  await expect(201, 'POST', '/objects', {
    id: 'pair',
    geometry: { type: 'compound', parts: [{ geometry }, { geometry, pose: { p: [1, 0, 0], q: [1, 0, 0, 0] } }] },
  });
  await expect(201, 'POST', '/scene/save', { name: 'with a mesh' });
  await expect(200, 'POST', '/scene/open', { scene: 'with-a-mesh' });
  await expect(204, 'DELETE', '/objects/pair');
  await expect(204, 'DELETE', '/objects/part');
  await expect(204, 'DELETE', '/meshes/part.stl');
  // the saved scene has lost its file
  const lost = await call('POST', '/scene/open', { scene: 'with-a-mesh' });
  assert.ok(lost.status >= 400 && /part\.stl/.test(JSON.stringify(lost.json)), JSON.stringify(lost.json));
});

test('open surfaces are no solids, their hulls are', async () => {
  assert.equal((await put('open.stl', binary(block(1, 1, 1).slice(1)))).json.closed, false);
  const reply = await expect(400, 'POST', '/objects', { id: 'open', geometry: { type: 'mesh', file: 'open.stl' } });
  assert.equal(reply.json.errors[0].pointer, '/geometry/file');
  assert.match(reply.json.errors[0].detail, /open\.stl is open/);
  await expect(201, 'POST', '/objects', { id: 'open', geometry: { type: 'mesh', file: 'open.stl', convex: true } });
  await expect(204, 'DELETE', '/objects/open');
  const none = await expect(400, 'POST', '/objects', { id: 'x', geometry: { type: 'mesh', file: 'nowhere.stl' } });
  assert.match(none.json.errors[0].detail, /no mesh "nowhere\.stl"/);
});

test('what is no mesh is refused by name', async () => {
  const refused = [
    ['empty.stl', '', /empty/],
    ['text.stl', 'hello', /no STL/],
    ['short.stl', binary(block(1, 1, 1), 13), /three numbers|no STL|triangles/],
    [
      'bomb.stl',
      (() => {
        const b = binary([]);
        b.write('x');
        b.writeUInt32LE(0xffffffff, 80);
        return b;
      })(),
      /no STL/,
    ],
    ['half.stl', 'solid\nvertex 0 0 0\nvertex 1 0 0\n', /within a triangle/],
    ['word.stl', 'solid\nvertex 0 zero 0\n', /line 2/],
    ['nan.stl', 'solid\nvertex 0 nan 0\nvertex 1 0 0\nvertex 0 1 0\n', /finite/],
    ['far.stl', 'solid\nvertex 0 1e300 0\nvertex 1 0 0\nvertex 0 1 0\n', /more than 1e\+06 m away/],
    ['index.obj', 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n', /line 4: vertex 4 of 3/],
    ['zero.obj', 'v 0 0 0\nf 0 1 1\n', /line 2/],
    ['back.obj', 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf -1 -2 -4\n', /line 4: vertex -4/],
    ['huge.obj', 'v 0 0 0\nf 1 99999999999999999999 1\n', /line 2/],
    ['two.obj', 'v 0 0 0\nv 1 0 0\nf 1 2\n', /three|triangles/],
    ['none.obj', 'v 0 0 0\n', /triangles/],
  ];
  for (const [name, body, why] of refused) {
    const reply = await put(name, body);
    assert.equal(reply.status, 400, `${name}: ${reply.text}`);
    assert.match(reply.json.detail, why, name);
  }
});

test('names lead nowhere else', async () => {
  for (const name of [
    '..%2f..%2fx.stl',
    '.hidden.stl',
    '%2e%2e',
    'a%2fb.stl',
    'a.txt',
    'a',
    'x%00.stl',
    `${'x'.repeat(70)}.stl`,
  ]) {
    const reply = await put(name, binary(block(1, 1, 1)));
    assert.ok(reply.status === 400 || reply.status === 404, `${name}: ${reply.status}`);
    const read = await request(server, 'GET', `/api/v1/meshes/${name}`);
    assert.equal(read.status, 404, name);
    const gone = await request(server, 'DELETE', `/api/v1/meshes/${name}`);
    assert.equal(gone.status, 404, name);
  }
  for (const file of ['../scenes/x.stl', '/etc/passwd.stl', '.stl']) {
    const reply = await call('POST', '/objects', { id: 'x', geometry: { type: 'mesh', file } });
    assert.equal(reply.status, 400, file);
  }
  assert.ok(!existsSync(join(server.folder, 'x.stl')));
});

test('a mesh may be large, but not larger than its cap', async () => {
  const n = 300000; // 15 MB: points on a ball's screw, no surface at all
  const point = (i) => [Math.cos(i), Math.sin(i), i / n];
  const reply = await put(
    'large.stl',
    binary(Array.from({ length: n }, (_, i) => [point(i), point(i + 1), point(i + 2)])),
  );
  assert.equal(reply.status, 201, reply.text.slice(0, 200));
  assert.equal(reply.json.triangles, n);
  const hull = await expect(400, 'POST', '/objects', {
    id: 'x',
    geometry: { type: 'mesh', file: 'large.stl', convex: true },
  }).catch((e) => e);
  assert.ok(!hull.json || /hull/.test(JSON.stringify(hull.json)));
  const beyond = await put('beyond.stl', Buffer.alloc((16 << 20) + 1, 32));
  assert.equal(beyond.status, 413);
  // other bodies keep their cap
  assert.equal((await request(server, 'PUT', '/api/v1/scene', Buffer.alloc((1 << 20) + 1, 32))).status, 413);
  await expect(204, 'DELETE', '/meshes/large.stl');
});

test('run finds a mesh beside its scene, and in the data folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guideway-mesh-'));
  const scene = {
    format: 'guideway-scene/1',
    name: 'mesh',
    objects: [{ id: 'part', geometry: { type: 'mesh', file: 'part.stl' }, body: { density: 500 } }],
    tool: { object: 'part', device: 'sim' },
    devices: [
      {
        id: 'sim',
        driver: 'sim',
        operator: { type: 'wrench', samples: [{ t: 0, force: [3, 0, 0], torque: [0, 0, 0] }] },
      },
    ],
  };
  writeFileSync(join(folder, 'scene.json'), JSON.stringify(scene));
  const env = { ...process.env, XDG_DATA_HOME: join(folder, 'data') };
  const run = () =>
    spawnSync(guideway, ['run', join(folder, 'scene.json'), '--seconds', '1'], { encoding: 'utf8', env });
  assert.equal(run().status, 2);
  assert.match(run().stderr, /\/objects\/0\/geometry\/file: .*part\.stl/);
  writeFileSync(join(folder, 'part.stl'), binary(block(0.1, 0.2, 0.3)));
  const x = JSON.parse(run().stdout).final.pose.p[0];
  assert.ok(Math.abs(x - 0.5) < 1e-3, `3 N on 3 kg for a second: ${x}`);
  rmSync(join(folder, 'part.stl'));
  mkdirSync(join(folder, 'data/guideway/meshes'), { recursive: true });
  writeFileSync(join(folder, 'data/guideway/meshes/part.stl'), binary(block(0.1, 0.2, 0.3)));
  assert.equal(JSON.parse(run().stdout).final.pose.p[0], x);
  rmSync(folder, { recursive: true });
});
