// A new constraint: the kinds that fit the two picked features, in words. Hovering over or focusing one tries it by a
// dry run, Enter commits it.
import type { JSX } from 'preact';
import { commitDraft, draft, propose, wanted } from '../edits/draft';
import type { Bound, ConstraintType, Sense } from '../protocol';
import { boundWords, KINDS, measured, misfit, type Offer, offers, senseWords } from '../state/constraints';
import * as store from '../state/store';
import { DISPLAY, measure } from '../state/words';
import { Outcome } from '../ui/dryrun';
import { Icon } from '../ui/icons';
import { BoundChoice, ContactChoice, NumberField, Section } from '../ui/widgets';

function Picked(): JSX.Element {
  return (
    <ol class="picked">
      {[0, 1].map((i) => {
        const ref = store.picked.value[i];
        return ref ? (
          <li key={i}>
            <span class="pick-dot" aria-hidden="true" />
            {ref}
            <button type="button" class="tool tiny" aria-label={`Let go of ${ref}`} onClick={() => store.pick(ref)}>
              <Icon name="close" />
            </button>
          </li>
        ) : (
          <li key={i} class="quiet">
            {i === 0 ? 'pick a feature' : 'and one of another object'}
          </li>
        );
      })}
    </ol>
  );
}

// "coincident", "20 mm apart", "at least 20 mm apart", "at 90 degrees"
function offerWords(o: Offer, value: number, bound: Bound): string {
  if (bound !== 'equal') return `keep ${boundWords[bound]} ${o.kind.words(value)}`;
  return o.kind.words(o.signed || o.kind.unit !== 'm' ? value : Math.abs(value));
}

function Value({ o }: { o: Offer }): JSX.Element | null {
  const now = draft.value;
  if (!now || now.id || now.type !== o.kind.type || !o.kind.unit) return null;
  const { type, quantity, unit } = o.kind;
  const display = DISPLAY[unit];
  return (
    <NumberField
      label={quantity}
      value={now.value * display.scale}
      unit={display.unit}
      digits={3}
      onInput={(v) => propose(type, { value: v / display.scale })}
      onCommit={(v) => propose(type, { value: v / display.scale })}
      onEnter={() => void commitDraft()}
    />
  );
}

function SenseChoice({ o }: { o: Offer }): JSX.Element | null {
  const now = draft.value;
  if (!now || now.id || now.type !== o.kind.type || !o.sense) return null;
  return (
    <select
      class="sense"
      aria-label="Sense"
      value={now.sense}
      onChange={(e) => propose(o.kind.type, { sense: e.currentTarget.value as Sense })}
    >
      {(['either', 'same', 'opposite'] as const).map((s) => (
        <option key={s} value={s}>
          {senseWords[s]}
        </option>
      ))}
    </select>
  );
}

// The last place of the mouse: a list that appears under a mouse at rest is not hovered.
const last = { x: -1, y: -1 };
document.addEventListener('mousemove', (e) => {
  last.x = e.clientX;
  last.y = e.clientY;
});
const moved = (e: MouseEvent): boolean => e.clientX !== last.x || e.clientY !== last.y;

// Touch has no hover: the first tap on a kind previews it, the second commits it.
let touched = false;

function OfferRow({ o }: { o: Offer }): JSX.Element {
  const active = draft.value?.type === o.kind.type && !draft.value.id;
  const value = active ? draft.value!.value : o.value;
  if (!o.fits)
    return (
      <li class="offer misfit">
        <button type="button" class="offer-main" aria-disabled="true">
          <span>{o.kind.name}</span>
          <span class="offer-note">{o.why}</span>
        </button>
      </li>
    );
  return (
    <li class={`offer ${active ? 'active' : ''}`}>
      <button
        type="button"
        class="offer-main"
        data-kind={o.kind.type}
        aria-pressed={active}
        onMouseMove={(e) => moved(e) && propose(o.kind.type)}
        onFocus={() => propose(o.kind.type)}
        onPointerDown={(e) => (touched = e.pointerType !== 'mouse' && !active)}
        onClick={() => {
          propose(o.kind.type);
          if (!touched) void commitDraft();
          touched = false;
        }}
      >
        <span>{offerWords(o, value, active ? draft.value!.bound : 'equal')}</span>
        <span class="offer-note">{o.why}</span>
      </button>
      {active && (o.kind.unit || o.sense || o.oneSided || o.parts) && (
        <div class="offer-more">
          <Value o={o} />
          {o.oneSided && (
            <BoundChoice value={draft.value!.bound} onChange={(bound) => propose(o.kind.type, { bound })} />
          )}
          <SenseChoice o={o} />
          {o.parts && (
            <ContactChoice
              contact={draft.value!.contact}
              inside={draft.value!.inside}
              onPut={(change) => propose(o.kind.type, change)}
            />
          )}
        </div>
      )}
    </li>
  );
}

// The present distance and angle between the two features, with buttons that make constraints of them.
function Measured({ a, b }: { a: string; b: string }): JSX.Element | null {
  store.figures.value; // subscribes, so that the numbers follow the motion
  if (misfit(a, b)) return null;
  return (
    <ul class="measured" aria-label="Between the two now">
      {measured(a, b).map(({ kind: { type, quantity, unit }, value, note }) => {
        const keep = { value, sense: 'either' as Sense, bound: 'equal' as const };
        return (
          <li key={type}>
            <span class="quiet">{quantity}</span>
            <output>{unit && measure(unit, value)}</output>
            <button
              type="button"
              class="chip"
              title={note}
              aria-label={`Keep this ${type}`}
              onMouseMove={(e) => moved(e) && propose(type, draft.value?.type === type ? {} : keep)}
              onFocus={() => propose(type, keep)}
              onClick={() => {
                propose(type, keep);
                void commitDraft();
              }}
            >
              Keep
            </button>
          </li>
        );
      })}
    </ul>
  );
}

// A kind chosen before its features.
function KindFirst(): JSX.Element {
  const choose = (type: ConstraintType): void => {
    wanted.value = wanted.value === type ? '' : type;
  };
  return (
    <div class="kinds" role="group" aria-label="Kind of constraint, chosen before its features">
      {KINDS.map(({ type }) => (
        <button key={type} type="button" class="chip" aria-pressed={wanted.value === type} onClick={() => choose(type)}>
          {type}
        </button>
      ))}
    </div>
  );
}

// False for a scene of mechanisms alone, which has no features to join.
const joins = (): boolean => store.objects.value.length > 0 || store.mechanisms.value.length === 0;

export function NewConstraint(): JSX.Element | null {
  const [a, b] = store.picked.value;
  if (!joins()) return null;
  store.features.value;
  const list = a && b ? offers(a, b) : [];
  return (
    <Section id="join" title="Join">
      <Picked />
      {a && b ? (
        <>
          <Measured a={a} b={b} />
          <ul class="offers" aria-label="Kinds that join the two">
            {list.map((o) => (
              <OfferRow key={o.kind.type} o={o} />
            ))}
          </ul>
          <Outcome />
        </>
      ) : (
        <KindFirst />
      )}
    </Section>
  );
}
