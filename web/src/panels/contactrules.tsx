// The settings by which contacts are computed, the pairs that are excluded, and materials.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import {
  addMaterial,
  deleteMaterial,
  ignored,
  leaveOut,
  type Pairing,
  patchContact,
  patchMaterial,
  without,
} from '../edits/contacts';
import type { ContactSettings, Material } from '../protocol';
import { linkId } from '../state/mechanisms';
import * as store from '../state/store';
import { Icon } from '../ui/icons';
import { NameField, NumberField, Row } from '../ui/widgets';

// ---- rules --------------------------------------------------------------------------------------------------

type Chosen = 'model' | 'impulse' | 'colliding' | 'friction' | 'impact_friction' | 'self';

const RULES: [Chosen, string, [string, string][]][] = [
  [
    'model',
    'computed',
    [
      ['exact', 'exactly'],
      ['local', 'local model'],
    ],
  ],
  [
    'impulse',
    'impulses',
    [
      ['pseudo-inverse', 'pseudo-inverse'],
      ['non-adhesive', 'never pull'],
    ],
  ],
  [
    'colliding',
    'hit together',
    [
      ['touching', 'all touching'],
      ['approaching', 'approaching'],
    ],
  ],
  [
    'friction',
    'slow friction',
    [
      ['creep', 'creeps'],
      ['stick', 'sticks'],
    ],
  ],
  [
    'impact_friction',
    'friction of hits',
    [
      ['none', 'none'],
      ['coulomb', 'by materials'],
    ],
  ],
  [
    'self',
    'among links',
    [
      ['relative', 'by the pair'],
      ['each-link', 'by each link'],
    ],
  ],
];

// The excluded pairs; each can be removed.
function LeftOut({ pairs: list }: { pairs: readonly Pairing[] }): JSX.Element {
  return (
    <>
      <p class="quiet">These pass through one another:</p>
      <ul class="left-out" aria-label="Pairs left out">
        {list.map(([a, b]) => (
          <li key={`${a} ${b}`}>
            {a} and {b}
            <button
              type="button"
              class="tool tiny"
              aria-label={`Let ${a} and ${b} touch`}
              title="Let them touch"
              onClick={() => void patchContact({ ignore: without(ignored(), [a, b]) })}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

// The names of all bodies that can collide.
const solids = (): string[] => [
  ...store.objects.value.map((o) => o.id),
  ...store.mechanisms.value.flatMap((m) => m.links.map((_, i) => linkId(m.id, i))),
];

// Excludes a pair that need not be in contact.
function PairChoice(): JSX.Element | null {
  const [a, setA] = useState('');
  const [b, setB] = useState('');
  const all = solids();
  if (all.length < 2) return null;
  const choice = (label: string, value: string, put: (id: string) => void, not: string): JSX.Element => (
    <select aria-label={label} value={all.includes(value) ? value : ''} onChange={(e) => put(e.currentTarget.value)}>
      <option value="">choose{'\u2026'}</option>
      {all
        .filter((id) => id !== not)
        .map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
    </select>
  );
  return (
    <>
      <p class="field-head">let two pass through one another</p>
      <div class="pair">
        {choice('First that passes through', a, setA, b)}
        {choice('Second that passes through', b, setB, a)}
      </div>
      <button
        type="button"
        class="chip"
        disabled={!a || !b}
        onClick={() => {
          leaveOut([a, b]);
          setA('');
          setB('');
        }}
      >
        Leave the two out
      </button>
    </>
  );
}

function Rules({ c }: { c: ContactSettings }): JSX.Element {
  return (
    <details class="group-of">
      <summary>Rules</summary>
      {RULES.map(([key, label, options]) => (
        <Row key={key} label={label}>
          <select
            aria-label={`Contacts: ${label}`}
            value={c[key] ?? options[0]![0]}
            onChange={(e) => void patchContact({ [key]: e.currentTarget.value })}
          >
            {options.map(([value, word]) => (
              <option key={value} value={value}>
                {word}
              </option>
            ))}
          </select>
        </Row>
      ))}
      <div class="pair">
        <NumberField
          shown="looked for"
          label="Contacts are looked for"
          unit="Hz"
          step={50}
          value={c.rate || 200}
          onCommit={(rate) => void patchContact({ rate })}
        />
        <NumberField
          shown="slips above"
          label="Slips above"
          unit="mm/s"
          step={0.1}
          value={(c.slip_speed || 1e-3) * 1e3}
          onCommit={(v) => void patchContact({ slip_speed: v / 1e3 })}
        />
        <NumberField
          shown="bounces above"
          label="Bounces above"
          unit="mm/s"
          step={0.1}
          value={(c.rest_speed || 1e-3) * 1e3}
          onCommit={(v) => void patchContact({ rest_speed: v / 1e3 })}
        />
      </div>
      <PairChoice />
      {!!c.ignore?.length && <LeftOut pairs={c.ignore} />}
    </details>
  );
}

// ---- materials ----------------------------------------------------------------------------------------------

function usersOf(id: string): number {
  const links = store.mechanisms.value.flatMap((m) => m.links);
  return store.objects.value.filter((o) => o.material === id).length + links.filter((l) => l.material === id).length;
}

// The friction of a material that states none, where bodies collide.
const DEFAULT_FRICTION = 0.3;

function One({ m }: { m: Material }): JSX.Element {
  const put = (patch: Partial<Material>): void => void patchMaterial(m.id, patch);
  const users = usersOf(m.id);
  return (
    <li class="stated" data-material={m.id}>
      <div class="title-row">
        <NameField value={m.id} label="Name of the material" onCommit={(id) => put({ id })} />
        <span class="quiet">{users ? `${users} ${users === 1 ? 'user' : 'users'}` : 'unused'}</span>
        <button
          type="button"
          class="tool"
          aria-label={`Delete material ${m.id}`}
          title="Delete"
          onClick={() => void deleteMaterial(m.id)}
        >
          <Icon name="trash" />
        </button>
      </div>
      <div class="pair">
        <NumberField
          shown="restitution"
          label={`${m.id}, restitution`}
          unit=""
          step={0.05}
          value={m.restitution}
          onCommit={(restitution) => put({ restitution })}
        />
        <NumberField
          shown="friction"
          label={`${m.id}, friction`}
          unit=""
          step={0.05}
          value={m.friction ?? DEFAULT_FRICTION}
          onCommit={(friction) => put({ friction })}
        />
        <NumberField
          shown="stiffness"
          label={`${m.id}, stiffness`}
          unit="N/mm"
          step={10}
          value={m.stiffness / 1e3}
          onCommit={(v) => put({ stiffness: v * 1e3 })}
        />
        <NumberField
          shown="damping"
          label={`${m.id}, damping`}
          unit="N s/m"
          step={10}
          value={m.damping}
          onCommit={(damping) => put({ damping })}
        />
      </div>
    </li>
  );
}

function Materials(): JSX.Element {
  const list = store.materials.value;
  return (
    <details class="group-of" open={list.length > 0}>
      <summary>Materials{list.length === 0 && <span class="quiet"> none stated</span>}</summary>
      {list.length > 0 && (
        <ul class="stated-list">
          {list.map((m) => (
            <One key={m.id} m={m} />
          ))}
        </ul>
      )}
      <button type="button" class="chip" onClick={() => void addMaterial()}>
        <Icon name="plus" />
        Add a material
      </button>
    </details>
  );
}

export function ContactRules(): JSX.Element {
  const c = store.contactSettings.value;
  return (
    <>
      {c.enabled && <Rules c={c} />}
      <Materials />
    </>
  );
}
