// Builds "plane on plane, axes 5 cm apart" from nothing, runs it, pushes, prints where the cone went.
// usage: node examples/circle.mjs [URL]
const url = `${process.argv[2] ?? 'http://127.0.0.1:8080'}/api/v1`;

// One request; a refusal ends the program with its words.
async function ask(method, path, body) {
  const reply = await fetch(url + path, {
    method,
    headers: { 'Content-Type': 'application/json' },
    body: body && JSON.stringify(body),
  });
  const text = await reply.text();
  const answer = text ? JSON.parse(text) : null;
  if (reply.ok) return answer;
  console.error(`${method} ${path}: ${answer.detail}`);
  process.exit(1);
}

// an empty scene, then two solids, and a hand that holds the cone
await ask('PUT', '/scene', { format: 'guideway-scene/1', name: 'Circle, in Node', objects: [] });
await ask('POST', '/objects', {
  id: 'cylinder',
  geometry: { type: 'cylinder', radius: 0.1, height: 0.2 },
  fixed: true,
});
await ask('POST', '/objects', {
  id: 'cone',
  geometry: { type: 'cone', radius: 0.04, height: 0.1 },
  pose: { p: [0.07, 0.02, 0.3], q: [1, 0, 0, 0] },
  body: { mass: 2.0 },
});
await ask('PUT', '/tool', { object: 'cone', device: 'sim', control: 'admittance' });

// what would the plane alone leave? a dry run changes nothing
const plane = { id: 'plane', type: 'coincident', a: 'cone/base', b: 'cylinder/top', sense: 'opposite' };
const axes = { id: 'axes', type: 'distance', a: 'cone/axis', b: 'cylinder/axis', value: 0.05 };
console.log('plane alone:', (await ask('POST', '/constraints?dryRun=true', plane)).words);
await ask('POST', '/constraints', plane);
await ask('POST', '/constraints', axes);
console.log('with axes:  ', (await ask('GET', '/solutions/cone')).words);

// run, push sideways with 0.5 N for half a second and down with 5 N all the while
await ask('PUT', '/simulation', { state: 'running' });
await ask('PUT', '/devices/sim/operator', {
  type: 'wrench',
  samples: [
    { t: 0, force: [0, 0.5, -5], torque: [0, 0, 0] },
    { t: 0.5, force: [0, 0, 0], torque: [0, 0, 0] },
  ],
});
await new Promise((done) => setTimeout(done, 1000));
const [tool] = (await ask('PUT', '/simulation', { state: 'paused' })).tools;
const [x, y, z] = tool.pose.p.map((v) => 1000 * v);
console.log(
  `the cone is at ${x.toFixed(3)} ${y.toFixed(3)} ${z.toFixed(3)} mm, ${Math.hypot(x, y).toFixed(6)} mm from the axis, residual ${tool.residual.toExponential(1)} m`,
);
