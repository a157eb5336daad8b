// Gizmos of freedoms: an arrow for a translation, a ring for a rotation, at the locus's point or at a contact, of
// constant size on the screen. `freedomAt` picks one, and the one under the cursor is highlighted.
import {
  type BufferGeometry,
  type Color,
  ConeGeometry,
  CylinderGeometry,
  Group,
  Mesh,
  MeshBasicMaterial,
  type Object3D,
  type Quaternion,
  type Raycaster,
  TorusGeometry,
  Vector3,
} from 'three';
import type { Branch, Strand, Translation, Vec3 } from '../protocol';
import { type Basis, basisOf, firstMotion, isFreeForm } from '../state/freedoms';

const V = (v: Vec3): Vector3 => new Vector3(...v);
const X = new Vector3(1, 0, 0);
const Y = new Vector3(0, 1, 0);
const Z = new Vector3(0, 0, 1);
const AXES = [X, Y, Z] as const;
const MIDDLE = 0.18; // radius around the centre, relative to the arrows' half length
const ARC = 1.72 * Math.PI; // angle of a ring

const unseen = new MeshBasicMaterial({ visible: false }); // for picking: wider than the drawing

interface Mark {
  freedom: number;
  group: Group;
  material: MeshBasicMaterial;
  tangent: 0 | 1 | 2; // of a round locus: updated to its first or second tangent every frame
  base: Quaternion;
  withBody: boolean; // a direction fixed in the body
}

export class Gizmos {
  readonly root = new Group();
  live = true; // true: of the object itself, and can be dragged; false: of a ghost or a contact
  private list: Mark[] = [];
  private lit = -1;
  private readonly centre = new Vector3();
  private readonly normal = new Vector3();

  constructor(
    private readonly colour: Color,
    private readonly bright: Color,
  ) {
    this.root.renderOrder = 5;
  }

  clear(): void {
    this.root.clear();
    for (const mark of this.list) mark.material.dispose();
    this.list = [];
  }

  // ---- making gizmos ----------------------------------------------------------------------------

  show(branch: Branch, strands: readonly Strand[] | undefined, size: number): void {
    this.clear();
    if (branch.kind !== 'separable') this.local(strands ?? [], size);
    else this.separable(branch, strands ?? [], size);
    this.light(this.lit);
  }

  // Shows motions along and about the axes of the root's frame.
  showAlongAxes(motions: readonly { turns: boolean; axis: 0 | 1 | 2 }[]): void {
    this.clear();
    motions.forEach(({ turns, axis }, i) => {
      this.add(i, turns ? this.ring(0.6) : this.arrow(), turns ? Z : Y, AXES[axis]);
    });
  }

  // Freedoms that do not separate: the initial motion of each at the present pose.
  private local(strands: readonly Strand[], size: number): void {
    strands.forEach((strand, i) => {
      const motion = firstMotion(strand, size);
      if (motion)
        this.add(i, motion.turns ? this.ring(0.42 + 0.09 * i) : this.arrow(), motion.turns ? Z : Y, V(motion.axis));
    });
  }

  private separable(branch: Branch, strands: readonly Strand[], size: number): void {
    const t = branch.translation;
    const b = basisOf(t);
    const { kind, axis, axis_body: inner } = branch.rotation;
    const round = t.kind === 'circle' || t.kind === 'ellipse';
    const radius = round ? 0.42 : 0.6; // smaller than a locus that is a circle
    if (axis && (kind === 'axis' || kind === 'angle')) this.add(0, this.ring(radius), Z, V(axis));
    if (inner && kind === 'angle') this.add(1, this.ring(0.45), Z, V(inner)).withBody = true;
    if (kind === 'free') [Z, Y, X].forEach((d, i) => this.add(i, this.ring(0.6), Z, d));
    if (isFreeForm(branch)) this.alongFreeForm(strands.slice(branch.rotation.dof), branch.rotation.dof, size);
    else this.slides(t, b, branch.rotation.dof);
  }

  // The tangents of the coordinate curves of a surface or a curve at the present point.
  private alongFreeForm(strands: readonly Strand[], first: number, size: number): void {
    strands.forEach((strand, i) => {
      const motion = firstMotion(strand, size);
      if (motion) this.add(first + i, this.arrow(), Y, V(motion.axis));
    });
  }

  private slides(t: Translation, b: Basis, first: number): void {
    const straight: Record<string, Vec3[]> = {
      plane: [b.e1, b.e2],
      line: [b.e3],
      cylinder: [b.e3],
      free: [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
      ],
    };
    const along = straight[t.kind] ?? [];
    along.forEach((d, i) => (this.add(first + i, this.arrow(), Y, V(d)).withBody = t.in === 'mobile'));
    const round: Partial<Record<Translation['kind'], number>> = { circle: 1, ellipse: 1, cylinder: 1, sphere: 2 };
    const count = round[t.kind] ?? 0;
    this.centre.fromArray(t.point ?? [0, 0, 0]);
    this.normal.fromArray(b.e3);
    for (let i = 1; i <= count; i++) {
      const mark = this.add(first + along.length + i - 1, this.arrow(), Y, V(b.e1));
      mark.group.scale.setScalar(0.8);
      mark.tangent = i as 1 | 2;
    }
  }

