// The constraint that is being made or changed. After every change a dry run tries it before it is committed.

import { effect, signal } from '@preact/signals';
import type { Bound, Conflict, Constraint, ConstraintType, Contact, Sense, Solution } from '../protocol';
import { isOneSided, kindOf, offers } from '../state/constraints';
import { touchingWords } from '../state/contactframes';
import { call, enc, Refused } from '../state/rest';
import * as store from '../state/store';
import { mm } from '../state/words';
import { deleteConstraint, patchConstraint } from './constraints';
import { feasibleValues, toMicrometre } from './feasible';
import { goOnAt } from './focus';
import { attempt } from './request';

export interface Draft {
  id: string; // of the constraint that is changed; '' for a new one
  type: ConstraintType;
  a: string;
  b: string;
  value: number;
  sense: Sense;
  bound: Bound;
  contact: Contact; // of kinds that slide or roll
  inside: boolean;
  enabled: boolean;
}

export interface Fix {
  label: string;
  run: () => void;
}

export interface Preview {
  solution: Solution | null; // where the constraint can be satisfied
  refusal: string; // where it cannot: the reason, a sentence
  conflict: Conflict | null;
  branch: number; // the branch whose ghost is selected
  values: number[]; // where it cannot: values with which it could
}

export const wanted = signal<ConstraintType | ''>(''); // kind chosen before its features
export const draft = signal<Draft | null>(null);
export const preview = signal<Preview | null>(null);

const STRANDS = 14; // poses along a freedom that does not separate
let asked = 0;

const mobileFirst = (a: string, b: string): [string, string] =>
  store.objectOf(store.splitRef(a)[0])?.fixed ? [b, a] : [a, b];

const measures = (type: ConstraintType): boolean => kindOf(type).unit !== '';

// The body of the request, without members that do not apply to the kind.
function body(d: Draft): Record<string, unknown> {
  if (d.id) return changes(d);
  const out: Record<string, unknown> = { type: d.type, a: d.a, b: d.b };
  if (measures(d.type)) out.value = d.value;
  if (isOneSided(d)) out.bound = d.bound;
  const offer = offers(d.a, d.b).find((o) => o.kind.type === d.type);
  if (offer?.sense && !isOneSided(d)) out.sense = d.sense;
  if (offer?.parts && d.contact !== 'bilateral') out.contact = d.contact;
  if (offer?.parts && d.inside) out.inside = true;
  return out;
}

function changes(d: Draft): Record<string, unknown> {
  const was = store.constraints.peek().find((c) => c.id === d.id);
  const out: Record<string, unknown> = {};
  if (measures(d.type) && d.value !== (was?.value ?? 0)) out.value = d.value;
  if (d.sense !== (was?.sense ?? 'either')) out.sense = d.sense;
  if (d.bound !== (was?.bound ?? 'equal')) out.bound = d.bound;
  if (d.contact !== (was?.contact ?? 'bilateral')) out.contact = d.contact;
  if (d.inside !== (was?.inside ?? false)) out.inside = d.inside;
  if (d.enabled !== (was?.enabled !== false)) out.enabled = d.enabled;
  return out;
}

// ---- beginning and ending -----------------------------------------------------------------------

export function propose(type: ConstraintType, change: Partial<Draft> = {}): void {
  const [first, second] = store.picked.value;
  if (!first || !second) return;
  const [a, b] = mobileFirst(first, second);
  const offer = offers(a, b).find((o) => o.kind.type === type);
  if (!offer?.fits) return;
  const was = draft.peek();
  const same = was && !was.id && was.type === type && was.a === a && was.b === b;
  if (same && Object.keys(change).length === 0) return;
  const value = offer.signed ? offer.value : Math.abs(offer.value);
  const fresh: Draft = {
    id: '',
    type,
    a,
    b,
    value: toMicrometre(value),
    sense: 'either',
    bound: 'equal',
    contact: 'bilateral',
    inside: false,
    enabled: true,
  };
  begin({ ...(same ? was : fresh), ...change });
}

// Starts a draft of a change of an existing constraint; a change without effect is no draft.
export function proposeChange(id: string, change: Partial<Draft>): void {
  const c = store.constraints.peek().find((k) => k.id === id);
  if (!c) return;
  const was = draft.peek();
  const now: Draft = {
    id,
    type: c.type,
    a: c.a,
    b: c.b,
    value: c.value ?? 0,
    sense: c.sense ?? 'either',
    bound: c.bound ?? 'equal',
    contact: c.contact ?? 'bilateral',
    inside: c.inside ?? false,
    enabled: c.enabled !== false,
  };
  const next = { ...(was?.id === id ? was : now), ...change };
  if (Object.keys(changes(next)).length === 0) dropDraft();
  else begin(next);
}

function begin(next: Draft): void {
  draft.value = next;
  void tryOut();
}

export function dropDraft(): void {
  asked++;
  if (!draft.peek() && !preview.peek()) return;
  draft.value = null;
  preview.value = null;
  store.culprits.value = [];
}

// Drops the draft if it is of this constraint, when the pointer leaves it.
export function dropChange(id: string): void {
  if (draft.peek()?.id === id) dropDraft();
}

// ---- trying it out ----------------------------------------------------------------------------------

const NOTHING: Preview = { solution: null, refusal: '', conflict: null, branch: 0, values: [] };

function refused(e: unknown): Preview {
  const problem = e instanceof Refused ? e.problem : null;
  const conflict = problem?.conflict ?? problem?.solution?.conflict ?? null;
  return { ...NOTHING, refusal: (e as Error).message, conflict };
}

