// How an edit reaches the server: one REST call, its refusal shown in words, at most one request for one thing
// under way. The server's echo is the truth: no edit changes the store itself.

import type { Conflict } from '../protocol';
import { Refused } from '../state/rest';
import * as store from '../state/store';
import { refuse } from '../state/store';

// Ways out of a refusal, given the constraints that clash.
type Fixes = (
  culprits: readonly string[],
  conflict: Conflict | undefined,
) => store.Notice['fixes'] | Promise<store.Notice['fixes']>;

// Runs an edit; a refusal is shown in words with the culprits lit. True when it went through.
export async function attempt(edit: () => Promise<unknown>, fixes: Fixes = () => []): Promise<boolean> {
  try {
    await edit();
    if (store.notice.value?.tone === 'error') store.notice.value = null;
    return true;
  } catch (e) {
    const conflict = e instanceof Refused ? (e.problem.conflict ?? e.problem.solution?.conflict) : undefined;
    store.culprits.value = conflict?.constraints ?? [];
    refuse((e as Error).message, await fixes(store.culprits.value, conflict));
    return false;
  }
}

// Edits of one thing in quick succession: one request under way at a time, in order, the newest wins.
const underWay = new Map<string, Promise<boolean>>();
const newest = new Map<string, () => Promise<boolean>>();

export function coalesce(key: string, edit: () => Promise<boolean>): Promise<boolean> {
  newest.set(key, edit);
  const now = underWay.get(key) ?? drain(key);
  underWay.set(key, now);
  return now;
}

async function drain(key: string): Promise<boolean> {
  let good = false;
  await Promise.resolve(); // so that it is known to be under way
  for (let edit = newest.get(key); edit; edit = newest.get(key)) {
    newest.delete(key);
    good = await edit();
  }
  underWay.delete(key);
  return good;
}
