/*
 * Systems of bodies: multipliers for closures, a fourth-order Runge-Kutta step, the projection that
 * keeps closures closed, and the system as a model. Making takes memory; the rest is RT safe.
 */
#include "rt/dynamics/system.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/runge_kutta.h"
#include "rt/dynamics/system_private.h"

#define SAME_ROW       1e-11 /* of a row's share that is left beside others: less follows from them */
#define NO_ROW         1e-13 /* of the largest J D^-1 J^T: less is moved by nothing */
#define PROJECTIONS    4     /* of positions after a step, at most */
#define PLACE_STEPS    20    /* of them where bodies are put */
#define ASSEMBLE_STEPS 100   /* of them at creation */
#define CLOSED         1e-15 /* of the length: no more to project */
#define FLOOR          1e-12 /* of the length: below it, projection goes on while it halves what is left */
#define HELD           1e-9 /* of the length: closures are met at creation */

/* ---- closures ------------------------------------------------------------------------------- */

/* All rows where the bodies are: with b's axes R, d = p_a - p_b, and what
 * a does as b sees it [v; w] = [v_a - v_b - w_b x d; w_a - w_b], a row (f, t) on a is
 * (-f, -t - d x f) on b, and
 *   J-dot v = drift - f . (w_b x (w_b x d) + 2 w_b x v) - t . (w_b x w) */
static void closure_rows(gw_system *s)
{
    int n = 0;
    for (int i = 0; i < s->closure_count; i++) {
        const gw_closure_def *c = &s->closures[i];
        const gw_system_body *a = &s->bodies[c->a], *b = c->b >= 0 ? &s->bodies[c->b] : NULL;
        gw_pose world_from_b = b ? b->pose : gw_pose_identity();
        gw_twist moves = b ? b->twist : (gw_twist){0};
        gw_pose b_from_world = gw_pose_inverse(&world_from_b);
        gw_pose b_from_a = gw_pose_mul(&b_from_world, &a->pose);
        gw_vec3 d = gw_sub(a->pose.p, world_from_b.p);
        gw_vec3 v = gw_sub(gw_sub(a->twist.v, moves.v), gw_cross(moves.w, d));
        gw_vec3 w = gw_sub(a->twist.w, moves.w);
        gw_twist seen = {gw_unrotate(world_from_b.q, v), gw_unrotate(world_from_b.q, w)};
        double h[GW_MAX_ROWS], j[GW_MAX_ROWS][6], drift[GW_MAX_ROWS];
        gw_rows_value_and_jacobian(c->rows, c->row_count, &b_from_a, h, j);
        gw_rows_bias(c->rows, c->row_count, &b_from_a, &seen, drift);
        gw_vec3 turning =
            gw_add(gw_cross(moves.w, gw_cross(moves.w, d)), gw_scale(2, gw_cross(moves.w, v)));
        for (int k = 0; k < c->row_count; k++, n++) {
            gw_closure_row *r = &s->rows[n];
            gw_vec3 f = gw_rotate(world_from_b.q, gw_linear_part(j[k]));
            gw_vec3 t = gw_rotate(world_from_b.q, gw_angular_part(j[k]));
            r->a = c->a, r->b = c->b;
            gw_spatial_set(r->on_a, f, t);
            gw_spatial_set(r->on_b, gw_neg(f), gw_neg(gw_add(t, gw_cross(d, f))));
            r->value = h[k];
            r->rate = gw_dot(f, v) + gw_dot(t, w);
            r->bias = drift[k] - gw_dot(f, turning) - gw_dot(t, gw_cross(moves.w, w));
            r->scale = c->rows[k].kind == GW_ROW_ANGLE ? s->length : 1;
        }
    }
}

static void push(gw_system *s, const gw_closure_row *r, double by)
{
    for (int l = 0; l < 6; l++) {
        s->bodies[r->a].force[l] += by * r->on_a[l];
        if (r->b >= 0)
            s->bodies[r->b].force[l] += by * r->on_b[l];
    }
}

static double row_of(const gw_system *s, const gw_closure_row *r)
{
    return gw_dot6(r->on_a, s->bodies[r->a].acceleration) +
           (r->b >= 0 ? gw_dot6(r->on_b, s->bodies[r->b].acceleration) : 0);
}

