/*
 * The last gate: every command to every device passes through one of these two functions, behind
 * all control. A command comes out finite and within the limits of force and torque, or of linear
 * and angular speed; a vector that is too long is shortened and keeps its direction. Nothing else
 * in rt/ makes a gw_device_command.
 *
 * Controls may know limits of their own (anti-windup, the budget of impulses); the gate does not
 * rely on them. Device space. Pure functions, RT safe.
 */
#ifndef GW_HAPTICS_LIMITS_H
#define GW_HAPTICS_LIMITS_H

#include "drivers/driver.h"
#include "rt/base/space.h"

/* Largest lengths of a command's vectors. 0: not limited. */
typedef struct gw_command_limits {
    double force, torque; /* N, N m */
    double speed, spin;   /* m/s, rad/s */
} gw_command_limits;

/* The stricter of two limits, 0 standing for none. */
static inline double gw_stricter_limit(double a, double b)
{
    if (!(a > 0) || !(b > 0))
        return a > 0 ? a : b > 0 ? b : 0;
    return a < b ? a : b;
}

/* The stricter of a tool's limits (task space), brought to device space by the workspace map's
 * `scale` > 0 (m/m), and of the device's own. */
gw_command_limits gw_command_limits_of(const gw_command_limits *tool, double scale,
                                       const gw_device_info *device);

/* Scales a vector down to the length `most` (0: no limit); true when it did. For any finite vector,
 * however long. */
bool gw_clamp_norm(gw_vec3 *a, double most);

typedef struct gw_gated_command {
    gw_device_command command; /* finite, within the limits; disengaged where it is not `finite` */
    bool limited;              /* it was longer than a limit */
    bool finite;               /* it was finite; if not, it is zero */
} gw_gated_command;

/* To an impedance device: the wrench that it is to exert. */
gw_gated_command gw_gate_wrench(const gw_wrench *wrench, const gw_command_limits *limits,
                                bool engaged);

/* To an admittance device: the velocity that it is to servo. One that is not finite is replaced by
 * standing still. */
gw_gated_command gw_gate_velocity(const gw_twist *velocity, const gw_command_limits *limits,
                                  bool engaged);

#endif
