/*
 * Sections of the 17 coordinates of a pose by six forms, as equations in e and t for the paths.
 * Any thread, RT safe.
 *
 * A form c . y = M : R(e) + N a . t + b . R(e)^T t + c N |t|^2 + d N is a quadric in e:
 *
 *   G = M + t b^T,  alpha = a . t + c |t|^2 + d:   e^T K e,  K of G : R(e) + alpha N
 *   gradient: 2 K e by e,  N a + R(e) b + 2 c N t by t
 */
#include "rt/solve/section.h"

/* R(e) and N at a point. */
typedef struct point {
    const gw_complex *e, *t;
    gw_complex r[9], s[3], n, tt; /* s times N */
} point;

static point point_at(const gw_complex *x)
{
    gw_root root = {{x[0], x[1], x[2], x[3]}, {x[4], x[5], x[6]}};
    gw_complex y[GW_Y];
    point p = {.e = x, .t = x + 4};
    gw_forms_coordinates(&root, y);
    for (int i = 0; i < 9; i++)
        p.r[i] = y[i];
    for (int i = 0; i < 3; i++)
        p.s[i] = y[GW_Y_S + i];
    p.n = y[GW_Y_ONE];
    p.tt = x[4] * x[4] + x[5] * x[5] + x[6] * x[6];
    return p;
}

/* Value and gradient of c . y. */
static gw_complex form_at(const gw_complex *c, const point *p, gw_complex *gradient)
{
    const gw_complex *a = c + GW_Y_T, *b = c + GW_Y_S, *e = p->e, *t = p->t;
    gw_complex g[9], k[4];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            g[3 * i + j] = c[3 * i + j] + t[i] * b[j];
    gw_complex alpha =
        a[0] * t[0] + a[1] * t[1] + a[2] * t[2] + c[GW_Y_TT] * p->tt + c[GW_Y_ONE];
    gw_complex wx = g[7] - g[5], wy = g[2] - g[6], wz = g[3] - g[1];
    gw_complex xy = g[1] + g[3], xz = g[2] + g[6], yz = g[5] + g[7];
    k[0] = (alpha + g[0] + g[4] + g[8]) * e[0] + wx * e[1] + wy * e[2] + wz * e[3];
    k[1] = wx * e[0] + (alpha + g[0] - g[4] - g[8]) * e[1] + xy * e[2] + xz * e[3];
    k[2] = wy * e[0] + xy * e[1] + (alpha - g[0] + g[4] - g[8]) * e[2] + yz * e[3];
    k[3] = wz * e[0] + xz * e[1] + yz * e[2] + (alpha - g[0] - g[4] + g[8]) * e[3];
    gw_complex value = 0, twice = 2 * c[GW_Y_TT] * p->n;
    for (int i = 0; i < 4; i++) {
        value += e[i] * k[i];
        gradient[i] = 2 * k[i];
    }
    for (int i = 0; i < 3; i++)
        gradient[4 + i] = p->n * a[i] + p->r[3 * i] * b[0] + p->r[3 * i + 1] * b[1] +
                          p->r[3 * i + 2] * b[2] + twice * t[i];
    return value;
}

/* A form between two, with its gradient and rate. */
static gw_complex between(const gw_complex *from, const gw_complex *to, double tau, const point *p,
                          gw_complex *gradient, gw_complex *rate)
{
    gw_complex c[GW_Y], d[GW_Y], by_n = 0, sum = 0;
    for (int k = 0; k < GW_Y; k++) {
        d[k] = to[k] - from[k];
        c[k] = from[k] + tau * d[k];
    }
    for (int k = 0; k < 9; k++)
        sum += d[k] * p->r[k];
    for (int k = 0; k < 3; k++) {
        by_n += d[GW_Y_T + k] * p->t[k];
        sum += d[GW_Y_S + k] * p->s[k];
    }
    *rate = sum + (by_n + d[GW_Y_TT] * p->tt + d[GW_Y_ONE]) * p->n;
    return form_at(c, p, gradient);
}

/* N h - l^2 */
static gw_complex squared(const gw_section *s, int i, double tau, const point *p,
                          gw_complex *gradient, gw_complex *rate)
{
    gw_complex axis[GW_PATH_UNKNOWNS], h_rate, l_rate;
    gw_complex h = between(s->from[i], s->to[i], tau, p, gradient, &h_rate);
    gw_complex l = between(s->from_axis[i], s->to_axis[i], tau, p, axis, &l_rate);
    for (int k = 0; k < GW_PATH_UNKNOWNS; k++)
        gradient[k] = p->n * gradient[k] - 2 * l * axis[k];
    for (int k = 0; k < 4; k++)
        gradient[k] += 2 * h * p->e[k];
    *rate = p->n * h_rate - 2 * l * l_rate;
    return p->n * h - l * l;
}

void gw_section_evaluate(const void *system, const gw_complex *x, double tau, gw_complex *f,
                         gw_complex (*j)[GW_PATH_UNKNOWNS], gw_complex *rate)
{
    const gw_section *s = system;
    point p = point_at(x);
    for (int i = 0; i < s->linear; i++)
        f[i] = between(s->from[i], s->to[i], tau, &p, j[i], &rate[i]);
    for (int i = s->linear; i < 6; i++)
        f[i] = squared(s, i, tau, &p, j[i], &rate[i]);
}
