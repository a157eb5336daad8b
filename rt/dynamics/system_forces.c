/*
 * Forces in a system (weight, damping, joint forces, external forces) and the resulting
 * accelerations. RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_unilateral.h"

/* Iterations for the motors' states in an implicit Euler step; in the second half no motor becomes
 * linear again. */
#define MOTOR_ITERATIONS 8

/* Damping of oscillating springs, relative to h k. */
#define RINGING 0.02

/* Of a coordinate's mobility without closures: with less, it counts as locked by closures. */
#define LOCKED 1e-9

/* Rounding of the motors' work, relative to the sum of its terms. */
#define MOTOR_ROUNDING 1e-12

/* ---- joint forces --------------------------------------------------------------------------- */

gw_joint_law gw_system_joint_law(const gw_system *s, const gw_system_body *k, int j)
{
    const gw_system_body_def *def = &k->def;
    double mobility = k->joint.limit_mobility[j], bristle = k->joint.bristle_mobility[j];
    gw_joint_law law = {.damping = def->damping[j],
                        .friction = def->friction[j],
                        .limited = def->limited[j],
                        .lower = def->lower[j],
                        .upper = def->upper[j],
                        .bristle_root = k->joint.bristle_root[j],
                        .motor = &def->motor[j]};
    gw_joint_limit_spring(mobility > 0 ? 1 / mobility : 0, s->dt, &law.limit_stiffness,
                          &law.limit_damping);
    if (law.friction > 0)
        gw_joint_limit_spring(1 / bristle, s->dt, &law.bristle_stiffness, &law.bristle_damping);
    return law;
}

/* ---- balls ---------------------------------------------------------------------------------- *
 *
 * Spring torque for e = log(R R_rest^-1), the rotation vector from the rest orientation, in F's
 * axes like the angular velocity w: with e' = J_l(e)^-1 w,
 *
 *   U = 1/2 e . K e,   torque = -J_l(e)^-T K e      J_l(e)^-T = J_l(-e)^-1
 *
 * The stiffnesses of its motors are such a spring towards the orientation of their targets. Each
 * axis then has a motor whose torque includes that, with bounds of its own.
 *
 * Friction has one bristle, whose deflection is the rotation vector from its root. */

static gw_vec3 spring_torque(gw_quat turn, const double stiff[3], const double rest[3],
                             double *energy)
{
    gw_quat from = gw_quat_exp(gw_v3(rest[0], rest[1], rest[2]));
    gw_vec3 e = gw_quat_log(gw_quat_mul(turn, gw_quat_conj(from)));
    gw_vec3 pull = {stiff[0] * e.x, stiff[1] * e.y, stiff[2] * e.z};
    *energy = 0.5 * gw_dot(e, pull);
    return gw_neg(gw_so3_left_jacobian_inverse(gw_neg(e), pull));
}

/* Motors without stiffness, whose torque has it at the orientation `turn`. */
static void ball_motors(const gw_system_body *k, gw_quat turn, gw_motor motors[3])
{
    const gw_motor *m = k->def.motor;
    const double stiff[3] = {m[0].stiffness, m[1].stiffness, m[2].stiffness};
    const double target[3] = {m[0].target, m[1].target, m[2].target};
    double unused;
    gw_vec3 pull = spring_torque(turn, stiff, target, &unused);
    const double pulls[3] = {pull.x, pull.y, pull.z};
    for (int j = 0; j < 3; j++) {
        motors[j] = m[j];
        motors[j].torque += pulls[j];
        motors[j].stiffness = 0;
    }
}

/* Adds the motors' torques and their power. */
static void add_ball_motors(const gw_system *s, const gw_system_body *k, double torque[3],
                            double *power)
{
    gw_motor motors[3];
    double none = 0;
    ball_motors(k, k->joint.turn, motors);
    for (int j = 0; j < 3; j++) {
        gw_joint_law law = {.motor = &motors[j],
                            .limit_damping = gw_system_joint_law(s, k, j).limit_damping};
        torque[j] += gw_joint_force(&law, 0, k->joint.u[j], power, &none);
    }
}

/* The bristle's stiffness is limited by the axis with the least inertia. */
gw_joint_law gw_system_ball_law(const gw_system *s, const gw_system_body *k)
{
    int softest = 0;
    for (int j = 1; j < 3; j++)
        if (k->joint.bristle_mobility[j] > k->joint.bristle_mobility[softest])
            softest = j;
    return gw_system_joint_law(s, k, softest);
}

