// The submanifold of the shown object, in teal: the locus of its point (a patch, a curve, a surface) or, where freedoms
// do not separate, the motion along each; and a gizmo for each freedom.
import {
  BufferGeometry,
  type Camera,
  type Color,
  CylinderGeometry,
  DoubleSide,
  Float32BufferAttribute,
  Group,
  LineBasicMaterial,
  LineSegments,
  Matrix4,
  Mesh,
  MeshBasicMaterial,
  NormalBlending,
  type Object3D,
  PlaneGeometry,
  Quaternion,
  ShaderMaterial,
  SphereGeometry,
  TorusGeometry,
  Vector3,
} from 'three';
import type { Branch, Pose, Strand, Translation, Vec3 } from '../protocol';
import { type Basis, basisOf, isFreeForm, radiusOf } from '../state/freedoms';
import { cross, perpendicular, sub, toWorld, unit } from '../state/maths';
import { poses } from '../state/poses';
import { Gizmos } from './gizmos';

const FADE_VERTEX = `
  varying vec2 vUv; varying vec3 vAt;
  void main() { vUv = uv; vAt = position; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`;

// A patch that fades from its centre to its edge, with a fine grid.
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
    vertexShader: FADE_VERTEX,
    fragmentShader: fragment,
    transparent: true,
    depthWrite: false,
    side: DoubleSide,
    blending: NormalBlending,
    uniforms: { colour: { value: colour }, strength: { value: strength }, cells: { value: cells } },
  });
}

const CLEAR = 1.006; // scale of a locus on the surface of its own body, against z-fighting

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

const AROUND = 6; // sides of the tube of a strand

// A tube through points in order; v runs along it, for fading towards the ends.
function tubeThrough(points: readonly Vec3[], radius: number, closed: boolean): BufferGeometry {
  const ring = closed ? [...points, points[0]!] : points;
  const [at, uv, index]: [number[], number[], number[]] = [[], [], []];
  ring.forEach((p, i) => {
    const ahead = unit(sub(ring[Math.min(i + 1, ring.length - 1)]!, ring[Math.max(i - 1, 0)]!));
    const e1 = perpendicular(ahead);
    const e2 = cross(ahead, e1);
    for (let k = 0; k <= AROUND; k++) {
      const a = (2 * Math.PI * k) / AROUND;
      const out = [0, 1, 2].map((j) => p[j]! + radius * (e1[j]! * Math.cos(a) + e2[j]! * Math.sin(a)));
      at.push(...out);
      uv.push(k / AROUND, closed ? 0.5 : i / (ring.length - 1));
      const v = i * (AROUND + 1) + k;
      if (i > 0 && k > 0) index.push(v - AROUND - 2, v - 1, v, v - AROUND - 2, v, v - AROUND - 1);
    }
  });
  const out = new BufferGeometry();
  out.setAttribute('position', new Float32BufferAttribute(at, 3));
  out.setAttribute('uv', new Float32BufferAttribute(uv, 2));
  out.setIndex(index);
  return out;
}

export interface Shown {
  branch: Branch;
  object: string;
  size: number; // of the object
  most: number; // largest width of a patch of a plane
  middle: Vec3; // of the object, in its frame: the point whose path is drawn
  ghost: Pose | null; // a preview: the pose of the ghost
  strands: readonly Strand[] | undefined;
  guide: Guide | null;
}

// The free-form surface or curve on which a point of the object stays: the locus itself, in its owner's frame.
export interface Guide {
  object: string;
  lines: readonly (readonly Vec3[])[];
}

export class SubmanifoldView {
  readonly root = new Group();
  readonly marks: Gizmos;
  private readonly still = new Group(); // the locus, fixed in the world or moved with its owner
  private readonly guided = new Group(); // a free-form locus, in its owner's frame
  private shown: Shown | null = null;
  private follows = false; // the patch's centre follows the point
  private readonly point = new Vector3();
  private readonly turn = new Quaternion();
  private readonly origin = new Vector3();
  private size = 1;
  private most = 1;
  private key = '';

  constructor(
    private readonly colour: Color,
    bright: Color,
  ) {
    this.marks = new Gizmos(colour, bright);
    this.root.add(this.still, this.guided, this.marks.root);
    this.root.visible = false;
  }

  show(what: Shown | null): void {
    const local = !!what && what.branch.kind !== 'separable';
    const key = JSON.stringify(
      what && [
        what.branch.rotation,
        what.branch.translation,
        what.object,
        what.size,
        what.most,
        what.ghost,
        (local || (what && isFreeForm(what.branch))) && what.strands,
        what.guide,
      ],
    );
    if (key === this.key) return;
    this.key = key;
    disposeTree(this.still);
    disposeTree(this.guided);
    this.still.position.set(0, 0, 0);
    this.still.quaternion.identity();
    this.shown = what;
    this.follows = false;
    this.root.visible = !!what && what.branch.dof > 0;
    if (!what || !this.root.visible) return;
    this.size = what.size;
    this.most = what.most;
    if (local) for (const strand of what.strands ?? []) this.way(strand, what.middle);
    else this.draw(what.branch.translation);
    if (what.guide) this.ruled(what.guide);
    this.marks.live = !what.ghost;
    this.marks.show(what.branch, what.strands, what.size);
  }

