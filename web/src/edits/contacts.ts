// Edits of materials and of how contacts are computed.
import type { ContactSettings, Material } from '../protocol';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { unusedId } from './objects';
import { attempt, latest, patch } from './request';

export const addMaterial = (): Promise<boolean> =>
  attempt(() => call('POST', '/materials', { id: unusedId('material') }));

export const patchMaterial = (id: string, to: Partial<Material>): Promise<boolean> =>
  patch(`/materials/${enc(id)}`, to);

export const deleteMaterial = (id: string): Promise<boolean> => attempt(() => call('DELETE', `/materials/${enc(id)}`));

export const latestContact = (known: ContactSettings): ContactSettings => latest('/contact', known);

export const patchContact = (to: ContactSettings): Promise<boolean> => patch('/contact', to);

// ---- pairs that pass through one another ----------------------------------------------------------------

export type Pairing = [string, string];

export const ignored = (): Pairing[] => latestContact(store.contactSettings.value).ignore ?? [];

export const without = (pairs: readonly Pairing[], [a, b]: Pairing): Pairing[] =>
  pairs.filter(([x, y]) => !(x === a && y === b) && !(x === b && y === a));

export const leaveOut = (p: Pairing): void => {
  void patchContact({ ignore: [...without(ignored(), p), p] });
};
