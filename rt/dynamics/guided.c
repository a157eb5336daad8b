/*
 * The guided body: its step in local charts, and the operations of model.h. On the loop's thread,
 * RT safe.
 *
 * Reduced coordinates z of a chart about the present pose, with the equation of motion
 *
 *   M_z z'' = J^T (load - M bias - gyroscopic),   M_z = J^T M J
 *
 * (framework eq. 11 in the mass metric, the result of eq. 5 to 13), integrated by a Runge-Kutta
 * formula over (z, z') with work and dissipation as further states. With a moving base, everything
 * is computed in the base frame. Bodies without constraints and general sets have their own steps
 * (guided_floating.c, guided_general.c).
 */
#include <assert.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/base/small.h"
#include "rt/dynamics/rigid_body.h"
#include "rt/dynamics/runge_kutta.h"
#include "rt/geometry/nurbs_pole.h"

#define SUBSTEP_ANGLE          0.02 /* rad of rotation in a substep of a guided body, */
#define SUBSTEP_ANGLE_FLOATING 0.2  /* and a floating one */
#define SUBSTEP_DECAY          0.25 /* share of the motion that damping removes in a substep */
#define MAX_SUBSTEPS           8
#define DAMPED_SUBSTEPS        16   /* with damping too strong for MAX_SUBSTEPS, */
#define FINER                  16   /* times as many where a step fails */
#define MOST_DECAY             8.0  /* bound of the decay rate times the step */
#define STRONG_DAMPING         20.0 /* 1/s: decay rate above which sixth order is used */

/* ---- a stage: the body at one point of a chart ---------------------------------------------- */

/* The body at one point of a chart: pose, twist, Jacobian, bias and factored inertia. */
typedef struct stage {
    gw_pose pose;
    gw_twist twist;
    double jacobian[6][6], bias[6];
    gw_rigid_body rigid;
    double inertia[6][6]; /* M_z = J^T M J, factored */
} stage;

/* The twist J z'; the first `turns` of the n columns rotate the body, the others only translate it.
 */
GW_STEP_INLINE gw_twist twist_of(double (*jacobian)[6], const double *z_dot, int turns, int n)
{
    gw_twist t = {{0, 0, 0}, {0, 0, 0}};
#pragma GCC unroll 6
    for (int k = 0; k < n; k++)
        t.v = gw_mul_add(t.v, z_dot[k], gw_linear_part(jacobian[k]));
#pragma GCC unroll 6
    for (int k = 0; k < turns; k++)
        t.w = gw_mul_add(t.w, z_dot[k], gw_angular_part(jacobian[k]));
    return t;
}

/* Number of columns that rotate the body, which come first; in the tangent basis of a general set
 * all may. */
static int rotational_columns(const gw_submanifold *set)
{
    bool all = set->general || gw_rotation_follows_locus(set->rotation.kind);
    return all ? set->dof : set->rotation.dof;
}

/* M_z += lag J^T C J (gw_rigid_body_lagging) */
static void add_damping(const gw_guided *body, stage *s, int turns, int n)
{
    double linear = body->lag * body->def.damping_linear;
    gw_vec3 v[6], w[6];
    for (int k = 0; k < n; k++) {
        w[k] = k < turns ? gw_angular_part(s->jacobian[k]) : gw_v3(0, 0, 0);
        v[k] = gw_add(gw_linear_part(s->jacobian[k]), gw_cross(w[k], s->rigid.held));
        for (int l = 0; l <= k; l++)
            s->inertia[k][l] += linear * gw_dot(v[k], v[l]) +
                                body->lag * body->def.damping_angular * gw_dot(w[k], w[l]);
    }
}

/* M_z = J^T M J, from the columns' linear momentum and angular momentum about the centre of mass.
 */
GW_STEP_INLINE bool factor_inertia(const gw_guided *body, stage *s, int turns, int n)
{
    const double mass = body->def.mass.mass;
    gw_vec3 v[6];
#pragma GCC unroll 6
    for (int k = 0; k < n; k++) {
        v[k] = gw_linear_part(s->jacobian[k]);
        if (k < turns)
            v[k] = gw_add(v[k], gw_cross(gw_angular_part(s->jacobian[k]), s->rigid.com));
#pragma GCC unroll 6
        for (int l = 0; l <= k; l++)
            s->inertia[k][l] = mass * gw_dot(v[k], v[l]);
    }
    for (int k = 0; k < turns; k++) {
        gw_vec3 spin = gw_mat3_mul(&s->rigid.inertia, gw_angular_part(s->jacobian[k]));
        for (int l = 0; l <= k; l++)
            s->inertia[k][l] += gw_dot(spin, gw_angular_part(s->jacobian[l]));
    }
    if (__builtin_expect(body->lag > 0, 0))
        add_damping(body, s, turns, n);
    return gw_ldl(s->inertia, n);
}