  // The path of the body's middle along one freedom.
  private way(strand: Strand, middle: Vec3): void {
    const points = strand.poses.map((g) => toWorld(g, middle));
    const length = points.reduce((sum, p, i) => (i ? sum + Math.hypot(...sub(p, points[i - 1]!)) : 0), 0);
    if (points.length < 2 || length < 0.02 * this.size) return; // it rotates about the point: the ring shows that
    this.still.add(
      new Mesh(tubeThrough(points, 0.005 * this.size, strand.closed), fading(TUBE_FRAGMENT, this.colour, 0.75)),
    );
  }

  // The edges and isolines of the locus.
  private ruled(guide: Guide): void {
    const at = guide.lines.flatMap((line) => line.slice(1).flatMap((p, i) => [...line[i]!, ...p]));
    const shape = new BufferGeometry().setAttribute('position', new Float32BufferAttribute(at, 3));
    const ink = new LineBasicMaterial({ color: this.colour, transparent: true, opacity: 0.9, depthWrite: false });
    const lines = new LineSegments(shape, ink);
    lines.frustumCulled = false;
    this.guided.add(lines);
  }

  private placeGuide({ object }: Guide): void {
    const o = poses.slot(object) * 7;
    const v = poses.values;
    if (o < 0) return;
    this.guided.position.set(v[o]!, v[o + 1]!, v[o + 2]!);
    this.guided.quaternion.set(v[o + 4]!, v[o + 5]!, v[o + 6]!, v[o + 3]!);
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
        put(this.patch(Math.min(3.4 * this.size, this.most)));
        break;
      case 'line':
        this.follows = true;
        put(this.tube(4 * this.size), frame(b).multiply(new Quaternion().setFromUnitVectors(Y, Z)));
        break;
      case 'circle':
        put(this.ring(radiusOf(t)));
        break;
      case 'ellipse':
        put(this.ellipse(t));
        break;
      case 'sphere':
        put(new Mesh(new SphereGeometry(radiusOf(t) * CLEAR, 64, 32), this.glass(0.2)));
        put(this.ring(radiusOf(t)));
        break;
      case 'cylinder':
        put(this.pipe(radiusOf(t)), frame(b).multiply(new Quaternion().setFromUnitVectors(Y, Z)));
        break;
      default:
        break;
    }
  }

  private patch(width: number): Mesh {
    return new Mesh(new PlaneGeometry(width, width), fading(PATCH_FRAGMENT, this.colour, 1));
  }

  private glass(opacity: number): MeshBasicMaterial {
    return new MeshBasicMaterial({
      color: this.colour,
      transparent: true,
      opacity,
      depthWrite: false,
      side: DoubleSide,
    });
  }

  private tube(length: number): Mesh {
    return new Mesh(
      new CylinderGeometry(0.009 * this.size, 0.009 * this.size, length, 8, 1, true),
      fading(TUBE_FRAGMENT, this.colour, 0.95),
    );
  }

  private pipe(radius: number): Mesh {
    return new Mesh(
      new CylinderGeometry(radius * CLEAR, radius * CLEAR, 4 * this.size, 64, 1, true),
      fading(TUBE_FRAGMENT, this.colour, 0.3),
    );
  }

  private ring(radius: number): Mesh {
    return new Mesh(new TorusGeometry(radius, Math.min(0.009 * this.size, radius * 0.1), 8, 96), this.glass(0.95));
  }

  private ellipse(t: Translation): Object3D {
    const [a = 1, b = a] = t.radii ?? [radiusOf(t)];
    const points = Array.from(
      { length: 128 },
      (_, i): Vec3 => [a * Math.cos((i * Math.PI) / 64), b * Math.sin((i * Math.PI) / 64), 0],
    );
    return new Mesh(tubeThrough(points, 0.009 * this.size, true), this.glass(0.95));
  }

  // ---- every frame: allocates nothing ---------------------------------------------------------------

  private bodyPose(shown: Shown): void {
    if (shown.ghost) {
      this.origin.fromArray(shown.ghost.p);
      this.turn.set(shown.ghost.q[1], shown.ghost.q[2], shown.ghost.q[3], shown.ghost.q[0]);
      return;
    }
    const o = poses.slot(shown.object) * 7;
    const v = poses.values;
    if (o < 0) return;
    this.origin.set(v[o]!, v[o + 1]!, v[o + 2]!);
    this.turn.set(v[o + 4]!, v[o + 5]!, v[o + 6]!, v[o + 3]!);
  }

  update(camera: Camera): void {
    const shown = this.shown;
    if (!this.root.visible || !shown) return;
    this.bodyPose(shown);
    if (shown.guide) this.placeGuide(shown.guide);
    const t = shown.branch.translation;
    const mobile = t.in === 'mobile';
    this.point.fromArray(t.of ?? shown.middle);
    if (mobile) this.carry();
    else {
      this.point.applyQuaternion(this.turn).add(this.origin);
      if (this.follows && this.still.children[0]) this.still.children[0].position.copy(this.point);
    }
    const scale = Math.min(0.14 * this.point.distanceTo(camera.position), 1.6 * this.size);
    this.marks.place(this.point, scale, this.origin, this.turn, mobile);
  }

  // Moves a locus with the body that owns it.
  private carry(): void {
    this.still.position.copy(this.origin);
    this.still.quaternion.copy(this.turn);
  }
}
