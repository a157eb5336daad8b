/*
 * Where the nearest pose's point is: searches over a ring and over a ball. Any thread, RT safe.
 *
 * With d = X - Y, Y the locus's point nearest to X, the gradient of |d|^2 is 2 d whatever the
 * locus. On the ring, samples bracket every minimum and the root of f' is found in each bracket. On
 * the ball, Newton's method starts at the best of a grid, at samples well apart.
 */
#include "rt/geom/locus.h"

#include <stddef.h>

/* ---- ring ----------------------------------------------------------------------------------- */

#define SAMPLES 32 /* of a ring; every other one where the locus is flat or a sphere */

static const double cosines[SAMPLES] = {1,
                                        0.98078528040323043,
                                        0.92387953251128674,
                                        0.83146961230254524,
                                        0.70710678118654757,
                                        0.55557023301960229,
                                        0.38268343236508984,
                                        0.19509032201612833,
                                        0,
                                        -0.19509032201612819,
                                        -0.38268343236508973,
                                        -0.55557023301960196,
                                        -0.70710678118654746,
                                        -0.83146961230254535,
                                        -0.92387953251128674,
                                        -0.98078528040323043,
                                        -1,
                                        -0.98078528040323043,
                                        -0.92387953251128685,
                                        -0.83146961230254546,
                                        -0.70710678118654768,
                                        -0.55557023301960218,
                                        -0.38268343236509034,
                                        -0.19509032201612866,
                                        0,
                                        0.1950903220161283,
                                        0.38268343236509,
                                        0.55557023301960184,
                                        0.70710678118654735,
                                        0.83146961230254524,
                                        0.92387953251128652,
                                        0.98078528040323032};

static double cosine_at(int i)
{
    return cosines[(i + SAMPLES) % SAMPLES];
}

static double sine_at(int i)
{
    return cosines[(i + SAMPLES - SAMPLES / 4) % SAMPLES];
}

/* theta, and theta theta'. At theta = pi the slope has two values: the one of rising psi. */
static double ring_theta(const gw_ring *r, double psi, double cosine, double sine, double *slope)
{
    if (r->straight) {
        *slope = psi;
        return psi;
    }
    double cc = fmax(0, r->k0 + r->k1 * cosine + r->k2 * sine), ch = sqrt(cc);
    double sh = sqrt(fmax(0, 1 - cc)), theta = 2 * atan2(sh, ch);
    double rate = r->k2 * cosine - r->k1 * sine; /* of cc */
    if (ch < 1e-9)
        *slope = GW_PI * sqrt(2 * fabs(r->k0));
    else
        *slope = sh > 1e-9 ? -theta * rate / (sh * ch) : -2 * rate;
    return theta;
}

/* f and f' at an angle given with its cosine and sine. */
static double ring_value(const gw_ring *r, double psi, double cosine, double sine, double *slope)
{
    gw_vec3 x = gw_mul_add(gw_mul_add(r->c, cosine, r->a), sine, r->b);
    gw_vec3 dx = gw_mul_add(gw_scale(cosine, r->b), -sine, r->a);
    gw_vec3 d = gw_sub(x, gw_locus_nearest(r->locus, x));
    double turn, theta = ring_theta(r, psi, cosine, sine, &turn), ll = r->length * r->length;
    *slope = 2 * gw_dot(d, dx) + 2 * ll * turn;
    return gw_norm2(d) + ll * theta * theta;
}

/* Root of f' between two angles where it changes sign from - to +: Illinois' regula falsi. */
static double ring_minimum(const gw_ring *r, double low, double high, double slope_low,
                           double slope_high)
{
    double psi = low;
    int side = 0;
    for (int i = 0; i < 60 && high - low > 1e-15; i++) {
        double slope;
        psi = i % 8 == 7 ? 0.5 * (low + high)
                         : (slope_high * low - slope_low * high) / (slope_high - slope_low);
        ring_value(r, psi, cos(psi), sin(psi), &slope);
        if (slope == 0)
            break;
        double last = slope > 0 ? high : low;
        if (slope > 0) {
            high = psi, slope_high = slope;
            slope_low *= side > 0 ? 0.5 : 1;
            side = 1;
        } else {
            low = psi, slope_low = slope;
            slope_high *= side < 0 ? 0.5 : 1;
            side = -1;
        }
        if (fabs(last - psi) < 1e-14)
            break;
    }
    return psi;
}

