/*
 * Passivity observer and controller. On the loop's thread, RT safe.
 */
#include "rt/haptics/passivity.h"

#include <assert.h>

#define IMMOVABLE                                                                                  \
    1e-9 /* 1/kg, 1/(kg m^2): below, a direction counts as immovable and is not damped */
#define REPAY_TIME                                                                                 \
    0.1            /* s, in which energy gained since the least of the last second is taken back */
#define MARGIN 2.5 /* 1/s: of the power flow, dissipated besides for what a prediction misses */
#define DOUBT  0.1 /* of the energy flow of a tick: a second has to have lost so much before it */

static double work_along(const gw_wrench *w, const gw_twist *displacement)
{
    return gw_dot(w->f, displacement->v) + gw_dot(w->t, displacement->w);
}

void gw_passivity_observe(gw_passivity_observer *p, const gw_pose *device, const gw_pose *model,
                          double stored, double booked, int delay)
{
    assert(delay >= 0 && delay < GW_PASSIVITY_HISTORY);
    if (p->started) {
        gw_twist displacement = gw_pose_sub(device, &p->device),
                 of_model = gw_pose_sub(model, &p->model);
        const gw_wrench *acted = &p->on_device[(p->at - delay) & (GW_PASSIVITY_HISTORY - 1)];
        p->excess += work_along(acted, &displacement) - work_along(&p->fed, &displacement) +
                     work_along(&p->on_model, &of_model) + stored - p->stored - booked;
    }
    p->device = *device;
    p->model = *model;
    p->stored = stored;
    p->started = true;
}

void gw_passivity_charge(gw_passivity_observer *p, double energy)
{
    assert(p);
    p->stored += energy;
    p->excess += energy;
}

void gw_passivity_hold(gw_passivity_observer *p, const gw_wrench *on_device,
                       const gw_wrench *on_model, const gw_wrench *fed)
{
    assert(p && on_device && on_model);
    p->at = (p->at + 1) & (GW_PASSIVITY_HISTORY - 1);
    p->on_device[p->at] = *on_device;
    p->on_model = *on_model;
    p->fed = *fed;
}

/* ---- the last second ------------------------------------------------------------------------ */

/* Ticks of a 64th of a second, rounded up. */
static int64_t part_ticks(double dt)
{
    return (int64_t)ceil(1 / (64 * dt) - 1e-9);
}

void gw_passivity_end_tick(gw_passivity_observer *p, double dt)
{
    assert(dt > 0);
    int64_t part = part_ticks(dt);
    double *least = &p->least[p->ticks / part % GW_PASSIVITY_WINDOW_PARTS];
    *least = p->ticks % part ? fmin(*least, p->excess) : p->excess;
    p->ticks++;
}

double gw_passivity_reserve(const gw_passivity_observer *p, int ahead, double dt)
{
    assert(p && ahead >= 0 && dt > 0);
    int64_t part = part_ticks(dt), began = p->ticks - (int64_t)(1 / dt + 0.5);
    int64_t first = began / part, last = (began + 1) / part + ahead, newest = (p->ticks - 1) / part;
    double least =
        began < 0 ? 0
                  : p->least[first % GW_PASSIVITY_WINDOW_PARTS]; /* none before the first tick */
    for (int64_t i = began < 0 ? 0 : first + 1; i <= last && i <= newest && p->ticks; i++)
        least = fmin(least, p->least[i % GW_PASSIVITY_WINDOW_PARTS]);
    return least - p->excess;
}

/* Energy gained since the least of the last second (J). */
static double gained_since_least(const gw_passivity_observer *p, double dt)
{
    return -gw_passivity_reserve(p, GW_PASSIVITY_WINDOW_PARTS, dt);
}

double gw_passivity_deficit(const gw_passivity_observer *p, double dt)
{
    assert(p && dt > 0);
    return fmax(-gw_passivity_reserve(p, 0, dt),
                fmin(dt / REPAY_TIME, 1) * gained_since_least(p, dt));
}

/* ---- the coming tick ------------------------------------------------------------------------ */

gw_wrench gw_passivity_acting(const gw_passivity_observer *p, const gw_wrench *newest, int delay)
{
    return delay > 0 ? p->on_device[(p->at + 1 - delay) & (GW_PASSIVITY_HISTORY - 1)] : *newest;
}

/* The rise of the excess in the tick (J). */
static double tick_energy(const gw_passivity_prediction *ahead)
{
    return work_along(&ahead->on_device, &ahead->device) - work_along(&ahead->fed, &ahead->device) +
           work_along(&ahead->on_model, &ahead->model) + ahead->springs;
}

double gw_passivity_known_excess(const gw_passivity_observer *p,
                                 const gw_passivity_prediction *ahead, double dt)
{
    return tick_energy(ahead) + fmax(gained_since_least(p, dt), 0);
}

double gw_passivity_predicted_excess(const gw_passivity_observer *p,
                                     const gw_passivity_prediction *ahead, double dt)
{
    const gw_wrench *push = &ahead->on_model;
    const gw_twist *displacement = &ahead->model;
    double flow =
        gw_norm(push->f) * gw_norm(displacement->v) + gw_norm(push->t) * gw_norm(displacement->w);
    double lacking = DOUBT * flow - gw_passivity_reserve(p, 0, dt);
    return tick_energy(ahead) + fmax(gw_passivity_deficit(p, dt), lacking) + MARGIN * dt * flow;
}

/* The mass that damping acts on (kg, kg m^2); 0 for an immovable direction. */
static double damped_mass(double mobility)
{
    return mobility > IMMOVABLE ? 1 / mobility : 0;
}

double gw_passivity_unit_dissipation(gw_inverse_mass m, const gw_twist *displacement, double dt)
{
    return (damped_mass(m.linear) * gw_norm2(displacement->v) +
            damped_mass(m.angular) * gw_norm2(displacement->w)) /
           dt;
}

/* A body that is slowed by the share r also moves less in the tick: energy = r (1 - r/2) taken /
 * dt.
 */
double gw_passivity_damping_rate(double energy, double taken, double most, double dt)
{
    if (!(energy > 0) || !(taken > 0))
        return 0;
    double part = 1 - 2 * energy * dt / taken;
    return fmin(part > 0 ? 1 - sqrt(part) : 1, most) / dt;
}

gw_wrench gw_passivity_damping_wrench(double rate, gw_inverse_mass m, const gw_twist *displacement,
                                      double dt)
{
    return (gw_wrench){gw_scale(-rate * damped_mass(m.linear) / dt, displacement->v),
                       gw_scale(-rate * damped_mass(m.angular) / dt, displacement->w)};
}
