/*
 * Joints that are submanifolds: M stays on a set of poses in F, as a positioning answer is, with
 * the coordinates of a chart about a pose of it. RT safe, but for gw_set_joint_init(), which takes
 * memory.
 *
 *   [v; w] = J(z) z',     [v; w]' = J(z) z'' + bias(z, z')      of M's origin, F's axes
 *
 * A chart serves until the joint is far from its centre; then one about where it is takes over,
 * between two steps, with the velocities that the motion has there.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/system_private.h"

#define FAR 0.3 /* rad, m: coordinate at which the chart is re-centred */

static bool same_pose(const gw_pose *a, const gw_mobilizer_state *joint)
{
    gw_vec3 p = joint->centre;
    gw_quat q = joint->turn;
    return a->p.x == p.x && a->p.y == p.y && a->p.z == p.z && a->q.w == q.w && a->q.x == q.x &&
           a->q.y == q.y && a->q.z == q.z;
}

/* Updates the chart if the joint's centre has changed. */
static void use_chart(gw_system_body *k)
{
    if (same_pose(&k->set->centre, &k->joint))
        return;
    k->set->centre = (gw_pose){k->joint.centre, k->joint.turn};
    gw_chart_at(&k->set->set, &k->set->centre, &k->set->chart);
}

static void centre_at(gw_system_body *k, const gw_pose *pose, const gw_twist *twist)
{
    k->joint.centre = pose->p;
    k->joint.turn = pose->q;
    use_chart(k);
    memset(k->joint.z, 0, sizeof k->joint.z);
    gw_chart_velocity(&k->set->chart, twist, k->joint.u);
}

gw_pose gw_set_joint_pose(gw_system_body *k, gw_vec3 v[6], gw_vec3 w[6])
{
    double jacobian[6][6], bias[6];
    gw_pose pose;
    use_chart(k);
    gw_chart_eval(&k->set->chart, k->joint.z, k->joint.u, &pose, jacobian, bias);
    for (int j = 0; j < k->dof; j++)
        v[j] = gw_linear_part(jacobian[j]), w[j] = gw_angular_part(jacobian[j]);
    k->set->bias = (gw_twist){gw_linear_part(bias), gw_angular_part(bias)};
    return pose;
}

void gw_set_joint_place(gw_system_body *k, double length, const gw_pose *f_from_m,
                        const gw_twist *twist)
{
    gw_pose nearest;
    gw_submanifold_nearest_local(&k->set->set, f_from_m, length, &nearest);
    centre_at(k, &nearest, twist);
}

bool gw_set_joint_init(gw_system_body *k, double length)
{
    assert(k && length > 0);
    if (!k->def.set)
        return true;
    k->set = calloc(1, sizeof *k->set);
    if (!k->set)
        return false;
    k->set->set = *k->def.set;
    k->def.set = &k->set->set;
    gw_set_joint_place(k, length, &k->def.start, &k->def.start_twist);
    return true;
}

void gw_set_joints_recentre(gw_system *s)
{
    bool any = false;
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_twist twist = {{0, 0, 0}, {0, 0, 0}};
        gw_vec3 v[6], w[6];
        double far = 0;
        for (int j = 0; j < k->dof && k->set; j++)
            far = fmax(far, fabs(k->joint.z[j]));
        if (!k->set || (far <= FAR && gw_chart_serves(&k->set->chart, k->joint.z)))
            continue;
        gw_pose pose = gw_set_joint_pose(k, v, w);
        for (int j = 0; j < k->dof; j++) {
            twist.v = gw_mul_add(twist.v, k->joint.u[j], v[j]);
            twist.w = gw_mul_add(twist.w, k->joint.u[j], w[j]);
        }
        centre_at(k, &pose, &twist);
        any = true;
    }
    if (any)
        gw_system_update(s);
}
