// Free-form curves and surfaces: points, places nearest to a point, and how finely they are drawn. For the picture and
// for the first value of a constraint; the server computes with the shapes themselves.
import type { CurveShape, Geometry, Pose, SurfaceShape, Vec3 } from '../protocol';
import { along, cross, dot, norm, scale, sub, toWorld, unit } from './maths';

export type Surface = Extract<Geometry, { type: 'nurbs-surface' }>;
export type Curve = Extract<Geometry, { type: 'nurbs-curve' }>;
export type FreeForm = Surface | Curve;

export const isFreeForm = (g: Geometry): g is FreeForm => g.type === 'nurbs-surface' || g.type === 'nurbs-curve';

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

const netOf = (g: SurfaceShape): number[][][] =>
  g.points.map((row, i) => row.map((x, j) => homogeneous(x, g.weights?.[i]?.[j] ?? 1)));
const rowOf = (g: CurveShape): number[][] => g.points.map((x, i) => homogeneous(x, g.weights?.[i] ?? 1));

export function surfacePoint(g: SurfaceShape, u: number, v: number): Vec3 {
  const row = netOf(g).map((points) => deBoor(points, g.knots[1]!, g.degree[1]!, v));
  return cartesian(deBoor(row, g.knots[0]!, g.degree[0]!, u));
}

export const curvePoint = (g: CurveShape, s: number): Vec3 => cartesian(deBoor(rowOf(g), g.knots, g.degree, s));

const clamp = (x: number, low: number, high: number): number => Math.max(low, Math.min(high, x));

// ---- parameters at which it is drawn -------------------------------------------------------------------

const SAG = 4e-4; // of the shape's size: how far a chord may be from it, half a pixel where it fills a screen
const MOST_HALVINGS = 5; // of a cell between isolines
const CELLS = 8; // between isolines, some

// `at`: parameters in order; `lines`: which of them are isolines.
export interface Ruling {
  at: number[];
  lines: number[];
}

type Trim = readonly number[] | null | undefined;

// The ends of spans, as far as a trim leaves them.
const spans = (knots: readonly number[], degree: number, count: number, trim: Trim): number[] =>
  knots
    .slice(degree, count + 1)
    .map((k) => (trim ? clamp(k, trim[0]!, trim[1]!) : k))
    .filter((k, i, all) => i === 0 || k > all[i - 1]!);

// Each span into equal cells, each cell halved until its chord is close to the shape.
function ruling(
  knots: readonly number[],
  degree: number,
  count: number,
  trim: Trim,
  sag: (a: number, b: number) => number,
): Ruling {
  const ends = spans(knots, degree, count, trim);
  const each = Math.max(1, Math.round(CELLS / (ends.length - 1)));
  const skip = Math.ceil((ends.length - 1) / (2 * CELLS)); // of many spans not each is ruled
  const out: Ruling = { at: [ends[0]!], lines: [0] };
  const reach = (a: number, b: number, left: number): void => {
    if (left > 0 && sag(a, b) > 1) {
      reach(a, (a + b) / 2, left - 1);
      reach((a + b) / 2, b, left - 1);
    } else out.at.push(b);
  };
  for (let i = 1; i < ends.length; i++)
    for (let k = 1; k <= each; k++) {
      const [a, b] = [ends[i - 1]!, ends[i]!];
      reach(a + ((b - a) * (k - 1)) / each, k === each ? b : a + ((b - a) * k) / each, MOST_HALVINGS);
      if (i % skip === 0 || i === ends.length - 1) out.lines.push(out.at.length - 1);
    }
  return out;
}

function sizeOf(g: SurfaceShape | CurveShape): number {
  const { low, high } = controlBox(g);
  return norm(sub(high, low)) || 1;
}

// Of a chord's distance from the curve, in units of what is allowed; two places, for a bend in the middle of an S.
function sagOf(point: (t: number) => Vec3, allowed: number): (a: number, b: number) => number {
  return (a, b) => {
    const [p, q] = [point(a), point(b)];
    return Math.max(...[0.3, 0.6].map((f) => norm(sub(point(a + f * (b - a)), along(p, sub(q, p), f))) / allowed));
  };
}

// A net of points of a surface, rows along v at parameters along u, as fine as its bends ask for.
export interface Net {
  points: Vec3[][];
  u: Ruling;
  v: Ruling;
}

export function surfaceNet(g: SurfaceShape): Net {
  const [p, q] = [g.degree[0]!, g.degree[1]!];
  const [ku, kv] = [g.knots[0]!, g.knots[1]!];
  const net = netOf(g);
  const allowed = SAG * sizeOf(g);
  const few = (knots: readonly number[], degree: number, count: number, trim: Trim): number[] =>
    spans(knots, degree, count, trim).flatMap((k, i, all) => (i ? [(all[i - 1]! + k) / 2, k] : [k]));
  const columns = few(kv, q, net[0]!.length, g.trim?.[1]).map((v) => net.map((row) => deBoor(row, kv, q, v)));
  const rows = few(ku, p, net.length, g.trim?.[0]).map((u) =>
    net[0]!.map((_, j) =>
      deBoor(
        net.map((row) => row[j]!),
        ku,
        p,
        u,
      ),
    ),
  );
  const worst =
    (all: number[][][], knots: readonly number[], degree: number) =>
    (a: number, b: number): number =>
      Math.max(...all.map((one) => sagOf((t) => cartesian(deBoor(one, knots, degree, t)), allowed)(a, b)));
  const u = ruling(ku, p, net.length, g.trim?.[0], worst(columns, ku, p));
  const v = ruling(kv, q, net[0]!.length, g.trim?.[1], worst(rows, kv, q));
  const across = v.at.map((t) => net.map((row) => deBoor(row, kv, q, t)));
  return { points: u.at.map((t) => across.map((column) => cartesian(deBoor(column, ku, p, t)))), u, v };
}

