// Joints and springs in the scene: what a file says comes back as it was, what is wrong is refused by name.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { box, expect, serve, server } from './running.mjs';
import { request } from './server.mjs';

serve({ watched: false });

const inertia = [0.01, 0.01, 0.01, 0, 0, 0];
const link = (origin) => ({ joint: { type: 'revolute', origin: { p: origin } }, mass: 1, com: [0.1, 0, 0], inertia });
const parts = {
  format: 'guideway-scene/1',
  name: 'Parts',
  objects: [
    box('ground', [0, 0, 0], { fixed: true }),
    box('crank', [0.1, 0, 0.3]),
    box('rod', [0.3, 0, 0.3], { massless: true }),
  ],
  features: [{ id: 'crank/pin', line: { point: [0.05, 0, 0], direction: [0, 0, 1] } }],
  mechanisms: [{ id: 'arm', links: [link([0, 1, 0]), link([0.2, 0, 0])] }],
};
const identity = { p: [0, 0, 0], q: [1, 0, 0, 0] };
const frame = (object, at = identity) => ({ object, at });
const hinge = { id: 'hinge', type: 'revolute', a: frame('crank'), b: frame('ground'), enabled: true };
const put = (change) => expect(200, 'PUT', '/scene', { ...parts, ...change });

const motor = { torque: 1, target: 0.5, stiffness: 2, rate: 0, damping: 0.3, max: 4, speed: 5 };

// Switched off, for together they would be a linkage that nothing assembles.
const whole = [
  {
    ...hinge,
    enabled: false,
    position: [0.3],
    velocity: [-1],
    limits: [[-1, 1]],
    restitution: 0.5,
    damping: [0.1],
    friction: [0.2],
    spring: { stiffness: [3], rest: [0.5] },
    motor,
    collide: true,
  },
  {
    id: 'rail',
    type: 'prismatic',
    a: frame('rod', { p: [0, 0.1, 0], q: [0, 1, 0, 0] }),
    b: 'ground/+z',
    limits: [[0, 0]],
    enabled: false,
  },
  {
    id: 'sleeve',
    type: 'cylindrical',
    a: 'crank/pin',
    b: frame('rod'),
    limits: [null, [-1, 2]],
    damping: [0, 0.5],
    enabled: false,
  },
  { id: 'thread', type: 'screw', a: frame('rod'), b: frame('world'), pitch: -0.002, enabled: false },
  { id: 'cardan', type: 'universal', a: frame('arm.1'), b: frame('rod'), position: [0.1, 0.2], enabled: false },
  {
    id: 'table',
    type: 'planar',
    a: frame('rod'),
    b: 'ground/+z',
    position: [1, 2, 3],
    friction: [0, 0, 1],
    motor: [null, motor, { ...motor, target: -1 }],
    enabled: false,
  },
  {
    id: 'ball',
    type: 'spherical',
    a: frame('crank'),
    b: frame('arm.0'),
    velocity: [0, 0, 1],
    motor,
    enabled: false,
  },
  { id: 'weld', type: 'fixed', a: frame('crank'), b: frame('rod'), enabled: false },
  { id: 'belt', type: 'gear', joints: ['hinge', 'sleeve'], ratio: -2.5, enabled: false },
  { id: 'train', type: 'gear', joints: ['arm.1', 'table'], ratio: 1, coordinates: [0, 1], enabled: false },
];

test('every type of joint comes back as it was said', async () => {
  await put({ joints: whole });
  const { json } = await expect(200, 'GET', '/scene');
  assert.deepEqual(
    Object.fromEntries(json.joints.map((j) => [j.id, j])),
    Object.fromEntries(whole.map((j) => [j.id, j])),
  );
  await expect(200, 'PUT', '/scene', json);
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, json);
});

