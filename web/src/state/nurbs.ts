// Free-form curves and surfaces: points, for drawing. The server computes with the shapes themselves.
import type { Geometry, Vec3 } from '../protocol';

export type Surface = Extract<Geometry, { type: 'nurbs-surface' }>;
export type Curve = Extract<Geometry, { type: 'nurbs-curve' }>;

// De Boor's algorithm on homogeneous control points [w x, w y, w z, w].
function deBoor(points: number[][], knots: readonly number[], degree: number, u: number): number[] {
  let k = degree;
  while (k < points.length - 1 && u >= knots[k + 1]!) k++;
  while (knots[k]! >= knots[k + 1]!) k--;
  const d = points.slice(k - degree, k + 1).map((p) => [...p]);
  for (let r = 1; r <= degree; r++)
    for (let j = degree; j >= r; j--) {
      const low = knots[j + k - degree]!;
      const a = (u - low) / (knots[j + 1 + k - r]! - low);
      d[j] = d[j]!.map((x, c) => (1 - a) * d[j - 1]![c]! + a * x);
    }
  return d[degree]!;
}

const homogeneous = (p: readonly number[], w: number): number[] => [p[0]! * w, p[1]! * w, p[2]! * w, w];
const cartesian = (h: number[]): Vec3 => [h[0]! / h[3]!, h[1]! / h[3]!, h[2]! / h[3]!];

// Parameters over the domain: so many to each span.
function parameters(knots: readonly number[], degree: number, count: number, each: number): number[] {
  const out = [knots[degree]!];
  for (let i = degree; i < count; i++)
    if (knots[i + 1]! > knots[i]!)
      for (let k = 1; k <= each; k++) out.push(knots[i]! + ((knots[i + 1]! - knots[i]!) * k) / each);
  return out;
}

const parts = (spans: number): number => Math.max(2, Math.min(16, Math.ceil(64 / spans)));

// Points of a surface, rows along v at parameters along u.
export function surfaceNet(g: Surface): Vec3[][] {
  const [p, q] = [g.degree[0]!, g.degree[1]!];
  const [ku, kv] = [g.knots[0]!, g.knots[1]!];
  const [rows, columns] = [g.points.length, g.points[0]!.length];
  const us = parameters(ku, p, rows, parts(rows - p));
  const vs = parameters(kv, q, columns, parts(columns - q));
  const net = g.points.map((row, i) => row.map((x, j) => homogeneous(x, g.weights?.[i]?.[j] ?? 1)));
  const along = vs.map((v) => net.map((row) => deBoor(row, kv, q, v)));
  return us.map((u) => along.map((column) => cartesian(deBoor(column, ku, p, u))));
}

export function curvePoints(g: Curve): Vec3[] {
  const points = g.points.map((x, i) => homogeneous(x, g.weights?.[i] ?? 1));
  const count = points.length;
  return parameters(g.knots, g.degree, count, parts(count - g.degree)).map((u) =>
    cartesian(deBoor(points, g.knots, g.degree, u)),
  );
}

// The box of its control points, which holds the shape.
export function controlBox(g: Surface | Curve): { low: Vec3; high: Vec3 } {
  const all = (g.type === 'nurbs-surface' ? g.points.flat() : g.points) as readonly (readonly number[])[];
  const reach = (pick: (...x: number[]) => number): Vec3 =>
    [0, 1, 2].map((k) => pick(...all.map((p) => p[k]!))) as Vec3;
  return { low: reach(Math.min), high: reach(Math.max) };
}
