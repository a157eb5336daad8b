/*
 * Newton's method for four paths side by side. Any thread, RT safe.
 */
#include "rt/positioning/polynomial/roots.h"

/* Of multipliers, squared and added: beyond it elimination without pivots loses too many digits for
 * a step that the next one corrects. */
#define MOST_GROWTH 1e8

enum { MOST = GW_PATH_UNKNOWNS - 1 };

typedef gw_complex_lanes matrix[MOST][MOST + 2];

/* ---- one path, with pivots ------------------------------------------------------------------- */

/* Squared, for comparisons. */
static double size2(gw_complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

static void exchange(int n, gw_complex (*a)[MOST + 2], int i, int k)
{
    for (int j = 0; j < n + 2; j++) {
        gw_complex z = a[i][j];
        a[i][j] = a[k][j], a[k][j] = z;
    }
}

/* Solves for the two right-hand sides behind a by Gauss and Jordan's elimination with row pivots;
 * not finite where a is singular. */
static void solve_one(int n, gw_complex (*a)[MOST + 2])
{
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            p = size2(a[i][k]) > size2(a[p][k]) ? i : p;
        exchange(n, a, k, p);
        gw_complex inverse = 1 / a[k][k];
        for (int j = k; j < n + 2; j++)
            a[k][j] *= inverse;
        for (int i = 0; i < n; i++) {
            gw_complex m = a[i][k];
            for (int j = k; j < n + 2 && i != k; j++)
                a[i][j] -= m * a[k][j];
        }
    }
}

/* ---- all of them, without -------------------------------------------------------------------- */

/* out = 1 / a */
GW_LANE_INLINE void invert(const gw_complex_lanes *a, gw_complex_lanes *out)
{
    gw_lanes k = 1 / (a->re * a->re + a->im * a->im);
    out->re = k * a->re;
    out->im = -k * a->im;
}

/* Columns n and, with tangents, n + 1 become the solutions. Returns the sum of squares of all
 * multipliers. */
GW_LANE_INLINE void eliminate(int n, bool tangents, matrix a, gw_lanes *growth)
{
    const int columns = n + 1 + tangents;
    gw_complex_lanes inverse[MOST];
    *growth = (gw_lanes){0};
    for (int k = 0; k < n; k++) {
        invert(&a[k][k], &inverse[k]);
        for (int i = k + 1; i < n; i++) {
            gw_complex_lanes m;
            gw_multiply(&a[i][k], &inverse[k], &m);
            gw_add_modulus2(growth, &m);
            for (int j = k + 1; j < columns; j++)
                gw_subtract_product(&a[i][j], &m, &a[k][j]);
        }
    }
    for (int k = n - 1; k >= 0; k--)
        for (int j = n; j < columns; j++) {
            gw_multiply(&a[k][j], &inverse[k], &a[k][j]);
            for (int i = 0; i < k; i++)
                gw_subtract_product(&a[i][j], &a[i][k], &a[k][j]);
        }
}

/* The columns of the unknowns that move, and the right-hand sides. */
GW_LANE_INLINE void fill(int n, bool tangents, const gw_affine_patch *patch,
                         const gw_linearisation *now, matrix a)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            gw_complex_select(&patch->before[k], &now->j[i][k + 1], &now->j[i][k], &a[i][k]);
        for (int k = 3; k < n; k++)
            a[i][k] = now->j[i][k + 1];
        a[i][n] = (gw_complex_lanes){-now->f[i].re, -now->f[i].im};
        if (tangents)
            a[i][n + 1] = (gw_complex_lanes){-now->rate[i].re, -now->rate[i].im};
    }
}

/* Column j of the solutions, with zero where a lane's unknown is held. */
GW_LANE_INLINE void place(int n, const gw_affine_patch *patch, matrix a, int j, gw_complex_lanes *d)
{
    const gw_complex_lanes none = {{0}, {0}};
    for (int k = 0; k < 4; k++) {
        gw_mask held = k > 0 ? ~patch->before[k - 1] : ~(gw_mask){0};
        held = k < 3 ? held & patch->before[k] : held;
        gw_complex_lanes x = k < 3 ? a[k][j] : none; /* what stands before the one held */
        if (k > 0)
            gw_complex_select(&patch->before[k - 1], &a[k - 1][j], &x, &x);
        gw_complex_select(&held, &none, &x, &d[k]);
    }
    for (int k = 4; k <= n; k++)
        d[k] = a[k - 1][j];
}

/* Lanes that need pivots, one by one. */
static void solve_again(int n, bool tangents, const gw_affine_patch *patch,
                        const gw_linearisation *now, const gw_lanes *growth, matrix a)
{
    for (int lane = 0; lane < GW_LANES; lane++) {
        gw_complex own[MOST][MOST + 2];
        if ((*growth)[lane] < MOST_GROWTH || !(patch->active >> lane & 1))
            continue;
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++)
                own[i][k] = gw_lane_get(&now->j[i][k + (k >= patch->fixed[lane])], lane);
            own[i][n] = -gw_lane_get(&now->f[i], lane);
            own[i][n + 1] = tangents ? -gw_lane_get(&now->rate[i], lane) : 0;
        }
        solve_one(n, own);
        for (int i = 0; i < n; i++)
            for (int j = n; j < n + 1 + tangents; j++)
                gw_lane_set(&a[i][j], lane, own[i][j]);
    }
}

/* Lengths of steps: the quaternion's largest part is near one, the rest is measured by itself. */
GW_LANE_INLINE void measure(int n, const gw_complex_lanes *x, const gw_complex_lanes *d,
                            gw_lanes *length2)
{
    gw_lanes size = {0}, moved = {0};
    *length2 = (gw_lanes){0};
    for (int k = 0; k < 4; k++)
        gw_add_modulus2(length2, &d[k]);
    for (int k = 4; k <= n; k++) {
        gw_add_modulus2(&size, &x[k]);
        gw_add_modulus2(&moved, &d[k]);
    }
    *length2 += moved / (1 + size);
}

GW_LANE_INLINE void step(int n, bool tangents, const gw_affine_patch *patch,
                         const gw_linearisation *now, gw_complex_lanes *x, gw_complex_lanes *v,
                         gw_lanes *length2)
{
    matrix a;
    gw_lanes growth;
    gw_complex_lanes d[GW_PATH_UNKNOWNS];
    bool fine = true;
    fill(n, tangents, patch, now, a);
    eliminate(n, tangents, a, &growth);
    for (int lane = 0; lane < GW_LANES; lane++)
        fine = fine && growth[lane] < MOST_GROWTH;
    if (!fine)
        solve_again(n, tangents, patch, now, &growth, a);
    place(n, patch, a, n, d);
    if (tangents)
        place(n, patch, a, n + 1, v);
    measure(n, x, d, length2);
    for (int k = 0; k <= n; k++)
        x[k].re += d[k].re, x[k].im += d[k].im;
}

GW_TARGET_CLONES
void gw_newton_step(const gw_homotopy *p, const gw_affine_patch *patch, const gw_lanes *tau,
                    gw_complex_lanes *x, gw_complex_lanes *v, gw_lanes *length2)
{
    gw_linearisation now;
    p->evaluate(p->system, x, tau, v != NULL, &now);
    *p->work -= p->cost;
    if (p->unknowns == 8 && v)
        step(7, true, patch, &now, x, v, length2);
    else if (p->unknowns == 8)
        step(7, false, patch, &now, x, v, length2);
    else if (v)
        step(3, true, patch, &now, x, v, length2);
    else
        step(3, false, patch, &now, x, v, length2);
}
