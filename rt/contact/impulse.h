/*
 * Simultaneous impulses: the change of generalised velocities in a collision (impulsive-forces IV,
 * eq. 15 and 22 as corrected). Functions of matrices only.
 *
 *   u  = J v + offset                    gap rates, < 0: approaching
 *   v' = v - (1+e) D^-1/2 V V^T D^1/2 v  the reflection; V: orthonormal row space of J D^-1/2
 *
 * Up to GW_IMPULSE_MAX_BASIS_ROWS rows are made orthonormal in the metric of D^-1, so that
 * redundant and nearly redundant rows are harmless and e = 1 conserves the energy. With more rows
 * the Delassus operator A = J D^-1 J^T is factored.
 *
 * Any thread; RT safe: all memory is the caller's.
 */
#ifndef GW_CONTACT_IMPULSE_H
#define GW_CONTACT_IMPULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/contact/nnls.h"

#define GW_IMPULSE_MAX_BASIS_ROWS 20 /* up to here an orthonormal basis costs less than A */

typedef struct gw_impulse_problem {
    int rows; /* at most GW_MAX_SIMULTANEOUS_CONTACTS */
    int dof;  /* entries of a row */
    /* D is block diagonal: block b is entries from[b] .. from[b + 1] - 1, at most GW_MAX_MODELS of
     * them; 0: D is one block, `from` and `of` are not read. */
    int blocks;
    const int *from;
    const int (*of)[2];   /* the blocks that a row has entries in, -1: none; others are not read */
    const double *j;      /* J: rows x dof */
    const double *v;      /* before the collision (dof entries) */
    const double *e;      /* restitution of each row, 0 .. 1 */
    const double *offset; /* gap rate due to bodies that are moved from outside (m/s); NULL: 0 */
    int max_basis_rows;   /* 0: GW_IMPULSE_MAX_BASIS_ROWS */
    bool only_push;       /* p >= 0: min 1/2 p^T A p + (1+e) p^T u; else the pseudo-inverse */
    bool share;           /* the least such p, over the rows that open at no more than `slack` */
    double slack;         /* m/s */
    /* D^-1 w of one block */
    void (*inverse)(const void *context, int block, const double *w, double *answer);
    const void *context;
} gw_impulse_problem;

/* Set of the blocks in which a vector has entries, one bit each. */
typedef struct gw_block_set {
    uint64_t bits[(GW_MAX_MODELS + 63) / 64];
} gw_block_set;

/* Workspace; only `memory` is set by the caller. */
typedef struct gw_impulse_work {
    double *memory; /* gw_impulse_memory(rows, dof) doubles */
    int rank;
    int pivot[GW_MAX_SIMULTANEOUS_CONTACTS];       /* the row from which basis vector k was made */
    bool square;                                   /* L is inverted by the pivots' rows alone */
    double *w, *y;                                 /* basis w_k, and y_k = D^-1 w_k; slots x dof */
    int slot[GW_MAX_SIMULTANEOUS_CONTACTS];        /* of vector k */
    gw_block_set in[GW_MAX_SIMULTANEOUS_CONTACTS]; /* blocks in which w_k and y_k have entries */
    double l[GW_MAX_SIMULTANEOUS_CONTACTS][GW_MAX_SIMULTANEOUS_CONTACTS]; /* J = L W */
    double a[GW_MAX_SIMULTANEOUS_CONTACTS][GW_MAX_SIMULTANEOUS_CONTACTS]; /* Delassus operator */
    gw_nnls nnls; /* its q, r also hold L = Q R where rows are redundant */
} gw_impulse_work;

/*
 * Wedging: where the base of a system is moved into a contact with speed `offset` (m/s) and an
 * impulse that separates them needs more than GW_WEDGE_ENERGY_RATIO times the system's kinetic
 * energy (J), no impulse acts and the system passes through.
 * `inverse_mass`: J D^-1 J^T (1/kg).
 */
#define GW_WEDGE_ENERGY_RATIO 10.0

static inline bool gw_row_wedged(double offset, double inverse_mass, double kinetic)
{
    return offset * offset > 2 * GW_WEDGE_ENERGY_RATIO * kinetic * inverse_mass;
}

/* Doubles of gw_impulse_work.memory. */
size_t gw_impulse_memory(int rows, int dof);

/*
 * The change dv of v, the generalised impulse J^T p, and p (N s) of each row; under the
 * pseudo-inverse the least p. The kinetic energy of the motion relative to the bodies that are
 * moved from outside never rises: where the rows differ in e, rebounds are scaled down. Returns the
 * rank of J.
 */
int gw_impulse_solve(const gw_impulse_problem *problem, gw_impulse_work *work, double *dv,
                     double *generalised, double *p);

/*
 * Friction impulses of contacts that push: rows 2 i and 2 i + 1 of `problem` are the tangents of
 * contact i (e and only_push are not read; at most 2 GW_MAX_SIMULTANEOUS_CONTACTS rows), limit[i]
 * is its mu p_n (N s). Adds to dv and generalised of gw_impulse_solve(); p: impulse of each row (N
 * s). The kinetic energy falls as far as impulses within the limits allow, and never rises. Returns
 * the number of sweeps over all contacts. `images`: workspace, rows x dof doubles.
 */
int gw_impulse_friction(const gw_impulse_problem *problem, const double *limit, double *images,
                        double *dv, double *generalised, double *p);

#endif
