// The selected object (shape, pose, mass) or constraint, as numbers.

import type { JSX } from 'preact';
import { deleteConstraint } from '../edits/constraints';
import { hold, releaseTool } from '../edits/devices';
import { commitDraft, draft, proposeChange } from '../edits/draft';
import { deleteObject, latestObject, patchObject, renameObject, setPose } from '../edits/objects';
import type { Constraint, Pose, SceneObject, Sense } from '../protocol';
import {
  canBeOneSided,
  canSeparate,
  constraintWords,
  hasSense,
  isOneSided,
  kindOf,
  senseWords,
} from '../state/constraints';
import { contactWords } from '../state/contactframes';
import { withAngles, yawPitchRoll } from '../state/maths';
import { poses } from '../state/poses';
import * as store from '../state/store';
import { DEG, DISPLAY, fixed, geometryWords, MM, newtons, stateWords } from '../state/words';
import { Follows } from '../ui/cluster';
import { Outcome } from '../ui/dryrun';
import { Icon } from '../ui/icons';
import { Redundancy } from '../ui/redundancy';
import { SizeFields } from '../ui/size';
import { replaced, Triple, XYZ, YPR } from '../ui/triple';
import { Badge, BoundChoice, ContactChoice, NameField, NumberField, Row, Section } from '../ui/widgets';

function PoseFields({ o, pose }: { o: SceneObject; pose: Pose }): JSX.Element {
  const angles = yawPitchRoll(pose.q);
  const locked = store.runState.value === 'running' && !o.fixed;
  const put = (to: (from: Pose) => Pose): void => void setPose(o.id, pose, to);
  return (
    <>
      <h3>Position</h3>
      <Triple
        label="Position"
        names={XYZ}
        unit="mm"
        digits={2}
        disabled={locked}
        value={pose.p}
        scale={MM}
        onPut={(to) => put(({ p, q }) => ({ p: to(p), q }))}
      />
      <h3>Orientation</h3>
      <Triple
        label="Orientation"
        names={YPR}
        unit={'\u00b0'}
        digits={2}
        disabled={locked}
        value={angles}
        scale={DEG}
        onPut={(to) => put(({ p, q }) => ({ p, q: withAngles(q, to) }))}
      />
    </>
  );
}

function Mass({ o }: { o: SceneObject }): JSX.Element {
  const body = o.body ?? {};
  const given = body.mass !== undefined;
  const choose = (kind: string): void => {
    const next = kind === 'mass' ? { mass: 1, density: null } : { mass: null, density: 1000 };
    void patchObject(o.id, { body: next });
  };
  return (
    <div class="mass">
      <select
        aria-label="Mass given by"
        value={given ? 'mass' : 'density'}
        onChange={(e) => choose(e.currentTarget.value)}
      >
        <option value="mass">mass</option>
        <option value="density">density</option>
      </select>
      {given ? (
        <NumberField
          label="Mass"
          unit="kg"
          step={0.1}
          above={0}
          value={body.mass!}
          onCommit={(mass) => void patchObject(o.id, { body: { mass } })}
        />
      ) : (
        <NumberField
          label="Density"
          unit={'kg/m\u00b3'}
          step={100}
          above={0}
          value={body.density ?? 1000}
          onCommit={(density) => void patchObject(o.id, { body: { density } })}
        />
      )}
    </div>
  );
}

