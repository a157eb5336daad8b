// Events, newest first.
import type { JSX } from 'preact';
import type { LogEvent } from '../protocol';
import * as store from '../state/store';
import { Icon } from '../ui/icons';

const icons: Record<string, string> = { error: 'conflict', warning: 'conflict', info: 'info', notice: 'info' };

function when(e: LogEvent): string {
  const rate = store.simulation.value?.loop.rate ?? store.scene.value.rate ?? 1000;
  return `${(e.tick / rate).toFixed(2)} s`;
}

interface Entry {
  event: LogEvent;
  times: number;
}

// Newest first; repetitions of one message are one entry with a count. Late ticks occur among all other events, and are
// one entry until the simulation starts again.
function folded(events: readonly LogEvent[]): Entry[] {
  const out: Entry[] = [];
  let late: Entry | undefined;
  for (let i = events.length - 1; i >= 0; i--) {
    const event = events[i]!;
    if (event.kind === 'state' || event.kind === 'opened') late = undefined;
    const last = event.kind === 'overrun' ? late : out[out.length - 1];
    const times = event.count || 1;
    if (last && last.event.message === event.message && last.event.kind === event.kind) last.times += times;
    else {
      out.push({ event, times });
      if (event.kind === 'overrun') late = out[out.length - 1];
    }
  }
  return out;
}

export function Events(): JSX.Element {
  const list = folded(store.events.value).slice(0, 60);
  return (
    <div class="events">
      <h2>Events</h2>
      {list.length === 0 && <p class="quiet">Nothing yet.</p>}
      <ol tabIndex={0} aria-label="Events, newest first">
        {list.map(({ event: e, times }) => (
          <li key={e.seq} class={`event event-${e.severity}`}>
            <span class="event-icon">
              <Icon name={icons[e.severity] ?? 'info'} title={e.severity} />
            </span>
            <time>{when(e)}</time>
            <span>
              {e.message || e.kind}
              {times > 1 && (
                <span class="quiet">
                  {' '}
                  {'\u00d7'} {times}
                </span>
              )}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
