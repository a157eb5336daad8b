// The selected object's stated features (those of its shape are in the list on the left): added, moved by typing, wheel
// and arrows, renamed, deleted.

import type { JSX } from 'preact';
import { addFeature, deleteFeature, latestFeature, putFeature, renameFeature } from '../edits/objects';
import type { Element, Feature, Vec3 } from '../protocol';
import * as store from '../state/store';
import { MM } from '../state/words';
import { Icon } from '../ui/icons';
import { Triple, XYZ } from '../ui/triple';
import { NameField, Section } from '../ui/widgets';

const KINDS = ['point', 'line', 'plane'] as const;

type Put = (edit: (v: Vec3) => Vec3) => void;

function Place(p: { name: string; value: Vec3; onPut: Put }): JSX.Element {
  return <Triple label={`${p.name},`} names={XYZ} unit="mm" value={p.value} scale={MM} onPut={p.onPut} />;
}

function Direction(p: { name: string; word: string; value: Vec3; onPut: Put }): JSX.Element {
  const put: Put = (to) =>
    p.onPut((now) => {
      const v = to(now);
      if (Math.hypot(...v) > 1e-9) return v;
      store.refuse(`The ${p.word} of ${p.name} needs a length: not all of its parts can be 0.`);
      return now;
    });
  return (
    <Triple
      label={`${p.name}, ${p.word}`}
      shown={p.word}
      names={XYZ}
      unit=""
      step={0.1}
      digits={4}
      value={p.value}
      scale={1}
      onPut={put}
    />
  );
}

function Values({ f }: { f: Feature }): JSX.Element {
  const name = store.splitRef(f.id)[1];
  const now = (): Feature => latestFeature(f);
  const put = (e: Element): void => void putFeature(f.id, e);
  if (f.line) {
    const { line } = f;
    const edit = (key: 'point' | 'direction', to: (v: Vec3) => Vec3): void => {
      const from = now().line ?? line;
      put({ line: { ...from, [key]: to(from[key]) } });
    };
    return (
      <>
        <Place name={name} value={line.point} onPut={(to) => edit('point', to)} />
        <Direction name={name} word="along" value={line.direction} onPut={(to) => edit('direction', to)} />
      </>
    );
  }
  if (f.plane) {
    const { plane } = f;
    const edit = (key: 'point' | 'normal', to: (v: Vec3) => Vec3): void => {
      const from = now().plane ?? plane;
      put({ plane: { ...from, [key]: to(from[key]) } });
    };
    return (
      <>
        <Place name={name} value={plane.point} onPut={(to) => edit('point', to)} />
        <Direction name={name} word="normal" value={plane.normal} onPut={(to) => edit('normal', to)} />
      </>
    );
  }
  const none: Vec3 = [0, 0, 0];
  return <Place name={name} value={f.point ?? none} onPut={(to) => put({ point: to(now().point ?? none) })} />;
}

function StatedFeature({ f }: { f: Feature }): JSX.Element {
  const kind = f.plane ? 'plane' : f.line ? 'line' : 'point';
  const name = store.splitRef(f.id)[1];
  const point = (on: boolean): void => {
    store.hoverIndex.value = 0;
    store.hovered.value = on ? [f.id] : [];
  };
  return (
    <li
      class="stated"
      onMouseEnter={() => point(true)}
      onMouseLeave={() => point(false)}
      onFocusCapture={() => point(true)}
      onBlurCapture={() => point(false)}
    >
      <div class="title-row">
        <Icon name={kind} />
        <NameField value={name} label={`Name of the ${kind}`} onCommit={(to) => void renameFeature(f, to)} />
        <button
          type="button"
          class="tool"
          aria-label={`Pick ${f.id}`}
          title="Pick it, to join it"
          onClick={() => store.pick(f.id)}
        >
          <Icon name="chain" />
        </button>
        <button
          type="button"
          class="tool"
          aria-label={`Delete ${f.id}`}
          title="Delete"
          onClick={() => void deleteFeature(f.id)}
        >
          <Icon name="trash" />
        </button>
      </div>
      <Values f={f} />
    </li>
  );
}

export function FeaturesPanel(): JSX.Element | null {
  const id = store.selectedObject.value;
  if (!id || !store.objectOf(id)) return null;
  const stated = (store.scene.value.features ?? []).filter((f) => store.splitRef(f.id)[0] === id);
  return (
    <Section id="features" title="Stated features">
      {stated.length > 0 && (
        <ul class="stated-list">
          {stated.map((f) => (
            <StatedFeature key={f.id} f={f} />
          ))}
        </ul>
      )}
      <div class="kinds" role="group" aria-label={`Add a feature to ${id}`}>
        {KINDS.map((kind) => (
          <button key={kind} type="button" class="chip" onClick={() => void addFeature(id, kind)}>
            <Icon name={kind} />
            Add {kind}
          </button>
        ))}
      </div>
    </Section>
  );
}
