/*
 * Newton-Euler equations of one rigid body about its frame's origin, the base motion of its set,
 * and small factorisations; private to the guided body. Pure functions, RT safe.
 */
#ifndef GW_DYNAMICS_RIGID_BODY_H
#define GW_DYNAMICS_RIGID_BODY_H

#include <string.h>

#include "rt/base/spatial.h"
#include "rt/dynamics/guided.h"

/* For functions that every stage of a step calls. */
#define GW_STEP_INLINE static inline __attribute__((always_inline))

/* A body's quantities at one pose, world axes. */
typedef struct gw_rigid_body {
    gw_vec3 com;     /* from the body's origin to its centre of mass */
    gw_vec3 held;    /* from the body's origin to the held frame's */
    gw_quat held_q;  /* world_from_held */
    gw_mat3 inertia; /* about the centre of mass */
} gw_rigid_body;

/* R I R^T, the lower triangle mirrored. */
GW_STEP_INLINE gw_mat3 gw_inertia_turned(const gw_mat3 *r, const gw_mat3 *inertia)
{
    double t[3][3];
    gw_mat3 out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t[i][j] = r->m[i][0] * inertia->m[0][j] + r->m[i][1] * inertia->m[1][j] +
                      r->m[i][2] * inertia->m[2][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++)
            out.m[i][j] = out.m[j][i] =
                t[i][0] * r->m[j][0] + t[i][1] * r->m[j][1] + t[i][2] * r->m[j][2];
    return out;
}

GW_STEP_INLINE gw_rigid_body gw_rigid_body_at(const gw_guided_def *def,
                                              const gw_pose *world_from_body)
{
    gw_mat3 r = gw_quat_to_mat3(world_from_body->q);
    return (gw_rigid_body){gw_mat3_mul(&r, def->mass.com), gw_mat3_mul(&r, def->body_from_held.p),
                           gw_quat_mul(world_from_body->q, def->body_from_held.q),
                           gw_inertia_turned(&r, &def->mass.inertia)};
}

/* Pose and twist of the held frame. */
GW_STEP_INLINE void gw_rigid_body_held_frame(const gw_rigid_body *r, const gw_pose *pose,
                                             const gw_twist *twist, gw_pose *held,
                                             gw_twist *held_twist)
{
    *held = (gw_pose){gw_add(pose->p, r->held), r->held_q};
    *held_twist = (gw_twist){gw_add(twist->v, gw_cross(twist->w, r->held)), twist->w};
}

/* Load on the body: force, and torque about the centre of mass (world axes); power of the hand's
 * wrench and power dissipated by damping (W). */
typedef struct gw_load {
    gw_wrench about_com;
    double power, dissipation;
} gw_load;

/* The contacts' wrench: force, and torque about the centre of mass. */
gw_wrench gw_rigid_body_contact_wrench(const gw_rigid_body *r, const gw_pose *pose,
                                       const gw_twist *twist, const gw_forces *forces, double t);

GW_STEP_INLINE gw_load gw_rigid_body_load(const gw_guided_def *def, const gw_rigid_body *r,
                                          const gw_pose *pose, const gw_twist *twist,
                                          const gw_forces *forces, double t)
{
    gw_pose held;
    gw_twist v;
    gw_rigid_body_held_frame(r, pose, twist, &held, &v);
    gw_wrench a = forces && forces->at ? forces->at(forces->context, t, &held, &v) : (gw_wrench){0};
    double power = gw_dot(a.f, v.v) + gw_dot(a.t, v.w);
    double dissipation = def->damping_linear * gw_norm2(v.v) + def->damping_angular * gw_norm2(v.w);
    gw_vec3 f = gw_mul_add(a.f, -def->damping_linear, v.v);
    gw_vec3 torque = gw_mul_add(a.t, -def->damping_angular, v.w);
    torque = gw_add(torque, gw_cross(gw_sub(r->held, r->com), f));
    if (__builtin_expect(forces && forces->contact_wrenches, 0)) {
        gw_wrench on = gw_rigid_body_contact_wrench(r, pose, twist, forces, t);
        f = gw_add(f, on.f);
        torque = gw_add(torque, on.t);
    }
    return (gw_load){{gw_mul_add(f, def->mass.mass, def->gravity), torque}, power, dissipation};
}

