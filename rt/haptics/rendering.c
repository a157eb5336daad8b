/*
 * The four controls of impedance devices. Each tick: the hand's wrench, the springs between device
 * and model, what the model is to feel; after its step the acceleration that the device is to have,
 * what the port's observer asks for, limits and impulses. On the loop's thread, RT safe.
 */
#include "rt/haptics/rendering_data.h"

#include <float.h>

#include "rt/haptics/admittance.h"

#define ESTIMATE_TIME 0.005  /* s: filter of the estimated wrench */
#define SLEW          1000.0 /* N/s */
#define SLEW_SPEED    0.05   /* m/s, rad/s: what the rest of an old command may give the device */
#define SLEW_SPIN     0.5
#define SLEW_ARM      0.05 /* m: torques slew at this times as many N m/s */

gw_impedance_def gw_impedance_def_default(void)
{
    return (gw_impedance_def){.kind = GW_LAW_PENALTY,
                              .jdot = GW_JDOT_FULL,
                              .hand = GW_HAND_MEASURED,
                              .penalty = 200,
                              .penalty_damping = 50};
}

void gw_impedance_init(gw_impedance_control *r, const gw_impedance_def *def)
{
    *r = (gw_impedance_control){.def = *def};
}

void gw_impedance_switch(gw_impedance_control *r, const gw_impedance_def *def)
{
    r->def = *def;
    r->penalty = (gw_penalty){.eased = r->started};
    r->port.started = false;
    r->switched = r->started;
}

void gw_impedance_disengage(gw_impedance_control *r, double dt)
{
    bool held = r->started || r->switched;
    gw_passivity_observer port = r->port;
    gw_impedance_init(r, &r->def);
    r->penalty.eased = r->switched = held;
    r->port = port;
    r->port.started = false;
    gw_passivity_end_tick(&r->port, dt);
}

/* ---- the hand's wrench ---------------------------------------------------------------------- */

/* F = M_d a + C_d v - u over the last tick, first-order filter. */
static void estimate(gw_impedance_control *r, const gw_impedance_device *d, double dt)
{
    if (!r->started)
        return;
    gw_twist mean = {gw_scale(0.5, gw_add(d->twist.v, r->last_twist.v)),
                     gw_scale(0.5, gw_add(d->twist.w, r->last_twist.w))};
    gw_wrench rate = {gw_scale(1 / dt, gw_sub(d->twist.v, r->last_twist.v)),
                      gw_scale(1 / dt, gw_sub(d->twist.w, r->last_twist.w))};
    gw_wrench u = r->sent[gw_render_past(r, gw_render_delay(d, dt))];
    gw_wrench raw = gw_wrench_add(gw_wrench_add(gw_render_weigh(d, rate), gw_render_drag(d, &mean)),
                                  gw_render_negative(u));
    double part = dt / (dt + ESTIMATE_TIME);
    r->estimate.f = gw_add(gw_scale(1 - part, r->estimate.f), gw_scale(part, raw.f));
    r->estimate.t = gw_add(gw_scale(1 - part, r->estimate.t), gw_scale(part, raw.t));
}

static gw_wrench hand_of(const gw_impedance_control *r, const gw_impedance_device *d)
{
    switch (r->def.hand) {
    case GW_HAND_MEASURED:
        return gw_render_in_reach(d, d->hand);
    case GW_HAND_ESTIMATED:
        return gw_render_in_reach(d, r->estimate);
    case GW_HAND_UNKNOWN:
        break;
    }
    return gw_render_nothing;
}

/* ---- limits --------------------------------------------------------------------------------- */

/* How long a switch takes: by the slew limit, or sooner where what is left of the old command would
 * throw the device about. */
