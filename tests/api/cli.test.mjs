// The command line: solve, run, exit codes and messages.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { command, run, scratch, solve } from './command.mjs';

const scenes = [
  'cone-on-cylinder',
  'free-body',
  'paper-plane',
  'paper-circle',
  'paper-two-lines-1',
  'paper-two-lines-2',
  'paper-two-lines-3',
  'sphere',
  'cylinder-surface',
  'peg-and-hole',
  'door-and-drawer',
];

const close = (a, b, tolerance, what) =>
  assert.ok(Math.abs(a - b) <= tolerance, `${what ?? 'value'}: ${a} is not ${b}`);

function rotate([w, x, y, z], [a, b, c]) {
  const t = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * t[0] + y * t[2] - z * t[1], b + w * t[1] + z * t[0] - x * t[2], c + w * t[2] + x * t[1] - y * t[0]];
}

const place = ({ p, q }, x) => rotate(q, x).map((v, i) => v + p[i]);
const distance = (a, b) => Math.hypot(...a.map((v, i) => v - b[i]));

// relational-positioning VI-A
const simpleExample = {
  mobile: { pose: { p: [0, 0, 0], q: [1, 0, 0, 0] }, length: 1 },
  constraints: [
    {
      id: 'c1',
      type: 'coincident',
      mobile: { point: [0, 5, 3] },
      fixed: { line: { point: [0, 0, 3], direction: [0, 1, 0] } },
    },
    {
      id: 'c2',
      type: 'coincident',
      mobile: { point: [0, 5, 3] },
      fixed: { line: { point: [0, 0, 3], direction: [0, 0, 1] } },
    },
    { id: 'c3', type: 'coincident', mobile: { point: [0, 7, 3] }, fixed: { point: [-2, 0, 3] } },
  ],
  samples: 4,
  seed: 1,
};

test('solve answers the simple example of the paper', () => {
  const a = solve(simpleExample);
  assert.equal(a.status, 'solved');
  assert.equal(a.dof, 1);
  assert.equal(a.method, 'closed-form');
  assert.equal(a.branches.length, 1);
  const [b] = a.branches;
  assert.equal(b.rotation.kind, 'axis');
  b.rotation.axis.forEach((v, i) => close(Math.abs(v), [1, 0, 0][i], 1e-12));
  assert.deepEqual([b.translation.kind, b.translation.in], ['point', 'world']);
  b.translation.of.forEach((v, i) => close(v, [0, 5, 3][i], 1e-12));
  b.translation.point.forEach((v, i) => close(v, [0, 0, 3][i], 1e-12));
  assert.equal(a.redundant.length, 1);
  assert.equal(b.samples.length, 4);
  for (const s of b.samples) {
    assert.ok(distance(place(s.pose, [0, 5, 3]), [0, 0, 3]) < 1e-9);
    assert.ok(distance(place(s.pose, [0, 7, 3]), [-2, 0, 3]) < 1e-9);
  }
  assert.ok(a.time_us > 0);
});

test('solve evaluates a branch at given parameters: equation (17) at phi = 0', () => {
  const { samples, ...rest } = simpleExample;
  const a = solve({ ...rest, at: { branch: solve(simpleExample).branches[0].id, parameters: [[0], [0.5]] } });
  const [zero] = a.branches[0].samples;
  zero.pose.p.forEach((v, i) => close(v, [5, 0, 0][i], 1e-9));
  close(zero.parameters[0], 0, 1e-12);
  close(a.branches[0].samples[1].parameters[0], 0.5, 1e-12);
});

test('solve says incompatible with the numbers that clash', () => {
  const a = solve({
    constraints: [
      { id: 'near', type: 'coincident', mobile: { point: [0, 0, 0] }, fixed: { point: [0, 0, 0] } },
      { id: 'far', type: 'coincident', mobile: { point: [1, 0, 0] }, fixed: { point: [3, 0, 0] } },
    ],
  });
  assert.equal(a.status, 'incompatible');
  assert.deepEqual([...a.conflict.constraints].sort(), ['far', 'near']);
  assert.ok(a.conflict.message.length > 20 && Object.keys(a.conflict.values).length >= 2);
});

