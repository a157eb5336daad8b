// Outlines of features: a dot, a segment or a closed curve in the object's frame; bounds of geometries.

import type { Feature, Geometry, Pose, Vec3 } from '../protocol';
import { along, cross, dot, IDENTITY, perpendicular, rotate, sub, toLocal, toWorld, unit } from '../state/maths';
import { fullPose } from '../state/mechanisms';
import { trianglesOf } from '../state/meshes';
import { controlBox, isolines, netFor, wayFor } from '../state/nurbs';

export interface Outline {
  kind: 'point' | 'line' | 'plane' | 'curve' | 'surface';
  points: Vec3[]; // one point; two ends; a closed polygon; a curve's points in order; a surface's middle
  lines: Vec3[][]; // of a surface: the lines that are drawn
  inner: boolean; // inside the body: an axis, a centre, a symmetry plane
  from: number; // of a line: where it leaves the body, as a fraction of its length
  to: number;
}

const ROUND = 48;
const OVERHANG = 0.28; // length by which an axis extends beyond the body, relative to its size

export interface Bounds {
  low: Vec3;
  high: Vec3;
}

export function boundsOf(g: Geometry): Bounds {
  switch (g.type) {
    case 'box':
      return { low: half(g.size, -1), high: half(g.size, 1) };
    case 'sphere':
      return { low: [-g.radius, -g.radius, -g.radius], high: [g.radius, g.radius, g.radius] };
    case 'cylinder':
      return { low: [-g.radius, -g.radius, -g.height / 2], high: [g.radius, g.radius, g.height / 2] };
    case 'capsule':
      return {
        low: [-g.radius, -g.radius, -g.height / 2 - g.radius],
        high: [g.radius, g.radius, g.height / 2 + g.radius],
      };
    case 'nurbs-surface':
    case 'nurbs-curve':
      return controlBox(g);
    case 'mesh':
      return meshBounds(g.file);
    case 'cone':
      return { low: [-g.radius, -g.radius, 0], high: [g.radius, g.radius, g.height] };
    case 'compound':
      return union(g.parts.map((p) => movedBounds(boundsOf(p.geometry), fullPose(p.pose))));
  }
}

// A millimetre until the triangles have arrived.
function meshBounds(file: string): Bounds {
  const mesh = trianglesOf(file);
  if (!mesh) return { low: [-5e-4, -5e-4, -5e-4], high: [5e-4, 5e-4, 5e-4] };
  const low: Vec3 = [Infinity, Infinity, Infinity];
  const high: Vec3 = [-Infinity, -Infinity, -Infinity];
  mesh.vertices.forEach((x, i) => {
    low[i % 3] = Math.min(low[i % 3]!, x);
    high[i % 3] = Math.max(high[i % 3]!, x);
  });
  return { low, high };
}

const half = (v: Vec3, s: number): Vec3 => [(v[0] * s) / 2, (v[1] * s) / 2, (v[2] * s) / 2];

export function corners({ low, high }: Bounds): Vec3[] {
  const out: Vec3[] = [];
  for (let i = 0; i < 8; i++) out.push([i & 1 ? high[0] : low[0], i & 2 ? high[1] : low[1], i & 4 ? high[2] : low[2]]);
  return out;
}

export function around(points: readonly Vec3[]): Bounds {
  if (!points.length) return { low: [0, 0, 0], high: [0, 0, 0] };
  const low: Vec3 = [Infinity, Infinity, Infinity];
  const high: Vec3 = [-Infinity, -Infinity, -Infinity];
  for (const p of points)
    for (let k = 0; k < 3; k++) {
      low[k] = Math.min(low[k]!, p[k]!);
      high[k] = Math.max(high[k]!, p[k]!);
    }
  return { low, high };
}

const movedBounds = (b: Bounds, g: Pose): Bounds => around(corners(b).map((p) => toWorld(g, p)));
const union = (all: Bounds[]): Bounds => around(all.flatMap((b) => [b.low, b.high]));

export const sizeOf = (b: Bounds): number => Math.hypot(...sub(b.high, b.low));

// The part of a compound to which a feature's name refers, and the rest of the name.
export function partOf(g: Geometry, name: string): { geometry: Geometry; pose: Pose; name: string } {
  const match = /^part(\d+)\.(.+)$/.exec(name);
  if (g.type !== 'compound' || !match) return { geometry: g, pose: IDENTITY, name };
  const part = g.parts[Number(match[1])];
  return part
    ? { geometry: part.geometry, pose: fullPose(part.pose), name: match[2]! }
    : { geometry: g, pose: IDENTITY, name };
}

const INNER = /^(axis|axis-.|mid|mid-.|center)$/;

function lineOutline(b: Bounds, p: Vec3, d: Vec3, inner: boolean): Outline {
  const reach = corners(b).map((c) => dot(sub(c, p), d));
  const [s0, s1] = [Math.min(...reach), Math.max(...reach)];
  const extra = inner ? OVERHANG * Math.max(s1 - s0, 0.5 * sizeOf(b)) : 0;
  const length = s1 - s0 + 2 * extra || 1;
  return {
    kind: 'line',
    lines: [],
    inner,
    points: [along(p, d, s0 - extra), along(p, d, s1 + extra)],
    from: extra / length,
    to: 1 - extra / length,
  };
}

