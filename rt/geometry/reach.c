/*
 * Where the nearest pose's point is: searches over a ring and over a ball. Any thread, RT safe.
 *
 * With d = X - Y, Y the locus's point nearest to X, the gradient of |d|^2 is 2 d whatever the
 * locus. On a ring |d|^2 is made of waves of the angle, whose slope at samples brackets every
 * minimum; Newton's method finds it there. On the ball, Newton's method starts at the best of a
 * grid, at samples well apart.
 */
#include "rt/geometry/locus.h"

#define SAMPLES 32 /* of a ring: psi_i = (i + 1/2) 2 pi / SAMPLES - pi, neither 0 nor pi */
#define HALF    16 /* those with even i; all that there are where the locus is flat or a sphere */

/* Of psi_i: those with even i, then those with odd i. */
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
    return (i + 0.5) * (2 * GW_PI / SAMPLES) - GW_PI;
}

/* k + c cos psi + s sin psi + c2 cos 2 psi + s2 sin 2 psi */
typedef struct wave {
    double k, c, s, c2, s2;
} wave;

/*
 * |X - Y|^2 = T + (sqrt S - radius)^2 on a ring, T and S waves; S is unused where the radius is 0.
 * An ellipse has no such form.
 */
typedef struct ring_wave {
    const gw_circle_distance *ring;
    wave flat, round;
    double radius;
    bool has_wave;
} ring_wave;

/* Adds weight (k + c cos psi + s sin psi)^2. */
static void add_square(wave *to, double weight, double k, double c, double s)
{
    to->k += weight * (k * k + 0.5 * (c * c + s * s));
    to->c += weight * 2 * k * c;
    to->s += weight * 2 * k * s;
    to->c2 += weight * 0.5 * (c * c - s * s);
    to->s2 += weight * c * s;
}

/* Adds weight (n . (X - O))^2. */
static void add_along(wave *to, double weight, const gw_circle_distance *r, gw_vec3 off, gw_vec3 n)
{
    add_square(to, weight, gw_dot(off, n), gw_dot(r->a, n), gw_dot(r->b, n));
}

/* |X - O|^2 */
static wave whole_square(const gw_circle_distance *r, gw_vec3 off)
{
    double aa = gw_norm2(r->a), bb = gw_norm2(r->b);
    return (wave){gw_norm2(off) + 0.5 * (aa + bb), 2 * gw_dot(off, r->a), 2 * gw_dot(off, r->b),
                  0.5 * (aa - bb), gw_dot(r->a, r->b)};
}

static ring_wave waves_of(const gw_circle_distance *r)
{
    const gw_locus *l = r->locus;
    ring_wave w = {.ring = r, .has_wave = l->kind != GW_LOCUS_ELLIPSE};
    gw_vec3 off = gw_sub(r->c, l->origin);
    wave all = whole_square(r, off), across = all;
    add_along(&across, -1, r, off, l->e3);
    switch (l->kind) {
    case GW_LOCUS_POINT:
        w.flat = all;
        break;
    case GW_LOCUS_LINE:
        w.flat = across;
        break;
    case GW_LOCUS_PLANE:
        add_along(&w.flat, 1, r, off, l->e3);
        break;
    case GW_LOCUS_SPHERE:
        w.round = all, w.radius = l->a;
        break;
    case GW_LOCUS_CIRCLE:
        add_along(&w.flat, 1, r, off, l->e3);
        w.round = across, w.radius = l->a;
        break;
    case GW_LOCUS_CYLINDER:
        w.round = across, w.radius = l->a;
        break;
    default:
        break;
    }
    return w;
}

/* Half of f's parts at an angle: value, slope and curvature. */
typedef struct local {
    double f, d1, d2;
} local;

static void add_wave(const wave *w, double c, double s, local *to)
{
    double cc = c * c - s * s, ss = 2 * c * s;
    to->f += 0.5 * (w->k + w->c * c + w->s * s + w->c2 * cc + w->s2 * ss);
    to->d1 += 0.5 * (w->s * c - w->c * s) + w->s2 * cc - w->c2 * ss;
    to->d2 -= 0.5 * (w->c * c + w->s * s) + 2 * (w->c2 * cc + w->s2 * ss);
}

