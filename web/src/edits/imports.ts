// Files from outside: a scene, a robot description with its meshes, meshes as objects.

import type { Geometry, MeshAbout, Vec3 } from '../protocol';
import { meshFiles, sendMesh } from '../state/meshes';
import type { FreeForm } from '../state/nurbs';
import { call, enc, Refused } from '../state/rest';
import * as store from '../state/store';
import { currentView, placeForNew } from '../state/viewer';
import { listed, mm } from '../state/words';
import { importUrdf } from './mechanisms';
import { scaledMesh } from './meshscale';
import { importShape, shapeIn } from './newshapes';
import { unusedId } from './objects';
import { attempt, named } from './request';
import { openFile } from './scene';

export const TAKES = '.json,.urdf,.xml,.stl,.obj';

const isMesh = (f: File): boolean => /\.(stl|obj)$/i.test(f.name);
const stem = (name: string): string => name.replace(/\.[^.]*$/, '').toLowerCase();
const basename = (path: string): string => path.split(/[/\\]/).pop() ?? '';

// A file name as the server accepts it.
const plain = (name: string): string =>
  name
    .replace(/[^A-Za-z0-9_.]+/g, '-')
    .replace(/[-.]{2,}/g, '-')
    .replace(/^[-.]+/, '')
    .slice(-60);

const plainId = (name: string): string => name.replace(/[^A-Za-z0-9_:+-]+/g, '-').slice(0, 40);

export async function importFiles(files: readonly File[]): Promise<boolean> {
  const scene = files.find((f) => /\.json$/i.test(f.name));
  const robot = files.find((f) => /\.(urdf|xml)$/i.test(f.name));
  const meshes = files.filter(isMesh);
  if (robot) return importRobot(robot, meshes);
  if (meshes.length) return importMeshes(meshes);
  if (scene) return importJson(scene);
  if (files.length)
    store.refuse(
      `${files[0]!.name} cannot be opened: a scene or a shape (.json) can, a robot (.urdf), a mesh (.stl, .obj).`,
    );
  return false;
}

// Opens a scene, or adds one free-form shape.
async function importJson(file: File): Promise<boolean> {
  let shape: FreeForm | null = null;
  try {
    shape = shapeIn(JSON.parse(await file.text()));
  } catch {
    // the error is that of opening it as a scene
  }
  return shape ? importShape(file, plainId(stem(file.name)) || 'surface', shape) : openFile(file);
}

// ---- meshes ---------------------------------------------------------------------------------------------

// Uploads a mesh; one that the scene uses cannot be replaced and stays.
async function uploadUnlessUsed(name: string, data: ArrayBuffer): Promise<void> {
  try {
    await sendMesh(name, data);
  } catch (e) {
    if (!(e instanceof Refused && e.status === 409)) throw e;
  }
}

const LARGEST_M = 5; // a larger part is assumed to be in millimetres

const widest = (m: MeshAbout): number => Math.max(...m.high.map((x, k) => x - m.low[k]!));

function freshFile(name: string): string {
  const at = name.lastIndexOf('.');
  for (let n = 1; ; n++) {
    const tried = n === 1 ? name : `${name.slice(0, at)}-${n}${name.slice(at)}`;
    if (!meshFiles.value.has(tried)) return tried;
  }
}

const MOST_MIB = 16; // of a mesh, on the server

// Uploads the file scaled to another unit, under a name of its own.
async function sendScaled(file: File, k: number): Promise<{ name: string; info: MeshAbout }> {
  const name = freshFile(plain(file.name));
  const data = await file.arrayBuffer();
  return { name, info: await sendMesh(name, k === 1 ? data : scaledMesh(name, data, [k, k, k])) };
}

// The fix that takes the other unit, as the unit is a guess.
async function retake(file: File, id: string, k: number): Promise<void> {
  await attempt(async () => {
    const { name, info } = await sendScaled(file, k);
    await call('PATCH', `/objects/${enc(id)}`, { geometry: meshGeometry(name, info) });
    store.inform(`${id} is ${mm(widest(info))} long now.`);
  });
}

const meshGeometry = (file: string, { closed }: MeshAbout): Geometry =>
  closed ? { type: 'mesh', file } : { type: 'mesh', file, convex: true };

