// The mass of an object, as stated or from its volume.
import type { Geometry, SceneObject } from '../protocol';

function volumeOf(g: Geometry): number {
  switch (g.type) {
    case 'box':
      return g.size[0] * g.size[1] * g.size[2];
    case 'sphere':
      return (4 / 3) * Math.PI * g.radius ** 3;
    case 'cylinder':
      return Math.PI * g.radius ** 2 * g.height;
    case 'cone':
      return (Math.PI / 3) * g.radius ** 2 * g.height;
    case 'capsule':
      return Math.PI * g.radius ** 2 * (g.height + (4 / 3) * g.radius);
    case 'nurbs-surface':
    case 'nurbs-curve':
      return 1e-3; // no volume: a moving one states its mass
    case 'mesh':
      return 1e-3; // a litre: the triangles may not have arrived
    case 'compound':
      return g.parts.reduce((sum, p) => sum + volumeOf(p.geometry), 0);
  }
}

export const massOf = (o: SceneObject): number => o.body?.mass ?? (o.body?.density ?? 1000) * volumeOf(o.geometry);