/* The Delassus operator J D^-1 J^T in metres, factored with the row that has most left first; rows
 * of which nothing is left beside those before them are out of it. */
static void factor_closures(gw_system *s)
{
    int m = s->row_count;
    double *k = s->delassus, *l = s->factor, most = 0;
    for (int i = 0; i < m; i++) {
        gw_tree_clear_forces(s);
        push(s, &s->rows[i], s->rows[i].scale);
        gw_tree_accelerations(s, false);
        for (int j = 0; j < m; j++)
            k[i * m + j] = s->rows[j].scale * row_of(s, &s->rows[j]);
        most = fmax(most, k[i * m + i]);
        s->order[i] = i;
    }
    s->rank = 0;
    for (int at = 0; at < m; at++) {
        /* pivot: the largest share of its own diagonal that is left */
        int best = -1;
        double left = SAME_ROW;
        for (int i = at; i < m; i++) {
            int r = s->order[i];
            double d = k[r * m + r], rest = d;
            if (d <= NO_ROW * most)
                continue;
            for (int j = 0; j < at; j++)
                rest -= l[r * m + j] * l[r * m + j];
            if (rest / d > left)
                left = rest / d, best = i;
        }
        if (best < 0)
            break;
        int r = s->order[best];
        s->order[best] = s->order[at];
        s->order[at] = r;
        double pivot = sqrt(left * k[r * m + r]);
        l[r * m + at] = pivot;
        for (int i = at + 1; i < m; i++) {
            int q = s->order[i];
            double sum = k[q * m + r];
            for (int j = 0; j < at; j++)
                sum -= l[q * m + j] * l[r * m + j];
            l[q * m + at] = sum / pivot;
        }
        s->rank = at + 1;
    }
}

/* multiplier := (J D^-1 J^T)^+ right, both of rows in metres. */
static void solve_closures(gw_system *s)
{
    int m = s->row_count;
    const double *l = s->factor;
    double *x = s->multiplier;
    memset(x, 0, (size_t)m * sizeof *x);
    for (int i = 0; i < s->rank; i++) {
        int r = s->order[i];
        x[r] = s->right[r];
        for (int j = 0; j < i; j++)
            x[r] -= l[r * m + j] * x[s->order[j]];
        x[r] /= l[r * m + i];
    }
    for (int i = s->rank - 1; i >= 0; i--) {
        int r = s->order[i];
        for (int j = i + 1; j < s->rank; j++)
            x[r] -= l[s->order[j] * m + i] * x[s->order[j]];
        x[r] /= l[r * m + i];
    }
}

/* ---- acceleration --------------------------------------------------------------------------- */

/* What acts on bodies and joints besides closures, ready for gw_tree_accelerations(). */
static void load(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_vec3 weight = gw_scale(k->def.mass.mass, s->gravity);
        gw_spatial_set(k->force, gw_add(s->on[i].f, weight),
                       gw_add(s->on[i].t, gw_cross(k->com, weight)));
        gw_spatial_set(k->force,
                       gw_mul_add(gw_linear_part(k->force), -k->def.damping_linear, k->twist.v),
                       gw_mul_add(gw_angular_part(k->force), -k->def.damping_angular, k->twist.w));
        for (int l = 0; l < 6; l++)
            k->force[l] -= k->gyroscopic[l];
        for (int j = 0; j < k->dof; j++)
            k->rest[j] = -k->def.damping[j] * k->joint.u[j] -
                         k->def.stiffness[j] * (k->joint.z[j] - k->def.rest[j]);
    }
}

static void push_multipliers(gw_system *s)
{
    for (int i = 0; i < s->row_count; i++)
        push(s, &s->rows[i], s->rows[i].scale * s->multiplier[i]);
}

/* u-dot of every joint, in its `rest`, under s->on; positions, velocities and factors are there. */
static void accelerate(gw_system *s)
{
    load(s);
    gw_tree_accelerations(s, true);
    if (s->row_count == 0)
        return;
    for (int i = 0; i < s->row_count; i++)
        s->right[i] = -s->rows[i].scale * (s->rows[i].bias + row_of(s, &s->rows[i]));
    solve_closures(s);
    load(s);
    push_multipliers(s);
    gw_tree_accelerations(s, true);
}

