// A dialog over the page; Esc and a click beside it close it, unless it is locked.

import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import * as store from '../state/store';
import { Icon } from './icons';

export const closeDialog = (): void => {
  store.dialog.value = '';
};

export function Modal(p: {
  title: string;
  wide?: boolean;
  children: ComponentChildren;
  locked?: boolean;
}): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const d = box.current!;
    if (!d.open) d.showModal();
    d.querySelector<HTMLElement>('[data-first]')?.focus();
    return () => d.close();
  }, []);
  return (
    <dialog
      ref={box}
      class={p.wide ? 'modal wide' : 'modal'}
      aria-label={p.title}
      onCancel={(e) => (p.locked ? e.preventDefault() : closeDialog())}
      onClick={(e) => e.target === box.current && !p.locked && closeDialog()}
    >
      <div class="modal-inner">
        <div class="modal-head">
          <h2>{p.title}</h2>
          {!p.locked && (
            <button type="button" class="tool" aria-label="Close" onClick={closeDialog}>
              <Icon name="close" />
            </button>
          )}
        </div>
        {p.children}
      </div>
    </dialog>
  );
}