async function importMesh(file: File): Promise<void> {
  if (!file.size) throw new Error('the file is empty.');
  if (file.size > MOST_MIB * 2 ** 20)
    throw new Error(
      `it has ${(file.size / 2 ** 20).toFixed(0)} MiB, and a mesh at most ${MOST_MIB}. Fewer triangles will do.`,
    );
  const taken = await sendScaled(file, 1);
  const { name } = taken;
  let { info } = taken;
  const small = widest(info) > LARGEST_M;
  if (small) info = await sendMesh(name, scaledMesh(name, await file.arrayBuffer(), [1e-3, 1e-3, 1e-3]));
  const { at } = placeForNew();
  const id = unusedId(plainId(file.name.replace(/\.[^.]*$/, '')) || 'mesh');
  const p = [at[0] - info.low[0], at[1], at[2] - info.low[2]];
  await call('POST', '/objects', { id, geometry: meshGeometry(name, info), pose: { p, q: [1, 0, 0, 0] } });
  store.selectObject(id);
  currentView()?.reveal(id);
  const unit = small ? 'millimetres' : 'metres';
  const hull = info.closed ? '' : ', and as its hull, since its surface is open';
  const text = `${file.name} was taken as drawn in ${unit}, ${mm(widest(info))} long${hull}.`;
  const other = small ? { label: 'It is in metres', k: 1 } : { label: 'It is in millimetres', k: 1e-3 };
  store.notice.value = {
    tone: 'info',
    text,
    fixes: [{ label: other.label, run: () => void retake(file, id, other.k) }],
  };
  store.announce(text);
}

const importMeshes = (files: readonly File[]): Promise<boolean> =>
  attempt(async () => {
    for (const file of files) await named(file, importMesh(file));
  });

// ---- robots -----------------------------------------------------------------------------------------------

const numbers = (text: string | null): Vec3 => {
  const v = (text ?? '').trim().split(/\s+/).map(Number);
  return v.length === 3 && v.every((x) => Number.isFinite(x) && x !== 0) ? (v as Vec3) : [1, 1, 1];
};

// Uploads the meshes that the description names and that were chosen with it, scaled, and replaces their names in the
// description. Returns the names of the missing ones.
async function uploadMeshes(robot: Document, id: string, files: readonly File[]): Promise<string[]> {
  const missing = new Set<string>();
  const sent = new Map<string, string>(); // names by file and scale
  for (const mesh of robot.querySelectorAll('mesh')) {
    const wanted = basename(mesh.getAttribute('filename') ?? '');
    const file = files.find((f) => f.name === wanted) ?? files.find((f) => stem(f.name) === stem(wanted));
    if (!file) {
      missing.add(wanted);
      continue;
    }
    const scale = numbers(mesh.getAttribute('scale'));
    const key = `${file.name} ${scale}`;
    const before = [...sent.keys()].filter((k) => k.startsWith(`${file.name} `)).length;
    const name = sent.get(key) ?? plain(`${id}-${before ? `${before + 1}-` : ''}${file.name}`);
    if (!sent.has(key)) await uploadUnlessUsed(name, scaledMesh(name, await file.arrayBuffer(), scale));
    sent.set(key, name);
    mesh.setAttribute('filename', name);
    mesh.removeAttribute('scale');
  }
  return [...missing];
}

async function importRobot(file: File, meshes: readonly File[]): Promise<boolean> {
  const text = await file.text();
  if (!/<robot[\s>]/.test(text)) {
    store.refuse(`${file.name} is no URDF: it has no <robot> in it.`);
    return false;
  }
  const robot = new DOMParser().parseFromString(text, 'application/xml');
  const broken = robot.querySelector('parsererror') !== null; // the server's error says where
  const id = unusedId(plainId(robot.documentElement.getAttribute('name') ?? stem(file.name)) || 'robot');
  let missing: string[] = [];
  if (!broken && !(await attempt(async () => (missing = await uploadMeshes(robot, id, meshes))))) return false;
  const urdf = broken ? text : new XMLSerializer().serializeToString(robot);
  const made = await attempt(() => named(file, importUrdf(id, urdf)));
  if (made && missing.length)
    store.inform(
      `${id} is here. Without ${listed(missing)} its links are drawn as bars: ` +
        'choose such files (.stl, .obj) together with the description.',
    );
  return made;
}
