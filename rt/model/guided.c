/*
 * The guided body in local charts: reduced coordinates z, equation of motion
 *
 *   M_z z'' = J^T (load - M bias - gyroscopic),   M_z = J^T M J
 *
 * (framework eq. 11 in the mass metric, which is where eq. 5 to 13 lead), a Runge-Kutta
 * step over (z, z') with work and dissipation as further states. Runs on the loop's thread, RT
 * safe.
 */
#include <string.h>

#include "rt/model/dynamics.h"
#include "rt/model/rungekutta.h"

#define PIECE_TURN 0.02 /* rad that a tumbling body turns in a piece of a step, */
#define PIECES_MAX 4    /* of at most so many */

/* What is computed at one point of the chart. */
typedef struct stage {
    gw_pose pose;
    gw_twist twist;
    double jacobian[6][6], bias[6];
    gw_rigid rigid;
    double inertia[6][6]; /* factored M_z */
} stage;

static gw_vec3 linear(const double *column)
{
    return gw_v3(column[0], column[1], column[2]);
}

static gw_vec3 angular(const double *column)
{
    return gw_v3(column[3], column[4], column[5]);
}

/* J z'; the first `turns` of the n columns turn the body, the others only shift it. */
GW_STEP_INLINE gw_twist twist_of(double (*jacobian)[6], const double *z_dot, int turns, int n)
{
    gw_twist t = {{0, 0, 0}, {0, 0, 0}};
#pragma GCC unroll 6
    for (int k = 0; k < n; k++)
        t.v = gw_mul_add(t.v, z_dot[k], linear(jacobian[k]));
#pragma GCC unroll 6
    for (int k = 0; k < turns; k++)
        t.w = gw_mul_add(t.w, z_dot[k], angular(jacobian[k]));
    return t;
}

/* Columns that turn the body come first; a general set's tangent basis mixes both. */
static int turning(const gw_submanifold *set)
{
    return set->general ? set->dof : set->rotation.dof;
}

/* M_z = J^T M J, by columns of momentum (of the centre of mass, and of spin about it). */
GW_STEP_INLINE bool factor_inertia(double mass, stage *s, int turns, int n)
{
    gw_vec3 v[6];
#pragma GCC unroll 6
    for (int k = 0; k < n; k++) {
        v[k] = linear(s->jacobian[k]);
        if (k < turns)
            v[k] = gw_add(v[k], gw_cross(angular(s->jacobian[k]), s->rigid.com));
#pragma GCC unroll 6
        for (int l = 0; l <= k; l++)
            s->inertia[k][l] = mass * gw_dot(v[k], v[l]);
    }
    for (int k = 0; k < turns; k++) {
        gw_vec3 spin = gw_mat3_mul(&s->rigid.inertia, angular(s->jacobian[k]));
        for (int l = 0; l <= k; l++)
            s->inertia[k][l] += gw_dot(spin, angular(s->jacobian[l]));
    }
    return gw_ldl(s->inertia, n);
}

/* J^T of a wrench whose torque is about the centre of mass. */
GW_STEP_INLINE void pull_back(const stage *s, const gw_wrench *about_com, int turns, int n,
                              double *force)
{
    gw_vec3 torque = gw_add(about_com->t, gw_cross(s->rigid.com, about_com->f));
#pragma GCC unroll 6
    for (int k = 0; k < n; k++)
        force[k] = gw_dot(linear(s->jacobian[k]), about_com->f);
#pragma GCC unroll 6
    for (int k = 0; k < turns; k++)
        force[k] += gw_dot(angular(s->jacobian[k]), torque);
}

GW_STEP_INLINE bool stage_at(const gw_guided *body, const gw_chart *chart, const double *z,
                             const double *z_dot, int turns, int n, stage *s)
{
    gw_chart_eval(chart, z, z_dot, &s->pose, s->jacobian, s->bias);
    s->twist = twist_of(s->jacobian, z_dot, turns, n);
    s->rigid = gw_rigid_at(&body->def, &s->pose);
    return factor_inertia(body->def.mass.mass, s, turns, n);
}