/* J^T of a wrench whose torque is about the centre of mass. */
GW_STEP_INLINE void pull_back(const stage *s, const gw_wrench *about_com, int turns, int n,
                              double *force)
{
    gw_vec3 torque = gw_add(about_com->t, gw_cross(s->rigid.com, about_com->f));
#pragma GCC unroll 6
    for (int k = 0; k < n; k++)
        force[k] = gw_dot(gw_linear_part(s->jacobian[k]), about_com->f);
#pragma GCC unroll 6
    for (int k = 0; k < turns; k++)
        force[k] += gw_dot(gw_angular_part(s->jacobian[k]), torque);
}

GW_STEP_INLINE bool stage_at(const gw_guided *body, const gw_chart *chart, const double *z,
                             const double *z_dot, int turns, int n, stage *s)
{
    gw_chart_eval(chart, z, z_dot, &s->pose, s->jacobian, s->bias);
    s->twist = twist_of(s->jacobian, z_dot, turns, n);
    s->rigid = gw_rigid_body_at(&body->def, &s->pose);
    return factor_inertia(body, s, turns, n);
}

/* Adds to the load the lag of strong damping at the acceleration J z'' + bias. */
static void add_lagging(const gw_guided *body, stage *s, int turns, int n, const double *z_ddot,
                        gw_load *load)
{
    gw_twist a = twist_of(s->jacobian, z_ddot, turns, n);
    gw_wrench more = gw_rigid_body_lagging(&body->def, &s->rigid, body->lag,
                                           gw_add(a.v, gw_linear_part(s->bias)),
                                           gw_add(a.w, gw_angular_part(s->bias)));
    load->about_com = (gw_wrench){gw_add(load->about_com.f, more.f), //
                                  gw_add(load->about_com.t, more.t)};
    load->dissipation += gw_rigid_body_dissipates(&s->rigid, &more, &s->twist);
}

/* z'' = M_z^-1 J^T (load - M bias - gyroscopic terms). */
GW_STEP_INLINE void accelerate(const gw_guided *body, stage *s, gw_load *load, int turns, int n,
                               double *z_ddot)
{
    gw_vec3 a = gw_linear_part(s->bias), alpha = gw_angular_part(s->bias);
    gw_wrench rate =
        gw_rigid_body_momentum_rate(body->def.mass.mass, &s->rigid, s->twist.w, a, alpha);
    gw_wrench net = gw_wrench_sub(load->about_com, rate);
    if (__builtin_expect(body->lag > 0, 0)) {
        gw_wrench more = gw_rigid_body_lagging(&body->def, &s->rigid, body->lag, a, alpha);
        net = gw_wrench_add(net, more);
    }
    pull_back(s, &net, turns, n, z_ddot);
    gw_ldl_solve(s->inertia, n, z_ddot);
    if (__builtin_expect(body->held != 0, 0))
        gw_guided_hold(s->inertia, n, body->held, z_ddot, (double[6]){0});
    if (__builtin_expect(body->lag > 0, 0))
        add_lagging(body, s, turns, n, z_ddot, load);
}

/*
 * The velocity z' in the chart at the body's pose. Coordinates with the same meaning in the last
 * chart keep their values: computed from the twist their rounding errors would accumulate in each
 * step, which is visible in the energy after a minute.
 */
static void chart_velocity(const gw_chart *chart, const gw_guided *body, double *z_dot)
{
    const gw_submanifold *set = &body->def.set;
    double fresh[6];
    memcpy(z_dot, body->z_dot, sizeof body->z_dot);
    gw_rotation_kind kind = set->rotation.kind;
    bool turned = kind == GW_ROTATION_FREE || kind == GW_ROTATION_TWO_ANGLES ||
                  gw_rotation_follows_locus(kind);
    const gw_locus *locus = &set->translation.locus;
    bool curved = locus->kind == GW_LOCUS_SURFACE || locus->kind == GW_LOCUS_CURVE;
    bool slid = locus->kind == GW_LOCUS_SPHERE || (curved && gw_nurbs_has_poles(locus->nurbs));
    if (!turned && !slid)
        return;
    gw_twist twist = gw_guided_twist(body);
    gw_chart_velocity(chart, &twist, fresh);
    for (int k = 0; k < set->dof; k++)
        if (k < set->rotation.dof ? turned : slid)
            z_dot[k] = fresh[k];
}

