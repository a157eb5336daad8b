/*
 * The distribution of forces among redundant unilateral contacts of a system (system_traction.c).
 * Inside of rt/dynamics; RT safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_TRACTION_H
#define GW_DYNAMICS_SYSTEM_TRACTION_H

#include "rt/dynamics/system_private.h"

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

/* The multipliers with the distribution of all contacts, per active row as s->solution, by which
 * normal forces are those of least norm. They remain valid until the next ones are solved for. */
const double *gw_contact_multipliers(gw_system *system);

/* The number of dependent active rows; and the null vector of J^T with 1 at the n-th of them and 0
 * at the others, per active row as s->solution (system_elimination.c). */
int gw_closures_find_dependent(gw_system *system);
void gw_closures_null_vector(const gw_system *system, int n, double *x);

/* x := h^-1 x of a positive definite matrix (lower triangle, row-major), which is overwritten. */
void gw_solve_definite(int n, double *h, double *x);

/* v less its parts along n orthonormal vectors of m numbers each, twice for accuracy; and v divided
 * by its norm, which is returned. */
void gw_reject_from(const double *basis, int n, int m, double *v);
double gw_normalise(int m, double *v);

/* Of all contacts: normal forces, and of those that stick tractions and how much more they bear, by
 * the present multipliers. Keeps these, with the tractions, as `multipliers` of the contacts. */
void gw_find_tractions(gw_system *system);

#endif
