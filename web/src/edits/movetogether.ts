// Moves of bodies in systems, while stopped or paused, together with the bodies joined to them: each move is an
// assembly from the present poses with the moved body displaced.

import type { Assembly, Mechanism, Pose, Quat, Vec3 } from '../protocol';
import { add, axisAngle, cross, dot, IDENTITY, norm, qconj, qmul, scale, sub, toWorld } from '../state/maths';
import { linkId } from '../state/mechanisms';
import { exactPose, poses } from '../state/poses';
import { call, callWithRevision, direct, enc, inTurn, isAwaited } from '../state/rest';
import * as store from '../state/store';
import { posesChanged } from '../state/stream';
import { listed } from '../state/words';
import { attempt, change } from './request';

type Placed = ReadonlyMap<string, Pose>;

const body = (end: string | { object: string }): string => (typeof end === 'string' ? end : end.object).split('/')[0]!;

// True where relations join a link of the mechanism to another body, by a loop or to a body that it carries.
function isRelated(m: Mechanism): boolean {
  const links = new Set(m.links.map((_, i) => linkId(m.id, i)));
  const names = (ends: { a: string | { object: string }; b: string | { object: string }; enabled?: boolean }) =>
    ends.enabled !== false && (links.has(body(ends.a)) || links.has(body(ends.b)));
  return store.constraints.value.some(names) || store.joints.value.some((j) => j.type !== 'gear' && names(j));
}

// True where other bodies or joints also determine the motion, not only the object's own constraints or the joints of
// its mechanism.
export function isJoined(object: string): boolean {
  const link = store.linkRef(object);
  if (link) return isRelated(link.mechanism);
  const solution = store.solutions.value.get(object);
  const system = solution?.system;
  if (!system || system.freedoms === 0) return false;
  return solution.dof !== system.freedoms || store.joints.value.some((j) => j.enabled !== false && j.type !== 'gear');
}

// While the simulation runs such a body is pulled by a force instead.
export const isMovable = (object: string): boolean => store.runState.value !== 'running' && isJoined(object);

export const objectPath = (id: string): string => `/objects/${enc(id)}`;

// All moving bodies that relations join to the object, directly or through other moving bodies.
function companions(object: string): string[] {
  const joints = store.joints.peek();
  const ends = (id: string): string[] => {
    const j = joints.find((k) => k.id === id);
    return !j ? [id] : j.type === 'gear' ? j.joints.flatMap(ends) : [body(j.a), body(j.b)];
  };
  const joined = [
    ...joints.filter((j) => j.enabled !== false).map((j) => ends(j.id)),
    ...store.constraints.peek().map((c) => (c.enabled === false ? [] : [body(c.a), body(c.b)])),
    ...store.mechanisms.peek().map((m) => m.links.map((_, i) => linkId(m.id, i))),
  ];
  const moves = (id: string): boolean => poses.slot(id) >= 0 && !store.objectOf(id)?.fixed;
  const found = new Set([object]);
  for (let count = 0; count < found.size; ) {
    count = found.size;
    for (const bodies of joined)
      if (bodies.some((id) => found.has(id))) bodies.filter(moves).map((id) => found.add(id));
  }
  return [...found];
}

// The present poses, where they can differ from the scene's.
const present = (object: string): Map<string, Pose> =>
  new Map(
    store.runState.peek() === 'stopped' ? [] : companions(object).map((id): [string, Pose] => [id, exactPose(id)]),
  );

const standing = (object: string): string[] => [...store.objects.value.filter((o) => o.fixed).map((o) => o.id), object];

const list = (placed: Placed): { id: string; pose: Pose }[] => [...placed].map(([id, pose]) => ({ id, pose }));

// `stands`: a body that is part of the ground and keeps its pose.
const question = (from: Placed, stands: string): object => ({
  starts: 1,
  iterations: ITERATIONS,
  poses: list(from),
  ...(stands ? { ground: standing(stands) } : {}),
});

const ask = (from: Placed, stands = ''): Promise<Assembly> =>
  call<Assembly>('POST', '/assemble', question(from, stands));

const commit = (from: Placed, stands = '', query = ''): Promise<{ value: Assembly; revision: number }> =>
  callWithRevision<Assembly>(`/assemble${query}`, 'POST', { ...question(from, stands), commit: true });

const ITERATIONS = 60;

const GROUP_MS = 1000;
const page = Math.random().toString(36).slice(2);
let group = { of: '', at: 0, number: 0 };

