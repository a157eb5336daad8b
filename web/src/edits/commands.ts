// The table of commands with their keys, for the palette, the list of keys and the keyboard itself.

import type { Solution } from '../protocol';
import * as store from '../state/store';
import { currentView } from '../state/viewer';
import { assemble, canAssemble } from './assembly';
import { chooseBranch, deleteConstraint } from './constraints';
import { commitDraft, draft, dropDraft, stepBranch, wanted } from './draft';
import { goToPart } from './focus';
import { deleteSelectedMechanism } from './mechanisms';
import { addFeature, addPrimitive, deleteObject } from './objects';
import { downloadScene, newScene, redo, undo } from './scene';
import { halt, setRun, step, toggleRun } from './simulation';
import { addTask, deleteTask } from './tasks';

export interface Command {
  id: string;
  label: string;
  keys?: string; // "Ctrl+Z", "Space"; alternatives parted by " / "
  group: 'Simulation' | 'Scene' | 'Edit' | 'View' | 'Help';
  run: () => void;
  when?: () => boolean;
}

const open = (name: store.Dialog) => () => (store.dialog.value = name);

export function cycleTheme(): void {
  const next = { auto: 'light', light: 'dark', dark: 'auto' } as const;
  store.theme.value = next[store.theme.value];
  store.remember('theme', store.theme.value);
}

export function deleteSelected(): void {
  if (store.selectedConstraint.value) void deleteConstraint(store.selectedConstraint.value);
  else if (store.selectedTask.value) void deleteTask(store.selectedTask.value);
  else if (store.objectOf(store.selectedObject.value)) void deleteObject(store.selectedObject.value);
  else if (store.selectedObject.value) deleteSelectedMechanism(store.selectedObject.value);
}

// Cancels one level: the drag, else the draft, else the chosen kind, else the selection.
export function cancel(): void {
  if (currentView()?.cancel()) return;
  if (draft.value) dropDraft();
  else if (wanted.value) wanted.value = '';
  else {
    store.notice.value = null;
    store.clearSelection();
  }
}

const shownSolution = (): Solution | undefined => store.solutions.value.get(store.shownObject.value);
const branches = (): boolean => draft.value !== null || (shownSolution()?.branches.length ?? 0) > 1;

// Steps through the branches of a draft, which are only shown, or of an object, which are chosen.
function branch(by: number): void {
  const s = shownSolution();
  if (draft.value) stepBranch(by);
  else if (s && s.branches.length > 1) {
    const at = s.branches.findIndex((b) => b.id === s.branch);
    void chooseBranch(s.object, s.branches[(at + by + s.branches.length) % s.branches.length]!.id);
  }
}

const somethingSelected = (): boolean =>
  !!(store.selectedObject.value || store.selectedConstraint.value || store.selectedTask.value);

const objectSelected = (): boolean => !!store.objectOf(store.selectedObject.value);
const addToSelected = (kind: 'point' | 'line' | 'plane'): void => void addFeature(store.selectedObject.value, kind);

