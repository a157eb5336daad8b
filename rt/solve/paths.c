/*
 * Roots of one polynomial system followed to those of another (numerical continuation; Sommese and
 * Wampler, "The numerical solution of systems of polynomials", 2005, chapter 2). Along
 * F(x, tau) = 0 a polynomial through the last three points and their tangents predicts, Newton's
 * method corrects; the predictor's error, of sixth order, sets the step. Any thread, RT safe.
 */
#include "rt/solve/roots.h"

#define MOST_STEPS 1000
#define PREDICTED  1e-3 /* error that a prediction may have */
#define LAST_PART  1e-3
#define NEAR_ZERO  1e-7  /* of N over e . e: with less in the end, a path goes to infinity */
#define LEAST_STEP 1e-11 /* in the last part: what goes on like this ends in no simple root */

/* A point of the path with its tangent, x[fixed] = 1. */
typedef struct station {
    double tau;
    gw_complex x[GW_PATH_UNKNOWNS], v[GW_PATH_UNKNOWNS];
} station;

/* Magnitude without a root: within a factor of sqrt(2) of the modulus. */
static double size_of(gw_complex z)
{
    double re = fabs(creal(z)), im = fabs(cimag(z));
    return re > im ? re : im;
}

/* A column through all blocks. */
typedef gw_column matrix[GW_PATH_UNKNOWNS + 2][GW_BLOCKS];

GW_LANE_INLINE gw_complex entry(matrix a, int row, int column)
{
    return gw_lane(&a[column][row / GW_LANES], row % GW_LANES);
}

/* The row, of those not yet used, in which the column is largest; -1 where it is zero. */
GW_LANE_INLINE int pivot_of(matrix a, int n, int column, unsigned used)
{
    int p = -1;
    double most = 1e-300;
    for (int i = 0; i < n; i++) {
        double here = size_of(entry(a, i, column));
        if (!(used >> i & 1) && here > most)
            most = here, p = i;
    }
    return p;
}

/* Solves J d = b for two right-hand sides, which are columns n and n + 1 of a, by elimination with
 * row pivots, below and above at once; false where J is singular. */
GW_LANE_INLINE bool eliminate(int n, matrix a, gw_complex (*d)[2])
{
    const int blocks = (n + GW_LANES - 1) / GW_LANES;
    int row[GW_PATH_UNKNOWNS];
    unsigned used = 0;
    for (int k = 0; k < n; k++) {
        int p = row[k] = pivot_of(a, n, k, used);
        if (p < 0)
            return false;
        used |= 1u << p;
        gw_complex inverse = 1 / entry(a, p, k);
        gw_column m[GW_BLOCKS] = {{{0}, {0}}};
        for (int b = 0; b < blocks; b++)
            gw_add_product(&m[b], &a[k][b], inverse);
        gw_lane_set(&m[p / GW_LANES], p % GW_LANES, 0);
        for (int j = k + 1; j < n + 2; j++) {
            gw_complex own = entry(a, p, j);
            for (int b = 0; b < blocks; b++)
                gw_take_product(&a[j][b], &m[b], own);
            gw_lane_set(&a[j][p / GW_LANES], p % GW_LANES, own * inverse);
        }
    }
    for (int k = 0; k < n; k++)
        for (int r = 0; r < 2; r++)
            d[k][r] = entry(a, row[k], n + r);
    return true;
}

/* Largest part of a step; the quaternion's largest part is near one. */
static double norm(const gw_paths *p, const gw_complex *x, const gw_complex *d)
{
    double most = 0, large = 1, moved = 0;
    for (int i = 0; i < 4; i++)
        most = fmax(most, size_of(d[i]));
    for (int i = 4; i < p->unknowns; i++) {
        large = fmax(large, size_of(x[i]));
        moved = fmax(moved, size_of(d[i]));
    }
    return fmax(most, moved / large);
}