// Moves an object to a pose, or as near as its relations allow. Consecutive moves are one step for undo. `path` and
// `to`: the edit for an object that is not joined.
export function moveTo(object: string, pose: Pose, path = objectPath(object), to: object = { pose }): Promise<boolean> {
  const now = performance.now();
  const anew = group.of !== object || now > group.at + GROUP_MS;
  group = { of: object, at: now, number: group.number + Number(anew) };
  const query = `?group=move-${group.number}-${page}`;
  return change(path, to, () => bring(object, pose, query));
}

async function bring(object: string, pose: Pose, query: string): Promise<number> {
  const from: Placed = present(object).set(object, pose);
  const exactly = await commit(from, object, query);
  if (exactly.value.committed) return exactly.revision;
  const near = await commit(from, '', query);
  if (!near.value.committed)
    throw new Error(`${object} cannot go there: ${listed(near.value.remaining)} would not hold.`);
  return near.revision;
}

// ---- under the pointer --------------------------------------------------------------------------------------

const NEAR_M = 1e-5; // the grabbed point counts as at the cursor
const TURN_MAX = 0.4; // rad, largest rotation of a body between two answers: beyond, it may be another assembly mode
const PROBE = 0.05; // rad, and in units of the size: displacement that probes how the system can move
const STRETCH_MAX = 1e4;
const SHORTER = 4; // divides the stretch where it did not come nearer
const TRIES = 3;
const PATIENCE_MS = 600; // after the release

export class JoinedDrag {
  private readonly members: ReadonlySet<string>; // the bodies of the system; others keep their poses
  private placed: Placed; // poses as drawn
  private moved = false;
  private goal: { at: Vec3; turn: boolean } | null = null;
  private working: Promise<void> | null = null;
  private until = Infinity;
  private size = 0; // the length of the assembly's metric (m)

  constructor(
    private readonly object: string,
    private readonly local: Vec3, // the grabbed point in the object's frame
  ) {
    this.members = new Set(companions(object));
    this.placed = present(object);
  }

  // Sets the goal. One request is under way at a time; the newest goal is used next.
  to(at: Vec3, turn: boolean): void {
    this.goal = { at, turn };
    this.working ??= this.follow().finally(() => {
      this.working = null;
    });
  }

  // Commits the drawn poses as one edit. Where another edit waits for this one, at most one more answer is awaited.
  async end(): Promise<void> {
    this.until = performance.now() + PATIENCE_MS;
    const made = await inTurn(async () => {
      await this.working;
      return this.moved && attempt(() => this.commit());
    });
    if (!made) poses.unshow(this.placed.keys());
    posesChanged();
  }

  private async commit(): Promise<void> {
    const edit = { ...question(this.placed, ''), commit: true };
    const { committed, remaining } = await direct<Assembly>('POST', '/assemble', edit);
    if (!committed) throw new Error(`${listed(remaining)} would not hold.`);
  }

  private async follow(): Promise<void> {
    let goal = this.goal;
    while (goal && performance.now() < this.until && !(this.until < Infinity && isAwaited())) {
      const nearer = await this.approach(goal.at, goal.turn).catch(() => false);
      if (!nearer && goal === this.goal) return; // no nearer pose exists
      goal = this.goal;
    }
  }

  private pose(id: string): Pose {
    return this.placed.get(id) ?? exactPose(id);
  }

  private grabbed(placed: Placed = this.placed): Vec3 {
    return toWorld(placed.get(this.object) ?? this.pose(this.object), this.local);
  }

  private show(next: Placed): void {
    this.placed = next;
    this.moved = true;
    for (const [id, pose] of next) poses.show(id, pose);
    posesChanged();
  }

  // Begins at the assembled poses: stated positions of joints may differ from the scene's poses.
  private async begin(): Promise<void> {
    const { size, ended, poses: list } = await ask(this.placed);
    this.size = size;
    if (ended === 'held') this.placed = this.ofMembers(list);
  }

  // True where the grabbed point came nearer.
  private async approach(at: Vec3, turn: boolean): Promise<boolean> {
    if (!this.size) await this.begin();
    const error = sub(at, this.grabbed());
    if (norm(error) < NEAR_M) return false;
    const left = (placed: Placed): number => norm(sub(at, this.grabbed(placed)));
    const freedoms = store.solutions.peek().get(this.object)?.system?.freedoms ?? 0;
    const there = freedoms === 6 && (await this.assembled(this.displaced(error, turn), this.object));
    const next = there || (await this.along(error, turn));
    if (!next || left(next) > norm(error) - NEAR_M) return false;
    this.show(next);
    return true;
  }

