/*
 * One- and two-dimensional searches for the nearest pose: minima of f = |X - Y|^2 + (L theta)^2
 * over a point X that moves on a circle or on a sphere while its body rotates, Y being the point of
 * the locus nearest to X. Any thread, RT safe.
 *
 * The gradient of |X - Y|^2 is 2 (X - Y) whatever the locus. On a circle |X - Y|^2 consists of
 * trigonometric polynomials of the angle; the slopes at samples bracket every minimum, and Newton's
 * method finds it there. On a sphere, a locus with an axis has two planes of symmetry, and one
 * descent in the part that u0 is in is enough; else Newton's method starts at the best points of a
 * grid.
 */
#include <stddef.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/geometry/locus.h"

/* ---- circle --------------------------------------------------------------------------------- */

/* psi_i = (i + 1/2) 2 pi / CIRCLE_SAMPLES - pi, neither 0 nor pi; HALF of them, with even i, are
 * enough where the locus is flat or a sphere. */
#define CIRCLE_SAMPLES 32
#define HALF           16

/* Cosines and sines of psi_i: first those with even i, then those with odd i. */
static const double cosines[2][HALF] = {
    {-0.99518472667219682, -0.88192126434835494, -0.63439328416364538, -0.29028467725446216,
     0.09801714032956077, 0.47139673682599781, 0.77301045336273699, 0.95694033573220894,
     0.99518472667219693, 0.88192126434835494, 0.63439328416364582, 0.29028467725446233,
     -0.098017140329560201, -0.4713967368259977, -0.77301045336273666, -0.95694033573220882},
    {-0.95694033573220882, -0.77301045336273699, -0.4713967368259977, -0.098017140329560645,
     0.29028467725446233, 0.63439328416364549, 0.88192126434835494, 0.99518472667219693,
     0.95694033573220894, 0.77301045336273699, 0.47139673682599781, 0.098017140329560326,
     -0.29028467725446216, -0.63439328416364571, -0.88192126434835494, -0.99518472667219693}};
static const double sines[2][HALF] = {
    {-0.098017140329560826, -0.47139673682599786, -0.7730104533627371, -0.95694033573220894,
     -0.99518472667219682, -0.88192126434835494, -0.63439328416364538, -0.29028467725446228,
     0.098017140329560715, 0.47139673682599775, 0.77301045336273677, 0.95694033573220894,
     0.99518472667219693, 0.88192126434835505, 0.63439328416364582, 0.29028467725446239},
    {-0.29028467725446239, -0.63439328416364549, -0.88192126434835505, -0.99518472667219693,
     -0.95694033573220894, -0.77301045336273699, -0.47139673682599775, -0.098017140329560715,
     0.29028467725446228, 0.63439328416364538, 0.88192126434835494, 0.99518472667219693,
     0.95694033573220894, 0.77301045336273677, 0.47139673682599786, 0.098017140329560395}};

static double psi_at(int i)
{
    return (i + 0.5) * (2 * GW_PI / CIRCLE_SAMPLES) - GW_PI;
}

/* A trigonometric polynomial k + c cos psi + s sin psi + c2 cos 2 psi + s2 sin 2 psi. */
typedef struct fourier {
    double k, c, s, c2, s2;
} fourier;

/*
 * |X - Y|^2 = T + (sqrt S - radius)^2 on the circle, with trigonometric polynomials T (flat) and S
 * (round); S is unused where the radius is 0. An ellipse has no such form.
 */
typedef struct circle_distance_terms {
    const gw_circle_distance *circle;
    fourier flat, round;
    double radius;
    bool has_wave;
} circle_distance_terms;

/* Adds weight (k + c cos psi + s sin psi)^2. */
static void add_square(fourier *to, double weight, double k, double c, double s)
{
    to->k += weight * (k * k + 0.5 * (c * c + s * s));
    to->c += weight * 2 * k * c;
    to->s += weight * 2 * k * s;
    to->c2 += weight * 0.5 * (c * c - s * s);
    to->s2 += weight * c * s;
}

/* Adds weight (n . (X - O))^2. */
static void add_along(fourier *to, double weight, const gw_circle_distance *r, gw_vec3 off,
                      gw_vec3 n)
{
    add_square(to, weight, gw_dot(off, n), gw_dot(r->a, n), gw_dot(r->b, n));
}

