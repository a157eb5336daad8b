// Edits of free-form shapes: control points, moved by the pointer or by numbers, and the side of the normal.
import { signal } from '@preact/signals';
import type { Vec3 } from '../protocol';
import { type FreeForm, isFreeForm } from '../state/nurbs';
import { call, enc, save } from '../state/rest';
import * as store from '../state/store';
import { latestObject, patchObject } from './objects';
import { attempt, coalesce } from './request';

// A control point: index i along u, j along v; of a curve i alone.
export interface ControlPoint {
  i: number;
  j: number;
}

export const meshShown = signal(false); // the control mesh of the selected object
export const chosenPoint = signal<ControlPoint | null>(null);

export function freeFormOf(id: string): FreeForm | undefined {
  const g = store.scene.value.objects.find((o) => o.id === id)?.geometry;
  return g && isFreeForm(g) ? g : undefined;
}

// The object whose control mesh is shown, and its shape.
export function shownMesh(): { id: string; shape: FreeForm } | undefined {
  const id = store.selectedObject.value;
  const shape = meshShown.value ? freeFormOf(id) : undefined;
  return shape && { id, shape };
}

export const sameControl = (a: ControlPoint | null, b: ControlPoint | null): boolean => a?.i === b?.i && a?.j === b?.j;

export const pointOf = (g: FreeForm, { i, j }: ControlPoint): Vec3 | undefined =>
  g.type === 'nurbs-surface' ? g.points[i]?.[j] : g.points[i];

export const weightOf = (g: FreeForm, { i, j }: ControlPoint): number =>
  (g.type === 'nurbs-surface' ? g.weights?.[i]?.[j] : g.weights?.[i]) ?? 1;

function withPoint(g: FreeForm, { i, j }: ControlPoint, p: Vec3): FreeForm {
  if (g.type === 'nurbs-curve') return { ...g, points: g.points.map((x, k) => (k === i ? p : x)) };
  return { ...g, points: g.points.map((row, k) => (k === i ? row.map((x, l) => (l === j ? p : x)) : row)) };
}

const latestShape = (id: string): FreeForm | undefined => {
  const g = latestObject(id)?.geometry;
  return g && isFreeForm(g) ? g : undefined;
};

export function putPoint(id: string, at: ControlPoint, to: (p: Vec3) => Vec3): void {
  const g = latestShape(id);
  const p = g && pointOf(g, at);
  if (p) void patchObject(id, { geometry: { type: g.type, points: withPoint(g, at, to(p)).points } });
}

export function putWeight(id: string, at: ControlPoint, weight: number): void {
  const g = latestShape(id);
  if (!g) return;
  if (!(weight > 0)) {
    store.refuse('A weight is a number above 0.');
    return;
  }
  const weights =
    g.type === 'nurbs-curve'
      ? g.points.map((_, i) => (i === at.i ? weight : weightOf(g, { i, j: 0 })))
      : g.points.map((row, i) => row.map((_, j) => (i === at.i && j === at.j ? weight : weightOf(g, { i, j }))));
  void patchObject(id, { geometry: { type: g.type, weights } });
}

// Reverses the surface along u, which reverses its normal.
export function reverseNormal(id: string): void {
  const g = freeFormOf(id);
  if (g?.type !== 'nurbs-surface') return;
  const u = g.knots[0]!;
  const sum = u[0]! + u[u.length - 1]!;
  const geometry = {
    ...g,
    knots: [u.map((_, k) => sum - u[u.length - 1 - k]!), g.knots[1]!],
    points: [...g.points].reverse(),
    ...(g.weights ? { weights: [...g.weights].reverse() } : {}),
  };
  void patchObject(id, { geometry });
}

export function saveShape(id: string): void {
  const g = freeFormOf(id);
  if (g) save(new Blob([JSON.stringify(g, null, 1)], { type: 'application/json' }), `${id}.json`);
}

// ---- a control point under the pointer ---------------------------------------------------------------

const LEAST_MS = 5; // ms between two patches
const KEEP_MS = 400; // ms between repeats at rest: the server ends a step for undo a second after its last edit

let drags = 0;

export class PointDrag {
  private readonly group = `${store.client.peek() || 'page'}.${Date.now().toString(36)}.${drags++}`.replace(
    /[^\w.:+-]/g,
    '-',
  );
  private readonly start: FreeForm | undefined;
  private now: Vec3 | undefined;
  private sent = -Infinity; // time of the last patch, ms
  private readonly timer: number;

  constructor(
    private readonly id: string,
    private readonly at: ControlPoint,
  ) {
    this.start = freeFormOf(id);
    store.shaping.value = id;
    this.timer = window.setInterval(() => {
      if (this.now && performance.now() - this.sent > KEEP_MS) this.patch(this.now);
    }, KEEP_MS / 2);
  }

  // Moves the point, in the object's frame; the newest place is sent once the patch before is answered.
  to(p: Vec3): void {
    this.now = p;
    this.patch(p);
  }

  private patch(p: Vec3): void {
    if (!this.start) return;
    const { type, points } = withPoint(this.start, this.at, p);
    void coalesce(`control points of ${this.id}`, async () => {
      const early = this.sent + LEAST_MS - performance.now();
      if (early > 0) await new Promise((done) => setTimeout(done, early));
      this.sent = performance.now();
      return attempt(() =>
        call('PATCH', `/objects/${enc(this.id)}?group=${this.group}`, { geometry: { type, points } }),
      );
    });
  }

  end(): void {
    clearInterval(this.timer);
    store.shaping.value = '';
  }
}
