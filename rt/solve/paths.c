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

/* Solves J d = b for the two right-hand sides in columns n and n + 1, by elimination with row
 * pivots; false where J is singular. Inlined for each n. */
static inline bool eliminate(const int n, gw_complex (*a)[GW_PATH_UNKNOWNS + 1], gw_complex (*d)[2])
{
    gw_complex *row[GW_PATH_UNKNOWNS];
    for (int i = 0; i < n; i++)
        row[i] = a[i];
    for (int k = 0; k < n; k++) {
        int p = k;
        double most = 0;
        for (int i = k; i < n; i++) {
            double here = size_of(row[i][k]);
            if (here > most)
                most = here, p = i;
        }
        if (!(most > 1e-300))
            return false;
        gw_complex *pivot = row[p];
        row[p] = row[k], row[k] = pivot;
        gw_complex inverse = 1 / pivot[k];
        for (int j = k + 1; j < n + 2; j++)
            pivot[j] *= inverse;
        for (int i = k + 1; i < n; i++) {
            gw_complex m = row[i][k];
            for (int j = k + 1; j < n + 2; j++)
                row[i][j] -= m * pivot[j];
        }
    }
    for (int k = n - 1; k >= 0; k--)
        for (int r = 0; r < 2; r++) {
            d[k][r] = row[k][n + r];
            for (int j = k + 1; j < n; j++)
                d[k][r] -= row[k][j] * d[j][r];
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
    gw_complex j[GW_PATH_UNKNOWNS][GW_PATH_UNKNOWNS];
    gw_complex a[GW_PATH_UNKNOWNS][GW_PATH_UNKNOWNS + 1], found[GW_PATH_UNKNOWNS][2];
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

/* The polynomial through up to three stations, the newest first, with their tangents (Newton's
 * divided differences, each station twice). */
static void predict(const gw_paths *p, const station *const *past, int count, double tau,
                    gw_complex *x)
{
    double z[6];
    for (int i = 0; i < 2 * count; i++)
        z[i] = past[i / 2]->tau;
    for (int k = 0; k < p->unknowns; k++) {
        gw_complex d[6];
        for (int i = 0; i < 2 * count; i++)
            d[i] = past[i / 2]->x[k];
        for (int order = 1; order < 2 * count; order++)
            for (int i = 2 * count - 1; i >= order; i--)
                d[i] = z[i] == z[i - order] ? past[i / 2]->v[k]
                                            : (d[i] - d[i - 1]) * (1 / (z[i] - z[i - order]));
        x[k] = d[2 * count - 1];
        for (int i = 2 * count - 2; i >= 0; i--)
            x[k] = d[i] + (tau - z[i]) * x[k];
    }
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
        predict(p, (const station *const *)past, known, last ? 1 : at + h, to->x);
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
