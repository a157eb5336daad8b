// Joining two features: the kinds that fit, in words; hovering or focusing one tries it, Enter commits.
import type { JSX } from 'preact';
import { commitDraft, draft, dropDraft, preview, propose, stepBranch, wanted } from '../draft';
import { deleteConstraint, patchConstraint } from '../actions';
import { distanceNow, kindNames, KINDS, offers, place, senseWords, type Offer } from '../kinds';
import type { Conflict, ConstraintType, Sense } from '../protocol';
import { Icon } from '../ui/icons';
import { NumberField, Section } from '../ui/widgets';
import { DEG, MM, degrees, mm } from '../words';
import * as store from '../store';

function Picked(): JSX.Element {
  return (
    <ol class="picked">
      {[0, 1].map((i) => {
        const ref = store.picked.value[i];
        return ref
          ? <li key={i}><span class="pick-dot" aria-hidden="true" />{ref}
            <button type="button" class="tool tiny" aria-label={`Let go of ${ref}`} onClick={() => store.pick(ref)}><Icon name="close" /></button></li>
          : <li key={i} class="quiet">{i === 0 ? 'pick a feature' : 'and one of another object'}</li>;
      })}
    </ol>
  );
}

// "coincident", "20 mm apart", "at 90 degrees"
function offerWords(o: Offer, value: number): string {
  if (o.unit === 'm') return `${mm(o.signed ? value : Math.abs(value))} apart`;
  if (o.unit === 'rad') return `at ${degrees(value)}`;
  return kindNames[o.type];
}

function Value({ o }: { o: Offer }): JSX.Element | null {
  const now = draft.value;
  if (!now || now.type !== o.type || !o.unit) return null;
  const k = o.unit === 'm' ? MM : DEG;
  return (
    <NumberField label={o.unit === 'm' ? 'Distance' : 'Angle'} value={now.value * k} unit={o.unit === 'm' ? 'mm' : '\u00b0'}
      digits={3} onInput={(v) => propose(o.type, { value: v / k })} onCommit={(v) => propose(o.type, { value: v / k })}
      onEnter={() => void commitDraft()} />
  );
}

function SenseChoice({ o }: { o: Offer }): JSX.Element | null {
  const now = draft.value;
  if (!now || now.type !== o.type || !o.sense) return null;
  return (
    <select class="sense" aria-label="Sense" value={now.sense} onChange={(e) => propose(o.type, { sense: e.currentTarget.value as Sense })}>
      {(['either', 'same', 'opposite'] as const).map((s) => <option key={s} value={s}>{senseWords[s]}</option>)}
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
  const active = draft.value?.type === o.type;
  const value = active ? draft.value!.value : o.value;
  if (!o.fits)
    return (
      <li class="offer misfit">
        <button type="button" class="offer-main" aria-disabled="true"><span>{kindNames[o.type]}</span><span class="offer-note">{o.why}</span></button>
      </li>
    );
  return (
    <li class={`offer ${active ? 'active' : ''}`}>
      <button type="button" class="offer-main" data-kind={o.type} aria-pressed={active} onMouseMove={(e) => moved(e) && propose(o.type)} onFocus={() => propose(o.type)}
        onPointerDown={(e) => (touched = e.pointerType !== 'mouse' && !active)}
        onClick={() => {
          propose(o.type);
          if (!touched) void commitDraft();
          touched = false;
        }}>
        <span>{offerWords(o, value)}</span><span class="offer-note">{o.why}</span>
      </button>
      {active && (o.unit || o.sense) && <div class="offer-more"><Value o={o} /><SenseChoice o={o} /></div>}
    </li>
  );
}

function Branches(): JSX.Element | null {
  const now = preview.value;
  const list = now?.solution?.branches ?? [];
  if (!now || list.length < 2) return null;
  return (
    <div class="branch-step">
      <button type="button" class="tool" aria-label="Previous branch" title="Previous branch ([)" onClick={() => stepBranch(-1)}>[</button>
      <span>ghost {now.branch + 1} of {list.length}</span>
      <button type="button" class="tool" aria-label="Next branch" title="Next branch (])" onClick={() => stepBranch(1)}>]</button>
    </div>
  );
}

function fixes(): { label: string; run: () => void }[] {
  const now = draft.value;
  const others = store.culprits.value;
  const list: { label: string; run: () => void }[] = others.flatMap((id) => [
    { label: `Disable ${id}`, run: () => void patchConstraint(id, { enabled: false }).then((ok) => ok && again()) },
    { label: `Delete ${id}`, run: () => void deleteConstraint(id).then((ok) => ok && again()) },
  ]);
  const a = now && place(now.a);
  const b = now && place(now.b);
  if (now && a && b && (now.type === 'distance' || now.type === 'coincident')) {
    const held = Math.round(distanceNow(a, b) * 1e6) / 1e6;
    list.unshift({ label: `Set it to ${mm(held)}, as it is`, run: () => propose('distance', { value: held }) });
  }
  return list;
}

// The same draft once more, after something else changed.
function again(): void {
  const now = draft.value;
  if (!now) return;
  const { type, value, sense } = now;
  dropDraft();
  propose(type, { value, sense });
}

// The server names the constraint that is not there yet by the id that it would get.
function sentence(text: string, conflict: Conflict | null): string {
  const known = new Set(store.constraints.value.map((c) => c.id));
  let out = text;
  for (const id of conflict?.constraints ?? []) if (!known.has(id)) out = out.replace(id, 'the new one');
  return out;
}

function Outcome(): JSX.Element | null {
  const now = preview.value;
  if (!draft.value) return null;
  if (!now) return <p class="outcome quiet">Trying{'\u2026'}</p>;
  if (now.refusal)
    return (
      <div class="outcome refused" role="alert">
        <p><Icon name="broken" /><strong>Cannot hold.</strong> {sentence(now.refusal, now.conflict)}</p>
        <div class="fixes">{fixes().map((f) => <button key={f.label} type="button" onClick={f.run}>{f.label}</button>)}</div>
      </div>
    );
  const branch = now.solution?.branches[now.branch];
  return (
    <div class="outcome">
      <p><span class="quiet">It would leave</span> <strong class="motion">{branch?.words ?? now.solution?.words}</strong></p>
      <Branches />
      <button type="button" class="primary" onClick={() => void commitDraft()}>Commit <kbd>Enter</kbd></button>
    </div>
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
        <button key={type} type="button" class="chip" aria-pressed={wanted.value === type} onClick={() => choose(type)}>{type}</button>
      ))}
    </div>
  );
}

export function Join(): JSX.Element {
  const [a, b] = store.picked.value;
  store.features.value;
  const list = a && b ? offers(a, b) : [];
  return (
    <Section id="join" title="Join">
      <Picked />
      {a && b
        ? <><ul class="offers" aria-label="Kinds that join the two">{list.map((o) => <OfferRow key={o.type} o={o} />)}</ul><Outcome /></>
        : <KindFirst />}
    </Section>
  );
}
