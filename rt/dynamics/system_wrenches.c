/*
 * Constraint forces of a system: the wrench that each joint and closure transmits, from the bodies'
 * rates of momentum at their accelerations (Newton-Euler, leaves to roots). RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/dynamics/system_friction.h"
#include "rt/dynamics/system_multipliers.h"

gw_wrench gw_system_reaction(const gw_system *s, int index)
{
    assert(s && index >= 0 && index < s->body_count);
    const gw_system_body *k = &s->bodies[index];
    gw_vec3 a = gw_add(gw_linear_part(k->acceleration), gw_linear_part(k->coasting));
    gw_vec3 alpha = gw_add(gw_angular_part(k->acceleration), gw_angular_part(k->coasting));
    gw_wrench rate = k->flat.plane ? gw_planar_momentum_rate(k, s->gravity)
                                   : gw_tree_momentum_rate(k, gw_sub(a, s->gravity), alpha);
    gw_wrench w = {gw_sub(rate.f, s->on[index].f), gw_sub(rate.t, s->on[index].t)};
    if (k->damping_rate > 0) {
        gw_vec3 drag = gw_scale(k->def.damping_linear, gw_damped_velocity(k));
        w.t = gw_mul_add(w.t, k->def.damping_angular, k->twist.w);
        /* with the component along the normal of a plane, which a planar body's `damper` has not */
        gw_vec3 arm = gw_mat3_mul(&k->turn, k->def.damping_at);
        w.f = gw_add(w.f, drag), w.t = gw_add(w.t, gw_cross(arm, drag));
    }
    return w;
}

void gw_add_row_wrench(const gw_closure_row *r, double by, gw_wrench *on)
{
    gw_wrench *a = &on[r->a], *b = r->b >= 0 ? &on[r->b] : NULL;
    a->f = gw_mul_add(a->f, by, gw_linear_part(r->on_a));
    a->t = gw_mul_add(a->t, by, gw_angular_part(r->on_a));
    if (b) {
        b->f = gw_mul_add(b->f, by, gw_linear_part(r->on_b));
        b->t = gw_mul_add(b->t, by, gw_angular_part(r->on_b));
    }
}

void gw_sum_wrenches_to_roots(const gw_system *s, gw_wrench *on)
{
    for (int i = s->body_count - 1; i >= 0; i--) {
        const gw_wrench *w = &on[i];
        if (s->bodies[i].def.parent < 0)
            continue;
        gw_wrench *p = &on[s->bodies[i].def.parent];
        gw_vec3 r = gw_sub(s->bodies[i].pose.p, s->bodies[s->bodies[i].def.parent].pose.p);
        p->f = gw_add(p->f, w->f);
        p->t = gw_add(p->t, gw_add(w->t, gw_cross(r, w->f)));
    }
}

void gw_system_report_wrenches(gw_system *s)
{
    assert(s);
    s->keeps_joint_wrenches = true;
}

gw_wrench gw_system_joint_wrench(const gw_system *s, int index)
{
    assert(index >= 0 && index < s->body_count);
    return s->joint_wrench[index];
}

gw_wrench gw_system_closure_wrench(const gw_system *s, int index)
{
    assert(index >= 0 && index < s->closure_count);
    return s->closure_wrench[index];
}

void gw_keep_joint_wrenches(gw_system *s, gw_wrench *constraint)
{
    if (!s->keeps_joint_wrenches || s->continues) {
        *constraint = gw_system_reaction(s, s->held);
        gw_vec3 arm = gw_rotate(s->bodies[s->held].pose.q, s->body_from_held.p);
        constraint->t = gw_sub(constraint->t, gw_cross(arm, constraint->f));
        return;
    }
    for (int i = 0; i < s->body_count; i++)
        s->joint_wrench[i] = gw_system_reaction(s, i);
    *constraint = s->joint_wrench[s->held];
    for (int i = 0; i < s->body_count && gw_has_springs(s); i++) {
        gw_wrench *w = &s->joint_wrench[i];
        *w = (gw_wrench){gw_sub(w->f, s->by_springs[i].f), gw_sub(w->t, s->by_springs[i].t)};
    }
    gw_vec3 arm = gw_rotate(s->bodies[s->held].pose.q, s->body_from_held.p);
    constraint->t = gw_sub(constraint->t, gw_cross(arm, constraint->f));
    const double *multipliers = gw_closures_least_multipliers(s, false);
    memset(s->closure_wrench, 0, (size_t)s->closure_count * sizeof *s->closure_wrench);
    for (int i = 0; i < s->block_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            double by = -r->scale * multipliers[s->blocks[i].first + n];
            if (i < s->closure_count) { /* else it is a row of a spring */
                gw_wrench *own = &s->closure_wrench[i];
                own->f = gw_mul_add(own->f, -by, gw_linear_part(r->on_a));
                own->t = gw_mul_add(own->t, -by, gw_angular_part(r->on_a));
            }
            gw_add_row_wrench(r, by, s->joint_wrench);
        }
    for (int i = 0; i < s->closure_count; i++) {
        double by;
        const gw_closure_row *r = gw_friction_row(s, i, &by);
        gw_wrench *own = &s->closure_wrench[i];
        if (!r)
            continue;
        own->f = gw_mul_add(own->f, by, gw_linear_part(r->on_a));
        own->t = gw_mul_add(own->t, by, gw_angular_part(r->on_a));
        gw_add_row_wrench(r, -by, s->joint_wrench);
    }
    gw_sum_wrenches_to_roots(s, s->joint_wrench);
}
