// The gallery: bundled and saved scenes as cards, each with a sketch.

import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { deleteScene, openScene } from '../edits/scene';
import type { Scene } from '../protocol';
import { call, enc } from '../state/rest';
import * as store from '../state/store';
import { Icon } from '../ui/icons';
import { closeDialog as close, Modal } from '../ui/modal';
import { Sketch } from '../ui/sketch';

// The scene files of the cards, for the sketches.
function useScenes(files: string[]): ReadonlyMap<string, Scene> {
  const [known, setKnown] = useState<ReadonlyMap<string, Scene>>(new Map());
  useEffect(() => {
    for (const file of files)
      call<Scene>('GET', `/scenes/${enc(file)}`).then(
        (scene) => setKnown((was) => new Map(was).set(file, scene)),
        () => undefined,
      );
  }, [files.join(' ')]);
  return known;
}

function Card({ s, scene }: { s: (typeof store.scenes.value)[number]; scene: Scene | undefined }): JSX.Element {
  const current = store.scene.value.name === s.name;
  const open = (): void => {
    close();
    void openScene(s.file);
  };
  return (
    <li class={`card ${current ? 'chosen' : ''}`}>
      <button type="button" class="card-main" onClick={open}>
        <Sketch scene={scene} />
        <span class="card-name">
          {s.name || s.file}
          {current && (
            <span class="badge tone-well">
              <Icon name="ok" />
              open
            </span>
          )}
        </span>
        <span class="card-text">{s.description}</span>
        <span class="card-file">{s.file}</span>
      </button>
      {s.saved && (
        <button
          type="button"
          class="tool"
          aria-label={`Delete the saved scene ${s.name}`}
          onClick={() => void deleteScene(s.file)}
        >
          <Icon name="trash" />
        </button>
      )}
    </li>
  );
}

export function Gallery(): JSX.Element {
  const bundled = store.scenes.value.filter((s) => !s.saved);
  const saved = store.scenes.value.filter((s) => s.saved);
  const files = useScenes(store.scenes.value.map((s) => s.file));
  return (
    <Modal title="Gallery" wide>
      {saved.length > 0 && (
        <>
          <h3>Saved here</h3>
          <ul class="cards">
            {saved.map((s) => (
              <Card key={s.file} s={s} scene={files.get(s.file)} />
            ))}
          </ul>
          <h3>Bundled</h3>
        </>
      )}
      <ul class="cards">
        {bundled.map((s) => (
          <Card key={s.file} s={s} scene={files.get(s.file)} />
        ))}
      </ul>
    </Modal>
  );
}
