// Numbers and states in words: millimetres, degrees, newtons.
import type { Geometry, Parameter, Translation, Vec3 } from '../protocol';

export const MM = 1000;
export const DEG = 180 / Math.PI;

export function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  const plain = text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  return plain === '-0' || plain === '' ? '0' : plain.replace('-', '\u2212');
}

// The same with an ASCII minus, for input fields.
export const editable = (value: number, digits: number): string => fixed(value, digits).replace('\u2212', '-');

export const mm = (m: number): string => `${fixed(m * MM, Math.abs(m) < 1e-3 ? 3 : 2)} mm`;
export const degrees = (rad: number): string => `${fixed(rad * DEG, 2)}\u00b0`;

// Input typed into a field: the label and the unit are the field's.
export interface Typed {
  label: string;
  unit: string;
  value: number;
}

// Of what a field shows, for one of what the server takes.
const SHOWN: Record<string, number> = { mm: MM, 'mm/s': MM, '\u00b0': DEG, '\u00b0/s': DEG };

// The server's sentence about a number ("radius is -0.005, must be a length greater than 0 (m)") as one about the
// field that it was typed into: "Radius is \u22125 mm, must be a length greater than 0 mm." Other sentences stay.
export function typedWords({ label, unit, value }: Typed, sentence: string): string {
  const [, rule = ''] = /^(?:[\w/ ]+:? )?(?:is -?[\d.e+-]+, )?(must be [^:;]*)$/.exec(sentence) ?? [];
  if (!rule) return sentence;
  const scale = SHOWN[unit] ?? 1;
  const shown = (x: number): string => (Math.abs(x) < 1e6 ? fixed(x, 4) : String(Number(x.toPrecision(4))));
  const words = rule
    .replace(/ \([^)]*\)$/, '')
    .replace(/ (m|rad|m\/s|rad\/s|Hz|N|kg)$/, '')
    .replace(/(?<![\w.])-?\d+(\.\d+)?(e[+-]?\d+)?/g, (x) => shown(Number(x) * scale));
  const degree = unit.startsWith('\u00b0');
  const of = unit && unit !== '\u00d7' ? `${degree ? '' : ' '}${unit}` : '';
  return `${label} is ${shown(value)}${of}, ${words}${/\d$/.test(words) ? of : ''}.`;
}

export function newtons(n: number): string {
  return `${fixed(n, Math.abs(n) < 10 ? 2 : 1)} N`;
}

export function newtonMetres(n: number): string {
  return `${fixed(n, Math.abs(n) < 0.1 ? 4 : 2)} N m`;
}

// "0.45 N", "0.2 N m" of a pure torque, both where there are both.
export function wrenchWords(w: { force: Vec3; torque: Vec3 }): string {
  const [force, torque] = [Math.hypot(...w.force), Math.hypot(...w.torque)];
  if (torque < 5e-5) return newtons(force);
  return force < 5e-3 ? newtonMetres(torque) : `${newtons(force)}, ${newtonMetres(torque)}`;
}

export function joules(j: number): string {
  return Math.abs(j) >= 1 ? `${fixed(j, 3)} J` : `${fixed(j * 1e3, Math.abs(j) < 1e-2 ? 3 : 1)} mJ`;
}

export function newtonSeconds(x: number): string {
  return Math.abs(x) >= 1 ? `${fixed(x, 3)} N\u00b7s` : `${fixed(x * 1e3, Math.abs(x) < 1e-2 ? 3 : 1)} mN\u00b7s`;
}

export const stateWords: Record<string, { word: string; icon: string; tone: string }> = {
  free: { word: 'free', icon: 'free', tone: 'free' },
  under: { word: 'under-constrained', icon: 'under', tone: 'under' },
  well: { word: 'well-constrained', icon: 'well', tone: 'well' },
  over: { word: 'over-constrained', icon: 'over', tone: 'over' },
  conflict: { word: 'in conflict', icon: 'conflict', tone: 'conflict' },
};

export const geometryWords: Record<Geometry['type'], string> = {
  box: 'box',
  cylinder: 'cylinder',
  cone: 'cone',
  sphere: 'sphere',
  capsule: 'capsule',
  mesh: 'mesh',
  'nurbs-curve': 'curve',
  'nurbs-surface': 'surface',
  compound: 'compound',
};

const names: Record<string, string> = {
  phi: 'turn',
  theta: 'spin',
  psi: 'turn',
  yaw: 'yaw',
  pitch: 'pitch',
  roll: 'roll',
  x: 'x',
  y: 'y',
  z: 'z',
  azimuth: 'azimuth',
  polar: 'polar',
};

// The motion of a branch's parameter, in a few words.
export function freedomName(parameter: Parameter, translation: Translation): string {
  const { name } = parameter;
  if (name === 'phi_t') return translation.kind === 'cylinder' ? 'around' : `along the ${translation.kind}`;
  if (name === 's') return translation.kind === 'plane' ? 'slide 1' : 'slide';
  if (name === 't') return 'slide 2';
  return names[name] ?? name;
}

// Display units of lengths and angles, and the factor from m or rad.
export const DISPLAY = {
  m: { unit: 'mm', scale: MM },
  rad: { unit: '\u00b0', scale: DEG },
  1: { unit: '', scale: 1 },
} as const;

export function measure(unit: Parameter['unit'], value: number): string {
  return unit === 'm' ? mm(value) : unit === 'rad' ? degrees(value) : fixed(value, 3);
}

// "a", "a and b", "a, b and c"
export const listed = (ids: readonly string[]): string =>
  ids.length < 2 ? ids.join('') : `${ids.slice(0, -1).join(', ')} and ${ids[ids.length - 1]}`;
