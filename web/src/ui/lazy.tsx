// Parts of the page that are seldom shown: the code of each is a separate file, fetched when the part is shown for the
// first time, so that the page starts sooner.

import { signal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import * as store from '../state/store';
import { closeDialog } from './modal';

// The part that `load` fetches, visible while `shown()`. A failed fetch is reported, and repeated when the part is to
// be shown again.
export function lazyPanel(
  shown: () => boolean,
  load: () => Promise<ComponentType>,
  failed?: () => void,
): () => JSX.Element | null {
  const loaded = signal<ComponentType | undefined>(undefined);
  return function Lazy() {
    const show = shown(),
      Part = loaded.value;
    useEffect(() => {
      if (!show || Part) return;
      load().then(
        (part) => {
          loaded.value = part;
        },
        () => {
          failed?.();
          store.refuse('A part of the page could not be loaded from the appliance. Reload the page when it is back.');
        },
      );
    }, [show, Part]);
    return show && Part ? <Part /> : null;
  };
}

export const lazyDialog = (name: store.Dialog, load: () => Promise<ComponentType>): (() => JSX.Element | null) =>
  lazyPanel(
    () => store.dialog.value === name,
    load,
    () => store.dialog.value === name && closeDialog(),
  );