/*
 * A damper C too stiff for explicit stages acts on the velocity a time `lag` ahead, -C (v + lag a):
 * terminal velocities do not change, and the decay rate by (M + lag C) a = ... is at most 1/lag.
 * Returns the wrench -lag C [a; alpha] for the acceleration [a; alpha] of the origin, as force and
 * torque about the centre of mass; gw_rigid_body_dissipates() gives the power that it dissipates at
 * the twist v.
 */
static inline gw_wrench gw_rigid_body_lagging(const gw_guided_def *def, const gw_rigid_body *r,
                                              double lag, gw_vec3 a, gw_vec3 alpha)
{
    gw_vec3 f = gw_scale(-lag * def->damping_linear, gw_add(a, gw_cross(alpha, r->held)));
    gw_vec3 t = gw_cross(gw_sub(r->held, r->com), f);
    return (gw_wrench){f, gw_mul_add(t, -lag * def->damping_angular, alpha)};
}

static inline double gw_rigid_body_dissipates(const gw_rigid_body *r, const gw_wrench *about_com,
                                              const gw_twist *v)
{
    gw_vec3 at_com = gw_add(v->v, gw_cross(v->w, r->com));
    return -gw_dot(about_com->f, at_com) - gw_dot(about_com->t, v->w);
}

/* Rate of momentum for the acceleration [a; alpha] of the origin, as force and torque about the
 * centre of mass: m (a + alpha x c + w x (w x c)) and I alpha + w x I w. */
GW_STEP_INLINE gw_wrench gw_rigid_body_momentum_rate(double mass, const gw_rigid_body *r, gw_vec3 w,
                                                     gw_vec3 a, gw_vec3 alpha)
{
    gw_vec3 at_com = gw_add(gw_add(a, gw_cross(alpha, r->com)), gw_cross(w, gw_cross(w, r->com)));
    gw_vec3 spin =
        gw_add(gw_mat3_mul(&r->inertia, alpha), gw_cross(w, gw_mat3_mul(&r->inertia, w)));
    return (gw_wrench){gw_scale(mass, at_com), spin};
}

/* The constraint wrench at the held frame, from the rate of momentum minus the load (both about the
 * centre of mass). */
gw_wrench gw_rigid_body_constraint_wrench(const gw_rigid_body *r, const gw_wrench *rate,
                                          const gw_wrench *load);

/* ---- base motion (base_motion.c): where base.moves ------------------------------------------ */

/* world_from_base, `t` seconds from now. */
gw_pose gw_base_motion_frame(const gw_base_motion *base, double t);

/* A body's pose and the twist of its origin: from the world to the base frame at its present pose,
 * and from the base frame at its pose in t seconds to the world. */
gw_pose gw_base_from_world_pose(const gw_base_motion *base, const gw_pose *world_from_body);
gw_pose gw_base_to_world_pose(const gw_base_motion *base, double t, const gw_pose *base_from_body);
gw_twist gw_base_from_world_twist(const gw_base_motion *base, const gw_pose *world_from_body,
                                  const gw_twist *twist);
gw_twist gw_base_to_world_twist(const gw_base_motion *base, double t,
                                const gw_pose *world_from_body, const gw_twist *twist);

/* The twist in the world, in base axes, of a body that is at rest in the base frame. */
gw_twist gw_base_motion_twist_at(const gw_base_motion *base, const gw_pose *base_from_body);

/* The acceleration (Coriolis and centrifugal) that the base motion adds to that of a point moving
 * in the base frame, in base axes. */
gw_twist gw_base_motion_bias(const gw_base_motion *base, gw_vec3 point, const gw_twist *twist);

/* The load in the base frame, with inertial forces; power and dissipation are those in the world.
 */
gw_load gw_base_motion_load(const gw_guided *body, const gw_rigid_body *r,
                            const gw_pose *base_from_body, const gw_twist *twist,
                            const gw_forces *forces, double t);

/* Power (W) of the base by the constraint wrench at the held frame, in base axes. */
double gw_base_motion_power(const gw_base_motion *base, const gw_rigid_body *r,
                            const gw_pose *base_from_body, const gw_wrench *constraint);

