// The list of constraints with the state of each (ok, redundant, disabled, in conflict), shown by a symbol and a word,
// not by colour alone, and with the offered fixes.

import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { deleteConstraint, patchConstraint } from '../edits/constraints';
import { draft, dropChange, proposeChange } from '../edits/draft';
import type { Constraint } from '../protocol';
import { constraintWords, isOneSided } from '../state/constraints';
import * as store from '../state/store';
import { Icon } from '../ui/icons';
import { Redundancy } from '../ui/redundancy';
import { Section } from '../ui/widgets';

interface State {
  icon: string;
  word: string;
  tone: string;
  note: string;
}

function stateOf(c: Constraint): State {
  if (store.culprits.value.includes(c.id))
    return { icon: 'broken', word: 'conflict', tone: 'conflict', note: 'cannot hold with the others' };
  if (c.enabled === false) return { icon: 'off', word: 'disabled', tone: 'off', note: 'not in force' };
  if (store.redundancyOf(c.id)) return { icon: 'chain', word: 'redundant', tone: 'over', note: 'follows from others' };
  return { icon: 'ok', word: 'ok', tone: 'well', note: 'holds' };
}

// Hovering over the switch tries the other state, unless something else is being tried; pressing it applies it.
function Switch({ c }: { c: Constraint }): JSX.Element {
  const on = c.enabled !== false;
  const mine = useRef(false);
  const tryIt = (): void => {
    if (draft.value || store.picked.value.length) return;
    mine.current = true;
    proposeChange(c.id, { enabled: !on });
  };
  const leave = (): void => {
    if (mine.current) dropChange(c.id);
    mine.current = false;
  };
  return (
    <label class="switch" title={on ? 'Disable' : 'Enable'} onMouseEnter={tryIt} onMouseLeave={leave}>
      <input
        type="checkbox"
        checked={on}
        aria-label={`${c.id} enabled`}
        onFocus={tryIt}
        onBlur={leave}
        onChange={(e) => {
          const box = e.currentTarget;
          leave();
          void patchConstraint(c.id, { enabled: box.checked }).then((done) => {
            if (!done) box.checked = c.enabled !== false;
          });
        }}
      />
    </label>
  );
}

// True where a one-sided distance is in contact and pushes back.
const touched = (id: string): boolean =>
  [...(store.figures.value?.tools ?? []), ...(store.figures.value?.bodies ?? [])].some((x) => x.walls?.includes(id));

// Highlights in the view the constraint that is pointed at in the list.
function point(id: string): void {
  store.highlighted.value = id ? [id] : [];
}

function Item({ c }: { c: Constraint }): JSX.Element {
  const state = stateOf(c);
  const chosen = store.selectedConstraint.value === c.id;
  const related = !chosen && store.highlighted.value.includes(c.id);
  return (
    <li class={`entry entry-${state.word} ${chosen ? 'chosen' : ''} ${related ? 'related' : ''}`}>
      <button
        type="button"
        class="entry-main"
        data-constraint={c.id}
        aria-pressed={chosen}
        onMouseEnter={() => point(c.id)}
        onMouseLeave={() => point('')}
        onFocus={() => point(c.id)}
        onBlur={() => point('')}
        onClick={() => store.selectConstraint(chosen ? '' : c.id)}
      >
        <span class="entry-top">
          <span class="entry-id">{c.id}</span> <span class="entry-words">{constraintWords(c)}</span>
        </span>
        <span class="entry-under">
          <span class={`entry-state tone-${state.tone}`} title={state.note}>
            <Icon name={state.icon} />
            {state.word}
            {isOneSided(c) && (
              <>
                <Icon name="wall" />
                wall{touched(c.id) ? ', touched' : ''}
              </>
            )}
          </span>
          <span class="entry-refs">
            {c.a} {'\u2013'} {c.b}
          </span>
        </span>
      </button>
      <Switch c={c} />
      <button
        type="button"
        class="tool"
        title="Delete"
        aria-label={`Delete ${c.id}`}
        onClick={() => void deleteConstraint(c.id)}
      >
        <Icon name="trash" />
      </button>
      {state.word === 'redundant' && <Redundancy id={c.id} />}
    </li>
  );
}

export function Constraints(): JSX.Element {
  const list = store.constraints.value;
  return (
    <Section id="constraints" title="Constraints">
      {list.length === 0 ? (
        <p class="quiet">None. Pick a feature of one object and one of another.</p>
      ) : (
        <ul class="entries">
          {list.map((c) => (
            <Item key={c.id} c={c} />
          ))}
        </ul>
      )}
    </Section>
  );
}
