// Plots: the last ten seconds of the hand's force and errors, or of energy and impulses; or runs of several controls
// for comparison.

import type { JSX } from 'preact';
import { hand, motion, type Series, SPAN_S, sampled } from '../state/recorder';
import { compare, dropRun, type Run } from '../state/runs';
import * as store from '../state/store';
import { fixed } from '../state/words';
import type { Trace } from '../ui/chart';
import { Icon } from '../ui/icons';
import { useChart } from '../ui/usechart';

const trace = (s: Series, column: number, name: string, colour: string, dash: number[], stems = false): Trace => ({
  name,
  colour,
  dash,
  stems,
  times: s.times,
  values: s.values[column]!,
  count: () => s.count,
});

const FORCE = [trace(hand, 0, 'normal', '--view-force', []), trace(hand, 1, 'tangential', '--view-motion', [5, 3])];
const ERROR = [
  trace(hand, 2, 'constraint', '--view-conflict', []),
  trace(hand, 3, 'tool to device', '--muted', [2, 3]),
];
const KINETIC = [trace(motion, 0, 'kinetic', '--view-mobile', [])];
const IMPULSE = [trace(motion, 1, 'of a tick', '--view-conflict', [], true)];

function Key({ colour, dash }: { colour: string; dash: number[] }): JSX.Element {
  return (
    <svg width="22" height="8" aria-hidden="true">
      <line x1="0" y1="4" x2="22" y2="4" class={`key-line key${colour}`} stroke-dasharray={dash.join(' ')} />
    </svg>
  );
}

const newest = (t: Trace): number => (t.count() ? t.values[t.count() - 1]! : 0);

// The largest impulse is shown, since the newest is nearly always zero.
function largest(t: Trace): number {
  let out = 0;
  for (let i = 0; i < t.count(); i++) out = Math.max(out, t.values[i]!);
  return out;
}

const LARGER: Record<string, string> = { '\u00b5m': 'mm', mJ: 'J', 'mN\u00b7s': 'N\u00b7s' };

function figureOf(value: number, unit: string): string {
  const larger = Math.abs(value) >= 1000 ? LARGER[unit] : undefined;
  const shown = larger ? value / 1000 : value;
  return `${fixed(shown, Math.abs(shown) < 0.1 ? 3 : 2)} ${larger ?? unit}`;
}

function Plot(p: { title: string; unit: string; traces: Trace[]; series: Series; floor: number }): JSX.Element {
  const canvas = useChart((chart) => {
    const now = p.series.last;
    if (!chart.begin(now - SPAN_S, now)) return;
    chart.fit(p.traces, p.floor);
    chart.rule(`\u2212${SPAN_S} s`, 'now', p.unit, LARGER[p.unit]);
    chart.lines(p.traces);
  });
  store.figures.value;
  sampled.value;
  return (
    <figure class="plot">
      <figcaption>
        <strong>{p.title}</strong>
        {p.traces.map((t) => {
          const value = t.stems ? largest(t) : newest(t);
          return (
            <span key={t.name} class="key">
              <Key colour={t.colour} dash={t.dash} />
              {t.name}
              {t.stems && ', at most'} <output>{figureOf(value, p.unit)}</output>
            </span>
          );
        })}
      </figcaption>
      <canvas ref={canvas} role="img" aria-label={`${p.title} over the last ${SPAN_S} seconds`} />
    </figure>
  );
}

// ---- controls compared ----------------------------------------------------------------------------------

const DASHES: Record<string, number[]> = {
  impedance: [],
  penalty: [7, 3],
  coupling: [2, 3],
  'four-channel': [9, 3, 2, 3],
};

const runTrace = (r: Run): Trace => ({
  name: r.label,
  colour: `--run-${r.control}`,
  dash: DASHES[r.control] ?? [],
  times: r.times,
  values: r.errors,
  count: () => r.count,
});

function peak(r: Run): number {
  let out = 0;
  for (let i = 0; i < r.count; i++) out = Math.max(out, r.errors[i]!);
  return out;
}

const short = (mm: number): string => fixed(mm, mm < 0.1 ? 3 : 2);

function RunKey({ run, live }: { run: Run; live: boolean }): JSX.Element {
  return (
    <span class="key">
      <Key colour={`--run-${run.control}`} dash={DASHES[run.control] ?? []} />
      {run.label}
      {live && ' (now)'}{' '}
      <output>
        {short(run.count ? run.errors[run.count - 1]! : 0)} mm, at most {short(peak(run))}
      </output>
      {!live && (
        <button
          type="button"
          class="tool tiny"
          aria-label={`Drop the run: ${run.label}`}
          title="Drop it"
          onClick={() => dropRun(run)}
        >
          <Icon name="close" />
        </button>
      )}
    </span>
  );
}

function Comparison(): JSX.Element {
  const canvas = useChart((chart) => {
    const { runs, now } = compare.value;
    const traces = [...runs, ...(now.count > 1 ? [now] : [])].map(runTrace);
    const end = Math.max(1, ...traces.map((t) => (t.count() ? t.times[t.count() - 1]! : 0)));
    if (!chart.begin(0, end)) return;
    chart.fit(traces, 1e-3);
    chart.rule('start', `${fixed(end, 1)} s`);
    chart.lines(traces, 1.8);
  });
  store.figures.value;
  sampled.value;
  const { runs, now } = compare.value;
  const again = runs.some(
    (r) => r.label.startsWith(now.label) && Math.abs(r.count - now.count) < 200 && store.runState.value !== 'running',
  ); // it was recorded a moment ago
  return (
    <figure class="plot wide-plot">
      <figcaption>
        <strong>Device to tool, mm</strong>
        {runs.map((r) => (
          <RunKey key={r.label} run={r} live={false} />
        ))}
        {now.count > 1 && !again && <RunKey run={now} live />}
        {runs.length === 0 && now.count < 2 && (
          <span class="quiet">
            Run with one control, keep the run, switch, run again; or run all four from the panel on the right.
          </span>
        )}
      </figcaption>
      <canvas ref={canvas} role="img" aria-label="Distance from device to tool over the time of each run" />
    </figure>
  );
}

const VIEWS = [
  ['force', 'Force'],
  ['energy', 'Energy'],
  ['compare', 'Compare'],
] as const;

export function Plots(): JSX.Element {
  const shown = store.plotShown.value;
  const held = store.tools.value.some((t) => t.control && t.control !== 'admittance');
  return (
    <div class="plots" role="group" aria-label="Live plots">
      <div class="plot-tabs" role="group" aria-label="What is plotted">
        {VIEWS.filter(([id]) => id !== 'compare' || held || shown === id).map(([id, name]) => (
          <button key={id} type="button" aria-pressed={shown === id} onClick={() => (store.plotShown.value = id)}>
            {name}
          </button>
        ))}
      </div>
      {shown === 'force' && (
        <Plot key="force" title="Force of the hand" unit="N" traces={FORCE} series={hand} floor={1} />
      )}
      {shown === 'force' && <Plot key="error" title="Error" unit={'\u00b5m'} traces={ERROR} series={hand} floor={1} />}
      {shown === 'energy' && (
        <Plot key="kinetic" title="Energy of motion" unit="mJ" traces={KINETIC} series={motion} floor={0.01} />
      )}
      {shown === 'energy' && (
        <Plot
          key="impulse"
          title="Impulses of contacts"
          unit={'mN\u00b7s'}
          traces={IMPULSE}
          series={motion}
          floor={0.01}
        />
      )}
      {shown === 'compare' && <Comparison />}
    </div>
  );
}
