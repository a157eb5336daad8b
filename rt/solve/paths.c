/*
 * Roots of one polynomial system followed to those of another (numerical continuation; Sommese and
 * Wampler, "The numerical solution of systems of polynomials", 2005, chapter 2). Along
 * F(x, tau) = 0 a cubic through the last two points and their tangents predicts, Newton's method
 * corrects; the predictor's error, of fourth order, sets the step. Any thread, RT safe.
 */
#include "rt/solve/roots.h"

#define MOST_STEPS 1000
#define PREDICTED  2e-3 /* error that a prediction may have */
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
    return fmax(fabs(creal(z)), fabs(cimag(z)));
}

/* Solves J d = b for two right-hand sides in columns n and n + 1, by elimination with row pivots;
 * false where J is singular. */
static bool eliminate(int n, gw_complex (*a)[GW_PATH_UNKNOWNS + 1])
{
    for (int k = 0; k < n; k++) {
        int p = k;
        double most = size_of(a[k][k]);
        for (int i = k + 1; i < n; i++)
            if (size_of(a[i][k]) > most)
                most = size_of(a[i][k]), p = i;
        if (!(most > 1e-300))
            return false;
        for (int j = k; j < n + 2 && p != k; j++) {
            gw_complex swapped = a[p][j];
            a[p][j] = a[k][j], a[k][j] = swapped;
        }
        gw_complex inverse = 1 / a[k][k];
        for (int i = k + 1; i < n; i++) {
            gw_complex m = a[i][k] * inverse;
            for (int j = k + 1; j < n + 2; j++)
                a[i][j] -= m * a[k][j];
        }
        a[k][k] = inverse;
    }
    for (int k = n - 1; k >= 0; k--)
        for (int r = n; r < n + 2; r++) {
            for (int j = k + 1; j < n; j++)
                a[k][r] -= a[k][j] * a[j][r];
            a[k][r] *= a[k][k];
        }
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
static double newton(const gw_paths *p, int fixed, double tau, gw_complex *x, gw_complex *v)
{
    gw_complex f[GW_PATH_UNKNOWNS], rate[GW_PATH_UNKNOWNS], d[GW_PATH_UNKNOWNS];
    gw_complex j[GW_PATH_UNKNOWNS][GW_PATH_UNKNOWNS], a[GW_PATH_UNKNOWNS][GW_PATH_UNKNOWNS + 1];
    int n = p->unknowns - 1;
    p->evaluate(p->system, x, tau, f, j, rate);
    *p->work -= p->cost;
    for (int r = 0; r < n; r++) {
        for (int k = 0, at = 0; k < p->unknowns; k++)
            if (k != fixed)
                a[r][at++] = j[r][k];
        a[r][n] = -f[r];
        a[r][n + 1] = -rate[r];
    }
    if (!eliminate(n, a))
        return HUGE_VAL;
    for (int k = 0, at = 0; k < p->unknowns; k++) {
        d[k] = k == fixed ? 0 : a[at][n];
        v[k] = k == fixed ? 0 : a[at][n + 1];
        at += k != fixed;
    }
    double length = norm(p, x, d);
    for (int k = 0; k < p->unknowns; k++)
        x[k] += d[k];
    return isnan(length) ? HUGE_VAL : length;
}

/* Cubic through both stations, beyond the second; a straight line where there is but one. */
static void predict(const gw_paths *p, const station *from, const station *at, double step,
                    gw_complex *x)
{
    double h = at->tau - from->tau;
    if (h <= 0) {
        for (int i = 0; i < p->unknowns; i++)
            x[i] = at->x[i] + step * at->v[i];
        return;
    }
    double z = 1 + step / h, zz = z * z, zzz = zz * z;
    double a = 2 * zzz - 3 * zz + 1, b = (zzz - 2 * zz + z) * h, c = 1 - a, d = (zzz - zz) * h;
    for (int i = 0; i < p->unknowns; i++)
        x[i] = a * from->x[i] + b * from->v[i] + c * at->x[i] + d * at->v[i];
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
    station from, at, to;
    int fixed = normalise(p, x);
    double step = 0.02, tolerance = PREDICTED / care;
    for (int i = 0; i < p->unknowns; i++)
        at.x[i] = x[i];
    at.tau = from.tau = 0;
    newton(p, fixed, 0, at.x, at.v);
    for (int k = 0; k < MOST_STEPS && at.tau < 1; k++) {
        if (*p->work <= 0)
            return GW_END_LOST;
        bool last = step >= 1 - at.tau;
        double h = last ? 1 - at.tau : step;
        predict(p, &from, &at, h, to.x);
        double error = correct(p, fixed, last ? 1 : at.tau + h, 4 * tolerance, &to);
        if (error > 4 * tolerance) {
            step = 0.4 * h;
            if (step < (at.tau > 1 - LAST_PART ? LEAST_STEP : 0.1 * LEAST_STEP))
                break;
            continue;
        }
        from = at, at = to;
        step = h * fmin(2, fmax(0.5, 0.9 * sqrt(sqrt(tolerance / (error + 1e-12)))));
        if (leaves(p, &at))
            break;
        if (outgrown(at.x)) {
            fixed = normalise(p, at.x);
            from.tau = at.tau; /* the tangents are of another patch */
            newton(p, fixed, at.tau, at.x, at.v);
        }
    }
    for (int i = 0; i < p->unknowns; i++)
        x[i] = at.x[i];
    if (at.tau >= 1)
        return finish(p, fixed, x);
    return at.tau > 1 - LAST_PART ? not_simple(p, x) : GW_END_LOST;
}