/* The body's pose and twist relative to its set: in the world, or in a moving base's frame. */
GW_STEP_INLINE gw_pose gw_guided_pose(const gw_guided *body)
{
    return body->base.moves ? gw_base_from_world_pose(&body->base, &body->pose) : body->pose;
}

GW_STEP_INLINE gw_twist gw_guided_twist(const gw_guided *body)
{
    return body->base.moves ? gw_base_from_world_twist(&body->base, &body->pose, &body->twist)
                            : body->twist;
}

/* Stores a twist that is given relative to the set. */
GW_STEP_INLINE void gw_guided_store_twist(gw_guided *body, const gw_twist *twist)
{
    body->twist =
        body->base.moves ? gw_base_to_world_twist(&body->base, 0, &body->pose, twist) : *twist;
}

/* A copy of the body with its velocity relative to the base multiplied by `speed`. */
GW_STEP_INLINE gw_guided gw_guided_at_speed(const gw_guided *body, double speed)
{
    gw_guided other = *body;
    if (speed == 1)
        return other;
    gw_twist twist = gw_guided_twist(body);
    twist = (gw_twist){gw_scale(speed, twist.v), gw_scale(speed, twist.w)};
    gw_guided_store_twist(&other, &twist);
    for (int k = 0; k < 6; k++)
        other.z_dot[k] *= speed;
    return other;
}

/* Stores pose and twist, given relative to the set, as the state t seconds later. */
GW_STEP_INLINE void gw_guided_store_state(gw_guided *body, double t, const gw_pose *pose,
                                          const gw_twist *twist)
{
    body->pose = body->base.moves ? gw_base_to_world_pose(&body->base, t, pose) : *pose;
    body->base.time += t;
    gw_guided_store_twist(body, twist);
}

GW_STEP_INLINE gw_load gw_guided_load(const gw_guided *body, const gw_rigid_body *r,
                                      const gw_pose *pose, const gw_twist *twist,
                                      const gw_forces *forces, double t)
{
    return __builtin_expect(body->base.moves, 0)
               ? gw_base_motion_load(body, r, pose, twist, forces, t)
               : gw_rigid_body_load(&body->def, r, pose, twist, forces, t);
}

/* ---- forces in a substep -------------------------------------------------------------------- */

/* The forces as seen by a substep that begins `since` seconds into the step. */
typedef struct gw_delayed_forces {
    const gw_forces *forces;
    double since;
} gw_delayed_forces;

static inline gw_wrench gw_delayed_at(const void *context, double t, const gw_pose *held,
                                      const gw_twist *twist)
{
    const gw_delayed_forces *l = context;
    return l->forces->at(l->forces->context, l->since + t, held, twist);
}

static inline void gw_delayed_contacts(const void *context, double t, const gw_pose *pose,
                                       const gw_twist *twist, gw_wrench *on)
{
    const gw_delayed_forces *l = context;
    l->forces->contact_wrenches(l->forces->contact_context, l->since + t, pose, twist, on);
}

/* The forces of a substep. `delayed` must outlive the result, and changes of its `since` take
 * effect. */
static inline gw_forces gw_delay_forces(const gw_delayed_forces *delayed)
{
    const gw_forces *forces = delayed->forces;
    return (gw_forces){.at = forces && forces->at ? gw_delayed_at : NULL,
                       .context = delayed,
                       .contact_wrenches =
                           forces && forces->contact_wrenches ? gw_delayed_contacts : NULL,
                       .contact_context = delayed,
                       .continues = forces && forces->continues};
}

/* ---- the other steps of a guided body ------------------------------------------------------- */

/* True for a body without constraints. */
static inline bool gw_is_floating(const gw_submanifold *set)
{
    return !set->general && set->rotation.kind == GW_ROTATION_FREE &&
           set->translation.locus.kind == GW_LOCUS_FREE && !set->translation.in_mobile;
}

/* One step of a body on a general set, by its rows; in guided_general.c. */
void gw_guided_general_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step);

/* The twist of the general set nearest to `twist` in the mass metric, at the body's pose. */
gw_twist gw_guided_general_project(const gw_guided *body, const gw_twist *twist);

