// Resisted directions at the held point: for a translation an arrow from either side, for a rotation a ring with two
// heads that meet; fainter for lower weights.
import {
  type BufferGeometry,
  type Camera,
  type Color,
  ConeGeometry,
  CylinderGeometry,
  Group,
  Mesh,
  MeshBasicMaterial,
  Quaternion,
  TorusGeometry,
  Vector3,
} from 'three';
import type { Tool, ToolState } from '../protocol';
import { fullPose, heldId } from '../state/mechanisms';
import { poses } from '../state/poses';
import { type Principal, shifts, turns } from '../state/principal';

const FAINT = 0.06; // smallest weight that is drawn
const SIZE = 0.1; // size of the marks, relative to the camera's distance
const RADIUS = 0.62;

interface Mark {
  node: Group;
  material: MeshBasicMaterial;
}

const Y = new Vector3(0, 1, 0);
const Z = new Vector3(0, 0, 1);
const axis = new Vector3();
const offset = new Vector3();
const turn = new Quaternion();

export class ResistedMarks {
  readonly root = new Group();
  private readonly arrows: Mark[];
  private readonly rings: Mark[];
  private slot = -1;
  private readonly at = new Vector3();

  constructor(private readonly colour: Color) {
    this.arrows = [0, 1, 2].map(() => this.mark(arrowParts()));
    this.rings = [0, 1, 2].map(() => this.mark(ringParts()));
    this.root.visible = false;
  }

  private mark(parts: Mesh[]): Mark {
    const material = new MeshBasicMaterial({ color: this.colour, transparent: true, depthTest: false });
    const node = new Group();
    for (const part of parts) {
      part.material = material;
      part.renderOrder = 6;
    }
    node.add(...parts);
    this.root.add(node);
    return { node, material };
  }

  recolour(colour: Color): void {
    for (const m of [...this.arrows, ...this.rings]) m.material.color.copy(colour);
  }

  // Called with each state, ten times a second.
  show(tool: Tool | undefined, state: ToolState | undefined): void {
    const resisted = state?.resisted;
    this.root.visible = !!tool && !!resisted && resisted.directions.length > 0;
    if (!this.root.visible) return;
    this.slot = poses.slot(heldId(tool!));
    this.at.fromArray(fullPose(tool!.at).p);
    shifts(resisted!).forEach((p, i) => put(this.arrows[i]!, p, Y));
    turns(resisted!).forEach((p, i) => put(this.rings[i]!, p, Z));
  }

  // Called every frame; allocates nothing.
  place(camera: Camera): void {
    const o = this.slot * 7;
    if (!this.root.visible || o < 0) return;
    const v = poses.values;
    turn.set(v[o + 4]!, v[o + 5]!, v[o + 6]!, v[o + 3]!);
    offset.copy(this.at).applyQuaternion(turn);
    this.root.position.set(v[o]! + offset.x, v[o + 1]! + offset.y, v[o + 2]! + offset.z);
    this.root.scale.setScalar(SIZE * this.root.position.distanceTo(camera.position));
  }
}

function put(mark: Mark, p: Principal, from: Vector3): void {
  mark.node.visible = p.weight > FAINT;
  mark.material.opacity = 0.15 + 0.75 * Math.min(1, p.weight);
  mark.node.quaternion.setFromUnitVectors(from, axis.fromArray(p.axis));
}

const headShape = new ConeGeometry(0.06, 0.17, 16);
const shaftShape = new CylinderGeometry(0.018, 0.018, 0.5, 8);
const capShape = new CylinderGeometry(0.075, 0.075, 0.03, 20);

const part = (shape: BufferGeometry, y: number, flip: boolean): Mesh => {
  const mesh = new Mesh(shape);
  mesh.position.y = y;
  if (flip) mesh.rotation.z = Math.PI;
  return mesh;
};

// Arrows along y from either end to the centre, each with a plate behind it.
const arrowParts = (): Mesh[] =>
  [1, -1].flatMap((s) => [
    part(headShape, s * 0.3, s > 0),
    part(shaftShape, s * 0.62, false),
    part(capShape, s * 0.88, false),
  ]);

const ringShape = new TorusGeometry(RADIUS, 0.018, 8, 64);

// A ring about z with two heads that meet.
function ringParts(): Mesh[] {
  const heads = [1, -1].map((s) => {
    const head = new Mesh(headShape);
    const a = Math.PI / 2 + s * 0.17;
    head.position.set(RADIUS * Math.cos(a), RADIUS * Math.sin(a), 0);
    head.rotation.z = s > 0 ? a - Math.PI : a;
    return head;
  });
  return [new Mesh(ringShape), ...heads];
}
