/*
 * Sparse symmetric matrices of 6 x 6 blocks, one row of blocks a body: the normal equations of
 * relations between pairs of bodies, by Cholesky's method in an order of least degree. The cost is
 * linear in the bodies of chains and trees.
 *
 * Made by a thread that may allocate; all else is RT safe, one thread at a time.
 */
#ifndef GW_BASE_BLOCK_CHOLESKY_H
#define GW_BASE_BLOCK_CHOLESKY_H

#include <stdbool.h>

#define GW_BLOCK 6

typedef double gw_block[GW_BLOCK][GW_BLOCK];

typedef struct gw_block_matrix gw_block_matrix;

/* `count` rows of blocks; pairs (i, k) of different ones whose block may be non-zero. NULL: memory
 * is short. */
gw_block_matrix *gw_block_matrix_create(int count, const int (*pairs)[2], int pair_count);
void gw_block_matrix_destroy(gw_block_matrix *matrix); /* NULL is fine */

/* The stored block of a pair, or of a diagonal: of rows i and columns k, or where *transposed is
 * set its transpose. Valid as long as the matrix. */
double *gw_block_matrix_at(gw_block_matrix *matrix, int i, int k, bool *transposed);

void gw_block_matrix_clear(gw_block_matrix *matrix);

/* The largest entry of the diagonal. */
double gw_block_matrix_largest(const gw_block_matrix *matrix);

/* Factorises matrix + raise I; pivots below `raise` become that. The matrix stays as it is. */
void gw_block_matrix_factor(gw_block_matrix *matrix, double raise);

/* Solves with the last factors: x (GW_BLOCK entries a body) from right side to solution. */
void gw_block_matrix_solve(gw_block_matrix *matrix, double *x);

#endif
