/*
 * Solids given by triangles, not convex: each triangle as a convex solid of its own, and what tells
 * which of its directions belong to the whole. Which triangles are near is asked of ODE's trees.
 *
 * Heap memory, taken at creation. One thread at a time.
 */
#ifndef GW_CONTACT_FACETS_H
#define GW_CONTACT_FACETS_H

#include "rt/contact/convex.h"
#include "rt/contact/touching.h"
#include "rt/geom/mesh.h"

typedef struct gw_facets gw_facets;

#define GW_FACETS_TOUCHING 32 /* pairs of points that two solids have where one is a mesh */

gw_facets *gw_facets_create(gw_mesh *mesh, gw_error *error);
void gw_facets_destroy(gw_facets *facets); /* NULL is fine */

/* A mesh where it is, against something convex, or another mesh (`other`: then `convex` is where
 * that is). Pairs are from the first (a) and to the second (b): `mesh_is_a` says which is which. */
typedef struct gw_facets_pair {
    gw_facets *facets;
    gw_vec3 at; /* world_from_mesh */
    gw_mat3 turn;
    const gw_convex *convex;
    gw_vec3 centre, half; /* of a box around the convex, in its frame */
    gw_facets *other;
    bool mesh_is_a;
    double reach;
    gw_vec3 slide; /* of a against b */
} gw_facets_pair;

/* All pairs of points nearer than the reach, nearest first; returns how many. */
int gw_facets_touching(const gw_facets_pair *pair, gw_touching pairs[GW_FACETS_TOUCHING]);

#endif
