/*
 * The local model of a system: creation, and forward dynamics with it. On the world thread and the
 * loop's thread, each with a system of its own; RT safe.
 */
#include "rt/dynamics/local_model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_private.h"

size_t gw_local_model_bytes(int count)
{
    return offsetof(gw_local_model, factor) +
           (size_t)count * (size_t)(count + 1) / 2 * sizeof(((gw_local_model *)0)->factor[0]);
}

bool gw_system_takes_local_model(const gw_system_def *def)
{
    bool takes = def->closure_count == 0 && def->spring_count == 0 && def->body_count > 0 &&
                 def->body_count <= GW_MAX_LOCAL_LINKS;
    for (int i = 0; i < def->body_count; i++) {
        const gw_system_body_def *b = &def->bodies[i];
        takes = takes && !b->set && gw_mobilizers[b->joint].dof == 1 && b->damping_linear == 0 &&
                b->damping_angular == 0;
    }
    return takes;
}

/* ---- making a model ------------------------------------------------------------------------- */

/* Cholesky factor L of D by rows, with reciprocal diagonal; a joint without mass gets 0 and does
 * not move. */
static void factor_cholesky(int n, const double (*d)[GW_MAX_LOCAL_LINKS], double *factor)
{
    double *row = factor;
    for (int i = 0; i < n; row += ++i) {
        const double *column = factor;
        for (int j = 0; j <= i; column += ++j) {
            double sum = d[i][j];
            for (int k = 0; k < j; k++)
                sum -= row[k] * column[k];
            if (j < i)
                row[j] = sum * column[j];
            else
                row[j] = sum > 0 ? 1 / sqrt(sum) : 0;
        }
    }
}

/* Adds J^T of the bodies' forces to the joints' rest. */
static void pull_back(gw_system *s)
{
    for (int i = s->body_count - 1; i >= 0; i--) {
        gw_system_body *k = &s->bodies[i];
        gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        if (k->flat.plane) {
            const gw_planar_body *b = &k->flat;
            k->rest[0] += gw_dot3(b->column, b->force);
            if (p)
                gw_planar_add_shifted(b->force, b->r[0], b->r[1], p->flat.force);
            continue;
        }
        k->rest[0] += gw_dot6(k->columns[0], k->force);
        if (p && p->flat.plane)
            gw_planar_add_wrench(k->force, k->r, p);
        else if (p)
            gw_spatial_add_shifted(k->force, k->r, p->force);
    }
}

static void set_force(gw_system_body *k, const gw_wrench *w)
{
    if (k->flat.plane)
        gw_planar_wrench(k->flat.plane, w->f, w->t, k->flat.force);
    else
        gw_spatial_set(k->force, w->f, w->t);
}

/* G = -J^T m g; returns V. */
static double weight_forces(gw_system *s, double *gravity)
{
    double potential = 0;
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_vec3 com = gw_mat3_mul(&k->turn, k->def.mass.com);
        gw_vec3 weight = gw_scale(k->def.mass.mass, s->gravity);
        potential -= gw_dot(weight, gw_add(k->pose.p, com));
        k->rest[0] = 0;
        set_force(k, &(gw_wrench){weight, gw_cross(com, weight)});
    }
    pull_back(s);
    gw_system_gather(s, gravity);
    for (int i = 0; i < s->dof; i++)
        gravity[i] = -gravity[i];
    return potential;
}

/* reach = h |v| + h^2 (|free acceleration| + |D^-1 J^T hand|): twice the acceleration term of a
 * constant acceleration, as accelerations may grow. */
static void compute_reach(gw_system *s, double h, double *reach)
{
    const double hand[6] = {GW_LOCAL_MODEL_FORCE,  GW_LOCAL_MODEL_FORCE,  GW_LOCAL_MODEL_FORCE,
                            GW_LOCAL_MODEL_TORQUE, GW_LOCAL_MODEL_TORQUE, GW_LOCAL_MODEL_TORQUE};
    double columns[GW_MAX_LOCAL_LINKS][6], drift[6], a[GW_MAX_LOCAL_LINKS];
    const gw_model *model = gw_system_model(s);
    gw_model_jacobian(model, columns, drift);
    gw_model_free_acceleration(model, a);
    for (int i = 0; i < s->dof; i++)
        reach[i] = h * fabs(s->bodies[i].joint.u[0]) + h * h * fabs(a[i]);
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < s->dof; i++)
            a[i] = hand[k] * columns[i][k];
        gw_model_apply_inverse(model, a, a);
        for (int i = 0; i < s->dof; i++)
            reach[i] += h * h * fabs(a[i]);
    }
}

void gw_local_model_make(gw_system *s, double horizon, gw_local_model *out)
{
    double d[GW_MAX_LOCAL_LINKS][GW_MAX_LOCAL_LINKS];
    gw_system_update_all(s);
    assert(!s->local && horizon > 0 && s->dof == s->body_count && s->dof <= GW_MAX_LOCAL_LINKS);
    out->count = s->dof;
    for (int i = 0; i < s->dof; i++)
        out->q[i] = s->bodies[i].joint.z[0];
    gw_tree_mass_matrix(s, &d[0][0], GW_MAX_LOCAL_LINKS);
    factor_cholesky(out->count, (const double(*)[GW_MAX_LOCAL_LINKS])d, out->factor);
    out->potential = weight_forces(s, out->gravity);
    compute_reach(s, horizon, out->reach);
}