/* Puts the body at rest on its set. */
static void put_at_rest(gw_guided *body)
{
    gw_guided_store_twist(body, &(gw_twist){{0, 0, 0}, {0, 0, 0}});
    memset(body->z_dot, 0, sizeof body->z_dot);
}

/* lambda = rate of momentum - load, at the held frame. */
static gw_wrench constraint_of(const gw_guided_def *def, stage *s, const gw_load *load,
                               const double *z_ddot)
{
    gw_twist a = twist_of(s->jacobian, z_ddot, rotational_columns(&def->set), def->set.dof);
    gw_wrench rate = gw_rigid_body_momentum_rate(def->mass.mass, &s->rigid, s->twist.w,
                                                 gw_add(a.v, gw_linear_part(s->bias)),
                                                 gw_add(a.w, gw_angular_part(s->bias)));
    return gw_rigid_body_constraint_wrench(&s->rigid, &rate, &load->about_com);
}

static double base_power(const gw_guided *body, stage *s, const gw_load *load, const double *z_ddot)
{
    gw_wrench constraint = constraint_of(&body->def, s, load, z_ddot);
    return gw_base_motion_power(&body->base, &s->rigid, &s->pose, &constraint);
}

/* ---- the step ------------------------------------------------------------------------------- */

static bool finite_state(const gw_pose *pose, const gw_twist *twist)
{
    return gw_finite_pose(pose) && gw_finite3(twist->v) && gw_finite3(twist->w);
}

/* Fourth order is enough for weightless, hardly damped bodies that rotate about one axis at most,
 * on a locus of the world without poles, with a fixed base; others take sixth order. */
static const gw_tableau *tableau_for(const gw_guided *body)
{
    const gw_guided_def *def = &body->def;
    const gw_submanifold *set = &def->set;
    bool tumbles = set->rotation.dof > 1 || set->rotation.kind == GW_ROTATION_TWO_ANGLES ||
                   gw_rotation_follows_locus(set->rotation.kind) ||
                   set->translation.shift_count > 0 || set->translation.in_mobile ||
                   set->translation.locus.kind == GW_LOCUS_SPHERE;
    bool damped = body->decay > STRONG_DAMPING;
    return tumbles || damped || gw_norm2(def->gravity) > 0 || body->base.moves ? &gw_butcher6
                                                                               : &gw_fehlberg4;
}

/* z and z' at stage i, or at the step's end (i = rk->stages), from the accelerations before it. */
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

GW_STEP_INLINE bool finite_coordinates(const double *z, const double *z_dot, int n)
{
    double sum = 0;
#pragma GCC unroll 6
    for (int k = 0; k < n; k++)
        sum += 0 * z[k] + 0 * z_dot[k];
    return sum == 0;
}

/* All stages for n coordinates, of which the first `turns` rotate the body. */
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
        if (!finite_coordinates(z, z_dot, n) || !stage_at(body, chart, z, z_dot, turns, n, &s))
            return false;
        gw_load load = gw_guided_load(body, &s.rigid, &s.pose, &s.twist, forces, rk->c[i] * h);
        accelerate(body, &s, &load, turns, n, a[i]);
        if (i == 0)
            step->constraint = constraint_of(def, &s, &load, a[0]);
        if (__builtin_expect(body->base.moves, 0))
            step->base_work += rk->b[i] * h * base_power(body, &s, &load, a[i]);
        step->work += rk->b[i] * h * load.power;
        step->dissipated += rk->b[i] * h * load.dissipation;
    }
    stage_state(rk, rk->stages, 1, h, n, v0, a, z, z_dot);
    return finite_coordinates(z, z_dot, n);
}

/* Runge-Kutta for z'' = f(z, z', t) from z = 0; z_dot: velocity at the start, then at the end. The
 * counts of the plane, the circle and a point on a surface are constants so that their loops
 * unroll. */
