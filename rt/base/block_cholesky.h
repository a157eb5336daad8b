/*
 * Sparse symmetric matrices of 6 x 6 blocks, one row of blocks per body: normal equations of
 * relations between pairs of bodies, solved by Cholesky factorisation in minimum-degree order. The
 * cost is linear in the number of bodies for chains and trees.
 *
 * Created by a thread that may allocate; all other functions are RT safe, one thread at a time.
 */
#ifndef GW_BASE_BLOCK_CHOLESKY_H
#define GW_BASE_BLOCK_CHOLESKY_H

#include <stdbool.h>

#define GW_BLOCK 6

typedef double gw_block[GW_BLOCK][GW_BLOCK];

typedef struct gw_block_matrix gw_block_matrix;

/* A matrix of `count` rows of blocks; pairs (i, k), i != k, whose block may be non-zero. NULL:
 * memory is exhausted. */
gw_block_matrix *gw_block_matrix_create(int count, const int (*pairs)[2], int pair_count);
void gw_block_matrix_destroy(gw_block_matrix *matrix); /* NULL is fine */

/* The stored block of a pair or of the diagonal (36 entries): rows i and columns k, or its
 * transpose if *transposed is set. Valid as long as the matrix. */
double *gw_block_matrix_at(gw_block_matrix *matrix, int i, int k, bool *transposed);

void gw_block_matrix_clear(gw_block_matrix *matrix);

/* The largest entry of the diagonal. */
double gw_block_matrix_largest(const gw_block_matrix *matrix);

/* Factorises matrix + raise I; pivots below `raise` are set to it. The matrix is unchanged. */
void gw_block_matrix_factor(gw_block_matrix *matrix, double raise);

/* Solves with the last factors, in place: x (GW_BLOCK entries per body) becomes the solution. */
void gw_block_matrix_solve(gw_block_matrix *matrix, double *x);

#endif
