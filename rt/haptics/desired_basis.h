/*
 * The directions in which a desired mass takes the place of the model's own, and the gains along
 * them. For desired_impedance.c and desired_passivity.c. Pure functions, RT safe.
 */
#ifndef GW_HAPTICS_DESIRED_BASIS_H
#define GW_HAPTICS_DESIRED_BASIS_H

#include "rt/haptics/desired_impedance.h"

/* ---- axes of the held frame ------------------------------------------------------------------ */

/* [a; b] of world axes in those of a frame of orientation q. */
void gw_held_in_axes(gw_quat q, gw_vec3 a, gw_vec3 b, double out[6]);
void gw_held_row_in_axes(gw_quat q, const double x[6], double out[6]);
gw_wrench gw_held_in_world(gw_quat q, const double f[6]);

/* R^T M R of all four blocks: a matrix in world axes, in those of the held frame; and back. */
void gw_held_matrix_in_axes(gw_quat q, const double m[6][6], double out[6][6]);
void gw_held_matrix_in_world(gw_quat q, const double m[6][6], double out[6][6]);

/* ---- the basis ------------------------------------------------------------------------------- */

/* In the basis V of directions, with m = M_d^(1/2) and m Lambda^-1 m = V S V^T. */
typedef struct gw_desired_basis {
    double m[6], v[6][6], s[6];
    double g[6];      /* gains */
    double weight[6]; /* below 1 near a singular posture */
    double change[6]; /* (1/g - 1)/S of M_d - Lambda; 0 along resisted directions */
} gw_desired_basis;

/* The basis at `own`, the model's Lambda^-1 in the held frame's axes; counts `too_light`. */
void gw_desired_basis_of(gw_desired_impedance *d, const double own[6][6], gw_desired_basis *x);

/* Keeps it for the next tick. */
void gw_desired_basis_remember(gw_desired_impedance *d, const gw_desired_basis *x);

/* y = V^T m x'. */
void gw_desired_basis_along(const gw_desired_basis *x, const double twist[6], double y[6]);

/* ---- energy (desired_passivity.c) ------------------------------------------------------------ */

/* 1/2 x'^T (M - Lambda) x' */
double gw_desired_shaped_energy(const gw_desired_basis *x, const double twist[6]);

/* Notes whether all of the model's motion is that of the held frame, of its kinetic energy. */
void gw_desired_note_hidden(gw_desired_impedance *d, const gw_desired_basis *x, double kinetic);

/* Takes the work of b = c + J-dot v on M out of `by_environment` and `free`. `own`: Lambda^-1. */
void gw_desired_take_out_work(gw_desired_impedance *d, const gw_desired_basis *x,
                              const double own[6][6], const double b[6]);

#endif
