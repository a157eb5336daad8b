// The bar on top: the scene and its files, history, the simulation, the loop's figures, and room for HALT.

import type { JSX } from 'preact';
import { cycleTheme } from '../edits/commands';
import { importFiles, TAKES } from '../edits/imports';
import { downloadScene, newScene, openScene, redo, undo } from '../edits/scene';
import { setRun, step } from '../edits/simulation';
import * as store from '../state/store';
import { Icon } from '../ui/icons';
import { Tool } from '../ui/widgets';

function SceneMenu(): JSX.Element {
  const list = store.scenes.value;
  const name = store.scene.value.name;
  const current = list.find((s) => s.name === name)?.file ?? '';
  const options = (saved: boolean): JSX.Element[] =>
    list
      .filter((s) => s.saved === saved)
      .map((s) => (
        <option key={s.file} value={s.file} title={s.name || s.file}>
          {s.name || s.file}
        </option>
      ));
  const choose = (file: string): void => {
    if (file) void openScene(file);
  };
  const shown = list.find((s) => s.file === current)?.name || current || name || 'Untitled scene';
  return (
    <select
      class="scene-menu"
      aria-label="Scene"
      title={shown}
      value={current}
      onChange={(e) => choose(e.currentTarget.value)}
    >
      {/* a select's default label is not shortened by an ellipsis */}
      <button type="button" tabIndex={-1}>
        <span class="scene-name">{shown}</span>
      </button>
      {!current && <option value="">{name || 'Untitled scene'}</option>}
      <optgroup label="Gallery">{options(false)}</optgroup>
      {list.some((s) => s.saved) && <optgroup label="Saved">{options(true)}</optgroup>}
    </select>
  );
}

// Whether the document is saved. The server keeps it in any case, and undo leads back.
function Saved(): JSX.Element {
  const saved = store.saved.value;
  return (
    <span
      class={`saved ${saved ? '' : 'dirty'}`}
      data-saved={saved}
      role="img"
      aria-label={saved ? 'Saved' : 'Changes that are not saved'}
      title={saved ? 'As it was saved or opened' : 'Changes since it was saved or opened: Ctrl+S saves them'}
    />
  );
}

function Files(): JSX.Element {
  const choose = (input: HTMLInputElement): void => {
    void importFiles([...(input.files ?? [])]);
    input.value = '';
  };
  return (
    <div class="group" role="group" aria-label="Scene files">
      <Tool icon="plus" label="New scene" onClick={() => void newScene()} />
      <Tool icon="gallery" label="Gallery of scenes" keys="G" onClick={() => (store.dialog.value = 'gallery')} />
      <Tool icon="save" label="Save scene" keys="Ctrl+S" onClick={() => (store.dialog.value = 'save')} />
      <Tool icon="download" label="Download scene" onClick={() => void downloadScene()} />
      <Tool
        icon="open"
        label="Open a file: a scene, a robot with its meshes, a mesh"
        keys="Ctrl+O"
        onClick={() => document.getElementById('scene-file')?.click()}
      />
      <input
        id="scene-file"
        class="away"
        type="file"
        multiple
        accept={TAKES}
        tabIndex={-1}
        aria-label="File to open"
        onChange={(e) => choose(e.currentTarget)}
      />
    </div>
  );
}

function Transport(): JSX.Element {
  const state = store.runState.value;
  const off = store.halted.value || store.connection.value !== 'open';
  const runs = state === 'running';
  return (
    <div class="group transport" role="group" aria-label="Simulation">
      <Tool
        icon="run"
        text="Run"
        label="Run"
        keys="Space"
        tone="go"
        pressed={runs}
        disabled={off || runs}
        onClick={() => void setRun('running')}
      />
      <Tool
        icon="pause"
        text="Pause"
        label="Pause"
        keys="Space"
        pressed={state === 'paused'}
        disabled={off || !runs}
        onClick={() => void setRun('paused')}
      />
      <Tool icon="step" text="Step" label="Step one tick" keys="." disabled={off || runs} onClick={() => void step()} />
      <Tool
        icon="stop"
        text="Stop"
        label="Stop, back to the start"
        pressed={state === 'stopped'}
        disabled={off || state === 'stopped'}
        onClick={() => void setRun('stopped')}
      />
    </div>
  );
}

const micro = (us: number): string => (us < 100 ? us.toFixed(1) : us.toFixed(0));

function Loop(): JSX.Element | null {
  const sim = store.figures.value;
  if (!sim) return null;
  const { loop } = sim;
  return (
    <dl class="loop" aria-label="The loop">
      <div title="Simulated time">
        <dt>time</dt>
        <dd>{sim.time.toFixed(1)} s</dd>
      </div>
      <div title="Ticks a second">
        <dt>rate</dt>
        <dd>{loop.rate} Hz</dd>
      </div>
      <div title="What 99 of 100 ticks stay below">
        <dt>tick p99</dt>
        <dd>
          {micro(loop.tick_us.p99)} {'\u00b5s'}
        </dd>
      </div>
      <div title="How late 99 of 100 ticks at most begin">
        <dt>late p99</dt>
        <dd>
          {micro(loop.late_us.p99)} {'\u00b5s'}
        </dd>
      </div>
      <div title="Overruns: ticks that took longer than their period">
        <dt>over</dt>
        <dd>{loop.overruns}</dd>
      </div>
      {!loop.real_time && (
        <div class="effort" title="The system did not grant real-time scheduling: ticks may come late under load.">
          <dt class="away">timing</dt>
          <dd>
            <Icon name="info" />
            best effort
          </dd>
        </div>
      )}
    </dl>
  );
}

function Theme(): JSX.Element {
  const now = store.theme.value;
  const icon = { auto: 'auto', light: 'sun', dark: 'moon' }[now];
  return <Tool icon={icon} label={`Colours: ${now}`} onClick={cycleTheme} />;
}

function Armed(): JSX.Element | null {
  if (!store.halted.value) return null;
  return (
    <button type="button" class="arm" onClick={() => (store.dialog.value = 'arm')}>
      Arm{'\u2026'}
    </button>
  );
}

export function Header(): JSX.Element {
  return (
    <header class="header">
      <h1 class="wordmark">
        <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
          <path d="M2 16h16" />
          <path class="mark-cone" d="M10 3l5 11H5z" />
        </svg>
        <span>Guideway</span>
      </h1>
      <SceneMenu />
      <Saved />
      <Files />
      <div class="group" role="group" aria-label="History">
        <Tool icon="undo" label="Undo" keys="Ctrl+Z" disabled={!store.canUndo.value} onClick={() => void undo()} />
        <Tool
          icon="redo"
          label="Redo"
          keys="Ctrl+Shift+Z"
          disabled={!store.canRedo.value}
          onClick={() => void redo()}
        />
      </div>
      <Transport />
      <Loop />
      <div class="group last" role="group" aria-label="Page">
        <Tool
          icon="search"
          label="Any command by name"
          keys="Ctrl+K"
          onClick={() => (store.dialog.value = 'palette')}
        />
        <Tool icon="keys" label="Sheet of keys" keys="?" onClick={() => (store.dialog.value = 'keys')} />
        <Theme />
      </div>
      <Armed />
      <span class="halt-room" aria-hidden="true" />
    </header>
  );
}
