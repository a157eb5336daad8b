/*
 * The contact manifold of two convex solids: up to four pairs of points that may come into contact.
 * Pure functions. Any thread, no memory taken, RT safe.
 */
#ifndef GW_COLLISION_MANIFOLD_H
#define GW_COLLISION_MANIFOLD_H

#include "rt/collision/candidate.h"
#include "rt/collision/gjk_epa.h"

/* A pair of points in world coordinates. */
typedef struct gw_manifold_point {
    gw_vec3 a, b;
    double radius_a, radius_b; /* of balls around the points (m) */
    gw_normal_kind kind;
    gw_vec3 normal;                /* unit, from b towards a */
    gw_vec3 edge_a, edge_b;        /* for GW_NORMAL_ACROSS, world axes, */
    gw_vec3 bow_a, bow_b;          /* with their curvature vectors (1/m), and */
    double taper_a, taper_b;       /* the rates of the radii along them */
    bool of_face;                  /* the normal is that of a face */
    double gap;                    /* normal . (a - b) - radius_a - radius_b (m) */
    uint32_t feature_a, feature_b; /* the same while the same features are near */
    gw_curvatures bend;            /* of the surface that the normal is fixed to, world axes */
} gw_manifold_point;

/* The point with solids a and b exchanged. */
gw_manifold_point gw_manifold_point_swapped(const gw_manifold_point *point);

/* Bits of feature_a and feature_b; the others are the index of the vertex or the face. */
enum {
    GW_FEATURE_EDGE = 1 << 20, /* the edge that begins at the vertex */
    GW_FEATURE_FACE = 1 << 21,
    GW_FEATURE_SIDE = 1 << 22 /* where an edge of the other solid crosses a side of the face */
};

/* Points for which `drop` returns true are left out before the reduction to four. */
typedef struct gw_manifold_filter {
    bool (*drop)(const void *context, const gw_manifold_point *point);
    const void *context;
} gw_manifold_filter;

/* The points with a gap of at most `reach` (m), reduced to the outermost four, nearest first;
 * returns how many. `distance`: of the solids, from gw_convex_distance() or
 * gw_next_separating_axis(). `filter` NULL: none is left out. */
int gw_manifold_build(const gw_convex *a, const gw_convex *b, const gw_signed_distance *distance,
                      double reach, const gw_manifold_filter *filter,
                      gw_manifold_point points[GW_MANIFOLD_POINTS]);

#endif
