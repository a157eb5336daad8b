/*
 * Where the nearest pose's point is, on a ball. Any thread, RT safe.
 *
 * With d = X - Y, Y the locus's point nearest to X, the gradient of |d|^2 is 2 d whatever the
 * locus. About a line or a cylinder the ball has two planes of symmetry, and one descent in the
 * part that u0 is in is enough; else Newton's method starts at the best of a grid, at samples well
 * apart.
 */
#include "rt/geometry/locus.h"

#include <stddef.h>

/* ---- any locus ------------------------------------------------------------------------------ */

#define RINGS   5 /* polar angles of the grid: 30 .. 150 degrees from u0 */
#define SECTORS 8
#define GRID    (RINGS * SECTORS)
#define STARTS  10
#define CLOSE   0.998 /* cosine: 4 degrees */
#define APART   0.9   /* cosine: starts within 26 degrees of one another are one */
#define EDGE    0.03  /* sine: nearer to a plane of symmetry one start is not enough */
#define BALL    8     /* radius, in lengths, of balls where those starts found every minimum */

static double ball_value(const gw_sphere_distance *b, gw_vec3 u, double theta)
{
    gw_vec3 x = gw_mul_add(b->c, b->r, u), d = gw_sub(x, gw_locus_nearest(b->locus, x));
    return gw_norm2(d) + b->length * b->length * theta * theta;
}

/* u moved along the unit tangent t by `angle`. */
static gw_vec3 moved(gw_vec3 u, gw_vec3 t, double angle)
{
    return gw_unit(gw_mul_add(gw_scale(cos(angle), u), sin(angle), t));
}

/*
 * Half gradient and half the second derivative of f on the sphere at u, in the tangents e_1, e_2:
 *   g = r d + L^2 theta theta',    theta' = -t, t the unit tangent towards u0
 *   H = r^2 N - (r d . u) I + L^2 (t t^T + theta cot theta (I - t t^T))
 * N being what is left of a step of X when Y has followed it.
 */
static void ball_model(const gw_sphere_distance *b, gw_vec3 u, double theta, const gw_vec3 e[2],
                       double g[2], double h[2][2])
{
    const gw_locus *l = b->locus;
    gw_vec3 x = gw_mul_add(b->c, b->r, u), y = gw_locus_nearest(l, x), d = gw_sub(x, y), way[3];
    int tangents = gw_locus_tangent(l, y, way);
    double follows = gw_locus_nearest_derivative(l, y, d);
    gw_vec3 toward = gw_reject(b->u0, u);
    double sine = gw_norm(toward), ll = b->length * b->length;
    gw_vec3 t = sine > 0 ? gw_scale(1 / sine, toward) : e[0];
    double around = theta > 1e-4 ? theta / tan(theta) : 1;
    double bend = ll * around - b->r * gw_dot(d, u);
    for (int i = 0; i < 2; i++) {
        g[i] = b->r * gw_dot(d, e[i]) - ll * theta * gw_dot(t, e[i]);
        for (int j = 0; j < 2; j++) {
            double n = i == j;
            for (int k = 0; k < tangents; k++) {
                double share = k == tangents - 1 ? follows : 1;
                n -= share * gw_dot(way[k], e[i]) * gw_dot(way[k], e[j]);
            }
            h[i][j] = b->r * b->r * n + (i == j ? bend : 0) +
                      ll * (1 - around) * gw_dot(t, e[i]) * gw_dot(t, e[j]);
        }
    }
}

/* The step down: -(H + raise I)^-1 g with H made positive by its smaller eigenvalue. */
static void down(double h[2][2], double raise, const double g[2], double step[2])
{
    double mean = 0.5 * (h[0][0] + h[1][1]), half = 0.5 * (h[0][0] - h[1][1]);
    double spread = sqrt(half * half + h[0][1] * h[0][1]), least = mean - spread,
           most = mean + spread;
    double floor = 1e-6 * fabs(most) + 1e-300;
    raise += least < floor ? floor - least + 0.1 * fabs(least) : 0;
    double a = h[0][0] + raise, c = h[1][1] + raise, k = h[0][1], det = a * c - k * k;
    step[0] = -(c * g[0] - k * g[1]) / det;
    step[1] = -(a * g[1] - k * g[0]) / det;
}

/* Newton's method from u; gives up where it comes near `known` (may be NULL), a minimum of `least`,
 * and not below it. */
