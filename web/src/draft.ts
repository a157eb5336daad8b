// The constraint being made: kind and features chosen, tried by a dry run before it is committed.
import { effect, signal } from '@preact/signals';
import { offers } from './kinds';
import { call } from './rest';
import { Refusal, type Conflict, type Constraint, type ConstraintType, type Sense, type Solution } from './protocol';
import * as store from './store';
import { attempt } from './actions';

export interface Draft { type: ConstraintType; a: string; b: string; value: number; sense: Sense }

export interface Preview {
  solution: Solution | null; // where it can hold
  refusal: string; // where it cannot: a sentence
  conflict: Conflict | null;
  branch: number; // the ghost that is looked at
}

export const wanted = signal<ConstraintType | ''>(''); // kind chosen before its features
export const draft = signal<Draft | null>(null);
export const preview = signal<Preview | null>(null);

let asked = 0;

const mobileFirst = (a: string, b: string): [string, string] =>
  store.objectOf(store.splitRef(a)[0])?.fixed ? [b, a] : [a, b];

// What goes over the wire: members that the kind does not have are left out.
function body(d: Draft): Partial<Constraint> {
  const out: Partial<Constraint> = { type: d.type, a: d.a, b: d.b };
  if (d.type === 'distance' || d.type === 'angle') out.value = d.value;
  const offer = offers(d.a, d.b).find((o) => o.type === d.type);
  if (offer?.sense) out.sense = d.sense;
  return out;
}

export function propose(type: ConstraintType, change: Partial<Draft> = {}): void {
  const [first, second] = store.picked.value;
  if (!first || !second) return;
  const [a, b] = mobileFirst(first, second);
  const offer = offers(a, b).find((o) => o.type === type);
  if (!offer?.fits) return;
  const was = draft.peek();
  const same = was && was.type === type && was.a === a && was.b === b;
  if (same && Object.keys(change).length === 0) return;
  const value = offer.signed ? offer.value : Math.abs(offer.value);
  draft.value = { ...(same ? was : { type, a, b, value: tidy(value), sense: 'either' as Sense }), ...change };
  void tryOut();
}

// The measured value to a micrometre, so that the field reads well.
const tidy = (value: number): number => Math.round(value * 1e6) / 1e6;

export function dropDraft(): void {
  asked++;
  draft.value = null;
  preview.value = null;
  store.culprits.value = [];
}

function refused(e: unknown): Preview {
  const problem = e instanceof Refusal ? e.problem : null;
  const conflict = problem?.conflict ?? problem?.solution?.conflict ?? null;
  return { solution: null, refusal: (e as Error).message, conflict, branch: 0 };
}

function outcome(solution: Solution): Preview {
  if (solution.status === 'solved') return { solution, refusal: '', conflict: null, branch: 0 };
  const text = solution.conflict?.message || solution.reason || 'No pose was found for this set.';
  return { solution: null, refusal: text, conflict: solution.conflict ?? null, branch: 0 };
}

function show(result: Preview): void {
  preview.value = result;
  store.culprits.value = result.conflict?.constraints.filter((id) => store.constraints.value.some((c) => c.id === id)) ?? [];
  if (result.refusal) store.announce(`Cannot hold: ${result.refusal}`);
  else store.announce(`Would leave ${result.solution?.words ?? ''}`);
}

async function tryOut(): Promise<void> {
  const mine = ++asked;
  const now = draft.peek();
  if (!now) return;
  try {
    const solution = await call<Solution>('POST', '/constraints?dryRun=true', body(now));
    if (mine === asked) show(outcome(solution));
  } catch (e) {
    if (mine === asked) show(refused(e));
  }
}

// Steps through the branches that the draft would leave.
export function stepBranch(by: number): boolean {
  const now = preview.peek();
  const count = now?.solution?.branches.length ?? 0;
  if (!now || count < 2) return false;
  const branch = (now.branch + by + count) % count;
  preview.value = { ...now, branch };
  store.announce(`Branch ${branch + 1} of ${count}`);
  return true;
}

export async function commitDraft(): Promise<void> {
  const now = draft.peek();
  if (!now) return;
  const chosen = preview.peek();
  try {
    const made = await call<Constraint>('POST', '/constraints', body(now));
    const branch = chosen && chosen.branch > 0 ? chosen.solution?.branches[chosen.branch] : undefined;
    const object = chosen?.solution?.object;
    dropDraft();
    wanted.value = '';
    store.picked.value = [];
    store.selectedConstraint.value = made.id;
    if (branch && object) await attempt(() => call('PATCH', `/solutions/${object}`, { branch: branch.id }));
  } catch (e) {
    show(refused(e));
  }
}

// Kind first, then features: the draft appears with the second feature. Other features end a draft.
export function watchPicks(): void {
  effect(() => {
    const [a, b] = store.picked.value;
    const now = draft.peek();
    if (now && !(a && b && [now.a, now.b].includes(a) && [now.a, now.b].includes(b))) dropDraft();
    if (a && b) {
      store.features.value;
      if (wanted.value) propose(wanted.value);
    }
  });
}
