/*
 * What control itself gives to hand and model: an observer of that energy, and the damping that
 * takes it back (time-domain passivity control).
 *
 *   excess = work of the springs on device and on model + change of what they store - booked
 *            + F_h . (way of the model - way of the device), where F_h is fed forward
 *
 * The first line is what a network of springs and dampers makes of sampling and delay; the second
 * what the model gets beyond what the hand gave, being a copy of what the hand moves. All from the
 * ways that both really went and the wrenches that acted meanwhile. A passive controller's excess
 * never rises. README.md says more. RT safe.
 */
#ifndef GW_CONTROL_PORT_H
#define GW_CONTROL_PORT_H

#include "rt/base/space.h"

#define GW_PORT_CREDIT 1e-6 /* J: what was lost before counts for so much, over whatever window */
#define GW_PORT_PAST   16   /* ticks of wrench kept; a power of two, beyond any delay */

typedef struct gw_port {
    bool started;
    gw_pose device, model;             /* at the last tick */
    double stored;                     /* then (J) */
    gw_wrench on_device[GW_PORT_PAST]; /* springs and damping, newest at `at` */
    gw_wrench on_model, fed;           /* held since the last tick; fed: the part that is F_h */
    int at;
    double excess;  /* sum of all (J) */
    double rise;    /* in the last tick (J) */
    double balance; /* the same, but never below minus the credit (J) */
} gw_port;

/* Books the tick that ended: both are there now, springs store so much, `booked` joules were put
 * into them; commands act `delay` ticks late. */
void gw_port_observe(gw_port *p, const gw_pose *device, const gw_pose *model, double stored,
                     double booked, int delay);

/* What is held until the next tick. */
void gw_port_hold(gw_port *p, const gw_wrench *on_device, const gw_wrench *on_model,
                  const gw_wrench *fed);

/* What damping is to take in the coming tick so that nothing comes out (J). */
double gw_port_due(const gw_port *p);

/* The wrench -alpha (v, arm^2 w) that takes `excess` joules within a tick, alpha at most `most`
 * (N s/m); zero where there is no excess. */
gw_wrench gw_port_damping(double excess, const gw_twist *twist, double arm, double most, double dt);

#endif
