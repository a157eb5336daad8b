/*
 * The guided body as a model: what the table asks of it between steps, and what is done to it. On
 * a set that rides, all of it is asked where the set stands and turned out of there. RT safe.
 */
#include "rt/dynamics/guided_stage.h"

static int guided_dof(const gw_model *model)
{
    return ((const gw_guided *)model)->def.set.dof;
}

static void guided_held(const gw_model *model, gw_pose *held, gw_twist *twist)
{
    const gw_guided *body = (const gw_guided *)model;
    gw_vec3 arm = gw_rotate(body->pose.q, body->def.body_from_held.p);
    *held = gw_pose_mul(&body->pose, &body->def.body_from_held);
    *twist = (gw_twist){gw_add(body->twist.v, gw_cross(body->twist.w, arm)), body->twist.w};
}

static void floating_now(const gw_guided *body, stage *s)
{
    gw_vec3 w = body->twist.w, arm = gw_rotate(body->pose.q, body->def.set.translation.of);
    gw_vec3 bias = gw_neg(gw_cross(w, gw_cross(w, arm)));
    gw_floating_jacobian(body, s->jacobian);
    put_column(s->bias, bias, gw_v3(0, 0, 0));
    s->pose = body->pose;
    s->twist = body->twist;
    s->rigid = gw_rigid_body_at(&body->def, &s->pose);
    factor_inertia(body->def.mass.mass, s, 3, 6);
}

/* Columns and bias at the body's origin, where the set stands: the chart's, or for a general set
 * its tangent basis. */
static void stage_now(const gw_guided *body, stage *s)
{
    gw_chart chart;
    double z[6] = {0}, z_dot[6] = {0};
    gw_pose pose = gw_guided_pose(body);
    const gw_guided_def *def = &body->def;
    if (floats(&def->set)) {
        floating_now(body, s);
        return;
    }
    if (!def->set.general) {
        gw_chart_at(&def->set, &pose, &chart);
        velocity_in(&chart, body, z_dot);
        stage_at(body, &chart, z, z_dot, turning(&def->set), def->set.dof, s);
        return;
    }
    memset(s->bias, 0, sizeof s->bias);
    s->pose = pose;
    s->twist = gw_guided_twist(body);
    gw_submanifold_tangent(&def->set, &pose, def->length, s->jacobian);
    s->rigid = gw_rigid_body_at(def, &pose);
    factor_inertia(def->mass.mass, s, turning(&def->set), def->set.dof);
}

/* Columns and drift at the held frame, out of the frame that the set stands in. */
static void turn_columns(const gw_guided *body, const stage *s, double (*columns)[6], double *drift)
{
    gw_quat q = gw_base_motion_frame(&body->ride, 0).q;
    gw_twist twist = gw_guided_twist(body);
    twist.v = gw_add(twist.v, gw_cross(twist.w, s->rigid.held));
    gw_twist more = gw_base_motion_bias(&body->ride, gw_add(s->pose.p, s->rigid.held), &twist);
    for (int k = 0; k < body->def.set.dof; k++)
        put_column(columns[k], gw_rotate(q, linear(columns[k])), gw_rotate(q, angular(columns[k])));
    put_column(drift, gw_rotate(q, gw_add(linear(drift), more.v)),
               gw_rotate(q, gw_add(angular(drift), more.w)));
}

static void guided_jacobian(const gw_model *model, double (*columns)[6], double *drift)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    stage_now(body, &s);
    gw_vec3 arm = s.rigid.held, w = gw_guided_twist(body).w;
    for (int k = 0; k < body->def.set.dof; k++) {
        gw_vec3 wk = angular(s.jacobian[k]);
        gw_vec3 v = gw_add(linear(s.jacobian[k]), gw_cross(wk, arm));
        put_column(columns[k], v, wk);
    }
    gw_vec3 b = gw_add(linear(s.bias), gw_cross(angular(s.bias), arm));
    b = gw_add(b, gw_cross(w, gw_cross(w, arm)));
    put_column(drift, b, angular(s.bias));
    if (body->ride.moves)
        turn_columns(body, &s, columns, drift);
}

static void guided_apply_inverse(const gw_model *model, const double *force, double *acceleration)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    if (floats(&body->def.set)) {
        gw_floating_apply_inverse(body, force, acceleration);
        return;
    }
    stage_now(body, &s);
    memcpy(acceleration, force, (size_t)body->def.set.dof * sizeof *force);
    gw_ldl_solve(s.inertia, body->def.set.dof, acceleration);
}

static void guided_energy(const gw_model *model, double *kinetic, double *potential)
{
    const gw_guided *body = (const gw_guided *)model;
    gw_rigid_body r = gw_rigid_body_at(&body->def, &body->pose);
    gw_vec3 com = gw_add(body->pose.p, r.com);
    *kinetic = gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &body->twist);
    *potential = -body->def.mass.mass * gw_dot(body->def.gravity, com);
}

/* ---- what touches it ------------------------------------------------------------------------ */

