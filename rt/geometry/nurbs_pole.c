/*
 * Surfaces near their poles. Any thread, RT safe, except for the creation.
 *
 * With a, b, c the parts of S - O along e1, e2, n, the height satisfies c(u, v) = h(a, b), so by
 * the chain rule, with J = d(a, b)/d(u, v) and sums over a and b,
 *
 *   c_i   = h_k x_ki                                                                 x_a = a, ..
 *   c_ij  = h_kl x_ki x_lj + h_k x_kij
 *   c_ijm = h_kln x_ki x_lj x_nm + h_kl (x_kij x_lm + x_kim x_lj + x_kjm x_li) + h_k x_kijm
 *
 * each of which gives the next derivatives of h by J^-1. Rounding errors grow towards the pole, the
 * more the higher the order; within a small core Taylor's polynomial at the pole is used. Its
 * coefficients come from meridians r -> S(r): with X1, X2 and c2, c3 the derivatives by r of (a, b)
 * and of c at the pole, where c1 = 0,
 *
 *   c2 = h_kl X1_k X1_l,     c3 = h_kln X1_k X1_l X1_n + 3 h_kl X1_k X2_l
 *
 * and those of fourth order from the residuals of h on two rings about the pole.
 */
#include "rt/geometry/nurbs_pole.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "rt/base/small.h"

#define CORE       1e-3 /* of the size: |(x, y)| below which Taylor's polynomial is used */
#define TANGENT    1e-7 /* rad: a meridian leaves in the tangent plane */
#define LEVEL      0.8  /* the least cosine of the normal to that at the pole, within `reach` */
#define NEAR_SHARE 0.5  /* of the parameter at `reach` */
#define RING       0.1  /* of `reach`: the inner ring's radius; the outer one is twice as far */
#define STEPS      32   /* along a meridian, to the middle of the domain */
#define ITERATIONS 16

/* ---- the tangent plane ----------------------------------------------------------------------- */

/* The derivative of this order along a meridian, away from the pole. */
static gw_vec3 along_out(const gw_nurbs_pole *p, const gw_nurbs_point *at, int order)
{
    gw_vec3 d = p->out == 0 ? at->d[order][0] : at->d[0][order];
    return order % 2 ? gw_scale(p->sign, d) : d;
}

static void on_meridian(const gw_nurbs *s, const gw_nurbs_pole *p, int i, double away, int order,
                        double parameter[2], gw_nurbs_point *at)
{
    const gw_nurbs_direction *round = &s->direction[1 - p->out];
    parameter[p->out] = p->end + p->sign * away;
    parameter[1 - p->out] = round->low + i * (round->high - round->low) / GW_POLE_MERIDIANS;
    gw_nurbs_evaluate(s, parameter, order, NULL, at);
}

/* The tangent plane, and the meridians' azimuths in it; false if the meridians have no common
 * plane, or do not go round once. */
static bool find_plane(const gw_nurbs *s, gw_nurbs_pole *p)
{
    gw_nurbs_point at;
    double parameter[2];
    for (int i = 0; i <= GW_POLE_MERIDIANS; i++) {
        on_meridian(s, p, i % GW_POLE_MERIDIANS, 0, 2, parameter, &at);
        gw_vec3 n = gw_nurbs_normal(s, parameter, &at), way = along_out(p, &at, 1);
        p->speed[i] = gw_norm(way);
        if (i == 0) {
            p->plane.point = at.d[0][0];
            p->plane.n = n;
            p->plane.e1 = gw_any_normal(n);
            p->plane.e2 = gw_cross(n, p->plane.e1);
        }
        double range = s->direction[p->out].high - s->direction[p->out].low;
        if (!(p->speed[i] * range > 1e-6 * s->size) || !(gw_dot(n, p->plane.n) > 1 - 1e-12) ||
            fabs(gw_dot(p->plane.n, way)) > TANGENT * p->speed[i])
            return false;
        double angle = atan2(gw_dot(way, p->plane.e2), gw_dot(way, p->plane.e1));
        p->azimuth[i] =
            i == 0 ? angle : p->azimuth[i - 1] + remainder(angle - p->azimuth[i - 1], 2 * GW_PI);
        double turn = p->azimuth[1] - p->azimuth[0];
        if (i > 0 && !((p->azimuth[i] - p->azimuth[i - 1]) * turn > 0))
            return false;
    }
    return fabs(fabs(p->azimuth[GW_POLE_MERIDIANS] - p->azimuth[0]) - 2 * GW_PI) < 1e-6;
}