/* Everything that depends on the joints' states alone. */
static void update(gw_system *s)
{
    gw_tree_update_positions(s);
    gw_tree_update_velocities(s);
    gw_tree_articulate(s);
    if (s->row_count == 0)
        return;
    closure_rows(s);
    factor_closures(s);
}

/* ---- projection ----------------------------------------------------------------------------- */

static double largest_value(const gw_system *s)
{
    double worst = 0;
    for (int i = 0; i < s->row_count; i++)
        worst = fmax(worst, fabs(s->rows[i].scale * s->rows[i].value));
    return worst;
}

/* The answer of the joints, in their `rest`, to what the rows ask for in s->right. */
static void answer_rows(gw_system *s)
{
    solve_closures(s);
    gw_tree_clear_forces(s);
    push_multipliers(s);
    gw_tree_accelerations(s, false);
}

/* dq = -D^-1 J^T (J D^-1 J^T)^+ g, at most `steps` times; then velocities onto the rows in the same
 * way. Leaves everything up to date where it ends. Returns what is left of g. */
static double project(gw_system *s, int steps)
{
    double before = INFINITY, now = 0;
    update(s);
    if (s->row_count == 0)
        return 0;
    for (int n = 0; n < steps; n++, before = now) {
        now = largest_value(s);
        if (now <= CLOSED * s->length || !(now < 0.5 * before || now > FLOOR * s->length))
            break;
        for (int i = 0; i < s->row_count; i++)
            s->right[i] = -s->rows[i].scale * s->rows[i].value;
        answer_rows(s);
        for (int i = 0; i < s->body_count; i++) {
            gw_system_body *k = &s->bodies[i];
            gw_mobilizer_state from = k->joint;
            gw_mobilizer_move(k->def.joint, &from, k->rest, &k->joint);
        }
        update(s);
    }
    for (int i = 0; i < s->row_count; i++)
        s->right[i] = -s->rows[i].scale * s->rows[i].rate;
    answer_rows(s);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += s->bodies[i].rest[j];
    gw_tree_update_velocities(s);
    closure_rows(s);
    return largest_value(s);
}

/* ---- the state as a model ------------------------------------------------------------------- */

static void take_state(gw_system *s, gw_system_state *m)
{
    for (int i = 0; i < s->body_count; i++)
        m->joints[i] = s->bodies[i].joint;
    m->stamp = s->stamp = ++s->last_stamp;
}

/* The system of a model, with everything up to date for its state. */
static gw_system *system_of(const gw_model *model)
{
    const gw_system_state *m = (const gw_system_state *)model;
    gw_system *s = m->system;
    if (s->stamp == m->stamp)
        return s;
    for (int i = 0; i < s->body_count; i++)
        s->bodies[i].joint = m->joints[i];
    update(s);
    s->stamp = m->stamp;
    return s;
}

static int model_dof(const gw_model *model)
{
    return ((const gw_system_state *)model)->system->dof;
}

static void held_frame(const gw_system *s, gw_pose *pose, gw_twist *twist)
{
    const gw_system_body *k = &s->bodies[s->held];
    gw_vec3 arm = gw_rotate(k->pose.q, s->body_from_held.p);
    *pose = gw_pose_mul(&k->pose, &s->body_from_held);
    *twist = (gw_twist){gw_add(k->twist.v, gw_cross(k->twist.w, arm)), k->twist.w};
}

static void model_held(const gw_model *model, gw_pose *world_from_held, gw_twist *twist)
{
    held_frame(system_of(model), world_from_held, twist);
}

/* The joints' answer, closures included, to what is in the bodies' `force` and s->generalised: the
 * loads are put there by `put_load`, as they are needed twice. */
static void answer_load(gw_system *s)
{
    for (int pass = 0; pass < 2; pass++) {
        gw_tree_clear_forces(s);
        for (int i = 0; i < s->body_count; i++)
            for (int j = 0; j < s->bodies[i].dof; j++)
                s->bodies[i].rest[j] = s->generalised[s->bodies[i].first + j];
        if (pass == 1)
            push_multipliers(s);
        gw_tree_accelerations(s, false);
        if (s->row_count == 0)
            return;
        if (pass == 1)
            return;
        for (int i = 0; i < s->row_count; i++)
            s->right[i] = -s->rows[i].scale * row_of(s, &s->rows[i]);
        solve_closures(s);
    }
}

