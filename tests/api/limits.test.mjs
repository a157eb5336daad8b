// Limits of joints whose motors throw light links from one to the other within a tick.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { frame, G, revolute, rod, run } from './headless.mjs';
import { near } from './running.mjs';

const half = Math.SQRT1_2,
  axes = { x: [half, 0, half, 0], y: [half, half, 0, 0] };

// Bars of 0.2 m that hang on one another, of one mass or one each; a joint is its type, the way that its axis points, limits and motor.
function chain(rate, mass, joints) {
  const at = (i) => ({ p: [0, 0, -0.1 - 0.2 * i], q: [1, 0, 0, 0] });
  return {
    gravity: [0, 0, -G],
    rate,
    objects: joints.map((_, i) => ({
      id: `l${i}`,
      geometry: { type: 'box', size: [0.02, 0.02, 0.2] },
      pose: at(i),
      body: { mass: mass[i] ?? mass },
      free: true,
    })),
    joints: joints.map(([type, axis, limits, motor], i) => ({
      id: `j${i}`,
      type,
      a: { object: `l${i}`, at: { p: [0, 0, 0.1], q: axes[axis] } },
      b:
        i === 0
          ? { object: 'world', at: { p: [0, 0, 0], q: axes[axis] } }
          : { object: `l${i - 1}`, at: { p: [0, 0, -0.1], q: axes[axis] } },
      limits,
      motor,
    })),
  };
}

// By how much the run passes any of them (rad, m).
function passed(scene, seconds) {
  const r = run(scene, seconds);
  let most = 0;
  for (const { id, limits } of scene.joints)
    limits.forEach(([lower, upper], c) => {
      for (let k = 0; k < r.count; k++)
        most = Math.max(most, lower - r.get(k, `${id}.q${c}`), r.get(k, `${id}.q${c}`) - upper);
    });
  return most;
}

