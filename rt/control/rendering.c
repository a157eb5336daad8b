/*
 * The four controls of impedance devices. Each tick: the hand's wrench, the springs between device
 * and model, the acceleration that the device is to have, what the port's observer asks for, then
 * limits and impulses. On the loop's thread, RT safe.
 */
#include "rt/control/rendering.h"

#include <float.h>
#include <string.h>

#include "rt/control/admittance.h"

#define ESTIMATE_TIME 0.005  /* s: filter of the estimated wrench */
#define SLEW          1000.0 /* N/s */
#define SLEW_SPEED    0.05   /* m/s, rad/s: what the rest of an old command may give the device */
#define SLEW_SPIN     0.5
#define SLEW_ARM      0.05 /* m: torques slew at this times as many N m/s */

static const gw_wrench nothing = {{0, 0, 0}, {0, 0, 0}};

gw_rendering_def gw_rendering_def_default(void)
{
    return (gw_rendering_def){.kind = GW_RENDER_PENALTY,
                              .jdot = GW_JDOT_FULL,
                              .hand = GW_HAND_MEASURED,
                              .penalty = 200,
                              .penalty_damping = 50};
}

void gw_rendering_init(gw_rendering *r, const gw_rendering_def *def)
{
    *r = (gw_rendering){.def = *def};
}

void gw_rendering_switch(gw_rendering *r, const gw_rendering_def *def)
{
    r->def = *def;
    r->penalty = (gw_penalty){.eased = r->started};
    r->port.started = false;
    r->switched = r->started;
}

void gw_rendering_let_go(gw_rendering *r, double dt)
{
    bool held = r->started || r->switched;
    gw_port port = r->port;
    gw_rendering_init(r, &r->def);
    r->penalty.eased = r->switched = held;
    r->port = port;
    r->port.started = false;
    gw_port_pass(&r->port, dt);
}

/* ---- wrenches as six numbers ---------------------------------------------------------------- */

static gw_wrench add(gw_wrench a, gw_wrench b)
{
    return (gw_wrench){gw_add(a.f, b.f), gw_add(a.t, b.t)};
}

static gw_wrench negative(gw_wrench a)
{
    return (gw_wrench){gw_neg(a.f), gw_neg(a.t)};
}

static double power(const gw_wrench *w, const gw_twist *twist)
{
    return gw_dot(w->f, twist->v) + gw_dot(w->t, twist->w);
}