/* Torque of springs, dampers and friction; adds the dissipated power. */
static gw_vec3 ball_torque(const gw_system *s, const gw_system_body *k, double *dissipated)
{
    const double *d = k->def.damping, *u = k->joint.u;
    double energy;
    gw_vec3 torque = spring_torque(k->joint.turn, k->def.stiffness, k->def.rest, &energy);
    torque = gw_sub(torque, gw_v3(d[0] * u[0], d[1] * u[1], d[2] * u[2]));
    *dissipated += d[0] * u[0] * u[0] + d[1] * u[1] * u[1] + d[2] * u[2] * u[2];
    if (!(k->def.friction[0] > 0))
        return torque;
    gw_joint_law law = gw_system_ball_law(s, k);
    gw_vec3 deflection = gw_ball_turn_from(k, k->joint.bristle_root);
    return gw_add(torque, gw_ball_friction(&law, deflection, gw_v3(u[0], u[1], u[2]), dissipated));
}

static double ball_energy(const gw_system *s, const gw_system_body *k)
{
    double energy;
    spring_torque(k->joint.turn, k->def.stiffness, k->def.rest, &energy);
    if (!(k->def.friction[0] > 0))
        return energy;
    gw_joint_law law = gw_system_ball_law(s, k);
    return energy + gw_ball_friction_energy(&law, gw_ball_turn_from(k, k->joint.bristle_root));
}

/* Diagonal entries of C and K of a ball joint; the small coupling between its axes is neglected. */
static void ball_slopes(const gw_system *s, const gw_system_body *k, int j, double *damping,
                        double *stiffness)
{
    double held = 0;
    *damping = k->def.damping[j];
    *stiffness = k->def.stiffness[j];
    if (!(k->def.friction[0] > 0))
        return;
    gw_joint_law law = gw_system_ball_law(s, k);
    gw_vec3 deflection = gw_ball_turn_from(k, k->joint.bristle_root);
    gw_vec3 u = {k->joint.u[0], k->joint.u[1], k->joint.u[2]};
    double span = 15.0 / 8 * law.friction / law.bristle_stiffness;
    double w2 = fmin(1, gw_norm2(deflection) / (span * span));
    gw_ball_friction(&law, deflection, u, &held);
    *stiffness += law.bristle_stiffness * (1 - w2) * (1 - w2);
    if (gw_norm2(u) > 0)
        *damping += held / gw_norm2(u);
}

/* ---- all joints ----------------------------------------------------------------------------- */

/* Joint forces into s->joint_force: damping, springs, motors, friction and limits; adds their
 * powers. */
static void joint_forces(gw_system *s, gw_system_work *power)
{
    if (s->is_free && !s->is_damped) {
        memset(s->joint_force, 0, (size_t)s->dof * sizeof *s->joint_force);
        return;
    }
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        double *force = &s->joint_force[k->first];
        for (int j = 0; j < k->dof && k->is_free; j++)
            force[j] = 0;
        if (!k->is_free && gw_is_ball(k)) {
            gw_vec3 torque = ball_torque(s, k, &power->dissipated);
            force[0] = torque.x, force[1] = torque.y, force[2] = torque.z;
            if (!k->only_springs)
                add_ball_motors(s, k, force, &power->motors);
        }
        for (int j = 0; j < k->dof && !k->is_free && !gw_is_ball(k); j++) {
            double z = k->joint.z[j], u = k->joint.u[j];
            force[j] = -k->def.stiffness[j] * (z - k->def.rest[j]);
            if (k->only_springs) {
                force[j] -= k->def.damping[j] * u;
                power->dissipated += k->def.damping[j] * u * u;
                continue;
            }
            gw_joint_law law = gw_system_joint_law(s, k, j);
            force[j] += gw_joint_force(&law, z, u, &power->motors, &power->dissipated);
        }
        if (k->damping_rate > 0)
            power->dissipated += k->def.damping_linear * gw_norm2(gw_damped_velocity(k)) +
                                 k->def.damping_angular * gw_norm2(k->twist.w);
    }
}

