/*
 * Singular values by one-sided Jacobi: rotates pairs of columns until all are orthogonal; their
 * norms are then the singular values. Accurate to the last digits also where the matrix lacks rank,
 * which is what rank decisions need. Least norm solutions and null spaces by Householder's
 * reflections with pivots, for iterations. Any thread, RT safe.
 */
#include "rt/base/small.h"

#include <assert.h>
#include <math.h>

#include "rt/base/limits.h"
#include "rt/base/spatial.h"

#define SWEEPS 24 /* converges in about six; the cap bounds the time */

/* Rotates columns i and j of the rows x 6 matrix by (c, s). */
static void rotate_columns(int rows, double (*a)[6], int i, int j, double c, double s)
{
    for (int k = 0; k < rows; k++) {
        double x = a[k][i], y = a[k][j];
        a[k][i] = c * x - s * y;
        a[k][j] = s * x + c * y;
    }
}

/* Makes columns i and j orthogonal; false where they already are. */
static int orthogonalise_columns(int rows, double (*a)[6], double v[6][6], int i, int j)
{
    double ii = 0, jj = 0, ij = 0;
    for (int k = 0; k < rows; k++) {
        ii += a[k][i] * a[k][i];
        jj += a[k][j] * a[k][j];
        ij += a[k][i] * a[k][j];
    }
    if (fabs(ij) <= 1e-16 * sqrt(ii * jj) || ij == 0)
        return 0;
    /* tan(2 angle) = 2 ij / (jj - ii), the smaller root */
    double zeta = (jj - ii) / (2 * ij);
    double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    double c = 1 / sqrt(1 + t * t);
    rotate_columns(rows, a, i, j, c, c * t);
    rotate_columns(6, v, i, j, c, c * t);
    return 1;
}

static void swap_columns(int rows, double (*a)[6], int i, int j)
{
    for (int k = 0; k < rows; k++) {
        double x = a[k][i];
        a[k][i] = a[k][j];
        a[k][j] = x;
    }
}

/* Sorts columns by falling norm. */
static void sort_columns(int rows, double (*a)[6], double s[6], double v[6][6])
{
    for (int i = 0; i < 5; i++) {
        int best = i;
        for (int j = i + 1; j < 6; j++)
            if (s[j] > s[best])
                best = j;
        if (best == i)
            continue;
        double x = s[i];
        s[i] = s[best];
        s[best] = x;
        swap_columns(rows, a, i, best);
        swap_columns(6, v, i, best);
    }
}

void gw_small_svd(int rows, double (*a)[6], double s[6], double v[6][6])
{
    assert(rows >= 0 && a && s);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            v[i][j] = i == j;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        int rotations = 0;
        for (int i = 0; i < 5; i++)
            for (int j = i + 1; j < 6; j++)
                rotations += orthogonalise_columns(rows, a, v, i, j);
        if (rotations == 0)
            break;
    }
    for (int j = 0; j < 6; j++) {
        double sum = 0;
        for (int k = 0; k < rows; k++)
            sum += a[k][j] * a[k][j];
        s[j] = sqrt(sum);
    }
    sort_columns(rows, a, s, v);
}

int gw_small_rank(const double s[6], double tolerance)
{
    assert(s && tolerance >= 0);
    int rank = 0;
    while (rank < 6 && s[rank] > tolerance * s[0] && s[rank] > 0)
        rank++;
    return rank;
}

/* x = sum over k < rank of v_k (u_k . b) / s_k, with us_k = s_k u_k */
void gw_small_solve(int rows, const double (*us)[6], const double s[6], const double v[6][6],
                    int rank, const double *b, double x[6])
{
    assert(rows >= 0 && rank >= 0 && rank <= 6 && b && x);
    for (int i = 0; i < 6; i++)
        x[i] = 0;
    for (int k = 0; k < rank; k++) {
        double sum = 0;
        for (int r = 0; r < rows; r++)
            sum += us[r][k] * b[r];
        sum /= s[k] * s[k];
        for (int i = 0; i < 6; i++)
            x[i] += sum * v[i][k];
    }
}

/* Sum of squares of a row from column k on. */
static double tail_norm2(const double a[6], int k)
{
    double sum = 0;
    for (int j = k; j < 6; j++)
        sum += a[j] * a[j];
    return sum;
}

/* Reflects x by the unit Householder vector u, which is zero before column k. */
static void apply_reflection(const double u[6], int k, double x[6])
{
    double dot = 0;
    for (int j = k; j < 6; j++)
        dot += u[j] * x[j];
    for (int j = k; j < 6; j++)
        x[j] -= 2 * dot * u[j];
}

/* The Householder vector that takes a row's columns k.. onto column k: along a + sign(a_k)|a|. */
static void householder_vector(const double a[6], int k, double norm, double u[6])
{
    for (int j = 0; j < 6; j++)
        u[j] = j < k ? 0 : a[j];
    u[k] += a[k] >= 0 ? norm : -norm;
    double length = sqrt(tail_norm2(u, k));
    for (int j = k; j < 6; j++)
        u[j] /= length;
}

/* Brings row i to position k. */
static void swap_rows(double (*a)[6], int *order, int i, int k)
{
    for (int j = 0; j < 6; j++) {
        double x = a[i][j];
        a[i][j] = a[k][j];
        a[k][j] = x;
    }
    int o = order[i];
    order[i] = order[k];
    order[k] = o;
}

