// Mechanisms, materials, contacts and control of impedance devices as documents: every member comes
// back as it was given, everything wrong is named, edits are undone, what is in use stays.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { client, guideway, request, sleep, start, stream, until } from './server.mjs';

let server, expect;
before(async () => {
  server = await start();
  ({ expect } = await client(server));
});
after(() => server?.stop());

const inertia = [0.01, 0.02, 0.02, 0, 0, 0];
const plain = { joint: { type: 'revolute' }, mass: 1, inertia };

// Everything that a scene can say of mechanisms, materials, contact and an impedance device.
const full = () => ({
  format: 'guideway-scene/1',
  name: 'Workshop',
  gravity: [0, 0, -9.81],
  rate: 1000,
  objects: [
    {
      id: 'floor',
      geometry: { type: 'box', size: [1, 1, 0.1] },
      pose: { p: [0, 0, -0.05], q: [1, 0, 0, 0] },
      fixed: true,
      material: 'steel',
      body: { density: 1000, damping: { linear: 0, angular: 0 } },
    },
    {
      id: 'ball',
      geometry: { type: 'sphere', radius: 0.05 },
      pose: { p: [0.5, 0.2, 0.05], q: [1, 0, 0, 0] },
      fixed: false,
      free: true,
      material: 'rubber',
      body: { mass: 0.5, damping: { linear: 0, angular: 0 } },
    },
    {
      id: 'block',
      geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
      pose: { p: [0, 1, 0.5], q: [1, 0, 0, 0] },
      fixed: false,
      body: { mass: 2, damping: { linear: 1, angular: 0.1 } },
    },
  ],
  features: [],
  constraints: [],
  mechanisms: [
    {
      id: 'arm',
      base: { p: [0, 0, 0.5], q: [0.6, 0, 0, 0.8] },
      links: [
        {
          id: 'upper',
          mass: 3,
          com: [0.2, 0, 0],
          inertia: [0.01, 0.03, 0.03, 0.001, 0, 0],
          joint: {
            type: 'revolute',
            origin: { p: [0, 0, 0.1], q: [1, 0, 0, 0] },
            axis: [0, 0.6, 0.8],
            position: 0.25,
            velocity: -0.5,
            damping: 0.01,
            friction: 0.02,
            limits: { lower: -1.5, upper: 1.5 },
            motor: { torque: 0.5, target: 0.25, stiffness: 4, rate: 0, damping: 0.2, max: 3, speed: 2 },
          },
          geometry: { type: 'cylinder', radius: 0.02, height: 0.4 },
          geometry_at: { p: [0.2, 0, 0], q: [0.8, 0, 0.6, 0] },
          mesh: 'upper.stl',
          material: 'steel',
        },
        {
          mass: 1,
          com: [0, 0, 0],
          inertia,
          joint: {
            type: 'prismatic',
            origin: { p: [0.4, 0, 0], q: [1, 0, 0, 0] },
            axis: [1, 0, 0],
            position: 0.1,
            velocity: 0,
            damping: 2,
          },
        },
      ],
    },
  ],
  materials: [
    { id: 'steel', restitution: 0.9, friction: 0.1, stiffness: 50000, damping: 10 },
    { id: 'rubber', restitution: 0.25, friction: 1.5, stiffness: 2000, damping: 100 },
  ],
  contact: {
    enabled: true,
    model: 'local',
    rate: 500,
    impulse: 'non-adhesive',
    colliding: 'approaching',
    friction: 'stick',
    impact_friction: 'coulomb',
    self: 'each-link',
    slip_speed: 0.002,
    rest_speed: 0.01,
    ignore: [
      ['floor', 'arm.0'],
      ['arm.0', 'arm.1'],
    ],
  },
  tool: {
    object: 'block',
    at: { p: [0, 0, 0.05], q: [1, 0, 0, 0] },
    device: 'hand',
    control: 'four-channel',
    rendering: {
      jdot: 'paper',
      hand: 'estimated',
      length: 1,
      threshold: 0.01,
      fade: 5,
      weights: 'on-off',
      coordination: { linear: 100, angular: 0.5, linear_damping: 7, angular_damping: 0.25 },
      coupling: { linear: 300, angular: 1.5, linear_damping: 9, angular_damping: 0.5 },
      penalty: { stiffness: 300, damping: 40, by_mass: true },
      passivity: true,
      mass_known: 0.9,
      slew: 50,
      impulse_budget: 4,
    },
    start: { p: [0.01, 0, 0], q: [1, 0, 0, 0] },
    substeps: 4,
  },
  devices: [{ id: 'hand', driver: 'sim-impedance', settings: {}, operator: { type: 'none' } }],
});

test('a requested stiffness and mass are answered with what is rendered, and why', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'paper-mechanism-middle' });
  const coupling = (linear) => ({
    control: 'coupling',
    rendering: { coupling: { linear, angular: 1 }, passivity: true },
  });
  const asked = (await expect(200, 'PATCH', '/tool', coupling(900))).json.rendered;
  assert.deepEqual([asked.stiffness.requested, asked.stiffness.applied], [900, 900]);
  const { info } = (await expect(200, 'GET', '/devices')).json[0],
    { rate } = (await expect(200, 'GET', '/loop')).json;
  const tool = (await expect(200, 'GET', '/tool')).json;
  const bound = info.damping / (0.5 / (rate * (tool.substeps ?? 1)) + info.delay);
  assert.ok(Math.abs(asked.stiffness.bound - bound) <= 1e-9 * bound, JSON.stringify(asked));
  assert.equal(asked.stiffness.why, bound >= 900 ? 'as-asked' : 'passivity');
  assert.equal(asked.mass.why, 'device-mass');
  assert.deepEqual((await expect(200, 'GET', '/tools/rendered')).json[0].stiffness, asked.stiffness);
  await expect(200, 'PUT', '/tool', { ...tool, rendered: asked }); // what was answered may be sent back
  await expect(200, 'PATCH', '/tool', { rendering: { passivity: false, coupling: { linear: 1e6 } } });
  assert.equal((await expect(200, 'GET', '/tools/rendered')).json[0].stiffness.why, 'sampling-bound');
});