/* Least squares by normal equations, of n unknowns. */
typedef struct fit {
    double m[6][6], g[6];
} fit;

static void add_to_fit(fit *f, int n, const double *row, double value)
{
    for (int i = 0; i < n; i++) {
        f->g[i] += row[i] * value;
        for (int j = 0; j < n; j++)
            f->m[i][j] += row[i] * row[j];
    }
}

/* Taylor's coefficients from the meridians. An odd number of them, as opposite ones give the same
 * equations of odd order. */
static void find_taylor(const gw_nurbs *s, gw_nurbs_pole *p)
{
    double parameter[2];
    for (int order = 2; order <= 3; order++) {
        fit f = {{{0}}, {0}};
        for (int i = 0; i < GW_POLE_MERIDIANS - 1; i++) {
            gw_nurbs_point at;
            on_meridian(s, p, i, 0, 3, parameter, &at);
            gw_vec3 way = along_out(p, &at, 1), turn = along_out(p, &at, 2);
            double unit = 1 / p->speed[i], h = gw_dot(along_out(p, &at, order), p->plane.n);
            double x = unit * gw_dot(way, p->plane.e1), y = unit * gw_dot(way, p->plane.e2);
            double x2 = gw_dot(turn, p->plane.e1), y2 = gw_dot(turn, p->plane.e2);
            if (order == 2) {
                add_to_fit(&f, 3, (double[]){x * x, 2 * x * y, y * y}, h * unit * unit);
                continue;
            }
            h -=
                3 *
                (p->second[0] * x * x2 + p->second[1] * (x * y2 + y * x2) + p->second[2] * y * y2) /
                unit;
            add_to_fit(&f, 4, (double[]){x * x * x, 3 * x * x * y, 3 * x * y * y, y * y * y},
                       h * unit * unit * unit);
        }
        gw_small_cholesky_solve(order + 1, (const double(*)[6])f.m, 0, f.g,
                                order == 2 ? p->second : p->third);
    }
}

/* Sets the distances up to which the surface is a height over the tangent plane along every
 * meridian. */
static void find_reach(const gw_nurbs *s, gw_nurbs_pole *p)
{
    const gw_nurbs_direction *d = &s->direction[p->out];
    double step = 0.5 * (d->high - d->low) / STEPS, last[GW_POLE_MERIDIANS] = {0};
    for (int k = 1; k <= STEPS; k++) {
        double reach = HUGE_VAL;
        for (int i = 0; i < GW_POLE_MERIDIANS; i++) {
            double parameter[2];
            gw_nurbs_point at;
            on_meridian(s, p, i, k * step, 2, parameter, &at);
            gw_vec3 off = gw_sub(at.d[0][0], p->plane.point);
            double far = hypot(gw_dot(off, p->plane.e1), gw_dot(off, p->plane.e2));
            if (far <= last[i] || gw_dot(gw_nurbs_normal(s, parameter, &at), p->plane.n) < LEVEL)
                return;
            last[i] = far;
            reach = fmin(reach, far);
        }
        p->plane.reach = reach;
        p->near = NEAR_SHARE * k * step;
    }
}

/*/* ---- points ---------------------------------------------------------------------------------
 */

bool gw_nurbs_has_poles(const gw_nurbs *s)
{
    return s->pole[0] || s->pole[1] || s->pole[2] || s->pole[3];
}

/* x and y of parameters near a pole. */
static void place_about(const gw_nurbs *s, const gw_nurbs_pole *p, const double parameter[2],
                        double xy[2])
{
    gw_nurbs_point at;
    gw_nurbs_evaluate(s, parameter, 0, NULL, &at);
    gw_vec3 off = gw_sub(at.d[0][0], p->plane.point);
    xy[0] = gw_dot(off, p->plane.e1);
    xy[1] = gw_dot(off, p->plane.e2);
}

