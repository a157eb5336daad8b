// Dialogs: saving, the list of keys, the palette, arming, the token.

import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type Command, commands, extraKeys } from '../edits/commands';
import { saveScene } from '../edits/scene';
import { arm, setRun } from '../edits/simulation';
import { setToken } from '../state/rest';
import * as store from '../state/store';
import { connect } from '../state/stream';
import { mm } from '../state/words';
import { closeDialog as close, Modal } from '../ui/modal';

// ---- saving ------------------------------------------------------------------------------------------------

function Save(): JSX.Element {
  const [name, setName] = useState(store.scene.value.name || 'my scene');
  const save = (e: Event): void => {
    e.preventDefault();
    if (!name.trim()) return;
    close();
    void saveScene(name.trim());
  };
  return (
    <Modal title="Save scene">
      <form onSubmit={save}>
        <label class="stack">
          Name
          <input data-first type="text" value={name} maxLength={64} onInput={(e) => setName(e.currentTarget.value)} />
        </label>
        <p class="quiet">Kept on the appliance, whole or not at all. To take it away, download it.</p>
        <div class="buttons">
          <button type="submit" class="primary">
            Save
          </button>
          <button type="button" onClick={close}>
            Cancel
          </button>
        </div>
      </form>
    </Modal>
  );
}

// ---- keys and palette -----------------------------------------------------------------------------------------

const shownKeys = (keys: string): JSX.Element[] => keys.split(' / ').map((k) => <kbd key={k}>{k}</kbd>);

function Keys(): JSX.Element {
  const groups = ['Simulation', 'Scene', 'Edit', 'View', 'Help'] as const;
  return (
    <Modal title="Keys" wide>
      <div class="sheet">
        {groups.map((g) => (
          <section key={g}>
            <h3>{g}</h3>
            <dl>
              {commands
                .filter((c) => c.group === g && c.keys)
                .map((c) => (
                  <div key={c.id}>
                    <dt>{shownKeys(c.keys!)}</dt>
                    <dd>{c.label}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>In the view</h3>
          <dl>
            {extraKeys.map((k) => (
              <div key={k.keys}>
                <dt>
                  <kbd>{k.keys}</kbd>
                </dt>
                <dd>{k.label}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
    </Modal>
  );
}

function PaletteDialog(): JSX.Element {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return commands.filter((c) => (!c.when || c.when()) && words.every((w) => c.label.toLowerCase().includes(w)));
  }, [text]);
  const current = Math.min(at, found.length - 1);
  const run = (c: Command | undefined): void => {
    if (!c) return;
    close();
    c.run();
  };
  const key = (e: KeyboardEvent): void => {
    if (e.key === 'ArrowDown') setAt(Math.min(found.length - 1, current + 1));
    else if (e.key === 'ArrowUp') setAt(Math.max(0, current - 1));
    else if (e.key === 'Enter') run(found[current]);
    else return;
    e.preventDefault();
  };
  return (
    <Modal title="Commands">
      <input
        data-first
        class="palette-input"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-label="Command"
        aria-activedescendant={found[current] ? `cmd-${found[current]!.id}` : undefined}
        placeholder={'Type what to do\u2026'}
        value={text}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={key}
      />
      <ul id="palette-list" class="palette" role="listbox" aria-label="Commands">
        {found.map((c, i) => (
          <li key={c.id} id={`cmd-${c.id}`} role="option" aria-selected={i === current} onClick={() => run(c)}>
            <span>{c.label}</span>
            <span class="quiet">{c.keys ? shownKeys(c.keys) : c.group}</span>
          </li>
        ))}
      </ul>
    </Modal>
  );
}

// ---- arming and the token ------------------------------------------------------------------------------------

const FAR_M = 0.02; // m: a device farther from its tool is mentioned

function Arm(): JSX.Element {
  const armThen = async (back: boolean): Promise<void> => {
    close();
    if ((await arm()) && back) void setRun('stopped');
  };
  const { value: halted } = store.halted;
  useEffect(() => (halted ? undefined : close()), [halted]); // another client armed
  const apart = Math.max(0, ...(store.figures.value?.tools ?? []).map((t) => t.error_p));
  return (
    <Modal title="Arm the device?">
      <p>
        It was halted. Once armed, the device may move and push again as soon as the simulation runs. Keep clear of it.
      </p>
      {apart > FAR_M && (
        <p class="words">
          The device is {mm(apart)} from what it holds, and will be pulled there. Going back to the start brings them
          together.
        </p>
      )}
      <div class="buttons">
        <button type="button" class="primary" onClick={() => void armThen(false)}>
          Arm
        </button>
        {apart > FAR_M && (
          <button type="button" onClick={() => void armThen(true)}>
            Arm and go back to the start
          </button>
        )}
        <button data-first type="button" onClick={close}>
          Leave it halted
        </button>
      </div>
    </Modal>
  );
}

function Token(): JSX.Element {
  const [text, setText] = useState('');
  const send = (e: Event): void => {
    e.preventDefault();
    setToken(text.trim());
    close();
    connect();
  };
  return (
    <Modal title="This appliance asks for a token" locked>
      <form onSubmit={send}>
        <label class="stack">
          Token
          <input
            data-first
            type="password"
            autocomplete="off"
            value={text}
            onInput={(e) => setText(e.currentTarget.value)}
          />
        </label>
        <div class="buttons">
          <button type="submit" class="primary">
            Enter
          </button>
        </div>
      </form>
    </Modal>
  );
}

export function Dialogs(): JSX.Element | null {
  switch (store.dialog.value) {
    case 'save':
      return <Save />;
    case 'keys':
      return <Keys />;
    case 'palette':
      return <PaletteDialog />;
    case 'arm':
      return <Arm />;
    case 'token':
      return <Token />;
    default:
      return null;
  }
}
