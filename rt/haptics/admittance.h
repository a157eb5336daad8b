/*
 * Admittance control: the device follows the virtual tool.
 *
 *   command = feed-forward + p e + i int(e) + d e',   e = log(tool, device) in SE(3)
 *
 * all in device space, feed-forward being the twist that takes the tool's pose of this tick to
 * that of the next. The integral stops where the command saturates. One per tool, on the loop's
 * thread, RT safe.
 */
#ifndef GW_HAPTICS_ADMITTANCE_H
#define GW_HAPTICS_ADMITTANCE_H

#include "rt/haptics/limits.h"

/* p in 1/s, i in 1/s^2, d without unit. */
typedef struct gw_pid {
    double p, i, d;
    gw_twist integral; /* of the error (m s, rad s) */
    gw_twist previous; /* error of the last tick */
    bool started;
} gw_pid;

/* The gains used where a scene states none: for a servo of 40 Hz at 1 kHz. */
#define GW_PID_P 100.0
#define GW_PID_I 2500.0
#define GW_PID_D 0.0

void gw_pid_reset(gw_pid *pid);

/* The velocity to command. `limited` tells whether the device's speed limits cut it. */
gw_twist gw_pid_command(gw_pid *pid, const gw_twist *feed_forward, const gw_twist *error,
                        const gw_command_limits *limits, double dt, bool *limited);

/*
 * Keeps the model from running away from the hand: beyond `slack` (m, task space) a spring with
 * damping from the device to the tool. Its stiffness is what a body of `mass` bears at the period
 * dt.
 */
typedef struct gw_virtual_coupling {
    double stiffness, damping; /* N/m, N s/m */
    double slack;              /* m */
    double force_max;          /* N */
} gw_virtual_coupling;

gw_virtual_coupling gw_virtual_coupling_for(double mass, double scale, double dt);

/* The force on the tool; zero within the slack. Task space. */
gw_vec3 gw_virtual_coupling_force(const gw_virtual_coupling *c, gw_vec3 tool, gw_vec3 tool_velocity,
                                  gw_vec3 device);

#endif
