/*
 * Inside of the numeric completion: what its parts share.
 *
 * Any thread, RT safe; bounded by gw_solver's `work`.
 */
#ifndef GW_POSITIONING_NUMERIC_COMPLETION_H
#define GW_POSITIONING_NUMERIC_COMPLETION_H

#include "rt/positioning/solver.h"

#define GW_MAX_COMPLETION_ROWS                                                                     \
    200 /* rows of the whole state, before independent ones are chosen                             \
         */
#define GW_MAX_FOUND       GW_MAX_BRANCHES
#define GW_MAX_COMPONENTS  12  /* sets with freedoms of one leaf */
#define GW_MAX_CURVE_POSES 192 /* poses on curves, to find all curves by */

typedef struct gw_completion {
    gw_solver *run;
    const gw_solver_state *state;
    double size;
    gw_vec3 middle_m, middle_f; /* of the places' points on either side */
    unsigned long long random;
    int row_count;
    gw_row rows[GW_MAX_COMPLETION_ROWS];
    int found_count;
    gw_pose found[GW_MAX_FOUND];
    int dof[GW_MAX_FOUND];
    int along_count; /* of more poses where there are curves, most of them on these */
    gw_pose along[GW_MAX_CURVE_POSES];
    double best; /* row's residual of a start that failed, and the constraints' there */
    double residual;
    bool any_sense;
    int complex_roots; /* of isolated sets, real ones included; 0 where not known */
    bool restarted;    /* isolated poses may be missing */
} gw_completion;

/* A deterministic number of the completion's own sequence. */
double gw_completion_uniform(gw_completion *c, double low, double high);

/* A completion of a leaf, with nothing found yet. */
void gw_completion_begin(gw_completion *c, gw_solver *run, const gw_solver_state *state,
                         bool any_sense);

/* A pose to start from. */
gw_pose gw_completion_random(gw_completion *c);

/* One start, down to the rows: x becomes a pose of this leaf; false where it does not. */
bool gw_completion_refine(gw_completion *c, gw_pose *x);

/* Adds a pose, unless it is a known isolated one. */
bool gw_completion_add(gw_completion *c, const gw_pose *x);

/* One start, down to the rows; true when it found a pose that was not known. */
bool gw_completion_try(gw_completion *c, gw_pose x);

/* ---- settle.c -------------------------------------------------------------------------------- */

/* Goes down from x to the rows, by Levenberg and Marquardt's method; returns the largest row's
 * residual relative to the problem's size. */
double gw_levenberg_marquardt(const gw_completion *c, gw_pose *x);

/* The pose moved by `factor` times [v; w size]. */
gw_pose gw_scaled_step(const gw_completion *c, const gw_pose *x, const double s[6], double factor);

/* Rows and Jacobian in metres, rotations by the size. */
void gw_scaled_rows(const gw_completion *c, const gw_pose *x, double *h, double (*a)[6]);

/* 6 less the rank of the rows at x. */
int gw_nullity_at(const gw_completion *c, const gw_pose *x);

/* The dimension of the set at x: of its neighbours along the null space, if it has any. */
int gw_local_dimension(gw_completion *c, const gw_pose *x);

/* ---- sets.c ---------------------------------------------------------------------------------- */

/* A set with freedoms. */
typedef struct gw_solution_component {
    gw_submanifold set;
    double top; /* how high a curve rises */
    gw_pose
        nearest; /* of a curve, to the problem's pose; its seed is there, or beside a crossing */
} gw_solution_component;

/* Sets with freedoms through the found poses: one a dimension, and one a curve. Returns how many,
 * at most `room`. */
int gw_solution_components(gw_completion *c, gw_solution_component *sets, int room);

/* The general set of so many freedoms through a pose. */
void gw_general_set(const gw_completion *c, const gw_pose *x, int dof, gw_submanifold *set);

/* ---- curves.c -------------------------------------------------------------------------------- */

/* The k-th pose to start from, near and far by turns, a known direction along. */
gw_pose gw_completion_start(gw_completion *c, int k);

/* Starts that are to reach every curve of the leaf, from which one pose is known. */
void gw_sample_curves(gw_completion *c);

/* As gw_solution_components(), the curves alone. */
int gw_curve_components(gw_completion *c, gw_solution_component *sets, int room);

#endif
