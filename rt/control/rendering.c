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
#define REST_TIME     0.1 /* s at least, and at most these speeds (m/s, rad/s): the springs' rest */
#define REST_SPEED    0.25
#define REST_SPIN     1.0
#define SLEW_ARM      0.05 /* m: torques slew at this times as many N m/s */
#define BOUND         0.31 /* half of 0.62, see README.md */
#define BOUND_TICKS   0.62

static const gw_wrench nothing = {{0, 0, 0}, {0, 0, 0}};

/* The paper's coordination (eq. 19, 20). */
static const gw_spring6 paper_coordination = {100, 0.5, 70, 0.375};

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

void gw_rendering_let_go(gw_rendering *r)
{
    bool held = r->started || r->switched;
    gw_port port = r->port;
    gw_rendering_init(r, &r->def);
    r->penalty.eased = r->switched = held;
    r->port.excess = port.excess;
    r->port.balance = port.balance;
}

gw_spring6 gw_coupling_bound(double device_mass, double device_inertia, double model_mass,
                             double model_inertia, double dt, double delay)
{
    double mass = device_mass * model_mass / (device_mass + model_mass);
    double inertia = device_inertia * model_inertia / (device_inertia + model_inertia);
    double omega = BOUND / (delay + BOUND_TICKS * dt);
    return (gw_spring6){mass * omega * omega, inertia * omega * omega, 2 * mass * omega,
                        2 * inertia * omega};
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

static gw_wrench spring_wrench(const gw_spring6 *k, const gw_twist *error, const gw_twist *rate)
{
    return (gw_wrench){gw_mul_add(gw_scale(k->linear, error->v), k->linear_damping, rate->v),
                       gw_mul_add(gw_scale(k->angular, error->w), k->angular_damping, rate->w)};
}

static double spring_energy(const gw_spring6 *k, const gw_twist *error)
{
    return 0.5 * (k->linear * gw_norm2(error->v) + k->angular * gw_norm2(error->w));
}

/* How far a switch has come, 0 .. 1. */
static double eased(const gw_rendering *r)
{
    return r->rest_time < r->rest_lasts ? r->rest_time / r->rest_lasts : 1;
}

/* What is left of the rest that it gave the springs: 1 - 3 x^2 + 2 x^3 of it. */
static gw_twist rest_at(const gw_rendering *r, double x)
{
    double left = 1 - x * x * (3 - 2 * x);
    return (gw_twist){gw_scale(left, r->rest.v), gw_scale(left, r->rest.w)};
}

static gw_twist minus(const gw_twist *a, const gw_twist *b)
{
    return (gw_twist){gw_sub(a->v, b->v), gw_sub(a->w, b->w)};
}

/* The spring on its way to what it is to be: softer, at the same damping ratio. */
static gw_spring6 softer(const gw_spring6 *k, double x)
{
    return (gw_spring6){x * x * k->linear, x * x * k->angular, x * k->linear_damping,
                        x * k->angular_damping};
}

/* The spring's stretch. After a switch its rest goes from where the device is to the model, and its
 * stiffness from none to what it is: it is not tense at first. *booked: the energy that this brings
 * in this tick. */
static gw_twist stretch_of(gw_rendering *r, gw_spring6 *k, const gw_twist *error, double dt,
                           double *booked)
{
    if (r->switched) {
        r->rest = *error;
        r->rest_time = 0;
        r->rest_lasts = 1.5 * fmax(gw_norm(error->v) / REST_SPEED, gw_norm(error->w) / REST_SPIN);
        r->rest_lasts = fmax(r->rest_lasts, REST_TIME);
    }
    double x = eased(r);
    if (!(x < 1))
        return *error;
    gw_twist rest = rest_at(r, x), stretch = minus(error, &rest);
    gw_spring6 soft = softer(k, x);
    double before = spring_energy(&soft, &stretch);
    r->rest_time += dt;
    x = eased(r);
    rest = rest_at(r, x);
    stretch = minus(error, &rest);
    *k = softer(k, x);
    *booked = spring_energy(k, &stretch) - before;
    return stretch;
}

/* How lightly the model may move: a bound of the eigenvalues of Lambda^-1's blocks. */
static void mobility(const double m[6][6], double *linear, double *angular)
{
    double l = 0, a = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            l += m[i][j] * m[i][j];
            a += m[3 + i][3 + j] * m[3 + i][3 + j];
        }
    *linear = fmax(sqrt(l), DBL_MIN);
    *angular = fmax(sqrt(a), DBL_MIN);
}

