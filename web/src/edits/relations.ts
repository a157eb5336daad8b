// Edits of joints and springs.
import { effect, signal } from '@preact/signals';
import type { Motor, Pose, SceneJoint, SceneSpring, Solution, Vec3 } from '../protocol';
import { elementOf } from '../state/constraints';
import { isFreeForm, poseAfter } from '../state/freedoms';
import { axisAngle, cross, dot, norm, scale, unit } from '../state/maths';
import type { JointName } from '../state/relations';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { fixed } from '../state/words';
import { deleteWithUsers } from './deletion';
import { attempt, latest, patch } from './request';

type Joint = Exclude<SceneJoint, { type: 'gear' }>;

// The ends of a joint of the two picked features: the one that may move comes first.
function ends(): [string, string] | undefined {
  const [first, second] = store.picked.peek();
  if (!first || !second) return undefined;
  return store.objectOf(store.splitRef(first)[0])?.fixed ? [second, first] : [first, second];
}

const lettingGo = async (made: Promise<boolean>): Promise<boolean> => {
  const done = await made;
  if (done) store.picked.value = [];
  return done;
};

// m/rad, of a new screw: a millimetre per turn, to be changed
const PITCH = 0.001 / (2 * Math.PI);

const jointBetween = (type: JointName, [a, b]: [string, string]): object => ({
  type,
  a: turnsRound(a, b) ? reversed(a) : a,
  b,
  ...(type === 'screw' ? { pitch: PITCH } : {}),
});

const isFace = (ref: string): boolean => {
  const f = store.featureOf(ref);
  return !!f?.plane && !!f.derived && !/(^|\.)mid/.test(store.splitRef(ref)[1]);
};

// True where the first feature's direction is to be reversed. The directions of a joint's features end up parallel:
// faces are made to meet; otherwise the nearer sense is taken, so that no body is turned over.
function turnsRound(a: string, b: string): boolean {
  if (isFace(a) && isFace(b)) return true;
  const [p, q] = [elementOf(a), elementOf(b)];
  return !!p && !!q && dot(p.d, q.d) < 0;
}

// The feature's frame with z reversed.
function reversed(ref: string): object {
  const f = store.featureOf(ref);
  const d = unit(f?.line?.direction ?? f?.plane?.normal ?? [0, 0, 1]);
  const axis = cross([0, 0, 1], scale(d, -1));
  const q = norm(axis) > 1e-9 ? axisAngle(unit(axis), Math.acos(-d[2])) : axisAngle([1, 0, 0], d[2] > 0 ? Math.PI : 0);
  return { object: store.splitRef(ref)[0], at: { p: pointOf(ref), q } };
}

const moves = (id: string): boolean =>
  !!store.objectOf(id)?.free ||
  store.toolIndex(id) >= 0 ||
  !!store.linkRef(id) ||
  !!store.solutions.value.get(id)?.system;

// The object that must be made free, '' where none: where neither object can move, the first is freed in the same edit,
// and moves by its mass.
function freed([a, b]: [string, string]): string {
  const [first, second] = [store.splitRef(a)[0], store.splitRef(b)[0]];
  return store.objectOf(first)?.fixed || moves(first) || moves(second) ? '' : first;
}

function joining(type: JointName, refs: [string, string]): object[] {
  const loose = freed(refs);
  return [
    ...(loose ? [{ method: 'PATCH', path: `/objects/${enc(loose)}`, body: { free: true } }] : []),
    { method: 'POST', path: '/joints', body: jointBetween(type, refs) },
  ];
}

// Makes a joint between the two picked features.
export async function makeJoint(type: JointName): Promise<boolean> {
  const refs = ends();
  dropTrial();
  if (!refs) return false;
  const loose = freed(refs);
  const done = await lettingGo(attempt(() => call('POST', '/scene/edits', joining(type, refs))));
  if (done && loose) store.inform(`${loose} moves freely now, by its mass.`);
  return done;
}

// ---- tried before it is made ----------------------------------------------------------------------------

export interface JointTrial {
  type: JointName;
  words: string; // the freedoms that it would leave
  refusal: string;
  placed: { id: string; pose: Pose }[]; // the poses that it would lead to
}

