// What a body may still do, drawn: the locus of its point (a patch, a curve, a surface), arrows for
// translations, a ring for each turn about an axis. Teal.
import {
  BufferGeometry, ConeGeometry, CylinderGeometry, DoubleSide, Float32BufferAttribute, Group, LineBasicMaterial, LineLoop,
  Matrix4, Mesh, MeshBasicMaterial, NormalBlending, PlaneGeometry, Quaternion, ShaderMaterial, SphereGeometry, TorusGeometry,
  Vector3, type Camera, type Color, type Object3D,
} from 'three';
import { basisOf, radiusOf, type Basis } from '../freedoms';
import { poses } from '../poses';
import type { Branch, Pose, Translation, Vec3 } from '../protocol';

const FADE_VERTEX = `
  varying vec2 vUv; varying vec3 vAt;
  void main() { vUv = uv; vAt = position; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`;

// A patch that fades from its middle to its edge, ruled with a fine lattice.
const PATCH_FRAGMENT = `
  uniform vec3 colour; uniform float strength; uniform float cells; varying vec2 vUv;
  void main() {
    vec2 c = (vUv - 0.5) * 2.0;
    float fade = 1.0 - smoothstep(0.35, 1.0, length(c));
    vec2 g = abs(fract(c * cells - 0.5) - 0.5) / max(fwidth(c * cells), vec2(1e-5));
    float rule = 1.0 - smoothstep(0.3, 1.2, min(g.x, g.y));
    float a = fade * (0.24 + 0.4 * rule) * strength;
    gl_FragColor = vec4(colour, a);
    #include <colorspace_fragment>
  }`;

// A tube along z that fades towards both ends.
const TUBE_FRAGMENT = `
  uniform vec3 colour; uniform float strength; varying vec2 vUv;
  void main() {
    float fade = 1.0 - smoothstep(0.3, 1.0, abs(vUv.y - 0.5) * 2.0);
    gl_FragColor = vec4(colour, fade * strength);
    #include <colorspace_fragment>
  }`;

function fading(fragment: string, colour: Color, strength: number, cells = 6): ShaderMaterial {
  return new ShaderMaterial({
    vertexShader: FADE_VERTEX, fragmentShader: fragment, transparent: true, depthWrite: false, side: DoubleSide,
    blending: NormalBlending,
    uniforms: { colour: { value: colour }, strength: { value: strength }, cells: { value: cells } },
  });
}

const CLEAR = 1.006; // a locus on a body's own surface stands off it by this, not to flicker

const V = (v: Vec3): Vector3 => new Vector3(...v);
const Z = new Vector3(0, 0, 1);
const Y = new Vector3(0, 1, 0);

const frame = (b: Basis): Quaternion =>
  new Quaternion().setFromRotationMatrix(new Matrix4().makeBasis(V(b.e1), V(b.e2), V(b.e3)));

function disposeTree(root: Object3D): void {
  root.traverse((o) => {
    const mesh = o as Mesh;
    mesh.geometry?.dispose();
    if (mesh.material) (Array.isArray(mesh.material) ? mesh.material : [mesh.material]).forEach((m) => m.dispose());
  });
  root.clear();
}

export class Locus {
  readonly root = new Group();
  private readonly still = new Group(); // the locus itself, where it stands
  private readonly marks = new Group(); // arrows and rings, at the point
  private branch: Branch | null = null;
  private object = '';
  private ghost: Pose | null = null; // a preview: where the body would go
  private follows = false; // the patch's middle goes with the point
  private readonly point = new Vector3();
  private readonly turn = new Quaternion();
  private readonly base = new Quaternion();
  private readonly origin = new Vector3();
  private readonly centre = new Vector3();
  private readonly normal = new Vector3();
  private size = 1;
  private key = '';

  constructor(private readonly colour: Color) {
    this.root.add(this.still, this.marks);
    this.root.visible = false;
    this.marks.renderOrder = 5;
  }

  // Where the marks are now (world), for labels and tests.
  get at(): Vector3 {
    return this.point;
  }

  show(branch: Branch | null, object: string, size: number, ghost: Pose | null): void {
    const key = JSON.stringify([branch?.rotation, branch?.translation, object, size, ghost]);
    if (key === this.key) return;
    this.key = key;
    disposeTree(this.still);
    disposeTree(this.marks);
    this.branch = branch;
    this.object = object;
    this.ghost = ghost;
    this.size = size;
    this.follows = false;
    this.root.visible = !!branch && branch.dof > 0;
    if (!branch || !this.root.visible) return;
    this.draw(branch.translation);
    this.mark(branch);
  }

