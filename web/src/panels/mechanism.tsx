// The selected mechanism or link: joints with their present values, which can be typed while stopped; mass, motor,
// limits; holding the link at a point.

import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { holdLink, releaseTool } from '../edits/devices';
import {
  addLink,
  deleteMechanism,
  dropLastLink,
  latestLink,
  latestMechanism,
  patchJoint,
  patchLink,
  patchMechanism,
  renameMechanism,
  setMotor,
  showPositions,
} from '../edits/mechanisms';
import { inOrder } from '../edits/relations';
import type { Joint, Mechanism, Motor, Pose, Vec3 } from '../protocol';
import { JOINTS, jointKind } from '../state/joints';
import { withAngles, yawPitchRoll } from '../state/maths';
import { fullPose, type LinkRef, linkId, linkName, linkPoses } from '../state/mechanisms';
import * as store from '../state/store';
import { DEG, DISPLAY, fixed, MM } from '../state/words';
import { Icon } from '../ui/icons';
import { MassFields, ShapeFields } from '../ui/linkshape';
import { Triple, XYZ, YPR } from '../ui/triple';
import { NameField, NumberField, Row, Section } from '../ui/widgets';

const unitOf = (j: Joint): string => DISPLAY[jointKind(j.type).unit].unit;
const factor = (j: Joint): number => DISPLAY[jointKind(j.type).unit].scale;

// Present positions and velocities; the initial ones where the server has sent no others.
function now(m: Mechanism): { q: number[]; v: number[] } {
  const stopped = store.runState.value === 'stopped';
  const live = stopped ? undefined : store.figures.value?.mechanisms?.find((x) => x.id === m.id);
  return {
    q: store.positionsOf(m),
    v: live?.velocities ?? m.links.map((l) => l.joint.velocity ?? 0),
  };
}

// ---- the mechanism ------------------------------------------------------------------------------------

const range = (j: Joint): [number, number] => (j.limits ? [j.limits.lower, j.limits.upper] : jointKind(j.type).range);

const ECHO_MS = 1200;
const bent = (m: Mechanism, i: number, q: number): number[] =>
  m.links.map((l, k) => (k === i ? q : (l.joint.position ?? 0)));

function JointRow({ m, i, q }: { m: Mechanism; i: number; q: number }): JSX.Element {
  const joint = m.links[i]!.joint;
  const name = linkName(m, i);
  const id = linkId(m.id, i);
  const locked = store.runState.value !== 'stopped';
  const [low, high] = range(joint);
  const hand = useRef({ value: 0, until: 0 }); // steps that come faster than their echo continue from the last one
  const shown = performance.now() < hand.current.until ? hand.current.value : q;
  const slide = (value: number): void => {
    hand.current = { value, until: performance.now() + ECHO_MS };
    showPositions(m, bent(m, i, value));
  };
  const put = (position: number): void => void patchJoint(m, i, { position });
  const point = (on: boolean): void => {
    store.hoverObject.value = on ? id : '';
  };
  return (
    <li
      class="freedom"
      onMouseEnter={() => point(true)}
      onMouseLeave={() => point(false)}
      onFocusCapture={() => point(true)}
      onBlurCapture={() => point(false)}
    >
      <button type="button" class="joint-name" title={`Select ${name}`} onClick={() => store.selectObject(id)}>
        <Icon name={jointKind(joint.type).icon} />
        {name}
      </button>
      <input
        type="range"
        min={low}
        max={high}
        step={(high - low) / 360}
        value={shown}
        disabled={locked}
        aria-label={`Joint of ${name}`}
        onInput={(e) => slide(Number(e.currentTarget.value))}
        onChange={(e) => put(Number(e.currentTarget.value))}
      />
      <NumberField
        label={`Position of ${name}`}
        unit={unitOf(joint)}
        digits={2}
        disabled={locked}
        value={q * factor(joint)}
        onCommit={(v) => put(v / factor(joint))}
      />
    </li>
  );
}