export const trial = signal<JointTrial | null>(null);
let asked = 0;

export function dropTrial(): void {
  asked++;
  trial.value = null;
}

effect(() => {
  store.picked.value; // other features were picked
  dropTrial();
});

export async function tryJoint(type: JointName): Promise<void> {
  const refs = ends();
  if (!refs || trial.peek()?.type === type) return;
  const mine = ++asked;
  const made = await call<Solution[]>('POST', '/scene/edits?dryRun=true', joining(type, refs)).catch((e: Error) => e);
  if (mine !== asked) return;
  const nothing = { type, words: '', refusal: '', placed: [] };
  if (made instanceof Error) trial.value = { ...nothing, refusal: made.message };
  else {
    const list = Array.isArray(made) ? made : [made];
    const words = list.find((s) => s.object === store.splitRef(refs[0])[0])?.words ?? list[0]?.words ?? '';
    trial.value = { ...nothing, words, placed: list.flatMap(placeOf) };
  }
  const now = trial.value;
  store.announce(now.refusal ? `Cannot hold: ${now.refusal}` : `Would leave ${now.words}`);
}

// The branch's pose at its parameters.
function placeOf(s: Solution): { id: string; pose: Pose }[] {
  const branch = s.branches.find((b) => b.id === s.branch);
  const { pose, parameters } = branch?.nearest ?? {};
  if (branch?.kind !== 'separable' || isFreeForm(branch)) return [];
  if (!pose || !parameters || s.parameters?.length !== parameters.length) return [];
  const change = s.parameters.map((v, i) => v - parameters[i]!);
  if (Math.max(...change.map(Math.abs), 0) < 1e-9) return [];
  return [{ id: s.object, pose: poseAfter(branch, pose, change) }];
}

// ---- gears ------------------------------------------------------------------------------------------------

export const makeGear = (first: string, second: string, ratio: number): Promise<boolean> =>
  attempt(() => call('POST', '/joints', { type: 'gear', joints: [first, second], ratio }));

// ---- springs and changes ----------------------------------------------------------------------------------

const STIFFNESS = 100; // N/m: a soft spring, to be changed

// Makes a spring between a point of each of the two picked features.
export async function makeSpring(): Promise<boolean> {
  const points = ends()?.map((ref) => ({ object: store.splitRef(ref)[0], p: pointOf(ref) }));
  if (!points) return false;
  const [a, b] = points;
  return lettingGo(attempt(() => call('POST', '/springs', { a, b, stiffness: STIFFNESS })));
}

function pointOf(ref: string): Vec3 {
  const f = store.featureOf(ref);
  return f?.point ?? f?.line?.point ?? f?.plane?.point ?? [0, 0, 0];
}

export type JointPatch = Partial<
  Pick<Joint, 'velocity' | 'limits' | 'restitution' | 'damping' | 'friction' | 'spring' | 'enabled' | 'collide'>
> & {
  position?: number[] | null;
  motor?: readonly (Motor | null)[] | null;
  ratio?: number;
  pitch?: number;
};

// True where the limits of a coordinate, as they are shown, are in order; else it is told.
export function inOrder(of: string, low: number, high: number, unit: string): boolean {
  if (low <= high) return true;
  const shown = (x: number): string => `${fixed(x, 2)}${unit === '\u00b0' ? '' : ' '}${unit}`;
  store.refuse(`The lower limit of ${of} would be ${shown(low)}, above the upper one, ${shown(high)}.`);
  return false;
}

const jointPath = (id: string): string => `/joints/${enc(id)}`;

// The joint after the edits so far; undefined where it is gone.
export const latestJoint = (id: string): SceneJoint | undefined =>
  latest(
    jointPath(id),
    store.joints.peek().find((j) => j.id === id),
  );

export const patchJoint = (id: string, to: JointPatch): Promise<boolean> => patch(jointPath(id), to);

export const patchSpring = (id: string, to: Partial<SceneSpring>): Promise<boolean> => patch(`/springs/${enc(id)}`, to);

export const deleteRelation = (collection: 'joints' | 'springs', id: string): Promise<boolean> =>
  deleteWithUsers(`/${collection}/${enc(id)}`, id, collection === 'joints' ? { joint: id } : {});
