// `guideway solve` and POST /solve agree bit by bit, samples are spread
// over all of a branch and evaluate again to the same poses, errors name the member.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { after, before, test } from 'node:test';
import { command, solve } from './command.mjs';
import { client, start } from './server.mjs';

let server, call;

before(async () => {
  server = await start();
  ({ call } = await client(server));
});

after(() => server?.stop());

async function byServer(problem) {
  const r = await call('POST', '/solve', problem);
  assert.equal(r.status, 200, JSON.stringify(r.json));
  return r.json;
}

// ---- problems, from a small generator of numbers ---------------------------------------------

let state = 1n;
function uniform() {
  state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
  return Number(state >> 11n) / 2 ** 52 - 1;
}
const below = (n) => Math.min(n - 1, Math.floor(((uniform() + 1) / 2) * n));
const vector = () => (below(2) ? [uniform(), uniform(), uniform()] : [below(3) - 1, below(3) - 1, below(3)]);
const element = () =>
  [
    { point: vector() },
    { line: { point: vector(), direction: [uniform(), 1, below(2)] } },
    { plane: { point: vector(), normal: [1, uniform(), below(2)] } },
  ][below(3)];
const kinds = ['coincident', 'distance', 'angle', 'parallel', 'perpendicular'];

function constraint() {
  for (;;) {
    const c = { type: kinds[below(5)], mobile: element(), fixed: element() };
    const directed = !c.mobile.point && !c.fixed.point;
    if (c.type === 'distance') c.value = Math.abs(uniform());
    if (c.type === 'angle') c.value = Math.abs(uniform());
    if (directed || c.type === 'coincident' || c.type === 'distance') return c;
  }
}

const problem = () => ({
  mobile: { pose: { p: vector(), q: [1, 0, 0, 0] } },
  samples: 3,
  seed: 1 + below(1000),
  constraints: Array.from({ length: 1 + below(4) }, constraint),
});

test('the command line and the server agree to the last bit', async () => {
  const statuses = new Set();
  for (let i = 0; i < 60; i++) {
    const p = problem();
    const [a, b] = [solve(p), await byServer(p)];
    delete a.time_us;
    delete b.time_us;
    assert.equal(JSON.stringify(a), JSON.stringify(b), JSON.stringify(p));
    statuses.add(a.status);
  }
  assert.ok(statuses.has('solved') && statuses.has('incompatible'));
});

test('contained is another word for coincident, here and in scenes', async () => {
  const on = (type) => ({
    constraints: [{ type, mobile: { point: [1, 0, 0] }, fixed: { plane: { point: [0, 0, 2], normal: [0, 0, 1] } } }],
  });
  const [a, b] = [await byServer(on('contained')), await byServer(on('coincident'))];
  assert.deepEqual(a.branches, b.branches);
  const scene = (await call('GET', '/scene')).json;
  const joined = { id: 'axes', type: 'contained', a: 'cone/axis', b: 'cylinder/axis' };
  assert.equal((await call('PUT', '/scene', { ...scene, constraints: [joined] })).status, 200);
  assert.equal((await call('GET', '/constraints/axes')).json.type, 'coincident');
});

test('the same problem and seed give the same samples, another seed others', async () => {
  const p = {
    constraints: [{ type: 'distance', value: 1, mobile: { point: [0, 0, 0] }, fixed: { point: [0, 0, 0] } }],
    samples: 5,
    seed: 3,
  };
  const poses = async (seed) => JSON.stringify((await byServer({ ...p, seed })).branches[0].samples);
  assert.equal(await poses(3), await poses(3));
  assert.notEqual(await poses(3), await poses(4));
});

// How many samples a problem's answer has; each is found again by its parameters, the zero by zeros.
async function evaluatedAgain(p) {
  const a = await byServer(p);
  let checked = 0;
  for (const b of a.branches) {
    const wanted = [
      ...b.samples.filter((s) => !s.folded),
      { parameters: b.parameters.map(() => 0), pose: b.zero },
      b.nearest,
    ];
    const again = await byServer({
      ...p,
      samples: 0,
      at: { branch: b.id, parameters: wanted.map((s) => s.parameters) },
    });
    const same = again.branches.find((x) => x.id === b.id);
    same.samples.forEach((s, k) => {
      const was = wanted[k].pose;
      const turn = s.pose.q.reduce((sum, v, n) => sum + v * was.q[n], 0);
      assert.ok(
        Math.hypot(...s.pose.p.map((v, n) => v - was.p[n])) < 1e-8 && 1 - Math.abs(turn) < 1e-12,
        `${k} of ${b.id}: ${JSON.stringify(p)}`,
      );
    });
    checked += wanted.length - 2;
  }
  return checked;
}

