// The table of constraint kinds, one row each: which features a kind joins, its names, its value. A kind of the server
// without a row here is shown by its name and not offered.
import type { Bound, ConstraintType, Contact, Sense } from '../protocol';
import { type ElementKind, placed, type WorldElement } from './elements';
import { cross, dot, norm, sub } from './maths';
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
  note: (a: ElementKind, b: ElementKind) => string; // a remark on its effect
  now: (a: WorldElement, b: WorldElement) => number; // its present value
  sense: (a: ElementKind, b: ElementKind) => boolean; // whether the sense of two directed elements can be chosen
  oneSided: (a: ElementKind, b: ElementKind) => boolean; // whether it may be stated as at least, at most
  touching: boolean; // a contact of two surfaces or curves
  parts: (a: ElementKind, b: ElementKind) => boolean; // whether the two may separate, and one may be inside the other
  signed: (a: ElementKind, b: ElementKind) => boolean; // whether its value has a sign
  concerns: (a: ElementKind, b: ElementKind) => boolean; // whether a reason is given where it does not fit
}

// ---- what features measure --------------------------------------------------------------------------

const directed = (kind: ElementKind): boolean => kind === 'line' || kind === 'plane';
const freeForm = (kind: ElementKind): boolean => kind === 'surface' || kind === 'curve';
const ofPrimitive = (kind: ElementKind): boolean => kind === 'sphere' || kind === 'cylinder' || kind === 'rim';
const wiry = (kind: ElementKind): boolean => kind === 'curve' || kind === 'rim';
const bent = (kind: ElementKind): boolean => freeForm(kind) || ofPrimitive(kind);
const clamp1 = (x: number): number => Math.max(-1, Math.min(1, x));

function lineDistance(a: WorldElement, line: WorldElement): number {
  return norm(cross(sub(a.p, line.p), line.d));
}

// The signed distance from a free-form shape, along its normal at the nearest point.
function footDistance(shape: WorldElement, other: WorldElement): number {
  const { p, d } = shape.foot!(other.p);
  return dot(d, sub(other.p, p));
}

// The distance as the solver defines it: signed along the normal where a plane or a surface is involved.
export function distanceNow(a: WorldElement, b: WorldElement): number {
  if (b.kind === 'surface') return footDistance(b, a);
  if (a.kind === 'surface') return footDistance(a, b);
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

function needsDirections(a: WorldElement, b: WorldElement): string {
  if (bent(a.kind) || bent(b.kind)) return 'what is bent has no one direction';
  return directed(a.kind) && directed(b.kind) ? '' : 'a point has no direction';
}

// A point on a curve or a surface, or at a distance from a surface.
const takesPoint =
  (offCurves: string) =>
  (a: WorldElement, b: WorldElement): string => {
    if (ofPrimitive(a.kind) || ofPrimitive(b.kind)) return 'the surface of a body slides or rolls';
    if (!freeForm(a.kind) && !freeForm(b.kind)) return '';
    if (a.kind !== 'point' && b.kind !== 'point') return 'a curve or a surface takes a point';
    return a.kind === 'curve' || b.kind === 'curve' ? offCurves : '';
  };

const alongNormal = (a: WorldElement, b: WorldElement): string =>
  [a.kind, b.kind].sort().join() === 'line,surface' ? '' : 'a line stands along the normal of a free-form surface';

const alongTangent = (a: WorldElement, b: WorldElement): string =>
  [a.kind, b.kind].sort().join() === 'curve,line' ? '' : 'a line touches a free-form curve along its tangent';

// The parameter along a line at its point nearest to a curve.
function touchNow(a: WorldElement, b: WorldElement): number {
  const [line, curve] = a.kind === 'line' ? [a, b] : [b, a];
  return dot(line.d, sub(curve.foot!(line.p).p, line.p));
}

// Why two elements cannot be in contact, as the server has it: one of them must be curved, they must meet in a point,
// and curves need a single tangent.
function touch(a: WorldElement, b: WorldElement): string {
  const [p, q] = [a.kind, b.kind];
  if (wiry(p) && wiry(q)) return '';
  if (!bent(p) && !bent(q)) return 'two surfaces touch, one of them bent';
  return [p, q].some((k) => k === 'point' || k === 'line') ? 'a point or a line has no surface' : '';
}

const straight = (a: ElementKind, b: ElementKind): boolean => !bent(a) && !bent(b);

const alike = (a: ElementKind, b: ElementKind): boolean => directed(a) && a === b;

function coincidence(a: ElementKind, b: ElementKind): string {
  if (freeForm(a) || freeForm(b)) return `lies on the ${a === 'curve' || b === 'curve' ? 'curve' : 'surface'}`;
  if (a === b) return { point: 'one point on the other', line: 'one line' }[a as 'point' | 'line'] ?? 'in one plane';
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
  touching: false,
  parts: () => false,
  signed: (a, b) => [a, b].some((k) => k === 'plane' || k === 'surface'),
  concerns: () => true,
});