  // The nearest poses along one direction of motion of the system. The grabbed body is displaced a little along the
  // gradient of the distance and the system is assembled again. The assembly moves least in its metric |dp|^2 / size^2
  // + |dtheta|^2, so the result is a direction in which the point comes nearer.
  private async along(error: Vec3, turn: boolean): Promise<Placed | null> {
    const probe = await this.assembled(this.downhill(error, turn));
    if (!probe) return null;
    const moved = sub(this.grabbed(probe), this.grabbed());
    const square = dot(moved, moved);
    let stretch = square > 0 ? Math.min(STRETCH_MAX, dot(error, moved) / square) : 0;
    for (let i = 0; i < TRIES && stretch > 1.2; i++, stretch /= SHORTER) {
      const far = await this.assembled(this.stretched(probe, stretch));
      if (far && norm(sub(error, sub(this.grabbed(far), this.grabbed()))) < norm(sub(error, moved))) return far;
    }
    return probe;
  }

  // The object displaced with the cursor, or turned about its frame's origin: for one that can take any pose.
  private displaced(error: Vec3, turn: boolean): Placed {
    const here = this.pose(this.object);
    const arm = sub(this.grabbed(), here.p);
    const about = scale(cross(arm, error), turn ? 1 / Math.max(dot(arm, arm), 1e-12) : 0);
    return this.with({ p: turn ? here.p : add(here.p, error), q: qmul(turned(about), here.q) });
  }

  // Displaced along the gradient of -|error|^2 / 2: dp = error, dtheta = arm x error / size^2.
  private downhill(error: Vec3, turn: boolean): Placed {
    const here = this.pose(this.object);
    const about = scale(cross(sub(this.grabbed(), here.p), error), 1 / this.size ** 2);
    const by: Vec3 = turn ? [0, 0, 0] : error;
    const s = Math.min(1, PROBE / Math.max(norm(by) / this.size, norm(about), 1e-12));
    return this.with({ p: add(here.p, scale(by, s)), q: qmul(turned(scale(about, s)), here.q) });
  }

  private with(pose: Pose): Placed {
    return new Map([...this.placed, [this.object, pose]]);
  }

  // The poses extrapolated from the present ones through those in `to`.
  private stretched(to: Placed, stretch: number): Placed {
    const steps = [...to].map(([id, there]) => {
      const here = this.pose(id);
      return { id, here, by: sub(there.p, here.p), turn: rotationVector(qmul(there.q, qconj(here.q))) };
    });
    const most = Math.max(...steps.map((s) => norm(s.turn)), 1e-12);
    const s = Math.min(stretch, Math.max(1, TURN_MAX / most));
    return new Map(
      steps.map(({ id, here, by, turn }) => [
        id,
        { p: add(here.p, scale(by, s)), q: qmul(turned(scale(turn, s)), here.q) },
      ]),
    );
  }

  private ofMembers(list: Assembly['poses']): Map<string, Pose> {
    return new Map(list.filter(({ id }) => this.members.has(id)).map(({ id, pose }): [string, Pose] => [id, pose]));
  }

  // The assembled poses; null where assembly fails or leads to another assembly mode.
  private async assembled(from: Placed, stands = ''): Promise<Placed | null> {
    const answer = await ask(from, stands);
    if (answer.ended !== 'held') return null;
    const next = this.ofMembers(answer.poses);
    if (stands) next.set(stands, from.get(stands)!);
    for (const [id, { q }] of next)
      if (norm(rotationVector(qmul(q, qconj(this.pose(id).q)))) > 2 * TURN_MAX) return null;
    return next;
  }
}

function turned(v: Vec3): Quat {
  const angle = Math.min(norm(v), TURN_MAX);
  return angle > 0 ? axisAngle(scale(v, 1 / norm(v)), angle) : IDENTITY.q;
}

function rotationVector(q: Quat): Vec3 {
  const s = q[0] < 0 ? -1 : 1;
  const v: Vec3 = [s * q[1], s * q[2], s * q[3]];
  const size = norm(v);
  return size > 0 ? scale(v, (2 * Math.atan2(size, s * q[0])) / size) : v;
}
