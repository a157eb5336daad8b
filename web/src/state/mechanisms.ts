// Mechanisms: names of links, forward kinematics, inverse kinematics for a pulled point, and drafts of serial chains.

import type { Geometry, Joint, Link, Mechanism, Pose, Tool, ToolState, Vec3 } from '../protocol';
import { jointKind } from './joints';
import { compose, IDENTITY, norm, rotate, sub, toWorld, unit } from './maths';

const named = new Map<string, string[]>(); // cached, since names are needed every frame

export function linkId(mechanism: string, link: number): string {
  let names = named.get(mechanism);
  if (!names) named.set(mechanism, (names = []));
  return (names[link] ??= `${mechanism}.${link}`);
}

// The name of the body that a tool holds, as in pose frames.
export const heldId = (t: Tool | ToolState): string =>
  t.mechanism ? linkId(t.mechanism, t.link ?? 0) : (t.object ?? '');

export interface LinkRef {
  mechanism: Mechanism;
  index: number;
  link: Link;
}

export function linkOf(mechanisms: readonly Mechanism[], id: string): LinkRef | undefined {
  const at = id.lastIndexOf('.');
  const mechanism = at > 0 ? mechanisms.find((m) => m.id === id.slice(0, at)) : undefined;
  const index = Number(id.slice(at + 1));
  const link = mechanism?.links[index];
  return mechanism && link ? { mechanism, index, link } : undefined;
}

// "link 2", or the link's label.
export const linkName = (m: Mechanism, index: number): string => m.links[index]?.id || `link ${index}`;

// Completes a pose of which a scene file may leave out parts.
export const fullPose = (pose: Partial<Pose> | undefined): Pose => ({
  p: pose?.p ?? IDENTITY.p,
  q: pose?.q ?? IDENTITY.q,
});

export const axisOf = (joint: Joint): Vec3 => unit(joint.axis ?? [0, 0, 1]);

// parent_from_link at a joint position.
function jointPose(joint: Joint, q: number): Pose {
  return compose(fullPose(joint.origin), jointKind(joint.type).motion(axisOf(joint), q));
}

// World poses of all links, at the positions q or the initial ones.
export function linkPoses(m: Mechanism, q?: readonly number[]): Pose[] {
  const poses: Pose[] = [];
  const base = fullPose(m.base);
  m.links.forEach((link, i) => {
    const on = parentOf(m, i) < 0 ? base : poses[parentOf(m, i)]!;
    poses.push(compose(on, jointPose(link.joint, q?.[i] ?? link.joint.position ?? 0)));
  });
  return poses;
}

// The parent of link i, -1: the base; and whether a link is a descendant of another, or the same.
export const parentOf = (m: Mechanism, i: number): number => m.links[i]!.parent ?? i - 1;

function hangsOn(m: Mechanism, link: number, on: number): boolean {
  let at = link;
  while (at > on) at = parentOf(m, at);
  return at === on;
}

// ---- building -----------------------------------------------------------------------------------------

export type Axis = 'x' | 'y' | 'z';
export const AXES: Record<Axis, Vec3> = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };

// A link as it is stated in the dialog: lengths in m, along the link's x axis.
export interface LinkDraft {
  type: Joint['type'];
  axis: Axis;
  offset: Vec3;
  mass: number;
  length: number;
}

export const firstLink = (): LinkDraft => ({ type: 'revolute', axis: 'z', offset: [0, 0, 0], mass: 1, length: 0.2 });

// The next link begins at the end of the last one.
export const nextLink = (last: LinkDraft): LinkDraft => ({ ...last, offset: [last.length, 0, 0] });

export function linkFromDraft(s: LinkDraft): Link {
  const joint: Joint = { type: s.type, origin: { p: s.offset }, axis: AXES[s.axis] };
  const thick = Math.max(0.12 * s.length, 1e-3);
  if (!(s.length > 0)) return { joint, mass: s.mass, com: [0, 0, 0], inertia: ballInertia(s.mass) };
  const geometry: Geometry = { type: 'box', size: [s.length, thick, thick] };
  return { joint, mass: s.mass, geometry, geometry_at: { p: [s.length / 2, 0, 0] } };
}