static double potential_of(const gw_system *s)
{
    double sum = s->local ? gw_local_weight_energy(s) : gw_springs_energy(s);
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        gw_vec3 com = k->flat.plane ? gw_mat3_mul(&k->turn, k->def.mass.com) : k->com;
        if (!s->local)
            sum -= k->def.mass.mass * gw_dot(s->gravity, gw_add(k->pose.p, com));
        if (!k->is_free && gw_is_ball(k))
            sum += ball_energy(s, k);
        for (int j = 0; j < k->dof && !k->is_free && !gw_is_ball(k); j++) {
            double stretch = k->joint.z[j] - k->def.rest[j];
            sum += 0.5 * k->def.stiffness[j] * stretch * stretch;
            if (k->only_springs)
                continue;
            gw_joint_law law = gw_system_joint_law(s, k, j);
            sum += gw_joint_energy(&law, k->joint.z[j]);
        }
    }
    return sum;
}

void gw_system_energy(const gw_system *s, double *kinetic, double *potential)
{
    *potential = potential_of(s);
    *kinetic = s->local ? gw_local_kinetic(s) : 0;
    if (s->local)
        return;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        const gw_planar_body *b = &k->flat;
        if (b->plane) {
            double w2 = b->twist[2] * b->twist[2], x = b->twist[0] - b->twist[2] * b->com[1];
            double y = b->twist[1] + b->twist[2] * b->com[0];
            *kinetic += 0.5 * (k->def.mass.mass * (x * x + y * y) + b->spin_inertia * w2);
            continue;
        }
        gw_vec3 at_com = gw_add(k->twist.v, gw_cross(k->twist.w, k->com)), w = k->twist.w;
        *kinetic += 0.5 * k->def.mass.mass * gw_norm2(at_com) +
                    0.5 * gw_dot(w, gw_sym3_mul(&k->inertia_com, w));
    }
}

/* ---- external forces ----------------------------------------------------------------------- */

/* Pose and twist of a frame of body `index`. */
static void frame_of(const gw_system *s, int index, const gw_pose *body_from_frame, gw_pose *pose,
                     gw_twist *twist)
{
    const gw_system_body *k = &s->bodies[index];
    gw_vec3 arm = gw_rotate(k->pose.q, body_from_frame->p);
    *pose = gw_pose_mul(&k->pose, body_from_frame);
    *twist = (gw_twist){gw_add(k->twist.v, gw_cross(k->twist.w, arm)), k->twist.w};
}

void gw_system_held_frame(const gw_system *s, gw_pose *pose, gw_twist *twist)
{
    frame_of(s, s->held, &s->body_from_held, pose, twist);
}

static void note_pushes(gw_system *s)
{
    s->is_pushed = s->second_hand.at;
    for (int i = 0; i < s->body_count; i++)
        s->is_pushed = s->is_pushed || gw_norm2(s->pushed[i].f) + gw_norm2(s->pushed[i].t) > 0;
}

void gw_system_push(gw_system *s, int index, const gw_wrench *wrench)
{
    assert(index >= 0 && index < s->body_count);
    s->pushed[index] = *wrench;
    note_pushes(s);
}

void gw_system_second_hand(gw_system *s, const gw_forces *hand)
{
    assert(!hand || !hand->at || s->view.system);
    s->second_hand = hand ? *hand : (gw_forces){.at = NULL};
    note_pushes(s);
}

/* The wrench of a hand at a frame of body `index`, at the body's origin. */
static gw_wrench hand_wrench(const gw_system *s, const gw_forces *hand, int index,
                             const gw_pose *body_from_held, double t)
{
    gw_pose pose;
    gw_twist twist;
    frame_of(s, index, body_from_held, &pose, &twist);
    gw_wrench w = hand->at(hand->context, t, &pose, &twist);
    w.t = gw_add(w.t, gw_cross(gw_sub(pose.p, s->bodies[index].pose.p), w.f));
    return w;
}

