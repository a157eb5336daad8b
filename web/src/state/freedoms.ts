// Motion of a body along the freedoms of its branch, from its present pose. z are changes of the branch's parameters,
// rotational ones first. Used for drags while stopped or paused.

import type { Branch, Pose, Quat, Solution, Strand, Translation, Vec3 } from '../protocol';
import {
  add,
  along,
  axisAngle,
  cross,
  dot,
  fromYawPitchRoll,
  norm,
  perpendicular,
  qconj,
  qmul,
  rotate,
  scale,
  sub,
  toLocal,
  unit,
  yawPitchRoll,
} from './maths';

export const radiusOf = (t: Translation): number => t.radius ?? t.radii?.[0] ?? 0;

export interface Basis {
  e1: Vec3;
  e2: Vec3;
  e3: Vec3;
}

// The directions along which the server measures the locus's parameters.
export function basisOf(t: Translation): Basis {
  const e3 = unit(t.normal ?? t.direction ?? [0, 0, 1]);
  const e1 = t.axes?.[0] ? unit(t.axes[0]) : perpendicular(e3);
  return { e1, e2: t.axes?.[1] ? unit(t.axes[1]) : cross(e3, e1), e3 };
}

function rotated(q: Quat, branch: Branch, z: readonly number[]): Quat {
  const { kind, axis = [0, 0, 1] as Vec3, axis_body: inner = [0, 0, 1] as Vec3 } = branch.rotation;
  if (kind === 'axis') return qmul(axisAngle(unit(axis), z[0]!), q);
  if (kind === 'angle') return qmul(qmul(axisAngle(unit(axis), z[0]!), q), axisAngle(unit(inner), z[1]!));
  if (kind !== 'free') return q;
  const [yaw, pitch, roll] = yawPitchRoll(q);
  return fromYawPitchRoll(yaw + z[0]!, pitch + z[1]!, roll + z[2]!);
}

const about = (centre: Vec3, axis: Vec3, angle: number, x: Vec3): Vec3 =>
  add(centre, rotate(axisAngle(axis, angle), sub(x, centre)));

function onEllipse(t: Translation, b: Basis, x: Vec3, dz: number): Vec3 {
  const [ra = 1, rb = ra] = t.radii ?? [radiusOf(t)];
  const r = sub(x, t.point!);
  const angle = Math.atan2(dot(r, b.e2) / rb, dot(r, b.e1) / ra) + dz;
  return add(t.point!, add(scale(b.e1, ra * Math.cos(angle)), scale(b.e2, rb * Math.sin(angle))));
}

// Azimuth and polar angle about e3, as the server defines them.
function onSphere(t: Translation, b: Basis, x: Vec3, z: readonly number[]): Vec3 {
  const r = sub(x, t.point!);
  const radius = norm(r);
  const azimuth = Math.atan2(dot(r, b.e2), dot(r, b.e1)) + z[0]!;
  const polar = Math.acos(Math.max(-1, Math.min(1, dot(r, b.e3) / (radius || 1)))) + z[1]!;
  const flat = radius * Math.sin(polar);
  const level = add(scale(b.e1, flat * Math.cos(azimuth)), scale(b.e2, flat * Math.sin(azimuth)));
  return add(t.point!, along(level, b.e3, radius * Math.cos(polar)));
}

// The locus's point x after a change z of its parameters.
function alongLocus(t: Translation, x: Vec3, z: readonly number[]): Vec3 {
  const b = basisOf(t);
  const centre = t.point ?? [0, 0, 0];
  switch (t.kind) {
    case 'free':
      return add(x, [z[0]!, z[1]!, z[2]!]);
    case 'plane':
      return along(along(x, b.e1, z[0]!), b.e2, z[1]!);
    case 'line':
      return along(x, b.e3, z[0]!);
    case 'circle':
      return about(centre, b.e3, z[0]!, x);
    case 'ellipse':
      return onEllipse(t, b, x, z[0]!);
    case 'cylinder':
      return about(centre, b.e3, z[1]!, along(x, b.e3, z[0]!));
    case 'sphere':
      return onSphere(t, b, x, z);
    default:
      return x;
  }
}

// The pose after a change z of the branch's parameters (rotational ones first).
export function poseAfter(branch: Branch, pose: Pose, z: readonly number[]): Pose {
  const t = branch.translation;
  const of = t.of ?? [0, 0, 0];
  const q = rotated(pose.q, branch, z);
  const rest = z.slice(branch.rotation.dof);
  if (t.in === 'mobile') {
    const x = alongLocus(t, toLocal(pose, of), rest);
    return { q, p: sub(of, rotate(q, x)) };
  }
  const x = alongLocus(t, add(rotate(pose.q, of), pose.p), rest);
  return { q, p: sub(x, rotate(q, of)) };
}

// True where a point stays on a free-form surface or curve, whose shape the branch does not contain.
export const isFreeForm = (branch: Branch): boolean =>
  branch.kind === 'separable' && (branch.translation.kind === 'surface' || branch.translation.kind === 'curve');

// True where freedom k can be followed only along its strand: poses along it that the server computes.
export const isByStrand = (branch: Branch, k: number): boolean =>
  branch.kind !== 'separable' || (isFreeForm(branch) && branch.parameters[k]?.part === 'translation');

const EPS = 1e-6;

