/*
 * What control itself gives to hand and model: an observer of that energy, and the damping that
 * keeps it from ever being owed (time-domain passivity control that looks ahead).
 *
 *   excess = work of the springs on device and on model + change of what they store - booked
 *            + F_h . (way of the model - way of the device), where F_h is fed forward
 *
 * The first line is what a network of springs and dampers makes of sampling and delay; the second
 * what the model gets beyond what the hand gave, being a copy of what the hand moves. All from the
 * ways that both really went and the wrenches that acted meanwhile. A passive controller's excess
 * never rises over any second. README.md says more. RT safe.
 */
#ifndef GW_HAPTICS_PASSIVITY_H
#define GW_HAPTICS_PASSIVITY_H

#include <stdint.h>

#include "rt/haptics/virtual_coupling.h"

#define GW_PASSIVITY_HISTORY 16 /* ticks of wrench kept; a power of two, beyond any delay */
#define GW_PASSIVITY_WINDOW_PARTS                                                                  \
    66 /* a second in 64 parts, the one before it and the one that fills */

typedef struct gw_passivity_observer {
    bool started;
    gw_pose device, model;                     /* at the last tick */
    double stored;                             /* then (J) */
    gw_wrench on_device[GW_PASSIVITY_HISTORY]; /* springs and damping, newest at `at` */
    gw_wrench on_model, fed; /* held since the last tick; fed: the part that is F_h */
    int at;
    double excess; /* sum of all (J) */
    double
        least[GW_PASSIVITY_WINDOW_PARTS]; /* of the excess in every part of the last second (J) */
    int64_t ticks;                        /* that were passed */
} gw_passivity_observer;

/* Books the tick that ended: both are there now, springs store so much, `booked` joules were put
 * into them; commands act `delay` ticks late. */
void gw_passivity_observe(gw_passivity_observer *p, const gw_pose *device, const gw_pose *model,
                          double stored, double booked, int delay);

/* Control put `energy` into its springs, or took it out of them, on its own account. */
void gw_passivity_charge(gw_passivity_observer *p, double energy);

/* What is held until the next tick. */
void gw_passivity_hold(gw_passivity_observer *p, const gw_wrench *on_device,
                       const gw_wrench *on_model, const gw_wrench *fed);

/* The tick is over, with control or without. */
void gw_passivity_end_tick(gw_passivity_observer *p, double dt);

/* What the coming tick may bring so that nothing comes out in the second that it ends, nor in the
 * one that ends now: what was lost since they began (J); or since any 64th of it up to `ahead`
 * later. Below zero: owed. */
double gw_passivity_reserve(const gw_passivity_observer *p, int ahead, double dt);

/* What is to be taken back in this tick (J); below zero: nothing. */
double gw_passivity_deficit(const gw_passivity_observer *p, double dt);

/* A tick that is to come, or whose model has stepped already. */
typedef struct gw_passivity_prediction {
    gw_twist device, model;             /* their ways (m, rad) */
    gw_wrench on_device, on_model, fed; /* what acts on them in it; fed: the part that is F_h */
    double springs;                     /* what they will store more (J) */
} gw_passivity_prediction;

/* What is to act on the device in the coming tick, if `newest` is commanded now. */
gw_wrench gw_passivity_acting(const gw_passivity_observer *p, const gw_wrench *newest, int delay);

/* What is to be taken in the tick (J), none where that is not above zero: what it brings, with
 * all that came since the last second's least; and where that is foreseen only, with what is owed
 * and something against what foresight misses. */
double gw_passivity_known_excess(const gw_passivity_observer *p,
                                 const gw_passivity_prediction *ahead, double dt);
double gw_passivity_predicted_excess(const gw_passivity_observer *p,
                                     const gw_passivity_prediction *ahead, double dt);

/* What damping -M (v, w) (1/s) takes in a tick of what moves so lightly on such a way (J s). */
double gw_passivity_unit_dissipation(gw_inverse_mass m, const gw_twist *way, double dt);

/* The rate (1/s) at which that takes so much energy; a part `most` of the speed a tick at most. */
double gw_passivity_damping_rate(double energy, double taken, double most, double dt);

/* -rate M (v, w) */
gw_wrench gw_passivity_damping_wrench(double rate, gw_inverse_mass m, const gw_twist *way,
                                      double dt);

#endif
