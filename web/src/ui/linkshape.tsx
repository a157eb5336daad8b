// The geometry of a link, by which it collides, and its mass.

import type { JSX } from 'preact';
import { latestLink, patchLink } from '../edits/mechanisms';
import type { Geometry, Mechanism, Pose } from '../protocol';
import { PRIMITIVES, shapeFor, shownMesh } from '../state/linkshape';
import { withAngles, yawPitchRoll } from '../state/maths';
import { fullPose } from '../state/mechanisms';
import { meshFiles } from '../state/meshes';
import * as store from '../state/store';
import { DEG, geometryWords, MM } from '../state/words';
import { SizeFields } from './size';
import { Triple, XYZ, YPR } from './triple';
import { NumberField, Row } from './widgets';

// A primitive, a mesh file of the server or its hull, or no geometry; null: a compound, which is unchanged.
function chosenShape(m: Mechanism, i: number, choice: string): Record<string, unknown> | null {
  const [kind, file] = choice.split(' ');
  if (!choice) return { geometry: null, geometry_at: null };
  if (file) return { geometry: { type: 'mesh', file, convex: kind === 'hull' } };
  const type = PRIMITIVES.find((p) => p === kind);
  return type ? { ...shapeFor(m, i, type) } : null;
}

const choiceOf = (g: Geometry | undefined): string =>
  !g ? '' : g.type === 'mesh' ? `${g.convex ? 'hull' : 'mesh'} ${g.file}` : g.type;

export function ShapeFields({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const link = m.links[i]!;
  const g = link.geometry;
  const now = choiceOf(g);
  const put = (patch: Record<string, unknown> | null): void => void (patch && patchLink(m, i, patch));
  const files = new Set([...meshFiles.value, ...(g?.type === 'mesh' ? [g.file] : [])]);
  const { p, q } = fullPose(link.geometry_at);
  const place = (to: (at: Pose) => Pose): void => put({ geometry_at: to(fullPose(latestLink(m, i).geometry_at)) });
  const angles = yawPitchRoll(q);
  return (
    <>
      <Row label="shape">
        <select
          aria-label="Shape of the link"
          value={now}
          onChange={(e) => put(chosenShape(m, i, e.currentTarget.value))}
        >
          <option value="">{shownMesh(link) ? 'only to look at' : 'none: a bar'}</option>
          {PRIMITIVES.map((type) => (
            <option key={type} value={type}>
              {geometryWords[type]}
            </option>
          ))}
          {g?.type === 'compound' && <option value="compound">{g.parts.length} parts</option>}
          {[...files].flatMap((file) => [
            <option key={`mesh ${file}`} value={`mesh ${file}`}>
              {file}
            </option>,
            <option key={`hull ${file}`} value={`hull ${file}`}>
              {file}, its hull
            </option>,
          ])}
        </select>
      </Row>
      {!g && link.mesh && (
        <p class="quiet">
          {shownMesh(link) ? 'Drawn as' : 'Not here:'} {link.mesh}
        </p>
      )}
      {g && g.type !== 'mesh' && g.type !== 'compound' && <p class="field-head">its size</p>}
      {g && g.type !== 'mesh' && g.type !== 'compound' && (
        <SizeFields g={g} onPut={(to) => put({ geometry: to(latestLink(m, i).geometry ?? g) })} />
      )}
      {g && (
        <>
          <p class="field-head">its place, in the link</p>
          <Triple
            label="Shape"
            names={XYZ}
            unit="mm"
            digits={2}
            value={p}
            scale={MM}
            onPut={(to) => place((at) => ({ p: to(at.p), q: at.q }))}
          />
          <Triple
            label="Shape"
            names={YPR}
            unit={'\u00b0'}
            digits={2}
            value={angles}
            scale={DEG}
            onPut={(to) => place((at) => ({ p: at.p, q: withAngles(at.q, to) }))}
          />
        </>
      )}
      <Row label="material">
        <select
          aria-label="Material of the link"
          value={link.material ?? ''}
          onChange={(e) => put({ material: e.currentTarget.value || null })}
        >
          <option value="">as usual</option>
          {store.materials.value.map((x) => (
            <option key={x.id} value={x.id}>
              {x.id}
            </option>
          ))}
        </select>
      </Row>
    </>
  );
}

const NONE = [0, 0, 0, 0, 0, 0];
const INERTIA = ['xx', 'yy', 'zz', 'xy', 'xz', 'yz'];

export function MassFields({ m, i }: { m: Mechanism; i: number }): JSX.Element {
  const link = m.links[i]!;
  const inertia = link.inertia ?? NONE;
  const put = (k: number, to: number): void => {
    const now = latestLink(m, i).inertia ?? NONE;
    void patchLink(m, i, { inertia: now.map((x, j) => (j === k ? to : x)) });
  };
  return (
    <>
      <NumberField
        shown="mass"
        label="Mass"
        unit="kg"
        step={0.1}
        digits={4}
        value={link.mass ?? 0}
        onCommit={(mass) => void patchLink(m, i, { mass })}
      />
      <p class="field-head">centre of mass, in the link</p>
      <Triple
        label="Centre of mass"
        names={XYZ}
        unit="mm"
        digits={2}
        value={link.com ?? [0, 0, 0]}
        scale={MM}
        onPut={(to) => void patchLink(m, i, { com: to(latestLink(m, i).com ?? [0, 0, 0]) })}
      />
      <p class="field-head">inertia about it, {'g m\u00b2'}</p>
      <div class="triple">
        {INERTIA.map((name, k) => (
          <NumberField
            key={name}
            shown={name}
            label={`Inertia ${name}, g m\u00b2`}
            unit=""
            digits={5}
            step={0.1}
            value={inertia[k]! * 1e3}
            onCommit={(v) => put(k, v / 1e3)}
          />
        ))}
      </div>
      {link.geometry && (
        <button
          type="button"
          class="chip"
          title="Centre of mass and inertia of its shape, at this mass"
          onClick={() => void patchLink(m, i, { com: null, inertia: null })}
        >
          As its shape has them
        </button>
      )}
    </>
  );
}
