// Vectors, quaternions (w x y z) and poses as plain arrays. Right-handed, z up.
import type { Pose, Quat, Vec3 } from '../protocol';

export const add = (a: Vec3, b: Vec3): Vec3 => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a: Vec3, b: Vec3): Vec3 => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a: Vec3, s: number): Vec3 => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a: Vec3, b: Vec3): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const cross = (a: Vec3, b: Vec3): Vec3 => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const norm = (a: Vec3): number => Math.hypot(a[0], a[1], a[2]);
export const along = (p: Vec3, d: Vec3, s: number): Vec3 => add(p, scale(d, s));

export function unit(a: Vec3): Vec3 {
  const n = norm(a);
  return n > 0 ? scale(a, 1 / n) : [0, 0, 1];
}

// A unit vector perpendicular to d.
export function perpendicular(d: Vec3): Vec3 {
  const k: Vec3 = Math.abs(d[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0];
  return unit(cross(k, d));
}

export function qmul(a: Quat, b: Quat): Quat {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}

export const qconj = (q: Quat): Quat => [q[0], -q[1], -q[2], -q[3]];

export function rotate(q: Quat, v: Vec3): Vec3 {
  const u: Vec3 = [q[1], q[2], q[3]];
  const t = scale(cross(u, v), 2);
  return add(add(v, scale(t, q[0])), cross(u, t));
}

export function axisAngle(axis: Vec3, angle: number): Quat {
  const s = Math.sin(angle / 2);
  return [Math.cos(angle / 2), axis[0] * s, axis[1] * s, axis[2] * s];
}

export const toWorld = (g: Pose, p: Vec3): Vec3 => add(rotate(g.q, p), g.p);
export const toLocal = (g: Pose, p: Vec3): Vec3 => rotate(qconj(g.q), sub(p, g.p));
export const compose = (a: Pose, b: Pose): Pose => ({ p: toWorld(a, b.p), q: qmul(a.q, b.q) });
export const inverse = (a: Pose): Pose => ({ p: rotate(qconj(a.q), scale(a.p, -1)), q: qconj(a.q) });

// The rotation Rz(yaw) Ry(pitch) Rx(roll).
export function fromYawPitchRoll(yaw: number, pitch: number, roll: number): Quat {
  const z = axisAngle([0, 0, 1], yaw);
  const y = axisAngle([0, 1, 0], pitch);
  return qmul(qmul(z, y), axisAngle([1, 0, 0], roll));
}

export const withAngles = (q: Quat, edit: (ypr: Vec3) => Vec3): Quat => fromYawPitchRoll(...edit(yawPitchRoll(q)));

export function yawPitchRoll(q: Quat): Vec3 {
  const [w, x, y, z] = q;
  const sine = Math.max(-1, Math.min(1, 2 * (w * y - z * x)));
  const yaw = Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
  const roll = Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y));
  return [yaw, Math.asin(sine), roll];
}

export const IDENTITY: Pose = { p: [0, 0, 0], q: [1, 0, 0, 0] };