/* Columns of what the rows allow, J Q with Q = 1 - D^-1 A^T (A D^-1 A^T)^+ A: a motion of the
 * held frame that no generalised velocity gives is orthogonal to them. Six answers of the system,
 * Q^T j = j + A^T lambda for each row j of J. */
static void project_columns(gw_system *s, double (*columns)[6])
{
    for (int l = 0; l < 6; l++) {
        for (int i = 0; i < s->dof; i++)
            s->generalised[i] = columns[i][l];
        answer_load(s);
        for (int i = 0; i < s->body_count; i++)
            memset(s->bodies[i].force, 0, sizeof s->bodies[i].force);
        push_multipliers(s);
        /* J_c^T of what the multipliers push, from the tips to the roots */
        for (int i = s->body_count - 1; i >= 0; i--) {
            gw_system_body *k = &s->bodies[i];
            for (int j = 0; j < k->dof; j++)
                columns[k->first + j][l] += gw_dot6(k->columns[j], k->force);
            if (k->def.parent < 0)
                continue;
            double *p = s->bodies[k->def.parent].force;
            gw_vec3 f = gw_linear_part(k->force);
            gw_vec3 t = gw_add(gw_angular_part(k->force), gw_cross(k->r, f));
            p[0] += f.x, p[1] += f.y, p[2] += f.z, p[3] += t.x, p[4] += t.y, p[5] += t.z;
        }
    }
}

/* The accelerations that the rows' own bias asks for: (1 - Q) v-dot. */
static void answer_bias(gw_system *s)
{
    for (int i = 0; i < s->row_count; i++)
        s->right[i] = -s->rows[i].scale * s->rows[i].bias;
    answer_rows(s);
}

/* Columns by the path to the root; the drift by the bias accelerations along it. */
static void model_jacobian(const gw_model *model, double (*columns)[6], double *drift)
{
    gw_system *s = system_of(model);
    const gw_system_body *held = &s->bodies[s->held];
    gw_vec3 arm = gw_rotate(held->pose.q, s->body_from_held.p), at = gw_add(held->pose.p, arm);
    memset(columns, 0, (size_t)s->dof * sizeof *columns);
    gw_vec3 a = gw_cross(held->twist.w, gw_cross(held->twist.w, arm)), alpha = {0, 0, 0};
    for (int i = s->held; i >= 0; i = s->bodies[i].def.parent) {
        const gw_system_body *k = &s->bodies[i];
        gw_vec3 to = gw_sub(at, k->pose.p);
        for (int j = 0; j < k->dof; j++) {
            gw_vec3 w = gw_angular_part(k->columns[j]);
            gw_spatial_set(columns[k->first + j],
                           gw_add(gw_linear_part(k->columns[j]), gw_cross(w, to)), w);
        }
        a = gw_add(a, gw_add(gw_linear_part(k->bias), gw_cross(gw_angular_part(k->bias), to)));
        alpha = gw_add(alpha, gw_angular_part(k->bias));
    }
    if (s->row_count > 0) {
        project_columns(s, columns);
        answer_bias(s);
        gw_vec3 turn = gw_angular_part(held->acceleration);
        a = gw_add(a, gw_add(gw_linear_part(held->acceleration), gw_cross(turn, arm)));
        alpha = gw_add(alpha, turn);
    }
    gw_spatial_set(drift, a, alpha);
}

static void gather(const gw_system *s, double *out)
{
    for (int i = 0; i < s->body_count; i++)
        memcpy(out + s->bodies[i].first, s->bodies[i].rest, (size_t)s->bodies[i].dof * sizeof *out);
}

static void model_apply_inverse(const gw_model *model, const double *force, double *acceleration)
{
    gw_system *s = system_of(model);
    memcpy(s->generalised, force, (size_t)s->dof * sizeof *force);
    answer_load(s);
    gather(s, acceleration);
}

static void energy_now(const gw_system *s, double *kinetic, double *potential)
{
    *kinetic = *potential = 0;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        gw_vec3 at_com = gw_add(k->twist.v, gw_cross(k->twist.w, k->com)), w = k->twist.w;
        double m = k->def.mass.mass;
        *kinetic += 0.5 * m * gw_norm2(at_com) + 0.5 * gw_dot(w, gw_mat3_mul(&k->inertia_com, w));
        *potential -= m * gw_dot(s->gravity, gw_add(k->pose.p, k->com));
        for (int j = 0; j < k->dof; j++) {
            double stretch = k->joint.z[j] - k->def.rest[j];
            *potential += 0.5 * k->def.stiffness[j] * stretch * stretch;
        }
    }
}

