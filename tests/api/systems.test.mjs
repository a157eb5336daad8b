// Systems of bodies through the command line and REST, against published figures and closed forms.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  about,
  add,
  apart,
  closed,
  command,
  cross,
  dot,
  far,
  folder,
  frame,
  G,
  ground,
  integrate,
  revolute,
  rod,
  rotate,
  run,
  sized,
  table,
  wrap,
} from './headless.mjs';
import { box, events, expect, near, now, serve, run as set } from './running.mjs';
import { guideway, sleep, until } from './server.mjs';

serve({ watched: false });

test('a joint whose limits leave no play is a fixed one, and says what it bears', () => {
  const knee = (more) => ({
    gravity: [0, -G, 0],
    objects: [rod('a', 1, [0.5, 0, 0], 0), rod('b', 1, [1.5, 0, 0], 0), rod('c', 1, [2.5, 0, 0], 0)],
    joints: [
      revolute('hip', frame('a', [-0.5, 0, 0]), frame('world')),
      revolute('knee', frame('b', [-0.5, 0, 0]), frame('a', [0.5, 0, 0]), { limits: [[0.3, 0.3]], position: [0.3] }),
      revolute('foot', frame('c', [-0.5, 0, 0]), frame('b', [0.5, 0, 0])),
    ],
    ...more,
  });
  const locked = run(knee(), 3);
  const weld = knee();
  weld.joints[1] = {
    id: 'knee',
    type: 'fixed',
    a: frame('b', [-0.5, 0, 0]),
    b: frame('a', [0.5, 0, 0], about([0, 0, 1], 0.3)),
  };
  const fixed = run(weld, 3);
  for (const r of [locked, fixed]) {
    closed(r);
    assert.equal(r.summary.mobility, 2);
  }
  for (const id of ['a', 'b', 'c']) assert.ok(far(locked.p(-1, id), fixed.p(-1, id)) < 1e-9, id);
  near(locked.get(-1, 'knee.q0'), 0.3, 1e-13);
  // two of a loop, one of them off by what a file rounds
  const loop = linkage('joints');
  const rounded = Number(angles(1).rocker.toFixed(4));
  loop.joints[0].limits = [[1, 1]];
  assert.equal(run(loop, 0.01).summary.mobility, 0);
  loop.joints[2].limits = [[rounded, rounded]];
  assert.ok(run(loop, 0.01).summary.constraint_residual_max < 1e-12);
});

/* ---- loops ----------------------------------------------------------------------------------- */

// IFToMM's benchmark A02: 2 N + 1 bars of 1 m and 1 kg, upright, their heads moving at 1 m/s.
function fourBars(n) {
  const objects = [{ ...ground, geometry: { type: 'box', size: [0.1, 0.1, 0.1] } }],
    joints = [];
  for (let i = 0; i <= n; i++) {
    objects.push(rod(`v${i}`, 1, [i, 0.5, 0], Math.PI / 2, { velocity: { v: [0.5, 0, 0], w: [0, 0, -1] } }));
    joints.push(revolute(`g${i}`, frame(`v${i}`, [-0.5, 0, 0]), frame('world', [i, 0, 0])));
  }
  for (let i = 0; i < n; i++) {
    objects.push(rod(`h${i}`, 1, [i + 0.5, 1, 0], 0, { velocity: { v: [1, 0, 0], w: [0, 0, 0] } }));
    joints.push(revolute(`a${i}`, frame(`h${i}`, [-0.5, 0, 0]), frame(`v${i}`, [0.5, 0, 0])));
    joints.push(revolute(`b${i}`, frame(`h${i}`, [0.5, 0, 0]), frame(`v${i + 1}`, [0.5, 0, 0])));
  }
  return { gravity: [0, -G, 0], objects, joints };
}

test('the N four-bar of the IFToMM benchmarks goes where it is published to go', () => {
  const r = run(fourBars(2), 20.001);
  const head = (k) => add(r.p(k, 'v0'), rotate(r.q(k, 'v0'), [0.5, 0, 0]));
  for (const [k, x, y] of [
    [1000, -0.19502030194944, -0.98079920566217],
    [5000, -0.81131046100513, -0.58461554534895],
    [10000, 0.32845811154084, 0.94451853817859],
    [20000, 0.83974657430695, 0.54297853635272],
  ])
    assert.ok(far(head(k), [x, y, 0]) < 1e-9, `${head(k)}`);
  closed(r);
  assert.equal(r.summary.mobility, 1);
  assert.deepEqual(r.summary.redundant, []);
  const again = run(fourBars(2), 1);
  assert.equal(again.text, `${r.text.split('\n').slice(0, 1001).join('\n')}\n`, 'the same bits');
});

test('forty loops in a row do as well', () => {
  const r = run(fourBars(40), 1.001);
  const n = 40,
    rate = (G * ((n + 1) / 2 + n)) / ((n + 1) / 3 + n);
  const [angle] = integrate(([a, w]) => [w, -rate * Math.cos(a)], [Math.PI / 2, -1], 1e-4, 10000);
  for (const i of [0, 20, 40])
    assert.ok(far(r.p(1000, `v${i}`), [i + 0.5 * Math.cos(angle), 0.5 * Math.sin(angle), 0]) < 1e-9);
  closed(r, 1e-6);
  assert.equal(r.summary.mobility, 1);
});

// Crank of 0.1 m, coupler of 0.3 m, rocker of 0.2 m, pins 0.3 m apart; the crank starts at an angle.
const angles = (start) => {
  const crank = [0.1 * Math.cos(start), 0.1 * Math.sin(start)],
    d = [crank[0] - 0.3, crank[1]],
    l = Math.hypot(...d);
  const rocker = Math.atan2(d[1], d[0]) - Math.acos((0.04 + l * l - 0.09) / (0.4 * l));
  const end = [0.3 + 0.2 * Math.cos(rocker), 0.2 * Math.sin(rocker)];
  return { crank, rocker, coupler: Math.atan2(end[1] - crank[1], end[0] - crank[0]) };
};
function linkage(way) {
  const { crank, rocker, coupler } = angles(1),
    turn = (a) => about([0, 0, 1], a);
  const bar = (id, length, p, angle) => {
    // its frame at the near end
    const inertia = [1e-5, length ** 2 / 3 + 1e-5, length ** 2 / 3 + 1e-5, 0, 0, 0].map((x, i) =>
      i === 0 || i > 2 ? x : x - length ** 2 / 4,
    );
    return {
      id,
      geometry: { type: 'box', size: [length, 0.01, 0.01] },
      free: true,
      pose: { p: [...p, 0], q: turn(angle) },
      body: { mass: 1, com: [length / 2, 0, 0], inertia },
    };
  };
  const bars = [
    bar('crank', 0.1, [0, 0], 1),
    bar('coupler', 0.3, crank, coupler),
    bar('rocker', 0.2, [0.3, 0], rocker),
  ];
  const joints = [
    revolute('j1', frame('crank'), frame('world')),
    revolute('j2', frame('coupler'), frame('crank', [0.1, 0, 0])),
    revolute('j3', frame('rocker'), frame('world', [0.3, 0, 0])),
    revolute('j4', frame('coupler', [0.3, 0, 0]), frame('rocker', [0.2, 0, 0])),
  ];
  const scene = { gravity: [0, -G, 0], objects: [{ ...ground, pose: { p: [0, 0, 0] } }, ...bars] };
  if (way === 'joints') return { ...scene, joints };
  const pin = (id, x) => ({ id, line: { point: [x, 0, 0], direction: [0, 0, 1] } });
  const level = (id) => ({ id: `${id}/level`, plane: { point: [0, 0, 0], normal: [0, 0, 1] } });
  if (way === 'constraints') {
    const hinges = [
      ['crank/near', 'ground/near'],
      ['coupler/near', 'crank/far'],
      ['rocker/near', 'ground/far'],
      ['coupler/far', 'rocker/far'],
    ];
    return {
      ...scene,
      features: [
        pin('ground/near', 0),
        pin('ground/far', 0.3),
        pin('crank/near', 0),
        pin('crank/far', 0.1),
        pin('coupler/near', 0),
        pin('coupler/far', 0.3),
        pin('rocker/near', 0),
        pin('rocker/far', 0.2),
        ...['ground', 'crank', 'coupler', 'rocker'].map(level),
      ],
      constraints: hinges.flatMap(([a, b], i) => [
        { id: `h${i}`, type: 'coincident', a, b, sense: 'same' },
        {
          id: `l${i}`,
          type: 'coincident',
          a: `${a.split('/')[0]}/level`,
          b: `${b.split('/')[0]}/level`,
          sense: 'same',
        },
      ]),
    };
  }
  const link = (x, position, { body: { mass, com, inertia } }) => ({
    joint: { type: 'revolute', origin: { p: [x, 0, 0] }, axis: [0, 0, 1], position },
    mass,
    com,
    inertia,
  });
  return {
    ...scene,
    objects: [scene.objects[0], bars[2]],
    mechanisms: [{ id: 'arm', links: [link(0, 1, bars[0]), link(0.1, wrap(coupler - 1), bars[1])] }],
    joints: [joints[2], revolute('j4', frame('arm.1', [0.3, 0, 0]), frame('rocker', [0.2, 0, 0]))],
  };
}

test('a four-bar moves the same by joints, by constraints and by a mechanism with a closing joint', () => {
  const [joints, constraints, mechanism] = ['joints', 'constraints', 'mechanism'].map((way) => run(linkage(way), 5));
  for (const r of [joints, constraints, mechanism]) {
    closed(r);
    assert.equal(r.summary.mobility, 1);
  }
  for (let k = 0; k < joints.count; k += 10) {
    for (const id of ['crank', 'coupler', 'rocker'])
      assert.ok(
        far(joints.p(k, id), constraints.p(k, id)) < 1e-9 && apart(joints.q(k, id), constraints.q(k, id)) < 1e-9,
      );
    assert.ok(
      far(joints.p(k, 'coupler'), mechanism.p(k, 'arm.1')) < 1e-9 &&
        far(joints.p(k, 'rocker'), mechanism.p(k, 'rocker')) < 1e-9,
    );
    near(
      wrap(
        joints.get(k, 'j1.q0') - (mechanism.get(k, 'arm.0.q0') - mechanism.get(0, 'arm.0.q0')) - joints.get(0, 'j1.q0'),
      ),
      0,
      1e-9,
    );
  }
});

test('every joint of a loop may have forces, limits or a gear', () => {
  const free = run(linkage('joints'), 2),
    all = linkage('joints'),
    loose = structuredClone(all),
    stiff = structuredClone(all),
    geared = structuredClone(all);
  loose.joints.forEach((j) => (j.limits = [[-100, 100]]));
  const limited = run(loose, 2);
  closed(limited);
  assert.equal(limited.summary.mobility, 1);
  for (let k = 0; k < free.count; k += 10)
    for (const id of ['crank', 'coupler', 'rocker'])
      assert.ok(far(free.p(k, id), limited.p(k, id)) < 1e-8 && apart(free.q(k, id), limited.q(k, id)) < 1e-8);
  for (const id of ['j1', 'j2', 'j3', 'j4']) near(limited.get(1500, `${id}.q0`), free.get(1500, `${id}.q0`), 1e-7);
  // what dampers take is what their joints' rates say
  stiff.joints.forEach((j, i) => (j.damping = [0.01 * (i + 1)]));
  const damped = run(stiff, 2.001),
    { energy } = damped.summary;
  closed(damped);
  const power = (k) => [1, 2, 3, 4].reduce((sum, i) => sum + 0.01 * i * damped.get(k, `j${i}.v0`) ** 2, 0);
  let taken = 0; // Simpson's rule
  for (let k = 0; k + 2 <= 2000; k += 2) taken += (1e-3 / 3) * (power(k) + 4 * power(k + 1) + power(k + 2));
  near(taken, energy.dissipated, 1e-6 * energy.dissipated);
  // a gear on the joint that closes the loop, and on all others: nothing can move
  geared.joints.push(
    { id: 'g1', type: 'gear', joints: ['j1', 'j2'], ratio: 1 },
    { id: 'g2', type: 'gear', joints: ['j3', 'j4'], ratio: 3 },
  );
  const still = run(geared, 0.5);
  closed(still);
  assert.equal(still.summary.mobility, 0);
  near(still.get(499, 'j4.q0'), still.get(0, 'j4.q0'), 1e-9);
});

test('a slider that friction stops accounts for all its energy', () => {
  // mass (kg), speed (m/s), friction (N): each comes to rest within a step
  const slides = [
    [0.09074346669357683, -1.2725573219235948, 3.7031088442079683],
    [2.011329675566127, -1.4376534250650683, 3.604608676950397],
    [0.5508545383383612, -1.290534121583915, 1.239536103971997],
    [0.03220484591116534, -1.6346339988006027, 1.051535410218957],
    [1, 0.6, 1], // all but 1e-6 m/s is gone at the end of a step
  ];
  for (const [mass, speed, friction] of slides) {
    const b = frame('world', [0.05, 0, 0]);
    const { summary } = run(
      {
        gravity: [0, 0, 0],
        objects: [sized('car', [0.05, 0.05, 0.05], { pose: { p: [0.1, 0, 0] }, free: true, body: { mass } })],
        joints: [
          { id: 'j', type: 'prismatic', a: frame('car', [-0.05, 0, 0]), b, velocity: [speed], friction: [friction] },
        ],
      },
      1,
    );
    near(summary.energy.dissipated, (mass * speed ** 2) / 2, 1e-8);
    assert.deepEqual(summary.events, []);
  }
});

test('a joint beside one of its own kind takes nothing away', () => {
  const turn = about([0.6, 0, 0.8], 0.6),
    freedoms = { revolute: 1, prismatic: 1, cylindrical: 2, screw: 1, spherical: 3, universal: 2, planar: 3, fixed: 0 };
  for (const [type, dof] of Object.entries(freedoms)) {
    const first = {
      id: 'first',
      type,
      a: frame('a', [0.05, 0.02, 0], turn),
      b: frame('world', [0.1, 0.2, 0.3], turn),
      ...(type === 'screw' && { pitch: 0.05 }),
      ...(dof && { velocity: [0.3, 0.2, 0.5].slice(0, dof) }),
    };
    const { velocity, ...second } = { ...first, id: 'second', a: frame('b', [-0.25, 0.02, 0], turn) };
    const r = run(
      {
        gravity: [0, 1, -G],
        objects: [
          sized('a', [0.2, 0.1, 0.05], { free: true, body: { mass: 1 } }),
          sized('b', [0.2, 0.1, 0.05], { pose: { p: [0.3, 0, 0] }, body: { mass: 2 } }),
        ],
        joints: [first, { id: 'weld', type: 'fixed', a: frame('b'), b: frame('a', [0.3, 0, 0]) }, second],
      },
      0.5,
    );
    assert.equal(r.summary.mobility, dof, type);
    assert.deepEqual(r.summary.redundant, ['second'], type);
    closed(r);
    for (let i = 0; i < dof; i++) {
      near(r.get(499, `first.q${i}`), r.get(499, `second.q${i}`), 1e-12);
      assert.ok(Math.abs(r.get(499, `first.q${i}`) - r.get(0, `first.q${i}`)) > 0.01, `${type} moves`);
    }
  }
});

test('a tool holds a free body, alone and in a system, as one that is not free', () => {
  const hand = {
    tool: { object: 'crank', device: 'sim' },
    devices: [
      {
        id: 'sim',
        driver: 'sim',
        operator: { type: 'wrench', samples: [{ t: 0, force: [1, 2, 0], torque: [0, 0, 0.01] }] },
      },
    ],
  };
  for (const scene of [linkage('joints'), { ...linkage('joints'), joints: [], gravity: [0, 0, 0] }]) {
    const held = { ...scene, objects: scene.objects.map((o) => (o.id === 'crank' ? { ...o, free: false } : o)) };
    const [free, given] = [run({ ...scene, ...hand }, 0.5), run({ ...held, ...hand }, 0.5)];
    assert.equal(free.text, given.text);
    assert.ok(Math.abs(free.get(499, 'crank.wz')) > 1e-3);
  }
});

