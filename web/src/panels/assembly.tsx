// Assembly: moves parts to poses where all relations are satisfied, and shows the convergence. Stop, Apply and Discard;
// relations that are not satisfied are listed by name.

import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import {
  type AssemblyMethod,
  type AssemblyRun,
  applyAssembly,
  assemble,
  canAssemble,
  curve,
  discardAssembly,
  METHODS,
  run,
  settings,
  stopAssembly,
} from '../edits/assembly';
import { constraintWords } from '../state/constraints';
import { endsOf, relationWords } from '../state/relations';
import * as store from '../state/store';
import { fixed, MM } from '../state/words';
import { power, type Trace } from '../ui/chart';
import { Icon } from '../ui/icons';
import { useChart } from '../ui/usechart';
import { NumberField, Row, Section, Tool } from '../ui/widgets';

// ---- in words --------------------------------------------------------------------------------------------

function open(metres: number): string {
  const value = metres * MM;
  if (value >= 0.01 || value === 0) return `${fixed(value, value < 1 ? 3 : 1)} mm`;
  const of = Math.floor(Math.log10(value));
  return `${fixed(value / 10 ** of, 1)}\u00b7${power(of)} mm`;
}

const count = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`;

function Words({ now: { state, now, iterations, starts } }: { now: AssemblyRun }): JSX.Element {
  const after = `${count(iterations, 'iteration')}${starts > 1 ? ` from ${count(starts, 'start')}` : ''}`;
  switch (state) {
    case 'held':
      return (
        <>
          All relations hold after {after}, within {open(now.residual)}.
        </>
      );
    case 'remains':
      return (
        <>
          Not found in {after}. The nearest is {open(now.residual)} open.
        </>
      );
    case 'stopped':
      return (
        <>
          Stopped after {after}, {open(now.residual)} open.
        </>
      );
    case 'working':
      return (
        <>
          {after}, {open(now.residual)} open
        </>
      );
  }
}

// A relation that is not satisfied, in words.
function Remaining({ id }: { id: string }): JSX.Element {
  const c = store.constraints.value.find((k) => k.id === id);
  const j = store.joints.value.find((k) => k.id === id);
  const ends = c ? [c.a, c.b] : j ? endsOf(j) : [];
  const words = c ? constraintWords(c) : j ? relationWords(j) : 'a joint of the mechanism';
  const select = (): void => {
    if (c) store.selectConstraint(id);
    else store.selectObject(j ? store.splitRef(ends[0]!)[0] : id);
  };
  return (
    <li>
      <button type="button" class="entry-main" onClick={select}>
        <span class="entry-top">
          <Icon name="broken" title="does not hold" /> <span class="entry-id">{id}</span>{' '}
          <span class="entry-words">{words}</span>
        </span>
        {ends.length > 0 && <span class="entry-refs">{ends.join(' \u2013 ')}</span>}
      </button>
    </li>
  );
}

// ---- the chart -------------------------------------------------------------------------------------------

const residual: Trace = {
  name: 'residual',
  colour: '--view-conflict',
  dash: [],
  times: curve.iterations,
  values: curve.powers,
  count: () => curve.count,
};

function Convergence(): JSX.Element {
  const canvas = useChart((chart) => {
    const last = run.value ? Math.max(curve.iterations[curve.count - 1] ?? 0, 10) : 10;
    if (!chart.begin(0, last)) return;
    chart.fitPowers(residual);
    chart.rule('0', `${last} iterations`, 'mm');
    chart.lines([residual]);
  });
  return (
    <canvas class="convergence" ref={canvas} role="img" aria-label="Residual by iteration, on a logarithmic scale" />
  );
}

// ---- settings --------------------------------------------------------------------------------------------

// The ground: the fixed objects, unless others are chosen.
function Ground({ disabled }: { disabled: boolean }): JSX.Element {
  const chosen = settings.value.ground ?? store.objects.value.filter((o) => o.fixed).map((o) => o.id);
  const put = (id: string, on: boolean): void => {
    const ground = on ? [...chosen, id] : chosen.filter((other) => other !== id);
    settings.value = { ...settings.value, ground };
  };
  const words = chosen.length === 0 ? 'nothing' : chosen.length <= 3 ? chosen.join(', ') : `${chosen.length} objects`;
  return (
    <details class="ground">
      <summary>Ground: {words}</summary>
      <ul class="checks">
        {store.objects.value.map((o) => (
          <li key={o.id}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(o.id)}
                disabled={disabled}
                aria-label={`${o.id} stands`}
                onChange={(e) => put(o.id, e.currentTarget.checked)}
              />{' '}
              {o.id}
            </label>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Settings({ disabled }: { disabled: boolean }): JSX.Element {
  const { method, seed } = settings.value;
  return (
    <div class="assembly">
      <Row label="method">
        <select
          aria-label="Method of assembly"
          value={method}
          disabled={disabled}
          onChange={(e) => (settings.value = { ...settings.value, method: e.currentTarget.value as AssemblyMethod })}
        >
          {Object.entries(METHODS).map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Row>
      <Row label="seed">
        <NumberField
          label="Seed of the random starts"
          unit=""
          digits={0}
          disabled={disabled}
          value={seed}
          onCommit={(v) => (settings.value = { ...settings.value, seed: Math.max(0, Math.round(v)) })}
        />
      </Row>
      <Ground disabled={disabled} />
    </div>
  );
}

// ---- progress --------------------------------------------------------------------------------------------

function Progress({ now }: { now: AssemblyRun }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const working = now.state === 'working';
  useEffect(() => place.current?.scrollIntoView({ block: 'nearest' }), [now.state]);
  return (
    <div class="assembly" ref={place}>
      <p class={`assembly-words ${now.state === 'remains' ? 'tone-conflict' : ''}`} role="status">
        <Words now={now} />
      </p>
      <Convergence />
      {!working && (
        <div class="buttons">
          <button type="button" class="primary" onClick={() => void applyAssembly()}>
            Apply
          </button>
          {now.state === 'stopped' && (
            <button type="button" onClick={() => void assemble(now)}>
              Go on
            </button>
          )}
          <button type="button" onClick={discardAssembly}>
            Discard
          </button>
        </div>
      )}
      {!working && now.now.remaining.length > 0 && (
        <ul class="entries" aria-label="What remains">
          {now.now.remaining.map((id) => (
            <Remaining key={id} id={id} />
          ))}
        </ul>
      )}
    </div>
  );
}

// ---- the panel -------------------------------------------------------------------------------------------

export function AssemblyPanel(): JSX.Element | null {
  if (!canAssemble.value) return null;
  const now = run.value;
  const working = now?.state === 'working';
  const stopped = store.runState.value === 'stopped';
  const begin = working ? (
    <Tool icon="stop" label="Stop assembling" text="Stop" onClick={stopAssembly} />
  ) : (
    <Tool
      icon="assemble"
      label="Assemble the parts"
      text="Assemble"
      disabled={!stopped}
      onClick={() => void assemble()}
    />
  );
  return (
    <Section id="assembly" title="Assembly" extra={begin} shut>
      {!stopped && (
        <p class="quiet">Stop the simulation to assemble: parts are moved in the scene that it starts from.</p>
      )}
      {!now && stopped && <p class="quiet">Brings all parts from where they lie to where all relations hold.</p>}
      {now && <Progress now={now} />}
      <Settings disabled={working || !stopped} />
    </Section>
  );
}
