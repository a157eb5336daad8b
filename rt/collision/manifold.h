/*
 * Pairs of points of two convex solids that may meet: up to four. Any thread, no memory taken.
 */
#ifndef GW_COLLISION_MANIFOLD_H
#define GW_COLLISION_MANIFOLD_H

#include "rt/collision/gjk_epa.h"
#include "rt/collision/candidate.h"

/* One pair: in world coordinates. */
typedef struct gw_manifold_point {
    gw_vec3 a, b;
    double radius_a, radius_b;
    gw_normal_kind kind;
    gw_vec3 normal; /* from b towards a */
    bool of_face;   /* the normal is that of a face */
    double gap;
    uint32_t feature_a, feature_b; /* the same while the same corners and faces are near */
} gw_manifold_point;

/* Which pairs count: those of which `drop` is false. */
typedef struct gw_manifold_filter {
    bool (*drop)(const void *context, const gw_manifold_point *pair);
    const void *context;
} gw_manifold_filter;

/* Out of the gap of two solids all pairs nearer than `reach`, nearest first; returns how many.
 * `slide`: velocity of a against b there (m/s): whether a ball goes along an edge or over it.
 * `filter` NULL: all count. */
int gw_manifold_build(const gw_convex *a, const gw_convex *b, const gw_signed_distance *gap,
                      double reach, gw_vec3 slide, const gw_manifold_filter *filter,
                      gw_manifold_point pairs[GW_MANIFOLD_POINTS]);

#endif
