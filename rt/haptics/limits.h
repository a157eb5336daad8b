/*
 * The last gate: every command to every device passes through one of these two functions, behind
 * all control. Nothing else in rt/ makes a gw_device_command. In this order
 *
 *   finite      a command that is not finite is none, and the device is disengaged
 *   workspace   at the edge, the part that leads outward is taken out
 *   oscillation a guarded device's command that swings fast and far loses size until it calms down
 *   soft        after a guarded device was engaged its limits are small, then grow
 *   clamp       |u| <= limit, the direction kept
 *   slew        |u - u_last| <= rate dt, the direction of the change kept; limits go before it
 *
 * so that what comes out is finite, within the limits and, unless a limit itself fell, within the
 * slew limit. A command that is not engaged, or not finite, skips all but the first: zero is never
 * late.
 *
 * Controls may know limits of their own (anti-windup, the budget of impulses); the gate does not
 * rely on them. Device space. One state per device, on the loop's thread, RT safe.
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

/* The stricter of a tool's limits (task space), brought to device space by the workspace map's
 * `scale` > 0 (m/m), and of the device's own. `guarded`: a device that can hurt (its safety is
 * latched), which gets rates where nobody states them: the whole of a limit within
 * GW_GATE_SLEW_TIME. */
#define GW_GATE_SLEW_TIME 0.01
gw_command_limits gw_command_limits_of(const gw_command_limits *tool, double scale,
                                       const gw_device_info *device, bool guarded);

/* Scales a vector down to the length `most` (0: no limit); true when it did. For any finite vector,
 * however long. */
bool gw_clamp_norm(gw_vec3 *a, double most);

/* ---- the gate's state --------------------------------------------------------------------------
 */

#define GW_GATE_SOFT_SHARE 0.1 /* of the limits, at first */
#define GW_GATE_SOFT_HOLD  0.5 /* s, as long as it stays that small */
#define GW_GATE_SOFT_RAMP  2.0 /* s, until all of it is there */

/* A command's components between turning points: where each went from, which way it goes. */
typedef struct gw_swing {
    double extreme[3], turns[3]; /* turns of the last time constant */
    int way[3];                  /* 1, -1; 0: it has not moved yet */
} gw_swing;

/* Of one device. All zero: engaged, nothing commanded so far. */
typedef struct gw_command_gate {
    bool begun;                        /* it was engaged softly at least once */
    double soft;                       /* s until all of the limits is there; 0: it is */
    double taken;                      /* by the oscillation gate: 0 nothing, towards 1 all */
    gw_swing linear, angular;          /* of what was asked for */
    gw_vec3 last_linear, last_angular; /* sent */
} gw_command_gate;

/* From the next command on, limits begin small. */
void gw_gate_engage_softly(gw_command_gate *gate);

/* Where the device is and how it is treated, in this command. */
typedef struct gw_gate_input {
    gw_vec3 at; /* from the middle of its workspace (m) */
    double dt;  /* s since the last command, > 0 */
    bool guarded, engaged;
} gw_gate_input;

/* The limits that a command will meet now: small after an engagement. For controls. */
gw_command_limits gw_gate_limits(const gw_command_gate *gate, const gw_command_limits *limits,
                                 bool guarded);

typedef struct gw_gated_command {
    gw_device_command command; /* finite, within the limits; disengaged where it is not `finite` */
    bool limited;              /* the gate changed it */
    bool finite;               /* it was finite; if not, it is zero */
} gw_gated_command;

/* To an impedance device: the wrench that it is to exert. */
gw_gated_command gw_gate_wrench(gw_command_gate *gate, const gw_wrench *wrench,
                                const gw_command_limits *limits, const gw_gate_input *in);

/* To an admittance device: the velocity that it is to servo. One that is not finite is replaced by
 * standing still. */
gw_gated_command gw_gate_velocity(gw_command_gate *gate, const gw_twist *velocity,
                                  const gw_command_limits *limits, const gw_gate_input *in);

#endif
