// Files from outside: in which unit they were taken and the way to the other one, and each refusal by the file's name.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { appliance, page, person, suite, visit } from './fixture.mjs';
import { until } from './harness.mjs';

const EMPTY = { name: 'Files', objects: [] };
const file = (name, buffer) => ({ name, mimeType: 'application/octet-stream', buffer: Buffer.from(buffer) });
const open = (...files) => page.setInputFiles('#scene-file', files);
const noticed = (like) =>
  until(async () => {
    const box = page.locator('.notice');
    return (await box.count()) > 0 && like.test(await box.innerText());
  }, `${like} is told`);
const objects = () => appliance.get('/objects');

// A tetrahedron with edges of this length along the axes.
const tetrahedron = (size) =>
  ['0 0 0', `${size} 0 0`, `0 ${size} 0`, `0 0 ${size}`].map((v) => `v ${v}\n`).join('') +
  'f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n';

const surface = (size) => ({
  type: 'nurbs-surface',
  degree: [1, 1],
  knots: [
    [0, 0, 1, 1],
    [0, 0, 1, 1],
  ],
  points: [0, 1].map((i) => [0, 1].map((j) => [size * i, size * j, 0])),
});

suite('files from outside', () => {
  test('the unit of a mesh is a guess that is told, and taken back by a press', async () => {
    await visit(EMPTY);
    await open(file('part.obj', tetrahedron(4))); // 4 mm, or 4 m
    await noticed(/part\.obj was taken as drawn in metres, 4000 mm long/);
    await page.click('.notice .fixes button >> text=It is in millimetres');
    await noticed(/part is 4 mm long now/);
    const [{ geometry }] = await objects();
    const { high } = await appliance.get(`/meshes/${geometry.file}`).then(({ vertices }) => ({
      high: Math.max(...vertices.flat()),
    }));
    assert.ok(Math.abs(high - 0.004) < 1e-9, `${high} m`);
    await appliance.api('POST', '/scene/undo');
    assert.equal((await objects())[0].geometry.file, 'part.obj', 'one step back: as it was taken first');
  });

  test('a surface in a file tells its size, and is taken in millimetres by a press', async () => {
    await visit(EMPTY);
    await open(file('hood.json', JSON.stringify(surface(200))));
    await noticed(/hood\.json was taken in metres, 200000 mm wide/);
    await page.click('.notice .fixes button >> text=It is in millimetres');
    await until(async () => (await objects())[0].geometry.points[1][1][0] === 0.2, 'it is 200 mm wide');
  });

  test('each refusal names its file and leaves the scene as it is', async () => {
    await visit(EMPTY);
    const refused = [
      ['none.stl', '', /none\.stl: the file is empty/],
      ['letter.stl', 'Dear all', /letter\.stl is no STL/],
      ['points.obj', 'v 0 0 0\n', /points\.obj: .*triangles/],
      ['far.obj', 'v 0 0 0\nv 1 0 0\nf 1 2 9\n', /far\.obj, line 3/],
      ['list.json', '[1, 2]', /list\.json: /],
      ['other.json', '{"hello":1}', /other\.json: unknown member/],
      ['bent.json', JSON.stringify({ ...surface(1), degree: [2, 1] }), /bent\.json: /],
      ['cut.urdf', '<robot name="x"><link name="a"></robot>', /cut\.urdf: line 1/],
      ['macro.urdf', '<robot name="x"/>', /macro\.urdf: <robot> has no <link>/],
      ['part.step', 'ISO', /part\.step cannot be opened/],
    ];
    for (const [name, text, like] of refused) {
      await open(file(name, text));
      await noticed(like);
    }
    const folder = await mkdtemp(join(tmpdir(), 'guideway-files-'));
    await writeFile(join(folder, 'large.stl'), new Uint8Array(17 * 2 ** 20)); // the browser reads it from there
    await open(join(folder, 'large.stl'));
    await noticed(/large\.stl: it has 17 MiB, and a mesh at most 16/);
    await rm(folder, { recursive: true });
    assert.deepEqual(await objects(), []);
    // a browser says so of a document that it cannot read
    person.messages = person.messages.filter((m) => !/inline style/.test(m));
  });
});