const gw_nurbs_pole *gw_nurbs_pole_near(const gw_nurbs *s, const double parameter[2], double xy[2])
{
    for (int i = 0; i < 4; i++) {
        const gw_nurbs_pole *p = s->pole[i];
        double away = p ? p->sign * (parameter[p->out] - p->end) : HUGE_VAL;
        if (!p || !(away < p->near))
            continue;
        place_about(s, p, parameter, xy);
        if (away <= 0 || hypot(xy[0], xy[1]) < GW_POLE_SERVES * p->plane.reach)
            return p;
    }
    return NULL;
}

const gw_tangent_plane *gw_nurbs_coordinates(const gw_nurbs *s, const double parameter[2],
                                             double coordinates[2])
{
    assert(s && parameter && coordinates);
    const gw_nurbs_pole *pole = gw_nurbs_pole_near(s, parameter, coordinates);
    if (pole)
        return &pole->plane;
    coordinates[0] = parameter[0];
    coordinates[1] = parameter[1];
    return NULL;
}

/* First guess: parameters on the meridian that leaves towards (x, y), at the distance given by its
 * first derivative. */
static void first_guess(const gw_nurbs *s, const gw_nurbs_pole *p, const double xy[2], double far,
                        double parameter[2])
{
    const gw_nurbs_direction *round = &s->direction[1 - p->out], *out = &s->direction[p->out];
    double turn = p->azimuth[GW_POLE_MERIDIANS] - p->azimuth[0];
    double share = (atan2(xy[1], xy[0]) - p->azimuth[0]) / turn;
    share -= floor(share);
    int i = (int)(share * GW_POLE_MERIDIANS);
    i = i < GW_POLE_MERIDIANS ? i : GW_POLE_MERIDIANS - 1;
    while (i > 0 && (p->azimuth[i] - p->azimuth[0]) / turn > share)
        i--;
    while (i < GW_POLE_MERIDIANS - 1 && (p->azimuth[i + 1] - p->azimuth[0]) / turn <= share)
        i++;
    double from = (p->azimuth[i] - p->azimuth[0]) / turn;
    double part = (share - from) * turn / (p->azimuth[i + 1] - p->azimuth[i]);
    double speed = p->speed[i] + part * (p->speed[i + 1] - p->speed[i]);
    parameter[1 - p->out] =
        round->low + (i + part) * (round->high - round->low) / GW_POLE_MERIDIANS;
    parameter[p->out] = p->end + p->sign * fmin(far / speed, 0.5 * (out->high - out->low));
}

/* Residual of (x, y) at a point, and its derivatives by the parameters. */
static double left_of(const gw_tangent_plane *t, const gw_nurbs_point *at, const double xy[2],
                      double left[2], double by[2][2])
{
    gw_vec3 axis[2] = {t->e1, t->e2}, off = gw_sub(at->d[0][0], t->point);
    for (int k = 0; k < 2; k++) {
        left[k] = xy[k] - gw_dot(off, axis[k]);
        by[k][0] = gw_dot(at->d[1][0], axis[k]);
        by[k][1] = gw_dot(at->d[0][1], axis[k]);
    }
    return hypot(left[0], left[1]);
}

/* Newton's step; false where there is none. */
static bool step_of(const double left[2], const double by[2][2], double step[2])
{
    double det = by[0][0] * by[1][1] - by[0][1] * by[1][0];
    step[0] = (left[0] * by[1][1] - left[1] * by[0][1]) / det;
    step[1] = (left[1] * by[0][0] - left[0] * by[1][0]) / det;
    return isfinite(step[0]) && isfinite(step[1]);
}

/* The parameters at (x, y) about a pole, by Newton's method. */
static bool find_about_pole(const gw_nurbs *s, const gw_nurbs_pole *p, const double xy[2],
                            double parameter[2])
{
    const gw_nurbs_direction *round = &s->direction[1 - p->out], *d = &s->direction[p->out];
    double far = hypot(xy[0], xy[1]), most = (round->high - round->low) / 16;
    if (!(far > 1e-15 * s->size)) {
        parameter[p->out] = p->end;
        parameter[1 - p->out] = round->low;
        return true;
    }
    first_guess(s, p, xy, far, parameter);
    for (int i = 0; i < ITERATIONS; i++) {
        gw_nurbs_point at;
        double left[2], by[2][2], step[2];
        gw_nurbs_evaluate(s, parameter, 1, NULL, &at);
        double off = left_of(&p->plane, &at, xy, left, by);
        if (off <= 4e-16 * s->size)
            return true;
        if (!step_of(left, (const double(*)[2])by, step))
            return false;
        double away = p->sign * (parameter[p->out] - p->end);
        away = fmax(away + p->sign * step[p->out], 0.25 * away);
        parameter[p->out] = p->end + p->sign * fmin(away, 0.75 * (d->high - d->low));
        parameter[1 - p->out] += fmin(fmax(step[1 - p->out], -most), most);
        if (off < 1e-8 * far)
            return true;
    }
    return false;
}