/* (rho - a)^2 / 2, rho^2 = S:  (1 - a / rho) S'/2,  (1 - a / rho) S''/2 + a S'^2 / 4 rho^3 */
static void add_round(const ring_wave *w, double c, double s, local *to)
{
    local half = {0, 0, 0};
    add_wave(&w->round, c, s, &half);
    double rho = sqrt(fmax(2 * half.f, 1e-30 * w->round.k)), share = 1 - w->radius / rho;
    to->f += 0.5 * (rho - w->radius) * (rho - w->radius);
    to->d1 += share * half.d1;
    to->d2 += share * half.d2 + w->radius * half.d1 * half.d1 / (rho * rho * rho);
}

/* Of any locus: d . d / 2,  d . X',  |X'|^2 - what Y follows of it + d . X''. */
static void add_gap(const gw_circle_distance *r, double c, double s, local *to)
{
    gw_vec3 arm = gw_add(gw_scale(c, r->a), gw_scale(s, r->b)), way[3];
    gw_vec3 go = gw_sub(gw_scale(c, r->b), gw_scale(s, r->a));
    gw_vec3 x = gw_add(r->c, arm), y = gw_locus_nearest(r->locus, x), d = gw_sub(x, y);
    int tangents = gw_locus_tangent(r->locus, y, way);
    to->f += 0.5 * gw_norm2(d);
    to->d1 += gw_dot(d, go);
    to->d2 += gw_norm2(go) - gw_dot(d, arm);
    for (int k = 0; k < tangents; k++) {
        double along = gw_dot(go, way[k]);
        to->d2 -=
            (k == tangents - 1 ? gw_locus_nearest_derivative(r->locus, y, d) : 1) * along * along;
    }
}

/* theta^2 / 2 and its derivatives, times L^2. At theta = pi the slope has two values: that of
 * rising psi. */
