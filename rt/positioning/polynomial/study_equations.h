/*
 * Six forms of a pose as equations in Study's coordinates, and the start system of their
 * homotopy. Any thread, RT safe.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_STUDY_EQUATIONS_H
#define GW_POSITIONING_POLYNOMIAL_STUDY_EQUATIONS_H

#include "rt/positioning/polynomial/path_tracking.h"
#include "rt/positioning/polynomial/pose_forms.h"

/* A homotopy of sections of SE(3) in P^16 by six forms: the first `linear` go from one hyperplane
 * to another, the others from one cylinder N (h . y) - (l . y)^2 to another. */
typedef struct gw_study_homotopy {
    int linear;
    gw_complex from[6][GW_Y], to[6][GW_Y];           /* h */
    gw_complex from_axis[6][GW_Y], to_axis[6][GW_Y]; /* l */
} gw_study_homotopy;

/* A form's matrix in Study's coordinates, 17 entries, and its change with tau. */
enum { GW_STUDY_ENTRIES = 17 };
typedef struct gw_matrix_segment {
    gw_complex from[GW_STUDY_ENTRIES], by[GW_STUDY_ENTRIES];
} gw_matrix_segment;

/* The homotopy as matrices, for gw_study_evaluate(). */
typedef struct gw_study_matrices {
    int linear;
    gw_matrix_segment form[6], axis[6];
} gw_study_matrices;

void gw_study_matrices_of(const gw_study_homotopy *homotopy, gw_study_matrices *matrices);

/* For gw_homotopy.evaluate, of eight unknowns, the last equation being Study's condition, e . g =
 * 0; `system` is a gw_study_matrices. */
void gw_study_evaluate(const void *system, const gw_complex_lanes *x, const gw_lanes *tau,
                       bool rates, gw_linearisation *out);

/* Study's coordinates (e, g) of a pose, and back. */
void gw_study_point(const gw_complex_pose *pose, gw_complex x[GW_PATH_UNKNOWNS]);
gw_complex_pose gw_study_pose(const gw_complex x[GW_PATH_UNKNOWNS]);

/* ---- start_system.c, start_roots.c, start_roots_3.c ------------------------------------------ */

#define GW_MAX_START_CYLINDERS 3 /* 320 paths */

/* Roots of a generic section with that many cylinders: 40, 80, 160, 320. */
int gw_start_root_count(int cylinders);
/* Fills in the start of a homotopy, generic complex numbers; sets `linear`. */
void gw_start_system(int cylinders, gw_study_homotopy *homotopy);
/* A root of the start system, to round-off. */
gw_complex_pose gw_start_root(int cylinders, const gw_study_homotopy *homotopy, int i);

/* e_1, e_2, e_3 of each start root, e_0 = 1, real and imaginary parts; t follows from them. */
extern const double gw_start_roots_0[40][6], gw_start_roots_1[80][6], gw_start_roots_2[160][6];

/* The same followed by t, which three hyperplanes do not determine. */
extern const double gw_start_roots_3[320][12];

#endif