void gw_system_evaluate_forces(gw_system *s, const gw_forces *forces, double t)
{
    memset(s->on, 0, (size_t)s->body_count * sizeof *s->on);
    s->on_held = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    if (forces && forces->contact_wrenches) {
        for (int i = 0; i < s->body_count; i++) {
            s->poses[i] = s->bodies[i].pose;
            s->twists[i] = s->bodies[i].twist;
        }
        forces->contact_wrenches(forces->contact_context, t, s->poses, s->twists, s->on);
    }
    for (int i = 0; i < s->body_count && s->is_pushed; i++)
        s->on[i] = gw_wrench_add(s->on[i], s->pushed[i]);
    if (s->second_hand.at) {
        s->second = hand_wrench(s, &s->second_hand, s->view.held, &s->view.body_from_held, t);
        s->on[s->view.held] = gw_wrench_add(s->on[s->view.held], s->second);
    }
    if (!forces || !forces->at)
        return;
    s->on_held = hand_wrench(s, forces, s->held, &s->body_from_held, t);
    s->on[s->held] = gw_wrench_add(s->on[s->held], s->on_held);
}

static double power_on(const gw_system_body *k, const gw_wrench *w)
{
    return gw_dot(w->f, k->twist.v) + gw_dot(w->t, k->twist.w);
}

void gw_system_outer_power(const gw_system *s, const gw_forces *forces, gw_system_work *power)
{
    double all = 0;
    power->hand = power_on(&s->bodies[s->held], &s->on_held);
    for (int i = 0; i < s->body_count && s->is_pushed; i++)
        power->pushed += power_on(&s->bodies[i], &s->pushed[i]);
    if (s->second_hand.at)
        power->second += power_on(&s->bodies[s->view.held], &s->second);
    for (int i = 0; i < s->body_count && s->load; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            power->contact += s->load[s->bodies[i].first + j] * s->bodies[i].joint.u[j];
    if (!s->is_pushed && (!forces || !forces->contact_wrenches))
        return;
    for (int i = 0; i < s->body_count; i++)
        all += power_on(&s->bodies[i], &s->on[i]);
    power->contact += all - power->hand;
}

/* ---- acceleration --------------------------------------------------------------------------- */

static void load_in_plane(gw_system *s, int index)
{
    gw_system_body *k = &s->bodies[index];
    gw_planar_body *b = &k->flat;
    double m = b->mass, spring[3], *f = b->force;
    double weight[2] = {m * b->plane->gravity[0], m * b->plane->gravity[1]};
    f[0] = weight[0] - b->needed[0], f[1] = weight[1] - b->needed[1];
    f[2] = (b->com[0] * weight[1] - b->com[1] * weight[0]) - b->needed[2];
    if (!s->flat_only || index == s->held) { /* else nothing acts on it */
        double on[3];
        gw_planar_wrench(b->plane, s->on[index].f, s->on[index].t, on);
        f[0] += on[0], f[1] += on[1], f[2] += on[2];
    }
    if (k->damping_rate > 0) {
        const double *r = b->damper, linear = k->def.damping_linear, w = b->twist[2];
        double v[2] = {b->twist[0] - w * r[1], b->twist[1] + w * r[0]};
        f[0] -= linear * v[0], f[1] -= linear * v[1];
        f[2] -= k->def.damping_angular * w + linear * (r[0] * v[1] - r[1] * v[0]);
    }
    if (!gw_has_springs(s))
        return;
    gw_planar_wrench(b->plane, s->by_springs[index].f, s->by_springs[index].t, spring);
    for (int l = 0; l < 3; l++)
        f[l] += spring[l];
}

/* Forces on bodies and joints, except those of closures, minus the rates of momentum at u-dot =
 * 0. */
static void sum_loads(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        for (int j = 0; j < k->dof; j++)
            k->rest[j] = s->joint_force[k->first + j];
        if (k->flat.plane) {
            load_in_plane(s, i);
            continue;
        }
        gw_vec3 weight = gw_scale(k->def.mass.mass, s->gravity);
        gw_vec3 f = gw_add(s->on[i].f, gw_sub(weight, k->needed.f));
        gw_vec3 t = gw_add(s->on[i].t, gw_sub(gw_cross(k->com, weight), k->needed.t));
        if (gw_has_springs(s)) {
            f = gw_add(f, s->by_springs[i].f);
            t = gw_add(t, s->by_springs[i].t);
        }
        if (k->damping_rate > 0) {
            gw_vec3 drag = gw_scale(k->def.damping_linear, gw_damped_velocity(k));
            t = gw_mul_add(t, -k->def.damping_angular, k->twist.w);
            f = gw_sub(f, drag), t = gw_sub(t, gw_cross(k->damper, drag));
        }
        gw_spatial_set(k->force, f, t);
    }
}

