// Moving a body by the pointer. While the simulation runs, a moving body is pulled by a spring from the grabbed point
// to the cursor: a held or free object, a link, a member of a system. Otherwise an object moves along its freedoms
// only, together with the bodies joined to it, and a link by the joints that carry it.

import { type Camera, Plane, Vector3 } from 'three';
import { moveAlong, moveNear } from '../edits/constraints';
import { setPositions, showPositions } from '../edits/mechanisms';
import { isJoined, JoinedDrag } from '../edits/movetogether';
import { type ControlPoint, chosenPoint, PointDrag } from '../edits/shapes';
import { drag, release } from '../edits/simulation';
import type { Branch, HandTarget, Pose, Solution, Vec3 } from '../protocol';
import { dragParameters, isByStrand, nearestOnPath, parametersToward, within } from '../state/freedoms';
import { add, sub, toLocal, toWorld } from '../state/maths';
import { inverseKinematics } from '../state/mechanisms';
import { poses } from '../state/poses';
import * as store from '../state/store';
import { newtons } from '../state/words';
import type { Overlay } from './overlay';
import type { Hit, Picker } from './picking';

const toArray = (v: Vector3): Vec3 => [v.x, v.y, v.z];

const TAKEN_MS = 250; // ms; a refused drag has been reported by then

// pull: by a spring; slide: along the object's freedoms; reach: a link, by its mechanism's joints; joined: a member of
// a system, or a link that relations name, with all joined bodies; shape: a control point.
export type DragKind = 'pull' | 'slide' | 'reach' | 'joined' | 'shape' | '';

// The client that operates the latched device of the object, unless it is this page; '' otherwise.
export const operatedByOther = (object: string): string =>
  store.latched(store.toolIndex(object)) ? store.otherOperator.value : '';

// The kind of drag that a press on this body begins.
export function dragKind(object: string): DragKind {
  if (store.connection.value !== 'open') return '';
  if (store.runState.value === 'running') return store.movesByForce(object) && !operatedByOther(object) ? 'pull' : '';
  if (isJoined(object)) return 'joined';
  if (store.linkRef(object)) return 'reach';
  const solution = store.solutions.value.get(object);
  return solution && solution.dof > 0 ? 'slide' : '';
}

export function currentBranch(solution: Solution | undefined): Branch | undefined {
  return solution?.branches.find((b) => b.id === solution.branch) ?? solution?.branches[0];
}

function graspOf(object: string): HandTarget {
  const tool = store.toolIndex(object);
  return tool >= 0 ? { tool } : { object };
}

export class Drag {
  private kind: DragKind = '';
  private object = '';
  private readonly local = new Vector3();
  private readonly grabbed = new Vector3();
  private readonly target = new Vector3();
  private readonly plane = new Plane();
  private start: Pose | null = null;
  private parameters: number[] = [];
  private joints: number[] = [];
  private stale = false;
  private turn = false;
  private only = -1; // the freedom whose gizmo was grabbed; -1: none
  private point: PointDrag | undefined; // the dragged control point
  private joined: JoinedDrag | undefined;
  private depthY = 0;
  private begun = 0; // ms

  constructor(
    private readonly camera: Camera,
    private readonly picker: Picker,
    private readonly overlay: Overlay,
  ) {}

  get active(): boolean {
    return this.kind !== '';
  }

  begin(hit: Hit, kind: DragKind, y: number): void {
    this.kind = kind;
    this.begun = performance.now();
    this.object = hit.body.id;
    this.local.copy(hit.local);
    this.target.copy(hit.world);
    this.depthY = y;
    this.facePlane(hit.world);
    this.start = poses.pose(this.object);
    this.parameters = [...(store.solutions.value.get(this.object)?.parameters ?? [])];
    const link = store.linkRef(this.object);
    this.joints = link ? store.positionsOf(link.mechanism) : [];
    if (link) store.selectLink(this.object, toArray(hit.local));
    else store.selectObject(this.object);
    this.joined = kind === 'joined' ? new JoinedDrag(this.object, toArray(hit.local)) : undefined;
  }

  // Begins a drag of an arrow or a ring: along that freedom only.
  beginMark(object: string, freedom: number, at: Vector3, y: number): void {
    this.kind = 'slide';
    this.object = object;
    this.only = freedom;
    this.target.copy(at);
    this.depthY = y;
    this.facePlane(at);
    this.start = poses.pose(object);
    this.local.fromArray(toLocal(this.start, toArray(at)));
    this.parameters = [...(store.solutions.value.get(object)?.parameters ?? [])];
    store.selectedFreedom.value = freedom;
  }

  // Begins a drag of a control point of a free-form shape.
  beginPoint(object: string, point: ControlPoint, at: Vector3, y: number): void {
    this.kind = 'shape';
    this.object = object;
    this.target.copy(at);
    this.depthY = y;
    this.facePlane(at);
    this.point = new PointDrag(object, point);
    chosenPoint.value = point;
  }

