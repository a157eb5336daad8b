/*
 * PID on the pose error with anti-windup, and the virtual coupling of the model to the device. On
 * the loop's thread, RT safe.
 */
#include "rt/haptics/admittance.h"

#include <assert.h>
#include <float.h>

#define SLACK_M       0.005 /* in device space: far beyond what a healthy servo leaves */
#define STIFFNESS_MAX 2000.0
#define FORCE_MAX     50.0

void gw_pid_reset(gw_pid *pid)
{
    assert(pid);
    gw_twist zero = {{0, 0, 0}, {0, 0, 0}};
    pid->integral = pid->previous = zero;
    pid->started = false;
}

static gw_vec3 pid_sum(gw_vec3 forward, double p, gw_vec3 e, double i, gw_vec3 sum, double d,
                       gw_vec3 rate)
{
    return gw_mul_add(gw_mul_add(gw_mul_add(forward, p, e), i, sum), d, rate);
}

gw_twist gw_pid_command(gw_pid *pid, const gw_twist *forward, const gw_twist *error,
                        const gw_command_limits *limits, double dt, bool *limited)
{
    assert(pid && forward && error && limits && dt > 0 && limited);
    gw_twist before = pid->started ? pid->previous : *error;
    gw_twist sum = {gw_mul_add(pid->integral.v, dt, error->v),
                    gw_mul_add(pid->integral.w, dt, error->w)};
    gw_vec3 rate_v = gw_scale(1 / dt, gw_sub(error->v, before.v));
    gw_vec3 rate_w = gw_scale(1 / dt, gw_sub(error->w, before.w));
    gw_twist u = {pid_sum(forward->v, pid->p, error->v, pid->i, sum.v, pid->d, rate_v),
                  pid_sum(forward->w, pid->p, error->w, pid->i, sum.w, pid->d, rate_w)};
    bool cut_v = gw_clamp_norm(&u.v, limits->speed);
    bool cut_w = gw_clamp_norm(&u.w, limits->spin);
    /* anti-windup: a saturated vector is not integrated */
    if (!cut_v)
        pid->integral.v = sum.v;
    if (!cut_w)
        pid->integral.w = sum.w;
    pid->previous = *error;
    pid->started = true;
    *limited = cut_v || cut_w;
    return u;
}

gw_virtual_coupling gw_virtual_coupling_for(double mass, double scale, double dt)
{
    assert(dt > 0);
    /* stable far above k dt^2 / m = 0.05; a stiffer spring makes no difference to the hand */
    double k = fmin(STIFFNESS_MAX, 0.05 * mass / (dt * dt));
    return (gw_virtual_coupling){k, 2 * sqrt(k * mass), SLACK_M / scale, FORCE_MAX};
}

gw_vec3 gw_virtual_coupling_force(const gw_virtual_coupling *c, gw_vec3 tool, gw_vec3 tool_velocity,
                                  gw_vec3 device)
{
    gw_vec3 apart = gw_sub(device, tool);
    double distance = gw_norm(apart);
    if (!(distance > c->slack))
        return gw_v3(0, 0, 0);
    gw_vec3 along = gw_scale(1 / distance, apart);
    double leaving = -gw_dot(tool_velocity, along);
    double force = c->stiffness * (distance - c->slack) + c->damping * fmax(leaving, 0);
    return gw_scale(fmin(force, c->force_max), along);
}
