// Edits of objects and of the features that the scene states.
import type { Element, Feature, Geometry, Pose, Primitive, SceneObject, Vec3 } from '../protocol';
import { call, featurePath } from '../state/rest';
import * as store from '../state/store';
import { currentView, placeForNew } from '../state/viewer';
import { deleteWithUsers } from './deletion';
import { goOnAt } from './focus';
import { isMovable, moveTo, objectPath } from './movetogether';
import { attempt, latest, patch } from './request';

export function unusedId(stem: string): string {
  const taken = new Set(
    [...store.mechanisms.value, ...store.objects.value, ...store.materials.value, ...store.devices.value].map(
      (x) => x.id,
    ),
  );
  let n = 2;
  if (!taken.has(stem)) return stem;
  while (taken.has(`${stem}-${n}`)) n++;
  return `${stem}-${n}`;
}

// A primitive as high as it is wide; all but the cone have their frame in the middle.
function primitive(type: Primitive, size: number): Geometry {
  if (type === 'box') return { type, size: [size, size, size] };
  if (type === 'sphere') return { type, radius: size / 2 };
  if (type === 'capsule') return { type, radius: size / 4, height: size / 2 };
  return { type, radius: size / 2, height: size };
}

// Adds an object beside the others, free to move.
export async function addPrimitive(type: Primitive): Promise<void> {
  const id = unusedId(type);
  const { size, at } = placeForNew();
  const p: Vec3 = type === 'cone' ? [at[0], at[1], at[2] - size / 2] : at;
  const object: SceneObject = { id, geometry: primitive(type, size), pose: { p, q: [1, 0, 0, 0] } };
  if (!(await attempt(() => call('POST', '/objects', object)))) return;
  store.selectObject(id);
  store.announce(`${id} was added.`);
  currentView()?.reveal(id);
}

export const patchObject = (id: string, to: Record<string, unknown>): Promise<boolean> => patch(objectPath(id), to);

// The object after the edits so far; undefined where it is gone.
export const latestObject = (id: string): SceneObject | undefined => latest(objectPath(id), store.objectOf(id));

export async function renameObject(id: string, to: string): Promise<boolean> {
  goOnAt('input.name');
  const done = await patchObject(id, { id: to });
  if (done) store.selectObject(to);
  return done;
}

export const deleteObject = (id: string): Promise<boolean> =>
  deleteWithUsers(objectPath(id), id, { body: (name) => name === id });

export const deleteFeature = (ref: string): Promise<boolean> =>
  deleteWithUsers(`/features/${featurePath(ref)}`, ref, { feature: ref });

// Adds a feature on the object's +z side, to be moved from there.
export function addFeature(object: string, kind: 'point' | 'line' | 'plane'): Promise<boolean> {
  const taken = new Set((store.scene.value.features ?? []).map((f) => f.id));
  let n = 1;
  while (taken.has(`${object}/${kind}${n}`)) n++;
  const point: Vec3 = [0, 0, heightOf(object)];
  const up: Vec3 = [0, 0, 1];
  const element =
    kind === 'point'
      ? { point }
      : kind === 'line'
        ? { line: { point, direction: up } }
        : { plane: { point, normal: up } };
  return attempt(() => call('POST', '/features', { id: `${object}/${kind}${n}`, ...element }));
}

function heightOf(object: string): number {
  const g = store.objectOf(object)?.geometry;
  if (g?.type === 'box') return g.size[2] / 2;
  if (g?.type === 'sphere') return g.radius;
  return g?.type === 'capsule'
    ? g.height / 2 + g.radius
    : g?.type === 'cylinder'
      ? g.height / 2
      : g?.type === 'cone'
        ? g.height
        : 0;
}

export const latestFeature = (f: Feature): Feature => latest(`/features/${featurePath(f.id)}`, f);

export const putFeature = (ref: string, element: Element): Promise<boolean> =>
  patch(`/features/${featurePath(ref)}`, element);

// Renames by a copy; refused where others refer to the feature.
export const renameFeature = (f: Feature, to: string): Promise<boolean> =>
  attempt(async () => {
    const id = `${store.splitRef(f.id)[0]}/${to}`;
    const { point, line, plane } = f;
    await call('POST', '/features', { id, ...(plane ? { plane } : line ? { line } : { point }) });
    try {
      await call('DELETE', `/features/${featurePath(f.id)}`);
    } catch (e) {
      await call('DELETE', `/features/${featurePath(id)}`);
      throw e;
    }
  });

// Sets the pose, starting from the shown one or from that of edits under way.
export function setPose(id: string, shown: Pose, to: (from: Pose) => Pose): Promise<boolean> {
  const pose = to(latest(objectPath(id), { pose: shown }).pose);
  return isMovable(id) ? moveTo(id, pose) : patchObject(id, { pose });
}
