/*
 * Anderson's acceleration: with f = g(x) - x, and the changes of f and g in former iterations as
 * columns of F and G,
 *
 *   x := g - G c,   c = arg min |f - F c|
 *
 * (D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12, 1965.) The
 * columns are those since the last time at which f grew.
 */
#include "rt/dynamics/fixed_point.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY      GW_FIXED_POINT_MEMORY
#define INDEPENDENT 1e-6 /* of a column: less is a part of the newer ones */
#define GROWS       2.0  /* ratio to the f before */

bool gw_fixed_point_init(gw_fixed_point *p, int most)
{
    size_t n = (size_t)most;
    p->most = most;
    p->image = calloc((2 + 3 * MEMORY) * n + 1, sizeof *p->image);
    if (!p->image)
        return false;
    p->residual = p->image + n;
    p->images = p->residual + n;
    p->residuals = p->images + MEMORY * n;
    p->basis = p->residuals + MEMORY * n;
    return true;
}

void gw_fixed_point_free(gw_fixed_point *p)
{
    free(p->image);
}

void gw_fixed_point_begin(gw_fixed_point *p, int size)
{
    assert(size >= 0 && size <= p->most);
    p->size = size;
    p->count = 0;
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* x -= G c by orthonormalised columns of F, newer ones first. */
static void extrapolate(gw_fixed_point *p, int columns, double *x)
{
    int n = p->size, rank = 0, of[MEMORY];
    double r[MEMORY][MEMORY], c[MEMORY];
    for (int j = 0; j < columns; j++) {
        double *q = p->basis + rank * n;
        memcpy(q, p->residuals + j * n, (size_t)n * sizeof *q);
        double before = sqrt(dot(n, q, q));
        for (int k = 0; k < rank; k++) {
            r[k][rank] = dot(n, p->basis + k * n, q);
            for (int i = 0; i < n; i++)
                q[i] -= r[k][rank] * p->basis[k * n + i];
        }
        double size = sqrt(dot(n, q, q));
        if (!(size > INDEPENDENT * before))
            continue;
        for (int i = 0; i < n; i++)
            q[i] /= size;
        r[rank][rank] = size;
        of[rank++] = j;
    }
    for (int k = rank - 1; k >= 0; k--) {
        c[k] = dot(n, p->basis + k * n, p->residual);
        for (int l = k + 1; l < rank; l++)
            c[k] -= r[k][l] * c[l];
        c[k] /= r[k][k];
    }
    for (int k = 0; k < rank; k++)
        for (int i = 0; i < n; i++)
            x[i] -= c[k] * p->images[of[k] * n + i];
}

double gw_fixed_point_next(gw_fixed_point *p, double *x, const double *g)
{
    int n = p->size;
    size_t size = (size_t)n * sizeof *x;
    double before = sqrt(dot(n, p->residual, p->residual)), most = 0, squares = 0;
    memmove(p->images + n, p->images, (MEMORY - 1) * size);
    memmove(p->residuals + n, p->residuals, (MEMORY - 1) * size);
    for (int i = 0; i < n; i++) {
        double f = g[i] - x[i];
        p->images[i] = g[i] - p->image[i];
        p->residuals[i] = f - p->residual[i];
        p->image[i] = g[i];
        p->residual[i] = f;
        most = fmax(most, fabs(f));
        squares += f * f;
    }
    if (p->count > 0 && sqrt(squares) > GROWS * before)
        p->count = 0;
    memcpy(x, g, size);
    extrapolate(p, p->count < MEMORY ? p->count : MEMORY, x);
    p->count++;
    return most;
}
