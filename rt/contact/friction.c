/*
 * Friction. RT safe.
 */
#include "rt/contact/friction.h"

/* As far as a step bears it: a steeper creep than grip.viscous would chatter, so v_th is then more
 * than was asked for. */
static gw_vec3 creep(const gw_grip *grip, double limit, double slip_speed, gw_vec3 velocity)
{
    double speed = gw_norm(velocity);
    double viscous = fmin(limit / fmax(speed, slip_speed), grip->viscous);
    return gw_scale(-viscous, velocity);
}

static gw_vec3 stick(const gw_grip *grip, double limit, gw_vec3 moved, gw_vec3 velocity)
{
    gw_vec3 x = gw_add(grip->slip, moved);
    gw_vec3 force = gw_add(gw_scale(-grip->stiffness, x), gw_scale(-grip->damping, velocity));
    double size = gw_norm(force);
    return size > limit ? gw_scale(limit / size, force) : force;
}

gw_vec3 gw_friction(gw_friction_rule rule, const gw_grip *grip, double limit, double slip_speed,
                    gw_vec3 moved, gw_vec3 velocity)
{
    if (!(limit > 0))
        return gw_v3(0, 0, 0);
    return rule == GW_FRICTION_STICK ? stick(grip, limit, moved, velocity)
                                     : creep(grip, limit, slip_speed, velocity);
}

gw_vec3 gw_friction_slip(const gw_grip *grip, double limit, gw_vec3 moved)
{
    gw_vec3 x = gw_add(grip->slip, moved);
    double pull = grip->stiffness * gw_norm(x);
    if (!(limit > 0))
        return gw_v3(0, 0, 0);
    return pull > limit ? gw_scale(limit / pull, x) : x;
}
