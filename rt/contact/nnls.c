/*
 * Non-negative least squares: vectors become active one at a time, the one with the largest
 * gradient first, and leave where their share would become negative. Active ones are kept as an
 * orthonormal basis, so the answer is a projection to the last digit.
 *
 * Then the least of all answers: inactive vectors without gradient may share. RT safe.
 */
#include "rt/contact/nnls.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/small.h"

#define DEPENDENT   1e-11 /* a vector of which less is new does not become active */
#define OPTIMAL     1e-13 /* of |b|: least gradient of a vector that becomes active */
#define MAY_SHARE   1e-9  /* of |b|: gradient of a vector that may share in any case */
#define RIDGE       1e-14 /* of the trace of M */
#define REFINEMENTS 5
#define SAME_SUM    1e-14 /* of |x|: where refining ends, */
#define SUM_FOUND   1e-6  /* and what counts as the same sum */
#define GROWS       1e-11 /* of the largest share: what one has to grow by at least */

/* ---- an active set ----------------------------------------------------------------------------
 */

/* Makes vector i active; false where it is redundant. */
static bool activate_vector(gw_nnls *c, int dim, const double *l, int i, const double *b)
{
    int k = c->count;
    double *q = c->q[k], size = sqrt(gw_dot_n(dim, l, l));
    if (k >= dim)
        return false;
    memcpy(q, l, (size_t)dim * sizeof *q);
    for (int m = 0; m < k; m++)
        c->r[m][k] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int m = 0; m < k; m++) {
            double part = gw_dot_n(dim, c->q[m], q);
            c->r[m][k] += part;
            gw_axpy_n(dim, -part, c->q[m], q);
        }
    double norm = sqrt(gw_dot_n(dim, q, q));
    if (!(norm > DEPENDENT * size))
        return false;
    for (int j = 0; j < dim; j++)
        q[j] /= norm;
    for (int m = 0; m < k; m++)
        gw_axpy_n(dim, -gw_dot_n(dim, c->q[m], q), c->q[m], q);
    c->r[k][k] = norm;
    c->along[k] = -gw_dot_n(dim, q, b);
    c->active[k] = i;
    c->count++;
    return true;
}

/* Makes the vector at `position` inactive; those after it are activated anew. */
static void deactivate_vector(gw_nnls *c, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                              int position, const double *b)
{
    int later[GW_MAX_SIMULTANEOUS_CONTACTS], count = c->count - position - 1;
    for (int k = 0; k < count; k++)
        later[k] = c->active[position + 1 + k];
    c->count = position;
    for (int k = 0; k < count; k++)
        activate_vector(c, dim, l[later[k]], later[k], b);
}

/* Shares of the active vectors: R t = along. */
static void shares_of(const gw_nnls *c, double *t)
{
    for (int k = c->count - 1; k >= 0; k--) {
        double sum = c->along[k];
        for (int m = k + 1; m < c->count; m++)
            sum -= c->r[k][m] * t[m];
        t[k] = sum / c->r[k][k];
    }
}

/* Goes from the shares p towards t until one becomes negative, whose position is returned; -1 where
 * none does. */
static int advance_to_boundary(const gw_nnls *c, const double *t, double *p)
{
    double step = 1;
    int bound = -1;
    for (int k = 0; k < c->count; k++) {
        double now = p[c->active[k]];
        if (t[k] > 0)
            continue;
        double reach = now > 0 ? now / (now - t[k]) : 0;
        if (bound < 0 || reach < step)
            step = reach, bound = k;
    }
    for (int k = 0; k < c->count; k++)
        p[c->active[k]] = fmax(0, p[c->active[k]] + step * (t[k] - p[c->active[k]]));
    if (bound >= 0)
        p[c->active[bound]] = 0;
    return bound;
}

/* The vector with the largest gradient above `least`, -1: none. */
static int largest_gradient(const gw_nnls *c, int count, int dim,
                            const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS], const double *residual,
                            double least, const bool *excluded)
{
    int best = -1;
    for (int i = 0; i < count; i++) {
        bool skip = excluded[i];
        for (int k = 0; k < c->count; k++)
            skip = skip || c->active[k] == i;
        double size = sqrt(gw_dot_n(dim, l[i], l[i]));
        if (skip || size == 0)
            continue;
        double gradient = gw_dot_n(dim, l[i], residual) / size;
        if (gradient > least)
            best = i, least = gradient;
    }
    return best;
}

