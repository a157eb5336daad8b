// Which constraint kinds join two features, what they are called, and what they measure now.

import type { Bound, ConstraintType, Sense } from '../protocol';
import { exactPose } from './exact';
import { cross, dot, type ElementKind, norm, placed, sub, type WorldElement } from './maths';
import { poses } from './poses';
import { featureOf, objectOf, splitRef } from './store';
import { degrees, mm } from './words';

export const KINDS: ConstraintType[] = ['coincident', 'distance', 'parallel', 'perpendicular', 'angle'];

export const kindNames: Record<ConstraintType, string> = {
  coincident: 'coincident',
  distance: 'apart',
  parallel: 'parallel',
  perpendicular: 'perpendicular',
  angle: 'at an angle',
};

export interface Offer {
  type: ConstraintType;
  fits: boolean;
  why: string; // why it does not fit, or a word on what it brings along
  unit: 'm' | 'rad' | '';
  signed: boolean;
  wall: boolean; // may be stated one-sided: at least, at most
  sense: boolean; // two directed elements end up along one another
  value: number; // as the features are now
}

export function place(ref: string): WorldElement | null {
  const feature = featureOf(ref);
  return feature ? placed(feature, poses.pose(splitRef(ref)[0])) : null;
}

// The same to the last digit: for values that become constraints.
function exactElement(ref: string): WorldElement | null {
  const feature = featureOf(ref);
  return feature ? placed(feature, exactPose(splitRef(ref)[0])) : null;
}

export interface Measured {
  type: 'distance' | 'angle';
  value: number;
  note: string;
}

// What lies between two features now, as the constraint that would keep it.
export function measured(refA: string, refB: string): Measured[] {
  const [a, b] = [exactElement(refA), exactElement(refB)];
  if (!a || !b) return [];
  const out: Measured[] = [{ type: 'distance', value: distanceNow(a, b), note: brings('distance', a, b) }];
  if (directed(a) && directed(b)) out.push({ type: 'angle', value: angleNow(a, b), note: '' });
  return out;
}

const directed = (e: WorldElement): boolean => e.kind !== 'point';
const clamp1 = (x: number): number => Math.max(-1, Math.min(1, x));

function lineDistance(a: WorldElement, line: WorldElement): number {
  return norm(cross(sub(a.p, line.p), line.d));
}

// The distance as the solver means it: signed along the plane's normal where one is involved.
export function distanceNow(a: WorldElement, b: WorldElement): number {
  if (b.kind === 'plane') return dot(b.d, sub(a.p, b.p));
  if (a.kind === 'plane') return dot(a.d, sub(b.p, a.p));
  if (b.kind === 'line') return lineDistance(a, b);
  if (a.kind === 'line') return lineDistance(b, a);
  return norm(sub(a.p, b.p));
}

export function angleNow(a: WorldElement, b: WorldElement): number {
  const mixed = a.kind !== b.kind;
  return mixed ? Math.asin(clamp1(dot(a.d, b.d))) : Math.acos(clamp1(dot(a.d, b.d)));
}

function hasSense(type: ConstraintType, a: ElementKind, b: ElementKind): boolean {
  if (type === 'angle' || a === 'point' || b === 'point') return false;
  return type === 'perpendicular' ? a !== b : a === b;
}

// A sentence when no kind at all can join the two.
export function misfit(refA: string, refB: string): string {
  const [a, b] = [splitRef(refA)[0], splitRef(refB)[0]];
  if (a === b) return `Both belong to ${a}: pick a feature of another object.`;
  if (objectOf(a)?.fixed && objectOf(b)?.fixed) return `Neither can move: ${a} and ${b} are both fixed.`;
  return '';
}

function reason(type: ConstraintType, a: WorldElement, b: WorldElement): string {
  if (type === 'coincident' || type === 'distance') return '';
  if (directed(a) && directed(b)) return '';
  return 'a point has no direction';
}

function brings(type: ConstraintType, a: WorldElement, b: WorldElement): string {
  if (type === 'distance' && a.kind !== 'point' && b.kind !== 'point') return 'parallel as well';
  if (type !== 'coincident') return '';
  if (a.kind === b.kind) return { point: 'one point on the other', line: 'one line', plane: 'in one plane' }[a.kind];
  return a.kind === 'plane' || b.kind === 'plane' ? 'lies in the plane' : 'lies on the line';
}

export function offers(refA: string, refB: string): Offer[] {
  const a = place(refA);
  const b = place(refB);
  if (!a || !b) return [];
  const none = misfit(refA, refB);
  return KINDS.map((type) => {
    const why = none || reason(type, a, b);
    const unit = type === 'distance' ? 'm' : type === 'angle' ? 'rad' : '';
    const value = type === 'distance' ? distanceNow(a, b) : type === 'angle' && !why ? angleNow(a, b) : 0;
    return {
      type,
      fits: !why,
      why: why || brings(type, a, b),
      unit,
      value,
      wall: type === 'distance' && !(directed(a) && directed(b)),
      signed: a.kind === 'plane' || b.kind === 'plane',
      sense: hasSense(type, a.kind, b.kind),
    };
  });
}

export const senseWords: Record<Sense, string> = {
  same: 'same way',
  opposite: 'opposite ways',
  either: 'either way',
};

export const isOneSided = (c: { bound?: Bound | '' }): boolean => c.bound === 'at-least' || c.bound === 'at-most';

// Distances from a point may be one-sided.
export function canBeOneSided(c: { type: ConstraintType; a: string; b: string }): boolean {
  return c.type === 'distance' && [c.a, c.b].some((ref) => place(ref)?.kind === 'point');
}

export const boundWords: Record<Bound, string> = { equal: 'exactly', 'at-least': 'at least', 'at-most': 'at most' };

// "20 mm apart", "parallel, same way", "at least 20 mm apart": a constraint in words.
export function constraintWords(c: { type: ConstraintType; value?: number; sense?: Sense; bound?: Bound }): string {
  if (c.bound && isOneSided(c)) return `${boundWords[c.bound]} ${mm(c.value ?? 0)} apart`;
  const sense = c.sense && c.sense !== 'either' ? `, ${senseWords[c.sense]}` : '';
  if (c.type === 'distance') return `${mm(c.value ?? 0)} apart${sense}`;
  if (c.type === 'angle') return `at ${degrees(c.value ?? 0)}${sense}`;
  return `${kindNames[c.type]}${sense}`;
}

export function constraintHasSense(c: { type: ConstraintType; a: string; b: string }): boolean {
  const a = place(c.a);
  const b = place(c.b);
  return !!a && !!b && hasSense(c.type, a.kind, b.kind);
}
