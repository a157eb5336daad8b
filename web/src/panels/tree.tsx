// The scene as a list of objects and their features, which makes everything on the canvas reachable by the keyboard:
// arrows move, right and left open and close, Enter picks.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { deleteMechanism } from '../edits/mechanisms';
import { addPrimitive, deleteObject } from '../edits/objects';
import type { Feature, Mechanism } from '../protocol';
import { kindOf } from '../state/elements';
import { jointKind } from '../state/joints';
import { type LinkRef, linkId, linkName } from '../state/mechanisms';
import * as store from '../state/store';
import { needFeatures } from '../state/stream';
import { geometryWords, stateWords } from '../state/words';
import { followWords } from '../ui/cluster';
import { Icon } from '../ui/icons';
import { Section, Tool } from '../ui/widgets';

// A link's `object` is its own name; the line of its mechanism is `head`.
interface Line {
  key: string;
  level: 1 | 2;
  object: string;
  head: string;
  feature?: Feature;
  open?: boolean;
}

// Mechanisms are open by default.

function lines(open: ReadonlySet<string>): Line[] {
  const objects = store.objects.value.flatMap((o) => {
    const head: Line = { key: o.id, level: 1, object: o.id, head: o.id, open: open.has(o.id) };
    if (!head.open) return [head];
    const list = store.features.value.get(o.id) ?? [];
    return [head, ...list.map((feature): Line => ({ key: feature.id, level: 2, object: o.id, head: o.id, feature }))];
  });
  const chains = store.mechanisms.value.flatMap((m) => {
    const head: Line = { key: m.id, level: 1, object: m.id, head: m.id, open: !open.has(m.id) };
    if (!head.open) return [head];
    return [
      head,
      ...m.links.map((_, i): Line => ({ key: linkId(m.id, i), level: 2, object: linkId(m.id, i), head: m.id })),
    ];
  });
  return [...objects, ...chains];
}

