/*
 * Levenberg and Marquardt's method for one pose: rows h(x) of a body's pose with their Jacobian A,
 * in metres, rotations times a size, are brought down to their least sum of squares,
 *
 *   (A^T A + damping) s = A^T h,   x' = x - s
 *
 * A step that does not lower the sum is taken back and damped more. Clusters of bodies have a
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
    /* True where there is no use in going on; NULL: never. */
    bool (*give_up)(const void *context, const gw_normal_equations *at);
    const void *context;
    int steps;                   /* tried at most */
    double goal, round_off;      /* sums of squares: done; too small to tell a failed step */
    double accepted;             /* and small enough where steps change it no more */
    double damping, least, most; /* where it begins; its range */
    double raise, raise_to;      /* after a step that failed: times, and at least */
} gw_levenberg_marquardt;

/* From *x down to the rows; `at` is of the pose reached. */
void gw_levenberg_marquardt_descend(const gw_levenberg_marquardt *method, gw_pose *x,
                                    gw_normal_equations *at);

#endif
