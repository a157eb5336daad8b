// Sending of edits: one REST call each, errors shown in words, at most one request for one value under way. No edit
// changes the store itself; the server's echo does.

import type { Conflict } from '../protocol';
import { callForRevision, Refused } from '../state/rest';
import * as store from '../state/store';
import { refuse } from '../state/store';
import { type Typed, typedWords } from '../state/words';

// Offered fixes for a refused edit, given the constraints in conflict.
type Fixes = (
  culprits: readonly string[],
  conflict: Conflict | undefined,
) => store.Notice['fixes'] | Promise<store.Notice['fixes']>;

// The field whose value is being committed: the edits that this starts at once are about it.
let typed: Typed | undefined;

export function committing(field: Typed | undefined, commit: () => void): void {
  const before = typed;
  typed = field;
  try {
    commit();
  } finally {
    typed = before;
  }
}

const inWords = (e: Error, field: Typed | undefined): string =>
  field && e instanceof Refused && e.status === 400 ? typedWords(field, e.message) : e.message;

// Runs an edit; an error is shown in words, with the constraints in conflict highlighted. True where it succeeded.
export async function attempt(edit: () => Promise<unknown>, fixes: Fixes = () => []): Promise<boolean> {
  const field = typed;
  try {
    await edit();
    if (store.notice.value?.tone === 'error') store.notice.value = null;
    return true;
  } catch (e) {
    const conflict = e instanceof Refused ? (e.problem.conflict ?? e.problem.solution?.conflict) : undefined;
    store.culprits.value = conflict?.constraints ?? [];
    refuse(inWords(e as Error, field), await fixes(store.culprits.value, conflict));
    return false;
  }
}

// Adds the file's name to an error.
export async function named<T>(file: File, made: Promise<T>): Promise<T> {
  try {
    return await made;
  } catch (e) {
    const { message } = e as Error;
    throw message.includes(file.name) ? e : new Error(`${file.name}: ${message}`);
  }
}

// Edits of one value in quick succession: one request under way at a time, in order; the newest replaces those that
// wait.
const underWay = new Map<string, Promise<boolean>>();
const newest = new Map<string, () => Promise<boolean>>();

export function coalesce(key: string, edit: () => Promise<boolean>): Promise<boolean> {
  const field = typed;
  newest.set(key, () => {
    let made = Promise.resolve(false);
    committing(field, () => {
      made = edit();
    });
    return made;
  });
  const now = underWay.get(key) ?? drain(key);
  underWay.set(key, now);
  return now;
}

async function drain(key: string): Promise<boolean> {
  let good = false;
  await Promise.resolve(); // so that it counts as under way
  for (let edit = newest.get(key); edit; edit = newest.get(key)) {
    newest.delete(key);
    good = await edit();
  }
  underWay.delete(key);
  return good;
}

// Edits that were sent and are not yet in the store, by resource. A list is replaced as a whole, so a change of one
// entry must start from the resource as these edits leave it.
interface Sent {
  patch: object;
  revision: number; // of the document that contains it; Infinity: not answered
}

const sent = new Map<string, Map<string, Sent>>();

const isTable = (x: unknown): x is Record<string, unknown> => !!x && typeof x === 'object' && !Array.isArray(x);

function merged(known: unknown, patch: unknown): unknown {
  if (!isTable(patch)) return patch ?? undefined;
  const changed = Object.entries(patch).map(([key, to]) => [key, merged(isTable(known) ? known[key] : undefined, to)]);
  return { ...(isTable(known) ? known : {}), ...Object.fromEntries(changed) };
}

// A resource after the edits so far, including those under way.
export const latest = <T>(path: string, known: T): T =>
  [...(sent.get(path)?.values() ?? [])]
    .filter(({ revision }) => revision > store.revision.peek())
    .reduce((now, { patch }) => merged(now, patch) as T, known);

// Edits a resource by a request that returns the document's revision. Among edits of the same members in quick
// succession the newest replaces those that wait.
export async function change(path: string, patch: object, send: () => Promise<number>): Promise<boolean> {
  const key = JSON.stringify(patch, (_, to: unknown) => (isTable(to) ? to : 0)); // members only
  const mine = { patch, revision: Infinity };
  const list = sent.get(path) ?? new Map<string, Sent>();
  sent.set(path, list);
  list.delete(key); // so that it is applied last
  list.set(key, mine);
  const done = await coalesce(`${path} ${key}`, () => attempt(async () => void (mine.revision = await send())));
  if (!done && list.get(key) === mine) list.delete(key);
  return done;
}

export const patch = (path: string, to: object): Promise<boolean> =>
  change(path, to, () => callForRevision('PATCH', path, to));
