// Free-form curves and surfaces: points, nearest points, and nets for drawing. For the picture and for the first value
// of a constraint; the solver uses the shapes themselves.
import type { CurveShape, Geometry, Pose, SurfaceShape, Vec3 } from '../protocol';
import { along, cross, dot, norm, scale, sub, toWorld, unit } from './maths';

export type Surface = Extract<Geometry, { type: 'nurbs-surface' }>;
export type Curve = Extract<Geometry, { type: 'nurbs-curve' }>;
export type FreeForm = Surface | Curve;

export const isFreeForm = (g: Geometry): g is FreeForm => g.type === 'nurbs-surface' || g.type === 'nurbs-curve';

const clamp = (x: number, low: number, high: number): number => Math.max(low, Math.min(high, x));

// ---- points ------------------------------------------------------------------------------------------------

const MOST_DEGREE = 9;

// The B-spline basis at a parameter (Cox and de Boor): weights of the control points `first` .. `first` + degree.
const share = new Float64Array(MOST_DEGREE + 1);
let first = 0;

function takeBasis(knots: readonly number[], degree: number, count: number, t: number): void {
  let k = degree;
  while (k < count - 1 && t >= knots[k + 1]!) k++;
  while (knots[k]! >= knots[k + 1]!) k--;
  first = k - degree;
  share[0] = 1;
  for (let r = 1; r <= degree; r++) {
    let carried = 0;
    for (let i = 0; i < r; i++) {
      const [low, high] = [knots[k + 1 - r + i]!, knots[k + 1 + i]!];
      const part = share[i]! / (high - low);
      share[i] = carried + (high - t) * part;
      carried = (t - low) * part;
    }
    share[r] = carried;
  }
}

// Control points in homogeneous coordinates [w x, w y, w z, w], and their sum with the present weights.
type Row = Float64Array;

function sumOf(row: Row, degree: number, out: Float64Array, at = 0): void {
  let [x, y, z, w] = [0, 0, 0, 0];
  for (let i = 0, o = 4 * first; i <= degree; i++, o += 4) {
    const s = share[i]!;
    x += s * row[o]!;
    y += s * row[o + 1]!;
    z += s * row[o + 2]!;
    w += s * row[o + 3]!;
  }
  out[at] = x;
  out[at + 1] = y;
  out[at + 2] = z;
  out[at + 3] = w;
}

function rowOf(points: readonly (readonly number[])[], weights: readonly number[] | undefined): Row {
  const out = new Float64Array(4 * points.length);
  points.forEach((p, i) => {
    const w = weights?.[i] ?? 1;
    out.set([p[0]! * w, p[1]! * w, p[2]! * w, w], 4 * i);
  });
  return out;
}

const cartesian = (h: Float64Array): Vec3 => [h[0]! / h[3]!, h[1]! / h[3]!, h[2]! / h[3]!];
const sum = new Float64Array(4);

function pointOn(row: Row, knots: readonly number[], degree: number, t: number): Vec3 {
  takeBasis(knots, degree, row.length / 4, t);
  sumOf(row, degree, sum);
  return cartesian(sum);
}

const netOf = (g: SurfaceShape): Row[] => g.points.map((row, i) => rowOf(row, g.weights?.[i]));

// The control points along u of the curve at a fixed v.
function columnAt(g: SurfaceShape, net: readonly Row[], v: number): Row {
  const out = new Float64Array(4 * net.length);
  takeBasis(g.knots[1]!, g.degree[1]!, g.points[0]!.length, v);
  for (let i = 0; i < net.length; i++) sumOf(net[i]!, g.degree[1]!, out, 4 * i);
  return out;
}

const rowsOf = new WeakMap<SurfaceShape, Row[]>();

export function surfacePoint(g: SurfaceShape, u: number, v: number): Vec3 {
  let net = rowsOf.get(g);
  if (!net) rowsOf.set(g, (net = netOf(g)));
  return pointOn(columnAt(g, net, v), g.knots[0]!, g.degree[0]!, u);
}

// ---- parameters for drawing ----------------------------------------------------------------------------

const SAG = 4e-4; // chords' distance from the shape, relative to its size: half a pixel where it fills a screen
const MOST_HALVINGS = 5; // of a cell between isolines
const CELLS = 8; // number of cells between isolines, approximately

