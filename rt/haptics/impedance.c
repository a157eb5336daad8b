/*
 * The four control laws of impedance devices, from the hand's wrench to the command. In the order
 * of a tick: the wrench of the hand, the springs between device and model with their penalties, the
 * control laws, the passivity observer and its damping, impulses and limits, and last the two
 * halves of a tick, which call all of it in order. On the loop's thread, RT safe.
 *
 * Source: mechanisms II (four channels), IV (eq. 11), V (eq. 17, 18), VIII; README.md.
 */
#include "rt/haptics/impedance.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "rt/base/small.h"

#define ESTIMATE_TIME 0.005  /* s: time constant of the filter of the estimated wrench */
#define SLEW          1000.0 /* N/s: the default slew limit after a switch */
#define SLEW_SPEED                                                                                 \
    0.05 /* m/s, rad/s: speed that the remainder of an old command may give the device */
#define SLEW_SPIN 0.5
#define SLEW_ARM  0.05 /* m: torques slew at so many N m/s per N/s */
#define SAFETY_FACTOR                                                                              \
    1.1 /* on the energy to be dissipated: the mass that damping assumes is a bound */
#define STILL               1e-9 /* m, rad: round-off of a pose in a tick */
#define YIELD_SHARE         0.25 /* of the hand's force, where there is no motion to be damped */
#define PREDICTED_SHARE_MAX 0.25 /* of a speed, at most, taken in a tick by predicted damping */

static const gw_wrench no_wrench = {{0, 0, 0}, {0, 0, 0}};

/* ---- arithmetic of wrenches ---------------------------------------------------------------- */

static double power_of(const gw_wrench *w, const gw_twist *twist)
{
    return gw_dot(w->f, twist->v) + gw_dot(w->t, twist->w);
}

