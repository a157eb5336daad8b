// A tracking camera: it translates with a body's frame and does not turn with it, which keeps the chosen direction of
// view.
import { type PerspectiveCamera, Vector3 } from 'three';
import type { Bodies } from './bodies';

export class TrackingCamera {
  private body = '';
  private readonly last = new Vector3(); // where the body was in the frame before
  private readonly step = new Vector3();

  constructor(
    private readonly camera: PerspectiveCamera,
    private readonly target: Vector3, // that the camera turns about
    private readonly bodies: Bodies,
  ) {}

  // From where it is now; '' stops.
  track(id: string): void {
    const body = this.bodies.get(id);
    this.body = body ? id : '';
    if (body) this.last.copy(body.node.position);
  }

  // Every frame, after bodies were placed; true: the camera moved. Allocates nothing.
  frame(): boolean {
    const body = this.body && this.bodies.get(this.body);
    if (!body || this.last.equals(body.node.position)) return false;
    this.step.subVectors(body.node.position, this.last);
    this.last.copy(body.node.position);
    this.camera.position.add(this.step);
    this.target.add(this.step);
    return true;
  }
}
