// Mesh files: the list of those on the server; triangles, fetched when the scene first needs them; uploading.
import { signal } from '@preact/signals';
import type { Geometry, Mesh, MeshAbout } from '../protocol';
import { call, enc } from './rest';

const known = new Map<string, Mesh | null>(); // null: requested, or not available

// The number of meshes that have arrived; drawing code subscribes to it.
export const arrivals = signal(0);

// The names of the files on the server.
export const meshFiles = signal<ReadonlySet<string>>(new Set());

export async function refreshMeshes(): Promise<void> {
  const list = await call<{ name: string }[]>('GET', '/meshes');
  meshFiles.value = new Set(list.map((m) => m.name));
}

export async function sendMesh(name: string, data: ArrayBuffer): Promise<MeshAbout> {
  const sent = await call<MeshAbout>('PUT', `/meshes/${enc(name)}`, data);
  known.delete(name);
  meshFiles.value = new Set([...meshFiles.peek(), name]);
  return sent;
}

export function trianglesOf(file: string): Mesh | null {
  const found = known.get(file);
  if (found !== undefined) return found;
  known.set(file, null);
  call<Mesh>('GET', `/meshes/${enc(file)}`).then(
    (mesh) => {
      known.set(file, mesh);
      arrivals.value++;
    },
    () => undefined,
  );
  return null;
}

// A key that changes when triangles of the geometry arrive.
export function meshKey(g: Geometry): string {
  if (g.type === 'compound') return g.parts.map((p) => meshKey(p.geometry)).join('');
  return g.type === 'mesh' && trianglesOf(g.file) ? '+' : '';
}
