// What an object goes with: the objects that it is joined to, or the cycle that was solved as a whole.
import type { JSX } from 'preact';
import type { Solution } from '../protocol';
import { listed } from '../words';

export function followWords(s: Solution | undefined): string {
  const parts: string[] = [];
  if (s?.follows?.length) parts.push(`follows ${listed(s.follows)}`);
  const others = s?.cluster?.filter((id) => id !== s.object) ?? [];
  if (others.length) parts.push(`solved together with ${listed(others)}${s?.cluster_dof !== undefined ? `: ${s.cluster_dof} ${s.cluster_dof === 1 ? 'freedom' : 'freedoms'} in all` : ''}`);
  return parts.join('; ');
}

export function Follows({ solution }: { solution: Solution | undefined }): JSX.Element | null {
  const words = followWords(solution);
  return words ? <p class="quiet follows">{solution!.object} {words}.</p> : null;
}