/* A body's contribution to a row's acceleration at u-dot = 0. */
static double along_coasting(const gw_system_body *k, const double on[6], const double flat[3])
{
    if (k->flat.plane)
        return flat[0] * k->flat.coasting[0] + flat[1] * k->flat.coasting[1];
    return gw_dot6(on, k->coasting);
}

void gw_closures_set_bias(gw_system *s)
{
    for (int i = 0; i < s->block_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            double bias = r->bias + along_coasting(&s->bodies[r->a], r->on_a, r->flat_a);
            if (r->b != GW_GROUND)
                bias += along_coasting(gw_body_of(s, r->b), r->on_b, r->flat_b);
            s->right[s->blocks[i].first + n] = -r->scale * bias;
        }
}

void gw_system_solve_rows(gw_system *s)
{
    sum_loads(s);
    gw_friction_load(s);
    gw_tree_reduce(s, s->body_count - 1);
    if (s->active_rows > 0) {
        gw_closures_set_bias(s);
        gw_closures_respond(s);
    }
}

/* u-dot of every joint, in `rest`, under s->on and s->joint_force; positions, velocities and
 * factors must be up to date. */
static void solve_accelerations(gw_system *s)
{
    if (s->local) {
        gw_local_accelerate(s);
        return;
    }
    if (s->one_pass) {
        sum_loads(s);
        gw_tree_solve(s);
        return;
    }
    if (s->unilateral->slipping > 0)
        gw_friction_find(s);
    gw_system_solve_rows(s);
    gw_tree_accelerate(s);
}

bool gw_system_takes_load(const gw_model *model)
{
    const gw_system *s = ((const gw_system_state *)model)->system;
    return !s->is_free || s->is_damped || gw_has_springs(s);
}

static void add_load(gw_system *s)
{
    for (int i = 0; i < s->dof && s->load; i++)
        s->joint_force[i] += s->load[i];
}

void gw_system_accelerate(gw_system *s, gw_system_work *power)
{
    joint_forces(s, power);
    add_load(s);
    if (gw_has_springs(s))
        gw_springs_load(s, power);
    solve_accelerations(s);
    if (s->unilateral->slipping > 0)
        power->dissipated += gw_friction_power(s);
}

void gw_system_find_accelerations(gw_system *s, const gw_forces *forces, double t)
{
    gw_system_work power = {0};
    gw_system_evaluate_forces(s, forces, t);
    gw_system_outer_power(s, forces, &power);
    gw_system_accelerate(s, &power);
}

void gw_system_apply_inverse_inertia(gw_system *s, bool bodies)
{
    gw_vec3 zero = {0, 0, 0};
    if (s->local) {
        gw_local_apply_inverse(s, bodies);
        return;
    }
    int last = bodies ? s->body_count - 1 : -1;
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_vec3 f = bodies ? s->on[i].f : zero, t = bodies ? s->on[i].t : zero;
        for (int j = 0; j < k->dof; j++) {
            k->rest[j] = s->generalised[k->first + j];
            last = !bodies && k->rest[j] != 0 ? i : last;
        }
        if (k->flat.plane)
            gw_planar_wrench(k->flat.plane, f, t, k->flat.force);
        else
            gw_spatial_set(k->force, f, t);
    }
    gw_tree_reduce(s, last);
    if (s->active_rows > 0) {
        memset(s->right, 0, (size_t)(s->solution - s->right) * sizeof *s->right);
        gw_closures_respond(s);
    }
    gw_tree_accelerate(s);
}

