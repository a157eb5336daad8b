/*
 * Rendering of collision impulses, M_d J_h D^-1 J_c^T p: within one tick if the limits of the
 * device allow it, else spread over at most 20 ms; the remainder is dropped and reported.
 *
 * Impulses are exempt from the command's slew limit; a budget of their own (N s in any second)
 * bounds the effect of a chattering contact on the hand. One state per tool, on the loop's thread,
 * RT safe.
 */
#ifndef GW_HAPTICS_IMPULSE_RENDERING_H
#define GW_HAPTICS_IMPULSE_RENDERING_H

#include "rt/base/space.h"

#define GW_IMPULSE_RENDERING_SPREAD 0.020 /* s */
#define GW_IMPULSE_RENDERING_BUDGET 50.0  /* N s in a second, unless stated */
#define GW_IMPULSE_RENDERING_ARM    0.05  /* m: an angular impulse counts as its N m s over this */

typedef struct gw_impulse_rendering {
    gw_wrench pending;  /* still to be given (N s, N m s) */
    double pending_for; /* s since the oldest of it */
    double spent;       /* of the budget (N s); decays by the budget in a second */
} gw_impulse_rendering;

typedef struct gw_impulse_rendered {
    gw_wrench wrench;   /* the impulsive part of the command in this tick (N, N m) */
    gw_wrench withheld; /* dropped for good in this tick (N s, N m s) */
    bool limited;       /* the device's limits cut it in this tick */
} gw_impulse_rendered;

/* One tick. `impulse`: the new one (N s, N m s); `steady`: the rest of the command, within the
 * limits; `budget`: N s in a second, 0: the default. Limits of 0: none. */
gw_impulse_rendered gw_impulse_rendering_tick(gw_impulse_rendering *s, const gw_wrench *impulse,
                                              const gw_wrench *steady, double force_max,
                                              double torque_max, double budget, double dt);

#endif
