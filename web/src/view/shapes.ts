// Buffer geometries of primitives, free forms and mesh files. Every vertex has attributes from which the material draws
// lines where a value reaches 1 or -1: `rim` for edges, `ruled` for isolines of free-form surfaces, `mark` for lines by
// which a round body shows its rotation. A body and its lines are a single draw call.
import { BufferGeometry, type Color, Float32BufferAttribute, FrontSide, MeshLambertMaterial } from 'three';
import type { Geometry } from '../protocol';
import { type Curve, curvePoints, isFreeForm, type Ruling, type Surface, surfaceNet } from '../state/nurbs';
import { meshGeometryOf } from './meshgeometry';

const AROUND = 64; // facets of a full turn

class Builder {
  private position: number[] = [];
  private normal: number[] = [];
  private rim: number[] = [];
  private readonly mark: number[] = [];
  private index: number[] = [];

  vertex(p: readonly number[], n: readonly number[], u: number, v: number, w = 0): number {
    this.position.push(p[0]!, p[1]!, p[2]!);
    this.normal.push(n[0]!, n[1]!, n[2]!);
    this.rim.push(u, v, w);
    this.mark.push(0, 0);
    return this.position.length / 3 - 1;
  }

  // Sets `mark` of the newest vertex, on a round body: a line is drawn where either value is 1.
  marked(along: number, around = 0): void {
    this.mark.splice(-2, 2, along, around);
  }

  triangle(a: number, b: number, c: number): void {
    this.index.push(a, b, c);
  }

  done(): BufferGeometry {
    const out = new BufferGeometry();
    out.setAttribute('position', new Float32BufferAttribute(this.position, 3));
    out.setAttribute('normal', new Float32BufferAttribute(this.normal, 3));
    out.setAttribute('rim', new Float32BufferAttribute(this.rim, 3));
    out.setAttribute('mark', new Float32BufferAttribute(this.mark, 2));
    out.setIndex(this.index);
    out.computeBoundingSphere();
    return out;
  }
}

const FLOOR_M = 1.5; // m, least width of a plate that is drawn as a floor
const FLAT = 0.05; // largest thickness, relative to its shorter side
const FLOOR_LINES = 20; // along the longer side

// The numbers of squares of a floor, which make motion over it visible.
function floorLines(size: readonly number[], k: number): [number, number] {
  const [along, across] = [size[(k + 1) % 3]!, size[(k + 2) % 3]!];
  const lesser = Math.min(along, across);
  if (lesser < FLOOR_M || size[k]! > FLAT * lesser) return [1, 1];
  const cell = Math.max(along, across) / FLOOR_LINES;
  return [Math.round(along / cell), Math.round(across / cell)];
}

function box(size: readonly number[]): BufferGeometry {
  const b = new Builder();
  const ruled: number[] = [];
  for (let k = 0; k < 3; k++) {
    const [rows, columns] = floorLines(size, k);
    const wave = (i: number, of: number): number => (of === 1 ? 0 : i % 2 ? 1 : -1); // a line is drawn at 1 and -1
    for (const s of [1, -1])
      for (let row = 0; row <= rows; row++)
        for (let column = 0; column <= columns; column++) {
          const [u, v] = [(2 * row) / rows - 1, (2 * column) / columns - 1];
          const n = [0, 0, 0];
          n[k] = s;
          const p = [0, 0, 0];
          p[k] = (s * size[k]!) / 2;
          p[(k + 1) % 3] = (u * size[(k + 1) % 3]!) / 2;
          p[(k + 2) % 3] = (v * size[(k + 2) % 3]!) / 2;
          const d = b.vertex(p, n, u, v);
          ruled.push(wave(row, rows), wave(column, columns));
          if (row === 0 || column === 0) continue;
          const [behind, before] = [d - columns - 1, d - 1];
          const corners = s > 0 ? [behind - 1, before, d, behind] : [behind - 1, behind, d, before];
          b.triangle(corners[0]!, corners[1]!, corners[2]!);
          b.triangle(corners[0]!, corners[2]!, corners[3]!);
        }
  }
  return b.done().setAttribute('ruled', new Float32BufferAttribute(ruled, 2));
}

