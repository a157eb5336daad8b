// Run, pause, step, stop, halt, arm; and the person's hand: drag, push, clutch (over the stream).
import type { Halted, HandTarget, RunState, Simulation, Vec3 } from '../protocol';
import { call, file, Refused, save } from '../state/rest';
import * as store from '../state/store';
import { HAND, send } from '../state/stream';
import { attempt } from './request';

const NOTHING_MOVES =
  'It runs, but nothing here moves: select an object and hold it with the device, or let it move freely.';

const RUNS = { running: 'Running.', paused: 'Paused.', stopped: 'Stopped, back at the start.' };

export const setRun = (state: RunState): Promise<boolean> =>
  attempt(async () => {
    store.simulation.value = await call<Simulation>('PUT', '/simulation', { state });
    store.announce(RUNS[state]);
    if (state === 'running' && store.nothingMoves()) store.inform(NOTHING_MOVES);
  });

export const toggleRun = (): Promise<boolean> => setRun(store.runState.value === 'running' ? 'paused' : 'running');

export const step = (): Promise<boolean> =>
  attempt(async () => {
    if (store.runState.value !== 'paused') await call('PUT', '/simulation', { state: 'paused' });
    store.simulation.value = await call<Simulation>('POST', '/simulation/step', { ticks: 1 });
  });

// ---- halting: until the appliance has answered -----------------------------------------------------

const AGAIN_MS = 200;

// A name for one press of HALT, which goes out by the stream and by REST: the server then knows both as the same.
const nameOfPress = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join('-');

// Sends one request to halt; true where it was answered, also by a refusal.
async function askForHalt(press: string): Promise<boolean> {
  send({ op: 'halt', press });
  try {
    const halted = await call<Halted>('POST', '/simulation/halt', undefined, press);
    const now = store.simulation.peek();
    if (now) store.simulation.value = { ...now, ...halted };
    store.announce('Halted. Nothing moves until it is armed.');
  } catch (e) {
    if (!(e instanceof Refused) || e.status === 0 || e.status >= 500) return false;
    store.refuse(`It was not halted: ${e.message}`);
  }
  return true;
}

let pressedAgain: string | null = null; // while a request is under way: the last press since

// Repeats the request to halt until the server answers; what is pressed meanwhile is asked for by itself, for the
// answer may be older than an arming in between.
export async function halt(): Promise<void> {
  const first = nameOfPress();
  if (store.halting.peek()) {
    pressedAgain = first;
    send({ op: 'halt', press: first });
    return;
  }
  store.halting.value = true;
  for (let press: string | null = first; press; press = pressedAgain) {
    pressedAgain = null;
    while (!(await askForHalt(press))) await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
  store.halting.value = false;
}

export const arm = (): Promise<boolean> =>
  attempt(async () => {
    store.simulation.value = await call<Simulation>('POST', '/simulation/arm');
    store.announce('Armed.');
  });

// Downloads the ticks before a fault.
export const downloadFault = (number: number): Promise<boolean> =>
  attempt(async () => save(await file(`/loop/faults/${number}`), `fault-${number}.csv`));

export const clutch = (tool: number, on: boolean): boolean => send({ op: 'clutch', tool, on });

// ---- the lease of a device that is latched: renewed as long as a drag lasts, though the pointer may rest

const RENEW_MS = 100;
let renewing = 0; // the timer's id

// Renews the lease during a drag. An object that is dragged by its own name may be joined to a latched device: its drag
// then takes the lease, and the server reports who operates.
function keepLease(what: HandTarget): void {
  const held = 'tool' in what;
  const latched = held ? store.latched(what.tool) : store.tools.value.some((_, index) => store.latched(index));
  if (renewing || !latched) return;
  const renew = () => (held || store.operating.value) && send({ op: 'lease', on: true });
  renew();
  renewing = window.setInterval(renew, RENEW_MS);
}

function endLease(): void {
  if (!renewing) return;
  clearInterval(renewing);
  renewing = 0;
  send({ op: 'lease', on: false });
}

export function drag(what: HandTarget, point: Vec3, target: Vec3, turn: boolean): boolean {
  keepLease(what);
  return send({ op: 'drag', id: HAND, ...what, point, target, turn });
}

export function release(what: HandTarget): boolean {
  const sent = send({ op: 'release', ...what });
  endLease();
  return sent;
}

export const push = (what: HandTarget, force: Vec3): boolean => send({ op: 'push', ...what, force, torque: [0, 0, 0] });
