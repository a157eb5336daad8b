// The lengths of a primitive, for objects and links. An edit patches the newest geometry.
import type { JSX } from 'preact';
import type { Geometry } from '../protocol';
import { MM } from '../state/words';
import { Triple, XYZ } from './triple';
import { NumberField, Row } from './widgets';

export function SizeFields({
  g,
  onPut,
}: {
  g: Geometry;
  onPut: (edit: (now: Geometry) => object) => void;
}): JSX.Element {
  if (g.type === 'compound') return <Row label="shape">{g.parts.length} parts</Row>;
  if (g.type === 'mesh')
    return (
      <Row label="mesh">
        {g.file}
        {g.convex ? ', its hull' : ''}
      </Row>
    );
  if (g.type === 'nurbs-surface')
    return (
      <Row label="surface">
        {g.points.length} × {g.points[0]!.length} control points
      </Row>
    );
  if (g.type === 'nurbs-curve') return <Row label="curve">{g.points.length} control points</Row>;
  if (g.type === 'box')
    return (
      <Triple
        label="Size along"
        names={XYZ}
        unit="mm"
        above={0}
        value={g.size}
        scale={MM}
        onPut={(to) => onPut((now) => ({ type: 'box', size: to(now.type === 'box' ? now.size : g.size) }))}
      />
    );
  return (
    <div class="triple">
      <NumberField
        shown="radius"
        label="Radius"
        unit="mm"
        above={0}
        value={g.radius * MM}
        onCommit={(v) => onPut(() => ({ type: g.type, radius: v / MM }))}
      />
      {g.type !== 'sphere' && (
        <NumberField
          shown="height"
          label="Height"
          unit="mm"
          above={0}
          value={g.height * MM}
          onCommit={(v) => onPut(() => ({ type: g.type, height: v / MM }))}
        />
      )}
    </div>
  );
}
