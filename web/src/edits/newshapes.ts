// New free-form objects from pasted points, from curves of the scene, or from a file. The server makes the shape; the
// result is an object, one step for undo.

import type { Geometry, Vec3 } from '../protocol';
import { type FreeForm, isFreeForm, movedCurve } from '../state/nurbs';
import { exactPose } from '../state/poses';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { currentView } from '../state/viewer';
import { mm } from '../state/words';
import { unusedId } from './objects';
import { attempt, named } from './request';

// ---- points as people have them ----------------------------------------------------------------------

// Rows of points: JSON, or lines of three numbers with an empty line between rows. A single row is a curve.
export function parsePoints(text: string, scale: number): Vec3[][] {
  const trimmed = text.trim();
  if (!trimmed) throw new Error('There are no points yet.');
  const rows = trimmed.startsWith('[') ? fromJson(trimmed) : fromLines(trimmed);
  return rows.map((row) => row.map((p) => p.map((x) => x * scale) as Vec3));
}

const isPoint = (x: unknown): x is number[] =>
  Array.isArray(x) && x.length === 3 && x.every((k) => typeof k === 'number' && Number.isFinite(k));

function fromJson(text: string): number[][][] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (e) {
    throw new Error(`The points are no JSON: ${(e as Error).message}`);
  }
  const rows = (Array.isArray(value) && isPoint(value[0]) ? [value] : value) as unknown[];
  if (!Array.isArray(rows) || !rows.every((row) => Array.isArray(row) && row.length > 0 && row.every(isPoint)))
    throw new Error('Points are [x, y, z], rows of them [[x, y, z], ..].');
  return rows as number[][][];
}

function fromLines(text: string): number[][][] {
  const rows: number[][][] = [[]];
  text.split(/\r?\n/).forEach((line, i) => {
    const cells = line.trim().split(/[\s,;]+/);
    if (!line.trim()) rows.push([]);
    else if (i === 0 && cells.every((c) => !Number.isFinite(Number(c))))
      return; // a heading
    else {
      const p = cells.map(Number);
      if (!isPoint(p)) throw new Error(`Line ${i + 1} is not x, y, z: ${line.trim().slice(0, 40)}`);
      rows[rows.length - 1]!.push(p);
    }
  });
  return rows.filter((row) => row.length > 0);
}

// ---- sections and profiles ------------------------------------------------------------------------------

export const curvesOfScene = (): string[] =>
  store.objects.value.filter((o) => o.geometry.type === 'nurbs-curve').map((o) => o.id);

// The curve of an object in world coordinates.
export function curveInWorld(id: string): Geometry {
  const g = store.objectOf(id)?.geometry;
  if (g?.type !== 'nurbs-curve') throw new Error(`${id} is no curve.`);
  return movedCurve(g, exactPose(id));
}

// ---- making -----------------------------------------------------------------------------------------------

export type Recipe =
  | { fit: { points: Vec3[] | Vec3[][]; count?: number | number[] } }
  | { loft: { sections: (Geometry | Vec3[])[] } }
  | { revolve: { profile: Geometry | Vec3[]; axis: Vec3; angle: number } }
  | { sweep: { profile: Geometry | Vec3[]; path: Geometry | Vec3[] } };

interface Made {
  geometry: FreeForm;
  deviation?: number;
}

// Adds the shape as a fixed object, since a free form is mostly a workpiece; a moving one must state its mass and
// inertia.
async function addShape(stem: string, geometry: FreeForm): Promise<string> {
  const id = unusedId(stem);
  await call('POST', '/objects', { id, geometry, fixed: true });
  store.selectObject(id);
  currentView()?.reveal(id);
  return id;
}

// Returns the id of the new object; '' with the reason in `refused`.
export async function makeShape(stem: string, recipe: Recipe): Promise<string> {
  try {
    const { geometry, deviation } = await call<Made>('POST', '/surfaces', recipe);
    await addShape(stem, geometry);
    const count =
      geometry.type === 'nurbs-surface'
        ? `${geometry.points.length} × ${geometry.points[0]!.length}`
        : `${geometry.points.length}`;
    const off = deviation === undefined ? '' : `, at most ${mm(deviation)} from the points`;
    store.inform(`Made of ${count} control points${off}.`);
    return '';
  } catch (e) {
    return (e as Error).message;
  }
}

// ---- from a file --------------------------------------------------------------------------------------------

// The shape in a JSON document; null where there is none, as in a scene.
export function shapeIn(value: unknown): FreeForm | null {
  const g = (value as { geometry?: unknown } | null)?.geometry ?? value;
  const type = (g as { type?: unknown } | null)?.type;
  return typeof type === 'string' && isFreeForm(g as Geometry) ? (g as FreeForm) : null;
}

const scaled = <T>(points: T, k: number): T =>
  (typeof points === 'number' ? points * k : (points as unknown[]).map((p) => scaled(p, k))) as T;

function widest(shape: FreeForm): number {
  const points = shape.points.flat(shape.type === 'nurbs-surface' ? 1 : 0) as Vec3[];
  return Math.max(
    ...[0, 1, 2].map((k) => Math.max(...points.map((p) => p[k]!)) - Math.min(...points.map((p) => p[k]!))),
  );
}

// Lengths are metres; a very large shape is assumed to be in millimetres.
export const importShape = (file: File, stem: string, shape: FreeForm): Promise<boolean> =>
  attempt(async () => {
    const id = await named(file, addShape(stem, shape));
    const geometry = { ...shape, points: scaled(shape.points, 1e-3) };
    const take = (): void => void attempt(() => call('PATCH', `/objects/${enc(id)}`, { geometry }));
    const text = `${file.name} was taken in metres, ${mm(widest(shape))} wide.`;
    store.notice.value = { tone: 'info', text, fixes: [{ label: 'It is in millimetres', run: take }] };
    store.announce(text);
  });
