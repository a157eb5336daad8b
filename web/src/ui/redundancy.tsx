// A redundant constraint: from which constraints it follows and by which rule (they are highlighted while it is pointed
// at), and the two ways to remove the redundancy.

import type { JSX } from 'preact';
import { deleteConstraint, patchConstraint } from '../edits/constraints';
import * as store from '../state/store';
import { listed } from '../state/words';

export function Redundancy({ id }: { id: string }): JSX.Element {
  const found = store.redundancyOf(id);
  const because = found?.because ?? [];
  const light = (): void => {
    store.highlighted.value = because;
  };
  const unlight = (): void => {
    store.highlighted.value = [];
  };
  return (
    <div class="redundancy" onMouseEnter={light} onMouseLeave={unlight} onFocusCapture={light} onBlurCapture={unlight}>
      <p>
        {id} follows from {because.length ? listed(because) : 'the others'}
        {found?.rule ? <span class="quiet">: {found.rule}</span> : ''}.
      </p>
      <div class="fixes">
        <button type="button" onClick={() => void patchConstraint(id, { enabled: false })}>
          Disable {id}
        </button>
        <button type="button" onClick={() => void deleteConstraint(id)}>
          Delete {id}
        </button>
      </div>
    </div>
  );
}
