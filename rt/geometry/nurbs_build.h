/*
 * Curves and surfaces made from points and other curves: fitted by least squares, lofted through
 * sections, revolved about an axis, swept along a path. All functions allocate and are not for use
 * inside a tick; any thread. They return a shape with one reference, or NULL with an error whose
 * pointer is relative to their arguments.
 *
 * Source: Piegl and Tiller, The NURBS Book (1997), chapters 8 to 10.
 */
#ifndef GW_GEOMETRY_NURBS_BUILD_H
#define GW_GEOMETRY_NURBS_BUILD_H

#include "rt/geometry/nurbs.h"

typedef struct gw_nurbs_fit {
    int dimension;         /* 1: a curve, the second entries are not read; 2: a surface */
    int sampled[2];        /* points along u and v, at least two each */
    const gw_vec3 *points; /* sampled[0] rows of sampled[1] (m) */
    int degree[2];         /* less than `sampled` */
    int count[2];          /* control points, degree + 1 to `sampled`; equal to it: interpolated */
} gw_nurbs_fit;

/*
 * The clamped shape through the outermost points that has the least sum of squared distances from
 * the others at their parameters:
 *
 *   minimise sum_k |S(u_k, v_k) - Q_k|^2,   u_k by the square roots of the chords (Lee 1989),
 *
 * along u, then along v. Errors (GW_BAD_INPUT) at /points, /degree, /count.
 */
gw_nurbs *gw_nurbs_fit_points(const gw_nurbs_fit *fit, gw_error *error);

/* Largest distance of the points from the shape (m). */
double gw_nurbs_deviation(const gw_nurbs *nurbs, int count, const gw_vec3 *points);

/*
 * The surface through the sections, curves along u, one after the other along v. The sections are
 * brought to one degree and one knot vector from 0 to 1, and their control points interpolated
 * along v. `degree`: along v, less than their number. Errors at /sections, /degree.
 */
gw_nurbs *gw_nurbs_loft(int count, const gw_nurbs *const *sections, int degree, gw_error *error);

/* The profile (v) revolved about an axis through `point` by `angle` (rad, at most 2 pi). u runs
 * over equal arcs of at most a quarter turn, one unit each. Exact. The profile may meet the axis at
 * its ends only. Errors at /axis, /angle, /profile. */
gw_nurbs *gw_nurbs_revolve(const gw_nurbs *profile, gw_vec3 point, gw_vec3 axis, double angle,
                           gw_error *error);

/* The profile (u) translated along the path (v), S = C(u) + T(v) - T(v_0). Exact. */
gw_nurbs *gw_nurbs_sweep(const gw_nurbs *profile, const gw_nurbs *path, gw_error *error);

#endif
