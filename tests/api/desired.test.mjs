// A desired mass at the hand while the model has forces of its own: weight, joint springs, dampers and servos.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { closed, G, run } from './headless.mjs';
import { near } from './running.mjs';
import { root } from './server.mjs';

const still = { type: 'wrench', samples: [{ t: 0, force: [0, 0, 0], torque: [0, 0, 0] }] };
const six = (linear, angular) => [linear, linear, linear, angular, angular, angular];

// A rod of 1 kg on a horizontal axis, its middle 0.5 m below; held without a push.
const pendulum = (felt) => ({
  format: 'guideway-scene/1',
  name: 'pendulum',
  gravity: [0, 0, -G],
  objects: [],
  mechanisms: [
    {
      id: 'rod',
      base: { p: [0, 0, 0], q: [Math.SQRT1_2, 0, Math.SQRT1_2, 0] },
      links: [
        {
          joint: { type: 'revolute', origin: { p: [0, 0, 0], q: [1, 0, 0, 0] }, axis: [0, 1, 0], position: -0.5 },
          mass: 1,
          com: [0.5, 0, 0],
          inertia: [0.01, 0.01, 0.01, 0, 0, 0],
        },
      ],
    },
  ],
  tool: { mechanism: 'rod', link: 0, device: 'sim', desired: { mass: six(1, felt) } },
  devices: [{ id: 'sim', driver: 'sim', operator: still }],
});

// Without forces of a hand M_d phi'' = -m g l sin(phi): what is felt as lighter gained 1.2 to 30 times its energy of
// swing in 10 s, what is felt as heavier lost 8 % of it.
for (const [felt, most] of [
  [0.1, 1e-4],
  [0.02, 1e-3],
  [0.003, 0.02],
  [2, 1e-4],
])
  test(`a pendulum of 0.26 kg m2 felt as ${felt} swings as it did, neither up nor down`, () => {
    const answer = run(pendulum(felt), 10);
    const energy = (k) =>
      0.5 * felt * answer.get(k, 'rod.0.v0') ** 2 + G * 0.5 * (1 - Math.cos(answer.get(k, 'rod.0.q0')));
    const change = energy(answer.count - 1) / energy(0) - 1;
    assert.ok(change < 1e-6 && change > -most, `changed by ${change}`);
    closed(answer);
  });

// A slider of 1 kg with a damper, a spring or a servo of its own, felt as lighter or heavier; pushed by 1 N for half a
// second, then let go.
const slider = (felt, joint) => ({
  format: 'guideway-scene/1',
  name: 'slider',
  objects: [{ id: 'slider', geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, body: { mass: 1 } }],
  joints: [
    {
      id: 'j',
      type: 'prismatic',
      a: { object: 'slider', at: { p: [0, 0, 0], q: [Math.SQRT1_2, 0, Math.SQRT1_2, 0] } },
      b: { object: 'world', at: { p: [0, 0, 0], q: [Math.SQRT1_2, 0, Math.SQRT1_2, 0] } },
      ...joint,
    },
  ],
  tool: { object: 'slider', device: 'sim', desired: { mass: six(felt, 1) } },
  devices: [
    {
      id: 'sim',
      driver: 'sim',
      operator: {
        type: 'wrench',
        samples: [
          { t: 0, force: [1, 0, 0] },
          { t: 0.5, force: [0, 0, 0] },
        ],
      },
    },
  ],
});

for (const felt of [0.02, 0.1, 0.5, 3])
  for (const [what, joint, damping, stiffness] of [
    ['damper of 100 N s/m', { damping: [100] }, 100, 0],
    ['damper of 1e3 N s/m', { damping: [1000] }, 1000, 0],
    ['damper of 1e6 N s/m', { damping: [1e6] }, 1e6, 0],
    ['spring of 1e6 N/m', { damping: [100], spring: { stiffness: [1e6], rest: [0] } }, 100, 1e6],
    ['spring of 1e7 N/m', { damping: [1000], spring: { stiffness: [1e7], rest: [0] } }, 1000, 1e7],
    ['servo of 1e5 N/m', { motor: { stiffness: 1e5, damping: 1e3 } }, 1e3, 1e5],
  ])
    test(`a slider of 1 kg with a ${what}, felt as ${felt} kg, stays with it`, () => {
      const answer = run(slider(felt, joint), 1);
      const away = stiffness > 0 ? 1 / stiffness : 1 / damping;
      const got = stiffness > 0 ? answer.get(499, 'j.q0') : answer.get(499, 'j.v0');
      assert.ok(Math.abs(got - away) < 1e-6 * away, `${got} for ${away}`);
      assert.ok(Math.abs(answer.get(999, 'j.v0')) < 1e-8, `${answer.get(999, 'j.v0')} m/s at last`);
      closed(answer);
    });