/* ---- dynamics by the model ------------------------------------------------------------------ */

bool gw_system_too_stiff_for_local_model(gw_system *s)
{
    gw_system_update_all(s);
    return s->moving || s->is_offset || gw_system_may_be_stiff(s);
}

double gw_system_set_local_model(gw_system *s, const gw_local_model *local)
{
    gw_system_update_all(s);
    double before = s->kinetic + s->potential;
    assert(!local || (local->count == s->dof && s->row_count == 0));
    if (!s->local != !local) /* levels have another meaning */
        s->integrator.level = 0;
    s->local = local;
    gw_system_update(s);
    gw_system_take_state(s);
    return s->kinetic + s->potential - before;
}

const gw_local_model *gw_system_local_model(const gw_system *s)
{
    assert(s);
    return s->local;
}

double gw_system_local_model_validity(gw_system *s)
{
    assert(s);
    double strain = 0;
    gw_system_update_all(s);
    for (int i = 0; s->local && i < s->body_count; i++) {
        double distance = fabs(s->bodies[i].joint.z[0] - s->local->q[i]);
        if (distance > 0)
            strain = fmax(strain, distance / s->local->reach[i]);
    }
    return strain;
}

/* 1/2 |L^T v|^2 */
double gw_local_kinetic(const gw_system *s)
{
    double sum[GW_MAX_LOCAL_LINKS], total = 0;
    const double *row = s->local->factor;
    for (int i = 0; i < s->dof; row += ++i) {
        double v = s->bodies[i].joint.u[0];
        for (int k = 0; k < i; k++)
            sum[k] += row[k] * v;
        sum[i] = row[i] > 0 ? v / row[i] : 0;
    }
    for (int i = 0; i < s->dof; i++)
        total += sum[i] * sum[i];
    return 0.5 * total;
}

double gw_local_weight_energy(const gw_system *s)
{
    double sum = s->local->potential;
    for (int i = 0; i < s->dof; i++)
        sum += s->local->gravity[i] * (s->bodies[i].joint.z[0] - s->local->q[i]);
    return sum;
}

/* L y = x, then L^T z = y, in place. */
static void solve_factored(int n, const double *factor, double *x)
{
    const double *row = factor;
    for (int i = 0; i < n; row += ++i) {
        double sum = x[i];
        for (int k = 0; k < i; k++)
            sum -= row[k] * x[k];
        x[i] = sum * row[i];
    }
    for (int i = n - 1; i >= 0; i--) {
        row -= i + 1;
        x[i] *= row[i];
        for (int k = 0; k < i; k++)
            x[k] -= row[k] * x[i];
    }
}

/* The bodies' accelerations minus `coasting`, from the joint accelerations in `rest`. */
static void accelerate_bodies(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        const gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        gw_planar_body *b = &k->flat;
        if (b->plane) {
            const double *q = p ? p->flat.acceleration : gw_ground_body.flat.acceleration;
            b->acceleration[0] = q[0] - q[2] * b->r[1] + b->column[0] * k->rest[0];
            b->acceleration[1] = q[1] + q[2] * b->r[0] + b->column[1] * k->rest[0];
            b->acceleration[2] = q[2] + b->column[2] * k->rest[0];
            continue;
        }
        gw_twist from = p ? gw_acceleration_of(p) : (gw_twist){{0, 0, 0}, {0, 0, 0}};
        gw_vec3 v = p ? gw_add(from.v, gw_cross(from.w, k->r)) : from.v;
        gw_spatial_set(k->acceleration, gw_mul_add(v, k->rest[0], gw_linear_part(k->columns[0])),
                       gw_mul_add(from.w, k->rest[0], gw_angular_part(k->columns[0])));
    }
}

/* rest := D^^-1 (rest + J^T force - weight) */
static void solve_local(gw_system *s, const double *weight)
{
    double x[GW_MAX_LOCAL_LINKS];
    pull_back(s);
    for (int i = 0; i < s->dof; i++)
        x[i] = s->bodies[i].rest[0] - (weight ? weight[i] : 0);
    solve_factored(s->dof, s->local->factor, x);
    for (int i = 0; i < s->dof; i++)
        s->bodies[i].rest[0] = x[i];
}

void gw_local_accelerate(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        s->bodies[i].rest[0] = s->joint_force[i];
        set_force(&s->bodies[i], &s->on[i]);
    }
    solve_local(s, s->local->gravity);
    accelerate_bodies(s);
}

void gw_local_apply_inverse(gw_system *s, bool bodies)
{
    const gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < s->body_count; i++) {
        s->bodies[i].rest[0] = s->generalised[i];
        set_force(&s->bodies[i], bodies ? &s->on[i] : &none);
    }
    solve_local(s, NULL);
}
