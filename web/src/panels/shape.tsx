// The selected object's free-form shape: its control mesh in the view, and its control points as numbers.

import type { JSX } from 'preact';
import {
  type ControlPoint,
  chosenPoint,
  freeFormOf,
  meshShown,
  pointOf,
  putPoint,
  putWeight,
  reverseNormal,
  saveShape,
  weightOf,
} from '../edits/shapes';
import type { FreeForm } from '../state/nurbs';
import * as store from '../state/store';
import { MM } from '../state/words';
import { Icon } from '../ui/icons';
import { Triple, XYZ } from '../ui/triple';
import { NumberField, Row, Section } from '../ui/widgets';

function Choice(p: { label: string; count: number; value: number; onPut: (k: number) => void }): JSX.Element {
  return (
    <select aria-label={p.label} value={p.value} onChange={(e) => p.onPut(Number(e.currentTarget.value))}>
      {Array.from({ length: p.count }, (_, k) => (
        <option key={k} value={k}>
          {k + 1}
        </option>
      ))}
    </select>
  );
}

function Point({ id, shape, at }: { id: string; shape: FreeForm; at: ControlPoint }): JSX.Element | null {
  const p = pointOf(shape, at);
  if (!p) return null;
  return (
    <>
      <Triple
        label="Control point,"
        names={XYZ}
        unit="mm"
        digits={2}
        value={p}
        scale={MM}
        onPut={(to) => putPoint(id, at, to)}
      />
      <NumberField
        shown="weight"
        label="Weight of the control point"
        unit=""
        step={0.1}
        digits={4}
        value={weightOf(shape, at)}
        onCommit={(w) => putWeight(id, at, w)}
      />
    </>
  );
}

function ControlPoints({ id, shape }: { id: string; shape: FreeForm }): JSX.Element {
  const chosen = chosenPoint.value;
  const at = chosen && pointOf(shape, chosen) ? chosen : { i: 0, j: 0 };
  const put = (change: Partial<ControlPoint>): void => {
    chosenPoint.value = { ...at, ...change };
  };
  return (
    <>
      <div class="point-choice">
        point
        <Choice
          label={shape.type === 'nurbs-surface' ? 'Row of the control point, along u' : 'Number of the control point'}
          count={shape.points.length}
          value={at.i}
          onPut={(i) => put({ i })}
        />
        {shape.type === 'nurbs-surface' && (
          <Choice
            label="Column of the control point, along v"
            count={shape.points[0]!.length}
            value={at.j}
            onPut={(j) => put({ j })}
          />
        )}
        <span class="quiet">or drag one in the view</span>
      </div>
      <Point id={id} shape={shape} at={at} />
    </>
  );
}

export function ShapePanel(): JSX.Element | null {
  const id = store.selectedObject.value;
  const shape = freeFormOf(id);
  if (!shape) return null;
  const surface = shape.type === 'nurbs-surface';
  return (
    <Section id="shape" title={surface ? 'Surface' : 'Curve'}>
      <Row label="degree">{surface ? shape.degree.join(' × ') : shape.degree}</Row>
      <label class="check">
        <input
          type="checkbox"
          checked={meshShown.value}
          onChange={(e) => (meshShown.value = e.currentTarget.checked)}
        />
        control points
      </label>
      {meshShown.value && <ControlPoints id={id} shape={shape} />}
      <div class="kinds">
        {surface && (
          <button
            type="button"
            class="chip"
            title="The normal points to the other side"
            onClick={() => reverseNormal(id)}
          >
            <Icon name="turn" />
            Reverse the normal
          </button>
        )}
        <button type="button" class="chip" title="As JSON" onClick={() => saveShape(id)}>
          <Icon name="download" />
          Save the shape
        </button>
      </div>
    </Section>
  );
}
