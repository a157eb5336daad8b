/*
 * Links of serial mechanisms as bodies of a system. Any thread, RT safe.
 */
#include "rt/dynamics/link.h"

#include <assert.h>

void gw_link_frames(const gw_link_def *link, gw_pose *link_from_m, gw_pose *parent_from_f)
{
    assert(link && link_from_m && parent_from_f);
    gw_vec3 z = gw_unit(link->axis), x = gw_any_normal(z);
    *link_from_m = gw_pose_identity();
    if (z.x != 0 || z.y != 0 || z.z != 1)
        link_from_m->q = gw_quat_from_axes(x, gw_cross(z, x), z);
    *parent_from_f = gw_pose_mul(&link->parent_from_joint, link_from_m);
}

gw_system_body_def gw_link_body(const gw_link_def *link, int parent)
{
    assert(link && parent >= -1);
    gw_system_body_def out = {.mass = link->mass,
                              .parent = parent,
                              .joint = gw_joint_types[link->kind].turns ? GW_MOBILIZER_REVOLUTE
                                                                        : GW_MOBILIZER_PRISMATIC,
                              .damping = {link->damping},
                              .friction = {link->friction},
                              .limited = {link->limited},
                              .lower = {link->lower},
                              .upper = {link->upper},
                              .motor = {link->motor}};
    gw_link_frames(link, &out.body_from_m, &out.parent_from_f);
    return out;
}