/* Runge-Kutta for z'' = f(z, z', t) from z = 0; z_dot: velocity at the start, then at the end.
 * False where they are not finite. In guided.c. */
bool gw_guided_integrate(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                         double h, double *z, double *z_dot, gw_step *step);

/* A step in one chart, of at most dt: it ends at the first kink of a free-form locus, which it
 * crosses. Returns its length (s). In guided.c. */
double gw_guided_chart_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step);

/* Kinks and edges of a free-form locus (guided_kinks.c): true if the set has any; integration to
 * the first of them, or to where an edge releases the body, which returns the time used (s); and a
 * whole step over all of them. */
bool gw_guided_has_kinks(const gw_submanifold *set);
double gw_guided_step_to_kink(gw_guided *body, gw_chart *chart, const gw_forces *forces, double dt,
                              double *z, double *z_dot, gw_step *step);
void gw_guided_step_over_kinks(gw_guided *body, const gw_forces *forces, double dt, gw_step *step);

/* Edges of a free-form locus at which coordinates k are, `at` their values there; `out` is 1 at the
 * upper end, -1 at the lower. */
typedef struct gw_edge_stops {
    int count, k[2];
    double at[2], out[2], period[2]; /* and the length of the parameter's range */
} gw_edge_stops;

/* Finds the edges that z is at. */
gw_edge_stops gw_guided_edges_at(const gw_chart *chart, const double *z);

/* Holds coordinates (bits, two at most): v - M^-1 E p, with p such that v_k = 0. */
void gw_guided_hold(double (*inertia)[6], int n, unsigned held, double *v, double p[6]);

/* The body at a point of the chart, in guided.c: the mass matrix, factored by gw_ldl(), and the
 * kinetic energy, returned (J); and z'' without held coordinates, t s after the forces' start. */
double gw_guided_inertia_at(const gw_guided *body, const gw_chart *chart, const double *z,
                            const double *z_dot, double (*inertia)[6]);
void gw_guided_acceleration_at(const gw_guided *body, const gw_chart *chart,
                               const gw_forces *forces, double t, const double *z,
                               const double *z_dot, double (*inertia)[6], double *z_ddot);

/* At the start of a part of a step, at z = 0: stops the body at edges over which it would go, and
 * holds the coordinates that are pressed against them. */
void gw_guided_begin_at_edges(gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                              double *z_dot, gw_step *step);
/* Stops the body at the edges that z is at. */
void gw_guided_stop_at_edges(const gw_guided *body, const gw_chart *chart, const double *z,
                             double *z_dot, gw_step *step);
/* The time, at most dt, up to which the edges that hold coordinates are pressed; z and z_dot are
 * those after dt, or then after that time, as is the step's result. `begin`: z' at the start. */
double gw_guided_pressed_until(const gw_guided *body, const gw_chart *chart,
                               const gw_forces *forces, double dt, const double *begin, double *z,
                               double *z_dot, gw_step *step);

/* Kinetic energy before and after a step, and the work of the hand and of gravity in it (J). */
typedef struct gw_step_energies {
    double before, after, work;
} gw_step_energies;

gw_step_energies gw_guided_energies(const gw_guided *body, const gw_pose *from, const gw_pose *to,
                                    const gw_twist *twist, const gw_step *step);
/* False where a step over a singular point of a shape created more energy than there was. */
bool gw_guided_balances(const gw_step *step, const gw_step_energies *e);

/* The factor of the velocity that closes a step's energy balance, where the error is above rounding
 * and below a bound; else 1, and energy that is missing counts as dissipated. Third derivatives
 * jump at knots, which limits the accuracy on offset surfaces. */
double gw_guided_energy_scale(const gw_step_energies *e, gw_step *step);

/* Folds of an offset surface, at the focal distance: true if the locus is an offset surface; true
 * if the step to z leads to a fold; and the step that ends at the fold, which leaves the body at
 * its initial pose, at rest, and returns dt. */
bool gw_guided_may_fold(const gw_submanifold *set);
bool gw_guided_meets_fold(const gw_guided *body, const gw_chart *chart, const double *z,
                          const gw_forces *forces, double dt);