/* gw_small_lq_factor(), to a rank of `most_rank`. */
static void factor_to_rank(int rows, double (*a)[6], double tolerance, int most_rank, int *order,
                           gw_small_lq *q)
{
    double first = 0;
    for (int i = 0; i < rows; i++)
        order[i] = i;
    for (q->rank = 0; q->rank < most_rank && q->rank < rows; q->rank++) {
        int k = q->rank, best = k;
        double most = -1;
        for (int i = k; i < rows; i++) {
            double here = tail_norm2(a[i], k);
            if (here > most)
                best = i, most = here;
        }
        double norm = sqrt(most);
        first = k == 0 ? norm : first;
        if (!(norm > tolerance * first) || norm == 0)
            return;
        swap_rows(a, order, best, k);
        householder_vector(a[k], k, norm, q->mirror[k]);
        for (int i = k; i < rows; i++)
            apply_reflection(q->mirror[k], k, a[i]);
    }
}

void gw_small_lq_factor(int rows, double (*a)[6], double tolerance, int *order, gw_small_lq *q)
{
    factor_to_rank(rows, a, tolerance, 6, order, q);
}

void gw_small_lq_columns(const gw_small_lq *q, int first, double (*basis)[6])
{
    assert(q && first >= 0 && first <= 6 && basis);
    for (int c = first; c < 6; c++) {
        double *x = basis[c - first];
        for (int j = 0; j < 6; j++)
            x[j] = j == c;
        for (int k = q->rank - 1; k >= 0; k--)
            apply_reflection(q->mirror[k], k, x);
    }
}

/* y of the triangle L y = b. */
static void solve_lower(int n, const double (*l)[6], const double *b, double y[6])
{
    for (int i = 0; i < n; i++) {
        double sum = b[i];
        for (int j = 0; j < i; j++)
            sum -= l[i][j] * y[j];
        y[i] = sum / l[i][i];
    }
}

/* y that minimises |L y - b| for L of full column rank n: columns made orthonormal from the last
 * to the first, b along with them. */
static void least_squares(int rows, int n, double (*l)[6], double *b, double y[6])
{
    double u[6][6] = {{0}}, c[6] = {0};
    for (int k = n - 1; k >= 0; k--) {
        double norm = 0;
        for (int i = 0; i < rows; i++)
            norm += l[i][k] * l[i][k];
        norm = sqrt(norm);
        u[k][k] = norm;
        for (int i = 0; i < rows; i++)
            l[i][k] /= norm;
        for (int j = 0; j < k; j++) {
            for (int i = 0; i < rows; i++)
                u[k][j] += l[i][k] * l[i][j];
            for (int i = 0; i < rows; i++)
                l[i][j] -= u[k][j] * l[i][k];
        }
        c[k] = 0;
        for (int i = 0; i < rows; i++)
            c[k] += l[i][k] * b[i];
        for (int i = 0; i < rows; i++)
            b[i] -= c[k] * l[i][k];
    }
    solve_lower(n, (const double(*)[6])u, c, y);
}

int gw_small_least_squares(int rows, double (*a)[6], double tolerance, int most, double *b,
                           double x[6])
{
    int order[GW_MAX_ROWS + 6];
    double sorted[GW_MAX_ROWS + 6];
    gw_small_lq q;
    assert(rows >= 0 && rows <= GW_MAX_ROWS + 6);
    factor_to_rank(rows, a, tolerance, most, order, &q);
    for (int i = 0; i < rows; i++)
        sorted[i] = b[order[i]];
    for (int j = 0; j < 6; j++)
        x[j] = 0;
    if (rows == q.rank)
        solve_lower(rows, (const double(*)[6])a, sorted, x);
    else
        least_squares(rows, q.rank, a, sorted, x);
    for (int k = q.rank - 1; k >= 0; k--)
        apply_reflection(q.mirror[k], k, x);
    return q.rank;
}

int gw_small_cholesky_solve(int n, const double (*m)[6], double raise, const double *g, double *x)
{
    double l[6][6];
    assert(n >= 0 && n <= 6);
    for (int j = 0; j < n; j++) {
        double pivot = m[j][j] + raise;
        for (int k = 0; k < j; k++)
            pivot -= l[j][k] * l[j][k];
        if (!(pivot > 0))
            return 0;
        l[j][j] = sqrt(pivot);
        double inverse = 1 / l[j][j];
        for (int i = j + 1; i < n; i++) {
            double sum = m[i][j];
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            l[i][j] = sum * inverse;
        }
    }
    solve_lower(n, (const double(*)[6])l, g, x);
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            x[i] -= l[k][i] * x[k];
        x[i] /= l[i][i];
    }
    return 1;
}

int gw_small_orthonormalise(int count, double (*x)[6])
{
    assert(count >= 0 && (count == 0 || x));
    int kept = 0;
    for (int j = 0; j < count; j++) {
        double y[6];
        for (int i = 0; i < 6; i++)
            y[i] = x[j][i];
        double before = sqrt(gw_dot6(y, y));
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < kept; k++) {
                double c = gw_dot6(y, x[k]);
                for (int i = 0; i < 6; i++)
                    y[i] -= c * x[k][i];
            }
        double norm = sqrt(gw_dot6(y, y));
        if (norm <= GW_RANK_TOLERANCE * before || norm == 0)
            continue;
        for (int i = 0; i < 6; i++)
            x[kept][i] = y[i] / norm;
        kept++;
    }
    return kept;
}
