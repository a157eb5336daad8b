/*
 * Making polytopes: heap memory, one piece each, freed by gw_polytope_destroy(). Not for use inside
 * a tick.
 */
#ifndef GW_COLLISION_POLYTOPE_H
#define GW_COLLISION_POLYTOPE_H

#include "rt/collision/convex.h"
#include "rt/geometry/mesh.h"

/* Corners and faces as they come: face i has counts[i] corners, one after the other in `loop`,
 * counter-clockwise from outside. Edges of solids without faces are given, others follow. */
typedef struct gw_polytope_def {
    int vertex_count, face_count, edge_count;
    const gw_vec3 *vertices;
    const int *counts, *loop;
    const int (*edges)[2];
} gw_polytope_def;

gw_polytope *gw_polytope_create(const gw_polytope_def *def); /* NULL: memory is short */
void gw_polytope_destroy(gw_polytope *polytope);             /* NULL is fine */

gw_polytope *gw_polytope_point(void);
gw_polytope *gw_polytope_segment(double length); /* along z, about the origin */
gw_polytope *gw_polytope_box(gw_vec3 size);

/* Of a convex mesh: triangles in one plane become one face. */
gw_polytope *gw_polytope_hull(const gw_mesh *mesh);

#endif
