/*
 * With the centres of mass c_i, the joint one c and r_i = c_i - c,
 *
 *   m V = sum m_i v_i,   J Omega = sum (r_i x m_i v_i + I_i w_i)
 *   J = sum (I_i + m_i (|r_i|^2 - r_i r_i^T))
 *
 * is the common motion, and v_i - V - Omega x r_i, w_i - Omega the relative one, whose kinetic
 * energy is the whole less (V . m V + Omega . J Omega) / 2. Joints are at rest in the common
 * motion, whose generalised velocity follows from its momentum. RT safe.
 */
#include "rt/dynamics/locked_motion.h"

#include <assert.h>
#include <math.h>

#include "rt/dynamics/rigid_body.h"

bool gw_locked_motion_takes(const gw_model *model)
{
    return gw_model_floating(model, 0) != NULL;
}

/* inertia += mass (|r|^2 - r r^T) */
static void add_point_mass(gw_mat3 *inertia, double mass, gw_vec3 r)
{
    const double at[3] = {r.x, r.y, r.z};
    for (int i = 0; i < 3; i++) {
        inertia->m[i][i] += mass * gw_norm2(r);
        for (int j = 0; j < 3; j++)
            inertia->m[i][j] -= mass * at[i] * at[j];
    }
}

static void add_body(gw_locked_sums *sums, const gw_mass *body, const gw_pose *pose,
                     const gw_twist *twist)
{
    double mass = body->mass;
    gw_mat3 turn = gw_quat_to_mat3(pose->q), inertia = gw_inertia_turned(&turn, &body->inertia);
    gw_vec3 com = gw_mat3_mul(&turn, body->com), w = twist->w;
    gw_vec3 r = gw_sub(gw_add(pose->p, com), sums->about);
    gw_vec3 p = gw_scale(mass, gw_add(twist->v, gw_cross(w, com)));
    gw_vec3 spin = gw_mat3_mul(&inertia, w);
    sums->mass += mass;
    sums->moment = gw_mul_add(sums->moment, mass, r);
    sums->momentum = gw_add(sums->momentum, p);
    sums->angular_momentum = gw_add(sums->angular_momentum, gw_add(gw_cross(r, p), spin));
    sums->kinetic += 0.5 * (gw_norm2(p) / mass + gw_dot(w, spin));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sums->inertia.m[i][j] += inertia.m[i][j];
    add_point_mass(&sums->inertia, mass, r);
}

void gw_locked_sums_add(gw_locked_sums *sums, const gw_model *model)
{
    assert(gw_locked_motion_takes(model));
    for (int i = 0; i < gw_model_bodies(model); i++) {
        gw_pose pose;
        gw_twist twist;
        gw_model_body(model, i, &pose, &twist);
        add_body(sums, gw_model_floating(model, i), &pose, &twist);
    }
}

gw_locked_motion gw_locked_motion_of(const gw_locked_sums *sums)
{
    assert(sums->mass > 0);
    gw_vec3 r = gw_scale(1 / sums->mass, sums->moment), p = sums->momentum;
    gw_vec3 spin = gw_sub(sums->angular_momentum, gw_cross(r, p));
    gw_mat3 inertia = sums->inertia;
    add_point_mass(&inertia, -sums->mass, r);
    gw_mat3 inverse = gw_inertia_inverse(&inertia);
    gw_vec3 v = gw_scale(1 / sums->mass, p), w = gw_mat3_mul(&inverse, spin);
    double common = 0.5 * (gw_dot(p, v) + gw_dot(spin, w));
    return (gw_locked_motion){gw_add(sums->about, r), {v, w}, fmax(0, sums->kinetic - common)};
}

static gw_twist twist_at(const gw_locked_motion *motion, gw_vec3 at)
{
    const gw_twist *t = &motion->twist;
    return (gw_twist){gw_add(t->v, gw_cross(t->w, gw_sub(at, motion->centre))), t->w};
}

/* v in the common motion: D^-1 sum of J_b^T (momentum of body b in it). */
static void velocity_in(const gw_locked_motion *motion, const gw_model *model, double *v)
{
    double momentum[GW_MODEL_MAX_DOF] = {0};
    for (int i = 0; i < gw_model_bodies(model); i++) {
        const gw_mass *body = gw_model_floating(model, i);
        gw_pose pose;
        gw_twist own;
        gw_model_body(model, i, &pose, &own);
        gw_mat3 turn = gw_quat_to_mat3(pose.q), inertia = gw_inertia_turned(&turn, &body->inertia);
        gw_vec3 com = gw_mat3_mul(&turn, body->com);
        gw_twist t = twist_at(motion, gw_add(pose.p, com));
        gw_vec3 p = gw_scale(body->mass, t.v);
        gw_wrench about = {p, gw_add(gw_mat3_mul(&inertia, t.w), gw_cross(com, p))};
        gw_model_pull_back(model, i, &about, momentum);
    }
    gw_model_apply_inverse(model, momentum, v);
}

void gw_locked_motion_scale(const gw_locked_motion *motion, double factor, gw_model *model)
{
    assert(gw_locked_motion_takes(model) && isfinite(factor));
    if (gw_model_is_guided(model)) {
        gw_guided *body = (gw_guided *)model;
        gw_twist t = body->twist, common = twist_at(motion, body->pose.p);
        gw_guided_set_twist(body, &(gw_twist){gw_mul_add(common.v, factor, gw_sub(t.v, common.v)),
                                              gw_mul_add(common.w, factor, gw_sub(t.w, common.w))});
        return;
    }
    double common[GW_MODEL_MAX_DOF], v[GW_MODEL_MAX_DOF];
    velocity_in(motion, model, common);
    gw_model_velocity(model, v);
    for (int i = 0; i < gw_model_dof(model); i++)
        v[i] = (factor - 1) * (v[i] - common[i]);
    gw_model_kick(model, v);
}
