// Elements of features in world coordinates: points, lines, planes, free-form curves and surfaces; and surfaces and
// rims of primitives, which have no element of their own.
import type { Feature, Pose, Vec3 } from '../protocol';
import { rotate, toLocal, toWorld, unit } from './maths';
import { type Foot, footOnCurve, footOnSurface } from './nurbs';

export type ElementKind = 'point' | 'line' | 'plane' | 'curve' | 'surface' | 'sphere' | 'cylinder' | 'rim';

export const kindOf = (f: Feature): ElementKind =>
  f.touches ?? (f.surface ? 'surface' : f.curve ? 'curve' : f.plane ? 'plane' : f.line ? 'line' : 'point');

// Common to all: a point p and a direction d; of free-form shapes those nearest to a given point.
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
  if (!shape) return { kind, p: toWorld(g, f.point ?? [0, 0, 0]), d: f.axis ? rotate(g.q, f.axis) : [0, 0, 0] };
  const foot = (x: Vec3): Foot => {
    const at = f.surface ? footOnSurface(f.surface, toLocal(g, x)) : footOnCurve(f.curve!, toLocal(g, x));
    return { p: toWorld(g, at.p), d: rotate(g.q, at.d) };
  };
  const row = shape.points[shape.points.length >> 1]!;
  const middle = (f.surface ? row[row.length >> 1] : row) as Vec3;
  return { kind, p: toWorld(g, middle), d: [0, 0, 0], foot };
}
