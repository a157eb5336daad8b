// The dynamics that the hand feels: the desired impedance in place of the body's own, force scaling, the grasp.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { latestTool, patchTool } from '../edits/devices';
import type { Rendered, RenderedValue, Tool, Vec3 } from '../protocol';
import { call } from '../state/rest';
import * as store from '../state/store';
import { listed } from '../state/words';
import { Triple, XYZ } from '../ui/triple';
import { NumberField, Row, Section } from '../ui/widgets';

type Kind = 'mass' | 'damping' | 'stiffness';
type Fields = [Kind, string, string, string, string, number];

const FIELDS: Fields[] = [
  ['mass', 'mass', 'kg', 'inertia', 'kg m\u00b2', 0.1],
  ['damping', 'damping', 'N s/m', 'of turns', 'N m s', 1],
  ['stiffness', 'stiffness', 'N/m', 'of turns', 'N m/rad', 10],
];
const NONE = [0, 0, 0, 0, 0, 0];
const FIRST_MASS = [1, 1, 1, 0.01, 0.01, 0.01];

const half = (six: readonly number[], from: number): Vec3 => six.slice(from, from + 3) as Vec3;
const put = (kind: Kind, six: readonly number[] | null): void => void patchTool({ desired: { [kind]: six } });

function Six({ tool, fields }: { tool: Tool; fields: Fields }): JSX.Element {
  const [kind, along, unit, about, unitOfTurns, step] = fields;
  const six = tool.desired?.[kind] ?? NONE;
  const putHalf = (from: number, to: (v: Vec3) => Vec3): void => {
    const now = latestTool(tool).desired?.[kind] ?? NONE;
    const v = to(half(now, from));
    put(kind, from ? [...half(now, 0), ...v] : [...v, ...half(now, 3)]);
  };
  return (
    <>
      <Triple
        label={`Desired ${along} along`}
        shown={along}
        names={XYZ}
        unit={unit}
        step={step}
        digits={4}
        value={half(six, 0)}
        scale={1}
        onPut={(to) => putHalf(0, to)}
      />
      <Triple
        label={`Desired ${kind} about`}
        shown={about}
        names={XYZ}
        unit={unitOfTurns}
        step={step / 100}
        digits={5}
        value={half(six, 3)}
        scale={1}
        onPut={(to) => putHalf(3, to)}
      />
    </>
  );
}

function words(tool: Tool): string {
  const kinds = FIELDS.map(([kind]) => kind).filter((kind) => tool.desired?.[kind]?.some((x) => x > 0));
  return kinds.length ? `: ${listed(kinds)}` : ': its own';
}

function Desired({ tool }: { tool: Tool }): JSX.Element {
  const tooLight = store.stateOfTool(tool)?.too_light ?? 0;
  const massive = !!tool.desired?.mass;
  return (
    <details class="group-of" open={!!tool.desired}>
      <summary>Desired impedance{words(tool)}</summary>
      <label class="check">
        <input
          type="checkbox"
          checked={massive}
          onChange={(e) => put('mass', e.currentTarget.checked ? FIRST_MASS : null)}
        />
        a mass other than its own
      </label>
      {FIELDS.filter(([kind]) => massive || kind !== 'mass').map((fields) => (
        <Six key={fields[0]} tool={tool} fields={fields} />
      ))}
      {tooLight > 0 && (
        <p class="quiet">
          {tooLight} of 6 directions feel heavier: what moves there has more than a hundred times that mass.
        </p>
      )}
      <p class="quiet">Along and about the tool frame{'\u2019'}s axes; springs rest where the tool took hold.</p>
      {tool.desired && (
        <button type="button" class="chip" onClick={() => void patchTool({ desired: null })}>
          Feel it as it is
        </button>
      )}
    </details>
  );
}

const WHY: Record<RenderedValue['why'], string> = {
  'as-asked': 'as asked',
  default: 'nothing was asked for',
  passivity: 'more than sampling bears; the passivity controller takes what comes out',
  'sampling-bound': 'more than sampling bears: it may not be calm',
  'device-mass': 'the device keeps its own mass',
  'smallest-mass': 'so little that a stiff hand may ring',
  'device-stiffness': 'the device itself gives way as well',
};
const ASKED: [keyof Rendered & string, string, string][] = [
  ['mass', 'mass', 'kg'],
  ['inertia', 'inertia', 'kg m\u00b2'],
  ['stiffness', 'coupling', 'N/m'],
  ['stiffness_angular', 'of turns', 'N m/rad'],
  ['desired_stiffness', 'stiffness', 'N/m'],
  ['desired_stiffness_angular', 'of turns', 'N m/rad'],
  ['penalty', 'penalty', 'N/m'],
];

const IMMOVABLE = 1e6; // mass and inertia of a tool that nothing moves or turns
const applied = (name: string, unit: string, { applied: value, why }: RenderedValue): string =>
  (name === 'mass' || name === 'inertia') && value >= IMMOVABLE
    ? name === 'mass'
      ? 'the tool\u2019s point does not move'
      : 'the tool does not turn'
    : `${Number(value.toPrecision(3))} ${unit}: ${WHY[why]}`;

// The mass and stiffness that the first tool's device renders of the desired ones, and why.
function Applied(): JSX.Element | null {
  const [all, setAll] = useState<Rendered | undefined>(undefined);
  const revision = store.revision.value;
  const open = store.connection.value === 'open';
  useEffect(() => {
    if (!open) return;
    void call<Rendered[]>('GET', '/tools/rendered?limit=1').then(
      (list) => setAll(list[0]),
      () => undefined, // the stream tells when the server is away
    );
  }, [open, revision]);
  return (
    <div data-applied>
      {ASKED.map(([name, label, unit]) => {
        const value = all?.[name] as RenderedValue | undefined;
        return (
          value && (
            <Row key={name} label={label}>
              {applied(name, unit, value)}
            </Row>
          )
        );
      })}
    </div>
  );
}

export function ImpedancePanel(): JSX.Element | null {
  const tool = store.tools.value[0];
  if (!tool) return null;
  return (
    <Section id="felt" title="What the hand feels">
      <Row label="grasp">
        <select
          aria-label="Grasp"
          value={tool.grasp ?? 'rigid'}
          onChange={(e) => void patchTool({ grasp: e.currentTarget.value })}
        >
          <option value="rigid">rigid: force and torque</option>
          <option value="point">at a point: force alone</option>
        </select>
      </Row>
      <NumberField
        shown="your force counts"
        label="Force scale"
        unit={'\u00d7'}
        step={0.5}
        value={tool.force_scale ?? 1}
        onCommit={(v) => void patchTool({ force_scale: v === 0 ? null : v })}
      />
      <Desired tool={tool} />
      <Applied />
    </Section>
  );
}