test('friction where nothing can move', () => {
  const pin = (id, object, p, more) => revolute(id, frame(object, [0, 0, 0]), frame('world', p), more);
  const held = run(
    {
      gravity: [0, 0, -G],
      objects: [sized('a', [0.2, 0.1, 0.1], { free: true, body: { mass: 2 } })],
      joints: [
        {
          ...pin('turn', 'a', [0, 0, 0], { friction: [0.1], limits: [[-1, 1]], damping: [0.1] }),
          a: frame('a', [0, 0, 0], about([0, 1, 0], 1)),
          b: frame('world', [0, 0, 0], about([0, 1, 0], 1)),
        },
        { id: 'ball', type: 'spherical', a: frame('a', [0.1, 0, 0]), b: frame('world', [0.1, 0, 0]) },
      ],
    },
    0.1,
  );
  assert.equal(held.summary.mobility, 0);
  near(held.summary.energy.final, held.summary.energy.initial, 1e-12);
});

test('joints at rest stay where their friction can hold them', () => {
  const lean = 1,
    [c, s] = [Math.cos(lean), Math.sin(lean)];
  // a parallelogram of bars of 1 kg, with the weight of all as a torque on one crank
  const torque = 2 * G * c;
  const loop = (share) => ({
    gravity: [0, -G, 0],
    objects: [
      rod('a', 1, [c / 2, s / 2, 0], lean),
      rod('b', 1, [2 + c / 2, s / 2, 0], lean),
      rod('c', 2, [1 + c, s, 0], 0),
    ],
    joints: [
      revolute('j0', frame('a', [-0.5, 0, 0]), frame('world'), { friction: [share[0] * torque] }),
      revolute('j1', frame('b', [-0.5, 0, 0]), frame('world', [2, 0, 0]), { friction: [share[1] * torque] }),
      revolute('j2', frame('c', [-1, 0, 0]), frame('a', [0.5, 0, 0]), { friction: [share[2] * torque] }),
      revolute('j3', frame('c', [1, 0, 0]), frame('b', [0.5, 0, 0]), { friction: [share[3] * torque] }),
    ],
  });
  const arm = (bearing) => ({
    gravity: [0, -G, 0],
    objects: [rod('a', 1, [0.5, 0, 0], 0)],
    joints: [{ id: 'j', ...bearing, a: frame('a', [-0.5, 0, 0]), b: frame('world') }],
  });
  const most = (0.5 * G) / 0.98;
  for (const [scene, id] of [
    [loop([0.51, 0.51, 0.51, 0.51]), 'c'],
    [loop([0, 0, 0, 1.53]), 'c'],
    [loop([0.1, 0.7, 0.05, 0.7]), 'c'],
    [arm({ type: 'revolute', friction: [most] }), 'a'],
    [arm({ type: 'spherical', friction: [most, most, most] }), 'a'],
  ]) {
    const r = run(scene, 1);
    assert.ok(far(r.p(-1, id), r.p(0, id)) < 1e-12, `${r.p(-1, id)} from ${r.p(0, id)}`);
    assert.ok(r.summary.energy.dissipated < 1e-7);
  }
  const slides = run(loop([0.2, 0.2, 0.2, 0.2]), 0.1);
  assert.ok(slides.p(-1, 'c')[1] < slides.p(0, 'c')[1] - 1e-3);
});

test('an edit of friction does not move what still holds', async () => {
  const most = 2 * G; // of the weights about the shoulder
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'held',
    gravity: [0, -G, 0],
    objects: [rod('a', 1, [0.5, 0, 0], 0), rod('b', 1, [1.5, 0, 0], 0)],
    joints: [
      revolute('shoulder', frame('a', [-0.5, 0, 0]), frame('world'), { friction: [1.02 * most] }),
      revolute('elbow', frame('b', [-0.5, 0, 0]), frame('a', [0.5, 0, 0]), {
        motor: { stiffness: 1e5, damping: 1e3, max: most },
      }),
    ],
  });
  await set('paused');
  const after = async (ticks) => {
    const to = (await now()).tick + ticks;
    await expect(200, 'POST', '/simulation/step', { ticks });
    await until('it has stepped', async () => (await now()).tick >= to);
    return (await now()).bodies.find((b) => b.object === 'b').pose.p;
  };
  const before = await after(2000);
  for (const change of [{ friction: [4 * most] }, { friction: [1.01 * most] }]) {
    await expect(200, 'PATCH', '/joints/shoulder', change);
    assert.ok(
      far(await after(200), before) < 1e-8,
      `${JSON.stringify(change)} moves it from ${before} to ${await now().then((s) => s.bodies[1].pose.p)}`,
    );
  }
  await expect(200, 'PATCH', '/joints/elbow', { motor: null, friction: [0.26 * most] });
  assert.ok(far(await after(200), before) < 1e-4, 'friction takes over from the motor');
});

// Each coordinate is a mass on its spring, x = target (1 - (1 + w t) e^(-w t)), and so it is where the two
// coordinates' motors belong to joints that close a loop.
test('motors drive every coordinate of a joint, in trees and in loops', () => {
  const mass = 2,
    inertia = 0.02,
    rates = { m: 8, rad: 20 };
  const servo = (unit, target) => {
    const of = unit === 'm' ? mass : inertia;
    return { target, stiffness: of * rates[unit] ** 2, damping: 2 * of * rates[unit] };
  };
  const object = {
    id: 'a',
    geometry: { type: 'sphere', radius: 0.1 },
    body: { mass, inertia: [inertia, inertia, inertia, 0, 0, 0] },
    free: true,
  };
  const joint = (id, type, motor) => ({ id, type, a: { object: 'a' }, b: { object: 'world' }, motor });
  for (const [joints, units, targets] of [
    [[joint('j', 'planar', [servo('m', 0.3), servo('m', -0.2), servo('rad', 2)])], 'm m rad', [0.3, -0.2, 2]],
    [[joint('j', 'planar', [null, null, servo('rad', 2)])], 'm m rad', [0, 0, 2]],
    [[joint('j', 'cylindrical', [servo('m', 0.3), servo('rad', -1)])], 'm rad', [0.3, -1]],
    [
      [
        joint(
          'j',
          'spherical',
          [0.6, 0, -0.8].map((x) => servo('rad', x)),
        ),
      ],
      'rad rad rad',
      [0.6, 0, -0.8],
    ],
    [
      [joint('j', 'cylindrical', servo('m', 0.3)), joint('k', 'cylindrical', [null, servo('rad', -1)])],
      'm rad',
      [0.3, -1],
    ],
    [
      [
        joint(
          'j',
          'spherical',
          [0.6, 0, 0].map((x) => servo('rad', x)),
        ),
        joint('k', 'revolute', undefined),
      ].map((j) => ({
        ...j,
        b: {
          object: 'world',
          at: { p: [0, 0, 0], q: j.id === 'k' ? [Math.SQRT1_2, 0, Math.SQRT1_2, 0] : [1, 0, 0, 0] },
        },
        a: { object: 'a', at: { p: [0, 0, 0], q: j.id === 'k' ? [Math.SQRT1_2, 0, Math.SQRT1_2, 0] : [1, 0, 0, 0] } },
      })),
      'rad rad rad',
      [0.6, 0, 0],
    ],
  ]) {
    const r = run({ objects: [object], joints }, 0.501);
    for (const [i, unit] of units.split(' ').entries()) {
      const wt = rates[unit] * 0.5;
      const moved = targets[i] * (1 - (1 + wt) * Math.exp(-wt));
      near(r.get(500, `j.q${i}`), moved, 1e-7);
    }
    const e = r.summary.energy;
    near(e.final, e.initial + e.motors - e.dissipated, 1e-9);
  }
});

test('a slider-crank follows its equation of motion', () => {
  const a = 0.2,
    l = 0.5,
    start = 0.7,
    slope = -Math.asin((a / l) * Math.sin(start));
  const end = a * Math.cos(start) + l * Math.cos(slope);
  const scene = {
    gravity: [0, -G, 0],
    objects: [
      rod('crank', a, [(a / 2) * Math.cos(start), (a / 2) * Math.sin(start), 0], start),
      rod('rod', l, [(a * Math.cos(start) + end) / 2, (a / 2) * Math.sin(start), 0], slope),
      sized('slider', [0.1, 0.1, 0.1], { pose: { p: [end, 0, 0] }, body: { mass: 2 } }),
    ],
    joints: [
      revolute('pivot', frame('crank', [-a / 2, 0, 0]), frame('world'), { position: [start], velocity: [3] }),
      revolute('elbow', frame('rod', [-l / 2, 0, 0]), frame('crank', [a / 2, 0, 0])),
      revolute('wrist', frame('slider'), frame('rod', [l / 2, 0, 0])),
      {
        id: 'rail',
        type: 'prismatic',
        a: frame('slider', [0, 0, 0], about([0, 1, 0], Math.PI / 2)),
        b: frame('world', [0, 0, 0], about([0, 1, 0], Math.PI / 2)),
      },
    ],
  };
  const r = run(scene, 2.001);
  // one coordinate: M(q) q'' + M'(q) q'^2 / 2 + V'(q) = 0
  const mass = (q) => {
    const p = -Math.asin((a / l) * Math.sin(q)),
      turn = (-a * Math.cos(q)) / (l * Math.cos(p));
    const x = -a * Math.sin(q) - (l / 2) * Math.sin(p) * turn,
      y = a * Math.cos(q) + (l / 2) * Math.cos(p) * turn;
    const slide = -a * Math.sin(q) - l * Math.sin(p) * turn;
    return (a * a) / 3 + x * x + y * y + ((l * l) / 12) * turn * turn + 2 * slide * slide;
  };
  // the rod's middle is at half the crank's head
  const weight = (q) => G * ((a / 2) * Math.cos(q) + (a / 2) * Math.cos(q));
  const slopeOf = (q, h = 1e-4) => (8 * (mass(q + h) - mass(q - h)) - (mass(q + 2 * h) - mass(q - 2 * h))) / (12 * h);
  const [q, w] = integrate(([q, w]) => [w, -((slopeOf(q) * w * w) / 2 + weight(q)) / mass(q)], [start, 3], 2e-4, 10000);
  near(r.get(2000, 'pivot.q0'), q, 1e-8);
  near(r.get(2000, 'pivot.v0'), w, 1e-7);
  near(r.p(2000, 'slider')[0], a * Math.cos(q) + Math.sqrt(l * l - (a * Math.sin(q)) ** 2), 1e-8);
  near(r.get(2000, 'rail.q0'), r.p(2000, 'slider')[0], 1e-12);
  closed(r);
  assert.equal(r.summary.mobility, 1);
});

/* ---- joints ---------------------------------------------------------------------------------- */

test('a double pendulum follows its equations of motion', () => {
  const [one, two] = [0.5, 1.2]; // from straight down
  const head = ([x, y], t, s) => [x + s * Math.sin(t), y - s * Math.cos(t), 0];
  const knee = head([0, 0], one, 1);
  const r = run(
    {
      gravity: [0, -G, 0],
      objects: [
        rod('a', 1, head([0, 0], one, 0.5), one - Math.PI / 2),
        rod('b', 1, head(knee, two, 0.5), two - Math.PI / 2),
      ],
      joints: [
        revolute('hip', frame('a', [-0.5, 0, 0]), frame('world')),
        revolute('knee', frame('b', [-0.5, 0, 0]), frame('a', [0.5, 0, 0])),
      ],
    },
    3.001,
  );
  const motion = ([s, t, v, w]) => {
    const c = Math.cos(s - t) / 2,
      d = Math.sin(s - t) / 2;
    const f = -d * w * w - 1.5 * G * Math.sin(s),
      g = d * v * v - (G / 2) * Math.sin(t),
      det = 4 / 9 - c * c;
    return [v, w, (f / 3 - c * g) / det, ((4 / 3) * g - c * f) / det];
  };
  const [s, t] = integrate(motion, [one, two, 0, 0], 1e-4, 30000);
  near(wrap(r.get(3000, 'hip.q0') - (s - Math.PI / 2)), 0, 1e-7);
  near(wrap(r.get(3000, 'knee.q0') - (t - s)), 0, 1e-7);
  closed(r);
  assert.equal(r.summary.mobility, 2);
});

test('a nut goes down its screw at g m / (m + I / p^2)', () => {
  const p = 0.02,
    inertia = (2 * 0.1 ** 2) / 2;
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        { id: 'nut', geometry: { type: 'cylinder', radius: 0.1, height: 0.05 }, free: true, body: { mass: 2 } },
      ],
      joints: [{ id: 'thread', type: 'screw', pitch: p, a: frame('nut'), b: frame('world') }],
    },
    2.001,
  );
  const down = ((G * 2) / (2 + inertia / p ** 2)) * 2; // m/s after 2 s
  near(r.v(2000, 'nut')[2], -down, 1e-9);
  near(r.p(2000, 'nut')[2], -down, 1e-9);
  near(r.get(2000, 'thread.q0'), -down / p, 1e-7); // turns count on
  closed(r);
});

test('a nut begins on its screw after the whole turns that its slide has, or where a feature has it', () => {
  const pitch = 0.05,
    turn = 0.1 + 4 * Math.PI,
    z = [Math.cos(0.05), 0, 0, Math.sin(0.05)]; // 0.1 rad about z
  const nut = (p) => ({
    id: 'nut',
    geometry: { type: 'cylinder', radius: 0.1, height: 0.05 },
    free: true,
    body: { mass: 2 },
    pose: { p: [0, 0, p], q: z },
  });
  const thread = { id: 'thread', type: 'screw', pitch, a: frame('nut'), b: frame('world') };
  const begins = (objects, joints, at, q) => {
    const r = run({ gravity: [0, 0, -G], objects, joints }, 0.5);
    near(r.p(0, 'nut')[2], at, 1e-12);
    near(r.get(0, 'thread.q0'), q, 1e-12);
    closed(r);
    return r;
  };
  begins([nut(pitch * turn)], [thread], pitch * turn, turn);
  begins([nut(pitch * turn + 0.01)], [thread], pitch * turn, turn); // the nearest place
  const r = begins([nut(pitch * turn)], [{ ...thread, limits: [[turn - 1, turn + 1]] }], pitch * turn, turn);
  near(r.get(499, 'thread.q0'), turn - 1, 1e-9);
  const bolt = { id: 'bolt', geometry: { type: 'cylinder', radius: 0.02, height: 1 }, fixed: true };
  begins([nut(0.4), bolt], [{ ...thread, a: 'nut/axis', b: 'bolt/axis' }], 0.4, 0);
});

test('a Hooke joint turns its shafts by tan(out) = tan(in) cos(bend)', () => {
  const bend = 0.6,
    tilt = about([1, 0, 0], bend);
  const shaft = (id, q) => sized(id, [0.1, 0.1, 0.5], { pose: { p: [0, 0, 0], q }, body: { mass: 1 } });
  const r = run(
    {
      objects: [shaft('in', [1, 0, 0, 0]), shaft('out', tilt)],
      joints: [
        revolute('i', frame('in'), frame('world'), { velocity: [4] }),
        revolute('o', frame('out'), frame('world', [0, 0, 0], tilt)),
        { id: 'cross', type: 'universal', a: frame('in'), b: frame('out') },
      ],
    },
    3,
  );
  for (let k = 0; k < r.count; k += 5) {
    const turned = r.get(k, 'i.q0'),
      out = Math.atan2(Math.sin(turned) * Math.cos(bend), Math.cos(turned));
    near(wrap(r.get(k, 'o.q0') - out), 0, 1e-9);
  }
  assert.ok(r.get(-1, 'i.q0') > 2 * Math.PI, 'it went round');
  closed(r);
  assert.equal(r.summary.mobility, 1);
});

test('a gear train carries the inertia of its last wheel to the motor of the first', () => {
  const wheel = (id, x, mass) => ({
    id,
    geometry: { type: 'cylinder', radius: 0.1, height: 0.02 },
    pose: { p: [x, 0, 0] },
    free: true,
    body: { mass },
  });
  const turns = (id, of, x, more) => revolute(id, frame(of), frame('world', [x, 0, 0]), more);
  const r = run(
    {
      objects: [wheel('a', 0, 1), wheel('b', 0.3, 2), wheel('c', 0.6, 3)],
      joints: [
        turns('ja', 'a', 0, { motor: { torque: 0.05 } }),
        turns('jb', 'b', 0.3),
        turns('jc', 'c', 0.6),
        { id: 'g1', type: 'gear', joints: ['ja', 'jb'], ratio: -2 },
        { id: 'g2', type: 'gear', joints: ['jb', 'jc'], ratio: -1.5 },
      ],
    },
    1.001,
  );
  const inertia = (0.1 ** 2 / 2) * (1 + 2 / 4 + 3 / 9);
  near(r.get(1000, 'ja.v0'), 0.05 / inertia, 1e-8);
  near(r.get(1000, 'jb.v0'), -0.05 / inertia / 2, 1e-8);
  near(r.get(1000, 'jc.q0'), 0.05 / inertia / 2 / 3, 1e-8);
  near(r.summary.energy.motors, 0.05 * r.get(1000, 'ja.q0'), 1e-2); // one tick more
  closed(r);
  assert.equal(r.summary.mobility, 1);
});

