/*
 * Friction of one contact (impulsive-forces eq. 4 as corrected), and a grip that sticks.
 *
 *   creep:  F_t = -mu F_n min(1, |v_t|/v_th) v_t/|v_t|
 *   stick:  F_t = -(k x + d v_t), at most mu F_n; x: slip since it took hold, let go beyond mu
 * F_n/k
 *
 * Pure functions of values, RT safe.
 */
#ifndef GW_CONTACT_FRICTION_H
#define GW_CONTACT_FRICTION_H

#include "rt/base/space.h"
#include "rt/contact/world.h"

typedef struct gw_grip {
    double stiffness, damping; /* of the spring that sticks (N/m, N s/m) */
    double viscous;            /* the most that a step bears of a force along -v (N s/m) */
    gw_vec3 slip;              /* x (m) */
} gw_grip;

/* On the body that moves at `velocity` (tangential) relative to the other, `moved` (tangential)
 * away from where it was when the slip was taken. `limit`: mu F_n. */
gw_vec3 gw_friction(gw_friction_rule rule, const gw_grip *grip, double limit, double slip_speed,
                    gw_vec3 moved, gw_vec3 velocity);

/* The slip after it moved on, as far as the grip holds. */
gw_vec3 gw_friction_slip(const gw_grip *grip, double limit, gw_vec3 moved);

#endif
