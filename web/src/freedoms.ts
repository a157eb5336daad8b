// Motion of a body along the freedoms of its branch, told from where it is now: what a drag of a
// stopped object needs. z holds changes of the branch's parameters.
import { add, along, axisAngle, cross, dot, fromYawPitchRoll, norm, perpendicular, qmul, rotate, scale, sub, toLocal, unit, yawPitchRoll } from './maths';
import type { Branch, Pose, Quat, Translation, Vec3 } from './protocol';

export const radiusOf = (t: Translation): number => t.radius ?? t.radii?.[0] ?? 0;

export interface Basis { e1: Vec3; e2: Vec3; e3: Vec3 }

// The directions that the server measures the locus's parameters along.
export function basisOf(t: Translation): Basis {
  const e3 = unit(t.normal ?? t.direction ?? t.axes?.[2] ?? [0, 0, 1]);
  const e1 = t.axes?.[0] ? unit(t.axes[0]) : perpendicular(e3);
  return { e1, e2: t.axes?.[1] ? unit(t.axes[1]) : cross(e3, e1), e3 };
}

function turned(q: Quat, branch: Branch, z: readonly number[]): Quat {
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

// azimuth and polar angle, as the server counts them, about e3
function onSphere(t: Translation, b: Basis, x: Vec3, z: readonly number[]): Vec3 {
  const r = sub(x, t.point!);
  const radius = norm(r);
  const azimuth = Math.atan2(dot(r, b.e2), dot(r, b.e1)) + z[0]!;
  const polar = Math.acos(Math.max(-1, Math.min(1, dot(r, b.e3) / (radius || 1)))) + z[1]!;
  const flat = radius * Math.sin(polar);
  const level = add(scale(b.e1, flat * Math.cos(azimuth)), scale(b.e2, flat * Math.sin(azimuth)));
  return add(t.point!, along(level, b.e3, radius * Math.cos(polar)));
}

// The locus's point x after its parameters changed by z.
function moved(t: Translation, x: Vec3, z: readonly number[]): Vec3 {
  const b = basisOf(t);
  const centre = t.point ?? [0, 0, 0];
  switch (t.kind) {
    case 'free': return add(x, [z[0]!, z[1]!, z[2]!]);
    case 'plane': return along(along(x, b.e1, z[0]!), b.e2, z[1]!);
    case 'line': return along(x, b.e3, z[0]!);
    case 'circle': return about(centre, b.e3, z[0]!, x);
    case 'ellipse': return onEllipse(t, b, x, z[0]!);
    case 'cylinder': return about(centre, b.e3, z[1]!, along(x, b.e3, z[0]!));
    case 'sphere': return onSphere(t, b, x, z);
    default: return x;
  }
}

// The pose after the branch's parameters changed by z (rotational ones first).
export function shifted(branch: Branch, pose: Pose, z: readonly number[]): Pose {
  const t = branch.translation;
  const of = t.of ?? [0, 0, 0];
  const q = turned(pose.q, branch, z);
  const rest = z.slice(branch.rotation.dof);
  if (t.in === 'mobile') {
    const x = moved(t, toLocal(pose, of), rest);
    return { q, p: sub(of, rotate(q, x)) };
  }
  const x = moved(t, add(rotate(pose.q, of), pose.p), rest);
  return { q, p: sub(x, rotate(q, of)) };
}

const EPS = 1e-6;

// Changes of the chosen parameters that bring a point of the body nearest to the target: damped
// Gauss-Newton, which stays where it is along directions that do not help.
export function follow(branch: Branch, pose: Pose, point: Vec3, target: Vec3, which: readonly number[]): number[] {
  const n = branch.parameters.length;
  const z = new Array<number>(n).fill(0);
  const at = (v: readonly number[]): Vec3 => {
    const g = shifted(branch, pose, v);
    return add(rotate(g.q, point), g.p);
  };
  for (let turn = 0; turn < 8; turn++) {
    const here = at(z);
    const columns = which.map((k) => {
      const step = z.slice();
      step[k]! += EPS;
      return scale(sub(at(step), here), 1 / EPS);
    });
    const change = damped(columns, sub(target, here));
    which.forEach((k, i) => (z[k]! += change[i]!));
    if (Math.max(...change.map(Math.abs), 0) < 1e-7) break;
  }
  return z;
}

// (J^T J + mu I) x = J^T r by Gauss-Seidel, enough for at most three columns
function damped(columns: readonly Vec3[], r: Vec3): number[] {
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

// The parameters that a drag moves: translational ones, or rotational ones where there are none
// or where a turn is asked for.
export function dragParameters(branch: Branch, turn: boolean): number[] {
  const all = branch.parameters.map((p, i) => ({ i, rotation: p.part === 'rotation' }));
  const slides = all.filter((p) => !p.rotation).map((p) => p.i);
  const turns = all.filter((p) => p.rotation).map((p) => p.i);
  if (turn) return turns.slice(0, 3);
  return slides.length ? slides : turns;
}
