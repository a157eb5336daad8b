/*
 * Sections of SE(3), in 17 coordinates, by six forms, as equations in Study's coordinates that path
 * tracking evaluates. Any thread, RT safe.
 *
 * With g = t e / 2 (t as a quaternion), e . g = 0 and all coordinates are quadratic:
 *
 *   N t = 2 (e_0 g_v - g_0 e_v + e_v x g_v),  N s = 2 (e_0 g_v - g_0 e_v - e_v x g_v)
 *   N |t|^2 = 4 g . g
 *
 * which stays smooth where a path goes through infinity, N = 0. With a, b and c the coefficients of
 * t, s and r in a form, p = a + b and d = a - b, the form is
 *
 *   e^T K e + 2 (e_0 p . g_v - g_0 p . e_v + d . (e_v x g_v)) + 4 c g . g
 *
 * Equations are halved throughout, so that the gradient of a form is its matrix times the point.
 */
#include <string.h>

#include "rt/positioning/polynomial/study_equations.h"

/* Entries of a form's matrix: K by rows from the diagonal on, p, d and 4 c. */
enum { P = 10, D = 13, C = 16 };

static void complex_cross(const gw_complex *a, const gw_complex *b, gw_complex *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static gw_complex complex_dot3(const gw_complex *a, const gw_complex *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void matrix_of(const gw_complex *h, gw_complex *m)
{
    static const int diagonal[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    static const int at[4] = {0, 4, 7, 9};
    for (int i = 0; i < 4; i++)
        m[at[i]] =
            h[GW_Y_ONE] + diagonal[i][0] * h[0] + diagonal[i][1] * h[4] + diagonal[i][2] * h[8];
    m[1] = h[7] - h[5];
    m[2] = h[2] - h[6];
    m[3] = h[3] - h[1];
    m[5] = h[1] + h[3];
    m[6] = h[2] + h[6];
    m[8] = h[5] + h[7];
    for (int i = 0; i < 3; i++) {
        m[P + i] = h[GW_Y_T + i] + h[GW_Y_S + i];
        m[D + i] = h[GW_Y_T + i] - h[GW_Y_S + i];
    }
    m[C] = 4 * h[GW_Y_TT];
}

/* ---- in all lanes ---------------------------------------------------------------------------- */

/* Half of the monomials that multiply the entries of a matrix. */
GW_LANE_INLINE void monomials(const gw_complex_lanes *x, gw_complex_lanes *w)
{
    const gw_complex_lanes *e = x, *g = x + 4;
    for (int i = 0, at = 0; i < 4; i++)
        for (int j = i; j < 4; j++, at++) {
            gw_multiply(&e[i], &e[j], &w[at]);
            if (i == j)
                w[at].re *= 0.5, w[at].im *= 0.5;
        }
    w[C] = (gw_complex_lanes){{0}, {0}};
    for (int i = 0; i < 4; i++)
        gw_add_product(&w[C], &g[i], &g[i]);
    w[C].re *= 0.5, w[C].im *= 0.5;
    for (int i = 0; i < 3; i++) {
        int j = 1 + (i + 1) % 3, k = 1 + (i + 2) % 3;
        gw_multiply(&e[0], &g[1 + i], &w[P + i]);
        gw_subtract_product(&w[P + i], &g[0], &e[1 + i]);
        gw_multiply(&e[j], &g[k], &w[D + i]);
        gw_subtract_product(&w[D + i], &e[k], &g[j]);
    }
}

/* Half of a form's gradient. */
GW_LANE_INLINE void gradient(const gw_complex_lanes *m, const gw_complex_lanes *x,
                             gw_complex_lanes *j)
{
    static const int at[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
    const gw_complex_lanes *e = x, *g = x + 4, *p = m + P - 1, *d = m + D - 1;
    for (int i = 0; i < 4; i++) {
        gw_multiply(&m[at[i][0]], &e[0], &j[i]);
        for (int l = 1; l < 4; l++)
            gw_add_product(&j[i], &m[at[i][l]], &e[l]);
        gw_multiply(&m[C], &g[i], &j[4 + i]);
    }
    for (int i = 1; i < 4; i++) {
        int k = i % 3 + 1, l = k % 3 + 1;
        gw_add_product(&j[0], &p[i], &g[i]);
        gw_subtract_product(&j[4], &p[i], &e[i]);
        gw_subtract_product(&j[i], &p[i], &g[0]);
        gw_add_product(&j[4 + i], &p[i], &e[0]);
        gw_add_product(&j[i], &d[l], &g[k]);
        gw_subtract_product(&j[i], &d[k], &g[l]);
        gw_add_product(&j[4 + i], &d[k], &e[l]);
        gw_subtract_product(&j[4 + i], &d[l], &e[k]);
    }
}

/* A form at tau: half of its gradient, value and rate. */
GW_LANE_INLINE void form_at(const gw_matrix_segment *segment, const gw_lanes *tau,
                            const gw_complex_lanes *x, const gw_complex_lanes *w, bool rates,
                            gw_complex_lanes *j, gw_complex_lanes *value, gw_complex_lanes *rate)
{
    gw_complex_lanes m[GW_STUDY_ENTRIES];
    for (int k = 0; k < GW_STUDY_ENTRIES; k++) {
        m[k].re = creal(segment->from[k]) + creal(segment->by[k]) * *tau;
        m[k].im = cimag(segment->from[k]) + cimag(segment->by[k]) * *tau;
    }
    gradient(m, x, j);
    gw_multiply(&j[0], &x[0], value);
    for (int k = 1; k < GW_PATH_UNKNOWNS; k++)
        gw_add_product(value, &j[k], &x[k]);
    value->re *= 0.5, value->im *= 0.5;
    *rate = (gw_complex_lanes){{0}, {0}};
    for (int k = 0; k < GW_STUDY_ENTRIES && rates; k++)
        gw_add_complex_scaled(rate, segment->by[k], &w[k]);
}

/* h becomes N h - l^2. */
GW_LANE_INLINE void square(const gw_matrix_segment *axis, const gw_lanes *tau,
                           const gw_complex_lanes *x, const gw_complex_lanes *w, bool rates,
                           gw_complex_lanes *j, gw_complex_lanes *value, gw_complex_lanes *rate)
{
    gw_complex_lanes own[GW_PATH_UNKNOWNS], half, half_rate, n;
    form_at(axis, tau, x, w, rates, own, &half, &half_rate);
    gw_complex_lanes h = {2 * value->re, 2 * value->im};
    gw_complex_lanes l = {2 * half.re, 2 * half.im}, twice = {2 * l.re, 2 * l.im};
    n.re = 2 * (w[0].re + w[4].re + w[7].re + w[9].re);
    n.im = 2 * (w[0].im + w[4].im + w[7].im + w[9].im);
    for (int k = 0; k < GW_PATH_UNKNOWNS; k++) {
        gw_multiply(&n, &j[k], &j[k]);
        gw_subtract_product(&j[k], &twice, &own[k]);
        if (k < 4)
            gw_add_product(&j[k], &h, &x[k]);
    }
    gw_multiply(&n, value, value);
    gw_subtract_product(value, &l, &half);
    gw_multiply(&n, rate, rate);
    gw_subtract_product(rate, &twice, &half_rate);
}

GW_LANE_INLINE void evaluate(const gw_study_matrices *matrices, const gw_complex_lanes *x,
                             const gw_lanes *tau, bool rates, gw_linearisation *out)
{
    gw_complex_lanes w[GW_STUDY_ENTRIES];
    monomials(x, w);
    for (int i = 0; i < 6; i++) {
        form_at(&matrices->form[i], tau, x, w, rates, out->j[i], &out->f[i], &out->rate[i]);
        if (i >= matrices->linear)
            square(&matrices->axis[i], tau, x, w, rates, out->j[i], &out->f[i], &out->rate[i]);
    }
    gw_complex_lanes zero = {{0}, {0}};
    out->f[6] = out->rate[6] = zero;
    for (int k = 0; k < 4; k++) {
        out->j[6][k] = x[k + 4];
        out->j[6][k + 4] = x[k];
        gw_add_product(&out->f[6], &x[k], &x[k + 4]);
    }
}

GW_TARGET_CLONES
void gw_study_evaluate(const void *system, const gw_complex_lanes *x, const gw_lanes *tau,
                       bool rates, gw_linearisation *out)
{
    if (rates)
        evaluate(system, x, tau, true, out);
    else
        evaluate(system, x, tau, false, out);
}

static void set_segment(const gw_complex *from, const gw_complex *to, gw_matrix_segment *segment)
{
    matrix_of(from, segment->from);
    matrix_of(to, segment->by);
    for (int k = 0; k < GW_STUDY_ENTRIES; k++)
        segment->by[k] -= segment->from[k];
}

void gw_study_matrices_of(const gw_study_homotopy *s, gw_study_matrices *matrices)
{
    matrices->linear = s->linear;
    for (int i = 0; i < 6; i++) {
        set_segment(s->from[i], s->to[i], &matrices->form[i]);
        set_segment(s->from_axis[i], s->to_axis[i], &matrices->axis[i]);
    }
}

/* ---- one point ------------------------------------------------------------------------------- */

void gw_study_point(const gw_complex_pose *r, gw_complex x[GW_PATH_UNKNOWNS])
{
    const gw_complex *e = r->e, *t = r->t;
    gw_complex across[3];
    complex_cross(t, e + 1, across);
    x[4] = -0.5 * complex_dot3(t, e + 1);
    for (int i = 0; i < 4; i++)
        x[i] = e[i];
    for (int i = 0; i < 3; i++)
        x[5 + i] = 0.5 * (e[0] * t[i] + across[i]);
}

gw_complex_pose gw_study_pose(const gw_complex x[GW_PATH_UNKNOWNS])
{
    const gw_complex *e = x, *g = x + 4;
    gw_complex n = e[0] * e[0] + complex_dot3(e + 1, e + 1), across[3];
    gw_complex_pose r = {{e[0], e[1], e[2], e[3]}, {0, 0, 0}};
    complex_cross(e + 1, g + 1, across);
    for (int i = 0; i < 3; i++)
        r.t[i] = 2 * (e[0] * g[1 + i] - g[0] * e[1 + i] + across[i]) / n;
    return r;
}
