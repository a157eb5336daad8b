// Robot descriptions: what becomes of them at the command line and over REST, and what is refused.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { guideway, request, start } from './server.mjs';

function convert(urdf, ...args) {
  const r = spawnSync(guideway, ['import', '-', ...args], { input: urdf, encoding: 'utf8', timeout: 30000 });
  return { code: r.status, err: r.stderr, mechanism: r.status === 0 ? JSON.parse(r.stdout) : null };
}

const close = (a, b, tolerance, what) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${what ?? 'value'}: ${a} is not ${b}`);
const all = (a, b, tolerance, what) => b.forEach((v, i) => close(a[i], v, tolerance, `${what} ${i}`));

const inertial = (mass, i, origin = '') =>
  `<inertial>${origin}<mass value="${mass}"/><inertia ixx="${i}" ixy="0" ixz="0" iyy="${i}" iyz="0" izz="${i}"/></inertial>`;
const joint = (name, type, from, to, inner = '') =>
  `<joint name="${name}" type="${type}"><parent link="${from}"/><child link="${to}"/>${inner}</joint>`;
const limit = '<limit lower="-1" upper="2" effort="10" velocity="1"/>';

const arm = `<?xml version="1.0"?>
<robot name="small arm">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="world"/>
  <link name="stand"><visual><geometry><box size="1 1 1"/></geometry></visual></link>
  <link name="upper">${inertial(2, 0.1, '<origin xyz="0.5 0 0" rpy="0 0 0"/>')}
    <visual><geometry><mesh filename="package://arm/upper.stl"/></geometry></visual>
    <collision><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.1" length="1"/></geometry></collision>
  </link>
  <link name="bracket">${inertial(2, 0.1)}</link>
  <link name="slide">${inertial(1, 0.05)}<visual><geometry><sphere radius="0.2"/></geometry></visual></link>
  <link name="tool"/>
  ${joint('bolt', 'fixed', 'world', 'stand', '<origin xyz="0 0 1"/>')}
  ${joint('shoulder', 'revolute', 'stand', 'upper', `<origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><axis xyz="0 0 2"/>${limit}<dynamics damping="0.3" friction="1"/>`)}
  ${joint('weld', 'fixed', 'upper', 'bracket', '<origin xyz="1.5 0 0" rpy="0 0 0.7"/>')}
  ${joint('rail', 'prismatic', 'bracket', 'slide', '<origin xyz="0 0 0.1"/><limit lower="0.2" upper="0.5" effort="1" velocity="1"/>')}
  ${joint('flange', 'fixed', 'slide', 'tool', '<origin xyz="0 0 1"/>')}
  <gazebo reference="upper"><link name="none"/></gazebo>
  <transmission name="t"><joint name="shoulder"/></transmission>
