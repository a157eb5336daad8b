/*
 * Springs between device and model. On the loop's thread, RT safe.
 */
#include "rt/haptics/virtual_coupling.h"

#include <assert.h>
#include <float.h>

#define BOUND       0.31 /* half of 0.62, see README.md */
#define BOUND_TICKS 0.62
#define QUARTER     0.25 /* of a difference of velocity, by dampers in a step */
#define EASE_TIME   0.1  /* s at least, and at most these speeds (m/s, rad/s) */
#define EASE_SPEED  0.25
#define EASE_SPIN   1.0
#define SLACK_TIME  0.05 /* s */

bool gw_spring_is_stated(const gw_spring_damper *k)
{
    return k->linear > 0 || k->angular > 0 || k->linear_damping > 0 || k->angular_damping > 0;
}

gw_wrench gw_spring_wrench(const gw_spring_damper *k, const gw_twist *error, const gw_twist *rate)
{
    assert(k && error && rate);
    return (gw_wrench){gw_mul_add(gw_scale(k->linear, error->v), k->linear_damping, rate->v),
                       gw_mul_add(gw_scale(k->angular, error->w), k->angular_damping, rate->w)};
}

double gw_spring_energy(const gw_spring_damper *k, const gw_twist *error)
{
    return 0.5 * (k->linear * gw_norm2(error->v) + k->angular * gw_norm2(error->w));
}

/* ---- stability limits of a step -------------------------------------------------------------- */

gw_inverse_mass gw_inverse_mass_bound(const double m[6][6])
{
    double l = 0, a = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            l += m[i][j] * m[i][j];
            a += m[3 + i][3 + j] * m[3 + i][3 + j];
        }
    return (gw_inverse_mass){fmax(sqrt(l), DBL_MIN), fmax(sqrt(a), DBL_MIN)};
}

gw_spring_damper gw_spring_within_step_limit(const gw_spring_damper *k, gw_inverse_mass a,
                                             gw_inverse_mass b, double dt)
{
    double linear = QUARTER / ((a.linear + b.linear) * dt);
    double angular = QUARTER / ((a.angular + b.angular) * dt);
    double x = fmin(1, linear / k->linear_damping), y = fmin(1, angular / k->angular_damping);
    return (gw_spring_damper){x * k->linear, y * k->angular, x * k->linear_damping,
                              y * k->angular_damping};
}

gw_spring_damper gw_virtual_coupling_bound(double device_mass, double device_inertia,
                                           double model_mass, double model_inertia, double dt,
                                           double delay)
{
    double mass = device_mass * model_mass / (device_mass + model_mass);
    double inertia = device_inertia * model_inertia / (device_inertia + model_inertia);
    double omega = BOUND / (delay + BOUND_TICKS * dt);
    return (gw_spring_damper){mass * omega * omega, inertia * omega * omega, 2 * mass * omega,
                              2 * inertia * omega};
}

/* ---- the springs' rest ------------------------------------------------------------------------
 */

void gw_easing_start(gw_easing *easing, const gw_twist *error)
{
    assert(easing && error);
    double least_s = fmax(gw_norm(error->v) / EASE_SPEED, gw_norm(error->w) / EASE_SPIN);
    *easing = (gw_easing){.rest = *error, .lasts = fmax(1.5 * least_s, EASE_TIME)};
}

/* Progress of the easing, 0 .. 1. */
static double easing_fraction(const gw_easing *easing)
{
    return easing->time < easing->lasts ? easing->time / easing->lasts : 1;
}

static gw_twist twist_mul_add(const gw_twist *a, double k, const gw_twist *b)
{
    return (gw_twist){gw_mul_add(a->v, k, b->v), gw_mul_add(a->w, k, b->w)};
}

/* The error less slack and what is left of the rest: 1 - 3 x^2 + 2 x^3 of it. */
static gw_twist error_beyond_slack(const gw_easing *easing, double x, const gw_twist *error)
{
    double left = 1 - x * x * (3 - 2 * x);
    gw_twist taut = twist_mul_add(error, -1, &easing->slack);
    return twist_mul_add(&taut, -left, &easing->rest);
}

/* Softer at the same damping ratio. */
static gw_spring_damper soften_spring(const gw_spring_damper *k, double x)
{
    return (gw_spring_damper){x * x * k->linear, x * x * k->angular, x * k->linear_damping,
                              x * k->angular_damping};
}

void gw_easing_shift(gw_easing *easing, const gw_twist *displacement)
{
    easing->slack = twist_mul_add(&easing->slack, 1, displacement);
}

gw_twist gw_easing_tick(gw_easing *easing, gw_spring_damper *k, const gw_twist *error, double dt,
                        double *booked)
{
    assert(easing && k && error && dt > 0 && booked);
    double x = easing_fraction(easing);
    *booked = 0;
    if (!(x < 1))
        return twist_mul_add(error, -1, &easing->slack);
    gw_twist stretch = error_beyond_slack(easing, x, error);
    gw_spring_damper soft = soften_spring(k, x);
    double before = gw_spring_energy(&soft, &stretch);
    easing->time += dt;
    x = easing_fraction(easing);
    stretch = error_beyond_slack(easing, x, error);
    *k = soften_spring(k, x);
    *booked = gw_spring_energy(k, &stretch) - before;
    return stretch;
}

double gw_easing_release_energy(gw_easing *easing, const gw_spring_damper *k, gw_twist *stretch,
                                double energy)
{
    double before = gw_spring_energy(k, stretch);
    if (!(energy > 0) || !(before > 0))
        return 0;
    double given = 1 - sqrt(fmax(1 - energy / before, 0));
    easing->slack = twist_mul_add(&easing->slack, given, stretch);
    *stretch = twist_mul_add(stretch, -given, stretch);
    return before - gw_spring_energy(k, stretch);
}

double gw_easing_recover(gw_easing *easing, const gw_spring_damper *k, gw_twist *stretch,
                         double energy, double dt)
{
    double part = fmin(dt / SLACK_TIME, 1), before = gw_spring_energy(k, stretch);
    gw_twist taut = twist_mul_add(stretch, part, &easing->slack);
    double cost = gw_spring_energy(k, &taut) - before;
    if (cost > fmax(energy, 0)) { /* it grows with the square: a part of it costs less than that */
        part *= fmax(energy, 0) / cost;
        taut = twist_mul_add(stretch, part, &easing->slack);
    }
    easing->slack = twist_mul_add(&easing->slack, -part, &easing->slack);
    *stretch = taut;
    return gw_spring_energy(k, stretch) - before;
}
