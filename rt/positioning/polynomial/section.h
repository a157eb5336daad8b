/*
 * Inside of the numeric completion: six forms of a pose as equations in Study's coordinates. Any
 * thread, RT safe.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_SECTION_H
#define GW_POSITIONING_POLYNOMIAL_SECTION_H

#include "rt/positioning/polynomial/roots.h"

/* The first `linear` equations go from one hyperplane to another, the others from one
 * N (h . y) - (l . y)^2 to another. */
typedef struct gw_study_homotopy {
    int linear;
    gw_complex from[6][GW_Y], to[6][GW_Y];
    gw_complex from_axis[6][GW_Y], to_axis[6][GW_Y];
} gw_study_homotopy;

/* Between two forms: entries of a form's matrix, and their rates of change. */
enum { GW_STUDY_ENTRIES = 17 };
typedef struct gw_matrix_segment {
    gw_complex from[GW_STUDY_ENTRIES], by[GW_STUDY_ENTRIES];
} gw_matrix_segment;

/* A section as it is evaluated. */
typedef struct gw_study_matrices {
    int linear;
    gw_matrix_segment form[6], axis[6];
} gw_study_matrices;

void gw_study_matrices_of(const gw_study_homotopy *section, gw_study_matrices *ways);

/* For gw_track_paths(), of eight unknowns, the last equation being Study's condition, e . g = 0;
 * `system` is a gw_study_matrices. */
void gw_study_evaluate(const void *system, const gw_complex_lanes *x, const gw_lanes *tau,
                       bool rates, gw_linearisation *out);

/* Study's coordinates (e, g) of a pose, and back. */
void gw_study_point(const gw_complex_pose *root, gw_complex x[GW_PATH_UNKNOWNS]);
gw_complex_pose gw_study_pose(const gw_complex x[GW_PATH_UNKNOWNS]);

/* ---- start_system.c, start_roots.c, start_roots_3.c ------------------------------------------ */

#define GW_MAX_START_CYLINDERS 3 /* of a section: 320 paths */

/* Roots of a generic section with that many cylinders: 40, 80, 160, 320. */
int gw_start_root_count(int cylinders);
/* Fills in the start of a section, generic complex numbers; sets `linear`. */
void gw_start_system(int cylinders, gw_study_homotopy *section);
/* A root of the start, to round-off. */
gw_complex_pose gw_start_root(int cylinders, const gw_study_homotopy *section, int i);

/* e_1, e_2, e_3 of each start root, e_0 = 1, real and imaginary parts; t follows from them. */
extern const double gw_start_roots_0[40][6], gw_start_roots_1[80][6], gw_start_roots_2[160][6];

/* The same with t behind, which three hyperplanes do not tell. */
extern const double gw_start_roots_3[320][12];

#endif
