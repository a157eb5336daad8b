/*
 * A guided body on a set that moves with its geometry. On the loop's thread, RT safe.
 */
#include "rt/sim/moving_submanifold.h"

#include <string.h>

/* Bound of the work on free-form shapes when a body is put on another set, in rows evaluated: some
 * 1 ms, the period of the loop. The nearest pose is a local one beyond. */
#define SWITCH_WORK 20000

/* Solves for the branch with this id of the object's present constraints, at the pose nearest to
 * `from`. */
static gw_moving_submanifold_status solve_branch_at(gw_kinematics *kinematics, int object,
                                                    const char *branch, const gw_guided_def *def,
                                                    const gw_pose *from, gw_branch *after)
{
    gw_constraint constraints[GW_MAX_PROBLEM];
    int count = gw_kinematics_problem(kinematics, object, constraints);
    if (count < 0)
        return GW_SUBMANIFOLD_UNMOVED;
    gw_problem problem = {*from, def->length, count, constraints};
    gw_branch before = {.set = def->set, .nearest = *from};
    strcpy(before.id, branch);
    return gw_solve_branch(&problem, &before, after) ? GW_SUBMANIFOLD_MOVED : GW_SUBMANIFOLD_GONE;
}

void gw_moving_submanifold_at_switch(gw_kinematics *kinematics, int object, const char *branch,
                                     gw_guided_def *def, const gw_pose *near)
{
    gw_branch now;
    if (solve_branch_at(kinematics, object, branch, def, near, &now) == GW_SUBMANIFOLD_MOVED)
        def->set = now.set;
}

gw_pose gw_moving_submanifold_nearest(const gw_guided_def *def, const gw_pose *near,
                                      const gw_pose *otherwise)
{
    gw_pose to = *otherwise;
    gw_submanifold set = def->set;
    long work = SWITCH_WORK;
    gw_submanifold_count_work(&set, &work);
    gw_submanifold_nearest(&set, near, def->length, &to);
    if (work <= 0 && set.general) /* the search may have ended before it was on the set */
        gw_rows_project(def->set.rows, set.row_count, 6 - set.dof, def->length, 12, &to);
    return gw_finite_pose(&to) ? to : *otherwise;
}

gw_twist gw_moving_submanifold_twist(const gw_kinematics *kinematics, const gw_guided *was)
{
    bool moves = was->base.moves && gw_kinematics_moved(kinematics);
    return moves ? was->base.twist : (gw_twist){{0, 0, 0}, {0, 0, 0}};
}

static void put_body(gw_guided *body, const gw_pose *pose)
{
    gw_twist twist = body->twist;
    gw_guided_init(body, &body->def, pose);
    gw_guided_set_twist(body, &twist);
}

/*
 * In the frame of the former set the body is at Y. The new set is where a rigid motion M took the
 * former one, so with the frame at F before the tick and G after it,
 *
 *   the set's frame moves from F M^-1 to G
 *
 * Where the geometry has no motion of its own, M takes the body to its nearest new pose, which is
 * right to first order in a tick: the next solution corrects the rest.
 */
gw_moving_submanifold_status gw_moving_submanifold_advance(gw_kinematics *kinematics, int object,
                                                           const char *branch, gw_guided *body,
                                                           const gw_pose *before,
                                                           const gw_pose *after, double dt)
{
    gw_branch now;
    gw_pose motion, from = *before, back = gw_pose_inverse(before);
    gw_pose own = gw_pose_mul(&back, &body->pose), to = own;
    bool rigid = kinematics && gw_kinematics_motion(kinematics, object, &motion);
    if (rigid)
        to = gw_pose_mul(&motion, &own);
    gw_moving_submanifold_status moved =
        kinematics ? solve_branch_at(kinematics, object, branch, &body->def, &to, &now)
                   : GW_SUBMANIFOLD_UNMOVED;
    if (moved == GW_SUBMANIFOLD_MOVED) {
        if (!rigid) {
            back = gw_pose_inverse(&own);
            motion = gw_pose_mul(&now.nearest, &back);
        }
        body->def.set = now.set;
        own = now.nearest;
        back = gw_pose_inverse(&motion);
        from = gw_pose_mul(before, &back);
    } else if (gw_pose_distance(before, after, 1) == 0) {
        if (body->base.moves)
            put_body(body, &body->pose);
        return moved;
    }
    gw_base_motion base_motion = gw_base_motion_between(&from, after, dt);
    body->pose = gw_pose_mul(&from, &own);
    body->pose.q = gw_quat_unit(body->pose.q);
    gw_guided_set_base_motion(body, &base_motion);
    return moved;
}