test('so are those that are asked of an admittance device', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'paper-plane' });
  const { info } = (await expect(200, 'GET', '/devices')).json[0];
  const stiffness = [info.stiffness, 10, 0, 0, 0, 0];
  const asked = (await expect(200, 'PATCH', '/tool', { desired: { mass: [0.001, 1, 1, 1, 1, 1], stiffness } })).json
    .rendered;
  assert.deepEqual([asked.mass.requested, asked.mass.why], [0.001, 'smallest-mass']);
  const { requested, applied, bound, why } = asked.desired_stiffness;
  assert.deepEqual([requested, bound, why], [info.stiffness, info.stiffness, 'device-stiffness']);
  assert.ok(Math.abs(applied - info.stiffness / 2) < 1e-6 * applied, `${applied} N/m`);
  assert.deepEqual((await expect(200, 'GET', '/tools/rendered')).json[0].desired_stiffness, asked.desired_stiffness);
  await expect(200, 'PATCH', '/devices/sim', { settings: { profile: null } });
  const rigid = (await expect(200, 'GET', '/tools/rendered')).json[0].desired_stiffness;
  assert.deepEqual(rigid, { requested, applied: requested, why: 'as-asked' });
});

test('every member comes back as it was given', async () => {
  const put = await expect(200, 'PUT', '/scene', full());
  assert.deepEqual(put.json, full());
  assert.deepEqual((await expect(200, 'PUT', '/scene', put.json)).json, full());
  await expect(201, 'POST', '/scene/save', { name: 'workshop' });
  await expect(200, 'POST', '/scene/open', { scene: 'workshop' });
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, full());
  const { state, ...arm } = (await expect(200, 'GET', '/mechanisms/arm')).json;
  assert.deepEqual(arm, full().mechanisms[0]);
  assert.deepEqual(state, { positions: [0.25, 0.1], velocities: [-0.5, 0] });
  assert.deepEqual((await expect(200, 'GET', '/contact')).json, full().contact);
  assert.deepEqual((await expect(200, 'GET', '/materials/rubber')).json, full().materials[1]);
  const { state: live, ...tool } = (await expect(200, 'GET', '/tool')).json;
  assert.deepEqual(tool, full().tool);
  assert.deepEqual([live.object, live.resisted.singular.length], ['block', 6]);
  // what a GET answered can be sent back
  await expect(200, 'PUT', '/tool', { ...tool, state: live });
  await expect(200, 'PATCH', '/mechanisms/arm', { ...arm, state });
});

test('what is left out has its default', async () => {
  await expect(200, 'PUT', '/scene', { format: 'guideway-scene/1' });
  const { json } = await expect(201, 'POST', '/mechanisms', {
    id: 'm',
    links: [
      { ...plain, joint: { type: 'prismatic' } },
      {
        joint: { type: 'revolute', axis: [0, 0, 5] },
        geometry: { type: 'box', size: [0.3, 0.1, 0.1] },
        geometry_at: { p: [0.15, 0, 0], q: [0.5 ** 0.5, 0, 0, 0.5 ** 0.5] },
      },
      { joint: { type: 'revolute' }, mass: 6, geometry: { type: 'sphere', radius: 0.1 } },
    ],
  });
  assert.deepEqual(json.base, { p: [0, 0, 0], q: [1, 0, 0, 0] });
  assert.deepEqual(json.links[0].joint, {
    type: 'prismatic',
    origin: { p: [0, 0, 0], q: [1, 0, 0, 0] },
    axis: [0, 0, 1],
    position: 0,
    velocity: 0,
    damping: 0,
  });
  assert.deepEqual(json.links[0].com, [0, 0, 0]);
  const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);
  // 3 l of water, turned by 90 degrees about z: what was ixx is iyy
  const box = json.links[1];
  near(box.mass, 3);
  near(box.com[0], 0.15);
  near(box.inertia[0], (3 * (0.09 + 0.01)) / 12);
  near(box.inertia[1], (3 * 0.02) / 12);
  near(box.joint.axis[2], 1);
  near(json.links[2].inertia[0], 0.4 * 6 * 0.01); // as heavy as it says, as large as its geometry
  assert.deepEqual((await expect(200, 'GET', '/contact')).json, {
    enabled: false,
    model: 'exact',
    rate: 200,
    impulse: 'pseudo-inverse',
    colliding: 'touching',
    friction: 'stick',
    impact_friction: 'none',
    self: 'relative',
    slip_speed: 0.001,
    rest_speed: 0.001,
    ignore: [],
  });
  assert.equal((await expect(200, 'GET', '/scene')).json.contact, undefined);
  assert.equal((await expect(200, 'PATCH', '/scene', { contact: {} })).json.contact.enabled, true);
});

const scene = (change) => {
  const s = full();
  change(s);
  return s;
};
const link = (i, change) => scene((s) => Object.assign(s.mechanisms[0].links[i], change));
const joint = (i, change) => scene((s) => Object.assign(s.mechanisms[0].links[i].joint, change));
const tool = (change) => scene((s) => Object.assign(s.tool, change));
const rendering = (change) => scene((s) => Object.assign(s.tool.rendering, change));
const contact = (change) => scene((s) => Object.assign(s.contact, change));
const L = '/mechanisms/0/links',
  undef = undefined;

