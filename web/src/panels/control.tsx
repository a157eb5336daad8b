// The control of an impedance device, which can be changed at run time, and its settings with units.

import type { ComponentChildren, JSX } from 'preact';
import { compareAll } from '../edits/compare';
import { latestTool, patchRendering, patchStart, setControl } from '../edits/devices';
import type { Control, Rendering, Spring, Tool, ToolState, Vec3 } from '../protocol';
import { CONTROLS, controlWords, impedanceTool } from '../state/control';
import { heldId } from '../state/mechanisms';
import { compare, keepRun } from '../state/runs';
import * as store from '../state/store';
import { degrees, fixed, joules, listed, MM, mm, newtonSeconds, newtons } from '../state/words';
import { Icon } from '../ui/icons';
import { Triple, XYZ } from '../ui/triple';
import { NumberField, Row, Section } from '../ui/widgets';

function Group(p: { title: string; note?: string; open?: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <details class="group-of" open={p.open}>
      <summary>
        {p.title}
        {p.note && <span class="quiet"> {p.note}</span>}
      </summary>
      {p.children}
    </details>
  );
}

function Choice<K extends string>(p: {
  label: string;
  value: K;
  options: readonly (readonly [K, string])[];
  onPut: (value: K) => void;
}): JSX.Element {
  return (
    <Row label={p.label}>
      <select aria-label={p.label} value={p.value} onChange={(e) => p.onPut(e.currentTarget.value as K)}>
        {p.options.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </Row>
  );
}

const SPRING: [keyof Spring, string, string, number][] = [
  ['linear', 'stiffness', 'N/m', 10],
  ['linear_damping', 'damping', 'N s/m', 1],
  ['angular', 'turning', 'N m/rad', 0.1],
  ['angular_damping', 'its damping', 'N m s', 0.01],
];

function SpringFields(p: { of: 'coordination' | 'coupling'; value: Spring }): JSX.Element {
  return (
    <div class="pair">
      {SPRING.map(([key, word, unit, step]) => (
        <NumberField
          key={key}
          shown={word}
          label={`${p.of} ${word}`}
          unit={unit}
          step={step}
          digits={5}
          value={p.value[key] ?? 0}
          onCommit={(v) => void patchRendering({ [p.of]: { [key]: v } })}
        />
      ))}
    </div>
  );
}

// The groups of settings that each control uses.
const USES: Record<Control, readonly string[]> = {
  admittance: [],
  impedance: ['model', 'hand'],
  penalty: ['model', 'hand', 'resisted', 'penalty'],
  coupling: ['coupling'],
  'four-channel': ['hand', 'coordination'],
};

function Settings({ r, control }: { r: Rendering; control: Control }): JSX.Element {
  const uses = (name: string): boolean => USES[control].includes(name);
  const note = (name: string): string => (uses(name) ? '' : 'not used by this control');
  const penalty = r.penalty ?? {};
  return (
    <>
      <Group
        title="Model and hand"
        open={uses('model')}
        note={uses('model') || uses('hand') ? '' : 'not used by this control'}
      >
        <Choice
          label="acceleration"
          value={r.jdot ?? 'full'}
          options={[
            ['full', 'all terms'],
            ['paper', 'paper: no J\u0307 v'],
          ]}
          onPut={(jdot) => void patchRendering({ jdot })}
        />
        <Choice
          label="hand force"
          value={r.hand ?? 'measured'}
          options={[
            ['measured', 'measured'],
            ['estimated', 'estimated'],
            ['unknown', 'taken as 0'],
          ]}
          onPut={(hand) => void patchRendering({ hand })}
        />
        <NumberField
          shown="device mass known as a part of what it is"
          label="Mass known"
          unit={'\u00d7'}
          step={0.05}
          value={r.mass_known || 1}
          onCommit={(mass_known) => void patchRendering({ mass_known })}
        />
      </Group>
      <Group title="Resisted directions" open={uses('resisted')} note={note('resisted')}>
        <Choice
          label="weights"
          value={r.weights ?? 'smooth'}
          options={[
            ['smooth', 'smooth'],
            ['on-off', 'paper: on and off'],
          ]}
          onPut={(weights) => void patchRendering({ weights })}
        />
        <div class="triple">
          <NumberField
            shown="length L"
            label="Length that compares turns with shifts"
            unit="mm"
            value={(r.length || 0.05) * MM}
            onCommit={(v) => void patchRendering({ length: v / MM })}
          />
          <NumberField
            shown="threshold"
            label="Threshold of singular values"
            unit=""
            step={1e-3}
            digits={6}
            value={r.threshold || 1e-3}
            onCommit={(threshold) => void patchRendering({ threshold })}
          />
          <NumberField
            shown="fades over"
            label="Fades over so many thresholds"
            unit={'\u00d7'}
            value={r.fade || 10}
            onCommit={(fade) => void patchRendering({ fade })}
          />
        </div>
      </Group>
      <Group title="Penalties" open={uses('penalty')} note={note('penalty')}>
        <div class="pair">
          <NumberField
            shown="stiffness"
            label="Penalty stiffness"
            unit={'1/s\u00b2'}
            step={10}
            value={penalty.stiffness ?? 0}
            onCommit={(stiffness) => void patchRendering({ penalty: { stiffness } })}
          />
          <NumberField
            shown="damping"
            label="Penalty damping"
            unit="1/s"
            step={1}
            value={penalty.damping ?? 0}
            onCommit={(damping) => void patchRendering({ penalty: { damping } })}
          />
        </div>
        <label class="check">
          <input
            type="checkbox"
            checked={penalty.by_mass ?? false}
            onChange={(e) => void patchRendering({ penalty: { by_mass: e.currentTarget.checked } })}
          />
          weighed by the device{'\u2019'}s mass, as in the paper
        </label>
      </Group>
      <Group title="Virtual coupling" open={uses('coupling')} note={note('coupling')}>
        <SpringFields of="coupling" value={r.coupling ?? {}} />
        <p class="quiet">0: as stiff as stability allows.</p>
      </Group>
      <Group title="Coordination" open={uses('coordination')} note={note('coordination')}>
        <SpringFields of="coordination" value={r.coordination ?? {}} />
      </Group>
      <Group title="What leaves at once">
        <div class="pair">
          <NumberField
            shown="after a switch"
            label="The force changes after a switch by at most"
            unit="N/s"
            step={10}
            value={r.slew || 100}
            onCommit={(slew) => void patchRendering({ slew })}
          />
          <NumberField
            shown="impulses a second"
            label="Impulses in a second, at most"
            unit="N s"
            step={1}
            value={r.impulse_budget || 20}
            onCommit={(impulse_budget) => void patchRendering({ impulse_budget })}
          />
        </div>
      </Group>
      <label class="check">
        <input
          type="checkbox"
          checked={r.passivity ?? true}
          onChange={(e) => void patchRendering({ passivity: e.currentTarget.checked })}
        />
        passivity controller at the device
      </label>
    </>
  );
}

const size = (w: { force: readonly number[] } | undefined): number => Math.hypot(...(w?.force ?? [0]));

// "4 of 6 directions", "3 of 6: 100, 100 and 37 %"
function resistedWords(weights: number[]): string {
  if (!weights.length) return 'no direction';
  const part = weights.some((w) => w < 0.995);
  return `${weights.length} of 6${part ? `: ${listed(weights.map((w) => fixed(100 * w, 0)))} %` : ' directions'}`;
}

function Live({ s, r }: { s: ToolState; r: Rendering | undefined }): JSX.Element {
  const held = (s.resisted?.directions ?? []).filter((d) => d.weight > 0.005);
  return (
    <>
      <Row label="device to tool">
        {mm(s.error_p)}, {degrees(s.error_r)}
      </Row>
      <Row label="device exerts">
        {newtons(size(s.command))}
        {s.limited && ', limited'}
      </Row>
      <Row label={`hand, ${r?.hand ?? 'measured'}`}>{newtons(size(s.hand))}</Row>
      {s.resisted && store.runState.value !== 'stopped' && (
        <Row label="resisted">{resistedWords(held.map((d) => d.weight))}</Row>
      )}
      {!!s.withheld && (
        <Row label="withheld">
          {newtonSeconds(s.withheld)} of impulses, by the device{'\u2019'}s limits
        </Row>
      )}
      {s.port !== undefined && (
        <Row label="out of the port">
          {joules(s.port)}
          {s.damped ? `, ${joules(s.damped)} damped` : ''}
        </Row>
      )}
    </>
  );
}

// Runs for comparison; the plot below draws them.
function Comparison(): JSX.Element {
  const c = compare.value;
  return (
    <Group title="Compare controls" open note={c.runs.length ? `${c.runs.length} kept` : ''}>
      <div class="buttons">
        {c.busy ? (
          <button type="button" class="chip" onClick={() => void compareAll()}>
            <Icon name="stop" />
            Stop comparing ({c.busy})
          </button>
        ) : (
          <button
            type="button"
            class="chip"
            title="Stops, then runs each control from the start"
            disabled={store.halted.value}
            onClick={() => void compareAll()}
          >
            <Icon name="run" />
            Run all four
          </button>
        )}
        <button type="button" class="chip" disabled={!c.now.count} onClick={() => keepRun()}>
          <Icon name="save" />
          Keep this run
        </button>
      </div>
      <NumberField
        shown="each for"
        label="Seconds of each run"
        unit="s"
        step={1}
        digits={1}
        value={c.seconds}
        onCommit={(v) => (compare.value = { ...compare.value, seconds: Math.max(1, Math.min(60, v)) })}
      />
    </Group>
  );
}

function Start({ tool }: { tool: Tool }): JSX.Element {
  const p: Vec3 = tool.start?.p ?? [0, 0, 0];
  return (
    <Group title="Start of the device" note={Math.hypot(...p) > 0 ? 'apart from the tool' : 'with the tool'}>
      <Triple
        label="Start of the device"
        names={XYZ}
        unit="mm"
        digits={2}
        value={p}
        scale={MM}
        onPut={(to) => void patchStart({ p: to(latestTool(tool).start?.p ?? p) })}
      />
    </Group>
  );
}

export function ControlPanel(): JSX.Element | null {
  const tool = impedanceTool();
  if (!tool) return null;
  const control = tool.control ?? 'impedance';
  const state = store.stateOfTool(tool, store.figures.value);
  return (
    <Section id="control" title="Control">
      <p class="quiet">
        {tool.device} holds {heldId(tool)}.
      </p>
      <div class="kinds" role="group" aria-label="Control">
        {CONTROLS.map((c) => (
          <button
            key={c}
            type="button"
            class="chip"
            data-control={c}
            aria-pressed={c === control}
            onClick={() => void setControl(c)}
          >
            {controlWords[c][0]}
          </button>
        ))}
      </div>
      <p class="words-small">{controlWords[control][1]}.</p>
      {state && <Live s={state} r={tool.rendering} />}
      <Comparison />
      <Settings r={tool.rendering ?? {}} control={control} />
      <Start tool={tool} />
    </Section>
  );
}