test('a load that sticks to a light tray swings with it and stays on it', () => {
  const speed = 0.15,
    stiffness = 200;
  for (const [load, tray, surface] of [
    [5, 1, 20000],
    [5, 1, 1e8],
    [2, 1, 1e8],
    [1, 0.2, 20000],
    [1, 0.2, 1e8],
  ]) {
    const r = run(
      {
        gravity: [0, 0, -G],
        contact: { enabled: true, friction: 'stick' },
        materials: [{ id: 'rough', friction: 1, stiffness: surface }],
        objects: [
          sized('tray', [0.5, 0.3, 0.02], { body: { mass: tray }, material: 'rough' }),
          sized('load', [0.1, 0.1, 0.05], {
            pose: { p: [0, 0, 0.035], q: [1, 0, 0, 0] },
            body: { mass: load },
            velocity: { v: [speed, 0, 0], w: [0, 0, 0] },
            material: 'rough',
          }),
        ],
        joints: [
          {
            id: 'rail',
            type: 'prismatic',
            a: frame('tray', [0, 0, 0], about([0, 1, 0], Math.PI / 2)),
            b: frame('world', [0, 0, 0], about([0, 1, 0], Math.PI / 2)),
            velocity: [speed],
            spring: { stiffness: [stiffness] },
          },
        ],
      },
      2,
    );
    const rate = Math.sqrt(stiffness / (load + tray));
    let off = 0,
      sunk = 0;
    for (let k = 0; k < r.count; k++) {
      const [x, , z] = r.p(k, 'load');
      off = Math.max(off, Math.abs(x - (speed / rate) * Math.sin((rate * k) / 1000)));
      sunk = Math.max(sunk, 0.035 - z);
    }
    const said = `${load} kg on ${tray} kg: ${off} m off, ${sunk} m deep`;
    assert.ok(off < 1e-3 && sunk < (surface > 1e5 ? 1e-4 : 2.2e-3), said);
  }
});

test('two bodies swing on a spring with the frequency of their reduced mass, and its damping is told', () => {
  const body = (id, x, mass) => sized(id, [0.1, 0.1, 0.1], { pose: { p: [x, 0, 0] }, body: { mass } });
  const scene = (damping) => ({
    objects: [body('a', 0, 1), body('b', 0.6, 3)],
    springs: [
      {
        id: 's',
        a: { object: 'a', p: [0, 0, 0] },
        b: { object: 'b', p: [0, 0, 0] },
        stiffness: 75,
        damping,
        length: 0.5,
      },
    ],
  });
  for (const damping of [0, 1.5]) {
    const r = run(scene(damping), 2.001),
      half = damping / 0.75 / 2,
      w = Math.sqrt(100 - half * half);
    for (const k of [500, 1000, 2000]) {
      const t = k / 1000,
        x = 0.1 * Math.exp(-half * t) * (Math.cos(w * t) + (half / w) * Math.sin(w * t));
      near(r.p(k, 'b')[0] - r.p(k, 'a')[0] - 0.5, x, 1e-8);
    }
    near(r.v(2000, 'a')[0] + 3 * r.v(2000, 'b')[0], 0, 1e-12);
    assert.equal(r.summary.energy.dissipated > 0.1, damping > 0);
    closed(r);
  }
});

/* ---- what rolls and slides ------------------------------------------------------------------- */

test('a ball on a turntable goes round at two sevenths of its rate', () => {
  const W = 2;
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        ground,
        {
          id: 'table',
          geometry: { type: 'cylinder', radius: 1, height: 0.1 },
          pose: { p: [0, 0, 0.05] },
          free: true,
          body: { mass: 1e9 },
          velocity: { v: [0, 0, 0], w: [0, 0, W] },
        },
        {
          id: 'ball',
          geometry: { type: 'sphere', radius: 0.05 },
          pose: { p: [0.3, 0, 0.15] },
          free: true,
          velocity: { v: [0, 0.2, 0], w: [0, 0, 0] },
        },
      ],
      joints: [revolute('t', { object: 'table' }, 'ground/+z')],
      constraints: [{ id: 'r', type: 'rolling', a: 'ball/surface', b: 'table/top' }],
    },
    5.001,
  );
  const [vx, vy] = r.v(0, 'ball'),
    [x, y, z] = r.p(0, 'ball'),
    rate = (2 / 7) * W;
  for (const k of [1000, 3000, 5000]) {
    const c = Math.cos((rate * k) / 1000),
      s = Math.sin((rate * k) / 1000);
    assert.ok(far(r.v(k, 'ball'), [c * vx - s * vy, s * vx + c * vy, 0]) < 1e-8);
    assert.ok(far(r.p(k, 'ball'), [x + (s * vx - (1 - c) * vy) / rate, y + ((1 - c) * vx + s * vy) / rate, z]) < 1e-8);
  }
  assert.equal(r.summary.mobility, 4);
});

test('a coin rolls without slip and loses nothing', () => {
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        ground,
        {
          id: 'coin',
          geometry: { type: 'cylinder', radius: 0.1, height: 0.01 },
          pose: { p: [0, 0, 0.11], q: about([1, 0, 0], 1.3) },
          free: true,
          velocity: { v: [0.5, 0, 0], w: [0, 5, 2] },
        },
      ],
      constraints: [{ id: 'r', type: 'rolling', a: 'coin/bottom-rim', b: 'ground/+z' }],
    },
    3,
  );
  let slip = 0,
    gap = 0;
  for (let k = 0; k < r.count; k++) {
    const axis = rotate(r.q(k, 'coin'), [0, 0, 1]),
      down = add([0, 0, -1], axis, axis[2]),
      n = Math.hypot(...down);
    const arm = add(
        down.map((x) => (0.1 * x) / n),
        axis,
        -0.005,
      ),
      contact = add(r.p(k, 'coin'), arm);
    gap = Math.max(gap, Math.abs(contact[2]));
    slip = Math.max(slip, Math.hypot(...add(r.v(k, 'coin'), cross(r.w(k, 'coin'), arm))));
  }
  assert.ok(slip < 1e-10 && gap < 1e-12, `slip ${slip} m/s, gap ${gap} m`);
  assert.ok(far(r.p(0, 'coin'), r.p(-1, 'coin')) > 0.1);
  closed(r);
  assert.equal(r.summary.mobility, 3);
});

test('a ball that may part rolls off a sphere and leaves it at cos 10/17', () => {
  const start = 0.05,
    c = Math.cos(start),
    s = Math.sin(start);
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        { id: 'big', geometry: { type: 'sphere', radius: 1 }, fixed: true },
        {
          id: 'ball',
          geometry: { type: 'sphere', radius: 0.1 },
          pose: { p: [1.1 * s, 0, 1.1 * c] },
          free: true,
          body: { mass: 1 },
        },
      ],
      constraints: [{ id: 'r', type: 'rolling', a: 'ball/surface', b: 'big/surface', contact: 'unilateral' }],
    },
    2,
  );
  let k = 0,
    slip = 0;
  for (; k < r.count && Math.hypot(...r.p(k, 'ball')) < 1.1 + 1e-7; k++) {
    const n = r.p(k, 'ball').map((x) => x / 1.1);
    if (n[2] > 0.6)
      slip = Math.max(
        slip,
        Math.hypot(
          ...add(
            r.v(k, 'ball'),
            cross(
              r.w(k, 'ball'),
              n.map((x) => -0.1 * x),
            ),
          ),
        ),
      );
  }
  // from there it flies along a parabola, from v^2 = g (R + r) cos t
  const cos = (10 / 17) * c,
    sin = Math.sqrt(1 - cos * cos),
    v = Math.sqrt(G * 1.1 * cos),
    [x, , z] = r.p(k, 'ball'),
    t = (x - 1.1 * sin) / (v * cos);
  near(z, 1.1 * cos - v * sin * t - 0.5 * G * t * t, 1e-9);
  assert.ok(t > 0 && t < 0.05, `${t} s after it left`);
  assert.ok(slip < 1e-10, `slip ${slip} m/s`);
  assert.equal(r.summary.mobility, 6);
  const { energy: e } = r.summary;
  near(e.final, e.initial + e.work_in + e.motors - e.dissipated + e.edits, 1e-8);
});

test('a bound of an angle and one between two planes hold what moves', () => {
  const r = run(
    {
      gravity: [0, 0, -G],
      objects: [
        ground,
        sized('box', [0.1, 0.1, 0.1], { pose: { p: [0.5, 0, 0.3] } }),
        sized('flap', [0.4, 0.1, 0.02], { pose: { p: [0, 0, 0.5] }, body: { mass: 1 } }),
      ],
      features: [
        { id: 'flap/hinge', line: { point: [-0.2, 0, 0], direction: [0, 1, 0] } },
        { id: 'ground/hinge', line: { point: [-0.2, 0, 0.55], direction: [0, 1, 0] } },
      ],
      joints: [revolute('h', 'flap/hinge', 'ground/hinge')],
      constraints: [
        { id: 'a', type: 'angle', a: 'flap/axis-x', b: 'ground/axis-x', value: 0.4, bound: 'at-most' },
        { id: 'd', type: 'distance', a: 'box/-z', b: 'ground/+z', value: 0.15, bound: 'at-least' },
      ],
    },
    3,
  );
  assert.ok(Math.abs(r.get(-1, 'h.q0') - 0.4) < 1e-3, `at ${r.get(-1, 'h.q0')}`);
  assert.ok(Math.abs(r.p(-1, 'box')[2] - 0.2) < 1e-4);
  assert.equal(r.summary.mobility, 7);
});

test('a mass at a point stops at the limit of its joint', () => {
  const link = (more) => ({ joint: { type: 'revolute', axis: [0, 1, 0], limits: { lower: -1, upper: 1 } }, ...more });
  // a pendulum that is let go level; and a point at its pivot, which a rod on it turns
  for (const inertia of [0, 1e-12, 1e-6]) {
    const links = [link({ mass: 1, com: [1, 0, 0], inertia: [inertia, inertia, inertia, 0, 0, 0] })];
    const { summary, count, get } = run({ gravity: [0, 0, -G], mechanisms: [{ id: 'm', links }] }, 1);
    near(get(count - 1, 'm.0.q0'), 1, 1e-9);
    for (let k = 0; k < count; k++) assert.ok(get(k, 'm.0.q0') < 1 + 1e-9, `${inertia}: ${get(k, 'm.0.q0')}`);
    near(summary.energy.final, -G * Math.sin(1), 1e-8);
    assert.ok(!summary.events.some((e) => e.kind === 'jammed'));
  }
  const pivot = link({ mass: 1, com: [0, 0, 0], inertia: [0, 0, 0, 0, 0, 0] });
  const rod = { joint: { type: 'prismatic', axis: [1, 0, 0], limits: { lower: 0, upper: 0 } }, mass: 1 };
  const links = [pivot, { ...rod, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1, 0, 0, 0] }];
  const { summary, count, get } = run({ gravity: [0, 0, -G], mechanisms: [{ id: 'm', links }] }, 1);
  near(get(count - 1, 'm.0.q0'), 1, 1e-9);
  near(summary.energy.final, -G * Math.sin(1), 1e-8);
});

test('a joint bounces off its limit with its restitution, and rests there', () => {
  const bar = rod('a', 1, [0.5, 0, 0], 0),
    lost = [];
  for (const restitution of [0.5, 0]) {
    const r = run(
      {
        gravity: [0, -G, 0],
        objects: [bar],
        joints: [revolute('hip', frame('a', [-0.5, 0, 0]), frame('world'), { limits: [[-1, 3]], restitution })],
      },
      3,
    );
    closed(r);
    const hit = Array.from({ length: r.count - 1 }, (_, k) => k + 1).find(
      (k) => r.get(k, 'hip.v0') >= -1e-6 && r.get(k - 1, 'hip.v0') < -0.1,
    );
    lost.push(r.get(hit, 'hip.v0') / r.get(hit - 1, 'hip.v0'));
    near(r.get(-1, 'hip.q0'), -1, 1e-6);
    near(r.summary.energy.dissipated, 0.5 * G * Math.sin(1), 1e-5);
  }
  near(lost[0], -0.5, 0.01);
  near(lost[1], 0, 1e-6);
});

test("Chaplygin's sleigh ends straight, all its energy along the blade", () => {
  const r = run(
    {
      objects: [
        ground,
        sized('sleigh', [0.4, 0.2, 0.1], {
          pose: { p: [0, 0, 0.05] },
          body: { mass: 1, com: [0.1, 0, 0], inertia: [0.01, 0.01, 0.01, 0, 0, 0] },
          velocity: { v: [0, 0, 0], w: [0, 0, 3] },
        }),
      ],
      features: [{ id: 'sleigh/knife', line: { point: [0, 0, 0], direction: [0, 1, 0] } }],
      constraints: [
        { id: 'flat', type: 'coincident', a: 'sleigh/-z', b: 'ground/+z', sense: 'opposite' },
        { id: 'k', type: 'knife-edge', a: 'sleigh/knife', b: 'ground/+z' },
      ],
    },
    20,
  );
  let aside = 0;
  for (let k = 0; k < r.count; k += 7)
    aside = Math.max(aside, Math.abs(dot(r.v(k, 'sleigh'), rotate(r.q(k, 'sleigh'), [0, 1, 0]))));
  assert.ok(aside < 1e-10, `${aside} m/s across the blade`);
  assert.ok(Math.abs(r.w(-1, 'sleigh')[2]) < 1e-6);
  near(Math.hypot(...r.v(-1, 'sleigh')), Math.sqrt(2 * r.summary.energy.initial), 1e-8);
  closed(r);
  assert.equal(r.summary.mobility, 2);
});

/* ---- the hand -------------------------------------------------------------------------------- */

const held = (object, force, torque) => ({
  tool: { object, device: 'sim', control: 'admittance' },
  devices: [{ id: 'sim', driver: 'sim', operator: { type: 'wrench', samples: [{ t: 0, force, torque }] } }],
});

test('what relations do not allow of a throw is lost in a blow that keeps the momentum', () => {
  const inertia = [0.01, 0.02, 0.03, 0, 0, 0];
  const part = (id, p, mass, velocity) => ({ ...box(id, p, { free: true, velocity }), body: { mass, inertia } });
  const objects = [part('a', [0, 0, 0], 1, { v: [1, 0, 0], w: [0, 0, 2] }), part('b', [0, 1, 0], 3)];
  const features = [
    { id: 'a/pin', point: [0, 0.4, 0] },
    { id: 'b/pin', point: [0, -0.6, 0] },
  ];
  const joint = { id: 'j', type: 'spherical', a: frame('a', [0, 0.4, 0]), b: frame('b', [0, -0.6, 0]) };
  const point = { id: 'c', type: 'coincident', a: 'a/pin', b: 'b/pin' };
  // p = r x n of the blow P at the pin: its velocity of both after it is the same
  const [m, n, i] = [1, 3, 0.03];
  const P = -(1 - 0.4 * 2) / (1 / m + 1 / n + (0.4 ** 2 + 0.6 ** 2) / i);
  for (const relation of [{ joints: [joint] }, { features, constraints: [point] }]) {
    const r = run({ objects, ...relation }, 0.01);
    near(r.v(0, 'a')[0], 1 + P / m, 1e-12);
    near(r.w(0, 'a')[2], 2 - (0.4 * P) / i, 1e-12);
    near(r.v(0, 'b')[0], -P / n, 1e-12);
    near(r.w(0, 'b')[2], (-0.6 * P) / i, 1e-12);
    closed(r);
  }
  // a velocity that a joint states is kept, and counts from how its other end moves
  const driven = run({ objects, joints: [{ ...joint, velocity: [0, 0, 1] }] }, 0.01);
  near(driven.w(0, 'a')[2] - driven.w(0, 'b')[2], 1, 1e-12);
});

