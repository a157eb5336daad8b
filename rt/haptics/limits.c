/*
 * The last gate of commands to devices. On the loop's thread, RT safe.
 */
#include "rt/haptics/limits.h"

#include <assert.h>
#include <string.h>

#define SQUARES_MAX 1e150 /* components beyond it have squares that overflow */
#define ROUNDING    1e-12 /* of a limit: what control has cut to it is not cut again */

gw_command_limits gw_command_limits_of(const gw_command_limits *tool, double scale,
                                       const gw_device_info *device)
{
    assert(scale > 0);
    return (gw_command_limits){
        .force = gw_stricter_limit(scale * tool->force, device->force_max),
        .torque = gw_stricter_limit(scale * scale * tool->torque, device->torque_max),
        .speed = gw_stricter_limit(scale * tool->speed, device->speed_max),
        .spin = gw_stricter_limit(tool->spin, device->spin_max)};
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
static bool cut(gw_vec3 *a, double most)
{
    double length = gw_norm(*a);
    return length > most * (1 + ROUNDING) && gw_clamp_norm(a, most);
}

/* Both vectors finite and within the limits, or zero. */
static void gate(gw_vec3 *linear, gw_vec3 *angular, double linear_max, double angular_max,
                 gw_gated_command *out)
{
    out->finite = gw_finite3(*linear) && gw_finite3(*angular);
    if (!out->finite) {
        *linear = *angular = gw_v3(0, 0, 0);
        return;
    }
    bool linear_cut = cut(linear, linear_max);
    out->limited = cut(angular, angular_max) || linear_cut;
}

static void put(gw_vec3 a, double out[3])
{
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
}

gw_gated_command gw_gate_wrench(const gw_wrench *wrench, const gw_command_limits *limits,
                                bool engaged)
{
    gw_gated_command out = {.limited = false};
    gw_wrench w = *wrench;
    gate(&w.f, &w.t, limits->force, limits->torque, &out);
    put(w.f, out.command.f);
    put(w.t, out.command.t);
    out.command.engaged = engaged && out.finite;
    return out;
}

gw_gated_command gw_gate_velocity(const gw_twist *velocity, const gw_command_limits *limits,
                                  bool engaged)
{
    gw_gated_command out = {.limited = false};
    gw_twist u = *velocity;
    gate(&u.v, &u.w, limits->speed, limits->spin, &out);
    put(u.v, out.command.v);
    put(u.w, out.command.w);
    out.command.engaged = engaged;
    return out;
}
