/*
 * Solids given by triangles, not convex: each triangle as a convex solid of its own, and what tells
 * which of its directions belong to the whole.
 *
 * Heap memory, taken at creation; nothing changes afterwards: any thread may ask.
 */
#ifndef GW_COLLISION_TRIMESH_H
#define GW_COLLISION_TRIMESH_H

#include "rt/collision/convex.h"
#include "rt/collision/manifold.h"
#include "rt/geometry/mesh.h"

typedef struct gw_trimesh gw_trimesh;

#define GW_TRIMESH_POINTS 32 /* pairs of points that two solids have where one is a mesh */

gw_trimesh *gw_trimesh_create(gw_mesh *mesh, gw_error *error);
void gw_trimesh_destroy(gw_trimesh *facets); /* NULL is fine */

/* A mesh where it is, against something convex, or another mesh (`other`: then `convex` is where
 * that is). Pairs are from the first (a) and to the second (b): `mesh_is_a` says which is which. */
typedef struct gw_trimesh_query {
    const gw_trimesh *facets;
    gw_vec3 at; /* world_from_mesh */
    gw_mat3 turn;
    const gw_convex *convex;
    gw_vec3 centre, half; /* of a box around the convex, in its frame */
    const gw_trimesh *other;
    bool mesh_is_a;
    bool
        few; /* only what is about as near as the nearest, of no more triangles than a step bears */
    double reach;
    gw_vec3 slide; /* of a against b */
} gw_trimesh_query;

/* The pairs of points nearer than the reach, nearest first, `room` at most; returns how many. *gap
 * (NULL: not asked): of the surfaces, at most the reach; 0 or less where more triangles are near
 * than that. RT safe. */
int gw_trimesh_manifold(const gw_trimesh_query *pair, gw_manifold_point *pairs, int room,
                        double *gap);

#endif
