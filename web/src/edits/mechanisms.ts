// Edits of mechanisms, materials and contacts, and of how an impedance device renders: each one REST
// call, as all edits (actions.ts).
import { attempt, latest, letGo, refuse } from './objects';
import { builtLink, linkId, linkName, linkPoses, type Stated } from '../state/mechanisms';
import { IDENTITY } from '../state/maths';
import { posesChanged } from '../state/stream';
import { poses } from '../state/poses';
import { call, enc } from '../state/rest';
import type { ContactSettings, Control, Joint, Material, Mechanism, Motor, Pose, Rendering, Tool, Vec3 } from '../protocol';
import * as store from '../state/store';

const at = (id: string): string => `/mechanisms/${enc(id)}`;

// ---- mechanisms --------------------------------------------------------------------------------------

export function freshName(stem: string): string {
  const taken = new Set([...store.mechanisms.value, ...store.objects.value, ...store.materials.value, ...store.devices.value].map((x) => x.id));
  let n = 2;
  if (!taken.has(stem)) return stem;
  while (taken.has(`${stem}-${n}`)) n++;
  return `${stem}-${n}`;
}

export async function addMechanism(id: string, links: readonly Stated[], base: Vec3): Promise<boolean> {
  const made = await attempt(() => call('POST', '/mechanisms', { id, base: { p: base }, links: links.map(builtLink) }));
  if (made) store.selectObject(id);
  return made;
}

// The robot that a URDF file describes, its mesh names kept.
export async function importUrdf(id: string, urdf: string): Promise<boolean> {
  const made = await attempt(() => call('POST', '/mechanisms', { id, urdf }));
  if (made) {
    store.selectObject(id);
    store.announce(`${id} is here.`);
  }
  return made;
}

export const patchMechanism = (id: string, patch: Record<string, unknown>): Promise<boolean> =>
  latest(`mechanism ${id}`, () => attempt(() => call('PATCH', at(id), patch)));

export async function renameMechanism(id: string, to: string): Promise<void> {
  if (await attempt(() => call('PATCH', at(id), { id: to }))) store.selectObject(to);
}

// One link by its number; members that are null go.
export const patchLink = (m: Mechanism, i: number, patch: Record<string, unknown>): Promise<boolean> =>
  latest(`link ${m.id} ${i} ${JSON.stringify(patch, (_, v: unknown) => (typeof v === 'number' ? 0 : v))}`, () =>
    attempt(() => call('PATCH', `${at(m.id)}/links/${i}`, patch)));

export const patchJoint = (m: Mechanism, i: number, joint: { [K in keyof Joint]?: Joint[K] | null }): Promise<boolean> => patchLink(m, i, { joint });

// All at once: an array is replaced as a whole.
export const setPositions = (m: Mechanism, q: readonly number[]): Promise<boolean> =>
  patchMechanism(m.id, { links: m.links.map((l, i) => ({ ...l, joint: { ...l.joint, position: q[i]! } })) });

// Bends it on the screen alone, while a hand is still at it.
export function showBent(m: Mechanism, q: readonly number[]): void {
  linkPoses(m, q).forEach((pose, i) => poses.show(linkId(m.id, i), pose));
  posesChanged();
}

// Effective at once, running or not. A motor goes over as a whole: numbers that were just typed count
// before their echo is here.
const typed = new Map<string, { motor: Motor; timer: number }>();
const ECHO_MS = 800;

export function setMotor(m: Mechanism, i: number, patch: Motor | null): Promise<boolean> {
  const key = `motor ${m.id} ${i}`;
  const before = typed.get(key);
  clearTimeout(before?.timer);
  const motor = patch && { ...(before?.motor ?? store.mechanismOf(m.id)?.links[i]?.joint.motor), ...patch };
  if (motor) typed.set(key, { motor, timer: window.setTimeout(() => typed.delete(key), ECHO_MS) });
  else typed.delete(key);
  const path = `${at(m.id)}/joints/${i}/motor`;
  return latest(key, () => attempt(() => (motor ? call('PUT', path, motor) : call('DELETE', path))));
}

export const addLink = (m: Mechanism, stated: Stated): Promise<boolean> =>
  attempt(() => call('POST', `${at(m.id)}/links`, builtLink(stated)));

export const dropLastLink = (m: Mechanism): Promise<boolean> =>
  m.links.length < 2 ? deleteMechanism(m.id) : attempt(() => call('DELETE', `${at(m.id)}/links/${m.links.length - 1}`));

async function letGoOf(id: string): Promise<void> {
  if (store.tools.value.some((t) => t.mechanism === id)) await call('DELETE', '/tool');
}

export async function deleteMechanism(id: string): Promise<boolean> {
  return attempt(async () => {
    await letGoOf(id);
    await call('DELETE', at(id));
  });
}