/* |X - O|^2 */
static fourier whole_square(const gw_circle_distance *r, gw_vec3 off)
{
    double aa = gw_norm2(r->a), bb = gw_norm2(r->b);
    return (fourier){gw_norm2(off) + 0.5 * (aa + bb), 2 * gw_dot(off, r->a), 2 * gw_dot(off, r->b),
                     0.5 * (aa - bb), gw_dot(r->a, r->b)};
}

/* The square of the part of X - O normal to n. */
static fourier square_across(const gw_circle_distance *r, gw_vec3 off, gw_vec3 n)
{
    fourier across = whole_square(r, off);
    add_along(&across, -1, r, off, n);
    return across;
}

static circle_distance_terms circle_fourier(const gw_circle_distance *r)
{
    const gw_locus *l = r->locus;
    circle_distance_terms w = {.circle = r,
                               .has_wave = l->kind != GW_LOCUS_ELLIPSE &&
                                           l->kind != GW_LOCUS_CURVE &&
                                           l->kind != GW_LOCUS_SURFACE};
    gw_vec3 off = gw_sub(r->c, l->origin);
    switch (l->kind) {
    case GW_LOCUS_POINT:
        w.flat = whole_square(r, off);
        break;
    case GW_LOCUS_LINE:
        w.flat = square_across(r, off, l->e3);
        break;
    case GW_LOCUS_PLANE:
        add_along(&w.flat, 1, r, off, l->e3);
        break;
    case GW_LOCUS_SPHERE:
        w.round = whole_square(r, off), w.radius = l->a;
        break;
    case GW_LOCUS_CIRCLE:
        add_along(&w.flat, 1, r, off, l->e3);
        w.round = square_across(r, off, l->e3), w.radius = l->a;
        break;
    case GW_LOCUS_CYLINDER:
        w.round = square_across(r, off, l->e3), w.radius = l->a;
        break;
    case GW_LOCUS_FREE:
    case GW_LOCUS_ELLIPSE:
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE:
    case GW_LOCUS_GENERAL:
        break;
    }
    return w;
}

/* Half of f's parts at an angle: value, slope and curvature. */
typedef struct derivatives {
    double f, d1, d2;
} derivatives;

static void add_fourier(const fourier *w, double c, double s, derivatives *to)
{
    double cc = c * c - s * s, ss = 2 * c * s;
    to->f += 0.5 * (w->k + w->c * c + w->s * s + w->c2 * cc + w->s2 * ss);
    to->d1 += 0.5 * (w->s * c - w->c * s) + w->s2 * cc - w->c2 * ss;
    to->d2 -= 0.5 * (w->c * c + w->s * s) + 2 * (w->c2 * cc + w->s2 * ss);
}

/* (rho - a)^2 / 2, rho^2 = S:  (1 - a / rho) S'/2,  (1 - a / rho) S''/2 + a S'^2 / 4 rho^3 */
static void add_radial(const circle_distance_terms *w, double c, double s, derivatives *to)
{
    derivatives half = {0, 0, 0};
    add_fourier(&w->round, c, s, &half);
    double square = 2 * half.f, tiny = 1e-30 * w->round.k;
    double rho = sqrt(square > tiny ? square : tiny), share = 1 - w->radius / rho;
    to->f += 0.5 * (rho - w->radius) * (rho - w->radius);
    to->d1 += share * half.d1;
    to->d2 += share * half.d2 + w->radius * half.d1 * half.d1 / (rho * rho * rho);
}

/* For any locus: d . d / 2, its slope d . X', and its curvature X' . N X' + d . X''. */
static void add_locus_distance(const gw_circle_distance *r, double c, double s, derivatives *to)
{
    gw_vec3 arm = gw_add(gw_scale(c, r->a), gw_scale(s, r->b));
    gw_vec3 go = gw_sub(gw_scale(c, r->b), gw_scale(s, r->a));
    gw_vec3 x = gw_add(r->c, arm), y = gw_locus_nearest(r->locus, x), d = gw_sub(x, y);
    gw_mat3 n = gw_locus_nearest_derivative(r->locus, y, d);
    to->f += 0.5 * gw_norm2(d);
    to->d1 += gw_dot(d, go);
    to->d2 += gw_dot(go, gw_mat3_mul(&n, go)) - gw_dot(d, arm);
}

