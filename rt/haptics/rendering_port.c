/*
 * What the port's observer and controller ask of a tick: what springs pay, how far the device
 * yields to the hand, and the damping. On the loop's thread, RT safe.
 */
#include "rt/haptics/rendering_data.h"

#define SURELY  1.1  /* of what is to be taken: M is a bound */
#define YIELDS  0.25 /* of the hand's push, where no motion pays: it takes the device along */
#define QUARTER 0.25 /* of a speed, the most that is taken of it where that is foreseen only */

static bool feeds_forward(const gw_impedance_control *r)
{
    return r->def.kind != GW_LAW_COUPLING;
}

void gw_render_settle(gw_impedance_control *r, gw_impedance_work *w, double stored, double booked)
{
    gw_passivity_observer *port = &r->port;
    gw_passivity_observe(port, &w->device.pose, &w->model.pose, stored + r->penalty.tank, booked,
                         gw_render_delay(&w->device, w->dt));
    if (!r->def.passivity)
        return;
    double owed = gw_passivity_deficit(port, w->dt);
    if (owed > 0) {
        double paid = gw_penalty_release_energy(&r->penalty, &w->penalties, r->resisted.length,
                                                owed, &w->penalty);
        paid += gw_easing_release_energy(&r->easing, &w->k, &w->stretch, owed - paid);
        gw_passivity_charge(port, -paid);
    } else {
        double lost = gw_passivity_reserve(port, GW_PASSIVITY_WINDOW_PARTS, w->dt);
        gw_passivity_charge(port,
                            gw_easing_recover(&r->easing, &w->k, &w->stretch, 0.5 * lost, w->dt));
    }
}

/* The way of what starts so and is accelerated so: v dt + a dt^2/2. */
static gw_twist way_of(const gw_twist *twist, gw_wrench a, double dt)
{
    return (gw_twist){gw_mul_add(gw_scale(dt, twist->v), 0.5 * dt * dt, a.f),
                      gw_mul_add(gw_scale(dt, twist->w), 0.5 * dt * dt, a.t)};
}

/* What springs will store more where the model goes on by `way` against the device (J). */
static double stored_ahead(const gw_impedance_control *r, const gw_impedance_work *w,
                           const gw_twist *way)
{
    gw_twist along = gw_render_followed(r, way);
    gw_twist then = {gw_add(w->stretch.v, along.v), gw_add(w->stretch.w, along.w)};
    double springs = gw_spring_energy(&w->k, &then) - gw_spring_energy(&w->k, &w->stretch);
    if (!gw_render_penalises(r))
        return springs;
    return springs - r->penalty.stored - r->penalty.tank +
           gw_penalty_predicted_energy(&r->penalty, &w->penalties, r->resisted.length, way, w->dt);
}

/* The device's way in the coming tick under this command. */
static gw_twist way_of_device(const gw_impedance_control *r, const gw_impedance_work *w,
                              const gw_wrench *command)
{
    const gw_impedance_device *d = &w->device;
    int delay = gw_render_delay(d, w->dt);
    gw_wrench acts =
        gw_wrench_add(delay ? r->sent[gw_render_past(r, delay - 1)] : *command, w->hand);
    acts = gw_render_in_reach(
        d, gw_wrench_add(acts, gw_render_negative(gw_render_drag(d, &d->twist))));
    gw_wrench a = {gw_scale(1 / d->mass, acts.f), gw_scale(1 / d->inertia, acts.t)};
    return way_of(&d->twist, a, w->dt);
}

/* The coming tick, with the ways of device and model in it. */
static gw_passivity_prediction look_ahead(const gw_impedance_control *r, const gw_impedance_work *w,
                                          gw_twist device, gw_twist model)
{
    gw_wrench on_device = gw_wrench_add(gw_wrench_add(w->spring, w->penalty), w->damping);
    gw_twist apart = {gw_sub(model.v, device.v), gw_sub(model.w, device.w)};
    return (gw_passivity_prediction){
        .device = device,
        .model = model,
        .on_device = gw_passivity_acting(&r->port, &on_device, gw_render_delay(&w->device, w->dt)),
        .on_model = w->on_model,
        .fed = feeds_forward(r) ? w->hand : gw_render_nothing,
        .springs = stored_ahead(r, w, &apart)};
}