static void model_energy(const gw_model *model, double *kinetic, double *potential)
{
    energy_now(system_of(model), kinetic, potential);
}

static void model_velocity(const gw_model *model, double *v)
{
    const gw_system_state *m = (const gw_system_state *)model;
    const gw_system *s = m->system;
    for (int i = 0; i < s->body_count; i++)
        memcpy(v + s->bodies[i].first, m->joints[i].u, (size_t)s->bodies[i].dof * sizeof *v);
}

static void model_kick(gw_model *model, const double *dv)
{
    gw_system *s = system_of(model);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += dv[s->bodies[i].first + j];
    gw_tree_update_velocities(s);
    if (s->row_count > 0)
        closure_rows(s);
    take_state(s, (gw_system_state *)model);
}

static void model_free_acceleration(const gw_model *model, double *a)
{
    gw_system *s = system_of(model);
    memset(s->on, 0, (size_t)s->body_count * sizeof *s->on);
    accelerate(s);
    gather(s, a);
}

static int model_bodies(const gw_model *model)
{
    return ((const gw_system_state *)model)->system->body_count;
}

static void model_body(const gw_model *model, int index, gw_pose *world_from_body, gw_twist *twist)
{
    const gw_system *s = system_of(model);
    assert(index >= 0 && index < s->body_count);
    *world_from_body = s->bodies[index].pose;
    *twist = s->bodies[index].twist;
}

static void model_pull_back(const gw_model *model, int index, const gw_wrench *wrench,
                            double *force)
{
    const gw_system *s = system_of(model);
    gw_vec3 at = s->bodies[index].pose.p;
    for (int i = index; i >= 0; i = s->bodies[i].def.parent) {
        const gw_system_body *k = &s->bodies[i];
        gw_vec3 t = gw_add(wrench->t, gw_cross(gw_sub(at, k->pose.p), wrench->f));
        for (int j = 0; j < k->dof; j++)
            force[k->first + j] += gw_dot(gw_linear_part(k->columns[j]), wrench->f) +
                                   gw_dot(gw_angular_part(k->columns[j]), t);
    }
}

/* ---- a step --------------------------------------------------------------------------------- */

/* Everything that acts from outside, into s->on; returns the power of what acts at the held frame
 * (W). */
static double ask_forces(gw_system *s, const gw_forces *forces, double t)
{
    memset(s->on, 0, (size_t)s->body_count * sizeof *s->on);
    if (forces && forces->touch) {
        for (int i = 0; i < s->body_count; i++) {
            s->poses[i] = s->bodies[i].pose;
            s->twists[i] = s->bodies[i].twist;
        }
        forces->touch(forces->touching, t, s->poses, s->twists, s->on);
    }
    for (int i = 0; i < s->body_count; i++)
        s->on[i] = gw_wrench_add(s->on[i], s->pushed[i]);
    if (!forces || !forces->at)
        return 0;
    gw_pose pose;
    gw_twist twist;
    held_frame(s, &pose, &twist);
    gw_wrench w = forces->at(forces->context, t, &pose, &twist), *on = &s->on[s->held];
    on->f = gw_add(on->f, w.f);
    on->t = gw_add(on->t, gw_add(w.t, gw_cross(gw_sub(pose.p, s->bodies[s->held].pose.p), w.f)));
    return gw_dot(w.f, twist.v) + gw_dot(w.t, twist.w);
}

/* Of what pushes the bodies (W). */
static double pushing_power(const gw_system *s)
{
    double power = 0;
    for (int i = 0; i < s->body_count; i++)
        power += gw_dot(s->pushed[i].f, s->bodies[i].twist.v) +
                 gw_dot(s->pushed[i].t, s->bodies[i].twist.w);
    return power;
}

/* Of the damping of joints and bodies (W). */
static double damping_power(const gw_system *s)
{
    double power = 0;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        power += k->def.damping_linear * gw_norm2(k->twist.v) +
                 k->def.damping_angular * gw_norm2(k->twist.w);
        for (int j = 0; j < k->dof; j++)
            power += k->def.damping[j] * k->joint.u[j] * k->joint.u[j];
    }
    return power;
}