static gw_vec3 ball_descend(const gw_sphere_distance *b, gw_vec3 u, const gw_vec3 *known,
                            double least, double *value)
{
    double theta = gw_angle_between(u, b->u0), f = ball_value(b, u, theta), raise = 0;
    for (int i = 0; i < 60; i++) {
        double g[2], h[2][2], step[2];
        gw_vec3 e[2];
        e[0] = gw_any_normal(u);
        e[1] = gw_cross(u, e[0]);
        ball_model(b, u, theta, (const gw_vec3 *)e, g, h);
        down(h, raise, g, step);
        double angle = hypot(step[0], step[1]);
        if (!(angle > 1e-12))
            break;
        gw_vec3 t = gw_scale(1 / angle, gw_add(gw_scale(step[0], e[0]), gw_scale(step[1], e[1])));
        gw_vec3 next = moved(u, t, fmin(angle, 0.7));
        double theta_next = gw_angle_between(next, b->u0);
        double f_next = ball_value(b, next, theta_next);
        if (f_next < f) {
            bool small = angle < 1e-7;
            u = next, theta = theta_next, f = f_next;
            raise *= 0.1;
            if (small || (known && f >= least && gw_dot(u, *known) > CLOSE))
                break;
        } else {
            if (angle < 1e-7)
                break;
            raise = fmax(4 * raise, 0.1 * (fabs(h[0][0]) + fabs(h[1][1])));
        }
    }
    *value = f;
    return u;
}

#define STEP 0.5 /* rad: no direction is farther from the grid and u0 */

/* The first samples of a grid about u0, and their f; that is infinite where f cannot come below
 * `best` within a step, |d| falling by at most r and theta by at most one per radian. */
static void ball_grid(const gw_sphere_distance *b, int count, double best, gw_vec3 u[GRID],
                      double f[GRID])
{
    static const double polar_cos[RINGS] = {0.86602540378443865, 0.5, 0, -0.5,
                                            -0.86602540378443865};
    static const double polar_sin[RINGS] = {0.5, 0.86602540378443865, 1, 0.86602540378443865, 0.5};
    gw_vec3 e1 = gw_any_normal(b->u0), e2 = gw_cross(b->u0, e1);
    for (int i = 0; i < count; i++) {
        int ring = i / SECTORS;
        double turned = (i % SECTORS + 0.5 * (ring % 2)) * (2 * GW_PI / SECTORS);
        gw_vec3 out = gw_add(gw_scale(cos(turned), e1), gw_scale(sin(turned), e2));
        u[i] = gw_mul_add(gw_scale(polar_cos[ring], b->u0), polar_sin[ring], out);
        double turn = b->length * (ring + 1) * GW_PI / 6;
        f[i] = ball_value(b, u[i], (ring + 1) * GW_PI / 6);
        double gap = fmax(0, sqrt(fmax(0, f[i] - turn * turn)) - STEP * b->r);
        double least_turn = turn - STEP * b->length;
        if (gap * gap + least_turn * least_turn > best)
            f[i] = HUGE_VAL;
    }
}

/* ---- about a line or a cylinder -------------------------------------------------------------- */

/* A place on the ball: f, half its gradient and half its second derivative along the tangents
 * towards u0 and across that. */
typedef struct stand {
    gw_vec3 u, toward, across;
    double f, g[2], h[2][2];
} stand;

/*
 * With q = the part of X - O across the axis k, rho = |q| and share = 1 - a / rho:
 *   g = r share q,   H = r^2 (share (I - k k^T) + a / rho^3 q q^T) - (r share q . u) I
 * and of the turn -L^2 theta towards u0, L^2 along that and L^2 theta cot theta across.
 */
static stand stand_at(const gw_sphere_distance *b, gw_vec3 u)
{
    const gw_locus *l = b->locus;
    const double r = b->r, ll = b->length * b->length, a = l->kind == GW_LOCUS_LINE ? 0 : l->a;
    gw_vec3 q = gw_reject(gw_mul_add(gw_sub(b->c, l->origin), r, u), l->e3);
    gw_vec3 normal = gw_cross(u, b->u0);
    double rho = sqrt(fmax(gw_norm2(q), 1e-30 * r * r)), share = 1 - a / rho;
    double sine = gw_norm(normal), cosine = gw_dot(u, b->u0), theta = atan2(sine, cosine);
    double around = sine > 1e-6 ? theta * cosine / sine : cosine > 0 ? 1 : -1e6;
    stand s = {.u = u, .f = (rho - a) * (rho - a) + ll * theta * theta};
    s.across = sine > 1e-12 ? gw_scale(1 / sine, normal) : gw_any_normal(u);
    s.toward = gw_cross(s.across, u);
    double q0 = gw_dot(q, s.toward), q1 = gw_dot(q, s.across), rise = r * share * gw_dot(q, u);
    double k0 = gw_dot(l->e3, s.toward), k1 = gw_dot(l->e3, s.across), bow = a / (rho * rho * rho);
    s.g[0] = r * share * q0 - ll * theta;
    s.g[1] = r * share * q1;
    s.h[0][0] = r * r * (share * (1 - k0 * k0) + bow * q0 * q0) - rise + ll;
    s.h[1][1] = r * r * (share * (1 - k1 * k1) + bow * q1 * q1) - rise + ll * around;
    s.h[0][1] = s.h[1][0] = r * r * (bow * q0 * q1 - share * k0 * k1);
    return s;
}

