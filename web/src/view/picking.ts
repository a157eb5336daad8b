// Picking of features: vertices within 10 px, then edges within 6 px, then faces. Hidden features and those inside a
// body come last and are reached by Tab.
import { type Camera, type Intersection, type Mesh, type Object3D, Raycaster, Vector2, Vector3 } from 'three';
import { wanted } from '../edits/draft';
import type { Feature, Geometry, Vec3 } from '../protocol';
import { KINDS } from '../state/constraints';
import { dot, rotate, sub } from '../state/maths';
import * as store from '../state/store';
import { needFeatures } from '../state/stream';
import type { Bodies, Body } from './bodies';
import { type Outline, outlineOf, partOf } from './outline';

const VERTEX_PX = 10;
const EDGE_PX = 6;
const DIRECTIONS = 12;

export interface Hit {
  body: Body;
  mesh: Mesh;
  world: Vector3;
  local: Vector3;
  normal: Vector3;
  distance: number;
}

interface Candidate {
  ref: string;
  rank: number;
  px: number;
}

const screenA = new Vector3();
const screenB = new Vector3();
const world = new Vector3();
const toward = new Vector3();
const ray = new Raycaster();
const probe = new Raycaster();
const ndc = new Vector2();

// Outlines of features, cached by feature object.
const outlines = new WeakMap<Feature, Outline>();

export function outline(body: Body, feature: Feature): Outline {
  let found = outlines.get(feature);
  if (!found) outlines.set(feature, (found = outlineOf(body.geometry, feature)));
  return found;
}

const TOUCHING = new Set<string>(KINDS.filter((k) => k.touching).map((k) => k.type));

// True where a surface is looked for: a kind of contact was chosen, or the other feature fits nothing else.
function touchWanted(): boolean {
  if (TOUCHING.has(wanted.peek())) return true;
  return store.picked.peek().some((ref) => {
    const f = store.featureOf(ref);
    return !!f && (!!f.touches || !!f.surface || !!f.curve);
  });
}

// The shape of the part of a compound that was hit.
function partHit({ body, mesh }: Hit): Geometry | undefined {
  return body.geometry.type === 'compound' ? body.geometry.parts[body.meshes.indexOf(mesh)]?.geometry : undefined;
}

export class Picker {
  private width = 1;
  private height = 1;

  constructor(
    private readonly camera: Camera,
    private readonly bodies: Bodies,
  ) {}

  resize(width: number, height: number): void {
    this.width = width;
    this.height = height;
  }

  ray(x: number, y: number): Raycaster {
    ndc.set((x / this.width) * 2 - 1, 1 - (y / this.height) * 2);
    ray.setFromCamera(ndc, this.camera);
    return ray;
  }

  // The first body under the cursor.
  hit(x: number, y: number, among: Object3D = this.bodies.root): Hit | null {
    const first = this.ray(x, y).intersectObject(among, true)[0] as Intersection<Mesh> | undefined;
    const body = first?.object.userData.body as Body | undefined;
    if (!first || !body || !first.face) return null;
    const normal = first.face.normal.clone().applyQuaternion(first.object.quaternion);
    if (first.object === body.node) normal.copy(first.face.normal);
    const local = body.node.worldToLocal(first.point.clone());
    return { body, mesh: first.object, world: first.point, local, normal, distance: first.distance };
  }

  // Picks a body by its edges: the nearest one, unless the body is farther from the cursor than an edge can be picked.
  hitNear(x: number, y: number, id: string): Hit | null {
    const body = this.bodies.list.find((b) => b.id === id);
    if (!body) return null;
    for (let reach = 2; reach <= EDGE_PX; reach += 2)
      for (let k = 0; k < DIRECTIONS; k++) {
        const angle = (2 * Math.PI * k) / DIRECTIONS;
        const hit = this.hit(x + reach * Math.cos(angle), y + reach * Math.sin(angle), body.node);
        if (hit) return hit;
      }
    return null;
  }

  // Projects to pixels; false for a point behind the camera.
  project(local: Vec3, body: Body, out: Vector3): boolean {
    out
      .set(...local)
      .applyMatrix4(body.node.matrixWorld)
      .project(this.camera);
    const ahead = out.z < 1;
    out.x = ((out.x + 1) / 2) * this.width;
    out.y = ((1 - out.y) / 2) * this.height;
    return ahead;
  }