/* The body's rate of momentum less its weight and what acts on it from outside (at its origin). */
static gw_wrench borne(const gw_system *s, int index)
{
    const gw_system_body *k = &s->bodies[index];
    gw_vec3 alpha = gw_angular_part(k->acceleration), c = k->com;
    gw_vec3 a = gw_add(gw_sub(gw_linear_part(k->acceleration), s->gravity), gw_cross(alpha, c));
    gw_vec3 f = gw_scale(k->def.mass.mass, a);
    gw_vec3 t = gw_add(gw_mat3_mul(&k->inertia_com, alpha), gw_cross(c, f));
    return (gw_wrench){gw_sub(gw_add(f, gw_linear_part(k->gyroscopic)), s->on[index].f),
                       gw_sub(gw_add(t, gw_angular_part(k->gyroscopic)), s->on[index].t)};
}

/* What each joint exerts on its body: what the body and all that hangs on it bear, less closures.
 */
static void keep_joint_wrenches(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++)
        s->joint_wrench[i] = borne(s, i);
    for (int n = 0; n < s->row_count; n++) {
        const gw_closure_row *r = &s->rows[n];
        double by = -r->scale * s->multiplier[n];
        gw_wrench *a = &s->joint_wrench[r->a], *b = r->b >= 0 ? &s->joint_wrench[r->b] : NULL;
        a->f = gw_mul_add(a->f, by, gw_linear_part(r->on_a)),
        a->t = gw_mul_add(a->t, by, gw_angular_part(r->on_a));
        if (b)
            b->f = gw_mul_add(b->f, by, gw_linear_part(r->on_b)),
            b->t = gw_mul_add(b->t, by, gw_angular_part(r->on_b));
    }
    for (int i = s->body_count - 1; i >= 0; i--) {
        const gw_wrench *w = &s->joint_wrench[i];
        if (s->bodies[i].def.parent < 0)
            continue;
        gw_wrench *p = &s->joint_wrench[s->bodies[i].def.parent];
        p->f = gw_add(p->f, w->f);
        p->t = gw_add(p->t, gw_add(w->t, gw_cross(s->bodies[i].r, w->f)));
    }
}

static bool all_finite(const gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        if (!gw_finite_pose(&k->pose) || !gw_finite3(k->twist.v) || !gw_finite3(k->twist.w))
            return false;
    }
    return true;
}

/* Puts the joints where a stage asks: by the weights `a` of the stages before it. */
static void go_to_stage(gw_system *s, int stage, const double *a, double dt)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_stage_rates *rates = &s->rates[i * GW_SYSTEM_STAGES];
        double by[6];
        for (int j = 0; j < k->dof; j++) {
            by[j] = 0;
            k->joint.u[j] = s->home[i].u[j];
            for (int l = 0; l < stage; l++) {
                by[j] += dt * a[l] * rates[l].z[j];
                k->joint.u[j] += dt * a[l] * rates[l].u[j];
            }
        }
        gw_mobilizer_move(k->def.joint, &s->home[i], by, &k->joint);
        if (stage < GW_SYSTEM_STAGES)
            gw_mobilizer_rates(k->def.joint, by, k->joint.u, rates[stage].z);
    }
}