test('a hand feels weight and inertia of what is joined to what it holds', () => {
  const block = (id, p, mass, more) => ({
    id,
    geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
    pose: { p },
    body: { mass },
    ...more,
  });
  const weld = { id: 'weld', type: 'fixed', a: frame('load'), b: frame('tray', [0.2, 0, 0]) };
  const lift = (more) =>
    run(
      {
        gravity: [0, 0, -G],
        objects: [block('tray', [0, 0, 0], 2), block('load', [0.2, 0, 0], 3, more)],
        joints: [{ id: 'rail', type: 'prismatic', a: frame('tray'), b: frame('world') }, weld],
        ...held('tray', [0, 0, 60], [0, 0, 0]),
      },
      0.501,
    );
  near(lift().tool(500, 'vz') / (0.5 * (60 / 5 - G)), 1, 1e-6);
  near(lift({ massless: true }).tool(500, 'vz') / (0.5 * (60 / 2 - G)), 1, 1e-6);
  const turn = run(
    {
      objects: [block('tray', [0, 0, 0], 2), block('load', [0.2, 0, 0], 3)],
      joints: [revolute('pin', frame('tray'), frame('world')), weld],
      ...held('tray', [0, 0, 0], [0, 0, 0.4]),
    },
    0.501,
  );
  near(turn.tool(500, 'wz') / ((0.5 * 0.4) / ((5 * 0.01) / 6 + 3 * 0.04)), 1, 1e-6);
  const { energy: e } = turn.summary;
  near(e.final - e.initial, e.work_in, 1e-9);
  assert.ok(e.work_in > 0.1);
});

test('what is massless goes with what a joint joins it to, and is not felt', () => {
  const part = (id, p, more) => sized(id, [0.1, 0.1, 0.1], { pose: { p }, body: { mass: 2 }, ...more });
  const shade = (id, p) => part(id, p, { free: false, massless: true });
  const side = { p: [0.3, 0.1, 0], q: about([0, 0, 1], 0.5) };
  const arm = {
    id: 'arm',
    links: [
      {
        joint: { type: 'revolute', axis: [0, 1, 0], velocity: 1 },
        mass: 1,
        com: [0.1, 0, 0],
        inertia: [0.01, 0.01, 0.01, 0, 0, 0],
      },
    ],
  };
  const r = run(
    {
      gravity: [0, 0, -1],
      objects: [
        part('body', [0, 1, 0], { velocity: { v: [0.1, 0, 0], w: [0.3, 0.2, 1] } }),
        part('tray', [0, 2, 0], { free: false }),
        shade('welded', [0.3, 1, 0]),
        shade('hinged', [0.6, 1, 0]),
        shade('carried', [0.3, 2, 0]),
        shade('worn', [0.2, 0, 0]),
      ],
      mechanisms: [arm],
      joints: [
        { id: 'weld', type: 'fixed', a: frame('welded'), b: { object: 'body', at: side } },
        revolute('hinge', frame('hinged', [-0.15, 0, 0]), frame('welded', [0.15, 0, 0]), { position: [0.4] }),
        { id: 'hold', type: 'fixed', a: frame('tray'), b: frame('carried', [0.3, 0, 0]) },
        { id: 'wear', type: 'spherical', a: frame('worn'), b: frame('arm.0', [0.2, 0, 0]) },
      ],
      ...held('tray', [0, 0, 4], [0, 0, 0.01]),
    },
    1.001,
  );
  const on = (k, id, at) => add(r.p(k, id), rotate(r.q(k, id), at));
  for (const k of [0, 300, 1000]) {
    assert.ok(far(r.p(k, 'welded'), on(k, 'body', side.p)) < 1e-12);
    const x = rotate(r.q(k, 'body'), rotate(side.q, [1, 0, 0]));
    assert.ok(far(rotate(r.q(k, 'welded'), [1, 0, 0]), x) < 1e-12);
    assert.ok(far(on(k, 'hinged', [-0.15, 0, 0]), on(k, 'welded', [0.15, 0, 0])) < 1e-12);
    near(dot(rotate(r.q(k, 'hinged'), [1, 0, 0]), rotate(r.q(k, 'welded'), [1, 0, 0])), Math.cos(0.4), 1e-12);
    assert.ok(far(on(k, 'carried', [0.3, 0, 0]), r.p(k, 'tray')) < 1e-12);
    assert.ok(far(r.p(k, 'worn'), on(k, 'arm.0', [0.2, 0, 0])) < 1e-12);
    near(r.get(k, 'hinge.q0'), 0.4, 1e-12);
  }
  near(r.v(1000, 'body')[2], -1, 1e-9);
  near(r.v(1000, 'tray')[2], 1, 1e-9);
  assert.ok(far(r.p(0, 'hinged'), r.p(1000, 'hinged')) > 0.3);
  assert.equal(r.summary.mobility, 6 + 6 + 1);
  closed(r);
});

test('two hands push one system together', () => {
  const block = (id, x, mass) => ({
    id,
    geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
    pose: { p: [x, 0, 0] },
    body: { mass },
  });
  const hand = (id, z) => ({
    id,
    driver: 'sim',
    operator: { type: 'wrench', samples: [{ t: 0, force: [0, 0, z], torque: [0, 0, 0] }] },
  });
  const r = run(
    {
      objects: [block('tray', 0, 2), block('load', 0.2, 3)],
      devices: [hand('left', 5), hand('right', -1)],
      joints: [
        { id: 'rail', type: 'prismatic', a: frame('tray'), b: frame('world') },
        { id: 'weld', type: 'fixed', a: frame('load'), b: frame('tray', [0.2, 0, 0]) },
      ],
      tools: [
        { object: 'tray', device: 'left', control: 'admittance' },
        { object: 'load', device: 'right', control: 'admittance' },
      ],
    },
    0.501,
  );
  near(r.get(500, 'rail.v0') / ((0.5 * (5 - 1)) / 5), 1, 1e-9);
  near(r.summary.energy.final, r.summary.energy.work_in, 1e-9);
  closed(r);
});

test('the second hand goes with what it holds as the first one does', () => {
  const part = (id, p) => ({ ...box(id, p), body: { mass: 1, inertia: [0.01, 0.01, 0.01, 0, 0, 0] } });
  const wrench = (id, force) => ({
    id,
    driver: 'sim',
    operator: { type: 'wrench', samples: [{ t: 0, force, torque: [0, 0, 0.1] }] },
  });
  const tools = [
    { object: 'a', at: { p: [0.1, 0.05, 0] }, device: 'left', control: 'admittance' },
    { object: 'b', at: { p: [0, 0.1, 0.05] }, device: 'right', control: 'admittance' },
  ];
  const scene = {
    objects: [part('a', [0.2, 0, 0]), part('b', [0.6, 0, 0])],
    devices: [wrench('left', [1, 2, -1]), wrench('right', [3, -2, 1])],
    joints: [
      { id: 'ball', type: 'spherical', a: frame('a', [-0.2, 0, 0]), b: frame('world') },
      { id: 'pin', type: 'universal', a: frame('b', [-0.2, 0, 0]), b: frame('a', [0.2, 0, 0]) },
    ],
  };
  const [one, other] = [tools, [...tools].reverse()].map((order) => run({ ...scene, tools: order }, 0.301));
  for (const id of ['a', 'b'])
    for (const get of ['p', 'v', 'w']) one[get](300, id).forEach((x, i) => near(x, other[get](300, id)[i], 1e-9));
  closed(one);
  closed(other);
});

test("what damps a held body of a system counts at the tool's frame", () => {
  const at = [0.1, 0.05, 0];
  const I = 0.01 + 0.2 ** 2; // about the hinge, 0.2 m from the centre of mass
  const r2 = 0.3 ** 2 + 0.05 ** 2;
  for (const [type, linear] of [
    ['revolute', 0.5],
    ['spherical', 0.5],
    ['revolute', 5000],
  ]) {
    const crank = box('crank', [0.2, 0, 0]);
    const r = run(
      {
        objects: [{ ...crank, body: { mass: 1, inertia: [I, I, 0.01, 0, 0, 0], damping: { linear, angular: 0.1 } } }],
        joints: [
          {
            ...{ id: 'hinge', type, a: frame('crank', [-0.2, 0, 0]), b: frame('world') },
            velocity: type === 'revolute' ? [2] : [0, 0, 2],
          },
        ],
        tool: { object: 'crank', at: { p: at }, device: 'sim', control: 'admittance' },
        devices: [{ id: 'sim', driver: 'sim' }],
      },
      0.101,
    );
    near(r.w(100, 'crank')[2], 2 * Math.exp((-(linear * r2 + 0.1) / I) * 0.1), linear > 1 ? 1e-6 : 1e-9);
    closed(r);
  }
});

