/*
 * Inside of the numeric completion: isolated poses as roots of polynomials, all of them.
 *
 * The rows of a leaf are forms in 17 coordinates of a pose, the compactification of SE(3) of
 * degree 40 in P^16 (Gallet, Nawratil, Schicho, "Bond theory for pentapods and hexapods", 2015):
 *
 *   y = (R, t, s, r, 1),   s = R^T t,  r = |t|^2
 *
 * With the quaternion e not of unit length, N = e . e, they are polynomials in e and t:
 *   (R(e), N t, R(e)^T t, N r, N),  R(e) quadratic.
 *
 * Coordinates are centred, divided by the problem's size, and turned at random on either side, so
 * that no lattice number is special. Any thread, RT safe; bounded by gw_solver's `work`.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_ROOTS_H
#define GW_POSITIONING_POLYNOMIAL_ROOTS_H

#include "rt/positioning/polynomial/complex_lanes.h"
#include "rt/positioning/numeric_completion.h"

/* Where the parts of y begin. */
enum { GW_Y_R = 0, GW_Y_T = 9, GW_Y_S = 12, GW_Y_TT = 15, GW_Y_ONE = 16, GW_Y = 17 };

#define GW_MAX_CYLINDER_FORMS 8 /* cylinders kept; what is beyond is only verified */
#define GW_MAX_SENSES         8
#define GW_PATH_UNKNOWNS      8   /* Study's coordinates */
#define GW_MAX_PATHS          320 /* what the time bound allows */

/* h . y - (l . y)^2 = 0: a cylinder's row, |X - f|^2 - value^2 less the square along its axis. */
typedef struct gw_cylinder_form {
    double h[GW_Y], l[GW_Y];
} gw_cylinder_form;

/* The rows of a leaf: independent hyperplanes, and cylinders. */
typedef struct gw_forms {
    gw_pose world, body; /* frames of the scaled problem: x = p + size R(q) x' */
    double size;
    bool mirrored; /* it is the inverse pose that is sought */
    int linear, squared, senses;
    gw_vec3 along_m[GW_MAX_SENSES], along_f[GW_MAX_SENSES]; /* R along_m = along_f */
    double h[GW_Y][GW_Y];                                   /* orthonormal */
    gw_cylinder_form q[GW_MAX_CYLINDER_FORMS];
} gw_forms;

/* A pose with complex coordinates, of the scaled problem. */
typedef struct gw_complex_pose {
    gw_complex e[4], t[3];
} gw_complex_pose;

/* ---- forms.c --------------------------------------------------------------------------------- */

void gw_forms_of(const gw_completion *c, gw_forms *forms);
/* True where a row is a combination of the hyperplanes. */
bool gw_forms_contain(const gw_forms *forms, const gw_row *row);
/* The same forms for the inverse pose. */
void gw_forms_mirror(gw_forms *forms);
/* A rotation of the problem, scaled. */
gw_quat gw_forms_rotation(const gw_forms *forms, gw_quat rotation);
/* A scaled pose, in the coordinates of the problem. */
gw_pose gw_forms_pose(const gw_forms *forms, const gw_complex_pose *scaled);
/* The largest value of all forms at a root, relative to the terms they are made of. */
double gw_forms_residual(const gw_forms *forms, const gw_complex_pose *root);
/* False where vectors that are parallel by the rows are opposite: another branch's. */
bool gw_forms_same_sense(const gw_forms *forms, const gw_complex_pose *root);
/* R(e) and N, into y. */
void gw_rotation_coordinates(const gw_complex e[4], gw_complex y[GW_Y]);
void gw_forms_coordinates(const gw_complex_pose *root, gw_complex y[GW_Y]);

/* ---- quadrics.c ------------------------------------------------------------------------------ */

/* The eight common points of three quadrics in P^3 (entries 00 01 02 03 11 12 13 22 23 33, of unit
 * size; off the diagonal both together); false where they are not finite in number. */
bool gw_three_quadrics_roots(const double (*quadrics)[10], gw_complex (*e)[4]);

/* ---- newton.c, paths.c ----------------------------------------------------------------------- */

/* How a path ends. */
typedef enum gw_path_end {
    GW_END_REGULAR,  /* a simple root */
    GW_END_SINGULAR, /* near a multiple root */
    GW_END_INFINITY, /* at infinity */
    GW_END_LOST      /* out of steps */
} gw_path_end;

/* Equations of all lanes' paths: derivatives by each unknown, values, and rates of change by tau.
 */
typedef struct gw_linearisation {
    gw_complex_lanes j[GW_PATH_UNKNOWNS - 1][GW_PATH_UNKNOWNS];
    gw_complex_lanes f[GW_PATH_UNKNOWNS - 1], rate[GW_PATH_UNKNOWNS - 1];
} gw_linearisation;

/* Equations that change with tau from a start system to a target, homogeneous in x; the
 * first four are a quaternion, not all zero. */
typedef struct gw_homotopy {
    int unknowns; /* one more than equations: 4 or 8 */
    const void *system;
    /* at x and tau; rates only where they are asked for */
    void (*evaluate)(const void *system, const gw_complex_lanes *x, const gw_lanes *tau, bool rates,
                     gw_linearisation *out);
    long *work;
    long cost; /* of a step of Newton's, of all lanes */
} gw_homotopy;

/* In the run's units of work. */
enum { GW_QUATERNION_STEP_COST = 2 * GW_LANES, GW_STUDY_STEP_COST = 4 * GW_LANES };

/* Which unknown of each lane is held at one. */
typedef struct gw_affine_patch {
    int fixed[GW_LANES]; /* of the first four */
    gw_mask before[3];   /* fixed <= k: the next one stands in column k */
    unsigned active;     /* lanes in use */
} gw_affine_patch;

/* One of Newton's steps; the tangents come with it where there is room for them. Returns the
 * squares of its lengths, infinite or none where a lane is singular. */
void gw_newton_step(const gw_homotopy *paths, const gw_affine_patch *patch, const gw_lanes *tau,
                    gw_complex_lanes *x, gw_complex_lanes *tangents, gw_lanes *length2);

/* A path: where it is, and how it ended. */
typedef struct gw_homotopy_path {
    gw_complex x[GW_PATH_UNKNOWNS];
    gw_path_end end;
} gw_homotopy_path;

/* At tau = 1 only: down to round-off, from nearby. x stays where there is no simple root. */
void gw_refine_endpoints(const gw_homotopy *paths, gw_homotopy_path *path, int count);

/* Follows paths from tau = 0 to 1; `care` divides the steps' tolerance. */
void gw_track_paths(const gw_homotopy *paths, double care, gw_homotopy_path *path, int count);

/* ---- gram_roots.c, all_roots.c --------------------------------------------------------------- */

typedef struct gw_root_summary {
    bool exact;        /* all were found: they are finite in number, and no path was lost */
    bool simple;       /* there are none but simple ones */
    int complex_roots; /* how many, with multiplicity, real ones included; 0 where not exact */
} gw_root_summary;

/* Points on lines of either side; false where the leaf is not of that kind, or its roots are not
 * eight simple ones. Real ones become poses of the completion. */
bool gw_gram_matrix_roots(gw_completion *completion, gw_root_summary *found);
/* Where R is told by three quadrics: in some tens of microseconds. */
gw_root_summary gw_roots_by_eigenvalues(gw_completion *completion);
/* By following paths: milliseconds. Real roots become poses of the completion in either case. */
gw_root_summary gw_roots_by_homotopy(gw_completion *completion);

#endif