/* ---- derivatives ---------------------------------------------------------------------------- */

/* h and its derivatives: h[n][i] is of order n, i times by y. */
typedef struct height {
    double h[GW_NURBS_ORDER + 1][GW_NURBS_ORDER + 1];
} height;

/* sum of c_ij.. x_i x_j .. / order! of a symmetric form; c[n] is the entry with n indices y. */
static double symmetric_form(const double *c, int order, const double xy[2])
{
    if (order == 0)
        return c[0];
    double by_x = symmetric_form(c, order - 1, xy), by_y = symmetric_form(c + 1, order - 1, xy);
    return (by_x * xy[0] + by_y * xy[1]) / order;
}

static void taylor_height(const gw_nurbs_pole *p, const double xy[2], height *t)
{
    static const double flat[2] = {0, 0};
    const double *by_order[] = {flat, flat, p->second, p->third, p->fourth};
    for (int k = 0; k <= GW_NURBS_ORDER; k++)
        for (int i = 0; i <= k; i++) {
            t->h[k][i] = 0;
            for (int order = k > 2 ? k : 2; order <= 4; order++)
                t->h[k][i] += symmetric_form(by_order[order] + i, order - k, xy);
        }
}

/* d^2 or d^3 of a part of S, by the parameters i, j (and m) of 0 and 1. */
static gw_vec3 second_of(const gw_nurbs_point *at, int i, int j)
{
    return at->d[2 - i - j][i + j];
}

static gw_vec3 third_of(const gw_nurbs_point *at, int i, int j, int m)
{
    return at->d[3 - i - j - m][i + j + m];
}

static bool from_parameters(const gw_tangent_plane *p, const gw_nurbs_point *at, int order,
                            height *t)
{
    gw_vec3 axis[2] = {p->e1, p->e2}, first[2] = {at->d[1][0], at->d[0][1]};
    double jac[2][2], inv[2][2]; /* x_ki; inv[i][k]: parameter i by x_k */
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 2; i++)
            jac[k][i] = gw_dot(axis[k], first[i]);
    double det = jac[0][0] * jac[1][1] - jac[0][1] * jac[1][0];
    if (!(fabs(det) > 0))
        return false;
    inv[0][0] = jac[1][1] / det, inv[1][1] = jac[0][0] / det;
    inv[0][1] = -jac[0][1] / det, inv[1][0] = -jac[1][0] / det;

    double g1[2] = {gw_dot(p->n, first[0]), gw_dot(p->n, first[1])};
    for (int k = 0; k < 2; k++)
        t->h[1][k] = inv[0][k] * g1[0] + inv[1][k] * g1[1];
    /* upright . S_ij = c_ij - h_k x_kij */
    gw_vec3 slope = gw_mul_add(gw_scale(t->h[1][0], p->e1), t->h[1][1], p->e2);
    gw_vec3 upright = gw_sub(p->n, slope);
    if (order < 2)
        return true;
    double g2[2][2], h2[2][2] = {{0}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            g2[i][j] = gw_dot(upright, second_of(at, i, j));
    for (int k = 0; k < 2; k++)
        for (int l = 0; l < 2; l++)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    h2[k][l] += inv[i][k] * inv[j][l] * g2[i][j];
    for (int k = 0; k < 3; k++)
        t->h[2][k] = h2[k > 1][k > 0];
    if (order < 3)
        return true;
    for (int n = 0; n < 4; n++)
        t->h[3][n] = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int m = 0; m < 2; m++) {
                double g = gw_dot(upright, third_of(at, i, j, m));
                for (int k = 0; k < 2; k++) {
                    double ij = gw_dot(axis[k], second_of(at, i, j));
                    double im = gw_dot(axis[k], second_of(at, i, m));
                    double jm = gw_dot(axis[k], second_of(at, j, m));
                    for (int l = 0; l < 2; l++)
                        g -= h2[k][l] * (ij * jac[l][m] + im * jac[l][j] + jm * jac[l][i]);
                }
                for (int n = 0; n < 4; n++)
                    t->h[3][n] += g * inv[i][n > 2] * inv[j][n > 1] * inv[m][n > 0];
            }
    return true;
}