// A mechanism, or a link: the last one goes by itself, others carry what comes after them.
export function deleteSelectedMechanism(selected: string): void {
  const m = store.mechanismOf(selected);
  const found = store.linkRef(selected);
  if (m) void deleteMechanism(m.id);
  else if (found && found.index === found.mechanism.links.length - 1 && found.index > 0) void dropLastLink(found.mechanism);
  else if (found) {
    const { id } = found.mechanism;
    refuse(`${linkName(found.mechanism, found.index)} carries the rest of ${id}: only the last link goes by itself.`,
      [{ label: `Delete ${id}`, run: () => void deleteMechanism(id) }]);
  }
}

// ---- holding a link -------------------------------------------------------------------------------------

export { letGo };

// An impedance device takes it: one that is there, else a simulated one is made.
async function impedanceDevice(): Promise<string> {
  const known = store.devices.value.find((d) => store.impedanceDevice(d.id));
  if (known) return known.id;
  const id = freshName('sim-impedance');
  await call('POST', '/devices', { id, driver: 'sim-impedance' });
  return id;
}

// The tool frame stands at a point of the link, its axes the link's.
export function holdLink(mechanism: string, link: number, point: Vec3): Promise<boolean> {
  return attempt(async () => {
    const device = await impedanceDevice();
    const now = store.tools.value.find((t) => t.device === device);
    const kept = now ? { rendering: now.rendering, substeps: now.substeps } : {};
    const control = now && now.control !== 'admittance' ? now.control : 'penalty';
    await call('PUT', '/tool', { mechanism, link, at: { p: point, q: IDENTITY.q }, device, control, ...kept });
    store.announce(`The device holds ${linkName(store.mechanismOf(mechanism)!, link)} of ${mechanism}.`);
  });
}

// ---- devices ----------------------------------------------------------------------------------------

// Another driver: its own settings, and a control that fits where the device holds something.
export function chooseDriver(id: string, driver: string): Promise<boolean> {
  const devices = store.devices.value.map((d) => {
    if (d.id !== id) return d;
    const { info: _, settings: __, profile: ___, ...kept } = d as typeof d & { profile?: string };
    return { ...kept, driver };
  });
  const impedance = store.classOf(driver) === 'impedance';
  const fitting = (t: Tool): Tool => {
    const fits = (t.control ?? 'admittance') === 'admittance' ? !impedance : impedance;
    return t.device !== id || fits ? t : { ...t, control: impedance ? 'penalty' : 'admittance' };
  };
  const { tools, tool } = store.scene.value;
  const held = tools ? { tools: tools.map(fitting) } : tool ? { tool: fitting(tool) } : {};
  return attempt(() => call('PATCH', '/scene', { devices, ...held }));
}

export const patchSetting = (id: string, name: string, value: number | string | null): Promise<boolean> =>
  latest(`setting ${id} ${name}`, () => attempt(() => call('PATCH', `/devices/${enc(id)}`, { settings: { [name]: value } })));

// ---- control --------------------------------------------------------------------------------------------

export const controlWords: Record<Control, [string, string]> = {
  admittance: ['admittance', 'the hand\u2019s force moves the model, the device follows it'],
  impedance: ['impedance alone', 'the device\u2019s acceleration follows the model\u2019s; what the joints resist is not held back'],
  penalty: ['impedance with penalties', 'the same, and springs along the directions that the joints resist'],
  coupling: ['virtual coupling', 'a spring and damper between device and model'],
  'four-channel': ['four-channel', 'forces fed forward and back, coordination of both'],
};

export const CONTROLS: Control[] = ['impedance', 'penalty', 'coupling', 'four-channel'];

export const setControl = (control: Control): Promise<boolean> =>
  attempt(async () => {
    await call('PATCH', '/tool', { control });
    store.announce(`Control: ${controlWords[control][0]}.`);
  });

export const patchRendering = (rendering: Rendering): Promise<boolean> =>
  latest(`rendering ${JSON.stringify(Object.keys(rendering))}`, () => attempt(() => call('PATCH', '/tool', { rendering })));

export const patchStart = (start: Partial<Pose>): Promise<boolean> => attempt(() => call('PATCH', '/tool', { start }));

// The tool at an impedance device, where there is one.
export const renderedTool = (): Tool | undefined => store.tools.value.find((t) => t.control !== undefined && t.control !== 'admittance');

// ---- materials and contacts ---------------------------------------------------------------------------

export const addMaterial = (): Promise<boolean> =>
  attempt(() => call('POST', '/materials', { id: freshName('material') }));

export const patchMaterial = (id: string, patch: Partial<Material>): Promise<boolean> =>
  latest(`material ${id} ${Object.keys(patch).join()}`, () => attempt(() => call('PATCH', `/materials/${enc(id)}`, patch)));

export const deleteMaterial = (id: string): Promise<boolean> => attempt(() => call('DELETE', `/materials/${enc(id)}`));

export const patchContact = (patch: ContactSettings): Promise<boolean> =>
  latest(`contact ${Object.keys(patch).join()}`, () => attempt(() => call('PATCH', '/contact', patch)));