// what, the scene, pointer, words
const wrong = [
  ['a mechanism without an id', scene((s) => delete s.mechanisms[0].id), '/mechanisms/0/id', /missing/],
  ['a mechanism with a slash', scene((s) => (s.mechanisms[0].id = 'a/b')), '/mechanisms/0/id', /characters/],
  [
    'a mechanism named as an object',
    scene((s) => (s.mechanisms[0].id = 'floor')),
    '/mechanisms/0/id',
    /taken by \/objects\/0/,
    409,
  ],
  ['two mechanisms of one name', scene((s) => s.mechanisms.push(s.mechanisms[0])), '/mechanisms/1/id', /taken/, 409],
  [
    'an object named as a link',
    scene((s) => (s.objects[2].id = s.tool.object = 'arm.1')),
    '/objects/2/id',
    /link 1 of mechanism arm/,
  ],
  [
    'nine mechanisms',
    scene((s) => (s.mechanisms = Array.from({ length: 9 }, (_, i) => ({ id: `m${i}`, links: [plain] })))),
    '/mechanisms',
    /at most 8/,
    413,
  ],
  ['no links', scene((s) => (s.mechanisms[0].links = [])), L, /1 to 256/],
  ['257 links', scene((s) => (s.mechanisms[0].links = Array(257).fill(plain))), L, /at most 256/, 413],
  [
    '258 joints in all',
    scene((s) =>
      s.mechanisms.push({ id: 'b', links: Array(128).fill(plain) }, { id: 'c', links: Array(128).fill(plain) }),
    ),
    '/mechanisms/2/links',
    /256/,
    413,
  ],
  ['an unknown member', scene((s) => (s.mechanisms[0].colour = 'red')), '/mechanisms/0/colour', /colour/],
  ['a base that is no pose', scene((s) => (s.mechanisms[0].base = [0, 0, 0])), '/mechanisms/0/base', /object/],
  ['a link without a joint', link(0, { joint: undef }), `${L}/0/joint`, /missing/],
  ['a link with an unknown member', link(0, { colour: 'red' }), `${L}/0/colour`, /colour/],
  ['a link with neither mass nor geometry', link(1, { mass: undef }), `${L}/1/mass`, /missing/],
  ['a link with neither inertia nor geometry', link(1, { inertia: undef }), `${L}/1/inertia`, /missing/],
  ['no mass', link(1, { mass: 0 }), `${L}/1/mass`, /is 0, must be greater than 0/],
  ['an inertia of five', link(1, { inertia: [1, 1, 1, 0, 0] }), `${L}/1/inertia`, /6 numbers/],
  ['an inertia that is not positive', link(1, { inertia: [1, 1, -1, 0, 0, 0] }), `${L}/1/inertia`, /real solid/],
  [
    'an inertia beyond the triangle',
    link(1, { inertia: [1, 1, 3, 0, 0, 0] }),
    `${L}/1/inertia`,
    /sum of the other two/,
  ],
  ['a centre of mass of two', link(1, { com: [0, 0] }), `${L}/1/com`, /3 numbers/],
  [
    'a geometry of no size',
    link(0, { geometry: { type: 'sphere', radius: 0 } }),
    `${L}/0/geometry/radius`,
    /greater than 0/,
  ],
  ['an unknown geometry', link(0, { geometry: { type: 'torus' } }), `${L}/0/geometry/type`, /one of/],
  ['a place that is no pose', link(0, { geometry_at: { q: [2, 0, 0, 0] } }), `${L}/0/geometry_at/q`, /quaternion/],
  ['a mesh of 128 bytes', link(0, { mesh: 'm'.repeat(128) }), `${L}/0/mesh`, /127/],
  ['an unknown material', link(0, { material: 'glass' }), `${L}/0/material`, /glass/],
  ['two links of one id', link(1, { id: 'upper' }), `${L}/1/id`, /taken by link 0/],
  ['a link of an empty name', link(1, { id: '' }), `${L}/1/id`, /characters/],
  ['a link of a name with a slash', link(1, { id: 'a/b' }), `${L}/1/id`, /"a\/b" must be/],
  ['a material of an empty name', link(1, { material: '' }), `${L}/1/material`, /characters/],
  [
    'a tool at a mechanism of an empty name',
    tool({ object: undef, mechanism: '', link: 0 }),
    '/tool/mechanism',
    /no mechanism ""/,
  ],
  ['an unknown joint', joint(0, { type: 'ball' }), `${L}/0/joint/type`, /"revolute", "prismatic"/],
  ['a joint without a type', joint(0, { type: undef }), `${L}/0/joint/type`, /missing/],
  ['an axis of no length', joint(0, { axis: [0, 0, 0] }), `${L}/0/joint/axis`, /zero/],
  ['an origin that is no pose', joint(0, { origin: { p: 1 } }), `${L}/0/joint/origin/p`, /3 numbers/],
  ['a position in words', joint(0, { position: 'up' }), `${L}/0/joint/position`, /number/],
  ['damping below zero', joint(1, { damping: -1 }), `${L}/1/joint/damping`, /is -1, must be 0 or more/],
  ['limits the wrong way round', joint(0, { limits: { lower: 1, upper: -1 } }), `${L}/0/joint/limits`, /less than/],
  ['one limit alone', joint(0, { limits: { lower: -1 } }), `${L}/0/joint/limits/upper`, /missing/],
  ['a start beyond the limits', joint(0, { position: 2 }), `${L}/0/joint/position`, /within the limits/],
  ['an unknown member of a motor', joint(0, { motor: { power: 1 } }), `${L}/0/joint/motor/power`, /torque/],
  [
    'a motor that pushes away',
    joint(0, { motor: { stiffness: -1 } }),
    `${L}/0/joint/motor/stiffness`,
    /is -1, must be 0 or more/,
  ],
  ['friction that drives', joint(0, { friction: -1 }), `${L}/0/joint/friction`, /is -1, must be 0 or more/],
  ['a motor of no speed', joint(0, { motor: { speed: -1 } }), `${L}/0/joint/motor/speed`, /unlimited/],
  ['a motor of less than nothing', joint(0, { motor: { max: -1 } }), `${L}/0/joint/motor/max`, /unlimited/],
  ['a free object that is fixed', scene((s) => (s.objects[1].fixed = true)), '/objects/1/free', /fixed/],
  ['freedom in words', scene((s) => (s.objects[1].free = 'yes')), '/objects/1/free', /true or false/],
  ['an object of unknown material', scene((s) => (s.objects[1].material = 'glass')), '/objects/1/material', /glass/],
  [
    'a feature of a mechanism',
    scene((s) => s.features.push({ id: 'arm/tip', point: [0, 0, 0] })),
    '/features/0/id',
    /"arm" is a mechanism: name a link, "arm.0" to "arm.\d"/,
  ],
  [
    'a feature of a link that is not there',
    scene((s) => s.features.push({ id: 'arm.9/tip', point: [0, 0, 0] })),
    '/features/0/id',
    /no object "arm.9"/,
  ],
  [
    'an unknown feature of a link',
    scene((s) => s.constraints.push({ id: 'c1', type: 'parallel', a: 'arm.1/nose', b: 'floor/+z' })),
    '/constraints/0/a',
    /"arm.1" has no feature "nose"/,
  ],
  ['two materials of one name', scene((s) => (s.materials[1].id = 'steel')), '/materials/1/id', /taken/, 409],
  ['a material that gains', scene((s) => (s.materials[0].restitution = 1.1)), '/materials/0/restitution', /0 to 1/],
  ['friction below zero', scene((s) => (s.materials[0].friction = -1)), '/materials/0/friction', /0 or more/],
  [
    'a material without stiffness',
    scene((s) => (s.materials[0].stiffness = 0)),
    '/materials/0/stiffness',
    /greater than 0/,
  ],
  [
    'an unknown member of a material',
    scene((s) => (s.materials[0].colour = 'red')),
    '/materials/0/colour',
    /restitution/,
  ],
  ['an unknown model', contact({ model: 'fuzzy' }), '/contact/model', /"exact", "local"/],
  ['an unknown impulse rule', contact({ impulse: 'big' }), '/contact/impulse', /pseudo-inverse/],
  ['an unknown friction of hits', contact({ impact_friction: 'rough' }), '/contact/impact_friction', /coulomb/],
  ['a slow world', contact({ rate: 1 }), '/contact/rate', /10 to 1000/],
  ['a slip speed below zero', contact({ slip_speed: -1 }), '/contact/slip_speed', /0 to 1/],
  ['a pair of one', contact({ ignore: [['floor']] }), '/contact/ignore/0', /two names/],
  ['a pair with nobody', contact({ ignore: [['floor', 'arm.7']] }), '/contact/ignore/0/1', /arm.7/],
  ['a pair of the same', contact({ ignore: [['floor', 'floor']] }), '/contact/ignore/0/1', /itself/],
  ['a pair with a number', contact({ ignore: [['floor', 3]] }), '/contact/ignore/0/1', /mechanism.link/],
  ['a tool that holds both', tool({ mechanism: 'arm', link: 0 }), '/tool/mechanism', /not both/],
  ['a tool that holds nothing', tool({ object: undef }), '/tool/object', /missing/],
  ['a link without a mechanism', tool({ link: 1 }), '/tool/link', /give "mechanism"/],
  ['a mechanism without a link', tool({ object: undef, mechanism: 'arm' }), '/tool/link', /missing/],
  ['a link that is not there', tool({ object: undef, mechanism: 'arm', link: 2 }), '/tool/link', /links 0 to 1/],
  ['a mechanism that is not there', tool({ object: undef, mechanism: 'leg', link: 0 }), '/tool/mechanism', /"leg"/],
  ['a branch of a mechanism', tool({ object: undef, mechanism: 'arm', link: 0, branch: 'b0' }), '/tool/branch', /none/],
  ['an unknown control', tool({ control: 'telepathy' }), '/tool/control', /four-channel/],
  ['admittance at an impedance device', tool({ control: 'admittance' }), '/tool/control', /impedance device/],
  ['no control at an impedance device', tool({ control: undef }), '/tool/control', /impedance device/],
  [
    'impedance at an admittance device',
    scene((s) => (s.devices[0].driver = 'sim')),
    '/tool/control',
    /admittance device/,
  ],
  ['an unknown member of rendering', rendering({ colour: 'red' }), '/tool/rendering/colour', /jdot/],
  ['an unknown jdot', rendering({ jdot: 'half' }), '/tool/rendering/jdot', /"full", "paper"/],
  ['an unknown hand', rendering({ hand: 'left' }), '/tool/rendering/hand', /measured/],
  ['a length below zero', rendering({ length: -1 }), '/tool/rendering/length', /0 to/],
  ['a threshold beyond one', rendering({ threshold: 2 }), '/tool/rendering/threshold', /0 to 1/],
  ['a fade that shrinks', rendering({ fade: 0.5 }), '/tool/rendering/fade', /1 or more/],
  [
    'coordination that pushes',
    rendering({ coordination: { linear: -1 } }),
    '/tool/rendering/coordination/linear',
    /0 to/,
  ],
  [
    'a coupling of an unknown kind',
    rendering({ coupling: { twist: 1 } }),
    '/tool/rendering/coupling/twist',
    /angular_damping/,
  ],
  ['a penalty that pushes', rendering({ penalty: { stiffness: -1 } }), '/tool/rendering/penalty/stiffness', /0 to/],
  ['mass known as a crowd', rendering({ mass_known: 11 }), '/tool/rendering/mass_known', /0 to 10/],
  ['passivity in words', rendering({ passivity: 'on' }), '/tool/rendering/passivity', /true or false/],
  [
    'a desired mass of nothing',
    tool({ desired: { mass: [1, 1, 1, 0.1, 0, 0.1] } }),
    '/tool/desired/mass/4',
    /is 0, must be/,
  ],
  [
    'a desired damping that pushes',
    tool({ desired: { damping: [0, -1, 0, 0, 0, 0] } }),
    '/tool/desired/damping/1',
    /is -1, must be 0 to/,
  ],
  ['a desired stiffness of three', tool({ desired: { stiffness: [1, 2, 3] } }), '/tool/desired/stiffness', /6 numbers/],
  ['forces scaled to nothing', tool({ force_scale: 0 }), '/tool/force_scale', /greater than 0/],
  ['an unknown grasp', tool({ grasp: 'tender' }), '/tool/grasp', /"rigid", "point"/],
  ['33 substeps', tool({ substeps: 33 }), '/tool/substeps', /1 to 32/],
  ['a start that is no pose', tool({ start: { p: [1] } }), '/tool/start/p', /3 numbers/],
];

