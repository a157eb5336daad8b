/*
 * Inside of the numeric completion: roots as paths and eigenproblems bring them, until it is known
 * which of them are poses. Any thread, RT safe.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_HARVEST_H
#define GW_POSITIONING_POLYNOMIAL_HARVEST_H

#include "rt/positioning/polynomial/conditions.h"

/* Roots as they come in. */
typedef struct gw_harvest {
    const gw_forms *forms;
    gw_completion *c;
    int count;
    gw_root root[GW_MOST_PATHS]; /* simple ones */
    int from[GW_MOST_PATHS];     /* the path that led there */
    int again[GW_MOST_PATHS];    /* paths that were lost, or met another */
    int singular, lost, crossed;
    int multiple; /* of those that are not simple: roots of all forms, with multiplicity */
} gw_harvest;

void gw_harvest_begin(gw_harvest *h, gw_completion *c, const gw_forms *f);

/* A root, with what is known of it. */
void gw_harvest_take(gw_harvest *h, gw_root x, gw_path_end end);

/* The end of path i. Two that meet have come too near one another on the way, as no two paths
 * truly meet: one of them went over to the other, and both are to be followed again. */
void gw_harvest_arrive(gw_harvest *h, int i, gw_root x, gw_path_end end);

/* True where most of so many paths end near multiple roots: then a curve passes through them, as a
 * rule, and restarts are quicker. */
bool gw_harvest_degenerate(const gw_harvest *h, int paths);

/* Real systems have their roots in conjugate pairs: one that is alone tells of another missing.
 * Where as many are alone as paths were lost, those are found. */
void gw_harvest_mend(gw_harvest *h);

/* True where no path was lost. */
bool gw_harvest_complete(const gw_harvest *h);

/* True where a root satisfies every row, not only the combinations solved. */
bool gw_harvest_belongs(const gw_harvest *h, const gw_root *x, double tolerance);

/* Tries the simple roots that are real as poses. Returns how many roots there are. */
int gw_harvest_sort(gw_harvest *h);

bool gw_root_at_infinity(const gw_root *x);

/* ---- journey.c ------------------------------------------------------------------------------- */

/* All roots by paths from a start system whose roots are known: of the rotation's equations, t
 * following from them, or of the section of all coordinates by the forms, so many of them
 * cylinders. */
void gw_travel_rotations(gw_harvest *h, const gw_conditions *turning);
void gw_travel_section(gw_harvest *h, int cylinders);

#endif
