/*
 * Walking along a general set of one freedom. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_IMPLICIT_CURVE_H
#define GW_GEOMETRY_IMPLICIT_CURVE_H

#include "rt/geometry/submanifold.h"

#define GW_CURVE_TRACE_MAX_STEPS 4000 /* of a walk, at the most: some ten milliseconds */

/* Where a walk is, the unit tangent on in its direction, and its steps. Ways are in units: sizes,
 * but far away parts of the distance, where a turn moves as far as that. */
typedef struct gw_curve_trace {
    const gw_submanifold *set;
    double size, unit; /* of the problem, and of ways here (m) */
    gw_pose x;
    double tangent[6]; /* [v / unit; w] */
    double bend[6];    /* its change by the way, at the last step */
    double step, came; /* to come, and the last one */
    double clear;      /* how well the rows tell the tangent: falls to zero at a crossing */
    double least;      /* with less it is at one */
    bool away;         /* it has left its seed's surroundings */
    int tries;         /* that the last step took in vain */
} gw_curve_trace;

typedef enum gw_curve_trace_status {
    GW_TRACE_CONTINUES,
    GW_TRACE_CLOSED,    /* back at the seed */
    GW_TRACE_UNBOUNDED, /* so far that it does not come back */
    GW_TRACE_STUCK      /* no way on: the curve has a cusp or an end here */
} gw_curve_trace_status;

/* True where the set's curve has one tangent at a pose on it: not where it crosses itself or
 * another one that has the same rows. */
bool gw_implicit_curve_is_regular(const gw_submanifold *set, double size, const gw_pose *pose);

/* A walk from the set's seed, one way or (backward) the other. The seed is a plain pose. */
gw_curve_trace gw_curve_trace_from_seed(const gw_submanifold *set, double size, bool backward);

/* One step along the tangent and back onto the rows: short where the curve bends, straight on where
 * it crosses another. */
gw_curve_trace_status gw_curve_trace_step(gw_curve_trace *walk);

/* True where the pose is on the curve that is walked, within half a step of the walk's place. */
bool gw_curve_trace_passes(const gw_curve_trace *walk, const gw_pose *pose);

/* ---- the nearest pose ----------------------------------------------------------------------- */

#define GW_CURVE_MINIMA 4 /* places of a curve that may be nearest */

/* Where a walk came nearest to a pose, all the way. */
typedef struct gw_curve_minima {
    const gw_pose *near;
    double length;       /* of the metric (m) */
    double before, last; /* distances two steps and one step ago */
    gw_curve_trace at;   /* one step ago */
    int count;
    double depth[GW_CURVE_MINIMA]; /* least first */
    gw_curve_trace place[GW_CURVE_MINIMA];
} gw_curve_minima;

void gw_curve_minima_begin(gw_curve_minima *vales, const gw_pose *near, double length);
/* At the beginning of a walk, and after each step. */
void gw_curve_minima_visit(gw_curve_minima *vales, const gw_curve_trace *walk, bool first);
/* At its end. */
void gw_curve_minima_end(gw_curve_minima *vales);
/* The nearest pose; its distance (m). */
double gw_curve_minima_nearest(const gw_curve_minima *vales, gw_pose *nearest);

/* The pose of the curve nearest to `near` within a step of the walk's place; its distance (m). */
double gw_curve_trace_nearest(const gw_curve_trace *walk, const gw_pose *near, double length,
                              gw_pose *nearest);

/* The pose of the set's curve that is nearest to `near`, from a walk round it; its distance (m). */
double gw_implicit_curve_nearest(const gw_submanifold *set, double size, const gw_pose *near,
                                 double length, gw_pose *nearest);

#endif
