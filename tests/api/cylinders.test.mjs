// Cylinders that lie, stand and rattle on free-form surfaces from which they may part.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { command, scratch } from './command.mjs';

// The sheet z = s x + k x^2 + l y^2 over -0.5 .. 0.5: one exact Bezier patch.
const bend = [1, -1, 1]; // of t^2 over -1 .. 1
const sheet = ({ s = 0, k = 0, l = 0 }) => ({
  type: 'nurbs-surface',
  degree: [2, 2],
  knots: [
    [0, 0, 0, 1, 1, 1],
    [0, 0, 0, 1, 1, 1],
  ],
  points: [-1, 0, 1].map((x, i) =>
    [-1, 0, 1].map((y, j) => [x / 2, y / 2, (s * x) / 2 + (k * bend[i] + l * bend[j]) / 4]),
  ),
});

const about = (x, y, z, angle) => {
  const by = Math.sin(angle / 2) / Math.hypot(x, y, z);
  return [Math.cos(angle / 2), x * by, y * by, z * by];
};

const turned = ([w, x, y, z], [a, b, c]) => [
  (1 - 2 * (y * y + z * z)) * a + 2 * (x * y - w * z) * b + 2 * (x * z + w * y) * c,
  2 * (x * y + w * z) * a + (1 - 2 * (x * x + z * z)) * b + 2 * (y * z - w * x) * c,
  2 * (x * z - w * y) * a + 2 * (y * z + w * x) * b + (1 - 2 * (x * x + y * y)) * c,
];

// Points of a cylinder: its side with both rims, its caps.
function points(radius, height) {
  const all = [];
  for (let i = 0; i < 96; i++)
    for (let j = -4; j <= 4; j++)
      for (const share of Math.abs(j) === 4 ? [0, 0.5, 1] : [1]) {
        const angle = (i * Math.PI) / 48;
        all.push([share * radius * Math.cos(angle), share * radius * Math.sin(angle), (j * height) / 8]);
      }
  return all;
}

// How deep a cylinder is in a sheet, and whether it reaches over an edge.
function depth(shape, solid, p, q) {
  const { s = 0, k = 0, l = 0 } = shape;
  let least = Infinity,
    over = false;
  for (const own of solid) {
    const [x, y, z] = turned(q, own).map((c, i) => c + p[i]);
    over ||= Math.max(Math.abs(x), Math.abs(y)) > 0.499;
    const height = z - s * x - k * x * x - l * y * y;
    least = Math.min(least, height / Math.hypot(1, s + 2 * k * x, 2 * l * y));
  }
  return { deep: -least, over };
}

// A cylinder let go `gap` over a sheet above (x, y), for so long: the deepest it is on the way, and in the end.
function run({ shape, radius, height, q, x = 0, y = 0, gap = 5e-4, v, w, type = 'sliding', e = 0, seconds = 1.5 }) {
  const solid = points(radius, height);
  let [low, high] = [-1, 1];
  for (let i = 0; i < 50; i++) {
    const z = (low + high) / 2;
    if (depth(shape, solid, [x, y, z], q).deep > -gap) low = z;
    else high = z;
  }
  const scene = {
    format: 'guideway-scene/1',
    name: 'cylinder',
    gravity: [0, 0, -9.81],
    materials: [{ id: 'm', restitution: e }],
    objects: [
      { id: 'sheet', geometry: sheet(shape), fixed: true, material: 'm' },
      {
        id: 'body',
        geometry: { type: 'cylinder', radius, height },
        pose: { p: [x, y, high], q },
        velocity: { v: v ?? [0, 0, 0], w: w ?? [0, 0, 0] },
        free: true,
        body: { mass: 1 },
        material: 'm',
      },
    ],
    constraints: [{ id: 'c1', type, a: 'body/surface', b: 'sheet/surface', contact: 'unilateral' }],
  };
  const csv = join(scratch, 'cylinder.csv');
  const { code, out, err } = command(['run', '-', '--seconds', `${seconds}`, '--bodies', csv], JSON.stringify(scene));
  assert.equal(code, 0, err);
  const rows = readFileSync(csv, 'utf8').trim().split('\n').slice(1);
  let deepest = 0,
    end = 0,
    tilt = 0;
  for (const row of rows.filter((_, i) => i % 3 === 0)) {
    const at = row.split(',').slice(1, 8).map(Number);
    const now = depth(shape, solid, at.slice(0, 3), at.slice(3));
    if (now.over) break;
    end = now.deep;
    tilt = turned(at.slice(3), [0, 0, 1])[2];
    deepest = Math.max(deepest, end);
  }
  const { energy, events } = JSON.parse(out);
  const error = energy.final - energy.initial - energy.work_in - energy.edits + energy.dissipated;
  assert.ok(Math.abs(error) < 1e-9, `energy: ${error}`);
  const told = events.filter((event) => event.kind === 'degenerate');
  return { deepest, end, tilt, told };
}

