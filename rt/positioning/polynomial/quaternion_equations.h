/*
 * Systems whose translation follows from the rotation, as three equations in the quaternion; and
 * other systems of three quadrics in four homogeneous unknowns. Any thread, RT safe.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_QUATERNION_EQUATIONS_H
#define GW_POSITIONING_POLYNOMIAL_QUATERNION_EQUATIONS_H

#include "rt/positioning/polynomial/path_tracking.h"
#include "rt/positioning/polynomial/pose_forms.h"

#define GW_MONOMIALS    10 /* quadratic monomials w of e: 00 01 02 03 11 12 13 22 23 33 */
#define GW_MAX_QUARTICS 12

/* Two planes of the world, n . t + c = 0, and two of the body, n . s + c = 0, N c linear in w: they
 * determine t if R is known. */
typedef struct gw_four_planes {
    gw_vec3 n[4]; /* first the two of the world */
    double c[4][GW_MONOMIALS];
} gw_four_planes;

/* The conditions of a system on the rotation alone, t eliminated. */
typedef struct gw_rotation_conditions {
    bool four; /* t follows from four planes, else N t is linear in w */
    gw_four_planes planes;
    double t[3][GW_MONOMIALS]; /* N t */
    int quadrics, quartics;
    double quadric[GW_MONOMIALS][GW_MONOMIALS]; /* orthonormal */
    double quartic[GW_MAX_QUARTICS][GW_MONOMIALS][GW_MONOMIALS];
} gw_rotation_conditions;

/* Three of the conditions, or three combinations of them: q . w = 0 (degree 2) or w . Q w = 0
 * (degree 4). */
typedef struct gw_three_equations {
    int degree[3];
    double quadric[3][GW_MONOMIALS];
    double quartic[3][GW_MONOMIALS][GW_MONOMIALS];
} gw_three_equations;

/* The conditions of forms on the rotation; false if t does not follow from R, or if there are fewer
 * than three conditions. */
bool gw_rotation_conditions_of(const gw_forms *forms, gw_rotation_conditions *conditions);
void gw_rotation_equations(const gw_rotation_conditions *conditions, gw_three_equations *equations);
/* The pose of a quaternion e, not of unit length, with t from the conditions. */
gw_complex_pose gw_pose_of_quaternion(const gw_rotation_conditions *conditions,
                                      const gw_complex e[4]);

/* The homotopy from the start system e_i^d = e_0^d to three equations. */
typedef struct gw_quaternion_homotopy {
    int degree[3];
    gw_complex gamma[3]; /* of the start system's equations */
    double linear[3][GW_MONOMIALS], square[3][GW_MONOMIALS][GW_MONOMIALS];
} gw_quaternion_homotopy;

/* Each `attempt` has other factors gamma, and so other paths. */
void gw_quaternion_homotopy_of(const gw_three_equations *equations, int attempt,
                               gw_quaternion_homotopy *homotopy);
/* For gw_homotopy.evaluate, of four unknowns; `system` is a gw_quaternion_homotopy. */
void gw_quaternion_evaluate(const void *system, const gw_complex_lanes *e, const gw_lanes *tau,
                            bool rates, gw_linearisation *out);

/* known_rotation.c: the equations in (t, 1) of a known rotation, three quadrics; false if there are
 * fewer than three, or if planes alone determine t. */
bool gw_known_rotation_equations(const gw_forms *forms, gw_quat rotation,
                                 gw_three_equations *equations);

/* three_quadrics.c: the eight common points of three quadrics in P^3 (coefficients of w, of unit
 * length); false if they are not finite in number. */
bool gw_three_quadrics_roots(const double (*quadrics)[GW_MONOMIALS], gw_complex (*e)[4]);

/* gram_matrix.c: the roots of a system of the kinds stated there; false if it is of no such kind,
 * or if its roots are not eight simple ones. Real roots are reported. */
bool gw_gram_matrix_roots(const gw_pose_system *system, gw_root_summary *found);

#endif
