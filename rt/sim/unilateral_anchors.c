/*
 * Ends of unilateral constraints that move: a stated feature of a fixed object may be moved from
 * outside, and is an anchor, a body of the contact world that moves with the feature. RT safe.
 */
#include "rt/sim/scene_dynamics_private.h"

/* The pose that takes the initial element to the present one: the smallest rotation of its
 * direction, about its point, from the former pose. */
static gw_pose anchored_pose(const gw_unilateral_anchor *anchor, const gw_element *now)
{
    gw_element was = gw_element_moved(&anchor->at, &anchor->end.element);
    gw_pose to = anchor->at;
    if (now->kind != GW_POINT) {
        gw_quat turn = gw_quat_between(was.d, now->d);
        to.q = gw_quat_unit(gw_quat_mul(turn, to.q));
    }
    to.p = gw_sub(now->p, gw_rotate(to.q, anchor->end.element.p));
    return to;
}

void gw_scene_unilaterals_move(gw_scene_unilaterals *u, gw_world *world,
                               const gw_kinematics *kinematics, double dt)
{
    for (int i = 0; i < u->anchor_count; i++) {
        gw_unilateral_anchor *anchor = &u->anchors[i];
        gw_element own = gw_kinematics_element(kinematics, &anchor->end);
        gw_pose object = gw_kinematics_pose(kinematics, anchor->end.object);
        gw_element now = gw_element_moved(&object, &own);
        gw_pose to = anchored_pose(anchor, &now);
        gw_twist displacement = gw_pose_sub(&to, &anchor->at), twist = {{0, 0, 0}, {0, 0, 0}};
        if (dt > 0)
            twist = (gw_twist){gw_scale(1 / dt, displacement.v), gw_scale(1 / dt, displacement.w)};
        anchor->at = to;
        gw_world_set_body(world, u->first_anchor + i, &to, &twist);
    }
    for (int i = 0; i < u->count; i++) {
        gw_scene_unilateral_row *r = &u->rows[i];
        if (r->row.kind == GW_UNILATERAL_SURFACES)
            continue;
        if (r->anchor[0] < 0 && r->end[0].feature >= 0)
            r->row.a = gw_kinematics_element(kinematics, &r->end[0]);
        if (r->anchor[1] < 0 && r->end[1].feature >= 0)
            r->row.b = gw_kinematics_element(kinematics, &r->end[1]);
    }
}