test('only type, a and b are needed; ids are made', async () => {
  await put({
    joints: [
      { type: 'revolute', a: { object: 'crank' }, b: { object: 'world' } },
      { ...hinge, id: 'j2' },
      { type: 'spherical', a: { object: 'rod' }, b: { object: 'crank' } },
    ],
  });
  const { joints } = (await expect(200, 'GET', '/scene')).json;
  assert.deepEqual(
    joints.map((j) => j.id),
    ['j1', 'j2', 'j3'],
  );
  assert.deepEqual(joints[0], { id: 'j1', type: 'revolute', a: frame('crank'), b: frame('world'), enabled: true });
});

test('springs come back as they were said', async () => {
  const springs = [
    {
      id: 'k',
      a: { object: 'rod', p: [0.1, 0, 0] },
      b: { object: 'world', p: [0, 0, 2] },
      stiffness: 1000,
      damping: 3,
      length: 0.1,
      enabled: false,
    },
  ];
  await put({ springs: [...springs, { a: { object: 'arm.1' }, b: { object: 'crank' } }] });
  const made = {
    id: 's1',
    a: { object: 'arm.1', p: [0, 0, 0] },
    b: { object: 'crank', p: [0, 0, 0] },
    stiffness: 0,
    damping: 0,
    length: 0,
    enabled: true,
  };
  assert.deepEqual((await expect(200, 'GET', '/scene')).json.springs, [...springs, made]);
});

test('a massless object says so', async () => {
  await put({});
  const { objects } = (await expect(200, 'GET', '/scene')).json;
  assert.deepEqual(
    objects.map((o) => o.massless),
    [undefined, undefined, true],
  );
});

test('an object called world is meant by its name', async () => {
  const objects = [...parts.objects, box('world', [1, 1, 1])];
  await put({ objects, joints: [{ type: 'revolute', a: { object: 'world' }, b: { object: 'ground' } }] });
});

const list = async (collection) => (await expect(200, 'GET', `/${collection}`)).json;
const one = async (path) => (await expect(200, 'GET', path)).json;

test('renaming goes through everything that stands on an object, a link or a joint', async () => {
  await put({ joints: whole, springs: [{ id: 'k', a: { object: 'rod' }, b: { object: 'arm.1' } }] });
  await expect(200, 'PATCH', '/objects/rod', { id: 'bar' });
  await expect(200, 'PATCH', '/mechanisms/arm', { id: 'leg' });
  await expect(200, 'PATCH', '/joints/hinge', { id: 'pin' });
  assert.deepEqual(
    (await list('joints')).map((j) => (j.joints ?? [j.a, j.b].map((end) => end.object ?? end)).join(' ')),
    [
      'crank ground',
      'bar ground/+z',
      'crank/pin bar',
      'bar world',
      'leg.1 bar',
      'bar ground/+z',
      'crank leg.0',
      'crank bar',
      'pin sleeve',
      'leg.1 table',
    ],
  );
  const { a, b } = await one('/springs/k');
  assert.deepEqual([a.object, b.object], ['bar', 'leg.1']);
  await expect(200, 'POST', '/scene/undo');
  await expect(200, 'GET', '/joints/hinge');
});

test('what others refer to is not removed, and they are named', async () => {
  await put({ joints: whole, springs: [{ id: 'k', a: { object: 'rod' }, b: { object: 'arm.1' } }] });
  const why = async (path) => (await expect(409, 'DELETE', path)).json.detail;
  assert.match(await why('/objects/crank'), /joint hinge, joint sleeve, joint ball, joint weld: delete/);
  assert.match(await why('/objects/rod'), /joint rail.*spring k: delete/);
  assert.match(await why('/features/crank/pin'), /is used by joint sleeve: delete/);
  assert.match(await why('/mechanisms/arm'), /joint cardan, joint ball, joint train, spring k: delete/);
  assert.match(await why('/mechanisms/arm/links/1'), /joint cardan, joint train, spring k: delete/);
  assert.match(await why('/joints/hinge'), /gear belt: delete/);
  for (const id of ['belt', 'hinge']) await expect(204, 'DELETE', `/joints/${id}`);
});

