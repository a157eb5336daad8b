// Distances that can be satisfied in place of one that cannot: the present distance and those named by the conflict.
// Each is tried by a dry run; the nearest to the wanted one comes first.

import type { Conflict, ConstraintType } from '../protocol';
import { distanceNow, elementOf, kindOf } from '../state/constraints';

const MOST_TRIED = 8;
const MOST_OFFERED = 2;

// Rounded to a micrometre, to be readable.
export const toMicrometre = (value: number): number => Math.round(value * 1e6) / 1e6;

export interface Candidate {
  type: ConstraintType;
  a: string;
  b: string;
  value?: number;
}

export async function feasibleValues(
  asked: Candidate,
  conflict: Conflict | null | undefined,
  holds: (value: number) => Promise<boolean>,
): Promise<number[]> {
  const [a, b] = [elementOf(asked.a), elementOf(asked.b)];
  if (!a || !b || !(asked.type === 'distance' || asked.type === 'coincident')) return [];
  const wanted = asked.type === 'distance' ? (asked.value ?? 0) : 0;
  const signed = kindOf('distance').signed(a.kind, b.kind);
  const spoken = Object.values(conflict?.values ?? {}).flatMap((v) => (signed ? [v, -v] : [Math.abs(v)]));
  const candidates = [distanceNow(a, b), ...spoken]
    .map(toMicrometre)
    .filter((v, i, all) => all.indexOf(v) === i && Math.abs(v - wanted) > 1e-6);
  const tried = await Promise.all(
    candidates.slice(0, MOST_TRIED).map(async (value) => ({ value, good: await holds(value) })),
  );
  return tried
    .filter((t) => t.good)
    .map((t) => t.value)
    .sort((x, y) => Math.abs(x - wanted) - Math.abs(y - wanted))
    .slice(0, MOST_OFFERED);
}
