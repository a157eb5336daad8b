/*
 * Sections of the 17 coordinates of a pose by six forms, as equations in Study's coordinates for
 * the paths. Any thread, RT safe.
 *
 * With g = t e / 2 (t as a quaternion), e . g = 0 and all coordinates are quadratic:
 *
 *   N t = 2 (e_0 g_v - g_0 e_v + e_v x g_v),  N s = 2 (e_0 g_v - g_0 e_v - e_v x g_v)
 *   N |t|^2 = 4 g . g
 *
 * which stays smooth where a path goes through infinity, N = 0. So a form is, with p = a + b and
 * d = a - b of its parts a by t and b by s,
 *
 *   e^T K e + 2 (e_0 p . g_v - g_0 p . e_v + d . (e_v x g_v)) + 4 c g . g
 */
#include <string.h>

#include "rt/solve/section.h"

#define STUDY 6 /* the lane of e . g = 0, behind the forms */

/* What forms take of a point. */
typedef struct point {
    const gw_complex *e, *g;
    gw_complex y[GW_Y];
} point;

static void cross(const gw_complex *a, const gw_complex *b, gw_complex *out)
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static gw_complex dot3(const gw_complex *a, const gw_complex *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static point point_at(const gw_complex *x)
{
    const gw_complex *e = x, *g = x + 4;
    gw_complex across[3];
    point p = {.e = e, .g = g};
    gw_turn_coordinates(e, p.y);
    cross(e + 1, g + 1, across);
    for (int i = 0; i < 3; i++) {
        gw_complex along = e[0] * g[1 + i] - g[0] * e[1 + i];
        p.y[GW_Y_T + i] = 2 * (along + across[i]);
        p.y[GW_Y_S + i] = 2 * (along - across[i]);
    }
    p.y[GW_Y_TT] = 4 * (g[0] * g[0] + dot3(g + 1, g + 1));
    return p;
}

/* The sums of coefficients that stand in the matrix of the form: a row of K for each entry of e,
 * then p, d and 4 c. */
typedef struct matrix {
    gw_column k[4][4], p[3], d[3], c;
} matrix;

GW_LANE_INLINE void combine(const gw_column *c, const int plus[4], gw_column *out)
{
    out->re = c[GW_Y_ONE].re + plus[0] * c[0].re + plus[1] * c[4].re + plus[2] * c[8].re;
    out->im = c[GW_Y_ONE].im + plus[0] * c[0].im + plus[1] * c[4].im + plus[2] * c[8].im;
}

GW_LANE_INLINE void pair(const gw_column *a, const gw_column *b, double sign, gw_column *out)
{
    out->re = a->re + sign * b->re;
    out->im = a->im + sign * b->im;
}

GW_LANE_INLINE void matrix_of(const gw_column *c, matrix *m)
{
    static const int diagonal[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
    for (int i = 0; i < 4; i++)
        combine(c, diagonal[i], &m->k[i][i]);
    pair(&c[7], &c[5], -1, &m->k[0][1]);
    pair(&c[2], &c[6], -1, &m->k[0][2]);
    pair(&c[3], &c[1], -1, &m->k[0][3]);
    pair(&c[1], &c[3], 1, &m->k[1][2]);
    pair(&c[2], &c[6], 1, &m->k[1][3]);
    pair(&c[5], &c[7], 1, &m->k[2][3]);
    for (int i = 1; i < 4; i++)
        for (int j = 0; j < i; j++)
            m->k[i][j] = m->k[j][i];
    for (int i = 0; i < 3; i++) {
        pair(&c[GW_Y_T + i], &c[GW_Y_S + i], 1, &m->p[i]);
        pair(&c[GW_Y_T + i], &c[GW_Y_S + i], -1, &m->d[i]);
    }
    m->c.re = 4 * c[GW_Y_TT].re;
    m->c.im = 4 * c[GW_Y_TT].im;
}

/* Half the gradient of c . y of every lane, and its value, which is that times the point. */
GW_LANE_INLINE void forms_at(const gw_column *c, const point *x, gw_column *half, gw_column *value)
{
    const gw_complex *e = x->e, *g = x->g;
    matrix m;
    matrix_of(c, &m);
    for (int i = 0; i < 4; i++) {
        gw_column by_e = {{0}, {0}}, by_g = {{0}, {0}};
        int n = i - 1, j = i % 3, k = (i + 1) % 3;
        for (int l = 0; l < 4; l++)
            gw_add_product(&by_e, &m.k[i][l], e[l]);
        gw_add_product(&by_g, &m.c, g[i]);
        for (int l = 0; l < 3 && i == 0; l++) {
            gw_add_product(&by_e, &m.p[l], g[1 + l]);
            gw_take_product(&by_g, &m.p[l], e[1 + l]);
        }
        if (i > 0) {
            gw_take_product(&by_e, &m.p[n], g[0]);
            gw_add_product(&by_g, &m.p[n], e[0]);
            gw_add_product(&by_e, &m.d[k], g[1 + j]);
            gw_take_product(&by_e, &m.d[j], g[1 + k]);
            gw_add_product(&by_g, &m.d[j], e[1 + k]);
            gw_take_product(&by_g, &m.d[k], e[1 + j]);
        }
        half[i] = by_e;
        half[4 + i] = by_g;
    }
    *value = (gw_column){{0}, {0}};
    for (int i = 0; i < 4; i++) {
        gw_add_product(value, &half[i], e[i]);
        gw_add_product(value, &half[4 + i], g[i]);
    }
}

/* Forms between two, with half their gradients and their rates. */
GW_LANE_INLINE void between(const gw_column *from, const gw_column *by, double tau, const point *p,
                            gw_column *half, gw_column *value, gw_column *rate)
{
    gw_column c[GW_Y];
    *rate = (gw_column){{0}, {0}};
    for (int k = 0; k < GW_Y; k++) {
        c[k].re = from[k].re + tau * by[k].re;
        c[k].im = from[k].im + tau * by[k].im;
        gw_add_product(rate, &by[k], p->y[k]);
    }
    forms_at(c, p, half, value);
}

/* h becomes N h - l^2 where there is an axis. */
GW_LANE_INLINE void square(const gw_way *s, double tau, const point *p, gw_column *half,
                           gw_column *value, gw_column *rate)
{
    gw_column axis[GW_PATH_UNKNOWNS], l, l_rate, n, times_l, times_h;
    between(s->from_axis, s->by_axis, tau, p, axis, &l, &l_rate);
    gw_complex turn = p->y[GW_Y_ONE];
    n.re = 1 + s->squared * (creal(turn) - 1);
    n.im = s->squared * cimag(turn);
    times_l.re = -2 * l.re, times_l.im = -2 * l.im;
    times_h.re = s->squared * value->re, times_h.im = s->squared * value->im;
    for (int k = 0; k < GW_PATH_UNKNOWNS; k++) {
        gw_columns_multiply(&n, &half[k], &half[k]);
        gw_columns_multiply(&times_l, &axis[k], &axis[k]);
        half[k].re += axis[k].re, half[k].im += axis[k].im;
        if (k < 4)
            gw_add_product(&half[k], &times_h, p->e[k]);
    }
    gw_columns_multiply(&n, value, value);
    gw_columns_multiply(&l, &l, &axis[0]);
    value->re -= axis[0].re, value->im -= axis[0].im;
    gw_columns_multiply(&n, rate, rate);
    gw_columns_multiply(&times_l, &l_rate, &axis[0]);
    rate->re += axis[0].re, rate->im += axis[0].im;
}

GW_WIDE
void gw_section_evaluate(const void *system, const gw_complex *x, double tau,
                         gw_linear out[GW_BLOCKS])
{
    const gw_ways *ways = system;
    point p = point_at(x);
    for (int b = 0; b < GW_BLOCKS; b++) {
        const gw_way *s = &ways->block[b];
        gw_linear *o = &out[b];
        between(s->from, s->by, tau, &p, o->j, &o->f, &o->rate);
        if (s->cylinders)
            square(s, tau, &p, o->j, &o->f, &o->rate);
        for (int k = 0; k < GW_PATH_UNKNOWNS; k++)
            o->j[k].re *= 2, o->j[k].im *= 2;
    }
    gw_linear *last = &out[STUDY / GW_LANES];
    for (int k = 0; k < GW_PATH_UNKNOWNS; k++)
        gw_lane_set(&last->j[k], STUDY % GW_LANES, x[k < 4 ? k + 4 : k - 4]);
    gw_lane_set(&last->f, STUDY % GW_LANES, x[0] * x[4] + dot3(x + 1, x + 5));
}

void gw_section_ways(const gw_section *s, gw_ways *ways)
{
    memset(ways, 0, sizeof *ways);
    for (int i = 0; i < 6; i++) {
        gw_way *w = &ways->block[i / GW_LANES];
        int lane = i % GW_LANES;
        w->squared[lane] = i >= s->linear;
        w->cylinders = w->cylinders || i >= s->linear;
        for (int k = 0; k < GW_Y; k++) {
            gw_lane_set(&w->from[k], lane, s->from[i][k]);
            gw_lane_set(&w->by[k], lane, s->to[i][k] - s->from[i][k]);
            gw_lane_set(&w->from_axis[k], lane, s->from_axis[i][k]);
            gw_lane_set(&w->by_axis[k], lane, s->to_axis[i][k] - s->from_axis[i][k]);
        }
    }
}

void gw_section_point(const gw_root *r, gw_complex x[GW_PATH_UNKNOWNS])
{
    const gw_complex *e = r->e, *t = r->t;
    gw_complex across[3];
    cross(t, e + 1, across);
    x[4] = -0.5 * dot3(t, e + 1);
    for (int i = 0; i < 4; i++)
        x[i] = e[i];
    for (int i = 0; i < 3; i++)
        x[5 + i] = 0.5 * (e[0] * t[i] + across[i]);
}

gw_root gw_section_root(const gw_complex x[GW_PATH_UNKNOWNS])
{
    gw_root r = {{x[0], x[1], x[2], x[3]}, {0, 0, 0}};
    point p = point_at(x);
    for (int i = 0; i < 3; i++)
        r.t[i] = p.y[GW_Y_T + i] / p.y[GW_Y_ONE];
    return r;
}