function MechanismFields({ m }: { m: Mechanism }): JSX.Element {
  const { q } = now(m);
  const base = fullPose(m.base);
  const locked = store.runState.value === 'running';
  const put = (to: (from: Pose) => Pose): void =>
    void patchMechanism(m.id, { base: to(fullPose(latestMechanism(m).base)) });
  const angles = yawPitchRoll(base.q);
  const mass = m.links.reduce((sum, l) => sum + (l.mass ?? 0), 0);
  const last = m.links[m.links.length - 1]!;
  const again = (): void => {
    const before = linkPoses(
      m,
      m.links.map(() => 0),
    );
    const end = before[before.length - 1]!;
    const length =
      Math.hypot(...(last.joint.origin?.p ?? [0.1, 0, 0])) ||
      Math.hypot(...end.p) / Math.max(1, m.links.length - 1) ||
      0.1;
    void addLink(m, { type: 'revolute', axis: 'z', offset: [length, 0, 0], mass: last.mass ?? 1, length });
  };
  return (
    <>
      <div class="title-row">
        <Icon name="arm" />
        <NameField value={m.id} label="Name of the mechanism" onCommit={(to) => void renameMechanism(m.id, to)} />
        <button
          type="button"
          class="tool"
          title="Delete (Delete)"
          aria-label={`Delete ${m.id}`}
          onClick={() => void deleteMechanism(m.id)}
        >
          <Icon name="trash" />
        </button>
      </div>
      <p class="quiet">
        {m.links.length} {m.links.length === 1 ? 'joint' : 'joints'}, {fixed(mass, 3)} kg in all. Select a link to hold
        it.
      </p>
      <h3>Joints</h3>
      <ul class="freedoms">
        {m.links.map((_, i) => (
          <JointRow key={i} m={m} i={i} q={q[i] ?? 0} />
        ))}
      </ul>
      <div class="buttons">
        <button type="button" class="chip" disabled={locked} onClick={again}>
          <Icon name="plus" />
          Add a link
        </button>
        <button type="button" class="chip" disabled={locked || m.links.length < 2} onClick={() => void dropLastLink(m)}>
          <Icon name="trash" />
          Drop the last
        </button>
      </div>
      <h3>Base</h3>
      <Triple
        label="Base"
        names={XYZ}
        unit="mm"
        digits={2}
        value={base.p}
        scale={MM}
        disabled={locked}
        onPut={(to) => put(({ p, q }) => ({ p: to(p), q }))}
      />
      <Triple
        label="Base"
        names={YPR}
        unit={'\u00b0'}
        digits={2}
        value={angles}
        scale={DEG}
        disabled={locked}
        onPut={(to) => put(({ p, q }) => ({ p, q: withAngles(q, to) }))}
      />
    </>
  );
}

// ---- a link ---------------------------------------------------------------------------------------------

// Members with their units: those of the coordinate, per second for rates.
const MOTOR: [keyof Motor, string, 'effort' | 'stiffness' | 'damping' | 'coordinate' | 'rate'][] = [
  ['torque', 'torque', 'effort'],
  ['target', 'target', 'coordinate'],
  ['stiffness', 'stiffness', 'stiffness'],
  ['rate', 'rate', 'rate'],
  ['damping', 'damping', 'damping'],
  ['max', 'at most', 'effort'],
  ['speed', 'no faster than', 'rate'],
];

function motorUnit(joint: Joint, of: (typeof MOTOR)[number][2]): { unit: string; scale: number } {
  const kind = jointKind(joint.type);
  const { unit, scale } = DISPLAY[kind.unit];
  if (of === 'coordinate') return { unit, scale };
  return of === 'rate' ? { unit: `${unit}/s`, scale } : { unit: kind[of], scale: 1 };
}