  private add(freedom: number, parts: { drawn: Object3D[]; wide: BufferGeometry }, from: Vector3, to: Vector3): Mark {
    const group = new Group();
    const material = (parts.drawn[0] as Mesh).material as MeshBasicMaterial;
    const wide = new Mesh(parts.wide, unseen);
    wide.userData.freedom = freedom;
    group.add(...parts.drawn, wide);
    group.quaternion.setFromUnitVectors(from, to.clone().normalize());
    group.traverse((o) => (o.renderOrder = 5));
    this.root.add(group);
    const mark: Mark = { freedom, group, material, tangent: 0, base: group.quaternion.clone(), withBody: false };
    this.list.push(mark);
    return mark;
  }

  private paint(): MeshBasicMaterial {
    return new MeshBasicMaterial({ color: this.colour, transparent: true, opacity: 0.95, depthTest: false });
  }

  // An arrow with two heads, of unit half length, along y.
  private arrow(): { drawn: Object3D[]; wide: BufferGeometry } {
    const material = this.paint();
    const heads = [1, -1].map((s) => {
      const head = new Mesh(headShape, material);
      head.position.y = s;
      if (s < 0) head.rotation.z = Math.PI;
      return head;
    });
    return { drawn: [new Mesh(shaftShape, material), ...heads], wide: wideShaft };
  }

  // A ring of most of a turn with a head, about z.
  private ring(radius: number): { drawn: Object3D[]; wide: BufferGeometry } {
    const material = this.paint();
    const head = new Mesh(headShape, material);
    head.position.set(radius * Math.cos(ARC), radius * Math.sin(ARC), 0);
    head.rotation.z = ARC;
    const { thin, wide } = ringShapes(radius);
    return { drawn: [new Mesh(thin, material), head], wide };
  }

  // ---- the cursor -----------------------------------------------------------------------------------

  // The freedom whose gizmo the ray meets, and where; -1: none. Near the centre, where all gizmos cross, the body is
  // meant.
  freedomAt(ray: Raycaster, at: Vector3): number {
    if (!this.live || !this.root.parent?.visible) return -1;
    if (ray.ray.distanceToPoint(this.root.position) < MIDDLE * this.root.scale.x) return -1;
    const hit = ray.intersectObject(this.root, true).find((h) => h.object.userData.freedom !== undefined);
    if (!hit) return -1;
    at.copy(hit.point);
    return hit.object.userData.freedom as number;
  }

  light(freedom: number): void {
    this.lit = freedom;
    for (const mark of this.list) mark.material.color.copy(mark.freedom === freedom ? this.bright : this.colour);
  }

  // To be called after a change of the theme.
  recolour(): void {
    this.light(this.lit);
  }

  // ---- every frame: allocates nothing ---------------------------------------------------------------

  place(point: Vector3, scale: number, origin: Vector3, turn: Quaternion, mobile: boolean): void {
    this.root.position.copy(point);
    this.root.scale.setScalar(scale);
    this.turnTangents(point, origin, turn, mobile);
    for (let i = 0; i < this.list.length; i++) {
      const mark = this.list[i]!;
      if (mark.withBody) mark.group.quaternion.copy(turn).multiply(mark.base);
    }
  }

  private turnTangents(point: Vector3, origin: Vector3, turn: Quaternion, mobile: boolean): void {
    radial.copy(this.centre);
    axial.copy(this.normal);
    if (mobile) {
      radial.applyQuaternion(turn).add(origin);
      axial.applyQuaternion(turn);
    }
    radial.subVectors(point, radial);
    tangent.crossVectors(axial, radial);
    if (tangent.lengthSq() < 1e-12) tangent.set(1, 0, 0);
    tangent.normalize();
    for (let i = 0; i < this.list.length; i++) {
      const mark = this.list[i]!;
      if (mark.tangent === 1) mark.group.quaternion.setFromUnitVectors(Y, tangent);
      else if (mark.tangent === 2)
        mark.group.quaternion.setFromUnitVectors(Y, axial.crossVectors(tangent, radial).normalize());
    }
  }
}

const headShape = new ConeGeometry(0.055, 0.18, 16);
const shaftShape = new CylinderGeometry(0.014, 0.014, 2, 8);
const wideShaft = new CylinderGeometry(0.07, 0.07, 2.2, 6);
const rings = new Map<number, { thin: BufferGeometry; wide: BufferGeometry }>();

function ringShapes(radius: number): { thin: BufferGeometry; wide: BufferGeometry } {
  let found = rings.get(radius);
  if (!found) {
    found = { thin: new TorusGeometry(radius, 0.014, 8, 64, ARC), wide: new TorusGeometry(radius, 0.06, 5, 32, ARC) };
    rings.set(radius, found);
  }
  return found;
}

const radial = new Vector3();
const axial = new Vector3();
const tangent = new Vector3();
