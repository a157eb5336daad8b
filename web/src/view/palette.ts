// The view's colours, from the page's style sheet, so that they follow the theme.
import { Color } from 'three';
import { colour, forgetColours } from '../ui/colours';

const NAMES = [
  'canvas',
  'grid',
  'grid-axis',
  'fixed',
  'fixed-edge',
  'mobile',
  'mobile-edge',
  'motion',
  'hover',
  'selected',
  'conflict',
  'force',
  'reaction',
  'label',
  'halo',
] as const;

export type ColourName = (typeof NAMES)[number];

export class Palette {
  private readonly text = {} as Record<ColourName, string>;
  private readonly colours = {} as Record<ColourName, Color>;

  constructor() {
    for (const name of NAMES) this.colours[name] = new Color();
    this.read();
  }

  read(): void {
    forgetColours();
    for (const name of NAMES) {
      this.text[name] = colour(`--view-${name}`);
      this.colours[name].setStyle(this.text[name]);
    }
  }

  css(name: ColourName): string {
    return this.text[name];
  }

  colour(name: ColourName): Color {
    return this.colours[name];
  }
}