function circle(centre: Vec3, n: Vec3, radius: number): Vec3[] {
  const e1 = perpendicular(n);
  const e2 = cross(n, e1);
  return Array.from({ length: ROUND }, (_, i) => {
    const a = (2 * Math.PI * i) / ROUND;
    return along(along(centre, e1, radius * Math.cos(a)), e2, radius * Math.sin(a));
  });
}

// The rectangle in which a plane cuts or touches a box.
function rectangle(b: Bounds, p: Vec3, n: Vec3): Vec3[] {
  const k = [0, 1, 2].find((i) => Math.abs(n[i]!) > 0.999) ?? -1;
  const centre: Vec3 = [0, 1, 2].map((i) => (b.low[i]! + b.high[i]!) / 2) as Vec3;
  const on = along(centre, n, dot(sub(p, centre), n));
  const e1: Vec3 = k < 0 ? perpendicular(n) : ([0, 1, 2].map((i) => (i === (k + 1) % 3 ? 1 : 0)) as Vec3);
  const e2 = cross(n, e1);
  const reach = (e: Vec3): number => Math.max(...corners(b).map((c) => Math.abs(dot(sub(c, centre), e))));
  const [u, v] = [reach(e1), reach(e2)];
  return [
    [-1, -1],
    [1, -1],
    [1, 1],
    [-1, 1],
  ].map(([i, j]) => along(along(on, e1, i! * u), e2, j! * v));
}

function planeOutline(g: Geometry, p: Vec3, n: Vec3, inner: boolean): Outline {
  const round = (g.type === 'cylinder' || g.type === 'cone') && Math.abs(n[2]) > 0.999;
  const on: Vec3 = [0, 0, p[2]];
  const points = round ? circle(on, n, g.radius) : rectangle(boundsOf(g), p, n);
  return { kind: 'plane', lines: [], inner, points, from: 0, to: 1 };
}

const curveOutline = (points: Vec3[]): Outline => ({
  kind: 'curve',
  lines: [],
  inner: false,
  points,
  from: 0,
  to: 1,
});

const surfaceOutline = (middle: Vec3, lines: Vec3[][]): Outline => ({
  kind: 'surface',
  lines,
  inner: false,
  points: [middle],
  from: 0,
  to: 1,
});

const MERIDIANS = 8;

const ring = (centre: Vec3, n: Vec3, radius: number): Vec3[] => {
  const points = circle(centre, n, radius);
  return [...points, points[0]!];
};

// The outline of the surface of a sphere, the side of a cylinder or a capsule, or a rim, for sliding and rolling.
function touchingOutline(g: Geometry, f: Feature): Outline {
  const middle: Vec3 = [0, 0, 0];
  if (g.type === 'sphere')
    return surfaceOutline(
      middle,
      [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
      ].map((n) => ring(middle, n as Vec3, g.radius)),
    );
  if (g.type !== 'cylinder' && g.type !== 'capsule' && g.type !== 'cone') return surfaceOutline(middle, []);
  const z = g.type === 'cone' ? 0 : (g.height / 2) * (f.id.endsWith('bottom-rim') ? -1 : 1);
  const up: Vec3 = [0, 0, 1];
  if (f.touches === 'rim') return curveOutline(ring([0, 0, z], up, g.radius));
  const [top, bottom] = [ring([0, 0, z], up, g.radius), ring([0, 0, -z], up, g.radius)];
  const sides = Array.from({ length: MERIDIANS }, (_, i): Vec3[] => {
    const k = (i * ROUND) / MERIDIANS;
    return [top[k]!, bottom[k]!];
  });
  return surfaceOutline(middle, [top, bottom, ...sides]);
}

export function outlineOf(whole: Geometry, feature: Feature): Outline {
  const { geometry, pose, name } = partOf(whole, feature.id.slice(feature.id.indexOf('/') + 1));
  const inner = INNER.test(name) && feature.derived !== false;
  const moved = (points: readonly Vec3[]): Vec3[] => points.map((q) => toWorld(pose, q));
  const there = (o: Outline): Outline => ({ ...o, points: moved(o.points), lines: o.lines.map(moved) });
  if (feature.touches) return there(touchingOutline(geometry, feature));
  if (feature.curve) return curveOutline(wayFor(feature.curve));
  if (feature.surface) {
    const { points } = netFor(feature.surface);
    const row = points[points.length >> 1]!;
    return surfaceOutline(row[row.length >> 1]!, isolines(feature.surface));
  }
  const turn = (d: Vec3): Vec3 => rotate([pose.q[0], -pose.q[1], -pose.q[2], -pose.q[3]], unit(d));
  if (feature.line)
    return there(
      lineOutline(boundsOf(geometry), toLocal(pose, feature.line.point), turn(feature.line.direction), inner),
    );
  if (feature.plane)
    return there(planeOutline(geometry, toLocal(pose, feature.plane.point), turn(feature.plane.normal), inner));
  return { kind: 'point', lines: [], inner, points: [feature.point ?? [0, 0, 0]], from: 0, to: 1 };
}
