// Scaling of a mesh file: the same file with its coordinates multiplied. For a mirroring scale the triangles of a
// binary file are reversed, so that they face outwards again.
import type { Vec3 } from '../protocol';

const HEADER = 84; // bytes before the triangles of a binary STL file
const TRIANGLE = 50; // bytes of a triangle: a normal, three corners of three floats, two bytes

export function scaledMesh(name: string, data: ArrayBuffer, by: Vec3): ArrayBuffer {
  if (by.every((x) => x === 1)) return data;
  const count = data.byteLength >= HEADER ? new DataView(data).getUint32(80, true) : -1;
  if (/\.stl$/i.test(name) && data.byteLength === HEADER + TRIANGLE * count) return binary(data, count, by);
  return text(new TextDecoder().decode(data), by);
}

function binary(data: ArrayBuffer, count: number, by: Vec3): ArrayBuffer {
  const out = data.slice(0);
  const view = new DataView(out);
  const mirrored = by[0] * by[1] * by[2] < 0;
  for (let i = 0; i < count; i++) {
    const at = HEADER + TRIANGLE * i;
    for (let k = 0; k < 3; k++) view.setFloat32(at + 4 * k, 0, true); // zero: to be computed from the corners
    for (let k = 0; k < 9; k++) {
      const from = mirrored ? (k < 3 ? k : k < 6 ? k + 3 : k - 3) : k;
      view.setFloat32(at + 12 + 4 * k, new DataView(data).getFloat32(at + 12 + 4 * from, true) * by[k % 3]!, true);
    }
  }
  return out;
}

// Lines "v x y z" of OBJ and "vertex x y z" of STL.
function text(all: string, by: Vec3): ArrayBuffer {
  const scaled = all.replace(
    /^(\s*v(?:ertex)?)\s+(\S+)\s+(\S+)\s+(\S+)/gm,
    (_, word: string, ...v: string[]) => `${word} ${[0, 1, 2].map((k) => Number(v[k]) * by[k]!).join(' ')}`,
  );
  return new TextEncoder().encode(scaled).buffer as ArrayBuffer;
}
