// Marks over the scene, drawn in pixels: outlines of hovered and selected features, handles, links of constraints,
// force arrows with their values, contacts, the spring of a drag, numbers of ghosts.
import { type Camera, Quaternion, Vector3 } from 'three';
import type { Constraint, Tool, Vec3 } from '../protocol';
import { elementOf } from '../state/constraints';
import { type PlacedContact, placedContacts } from '../state/contactframes';
import { fullPose, heldId } from '../state/mechanisms';
import { poses } from '../state/poses';
import { placedEnd, springEnds } from '../state/relations';
import * as store from '../state/store';
import { newtons } from '../state/words';
import type { Bodies, Body } from './bodies';
import { ContactMarks } from './contacts';
import { ControlMesh } from './controlmesh';
import { OffscreenMarks } from './offscreen';
import type { Outline } from './outline';
import type { ColourName, Palette } from './palette';
import { outline } from './picking';

export interface Spring {
  from: Vector3;
  to: Vector3;
  text: string;
}
export interface Label {
  at: Vector3;
  text: string;
  strong: boolean;
}

const FORCE_SHOWN_N = 0.02;
const AXIS_PX = 60; // half length of the drawing of a joint's axis
const SHORTEST_PX = 20; // shortest arrow that is drawn
const LINE_PX = 15;
const TAG_PX = 8; // distance of a tag from its point
const MOST_TAGS = 32;
const FAINT = 0.4;
const BESIDE = 0.13; // relative to the picture's height: reach of a contact's arrows

const a = new Vector3();
const b = new Vector3();
const turn = new Quaternion();
const origin: Vec3 = [0, 0, 0];

// A curve has its dot at its middle.
const middleOf = ({ kind, points }: Outline): readonly Vec3[] =>
  kind === 'curve' ? [points[points.length >> 1]!] : points;