test('samples evaluate again to their poses', async () => {
  let checked = 0;
  for (let i = 0; i < 60; i++) checked += await evaluatedAgain(problem());
  assert.ok(checked > 100, `${checked} samples`);
});

test('so do those of sets whose factors do not separate', async () => {
  const direction = () => [uniform(), uniform(), 1 + uniform() / 2];
  const spots = [
    () => ({ value: 1 + Math.abs(uniform()), fixed: { point: vector() } }),
    () => ({ value: 1 + Math.abs(uniform()), fixed: { line: { point: vector(), direction: direction() } } }),
    () => ({ value: uniform() / 2, fixed: { plane: { point: vector(), normal: direction() } } }),
  ];
  const freedoms = new Map();
  let folded = 0;
  for (let i = 0; i < 40; i++) {
    const constraints = Array.from({ length: 2 + (i % 4) }, () => ({
      type: 'distance',
      mobile: { point: [uniform(), uniform(), uniform()] },
      ...spots[below(3)](),
    }));
    const p = { constraints, samples: 20, seed: i + 1, mobile: { pose: { p: vector(), q: [1, 0, 0, 0] } } };
    const a = await byServer(p);
    if (a.status !== 'solved' || a.branches[0].kind !== 'general') continue;
    folded += a.branches.flatMap((b) => b.samples).filter((s) => s.folded).length;
    freedoms.set(a.dof, (freedoms.get(a.dof) ?? 0) + (await evaluatedAgain(p)));
  }
  assert.equal(folded, 0, `${folded} samples without parameters`);
  for (const dof of [1, 2, 3, 4]) assert.ok(freedoms.get(dof) > 50, JSON.stringify([...freedoms]));
});