test('two hands hold two links of one mechanism', () => {
  const hand = (id, z) => ({
    id,
    driver: 'sim',
    operator: { type: 'wrench', samples: [{ t: 0, force: [0, 0, z], torque: [0, 0, 0] }] },
  });
  const link = (mass) => ({
    joint: { type: 'prismatic', axis: [0, 0, 1] },
    mass,
    com: [0, 0, 0],
    inertia: [0.01, 0.01, 0.01, 0, 0, 0],
  });
  const scene = {
    gravity: [0, 0, 0],
    objects: [],
    mechanisms: [{ id: 'lift', links: [link(2), link(3)] }],
    devices: [hand('left', 5), hand('right', 6)],
    tools: [
      { mechanism: 'lift', link: 0, device: 'left', control: 'admittance' },
      { mechanism: 'lift', link: 1, device: 'right', control: 'admittance' },
    ],
  };
  const r = run(scene, 0.501);
  near(r.get(500, 'lift.0.v0') / ((0.5 * 5) / 2), 1, 1e-9);
  near((r.get(500, 'lift.0.v0') + r.get(500, 'lift.1.v0')) / ((0.5 * 6) / 3), 1, 1e-9);
  near(r.summary.energy.final, r.summary.energy.work_in, 1e-9);
  const twice = command(
    { ...scene, format: 'guideway-scene/1', tools: scene.tools.map((t) => ({ ...t, device: 'left' })) },
    '--seconds',
    '0.01',
  );
  assert.equal(twice.status, 2);
  assert.match(twice.stderr, /two tools need two devices: "left" is tool 0's/);
});

test('the coupler of a four-bar may be held: the hand drives the whole of it', () => {
  const scene = { ...linkage('joints'), gravity: [0, 0, 0], ...held('coupler', [0, 0, 0], [0, 0, 0.05]) };
  scene.objects = scene.objects.map(({ free, ...o }) => ({ ...o, fixed: o.fixed }));
  const r = run(scene, 1);
  const { energy: e } = r.summary;
  near(e.final - e.initial, e.work_in, 1e-9);
  assert.ok(e.work_in > 1e-3 && Math.abs(r.get(-1, 'j1.q0') - r.get(0, 'j1.q0')) > 0.1);
  closed(r);
});

/* ---- what is told ---------------------------------------------------------------------------- */

test('the columns are bodies, then joints', () => {
  const r = run(
    {
      objects: [
        ground,
        sized('a', [0.1, 0.1, 0.1], { pose: { p: [0, 0, 1] } }),
        sized('b', [0.1, 0.1, 0.1], { free: undefined, pose: { p: [0, 0, 1.2] } }),
      ],
      mechanisms: [
        {
          id: 'arm',
          base: { p: [3, 0, 0] },
          links: [{ joint: { type: 'revolute' }, mass: 1, com: [0.1, 0, 0], inertia: [0.01, 0.01, 0.01, 0, 0, 0] }],
        },
      ],
      joints: [
        { id: 'ball', type: 'spherical', a: frame('b', [0, 0, -0.1]), b: frame('a', [0, 0, 0.1]), velocity: [1, 2, 3] },
        { id: 'tube', type: 'cylindrical', a: frame('a'), b: frame('world'), velocity: [0.1, 0] },
        { id: 'weld', type: 'fixed', a: frame('b'), b: frame('a'), enabled: false },
      ],
    },
    0.01,
  );
  const of = (id) =>
    ['px', 'py', 'pz', 'qw', 'qx', 'qy', 'qz', 'vx', 'vy', 'vz', 'wx', 'wy', 'wz'].map((n) => `${id}.${n}`);
  assert.deepEqual(
    r.head.filter((n) => !/^(weld)/.test(n)),
    [
      't',
      ...of('a'),
      ...of('b'),
      ...of('arm.0'),
      'arm.0.q0',
      'arm.0.v0',
      ...['q0', 'q1', 'q2', 'v0', 'v1', 'v2'].map((n) => `ball.${n}`),
      ...['q0', 'q1', 'v0', 'v1'].map((n) => `tube.${n}`),
    ],
  );
  assert.equal(r.count, 10);
  assert.deepEqual(
    ['v0', 'v1', 'v2'].map((n) => r.get(0, `ball.${n}`)),
    [1, 2, 3],
  );
  assert.equal(r.get(0, 'tube.v0'), 0.1);
  assert.equal(r.summary.mobility, 6);
});

test('joints of links with several coordinates have a column for each', () => {
  const link = (type, more) => ({
    joint: { type, ...more },
    mass: 1,
    com: [0.1, 0.05, 0],
    inertia: [0.01, 0.02, 0.03, 0, 0, 0],
  });
  const origin = { p: [0.1, 0.2, 0.3], q: about([1, 0, 0], 0.4) };
  const arm = {
    id: 'arm',
    base: { p: [0.3, 0, 1], q: about([0, 1, 0], 0.7) },
    links: [link('floating', { origin }), link('planar', { origin, axis: [0, 0, 1] }), link('spherical', { origin })],
  };
  const spring = (i, p) => ({ id: `s${i}`, a: { object: `arm.${i}`, p: [0.1, 0.1, 0] }, b: { object: 'world', p } });
  const r = run(
    {
      gravity: [0, 0, -1],
      mechanisms: [arm],
      springs: [
        { ...spring(0, [1, 0, 0]), stiffness: 5 },
        { ...spring(1, [0, 2, 1]), stiffness: 8 },
        { ...spring(2, [-1, 0, 3]), stiffness: 3 },
      ],
    },
    2,
  );
  closed(r);
  const dofs = [6, 3, 3];
  const names = dofs.flatMap((dof, i) =>
    ['q', 'v'].flatMap((x) => Array.from({ length: dof }, (_, k) => `arm.${i}.${x}${k}`)),
  );
  assert.deepEqual(r.head.slice(-names.length), names);
  const q = (k, i) => Array.from({ length: dofs[i] }, (_, c) => r.get(k, `arm.${i}.q${c}`));
  const v = (k, i) => Array.from({ length: dofs[i] }, (_, c) => r.get(k, `arm.${i}.v${c}`));
  const times = ([a, ...u], [b, ...w]) => [a * b - dot(u, w), ...add(add(cross(u, w), w, a), u, b)];
  const inverse = ([w, ...u]) => [w, ...u.map((x) => -x)];
  const vector = (t) => {
    const angle = Math.hypot(...t);
    return angle
      ? about(
          t.map((x) => x / angle),
          angle,
        )
      : [1, 0, 0, 0];
  };
  // a joint's pose by its coordinates
  const poses = [
    ([x, y, z, ...t]) => [[x, y, z], vector(t)],
    ([x, y, t]) => [[x, y, 0], about([0, 0, 1], t)],
    (t) => [[0, 0, 0], vector(t)],
  ];
  const places = (k) => [[arm.base.p, arm.base.q], ...[0, 1, 2].map((i) => [r.p(k, `arm.${i}`), r.q(k, `arm.${i}`)])];
  for (const k of [0, 500, 1000, 1998]) {
    const at = places(k);
    for (const i of [0, 1, 2]) {
      const [p, turn] = at[i];
      const f = [add(p, rotate(turn, origin.p)), times(turn, origin.q)];
      const [moved, turned] = poses[i](q(k, i));
      assert.ok(far(add(f[0], rotate(f[1], moved)), at[i + 1][0]) < 1e-9, `where link ${i} is in row ${k}`);
      assert.ok(apart(times(f[1], turned), at[i + 1][1]) < 1e-9, `how link ${i} is turned in row ${k}`);
      const w = add(r.w(k, `arm.${i}`), i ? r.w(k, `arm.${i - 1}`) : [0, 0, 0], -1);
      const spin = i === 1 ? [0, 0, v(k, 1)[2]] : v(k, i).slice(-3);
      assert.ok(far(rotate(inverse(f[1]), w), spin) < 1e-9, `the turning of link ${i} in row ${k}`);
      const slides = i === 2 ? 0 : 3 - i; // coordinates that are lengths
      for (let c = 0; k && c < slides; c++) near((q(k + 1, i)[c] - q(k - 1, i)[c]) / 2e-3, v(k, i)[c], 1e-4);
    }
  }
  assert.ok(dofs.every((_, i) => far(q(1998, i), q(0, i)) > 0.1));
});

test('a scissor lift goes through its singular posture hundreds of times and stays on its branch', () => {
  const done = spawnSync(guideway, ['run', 'scissor-lift', '--seconds', '600'], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  const { energy, final, constraint_residual_max: open } = JSON.parse(done.stdout);
  const work = 24 * (final.pose.p[2] - 0.45); // the script's constant force
  assert.ok(Math.abs(final.pose.p[0]) < 1e-9, `the deck is ${final.pose.p[0]} m aside`);
  assert.ok(energy.dissipated < 1e-6, `${energy.dissipated} J lost`);
  assert.ok(Math.abs(energy.work_in - work) < 1e-6, `${energy.work_in} J of work, ${work} J by the path`);
  assert.ok(open < 1e-12, `open by ${open} m`);
});

test('ten minutes of a loop: it stays closed, and no energy comes or goes', () => {
  for (const scene of ['four-bar', 'spatial-four-bar']) {
    const done = spawnSync(guideway, ['run', scene, '--seconds', '600'], { encoding: 'utf8' });
    assert.equal(done.status, 0, done.stderr);
    const { energy, constraint_residual_max: open } = JSON.parse(done.stdout);
    const out = energy.final - energy.initial - energy.work_in;
    assert.equal(energy.dissipated, 0);
    assert.ok(Math.abs(out) < 1e-8 * energy.final, `${scene}: ${out} of ${energy.final} J`);
    assert.ok(open < 1e-12, `${scene}: open by ${open} m`);
  }
});

test('a doubled relation is redundant, a loop in space that is planar is not', () => {
  const scene = linkage('joints');
  assert.deepEqual(run(scene, 0.01).summary.redundant, []);
  const again = revolute('again', frame('crank', [0, 0, 0.2]), frame('world', [0, 0, 0.2]));
  assert.deepEqual(run({ ...scene, joints: [...scene.joints, again] }, 0.01).summary.redundant, ['again']);
  assert.deepEqual(run(linkage('constraints'), 0.01).summary.redundant, ['l3']);
});

// A cart on a slide whose wheel, its link 1, rolls on the ground; weight pulls it along x, too.
const cart = (contact) => ({
  gravity: [3, 0, -G],
  objects: [{ ...ground, geometry: { type: 'box', size: [9, 9, 0.1] } }],
  mechanisms: [
    {
      id: 'cart',
      base: { p: [0, 0, 0.2] },
      links: [
        {
          joint: { type: 'prismatic', axis: [0, 0, 1] },
          mass: 1,
          com: [0, 0, 0],
          inertia: [0.01, 0.01, 0.01, 0, 0, 0],
        },
        {
          joint: { type: 'prismatic', axis: [1, 0, 0] },
          mass: 1,
          com: [0, 0, 0],
          inertia: [0.01, 0.01, 0.01, 0, 0, 0],
        },
        {
          joint: { type: 'revolute', axis: [0, 1, 0] },
          mass: 1,
          com: [0, 0, 0],
          inertia: [0.02, 0.03, 0.02, 0, 0, 0],
          geometry: { type: 'cylinder', radius: 0.2, height: 0.1 },
          geometry_at: { q: [Math.SQRT1_2, Math.SQRT1_2, 0, 0] },
        },
      ],
    },
  ],
  constraints: [{ id: 'roll', type: 'rolling', a: 'cart.2/surface', b: 'ground/+z', contact }],
});

test('a link rolls as an object does, by its own geometry', () => {
  // masses that slide: 2 kg along x, of 3 kg that weigh; the wheel turns with I = 0.03
  const way = (0.5 * 2 * 3) / (2 + 0.03 / 0.2 ** 2);
  const kept = run(cart('bilateral'), 1.001);
  assert.equal(kept.summary.mobility, 1);
  near(kept.get(1000, 'cart.1.q0'), way, 1e-9);
  near(kept.get(1000, 'cart.2.q0'), way / 0.2, 1e-9);
  closed(kept);
  const parts = run(cart('unilateral'), 1.001);
  assert.equal(parts.summary.mobility, 3, 'it may part');
  near(parts.get(1000, 'cart.1.q0'), way, 1e-5); // the first tick has the slip to learn of
  near(parts.get(1000, 'cart.0.q0'), 0, 1e-9);
  // a blade that a link carries: it goes along its edge alone, at 45 degrees
  const edge = cart('bilateral');
  edge.features = [{ id: 'cart.1/edge', line: { point: [0, 0, 0], direction: [1, 0, 0] } }];
  edge.constraints = [{ id: 'edge', type: 'knife-edge', a: 'cart.1/edge', b: 'ground/+z' }];
  assert.equal(run(edge, 0.01).summary.mobility, 2);
  edge.constraints[0].b = 'ground/nothing';
  const refused = command(edge);
  assert.equal(refused.status, 2);
  assert.match(refused.stderr, /\/constraints\/0\/b: "ground" has no feature "nothing"/);
});

// As many hinges as a scene may have, of one axis: a row of each would be in every combination of all.
test('of a thousand hinges about one axis all but the first are redundant', () => {
  const joints = Array.from({ length: 1024 }, (_, i) =>
    revolute(`h${i}`, frame('door', [0, 0, 0]), frame('world', [0, 0, 0])),
  );
  const { summary } = run({ objects: [rod('door', 1, [0, 0, 0], 0)], joints }, 0.001);
  assert.equal(summary.mobility, 1);
  assert.deepEqual(
    summary.redundant,
    joints.slice(1).map((j) => j.id),
  );
});

test('limits without play hold what they hold, beside what is redundant', () => {
  const held = [[0.2, 0.2]];
  const told = (...joints) => {
    const { mobility, redundant } = run({ objects: [rod('a', 1, [0.5, 0, 0], 0)], joints }, 0.01).summary;
    return [mobility, redundant];
  };
  const hinge = (id, more) => revolute(id, frame('a', [-0.5, 0, 0]), frame('world'), more);
  assert.deepEqual(told(hinge('j'), hinge('again')), [1, ['again']]);
  assert.deepEqual(told(hinge('j', { limits: held }), hinge('again')), [0, ['again']]);
  assert.deepEqual(told(hinge('j'), hinge('again', { limits: held })), [0, ['j']]);
  assert.deepEqual(told(hinge('j', { limits: held }), hinge('again', { limits: held })), [0, ['again']]);
  // a table that its limits let move along x alone, and a rail along x
  const table = { id: 't', type: 'planar', a: frame('a'), b: frame('world'), limits: [null, [0, 0], [0, 0]] };
  const along = { p: [0, 0, 0], q: [Math.SQRT1_2, 0, Math.SQRT1_2, 0] };
  const rail = { id: 'r', type: 'prismatic', a: { object: 'a', at: along }, b: { object: 'world', at: along } };
  assert.deepEqual(told(rail, table), [1, ['t']]);
  assert.deepEqual(told(table, rail), [1, ['r']]);
  assert.deepEqual(told({ ...rail, limits: [[0, 0]] }, table), [0, ['t']]);
  // the second link of an arm, whose first one has no play
  const link = (limits) => ({
    joint: { type: 'revolute', axis: [0, 0, 1], limits },
    mass: 1,
    inertia: [1, 1, 1, 0, 0, 0],
  });
  const arm = (limits) => ({
    mechanisms: [{ id: 'arm', links: [link(limits), link()] }],
    joints: [{ id: 'j', type: 'revolute', a: { object: 'arm.1' }, b: { object: 'world' } }],
  });
  for (const [limits, is] of [
    [undefined, [2, ['j']]],
    [{ lower: 0, upper: 0 }, [1, ['j']]],
  ]) {
    const { mobility, redundant } = run(arm(limits), 0.01).summary;
    assert.deepEqual([mobility, redundant], is);
  }
});

test('what follows from joints of links, gears and what rolls is redundant, too', () => {
  const summary = (scene) => run(scene, 0.002).summary;
  // a hinge where a link has its own; a gear beside one of the same ratio
  const arm = cart('bilateral');
  arm.joints = [
    revolute(
      'same',
      frame('cart.2', [0, 0, 0], about([1, 0, 0], -Math.PI / 2)),
      frame('cart.1', [0, 0, 0], about([1, 0, 0], -Math.PI / 2)),
    ),
  ];
  arm.constraints.push({ id: 'again', type: 'rolling', a: 'cart.2/surface', b: 'ground/+z' });
  assert.deepEqual(summary(arm).redundant, ['again', 'same']);
  const wheels = {
    objects: ['a', 'b', 'c'].map((id, i) => sized(id, [0.1, 0.1, 0.1], { pose: { p: [i, 0, 0] } })),
    joints: ['a', 'b', 'c'].map((id, i) => revolute(`t${id}`, { object: id }, frame('world', [i, 0, 0]))),
  };
  const gear = (of, by, ratio) =>
    wheels.joints.push({ id: `${of}-${by}`, type: 'gear', joints: [`t${of}`, `t${by}`], ratio });
  gear('a', 'b', -2);
  gear('b', 'c', -1.5);
  gear('a', 'c', 3);
  assert.deepEqual([summary(wheels).mobility, summary(wheels).redundant], [1, ['a-c']]);
  // a joint that a gear turns stays as long as the gear does
  wheels.joints[4].ratio = 1;
  wheels.joints.push(revolute('again', { object: 'b' }, frame('world', [1, 0, 0])));
  assert.deepEqual([summary(wheels).mobility, summary(wheels).redundant], [0, ['again']]);
  // pure rolling says all that rolling and sliding do; of a chain only loops are looked at together
  const ball = {
    objects: [ground, { id: 'ball', geometry: { type: 'sphere', radius: 0.1 }, pose: { p: [0, 0, 0.1] }, free: true }],
    constraints: ['rolling', 'pure-rolling', 'sliding'].map((type) => ({
      id: type,
      type,
      a: 'ball/surface',
      b: 'ground/+z',
    })),
  };
  assert.deepEqual([summary(ball).mobility, summary(ball).redundant], [2, ['rolling', 'sliding']]);
  const long = { objects: [], joints: [] };
  for (let i = 0; i < 200; i++) {
    long.objects.push(sized(`b${i}`, [0.1, 0.1, 0.1], { pose: { p: [i, 0, 0] } }));
    if (i > 0) long.joints.push(revolute(`j${i}`, frame(`b${i}`, [-0.5, 0, 0]), frame(`b${i - 1}`, [0.5, 0, 0])));
  }
  long.joints.push({ ...long.joints[150], id: 'doubled' });
  assert.deepEqual([summary(long).mobility, summary(long).redundant], [205, ['doubled']]);
});

// A free body on its constraints to what is fixed is stepped in a chart of its own, and alone without
// coordinates (rt/dynamics/guided.h); a spring without stiffness makes the same body a system of one.
test('a body on its set, or on none, moves as a system of one body does', () => {
  const on = (type, a, b, more) => ({ type, a: `body/${a}`, b: `ground/${b}`, ...more });
  const sets = {
    free: [],
    plane: [on('coincident', 'face', 'face', { sense: 'opposite' })],
    hinge: [on('coincident', 'edge', 'edge'), on('coincident', 'corner', 'corner')],
    slide: [on('coincident', 'edge', 'edge'), on('parallel', 'face', 'face')],
    socket: [on('coincident', 'corner', 'corner')],
    'point on a line': [on('coincident', 'corner', 'edge')],
    'point on a plane': [on('coincident', 'corner', 'face')],
    thread: [on('distance', 'corner', 'corner', { value: 0.3 })],
    'about a line': [on('distance', 'corner', 'edge', { value: 0.2 })],
    'lines apart': [on('distance', 'edge', 'edge', { value: 0.2 })],
    'line at an angle': [on('angle', 'edge', 'edge', { value: 1.1 })],
    'rows alone': [on('distance', 'corner', 'corner', { value: 0.3 }), on('distance', 'other', 'edge', { value: 0.2 })],
  };
  for (const [name, constraints] of Object.entries(sets)) {
    const scene = (springs) => ({
      gravity: [0.4, -0.3, -1.5],
      objects: [
        ground,
        {
          ...sized('body', [0.2, 0.3, 0.1], { pose: { p: [0.1, 0.2, 0.1], q: about([0, 0.6, 0.8], 0.3) } }),
          body: { mass: 1.5, com: [0.02, -0.01, 0.03], inertia: [0.02, 0.03, 0.025, 0.001, 0, 0.002] },
          velocity: { v: [0.1, -0.2, 0.15], w: [0.5, 0.3, -0.7] },
        },
      ],
      features: [
        { id: 'body/corner', point: [0.1, 0.15, 0.05] },
        { id: 'body/other', point: [-0.1, 0.1, 0.05] },
        { id: 'body/edge', line: { point: [0.1, 0, 0.05], direction: [0, 1, 0] } },
        { id: 'body/face', plane: { point: [0, 0, -0.05], normal: [0, 0, -1] } },
        { id: 'ground/corner', point: [0, 0, 0.2] },
        { id: 'ground/edge', line: { point: [0, 0, 0.2], direction: [0.6, 0.8, 0] } },
        { id: 'ground/face', plane: { point: [0, 0, 0.1], normal: [0, 0, 1] } },
      ],
      constraints: constraints.map((c, i) => ({ id: `c${i}`, ...c })),
      springs,
    });
    const alone = run(scene([]), 1.001);
    const system = run(
      scene([
        { id: 's', a: { object: 'body', p: [0, 0, 0] }, b: { object: 'world', p: [5, 0, 0] }, stiffness: 0, length: 1 },
      ]),
      1.001,
    );
    assert.equal(alone.summary.mobility, system.summary.mobility, name);
    for (const k of [0, 300, 1000]) {
      const off = [far(alone.p(k, 'body'), system.p(k, 'body')), apart(alone.q(k, 'body'), system.q(k, 'body'))];
      off.push(far(alone.v(k, 'body'), system.v(k, 'body')), far(alone.w(k, 'body'), system.w(k, 'body')));
      assert.ok(Math.max(...off) < 1e-9, `${name}, tick ${k}: ${off}`);
    }
  }
});

test('solutions tell what the whole linkage may still do', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'four-bar' });
  for (const id of ['crank', 'coupler', 'rocker']) {
    const { system } = (await expect(200, 'GET', `/solutions/${id}`)).json;
    assert.deepEqual(system, {
      bodies: 3,
      mobility: 1,
      freedoms: 1,
      words: 'the linkage of 3 bodies has 1 freedom; this one moves with it',
    });
  }
  await expect(200, 'PATCH', '/objects/coupler', { massless: true });
  assert.equal((await expect(200, 'GET', '/solutions/coupler')).json.system, undefined);
});

// A body that two skew joints lock can move by no more than their rounding, which is no freedom.
test('a body that a loop locks stands still, whatever swings on it', async () => {
  const skew = (object, x, y) => {
    const axis = [x, y, 0.3].map((e) => e / Math.hypot(x, y, 0.3));
    return { object, at: { p: [x, y, 0.1], q: about(axis, 0.7) } };
  };
  const lock = (id, type, ...at) => ({ id, type, a: skew('mast', ...at), b: skew('world', ...at) });
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'locked',
    objects: ['mast', 'vane'].map((id) => ({ ...box(id, [0, 0, 0]), free: true })),
    joints: [
      lock('one', 'cylindrical', 0.13, 0.07),
      lock('two', 'universal', -0.11, 0.19),
      revolute('bearing', frame('vane'), frame('mast')),
    ],
  });
  const told = async (id) => (await expect(200, 'GET', `/solutions/${id}`)).json.system;
  const linkage = 'the linkage of 2 bodies has 1 freedom; this one';
  assert.deepEqual(await told('mast'), { bodies: 2, mobility: 1, freedoms: 0, words: `${linkage} stands still` });
  assert.deepEqual(await told('vane'), { bodies: 2, mobility: 1, freedoms: 1, words: `${linkage} moves with it` });
});

