// Edits of materials and of how contacts are computed.
import type { ContactSettings, Material } from '../protocol';
import { call, enc } from '../state/rest';
import { unusedId } from './objects';
import { attempt, coalesce } from './request';

export const addMaterial = (): Promise<boolean> =>
  attempt(() => call('POST', '/materials', { id: unusedId('material') }));

export const patchMaterial = (id: string, patch: Partial<Material>): Promise<boolean> =>
  coalesce(`material ${id} ${Object.keys(patch).join()}`, () =>
    attempt(() => call('PATCH', `/materials/${enc(id)}`, patch)),
  );

export const deleteMaterial = (id: string): Promise<boolean> => attempt(() => call('DELETE', `/materials/${enc(id)}`));

export const patchContact = (patch: ContactSettings): Promise<boolean> =>
  coalesce(`contact ${Object.keys(patch).join()}`, () => attempt(() => call('PATCH', '/contact', patch)));