static void sum_active(const gw_nnls *c, int dim, double *x)
{
    memset(x, 0, (size_t)dim * sizeof *x);
    for (int k = 0; k < c->count; k++)
        gw_axpy_n(dim, c->along[k], c->q[k], x);
}

void gw_nnls_solve(int count, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                   const double *b, gw_nnls *c, double *p, double *x)
{
    bool excluded[GW_MAX_SIMULTANEOUS_CONTACTS] = {false};
    double residual[GW_MAX_SIMULTANEOUS_CONTACTS], t[GW_MAX_SIMULTANEOUS_CONTACTS];
    double least = OPTIMAL * sqrt(gw_dot_n(dim, b, b));
    assert(count >= 0 && count <= GW_MAX_SIMULTANEOUS_CONTACTS);
    assert(dim >= 0 && dim <= GW_MAX_SIMULTANEOUS_CONTACTS);
    c->count = 0;
    memset(p, 0, (size_t)count * sizeof *p);
    for (int turn = 0; turn < 4 * count + 8; turn++) {
        sum_active(c, dim, x);
        for (int j = 0; j < dim; j++)
            residual[j] = -b[j] - x[j];
        int i = largest_gradient(c, count, dim, l, residual, least, excluded);
        if (i < 0)
            break;
        excluded[i] = true; /* until another one changed the active set */
        if (!activate_vector(c, dim, l[i], i, b))
            continue;
        shares_of(c, t);
        if (!(t[c->count - 1] > 0)) {
            c->count--;
            continue;
        }
        for (int bound; (bound = advance_to_boundary(c, t, p)) >= 0 && c->count > 0;
             shares_of(c, t))
            deactivate_vector(c, dim, l, bound, b);
        memset(excluded, 0, sizeof excluded);
    }
    sum_active(c, dim, x);
}

/* ---- the least answer --------------------------------------------------------------------------
 *
 *   p_i = l_i . y  for those that share,   M y = x,   M = sum of l_i l_i^T over them
 */

/* Cholesky factor of M in place, columns of the lower triangle in m[row * n + column]. */
static void factor_cholesky(int n, double *m)
{
    for (int j = 0; j < n; j++) {
        m[j * n + j] = sqrt(m[j * n + j] - gw_dot_n(j, m + j * n, m + j * n));
        for (int i = j + 1; i < n; i++)
            m[i * n + j] = (m[i * n + j] - gw_dot_n(j, m + i * n, m + j * n)) / m[j * n + j];
    }
}

/* y += M^-1 r; r is overwritten. */
static void add_solution(int n, const double *m, double *r, double *y)
{
    for (int i = 0; i < n; i++)
        r[i] = (r[i] - gw_dot_n(i, m + i * n, r)) / m[i * n + i];
    for (int i = n - 1; i >= 0; i--) {
        r[i] /= m[i * n + i];
        gw_axpy_n(i, -r[i], m + i * n, r);
    }
    gw_axpy_n(n, 1, r, y);
}

/* p of the `some` vectors l_of[i], and y; M is regular by a ridge, whose part refining takes out.
 */
static bool least_of(int some, const int *of, int dim, int stride, const double *l, const double *x,
                     double *m, double *y, double *p)
{
    double left[GW_LEAST_SHARES_MAX_DIM], trace = 0, size = sqrt(gw_dot_n(dim, x, x));
    memset(m, 0, (size_t)dim * (size_t)dim * sizeof *m);
    memset(y, 0, (size_t)dim * sizeof *y);
    for (int i = 0; i < some; i++)
        for (int j = 0; j < dim; j++)
            gw_axpy_n(j + 1, l[of[i] * stride + j], l + of[i] * stride, m + j * dim);
    for (int j = 0; j < dim; j++)
        trace += m[j * dim + j];
    if (!(trace > 0))
        return false;
    for (int j = 0; j < dim; j++)
        m[j * dim + j] += RIDGE * trace;
    factor_cholesky(dim, m);
    double off = INFINITY;
    for (int turn = 0; turn <= REFINEMENTS; turn++) {
        memcpy(left, x, (size_t)dim * sizeof *left);
        for (int i = 0; i < some; i++) {
            p[i] = gw_dot_n(dim, l + of[i] * stride, y);
            gw_axpy_n(dim, -p[i], l + of[i] * stride, left);
        }
        off = sqrt(gw_dot_n(dim, left, left));
        if (off <= SAME_SUM * size || turn == REFINEMENTS)
            break;
        add_solution(dim, m, left, y);
    }
    return off <= SUM_FOUND * size;
}