test('another type drops the numbers of the coordinates', async () => {
  await put({ joints: whole });
  await expect(200, 'PATCH', '/joints/thread', { type: 'cylindrical', damping: [1, 2] });
  assert.deepEqual(await one('/joints/thread'), {
    id: 'thread',
    type: 'cylindrical',
    a: frame('rod'),
    b: frame('world'),
    damping: [1, 2],
    enabled: false,
  });
  await expect(200, 'PATCH', '/joints/cardan', { type: 'gear', joints: ['table', 'hinge'], ratio: 3 });
  assert.deepEqual(await one('/joints/cardan'), {
    id: 'cardan',
    type: 'gear',
    joints: ['table', 'hinge'],
    ratio: 3,
    enabled: false,
  });
  assert.match(
    (await expect(400, 'PATCH', '/joints/cardan', { type: 'fixed' })).json.errors[0].detail,
    /a: is missing/,
  );
});

test('a joint of bodies that move tells where it is', async () => {
  const beam = box('beam', [0.1, 0, 0.3], { free: true });
  await put({
    gravity: [0, -9.81, 0],
    objects: [...parts.objects, beam],
    joints: [
      {
        id: 'pin',
        type: 'revolute',
        a: frame('beam', { ...identity, p: [-0.1, 0, 0] }),
        b: frame('ground', { ...identity, p: [0, 0, 0.3] }),
        velocity: [0.5],
      },
    ],
  });
  const at = await one('/joints/pin');
  assert.deepEqual([at.state.position.length, at.state.velocity.length], [1, 1]);
  assert.ok(
    Math.abs(at.state.position[0]) < 1e-9 && Math.abs(at.state.velocity[0] - 0.5) < 1e-9,
    JSON.stringify(at.state),
  );
  await expect(200, 'PUT', '/simulation', { state: 'paused' });
  await expect(200, 'POST', '/simulation/step', { ticks: 100 });
  const { state } = (await list('joints'))[0];
  assert.ok(state.position[0] < -0.01 && state.velocity[0] < -1, JSON.stringify(state));
  await expect(200, 'PATCH', '/joints/pin', { damping: [0.1], state });
  assert.equal((await one('/scene')).joints[0].state, undefined);
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
});

test('a joint of what stands still tells where the scene has it', async () => {
  const q = [Math.cos(0.2), 0, 0, Math.sin(0.2)];
  await put({
    joints: [
      { ...hinge, a: frame('crank', { p: [-0.1, 0, -0.3], q }) },
      { ...hinge, id: 'rail', type: 'cylindrical', a: frame('crank', { p: [-0.1, 0, 0], q: identity.q }) },
    ],
  });
  const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);
  near((await one('/joints/hinge')).state.position[0], 0.4);
  near((await one('/joints/rail')).state.position[0], 0.3);
});

test('a null takes members away, an id stays', async () => {
  await put({ joints: whole });
  await expect(200, 'PATCH', '/joints/hinge', {
    id: null,
    limits: null,
    restitution: null,
    spring: null,
    motor: null,
    position: null,
    velocity: null,
    damping: null,
    friction: null,
    collide: null,
  });
  assert.deepEqual(await one('/joints/hinge'), { ...hinge, enabled: false });
});

test('motors are replaced one by one or together', async () => {
  await put({ joints: whole });
  const is = async (id, now) => assert.deepEqual((await one(`/joints/${id}`)).motor, now);
  await expect(200, 'PATCH', '/joints/ball', { motor: { max: null, target: 2 } });
  const { max: _, ...rest } = motor;
  await is('ball', { ...rest, max: 0, target: 2 });
  await expect(200, 'PATCH', '/joints/ball', { motor: [null, null, motor] });
  await is('ball', [null, null, motor]);
  await expect(200, 'PATCH', '/joints/ball', { motor: [motor, null, null] });
  await is('ball', motor);
  await expect(200, 'PATCH', '/joints/table', { motor: null });
  await is('table', undefined);
});

test('a loop that cannot be closed is no answer, and nothing changes', async () => {
  for (const free of [true, false]) await cannotClose(free);
});

