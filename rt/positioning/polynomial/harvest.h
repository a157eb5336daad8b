/*
 * Inside of the numeric completion: roots as paths and eigenproblems bring them, until it is known
 * which of them are poses. Any thread, RT safe.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_HARVEST_H
#define GW_POSITIONING_POLYNOMIAL_HARVEST_H

#include "rt/positioning/polynomial/conditions.h"

/* Roots as they come in. */
typedef struct gw_root_set {
    const gw_forms *forms;
    gw_completion *c;
    int count;
    gw_complex_pose root[GW_MAX_PATHS]; /* simple ones */
    int from[GW_MAX_PATHS];             /* the path that led there */
    int again[GW_MAX_PATHS];            /* paths that were lost, or met another */
    int singular, lost, crossed;
    int multiple; /* of those that are not simple: roots of all forms, with multiplicity */
} gw_root_set;

void gw_root_set_begin(gw_root_set *h, gw_completion *c, const gw_forms *f);

/* A root, with what is known of it. */
void gw_root_set_add(gw_root_set *h, gw_complex_pose x, gw_path_end end);

/* The end of path i. Two that meet have come too near one another on the way, as no two paths
 * truly meet: one of them went over to the other, and both are to be followed again. */
void gw_root_set_add_endpoint(gw_root_set *h, int i, gw_complex_pose x, gw_path_end end);

/* True where most of so many paths end near multiple roots: then a curve passes through them, as a
 * rule, and restarts are quicker. */
bool gw_root_set_degenerate(const gw_root_set *h, int paths);

/* Real systems have their roots in conjugate pairs: one that is alone tells of another missing.
 * Where as many are alone as paths were lost, those are found. */
void gw_root_set_add_conjugates(gw_root_set *h);

/* True where no path was lost. */
bool gw_root_set_complete(const gw_root_set *h);

/* True where a root satisfies every row, not only the combinations solved. */
bool gw_root_set_satisfies(const gw_root_set *h, const gw_complex_pose *x, double tolerance);

/* Tries the simple roots that are real as poses. Returns how many roots there are. */
int gw_root_set_report(gw_root_set *h);

bool gw_at_infinity(const gw_complex_pose *x);

/* ---- journey.c ------------------------------------------------------------------------------- */

/* All roots by paths from a start system whose roots are known: of the rotation's equations, t
 * following from them, or of the section of all coordinates by the forms, so many of them
 * cylinders. */
void gw_homotopy_in_quaternion(gw_root_set *h, const gw_rotation_conditions *turning);
void gw_homotopy_in_study(gw_root_set *h, int cylinders);

#endif