// 1 on the half plane y = 0, x > 0, falling to 0 at x = 0 and beyond.
const radial = (angle: number): number => (Math.cos(angle) > 0 ? 1 - Math.abs(Math.sin(angle)) : 0);

function disc(b: Builder, radius: number, z: number, up: number): void {
  const behind = b.vertex([0, 0, z], [0, 0, up], 0, 0);
  const before = b.vertex([0, 0, z], [0, 0, up], 0, 0);
  b.marked(1);
  for (let i = 0; i <= AROUND; i++) {
    const a = (up * 2 * Math.PI * i) / AROUND;
    const v = b.vertex([radius * Math.cos(a), radius * Math.sin(a), z], [0, 0, up], 1, 0);
    b.marked(radial(a));
    if (i > 0) b.triangle(4 * i <= AROUND || 4 * i > 3 * AROUND ? before : behind, v - 1, v);
  }
}

function side(b: Builder, low: number, high: number, z0: number, z1: number): void {
  const slope = (low - high) / (z1 - z0);
  const length = Math.hypot(1, slope);
  for (let i = 0; i <= AROUND; i++) {
    const a = (2 * Math.PI * i) / AROUND;
    const n = [Math.cos(a) / length, Math.sin(a) / length, slope / length];
    b.vertex([low * Math.cos(a), low * Math.sin(a), z0], n, -1, 0);
    b.marked(radial(a));
    const top = b.vertex([high * Math.cos(a), high * Math.sin(a), z1], n, high > 0 ? 1 : 0, 0);
    b.marked(radial(a));
    if (i === 0) continue;
    b.triangle(top - 3, top - 1, top);
    b.triangle(top - 3, top, top - 2);
  }
}

function cylinder(radius: number, height: number): BufferGeometry {
  const b = new Builder();
  side(b, radius, radius, -height / 2, height / 2);
  disc(b, radius, height / 2, 1);
  disc(b, radius, -height / 2, -1);
  return b.done();
}

function cone(radius: number, height: number): BufferGeometry {
  const b = new Builder();
  side(b, radius, 0, 0, height);
  disc(b, radius, 0, -1);
  return b.done();
}

function sphere(radius: number): BufferGeometry {
  const b = new Builder();
  const rows = AROUND / 2;
  for (let j = 0; j <= rows; j++)
    for (let i = 0; i <= AROUND; i++) {
      const polar = (Math.PI * j) / rows;
      const a = (2 * Math.PI * i) / AROUND;
      const n = [Math.sin(polar) * Math.cos(a), Math.sin(polar) * Math.sin(a), Math.cos(polar)];
      const v = b.vertex(
        n.map((x) => x * radius),
        n,
        0,
        0,
      );
      b.marked(1 - Math.abs(n[1]!), 1 - Math.abs(n[2]!));
      if (i === 0 || j === 0) continue;
      const up = v - AROUND - 1;
      b.triangle(up - 1, v - 1, v);
      b.triangle(up - 1, v, up);
    }
  return b.done();
}

// A cylinder with a hemisphere at each end; the seams are not edges.
function capsule(radius: number, height: number): BufferGeometry {
  const b = new Builder();
  const rows = AROUND / 2;
  for (let j = 0; j <= rows + 1; j++) {
    const upper = j <= rows / 2;
    const polar = (Math.PI * (upper ? j : j - 1)) / rows; // the equator twice: for the hemisphere and for the side
    for (let i = 0; i <= AROUND; i++) {
      const a = (2 * Math.PI * i) / AROUND;
      const n = [Math.sin(polar) * Math.cos(a), Math.sin(polar) * Math.sin(a), Math.cos(polar)];
      const v = b.vertex([n[0]! * radius, n[1]! * radius, n[2]! * radius + (upper ? height : -height) / 2], n, 0, 0);
      b.marked(1 - Math.abs(n[1]!));
      if (i === 0 || j === 0) continue;
      const up = v - AROUND - 1;
      b.triangle(up - 1, v - 1, v);
      b.triangle(up - 1, v, up);
    }
  }
  return b.done();
}

const minus = (a: readonly number[], b: readonly number[]): number[] => a.map((x, i) => x - b[i]!);
const cross = (a: readonly number[], b: readonly number[]): number[] =>
  [0, 1, 2].map((i) => a[(i + 1) % 3]! * b[(i + 2) % 3]! - a[(i + 2) % 3]! * b[(i + 1) % 3]!);
