/*
 * Moving grounds of a system: their motion is prescribed, and bodies attached to them are carried
 * along. RT safe.
 *
 * In the trees' kinematics a ground takes the place of a parent, with its twist and acceleration;
 * rows and springs treat it as a body without inertia. Where its twist is discontinuous, joints and
 * closures exert impulses on the bodies: of all velocities u that the rows allow with the new
 * twist,
 *
 *   u nearest to what the bodies had, in the mass metric:    D u = S^T M (V - V_0) + J^T lambda
 *
 * with V the twists before, V_0 those due to the grounds' motion at u = 0. The power of a ground is
 * that of the wrenches of its joints, closures and springs on the bodies, at the ground's twist.
 *
 * After an edit a joint's frame, or a row, may have an offset whose share decreases to 0: the frame
 * then moves in its parent, the row is g = share g_0, and both do work in the same way.
 */
#include <assert.h>
#include <string.h>

#include "rt/dynamics/rigid_body.h"
#include "rt/dynamics/system_friction.h"

#define PUT_STEPS 20 /* of the projection after grounds were placed */

static const gw_twist still = {{0, 0, 0}, {0, 0, 0}};

static gw_vec3 velocity_at(const gw_twist *t, gw_vec3 r)
{
    return gw_add(t->v, gw_cross(t->w, r));
}

/* ---- poses ---------------------------------------------------------------------------------- */

/* The constant twist is about the world's origin: v = V + w x p, v' = w x v. */
static gw_ground_motion motion_at(const gw_ground_state *x, double t)
{
    if (x->at)
        return x->at(x->context, x->time + t);
    gw_ground_motion m = {gw_base_motion_frame(&x->steady, t), still, still};
    m.pose.q = gw_quat_unit(m.pose.q);
    if (!x->moves)
        return m;
    m.twist = (gw_twist){velocity_at(&x->steady.twist, m.pose.p), x->steady.twist.w};
    m.acceleration.v = gw_cross(m.twist.w, m.twist.v);
    return m;
}

static void put_ground(gw_moving_ground *g, double t)
{
    gw_ground_motion m = motion_at(&g->state, t);
    g->body.pose = m.pose;
    g->body.turn = gw_quat_to_mat3(m.pose.q);
    g->body.flat.upright = m.pose.q;
    g->body.twist = m.twist;
    gw_spatial_set(g->body.coasting, m.acceleration.v, m.acceleration.w);
}

static bool is_undisplaced(const gw_pose *x)
{
    return gw_norm2(x->p) == 0 && fabs(x->q.w) == 1;
}

static bool same_pose(const gw_pose *a, const gw_pose *b)
{
    return a->p.x == b->p.x && a->p.y == b->p.y && a->p.z == b->p.z && a->q.w == b->q.w &&
           a->q.x == b->q.x && a->q.y == b->q.y && a->q.z == b->q.z;
}

void gw_grounds_update(gw_system *s)
{
    bool apart = s->apart.now != 0 || s->apart.rate != 0, changed = apart != s->is_offset;
    s->is_offset = apart;
    s->apart_now = s->apart.now;
    s->moving = s->apart.rate != 0;
    for (int i = 0; i < s->ground_count; i++) {
        gw_moving_ground *g = &s->grounds[i];
        gw_pose was = g->body.pose;
        bool in_space = g->in_space;
        put_ground(g, 0);
        g->in_space = g->state.moves;
        g->displaced = g->state.moves || !is_undisplaced(&g->body.pose);
        s->moving = s->moving || g->state.moves;
        changed =
            changed || in_space != g->in_space || (!in_space && !same_pose(&was, &g->body.pose));
    }
    if (!changed)
        return;
    gw_planar_find(s);
    gw_closures_classify(s);
}

void gw_grounds_go_to(gw_system *s, double t)
{
    assert(s && isfinite(t));
    s->apart_now = s->apart.now + t * s->apart.rate;
    for (int i = 0; i < s->ground_count; i++)
        if (s->grounds[i].state.moves)
            put_ground(&s->grounds[i], t);
}

void gw_grounds_advance(gw_system *s, double dt)
{
    assert(s && dt >= 0);
    s->apart.now += dt * s->apart.rate;
    for (int i = 0; i < s->ground_count; i++) {
        gw_ground_state *x = &s->grounds[i].state;
        if (x->moves) {
            x->steady.time += dt;
            x->time += dt;
        }
    }
}

static gw_ground_state resting_at(const gw_pose *pose)
{
    return (gw_ground_state){.steady = gw_base_motion_from_twist(pose, &still)};
}

void gw_grounds_stop(gw_system *s)
{
    s->apart.rate = 0;
    for (int i = 0; i < s->ground_count; i++)
        if (s->grounds[i].state.moves)
            s->grounds[i].state = resting_at(&s->grounds[i].body.pose);
    gw_grounds_update(s);
}

