// A mechanism or one of its links that is selected: joints with their values as they are, typed while
// stopped; mass, motor, limits; holding the link at a place.
import { useRef } from 'preact/hooks';
import type { JSX } from 'preact';
import * as chains from '../chains';
import { fromYawPitchRoll, yawPitchRoll } from '../maths';
import { PRIMITIVES, shapeFor, shownMesh } from '../looks';
import { linkId, linkName, linkPoses, whole, type LinkRef } from '../mechanisms';
import { meshFiles } from '../meshes';
import type { Geometry, Joint, Mechanism, Motor, Vec3 } from '../protocol';
import { Icon } from '../ui/icons';
import { SizeFields } from '../ui/shape';
import { NameField, NumberField, Row, Section } from '../ui/widgets';
import { DEG, MM, fixed, geometryWords } from '../words';
import * as store from '../store';

const replaced = (v: Vec3, i: number, x: number): Vec3 => v.map((old, k) => (k === i ? x : old)) as Vec3;
const turns = (j: Joint): boolean => j.type === 'revolute';
const unitOf = (j: Joint): string => (turns(j) ? '\u00b0' : 'mm');
const factor = (j: Joint): number => (turns(j) ? DEG : MM);

// Positions and velocities now; those of the start while the server said nothing else.
function now(m: Mechanism): { q: number[]; v: number[] } {
  const stopped = store.runState.value === 'stopped';
  const live = stopped ? undefined : store.figures.value?.mechanisms?.find((x) => x.id === m.id);
  return {
    q: live?.positions ?? m.links.map((l) => l.joint.position ?? 0),
    v: live?.velocities ?? m.links.map((l) => l.joint.velocity ?? 0),
  };
}

function Triple(p: { label: string; names: readonly string[]; unit: string; value: Vec3; scale: number; digits?: number; step?: number; disabled?: boolean; onPut: (v: Vec3) => void }): JSX.Element {
  return (
    <div class="triple">
      {p.names.map((name, i) => (
        <NumberField key={name} shown={name} label={`${p.label} ${name}`} unit={p.unit} digits={p.digits} step={p.step} disabled={p.disabled} value={p.value[i]! * p.scale}
          onCommit={(v) => p.onPut(replaced(p.value, i, v / p.scale))} />
      ))}
    </div>
  );
}

const XYZ = ['x', 'y', 'z'] as const;
const YPR = ['yaw', 'pitch', 'roll'] as const;

// ---- the mechanism ------------------------------------------------------------------------------------

const SLIDE_M = 0.5;

function range(j: Joint): [number, number] {
  if (j.limits) return [j.limits.lower, j.limits.upper];
  return turns(j) ? [-Math.PI, Math.PI] : [-SLIDE_M, SLIDE_M];
}

const ECHO_MS = 1200;
const bent = (m: Mechanism, i: number, q: number): number[] => m.links.map((l, k) => (k === i ? q : (l.joint.position ?? 0)));

function JointRow({ m, i, q }: { m: Mechanism; i: number; q: number }): JSX.Element {
  const joint = m.links[i]!.joint;
  const name = linkName(m, i);
  const id = linkId(m.id, i);
  const locked = store.runState.value !== 'stopped';
  const [low, high] = range(joint);
  const hand = useRef({ value: 0, until: 0 }); // steps faster than their echo go on from the last one
  const shown = performance.now() < hand.current.until ? hand.current.value : q;
  const slide = (value: number): void => {
    hand.current = { value, until: performance.now() + ECHO_MS };
    chains.showBent(m, bent(m, i, value));
  };
  const put = (position: number): void => void chains.patchJoint(m, i, { position });
  const point = (on: boolean): void => {
    store.hoverObject.value = on ? id : '';
  };
  return (
    <li class="freedom" onMouseEnter={() => point(true)} onMouseLeave={() => point(false)} onFocusCapture={() => point(true)} onBlurCapture={() => point(false)}>
      <button type="button" class="joint-name" title={`Select ${name}`} onClick={() => store.selectObject(id)}><Icon name={turns(joint) ? 'turn' : 'slide'} />{name}</button>
      <input type="range" min={low} max={high} step={(high - low) / 360} value={shown} disabled={locked} aria-label={`Joint of ${name}`}
        onInput={(e) => slide(Number(e.currentTarget.value))} onChange={(e) => put(Number(e.currentTarget.value))} />
      <NumberField label={`Position of ${name}`} unit={unitOf(joint)} digits={2} disabled={locked} value={q * factor(joint)} onCommit={(v) => put(v / factor(joint))} />
    </li>
  );
}