// A body that is joined to nothing else that moves: what its one relation leaves it.
const lone = [
  ['revolute', '1 freedom: turns about its axis (1)'],
  ['prismatic', '1 freedom: slides along its axis (1)'],
  ['cylindrical', '2 freedoms: slides along its axis (1), turns about it (1)'],
  ['universal', '2 freedoms: turns about two crossing axes (2)'],
  ['planar', '3 freedoms: slides in the plane (2), turns about its normal (1)'],
  ['spherical', '3 freedoms: turns about a point (3)'],
  ['fixed', '0 freedoms: stands still'],
];
for (const [type, words] of lone)
  test(`a body in one ${type} joint: ${words}`, async () => {
    const joints = [{ id: 'j', type, a: { object: 'part' }, b: { object: 'world' } }];
    await expect(200, 'PUT', '/scene', {
      format: 'guideway-scene/1',
      name: type,
      objects: [{ ...box('part', [0, 0, 0]), fixed: false, free: true }],
      joints,
    });
    assert.equal((await expect(200, 'GET', '/solutions/part')).json.words, words);
  });

test('bodies that slide and roll say so, marbles that may fly are no linkage', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'contact-freedoms' });
  const of = async (id) => (await expect(200, 'GET', `/solutions/${id}`)).json.words;
  assert.equal(await of('slides'), '5 freedoms: slides on the saddle (2), turns freely (3)');
  assert.equal(await of('rolls'), '3 freedoms: rolls on the saddle (2), turns about its normal (1)');
  assert.equal(await of('rolls-purely'), '2 freedoms: rolls on the saddle (2)');
  await expect(200, 'POST', '/scene/open', { scene: 'nozzle-over-hood' });
  assert.equal(await of('nozzle'), '3 freedoms: slides on the hood (2), turns about its normal (1)');
  await expect(200, 'POST', '/scene/open', { scene: 'blade-under-probe' });
  assert.equal(await of('probe'), '6 freedoms: free, as far as what it touches lets it go');
  await expect(200, 'POST', '/scene/open', { scene: 'marble-run' });
  assert.equal(await of('marble'), 'the system of 2 bodies has 12 freedoms; this one moves with it');
});

// Contacts along a line, or two curves that keep one tangent: by the number of freedoms.
const arch = (x, y) => ({
  type: 'nurbs-curve',
  degree: 2,
  knots: [0, 0, 0, 1, 1, 1],
  points: [
    [-x, -y, 0],
    [0, 0, 0.1],
    [x, y, 0],
  ],
});
const roller = { type: 'cylinder', radius: 0.03, height: 0.2 };
const block = { type: 'box', size: [0.4, 0.4, 0.02] };
const touches = [
  [
    'sliding',
    roller,
    'surface',
    block,
    '+z',
    '4 freedoms: slides on the below (2), turns about its normal (1), rolls (1)',
  ],
  ['rolling', roller, 'surface', block, '+z', '1 freedom: rolls on the below (1)'],
  ['pure-rolling', roller, 'surface', block, '+z', '1 freedom: rolls on the below (1)'],
  [
    'sliding',
    roller,
    'surface',
    roller,
    'surface',
    '3 freedoms: slides along the line (1), goes round the below (1), turns about its axis (1)',
  ],
  [
    'sliding',
    arch(0.2, 0),
    'curve',
    arch(0, 0.2),
    'curve',
    '3 freedoms: slides along both curves (2), turns about their tangent (1)',
  ],
  [
    'rolling',
    arch(0.2, 0),
    'curve',
    arch(0, 0.2),
    'curve',
    '2 freedoms: rolls along the below (1), turns about their tangent (1)',
  ],
];
for (const [type, geometry, feature, under, on, words] of touches)
  test(`${type} of ${feature} on ${on} says ${words}`, async () => {
    const body = { mass: 1, inertia: [1e-3, 1e-3, 1e-3, 0, 0, 0] };
    await expect(200, 'PUT', '/scene', {
      format: 'guideway-scene/1',
      name: type,
      objects: [
        { id: 'above', geometry, free: true, body, pose: { p: [0.01, 0.02, 0.1], q: [1, 0, 0, 0] } },
        { id: 'below', geometry: under, fixed: true },
      ],
      constraints: [{ id: 'touch', type, a: `above/${feature}`, b: `below/${on}` }],
    });
    assert.equal((await expect(200, 'GET', '/solutions/above')).json.words, words);
  });

const refused = [
  ['a joint on nothing', (s) => (s.joints[0].a.object = 'nobody'), '/joints/0/a/object', /nobody/],
  ['a joint of an object with itself', (s) => (s.joints[1].b = { object: 'coupler' }), '/joints/1', /coupler/],
  ['a type that is none', (s) => (s.joints[0].type = 'hinge'), '/joints/0/type', /revolute/],
  ['too many coordinates', (s) => (s.joints[0].position = [1, 2]), '/joints/0/position', /1/],
  ['a screw without pitch', (s) => (s.joints[0].type = 'screw'), '/joints/0/pitch', /pitch|missing/],
  [
    'a gear of what is no joint',
    (s) => s.joints.push({ id: 'g', type: 'gear', joints: ['j1', 'nobody'], ratio: 1 }),
    '/joints/4/joints/1',
    /nobody/,
  ],
  ['limits the wrong way round', (s) => (s.joints[0].limits = [[1, -1]]), '/joints/0/limits/0', /-?1/],
  [
    'a start beyond the limits',
    (s) => Object.assign(s.joints[0], { limits: [[-1, 1]], position: [2] }),
    '/joints/0/position',
    /limits/,
  ],
  ['a restitution above one', (s) => (s.joints[0].restitution = 2), '/joints/0/restitution', /1/],
  [
    'a spring that pushes apart',
    (s) => (s.springs = [{ id: 's', a: { object: 'crank' }, b: { object: 'world' }, stiffness: -1 }]),
    '/springs/0/stiffness',
    /0 or more/,
  ],
  [
    'friction of a ball about one axis',
    (s) => Object.assign(s.joints[0], { type: 'spherical', friction: [0, 0, 1] }),
    '/joints/0/friction',
    /spherical/,
  ],
  [
    'limits of a ball from below',
    (s) => Object.assign(s.joints[0], { type: 'spherical', limits: [[-1, 1], null, null] }),
    '/joints/0/limits/0',
    /swing/,
  ],
  ['two joints of one name', (s) => (s.joints[1].id = 'j1'), '/joints/1/id', /taken/],
  [
    'a loop that cannot close',
    (s) => (s.joints[2].b.at.p = [5, 0, 0]),
    '/joints/',
    /j1, j2, j3 and 1 more cannot hold together with what else joins these bodies/,
  ],
];
for (const [what, change, pointer, words] of refused)
  test(`refused: ${what}`, () => {
    const scene = structuredClone(linkage('joints'));
    change(scene);
    const done = command(scene, '--seconds', '0.01');
    assert.equal(done.status, 2, done.stdout);
    assert.match(done.stderr, words);
    assert.ok(done.stderr.includes(pointer), done.stderr);
  });

test('a joint that is made while it runs catches a body, one that is removed lets it go', async () => {
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'caught',
    gravity: [0, -G, 0],
    objects: [ground, rod('a', 1, [0.5, 0, 0], 0), rod('b', 1, [1.5, 0, 0], 0)],
    joints: [revolute('hip', frame('a', [-0.5, 0, 0]), frame('world'))],
  });
  await set('paused');
  await expect(200, 'POST', '/simulation/step', { ticks: 100 });
  await until('both fell', async () => (await now()).bodies.find((b) => b.object === 'b').pose.p[1] < -0.04);
  await expect(201, 'POST', '/joints', revolute('knee', frame('b', [-0.5, 0, 0]), frame('a', [0.5, 0, 0])));
  await set('running');
  await until('they are on their way', async () => (await now()).bodies.every((b) => b.travelling));
  const end = ({ pose }, x) => add(pose.p, rotate(pose.q, [x, 0, 0]));
  const gap = async () => {
    const { bodies } = await now(),
      of = (id) => bodies.find((b) => b.object === id);
    return far(end(of('a'), 0.5), end(of('b'), -0.5));
  };
  await until('they are joined', async () => (await gap()) < 1e-9);
  await until('they are said to be', async () => !(await now()).bodies.some((b) => b.travelling));
  for (let i = 0; i < 20; i++) assert.ok((await gap()) < 1e-9);
  await expect(204, 'DELETE', '/joints/knee');
  await until('it is let go', async () => (await gap()) > 0.05);
});

// Solid cylinders about y: a fixed one of radius `R`, and one of 1 kg that has radius 0.1 and turns there.
const aside = about([1, 0, 0], -Math.PI / 2);
function twoCylinders(R, { p, q = aside, type = 'rolling', gravity = [0, 0, 0], ...more }) {
  return {
    gravity,
    objects: [
      {
        id: 'bed',
        geometry: { type: 'cylinder', radius: R, height: 1 },
        pose: { p: [0, 0, 0], q: aside },
        fixed: true,
      },
      {
        id: 'log',
        geometry: { type: 'cylinder', radius: 0.1, height: 0.4 },
        free: true,
        pose: { p, q },
        body: { mass: 1, com: [0, 0, 0], inertia: [0.02, 0.02, 0.005, 0, 0, 0] },
      },
    ],
    constraints: [{ id: 'touch', type, a: 'log/surface', b: 'bed/surface', ...more }],
  };
}
const leaning = (away, angle) => [away * Math.sin(angle), 0, away * Math.cos(angle)];

test('a cylinder rolls in a trough as a pendulum of three halves of the way between the axes', () => {
  // small enough for the series of the period to end
  const tilt = 0.2,
    slow = 1 + tilt ** 2 / 16 + (11 * tilt ** 4) / 3072 + (173 * tilt ** 6) / 737280 + (22931 * tilt ** 8) / 1321205760;
  const g = 1.5 * 0.4 * (Math.PI * slow) ** 2; // back after 2 s
  const start = leaning(-0.4, tilt);
  const r = run(twoCylinders(0.5, { p: start, gravity: [0, 0, -g], inside: true }), 2.001);
  assert.equal(r.summary.mobility, 1);
  closed(r);
  assert.ok(far(r.p(1000, 'log'), [-start[0], 0, start[2]]) < 1e-9, `${r.p(1000, 'log')}`);
  assert.ok(far(r.p(2000, 'log'), start) < 1e-9, `${r.p(2000, 'log')}`);
  assert.ok(Math.abs(r.w(500, 'log')[1] * 0.1 - r.v(500, 'log')[0]) < 1e-9, 'it does not slip at the lowest point');
});

test('cylinders: parallel ones stay in line, crossed ones touch in a point', () => {
  for (const [type, line, point] of [
    ['sliding', 3, 5],
    ['rolling', 1, 3],
    ['pure-rolling', 1, 2],
  ]) {
    // a little skew and off: it is put down
    const skew = about([0.6, 0.8, 0], 0.03),
      q = [
        skew[0] * aside[0] - skew[1] * aside[1],
        skew[0] * aside[1] + skew[1] * aside[0],
        skew[2] * aside[0] - skew[3] * aside[1],
        skew[3] * aside[0] + skew[2] * aside[1],
      ];
    const put = run(twoCylinders(0.3, { p: [0.01, 0, 0.405], q, type }), 0.2);
    assert.equal(put.summary.mobility, line, type);
    closed(put);
    const axis = rotate(put.q(0, 'log'), [0, 0, 1]);
    assert.ok(Math.hypot(axis[0], axis[2]) < 1e-12, `${axis}`);
    const across = run(
      twoCylinders(0.3, { p: [0.01, 0, 0.41], q: about([0, 0.8, 0.6], 1.2), type, gravity: [0, 0, -G] }),
      0.5,
    );
    assert.equal(across.summary.mobility, point, type);
    closed(across);
  }
});

test('a cylinder that may part rolls off another one where nothing presses any more', () => {
  const start = 0.1,
    leaves = Math.acos((4 * Math.cos(start)) / 7);
  const r = run(twoCylinders(0.5, { p: leaning(0.6, start), gravity: [0, 0, -G], contact: 'unilateral' }), 1.2);
  const away = (k) => Math.hypot(...r.p(k, 'log')) - 0.6;
  let k = 0;
  while (k < r.count && away(k) < 1e-7) k++;
  assert.ok(k < r.count, 'it parts');
  const [x, , z] = r.p(k, 'log'),
    angle = Math.atan2(x, z);
  assert.ok(angle > leaves - 0.01 && angle < leaves + 0.03, `${angle}, ${leaves}`);
  near(r.v(k + 20, 'log')[0], r.v(k + 1, 'log')[0], 1e-9); // nothing holds it back
});

test('a joint tells the force and torque that it bears', async () => {
  const side = frame('world', [1, 0, 0]),
    weld = { id: 'weld', type: 'fixed', a: frame('c', [-0.5, 0, 0]), b: frame('world', [0, 2, 0]) };
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'statics',
    gravity: [0, -G, 0],
    objects: [
      rod('hangs', 1, [0, -0.5, 0], -Math.PI / 2),
      rod('leans', 1, [1.5, 0, 0], 0),
      rod('c', 1, [0.5, 2, 0], 0),
      rod('span', 1, [0.5, 3, 0], 0),
      rod('sags', 1, [3.5, 0, 0], 0),
    ],
    joints: [
      revolute('hinge', frame('hangs', [-0.5, 0, 0]), frame('world')),
      weld,
      revolute('stop', side, frame('leans', [-0.5, 0, 0]), { limits: [[-1, 0]] }),
      revolute('left', frame('span', [-0.5, 0, 0]), frame('world', [0, 3, 0])),
      revolute('right', frame('world', [1, 3, 0]), frame('span', [0.5, 0, 0])),
      revolute('sprung', frame('sags', [-0.5, 0, 0]), frame('world', [3, 0, 0]), {
        position: [0],
        spring: { stiffness: [1e4], rest: [G / 2 / 1e4] },
      }),
    ],
  });
  await set('running');
  await until('it has run', async () => (await now()).tick > 50);
  const state = async (id) => (await expect(200, 'GET', `/joints/${id}`)).json.state;
  const bears = async (id, force, torque) => {
    const told = await state(id);
    assert.ok(far(told.force, force) < 1e-6 && far(told.torque, torque) < 1e-6, `${id}: ${JSON.stringify(told)}`);
  };
  await bears('hinge', [0, G, 0], [0, 0, 0]);
  await bears('weld', [0, G, 0], [0, 0, G / 2]);
  await bears('stop', [0, -G, 0], [0, 0, -G / 2]); // of the bar on the world
  await bears('sprung', [0, G, 0], [0, 0, G / 2]);
  const [left, right] = [await state('left'), await state('right')];
  near(left.force[1] - right.force[1], G, 1e-9); // one closes a loop
  near(left.torque[2] - right.torque[2] - right.force[1], G / 2, 1e-9);
});

test('the columns that --wrenches adds are what a hinge bears, in closed form', () => {
  const file = join(folder, 'wrenches.csv');
  const done = command(
    {
      gravity: [0, -G, 0],
      objects: [rod('bar', 1, [0.5, 0, 0], 0)],
      joints: [revolute('hinge', frame('bar', [-0.5, 0, 0]), frame('world'))],
    },
    ...['--seconds', '2', '--csv', file, '--wrenches', '--bodies', join(folder, 'bar.csv')],
  );
  assert.equal(done.status, 0, done.stderr);
  const swing = table(join(folder, 'bar.csv')),
    { head, rows, get } = table(file);
  assert.deepEqual(
    head.slice(-6),
    ['fx', 'fy', 'fz', 'tx', 'ty', 'tz'].map((name) => `hinge.${name}`),
  );
  for (let k = 0; k < rows.length; k++) {
    const [q, rate] = [swing.get(k, 'hinge.q0'), swing.get(k, 'hinge.v0')];
    const spin = -1.5 * G * Math.cos(q),
      [c, s] = [Math.cos(q) / 2, Math.sin(q) / 2];
    const force = [-spin * s - rate ** 2 * c, spin * c - rate ** 2 * s + G, 0];
    const told = ['fx', 'fy', 'fz', 'tx', 'ty', 'tz'].map((name) => get(k, `hinge.${name}`));
    assert.ok(far(told, [...force, 0, 0, 0]) < 1e-9, `tick ${k}: ${told}, ${force}`);
  }
  const nowhere = command({ objects: [] }, '--wrenches');
  assert.equal(nowhere.status, 2);
  assert.match(nowhere.stderr, /--csv/);
});

