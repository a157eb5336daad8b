// Contacts: the switch, and the pairs that are in contact.

import type { JSX } from 'preact';
import { leaveOut, patchContact } from '../edits/contacts';
import type { ContactPoint, Hit } from '../protocol';
import * as store from '../state/store';
import { fixed, joules, mm, newtonSeconds, newtons } from '../state/words';
import { Icon } from '../ui/icons';
import { Section, Tool } from '../ui/widgets';

interface Mark {
  icon: string;
  word: string;
  tone: string;
}

const touches: Mark = { icon: 'touch', word: 'touches', tone: 'under' };
const marks: Partial<Record<ContactPoint['state'], Mark>> = {
  colliding: { icon: 'hit', word: 'hits', tone: 'over' },
  continuous: touches,
  jammed: { icon: 'jammed', word: 'jammed', tone: 'conflict' },
};

// ---- bodies in contact ----------------------------------------------------------------------------------

interface Pair {
  a: string;
  b: string;
  state: ContactPoint['state'];
  points: number;
  force: number;
  impulse: number;
  gap: number;
}

const WORST: ContactPoint['state'][] = ['continuous', 'colliding', 'jammed'];

// Groups contact points by pair; collisions of the last half second are included.
function pairs(contacts: readonly ContactPoint[], hits: readonly Hit[]): Pair[] {
  const out = new Map<string, Pair>();
  const pairOf = ({ a, b }: Hit | ContactPoint, state: Pair['state']): Pair => {
    const key = `${a} ${b}`;
    const p = out.get(key) ?? { a, b, state, points: 0, force: 0, impulse: 0, gap: Infinity };
    out.set(key, p);
    return p;
  };
  for (const c of contacts) {
    const p = pairOf(c, c.state);
    if (WORST.indexOf(c.state) > WORST.indexOf(p.state)) p.state = c.state;
    p.points++;
    p.force += Math.hypot(...c.force);
    p.impulse = Math.max(p.impulse, c.impulse);
    p.gap = Math.min(p.gap, c.gap);
  }
  for (const h of hits) {
    const p = pairOf(h, 'colliding');
    p.impulse = Math.max(p.impulse, h.impulse);
  }
  return [...out.values()].sort((x, y) => y.force + y.impulse * 1e3 - (x.force + x.impulse * 1e3));
}

// While contacts are off the pair is one of a relation and cannot be left out.
function PairLine({ p }: { p: Pair }): JSX.Element {
  const mark = marks[p.state] ?? touches;
  return (
    <li class="touch">
      <span class={`touch-state tone-${mark.tone}`}>
        <Icon name={mark.icon} title={mark.word} />
      </span>
      <span class="touch-who">
        <button type="button" onClick={() => store.selectObject(p.a)}>
          {p.a}
        </button>{' '}
        {mark.word === 'jammed' ? 'is jammed at' : mark.word}{' '}
        <button type="button" onClick={() => store.selectObject(p.b)}>
          {p.b}
        </button>
      </span>
      {store.contactSettings.value.enabled && (
        <button
          type="button"
          class="tool tiny"
          aria-label={`Leave out ${p.a} and ${p.b}`}
          title="Let them pass through one another"
          onClick={() => leaveOut([p.a, p.b])}
        >
          <Icon name="close" />
        </button>
      )}
      <span class="touch-figures">{figuresOf(p)}</span>
    </li>
  );
}

function figuresOf(p: Pair): string {
  const out = p.points ? [newtons(p.force)] : [];
  if (p.impulse > 1e-9) out.push(`hit with ${newtonSeconds(p.impulse)}`);
  if (p.points) out.push(p.gap < 0 ? `${fixed(-p.gap * 1e6, 1)} \u00b5m deep` : `gap ${mm(p.gap)}`);
  if (p.points > 1) out.push(`${p.points} points`);
  return out.join(', ');
}

const SHOWN = 12;

function ContactMarks(): JSX.Element {
  const sim = store.figures.value;
  const list = pairs(sim?.contacts ?? [], sim?.hits ?? []);
  const f = sim?.contact;
  return (
    <>
      {list.length === 0 ? (
        <p class="quiet">Nothing touches.</p>
      ) : (
        <ul class="touches" aria-label="Contacts now">
          {list.slice(0, SHOWN).map((p) => (
            <PairLine key={`${p.a} ${p.b}`} p={p} />
          ))}
        </ul>
      )}
      {list.length > SHOWN && <p class="quiet">and {list.length - SHOWN} pairs more</p>}
      {f && f.collisions > 0 && (
        <p class="quiet">
          {f.collisions} {f.collisions === 1 ? 'collision' : 'collisions'} so far, {joules(f.dissipated)} lost to them.
        </p>
      )}
    </>
  );
}

// `rules` (settings and materials) is shown below the contacts.
export function Contacts({ rules }: { rules: JSX.Element }): JSX.Element {
  const on = store.contactSettings.value.enabled ?? false;
  const told = on || store.figures.value?.contacts?.length; // of one-sided relations while they are off
  const switch_ = (
    <Tool
      icon={on ? 'touch' : 'off'}
      label={on ? 'Contacts are on' : 'Contacts are off'}
      text={on ? 'on' : 'off'}
      pressed={on}
      onClick={() => void patchContact({ enabled: !on })}
    />
  );
  return (
    <Section id="contacts" title="Contacts" extra={switch_}>
      {told ? <ContactMarks /> : <p class="quiet">Bodies pass through one another.</p>}
      {rules}
    </Section>
  );
}
