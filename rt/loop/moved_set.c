/*
 * A body goes over to its moved set. On the loop's thread, RT safe.
 */
#include "rt/loop/moved_set.h"

#include <string.h>

/* The branch by this id of the object's constraints as they are now, at the pose nearest to `from`.
 */
static gw_set_moved solve(gw_network *network, int object, const char *branch,
                          const gw_guided *body, const gw_pose *from, gw_branch *after)
{
    gw_constraint constraints[GW_MAX_PROBLEM];
    int count = gw_network_problem(network, object, constraints);
    if (count < 0)
        return GW_SET_STANDS;
    gw_problem problem = {*from, body->def.length, count, constraints};
    gw_branch before = {.set = body->def.set, .nearest = *from};
    strcpy(before.id, branch);
    return gw_solve_branch(&problem, &before, after) ? GW_SET_MOVED : GW_SET_GONE;
}

static void put(gw_guided *body, const gw_pose *pose)
{
    gw_twist twist = body->twist;
    gw_guided_init(body, &body->def, pose);
    gw_guided_set_twist(body, &twist);
}

gw_set_moved gw_set_follow(gw_network *network, int object, const char *branch, gw_guided *body)
{
    gw_branch after;
    gw_set_moved moved = solve(network, object, branch, body, &body->pose, &after);
    if (moved != GW_SET_MOVED)
        return moved;
    body->def.set = after.set;
    put(body, &after.nearest);
    return moved;
}

/* A rigid motion that takes where the body is to where it would be is good enough where the
 * geometry has no motion of its own: the rest is made good by the next solution. */
gw_set_moved gw_set_ride(gw_network *network, int object, const char *branch, gw_guided *body,
                         double dt)
{
    gw_branch after;
    gw_pose motion, back, from = body->pose;
    bool rigid = gw_network_motion(network, object, &motion);
    if (rigid)
        from = gw_pose_mul(&motion, &body->pose);
    gw_set_moved moved = solve(network, object, branch, body, &from, &after);
    if (moved != GW_SET_MOVED) {
        if (body->ride.moves)
            put(body, &body->pose);
        return moved;
    }
    if (!rigid) {
        back = gw_pose_inverse(&body->pose);
        motion = gw_pose_mul(&after.nearest, &back);
    }
    gw_twist screw = gw_screw_log(&motion);
    gw_ride ride = {true, {gw_scale(1 / dt, screw.v), gw_scale(1 / dt, screw.w)}, -dt};
    body->def.set = after.set;
    back = gw_pose_inverse(&motion);
    body->pose = gw_pose_mul(&back, &after.nearest);
    body->pose.q = gw_quat_unit(body->pose.q);
    gw_guided_ride(body, &ride);
    return moved;
}