// `between`: the name for two curves.
const contact = (type: ConstraintType, note: string, between: string): Kind => ({
  ...plain(type),
  misfit: touch,
  note: (a, b) => (wiry(a) && wiry(b) ? between : note),
  sense: () => false,
  touching: true,
  parts: (a, b) => !(wiry(a) && wiry(b)),
  concerns: (a, b) => [a, b].every((k) => k !== 'point' && k !== 'line') && [a, b].some(bent),
});

// In the order in which they are offered.
export const KINDS: readonly Kind[] = [
  { ...plain('coincident'), misfit: takesPoint(''), note: coincidence },
  {
    ...plain('distance', 'apart'),
    quantity: 'Distance',
    unit: 'm',
    words: (value) => `${mm(value)} apart`,
    misfit: takesPoint('a point lies on a curve, at no distance from it'),
    note: (a, b) => (directed(a) && directed(b) ? 'parallel as well' : ''),
    now: distanceNow,
    oneSided: () => true,
  },
  { ...plain('parallel'), misfit: needsDirections, concerns: straight },
  {
    ...plain('perpendicular'),
    misfit: needsDirections,
    concerns: straight,
    sense: (a, b) => directed(a) && directed(b) && a !== b,
  },
  {
    ...plain('angle', 'at an angle'),
    quantity: 'Angle',
    unit: 'rad',
    words: (value) => `at ${degrees(value)}`,
    misfit: needsDirections,
    concerns: straight,
    now: angleNow,
    sense: () => false,
    oneSided: () => true,
  },
  {
    ...plain('normal', 'along the normal'),
    quantity: 'Offset',
    unit: 'm',
    words: (value) => `along the normal, ${mm(value)} off`,
    misfit: alongNormal,
    note: () => 'slides on the surface and turns about its normal',
    now: distanceNow,
    sense: () => true,
    concerns: (a, b) => [a, b].includes('surface') && !ofPrimitive(a) && !ofPrimitive(b),
  },
  {
    ...plain('tangent'),
    quantity: 'From its point',
    unit: 'm',
    words: (value) => (value ? `tangent, ${mm(value)} from its point` : 'tangent'),
    misfit: alongTangent,
    note: () => 'slides along the curve and turns about its tangent',
    now: touchNow,
    sense: () => true,
    signed: () => true,
    concerns: (a, b) => [a, b].includes('curve') && !ofPrimitive(a) && !ofPrimitive(b),
  },
  contact('sliding', 'stays in touch', 'touch with one tangent'),
  contact('rolling', 'in touch, without slip', 'with one tangent, without slip'),
  contact('pure-rolling', 'nor does it spin about the normal', 'nor does it turn about the tangent'),
];

export const kindOf = (type: ConstraintType): Kind => KINDS.find((k) => k.type === type) ?? plain(type);

// ---- features of the scene ------------------------------------------------------------------------------

export function elementOf(ref: string): WorldElement | null {
  const feature = featureOf(ref);
  return feature ? placed(feature, poses.pose(splitRef(ref)[0])) : null;
}

