/*
 * Tracing of implicit curves: general sets of one freedom, followed by a predictor-corrector
 * method. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_IMPLICIT_CURVE_H
#define GW_GEOMETRY_IMPLICIT_CURVE_H

#include "rt/geometry/submanifold.h"

#define GW_CURVE_TRACE_MAX_STEPS 4000 /* of one trace: some ten milliseconds */

/* A trace: its present point, the unit tangent in its direction, and its step. Arc lengths are in
 * units of the problem's size, or of the distance from it where that is larger. */
typedef struct gw_curve_trace {
    gw_submanifold *set; /* the parameters of its free-form rows are updated */
    double size, unit;   /* of the problem, and of arc length here (m) */
    gw_pose x;
    double tangent[6];   /* [v / unit; w] */
    double curvature[6]; /* change of the tangent by arc length, over the last step */
    double step, came;   /* the next step, and the last one */
    double clear;        /* conditioning of the tangent: zero at a crossing */
    double least;        /* value of `clear` below which the point counts as a crossing */
    bool away;           /* it has left the neighbourhood of its seed */
    bool off_surface;    /* the last attempt ended where an offset has no surface below */
    int tries;           /* failed attempts of the last step */
} gw_curve_trace;

typedef enum gw_curve_trace_status {
    GW_TRACE_CONTINUES,
    GW_TRACE_CLOSED,    /* back at the seed */
    GW_TRACE_UNBOUNDED, /* too far away to be followed */
    GW_TRACE_STUCK      /* no step succeeds: a cusp or an end */
} gw_curve_trace_status;

/* True at a regular point of the curve, with one tangent: not where it crosses itself or another
 * curve with the same rows. */
bool gw_implicit_curve_is_regular(const gw_submanifold *set, double size, const gw_pose *pose);

/* A trace from the set's seed, a regular point, in one direction or (backward) the other. */
gw_curve_trace gw_curve_trace_from_seed(gw_submanifold *set, double size, bool backward);

/* One step: predicted by tangent and curvature, corrected onto the rows; shorter at high curvature,
 * straight on through a crossing with another curve. */
gw_curve_trace_status gw_curve_trace_step(gw_curve_trace *trace);

/* Reverses the direction of the trace. */
void gw_curve_trace_turn_back(gw_curve_trace *trace);

/* True where the pose is on the traced curve, within half a step of the present point. */
bool gw_curve_trace_passes(const gw_curve_trace *trace, const gw_pose *pose);

/* ---- lengths along the curve ----------------------------------------------------------------- */

/* A trace that measures its length, with the unit of the exponential map (geodesic.h) as its size:
 * the parameter of a curve's poses. */
typedef struct gw_curve_walk {
    gw_curve_trace trace;
    gw_pose before;  /* where the last step began */
    double from, to; /* lengths there and here (m) */
    gw_curve_trace_status status;
    int steps;
} gw_curve_walk;

/* From the seed, along gw_submanifold_tangent() there or (backward) against it; the parameters of
 * the set's free-form rows are updated. */
gw_curve_walk gw_curve_walk_from_seed(gw_submanifold *set, bool backward);
/* One step; false if the curve does not continue. On a closed curve it continues past the seed. */
bool gw_curve_walk_step(gw_curve_walk *walk);

/* The pose at arc length s from the seed (m; negative: backward). False if the curve ends earlier,
 * leaves the range in which it is followed, or is not part of the set there; `pose` is then the
 * last one. */
bool gw_implicit_curve_pose(const gw_submanifold *set, double s, gw_pose *pose);

/* The inverse: the arc length at which the curve passes a pose, the shorter way. False if the curve
 * does not pass it. */
bool gw_implicit_curve_length(const gw_submanifold *set, const gw_pose *pose, double *s);

/* ---- the nearest pose ----------------------------------------------------------------------- */

#define GW_CURVE_MINIMA 4 /* minima that are kept */

/* The local minima of the distance from a pose along a trace. */
typedef struct gw_curve_minima {
    const gw_pose *near;
    double length;       /* of the metric (m) */
    double before, last; /* distances two steps and one step ago */
    gw_curve_trace at;   /* one step ago */
    int count;
    double depth[GW_CURVE_MINIMA]; /* least first */
    gw_curve_trace trace[GW_CURVE_MINIMA];
} gw_curve_minima;

void gw_curve_minima_begin(gw_curve_minima *minima, const gw_pose *near, double length);
/* To be called at the beginning of a trace, and after each step. */
void gw_curve_minima_visit(gw_curve_minima *minima, const gw_curve_trace *trace, bool first);
/* To be called at the end of a trace. */
void gw_curve_minima_end(gw_curve_minima *minima);
/* The nearest pose; its distance (m). */
double gw_curve_minima_nearest(const gw_curve_minima *minima, gw_pose *nearest);

/* The pose of the whole curve nearest to `near`; its distance (m). */
double gw_implicit_curve_nearest(const gw_submanifold *set, double size, const gw_pose *near,
                                 double length, gw_pose *nearest);

#endif
