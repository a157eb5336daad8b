// Surfaces of one-sided distances, hatched: a plane beside a plane, a tube about a line, a sphere about a point.
import {
  type BufferGeometry,
  CylinderGeometry,
  DoubleSide,
  Group,
  Matrix4,
  Mesh,
  Plane,
  PlaneGeometry,
  Quaternion,
  ShaderMaterial,
  SphereGeometry,
  Vector3,
} from 'three';
import type { Constraint, Feature, Vec3 } from '../protocol';
import { isOneSided } from '../state/constraints';
import { cross, norm, perpendicular, sub, unit } from '../state/maths';
import * as store from '../state/store';
import type { Bodies, Body } from './bodies';
import type { Palette } from './palette';
import { outline } from './picking';

const VERTEX = `
  varying vec2 vUv;
  void main() { vUv = uv; gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0); }`;

// Stripes in screen space. A patch (fades 1) fades towards its rim, a tube (2) towards its ends.
const FRAGMENT = `
  uniform vec3 colour; uniform float fades; varying vec2 vUv;
  void main() {
    float stripe = smoothstep(0.36, 0.43, abs(fract((gl_FragCoord.x + gl_FragCoord.y) / 12.0) - 0.5));
    float out_ = fades < 0.5 ? 0.0 : fades < 1.5 ? length((vUv - 0.5) * 2.0) : abs(vUv.y - 0.5) * 2.0;
    float fade = 1.0 - smoothstep(0.45, 1.0, out_);
    gl_FragColor = vec4(colour, (0.04 + 0.4 * stripe) * fade);
    #include <colorspace_fragment>
  }`;

// A patch that is wider than the other body moves with that body: `beside` has a point in the body's frame, and the
// patch is drawn at the foot of its perpendicular.
interface Wall {
  mesh: Mesh;
  owner: Body;
  beside?: { body: Body; point: Vector3; plane: Plane };
}

const foot = new Vector3();

export class BoundSurfaces {
  readonly root = new Group();
  private list: Wall[] = [];
  private key = '';
  private readonly patch: ShaderMaterial;
  private readonly tube: ShaderMaterial;
  private readonly whole: ShaderMaterial;

  constructor(
    private readonly palette: Palette,
    private readonly bodies: Bodies,
  ) {
    this.patch = this.hatch(1);
    this.tube = this.hatch(2);
    this.whole = this.hatch(0);
  }

  private hatch(fades: number): ShaderMaterial {
    return new ShaderMaterial({
      vertexShader: VERTEX,
      fragmentShader: FRAGMENT,
      transparent: true,
      depthWrite: false,
      side: DoubleSide,
      uniforms: { colour: { value: this.palette.colour('reaction') }, fades: { value: fades } },
    });
  }

  // Shows the walls that are enabled, and `trial`, which is being tried.
  show(list: readonly Constraint[], trial: Constraint | null): void {
    const walls = [...list.filter((c) => c.enabled !== false && c.id !== trial?.id), ...(trial ? [trial] : [])].filter(
      (c) => isOneSided(c) && c.type === 'distance',
    );
    const pairs = walls.map((c) => [c, store.featureOf(c.a), store.featureOf(c.b)] as const);
    const key = JSON.stringify(pairs);
    if (key === this.key) return;
    this.key = key;
    for (const wall of this.list) wall.mesh.geometry.dispose();
    this.root.clear();
    this.list = [];
    for (const [c, a, b] of pairs) if (a && b) this.add(c, a, b);
  }

  // The wall belongs to a plane, else to a line, else to a point; of two equal kinds to the second. Free-form ones have
  // none.
  private add(c: Constraint, a: Feature, b: Feature): void {
    const rank = (f: Feature): number => (f.plane ? 3 : f.line ? 2 : f.point ? 1 : 0);
    const own = rank(b) >= rank(a) ? b : a;
    if (rank(own) === 0) return;
    const owner = this.bodies.get(store.splitRef(own.id)[0]);
    if (!owner) return;
    const value = c.value ?? 0;
    if (own.plane) this.beside(owner, own, value, own === a ? b : a);
    else if (value < 1e-6) return;
    else if (own.line)
      this.put(
        owner,
        new CylinderGeometry(value, value, 1.5 * owner.size, 48, 1, true),
        this.tube,
        own.line.point,
        own.line.direction,
        true,
      );
    else this.put(owner, new SphereGeometry(value, 48, 24), this.whole, own.point!, [0, 0, 1]);
  }

  // A plane at the distance, as large as the face to which it belongs, or, for a small body, as large as the body
  // needs.
  private beside(owner: Body, own: Feature, value: number, other: Feature): void {
    const { points } = outline(owner, own);
    const n = unit(own.plane!.normal);
    const middle = [0, 1, 2].map((k) => points.reduce((sum, p) => sum + p[k]!, 0) / points.length) as Vec3;
    const reach = Math.max(...points.map((p) => norm(sub(p, middle))));
    const at = middle.map((x, k) => x + value * n[k]!) as Vec3;
    const body = this.bodies.get(store.splitRef(other.id)[0]);
    const local = other.point ?? other.line?.point ?? other.plane?.point;
    if (!body || !local || body.size > reach)
      this.put(owner, new PlaneGeometry(2.2 * reach, 2.2 * reach), this.patch, at, n);
    else {
      this.put(owner, new PlaneGeometry(2.2 * body.size, 2.2 * body.size), this.patch, [0, 0, 0], n);
      const plane = new Plane().setFromNormalAndCoplanarPoint(new Vector3(...n), new Vector3(...at));
      this.list.at(-1)!.beside = { body, point: new Vector3(...local), plane };
    }
  }

  private put(
    owner: Body,
    geometry: BufferGeometry,
    material: ShaderMaterial,
    at: Vec3,
    axis: Vec3,
    alongY = false,
  ): void {
    if (alongY) geometry.rotateX(Math.PI / 2);
    const n = unit(axis);
    const e1 = perpendicular(n);
    const basis = new Matrix4().makeBasis(new Vector3(...e1), new Vector3(...cross(n, e1)), new Vector3(...n));
    geometry.applyQuaternion(new Quaternion().setFromRotationMatrix(basis)).translate(...at);
    const mesh = new Mesh(geometry, material);
    mesh.renderOrder = 2;
    this.root.add(mesh);
    this.list.push({ mesh, owner });
  }

  // Every frame: moves the walls with their bodies; allocates nothing.
  place(): void {
    for (let i = 0; i < this.list.length; i++) {
      const { mesh, owner, beside } = this.list[i]!;
      mesh.position.copy(owner.node.position);
      mesh.quaternion.copy(owner.node.quaternion);
      if (!beside) continue;
      owner.node.worldToLocal(beside.body.node.localToWorld(foot.copy(beside.point)));
      mesh.position.copy(owner.node.localToWorld(beside.plane.projectPoint(foot, foot)));
    }
  }
}
