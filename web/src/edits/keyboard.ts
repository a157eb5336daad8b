// The keyboard: keys of commands, Tab among overlapping features, arrows that push or nudge.

import type { HandTarget, Vec3 } from '../protocol';
import { jointKind } from '../state/joints';
import { massOf } from '../state/mass';
import * as store from '../state/store';
import { currentView } from '../state/viewer';
import { type Command, commands } from './commands';
import { moveAlong } from './constraints';
import { tellNotHeld } from './devices';
import { keepFocus } from './focus';
import { patchJoint } from './mechanisms';
import { halt, push } from './simulation';

const NUDGE = { m: 0.001, rad: Math.PI / 180, 1: 0.01 };
const PUSH_N = 4;
const PUSH_A = 3; // m/s^2

const held = new Set<string>();
let pushing = 0; // the timer's id
let pushed: HandTarget | null = null;

// Elements that use the keys themselves: text fields, and open lists of choices.
const isText = (e: Element | null): boolean => !!e?.closest('input, textarea, select');

// The element that was focused by a click, not by the keyboard.
let clicked: Element | null = null;

// After a click Space runs and pauses, except in text fields, and also in a dialog.
function isSpaceAfterClick(e: KeyboardEvent, pressed: string): boolean {
  const target = e.target as Element;
  const types = target.matches('textarea, input:not([type=checkbox], [type=radio], [type=range], [type=button])');
  return pressed === 'Space' && target === clicked && !types && !document.querySelector('dialog[open]');
}

function name(e: KeyboardEvent): string {
  const key = e.key === ' ' ? 'Space' : e.key === 'Escape' ? 'Esc' : e.key.length === 1 ? e.key.toUpperCase() : e.key;
  const shift = e.shiftKey && (e.ctrlKey || e.metaKey || e.key.length > 1);
  return `${e.ctrlKey || e.metaKey ? 'Ctrl+' : ''}${shift ? 'Shift+' : ''}${key}`;
}

const matches = (c: Command, pressed: string): boolean => !!c.keys?.split(' / ').includes(pressed);

// True for keys that the focused control needs itself.
function belongsToControl(e: KeyboardEvent, pressed: string): boolean {
  const target = e.target as Element | null;
  if (pressed === 'Ctrl+.' || pressed === 'Pause') return false;
  if (document.querySelector('dialog[open]')) return true;
  if (pressed.endsWith('F6')) return false; // moves to another part of the page
  if (isText(target))
    return !pressed.startsWith('Ctrl+') || pressed === 'Ctrl+Z' || pressed === 'Ctrl+Shift+Z' || pressed === 'Ctrl+Y';
  const pressable = target instanceof HTMLButtonElement || !!target?.closest('summary, a, [role=treeitem]');
  return pressable && (pressed === 'Space' || pressed === 'Enter');
}

// ---- arrows ----------------------------------------------------------------------------------------

const ARROWS = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'PageUp', 'PageDown']);

// The force of a push (N): for a light free body in proportion to its mass.
function pushSize(): number {
  const free = pushed && 'object' in pushed ? store.objectOf(pushed.object) : undefined;
  return free ? Math.min(PUSH_N, PUSH_A * massOf(free)) : PUSH_N;
}

function pushForce(): Vec3 {
  const axes = currentView()?.axes();
  const size = pushSize();
  const f: Vec3 = [0, 0, 0];
  if (!axes) return f;
  const addAlong = (v: { x: number; y: number; z: number }, s: number): void => {
    f[0] += v.x * s * size;
    f[1] += v.y * s * size;
    f[2] += v.z * s * size;
  };
  if (held.has('ArrowRight')) addAlong(axes.right, 1);
  if (held.has('ArrowLeft')) addAlong(axes.right, -1);
  if (held.has('ArrowUp')) addAlong(axes.up, 1);
  if (held.has('ArrowDown')) addAlong(axes.up, -1);
  if (held.has('PageUp')) addAlong({ x: 0, y: 0, z: 1 }, 1);
  if (held.has('PageDown')) addAlong({ x: 0, y: 0, z: 1 }, -1);
  return f;
}

function keepPushing(): void {
  if (!held.size || !store.running.value) {
    clearInterval(pushing);
    pushing = 0;
    if (pushed) push(pushed, [0, 0, 0]);
    return;
  }
  if (pushed) push(pushed, pushForce());
}

