/*
 * Path tracking: roots of one polynomial system followed to those of another, four paths side by
 * side. Any thread, RT safe; bounded by the homotopy's `work`.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_PATH_TRACKING_H
#define GW_POSITIONING_POLYNOMIAL_PATH_TRACKING_H

#include <stdbool.h>

#include "rt/positioning/polynomial/complex_lanes.h"

#define GW_PATH_UNKNOWNS 8   /* at most: Study's coordinates (e, g) */
#define GW_MAX_PATHS     320 /* of one homotopy, to bound its time */

/* The kinds of a path's end. */
typedef enum gw_path_end {
    GW_END_REGULAR,  /* a simple root */
    GW_END_SINGULAR, /* near a multiple root */
    GW_END_INFINITY,
    GW_END_LOST /* out of steps */
} gw_path_end;

/* The equations of all lanes' paths at one point: derivatives by each unknown, values, and rates of
 * change by tau. */
typedef struct gw_linearisation {
    gw_complex_lanes j[GW_PATH_UNKNOWNS - 1][GW_PATH_UNKNOWNS];
    gw_complex_lanes f[GW_PATH_UNKNOWNS - 1], rate[GW_PATH_UNKNOWNS - 1];
} gw_linearisation;

/* F(x, tau) = 0, which changes with tau from a start system at 0 to a target at 1; homogeneous in
 * x, whose first four entries are a quaternion, not all zero. */
typedef struct gw_homotopy {
    int unknowns; /* one more than equations: 4 or 8 */
    const void *system;
    /* F at x and tau; dF/dtau only if `rates` */
    void (*evaluate)(const void *system, const gw_complex_lanes *x, const gw_lanes *tau, bool rates,
                     gw_linearisation *out);
    long *work; /* counted down */
    long cost;  /* of a Newton step of all lanes, in units of work */
} gw_homotopy;

enum { GW_QUATERNION_STEP_COST = 2 * GW_LANES, GW_STUDY_STEP_COST = 4 * GW_LANES };

/* A path: its start root, replaced by its endpoint, and how it ended. */
typedef struct gw_homotopy_path {
    gw_complex x[GW_PATH_UNKNOWNS];
    gw_path_end end;
} gw_homotopy_path;

/* Tracks paths from tau = 0 to 1; the tolerance of a prediction is divided by `care`. */
void gw_track_paths(const gw_homotopy *homotopy, double care, gw_homotopy_path *path, int count);

/* Newton's method at tau = 1 only, from nearby down to round-off. x is unchanged if there is no
 * simple root. */
void gw_refine_endpoints(const gw_homotopy *homotopy, gw_homotopy_path *path, int count);

#endif