  private facePlane(through: Vector3): void {
    this.plane.setFromNormalAndCoplanarPoint(this.camera.getWorldDirection(new Vector3()), through);
  }

  // Moves the target to the cursor in the plane parallel to the screen through the grabbed point; with Shift along the
  // view direction.
  move(x: number, y: number, shift: boolean, alt: boolean): void {
    if (!this.active) return;
    if (shift) this.along(y);
    else {
      const ray = this.picker.ray(x, y).ray;
      if (!ray.intersectPlane(this.plane, this.target)) return;
    }
    this.depthY = y;
    this.turn = alt;
    this.stale = true;
  }

  private along(y: number): void {
    const d = this.camera.getWorldDirection(new Vector3());
    const reach = this.target.distanceTo(this.camera.position);
    this.target.addScaledVector(d, ((this.depthY - y) * reach) / 600);
    this.facePlane(this.target);
  }

  // Once per frame: sends at most one message of each kind, and draws the spring.
  frame(): void {
    if (!this.active) return;
    if (this.kind !== 'shape') this.place();
    if (this.kind === 'pull') this.drawSpring();
    if (!this.stale) return;
    this.stale = false;
    if (this.kind === 'pull') drag(graspOf(this.object), toArray(this.local), toArray(this.target), this.turn);
    else if (this.kind === 'reach') this.reach();
    else if (this.kind === 'joined') this.joined?.to(toArray(this.target), this.turn);
    else if (this.kind === 'shape') this.point?.to(toLocal(poses.pose(this.object), toArray(this.target)));
    else this.slide();
  }

  // Commits the positions at the release: one step for undo.
  private takeReach(): void {
    const link = store.linkRef(this.object);
    if (link) void setPositions(link.mechanism, this.joints);
  }

  // Moves the joints from the base to the grabbed link so that the grabbed point comes to the cursor.
  private reach(): void {
    const link = store.linkRef(this.object);
    if (!link) return;
    this.joints = inverseKinematics(link.mechanism, link.index, this.joints, toArray(this.local), toArray(this.target));
    showPositions(link.mechanism, this.joints);
  }

  private place(): void {
    const g = poses.pose(this.object);
    this.grabbed.copy(this.local);
    const [w, x, y, z] = g.q;
    this.grabbed.applyQuaternion({ x, y, z, w } as never).add(new Vector3(...g.p));
  }

  // Draws the spring once the server has accepted the drag, or after TAKEN_MS: a refused drag shows none.
  private drawSpring(): void {
    const taken = store.isDragged(this.object) || performance.now() > this.begun + TAKEN_MS;
    if (!taken) return;
    const force = store.handForce(this.object);
    const size = force ? Math.hypot(...force) : 0;
    this.overlay.spring = {
      from: this.grabbed,
      to: this.target,
      text: store.toolIndex(this.object) >= 0 ? '' : newtons(size),
    }; // a tool's force has an arrow with its value
  }

  private slide(): void {
    const solution = store.solutions.value.get(this.object);
    const branch = currentBranch(solution);
    if (!solution || !branch || !this.start) return;
    const which = this.only >= 0 ? [this.only] : dragParameters(branch, this.turn);
    const turns = which.some((k) => branch.parameters[k]?.part === 'rotation');
    if (branch.kind !== 'separable' || (this.only >= 0 ? isByStrand(branch, this.only) : !turns)) this.near(solution);
    else if (branch.parameters.length === this.parameters.length) {
      const change = parametersToward(branch, this.start, toArray(this.local), toArray(this.target), which);
      void moveAlong(
        this.object,
        branch.parameters.map((q, i) => within(q.range, q.periodic, this.parameters[i]! + change[i]!)),
      );
    }
  }

  // Moves along the strand of the grabbed freedom if it has one, else to the pose that the server finds nearest to the
  // one whose grabbed point is at the cursor, which passes poles and seams and stops at edges.
  private near(solution: Solution): void {
    const here = poses.pose(this.object);
    const strand = this.only >= 0 ? solution.strands?.[this.only] : undefined;
    const [grabbed, target] = [toArray(this.local), toArray(this.target)];
    const wanted = strand
      ? nearestOnPath(strand, grabbed, target)
      : { p: add(here.p, sub(target, toWorld(here, grabbed))), q: here.q };
    void moveNear(this.object, wanted);
  }

  // Releases the body, which ends the spring.
  end(): void {
    if (this.kind === 'pull') release(graspOf(this.object));
    else if (this.kind === 'slide' && this.stale) this.slide();
    else if (this.kind === 'reach') this.takeReach();
    else if (this.kind === 'joined') {
      this.frame();
      void this.joined?.end();
    } else if (this.kind === 'shape') {
      this.frame();
      this.point?.end();
    }
    this.kind = '';
    this.only = -1;
    this.stale = false;
    this.overlay.spring = null;
  }
}
