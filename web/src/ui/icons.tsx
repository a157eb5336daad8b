// Line icons on a 16-unit square. They stand beside words or have a title of their own.
import type { JSX } from 'preact';

const SURFACE = 'M2 6c4-3.5 7 1.5 12-1.5v6c-5 3-8-2-12 1.5zM2 9c4-3.5 7 1.5 12-1.5M6 4.6v6M10 5.3v6';
const CURVE = 'M2 12.5c2.5-9 5 2 7.5-3.5S13 4 14 3.5';

const paths: Record<string, string> = {
  run: 'M5 3l8 5-8 5z',
  pause: 'M5 3v10M11 3v10',
  stop: 'M4 4h8v8H4z',
  step: 'M4 3l6 5-6 5zM12.5 3v10',
  undo: 'M6 3L3 6l3 3M3 6h6a4 4 0 010 8H6',
  redo: 'M10 3l3 3-3 3M13 6H7a4 4 0 000 8h3',
  save: 'M3 3h8l2 2v8H3zM5.5 3v3.5h4V3M5 13V9.5h6V13',
  download: 'M8 2v8M5 7l3 3 3-3M3 13h10',
  open: 'M2.5 12.5v-9h4l1.5 2h5.5v7z',
  gallery: 'M2.5 2.5h4.5v4.5H2.5zM9 2.5h4.5v4.5H9zM2.5 9h4.5v4.5H2.5zM9 9h4.5v4.5H9z',
  box: 'M8 2l5 2.5v6L8 13.5 3 10.5v-6zM3 4.5L8 7l5-2.5M8 7v6.5',
  cylinder: 'M3.5 4.5v7c0 1 2 2 4.5 2s4.5-1 4.5-2v-7M3.5 4.5c0-1 2-2 4.5-2s4.5 1 4.5 2-2 2-4.5 2-4.5-1-4.5-2z',
  cone: 'M8 2L3.5 11.5M8 2l4.5 9.5M3.5 11.5c0 1 2 2 4.5 2s4.5-1 4.5-2-2-2-4.5-2-4.5 1-4.5 2z',
  sphere: 'M13.5 8a5.5 5.5 0 11-11 0 5.5 5.5 0 0111 0zM2.5 8c0 1 2.5 2 5.5 2s5.5-1 5.5-2',
  capsule: 'M5 6a3 3 0 016 0v4a3 3 0 01-6 0zM5 6c0 .8 1.3 1.4 3 1.4S11 6.8 11 6',
  mesh: 'M8 2.5L13.5 6 11.5 13h-7L2.5 6zM8 2.5L6 8l2 5 2-5zM2.5 6L6 8h4l3.5-2',
  compound: 'M2.5 6l4-2 4 2v4.5l-4 2-4-2zM8 3l2.5-1 3 1.5v4L10.5 9',
  surface: SURFACE,
  'nurbs-surface': SURFACE,
  curve: CURVE,
  'nurbs-curve': CURVE,
  rim: 'M14 8c0 2-2.7 3.5-6 3.5S2 10 2 8s2.7-3.5 6-3.5S14 6 14 8z',
  point: 'M8 6a2 2 0 110 4 2 2 0 010-4z',
  line: 'M3 13L13 3',
  plane: 'M2 10.5L6 4.5h8l-4 6z',
  trash: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.5 9h6l.5-9M6.8 7v4M9.2 7v4',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  sun:
    'M8 5.2a2.8 2.8 0 110 5.6 2.8 2.8 0 010-5.6zM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1' +
    'M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1',
  moon: 'M12.8 9.6A5.5 5.5 0 016.4 3.2a5.5 5.5 0 106.4 6.4z',
  auto: 'M8 2.5a5.5 5.5 0 110 11 5.5 5.5 0 010-11zM8 2.5v11',
  keys: 'M2 4.5h12v7H2zM4.5 7h.1M7 7h.1M9.5 7h.1M12 7h.1M5 9.5h6',
  search: 'M7 3a4 4 0 110 8 4 4 0 010-8zM10 10l3.5 3.5',
  ok: 'M3.5 8.5l3 3 6-7',
  chain: 'M6.5 9.5l3-3M7 5l1.5-1.5a2.5 2.5 0 013.6 3.6L10.5 8.7M9 11l-1.5 1.5a2.5 2.5 0 01-3.6-3.6L5.5 7.3',
  broken: 'M7 5l1.5-1.5a2.5 2.5 0 013.6 3.6L10.5 8.7M9 11l-1.5 1.5a2.5 2.5 0 01-3.6-3.6L5.5 7.3M3 3l10 10',
  off: 'M8 2.5a5.5 5.5 0 110 11 5.5 5.5 0 010-11zM4.2 4.2l7.6 7.6',
  free:
    'M8 2v12M2 8h12M8 2L6.5 3.5M8 2l1.5 1.5M14 8l-1.5-1.5M14 8l-1.5 1.5' +
    'M8 14l-1.5-1.5M8 14l1.5-1.5M2 8l1.5-1.5M2 8l1.5 1.5',
  under: 'M2 8h12M2 8l2-2M2 8l2 2M14 8l-2-2M14 8l-2 2',
  well: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 015 0v2.5',
  over: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 015 0v2.5M6 10.5h4M8 8.5v4',
  conflict: 'M8 2.5l6 11H2zM8 6.5v3.5M8 11.8v.2',
  info: 'M8 2.5a5.5 5.5 0 110 11 5.5 5.5 0 010-11zM8 7.5v3.5M8 5v.2',
  hand:
    'M5 8V4.2a1 1 0 012 0V7M7 7V3a1 1 0 012 0v4M9 7V4a1 1 0 012 0v5.5c0 2.5-1.5 4.5-4 4.5-2 0-3-1-4-3L1.9' +
    ' 9.3a1 1 0 011.6-1.1L5 10',
  right: 'M6 3.5L10.5 8 6 12.5',
  down: 'M3.5 6L8 10.5 12.5 6',
  wall: 'M5 2v12M5 3.5L2 6.5M5 8l-3 3M5 12.5l-1.5 1.5M14 8H7.5M10 5.5L7.5 8l2.5 2.5',
  arm:
    'M2.5 13.5h4M4.5 13.5V11M4.5 11a1.5 1.5 0 110-3 1.5 1.5 0 010 3zM5.6 8.6l3.3-3.9M10 2.5a1.5 1.5 0' +
    ' 110 3 1.5 1.5 0 010-3zM11 5.2l2.5 4.3',
  turn: 'M12.8 6A5.2 5.2 0 1013 9.5M13.2 2.8V6.2H9.8',
  slide: 'M2 5.5h12M2 10.5h12M5 8h6M5 8l1.6-1.4M5 8l1.6 1.4M11 8L9.4 6.6M11 8L9.4 9.4',
  hit: 'M8 1.5v3M8 11.5v3M1.5 8h3M11.5 8h3M3.5 3.5l2 2M10.5 10.5l2 2M12.5 3.5l-2 2M5.5 10.5l-2 2',
  touch: 'M8 5.5a2.5 2.5 0 110 5 2.5 2.5 0 010-5zM2 13.5h12',
  jammed: 'M4 4h8v8H4zM4 4l8 8M12 4l-8 8',
  task: 'M3 4h1.5M7 4h6M3 8h1.5M7 8h6M3 12h1.5M7 12h6',
  up: 'M3.5 10L8 5.5l4.5 4.5',
  assemble: 'M8 2v4.5M6 4.5l2 2 2-2M8 14V9.5M6 11.5l2-2 2 2M2 8h3M11 8h3',
  halt: 'M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5z',
};

export function Icon({ name, title }: { name: string; title?: string }): JSX.Element {
  return (
    <svg
      class={`icon icon-${name}`}
      viewBox="0 0 16 16"
      width="16"
      height="16"
      aria-hidden={title ? undefined : true}
      role={title ? 'img' : undefined}
      aria-label={title}
    >
      <path d={paths[name] ?? ''} />
    </svg>
  );
}