test('every status of solve exits 0, bad input exits 2 and names the member', () => {
  const bad = [
    [
      { constraints: [{ type: 'distance', mobile: { point: [0, 0, 0] }, fixed: { point: [0, 0, 0] }, value: -1 }] },
      '/constraints/0/value',
    ],
    [
      { constraints: [{ type: 'touching', mobile: { point: [0, 0, 0] }, fixed: { point: [0, 0, 0] } }] },
      '/constraints/0/type',
    ],
    [
      { constraints: [{ type: 'distance', mobile: { point: [0, 0] }, fixed: { point: [0, 0, 0] } }] },
      '/constraints/0/mobile/point',
    ],
    [{ constraints: [], extra: 1 }, '/extra'],
    [{ mobile: { length: 0 }, constraints: [] }, '/mobile/length'],
    [{ mobile: { pose: { p: [0, 0, 0], q: [1, 1, 0, 0] } }, constraints: [] }, '/mobile/pose/q'],
    [
      {
        constraints: [
          {
            type: 'coincident',
            mobile: { line: { point: [0, 0, 0], direction: [0, 0, 0] } },
            fixed: { point: [0, 0, 0] },
          },
        ],
      },
      '/constraints/0/mobile/line/direction',
    ],
    [
      { constraints: [{ type: 'parallel', mobile: { point: [0, 0, 0] }, fixed: { point: [0, 0, 0] } }] },
      '/constraints/0',
    ],
  ];
  for (const [problem, pointer] of bad) {
    const r = command(['solve', '-'], JSON.stringify(problem));
    assert.equal(r.code, 2, JSON.stringify(problem));
    assert.ok(r.err.includes(pointer), `${r.err} does not name ${pointer}`);
    assert.equal(r.out, '');
  }
  for (const text of ['', 'nonsense', '[1,2', '{"constraints":[],"constraints":[]}', 'NaN', '['.repeat(100)]) {
    assert.equal(command(['solve', '-'], text).code, 2, text);
  }
});

test('bad usage exits 2, help and version exit 0', () => {
  for (const args of [
    [],
    ['fly'],
    ['solve'],
    ['run'],
    ['run', 'a', 'b'],
    ['run', 'free-body', '--seconds', 'x'],
    ['serve', '--listen', 'nowhere'],
    ['bench', 'no-such-row'],
  ]) {
    const r = command(args);
    assert.equal(r.code, 2, args.join(' '));
    assert.ok(r.err.length > 0);
  }
  assert.equal(command(['--help']).code, 0);
  for (const name of ['serve', 'solve', 'run', 'import', 'bench']) {
    const help = command([name, '--help']);
    assert.equal(help.code, 0, name);
    assert.match(help.out, new RegExp(`guideway ${name} `));
    const options = [...help.out.split('\n')[0].matchAll(/\[--([^\] ]*)/g)].map((m) => m[1]);
    for (const option of options)
      assert.match(help.out, new RegExp(`^  --${option} .*[.]`, 'm'), `${name} --${option} is told of`);
    assert.equal(new Set(options).size, options.length);
    assert.doesNotMatch(help.out, /--[A-Z]/);
  }
  for (const page of [[], ['run']]) {
    const manual = command(['man', ...page]);
    assert.equal(manual.code, 0);
    assert.match(manual.out, /^\.TH GUIDEWAY/);
    assert.match(manual.out, /seconds/);
  }
  assert.equal(command(['man', 'fly']).code, 2);
  assert.equal(command(['run', 'free-body', '--seconds=0.01']).code, 0);
  assert.match(command(['run', 'free-body', '--seconds']).err, /--seconds needs a value: --seconds S/);
  assert.match(command(['run', 'free-body', '--real-time=1']).err, /--real-time takes no value/);
  assert.match(command(['--version']).out, /^guideway \d+\.\d+\.\d+\n$/);
});

test('the residual that run tells has the gaps of surfaces that are kept in touch', () => {
  for (const scene of ['rolling-on-saddle', 'rattleback', 'contact-freedoms']) {
    const { constraint_residual_max: residual } = run(scene, '--seconds', '2');
    assert.ok(residual > 0 && residual < 1e-13, `${scene}: ${residual}, to rounding and not left out`);
  }
});

test('run prints the summary alone: 60 s of every bundled scene stay on their submanifold', () => {
  for (const scene of scenes) {
    const s = run(scene, '--seconds', '60');
    assert.equal(s.ticks, 60000, scene);
    close(s.seconds, 60, 1e-12);
    // the scenes are 0.2 to 0.5 m large; the residual is that of the stated constraints
    assert.ok(s.constraint_residual_max <= 1e-12 * 0.2, `${scene}: residual ${s.constraint_residual_max}`);
    assert.equal(s.limited_ticks, 0, scene);
    for (const k of ['p50', 'p99', 'max']) assert.ok(s.tick_us[k] >= 0);
    const { initial, final, work_in: work, dissipated } = s.energy;
    // with damping, up to 80 rad/s
    close(final - initial, work - dissipated, 1e-10 * Math.max(1e-3, work, dissipated), `${scene}: energy`);
    assert.equal(s.final.pose.p.length, 3);
    assert.equal(s.final.twist.w.length, 3);
  }
});

