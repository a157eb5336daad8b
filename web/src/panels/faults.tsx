// Halts and force-offs: the present one, who armed last, and those whose last ticks can be downloaded.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { downloadFault } from '../edits/simulation';
import type { Fault } from '../protocol';
import { causeWords, clock, nameOf } from '../state/halts';
import { call } from '../state/rest';
import * as store from '../state/store';
import { Icon } from '../ui/icons';
import { Row, Section } from '../ui/widgets';

// The log's last message of an arming.
function armed(): string {
  const last = store.events.value.filter((e) => e.kind === 'armed').pop();
  return last ? `at ${new Date(last.at * 1000).toLocaleTimeString()} by ${nameOf(last.by ?? 'somebody')}` : '';
}

function One({ fault }: { fault: Fault }): JSX.Element {
  return (
    <li class="fault">
      <span>
        <strong>{causeWords[fault.cause]}</strong>
        <span class="quiet">
          {' '}
          {clock(fault.since)} by {nameOf(fault.by)}
        </span>
      </span>
      <button
        type="button"
        class="tool tiny"
        aria-label={`Download the last ${fault.ticks} ticks before fault ${fault.number}`}
        title={`The last ${fault.ticks} ticks before it, as CSV`}
        onClick={() => void downloadFault(fault.number)}
      >
        <Icon name="download" />
      </button>
    </li>
  );
}

export function FaultsPanel(): JSX.Element {
  const [list, setList] = useState<readonly Fault[]>([]);
  const halt = store.simulation.value?.halt;
  const open = store.connection.value === 'open';
  useEffect(() => {
    if (!open) return;
    void call<Fault[]>('GET', '/loop/faults').then(setList, () => undefined);
  }, [open, halt?.since]);
  const last = armed();
  return (
    <Section id="faults" title="Halts and force-offs">
      <Row label="devices">
        {halt ? `off: ${causeWords[halt.cause]}, ${clock(halt.since)} by ${nameOf(halt.by)}` : 'armed'}
      </Row>
      {last && <Row label="armed">{last}</Row>}
      {list.length > 0 ? (
        <ul class="faults">
          {[...list].reverse().map((f) => (
            <One key={f.number} fault={f} />
          ))}
        </ul>
      ) : (
        <p class="quiet">None yet.</p>
      )}
    </Section>
  );
}
