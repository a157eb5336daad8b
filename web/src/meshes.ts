// Triangles of mesh files, fetched when something of the scene first asks for them.
import { signal } from '@preact/signals';
import type { Geometry } from './protocol';
import { call } from './rest';

export interface Triangles { vertices: number[]; triangles: number[] } // x, y, z of each vertex; three vertices of each triangle

const known = new Map<string, Triangles | null>(); // null: asked for, or not to be had

// How many have come; whoever draws looks again when it changes.
export const arrivals = signal(0);

export function trianglesOf(file: string): Triangles | null {
  const found = known.get(file);
  if (found !== undefined) return found;
  known.set(file, null);
  call<Triangles>('GET', `/meshes/${encodeURIComponent(file)}`).then((mesh) => {
    known.set(file, mesh);
    arrivals.value++;
  }, () => undefined);
  return null;
}

// A key that changes when triangles of the geometry come.
export function meshKey(g: Geometry): string {
  if (g.type === 'compound') return g.parts.map((p) => meshKey(p.geometry)).join('');
  return g.type === 'mesh' && trianglesOf(g.file) ? '+' : '';
}