// An arm of two links that falls from the horizontal and passes its stretched posture time and again, held at its tip.
// The hand feels all that moves there: a body of M_d, on which the weight does the work that it does on the
// arm. The quadratic terms of the arm's own motion, taken over as they were, added 40 J to its 12 J.
const [L1, L2] = [0.5, 0.4];
const fallingArm = (felt) => ({
  format: 'guideway-scene/1',
  name: 'falling arm',
  gravity: [0, -G, 0],
  objects: [],
  mechanisms: [
    {
      id: 'arm',
      links: [
        [0, L1, 0.2],
        [L1, L2, 0.3],
      ].map(([x, length, position]) => ({
        joint: { type: 'revolute', origin: { p: [x, 0, 0], q: [1, 0, 0, 0] }, axis: [0, 0, 1], position },
        mass: 1,
        com: [length / 2, 0, 0],
        inertia: [0.001, length ** 2 / 12, length ** 2 / 12, 0, 0, 0],
      })),
    },
  ],
  tool: {
    mechanism: 'arm',
    link: 1,
    at: { p: [L2, 0, 0], q: [1, 0, 0, 0] },
    device: 'sim',
    desired: { mass: six(felt, 0.02 * felt) },
  },
  devices: [{ id: 'sim', driver: 'sim', operator: still }],
});

for (const [felt, most] of [
  [2, 0.01],
  [1, 0.02],
  [0.5, 0.04],
  [0.2, 0.06],
])
  test(`a falling arm felt as ${felt} kg at its tip gains what its weight gives it`, () => {
    const answer = run(fallingArm(felt), 4);
    const potential = (k) => {
      const [a, b] = [answer.get(k, 'arm.0.q0'), answer.get(k, 'arm.1.q0')];
      return G * (1.5 * L1 * Math.sin(a) + (L2 / 2) * Math.sin(a + b));
    };
    const kinetic = (k) =>
      0.5 * felt * (answer.tool(k, 'vx') ** 2 + answer.tool(k, 'vy') ** 2 + 0.02 * answer.tool(k, 'wz') ** 2);
    const all = potential(0) + G * (1.5 * L1 + L2 / 2);
    for (let k = 0; k < answer.count; k++) near((kinetic(k) + potential(k) - potential(0)) / all, 0, most);
    closed(answer);
  });

// The UR5 falls through its stretched elbow in half a second: as 10 kg it went at a kilometre a second from there.
test('a falling robot felt as light passes its singular postures', () => {
  const robot = JSON.parse(readFileSync(join(root, 'scenes/ur5.json'), 'utf8'));
  const { mechanism, link, at } = robot.tool;
  const answer = run(
    {
      ...robot,
      gravity: [0, 0, -G],
      tool: { mechanism, link, at, device: 'sim', desired: { mass: six(10, 0.1) } },
      devices: [{ id: 'sim', driver: 'sim', operator: still }],
    },
    2,
  );
  let quickest = 0;
  for (let k = 0; k < answer.count; k++)
    quickest = Math.max(quickest, Math.hypot(...['vx', 'vy', 'vz'].map((name) => answer.tool(k, name))));
  assert.ok(quickest > 2 && quickest < 8, `${quickest} m/s`); // 4.1 by the work of its weight
  closed(answer);
});

// The felt energy, 1/2 x'^T M_d x' and the weight's potential, never exceeds what it was. Without stops, nothing is lost
// either until a posture is near singular: as 3 kg and less the arm came to 35 to 64 m/s within seconds, without a word.
const freeRobot = (felt, rate) => {
  const robot = JSON.parse(readFileSync(join(root, 'scenes/ur5.json'), 'utf8'));
  const { mechanism, link, at } = robot.tool;
  for (const { joint } of robot.mechanisms[0].links) delete joint.limits;
  return {
    ...robot,
    rate,
    gravity: [0, 0, -G],
    tool: { mechanism, link, at, device: 'sim', desired: { mass: six(felt, 0.01 * felt) } },
    devices: [{ id: 'sim', driver: 'sim', operator: still }],
  };
};