void gw_system_gather(const gw_system *s, double *out)
{
    for (int i = 0; i < s->body_count && s->single; i++)
        out[i] = s->bodies[i].rest[0];
    for (int i = 0; i < s->body_count && !s->single; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            out[s->bodies[i].first + j] = s->bodies[i].rest[j];
}

/* Factors of inertias and rows, unless the stage computes them together with its forces. */
static void update_factors(gw_system *s)
{
    if (s->local || s->one_pass)
        return;
    gw_tree_articulate(s, 0, NULL);
    if (s->row_count > 0)
        gw_closures_update_rows(s);
    gw_closures_factor(s, GW_ROWS_OF_CLOSURES);
}

void gw_system_update_velocities(gw_system *s)
{
    gw_tree_update_velocities(s);
    update_factors(s);
}

void gw_system_update(gw_system *s)
{
    gw_tree_update(s);
    update_factors(s);
}

/* ---- implicit ------------------------------------------------------------------------------- *
 *
 *   (D + h C + h^2 K) a = f(q, u) - h K u      C and K of joints; C of bodies with their inertia
 */

static void linearise_ball(gw_system *s, const gw_system_body *k)
{
    double dissipated = 0;
    gw_vec3 torque = ball_torque(s, k, &dissipated);
    const double force[3] = {torque.x, torque.y, torque.z};
    gw_motor motors[3];
    ball_motors(k, k->joint.turn, motors);
    for (int j = 0; j < 3; j++) {
        gw_joint_force_model *m = &s->models[k->first + j];
        gw_joint_law law = {.motor = &motors[j]};
        gw_joint_linearise(&law, 0, k->joint.u[j], m);
        m->motor.stiffness = k->def.motor[j].stiffness;
        m->force = force[j];
        ball_slopes(s, k, j, &m->damping, &m->stiffness);
    }
}

static void linearise_forces(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        if (gw_is_ball(k)) {
            linearise_ball(s, k);
            continue;
        }
        for (int j = 0; j < k->dof; j++) {
            gw_joint_force_model *m = &s->models[k->first + j];
            double stiffness = k->def.stiffness[j], z = k->joint.z[j];
            gw_joint_law law = gw_system_joint_law(s, k, j);
            gw_joint_linearise(&law, z, k->joint.u[j], m);
            m->force -= stiffness * (z - k->def.rest[j]);
            m->stiffness += stiffness;
            m->damping += m->bound_damping;
        }
    }
}

/* The extrapolated formula makes an undamped oscillation of phase 0.3 to 3 a substep grow by up to
 * half a percent of it. Springs as stiff as that lose a little more; softer ones (x: the phase
 * squared) next to nothing. */
static double ringing_damping(const gw_system *s, double stiffness, double mobility)
{
    double h = s->substep, x = h * h * stiffness * mobility;
    return RINGING * h * stiffness * x * x / (0.1 + x * x);
}

/* The right-hand side into s->joint_force, h C + h^2 K into s->added, for the motors' states. */
static void implicit_joint_forces(gw_system *s, double h, const signed char *states)
{
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        for (int j = 0, n = k->first; j < k->dof; j++, n++) {
            const gw_joint_force_model *f = &s->models[n];
            const gw_motor_force_model *m = &f->motor;
            double u = k->joint.u[j], damping = f->damping, stiffness = f->stiffness, lost;
            double force =
                states[n] == GW_MOTOR_LINEAR ? m->force : gw_motor_force_in(m, states[n], h, u, 0);
            if (states[n] == GW_MOTOR_LINEAR) {
                damping += m->damping;
                stiffness += m->stiffness;
            }
            if (states[n] == GW_MOTOR_AT_SPEED)
                damping += m->fade_slope;
            lost = ringing_damping(s, stiffness, k->mobility[j]) + (s->lock ? s->lock[n] : 0);
            s->joint_force[n] = f->force + force - (lost + h * stiffness) * u;
            s->added[n] = h * (damping + lost + h * stiffness);
        }
    }
}

/* Updates the motors' states from the accelerations in `rest`; true if one changed. */
static bool update_motor_states(const gw_system *s, bool may_become_linear, double h,
                                signed char *states)
{
    bool changed = false;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        for (int j = 0, n = k->first; j < k->dof; j++, n++) {
            signed char now = (signed char)gw_motor_state_at(&s->models[n].motor, states[n], h,
                                                             k->joint.u[j], k->rest[j]);
            if (now == states[n] || (now == GW_MOTOR_LINEAR && !may_become_linear))
                continue;
            states[n] = now;
            changed = true;
        }
    }
    return changed;
}

void gw_system_accelerate_implicitly(gw_system *s, double h, signed char *states)
{
    gw_system_work power = {0};
    linearise_forces(s);
    if (gw_has_springs(s)) {
        gw_springs_load(s, &power);
        gw_springs_update_rows(s, h);
    }
    for (int n = 0; n < MOTOR_ITERATIONS; n++) {
        implicit_joint_forces(s, h, states);
        add_load(s);
        gw_tree_articulate(s, h, s->added);
        gw_closures_factor(s, GW_ROWS_WITH_SPRINGS);
        solve_accelerations(s);
        if (!update_motor_states(s, n < MOTOR_ITERATIONS / 2, h, states))
            return;
    }
}