static bool given(const gw_spring6 *k)
{
    return k->linear > 0 || k->angular > 0 || k->linear_damping > 0 || k->angular_damping > 0;
}

/* Stated, or the paper's with dampings of which a step takes a quarter at most. */
static gw_spring6 coordination_of(const gw_rendering *r, const gw_rendered *model,
                                  const gw_rendering_device *d, double dt)
{
    double linear, angular;
    gw_spring6 k = r->def.coordination;
    if (given(&k))
        return k;
    k = paper_coordination;
    mobility(model->inverse_inertia, &linear, &angular);
    bool keeps = r->def.kind == GW_RENDER_FOUR_CHANNEL;
    double most = 0.25 / (linear + (keeps ? 1 / d->mass : linear)) / dt;
    double most_angular = 0.25 / (angular + (keeps ? 1 / d->inertia : angular)) / dt;
    double a = fmin(1, most / k.linear_damping), b = fmin(1, most_angular / k.angular_damping);
    return (gw_spring6){a * k.linear, b * k.angular, a * k.linear_damping, b * k.angular_damping};
}

static gw_spring6 coupling_of(const gw_rendering *r, const gw_rendered *model,
                              const gw_rendering_device *d, double dt)
{
    double linear, angular;
    if (given(&r->def.coupling))
        return r->def.coupling;
    mobility(model->inverse_inertia, &linear, &angular);
    return gw_coupling_bound(d->mass, d->inertia, fmin(1 / linear, 1e6), fmin(1 / angular, 1e6), dt,
                             d->delay + d->velocity_delay);
}

/* ---- the four controls ---------------------------------------------------------------------- */

