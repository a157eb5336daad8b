/*
 * Signed distance of two convex solids: GJK while they are disjoint, SAT or EPA while they overlap,
 * and a refinement of the normal. Pure functions. Any thread, no memory taken, RT safe.
 */
#ifndef GW_COLLISION_GJK_EPA_H
#define GW_COLLISION_GJK_EPA_H

#include "rt/collision/convex.h"

/* Below zero it is the penetration depth. The normal is a unit vector from b towards a, in world
 * axes: moving a along it by -distance brings the two into contact. */
typedef struct gw_signed_distance {
    double distance; /* m */
    gw_vec3 normal;
} gw_signed_distance;

/* The separation of the cores along the unit vector n: min n . x_a - max n . x_b (m). */
double gw_separation_along(const gw_convex *a, const gw_convex *b, gw_vec3 n);

/* False where the solids are farther apart than `reach` (m, INFINITY is fine); *result is then of
 * no use. */
bool gw_convex_distance(const gw_convex *a, const gw_convex *b, double reach,
                        gw_signed_distance *result);

/* Replaces *axis by the next best face normal of either solid: the one with the largest separation
 * that is smaller than that of *axis. False where there is none. */
bool gw_next_separating_axis(const gw_convex *a, const gw_convex *b, gw_signed_distance *axis);

#endif