static void model_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step)
{
    const gw_tableau *rk = &gw_kutta4;
    gw_system *s = system_of(model);
    double kinetic, potential, before;
    *step = (gw_step){.margin = 1, .finite = true};
    for (int i = 0; i < s->body_count; i++)
        s->home[i] = s->bodies[i].joint;
    for (int stage = 0; stage < GW_SYSTEM_STAGES; stage++) {
        go_to_stage(s, stage, rk->a[stage], dt);
        if (stage > 0)
            update(s);
        step->work += rk->b[stage] * dt * ask_forces(s, forces, rk->c[stage] * dt);
        step->dissipated += rk->b[stage] * dt * damping_power(s);
        step->pushed += rk->b[stage] * dt * pushing_power(s);
        accelerate(s);
        for (int i = 0; i < s->body_count; i++)
            memcpy(s->rates[i * GW_SYSTEM_STAGES + stage].u, s->bodies[i].rest,
                   (size_t)s->bodies[i].dof * sizeof(double));
        if (stage > 0)
            continue;
        step->constraint = borne(s, s->held);
        keep_joint_wrenches(s);
    }
    go_to_stage(s, GW_SYSTEM_STAGES, rk->b, dt);
    /* back onto the closures; what that takes or brings is told */
    gw_tree_update_positions(s);
    gw_tree_update_velocities(s);
    energy_now(s, &kinetic, &potential);
    before = kinetic + potential;
    project(s, PROJECTIONS);
    energy_now(s, &kinetic, &potential);
    s->projected = kinetic + potential - before;
    if (!all_finite(s)) {
        *step = (gw_step){.finite = false};
        for (int i = 0; i < s->body_count; i++) {
            s->bodies[i].joint = s->home[i];
            memset(s->bodies[i].joint.u, 0, sizeof s->bodies[i].joint.u);
        }
        update(s);
    }
    take_state(s, (gw_system_state *)model);
}

/* ---- what a system tells -------------------------------------------------------------------- */

gw_model *gw_system_model(gw_system *s)
{
    return &s->model->model;
}

void gw_system_hold(gw_system *s, int index, const gw_pose *body_from_held)
{
    assert(index >= 0 && index < s->body_count);
    s->held = index;
    s->body_from_held = *body_from_held;
}

void gw_system_push(gw_system *s, int index, const gw_wrench *wrench)
{
    assert(index >= 0 && index < s->body_count);
    s->pushed[index] = *wrench;
}

/* The joint of a body where `pose` and `twist` have it; its parent is in place. */
static void place_joint(gw_system *s, int index, const gw_pose *pose, const gw_twist *twist)
{
    gw_system_body *k = &s->bodies[index];
    const gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
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
    for (int i = 0; i < s->body_count; i++) {
        place_joint(s, i, &poses[i], &twists[i]);
        gw_tree_update_positions(s);
        gw_tree_update_velocities(s);
    }
    double left = project(s, PLACE_STEPS);
    take_state(s, s->model);
    return left;
}

double gw_system_scale_velocity(gw_system *s, double factor)
{
    double before, after, potential;
    system_of(&s->model->model);
    energy_now(s, &before, &potential);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] *= factor;
    gw_tree_update_velocities(s);
    if (s->row_count > 0)
        closure_rows(s);
    take_state(s, s->model);
    energy_now(s, &after, &potential);
    return before - after;
}

void gw_system_reset(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++)
        s->bodies[i].joint = s->start[i];
    update(s);
    take_state(s, s->model);
}

int gw_system_mobility(gw_system *s)
{
    system_of(&s->model->model);
    return s->dof - s->rank;
}

double gw_system_residual(gw_system *s)
{
    return largest_value(system_of(&s->model->model));
}

double gw_system_projected(const gw_system *s)
{
    return s->projected;
}

int gw_system_joint(gw_system *s, int index, double position[6], double velocity[6])
{
    assert(index >= 0 && index < s->body_count);
    const gw_system_body *k = &system_of(&s->model->model)->bodies[index];
    int at = gw_mobilizer_rotation(k->def.joint);
    for (int j = 0; j < k->dof; j++) {
        position[j] = k->joint.z[j];
        velocity[j] = k->joint.u[j];
    }
    if (at < 6) {
        gw_vec3 r = gw_quat_log(k->joint.turn);
        position[at] = r.x, position[at + 1] = r.y, position[at + 2] = r.z;
    }
    return k->dof;
}

gw_wrench gw_system_joint_wrench(const gw_system *s, int index)
{
    assert(index >= 0 && index < s->body_count);
    return s->joint_wrench[index];
}

/* ---- making --------------------------------------------------------------------------------- */

static void init_body(gw_system_body *k, const gw_system_body_def *def, int first)
{
    int at = gw_mobilizer_rotation(def->joint);
    *k = (gw_system_body){.def = *def,
                          .m_from_body = gw_pose_inverse(&def->body_from_m),
                          .dof = gw_mobilizers[def->joint].dof,
                          .first = first};
    memcpy(k->joint.z, def->position, sizeof k->joint.z);
    memcpy(k->joint.u, def->velocity, sizeof k->joint.u);
    k->joint.turn =
        at == 6
            ? gw_quat_identity()
            : gw_quat_exp(gw_v3(def->position[at], def->position[at + 1], def->position[at + 2]));
}

