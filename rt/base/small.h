/*
 * Dense linear algebra of the solver's size: matrices of at most GW_MAX_ROWS rows and six
 * columns, in caller's memory. Any thread, RT safe.
 */
#ifndef GW_BASE_SMALL_H
#define GW_BASE_SMALL_H

/* Singular values below this fraction of the largest count as zero. */
#define GW_RANK_TOLERANCE 1e-9

/*
 * A = U S V^T by one-sided Jacobi rotations: `a` (rows x 6) becomes U S, `s` the six singular
 * values in falling order, and column k of `v` (6 x 6) the k-th right singular vector.
 */
void gw_small_svd(int rows, double (*a)[6], double s[6], double v[6][6]);

/* Number of singular values above `tolerance` times the largest. */
int gw_small_rank(const double s[6], double tolerance);

/* x of least norm that minimises |A x - b|, out of gw_small_svd()'s results, using `rank`
 * singular values. */
void gw_small_solve(int rows, const double (*us)[6], const double s[6], const double v[6][6],
                    int rank, const double *b, double x[6]);

/* Orthonormalises `count` vectors of 6 in place (modified Gram-Schmidt, twice); vectors that
 * depend on earlier ones are left out. Returns how many remain. */
int gw_small_orthonormalise(int count, double (*x)[6]);

#endif
