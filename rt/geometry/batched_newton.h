/*
 * Descents to poses nearest to a given one, for sets whose locus shifts while the body rotates, and
 * for two angles: minimises f = |d|^2 + (L theta)^2 over the rotational factor. Private to
 * rt/geometry. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_BATCHED_NEWTON_H
#define GW_GEOMETRY_BATCHED_NEWTON_H

#include "rt/geometry/quat_lanes.h"
#include "rt/geometry/submanifold.h"

/* Rotations are D, relative to the wanted one. */
typedef struct gw_batched_newton {
    const gw_submanifold *set;
    gw_rotation_set rotation; /* the set's factor as a condition on D */
    const gw_pose *near;
    double length; /* L (m) */
    int count;     /* components of d, along e */
    gw_vec3 e[3];  /* axes of the locus's frame */
    double k[3];   /* d at D = 0; zero beyond `count`, as is b */
    gw_mat3 b[3];
    bool curved;        /* the nearest point is not linear in d */
    double rate_ratio2; /* |B|^2 / L^2: squared ratio of the rates of d and L theta */
} gw_batched_newton;

/* Keeps both pointers. */
void gw_batched_newton_init(gw_batched_newton *s, const gw_submanifold *set, const gw_pose *near,
                            double length);

/* For a curved locus: d becomes d less its nearest point of the locus, in the axes of e; n: the
 * lower triangle of the derivative of the result by d. */
void gw_batched_newton_subtract_nearest(const gw_batched_newton *s, gw_lanes d[3], gw_lanes n[6]);

/* Half of f at unit quaternions. */
void gw_batched_newton_values(const gw_batched_newton *s, const gw_quat_lanes *d, gw_lanes *f);

/* The best rotation so far, and half of f there. */
typedef struct gw_batched_newton_best {
    gw_quat d;
    double f;
} gw_batched_newton_best;

/* Descends from each of the starts (at least one, on the factor) to a local minimum; a descent ends
 * early if it is certain to end above the best one or in the same minimum. */
void gw_batched_newton_descend(const gw_batched_newton *s, const gw_quat *starts, int count,
                               gw_batched_newton_best *best);

#endif
