// Parts shared by panels: sections, buttons, number fields.

import type { ComponentChildren, JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { committing } from '../edits/request';
import type { Bound, Contact } from '../protocol';
import { boundWords } from '../state/constraints';
import * as store from '../state/store';
import { editable } from '../state/words';
import { Icon } from './icons';

export function Section(p: {
  id: string;
  title: string;
  children: ComponentChildren;
  extra?: ComponentChildren;
  shut?: boolean; // closed by default
}): JSX.Element {
  const shut = store.folded.value[p.id] ?? p.shut ?? false;
  const flip = (): void => {
    store.folded.value = { ...store.folded.value, [p.id]: !shut };
    store.remember('folded', JSON.stringify(store.folded.value));
  };
  return (
    <section class="section" aria-labelledby={`title-${p.id}`}>
      <div class="section-head">
        <h2 id={`title-${p.id}`}>
          <button type="button" class="fold" aria-expanded={!shut} onClick={flip}>
            <Icon name={shut ? 'right' : 'down'} />
            {p.title}
          </button>
        </h2>
        {p.extra}
      </div>
      {!shut && <div class="section-body">{p.children}</div>}
    </section>
  );
}

export function Tool(p: {
  icon: string;
  label: string;
  onClick: () => void;
  text?: string;
  keys?: string;
  disabled?: boolean;
  pressed?: boolean;
  tone?: string;
}): JSX.Element {
  const title = p.keys ? `${p.label} (${p.keys})` : p.label;
  return (
    <button
      type="button"
      class={`tool ${p.tone ?? ''}`}
      title={title}
      aria-label={p.label}
      disabled={p.disabled}
      aria-pressed={p.pressed}
      onClick={p.onClick}
    >
      <Icon name={p.icon} />
      {p.text && <span class="tool-text">{p.text}</span>}
    </button>
  );
}

export interface NumberProps {
  label: string; // for screen readers, and shown when `shown` is set
  shown?: string;
  value: number; // in the displayed unit
  unit: string;
  step?: number;
  digits?: number;
  disabled?: boolean;
  onCommit: (value: number) => void;
  onInput?: (value: number) => void;
  onEnter?: () => void; // called after Enter has committed the value
  id?: string;
  above?: number; // values are greater than this one
  trial?: boolean; // typed values are tried through onInput; only Enter commits them
}

// Other units that may be typed, as multiples of the field's own.
const UNITS: Record<string, Record<string, number>> = {
  mm: { cm: 10, m: 1000, um: 1e-3, '\u00b5m': 1e-3, in: 25.4 },
  '\u00b0': { deg: 1, rad: 180 / Math.PI },
};

// Parses "30", "3 cm", "0,03 m"; NaN where the text is no number or the unit is of another quantity.
function parse(text: string, unit: string): number {
  const [, number = '', suffix = ''] = /^([-+\u2212]?[\d.,]+(?:e[-+]?\d+)?)\s*(.*)$/i.exec(text.trim()) ?? [];
  const factor = !suffix || suffix === unit ? 1 : (UNITS[unit]?.[suffix] ?? Number.NaN);
  return number ? Number(number.replace(',', '.').replace('\u2212', '-')) * factor : Number.NaN;
}

const NUDGES_MS = 400; // steps within this time continue from the last one
const ECHO_MS = 2500; // and so do later ones while the echo is under way

// A number that is edited by typing, wheel and arrows, with its unit beside it. Esc restores the old value.
export function NumberField(p: NumberProps): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const [bad, setBad] = useState(false);
  const last = useRef({ value: 0, at: -ECHO_MS });
  const digits = p.digits ?? 3;
  const step = p.step ?? 1;
  const above = p.above ?? Number.NEGATIVE_INFINITY;
  const tell = (value: number): void => committing({ label: p.label, unit: p.unit, value }, () => p.onCommit(value));
  const commit = (raw: string): boolean => {
    const value = parse(raw, p.unit);
    const good = value > above && Number.isFinite(value);
    setBad(!good);
    if (!good) {
      const range = value <= above ? `is not above ${above}` : 'is not a number';
      store.refuse(`${p.label}: \u201c${raw}\u201d ${range}${p.unit && ` (${p.unit})`}.`);
      return false;
    }
    setText(null);
    last.current = { value, at: performance.now() };
    if (p.trial || editable(value, digits) !== editable(p.value, digits)) tell(value);
    return true;
  };
  const change = (raw: string): void => {
    setText(raw);
    const value = parse(raw, p.unit);
    if (value > above && Number.isFinite(value)) p.onInput?.(value);
  };
  const nudge = (by: number, e: { shiftKey: boolean; altKey: boolean; preventDefault: () => void }): void => {
    e.preventDefault();
    const since = performance.now() - last.current.at;
    const soon = since < (editable(p.value, digits) === editable(last.current.value, digits) ? NUDGES_MS : ECHO_MS);
    const now = text !== null ? parse(text, p.unit) : soon ? last.current.value : p.value;
    const value = (Number.isFinite(now) ? now : p.value) + by * step * (e.shiftKey ? 10 : e.altKey ? 0.1 : 1);
    if (value <= above) return;
    last.current = { value, at: performance.now() };
    setBad(false);
    setText(null);
    p.onInput?.(value);
    if (!p.trial) tell(Number(value.toFixed(digits + 2)));
  };
  const key = (e: KeyboardEvent): void => {
    const raw = (e.target as HTMLInputElement).value;
    if (e.key === 'ArrowUp') nudge(1, e);
    else if (e.key === 'ArrowDown') nudge(-1, e);
    else if (e.key === 'Enter') {
      if (commit(raw)) p.onEnter?.();
    } else if (e.key === 'Escape') {
      setText(null);
      setBad(false);
    } else return;
    e.stopPropagation();
  };
  const wheel = (e: WheelEvent): void => {
    if (document.activeElement === e.currentTarget) nudge(e.deltaY < 0 ? 1 : -1, e);
  };
  return (
    <label class={`number ${bad ? 'bad' : ''}`}>
      {p.shown && <span class="number-label">{p.shown}</span>}
      <span class="number-box">
        <input
          type="text"
          inputMode="decimal"
          autocomplete="off"
          spellcheck={false}
          id={p.id}
          disabled={p.disabled}
          aria-label={`${p.label}, ${p.unit || 'number'}`}
          aria-invalid={bad || undefined}
          value={text ?? editable(p.value, digits)}
          onInput={(e) => change(e.currentTarget.value)}
          onKeyDown={key}
          onWheel={wheel}
          onBlur={(e) => void (text !== null && (p.trial ? setText(null) : commit(e.currentTarget.value)))}
        />
        <span class="unit" aria-hidden="true">
          {p.unit}
        </span>
      </span>
    </label>
  );
}

