/*
 * Setting the state of a system: from poses and twists of its bodies, from positions and velocities
 * of its joints, by scaling velocities, back to the initial state, and within a substep. RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_bristles.h"
#include "rt/dynamics/system_kinks.h"
#include "rt/dynamics/system_step.h"
#include "rt/dynamics/system_unilateral.h"

#define PLACE_STEPS 20    /* of the projection */
#define ROUNDING    1e-11 /* of the length: smaller offsets are 0 */
#define SAME_MOTION 1e-12 /* rad/s; of the length per second: smaller differences are 0 */

/* Sets the joint of a body from the body's pose and twist; its parent is already placed. */
static void place_joint(gw_system *s, int index, const gw_pose *pose, const gw_twist *twist)
{
    gw_system_body *k = &s->bodies[index];
    const gw_system_body *p = gw_parent_or_ground_of(s, k);
    gw_pose on_body = gw_pose_mul(pose, &k->def.body_from_m);
    gw_pose on_parent = p ? gw_pose_mul(&p->pose, &k->def.parent_from_f) : k->def.parent_from_f;
    const gw_pose *m = k->def.reversed ? &on_parent : &on_body,
                  *f = k->def.reversed ? &on_body : &on_parent;
    gw_pose f_from_world = gw_pose_inverse(f), f_from_m = gw_pose_mul(&f_from_world, m);
    gw_twist of_parent = p ? p->twist : (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_vec3 from_parent = p ? gw_sub(m->p, p->pose.p) : m->p;
    gw_vec3 v = gw_sub(gw_add(twist->v, gw_cross(twist->w, gw_sub(m->p, pose->p))),
                       gw_add(of_parent.v, gw_cross(of_parent.w, from_parent)));
    gw_vec3 w = gw_sub(twist->w, of_parent.w);
    double sign = k->def.reversed ? -1 : 1;
    gw_twist relative = {gw_scale(sign, gw_unrotate(f->q, v)),
                         gw_scale(sign, gw_unrotate(f->q, w))};
    if (k->set) {
        gw_set_joint_place(k, s->length, &f_from_m, &relative);
        return;
    }
    double was[6], now[6];
    memcpy(was, k->joint.z, sizeof was);
    gw_mobilizer_position(k->def.joint, k->def.pitch, &f_from_m, now);
    for (int j = 0; j < k->dof; j++)
        if (gw_mobilizer_is_periodic(k->def.joint, j))
            now[j] = was[j] + remainder(now[j] - was[j], 2 * GW_PI);
    memcpy(k->joint.z, now, sizeof now);
    int at = gw_mobilizer_rotation(k->def.joint);
    if (at < 6)
        k->joint.turn = gw_quat_exp(gw_v3(now[at], now[at + 1], now[at + 2]));
    gw_mobilizer_velocity(k->def.joint, &f_from_m, &relative, k->joint.u);
}

/* Sets the joint's offset: from the frame on the parent to the frame that `pose` and the joint's
 * coordinates require. */
static void take_offset(gw_system *s, int index, const gw_pose *pose)
{
    gw_system_body *k = &s->bodies[index];
    const gw_system_body *p = gw_parent_or_ground_of(s, k);
    gw_joint_offset *o = &s->offsets[index];
    gw_vec3 v[6], w[6];
    gw_pose on_body = gw_pose_mul(pose, &k->def.body_from_m);
    gw_pose is = p ? gw_pose_mul(&p->pose, &k->def.parent_from_f) : k->def.parent_from_f;
    gw_pose f_from_m = k->set ? gw_set_joint_pose(k, v, w)
                              : gw_mobilizer_pose(k->def.joint, k->def.pitch, &k->joint, v, w);
    gw_pose back = k->def.reversed ? f_from_m : gw_pose_inverse(&f_from_m);
    gw_pose asked = gw_pose_mul(&on_body, &back), by = gw_pose_inverse(&is);
    by = gw_pose_mul(&by, &asked);
    *o = (gw_joint_offset){.shift = by.p, .turn = gw_quat_log(by.q)};
    if (gw_norm(o->shift) < ROUNDING * s->length && gw_norm(o->turn) < ROUNDING)
        o->shift = o->turn = gw_v3(0, 0, 0);
}

/* Sets the rows' offsets to their present values; updates the largest translational and angular one
 * (m, rad). */
static void take_row_offsets(gw_system *s, double *distance, double *turn)
{
    for (int i = 0; i < s->closure_count; i++)
        for (int n = 0; n < s->blocks[i].position_rows; n++) {
            const gw_closure_row *r = &s->rows[s->blocks[i].first + n];
            double open = fabs(r->scale * r->value);
            s->row_offsets[r - s->rows] = open < ROUNDING * s->length ? 0 : r->value;
            *distance = fmax(*distance, r->scale == 1 ? open : 0);
            *turn = fmax(*turn, r->scale == 1 ? 0 : open / s->length);
        }
}

/* Contact points, closures and friction at rest are of the exact model. */
static void leave_local_model(gw_system *s)
{
    if (s->local)
        gw_system_set_local_model(s, NULL);
    gw_system_update_all(s);
}

void gw_system_place_with_offsets(gw_system *s, const gw_pose *poses, const gw_twist *twists,
                                  double *distance, double *turn)
{
    assert(s && poses);
    leave_local_model(s);
    gw_kinks_release(s);
    gw_unilateral_release(s);
    *distance = *turn = 0;
    memset(s->row_offsets, 0, (size_t)s->row_count * sizeof *s->row_offsets);
    memset(s->offsets, 0, (size_t)s->body_count * sizeof *s->offsets);
    for (int i = 0; i < s->closure_count; i++)
        s->blocks[i].left_out = 0, s->blocks[i].idle = s->blocks[i].aside;
    s->apart = (gw_offset_share){1, 0};
    gw_grounds_update(s);
    for (int i = 0; i < s->body_count; i++) {
        place_joint(s, i, &poses[i], &twists[i]);
        take_offset(s, i, &poses[i]);
        *distance = fmax(*distance, gw_norm(s->offsets[i].shift));
        *turn = fmax(*turn, gw_norm(s->offsets[i].turn));
        gw_tree_update_positions(s);
        gw_tree_update_velocities(s);
    }
    gw_closures_update_rows(s);
    take_row_offsets(s, distance, turn);
    if (*distance < ROUNDING * s->length && *turn < ROUNDING) {
        *distance = *turn = 0;
        s->apart.now = 0;
        gw_grounds_update(s);
    }
    gw_closures_project(s, PLACE_STEPS);
    if (s->is_offset) {
        gw_closures_leave_out_dependent(s);
        gw_system_update(s);
    }
    gw_grounds_project_twists(s, twists);
    gw_system_balance_bristles(s);
    gw_system_take_state(s);
}

double gw_system_place(gw_system *s, const gw_pose *poses, const gw_twist *twists)
{
    assert(s && poses);
    leave_local_model(s);
    gw_kinks_release(s);
    gw_unilateral_release(s);
    if (s->is_offset) {
        s->apart = (gw_offset_share){0, 0};
        gw_grounds_update(s);
    }
    for (int i = 0; i < s->body_count; i++) {
        place_joint(s, i, &poses[i], &twists[i]);
        gw_tree_update_positions(s);
        gw_tree_update_velocities(s);
    }
    double left = gw_closures_project(s, PLACE_STEPS);
    gw_system_balance_bristles(s);
    gw_system_take_state(s);
    return left;
}

/* Replaces the twists of bodies whose joints keep their velocity by those that their joints give
 * them, with parents moving as in `twists`. True if any twist differs from the present one. */
static bool carry_driven(const gw_system *s, gw_twist *twists)
{
    bool differs = false;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        int parent = k->def.parent;
        if (k->def.keeps_velocity)
            twists[i] = k->twist;
        if (k->def.keeps_velocity && parent >= 0) {
            const gw_system_body *p = &s->bodies[parent];
            gw_vec3 v = gw_sub(twists[parent].v, p->twist.v);
            gw_vec3 w = gw_sub(twists[parent].w, p->twist.w);
            v = gw_add(v, gw_cross(w, gw_sub(k->pose.p, p->pose.p)));
            twists[i] = (gw_twist){gw_add(k->twist.v, v), gw_add(k->twist.w, w)};
        }
        double turns = gw_norm(gw_sub(twists[i].w, k->twist.w));
        double speeds = gw_norm(gw_sub(twists[i].v, k->twist.v));
        differs = differs || speeds > SAME_MOTION * s->length || turns > SAME_MOTION;
    }
    return differs;
}