/* What a tick works on. */
typedef struct work {
    const gw_rendered *model;
    gw_rendering_device device; /* as control knows it */
    gw_twist error, rate;       /* model less device */
    gw_wrench hand;
    gw_wrench spring;  /* F_pc or F_vc on the device */
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

/* u_add of eq. 18; on/off weights put energy in, which is booked. */
static gw_wrench penalties(gw_rendering *r, const work *w, double *weights, double *booked)
{
    if (r->def.kind != GW_RENDER_PENALTY)
        return nothing;
    gw_penalty_def def = {.stiffness = r->def.penalty,
                          .damping = r->def.penalty_damping,
                          .mass = w->device.mass,
                          .inertia = w->device.inertia,
                          .by_mass = r->def.penalty_by_mass,
                          .at_once = r->def.resisted.weighting == GW_WEIGHTS_ON_OFF};
    gw_wrench u =
        gw_penalty_tick(&r->penalty, &def, &r->resisted, &w->error, &w->rate, w->dt, weights);
    *booked = def.at_once || def.by_mass ? *weights : 0;
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
    *on_model = negative(w->spring);
    return add(add(w->spring, w->damping), drag(&w->device, &w->device.twist));
}

/* ---- the port ------------------------------------------------------------------------------- */

static bool feeds_forward(const gw_rendering *r)
{
    return r->def.kind != GW_RENDER_COUPLING;
}

/* The device moves as the model would. */
static bool matches(const gw_rendering *r)
{
    return r->def.kind == GW_RENDER_IMPEDANCE || r->def.kind == GW_RENDER_PENALTY;
}

/* The most that a step of the system with this mobility bears (N s/m). */
static double bearable(double linear, double angular, double arm, double dt)
{
    return 0.25 / (fmax(linear, angular * arm * arm) * dt);
}

/* Books the last tick; the damping that its excess asks for, of the device and, where the hand's
 * force is fed to it, of the model. */
static void watch(gw_rendering *r, work *w, double stored, double booked)
{
    double linear, angular, arm = r->resisted.length;
    const gw_rendering_device *d = &w->device;
    gw_port_observe(&r->port, &d->pose, &w->model->pose, stored + r->penalty.tank, booked,
                    delay_ticks(d, w->dt));
    if (!r->def.passivity)
        return;
    mobility(w->model->inverse_inertia, &linear, &angular);
    double of_model = bearable(linear, angular, arm, w->dt);
    double of_device = bearable(1 / d->mass, 1 / d->inertia, arm, w->dt);
    double due = gw_port_due(&r->port) * (feeds_forward(r) ? 0.5 : 1);
    w->damping = gw_port_damping(due, &d->twist, arm,
                                 matches(r) ? fmin(of_model, of_device) : of_device, w->dt);
    if (feeds_forward(r))
        w->slowing = gw_port_damping(due, &w->model->twist, arm, of_model, w->dt);
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

gw_rendering_out gw_rendering_tick(gw_rendering *r, const gw_rendered *model,
                                   const gw_rendering_device *device, double dt)
{
    gw_rendering_out out = {.weights = 0};
    work w = {.model = model, .device = known(r, device), .dt = dt};
    bool coupled = r->def.kind == GW_RENDER_COUPLING;
    find_directions(r, model);
    estimate(r, &w.device, dt);
    w.hand = out.hand = hand_of(r, &w.device);

    /* the collision's share of the device: a coupling is shown none */
    gw_wrench a = of_six(model->hit);
    gw_wrench strike = coupled ? nothing : in_reach(&w.device, weigh(&w.device, a));
    strike = (gw_wrench){gw_scale(dt, strike.f), gw_scale(dt, strike.t)};

    /* springs between device and model */
    gw_twist to_be = arriving(r, &w.device, &strike, dt);
    w.error = gw_pose_sub(&model->pose, &device->pose);
    w.rate = (gw_twist){gw_sub(model->twist.v, to_be.v), gw_sub(model->twist.w, to_be.w)};
    gw_spring6 k =
        coupled ? coupling_of(r, model, &w.device, dt) : coordination_of(r, model, &w.device, dt);
    double booked = 0, by_weights = 0;
    gw_twist stretch = stretch_of(r, &k, &w.error, dt, &booked);
    w.spring = spring_wrench(&k, &stretch, &w.rate);
    w.penalty = penalties(r, &w, &out.weights, &by_weights);
    out.stored = spring_energy(&k, &stretch) + r->penalty.stored;

    watch(r, &w, out.stored, booked + by_weights);
    gw_wrench u = in_reach(&w.device, steady_command(r, &w, &out.on_model));
    r->steady = add(u, bumpless(r, &w.device, u, dt));
    out.limited = gw_limit3(&r->steady.f, device->force_max);
    out.limited = gw_limit3(&r->steady.t, device->torque_max) || out.limited;

    gw_struck struck = gw_strike_tick(&r->strike, &strike, &r->steady, device->force_max,
                                      device->torque_max, r->def.impulse_budget, dt);
    out.impulse = struck.wrench;
    out.withheld = gw_norm(struck.withheld.f);
    out.withheld_turn = gw_norm(struck.withheld.t);
    out.limited = out.limited || struck.limited;
    out.command = add(r->steady, struck.wrench);
    out.damped = -dt * (power(&w.damping, &device->twist) + power(&w.slowing, &model->twist));
    hold(r, &w, &out.on_model);
    keep(r, &out, &device->twist);
    return out;
}
