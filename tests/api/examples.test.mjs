// The examples: the scene of framework V-B from nothing, a sensor that moves a plane, a task.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { client, root, start } from './server.mjs';

let server, expect;
before(async () => {
  server = await start();
  ({ expect } = await client(server));
});
after(() => server?.stop());

const output = (command, args) =>
  new Promise((done, failed) => {
    const child = spawn(command, args, { cwd: '/' });
    let text = '';
    child.stdout.on('data', (data) => (text += data));
    child.stderr.on('data', (data) => (text += data));
    child.on('error', failed);
    child.on('exit', (code) => done({ code, text }));
  });

for (const [command, file] of [
  ['sh', 'circle.sh'],
  ['python3', 'circle.py'],
  [process.execPath, 'circle.mjs'],
])
  test(file, async (t) => {
    let ran;
    try {
      ran = await output(command, [`${root}examples/${file}`, `http://${server.address}`]);
    } catch {
      return t.skip(`${command} is not installed`);
    }
    assert.equal(ran.code, 0, ran.text);
    assert.match(ran.text, /3 freedoms: slides in the plane \(2\), turns about its normal \(1\)/);
    assert.match(ran.text, /2 freedoms/);
    const { json } = await expect(200, 'GET', '/simulation');
    assert.equal(json.state, 'paused');
    const [x, y, z] = json.tools[0].pose.p;
    assert.ok(Math.abs(Math.hypot(x, y) - 0.05) < 1e-9 && Math.abs(z - 0.1) < 1e-9, `${[x, y, z]}`);
    // how far it went depends on when it was paused, its speed along the circle does not
    const [vx, vy] = json.tools[0].twist.v;
    assert.ok(Math.hypot(vx, vy) > 0.05 && Math.abs(x * vx + y * vy) < 1e-9, `pushed along: ${[vx, vy]}`);
    assert.ok(json.tools[0].residual < 1e-12);
    assert.deepEqual(
      (await expect(200, 'GET', '/constraints')).json.map((c) => c.id),
      ['plane', 'axes'],
    );
  });

test('sensor.py', async (t) => {
  let ran;
  try {
    ran = await output('python3', [`${root}examples/sensor.py`, `http://${server.address}`]);
  } catch {
    return t.skip('python3 is not installed');
  }
  assert.equal(ran.code, 0, ran.text);
  assert.match(ran.text, /^400 values.*on its constraint/m);
  const { json } = await expect(200, 'GET', '/simulation');
  const shelf = (await expect(200, 'GET', '/features/cell/shelf')).json.plane.point[2];
  assert.ok(Math.abs(json.tools[0].pose.p[2] - shelf) < 1e-9);
});

test('assembly.sh', async (t) => {
  let ran;
  try {
    ran = await output('sh', [`${root}examples/assembly.sh`, `http://${server.address}`]);
  } catch {
    return t.skip('there is no shell');
  }
  assert.equal(ran.code, 0, ran.text);
  assert.match(ran.text, /"state":"done","reason":"contact"/);
  assert.match(ran.text, /Done: 6 steps/);
});