GW_TARGET_CLONES
bool gw_guided_integrate(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                         double h, double *z, double *z_dot, gw_step *step)
{
    int turns = rotational_columns(&body->def.set), n = body->def.set.dof;
    if (turns == 1 && n == 3)
        return stages(body, chart, forces, h, 1, 3, z, z_dot, step);
    if (turns == 1 && n == 2)
        return stages(body, chart, forces, h, 1, 2, z, z_dot, step);
    if (turns == 3 && n == 5)
        return stages(body, chart, forces, h, 3, 5, z, z_dot, step);
    return stages(body, chart, forces, h, turns, n, z, z_dot, step);
}

double gw_guided_inertia_at(const gw_guided *body, const gw_chart *chart, const double *z,
                            const double *z_dot, double (*inertia)[6])
{
    const gw_submanifold *set = &body->def.set;
    stage s;
    stage_at(body, chart, z, z_dot, rotational_columns(set), set->dof, &s);
    memcpy(inertia, s.inertia, sizeof s.inertia);
    return gw_rigid_body_kinetic_energy(body->def.mass.mass, &s.rigid, &s.twist);
}

void gw_guided_acceleration_at(const gw_guided *body, const gw_chart *chart,
                               const gw_forces *forces, double t, const double *z,
                               const double *z_dot, double (*inertia)[6], double *z_ddot)
{
    const gw_submanifold *set = &body->def.set;
    gw_guided loose = *body;
    stage s;
    loose.held = 0;
    stage_at(body, chart, z, z_dot, rotational_columns(set), set->dof, &s);
    gw_load load = gw_guided_load(body, &s.rigid, &s.pose, &s.twist, forces, t);
    accelerate(&loose, &s, &load, rotational_columns(set), set->dof, z_ddot);
    memcpy(inertia, s.inertia, sizeof s.inertia);
}

/* True if the locus is a free-form shape and all work is known: that of contacts and of a moving
 * base is not. */
static bool is_audited(const gw_guided *body, const gw_forces *forces)
{
    gw_locus_kind kind = body->def.set.translation.locus.kind;
    return (kind == GW_LOCUS_CURVE || kind == GW_LOCUS_SURFACE) && !body->base.moves &&
           !(forces && forces->contact_wrenches);
}

double gw_guided_chart_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    gw_chart chart;
    double z[6], z_dot[6], jacobian[6][6], bias[6];
    gw_pose pose = gw_guided_pose(body);
    gw_pose from = pose;
    gw_chart_at(&body->def.set, &pose, &chart);
    chart_velocity(&chart, body, z_dot);
    if (gw_guided_has_kinks(&body->def.set))
        dt = gw_guided_step_to_kink(body, &chart, forces, dt, z, z_dot, step);
    else
        step->finite = gw_guided_integrate(body, &chart, forces, dt, z, z_dot, step);
    body->held = 0;
    if (!step->finite)
        return dt;
    if (gw_guided_meets_fold(body, &chart, z, forces, dt))
        return gw_guided_stop_at_fold(body, &from, dt, step);
    gw_chart_eval(&chart, z, z_dot, &pose, jacobian, bias);
    gw_twist twist =
        twist_of(jacobian, z_dot, rotational_columns(&body->def.set), body->def.set.dof);
    step->finite = finite_state(&pose, &twist);
    if (step->finite && is_audited(body, forces)) {
        gw_step_energies e = gw_guided_energies(body, &from, &pose, &twist, step);
        double scale = gw_guided_energy_scale(&e, step);
        e.after *= scale * scale;
        for (int i = 0; i < body->def.set.dof; i++)
            z_dot[i] *= scale;
        twist = (gw_twist){gw_scale(scale, twist.v), gw_scale(scale, twist.w)};
        step->finite = gw_guided_balances(step, &e);
        if (!step->finite && gw_guided_may_fold(&body->def.set))
            return gw_guided_stop_at_fold(body, &from, dt, step);
    }
    if (!step->finite)
        return dt;
    pose.q = gw_quat_unit(pose.q);
    gw_guided_store_state(body, dt, &pose, &twist);
    memcpy(body->z_dot, z_dot, sizeof z_dot);
    gw_chart_update_start(&chart, z, &body->def.set);
    return dt;
}

/* Rotates lambda of the step's start from the base frame into world axes. */
static void rotate_wrench(const gw_guided *body, gw_wrench *w, double dt)
{
    gw_quat q = gw_base_motion_frame(&body->base, -dt).q;
    *w = (gw_wrench){gw_rotate(q, w->f), gw_rotate(q, w->t)};
}

