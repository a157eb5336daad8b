/*
 * The nearest point of a cone by an active set: vectors are taken up one at a time, the one that
 * promises most first, and let go where their share would become negative. What it leans on is kept
 * as an orthonormal basis, so the answer is a projection to the last digit. RT safe.
 */
#include "rt/contact/impulse.h"

#include <math.h>
#include <string.h>

#define DEPENDENT 1e-12 /* a vector of which less is new is not taken up */
#define OPTIMAL   1e-13 /* of |b|: what a vector must promise */

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Takes vector i up; false where it follows from the others. */
static bool lean_on(gw_nnls *c, int dim, const double *l, int i, const double *b)
{
    int k = c->count;
    double *q = c->q[k], size = sqrt(dot(dim, l, l));
    if (k >= dim)
        return false;
    memcpy(q, l, (size_t)dim * sizeof *q);
    for (int m = 0; m < k; m++)
        c->r[m][k] = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int m = 0; m < k; m++) {
            double part = dot(dim, c->q[m], q);
            c->r[m][k] += part;
            for (int j = 0; j < dim; j++)
                q[j] -= part * c->q[m][j];
        }
    double norm = sqrt(dot(dim, q, q));
    if (!(norm > DEPENDENT * size))
        return false;
    for (int j = 0; j < dim; j++)
        q[j] /= norm;
    /* what a small remainder was rounded by */
    for (int m = 0; m < k; m++) {
        double part = dot(dim, c->q[m], q);
        for (int j = 0; j < dim; j++)
            q[j] -= part * c->q[m][j];
    }
    c->r[k][k] = norm;
    c->along[k] = -dot(dim, q, b);
    c->lean[k] = i;
    c->count++;
    return true;
}

/* Lets the one at `place` go; those after it are taken up anew. */
static void let_go(gw_nnls *c, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS], int place,
                   const double *b)
{
    int later[GW_MAX_SIMULTANEOUS_CONTACTS], count = c->count - place - 1;
    for (int k = 0; k < count; k++)
        later[k] = c->lean[place + 1 + k];
    c->count = place;
    for (int k = 0; k < count; k++)
        lean_on(c, dim, l[later[k]], later[k], b);
}

/* Shares of those it leans on: R t = along. */
static void shares(const gw_nnls *c, double *t)
{
    for (int k = c->count - 1; k >= 0; k--) {
        double sum = c->along[k];
        for (int m = k + 1; m < c->count; m++)
            sum -= c->r[k][m] * t[m];
        t[k] = sum / c->r[k][k];
    }
}

/* Goes from the shares p towards t as far as none becomes negative; the place of the one that
 * would, -1 where all of the way is free. */
static int advance(const gw_nnls *c, const double *t, double *p)
{
    double step = 1;
    int bound = -1;
    for (int k = 0; k < c->count; k++) {
        double now = p[c->lean[k]];
        if (t[k] > 0)
            continue;
        double reach = now > 0 ? now / (now - t[k]) : 0;
        if (bound < 0 || reach < step)
            step = reach, bound = k;
    }
    for (int k = 0; k < c->count; k++)
        p[c->lean[k]] = fmax(0, p[c->lean[k]] + step * (t[k] - p[c->lean[k]]));
    if (bound >= 0)
        p[c->lean[bound]] = 0;
    return bound;
}

/* The vector that promises most, -1: none does. */
static int most_promising(const gw_nnls *c, int count, int dim,
                          const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS], const double *left,
                          double least, const bool *out)
{
    int best = -1;
    for (int i = 0; i < count; i++) {
        bool leaning = out[i];
        for (int k = 0; k < c->count; k++)
            leaning = leaning || c->lean[k] == i;
        double size = sqrt(dot(dim, l[i], l[i]));
        if (leaning || size == 0)
            continue;
        double promise = dot(dim, l[i], left) / size;
        if (promise > least)
            best = i, least = promise;
    }
    return best;
}

static void sum_up(const gw_nnls *c, int dim, double *x)
{
    memset(x, 0, (size_t)dim * sizeof *x);
    for (int k = 0; k < c->count; k++)
        for (int j = 0; j < dim; j++)
            x[j] += c->along[k] * c->q[k][j];
}

void gw_nnls_solve(int count, int dim, const double (*l)[GW_MAX_SIMULTANEOUS_CONTACTS],
                   const double *b, gw_nnls *c, double *p, double *x)
{
    bool out[GW_MAX_SIMULTANEOUS_CONTACTS] = {false};
    double left[GW_MAX_SIMULTANEOUS_CONTACTS], t[GW_MAX_SIMULTANEOUS_CONTACTS];
    double least = OPTIMAL * sqrt(dot(dim, b, b));
    c->count = 0;
    memset(p, 0, (size_t)count * sizeof *p);
    for (int turn = 0; turn < 4 * count + 8; turn++) {
        sum_up(c, dim, x);
        for (int j = 0; j < dim; j++)
            left[j] = -b[j] - x[j];
        int i = most_promising(c, count, dim, l, left, least, out);
        if (i < 0)
            break;
        out[i] = true; /* until something came of another */
        if (!lean_on(c, dim, l[i], i, b))
            continue;
        shares(c, t);
        if (!(t[c->count - 1] > 0)) {
            c->count--;
            continue;
        }
        for (int bound; (bound = advance(c, t, p)) >= 0 && c->count > 0; shares(c, t))
            let_go(c, dim, l, bound, b);
        memset(out, 0, sizeof out);
    }
    sum_up(c, dim, x);
}
