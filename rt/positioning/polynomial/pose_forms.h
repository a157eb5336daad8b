/*
 * Rows as forms in the coordinates of a pose.
 *
 * The rows of a leaf are forms in 17 coordinates, the compactification of SE(3) of degree 40 in
 * P^16 (Gallet, Nawratil, Schicho, "Bond theory for pentapods and hexapods", 2015):
 *
 *   y = (R, t, s, r, 1),   s = R^T t,  r = |t|^2
 *
 * With the quaternion e not of unit length, N = e . e, they are polynomials in e and t:
 *   (R(e), N t, R(e)^T t, N r, N),  R(e) quadratic.
 *
 * Coordinates are centred, divided by the problem's size, and rotated by a generic rotation on
 * either side, so that integer or aligned coordinates are no special case. Any thread, RT safe.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_POSE_FORMS_H
#define GW_POSITIONING_POLYNOMIAL_POSE_FORMS_H

#include "rt/positioning/polynomial/complex_lanes.h"
#include "rt/positioning/polynomial/polynomial.h"

/* Index of the first entry of each part of y. */
enum { GW_Y_R = 0, GW_Y_T = 9, GW_Y_S = 12, GW_Y_TT = 15, GW_Y_ONE = 16, GW_Y = 17 };

#define GW_MAX_CYLINDER_FORMS 8 /* cylinders stored; further ones are only verified */
#define GW_MAX_SENSES         8

/* h . y - (l . y)^2 = 0: a cylinder's row, |X - f|^2 - value^2 less the square along its axis. */
typedef struct gw_cylinder_form {
    double h[GW_Y], l[GW_Y];
} gw_cylinder_form;

/* The rows of a leaf: linearly independent hyperplanes h . y = 0, and cylinders. */
typedef struct gw_forms {
    gw_pose world, body; /* frames of the scaled problem: x = p + size R(q) x' */
    double size;         /* m */
    bool mirrored;       /* the unknown is the inverse pose */
    int linear, cylinders, senses;
    gw_vec3 along_m[GW_MAX_SENSES], along_f[GW_MAX_SENSES]; /* R along_m = along_f */
    double h[GW_Y][GW_Y];                                   /* orthonormal */
    gw_cylinder_form cylinder[GW_MAX_CYLINDER_FORMS];
} gw_forms;

/* A pose with complex coordinates, of the scaled problem; e need not be of unit length. */
typedef struct gw_complex_pose {
    gw_complex e[4], t[3];
} gw_complex_pose;

/* False if there are rows of free-form shapes, which are not polynomial in the pose and have no
 * form. */
bool gw_is_polynomial(const gw_pose_system *system);
/* The forms of all rows that have one. */
void gw_forms_of(const gw_pose_system *system, gw_forms *forms);
/* The same forms for the inverse pose. */
void gw_forms_mirror(gw_forms *forms);
/* A rotation of the problem, in the scaled frames. */
gw_quat gw_forms_rotation(const gw_forms *forms, gw_quat rotation);
/* The real part of a scaled pose, in the coordinates of the problem. */
gw_pose gw_forms_pose(const gw_forms *forms, const gw_complex_pose *scaled);
/* The largest value of all forms at a root, relative to the terms they are made of. */
double gw_forms_residual(const gw_forms *forms, const gw_complex_pose *root);
/* False if directions that must be parallel are opposite at the root: it belongs to another
 * branch. */
bool gw_forms_same_sense(const gw_forms *forms, const gw_complex_pose *root);
/* Writes R(e) and N into y. */
void gw_rotation_coordinates(const gw_complex e[4], gw_complex y[GW_Y]);
/* All coordinates y of a pose. */
void gw_forms_coordinates(const gw_complex_pose *root, gw_complex y[GW_Y]);

#endif