for (const [what, body, pointer, words, status = 400] of wrong)
  test(`refused: ${what}`, async () => {
    const reply = await request(server, 'PUT', '/api/v1/scene', body);
    assert.equal(reply.status, status, reply.text);
    assert.equal(reply.json.errors[0].pointer, pointer);
    assert.match(reply.json.errors[0].detail, words);
  });

test('errors of resources point into their bodies', async () => {
  await expect(200, 'PUT', '/scene', full());
  const cases = [
    ['POST', '/mechanisms', { id: 'leg', links: [plain, { ...plain, mass: -1 }] }, '/links/1/mass'],
    ['POST', '/mechanisms', { id: 'leg', links: [plain], colour: 1 }, '/colour'],
    ['PATCH', '/mechanisms/arm/links/0', { joint: { position: 9 } }, '/joint/position'],
    ['PATCH', '/mechanisms/arm/links/0', { inertia: null, geometry: null }, '/inertia'],
    ['POST', '/mechanisms/arm/links', { ...plain, id: 'upper' }, '/id'],
    ['PUT', '/mechanisms/arm/joints/1/motor', { damping: -1 }, '/damping'],
    ['PATCH', '/materials/steel', { friction: -1 }, '/friction'],
    ['PATCH', '/contact', { ignore: [['floor', 'nobody']] }, '/ignore/0/1'],
    ['PATCH', '/tool', { rendering: { fade: 0.1 } }, '/rendering/fade'],
    ['PATCH', '/objects/block', { material: 'glass' }, '/material'],
    ['POST', '/objects', { id: 'arm.0', geometry: { type: 'sphere', radius: 1 } }, '/id'],
  ];
  for (const [method, path, body, pointer] of cases) {
    const reply = await request(server, method, `/api/v1${path}`, body);
    assert.equal(reply.status, 400, `${method} ${path}: ${reply.text}`);
    assert.equal(reply.json.errors[0].pointer, pointer, reply.text);
  }
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, full());
});

