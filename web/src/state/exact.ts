// Where an object is, in double precision where the server said so: frames of the stream are single.

import type { Pose } from '../protocol';
import { compose, inverse, norm, sub } from './maths';
import { fullPose } from './mechanisms';
import { poses } from './poses';
import * as store from './store';

const SAME = 1e-6; // a pose in single precision is the same as its double (m, and of the quaternion)

export function exactPose(id: string): Pose {
  const rough = poses.pose(id);
  const object = store.objectOf(id);
  const held = store.tools.value[store.toolIndex(id)];
  const state = store.toolState(id);
  const solution = store.solutions.value.get(id);
  const branch = solution?.branches.find((b) => b.id === solution.branch);
  const known = [
    object?.pose && fullPose(object.pose),
    branch?.nearest.pose,
    state && compose(state.pose, inverse(fullPose(held?.at))),
  ];
  return known.find((g) => g && same(g, rough)) ?? rough;
}

function same(a: Pose, b: Pose): boolean {
  const sign = a.q.reduce((sum, v, i) => sum + v * b.q[i]!, 0) < 0 ? -1 : 1;
  const turn = Math.hypot(...a.q.map((v, i) => v - sign * b.q[i]!));
  return norm(sub(a.p, b.p)) < SAME && turn < SAME;
}