  // ---- the locus ------------------------------------------------------------------------------

  private draw(t: Translation): void {
    const b = basisOf(t);
    const centre = V(t.point ?? [0, 0, 0]);
    const put = (mesh: Object3D, q: Quaternion = frame(b)): void => {
      mesh.position.copy(centre);
      mesh.quaternion.copy(q);
      this.still.add(mesh);
    };
    switch (t.kind) {
      case 'plane':
        this.follows = true;
        put(new Mesh(new PlaneGeometry(3.4 * this.size, 3.4 * this.size), fading(PATCH_FRAGMENT, this.colour, 1)));
        break;
      case 'line':
        this.follows = true;
        put(this.tube(4 * this.size), frame(b).multiply(new Quaternion().setFromUnitVectors(Y, Z)));
        break;
      case 'circle': put(this.ring(radiusOf(t))); break;
      case 'ellipse': put(this.ellipse(t)); break;
      case 'sphere': put(new Mesh(new SphereGeometry(radiusOf(t) * CLEAR, 64, 32), this.glass(0.2))); put(this.ring(radiusOf(t))); break;
      case 'cylinder': put(this.pipe(radiusOf(t)), frame(b).multiply(new Quaternion().setFromUnitVectors(Y, Z))); break;
      default: break;
    }
  }

  private glass(opacity: number): MeshBasicMaterial {
    return new MeshBasicMaterial({ color: this.colour, transparent: true, opacity, depthWrite: false, side: DoubleSide });
  }

  private solid(): MeshBasicMaterial {
    return new MeshBasicMaterial({ color: this.colour, transparent: true, opacity: 0.95, depthTest: false });
  }

  private tube(length: number): Mesh {
    return new Mesh(new CylinderGeometry(0.009 * this.size, 0.009 * this.size, length, 8, 1, true), fading(TUBE_FRAGMENT, this.colour, 0.95));
  }

  private pipe(radius: number): Mesh {
    return new Mesh(new CylinderGeometry(radius * CLEAR, radius * CLEAR, 4 * this.size, 64, 1, true), fading(TUBE_FRAGMENT, this.colour, 0.3));
  }

  private ring(radius: number): Mesh {
    return new Mesh(new TorusGeometry(radius, Math.min(0.009 * this.size, radius * 0.1), 8, 96), this.glass(0.95));
  }

  private ellipse(t: Translation): Object3D {
    const [a = 1, b = a] = t.radii ?? [radiusOf(t)];
    const points: number[] = [];
    for (let i = 0; i < 128; i++) points.push(a * Math.cos((i * Math.PI) / 64), b * Math.sin((i * Math.PI) / 64), 0);
    const geometry = new BufferGeometry().setAttribute('position', new Float32BufferAttribute(points, 3));
    return new LineLoop(geometry, new LineBasicMaterial({ color: this.colour }));
  }

  // ---- arrows and rings, sized on the screen ------------------------------------------------------

  private mark(branch: Branch): void {
    const t = branch.translation;
    const b = basisOf(t);
    for (const d of this.arrowDirections(t, b)) this.marks.add(this.arrow(d));
    this.addTangents(t, b);
    const turnsBody = branch.rotation.kind === 'angle' ? branch.rotation.axis_body : undefined;
    const { kind, axis } = branch.rotation;
    const radius = t.kind === 'circle' || t.kind === 'ellipse' ? 0.42 : 0.6; // not to be taken for the locus
    if (axis && (kind === 'axis' || kind === 'angle')) this.marks.add(this.turnRing(V(axis), radius));
    if (turnsBody) {
      const inner = this.turnRing(V(turnsBody), 0.45);
      inner.userData['body'] = true;
      this.marks.add(inner);
    }
    if (kind === 'free') for (const d of [[1, 0, 0], [0, 1, 0], [0, 0, 1]] as Vec3[]) this.marks.add(this.turnRing(V(d), 0.6));
  }

