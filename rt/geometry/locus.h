/*
 * Loci of one point: the point at parameters, the inverse, and the nearest point. Private to
 * rt/geometry. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_LOCUS_H
#define GW_GEOMETRY_LOCUS_H

#include "rt/geometry/submanifold.h"

/* P(z); z holds as many values as the locus has dimensions. */
gw_vec3 gw_locus_point(const gw_locus *locus, const double *z);

/* The z of a point on the locus. */
void gw_locus_parameters(const gw_locus *locus, gw_vec3 point, double *z);

/* The parameters of the point of a free-form locus nearest to a point. */
void gw_locus_closest_parameters(const gw_locus *locus, gw_vec3 point, double parameters[2]);

/* The point of the locus nearest to `point`; if it is not unique, one of them. */
gw_vec3 gw_locus_nearest(const gw_locus *locus, gw_vec3 point);

/* Tangent directions dP/dz (unit, mutually perpendicular) at a point on the locus; returns their
 * number. */
int gw_locus_tangent(const gw_locus *locus, gw_vec3 point, gw_vec3 out[3]);

/*
 * The derivative N of X - Y by X, Y being the point of the locus nearest to X and d = X - Y:
 * symmetric. With the derivatives P_i, P_ij of the locus by the parameters that Y can follow,
 *   N = I - sum P_i M_ij P_j^T,   M^-1_ij = P_i . P_j - d . P_ij
 */
gw_mat3 gw_locus_nearest_derivative(const gw_locus *locus, gw_vec3 y, gw_vec3 d);

/* The dimension of a locus of this kind; -1 for a general one. */
int gw_locus_dof(gw_locus_kind kind);

/* Displacement of the locus's origin from locus.origin at the body's rotation q; its rate at the
 * angular velocity w (world axes), and its acceleration at w and w_dot. All of them in the frame of
 * the locus (relational-positioning eqs. 11 to 14). */
gw_vec3 gw_shift_at(const gw_translation_set *t, gw_quat q);
gw_vec3 gw_shift_rate(const gw_translation_set *t, gw_quat q, gw_vec3 w);
gw_vec3 gw_shift_acceleration(const gw_translation_set *t, gw_quat q, gw_vec3 w, gw_vec3 w_dot);

/* gw_submanifold_nearest() of a general set: from its seed, and from the projection of `near` onto
 * the rows. */
double gw_submanifold_nearest_general(const gw_submanifold *set, const gw_pose *near, double length,
                                      gw_pose *nearest);

/*
 * The problem of a point on a circle, X(psi) = c + cos psi a + sin psi b, while its body rotates.
 * theta is the angle to the wanted rotation: |psi| where `straight`, else given by cos(theta/2)^2 =
 * k0 + k1 cos psi + k2 sin psi.
 */
typedef struct gw_circle_distance {
    gw_vec3 c, a, b;
    bool straight;
    double k0, k1, k2;
    double length;
    const gw_locus *locus;
} gw_circle_distance;

/* The psi of the smallest f = |X - locus|^2 + (length theta)^2. */
double gw_circle_distance_minimum(const gw_circle_distance *circle);

/* gw_submanifold_nearest() of a set whose locus shifts, or of two angles: a coarse search over the
 * rotational factor, then Newton's method. q1: the rotation of the factor nearest to the wanted
 * one; not used for two angles. */
double gw_submanifold_nearest_multistart(const gw_submanifold *set, const gw_pose *near,
                                         double length, gw_quat q1, gw_pose *nearest);

/* The problem of a point on a sphere, X(u) = c + r u; theta is the angle between u and u0. */
typedef struct gw_sphere_distance {
    gw_vec3 c;
    double r;
    gw_vec3 u0;
    double length;
    const gw_locus *locus;
} gw_sphere_distance;

/* The u of the smallest f = |X - locus|^2 + (length theta)^2. */
gw_vec3 gw_sphere_distance_minimum(const gw_sphere_distance *sphere);

#endif
