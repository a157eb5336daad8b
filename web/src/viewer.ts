// The viewport as the rest of the page knows it, once it is there.
import type { Vec3 } from './protocol';
import type { Viewport } from './view/viewport';

let view: Viewport | null = null;

export function setView(v: Viewport | null): void {
  view = v;
}

export const currentView = (): Viewport | null => view;

// Size and place of a new primitive, to suit what is there.
export function sizeForNew(): { size: number; at: Vec3 } {
  const size = (view?.sceneSize() ?? 0.4) / 4;
  return { size, at: view?.freePlace(size) ?? [0, 0, 0] };
}
