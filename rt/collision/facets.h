/*
 * Solids given by triangles, not convex: each triangle as a convex solid of its own, and what tells
 * which of its directions belong to the whole.
 *
 * Heap memory, taken at creation; nothing changes afterwards: any thread may ask.
 */
#ifndef GW_COLLISION_FACETS_H
#define GW_COLLISION_FACETS_H

#include "rt/collision/convex.h"
#include "rt/collision/touching.h"
#include "rt/geometry/mesh.h"

typedef struct gw_facets gw_facets;

#define GW_FACETS_TOUCHING 32 /* pairs of points that two solids have where one is a mesh */

gw_facets *gw_facets_create(gw_mesh *mesh, gw_error *error);
void gw_facets_destroy(gw_facets *facets); /* NULL is fine */

/* A mesh where it is, against something convex, or another mesh (`other`: then `convex` is where
 * that is). Pairs are from the first (a) and to the second (b): `mesh_is_a` says which is which. */
typedef struct gw_facets_pair {
    const gw_facets *facets;
    gw_vec3 at; /* world_from_mesh */
    gw_mat3 turn;
    const gw_convex *convex;
    gw_vec3 centre, half; /* of a box around the convex, in its frame */
    const gw_facets *other;
    bool mesh_is_a;
    bool
        few; /* only what is about as near as the nearest, of no more triangles than a step bears */
    double reach;
    gw_vec3 slide; /* of a against b */
} gw_facets_pair;

/* The pairs of points nearer than the reach, nearest first, `room` at most; returns how many. *gap
 * (NULL: not asked): of the surfaces, at most the reach; 0 or less where more triangles are near
 * than that. RT safe. */
int gw_facets_touching(const gw_facets_pair *pair, gw_touching *pairs, int room, double *gap);

#endif