/* z'' under the load of this stage. */
GW_STEP_INLINE void accelerate(double mass, stage *s, const gw_load *load, int turns, int n,
                               double *z_ddot)
{
    gw_wrench rate = gw_rigid_rate(mass, &s->rigid, s->twist.w, linear(s->bias), angular(s->bias));
    gw_wrench net = {gw_sub(load->about_com.f, rate.f), gw_sub(load->about_com.t, rate.t)};
    pull_back(s, &net, turns, n, z_ddot);
    gw_ldl_solve(s->inertia, n, z_ddot);
}

/* lambda: what the momentum's rate needs beyond the load. */
static gw_wrench constraint_of(const gw_guided_def *def, stage *s, const gw_load *load,
                               const double *z_ddot)
{
    gw_twist a = twist_of(s->jacobian, z_ddot, turning(&def->set), def->set.dof);
    gw_wrench rate = gw_rigid_rate(def->mass.mass, &s->rigid, s->twist.w,
                                   gw_add(a.v, linear(s->bias)), gw_add(a.w, angular(s->bias)));
    return gw_rigid_constraint(&s->rigid, &rate, &load->about_com);
}

static double ride_power(const gw_guided *body, stage *s, const gw_load *load, const double *z_ddot)
{
    gw_wrench constraint = constraint_of(&body->def, s, load, z_ddot);
    return gw_ride_power(&body->ride, &s->rigid, &s->pose, &constraint);
}

/* A body without constraints, its coordinates those of a point of it. */
static bool floats(const gw_submanifold *set)
{
    return !set->general && set->rotation.kind == GW_ROTATION_FREE &&
           set->translation.locus.kind == GW_LOCUS_FREE && !set->translation.in_mobile;
}

/* ---- the step ------------------------------------------------------------------------------- */

static bool finite_state(const gw_pose *pose, const gw_twist *twist)
{
    return gw_finite_pose(pose) && gw_finite3(twist->v) && gw_finite3(twist->w);
}

/* Weightless bodies that turn about one axis at most, and slide along something that does not turn
 * with them, has no poles and stands, do with the fourth order. */
static const gw_tableau *tableau_for(const gw_guided *body)
{
    const gw_guided_def *def = &body->def;
    const gw_submanifold *set = &def->set;
    bool tumbles = set->rotation.dof > 1 || set->translation.in_mobile ||
                   set->translation.locus.kind == GW_LOCUS_SPHERE;
    return tumbles || gw_norm2(def->gravity) > 0 || body->ride.moves ? &gw_butcher6 : &gw_fehlberg4;
}

/* Where stage i, or the step's end (i = rk->stages), lies: from the accelerations before it. */
GW_STEP_INLINE void stage_state(const gw_tableau *rk, int i, double c, double h, int n,
                                const double *v0, double (*a)[6], double *z, double *z_dot)
{
    double sum[6] = {0}, twice[6] = {0};
    for (int j = 0; j < i; j++) {
        double first = rk->a[i][j], second = rk->aa[i][j];
#pragma GCC unroll 6
        for (int k = 0; k < n; k++) {
            sum[k] += first * a[j][k];
            twice[k] += second * a[j][k];
        }
    }
#pragma GCC unroll 6
    for (int k = 0; k < n; k++) {
        z[k] = h * (c * v0[k] + h * twice[k]);
        z_dot[k] = v0[k] + h * sum[k];
    }
}

/* All stages for n coordinates of which `turns` turn the body. */
GW_STEP_INLINE bool stages(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                           double h, int turns, int n, double *z, double *z_dot, gw_step *step)
{
    const gw_guided_def *def = &body->def;
    const gw_tableau *rk = tableau_for(body);
    double v0[6], a[GW_RK_MAX_STAGES][6];
    stage s;
    memcpy(v0, z_dot, sizeof v0);
    for (int i = 0; i < rk->stages; i++) {
        stage_state(rk, i, rk->c[i], h, n, v0, a, z, z_dot);
        if (!stage_at(body, chart, z, z_dot, turns, n, &s))
            return false;
        gw_load load = gw_guided_load(body, &s.rigid, &s.pose, &s.twist, forces, rk->c[i] * h);
        accelerate(def->mass.mass, &s, &load, turns, n, a[i]);
        if (i == 0)
            step->constraint = constraint_of(def, &s, &load, a[0]);
        if (__builtin_expect(body->ride.moves, 0))
            step->ride += rk->b[i] * h * ride_power(body, &s, &load, a[i]);
        step->work += rk->b[i] * h * load.power;
        step->dissipated += rk->b[i] * h * load.dissipation;
    }
    stage_state(rk, rk->stages, 1, h, n, v0, a, z, z_dot);
    return true;
}

