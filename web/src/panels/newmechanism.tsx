// The dialog that builds a serial chain link by link, with a drawing, or imports a robot from a URDF file.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { importFiles } from '../edits/imports';
import { addMechanism } from '../edits/mechanisms';
import { unusedId } from '../edits/objects';
import type { Joint, Mechanism, Vec3 } from '../protocol';
import { JOINTS, jointKind } from '../state/joints';
import { AXES, type Axis, firstLink, type LinkDraft, linkFromDraft, maxReach, nextLink } from '../state/mechanisms';
import * as store from '../state/store';
import { placeForNew } from '../state/viewer';
import { MM, mm } from '../state/words';
import { Icon } from '../ui/icons';
import { closeDialog, Modal } from '../ui/modal';
import { Sketch } from '../ui/sketch';
import { NumberField, Tool } from '../ui/widgets';

const MOST = 64;

function Row(p: {
  stated: LinkDraft;
  i: number;
  only: boolean;
  onPut: (s: LinkDraft) => void;
  onDrop: () => void;
}): JSX.Element {
  const { stated: s, i } = p;
  const put = (patch: Partial<LinkDraft>): void => p.onPut({ ...s, ...patch });
  const offset = (k: number, v: number): void => put({ offset: s.offset.map((x, j) => (j === k ? v : x)) as Vec3 });
  return (
    <li class="chain-row">
      <strong>{i}</strong>
      <select
        aria-label={`Joint of link ${i}`}
        value={s.type}
        onChange={(e) => put({ type: e.currentTarget.value as Joint['type'] })}
      >
        {JOINTS.map(({ type, verb }) => (
          <option key={type} value={type}>
            {verb}
          </option>
        ))}
      </select>
      <select
        aria-label={`Axis of link ${i}`}
        value={s.axis}
        onChange={(e) => put({ axis: e.currentTarget.value as Axis })}
      >
        {Object.keys(AXES).map((a) => (
          <option key={a} value={a}>
            {jointKind(s.type).axis} {a}
          </option>
        ))}
      </select>
      {(['x', 'y', 'z'] as const).map((a, k) => (
        <NumberField
          key={a}
          label={`Offset ${a} of link ${i}`}
          unit="mm"
          step={10}
          digits={2}
          value={s.offset[k]! * MM}
          onCommit={(v) => offset(k, v / MM)}
        />
      ))}
      <NumberField
        label={`Length of link ${i}`}
        unit="mm"
        step={10}
        digits={2}
        value={s.length * MM}
        onCommit={(v) => put({ length: Math.max(0, v / MM) })}
      />
      <NumberField
        label={`Mass of link ${i}`}
        unit="kg"
        step={0.1}
        digits={4}
        value={s.mass}
        onCommit={(mass) => put({ mass })}
      />
      <Tool icon="trash" label={`Remove link ${i}`} disabled={p.only} onClick={p.onDrop} />
    </li>
  );
}

function Urdf(): JSX.Element {
  const [over, setOver] = useState(false);
  const take = (files: FileList | null | undefined): void => {
    if (files?.length) void importFiles([...files]).then((made) => made && closeDialog());
  };
  return (
    <div
      class={`drop ${over ? 'over' : ''}`}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        e.preventDefault();
        e.stopPropagation();
        setOver(false);
        take(e.dataTransfer?.files);
      }}
    >
      <p>
        Or a robot from a URDF file: drop it here with the meshes that it names, or{' '}
        <label class="file-pick">
          choose them
          <input
            class="away"
            type="file"
            multiple
            accept=".urdf,.xml,.stl,.obj,application/xml,text/xml"
            aria-label="URDF file and meshes"
            onChange={(e) => take(e.currentTarget.files)}
          />
        </label>
        .<span class="quiet"> Whole robots, branches and loose bases too; meshes as STL or OBJ.</span>
      </p>
    </div>
  );
}

export function MechanismDialog(): JSX.Element {
  const [name, setName] = useState(() => unusedId('arm'));
  const [links, setLinks] = useState<readonly LinkDraft[]>(() => [firstLink(), nextLink(firstLink())]);
  const [base] = useState<Vec3>(() =>
    store.objects.value.length || store.mechanisms.value.length ? placeForNew().at : [0, 0, 0],
  );
  const drawn: Mechanism = {
    id: name,
    links: links.map((s, i) => {
      const link = linkFromDraft(s);
      return { ...link, joint: { ...link.joint, position: i > 0 ? jointKind(s.type).sample : 0 } };
    }),
  };
  const make = (): void => {
    void addMechanism(name.trim(), links, base).then((made) => made && closeDialog());
  };
  return (
    <Modal title="Add a mechanism" wide>
      <div class="form">
        <div class="chain-head">
          <label class="stack">
            Name
            <input
              data-first
              type="text"
              value={name}
              maxLength={64}
              onKeyDown={(e) => e.key === 'Enter' && make()}
              onInput={(e) => setName(e.currentTarget.value)}
            />
          </label>
          <Sketch scene={{ format: '', name: '', objects: [], mechanisms: [drawn] }} />
          <p class="quiet">
            {links.length} {links.length === 1 ? 'joint' : 'joints'} in series, reaching {mm(maxReach(links))}. Each
            link is a bar along its own x; its joint stands at the offset in the link before.
          </p>
        </div>
        <ol class="chain" aria-label="Links, from the base">
          <li class="chain-row chain-title" aria-hidden="true">
            <span>link</span>
            <span>joint</span>
            <span>axis</span>
            <span>offset x</span>
            <span>y</span>
            <span>z</span>
            <span>length</span>
            <span>mass</span>
            <span />
          </li>
          {links.map((s, i) => (
            <Row
              key={i}
              stated={s}
              i={i}
              only={links.length === 1}
              onPut={(next) => setLinks(links.map((x, k) => (k === i ? next : x)))}
              onDrop={() => setLinks(links.filter((_, k) => k !== i))}
            />
          ))}
        </ol>
        <div class="buttons">
          <button
            type="button"
            disabled={links.length >= MOST}
            onClick={() => setLinks([...links, nextLink(links[links.length - 1]!)])}
          >
            <Icon name="plus" />
            Add link {links.length}
          </button>
          <button type="button" class="primary" onClick={make}>
            Make it
          </button>
          <button type="button" onClick={closeDialog}>
            Cancel
          </button>
        </div>
      </div>
      <Urdf />
    </Modal>
  );
}
