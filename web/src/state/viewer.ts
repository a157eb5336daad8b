// The viewport as the rest of the page knows it, once it is there.
import type { Vec3 } from '../protocol';
import type { Viewport } from '../view/viewport';

let view: Viewport | null = null;

export function setView(v: Viewport | null): void {
  view = v;
}

export const currentView = (): Viewport | null => view;

// Of a new primitive, to suit what is there.
export const suitingSize = (): number => (view?.sceneSize() ?? 0.4) / 4;

export function sizeForNew(): { size: number; at: Vec3 } {
  const size = suitingSize();
  return { size, at: view?.freePlace(size) ?? [0, 0, 0] };
}
