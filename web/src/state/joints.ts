// The table of joint types of mechanisms, one row each: words, units, motion.
import type { Geometry, JointType, Pose, Vec3 } from '../protocol';
import { axisAngle, cross, IDENTITY, scale } from './maths';

interface JointKind {
  type: JointType;
  verb: string;
  icon: string;
  axis: string; // preposition of the axis: "about" or "along"
  unit: 'rad' | 'm'; // of its coordinate
  effort: string;
  damping: string;
  stiffness: string;
  range: [number, number]; // of a slider where the joint has no limits
  sample: number; // a position with which a drawing shows the joint
  motion: (axis: Vec3, q: number) => Pose; // of the link, in the joint's frame
  column: (axis: Vec3, arm: Vec3) => Vec3; // of the Jacobian of a point at `arm` from the joint
  pin: (width: number) => Geometry; // along z
}

export const JOINTS: readonly JointKind[] = [
  {
    type: 'revolute',
    verb: 'turns',
    icon: 'turn',
    axis: 'about',
    unit: 'rad',
    effort: 'N m',
    damping: 'N m s',
    stiffness: 'N m/rad',
    range: [-Math.PI, Math.PI],
    sample: 0.35,
    motion: (axis, q) => ({ p: [0, 0, 0], q: axisAngle(axis, q) }),
    column: (axis, arm) => cross(axis, arm),
    pin: (width) => ({ type: 'cylinder', radius: 0.42 * width, height: 1.9 * width }),
  },
  {
    type: 'prismatic',
    verb: 'slides',
    icon: 'slide',
    axis: 'along',
    unit: 'm',
    effort: 'N',
    damping: 'N s/m',
    stiffness: 'N/m',
    range: [-0.5, 0.5],
    sample: 0,
    motion: (axis, q) => ({ p: scale(axis, q), q: IDENTITY.q }),
    column: (axis) => axis,
    pin: (width) => ({ type: 'box', size: [0.5 * width, 0.5 * width, 4 * width] }),
  },
];

// A type without a row is drawn as a prismatic joint at position 0.
export const jointKind = (type: JointType): JointKind =>
  JOINTS.find((j) => j.type === type) ?? { ...JOINTS[1]!, type, motion: () => IDENTITY };