double gw_guided_stop_at_fold(gw_guided *body, const gw_pose *from, double dt, gw_step *step);

/* A body without constraints; in guided_floating.c: its step, Jacobian (6 columns), J^T of a
 * wrench at the body's origin, generalised velocity, D^-1 of a generalised force, and the setting
 * of its twist or a change of velocity. */
void gw_floating_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step);
void gw_floating_jacobian(const gw_guided *body, double (*columns)[6]);
void gw_floating_pull_back(const gw_guided *body, const gw_wrench *wrench, double *force);
void gw_floating_velocity(const gw_guided *body, double *v);
void gw_floating_set_twist(gw_guided *body, const gw_twist *twist);
void gw_floating_kick(gw_guided *body, const double *dv);
void gw_floating_apply_inverse(const gw_guided *body, const double *force, double *answer);

/* The inverse of an inertia; not finite where there is none. */
gw_mat3 gw_inertia_inverse(const gw_mat3 *inertia);

/* Kinetic energy (J). */
double gw_rigid_body_kinetic_energy(double mass, const gw_rigid_body *r, const gw_twist *twist);

/* L of L L^T = m (n x n in rows of 6, lower triangle read), in place; false where m is not positive
 * definite. For the step's inner loop there is L D L^T, with 1/D on the diagonal: no roots, one
 * division a row. */
bool gw_cholesky(double (*m)[6], int n);
void gw_cholesky_solve(double (*l)[6], int n, double *x);

/* Unrolled for up to three unknowns: a plane or a circle has two or three freedoms. */
GW_STEP_INLINE bool gw_ldl_of_three(double (*m)[6], int n)
{
    double d0 = m[0][0], a = m[1][0], b = m[2][0];
    m[0][0] = 1 / d0;
    if (n == 1)
        return d0 > 0;
    m[1][0] = a * m[0][0];
    double d1 = m[1][1] - a * m[1][0];
    m[1][1] = 1 / d1;
    if (n == 2)
        return d0 > 0 && d1 > 0;
    m[2][0] = b * m[0][0];
    double c = m[2][1] - b * m[1][0];
    m[2][1] = c * m[1][1];
    double d2 = m[2][2] - b * m[2][0] - c * m[2][1];
    m[2][2] = 1 / d2;
    return d0 > 0 && d1 > 0 && d2 > 0;
}

GW_STEP_INLINE bool gw_ldl(double (*m)[6], int n)
{
    double scaled[6];
    if (n >= 1 && n <= 3)
        return gw_ldl_of_three(m, n);
    for (int i = 0; i < n; i++) {
        double d = m[i][i];
        for (int j = 0; j < i; j++) {
            double s = m[i][j];
            for (int k = 0; k < j; k++)
                s -= scaled[k] * m[j][k];
            scaled[j] = s;
            m[i][j] = s * m[j][j];
            d -= s * m[i][j];
        }
        if (!(d > 0))
            return false;
        m[i][i] = 1 / d;
    }
    return true;
}

GW_STEP_INLINE void gw_ldl_solve_three(double (*l)[6], int n, double *x)
{
    if (n > 1)
        x[1] -= l[1][0] * x[0];
    if (n > 2) {
        x[2] = (x[2] - l[2][0] * x[0] - l[2][1] * x[1]) * l[2][2];
        x[1] = x[1] * l[1][1] - l[2][1] * x[2];
        x[0] = x[0] * l[0][0] - l[1][0] * x[1] - l[2][0] * x[2];
        return;
    }
    x[0] *= l[0][0];
    if (n > 1) {
        x[1] *= l[1][1];
        x[0] -= l[1][0] * x[1];
    }
}

GW_STEP_INLINE void gw_ldl_solve(double (*l)[6], int n, double *x)
{
    if (n >= 1 && n <= 3) {
        gw_ldl_solve_three(l, n, x);
        return;
    }
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            x[i] -= l[i][k] * x[k];
    for (int i = n - 1; i >= 0; i--) {
        x[i] *= l[i][i];
        for (int k = i + 1; k < n; k++)
            x[i] -= l[k][i] * x[k];
    }
}

#endif
