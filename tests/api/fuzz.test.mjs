// Requests that are nearly right, thousands of them, while the simulation runs and a hand drags:
// every one is answered, none with a 5xx, and the server ends well. GUIDEWAY_FUZZ_SEED tries another.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generator } from './random.mjs';
import { client, request, start, stream } from './server.mjs';

const SECONDS = Number(process.env.GUIDEWAY_FUZZ_SECONDS ?? 6);
const seed = Number(process.env.GUIDEWAY_FUZZ_SEED ?? 1);

const { random, pick, chance } = generator(seed);

const odd = [
  null,
  true,
  0,
  -1,
  1e-300,
  1e300,
  0.05,
  Math.PI,
  '',
  'a',
  '../x',
  'é\u0000',
  [],
  {},
  [0, 0, 0],
  [0, 0, 1e200],
  [1, 2],
  { p: [0, 0, 0] },
  { p: [0.1, 0.2, 0.3], q: [0, 1, 0, 0] },
  'cone',
  'sim',
  'opposite',
  'cone/apex',
  'x/y',
];

function mutated(value) {
  if (chance(0.06)) return pick(odd);
  if (Array.isArray(value)) return value.map(mutated);
  if (typeof value === 'number') return chance(0.3) ? value * (0.9 + 0.2 * random()) : value;
  if (value === null || typeof value !== 'object') return value;
  const members = Object.entries(value)
    .filter(() => !chance(0.03))
    .map(([name, part]) => [name, mutated(part)]);
  if (chance(0.02)) members.push([pick(['colour', 'id', 'type', 'value']), pick(odd)]);
  return Object.fromEntries(members);
}

