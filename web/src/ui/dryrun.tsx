// The result of a draft's dry run: the remaining freedoms with the branches, or the conflict and its fixes.
import type { JSX } from 'preact';
import { commitDraft, draft, draftFixes, preview, stepBranch, wouldLeave } from '../edits/draft';
import type { Conflict } from '../protocol';
import { isOneSided } from '../state/constraints';
import * as store from '../state/store';
import { mm } from '../state/words';
import { Icon } from './icons';

function Branches(): JSX.Element | null {
  const now = preview.value;
  const list = now?.solution?.branches ?? [];
  if (!now || list.length < 2) return null;
  const at = list[now.branch]!;
  return (
    <div class="branch-step">
      <button
        type="button"
        class="tool"
        aria-label="Previous branch"
        title="Previous branch ([)"
        onClick={() => stepBranch(-1)}
      >
        [
      </button>
      <span>
        ghost {now.branch + 1} of {list.length}{' '}
        <span class="quiet">
          {at.id}, {mm(at.nearest.distance)} away
        </span>
      </span>
      <button type="button" class="tool" aria-label="Next branch" title="Next branch (])" onClick={() => stepBranch(1)}>
        ]
      </button>
    </div>
  );
}

// Replaces the provisional id that the server gave to the new constraint.
function sentence(text: string, conflict: Conflict | null): string {
  const known = new Set(store.constraints.value.map((c) => c.id));
  let out = text;
  for (const id of conflict?.constraints ?? [])
    if (!known.has(id))
      out = out.replace(new RegExp(`(?<![\\w-])${id.replace(/\W/g, '\\$&')}(?![\\w-])`, 'g'), 'the new one');
  return out;
}

export function Fixes(): JSX.Element {
  return (
    <div class="fixes">
      {draftFixes().map((f) => (
        <button key={f.label} type="button" onClick={f.run}>
          {f.label}
        </button>
      ))}
    </div>
  );
}

export function Outcome(): JSX.Element | null {
  const now = preview.value;
  if (!draft.value) return null;
  if (!now) return <p class="outcome quiet">Trying{'\u2026'}</p>;
  if (now.refusal)
    return (
      <div class="outcome refused" role="alert">
        <p>
          <Icon name="broken" />
          <strong>Cannot hold.</strong> {sentence(now.refusal, now.conflict)}
        </p>
        <Fixes />
      </div>
    );
  // constraints that are already redundant are shown below
  const extra = (now.solution?.redundant ?? []).filter((r) => !store.redundancyOf(r.id));
  return (
    <div class="outcome">
      <p>
        <span class="quiet">It would leave</span> <strong class="motion">{wouldLeave(now)}</strong>
        {isOneSided(draft.value) && <span class="quiet"> and a wall that pushes back where it is reached</span>}
      </p>
      {extra.map((r) => (
        <p key={r.id} class="tone-over">
          <Icon name="chain" />
          {store.constraints.value.some((c) => c.id === r.id) ? r.id : 'The new one'} would follow from{' '}
          {r.because.join(' and ')}.
        </p>
      ))}
      <Branches />
      <button type="button" class="primary" onClick={() => void commitDraft()}>
        Commit <kbd>Enter</kbd>
      </button>
    </div>
  );
}