// The selected body where it moves, else the one that the first tool holds.
function target(): HandTarget | null {
  const id = store.selectedObject.value;
  const tool = store.toolIndex(id);
  if (tool < 0 && store.movesByForce(id)) return { object: id };
  return store.tools.value.length ? { tool: Math.max(0, tool) } : null;
}

// Moves the selected link's joint, while stopped.
function nudgeJoint(sign: number, fine: boolean): boolean {
  const found = store.linkRef(store.selectedObject.value);
  if (!found || store.runState.value !== 'stopped') return !!found;
  const { joint } = found.link;
  const by = sign * NUDGE[jointKind(joint.type).unit] * (fine ? 0.1 : 1);
  void patchJoint(found.mechanism, found.index, { position: (joint.position ?? 0) + by });
  return true;
}

function nudge(key: string, fine: boolean): void {
  const sign = key === 'ArrowRight' || key === 'ArrowUp' || key === 'PageUp' ? 1 : -1;
  if (nudgeJoint(sign, fine)) return;
  const object = store.shownObject.value;
  const solution = store.solutions.value.get(object);
  const branch = solution?.branches.find((b) => b.id === solution.branch);
  const parameter = branch?.parameters[store.selectedFreedom.value];
  if (!solution?.parameters || !parameter) return;
  const by = sign * NUDGE[parameter.unit] * (fine ? 0.1 : 1);
  void moveAlong(
    object,
    solution.parameters.map((v, i) => (i === store.selectedFreedom.value ? v + by : v)),
  );
}

function arrow(e: KeyboardEvent): boolean {
  const onCanvas = e.target === document.body || (e.target as Element).id === 'canvas';
  if (!ARROWS.has(e.key) || !onCanvas) return false;
  if (store.running.value) {
    held.add(e.key);
    if (!pushing) {
      pushed = target();
      if (!pushed) tellNotHeld(store.selectedObject.value);
      pushing = window.setInterval(keepPushing, 100);
      keepPushing();
    }
  } else nudge(e.key, e.altKey);
  return true;
}

// ---- listening ----------------------------------------------------------------------------------------

function tab(e: KeyboardEvent): boolean {
  const free = e.target === document.body || (e.target as Element).id === 'canvas';
  return e.key === 'Tab' && free && !!currentView()?.cycle(e.shiftKey ? -1 : 1);
}

function down(e: KeyboardEvent): void {
  const pressed = name(e);
  if (pressed.endsWith('Tab')) clicked = null;
  if (e.eventPhase === Event.BUBBLING_PHASE && belongsToControl(e, pressed)) return;
  if (tab(e) || arrow(e)) {
    e.preventDefault();
    return;
  }
  const command = commands.find((c) => matches(c, pressed) && (!c.when || c.when()));
  if (!command || (e.repeat && command.id !== 'undo' && command.id !== 'redo')) return;
  e.preventDefault();
  command.run();
}

// Runs in the capture phase, before the focused element.
function spaceAfterClick(e: KeyboardEvent): void {
  if (!isSpaceAfterClick(e, name(e))) return;
  e.stopPropagation();
  down(e);
}

// HALT's keys, before anything else sees them and whatever modifiers are held. (Ctrl+Pause is named Cancel.)
function haltKeys(e: KeyboardEvent): void {
  const halts = e.key === 'Pause' || e.key === 'Cancel' || (e.key === '.' && (e.ctrlKey || e.metaKey));
  if (!halts) return;
  e.preventDefault();
  e.stopImmediatePropagation();
  if (!e.repeat) void halt();
}

export function listen(): void {
  keepFocus((e) => e === clicked);
  window.addEventListener('keydown', haltKeys, true);
  // a browser that drags selected text or an image hears no keys
  document.addEventListener('dragstart', (e) => e.preventDefault());
  document.addEventListener('keydown', spaceAfterClick, true);
  document.addEventListener('keydown', down);
  document.addEventListener('keyup', (e) => {
    held.delete(e.key);
    if (isSpaceAfterClick(e, name(e))) e.preventDefault(); // a button is pressed by the release
  });
  document.addEventListener('click', (e) => {
    if (e.detail > 0) clicked = document.activeElement;
  });
  window.addEventListener('blur', () => held.clear());
}