// A bar on two balls: all that the closing one may bear along the bar is redundant, so it bears none of it.
for (const angle of [0.3, 0.8, 1.3])
  test(`redundant rows share a load so that their forces are the least: a bar at ${angle} rad`, () => {
    const file = join(folder, 'shares.csv'),
      along = [Math.cos(angle), Math.sin(angle), 0];
    const ball = (id, x, p) => ({ id, type: 'spherical', a: frame('bar', [x, 0, 0]), b: frame('world', p) });
    const scene = {
      gravity: [0, -G, 0],
      objects: [rod('bar', 1, [0.5 * along[0], 0.5 * along[1], 0], angle)],
      joints: [ball('left', -0.5, [0, 0, 0]), ball('right', 0.5, along)],
    };
    const done = command(scene, '--seconds', '0.1', '--csv', file, '--wrenches');
    assert.equal(done.status, 0, done.stderr);
    const { get } = table(file);
    const [left, right] = ['left', 'right'].map((id) => ['fx', 'fy', 'fz'].map((name) => get(-1, `${id}.${name}`)));
    near(dot(right, along), 0, 1e-9);
    near(dot(left, along), G * along[1], 1e-9);
    assert.ok(far(add(left, right), [0, G, 0]) < 1e-9);
    assert.equal(JSON.parse(done.stdout).mobility, 1);
  });

// A body's own damping is a load, as its weight is: the hinge bears it.
for (const [linear, angular] of [
  [2, 0.1],
  [1e4, 0],
])
  test(`a hinge bears what damps its bar: ${linear} N s/m, ${angular} N m s/rad`, () => {
    const file = join(folder, 'damped.csv');
    const bar = rod('bar', 1, [0.5, 0, 0], 0);
    bar.body.damping = { linear, angular };
    for (const held of [false, true]) {
      const scene = {
        gravity: [0, -G, 0],
        objects: [bar],
        joints: [revolute('hinge', frame('bar', [-0.5, 0, 0]), frame('world'))],
        ...(held && {
          tool: { object: 'bar', device: 'sim', control: 'admittance' },
          devices: [{ id: 'sim', driver: 'sim' }],
        }),
      };
      const swings = join(folder, 'bar.csv');
      const done = command(scene, ...['--seconds', '1', '--csv', file, '--wrenches', '--bodies', swings]);
      assert.equal(done.status, 0, done.stderr);
      const swing = table(swings),
        { rows, get } = table(file);
      for (let k = 20; k < rows.length; k++) {
        const [q, rate] = [swing.get(k, 'hinge.q0'), swing.get(k, 'hinge.v0')];
        const [c, s] = [Math.cos(q) / 2, Math.sin(q) / 2];
        const drag = (linear / 4 + angular) * rate;
        const spin = linear > 100 ? 0 : -3 * (G * c + drag);
        const force = [-(spin + linear * rate) * s - rate ** 2 * c, (spin + linear * rate) * c - rate ** 2 * s + G, 0];
        const told = ['fx', 'fy', 'fz', 'tx', 'ty', 'tz'].map((name) => get(k, `hinge.${name}`));
        assert.ok(far(told, [...force, 0, 0, 0]) < (linear > 100 ? 1e-4 : 1e-9), `tick ${k}: ${told}, ${force}`);
        if (held) near(get(k, 'lambda_f'), Math.hypot(...force), 1e-4);
      }
    }
  });

// A hit belongs to the end of its tick: the row has what the hinge bears as the tick begins.
for (const restitution of [0, 0.5])
  test(`a hinge bears what its bar needs, where that hits its limit too: restitution ${restitution}`, () => {
    const file = join(folder, 'hits.csv'),
      ends = { limits: [[-0.3, 1]], restitution };
    const done = command(
      {
        gravity: [0, -G, 0],
        objects: [rod('bar', 1, [0.5, 0, 0], 0)],
        joints: [revolute('hinge', frame('bar', [-0.5, 0, 0]), frame('world'), ends)],
      },
      ...['--seconds', '1.5', '--csv', file, '--wrenches', '--bodies', join(folder, 'bar.csv')],
    );
    assert.equal(done.status, 0, done.stderr);
    const swing = table(join(folder, 'bar.csv')),
      { rows, get } = table(file);
    const told = (k) => ['fx', 'fy', 'fz', 'tx', 'ty', 'tz'].map((name) => get(k, `hinge.${name}`));
    // momentum of the bar, and its moment about the hinge
    const momentum = (q, rate) => [-Math.sin(q), Math.cos(q), 0, 0, 0, 2 / 3].map((x) => (rate * x) / 2);
    let hits = 0,
      rests = 0;
    for (let k = 0; k + 1 < rows.length; k++) {
      const [q, rate, next, after] = [k, k + 1].flatMap((i) => [swing.get(i, 'hinge.q0'), swing.get(i, 'hinge.v0')]);
      if (restitution && told(k)[5] > 1) break; // it has come to rest
      const pressed = q < -0.3 + 1e-9 && Math.abs(rate) < 1e-6;
      const spin = pressed ? 0 : -1.5 * G * Math.cos(q),
        [c, s] = [Math.cos(q) / 2, Math.sin(q) / 2];
      const force = [-spin * s - rate ** 2 * c, spin * c - rate ** 2 * s + G, 0];
      const needed = [...force, 0, 0, pressed ? G * c : 0];
      assert.ok(far(told(k), needed) < 1e-6, `tick ${k}: ${told(k)}, ${needed}`);
      rests += pressed;
      const hit = after > rate + 1e-3;
      hits += hit;
      if (hit || Math.abs(told(k + 1)[5] - told(k)[5]) > 1) continue;
      const sum = add(told(k), told(k + 1)).map((x) => (0.001 * x) / 2);
      const weight = [0, -G, 0, 0, 0, (-G * (Math.cos(q) + Math.cos(next))) / 4].map((x) => 0.001 * x);
      const gained = add(momentum(next, after), momentum(q, rate), -1);
      assert.ok(far(add(sum, weight), gained) < 1e-7, `tick ${k}: ${add(sum, weight)}, ${gained}`);
    }
    assert.ok(restitution ? hits > 3 : hits === 1 && rests > 500, `${hits} hits, ${rests} ticks at rest`);
  });

test('links of a mechanism bear what the same bodies bear in joints, a limit included', () => {
  const bar = { mass: 1, com: [0.5, 0, 0], inertia: [0.01, 1 / 12, 1 / 12, 0, 0, 0] },
    body = { mass: 1, com: [0, 0, 0], inertia: bar.inertia };
  const limits = { lower: -0.3, upper: 0.3 },
    axis = [0, 0, 1];
  const scenes = {
    joints: {
      objects: [rod('one', 1, [0.5, 0, 0], 0), rod('two', 1, [1.5, 0, 0], 0)].map((o) => ({ ...o, body })),
      joints: [
        revolute('first', frame('one', [-0.5, 0, 0]), frame('world')),
        revolute('second', frame('two', [-0.5, 0, 0]), frame('one', [0.5, 0, 0]), {
          limits: [[limits.lower, limits.upper]],
        }),
      ],
    },
    mechanism: {
      mechanisms: [
        {
          id: 'arm',
          links: [
            { joint: { type: 'revolute', origin: { p: [0, 0, 0] }, axis }, ...bar },
            { joint: { type: 'revolute', origin: { p: [1, 0, 0] }, axis, limits }, ...bar },
          ],
        },
      ],
    },
  };
  const told = Object.entries(scenes).map(([way, scene]) => {
    const file = join(folder, `${way}-wrenches.csv`);
    const done = command({ gravity: [0, -G, 0], ...scene }, '--seconds', '2', '--csv', file, '--wrenches');
    assert.equal(done.status, 0, done.stderr);
    const { head, rows } = table(file);
    return { head: head.slice(-12), rows: rows.map((row) => row.slice(-12).map(Number)) };
  });
  const parts = ['fx', 'fy', 'fz', 'tx', 'ty', 'tz'];
  assert.deepEqual(
    told[1].head,
    ['arm.0', 'arm.1'].flatMap((id) => parts.map((part) => `${id}.${part}`)),
  );
  assert.equal(told[0].rows.length, told[1].rows.length);
  let most = 0;
  told[0].rows.forEach((row, k) => {
    most = Math.max(most, ...row.slice(9).map(Math.abs));
    assert.ok(far(row, told[1].rows[k]) < 1e-7, `tick ${k}: ${row}, ${told[1].rows[k]}`);
  });
  assert.ok(most > 1, `the limit bears ${most} N m`);
});

// The four-bar's pins where the bodies are: how far they are open, and the greatest speed of a body.
async function fourBar(ground, coupler) {
  const { bodies } = await now(),
    of = (id) => bodies.find((b) => b.object === id);
  const end = ({ pose }, x) => add(pose.p, rotate(pose.q, [x, 0, 0]));
  const pin = (x) => add(ground.p, rotate(ground.q, [x, 0, 0.02]));
  const gaps = [
    far(of('crank').pose.p, pin(-0.15)),
    far(of('rocker').pose.p, pin(0.15)),
    far(end(of('crank'), 0.1), of('coupler').pose.p),
    far(end(of('coupler'), coupler), end(of('rocker'), 0.2)),
  ];
  return { open: Math.max(...gaps), speed: Math.max(...bodies.map((b) => Math.hypot(...b.twist.v))) };
}

// It rises to its highest place at 0.55 s, where it passes to the other side, is back there at 1.65 s and sinks on the side
// where the scene has it. An edit that acts after it has left that side is made anew: arms may then fold either way.
test('an arm amid the scissor lift may be fixed as it runs: where it stands, or where the scene has it', async () => {
  const moments = [
    { what: 'rises', tick: 90, height: 0.46, leaves: 540 },
    { what: 'sinks', tick: 1730, height: 0.8, leaves: 2740 },
  ];
  const lift = async () => {
    const { bodies } = await now();
    return { bodies, pose: (id) => bodies.find((b) => b.object === id).pose };
  };
  const actedAt = async (etag) => (await events('active')).find(({ revision }) => `"${revision}"` === etag)?.tick;
  for (const id of ['rise1', 'fall1', 'fall2'])
    for (const stands of [true, false])
      for (const { what, tick, height, leaves } of moments) {
        let pose;
        await until(`an edit while it ${what}`, async () => {
          await expect(200, 'POST', '/scene/open', { scene: 'scissor-lift' });
          await set('paused');
          await expect(200, 'POST', '/simulation/step', { ticks: tick });
          await until('it has stepped', async () => (await now()).tick >= tick);
          const before = await lift();
          near(before.pose('deck').p[2], height, 0.01);
          const arm = before.pose(id);
          await set('running');
          const edit = await expect(200, 'PATCH', `/objects/${id}`, { fixed: true, ...(stands && { pose: arm }) });
          ({ pose } = edit.json);
          if (stands) assert.deepEqual(pose, arm);
          return (await until('it is active', () => actedAt(edit.headers.etag))) < leaves;
        });
        const deck = (pose.p[2] * 6) / (id === 'fall2' ? 5 : 3); // arms cross at 1, 3 and 5 sixths of its height
        await until('it rests', async () => {
          const after = await lift();
          return (
            Math.abs(after.pose('deck').p[2] - deck) < 1e-9 &&
            after.bodies.every((b) => Math.hypot(...b.twist.v) < 1e-9)
          );
        });
      }
});

// The last joint asks the two bars before it to lie in line, where a limit does not let them go.
test('motors of joints take new targets while they move, in trees and in loops', async () => {
  const servo = (target) => ({ target, stiffness: 20, damping: 2 });
  const joint = (id, type, object, targets, more = {}) => ({
    id,
    type,
    a: frame(object),
    b: frame('world'),
    motor: targets.map(servo),
    ...more,
  });
  const joints = [
    joint('ball', 'spherical', 'a', [0.2, 0, 0]),
    joint('table', 'planar', 'b', [0, 0, 0]),
    joint('again', 'planar', 'b', [0, 0, 0], { damping: [1, 1, 1] }), // closes a loop
  ];
  const object = (id, x) => ({ ...rod(id, 1, [x, 0, 0], 0), free: true });
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'servos',
    objects: [object('a', 0), object('b', 0)],
    joints,
  });
  await set('paused');
  const step = async (ticks) => {
    const to = (await now()).tick + ticks;
    await expect(200, 'POST', '/simulation/step', { ticks });
    await until('it has stepped', async () => (await now()).tick >= to);
  };
  const at = async (id) => (await expect(200, 'GET', `/joints/${id}`)).json.state.position;
  const is = async (id, targets) => (await at(id)).forEach((x, i) => near(x, targets[i], 1e-5));
  const kinds = async (etag) =>
    (await expect(200, 'GET', '/events')).json.filter((e) => `"${e.revision}"` === etag).map((e) => e.kind);
  await step(4000);
  await is('ball', [0.2, 0, 0]);
  for (const [id, motor] of [
    ['ball', [0.1, -0.3, 0.5].map(servo)],
    ['table', [0.3, -0.1, 0.4].map(servo)],
    ['again', [0.3, -0.1, 0.4].map(servo)],
  ]) {
    const { headers } = await expect(200, 'PATCH', `/joints/${id}`, { motor });
    await step(1);
    await until('it is active', async () => (await kinds(headers.etag)).includes('active'));
  }
  await step(6000);
  await is('ball', [0.1, -0.3, 0.5]);
  await is('table', [0.3, -0.1, 0.4]);
  const { headers } = await expect(200, 'PATCH', '/joints/ball', { motor: [null, servo(0), null] });
  await step(1);
  await until('it is active', async () => (await kinds(headers.etag)).includes('active'));
});

// Nothing but the coordination spring: on a lone hinge as on the coupler of a parallelogram.
test('under four channels a push along resisted directions leaves the device at F/K_pc', () => {
  const hinge = (id, of, x, to, at) => revolute(id, frame(of, [x, 0, 0]), frame(to, at));
  const scenes = [
    { objects: [rod('c', 1, [0.5, 0, 0], 0)], joints: [hinge('j', 'c', -0.5, 'world', [0, 0, 0])] },
    {
      objects: [
        rod('l', 1, [0, 0.5, 0], Math.PI / 2),
        rod('c', 1, [0.5, 1, 0], 0),
        rod('r', 1, [1, 0.5, 0], Math.PI / 2),
      ],
      joints: [
        hinge('j1', 'l', -0.5, 'world', [0, 0, 0]),
        hinge('j2', 'c', -0.5, 'l', [0.5, 0, 0]),
        hinge('j3', 'c', 0.5, 'r', [0.5, 0, 0]),
        hinge('j4', 'r', -0.5, 'world', [1, 0, 0]),
      ],
    },
  ];
  for (const parts of scenes)
    for (const [coordination, stiffness] of [
      [undefined, 100],
      [{ linear: 2000, linear_damping: 90, angular: 1, angular_damping: 0.1 }, 2000],
    ]) {
      const { tool } = run(
        {
          ...parts,
          tool: { object: 'c', device: 'd', control: 'four-channel', rendering: coordination && { coordination } },
          devices: [
            {
              id: 'd',
              driver: 'sim-impedance',
              operator: { type: 'wrench', samples: [{ t: 0, force: [0, 0, 3], torque: [0, 0, 0] }] },
            },
          ],
        },
        4,
      );
      near(tool(3999, 'error_p') * stiffness, 3, 2e-2);
    }
});