static gw_inverse_mass mobility_of_device(const gw_impedance_control *r, const gw_impedance_work *w)
{
    return gw_render_matches(r) ? gw_inverse_mass_bound(w->model.inverse_inertia)
                                : gw_render_mobility(&w->device);
}

void gw_render_damp(gw_impedance_control *r, gw_impedance_work *w)
{
    if (!r->def.passivity)
        return;
    const gw_operational_state *seen = &w->model;
    gw_wrench command = gw_render_command(r, w);
    gw_wrench a = gw_wrench_add(gw_render_accelerate(seen->inverse_inertia, w->on_model),
                                gw_render_of_six(w->own));
    gw_twist on = way_of_device(r, w, &command), way = way_of(&seen->twist, a, w->dt);
    gw_passivity_prediction ahead = look_ahead(r, w, on, way);
    gw_inverse_mass device = mobility_of_device(r, w),
                    model = gw_inverse_mass_bound(seen->inverse_inertia);
    double taken = gw_passivity_unit_dissipation(model, &way, w->dt);
    if (gw_render_delay(&w->device, w->dt) == 0)
        taken += gw_passivity_unit_dissipation(device, &on, w->dt);
    double rate = gw_passivity_damping_rate(gw_passivity_predicted_excess(&r->port, &ahead, w->dt),
                                            taken, QUARTER, w->dt);
    w->damping = gw_passivity_damping_wrench(rate, device, &on, w->dt);
    if (feeds_forward(r) || !r->was_hit)
        w->slowing = gw_passivity_damping_wrench(rate, model, &way, w->dt);
    w->on_model = gw_render_on_model(r, w);
}

/* What a wrench on the device as control shows it makes of its acceleration. */
static gw_wrench accelerated(const gw_impedance_control *r, const gw_impedance_work *w,
                             const gw_wrench *f)
{
    const gw_operational_state *model = &w->model;
    if (gw_render_matches(r))
        return gw_render_accelerate(model->inverse_inertia, *f);
    return (gw_wrench){gw_scale(1 / w->device.mass, f->f), gw_scale(1 / w->device.inertia, f->t)};
}

/* Its way but for what the hand's push makes of it: a wrench against that takes energy of what
 * moves, and what is at rest yields to the hand by it, who pays. */
static gw_twist way_unpushed(const gw_impedance_control *r, const gw_impedance_work *w,
                             const gw_passivity_prediction *ahead)
{
    gw_wrench a = accelerated(r, w, &ahead->fed);
    double half = -0.5 * w->dt * w->dt;
    return (gw_twist){gw_mul_add(ahead->device.v, half, a.f),
                      gw_mul_add(ahead->device.w, half, a.t)};
}

void gw_render_damp_device(gw_impedance_control *r, gw_impedance_work *w,
                           const gw_operational_step *step, const gw_wrench *command)
{
    if (!r->def.passivity || gw_render_delay(&w->device, w->dt) > 0)
        return;
    gw_twist model = gw_pose_sub(&step->pose, &w->model.pose);
    gw_passivity_prediction ahead = look_ahead(r, w, way_of_device(r, w, command), model);
    gw_inverse_mass m = mobility_of_device(r, w);
    gw_twist way = way_unpushed(r, w, &ahead);
    double energy = SURELY * gw_passivity_known_excess(&r->port, &ahead, w->dt);
    double rate =
        gw_passivity_damping_rate(energy, gw_passivity_unit_dissipation(m, &way, w->dt), 1, w->dt);
    w->damping = gw_wrench_add(w->damping, gw_passivity_damping_wrench(rate, m, &way, w->dt));
    if (rate * w->dt < 1)
        return;
    w->damping.f = gw_mul_add(w->damping.f, YIELDS, ahead.fed.f);
    w->damping.t = gw_mul_add(w->damping.t, YIELDS, ahead.fed.t);
}

void gw_render_hold(gw_impedance_control *r, const gw_impedance_work *w)
{
    gw_wrench on_device = gw_wrench_add(gw_wrench_add(w->spring, w->penalty), w->damping);
    gw_passivity_hold(&r->port, &on_device, &w->on_model,
                      feeds_forward(r) ? &w->hand : &gw_render_nothing);
}
