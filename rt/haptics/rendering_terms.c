/*
 * The springs between device and model, and the four controls that use them. On the loop's thread,
 * RT safe.
 */
#include "rt/haptics/rendering_data.h"

/* ---- springs between device and model ------------------------------------------------------- */

/* The device's velocity once the impulses that are under way have reached it. */
static gw_twist arriving(const gw_impedance_control *r, const gw_impedance_device *d, double dt)
{
    gw_wrench sum = gw_wrench_add(r->strike.owed, r->waiting);
    for (int i = 0; i < gw_render_delay(d, dt); i++) {
        gw_wrench w = r->struck[gw_render_past(r, i)];
        sum = (gw_wrench){gw_mul_add(sum.f, dt, w.f), gw_mul_add(sum.t, dt, w.t)};
    }
    return (gw_twist){gw_mul_add(d->twist.v, 1 / d->mass, sum.f),
                      gw_mul_add(d->twist.w, 1 / d->inertia, sum.t)};
}

gw_inverse_mass gw_render_mobility(const gw_impedance_device *d)
{
    return (gw_inverse_mass){1 / d->mass, 1 / d->inertia};
}

/* K_pc, B_pc; under impedance control the device moves as lightly as the model. */
static gw_spring_damper coordination_of(const gw_impedance_control *r,
                                        const gw_operational_state *model,
                                        const gw_impedance_device *d, double dt)
{
    gw_spring_damper paper = GW_PAPER_COORDINATION;
    if (gw_spring_is_stated(&r->def.coordination))
        return r->def.coordination;
    gw_inverse_mass of_model = gw_inverse_mass_bound(model->inverse_inertia);
    gw_inverse_mass of_device =
        r->def.kind == GW_LAW_FOUR_CHANNEL ? gw_render_mobility(d) : of_model;
    return gw_spring_within_step_limit(&paper, of_model, of_device, dt);
}

/* K_vc, B_vc */
static gw_spring_damper coupling_of(const gw_impedance_control *r,
                                    const gw_operational_state *model, const gw_impedance_device *d,
                                    double dt)
{
    if (gw_spring_is_stated(&r->def.coupling))
        return r->def.coupling;
    gw_inverse_mass m = gw_inverse_mass_bound(model->inverse_inertia);
    return gw_virtual_coupling_bound(d->mass, d->inertia, fmin(1 / m.linear, 1e6),
                                     fmin(1 / m.angular, 1e6), dt, d->delay + d->velocity_delay);
}

/* ---- the four controls ---------------------------------------------------------------------- */

/* J D^-1 tau: without J-dot v */
static gw_wrench driven(const gw_impedance_work *w)
{
    return gw_wrench_add(gw_render_of_six(w->own), gw_render_negative(gw_render_of_six(w->drift)));
}

/* u = M_d (Lambda^-1 (F_h + F_pc) + J D^-1 tau + J-dot v) + C_d x-dot - F_h   (eq. 11) */
static gw_wrench impedance(const gw_impedance_control *r, const gw_impedance_work *w)
{
    gw_wrench acting = gw_wrench_add(gw_wrench_add(w->hand, w->spring), w->damping);
    gw_wrench a = gw_wrench_add(gw_render_accelerate(w->model.inverse_inertia, acting),
                                r->def.jdot == GW_JDOT_FULL ? gw_render_of_six(w->own) : driven(w));
    gw_wrench u =
        gw_wrench_add(gw_render_weigh(&w->device, a), gw_render_drag(&w->device, &w->device.twist));
    return gw_wrench_add(u, gw_render_negative(w->hand));
}

/* (11) alone lets the device keep a velocity that it drifted into along what the model resists; it
 * would come to act on the model as that direction turns free. With the port's controller the
 * penalties' dampers take it. */
bool gw_render_penalises(const gw_impedance_control *r)
{
    return r->def.kind == GW_LAW_PENALTY || (r->def.kind == GW_LAW_IMPEDANCE && r->def.passivity);
}

static gw_penalty_def penalties_of(const gw_impedance_control *r, const gw_impedance_device *d)
{
    return (gw_penalty_def){.stiffness = r->def.kind == GW_LAW_PENALTY ? r->def.penalty : 0,
                            .damping = r->def.penalty_damping,
                            .mass = d->mass,
                            .inertia = d->inertia,
                            .by_mass = r->def.penalty_by_mass,
                            .at_once = r->def.resisted.weighting == GW_WEIGHTS_ON_OFF};
}

/* u_add of eq. 18; on/off weights put energy in, which is booked. */
static gw_wrench penalties(gw_impedance_control *r, const gw_impedance_work *w, double *weights,
                           double *booked)
{
    const gw_penalty_def *def = &w->penalties;
    if (!gw_render_penalises(r))
        return gw_render_nothing;
    gw_wrench u =
        gw_penalty_tick(&r->penalty, def, &r->resisted, &w->error, &w->rate, w->dt, weights);
    *booked = def->at_once || def->by_mass ? *weights : 0;
    return u;
}