test('edits are undone and redone, dry runs change nothing', async () => {
  await expect(200, 'PUT', '/scene', full());
  const edits = [
    ['PATCH', '/mechanisms/arm', { base: { p: [0, 0, 1] } }],
    ['PATCH', '/mechanisms/arm/links/0', { joint: { position: -0.5, motor: null } }],
    ['POST', '/mechanisms/arm/links', plain],
    ['PUT', '/mechanisms/arm/joints/1/motor', { torque: 2 }],
    ['POST', '/materials', { id: 'wood' }],
    ['PATCH', '/contact', { ignore: [], model: 'exact' }],
    ['PATCH', '/tool', { control: 'penalty', rendering: { penalty: { stiffness: 500 } } }],
    ['PATCH', '/objects/ball', { free: false }],
    ['DELETE', '/materials/wood'],
    ['DELETE', '/mechanisms/arm'],
  ];
  const seen = [(await expect(200, 'GET', '/scene')).json];
  for (const [method, path, body] of edits) {
    await expect(200, method, `${path}?dryRun=true`, body);
    assert.deepEqual((await expect(200, 'GET', '/scene')).json, seen.at(-1), `${method} ${path} as a dry run`);
    await expect({ POST: 201, DELETE: 204 }[method] ?? 200, method, path, body);
    seen.push((await expect(200, 'GET', '/scene')).json);
    assert.notDeepEqual(seen.at(-1), seen.at(-2));
  }
  for (let i = seen.length - 2; i >= 0; i--) {
    await expect(200, 'POST', '/scene/undo');
    assert.deepEqual((await expect(200, 'GET', '/scene')).json, seen[i]);
  }
  for (let i = 1; i < seen.length; i++) await expect(200, 'POST', '/scene/redo');
  assert.deepEqual((await expect(200, 'GET', '/scene')).json, seen.at(-1));
});

test('a new name reaches everything that refers to it', async () => {
  await expect(200, 'PUT', '/scene', full());
  await expect(200, 'PATCH', '/mechanisms/arm', { id: 'robot' });
  await expect(200, 'PATCH', '/materials/steel', { id: 'iron' });
  await expect(200, 'PATCH', '/objects/floor', { id: 'ground' });
  const { json } = await expect(200, 'GET', '/scene');
  assert.deepEqual(json.contact.ignore, [
    ['ground', 'robot.0'],
    ['robot.0', 'robot.1'],
  ]);
  assert.equal(json.mechanisms[0].links[0].material, 'iron');
  assert.equal(json.objects[0].material, 'iron');
});