// Changes z of the chosen parameters that bring a point of the body nearest to the target, by damped Gauss-Newton: min
// |x(z) - target|. Directions without effect are left unchanged.
export function parametersToward(
  branch: Branch,
  pose: Pose,
  point: Vec3,
  target: Vec3,
  which: readonly number[],
): number[] {
  const n = branch.parameters.length;
  const z = new Array<number>(n).fill(0);
  const at = (v: readonly number[]): Vec3 => {
    const g = poseAfter(branch, pose, v);
    return add(rotate(g.q, point), g.p);
  };
  for (let turn = 0; turn < 8; turn++) {
    const here = at(z);
    const columns = which.map((k) => {
      const step = z.slice();
      step[k]! += EPS;
      return scale(sub(at(step), here), 1 / EPS);
    });
    const change = dampedLeastSquares(columns, sub(target, here));
    which.forEach((k, i) => (z[k]! += change[i]!));
    if (Math.max(...change.map(Math.abs), 0) < 1e-7) break;
  }
  return z;
}

// Solves (J^T J + mu I) x = J^T r by Gauss-Seidel, which suffices for three columns.
function dampedLeastSquares(columns: readonly Vec3[], r: Vec3): number[] {
  const size = Math.max(...columns.map((c) => dot(c, c)), 1e-12);
  const x = columns.map(() => 0);
  for (let sweep = 0; sweep < 40; sweep++)
    columns.forEach((c, i) => {
      let rest = r;
      columns.forEach((d, j) => {
        if (j !== i) rest = sub(rest, scale(d, x[j]!));
      });
      x[i] = dot(c, rest) / (dot(c, c) + 1e-4 * size);
    });
  return x.map((v) => Math.max(-1, Math.min(1, v)));
}

// The parameters that a drag changes: translational ones, or rotational ones where there are no others or where `turn`
// asks for them.
export function dragParameters(branch: Branch, turn: boolean): number[] {
  const all = branch.parameters.map((p, i) => ({ i, rotation: p.part === 'rotation' }));
  const slides = all.filter((p) => !p.rotation).map((p) => p.i);
  const turns = all.filter((p) => p.rotation).map((p) => p.i);
  if (turn) return turns.slice(0, 3);
  return slides.length ? slides : turns;
}

// ---- freedoms that do not separate ------------------------------------------------------------------

export interface Motion {
  turns: boolean;
  axis: Vec3;
}

// The initial motion along a freedom at the present pose: a rotation about an axis or a translation along one.
export function firstMotion(strand: Strand, size: number): Motion | null {
  const [a, b] = [
    strand.poses[Math.max(strand.here - 1, 0)],
    strand.poses[Math.min(strand.here + 1, strand.poses.length - 1)],
  ];
  if (!a || !b || a === b) return null;
  const d = qmul(b.q, qconj(a.q));
  const sign = d[0] < 0 ? -1 : 1;
  const w: Vec3 = [sign * d[1], sign * d[2], sign * d[3]];
  const v = sub(b.p, a.p);
  const turns = norm(w) * size > norm(v);
  return { turns, axis: unit(turns ? w : v) };
}

// The pose of the strand at which the grabbed point is nearest to the target.
export function nearestOnPath(strand: Strand, point: Vec3, target: Vec3): Pose {
  let best = strand.poses[strand.here]!;
  let least = Infinity;
  for (let i = 1; i < strand.poses.length; i++)
    for (let f = 0; f <= 1; f += 0.1) {
      const [a, b] = [strand.poses[i - 1]!, strand.poses[i]!];
      const g = interpolated(a, b, f);
      const off = norm(sub(add(rotate(g.q, point), g.p), target));
      if (off < least) [least, best] = [off, g];
    }
  return best;
}

// Linear interpolation of two poses that are close to one another.
function interpolated(a: Pose, b: Pose, f: number): Pose {
  const sign = a.q[0] * b.q[0] + a.q[1] * b.q[1] + a.q[2] * b.q[2] + a.q[3] * b.q[3] < 0 ? -1 : 1;
  const q = a.q.map((v, i) => v + f * (sign * b.q[i]! - v)) as Quat;
  const size = Math.hypot(...q);
  return { p: add(a.p, scale(sub(b.p, a.p), f)), q: q.map((v) => v / size) as Quat };
}

// ---- swinging to and fro -----------------------------------------------------------------------------

const SWING_RAD = 0.35;
const SWING_PART = 0.3; // of the object's size
const SWING_STEPS = 12; // poses to each side

// A parameter's value, limited to its range.
export function within(
  range: [number | null, number | null] | null | undefined,
  periodic: boolean | undefined,
  value: number,
): number {
  const [low, high] = periodic ? [null, null] : (range ?? [null, null]);
  return Math.max(low ?? -Infinity, Math.min(high ?? Infinity, value));
}

// Poses to and fro along freedom k of the chosen branch, from the present pose.
export function swing(solution: Solution, branch: Branch, k: number, pose: Pose, size: number): Pose[] {
  if (isByStrand(branch, k)) {
    const strand = solution.strands?.[k];
    if (!strand) return [];
    return strand.poses.slice(Math.max(0, strand.here - 3), strand.here + 4);
  }
  const parameter = branch.parameters[k];
  const at = solution.parameters?.[k];
  if (!parameter || at === undefined) return [];
  const reach =
    parameter.unit === 'rad' && parameter.part === 'rotation'
      ? SWING_RAD
      : parameter.unit === 'rad'
        ? Math.min(SWING_RAD, (SWING_PART * size) / Math.max(radiusOf(branch.translation), 1e-6))
        : SWING_PART * size;
  return Array.from({ length: 2 * SWING_STEPS + 1 }, (_, i) => {
    const to = within(parameter.range, parameter.periodic, at + (reach * (i - SWING_STEPS)) / SWING_STEPS);
    return poseAfter(
      branch,
      pose,
      branch.parameters.map((_p, j) => (j === k ? to - at : 0)),
    );
  });
}
