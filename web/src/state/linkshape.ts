// The drawing of a link: its geometry, else the mesh that an import named, else a bar; its joint's pin; and the
// geometries that can be chosen.

import type { Geometry, Link, Mechanism, Pose, Primitive, Quat, Vec3 } from '../protocol';
import { jointKind } from './joints';
import { IDENTITY, norm, scale, unit } from './maths';
import { axisOf, fullPose, parentOf } from './mechanisms';
import { meshFiles } from './meshes';

const BAR = 0.16; // width of a bar, relative to the mean length of the links

// The mean length of the links; where all joints are at one point, of the bodies on them.
function meanLength(m: Mechanism): number {
  const lengths = m.links
    .map((l, i) => norm(nextOn(m, i)?.joint.origin?.p ?? scale(l.com ?? [0, 0, 0], 2)))
    .filter((x) => x > 1e-6);
  if (lengths.length) return lengths.reduce((a, b) => a + b, 0) / lengths.length;
  return Math.max(...m.links.map((l) => thickness(l.geometry))) || 0.1;
}

function thickness(g: Geometry | undefined): number {
  if (!g || !('radius' in g || 'size' in g)) return 0;
  return g.type === 'box' ? Math.max(...g.size) / 2 : g.radius;
}

// A body that does not reach its joint is drawn with a rod to it.
const ROD = 0.12; // radius of the rod, relative to a bar's width

function rod(link: Link, width: number): WorldElement[] {
  const g = link.geometry;
  const { p } = fullPose(link.geometry_at);
  const length = norm(p);
  if (!g || !('radius' in g || 'size' in g)) return [];
  const reach = g.type === 'box' || g.type === 'sphere' ? thickness(g) : Math.hypot(g.radius, g.height); // upper bound
  if (length <= 1.05 * reach) return [];
  return [
    { geometry: { type: 'cylinder', radius: ROD * width, height: length }, pose: { p: scale(p, 0.5), q: alongZ(p) } },
  ];
}

// The first link whose parent is this one.
const nextOn = (m: Mechanism, i: number): Link | undefined => m.links.find((_, k) => k > i && parentOf(m, k) === i);

// The end of the link: the next joint; of the last link twice its centre of mass.
function tip(m: Mechanism, i: number): Vec3 {
  const next = nextOn(m, i)?.joint.origin?.p;
  if (next && norm(next) > 1e-9) return next;
  return next ? [0, 0, 0] : scale(m.links[i]!.com ?? [0, 0, 0], 2);
}

// The rotation that takes +z to d.
export function alongZ(d: Vec3): Quat {
  const [x, y, z] = unit(d);
  if (z < -0.999999) return [0, 1, 0, 0];
  const q: Quat = [1 + z, -y, x, 0];
  const n = Math.hypot(...q);
  return q.map((v) => v / n) as Quat;
}

interface WorldElement {
  geometry: Geometry;
  pose: Pose;
}

// A bar from the joint to the next one; none where both are at one point.
function barOf(m: Mechanism, i: number, width: number): WorldElement | undefined {
  const end = tip(m, i);
  const length = norm(end);
  return length > 1e-9
    ? { geometry: { type: 'box', size: [width, width, length] }, pose: { p: scale(end, 0.5), q: alongZ(end) } }
    : undefined;
}

// The mesh file that an import named, where the server has it.
export const shownMesh = (link: Link): string | undefined =>
  link.mesh && meshFiles.value.has(link.mesh) ? link.mesh : undefined;

export interface LinkShape {
  body: Geometry;
  joint: Geometry;
} // both in the link's frame

// Without a geometry: a slim bar from the joint to the next one. The pin of a joint is a short cylinder about its axis,
// or a bar along it for a prismatic joint.
export function linkShape(m: Mechanism, i: number): LinkShape {
  const link = m.links[i]!;
  const g = link.geometry;
  const round = g && 'radius' in g ? g.radius : Infinity;
  const width = Math.min(BAR * meanLength(m), round); // a joint is not drawn thicker than its link
  const parts: WorldElement[] = [];
  const mesh = shownMesh(link);
  if (g) parts.push({ geometry: g, pose: fullPose(link.geometry_at) });
  else if (mesh) parts.push({ geometry: { type: 'mesh', file: mesh }, pose: fullPose(link.geometry_at) });
  else {
    const bar = barOf(m, i, width);
    if (bar) parts.push(bar);
    else if (!m.links.some((l) => l.geometry))
      parts.push({ geometry: { type: 'sphere', radius: 0.6 * width }, pose: IDENTITY });
    // else the link only connects two joints at one point: the pin is enough
  }
  const pin = jointKind(link.joint.type).pin(width);
  return {
    body: { type: 'compound', parts },
    joint: {
      type: 'compound',
      parts: [{ geometry: pin, pose: { p: [0, 0, 0], q: alongZ(axisOf(link.joint)) } }, ...rod(link, width)],
    },
  };
}

// ---- shapes to choose from ------------------------------------------------------------------------------

export const PRIMITIVES: readonly Primitive[] = ['box', 'cylinder', 'cone', 'sphere', 'capsule'];

// A primitive as long as the link, from its joint to its end.
export function shapeFor(m: Mechanism, i: number, type: Primitive): { geometry: Geometry; geometry_at: Pose } {
  const width = BAR * meanLength(m);
  const { geometry: bar, pose } = barOf(m, i, width) ?? {
    geometry: { type: 'box' as const, size: [width, width, width] as Vec3 },
    pose: IDENTITY,
  };
  const length = Number((bar as { size: Vec3 }).size[2].toPrecision(4));
  const thick = Number(width.toPrecision(2));
  if (type === 'box') return { geometry: { type, size: [thick, thick, length] }, geometry_at: pose };
  if (type === 'sphere') return { geometry: { type, radius: thick }, geometry_at: pose };
  if (type === 'cone')
    return { geometry: { type, radius: thick / 2, height: length }, geometry_at: { p: [0, 0, 0], q: pose.q } };
  return { geometry: { type, radius: thick / 2, height: length }, geometry_at: pose };
}
