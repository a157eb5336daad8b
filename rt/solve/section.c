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
#include "rt/solve/section.h"

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

/* Gradient of c . y; the value is half its product with the point. */
static gw_complex form_at(const gw_complex *c, const point *x, gw_complex *gradient)
{
    const gw_complex *e = x->e, *g = x->g;
    gw_complex p[3], d[3], by_e[3], by_g[3], value = 0, alpha = c[GW_Y_ONE], k = 4 * c[GW_Y_TT];
    for (int i = 0; i < 3; i++) {
        p[i] = c[GW_Y_T + i] + c[GW_Y_S + i];
        d[i] = c[GW_Y_T + i] - c[GW_Y_S + i];
    }
    cross(g + 1, d, by_e);
    cross(d, e + 1, by_g);
    gw_complex wx = c[7] - c[5], wy = c[2] - c[6], wz = c[3] - c[1];
    gw_complex xy = c[1] + c[3], xz = c[2] + c[6], yz = c[5] + c[7];
    gradient[0] = (alpha + c[0] + c[4] + c[8]) * e[0] + wx * e[1] + wy * e[2] + wz * e[3];
    gradient[1] = wx * e[0] + (alpha + c[0] - c[4] - c[8]) * e[1] + xy * e[2] + xz * e[3];
    gradient[2] = wy * e[0] + xy * e[1] + (alpha - c[0] + c[4] - c[8]) * e[2] + yz * e[3];
    gradient[3] = wz * e[0] + xz * e[1] + yz * e[2] + (alpha - c[0] - c[4] + c[8]) * e[3];
    gradient[0] += dot3(p, g + 1);
    gradient[4] = k * g[0] - dot3(p, e + 1);
    for (int i = 0; i < 3; i++) {
        gradient[1 + i] += by_e[i] - g[0] * p[i];
        gradient[5 + i] = by_g[i] + e[0] * p[i] + k * g[1 + i];
    }
    for (int i = 0; i < GW_PATH_UNKNOWNS; i++) {
        value += gradient[i] * (i < 4 ? e[i] : g[i - 4]);
        gradient[i] *= 2;
    }
    return value;
}

/* A form between two, with its gradient and rate. */
static gw_complex between(const gw_complex *from, const gw_complex *to, double tau, const point *p,
                          gw_complex *gradient, gw_complex *rate)
{
    gw_complex c[GW_Y], d, sum = 0;
    for (int k = 0; k < GW_Y; k++) {
        d = to[k] - from[k];
        c[k] = from[k] + tau * d;
        sum += d * p->y[k];
    }
    *rate = sum;
    return form_at(c, p, gradient);
}

/* N h - l^2 */
static gw_complex squared(const gw_section *s, int i, double tau, const point *p,
                          gw_complex *gradient, gw_complex *rate)
{
    gw_complex axis[GW_PATH_UNKNOWNS], h_rate, l_rate, n = p->y[GW_Y_ONE];
    gw_complex h = between(s->from[i], s->to[i], tau, p, gradient, &h_rate);
    gw_complex l = between(s->from_axis[i], s->to_axis[i], tau, p, axis, &l_rate);
    for (int k = 0; k < GW_PATH_UNKNOWNS; k++)
        gradient[k] = n * gradient[k] - 2 * l * axis[k];
    for (int k = 0; k < 4; k++)
        gradient[k] += 2 * h * p->e[k];
    *rate = n * h_rate - 2 * l * l_rate;
    return n * h - l * l;
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
    f[6] = x[0] * x[4] + dot3(x + 1, x + 5);
    rate[6] = 0;
    for (int k = 0; k < GW_PATH_UNKNOWNS; k++)
        j[6][k] = x[k < 4 ? k + 4 : k - 4];
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
