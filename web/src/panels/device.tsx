// The device: its driver and properties, its operator, and the state of the hand.

import type { JSX } from 'preact';
import { chooseDriver, patchSetting, patchTool, setOperator } from '../edits/devices';
import { clutch } from '../edits/simulation';
import type { Device, DeviceInfo, Driver, DriverSetting, Limits, Tool, ToolState } from '../protocol';
import { clock, nameOf } from '../state/halts';
import { heldId } from '../state/mechanisms';
import * as store from '../state/store';
import { degrees, fixed, mm, newtons, wrenchWords } from '../state/words';
import { Badge, NumberField, Row, Section } from '../ui/widgets';

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
      <Row label="class">{String(info.class ?? 'admittance')}</Row>
      {known.map(([key, value]) => (
        <Row key={key} label={figures[key]![0]}>
          {figures[key]![1](value)}
        </Row>
      ))}
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
    if (kind === 'none') void setOperator(device.id, null);
    else if (kind === 'wrench') void setOperator(device.id, SCRIPT);
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

function Hand({ state, script }: { state: ToolState; script: string }): JSX.Element {
  const notes: [boolean, string, string, string][] = [
    [state.dragging, 'hand', 'dragged', 'under'],
    [state.travelling, 'right', 'travelling to its new place', 'under'],
    [state.limited, 'info', 'limited', 'over'],
    [state.clutched, 'off', 'clutched', 'off'],
  ];
  return (
    <>
      <Row label={script || 'your force'}>{wrenchWords(state.operator)}</Row>
      <Row label="constraint's force">{wrenchWords(state.constraint)}</Row>
      <Row label="tool to device">
        {mm(state.error_p)}, {degrees(state.error_r)}
      </Row>
      <div class="badges">
        {notes
          .filter(([on]) => on)
          .map(([, icon, word, tone]) => (
            <Badge key={word} icon={icon} word={word} tone={tone} />
          ))}
      </div>
    </>
  );
}

const spaced = (name: string): string => name.replace(/[-_]/g, ' ');

// The settings of the driver; one that is not stated has its profile's value.
function Settings({ device, driver }: { device: Device; driver: Driver }): JSX.Element {
  const set: Record<string, number | string> = { ...device.settings };
  const profile = String(set.profile ?? '') || 'ideal';
  const count = driver.settings.filter((s) => s.name in set).length;
  return (
    <details class="group-of">
      <summary>Settings{count > 0 && `, ${count} set`}</summary>
      <div class="pair settings">
        {driver.settings.map((s) => (
          <div key={s.name} title={s.meaning}>
            {!(s.name in set) && profile !== 'ideal' ? (
              <>
                <span class="number-label">{spaced(s.name)}</span>
                <button type="button" class="link" onClick={() => void patchSetting(device.id, s.name, s.ideal)}>
                  by the profile: change
                </button>
              </>
            ) : (
              <NumberField
                shown={spaced(s.name)}
                label={`${device.id}, ${spaced(s.name)}`}
                unit={s.unit === '1' ? '' : s.unit}
                digits={7}
                step={stepOf(s)}
                value={Number(set[s.name] ?? s.ideal)}
                onCommit={(v) => void patchSetting(device.id, s.name, v)}
              />
            )}
            {s.name in set && (
              <button type="button" class="link" onClick={() => void patchSetting(device.id, s.name, null)}>
                unset
              </button>
            )}
          </div>
        ))}
      </div>
    </details>
  );
}

const LIMITS: [keyof Limits, string, string, number][] = [
  ['force', 'force', 'N', 1],
  ['torque', 'torque', 'N m', 0.1],
  ['speed', 'speed', 'm/s', 0.1],
  ['spin', 'spin', 'rad/s', 0.1],
];

