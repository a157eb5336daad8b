/*
 * Admittance control: the device follows the virtual tool.
 *
 *   command = feed-forward + p e + i int(e) + d e',   e = log(tool, device) in SE(3)
 *
 * all in device space; the feed-forward is the twist from the tool's pose of this tick to that of
 * the next. The integral is frozen while the command saturates (anti-windup). One per tool, on the
 * loop's thread, RT safe.
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

/* Default gains: for a servo of 40 Hz at 1 kHz. */
#define GW_PID_P 100.0
#define GW_PID_I 2500.0
#define GW_PID_D 0.0

void gw_pid_reset(gw_pid *pid);

/* The velocity command. *limited: true if the device's speed limits cut it. */
gw_twist gw_pid_command(gw_pid *pid, const gw_twist *feed_forward, const gw_twist *error,
                        const gw_command_limits *limits, double dt, bool *limited);

/*
 * Virtual coupling from the device to the tool, so that the model cannot run away from the hand: a
 * spring with damping beyond the dead zone `slack` (m, task space), with a stiffness that is stable
 * for a body of `mass` at the period dt.
 */
typedef struct gw_virtual_coupling {
    double stiffness, damping; /* N/m, N s/m */
    double slack;              /* m */
    double force_max;          /* N */
} gw_virtual_coupling;

gw_virtual_coupling gw_virtual_coupling_for(double mass, double scale, double dt);

/* The force on the tool (N, task space); zero within the slack. Positions (m) and velocity (m/s) in
 * task space. */
gw_vec3 gw_virtual_coupling_force(const gw_virtual_coupling *c, gw_vec3 tool, gw_vec3 tool_velocity,
                                  gw_vec3 device);

#endif