static bool take_memory(gw_system *s)
{
    size_t n = (size_t)s->body_count, m = (size_t)s->row_count;
    s->bodies = calloc(n + 1, sizeof *s->bodies);
    s->closures = calloc((size_t)s->closure_count + 1, sizeof *s->closures);
    s->rows = calloc(m + 1, sizeof *s->rows);
    s->delassus = calloc(2 * m * m + 2 * m + 6 * n + 1, sizeof *s->delassus);
    s->order = calloc(m + 1, sizeof *s->order);
    s->home = calloc(2 * n + 1, sizeof *s->home);
    s->rates = calloc(n * GW_SYSTEM_STAGES + 1, sizeof *s->rates);
    s->poses = calloc(n + 1, sizeof *s->poses);
    s->twists = calloc(n + 1, sizeof *s->twists);
    s->on = calloc(3 * n + 1, sizeof *s->on);
    s->model = calloc(1, sizeof *s->model + n * sizeof s->model->joints[0]);
    if (!s->bodies || !s->closures || !s->rows || !s->delassus || !s->order || !s->home ||
        !s->rates || !s->poses || !s->twists || !s->on || !s->model)
        return false;
    s->factor = s->delassus + m * m;
    s->multiplier = s->factor + m * m;
    s->right = s->multiplier + m;
    s->generalised = s->right + m;
    s->joint_wrench = s->on + n;
    s->pushed = s->joint_wrench + n;
    s->start = s->home + n;
    return true;
}

static void init_model(gw_system *s)
{
    s->ops = (gw_model_ops){.dof = model_dof,
                            .held = model_held,
                            .jacobian = model_jacobian,
                            .apply_inverse = model_apply_inverse,
                            .energy = model_energy,
                            .step = model_step,
                            .velocity = model_velocity,
                            .kick = model_kick,
                            .free_acceleration = model_free_acceleration,
                            .bodies = model_bodies,
                            .body = model_body,
                            .pull_back = model_pull_back,
                            .size = sizeof *s->model +
                                    (size_t)s->body_count * sizeof s->model->joints[0]};
    s->model->model.ops = &s->ops;
    s->model->system = s;
}

gw_system *gw_system_create(const gw_system_def *def, gw_error *error)
{
    gw_system *s = calloc(1, sizeof *s);
    if (s) {
        s->body_count = def->body_count;
        s->closure_count = def->closure_count;
        s->gravity = def->gravity;
        s->length = def->length > 0 ? def->length : 1;
        s->body_from_held = gw_pose_identity();
        for (int i = 0; i < def->closure_count; i++)
            s->row_count += def->closures[i].row_count;
    }
    if (!s || !take_memory(s)) {
        gw_fail(error, GW_FAILED, "", "no memory for a system of bodies");
        gw_system_destroy(s);
        return NULL;
    }
    for (int i = 0; i < def->body_count; i++) {
        assert(def->bodies[i].parent < i && def->bodies[i].parent >= GW_GROUND);
        init_body(&s->bodies[i], &def->bodies[i], s->dof);
        s->dof += s->bodies[i].dof;
    }
    for (int i = 0; i < def->closure_count; i++) {
        assert(def->closures[i].a >= 0 && def->closures[i].a < def->body_count);
        assert(def->closures[i].b >= GW_GROUND && def->closures[i].b < def->body_count);
        s->closures[i] = def->closures[i];
    }
    init_model(s);
    double left = project(s, ASSEMBLE_STEPS);
    if (!(left <= HELD * s->length)) {
        gw_fail(error, GW_BAD_INPUT, "", "closures stay %g m open from where the bodies are", left);
        gw_system_destroy(s);
        return NULL;
    }
    for (int i = 0; i < s->body_count; i++)
        s->start[i] = s->bodies[i].joint;
    take_state(s, s->model);
    return s;
}

void gw_system_destroy(gw_system *s)
{
    if (!s)
        return;
    free(s->bodies);
    free(s->closures);
    free(s->rows);
    free(s->delassus);
    free(s->order);
    free(s->home);
    free(s->rates);
    free(s->poses);
    free(s->twists);
    free(s->on);
    free(s->model);
    free(s);
}