static void take_substep(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    *step = (gw_step){.finite = true, .margin = 1};
    if (body->def.set.general)
        gw_guided_general_step(body, forces, dt, step);
    else if (gw_is_floating(&body->def.set))
        gw_floating_step(body, forces, dt, step);
    else if (gw_guided_has_kinks(&body->def.set))
        gw_guided_step_over_kinks(body, forces, dt, step);
    else
        gw_guided_chart_step(body, forces, dt, step);
    if (body->base.moves)
        rotate_wrench(body, &step->constraint, dt);
    step->finite = step->finite && isfinite(step->work) && isfinite(step->dissipated);
}

static void step_in_substeps(gw_guided *body, const gw_forces *forces, double dt, int count,
                             gw_step *step)
{
    const gw_guided before = *body;
    gw_delayed_forces l = {.forces = forces};
    gw_forces of_part = gw_delay_forces(&l);
    *step = (gw_step){.finite = true, .margin = 1};
    for (int i = 0; i < count && step->finite; i++) {
        gw_step part;
        l.since = i * dt / count;
        take_substep(body, &of_part, dt / count, &part);
        gw_step_add(step, &part, i == 0);
    }
    if (!step->finite)
        *body = before;
}

/* Number of substeps: the formula's error is proportional to the seventh power of the rotation
 * angle in one, and explicit stages are stable up to SUBSTEP_DECAY only. */
static int substep_count(const gw_guided *body, double dt)
{
    const gw_submanifold *set = &body->def.set;
    bool tumbles = set->general || set->rotation.dof > 1 ||
                   set->rotation.kind == GW_ROTATION_TWO_ANGLES ||
                   gw_rotation_follows_locus(set->rotation.kind);
    double count = body->decay * dt / SUBSTEP_DECAY;
    if (count >= MAX_SUBSTEPS)
        return DAMPED_SUBSTEPS;
    if (tumbles || body->base.moves) {
        double turn = gw_norm(body->twist.w) * dt;
        count = fmax(count, turn / (gw_is_floating(set) ? SUBSTEP_ANGLE_FLOATING : SUBSTEP_ANGLE));
    }
    return count < MAX_SUBSTEPS ? (int)count + 1 : MAX_SUBSTEPS;
}

/* A step that fails is taken again in finer substeps: where knots of a shape are close to each
 * other, its derivatives change much within one. */
static void take_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    unsigned char state[offsetof(gw_guided, def)];
    int count = substep_count(body, dt);
    memcpy(state, body, sizeof state);
    if (count == 1)
        take_substep(body, forces, dt, step);
    else
        step_in_substeps(body, forces, dt, count, step);
    if (step->finite)
        return;
    memcpy(body, state, sizeof state);
    step_in_substeps(body, forces, dt, FINER * count, step);
}

/* A step with damping that removes nearly all of the motion: the stages' sum of the dissipation is
 * inaccurate, so where all work is known it is computed from the energy balance. */
static void take_damped_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    const gw_guided from = *body;
    body->lag = fmax(0, dt / MOST_DECAY - 1 / body->decay);
    take_step(body, forces, dt, step);
    body->lag = 0;
    if (!step->finite || body->base.moves || (forces && forces->contact_wrenches))
        return;
    gw_step_energies e = gw_guided_energies(&from, &from.pose, &body->pose, &body->twist, step);
    step->dissipated = e.before + e.work - e.after;
}

static void guided_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step)
{
    gw_guided *body = (gw_guided *)model;
    assert(isfinite(dt));
    if (body->decay * dt >= MAX_SUBSTEPS * SUBSTEP_DECAY)
        take_damped_step(body, forces, dt, step);
    else
        take_step(body, forces, dt, step);
    if (step->finite)
        return;
    double kinetic, potential;
    gw_model_energy(model, &kinetic, &potential);
    *step = (gw_step){.dissipated = isfinite(kinetic) ? kinetic : 0, .finite = false};
    put_at_rest(body);
}

/* ---- operations between steps --------------------------------------------------------------- */

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

static void floating_stage(const gw_guided *body, stage *s)
{
    gw_vec3 w = body->twist.w, arm = gw_rotate(body->pose.q, body->def.set.translation.of);
    gw_vec3 bias = gw_neg(gw_cross(w, gw_cross(w, arm)));
    gw_floating_jacobian(body, s->jacobian);
    gw_spatial_set(s->bias, bias, gw_v3(0, 0, 0));
    s->pose = body->pose;
    s->twist = body->twist;
    s->rigid = gw_rigid_body_at(&body->def, &s->pose);
    factor_inertia(body, s, 3, 6);
}