/** A loop of two bodies that are too far apart, also where neither of them moves. */
async function cannotClose(free) {
  const bar = (id, at) => ({
    id,
    type: 'revolute',
    a: frame(id, { p: [-0.1, 0, 0], q: [1, 0, 0, 0] }),
    b: frame('world', { p: at, q: [1, 0, 0, 0] }),
  });
  await put({
    objects: [box('ground', [0, 0, 0], { fixed: true }), box('crank', [0.1, 0, 0], { free }), box('rod', [1.1, 0, 0])],
    mechanisms: [],
    joints: [bar('crank', [0, 0, 0]), bar('rod', [1, 0, 0])],
  });
  const before = await expect(200, 'GET', '/scene');
  const far = {
    type: 'revolute',
    a: frame('crank', { p: [0.1, 0, 0], q: [1, 0, 0, 0] }),
    b: frame('rod', { p: [0.1, 0, 0], q: [1, 0, 0, 0] }),
  };
  for (const [method, path, body] of [
    ['POST', '/joints', { id: 'knee', ...far }],
    ['POST', '/joints?dryRun=true', { id: 'knee', ...far }],
    ['POST', '/scene/edits', [{ method: 'POST', path: '/joints', body: { id: 'knee', ...far } }]],
  ]) {
    const { json } = await expect(422, method, path, body);
    assert.equal(json.status, 'unhandled');
    // what was posted comes first, since the others hold without it; the body has no other joint to point at
    assert.ok(json.left.length <= 2 && (path.endsWith('/edits') || json.left[0] === 'knee'), json.left);
    assert.ok(json.left.every((id) => ['crank', 'rod', 'knee'].includes(id)));
    if (!path.endsWith('/edits')) assert.equal(json.errors[0].pointer, '');
    assert.match(json.reason, /cannot hold together with what else joins these bodies: [\d.]+ m stay open/);
  }
  const after = await expect(200, 'GET', '/scene');
  assert.deepEqual(after.json, before.json);
  assert.equal(after.headers.etag, before.headers.etag);
  if (free) return;
  // a file may be so, since it can be assembled; what is undone returns to it
  const { headers } = await put({
    objects: before.json.objects,
    mechanisms: [],
    joints: [...before.json.joints, { id: 'knee', ...far }],
  });
  assert.match(headers['guideway-note'], /crank, rod and knee cannot hold together with .*: [\d.]+ m stay open/);
  await expect(204, 'DELETE', '/joints/knee');
  await expect(200, 'POST', '/scene/undo');
  await expect(200, 'PATCH', '/joints/knee', { damping: [1] });
}

test('undo and redo take a joint and a spring back and again', async () => {
  await put({});
  await expect(201, 'POST', '/joints', hinge);
  await expect(201, 'POST', '/springs', spring);
  for (const way of ['undo', 'undo', 'redo', 'redo']) await expect(200, 'POST', `/scene/${way}`);
  assert.deepEqual([(await list('joints')).length, (await list('springs')).length], [1, 1]);
});

