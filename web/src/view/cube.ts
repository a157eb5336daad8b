// The view cube: six buttons on a cube that turns with the camera.

import { type Camera, Matrix4 } from 'three';
import type { ViewName } from '../state/viewer';

const FACES: { view: ViewName; text: string; place: string }[] = [
  { view: 'top', text: 'TOP', place: 'top' },
  { view: 'bottom', text: 'BOTTOM', place: 'bottom' },
  { view: 'front', text: 'FRONT', place: 'front' },
  { view: 'back', text: 'BACK', place: 'back' },
  { view: 'left', text: 'LEFT', place: 'left' },
  { view: 'right', text: 'RIGHT', place: 'right' },
];

const turn = new Matrix4();

export class ViewCube {
  private readonly cube: HTMLElement;

  constructor(
    host: HTMLElement,
    private readonly camera: Camera,
    onView: (view: ViewName) => void,
  ) {
    this.cube = document.createElement('div');
    this.cube.className = 'cube';
    for (const face of FACES) {
      const button = document.createElement('button');
      button.type = 'button';
      button.className = `cube-face cube-${face.place}`;
      button.textContent = face.text;
      button.setAttribute('aria-label', `View from the ${face.view}`);
      button.addEventListener('click', () => onView(face.view));
      this.cube.append(button);
    }
    host.append(this.cube);
  }

  update(): void {
    const e = turn.copy(this.camera.matrixWorldInverse).elements;
    const n = (x: number): string => x.toFixed(4);
    // world axes on the screen, y down
    const x = `${n(e[0]!)},${n(-e[1]!)},${n(e[2]!)},0`;
    const y = `${n(-e[4]!)},${n(e[5]!)},${n(-e[6]!)},0`;
    const z = `${n(e[8]!)},${n(-e[9]!)},${n(e[10]!)},0`;
    this.cube.style.transform = `matrix3d(${x},${y},${z},0,0,0,1)`;
  }
}