// Limits of force and velocity, and the workspace mapping. 0 removes a limit.
function Bounds({ tool }: { tool: Tool }): JSX.Element {
  const map = tool.workspace ?? {};
  const set = LIMITS.filter(([key]) => tool.limits?.[key]).length;
  return (
    <details class="group-of">
      <summary>Limits and map{set > 0 && `, ${set} set`}</summary>
      <div class="pair">
        {LIMITS.map(([key, word, unit, step]) => (
          <NumberField
            key={key}
            shown={`${word}, at most`}
            label={`Limit of ${word}`}
            unit={unit}
            step={step}
            value={tool.limits?.[key] ?? 0}
            onCommit={(v) => void patchTool({ limits: { [key]: v === 0 ? null : v } })}
          />
        ))}
        <NumberField
          shown="device to task"
          label="Device metres per metre of the task"
          unit={'\u00d7'}
          step={0.1}
          value={map.scale ?? store.stateOfTool(tool)?.workspace?.scale ?? 1}
          onCommit={(scale) => void patchTool({ workspace: { scale } })}
        />
      </div>
      <p class="quiet">0: no limit but the device{'\u2019'}s own.</p>
    </details>
  );
}

const stepOf = (s: DriverSetting): number => (s.high <= 0.1 ? 1e-5 : s.unit === 'ticks' || s.high === 1 ? 1 : 0.1);

// The client that operates latched devices.
function operatedBy(): string {
  const operator = store.figures.value?.operator;
  if (!operator) return 'nobody: a drag takes it';
  return `${nameOf(operator.by)}, since ${clock(operator.since)}`;
}

function One({ device, info }: { device: Device; info: DeviceInfo | undefined }): JSX.Element {
  const tool = store.tools.value.find((t) => t.device === device.id);
  const index = store.tools.value.findIndex((t) => t.device === device.id);
  const known = store.drivers.value;
  const driver = known.find((d) => d.name === device.driver);
  const state = store.stateOfTool(tool, store.figures.value);
  return (
    <>
      <Row label="driver">
        <select
          aria-label={`Driver of ${device.id}`}
          value={device.driver}
          onChange={(e) => void chooseDriver(device.id, e.currentTarget.value)}
        >
          {known.map((d) => (
            <option key={d.name} value={d.name}>
              {d.name}: {d.class}
            </option>
          ))}
        </select>
      </Row>
      <Row label="profile">
        <select
          aria-label="Profile"
          value={String(device.settings?.profile ?? '')}
          onChange={(e) => void patchSetting(device.id, 'profile', e.currentTarget.value || null)}
        >
          <option value="">ideal</option>
          {driver?.profiles
            .filter((p) => p && p !== 'ideal')
            .map((p) => (
              <option key={p} value={p}>
                {spaced(p)}
              </option>
            ))}
        </select>
      </Row>
      <OperatorRow device={device} />
      {store.latched(index) && (
        <Row label="operated by">
          <span data-operator>{operatedBy()}</span>
        </Row>
      )}
      {tool && (
        <Row label="holds">
          {heldId(tool)}, {tool.control ?? 'admittance'}
        </Row>
      )}
      {state && <Hand state={state} script={store.scriptOf(index)} />}
      {state && (
        <button
          type="button"
          class="chip"
          aria-pressed={state.clutched}
          title="Freezes the tool and re-centres the map"
          onClick={() => clutch(index, !state.clutched)}
        >
          {state.clutched ? 'Release the clutch' : 'Clutch'}
        </button>
      )}
      {tool && index === 0 && <Bounds tool={tool} />}
      {driver && <Settings device={device} driver={driver} />}
      {info && (
        <details class="figures">
          <summary>Figures of the device</summary>
          <Figures info={{ ...info }} />
        </details>
      )}
    </>
  );
}

export function DevicePanel(): JSX.Element {
  const details = store.deviceDetails.value;
  const list = store.devices.value;
  return (
    <Section id="device" title="Device">
      {list.length === 0 ? (
        <p class="quiet">No device yet. Select a mobile object and hold it: the simulated device takes it.</p>
      ) : (
        list.map((d) => <One key={d.id} device={d} info={details.get(d.id)} />)
      )}
    </Section>
  );
}
