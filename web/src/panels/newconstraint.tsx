// Joining two features: the kinds that fit, in words; hovering or focusing one tries it, Enter commits.
import type { JSX } from 'preact';
import { commitDraft, draft, propose, wanted } from '../edits/draft';
import type { Bound, ConstraintType, Sense } from '../protocol';
import { boundWords, KINDS, kindNames, measured, misfit, type Offer, offers, senseWords } from '../state/constraints';
import * as store from '../state/store';
import { DEG, degrees, MM, mm } from '../state/words';
import { Outcome } from '../ui/dryrun';
import { Icon } from '../ui/icons';
import { BoundChoice, NumberField, Section } from '../ui/widgets';

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
  if (o.unit === 'm' && bound !== 'equal') return `keep ${boundWords[bound]} ${mm(value)} apart`;
  if (o.unit === 'm') return `${mm(o.signed ? value : Math.abs(value))} apart`;
  if (o.unit === 'rad') return `at ${degrees(value)}`;
  return kindNames[o.type];
}

function Value({ o }: { o: Offer }): JSX.Element | null {
  const now = draft.value;
  if (!now || now.id || now.type !== o.type || !o.unit) return null;
  const k = o.unit === 'm' ? MM : DEG;
  return (
    <NumberField
      label={o.unit === 'm' ? 'Distance' : 'Angle'}
      value={now.value * k}
      unit={o.unit === 'm' ? 'mm' : '\u00b0'}
      digits={3}
      onInput={(v) => propose(o.type, { value: v / k })}
      onCommit={(v) => propose(o.type, { value: v / k })}
      onEnter={() => void commitDraft()}
    />
  );
}

function SenseChoice({ o }: { o: Offer }): JSX.Element | null {
  const now = draft.value;
  if (!now || now.id || now.type !== o.type || !o.sense) return null;
  return (
    <select
      class="sense"
      aria-label="Sense"
      value={now.sense}
      onChange={(e) => propose(o.type, { sense: e.currentTarget.value as Sense })}
    >
      {(['either', 'same', 'opposite'] as const).map((s) => (
        <option key={s} value={s}>
          {senseWords[s]}
        </option>
      ))}
    </select>
  );
}

// A list that appears under a mouse at rest is not hovered by anyone: only a mouse that moved counts.
const last = { x: -1, y: -1 };
document.addEventListener('mousemove', (e) => {
  last.x = e.clientX;
  last.y = e.clientY;
});
const moved = (e: MouseEvent): boolean => e.clientX !== last.x || e.clientY !== last.y;

// A finger cannot hover: its first tap on a kind previews, the second commits.
let touched = false;

function OfferRow({ o }: { o: Offer }): JSX.Element {
  const active = draft.value?.type === o.type && !draft.value.id;
  const value = active ? draft.value!.value : o.value;
  if (!o.fits)
    return (
      <li class="offer misfit">
        <button type="button" class="offer-main" aria-disabled="true">
          <span>{kindNames[o.type]}</span>
          <span class="offer-note">{o.why}</span>
        </button>
      </li>
    );
  return (
    <li class={`offer ${active ? 'active' : ''}`}>
      <button
        type="button"
        class="offer-main"
        data-kind={o.type}
        aria-pressed={active}
        onMouseMove={(e) => moved(e) && propose(o.type)}
        onFocus={() => propose(o.type)}
        onPointerDown={(e) => (touched = e.pointerType !== 'mouse' && !active)}
        onClick={() => {
          propose(o.type);
          if (!touched) void commitDraft();
          touched = false;
        }}
      >
        <span>{offerWords(o, value, active ? draft.value!.bound : 'equal')}</span>
        <span class="offer-note">{o.why}</span>
      </button>
      {active && (o.unit || o.sense || o.wall) && (
        <div class="offer-more">
          <Value o={o} />
          {o.wall && <BoundChoice value={draft.value!.bound} onChange={(bound) => propose(o.type, { bound })} />}
          <SenseChoice o={o} />
        </div>
      )}
    </li>
  );
}

// What lies between the two now, and a button that keeps exactly that.
function Measured({ a, b }: { a: string; b: string }): JSX.Element | null {
  store.figures.value; // while something moves, the numbers follow
  if (misfit(a, b)) return null;
  return (
    <ul class="measured" aria-label="Between the two now">
      {measured(a, b).map((m) => {
        const word = m.type === 'distance' ? 'Distance' : 'Angle';
        const keep = { value: m.value, sense: 'either' as Sense, bound: 'equal' as const };
        return (
          <li key={m.type}>
            <span class="quiet">{word}</span>
            <output>{m.type === 'distance' ? mm(m.value) : degrees(m.value)}</output>
            <button
              type="button"
              class="chip"
              title={m.note}
              onMouseMove={(e) => moved(e) && propose(m.type, draft.value?.type === m.type ? {} : keep)}
              onFocus={() => propose(m.type, keep)}
              onClick={() => {
                propose(m.type, keep);
                void commitDraft();
              }}
            >
              Keep this {m.type}
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
      {KINDS.map((type) => (
        <button key={type} type="button" class="chip" aria-pressed={wanted.value === type} onClick={() => choose(type)}>
          {type}
        </button>
      ))}
    </div>
  );
}

export function NewConstraint(): JSX.Element {
  const [a, b] = store.picked.value;
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
              <OfferRow key={o.type} o={o} />
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
