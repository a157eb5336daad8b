// The middle of the page: the canvas, the view cube, and banners, hints and notices over the scene.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { draft, preview, wouldLeave } from '../edits/draft';
import { setRun } from '../edits/simulation';
import type { Halt } from '../protocol';
import { causeWords, clock, nameOf } from '../state/halts';
import { heldId, linkName } from '../state/mechanisms';
import * as store from '../state/store';
import { setView } from '../state/viewer';
import { wrenchWords } from '../state/words';
import { Icon } from '../ui/icons';
import { Viewport } from '../view/viewport';

const STEPS: { done: () => boolean; text: string }[] = [
  {
    done: () => store.picked.value.length > 0 || store.constraints.value.length > 0,
    text: 'Click the flat base of the cone, then the top of the cylinder.',
  },
  {
    done: () => store.constraints.value.length > 0,
    text: 'Hover \u201ccoincident\u201d to see where the cone would go, and press Enter.',
  },
  {
    done: () => store.running.value && (store.simulation.value?.tools[0]?.dragging ?? false),
    text: 'Press Run, then drag the cone: it slides, and stops dead at the plane.',
  },
];

const FIRST_SCENE = 'cone-on-cylinder'; // the bundled scene to which the hints refer

function Hints(): JSX.Element | null {
  const [shut, setShut] = useState(store.recall('hints') === 'shut');
  const first = store.scenes.value.find((s) => s.file === FIRST_SCENE)?.name;
  if (shut || store.halted.value || store.connection.value !== 'open' || store.scene.value.name !== first) return null;
  const dismiss = (): void => {
    store.remember('hints', 'shut');
    setShut(true);
  };
  const at = STEPS.findIndex((s) => !s.done());
  const now = at < 0 ? STEPS.length - 1 : at;
  return (
    <aside class="hints" aria-label="First steps">
      <ol>
        {STEPS.map((s, i) => (
          <li key={i} class={s.done() ? 'done' : i === now ? 'now' : ''}>
            <span class="hint-mark" aria-hidden="true">
              {s.done() ? <Icon name="ok" /> : i + 1}
            </span>
            <span class="hint-text">{s.text}</span>
          </li>
        ))}
      </ol>
      <button
        type="button"
        class="tool tiny"
        aria-label="Do not show these hints again"
        title="Do not show again"
        onClick={dismiss}
      >
        <Icon name="close" />
      </button>
    </aside>
  );
}

// Who halted, when, and the cause where it is not a person.
const whence = (h: Halt): string =>
  ` at ${clock(h.since)} by ${nameOf(h.by)}${h.cause === 'software' ? '' : `: ${causeWords[h.cause]}`}`;

function Banner(): JSX.Element | null {
  if (store.halting.value && store.connection.value !== 'open')
    return (
      <div class="banner halted" role="alert">
        <Icon name="halt" />
        HALT is not answered: it is asked for again until it is. Use the device{'\u2019'}s own button.
      </div>
    );
  if (store.connection.value === 'lost' || store.connection.value === 'connecting')
    return (
      <div class="banner lost" role="status">
        <Icon name="conflict" />
        {store.connection.value === 'lost'
          ? 'The appliance does not answer. Trying again by itself\u2026'
          : 'Connecting\u2026'}
      </div>
    );
  if (store.halted.value) {
    const halt = store.simulation.value?.halt;
    return (
      <div class="banner halted" role="alert">
        <Icon name="halt" />
        <span>
          <strong>Halted{halt && whence(halt)}.</strong> Nothing moves until it is armed again.
        </span>
        <button type="button" onClick={() => (store.dialog.value = 'arm')}>
          Arm{'\u2026'}
        </button>
      </div>
    );
  }
  return null;
}

// Scripted operators and robots at their tasks, which push as a person does.
function scripted(): string[] {
  if (store.runState.value === 'stopped') return [];
  return store.tools.value.flatMap((tool, i) => {
    const hand = store.scriptOf(i);
    const wrench = store.figures.value?.tools[i]?.operator;
    return hand ? [`${hand} at ${heldId(tool)}${wrench ? `: ${wrenchWords(wrench)}` : ''}`] : [];
  });
}

// Shows who operates latched devices, and what pushes by itself.
function Hands(): JSX.Element | null {
  const operator = store.figures.value?.operator;
  const mine = operator?.by === store.client.value;
  const scripts = scripted();
  if (store.connection.value !== 'open' || (!operator && !scripts.length)) return null;
  return (
    <div class="hands">
      {operator && (
        <p class={mine ? 'hand mine' : 'hand'} role="status">
          <Icon name="hand" />
          {mine ? 'You operate the device' : `${operator.by} operates the device: nobody else can`}
        </p>
      )}
      {scripts.map((words) => (
        <p key={words} class="hand">
          <Icon name="hand" />
          {words}
        </p>
      ))}
    </div>
  );
}