static gw_wrench of_six(const double x[6])
{
    return (gw_wrench){{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

/* [a; alpha] = Lambda^-1 F */
static gw_wrench accelerate(const double inverse[6][6], gw_wrench w)
{
    const double x[6] = {w.f.x, w.f.y, w.f.z, w.t.x, w.t.y, w.t.z};
    double y[6];
    for (int i = 0; i < 6; i++) {
        y[i] = 0;
        for (int j = 0; j < 6; j++)
            y[i] += inverse[i][j] * x[j];
    }
    return of_six(y);
}

/* M_d [a; alpha] */
static gw_wrench weigh(const gw_rendering_device *d, gw_wrench a)
{
    return (gw_wrench){gw_scale(d->mass, a.f), gw_scale(d->inertia, a.t)};
}

/* C_d x-dot */
static gw_wrench drag(const gw_rendering_device *d, const gw_twist *twist)
{
    return (gw_wrench){gw_scale(d->damping, twist->v), gw_scale(d->damping_angular, twist->w)};
}

/* What a planar device can exert, or be pushed by. */
static gw_wrench in_reach(const gw_rendering_device *d, gw_wrench w)
{
    if (d->planar)
        w.f.z = w.t.x = w.t.y = 0;
    return w;
}

/* ---- the hand's wrench ---------------------------------------------------------------------- */

static int past(const gw_rendering *r, int ticks)
{
    return (r->at - ticks) & (GW_RENDERING_PAST - 1);
}

static int delay_ticks(const gw_rendering_device *d, double dt)
{
    return (int)fmin(d->delay / dt + 0.5, GW_RENDERING_PAST - 2);
}

/* F = M_d a + C_d v - u over the last tick, first-order filter. */
static void estimate(gw_rendering *r, const gw_rendering_device *d, double dt)
{
    if (!r->started)
        return;
    gw_twist mean = {gw_scale(0.5, gw_add(d->twist.v, r->last_twist.v)),
                     gw_scale(0.5, gw_add(d->twist.w, r->last_twist.w))};
    gw_wrench rate = {gw_scale(1 / dt, gw_sub(d->twist.v, r->last_twist.v)),
                      gw_scale(1 / dt, gw_sub(d->twist.w, r->last_twist.w))};
    gw_wrench u = r->sent[past(r, delay_ticks(d, dt))];
    gw_wrench raw = add(add(weigh(d, rate), drag(d, &mean)), negative(u));
    double part = dt / (dt + ESTIMATE_TIME);
    r->estimate.f = gw_add(gw_scale(1 - part, r->estimate.f), gw_scale(part, raw.f));
    r->estimate.t = gw_add(gw_scale(1 - part, r->estimate.t), gw_scale(part, raw.t));
}

static gw_wrench hand_of(const gw_rendering *r, const gw_rendering_device *d)
{
    switch (r->def.hand) {
    case GW_HAND_MEASURED:
        return in_reach(d, d->hand);
    case GW_HAND_ESTIMATED:
        return in_reach(d, r->estimate);
    case GW_HAND_UNKNOWN:
        break;
    }
    return nothing;
}

/* ---- springs between device and model ------------------------------------------------------- */

/* The device's velocity once the impulses that are under way have reached it. */
static gw_twist arriving(const gw_rendering *r, const gw_rendering_device *d,
                         const gw_wrench *strike, double dt)
{
    gw_wrench sum = add(*strike, r->strike.owed);
    for (int i = 0; i < delay_ticks(d, dt); i++) {
        gw_wrench w = r->struck[past(r, i)];
        sum = (gw_wrench){gw_mul_add(sum.f, dt, w.f), gw_mul_add(sum.t, dt, w.t)};
    }
    return (gw_twist){gw_mul_add(d->twist.v, 1 / d->mass, sum.f),
                      gw_mul_add(d->twist.w, 1 / d->inertia, sum.t)};
}

static gw_mobility mobility_of_device(const gw_rendering_device *d)
{
    return (gw_mobility){1 / d->mass, 1 / d->inertia};
}

/* K_pc, B_pc; under impedance control the device moves as lightly as the model. */
static gw_spring6 coordination_of(const gw_rendering *r, const gw_rendered *model,
                                  const gw_rendering_device *d, double dt)
{
    gw_spring6 paper = GW_PAPER_COORDINATION;
    if (gw_spring_given(&r->def.coordination))
        return r->def.coordination;
    gw_mobility of_model = gw_mobility_of(model->inverse_inertia);
    gw_mobility of_device =
        r->def.kind == GW_RENDER_FOUR_CHANNEL ? mobility_of_device(d) : of_model;
    return gw_spring_borne(&paper, of_model, of_device, dt);
}

/* K_vc, B_vc */
static gw_spring6 coupling_of(const gw_rendering *r, const gw_rendered *model,
                              const gw_rendering_device *d, double dt)
{
    if (gw_spring_given(&r->def.coupling))
        return r->def.coupling;
    gw_mobility m = gw_mobility_of(model->inverse_inertia);
    return gw_coupling_bound(d->mass, d->inertia, fmin(1 / m.linear, 1e6), fmin(1 / m.angular, 1e6),
                             dt, d->delay + d->velocity_delay);
}

/* ---- the four controls ---------------------------------------------------------------------- */

/* What a tick works on. */
typedef struct work {
    const gw_rendered *model;
    gw_rendering_device device; /* as control knows it */
    gw_twist error, rate;       /* model less device */
    gw_wrench hand;
    gw_spring6 k; /* K_pc, B_pc or K_vc, B_vc */
    gw_twist stretch;
    gw_wrench spring; /* F_pc or F_vc on the device */
    gw_penalty_def penalties;
    gw_wrench penalty; /* u_add */
    gw_wrench damping; /* of the port's controller, on the device */
    gw_wrench slowing; /* and on the model */
    double dt;
} work;

/* u = M_d (Lambda^-1 (F_h + F_pc) + J D^-1 tau + J-dot v) + C_d x-dot - F_h   (eq. 11) */
static gw_wrench impedance(const gw_rendering *r, const work *w)
{
    gw_wrench acting = add(add(w->hand, w->spring), w->damping);
    gw_wrench a = add(accelerate(w->model->inverse_inertia, acting), of_six(w->model->free));
    if (r->def.jdot == GW_JDOT_FULL)
        a = add(a, of_six(w->model->drift));
    gw_wrench u = add(weigh(&w->device, a), drag(&w->device, &w->device.twist));
    return add(u, negative(w->hand));
}

static gw_penalty_def penalties_of(const gw_rendering *r, const gw_rendering_device *d)
{
    return (gw_penalty_def){.stiffness = r->def.penalty,
                            .damping = r->def.penalty_damping,
                            .mass = d->mass,
                            .inertia = d->inertia,
                            .by_mass = r->def.penalty_by_mass,
                            .at_once = r->def.resisted.weighting == GW_WEIGHTS_ON_OFF};
}

/* u_add of eq. 18; on/off weights put energy in, which is booked. */
static gw_wrench penalties(gw_rendering *r, const work *w, double *weights, double *booked)
{
    const gw_penalty_def *def = &w->penalties;
    if (r->def.kind != GW_RENDER_PENALTY)
        return nothing;
    gw_wrench u =
        gw_penalty_tick(&r->penalty, def, &r->resisted, &w->error, &w->rate, w->dt, weights);
    *booked = def->at_once || def->by_mass ? *weights : 0;
    return u;
}

/* u = M_d J D^-1 tau + F_pc + C_d x-dot; the device keeps its own inertia (mechanisms II). */
static gw_wrench four_channel(const work *w)
{
    gw_wrench u = add(weigh(&w->device, of_six(w->model->free)), add(w->spring, w->damping));
    return add(u, drag(&w->device, &w->device.twist));
}

static gw_wrench steady_command(const gw_rendering *r, const work *w, gw_wrench *on_model)
{
    switch (r->def.kind) {
    case GW_RENDER_IMPEDANCE:
    case GW_RENDER_PENALTY:
        *on_model = add(w->hand, add(negative(w->spring), w->slowing));
        return add(impedance(r, w), w->penalty);
    case GW_RENDER_FOUR_CHANNEL:
        *on_model = add(w->hand, add(negative(w->spring), w->slowing));
        return four_channel(w);
    case GW_RENDER_COUPLING:
        break;
    }
    *on_model = add(negative(w->spring), w->slowing);
    return add(add(w->spring, w->damping), drag(&w->device, &w->device.twist));
}

/* ---- the port ------------------------------------------------------------------------------- */

static bool feeds_forward(const gw_rendering *r)
{
    return r->def.kind != GW_RENDER_COUPLING;
}

/* Books the last tick. What is owed the springs pay, by growing slack; what they gave they get back
 * of what is lost below the last second's least. */
static void settle(gw_rendering *r, work *w, double stored, double booked)
{
    gw_port *port = &r->port;
    port->watched = r->def.passivity;
    gw_port_observe(port, &w->device.pose, &w->model->pose, stored + r->penalty.tank, booked,
                    delay_ticks(&w->device, w->dt));
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

/* The device yields to the hand, against the springs' dampers and its own mass. */
static gw_wrench yielding(gw_rendering *r, const work *w)
{
    if (!r->def.passivity || !feeds_forward(r))
        return nothing;
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
static double stored_ahead(const gw_rendering *r, const work *w, const gw_twist *way)
{
    gw_twist then = {gw_add(w->stretch.v, way->v), gw_add(w->stretch.w, way->w)};
    double springs = gw_spring_energy(&w->k, &then) - gw_spring_energy(&w->k, &w->stretch);
    if (r->def.kind != GW_RENDER_PENALTY)
        return springs;
    return springs - r->penalty.stored - r->penalty.tank +
           gw_penalty_ahead(&r->penalty, &w->penalties, r->resisted.length, way, w->dt);
}

/* The coming tick under this command, without damping. */
static gw_port_ahead look_ahead(const gw_rendering *r, const work *w, const gw_wrench *command,
                                const gw_wrench *on_model)
{
    const gw_rendering_device *d = &w->device;
    int delay = delay_ticks(d, w->dt);
    gw_wrench springs = add(w->spring, w->penalty);
    gw_wrench acts = add(delay ? r->sent[past(r, delay - 1)] : *command, w->hand);
    acts = in_reach(d, add(acts, negative(drag(d, &d->twist))));
    gw_wrench a = {gw_scale(1 / d->mass, acts.f), gw_scale(1 / d->inertia, acts.t)};
    gw_wrench b = add(accelerate(w->model->inverse_inertia, *on_model),
                      add(of_six(w->model->free), of_six(w->model->drift)));
    gw_port_ahead ahead = {.device = way_of(&d->twist, a, w->dt),
                           .model = way_of(&w->model->twist, b, w->dt),
                           .on_device = gw_port_acting(&r->port, &springs, delay),
                           .on_model = *on_model,
                           .fed = feeds_forward(r) ? w->hand : nothing};
    gw_twist apart = {gw_sub(ahead.model.v, ahead.device.v), gw_sub(ahead.model.w, ahead.device.w)};
    ahead.springs = stored_ahead(r, w, &apart);
    return ahead;
}

/* The device moves as the model would. */
static bool matches(const gw_rendering *r)
{
    return r->def.kind == GW_RENDER_IMPEDANCE || r->def.kind == GW_RENDER_PENALTY;
}

/* The damping that keeps the port from owing: device and model lose speed at one rate. */
static void damp(gw_rendering *r, work *w, const gw_wrench *command, const gw_wrench *on_model)
{
    if (!r->def.passivity)
        return;
    gw_mobility of_model = gw_mobility_of(w->model->inverse_inertia);
    gw_mobility of_device = matches(r) ? of_model : mobility_of_device(&w->device);
    gw_port_ahead ahead = look_ahead(r, w, command, on_model);
    double rate = gw_port_rate(gw_port_to_be_lost(&r->port, &ahead, w->dt), of_device, of_model,
                               &ahead, delay_ticks(&w->device, w->dt) > 0, w->dt);
    w->damping = gw_port_damping(rate, of_device, &ahead.device, w->dt);
    w->slowing = gw_port_damping(rate, of_model, &ahead.model, w->dt);
}

/* What is held until the next tick, for the next booking. */
static void hold(gw_rendering *r, const work *w, const gw_wrench *on_model)
{
    gw_wrench on_device = add(add(w->spring, w->penalty), w->damping);
    gw_port_hold(&r->port, &on_device, on_model, feeds_forward(r) ? &w->hand : &nothing);
}

/* ---- limits --------------------------------------------------------------------------------- */

/* How long a switch takes: by the slew limit, or sooner where what is left of the old command would
 * throw the device about. */
static double switch_time(const gw_rendering *r, const gw_rendering_device *d)
{
    double slew = r->def.slew > 0 ? r->def.slew : SLEW;
    double f = fmax(gw_norm(r->bump.f), DBL_MIN), t = fmax(gw_norm(r->bump.t), DBL_MIN);
    double thrown = fmin(SLEW_SPEED * d->mass / f, SLEW_SPIN * d->inertia / t);
    return fmin(fmax(f, t / SLEW_ARM) / slew, 2 * thrown);
}

/* After a switch the command is u + (1 - t/T) (what was less what is): that second part. */
static gw_wrench bumpless(gw_rendering *r, const gw_rendering_device *d, gw_wrench u, double dt)
{
    if (r->switched) {
        r->bump = add(r->steady, negative(u));
        r->bump_time = 0;
        r->bump_lasts = switch_time(r, d);
        r->switched = false;
    }
    if (!(r->bump_lasts > r->bump_time))
        return nothing;
    double left = 1 - r->bump_time / r->bump_lasts;
    r->bump_time += dt;
    return (gw_wrench){gw_scale(left, r->bump.f), gw_scale(left, r->bump.t)};
}

static gw_rendering_device known(const gw_rendering *r, const gw_rendering_device *device)
{
    gw_rendering_device d = *device;
    double part = r->def.mass_known > 0 ? r->def.mass_known : 1;
    d.mass *= part;
    d.inertia *= part;
    return d;
}

static void keep(gw_rendering *r, const gw_rendering_out *out, const gw_twist *twist)
{
    r->at = (r->at + 1) & (GW_RENDERING_PAST - 1);
    r->sent[r->at] = out->command;
    r->struck[r->at] = out->impulse;
    r->last_twist = *twist;
    r->started = true;
}

/* Directions that this control holds back, for the penalties and for display. */
static void find_directions(gw_rendering *r, const gw_rendered *model)
{
    if (model->directions)
        r->resisted = *model->directions;
    else
        gw_resisted_at(&r->def.resisted, model->dof, model->jacobian, &r->resisted);
}

/* The collision's share of the device (N s, N m s); a coupling is shown none. */
static gw_wrench strike_of(const gw_rendering *r, const work *w)
{
    if (r->def.kind == GW_RENDER_COUPLING)
        return nothing;
    gw_wrench hit = in_reach(&w->device, weigh(&w->device, of_six(w->model->hit)));
    return (gw_wrench){gw_scale(w->dt, hit.f), gw_scale(w->dt, hit.t)};
}

/* Springs between device and model, coordination or coupling and penalties, and what they pay. */
static void pull(gw_rendering *r, work *w, const gw_wrench *strike, gw_rendering_out *out)
{
    const gw_rendered *model = w->model;
    gw_twist to_be = arriving(r, &w->device, strike, w->dt);
    w->error = gw_pose_sub(&model->pose, &w->device.pose);
    w->rate = (gw_twist){gw_sub(model->twist.v, to_be.v), gw_sub(model->twist.w, to_be.w)};
    w->k = r->def.kind == GW_RENDER_COUPLING ? coupling_of(r, model, &w->device, w->dt)
                                             : coordination_of(r, model, &w->device, w->dt);
    w->penalties = penalties_of(r, &w->device);
    double by_easing, by_weights = 0;
    if (r->switched)
        gw_easing_start(&r->easing, &w->error);
    w->stretch = gw_easing_tick(&r->easing, &w->k, &w->error, w->dt, &by_easing);
    w->penalty = penalties(r, w, &out->weights, &by_weights);
    settle(r, w, gw_spring_energy(&w->k, &w->stretch) + r->penalty.stored, by_easing + by_weights);
    w->spring = add(gw_spring_wrench(&w->k, &w->stretch, &w->rate), yielding(r, w));
    out->stored = gw_spring_energy(&w->k, &w->stretch) + r->penalty.stored;
}

/* Within the device's limits; impulses have what the rest leaves of them. */
static void limit(gw_rendering *r, const work *w, const gw_wrench *strike, gw_rendering_out *out)
{
    const gw_rendering_device *d = &w->device;
    bool cut = gw_limit3(&r->steady.f, d->force_max);
    cut = gw_limit3(&r->steady.t, d->torque_max) || cut;
    gw_struck struck = gw_strike_tick(&r->strike, strike, &r->steady, d->force_max, d->torque_max,
                                      r->def.impulse_budget, w->dt);
    out->command = add(r->steady, struck.wrench);
    out->impulse = struck.wrench;
    out->withheld = gw_norm(struck.withheld.f);
    out->withheld_turn = gw_norm(struck.withheld.t);
    out->limited = cut || struck.limited;
}

/* The damping's part of the command, within the limits. */
static void brake(gw_rendering *r, const work *w, gw_wrench damping, gw_rendering_out *out)
{
    r->steady = add(r->steady, damping);
    out->command = add(out->command, damping);
    out->limited = gw_limit3(&out->command.f, w->device.force_max) || out->limited;
    out->limited = gw_limit3(&out->command.t, w->device.torque_max) || out->limited;
}

gw_rendering_out gw_rendering_tick(gw_rendering *r, const gw_rendered *model,
                                   const gw_rendering_device *device, double dt)
{
    gw_rendering_out out = {.weights = 0};
    work w = {.model = model, .device = known(r, device), .dt = dt};
    find_directions(r, model);
    estimate(r, &w.device, dt);
    w.hand = out.hand = hand_of(r, &w.device);
    gw_wrench strike = strike_of(r, &w);
    pull(r, &w, &strike, &out);

    gw_wrench u = in_reach(&w.device, steady_command(r, &w, &out.on_model));
    r->steady = add(u, bumpless(r, &w.device, u, dt));
    limit(r, &w, &strike, &out);
    damp(r, &w, &out.command, &out.on_model);
    gw_wrench damped = in_reach(&w.device, steady_command(r, &w, &out.on_model));
    brake(r, &w, add(damped, negative(u)), &out);
    out.damped = -dt * (power(&w.damping, &device->twist) + power(&w.slowing, &model->twist));
    hold(r, &w, &out.on_model);
    gw_port_pass(&r->port, dt);
    keep(r, &out, &device->twist);
    return out;
}
