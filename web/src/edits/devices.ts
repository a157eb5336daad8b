// Edits of tools and devices: the held body, the device, the control.
import type { Control, Device, Pose, Rendering, Tool, Vec3 } from '../protocol';
import { controlWords } from '../state/control';
import { IDENTITY } from '../state/maths';
import { linkName } from '../state/mechanisms';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { unusedId } from './objects';
import { attempt, latest, patch } from './request';

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

// True where a drag cannot move the object while the simulation runs: it is neither held nor free nor joined to such a
// body.
export const standsStill = (object: string): boolean =>
  !!store.objectOf(object) && !store.objectOf(object)!.fixed && !store.movesByForce(object);

// Tells a person who tried to drag such an object how it can be made to move.
export function tellNotHeld(object: string): void {
  if (!standsStill(object)) return;
  const text = `${object} stands: nothing holds it, and it is not free.`;
  store.notice.value = {
    tone: 'info',
    text,
    fixes: [
      { label: 'Hold it with the device', run: () => void hold(object) },
      {
        label: 'Let it move freely',
        run: () => void attempt(() => call('PATCH', `/objects/${enc(object)}`, { free: true })),
      },
    ],
  };
  store.announce(text);
}

export const releaseTool = (): Promise<boolean> => attempt(() => call('DELETE', '/tool'));

export const latestTool = (tool: Tool): Tool => latest('/tool', tool);

export const patchTool = (to: Record<string, unknown>): Promise<boolean> => patch('/tool', to);

export const patchDevice = (id: string, to: Partial<Record<keyof Device, unknown>>): Promise<boolean> =>
  patch(`/devices/${enc(id)}`, to);

export const setOperator = (id: string, operator: unknown): Promise<boolean> =>
  operator === null
    ? attempt(() => call('DELETE', `/devices/${enc(id)}/operator`))
    : attempt(() => call('PUT', `/devices/${enc(id)}/operator`, operator));

// The id of an impedance device: an existing one, else a new simulated one.
async function impedanceDevice(): Promise<string> {
  const known = store.devices.value.find((d) => store.impedanceDevice(d.id));
  if (known) return known.id;
  const id = unusedId('sim-impedance');
  await call('POST', '/devices', { id, driver: 'sim-impedance' });
  return id;
}

// Makes a tool that holds the link: its frame is at a point of the link, with the link's axes.
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

// ---- devices

// Chooses another driver, with its own settings, and a matching control where the device holds a body.
export function chooseDriver(id: string, driver: string): Promise<boolean> {
  const devices = store.devices.value.map((d) => {
    if (d.id !== id) return d;
    const { settings: _, profile: __, ...kept } = d;
    return { ...kept, driver };
  });
  const impedance = store.driverClass(driver) === 'impedance';
  const fitting = (t: Tool): Tool => {
    const fits = (t.control ?? 'admittance') === 'admittance' ? !impedance : impedance;
    return t.device !== id || fits ? t : { ...t, control: impedance ? 'penalty' : 'admittance' };
  };
  const { tools, tool } = store.scene.value;
  const held = tools ? { tools: tools.map(fitting) } : tool ? { tool: fitting(tool) } : {};
  return attempt(() => call('PATCH', '/scene', { devices, ...held }));
}

export const patchSetting = (id: string, name: string, value: number | string | null): Promise<boolean> =>
  patchDevice(id, { settings: { [name]: value } });

// ---- control

export const setControl = (control: Control): Promise<boolean> =>
  attempt(async () => {
    await call('PATCH', '/tool', { control });
    store.announce(`Control: ${controlWords[control][0]}.`);
  });

export const patchRendering = (rendering: Rendering): Promise<boolean> => patchTool({ rendering });

export const patchStart = (start: Partial<Pose>): Promise<boolean> => patchTool({ start });
