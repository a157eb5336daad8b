/*
 * The command gate: every command to every device passes through one of these two functions, after
 * all control. Nothing else in rt/ makes a gw_device_command. In this order
 *
 *   finite      a command that is not finite becomes zero, and the device is disengaged
 *   workspace   at the edge, the outward part is removed
 *   oscillation a guarded device's command with fast and large oscillation is scaled down until it
 *               ends
 *   soft        after a guarded device was engaged its limits are small, then grow
 *   clamp       |u| <= limit, the direction kept
 *   slew        |u - u_last| <= rate dt, the direction of the change kept; limits go before it
 *
 * so that the result is finite, within the limits and, unless a limit itself fell, within the slew
 * limit. A command that is not engaged, or not finite, skips all but the first: zero is sent
 * without delay.
 *
 * Control laws may also apply limits (anti-windup, the budget of impulses); the gate does not rely
 * on them. Device space. One state per device, on the loop's thread, RT safe.
 */
#ifndef GW_HAPTICS_LIMITS_H
#define GW_HAPTICS_LIMITS_H

#include "drivers/driver.h"
#include "rt/base/space.h"

/* Largest lengths of a command's vectors, and of their changes in a second. 0: not limited. */
typedef struct gw_command_limits {
    double force, torque;                   /* N, N m */
    double speed, spin;                     /* m/s, rad/s */
    double force_rate, torque_rate;         /* N/s, N m/s */
    double acceleration, spin_acceleration; /* m/s^2, rad/s^2 */
    double reach;                           /* m, of the device from the middle of its workspace */
} gw_command_limits;

/* The stricter of two limits, 0 standing for none. */
static inline double gw_stricter_limit(double a, double b)
{
    if (!(a > 0) || !(b > 0))
        return a > 0 ? a : b > 0 ? b : 0;
    return a < b ? a : b;
}

/* The stricter of a tool's limits (task space), converted to device space by the workspace map's
 * `scale` > 0 (m/m), and the device's own. `guarded`: a device that can hurt (its safety is
 * latched), which has default rates: a whole limit within GW_GATE_SLEW_TIME. */
#define GW_GATE_SLEW_TIME 0.01
gw_command_limits gw_command_limits_of(const gw_command_limits *tool, double scale,
                                       const gw_device_info *device, bool guarded);

/* Scales a vector down to the length `most` (0: no limit); true when it did. For any finite vector,
 * however long. */
bool gw_clamp_norm(gw_vec3 *a, double most);

/* ---- the gate's state --------------------------------------------------------------------------
 */

#define GW_GATE_SOFT_SHARE 0.1 /* of the limits, at first */
#define GW_GATE_SOFT_HOLD  0.5 /* s at that share */
#define GW_GATE_SOFT_RAMP  2.0 /* s of the ramp to the full limits */

/* State of a command's components for the count of reversals. */
typedef struct gw_oscillation {
    double extreme[3], reversals[3]; /* those of the last time constant */
    int direction[3];                /* 1, -1; 0: it has not moved yet */
} gw_oscillation;

/* State of one device's gate. All zero: engaged, without a command so far. */
typedef struct gw_command_gate {
    bool begun;                        /* it was engaged softly at least once */
    double soft;                       /* s until all of the limits is there; 0: it is */
    double reduction;                  /* of an oscillating command: 0 none, towards 1 all */
    gw_oscillation linear, angular;    /* of what was asked for */
    gw_vec3 last_linear, last_angular; /* sent */
} gw_command_gate;

/* Restarts the soft engagement with the next command. */
void gw_gate_engage_softly(gw_command_gate *gate);

/* Position and treatment of the device for one command. */
typedef struct gw_gate_input {
    gw_vec3 at; /* from the middle of its workspace (m) */
    double dt;  /* s since the last command, > 0 */
    bool guarded, engaged;
} gw_gate_input;

/* The present limits, which are small after an engagement. For control laws. */
gw_command_limits gw_gate_limits(const gw_command_gate *gate, const gw_command_limits *limits,
                                 bool guarded);

typedef struct gw_gated_command {
    gw_device_command command; /* finite, within the limits; disengaged where it is not `finite` */
    bool limited;              /* the gate changed it */
    bool finite;               /* it was finite; if not, it is zero */
} gw_gated_command;

/* Command to an impedance device: the wrench that it exerts. */
gw_gated_command gw_gate_wrench(gw_command_gate *gate, const gw_wrench *wrench,
                                const gw_command_limits *limits, const gw_gate_input *in);

/* Command to an admittance device: the velocity that it servoes; zero if it is not finite. */
gw_gated_command gw_gate_velocity(gw_command_gate *gate, const gw_twist *velocity,
                                  const gw_command_limits *limits, const gw_gate_input *in);

#endif