void gw_system_project_twists(gw_system *s, gw_twist *twists)
{
    assert(s);
    bool kept = true;
    gw_system_update_all(s);
    if (!carry_driven(s, twists))
        return;
    for (int i = 0; i < s->body_count; i++)
        s->home[i] = s->bodies[i].joint;
    gw_grounds_project_twists(s, twists);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof && s->bodies[i].def.keeps_velocity; j++)
            kept = kept && fabs(s->bodies[i].joint.u[j] - s->home[i].u[j]) <= SAME_MOTION;
    for (int i = 0; i < s->body_count && !kept; i++)
        s->bodies[i].joint = s->home[i];
    if (!kept)
        gw_grounds_project_others(s, twists);
    gw_system_update(s);
    gw_system_take_state(s);
}

int gw_system_joint(gw_system *s, int index, double position[6], double velocity[6])
{
    assert(index >= 0 && index < s->body_count);
    gw_system_update_all(s);
    gw_system_body *k = &s->bodies[index];
    int at = gw_mobilizer_rotation(k->def.joint);
    for (int j = 0; j < k->dof; j++) {
        position[j] = k->joint.z[j];
        velocity[j] = k->joint.u[j];
    }
    if (at < 6) {
        gw_vec3 r = gw_quat_log(k->joint.turn);
        position[at] = r.x, position[at + 1] = r.y, position[at + 2] = r.z;
    }
    if (k->set) {
        gw_vec3 v[6], w[6];
        gw_pose pose = gw_set_joint_pose(k, v, w);
        gw_submanifold_parameters_at(&k->set->set, &pose, position);
    }
    return k->dof;
}

