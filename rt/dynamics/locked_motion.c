/*
 * With the centres of mass c_i, the joint one c and r_i = c_i - c,
 *
 *   m V = sum m_i v_i,   J Omega = sum (r_i x m_i v_i + I_i w_i)
 *   J = sum (I_i + m_i (|r_i|^2 - r_i r_i^T))
 *
 * is the common motion, and v_i - V - Omega x r_i, w_i - Omega the relative one, whose kinetic
 * energy is the whole less (V . m V + Omega . J Omega) / 2. RT safe.
 */
#include "rt/dynamics/locked_motion.h"

#include <assert.h>
#include <math.h>

#include "rt/dynamics/rigid_body.h"

bool gw_locked_motion_takes(const gw_model *model)
{
    return gw_model_is_guided(model) && gw_is_floating(&((const gw_guided *)model)->def.set);
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

void gw_locked_sums_add(gw_locked_sums *sums, const gw_model *model)
{
    assert(gw_locked_motion_takes(model));
    const gw_guided *body = (const gw_guided *)model;
    double mass = body->def.mass.mass;
    gw_rigid_body rigid = gw_rigid_body_at(&body->def, &body->pose);
    gw_vec3 w = body->twist.w, r = gw_sub(gw_add(body->pose.p, rigid.com), sums->about);
    gw_vec3 p = gw_scale(mass, gw_add(body->twist.v, gw_cross(w, rigid.com)));
    gw_vec3 spin = gw_mat3_mul(&rigid.inertia, w);
    sums->mass += mass;
    sums->moment = gw_mul_add(sums->moment, mass, r);
    sums->momentum = gw_add(sums->momentum, p);
    sums->angular_momentum = gw_add(sums->angular_momentum, gw_add(gw_cross(r, p), spin));
    sums->kinetic += 0.5 * (gw_norm2(p) / mass + gw_dot(w, spin));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            sums->inertia.m[i][j] += rigid.inertia.m[i][j];
    add_point_mass(&sums->inertia, mass, r);
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

void gw_locked_motion_scale(const gw_locked_motion *motion, double factor, gw_model *model)
{
    assert(gw_locked_motion_takes(model) && isfinite(factor));
    gw_guided *body = (gw_guided *)model;
    gw_twist t = body->twist, common = motion->twist;
    common.v = gw_add(common.v, gw_cross(common.w, gw_sub(body->pose.p, motion->centre)));
    gw_guided_set_twist(body, &(gw_twist){gw_mul_add(common.v, factor, gw_sub(t.v, common.v)),
                                          gw_mul_add(common.w, factor, gw_sub(t.w, common.w))});
}