// Damping and initial velocity.
function Motion({ o }: { o: SceneObject }): JSX.Element {
  const { velocity } = o;
  const damping = o.body?.damping;
  const putBody = (body: Record<string, unknown>): void => void patchObject(o.id, { body });
  const put = (part: 'v' | 'w', i: number, x: number): void => {
    const now = latestObject(o.id)?.velocity;
    void patchObject(o.id, { velocity: { ...now, [part]: replaced(now?.[part] ?? [0, 0, 0], i, x) } });
  };
  const axes = (part: 'v' | 'w', unit: string, k: number, step: number): JSX.Element[] =>
    ['x', 'y', 'z'].map((axis, i) => {
      const now = velocity?.[part] ?? [0, 0, 0];
      const word = part === 'v' ? 'speed' : 'spin';
      return (
        <NumberField
          key={`${part}${axis}`}
          shown={`${word} ${axis}`}
          label={`Starts with ${word} ${axis}`}
          unit={unit}
          step={step}
          digits={2}
          value={now[i]! * k}
          onCommit={(x) => put(part, i, x / k)}
        />
      );
    });
  return (
    <details class="group-of">
      <summary>Damping and start</summary>
      <div class="pair">
        <NumberField
          shown="damping"
          label="Linear damping"
          unit="N s/m"
          step={0.1}
          value={damping?.linear ?? 0}
          onCommit={(linear) => putBody({ damping: { linear } })}
        />
        <NumberField
          shown="of turns"
          label="Angular damping"
          unit="N m s"
          step={0.01}
          digits={5}
          value={damping?.angular ?? 0}
          onCommit={(angular) => putBody({ damping: { angular } })}
        />
      </div>
      <div class="triple">
        {axes('v', 'mm/s', MM, 10)}
        {axes('w', '\u00b0/s', DEG, 10)}
      </div>
    </details>
  );
}

// The reaction wrench of a free body's constraints.
function Borne({ o }: { o: SceneObject }): JSX.Element | null {
  const state = store.figures.value?.bodies?.find((b) => b.object === o.id);
  const guided = store.scene.value.constraints?.some(
    (c) => c.enabled && [c.a, c.b].some((f) => f.startsWith(`${o.id}/`)),
  );
  if (!state || !guided || store.runState.value === 'stopped') return null;
  return (
    <Row label="constraints bear">
      {newtons(Math.hypot(...state.constraint.force))}, {fixed(Math.hypot(...state.constraint.torque), 3)} N m
    </Row>
  );
}

function HoldButton({ o }: { o: SceneObject }): JSX.Element | null {
  if (o.fixed || o.free) return null;
  return store.toolIndex(o.id) >= 0 ? (
    <button type="button" class="chip" onClick={() => void releaseTool()}>
      <Icon name="hand" />
      Let go of it
    </button>
  ) : (
    <button type="button" class="chip" onClick={() => void hold(o.id)}>
      <Icon name="hand" />
      Hold it with the device
    </button>
  );
}

function ObjectPanel({ o }: { o: SceneObject }): JSX.Element {
  const standing = store.summaries.value.get(o.id);
  const now = store.stateOf(o.id);
  const state = now ? stateWords[now] : undefined;
  // subscribes, so that the numbers follow the motion
  store.figures.value;
  return (
    <>
      <div class="title-row">
        <Icon name={o.geometry.type} />
        <NameField
          value={o.id}
          label={`Name of the ${geometryWords[o.geometry.type]}`}
          onCommit={(to) => void renameObject(o.id, to)}
        />
        <button
          type="button"
          class="tool"
          title="Delete (Delete)"
          aria-label={`Delete ${o.id}`}
          onClick={() => void deleteObject(o.id)}
        >
          <Icon name="trash" />
        </button>
      </div>
      <div class="badges">
        {o.fixed ? (
          <Badge icon="off" word="fixed" tone="off" />
        ) : o.free && now === 'free' ? (
          <Badge icon="free" word="moves freely" tone="free" />
        ) : (
          state && <Badge {...state} />
        )}
        {!o.fixed && o.free && now !== 'free' && <Badge icon="free" word="moves along its freedoms" tone="free" />}
      </div>
      <div class="checks">
        <label class="check">
          <input
            type="checkbox"
            checked={o.fixed ?? false}
            onChange={(e) => void patchObject(o.id, { fixed: e.currentTarget.checked })}
          />
          fixed
        </label>
        {!o.fixed && (
          <label
            class="check"
            title="By its weight and by what hits it, along what constraints to fixed objects leave; nobody holds it"
          >
            <input
              type="checkbox"
              checked={o.free ?? false}
              onChange={(e) => void patchObject(o.id, { free: e.currentTarget.checked })}
            />
            moves freely
          </label>
        )}
      </div>
      <Follows standing={standing} />
      <h3>Size</h3>
      <SizeFields
        g={o.geometry}
        onPut={(to) => void patchObject(o.id, { geometry: to(latestObject(o.id)?.geometry ?? o.geometry) })}
      />
      <PoseFields o={o} pose={poses.pose(o.id)} />
      {!o.fixed && (
        <>
          <h3>Mass</h3>
          <Mass o={o} />
          <Borne o={o} />
          <Motion o={o} />
        </>
      )}
      {store.materials.value.length > 0 && (
        <Row label="material">
          <select
            aria-label="Material"
            value={o.material ?? ''}
            onChange={(e) => void patchObject(o.id, { material: e.currentTarget.value || null })}
          >
            <option value="">as usual</option>
            {store.materials.value.map((m) => (
              <option key={m.id} value={m.id}>
                {m.id}
              </option>
            ))}
          </select>
        </Row>
      )}
      <div class="buttons">
        <HoldButton o={o} />
      </div>
    </>
  );
}

