// Every edit that the page can make, each one REST call. The server's echo is the truth: nothing
// here changes the scene itself.
import { call, enc, featurePath } from '../state/rest';
import { refreshScenes, send } from '../state/stream';
import {
  Refusal, type Conflict, type Constraint, type Device, type Element, type Feature, type Geometry, type Pose, type Primitive, type RunState, type Scene, type SceneObject,
  type Simulation, type Solution, type Vec3,
} from '../protocol';
import { valuesThatHold } from './feasible';
import type { ElementKind } from '../state/maths';
import { mm } from '../state/words';
import { inform, refuse } from '../state/store';
import * as store from '../state/store';

// ---- refusals ------------------------------------------------------------------------------------

export { inform, refuse };

// Ways out of a refusal, given the constraints that clash.
type Fixes = (culprits: readonly string[], conflict: Conflict | undefined) => store.Notice['fixes'] | Promise<store.Notice['fixes']>;

// Runs an edit; a refusal is shown in words with the culprits lit. True when it went through.
export async function attempt(edit: () => Promise<unknown>, fixes: Fixes = () => []): Promise<boolean> {
  try {
    await edit();
    if (store.notice.value?.tone === 'error') store.notice.value = null;
    return true;
  } catch (e) {
    const conflict = e instanceof Refusal ? (e.problem.conflict ?? e.problem.solution?.conflict) : undefined;
    store.culprits.value = conflict?.constraints ?? [];
    refuse((e as Error).message, await fixes(store.culprits.value, conflict));
    return false;
  }
}

// Edits of one thing in quick succession: one request under way at a time, in order, the newest wins.
const underWay = new Map<string, Promise<boolean>>();
const newest = new Map<string, () => Promise<boolean>>();

export function latest(key: string, edit: () => Promise<boolean>): Promise<boolean> {
  newest.set(key, edit);
  const now = underWay.get(key) ?? drain(key);
  underWay.set(key, now);
  return now;
}

async function drain(key: string): Promise<boolean> {
  let good = false;
  await Promise.resolve(); // so that it is known to be under way
  for (let edit = newest.get(key); edit; edit = newest.get(key)) {
    newest.delete(key);
    good = await edit();
  }
  underWay.delete(key);
  return good;
}

// ---- simulation ----------------------------------------------------------------------------------

export const setRun = (state: RunState): Promise<boolean> =>
  attempt(async () => {
    store.simulation.value = await call<Simulation>('PUT', '/simulation', { state });
  });

export const toggleRun = (): Promise<boolean> =>
  setRun(store.runState.value === 'running' ? 'paused' : 'running');

export const step = (): Promise<boolean> =>
  attempt(async () => {
    if (store.runState.value !== 'paused') await call('PUT', '/simulation', { state: 'paused' });
    store.simulation.value = await call<Simulation>('POST', '/simulation/step', { ticks: 1 });
  });

export function halt(): void {
  send({ op: 'halt' });
  void attempt(async () => {
    store.simulation.value = await call<Simulation>('POST', '/simulation/halt');
  });
  store.announce('Halted. Nothing moves until it is armed.');
}

export const arm = (): Promise<boolean> =>
  attempt(async () => {
    store.simulation.value = await call<Simulation>('POST', '/simulation/arm');
    store.announce('Armed.');
  });

// ---- history and files -----------------------------------------------------------------------------

// Nothing to undo is no error, only nothing.
async function travel(way: 'undo' | 'redo'): Promise<boolean> {
  try {
    await call('POST', `/scene/${way}`);
    return true;
  } catch (e) {
    if (e instanceof Refusal && e.status === 409) store.announce(`There is nothing to ${way}.`);
    else refuse((e as Error).message);
    return false;
  }
}

export const undo = (): Promise<boolean> => travel('undo');
export const redo = (): Promise<boolean> => travel('redo');

export const openScene = (file: string): Promise<boolean> =>
  attempt(async () => {
    await call('POST', '/scene/open', { scene: file });
    store.clearSelection();
  });

export const saveScene = (name: string): Promise<boolean> =>
  attempt(async () => {
    await call('POST', '/scene/save', { name });
    await refreshScenes();
    inform(`Saved as \u201c${name}\u201d.`);
  });

export const deleteScene = (file: string): Promise<boolean> =>
  attempt(async () => {
    await call('DELETE', `/scenes/${enc(file)}`);
    await refreshScenes();
  });

