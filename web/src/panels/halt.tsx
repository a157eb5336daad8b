// HALT: above all dialogs and never inert. Pressed while halted it halts again, so that an arming under way fails.
import type { JSX } from 'preact';
import { halt } from '../edits/simulation';
import * as store from '../state/store';
import { Icon } from '../ui/icons';

export function Halt(): JSX.Element {
  return (
    <button
      type="button"
      class="halt"
      title="Stops everything at once (Ctrl+. or Pause)"
      aria-pressed={store.halted.value}
      aria-busy={store.halting.value}
      onPointerDown={(e) => e.button === 0 && void halt()}
      onClick={(e) => e.detail === 0 && void halt()}
    >
      <Icon name="halt" />
      HALT
    </button>
  );
}