void gw_system_factor_implicitly(gw_system *s, double h)
{
    gw_system_work power = {0};
    linearise_forces(s);
    if (gw_has_springs(s)) {
        gw_springs_load(s, &power);
        gw_springs_update_rows(s, h);
    }
    implicit_joint_forces(s, h, s->last_motor_states);
    gw_tree_articulate(s, h, s->added);
    gw_closures_factor(s, GW_ROWS_WITH_SPRINGS);
}

double gw_system_motor_work(const gw_system *s, double h, const signed char *states)
{
    double sum = 0;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        for (int j = 0, n = k->first; j < k->dof; j++, n++) {
            double u = k->joint.u[j], a = k->rest[j];
            sum += h * gw_motor_force_in(&s->models[n].motor, states[n], h, u, a) * (u + h * a);
        }
    }
    return sum;
}

/* Along the rotation from home, with the torques amid it. */
static double ball_work_max(const gw_system_body *k, const gw_mobilizer_state *home, double *size)
{
    gw_motor motors[3];
    double sum = 0;
    gw_vec3 turn = gw_quat_log(gw_quat_mul(k->joint.turn, gw_quat_conj(home->turn)));
    const double distance[3] = {turn.x, turn.y, turn.z};
    ball_motors(k, gw_quat_mul(gw_quat_exp(gw_scale(0.5, turn)), home->turn), motors);
    for (int j = 0; j < 3; j++)
        sum += gw_motor_work_max(&motors[j], 0, distance[j], size);
    return sum;
}

double gw_system_motor_work_max(const gw_system *s)
{
    double sum = 0, size = 0;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        if (!k->only_springs && gw_is_ball(k))
            sum += ball_work_max(k, &s->home[i], &size);
        for (int j = 0; j < k->dof && !k->only_springs && !gw_is_ball(k); j++)
            sum += gw_motor_work_max(&k->def.motor[j], s->home[i].z[j], k->joint.z[j], &size);
    }
    return sum + MOTOR_ROUNDING * size;
}

/* ---- limits --------------------------------------------------------------------------------- */

/* A coordinate locked by closures gets its mobility without them, so that its spring stays
 * finite. */
double gw_system_mobility_at(gw_system *s, int body, int j)
{
    assert(body >= 0 && body < s->body_count && j >= 0 && j < s->bodies[body].dof);
    const gw_system_body *k = &s->bodies[body];
    double alone[6] = {0};
    memset(s->generalised, 0, (size_t)s->dof * sizeof *s->generalised);
    s->generalised[k->first + j] = 1;
    gw_system_apply_inverse_inertia(s, false);
    alone[j] = 1;
    gw_tree_solve_lower(k, alone);
    gw_tree_solve_upper(k, alone);
    return k->rest[j] > LOCKED * alone[j] ? k->rest[j] : alone[j];
}

void gw_system_meet_limits(gw_system *s, double dt)
{
    for (int i = 0; i < s->body_count && !s->is_free; i++) {
        const gw_system_body *k = &s->bodies[i];
        for (int j = 0; j < k->dof && !k->only_springs; j++) {
            double z = k->joint.z[j], distance = 2 * dt * fabs(k->joint.u[j]);
            bool free = z >= k->def.lower[j] && z <= k->def.upper[j];
            bool near = z - k->def.lower[j] <= distance || k->def.upper[j] - z <= distance;
            if (k->def.limited[j] && free && near)
                s->bodies[i].joint.limit_mobility[j] = gw_system_mobility_at(s, i, j);
        }
    }
}

/* ---- stiffness ------------------------------------------------------------------------------ */

/* Power iterations: they give a lower bound of the largest eigenvalue within 10 %. */
#define POWER_ITERATIONS 6

static double ball_fade_slope(const gw_system_body *k, int j)
{
    gw_motor motors[3];
    if (!(k->def.motor[j].speed > 0))
        return 0;
    ball_motors(k, k->joint.turn, motors);
    return gw_motor_fade_slope(&motors[j], 0, k->joint.u[j]);
}

/* h C + h^2 K of every coordinate into s->added; returns an upper bound of the eigenvalues of
 * D^-1 (h C + h^2 K), bodies' damping included. */