/* theta^2 / 2 and its derivatives, times L^2. At theta = pi the slope has two values: that of
 * rising psi. */
static void add_rotation(const gw_circle_distance *r, double psi, double c, double s,
                         derivatives *to)
{
    double ll = r->length * r->length;
    if (r->straight) {
        to->f += 0.5 * ll * psi * psi;
        to->d1 += ll * psi;
        to->d2 += ll;
        return;
    }
    double cc = r->k0 + r->k1 * c + r->k2 * s;
    cc = cc > 0 ? cc : 0;
    cc = cc < 1 ? cc : 1;
    double ch = sqrt(cc), sh = sqrt(1 - cc);
    double theta = 2 * atan2(sh, ch), rate = r->k2 * c - r->k1 * s, curl = -r->k1 * c - r->k2 * s;
    to->f += 0.5 * ll * theta * theta;
    if (sh < 1e-7) {
        to->d1 -= 2 * ll * rate;
        to->d2 -= 2 * ll * curl;
    } else if (ch < 1e-9) {
        to->d1 += ll * GW_PI * sqrt(2 * fabs(r->k0));
    } else {
        double slope = -rate / (sh * ch);
        to->d1 += ll * theta * slope;
        to->d2 += ll * (slope * slope -
                        theta / (2 * sh * ch) * (2 * curl + (ch * ch - sh * sh) * slope * slope));
    }
}

static derivatives circle_derivatives(const circle_distance_terms *w, double psi)
{
    derivatives b = {0, 0, 0};
    double c = cos(psi), s = sin(psi);
    if (w->has_wave)
        add_fourier(&w->flat, c, s, &b);
    else
        add_locus_distance(w->circle, c, s, &b);
    if (w->radius > 0)
        add_radial(w, c, s, &b);
    add_rotation(w->circle, psi, c, s, &b);
    return b;
}

static double fourier_value(const fourier *w, double c, double s)
{
    return w->k + w->c * c + w->s * s + w->c2 * (c * c - s * s) + w->s2 * 2 * c * s;
}

/* Half the slope. */
static double fourier_slope(const fourier *w, double c, double s)
{
    return 0.5 * (w->s * c - w->c * s) + w->s2 * (c * c - s * s) - w->c2 * 2 * c * s;
}

/* theta theta' at a sample, to some 1e-4: acos by a polynomial (Abramowitz and Stegun 4.4.45),
 * theta = 2 sqrt(1 - ch) polynomial,  sh = sqrt(1 - ch) sqrt(1 + ch). */
static double approximate_rotation_slope(const gw_circle_distance *r, double c, double s)
{
    double cc = r->k0 + r->k1 * c + r->k2 * s;
    cc = cc > 1e-12 ? cc : 1e-12;
    double ch = sqrt(cc < 1 ? cc : 1);
    double polynomial = 1.5707288 + ch * (-0.2121144 + ch * (0.0742610 - 0.0187293 * ch));
    return -2 * polynomial * (r->k2 * c - r->k1 * s) / (ch * sqrt(1 + ch));
}

/* Approximate slopes at the samples with even or odd numbers, in loops that compilers vectorise. */
GW_TARGET_CLONES
static void sample_slopes(const circle_distance_terms *w, int odd, double slope[HALF])
{
    const gw_circle_distance r = *w->circle; /* copies, which `slope` cannot alias */
    const fourier flat = w->flat, round = w->round;
    const double *c = cosines[odd], *s = sines[odd], ll = r.length * r.length, a = w->radius;
    const double tiny = 1e-30 * round.k + 1e-300;
    double turn[HALF];
    for (int i = 0; i < HALF; i++)
        slope[i] = fourier_slope(&flat, c[i], s[i]);
    for (int i = 0; i < HALF && a > 0; i++) {
        double square = fourier_value(&round, c[i], s[i]);
        double rho = sqrt(square > tiny ? square : tiny);
        slope[i] += (1 - a / rho) * fourier_slope(&round, c[i], s[i]);
    }
    for (int i = 0; i < HALF && !w->has_wave; i++) {
        derivatives gap = {0, 0, 0};
        add_locus_distance(&r, c[i], s[i], &gap);
        slope[i] += gap.d1;
    }
    if (r.straight)
        for (int i = 0; i < HALF; i++)
            turn[i] = psi_at(2 * i + odd);
    else
        for (int i = 0; i < HALF; i++)
            turn[i] = approximate_rotation_slope(&r, c[i], s[i]);
    for (int i = 0; i < HALF; i++)
        slope[i] += ll * turn[i];
}

