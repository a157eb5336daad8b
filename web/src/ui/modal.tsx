// A dialog over the page, which is inert meanwhile (app.tsx), except HALT. It is not a modal dialog of the browser,
// since nothing can be drawn above one. Esc and a click beside it close it, unless it is locked.

import { effect } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import * as store from '../state/store';
import { Icon } from './icons';

// The element that had the focus before the first of consecutive dialogs.
let before: Element | null = null;

// It is noted when the dialog is asked for: once the page is inert, and while the dialog's code is fetched, nothing has
// the focus. Forgotten if the dialog never comes.
effect(() => {
  const asked = store.dialog.value !== '';
  if (document.querySelector('dialog[open]')) return;
  if (!asked) before = null;
  else if (!before?.isConnected) before = document.activeElement;
});

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
  const asked = useRef(document.activeElement);
  useLayoutEffect(() => {
    const d = box.current!;
    if (!before?.isConnected) before = asked.current;
    d.show();
    (d.querySelector<HTMLElement>('[data-first]') ?? d).focus();
    const key = (e: KeyboardEvent): void => {
      if (e.key === 'Escape' && !p.locked) closeDialog();
    };
    document.addEventListener('keydown', key);
    return () => {
      document.removeEventListener('keydown', key);
      setTimeout(() => {
        if (store.dialog.value !== '' || document.querySelector('dialog[open]')) return; // another dialog follows
        if (before instanceof HTMLElement) before.focus(); // the page is no longer inert
        before = null;
      });
    };
  }, []);
  return (
    <>
      <div class="dim" onClick={() => !p.locked && closeDialog()} />
      <dialog ref={box} class={p.wide ? 'modal wide' : 'modal'} aria-label={p.title} aria-modal="true" tabIndex={-1}>
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
    </>
  );
}