for (const felt of [10, 3, 1, 0.3])
  for (const rate of [500, 1000, 4000])
    test(`a falling robot felt as ${felt} kg at ${rate} Hz gains what its weight gives it`, () => {
      const answer = run(freeRobot(felt, rate), 2);
      const square = (k, names) => names.reduce((sum, name) => sum + answer.tool(k, name) ** 2, 0);
      const energy = (k) =>
        0.5 * felt * (square(k, ['vx', 'vy', 'vz']) + 0.01 * square(k, ['wx', 'wy', 'wz'])) +
        answer.tool(k, 'potential');
      const all = energy(0) + 41.4; // as it hangs
      for (let k = 0; k < answer.count; k++) {
        const more = (energy(k) - energy(0)) / all;
        assert.ok(more < 1e-6, `${more} more after ${k} ticks`);
      }
      for (let k = 0; k < 0.05 * rate; k++) near(energy(k) / energy(0), 1, 1e-4);
      closed(answer, 1e-6);
    });

// Held by its upper arm, most of the robot moves beyond the hand: as 0.25 kg that cannot be, and it is told.
test('a mass that cannot be rendered passively is an event', () => {
  const robot = freeRobot(0.25, 500);
  robot.tool.link = 1;
  robot.mechanisms[0].links.forEach(({ joint }, i) => {
    joint.position = [0.4, -1.2, 1.5, -0.7, 0.9, 0.3][i];
    joint.velocity = [1, -1.5, 2, 1, -2, 1][i];
  });
  const answer = run(robot, 2);
  const told = answer.summary.events.filter(({ kind }) => kind === 'unrendered');
  assert.ok(told.length > 0 && told[0].energy > 0 && !(told[0].count > 60), JSON.stringify(answer.summary.events));
  closed(answer);
});

// The ball of 0.1 kg on the turning table of 50 kg, held as 0.2 kg: pushed for 0.7 s, then let go. At 500 Hz a direction
// that turned in the ball's axes was taken for a posture that becomes singular, and the table lost 17 of its 18 J.
test('the table under a ball that is held turns on, whatever the rate', () => {
  const scene = JSON.parse(readFileSync(join(root, 'scenes/ball-on-turntable.json'), 'utf8'));
  const samples = [
    { t: 0, force: [0.4, 0.3, 0.2], torque: [0.005, -0.004, 0.006] },
    { t: 0.7, force: [0, 0, 0], torque: [0, 0, 0] },
  ];
  const rolling = (rate) =>
    run(
      {
        ...scene,
        rate,
        tool: { object: 'ball', device: 'sim', desired: { mass: six(0.2, 0.002) } },
        devices: [{ id: 'sim', driver: 'sim', operator: { type: 'wrench', samples } }],
      },
      2,
    );
  const fine = rolling(4000);
  for (const rate of [250, 500, 1000]) {
    const coarse = rolling(rate);
    for (let k = 0; k < coarse.count; k++) {
      const at = (k * 4000) / rate;
      near(coarse.tool(k, 'kinetic') / fine.tool(at, 'kinetic'), 1, 0.002);
      near(coarse.get(k, 'table.wz'), fine.get(at, 'table.wz'), 0.002);
    }
    closed(coarse, 1e-6);
  }
});