export function curvePoints(g: CurveShape): Vec3[] {
  const row = rowOf(g);
  const point = (s: number): Vec3 => cartesian(deBoor(row, g.knots, g.degree, s));
  return ruling(g.knots, g.degree, row.length, g.trim, sagOf(point, SAG * sizeOf(g))).at.map(point);
}

// ---- what it is for picking -------------------------------------------------------------------------------

const nets = new WeakMap<SurfaceShape, Net>();
const ways = new WeakMap<CurveShape, Vec3[]>();

// The same, computed once for a shape.
export function netFor(g: SurfaceShape): Net {
  let found = nets.get(g);
  if (!found) nets.set(g, (found = surfaceNet(g)));
  return found;
}

export function wayFor(g: CurveShape): Vec3[] {
  let found = ways.get(g);
  if (!found) ways.set(g, (found = curvePoints(g)));
  return found;
}

// Its edges and isolines.
export function isolines(g: SurfaceShape): Vec3[][] {
  const { points, u, v } = netFor(g);
  return [...u.lines.map((i) => points[i]!), ...v.lines.map((j) => points.map((row) => row[j]!))];
}

// ---- places nearest to a point ----------------------------------------------------------------------------

export interface Foot {
  p: Vec3;
  d: Vec3; // the normal of a surface, the tangent of a curve
}

const ROUNDS = 12;

// From the nearest point of the net by Gauss and Newton's method, with differences.
export function footOnSurface(g: SurfaceShape, x: Vec3): Foot {
  const { points, u, v } = netFor(g);
  let best = Infinity;
  let [s, t] = [0, 0];
  points.forEach((row, i) => {
    row.forEach((p, j) => {
      const far = norm(sub(p, x));
      if (far < best) [best, s, t] = [far, u.at[i]!, v.at[j]!];
    });
  });
  const [u0, u1, v0, v1] = [u.at[0]!, u.at[u.at.length - 1]!, v.at[0]!, v.at[v.at.length - 1]!];
  const [hu, hv] = [(u1 - u0) * 1e-4, (v1 - v0) * 1e-4];
  const slopes = (): [Vec3, Vec3] => {
    const [a, b] = [clamp(s, u0 + hu, u1 - hu), clamp(t, v0 + hv, v1 - hv)];
    return [
      scale(sub(surfacePoint(g, a + hu, t), surfacePoint(g, a - hu, t)), 1 / (2 * hu)),
      scale(sub(surfacePoint(g, s, b + hv), surfacePoint(g, s, b - hv)), 1 / (2 * hv)),
    ];
  };
  for (let k = 0; k < ROUNDS; k++) {
    const r = sub(x, surfacePoint(g, s, t));
    const [su, sv] = slopes();
    const [a, b, c] = [dot(su, su), dot(su, sv), dot(sv, sv)];
    const det = a * c - b * b;
    if (!(det > 1e-12 * a * c)) break;
    const [p, q] = [dot(su, r), dot(sv, r)];
    s = clamp(s + (c * p - b * q) / det, u0, u1);
    t = clamp(t + (a * q - b * p) / det, v0, v1);
  }
  return { p: surfacePoint(g, s, t), d: unit(cross(...slopes())) };
}

export function footOnCurve(g: CurveShape, x: Vec3): Foot {
  const points = wayFor(g);
  let [best, at] = [Infinity, 0];
  points.forEach((p, i) => {
    const far = norm(sub(p, x));
    if (far < best) [best, at] = [far, i];
  });
  const [before, after] = [points[Math.max(at - 1, 0)]!, points[Math.min(at + 1, points.length - 1)]!];
  return { p: points[at]!, d: unit(sub(after, before)) };
}

// ---- shapes as values ---------------------------------------------------------------------------------------

// The box of its control points, which holds the shape.
export function controlBox(g: SurfaceShape | CurveShape): { low: Vec3; high: Vec3 } {
  const all = g.points.flat(2) as number[];
  const reach = (pick: (...x: number[]) => number): Vec3 =>
    [0, 1, 2].map((k) => pick(...all.filter((_, i) => i % 3 === k))) as Vec3;
  return { low: reach(Math.min), high: reach(Math.max) };
}

// The same shape with its control points in the frame of `pose`'s parent.
export function movedCurve(g: Curve, pose: Pose): Curve {
  return { ...g, points: g.points.map((p) => toWorld(pose, p)) };
}
