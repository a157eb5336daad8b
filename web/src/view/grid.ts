// The ground below the scene, level with the lowest body: a square grid that fades towards its rim, with the world's x
// and y axes in their own colours.
import { BufferGeometry, Float32BufferAttribute, LineBasicMaterial, LineSegments, type Vector3 } from 'three';
import type { Palette } from './palette';

const CELLS = 20; // on each side of the centre
const NEAR = 5; // cells: for a scene this near to the world's origin the grid is centred there

export class Grid {
  readonly lines: LineSegments;
  cell = 0;
  private across = 0; // centre, in cells from the world's origin
  private along = 0;
  private readonly material = new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false });

  constructor(private readonly palette: Palette) {
    this.lines = new LineSegments(new BufferGeometry(), this.material);
    this.lines.renderOrder = -1;
  }

  // Sets cells of 1, 2 or 5 times a power of ten for a scene of this size; `floor` is the height.
  fit(size: number, middle: Vector3, floor: number): void {
    const raw = size / 7;
    const power = 10 ** Math.floor(Math.log10(raw));
    const cell = [1, 2, 5, 10].find((k) => k * power >= raw)! * power;
    const cells = (x: number): number => (Math.hypot(middle.x, middle.y) < NEAR * cell ? 0 : Math.round(x / cell));
    const [across, along] = [cells(middle.x), cells(middle.y)];
    this.lines.position.set(across * cell, along * cell, floor);
    if (cell !== this.cell || across !== this.across || along !== this.along) this.build(cell, across, along);
  }

  // Moves the grid with the view's centre once that is halfway to the rim.
  reach(middle: Vector3): void {
    const { x, y } = this.lines.position;
    if (Math.hypot(middle.x - x, middle.y - y) < (CELLS / 2) * this.cell) return;
    const [across, along] = [Math.round(middle.x / this.cell), Math.round(middle.y / this.cell)];
    this.lines.position.set(across * this.cell, along * this.cell, this.lines.position.z);
    this.build(this.cell, across, along);
  }

  rebuild(): void {
    if (this.cell > 0) this.build(this.cell, this.across, this.along);
  }

  private build(cell: number, across: number, along: number): void {
    [this.cell, this.across, this.along] = [cell, across, along];
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
        at(i * cell, from, i === -across);
        at(i * cell, to, i === -across);
        at(from, i * cell, i === -along);
        at(to, i * cell, i === -along);
      }
    this.lines.geometry.dispose();
    this.lines.geometry = new BufferGeometry()
      .setAttribute('position', new Float32BufferAttribute(position, 3))
      .setAttribute('color', new Float32BufferAttribute(colour, 4));
  }
}
