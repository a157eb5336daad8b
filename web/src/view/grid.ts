// The ground, level with the lowest body: a ruled square that fades towards its rim, x and y axes told apart.
import { BufferGeometry, Float32BufferAttribute, LineBasicMaterial, LineSegments } from 'three';
import type { Palette } from './palette';

const CELLS = 20; // on each side of the origin

export class Grid {
  readonly lines: LineSegments;
  cell = 0;
  private readonly material = new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false });

  constructor(private readonly palette: Palette) {
    this.lines = new LineSegments(new BufferGeometry(), this.material);
    this.lines.renderOrder = -1;
  }

  // A cell of 1, 2 or 5 times a power of ten that suits a scene of this size; `floor` is its height.
  fit(size: number, floor: number): void {
    this.lines.position.z = floor;
    const raw = size / 7;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((k) => k * power >= raw)! * power;
    if (step !== this.cell) this.build(step);
  }

  rebuild(): void {
    if (this.cell > 0) this.build(this.cell);
  }

  private build(cell: number): void {
    this.cell = cell;
    const position: number[] = [];
    const colour: number[] = [];
    const reach = CELLS * cell;
    const ink = this.palette.colour('grid');
    const axis = this.palette.colour('grid-axis');
    const at = (x: number, y: number, strong: boolean): void => {
      const fade = Math.max(0, 1 - Math.hypot(x, y) / reach);
      const c = strong ? axis : ink;
      position.push(x, y, 0);
      colour.push(c.r, c.g, c.b, fade ** 1.2 * (strong ? 0.9 : 0.75));
    };
    const stops = [-1, -0.5, -0.2, 0, 0.2, 0.5, 1].map((x) => x * reach);
    for (let i = -CELLS; i <= CELLS; i++)
      for (let j = 1; j < stops.length; j++) {
        const [from, to] = [stops[j - 1]!, stops[j]!];
        if (Math.hypot(i * cell, Math.min(Math.abs(from), Math.abs(to))) >= reach) continue;
        at(i * cell, from, i === 0);
        at(i * cell, to, i === 0);
        at(from, i * cell, i === 0);
        at(to, i * cell, i === 0);
      }
    this.lines.geometry.dispose();
    this.lines.geometry = new BufferGeometry()
      .setAttribute('position', new Float32BufferAttribute(position, 3))
      .setAttribute('color', new Float32BufferAttribute(colour, 4));
  }
}
