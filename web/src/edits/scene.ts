// The scene as a document: undo and redo, gallery, saved scenes and files, settings of the whole scene.

import type { Scene } from '../protocol';
import { call, callForPlace, enc, Refused, save } from '../state/rest';
import * as store from '../state/store';
import { inform, refuse } from '../state/store';
import { refreshScenes } from '../state/stream';
import { attempt, latest, named, patch } from './request';

// An empty history is not reported as an error.
async function stepHistory(way: 'undo' | 'redo'): Promise<boolean> {
  try {
    await call('POST', `/scene/${way}`);
    store.announce(way === 'undo' ? 'Undone.' : 'Done again.');
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
    store.announce(`Opened ${store.scenes.peek().find((s) => s.file === file)?.name || file}.`);
  });

export const newScene = (): Promise<boolean> =>
  attempt(async () => {
    await call('PUT', '/scene', { format: 'guideway-scene/1', name: 'Untitled scene', objects: [] });
    store.clearSelection();
    store.announce('A new scene, empty.');
  });

// The server keeps former versions, so saving and deleting lose nothing.
const restoreScene = (file: string): Promise<boolean> =>
  attempt(async () => {
    await call('POST', `/scenes/${enc(file)}/restore`, {});
    await refreshScenes();
    inform('The version before is saved again.');
  });

function tellOfFormer(text: string, label: string, file: string): void {
  store.notice.value = { tone: 'info', text, fixes: [{ label, run: () => void restoreScene(file) }] };
  store.announce(text);
}

export const saveScene = (name: string): Promise<boolean> =>
  attempt(async () => {
    const before = store.scenes.peek();
    if (name !== store.scene.peek().name) await call('PATCH', '/scene', { name });
    const file = decodeURIComponent((await callForPlace('/scene/save', { name })).split('/').pop() ?? '');
    await refreshScenes();
    const over = before.some((s) => s.saved && s.file === file);
    if (over) tellOfFormer(`Saved over \u201c${name}\u201d.`, 'Take the version before back', file);
    else inform(`Saved as \u201c${name}\u201d.`);
  });

export const deleteScene = (file: string): Promise<boolean> =>
  attempt(async () => {
    await call('DELETE', `/scenes/${enc(file)}`);
    await refreshScenes();
    tellOfFormer(`\u201c${file}\u201d was deleted.`, 'Bring it back', file);
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
    await named(file, call('PUT', '/scene', scene));
    store.clearSelection();
  });
}

export const latestScene = (): Scene => latest('/scene', store.scene.peek());

export const patchScene = (to: Partial<Scene>): Promise<boolean> => patch('/scene', to);
