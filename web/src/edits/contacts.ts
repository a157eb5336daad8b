// Edits of materials and of how contacts are computed.
import type { ContactSettings, Material } from '../protocol';
import { call, enc } from '../state/rest';
import { freshName } from './objects';
import { attempt, latest } from './request';

export const addMaterial = (): Promise<boolean> =>
  attempt(() => call('POST', '/materials', { id: freshName('material') }));

export const patchMaterial = (id: string, patch: Partial<Material>): Promise<boolean> =>
  latest(`material ${id} ${Object.keys(patch).join()}`, () =>
    attempt(() => call('PATCH', `/materials/${enc(id)}`, patch)),
  );

export const deleteMaterial = (id: string): Promise<boolean> => attempt(() => call('DELETE', `/materials/${enc(id)}`));

export const patchContact = (patch: ContactSettings): Promise<boolean> =>
  latest(`contact ${Object.keys(patch).join()}`, () => attempt(() => call('PATCH', '/contact', patch)));