test('a transition whose steps fail ends, and no energy comes of it', async () => {
  const bar = (id, x, y, angle) => ({ ...rod(id, 1, [x, y, 0], angle), free: true });
  const [x, y] = [Math.cos(0.3), Math.sin(0.3)],
    [start, end] = [
      [-0.5, 0, 0],
      [0.5, 0, 0],
    ];
  const wrench = (force) => ({ type: 'wrench', samples: [{ t: 0, force, torque: [0, 0, 0] }] });
  for (const ticks of [50, 250]) {
    await expect(200, 'PUT', '/scene', {
      format: 'guideway-scene/1',
      name: 'in line',
      gravity: [0, -2, 0],
      objects: [bar('l', x / 2, y / 2, 0.3), bar('c', x + 0.5, y, 0), bar('r', x / 2 + 1, y / 2, 0.3)],
      joints: [
        revolute('A', frame('l', start), frame('world'), { limits: [[0.2, 2.5]], restitution: 0.5 }),
        { id: 'B', type: 'spherical', a: frame('c', start), b: frame('l', end) },
        revolute('C', frame('c', end), frame('r', end), { damping: [0.5] }),
      ],
      tools: [
        { object: 'c', at: { p: [0.2, 0.1, 0] }, device: 'left', control: 'four-channel' },
        { object: 'l', at: { p: [0.1, 0, 0] }, device: 'right' },
      ],
      devices: [
        { id: 'left', driver: 'sim-impedance', operator: wrench([1, 3, 0]) },
        { id: 'right', driver: 'sim', operator: wrench([0, 1.5, 0]) },
      ],
    });
    await set('paused');
    const step = async (ticks) => {
      const to = (await now()).tick + ticks;
      await expect(200, 'POST', '/simulation/step', { ticks });
      await until('it has stepped', async () => (await now()).tick >= to);
    };
    await step(ticks);
    await expect(201, 'POST', '/joints', {
      id: 'D',
      type: 'universal',
      a: frame('r', start),
      b: frame('world', [1, 0, 0]),
    });
    await step(500);
    const { energy: e } = await now();
    assert.ok(Math.abs(e.edits) < 200 && e.dissipated < 200, JSON.stringify(e));
    near(e.kinetic + e.potential, e.initial + e.work_in - e.dissipated + e.edits, 1e-9);
  }
});

test('a four-bar rides on its ground when that is patched, and takes a new length without a jump', async () => {
  await expect(200, 'POST', '/scene/open', { scene: 'four-bar' });
  await set('running');
  let ground = { p: [0.15, 0, -0.02], q: [1, 0, 0, 0] },
    fastest = 0;
  for (let k = 1; k <= 100; k++) {
    ground = {
      p: [0.15 + 0.05 * Math.sin(k / 20), 0.04 * Math.sin(k / 15), -0.02],
      q: [Math.cos(k / 400), 0, 0, Math.sin(k / 400)],
    };
    await expect(200, 'PATCH', '/objects/ground', { pose: ground });
  }
  await until('it is there', async () => (await fourBar(ground, 0.3)).open < 1e-9);
  await expect(200, 'PATCH', '/features/coupler/far', { line: { point: [0.32, 0, 0], direction: [0, 0, 1] } });
  await until('it has its new length', async () => {
    const { open, speed } = await fourBar(ground, 0.32);
    fastest = Math.max(fastest, speed);
    return open < 1e-9;
  });
  assert.ok(fastest < 2, `${fastest} m/s`);
  const { energy: e } = await now();
  near(e.kinetic + e.potential, e.initial + e.work_in + e.motors - e.dissipated + e.edits, 1e-8);
});

test('a ground that carries joints is a value: what hangs on it goes along', async () => {
  await expect(200, 'PUT', '/scene', {
    format: 'guideway-scene/1',
    name: 'hung',
    gravity: [0, -G, 0],
    objects: [box('beam', [0, 0, 0], { fixed: true }), rod('a', 1, [0, -0.5, 0], -90)],
    joints: [revolute('hip', frame('a', [-0.5, 0, 0]), frame('beam'))],
  });
  await set('running');
  await expect(200, 'PATCH', '/objects/beam', { pose: { p: [0.3, 0.1, 0], q: [1, 0, 0, 0] } });
  await until('it hangs there', async () => {
    const { pose } = (await now()).bodies.find((b) => b.object === 'a');
    return far(add(pose.p, rotate(pose.q, [-0.5, 0, 0])), [0.3, 0.1, 0]) < 1e-9;
  });
});

// The rest of a motion that is not allowed is rounding, which is not reported.
test('wheels that gears lock lose their motion with one event', () => {
  const wheel = (id, x) => sized(id, [0.1, 0.1, 0.02], { pose: { p: [x, 0, 0], q: [1, 0, 0, 0] } });
  const hinge = (id, body, x, more) => revolute(id, frame(body), frame('world', [x, 0, 0]), more);
  const gear = (id, ...joints) => ({ id, type: 'gear', joints, ratio: -1 });
  const { summary, get, count } = run(
    {
      gravity: [0, 0, 0],
      objects: [wheel('a', 0), wheel('b', 1), wheel('c', 2)],
      joints: [
        hinge('j', 'a', 0, { velocity: [1] }),
        hinge('k', 'b', 1),
        hinge('l', 'c', 2),
        gear('g1', 'j', 'k'),
        gear('g2', 'k', 'l'),
        gear('g3', 'l', 'j'),
      ],
    },
    0.05,
  );
  assert.deepEqual(
    summary.events.map((e) => e.kind),
    ['projected'],
  );
  assert.equal(summary.mobility, 0);
  near(get(count - 1, 'j.v0'), 0, 1e-12);
});

test('stated velocities that the relations do not allow are projected, and that is told', async () => {
  const still = box('wall', [0, 0, 0], { fixed: true });
  // a door along x from its hinge at the origin, and the velocity that it states
  const door = (v, w = [0, 0, 0]) => box('door', [0.2, 0, 0], { free: true, velocity: { v, w } });
  const hip = (more) => revolute('hip', frame('door', [-0.2, 0, 0]), frame('wall'), more);
  const pin = (id, x) => ({ id, line: { point: [x, 0, 0], direction: [0, 0, 1] } });
  const hinge = {
    features: [pin('door/pin', -0.2), pin('wall/pin', 0)],
    constraints: [
      { id: 'pin', type: 'coincident', a: 'door/pin', b: 'wall/pin', sense: 'same' },
      { id: 'level', type: 'coincident', a: 'door/-z', b: 'wall/-z', sense: 'same' },
    ],
  };
  const turning = [
    [0, 0.2, 0],
    [0, 0, 1],
  ];
  const bolt = (v) => box('bolt', [0, 0, 0.3], { free: true, velocity: { v: [v, 0, 0], w: [0, v, 0] } });
  const weld = { id: 'weld', type: 'fixed', a: frame('bolt'), b: frame('wall', [0, 0, 0.3]) };
  const linked = linkage('joints');
  const barred = (stated) => ({ ...linked, joints: linked.joints.map((j) => ({ ...j, ...stated[j.id] })) });
  const cases = [
    [{ objects: [still, door(...turning)], joints: [hip()] }],
    [{ objects: [still, door([0.1, 0.2, 0], [0, 0, 1])], joints: [hip()] }, /door/],
    [{ objects: [still, door(...turning)], joints: [hip({ velocity: [2] })] }, /door/],
    [{ objects: [still, door([0, 0, 0])], joints: [hip({ velocity: [2] })] }],
    [{ objects: [still, door(...turning)], ...hinge }],
    [{ objects: [still, door([0, 0.2, 0])], ...hinge }, /door/],
    [barred({ j1: { velocity: [1] } })],
    [barred({ j1: { velocity: [1] }, j2: { velocity: [0] }, j3: { velocity: [0] } }), /crank|coupler|rocker/],
    // beside the door a bolt that stands still, with a velocity of rounding's size, and with one that is none
    [{ objects: [still, door(...turning), bolt(1e-16)], joints: [hip(), weld] }],
    [{ objects: [still, door(...turning), bolt(1e-4)], joints: [hip(), weld] }, /bolt/],
    [barred({ j1: { velocity: [1] }, j2: { velocity: [1] }, j3: { velocity: [1] }, j4: { velocity: [1] } }), /./],
  ];
  // two hinges on one axis that state positions: the same, and another one
  const pinned = (at) => revolute('hinge', frame('door', [-0.2, 0, 0.1]), frame('wall', [0, 0, 0.1]), { position: at });
  for (const [at, who] of [
    [[0.3]],
    [[0.3004]],
    [[0.3 + 2 * Math.PI]],
    [[0.5], /door .*joint hinge is at 0.3 instead of 0.5/],
  ])
    cases.push([{ objects: [still, door([0, 0, 0])], joints: [hip({ position: [0.3] }), pinned(at)] }, who]);
  for (const [scene, who] of cases) {
    await set('stopped');
    const { seq } = (await expect(200, 'GET', '/events')).json.at(-1);
    await expect(200, 'PUT', '/scene', { format: 'guideway-scene/1', name: 'stated', gravity: [0, 0, 0], ...scene });
    await set('running');
    await until('it runs', async () => (await now()).tick > 2);
    const projected = async () =>
      (await expect(200, 'GET', `/events?since=${seq}`)).json.filter((e) => e.kind === 'projected');
    // events are written a little after the tick that they belong to
    if (who) await until('that is told', async () => (await projected()).length > 0);
    else await sleep(100);
    const told = await projected();
    assert.equal(told.length, who ? 1 : 0, JSON.stringify([scene, told]));
    if (!who) continue;
    assert.match(told[0].message, who, told[0].message);
    if (told[0].joint) {
      assert.equal(told[0].joint, 'hinge');
      near(told[0].stated, 0.5, 1e-15);
      near(told[0].actual, 0.3, 1e-12);
    } else assert.match(told[0].message, /another velocity than stated/);
    assert.equal(told[0].severity, 'warning');
  }
});

test('a ball joint begins within its limits, and refuses a stated position beyond them', () => {
  const q = (x, y, z) => {
    const a = Math.hypot(x, y, z);
    return [Math.cos(a / 2), ...[x, y, z].map((c) => (c / a) * Math.sin(a / 2))];
  };
  const ball = (pose, more = {}) => ({
    gravity: [0, 0, 0],
    objects: [box('lamp', [0, 0, 0], { free: true, pose: { p: [0, 0, 0], q: pose } })],
    joints: [
      {
        id: 'ball',
        type: 'spherical',
        a: frame('lamp'),
        b: frame('world'),
        limits: [[0, 0.4], [0, 1], null],
        ...more,
      },
    ],
  });
  for (const [pose, expected] of [
    [q(0.6, 0, 0), [0.4, 0, 0]],
    [q(0, 0, -1.5), [0, 0, -1]],
    [q(0.1, 0.2, 0.3), [0.1, 0.2, 0.3]],
  ]) {
    const r = run(ball(pose), 0.01);
    expected.forEach((z, i) => near(r.get(-1, `ball.q${i}`), z, 1e-12));
    assert.equal(r.summary.events.length, expected[0] === 0.1 ? 0 : 1);
  }
  for (const [position, words] of [
    [[0.6, 0, 0], /joints\/0\/position: swings z by 0.6 rad, must be within the limit, 0.4/],
    [[0, 0, 1.5], /joints\/0\/position: rotates by 1.5 rad, must be within the limit, 1/],
  ]) {
    const r = command(ball([1, 0, 0, 0], { position }), '--seconds', '0.01');
    assert.equal(r.status, 2);
    assert.match(r.stderr, words);
  }
});

// Speed servos at their most torque throw light links at their limits: constant loads over a whole step do
// not hold what the motors' states make of it, and the step is taken in parts.
test('servos at their maximum stay within the limits of their joints', () => {
  for (const [max, mass, rate, damping, count = 3] of [
    [1, 0.1, 5, 100],
    [10, 0.1, 5, 100],
    [10, 0.1, 50, 10],
    [10, 1, 5, 100],
    [100, 1, 5, 100],
    [100, 0.1, 50, 10],
    [10, 0.01, 5, 100],
    [10, 0.01, 50, 10],
    [100, 0.01, 50, 10],
    [10, 0.001, 50, 10],
    [80, 0.003, 50, 10, 6],
  ]) {
    const links = Array.from({ length: count }, (_, i) => ({
      joint: {
        type: 'revolute',
        origin: { p: [0, 0, i ? 0.2 : 0], q: [1, 0, 0, 0] },
        axis: [0, 1, 0],
        limits: { lower: -1, upper: 1 },
        motor: { rate, damping, max },
      },
      mass,
      com: [0, 0, 0.1],
      inertia: [...Array(3).fill(0.0034 * mass), 0, 0, 0],
    }));
    const r = run({ gravity: [0, 0, -G], mechanisms: [{ id: 'a', links }] }, 0.6);
    let worst = 0;
    for (let k = 0; k < r.count; k++)
      for (let i = 0; i < count; i++) worst = Math.max(worst, Math.abs(r.get(k, `a.${i}.q0`)) - 1);
    assert.ok(worst < 5e-5, `${max} N m, ${mass} kg, ${rate} rad/s: ${worst} rad beyond`);
    near(r.get(-1, 'a.2.q0'), 1, 1e-3);
    const e = r.summary.energy;
    near(e.final, e.initial + e.work_in + e.motors - e.dissipated + e.edits, 1e-6);
    assert.ok(e.dissipated > 0, `dissipated ${e.dissipated}`);
  }
});

// A disc on its rim, pulled, and a table on four feet that a slide joins to it: the rim fell flat and tipped over the
// same point in turn at one time, without end.
test('a rim that falls flat and tips in turn ends its step, and the energy balance closes', () => {
  const q = [0.9875629329047603, 0.14568854233668935, 0.05911262288512111, 0.0];
  const feet = [
    [-0.0648, 0.0747, -0.03],
    [-0.0747, -0.0648, -0.03],
    [0.0648, -0.0747, -0.03],
    [0.0747, 0.0648, -0.03],
  ];
  const scene = {
    format: 'guideway-scene/1',
    name: 'a disc and a table',
    gravity: [0, 0, -9.81],
    materials: [{ id: 'm', friction: 0.3539 }],
    objects: [
      {
        id: 'floor',
        geometry: { type: 'box', size: [20, 20, 0.2] },
        pose: { p: [-0.011675487045624652, 0.028775320832128054, -0.09505610928949043], q },
        fixed: true,
        material: 'm',
      },
      {
        id: 'disc',
        geometry: { type: 'cylinder', radius: 0.1142, height: 0.0808 },
        pose: { p: [0.004716589585394025, -0.01162447254001691, 0.038400167235070594], q },
        material: 'm',
        velocity: { v: [-0.4782, 0.0565, 0.0758], w: [-0.4284, 1.0557, -3.4875] },
      },
      {
        id: 'table',
        free: true,
        geometry: {
          type: 'compound',
          parts: feet.map((p) => ({ geometry: { type: 'sphere', radius: 0.02 }, pose: { p, q: [1, 0, 0, 0] } })),
        },
        pose: { p: [0.4030423017753255, -0.007498034926598653, 0.0008261064622466091], q },
        body: { mass: 2.4978, com: [0, 0, 0.086], inertia: [0.0125, 0.015, 0.0175, 0, 0, 0] },
        material: 'm',
        velocity: { v: [0.625, 0.844, 0.1787], w: [0.0576, -0.1421, 0.4693] },
      },
    ],
    constraints: [
      { id: 'rim', type: 'rolling', a: 'disc/bottom-rim', b: 'floor/+z', contact: 'unilateral' },
      ...feet.map((_, i) => ({
        id: `foot-${i}`,
        type: 'sliding',
        a: `table/part${i}.surface`,
        b: 'floor/+z',
        contact: 'unilateral',
      })),
    ],
    joints: [
      {
        id: 'slide',
        type: 'prismatic',
        a: { object: 'disc', at: { p: [0.2, 0, 0], q: [1, 0, 0, 0] } },
        b: { object: 'table', at: { p: [-0.2, 0, 0], q: [1, 0, 0, 0] } },
      },
    ],
    tool: { object: 'disc', device: 'sim', control: 'admittance' },
    devices: [
      {
        id: 'sim',
        driver: 'sim',
        operator: {
          type: 'wrench',
          samples: [{ t: 0, force: [-16.1959, 16.3056, 13.7233], torque: [0.2588, 0.4945, -0.2315] }],
        },
      },
    ],
  };
  const done = spawnSync(guideway, ['run', '-', '--seconds', '0.3'], {
    input: JSON.stringify(scene),
    encoding: 'utf8',
    timeout: 120000,
    killSignal: 'SIGKILL',
  });
  assert.equal(done.status, 0, `it ends: ${done.signal} ${done.stderr}`);
  const e = JSON.parse(done.stdout).energy;
  near(e.final, e.initial + e.work_in - e.dissipated + e.edits, 1e-9);
});
