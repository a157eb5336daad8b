// Runs with different controls for comparison: the distance from device to tool over simulation time. The present run
// is recorded; kept runs stay until they are dropped.
import { effect, signal } from '@preact/signals';
import type { Control } from '../protocol';
import { controlWords, impedanceTool } from './control';
import * as store from './store';

const CAP = 4096; // samples of a run; beyond, every second one is dropped
const KEPT = 8;

export interface Run {
  control: Control;
  label: string;
  count: number;
  times: Float64Array; // s
  errors: Float64Array; // mm
}

function emptyRun(control: Control): Run {
  return {
    control,
    label: controlWords[control][0],
    count: 0,
    times: new Float64Array(CAP),
    errors: new Float64Array(CAP),
  };
}

export const compare = signal<{ runs: readonly Run[]; now: Run; busy: string; seconds: number }>({
  runs: [],
  now: emptyRun('impedance'),
  busy: '',
  seconds: 5,
});

let last = -1;
let spacing = 0;

function thin(run: Run): void {
  for (let i = 0; i < CAP / 2; i++) {
    run.times[i] = run.times[2 * i]!;
    run.errors[i] = run.errors[2 * i]!;
  }
  run.count = CAP / 2;
  spacing = Math.max(2 * spacing, run.times[1]! - run.times[0]! || 0);
}

// Adds a sample to the present run; a time that went back begins a new run.
export function record(time: number, error: number): void {
  const { now } = compare.peek();
  const tool = impedanceTool();
  if (!tool) return;
  const control = tool.control ?? 'impedance';
  if (time < last || now.count === 0) begin(control);
  else if (control !== now.control) relabel(now, control);
  const run = compare.peek().now;
  if (run.count > 0 && time < run.times[run.count - 1]! + spacing) return;
  last = time;
  if (run.count === CAP) thin(run);
  run.times[run.count] = time;
  run.errors[run.count++] = error * 1e3;
}

// The control was changed during the run: the label names both, or only the new one where the run had just begun.
function relabel(run: Run, control: Control): void {
  run.control = control;
  if (run.times[run.count - 1]! < 0.02) run.label = '';
  const word = controlWords[control][0];
  if (!run.label.endsWith(word)) run.label = run.label ? `${run.label}, then ${word}` : word;
}

function begin(control: Control): void {
  last = -1;
  spacing = 0;
  const run = compare.peek().now;
  run.count = 0;
  run.control = control;
  run.label = controlWords[control][0];
}

function slice(run: Run, seconds: number): Run {
  let count = run.count;
  while (count > 1 && run.times[count - 1]! > seconds) count--;
  return { ...run, count, times: run.times.slice(0, count), errors: run.errors.slice(0, count) };
}

export function keepRun(seconds = Infinity): void {
  const c = compare.peek();
  if (c.now.count < 2) return;
  const same = c.runs.filter((r) => r.label.replace(/ \d+$/, '') === c.now.label).length;
  const kept = slice(c.now, seconds);
  if (same) kept.label = `${kept.label} ${same + 1}`;
  compare.value = { ...c, runs: [...c.runs, kept].slice(-KEPT) };
  store.announce(`Kept: ${kept.label}.`);
}

export const dropRun = (run: Run): void => {
  compare.value = { ...compare.peek(), runs: compare.peek().runs.filter((r) => r !== run) };
};

// Drops all runs when another scene is opened.
export function forgetRunsOfOtherScenes(): void {
  let epoch = store.sceneEpoch.peek();
  effect(() => {
    if (store.sceneEpoch.value === epoch) return;
    epoch = store.sceneEpoch.peek();
    if (store.plotShown.peek() === 'compare') store.plotShown.value = 'force';
    begin('impedance');
    compare.value = { ...compare.peek(), runs: [], busy: '' };
  });
}