// Shows which body the camera tracks; a press ends the tracking.
function Tracking(): JSX.Element | null {
  const id = store.tracked.value;
  if (!id) return null;
  return (
    <button type="button" class="tracking" title="Stay here (T)" onClick={() => (store.tracked.value = '')}>
      The view goes along with {id}
      <Icon name="close" />
    </button>
  );
}

const PASSING_MS = 5000;

function NoticeBox(): JSX.Element | null {
  const n = store.notice.value;
  useEffect(() => {
    if (!n?.passing) return undefined;
    const timer = setTimeout(() => (store.notice.value = null), PASSING_MS);
    return () => clearTimeout(timer);
  }, [n]);
  if (!n) return null;
  return (
    <div class={`notice ${n.tone}`} role={n.tone === 'error' ? 'alert' : 'status'}>
      <Icon name={n.tone === 'error' ? 'conflict' : 'ok'} />
      <p>{n.text}</p>
      <button type="button" class="tool tiny" aria-label="Dismiss" onClick={() => (store.notice.value = null)}>
        <Icon name="close" />
      </button>
      {n.fixes.length > 0 && (
        <div class="fixes">
          {n.fixes.map((f) => (
            <button
              key={f.label}
              type="button"
              onClick={() => {
                store.notice.value = null;
                f.run();
              }}
            >
              {f.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}

function hoveredLink(): string {
  const found = store.linkRef(store.hoverObject.value);
  return found ? `${found.mechanism.id}: ${linkName(found.mechanism, found.index)}` : '';
}

// One line about the hovered feature, or about the draft.
function StatusLine(): JSX.Element {
  const refs = store.hovered.value;
  const trial = preview.value;
  const object = store.shownObject.value;
  const words = store.solutions.value.get(object)?.words;
  return (
    <div class="status">
      <span class="status-words motion">
        {draft.value && trial?.solution ? `would leave ${wouldLeave(trial)}` : words ? `${object}: ${words}` : ''}
      </span>
      <span class="status-hover">
        {store.hoverRef.value || hoveredLink()}
        {refs.length > 1 && (
          <span class="quiet">
            {' '}
            {store.hoverIndex.value + 1} of {refs.length}, <kbd>Tab</kbd> for the next
          </span>
        )}
      </span>
    </div>
  );
}

function Empty(): JSX.Element | null {
  if (
    store.connection.value === 'connecting' ||
    !store.scene.value.format ||
    store.objects.value.length > 0 ||
    store.mechanisms.value.length > 0
  )
    return null;
  return (
    <div class="empty">
      <p>This scene is empty.</p>
      <p class="quiet">Add a box, cylinder, cone, sphere or mechanism on the left, or open a scene.</p>
      <button type="button" class="primary" onClick={() => (store.dialog.value = 'gallery')}>
        Gallery
      </button>
    </div>
  );
}

export function Stage(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const overlay = useRef<HTMLCanvasElement>(null);
  const cube = useRef<HTMLDivElement>(null);
  const [broken, setBroken] = useState('');
  useEffect(() => {
    try {
      setView(
        new Viewport({ canvas: canvas.current!, overlay: overlay.current!, cube: cube.current!, host: host.current! }),
      );
    } catch {
      setBroken(
        'This browser gives no WebGL, so the scene cannot be drawn. The lists and numbers beside it work all the same.',
      );
    }
    return () => setView(null);
  }, []);
  return (
    <main class={`stage ${store.connection.value === 'lost' ? 'away-now' : ''}`} aria-label="Scene">
      <div ref={host} class="stage-view">
        <canvas
          ref={canvas}
          id="canvas"
          tabIndex={0}
          role="application"
          aria-label="The scene in three dimensions. The list of objects has everything in it for the keyboard."
        />
        <canvas ref={overlay} class="overlay" aria-hidden="true" hidden />
      </div>
      <div ref={cube} class="cube-host" role="group" aria-label="View cube" />
      {broken && (
        <p class="banner lost" role="alert">
          {broken}
        </p>
      )}
      <Banner />
      <NoticeBox />
      <Empty />
      <Hints />
      <Hands />
      <Tracking />
      <StatusLine />
      {store.connection.value === 'open' &&
        store.runState.value === 'stopped' &&
        (store.constraints.value.length > 0 || store.mechanisms.value.length > 0) &&
        store.tools.value.length > 0 &&
        !draft.value &&
        !store.halted.value && (
          <button type="button" class="start" onClick={() => void setRun('running')}>
            <Icon name="run" />
            Start
          </button>
        )}
    </main>
  );
}
