// What the shown object may still do: in words, its branches, and a slider for each freedom.
import type { JSX } from 'preact';
import { chooseBranch, moveAlong } from '../actions';
import { norm, qconj, qmul, sub } from '../maths';
import { poses } from '../poses';
import type { Branch, Parameter, Solution } from '../protocol';
import { sizeForNew } from '../viewer';
import { Badge, NumberField, Section } from '../ui/widgets';
import { DEG, fixed, freedomName, MM, mm, stateWords } from '../words';
import * as store from '../store';

function rangeOf(p: Parameter, value: number): [number, number] {
  const [low, high] = p.range ?? [null, null];
  if (low !== null && high !== null) return [low, high];
  if (p.unit === 'rad') return [-Math.PI, Math.PI];
  const reach = sizeForNew().size * 4;
  const middle = Math.round(value / reach) * reach;
  return [middle - reach, middle + reach];
}

function Freedom(p: { solution: Solution; branch: Branch; i: number }): JSX.Element {
  const parameter = p.branch.parameters[p.i]!;
  const value = p.solution.parameters?.[p.i] ?? 0;
  const [low, high] = rangeOf(parameter, value);
  const k = parameter.unit === 'm' ? MM : DEG;
  const name = freedomName(parameter, p.branch.translation);
  const locked = store.runState.value === 'running';
  const set = (x: number): void =>
    void moveAlong(p.solution.object, p.solution.parameters!.map((v, i) => (i === p.i ? x : v)));
  const chosen = store.freedom.value === p.i;
  return (
    <li class={`freedom ${chosen ? 'chosen' : ''}`}>
      <label class="freedom-name"><input type="radio" name="freedom" checked={chosen} onChange={() => (store.freedom.value = p.i)} />{name}</label>
      <input type="range" min={low} max={high} step={(high - low) / 400} value={value} disabled={locked} aria-label={`Freedom: ${name}`}
        onFocus={() => (store.freedom.value = p.i)} onInput={(e) => set(Number(e.currentTarget.value))} />
      <NumberField label={`Freedom ${name}`} unit={parameter.unit === 'm' ? 'mm' : '\u00b0'} digits={2} disabled={locked} value={value * k} onCommit={(v) => set(v / k)} />
    </li>
  );
}

// How far the branch is from where the object is now: what tells branches of equal words apart.
function away(object: string, b: Branch): string {
  const here = poses.pose(object);
  const there = b.nearest.pose;
  const turn = 2 * Math.acos(Math.min(1, Math.abs(qmul(qconj(here.q), there.q)[0])));
  const shift = norm(sub(there.p, here.p));
  if (shift < 1e-5 && turn < 1e-3) return 'here';
  return `${mm(shift)} and ${fixed(turn * DEG, 0)}\u00b0 away`;
}

function BranchList({ solution }: { solution: Solution }): JSX.Element | null {
  if (solution.branches.length < 2) return null;
  return (
    <fieldset class="branches">
      <legend>Branches</legend>
      {solution.branches.map((b, i) => (
        <label key={b.id}>
          <input type="radio" name="branch" checked={b.id === solution.branch} onChange={() => void chooseBranch(solution.object, b.id)} />
          <span>{i + 1}. {b.words ?? `${b.dof} freedoms`} <span class="quiet">{away(solution.object, b)}</span></span>
        </label>
      ))}
    </fieldset>
  );
}

export function SolutionPanel(): JSX.Element {
  const object = store.shownObject.value;
  const solution = store.solutions.value.get(object);
  const branch = solution?.branches.find((b) => b.id === solution.branch) ?? solution?.branches[0];
  const state = solution?.state ? stateWords[solution.state] : undefined;
  return (
    <Section id="freedoms" title="Freedoms">
      {!solution
        ? <p class="quiet">{store.objects.value.some((o) => !o.fixed) ? 'Select a mobile object to see what it may do.' : 'Nothing here can move.'}</p>
        : <>
          <div class="badges"><strong>{object}</strong>{state && <Badge {...state} />}</div>
          <p class="words motion" data-words>{solution.words ?? solution.reason ?? solution.conflict?.message}</p>
          {!!solution.redundant?.length && (
            <p class="quiet">{solution.redundant.map((r) => `${r.id} follows from ${r.because.join(', ')}`).join('; ')}.</p>
          )}
          <BranchList solution={solution} />
          {branch && solution.parameters && (
            <ul class="freedoms">{branch.parameters.map((q, i) => <Freedom key={q.name} solution={solution} branch={branch} i={i} />)}</ul>
          )}
          {store.runState.value === 'running' && branch && branch.dof > 0 && <p class="quiet">Running: drag it in the view, or push with the arrow keys.</p>}
        </>}
    </Section>
  );
}