/* Newton's method from u; given up near a minimum that is known (NULL: none). */
static stand axis_descend(const gw_sphere_distance *b, gw_vec3 u, const stand *known)
{
    stand at = stand_at(b, u);
    double raise = 0;
    for (int i = 0; i < 60; i++) {
        double step[2];
        down(at.h, raise, at.g, step);
        double size = sqrt(step[0] * step[0] + step[1] * step[1]),
               cut = size > 0.7 ? 0.7 / size : 1;
        if (!(size > 1e-12))
            break;
        gw_vec3 go = gw_mul_add(gw_scale(step[0], at.toward), step[1], at.across);
        gw_vec3 there = gw_unit(gw_mul_add(at.u, cut, go));
        double scale = fabs(at.h[0][0]) + fabs(at.h[1][1]);
        if (size < 2e-6 && raise < 1e-5 * scale) {
            at.u = there; /* a whole step: what is left is its square */
            break;
        }
        stand next = stand_at(b, there);
        if (next.f < at.f) {
            raise *= 0.1;
            at = next;
            if (known && at.f >= known->f && gw_dot(at.u, known->u) > CLOSE)
                break;
        } else {
            if (size < 1e-8)
                break;
            raise = fmax(4 * raise, 0.1 * scale);
        }
    }
    return at;
}

/* Down from u0 along the great circle through it and t, unless to what is known. */
static stand along_circle(const gw_sphere_distance *b, gw_vec3 t, const stand *known)
{
    gw_circle_distance ring = {.c = b->c,
                               .a = gw_scale(b->r, b->u0),
                               .b = gw_scale(b->r, t),
                               .straight = true,
                               .length = b->length,
                               .locus = b->locus};
    return axis_descend(b, moved(b->u0, t, gw_circle_distance_start(&ring)), known);
}

/* Mirrored where it is on the other side of the plane through c normal to `n` than u0. */
static bool mirror(const gw_sphere_distance *b, gw_vec3 n, gw_vec3 *u)
{
    double off = gw_dot(*u, n);
    if (off * gw_dot(b->u0, n) >= 0)
        return false;
    *u = gw_mul_add(*u, -2 * off / gw_norm2(n), n);
    return true;
}

/*
 * |X - Y| is the same on either side of two planes through c, across the axis and along it, so that
 * the best u is on u0's side of both. There it is found from the steepest great circle of u0; where
 * u0 is near one of the planes, also from the circle across that.
 */
static gw_vec3 about_axis(const gw_sphere_distance *b)
{
    const gw_locus *l = b->locus;
    gw_vec3 x = gw_mul_add(b->c, b->r, b->u0), d = gw_sub(x, gw_locus_nearest(l, x));
    gw_vec3 down_hill = gw_reject(gw_neg(d), b->u0);
    gw_vec3 beside = gw_cross(l->e3, gw_sub(b->c, l->origin));
    double slope = gw_norm(down_hill), gap = gw_norm(d), off = gw_norm(beside);
    gw_vec3 t = slope > 1e-12 * gap ? gw_scale(1 / slope, down_hill) : gw_any_normal(b->u0);
    stand best = along_circle(b, t, NULL);
    bool edge = fabs(gw_dot(b->u0, beside)) < EDGE * off || fabs(gw_dot(b->u0, l->e3)) < EDGE ||
                off < EDGE * b->r || slope < EDGE * gap;
    if (edge) {
        stand other = along_circle(b, gw_cross(b->u0, t), &best);
        best = other.f < best.f ? other : best;
    }
    bool mirrored = mirror(b, l->e3, &best.u);
    if (mirror(b, beside, &best.u) || mirrored)
        best = axis_descend(b, best.u, NULL);
    return best.u;
}

/* ---- which ---------------------------------------------------------------------------------- */

gw_vec3 gw_sphere_distance_minimum(const gw_sphere_distance *b)
{
    gw_vec3 u[GRID], tried[STARTS];
    double f[GRID], best_f;
    bool axis = b->locus->kind == GW_LOCUS_LINE || b->locus->kind == GW_LOCUS_CYLINDER;
    if (axis && b->r <= BALL * b->length)
        return about_axis(b);
    gw_vec3 best = ball_descend(b, b->u0, NULL, 0, &best_f);
    /* theta <= sqrt(f) / L at every better pose; beyond that and half a step the grid is no use */
    int rings = (int)fmin(RINGS, floor(sqrt(best_f) / b->length / (GW_PI / 6) + 0.5));
    ball_grid(b, rings * SECTORS, best_f, u, f);
    for (int k = 0; k < STARTS; k++) {
        int least = -1;
        for (int i = 0; i < rings * SECTORS; i++) {
            bool near = false;
            for (int j = 0; j < k && !near; j++)
                near = gw_dot(u[i], tried[j]) > APART;
            if (!near && f[i] < HUGE_VAL && (least < 0 || f[i] < f[least]))
                least = i;
        }
        if (least < 0)
            break;
        tried[k] = u[least];
        double value;
        gw_vec3 found = ball_descend(b, u[least], &best, best_f, &value);
        if (value < best_f)
            best = found, best_f = value;
    }
    return best;
}
