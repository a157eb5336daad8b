// The pointer on the canvas: hovering, picking, dragging. The controls handle orbiting.

import { Vector3 } from 'three';
import type { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { tellNotHeld } from '../edits/devices';
import { type ControlPoint, chosenPoint } from '../edits/shapes';
import * as store from '../state/store';
import { type Drag, type DragKind, dragKind, operatedByOther } from './drag';
import type { Gizmos } from './gizmos';
import type { Overlay } from './overlay';
import type { Hit, Picker } from './picking';

const CLICK_PX = 4;
const LOOK_MS = 100; // ms between two updates of the hovered features while the cursor rests

export class Pointer {
  private x = 0;
  private y = 0;
  private inside = false;
  private moved = false; // the pointer moved since the last frame
  private stirred = false; // the features under the resting cursor may have changed
  private looked = 0;
  private pressed: {
    x: number;
    y: number;
    hit: Hit | null;
    kind: DragKind;
    id: number;
    freedom: number;
    point: ControlPoint | null;
    told?: boolean; // the person was told that the body cannot move
  } | null = null;
  private readonly onMark = new Vector3();
  private readonly onPoint = new Vector3();
  private pointed = -1; // the freedom whose gizmo the cursor is on

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly picker: Picker,
    private readonly drag: Drag,
    private readonly controls: OrbitControls,
    private readonly marks: Gizmos,
    private readonly overlay: Overlay,
    private readonly redraw: () => void,
  ) {
    canvas.addEventListener('pointerdown', (e) => this.down(e), true);
    canvas.addEventListener('pointermove', (e) => this.move(e));
    canvas.addEventListener('pointerup', (e) => this.up(e));
    canvas.addEventListener('pointercancel', () => this.cancel());
    canvas.addEventListener('pointerleave', () => this.leave());
    canvas.addEventListener('contextmenu', (e) => e.preventDefault());
  }

  private locate(e: PointerEvent): void {
    const box = this.canvas.getBoundingClientRect();
    this.x = e.clientX - box.left;
    this.y = e.clientY - box.top;
  }

  private down(e: PointerEvent): void {
    this.locate(e);
    if (e.button !== 0 || !e.isPrimary) return;
    if (e.pointerType !== 'mouse') this.hover();
    const point = this.overlay.control.pointAt(this.overlay, this.x, this.y, this.onPoint);
    if (point) {
      this.pressed = { x: this.x, y: this.y, hit: null, kind: 'shape', id: e.pointerId, freedom: -1, point };
      this.controls.enabled = false;
      return;
    }
    const hit = this.grasp(this.picker.hit(this.x, this.y));
    const object = store.shownObject.value;
    const freedom = ['slide', 'joined'].includes(dragKind(object)) ? this.markAt(hit) : -1;
    const kind = freedom >= 0 ? 'slide' : hit ? dragKind(hit.body.id) : '';
    this.pressed = { x: this.x, y: this.y, hit, kind, id: e.pointerId, freedom, point: null };
    this.controls.enabled = kind === '';
    const operator = hit ? operatedByOther(hit.body.id) : '';
    if (operator && store.running.value) store.refuse(`${operator} operates the device: one operator at a time.`);
  }

  private move(e: PointerEvent): void {
    this.locate(e);
    this.inside = true;
    this.moved = true;
    const p = this.pressed;
    const begins = p?.kind && !this.drag.active && Math.hypot(this.x - p.x, this.y - p.y) > CLICK_PX;
    const still =
      p?.hit && !p.kind && !p.told && store.running.value && Math.hypot(this.x - p.x, this.y - p.y) > CLICK_PX;
    if (still) {
      p.told = true;
      tellNotHeld(p.hit!.body.id);
    }
    if (begins && (p.hit || p.freedom >= 0 || p.point)) {
      this.canvas.setPointerCapture(p.id);
      if (p.point) this.drag.beginPoint(store.selectedObject.value, p.point, this.onPoint, p.y);
      else if (p.freedom >= 0) this.drag.beginMark(store.shownObject.value, p.freedom, this.onMark, p.y);
      else this.drag.begin(p.hit!, p.kind, p.y);
      this.canvas.classList.add('dragging');
    }
    if (this.drag.active) this.drag.move(this.x, this.y, e.shiftKey, e.altKey);
    this.redraw();
  }

  private up(e: PointerEvent): void {
    this.locate(e);
    const p = this.pressed;
    this.pressed = null;
    this.controls.enabled = true;
    if (this.drag.active) this.finish();
    else if (p && Math.hypot(this.x - p.x, this.y - p.y) <= CLICK_PX) this.click();
    this.redraw();
  }

  private finish(): void {
    this.drag.end();
    this.canvas.classList.remove('dragging');
  }

  // Ends a drag; true where there was one.
  cancel(): boolean {
    const was = this.drag.active;
    if (was) this.finish();
    this.pressed = null;
    this.controls.enabled = true;
    this.redraw();
    return was;
  }

  // The freedom whose gizmo the cursor is on; -1: none. A gizmo behind its object is visible through it, but not
  // picked.
  private markAt(hit: Hit | null): number {
    const ray = this.picker.ray(this.x, this.y);
    const freedom = this.marks.freedomAt(ray, this.onMark);
    const behind = hit?.body.id === store.shownObject.value && hit.distance < this.onMark.distanceTo(ray.ray.origin);
    return behind ? -1 : freedom;
  }

  // The body that a press grabs: the one under the cursor, or, where that cannot be dragged, the one whose edge or
  // curve is picked.
  private grasp(hit: Hit | null): Hit | null {
    const id = store.splitRef(store.hoverRef.peek())[0];
    if (!id || hit?.body.id === id || dragKind(id) === '' || (hit && dragKind(hit.body.id) !== '')) return hit;
    return this.picker.hitNear(this.x, this.y, id) ?? hit;
  }

  private point(freedom: number): void {
    if (freedom === this.pointed) return;
    this.pointed = freedom;
    store.hoverFreedom.value = freedom;
  }

  private leave(): void {
    this.inside = false;
    this.point(-1);
    store.hovered.value = [];
    store.hoverObject.value = '';
    this.redraw();
  }

  private click(): void {
    this.hover();
    if (this.overlay.control.hovered) {
      chosenPoint.value = this.overlay.control.hovered;
      return;
    }
    const ref = store.hoverRef.value;
    const hit = ref ? null : this.picker.hit(this.x, this.y);
    if (ref) store.pick(ref);
    else if (hit && store.linkRef(hit.body.id)) store.selectLink(hit.body.id, [hit.local.x, hit.local.y, hit.local.z]);
    else store.clearSelection();
  }

  private hover(): void {
    this.looked = performance.now();
    this.stirred = false;
    const point = this.overlay.control.pointAt(this.overlay, this.x, this.y, this.onPoint);
    this.overlay.control.hovered = point;
    if (point) {
      this.point(-1);
      store.hovered.value = [];
      this.canvas.classList.add('can-drag');
      return;
    }
    const { refs, hit } = this.picker.candidates(this.x, this.y);
    const now = store.hovered.value;
    if (refs.length !== now.length || refs.some((r, i) => r !== now[i])) {
      store.hoverIndex.value = 0;
      store.hovered.value = refs;
    }
    store.hoverObject.value = hit?.body.id ?? (refs[0] ? store.splitRef(refs[0])[0] : '');
    this.point(this.markAt(hit));
    const taken = this.grasp(hit);
    this.canvas.classList.toggle('can-drag', this.pointed >= 0 || (!!taken && dragKind(taken.body.id) !== ''));
  }

  // To be called when the scene under a resting cursor may have changed: features arrived, a body or the camera moved.
  stir(): void {
    this.stirred = true;
  }

  // Tab steps through the overlapping features under the cursor; after the last one Tab moves the focus on, so that the
  // keyboard is not trapped.
  cycle(by: number): boolean {
    const count = store.hovered.value.length;
    if (!this.inside || count < 2) return false;
    const next = store.hoverIndex.value + by;
    store.hoverIndex.value = (next + count) % count;
    if (next < 0 || next >= count) return false;
    store.announce(store.hoverRef.value);
    return true;
  }

  // Once per frame, so that many moves cost one search; changes under a resting cursor are searched less often, and
  // once more after they end.
  frame(): void {
    if (this.inside && !this.pressed && !this.drag.active) {
      const due = performance.now() > this.looked + LOOK_MS;
      if (this.moved || (this.stirred && due)) this.hover();
      else if (this.stirred) this.redraw();
    }
    this.moved = false;
    this.drag.frame();
  }
}
