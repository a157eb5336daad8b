/*
 * Systems of bodies put somewhere: where poses and twists have them, slower, back at the start. RT
 * safe.
 */
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_private.h"

#define PLACE_STEPS 20 /* of the projection */

/* The joint of a body where `pose` and `twist` have it; its parent is in place. */
static void place_joint(gw_system *s, int index, const gw_pose *pose, const gw_twist *twist)
{
    gw_system_body *k = &s->bodies[index];
    const gw_system_body *p = gw_carrier_of(s, k);
    gw_pose on_body = gw_pose_mul(pose, &k->def.body_from_m);
    gw_pose on_parent = p ? gw_pose_mul(&p->pose, &k->def.parent_from_f) : k->def.parent_from_f;
    const gw_pose *m = k->def.reversed ? &on_parent : &on_body,
                  *f = k->def.reversed ? &on_body : &on_parent;
    gw_pose f_from_world = gw_pose_inverse(f), f_from_m = gw_pose_mul(&f_from_world, m);
    double was[6], now[6];
    memcpy(was, k->joint.z, sizeof was);
    gw_mobilizer_position(k->def.joint, &f_from_m, now);
    for (int j = 0; j < k->dof && gw_mobilizer_rotation(k->def.joint) == 6; j++)
        if (gw_mobilizers[k->def.joint].turns >> j & 1)
            now[j] = was[j] + remainder(now[j] - was[j], 2 * GW_PI);
    memcpy(k->joint.z, now, sizeof now);
    int at = gw_mobilizer_rotation(k->def.joint);
    if (at < 6)
        k->joint.turn = gw_quat_exp(gw_v3(now[at], now[at + 1], now[at + 2]));
    gw_twist of_parent = p ? p->twist : (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_vec3 from_parent = p ? gw_sub(m->p, p->pose.p) : m->p;
    gw_vec3 v = gw_sub(gw_add(twist->v, gw_cross(twist->w, gw_sub(m->p, pose->p))),
                       gw_add(of_parent.v, gw_cross(of_parent.w, from_parent)));
    gw_vec3 w = gw_sub(twist->w, of_parent.w);
    double sign = k->def.reversed ? -1 : 1;
    gw_twist relative = {gw_scale(sign, gw_unrotate(f->q, v)),
                         gw_scale(sign, gw_unrotate(f->q, w))};
    gw_mobilizer_velocity(k->def.joint, &f_from_m, &relative, k->joint.u);
}

double gw_system_place(gw_system *s, const gw_pose *poses, const gw_twist *twists)
{
    gw_system_bring_up(s);
    for (int i = 0; i < s->body_count; i++) {
        place_joint(s, i, &poses[i], &twists[i]);
        gw_tree_update_positions(s);
        gw_tree_update_velocities(s);
    }
    double left = gw_closures_project(s, PLACE_STEPS);
    gw_system_take_state(s);
    return left;
}

double gw_system_scale_velocity(gw_system *s, double factor)
{
    gw_system_bring_up(s);
    double before = s->kinetic;
    if (s->moving)
        gw_grounds_find_least(s);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] *= factor;
    if (s->moving) { /* the motion beside the least one */
        for (int i = 0; i < s->body_count; i++)
            for (int j = 0; j < s->bodies[i].dof; j++)
                s->bodies[i].joint.u[j] += (1 - factor) * s->least[s->bodies[i].first + j];
    }
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
    gw_system_take_state(s);
    return before - s->kinetic;
}

void gw_system_reset(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++)
        s->bodies[i].joint = s->start[i];
    s->integrator = (gw_system_integrator){0};
    if (s->ground_count > 0)
        gw_grounds_reset(s);
    gw_system_update(s);
    gw_system_take_state(s);
}
