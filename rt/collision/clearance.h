/*
 * How far apart two convex solids are, and along which direction. Any thread, no memory taken.
 */
#ifndef GW_COLLISION_CLEARANCE_H
#define GW_COLLISION_CLEARANCE_H

#include "rt/collision/convex.h"

/* The signed gap of two solids and its direction, from b towards a (unit, world). */
typedef struct gw_clearance {
    double gap;
    gw_vec3 normal;
} gw_clearance;

/* How far a lies beyond b along n, roundings left out: min n . x_a - max n . x_b. */
double gw_separation(const gw_convex *a, const gw_convex *b, gw_vec3 n);

/* False where the solids are farther apart than `reach`. */
bool gw_find_clearance(const gw_convex *a, const gw_convex *b, double reach, gw_clearance *gap);

/* The next direction: of the faces' of either the one along which they overlap least, but more than
 * along *gap. False where there is none. */
bool gw_clear_next(const gw_convex *a, const gw_convex *b, gw_clearance *gap);

/* The parts of it, for one another: distance by simplices where the cores are apart; the direction
 * of least overlap, for polytopes with few edges, for two boxes and for any cores that have a
 * volume; a direction made exact where lines and faces of the solids say what it is. */
typedef enum gw_apart { GW_APART, GW_FAR, GW_OVERLAP } gw_apart;

gw_apart gw_clear_apart(const gw_convex *a, const gw_convex *b, double reach, gw_clearance *gap);
void gw_clear_axes(const gw_convex *a, const gw_convex *b, gw_clearance *gap);
void gw_clear_boxes(const gw_convex *a, const gw_convex *b, gw_clearance *gap);
void gw_clear_grown(const gw_convex *a, const gw_convex *b, gw_clearance *gap);
void gw_clear_polish(const gw_convex *a, const gw_convex *b, gw_clearance *gap);

#endif
