/*
 * Articulated bodies in world axes, each link about its own origin. Three passes: frames, twists
 * and the wrenches that velocities and weight need, from the base out; articulated inertias back to
 * the base; accelerations out again. On the loop's thread, RT safe.
 */
#include "rt/dynamics/articulated_body.h"

/* ---- from the base out ---------------------------------------------------------------------- */

/* R Rz(angle): only the first two columns change. */
GW_CHAIN_INLINE void turn_about_z(gw_mat3 *r, double angle)
{
    double c, s;
    sincos(angle, &s, &c);
    for (int i = 0; i < 3; i++) {
        double x = r->m[i][0], y = r->m[i][1];
        r->m[i][0] = c * x + s * y;
        r->m[i][1] = c * y - s * x;
    }
}

GW_CHAIN_INLINE void place(const gw_chain *chain, const double *q, bool weighs,
                           gw_chain_link_state *at)
{
    gw_mat3 parent = gw_quat_to_mat3(chain->def->world_from_base.q);
    gw_vec3 from = chain->def->world_from_base.p;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &chain->joints[i];
        gw_chain_link_state *to = &at[i];
        gw_mat3 r = j->straight ? parent : gw_mat3_product(&parent, &j->parent_from_axes);
        to->arm = gw_mat3_mul(&parent, j->offset);
        if (j->slides)
            to->arm = gw_mul_add(to->arm, q[i], gw_v3(r.m[0][2], r.m[1][2], r.m[2][2]));
        else
            turn_about_z(&r, q[i]);
        to->at = from = gw_add(from, to->arm);
        to->world_from_axes = parent = r;
        if (!weighs)
            continue;
        to->world_com = gw_mat3_mul(&r, j->com);
        to->world_inertia = j->principal ? gw_sym3_turned_principal(&r, &j->inertia)
                                         : gw_sym3_turned(&r, &j->inertia);
    }
}

void gw_chain_forward_kinematics(const gw_chain *chain, const double *q, gw_chain_link_state *at)
{
    place(chain, q, true, at);
}

void gw_chain_twists(const gw_chain *chain, const double *v, gw_chain_link_state *at)
{
    gw_twist t = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < chain->def->count; i++) {
        t.v = gw_add(t.v, gw_cross(t.w, at[i].arm));
        if (chain->joints[i].slides)
            t.v = gw_mul_add(t.v, v[i], gw_chain_axis(&at[i]));
        else
            t.w = gw_mul_add(t.w, v[i], gw_chain_axis(&at[i]));
        at[i].twist = t;
    }
}

/*
 * Were all q'' zero, the origins would accelerate by
 *
 *   a = a_p + alpha_p x r + w_p x (w_p x r) [+ 2 w_p x s v],   alpha = alpha_p [+ w_p x s v]
 *
 * (sliding, turning), gravity as an acceleration of the base. Newton and Euler give the wrench
 * that the link needs for it.
 */
void gw_chain_bias_forces(const gw_chain *chain, const double *v, const gw_chain_link_state *at,
                          gw_wrench *bias)
{
    gw_vec3 a = gw_neg(chain->def->gravity), alpha = {0, 0, 0}, w = {0, 0, 0};
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &at[i];
        gw_vec3 along = gw_cross(w, gw_scale(v[i], gw_chain_axis(j)));
        a = gw_add(a, gw_add(gw_cross(alpha, j->arm), gw_cross(w, gw_cross(w, j->arm))));
        if (chain->joints[i].slides)
            a = gw_mul_add(a, 2, along);
        else
            alpha = gw_add(alpha, along);
        w = j->twist.w;
        bias[i] = gw_link_newton_euler(chain->joints[i].mass, j->world_com, &j->world_inertia, w,
                                       &(gw_twist){a, alpha});
    }
}

/* ---- back to the base ----------------------------------------------------------------------- */

GW_CHAIN_INLINE void take_square(gw_sym3 *s, gw_vec3 u, gw_vec3 scaled)
{
    s->xx -= u.x * scaled.x;
    s->yx -= u.y * scaled.x;
    s->yy -= u.y * scaled.y;
    s->zx -= u.z * scaled.x;
    s->zy -= u.z * scaled.y;
    s->zz -= u.z * scaled.z;
}

/* What the joint lets through: less U U^T / D. */
GW_CHAIN_INLINE void release(gw_articulated_inertia *a, const gw_wrench *u, double mobility)
{
    gw_vec3 f = gw_scale(mobility, u->f), t = gw_scale(mobility, u->t);
    take_square(&a->m, u->f, f);
    take_square(&a->i, u->t, t);
    double x[3] = {u->f.x, u->f.y, u->f.z}, y[3] = {t.x, t.y, t.z};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            a->b.m[i][k] -= x[i] * y[k];
}

/* Both what is carried to the parent and U are, so that nothing but the last difference waits for
 * the division. */