test('run writes one row a tick with 17 significant digits, and the same bits twice', () => {
  const first = join(scratch, 'a.csv'),
    second = join(scratch, 'b.csv');
  run('paper-circle', '--seconds', '1', '--csv', first);
  run('paper-circle', '--seconds', '1', '--csv', second);
  const text = readFileSync(first, 'utf8');
  assert.equal(text, readFileSync(second, 'utf8'));
  const [header, ...rows] = text.trimEnd().split('\n');
  assert.equal(
    header,
    't,px,py,pz,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz,mpx,mpy,mpz,mqw,mqx,mqy,mqz,' +
      'fx,fy,fz,tx,ty,tz,lambda_f,lambda_t,kinetic,potential,error_p,error_r',
  );
  assert.equal(rows.length, 1000);
  rows.forEach((row, k) => {
    const cells = row.split(',').map(Number);
    assert.ok(cells.every(Number.isFinite));
    close(cells[0], k / 1000, 1e-12);
  });
});

test('virtual tool and ideal device agree within 2 mm in every scene with the ideal device', () => {
  const csv = join(scratch, 'agree.csv');
  for (const scene of scenes.filter((s) => !s.startsWith('paper-plane') && !s.startsWith('paper-circle'))) {
    run(scene, '--seconds', '3', '--csv', csv);
    const rows = readFileSync(csv, 'utf8').trimEnd().split('\n').slice(1);
    const worst = Math.max(...rows.map((r) => Number(r.split(',').at(-2))));
    assert.ok(worst <= 2e-3, `${scene}: ${worst}`);
  }
});

test('run refuses a bad scene with file and pointer', () => {
  const file = join(scratch, 'bad.json');
  const scene = { format: 'guideway-scene/1', objects: [{ id: 'ball', geometry: { type: 'sphere', radius: -1 } }] };
  writeFileSync(file, JSON.stringify(scene));
  let r = command(['run', file]);
  assert.equal(r.code, 2);
  assert.ok(r.err.includes('bad.json') && r.err.includes('/objects/0/geometry/radius'), r.err);
  scene.objects[0].geometry = { type: 'mesh', file: 'x.stl' };
  writeFileSync(file, JSON.stringify(scene));
  r = command(['run', file]);
  assert.ok(r.code === 2 && r.err.includes('/objects/0/geometry/file') && r.err.includes('x.stl'), r.err);
  scene.objects[0] = { id: 'ball', geometry: { type: 'sphere', radius: 1 }, fixed: true };
  scene.devices = [{ id: 'sim', driver: 'sim' }];
  scene.tool = { object: 'ball', device: 'sim' };
  writeFileSync(file, JSON.stringify(scene));
  r = command(['run', file]);
  assert.ok(r.code === 2 && r.err.includes(' /tool/object: ') && r.err.includes('fixed'), r.err);
  assert.equal(command(['run', 'no-such-file.json']).code, 2);
});

test('a refusal says the member once, of run and of serve', () => {
  const file = join(scratch, 'slow.json');
  writeFileSync(file, JSON.stringify({ format: 'guideway-scene/1', name: 'slow', objects: [], rate: 5 }));
  for (const args of [
    ['run', file],
    ['serve', '--listen', '127.0.0.1:0', '--data', join(scratch, 'data'), '--scene', file],
  ]) {
    const { code, err } = command(args);
    assert.equal(code, 2, err);
    assert.equal(err, `guideway: ${file}: /rate: is 5, must be a whole number from 250 to 8000\n`);
  }
});

test('a scene without a tool runs, its tool columns are zero', () => {
  const file = join(scratch, 'no-tool.json'),
    csv = join(scratch, 'no-tool.csv');
  writeFileSync(
    file,
    JSON.stringify({
      format: 'guideway-scene/1',
      objects: [{ id: 'ball', geometry: { type: 'sphere', radius: 0.1 } }],
    }),
  );
  assert.equal(run(file, '--seconds', '0.1', '--csv', csv).ticks, 100);
  const row = readFileSync(csv, 'utf8').trimEnd().split('\n')[50].split(',').map(Number);
  assert.ok(row.slice(1).every((v) => v === 0));
});

