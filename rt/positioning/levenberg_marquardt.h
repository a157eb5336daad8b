/*
 * Levenberg-Marquardt method for one pose: minimises the sum of squares of rows h(x) of a body's
 * pose with their Jacobian A, in metres, rotations times a size,
 *
 *   (A^T A + damping) s = A^T h,   x' = x - s
 *
 * A step that does not lower the sum is rejected and the damping raised. Clusters of bodies have a
 * method of their own (cluster.c). Any thread, RT safe.
 */
#ifndef GW_POSITIONING_LEVENBERG_MARQUARDT_H
#define GW_POSITIONING_LEVENBERG_MARQUARDT_H

#include "rt/geometry/submanifold.h"

/* N = A^T A (lower triangle) and g = A^T h; the sum of squares of h, and its largest magnitude. */
typedef struct gw_normal_equations {
    double n[6][6], g[6];
    double sum, worst;
} gw_normal_equations;

/* A row and its Jacobian about the body's origin, as they are summed up: an angle times the size,
 * the columns of a distance's rotation over it. */
void gw_scale_row(const gw_row *row, double size, double *h, double a[6]);

/* Adds a scaled row. */
void gw_normal_equations_add(gw_normal_equations *to, double h, const double a[6]);

/* The pose moved by `factor` times [v; w size]. */
gw_pose gw_scaled_step(double size, const gw_pose *x, const double s[6], double factor);

typedef struct gw_levenberg_marquardt {
    double size; /* m */
    void (*evaluate)(const void *context, const gw_pose *x, gw_normal_equations *out);
    /* Returns true to end the descent early; NULL: never. */
    bool (*give_up)(const void *context, const gw_normal_equations *at);
    const void *context;
    int steps;                   /* tried at most */
    double goal, round_off;      /* sums of squares: converged; a failed step below this ends it */
    double accepted;             /* converged if steps do not change it further */
    double damping, least, most; /* where it begins; its range */
    double raise, raise_to;      /* after a step that failed: times, and at least */
} gw_levenberg_marquardt;

/* Minimises from *x; `at`: the normal equations at the pose reached. */
void gw_levenberg_marquardt_descend(const gw_levenberg_marquardt *method, gw_pose *x,
                                    gw_normal_equations *at);

#endif