/* The stage at the body's present state, in the base frame: in the chart about its pose, or for a
 * general set in its tangent basis. */
static void present_stage(const gw_guided *body, stage *s)
{
    gw_chart chart;
    double z[6] = {0}, z_dot[6] = {0};
    gw_pose pose = gw_guided_pose(body);
    const gw_guided_def *def = &body->def;
    if (gw_is_floating(&def->set)) {
        floating_stage(body, s);
        return;
    }
    if (!def->set.general) {
        gw_chart_at(&def->set, &pose, &chart);
        chart_velocity(&chart, body, z_dot);
        stage_at(body, &chart, z, z_dot, rotational_columns(&def->set), def->set.dof, s);
        return;
    }
    memset(s->bias, 0, sizeof s->bias);
    s->pose = pose;
    s->twist = gw_guided_twist(body);
    gw_submanifold_tangent(&def->set, &pose, def->length, s->jacobian);
    s->rigid = gw_rigid_body_at(def, &pose);
    factor_inertia(body, s, rotational_columns(&def->set), def->set.dof);
}

/* Jacobian and bias at the held frame, from the base frame into world axes. */
static void rotate_columns(const gw_guided *body, const stage *s, double (*columns)[6],
                           double *drift)
{
    gw_quat q = gw_base_motion_frame(&body->base, 0).q;
    gw_twist twist = gw_guided_twist(body);
    twist.v = gw_add(twist.v, gw_cross(twist.w, s->rigid.held));
    gw_twist more = gw_base_motion_bias(&body->base, gw_add(s->pose.p, s->rigid.held), &twist);
    for (int k = 0; k < body->def.set.dof; k++)
        gw_spatial_set(columns[k], gw_rotate(q, gw_linear_part(columns[k])),
                       gw_rotate(q, gw_angular_part(columns[k])));
    gw_spatial_set(drift, gw_rotate(q, gw_add(gw_linear_part(drift), more.v)),
                   gw_rotate(q, gw_add(gw_angular_part(drift), more.w)));
}

static void guided_jacobian(const gw_model *model, double (*columns)[6], double *drift)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    present_stage(body, &s);
    gw_vec3 arm = s.rigid.held, w = gw_guided_twist(body).w;
    for (int k = 0; k < body->def.set.dof; k++) {
        gw_vec3 wk = gw_angular_part(s.jacobian[k]);
        gw_vec3 v = gw_add(gw_linear_part(s.jacobian[k]), gw_cross(wk, arm));
        gw_spatial_set(columns[k], v, wk);
    }
    gw_vec3 b = gw_add(gw_linear_part(s.bias), gw_cross(gw_angular_part(s.bias), arm));
    b = gw_add(b, gw_cross(w, gw_cross(w, arm)));
    gw_spatial_set(drift, b, gw_angular_part(s.bias));
    if (body->base.moves)
        rotate_columns(body, &s, columns, drift);
}

static void guided_apply_inverse(const gw_model *model, const double *force, double *acceleration)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    if (gw_is_floating(&body->def.set)) {
        gw_floating_apply_inverse(body, force, acceleration);
        return;
    }
    present_stage(body, &s);
    memcpy(acceleration, force, (size_t)body->def.set.dof * sizeof *force);
    gw_ldl_solve(s.inertia, body->def.set.dof, acceleration);
}

GW_TARGET_CLONES
static void guided_energy(const gw_model *model, double *kinetic, double *potential)
{
    const gw_guided *body = (const gw_guided *)model;
    gw_mat3 turn = gw_quat_to_mat3(body->pose.q);
    gw_rigid_body r = {.com = gw_mat3_mul(&turn, body->def.mass.com),
                       .inertia = gw_inertia_turned(&turn, &body->def.mass.inertia)};
    gw_vec3 com = gw_add(body->pose.p, r.com);
    *kinetic = gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &body->twist);
    *potential = -body->def.mass.mass * gw_dot(body->def.gravity, com);
}

/* ---- velocity, impulses, contacts ----------------------------------------------------------- */

/* Velocity relative to the base. A general set's coordinates are those of its tangent basis:
 * orthonormal rows of [v; L w]. */