export class Overlay {
  spring: Spring | null = null;
  labels: Label[] = [];
  readonly touching = new ContactMarks();
  readonly control: ControlMesh;
  private readonly astray = new OffscreenMarks();
  private readonly pen: CanvasRenderingContext2D;
  width = 1; // in CSS pixels
  height = 1;
  private ratio = 1;
  private drawn = false;
  private readonly tags = Array.from({ length: MOST_TAGS }, () => ({ x: 0, y: 0, width: 0 })); // tags of this frame
  private taken = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly camera: Camera,
    private readonly bodies: Bodies,
    private readonly palette: Palette,
  ) {
    this.pen = canvas.getContext('2d')!;
    this.control = new ControlMesh(bodies);
  }

  resize(width: number, height: number, ratio: number): void {
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
  }

  private get busy(): boolean {
    return !!(
      this.spring ||
      this.labels.length ||
      store.hoverObject.value ||
      store.hoverRef.value ||
      store.picked.value.length ||
      store.selectedConstraint.value ||
      store.selectedObject.value ||
      store.culprits.value.length ||
      store.highlighted.value.length ||
      this.pushed() ||
      this.touching.busy(performance.now()) ||
      this.control.busy ||
      store.tools.value.some((t) => t.mechanism) ||
      this.astray.busy(this)
    );
  }

  private pushed(): boolean {
    if (store.runState.value === 'stopped') return false;
    const tools = store.simulation.value?.tools;
    return !!tools?.some(
      (t) =>
        Math.hypot(...t.operator.force) >= FORCE_SHOWN_N ||
        Math.hypot(...t.constraint.force) >= FORCE_SHOWN_N ||
        !!t.command,
    );
  }

  draw(): void {
    if (!this.busy && !this.drawn) return;
    this.pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.pen.clearRect(0, 0, this.width, this.height);
    this.drawn = this.busy;
    this.canvas.hidden = !this.drawn;
    if (!this.drawn) return;
    this.pen.lineJoin = this.pen.lineCap = 'round';
    this.taken = 0;
    this.handles(store.hoverObject.value);
    this.constraint(store.selectedConstraint.value, this.palette.css('selected'));
    for (const id of store.highlighted.value) {
      if (id === store.selectedConstraint.value) continue;
      this.constraint(id, this.palette.css('hover'));
      this.joint(id, this.palette.css('hover'));
      this.springOf(id, this.palette.css('hover'));
    }
    for (const id of store.culprits.value) this.constraint(id, this.palette.css('conflict'), true);
    for (const ref of store.picked.value) this.feature(ref, this.palette.css('selected'), true);
    if (store.hoverRef.value) this.feature(store.hoverRef.value, this.palette.css('hover'), false);
    this.selectedObject();
    this.places();
    this.forces();
    this.touching.draw(this, performance.now());
    this.control.draw(this);
    if (this.spring) this.drawSpring(this.spring);
    for (const label of this.labels) this.numbered(label);
    this.astray.draw(this);
  }

  // ---- coordinates ------------------------------------------------------------------------------

  colour(name: ColourName): string {
    return this.palette.css(name);
  }

  // World length of a pixel at a point.
  pixel(at: Vec3): number {
    b.fromArray(at);
    const distance = b.distanceTo(this.camera.position);
    return (2 * Math.tan(Math.PI / 9) * distance) / this.height;
  }

  toScreen(v: Vector3): boolean {
    v.project(this.camera);
    const ahead = v.z < 1;
    v.set(((v.x + 1) / 2) * this.width, ((1 - v.y) / 2) * this.height, v.z);
    return ahead;
  }

  private path(points: readonly Vec3[], body: Body, closed: boolean): boolean {
    this.pen.beginPath();
    for (let i = 0; i < points.length; i++) {
      a.set(...points[i]!).applyMatrix4(body.node.matrixWorld);
      if (!this.toScreen(a)) return false;
      if (i === 0) this.pen.moveTo(a.x, a.y);
      else this.pen.lineTo(a.x, a.y);
    }
    if (closed) this.pen.closePath();
    return true;
  }

  // Strokes the path with a halo, which is visible on any background.
  private stroke(colour: string, width: number): void {
    this.pen.strokeStyle = this.palette.css('halo');
    this.pen.lineWidth = width + 2;
    this.pen.stroke();
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = width;
    this.pen.stroke();
  }

  segment(x0: number, y0: number, x1: number, y1: number, colour: string, width: number): void {
    this.pen.beginPath();
    this.pen.moveTo(x0, y0);
    this.pen.lineTo(x1, y1);
    this.stroke(colour, width);
  }

  // A line without a halo.
  thin(x0: number, y0: number, x1: number, y1: number, colour: string): void {
    this.pen.beginPath();
    this.pen.moveTo(x0, y0);
    this.pen.lineTo(x1, y1);
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = 1;
    this.pen.globalAlpha = 0.55;
    this.pen.stroke();
    this.pen.globalAlpha = 1;
  }

  // A crossed square.
  crossed(x: number, y: number, r: number, colour: string): void {
    this.pen.beginPath();
    this.pen.rect(x - r, y - r, 2 * r, 2 * r);
    this.pen.moveTo(x - r, y - r);
    this.pen.lineTo(x + r, y + r);
    this.pen.moveTo(x + r, y - r);
    this.pen.lineTo(x - r, y + r);
    this.stroke(colour, 1.6);
  }

  dot(x: number, y: number, radius: number, colour: string, filled: boolean): void {
    this.pen.beginPath();
    this.pen.arc(x, y, radius, 0, 2 * Math.PI);
    if (filled) {
      this.pen.fillStyle = colour;
      this.pen.fill();
      this.pen.strokeStyle = this.palette.css('halo');
      this.pen.lineWidth = 1.5;
      this.pen.stroke();
    } else this.stroke(colour, 2);
  }

  // ---- features -----------------------------------------------------------------------------------

  private feature(ref: string, colour: string, selected: boolean): void {
    const body = this.bodies.get(store.splitRef(ref)[0]);
    const feature = store.featureOf(ref);
    if (!body || !feature) return;
    const shape = outline(body, feature);
    if (shape.kind === 'surface') {
      this.surface(shape, body, colour, selected);
      return;
    }
    if (!this.path(shape.points, body, shape.kind === 'plane')) return;
    if (shape.kind === 'point') this.dot(a.x, a.y, selected ? 5.5 : 6.5, colour, selected);
    else {
      if (shape.kind === 'plane') this.fill(colour, selected ? 0.07 : 0.14);
      this.pen.setLineDash(shape.inner ? [9, 4, 2, 4] : []);
      this.stroke(colour, selected ? 2.6 : 2.2);
      this.pen.setLineDash([]);
    }
    if (selected && shape.kind !== 'point') this.middleDot(middleOf(shape), body, colour);
  }

  // The edges and isolines of a surface, without a halo.
  private surface(shape: Outline, body: Body, colour: string, selected: boolean): void {
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = selected ? 1.7 : 1.3;
    for (const line of shape.lines) if (this.path(line, body, false)) this.pen.stroke();
    if (selected) this.middleDot(shape.points, body, colour);
  }

  private fill(colour: string, alpha: number): void {
    this.pen.globalAlpha = alpha;
    this.pen.fillStyle = colour;
    this.pen.fill();
    this.pen.globalAlpha = 1;
  }

  private middleDot(points: readonly Vec3[], body: Body, colour: string): void {
    b.set(0, 0, 0);
    for (const p of points) {
      b.x += p[0] / points.length;
      b.y += p[1] / points.length;
      b.z += p[2] / points.length;
    }
    b.applyMatrix4(body.node.matrixWorld);
    if (this.toScreen(b)) this.dot(b.x, b.y, 4.5, colour, true);
  }

  // The handles of the object under the cursor: its axes and centres.
  private handles(id: string): void {
    const body = this.bodies.get(id);
    const list = store.features.value.get(id);
    if (!body || !list) return;
    this.pen.globalAlpha = 0.75;
    for (const f of list) {
      const shape = outline(body, f);
      if ((shape.kind !== 'point' && shape.kind !== 'line') || (!shape.inner && f.derived !== false)) continue;
      if (!this.path(shape.points, body, false)) continue;
      if (shape.kind === 'point') this.dot(a.x, a.y, 2.5, this.palette.css('label'), true);
      else {
        this.pen.setLineDash([8, 4, 2, 4]);
        this.pen.strokeStyle = this.palette.css('label');
        this.pen.lineWidth = 1;
        this.pen.stroke();
        this.pen.setLineDash([]);
      }
    }
    this.pen.globalAlpha = 1;
  }

  private selectedObject(): void {
    const body = this.bodies.get(store.selectedObject.value);
    if (!body) return;
    const c = body.bounds;
    b.set((c.low[0] + c.high[0]) / 2, (c.low[1] + c.high[1]) / 2, (c.low[2] + c.high[2]) / 2);
    b.applyMatrix4(body.node.matrixWorld);
    if (this.toScreen(b)) this.dot(b.x, b.y, 4.5, this.palette.css('selected'), true);
  }

  // The two features of a constraint and a line between them; a broken line where it cannot be satisfied.
  private constraint(id: string, colour: string, broken = false): void {
    const c = store.constraints.value.find((k) => k.id === id);
    if (!c) return;
    const at = broken ? undefined : placedContacts.value.find((x) => x.constraint === id);
    if (at) {
      this.touchingPair(c, at, colour);
      return;
    }
    this.feature(c.a, colour, true);
    this.feature(c.b, colour, true);
    this.tie(elementOf(c.a)?.p, elementOf(c.b)?.p, broken ? `\u2715 ${id}` : id, colour);
  }

  // The two features of a contact, without a line between them. Surfaces are faint, so that the allowed motions show;
  // the name is beside them.
  private touchingPair(c: Constraint, at: PlacedContact, colour: string): void {
    this.pen.globalAlpha = at.touch === 'curves' ? 1 : FAINT;
    this.feature(c.a, colour, false);
    this.feature(c.b, colour, false);
    this.pen.globalAlpha = 1;
    if (this.toScreen(a.fromArray(at.point))) this.tag(a.x + this.height * BESIDE, a.y, c.id, colour);
  }

  // The axes of a joint's two frames, or the features of its ends, and a line between them.
  private joint(id: string, colour: string): void {
    const j = store.joints.value.find((k) => k.id === id);
    if (!j) return;
    if (j.type === 'gear') {
      for (const each of j.joints) this.joint(each, colour);
      return;
    }
    for (const end of [j.a, j.b]) {
      if (typeof end === 'string') this.feature(end, colour, true);
      else this.axis(placedEnd(end), colour);
    }
    this.tie(placedEnd(j.a)?.p, placedEnd(j.b)?.p, id, colour);
  }

  private springOf(id: string, colour: string): void {
    const s = store.springs.value.find((k) => k.id === id);
    if (!s) return;
    const ends = springEnds(s);
    this.tie(...ends, id, colour);
    for (const p of ends) if (this.toScreen(a.fromArray(p))) this.dot(a.x, a.y, 4.5, colour, true);
  }

  private axis(at: { p: Vec3; d: Vec3 } | null, colour: string): void {
    if (!at) return;
    const reach = this.pixel(at.p) * AXIS_PX;
    const [p, d] = [at.p, at.d];
    a.set(p[0] + reach * d[0], p[1] + reach * d[1], p[2] + reach * d[2]);
    b.set(p[0] - reach * d[0], p[1] - reach * d[1], p[2] - reach * d[2]);
    if (this.toScreen(a) && this.toScreen(b)) this.segment(a.x, a.y, b.x, b.y, colour, 2);
    if (this.toScreen(a.fromArray(p))) this.dot(a.x, a.y, 4.5, colour, true);
  }

  // A dashed line between two points, with a name.
  private tie(p: Vec3 | undefined, q: Vec3 | undefined, name: string, colour: string): void {
    if (!p || !q) return;
    a.fromArray(p);
    b.fromArray(q);
    if (!this.toScreen(a) || !this.toScreen(b)) return;
    this.pen.beginPath();
    this.pen.moveTo(a.x, a.y);
    this.pen.lineTo(b.x, b.y);
    this.pen.setLineDash([3, 4]);
    this.stroke(colour, 1.4);
    this.pen.setLineDash([]);
    this.tag((a.x + b.x) / 2, (a.y + b.y) / 2, name, colour);
  }

  // ---- text -----------------------------------------------------------------------------------------

  // Writes a text to the right or left of a point, below other tags that it would overlap, and within the picture.
  tag(at: number, wanted: number, text: string, colour: string, leftwards = false): void {
    this.pen.font = '600 12px system-ui, sans-serif';
    this.pen.textBaseline = 'middle';
    const { width } = this.pen.measureText(text);
    const x = Math.max(4, Math.min(this.width - width - 4, leftwards ? at - TAG_PX - width : at + TAG_PX));
    const y = this.room(x, wanted, width);
    this.pen.lineWidth = 4;
    this.pen.strokeStyle = this.palette.css('halo');
    this.pen.strokeText(text, x, y);
    this.pen.fillStyle = colour;
    this.pen.fillText(text, x, y);
  }

  // Moves the tag down until it overlaps no other. Half a line of tolerance keeps rounding from moving it for ever.
  private room(x: number, wanted: number, width: number): number {
    let y = wanted;
    for (let i = 0; i < this.taken; i++) {
      const t = this.tags[i]!;
      if (x < t.x + t.width && t.x < x + width && Math.abs(y - t.y) < LINE_PX - 0.5) {
        y = t.y + LINE_PX;
        i = -1; // it may overlap another one
      }
    }
    if (this.taken === this.tags.length) return y;
    const mine = this.tags[this.taken++]!;
    [mine.x, mine.y, mine.width] = [x, y, width];
    return y;
  }

  private numbered(label: Label): void {
    a.copy(label.at);
    if (!this.toScreen(a)) return;
    this.pen.beginPath();
    this.pen.arc(a.x, a.y, label.strong ? 11 : 9, 0, 2 * Math.PI);
    this.pen.fillStyle = label.strong ? this.palette.css('motion') : this.palette.css('halo');
    this.pen.fill();
    this.pen.strokeStyle = this.palette.css('motion');
    this.pen.lineWidth = 1.5;
    this.pen.stroke();
    this.pen.font = '600 12px system-ui, sans-serif';
    this.pen.textAlign = 'center';
    this.pen.textBaseline = 'middle';
    this.pen.fillStyle = label.strong ? this.palette.css('halo') : this.palette.css('motion');
    this.pen.fillText(label.text, a.x, a.y + 0.5);
    this.pen.textAlign = 'start';
  }

  // ---- forces -----------------------------------------------------------------------------------------

  private arrow(colour: string, width: number, head: number): void {
    const angle = Math.atan2(b.y - a.y, b.x - a.x);
    this.pen.beginPath();
    this.pen.moveTo(a.x, a.y);
    this.pen.lineTo(b.x, b.y);
    this.stroke(colour, width);
    this.pointer(b.x, b.y, angle, head, colour);
  }

  // A triangle that points in the direction of the angle.
  pointer(x: number, y: number, angle: number, size: number, colour: string): void {
    this.pen.beginPath();
    this.pen.moveTo(x + size * Math.cos(angle), y + size * Math.sin(angle));
    this.pen.lineTo(x + size * Math.cos(angle + 2.4), y + size * Math.sin(angle + 2.4));
    this.pen.lineTo(x + size * Math.cos(angle - 2.4), y + size * Math.sin(angle - 2.4));
    this.pen.closePath();
    this.pen.fillStyle = colour;
    this.pen.fill();
  }

  // An arrow whose length grows with the force and stays within the screen.
  forceAt(
    at: Vec3,
    f: Vec3,
    size: number,
    text: string,
    colour: string,
    width: number,
    longest = this.pixel(at) * 90,
  ): void {
    const length = Math.max((longest * size) / (size + 8), this.pixel(at) * SHORTEST_PX);
    a.fromArray(at);
    b.fromArray(f)
      .multiplyScalar(length / size)
      .add(a);
    if (!this.toScreen(a) || !this.toScreen(b)) return;
    const leftwards = b.x < a.x - 6;
    this.arrow(colour, width, 4 + 2 * width);
    if (text) this.tag(b.x + (leftwards ? -4 - width : 4 + width), b.y, text, colour, leftwards); // beyond its head
  }

  // The drawn world position of the tool's origin; false where nothing is held.
  private origin(tool: Tool): boolean {
    const o = poses.slot(heldId(tool)) * 7;
    if (o < 0) return false;
    const v = poses.values;
    turn.set(v[o + 4]!, v[o + 5]!, v[o + 6]!, v[o + 3]!);
    b.fromArray(fullPose(tool.at).p).applyQuaternion(turn);
    origin[0] = v[o]! + b.x;
    origin[1] = v[o + 1]! + b.y;
    origin[2] = v[o + 2]! + b.z;
    return true;
  }

  private force(tool: Tool, f: Vec3 | undefined, colour: string, width: number, word = ''): void {
    const size = f ? Math.hypot(f[0], f[1], f[2]) : 0;
    const body = this.bodies.get(heldId(tool));
    if (!f || size < FORCE_SHOWN_N || !body || !this.origin(tool)) return;
    const longest = body.pins.length ? this.pixel(origin) * 170 : body.size * 1.4;
    this.forceAt(origin, f, size, word + newtons(size), colour, width, longest);
  }

  // The reaction wrench of the constraints of the selected free body.
  private borne(): void {
    const id = store.selectedObject.value;
    const state = id ? store.simulation.value?.bodies?.find((x) => x.object === id) : undefined;
    const f = state?.constraint.force;
    const size = f ? Math.hypot(f[0], f[1], f[2]) : 0;
    const o = poses.slot(id) * 7;
    if (!f || size < FORCE_SHOWN_N || o < 0) return;
    const v = poses.values;
    for (let k = 0; k < 3; k++) origin[k] = v[o + k]!;
    this.forceAt(origin, f, size, newtons(size), this.palette.css('reaction'), 1.5);
  }

  private forces(): void {
    if (store.runState.value === 'stopped') return;
    this.borne();
    const tools = store.tools.value;
    const states = store.simulation.value?.tools ?? [];
    for (let i = 0; i < states.length && i < tools.length; i++) {
      const state = states[i]!;
      const script = store.scriptOf(i);
      this.force(tools[i]!, state.operator.force, this.palette.css('force'), 3, script && `${script} `);
      this.force(tools[i]!, state.constraint.force, this.palette.css('reaction'), 1.5);
      this.force(tools[i]!, state.command?.force, this.palette.css('reaction'), 2, 'device ');
      this.force(tools[i]!, state.impulse?.force, this.palette.css('selected'), 2.4, 'hit ');
    }
  }

  // The points at which links are held, and at which the clicked link would be.
  private places(): void {
    for (const tool of store.tools.value) {
      if (!tool.mechanism || !this.origin(tool)) continue;
      a.fromArray(origin);
      if (this.toScreen(a)) this.dot(a.x, a.y, 4.5, this.palette.css('force'), true);
    }
    const pointed = store.clickedPoint.value;
    const body = pointed && this.bodies.get(pointed.id);
    if (!body) return;
    a.fromArray(pointed.at).applyMatrix4(body.node.matrixWorld);
    if (this.toScreen(a)) this.dot(a.x, a.y, 5.5, this.palette.css('selected'), false);
  }

  // A zigzag line from the grabbed point to the cursor.
  private drawSpring(spring: Spring): void {
    a.copy(spring.from);
    b.copy(spring.to);
    if (!this.toScreen(a) || !this.toScreen(b)) return;
    const [dx, dy] = [b.x - a.x, b.y - a.y];
    const length = Math.hypot(dx, dy);
    const turns = Math.max(6, Math.min(24, Math.round(length / 9)));
    this.pen.beginPath();
    this.pen.moveTo(a.x, a.y);
    for (let i = 1; i < turns; i++) {
      const side = (i % 2 ? 1 : -1) * Math.min(6, length / 8);
      this.pen.lineTo(
        a.x + (dx * i) / turns - (dy / (length || 1)) * side,
        a.y + (dy * i) / turns + (dx / (length || 1)) * side,
      );
    }
    this.pen.lineTo(b.x, b.y);
    this.stroke(this.palette.css('force'), 1.6);
    this.dot(a.x, a.y, 4, this.palette.css('force'), true);
    this.dot(b.x, b.y, 4, this.palette.css('force'), false);
    if (spring.text) this.tag((a.x + b.x) / 2, (a.y + b.y) / 2 - 14, spring.text, this.palette.css('force'));
  }
}