static gw_wrench wrench_of(const double x[6])
{
    return (gw_wrench){{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

/* [a; alpha] = Lambda^-1 F */
static gw_wrench acceleration_under(const double inverse[6][6], gw_wrench w)
{
    const double x[6] = {w.f.x, w.f.y, w.f.z, w.t.x, w.t.y, w.t.z};
    double y[6];
    for (int i = 0; i < 6; i++) {
        y[i] = 0;
        for (int j = 0; j < 6; j++)
            y[i] += inverse[i][j] * x[j];
    }
    return wrench_of(y);
}

/* M_d [a; alpha] */
static gw_wrench inertia_times(const gw_impedance_device *d, gw_wrench a)
{
    return (gw_wrench){gw_scale(d->mass, a.f), gw_scale(d->inertia, a.t)};
}

/* C_d x-dot */
static gw_wrench friction_at(const gw_impedance_device *d, const gw_twist *twist)
{
    return (gw_wrench){gw_scale(d->damping, twist->v), gw_scale(d->damping_angular, twist->w)};
}

/* The part of a wrench that a planar device can exert or feel. */
static gw_wrench exertable_part(const gw_impedance_device *d, gw_wrench w)
{
    if (d->planar)
        w.f.z = w.t.x = w.t.y = 0;
    return w;
}

/* ---- history ------------------------------------------------------------------------ */

static int history_at(const gw_impedance_control *c, int ticks)
{
    return (c->at - ticks) & (GW_IMPEDANCE_HISTORY - 1);
}

static int delay_ticks(const gw_impedance_device *d, double dt)
{
    return (int)fmin(d->delay / dt + 0.5, GW_IMPEDANCE_HISTORY - 2);
}

gw_impedance_def gw_impedance_def_default(void)
{
    return (gw_impedance_def){.kind = GW_LAW_PENALTY,
                              .jdot = GW_JDOT_FULL,
                              .hand = GW_HAND_MEASURED,
                              .penalty = 200,
                              .penalty_damping = 50};
}

void gw_impedance_init(gw_impedance_control *c, const gw_impedance_def *def)
{
    assert(c && def);
    *c = (gw_impedance_control){.def = *def};
}

/* True if the same springs hold the device: with four channels, where a restart at an edit of the
 * scene would leave it to the hand's force, and at a coupling, which is all that the hand feels. */
static bool keeps_springs(const gw_impedance_def *was, const gw_impedance_def *def)
{
    if (was->kind != def->kind)
        return false;
    if (def->kind == GW_LAW_COUPLING)
        return memcmp(&was->coupling, &def->coupling, sizeof def->coupling) == 0;
    return def->kind == GW_LAW_FOUR_CHANNEL &&
           memcmp(&was->coordination, &def->coordination, sizeof def->coordination) == 0;
}

void gw_impedance_switch(gw_impedance_control *c, const gw_impedance_def *def)
{
    assert(c && def);
    c->springs_go_on = c->started && keeps_springs(&c->def, def);
    c->def = *def;
    c->penalty = (gw_penalty){.eased = c->started};
    c->slip = (gw_penalty){.started = false};
    c->observer.started = c->observer.started && c->springs_go_on;
    c->switched = c->started;
}

void gw_impedance_disengage(gw_impedance_control *c, double dt)
{
    assert(c && dt > 0);
    bool held = c->started || c->switched;
    gw_passivity_observer observer = c->observer;
    gw_impedance_init(c, &c->def);
    c->penalty.eased = c->switched = held;
    c->observer = observer;
    c->observer.started = false;
    gw_passivity_end_tick(&c->observer, dt);
}

/* ---- the hand's wrench ---------------------------------------------------------------------- */

/* F = M_d a + C_d v - u over the last tick, first-order filter. */
static void estimate_hand(gw_impedance_control *c, const gw_impedance_device *d, double dt)
{
    if (!c->started)
        return;
    gw_twist mean = {gw_scale(0.5, gw_add(d->twist.v, c->last_twist.v)),
                     gw_scale(0.5, gw_add(d->twist.w, c->last_twist.w))};
    gw_wrench rate = {gw_scale(1 / dt, gw_sub(d->twist.v, c->last_twist.v)),
                      gw_scale(1 / dt, gw_sub(d->twist.w, c->last_twist.w))};
    gw_wrench u = c->sent[history_at(c, delay_ticks(d, dt))];
    gw_wrench raw = gw_wrench_add(gw_wrench_add(inertia_times(d, rate), friction_at(d, &mean)),
                                  gw_wrench_neg(u));
    double part = dt / (dt + ESTIMATE_TIME);
    c->estimate.f = gw_add(gw_scale(1 - part, c->estimate.f), gw_scale(part, raw.f));
    c->estimate.t = gw_add(gw_scale(1 - part, c->estimate.t), gw_scale(part, raw.t));
}

static gw_wrench hand_wrench(const gw_impedance_control *c, const gw_impedance_device *d)
{
    switch (c->def.hand) {
    case GW_HAND_MEASURED:
        return exertable_part(d, d->hand);
    case GW_HAND_ESTIMATED:
        return exertable_part(d, c->estimate);
    case GW_HAND_UNKNOWN:
        break;
    }
    return no_wrench;
}

/* ---- springs between device and model ------------------------------------------------------- */

/* The device's velocity after the impulses that are already commanded or pending. */
static gw_twist velocity_after_impulses(const gw_impedance_control *c, const gw_impedance_device *d,
                                        double dt)
{
    gw_wrench sum = gw_wrench_add(c->impulses.pending, c->pending_impulse);
    for (int i = 0; i < delay_ticks(d, dt); i++) {
        gw_wrench w = c->impulsive[history_at(c, i)];
        sum = (gw_wrench){gw_mul_add(sum.f, dt, w.f), gw_mul_add(sum.t, dt, w.t)};
    }
    return (gw_twist){gw_mul_add(d->twist.v, 1 / d->mass, sum.f),
                      gw_mul_add(d->twist.w, 1 / d->inertia, sum.t)};
}

static gw_inverse_mass device_inverse_mass(const gw_impedance_device *d)
{
    return (gw_inverse_mass){1 / d->mass, 1 / d->inertia};
}

/* K_pc, B_pc. Under impedance control the device moves with the inertia of the model. */
static gw_spring_damper coordination_spring(const gw_impedance_control *c,
                                            const gw_operational_state *model,
                                            const gw_impedance_device *d, double dt)
{
    gw_spring_damper paper = GW_PAPER_COORDINATION;
    if (gw_spring_is_stated(&c->def.coordination))
        return c->def.coordination;
    gw_inverse_mass of_model = gw_inverse_mass_bound(model->inverse_inertia);
    gw_inverse_mass of_device =
        c->def.kind == GW_LAW_FOUR_CHANNEL ? device_inverse_mass(d) : of_model;
    return gw_spring_within_step_limit(&paper, of_model, of_device, dt);
}

/* K_vc, B_vc. Where n couplings act on one model, each is tuned for a share of its mass: with
 * k = w^2 / (1/m_d + n/m) the largest eigenvalue of all of them together is about w^2. */
static gw_spring_damper coupling_spring(const gw_impedance_control *c,
                                        const gw_operational_state *model,
                                        const gw_impedance_device *d, double dt)
{
    if (gw_spring_is_stated(&c->def.coupling))
        return c->def.coupling;
    gw_inverse_mass m = gw_inverse_mass_bound(model->inverse_inertia);
    double n = fmax(model->couplings, 1);
    return gw_virtual_coupling_bound(d->mass, d->inertia, fmin(1 / (n * m.linear), 1e6),
                                     fmin(1 / (n * m.angular), 1e6), dt,
                                     d->delay + d->velocity_delay);
}

/* The device is made to move as the model does (eq. 11, 18); else it keeps its own inertia. */
static bool imposes_model_motion(const gw_impedance_control *c)
{
    return c->def.kind == GW_LAW_IMPEDANCE || c->def.kind == GW_LAW_PENALTY;
}

/* True if springs follow free directions only (passivity controller on). Along resisted directions
 * no wrench moves the device under eq. 11: a spring that followed its drift there would store
 * energy without a source, and would pull the model once such a direction becomes free. */
static bool follows_free_only(const gw_impedance_control *c)
{
    return c->def.passivity && imposes_model_motion(c);
}

/* The part of a relative motion that the springs follow. */
static gw_twist followed_by_springs(const gw_impedance_control *c, const gw_twist *displacement)
{
    return follows_free_only(c) ? gw_resisted_free_part_of_twist(&c->resisted, displacement)
                                : *displacement;
}

static gw_vec3 clamped_to_length_of(gw_vec3 v, gw_vec3 other)
{
    double length = gw_norm(v), most = gw_norm(other);
    return length > most ? gw_scale(most / length, v) : v;
}

/* The rate that the dampers act on. At a coupling no impulse reaches the device: in the tick after
 * a collision its dampers see no more than the rate before it. */
static gw_twist rate_for_dampers(gw_impedance_control *c, const gw_impedance_work *w)
{
    gw_twist rate = w->rate;
    if (c->def.kind == GW_LAW_COUPLING && c->had_impulse)
        rate = (gw_twist){clamped_to_length_of(rate.v, c->last_rate.v),
                          clamped_to_length_of(rate.w, c->last_rate.w)};
    c->last_rate = w->rate;
    return rate;
}

/* F_pc or F_vc */
static gw_wrench spring_wrench(gw_impedance_control *c, const gw_impedance_work *w)
{
    gw_twist rate = rate_for_dampers(c, w);
    rate = followed_by_springs(c, &rate);
    gw_wrench spring = gw_spring_wrench(&w->k, &w->stretch, &rate);
    return follows_free_only(c) ? gw_resisted_free_part_of_wrench(&c->resisted, &spring) : spring;
}

/* True if the relative motion `displacement` since the last tick agrees with the velocities:
 * neither device nor model jumped. */
static bool moved_smoothly(const gw_impedance_control *c, const gw_impedance_work *w,
                           const gw_twist *displacement)
{
    double v = gw_norm(w->rate.v) + gw_norm(c->last_rate.v);
    double spin = gw_norm(w->rate.w) + gw_norm(c->last_rate.w);
    return gw_norm(displacement->v) <= v * w->dt + STILL &&
           gw_norm(displacement->w) <= spin * w->dt + STILL;
}

/* The rest position of the springs: the device's at a switch; later it moves along with the part of
 * the motion that the springs do not follow. True if they go on over a switch. */
static bool move_spring_rest(gw_impedance_control *c, const gw_impedance_work *w)
{
    gw_twist displacement = {gw_sub(w->error.v, c->last_error.v),
                             gw_sub(w->error.w, c->last_error.w)};
    bool goes_on = c->switched && c->springs_go_on && moved_smoothly(c, w, &displacement);
    if (c->switched && !goes_on) {
        gw_easing_start(&c->easing, &w->error);
        c->observer.started = false;
    } else if (c->started) {
        gw_twist followed = followed_by_springs(c, &displacement);
        gw_easing_shift(&c->easing, &(gw_twist){gw_sub(displacement.v, followed.v),
                                                gw_sub(displacement.w, followed.w)});
    }
    c->last_error = w->error;
    return goes_on;
}

/* Springs that go on over a switch with another stiffness, as another mass moves or is shared by
 * other hands, keep their force: their rest moves. *booked: the energy that this puts in (J). */
static void keep_spring_force(gw_impedance_control *c, const gw_impedance_work *w,
                              const gw_spring_damper *k, gw_twist *stretch, double *booked)
{
    const gw_spring_damper *was = &c->last_k;
    if (!(was->linear > 0 && was->angular > 0))
        return;
    double linear = was->linear / k->linear, angular = was->angular / k->angular;
    gw_twist same = {gw_scale(linear, stretch->v), gw_scale(angular, stretch->w)};
    gw_spring_damper old = {.linear = linear * w->k.linear, .angular = angular * w->k.angular};
    double before = gw_spring_energy(&old, stretch);
    gw_easing_shift(&c->easing,
                    &(gw_twist){gw_sub(stretch->v, same.v), gw_sub(stretch->w, same.w)});
    *stretch = same;
    *booked += gw_spring_energy(&w->k, stretch) - before;
}

/* Eq. 11 alone lets the device keep a velocity that it drifted into along resisted directions,
 * which would act on the model once such a direction becomes free. With the passivity controller
 * on, the dampers of the penalties dissipate it. */
static bool uses_penalties(const gw_impedance_control *c)
{
    return c->def.kind == GW_LAW_PENALTY || (c->def.kind == GW_LAW_IMPEDANCE && c->def.passivity);
}

static gw_penalty_def penalty_def_of(const gw_impedance_control *c, const gw_impedance_device *d)
{
    return (gw_penalty_def){.stiffness = c->def.kind == GW_LAW_PENALTY ? c->def.penalty : 0,
                            .damping = c->def.penalty_damping,
                            .mass = d->mass,
                            .inertia = d->inertia,
                            .by_mass = c->def.penalty_by_mass,
                            .at_once = c->def.resisted.weighting == GW_WEIGHTS_ON_OFF};
}

/* u_add of eq. 18. *booked: energy that on/off weights put into the springs (J). */
static gw_wrench penalty_wrench(gw_impedance_control *c, const gw_impedance_work *w,
                                double *weights, double *booked)
{
    const gw_penalty_def *def = &w->penalties;
    if (!uses_penalties(c))
        return no_wrench;
    gw_wrench u =
        gw_penalty_tick(&c->penalty, def, &c->by_positions, &w->error, &w->rate, w->dt, weights);
    *booked = def->at_once || def->by_mass ? *weights : 0;
    if (c->by_velocities.count == 0)
        return u;
    /* directions of nonholonomic rows can be reached by a detour: a damper alone, no spring */
    gw_penalty_def damper = *def;
    double none;
    damper.stiffness = 0;
    return gw_wrench_add(u, gw_penalty_tick(&c->slip, &damper, &c->by_velocities, &w->error,
                                            &w->rate, w->dt, &none));
}

/* ---- the four control laws ----------------------------------------------------------------------
 */

/* J D^-1 tau: the free acceleration without J-dot v */
static gw_wrench acceleration_without_jdot_v(const gw_impedance_work *w)
{
    return gw_wrench_add(wrench_of(w->free_acceleration), gw_wrench_neg(wrench_of(w->jdot_v)));
}

/* u = M_d (Lambda^-1 (F_h + F_pc) + J D^-1 tau + J-dot v) + C_d x-dot - F_h   (eq. 11) */
static gw_wrench impedance_law(const gw_impedance_control *c, const gw_impedance_work *w)
{
    gw_wrench acting = gw_wrench_add(gw_wrench_add(w->hand, w->spring), w->damping_on_device);
    gw_wrench a = gw_wrench_add(acceleration_under(w->model.inverse_inertia, acting),
                                c->def.jdot == GW_JDOT_FULL ? wrench_of(w->free_acceleration)
                                                            : acceleration_without_jdot_v(w));
    gw_wrench u =
        gw_wrench_add(inertia_times(&w->device, a), friction_at(&w->device, &w->device.twist));
    return gw_wrench_add(u, gw_wrench_neg(w->hand));
}

/*
 * The wrench of the device under four channels for an acceleration a of the model by its
 * environment. With m = M_d^(1/2) and m Lambda^-1 m = V S V^T it is
 *
 *   m V min(1, 1/S) V^T m a
 *
 * that is M_d a, as in eq. 11, along directions in which the model is heavier, and F_env = Lambda a
 * along those in which the device is. There M_d a would be S times the hand's force on a model that
 * a wall stops, and would throw the device back.
 */
static void find_reflected(gw_impedance_work *w)
{
    double n[6][6], s[6], v[6][6], m[6], trace = 0;
    for (int i = 0; i < 6; i++) {
        m[i] = sqrt(i < 3 ? w->device.mass : w->device.inertia);
        trace += m[i] * w->model.inverse_inertia[i][i] * m[i];
    }
    w->outweighs = trace > 1; /* no singular value is greater than that */
    if (!w->outweighs)
        return;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            n[i][j] = m[i] * w->model.inverse_inertia[i][j] * m[j];
    gw_small_svd(6, n, s, v);
    w->outweighs = s[0] > 1;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            w->reflect[i][j] = 0;
            for (int k = 0; k < 6; k++)
                w->reflect[i][j] += m[i] * v[i][k] * fmin(1, 1 / s[k]) * v[j][k] * m[j];
        }
}

static gw_wrench reflected_wrench(const gw_impedance_work *w, gw_wrench a)
{
    return w->outweighs ? acceleration_under(w->reflect, a) : inertia_times(&w->device, a);
}

/* u = F of J D^-1 tau + F_pc + C_d x-dot; the device keeps its own inertia (mechanisms II). */
static gw_wrench four_channel_law(const gw_impedance_work *w)
{
    gw_wrench u = gw_wrench_add(reflected_wrench(w, acceleration_without_jdot_v(w)),
                                gw_wrench_add(w->spring, w->damping_on_device));
    return gw_wrench_add(u, friction_at(&w->device, &w->device.twist));
}

/* The wrench that the model feels at its held frame. */
static gw_wrench wrench_on_model(const gw_impedance_control *c, const gw_impedance_work *w)
{
    gw_wrench springs = gw_wrench_add(gw_wrench_neg(w->spring), w->damping_on_model);
    return c->def.kind == GW_LAW_COUPLING ? springs : gw_wrench_add(w->hand, springs);
}

/* The command to the device, impulses apart, where the model moves with the free acceleration of
 * `w`. */
static gw_wrench control_law(const gw_impedance_control *c, const gw_impedance_work *w)
{
    gw_wrench u;
    switch (c->def.kind) {
    case GW_LAW_IMPEDANCE:
    case GW_LAW_PENALTY:
        u = gw_wrench_add(impedance_law(c, w), w->penalty);
        break;
    case GW_LAW_FOUR_CHANNEL:
        u = four_channel_law(w);
        break;
    case GW_LAW_COUPLING:
        u = gw_wrench_add(gw_wrench_add(w->spring, w->damping_on_device),
                          friction_at(&w->device, &w->device.twist));
        break;
    }
    return exertable_part(&w->device, u);
}

/* ---- passivity observer and controller ------------------------------------------------------ */

/* The hand's wrench is fed forward to the model. */
static bool feeds_forward(const gw_impedance_control *c)
{
    return c->def.kind != GW_LAW_COUPLING;
}

/* Accounts for the last tick. Springs pay a deficit by growing slack; slack recovers at the cost of
 * half of the energy dissipated below the least excess of the last second. */
static void observe_passivity(gw_impedance_control *c, gw_impedance_work *w, double stored,
                              double booked)
{
    gw_passivity_observer *observer = &c->observer;
    gw_passivity_observe(observer, &w->device.pose, &w->model.pose, stored + c->penalty.tank,
                         booked, delay_ticks(&w->device, w->dt));
    if (!c->def.passivity)
        return;
    double owed = gw_passivity_deficit(observer, w->dt);
    if (owed > 0) {
        double paid = gw_penalty_release_energy(&c->penalty, &w->penalties, c->resisted.length,
                                                owed, &w->penalty);
        paid += gw_easing_release_energy(&c->easing, &w->k, &w->stretch, owed - paid);
        gw_passivity_charge(observer, -paid);
    } else {
        double lost = gw_passivity_reserve(observer, GW_PASSIVITY_WINDOW_PARTS, w->dt);
        gw_passivity_charge(observer,
                            gw_easing_recover(&c->easing, &w->k, &w->stretch, 0.5 * lost, w->dt));
    }
}

/* Motion within dt at initial `twist` and constant acceleration: v dt + a dt^2/2. */
static gw_twist predicted_motion(const gw_twist *twist, gw_wrench a, double dt)
{
    return (gw_twist){gw_mul_add(gw_scale(dt, twist->v), 0.5 * dt * dt, a.f),
                      gw_mul_add(gw_scale(dt, twist->w), 0.5 * dt * dt, a.t)};
}

/* Change of the energy of all springs if the model moves by `displacement` relative to the device
 * (J). */
static double predicted_spring_energy(const gw_impedance_control *c, const gw_impedance_work *w,
                                      const gw_twist *displacement)
{
    gw_twist along = followed_by_springs(c, displacement);
    gw_twist then = {gw_add(w->stretch.v, along.v), gw_add(w->stretch.w, along.w)};
    double springs = gw_spring_energy(&w->k, &then) - gw_spring_energy(&w->k, &w->stretch);
    if (!uses_penalties(c))
        return springs;
    return springs - c->penalty.stored - c->penalty.tank +
           gw_penalty_predicted_energy(&c->penalty, &w->penalties, c->resisted.length, displacement,
                                       w->dt);
}

/* The device's motion in the coming tick under `command`, which acts after its delay. */
static gw_twist predicted_device_motion(const gw_impedance_control *c, const gw_impedance_work *w,
                                        const gw_wrench *command)
{
    const gw_impedance_device *d = &w->device;
    int delay = delay_ticks(d, w->dt);
    gw_wrench acts = gw_wrench_add(delay ? c->sent[history_at(c, delay - 1)] : *command, w->hand);
    acts = exertable_part(d, gw_wrench_add(acts, gw_wrench_neg(friction_at(d, &d->twist))));
    gw_wrench a = {gw_scale(1 / d->mass, acts.f), gw_scale(1 / d->inertia, acts.t)};
    return predicted_motion(&d->twist, a, w->dt);
}

/* The coming tick, in which device and model move by these. */
static gw_passivity_prediction predict_tick(const gw_impedance_control *c,
                                            const gw_impedance_work *w, gw_twist device,
                                            gw_twist model)
{
    gw_wrench on_device = gw_wrench_add(gw_wrench_add(w->spring, w->penalty), w->damping_on_device);
    gw_twist apart = {gw_sub(model.v, device.v), gw_sub(model.w, device.w)};
    return (gw_passivity_prediction){
        .device = device,
        .model = model,
        .on_device = gw_passivity_acting(&c->observer, &on_device, delay_ticks(&w->device, w->dt)),
        .on_model = w->on_model,
        .fed = feeds_forward(c) ? w->hand : no_wrench,
        .springs = predicted_spring_energy(c, w, &apart)};
}

/* Inverse mass of the device under the control law. */
static gw_inverse_mass device_inverse_mass_under_control(const gw_impedance_control *c,
                                                         const gw_impedance_work *w)
{
    return imposes_model_motion(c) ? gw_inverse_mass_bound(w->model.inverse_inertia)
                                   : device_inverse_mass(&w->device);
}

/* Before the step: damping that keeps the predicted tick from bringing energy out. Device and model
 * lose speed at one rate. */
static void damp_by_prediction(gw_impedance_control *c, gw_impedance_work *w)
{
    if (!c->def.passivity)
        return;
    const gw_operational_state *seen = &w->model;
    gw_wrench command = control_law(c, w);
    gw_wrench a = gw_wrench_add(acceleration_under(seen->inverse_inertia, w->on_model),
                                wrench_of(w->free_acceleration));
    gw_twist on = predicted_device_motion(c, w, &command),
             displacement = predicted_motion(&seen->twist, a, w->dt);
    gw_passivity_prediction ahead = predict_tick(c, w, on, displacement);
    gw_inverse_mass device = device_inverse_mass_under_control(c, w),
                    model = gw_inverse_mass_bound(seen->inverse_inertia);
    double taken = gw_passivity_unit_dissipation(model, &displacement, w->dt);
    if (delay_ticks(&w->device, w->dt) == 0)
        taken += gw_passivity_unit_dissipation(device, &on, w->dt);
    double rate =
        gw_passivity_damping_rate(gw_passivity_predicted_excess(&c->observer, &ahead, w->dt), taken,
                                  PREDICTED_SHARE_MAX, w->dt);
    w->damping_on_device = gw_passivity_damping_wrench(rate, device, &on, w->dt);
    if (feeds_forward(c) || !c->had_impulse)
        w->damping_on_model = gw_passivity_damping_wrench(rate, model, &displacement, w->dt);
    w->on_model = wrench_on_model(c, w);
}

/* The acceleration of the device, as the control law lets it move, under a wrench. */
static gw_wrench device_acceleration(const gw_impedance_control *c, const gw_impedance_work *w,
                                     const gw_wrench *f)
{
    const gw_operational_state *model = &w->model;
    if (imposes_model_motion(c))
        return acceleration_under(model->inverse_inertia, *f);
    return (gw_wrench){gw_scale(1 / w->device.mass, f->f), gw_scale(1 / w->device.inertia, f->t)};
}

/* The device's motion without the contribution of the hand's force. A wrench against it dissipates
 * energy of a device that moves; a device at rest yields to the hand, whose work pays. */
static gw_twist motion_without_hand(const gw_impedance_control *c, const gw_impedance_work *w,
                                    const gw_passivity_prediction *ahead)
{
    gw_wrench a = device_acceleration(c, w, &ahead->fed);
    double half = -0.5 * w->dt * w->dt;
    return (gw_twist){gw_mul_add(ahead->device.v, half, a.f),
                      gw_mul_add(ahead->device.w, half, a.t)};
}

/* After the step, with the model's motion and the command known: the remaining damping, on the
 * device alone. */
static void damp_by_known_step(gw_impedance_control *c, gw_impedance_work *w,
                               const gw_operational_step *step, const gw_wrench *command)
{
    if (!c->def.passivity || delay_ticks(&w->device, w->dt) > 0)
        return;
    gw_twist model = gw_pose_sub(&step->pose, &w->model.pose);
    gw_passivity_prediction ahead =
        predict_tick(c, w, predicted_device_motion(c, w, command), model);
    gw_inverse_mass m = device_inverse_mass_under_control(c, w);
    gw_twist displacement = motion_without_hand(c, w, &ahead);
    double energy = SAFETY_FACTOR * gw_passivity_known_excess(&c->observer, &ahead, w->dt);
    double rate = gw_passivity_damping_rate(
        energy, gw_passivity_unit_dissipation(m, &displacement, w->dt), 1, w->dt);
    w->damping_on_device = gw_wrench_add(
        w->damping_on_device, gw_passivity_damping_wrench(rate, m, &displacement, w->dt));
    if (rate * w->dt < 1)
        return;
    w->damping_on_device.f = gw_mul_add(w->damping_on_device.f, YIELD_SHARE, ahead.fed.f);
    w->damping_on_device.t = gw_mul_add(w->damping_on_device.t, YIELD_SHARE, ahead.fed.t);
}

/* Tells the observer which wrenches are held until the next tick. */
static void hold_wrenches(gw_impedance_control *c, const gw_impedance_work *w)
{
    gw_wrench on_device = gw_wrench_add(gw_wrench_add(w->spring, w->penalty), w->damping_on_device);
    gw_passivity_hold(&c->observer, &on_device, &w->on_model,
                      feeds_forward(c) ? &w->hand : &no_wrench);
}

/* Stretch and wrench of the springs between device and model, coordination or coupling, and of the
 * penalties, after the passivity observer had its share. */
static void update_springs(gw_impedance_control *c, gw_impedance_work *w, gw_impedance_out *out)
{
    const gw_operational_state *model = &w->model;
    gw_twist to_be = velocity_after_impulses(c, &w->device, w->dt);
    w->error = gw_pose_sub(&model->pose, &w->device.pose);
    w->rate = (gw_twist){gw_sub(model->twist.v, to_be.v), gw_sub(model->twist.w, to_be.w)};
    w->k = c->def.kind == GW_LAW_COUPLING ? coupling_spring(c, model, &w->device, w->dt)
                                          : coordination_spring(c, model, &w->device, w->dt);
    w->penalties = penalty_def_of(c, &w->device);
    double by_easing, by_weights = 0;
    const gw_spring_damper k = w->k;
    bool goes_on = move_spring_rest(c, w);
    w->stretch = gw_easing_tick(&c->easing, &w->k, &w->error, w->dt, &by_easing);
    if (goes_on)
        keep_spring_force(c, w, &k, &w->stretch, &by_easing);
    c->last_k = k;
    w->penalty = penalty_wrench(c, w, &out->weights, &by_weights);
    observe_passivity(c, w, gw_spring_energy(&w->k, &w->stretch) + c->penalty.stored,
                      by_easing + by_weights);
    w->spring = spring_wrench(c, w);
    out->stored = gw_spring_energy(&w->k, &w->stretch) + c->penalty.stored;
}

/* ---- switches, impulses, limits
 * --------------------------------------------------------------------------------- */

/* The duration of a switch: by the slew limit, or shorter where the remainder of the old command
 * would accelerate the device too much. */
static double switch_duration_of(const gw_impedance_control *c, const gw_impedance_device *d)
{
    double slew = c->def.slew > 0 ? c->def.slew : SLEW;
    double f = fmax(gw_norm(c->switch_offset.f), DBL_MIN),
           t = fmax(gw_norm(c->switch_offset.t), DBL_MIN);
    double thrown = fmin(SLEW_SPEED * d->mass / f, SLEW_SPIN * d->inertia / t);
    return fmin(fmax(f, t / SLEW_ARM) / slew, 2 * thrown);
}

/* After a switch at t = 0 the command is u + (1 - t/T) (u_old - u_new): the second term. */
static gw_wrench switch_remainder(gw_impedance_control *c, const gw_impedance_device *d,
                                  gw_wrench u, double dt)
{
    if (c->switched) {
        c->switch_offset = gw_wrench_add(c->steady, gw_wrench_neg(u));
        c->switch_time = 0;
        c->switch_duration = switch_duration_of(c, d);
        c->switched = false;
    }
    if (!(c->switch_duration > c->switch_time))
        return no_wrench;
    double left = 1 - c->switch_time / c->switch_duration;
    c->switch_time += dt;
    return gw_wrench_scale(left, c->switch_offset);
}

/* The impulse that gives the device the velocity change of the model (N s, N m s), or under four
 * channels no more than its momentum; none at a coupling. */
static gw_wrench impulse_for_device(const gw_impedance_control *c, const gw_impedance_work *w,
                                    const double impulse_velocity[6])
{
    if (c->def.kind == GW_LAW_COUPLING)
        return no_wrench;
    return exertable_part(&w->device, reflected_wrench(w, wrench_of(impulse_velocity)));
}

/* The command within the limits: impulses get what the rest of the command leaves of them. */
static void within_limits(gw_impedance_control *c, const gw_impedance_work *w,
                          const gw_wrench *impulse, gw_impedance_out *out)
{
    const gw_impedance_device *d = &w->device;
    bool cut = gw_clamp_norm(&c->steady.f, d->force_max);
    cut = gw_clamp_norm(&c->steady.t, d->torque_max) || cut;
    gw_impulse_rendered impulsive =
        gw_impulse_rendering_tick(&c->impulses, impulse, &c->steady, d->force_max, d->torque_max,
                                  c->def.impulse_budget, w->dt);
    out->command = gw_wrench_add(c->steady, impulsive.wrench);
    out->impulse = impulsive.wrench;
    out->withheld = gw_norm(impulsive.withheld.f);
    out->withheld_turn = gw_norm(impulsive.withheld.t);
    out->limited = cut || impulsive.limited;
}

/* Adds the damping to the command, within the limits. */
static void add_damping(gw_impedance_control *c, const gw_impedance_work *w, gw_wrench damping,
                        gw_impedance_out *out)
{
    c->steady = gw_wrench_add(c->steady, damping);
    out->command = gw_wrench_add(out->command, damping);
    out->limited = gw_clamp_norm(&out->command.f, w->device.force_max) || out->limited;
    out->limited = gw_clamp_norm(&out->command.t, w->device.torque_max) || out->limited;
}

/* ---- the two halves of a tick --------------------------------------------------------------- */

static gw_impedance_device device_as_known(const gw_impedance_control *c,
                                           const gw_impedance_device *device)
{
    gw_impedance_device d = *device;
    double part = c->def.mass_known > 0 ? c->def.mass_known : 1;
    d.mass *= part;
    d.inertia *= part;
    return d;
}

static void remember_command(gw_impedance_control *c, const gw_impedance_out *out,
                             const gw_twist *twist)
{
    c->at = (c->at + 1) & (GW_IMPEDANCE_HISTORY - 1);
    c->sent[c->at] = out->command;
    c->impulsive[c->at] = out->impulse;
    c->last_twist = *twist;
    c->started = true;
}

/* The resisted directions, for the penalties and for display. */
static void find_resisted(gw_impedance_control *c, const gw_operational_state *model)
{
    gw_resisted_def def = c->def.resisted;
    def.point = c->work.device.point;
    if (model->resisted)
        c->resisted = *model->resisted;
    else
        gw_resisted_directions_of(&def, model->dof, model->jacobian, &c->resisted);
    c->by_positions = c->resisted;
    c->by_velocities.count = 0;
    if (!model->positional)
        return;
    gw_resisted_directions_of(&def, model->dof, model->positional, &c->by_positions);
    gw_resisted_directions_beyond(&c->resisted, &c->by_positions, &c->by_velocities);
}

/* The free acceleration in the coming step: as measured in the last one, else from the model. */
static void predict_free_acceleration(const gw_impedance_control *c, gw_impedance_work *w)
{
    for (int i = 0; i < 6; i++) {
        w->free_acceleration[i] = c->prediction_known
                                      ? c->free_acceleration[i]
                                      : w->model.free_acceleration[i] + w->model.jdot_v[i];
        w->jdot_v[i] = w->model.jdot_v[i];
    }
}

gw_impedance_out gw_impedance_pre_step(gw_impedance_control *c, const gw_operational_state *model,
                                       const gw_impedance_device *device, double dt)
{
    gw_impedance_out out = {.weights = 0};
    gw_impedance_work *w = &c->work;
    assert(dt > 0 && device->mass > 0 && device->inertia > 0);
    /* directions and wrench of the hand */
    *w = (gw_impedance_work){.model = *model, .device = device_as_known(c, device), .dt = dt};
    find_resisted(c, model);
    if (c->def.kind == GW_LAW_FOUR_CHANNEL)
        find_reflected(w);
    estimate_hand(c, &w->device, dt);
    w->hand = out.hand = hand_wrench(c, &w->device);
    /* springs, and the wrench on the model with the damping that the observer asks for */
    predict_free_acceleration(c, w);
    update_springs(c, w, &out);
    w->on_model = wrench_on_model(c, w);
    damp_by_prediction(c, w);
    out.on_model = w->on_model;
    w->model.jacobian = w->model.positional = NULL; /* the caller's, for this half alone */
    w->model.resisted = NULL;
    return out;
}

/* The free acceleration in the step: ([v; w] - [v; w]_before - impulses) / dt - Lambda^-1 F */
static void measure_free_acceleration(gw_impedance_control *c, gw_impedance_work *w,
                                      const gw_operational_step *step)
{
    const gw_operational_state *model = &w->model;
    gw_wrench felt = acceleration_under(model->inverse_inertia, w->on_model);
    gw_twist d = {gw_sub(step->twist.v, model->twist.v), gw_sub(step->twist.w, model->twist.w)};
    const double change[6] = {d.v.x, d.v.y, d.v.z, d.w.x, d.w.y, d.w.z};
    const double by_hand[6] = {felt.f.x, felt.f.y, felt.f.z, felt.t.x, felt.t.y, felt.t.z};
    c->had_impulse = false;
    for (int i = 0; i < 6; i++) {
        c->free_acceleration[i] = w->free_acceleration[i] =
            (change[i] - step->impulse_velocity[i]) / w->dt - by_hand[i];
        w->jdot_v[i] = 0.5 * (model->jdot_v[i] + step->jdot_v[i]);
        c->had_impulse = c->had_impulse || step->impulse_velocity[i] != 0;
    }
    c->prediction_known = true;
}

/*
 * The impulse to be given in this tick. An impulse that is held for a tick changes the device's
 * velocity on average in mid-tick, the model's velocity at the end: they end s dt/2 apart, in one
 * direction if it is given in this tick, in the opposite one if in the next. It is given in the
 * tick in which the hand does work for that displacement instead of gaining energy.
 */
static gw_wrench impulse_due(gw_impedance_control *c, const gw_impedance_work *w, gw_wrench impulse)
{
    gw_wrench now = c->pending_impulse, push = gw_wrench_add(w->hand, gw_wrench_neg(w->spring));
    gw_twist change = {gw_scale(1 / w->device.mass, impulse.f),
                       gw_scale(1 / w->device.inertia, impulse.t)};
    bool waits = power_of(&push, &change) < 0;
    c->pending_impulse = waits ? impulse : no_wrench;
    return waits ? now : gw_wrench_add(now, impulse);
}

void gw_impedance_post_step(gw_impedance_control *c, const gw_operational_step *step,
                            gw_impedance_out *out)
{
    gw_impedance_work *w = &c->work;
    assert(w->dt > 0);
    /* control law with the acceleration that the step brought about */
    measure_free_acceleration(c, w, step);
    gw_wrench impulse = impulse_due(c, w, impulse_for_device(c, w, step->impulse_velocity));
    gw_wrench u = control_law(c, w);
    /* remainder of a switch, impulses, and the damping that is still missing */
    c->steady = gw_wrench_add(u, switch_remainder(c, &w->device, u, w->dt));
    within_limits(c, w, &impulse, out);
    damp_by_known_step(c, w, step, &out->command);
    add_damping(c, w, gw_wrench_add(control_law(c, w), gw_wrench_neg(u)), out);
    out->damped = -w->dt * (power_of(&w->damping_on_device, &w->device.twist) +
                            power_of(&w->damping_on_model, &w->model.twist));
    /* for the next tick */
    hold_wrenches(c, w);
    gw_passivity_end_tick(&c->observer, w->dt);
    remember_command(c, out, &w->device.twist);
}

void gw_impedance_reset_prediction(gw_impedance_control *c)
{
    c->prediction_known = false;
}
