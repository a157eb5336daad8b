// A tracking camera: it translates with a body's frame and does not rotate with it, so the chosen view direction is
// kept.
import { type PerspectiveCamera, Vector3 } from 'three';
import type { Bodies } from './bodies';

export class TrackingCamera {
  private body = '';
  private readonly last = new Vector3(); // position of the body in the last frame
  private readonly step = new Vector3();

  constructor(
    private readonly camera: PerspectiveCamera,
    private readonly target: Vector3, // the point about which the camera turns
    private readonly bodies: Bodies,
  ) {}

  // Tracks from the body's present position; '' stops tracking.
  track(id: string): void {
    const body = this.bodies.get(id);
    this.body = body ? id : '';
    if (body) this.last.copy(body.node.position);
  }

  // Every frame, after the bodies were placed; true where the camera moved. Allocates nothing.
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
