// The last ten seconds for the plots: from the state, ten times a second, and, while such a plot is shown, kinetic
// energy, impulses and the device's error from every tick (the stream's samples). In fixed arrays.

import { effect, signal } from '@preact/signals';
import { record } from './runs';
import * as store from './store';
import { send, whenSamplesCome } from './stream';

export const SPAN_S = 10;

// A series of rows over time, oldest first; the newest replaces the oldest.
export class Series {
  readonly times: Float64Array;
  readonly values: Float64Array[];
  count = 0;

  constructor(
    private readonly cap: number,
    columns: number,
  ) {
    this.times = new Float64Array(cap);
    this.values = Array.from({ length: columns }, () => new Float64Array(cap));
  }

  get last(): number {
    return this.count ? this.times[this.count - 1]! : -1;
  }

  // The index of a new row at that time; -1 where the time has not advanced.
  next(time: number): number {
    if (time < this.last) this.count = 0;
    else if (this.count && time === this.last) return -1;
    if (this.count === this.cap) {
      const drop = this.cap >> 3;
      this.times.copyWithin(0, drop);
      for (const a of this.values) a.copyWithin(0, drop);
      this.count -= drop;
    }
    this.times[this.count] = time;
    return this.count++;
  }
}

export const hand = new Series(256, 4); // force along the normal, along the set (N); errors of constraint, of tool (um)
export const motion = new Series(1024, 2); // kinetic energy (mJ), the largest impulse of a tick (mN s)
export const sampled = signal(0); // raised a few times a second while samples arrive

// ---- ten times a second ----------------------------------------------------------------------------------

// True while stopped, which keeps all plots; the next run clears them.
let rests = true;

function receiveState(): void {
  const sim = store.simulation.value;
  const tool = sim?.tools[0];
  if (!sim) return;
  if (sim.state === 'stopped') {
    rests = true;
    return;
  }
  if (rests) hand.count = motion.count = 0;
  rests = false;
  const i = hand.next(sim.time);
  if (i < 0) return;
  hand.values[0]![i] = tool?.force_normal ?? 0;
  hand.values[1]![i] = tool?.force_tangential ?? 0;
  hand.values[2]![i] = (tool?.residual ?? 0) * 1e6;
  hand.values[3]![i] = (tool?.error_p ?? 0) * 1e6;
  if (subscribed) return;
  takeMotion(sim.time, sim.energy?.kinetic ?? 0, sim.contact?.impulse ?? 0);
  if (tool && sim.state === 'running') record(sim.time, tool.error_p);
}

const BIN_S = 0.01;

// Adds to a bin of BIN_S, which stores its largest impulse and its newest energy.
function takeMotion(time: number, kinetic: number, impulse: number): void {
  const bin = Math.floor(time / BIN_S + 1e-9) * BIN_S;
  const fresh = motion.next(bin);
  const i = fresh < 0 ? motion.count - 1 : fresh;
  motion.values[0]![i] = kinetic * 1e3;
  motion.values[1]![i] = Math.max(fresh < 0 ? motion.values[1]![i]! : 0, impulse * 1e3);
}

// ---- every tick ---------------------------------------------------------------------------------------------

let subscribed = false;
let columns: { width: number; t: number; kinetic: number; error: number; impulse: number } | null = null;
let toldAt = 0;

function takeColumns(names: readonly string[]): void {
  columns = {
    width: names.length,
    t: names.indexOf('t'),
    kinetic: names.indexOf('kinetic'),
    error: names.indexOf('error_p'),
    impulse: names.indexOf('contact_impulse'),
  };
}

const HEAD = 20;
const TOLD_MS = 200;

// Takes a frame of rows; allocates only a view of it.
function takeSamples(buffer: ArrayBuffer): void {
  if (!columns || buffer.byteLength < HEAD) return;
  const view = new DataView(buffer);
  const count = view.getUint32(4, true);
  const width = view.getUint32(16, true);
  if (width !== columns.width || buffer.byteLength < HEAD + 8 * count * width) return;
  for (let row = 0; row < count; row++) {
    const at = HEAD + 8 * row * width;
    const t = view.getFloat64(at + 8 * columns.t, true);
    takeMotion(
      t,
      view.getFloat64(at + 8 * columns.kinetic, true),
      columns.impulse < 0 ? 0 : view.getFloat64(at + 8 * columns.impulse, true),
    );
    if (row % 5 === 0) record(t, view.getFloat64(at + 8 * columns.error, true));
  }
  if (performance.now() - toldAt < TOLD_MS) return;
  toldAt = performance.now();
  sampled.value++;
}

// Clears the plots for another scene.
function forget(): void {
  store.sceneEpoch.value;
  hand.count = motion.count = 0;
}

// Subscribes to samples only while a plot that needs them is on the screen.
export function keepRecording(): void {
  whenSamplesCome(takeColumns, takeSamples);
  effect(receiveState);
  effect(forget);
  effect(() => {
    const wanted = store.plotShown.value !== 'force' && store.connection.value === 'open';
    if (store.connection.value !== 'open') subscribed = false;
    if (wanted === subscribed) return;
    subscribed = wanted;
    send({ op: wanted ? 'subscribe' : 'unsubscribe', stream: 'samples' });
  });
}
