/*
 * What a detector is made of: convex pieces of the bodies' solids. Not for use inside a tick, but
 * for what is marked RT safe: that reads nothing that changes once it is made.
 */
#ifndef GW_COLLISION_SOLID_H
#define GW_COLLISION_SOLID_H

#include "rt/collision/clearance.h"
#include "rt/collision/facets.h"
#include "rt/collision/polytope.h"

typedef struct gw_solid {
    int body, material;
    int next;              /* of the same body's pieces, in a ring */
    gw_pose body_from;     /* body_from_piece */
    gw_polytope *polytope; /* owned; NULL where the core is round */
    gw_facets *facets;     /* owned; of a mesh that is not convex, else NULL */
    gw_convex convex;      /* where it was last placed */
    gw_vec3 centre, half;  /* of its bounding box, in its frame (m) */
    double radius;         /* of the ball about the centre that holds it */
    gw_vec3 at;            /* the centre when last placed, and how it moves */
    gw_twist twist;
} gw_solid;

/* A primitive or a mesh as a piece; false (GW_FAILED) when memory is short. */
bool gw_solid_init(gw_solid *piece, const gw_shape *shape, const gw_pose *body_from,
                   gw_error *error);
void gw_solid_finish(gw_solid *piece);

/* Puts it where its body is. */
void gw_solid_place(gw_solid *piece, const gw_pose *world_from_body, const gw_twist *twist);

/* Half lengths of the box along the world's axes that holds it where it is. */
gw_vec3 gw_solid_extent(const gw_solid *piece);

/* The piece's solid with its body there, whatever was placed; never of a mesh. RT safe. */
gw_convex gw_solid_there(const gw_solid *piece, const gw_pose *world_from_body);

/* How far outside the piece, its body there, the point is, and the shortest way out; false where it
 * is farther than `reach`, and for a mesh. RT safe. */
bool gw_solid_outside(const gw_solid *piece, const gw_pose *world_from_body, gw_vec3 point,
                      double reach, gw_clearance *way);

#endif
