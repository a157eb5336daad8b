/*
 * Making polytopes. Each takes one block of heap memory, freed by gw_polytope_destroy(). Not for
 * use inside a tick.
 */
#ifndef GW_COLLISION_POLYTOPE_H
#define GW_COLLISION_POLYTOPE_H

#include "rt/collision/convex.h"
#include "rt/geometry/mesh.h"

void gw_polytope_destroy(gw_polytope *polytope); /* NULL is fine */

/* NULL: memory is short. */
gw_polytope *gw_polytope_point(void);
gw_polytope *gw_polytope_segment(double length); /* along z, about the origin */
gw_polytope *gw_polytope_box(gw_vec3 size);      /* about the origin */

/* Of a convex mesh: coplanar triangles become one face. NULL: memory is short, or coplanar
 * triangles do not make a polygon. */
gw_polytope *gw_polytope_hull(const gw_mesh *mesh);

#endif
