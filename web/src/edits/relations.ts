// Edits of joints and springs.
import type { SceneJoint, SceneSpring, Vec3 } from '../protocol';
import type { JointName } from '../state/relations';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { attempt, coalesce } from './request';

type Joint = Exclude<SceneJoint, { type: 'gear' }>;

// The one that may move is placed against the other.
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

// Between the two picked features.
export async function makeJoint(type: JointName): Promise<boolean> {
  const refs = ends();
  if (!refs) return false;
  return lettingGo(attempt(() => call('POST', '/joints', { type, a: refs[0], b: refs[1] })));
}

const STIFFNESS = 100; // N/m: a soft spring, to be changed

// Between a point of each of the two picked features.
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

export type JointPatch = Partial<Pick<Joint, 'limits' | 'damping' | 'enabled' | 'motor'>>;

export const patchJoint = (id: string, patch: JointPatch): Promise<boolean> =>
  coalesce(`joint ${id} ${Object.keys(patch).join()}`, () => attempt(() => call('PATCH', `/joints/${enc(id)}`, patch)));

export const patchSpring = (id: string, patch: Partial<SceneSpring>): Promise<boolean> =>
  coalesce(`spring ${id} ${Object.keys(patch).join()}`, () =>
    attempt(() => call('PATCH', `/springs/${enc(id)}`, patch)),
  );

export const deleteRelation = (collection: 'joints' | 'springs', id: string): Promise<boolean> =>
  attempt(() => call('DELETE', `/${collection}/${enc(id)}`));