export async function downloadScene(): Promise<void> {
  await attempt(async () => {
    const scene = await call<Scene>('GET', '/scene');
    const text = `${JSON.stringify(scene, null, 1)}\n`;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    link.download = `${(scene.name || 'scene').toLowerCase().replace(/[^a-z0-9]+/g, '-')}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  });
}

export async function openFile(file: File): Promise<boolean> {
  let scene: unknown;
  try {
    scene = JSON.parse(await file.text());
  } catch {
    refuse(`${file.name} is not a scene file: it holds no JSON.`);
    return false;
  }
  return attempt(async () => {
    await call('PUT', '/scene', scene);
    store.clearSelection();
  });
}

// ---- objects and features ----------------------------------------------------------------------------

function freshId(stem: string): string {
  const taken = new Set(store.objects.value.map((o) => o.id));
  if (!taken.has(stem)) return stem;
  let n = 2;
  while (taken.has(`${stem}-${n}`)) n++;
  return `${stem}-${n}`;
}

function primitive(type: Primitive, size: number): Geometry {
  const r = (x: number): number => Number(x.toPrecision(1));
  if (type === 'box') return { type, size: [r(size), r(size), r(size)] };
  if (type === 'sphere') return { type, radius: r(size / 2) };
  if (type === 'capsule') return { type, radius: r(size / 3), height: r(size / 2) };
  return { type, radius: r(size / 2), height: r(size) };
}

// A new object beside what is there, free to move.
export async function addObject(type: Primitive, size: number, at: Vec3): Promise<void> {
  const id = freshId(type);
  const object: SceneObject = { id, geometry: primitive(type, size), pose: { p: at, q: [1, 0, 0, 0] } };
  if (await attempt(() => call('POST', '/objects', object))) store.selectObject(id);
}

export const patchObject = (id: string, patch: Record<string, unknown>): Promise<boolean> =>
  latest(`object ${id} ${Object.keys(patch).join()}`, () => attempt(() => call('PATCH', `/objects/${enc(id)}`, patch)));

export async function renameObject(id: string, to: string): Promise<boolean> {
  const done = await patchObject(id, { id: to });
  if (done) store.selectObject(to);
  return done;
}

export const usersOf = (id: string): Constraint[] =>
  store.constraints.value.filter((c) => c.a.startsWith(`${id}/`) || c.b.startsWith(`${id}/`));

async function deleteWithUsers(id: string): Promise<void> {
  await attempt(async () => {
    for (const c of usersOf(id)) await call('DELETE', `/constraints/${enc(c.id)}`);
    if (store.toolIndex(id) >= 0) await call('DELETE', '/tool');
    for (const f of store.scene.value.features ?? [])
      if (f.id.startsWith(`${id}/`)) await call('DELETE', `/features/${featurePath(f.id)}`);
    await call('DELETE', `/objects/${enc(id)}`);
  });
}

export const deleteObject = (id: string): Promise<boolean> =>
  attempt(() => call('DELETE', `/objects/${enc(id)}`), () => [
    { label: `Delete ${id} with what refers to it`, run: () => void deleteWithUsers(id) },
  ]);

export const deleteFeature = (ref: string): Promise<boolean> =>
  attempt(() => call('DELETE', `/features/${featurePath(ref)}`));

// A new one stands on the object's +z side, and is moved from there.
export function addFeature(object: string, kind: ElementKind): Promise<boolean> {
  const taken = new Set((store.scene.value.features ?? []).map((f) => f.id));
  let n = 1;
  while (taken.has(`${object}/${kind}${n}`)) n++;
  const point: Vec3 = [0, 0, heightOf(object)];
  const up: Vec3 = [0, 0, 1];
  const element = kind === 'point' ? { point } : kind === 'line' ? { line: { point, direction: up } } : { plane: { point, normal: up } };
  return attempt(() => call('POST', '/features', { id: `${object}/${kind}${n}`, ...element }));
}

function heightOf(object: string): number {
  const g = store.objectOf(object)?.geometry;
  if (g?.type === 'box') return g.size[2] / 2;
  if (g?.type === 'sphere') return g.radius;
  return g?.type === 'capsule' ? g.height / 2 + g.radius : g?.type === 'cylinder' ? g.height / 2 : g?.type === 'cone' ? g.height : 0;
}

export const putFeature = (ref: string, element: Element): Promise<boolean> =>
  latest(`feature ${ref}`, () => attempt(() => call('PATCH', `/features/${featurePath(ref)}`, element)));

// By a copy under the new name; refused where something refers to the old one.
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

// ---- constraints and solutions -------------------------------------------------------------------------

export const patchConstraint = (id: string, patch: Partial<Constraint>): Promise<boolean> =>
  attempt(() => call('PATCH', `/constraints/${enc(id)}`, patch), async (culprits, conflict) => [
    ...(await valueFixes(id, patch, conflict)), ...otherFixes(id, patch, culprits),
  ]);

// Another distance for the constraint itself.
async function valueFixes(id: string, patch: Partial<Constraint>, conflict: Conflict | undefined): Promise<store.Notice['fixes']> {
  const c = store.constraints.value.find((k) => k.id === id);
  if (!c || c.type !== 'distance' || patch.enabled === false) return [];
  const holds = (value: number): Promise<boolean> =>
    call<Solution>('PATCH', `/constraints/${enc(id)}?dryRun=true`, { ...patch, value }).then((s) => s.status === 'solved', () => false);
  const values = await valuesThatHold({ ...c, ...patch }, conflict, holds);
  return values.map((value) => ({ label: `Make it ${mm(value)}`, run: () => void patchConstraint(id, { ...patch, value }) }));
}

export const deleteConstraint = (id: string): Promise<boolean> =>
  attempt(() => call('DELETE', `/constraints/${enc(id)}`));

// Disables or deletes another constraint of the clash, and does the edit again.
function otherFixes(id: string, patch: Partial<Constraint>, culprits: readonly string[]): store.Notice['fixes'] {
  const again = (done: boolean): void => {
    if (done) void patchConstraint(id, patch);
  };
  return culprits.filter((other) => other !== id).flatMap((other) => [
    { label: `Disable ${other}`, run: () => void patchConstraint(other, { enabled: false }).then(again) },
    { label: `Delete ${other}`, run: () => void deleteConstraint(other).then(again) },
  ]);
}

export const chooseBranch = (object: string, branch: string): Promise<boolean> =>
  attempt(() => call('PATCH', `/solutions/${enc(object)}`, { branch }));

// Moves along freedoms.
const move = (object: string, body: { parameters: number[] } | { near: Pose }): Promise<boolean> =>
  latest(`move ${object}`, () => attempt(() => call('PATCH', `/solutions/${enc(object)}`, body)));

export const moveAlong = (object: string, parameters: number[]): Promise<boolean> => move(object, { parameters });

// To the pose of its branch nearest to this one: for freedoms that do not separate.
export const moveNear = (object: string, near: Pose): Promise<boolean> => move(object, { near });

// ---- the scene as a whole ------------------------------------------------------------------------------

export const patchScene = (patch: Partial<Scene>): Promise<boolean> =>
  latest(`scene ${Object.keys(patch)}`, () => attempt(() => call('PATCH', '/scene', patch)));

// ---- tool and devices ---------------------------------------------------------------------------------

export async function hold(object: string, device?: string): Promise<void> {
  await attempt(async () => {
    let id = device ?? store.devices.value[0]?.id;
    if (!id) {
      id = 'sim';
      await call('POST', '/devices', { id, driver: 'sim' });
    }
    await call('PUT', '/tool', { object, device: id, ...(store.impedanceDevice(id) ? { control: 'penalty' } : {}) });
  });
}

export const letGo = (): Promise<boolean> => attempt(() => call('DELETE', '/tool'));

export const patchTool = (patch: Record<string, unknown>): Promise<boolean> =>
  attempt(() => call('PATCH', '/tool', patch));

export const patchDevice = (id: string, patch: Partial<Record<keyof Device, unknown>>): Promise<boolean> =>
  attempt(() => call('PATCH', `/devices/${enc(id)}`, patch));

export const setOperator = (id: string, operator: unknown): Promise<boolean> =>
  operator === null
    ? attempt(() => call('DELETE', `/devices/${enc(id)}/operator`))
    : attempt(() => call('PUT', `/devices/${enc(id)}/operator`, operator));

export const clutch = (tool: number, on: boolean): boolean => send({ op: 'clutch', tool, on });

// A held object or link is pulled at its tool, a free one by its name.
export type Grasp = { tool: number } | { object: string };

export const drag = (what: Grasp, point: Vec3, target: Vec3, turn: boolean): boolean =>
  send({ op: 'drag', ...what, point, target, turn });

export const release = (what: Grasp): boolean => send({ op: 'release', ...what });

export const push = (what: Grasp, force: Vec3): boolean =>
  send({ op: 'push', ...what, force, torque: [0, 0, 0] });

export const setPose = (id: string, pose: Pose): Promise<boolean> => patchObject(id, { pose });
