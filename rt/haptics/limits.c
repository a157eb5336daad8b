/*
 * The command gate of devices. On the loop's thread, RT safe.
 */
#include "rt/haptics/limits.h"

#include <assert.h>
#include <string.h>

#define SQUARES_MAX           1e150 /* components beyond it have squares that overflow */
#define ROUNDING              1e-12 /* of a limit: what control has cut to it is not cut again */
#define EDGE_SHARE            0.999 /* of the reach: no further outward */
#define OSCILLATION_SHARE     0.1   /* of a limit: smaller oscillations are noise */
#define OSCILLATION_FORCE     1.0   /* N, where there is no limit */
#define OSCILLATION_TORQUE    0.05  /* N m */
#define OSCILLATION_SPEED     0.05  /* m/s */
#define OSCILLATION_SPIN      0.5   /* rad/s */
#define OSCILLATION_MEMORY    0.1  /* s: f oscillations a second are 2 f 0.1 reversals remembered */
#define OSCILLATION_REVERSALS 5.0  /* 25 oscillations a second; no hand shakes that fast */
#define DAMPED_TIME           0.02 /* s in which an oscillating command loses most of its size */
#define CALM_TIME             0.5  /* s in which it has it back */

gw_command_limits gw_command_limits_of(const gw_command_limits *tool, double scale,
                                       const gw_device_info *device, bool guarded)
{
    assert(scale > 0);
    double turn = scale * scale;
    gw_command_limits l = {.force = gw_stricter_limit(scale * tool->force, device->force_max),
                           .torque = gw_stricter_limit(turn * tool->torque, device->torque_max),
                           .speed = gw_stricter_limit(scale * tool->speed, device->speed_max),
                           .spin = gw_stricter_limit(tool->spin, device->spin_max),
                           .force_rate = scale * tool->force_rate,
                           .torque_rate = turn * tool->torque_rate,
                           .acceleration = scale * tool->acceleration,
                           .spin_acceleration = tool->spin_acceleration,
                           .reach = scale * tool->reach};
    if (guarded) {
        l.force_rate = gw_stricter_limit(l.force_rate, l.force / GW_GATE_SLEW_TIME);
        l.torque_rate = gw_stricter_limit(l.torque_rate, l.torque / GW_GATE_SLEW_TIME);
        l.acceleration = gw_stricter_limit(l.acceleration, l.speed / GW_GATE_SLEW_TIME);
        l.spin_acceleration = gw_stricter_limit(l.spin_acceleration, l.spin / GW_GATE_SLEW_TIME);
    }
    if (guarded || device->class == GW_DEVICE_ADMITTANCE)
        l.reach = gw_stricter_limit(l.reach, device->workspace_radius);
    return l;
}

bool gw_clamp_norm(gw_vec3 *a, double most)
{
    double largest = fmax(fmax(fabs(a->x), fabs(a->y)), fabs(a->z));
    if (!(most > 0))
        return false;
    if (largest > SQUARES_MAX && isfinite(largest)) { /* first to a length that has a square */
        *a = gw_v3(a->x / largest, a->y / largest, a->z / largest);
        *a = gw_scale(most / gw_norm(*a), *a);
        return true;
    }
    double length = gw_norm(*a);
    if (!(length > most))
        return false;
    *a = gw_scale(most / length, *a);
    return true;
}

/* Cuts a vector that is longer than `most` by more than rounding. */
static bool clamp_length(gw_vec3 *a, double most)
{
    double length = gw_norm(*a);
    return length > most * (1 + ROUNDING) && gw_clamp_norm(a, most);
}

/* ---- workspace --------------------------------------------------------------------------------
 */

/* At the edge of the workspace, takes out the part that leads outward. At a position that is not
 * finite any part may do so. */
static bool stop_at_edge(gw_vec3 *linear, gw_vec3 at, double reach)
{
    double r = gw_norm(at);
    if (reach > 0 && !gw_finite3(at)) {
        *linear = gw_v3(0, 0, 0);
        return true;
    }
    if (!(reach > 0) || r < EDGE_SHARE * reach || !(gw_dot(*linear, at) > 0))
        return false;
    *linear = gw_reject(*linear, gw_scale(1 / r, at));
    return true;
}

/* ---- oscillation ------------------------------------------------------------------------------
 */

/* Counts reversals: a component has reversed when it is back by more than `size` from its extreme.
 * Returns the largest decayed count of the three components. */
static double count_reversals(gw_oscillation *s, gw_vec3 a, double size, double keep)
{
    const double now[3] = {a.x, a.y, a.z};
    double most = 0;
    for (int i = 0; i < 3; i++) {
        double past = now[i] - s->extreme[i];
        s->reversals[i] *= keep;
        if (s->direction[i] * past < -size) {
            s->direction[i] = -s->direction[i];
            s->reversals[i] += 1;
            s->extreme[i] = now[i];
        } else if (s->direction[i] == 0 || s->direction[i] * past > 0) {
            if (s->direction[i] == 0 && fabs(past) > size)
                s->direction[i] = past > 0 ? 1 : -1;
            s->extreme[i] = s->direction[i] ? now[i] : s->extreme[i];
        }
        most = fmax(most, s->reversals[i]);
    }
    return most;
}

/* Scales the command down while it oscillates faster than a hand can, and up again afterwards, with
 * first-order time constants; returns the factor. */
static double damp_oscillation(gw_command_gate *gate, gw_vec3 linear, gw_vec3 angular,
                               double linear_size, double angular_size, double dt)
{
    double keep = exp(-dt / OSCILLATION_MEMORY);
    double reversals = fmax(count_reversals(&gate->linear, linear, linear_size, keep),
                            count_reversals(&gate->angular, angular, angular_size, keep));
    if (reversals > OSCILLATION_REVERSALS)
        gate->reduction = 1 - (1 - gate->reduction) * exp(-dt / DAMPED_TIME);
    else
        gate->reduction *= exp(-dt / CALM_TIME);
    gate->reduction = gate->reduction > 1e-6 ? gate->reduction : 0;
    return 1 - gate->reduction;
}