static void add_turn(const gw_circle_distance *r, double psi, double c, double s, local *to)
{
    double ll = r->length * r->length;
    if (r->straight) {
        to->f += 0.5 * ll * psi * psi;
        to->d1 += ll * psi;
        to->d2 += ll;
        return;
    }
    double cc = fmin(1, fmax(0, r->k0 + r->k1 * c + r->k2 * s)), ch = sqrt(cc), sh = sqrt(1 - cc);
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

static local ring_local(const ring_wave *w, double psi)
{
    local b = {0, 0, 0};
    double c = cos(psi), s = sin(psi);
    if (w->has_wave)
        add_wave(&w->flat, c, s, &b);
    else
        add_gap(w->ring, c, s, &b);
    if (w->radius > 0)
        add_round(w, c, s, &b);
    add_turn(w->ring, psi, c, s, &b);
    return b;
}

static double wave_at(const wave *w, double c, double s)
{
    return w->k + w->c * c + w->s * s + w->c2 * (c * c - s * s) + w->s2 * 2 * c * s;
}

/* Half the slope. */
static double wave_slope(const wave *w, double c, double s)
{
    return 0.5 * (w->s * c - w->c * s) + w->s2 * (c * c - s * s) - w->c2 * 2 * c * s;
}

/* theta theta' at a sample, to some 1e-4: acos by a polynomial (Abramowitz and Stegun 4.4.45),
 * theta = 2 sqrt(1 - ch) polynomial,  sh = sqrt(1 - ch) sqrt(1 + ch). */
static double rough_turn(const gw_circle_distance *r, double c, double s)
{
    double cc = r->k0 + r->k1 * c + r->k2 * s;
    cc = cc > 1e-12 ? cc : 1e-12;
    double ch = sqrt(cc < 1 ? cc : 1);
    double polynomial = 1.5707288 + ch * (-0.2121144 + ch * (0.0742610 - 0.0187293 * ch));
    return -2 * polynomial * (r->k2 * c - r->k1 * s) / (ch * sqrt(1 + ch));
}

/* Slopes at the samples with even or odd numbers, nearly. Loops that a compiler makes vectors of.
 */
static void sample_slopes(const ring_wave *w, int odd, double slope[HALF])
{
    const gw_circle_distance r = *w->ring; /* copies: the slopes are none of theirs */
    const wave flat = w->flat, round = w->round;
    const double *c = cosines[odd], *s = sines[odd], ll = r.length * r.length, a = w->radius;
    const double tiny = 1e-30 * round.k + 1e-300;
    double turn[HALF];
    for (int i = 0; i < HALF; i++)
        slope[i] = wave_slope(&flat, c[i], s[i]);
    for (int i = 0; i < HALF && a > 0; i++) {
        double square = wave_at(&round, c[i], s[i]);
        double rho = sqrt(square > tiny ? square : tiny);
        slope[i] += (1 - a / rho) * wave_slope(&round, c[i], s[i]);
    }
    for (int i = 0; i < HALF && !w->has_wave; i++) {
        local gap = {0, 0, 0};
        add_gap(&r, c[i], s[i], &gap);
        slope[i] += gap.d1;
    }
    if (r.straight)
        for (int i = 0; i < HALF; i++)
            turn[i] = psi_at(2 * i + odd);
    else
        for (int i = 0; i < HALF; i++)
            turn[i] = rough_turn(&r, c[i], s[i]);
    for (int i = 0; i < HALF; i++)
        slope[i] += ll * turn[i];
}

/* The minimum between two angles where the slope turns from - to +: Newton's method, halving where
 * it leaves them; `f` is half the value there. Given up where that is sure to stay above `least`.
 */
static double ring_minimum(const ring_wave *w, double low, double high, double psi, int steps,
                           double least, double *f)
{
    low -= 0.01, high += 0.01; /* the slopes there are rough */
    for (int i = 0; i < steps; i++) {
        local b = ring_local(w, psi > GW_PI ? psi - 2 * GW_PI : psi);
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
            break;                                /* nowhere near the one to beat */
        if (fabs(step) < (newton ? 1e-6 : 1e-15)) /* what is left is its square */
            break;
    }
    return psi > GW_PI ? psi - 2 * GW_PI : psi;
}

static bool curved(gw_locus_kind kind)
{
    return kind == GW_LOCUS_CYLINDER || kind == GW_LOCUS_CIRCLE || kind == GW_LOCUS_ELLIPSE;
}

/* Half of f is at least this between two angles: theta >= |psi| where q1 is the nearest rotation of
 * the ring. */
static double least_turn(const gw_circle_distance *r, double from, double to)
{
    double psi = fmin(fabs(from), fabs(to)) - 0.01;
    bool from_nearest = r->straight || (r->k2 == 0 && r->k0 == r->k1);
    return from_nearest && from * to > 0 && psi > 0 ? 0.5 * r->length * r->length * psi * psi : 0;
}

/* A minimum lies between two samples where the slope turns from - to +: bits of the former. */
static unsigned minima_after(double slope[2][HALF], int blocks)
{
    const int count = blocks * HALF;
    unsigned down = 0;
    for (int odd = 0; odd < blocks; odd++)
        for (int i = 0; i < HALF; i++)
            down |= (unsigned)(slope[odd][i] < 0) << (i * blocks + odd);
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

/* Among all samples or every other one, the small angles first; each minimum by so many steps. */
static double search_ring(const gw_circle_distance *r, bool fine, int steps)
{
    const ring_wave w = waves_of(r);
    const int blocks = fine ? 2 : 1, stride = 2 / blocks, middle = blocks * HALF / 2 - 1;
    double slope[2][HALF], best = 0, best_f = HUGE_VAL;
    for (int odd = 0; odd < blocks; odd++)
        sample_slopes(&w, odd, slope[odd]);
    for (unsigned left = minima_after(slope, blocks); left != 0;) {
        int at = nearest_bit(left, middle), next = (at + 1) % (blocks * HALF);
        double from = psi_at(at * stride), to = psi_at(at * stride + stride), f = HUGE_VAL;
        left &= ~(1u << at);
        if (least_turn(r, from, to) > best_f)
            continue;
        double low = slope[at % blocks][at / blocks], high = slope[next % blocks][next / blocks];
        double psi =
            ring_minimum(&w, from, to, from + (to - from) * low / (low - high), steps, best_f, &f);
        if (f < best_f)
            best = psi, best_f = f;
    }
    return best;
}

double gw_circle_distance_minimum(const gw_circle_distance *r)
{
    return search_ring(r, curved(r->locus->kind), 60);
}

double gw_circle_distance_start(const gw_circle_distance *r)
{
    return search_ring(r, false, 1);
}
