/*
 * Time-domain passivity observer and controller: the observer sums up the energy that control
 * itself generates, the controller determines the damping that dissipates it, by a prediction of
 * the coming tick.
 *
 *   excess = work of the springs on device and on model + change of what they store - booked
 *            + F_h . (motion of the model - motion of the device), where F_h is fed forward
 *
 * The first line is the energy that springs and dampers generate by sampling and delay; the second
 * the energy that the model gets beyond the work of the hand on the device. Both are computed from
 * the actual motions and the wrenches that acted during them. The excess of a passive controller
 * does not rise over any second. README.md has the theory. RT safe.
 */
#ifndef GW_HAPTICS_PASSIVITY_H
#define GW_HAPTICS_PASSIVITY_H

#include <stdint.h>

#include "rt/haptics/virtual_coupling.h"

#define GW_PASSIVITY_HISTORY 16 /* ticks of wrench kept; a power of two, beyond any delay */
#define GW_PASSIVITY_WINDOW_PARTS                                                                  \
    66 /* a second in 64 parts, the part before it and the one being filled */

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

/* Accounts for the tick that ended: device and model are at these poses now, springs store `stored`
 * (J), of which `booked` was put in by other causes (J); commands act `delay` ticks late,
 * 0 <= delay < GW_PASSIVITY_HISTORY. Task space. */
void gw_passivity_observe(gw_passivity_observer *p, const gw_pose *device, const gw_pose *model,
                          double stored, double booked, int delay);

/* Adds `energy` (J) that control put into its springs (negative: took out) to the excess. */
void gw_passivity_charge(gw_passivity_observer *p, double energy);

/* The wrenches that are held until the next tick; `fed`: the part on the model that is F_h. */
void gw_passivity_hold(gw_passivity_observer *p, const gw_wrench *on_device,
                       const gw_wrench *on_model, const gw_wrench *fed);

/* At the end of every tick, with control or without. */
void gw_passivity_end_tick(gw_passivity_observer *p, double dt);

/* The energy that the coming tick may generate without a net gain over the second that ends with
 * it, or over the one that ends now: the energy dissipated since these seconds began, or since any
 * 64th of a second up to `ahead` later (J). Negative: a deficit. */
double gw_passivity_reserve(const gw_passivity_observer *p, int ahead, double dt);

/* The energy to be dissipated in this tick (J); negative: none. */
double gw_passivity_deficit(const gw_passivity_observer *p, double dt);

/* The coming tick: predicted, or with the model's step known. */
typedef struct gw_passivity_prediction {
    gw_twist device, model;             /* their motions (m, rad) */
    gw_wrench on_device, on_model, fed; /* acting in it; fed: the part that is F_h */
    double springs;                     /* change of what springs store (J) */
} gw_passivity_prediction;

/* The wrench on the device in the coming tick, if `newest` is commanded now. */
gw_wrench gw_passivity_acting(const gw_passivity_observer *p, const gw_wrench *newest, int delay);

/* The energy to be dissipated in the tick (J; none if not positive). Known step: the energy that
 * the tick generates, plus the gain since the least excess of the last second. Prediction: also the
 * deficit and a margin for prediction errors. */
double gw_passivity_known_excess(const gw_passivity_observer *p,
                                 const gw_passivity_prediction *ahead, double dt);
double gw_passivity_predicted_excess(const gw_passivity_observer *p,
                                     const gw_passivity_prediction *ahead, double dt);

/* Energy that damping -M (v, w) at the rate 1/s dissipates in a tick, of a body of this inverse
 * mass that moves by `displacement` (J s). */
double gw_passivity_unit_dissipation(gw_inverse_mass m, const gw_twist *displacement, double dt);

/* The rate (1/s) at which `energy` is dissipated, where `taken` is gw_passivity_unit_dissipation();
 * at most the share `most` of the speed in a tick. */
double gw_passivity_damping_rate(double energy, double taken, double most, double dt);

/* -rate M (v, w) */
gw_wrench gw_passivity_damping_wrench(double rate, gw_inverse_mass m, const gw_twist *displacement,
                                      double dt);

#endif
