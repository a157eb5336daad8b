// Edits of mechanisms, their links, joints and motors.
import type { Joint, Link, Mechanism, Motor, Vec3 } from '../protocol';
import { type LinkDraft, linkFromDraft, linkId, linkName, linkPoses } from '../state/mechanisms';
import { poses } from '../state/poses';
import { call, enc, Refused } from '../state/rest';
import * as store from '../state/store';
import { refuse } from '../state/store';
import { posesChanged } from '../state/stream';
import { deleteWithUsers } from './deletion';
import { attempt, latest, patch } from './request';

const at = (id: string): string => `/mechanisms/${enc(id)}`;

export async function addMechanism(id: string, links: readonly LinkDraft[], base: Vec3): Promise<boolean> {
  const made = await attempt(() =>
    call('POST', '/mechanisms', { id, base: { p: base }, links: links.map(linkFromDraft) }),
  );
  if (made) store.selectObject(id);
  return made;
}

// Posts a description as a mechanism, or, where it has no moving joint, as an object.
async function postUrdf(id: string, urdf: string): Promise<void> {
  try {
    await call('POST', '/mechanisms', { id, urdf });
  } catch (e) {
    if (!(e instanceof Refused && e.message.includes('/objects'))) throw e;
    await call('POST', '/objects', { id, urdf });
  }
}

// Imports a robot from a URDF file; mesh names are kept.
export async function importUrdf(id: string, urdf: string): Promise<void> {
  await postUrdf(id, urdf);
  store.selectObject(id);
  store.announce(`${id} is here.`);
}

export const latestMechanism = (m: Mechanism): Mechanism => latest(at(m.id), m);

export const patchMechanism = (id: string, to: Record<string, unknown>): Promise<boolean> => patch(at(id), to);

export async function renameMechanism(id: string, to: string): Promise<void> {
  if (await attempt(() => call('PATCH', at(id), { id: to }))) store.selectObject(to);
}

const linkAt = (m: Mechanism, i: number): string => `${at(m.id)}/links/${i}`;

export const latestLink = (m: Mechanism, i: number): Link => latest(linkAt(m, i), m.links[i]!);

// Patches one link; null removes a member.
export const patchLink = (m: Mechanism, i: number, to: Record<string, unknown>): Promise<boolean> =>
  patch(linkAt(m, i), to);

export const patchJoint = (
  m: Mechanism,
  i: number,
  joint: { [K in keyof Joint]?: Partial<Joint[K]> | null },
): Promise<boolean> => patchLink(m, i, { joint });

// Sets all positions in one edit, since an array is replaced as a whole.
export function setPositions(m: Mechanism, q: readonly number[]): Promise<boolean> {
  const links = m.links.map((_, i) => latestLink(m, i));
  return patchMechanism(m.id, { links: links.map((l, i) => ({ ...l, joint: { ...l.joint, position: q[i]! } })) });
}

// Shows the joint positions on the screen only, during a drag.
export function showPositions(m: Mechanism, q: readonly number[]): void {
  linkPoses(m, q).forEach((pose, i) => poses.show(linkId(m.id, i), pose));
  posesChanged();
}

// In effect at once, whether or not the simulation runs.
export const setMotor = (m: Mechanism, i: number, motor: Motor | null): Promise<boolean> => patchJoint(m, i, { motor });

export const addLink = (m: Mechanism, stated: LinkDraft): Promise<boolean> =>
  attempt(() => call('POST', `${at(m.id)}/links`, linkFromDraft(stated)));

export const dropLastLink = (m: Mechanism): Promise<boolean> =>
  m.links.length < 2 ? deleteMechanism(m.id) : attempt(() => call('DELETE', `${at(m.id)}/links/${m.links.length - 1}`));

// The tool that holds it is released without a question.
export const deleteMechanism = (id: string): Promise<boolean> =>
  deleteWithUsers(at(id), id, { body: (name) => store.linkRef(name)?.mechanism.id === id, links: true });

// Deletes the selected mechanism or link. The last link can be deleted alone, others carry the links after them.
export function deleteSelectedMechanism(selected: string): void {
  const m = store.mechanismOf(selected);
  const found = store.linkRef(selected);
  if (m) void deleteMechanism(m.id);
  else if (found && found.index === found.mechanism.links.length - 1 && found.index > 0)
    void dropLastLink(found.mechanism);
  else if (found) {
    const { id } = found.mechanism;
    refuse(`${linkName(found.mechanism, found.index)} carries the rest of ${id}: only the last link goes by itself.`, [
      { label: `Delete ${id}`, run: () => void deleteMechanism(id) },
    ]);
  }
}
