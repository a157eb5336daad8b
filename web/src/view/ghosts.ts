// Ghosts of objects: a translucent copy for every branch of a preview, and a wire outline of the device where it is not
// at the tool.
import { Group, type Mesh, type MeshLambertMaterial, Quaternion, Vector3 } from 'three';
import type { Branch, Geometry, Pose } from '../protocol';
import { compose, IDENTITY, inverse } from '../state/maths';
import { fullPose, heldId } from '../state/mechanisms';
import { stateOfTool, tools } from '../state/store';
import { type Bodies, buildNode } from './bodies';
import type { Label } from './overlay';
import type { Palette } from './palette';
import { skin } from './shapes';

const MAX_GHOSTS = 8;

export class Ghosts {
  readonly root = new Group();
  readonly labels: Label[] = [];
  private readonly chosen: MeshLambertMaterial;
  private readonly other: MeshLambertMaterial;
  private readonly through: MeshLambertMaterial; // of the chosen branch where it is hidden
  private readonly wire: MeshLambertMaterial;
  private readonly device = new Group();
  private readonly branches = new Group();
  private deviceOf = '';
  private readonly parts = new Group();
  private partsOf = '';

  constructor(
    palette: Palette,
    private readonly bodies: Bodies,
  ) {
    const ink = { colour: palette.colour('mobile'), edge: palette.colour('motion') };
    this.chosen = skin({ ...ink, opacity: 0.62, edgeWidth: 2, edgeAlpha: 1 });
    this.other = skin({ ...ink, opacity: 0.22, edgeWidth: 1.4, edgeAlpha: 0.6 });
    this.through = skin({ ...ink, opacity: 0.42, edgeWidth: 2, edgeAlpha: 0.8 });
    this.other.depthTest = this.through.depthTest = false; // drawn through the bodies that hide them
    this.wire = skin({ colour: palette.colour('label'), edge: palette.colour('label'), opacity: 0.02, edgeAlpha: 0.8 });
    this.root.add(this.branches, this.device, this.parts);
  }

  private put(geometry: Geometry, pose: Pose, material: MeshLambertMaterial, into: Group): void {
    const meshes: Mesh[] = [];
    const node = buildNode(geometry, material, meshes);
    node.position.set(...pose.p);
    node.quaternion.set(pose.q[1], pose.q[2], pose.q[3], pose.q[0]);
    node.traverse((o) => (o.renderOrder = 3));
    into.add(node);
  }

  show(object: string, branches: readonly Branch[], chosen: number): void {
    this.branches.clear();
    this.labels.length = 0;
    const body = this.bodies.get(object);
    if (!body) return;
    branches.slice(0, MAX_GHOSTS).forEach((branch, i) => {
      const pose = branch.nearest.pose;
      this.put(body.geometry, pose, i === chosen ? this.through : this.other, this.branches);
      if (i === chosen) this.put(body.geometry, pose, this.chosen, this.branches);
      if (branches.length < 2) return;
      const c = body.bounds;
      const at = new Vector3((c.low[0] + c.high[0]) / 2, (c.low[1] + c.high[1]) / 2, c.high[2])
        .applyQuaternion(new Quaternion(pose.q[1], pose.q[2], pose.q[3], pose.q[0]))
        .add(new Vector3(...pose.p));
      this.labels.push({ at, text: String(i + 1), strong: i === chosen });
    });
  }

  // Several bodies at the poses of an assembly.
  showParts(placed: readonly { id: string; pose: Pose }[]): void {
    const known = placed.filter(({ id }) => this.bodies.get(id));
    const of = known.map(({ id }) => this.bodies.get(id)!.key).join();
    if (this.partsOf !== of) {
      this.parts.clear();
      for (const { id, pose } of known) this.put(this.bodies.get(id)!.geometry, pose, this.chosen, this.parts);
      this.partsOf = of;
    }
    known.forEach(({ pose }, i) => {
      const node = this.parts.children[i]!;
      node.position.set(...pose.p);
      node.quaternion.set(pose.q[1], pose.q[2], pose.q[3], pose.q[0]);
    });
  }

  // The device's pose is that of the tool's frame; the outline is of the held object.
  showDevice(): void {
    const tool = tools.peek()[0];
    const state = stateOfTool(tool);
    const body = tool && this.bodies.get(heldId(tool));
    const apart = !!state && (state.error_p > 5e-4 || state.error_r > 0.01);
    this.device.visible = apart;
    if (!apart || !tool || !body) return;
    if (this.deviceOf !== body.key) {
      this.device.clear();
      this.put(body.geometry, IDENTITY, this.wire, this.device);
      this.deviceOf = body.key;
    }
    const pose = compose(state.device, inverse(fullPose(tool.at)));
    this.device.position.set(...pose.p);
    this.device.quaternion.set(pose.q[1], pose.q[2], pose.q[3], pose.q[0]);
  }
}