static void relative_velocity(const gw_guided *body, double *v)
{
    double basis[6][6], length = body->def.length;
    gw_chart chart;
    gw_pose pose = gw_guided_pose(body);
    if (gw_is_floating(&body->def.set)) {
        gw_floating_velocity(body, v);
        return;
    }
    if (!body->def.set.general) {
        gw_chart_at(&body->def.set, &pose, &chart);
        chart_velocity(&chart, body, v);
        return;
    }
    gw_twist t = gw_guided_twist(body);
    gw_submanifold_tangent(&body->def.set, &pose, length, basis);
    for (int k = 0; k < body->def.set.dof; k++)
        v[k] = gw_dot(gw_linear_part(basis[k]), t.v) +
               length * length * gw_dot(gw_angular_part(basis[k]), t.w);
}

/* The z' of min |M^1/2 (J z' - twist)|:  M_z z' = J^T M twist, in the base frame. */
static void nearest_velocity(const gw_guided *body, const gw_twist *twist, stage *s, double *z_dot)
{
    present_stage(body, s);
    gw_vec3 v = gw_add(twist->v, gw_cross(twist->w, s->rigid.com));
    gw_wrench momentum = {gw_scale(body->def.mass.mass, v),
                          gw_mat3_mul(&s->rigid.inertia, twist->w)};
    pull_back(s, &momentum, rotational_columns(&body->def.set), body->def.set.dof, z_dot);
    gw_ldl_solve(s->inertia, body->def.set.dof, z_dot);
}

/*
 * Generalised velocity. On a base that moves with the twist d, -J dz is the motion relative to the
 * base with the least kinetic energy, dz being the velocity nearest to d. Measured against it,
 * kinetic energy is v^T M_z v / 2 plus a constant, so that an impulse does work on v alone.
 */
static void guided_velocity(const gw_model *model, double *v)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    double dz[6];
    relative_velocity(body, v);
    if (!body->base.moves)
        return;
    gw_pose pose = gw_guided_pose(body);
    gw_twist base = gw_base_motion_twist_at(&body->base, &pose);
    nearest_velocity(body, &base, &s, dz);
    for (int k = 0; k < body->def.set.dof; k++)
        v[k] += dz[k];
}

static bool guided_base_velocity(const gw_model *model, int index, gw_twist *twist)
{
    const gw_guided *body = (const gw_guided *)model;
    stage s;
    double dz[6];
    (void)index;
    if (!body->base.moves)
        return false;
    gw_pose pose = gw_guided_pose(body);
    gw_twist base = gw_base_motion_twist_at(&body->base, &pose);
    nearest_velocity(body, &base, &s, dz);
    gw_twist along =
        twist_of(s.jacobian, dz, rotational_columns(&body->def.set), body->def.set.dof);
    along = (gw_twist){gw_neg(along.v), gw_neg(along.w)};
    *twist = gw_base_to_world_twist(&body->base, 0, &body->pose, &along);
    return true;
}

static void guided_kick(gw_model *model, const double *dv)
{
    gw_guided *body = (gw_guided *)model;
    double z_dot[6];
    stage s;
    if (gw_is_floating(&body->def.set)) {
        gw_floating_kick(body, dv);
        return;
    }
    present_stage(body, &s);
    relative_velocity(body, z_dot);
    for (int k = 0; k < body->def.set.dof; k++)
        body->z_dot[k] = z_dot[k] += dv[k];
    gw_twist twist =
        twist_of(s.jacobian, z_dot, rotational_columns(&body->def.set), body->def.set.dof);
    gw_guided_store_twist(body, &twist);
}

/* The acceleration without a wrench at the held frame. */
static void guided_free(const gw_model *model, double speed, double *a)
{
    gw_guided body = gw_guided_at_speed((const gw_guided *)model, speed);
    stage s;
    present_stage(&body, &s);
    s.twist = gw_guided_twist(&body);
    gw_load load = gw_guided_load(&body, &s.rigid, &s.pose, &s.twist, NULL, 0);
    accelerate(&body, &s, &load, rotational_columns(&body.def.set), body.def.set.dof, a);
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
    if (gw_is_floating(&body->def.set)) { /* a body without constraints has no base */
        gw_floating_pull_back(body, wrench, force);
        return;
    }
    present_stage(body, &s);
    if (body->base.moves) {
        gw_quat q = gw_base_motion_frame(&body->base, 0).q;
        w = (gw_wrench){gw_unrotate(q, w.f), gw_unrotate(q, w.t)};
    }
    for (int k = 0; k < body->def.set.dof; k++)
        force[k] += gw_dot(gw_linear_part(s.jacobian[k]), w.f) +
                    gw_dot(gw_angular_part(s.jacobian[k]), w.t);
}