const type = () => pick(['distance', 'angle', 'coincident', 'parallel', 'perpendicular']);
const sense = () => pick(['same', 'opposite', 'either']);
// a value and a sense where they say something, mostly: elsewhere they are refused
const stated = (kind, values) => ({
  type: kind,
  ...(chance(0.95) === /distance|angle/.test(kind) ? { value: pick(values) } : {}),
  ...(chance(0.2) ? { sense: sense() } : {}),
});
const place = () => ({
  p: [random(), random(), random()],
  q: pick([
    [1, 0, 0, 0],
    [0, 1, 0, 0],
  ]),
});
const controls = ['impedance', 'penalty', 'coupling', 'four-channel'];
const link = () => ({
  joint: {
    type: pick(['revolute', 'prismatic']),
    origin: place(),
    axis: [0, 0, 1],
    damping: 0.1,
    position: random(),
    limits: { lower: -2, upper: 2 },
  },
  ...pick([
    { mass: 1, com: [0.1, 0, 0], inertia: [0.01, 0.01, 0.01, 0, 0, 0] },
    { geometry: { type: 'box', size: [0.2, 0.1, 0.1] } },
  ]),
});
const requests = [
  () => [
    'POST',
    '/constraints',
    {
      ...stated(type(), [0, 0.05, 0.1, -0.1]),
      a: pick(['cone/base', 'cone/apex', 'cone/axis']),
      b: pick(['cylinder/top', 'cylinder/axis', 'cylinder/center']),
    },
  ],
  () => ['PATCH', `/constraints/${pick(['c1', 'c2'])}`, { ...stated(type(), [0, 0.05]), enabled: chance(0.7) }],
  () => ['DELETE', `/constraints/${pick(['c1', 'c2', 'c3'])}`],
  () => [
    'POST',
    '/objects',
    {
      id: pick(['a', 'b', 'cone']),
      geometry: pick([
        { type: 'box', size: [1, 2, 3] },
        { type: 'sphere', radius: 0.1 },
        { type: 'compound', parts: [{ geometry: { type: 'box', size: [1, 1, 1] }, pose: place() }] },
      ]),
      pose: place(),
      body: { mass: 1, inertia: [1, 1, 1, 0, 0, 0] },
    },
  ],
  () => [
    'PATCH',
    `/objects/${pick(['cone', 'cylinder', 'a'])}`,
    {
      fixed: chance(0.2),
      pose: place(),
      geometry: pick([{ radius: 0.2 }, { type: 'sphere', radius: 1 }]),
      body: { density: 500 },
    },
  ],
  () => ['DELETE', `/objects/${pick(['a', 'b'])}`],
  () => [
    'PUT',
    '/features/cone/rim',
    pick([{ point: [0.04, 0, 0] }, { line: { point: [0, 0, 0], direction: [1, 1, 0] } }]),
  ],
  () => [
    'PATCH',
    '/solutions/cone',
    pick([
      { branch: pick(['b', 'b0', 'b1']) },
      { parameters: [random(), random(), random()].slice(Math.floor(3 * random())) },
    ]),
  ],
  () => [
    'PUT',
    '/tool',
    {
      object: pick(['cone', 'a']),
      device: 'sim',
      at: place(),
      limits: { force: 10, speed: 1 },
      workspace: { scale: 0.5, centre: [0, 0, 0] },
    },
  ],
  () => [
    'PUT',
    '/devices/sim/operator',
    pick([
      {
        type: 'wrench',
        samples: [
          { t: 0, force: [1, 2, 3] },
          { t: 0.1, torque: [0, 0, 0.1] },
        ],
      },
      { type: 'hand', stiffness: 500, path: [{ t: 0, p: [0, 0, 0.1] }] },
    ]),
  ],
  () => ['PATCH', '/devices/sim', { settings: { profile: pick(['ideal', 'cobotic-hand-controller']), bandwidth: 20 } }],
  () => ['PATCH', '/scene', { gravity: [0, 0, -9.81], rate: pick([1000, 1000, 2000]) }],
  () => ['POST', `/scene/${pick(['undo', 'redo'])}`],
  () => ['PUT', '/simulation', { state: pick(['running', 'running', 'paused', 'stopped']) }],
  () => ['POST', '/simulation/step', { ticks: Math.ceil(10 * random()) }],
  () => [
    'GET',
    pick(['/solutions', '/constraints', '/simulation', '/features?object=cone', '/mechanisms', '/contacts', '/tool']),
  ],
  () => [
    'POST',
    '/mechanisms',
    {
      id: pick(['arm', 'arm', 'leg', 'cone']),
      base: place(),
      links: [link(), link(), link()].slice(Math.floor(3 * random())),
    },
  ],
  () => ['PATCH', `/mechanisms/${pick(['arm', 'leg'])}`, { id: pick(['arm', 'leg']), base: place() }],
  () => ['DELETE', `/mechanisms/${pick(['arm', 'leg'])}`],
  () => ['POST', '/mechanisms/arm/links', link()],
  () => [
    'PATCH',
    `/mechanisms/arm/links/${pick([0, 1, 2, 'x'])}`,
    pick([{ joint: { position: random(), axis: [0, 1, 0] } }, { geometry: null }, { mass: random() }, link()]),
  ],
  () => ['DELETE', `/mechanisms/arm/links/${pick([1, 2, 3])}`],
  () => [
    'PUT',
    `/mechanisms/arm/joints/${pick([0, 1])}/motor`,
    { torque: random(), target: random(), stiffness: 10 * random(), damping: random(), max: 5 },
  ],
  () => ['DELETE', '/mechanisms/arm/joints/0/motor'],
  () => [
    'POST',
    '/materials',
    { id: pick(['rubber', 'steel']), restitution: random(), friction: random(), stiffness: 1e4, damping: 10 },
  ],
  () => ['PATCH', '/materials/rubber', { restitution: random() }],
  () => ['DELETE', `/materials/${pick(['rubber', 'steel'])}`],
  () => [
    'PATCH',
    '/contact',
    {
      enabled: chance(0.7),
      model: pick(['exact', 'local']),
      friction: pick(['creep', 'stick']),
      impulse: pick(['pseudo-inverse', 'non-adhesive']),
      ignore: chance(0.3) ? [['cone', pick(['cylinder', 'arm.0'])]] : [],
    },
  ],
  () => [
    'PATCH',
    `/objects/${pick(['a', 'b'])}`,
    { free: chance(0.5), material: pick(['rubber', null]), velocity: { v: [random(), 0, 0] } },
  ],
  () => [
    'PUT',
    '/tool',
    {
      mechanism: 'arm',
      link: pick([0, 1]),
      control: pick(controls),
      at: place(),
      rendering: { jdot: pick(['full', 'paper']), length: 1 },
    },
  ],
  () => [
    'PATCH',
    '/tool',
    {
      control: pick(controls),
      rendering: {
        hand: pick(['measured', 'estimated', 'unknown']),
        weights: pick(['smooth', 'on-off']),
        penalty: { stiffness: 100 * random() },
      },
    },
  ],
];
const messages = [
  () => ({ op: 'drag', tool: 0, point: [0, 0, 0], target: [random(), random(), random()] }),
  () => ({
    op: pick(['drag', 'release']),
    object: pick(['a', 'b', 'cone']),
    point: [0, 0, 0],
    target: [random(), random(), random()],
  }),
  () => ({ op: 'push', object: pick(['a', 'b']), force: [0, 0, 1] }),
  () => ({ op: 'push', tool: 0, force: [1, 0, 0], torque: [0, 0, 0] }),
  () => ({ op: pick(['release', 'clutch']), tool: 0, on: chance(0.5) }),
];

test(`requests that are nearly right (seed ${seed})`, { timeout: 120000 }, async () => {
  const server = await start({ args: ['--scene', 'cone-on-cylinder'] });
  const { expect } = await client(server);
  const live = stream(server);
  await live.wait('hello');
  const counts = {};
  const missing = () => [200, 201, 400, 404, 409, 422].filter((status) => !counts[status]);
  // a machine that is busy gets on slowly: until there was an answer of each kind
  const end = performance.now() + 1000 * SECONDS;
  for (let now = 0; now < end || (missing().length && now < end + 90000); now = performance.now()) {
    const [method, path, body] = pick(requests)();
    const sent = body && JSON.stringify((chance(0.3) ? mutated(body) : body) ?? {});
    const reply = await request(server, method, `/api/v1${path}`, sent);
    assert.ok(reply.status < 500, `${method} ${path} ${sent}: ${reply.text}`);
    counts[reply.status] = (counts[reply.status] ?? 0) + 1;
    if (chance(0.2)) live.send(mutated(pick(messages)()));
    if (chance(0.01)) {
      await expect(200, 'POST', '/scene/open', { scene: pick(['cone-on-cylinder', 'paper-plane', 'paper-circle']) });
      await expect(200, 'PUT', '/simulation', { state: 'running' });
    }
  }
  console.log(`# answered: ${JSON.stringify(counts)}`);
  assert.deepEqual(missing(), [], JSON.stringify(counts));
  await live.close();
  await server.stop();
});