/* One of Newton's steps, with x[fixed] held; the tangent comes with it. Returns its length. */
GW_WIDE
static double newton(const gw_paths *p, int fixed, double tau, gw_complex *x, gw_complex *v)
{
    matrix a;
    gw_linear now[GW_BLOCKS];
    gw_complex d[GW_PATH_UNKNOWNS], found[GW_PATH_UNKNOWNS][2];
    int n = p->unknowns - 1;
    p->evaluate(p->system, x, tau, now);
    *p->work -= p->cost;
    for (int b = 0; b < GW_BLOCKS; b++) {
        for (int k = 0; k < n; k++)
            a[k][b] = now[b].j[k + (k >= fixed)];
        a[n][b] = (gw_column){-now[b].f.re, -now[b].f.im};
        a[n + 1][b] = (gw_column){-now[b].rate.re, -now[b].rate.im};
    }
    if (!(n == 7 ? eliminate(7, a, found) : eliminate(3, a, found)))
        return HUGE_VAL;
    for (int k = 0, at = 0; k < p->unknowns; k++) {
        d[k] = k == fixed ? 0 : found[at][0];
        v[k] = k == fixed ? 0 : found[at][1];
        at += k != fixed;
    }
    double length = norm(p, x, d);
    for (int k = 0; k < p->unknowns; k++)
        x[k] += d[k];
    return isnan(length) ? HUGE_VAL : length;
}

/* The polynomial through up to three stations with their tangents, by Hermite's basis:
 *   L_i = prod (tau - tau_k) / (tau_i - tau_k),  k != i,   L_i' = sum 1 / (tau_i - tau_k)
 *   x = sum (1 - 2 (tau - tau_i) L_i') L_i^2 x_i + (tau - tau_i) L_i^2 v_i */
static void predict(const gw_paths *p, int fixed, const station *const *past, int count, double tau,
                    gw_complex *x)
{
    for (int n = 0; n < p->unknowns; n++)
        x[n] = 0;
    for (int i = 0; i < count; i++) {
        double l = 1, slope = 0, on = tau - past[i]->tau;
        for (int k = 0; k < count; k++) {
            double between = past[i]->tau - past[k]->tau;
            if (k != i)
                l *= (tau - past[k]->tau) / between, slope += 1 / between;
        }
        double by_x = (1 - 2 * on * slope) * l * l, by_v = on * l * l;
        for (int n = 0; n < p->unknowns; n++)
            x[n] += by_x * past[i]->x[n] + by_v * past[i]->v[n];
    }
    x[fixed] = 1; /* nothing corrects it, and extrapolation would swell its round-off */
}

/* Scales a point so that the quaternion's largest entry is one; returns which. */
static int normalise(const gw_paths *p, gw_complex *x)
{
    int most = 0;
    for (int i = 1; i < 4; i++)
        if (size_of(x[i]) > size_of(x[most]))
            most = i;
    gw_complex scale = 1 / x[most];
    for (int i = 0; i < p->unknowns; i++)
        x[i] *= scale;
    x[most] = 1;
    return most;
}

/* N over e . e, and less where the quaternion is small beside the rest. */
static double turning(const gw_paths *p, const gw_complex *x)
{
    gw_complex n = 0;
    double size = 0, rest = 0;
    for (int i = 0; i < 4; i++) {
        n += x[i] * x[i];
        size += creal(x[i] * conj(x[i]));
    }
    for (int i = 4; i < p->unknowns; i++)
        rest += creal(x[i] * conj(x[i]));
    return size_of(n) / (size + 1e-6 * rest);
}

/* Paths pass near infinity on their way, too: only the last part tells. */
static bool leaves(const gw_paths *p, const station *at)
{
    return at->tau > 1 - LAST_PART && turning(p, at->x) < NEAR_ZERO;
}

static bool outgrown(const gw_complex *x)
{
    for (int i = 0; i < 4; i++)
        if (size_of(x[i]) > 2)
            return true;
    return false;
}

