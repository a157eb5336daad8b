// Starts the page: theme, stream, keyboard, panels.

import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app';
import { forgetRunsOfOtherScenes } from './state/runs';
import './app.css';
import { watchSelection } from './edits/draft';
import { listen } from './edits/keyboard';
import { keepRecording } from './state/recorder';
import * as store from './state/store';
import { connect, keepDevices, keepFeatures, keepSolutions } from './state/stream';
import { forgetColours } from './ui/colours';

function restore(): void {
  const theme = store.recall('theme');
  if (theme === 'light' || theme === 'dark') store.theme.value = theme;
  try {
    store.folded.value = JSON.parse(store.recall('folded') || '{}') as Record<string, boolean>;
  } catch {
    store.folded.value = {};
  }
}

restore();
effect(() => {
  document.documentElement.dataset.theme = store.theme.value;
  forgetColours();
});
effect(() => {
  document.title = `${store.saved.value ? '' : '\u2022 '}${store.scene.value.name || 'Guideway'}`;
});
render(<App />, document.getElementById('app')!);
keepFeatures();
keepDevices();
keepSolutions();
keepRecording();
forgetRunsOfOtherScenes();
watchSelection();
listen();
connect();
