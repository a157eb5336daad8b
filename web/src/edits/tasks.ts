// Tasks in words, and their edits, one REST call each.

import type { Branch, ConstrainStep, MoveStep, Parameter, Step, StepProgress, Task, TaskProgress } from '../protocol';
import { basisOf } from '../state/freedoms';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { fixed, listed, measure, newtonMetres, newtons } from '../state/words';
import { attempt, latest, patch } from './request';

// ---- the parameters that a move names ------------------------------------------------------------

export function branchOf(object: string): Branch | undefined {
  const solution = store.solutions.value.get(object);
  return solution?.branches.find((b) => b.id === solution.branch) ?? solution?.branches[0];
}

const TURNS = new Set(['phi', 'theta', 'psi', 'yaw', 'pitch', 'roll']);
const ROUND = new Set(['phi_t', 'azimuth', 'polar']); // angles along a locus
const OF_SHAPES = new Set(['u', 'v']);

// The unit of a parameter: from the branch, or from the name where the branch has no such parameter.
export function unitOf(object: string, name: string): Parameter['unit'] {
  const parameter = branchOf(object)?.parameters.find((p) => p.name === name);
  if (parameter) return parameter.unit;
  return TURNS.has(name) || ROUND.has(name) ? 'rad' : OF_SHAPES.has(name) ? '1' : 'm';
}

// 1 or -1 where a slide goes up or down, else 0.
function upright(object: string, name: string): number {
  const t = branchOf(object)?.translation;
  if (name === 'z') return 1;
  if (!t || t.in === 'mobile') return 0;
  const { e1, e2, e3 } = basisOf(t);
  const way = t.kind === 'plane' ? { s: e1, t: e2 }[name] : name === 's' ? e3 : undefined;
  return way && Math.abs(way[2]) > 0.9 ? Math.sign(way[2]) : 0;
}

function going(object: string, name: string, value: number, by: boolean): string {
  const unit = unitOf(object, name);
  if (unit === 'rad') return by ? `turn ${measure(unit, value)}` : `turn ${name} to ${measure(unit, value)}`;
  const up = by && unit === 'm' ? upright(object, name) : 0;
  if (up) return `${up * value < 0 ? 'lower' : 'raise'} by ${measure(unit, Math.abs(value))}`;
  return by ? `slide ${name} by ${measure(unit, value)}` : `slide ${name} to ${measure(unit, value)}`;
}

// True where the move only rotates, so that its reaction is in N m; along a slide it is in N.
export const turnsOnly = (step: MoveStep): boolean => {
  const names = [...Object.keys(step.to ?? {}), ...Object.keys(step.by ?? {})];
  return names.length > 0 && names.every((name) => TURNS.has(name));
};

const pushWords = (step: MoveStep, value: number): string => (turnsOnly(step) ? newtonMetres(value) : newtons(value));

function untilWords(step: MoveStep): string {
  const { until } = step;
  const guards = [until?.reaction ? pushWords(step, until.reaction) : '', until?.contact ? 'contact' : ''].filter(
    Boolean,
  );
  return guards.length ? ` until ${guards.join(' or ')}` : '';
}

function moveWords(object: string, step: MoveStep): string {
  const parts = [
    ...Object.entries(step.to ?? {}).map(([name, v]) => going(object, name, v, false)),
    ...Object.entries(step.by ?? {}).map(([name, v]) => going(object, name, v, true)),
  ];
  return `${parts.length ? listed(parts) : 'stay'}${untilWords(step)}`;
}

// "lower by 40 mm until 5 N", "turn 30 degrees", "enable c1 and c2", "wait 2 s"
export function stepWords(object: string, step: Step): string {
  if (step.type === 'wait') return `wait ${fixed(step.seconds, 2)} s`;
  if (step.type === 'move') return moveWords(object, step);
  const parts = [
    step.enable?.length ? `enable ${listed(step.enable)}` : '',
    step.disable?.length ? `disable ${listed(step.disable)}` : '',
  ].filter(Boolean);
  return `${parts.join(', ') || 'keep the constraints'}${step.branch ? ` on branch ${step.branch}` : ''}`;
}

