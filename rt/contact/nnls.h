/*
 * Non-negative least squares (Lawson and Hanson), and of several answers the least:
 *
 *   min |sum p_i l_i + b| over p >= 0,   then |p| at that sum
 *
 * Vectors that redundant contacts give are dependent: many p have the same sum, and what an active
 * set ends with depends on the order of the vectors. The least one does not.
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
 * p >= 0 (count entries) that minimises |sum p_i l_i + b| over vectors l of `dim` entries, and x,
 * that sum: the projection of -b onto the span of the active vectors, also where 4 count + 8
 * changes of these are not enough. count and dim: at most GW_MAX_SIMULTANEOUS_CONTACTS.
 */
void gw_nnls_solve(int count, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                   const double *b, gw_nnls *work, double *p, double *x);

/*
 * After it, with the same arguments: changes p to the least p >= 0 with the sum x, within 1e-6 of
 * |x| (nearly dependent vectors), or leaves some larger one where 4 count + 8 changes do not find
 * it. Those with l_i . (x + b) above `slack` do not share; 0: above what rounding leaves.
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