/* What there is where Newton's method does not converge as it does at simple roots. */
static gw_path_end not_simple(const gw_paths *p, const gw_complex *x)
{
    return turning(p, x) < 5e-3 ? GW_END_FAR : GW_END_SINGULAR;
}

/* At tau = 1: down to round-off. x stays where it was if there is no simple root. */
static gw_path_end finish(const gw_paths *p, int fixed, gw_complex *x)
{
    gw_complex v[GW_PATH_UNKNOWNS], y[GW_PATH_UNKNOWNS];
    double length = HUGE_VAL, before;
    for (int i = 0; i < p->unknowns; i++)
        y[i] = x[i];
    for (int k = 0; k < 6; k++) {
        before = length;
        length = newton(p, fixed, 1, y, v);
        if (length < 1e-12 || (length < 1e-7 && length < 1e-3 * before)) {
            for (int i = 0; i < p->unknowns; i++)
                x[i] = y[i];
            return turning(p, x) < NEAR_ZERO ? GW_END_FAR : GW_END_REGULAR;
        }
        if (length > 0.1)
            break;
    }
    return not_simple(p, x);
}

/* Corrects a prediction; returns the first step's length, or infinity where it does not
 * converge. */
static double correct(const gw_paths *p, int fixed, double tau, double allowed, station *to)
{
    double first = newton(p, fixed, tau, to->x, to->v);
    if (first > allowed)
        return HUGE_VAL;
    double second = newton(p, fixed, tau, to->x, to->v);
    if (second > 1e-5 || (second > 0.1 * first && second > 3e-6)) /* round-off at infinity */
        return HUGE_VAL;
    to->tau = tau;
    return first;
}

gw_path_end gw_finish_path(const gw_paths *p, gw_complex *x)
{
    return finish(p, normalise(p, x), x);
}

gw_path_end gw_follow_path(const gw_paths *p, double care, gw_complex *x)
{
    station stations[4], *past[4] = {&stations[0], &stations[1], &stations[2], &stations[3]};
    int known = 1, fixed = normalise(p, x);
    double step = 0.02, tolerance = PREDICTED / care;
    for (int i = 0; i < p->unknowns; i++)
        past[0]->x[i] = x[i];
    past[0]->tau = 0;
    newton(p, fixed, 0, past[0]->x, past[0]->v);
    for (int k = 0; k < MOST_STEPS && past[0]->tau < 1; k++) {
        if (*p->work <= 0)
            return GW_END_LOST;
        double at = past[0]->tau;
        bool last = step >= 1 - at;
        double h = last ? 1 - at : step;
        station *to = past[3];
        predict(p, fixed, (const station *const *)past, known, last ? 1 : at + h, to->x);
        double error = correct(p, fixed, last ? 1 : at + h, 4 * tolerance, to);
        if (error > 4 * tolerance) {
            step = 0.4 * h;
            if (step < (at > 1 - LAST_PART ? LEAST_STEP : 0.1 * LEAST_STEP))
                break;
            continue;
        }
        past[3] = past[2], past[2] = past[1], past[1] = past[0], past[0] = to;
        known = known < 3 ? known + 1 : 3;
        step = h * fmin(2, fmax(0.5, 0.9 * pow(tolerance / (error + 1e-12), 0.5 / known)));
        if (leaves(p, to))
            break;
        if (outgrown(to->x)) {
            fixed = normalise(p, to->x);
            known = 1; /* the tangents are of another patch */
            newton(p, fixed, to->tau, to->x, to->v);
        }
    }
    for (int i = 0; i < p->unknowns; i++)
        x[i] = past[0]->x[i];
    if (past[0]->tau >= 1)
        return finish(p, fixed, x);
    return past[0]->tau > 1 - LAST_PART ? not_simple(p, x) : GW_END_LOST;
}