/* Runge-Kutta for z'' = f(z, z', t) from z = 0; z_dot: velocity at the start, then at the end. The
 * plane's, the circle's and a free body's numbers are spelled out so that their loops unroll. */
static bool runge_kutta(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                        double h, double *z, double *z_dot, gw_step *step)
{
    int turns = turning(&body->def.set), n = body->def.set.dof;
    if (turns == 1 && n == 3)
        return stages(body, chart, forces, h, 1, 3, z, z_dot, step);
    if (turns == 1 && n == 2)
        return stages(body, chart, forces, h, 1, 2, z, z_dot, step);
    if (turns == 3 && n == 6)
        return stages(body, chart, forces, h, 3, 6, z, z_dot, step);
    return stages(body, chart, forces, h, turns, n, z, z_dot, step);
}

/*
 * Velocity in the chart at the body's pose. Where the coordinates of the last chart go on in this
 * one the numbers do too: taking them from the twist would round the same way every step, and that
 * shows in the energy after a minute.
 */
static void velocity_in(const gw_chart *chart, const gw_guided *body, double *z_dot)
{
    const gw_submanifold *set = &body->def.set;
    double fresh[6];
    memcpy(z_dot, body->z_dot, sizeof body->z_dot);
    bool turned = set->rotation.kind == GW_ROTATION_FREE;
    bool slid = set->translation.locus.kind == GW_LOCUS_SPHERE;
    if (!turned && !slid)
        return;
    gw_twist twist = gw_guided_twist(body);
    gw_chart_velocity(chart, &twist, fresh);
    for (int k = 0; k < set->dof; k++)
        if (k < set->rotation.dof ? turned : slid)
            z_dot[k] = fresh[k];
}

static void chart_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    gw_chart chart;
    double z[6], z_dot[6], jacobian[6][6], bias[6];
    gw_pose pose = gw_guided_pose(body);
    gw_chart_at(&body->def.set, &pose, &chart);
    velocity_in(&chart, body, z_dot);
    step->finite = runge_kutta(body, &chart, forces, dt, z, z_dot, step);
    if (!step->finite)
        return;
    gw_chart_eval(&chart, z, z_dot, &pose, jacobian, bias);
    gw_twist twist = twist_of(jacobian, z_dot, turning(&body->def.set), body->def.set.dof);
    step->finite = finite_state(&pose, &twist);
    if (!step->finite)
        return;
    pose.q = gw_quat_unit(pose.q);
    gw_guided_take(body, dt, &pose, &twist);
    memcpy(body->z_dot, z_dot, sizeof z_dot);
}

/* At rest on its set. */
static void stop(gw_guided *body)
{
    gw_guided_take_twist(body, &(gw_twist){{0, 0, 0}, {0, 0, 0}});
    memset(body->z_dot, 0, sizeof body->z_dot);
}

/* lambda of the step's start, out of the frame that the set stood in. */
static void turn_wrench(const gw_guided *body, gw_wrench *w, double dt)
{
    gw_quat q = gw_ride_frame(&body->ride, -dt).q;
    *w = (gw_wrench){gw_rotate(q, w->f), gw_rotate(q, w->t)};
}

static void one_piece(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    *step = (gw_step){.finite = true, .margin = 1};
    if (body->def.set.general)
        gw_guided_general_step(body, forces, dt, step);
    else
        chart_step(body, forces, dt, step);
    if (body->ride.moves)
        turn_wrench(body, &step->constraint, dt);
    step->finite = step->finite && isfinite(step->work) && isfinite(step->dissipated);
}

/* What acts, in a piece that begins later than the step. */
typedef struct later {
    const gw_forces *forces;
    double since;
} later;

static gw_wrench later_at(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const later *l = context;
    return l->forces->at(l->forces->context, l->since + t, held, twist);
}

static void later_touch(const void *context, double t, const gw_pose *pose, const gw_twist *twist,
                        gw_wrench *on)
{
    const later *l = context;
    l->forces->touch(l->forces->touching, l->since + t, pose, twist, on);
}

