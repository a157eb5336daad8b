/*
 * The penalties' spring and damper. On the loop's thread, RT safe.
 */
#include "rt/haptics/penalty.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/spatial.h"

#define TANK_MAX 0.01 /* J: what a spring of 200 N/m holds at 1 cm */

static double norm6(const double a[6])
{
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

static void multiply_transposed(const double m[6][6], const double a[6], double out[6])
{
    for (int i = 0; i < 6; i++) {
        out[i] = 0;
        for (int j = 0; j < 6; j++)
            out[i] += m[j][i] * a[j];
    }
}

static void twist_to_metres(const gw_twist *a, double length, double out[6])
{
    const double x[6] = {a->v.x / length, a->v.y / length, a->v.z / length, a->w.x, a->w.y, a->w.z};
    memcpy(out, x, sizeof x);
}

static gw_wrench wrench_from_metres(const double f[6], double length)
{
    return (gw_wrench){{f[0] / length, f[1] / length, f[2] / length}, {f[3], f[4], f[5]}};
}

/* sum of g(w_i) n_i n_i^T with g the root or the weight itself. */
static void weighted_projector(const gw_resisted_directions *directions, bool root,
                               double out[6][6])
{
    memset(out, 0, 36 * sizeof(double));
    for (int k = 0; k < directions->count; k++) {
        const double *n = directions->direction[k];
        double w = root ? sqrt(directions->weight[k]) : directions->weight[k];
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                out[i][j] += w * n[i] * n[j];
    }
}

/* L of L L^T = a, in the lower triangle; `a` is positive definite by construction. */
static void factor_cholesky(double a[6][6])
{
    for (int j = 0; j < 6; j++) {
        for (int k = 0; k < j; k++)
            a[j][j] -= a[j][k] * a[j][k];
        a[j][j] = sqrt(a[j][j]);
        for (int i = j + 1; i < 6; i++) {
            for (int k = 0; k < j; k++)
                a[i][j] -= a[i][k] * a[j][k];
            a[i][j] /= a[j][j];
        }
    }
}

/*
 * X = C^-1 W with C C^T = W M_s^-1 W + (I - P)/m. For P = I that is a stiffness M_s, for a single
 * direction n n^T / (n^T M_s^-1 n), and it is continuous in between.
 */
static void factor_of(const gw_penalty_def *def, const gw_resisted_directions *directions,
                      double x[6][6])
{
    double w[6][6], c[6][6], linear = def->mass * directions->length * directions->length;
    double mean = 0.5 * (linear + def->inertia);
    weighted_projector(directions, true, w);
    weighted_projector(directions, false, c);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            c[i][j] = ((i == j) - c[i][j]) / mean;
            for (int k = 0; k < 6; k++)
                c[i][j] += w[i][k] * w[k][j] / (k < 3 ? linear : def->inertia);
        }
    factor_cholesky(c);
    for (int j = 0; j < 6; j++) /* columns of W, forward substitution */
        for (int i = 0; i < 6; i++) {
            double sum = w[i][j];
            for (int k = 0; k < i; k++)
                sum -= c[i][k] * x[k][j];
            x[i][j] = sum / c[i][i];
        }
}

/* 1/2 k |P e|^2 in the device's metric: the energy of the paper's form, if it were a spring's. */
static double printed_energy(const gw_penalty_def *def, const double p[6][6], const double e[6],
                             double length)
{
    double along[6], sum = 0;
    gw_matrix6_apply(p, e, along);
    for (int i = 0; i < 6; i++)
        sum += (i < 3 ? def->mass * length * length : def->inertia) * along[i] * along[i];
    return 0.5 * def->stiffness * sum;
}

/* M_d sum (k n n^T e + b n n^T e') as the paper prints it: not conservative unless M_d is a
 * multiple of the identity. `factor` holds P. */
