/*
 * Private to the numeric completion: shared by numeric_completion.c, solution_components.c and
 * redundancy.c. Any thread, RT safe; bounded by the solver's `work`.
 */
#ifndef GW_POSITIONING_NUMERIC_COMPLETION_H
#define GW_POSITIONING_NUMERIC_COMPLETION_H

#include "rt/positioning/polynomial/polynomial.h"
#include "rt/positioning/levenberg_marquardt.h"
#include "rt/positioning/solver.h"

#define GW_MAX_COMPLETION_ROWS 200 /* of the whole state, before independent ones are chosen */
#define GW_MAX_FOUND           GW_MAX_BRANCHES
#define GW_MAX_COMPONENTS      12  /* with freedoms, of one leaf */
#define GW_MAX_CURVE_POSES     192 /* poses on curves, by which all curves are found */

/* One leaf, its rows and the poses found so far. Not to be copied: `system` points into it. */
typedef struct gw_completion {
    gw_solver *solver;
    const gw_solver_state *state;
    gw_pose_system system;      /* the leaf as rt/positioning/polynomial takes it */
    double size;                /* m */
    gw_vec3 middle_m, middle_f; /* mean of the distances' points on either side */
    unsigned long long random;
    int row_count;
    gw_row rows[GW_MAX_COMPLETION_ROWS];
    int found_count;
    gw_pose found[GW_MAX_FOUND];
    int dof[GW_MAX_FOUND]; /* of the solution component at each */
    int curve_pose_count;
    gw_pose curve_poses[GW_MAX_CURVE_POSES]; /* more poses where there are curves, most on these */
    double best_rows;     /* of starts that failed: the smallest residual of the rows, */
    double best_residual; /* and of the constraints there */
    bool any_sense;
    int complex_roots;  /* of isolated poses, real ones included; 0 where not known */
    bool restarted;     /* isolated poses may be missing */
    long sampling_work; /* work used by the starts on curves */
} gw_completion;

/* A solution component with freedoms. */
typedef struct gw_solution_component {
    gw_submanifold set;
    double top; /* largest label height on a curve */
    gw_pose
        nearest; /* of a curve, to the problem's pose; its seed is there, or beside a crossing */
} gw_solution_component;

/* ---- numeric_completion.c -------------------------------------------------------------------- */

/* A completion of a leaf, with nothing found yet. */
void gw_completion_begin(gw_completion *c, gw_solver *solver, const gw_solver_state *state,
                         bool any_sense);

/* A deterministic number of the completion's own sequence. */
double gw_completion_uniform(gw_completion *c, double low, double high);
/* A random pose near the elements. */
gw_pose gw_completion_random(gw_completion *c);
/* The k-th start pose, alternately near and far, with a known direction satisfied. */
gw_pose gw_completion_start(gw_completion *c, int k);

/* Rows and Jacobian in metres, rotations times the size; `starts` as in
 * gw_rows_value_and_jacobian_from(). */
void gw_scaled_rows(const gw_completion *c, const gw_pose *x, double (*starts)[2], double *h,
                    double (*a)[6]);
/* Levenberg-Marquardt descent from x; returns the largest row's residual relative to the problem's
 * size. */
double gw_completion_descend(const gw_completion *c, gw_pose *x);

/* Descends from x to a pose of this leaf; false if it ends at none. */
bool gw_completion_refine(gw_completion *c, gw_pose *x);
/* The same from a random start; with free-form shapes their random parameters determine the start
 * position. */
bool gw_completion_refine_start(gw_completion *c, gw_pose *x);
/* Adds a pose, unless it is a known isolated one. */
bool gw_completion_add(gw_completion *c, const gw_pose *x);
/* One start and its descent, with free-form shapes first with their parameters as unknowns; true if
 * it found a new pose. */
bool gw_completion_try(gw_completion *c, gw_pose x);
/* All isolated poses by homotopy continuation; for a leaf after a choice, with its share of the
 * work.
 */
gw_root_summary gw_completion_homotopy(gw_completion *c);

/* ---- free_form_starts.c ---------------------------------------------------------------------- */

/* Least squares from x's rotation and random parameters of the free-form shapes, which are further
 * unknowns; returns the largest residual relative to the size. Without such shapes, or with too
 * many, it does nothing and returns 0. */
double gw_free_form_start(gw_completion *c, gw_pose *x);

/* ---- solution_components.c ------------------------------------------------------------------- */

/* 6 less the rank of the rows at x. */
int gw_nullity_at(const gw_completion *c, const gw_pose *x);
/* The dimension of the solution component at x: of its neighbours along the null space, if any. */
int gw_local_dimension(gw_completion *c, const gw_pose *x);
/* More starts, to reach every curve of a leaf from which one pose is known. */
void gw_sample_curves(gw_completion *c);
/* Components with freedoms through the found poses: one per dimension, and one per curve. Returns
 * their number, at most `room`. */
int gw_solution_components(gw_completion *c, gw_solution_component *components, int room);

/* ---- branch_label.c -------------------------------------------------------------------------- */

/* The label of the isolated pose found[at]. */
void gw_label_isolated_pose(const gw_completion *c, int at, char name[3]);
void gw_label_components(const gw_solution_component *components, int count, char names[][3]);

#endif