test('what is in use is not removed', async () => {
  await expect(200, 'PUT', '/scene', full());
  const kept = [
    ['/mechanisms/arm', /contact ignore floor/],
    ['/mechanisms/arm/links/1', /contact ignore arm.0/],
    ['/materials/steel', /object floor, link arm.0/],
    ['/objects/floor', /contact ignore arm.0/],
    ['/devices/hand', /hand holds block/],
  ];
  for (const [path, words] of kept) assert.match((await expect(409, 'DELETE', path)).json.detail, words);
  assert.match((await expect(409, 'DELETE', '/mechanisms/arm/links/0')).json.detail, /others hang on it/);
});

test('a tool takes a simulated device of the class that its control needs', async () => {
  await expect(200, 'PUT', '/scene', { ...full(), tool: undefined, devices: [] });
  await expect(201, 'PUT', '/tool', { object: 'block', control: 'coupling' });
  assert.deepEqual(
    (await expect(200, 'GET', '/devices')).json.map((d) => [d.id, d.driver, d.info.class]),
    [['sim-impedance', 'sim-impedance', 'impedance']],
  );
});

test('links and free bodies are in index and pose frames', async () => {
  await expect(200, 'PUT', '/scene', full());
  const live = stream(server);
  const hello = await live.wait('hello');
  assert.deepEqual(hello.index, ['ball', 'block', 'arm.0', 'arm.1']);
  assert.deepEqual(hello.scene.mechanisms, full().mechanisms);
  assert.deepEqual(hello.simulation.mechanisms, [{ id: 'arm', positions: [0.25, 0.1], velocities: [-0.5, 0] }]);
  const { poses } = await until('a frame', () => live.frames.find((f) => f.type === 1));
  assert.deepEqual(
    poses.map((p) => p.index),
    [0, 1, 2, 3],
  );
  // the base turns by 2 atan(4/3) about z; the first link's origin is 0.1 above it
  poses[2].p.forEach((x, i) => assert.ok(Math.abs(x - [0, 0, 0.6][i]) < 1e-6, `${poses[2].p}`));
  assert.ok(
    Math.abs(Math.hypot(...poses[3].p.map((x, i) => x - poses[2].p[i])) - 0.5) < 1e-6,
    'the second link is 0.4 m and 0.1 m out',
  );
  const from = live.messages.length;
  await expect(204, 'DELETE', '/tool');
  await expect(200, 'PATCH', '/contact', { ignore: null });
  await expect(204, 'DELETE', '/mechanisms/arm');
  await until('the index without it', () =>
    live.messages.slice(from).some((m) => m.op === 'scene' && m.index.length === 2),
  );
  await live.close();
});

test('the columns of samples are those of the scene, also after another one is loaded', async () => {
  await expect(200, 'PUT', '/scene', full());
  const live = stream(server);
  await live.wait('hello');
  live.send({ op: 'subscribe', stream: 'samples' });
  const { columns } = await live.wait('subscribed', (m) => m.stream === 'samples');
  assert.deepEqual(columns.slice(-7), ['error_p', 'error_r', 'q1', 'q2', 'v1', 'v2', 'contact_impulse']);
  await expect(200, 'PUT', '/scene', { ...full(), mechanisms: [], contact: {} });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const samples = await until('samples', () =>
    live.frames.findLast((f) => f.type === 2 && f.columns === columns.length - 4),
  );
  assert.equal(samples.rows[0].length, columns.length - 4);
  const told = live.messages.findLast((m) => m.op === 'subscribed');
  assert.equal(told.columns.length, samples.columns);
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  await live.close();
});

// ---- running ------------------------------------------------------------------------------------

// Two links that hang from the z axis, held at the end; a ball that falls onto a floor.
const swinging = (change = {}) => ({
  format: 'guideway-scene/1',
  name: 'Swinging',
  gravity: [0, -9.81, 0],
  objects: [
    { id: 'floor', geometry: { type: 'box', size: [4, 0.1, 1] }, pose: { p: [3, -2, 0] }, fixed: true },
    { id: 'ball', geometry: { type: 'sphere', radius: 0.05 }, pose: { p: [3, -1.8, 0] }, free: true },
  ],
  contact: {},
  mechanisms: [
    {
      id: 'arm',
      links: [0, 1].map((i) => ({
        ...plain,
        com: [0.25, 0, 0],
        joint: { type: 'revolute', origin: { p: [0.5 * i, 0, 0] }, position: -0.5, damping: 0.5 },
      })),
    },
  ],
  tool: { mechanism: 'arm', link: 1, at: { p: [0.5, 0, 0] }, device: 'hand', control: 'penalty' },
  devices: [
    { id: 'hand', driver: 'sim-impedance', operator: { type: 'wrench', samples: [{ t: 0, force: [0, 1, 0] }] } },
  ],
  ...change,
});
const simulation = async () => (await expect(200, 'GET', '/simulation')).json;
const joints = async () => (await expect(200, 'GET', '/mechanisms/arm')).json.state;