  // True where a point of a body is visible from the camera.
  private seen(local: Vec3, body: Body): boolean {
    world.set(...local).applyMatrix4(body.node.matrixWorld);
    toward.copy(world).sub(this.camera.position);
    const distance = toward.length();
    probe.set(this.camera.position, toward.divideScalar(distance));
    const first = probe.intersectObject(this.bodies.root, true)[0];
    return !first || first.distance > distance - 0.004 * body.size - 1e-6;
  }

  // All features under the cursor, best first.
  candidates(x: number, y: number): { refs: string[]; hit: Hit | null } {
    const hit = this.hit(x, y);
    const found: Candidate[] = [];
    for (const body of this.bodies.list) {
      if (!this.near(body, x, y)) continue;
      const list = store.features.peek().get(body.id);
      if (!list) void needFeatures(body.id);
      else for (const feature of list) this.consider(feature, body, x, y, hit, found);
    }
    found.sort((a, b) => a.rank - b.rank || a.px - b.px);
    return { refs: found.map((c) => c.ref), hit };
  }

  private near(body: Body, x: number, y: number): boolean {
    if (!this.project([0, 0, 0], body, screenA)) return false;
    const c = body.bounds;
    this.project([(c.low[0] + c.high[0]) / 2, (c.low[1] + c.high[1]) / 2, (c.low[2] + c.high[2]) / 2], body, screenA);
    const distance = world.setFromMatrixPosition(body.node.matrixWorld).distanceTo(this.camera.position);
    const scale = this.height / (2 * Math.tan(Math.PI / 9) * Math.max(distance, 1e-6));
    return Math.hypot(screenA.x - x, screenA.y - y) < body.size * scale + 20;
  }

  private consider(f: Feature, body: Body, x: number, y: number, hit: Hit | null, out: Candidate[]): void {
    const shape = outline(body, f);
    if (shape.kind === 'point') this.point(f, shape, body, x, y, hit, out);
    else if (shape.kind === 'line') this.line(f, shape, body, x, y, hit, out);
    else if (shape.kind === 'curve') this.curve(f, shape, body, x, y, hit, out);
    else if (shape.kind === 'surface') this.surface(f, body, hit, out);
    else this.plane(f, shape, body, x, y, hit, out);
  }

  private point(f: Feature, shape: Outline, body: Body, x: number, y: number, hit: Hit | null, out: Candidate[]): void {
    if (!this.project(shape.points[0]!, body, screenA)) return;
    const px = Math.hypot(screenA.x - x, screenA.y - y);
    if (px > VERTEX_PX) {
      // who points at a sphere means its centre
      if (body.geometry.type === 'sphere' && hit?.body === body && shape.inner) out.push({ ref: f.id, rank: 3.5, px });
      return;
    }
    const wire = body.geometry.type === 'nurbs-curve'; // its ends lie within the drawn wire
    const visible = !shape.inner && (wire || this.seen(shape.points[0]!, body));
    out.push({ ref: f.id, rank: visible ? 0 : 5, px });
  }

  private line(f: Feature, shape: Outline, body: Body, x: number, y: number, hit: Hit | null, out: Candidate[]): void {
    const [a, b] = shape.points as [Vec3, Vec3];
    if (!this.project(a, body, screenA) || !this.project(b, body, screenB)) return;
    const dx = screenB.x - screenA.x;
    const dy = screenB.y - screenA.y;
    const t = Math.max(0, Math.min(1, ((x - screenA.x) * dx + (y - screenA.y) * dy) / (dx * dx + dy * dy || 1)));
    const px = Math.hypot(screenA.x + t * dx - x, screenA.y + t * dy - y);
    const curved = hit?.body === body && shape.inner && this.onCurved(hit, body);
    if (px > EDGE_PX) {
      if (curved) out.push({ ref: f.id, rank: 3.5, px });
      return;
    }
    const free = !shape.inner || t < shape.from || t > shape.to;
    const at: Vec3 = [0, 1, 2].map((k) => a[k]! + t * (b[k]! - a[k]!)) as Vec3;
    out.push({ ref: f.id, rank: free && this.seen(at, body) ? 1 : curved ? 3.5 : 4.5, px });
  }

