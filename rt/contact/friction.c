/*
 * What of a grip is left as a contact slides. RT safe.
 */
#include "rt/contact/penalty_contact.h"

gw_vec3 gw_friction_spring_slip(const gw_friction_spring *grip, double limit, gw_vec3 moved)
{
    gw_vec3 x = gw_add(grip->slip, moved);
    double pull = grip->stiffness * gw_norm(x);
    if (!(limit > 0))
        return gw_v3(0, 0, 0);
    return pull > limit ? gw_scale(limit / pull, x) : x;
}