const unit = (a: readonly number[]): number[] => {
  const n = Math.hypot(...a);
  return n > 0 ? a.map((x) => x / n) : [0, 0, 1];
};

// Alternates between -1 and 1 from each isoline to the next: a line is drawn at both.
function waves({ at, lines }: Ruling): number[] {
  let cell = 0;
  return at.map((t, i) => {
    while (cell < lines.length - 2 && i > lines[cell + 1]!) cell++;
    const [from, to] = [at[lines[cell]!]!, at[lines[cell + 1]!]!];
    const x = (2 * (t - from)) / (to - from) - 1;
    return cell % 2 ? -x : x;
  });
}

// Goes from -1 to 1 over the whole range: an edge is drawn at both ends.
const whole = ({ at }: Ruling): number[] => at.map((t) => (2 * (t - at[0]!)) / (at[at.length - 1]! - at[0]!) - 1);

// A free-form surface, drawn from both sides; with its edges and isolines.
function surface(g: Surface): BufferGeometry {
  const b = new Builder();
  const { points: net, u: along, v: across } = surfaceNet(g);
  const [edgeU, edgeV, waveU, waveV] = [whole(along), whole(across), waves(along), waves(across)];
  const ruled: number[] = [];
  const [rows, columns] = [net.length, net[0]!.length];
  const at = (i: number, j: number): readonly number[] =>
    net[Math.min(Math.max(i, 0), rows - 1)]![Math.min(Math.max(j, 0), columns - 1)]!;
  for (const face of [1, -1])
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const n = unit(cross(minus(at(i + 1, j), at(i - 1, j)), minus(at(i, j + 1), at(i, j - 1))));
        const v = b.vertex(
          at(i, j),
          n.map((x) => face * x),
          edgeU[i]!,
          edgeV[j]!,
        );
        ruled.push(waveU[i]!, waveV[j]!);
        if (i === 0 || j === 0) continue;
        const [behind, before] = [v - columns, v - 1];
        if (face > 0) {
          b.triangle(behind - 1, v, before);
          b.triangle(behind - 1, behind, v);
        } else {
          b.triangle(behind - 1, before, v);
          b.triangle(behind - 1, v, behind);
        }
      }
  return b.done().setAttribute('ruled', new Float32BufferAttribute(ruled, 2));
}

// A free-form curve, as a thin wire.
function wire(g: Curve): BufferGeometry {
  const b = new Builder();
  const points = curvePoints(g);
  const radius = 0.006 * Math.hypot(...minus(points[0]!, points[points.length >> 1]!));
  const around = 8;
  points.forEach((p, i) => {
    const along = unit(minus(points[Math.min(i + 1, points.length - 1)]!, points[Math.max(i - 1, 0)]!));
    const x = unit(cross(along, Math.abs(along[2]!) < 0.9 ? [0, 0, 1] : [1, 0, 0]));
    const y = cross(along, x);
    for (let k = 0; k <= around; k++) {
      const a = (2 * Math.PI * k) / around;
      const n = x.map((e, c) => Math.cos(a) * e + Math.sin(a) * y[c]!);
      const v = b.vertex(
        p.map((e, c) => e + radius * n[c]!),
        n,
        0,
        0,
      );
      if (i === 0 || k === 0) continue;
      const back = v - around - 1;
      b.triangle(back - 1, back, v);
      b.triangle(back - 1, v, v - 1);
    }
  });
  return b.done();
}

const cache = new Map<string, BufferGeometry>();
const MOST_FREE_FORMS = 64; // cached: while a control point is dragged every frame has a new one
const freeForms = new Map<string, BufferGeometry>(); // oldest first

function freeForm(g: Surface | Curve): BufferGeometry {
  const key = JSON.stringify(g);
  const found = freeForms.get(key) ?? (g.type === 'nurbs-surface' ? surface(g) : wire(g));
  freeForms.delete(key);
  freeForms.set(key, found);
  if (freeForms.size > MOST_FREE_FORMS) {
    const [oldest, buffer] = freeForms.entries().next().value!;
    freeForms.delete(oldest);
    buffer.dispose(); // uploaded again if it is still in the scene
  }
  return found;
}

