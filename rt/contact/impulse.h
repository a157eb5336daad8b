/*
 * Simultaneous impulses: what a collision does to generalised velocities (impulsive-forces IV, eq.
 * 15 and 22 as corrected). A function of matrices; it knows no bodies.
 *
 *   u = J v + offset                     approach speeds, < 0: towards one another
 *   v' = v - (1+e) D^-1/2 V V^T D^1/2 v  the reflection; V: orthonormal row space of J D^-1/2
 *
 * Rows are made orthonormal in the metric of D^-1 with the largest that is left first, so redundant
 * and nearly redundant ones do no harm and e = 1 keeps the energy. Of more than
 * GW_IMPULSE_MAX_BASIS_ROWS rows those that make a basis are found by a factor of A = J D^-1 J^T,
 * to 1e-6: see impulse_many.c.
 *
 * Any thread; RT safe: all memory is the caller's.
 */
#ifndef GW_CONTACT_IMPULSE_H
#define GW_CONTACT_IMPULSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rt/base/limits.h"

typedef struct gw_impulse_problem {
    int rows; /* at most GW_MAX_SIMULTANEOUS_CONTACTS */
    int dof;  /* entries of a row */
    /* D is block diagonal: block b is entries from[b] .. from[b + 1] - 1. At most
     * GW_MAX_MODELS; 0: all of it is one. */
    int blocks;
    const int *from;
    const int (*of)[2];   /* the blocks that a row has entries in, -1: none; others are not read */
    const double *j;      /* rows x dof */
    const double *v;      /* before (dof entries) */
    const double *e;      /* restitution of each row, 0 .. 1 */
    const double *offset; /* of what moves by itself: u = J v + offset; NULL: none */
    int few;        /* rows that are worth a basis of their own; 0: GW_IMPULSE_MAX_BASIS_ROWS */
    bool only_push; /* p >= 0: min 1/2 p^T A p + (1+e) p^T u; else the pseudo-inverse */
    /* D^-1 w of one block */
    void (*inverse)(const void *context, int block, const double *w, double *answer);
    const void *context;
} gw_impulse_problem;

#define GW_IMPULSE_MAX_BASIS_ROWS 20 /* rows that are worth a basis of their own */

/* x that is nearest to -b in the cone of the vectors l_i: what only_push works with. */
typedef struct gw_nnls {
    int count; /* of vectors that x leans on, and which they are */
    int lean[GW_MAX_SIMULTANEOUS_CONTACTS];
    double along[GW_MAX_SIMULTANEOUS_CONTACTS]; /* x = sum along_k q_k */
    double q[GW_MAX_SIMULTANEOUS_CONTACTS]
            [GW_MAX_SIMULTANEOUS_CONTACTS]; /* orthonormal, one a row */
    double r[GW_MAX_SIMULTANEOUS_CONTACTS]
            [GW_MAX_SIMULTANEOUS_CONTACTS]; /* l of lean[k] = sum_m r[m][k] q[m] */
} gw_nnls;

/* Which blocks a vector has entries in: a bit each. */
typedef struct gw_block_set {
    uint64_t bits[(GW_MAX_MODELS + 63) / 64];
} gw_block_set;

typedef struct gw_impulse_work {
    double *memory; /* gw_impulse_memory(rows, dof) doubles */
    int rank;
    int pivot[GW_MAX_SIMULTANEOUS_CONTACTS];       /* the row that gave basis vector k */
    bool square;                                   /* the pivots' rows are all that counts */
    double *w, *y;                                 /* basis: w_k, and D^-1 w_k; by slot x dof */
    int slot[GW_MAX_SIMULTANEOUS_CONTACTS];        /* which row of the memory vector k has */
    gw_block_set in[GW_MAX_SIMULTANEOUS_CONTACTS]; /* where w_k and y_k have entries */
    double l[GW_MAX_SIMULTANEOUS_CONTACTS][GW_MAX_SIMULTANEOUS_CONTACTS]; /* J = L W */
    double a[GW_MAX_SIMULTANEOUS_CONTACTS]
            [GW_MAX_SIMULTANEOUS_CONTACTS]; /* of many rows: J D^-1 J^T, what is left */
    gw_nnls cone;                           /* also L = Q R, where the rows are redundant */
} gw_impulse_work;

/* What is carried into something with the speed `offset` (m/s), and would have to move with so much
 * more than its whole kinetic energy to give way, is wedged: what carries it takes it through.
 * `yield`: J D^-1 J^T (1/kg). */
#define GW_WEDGE_ENERGY_RATIO 10.0

static inline bool gw_row_wedged(double offset, double yield, double kinetic)
{
    return offset * offset > 2 * GW_WEDGE_ENERGY_RATIO * kinetic * yield;
}

size_t gw_impulse_memory(int rows, int dof);

/*
 * The change of v, the generalised impulse J^T p, and p (N s) of each row: the least one that does
 * it under the pseudo-inverse. Kinetic energy (of the motion relative to what has an offset) never
 * rises; where the rows differ in e, rebounds are scaled down until it does not. Returns the rank.
 */
int gw_impulse_solve(const gw_impulse_problem *problem, gw_impulse_work *work, double *dv,
                     double *generalised, double *p);

/*
 * Friction of what pushes: rows 2 i and 2 i + 1 of `problem` are across contact i (e and only_push
 * are not read; 2 GW_MAX_SIMULTANEOUS_CONTACTS rows at most), limit[i] is mu p_n of it (N s). Adds
 * to dv and generalised of the impulses along the normals; p: of each row. The motion loses as much
 * kinetic energy as impulses within the limits can take, relative to what moves by itself; it never
 * gains. Returns how often it went over all contacts. `images`: room for rows x dof doubles.
 */
int gw_impulse_friction(const gw_impulse_problem *problem, const double *limit, double *images,
                        double *dv, double *generalised, double *p);

/* p that minimises 1/2 p^T A p + g^T p over |p| <= limit; A = (a[0] a[1]; a[1] a[2]) >= 0. */
void gw_impulse_friction_one(const double a[3], const double g[2], double limit, double p[2]);

/*
 * p >= 0 (count entries) that minimises |sum p_i l_i + b| over vectors of `dim` entries, and x,
 * that sum: an active set, at most 4 count + 8 changes of it; x is the projection of -b onto the
 * span of those it leans on, whatever happens.
 */
void gw_nnls_solve(int count, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                   const double *b, gw_nnls *cone, double *p, double *x);

#endif
