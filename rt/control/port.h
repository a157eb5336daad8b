/*
 * The device's port: an observer of the energy that comes out of it, and the damping that takes
 * back what should not have come (time-domain passivity control).
 *
 *   excess = -(hand's work) + (work of control on the model) + change of what springs store
 *            + change of the device's kinetic energy, where control leaves it to the hand
 *            - (energy of edits and changed weights, work of the environment told to the device)
 *
 * in every tick, from the ways that device and model went and the wrenches that were held
 * meanwhile. A passive controller's excess never rises. README.md says more. RT safe.
 */
#ifndef GW_CONTROL_PORT_H
#define GW_CONTROL_PORT_H

#include "rt/base/space.h"

#define GW_PORT_WINDOW 1.0 /* s, over which nothing may come out on balance */
#define GW_PORT_SLOTS  16  /* parts of it */

/* A tick's end, as the observer needs it. */
typedef struct gw_port_tick {
    gw_pose device, model;
    double stored;  /* springs between both, and what weights may spend (J) */
    double kinetic; /* of the device, where it keeps its own inertia, else 0 (J) */
    double booked;  /* of edits and changed weights since the last tick (J) */
} gw_port_tick;

typedef struct gw_port {
    bool started;
    gw_port_tick last;
    gw_wrench hand, on_model;    /* held since the last tick */
    gw_wrench environment;       /* told to the device, not to the hand's account */
    double excess;               /* sum of all (J) */
    double slots[GW_PORT_SLOTS]; /* what of it came in the last second's parts, newest at `at` */
    int at;
    double slot_time;
} gw_port;

/* Books what happened since the last tick; returns the excess of the last second (J). */
double gw_port_observe(gw_port *p, const gw_port_tick *now, double dt);

/* What is held until the next tick. */
void gw_port_hold(gw_port *p, const gw_wrench *hand, const gw_wrench *on_model,
                  const gw_wrench *environment);

/* The wrench -alpha (v, arm^2 w) that takes `excess` joules within a tick, alpha at most `most`
 * (N s/m); zero where there is no excess. */
gw_wrench gw_port_damping(double excess, const gw_twist *twist, double arm, double most, double dt);

#endif