void gw_system_set_joints(gw_system *s, const double *q, const double *v)
{
    gw_system_update_all(s);
    gw_kinks_release(s);
    gw_unilateral_release(s);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++) {
            assert(gw_mobilizer_rotation(s->bodies[i].def.joint) == 6 && !s->bodies[i].set);
            s->bodies[i].joint.z[j] = q[s->bodies[i].first + j];
            s->bodies[i].joint.u[j] = v[s->bodies[i].first + j];
        }
    gw_system_update(s);
    gw_system_take_state(s);
}

void gw_system_continue_joints(gw_system *s, const gw_system *from, const gw_joint_before *before)
{
    assert(s && from && before);
    gw_system_update_all(s);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        const gw_system_body *was = before[i].body >= 0 ? &from->bodies[before[i].body] : NULL;
        if (!was || was->def.joint != k->def.joint || k->set)
            continue;
        const gw_mobilizer_state *old = &from->model->joints[before[i].body];
        memcpy(k->joint.z, old->z, sizeof old->z);
        if (!before[i].own_rate)
            memcpy(k->joint.u, old->u, sizeof old->u);
        k->joint.turn = old->turn;
        gw_system_keep_bristles(s, i, from, before[i].body);
    }
    gw_system_update(s);
    gw_system_take_state(s);
}

double gw_system_scale_velocity(gw_system *s, double factor)
{
    assert(s);
    gw_system_update_all(s);
    double before = s->kinetic;
    if (s->moving)
        gw_grounds_find_least(s);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] *= factor;
    if (s->moving) { /* only the motion relative to that of least energy is scaled */
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
    assert(s);
    for (int i = 0; i < s->body_count; i++)
        s->bodies[i].joint = s->start[i];
    for (int i = 0; i < s->body_count; i++)
        memset(s->bodies[i].keeps_bristle, 0, sizeof s->bodies[i].keeps_bristle);
    s->integrator = (gw_system_integrator){0};
    s->local = NULL;
    gw_kinks_release(s);
    gw_unilateral_release(s);
    for (int i = 0; i < s->closure_count; i++)
        s->closures[i].contact.point = s->closures[i].start;
    gw_grounds_reset(s);
    gw_system_update(s);
    gw_system_take_state(s);
}

/* ---- displacements within a substep ------------------------------------------------------------
 */

void gw_system_set_displacement(gw_system *s, const double *u)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        if (k->dof == 1) {
            k->joint.z[0] = s->home[i].z[0] + s->by[k->first];
            k->joint.u[0] = u[k->first];
            continue;
        }
        gw_joint_move(k, &s->home[i], s->by + k->first, &k->joint);
        memcpy(k->joint.u, u + k->first, (size_t)k->dof * sizeof *u);
    }
}

void gw_system_rates(const gw_system *s, const double *by, const double *u, double *rates)
{
    if (s->single) {
        memcpy(rates, u, (size_t)s->dof * sizeof *u);
        return;
    }
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        if (k->dof == 1) {
            rates[k->first] = k->joint.u[0];
            continue;
        }
        gw_joint_rates(k, by + k->first, rates + k->first);
    }
}