// The result as a sentence.
export function resultWords(task: Task, p: TaskProgress | undefined): string {
  if (!p || p.state === 'idle') return '';
  const at = Math.min(p.step, task.steps.length - 1);
  const step = task.steps[at];
  const where = step ? `step ${at + 1}, \u201c${stepWords(task.object, step)}\u201d` : 'its start';
  const seconds = p.steps.reduce((sum, s) => sum + (s.seconds ?? 0), 0);
  if (p.state === 'running') return `Running ${where}.`;
  const steps = task.steps.length === 1 ? 'its one step' : `all ${task.steps.length} steps`;
  if (p.state === 'done') return `Done: ${steps} in ${fixed(seconds, 1)} s.`;
  const why = p.message?.replace(/^Step \d+ of \d+ \w+: /, '').replace(/\.$/, '') || p.steps[at]?.reason;
  return `${p.state === 'failed' ? 'Failed' : 'Stopped'} at ${where}${why ? `: ${why}` : ''}.`;
}

// The result of a move: its reaction and duration.
export function stepNote(step: Step, result: StepProgress | undefined): string {
  if (step.type !== 'move' || !result?.seconds || !['done', 'failed'].includes(result.state)) return '';
  const pushed = result.reason === 'reaction' && result.reaction ? `${pushWords(step, result.reaction)} after ` : '';
  return ` (${pushed}${fixed(result.seconds, 2)} s)`;
}

// ---- steps made from the present state ---------------------------------------------------------------

export function presentPose(object: string, until: MoveStep['until']): MoveStep {
  const values = store.solutions.value.get(object)?.parameters ?? [];
  const to: Record<string, number> = {};
  branchOf(object)?.parameters.forEach((p, i) => (to[p.name] = values[i] ?? 0));
  return { type: 'move', to, ...(until ? { until } : {}) };
}

// A step that enables and disables the object's constraints as they are at present.
export function presentConstraints(object: string): ConstrainStep {
  const own = store.constraints.value.filter((c) => [c.a, c.b].some((ref) => store.splitRef(ref)[0] === object));
  const ids = (on: boolean): string[] => own.filter((c) => (c.enabled !== false) === on).map((c) => c.id);
  const branch = (branchCount(object) > 1 && store.solutions.value.get(object)?.branch) || '';
  const [enable, disable] = [ids(true), ids(false)];
  return {
    type: 'constrain',
    ...(enable.length ? { enable } : {}),
    ...(disable.length ? { disable } : {}),
    ...(branch ? { branch } : {}),
  };
}

const branchCount = (object: string): number => store.solutions.value.get(object)?.branches.length ?? 0;

// ---- edits --------------------------------------------------------------------------------------------

export async function addTask(object: string): Promise<void> {
  const taken = new Set(store.tasks.value.map((t) => t.id));
  let n = 1;
  while (taken.has(`task${n}`)) n++;
  const steps: Step[] = [branchOf(object)?.dof ? presentPose(object, undefined) : presentConstraints(object)];
  if (await attempt(() => call('POST', '/tasks', { id: `task${n}`, name: `Task ${n}`, object, steps })))
    store.selectTask(`task${n}`);
}

const taskPath = (id: string): string => `/tasks/${enc(id)}`;

export const patchTask = (id: string, to: Partial<Task>): Promise<boolean> => patch(taskPath(id), to);

export function editSteps(id: string, edit: (steps: readonly Step[]) => Step[]): void {
  const task = store.tasks.peek().find((t) => t.id === id);
  if (task) void patchTask(id, { steps: edit(latest(taskPath(id), task).steps) });
}

export const deleteTask = (id: string): Promise<boolean> => attempt(() => call('DELETE', `/tasks/${enc(id)}`));

export const startTask = (id: string): Promise<boolean> => attempt(() => call('POST', `/tasks/${enc(id)}/start`));

export const stopTask = (id: string): Promise<boolean> => attempt(() => call('POST', `/tasks/${enc(id)}/stop`));
