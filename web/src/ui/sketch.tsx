// A small drawing of a scene for the gallery: bodies in parallel projection, drawn from far to near.
import type { JSX } from 'preact';
import type { Geometry, Mechanism, Pose, Scene, Vec3 } from '../protocol';
import { linkShape } from '../state/linkshape';
import { add, compose, cross, dot, IDENTITY, perpendicular, rotate, scale, sub, toWorld, unit } from '../state/maths';
import { fullPose, linkPoses } from '../state/mechanisms';
import { type Surface, surfaceNet } from '../state/nurbs';

const EYE = unit([0.8, -1.25, 0.62]);
const RIGHT = unit(cross([0, 0, 1], EYE));
const UP = cross(EYE, RIGHT);
const WIDTH = 210;
const HEIGHT = 92;
const ROUND = 28;

interface Face {
  points: Vec3[];
  fixed: boolean;
  lit: number;
  depth: number;
}

const shade = (n: Vec3): number => Math.max(0, Math.min(3, Math.round(1.5 + 1.6 * dot(n, unit([-0.3, -0.5, 0.9])))));

function face(points: Vec3[], normal: Vec3, fixed: boolean, near: number): Face[] {
  return dot(normal, EYE) > 0.01 ? [{ points, fixed, lit: shade(normal), depth: near }] : [];
}

function ring(g: Pose, radius: number, z: number): Vec3[] {
  return Array.from({ length: ROUND }, (_, i) => {
    const a = (2 * Math.PI * i) / ROUND;
    return toWorld(g, [radius * Math.cos(a), radius * Math.sin(a), z]);
  });
}

function boxFaces(size: Vec3, g: Pose, fixed: boolean): Face[] {
  const near = dot(g.p, EYE);
  return [0, 1, 2].flatMap((k) =>
    [1, -1].flatMap((s) => {
      const axis = (i: number): Vec3 => [0, 1, 2].map((j) => (j === i % 3 ? 1 : 0)) as Vec3;
      const h = (i: number): number => size[i % 3]! / 2;
      const corners = [
        [-1, -1],
        [1, -1],
        [1, 1],
        [-1, 1],
      ].map(([u, v]) =>
        toWorld(
          g,
          add(scale(axis(k), s * h(k)), add(scale(axis(k + 1), u! * h(k + 1)), scale(axis(k + 2), v! * h(k + 2)))),
        ),
      );
      return face(corners, rotate(g.q, scale(axis(k), s)), fixed, near);
    }),
  );
}

function roundFaces(low: number, high: number, z0: number, z1: number, g: Pose, fixed: boolean): Face[] {
  const near = dot(g.p, EYE);
  const [a, b] = [ring(g, low, z0), ring(g, high, z1)];
  const axis = rotate(g.q, [0, 0, 1]);
  const sides = a.flatMap((p, i) => {
    const j = (i + 1) % ROUND;
    const quad = [p, a[j]!, b[j]!, b[i]!];
    const normal = unit(cross(sub(quad[1]!, quad[0]!), sub(quad[3]!, quad[0]!)));
    return face(quad, normal, fixed, near);
  });
  return [...sides, ...face(b, axis, fixed, near), ...face(a, scale(axis, -1), fixed, near)];
}

function ballFaces(radius: number, g: Pose, fixed: boolean): Face[] {
  const e1 = perpendicular(EYE);
  const e2 = cross(EYE, e1);
  const points = Array.from({ length: ROUND }, (_, i) => {
    const a = (2 * Math.PI * i) / ROUND;
    return add(g.p, add(scale(e1, radius * Math.cos(a)), scale(e2, radius * Math.sin(a))));
  });
  return [{ points, fixed, lit: 2, depth: dot(g.p, EYE) }];
}

// The facets of a free-form surface between its isolines.
function surfaceFaces(surface: Surface, g: Pose, fixed: boolean): Face[] {
  const { points: net, u, v } = surfaceNet(surface);
  const [rows, columns] = [u.lines, v.lines];
  return rows.slice(1).flatMap((i, a) =>
    columns.slice(1).map((j, b) => {
      const [i0, j0] = [rows[a]!, columns[b]!];
      const corners: [number, number][] = [
        [i0, j0],
        [i, j0],
        [i, j],
        [i0, j],
      ];
      const points = corners.map(([k, l]) => toWorld(g, net[k]![l]!));
      const n = unit(cross(sub(points[2]!, points[0]!), sub(points[3]!, points[1]!)));
      return { points, fixed, lit: shade(dot(n, EYE) < 0 ? scale(n, -1) : n), depth: dot(points[0]!, EYE) };
    }),
  );
}

function faces(geometry: Geometry, g: Pose, fixed: boolean): Face[] {
  switch (geometry.type) {
    case 'box':
      return boxFaces(geometry.size, g, fixed);
    case 'cylinder':
      return roundFaces(geometry.radius, geometry.radius, -geometry.height / 2, geometry.height / 2, g, fixed);
    case 'cone':
      return roundFaces(geometry.radius, geometry.radius * 1e-3, 0, geometry.height, g, fixed);
    case 'sphere':
      return ballFaces(geometry.radius, g, fixed);
    case 'capsule':
      return [
        ...roundFaces(geometry.radius, geometry.radius, -geometry.height / 2, geometry.height / 2, g, fixed),
        ...[1, -1].flatMap((s) =>
          ballFaces(geometry.radius, compose(g, { p: [0, 0, (s * geometry.height) / 2], q: IDENTITY.q }), fixed),
        ),
      ];
    case 'nurbs-surface':
      return surfaceFaces(geometry, g, fixed);
    case 'nurbs-curve':
    case 'mesh':
      return ballFaces(0.02, g, fixed);
    case 'compound':
      return geometry.parts.flatMap((p) => faces(p.geometry, compose(g, fullPose(p.pose)), fixed));
  }
}

function linkFaces(m: Mechanism): Face[] {
  const at = linkPoses(m);
  return m.links.flatMap((_, i) => {
    const { body, joint } = linkShape(m, i);
    return [...faces(body, at[i]!, false), ...faces(joint, at[i]!, true)];
  });
}

export function Sketch({ scene }: { scene: Scene | undefined }): JSX.Element {
  const all = (scene?.objects ?? [])
    .slice(0, 60)
    .flatMap((o) => faces(o.geometry, fullPose(o.pose), o.fixed ?? false))
    .concat((scene?.mechanisms ?? []).flatMap(linkFaces))
    .sort((a, b) => a.depth - b.depth);
  const flat = all.map((f) => f.points.map((p): [number, number] => [dot(p, RIGHT), -dot(p, UP)]));
  const xs = flat.flat().map((p) => p[0]);
  const ys = flat.flat().map((p) => p[1]);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [w, h] = [Math.max(...xs) - left, Math.max(...ys) - top];
  const k = Math.min((WIDTH - 24) / (w || 1), (HEIGHT - 16) / (h || 1));
  const at = ([x, y]: [number, number]): string =>
    `${(WIDTH / 2 + (x - left - w / 2) * k).toFixed(1)},${(HEIGHT / 2 + (y - top - h / 2) * k).toFixed(1)}`;
  return (
    <svg class="sketch" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      {all.map((f, i) => (
        <polygon
          key={i}
          class={`sketch-${f.fixed ? 'fixed' : 'mobile'} lit-${f.lit}`}
          points={flat[i]!.map(at).join(' ')}
        />
      ))}
    </svg>
  );
}
