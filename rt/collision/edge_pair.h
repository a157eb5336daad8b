/*
 * Where two edges are nearest: each straight, or a circle (the rim of a cylinder or a cone), given
 * by a point, the unit tangent e and the curvature vector k there (1/m, towards the centre; zero:
 * straight). At a way s along the tangent, seen from the centre,
 *
 *   c = 1 / sqrt(1 + |k|^2 s^2)
 *   x' = x + s c (e + s c / (1 + c) k),   e' = c (e + s k),   k' = c (k - s |k|^2 e)
 *
 * and the nearest points, with d = x_a - x_b, are where e_a . d = e_b . d = 0. Pure functions.
 */
#ifndef GW_COLLISION_EDGE_PAIR_H
#define GW_COLLISION_EDGE_PAIR_H

#include <math.h>

#include "rt/base/space.h"

typedef struct gw_edge_point {
    gw_vec3 x, e, k;
} gw_edge_point;

/* Moves the point by s. */
static inline void gw_edge_point_move(gw_edge_point *p, double s)
{
    double k2 = gw_norm2(p->k), c = 1 / sqrt(1 + k2 * s * s);
    gw_vec3 e = gw_scale(c, gw_mul_add(p->e, s, p->k));
    p->x = gw_mul_add(p->x, s * c, gw_mul_add(p->e, s * c / (1 + c), p->k));
    p->k = gw_scale(c, gw_mul_add(p->k, -s * k2, p->e));
    p->e = e;
}

/* One step of Newton's method for the least |d|^2 moves both points:
 *
 *   (1 + d . k_a) s - (e_a . e_b) t = -e_a . d,   (1 - d . k_b) t - (e_a . e_b) s = e_b . d
 *
 * which with c = e_a x e_b, kappa_a = d . k_a, kappa_b = -d . k_b has the solution
 *
 *   s = -((d x e_b) . c + kappa_b e_a . d) / D,   t = -((d x e_a) . c - kappa_a e_b . d) / D,
 *   D = |c|^2 + kappa_a + kappa_b + kappa_a kappa_b
 *
 * One step is enough where both are straight. Returns |s| + |t|. */
static inline double gw_edge_points_approach(gw_edge_point *a, gw_edge_point *b)
{
    gw_vec3 d = gw_sub(a->x, b->x), c = gw_cross(a->e, b->e);
    double of_a = gw_dot(d, a->k), of_b = -gw_dot(d, b->k);
    double det = gw_norm2(c) + of_a + of_b + of_a * of_b;
    double s = -(gw_dot(gw_cross(d, b->e), c) + of_b * gw_dot(a->e, d)) / det;
    double t = -(gw_dot(gw_cross(d, a->e), c) - of_a * gw_dot(b->e, d)) / det;
    gw_edge_point_move(a, s);
    gw_edge_point_move(b, t);
    return fabs(s) + fabs(t);
}

#endif