test('a held mechanism moves, and is where it was after a stop', async () => {
  const { json } = await expect(200, 'PUT', '/scene', swinging());
  assert.deepEqual([json.tool.mechanism, json.tool.link, json.tool.object], ['arm', 1, undefined]);
  assert.deepEqual((await joints()).positions, [-0.5, -0.5]);
  const live = stream(server);
  await live.wait('hello');
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await until('movement', async () => (await joints()).positions[0] < -1);
  const state = await until('a state with it', () =>
    live.messages.findLast((m) => m.op === 'state' && m.simulation.mechanisms[0].positions[0] < -1),
  );
  const [held] = state.simulation.tools;
  assert.deepEqual([held.mechanism, held.link, held.object], ['arm', 1, undefined]);
  // the end of the arm, from the joints
  const [a, b] = state.simulation.mechanisms[0].positions;
  const end = [0.5 * Math.cos(a) + 0.5 * Math.cos(a + b), 0.5 * Math.sin(a) + 0.5 * Math.sin(a + b), 0];
  held.pose.p.forEach((x, i) => assert.ok(Math.abs(x - end[i]) < 1e-9, `${held.pose.p} is not ${end}`));
  const { index } = live.find('hello'),
    at = index.indexOf('arm.1');
  const shown = live.frames.findLast((f) => f.type === 1).poses[at];
  assert.ok(Math.abs(Math.hypot(...shown.p) - 0.5) < 1e-6, 'the second link turns about the end of the first');
  // edits while it runs leave the joints alone
  await expect(200, 'PUT', '/simulation', { state: 'paused' });
  const before = await joints();
  await expect(200, 'PATCH', '/scene', { gravity: [0, -5, 0] });
  await expect(200, 'PATCH', '/mechanisms/arm', { base: { p: [0, 0.1, 0] } });
  assert.deepEqual(await joints(), before);
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  assert.deepEqual(await joints(), { positions: [-0.5, -0.5], velocities: [0, 0] });
  await expect(200, 'PATCH', '/mechanisms/arm/links/0', { joint: { position: 0.2 } });
  assert.deepEqual((await joints()).positions, [0.2, -0.5]);
  await live.close();
});

test('motors and control change while it runs, and last', async () => {
  await expect(200, 'PUT', '/scene', swinging({ contact: undefined }));
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const hand = async () => (await expect(200, 'GET', '/tool')).json.state.hand.force[1];
  await until('the hand', async () => Math.abs((await hand()) - 1) < 1e-9);
  assert.equal((await simulation()).energy.motors, 0);
  const { tick } = await simulation();
  const blind = await expect(200, 'PATCH', '/tool', { rendering: { hand: 'unknown' } });
  assert.equal(blind.json.rendering.hand, 'unknown');
  const inEffect = async ({ headers }) =>
    until('the event that tells of it', async () =>
      (await expect(200, 'GET', '/events')).json.some((e) => e.kind === 'active' && `"${e.revision}"` === headers.etag),
    );
  await inEffect(blind);
  await until('a hand that is not known', async () => (await hand()) === 0);
  await expect(200, 'PATCH', '/tool', { control: 'coupling', rendering: { hand: 'measured' } });
  await until('the hand again', async () => Math.abs((await hand()) - 1) < 1e-9);
  await inEffect(
    await expect(200, 'PUT', '/mechanisms/arm/joints/0/motor', { stiffness: 5, target: -1, damping: 1, max: 20 }),
  );
  await until('work of the motor', async () => Math.abs((await simulation()).energy.motors) > 1e-6);
  assert.ok((await simulation()).tick > tick, 'it ran on');
  // another edit, a stop and a start: both are still as they were set
  await expect(201, 'POST', '/materials', { id: 'steel' });
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  assert.equal((await simulation()).energy.motors, 0);
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await until('work of the motor', async () => Math.abs((await simulation()).energy.motors) > 1e-6);
  assert.equal((await expect(200, 'GET', '/tool')).json.control, 'coupling');
  await expect(200, 'POST', '/scene/undo'); // the material
  await expect(200, 'POST', '/scene/undo'); // the motor
  assert.equal((await expect(200, 'GET', '/mechanisms/arm/joints/0/motor')).json.stiffness, 0);
  await sleep(5);
  const { energy } = await simulation();
  await sleep(20);
  assert.equal((await simulation()).energy.motors, energy.motors, 'the motor is off');
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
});

test('contacts are told with who touches whom, where and how hard', async () => {
  await expect(200, 'PUT', '/scene', swinging({ tool: undefined, devices: [] }));
  const live = stream(server);
  await live.wait('hello');
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await until('a collision', async () => (await simulation()).contact.collisions > 0);
  const fell = await until(
    'a collision is told',
    async () => (await expect(200, 'GET', '/simulation')).json.hits[0],
    20000,
  );
  assert.ok(fell.impulse > 0 && Math.hypot(...fell.normal) > 0.999);
  await until(
    'rest',
    async () =>
      (await expect(200, 'GET', '/contacts')).json.some((c) => c.state === 'continuous' && Math.abs(c.force[1]) > 1),
    20000,
  );
  const [c] = (await expect(200, 'GET', '/contacts')).json;
  assert.deepEqual([c.a, c.b].sort(), ['ball', 'floor']);
  const up = c.a === 'ball' ? 1 : -1,
    weight = ((1000 * 4) / 3) * Math.PI * 0.05 ** 3 * 9.81;
  assert.ok(Math.abs(c.normal[1] - up) < 1e-6 && Math.abs(c.point[1] + 1.95) < 1e-3, JSON.stringify(c));
  await until(
    'its weight',
    async () => {
      const [now] = (await expect(200, 'GET', '/contacts')).json;
      return now && Math.abs(now.force[1] * up - weight) < 0.01 * weight;
    },
    20000,
  );
  const state = await until('a state with it', () =>
    live.messages.findLast((m) => m.op === 'state' && m.simulation.contacts.length > 0),
  );
  assert.ok(state.simulation.contact.collisions > 0 && state.simulation.contact.dissipated > 0);
  const frame = live.frames.findLast((f) => f.type === 1);
  assert.ok(
    Math.abs(frame.poses[live.find('hello').index.indexOf('ball')].p[1] + 1.9) < 1e-3,
    'the ball lies on the floor',
  );
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  await expect(200, 'PATCH', '/contact', { enabled: false });
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  await until('a fall through the floor', async () => (await simulation()).tick > 700);
  assert.deepEqual((await expect(200, 'GET', '/contacts')).json, []);
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
  await live.close();
});

