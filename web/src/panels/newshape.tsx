// The dialog that makes a free-form curve or surface: fitted to points, lofted, revolved, swept, from a file.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { importFiles } from '../edits/imports';
import { curveInWorld, curvesOfScene, makeShape, parsePoints, type Recipe } from '../edits/newshapes';
import { unusedId } from '../edits/objects';
import type { Geometry, Vec3 } from '../protocol';
import * as store from '../state/store';
import { DEG } from '../state/words';
import { closeDialog, Modal } from '../ui/modal';
import { NumberField } from '../ui/widgets';

type Way = keyof typeof WAYS;

const WAYS = {
  fit: { name: 'Fit to points', note: 'One row of points makes a curve, several rows of as many points a surface.' },
  loft: { name: 'Loft', note: 'A surface through sections in order: each row of points is one, or a curve.' },
  revolve: { name: 'Revolve', note: 'A profile turned about an axis through the origin.' },
  sweep: { name: 'Sweep', note: 'A profile carried along a path without turning.' },
} as const;

const AXES: Record<string, Vec3> = { z: [0, 0, 1], x: [1, 0, 0], y: [0, 1, 0] };
const PASTED = ''; // the value that stands for pasted points among the names of curves

interface Source {
  curve: string;
  text: string;
}

const EXAMPLE: Record<Way, string> = {
  fit: '-90, -90, 0\n-90, 0, 20\n-90, 90, 0\n\n0, -90, 30\n0, 0, 60\n0, 90, 30\n\n90, -90, 0\n90, 0, 20\n90, 90, 0',
  loft: '-100, -100, 0\n-100, 0, 20\n-100, 100, 0\n\n100, -100, 40\n100, 0, 0\n100, 100, 40',
  revolve: '30, 0, 0\n50, 0, 40\n20, 0, 80\n40, 0, 120',
  sweep: '0, -40, 0\n0, 0, 20\n0, 40, 0',
};

const PATH = '0, 0, 0\n100, 0, 20\n200, 0, 0';

function Points(p: {
  label: string;
  value: Source;
  unit: string;
  curves: readonly string[];
  onPut: (s: Source) => void;
}): JSX.Element {
  return (
    <div class="stack points-from">
      <span class="points-head">
        {p.label}
        {p.curves.length > 0 && (
          <select
            aria-label={`${p.label} from`}
            value={p.value.curve}
            onChange={(e) => p.onPut({ ...p.value, curve: e.currentTarget.value })}
          >
            <option value={PASTED}>these points</option>
            {p.curves.map((id) => (
              <option key={id} value={id}>
                curve {id}
              </option>
            ))}
          </select>
        )}
      </span>
      {p.value.curve === PASTED && (
        <textarea
          aria-label={`${p.label}: x, y, z in ${p.unit}, a line each; an empty line between rows`}
          rows={9}
          spellcheck={false}
          value={p.value.text}
          onInput={(e) => p.onPut({ ...p.value, text: e.currentTarget.value })}
        />
      )}
    </div>
  );
}

// The pasted points, or the chosen curve.
function rowFrom({ curve, text }: Source, scale: number): Geometry | Vec3[] {
  if (curve !== PASTED) return curveInWorld(curve);
  const rows = parsePoints(text, scale);
  if (rows.length > 1) throw new Error('One row of points is wanted here, without empty lines between them.');
  return rows[0]!;
}