function MotorFields({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const joint = m.links[i]!.joint;
  const motor = joint.motor ?? {};
  return (
    <details class="group-of" open={!!joint.motor}>
      <summary>Motor{!joint.motor && <span class="quiet"> none</span>}</summary>
      <div class="triple">
        {MOTOR.map(([key, word, of]) => {
          const { unit, scale } = motorUnit(joint, of);
          return (
            <NumberField
              key={key}
              shown={word}
              label={`Motor ${word}`}
              unit={unit}
              step={key === 'torque' ? 0.1 : 1}
              value={(motor[key] ?? 0) * scale}
              onCommit={(v) => void setMotor(m, i, { [key]: v / scale })}
            />
          );
        })}
      </div>
      <p class="quiet">
        Torque + stiffness (target {'\u2212'} position) + damping (rate {'\u2212'} velocity), at most as said, driving
        no faster than said (0: no bound). At once, running or not.
      </p>
      {joint.motor && (
        <button type="button" class="chip" onClick={() => void setMotor(m, i, null)}>
          No motor
        </button>
      )}
    </details>
  );
}

function LimitFields({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const joint = m.links[i]!.joint;
  const k = factor(joint);
  const { limits } = joint;
  const [low, high] = range(joint);
  const limit = (to: { lower: number } | { upper: number }): void => {
    const [lowest, highest] = range(latestLink(m, i).joint);
    const { lower, upper } = { lower: lowest, upper: highest, ...to };
    if (inOrder(`joint ${i}`, lower * k, upper * k, unitOf(joint))) void patchJoint(m, i, { limits: to });
  };
  return (
    <>
      <label class="check">
        <input
          type="checkbox"
          checked={!!limits}
          onChange={(e) =>
            void patchJoint(m, i, { limits: e.currentTarget.checked ? { lower: low, upper: high } : null })
          }
        />
        limits
      </label>
      {limits && (
        <div class="triple">
          <NumberField
            shown="lower"
            label="Lower limit"
            unit={unitOf(joint)}
            digits={2}
            value={limits.lower * k}
            onCommit={(v) => limit({ lower: v / k })}
          />
          <NumberField
            shown="upper"
            label="Upper limit"
            unit={unitOf(joint)}
            digits={2}
            value={limits.upper * k}
            onCommit={(v) => limit({ upper: v / k })}
          />
          <NumberField
            shown="rebound"
            label="Restitution at the limits"
            unit=""
            step={0.05}
            value={joint.restitution ?? 0}
            onCommit={(restitution) => void patchJoint(m, i, { restitution })}
          />
        </div>
      )}
    </>
  );
}

// The point at which the link would be held: the clicked one, else its centre of mass; it can be typed.
function Hold({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const id = linkId(m.id, i);
  const index = store.toolIndex(id);
  const held = store.tools.value[index];
  const clicked = store.clickedPoint.value?.id === id ? store.clickedPoint.value.at : undefined;
  const place: Vec3 = clicked ?? (held ? fullPose(held.at).p : (m.links[i]!.com ?? [0, 0, 0]));
  const same = held && Math.hypot(...fullPose(held.at).p.map((x, k) => x - place[k]!)) < 1e-7;
  return (
    <>
      <h3>{held ? 'Held at' : 'Hold it at'}</h3>
      <Triple
        label="Held point"
        names={XYZ}
        unit="mm"
        digits={2}
        value={place}
        scale={MM}
        onPut={(to) => (store.clickedPoint.value = { id, at: to(place) })}
      />
      <div class="buttons">
        {!same && (
          <button type="button" class="chip" onClick={() => void holdLink(m.id, i, place)}>
            <Icon name="hand" />
            Hold here
          </button>
        )}
        {held && (
          <button type="button" class="chip" onClick={() => void releaseTool()}>
            <Icon name="hand" />
            Let go
          </button>
        )}
      </div>
      <p class="quiet">A click on the link says where.</p>
    </>
  );
}

function LinkFields({ found }: { found: LinkRef }): JSX.Element {
  const { mechanism: m, index: i, link } = found;
  const { q, v } = now(m);
  const joint = link.joint;
  const k = factor(joint);
  const locked = store.runState.value !== 'stopped';
  const origin = (to: (p: Vec3) => Vec3): Pose => {
    const { p, q } = fullPose(latestLink(m, i).joint.origin);
    return { p: to(p), q };
  };
  return (
    <>
      <div class="title-row">
        <Icon name={jointKind(joint.type).icon} />
        <NameField value={linkName(m, i)} label="Name of the link" onCommit={(id) => void patchLink(m, i, { id })} />
        <button type="button" class="chip" onClick={() => store.selectObject(m.id)}>
          <Icon name="arm" />
          {m.id}
        </button>
      </div>
      <Hold m={m} i={i} />
      <h3>Joint</h3>
      <Row label="type">
        <select
          aria-label="Type of the joint"
          value={joint.type}
          onChange={(e) => void patchJoint(m, i, { type: e.currentTarget.value as Joint['type'] })}
        >
          {JOINTS.map(({ type, verb }) => (
            <option key={type} value={type}>
              {type}: {verb}
            </option>
          ))}
        </select>
      </Row>
      <div class="triple">
        <NumberField
          shown="position"
          label="Joint position"
          unit={unitOf(joint)}
          digits={2}
          disabled={locked}
          value={(q[i] ?? 0) * k}
          onCommit={(x) => void patchJoint(m, i, { position: x / k })}
        />
        <NumberField
          shown="velocity"
          label="Joint velocity"
          unit={`${unitOf(joint)}/s`}
          digits={2}
          disabled={locked}
          value={(v[i] ?? 0) * k}
          onCommit={(x) => void patchJoint(m, i, { velocity: x / k })}
        />
        <NumberField
          shown="damping"
          label="Joint damping"
          unit={jointKind(joint.type).damping}
          step={0.01}
          digits={4}
          value={joint.damping ?? 0}
          onCommit={(damping) => void patchJoint(m, i, { damping })}
        />
        <NumberField
          shown="friction"
          label="Joint friction"
          unit={jointKind(joint.type).effort}
          step={0.01}
          digits={4}
          value={joint.friction ?? 0}
          onCommit={(friction) => void patchJoint(m, i, { friction })}
        />
      </div>
      <LimitFields m={m} i={i} />
      <details class="group-of">
        <summary>Where the joint is</summary>
        <p class="field-head">origin, in the {i === 0 ? 'base' : 'link before'}</p>
        <Triple
          label="Joint origin"
          names={XYZ}
          unit="mm"
          digits={2}
          value={fullPose(joint.origin).p}
          scale={MM}
          onPut={(to) => void patchJoint(m, i, { origin: origin(to) })}
        />
        <p class="field-head">axis</p>
        <Triple
          label="Joint axis"
          names={XYZ}
          unit=""
          digits={4}
          step={0.1}
          value={joint.axis ?? [0, 0, 1]}
          scale={1}
          onPut={(to) => void patchJoint(m, i, { axis: to(latestLink(m, i).joint.axis ?? [0, 0, 1]) })}
        />
      </details>
      <MotorFields m={m} i={i} />
      <details class="group-of" open>
        <summary>Shape</summary>
        <ShapeFields m={m} i={i} />
      </details>
      <details class="group-of" open>
        <summary>Mass</summary>
        <MassFields m={m} i={i} />
      </details>
    </>
  );
}

export function MechanismPanel(): JSX.Element | null {
  const id = store.selectedObject.value;
  const m = store.mechanismOf(id);
  const found = store.linkRef(id);
  if (!m && !found) return null;
  store.figures.value; // subscribes, so that the numbers follow the motion
  return (
    <Section id="mechanism" title={m ? 'Mechanism' : 'Link'}>
      {m ? <MechanismFields key={m.id} m={m} /> : <LinkFields key={id} found={found!} />}
    </Section>
  );
}
