/*
 * The table of joint types, and their motions. Any thread, RT safe.
 */
#include "rt/dynamics/joint.h"

#include <assert.h>
#include <stddef.h>

const gw_joint_type gw_joint_types[GW_JOINT_KIND_COUNT] = {
    [GW_JOINT_REVOLUTE] = {"rad", true},
    [GW_JOINT_PRISMATIC] = {"m", false},
};

const char *const gw_joint_kind_names[GW_JOINT_KIND_COUNT + 1] = {
    [GW_JOINT_REVOLUTE] = "revolute",
    [GW_JOINT_PRISMATIC] = "prismatic",
};

gw_pose gw_joint_motion(gw_joint_kind kind, gw_vec3 axis, double q)
{
    gw_pose moved = gw_pose_identity();
    assert(fabs(gw_norm2(axis) - 1) < 1e-3);
    switch (kind) {
    case GW_JOINT_REVOLUTE:
        moved.q = gw_quat_axis(axis, q);
        break;
    case GW_JOINT_PRISMATIC:
        moved.p = gw_scale(q, axis);
        break;
    case GW_JOINT_KIND_COUNT:
        assert(kind != GW_JOINT_KIND_COUNT);
    }
    return moved;
}