static void in_pieces(gw_guided *body, const gw_forces *forces, double dt, int count, gw_step *step)
{
    const gw_guided before = *body;
    later l = {.forces = forces};
    gw_forces of_piece = {forces && forces->at ? later_at : NULL, &l,
                          forces && forces->touch ? later_touch : NULL, &l};
    *step = (gw_step){.finite = true, .margin = 1};
    for (int i = 0; i < count && step->finite; i++) {
        gw_step piece;
        l.since = i * dt / count;
        one_piece(body, &of_piece, dt / count, &piece);
        gw_step_add(step, &piece, i == 0);
    }
    if (!step->finite)
        *body = before;
}

/* A body that is guided while it tumbles fast takes its step in pieces: the formula's error grows
 * with the seventh power of what it turns in one. */
static int pieces_of(const gw_guided *body, double dt)
{
    const gw_submanifold *set = &body->def.set;
    if (!set->general && (set->rotation.dof < 2 || floats(set)))
        return 1;
    double turn = gw_norm(body->twist.w) * dt;
    return turn < PIECES_MAX * PIECE_TURN ? (int)(turn / PIECE_TURN) + 1 : PIECES_MAX;
}

static void guided_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step)
{
    gw_guided *body = (gw_guided *)model;
    int pieces = pieces_of(body, dt);
    if (pieces == 1)
        one_piece(body, forces, dt, step);
    else
        in_pieces(body, forces, dt, pieces, step);
    if (step->finite)
        return;
    *step = (gw_step){.finite = false};
    stop(body);
}

/* ---- the rest of the interface -------------------------------------------------------------- */

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

static void put_column(double *column, gw_vec3 v, gw_vec3 w)
{
    memcpy(column, (double[6]){v.x, v.y, v.z, w.x, w.y, w.z}, 6 * sizeof *column);
}

/* The chart's columns and bias at its centre, as they are where the body floats. */
static void floating_columns(const gw_guided *body, stage *s)
{
    const gw_translation_set *t = &body->def.set.translation;
    gw_vec3 arm = gw_rotate(body->pose.q, t->of), w = body->twist.w, none = {0, 0, 0};
    gw_vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
            e[3] = {t->locus.e1, t->locus.e2, t->locus.e3};
    for (int k = 0; k < 3; k++) {
        put_column(s->jacobian[k], gw_cross(arm, axis[k]), axis[k]);
        put_column(s->jacobian[3 + k], e[k], none);
    }
    put_column(s->bias, gw_neg(gw_cross(w, gw_cross(w, arm))), none);
    s->pose = body->pose;
    s->twist = body->twist;
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
        floating_columns(body, s);
        s->rigid = gw_rigid_at(def, &s->pose);
        factor_inertia(def->mass.mass, s, 3, 6);
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
    s->rigid = gw_rigid_at(def, &pose);
    factor_inertia(def->mass.mass, s, turning(&def->set), def->set.dof);
}

/* Columns and drift at the held frame, out of the frame that the set stands in. */
static void turn_columns(const gw_guided *body, const stage *s, double (*columns)[6], double *drift)
{
    gw_quat q = gw_ride_frame(&body->ride, 0).q;
    gw_twist twist = gw_guided_twist(body);
    twist.v = gw_add(twist.v, gw_cross(twist.w, s->rigid.held));
    gw_twist more = gw_ride_bias(&body->ride, gw_add(s->pose.p, s->rigid.held), &twist);
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
        memcpy(columns[k], (double[6]){v.x, v.y, v.z, wk.x, wk.y, wk.z}, sizeof columns[k]);
    }
    gw_vec3 b = gw_add(linear(s.bias), gw_cross(angular(s.bias), arm));
    b = gw_add(b, gw_cross(w, gw_cross(w, arm)));
    memcpy(drift, (double[6]){b.x, b.y, b.z, s.bias[3], s.bias[4], s.bias[5]}, 6 * sizeof *drift);
    if (body->ride.moves)
        turn_columns(body, &s, columns, drift);
}

static void guided_apply_inverse(const gw_model *model, const double *force, double *acceleration)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    stage_now(body, &s);
    memcpy(acceleration, force, (size_t)body->def.set.dof * sizeof *force);
    gw_ldl_solve(s.inertia, body->def.set.dof, acceleration);
}

static void guided_energy(const gw_model *model, double *kinetic, double *potential)
{
    const gw_guided *body = (const gw_guided *)model;
    gw_rigid r = gw_rigid_at(&body->def, &body->pose);
    gw_vec3 com = gw_add(body->pose.p, r.com);
    *kinetic = gw_rigid_kinetic(body->def.mass.mass, &r, &body->twist);
    *potential = -body->def.mass.mass * gw_dot(body->def.gravity, com);
}

