// A joint or a spring between the two picked features. Hovering over or focusing a joint tries it: its ghost, and the
// freedoms that it would leave.

import type { JSX } from 'preact';
import { dropTrial, makeJoint, makeSpring, trial, tryJoint } from '../edits/relations';
import { misfit } from '../state/constraints';
import { kindOf } from '../state/elements';
import { ONE_STEP, RELATIONS } from '../state/relations';
import * as store from '../state/store';
import { Icon } from '../ui/icons';
import { Section } from '../ui/widgets';

// True for features whose frame a joint can use: a point, a line, a plane.
function isFrame(ref: string): boolean {
  const f = store.featureOf(ref);
  return !f || ['point', 'line', 'plane'].includes(kindOf(f));
}

function Outcome(): JSX.Element {
  const now = trial.value;
  if (!now) return <p class="outcome quiet">The axis is a line, or a plane's normal; through a point, along z.</p>;
  if (now.refusal)
    return (
      <p class="outcome refused">
        <Icon name="broken" />
        <strong>Cannot hold.</strong> {now.refusal}
      </p>
    );
  return (
    <p class="outcome">
      <strong>{RELATIONS[now.type].words}</strong> <span class="quiet">would leave</span>{' '}
      <strong class="motion">{now.words}</strong>
    </p>
  );
}

export function NewJoint(): JSX.Element | null {
  const [a, b] = store.picked.value;
  if (!a || !b || misfit(a, b) || ![a, b].every(isFrame)) return null;
  return (
    <Section id="newjoint" title="Or a joint">
      <div class="kinds" role="group" aria-label="Joints between the two picked features" onMouseLeave={dropTrial}>
        {ONE_STEP.map(([type, name]) => (
          <button
            key={type}
            type="button"
            class="chip"
            title={RELATIONS[type].words}
            onMouseEnter={() => void tryJoint(type)}
            onFocus={() => void tryJoint(type)}
            onBlur={dropTrial}
            onClick={() => void makeJoint(type)}
          >
            {name}
          </button>
        ))}
        <button type="button" class="chip" title="along the line between two points" onClick={() => void makeSpring()}>
          Spring
        </button>
      </div>
      <Outcome />
    </Section>
  );
}