// Title, ticks a second, mass of a bar (kg), joints, seconds.
const thrown = [
  [
    'a coordinate that was far from its limit is thrown past it within a tick',
    4000,
    0.0039,
    [
      [
        'cylindrical',
        'y',
        [
          [-0.0674, 0.0419],
          [-0.76, 0.639],
        ],
        { rate: 4.96, damping: 83.4, max: 83.4 },
      ],
      [
        'universal',
        'y',
        [
          [-0.67, 0.808],
          [-0.473, 0.942],
        ],
        { torque: -83.4 },
      ],
      ['prismatic', 'x', [[-0.075, 0.0339]], { target: -1.18, stiffness: 834, damping: 83.4, max: 83.4 }],
      [
        'universal',
        'y',
        [
          [-0.222, 0.25],
          [-0.89, 0.301],
        ],
        { target: -2.95, stiffness: 8340, damping: 8.34, max: 83.4 },
      ],
      [
        'universal',
        'y',
        [
          [-0.934, 0.624],
          [-0.756, 0.604],
        ],
        { target: 1.64, stiffness: 8340, damping: 83.4, max: 83.4 },
      ],
    ],
  ],
  [
    'a limit presses, then lets go, before another is hit',
    2000,
    0.0028,
    [
      ['prismatic', 'y', [[-0.0868, 0.0588]], { torque: -36.6 }],
      [
        'universal',
        'y',
        [
          [-0.458, 0.279],
          [-0.709, 0.211],
        ],
        { torque: -36.6 },
      ],
      [
        'universal',
        'y',
        [
          [-0.293, 0.299],
          [-0.591, 0.744],
        ],
        { torque: -36.6 },
      ],
      ['revolute', 'y', [[-0.78, 0.318]], { torque: -36.6 }],
      [
        'planar',
        'x',
        [
          [-0.035, 0.0213],
          [-0.0354, 0.0648],
          [-0.893, 0.588],
        ],
        { target: -3, stiffness: 3660, damping: 0, max: 36.6 },
      ],
    ],
  ],
  [
    'loads over the whole tick do not hold until an impact in it',
    250,
    0.00296,
    [
      [
        'universal',
        'x',
        [
          [-0.847, 0.202],
          [-0.431, 0.427],
        ],
        { torque: 53.8 },
      ],
      ['revolute', 'x', [[-0.378, 0.52]], { target: -1.52, stiffness: 5380, damping: 0, max: 53.8 }],
      [
        'planar',
        'y',
        [
          [-0.0642, 0.0831],
          [-0.0245, 0.063],
          [-0.406, 0.815],
        ],
        { rate: 8.51, damping: 53.8, max: 53.8 },
      ],
      [
        'universal',
        'x',
        [
          [-0.765, 0.922],
          [-0.359, 0.389],
        ],
        { target: -0.235, stiffness: 5380, damping: 5.38, max: 53.8 },
      ],
    ],
  ],
  [
    'impacts take what a tick bears',
    2000,
    0.00838,
    [
      [
        'universal',
        'y',
        [
          [-0.999, 0.268],
          [-0.542, 0.617],
        ],
        { torque: 23.6 },
      ],
      [
        'universal',
        'y',
        [
          [-0.762, 0.99],
          [-0.865, 0.571],
        ],
        { target: 0.0517, stiffness: 2360, damping: 23.6, max: 23.6 },
      ],
      ['revolute', 'x', [[-0.569, 0.208]], { target: -2.31, stiffness: 236, damping: 2.36, max: 23.6 }],
      ['prismatic', 'x', [[-0.0779, 0.0362]], { torque: -23.6 }],
      [
        'universal',
        'x',
        [
          [-0.79, 0.231],
          [-0.299, 0.931],
        ],
        { target: 1.5, stiffness: 2360, damping: 2.36, max: 23.6 },
      ],
    ],
  ],
  [
    'a heavy motor leans on five limits',
    1000,
    0.00322,
    [
      ['revolute', 'y', [[-0.941, 0.71]], { target: -0.781, stiffness: 802, damping: 0, max: 80.2 }],
      ['revolute', 'y', [[-0.251, 0.325]], { target: 0.285, stiffness: 802, damping: 80.2, max: 80.2 }],
      ['revolute', 'y', [[-0.243, 0.239]], { torque: 80.2 }],
      ['revolute', 'y', [[-0.349, 0.429]], { target: 2.63, stiffness: 802, damping: 0, max: 80.2 }],
      ['revolute', 'y', [[-0.56, 0.967]], { torque: -80.2 }],
    ],
  ],
  [
    'a limit is released with others, and passed',
    1000,
    0.0029,
    [
      [
        'cylindrical',
        'y',
        [
          [-0.0844, 0.0988],
          [-0.805, 0.619],
        ],
        { rate: 6.39, damping: 90, max: 90 },
      ],
      [
        'planar',
        'y',
        [
          [-0.0221, 0.0812],
          [-0.0901, 0.0471],
          [-0.564, 0.205],
        ],
        { torque: 90 },
      ],
      ['prismatic', 'x', [[-0.0804, 0.0658]], { rate: -14.9, damping: 90, max: 90 }],
      [
        'universal',
        'x',
        [
          [-0.882, 0.661],
          [-0.713, 0.752],
        ],
        { torque: -90 },
      ],
      ['prismatic', 'x', [[-0.0242, 0.0707]], { torque: 90 }],
      [
        'universal',
        'x',
        [
          [-0.797, 0.819],
          [-0.237, 0.996],
        ],
        { target: -2.87, stiffness: 900, damping: 0, max: 90 },
      ],
    ],
  ],
  [
    'where a substep is cut decides on which side of a limit it ends',
    2000,
    0.00817,
    [
      [
        'planar',
        'x',
        [
          [-0.0225, 0.0245],
          [-0.0818, 0.0376],
          [-0.345, 0.227],
        ],
        { torque: 20.8 },
      ],
      ['revolute', 'y', [[-0.655, 0.719]], { target: 2.85, stiffness: 208, damping: 0, max: 20.8 }],
      [
        'planar',
        'y',
        [
          [-0.0906, 0.0983],
          [-0.0888, 0.0266],
          [-0.783, 0.433],
        ],
        { rate: 12.8, damping: 20.8, max: 20.8 },
      ],
      [
        'universal',
        'y',
        [
          [-0.972, 0.881],
          [-0.649, 0.654],
        ],
        { target: -0.72, stiffness: 2080, damping: 0, max: 20.8 },
      ],
      ['prismatic', 'x', [[-0.0519, 0.038]], { target: 1.31, stiffness: 2080, damping: 0, max: 20.8 }],
    ],
  ],
  [
    'an impact of one link stops others at once, and where cubics say that they are passed they are not',
    2000,
    0.003086,
    [
      ['prismatic', 'y', [[-0.07773, 0.0503]], { target: 0.003918, stiffness: 255.1, damping: 0, max: 25.51 }],
      ['revolute', 'y', [[-0.8159, 0.2637]], { target: 1.023, stiffness: 2551, damping: 0, max: 25.51 }],
      ['revolute', 'x', [[-0.9857, 0.2139]], { torque: 25.51 }],
      [
        'cylindrical',
        'y',
        [
          [-0.03861, 0.09071],
          [-0.4954, 0.6822],
        ],
        { target: 1.353, stiffness: 255.1, damping: 2.551, max: 25.51 },
      ],
      [
        'universal',
        'y',
        [
          [-0.6195, 0.5418],
          [-0.9535, 0.7433],
        ],
        { rate: -12.25, damping: 25.51, max: 25.51 },
      ],
      [
        'universal',
        'y',
        [
          [-0.7899, 0.6757],
          [-0.6047, 0.6495],
        ],
        { target: -0.2162, stiffness: 2551, damping: 25.51, max: 25.51 },
      ],
    ],
    0.07,
  ],
  [
    'a motor presses a link about its axis, where it is lightest',
    250,
    [0.00239, 0.224],
    [
      [
        'universal',
        'y',
        [
          [-0.282, 0.294],
          [-0.333, 0.233],
        ],
        { target: -0.811, stiffness: 472, damping: 4.72, max: 47.2 },
      ],
      [
        'universal',
        'y',
        [
          [-0.983, 0.475],
          [-0.305, 0.744],
        ],
        { rate: 12.8, damping: 27.5, max: 27.5 },
      ],
    ],
  ],
];

