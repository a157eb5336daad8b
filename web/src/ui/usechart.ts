// A chart on a canvas of a panel.
import { effect } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { sampled } from '../state/recorder';
import * as store from '../state/store';
import { Chart } from './chart';

// Paints at once, and whenever a signal that it reads, or the size, changes.
export function useChart(paint: (chart: Chart) => void): { current: HTMLCanvasElement | null } {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const chart = new Chart(canvas.current!);
    const stop = effect(() => {
      store.figures.value;
      store.theme.value;
      sampled.value;
      paint(chart);
    });
    const watch = new ResizeObserver(([entry]) => {
      chart.resize(entry!.contentRect.width, entry!.contentRect.height);
      paint(chart);
    });
    watch.observe(canvas.current!);
    return () => {
      stop();
      watch.disconnect();
    };
  }, []);
  return canvas;
}