/* u = M_d J D^-1 tau + F_pc + C_d x-dot; the device keeps its own inertia (mechanisms II). */
static gw_wrench four_channel(const gw_impedance_work *w)
{
    gw_wrench u =
        gw_wrench_add(gw_render_weigh(&w->device, driven(w)), gw_wrench_add(w->spring, w->damping));
    return gw_wrench_add(u, gw_render_drag(&w->device, &w->device.twist));
}

gw_wrench gw_render_on_model(const gw_impedance_control *r, const gw_impedance_work *w)
{
    gw_wrench springs = gw_wrench_add(gw_render_negative(w->spring), w->slowing);
    return r->def.kind == GW_LAW_COUPLING ? springs : gw_wrench_add(w->hand, springs);
}

gw_wrench gw_render_command(const gw_impedance_control *r, const gw_impedance_work *w)
{
    gw_wrench u;
    switch (r->def.kind) {
    case GW_LAW_IMPEDANCE:
    case GW_LAW_PENALTY:
        u = gw_wrench_add(impedance(r, w), w->penalty);
        break;
    case GW_LAW_FOUR_CHANNEL:
        u = four_channel(w);
        break;
    case GW_LAW_COUPLING:
        u = gw_wrench_add(gw_wrench_add(w->spring, w->damping),
                          gw_render_drag(&w->device, &w->device.twist));
        break;
    }
    return gw_render_in_reach(&w->device, u);
}

static gw_vec3 no_longer_than(gw_vec3 v, gw_vec3 other)
{
    double length = gw_norm(v), most = gw_norm(other);
    return length > most ? gw_scale(most / length, v) : v;
}

/* What a coupling's dampers see: a hit's jump of the model's velocity, of which the device does not
 * know, from the tick after it on. */
static gw_twist damped_rate(gw_impedance_control *r, const gw_impedance_work *w)
{
    gw_twist rate = w->rate;
    if (r->def.kind == GW_LAW_COUPLING && r->was_hit)
        rate = (gw_twist){no_longer_than(rate.v, r->last_rate.v),
                          no_longer_than(rate.w, r->last_rate.w)};
    r->last_rate = w->rate;
    return rate;
}

/* The device moves as the model would. */
bool gw_render_matches(const gw_impedance_control *r)
{
    return r->def.kind == GW_LAW_IMPEDANCE || r->def.kind == GW_LAW_PENALTY;
}

/* Along what the model resists (11) lets no wrench move the device. Where it drifts there, or is
 * moved, a spring would store energy that nobody gave and draw the model with it once that
 * direction is free: with the port's controller the springs do not follow it. */
static bool follows_free_only(const gw_impedance_control *r)
{
    return r->def.passivity && gw_render_matches(r);
}

gw_twist gw_render_followed(const gw_impedance_control *r, const gw_twist *way)
{
    return follows_free_only(r) ? gw_resisted_free_part_of_twist(&r->resisted, way) : *way;
}

/* F_pc or F_vc */
static gw_wrench spring_of(gw_impedance_control *r, const gw_impedance_work *w)
{
    gw_twist rate = damped_rate(r, w);
    rate = gw_render_followed(r, &rate);
    gw_wrench spring = gw_spring_wrench(&w->k, &w->stretch, &rate);
    return follows_free_only(r) ? gw_resisted_free_part_of_wrench(&r->resisted, &spring) : spring;
}

/* The springs' rest: where the device is at a switch, and along with what they do not follow. */
static void shift_rest(gw_impedance_control *r, const gw_impedance_work *w)
{
    if (r->switched) {
        gw_easing_start(&r->easing, &w->error);
    } else if (r->started) {
        gw_twist way = {gw_sub(w->error.v, r->last_error.v), gw_sub(w->error.w, r->last_error.w)};
        gw_twist followed = gw_render_followed(r, &way);
        gw_easing_shift(&r->easing,
                        &(gw_twist){gw_sub(way.v, followed.v), gw_sub(way.w, followed.w)});
    }
    r->last_error = w->error;
}

void gw_render_pull(gw_impedance_control *r, gw_impedance_work *w, gw_impedance_out *out)
{
    const gw_operational_state *model = &w->model;
    gw_twist to_be = arriving(r, &w->device, w->dt);
    w->error = gw_pose_sub(&model->pose, &w->device.pose);
    w->rate = (gw_twist){gw_sub(model->twist.v, to_be.v), gw_sub(model->twist.w, to_be.w)};
    w->k = r->def.kind == GW_LAW_COUPLING ? coupling_of(r, model, &w->device, w->dt)
                                          : coordination_of(r, model, &w->device, w->dt);
    w->penalties = penalties_of(r, &w->device);
    double by_easing, by_weights = 0;
    shift_rest(r, w);
    w->stretch = gw_easing_tick(&r->easing, &w->k, &w->error, w->dt, &by_easing);
    w->penalty = penalties(r, w, &out->weights, &by_weights);
    gw_render_settle(r, w, gw_spring_energy(&w->k, &w->stretch) + r->penalty.stored,
                     by_easing + by_weights);
    w->spring = spring_of(r, w);
    out->stored = gw_spring_energy(&w->k, &w->stretch) + r->penalty.stored;
}
