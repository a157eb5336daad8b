// Edits of constraints, and of where objects are on their submanifolds: branch, parameters, nearest pose.
import type { Conflict, Constraint, Pose, Solution } from '../protocol';
import { isFreeForm, poseAfter } from '../state/freedoms';
import { exactPose } from '../state/poses';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { mm } from '../state/words';
import { deleteWithUsers } from './deletion';
import { feasibleValues } from './feasible';
import { isMovable, moveTo } from './movetogether';
import { attempt, latest, patch } from './request';

const solutionPath = (object: string): string => `/solutions/${enc(object)}`;

export const patchConstraint = (id: string, patch: Partial<Constraint>): Promise<boolean> =>
  attempt(
    () => call('PATCH', `/constraints/${enc(id)}`, patch),
    async (culprits, conflict) => [...(await valueFixes(id, patch, conflict)), ...otherFixes(id, patch, culprits)],
  );

// Fixes by another value of the constraint itself.
async function valueFixes(
  id: string,
  patch: Partial<Constraint>,
  conflict: Conflict | undefined,
): Promise<store.Notice['fixes']> {
  const c = store.constraints.value.find((k) => k.id === id);
  if (c?.type !== 'distance' || patch.enabled === false) return [];
  const holds = (value: number): Promise<boolean> =>
    call<Solution>('PATCH', `/constraints/${enc(id)}?dryRun=true`, { ...patch, value }).then(
      (s) => s.status === 'solved',
      () => false,
    );
  const values = await feasibleValues({ ...c, ...patch }, conflict, holds);
  return values.map((value) => ({
    label: `Make it ${mm(value)}`,
    run: () => void patchConstraint(id, { ...patch, value }),
  }));
}

export const deleteConstraint = (id: string): Promise<boolean> =>
  deleteWithUsers(`/constraints/${enc(id)}`, id, { constraint: id });

// Fixes that disable or delete another conflicting constraint and repeat the edit.
function otherFixes(id: string, patch: Partial<Constraint>, culprits: readonly string[]): store.Notice['fixes'] {
  const again = (done: boolean): void => {
    if (done) void patchConstraint(id, patch);
  };
  return culprits
    .filter((other) => other !== id)
    .flatMap((other) => [
      { label: `Disable ${other}`, run: () => void patchConstraint(other, { enabled: false }).then(again) },
      { label: `Delete ${other}`, run: () => void deleteConstraint(other).then(again) },
    ]);
}

export const chooseBranch = (object: string, branch: string): Promise<boolean> =>
  attempt(() => call('PATCH', solutionPath(object), { branch }));

// The object's parameters after the edits so far, including those under way.
export const latestParameters = (s: Solution): number[] => latest(solutionPath(s.object), s).parameters ?? [];

// Moves an object along its freedoms, together with the bodies joined to it.
export function moveAlong(object: string, parameters: number[]): Promise<boolean> {
  const to = isMovable(object) ? poseAt(object, parameters) : undefined;
  const path = solutionPath(object);
  return to ? moveTo(object, to, path, { parameters }) : patch(path, { parameters });
}

function poseAt(object: string, parameters: readonly number[]): Pose | undefined {
  const solution = store.solutions.value.get(object);
  const branch = solution?.branches.find((b) => b.id === solution.branch);
  const now = solution?.parameters;
  if (branch?.kind !== 'separable' || isFreeForm(branch) || now?.length !== parameters.length) return undefined;
  return poseAfter(
    branch,
    exactPose(object),
    parameters.map((v, i) => v - now[i]!),
  );
}

// Moves the object to the pose of its branch nearest to `near`: for freedoms that do not separate.
export const moveNear = (object: string, near: Pose): Promise<boolean> => patch(solutionPath(object), { near });
