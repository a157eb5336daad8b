// The freedoms of the shown object: in words, its branches, a slider for each. Hovering over a freedom makes a ghost
// move along it in the view.

import type { JSX } from 'preact';
import { chooseBranch, latestParameters, moveAlong } from '../edits/constraints';
import type { Branch, Parameter, Solution } from '../protocol';
import { firstMotion } from '../state/freedoms';
import { norm, qconj, qmul, sub } from '../state/maths';
import { poses } from '../state/poses';
import * as store from '../state/store';
import { sceneSize } from '../state/viewer';
import { DEG, DISPLAY, fixed, freedomName, MM, mm, stateWords } from '../state/words';
import { Follows } from '../ui/cluster';
import { Badge, NumberField, Section } from '../ui/widgets';

function rangeOf(p: Parameter, value: number): [number, number] {
  const [low, high] = p.range ?? [null, null];
  if (low !== null && high !== null) return [low, high];
  if (p.unit === 'rad') return [-Math.PI, Math.PI];
  const reach = sceneSize();
  const middle = Math.round(value / reach) * reach;
  return [middle - reach, middle + reach];
}

interface FreedomProps {
  solution: Solution;
  branch: Branch;
  i: number;
}

const point = (i: number): void => {
  store.hoverFreedom.value = i;
};

// The row of a freedom: hovering over it, or focusing a control in it, shows its motion.
function FreedomRow(p: { i: number; name: string; children: JSX.Element | JSX.Element[] }): JSX.Element {
  const chosen = store.selectedFreedom.value === p.i;
  return (
    <li
      class={`freedom ${chosen ? 'chosen' : ''} ${store.hoverFreedom.value === p.i ? 'hot' : ''}`}
      data-freedom={p.i}
      onMouseEnter={() => point(p.i)}
      onMouseLeave={() => point(-1)}
      onFocusCapture={() => point(p.i)}
      onBlurCapture={() => point(-1)}
    >
      <label class="freedom-name">
        <input type="radio" name="freedom" checked={chosen} onChange={() => (store.selectedFreedom.value = p.i)} />
        {p.name}
      </label>
      {p.children}
    </li>
  );
}

function Freedom({ solution, branch, i }: FreedomProps): JSX.Element {
  const parameter = branch.parameters[i]!;
  const value = solution.parameters?.[i] ?? 0;
  const [low, high] = rangeOf(parameter, value);
  const display = DISPLAY[parameter.unit];
  const name = freedomName(parameter, branch.translation);
  const locked = store.runState.value === 'running';
  const set = (x: number): void => {
    point(-1); // the moving object itself shows the motion
    void moveAlong(
      solution.object,
      latestParameters(solution).map((v, j) => (j === i ? x : v)),
    );
  };
  return (
    <FreedomRow i={i} name={name}>
      <input
        type="range"
        min={low}
        max={high}
        step={(high - low) / 400}
        value={value}
        disabled={locked}
        aria-label={`Freedom: ${name}`}
        onFocus={() => (store.selectedFreedom.value = i)}
        onInput={(e) => set(Number(e.currentTarget.value))}
      />
      <NumberField
        label={`Freedom ${name}`}
        unit={display.unit}
        digits={2}
        disabled={locked}
        value={value * display.scale}
        onCommit={(v) => set(v / display.scale)}
      />
    </FreedomRow>
  );
}

const LOCAL_STEP_M = 0.005;

// Freedoms that do not separate have no fixed zero: they are followed by steps.
function LocalFreedom({ solution, i }: FreedomProps): JSX.Element {
  const strand = solution.strands?.[i];
  const motion = strand && firstMotion(strand, sceneSize() / 4);
  const name = `${i + 1}. ${motion ? (motion.turns ? 'turn' : 'slide') : 'freedom'}`;
  const locked = store.runState.value === 'running';
  const by = (sign: number): void => {
    store.selectedFreedom.value = i;
    void moveAlong(
      solution.object,
      solution.parameters!.map((v, j) => v + (j === i ? sign * LOCAL_STEP_M : 0)),
    );
  };
  return (
    <FreedomRow i={i} name={name}>
      <span class="jog">
        <button
          type="button"
          class="tool"
          disabled={locked}
          aria-label={`Freedom ${name}, back`}
          onClick={() => by(-1)}
        >
          {'\u2212'}
        </button>
        <button type="button" class="tool" disabled={locked} aria-label={`Freedom ${name}, on`} onClick={() => by(1)}>
          +
        </button>
      </span>
      <span class="quiet">{LOCAL_STEP_M * MM} mm a step</span>
    </FreedomRow>
  );
}