test('what the limits of the device withhold is told, some times a second', async () => {
  const link = (x) => ({
    mass: 2,
    geometry: { type: 'box', size: [0.5, 0.04, 0.04] },
    geometry_at: { p: [0.25, 0, 0] },
    joint: { type: 'revolute', damping: 0.2, origin: { p: [x, 0, 0] } },
  });
  await expect(
    200,
    'PUT',
    '/scene',
    swinging({
      objects: [{ id: 'floor', geometry: { type: 'box', size: [4, 0.1, 1] }, pose: { p: [0, -0.6, 0] }, fixed: true }],
      mechanisms: [{ id: 'arm', links: [link(0), link(0.5)] }],
      devices: [{ id: 'hand', driver: 'sim-impedance', settings: { force_max: 1 } }],
    }),
  );
  const begin = performance.now();
  await expect(200, 'PUT', '/simulation', { state: 'running' });
  const told = async () => (await expect(200, 'GET', '/events')).json.filter((e) => e.kind === 'withheld');
  const [first] = await until(
    'the event',
    async () => {
      const e = await told();
      return e.length && e;
    },
    30000,
  );
  assert.ok(first.withheld > 0 && first.message.includes('arm'), JSON.stringify(first));
  await until(
    'all of it in the state',
    async () => (await expect(200, 'GET', '/tool')).json.state.withheld >= first.withheld,
  );
  const count = (await told()).length,
    seconds = (performance.now() - begin) / 1000; // the log is quiet by the clock
  assert.ok(count <= 1 + 2 * seconds, `${count} events in ${seconds} s: not every tick`);
  await expect(200, 'PUT', '/simulation', { state: 'stopped' });
});

test('run names the file and the member, and has a column for every joint', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guideway-mechanisms-'));
  const file = join(folder, 'scene.json'),
    csv = join(folder, 'run.csv');
  writeFileSync(file, JSON.stringify({ ...full(), tool: undefined, devices: [] }));
  const summary = JSON.parse(
    execFileSync(guideway, ['run', file, '--seconds', '0.01', '--csv', csv], { encoding: 'utf8' }),
  );
  assert.deepEqual(Object.keys(summary.contact), [
    'near',
    'touching',
    'collisions',
    'dissipated',
    'generated',
    'spring',
    'impulse',
    'impulse_max',
    'penetration_max',
  ]);
  assert.equal(typeof summary.energy.motors, 'number');
  const rows = readFileSync(csv, 'utf8').trim().split('\n');
  assert.match(rows[0], /^t,px.*,error_p,error_r,q1,q2,v1,v2$/);
  assert.equal(rows.length, 11);
  for (const row of rows) assert.equal(row.split(',').length, 37);
  writeFileSync(file, JSON.stringify(joint(0, { axis: [0, 0, 0] })));
  assert.throws(
    () => execFileSync(guideway, ['run', file], { encoding: 'utf8', stdio: 'pipe' }),
    (e) => e.status === 2 && /scene\.json.*\/mechanisms\/0\/links\/0\/joint\/axis/.test(e.stderr),
  );
});

test('lambda of a held arm is what its joints bear: a push across their plane comes back', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guideway-lambda-'));
  const file = join(folder, 'scene.json'),
    csv = join(folder, 'run.csv');
  const link = (at) => ({
    joint: { type: 'revolute', origin: { p: [at, 0, 0] }, position: 0.4, damping: 0.5 },
    mass: 1,
    com: [0.1, 0, 0],
    inertia,
  });
  writeFileSync(
    file,
    JSON.stringify({
      format: 'guideway-scene/1',
      name: 'Push',
      mechanisms: [{ id: 'arm', links: [link(0), link(0.2)] }],
      tool: { mechanism: 'arm', link: 1, at: { p: [0.1, 0, 0] }, device: 'sim', control: 'penalty' },
      devices: [
        {
          id: 'sim',
          driver: 'sim-impedance',
          operator: { type: 'wrench', samples: [{ t: 0, force: [0, 0, 5], torque: [0, 0, 0] }] },
        },
      ],
    }),
  );
  execFileSync(guideway, ['run', file, '--seconds', '1', '--csv', csv], { encoding: 'utf8' });
  const [head, ...rows] = readFileSync(csv, 'utf8')
    .trim()
    .split('\n')
    .map((l) => l.split(','));
  const column = head.indexOf('lambda_f');
  for (const row of rows.slice(500)) assert.ok(Math.abs(row[column] - 5) < 1e-3, `t ${row[0]}: ${row[column]} N`);
});

test('a joint with friction stands against its weight, one with less of it does not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guideway-friction-'));
  const file = join(folder, 'scene.json'),
    csv = join(folder, 'run.csv');
  const last = (friction) => {
    const links = [{ joint: { type: 'revolute', friction }, mass: 1, com: [0.1, 0, 0], inertia }]; // 0.981 N m
    writeFileSync(
      file,
      JSON.stringify({
        format: 'guideway-scene/1',
        name: 'Stands',
        gravity: [0, -9.81, 0],
        mechanisms: [{ id: 'arm', links }],
      }),
    );
    const { energy } = JSON.parse(
      execFileSync(guideway, ['run', file, '--seconds', '1', '--csv', csv], { encoding: 'utf8' }),
    );
    const [head, ...rows] = readFileSync(csv, 'utf8')
      .trim()
      .split('\n')
      .map((l) => l.split(','));
    return { q: Number(rows.at(-1)[head.indexOf('q1')]), v: Number(rows.at(-1)[head.indexOf('v1')]), energy };
  };
  const stands = last(1.2),
    falls = last(0.5);
  assert.ok(Math.abs(stands.q) < 1e-3 && Math.abs(stands.v) < 1e-9, `${stands.q} rad, ${stands.v} rad/s`);
  assert.ok(falls.q < -0.5, `${falls.q} rad`);
  assert.ok(
    falls.energy.dissipated > 0.2 &&
      Math.abs(falls.energy.final + falls.energy.dissipated - falls.energy.initial) < 1e-10,
  );
});