function ObjectLabel({ id }: { id: string }): JSX.Element {
  const object = store.objectOf(id)!;
  const standing = store.summaries.value.get(id);
  const now = store.stateOf(id);
  const state = now ? stateWords[now] : undefined;
  const loose = object.free && now === 'free'; // no constraint guides it
  const word = object.fixed
    ? 'fixed'
    : loose
      ? 'moves freely'
      : (object.free ? 'moves freely along its freedoms, ' : '') + (state?.word ?? 'mobile');
  return (
    <>
      <Icon name={object.geometry.type} />
      <span class={`tree-name ${object.fixed ? 'is-fixed' : 'is-mobile'}`}>{id}</span>
      {store.toolIndex(id) >= 0 && <Icon name="hand" title="held by the device" />}
      <span
        class={`tree-note tone-${object.fixed ? 'off' : (state?.tone ?? 'off')}`}
        title={[geometryWords[object.geometry.type], word, followWords(standing)].filter(Boolean).join(', ')}
      >
        {object.fixed
          ? 'fixed'
          : loose
            ? 'free body'
            : standing
              ? `${object.free ? 'free, ' : ''}${standing.dof} dof`
              : 'mobile'}
        {state && !object.fixed && !loose && <Icon name={state.icon} title={state.word} />}
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

function ChainLabel({ m }: { m: Mechanism }): JSX.Element {
  return (
    <>
      <Icon name="arm" />
      <span class="tree-name is-mobile">{m.id}</span>
      <span class="tree-note" title="mechanism">
        {m.links.length} {m.links.length === 1 ? 'joint' : 'joints'}
      </span>
    </>
  );
}

function LinkLabel({ link }: { link: LinkRef }): JSX.Element {
  const { mechanism, index } = link;
  const type = link.link.joint.type;
  return (
    <>
      <Icon name={jointKind(type).icon} />
      <span class="tree-name">{linkName(mechanism, index)}</span>
      {store.toolIndex(linkId(mechanism.id, index)) >= 0 && <Icon name="hand" title="held by the device" />}
      <span class="tree-note">{type}</span>
    </>
  );
}

function Label({ line }: { line: Line }): JSX.Element | null {
  if (line.feature) return <FeatureLabel feature={line.feature} />;
  const link = store.linkRef(line.object);
  const m = store.mechanismOf(line.object);
  if (store.objectOf(line.object)) return <ObjectLabel id={line.object} />;
  return m ? <ChainLabel m={m} /> : link ? <LinkLabel link={link} /> : null;
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
  store.hoverObject.value = line?.level === 2 ? line.object : '';
}

function lineClass(line: Line): string {
  const hot = store.hoverRef.value === line.key ? 'hot' : '';
  return `tree-line level-${line.level} ${isChosen(line) ? 'chosen' : ''} ${hot}`;
}

export function Tree(): JSX.Element {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const [focus, setFocus] = useState('');
  const list = useRef<HTMLUListElement>(null);
  const all = lines(open);
  const has = (key: string): boolean => all.some((l) => l.key === key);
  const chosen = store.selectedObject.value;
  const current = has(focus) ? focus : has(chosen) ? chosen : (all[0]?.key ?? '');
  useEffect(() => setFocus(chosen || focus), [chosen]); // Tab leads to the selected line

  const toggle = (id: string, to: boolean): void => {
    const next = new Set(open);
    if (to) {
      next.add(id);
      void needFeatures(id);
    } else next.delete(id); // for mechanisms the set contains the closed ones
    setOpen(next);
  };
  const open_ = (line: Line, to: boolean): void => toggle(line.object, store.mechanismOf(line.object) ? !to : to);
  const go = (i: number): void => {
    const line = all[Math.max(0, Math.min(all.length - 1, i))];
    if (!line) return;
    list.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(line.key)}"]`)?.focus();
    setFocus(line.key);
    point(line);
  };
  const key = (e: KeyboardEvent): void => {
    // the focused element is used, since keys may come faster than the list is drawn
    const i = all.findIndex((l) => l.key === ((e.target as HTMLElement).dataset.key ?? current));
    const line = all[i];
    if (!line) return;
    if (e.key === 'ArrowDown') go(i + 1);
    else if (e.key === 'ArrowUp') go(i - 1);
    else if (e.key === 'Home') go(0);
    else if (e.key === 'End') go(all.length - 1);
    else if (e.key === 'ArrowRight' && line.level === 1) line.open ? go(i + 1) : open_(line, true);
    else if (e.key === 'ArrowLeft')
      line.level === 1 ? open_(line, false) : go(all.findIndex((l) => l.key === line.head));
    else if (e.key === 'Enter' || e.key === ' ') act(line);
    else if (e.key === 'Delete' && line.level === 1)
      void (store.mechanismOf(line.object) ? deleteMechanism : deleteObject)(line.object);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };

  const add = (
    <div class="group small" role="group" aria-label="Add">
      {(['box', 'cylinder', 'cone', 'sphere', 'capsule'] as const).map((type) => (
        <Tool key={type} icon={type} label={`Add a ${type}`} onClick={() => void addPrimitive(type)} />
      ))}
      <Tool icon="nurbs-surface" label="Add a surface or a curve" onClick={() => (store.dialog.value = 'shape')} />
      <Tool icon="arm" label="Add a mechanism" onClick={() => (store.dialog.value = 'mechanism')} />
    </div>
  );
  return (
    <Section id="objects" title="Objects" extra={add}>
      {all.length === 0 && <p class="quiet">Nothing here yet. Add a body with the buttons above.</p>}
      <ul
        ref={list}
        class="tree"
        role="tree"
        aria-label="Objects and their features"
        aria-multiselectable="true"
        onKeyDown={key}
        onMouseLeave={() => point(null)}
        onFocusOut={(e) => !list.current?.contains(e.relatedTarget as Node | null) && point(null)}
      >
        {all.map((line) => (
          <li
            key={line.key}
            role="treeitem"
            aria-level={line.level}
            aria-expanded={line.level === 1 ? !!line.open : undefined}
            aria-selected={isChosen(line)}
            tabIndex={line.key === current ? 0 : -1}
            data-key={line.key}
            class={lineClass(line)}
            onClick={(e) => {
              setFocus(line.key);
              if (line.level === 1 && (e.target as Element).closest('.twist')) open_(line, !line.open);
              else act(line);
            }}
            onDblClick={() => line.level === 1 && open_(line, !line.open)}
            onMouseEnter={() => point(line)}
          >
            {line.level === 1 && (
              <span class="twist" aria-hidden="true">
                <Icon name={line.open ? 'down' : 'right'} />
              </span>
            )}
            <Label line={line} />
          </li>
        ))}
      </ul>
    </Section>
  );
}