static gw_wrench penalty_as_published(gw_penalty *p, const gw_penalty_def *def,
                                      const gw_resisted_directions *directions, const double e[6],
                                      const double rate[6], double *weights)
{
    double now[6][6], both[6], f[6], length = directions->length;
    weighted_projector(directions, false, now);
    double before = printed_energy(def, (const double(*)[6])p->factor, e, length);
    p->stored = printed_energy(def, (const double(*)[6])now, e, length);
    *weights = p->started ? p->stored - before : 0;
    memcpy(p->factor, now, sizeof now);
    for (int i = 0; i < 6; i++)
        both[i] = def->stiffness * e[i] + def->damping * rate[i];
    gw_matrix6_apply((const double(*)[6])now, both, f);
    for (int i = 0; i < 6; i++)
        f[i] *= i < 3 ? def->mass * length * length : def->inertia;
    p->started = true;
    return wrench_from_metres(f, length);
}

/* k X^T s + b X^T X e' */
static void force_of(const gw_penalty *p, const gw_penalty_def *def, const double rate[6],
                     double out[6])
{
    double y[6];
    gw_matrix6_apply((const double(*)[6])p->factor, rate, y);
    for (int i = 0; i < 6; i++)
        y[i] = def->stiffness * p->stretch[i] + def->damping * y[i];
    multiply_transposed((const double(*)[6])p->factor, y, out);
}

/*
 * X goes a part `alpha` of the way d to its target. With y = k s + b X e' the force changes by
 *   alpha (d^T y + b X^T d e') + alpha^2 b d^T d e',
 * at most alpha times the sum of the three lengths, which `most` bounds. The spring's energy stays.
 */
static void follow_target(gw_penalty *p, const gw_penalty_def *def, const double target[6][6],
                          const double rate[6], double most)
{
    double d[6][6], y[6], de[6], a[6], b[6], c[6];
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            d[i][j] = target[i][j] - p->factor[i][j];
    gw_matrix6_apply((const double(*)[6])p->factor, rate, y);
    gw_matrix6_apply((const double(*)[6])d, rate, de);
    for (int i = 0; i < 6; i++)
        y[i] = def->stiffness * p->stretch[i] + def->damping * y[i];
    multiply_transposed((const double(*)[6])d, y, a);
    multiply_transposed((const double(*)[6])p->factor, de, b);
    multiply_transposed((const double(*)[6])d, de, c);
    double change = norm6(a) + def->damping * (norm6(b) + norm6(c));
    double alpha = change > most ? most / change : 1;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            p->factor[i][j] += alpha * d[i][j];
}

/* The part of the way d, 0 .. 1, that raises 1/2 k |s|^2 by `energy` at most. */
static double affordable_share(const double s[6], const double d[6], double k, double energy)
{
    double slope = 0, square = 0;
    for (int i = 0; i < 6; i++) {
        slope += k * s[i] * d[i];
        square += 0.5 * k * d[i] * d[i];
    }
    if (slope + square <= energy)
        return 1;
    /* square x^2 + slope x = energy, the larger root */
    return (sqrt(slope * slope + 4 * square * energy) - slope) / (2 * square);
}

/* s goes towards X e, as far as the tank and the force's change allow; returns the energy that it
 * took from the tank (below zero: gave). */
static double stretch_within_tank(gw_penalty *p, const gw_penalty_def *def, const double e[6],
                                  double most)
{
    double d[6], f[6], before = norm6(p->stretch), k = def->stiffness;
    gw_matrix6_apply((const double(*)[6])p->factor, e, d);
    for (int i = 0; i < 6; i++)
        d[i] -= p->stretch[i];
    multiply_transposed((const double(*)[6])p->factor, d, f);
    double change = k * norm6(f);
    double part =
        fmin(change > most ? most / change : 1, affordable_share(p->stretch, d, k, p->tank));
    for (int i = 0; i < 6; i++)
        p->stretch[i] += part * d[i];
    double after = norm6(p->stretch);
    return 0.5 * k * (after * after - before * before);
}

/* Half of the energy that the damper dissipates; the other half is kept against sampling errors. */
static double damper_power_kept(const gw_penalty *p, const gw_penalty_def *def,
                                const double rate[6], double dt)
{
    double y[6];
    gw_matrix6_apply((const double(*)[6])p->factor, rate, y);
    double n = norm6(y);
    return 0.5 * def->damping * n * n * dt;
}

static double energy_of(const gw_penalty *p, const gw_penalty_def *def)
{
    double n = norm6(p->stretch);
    return 0.5 * def->stiffness * n * n;
}