const deflection = 9.81 / 4e5; // m, of the penalty that a step of 1 ms bears at 1 kg
const lying = about(0, 1, 0, Math.PI / 2);
const slope = Math.tan(Math.PI / 6);

test('a cylinder rests on a flat sheet, upright, tilted a little, and on its side', () => {
  for (const type of ['sliding', 'rolling', 'pure-rolling'])
    for (const q of [[1, 0, 0, 0], about(1, 0.3, 0, 1e-3), about(1, 0.3, 0, 0.2), lying]) {
      const { deepest, end, told } = run({ shape: {}, radius: 0.04, height: q === lying ? 0.1 : 0.06, q, type });
      assert.deepEqual(told, [], `${type}, ${q}`);
      assert.ok(deepest < 5e-5 && Math.abs(end) < deflection, `${type}, ${q}: ${deepest}, ${end}`);
    }
});

test('a cylinder that rolls stands on a steep sheet, and tips over where its centre is past its rim', () => {
  const q = about(0, 1, 0, -Math.PI / 6);
  const at = { shape: { s: slope }, radius: 0.04, q, x: 0.1, type: 'rolling' };
  const stands = run({ ...at, height: 0.06 });
  assert.deepEqual(stands.told, []);
  assert.ok(stands.deepest < deflection && stands.tilt > 0.86, JSON.stringify(stands));
  const tips = run({ ...at, height: 0.15, seconds: 0.6 });
  assert.ok(tips.deepest < 1e-3 && tips.tilt < 0.5, JSON.stringify(tips));
});

test('a cylinder rests upright where all of its rim is as high, in a bowl and in a trough', () => {
  for (const shape of [{ k: 1, l: 1 }, { k: 1 }, { k: 1, l: -1 }, { k: -0.5, l: -0.5 }]) {
    const { deepest, end, told } = run({ shape, radius: 0.06, height: 0.05, q: [1, 0, 0, 0], seconds: 1 });
    assert.deepEqual(told, [], JSON.stringify(shape));
    assert.ok(deepest < 5e-5 && Math.abs(end) < deflection, `${JSON.stringify(shape)}: ${deepest}, ${end}`);
  }
});

test('cylinders that rattle and slap flat come no deeper than a collision that waits', () => {
  const spin = [0.4, -0.2, 0.1];
  for (const it of [
    { shape: { k: 0.7, l: 0.7 }, radius: 0.07, height: 0.015, q: about(1, 0.4, 0.2, 0.3), w: [3, -5, 2], e: 0.6 },
    { shape: { k: -0.6, l: -0.6 }, radius: 0.05, height: 0.01, q: about(0.3, 1, 0, 0.2), w: [2, 3, -6], e: 0.6 },
    { shape: { k: 0.6, l: -0.6 }, radius: 0.06, height: 0.03, q: about(1, -1, 0, 0.4), v: spin, w: [4, 1, 3] },
    {
      shape: { k: 1.2 },
      radius: 0.05,
      height: 0.025,
      q: about(1, 0.2, 0, 0.6),
      w: [-4, 6, 1],
      type: 'rolling',
      e: 0.3,
    },
    {
      shape: { k: -0.4, l: -0.4 },
      radius: 0.04,
      height: 0.08,
      q: about(0.2, 1, 0, 1.4),
      w: [5, -2, 1],
      type: 'pure-rolling',
    },
  ]) {
    const { deepest, told } = run({ gap: 5e-3, ...it, seconds: 1 });
    assert.ok(deepest < 1e-3, `${JSON.stringify(it)}: ${deepest}`);
    assert.deepEqual(told, [], JSON.stringify(it));
  }
});
