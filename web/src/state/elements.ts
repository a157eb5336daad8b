// Elements of features in world coordinates: points, lines, planes, free-form curves and surfaces, and the surfaces
// and rims of primitives, which have no element of their own.
import type { Feature, Geometry, Pose, Vec3 } from '../protocol';
import { rotate, toLocal, toWorld, unit } from './maths';
import { fullPose } from './mechanisms';
import { type Foot, footOnCurve, footOnSurface } from './nurbs';

export type ElementKind = 'point' | 'line' | 'plane' | 'curve' | 'surface' | 'sphere' | 'cylinder' | 'rim';

export const kindOf = (f: Feature): ElementKind =>
  f.touches ?? (f.surface ? 'surface' : f.curve ? 'curve' : f.plane ? 'plane' : f.line ? 'line' : 'point');

// With what is common to all: a point p of it and its direction d, of free forms those nearest to a point.
export interface WorldElement {
  kind: ElementKind;
  p: Vec3;
  d: Vec3;
  foot?: (x: Vec3) => Foot;
}

export function placed(f: Feature, g: Pose): WorldElement {
  const kind = kindOf(f);
  if (f.line) return { kind, p: toWorld(g, f.line.point), d: rotate(g.q, unit(f.line.direction)) };
  if (f.plane) return { kind, p: toWorld(g, f.plane.point), d: rotate(g.q, unit(f.plane.normal)) };
  const shape = f.surface ?? f.curve;
  if (!shape) return { kind, p: toWorld(g, f.point ?? [0, 0, 0]), d: [0, 0, 0] };
  const foot = (x: Vec3): Foot => {
    const at = f.surface ? footOnSurface(f.surface, toLocal(g, x)) : footOnCurve(f.curve!, toLocal(g, x));
    return { p: toWorld(g, at.p), d: rotate(g.q, at.d) };
  };
  const row = shape.points[shape.points.length >> 1]!;
  const middle = (f.surface ? row[row.length >> 1] : row) as Vec3;
  return { kind, p: toWorld(g, middle), d: [0, 0, 0], foot };
}

// ---- surfaces and rims of primitives ---------------------------------------------------------------------

type Part = [string, NonNullable<Feature['touches']>, Vec3]; // its name, and a point at its middle

function partsOf(g: Geometry): Part[] {
  if (g.type === 'sphere') return [['surface', 'sphere', [0, 0, 0]]];
  if (g.type === 'capsule') return [['surface', 'cylinder', [0, 0, 0]]];
  if (g.type === 'cone') return [['base-rim', 'rim', [0, 0, 0]]];
  if (g.type !== 'cylinder') return [];
  return [
    ['surface', 'cylinder', [0, 0, 0]],
    ['top-rim', 'rim', [0, 0, g.height / 2]],
    ['bottom-rim', 'rim', [0, 0, -g.height / 2]],
  ];
}

// By the names that sliding and rolling take; of a compound's parts too.
export function touchingFeatures(object: string, geometry: Geometry): Feature[] {
  const feature = ([name, touches, point]: Part): Feature => ({
    id: `${object}/${name}`,
    derived: true,
    touches,
    point,
  });
  if (geometry.type !== 'compound') return partsOf(geometry).map(feature);
  return geometry.parts.flatMap((part, i) =>
    partsOf(part.geometry).map(([name, touches, p]) =>
      feature([`part${i}.${name}`, touches, toWorld(fullPose(part.pose), p)]),
    ),
  );
}