/* The minimum between two angles where the slope changes from - to +: Newton's method, with
 * bisection if a step leaves the bracket; `f` is half the value there. It ends early if that is
 * certain to stay above `least`. */
static double circle_minimum(const circle_distance_terms *w, double low, double high, double psi,
                             int steps, double least, double *f)
{
    low -= 0.01, high += 0.01; /* the slopes there are rough */
    for (int i = 0; i < steps; i++) {
        derivatives b = circle_derivatives(w, psi > GW_PI ? psi - 2 * GW_PI : psi);
        if (b.d1 > 0)
            high = psi;
        else
            low = psi;
        double next = b.d2 > 0 ? psi - b.d1 / b.d2 : HUGE_VAL;
        bool newton = next >= low && next <= high;
        if (!newton)
            next = 0.5 * (low + high);
        double step = next - psi;
        psi = next;
        *f = b.f + (newton ? 0.5 * b.d1 * step : 0);
        if (newton && b.f + 4 * b.d1 * step > least)
            break;                                /* certain to stay above `least` */
        if (fabs(step) < (newton ? 1e-6 : 1e-15)) /* the error left is its square */
            break;
    }
    return psi > GW_PI ? psi - 2 * GW_PI : psi;
}

static bool is_curved(gw_locus_kind kind)
{
    return kind == GW_LOCUS_CYLINDER || kind == GW_LOCUS_CIRCLE || kind == GW_LOCUS_ELLIPSE ||
           kind == GW_LOCUS_CURVE || kind == GW_LOCUS_SURFACE;
}

/* Half of f is at least this between two angles: theta >= |psi| where q1 is the nearest rotation of
 * the circle. */
static double rotation_lower_bound(const gw_circle_distance *r, double from, double to)
{
    double psi = fmin(fabs(from), fabs(to)) - 0.01;
    bool from_nearest = r->straight || (r->k2 == 0 && r->k0 == r->k1);
    return from_nearest && from * to > 0 && psi > 0 ? 0.5 * r->length * r->length * psi * psi : 0;
}

/* A minimum lies between two samples where the slope turns from - to +: bits of the former. */
static unsigned minima_after(double slope[2][HALF], int blocks)
{
    static const long long bits[2][HALF] = {
        {1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8, 1 << 9, 1 << 10,
         1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15},
        {1 << 0, 1 << 2, 1 << 4, 1 << 6, 1 << 8, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18,
         1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28, 1 << 30}};
    const int count = blocks * HALF;
    unsigned down = 0;
    for (int odd = 0; odd < blocks; odd++) {
        gw_mask falls = {0}, bit;
        for (int i = 0; i < HALF; i += GW_LANES) {
            gw_lanes here;
            memcpy(&here, slope[odd] + i, sizeof here);
            memcpy(&bit, bits[blocks - 1] + i, sizeof bit);
            falls |= (here < 0) & bit;
        }
        for (int lane = 0; lane < GW_LANES; lane++)
            down |= (unsigned)falls[lane] << odd;
    }
    return down & ~(down >> 1 | (down & 1) << (count - 1));
}

/* The bit of a set, not empty, that is nearest to the middle one. */
static int nearest_bit(unsigned set, int middle)
{
    unsigned above = set >> middle, below = set & ((1u << middle) - 1);
    int up = above ? __builtin_ctz(above) : HALF * 2;
    int down = below ? middle - 31 + __builtin_clz(below) : HALF * 2;
    return up <= down ? middle + up : middle - down;
}

/* The psi of the smallest f, from the minima between all samples or every second one, small angles
 * first; at most `steps` iterations for each. */