  // Adds a free-form curve, an edge of a surface, or a rim. A rim comes after the face that it bounds, unless a contact
  // is looked for.
  private curve(f: Feature, shape: Outline, body: Body, x: number, y: number, hit: Hit | null, out: Candidate[]): void {
    let px = Infinity;
    let near = 0;
    for (let i = 0; i < shape.points.length; i++) {
      if (!this.project(shape.points[i]!, body, screenB)) return;
      if (i > 0) {
        const far = this.toSegment(x, y);
        if (far < px) [px, near] = [far, i];
      }
      screenA.copy(screenB);
    }
    const wire = body.geometry.type === 'nurbs-curve' && hit?.body === body;
    if (px > EDGE_PX && !wire) return;
    const seen = wire || this.seen(shape.points[near]!, body) || this.seen(shape.points[near - 1]!, body);
    out.push({ ref: f.id, rank: !seen ? 4.5 : f.touches && !touchWanted() ? 1.7 : 1, px });
  }

  // The distance (px) from the cursor to the projected segment.
  private toSegment(x: number, y: number): number {
    const dx = screenB.x - screenA.x;
    const dy = screenB.y - screenA.y;
    const t = Math.max(0, Math.min(1, ((x - screenA.x) * dx + (y - screenA.y) * dy) / (dx * dx + dy * dy || 1)));
    return Math.hypot(screenA.x + t * dx - x, screenA.y + t * dy - y);
  }

  // Adds a surface; that of a primitive comes after its axis or centre, unless a contact is looked for.
  private surface(f: Feature, body: Body, hit: Hit | null, out: Candidate[]): void {
    if (hit?.body !== body) return;
    const { geometry, pose } = partOf(body.geometry, store.splitRef(f.id)[1]);
    if (geometry !== body.geometry && geometry !== partHit(hit)) return;
    const side = dot(rotate(pose.q, [0, 0, 1]), [hit.normal.x, hit.normal.y, hit.normal.z]);
    if (geometry.type === 'cylinder' && Math.abs(side) > 0.99) return;
    out.push({ ref: f.id, rank: f.surface ? 2 : touchWanted() ? 2 : 3.6, px: 0 });
  }

  // True on the side of a cylinder or cone, where only the axis can be meant.
  private onCurved(hit: Hit, body: Body): boolean {
    const type = body.geometry.type;
    return (type === 'cylinder' || type === 'cone' || type === 'capsule') && Math.abs(hit.normal.z) < 0.99;
  }

  // True where the cursor is on the rim of a round face, which stands for the face: it is visible where the face is
  // not.
  private rim(shape: Outline, body: Body, x: number, y: number): boolean {
    if (shape.inner || shape.points.length < 8) return false;
    return shape.points.some((p, i) => {
      const q = shape.points[(i + 1) % shape.points.length]!;
      if (!this.project(p, body, screenA) || !this.project(q, body, screenB)) return false;
      const dx = screenB.x - screenA.x;
      const dy = screenB.y - screenA.y;
      const t = Math.max(0, Math.min(1, ((x - screenA.x) * dx + (y - screenA.y) * dy) / (dx * dx + dy * dy || 1)));
      return Math.hypot(screenA.x + t * dx - x, screenA.y + t * dy - y) < EDGE_PX && this.seen(p, body);
    });
  }

  private plane(f: Feature, shape: Outline, body: Body, x: number, y: number, hit: Hit | null, out: Candidate[]): void {
    if (this.rim(shape, body, x, y)) {
      out.push({ ref: f.id, rank: 1.5, px: 0 });
      return;
    }
    if (!hit || hit.body !== body || !f.plane) return;
    const n = f.plane.normal;
    const local: Vec3 = [hit.local.x, hit.local.y, hit.local.z];
    const off = Math.abs(dot(sub(local, f.plane.point), n)) / (Math.hypot(...n) || 1);
    const facing = (n[0] * hit.normal.x + n[1] * hit.normal.y + n[2] * hit.normal.z) / (Math.hypot(...n) || 1);
    if (!shape.inner && off < 1e-4 * body.size && facing > 0.99) out.push({ ref: f.id, rank: 2, px: 0 });
    else if (shape.inner) out.push({ ref: f.id, rank: 6, px: off });
  }
}
