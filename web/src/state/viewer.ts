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
  freePlace(size: number): Vec3; // beside everything, on the ground
}

let view: Viewer | null = null;

export function setView(v: Viewer | null): void {
  view = v;
}

export const currentView = (): Viewer | null => view;

// The size of a new primitive, to suit what is there (m).
export const newObjectSize = (): number => (view?.sceneSize() ?? 0.4) / 4;

export function placeForNew(): { size: number; at: Vec3 } {
  const size = newObjectSize();
  return { size, at: view?.freePlace(size) ?? [0, 0, 0] };
}