</robot>`;

test('a serial arm becomes a mechanism, fixed joints joined by the parallel-axis theorem', () => {
  const { mechanism: m } = convert(arm);
  assert.equal(m.id, 'small_arm');
  assert.deepEqual(
    m.links.map((l) => [l.id, l.joint.type]),
    [
      ['upper', 'revolute'],
      ['slide', 'prismatic'],
    ],
  );
  const [upper, slide] = m.links;
  all(upper.joint.origin.p, [0, 0, 1.5], 1e-15, 'origin');
  all(upper.joint.origin.q, [Math.SQRT1_2, 0, 0, Math.SQRT1_2], 1e-15, 'turn');
  assert.deepEqual(upper.joint.axis, [0, 0, 1]);
  assert.deepEqual(upper.joint.limits, { lower: -1, upper: 2 });
  assert.equal(upper.joint.damping, 0.3);
  assert.equal(upper.joint.friction, 1);
  assert.equal(upper.joint.motor.max, 10);
  assert.equal(upper.joint.motor.speed, 1);
  assert.equal(upper.joint.motor.torque, 0);
  // 2 kg at 0.5 m and 2 kg at 1.5 m: 4 kg at 1 m, 0.2 + 2 x 2 x 0.5^2 across
  assert.equal(upper.mass, 4);
  all(upper.com, [1, 0, 0], 1e-15, 'com');
  all(upper.inertia, [0.2, 1.2, 1.2, 0, 0, 0], 1e-14, 'inertia');
  assert.equal(upper.mesh, 'package://arm/upper.stl');
  assert.equal(upper.geometry.type, 'compound');
  all(upper.geometry.parts[0].pose.p, [0.5, 0, 0], 1e-15, 'part');
  all(slide.joint.origin.p, [1.5, 0, 0.1], 1e-15, 'origin');
  assert.deepEqual(slide.joint.axis, [1, 0, 0]);
  assert.equal(slide.joint.position, 0.2);
  assert.deepEqual(slide.geometry, { type: 'sphere', radius: 0.2 });
});

test('inertias are turned by rpy about the fixed axes x, y, z', () => {
  const { mechanism: m } = convert(`<robot name="r"><link name="a"/><link name="b"><inertial>
    <origin xyz="1 2 3" rpy="1.5707963267948966 0 1.5707963267948966"/><mass value="1"/>
    <inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0" iyz="0"/></inertial></link>
    ${joint('j', 'continuous', 'a', 'b')}</robot>`);
  // x -> y, y -> z, z -> x
  all(m.links[0].inertia, [2.5, 1, 2, 0, 0, 0.1], 1e-14, 'inertia');
  all(m.links[0].com, [1, 2, 3], 0, 'com');
  assert.equal(m.links[0].joint.limits, undefined);
});

const two = (inner) => `<robot name="r"><link name="a"/><link name="b">${inertial(1, 1)}</link>${inner}</robot>`;

const links = (...names) => names.map((n) => `<link name="${n}">${inertial(1, 1)}</link>`).join('');
const tree = `<robot name="r"><link name="a"/>${links('b', 'c', 'd', 'e')}<link name="frame"/>${joint('f', 'fixed', 'b', 'frame')}
  ${joint('1', 'continuous', 'a', 'b')}${joint('2', 'continuous', 'b', 'c')}${joint('3', 'continuous', 'b', 'd')}${joint('4', 'continuous', 'c', 'e')}</robot>`;
const hung = (m) => m.links.map((l, i) => [l.id, l.parent ?? i - 1]);

test('a tree keeps its branches; the tip says what is held, and comes last', () => {
  const { mechanism: m } = convert(tree);
  assert.deepEqual(hung(m), [
    ['b', -1],
    ['c', 0],
    ['e', 1],
    ['d', 0],
  ]);
  assert.equal(m.tip, undefined);
  const held = convert(tree, '--tip', 'c').mechanism;
  assert.deepEqual(hung(held), [
    ['b', -1],
    ['d', 0],
    ['c', 0],
    ['e', 2],
  ]);
  assert.equal(held.tip, 2);
  assert.equal(convert(tree, '--tip', 'frame').mechanism.tip, 0);
  assert.match(convert(tree, '--tip', 'z').err, /no link "z"/);
  assert.match(convert(tree, '--tip', 'a').err, /link "a", the tip, does not move/);
});

test('planar and floating joints begin at their origin, with a note of what they cannot keep', () => {
  const { mechanism: m, err } = convert(`<robot name="r"><link name="a"/>${links('b', 'c')}
    ${joint('f', 'floating', 'a', 'b', '<origin xyz="0 0 2"/><axis xyz="0 0 0"/>')}
    ${joint('p', 'planar', 'b', 'c', '<axis xyz="0 1 0"/><limit lower="-1" upper="1"/>')}</robot>`);
  assert.deepEqual(
    m.links.map((l) => l.joint.type),
    ['floating', 'planar'],
  );
  all(m.links[0].joint.origin.p, [0, 0, 2], 0, 'origin');
  assert.deepEqual(m.links[1].joint.axis, [0, 1, 0]);
  assert.equal(m.links[1].joint.limits, undefined);
  assert.match(err, /note: joint "p" is planar: its limits, damping and friction are left out/);
  assert.doesNotMatch(err, /"f"/);
  const damped = convert(two(joint('f', 'floating', 'a', 'b', '<dynamics damping="0.1"/>')));
  assert.match(damped.err, /note: joint "f" is floating: its limits, damping and friction are left out/);
});

test('what a fixed joint says of axis, limits, damping and mimicking is passed over', () => {
  const { mechanism: m } =
    convert(`<robot name="r"><link name="a"/>${links('b', 'c')}${joint('j', 'continuous', 'a', 'b')}
    ${joint('w', 'fixed', 'b', 'c', '<axis xyz="0 0 0"/><limit lower="x"/><dynamics damping="-1"/><mimic joint="none"/>')}</robot>`);
  assert.deepEqual([m.links.length, m.links[0].mass], [1, 2]);
});

test('limits without play are kept, with a note', () => {
  const { mechanism: m, err } = convert(
    two(joint('j', 'revolute', 'a', 'b', '<limit lower="0" upper="0" effort="1" velocity="1"/>')),
  );
  assert.deepEqual(m.links[0].joint.limits, { lower: 0, upper: 0 });
  assert.match(err, /note: joint "j" has limits without play, 0 to 0: kept/);
});

test('joints that mimic become gears and begin where those they mimic have them', () => {
  const finger = (mimic, limits = '') => `<robot name="r"><link name="a"/>${links('b', 'c', 'd')}
    ${joint('third', 'continuous', 'a', 'd', '<mimic joint="second" multiplier="3"/>')}
    ${joint('first', 'revolute', 'a', 'b', '<limit lower="0.5" upper="1" effort="1" velocity="1"/>')}
    ${joint('second', limits ? 'revolute' : 'continuous', 'a', 'c', `${mimic}${limits}`)}</robot>`;
  const { mechanism: m } = convert(finger('<mimic joint="first" multiplier="-2" offset="0.1"/>'));
  assert.deepEqual(
    m.links.map((l) => l.id),
    ['d', 'b', 'c'],
  );
  assert.deepEqual(m.gears, [
    { joints: [2, 1], ratio: -2 },
    { joints: [0, 2], ratio: 3 },
  ]);
  [-2.7, 0.5, -0.9].forEach((x, i) => close(m.links[i].joint.position, x, 1e-15));
  const beyond = convert(finger('<mimic joint="first"/>', '<limit lower="-0.1" upper="0.1"/>'));
  assert.equal(beyond.mechanism.links[2].joint.limits, undefined);
  assert.match(beyond.err, /"second" begins at 0.5, beyond its limits -0.1 to 0.1: they are left out/);
  const still = convert(finger('<mimic joint="first" multiplier="0" offset="0.2"/>'));
  assert.deepEqual(
    [still.mechanism.links[2].joint.limits, still.mechanism.gears.length],
    [{ lower: 0.2, upper: 0.2 }, 1],
  );
  assert.match(convert(finger('<mimic joint="third"/>')).err, /has <mimic> of itself, through others/);
});

// All sections of a telescope that hangs fall together: its first joint moves, the others do not.
test('a robot of 200 joints comes in whole, and falls as it must', () => {
  const links = Array.from({ length: 200 }, (_, i) => `<link name="l${i + 1}">${inertial(1, 0.01)}</link>`);
  const joints = links.map((_, i) =>
    joint(
      `j${i}`,
      'prismatic',
      `l${i}`,
      `l${i + 1}`,
      '<axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="1" velocity="1"/>',
    ),
  );
  const { mechanism: m } = convert(`<robot name="r"><link name="l0"/>${links.join('')}${joints.join('')}</robot>`);
  assert.equal(m.links.length, 200);
  const scene = { format: 'guideway-scene/1', name: 't', gravity: [0, 0, -9.81], mechanisms: [m] };
  const folder = mkdtempSync(join(tmpdir(), 'guideway-import-'));
  writeFileSync(join(folder, 'scene.json'), JSON.stringify(scene));
  const csv = join(folder, 'bodies.csv');
  const r = spawnSync(guideway, ['run', join(folder, 'scene.json'), '--seconds', '0.1', '--bodies', csv], {
    timeout: 60000,
  });
  assert.equal(r.status, 0, String(r.stderr));
  const [head, ...rows] = readFileSync(csv, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  const last = Object.fromEntries(rows.at(-1).map((x, i) => [head[i], Number(x)]));
  for (let i = 0; i < 200; i++) close(last[`r.${i}.q0`], i === 0 ? -4.905 * last.t * last.t : 0, 1e-10, `joint ${i}`);
});

test('an inertia of no solid becomes that of one, with a note', () => {
  const { mechanism: m, err } = convert(two(joint('j', 'continuous', 'a', 'b')).replace('izz="1"', 'izz="3"'));
  all(m.links[0].inertia, [2, 2, 4, 0, 0, 0], 1e-13, 'inertia'); // 2 + 2 = 4
  assert.ok(m.links[0].inertia[0] + m.links[0].inertia[1] >= m.links[0].inertia[2]);
  assert.match(err, /note: <inertia> of link "b" is not that of a real solid: 1 kg m2/);
  const skew = convert(
    two(joint('j', 'continuous', 'a', 'b')).replace(
      'ixx="1" ixy="0" ixz="0" iyy="1"',
      'ixx="2" ixy="1.1" ixz="0" iyy="2"',
    ),
  ).mechanism.links[0].inertia;
  all(skew, [3.2, 3.2, 2.2, 1.1, 0, 0], 1e-13, 'inertia'); // moments 0.9, 3.1, 1, and 4.3 = 2.1 + 2.2
  const negative = convert(two(joint('j', 'continuous', 'a', 'b')).replace('ixx="1"', 'ixx="-2"')).mechanism.links[0];
  assert.ok(Math.min(...negative.inertia.slice(0, 3)) >= 0, `${negative.inertia}`);
  all(negative.inertia, [0, 3, 3, 0, 0, 0], 1e-13, 'inertia');
});

test("a point on its joint's axis gets a size", () => {
  const ball = two(joint('j', 'continuous', 'a', 'b')).replaceAll(/i(xx|yy|zz)="1"/g, 'i$1="0"');
  const { mechanism: m, err } = convert(ball);
  all(m.links[0].inertia, [1e-4, 1e-4, 1e-4, 0, 0, 0], 1e-18, 'inertia');
  assert.match(err, /"b" has no inertia about its joint/);
});

function eventsOf(mechanism, seconds, gravity = [0, 0, -9.81]) {
  const file = join(mkdtempSync(join(tmpdir(), 'guideway-import-')), 'scene.json');
  const scene = { format: 'guideway-scene/1', name: 't', gravity, mechanisms: [mechanism] };
  writeFileSync(file, JSON.stringify(scene));
  const r = spawnSync(guideway, ['run', file, '--seconds', `${seconds}`], { timeout: 60000 });
  assert.equal(r.status, 0, String(r.stderr));
  return JSON.parse(r.stdout).events;
}

// A universal joint: where the point is on the first axis, both joints move it the same way or not at all.
test('a point or a rod on a link without a mass gets a size, and swings through singular postures', () => {
  const cross = (i) => `<robot name="r"><link name="a"/><link name="b"/><link name="c">${i}</link>
    ${joint('j', 'continuous', 'a', 'b', '<axis xyz="1 0 0"/>')}${joint('k', 'continuous', 'b', 'c', '<axis xyz="0 1 0"/>')}</robot>`;
  const at = '<origin xyz="0.05 0.02 -0.3"/>';
  const { mechanism: m, err } = convert(cross(inertial(0.5, 0, at)));
  all(m.links[1].inertia, [5e-5, 5e-5, 5e-5, 0, 0, 0], 1e-18, 'inertia');
  assert.match(err, /link "c" has no inertia about an axis and is on "b", which has no mass: it gets a radius/);
  assert.deepEqual(eventsOf(m, 1, [9.81, 0.5, -1]), []);
  const rod = inertial(0.5, 0.01, at).replace('izz="0.01"', 'izz="0"');
  all(convert(cross(rod)).mechanism.links[1].inertia, [0.01005, 0.01005, 5e-5, 0, 0, 0], 1e-15, 'rod');
  const solid = convert(cross(inertial(0.5, 0.01, at)));
  all(solid.mechanism.links[1].inertia, [0.01, 0.01, 0.01, 0, 0, 0], 1e-18, 'solid');
  assert.doesNotMatch(solid.err, /"c"/);
});

// A body that floats on the point moves by itself: the point's own joint turns nothing.
test('a point on its axis that carries a floating body gets the size itself', () => {
  const { mechanism: m, err } = convert(`<robot name="r"><link name="a"/><link name="b">${inertial(1, 0)}</link>
    <link name="c">${inertial(2, 0.1)}</link>${joint('j', 'continuous', 'a', 'b')}
    ${joint('k', 'floating', 'b', 'c', '<origin xyz="0.1 -0.2 0.3" rpy="0.7 1 0.2"/>')}</robot>`);
  all(
    m.links.map((l) => l.inertia[0]),
    [1e-4, 0.1],
    1e-15,
    'moments',
  );
  assert.match(err, /"b" has no inertia about its joint/);
  assert.deepEqual(eventsOf(m, 0.1), []);
});

// A frame of a tool gets a millionth of the mass, which is no inertia for a mass at a point to turn with.
test('a point with frames on it gets a size, a pendulum with them stays a point', () => {
  const point = (at) => inertial(1, 0, `<origin xyz="${at}"/>`);
  const hung = (type, at) =>
    convert(
      `<robot name="r"><link name="a"/><link name="b">${point(at)}</link><link name="c"/><link name="d"/>${joint('j', type, 'a', 'b')}${joint('k', 'continuous', 'b', 'c', '<origin xyz="0.3 0.2 0.1"/>')}${joint('l', 'continuous', 'c', 'd')}</robot>`,
    ).mechanism.links.map((l) => l.inertia[0]);
  all(hung('continuous', '0 0 0'), [1e-4], 1e-12, 'on its axis');
  all(hung('floating', '0 0 0'), [1e-4], 1e-12, 'afloat');
  all(hung('continuous', '0 0 -1'), [0], 1e-12, 'a pendulum');
});

test('what mimics a joint that is not there moves on its own', () => {
  const { mechanism: m, err } = convert(two(joint('j', 'continuous', 'a', 'b', '<mimic joint="k"/>')));
  assert.deepEqual([m.links.length, m.gears], [1, undefined]);
  assert.match(err, /"j" has <mimic> of "k", which is not there/);
});

test('a description of which nothing moves is one body', () => {
  const block = `<robot name="block"><link name="a">${inertial(2, 0.1)}<visual><geometry><box size="0.1 0.2 0.3"/></geometry></visual></link>
    <link name="b">${inertial(1, 0.1)}<collision><geometry><sphere radius="0.1"/></geometry></collision></link>
    ${joint('w', 'fixed', 'a', 'b', '<origin xyz="0 0 3"/>')}</robot>`;
  const { mechanism: o } = convert(block);
  assert.deepEqual([o.id, o.body.mass, o.geometry.type, o.geometry.parts.length], ['block', 3, 'compound', 1]);
  all(o.body.com, [0, 0, 1], 1e-15, 'com');
  all(o.body.inertia, [0.2 + ((2 * 1) / 3) * 9, 0.2 + ((2 * 1) / 3) * 9, 0.2, 0, 0, 0], 1e-14, 'inertia');
  const bare = convert(`<robot name="dot"><link name="a">${inertial(2, 0.2)}</link></robot>`);
  close(bare.mechanism.geometry.radius, 0.5, 1e-12);
  assert.match(bare.err, /note: link "a" has no solid/);
});

test('links without mass that others hang on, or that have a geometry, move', () => {
  const shape = '<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision>';
  const { mechanism: m, err } = convert(`<robot name="r"><link name="a"/><link name="x"/><link name="y">${shape}</link>
    ${joint('jx', 'continuous', 'a', 'x')}${joint('jy', 'continuous', 'x', 'y')}</robot>`);
  close(m.links[1].mass, 1, 1e-12);
  close(m.links[0].mass, 1e-6, 1e-18);
  assert.match(err, /"y" has no mass: it gets that of its geometry.*\n.*"x" has no mass: it gets a millionth/);
});

const refused = [
  ['text that is no XML', 'hello', /line 1: this is not well-formed XML/],
  ['another document', '<svg/>', /<svg> is not a robot description/],
  ['no links', '<robot name="r"/>', /no <link>/],
  ['nothing that moves', '<robot name="r"><link name="a"/></robot>', /no joint of it moves/],
  ['a link without a name', '<robot name="r"><link/></robot>', /line 1: <link> needs the attribute name/],
  [
    'words for numbers',
    two(joint('j', 'revolute', 'a', 'b', '<limit lower="low" upper="1"/>')),
    /<limit lower="low">: 1 finite number is expected/,
  ],
  [
    'two numbers for three',
    two(joint('j', 'continuous', 'a', 'b', '<origin xyz="1 2"/>')),
    /<origin xyz="1 2">: 3 finite numbers are expected/,
  ],
  [
    'numbers beyond all bounds',
    two(joint('j', 'continuous', 'a', 'b', '<origin xyz="1 2 1e999"/>')),
    /<origin xyz="1 2 1e999">/,
  ],
  [
    'numbers that no scene takes',
    two(joint('j', 'continuous', 'a', 'b', '<origin xyz="1 2 1e80"/>')),
    /<origin xyz="1 2 1e80">/,
  ],
  [
    'numbers of base 16',
    two(joint('j', 'continuous', 'a', 'b', '<origin xyz="0x10 0 0"/>')),
    /<origin xyz="0x10 0 0">/,
  ],
  [
    'two joints of one name',
    `<robot name="r"><link name="a"/>${['b', 'c'].map((n) => `<link name="${n}">${inertial(1, 1)}</link>`).join('')}${joint('j', 'continuous', 'a', 'b')}${joint('j', 'continuous', 'b', 'c')}</robot>`,
    /there are two joints "j"/,
  ],
  [
    'friction that drives',
    two(joint('j', 'continuous', 'a', 'b', '<dynamics friction="-1"/>')),
    /<dynamics friction="-1"> of joint "j": must be 0 or more/,
  ],
  [
    'a mass below zero',
    two(joint('j', 'continuous', 'a', 'b')).replace('mass value="1"', 'mass value="-2"'),
    /line 1: <mass value="-2"> of link "b": must be 0 or more \(kg\)/,
  ],
  [
    'a mass below zero on a fixed joint',
    `<robot name="r"><link name="a"/>${links('b', 'c')}${joint('j', 'continuous', 'a', 'b')}${joint('k', 'fixed', 'b', 'c')}</robot>`.replace(
      /<link name="c"><inertial><mass value="[^"]*"/,
      '<link name="c"><inertial><mass value="-1e-3"',
    ),
    /<mass value="-0.001"> of link "c": must be 0 or more \(kg\)/,
  ],
  [
    'a zero axis',
    two(joint('j', 'continuous', 'a', 'b', '<axis xyz="0 0 0"/>')),
    /<axis xyz="0 0 0"> of joint "j": must not be zero/,
  ],
  ['a joint of no known type', two(joint('j', 'ball', 'a', 'b')), /<joint name="j" type="ball">/],
  [
    'what mimics a floating joint',
    `<robot name="r"><link name="a"/>${links('b', 'c')}${joint('j', 'floating', 'a', 'b')}${joint('k', 'continuous', 'a', 'c', '<mimic joint="j"/>')}</robot>`,
    /"k" has <mimic> of a joint with several coordinates/,
  ],
  [
    'a link that is not there',
    two(joint('j', 'continuous', 'a', 'z')),
    /<child link="z"> of joint "j": there is no such link/,
  ],
  ['a loop', two(joint('j', 'continuous', 'a', 'b') + joint('k', 'continuous', 'b', 'a')), /its own ancestor/],
  [
    'two parents',
    two(joint('j', 'continuous', 'a', 'b') + joint('k', 'continuous', 'a', 'b')),
    /child of joint "j" and of "k"/,
  ],
  ['two roots', two(''), /"a" and "b" both hang on no joint/],
  ['macros', '<robot name="r"><xacro:macro name="m"/></robot>', /macros must be expanded/],
  [
    'entities',
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>',
    /document types with entities/,
  ],
  ['depth', `<robot name="r">${'<x>'.repeat(100)}${'</x>'.repeat(100)}</robot>`, /more than 32 elements deep/],
  [
    '257 joints',
    `<robot name="r"><link name="l0"/>${Array.from({ length: 257 }, (_, i) => `<link name="l${i + 1}">${inertial(1, 1)}</link>${joint(`j${i}`, 'continuous', `l${i}`, `l${i + 1}`)}`).join('')}</robot>`,
    /at most 256 joints/,
  ],
];

// Descriptions that other programs read without a word come in, with a note of what was made of it.
test('limits that are none, shapes without a size, no masses at all and a document type', () => {
  const notes = (urdf, ...words) => {
    const r = convert(urdf);
    assert.equal(r.code, 0, r.err);
    for (const word of words) assert.match(r.err, word);
    return r.mechanism;
  };
  const empty = notes(
    two(joint('j', 'revolute', 'a', 'b', '<limit lower="2" upper="1" effort="-1" velocity="-2"/>')),
    /<limit lower="2" upper="1"> of joint "j" is empty: it is not limited/,
    /effort or a velocity below 0: taken as unlimited/,
  );
  const none = notes(two(joint('j', 'revolute', 'a', 'b')), /joint "j" has no <limit>: it is not limited/);
  for (const { links } of [empty, none]) assert.equal(links[0].joint.limits, undefined);
  const shape = (geometry) => `<collision><geometry>${geometry}</geometry></collision>`;
  for (const geometry of ['<box size="0 0 0"/>', '<sphere radius="0"/>', '<cylinder radius="1" length="0"/>'])
    assert.ok(
      !notes(
        `<robot name="r"><link name="a"/><link name="b">${inertial(1, 1)}${shape(geometry)}</link>${joint('j', 'continuous', 'a', 'b')}</robot>`,
        /a geometry of link "b" has a length that is not above 0: left out/,
      ).links[0].geometry,
    );
  const weightless = notes(
    `<?xml version="1.0"?><!DOCTYPE robot><robot name="r"><link name="a"/><link name="b"/><link name="c"/>${joint('j', 'continuous', 'a', 'b')}${joint('k', 'continuous', 'b', 'c')}</robot>`,
    /no link that moves has a mass: each gets 1 kg, as a ball of 0.1 m/,
  );
  assert.deepEqual(
    weightless.links.map((l) => l.mass),
    [1, 1],
  );
});

test('a mesh that is not there is told, one of the package is found', () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'guideway-')), 'urdf');
  const report = () => spawnSync(guideway, ['import', join(folder, 'arm.urdf')], { encoding: 'utf8', timeout: 30000 });
  mkdirSync(folder);
  writeFileSync(join(folder, 'arm.urdf'), arm);
  assert.match(report().stderr, /note: link "upper": there is no mesh package:\/\/arm\/upper.stl here/);
  writeFileSync(join(folder, '..', 'upper.stl'), '');
  assert.equal(report().stderr, '');
});

test('what a posted description differs in is noted in the answer, in one line', async () => {
  const server = await start();
  const post = async (urdf, to = 'mechanisms') => {
    const made = await request(server, 'POST', `/api/v1/${to}`, { urdf });
    assert.equal(made.status, 201, made.text);
    return made.headers['guideway-note'] ?? '';
  };
  const many = (n) =>
    `<robot name="m${n}"><link name="l"/>${Array.from({ length: n }, (_, i) => links(`l${i}`) + joint(`j${i}`, 'revolute', 'l', `l${i}`)).join('')}</robot>`;
  assert.equal(await post(many(1)), 'joint "j0" has no <limit>: it is not limited');
  assert.equal(
    await post(many(2)),
    'joint "j0" has no <limit>: it is not limited; joint "j1" has no <limit>: it is not limited',
  );
  const lots = await post(many(40));
  assert.ok(lots.length < 256, lots);
  const told = lots.match(/has no/g).length;
  assert.ok(told >= 4 && lots.endsWith(`it is not limited; and ${40 - told} more`), lots);
  assert.equal(
    await post('<robot name="bare"><link name="a"><inertial><mass value="2"/></inertial></link></robot>', 'objects'),
    'link "a" has no solid: a sphere of its moments of inertia stands for it',
  );
  assert.equal(await post(arm), '');
});

for (const [what, urdf, message] of refused)
  test(`refused: ${what}`, () => {
    const r = convert(urdf);
    assert.equal(r.code, 2, r.err);
    assert.match(r.err, message);
  });

test('a description is posted, and becomes a mechanism of the scene', async () => {
  const server = await start();
  const post = (body) => request(server, 'POST', '/api/v1/mechanisms', body);
  const made = await post({ id: 'lift', urdf: arm, base: { p: [0, 0, 2] } });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.json.id, 'lift');
  assert.equal(made.json.links.length, 2);
  assert.deepEqual(made.json.base.p, [0, 0, 2]);
  assert.equal((await post({ urdf: arm })).json.id, 'small_arm');
  const wrong = await post({ id: 'x', urdf: '<svg/>' });
  assert.equal(wrong.status, 400);
  assert.match(JSON.stringify(wrong.json), /\/urdf.*not a robot description/);
  const tipless = await post({ id: 'y', urdf: arm, tip: 'nothing' }); // 404 is for addresses
  assert.deepEqual([tipless.status, tipless.json.errors[0].pointer], [400, '/tip'], tipless.text);
  assert.equal((await post({ id: 'y', urdf: arm, links: [] })).status, 400);
  const block = `<robot name="block"><link name="a">${inertial(2, 0.1)}</link></robot>`;
  assert.match((await post({ urdf: block })).json.errors[0].detail, /POST it to \/objects/);
  const whole = await request(server, 'POST', '/api/v1/objects', { urdf: block, base: { p: [0, 0, 3] } });
  assert.deepEqual(
    [whole.status, whole.json.id, whole.json.body.mass, whole.json.pose.p],
    [201, 'block', 2, [0, 0, 3]],
  );
  assert.match(
    (await request(server, 'POST', '/api/v1/objects', { urdf: arm })).json.errors[0].detail,
    /POST it to \/mechanisms/,
  );
  const geared = `<robot name="g"><link name="a"/>${links('b', 'c')}${joint('j', 'continuous', 'a', 'b')}${joint('k', 'continuous', 'b', 'c', '<mimic joint="j"/>')}</robot>`;
  assert.equal((await post({ urdf: geared })).status, 201);
  assert.deepEqual((await request(server, 'GET', '/api/v1/joints')).json, [
    { id: 'j1', type: 'gear', joints: ['g.1', 'g.0'], ratio: 1, enabled: true },
  ]);
  await server.stop();
});
