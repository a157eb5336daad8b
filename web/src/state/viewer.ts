// The interface of the view for the rest of the page; view/viewport.ts implements it.
import type { Vec3 } from '../protocol';

export type ViewName = 'top' | 'bottom' | 'front' | 'back' | 'left' | 'right' | 'home';

interface Direction {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

export interface Viewer {
  look(from: ViewName): void;
  frame(): void; // frames the selection, or all
  cycle(by: number): boolean; // steps among the features under the cursor
  cancel(): boolean; // cancels a drag
  axes(): { right: Direction; up: Direction }; // directions of the screen in world coordinates
  sceneSize(): number; // m
  partSize(): number; // m, longest side of the median body
  freePlace(size: number): Vec3; // a free place beside everything, on the ground
  reveal(id: string): void; // frames the whole scene where the body is out of the picture
}

let view: Viewer | null = null;

export function setView(v: Viewer | null): void {
  view = v;
}

export const currentView = (): Viewer | null => view;

// The size of the scene (m) after the last edit.
export const sceneSize = (): number => view?.sceneSize() ?? 0.4;

// The size and place of a new part: as large as the others, rounded, on the ground at rounded coordinates.
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
