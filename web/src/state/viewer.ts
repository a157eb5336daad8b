// The view of the scene as the rest of the page knows it, once it is there: view/viewport.ts implements it.
import type { Vec3 } from '../protocol';

export type ViewName = 'top' | 'bottom' | 'front' | 'back' | 'left' | 'right' | 'home';

interface Direction {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

export interface Viewer {
  look(from: ViewName): void;
  frame(): void; // the selection, or all
  cycle(by: number): boolean; // among the features under the cursor
  cancel(): boolean; // a drag under way
  axes(): { right: Direction; up: Direction }; // of the screen, in the world
  sceneSize(): number; // m
  partSize(): number; // of the middle one of the bodies, along its longest side (m)
  freePlace(size: number): Vec3; // beside everything, on the ground
  reveal(id: string): void; // all of the scene is framed where the picture lacks that
}

let view: Viewer | null = null;

export function setView(v: Viewer | null): void {
  view = v;
}

export const currentView = (): Viewer | null => view;

// The size of the scene (m), as it was when it was last edited.
export const sceneSize = (): number => view?.sceneSize() ?? 0.4;

// A new part is as large as those that are there, a round number, and stands on the ground at a round place.
export function placeForNew(): { size: number; at: Vec3 } {
  const size = roundLength(view?.partSize() ?? 0.05);
  return { size, at: view?.freePlace(size) ?? [0, 0, size / 2] };
}

// The nearest of 1, 2 and 5 times a power of ten.
export function roundLength(length: number): number {
  const decade = Math.floor(Math.log10(length));
  const [, found] = [1, 2, 5, 10]
    .map((digit) => Number(`${digit}e${decade}`))
    .map((x) => [Math.abs(Math.log(x / length)), x] as const)
    .reduce((a, b) => (b[0] < a[0] ? b : a));
  return found;
}