/* A general set's coordinates are those of its tangent basis: orthonormal rows of [v; L w]. */
static void own_velocity(const gw_guided *body, double *v)
{
    double basis[6][6], length = body->def.length;
    gw_chart chart;
    gw_pose pose = gw_guided_pose(body);
    if (floats(&body->def.set)) {
        gw_floating_velocity(body, v);
        return;
    }
    if (!body->def.set.general) {
        gw_chart_at(&body->def.set, &pose, &chart);
        velocity_in(&chart, body, v);
        return;
    }
    gw_twist t = gw_guided_twist(body);
    gw_submanifold_tangent(&body->def.set, &pose, length, basis);
    for (int k = 0; k < body->def.set.dof; k++)
        v[k] = gw_dot(linear(basis[k]), t.v) + length * length * gw_dot(angular(basis[k]), t.w);
}

/* min |M^1/2 (J z' - twist)|:  M_z z' = J^T M twist,   where the set stands */
static void nearest_velocity(const gw_guided *body, const gw_twist *twist, stage *s, double *z_dot)
{
    stage_now(body, s);
    gw_vec3 v = gw_add(twist->v, gw_cross(twist->w, s->rigid.com));
    gw_wrench momentum = {gw_scale(body->def.mass.mass, v),
                          gw_mat3_mul(&s->rigid.inertia, twist->w)};
    pull_back(s, &momentum, turning(&body->def.set), body->def.set.dof, z_dot);
    gw_ldl_solve(s->inertia, body->def.set.dof, z_dot);
}

/*
 * On a set that rides with the twist d, of all motions that the set allows -J dz is the one in the
 * frame with the least kinetic energy, dz being the velocity nearest to d. Against it, kinetic
 * energy is v^T M_z v / 2 and a constant, so what kicks the body works on v alone.
 */
static void guided_velocity(const gw_model *model, double *v)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    double dz[6];
    own_velocity(body, v);
    if (!body->ride.moves)
        return;
    gw_pose pose = gw_guided_pose(body);
    gw_twist drag = gw_base_motion_twist_at(&body->ride, &pose);
    nearest_velocity(body, &drag, &s, dz);
    for (int k = 0; k < body->def.set.dof; k++)
        v[k] += dz[k];
}

static bool guided_carried(const gw_model *model, int index, gw_twist *twist)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    double dz[6];
    (void)index;
    if (!body->ride.moves)
        return false;
    gw_pose pose = gw_guided_pose(body);
    gw_twist drag = gw_base_motion_twist_at(&body->ride, &pose);
    nearest_velocity(body, &drag, &s, dz);
    gw_twist along = twist_of(s.jacobian, dz, turning(&body->def.set), body->def.set.dof);
    along = (gw_twist){gw_neg(along.v), gw_neg(along.w)};
    *twist = gw_base_to_world_twist(&body->ride, 0, &body->pose, &along);
    return true;
}

static void guided_kick(gw_model *model, const double *dv)
{
    gw_guided *body = (gw_guided *)model;
    double z_dot[6];
    stage s;
    if (floats(&body->def.set)) {
        gw_floating_kick(body, dv);
        return;
    }
    stage_now(body, &s);
    own_velocity(body, z_dot);
    for (int k = 0; k < body->def.set.dof; k++)
        body->z_dot[k] = z_dot[k] += dv[k];
    gw_twist twist = twist_of(s.jacobian, z_dot, turning(&body->def.set), body->def.set.dof);
    gw_guided_store_twist(body, &twist);
}

/* What is left where nothing acts at the held frame: the acceleration of a stage there. */
static void guided_free(const gw_model *model, double *a)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    stage_now(body, &s);
    s.twist = gw_guided_twist(body);
    gw_load load = gw_guided_load(body, &s.rigid, &s.pose, &s.twist, NULL, 0);
    accelerate(body->def.mass.mass, &s, &load, turning(&body->def.set), body->def.set.dof, a);
}

static int guided_bodies(const gw_model *model)
{
    (void)model;
    return 1;
}

static void guided_body(const gw_model *model, int index, gw_pose *pose, gw_twist *twist)
{
    const gw_guided *body = (const gw_guided *)model;
    (void)index;
    *pose = body->pose;
    *twist = body->twist;
}

static void guided_pull_back(const gw_model *model, int index, const gw_wrench *wrench,
                             double *force)
{
    const gw_guided *body = (const gw_guided *)model;
    gw_wrench w = *wrench;
    stage s;
    (void)index;
    if (floats(&body->def.set))
        gw_floating_jacobian(body, s.jacobian);
    else
        stage_now(body, &s);
    if (body->ride.moves) {
        gw_quat q = gw_base_motion_frame(&body->ride, 0).q;
        w = (gw_wrench){gw_unrotate(q, w.f), gw_unrotate(q, w.t)};
    }
    for (int k = 0; k < body->def.set.dof; k++)
        force[k] += gw_dot(linear(s.jacobian[k]), w.f) + gw_dot(angular(s.jacobian[k]), w.t);
}