// A change is tried first, with ghosts drawn; Enter or Commit applies it.
function ConstraintPanel({ c }: { c: Constraint }): JSX.Element {
  const { unit } = kindOf(c.type);
  const display = unit && DISPLAY[unit];
  const now = draft.value?.id === c.id ? draft.value : null;
  const sense = now?.sense ?? c.sense ?? 'either';
  const take = (value: number): void => {
    if (display) proposeChange(c.id, { value: value / display.scale });
    void commitDraft();
  };
  return (
    <>
      <div class="title-row">
        <Icon name="chain" />
        <strong class="name">
          {c.id}: {constraintWords(c)}
        </strong>
        <button
          type="button"
          class="tool"
          title="Delete (Delete)"
          aria-label={`Delete constraint ${c.id}`}
          onClick={() => void deleteConstraint(c.id)}
        >
          <Icon name="trash" />
        </button>
      </div>
      <Row label="a">{c.a}</Row>
      <Row label="b">{c.b}</Row>
      {kindOf(c.type).touching && c.enabled !== false && (
        <p class="quiet" data-contact-words>
          {contactWords.value ? `The contact allows: ${contactWords.value}.` : 'The two do not touch now.'}
        </p>
      )}
      {display && (
        <Row label="value">
          <NumberField
            label="Value"
            unit={display.unit}
            value={(now?.value ?? c.value ?? 0) * display.scale}
            trial
            onInput={(v) => proposeChange(c.id, { value: v / display.scale })}
            onCommit={take}
          />
        </Row>
      )}
      {canBeOneSided(c) && (
        <Row label="holds">
          <BoundChoice value={now?.bound ?? c.bound ?? 'equal'} onChange={(bound) => proposeChange(c.id, { bound })} />
        </Row>
      )}
      {canSeparate(c) && (
        <Row label="contact">
          <ContactChoice
            contact={now?.contact ?? c.contact ?? 'bilateral'}
            inside={now?.inside ?? c.inside ?? false}
            onPut={(change) => proposeChange(c.id, change)}
          />
        </Row>
      )}
      {hasSense(c) && !isOneSided(c) && (
        <Row label="sense">
          <select
            aria-label="Sense of the constraint"
            value={sense}
            onChange={(e) => proposeChange(c.id, { sense: e.currentTarget.value as Sense })}
          >
            {(['either', 'same', 'opposite'] as const).map((s) => (
              <option key={s} value={s}>
                {senseWords[s]}
              </option>
            ))}
          </select>
        </Row>
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={now?.enabled ?? c.enabled !== false}
          onChange={(e) => proposeChange(c.id, { enabled: e.currentTarget.checked })}
        />
        enabled
      </label>
      {now && <Outcome />}
      {!now && store.redundancyOf(c.id) && <Redundancy id={c.id} />}
    </>
  );
}

export function Inspector(): JSX.Element | null {
  const object = store.objects.value.find((o) => o.id === store.selectedObject.value);
  const joint = store.constraints.value.find((c) => c.id === store.selectedConstraint.value);
  if (!object && !joint) return null;
  return (
    <Section id="selection" title="Selection">
      {object ? <ObjectPanel key={object.id} o={object} /> : <ConstraintPanel key={joint!.id} c={joint!} />}
    </Section>
  );
}