export const commands: Command[] = [
  {
    id: 'run',
    label: 'Run or pause',
    keys: 'Space',
    group: 'Simulation',
    run: () => void toggleRun(),
    when: () => !store.halted.value,
  },
  {
    id: 'step',
    label: 'Step one tick',
    keys: '.',
    group: 'Simulation',
    run: () => void step(),
    when: () => !store.halted.value,
  },
  {
    id: 'stop',
    label: 'Stop and go back to the start',
    group: 'Simulation',
    run: () => void setRun('stopped'),
  },
  { id: 'halt', label: 'HALT', keys: 'Ctrl+. / Pause', group: 'Simulation', run: () => void halt() },
  { id: 'arm', label: 'Arm again', group: 'Simulation', run: open('arm'), when: () => store.halted.value },
  { id: 'new', label: 'New scene', group: 'Scene', run: () => void newScene() },
  { id: 'gallery', label: 'Open the gallery', keys: 'G', group: 'Scene', run: open('gallery') },
  { id: 'save', label: 'Save scene', keys: 'Ctrl+S', group: 'Scene', run: open('save') },
  { id: 'download', label: 'Download scene', group: 'Scene', run: () => void downloadScene() },
  {
    id: 'file',
    label: 'Open a scene, robot or mesh file',
    keys: 'Ctrl+O',
    group: 'Scene',
    run: () => document.getElementById('scene-file')?.click(),
  },
  { id: 'box', label: 'Add a box', group: 'Scene', run: () => void addPrimitive('box') },
  { id: 'cylinder', label: 'Add a cylinder', group: 'Scene', run: () => void addPrimitive('cylinder') },
  { id: 'capsule', label: 'Add a capsule', group: 'Scene', run: () => void addPrimitive('capsule') },
  { id: 'cone', label: 'Add a cone', group: 'Scene', run: () => void addPrimitive('cone') },
  { id: 'sphere', label: 'Add a sphere', group: 'Scene', run: () => void addPrimitive('sphere') },
  { id: 'chain', label: 'Add a mechanism', group: 'Scene', run: open('mechanism') },
  { id: 'shape', label: 'Add a surface or a curve', group: 'Scene', run: open('shape') },
  {
    id: 'point',
    label: 'Add a point to the selected object',
    group: 'Scene',
    run: () => addToSelected('point'),
    when: objectSelected,
  },
  {
    id: 'line',
    label: 'Add a line to the selected object',
    group: 'Scene',
    run: () => addToSelected('line'),
    when: objectSelected,
  },
  {
    id: 'plane',
    label: 'Add a plane to the selected object',
    group: 'Scene',
    run: () => addToSelected('plane'),
    when: objectSelected,
  },
  {
    id: 'task',
    label: 'Add a task for the held object',
    group: 'Scene',
    run: () => void addTask(store.tools.value[0]!.object!),
    when: () => !!store.tools.value[0]?.object,
  },
  {
    id: 'assemble',
    label: 'Assemble the parts',
    group: 'Scene',
    run: () => void assemble(),
    when: () => canAssemble.value && store.runState.value === 'stopped',
  },
  { id: 'undo', label: 'Undo', keys: 'Ctrl+Z', group: 'Edit', run: () => void undo() },
  { id: 'redo', label: 'Redo', keys: 'Ctrl+Shift+Z / Ctrl+Y', group: 'Edit', run: () => void redo() },
  {
    id: 'commit',
    label: 'Commit the constraint',
    keys: 'Enter',
    group: 'Edit',
    run: () => void commitDraft(),
    when: () => draft.value !== null,
  },
  { id: 'next', label: 'Next branch', keys: ']', group: 'Edit', run: () => branch(1), when: branches },
  { id: 'previous', label: 'Previous branch', keys: '[', group: 'Edit', run: () => branch(-1), when: branches },
  {
    id: 'delete',
    label: 'Delete what is selected',
    keys: 'Delete',
    group: 'Edit',
    run: deleteSelected,
    when: somethingSelected,
  },
  { id: 'escape', label: 'Let go, clear the selection', keys: 'Esc', group: 'Edit', run: cancel },
  { id: 'frame', label: 'Frame the selection, or all', keys: 'F', group: 'View', run: () => currentView()?.frame() },
  {
    id: 'track',
    label: 'Go along with the selection, or with what is held',
    keys: 'T',
    group: 'View',
    run: () => (store.tracked.value = store.tracked.value ? '' : store.trackable.value),
    when: () => !!(store.tracked.value || store.trackable.value),
  },
  { id: 'front', label: 'View from the front', keys: '1', group: 'View', run: () => currentView()?.look('front') },
  { id: 'right', label: 'View from the right', keys: '3', group: 'View', run: () => currentView()?.look('right') },
  { id: 'top', label: 'View from the top', keys: '7', group: 'View', run: () => currentView()?.look('top') },
  { id: 'home', label: 'View from the corner', keys: '0', group: 'View', run: () => currentView()?.look('home') },
  { id: 'theme', label: 'Switch light, dark, automatic', group: 'View', run: cycleTheme },
  { id: 'part', label: 'Go to the next part of the page', keys: 'F6', group: 'Help', run: () => goToPart(1) },
  { id: 'part-back', label: 'Go to the part before', keys: 'Shift+F6', group: 'Help', run: () => goToPart(-1) },
  { id: 'palette', label: 'Any command by name', keys: 'Ctrl+K', group: 'Help', run: open('palette') },
  { id: 'keys', label: 'Sheet of keys', keys: '?', group: 'Help', run: open('keys') },
];

export const extraKeys: { keys: string; label: string }[] = [
  { keys: 'Tab', label: 'Next feature under the cursor' },
  {
    keys: 'Arrows',
    label: 'Push while running; nudge the selected freedom, or the selected link\u2019s joint, while stopped',
  },
  {
    keys: 'Drag',
    label:
      'Pull a held or a free object by a spring; along its freedoms while stopped, ' +
      'along one by its arrow or ring; a link by its joints',
  },
  { keys: 'Shift + drag', label: 'Pull along the view' },
  { keys: 'Alt + drag', label: 'Turn' },
];