for (const [title, rate, mass, joints, seconds = 0.05] of thrown)
  test(`strong motors, light links: ${title}`, () => {
    const most = passed(chain(rate, mass, joints), seconds);
    assert.ok(most < 5e-5, `a limit is passed by ${most}`);
  });

test('what leans on limits does not creep past them', () => {
  const joints = [
    ['revolute', 'x', [[-0.348, 0.36]], { target: -0.212, stiffness: 3030, max: 30.3 }],
    ['revolute', 'y', [[-0.418, 0.785]], { rate: 15.2, damping: 30.3, max: 30.3 }],
    ['revolute', 'y', [[-0.661, 0.91]], { target: -1.72, stiffness: 3030, max: 30.3 }],
    ['revolute', 'y', [[-0.364, 0.363]], { target: 2.03, stiffness: 303, max: 30.3 }],
    ['revolute', 'x', [[-0.822, 0.708]], { target: -2.92, stiffness: 303, max: 30.3 }],
    ['revolute', 'y', [[-0.432, 0.283]], { target: -0.755, stiffness: 303, damping: 30.3, max: 30.3 }],
  ];
  const most = passed(chain(500, 0.00207, joints), 1);
  assert.ok(most < 5e-5, `a limit is passed by ${most}`);
});

// Forces cancel out there, and what moves is their rounding, of which no substep closes the energy balance.
test('a loop that a motor presses on a limit takes no finer substeps', () => {
  const bar = (id, [x, y], [u, v]) =>
    rod(id, Math.hypot(u - x, v - y), [(x + u) / 2, (y + v) / 2, 0], Math.atan2(v - y, u - x));
  const ends = [
    [0, 0],
    [0.16, 0.25],
    [1, 0.6],
    [1, 0],
  ];
  const half = ends.slice(1).map(([u, v], i) => Math.hypot(u - ends[i][0], v - ends[i][1]) / 2);
  const bars = ['crank', 'coupler', 'rocker'];
  const four = (limits) => ({
    gravity: [0, 0, 0],
    objects: bars.map((id, i) => bar(id, ends[i], ends[i + 1])),
    joints: [
      revolute('a', frame('crank', [-half[0], 0, 0]), frame('world'), { motor: { torque: -1.5 } }),
      revolute('b', frame('coupler', [-half[1], 0, 0]), frame('crank', [half[0], 0, 0])),
      revolute('c', frame('rocker', [-half[2], 0, 0]), frame('coupler', [half[1], 0, 0])),
      revolute('d', frame('rocker', [half[2], 0, 0]), frame('world', [1, 0, 0]), { limits }),
    ],
  });
  const at = -Math.PI / 2; // of the rocker as it stands
  const { summary, get } = run(four([[at - 0.05, at + 0.05]]), 1);
  near(Math.abs(get(-1, 'd.q0') - at), 0.05, 1e-6);
  const free = run(four([null]), 1).summary;
  assert.ok(summary.tick_us.p50 < 50 * free.tick_us.p50, `${summary.tick_us.p50} us, ${free.tick_us.p50} us free`);
});

// Bars of 4 g under 54 N m, 250 steps a second: some steps have no finite end, and the chain stands still in them.
test('a step without an end lets no limit go', () => {
  const joints = [
    [
      'universal',
      'y',
      [
        [-0.4255317684979987, 0.2213734434121439],
        [-0.9862639139459113, 0.9374515102564487],
      ],
      { torque: 54.17370698074222 },
    ],
    [
      'universal',
      'y',
      [
        [-0.8405307453397739, 0.36991738187236156],
        [-0.618451776444645, 0.789341117686678],
      ],
      {
        target: -0.41740993793921355,
        stiffness: 541.7370698074221,
        damping: 5.4173706980742224,
        max: 54.17370698074222,
      },
    ],
  ];
  const most = passed(chain(250, 0.00418653692337866, joints), 0.3);
  assert.ok(most < 1e-3, `a limit is passed by ${most}`);
});