static double switch_time(const gw_impedance_control *r, const gw_impedance_device *d)
{
    double slew = r->def.slew > 0 ? r->def.slew : SLEW;
    double f = fmax(gw_norm(r->bump.f), DBL_MIN), t = fmax(gw_norm(r->bump.t), DBL_MIN);
    double thrown = fmin(SLEW_SPEED * d->mass / f, SLEW_SPIN * d->inertia / t);
    return fmin(fmax(f, t / SLEW_ARM) / slew, 2 * thrown);
}

/* After a switch the command is u + (1 - t/T) (what was less what is): that second part. */
static gw_wrench bumpless(gw_impedance_control *r, const gw_impedance_device *d, gw_wrench u,
                          double dt)
{
    if (r->switched) {
        r->bump = gw_wrench_add(r->steady, gw_render_negative(u));
        r->bump_time = 0;
        r->bump_lasts = switch_time(r, d);
        r->switched = false;
    }
    if (!(r->bump_lasts > r->bump_time))
        return gw_render_nothing;
    double left = 1 - r->bump_time / r->bump_lasts;
    r->bump_time += dt;
    return (gw_wrench){gw_scale(left, r->bump.f), gw_scale(left, r->bump.t)};
}

static gw_impedance_device known(const gw_impedance_control *r, const gw_impedance_device *device)
{
    gw_impedance_device d = *device;
    double part = r->def.mass_known > 0 ? r->def.mass_known : 1;
    d.mass *= part;
    d.inertia *= part;
    return d;
}

static void keep(gw_impedance_control *r, const gw_impedance_out *out, const gw_twist *twist)
{
    r->at = (r->at + 1) & (GW_IMPEDANCE_HISTORY - 1);
    r->sent[r->at] = out->command;
    r->struck[r->at] = out->impulse;
    r->last_twist = *twist;
    r->started = true;
}

/* Directions that this control holds back, for the penalties and for display. */
static void find_directions(gw_impedance_control *r, const gw_operational_state *model)
{
    if (model->directions)
        r->resisted = *model->directions;
    else
        gw_resisted_directions_of(&r->def.resisted, model->dof, model->jacobian, &r->resisted);
}

/* The collision's share of the device (N s, N m s); a coupling is shown none. */
static gw_wrench strike_of(const gw_impedance_control *r, const gw_impedance_work *w,
                           const double hit[6])
{
    if (r->def.kind == GW_LAW_COUPLING)
        return gw_render_nothing;
    return gw_render_in_reach(&w->device, gw_render_weigh(&w->device, gw_render_of_six(hit)));
}

/* Within the device's limits; impulses have what the rest leaves of them. */
static void limit(gw_impedance_control *r, const gw_impedance_work *w, const gw_wrench *strike,
                  gw_impedance_out *out)
{
    const gw_impedance_device *d = &w->device;
    bool cut = gw_clamp_norm(&r->steady.f, d->force_max);
    cut = gw_clamp_norm(&r->steady.t, d->torque_max) || cut;
    gw_impulse_rendered struck = gw_impulse_rendering_tick(
        &r->strike, strike, &r->steady, d->force_max, d->torque_max, r->def.impulse_budget, w->dt);
    out->command = gw_wrench_add(r->steady, struck.wrench);
    out->impulse = struck.wrench;
    out->withheld = gw_norm(struck.withheld.f);
    out->withheld_turn = gw_norm(struck.withheld.t);
    out->limited = cut || struck.limited;
}

/* The damping's part of the command, within the limits. */
static void brake(gw_impedance_control *r, const gw_impedance_work *w, gw_wrench damping,
                  gw_impedance_out *out)
{
    r->steady = gw_wrench_add(r->steady, damping);
    out->command = gw_wrench_add(out->command, damping);
    out->limited = gw_clamp_norm(&out->command.f, w->device.force_max) || out->limited;
    out->limited = gw_clamp_norm(&out->command.t, w->device.torque_max) || out->limited;
}

/* What the model does by itself: as in the last step, else as its terms tell. */
static void foresee(const gw_impedance_control *r, gw_impedance_work *w)
{
    for (int i = 0; i < 6; i++) {
        w->own[i] = r->own_known ? r->own[i] : w->model.free[i] + w->model.drift[i];
        w->drift[i] = w->model.drift[i];
    }
}