test('the energy of contact springs that begin loaded is told as edits, and the books close', () => {
  const file = join(scratch, 'crate.json');
  const objects = [
    { id: 'floor', geometry: { type: 'box', size: [1, 1, 0.1] }, pose: { p: [0, 0, -0.05] }, fixed: true },
    { id: 'crate', geometry: { type: 'box', size: [0.1, 0.1, 0.1] }, pose: { p: [0, 0, 0.05] }, free: true },
  ];
  const scene = { format: 'guideway-scene/1', gravity: [0, 0, -9.81], contact: { enabled: true }, objects };
  writeFileSync(file, JSON.stringify(scene));
  const { edits, energy } = run(file, '--seconds', '0.5');
  assert.ok(edits > 0);
  assert.equal(edits, energy.edits);
  assert.ok(
    Math.abs(energy.final - energy.initial - energy.work_in - energy.motors + energy.dissipated - edits) < 1e-12,
  );
});

test('constraints without ids get them, and two tools hold two objects', () => {
  const file = join(scratch, 'two-hands.json');
  const box = { type: 'box', size: [0.1, 0.1, 0.1] };
  const on = (a) => ({ type: 'coincident', a: `${a}/-z`, b: 'table/+z', sense: 'opposite' });
  writeFileSync(
    file,
    JSON.stringify({
      format: 'guideway-scene/1',
      objects: [
        { id: 'table', geometry: { type: 'box', size: [1, 1, 0.1] }, fixed: true },
        { id: 'left', geometry: box, pose: { p: [0.2, 0, 0.3], q: [1, 0, 0, 0] } },
        { id: 'right', geometry: box, pose: { p: [-0.2, 0, 0.3], q: [1, 0, 0, 0] } },
      ],
      constraints: [on('left'), { ...on('right'), id: 'c1' }, { type: 'parallel', a: 'left/+x', b: 'table/+x' }],
      tools: [
        { object: 'left', device: 'l' },
        { object: 'right', device: 'r' },
      ],
      devices: [
        { id: 'l', driver: 'sim' },
        { id: 'r', driver: 'sim' },
      ],
    }),
  );
  const s = run(file, '--seconds', '0.5');
  assert.ok(s.constraint_residual_max < 1e-12);
  close(s.final.pose.p[2], 0.1, 1e-12);
});

test('one newton on two kilograms gives half a metre per second squared, unscaled', () => {
  const file = join(scratch, 'push.json');
  writeFileSync(
    file,
    JSON.stringify({
      format: 'guideway-scene/1',
      objects: [{ id: 'ball', geometry: { type: 'sphere', radius: 0.1 }, body: { mass: 2 } }],
      tool: { object: 'ball', device: 'sim' },
      devices: [
        {
          id: 'sim',
          driver: 'sim',
          operator: { type: 'wrench', samples: [{ t: 0, force: [1, 0, 0], torque: [0, 0, 0] }] },
        },
      ],
    }),
  );
  const s = run(file, '--seconds', '2');
  close(s.final.pose.p[0], 1, 1e-9);
  close(s.final.twist.v[0], 1, 1e-9);
  close(s.energy.work_in, 1, 1e-9);
});

test('selftest judges the machine against a bare thread: JSON, words and exit code agree', () => {
  const r = command(['selftest', 'free-body', '--seconds', '1', '--rate', '500']);
  const v = JSON.parse(r.out);
  assert.equal(r.code, v.verdict === 'fit' ? 0 : 1, r.err);
  assert.ok(r.err.includes(v.words) && v.words.length > 10, r.err);
  assert.deepEqual([v.rate, v.seconds], [500, 1]);
  assert.ok(['fifo', 'best effort'].includes(v.scheduling));
  assert.ok(v.loop.ticks > 50 && v.loop.on_time > 0 && v.loop.on_time <= 1, r.out);
  for (const q of [v.loop.late_us, v.loop.tick_us, v.probe.late_us])
    assert.ok(q.p50 > 0 && q.p50 <= q.p99 && q.p99 <= q.p999 && q.p999 <= 1.05 * q.max, r.out);
  const within = (p) => v.loop.late_us[p] <= 1.5 * v.probe.late_us[p] + 20;
  const fit =
    v.scheduling === 'fifo' &&
    within('p99') &&
    within('p999') &&
    v.loop.on_time >= 0.999 &&
    v.probe.late_us.p999 <= 1000 &&
    v.loop.tick_us.p99 <= 1200;
  assert.equal(v.verdict, fit ? 'fit' : 'unfit', r.out);
  assert.equal(command(['selftest', 'nowhere']).code, 2);
  assert.equal(command(['selftest', '--rate', '9']).code, 2);
  assert.match(command(['man', 'selftest']).out, /bare thread/);
});