void gw_grounds_init(gw_system *s)
{
    const gw_pose home = gw_pose_identity();
    for (int i = 0; i < s->ground_count; i++) {
        s->grounds[i].state = resting_at(&home);
        put_ground(&s->grounds[i], 0);
    }
}

void gw_grounds_reset(gw_system *s)
{
    s->apart = (gw_offset_share){0, 0};
    const gw_pose home = gw_pose_identity();
    for (int i = 0; i < s->ground_count; i++)
        s->grounds[i].state = resting_at(&home);
    gw_grounds_update(s);
}

/* ---- velocities ----------------------------------------------------------------------------- */

/* To the velocities of the joints adds those by the impulse that gives the bodies these twists as
 * nearly as the factors allow; `at_joints`: an impulse at the coordinates besides (NULL: none). */
static void add_impulse(gw_system *s, const gw_twist *twists, const double *at_joints)
{
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
    gw_planar_expand(s);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_twist to = twists ? twists[i] : still;
        gw_twist lacks = {gw_sub(to.v, k->twist.v), gw_sub(to.w, k->twist.w)};
        gw_vec3 f = gw_scale(k->def.mass.mass, velocity_at(&lacks, k->com));
        gw_vec3 t = gw_add(gw_sym3_mul(&k->inertia_com, lacks.w), gw_cross(k->com, f));
        memset(k->rest, 0, sizeof k->rest);
        if (at_joints)
            memcpy(k->rest, at_joints + k->first, (size_t)k->dof * sizeof *at_joints);
        if (k->flat.plane)
            gw_planar_wrench(k->flat.plane, f, t, k->flat.force);
        else
            gw_spatial_set(k->force, f, t);
    }
    gw_tree_reduce(s, s->body_count - 1);
    for (int i = 0; i < s->closure_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            s->right[s->blocks[i].first + n] = -r->scale * r->rate;
        }
    if (s->active_rows > 0)
        gw_closures_respond(s);
    gw_tree_accelerate(s);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += s->bodies[i].rest[j];
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
}

void gw_grounds_project_twists(gw_system *s, const gw_twist *twists)
{
    for (int i = 0; i < s->body_count; i++)
        memset(s->bodies[i].joint.u, 0, sizeof s->bodies[i].joint.u);
    add_impulse(s, twists, NULL);
}

/* Joints that keep their velocity have 1e12 times their inertia, A. The impulse A du that this
 * takes up is applied to them in a second pass, in which they keep it to rounding. */
void gw_grounds_project_others(gw_system *s, const gw_twist *twists)
{
    double *taken = s->run_by;
    memset(taken, 0, (size_t)s->dof * sizeof *taken);
    for (int i = 0; i < s->body_count; i++)
        if (!s->bodies[i].def.keeps_velocity)
            memset(s->bodies[i].joint.u, 0, sizeof s->bodies[i].joint.u);
    gw_closures_factor_kept(s);
    for (int pass = 0; pass < 2; pass++) {
        add_impulse(s, twists, taken);
        for (int i = 0; i < s->body_count && pass == 0; i++) {
            gw_system_body *k = &s->bodies[i];
            for (int j = 0; j < k->dof && k->def.keeps_velocity; j++) {
                taken[k->first + j] = -s->added[k->first + j] * k->rest[j];
                k->joint.u[j] -= k->rest[j];
            }
        }
    }
    gw_system_update(s);
    if (s->row_count > 0)
        gw_closures_project_velocities(s);
}

void gw_grounds_find_least(gw_system *s)
{
    if (s->least_stamp == s->stamp)
        return;
    for (int i = 0; i < s->body_count; i++)
        s->home[i] = s->bodies[i].joint;
    gw_grounds_project_twists(s, NULL);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        s->carried[i] = k->twist;
        memcpy(s->least + k->first, k->joint.u, (size_t)k->dof * sizeof *s->least);
        k->joint = s->home[i];
    }
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
    s->least_stamp = s->stamp;
}

double gw_grounds_remove_energy(gw_system *s, double energy)
{
    assert(s);
    double kinetic = s->kinetic;
    for (int i = 0; i < s->body_count; i++)
        s->home[i] = s->bodies[i].joint;
    gw_grounds_project_twists(s, NULL);
    gw_system_energy(s, &s->kinetic, &s->potential);
    double payable = fmax(0, kinetic - s->kinetic);
    double factor = payable > 0 ? sqrt(fmax(0, 1 - energy / payable)) : 0;
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += factor * (s->home[i].u[j] - s->bodies[i].joint.u[j]);
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
    gw_system_energy(s, &s->kinetic, &s->potential);
    return fmax(0, energy - payable);
}

/* ---- power ---------------------------------------------------------------------------------- */

/* Wrench of each joint on its body, at the body's origin: the load of the body and its
 * descendants. */