function MechanismFields({ m }: { m: Mechanism }): JSX.Element {
  const { q } = now(m);
  const base = whole(m.base);
  const locked = store.runState.value === 'running';
  const put = (p: Vec3, ypr: Vec3): void => void chains.patchMechanism(m.id, { base: { p, q: fromYawPitchRoll(...ypr) } });
  const angles = yawPitchRoll(base.q);
  const mass = m.links.reduce((sum, l) => sum + (l.mass ?? 0), 0);
  const last = m.links[m.links.length - 1]!;
  const again = (): void => {
    const before = linkPoses(m, m.links.map(() => 0));
    const end = before[before.length - 1]!;
    const length = Math.hypot(...(last.joint.origin?.p ?? [0.1, 0, 0])) || Math.hypot(...end.p) / Math.max(1, m.links.length - 1) || 0.1;
    void chains.addLink(m, { type: 'revolute', axis: 'z', offset: [length, 0, 0], mass: last.mass ?? 1, length });
  };
  return (
    <>
      <div class="title-row">
        <Icon name="arm" />
        <NameField value={m.id} label="Name of the mechanism" onCommit={(to) => void chains.renameMechanism(m.id, to)} />
        <button type="button" class="tool" title="Delete (Delete)" aria-label={`Delete ${m.id}`} onClick={() => void chains.deleteMechanism(m.id)}><Icon name="trash" /></button>
      </div>
      <p class="quiet">{m.links.length} {m.links.length === 1 ? 'joint' : 'joints'} in series, {fixed(mass, 3)} kg in all. Select a link to hold it.</p>
      <h3>Joints</h3>
      <ul class="freedoms">{m.links.map((_, i) => <JointRow key={i} m={m} i={i} q={q[i] ?? 0} />)}</ul>
      <div class="buttons">
        <button type="button" class="chip" disabled={locked} onClick={again}><Icon name="plus" />Add a link</button>
        <button type="button" class="chip" disabled={locked || m.links.length < 2} onClick={() => void chains.dropLastLink(m)}><Icon name="trash" />Drop the last</button>
      </div>
      <h3>Base</h3>
      <Triple label="Base" names={XYZ} unit="mm" digits={2} value={base.p} scale={MM} disabled={locked} onPut={(p) => put(p, angles)} />
      <Triple label="Base" names={YPR} unit={'\u00b0'} digits={2} value={angles} scale={DEG} disabled={locked} onPut={(ypr) => put(base.p, ypr)} />
    </>
  );
}

// ---- a link ---------------------------------------------------------------------------------------------

const MOTOR: [keyof Motor, string, (turning: boolean) => string, (turning: boolean) => number][] = [
  ['torque', 'torque', (t) => (t ? 'N m' : 'N'), () => 1],
  ['target', 'target', (t) => (t ? '\u00b0' : 'mm'), (t) => (t ? DEG : MM)],
  ['stiffness', 'stiffness', (t) => (t ? 'N m/rad' : 'N/m'), () => 1],
  ['rate', 'rate', (t) => (t ? '\u00b0/s' : 'mm/s'), (t) => (t ? DEG : MM)],
  ['damping', 'damping', (t) => (t ? 'N m s' : 'N s/m'), () => 1],
  ['max', 'at most', (t) => (t ? 'N m' : 'N'), () => 1],
  ['speed', 'no faster than', (t) => (t ? '\u00b0/s' : 'mm/s'), (t) => (t ? DEG : MM)],
];

