/*
 * Where two edges are nearest: each straight, or a circle (the rim of a cylinder or a cone), given
 * by a point, the unit tangent e and the curvature vector k there (1/m, towards the centre; zero:
 * straight). At a distance s along the tangent, seen from the centre,
 *
 *   c = 1 / sqrt(1 + |k|^2 s^2)
 *   x' = x + s c (e + s c / (1 + c) k),   e' = c (e + s k),   k' = c (k - s |k|^2 e)
 *
 * and the nearest points, with d = x_a - x_b, are where e_a . d = e_b . d = 0. The side of a cone
 * is round its axis, a straight edge on which the radius of the ball round each point changes at
 * the rate tau (the taper): with balls, |d| - r_a - r_b is least where e_a . d = tau_a |d|, e_b . d
 * = -tau_b |d|. Pure functions.
 */
#ifndef GW_COLLISION_EDGE_PAIR_H
#define GW_COLLISION_EDGE_PAIR_H

#include <math.h>
#include <stdbool.h>

#include "rt/base/space.h"

typedef struct gw_edge_point {
    gw_vec3 x, e, k;
    double radius, taper; /* of the ball (m), and its rate along e, zero unless straight */
} gw_edge_point;

/* Moves the point by s. */
static inline void gw_edge_point_move(gw_edge_point *p, double s)
{
    double k2 = gw_norm2(p->k);
    p->radius += p->taper * s;
    if (k2 == 0) {
        p->x = gw_mul_add(p->x, s, p->e);
        return;
    }
    double c = 1 / sqrt(1 + k2 * s * s);
    gw_vec3 e = gw_scale(c, gw_mul_add(p->e, s, p->k));
    p->x = gw_mul_add(p->x, s * c, gw_mul_add(p->e, s * c / (1 + c), p->k));
    p->k = gw_scale(c, gw_mul_add(p->k, -s * k2, p->e));
    p->e = e;
}

static inline bool gw_edge_points_taper(const gw_edge_point *a, const gw_edge_point *b)
{
    return a->taper != 0 || b->taper != 0;
}

/* One step of Newton's method with tapers, of which the axes have n = d / |d|:
 *
 *   P_a s - Q t = -(e_a . d - tau_a |d|),   P_b t - Q s = e_b . d + tau_b |d|,
 *   P_a = 1 - tau_a^2 + d . k_a,   P_b = 1 - tau_b^2 - d . k_b,   Q = e_a . e_b + tau_a tau_b */
static inline double gw_edge_points_approach_tapered(gw_edge_point *a, gw_edge_point *b)
{
    gw_vec3 d = gw_sub(a->x, b->x);
    double size = gw_norm(d), q = gw_dot(a->e, b->e) + a->taper * b->taper;
    double of_a = 1 - a->taper * a->taper + gw_dot(d, a->k);
    double of_b = 1 - b->taper * b->taper - gw_dot(d, b->k);
    double at_a = gw_dot(a->e, d) - a->taper * size, at_b = gw_dot(b->e, d) + b->taper * size;
    double det = of_a * of_b - q * q;
    double s = (q * at_b - of_b * at_a) / det, t = (of_a * at_b - q * at_a) / det;
    gw_edge_point_move(a, s);
    gw_edge_point_move(b, t);
    return fabs(s) + fabs(t);
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
    if (gw_edge_points_taper(a, b))
        return gw_edge_points_approach_tapered(a, b);
    gw_vec3 d = gw_sub(a->x, b->x), c = gw_cross(a->e, b->e);
    double of_a = gw_dot(d, a->k), of_b = -gw_dot(d, b->k);
    double det = gw_norm2(c) + of_a + of_b + of_a * of_b;
    double s = -(gw_dot(gw_cross(d, b->e), c) + of_b * gw_dot(a->e, d)) / det;
    double t = -(gw_dot(gw_cross(d, a->e), c) - of_a * gw_dot(b->e, d)) / det;
    gw_edge_point_move(a, s);
    gw_edge_point_move(b, t);
    return fabs(s) + fabs(t);
}

/* The unit vector across both edges at their nearest points, along e_a x e_b; of cones from b to a.
 */
static inline gw_vec3 gw_edge_points_normal(const gw_edge_point *a, const gw_edge_point *b)
{
    return gw_unit(gw_edge_points_taper(a, b) ? gw_sub(a->x, b->x) : gw_cross(a->e, b->e));
}

#endif