/* Sets X and s to their targets; the energy of that counts as one of changed weights. */
static void set_at_once(gw_penalty *p, const double target[6][6], const double e[6])
{
    memcpy(p->factor, target, sizeof p->factor);
    gw_matrix6_apply(target, e, p->stretch);
}

/* Sets X alone; the tank gets the energy for the stretch that will follow. */
static void set_eased(gw_penalty *p, const gw_penalty_def *def, const double target[6][6],
                      const double e[6])
{
    set_at_once(p, target, e);
    p->tank = energy_of(p, def);
    memset(p->stretch, 0, sizeof p->stretch);
    p->started = true;
}

/* Integrates s' = X e' over the motion since the last tick. */
static void stretch_by_motion(gw_penalty *p, const double e[6])
{
    double moved[6], d[6];
    for (int i = 0; i < 6; i++)
        moved[i] = e[i] - p->error[i];
    gw_matrix6_apply((const double(*)[6])p->factor, moved, d);
    for (int i = 0; i < 6; i++)
        p->stretch[i] += d[i];
}

gw_wrench gw_penalty_tick(gw_penalty *p, const gw_penalty_def *def,
                          const gw_resisted_directions *directions, const gw_twist *error,
                          const gw_twist *rate, double dt, double *weights)
{
    assert(p && def && directions && error && rate && dt > 0);
    double e[6], de[6], target[6][6], f[6], length = directions->length;
    twist_to_metres(error, length, e);
    twist_to_metres(rate, length, de);
    *weights = 0;
    if (def->by_mass)
        return penalty_as_published(p, def, directions, e, de, weights);
    factor_of(def, directions, target);
    if (p->started)
        stretch_by_motion(p, e);
    else if (p->eased && !def->at_once)
        set_eased(p, def, (const double(*)[6])target, e);
    double moved = p->started ? energy_of(p, def) : 0;
    if (!p->started || def->at_once) {
        set_at_once(p, (const double(*)[6])target, e);
        *weights = p->started ? energy_of(p, def) - moved : 0;
    } else {
        double most = 0.5 * GW_PENALTY_SLEW * length * dt;
        follow_target(p, def, (const double(*)[6])target, de, most);
        *weights = stretch_within_tank(p, def, e, most);
        p->tank = fmax(p->tank - *weights, 0);
        if (p->tank < TANK_MAX)
            p->tank = fmin(p->tank + damper_power_kept(p, def, de, dt), TANK_MAX);
    }
    p->stored = energy_of(p, def);
    memcpy(p->error, e, sizeof e);
    p->started = true;
    force_of(p, def, de, f);
    return wrench_from_metres(f, length);
}

double gw_penalty_predicted_energy(const gw_penalty *p, const gw_penalty_def *def, double length,
                                   const gw_twist *displacement, double dt)
{
    assert(p && def && displacement && dt > 0);
    double e[6], d[6], spring = 0, damper = 0;
    if (def->by_mass)
        return p->stored;
    twist_to_metres(displacement, length, e);
    gw_matrix6_apply((const double(*)[6])p->factor, e, d);
    for (int i = 0; i < 6; i++) {
        spring += (p->stretch[i] + d[i]) * (p->stretch[i] + d[i]);
        damper += d[i] * d[i];
    }
    return 0.5 * def->stiffness * spring + p->tank + 0.5 * def->damping * damper / dt;
}

double gw_penalty_release_energy(gw_penalty *p, const gw_penalty_def *def, double length,
                                 double energy, gw_wrench *wrench)
{
    double from_tank = fmin(p->tank, energy), given[6], f[6];
    p->tank -= from_tank;
    energy -= from_tank;
    if (def->by_mass || def->at_once || !(energy > 0) || !(p->stored > 0))
        return from_tank;
    double left = sqrt(fmax(1 - energy / p->stored, 0)), before = p->stored;
    for (int i = 0; i < 6; i++) {
        given[i] = (left - 1) * def->stiffness * p->stretch[i];
        p->stretch[i] *= left;
    }
    multiply_transposed((const double(*)[6])p->factor, given, f);
    gw_wrench less = wrench_from_metres(f, length);
    *wrench = gw_wrench_add(*wrench, less);
    p->stored = energy_of(p, def);
    return from_tank + before - p->stored;
}
