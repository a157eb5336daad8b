// Joints between objects, links and the world: words, and the meaning of their coordinates.
import type { Pose, SceneJoint, SceneSpring, Vec3 } from '../protocol';
import { elementOf } from './constraints';
import { norm, rotate, sub, toWorld } from './maths';
import { fullPose } from './mechanisms';
import { poses } from './poses';

export type JointName = Exclude<SceneJoint['type'], 'gear'>;

export interface Coordinate {
  word: string;
  unit: 'rad' | 'm';
}

const turn: Coordinate = { word: 'turn', unit: 'rad' };
const slide: Coordinate = { word: 'slide', unit: 'm' };

export const RELATIONS: Record<JointName, { words: string; coordinates: readonly Coordinate[] }> = {
  revolute: { words: 'turns about an axis', coordinates: [turn] },
  prismatic: { words: 'slides along an axis', coordinates: [slide] },
  cylindrical: { words: 'slides along and turns about an axis', coordinates: [slide, turn] },
  spherical: {
    words: 'turns about a point',
    coordinates: [
      { word: 'turn about x', unit: 'rad' },
      { word: 'turn about y', unit: 'rad' },
      { word: 'turn about z', unit: 'rad' },
    ],
  },
  planar: {
    words: 'slides and turns in a plane',
    coordinates: [{ word: 'x', unit: 'm' }, { word: 'y', unit: 'm' }, turn],
  },
  fixed: { words: 'is fixed to', coordinates: [] },
  screw: { words: 'turns and advances by its pitch', coordinates: [turn] },
  universal: {
    words: 'turns about two crossing axes',
    coordinates: [
      { word: 'first turn', unit: 'rad' },
      { word: 'second turn', unit: 'rad' },
    ],
  },
};

// Joints that can be made from two features, with the names shown to people.
export const ONE_STEP: readonly (readonly [JointName, string])[] = [
  ['revolute', 'Revolute'],
  ['prismatic', 'Slider'],
  ['cylindrical', 'Cylindrical'],
  ['spherical', 'Ball'],
  ['planar', 'Planar'],
  ['universal', 'Universal'],
  ['screw', 'Screw'],
  ['fixed', 'Fixed'],
];

export const EFFORT = {
  m: { effort: 'N', stiffness: 'N/m', damping: 'N s/m' },
  rad: { effort: 'N m', stiffness: 'N m/rad', damping: 'N m s/rad' },
} as const;

// "crank/pin", or the object of an end that is a frame.
export const endWords = (end: string | { object: string }): string => (typeof end === 'string' ? end : end.object);

export const relationWords = (j: SceneJoint): string =>
  j.type === 'gear' ? `geared ${j.ratio} to 1` : RELATIONS[j.type].words;

export const endsOf = (j: SceneJoint): [string, string] =>
  j.type === 'gear' ? j.joints : [endWords(j.a), endWords(j.b)];

// The world point and axis of an end of a joint.
export function placedEnd(end: Exclude<SceneJoint, { type: 'gear' }>['a']): { p: Vec3; d: Vec3 } | null {
  if (typeof end === 'string') return elementOf(end);
  const g: Pose = poses.pose(end.object);
  const at = fullPose(end.at);
  return { p: toWorld(g, at.p), d: rotate(g.q, rotate(at.q, [0, 0, 1])) };
}

const springEnd = (end: SceneSpring['a']): Vec3 => toWorld(poses.pose(end.object), end.p ?? [0, 0, 0]);

export const springEnds = (s: SceneSpring): [Vec3, Vec3] => [springEnd(s.a), springEnd(s.b)];

export function springLength(s: SceneSpring): number {
  const [a, b] = springEnds(s);
  return norm(sub(a, b));
}
