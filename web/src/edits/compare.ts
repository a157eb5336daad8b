// Runs of the simulation with one control after another, for the comparison plot (state/runs.ts).
import type { Control } from '../protocol';
import { CONTROLS, controlWords, impedanceTool } from '../state/control';
import { heldId } from '../state/mechanisms';
import { compare, keepRun } from '../state/runs';
import * as store from '../state/store';
import { setControl } from './devices';
import { setRun } from './simulation';

const sleep = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));

// Waits until the simulation reaches the time; false where the person or somebody else intervened.
async function until(seconds: number, mine: () => boolean): Promise<boolean> {
  for (;;) {
    await sleep(50);
    const sim = store.simulation.peek();
    if (!mine() || !sim || sim.halted || store.connection.peek() !== 'open') return false;
    if (sim.state === 'running' && sim.time >= seconds) return true;
    if (sim.state === 'paused') return false;
  }
}

async function one(control: Control, seconds: number, mine: () => boolean): Promise<boolean> {
  compare.value = { ...compare.peek(), busy: controlWords[control][0] };
  if (!(await setRun('stopped')) || !(await setControl(control))) return false;
  await sleep(200); // until the stream reports the stopped state
  if (!(await setRun('running')) || !(await until(seconds, mine))) return false;
  await setRun('paused');
  await sleep(150);
  keepRun(seconds);
  return true;
}

let turn = 0;

// Runs from the start with each control for the chosen time, then restores the former control, stopped. Pressed again,
// it ends early.
export async function compareAll(): Promise<void> {
  const mine = ++turn;
  const still = (): boolean => mine === turn;
  const tool = impedanceTool();
  if (compare.peek().busy || !tool) {
    compare.value = { ...compare.peek(), busy: '' };
    void setRun('paused');
    return;
  }
  const before = tool.control ?? 'impedance';
  const held = heldId(tool);
  store.plotShown.value = 'compare';
  compare.value = { ...compare.peek(), runs: [] };
  for (const control of CONTROLS) if (!still() || !(await one(control, compare.peek().seconds, still))) break;
  if (!still()) return;
  compare.value = { ...compare.peek(), busy: '' };
  await setRun('stopped');
  const now = impedanceTool();
  if (now && heldId(now) === held && now.control !== before) await setControl(before);
}