// The geometry of a primitive; equal ones share one buffer.
export function geometryOf(g: Exclude<Geometry, { type: 'compound' }>): BufferGeometry {
  if (g.type === 'mesh') return meshGeometryOf(g.file);
  if (isFreeForm(g)) return freeForm(g);
  const key = JSON.stringify(g);
  let found = cache.get(key);
  if (!found) {
    if (g.type === 'box') found = box(g.size);
    else if (g.type === 'sphere') found = sphere(g.radius);
    else if (g.type === 'capsule') found = capsule(g.radius, g.height);
    else found = g.type === 'cone' ? cone(g.radius, g.height) : cylinder(g.radius, g.height);
    cache.set(key, found);
  }
  return found;
}

const EDGE_VERTEX = `
attribute vec3 rim;
attribute vec2 ruled, mark;
uniform float marked;
varying vec3 vRim;
varying vec4 vRuled;
`;
const EDGE_FRAGMENT = `
uniform vec3 edge;
uniform float edgeWidth;
varying vec3 vRim;
varying vec4 vRuled;
`;
// Edges fade with the distance, so that they do not hide the faces. The silhouette of a round face: f = `facing` goes
// as the square root of the distance d to the silhouette, so d = f / (2 |grad f|).
const EDGE_MIX = `
  vec3 grain = max(fwidth(vRim), vec3(1e-6));
  vec3 toEdge = (1.0 - abs(vRim)) / grain;
  float onEdge = clamp(edgeWidth + 0.5 - min(toEdge.x, min(toEdge.y, toEdge.z)), 0.0, 1.0);
  onEdge *= clamp(1.3 - 3.0 * max(grain.x, max(grain.y, grain.z)), 0.2, 1.0);
  float facing = abs(dot(normal, normalize(vViewPosition)));
  float turning = max(fwidth(facing), 1e-6);
  onEdge = max(onEdge, clamp(edgeWidth + 0.5 - 0.5 * facing / turning, 0.0, 1.0) * step(turning, 0.35));
  vec4 fine = max(fwidth(vRuled), vec4(1e-6));
  vec4 onLine = clamp(1.1 - (1.0 - abs(vRuled)) / fine, 0.0, 1.0) * clamp(1.5 - 3.0 * fine, 0.0, 1.0);
  onEdge = max(onEdge, 0.5 * max(max(onLine.x, onLine.y), max(onLine.z, onLine.w)));
  outgoingLight = mix(outgoingLight, edge, onEdge);
  diffuseColor.a = max(diffuseColor.a, onEdge * edgeAlpha);
`;

export interface Skin {
  colour: Color;
  edge: Color;
  opacity?: number;
  edgeWidth?: number;
  edgeAlpha?: number;
  marked?: boolean; // round bodies have lines that show their rotation
}

// A lit surface with its edges drawn in the material.
export function skin(of: Skin): MeshLambertMaterial {
  const { colour, edge, opacity = 1, edgeWidth = 1.1, edgeAlpha = 0.9, marked = false } = of;
  const material = new MeshLambertMaterial({
    color: colour,
    transparent: opacity < 1,
    opacity,
    side: FrontSide,
    depthWrite: opacity === 1,
    polygonOffset: true,
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  });
  material.onBeforeCompile = (shader) => {
    shader.uniforms.edge = { value: edge };
    shader.uniforms.edgeWidth = { value: edgeWidth };
    shader.uniforms.marked = { value: marked ? 1 : 0 };
    shader.uniforms.edgeAlpha = { value: opacity < 1 ? edgeAlpha : 0 };
    shader.vertexShader =
      EDGE_VERTEX +
      shader.vertexShader.replace(
        '#include <begin_vertex>',
        '#include <begin_vertex>\nvRim = rim;\nvRuled = vec4(ruled, marked * mark);',
      );
    shader.fragmentShader = `uniform float edgeAlpha;\n${EDGE_FRAGMENT}${shader.fragmentShader.replace(
      '#include <opaque_fragment>',
      `${EDGE_MIX}\n#include <opaque_fragment>`,
    )}`;
  };
  material.customProgramCacheKey = () => 'edges';
  return material;
}