bool gw_tangent_plane_evaluate(const gw_nurbs *s, const gw_tangent_plane *p, const double xy[2],
                               int order, double parameter[2], gw_nurbs_point *point)
{
    assert(isfinite(xy[0]) && isfinite(xy[1]) && order >= 0 && order <= GW_NURBS_ORDER);
    bool found = find_about_pole(s, p->pole, xy, parameter);
    gw_nurbs_point at = {{{{0, 0, 0}}}};
    height t = {{{0}}};
    if (!point)
        return found;
    bool core = hypot(xy[0], xy[1]) < CORE * s->size;
    if (!core)
        gw_nurbs_evaluate(s, parameter, order, NULL, &at);
    t.h[0][0] = core ? 0 : gw_dot(gw_sub(at.d[0][0], p->point), p->n);
    bool regular = core || order == 0 || from_parameters(p, &at, order, &t);
    if (core || !regular)
        taylor_height(p->pole, xy, &t);
    for (int k = 0; k <= GW_NURBS_ORDER; k++)
        for (int l = 0; k + l <= GW_NURBS_ORDER; l++)
            point->d[k][l] = gw_scale(t.h[k + l][l], p->n);
    gw_vec3 flat = gw_mul_add(gw_mul_add(p->point, xy[0], p->e1), xy[1], p->e2);
    point->d[0][0] = gw_add(flat, point->d[0][0]);
    point->d[1][0] = gw_add(p->e1, point->d[1][0]);
    point->d[0][1] = gw_add(p->e2, point->d[0][1]);
    return found && regular;
}

/* ---- creation ---------------------------------------------------------------------- */

/* Least squares for the residuals of h on two rings, and extrapolation: the error of sixth order is
 * four times as large on the ring of twice the radius. */
static void find_fourth(const gw_nurbs *s, gw_nurbs_pole *p)
{
    double on_ring[2][6] = {{0}};
    for (int ring = 0; ring < 2; ring++) {
        fit f = {{{0}}, {0}};
        double far = (1 + ring) * RING * p->plane.reach;
        for (int i = 0; i < GW_POLE_MERIDIANS; i++) {
            double x = cos(2 * GW_PI * i / GW_POLE_MERIDIANS), parameter[2];
            double y = sin(2 * GW_PI * i / GW_POLE_MERIDIANS), xy[2] = {far * x, far * y};
            gw_nurbs_point at;
            height known;
            gw_tangent_plane_evaluate(s, &p->plane, xy, 0, parameter, &at);
            taylor_height(p, xy, &known);
            double left = gw_dot(gw_sub(at.d[0][0], p->plane.point), p->plane.n) - known.h[0][0];
            add_to_fit(&f, 5,
                       (double[]){x * x * x * x, 4 * x * x * x * y, 6 * x * x * y * y,
                                  4 * x * y * y * y, y * y * y * y},
                       24 * left / (far * far * far * far));
        }
        gw_small_cholesky_solve(5, (const double(*)[6])f.m, 0, f.g, on_ring[ring]);
    }
    for (int i = 0; i < 5; i++)
        p->fourth[i] = (4 * on_ring[0][i] - on_ring[1][i]) / 3;
}

bool gw_nurbs_make_poles(gw_nurbs *s)
{
    for (int i = 0; i < 4; i++) {
        const gw_nurbs_direction *d = &s->direction[i / 2];
        gw_nurbs_pole p = {.out = i / 2, .sign = i % 2 ? -1 : 1, .end = i % 2 ? d->high : d->low};
        if (s->edge[i] || d->closed || !s->direction[1 - p.out].closed || !find_plane(s, &p))
            continue;
        find_taylor(s, &p);
        find_reach(s, &p);
        if (!(RING * p.plane.reach > 2 * CORE * s->size))
            continue;
        p.plane.pole = &p;
        find_fourth(s, &p);
        s->pole[i] = malloc(sizeof p);
        if (!s->pole[i])
            return false;
        *s->pole[i] = p;
        s->pole[i]->plane.pole = s->pole[i];
    }
    return true;
}
