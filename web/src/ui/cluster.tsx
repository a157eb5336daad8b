// The objects that an object follows, or the cycle of objects that was solved as a whole, in words.
import type { JSX } from 'preact';
import type { SolutionSummary } from '../state/store';
import { listed } from '../state/words';

// The freedoms of a cycle are those that it has while everything else is at rest.
function together(dof: number | undefined): string {
  if (dof === undefined) return '';
  return dof === 0
    ? ': they stand while the rest does'
    : `: ${dof} ${dof === 1 ? 'freedom' : 'freedoms'} while the rest stands`;
}

export function followWords(s: SolutionSummary | undefined): string {
  const parts: string[] = [];
  if (s?.follows?.length) parts.push(`follows ${listed(s.follows)}`);
  const others = s?.cluster?.filter((id) => id !== s.object) ?? [];
  if (others.length) parts.push(`solved together with ${listed(others)}${together(s?.cluster_dof)}`);
  return parts.join('; ');
}

export function Follows({ standing }: { standing: SolutionSummary | undefined }): JSX.Element | null {
  const words = followWords(standing);
  return words ? (
    <p class="quiet follows">
      {standing!.object} {words}.
    </p>
  ) : null;
}