// An arm of two links held at its elbow: the hand feels the first joint's motion as M_d, while the second link swings
// beyond it. D q'' + c = tau + J^T (F_h + F_d), F_d = (g - 1) (F_h + Lambda a) along the one direction there is: its
// exchange of energy with the hand is no work of F_d. Counted as such, 0.7 J of 6 J were taken out within 0.1 s.
const swinging = (felt, gravity, rate, samples) => {
  const arm = fallingArm(felt);
  arm.mechanisms[0].links.forEach(({ joint }, i) => {
    joint.velocity = [1, 12][i];
  });
  const hold = { link: 0, at: { p: [L1, 0, 0], q: [1, 0, 0, 0] }, desired: { mass: six(felt, 0.04 * felt) } };
  return {
    ...arm,
    rate,
    gravity: [0, -gravity, 0],
    tool: { ...arm.tool, ...hold },
    devices: [{ ...arm.devices[0], operator: { type: 'wrench', samples } }],
  };
};
const eq4 = (felt, gravity, samples, seconds) => {
  const felt1 = felt * (L1 ** 2 + 0.04);
  const slope = (t, [a, b, u, v]) => {
    const { force, torque } = samples.findLast((sample) => sample.t <= t + 1e-9);
    const c = (L1 * L2 * Math.cos(b)) / 2;
    const h = (L1 * L2 * Math.sin(b)) / 2;
    const D = [L1 ** 2 / 3 + L1 ** 2 + L2 ** 2 / 3 + 2 * c, L2 ** 2 / 3 + c, L2 ** 2 / 3];
    const solved = ([x, y]) => {
      const det = D[0] * D[2] - D[1] ** 2;
      return [(D[2] * x - D[1] * y) / det, (D[0] * y - D[1] * x) / det];
    };
    const tip = (-gravity * L2 * Math.cos(a + b)) / 2;
    const weight = [-gravity * 1.5 * L1 * Math.cos(a) + tip, tip];
    const hand = L1 * (force[1] * Math.cos(a) - force[0] * Math.sin(a)) + torque[2];
    const [lightness] = solved([1, 0]);
    const gain = 1 / (lightness * felt1);
    const all = gain * hand + ((gain - 1) / lightness) * solved(weight)[0];
    return [u, v, ...solved([weight[0] + h * (2 * u * v + v * v) + all, weight[1] - h * u * u])];
  };
  const dt = 1e-4;
  let y = [0.2, 0.3, 1, 12];
  for (let n = 0; n < Math.round(seconds / dt); n++) {
    const along = (k, s) => y.map((x, i) => x + s * k[i]);
    const k1 = slope(n * dt, y);
    const k2 = slope((n + 0.5) * dt, along(k1, dt / 2));
    const k3 = slope((n + 0.5) * dt, along(k2, dt / 2));
    const k4 = slope((n + 0.999) * dt, along(k3, dt));
    y = y.map((x, i) => x + (dt / 6) * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]));
  }
  return y;
};

for (const [felt, gravity, seconds] of [
  [5, 0, 0.6],
  [0.5, G, 0.6],
])
  for (const [rate, most] of [
    [500, 5e-3],
    [1000, 2e-3],
    [4000, 2e-4],
  ])
    test(`an elbow felt as ${felt} kg at ${rate} Hz with ${gravity} m/s2 swings by eq. 4`, () => {
      const samples = [
        { t: 0, force: [1, 3, 0], torque: [0, 0, 0.5] },
        { t: 0.5, force: [0, 0, 0], torque: [0, 0, 0] },
      ];
      const answer = run(swinging(felt, gravity, rate, samples), seconds + 0.01);
      const want = eq4(felt, gravity, samples, seconds);
      ['arm.0.q0', 'arm.1.q0', 'arm.0.v0', 'arm.1.v0'].forEach((name, i) =>
        near(answer.get(Math.round(seconds * rate), name), want[i], most * (1 + Math.abs(want[i]))),
      );
      closed(answer, 1e-6);
    });

// Turned by a moment that its inertia is far too small for, at a rate that is too low.
test('what a desired mass takes from other bodies is told', () => {
  const scene = JSON.parse(readFileSync(join(root, 'scenes/ball-on-turntable.json'), 'utf8'));
  const answer = run(
    {
      ...scene,
      tool: { object: 'ball', device: 'sim', desired: { mass: six(0.05, 1e-4) } },
      devices: [
        {
          id: 'sim',
          driver: 'sim',
          operator: { type: 'wrench', samples: [{ t: 0, force: [1, 3, 0], torque: [0, 0, 0.5] }] },
        },
      ],
    },
    0.7,
  );
  const told = answer.summary.events.filter(({ kind }) => kind === 'unrendered');
  assert.ok(told.length > 0 && told[0].energy < -1, JSON.stringify(answer.summary.events));
  closed(answer, 1e-6);
});

