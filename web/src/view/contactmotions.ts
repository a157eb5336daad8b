// The contact of the constraint that is selected or pointed at: the common tangent plane or tangent, in the colour of
// contacts, and the motions that the contact allows, drawn as freedoms. Of constant size on the screen.
import {
  BufferGeometry,
  type Camera,
  CylinderGeometry,
  DoubleSide,
  Float32BufferAttribute,
  Group,
  LineBasicMaterial,
  LineLoop,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  type Object3D,
  PlaneGeometry,
  Vector3,
} from 'three';
import type { PlacedContact } from '../state/contactframes';
import { Gizmos } from './gizmos';
import type { Palette } from './palette';

const SIZE = 0.09; // half length of an arrow, relative to the camera's distance
const PLANE = 1.5; // width of the tangent plane's drawing, in half arrows
const LINE = 2.9; // length of the tangent's drawing, in half arrows: longer than its arrow

const e1 = new Vector3();
const e2 = new Vector3();
const e3 = new Vector3();
const basis = new Matrix4();

export class ContactMotions {
  readonly root: Group; // its x and y along the tangents, z along the normal
  readonly marks: Gizmos;
  private readonly plane = new Group();
  private readonly line: Mesh;
  private key = '';

  constructor(palette: Palette) {
    this.marks = new Gizmos(palette.colour('motion'), palette.colour('motion'));
    this.marks.live = false; // motions of a pair, which cannot be dragged
    this.root = this.marks.root;
    const colour = palette.colour('hover');
    const glass = { transparent: true, depthTest: false, depthWrite: false };
    const sheet = new MeshBasicMaterial({ ...glass, opacity: 0.16, side: DoubleSide });
    const edge = new LineBasicMaterial({ ...glass, opacity: 0.9 });
    const ink = new MeshBasicMaterial({ ...glass, opacity: 0.9 });
    sheet.color = edge.color = ink.color = colour; // shared with the palette, whose colour changes with the theme
    const h = PLANE / 2;
    const corners = new Float32BufferAttribute([-h, -h, 0, h, -h, 0, h, h, 0, -h, h, 0], 3);
    const border = new LineLoop(new BufferGeometry().setAttribute('position', corners), edge);
    this.plane.add(new Mesh(new PlaneGeometry(PLANE, PLANE), sheet), border);
    this.line = new Mesh(new CylinderGeometry(0.012, 0.012, LINE, 8).rotateZ(Math.PI / 2), ink);
    for (const o of [...this.plane.children, this.line]) o.renderOrder = 4;
    this.root.visible = false;
  }

  // Called with each state.
  show(what: PlacedContact | undefined): void {
    this.root.visible = !!what;
    if (!what) return;
    const key = JSON.stringify([what.touch, what.motions]);
    if (key !== this.key) this.rebuild(what, key);
    const { frame } = what;
    basis.makeBasis(e1.fromArray(frame.e1), e2.fromArray(frame.e2), e3.fromArray(frame.e3));
    this.root.quaternion.setFromRotationMatrix(basis);
    this.root.position.fromArray(what.point);
  }

  private rebuild(what: PlacedContact, key: string): void {
    this.key = key;
    this.marks.showAlongAxes(what.motions);
    const tangent: Object3D = what.touch === 'curves' ? this.line : this.plane;
    this.root.add(tangent);
  }

  // Called every frame; allocates nothing.
  place(camera: Camera): void {
    if (this.root.visible) this.root.scale.setScalar(SIZE * this.root.position.distanceTo(camera.position));
  }
}
