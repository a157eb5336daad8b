// Constraint kinds as the page knows them, one row each: which features they join, what they are called, what they
// measure. A kind that the server knows and that has no row here is shown by its name and is not offered.
import type { Bound, ConstraintType, Sense } from '../protocol';
import { cross, dot, type ElementKind, norm, placed, sub, type WorldElement } from './maths';
import { exactPose, poses } from './poses';
import { featureOf, objectOf, splitRef } from './store';
import { degrees, mm } from './words';

interface Kind {
  type: ConstraintType;
  name: string;
  quantity: string; // of its value; '' where it has none
  unit: 'm' | 'rad' | '';
  words: (value: number) => string; // "20 mm apart"
  misfit: (a: WorldElement, b: WorldElement) => string; // why it cannot join the two; '' where it can
  note: (a: ElementKind, b: ElementKind) => string; // what it brings along
  now: (a: WorldElement, b: WorldElement) => number; // its value as the features are
  sense: (a: ElementKind, b: ElementKind) => boolean; // two directed elements end up along one another
  oneSided: (a: ElementKind, b: ElementKind) => boolean; // may be stated as at least, at most
}

// ---- what features measure --------------------------------------------------------------------------

const directed = (kind: ElementKind): boolean => kind !== 'point';
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

function angleNow(a: WorldElement, b: WorldElement): number {
  const mixed = a.kind !== b.kind;
  return mixed ? Math.asin(clamp1(dot(a.d, b.d))) : Math.acos(clamp1(dot(a.d, b.d)));
}

// ---- the table ----------------------------------------------------------------------------------------

const needsDirections = (a: WorldElement, b: WorldElement): string =>
  directed(a.kind) && directed(b.kind) ? '' : 'a point has no direction';

const alike = (a: ElementKind, b: ElementKind): boolean => directed(a) && a === b;

function coincidence(a: ElementKind, b: ElementKind): string {
  if (a === b) return { point: 'one point on the other', line: 'one line', plane: 'in one plane' }[a];
  return a === 'plane' || b === 'plane' ? 'lies in the plane' : 'lies on the line';
}

const plain = (type: ConstraintType, name = type.replace(/-/g, ' ')): Kind => ({
  type,
  name,
  quantity: '',
  unit: '',
  words: () => name,
  misfit: () => '',
  note: () => '',
  now: () => 0,
  sense: alike,
  oneSided: () => false,
});

// In the order in which they are offered.
export const KINDS: readonly Kind[] = [
  { ...plain('coincident'), note: coincidence },
  {
    ...plain('distance', 'apart'),
    quantity: 'Distance',
    unit: 'm',
    words: (value) => `${mm(value)} apart`,
    note: (a, b) => (directed(a) && directed(b) ? 'parallel as well' : ''),
    now: distanceNow,
    oneSided: () => true,
  },
  { ...plain('parallel'), misfit: needsDirections },
  {
    ...plain('perpendicular'),
    misfit: needsDirections,
    sense: (a, b) => directed(a) && directed(b) && a !== b,
  },
  {
    ...plain('angle', 'at an angle'),
    quantity: 'Angle',
    unit: 'rad',
    words: (value) => `at ${degrees(value)}`,
    misfit: needsDirections,
    now: angleNow,
    sense: () => false,
    oneSided: () => true,
  },
];

// Shown where a scene has it; not offered, as free-form surfaces are not picked on the page.
const NORMAL: Kind = {
  ...plain('normal', 'along the normal'),
  quantity: 'Offset',
  unit: 'm',
  words: (value) => `along the normal, ${mm(value)} off`,
  sense: () => true,
};

export const kindOf = (type: ConstraintType): Kind => [...KINDS, NORMAL].find((k) => k.type === type) ?? plain(type);

// ---- features of the scene ------------------------------------------------------------------------------

export function elementOf(ref: string): WorldElement | null {
  const feature = featureOf(ref);
  return feature ? placed(feature, poses.pose(splitRef(ref)[0])) : null;
}

// The same in double precision: for values that become constraints.
function exactElement(ref: string): WorldElement | null {
  const feature = featureOf(ref);
  return feature ? placed(feature, exactPose(splitRef(ref)[0])) : null;
}

export interface Measured {
  kind: Kind;
  value: number;
  note: string;
}

// What lies between two features now, as the constraints that would keep it.
export function measured(refA: string, refB: string): Measured[] {
  const [a, b] = [exactElement(refA), exactElement(refB)];
  if (!a || !b) return [];
  return KINDS.filter((kind) => kind.unit && !kind.misfit(a, b)).map((kind) => ({
    kind,
    value: kind.now(a, b),
    note: kind.note(a.kind, b.kind),
  }));
}

// A sentence when no kind at all can join the two.
export function misfit(refA: string, refB: string): string {
  const [a, b] = [splitRef(refA)[0], splitRef(refB)[0]];
  if (a === b) return `Both belong to ${a}: pick a feature of another object.`;
  if (objectOf(a)?.fixed && objectOf(b)?.fixed) return `Neither can move: ${a} and ${b} are both fixed.`;
  return '';
}

export interface Offer {
  kind: Kind;
  fits: boolean;
  why: string; // why it does not fit, or a word on what it brings along
  signed: boolean;
  oneSided: boolean;
  sense: boolean;
  value: number; // as the features are now
}

export function offers(refA: string, refB: string): Offer[] {
  const [a, b] = [elementOf(refA), elementOf(refB)];
  if (!a || !b) return [];
  const none = misfit(refA, refB);
  return KINDS.map((kind) => {
    const why = none || kind.misfit(a, b);
    return {
      kind,
      fits: !why,
      why: why || kind.note(a.kind, b.kind),
      signed: a.kind === 'plane' || b.kind === 'plane',
      oneSided: kind.oneSided(a.kind, b.kind),
      sense: kind.sense(a.kind, b.kind),
      value: kind.misfit(a, b) ? 0 : kind.now(a, b),
    };
  });
}

// ---- constraints in words ---------------------------------------------------------------------------------

interface Joined {
  type: ConstraintType;
  a: string;
  b: string;
}

// Whether its kind's row says so of the features that it joins.
function asks(c: Joined, what: 'sense' | 'oneSided'): boolean {
  const [a, b] = [elementOf(c.a), elementOf(c.b)];
  return !!a && !!b && kindOf(c.type)[what](a.kind, b.kind);
}

export const hasSense = (c: Joined): boolean => asks(c, 'sense');
export const canBeOneSided = (c: Joined): boolean => asks(c, 'oneSided');

export const isOneSided = (c: { bound?: Bound | '' }): boolean => c.bound === 'at-least' || c.bound === 'at-most';

export const senseWords: Record<Sense, string> = {
  same: 'same way',
  opposite: 'opposite ways',
  either: 'either way',
};

export const boundWords: Record<Bound, string> = { equal: 'exactly', 'at-least': 'at least', 'at-most': 'at most' };

// "20 mm apart", "parallel, same way", "at least 20 mm apart".
export function constraintWords(c: { type: ConstraintType; value?: number; sense?: Sense; bound?: Bound }): string {
  const words = kindOf(c.type).words(c.value ?? 0);
  if (c.bound && isOneSided(c)) return `${boundWords[c.bound]} ${words}`;
  return c.sense && c.sense !== 'either' ? `${words}, ${senseWords[c.sense]}` : words;
}