  private arrowDirections(t: Translation, b: Basis): Vec3[] {
    if (t.kind === 'plane') return [b.e1, b.e2];
    if (t.kind === 'line') return [b.e3];
    if (t.kind === 'cylinder') return [b.e3];
    if (t.kind === 'free') return [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
    return [];
  }

  // Round loci: arrows along the tangents, turned with the point.
  private addTangents(t: Translation, b: Basis): void {
    const count = { circle: 1, ellipse: 1, cylinder: 1, sphere: 2 }[t.kind] ?? 0;
    this.centre.fromArray(t.point ?? [0, 0, 0]);
    this.normal.fromArray(b.e3);
    for (let i = 1; i <= count; i++) {
      const arrow = this.arrow(b.e1);
      arrow.scale.setScalar(0.8);
      arrow.userData['tangent'] = i;
      this.marks.add(arrow);
    }
  }

  private turnTangents(mobile: boolean): void {
    radial.copy(this.centre);
    axial.copy(this.normal);
    if (mobile) {
      radial.applyQuaternion(this.turn).add(this.origin);
      axial.applyQuaternion(this.turn);
    }
    radial.subVectors(this.point, radial);
    tangent.crossVectors(axial, radial);
    if (tangent.lengthSq() < 1e-12) tangent.set(1, 0, 0);
    tangent.normalize();
    for (const mark of this.marks.children) {
      const which = mark.userData['tangent'] as number | undefined;
      if (which === 1) mark.quaternion.setFromUnitVectors(Y, tangent);
      else if (which === 2) mark.quaternion.setFromUnitVectors(Y, axial.crossVectors(tangent, radial).normalize());
    }
  }

  // Two heads on one shaft of unit half length.
  private arrow(d: Vec3): Group {
    const group = new Group();
    const material = this.solid();
    const shaft = new Mesh(new CylinderGeometry(0.014, 0.014, 2, 8), material);
    group.add(shaft);
    for (const s of [1, -1]) {
      const head = new Mesh(new ConeGeometry(0.055, 0.18, 16), material);
      head.position.y = s;
      if (s < 0) head.rotation.z = Math.PI;
      group.add(head);
    }
    group.quaternion.setFromUnitVectors(Y, V(d).normalize());
    group.traverse((o) => (o.renderOrder = 5));
    return group;
  }

  // Most of a turn, with a head, about the axis.
  private turnRing(axis: Vector3, radius: number): Group {
    const group = new Group();
    const arc = 1.72 * Math.PI;
    group.add(new Mesh(new TorusGeometry(radius, 0.014, 8, 64, arc), this.solid()));
    const head = new Mesh(new ConeGeometry(0.055, 0.18, 16), this.solid());
    head.position.set(radius * Math.cos(arc), radius * Math.sin(arc), 0);
    head.rotation.z = arc;
    group.add(head);
    group.quaternion.setFromUnitVectors(Z, axis.normalize());
    group.traverse((o) => (o.renderOrder = 5));
    return group;
  }

  // ---- every frame: allocates nothing ---------------------------------------------------------------

  private bodyPose(): void {
    if (this.ghost) {
      this.origin.fromArray(this.ghost.p);
      this.turn.set(this.ghost.q[1], this.ghost.q[2], this.ghost.q[3], this.ghost.q[0]);
      return;
    }
    const o = poses.slot(this.object) * 7;
    const v = poses.values;
    if (o < 0) return;
    this.origin.set(v[o]!, v[o + 1]!, v[o + 2]!);
    this.turn.set(v[o + 4]!, v[o + 5]!, v[o + 6]!, v[o + 3]!);
  }

  update(camera: Camera): void {
    if (!this.root.visible || !this.branch) return;
    this.bodyPose();
    const t = this.branch.translation;
    if (t.of) this.point.fromArray(t.of);
    else this.point.set(0, 0, 0);
    if (t.in === 'mobile') this.carry();
    else {
      this.point.applyQuaternion(this.turn).add(this.origin);
      if (this.follows && this.still.children[0]) this.still.children[0].position.copy(this.point);
    }
    this.marks.position.copy(this.point);
    this.marks.scale.setScalar(Math.min(0.14 * this.point.distanceTo(camera.position), 1.6 * this.size));
    this.turnTangents(t.in === 'mobile');
    for (const mark of this.marks.children)
      if (mark.userData['body']) this.turnWithBody(mark);
  }

  // A locus that the body owns moves with it.
  private carry(): void {
    this.still.position.copy(this.origin);
    this.still.quaternion.copy(this.turn);
  }

  private turnWithBody(mark: Object3D): void {
    const axis = this.branch!.rotation.axis_body;
    if (!axis) return;
    this.base.setFromUnitVectors(Z, axisScratch.fromArray(axis).normalize());
    mark.quaternion.copy(this.turn).multiply(this.base);
  }
}

const axisScratch = new Vector3();
const radial = new Vector3();
const axial = new Vector3();
const tangent = new Vector3();
