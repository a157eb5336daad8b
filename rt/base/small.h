/*
 * Small dense linear algebra: matrices of at most GW_MAX_ROWS rows and six columns, in the caller's
 * memory. Any thread, RT safe.
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

/* A = L Q^T by Householder reflections of the rows, with row pivoting. */
typedef struct gw_small_lq {
    int rank;            /* rows longer than the tolerance times the first */
    double mirror[6][6]; /* unit Householder vectors; Q = H_0 H_1 ... */
} gw_small_lq;

/* `a` (rows x 6) becomes L, lower triangular in its first `rank` rows once they are put in the
 * order of `order` (rows entries: what is now in row i came from row order[i]). */
void gw_small_lq_factor(int rows, double (*a)[6], double tolerance, int *order, gw_small_lq *q);

/* Columns `first` to 5 of Q, one each in `basis`: from `rank` on, the null space of A. */
void gw_small_lq_columns(const gw_small_lq *q, int first, double (*basis)[6]);

/* x of least norm that minimises |A x - b|, by LQ factorisation: pivots below `tolerance` times the
 * first, and those beyond the `most` largest, are left out; `a` and `b` are overwritten. An order
 * of magnitude faster than the SVD. Rows: at most GW_MAX_ROWS + 6. Returns the rank. */
int gw_small_least_squares(int rows, double (*a)[6], double tolerance, int most, double *b,
                           double x[6]);

/* Solves (M + raise I) x = g for n <= 6 unknowns by Cholesky factorisation of the lower triangle of
 * M; returns 0 if it is not positive definite. */
int gw_small_cholesky_solve(int n, const double (*m)[6], double raise, const double *g, double *x);

/* Maximum of residuals that propagates NaN, which fmax() ignores. */
static inline double gw_worst(double worst, double x)
{
    return x > worst || x != x ? x : worst;
}

/* fmax() and fmin() in one instruction each; with a NaN operand the result is b. */
static inline double gw_max(double a, double b)
{
    return a > b ? a : b;
}

static inline double gw_min(double a, double b)
{
    return a < b ? a : b;
}

/* Scalar product, and y += s x, of vectors of n entries. */
static inline double gw_dot_n(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static inline void gw_axpy_n(int n, double s, const double *x, double *y)
{
    for (int i = 0; i < n; i++)
        y[i] += s * x[i];
}

/* Orthonormalises `count` vectors of 6 in place (modified Gram-Schmidt, twice); vectors that
 * depend on earlier ones are left out. Returns how many remain. */
int gw_small_orthonormalise(int count, double (*x)[6]);

#endif