test('features of links, stated or of their geometry, are features like others', async () => {
  const tube = {
    ...link([0.2, 0, 0]),
    geometry: { type: 'cylinder', radius: 0.01, height: 0.2 },
    geometry_at: { p: [0.1, 0, 0], q: [Math.SQRT1_2, 0, Math.SQRT1_2, 0] },
  };
  const leg = { ...parts.mechanisms[0], links: [link([0, 1, 0]), tube] };
  await put({
    mechanisms: [leg],
    features: [...parts.features, { id: 'arm.0/eye', point: [0, 0, 0.1] }],
    joints: [{ id: 'end', type: 'spherical', a: 'arm.1/top', b: 'crank/pin' }],
    constraints: [{ id: 'c', type: 'coincident', a: 'arm.0/eye', b: 'arm.1/mid', enabled: false }],
  });
  const top = await one('/features/arm.1/top');
  assert.ok(top.derived);
  [...top.plane.point, ...top.plane.normal].forEach((x, i) =>
    assert.ok(Math.abs(x - [0.2, 0, 0, 1, 0, 0][i]) < 1e-12, JSON.stringify(top)),
  );
  assert.deepEqual(
    (await list('features?object=arm.0')).map((f) => f.id),
    ['arm.0/eye'],
  );
  assert.ok((await list('features')).some((f) => f.id === 'arm.1/axis'));
  await expect(200, 'PATCH', '/features/arm.0/eye', { point: [0, 0, 0.2] });
  await expect(201, 'POST', '/features', { id: 'arm.1/tip', point: [0.2, 0, 0] });
  await expect(409, 'POST', '/features', { id: 'arm.1/top', point: [0.2, 0, 0] });
  assert.match(
    (await expect(409, 'DELETE', '/mechanisms/arm')).json.detail,
    /constraint c, feature arm.0\/eye, feature arm.1\/tip, joint end: delete/,
  );
  await expect(200, 'PATCH', '/mechanisms/arm', { id: 'leg' });
  assert.deepEqual(
    (await list('constraints')).map((c) => [c.a, c.b]),
    [['leg.0/eye', 'leg.1/mid']],
  );
  await expect(200, 'GET', '/features/leg.1/tip');
  assert.equal((await one('/joints/end')).a, 'leg.1/top');
});

test('a tool may name a link as an object', async () => {
  const devices = [{ id: 'touch', driver: 'sim-impedance' }];
  await put({ devices, tool: { object: 'arm.1', device: 'touch', control: 'impedance' } });
  const held = async () => (({ object, mechanism, link: number }) => [object, mechanism, number])(await one('/tool'));
  assert.deepEqual(await held(), [undefined, 'arm', 1]);
  await expect(200, 'PATCH', '/tool', { object: 'arm.0' });
  assert.deepEqual(await held(), [undefined, 'arm', 0]);
  await expect(200, 'PUT', '/tool', { object: 'arm.1', device: 'touch', control: 'impedance' });
  assert.deepEqual(await held(), [undefined, 'arm', 1]);
  await expect(400, 'PATCH', '/tool', { object: 'arm.2' });
});

test('branches, joints of several coordinates, gears and a tip of a mechanism', async () => {
  const { mechanisms, ...rest } = parts;
  const tree = {
    id: 'hand',
    tip: 0,
    gears: [{ joints: [0, 1], ratio: -2 }],
    links: [link([0, 1, 0]), link([0.2, 0, 0])],
  };
  await expect(200, 'PUT', '/scene', {
    ...rest,
    mechanisms: [tree],
    joints: [{ ...hinge, id: 'j1' }],
    devices: [{ id: 'touch', driver: 'sim-impedance' }],
    tool: { mechanism: 'hand', device: 'touch', control: 'impedance' },
  });
  assert.equal((await one('/tool')).link, 0);
  assert.deepEqual((await list('joints'))[1], {
    id: 'j2',
    type: 'gear',
    joints: ['hand.0', 'hand.1'],
    ratio: -2,
    enabled: true,
  });
  assert.deepEqual((({ tip, gears }) => [tip, gears])(await one('/mechanisms/hand')), [0, undefined]);
  await expect(201, 'POST', '/mechanisms', { ...tree, id: 'foot' });
  assert.deepEqual((await list('joints'))[2].joints, ['foot.0', 'foot.1']);
  assert.match(
    (await expect(400, 'PATCH', '/mechanisms/foot', { gears: [{ joints: [0, 2], ratio: 1 }] })).json.errors[0].detail,
    /links 0 to 1/,
  );
  await expect(201, 'POST', '/mechanisms/foot/links', { ...link([0, 0, 0]), parent: 1 });
  assert.equal((await one('/mechanisms/foot/links/2')).parent, undefined);
});

const gear = { id: 'g', type: 'gear', joints: ['hinge', 'table'], ratio: 2 };
const table = whole.find((j) => j.id === 'table');
const spring = { id: 'k', a: { object: 'crank' }, b: { object: 'ground' } };

