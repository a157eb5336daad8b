// The control mesh of the selected free-form object over the scene: its control points, connected along both
// directions. `pointAt` picks a point.
import { Vector3 } from 'three';
import { type ControlPoint, chosenPoint, pointOf, sameControl, shownMesh } from '../edits/shapes';
import type { Vec3 } from '../protocol';
import type { FreeForm } from '../state/nurbs';
import type { Bodies } from './bodies';
import type { Overlay } from './overlay';

const REACH_PX = 9;

const from = new Vector3();
const to = new Vector3();

function eachPoint(g: FreeForm, use: (at: ControlPoint, p: Vec3) => void): void {
  if (g.type === 'nurbs-curve') g.points.forEach((p, i) => use({ i, j: 0 }, p));
  else g.points.forEach((row, i) => row.forEach((p, j) => use({ i, j }, p)));
}

export class ControlMesh {
  hovered: ControlPoint | null = null;

  constructor(private readonly bodies: Bodies) {}

  get busy(): boolean {
    return !!shownMesh();
  }

  private place(id: string, p: Vec3, out: Vector3): boolean {
    const body = this.bodies.get(id);
    if (body) out.fromArray(p).applyMatrix4(body.node.matrixWorld);
    return !!body;
  }

  draw(o: Overlay): void {
    const shown = shownMesh();
    if (!shown) return;
    const { id, shape } = shown;
    const ink = o.colour('label');
    const joined = (a: Vec3, b: Vec3 | undefined): void => {
      if (!b || !this.place(id, a, from) || !this.place(id, b, to) || !o.toScreen(from) || !o.toScreen(to)) return;
      o.thin(from.x, from.y, to.x, to.y, ink);
    };
    eachPoint(shape, ({ i, j }, p) => {
      joined(p, pointOf(shape, { i: i + 1, j }));
      if (shape.type === 'nurbs-surface') joined(p, pointOf(shape, { i, j: j + 1 }));
    });
    eachPoint(shape, (at, p) => {
      if (!this.place(id, p, from) || !o.toScreen(from)) return;
      const chosen = sameControl(at, chosenPoint.value);
      const hot = sameControl(at, this.hovered);
      o.dot(from.x, from.y, chosen || hot ? 5.5 : 3.5, o.colour(chosen ? 'selected' : hot ? 'hover' : 'label'), true);
    });
  }

  // The control point nearest to the cursor within reach; writes its world position to `at`.
  pointAt(o: Overlay, x: number, y: number, at: Vector3): ControlPoint | null {
    const shown = shownMesh();
    let found: ControlPoint | null = null;
    let best = REACH_PX;
    if (shown)
      eachPoint(shown.shape, (point, p) => {
        if (!this.place(shown.id, p, from)) return;
        to.copy(from);
        if (!o.toScreen(from)) return;
        const px = Math.hypot(from.x - x, from.y - y);
        if (px > best) return;
        [best, found] = [px, point];
        at.copy(to);
      });
    return found;
  }
}
