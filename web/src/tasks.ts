// Tasks in words, and their edits: each one REST call.
import { attempt } from './actions';
import { call, enc } from './rest';
import type { Branch, ConstrainStep, MoveStep, Parameter, Step, StepResult, Task, TaskProgress } from './protocol';
import * as store from './store';
import { fixed, listed, measure, newtons } from './words';

// ---- the parameters that a move names ------------------------------------------------------------

export function branchOf(object: string): Branch | undefined {
  const solution = store.solutions.value.get(object);
  return solution?.branches.find((b) => b.id === solution.branch) ?? solution?.branches[0];
}

const TURNS = new Set(['phi', 'theta', 'yaw', 'pitch', 'roll', 'phi_t', 'azimuth', 'polar']);

export const unitOf = (name: string): Parameter['unit'] => (TURNS.has(name) ? 'rad' : 'm');

// Up and down where a slide goes that way.
function upright(object: string, name: string): number {
  if (name === 'z') return 1;
  const t = branchOf(object)?.translation;
  const z = name === 's' && (t?.kind === 'line' || t?.kind === 'cylinder') && t.in !== 'mobile' ? (t.direction?.[2] ?? 0) : 0;
  return Math.abs(z) > 0.9 ? Math.sign(z) : 0;
}

function going(object: string, name: string, value: number, by: boolean): string {
  const unit = unitOf(name);
  if (unit === 'rad') return by ? `turn ${measure(unit, value)}` : `turn ${name} to ${measure(unit, value)}`;
  const up = by ? upright(object, name) : 0;
  if (up) return `${up * value < 0 ? 'lower' : 'raise'} by ${measure(unit, Math.abs(value))}`;
  return by ? `slide ${name} by ${measure(unit, value)}` : `slide ${name} to ${measure(unit, value)}`;
}

export function untilWords(until: MoveStep['until']): string {
  const guards = [until?.reaction ? newtons(until.reaction) : '', until?.contact ? 'contact' : ''].filter(Boolean);
  return guards.length ? ` until ${guards.join(' or ')}` : '';
}

function moveWords(object: string, step: MoveStep): string {
  const parts = [
    ...Object.entries(step.to ?? {}).map(([name, v]) => going(object, name, v, false)),
    ...Object.entries(step.by ?? {}).map(([name, v]) => going(object, name, v, true)),
  ];
  return `${parts.length ? listed(parts) : 'stay'}${untilWords(step.until)}`;
}

// "lower by 40 mm until 5 N", "turn 30 degrees", "enable c1 and c2", "wait 2 s"
export function stepWords(object: string, step: Step): string {
  if (step.type === 'wait') return `wait ${fixed(step.seconds, 2)} s`;
  if (step.type === 'move') return moveWords(object, step);
  const parts = [
    step.enable?.length ? `enable ${listed(step.enable)}` : '', step.disable?.length ? `disable ${listed(step.disable)}` : '',
  ].filter(Boolean);
  return `${parts.join(', ') || 'keep the constraints'}${step.branch ? ` on branch ${step.branch}` : ''}`;
}

// What came of it, in a sentence.
export function resultWords(task: Task, p: TaskProgress | undefined): string {
  if (!p || p.state === 'idle') return '';
  const at = Math.min(p.step, task.steps.length - 1);
  const step = task.steps[at];
  const where = step ? `step ${at + 1}, \u201c${stepWords(task.object, step)}\u201d` : 'its start';
  const seconds = p.steps.reduce((sum, s) => sum + (s.seconds ?? 0), 0);
  if (p.state === 'running') return `Running ${where}.`;
  if (p.state === 'done') return `Done: ${task.steps.length === 1 ? 'its one step' : `all ${task.steps.length} steps`} in ${fixed(seconds, 1)} s.`;
  const why = p.message?.replace(/^Step \d+ of \d+ \w+: /, '').replace(/\.$/, '') || p.steps[at]?.reason;
  return `${p.state === 'failed' ? 'Failed' : 'Stopped'} at ${where}${why ? `: ${why}` : ''}.`;
}

// What a move brought: what pushed back, and how long it took.
export function stepNote(step: Step, result: StepResult | undefined): string {
  if (step.type !== 'move' || !result?.seconds || !['done', 'failed'].includes(result.state)) return '';
  const pushed = result.reason === 'reaction' && result.reaction ? `${newtons(result.reaction)} after ` : '';
  return ` (${pushed}${fixed(result.seconds, 2)} s)`;
}

// ---- steps out of what is there now ------------------------------------------------------------------

export function presentPose(object: string, until: MoveStep['until']): MoveStep {
  const values = store.solutions.value.get(object)?.parameters ?? [];
  const to: Record<string, number> = {};
  branchOf(object)?.parameters.forEach((p, i) => (to[p.name] = values[i] ?? 0));
  return { type: 'move', to, ...(until ? { until } : {}) };
}

// The constraints of the object as they are switched now.
export function presentConstraints(object: string): ConstrainStep {
  const own = store.constraints.value.filter((c) => [c.a, c.b].some((ref) => store.splitRef(ref)[0] === object));
  const ids = (on: boolean): string[] => own.filter((c) => (c.enabled !== false) === on).map((c) => c.id);
  const branch = (branchCount(object) > 1 && store.solutions.value.get(object)?.branch) || '';
  const [enable, disable] = [ids(true), ids(false)];
  return { type: 'constrain', ...(enable.length ? { enable } : {}), ...(disable.length ? { disable } : {}), ...(branch ? { branch } : {}) };
}

const branchCount = (object: string): number => store.solutions.value.get(object)?.branches.length ?? 0;

// ---- edits --------------------------------------------------------------------------------------------

export async function addTask(object: string): Promise<void> {
  const taken = new Set(store.tasks.value.map((t) => t.id));
  let n = 1;
  while (taken.has(`task${n}`)) n++;
  const steps: Step[] = [branchOf(object)?.dof ? presentPose(object, undefined) : presentConstraints(object)];
  if (await attempt(() => call('POST', '/tasks', { id: `task${n}`, name: `Task ${n}`, object, steps }))) store.selectTask(`task${n}`);
}

export const patchTask = (id: string, patch: Partial<Task>): Promise<boolean> =>
  attempt(() => call('PATCH', `/tasks/${enc(id)}`, patch));

export const deleteTask = (id: string): Promise<boolean> => attempt(() => call('DELETE', `/tasks/${enc(id)}`));

export const startTask = (id: string): Promise<boolean> => attempt(() => call('POST', `/tasks/${enc(id)}/start`));

export const stopTask = (id: string): Promise<boolean> => attempt(() => call('POST', `/tasks/${enc(id)}/stop`));
