// Joints and springs: made in one step from two picked features; their limits, damping and motors; on, off, away.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { deleteRelation, makeJoint, makeSpring, patchJoint, patchSpring } from '../edits/relations';
import type { Motor, SceneJoint, SceneJointState, SceneSpring } from '../protocol';
import { kindOf } from '../state/elements';
import { type Coordinate, EFFORT, endsOf, ONE_STEP, RELATIONS, relationWords } from '../state/relations';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { DISPLAY, fixed, MM } from '../state/words';
import { Icon } from '../ui/icons';
import { NumberField, Row, Section } from '../ui/widgets';

type Joint = Exclude<SceneJoint, { type: 'gear' }>;

// ---- what every entry has -----------------------------------------------------------------------------

function Entry(p: {
  collection: 'joints' | 'springs';
  id: string;
  words: string;
  ends: [string, string];
  enabled: boolean;
  onEnable: (on: boolean) => Promise<boolean>;
  children?: JSX.Element | null;
}): JSX.Element {
  return (
    <li class={`entry entry-${p.enabled ? 'ok' : 'disabled'}`}>
      <div class="entry-main">
        <span class="entry-top">
          <span class="entry-id">{p.id}</span> <span class="entry-words">{p.words}</span>
        </span>
        <span class="entry-refs">
          {p.ends[0]} {'\u2013'} {p.ends[1]}
        </span>
      </div>
      <label class="switch" title={p.enabled ? 'Disable' : 'Enable'}>
        <input
          type="checkbox"
          checked={p.enabled}
          aria-label={`${p.id} enabled`}
          onChange={(e) => {
            const box = e.currentTarget;
            void p.onEnable(box.checked).then((done) => {
              if (!done) box.checked = p.enabled;
            });
          }}
        />
      </label>
      <button
        type="button"
        class="tool"
        title="Delete"
        aria-label={`Delete ${p.id}`}
        onClick={() => void deleteRelation(p.collection, p.id)}
      >
        <Icon name="trash" />
      </button>
      {p.children}
    </li>
  );
}

// ---- joints -------------------------------------------------------------------------------------------

const BALL_LIMITS = ['swing', 'rotation'];
const ROOM = { m: 0.1, rad: 1 }; // either way, of limits that are switched on

function CoordinateFields({ j, i, c }: { j: Joint; i: number; c: Coordinate }): JSX.Element {
  const { unit, scale } = DISPLAY[c.unit];
  const count = RELATIONS[j.type].coordinates.length;
  const limits = j.limits ?? Array<null>(count).fill(null);
  const pair = limits[i];
  const ball = j.type === 'spherical'; // its limits are angles from zero: of the z axes, and of the whole rotation
  const limited = ball ? BALL_LIMITS[i] : c.word;
  const name = `${c.word} of ${j.id}`;
  const limit = (to: [number, number] | null): void =>
    void patchJoint(j.id, { limits: limits.map((old, k) => (k === i ? to : (old ?? null))) });
  const damp = (to: number): void => {
    const all = j.damping ?? Array<number>(count).fill(0);
    void patchJoint(j.id, { damping: all.map((old, k) => (k === i ? to : old)) });
  };
  return (
    <div class="triple">
      {limited && (
        <label>
          <input
            type="checkbox"
            checked={!!pair}
            aria-label={`Limit the ${limited} of ${j.id}`}
            onChange={(e) => limit(e.currentTarget.checked ? [ball ? 0 : -ROOM[c.unit], ROOM[c.unit]] : null)}
          />{' '}
          {limited} limited
        </label>
      )}
      {pair &&
        ([0, 1] as const)
          .slice(ball ? 1 : 0)
          .map((side) => (
            <NumberField
              key={side}
              shown={side ? 'to' : 'from'}
              label={`${side ? 'Upper' : 'Lower'} limit of the ${limited} of ${j.id}`}
              unit={unit}
              value={pair[side] * scale}
              onCommit={(v) => limit(side ? [pair[0], v / scale] : [v / scale, pair[1]])}
            />
          ))}
      <NumberField
        shown="damping"
        label={`Damping of the ${name}`}
        unit={EFFORT[c.unit].damping}
        step={0.1}
        value={j.damping?.[i] ?? 0}
        onCommit={damp}
      />
    </div>
  );
}

const MOTOR: readonly (readonly [keyof Motor, string, 'effort' | 'stiffness' | 'damping' | 'place' | 'rate'])[] = [
  ['torque', 'torque', 'effort'],
  ['target', 'target', 'place'],
  ['stiffness', 'stiffness', 'stiffness'],
  ['rate', 'rate', 'rate'],
  ['damping', 'damping', 'damping'],
  ['max', 'at most', 'effort'],
];

