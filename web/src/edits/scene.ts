// The scene as a document: undo and redo, gallery, saved scenes and files, members that hold for the whole scene.

import type { Scene } from '../protocol';
import { call, enc, Refused, save } from '../state/rest';
import * as store from '../state/store';
import { inform, refuse } from '../state/store';
import { refreshScenes } from '../state/stream';
import { attempt, coalesce } from './request';

// Nothing to undo is no error, only nothing.
async function stepHistory(way: 'undo' | 'redo'): Promise<boolean> {
  try {
    await call('POST', `/scene/${way}`);
    return true;
  } catch (e) {
    if (e instanceof Refused && e.status === 409) store.announce(`There is nothing to ${way}.`);
    else refuse((e as Error).message);
    return false;
  }
}

export const undo = (): Promise<boolean> => stepHistory('undo');
export const redo = (): Promise<boolean> => stepHistory('redo');

export const openScene = (file: string): Promise<boolean> =>
  attempt(async () => {
    await call('POST', '/scene/open', { scene: file });
    store.clearSelection();
  });

export const newScene = (): Promise<boolean> =>
  attempt(async () => {
    await call('PUT', '/scene', { format: 'guideway-scene/1', name: 'Untitled scene', objects: [] });
    store.clearSelection();
  });

export const saveScene = (name: string): Promise<boolean> =>
  attempt(async () => {
    await call('POST', '/scene/save', { name });
    await refreshScenes();
    inform(`Saved as \u201c${name}\u201d.`);
  });

export const deleteScene = (file: string): Promise<boolean> =>
  attempt(async () => {
    await call('DELETE', `/scenes/${enc(file)}`);
    await refreshScenes();
  });

export async function downloadScene(): Promise<void> {
  await attempt(async () => {
    const scene = await call<Scene>('GET', '/scene');
    const text = `${JSON.stringify(scene, null, 1)}\n`;
    const name = (scene.name || 'scene').toLowerCase().replace(/[^a-z0-9]+/g, '-');
    save(new Blob([text], { type: 'application/json' }), `${name}.json`);
  });
}

export async function openFile(file: File): Promise<boolean> {
  let scene: unknown;
  try {
    scene = JSON.parse(await file.text());
  } catch {
    refuse(`${file.name} is not a scene file: it holds no JSON.`);
    return false;
  }
  return attempt(async () => {
    await call('PUT', '/scene', scene);
    store.clearSelection();
  });
}

export const patchScene = (patch: Partial<Scene>): Promise<boolean> =>
  coalesce(`scene ${Object.keys(patch)}`, () => attempt(() => call('PATCH', '/scene', patch)));
