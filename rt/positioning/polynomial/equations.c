/*
 * Three equations in the quaternion e, or in four homogeneous unknowns of any kind, as paths take
 * them: with w the ten quadratic monomials, quadrics q . w or quartics w . Q w; and the poses of
 * quaternions that satisfy them. Any thread, RT safe.
 */
#include <string.h>

#include "rt/positioning/polynomial/conditions.h"

/* sum_k g_k dw_k/de; g is real or complex. */
GW_LANE_INLINE void by_e(const gw_complex_lanes *e, const gw_complex_lanes *g,
                         gw_complex_lanes *out)
{
    static const int at[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
    for (int i = 0; i < 4; i++) {
        gw_multiply(&g[at[i][i]], &e[i], &out[i]);
        for (int j = 0; j < 4; j++)
            gw_add_product(&out[i], &g[at[i][j]], &e[j]);
    }
}

/* e_i^d - e_0^d, i = 1 .. 3: the start system, of all the d^3 roots that there may be. Its
 * derivatives by e_0 and e_i. */
GW_LANE_INLINE void start_at(const gw_complex_lanes *e, int i, int degree, gw_complex_lanes *f,
                             gw_complex_lanes j[2])
{
    gw_complex_lanes low = e[0], high = e[i];
    for (int k = 2; k < degree; k++) {
        gw_multiply(&low, &e[0], &low);
        gw_multiply(&high, &e[i], &high);
    }
    gw_multiply(&high, &e[i], f);
    gw_subtract_product(f, &low, &e[0]);
    j[0] = (gw_complex_lanes){-degree * low.re, -degree * low.im};
    j[1] = (gw_complex_lanes){degree * high.re, degree * high.im};
}

/* f = q . w or w . Q w, and its gradient by w. */
GW_LANE_INLINE void target_at(const gw_quaternion_homotopy *s, int i, const gw_complex_lanes *w,
                              gw_complex_lanes *f, gw_complex_lanes *g)
{
    *f = (gw_complex_lanes){{0}, {0}};
    for (int k = 0; k < GW_MONOMIALS; k++) {
        if (s->degree[i] == 2) {
            g[k] = (gw_complex_lanes){s->linear[i][k] + (gw_lanes){0}, {0}};
            gw_add_scaled(f, s->linear[i][k], &w[k]);
            continue;
        }
        gw_complex_lanes sum = {{0}, {0}};
        for (int l = 0; l < GW_MONOMIALS; l++)
            gw_add_scaled(&sum, s->square[i][k][l], &w[l]);
        gw_add_product(f, &sum, &w[k]);
        g[k] = (gw_complex_lanes){2 * sum.re, 2 * sum.im};
    }
}

GW_TARGET_CLONES
void gw_quaternion_evaluate(const void *system, const gw_complex_lanes *e, const gw_lanes *tau,
                            bool rates, gw_linearisation *out)
{
    const gw_quaternion_homotopy *s = system;
    gw_complex_lanes w[GW_MONOMIALS], g[GW_MONOMIALS];
    const gw_lanes left = 1 - *tau;
    for (int i = 0, at = 0; i < 4; i++)
        for (int j = i; j < 4; j++)
            gw_multiply(&e[i], &e[j], &w[at++]);
    for (int i = 0; i < 3; i++) {
        gw_complex_lanes f, start, by[2],
            k = {creal(s->gamma[i]) * left, cimag(s->gamma[i]) * left};
        gw_complex_lanes *j = out->j[i];
        target_at(s, i, w, &f, g);
        by_e(e, g, j);
        for (int n = 0; n < 4; n++)
            j[n].re *= *tau, j[n].im *= *tau;
        start_at(e, i + 1, s->degree[i], &start, by);
        gw_add_product(&j[0], &k, &by[0]);
        gw_add_product(&j[i + 1], &k, &by[1]);
        out->f[i] = (gw_complex_lanes){f.re * *tau, f.im * *tau};
        gw_add_product(&out->f[i], &k, &start);
        if (rates) {
            out->rate[i] = f;
            gw_add_complex_scaled(&out->rate[i], -s->gamma[i], &start);
        }
    }
}

void gw_quaternion_homotopy_of(const gw_three_equations *s, int attempt,
                               gw_quaternion_homotopy *ways)
{
    for (int i = 0; i < 3; i++) {
        double angle = 0.7 + 2.3 * i + 1.9 * attempt;
        ways->gamma[i] = cos(angle) + I * sin(angle);
        ways->degree[i] = s->degree[i];
    }
    memcpy(ways->linear, s->quadric, sizeof ways->linear);
    memcpy(ways->square, s->quartic, sizeof ways->square);
}

/* ---- their roots, as poses ---------------------------------------------------------------------
 */

static void monomials(const gw_complex *e, gw_complex *w)
{
    for (int i = 0, at = 0; i < 4; i++)
        for (int j = i; j < 4; j++)
            w[at++] = e[i] * e[j];
}

/* t out of the three of four planes that tell it best. */
static void meet(const gw_four_planes *f, const gw_complex *w, gw_complex n, gw_complex_pose *x)
{
    gw_complex y[GW_Y], a[4][4];
    gw_rotation_coordinates(x->e, y);
    for (int i = 0; i < 4; i++) {
        const double m[3] = {f->n[i].x, f->n[i].y, f->n[i].z};
        a[i][3] = 0;
        for (int k = 0; k < GW_MONOMIALS; k++)
            a[i][3] -= f->c[i][k] * w[k] / n;
        for (int k = 0; k < 3; k++)
            a[i][k] =
                i < 2 ? m[k] : (y[3 * k] * m[0] + y[3 * k + 1] * m[1] + y[3 * k + 2] * m[2]) / n;
    }
    for (int k = 0; k < 3; k++) {
        int best = k;
        for (int i = k + 1; i < 4; i++)
            best = cabs(a[i][k]) > cabs(a[best][k]) ? i : best;
        for (int j = 0; j < 4; j++) {
            gw_complex z = a[k][j];
            a[k][j] = a[best][j], a[best][j] = z;
        }
        for (int i = 0; i < 4; i++)
            for (int j = 3; j >= k && i != k; j--)
                a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    for (int k = 0; k < 3; k++)
        x->t[k] = a[k][3] / a[k][k];
}

gw_complex_pose gw_pose_of_quaternion(const gw_rotation_conditions *c, const gw_complex e[4])
{
    gw_complex_pose x = {{e[0], e[1], e[2], e[3]}, {0, 0, 0}};
    gw_complex w[GW_MONOMIALS], n = 0;
    monomials(e, w);
    for (int i = 0; i < 4; i++)
        n += e[i] * e[i];
    if (c->four) {
        meet(&c->planes, w, n, &x);
        return x;
    }
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < GW_MONOMIALS; k++)
            x.t[i] += c->t[i][k] * w[k];
        x.t[i] /= n;
    }
    return x;
}