gw_impedance_out gw_impedance_pre_step(gw_impedance_control *r, const gw_operational_state *model,
                                       const gw_impedance_device *device, double dt)
{
    gw_impedance_out out = {.weights = 0};
    gw_impedance_work *w = &r->work;
    *w = (gw_impedance_work){.model = *model, .device = known(r, device), .dt = dt};
    find_directions(r, model);
    estimate(r, &w->device, dt);
    w->hand = out.hand = hand_of(r, &w->device);
    foresee(r, w);
    gw_render_pull(r, w, &out);
    w->on_model = gw_render_on_model(r, w);
    gw_render_damp(r, w);
    out.on_model = w->on_model;
    w->model.jacobian = NULL; /* the caller's, for this half alone */
    w->model.directions = NULL;
    return out;
}

/* ([v; w] - [v; w]_before - hit) / dt - Lambda^-1 F */
static void see_own(gw_impedance_control *r, gw_impedance_work *w, const gw_operational_step *step)
{
    const gw_operational_state *model = &w->model;
    gw_wrench felt = gw_render_accelerate(model->inverse_inertia, w->on_model);
    gw_twist d = {gw_sub(step->twist.v, model->twist.v), gw_sub(step->twist.w, model->twist.w)};
    const double gone[6] = {d.v.x, d.v.y, d.v.z, d.w.x, d.w.y, d.w.z};
    const double by_hand[6] = {felt.f.x, felt.f.y, felt.f.z, felt.t.x, felt.t.y, felt.t.z};
    r->was_hit = false;
    for (int i = 0; i < 6; i++) {
        r->own[i] = w->own[i] = (gone[i] - step->hit[i]) / w->dt - by_hand[i];
        w->drift[i] = 0.5 * (model->drift[i] + step->drift[i]);
        r->was_hit = r->was_hit || step->hit[i] != 0;
    }
    r->own_known = true;
}

/*
 * Held for a tick, an impulse turns the device amid it, and the model at its end or somewhere in
 * it: they come out s dt/2 apart, one way if the device has it in this tick, the other if in the
 * next. It is given where the hand's wrench pays that way and does not gain from it.
 */
static gw_wrench due(gw_impedance_control *r, const gw_impedance_work *w, gw_wrench strike)
{
    gw_wrench now = r->waiting, push = gw_wrench_add(w->hand, gw_render_negative(w->spring));
    gw_twist turn = {gw_scale(1 / w->device.mass, strike.f),
                     gw_scale(1 / w->device.inertia, strike.t)};
    bool waits = gw_render_power(&push, &turn) < 0;
    r->waiting = waits ? strike : gw_render_nothing;
    return waits ? now : gw_wrench_add(now, strike);
}

void gw_impedance_post_step(gw_impedance_control *r, const gw_operational_step *step,
                            gw_impedance_out *out)
{
    gw_impedance_work *w = &r->work;
    see_own(r, w, step);
    gw_wrench strike = due(r, w, strike_of(r, w, step->hit));
    gw_wrench u = gw_render_command(r, w);
    r->steady = gw_wrench_add(u, bumpless(r, &w->device, u, w->dt));
    limit(r, w, &strike, out);
    gw_render_damp_device(r, w, step, &out->command);
    brake(r, w, gw_wrench_add(gw_render_command(r, w), gw_render_negative(u)), out);
    out->damped = -w->dt * (gw_render_power(&w->damping, &w->device.twist) +
                            gw_render_power(&w->slowing, &w->model.twist));
    gw_render_hold(r, w);
    gw_passivity_end_tick(&r->port, w->dt);
    keep(r, out, &w->device.twist);
}

void gw_impedance_reset_prediction(gw_impedance_control *r)
{
    r->own_known = false;
}
