// Assembly in slices of iterations, each starting from the poses of the one before and drawn as ghosts. It can be
// stopped between two slices; the result is applied as one edit, or discarded.

import { computed, effect, signal } from '@preact/signals';
import type { Assembly } from '../protocol';
import { call } from '../state/rest';
import * as store from '../state/store';
import { MM } from '../state/words';
import { attempt } from './request';

export type AssemblyMethod = 'lm' | 'gradient' | 'newton';

export const METHODS: Readonly<Record<AssemblyMethod, string>> = {
  lm: 'Levenberg\u2013Marquardt',
  gradient: 'gradient descent',
  newton: 'Newton',
};

// Settings of the search. Ground null: the fixed objects.
export const settings = signal<{ method: AssemblyMethod; seed: number; ground: readonly string[] | null }>({
  method: 'lm',
  seed: 1,
  ground: null,
});

export interface AssemblyRun {
  state: 'working' | 'stopped' | 'held' | 'remains';
  now: Assembly; // the newest answer, or the best one when all starts are done
  iterations: number; // over all starts
  starts: number;
  revision: number; // of the assembled scene
}

// True where the scene has relations to satisfy.
export const canAssemble = computed(() => store.constraints.value.length + store.joints.value.length > 0);

export const run = signal<AssemblyRun | null>(null);

// ---- the residual by iteration --------------------------------------------------------------------------

const ROOM = 4096; // samples; when it is full, every second one is dropped
const LEAST_MM = 1e-14;

export const curve = {
  iterations: new Float64Array(ROOM),
  powers: new Float64Array(ROOM), // log10 of the residual in mm
  count: 0,
};

function note(iteration: number, residual: number): void {
  if (curve.count === ROOM) {
    curve.count = ROOM / 2;
    for (let i = 0; i < curve.count; i++) {
      curve.iterations[i] = curve.iterations[2 * i]!;
      curve.powers[i] = curve.powers[2 * i]!;
    }
  }
  curve.iterations[curve.count] = iteration;
  curve.powers[curve.count++] = Math.log10(Math.max(residual * MM, LEAST_MM));
}

// ---- slices ---------------------------------------------------------------------------------------------

const STARTS = 64;
const SLICE_MS = 70;
const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

// Iterations of the next slice: one picture for each iteration at first, then more and more, so that a long search
// takes seconds; more from the start for gradient descent, which needs thousands.
const sliceOf = (made: number): number => {
  const each = settings.peek().method === 'gradient' ? 25 : 1;
  return Math.min(1000, each * Math.max(1, Math.floor(made / each / 20)));
};

const asked = (): object => {
  const { method, seed, ground } = settings.peek();
  return { method, seed, ...(ground ? { ground } : {}) };
};

let turn = 0;

// Starts from the present poses, or continues a stopped run.
export async function assemble(from?: AssemblyRun): Promise<void> {
  const mine = ++turn;
  const revision = store.revision.peek();
  let made = from?.iterations ?? 0;
  let best: Assembly | undefined;
  let next: object = from ? { poses: from.now.poses, progress: from.now.progress } : {};
  if (!from) curve.count = 0;
  store.folded.value = { ...store.folded.peek(), assembly: false };
  const first = made === 0 && !from ? 0 : sliceOf(made);
  for (let iterations = first, start = from?.now.progress.start ?? 0; ; iterations = sliceOf(made)) {
    const begun = performance.now();
    const body = { ...asked(), ...next, iterations, starts: start + 1, trace: true };
    let now: Assembly | undefined;
    const asks = async (): Promise<void> => {
      now = await call<Assembly>('POST', '/assemble', body);
    };
    const good = await attempt(asks);
    if (mine !== turn) return;
    if (!good || !now) {
      run.value = null;
      return;
    }
    if (iterations === 0) note(0, now.residual);
    now.trace?.forEach((t, i) => note(made + i + 1, t.residual));
    made += now.iterations;
    const so = { now, iterations: made, starts: start + 1, revision };
    if (now.ended === 'held') {
      run.value = { ...so, state: 'held' };
      return;
    }
    if (now.ended === 'starts') {
      if (!best || now.residual < best.residual) best = now;
      if (++start === STARTS) {
        run.value = { ...so, now: best, state: 'remains' };
        return;
      }
      so.now = { ...now, progress: { start, iteration: 0, damping: 0, slow: 0 } };
    }
    run.value = { ...so, state: 'working' };
    next = { poses: so.now.poses, progress: so.now.progress };
    await sleep(Math.max(0, SLICE_MS - (performance.now() - begun)));
    if (mine !== turn) return;
  }
}

export function stopAssembly(): void {
  turn++;
  const now = run.peek();
  if (now?.state === 'working') run.value = { ...now, state: 'stopped' };
}

export function discardAssembly(): void {
  turn++;
  run.value = null;
}

// Applies the poses that are shown, as one edit.
export async function applyAssembly(): Promise<boolean> {
  const now = run.peek();
  if (!now) return false;
  stopAssembly();
  const body = { ...asked(), poses: now.now.poses, iterations: 0, apply: true };
  const done = await attempt(() => call('POST', '/assemble', body));
  if (done) discardAssembly();
  return done;
}

// Ends the assembly when the scene changes or the simulation runs.
effect(() => {
  const { value: revision } = store.revision;
  const runs = store.runState.value !== 'stopped';
  const now = run.peek();
  if (!now || (now.revision === revision && !runs)) return;
  discardAssembly();
  if (now.state === 'working')
    store.inform(runs ? 'The simulation runs: assembling has ended.' : 'The scene has changed: assembling has ended.');
});