/* ---- soft engagement --------------------------------------------------------------------------
 */

void gw_gate_engage_softly(gw_command_gate *gate)
{
    assert(gate);
    *gate = (gw_command_gate){.begun = true, .soft = GW_GATE_SOFT_HOLD + GW_GATE_SOFT_RAMP};
}

/* 0.1 for half a second, then up to 1 in two seconds. */
static double soft_share(const gw_command_gate *gate)
{
    double part = fmin(gate->soft / GW_GATE_SOFT_RAMP, 1);
    return 1 - (1 - GW_GATE_SOFT_SHARE) * part;
}

gw_command_limits gw_gate_limits(const gw_command_gate *gate, const gw_command_limits *limits,
                                 bool guarded)
{
    assert(gate && limits);
    gw_command_limits l = *limits;
    if (!guarded || !(gate->soft > 0))
        return l;
    double share = soft_share(gate);
    l.force *= share;
    l.torque *= share;
    l.speed *= share;
    l.spin *= share;
    return l;
}

/* ---- the gate ----------------------------------------------------------------------------------
 */

/* The limits of one of a command's two vectors, and the amplitude of an oscillation that counts. */
typedef struct bounds {
    double most, rate, amplitude;
} bounds;

/* As far towards `a` as the change in dt may be. */
static bool limit_slew(gw_vec3 *a, gw_vec3 last, double rate, double dt)
{
    gw_vec3 change = gw_sub(*a, last);
    if (!(rate > 0) || !clamp_length(&change, rate * dt))
        return false;
    *a = gw_add(last, change);
    return true;
}

/* Cut to the limit, or scaled where there is none. */
static bool clamp_or_scale(gw_vec3 *a, double most, double share)
{
    if (most > 0 || share >= 1)
        return clamp_length(a, most);
    *a = gw_scale(share, *a);
    return true;
}

/* Both vectors through the chain, in place. */
static void gate_both(gw_command_gate *g, gw_vec3 *linear, gw_vec3 *angular, bounds l, bounds a,
                      double reach, const gw_gate_input *in, gw_gated_command *out)
{
    assert(in->dt > 0);
    out->finite = gw_finite3(*linear) && gw_finite3(*angular);
    if (!out->finite)
        *linear = *angular = gw_v3(0, 0, 0);
    if (!out->finite || !in->engaged) {
        clamp_length(linear, l.most);
        clamp_length(angular, a.most);
        g->last_linear = g->last_angular = gw_v3(0, 0, 0);
        return;
    }
    /* longer ones have no lengths to compare */
    if (reach > 0 || l.rate > 0 || in->guarded)
        gw_clamp_norm(linear, SQUARES_MAX);
    if (a.rate > 0 || in->guarded)
        gw_clamp_norm(angular, SQUARES_MAX);
    double share = 1;
    bool limited = stop_at_edge(linear, in->at, reach);
    if (in->guarded) {
        share = soft_share(g);
        g->soft = fmax(g->soft - in->dt, 0);
        double left = damp_oscillation(g, *linear, *angular, l.amplitude, a.amplitude, in->dt);
        if (left < 1) {
            *linear = gw_scale(left, *linear);
            *angular = gw_scale(left, *angular);
            limited = true;
        }
    }
    limited = clamp_or_scale(linear, share * l.most, share) || limited;
    limited = clamp_or_scale(angular, share * a.most, share) || limited;
    limited = limit_slew(linear, g->last_linear, l.rate, in->dt) || limited;
    limited = limit_slew(angular, g->last_angular, a.rate, in->dt) || limited;
    /* a limit that fell goes before the slew */
    limited = clamp_length(linear, share * l.most) || limited;
    out->limited = clamp_length(angular, share * a.most) || limited;
    g->last_linear = *linear;
    g->last_angular = *angular;
}

static void store3(gw_vec3 a, double out[3])
{
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
}

static bounds bounds_of(double most, double rate, double otherwise)
{
    return (bounds){most, rate, most > 0 ? OSCILLATION_SHARE * most : otherwise};
}

gw_gated_command gw_gate_wrench(gw_command_gate *g, const gw_wrench *wrench,
                                const gw_command_limits *limits, const gw_gate_input *in)
{
    assert(g && wrench && limits && in);
    gw_gated_command out = {.limited = false};
    gw_wrench w = *wrench;
    gate_both(g, &w.f, &w.t, bounds_of(limits->force, limits->force_rate, OSCILLATION_FORCE),
              bounds_of(limits->torque, limits->torque_rate, OSCILLATION_TORQUE), limits->reach, in,
              &out);
    store3(w.f, out.command.f);
    store3(w.t, out.command.t);
    out.command.engaged = in->engaged && out.finite;
    return out;
}

gw_gated_command gw_gate_velocity(gw_command_gate *g, const gw_twist *velocity,
                                  const gw_command_limits *limits, const gw_gate_input *in)
{
    assert(g && velocity && limits && in);
    gw_gated_command out = {.limited = false};
    gw_twist u = *velocity;
    gate_both(g, &u.v, &u.w, bounds_of(limits->speed, limits->acceleration, OSCILLATION_SPEED),
              bounds_of(limits->spin, limits->spin_acceleration, OSCILLATION_SPIN), limits->reach,
              in, &out);
    store3(u.v, out.command.v);
    store3(u.w, out.command.w);
    out.command.engaged = in->engaged;
    return out;
}
