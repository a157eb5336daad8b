/*
 * How far apart two convex solids are, and along which direction. Any thread, no memory taken.
 */
#ifndef GW_COLLISION_GJK_EPA_H
#define GW_COLLISION_GJK_EPA_H

#include "rt/collision/convex.h"

/* The signed gap of two solids and its direction, from b towards a (unit, world). */
typedef struct gw_signed_distance {
    double gap;
    gw_vec3 normal;
} gw_signed_distance;

/* How far a lies beyond b along n, roundings left out: min n . x_a - max n . x_b. */
double gw_separation_along(const gw_convex *a, const gw_convex *b, gw_vec3 n);

/* False where the solids are farther apart than `reach`. */
bool gw_convex_distance(const gw_convex *a, const gw_convex *b, double reach,
                        gw_signed_distance *gap);

/* The next direction: of the faces' of either the one along which they overlap least, but more than
 * along *gap. False where there is none. */
bool gw_next_separating_axis(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap);

/* The parts of it, for one another: distance by simplices where the cores are apart; the direction
 * of least overlap, for polytopes with few edges, for two boxes and for any cores that have a
 * volume; a direction made exact where lines and faces of the solids say what it is. */
typedef enum gw_gjk_result { GW_GJK_DISJOINT, GW_GJK_BEYOND_REACH, GW_GJK_OVERLAP } gw_gjk_result;

gw_gjk_result gw_gjk(const gw_convex *a, const gw_convex *b, double reach, gw_signed_distance *gap);
void gw_sat_polytopes(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap);
void gw_sat_boxes(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap);
void gw_epa(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap);
void gw_refine_normal(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap);

#endif
