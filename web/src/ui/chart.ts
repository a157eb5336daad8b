// Line charts on a small canvas: axes, rules, traces. Colours come from the style sheet.

import { fixed } from '../state/words';
import { colour } from './colours';

export interface Trace {
  name: string;
  colour: string; // a custom property of the style sheet
  dash: number[];
  times: Float64Array;
  values: Float64Array;
  count: () => number;
  stems?: boolean; // each value is drawn as a stem from the axis
}

export function niceTop(top: number): number {
  if (!(top > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(top));
  return [1, 2, 5, 10].find((k) => k * power >= top * (1 - 1e-12))! * power;
}

const LEFT = 44;
const BOTTOM = 16;

// The value with as many digits as distinguish the rules of an axis.
function figure(v: number, span: number): string {
  return fixed(v, Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(span || 1)))));
}

const SUPERSCRIPTS: Readonly<Record<string, string>> = Object.fromEntries(
  [...'\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079'].map((c, i) => [String(i), c]),
);

// "10\u207b\u00b3"
export const power = (of: number): string => `10${[...String(of)].map((c) => SUPERSCRIPTS[c] ?? '\u207b').join('')}`;

export class Chart {
  private readonly pen: CanvasRenderingContext2D;
  private w = 0; // in CSS pixels, set by `resize`
  private h = 0;
  private low = 0;
  private high = 1;
  private from = 0;
  private to = 1;
  private powers = false;

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.pen = canvas.getContext('2d')!;
  }

  resize(width: number, height: number): void {
    [this.w, this.h] = [width, height];
  }

  // Clears the chart; false where it is not on the screen.
  begin(from: number, to: number): boolean {
    const ratio = Math.min(devicePixelRatio || 1, 2);
    if (!this.w || !this.h) return false;
    const [width, height] = [Math.round(this.w * ratio), Math.round(this.h * ratio)];
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.pen.clearRect(0, 0, this.w, this.h);
    this.from = from;
    this.to = to > from ? to : from + 1;
    return true;
  }

  // Sets the range so that all shown values fit, and at least up to `floor`.
  fit(traces: readonly Trace[], floor: number): void {
    let low = 0;
    let high = floor;
    for (const t of traces)
      for (let i = 0; i < t.count(); i++) {
        if (t.times[i]! < this.from) continue;
        low = Math.min(low, t.values[i]!);
        high = Math.max(high, t.values[i]!);
      }
    this.low = low < 0 ? -niceTop(-low) : 0;
    this.high = niceTop(high);
  }

  // Sets the range for values that are powers of ten, with rules at integers.
  fitPowers(trace: Trace): void {
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < trace.count(); i++) {
      low = Math.min(low, trace.values[i]!);
      high = Math.max(high, trace.values[i]!);
    }
    this.high = Number.isFinite(high) ? Math.ceil(high) : 1;
    this.low = Math.min(Number.isFinite(low) ? Math.floor(low) : 0, this.high - 2);
    this.low -= (this.high - this.low) % 2;
    this.powers = true;
  }

  private x(t: number): number {
    return LEFT + ((t - this.from) / (this.to - this.from)) * (this.w - LEFT - 6);
  }

  private y(v: number): number {
    return 6 + ((this.high - v) / (this.high - this.low)) * (this.h - BOTTOM - 8);
  }

  // Labels a rule; `larger` is the unit a thousand times as large.
  rule(left: string, right: string, unit = '', larger = ''): void {
    const per = larger && this.high - this.low >= 2000 ? 1000 : 1;
    const { pen } = this;
    pen.font = '10px system-ui, sans-serif';
    pen.fillStyle = colour('--muted');
    pen.strokeStyle = colour('--line');
    pen.lineWidth = 1;
    pen.textAlign = 'right';
    pen.textBaseline = 'middle';
    for (const v of [this.high, (this.high + this.low) / 2, this.low]) {
      const at = Math.round(this.y(v)) + 0.5;
      pen.beginPath();
      pen.moveTo(LEFT, at);
      pen.lineTo(this.w - 6, at);
      pen.stroke();
      pen.fillText(this.powers ? power(v) : figure(v / per, (this.high - this.low) / per), LEFT - 5, at);
    }
    pen.textAlign = 'left';
    pen.fillText(per > 1 ? larger : unit, 2, this.h - 5);
    pen.fillText(left, LEFT, this.h - 5);
    pen.textAlign = 'right';
    pen.fillText(right, this.w - 6, this.h - 5);
  }

  lines(traces: readonly Trace[], width = 1.6): void {
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(LEFT, 0, this.w - LEFT, this.h - BOTTOM + 4);
    this.pen.clip();
    this.pen.lineWidth = width;
    for (const t of traces) t.stems ? this.stems(t) : this.line(t);
    this.pen.restore();
  }

  private line(t: Trace): void {
    this.pen.beginPath();
    const n = t.count();
    for (let i = 0; i < n; i++) {
      if (i + 1 < n && t.times[i + 1]! < this.from) continue;
      this.pen.lineTo(this.x(t.times[i]!), this.y(t.values[i]!));
    }
    this.pen.strokeStyle = colour(t.colour);
    this.pen.setLineDash(t.dash);
    this.pen.stroke();
    this.pen.setLineDash([]);
  }

  private stems(t: Trace): void {
    this.pen.beginPath();
    const zero = this.y(0);
    for (let i = 0; i < t.count(); i++) {
      if (t.times[i]! < this.from || !t.values[i]) continue;
      const x = this.x(t.times[i]!);
      this.pen.moveTo(x, zero);
      this.pen.lineTo(x, this.y(t.values[i]!));
    }
    this.pen.strokeStyle = colour(t.colour);
    this.pen.stroke();
  }
}
