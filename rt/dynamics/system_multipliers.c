/*
 * The multipliers of least norm, where rows of a system's closures are dependent. With L_I and L_D
 * the factor's independent and dependent rows (system_elimination.c), N = [-L_D L_I^-1, I] has the
 * null vectors of K, and
 *
 *   lambda := lambda - N^T (N N^T)^-1 N lambda
 *
 * by conjugate gradients: N takes one forward substitution, N^T one backward, and no eigenvalue of
 * N N^T is below 1. Where many are wanted with the same factors N N^T is factored, and the method
 * preconditioned with it. RT safe.
 */
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_multipliers.h"

#define EXACT 1e-30 /* squared remainder, relative to the multipliers' square */

int gw_closures_find_dependent(gw_system *s)
{
    int count = 0;
    for (int i = s->rank; s->is_dense && i < s->dense_count; i++)
        s->dependent[count++] = s->dense_rows[s->dense_order[i]];
    for (int i = 0; !s->is_dense && i < s->block_count; i++)
        for (int n = s->blocks[i].rank; n < s->blocks[i].active; n++)
            s->dependent[count++] = s->blocks[i].first + s->pivots[s->blocks[i].first + n];
    return count;
}

void gw_closures_null_vector(const gw_system *s, int n, double *x)
{
    memset(x, 0, (size_t)s->rows_in_blocks * sizeof *x);
    x[s->dependent[n]] = 1;
    gw_closures_backward(s, x);
}

/* N N^T of n dependent rows, column by column, and its factor by Cholesky. */
static void factor_null_space(gw_system *s, int n)
{
    double *m = s->null_factor, *x = s->least_multipliers;
    for (int j = 0; j < n; j++) {
        gw_closures_null_vector(s, j, x);
        memcpy(s->right, x, (size_t)s->rows_in_blocks * sizeof *x);
        gw_closures_forward(s, s->right, s->rest);
        for (int i = j; i < n; i++)
            m[i * n + j] = s->right[s->dependent[i]];
    }
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++)
            m[j * n + j] -= m[j * n + k] * m[j * n + k];
        m[j * n + j] = sqrt(m[j * n + j]);
        for (int i = j + 1; i < n; i++) {
            for (int k = 0; k < j; k++)
                m[i * n + j] -= m[i * n + k] * m[j * n + k];
            m[i * n + j] /= m[j * n + j];
        }
    }
}

/* x := (N N^T)^-1 left of the dependent rows; left itself without a factor. */
static void precondition(const gw_system *s, bool factored, int n, const double *left, double *x)
{
    const double *m = s->null_factor;
    const int *d = s->dependent;
    for (int i = 0; i < n; i++)
        x[d[i]] = left[d[i]];
    for (int i = 0; i < n && factored; i++) {
        for (int k = 0; k < i; k++)
            x[d[i]] -= m[i * n + k] * x[d[k]];
        x[d[i]] /= m[i * n + i];
    }
    for (int i = n - 1; i >= 0 && factored; i--) {
        for (int k = i + 1; k < n; k++)
            x[d[i]] -= m[k * n + i] * x[d[k]];
        x[d[i]] /= m[i * n + i];
    }
}

const double *gw_closures_least_multipliers(gw_system *s, bool many)
{
    if (s->rank == s->active_rows)
        return s->solution;
    int n = gw_closures_find_dependent(s), *d = s->dependent, rows = s->rows_in_blocks;
    size_t size = (size_t)rows * sizeof(double);
    double *lambda = s->least_multipliers, *left = lambda + rows, *p = left + rows, *by = p + rows;
    double *z = by + rows, most = 0, squares = 0, along = 0;
    bool factored = many && s->null_factor;
    if (factored && !s->null_factored)
        factor_null_space(s, n);
    s->null_factored = s->null_factored || factored;
    memcpy(lambda, s->solution, size);
    memcpy(s->right, lambda, size);
    gw_closures_forward(s, s->right, s->rest);
    for (int i = 0; i < rows; i++)
        most += lambda[i] * lambda[i];
    for (int i = 0; i < n; i++)
        left[d[i]] = -s->right[d[i]];
    precondition(s, factored, n, left, z);
    for (int i = 0; i < n; i++) {
        p[d[i]] = z[d[i]];
        squares += left[d[i]] * left[d[i]];
        along += left[d[i]] * z[d[i]];
    }
    for (int turn = 0; turn < n && squares > EXACT * most; turn++) {
        memset(by, 0, size);
        for (int i = 0; i < n; i++)
            by[d[i]] = p[d[i]];
        gw_closures_backward(s, by);
        double curvature = 0, before = along;
        for (int i = 0; i < rows; i++)
            curvature += by[i] * by[i];
        double step = along / curvature;
        for (int i = 0; i < rows; i++)
            lambda[i] += step * by[i];
        memcpy(s->right, by, size);
        gw_closures_forward(s, s->right, s->rest);
        squares = along = 0;
        for (int i = 0; i < n; i++) {
            left[d[i]] -= step * s->right[d[i]];
            squares += left[d[i]] * left[d[i]];
        }
        precondition(s, factored, n, left, z);
        for (int i = 0; i < n; i++)
            along += left[d[i]] * z[d[i]];
        for (int i = 0; i < n; i++)
            p[d[i]] = z[d[i]] + along / before * p[d[i]];
    }
    return lambda;
}
