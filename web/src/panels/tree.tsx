// The scene as a list: objects, their features. The same things as on the canvas, for the keyboard:
// arrows move, right and left open and close, Enter picks.
import { useRef, useState } from 'preact/hooks';
import type { JSX } from 'preact';
import { addObject, deleteObject } from '../actions';
import { needFeatures } from '../link';
import type { Feature } from '../protocol';
import { sizeForNew } from '../viewer';
import { Icon } from '../ui/icons';
import { followWords } from '../ui/follows';
import { Section, Tool } from '../ui/widgets';
import { geometryWords, stateWords } from '../words';
import * as store from '../store';

interface Line { key: string; level: 1 | 2; object: string; feature?: Feature; open?: boolean }

function lines(open: ReadonlySet<string>): Line[] {
  return store.objects.value.flatMap((o) => {
    const head: Line = { key: o.id, level: 1, object: o.id, open: open.has(o.id) };
    if (!head.open) return [head];
    const list = store.features.value.get(o.id) ?? [];
    return [head, ...list.map((feature): Line => ({ key: feature.id, level: 2, object: o.id, feature }))];
  });
}

const kindOf = (f: Feature): string => (f.plane ? 'plane' : f.line ? 'line' : 'point');

function ObjectLabel({ id }: { id: string }): JSX.Element {
  const object = store.objectOf(id)!;
  const solution = store.solutions.value.get(id);
  const now = store.stateOf(id);
  const state = now ? stateWords[now] : undefined;
  const word = object.fixed ? 'fixed' : (state?.word ?? 'mobile');
  return (
    <>
      <Icon name={object.geometry.type} />
      <span class={`tree-name ${object.fixed ? 'is-fixed' : 'is-mobile'}`}>{id}</span>
      {store.toolIndex(id) >= 0 && <Icon name="hand" title="held by the device" />}
      <span class={`tree-note tone-${object.fixed ? 'off' : (state?.tone ?? 'off')}`} title={[geometryWords[object.geometry.type], word, followWords(solution)].filter(Boolean).join(', ')}>
        {object.fixed ? 'fixed' : solution ? `${solution.dof} dof` : 'mobile'}
        {state && !object.fixed && <Icon name={state.icon} title={state.word} />}
      </span>
    </>
  );
}

function FeatureLabel({ feature }: { feature: Feature }): JSX.Element {
  return (
    <>
      <Icon name={kindOf(feature)} />
      <span class="tree-name">{store.splitRef(feature.id)[1]}</span>
      <span class="tree-note">{kindOf(feature)}</span>
    </>
  );
}

function act(line: Line): void {
  if (line.feature) store.pick(line.feature.id);
  else store.selectObject(line.object);
}

const isChosen = (line: Line): boolean =>
  line.feature ? store.picked.value.includes(line.key) : store.selectedObject.value === line.object;

function point(line: Line | null): void {
  store.hoverIndex.value = 0;
  store.hovered.value = line?.feature ? [line.feature.id] : [];
  store.hoverObject.value = line?.feature ? line.object : '';
}

export function Tree(): JSX.Element {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [focus, setFocus] = useState('');
  const list = useRef<HTMLUListElement>(null);
  const all = lines(open);
  const current = all.some((l) => l.key === focus) ? focus : (all[0]?.key ?? '');

  const toggle = (id: string, to: boolean): void => {
    const next = new Set(open);
    if (to) {
      next.add(id);
      void needFeatures(id);
    } else next.delete(id);
    setOpen(next);
  };
  const go = (i: number): void => {
    const line = all[Math.max(0, Math.min(all.length - 1, i))];
    if (!line) return;
    list.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(line.key)}"]`)?.focus();
    setFocus(line.key);
    point(line);
  };
  const key = (e: KeyboardEvent): void => {
    // the focus itself is the truth: keys may come faster than the list is drawn
    const i = all.findIndex((l) => l.key === ((e.target as HTMLElement).dataset['key'] ?? current));
    const line = all[i];
    if (!line) return;
    if (e.key === 'ArrowDown') go(i + 1);
    else if (e.key === 'ArrowUp') go(i - 1);
    else if (e.key === 'Home') go(0);
    else if (e.key === 'End') go(all.length - 1);
    else if (e.key === 'ArrowRight' && line.level === 1) line.open ? go(i + 1) : toggle(line.object, true);
    else if (e.key === 'ArrowLeft') line.level === 1 ? toggle(line.object, false) : go(all.findIndex((l) => l.key === line.object));
    else if (e.key === 'Enter' || e.key === ' ') act(line);
    else if (e.key === 'Delete' && line.level === 1) void deleteObject(line.object);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  const add = (
    <div class="group small" role="group" aria-label="Add">
      {(['box', 'cylinder', 'cone', 'sphere'] as const).map((type) => (
        <Tool key={type} icon={type} label={`Add a ${type}`} onClick={() => {
          const { size, at } = sizeForNew();
          void addObject(type, size, at);
        }} />
      ))}
    </div>
  );
  return (
    <Section id="objects" title="Objects" extra={add}>
      {all.length === 0 && <p class="quiet">Nothing here yet. Add a body with the buttons above.</p>}
      <ul ref={list} class="tree" role="tree" aria-label="Objects and their features" aria-multiselectable="true" onKeyDown={key} onMouseLeave={() => point(null)}>
        {all.map((line) => (
          <li key={line.key} role="treeitem" aria-level={line.level} aria-expanded={line.level === 1 ? !!line.open : undefined}
            aria-selected={isChosen(line)} tabIndex={line.key === current ? 0 : -1} data-key={line.key}
            class={`tree-line level-${line.level} ${isChosen(line) ? 'chosen' : ''} ${store.hoverRef.value === line.key ? 'hot' : ''}`}
            onClick={(e) => {
              setFocus(line.key);
              if (line.level === 1 && (e.target as Element).closest('.twist')) toggle(line.object, !line.open);
              else act(line);
            }}
            onDblClick={() => line.level === 1 && toggle(line.object, !line.open)} onMouseEnter={() => point(line)}>
            {line.level === 1 && <span class="twist" aria-hidden="true"><Icon name={line.open ? 'down' : 'right'} /></span>}
            {line.feature ? <FeatureLabel feature={line.feature} /> : <ObjectLabel id={line.object} />}
          </li>
        ))}
      </ul>
    </Section>
  );
}
