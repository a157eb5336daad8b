// Poses of all objects and links in one preallocated array, seven numbers each (p, then q as w x y z): the scene's
// objects in order, then the links of its mechanisms. A frame of the stream is copied into it when the table is read.

import type { Pose, PoseGiven, Scene } from '../protocol';
import { compose, inverse, norm, sub } from './maths';
import { fullPose, linkId, linkPoses } from './mechanisms';
import * as store from './store';

const OBJECTS = 4096;
const LINKS = 512;
const CAP = OBJECTS + LINKS;
const WIDTH = 7;

// A pose frame: u32 type, u32 count, u64 tick, f64 t; then for each moving body u32 index, f32 p[3], f32 q[4].
const HEADER = 24;
const RECORD = 32;

export function poseFrame(buffer: ArrayBuffer): DataView | null {
  if (buffer.byteLength < HEADER) return null;
  const view = new DataView(buffer);
  const whole = view.getUint32(0, true) === 1 && buffer.byteLength >= HEADER + view.getUint32(4, true) * RECORD;
  return whole ? view : null;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((v, i) => v === b[i]);
}

export class PoseTable {
  private readonly table = new Float32Array(CAP * WIDTH);
  version = 0; // raised at every change
  private slots = new Map<string, number>();
  private order = new Int32Array(CAP).fill(-1); // slot of the i-th moving body
  private moving = 0;
  movingIds: readonly string[] = []; // of moving objects and links
  private newest: DataView | null = null; // a frame that was not copied yet
  private last: Uint8Array | null = null; // poses of the newest frame; null where the table was changed otherwise since
  private readonly shown = new Uint8Array(CAP); // 1: pose set by show(), not by frames

  // Sets the scene's objects and links. Moving objects keep their poses, and so do links while `live`; otherwise links
  // are at the scene's initial positions.
  layout(scene: Scene, index: string[], live: boolean): void {
    const before = this.values.slice();
    const old = this.slots;
    const moving = new Set(index);
    this.slots = new Map();
    this.last = null;
    this.shown.fill(0);
    const add = (id: string, pose: PoseGiven | undefined, keep: boolean): void => {
      const was = old.get(id);
      const i = this.slots.size;
      this.slots.set(id, i);
      if (keep && was !== undefined && moving.has(id))
        this.values.set(before.subarray(was * WIDTH, was * WIDTH + WIDTH), i * WIDTH);
      else this.put(i, pose);
    };
    for (const object of scene.objects.slice(0, OBJECTS)) add(object.id, object.pose, true);
    for (const m of scene.mechanisms ?? [])
      linkPoses(m).forEach((pose, i) => {
        if (this.slots.size < CAP) add(linkId(m.id, i), pose, live);
      });
    this.movingIds = index;
    this.moving = Math.min(index.length, CAP);
    index.forEach((id, i) => (this.order[i] = this.slots.get(id) ?? -1));
    this.version++;
  }

  private put(slot: number, pose?: PoseGiven): void {
    this.values.set(pose?.p ?? [0, 0, 0], slot * WIDTH);
    this.values.set(pose?.q ?? [1, 0, 0, 0], slot * WIDTH + 3);
  }

  // Takes a pose frame of the stream, which contains all moving bodies. False where no pose has changed.
  apply(view: DataView): boolean {
    const now = new Uint8Array(view.buffer, HEADER);
    if (this.last && sameBytes(now, this.last)) return false;
    this.last = now;
    this.newest = view;
    this.version++;
    return true;
  }

  get values(): Float32Array {
    const view = this.newest;
    this.newest = null;
    if (view) for (let i = view.getUint32(4, true), at = HEADER; i > 0; i--, at += RECORD) this.take(view, at);
    return this.table;
  }

  private take(view: DataView, at: number): void {
    const index = view.getUint32(at, true);
    const slot = index < this.moving ? this.order[index]! : -1;
    if (slot < 0 || this.shown[slot]) return;
    for (let k = 0; k < WIDTH; k++) this.table[slot * WIDTH + k] = view.getFloat32(at + 4 + 4 * k, true);
  }

  // Shows the body at this pose until the next document: for an edit under way.
  show(id: string, pose: Pose): void {
    const slot = this.slot(id);
    if (slot < 0) return;
    this.put(slot, pose);
    this.shown[slot] = 1;
    this.version++;
  }

  // Ends show(): the poses are those of frames again.
  unshow(ids: Iterable<string>): void {
    for (const id of ids) {
      const slot = this.slot(id);
      if (slot >= 0) this.shown[slot] = 0;
    }
    this.last = null;
    this.version++;
  }

  slot(id: string): number {
    return this.slots.get(id) ?? -1;
  }

  pose(id: string): Pose {
    const slot = this.slot(id);
    if (slot < 0) return { p: [0, 0, 0], q: [1, 0, 0, 0] };
    const v = this.values;
    const o = slot * WIDTH;
    return { p: [v[o]!, v[o + 1]!, v[o + 2]!], q: [v[o + 3]!, v[o + 4]!, v[o + 5]!, v[o + 6]!] };
  }
}

export const poses = new PoseTable();

// ---- in double precision ---------------------------------------------------------------------------------

const SAME = 1e-6; // tolerance of single precision (m, and entries of the quaternion)

export function exactPose(id: string): Pose {
  const rough = poses.pose(id);
  const object = store.objectOf(id);
  const held = store.tools.value[store.toolIndex(id)];
  const state = store.toolState(id);
  const solution = store.solutions.value.get(id);
  const branch = solution?.branches.find((b) => b.id === solution.branch);
  const known = [
    object?.pose && fullPose(object.pose),
    branch?.nearest.pose,
    state && compose(state.pose, inverse(fullPose(held?.at))),
  ];
  return known.find((g) => g && same(g, rough)) ?? rough;
}

function same(a: Pose, b: Pose): boolean {
  const sign = a.q.reduce((sum, v, i) => sum + v * b.q[i]!, 0) < 0 ? -1 : 1;
  const turn = Math.hypot(...a.q.map((v, i) => v - sign * b.q[i]!));
  return norm(sub(a.p, b.p)) < SAME && turn < SAME;
}
