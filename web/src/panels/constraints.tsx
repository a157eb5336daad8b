// The constraints and how each of them stands: ok, redundant (with what it follows from), disabled,
// in conflict. A shape and a word for each, not colour alone.
import type { JSX } from 'preact';
import { deleteConstraint, patchConstraint } from '../actions';
import { constraintWords } from '../kinds';
import type { Constraint } from '../protocol';
import { Icon } from '../ui/icons';
import { Section } from '../ui/widgets';
import * as store from '../store';

interface State { icon: string; word: string; tone: string; note: string }

function redundancy(id: string): { because: string[]; rule: string } | undefined {
  for (const s of store.solutions.value.values()) {
    const found = s.redundant?.find((r) => r.id === id);
    if (found) return found;
  }
  return undefined;
}

function stateOf(c: Constraint): State {
  if (store.culprits.value.includes(c.id)) return { icon: 'broken', word: 'conflict', tone: 'conflict', note: 'cannot hold with the others' };
  if (c.enabled === false) return { icon: 'off', word: 'disabled', tone: 'off', note: 'not in force' };
  const extra = redundancy(c.id);
  if (extra || c.state === 'redundant')
    return { icon: 'chain', word: 'redundant', tone: 'over', note: extra?.because.length ? `follows from ${extra.because.join(', ')}` : 'follows from the others' };
  return { icon: 'ok', word: 'ok', tone: 'well', note: 'holds' };
}

function Item({ c }: { c: Constraint }): JSX.Element {
  const state = stateOf(c);
  const chosen = store.selectedConstraint.value === c.id;
  return (
    <li class={`joint joint-${state.word} ${chosen ? 'chosen' : ''}`}>
      <button type="button" class="joint-main" aria-pressed={chosen} onClick={() => store.selectConstraint(chosen ? '' : c.id)}>
        <span class="joint-top"><span class="joint-id">{c.id}</span> <span class="joint-words">{constraintWords(c)}</span></span>
        <span class="joint-refs">{c.a} {'\u2013'} {c.b}</span>
        <span class={`joint-state tone-${state.tone}`} title={state.note}><Icon name={state.icon} />{state.word}{state.word === 'redundant' ? `: ${state.note}` : ''}</span>
      </button>
      <label class="switch" title={c.enabled === false ? 'Enable' : 'Disable'}>
        <input type="checkbox" checked={c.enabled !== false} aria-label={`${c.id} enabled`}
          onChange={(e) => {
            const box = e.currentTarget;
            void patchConstraint(c.id, { enabled: box.checked }).then((done) => {
              if (!done) box.checked = c.enabled !== false;
            });
          }} />
      </label>
      <button type="button" class="tool" title="Delete" aria-label={`Delete ${c.id}`} onClick={() => void deleteConstraint(c.id)}><Icon name="trash" /></button>
    </li>
  );
}

export function Constraints(): JSX.Element {
  const list = store.constraints.value;
  return (
    <Section id="constraints" title="Constraints">
      {list.length === 0
        ? <p class="quiet">None. Pick a feature of one object and one of another.</p>
        : <ul class="joints">{list.map((c) => <Item key={c.id} c={c} />)}</ul>}
    </Section>
  );
}
