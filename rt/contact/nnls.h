/*
 * Non-negative least squares (Lawson and Hanson), and the least of several minimisers:
 *
 *   min |sum p_i l_i + b| over p >= 0,   then |p| at that sum
 *
 * The vectors of redundant contacts are linearly dependent: many p have the same sum, and the one
 * that an active-set method finds depends on the order of the vectors. The least p does not.
 *
 * Any thread; RT safe: all memory is the caller's.
 */
#ifndef GW_CONTACT_NNLS_H
#define GW_CONTACT_NNLS_H

#include <stdbool.h>

#include "rt/base/limits.h"

/* Workspace; after a solution the vectors that were active in the first minimisation. */
typedef struct gw_nnls {
    int count;                                  /* of active vectors */
    int active[GW_MAX_SIMULTANEOUS_CONTACTS];   /* which they are */
    double along[GW_MAX_SIMULTANEOUS_CONTACTS]; /* x = sum along_k q_k */
    /* Q R factors: q orthonormal, one a row; l of active[k] = sum_m r[m][k] q[m] */
    double q[GW_MAX_SIMULTANEOUS_CONTACTS][GW_MAX_SIMULTANEOUS_CONTACTS];
    double r[GW_MAX_SIMULTANEOUS_CONTACTS][GW_MAX_SIMULTANEOUS_CONTACTS];
} gw_nnls;

/*
 * p >= 0 (count entries) that minimises |sum p_i l_i + b| over vectors l of `dim` entries, and x =
 * sum p_i l_i: the projection of -b onto the span of the active vectors, also where it stops after
 * 4 count + 8 changes of the active set. count and dim: at most GW_MAX_SIMULTANEOUS_CONTACTS.
 */
void gw_nnls_solve(int count, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                   const double *b, gw_nnls *work, double *p, double *x);

/*
 * After gw_nnls_solve(), with the same arguments: changes p to the least p >= 0 with the sum x,
 * within 1e-6 of |x| where vectors are nearly dependent; p may be larger than the least one if 4
 * count + 8 changes of the active set are not enough. Vectors with l_i . (x + b) above `slack` keep
 * p_i = 0; slack 0: the bound is the rounding error.
 */
void gw_nnls_share(int count, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                   const double *b, const double *x, double slack, gw_nnls *work, double *p);

#define GW_LEAST_SHARES_MAX_DIM (2 * GW_MAX_SIMULTANEOUS_CONTACTS)

/*
 * The least p, of any sign (count entries), with sum p_i l_i = x, for an x that is such a sum;
 * false where none is found within 1e-6 of |x|. Vector i begins at l + i * stride; m: room for
 * dim x dim numbers. count and dim: at most GW_LEAST_SHARES_MAX_DIM.
 */
bool gw_least_shares(int count, int dim, int stride, const double *l, const double *x, double *m,
                     double *p);

#endif