// what, joints, status, pointer, words
const wrong = [
  ['an unknown type', [{ ...hinge, type: 'hinge' }], 400, '/joints/0/type', /"revolute".*"gear"/],
  ['free is no joint', [{ ...hinge, type: 'free' }], 400, '/joints/0/type', /must be one of/],
  ['no a', [{ type: 'revolute', b: frame('ground') }], 400, '/joints/0/a', /missing/],
  ['an unknown member', [{ ...hinge, colour: 1 }], 400, '/joints/0/colour', /known are/],
  ['a pitch of a hinge', [{ ...hinge, pitch: 1 }], 400, '/joints/0/pitch', /unknown member "pitch"/],
  ['a screw without a pitch', [{ ...hinge, type: 'screw' }], 400, '/joints/0/pitch', /missing/],
  ['a screw of pitch 0', [{ ...hinge, type: 'screw', pitch: 0 }], 400, '/joints/0/pitch', /must not be 0/],
  ['a number for an end', [{ ...hinge, a: 1 }], 400, '/joints/0/a', /"object\/feature"/],
  ['an unknown object', [{ ...hinge, a: frame('crankshaft') }], 400, '/joints/0/a/object', /no object "crankshaft"/],
  ['an unknown link', [{ ...hinge, b: frame('arm.2') }], 400, '/joints/0/b/object', /no object "arm.2", nor a link/],
  ['a whole mechanism', [{ ...hinge, a: frame('arm') }], 400, '/joints/0/a/object', /no object "arm"/],
  ['an unknown feature', [{ ...hinge, a: 'crank/nose' }], 400, '/joints/0/a', /no feature "nose"/],
  ['a feature of the world', [{ ...hinge, b: 'world/top' }], 400, '/joints/0/b', /no feature "top"/],
  ['one object twice', [{ ...hinge, b: 'crank/+z' }], 400, '/joints/0/b', /both "crank"/],
  ['two fixed things', [{ ...hinge, a: frame('world') }], 400, '/joints/0/a', /"world" and "ground" are both fixed/],
  [
    'too many positions',
    [{ ...hinge, position: [0, 0] }],
    400,
    '/joints/0/position',
    /array of 1 numbers: a revolute joint has 1 coordinate/,
  ],
  [
    'too few dampings',
    [{ ...table, damping: [1] }],
    400,
    '/joints/0/damping',
    /array of 3 numbers: a planar joint has 3/,
  ],
  [
    'coordinates of a fixed joint',
    [{ ...hinge, type: 'fixed', velocity: [0] }],
    400,
    '/joints/0/velocity',
    /a fixed joint has no coordinates/,
  ],
  [
    'a motor of a fixed joint',
    [{ ...hinge, type: 'fixed', motor: { torque: 1 } }],
    400,
    '/joints/0/motor',
    /no coordinate/,
  ],
  ['limits that are no pair', [{ ...hinge, limits: [1] }], 400, '/joints/0/limits/0', /\[lower, upper\], or null/],
  [
    'limits the wrong way round',
    [{ ...table, limits: [null, [1, 0.5], null] }],
    400,
    '/joints/0/limits/1',
    /lower is 1, must be at most upper, 0.5/,
  ],
  ['damping below 0', [{ ...table, damping: [0, 0, -1] }], 400, '/joints/0/damping/2', /-1, must be 0 or more/],
  ['friction below 0', [{ ...hinge, friction: [-1] }], 400, '/joints/0/friction/0', /must be 0 or more/],
  [
    'a spring below 0',
    [{ ...hinge, spring: { stiffness: [-1] } }],
    400,
    '/joints/0/spring/stiffness/0',
    /must be 0 or more/,
  ],
  ['a motor below 0', [{ ...hinge, motor: { stiffness: -1 } }], 400, '/joints/0/motor/stiffness', /must be 0 or more/],
  [
    'a motor of one of three below 0',
    [{ ...table, motor: [null, { max: -1 }, null] }],
    400,
    '/joints/0/motor/1/max',
    /must be 0 \(unlimited\) or more/,
  ],
  [
    'too many motors',
    [{ ...hinge, motor: [null, motor] }],
    400,
    '/joints/0/motor',
    /array of 1 motors, or null where there is none: a revolute joint has 1 coordinate/,
  ],
  ['a motor that is a number', [{ ...hinge, motor: 2 }], 400, '/joints/0/motor', /a motor, or a list/],
  ['two of one id', [hinge, { ...table, id: 'hinge' }], 409, '/joints/1/id', /taken by \/joints\/0/],
  ['the name of a link', [{ ...hinge, id: 'arm.0' }], 400, '/joints/0/id', /link 0 of mechanism arm/],
  ['a gear of nothing', [hinge, gear], 400, '/joints/1/joints/1', /no joint "table"/],
  ['a gear of itself', [hinge, { ...gear, joints: ['hinge', 'g'] }], 400, '/joints/1/joints/1', /"g" is a gear/],
  [
    'a gear of one joint',
    [hinge, { ...gear, joints: ['hinge', 'hinge'] }],
    400,
    '/joints/1/joints/1',
    /both are "hinge"/,
  ],
  [
    'a gear of a fixed joint',
    [hinge, { ...table, type: 'fixed', position: [], friction: [], motor: undefined }, gear],
    400,
    '/joints/2/joints/1',
    /is fixed: it has no coordinate/,
  ],
  [
    'a gear of a ball',
    [hinge, { ...hinge, id: 'ball', type: 'spherical' }, { ...gear, joints: ['ball', 'hinge'] }],
    400,
    '/joints/2/joints/0',
    /no fixed axes/,
  ],
  [
    'a gear of two turns',
    [hinge, { ...hinge, id: 'cardan', type: 'universal' }, { ...gear, joints: ['hinge', 'cardan'] }],
    400,
    '/joints/2/coordinates',
    /say which/,
  ],
  [
    'a coordinate out of range',
    [hinge, table, { ...gear, coordinates: [1, 0] }],
    400,
    '/joints/2/coordinates/0',
    /has 0 to 0/,
  ],
  [
    'a coordinate that is no number',
    [hinge, table, { ...gear, coordinates: [0, 0.5] }],
    400,
    '/joints/2/coordinates/1',
    /number of a coordinate/,
  ],
  ['a gear of ratio 0', [hinge, table, { ...gear, ratio: 0 }], 400, '/joints/2/ratio', /must not be 0/],
  ['a gear with an end', [hinge, table, { ...gear, a: frame('crank') }], 400, '/joints/2/a', /unknown member/],
];
for (const [what, joints, status, pointer, words] of wrong)
  test(`refused: ${what}`, () => refused({ joints }, status, pointer, words));

