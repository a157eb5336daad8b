/*
 * What may touch soon: pairs of points on two bodies with a common normal, found by the detector
 * at its own rate, followed by the loop at every stage of its steps in between.
 *
 *   gap = n . (x_a - x_b) - r_a - r_b,      x the points of a and b, n from b towards a
 *
 * A gap below zero is a penetration. Plain values.
 */
#ifndef GW_COLLISION_CANDIDATE_H
#define GW_COLLISION_CANDIDATE_H

#include <stdint.h>

#include "rt/base/space.h"

#define GW_MANIFOLD_POINTS 4  /* pairs of points of two solids: more of them carry nothing more */
#define GW_PAIR_CANDIDATES 12 /* that a look within a step tells, where one is a mesh */

/* What a pair of surfaces is like. */
typedef struct gw_contact_material {
    double restitution;        /* e, 0 .. 1 */
    double friction;           /* mu */
    double stiffness, damping; /* of the penalty: N/m, N s/m; no more than a step bears is used */
} gw_contact_material;

/* Where n is known: fixed to body a, to body b, to the world, or from x_b to x_a (two balls). */
typedef enum gw_normal_kind {
    GW_NORMAL_IN_A,
    GW_NORMAL_IN_B,
    GW_NORMAL_IN_WORLD,
    GW_NORMAL_BETWEEN
} gw_normal_kind;

typedef struct gw_contact_candidate {
    uint64_t key; /* the same from one detection to the next while the same features are near */
    int a, b;     /* bodies, indices into the world's; a moves, b may stand */
    int geom_a, geom_b;  /* of the detector's: which of the bodies' solids */
    bool proximity_only; /* another piece of a body lies between them: they are near, no more is
                            told */
    gw_vec3 point_a, point_b;  /* in the bodies' frames (m) */
    double radius_a, radius_b; /* of balls around the points (m) */
    gw_normal_kind kind;
    gw_vec3 normal; /* unit, in the frame that `kind` says */
    gw_contact_material surface;
    double gap; /* when it was found (m) */
} gw_contact_candidate;

/* Two convex pieces to be looked at with their bodies there. */
typedef struct gw_pair_query {
    int geom_a, geom_b;
    gw_pose world_from_a, world_from_b;
    double reach;  /* pairs of points farther apart are not told (m) */
    gw_vec3 slide; /* velocity of a against b (m/s) */
} gw_pair_query;

#endif