// The distance of the branch from the object's present pose.
function away(object: string, b: Branch): string {
  const here = poses.pose(object);
  const there = b.nearest.pose;
  const turn = 2 * Math.acos(Math.min(1, Math.abs(qmul(qconj(here.q), there.q)[0])));
  const shift = norm(sub(there.p, here.p));
  if (shift < 1e-5 && turn < 1e-3) return 'here';
  return `${mm(shift)} and ${fixed(turn * DEG, 0)}\u00b0 away`;
}

// Branches with equal words are distinguished by their distance. Hovering over one shows its ghost.
function BranchList({ solution }: { solution: Solution }): JSX.Element | null {
  store.figures.value; // subscribes: the present pose comes by the stream, after the solution
  if (solution.branches.length < 2) return null;
  const show = (i: number): void => {
    store.hoverBranch.value = i;
  };
  return (
    <fieldset class="branches">
      <legend>Branches</legend>
      {solution.branches.map((b, i) => (
        <label
          key={b.id}
          data-branch={b.id}
          onMouseEnter={() => show(i)}
          onMouseLeave={() => show(-1)}
          onFocusCapture={() => show(i)}
          onBlurCapture={() => show(-1)}
        >
          <input
            type="radio"
            name="branch"
            checked={b.id === solution.branch}
            onChange={() => void chooseBranch(solution.object, b.id)}
          />
          <span>
            {i + 1}. {b.words ?? `${b.dof} freedoms`}{' '}
            <span class="quiet">
              {b.id}, {away(solution.object, b)}
            </span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

// The steps of the solver's rewriting, and the result of the numerical completion.
function Solved({ solution }: { solution: Solution }): JSX.Element | null {
  const { trace = [], roots } = solution;
  if (!trace.length && !roots) return null;
  return (
    <details class="group-of">
      <summary>How it was solved</summary>
      {trace.length > 0 && (
        <ol class="trace">
          {trace.map((step, i) => (
            <li key={i}>{step}</li>
          ))}
        </ol>
      )}
      {roots && (
        <p class="quiet">
          {roots.real} of {roots.complex} roots are real.
        </p>
      )}
    </details>
  );
}

function Known({ solution }: { solution: Solution }): JSX.Element {
  const branch = solution.branches.find((b) => b.id === solution.branch) ?? solution.branches[0];
  const now = store.stateOf(solution.object);
  const state = now ? stateWords[now] : undefined;
  const Row = branch?.kind === 'general' ? LocalFreedom : Freedom;
  return (
    <>
      <div class="badges">
        <strong>{solution.object}</strong>
        {state && <Badge {...state} />}
        {solution.method === 'numeric' && <span class="quiet">found numerically</span>}
      </div>
      <p class="words motion" data-words>
        {solution.words ?? solution.reason ?? solution.conflict?.message}
      </p>
      <Follows standing={store.summaries.value.get(solution.object)} />
      {!!solution.redundant?.length && (
        <p class="quiet">{solution.redundant.map((r) => `${r.id} follows from ${r.because.join(', ')}`).join('; ')}.</p>
      )}
      <BranchList solution={solution} />
      {branch && solution.parameters && store.movesOnItsOwn(solution) && (
        <ul class="freedoms">
          {branch.parameters.map((q, i) => (
            <Row key={q.name} solution={solution} branch={branch} i={i} />
          ))}
        </ul>
      )}
      <Solved solution={solution} />
      {store.runState.value === 'running' && branch && (solution.system?.freedoms ?? branch.dof) > 0 && (
        <p class="quiet">Running: drag it in the view, or push with the arrow keys.</p>
      )}
    </>
  );
}

export function SolutionPanel(): JSX.Element | null {
  const solution = store.solutions.value.get(store.shownObject.value);
  if (!solution && store.mechanisms.value.length) return null;
  return (
    <Section id="freedoms" title="Freedoms">
      {solution ? (
        <Known solution={solution} />
      ) : (
        <p class="quiet">
          {store.objects.value.some((o) => !o.fixed)
            ? 'Select a mobile object to see what it may do.'
            : 'Nothing here can move.'}
        </p>
      )}
    </Section>
  );
}