// The element in double precision, for values that become constraints.
function exactElement(ref: string): WorldElement | null {
  const feature = featureOf(ref);
  return feature ? placed(feature, exactPose(splitRef(ref)[0])) : null;
}

export interface Measured {
  kind: Kind;
  value: number;
  note: string;
}

// The present distance and angle between two features, as constraints that would keep them.
export function measured(refA: string, refB: string): Measured[] {
  const [a, b] = [exactElement(refA), exactElement(refB)];
  if (!a || !b) return [];
  return KINDS.filter((kind) => kind.unit && !kind.misfit(a, b)).map((kind) => ({
    kind,
    value: kind.now(a, b),
    note: kind.note(a.kind, b.kind),
  }));
}

// A sentence where no kind can join the two.
export function misfit(refA: string, refB: string): string {
  const [a, b] = [splitRef(refA)[0], splitRef(refB)[0]];
  if (a === b) return `Both belong to ${a}: pick a feature of another object.`;
  if (objectOf(a)?.fixed && objectOf(b)?.fixed) return `Neither can move: ${a} and ${b} are both fixed.`;
  return '';
}

export interface Offer {
  kind: Kind;
  fits: boolean;
  why: string; // why it does not fit, or a remark on its effect
  signed: boolean;
  oneSided: boolean;
  sense: boolean;
  parts: boolean;
  value: number; // at present
}

export function offers(refA: string, refB: string): Offer[] {
  const [a, b] = [elementOf(refA), elementOf(refB)];
  if (!a || !b) return [];
  const none = misfit(refA, refB);
  const kinds = KINDS.filter((kind) => kind.concerns(a.kind, b.kind));
  if (bent(a.kind) || bent(b.kind)) kinds.sort((x, y) => Number(!!x.misfit(a, b)) - Number(!!y.misfit(a, b)));
  return kinds.map((kind) => {
    const why = none || kind.misfit(a, b);
    return {
      kind,
      fits: !why,
      why: why || kind.note(a.kind, b.kind),
      signed: kind.signed(a.kind, b.kind),
      oneSided: kind.oneSided(a.kind, b.kind),
      sense: kind.sense(a.kind, b.kind),
      parts: kind.parts(a.kind, b.kind),
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

// True where the row of the constraint's kind says so for its features.
function asks(c: Joined, what: 'sense' | 'oneSided' | 'parts'): boolean {
  const [a, b] = [elementOf(c.a), elementOf(c.b)];
  return !!a && !!b && kindOf(c.type)[what](a.kind, b.kind);
}

export const hasSense = (c: Joined): boolean => asks(c, 'sense');
export const canBeOneSided = (c: Joined): boolean => asks(c, 'oneSided');

export const canSeparate = (c: Joined): boolean => asks(c, 'parts');

export const isOneSided = (c: { bound?: Bound | '' }): boolean => c.bound === 'at-least' || c.bound === 'at-most';

export const senseWords: Record<Sense, string> = {
  same: 'same way',
  opposite: 'opposite ways',
  either: 'either way',
};

export const boundWords: Record<Bound, string> = { equal: 'exactly', 'at-least': 'at least', 'at-most': 'at most' };

export const maySeparate = (c: { contact?: Contact }): boolean => c.contact === 'unilateral';

interface Worded {
  type: ConstraintType;
  value?: number;
  sense?: Sense;
  bound?: Bound;
  contact?: Contact;
  inside?: boolean;
}

// "20 mm apart", "parallel, same way", "at least 20 mm apart", "rolling, may lift off".
export function constraintWords(c: Worded): string {
  const touching = (c.inside ? ', from within' : '') + (maySeparate(c) ? ', may lift off' : '');
  const words = kindOf(c.type).words(c.value ?? 0) + touching;
  if (c.bound && isOneSided(c)) return `${boundWords[c.bound]} ${words}`;
  return c.sense && c.sense !== 'either' ? `${words}, ${senseWords[c.sense]}` : words;
}
