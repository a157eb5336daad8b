// Marks at the border of the picture with the names of the held and the selected object while these are outside, and of
// the first moving body where no moving body is in the picture; each on the side where the object is.
import { Vector3 } from 'three';
import { heldId } from '../state/mechanisms';
import { poses } from '../state/poses';
import * as store from '../state/store';
import type { Overlay } from './overlay';

const MARGIN_PX = 14;
const TOP_PX = 26; // room for the texts at top and bottom
const HALF_PX = 6; // of the triangle

const at = new Vector3();

export class OffscreenMarks {
  // True where there is a mark to draw.
  busy(o: Overlay): boolean {
    for (const tool of store.tools.value) if (this.lost(o, heldId(tool))) return true;
    return this.lost(o, store.selectedObject.value) || !!this.lostWithAll(o);
  }

  // The first moving body, '' where a moving body can be seen.
  private lostWithAll(o: Overlay): string {
    return poses.movingIds.every((id) => this.lost(o, id)) ? (poses.movingIds[0] ?? '') : '';
  }

  // Writes the place on the screen to `at`; false where the body can be seen.
  private lost(o: Overlay, id: string): boolean {
    const slot = id ? poses.slot(id) * 7 : -1;
    if (slot < 0) return false;
    at.set(poses.values[slot]!, poses.values[slot + 1]!, poses.values[slot + 2]!);
    const ahead = o.toScreen(at);
    if (ahead && at.x >= 0 && at.x <= o.width && at.y >= 0 && at.y <= o.height) return false;
    at.x -= o.width / 2;
    at.y -= o.height / 2;
    if (!ahead) at.multiplyScalar(-1);
    return true;
  }

  draw(o: Overlay): void {
    const selected = store.selectedObject.value;
    const sought = [...new Set([...store.tools.value.map(heldId), this.lostWithAll(o)])];
    for (const id of sought) if (id !== selected) this.mark(o, id, 'mobile-edge');
    this.mark(o, selected, 'selected');
  }

  private mark(o: Overlay, id: string, colour: 'mobile-edge' | 'selected'): void {
    if (!this.lost(o, id)) return;
    const shrink = Math.min(
      (o.width / 2 - MARGIN_PX) / Math.max(1, Math.abs(at.x)),
      (o.height / 2 - TOP_PX) / Math.max(1, Math.abs(at.y)),
    );
    const [x, y] = [o.width / 2 + at.x * shrink, o.height / 2 + at.y * shrink];
    o.pointer(x, y, Math.atan2(at.y, at.x), HALF_PX, o.colour(colour));
    o.tag(x + (at.x > 0 ? -HALF_PX : HALF_PX), y, `${id} (F)`, o.colour(colour), at.x > 0);
  }
}