static bool curved(gw_locus_kind kind)
{
    return kind == GW_LOCUS_CYLINDER || kind == GW_LOCUS_CIRCLE || kind == GW_LOCUS_ELLIPSE;
}

double gw_ring_search(const gw_ring *r)
{
    const double unit = 2 * GW_PI / SAMPLES;
    const int stride = curved(r->locus->kind) ? 1 : 2, half = SAMPLES / 2;
    double f[SAMPLES + 1], slope[SAMPLES + 1], best = 0, best_f = HUGE_VAL;
    for (int i = -half; i <= half; i += stride) {
        double psi = unit * i;
        f[i + half] = ring_value(r, psi, cosine_at(i), sine_at(i), &slope[i + half]);
        if (f[i + half] < best_f)
            best = psi, best_f = f[i + half];
    }
    /* at psi = -pi a kink of theta turns around */
    double at_pi, theta = ring_theta(r, GW_PI, -1, 0, &at_pi);
    if (!r->straight && theta > GW_PI - 1e-8)
        slope[0] -= 4 * at_pi * r->length * r->length;
    for (int i = 0; i < SAMPLES; i += stride) {
        /* a minimum lies between two samples where the slope turns from - to + */
        if (!(slope[i] < 0 && slope[i + stride] > 0))
            continue;
        double ignored, psi = ring_minimum(r, unit * (i - half), unit * (i + stride - half),
                                           slope[i], slope[i + stride]);
        double value = ring_value(r, psi, cos(psi), sin(psi), &ignored);
        if (value < best_f)
            best = psi, best_f = value;
    }
    return best;
}

/* ---- ball ----------------------------------------------------------------------------------- */

#define RINGS   5 /* polar angles of the grid: 30 .. 150 degrees from u0 */
#define SECTORS 8
#define GRID    (RINGS * SECTORS)
#define STARTS  10
#define CLOSE   0.998 /* cosine: 4 degrees */
#define APART   0.9   /* cosine: starts within 26 degrees of one another are one */

static double ball_value(const gw_ball *b, gw_vec3 u, double theta)
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
 * How far Y follows a step of X along the last tangent: 1 / (1 - kappa delta), kappa the curvature
 * of that way and delta the part of d = X - Y towards its centre.
 */
static double following(const gw_locus *l, gw_vec3 y, gw_vec3 d)
{
    gw_vec3 at = gw_sub(y, l->origin);
    double c = gw_dot(at, l->e1) / l->a, s, kappa;
    gw_vec3 out;
    if (l->kind == GW_LOCUS_CIRCLE || l->kind == GW_LOCUS_CYLINDER) {
        out = gw_scale(1 / l->a, gw_reject(at, l->e3));
        kappa = 1 / l->a;
    } else if (l->kind == GW_LOCUS_ELLIPSE) {
        s = gw_dot(at, l->e2) / l->b;
        double speed = hypot(l->a * s, l->b * c);
        kappa = l->a * l->b / (speed * speed * speed);
        out = gw_unit(gw_add(gw_scale(c / l->a, l->e1), gw_scale(s / l->b, l->e2)));
    } else {
        return 1;
    }
    double bend = 1 + kappa * gw_dot(d, out);
    return bend > 1e-9 ? 1 / bend : 1e9;
}

/*
 * Half gradient and half the second derivative of f on the sphere at u, in the tangents e_1, e_2:
 *   g = r d + L^2 theta theta',    theta' = -t, t the unit tangent towards u0
 *   H = r^2 N - (r d . u) I + L^2 (t t^T + theta cot theta (I - t t^T))
 * N being what is left of a step of X when Y has followed it.
 */