test('the time of a solution leaves out what others take of the processor', async () => {
  const p = {
    constraints: [
      {
        type: 'coincident',
        mobile: { point: [1, 2, 3] },
        fixed: { plane: { point: [0, 0, 1], normal: [0, 0, 1] } },
      },
    ],
  };
  const busy = Array.from({ length: 4 * availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
  try {
    const times = [];
    for (let i = 0; i < 240; i++) times.push((await byServer(p)).time_us);
    times.sort((a, b) => a - b);
    assert.ok(times.at(-2) < 100 * times[0], `${times[0]} to ${times.at(-1)} us`);
  } finally {
    for (const b of busy) b.kill('SIGKILL');
  }
});

// ---- spread ----------------------------------------------------------------------------------

const point = (p) => ({ point: p });
const zAxis = { line: { point: [0, 0, 0], direction: [0, 0, 1] } };
const samplesOf = async (constraints) => (await byServer({ constraints, samples: 256 })).branches;
const widest = (values, from, to) =>
  [from, ...values.sort((a, b) => a - b), to].reduce((gap, v, i, all) => (i ? Math.max(gap, v - all[i - 1]) : 0), 0);

test('samples of a circle, a sphere and a turn leave no gap', async () => {
  const [ring] = await samplesOf([
    { type: 'coincident', mobile: point([0, 0, 0]), fixed: { plane: { point: [0, 0, 0], normal: [0, 0, 1] } } },
    { type: 'distance', value: 2, mobile: point([0, 0, 0]), fixed: point([0, 0, 0]) },
    { type: 'parallel', sense: 'same', mobile: zAxis, fixed: zAxis },
  ]);
  assert.equal(ring.dof, 2);
  for (const k of [0, 1])
    assert.ok(
      widest(
        ring.samples.map((s) => s.parameters[k]),
        -Math.PI,
        Math.PI,
      ) < 0.2,
      `parameter ${k}`,
    );
  const [ball] = await samplesOf([{ type: 'distance', value: 2, mobile: point([0, 0, 0]), fixed: point([0, 0, 0]) }]);
  for (const k of [0, 1, 2]) // a sphere's heights are uniform
    assert.ok(
      widest(
        ball.samples.map((s) => s.pose.p[k]),
        -2,
        2,
      ) < 0.16,
      `axis ${k}`,
    );
});

// Two angles: body axis x at a from z, body axis y at b from z. z in the body is (cos a, cos b, +-c):
// two circles of rotations; with a third direction shared instead, one loop from end to end.
test('samples of two angles are on both sheets and reach both ends', async () => {
  const angle = (d, f, value) => ({
    type: 'angle',
    value,
    mobile: { line: { point: [0, 0, 0], direction: d } },
    fixed: { line: { point: [0, 0, 0], direction: f } },
  });
  const pinned = { type: 'coincident', mobile: point([0, 0, 0]), fixed: point([0, 0, 0]) };
  const f2 = [0, Math.sin(1.2), Math.cos(1.2)];
  const branches = await samplesOf([pinned, angle([1, 0, 0], [0, 0, 1], 0.7), angle([0, 1, 0], f2, 0.8)]);
  const turned = ({ q: [w, x, y, z] }) => [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)];
  const sheets = new Set();
  const heights = [];
  for (const b of branches)
    for (const s of b.samples) {
      const x = turned(s.pose);
      assert.ok(Math.abs(Math.acos(x[2]) - 0.7) < 1e-8);
      const y = (({ q: [w, x1, y1, z1] }) => [
        2 * (x1 * y1 - w * z1),
        1 - 2 * (x1 * x1 + z1 * z1),
        2 * (y1 * z1 + w * x1),
      ])(s.pose);
      // R x's height along f2 runs between its ends; R y is on one side of the plane of R x and f2
      heights.push(x[1] * f2[1] + x[2] * f2[2]);
      sheets.add(
        Math.sign(
          x[0] * (y[1] * f2[2] - y[2] * f2[1]) +
            x[1] * (y[2] * f2[0] - y[0] * f2[2]) +
            x[2] * (y[0] * f2[1] - y[1] * f2[0]),
        ),
      );
    }
  // R x, R y at right angles, R y at 0.8 from f2: R x between pi/2 - 0.8 and pi/2 + 0.8 from f2, and
  // at 0.7 from z, which is 1.2 from f2: between 0.5 and 1.9
  const [low, high] = [Math.cos(1.9), Math.cos(Math.PI / 2 - 0.8)];
  assert.ok(
    Math.min(...heights) < low + 0.02 && Math.max(...heights) > high - 0.02,
    `${Math.min(...heights)} .. ${Math.max(...heights)} of ${low} .. ${high}`,
  );
  assert.ok(widest(heights, low, high) < 0.1, `gap ${widest(heights, low, high)}`);
  assert.ok(sheets.has(1) && sheets.has(-1));
});

test('a sense that nothing takes is told, not refused', () => {
  const at = point([0, 0, 0]);
  const face = { plane: { point: [0, 0, 0], normal: [0, 0, 1] } };
  const answer = solve({
    constraints: [
      { type: 'coincident', mobile: at, fixed: face, sense: 'same' },
      { type: 'parallel', mobile: face, fixed: face, sense: 'same' },
    ],
  });
  assert.equal(answer.status, 'solved');
  assert.deepEqual(answer.trace.filter((line) => /sense not used/.test(line)).length, 1);
  assert.match(
    answer.trace.find((line) => /sense not used/.test(line)),
    /c1/,
  );
});

// ---- errors ----------------------------------------------------------------------------------

// A sheet bent to a U with one side higher than the other. Of the four rotations of the set one has its point
// between the sides, where all that is 0.3 m from one of them is nearer to the other.
test('a rotation is kept whose nearest place another part of an offset surface takes', () => {
  const profile = [
    [-0.2, 0.5],
    [-0.2, 0.2],
    [-0.2, -0.3],
    [0.2, -0.3],
    [0.2, 0.4],
    [0.2, 2],
  ];
  const sheet = {
    degree: [3, 1],
    knots: [
      [0, 0, 0, 0, 1, 2, 3, 3, 3, 3],
      [0, 0, 1, 1],
    ],
    points: profile.map(([x, z]) => [-1, 1].map((y) => [x, y, z])),
  };
  const along = (direction) => ({ line: { point: [0, 0, 0], direction } }),
    across = (normal) => ({ plane: { point: [0, 0, 0], normal } });
  const r = solve({
    mobile: { pose: { p: [0.6, 0, 1.2], q: [1, 0, 0, 0] }, length: 1 },
    constraints: [
      { type: 'distance', value: 0.3, mobile: { point: [0.5, 0.2, -0.6] }, fixed: { surface: sheet } },
      { type: 'parallel', sense: 'either', mobile: along([0, 0.3, 1]), fixed: along([0, 0, 1]) },
      { type: 'perpendicular', mobile: across([1, 0.2, 0.1]), fixed: across([0.2, 1, 0]) },
    ],
  });
  assert.equal(r.status, 'solved');
  assert.equal(r.branches.length, 4);
});

test('errors name the member, the same from both', async () => {
  const good = { type: 'coincident', mobile: point([0, 0, 0]), fixed: point([0, 0, 0]) };
  const turn = { line: { point: [0, 0, 0], direction: [0, 0, 1] } };
  const onPlane = (p) => ({ type: 'coincident', mobile: point(p), fixed: { plane: { point: p, normal: p } } });
  const onPlanes = [onPlane([1, 0, 0]), onPlane([0, 1, 0])];
  const general = [
    // told in its zero's tangent space
    { type: 'coincident', mobile: point([0.4, 0, 0]), fixed: { plane: { point: [0, 0, 0], normal: [0, 0, 1] } } },
    { type: 'distance', value: 0.6, mobile: point([-0.4, 0, 0]), fixed: point([0, 0.3, 0.5]) },
  ];
  const bad = [
    [{ constraints: [good, { ...good, mobile: point([0, 'x', 0]) }] }, '/constraints/1/mobile/point/1'],
    [{ constraints: [{ ...good, fixed: {} }] }, '/constraints/0/fixed'],
    [{ constraints: [{ ...good, sense: 'up' }] }, '/constraints/0/sense'],
    [{ constraints: [{ ...good, id: 'a b' }] }, '/constraints/0/id'],
    [
      {
        constraints: [
          { ...good, id: 'c' },
          { ...good, id: 'c' },
        ],
      },
      '/constraints/1/id',
    ],
    [{ constraints: [{ type: 'angle', value: 4, mobile: turn, fixed: turn }] }, '/constraints/0/value'],
    [{ constraints: [{ type: 'angle', value: 1, mobile: point([0, 0, 0]), fixed: turn }] }, '/constraints/0/type'],
    [{ constraints: [good], samples: -1 }, '/samples'],
    [{ constraints: [good], samples: 1e6 }, '/samples'],
    [{ constraints: [good], seed: 0.5 }, '/seed'],
    [{ constraints: [good], at: { branch: 'b9', parameters: [] } }, '/at/branch'],
    [{ constraints: [good], at: { branch: 'b0', parameters: [[1, 2]] } }, '/at/parameters/0'],
    [{ constraints: [good], mobile: { length: -1 } }, '/mobile/length'],
    [{ constraints: [{ ...good, mobile: point([0, 1e200, 0]) }] }, '/constraints/0/mobile'],
    [{ constraints: [{ ...good, type: 'coincident', value: 0.05 }] }, '/constraints/0/value'],
    [{ constraints: [{ ...good, type: 'distance', value: 1e200 }] }, '/constraints/0/value'],
    [
      {
        constraints: general,
        at: {
          branch: 'b0',
          parameters: [
            [0, 0, 0, 0],
            [0, 0, 9, 1e12],
          ],
        },
      },
      '/at/parameters/1',
    ],
    [{ constraints: Array(65).fill(good) }, '/constraints'],
  ];
  for (const [p, pointer] of bad) {
    const r = command(['solve', '-'], JSON.stringify(p));
    assert.equal(r.code, 2, JSON.stringify(p));
    assert.ok(r.err.includes(pointer), `${r.err} does not name ${pointer}`);
    const s = await call('POST', '/solve', p);
    assert.ok(s.status >= 400 && s.status < 500, `${s.status}`);
    assert.ok(JSON.stringify(s.json).includes(pointer), `${JSON.stringify(s.json)} does not name ${pointer}`);
  }
  const { json } = await call('POST', '/solve', { constraints: onPlanes });
  const [branch] = json.branches;
  assert.deepEqual([json.method, branch.kind, branch.translation.kind], ['closed-form', 'coupled', 'line']);
  assert.deepEqual(
    branch.parameters.map((p) => p.name),
    ['yaw', 'pitch', 'roll', 's'],
  );
});

test('an element of free form may be copied from a geometry', async () => {
  const curve = {
    degree: 1,
    knots: [0, 0, 1, 1],
    points: [
      [0, 0, 0],
      [1, 0, 0],
    ],
  };
  const along = (fixed) => ({ constraints: [{ type: 'coincident', mobile: point([0, 0, 0]), fixed }] });
  const plain = solve(along({ curve }));
  const copied = solve(along({ curve: { type: 'nurbs-curve', ...curve } }));
  assert.equal(copied.status, 'solved');
  assert.deepEqual(copied.branches, plain.branches);
  const other = command(['solve', '-'], JSON.stringify(along({ curve: { type: 'nurbs-surface', ...curve } })));
  assert.equal(other.code, 2);
  assert.match(other.err, /fixed\/curve\/type: is "nurbs-surface", must be one of "nurbs-curve"/);
});
