// Contacts of pairs that slide or roll: the frame of the common tangents and normal, the motions that the contact
// itself allows (whatever other constraints the bodies have), and these motions in words.
import { computed } from '@preact/signals';
import type { Constraint, ConstraintType, ContactPoint, Vec3 } from '../protocol';
import { elementOf, kindOf } from './constraints';
import type { WorldElement } from './elements';
import type { Basis } from './freedoms';
import { along, cross, dot, norm, perpendicular, sub, unit } from './maths';
import { constraints, contacts, objectOf, selectedConstraint, splitRef } from './store';

// Kinds of contacts: curves have a common tangent, others a tangent plane. A cylinder touches a plane or a parallel
// cylinder along a line.
export type Touch = 'point' | 'curves' | 'line' | 'parallel';

// A motion along or about the first tangent (0), the second (1), the normal (2).
export interface ContactMotion {
  turns: boolean;
  axis: 0 | 1 | 2;
}

export interface PlacedContact {
  constraint: string; // '' for bodies in contact without a constraint
  touch: Touch;
  point: Vec3;
  frame: Basis; // e1 along the curves or the line, e3 the normal
  motions: readonly ContactMotion[];
}

// ---- motions that a contact allows -------------------------------------------------------------------

type Axes = readonly (0 | 1 | 2)[];
const TURNS: Record<Touch, Record<'sliding' | 'rolling' | 'pure-rolling', Axes>> = {
  point: { sliding: [0, 1, 2], rolling: [0, 1, 2], 'pure-rolling': [0, 1] },
  curves: { sliding: [0, 1], rolling: [0, 1], 'pure-rolling': [1] },
  line: { sliding: [0, 2], rolling: [0], 'pure-rolling': [0] },
  parallel: { sliding: [0], rolling: [0], 'pure-rolling': [0] },
};

function motionsOf(type: ConstraintType, touch: Touch): ContactMotion[] {
  const slides: Axes = type !== 'sliding' ? [] : touch === 'curves' ? [0] : [0, 1];
  const turns = TURNS[touch][type as 'sliding'] ?? [];
  return [...slides.map((axis) => ({ turns: false, axis })), ...turns.map((axis) => ({ turns: true, axis }))];
}

type Words = Partial<Record<ConstraintType, Partial<Record<number, string>>>>;

// ON stands for the id of the other object. By the number of freedoms: five or three of surfaces,
// three or fewer of curves.
const IN_A_POINT: Words = {
  sliding: {
    5: 'slides on the ON (2), turns freely (3)',
    3: 'slides along both curves (2), turns about their tangent (1)',
  },
  rolling: {
    3: 'rolls on the ON (2), turns about its normal (1)',
    2: 'rolls along the curve (1), turns about their tangent (1)',
  },
  'pure-rolling': { 2: 'rolls on the ON (2)', 1: 'rolls along the curve (1)' },
};

// For a cylinder on a plane, and for two cylinders.
const IN_A_LINE: Words = {
  sliding: {
    4: 'slides in the plane (2), turns about its normal (1), rolls (1)',
    3: 'slides along the line (1), goes round (1), turns about its axis (1)',
  },
  rolling: { 1: 'rolls (1)' },
  'pure-rolling': { 1: 'rolls (1)' },
};

// The motion of the body of `a` relative to that of `b`, or the other way round where only the latter moves.
export function touchingWords(
  { type, a, b }: Pick<Constraint, 'type' | 'a' | 'b'>,
  freedoms: number,
  mayBeLine: boolean,
): string | undefined {
  const [ofA, ofB] = [splitRef(a)[0], splitRef(b)[0]];
  const words = (mayBeLine && IN_A_LINE[type]?.[freedoms]) || IN_A_POINT[type]?.[freedoms];
  return words?.replace('ON', () => (objectOf(ofA)?.fixed ? ofA : ofB));
}

// The motions that the selected constraint's contact allows, in words; '' where the two are not in contact.
export const contactWords = computed(() => {
  const c = constraints.value.find((k) => k.id === selectedConstraint.value);
  const at = c && placedContacts.value.find((x) => x.constraint === c.id);
  return (at && touchingWords(c, at.motions.length, at.touch === 'line' || at.touch === 'parallel')) ?? '';
});

// ---- contact frames ------------------------------------------------------------------------------------

const isWire = (e: WorldElement): boolean => e.kind === 'curve' || e.kind === 'rim';
const PARALLEL = 1e-4; // tolerance for poses in single precision

function touchOf(a: WorldElement, b: WorldElement): Touch {
  if (isWire(a) && isWire(b)) return 'curves';
  const kinds = [a.kind, b.kind].sort().join();
  if (kinds === 'cylinder,plane') return 'line';
  return kinds === 'cylinder,cylinder' && norm(cross(a.d, b.d)) < PARALLEL ? 'parallel' : 'point';
}

const tangentAt = (wire: WorldElement, x: Vec3): Vec3 =>
  wire.foot ? wire.foot(x).d : unit(cross(wire.d, sub(x, wire.p)));

// The first tangent is that of the curves or the line, else any one perpendicular to the normal.
function frameOf(n: Vec3, first: Vec3 | null): Basis {
  const rough: Vec3 = first ?? (Math.abs(n[0]) < 0.8 ? [1, 0, 0] : [0, 1, 0]);
  const across = along(rough, n, -dot(rough, n));
  const e1 = norm(across) > 1e-9 ? unit(across) : perpendicular(n);
  return { e1, e2: cross(n, e1), e3: n };
}

function placedOf(c: ContactPoint, k: Constraint | undefined): PlacedContact {
  const [a, b] = k ? [elementOf(k.a), elementOf(k.b)] : [null, null];
  const touch = a && b ? touchOf(a, b) : 'point';
  const wire = touch === 'curves' ? tangentAt(b!, c.point) : null;
  const axis = touch === 'line' || touch === 'parallel' ? (a!.kind === 'cylinder' ? a! : b!).d : null;
  return {
    constraint: k?.id ?? '',
    touch,
    point: c.point,
    frame: frameOf(c.normal, wire ?? axis),
    motions: k ? motionsOf(k.type, touch) : [],
  };
}

// The contacts in the order of the state.
export const placedContacts = computed<readonly PlacedContact[]>(() =>
  contacts.value.map((c) => {
    const k = c.constraint && constraints.value.find((x) => x.id === c.constraint);
    return placedOf(c, k && kindOf(k.type).touching ? k : undefined);
  }),
);