static void ball_model(const gw_ball *b, gw_vec3 u, double theta, const gw_vec3 e[2], double g[2],
                       double h[2][2])
{
    const gw_locus *l = b->locus;
    gw_vec3 x = gw_mul_add(b->c, b->r, u), y = gw_locus_nearest(l, x), d = gw_sub(x, y), way[3];
    int tangents = gw_locus_tangent(l, y, way);
    double follows = following(l, y, d);
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
    double spread = hypot(half, h[0][1]), least = mean - spread, most = mean + spread;
    double floor = 1e-6 * fabs(most) + 1e-300;
    raise += least < floor ? floor - least + 0.1 * fabs(least) : 0;
    double a = h[0][0] + raise, c = h[1][1] + raise, k = h[0][1], det = a * c - k * k;
    step[0] = -(c * g[0] - k * g[1]) / det;
    step[1] = -(a * g[1] - k * g[0]) / det;
}

/* Newton's method from u; gives up where it comes near `known` (may be NULL), a minimum. */
static gw_vec3 ball_descend(const gw_ball *b, gw_vec3 u, const gw_vec3 *known, double *value)
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
            if (small || (known && gw_dot(u, *known) > CLOSE))
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

/*
 * Where the locus is flat and the ball small, f is convex on every turn that could beat the first
 * minimum (theta <= sqrt(f) / L), and no other start is needed: |d| r < L^2 there.
 */
static bool one_minimum(const gw_ball *b, double f, double f_start)
{
    if (b->locus->kind != GW_LOCUS_LINE)
        return false;
    double reach = sqrt(f) / b->length;
    return reach < 1.5 && (sqrt(f_start) + b->r * reach) * b->r < b->length * b->length;
}

#define STEP 0.5 /* rad: no direction is farther from the grid and u0 */

/* The first samples of a grid about u0, and their f; that is infinite where f cannot come below
 * `best` within a step, |d| falling by at most r and theta by at most one per radian. */
static void ball_grid(const gw_ball *b, int count, double best, gw_vec3 u[GRID], double f[GRID])
{
    static const double polar_cos[RINGS] = {0.86602540378443865, 0.5, 0, -0.5,
                                            -0.86602540378443865};
    static const double polar_sin[RINGS] = {0.5, 0.86602540378443865, 1, 0.86602540378443865, 0.5};
    gw_vec3 e1 = gw_any_normal(b->u0), e2 = gw_cross(b->u0, e1);
    for (int i = 0; i < count; i++) {
        int ring = i / SECTORS, at = 4 * (i % SECTORS) + 2 * (ring % 2);
        gw_vec3 out = gw_add(gw_scale(cosine_at(at), e1), gw_scale(sine_at(at), e2));
        u[i] = gw_mul_add(gw_scale(polar_cos[ring], b->u0), polar_sin[ring], out);
        double turn = b->length * (ring + 1) * GW_PI / 6;
        f[i] = ball_value(b, u[i], (ring + 1) * GW_PI / 6);
        double gap = fmax(0, sqrt(fmax(0, f[i] - turn * turn)) - STEP * b->r);
        double least_turn = turn - STEP * b->length;
        if (gap * gap + least_turn * least_turn > best)
            f[i] = HUGE_VAL;
    }
}

gw_vec3 gw_ball_search(const gw_ball *b)
{
    gw_vec3 u[GRID], tried[STARTS];
    double f[GRID], best_f;
    gw_vec3 best = ball_descend(b, b->u0, NULL, &best_f);
    if (one_minimum(b, best_f, ball_value(b, b->u0, 0)))
        return best;
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
        gw_vec3 found = ball_descend(b, u[least], &best, &value);
        if (value < best_f)
            best = found, best_f = value;
    }
    return best;
}