static double minimise_on_circle(const gw_circle_distance *r, bool fine, int steps)
{
    const circle_distance_terms w = circle_fourier(r);
    const int blocks = fine ? 2 : 1, stride = 2 / blocks, middle = blocks * HALF / 2 - 1;
    double slope[2][HALF], best = 0, best_f = HUGE_VAL;
    for (int odd = 0; odd < blocks; odd++)
        sample_slopes(&w, odd, slope[odd]);
    for (unsigned left = minima_after(slope, blocks); left != 0;) {
        int at = nearest_bit(left, middle), next = (at + 1) % (blocks * HALF);
        double from = psi_at(at * stride), to = psi_at(at * stride + stride), f = HUGE_VAL;
        left &= ~(1u << at);
        if (rotation_lower_bound(r, from, to) > best_f)
            continue;
        double low = slope[at % blocks][at / blocks], high = slope[next % blocks][next / blocks];
        double psi = circle_minimum(&w, from, to, from + (to - from) * low / (low - high), steps,
                                    best_f, &f);
        if (f < best_f)
            best = psi, best_f = f;
    }
    return best;
}

double gw_circle_distance_minimum(const gw_circle_distance *r)
{
    return minimise_on_circle(r, is_curved(r->locus->kind), 60);
}

/* The psi of the smallest distance to a few digits, as a start for other searches. */
static double circle_start(const gw_circle_distance *r)
{
    return minimise_on_circle(r, false, 1);
}

/* ---- sphere, any locus ---------------------------------------------------------------------- */

#define RINGS        5 /* polar angles of the grid: 30 .. 150 degrees from u0 */
#define SECTORS      8
#define GRID         (RINGS * SECTORS)
#define GRID_STARTS  10
#define CLOSE        0.998 /* cosine: 4 degrees */
#define APART        0.9   /* cosine: starts are at least 26 degrees from one another */
#define EDGE         0.03  /* sine: nearer to a plane of symmetry there are two starts */
#define SMALL_RADIUS 8 /* radius, in lengths, of spheres where those starts found every minimum */

static double sphere_value(const gw_sphere_distance *b, gw_vec3 u, double theta)
{
    gw_vec3 x = gw_mul_add(b->c, b->r, u), d = gw_sub(x, gw_locus_nearest(b->locus, x));
    return gw_norm2(d) + b->length * b->length * theta * theta;
}

/* u moved along the unit tangent t by `angle` (rad). */
static gw_vec3 moved_along(gw_vec3 u, gw_vec3 t, double angle)
{
    return gw_unit(gw_mul_add(gw_scale(cos(angle), u), sin(angle), t));
}

/*
 * Half gradient and half the second derivative of f on the sphere at u, in the tangents e_1, e_2:
 *   g = r d + L^2 theta theta',    theta' = -t, t the unit tangent towards u0
 *   H = r^2 N - (r d . u) I + L^2 (t t^T + theta cot theta (I - t t^T))
 * N being the derivative of X - Y by X.
 */
static void sphere_model(const gw_sphere_distance *b, gw_vec3 u, double theta, const gw_vec3 e[2],
                         double g[2], double h[2][2])
{
    const gw_locus *l = b->locus;
    gw_vec3 x = gw_mul_add(b->c, b->r, u), y = gw_locus_nearest(l, x), d = gw_sub(x, y);
    gw_mat3 nearest = gw_locus_nearest_derivative(l, y, d);
    gw_vec3 toward = gw_reject(b->u0, u);
    double sine = gw_norm(toward), ll = b->length * b->length;
    gw_vec3 t = sine > 0 ? gw_scale(1 / sine, toward) : e[0];
    double around = theta > 1e-4 ? theta / tan(theta) : 1;
    double diagonal = ll * around - b->r * gw_dot(d, u);
    for (int i = 0; i < 2; i++) {
        g[i] = b->r * gw_dot(d, e[i]) - ll * theta * gw_dot(t, e[i]);
        for (int j = 0; j < 2; j++) {
            double n = gw_dot(e[i], gw_mat3_mul(&nearest, e[j]));
            h[i][j] = b->r * b->r * n + (i == j ? diagonal : 0) +
                      ll * (1 - around) * gw_dot(t, e[i]) * gw_dot(t, e[j]);
        }
    }
}

/* The descent step -(H + raise I)^-1 g, with H made positive definite by its smaller eigenvalue. */
static void descent_step(double h[2][2], double raise, const double g[2], double step[2])
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