// A four-bar that passes a dead point of its rocker, held there as 30 kg: the crank would have to turn ten times as fast
// for a few milliseconds. Between them 1 kHz has too few ticks, and the rocker goes back at 0.98 of 1.17 rad/s.
test('what is lost at a dead point is told', () => {
  const turn = (x, y, angle) => ({ p: [x, y, 0], q: [Math.cos(angle / 2), 0, 0, Math.sin(angle / 2)] });
  const B = [0.1, 0.1 * Math.sqrt(3)];
  const [dx, dy] = [0.6 - B[0], -B[1]];
  const d = Math.hypot(dx, dy);
  const x = (0.5 ** 2 - 0.4 ** 2 + d * d) / (2 * d);
  const h = Math.sqrt(0.25 - x * x);
  const C = [B[0] + (x * dx - h * dy) / d, B[1] + (x * dy + h * dx) / d];
  const bars = [
    ['crank', [0, 0], B, 0.2, 5],
    ['coupler', B, C, 0.5, 0.5],
    ['rocker', [0.6, 0], C, 0.4, 2],
  ];
  const at = (p) => ({ p: [p, 0, 0] });
  const pin = (id, a, p, b, q, more) => ({
    id,
    type: 'revolute',
    a: { object: a, at: at(p) },
    b: { object: b, at: at(q) },
    ...more,
  });
  const linkage = (rate) => ({
    format: 'guideway-scene/1',
    name: 'dead point',
    rate,
    objects: bars.map(([id, from, to, length, mass]) => ({
      id,
      geometry: { type: 'box', size: [length, 0.02, 0.02] },
      pose: turn((from[0] + to[0]) / 2, (from[1] + to[1]) / 2, Math.atan2(to[1] - from[1], to[0] - from[0])),
      body: { mass },
    })),
    joints: [
      pin('j1', 'crank', -0.1, 'world', 0, { velocity: [4] }),
      pin('j2', 'coupler', -0.25, 'crank', 0.1),
      pin('j3', 'rocker', -0.2, 'world', 0.6),
      pin('j4', 'coupler', 0.25, 'rocker', 0.2),
    ],
    tool: { object: 'rocker', at: at(0.05), device: 'sim', desired: { mass: six(30, 0.5) } },
    devices: [{ id: 'sim', driver: 'sim', operator: still }],
  });
  const back = (rate) => {
    const answer = run(linkage(rate), 1.2);
    closed(answer, 1e-6);
    const turns = (k) => Math.abs(answer.get(k, 'rocker.wz'));
    const told = answer.summary.events.filter(({ kind }) => kind === 'unrendered');
    return { kept: turns(answer.count - 1) / turns(0), told };
  };
  const fine = back(8000);
  near(fine.kept, 1, 1e-3);
  assert.equal(fine.told.length, 0);
  for (const rate of [500, 1000]) {
    const { kept, told } = back(rate);
    assert.ok(kept < 1 && told.length > 0 && told[0].energy < -0.1, `${rate} Hz: ${kept}, ${JSON.stringify(told)}`);
  }
});

// Held 0.1 m beside its centre of mass, a body of 2 kg and 0.02 kg m2 is 1 kg there: as 0.5 kg it is pushed by twice the
// hand's force. At a point it turns by that force alone.
for (const [grasp, turn, centre] of [
  ['rigid', 0, 2],
  ['point', 10, 1],
])
  test(`a body that is held ${grasp === 'point' ? 'at a point' : 'rigidly'} and felt as 0.5 kg turns by ${turn} rad/s2`, () => {
    const body = (desired, torque) => ({
      format: 'guideway-scene/1',
      name: 'grasp',
      objects: [
        {
          ...{ id: 'b', geometry: { type: 'sphere', radius: 0.1 }, free: true },
          body: { mass: 2, inertia: [0.02, 0.02, 0.02, 0, 0, 0] },
        },
      ],
      tool: { object: 'b', at: { p: [0.1, 0, 0] }, grasp, device: 'sim', desired },
      devices: [
        { id: 'sim', driver: 'sim', operator: { type: 'wrench', samples: [{ t: 0, force: [0, 1, 0], torque }] } },
      ],
    });
    const answer = run(body({ mass: six(0.5, 0.01) }, [0, 0, 0]), 0.5);
    near(answer.tool(1, 'vy') * 1000, 2, 1e-9);
    near(answer.tool(1, 'wz') * 1000, turn, 1e-9);
    near(answer.get(1, 'b.vy') * 1000, centre, 1e-9);
    closed(answer, 1e-6);
    if (grasp === 'rigid') return;
    const bare = run(body({ stiffness: [40, 40, 40, 0, 0, 0] }, [0, 0, 0]), 0.5);
    const full = run(body({ stiffness: six(40, 5) }, [0.1, 0, 0.1]), 0.5);
    for (const name of ['b.vx', 'b.vy', 'b.wz']) near(full.get(499, name), bare.get(499, name), 1e-9);
  });
