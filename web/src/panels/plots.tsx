// Ten seconds of the hand's force and of the constraint's error, drawn as they come.
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { JSX } from 'preact';
import { fixed } from '../words';
import * as store from '../store';

const SPAN_S = 10;
const CAP = 256;

interface Trace { name: string; colour: string; dash: number[]; values: Float64Array }

class Recorder {
  readonly times = new Float64Array(CAP);
  readonly forceNormal = new Float64Array(CAP);
  readonly forceTangential = new Float64Array(CAP);
  readonly residual = new Float64Array(CAP);
  readonly tracking = new Float64Array(CAP);
  count = 0;
  last = -1;

  take(): void {
    const sim = store.simulation.value;
    const tool = sim?.tools[0];
    if (!sim) return;
    if (sim.time < this.last) this.count = 0;
    if (sim.time === this.last && this.count > 0) return;
    this.last = sim.time;
    if (this.count === CAP) this.shift();
    const i = this.count++;
    this.times[i] = sim.time;
    this.forceNormal[i] = tool?.force_normal ?? 0;
    this.forceTangential[i] = tool?.force_tangential ?? 0;
    this.residual[i] = (tool?.residual ?? 0) * 1e6;
    this.tracking[i] = (tool?.error_p ?? 0) * 1e6;
  }

  private shift(): void {
    for (const a of [this.times, this.forceNormal, this.forceTangential, this.residual, this.tracking]) a.copyWithin(0, 1);
    this.count--;
  }
}

const recorder = new Recorder();

function niceTop(top: number): number {
  if (!(top > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(top));
  return [1, 2, 5, 10].find((k) => k * power >= top)! * power;
}

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function extent(traces: Trace[], floor: number): [number, number] {
  let low = 0;
  let high = floor;
  for (const t of traces)
    for (let i = 0; i < recorder.count; i++) {
      low = Math.min(low, t.values[i]!);
      high = Math.max(high, t.values[i]!);
    }
  return [low < 0 ? -niceTop(-low) : 0, niceTop(high)];
}

function draw(canvas: HTMLCanvasElement, traces: Trace[], floor: number): void {
  const ratio = Math.min(devicePixelRatio || 1, 2);
  const [w, h] = [canvas.clientWidth, canvas.clientHeight];
  if (!w || !h) return;
  if (canvas.width !== Math.round(w * ratio)) canvas.width = Math.round(w * ratio);
  if (canvas.height !== Math.round(h * ratio)) canvas.height = Math.round(h * ratio);
  const pen = canvas.getContext('2d')!;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, w, h);
  const [low, high] = extent(traces, floor);
  const left = 40;
  const x = (t: number): number => left + ((t - (recorder.last - SPAN_S)) / SPAN_S) * (w - left - 6);
  const y = (v: number): number => 6 + ((high - v) / (high - low)) * (h - 22);
  rule(pen, [high, (high + low) / 2, low], y, left, w, h);
  pen.save();
  pen.beginPath();
  pen.rect(left, 0, w - left, h - 12);
  pen.clip();
  for (const trace of traces) line(pen, trace, x, y);
  pen.restore();
}

function rule(pen: CanvasRenderingContext2D, ticks: number[], y: (v: number) => number, left: number, w: number, h: number): void {
  pen.font = '10px system-ui, sans-serif';
  pen.fillStyle = colour('--muted');
  pen.strokeStyle = colour('--line');
  pen.lineWidth = 1;
  pen.textAlign = 'right';
  pen.textBaseline = 'middle';
  for (const v of ticks) {
    const at = Math.round(y(v)) + 0.5;
    pen.beginPath();
    pen.moveTo(left, at);
    pen.lineTo(w - 6, at);
    pen.stroke();
    pen.fillText(fixed(v, Math.abs(v) < 1 ? 3 : 1), left - 5, at);
  }
  pen.textAlign = 'left';
  pen.fillText(`\u2212${SPAN_S} s`, left, h - 5);
  pen.textAlign = 'right';
  pen.fillText('now', w - 6, h - 5);
}

function line(pen: CanvasRenderingContext2D, trace: Trace, x: (t: number) => number, y: (v: number) => number): void {
  pen.beginPath();
  for (let i = 0; i < recorder.count; i++) {
    if (i === 0) pen.moveTo(x(recorder.times[i]!), y(trace.values[i]!));
    else pen.lineTo(x(recorder.times[i]!), y(trace.values[i]!));
  }
  pen.strokeStyle = colour(trace.colour);
  pen.lineWidth = 1.6;
  pen.setLineDash(trace.dash);
  pen.stroke();
  pen.setLineDash([]);
}

const FORCE: Trace[] = [
  { name: 'normal', colour: '--view-force', dash: [], values: recorder.forceNormal },
  { name: 'tangential', colour: '--view-motion', dash: [5, 3], values: recorder.forceTangential },
];
const ERROR: Trace[] = [
  { name: 'constraint', colour: '--view-conflict', dash: [], values: recorder.residual },
  { name: 'tool to device', colour: '--muted', dash: [2, 3], values: recorder.tracking },
];

const newest = (t: Trace): number => (recorder.count ? t.values[recorder.count - 1]! : 0);

function Plot(p: { title: string; unit: string; traces: Trace[]; floor: number }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const paint = (): void => {
      if (canvas.current) draw(canvas.current, p.traces, p.floor);
    };
    const stop = effect(() => {
      store.figures.value;
      store.theme.value;
      paint();
    });
    const watch = new ResizeObserver(paint);
    watch.observe(canvas.current!);
    return () => {
      stop();
      watch.disconnect();
    };
  }, []);
  store.figures.value;
  return (
    <figure class="plot">
      <figcaption>
        <strong>{p.title}</strong>
        {p.traces.map((t) => (
          <span key={t.name} class="key"><svg width="18" height="8" aria-hidden="true"><line x1="0" y1="4" x2="18" y2="4" class={`key-line key${t.colour}`} stroke-dasharray={t.dash.join(' ')} /></svg>
            {t.name} <output>{fixed(newest(t), Math.abs(newest(t)) < 0.1 ? 3 : 2)} {p.unit}</output></span>
        ))}
      </figcaption>
      <canvas ref={canvas} role="img" aria-label={`${p.title} over the last ${SPAN_S} seconds`} />
    </figure>
  );
}

export function Plots(): JSX.Element {
  useEffect(() => effect(() => recorder.take()), []);
  return (
    <div class="plots" role="group" aria-label="Live plots">
      <Plot title="Force of the hand" unit="N" traces={FORCE} floor={1} />
      <Plot title="Error" unit={'\u00b5m'} traces={ERROR} floor={1} />
    </div>
  );
}
