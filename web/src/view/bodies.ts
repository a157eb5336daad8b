// The meshes of the scene's objects and links, updated from the document and the pose table.
import { Group, type Material, Mesh, type MeshLambertMaterial, type Object3D } from 'three';
import type { Geometry, Scene } from '../protocol';
import { linkShape } from '../state/linkshape';
import { fullPose, linkId } from '../state/mechanisms';
import { meshKey } from '../state/meshes';
import { poses } from '../state/poses';
import { Instances } from './instances';
import { type Bounds, boundsOf, sizeOf } from './outline';
import type { Palette } from './palette';
import { geometryOf, skin } from './shapes';

export interface Body {
  id: string;
  slot: number;
  node: Object3D;
  meshes: Mesh[];
  pins: Mesh[]; // of a link: the pin of its joint, in its own colour
  geometry: Geometry;
  key: string;
  moving: boolean;
  bounds: Bounds;
  size: number;
  look: Look;
}

// A body to draw: an object, or a link and the pin of its joint.
interface Thing {
  id: string;
  geometry: Geometry;
  pin?: Geometry;
  fixed: boolean;
}

export type Look = 'fixed' | 'mobile' | 'fixed-selected' | 'mobile-selected' | 'mobile-hover' | 'conflict';

// One mesh, or one for each part of a compound.
export function buildNode(geometry: Geometry, material: Material, into: Mesh[]): Object3D {
  if (geometry.type !== 'compound') {
    const mesh = new Mesh(geometryOf(geometry), material);
    into.push(mesh);
    return mesh;
  }
  const group = new Group();
  for (const part of geometry.parts) {
    const child = buildNode(part.geometry, material, into);
    const pose = fullPose(part.pose);
    const [w, x, y, z] = pose.q;
    child.position.set(...pose.p);
    child.quaternion.set(x, y, z, w);
    child.updateMatrix();
    child.matrixAutoUpdate = false; // moves with the compound
    group.add(child);
  }
  return group;
}

function things(scene: Scene): Thing[] {
  const links = (scene.mechanisms ?? []).flatMap((m) =>
    m.links.map((_, i): Thing => {
      const shape = linkShape(m, i);
      return { id: linkId(m.id, i), geometry: shape.body, pin: shape.joint, fixed: false };
    }),
  );
  return [...scene.objects.map((o): Thing => ({ id: o.id, geometry: o.geometry, fixed: o.fixed ?? false })), ...links];
}

export class Bodies {
  readonly root = new Group(); // for picking
  readonly drawn = new Instances(); // for drawing
  readonly list: Body[] = [];
  private readonly byId = new Map<string, Body>();
  private readonly skins: Record<Look, MeshLambertMaterial>;
  private laid = true; // false: shapes or materials changed since the batches were made

  constructor(palette: Palette) {
    const c = (name: Parameters<Palette['colour']>[0]) => palette.colour(name);
    this.skins = {
      fixed: skin({ colour: c('fixed'), edge: c('fixed-edge') }),
      mobile: skin({ colour: c('mobile'), edge: c('mobile-edge'), marked: true }),
      'fixed-selected': skin({ colour: c('fixed'), edge: c('selected'), edgeWidth: 2.4 }),
      'mobile-selected': skin({ colour: c('mobile'), edge: c('selected'), edgeWidth: 2.4, marked: true }),
      'mobile-hover': skin({ colour: c('mobile'), edge: c('hover'), edgeWidth: 2.4, marked: true }),
      conflict: skin({ colour: c('mobile'), edge: c('conflict'), edgeWidth: 2.4, marked: true }),
    };
  }

  recolour(palette: Palette): void {
    this.skins.fixed.color.copy(palette.colour('fixed'));
    this.skins['fixed-selected'].color.copy(palette.colour('fixed'));
    for (const look of ['mobile', 'mobile-selected', 'mobile-hover', 'conflict'] as const)
      this.skins[look].color.copy(palette.colour('mobile'));
  }

  get(id: string): Body | undefined {
    return this.byId.get(id);
  }

  sync(scene: Scene): void {
    const seen = new Set<string>();
    for (const thing of things(scene)) {
      seen.add(thing.id);
      this.take(thing);
    }
    for (const body of [...this.list]) if (!seen.has(body.id)) this.drop(body);
    this.place(true);
  }

  private take(object: Thing): void {
    const key = JSON.stringify(object.pin ? [object.geometry, object.pin] : object.geometry) + meshKey(object.geometry);
    const known = this.byId.get(object.id);
    if (known && known.key !== key) this.drop(known);
    const body = known && known.key === key ? known : this.make(object, key);
    body.slot = poses.slot(object.id);
    body.moving = !object.fixed;
    this.dress(body, object.fixed ? 'fixed' : 'mobile');
  }

  private make(object: Thing, key: string): Body {
    const meshes: Mesh[] = [];
    const pins: Mesh[] = [];
    const node = buildNode(object.geometry, this.skins.fixed, meshes);
    if (object.pin) node.add(buildNode(object.pin, this.skins.fixed, pins));
    const bounds = boundsOf(object.geometry);
    const body: Body = {
      id: object.id,
      slot: -1,
      node,
      meshes,
      pins,
      geometry: object.geometry,
      key,
      moving: false,
      bounds,
      size: sizeOf(bounds),
      look: 'fixed',
    };
    for (const mesh of [...meshes, ...pins]) mesh.userData.body = body;
    node.matrixAutoUpdate = false;
    this.root.add(node);
    this.laid = false;
    this.list.push(body);
    this.byId.set(object.id, body);
    return body;
  }

  private drop(body: Body): void {
    this.root.remove(body.node);
    this.laid = false;
    this.byId.delete(body.id);
    this.list.splice(this.list.indexOf(body), 1);
  }

  dress(body: Body, look: Look): void {
    if (body.look === look && body.meshes[0]?.material === this.skins[look]) return;
    body.look = look;
    this.laid = false;
    for (const mesh of body.meshes) mesh.material = this.skins[look];
    for (const pin of body.pins) pin.material = this.skins.fixed;
  }

  // Copies poses from the table to the meshes; allocates nothing.
  place(all: boolean): void {
    const v = poses.values;
    for (let i = 0; i < this.list.length; i++) {
      const body = this.list[i]!;
      const o = body.slot * 7;
      if (o < 0 || (!all && !body.moving)) continue;
      body.node.position.set(v[o]!, v[o + 1]!, v[o + 2]!);
      body.node.quaternion.set(v[o + 4]!, v[o + 5]!, v[o + 6]!, v[o + 3]!);
      body.node.updateMatrix();
      body.node.updateMatrixWorld(true);
      for (let k = 0; k < body.meshes.length; k++) this.drawn.put(body.meshes[k]!);
      for (let k = 0; k < body.pins.length; k++) this.drawn.put(body.pins[k]!);
    }
  }

  // To be called before a frame is drawn.
  lay(): void {
    if (this.laid) return;
    this.laid = true;
    this.drawn.lay(this.list.flatMap((body) => [...body.meshes, ...body.pins]));
  }
}
