// What happened, newest first.
import type { JSX } from 'preact';
import { Icon } from '../ui/icons';
import type { LogEvent } from '../protocol';
import * as store from '../store';

const icons: Record<string, string> = { error: 'conflict', warning: 'conflict', info: 'info', notice: 'info' };

function when(e: LogEvent): string {
  const rate = store.simulation.value?.loop.rate ?? store.scene.value.rate ?? 1000;
  return `${(e.tick / rate).toFixed(2)} s`;
}

export function Events(): JSX.Element {
  const list = [...store.events.value].reverse().slice(0, 60);
  return (
    <div class="events">
      <h2>Events</h2>
      {list.length === 0 && <p class="quiet">Nothing yet.</p>}
      <ol tabIndex={0} aria-label="Events, newest first">
        {list.map((e) => (
          <li key={e.seq} class={`event event-${e.severity}`}>
            <span class="event-icon"><Icon name={icons[e.severity] ?? 'info'} title={e.severity} /></span>
            <time>{when(e)}</time><span>{e.message || e.kind}</span>
          </li>
        ))}
      </ol>
    </div>
  );
}
