// The device: its driver and figures, who operates it, and the state of the hand.
import type { JSX } from 'preact';
import * as actions from '../actions';
import { heldBy } from '../mechanisms';
import type { Device, ToolState } from '../protocol';
import { Badge, Row, Section } from '../ui/widgets';
import { degrees, fixed, mm, newtons } from '../words';
import * as store from '../store';

const PROFILES: { id: string; name: string }[] = [
  { id: '', name: 'ideal' },
  { id: 'cobotic-hand-controller', name: 'cobotic hand controller' },
];

const figures: Record<string, [string, (x: number) => string]> = {
  workspace_radius: ['workspace', (x) => `${mm(x)} radius`],
  force_max: ['force', (x) => `${newtons(x)} at most`],
  torque_max: ['torque', (x) => `${fixed(x, 2)} N m at most`],
  speed_max: ['speed', (x) => `${fixed(x, 3)} m/s at most`],
  spin_max: ['spin', (x) => `${fixed(x, 2)} rad/s at most`],
  stiffness: ['stiffness', (x) => `${fixed(x / 1000, 1)} kN/m`],
  stiffness_angular: ['angular stiffness', (x) => `${fixed(x, 0)} N m/rad`],
  bandwidth: ['bandwidth', (x) => `${fixed(x, 1)} Hz`],
  quantum: ['quantum', (x) => `${fixed(x * 1e6, 2)} \u00b5m`],
  quantum_angular: ['angular quantum', (x) => degrees(x)],
};

function flat(info: Record<string, unknown>): [string, number][] {
  return Object.entries(info).flatMap(([key, value]): [string, number][] => {
    if (typeof value === 'number') return [[key, value]];
    return value && typeof value === 'object' && !Array.isArray(value) ? flat(value as Record<string, unknown>) : [];
  });
}

function Figures({ info }: { info: Record<string, unknown> }): JSX.Element {
  const known = flat(info).filter(([key, value]) => figures[key] && value > 0 && Number.isFinite(value));
  return (
    <>
      <Row label="class">{String(info['class'] ?? 'admittance')}</Row>
      {known.map(([key, value]) => <Row key={key} label={figures[key]![0]}>{figures[key]![1](value)}</Row>)}
    </>
  );
}

const SCRIPT = {
  type: 'wrench',
  samples: [
    { t: 0, force: [0, 0, 0], torque: [0, 0, 0] },
    { t: 0.5, force: [0.6, 0.3, -5], torque: [0, 0, 0] },
    { t: 1.5, force: [-0.6, -0.3, -5], torque: [0, 0, 0] },
    { t: 2.5, force: [0, 0, 0], torque: [0, 0, 0] },
  ],
};

function OperatorRow({ device }: { device: Device }): JSX.Element {
  const type = device.operator?.type ?? 'none';
  const choose = (kind: string): void => {
    if (kind === 'none') void actions.setOperator(device.id, null);
    else if (kind === 'wrench') void actions.setOperator(device.id, SCRIPT);
  };
  return (
    <Row label="operator">
      <select aria-label="Operator" value={type} onChange={(e) => choose(e.currentTarget.value)}>
        <option value="none">you: mouse and keys</option>
        <option value="wrench">scripted wrench</option>
        {type === 'hand' && <option value="hand">hand on a path</option>}
      </select>
    </Row>
  );
}

function Hand({ state }: { state: ToolState }): JSX.Element {
  const notes: [boolean, string, string, string][] = [
    [state.dragging, 'hand', 'dragged', 'under'],
    [state.travelling, 'right', 'travelling to its new place', 'under'],
    [state.limited, 'info', 'limited', 'over'],
    [state.clutched, 'off', 'clutched', 'off'],
  ];
  return (
    <>
      <Row label="your force">{newtons(Math.hypot(...state.operator.force))}</Row>
      <Row label="constraint's force">{newtons(Math.hypot(...state.constraint.force))}</Row>
      <Row label="tool to device">{mm(state.error_p)}, {degrees(state.error_r)}</Row>
      <div class="badges">{notes.filter(([on]) => on).map(([, icon, word, tone]) => <Badge key={word} icon={icon} word={word} tone={tone} />)}</div>
    </>
  );
}

function One({ device }: { device: Device }): JSX.Element {
  const tool = store.tools.value.find((t) => t.device === device.id);
  const index = store.tools.value.findIndex((t) => t.device === device.id);
  const state = tool && store.figures.value?.tools.find((t) => heldBy(t) === heldBy(tool));
  return (
    <>
      <Row label="driver">{device.id}: {device.driver}</Row>
      <Row label="profile">
        <select aria-label="Profile" value={String(device.settings?.['profile'] ?? '')}
          onChange={(e) => void actions.patchDevice(device.id, { settings: { profile: e.currentTarget.value || null } })}>
          {PROFILES.map((p) => <option key={p.id} value={p.id}>{p.name}</option>)}
        </select>
      </Row>
      <OperatorRow device={device} />
      {tool && <Row label="holds">{heldBy(tool)}, {tool.control ?? 'admittance'}</Row>}
      {state && <Hand state={state} />}
      {state && (
        <button type="button" class="chip" aria-pressed={state.clutched} title="Freezes the tool and re-centres the map"
          onClick={() => actions.clutch(index, !state.clutched)}>{state.clutched ? 'Release the clutch' : 'Clutch'}</button>
      )}
      {device.info && <details class="figures"><summary>Figures of the device</summary><Figures info={device.info} /></details>}
    </>
  );
}

export function DevicePanel(): JSX.Element {
  const details = store.deviceDetails.value;
  const list = store.devices.value;
  return (
    <Section id="device" title="Device">
      {list.length === 0
        ? <p class="quiet">No device yet. Select a mobile object and hold it: the simulated device takes it.</p>
        : list.map((d) => <One key={d.id} device={{ ...d, info: d.info ?? details.get(d.id) }} />)}
    </Section>
  );
}