function MotorFields({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const joint = m.links[i]!.joint;
  const motor = joint.motor ?? {};
  return (
    <details class="group-of" open={!!joint.motor}>
      <summary>Motor{!joint.motor && <span class="quiet"> none</span>}</summary>
      <div class="triple">
        {MOTOR.map(([key, word, unit, scale]) => (
          <NumberField key={key} shown={word} label={`Motor ${word}`} unit={unit(turns(joint))} step={key === 'torque' ? 0.1 : 1} value={(motor[key] ?? 0) * scale(turns(joint))}
            onCommit={(v) => void chains.setMotor(m, i, { [key]: v / scale(turns(joint)) })} />
        ))}
      </div>
      <p class="quiet">Torque + stiffness (target {'\u2212'} position) + damping (rate {'\u2212'} velocity), at most as said, driving no faster than said (0: no bound). At once, running or not.</p>
      {joint.motor && <button type="button" class="chip" onClick={() => void chains.setMotor(m, i, null)}>No motor</button>}
    </details>
  );
}

function LimitFields({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const joint = m.links[i]!.joint;
  const k = factor(joint);
  const { limits } = joint;
  const [low, high] = range(joint);
  return (
    <>
      <label class="check"><input type="checkbox" checked={!!limits} onChange={(e) => void chains.patchJoint(m, i, { limits: e.currentTarget.checked ? { lower: low, upper: high } : null })} />limits</label>
      {limits && (
        <div class="triple">
          <NumberField shown="lower" label="Lower limit" unit={unitOf(joint)} digits={2} value={limits.lower * k} onCommit={(v) => void chains.patchJoint(m, i, { limits: { ...limits, lower: v / k } })} />
          <NumberField shown="upper" label="Upper limit" unit={unitOf(joint)} digits={2} value={limits.upper * k} onCommit={(v) => void chains.patchJoint(m, i, { limits: { ...limits, upper: v / k } })} />
        </div>
      )}
    </>
  );
}

// A primitive, a mesh file that the appliance has or its hull, or none; null: a compound, which stays as it is.
function chosenShape(m: Mechanism, i: number, choice: string): Record<string, unknown> | null {
  const [kind, file] = choice.split(' ');
  if (!choice) return { geometry: null, geometry_at: null };
  if (file) return { geometry: { type: 'mesh', file, convex: kind === 'hull' } };
  const type = PRIMITIVES.find((p) => p === kind);
  return type ? { ...shapeFor(m, i, type) } : null;
}

const choiceOf = (g: Geometry | undefined): string => (!g ? '' : g.type === 'mesh' ? `${g.convex ? 'hull' : 'mesh'} ${g.file}` : g.type);

function ShapeFields({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const link = m.links[i]!;
  const g = link.geometry;
  const now = choiceOf(g);
  const put = (patch: Record<string, unknown> | null): void => void (patch && chains.patchLink(m, i, patch));
  const files = new Set([...meshFiles.value, ...(g?.type === 'mesh' ? [g.file] : [])]);
  const { p, q } = whole(link.geometry_at);
  const angles = yawPitchRoll(q);
  return (
    <>
      <Row label="shape">
        <select aria-label="Shape of the link" value={now} onChange={(e) => put(chosenShape(m, i, e.currentTarget.value))}>
          <option value="">{shownMesh(link) ? 'only to look at' : 'none: a bar'}</option>
          {PRIMITIVES.map((type) => <option key={type} value={type}>{geometryWords[type]}</option>)}
          {g?.type === 'compound' && <option value="compound">{g.parts.length} parts</option>}
          {[...files].flatMap((file) => [<option key={`mesh ${file}`} value={`mesh ${file}`}>{file}</option>, <option key={`hull ${file}`} value={`hull ${file}`}>{file}, its hull</option>])}
        </select>
      </Row>
      {!g && link.mesh && <p class="quiet">{shownMesh(link) ? 'Drawn as' : 'Not here:'} {link.mesh}</p>}
      {g && g.type !== 'mesh' && g.type !== 'compound' && <p class="field-head">its size</p>}
      {g && g.type !== 'mesh' && g.type !== 'compound' && <SizeFields g={g} onPut={(geometry) => put({ geometry })} />}
      {g && <>
        <p class="field-head">its place, in the link</p>
        <Triple label="Shape" names={XYZ} unit="mm" digits={2} value={p} scale={MM} onPut={(to) => put({ geometry_at: { p: to, q } })} />
        <Triple label="Shape" names={YPR} unit={'\u00b0'} digits={2} value={angles} scale={DEG} onPut={(ypr) => put({ geometry_at: { p, q: fromYawPitchRoll(...ypr) } })} />
      </>}
      <Row label="material">
        <select aria-label="Material of the link" value={link.material ?? ''} onChange={(e) => put({ material: e.currentTarget.value || null })}>
          <option value="">as usual</option>
          {store.materials.value.map((x) => <option key={x.id} value={x.id}>{x.id}</option>)}
        </select>
      </Row>
    </>
  );
}

const INERTIA = ['xx', 'yy', 'zz', 'xy', 'xz', 'yz'];

function MassFields({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const link = m.links[i]!;
  const inertia = link.inertia ?? [0, 0, 0, 0, 0, 0];
  return (
    <>
      <NumberField shown="mass" label="Mass" unit="kg" step={0.1} digits={4} value={link.mass ?? 0} onCommit={(mass) => void chains.patchLink(m, i, { mass })} />
      <p class="field-head">centre of mass, in the link</p>
      <Triple label="Centre of mass" names={XYZ} unit="mm" digits={2} value={link.com ?? [0, 0, 0]} scale={MM} onPut={(com) => void chains.patchLink(m, i, { com })} />
      <p class="field-head">inertia about it, {'g m\u00b2'}</p>
      <div class="triple">
        {INERTIA.map((name, k) => (
          <NumberField key={name} shown={name} label={`Inertia ${name}, g m\u00b2`} unit="" digits={5} step={0.1} value={inertia[k]! * 1e3}
            onCommit={(v) => void chains.patchLink(m, i, { inertia: inertia.map((x, j) => (j === k ? v / 1e3 : x)) })} />
        ))}
      </div>
      {link.geometry && <button type="button" class="chip" title="Centre of mass and inertia of its shape, at this mass" onClick={() => void chains.patchLink(m, i, { com: null, inertia: null })}>As its shape has them</button>}
    </>
  );
}

// Where it would be held: the place that was clicked, else its centre of mass; any other by typing.
function Hold({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const id = linkId(m.id, i);
  const index = store.toolIndex(id);
  const held = store.tools.value[index];
  const clicked = store.pointed.value?.id === id ? store.pointed.value.at : undefined;
  const place: Vec3 = clicked ?? (held ? whole(held.at).p : (m.links[i]!.com ?? [0, 0, 0]));
  const same = held && Math.hypot(...whole(held.at).p.map((x, k) => x - place[k]!)) < 1e-7;
  return (
    <>
      <h3>{held ? 'Held at' : 'Hold it at'}</h3>
      <Triple label="Held point" names={XYZ} unit="mm" digits={2} value={place} scale={MM} onPut={(at) => (store.pointed.value = { id, at })} />
      <div class="buttons">
        {!same && <button type="button" class="chip" onClick={() => void chains.holdLink(m.id, i, place)}><Icon name="hand" />Hold here</button>}
        {held && <button type="button" class="chip" onClick={() => void chains.letGo()}><Icon name="hand" />Let go</button>}
      </div>
      <p class="quiet">A click on the link says where.</p>
    </>
  );
}

function LinkFields({ found }: { found: LinkRef }): JSX.Element {
  const { mechanism: m, index: i, link } = found;
  const { q, v } = now(m);
  const joint = link.joint;
  const k = factor(joint);
  const locked = store.runState.value !== 'stopped';
  return (
    <>
      <div class="title-row">
        <Icon name={turns(joint) ? 'turn' : 'slide'} />
        <NameField value={linkName(m, i)} label="Name of the link" onCommit={(id) => void chains.patchLink(m, i, { id })} />
        <button type="button" class="chip" onClick={() => store.selectObject(m.id)}><Icon name="arm" />{m.id}</button>
      </div>
      <Hold m={m} i={i} />
      <h3>Joint</h3>
      <Row label="type">
        <select aria-label="Type of the joint" value={joint.type} onChange={(e) => void chains.patchJoint(m, i, { type: e.currentTarget.value as Joint['type'] })}>
          <option value="revolute">revolute: turns</option>
          <option value="prismatic">prismatic: slides</option>
        </select>
      </Row>
      <div class="triple">
        <NumberField shown="position" label="Joint position" unit={unitOf(joint)} digits={2} disabled={locked} value={(q[i] ?? 0) * k} onCommit={(x) => void chains.patchJoint(m, i, { position: x / k })} />
        <NumberField shown="velocity" label="Joint velocity" unit={`${unitOf(joint)}/s`} digits={2} disabled={locked} value={(v[i] ?? 0) * k} onCommit={(x) => void chains.patchJoint(m, i, { velocity: x / k })} />
        <NumberField shown="damping" label="Joint damping" unit={turns(joint) ? 'N m s' : 'N s/m'} step={0.01} digits={4} value={joint.damping ?? 0} onCommit={(damping) => void chains.patchJoint(m, i, { damping })} />
        <NumberField shown="friction" label="Joint friction" unit={turns(joint) ? 'N m' : 'N'} step={0.01} digits={4} value={joint.friction ?? 0} onCommit={(friction) => void chains.patchJoint(m, i, { friction })} />
      </div>
      <LimitFields m={m} i={i} />
      <details class="group-of">
        <summary>Where the joint is</summary>
        <p class="field-head">origin, in the {i === 0 ? 'base' : 'link before'}</p>
        <Triple label="Joint origin" names={XYZ} unit="mm" digits={2} value={whole(joint.origin).p} scale={MM} onPut={(p) => void chains.patchJoint(m, i, { origin: { p, q: whole(joint.origin).q } })} />
        <p class="field-head">axis</p>
        <Triple label="Joint axis" names={XYZ} unit="" digits={4} step={0.1} value={joint.axis ?? [0, 0, 1]} scale={1} onPut={(axis) => void chains.patchJoint(m, i, { axis })} />
      </details>
      <MotorFields m={m} i={i} />
      <details class="group-of" open><summary>Shape</summary><ShapeFields m={m} i={i} /></details>
      <details class="group-of" open><summary>Mass</summary><MassFields m={m} i={i} /></details>
    </>
  );
}

export function MechanismPanel(): JSX.Element | null {
  const id = store.selectedObject.value;
  const m = store.mechanismOf(id);
  const found = store.linkRef(id);
  if (!m && !found) return null;
  store.figures.value; // while it moves, the numbers follow
  return (
    <Section id="mechanism" title={m ? 'Mechanism' : 'Link'}>
      {m ? <MechanismFields key={m.id} m={m} /> : <LinkFields key={id} found={found!} />}
    </Section>
  );
}