#define SETTLES 1e-6 /* rad: f does not tell such a step from rounding, but its gradient does */

/* Newton's method from u; ends early near `known` (may be NULL), a minimum with the value `least`,
 * unless f is below it. */
static gw_vec3 sphere_descend(const gw_sphere_distance *b, gw_vec3 u, const gw_vec3 *known,
                              double least, double *value)
{
    double theta = gw_angle_between(u, b->u0), f = sphere_value(b, u, theta), raise = 0;
    double steepest = HUGE_VAL; /* |g| before a step below SETTLES; that step's start: */
    gw_vec3 before = u;
    for (int i = 0; i < 60; i++) {
        double g[2], h[2][2], step[2];
        gw_vec3 e[2];
        e[0] = gw_any_normal(u);
        e[1] = gw_cross(u, e[0]);
        sphere_model(b, u, theta, (const gw_vec3 *)e, g, h);
        descent_step(h, raise, g, step);
        double angle = hypot(step[0], step[1]), slope = hypot(g[0], g[1]);
        if (!(slope < steepest))
            u = before;
        if (!(slope < steepest) || !(angle > 1e-16))
            break;
        gw_vec3 t = gw_scale(1 / angle, gw_add(gw_scale(step[0], e[0]), gw_scale(step[1], e[1])));
        gw_vec3 next = moved_along(u, t, fmin(angle, 0.7));
        double theta_next = gw_angle_between(next, b->u0);
        double f_next = sphere_value(b, next, theta_next);
        if (angle < SETTLES || f_next < f) {
            steepest = angle < SETTLES ? slope : HUGE_VAL;
            before = u;
            u = next, theta = theta_next, f = f_next;
            raise *= 0.1;
            if (known && f >= least && gw_dot(u, *known) > CLOSE)
                break;
        } else {
            raise = fmax(4 * raise, 0.1 * (fabs(h[0][0]) + fabs(h[1][1])));
        }
    }
    *value = f;
    return u;
}

#define GRID_STEP 0.5 /* rad: the largest distance of a direction from the grid and u0 */

/* The first samples of a grid about u0, and their f; that is infinite where f cannot come below
 * `best` within a step, |d| falling by at most r and theta by at most one per radian. */
static void sphere_grid(const gw_sphere_distance *b, int count, double best, gw_vec3 u[GRID],
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
        f[i] = sphere_value(b, u[i], (ring + 1) * GW_PI / 6);
        double gap = fmax(0, sqrt(fmax(0, f[i] - turn * turn)) - GRID_STEP * b->r);
        double least_turn = turn - GRID_STEP * b->length;
        if (gap * gap + least_turn * least_turn > best)
            f[i] = HUGE_VAL;
    }
}

/* ---- sphere, locus with an axis: a line or a cylinder --------------------------------------- */

/* A point on the sphere: f, half its gradient and half its second derivative along the tangents
 * towards u0 and across that. */
typedef struct axis_state {
    gw_vec3 u, toward, across;
    double f, g[2], h[2][2];
} axis_state;

/*
 * With q = the part of X - O across the axis k, rho = |q| and share = 1 - a / rho:
 *   g = r share q,   H = r^2 (share (I - k k^T) + a / rho^3 q q^T) - (r share q . u) I
 * and of the rotation -L^2 theta towards u0, L^2 along that and L^2 theta cot theta across.
 */