// what, spring, pointer, words
const slack = [
  ['a spring without an end', { a: spring.a }, '/springs/0/b', /missing/],
  ['a spring on nothing', { ...spring, a: { object: 'nobody' } }, '/springs/0/a/object', /no object "nobody"/],
  ['a spring on one object', { ...spring, b: { object: 'crank', p: [1, 0, 0] } }, '/springs/0/b', /both "crank"/],
  ['a spring between fixed things', { ...spring, a: { object: 'world' } }, '/springs/0/a', /both fixed/],
  ['a length below 0', { ...spring, length: -1 }, '/springs/0/length', /must be 0 or more \(m\)/],
  ['a stiffness below 0', { ...spring, stiffness: -1 }, '/springs/0/stiffness', /must be 0 or more \(N\/m\)/],
];
for (const [what, one, pointer, words] of slack)
  test(`refused: ${what}`, () => refused({ springs: [one] }, 400, pointer, words));

test('refused: a free object without mass', () =>
  refused(
    { objects: [box('loose', [0, 0, 0], { free: true, massless: true })], features: [] },
    400,
    '/objects/0/massless',
    /only follows/,
  ));

async function refused(change, status, pointer, words) {
  const reply = await request(server, 'PUT', '/api/v1/scene', { ...parts, ...change });
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.json.errors[0].pointer, pointer, reply.text);
  assert.match(reply.json.errors[0].detail, words);
}