GW_CHAIN_INLINE void factor(const gw_chain *chain, const double *added, gw_chain_link_state *at)
{
    gw_articulated_inertia a = {0};
    for (int i = chain->def->count - 1; i >= 0; i--) {
        gw_chain_link_state *j = &at[i];
        gw_vec3 s = gw_chain_axis(j);
        gw_wrench u;
        double own = added ? added[i] : 0;
        gw_articulated_inertia_add(&a, chain->joints[i].mass, j->world_com, &j->world_inertia);
        if (chain->joints[i].slides) {
            u = (gw_wrench){gw_sym3_mul(&a.m, s), gw_mat3_tmul(&a.b, s)};
            own += gw_dot(s, u.f);
        } else {
            u = (gw_wrench){gw_mat3_mul(&a.b, s), gw_sym3_mul(&a.i, s)};
            own += gw_dot(s, u.t);
        }
        j->mobility = 1 / own;
        u.t = gw_add(u.t, gw_cross(j->arm, u.f));
        j->resistance = u;
        gw_articulated_inertia_shift(&a, j->arm);
        release(&a, &u, j->mobility);
    }
}

void gw_chain_articulated_inertias(const gw_chain *chain, gw_chain_link_state *at)
{
    factor(chain, NULL, at);
}

void gw_chain_articulated_inertias_with(const gw_chain *chain, const double *added,
                                        gw_chain_link_state *at)
{
    factor(chain, added, at);
}

/*
 * With U at the parent's origin (X^T U),
 *
 *   u_i = tau_i - s . P_i,   P_p += X^T P_i + U_i u_i / D_i, and out again
 *   q''_i = (u_i - U_i . A_p) / D_i,   A_i = X A_p + s q''_i
 */
void gw_chain_accelerations(const gw_chain *chain, const gw_chain_link_state *at, gw_wrench *bias,
                            double *force)
{
    gw_wrench p = {{0, 0, 0}, {0, 0, 0}};
    for (int i = chain->def->count - 1; i >= 0; i--) {
        const gw_chain_link_state *j = &at[i];
        if (bias) {
            p.f = gw_add(p.f, bias[i].f);
            p.t = gw_add(p.t, bias[i].t);
        }
        force[i] -= gw_dot(gw_chain_axis(j), chain->joints[i].slides ? p.f : p.t);
        force[i] *= j->mobility;
        p.t = gw_add(p.t, gw_cross(j->arm, p.f));
        p.f = gw_mul_add(p.f, force[i], j->resistance.f);
        p.t = gw_mul_add(p.t, force[i], j->resistance.t);
    }
    gw_vec3 a = {0, 0, 0}, alpha = {0, 0, 0};
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &at[i];
        force[i] -= j->mobility * (gw_dot(j->resistance.f, a) + gw_dot(j->resistance.t, alpha));
        a = gw_add(a, gw_cross(alpha, j->arm));
        if (chain->joints[i].slides)
            a = gw_mul_add(a, force[i], gw_chain_axis(j));
        else
            alpha = gw_mul_add(alpha, force[i], gw_chain_axis(j));
    }
}

/* ---- together ------------------------------------------------------------------------------- */

/* 1/2 m |v + w x c|^2 + 1/2 w . I w */
double gw_chain_kinetic(const gw_chain *chain)
{
    double sum = 0;
    if (chain->local)
        return gw_chain_local_kinetic(chain);
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &chain->joints[i];
        gw_vec3 v = gw_add(j->twist.v, gw_cross(j->twist.w, j->world_com));
        sum +=
            j->mass * gw_norm2(v) + gw_dot(j->twist.w, gw_sym3_mul(&j->world_inertia, j->twist.w));
    }
    return 0.5 * sum;
}

static double weight_energy(const gw_chain *chain)
{
    double sum = 0;
    if (chain->local)
        return gw_chain_local_weight_energy(chain);
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &chain->joints[i];
        sum -= j->mass * gw_dot(chain->def->gravity, gw_add(j->at, j->world_com));
    }
    return sum;
}

void gw_chain_configure(const gw_chain *chain, const double *q, const double *v,
                        gw_chain_link_state *at)
{
    place(chain, q, !chain->local, at);
    if (!chain->local)
        gw_chain_articulated_inertias(chain, at);
    gw_chain_twists(chain, v, at);
}

void gw_chain_update(gw_chain *chain)
{
    gw_chain_update_kinematics(chain);
    if (!chain->local)
        gw_chain_articulated_inertias(chain, chain->joints);
}

void gw_chain_update_kinematics(gw_chain *chain)
{
    place(chain, chain->q, !chain->local, chain->joints);
    gw_chain_twists(chain, chain->v, chain->joints);
    chain->kinetic = gw_chain_kinetic(chain);
    chain->potential = weight_energy(chain) + gw_chain_joint_energy(chain);
}