export function ShapeDialog(): JSX.Element {
  const [way, setWay] = useState<Way>('fit');
  const [name, setName] = useState(() => unusedId('surface'));
  const [unit, setUnit] = useState<'mm' | 'm'>('mm');
  const [source, setSource] = useState<Source>({ curve: PASTED, text: EXAMPLE.fit });
  const [path, setPath] = useState<Source>({ curve: PASTED, text: PATH });
  const [sections, setSections] = useState<readonly string[]>([]);
  const [count, setCount] = useState(0);
  const [axis, setAxis] = useState('z');
  const [angle, setAngle] = useState(360);
  const [refused, setRefused] = useState('');
  const curves = curvesOfScene();
  const scale = unit === 'mm' ? 1e-3 : 1;
  const choose = (next: Way): void => {
    if (source.text === EXAMPLE[way]) setSource({ ...source, text: EXAMPLE[next] });
    setWay(next);
    setRefused('');
  };
  const recipe = (): Recipe => {
    if (way === 'revolve')
      return { revolve: { profile: rowFrom(source, scale), axis: AXES[axis]!, angle: angle / DEG } };
    if (way === 'sweep') return { sweep: { profile: rowFrom(source, scale), path: rowFrom(path, scale) } };
    if (way === 'loft' && sections.length) return { loft: { sections: sections.map(curveInWorld) } };
    const rows = parsePoints(source.text, scale);
    if (way === 'loft') return { loft: { sections: rows } };
    const fewer = count > 0 ? { count: rows.length > 1 ? [count, count] : count } : {};
    return { fit: { points: rows.length > 1 ? rows : rows[0]!, ...fewer } };
  };
  const make = async (): Promise<void> => {
    let problem: string;
    try {
      problem = await makeShape(name.trim(), recipe());
    } catch (e) {
      problem = (e as Error).message;
    }
    setRefused(problem);
    if (problem) store.announce(problem);
    else closeDialog();
  };
  const toggle = (id: string, on: boolean): void =>
    setSections(on ? [...sections, id] : sections.filter((s) => s !== id));
  return (
    <Modal title="Add a surface or a curve">
      <div class="form">
        <div class="kinds" role="group" aria-label="How it is made">
          {(Object.keys(WAYS) as Way[]).map((w) => (
            <button key={w} type="button" class="chip" aria-pressed={way === w} onClick={() => choose(w)}>
              {WAYS[w].name}
            </button>
          ))}
        </div>
        <p class="quiet">{WAYS[way].note}</p>
        <div class="shape-head">
          <label class="stack">
            Name
            <input data-first type="text" value={name} maxLength={64} onInput={(e) => setName(e.currentTarget.value)} />
          </label>
          <label class="stack">
            Points in
            <select value={unit} onChange={(e) => setUnit(e.currentTarget.value as 'mm' | 'm')}>
              <option value="mm">mm</option>
              <option value="m">m</option>
            </select>
          </label>
        </div>
        {way === 'loft' && curves.length > 0 && (
          <fieldset class="sections">
            <legend>Through curves of the scene, in this order</legend>
            {curves.map((id) => (
              <label key={id} class="check">
                <input
                  type="checkbox"
                  checked={sections.includes(id)}
                  onChange={(e) => toggle(id, e.currentTarget.checked)}
                />
                {id} {sections.includes(id) && <span class="quiet">{sections.indexOf(id) + 1}</span>}
              </label>
            ))}
          </fieldset>
        )}
        {!(way === 'loft' && sections.length > 0) && (
          <Points
            label={way === 'fit' ? 'Points' : way === 'loft' ? 'Sections' : 'Profile'}
            unit={unit}
            value={way === 'fit' || way === 'loft' ? { ...source, curve: PASTED } : source}
            curves={way === 'fit' || way === 'loft' ? [] : curves}
            onPut={setSource}
          />
        )}
        {way === 'sweep' && <Points label="Path" unit={unit} value={path} curves={curves} onPut={setPath} />}
        {way === 'fit' && (
          <NumberField
            shown="control points along each side, 0: through all points"
            label="Control points along each side"
            unit=""
            digits={0}
            value={count}
            onCommit={(n) => setCount(Math.max(0, Math.round(n)))}
          />
        )}
        {way === 'revolve' && (
          <div class="shape-head">
            <label class="stack">
              About
              <select aria-label="Axis" value={axis} onChange={(e) => setAxis(e.currentTarget.value)}>
                {Object.keys(AXES).map((a) => (
                  <option key={a} value={a}>
                    {a}
                  </option>
                ))}
              </select>
            </label>
            <NumberField shown="angle" label="Angle" unit={'\u00b0'} digits={2} value={angle} onCommit={setAngle} />
          </div>
        )}
        {refused && (
          <p class="outcome refused" role="alert">
            {refused}
          </p>
        )}
        <div class="buttons">
          <button type="button" class="primary" onClick={() => void make()}>
            Make it
          </button>
          <label class="file-pick">
            or from a file
            <input
              class="away"
              type="file"
              accept=".json,application/json"
              aria-label="Shape as JSON"
              onChange={(e) => {
                const files = [...(e.currentTarget.files ?? [])];
                void importFiles(files).then((done) => done && closeDialog());
              }}
            />
          </label>
        </div>
      </div>
    </Modal>
  );
}