function MotorFields({ j, c }: { j: Joint; c: Coordinate }): JSX.Element {
  const { unit, scale } = DISPLAY[c.unit];
  return (
    <div class="triple">
      {MOTOR.map(([key, word, of]) => {
        const own = of === 'place' || of === 'rate';
        const k = own ? scale : 1;
        return (
          <NumberField
            key={key}
            shown={word}
            label={`Motor ${word} of ${j.id}`}
            unit={own ? `${unit}${of === 'rate' ? '/s' : ''}` : EFFORT[c.unit][of]}
            step={key === 'torque' ? 0.1 : 1}
            value={(j.motor?.[key] ?? 0) * k}
            onCommit={(v) => void patchJoint(j.id, { motor: { ...j.motor, [key]: v / k } })}
          />
        );
      })}
    </div>
  );
}

const LOOK_MS = 500;
const size = (v: readonly number[] | undefined): number => Math.hypot(...(v ?? [0]));

// The joint's wrench, asked for while it is shown.
function Borne({ id }: { id: string }): JSX.Element | null {
  const [state, show] = useState<SceneJointState | undefined>(undefined);
  const running = store.runState.value === 'running';
  useEffect(() => {
    const look = (): void =>
      void call<{ state?: SceneJointState }>('GET', `/joints/${enc(id)}`).then(
        (now) => show(now.state),
        () => undefined, // it may be gone by now
      );
    look();
    if (!running) return undefined;
    const timer = window.setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [id, running]);
  if (!state) return null;
  return (
    <>
      <Row label="Force borne">
        <output aria-label={`Force of ${id}`}>{fixed(size(state.force), 2)} N</output>
      </Row>
      <Row label="Torque borne">
        <output aria-label={`Torque of ${id}`}>{fixed(size(state.torque), 3)} N m</output>
      </Row>
    </>
  );
}

function JointEntry({ j }: { j: SceneJoint }): JSX.Element {
  const [open, setOpen] = useState(false);
  const list = j.type === 'gear' ? [] : RELATIONS[j.type].coordinates;
  return (
    <Entry
      collection="joints"
      id={j.id}
      words={relationWords(j)}
      ends={endsOf(j)}
      enabled={j.enabled !== false}
      onEnable={(enabled) => patchJoint(j.id, { enabled })}
    >
      {j.type !== 'gear' && list[0] ? (
        <details class="group-of" onToggle={(e) => setOpen(e.currentTarget.open)}>
          <summary>Limits, damping, motor</summary>
          {open && <Borne id={j.id} />}
          {list.map((c, i) => (
            <CoordinateFields key={c.word} j={j} i={i} c={c} />
          ))}
          <MotorFields j={j} c={list[0]} />
        </details>
      ) : null}
    </Entry>
  );
}

// ---- springs ------------------------------------------------------------------------------------------

function SpringEntry({ s }: { s: SceneSpring }): JSX.Element {
  const field = (key: 'stiffness' | 'damping' | 'length', unit: string, scale: number): JSX.Element => (
    <NumberField
      shown={key}
      label={`${key} of ${s.id}`}
      unit={unit}
      value={(s[key] ?? 0) * scale}
      onCommit={(v) => void patchSpring(s.id, { [key]: v / scale })}
    />
  );
  return (
    <Entry
      collection="springs"
      id={s.id}
      words="spring"
      ends={[s.a.object, s.b.object]}
      enabled={s.enabled !== false}
      onEnable={(enabled) => patchSpring(s.id, { enabled })}
    >
      <div class="triple">
        {field('stiffness', 'N/m', 1)}
        {field('damping', 'N s/m', 1)}
        {field('length', 'mm', MM)}
      </div>
    </Entry>
  );
}

// Joints take the frame of a point, a line or a plane.
function isFrame(ref: string): boolean {
  const f = store.featureOf(ref);
  return !f || ['point', 'line', 'plane'].includes(kindOf(f));
}

// ---- the panel ----------------------------------------------------------------------------------------

function Make(): JSX.Element {
  return (
    <div class="kinds" role="group" aria-label="Joints between the two picked features">
      {ONE_STEP.map(([type, name]) => (
        <button
          key={type}
          type="button"
          class="chip"
          title={RELATIONS[type].words}
          onClick={() => void makeJoint(type)}
        >
          {name}
        </button>
      ))}
      <button type="button" class="chip" title="along the line between two points" onClick={() => void makeSpring()}>
        Spring
      </button>
    </div>
  );
}

export function Relations(): JSX.Element | null {
  const joints = store.joints.value;
  const springs = store.springs.value;
  const ready = store.picked.value.length === 2 && store.picked.value.every(isFrame);
  if (joints.length + springs.length === 0 && !ready) return null;
  return (
    <Section id="relations" title="Joints and springs">
      {ready && <Make />}
      <ul class="entries">
        {joints.map((j) => (
          <JointEntry key={j.id} j={j} />
        ))}
        {springs.map((s) => (
          <SpringEntry key={s.id} s={s} />
        ))}
      </ul>
    </Section>
  );
}
