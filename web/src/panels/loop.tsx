// The loop: its timing, the duration of each stage of a tick, the overruns by stage, the worst ticks. Requested once a
// second while the panel is open.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { LoopFigures, Quantiles } from '../protocol';
import { call } from '../state/rest';
import * as store from '../state/store';
import { Row } from '../ui/widgets';

const EVERY_MS = 1000;
const SHARES = ['commands', 'device', 'geometry', 'dynamics', 'control', 'publish'] as const;

const micro = (us: number): string => (us < 100 ? us.toFixed(1) : us.toFixed(0));

function Figures({ name, of, blamed }: { name: string; of: Quantiles | undefined; blamed?: number }): JSX.Element {
  return (
    <tr>
      <th scope="row">{name}</th>
      {of ? [of.p50, of.p99, of.p999, of.max].map((x, i) => <td key={i}>{micro(x)}</td>) : <td colSpan={4} />}
      <td>{blamed || ''}</td>
    </tr>
  );
}

function Worst({ loop }: { loop: LoopFigures }): JSX.Element | null {
  if (!loop.worst.length) return null;
  return (
    <details class="group-of">
      <summary>Worst ticks</summary>
      <table class="numbers">
        <thead>
          <tr>
            <th scope="col">when</th>
            <th scope="col">tick</th>
            <th scope="col">late</th>
            <th scope="col">took</th>
            <th scope="col">longest</th>
          </tr>
        </thead>
        <tbody>
          {loop.worst.map((w) => (
            <tr key={`${w.tick} ${w.at}`}>
              <th scope="row">{new Date(w.at).toLocaleTimeString()}</th>
              <td>{w.tick}</td>
              <td>{micro(w.late_us)}</td>
              <td>{micro(w.tick_us)}</td>
              <td>{w.stage}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

// By factors of two, from the first that counts a tick to the last.
function Histogram({ loop }: { loop: LoopFigures }): JSX.Element {
  const rows = loop.late_histogram.map((late, i) => ({ ...late, tick: loop.tick_histogram[i]!.count }));
  const counts = rows.map((row) => row.count + row.tick > 0);
  return (
    <details class="group-of">
      <summary>Histogram</summary>
      <table class="numbers" aria-label="Histogram">
        <thead>
          <tr>
            <th scope="col">below, {'\u00b5s'}</th>
            <th scope="col">woken late</th>
            <th scope="col">ticks took</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(Math.max(0, counts.indexOf(true)), counts.lastIndexOf(true) + 1).map((row) => (
            <tr key={row.below_us}>
              <th scope="row">{micro(row.below_us)}</th>
              <td>{row.count}</td>
              <td>{row.tick}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}

export function LoopPanel(): JSX.Element {
  const [loop, setLoop] = useState<LoopFigures | null>(null);
  const open = store.connection.value === 'open';
  useEffect(() => {
    if (!open) return undefined;
    let here = true;
    const ask = (): void =>
      void call<LoopFigures>('GET', '/loop').then(
        (now) => here && setLoop(now),
        () => undefined, // the stream reports that the server is away
      );
    ask();
    const timer = setInterval(ask, EVERY_MS);
    return () => {
      here = false;
      clearInterval(timer);
    };
  }, [open]);
  if (!loop) return <p class="quiet">Asking{'\u2026'}</p>;
  return (
    <>
      <Row label="timing">
        {loop.scheduling === 'fifo' ? `real-time, priority ${loop.priority}` : 'best effort: not granted by the system'}
      </Row>
      <Row label="ticks">
        <span data-ticks>{loop.ticks}</span>, one in {micro(loop.period_us)} {'\u00b5s'}
      </Row>
      <Row label="missed">{loop.missed}: due, and not made</Row>
      <Row label="overruns">{loop.overruns}: late or too long</Row>
      {loop.relieved > 0 && <Row label="relieved">{loop.relieved}: made by a second thread, as the first was late</Row>}
      {loop.sample_age_us !== undefined && (
        <Row label="samples">
          {micro(loop.sample_age_us)} {'\u00b5s'} old at most
        </Row>
      )}
      {loop.records_lost + loop.events_lost + loop.commands_refused > 0 && (
        <Row label="lost">
          {loop.records_lost} records, {loop.events_lost} events; {loop.commands_refused} commands refused
        </Row>
      )}
      <table class="numbers" aria-label="Time by stage">
        <thead>
          <tr>
            <th scope="col">{'\u00b5s'}</th>
            <th scope="col">p50</th>
            <th scope="col">p99</th>
            <th scope="col">p99.9</th>
            <th scope="col">max</th>
            <th scope="col" title="Overruns in which this took longest">
              to blame
            </th>
          </tr>
        </thead>
        <tbody>
          <Figures name="waking" of={loop.late_us} blamed={loop.overruns_by.wake} />
          {SHARES.map((s) => (
            <Figures key={s} name={s} of={loop.stages[s]} blamed={loop.overruns_by[s]} />
          ))}
          <Figures name="whole tick" of={loop.tick_us} />
        </tbody>
      </table>
      <Histogram loop={loop} />
      <Worst loop={loop} />
    </>
  );
}