// `at`: parameters in order; `lines`: indices of those that are isolines.
export interface Ruling {
  at: number[];
  lines: number[];
}

type Trim = readonly number[] | null | undefined;

// The ends of the knot spans within the trim.
const spans = (knots: readonly number[], degree: number, count: number, trim: Trim): number[] =>
  knots
    .slice(degree, count + 1)
    .map((k) => (trim ? clamp(k, trim[0]!, trim[1]!) : k))
    .filter((k, i, all) => i === 0 || k > all[i - 1]!);

// True where a chord is further from one of the curves than allowed; tested at two parameters, since an S-shaped curve
// can meet its chord in the middle.
function sags(rows: readonly Row[], knots: readonly number[], degree: number, allowed: number) {
  return (a: number, b: number): boolean =>
    rows.some((row) => {
      const [p, q] = [pointOn(row, knots, degree, a), pointOn(row, knots, degree, b)];
      return [0.3, 0.6].some(
        (f) => norm(sub(pointOn(row, knots, degree, a + f * (b - a)), along(p, sub(q, p), f))) > allowed,
      );
    });
}

// Divides each span into equal cells, and halves each cell until its chords are close to the shape.
function ruling(rows: readonly Row[], knots: readonly number[], degree: number, trim: Trim, allowed: number): Ruling {
  const ends = spans(knots, degree, rows[0]!.length / 4, trim);
  const tooFar = sags(rows, knots, degree, allowed);
  const each = Math.max(1, Math.round(CELLS / (ends.length - 1)));
  const skip = Math.ceil((ends.length - 1) / (2 * CELLS)); // of many spans only some have isolines
  const out: Ruling = { at: [ends[0]!], lines: [0] };
  const reach = (a: number, b: number, left: number): void => {
    if (left > 0 && tooFar(a, b)) {
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

// A net of points of a surface: rows along v at parameters along u, refined with the curvature.
export interface Net {
  points: Vec3[][];
  u: Ruling;
  v: Ruling;
}

const transposed = (net: readonly Row[]): Row[] =>
  Array.from({ length: net[0]!.length / 4 }, (_, j) => {
    const out = new Float64Array(4 * net.length);
    net.forEach((row, i) => {
      out.set(row.subarray(4 * j, 4 * j + 4), 4 * i);
    });
    return out;
  });

export function surfaceNet(g: SurfaceShape): Net {
  const [ku, kv] = [g.knots[0]!, g.knots[1]!];
  const [p, q] = [g.degree[0]!, g.degree[1]!];
  const net = netOf(g);
  const allowed = SAG * sizeOf(g);
  // control polygons bend at least as much as the curves, so they are tested for all isolines
  const u = ruling(transposed(net), ku, p, g.trim?.[0], allowed);
  const v = ruling(net, kv, q, g.trim?.[1], allowed);
  const across = v.at.map((t) => columnAt(g, net, t));
  return { points: u.at.map((t) => across.map((column) => pointOn(column, ku, p, t))), u, v };
}

export function curvePoints(g: CurveShape): Vec3[] {
  const row = rowOf(g.points, g.weights);
  return ruling([row], g.knots, g.degree, g.trim, SAG * sizeOf(g)).at.map((s) => pointOn(row, g.knots, g.degree, s));
}

// ---- for picking ------------------------------------------------------------------------------------------

const nets = new WeakMap<SurfaceShape, Net>();
const ways = new WeakMap<CurveShape, Vec3[]>();

// The net, computed once for each shape.
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

// The edges and isolines of a surface.
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
// The nearest point of the surface: Gauss-Newton with finite differences, from the nearest point of the net.
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

// The bounding box of the control points, which contains the shape.
export function controlBox(g: SurfaceShape | CurveShape): { low: Vec3; high: Vec3 } {
  const all = g.points.flat(2) as number[];
  const reach = (pick: (...x: number[]) => number): Vec3 =>
    [0, 1, 2].map((k) => pick(...all.filter((_, i) => i % 3 === k))) as Vec3;
  return { low: reach(Math.min), high: reach(Math.max) };
}

// The curve with its control points in the frame in which `pose` is given.
export function movedCurve(g: Curve, pose: Pose): Curve {
  return { ...g, points: g.points.map((p) => toWorld(pose, p)) };
}
