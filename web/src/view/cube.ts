// The view cube: six buttons on a cube that turns with the camera.
import { Matrix4, type Camera } from 'three';

export type View = 'top' | 'bottom' | 'front' | 'back' | 'left' | 'right' | 'home';

const FACES: { view: View; text: string; place: string }[] = [
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

  constructor(host: HTMLElement, private readonly camera: Camera, onView: (view: View) => void) {
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
    this.cube.style.transform =
      `matrix3d(${n(e[0]!)},${n(-e[1]!)},${n(e[2]!)},0,${n(-e[4]!)},${n(e[5]!)},${n(-e[6]!)},0,${n(e[8]!)},${n(-e[9]!)},${n(e[10]!)},0,0,0,0,1)`;
  }
}