bool gw_least_shares(int count, int dim, int stride, const double *l, const double *x, double *m,
                     double *p)
{
    int of[GW_LEAST_SHARES_MAX_DIM];
    double y[GW_LEAST_SHARES_MAX_DIM];
    assert(count >= 0 && count <= GW_LEAST_SHARES_MAX_DIM);
    assert(dim >= 0 && dim <= GW_LEAST_SHARES_MAX_DIM && stride >= dim);
    for (int i = 0; i < count; i++)
        of[i] = i;
    return least_of(count, of, dim, stride, l, x, m, y, p);
}

/* Vectors that may share: those that do, and those without gradient. Returns how many. */
static int gather_sharing(int count, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                          const double *b, double slack, const double *x, const double *p, int *of)
{
    double residual[GW_MAX_SIMULTANEOUS_CONTACTS], size = sqrt(gw_dot_n(dim, b, b));
    int some = 0;
    for (int j = 0; j < dim; j++)
        residual[j] = -b[j] - x[j];
    for (int i = 0; i < count; i++) {
        double length = sqrt(gw_dot_n(dim, l[i], l[i]));
        double most = fmax(slack, MAY_SHARE * size * length);
        if (p[i] > 0 || (length > 0 && gw_dot_n(dim, l[i], residual) > -most))
            of[some++] = i;
    }
    return some;
}

/* The one whose share would grow most from zero; -1: none. */
static int fastest_growing(int some, const int *of, int dim,
                           const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS], const double *y,
                           const double *p, const bool *excluded)
{
    double most = 0, whole = 0;
    int best = -1;
    for (int k = 0; k < some; k++) {
        double share = gw_dot_n(dim, l[of[k]], y);
        whole = fmax(whole, fabs(share));
        if (p[of[k]] == 0 && !excluded[of[k]] && share > most)
            best = k, most = share;
    }
    return most > GROWS * whole ? best : -1;
}

/* Goes from p, a sum x with p >= 0, to the least one by an active set. */
static void minimise_shares(int some, const int *of, int dim,
                            const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS], const double *x,
                            gw_nnls *c, double *p)
{
    int in[GW_MAX_SIMULTANEOUS_CONTACTS], count = 0, stride = GW_MAX_SIMULTANEOUS_CONTACTS;
    bool excluded[GW_MAX_SIMULTANEOUS_CONTACTS] = {false};
    double y[GW_MAX_SIMULTANEOUS_CONTACTS], t[GW_MAX_SIMULTANEOUS_CONTACTS], *m = &c->q[0][0];
    for (int k = 0; k < some; k++)
        if (p[of[k]] > 0)
            in[count++] = of[k];
    for (int turn = 0; turn < 4 * some + 8; turn++) {
        if (!least_of(count, in, dim, stride, &l[0][0], x, m, y, t))
            return;
        double step = 1;
        int bound = -1;
        for (int i = 0; i < count; i++)
            if (t[i] < 0 && p[in[i]] <= step * (p[in[i]] - t[i]))
                step = p[in[i]] / (p[in[i]] - t[i]), bound = i;
        for (int i = 0; i < count; i++)
            p[in[i]] = fmax(0, p[in[i]] + step * (t[i] - p[in[i]]));
        if (bound >= 0) {
            p[in[bound]] = 0;
            excluded[in[bound]] = true; /* until one has come that stays */
            in[bound] = in[--count];
            continue;
        }
        int next = fastest_growing(some, of, dim, l, y, p, excluded);
        if (next < 0)
            return;
        in[count++] = of[next];
    }
}

void gw_nnls_share(int count, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                   const double *b, const double *x, double slack, gw_nnls *work, double *p)
{
    assert(count >= 0 && dim >= 0 && dim <= GW_MAX_SIMULTANEOUS_CONTACTS && slack >= 0);
    int of[GW_MAX_SIMULTANEOUS_CONTACTS] = {0};
    double y[GW_MAX_SIMULTANEOUS_CONTACTS], t[GW_MAX_SIMULTANEOUS_CONTACTS];
    int some = gather_sharing(count, dim, l, b, slack, x, p, of);
    if (some <= work->count)
        return;
    bool all =
        least_of(some, of, dim, GW_MAX_SIMULTANEOUS_CONTACTS, &l[0][0], x, &work->q[0][0], y, t);
    for (int k = 0; k < some; k++)
        all = all && t[k] >= 0;
    for (int k = 0; k < some && all; k++)
        p[of[k]] = t[k];
    if (!all)
        minimise_shares(some, of, dim, l, x, work, p);
}