static size_t guided_state_size(const gw_model *model)
{
    const gw_guided *body = (const gw_guided *)model;
    return gw_is_floating(&body->def.set) ? offsetof(gw_guided, def) : sizeof *body;
}

static const gw_mass *guided_floating(const gw_model *model, int index)
{
    const gw_guided *body = (const gw_guided *)model;
    (void)index;
    return gw_is_floating(&body->def.set) ? &body->def.mass : NULL;
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
    .carried = guided_base_velocity,
    .floating = guided_floating,
    .size = sizeof(gw_guided),
    .state_size = guided_state_size,
};

bool gw_model_is_guided(const gw_model *model)
{
    return model->ops == &guided_ops;
}

/* An upper bound of the rate at which damping at the held frame decays a motion, r being the
 * distance from there to the centre of mass,
 *
 *   d_linear (1/m + r^2 |I^-1|) + d_angular |I^-1|
 */
static void find_decay(gw_guided *body)
{
    const gw_guided_def *def = &body->def;
    const gw_mat3 *inverse = &body->inverse;
    double r2 = gw_norm2(gw_sub(def->body_from_held.p, def->mass.com));
    double trace = inverse->m[0][0] + inverse->m[1][1] + inverse->m[2][2];
    double inverse_trace = isfinite(trace) ? trace : 0;
    body->decay = def->damping_linear * (1 / def->mass.mass + r2 * inverse_trace) +
                  def->damping_angular * inverse_trace;
}

void gw_guided_init(gw_guided *body, const gw_guided_def *def, const gw_pose *world_from_body)
{
    gw_chart chart;
    assert(gw_finite_pose(world_from_body) && def->mass.mass > 0);
    body->model.ops = &guided_ops;
    body->def = *def;
    body->inverse = gw_inertia_inverse(&def->mass.inertia);
    find_decay(body);
    if (!(body->def.length > 0))
        body->def.length = 0.05;
    gw_chart_at(&body->def.set, world_from_body, &chart);
    body->pose = chart.centre;
    body->base = (gw_base_motion){0};
    body->crease = -1;
    body->held = 0;
    put_at_rest(body);
}

void gw_guided_set_twist(gw_guided *body, const gw_twist *twist)
{
    stage s;
    if (gw_is_floating(&body->def.set)) {
        gw_floating_set_twist(body, twist);
        return;
    }
    gw_twist own =
        body->base.moves ? gw_base_from_world_twist(&body->base, &body->pose, twist) : *twist;
    if (body->def.set.general) {
        own = gw_guided_general_project(body, &own);
    } else {
        put_at_rest(body);
        nearest_velocity(body, &own, &s, body->z_dot);
        own = twist_of(s.jacobian, body->z_dot, rotational_columns(&body->def.set),
                       body->def.set.dof);
    }
    gw_guided_store_twist(body, &own);
}

/* A body without constraints has no base. */
void gw_guided_set_base_motion(gw_guided *body, const gw_base_motion *base)
{
    gw_twist twist = body->twist;
    if (gw_is_floating(&body->def.set))
        return;
    body->base = *base;
    gw_guided_set_twist(body, &twist);
}

gw_twist gw_guided_base_velocity(const gw_guided *body, gw_vec3 point)
{
    const gw_twist *t = &body->base.twist;
    if (!body->base.moves)
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
    if (body->base.moves) {
        gw_pose then = gw_base_motion_frame(&body->base, -dt), back = gw_pose_inverse(&then);
        back = gw_pose_mul(&back, pose);
        body->pose = gw_base_to_world_pose(&body->base, 0, &back);
    }
    gw_guided_stop(body);
}

void gw_guided_move_with_base(gw_guided *body, double dt)
{
    gw_pose pose = body->pose;
    body->base.time += dt;
    gw_guided_revert_step(body, &pose, dt);
}

double gw_guided_scale_velocity(gw_guided *body, double factor)
{
    assert(isfinite(factor));
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
        body->base.moves ? gw_base_from_world_pose(&body->base, world_from_body) : *world_from_body;
    gw_rows_value(set->rows, set->row_count, &pose, h);
    for (int i = 0; i < set->row_count; i++)
        worst = gw_worst(worst, fabs(h[i]));
    return worst;
}