static axis_state axis_state_at(const gw_sphere_distance *b, gw_vec3 u)
{
    const gw_locus *l = b->locus;
    const double r = b->r, ll = b->length * b->length, a = l->kind == GW_LOCUS_LINE ? 0 : l->a;
    gw_vec3 q = gw_reject(gw_mul_add(gw_sub(b->c, l->origin), r, u), l->e3);
    gw_vec3 normal = gw_cross(u, b->u0);
    double rho = sqrt(fmax(gw_norm2(q), 1e-30 * r * r)), share = 1 - a / rho;
    double sine = gw_norm(normal), cosine = gw_dot(u, b->u0), theta = atan2(sine, cosine);
    double around = sine > 1e-6 ? theta * cosine / sine : cosine > 0 ? 1 : -1e6;
    axis_state s = {.u = u, .f = (rho - a) * (rho - a) + ll * theta * theta};
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
static axis_state axis_descend(const gw_sphere_distance *b, gw_vec3 u, const axis_state *known)
{
    axis_state at = axis_state_at(b, u);
    double raise = 0;
    for (int i = 0; i < 60; i++) {
        double step[2];
        descent_step(at.h, raise, at.g, step);
        double size = sqrt(step[0] * step[0] + step[1] * step[1]),
               cut = size > 0.7 ? 0.7 / size : 1;
        if (!(size > 1e-12))
            break;
        gw_vec3 go = gw_mul_add(gw_scale(step[0], at.toward), step[1], at.across);
        gw_vec3 there = gw_unit(gw_mul_add(at.u, cut, go));
        double scale = fabs(at.h[0][0]) + fabs(at.h[1][1]);
        if (size < 2e-6 && raise < 1e-5 * scale) {
            at.u = there; /* a full step: the error left is its square */
            break;
        }
        axis_state next = axis_state_at(b, there);
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

/* Descent from u0 along the great circle through it and t; given up near the known minimum. */
static axis_state along_circle(const gw_sphere_distance *b, gw_vec3 t, const axis_state *known)
{
    gw_circle_distance circle = {.c = b->c,
                                 .a = gw_scale(b->r, b->u0),
                                 .b = gw_scale(b->r, t),
                                 .straight = true,
                                 .length = b->length,
                                 .locus = b->locus};
    return axis_descend(b, moved_along(b->u0, t, circle_start(&circle)), known);
}

/* Mirrors u if u0 is on the other side of the plane through c normal to `n`; true if it did. */
static bool reflect_to_start_side(const gw_sphere_distance *b, gw_vec3 n, gw_vec3 *u)
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
static gw_vec3 minimum_about_axis(const gw_sphere_distance *b)
{
    const gw_locus *l = b->locus;
    gw_vec3 x = gw_mul_add(b->c, b->r, b->u0), d = gw_sub(x, gw_locus_nearest(l, x));
    gw_vec3 downhill = gw_reject(gw_neg(d), b->u0);
    gw_vec3 lateral = gw_cross(l->e3, gw_sub(b->c, l->origin));
    double slope = gw_norm(downhill), gap = gw_norm(d), off = gw_norm(lateral);
    gw_vec3 t = slope > 1e-12 * gap ? gw_scale(1 / slope, downhill) : gw_any_normal(b->u0);
    axis_state best = along_circle(b, t, NULL);
    bool edge = fabs(gw_dot(b->u0, lateral)) < EDGE * off || fabs(gw_dot(b->u0, l->e3)) < EDGE ||
                off < EDGE * b->r || slope < EDGE * gap;
    if (edge) {
        axis_state other = along_circle(b, gw_cross(b->u0, t), &best);
        best = other.f < best.f ? other : best;
    }
    bool mirrored = reflect_to_start_side(b, l->e3, &best.u);
    if (reflect_to_start_side(b, lateral, &best.u) || mirrored)
        best = axis_descend(b, best.u, NULL);
    return best.u;
}

/* ---- sphere: which search ------------------------------------------------------------------- */

gw_vec3 gw_sphere_distance_minimum(const gw_sphere_distance *b)
{
    gw_vec3 u[GRID], tried[GRID_STARTS];
    double f[GRID], best_f;
    bool axis = b->locus->kind == GW_LOCUS_LINE || b->locus->kind == GW_LOCUS_CYLINDER;
    if (axis && b->r <= SMALL_RADIUS * b->length)
        return minimum_about_axis(b);
    gw_vec3 best = sphere_descend(b, b->u0, NULL, 0, &best_f);
    /* theta <= sqrt(f) / L at every better pose; the grid is used up to that angle plus half a
     * step */
    int rings = (int)fmin(RINGS, floor(sqrt(best_f) / b->length / (GW_PI / 6) + 0.5));
    sphere_grid(b, rings * SECTORS, best_f, u, f);
    for (int k = 0; k < GRID_STARTS; k++) {
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
        gw_vec3 found = sphere_descend(b, u[least], &best, best_f, &value);
        if (value < best_f)
            best = found, best_f = value;
    }
    return best;
}
