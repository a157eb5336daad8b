/*
 * Impulses on their way to the hand: M_d J_h D^-1 J_c^T p, given within one tick where the
 * device's limits let it, else spread over 20 ms at most; what is then left is dropped and told.
 *
 * They do not count against the command's slew limit; a budget of their own (N s in any second)
 * keeps a chattering contact from hammering the hand. On the loop's thread, RT safe.
 */
#ifndef GW_HAPTICS_IMPULSE_RENDERING_H
#define GW_HAPTICS_IMPULSE_RENDERING_H

#include "rt/base/space.h"

#define GW_IMPULSE_RENDERING_SPREAD 0.020 /* s */
#define GW_IMPULSE_RENDERING_BUDGET 50.0  /* N s in a second, where nothing is said */
#define GW_IMPULSE_RENDERING_ARM    0.05  /* m: a turn's impulse counts as its N m s over this */

typedef struct gw_impulse_rendering {
    gw_wrench owed;  /* still to come (N s, N m s) */
    double owed_for; /* s since that began */
    double spent;    /* of the budget: falls by the budget every second (N s) */
} gw_impulse_rendering;

typedef struct gw_impulse_rendered {
    gw_wrench wrench;   /* the impulsive part of the command in this tick (N, N m) */
    gw_wrench withheld; /* dropped for good in this tick (N s, N m s) */
    bool limited;       /* the device's limits cut it in this tick */
} gw_impulse_rendered;

/* `hit`: the new impulse (N s, N m s); `quiet`: the rest of the command, within the limits
 * (0: none). */
gw_impulse_rendered gw_impulse_rendering_tick(gw_impulse_rendering *s, const gw_wrench *hit,
                                              const gw_wrench *quiet, double force_max,
                                              double torque_max, double budget, double dt);

#endif