// The inertia of a ball of 50 mm diameter, for a link without a length.
function ballInertia(mass: number): NonNullable<Link['inertia']> {
  const i = 0.4 * mass * 0.025 ** 2;
  return [i, i, i, 0, 0, 0];
}

// An upper bound of the chain's reach (m).
export const maxReach = (links: readonly LinkDraft[]): number =>
  links.reduce((sum, l) => sum + norm(l.offset), 0) + (links[links.length - 1]?.length ?? 0);

// ---- following a pulled point while stopped ------------------------------------------------------------

const STEPS = 12;
const DAMPING = 1e-4;
const TURN_MAX = 0.3; // rad, of a joint in one step: beyond it the linearisation is inaccurate
const HALVINGS = 4;

// Joint positions that bring a point of a link nearest to a target, by damped least squares: dq = J^T (J J^T + mu I)^-1
// e, halved until the point comes nearer; joint limits are kept.
export function inverseKinematics(
  m: Mechanism,
  index: number,
  q0: readonly number[],
  local: Vec3,
  target: Vec3,
): number[] {
  let q = [...q0];
  let at = linkPoses(m, q);
  const error = (poses: readonly Pose[]): Vec3 => sub(target, toWorld(poses[index]!, local));
  for (let n = 0; n < STEPS; n++) {
    const e = error(at);
    if (norm(e) < 1e-7) break;
    const p = sub(target, e);
    const columns = m.links
      .slice(0, index + 1)
      .map((l, i): Vec3 => (hangsOn(m, index, i) ? jacobianColumn(l.joint, at[i]!, p) : [0, 0, 0]));
    const step = dampedLeastSquares(columns, e);
    const turns = step.filter((_, i) => jointKind(m.links[i]!.joint.type).unit === 'rad').map(Math.abs);
    let share = Math.min(1, TURN_MAX / Math.max(...turns, 1e-12));
    let nearer = false;
    for (let k = 0; k < HALVINGS && !nearer; k++, share /= 2) {
      const next = q.map((x, i) => (i < step.length ? clamp(m.links[i]!.joint, x + share * step[i]!) : x));
      const there = linkPoses(m, next);
      nearer = norm(error(there)) < norm(e);
      if (nearer) [q, at] = [next, there];
    }
    if (!nearer) break;
  }
  return q;
}

function clamp(joint: Joint, q: number): number {
  return joint.limits ? Math.max(joint.limits.lower, Math.min(joint.limits.upper, q)) : q;
}

function jacobianColumn(joint: Joint, link: Pose, p: Vec3): Vec3 {
  return jointKind(joint.type).column(rotate(link.q, axisOf(joint)), sub(p, link.p));
}

// J^T (J J^T + damping)^-1 e
function dampedLeastSquares(columns: readonly Vec3[], e: Vec3): number[] {
  const a = [
    [0, 0, 0],
    [0, 0, 0],
    [0, 0, 0],
  ];
  let size = 0;
  for (const c of columns)
    for (let i = 0; i < 3; i++) {
      size += c[i]! * c[i]!;
      for (let j = 0; j < 3; j++) a[i]![j]! += c[i]! * c[j]!;
    }
  for (let i = 0; i < 3; i++) a[i]![i]! += DAMPING * size + 1e-15;
  const y = solve3(a, e);
  return columns.map((c) => c[0] * y[0] + c[1] * y[1] + c[2] * y[2]);
}

function solve3(a: number[][], b: Vec3): Vec3 {
  const d = det(a[0]!, a[1]!, a[2]!);
  const with_ = (k: number): number =>
    det(...(a.map((row, i) => row.map((v, j) => (j === k ? b[i]! : v))) as [number[], number[], number[]]));
  return [with_(0) / d, with_(1) / d, with_(2) / d];
}

const det = (r: number[], s: number[], t: number[]): number =>
  r[0]! * (s[1]! * t[2]! - s[2]! * t[1]!) -
  r[1]! * (s[0]! * t[2]! - s[2]! * t[0]!) +
  r[2]! * (s[0]! * t[1]! - s[1]! * t[0]!);
