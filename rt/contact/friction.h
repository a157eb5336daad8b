/*
 * A grip that sticks, from piece to piece: x is let go beyond mu F_n / k (pressing.h has the law).
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

/* The slip after it moved on by so much (tangential), as far as the grip holds. `limit`: mu F_n. */
gw_vec3 gw_friction_slip(const gw_grip *grip, double limit, gw_vec3 moved);

#endif