static void gather_wrenches(const gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_wrench w = gw_system_reaction(s, i);
        if (gw_has_springs(s)) {
            w.f = gw_sub(w.f, s->by_springs[i].f);
            w.t = gw_sub(w.t, s->by_springs[i].t);
        }
        s->borne[i] = w;
    }
    for (int i = 0; i < s->closure_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            gw_add_row_wrench(r, -r->scale * s->solution[s->blocks[i].first + n], s->borne);
        }
    for (int i = 0; i < s->closure_count; i++) {
        double by;
        const gw_closure_row *r = gw_friction_row(s, i, &by);
        if (r)
            gw_add_row_wrench(r, -by, s->borne);
    }
    gw_sum_wrenches_to_roots(s, s->borne);
}

/* The power of a wrench at `origin` for a point that moves with a frame (twist [v; turn] of its
 * origin). */
static double power_by(const gw_wrench *w, gw_vec3 origin, const gw_pose *frame, gw_vec3 v,
                       gw_vec3 turn)
{
    gw_twist t = {v, turn};
    return gw_dot(w->f, velocity_at(&t, gw_sub(origin, frame->p))) + gw_dot(w->t, turn);
}

/* The rate of a row by its ground's motion. */
static double ground_rate(const gw_system *s, const gw_closure_row *r)
{
    if (r->b >= GW_GROUND)
        return 0;
    const gw_twist *t = &gw_body_of(s, r->b)->twist;
    return gw_dot(gw_linear_part(r->on_b), t->v) + gw_dot(gw_angular_part(r->on_b), t->w);
}

double gw_grounds_power(const gw_system *s)
{
    double sum = gw_springs_ground_power(s);
    gather_wrenches(s);
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i], *g = gw_body_of(s, k->def.parent);
        const gw_joint_offset *o = &s->offsets[i];
        if (k->def.parent < GW_GROUND)
            sum += power_by(&s->borne[i], k->pose.p, &g->pose, g->twist.v, g->twist.w);
        if (s->is_offset)
            sum += power_by(&s->borne[i], k->pose.p, &o->frame, o->v, o->w);
    }
    /* rows attached to a ground, and rows with an offset: lambda J v */
    for (int i = 0; i < s->closure_count; i++) {
        double by;
        const gw_closure_row *slips = gw_friction_row(s, i, &by);
        sum -= slips ? by * ground_rate(s, slips) : 0;
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            by = r->scale * s->solution[s->blocks[i].first + n];
            sum -= by * ground_rate(s, r);
            if (s->is_offset)
                sum += by * s->apart.rate * s->row_offsets[r - s->rows];
        }
    }
    return sum;
}

/* ---- setting the motion --------------------------------------------------------------------- */

/* Applies new states of the grounds; `hits`: twists changed, which is an impulse. Returns the
 * change of energy (J). */
static double set_states(gw_system *s, bool hits)
{
    double before = s->kinetic + s->potential;
    for (int i = 0; i < s->body_count; i++)
        s->twists[i] = s->bodies[i].twist;
    gw_grounds_update(s);
    gw_closures_project(s, PUT_STEPS);
    if (hits)
        gw_grounds_project_twists(s, s->twists);
    gw_system_take_state(s);
    return s->kinetic + s->potential - before;
}

double gw_system_move_grounds(gw_system *s, const gw_pose *poses, const gw_twist *twists)
{
    bool hits = false, any = false;
    gw_system_update_all(s);
    for (int i = 0; i < s->ground_count; i++) {
        gw_moving_ground *g = &s->grounds[i];
        gw_twist w = twists[i], is = g->body.twist;
        gw_twist about = {gw_sub(w.v, gw_cross(w.w, poses[i].p)), w.w};
        bool moves = gw_norm2(w.v) + gw_norm2(w.w) > 0;
        assert(gw_finite_pose(&poses[i]) && gw_finite3(w.v) && gw_finite3(w.w));
        hits = hits || gw_norm2(gw_sub(w.v, is.v)) + gw_norm2(gw_sub(w.w, is.w)) > 0;
        any = any || moves || g->state.moves || !same_pose(&poses[i], &g->body.pose);
        g->state = (gw_ground_state){.moves = moves,
                                     .steady = gw_base_motion_from_twist(&poses[i], &about)};
    }
    return any ? set_states(s, hits) : 0;
}

double gw_system_drive_ground(gw_system *s, int ground,
                              gw_ground_motion (*at)(const void *context, double t),
                              const void *context)
{
    assert(ground >= 0 && ground < s->ground_count && at);
    gw_system_update_all(s);
    s->grounds[ground].state = (gw_ground_state){.moves = true, .at = at, .context = context};
    return set_states(s, true);
}

double gw_system_move_offsets(gw_system *s, double share, double rate)
{
    gw_system_update_all(s);
    if (share == s->apart.now && rate == s->apart.rate)
        return 0;
    s->apart = (gw_offset_share){share, rate};
    return set_states(s, true);
}

gw_ground_motion gw_system_ground(gw_system *s, int ground)
{
    assert(s);
    gw_system_update_all(s);
    const gw_system_body *k = gw_body_of(s, ground);
    return (gw_ground_motion){
        k->pose, k->twist, {gw_linear_part(k->coasting), gw_angular_part(k->coasting)}};
}
