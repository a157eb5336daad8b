/*
 * The gap of a near pair. RT safe.
 */
#include "rt/contact/kinematics.h"

/* Balls in one place have no direction; one is as good as another. */
static gw_vec3 between(gw_vec3 a, gw_vec3 b)
{
    gw_vec3 d = gw_sub(a, b);
    return gw_norm2(d) > 0 ? gw_unit(d) : gw_v3(0, 0, 1);
}

gw_gap gw_gap_at(const gw_contact_candidate *near, const gw_pose *a, const gw_pose *b)
{
    gw_gap g;
    gw_vec3 xa = gw_pose_point(a, near->point_a), xb = gw_pose_point(b, near->point_b);
    switch (near->kind) {
    case GW_NORMAL_IN_A:
        g.normal = gw_rotate(a->q, near->normal);
        break;
    case GW_NORMAL_IN_B:
        g.normal = gw_rotate(b->q, near->normal);
        break;
    case GW_NORMAL_BETWEEN:
        g.normal = between(xa, xb);
        break;
    default:
        g.normal = near->normal;
    }
    g.gap = gw_dot(g.normal, gw_sub(xa, xb)) - near->radius_a - near->radius_b;
    g.at_a = gw_mul_add(xa, -near->radius_a, g.normal);
    g.at_b = gw_mul_add(xb, near->radius_b, g.normal);
    if (near->kind == GW_NORMAL_IN_A)
        g.at_a = g.at_b;
    else if (near->kind != GW_NORMAL_IN_WORLD)
        g.at_b = g.at_a;
    return g;
}
