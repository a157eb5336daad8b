// A ghost that moves to and fro along the freedom that is pointed at; the object itself does not move. With reduced
// motion two ghosts are at the ends.
import { Group, type Mesh, type MeshLambertMaterial, type Object3D, Quaternion } from 'three';
import type { Pose } from '../protocol';
import { type Bodies, buildNode } from './bodies';
import type { Palette } from './palette';
import { skin } from './shapes';

const PERIOD_MS = 1500;
const SWINGS = 5; // then it stops: a focus may stay for long

export class Swing {
  readonly root = new Group();
  private readonly look: MeshLambertMaterial;
  private readonly still = matchMedia('(prefers-reduced-motion: reduce)');
  private table = new Float32Array(0); // poses in order: p, then q as x y z w
  private count = 0;
  private nodes: Object3D[] = [];
  private key = '';
  private began = 0;
  private readonly a = new Quaternion();
  private readonly b = new Quaternion();

  constructor(
    palette: Palette,
    private readonly bodies: Bodies,
  ) {
    this.look = skin({
      colour: palette.colour('mobile'),
      edge: palette.colour('motion'),
      opacity: 0.45,
      edgeWidth: 2,
      edgeAlpha: 1,
    });
  }

  get active(): boolean {
    return this.count > 1;
  }

  // True while frames must be drawn.
  get moving(): boolean {
    return this.active && !this.still.matches;
  }

  show(object: string, freedom: number, path: readonly Pose[]): void {
    const body = this.bodies.get(object);
    this.count = body ? path.length : 0;
    if (this.table.length < 7 * path.length) this.table = new Float32Array(7 * path.length);
    path.forEach((g, i) => this.table.set([...g.p, g.q[1], g.q[2], g.q[3], g.q[0]], 7 * i));
    const key = this.active ? `${object} ${freedom} ${body!.key} ${this.still.matches}` : '';
    if (key !== this.key) this.rebuild(key);
    if (this.active && this.still.matches) [0, this.count - 1].forEach((at, i) => this.put(this.nodes[i]!, at));
  }

  private rebuild(key: string): void {
    this.key = key;
    this.root.clear();
    this.nodes = [];
    if (!key) return;
    this.began = performance.now();
    const geometry = this.bodies.get(key.split(' ')[0]!)!.geometry;
    const meshes: Mesh[] = [];
    for (let i = 0; i < (this.still.matches ? 2 : 1); i++) {
      const node = buildNode(geometry, this.look, meshes);
      node.traverse((o) => (o.renderOrder = 4));
      this.nodes.push(node);
      this.root.add(node);
    }
  }

  // Sets the pose at an interpolated index of the table.
  private put(node: Object3D, at: number): void {
    const i = Math.max(0, Math.min(this.count - 2, Math.floor(at)));
    const f = at - i;
    const t = this.table;
    const o = 7 * i;
    node.position.set(
      t[o]! + f * (t[o + 7]! - t[o]!),
      t[o + 1]! + f * (t[o + 8]! - t[o + 1]!),
      t[o + 2]! + f * (t[o + 9]! - t[o + 2]!),
    );
    this.a.set(t[o + 3]!, t[o + 4]!, t[o + 5]!, t[o + 6]!);
    this.b.set(t[o + 10]!, t[o + 11]!, t[o + 12]!, t[o + 13]!);
    node.quaternion.copy(this.a).slerp(this.b, f);
  }

  // Called every frame; allocates nothing.
  frame(now: number): void {
    if (!this.moving) return;
    if (now - this.began > SWINGS * PERIOD_MS) {
      this.count = 0;
      this.root.clear();
      return;
    }
    const phase = Math.sin((2 * Math.PI * (now - this.began)) / PERIOD_MS);
    this.put(this.nodes[0]!, (0.5 + 0.5 * phase) * (this.count - 1));
  }
}