// A name that is edited in place; Enter or leaving the field commits it.
export function NameField(p: { value: string; label: string; onCommit: (value: string) => void }): JSX.Element {
  const [text, setText] = useState<string | null>(null);
  const commit = (): void => {
    const now = text?.trim();
    setText(null);
    if (now && now !== p.value) p.onCommit(now);
  };
  const key = (e: KeyboardEvent): void => {
    if (e.key === 'Enter') commit();
    else if (e.key === 'Escape') setText(null);
    else return;
    e.stopPropagation();
  };
  return (
    <input
      class="name"
      type="text"
      autocomplete="off"
      spellcheck={false}
      maxLength={64}
      aria-label={p.label}
      value={text ?? p.value}
      onInput={(e) => setText(e.currentTarget.value)}
      onKeyDown={key}
      onBlur={commit}
    />
  );
}

export function Badge({ icon, word, tone }: { icon: string; word: string; tone: string }): JSX.Element {
  return (
    <span class={`badge tone-${tone}`}>
      <Icon name={icon} />
      {word}
    </span>
  );
}

export function Row(p: { label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="row">
      <span class="row-label">{p.label}</span>
      <span class="row-value">{p.children}</span>
    </div>
  );
}

// The contact of kinds that slide or roll: whether it may separate.
export function ContactChoice(p: {
  contact: Contact;
  inside: boolean;
  onPut: (change: { contact: Contact } | { inside: boolean }) => void;
}): JSX.Element {
  return (
    <>
      <select
        class="sense"
        aria-label="Contact"
        value={p.contact}
        onChange={(e) => p.onPut({ contact: e.currentTarget.value as Contact })}
      >
        <option value="bilateral">held both ways</option>
        <option value="unilateral">may lift off</option>
      </select>
      <label class="check" title="Such as a ball in a tube">
        <input type="checkbox" checked={p.inside} onChange={(e) => p.onPut({ inside: e.currentTarget.checked })} />
        from within
      </label>
    </>
  );
}

// The choice whether a distance is an equality or a bound.
export function BoundChoice(p: { value: Bound; onChange: (bound: Bound) => void }): JSX.Element {
  return (
    <select
      class="sense"
      aria-label="Bound"
      value={p.value}
      onChange={(e) => p.onChange(e.currentTarget.value as Bound)}
    >
      {(['equal', 'at-least', 'at-most'] as const).map((b) => (
        <option key={b} value={b}>
          {boundWords[b]}
          {b === 'equal' ? '' : ' (a wall)'}
        </option>
      ))}
    </select>
  );
}
