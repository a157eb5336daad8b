// Joints between objects, links and the world as the page knows them: words, and what their coordinates are.
import type { SceneJoint } from '../protocol';

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

// Those that two features make in one step, by the names that people have for them.
export const ONE_STEP: readonly (readonly [JointName, string])[] = [
  ['revolute', 'Revolute'],
  ['prismatic', 'Slider'],
  ['cylindrical', 'Cylindrical'],
  ['spherical', 'Ball'],
  ['planar', 'Planar'],
  ['fixed', 'Fixed'],
];

export const EFFORT = {
  m: { effort: 'N', stiffness: 'N/m', damping: 'N s/m' },
  rad: { effort: 'N m', stiffness: 'N m/rad', damping: 'N m s/rad' },
} as const;

// "crank/pin", or the object of a frame.
export const endWords = (end: string | { object: string }): string => (typeof end === 'string' ? end : end.object);

export const relationWords = (j: SceneJoint): string =>
  j.type === 'gear' ? `geared ${j.ratio} to 1` : RELATIONS[j.type].words;

export const endsOf = (j: SceneJoint): [string, string] =>
  j.type === 'gear' ? j.joints : [endWords(j.a), endWords(j.b)];
