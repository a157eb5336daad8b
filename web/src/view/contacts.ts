// Contacts over the scene: contact point, normal, common tangent plane or tangent, and force. A lasting contact is a
// dot, a collision a burst that stays for a moment, a jammed contact a crossed square.
import { Vector3 } from 'three';
import type { ContactPoint, Vec3 } from '../protocol';
import { type PlacedContact, placedContacts } from '../state/contactframes';
import * as store from '../state/store';
import { newtons } from '../state/words';
import type { Overlay } from './overlay';

const FLASH_MS = 450;
const calm = matchMedia('(prefers-reduced-motion: reduce)'); // bursts are then not animated
const NORMAL_PX = 16;
const TANGENT_PX = 13;
const MOST = 64;

const from = new Vector3();
const to = new Vector3();
const along = new Vector3();
const felt: Vec3 = [0, 0, 0];

interface Flash {
  who: string;
  point: Vec3;
  impulse: number;
  until: number;
}

export class ContactMarks {
  private readonly flashes: Flash[] = [];
  private last = -1; // tick of the newest collision that was shown

  // True where there is anything to draw.
  busy(now: number): boolean {
    while (this.flashes.length && this.flashes[0]!.until < now) this.flashes.shift();
    return this.flashes.length > 0 || store.contacts.value.length > 0;
  }

  get flashing(): boolean {
    return this.flashes.length > 0;
  }

  // Adds the new collisions of a state.
  take(now: number): void {
    const hits = store.simulation.peek()?.hits ?? [];
    const newest = hits.length ? hits[hits.length - 1]!.tick : -1;
    if (newest < this.last) this.last = -1;
    for (const h of hits)
      if (h.tick > this.last)
        this.flash({ who: `${h.a} ${h.b}`, point: h.point, impulse: h.impulse, until: now + FLASH_MS });
    this.last = newest;
  }

  // One burst for each pair: the newest.
  private flash(f: Flash): void {
    const same = this.flashes.findIndex((x) => x.who === f.who);
    if (same >= 0) this.flashes.splice(same, 1);
    this.flashes.push(f);
  }

  draw(o: Overlay, now: number): void {
    const contacts = store.contacts.value;
    const placed = placedContacts.value;
    const alone = contacts.length <= 6; // with more contacts the numbers would hide the scene
    for (let i = 0; i < contacts.length && i < MOST; i++) this.contact(o, contacts[i]!, placed[i]!, alone);
    for (let i = 0; i < this.flashes.length; i++) this.burst(o, this.flashes[i]!, now);
  }

  private contact(o: Overlay, c: ContactPoint, at: PlacedContact, numbered: boolean): void {
    from.fromArray(c.point);
    if (!o.toScreen(from)) return;
    const jammed = c.state === 'jammed';
    const colour = o.colour(jammed ? 'conflict' : 'hover');
    this.tangents(o, at, colour);
    this.normal(o, c, colour);
    if (jammed) o.crossed(from.x, from.y, 5.5, colour);
    else o.dot(from.x, from.y, 3.5, colour, true);
    const size = Math.hypot(c.force[0], c.force[1], c.force[2]);
    // the force is drawn on the moving body: on b where a is fixed
    const sign = store.objectOf(c.a)?.fixed ? -1 : 1;
    for (let k = 0; k < 3; k++) felt[k] = sign * c.force[k]!;
    if (size > 0.02) o.forceAt(c.point, felt, size, numbered ? newtons(size) : '', o.colour('reaction'), 1.6);
  }

  // A short line of constant length on the screen.
  private normal(o: Overlay, c: ContactPoint, colour: string): void {
    to.fromArray(c.normal).multiplyScalar(o.pixel(c.point) * NORMAL_PX);
    to.x += c.point[0];
    to.y += c.point[1];
    to.z += c.point[2];
    if (o.toScreen(to)) o.segment(from.x, from.y, to.x, to.y, colour, 1.4);
  }

  // Two lines of constant length in the common tangent plane; one along the tangent of curves.
  private tangents(o: Overlay, { touch, point, frame }: PlacedContact, colour: string): void {
    const size = o.pixel(point) * TANGENT_PX;
    this.stroke(o, point, along.fromArray(frame.e1).multiplyScalar(size), colour);
    if (touch !== 'curves') this.stroke(o, point, along.fromArray(frame.e2).multiplyScalar(size), colour);
  }

  private stroke(o: Overlay, point: Vec3, way: Vector3, colour: string): void {
    to.fromArray(point).add(way);
    if (!o.toScreen(to)) return;
    const [x, y] = [to.x, to.y];
    to.fromArray(point).sub(way);
    if (o.toScreen(to)) o.segment(x, y, to.x, to.y, colour, 1);
  }

  private burst(o: Overlay, f: Flash, now: number): void {
    from.fromArray(f.point);
    if (!o.toScreen(from)) return;
    const left = calm.matches ? 0.5 : Math.max(0, (f.until - now) / FLASH_MS);
    const colour = o.colour('selected');
    const reach = 6 + Math.min(9, 2 * Math.log1p(1e3 * f.impulse)) * (1.2 - left);
    for (let k = 0; k < 8; k++) {
      const a = (k * Math.PI) / 4;
      const [x, y] = [Math.cos(a), Math.sin(a)];
      o.segment(
        from.x + 0.45 * reach * x,
        from.y + 0.45 * reach * y,
        from.x + reach * x,
        from.y + reach * y,
        colour,
        0.6 + 1.8 * left,
      );
    }
  }
}
