// Joints, gears and springs: limits, damping, motors and ratios, reaction wrenches; switched on and off, deleted.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { deleteRelation, inOrder, latestJoint, makeGear, patchJoint, patchSpring } from '../edits/relations';
import type { Motor, SceneJoint, SceneJointState, SceneSpring } from '../protocol';
import { type Coordinate, EFFORT, endsOf, RELATIONS, relationWords, springLength } from '../state/relations';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { DISPLAY, fixed, MM, measure, mm, newtons } from '../state/words';
import { Icon } from '../ui/icons';
import { NumberField, Row, Section } from '../ui/widgets';

type Joint = Exclude<SceneJoint, { type: 'gear' }>;

// ---- common to all entries ----------------------------------------------------------------------------

function Entry(p: {
  collection: 'joints' | 'springs';
  id: string;
  words: string;
  ends: [string, string];
  enabled: boolean;
  onEnable: (on: boolean) => Promise<boolean>;
  children?: ComponentChildren;
}): JSX.Element {
  const point = (on: boolean) => (): void => {
    store.highlighted.value = on ? [p.id] : [];
  };
  return (
    <li
      class={`entry entry-${p.enabled ? 'ok' : 'disabled'}`}
      onMouseEnter={point(true)}
      onMouseLeave={point(false)}
      onFocusCapture={point(true)}
      onBlurCapture={point(false)}
    >
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

const latestOf = (j: Joint): Joint => {
  const now = latestJoint(j.id);
  return now && now.type !== 'gear' ? now : j;
};

// ---- joints -------------------------------------------------------------------------------------------

const BALL_LIMITS = ['swing', 'rotation'];
const ROOM = { m: 0.1, rad: 1 }; // initial half range of limits that are switched on

function CoordinateFields({ j, i, c }: { j: Joint; i: number; c: Coordinate }): JSX.Element {
  const { unit, scale } = DISPLAY[c.unit];
  const count = RELATIONS[j.type].coordinates.length;
  const pair = j.limits?.[i];
  const ball = j.type === 'spherical'; // its limits are angles from zero: of the z axes, and of the whole rotation
  const none: [number, number] = [ball ? 0 : -ROOM[c.unit], ROOM[c.unit]];
  const limited = ball ? BALL_LIMITS[i] : c.word;
  const name = `${c.word} of ${j.id}`;
  const now = (): Joint => latestOf(j);
  const put = <T,>(list: readonly T[] | undefined, to: T, none: T): T[] =>
    Array.from({ length: count }, (_, k) => (k === i ? to : (list?.[k] ?? none)));
  const of = (list: readonly number[] | undefined): number => list?.[i] ?? 0;
  const limit = (edit: (pair: [number, number]) => [number, number] | null): void => {
    const { limits } = now();
    const to = edit(limits?.[i] ?? none);
    if (to && !inOrder(`the ${limited} of ${j.id}`, to[0] * scale, to[1] * scale, unit)) return;
    void patchJoint(j.id, { limits: put(limits, to, null) });
  };
  const spring = (key: 'stiffness' | 'rest', to: number): void =>
    void patchJoint(j.id, { spring: { [key]: put(now().spring?.[key], to, 0) } });
  return (
    <div class="triple numbers">
      {limited !== c.word && <h3 class="wide">{c.word}</h3>}
      {limited && (
        <label class="wide">
          <input
            type="checkbox"
            checked={!!pair}
            aria-label={`Limit the ${limited} of ${j.id}`}
            onChange={(e) => limit(e.currentTarget.checked ? () => none : () => null)}
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
              onCommit={(v) => limit(([low, high]) => (side ? [low, v / scale] : [v / scale, high]))}
            />
          ))}
      <NumberField
        shown="damping"
        label={`Damping of the ${name}`}
        unit={EFFORT[c.unit].damping}
        step={0.1}
        value={of(j.damping)}
        onCommit={(v) => void patchJoint(j.id, { damping: put(now().damping, v, 0) })}
      />
      {!ball && (
        <NumberField
          shown="friction"
          label={`Friction of the ${name}`}
          unit={EFFORT[c.unit].effort}
          step={0.1}
          value={of(j.friction)}
          onCommit={(v) => void patchJoint(j.id, { friction: put(now().friction, v, 0) })}
        />
      )}
      <NumberField
        shown="spring"
        label={`Spring stiffness of the ${name}`}
        unit={EFFORT[c.unit].stiffness}
        value={of(j.spring?.stiffness)}
        onCommit={(v) => spring('stiffness', v)}
      />
      {of(j.spring?.stiffness) > 0 && (
        <NumberField
          shown="pulls to"
          label={`Rest of the spring of the ${name}`}
          unit={unit}
          value={of(j.spring?.rest) * scale}
          onCommit={(v) => spring('rest', v / scale)}
        />
      )}
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
  ['speed', 'no faster than', 'rate'],
];

const motorsOf = (j: Joint): readonly (Motor | null)[] => (Array.isArray(j.motor) ? j.motor : [j.motor ?? null]);

function MotorFields({ j, i, c }: { j: Joint; i: number; c: Coordinate }): JSX.Element {
  const { unit, scale } = DISPLAY[c.unit];
  const motor = motorsOf(j)[i];
  const count = RELATIONS[j.type].coordinates.length;
  const of = count > 1 ? `${j.id}, ${c.word}` : j.id;
  const put = (edit: (motor: Motor | null) => Motor | null): void => {
    const now = motorsOf(latestOf(j));
    const all = Array.from({ length: count }, (_, k) => (k === i ? edit(now[k] ?? null) : (now[k] ?? null)));
    void patchJoint(j.id, { motor: all.some((m) => m) ? all : null });
  };
  return (
    <div class="triple numbers">
      <h3 class="wide">{count > 1 ? `Motor of the ${c.word}` : 'Motor'}</h3>
      {MOTOR.map(([key, word, what]) => {
        const own = what === 'place' || what === 'rate';
        const k = own ? scale : 1;
        return (
          <NumberField
            key={key}
            shown={word}
            label={`Motor ${word} of ${of}`}
            unit={own ? `${unit}${what === 'rate' ? '/s' : ''}` : EFFORT[c.unit][what]}
            step={key === 'torque' ? 0.1 : 1}
            value={(motor?.[key] ?? 0) * k}
            onCommit={(v) => put((m) => ({ ...m, [key]: v / k }))}
          />
        );
      })}
      {motor && (
        <button type="button" class="chip wide" aria-label={`No motor of ${of}`} onClick={() => put(() => null)}>
          No motor
        </button>
      )}
    </div>
  );
}

// Settings of the whole joint: the restitution of its limits, and whether its two bodies collide.
function WholeFields({ j }: { j: Joint }): JSX.Element {
  return (
    <div class="triple numbers">
      {j.type === 'spherical' && ( // one friction torque about any axis
        <NumberField
          shown="friction"
          label={`Friction of ${j.id}`}
          unit={EFFORT.rad.effort}
          step={0.1}
          value={j.friction?.[0] ?? 0}
          onCommit={(v) => void patchJoint(j.id, { friction: [v, v, v] })}
        />
      )}
      {j.limits?.some((pair) => pair) && (
        <NumberField
          shown="rebound at limits"
          label={`Restitution at the limits of ${j.id}`}
          unit=""
          step={0.05}
          value={j.restitution ?? 0}
          onCommit={(restitution) => void patchJoint(j.id, { restitution })}
        />
      )}
      <label class="wide">
        <input
          type="checkbox"
          checked={j.collide === true}
          aria-label={`What ${j.id} joins may collide`}
          onChange={(e) => void patchJoint(j.id, { collide: e.currentTarget.checked })}
        />{' '}
        may collide
      </label>
    </div>
  );
}

const LOOK_MS = 500;
const size = (v: readonly number[] | undefined): number => Math.hypot(...(v ?? [0]));

// Initial position and velocity: as stated, else those of the objects' poses and velocities.
function Start({ j, list, now }: { j: Joint; list: readonly Coordinate[]; now: SceneJointState }): JSX.Element {
  const locked = store.runState.value !== 'stopped';
  const put = (key: 'position' | 'velocity', i: number, to: number): void => {
    const known = latestOf(j)[key] ?? now[key];
    void patchJoint(j.id, { [key]: list.map((_, k) => (k === i ? to : (known[k] ?? 0))) });
  };
  return (
    <div class="triple numbers">
      {(['position', 'velocity'] as const).map((key) =>
        list.map((c, i) => {
          const { unit, scale } = DISPLAY[c.unit];
          const rate = key === 'velocity';
          return (
            <NumberField
              key={`${key} ${c.word}`}
              shown={`${rate ? 'speed' : 'start'}${list.length > 1 ? `, ${c.word}` : ''}`}
              label={`Start ${key} of the ${c.word} of ${j.id}`}
              unit={rate ? `${unit}/s` : unit}
              disabled={locked}
              value={((j[key] ?? now[key])[i] ?? 0) * scale}
              onCommit={(v) => put(key, i, v / scale)}
            />
          );
        }),
      )}
      {j.position && (
        <button
          type="button"
          class="chip wide"
          disabled={locked}
          onClick={() => void patchJoint(j.id, { position: null })}
        >
          Start where the objects are
        </button>
      )}
    </div>
  );
}

// The joint's reaction wrench, requested while it is shown.
function Borne({ j, list }: { j: Joint; list: readonly Coordinate[] }): JSX.Element | null {
  const [state, show] = useState<SceneJointState | undefined>(undefined);
  const { id } = j;
  const run = store.runState.value;
  const running = run === 'running';
  const revision = running ? 0 : store.revision.value;
  useEffect(() => {
    const look = (): void =>
      void call<{ state?: SceneJointState }>('GET', `/joints/${enc(id)}`).then(
        (now) => show(now.state),
        () => undefined, // the joint may have been deleted
      );
    look();
    if (!running) return undefined;
    const timer = window.setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [id, run, revision]);
  if (!state) return null;
  return (
    <>
      {list.map((c, i) => (
        <Row key={c.word} label={`${c.word} now`}>
          <output aria-label={`The ${c.word} of ${id} now`}>{measure(c.unit, state.position[i] ?? 0)}</output>
        </Row>
      ))}
      {list.length > 0 && <Start j={j} list={list} now={state} />}
      <Row label="Force borne">
        <output aria-label={`Force of ${id}`}>{fixed(size(state.force), 2)} N</output>
      </Row>
      <Row label="Torque borne">
        <output aria-label={`Torque of ${id}`}>{fixed(size(state.torque), 3)} N m</output>
      </Row>
    </>
  );
}

function Gear({ j }: { j: Extract<SceneJoint, { type: 'gear' }> }): JSX.Element {
  return (
    <div class="triple">
      <NumberField
        shown="ratio"
        label={`Ratio of ${j.id}`}
        unit=""
        step={0.1}
        digits={6}
        value={j.ratio}
        onCommit={(ratio) => void patchJoint(j.id, { ratio })}
      />
    </div>
  );
}

function Pitch({ j }: { j: Extract<Joint, { type: 'screw' }> }): JSX.Element {
  const turn = 2 * Math.PI * MM; // mm per turn
  return (
    <div class="triple">
      <NumberField
        shown="pitch"
        label={`Pitch of ${j.id}`}
        unit="mm a turn"
        step={0.1}
        value={(j.pitch ?? 0) * turn}
        onCommit={(v) => void patchJoint(j.id, { pitch: v / turn })}
      />
    </div>
  );
}

// The joint's reaction wrench and settings, once opened.
function Numbers({ j }: { j: Joint }): JSX.Element {
  const [open, setOpen] = useState(false);
  const list = RELATIONS[j.type].coordinates;
  return (
    <details class="group-of" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{list[0] ? 'Limits, damping, motor' : 'Force and torque'}</summary>
      {open && <Borne j={j} list={list} />}
      {j.type === 'screw' && <Pitch j={j} />}
      {list.map((c, i) => (
        <CoordinateFields key={c.word} j={j} i={i} c={c} />
      ))}
      <WholeFields j={j} />
      {list.map((c, i) => (
        <MotorFields key={c.word} j={j} i={i} c={c} />
      ))}
    </details>
  );
}

function JointEntry({ j }: { j: SceneJoint }): JSX.Element {
  return (
    <Entry
      collection="joints"
      id={j.id}
      words={relationWords(j)}
      ends={endsOf(j)}
      enabled={j.enabled !== false}
      onEnable={(enabled) => patchJoint(j.id, { enabled })}
    >
      {j.type === 'gear' ? <Gear j={j} /> : <Numbers j={j} />}
    </Entry>
  );
}

// ---- springs ------------------------------------------------------------------------------------------

// The spring's present length and force.
function Stretch({ s }: { s: SceneSpring }): JSX.Element {
  store.figures.value; // subscribes while bodies move
  const now = springLength(s);
  const force = (s.stiffness ?? 0) * (now - (s.length ?? 0));
  return (
    <p class="quiet spring-now">
      {mm(now)} long now, {force < 0 ? 'pushes' : 'pulls'} with {newtons(Math.abs(force))}
    </p>
  );
}

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
      <Stretch s={s} />
    </Entry>
  );
}

// ---- gears --------------------------------------------------------------------------------------------

// True for joints of one coordinate or with one rotation, which a gear can couple by a ratio.
const canGear = (j: SceneJoint): boolean => ['revolute', 'prismatic', 'cylindrical', 'screw'].includes(j.type);

function NewGear(): JSX.Element | null {
  const list = store.joints.value.filter(canGear);
  const [ends, setEnds] = useState<[string, string]>(['', '']);
  const [ratio, setRatio] = useState(1);
  if (list.length < 2) return null;
  const known = (id: string, other: string): string =>
    list.some((j) => j.id === id) ? id : list.find((j) => j.id !== other)!.id;
  const first = known(ends[0], '');
  const second = known(ends[1] === first ? '' : ends[1], first);
  const choice = (label: string, value: string, onChange: (id: string) => void): JSX.Element => (
    <select aria-label={label} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
      {list.map((j) => (
        <option key={j.id} value={j.id}>
          {j.id}
        </option>
      ))}
    </select>
  );
  return (
    <details class="group-of">
      <summary>Add a gear</summary>
      <p class="quiet">
        The first moves by the ratio times the second; below 0 the other way, as two wheels in mesh do. A rack is a
        slide with a turn: mm for a degree.
      </p>
      <div class="triple">
        {choice('First joint of the gear', first, (id) => setEnds([id, second === id ? first : second]))}
        <NumberField
          label="Ratio of the new gear"
          unit="times"
          step={0.1}
          digits={6}
          value={ratio}
          onCommit={setRatio}
        />
        {choice('Second joint of the gear', second, (id) => setEnds([first === id ? second : first, id]))}
      </div>
      <button type="button" class="chip" onClick={() => void makeGear(first, second, ratio)}>
        Join them by a gear
      </button>
    </details>
  );
}

// ---- the panel ----------------------------------------------------------------------------------------

export function Relations(): JSX.Element | null {
  const joints = store.joints.value;
  const springs = store.springs.value;
  if (joints.length + springs.length === 0) return null;
  return (
    <Section id="relations" title="Joints and springs">
      <ul class="entries">
        {joints.map((j) => (
          <JointEntry key={j.id} j={j} />
        ))}
        {springs.map((s) => (
          <SpringEntry key={s.id} s={s} />
        ))}
      </ul>
      <NewGear />
    </Section>
  );
}