static const gw_model_ops guided_ops = {
    .dof = guided_dof,
    .held = guided_held,
    .jacobian = guided_jacobian,
    .apply_inverse = guided_apply_inverse,
    .energy = guided_energy,
    .step = gw_guided_step,
    .velocity = guided_velocity,
    .kick = guided_kick,
    .free_acceleration = guided_free,
    .bodies = guided_bodies,
    .body = guided_body,
    .pull_back = guided_pull_back,
    .carried = guided_carried,
    .size = sizeof(gw_guided),
};

/* The largest rates at which damping at the held frame takes a motion, bounds of them; r: from
 * there to the centre of mass,
 *
 *   d_linear (1/m + r^2 |I^-1|),   d_angular |I^-1|
 */
static void find_decay(gw_guided *body)
{
    const gw_guided_def *def = &body->def;
    const gw_mat3 *inverse = &body->inverse;
    double r2 = gw_norm2(gw_sub(def->body_from_held.p, def->mass.com));
    double nimble = inverse->m[0][0] + inverse->m[1][1] + inverse->m[2][2];
    body->decay[0] = def->damping_linear * (1 / def->mass.mass + r2 * nimble);
    body->decay[1] = def->damping_angular * nimble;
    for (int i = 0; i < 2; i++)
        if (!isfinite(body->decay[i]))
            body->decay[i] = 0;
}

void gw_guided_init(gw_guided *body, const gw_guided_def *def, const gw_pose *world_from_body)
{
    gw_chart chart;
    body->model.ops = &guided_ops;
    body->def = *def;
    body->inverse = gw_inertia_inverse(&def->mass.inertia);
    find_decay(body);
    if (!(body->def.length > 0))
        body->def.length = 0.05;
    gw_chart_at(&body->def.set, world_from_body, &chart);
    body->pose = chart.centre;
    body->ride = (gw_base_motion){0};
    stop(body);
}

void gw_guided_set_twist(gw_guided *body, const gw_twist *twist)
{
    stage s;
    if (floats(&body->def.set)) {
        gw_floating_set_twist(body, twist);
        return;
    }
    gw_twist own =
        body->ride.moves ? gw_base_from_world_twist(&body->ride, &body->pose, twist) : *twist;
    if (body->def.set.general) {
        own = gw_guided_general_project(body, &own);
    } else {
        stop(body);
        nearest_velocity(body, &own, &s, body->z_dot);
        own = twist_of(s.jacobian, body->z_dot, turning(&body->def.set), body->def.set.dof);
    }
    gw_guided_store_twist(body, &own);
}

/* What floats rides on nothing. */
void gw_guided_set_base_motion(gw_guided *body, const gw_base_motion *ride)
{
    gw_twist twist = body->twist;
    if (floats(&body->def.set))
        return;
    body->ride = *ride;
    gw_guided_set_twist(body, &twist);
}

gw_twist gw_guided_base_velocity(const gw_guided *body, gw_vec3 point)
{
    const gw_twist *t = &body->ride.twist;
    if (!body->ride.moves)
        return (gw_twist){{0, 0, 0}, {0, 0, 0}};
    return (gw_twist){gw_add(t->v, gw_cross(t->w, point)), t->w};
}

void gw_guided_stop(gw_guided *body)
{
    body->twist = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    memset(body->z_dot, 0, sizeof body->z_dot);
}

void gw_guided_revert_step(gw_guided *body, const gw_pose *pose, double dt)
{
    body->pose = *pose;
    if (body->ride.moves) {
        gw_pose then = gw_base_motion_frame(&body->ride, -dt), back = gw_pose_inverse(&then);
        back = gw_pose_mul(&back, pose);
        body->pose = gw_base_to_world_pose(&body->ride, 0, &back);
    }
    gw_guided_stop(body);
}

void gw_guided_move_with_base(gw_guided *body, double dt)
{
    gw_pose pose = body->pose;
    body->ride.time += dt;
    gw_guided_revert_step(body, &pose, dt);
}

double gw_guided_scale_velocity(gw_guided *body, double factor)
{
    gw_rigid_body r = gw_rigid_body_at(&body->def, &body->pose);
    double before = gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &body->twist);
    gw_twist own = gw_guided_twist(body);
    own = (gw_twist){gw_scale(factor, own.v), gw_scale(factor, own.w)};
    gw_guided_store_twist(body, &own);
    for (int k = 0; k < 6; k++)
        body->z_dot[k] *= factor;
    return before - gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &body->twist);
}

double gw_guided_residual(const gw_guided *body, const gw_pose *world_from_body)
{
    double h[GW_MAX_ROWS], worst = 0;
    const gw_submanifold *set = &body->def.set;
    gw_pose pose =
        body->ride.moves ? gw_base_from_world_pose(&body->ride, world_from_body) : *world_from_body;
    gw_rows_value(set->rows, set->row_count, &pose, h);
    for (int i = 0; i < set->row_count; i++)
        worst = fmax(worst, fabs(h[i]));
    return worst;
}