// There a spring's energy is rounded by its tension times where it acts, and the kinetic one is nothing.
test('what rests on springs, or on the end of a curve, takes no finer substeps', () => {
  const across = { p: [0, 0, 0], q: [half, half, 0, 0] };
  const spring = (id, up) => ({
    id,
    a: { object: 'b', p: [0, 0, 0.05] },
    b: { object: 'world', p: [30, 0, up] },
    stiffness: 1e5,
    damping: 10,
    length: 0.3,
  });
  const pushed = (springs) => ({
    gravity: [0, 0, 0],
    objects: [
      {
        id: 'b',
        geometry: { type: 'box', size: [0.1, 0.1, 0.1] },
        pose: { p: [30.3, 0, 0.2], q: [1, 0, 0, 0] },
        body: { mass: 2, damping: { linear: 300, angular: 1 } },
      },
    ],
    joints: [{ id: 'j', type: 'planar', a: { object: 'b', at: across }, b: { object: 'world', at: across } }],
    springs,
    tool: { object: 'b', device: 'sim' },
    devices: [
      {
        id: 'sim',
        driver: 'sim',
        operator: { type: 'wrench', samples: [{ t: 0, force: [springs.length ? 100 : 0, 0, 0], torque: [0, 0, 0] }] },
      },
    ],
  });
  const free = run(pushed([]), 3).summary;
  const held = run(pushed([spring('s1', 0.05), spring('s2', -0.05)]), 3).summary;
  assert.ok(held.tick_us.p50 < 20 * free.tick_us.p50, `${held.tick_us.p50} us, ${free.tick_us.p50} us free`);
  assert.deepEqual(held.events, []);
  const belt = JSON.parse(readFileSync(new URL('../../scenes/belt-drive.json', import.meta.url)));
  const turning = run(belt, 2).summary;
  belt.devices[0].operator.samples = [{ t: 0, force: [0, 0, 0], torque: [0, 0.006, 0] }];
  const stopped = run(belt, 14).summary;
  assert.deepEqual(
    stopped.events.map((e) => [e.kind, e.constraint]),
    [['edge', 'on-driver']],
  );
  assert.ok(
    stopped.tick_us.p50 < 3 * turning.tick_us.p50,
    `${stopped.tick_us.p50} us, ${turning.tick_us.p50} us before`,
  );
});

// More presses and strikes there than a tick has trials for: a step that got nowhere repeated for ever.
test('what more collides in than a tick bears does not stand still', () => {
  const { count, text, summary } = run(JSON.parse(readFileSync(new URL('../oracle/crowded.json', import.meta.url))), 1);
  const rows = text.split('\n').map((row) => row.slice(row.indexOf(',')));
  const still = rows.filter((row, i) => i > 0 && row === rows[i - 1] && row);
  assert.equal(count, 1000);
  assert.equal(still.length, 0, `${still.length} ticks got nowhere`);
  const e = summary.energy;
  near(e.final, e.initial + e.work_in + e.motors - e.dissipated + e.edits, 1e-8);
});

// Where a body is, is the sum of the arms that lead there: at the world's origin, too, a place is rounded by them.
test('what creeps beside a heavy body on a long arm takes no finer substeps at the origin', () => {
  const scene = (x) => {
    const hinge = { p: [0, 0, -1], q: [half, half, 0, 0] };
    const slope = [Math.cos(0.4), 0, Math.sin(0.4), 0];
    return {
      gravity: [0, 0, -G],
      objects: [
        {
          id: 'heavy',
          free: true,
          geometry: { type: 'box', size: [0.2, 0.2, 0.2] },
          pose: { p: [x, 0, 0], q: [1, 0, 0, 0] },
          body: { mass: 10 },
        },
        {
          id: 'bead',
          geometry: { type: 'sphere', radius: 0.02 },
          pose: { p: [x, 0, 0], q: slope },
          body: { mass: 0.1 },
        },
      ],
      joints: [
        {
          id: 'j',
          type: 'revolute',
          a: { object: 'heavy', at: hinge },
          b: { object: 'world', at: { p: [x, 0, -1], q: hinge.q } },
          spring: { stiffness: [2000], rest: [0] },
          damping: [30],
        },
        {
          id: 'slide',
          type: 'prismatic',
          a: { object: 'bead' },
          b: { object: 'heavy', at: { p: [0, 0, 0], q: slope } },
          damping: [8],
        },
      ],
    };
  };
  const here = run(scene(0), 4).summary;
  const there = run(scene(20), 4).summary;
  assert.deepEqual(here.events, []);
  assert.ok(here.tick_us.p50 < 3 * there.tick_us.p50, `${here.tick_us.p50} us, ${there.tick_us.p50} us 20 m away`);
});
