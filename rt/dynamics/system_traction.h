/*
 * The distribution of forces among redundant unilateral contacts of a system (system_traction.c).
 * Inside of rt/dynamics; RT safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_TRACTION_H
#define GW_DYNAMICS_SYSTEM_TRACTION_H

#include "rt/dynamics/system_multipliers.h"

/* Scratch for up to `most` contacts with redundant tractions. */
typedef struct gw_traction_scratch {
    int most, count;
    int *contact, *group; /* of each: its closure, and the first contact of its group */
    int *members;         /* of one group: its contacts, by their index in `contact` */
    int rows;
    int *pivot;                     /* of each row of `null`: its column */
    double *null;                   /* null vectors: normal and two tangents of every contact */
    double *basis;                  /* of one group: stresses, u_0, Z, */
    double *limit, *force;          /* mu lambda; tractions, two numbers each, */
    double *direction;              /* u, */
    double *trial, *step, *hessian; /* and of Newton's method */
} gw_traction_scratch;

bool gw_traction_init(gw_traction_scratch *scratch, int most);
void gw_traction_free(gw_traction_scratch *scratch);

/* v less its parts along n orthonormal vectors of m numbers each, twice for accuracy; and v divided
 * by its norm, which is returned. */
void gw_reject_from(const double *basis, int n, int m, double *v);
double gw_normalise(int m, double *v);

/* Of all contacts: normal forces, and of those that stick tractions and how much more they bear, by
 * the present multipliers. Keeps these, with the tractions, as `multipliers` of the contacts. */
void gw_find_tractions(gw_system *system);

#endif
