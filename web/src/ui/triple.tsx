// Three numbers in a row: a position, or the angles of a rotation.
import type { JSX } from 'preact';
import type { Vec3 } from '../protocol';
import { NumberField } from './widgets';

export const replaced = (v: Vec3, i: number, x: number): Vec3 => v.map((old, k) => (k === i ? x : old)) as Vec3;

export function Triple(p: {
  label: string;
  shown?: string; // before each name
  names: readonly string[];
  unit: string;
  value: Vec3;
  scale: number;
  digits?: number;
  step?: number;
  above?: number;
  disabled?: boolean;
  onPut: (edit: (v: Vec3) => Vec3) => void; // receives an edit of the newest value, whose echo may be under way
}): JSX.Element {
  return (
    <div class="triple">
      {p.names.map((name, i) => (
        <NumberField
          key={name}
          shown={p.shown ? `${p.shown} ${name}` : name}
          label={`${p.label} ${name}`}
          unit={p.unit}
          digits={p.digits}
          step={p.step}
          above={p.above}
          disabled={p.disabled}
          value={p.value[i]! * p.scale}
          onCommit={(v) => p.onPut((now) => replaced(now, i, v / p.scale))}
        />
      ))}
    </div>
  );
}

export const XYZ = ['x', 'y', 'z'] as const;
export const YPR = ['yaw', 'pitch', 'roll'] as const;