function outcome(solution: Solution): Preview {
  if (solution.status === 'solved') return { ...NOTHING, solution };
  const text = solution.conflict?.message || solution.reason || 'No pose was found for this set.';
  return { ...NOTHING, refusal: text, conflict: solution.conflict ?? null };
}

// The remaining freedoms in words; for a member of a system those in the system.
export function wouldLeave({ solution, branch }: Preview): string {
  const system = solution?.system;
  if (!solution || !system || store.movesOnItsOwn(solution))
    return solution?.branches[branch]?.words ?? solution?.words ?? '';
  const { bodies, freedoms, mobility } = system;
  const count = (n: number): string => `${n} ${n === 1 ? 'freedom' : 'freedoms'}`;
  const d = draft.peek();
  const surfaces = !!d?.a.endsWith('surface') && d.b.endsWith('surface');
  const words = d && touchingWords(d, freedoms, surfaces);
  if (bodies > 1) return `${count(freedoms)}, as one of ${bodies} bodies that have ${count(mobility)}`;
  return words ? `${count(freedoms)}: ${words}` : count(freedoms);
}

function show(result: Preview): void {
  preview.value = result;
  store.culprits.value =
    result.conflict?.constraints.filter((id) => store.constraints.value.some((c) => c.id === id)) ?? [];
  if (result.refusal) store.announce(`Cannot hold: ${result.refusal}`);
  else store.announce(`Would leave ${wouldLeave(result)}`);
}

const ask = (d: Draft, query: string): Promise<unknown> =>
  d.id ? call('PATCH', `/constraints/${enc(d.id)}${query}`, body(d)) : call('POST', `/constraints${query}`, body(d));

async function dryRun(d: Draft): Promise<Preview> {
  try {
    const answer = (await ask(d, `?dryRun=true&strands=${STRANDS}`)) as Solution | Solution[];
    return outcome(Array.isArray(answer) ? answer[0]! : answer);
  } catch (e) {
    return refused(e);
  }
}

async function tryOut(): Promise<void> {
  const mine = ++asked;
  const now = draft.peek();
  if (!now) return;
  const result = await dryRun(now);
  if (mine !== asked) return;
  show(result);
  if (!result.refusal) return;
  const holds = async (value: number): Promise<boolean> => !(await dryRun({ ...now, type: 'distance', value })).refusal;
  const values = isOneSided(now) ? [] : await feasibleValues(now, result.conflict, holds);
  if (mine === asked && values.length) preview.value = { ...result, values };
}

// ---- ways out of a refusal ------------------------------------------------------------------------------

// Repeats the dry run after another edit.
function again(): void {
  if (draft.peek()) void tryOut();
}

export function draftFixes(): Fix[] {
  const now = draft.value;
  if (!now) return [];
  const values: Fix[] = (preview.value?.values ?? []).map((value) => ({
    label: `Make it ${mm(value)}`,
    run: () => (now.id ? proposeChange(now.id, { value }) : propose('distance', { value })),
  }));
  const others = store.culprits.value.filter((id) => id !== now.id);
  return [
    ...values,
    ...others.flatMap((id): Fix[] => [
      { label: `Disable ${id}`, run: () => void patchConstraint(id, { enabled: false }).then((ok) => ok && again()) },
      { label: `Delete ${id}`, run: () => void deleteConstraint(id).then((ok) => ok && again()) },
    ]),
  ];
}

// ---- branches and committing ----------------------------------------------------------------------------

// Steps through the branches of the dry run's solution.
export function stepBranch(by: number): boolean {
  const now = preview.peek();
  const count = now?.solution?.branches.length ?? 0;
  if (!now || count < 2) return false;
  const branch = (now.branch + by + count) % count;
  preview.value = { ...now, branch };
  store.announce(`Branch ${branch + 1} of ${count}`);
  return true;
}

function closeDraft(made: string): void {
  goOnAt(`.entry [data-constraint="${CSS.escape(made)}"]`);
  dropDraft();
  wanted.value = '';
  store.picked.value = [];
  store.selectedConstraint.value = made;
}

export async function commitDraft(): Promise<void> {
  const now = draft.peek();
  if (!now) return;
  const chosen = preview.peek();
  try {
    const made = (await ask(now, '')) as Constraint;
    const branch = chosen && chosen.branch > 0 ? chosen.solution?.branches[chosen.branch] : undefined;
    const object = chosen?.solution?.object;
    if (draft.peek() === now) closeDraft(made.id); // else the draft was dropped or changed meanwhile
    if (branch && object) await attempt(() => call('PATCH', `/solutions/${enc(object)}`, { branch: branch.id }));
  } catch (e) {
    show(refused(e));
  }
}

// For a kind chosen before its features: starts the draft with the second feature. Picking other features ends a draft.
export function watchSelection(): void {
  effect(() => {
    const [a, b] = store.picked.value;
    const now = draft.peek();
    if (now && !now.id && !(a && b && [now.a, now.b].includes(a) && [now.a, now.b].includes(b))) dropDraft();
    if (a && b) {
      store.features.value;
      if (wanted.value) propose(wanted.value);
    }
  });
  effect(() => {
    store.sceneEpoch.value;
    if (draft.peek()?.id) dropDraft();
  });
  effect(() => {
    const now = draft.peek();
    if (now?.id && !store.constraints.value.some((c) => c.id === now.id)) dropDraft();
  });
}
