/*
 * A guided body at one point of a chart: columns, inertia, acceleration. Shared by its step
 * (guided.c) and by what the model's table asks of it (guided_model.c). RT safe.
 */
#ifndef GW_DYNAMICS_GUIDED_STAGE_H
#define GW_DYNAMICS_GUIDED_STAGE_H

#include <string.h>

#include "rt/dynamics/rigid_body.h"

/* What is computed at one point of the chart. */
typedef struct stage {
    gw_pose pose;
    gw_twist twist;
    double jacobian[6][6], bias[6];
    gw_rigid_body rigid;
    double inertia[6][6]; /* factored M_z */
} stage;

static inline gw_vec3 linear(const double *column)
{
    return gw_v3(column[0], column[1], column[2]);
}

static inline gw_vec3 angular(const double *column)
{
    return gw_v3(column[3], column[4], column[5]);
}

/* [v; w] as six numbers. */
static inline void put_column(double *column, gw_vec3 v, gw_vec3 w)
{
    memcpy(column, (double[6]){v.x, v.y, v.z, w.x, w.y, w.z}, 6 * sizeof *column);
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
static inline int turning(const gw_submanifold *set)
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
    s->rigid = gw_rigid_body_at(&body->def, &s->pose);
    return factor_inertia(body->def.mass.mass, s, turns, n);
}

/* z'' under the load of this stage. */
GW_STEP_INLINE void accelerate(double mass, stage *s, const gw_load *load, int turns, int n,
                               double *z_ddot)
{
    gw_wrench rate =
        gw_rigid_body_momentum_rate(mass, &s->rigid, s->twist.w, linear(s->bias), angular(s->bias));
    gw_wrench net = {gw_sub(load->about_com.f, rate.f), gw_sub(load->about_com.t, rate.t)};
    pull_back(s, &net, turns, n, z_ddot);
    gw_ldl_solve(s->inertia, n, z_ddot);
}

/* A body without constraints, its coordinates those of a point of it. */
static inline bool floats(const gw_submanifold *set)
{
    return !set->general && set->rotation.kind == GW_ROTATION_FREE &&
           set->translation.locus.kind == GW_LOCUS_FREE && !set->translation.in_mobile;
}

/*
 * Velocity in the chart at the body's pose. Where the coordinates of the last chart go on in this
 * one the numbers do too: taking them from the twist would round the same way every step, and that
 * shows in the energy after a minute.
 */
static inline void velocity_in(const gw_chart *chart, const gw_guided *body, double *z_dot)
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

/* At rest on its set. */
static inline void stop(gw_guided *body)
{
    gw_guided_store_twist(body, &(gw_twist){{0, 0, 0}, {0, 0, 0}});
    memset(body->z_dot, 0, sizeof body->z_dot);
}

/* The table's step: in guided.c. */
void gw_guided_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step);

#endif
