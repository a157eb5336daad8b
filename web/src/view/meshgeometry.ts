// Geometries of mesh files: smooth normals where the surface bends a little, a drawn edge where it bends sharply or
// ends.
import { BufferGeometry, Float32BufferAttribute } from 'three';
import type { Mesh } from '../protocol';
import { trianglesOf } from '../state/meshes';

const SHARP = Math.cos((35 * Math.PI) / 180);
const MOST_SMOOTH = 1 << 17; // triangles; larger meshes are drawn flat

const known = new WeakMap<Mesh, BufferGeometry>();

// Empty until the triangles have arrived.
export function meshGeometryOf(file: string): BufferGeometry {
  const mesh = trianglesOf(file);
  if (!mesh) return new BufferGeometry();
  const found = known.get(mesh) ?? build(mesh);
  known.set(mesh, found);
  return found;
}

// Normals of all triangles, with lengths of twice their areas.
function normalsOf({ vertices: v, triangles: t }: Mesh): Float32Array {
  const out = new Float32Array(t.length);
  for (let i = 0; i < t.length; i += 3) {
    const [a, b, c] = [3 * t[i]!, 3 * t[i + 1]!, 3 * t[i + 2]!];
    const [ux, uy, uz] = [v[b]! - v[a]!, v[b + 1]! - v[a + 1]!, v[b + 2]! - v[a + 2]!];
    const [wx, wy, wz] = [v[c]! - v[a]!, v[c + 1]! - v[a + 1]!, v[c + 2]! - v[a + 2]!];
    out[i] = uy * wz - uz * wy;
    out[i + 1] = uz * wx - ux * wz;
    out[i + 2] = ux * wy - uy * wx;
  }
  return out;
}

const length = (n: Float32Array, i: number): number => Math.hypot(n[i]!, n[i + 1]!, n[i + 2]!) || 1;

const bend = (n: Float32Array, i: number, j: number): number =>
  (n[i]! * n[j]! + n[i + 1]! * n[j + 1]! + n[i + 2]! * n[j + 2]!) / (length(n, i) * length(n, j));

// The triangles at each vertex and at each edge.
function around({ triangles: t }: Mesh): { fans: Map<number, number[]>; sides: Map<string, number[]> } {
  const fans = new Map<number, number[]>();
  const sides = new Map<string, number[]>();
  const put = <K>(map: Map<K, number[]>, key: K, i: number): void => {
    const list = map.get(key);
    if (list) list.push(i);
    else map.set(key, [i]);
  };
  for (let i = 0; i < t.length; i += 3)
    for (let k = 0; k < 3; k++) {
      put(fans, t[i + k]!, i);
      put(sides, sideOf(t[i + k]!, t[i + ((k + 1) % 3)]!), i);
    }
  return { fans, sides };
}

const sideOf = (a: number, b: number): string => (a < b ? `${a} ${b}` : `${b} ${a}`);

function build(mesh: Mesh): BufferGeometry {
  const { vertices: v, triangles: t } = mesh;
  const n = normalsOf(mesh);
  const near = t.length <= 3 * MOST_SMOOTH ? around(mesh) : null;
  const position = new Float32Array(3 * t.length);
  const normal = new Float32Array(3 * t.length);
  const rim = new Float32Array(3 * t.length);
  for (let i = 0; i < t.length; i += 3)
    for (let k = 0; k < 3; k++) {
      const at = 3 * (i + k);
      for (let x = 0; x < 3; x++) position[at + x] = v[3 * t[i + k]! + x]!;
      for (const j of near?.fans.get(t[i + k]!) ?? [i])
        if (bend(n, i, j) >= SHARP) for (let x = 0; x < 3; x++) normal[at + x]! += n[j + x]!;
      const size = Math.hypot(normal[at]!, normal[at + 1]!, normal[at + 2]!) || 1;
      for (let x = 0; x < 3; x++) normal[at + x]! /= size;
      const beside = near?.sides.get(sideOf(t[i + k]!, t[i + ((k + 1) % 3)]!));
      if (!beside || (beside.length === 2 && bend(n, beside[0]!, beside[1]!) >= SHARP)) continue;
      rim[at + k] = 1; // the edge from this corner to the next
      rim[3 * (i + ((k + 1) % 3)) + k] = 1;
    }
  const out = new BufferGeometry();
  out.setAttribute('position', new Float32BufferAttribute(position, 3));
  out.setAttribute('normal', new Float32BufferAttribute(normal, 3));
  out.setAttribute('rim', new Float32BufferAttribute(rim, 3));
  out.computeBoundingSphere();
  return out;
}
