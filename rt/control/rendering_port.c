/*
 * What the port's observer and controller ask of a tick: what springs pay, how far the device
 * yields to the hand, and the damping. On the loop's thread, RT safe.
 */
#include "rt/control/rendering_data.h"

static bool feeds_forward(const gw_rendering *r)
{
    return r->def.kind != GW_RENDER_COUPLING;
}

void gw_render_settle(gw_rendering *r, gw_render_work *w, double stored, double booked)
{
    gw_port *port = &r->port;
    port->escrow_most = r->def.passivity ? GW_PORT_ESCROW * w->dt : 0;
    gw_port_observe(port, &w->device.pose, &w->model->pose, stored + r->penalty.tank, booked,
                    gw_render_delay(&w->device, w->dt));
    if (!r->def.passivity)
        return;
    double owed = gw_port_owed(port, w->dt);
    if (owed > 0) {
        double paid =
            gw_penalty_pay(&r->penalty, &w->penalties, r->resisted.length, owed, &w->penalty);
        paid += gw_easing_pay(&r->easing, &w->k, &w->stretch, owed - paid);
        gw_port_charge(port, -paid);
    } else {
        double lost = gw_port_reserve(port, GW_PORT_PARTS, w->dt);
        gw_port_charge(port, gw_easing_recover(&r->easing, &w->k, &w->stretch, 0.5 * lost, w->dt));
    }
    gw_port_redeem(port, w->dt);
}

gw_wrench gw_render_yielding(gw_rendering *r, const gw_render_work *w)
{
    if (!r->def.passivity || !feeds_forward(r))
        return gw_render_nothing;
    gw_vec3 ahead = gw_sub(w->device.twist.v, w->model->twist.v);
    double share =
        gw_port_yield(&r->port, w->hand.f, ahead, w->device.mass, w->k.linear_damping, w->dt);
    return (gw_wrench){gw_scale(share, w->hand.f), {0, 0, 0}};
}

/* The way of what starts so and is accelerated so: v dt + a dt^2/2. */
static gw_twist way_of(const gw_twist *twist, gw_wrench a, double dt)
{
    return (gw_twist){gw_mul_add(gw_scale(dt, twist->v), 0.5 * dt * dt, a.f),
                      gw_mul_add(gw_scale(dt, twist->w), 0.5 * dt * dt, a.t)};
}

/* What springs will store more where the model goes on by `way` against the device (J). */
static double stored_ahead(const gw_rendering *r, const gw_render_work *w, const gw_twist *way)
{
    gw_twist along = gw_render_followed(r, way);
    gw_twist then = {gw_add(w->stretch.v, along.v), gw_add(w->stretch.w, along.w)};
    double springs = gw_spring_energy(&w->k, &then) - gw_spring_energy(&w->k, &w->stretch);
    if (!gw_render_penalises(r))
        return springs;
    return springs - r->penalty.stored - r->penalty.tank +
           gw_penalty_ahead(&r->penalty, &w->penalties, r->resisted.length, way, w->dt);
}

/* The coming tick under this command, without damping. */
static gw_port_ahead look_ahead(const gw_rendering *r, const gw_render_work *w,
                                const gw_wrench *command, const gw_wrench *on_model)
{
    const gw_rendering_device *d = &w->device;
    int delay = gw_render_delay(d, w->dt);
    gw_wrench springs = gw_wrench_add(w->spring, w->penalty);
    gw_wrench acts =
        gw_wrench_add(delay ? r->sent[gw_render_past(r, delay - 1)] : *command, w->hand);
    acts = gw_render_in_reach(
        d, gw_wrench_add(acts, gw_render_negative(gw_render_drag(d, &d->twist))));
    gw_wrench a = {gw_scale(1 / d->mass, acts.f), gw_scale(1 / d->inertia, acts.t)};
    gw_wrench b = gw_wrench_add(
        gw_render_accelerate(w->model->inverse_inertia, *on_model),
        gw_wrench_add(gw_render_of_six(w->model->free), gw_render_of_six(w->model->drift)));
    gw_port_ahead ahead = {.device = way_of(&d->twist, a, w->dt),
                           .model = way_of(&w->model->twist, b, w->dt),
                           .on_device = gw_port_acting(&r->port, &springs, delay),
                           .on_model = *on_model,
                           .fed = feeds_forward(r) ? w->hand : gw_render_nothing};
    gw_twist apart = {gw_sub(ahead.model.v, ahead.device.v), gw_sub(ahead.model.w, ahead.device.w)};
    ahead.springs = stored_ahead(r, w, &apart);
    return ahead;
}

bool gw_render_was_struck(const gw_rendered *model)
{
    for (int i = 0; i < 6; i++)
        if (model->hit[i] != 0)
            return true;
    return false;
}

void gw_render_damp(gw_rendering *r, gw_render_work *w, const gw_wrench *command,
                    const gw_wrench *on_model)
{
    if (!r->def.passivity)
        return;
    gw_mobility of_model = gw_mobility_of(w->model->inverse_inertia);
    gw_mobility of_device = gw_render_matches(r) ? of_model : gw_render_mobility(&w->device);
    gw_port_ahead ahead = look_ahead(r, w, command, on_model);
    bool struck = gw_render_was_struck(w->model);
    double rate = gw_port_rate(gw_port_to_be_lost(&r->port, &ahead, w->dt), of_device, of_model,
                               &ahead, gw_render_delay(&w->device, w->dt) > 0, struck, w->dt);
    w->damping = gw_port_damping(rate, of_device, &ahead.device, w->dt);
    if (!struck)
        w->slowing = gw_port_damping(rate, of_model, &ahead.model, w->dt);
}

void gw_render_hold(gw_rendering *r, const gw_render_work *w, const gw_wrench *on_model)
{
    gw_wrench on_device = gw_wrench_add(gw_wrench_add(w->spring, w->penalty), w->damping);
    gw_port_hold(&r->port, &on_device, on_model, feeds_forward(r) ? &w->hand : &gw_render_nothing);
}
