/*
 * What a detector is made of: convex pieces of the bodies' solids. Not for use inside a tick, but
 * for what is marked RT safe: that reads nothing that changes once it is made.
 */
#ifndef GW_COLLISION_GEOM_H
#define GW_COLLISION_GEOM_H

#include "rt/collision/gjk_epa.h"
#include "rt/collision/trimesh.h"
#include "rt/collision/polytope.h"

typedef struct gw_geom {
    int body, material;
    int next;              /* of the same body's pieces, in a ring */
    gw_pose body_from;     /* body_from_piece */
    gw_polytope *polytope; /* owned; NULL where the core is round */
    gw_trimesh *facets;    /* owned; of a mesh that is not convex, else NULL */
    gw_convex convex;      /* where it was last placed */
    gw_vec3 centre, half;  /* of its bounding box, in its frame (m) */
    double radius;         /* of the ball about the centre that holds it */
    gw_vec3 at;            /* the centre when last placed, and how it moves */
    gw_twist twist;
} gw_geom;

/* A primitive or a mesh as a piece; false (GW_FAILED) when memory is short. */
bool gw_geom_init(gw_geom *piece, const gw_shape *shape, const gw_pose *body_from, gw_error *error);
void gw_geom_finish(gw_geom *piece);

/* Puts it where its body is. */
void gw_geom_set_pose(gw_geom *piece, const gw_pose *world_from_body, const gw_twist *twist);

/* Half lengths of the box along the world's axes that holds it where it is. */
gw_vec3 gw_geom_half_extents(const gw_geom *piece);

/* The piece's solid with its body there, whatever was placed; never of a mesh. RT safe. */
gw_convex gw_geom_convex_at(const gw_geom *piece, const gw_pose *world_from_body);

/* How far outside the piece, its body there, the point is, and the shortest way out; false where it
 * is farther than `reach`, and for a mesh. RT safe. */
bool gw_geom_point_distance(const gw_geom *piece, const gw_pose *world_from_body, gw_vec3 point,
                            double reach, gw_signed_distance *way);

#endif