/* ---- what touches it ------------------------------------------------------------------------ */

/* A general set's coordinates are those of its tangent basis: orthonormal rows of [v; L w]. */
static void own_velocity(const gw_guided *body, double *v)
{
    double basis[6][6], length = body->def.length;
    gw_chart chart;
    gw_pose pose = gw_guided_pose(body);
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
    gw_twist drag = gw_ride_drag(&body->ride, &pose);
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
    gw_twist drag = gw_ride_drag(&body->ride, &pose);
    nearest_velocity(body, &drag, &s, dz);
    gw_twist along = twist_of(s.jacobian, dz, turning(&body->def.set), body->def.set.dof);
    along = (gw_twist){gw_neg(along.v), gw_neg(along.w)};
    *twist = gw_ride_twist_out(&body->ride, 0, &body->pose, &along);
    return true;
}

static void guided_kick(gw_model *model, const double *dv)
{
    gw_guided *body = (gw_guided *)model;
    double z_dot[6];
    stage s;
    stage_now(body, &s);
    own_velocity(body, z_dot);
    for (int k = 0; k < body->def.set.dof; k++)
        body->z_dot[k] = z_dot[k] += dv[k];
    gw_twist twist = twist_of(s.jacobian, z_dot, turning(&body->def.set), body->def.set.dof);
    gw_guided_take_twist(body, &twist);
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
        floating_columns(body, &s);
    else
        stage_now(body, &s);
    if (body->ride.moves) {
        gw_quat q = gw_ride_frame(&body->ride, 0).q;
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
    .step = guided_step,
    .velocity = guided_velocity,
    .kick = guided_kick,
    .free_acceleration = guided_free,
    .bodies = guided_bodies,
    .body = guided_body,
    .pull_back = guided_pull_back,
    .carried = guided_carried,
    .size = sizeof(gw_guided),
};

void gw_guided_init(gw_guided *body, const gw_guided_def *def, const gw_pose *world_from_body)
{
    gw_chart chart;
    body->model.ops = &guided_ops;
    body->def = *def;
    if (!(body->def.length > 0))
        body->def.length = 0.05;
    gw_chart_at(&body->def.set, world_from_body, &chart);
    body->pose = chart.centre;
    body->ride = (gw_ride){0};
    stop(body);
}

void gw_guided_set_twist(gw_guided *body, const gw_twist *twist)
{
    stage s;
    gw_twist own = body->ride.moves ? gw_ride_twist_in(&body->ride, &body->pose, twist) : *twist;
    if (body->def.set.general) {
        own = gw_guided_general_project(body, &own);
    } else {
        stop(body);
        nearest_velocity(body, &own, &s, body->z_dot);
        own = twist_of(s.jacobian, body->z_dot, turning(&body->def.set), body->def.set.dof);
    }
    gw_guided_take_twist(body, &own);
}

void gw_guided_ride(gw_guided *body, const gw_ride *ride)
{
    gw_twist twist = body->twist;
    body->ride = *ride;
    gw_guided_set_twist(body, &twist);
}

double gw_guided_slow(gw_guided *body, double factor)
{
    gw_rigid r = gw_rigid_at(&body->def, &body->pose);
    double before = gw_rigid_kinetic(body->def.mass.mass, &r, &body->twist);
    gw_twist own = gw_guided_twist(body);
    own = (gw_twist){gw_scale(factor, own.v), gw_scale(factor, own.w)};
    gw_guided_take_twist(body, &own);
    for (int k = 0; k < 6; k++)
        body->z_dot[k] *= factor;
    return before - gw_rigid_kinetic(body->def.mass.mass, &r, &body->twist);
}

double gw_guided_residual(const gw_guided *body, const gw_pose *world_from_body)
{
    double h[GW_MAX_ROWS], worst = 0;
    const gw_submanifold *set = &body->def.set;
    gw_pose pose = body->ride.moves ? gw_ride_in(&body->ride, world_from_body) : *world_from_body;
    gw_rows_value(set->rows, set->row_count, &pose, h);
    for (int i = 0; i < set->row_count; i++)
        worst = fmax(worst, fabs(h[i]));
    return worst;
}