static double added_inertias(gw_system *s, double h)
{
    double sum = 0, body = 0;
    if (s->is_free && !s->is_damped) {
        memset(s->added, 0, (size_t)s->dof * sizeof *s->added);
        return gw_springs_bound(s, h);
    }
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        body = fmax(body, h * k->damping_rate);
        for (int j = 0, n = k->first; j < k->dof; j++, n++) {
            const gw_motor *m = &k->def.motor[j];
            double damping = k->def.damping[j], stiffness = k->def.stiffness[j];
            if (gw_is_ball(k)) {
                ball_slopes(s, k, j, &damping, &stiffness);
                damping = fmax(damping + m->damping, ball_fade_slope(k, j));
                stiffness += m->stiffness;
            } else if (!k->only_springs) {
                gw_joint_law law = gw_system_joint_law(s, k, j);
                gw_joint_force_model passive;
                gw_joint_linearise(&law, k->joint.z[j], k->joint.u[j], &passive);
                damping += m->damping + passive.bound_damping;
                stiffness += m->stiffness + passive.stiffness;
                damping = fmax(damping, gw_motor_fade_slope(m, k->joint.z[j], k->joint.u[j]));
            }
            s->added[n] = h * (damping + h * stiffness);
            if (s->added[n] > 0)
                sum += s->added[n] * k->mobility[j];
        }
    }
    return sum + body + gw_springs_bound(s, h);
}

/* (h C + h^2 K) x of the velocities x, as forces on joints and bodies: into s->generalised and
 * s->on. Returns x . (h C + h^2 K) x. */
static double implicit_resistance(gw_system *s, double h, const double *x)
{
    double power = 0;
    gw_planar_expand(s);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_twist t = {{0, 0, 0}, {0, 0, 0}};
        if (k->def.parent >= 0) {
            const double *p = s->bodies[k->def.parent].acceleration;
            t.w = gw_angular_part(p);
            t.v = gw_add(gw_linear_part(p), gw_cross(t.w, k->r));
        }
        for (int j = 0, n = k->first; j < k->dof; j++, n++) {
            t.v = gw_mul_add(t.v, x[n], gw_linear_part(k->columns[j]));
            t.w = gw_mul_add(t.w, x[n], gw_angular_part(k->columns[j]));
            s->generalised[n] = s->added[n] * x[n];
            power += s->generalised[n] * x[n];
        }
        gw_spatial_set(k->acceleration, t.v, t.w);
        gw_vec3 v = gw_add(t.v, gw_cross(t.w, k->damper));
        gw_vec3 drag = gw_scale(h * k->def.damping_linear, v);
        s->on[i] = (gw_wrench){
            drag, gw_mul_add(gw_cross(k->damper, drag), h * k->def.damping_angular, t.w)};
        power += gw_dot(s->on[i].f, t.v) + gw_dot(s->on[i].t, t.w);
    }
    return power + gw_springs_resist(s, h);
}

/* The largest eigenvalue of D^-1 P (h C + h^2 K) by power iteration, in the norm of h C + h^2 K, in
 * which the operator is symmetric. */
static double largest_eigenvalue(gw_system *s, double h)
{
    double *x = s->scratch, found = 0;
    for (int n = 0; n < s->dof; n++)
        x[n] = n % 2 ? -1 : 1;
    for (int k = 0; k <= POWER_ITERATIONS; k++) {
        double length = sqrt(implicit_resistance(s, h, x));
        if (!(length > 0))
            return found;
        found = k > 0 ? length : 0;
        gw_system_apply_inverse_inertia(s, true);
        gw_system_gather(s, x);
        for (int n = 0; n < s->dof; n++)
            x[n] /= length;
    }
    return found;
}

void gw_system_update_mobilities(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof && !s->bodies[i].is_free; j++)
            s->bodies[i].mobility[j] =
                fmax(s->bodies[i].mobility[j], gw_system_mobility_at(s, i, j));
}

bool gw_system_may_be_stiff(gw_system *s)
{
    return added_inertias(s, s->dt / GW_EXPLICIT_SUBSTEPS) > GW_EXPLICIT_LIMIT;
}

bool gw_system_is_stiff(gw_system *s, double h, double limit)
{
    return added_inertias(s, h) > limit / 2 && largest_eigenvalue(s, h) > limit;
}
