/*
 * Pairs of points of two convex solids that may meet: up to four. Any thread, no memory taken.
 */
#ifndef GW_COLLISION_TOUCHING_H
#define GW_COLLISION_TOUCHING_H

#include "rt/collision/clearance.h"
#include "rt/collision/near.h"

/* One pair: in world coordinates. */
typedef struct gw_touching {
    gw_vec3 a, b;
    double radius_a, radius_b;
    gw_normal_kind kind;
    gw_vec3 normal; /* from b towards a */
    bool of_face;   /* the normal is that of a face */
    double gap;
    uint32_t feature_a, feature_b; /* the same while the same corners and faces are near */
} gw_touching;

/* Which pairs count: those of which `drop` is false. */
typedef struct gw_touching_filter {
    bool (*drop)(const void *context, const gw_touching *pair);
    const void *context;
} gw_touching_filter;

/* Out of the gap of two solids all pairs nearer than `reach`, nearest first; returns how many.
 * `slide`: velocity of a against b there (m/s): whether a ball goes along an edge or over it.
 * `filter` NULL: all count. */
int gw_touching_of(const gw_convex *a, const gw_convex *b, const gw_clearance *gap, double reach,
                   gw_vec3 slide, const gw_touching_filter *filter, gw_touching pairs[GW_TOUCHING]);

#endif
