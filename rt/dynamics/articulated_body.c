/*
 * Forward dynamics of a chain by the articulated-body algorithm (Featherstone), in world axes, each
 * link about its own origin. Three passes: frames, twists and bias forces from the base out;
 * articulated inertias back to the base; joint accelerations out again. The planar recursion does
 * the same for parallel axes. Also here, from the same quantities: the mass matrix by composite
 * rigid bodies, and the constraint wrench of the held link. On the loop's thread, RT safe.
 *
 * An articulated inertia answers an acceleration [a; alpha] of the link's origin with the wrench
 *
 *   f = M a + B alpha,   t = B^T a + I alpha
 */
#include "rt/dynamics/articulated_body.h"

#include <assert.h>
#include <string.h>

/* ---- articulated inertias ------------------------------------------------------------------- */

typedef struct articulated_inertia {
    gw_sym3 m, i;
    gw_mat3 b;
} articulated_inertia;

/* R I R^T where I is diagonal: iyy 1 + (ixx - iyy) x x^T + (izz - iyy) z z^T, of R's columns. */
GW_CHAIN_INLINE gw_sym3 rotated_diagonal(const gw_mat3 *r, const gw_sym3 *s)
{
    double a = s->xx - s->yy, c = s->zz - s->yy;
    gw_vec3 x = gw_v3(r->m[0][0], r->m[1][0], r->m[2][0]), ax = gw_scale(a, x);
    gw_vec3 z = gw_v3(r->m[0][2], r->m[1][2], r->m[2][2]), cz = gw_scale(c, z);
    return (gw_sym3){s->yy + (ax.x * x.x + cz.x * z.x), ax.y * x.x + cz.y * z.x,
                     s->yy + (ax.y * x.y + cz.y * z.y), ax.z * x.x + cz.z * z.x,
                     ax.z * x.y + cz.z * z.y,           s->yy + (ax.z * x.z + cz.z * z.z)};
}

/* Adds a rigid body: M = m, B = -m [c]x, I = I_c - m [c]x [c]x. */
GW_CHAIN_INLINE void add_rigid_body(articulated_inertia *a, double m, gw_vec3 c,
                                    const gw_sym3 *inertia)
{
    gw_vec3 mc = gw_scale(m, c);
    double xx = mc.x * c.x, yy = mc.y * c.y, zz = mc.z * c.z;
    a->m.xx += m;
    a->m.yy += m;
    a->m.zz += m;
    a->b.m[0][1] += mc.z;
    a->b.m[0][2] -= mc.y;
    a->b.m[1][0] -= mc.z;
    a->b.m[1][2] += mc.x;
    a->b.m[2][0] += mc.y;
    a->b.m[2][1] -= mc.x;
    a->i.xx += inertia->xx + (yy + zz);
    a->i.yy += inertia->yy + (xx + zz);
    a->i.zz += inertia->zz + (xx + yy);
    a->i.yx += inertia->yx - mc.y * c.x;
    a->i.zx += inertia->zx - mc.z * c.x;
    a->i.zy += inertia->zy - mc.z * c.y;
}

GW_CHAIN_INLINE gw_vec3 row_of(const gw_mat3 *x, int i)
{
    return gw_v3(x->m[i][0], x->m[i][1], x->m[i][2]);
}

/*
 * Shifts the reference point by -r, to the parent's origin: a becomes a + alpha x r, t becomes
 * t + r x f,
 *
 *   B' = B + E,   I' = I + Z + Z^T,   E = -M [r]x,   Z = [r]x (B + E/2)
 */
GW_CHAIN_INLINE void shift_inertia(articulated_inertia *a, gw_vec3 r)
{
    const gw_sym3 *m = &a->m;
    gw_vec3 rows[3] = {gw_v3(m->xx, m->yx, m->zx), gw_v3(m->yx, m->yy, m->zy),
                       gw_v3(m->zx, m->zy, m->zz)};
    gw_vec3 w[3];
    for (int i = 0; i < 3; i++) {
        /* row i of -M [r]x is r x row of M, as [r]x is antisymmetric */
        gw_vec3 e = gw_cross(r, rows[i]), b = row_of(&a->b, i);
        w[i] = gw_mul_add(b, 0.5, e);
        a->b.m[i][0] = b.x + e.x;
        a->b.m[i][1] = b.y + e.y;
        a->b.m[i][2] = b.z + e.z;
    }
    a->i.xx += 2 * (r.y * w[2].x - r.z * w[1].x);
    a->i.yy += 2 * (r.z * w[0].y - r.x * w[2].y);
    a->i.zz += 2 * (r.x * w[1].z - r.y * w[0].z);
    a->i.yx += (r.y * w[2].y - r.z * w[1].y) + (r.z * w[0].x - r.x * w[2].x);
    a->i.zx += (r.y * w[2].z - r.z * w[1].z) + (r.x * w[1].x - r.y * w[0].x);
    a->i.zy += (r.z * w[0].z - r.x * w[2].z) + (r.x * w[1].y - r.y * w[0].y);
}

/* Newton-Euler: the wrench at its origin that a link needs for the acceleration `rate`:
 * m (a + alpha x c + w x (w x c)), I alpha + w x I w and the moment of the force. */
GW_CHAIN_INLINE gw_wrench newton_euler(double mass, gw_vec3 com, const gw_sym3 *inertia, gw_vec3 w,
                                       const gw_twist *rate)
{
    gw_vec3 at_com = gw_add(rate->v, gw_add(gw_cross(rate->w, com), gw_cross(w, gw_cross(w, com))));
    gw_vec3 f = gw_scale(mass, at_com);
    gw_vec3 t = gw_add(gw_sym3_mul(inertia, rate->w), gw_cross(w, gw_sym3_mul(inertia, w)));
    return (gw_wrench){f, gw_add(t, gw_cross(com, f))};
}

/* ---- general recursion: from the base out --------------------------------------------------- */

/* R <- R Rz(angle): only the first two columns change. */
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

/* Frames at q; centres of mass and inertias in world axes where `weighs` is set. */
GW_CHAIN_INLINE void forward_kinematics(const gw_chain *chain, const double *q, bool weighs,
                                        gw_chain_link_state *at)
{
    gw_mat3 parent = gw_quat_to_mat3(chain->def->world_from_base.q);
    gw_vec3 from = chain->def->world_from_base.p;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &chain->states[i];
        gw_chain_link_state *to = &at[i];
        gw_mat3 r = j->aligned ? parent : gw_mat3_product(&parent, &j->parent_from_axes);
        to->arm = gw_mat3_mul(&parent, j->offset);
        if (j->prismatic)
            to->arm = gw_mul_add(to->arm, q[i], gw_v3(r.m[0][2], r.m[1][2], r.m[2][2]));
        else
            turn_about_z(&r, q[i]);
        to->origin = from = gw_add(from, to->arm);
        to->world_from_axes = parent = r;
        if (!weighs)
            continue;
        to->world_com = gw_mat3_mul(&r, j->com);
        to->world_inertia =
            j->diagonal ? rotated_diagonal(&r, &j->inertia) : gw_sym3_turned(&r, &j->inertia);
    }
}

void gw_chain_forward_kinematics(const gw_chain *chain, const double *q, gw_chain_link_state *at)
{
    forward_kinematics(chain, q, true, at);
}

void gw_chain_twists(const gw_chain *chain, const double *v, gw_chain_link_state *at)
{
    gw_twist t = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < chain->def->count; i++) {
        t.v = gw_add(t.v, gw_cross(t.w, at[i].arm));
        if (chain->states[i].prismatic)
            t.v = gw_mul_add(t.v, v[i], gw_chain_axis(&at[i]));
        else
            t.w = gw_mul_add(t.w, v[i], gw_chain_axis(&at[i]));
        at[i].twist = t;
    }
}

/*
 * Bias forces: the wrench that each link needs for its weight and velocities while all q'' are zero
 * (Featherstone's p_i). The links' origins then accelerate by
 *
 *   a = a_p + alpha_p x r + w_p x (w_p x r) [+ 2 w_p x s v],   alpha = alpha_p [+ w_p x s v]
 *
 * (prismatic, revolute), with gravity as an acceleration of the base.
 */
void gw_chain_bias_forces(const gw_chain *chain, const double *v, const gw_chain_link_state *at,
                          gw_wrench *bias)
{
    gw_vec3 a = gw_neg(chain->def->gravity), alpha = {0, 0, 0}, w = {0, 0, 0};
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &at[i];
        gw_vec3 along = gw_cross(w, gw_scale(v[i], gw_chain_axis(j)));
        a = gw_add(a, gw_add(gw_cross(alpha, j->arm), gw_cross(w, gw_cross(w, j->arm))));
        if (chain->states[i].prismatic)
            a = gw_mul_add(a, 2, along);
        else
            alpha = gw_add(alpha, along);
        w = j->twist.w;
        bias[i] = newton_euler(chain->states[i].mass, j->world_com, &j->world_inertia, w,
                               &(gw_twist){a, alpha});
    }
}

/* ---- general recursion: back to the base ---------------------------------------------------- */

/* s -= u scaled^T, lower triangle. */
GW_CHAIN_INLINE void subtract_outer_square(gw_sym3 *s, gw_vec3 u, gw_vec3 scaled)
{
    s->xx -= u.x * scaled.x;
    s->yx -= u.y * scaled.x;
    s->yy -= u.y * scaled.y;
    s->zx -= u.z * scaled.x;
    s->zy -= u.z * scaled.y;
    s->zz -= u.z * scaled.z;
}

/* The articulated inertia that the parent feels through the joint: less U U^T / D. */
GW_CHAIN_INLINE void project_out_joint(articulated_inertia *a, const gw_wrench *u, double inverse_d)
{
    gw_vec3 f = gw_scale(inverse_d, u->f), t = gw_scale(inverse_d, u->t);
    subtract_outer_square(&a->m, u->f, f);
    subtract_outer_square(&a->i, u->t, t);
    double x[3] = {u->f.x, u->f.y, u->f.z}, y[3] = {t.x, t.y, t.z};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            a->b.m[i][k] -= x[i] * y[k];
}

/* U and 1/D of all joints, from the last link to the base: U = I_A s, D = s . U + added. The
 * inertia and U are both shifted to the parent's origin before the subtraction, so that only that
 * waits for the division. */
GW_CHAIN_INLINE void articulated_inertias(const gw_chain *chain, const double *added,
                                          gw_chain_link_state *at)
{
    articulated_inertia a = {0};
    for (int i = chain->def->count - 1; i >= 0; i--) {
        gw_chain_link_state *j = &at[i];
        gw_vec3 s = gw_chain_axis(j);
        gw_wrench u;
        double own = added ? added[i] : 0;
        add_rigid_body(&a, chain->states[i].mass, j->world_com, &j->world_inertia);
        if (chain->states[i].prismatic) {
            u = (gw_wrench){gw_sym3_mul(&a.m, s), gw_mat3_tmul(&a.b, s)};
            own += gw_dot(s, u.f);
        } else {
            u = (gw_wrench){gw_mat3_mul(&a.b, s), gw_sym3_mul(&a.i, s)};
            own += gw_dot(s, u.t);
        }
        j->inverse_d = 1 / own;
        u.t = gw_add(u.t, gw_cross(j->arm, u.f));
        j->u = u;
        shift_inertia(&a, j->arm);
        project_out_joint(&a, &u, j->inverse_d);
    }
}

void gw_chain_articulated_inertias(const gw_chain *chain, gw_chain_link_state *at)
{
    articulated_inertias(chain, NULL, at);
}

void gw_chain_articulated_inertias_with(const gw_chain *chain, const double *added,
                                        gw_chain_link_state *at)
{
    articulated_inertias(chain, added, at);
}

/*
 * Joint accelerations. With U at the parent's origin (X^T U),
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
        force[i] -= gw_dot(gw_chain_axis(j), chain->states[i].prismatic ? p.f : p.t);
        force[i] *= j->inverse_d;
        p.t = gw_add(p.t, gw_cross(j->arm, p.f));
        p.f = gw_mul_add(p.f, force[i], j->u.f);
        p.t = gw_mul_add(p.t, force[i], j->u.t);
    }
    gw_vec3 a = {0, 0, 0}, alpha = {0, 0, 0};
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &at[i];
        force[i] -= j->inverse_d * (gw_dot(j->u.f, a) + gw_dot(j->u.t, alpha));
        a = gw_add(a, gw_cross(alpha, j->arm));
        if (chain->states[i].prismatic)
            a = gw_mul_add(a, force[i], gw_chain_axis(j));
        else
            alpha = gw_mul_add(alpha, force[i], gw_chain_axis(j));
    }
}

/* ---- state and energy ----------------------------------------------------------------------- */

/* 1/2 m |v + w x c|^2 + 1/2 w . I w */
double gw_chain_kinetic(const gw_chain *chain)
{
    double sum = 0;
    if (chain->local)
        return gw_chain_local_kinetic(chain);
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &chain->states[i];
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
        const gw_chain_link_state *j = &chain->states[i];
        sum -= j->mass * gw_dot(chain->def->gravity, gw_add(j->origin, j->world_com));
    }
    return sum;
}

void gw_chain_configure(const gw_chain *chain, const double *q, const double *v,
                        gw_chain_link_state *at)
{
    forward_kinematics(chain, q, !chain->local, at);
    if (!chain->local)
        gw_chain_articulated_inertias(chain, at);
    gw_chain_twists(chain, v, at);
}

void gw_chain_update(gw_chain *chain)
{
    gw_chain_update_kinematics(chain);
    if (!chain->local)
        gw_chain_articulated_inertias(chain, chain->states);
}

void gw_chain_update_kinematics(gw_chain *chain)
{
    forward_kinematics(chain, chain->q, !chain->local, chain->states);
    gw_chain_twists(chain, chain->v, chain->states);
    chain->kinetic = gw_chain_kinetic(chain);
    chain->potential = weight_energy(chain) + gw_chain_joint_energy(chain);
}

/* ---- mass matrix and constraint wrench ------------------------------------------------------ */

/* The mass matrix by composite rigid bodies (CRBA): the links from i on as one body, its momentum
 * per unit speed of joint i, projected on the axes before. A composite inertia is an articulated
 * inertia with all joints locked. */
void gw_chain_mass_matrix(const gw_chain *chain, double *d, int stride)
{
    articulated_inertia all = {0};
    for (int i = chain->def->count - 1; i >= 0; i--) {
        const gw_chain_link_state *j = &chain->states[i];
        gw_vec3 s = gw_chain_axis(j);
        gw_wrench f;
        add_rigid_body(&all, j->mass, j->world_com, &j->world_inertia);
        f = j->prismatic ? (gw_wrench){gw_sym3_mul(&all.m, s), gw_mat3_tmul(&all.b, s)}
                         : (gw_wrench){gw_mat3_mul(&all.b, s), gw_sym3_mul(&all.i, s)};
        for (int k = i; k >= 0; k--) {
            const gw_chain_link_state *axis = &chain->states[k];
            d[i * stride + k] = d[k * stride + i] =
                gw_dot(gw_chain_axis(axis), axis->prismatic ? f.f : f.t);
            f.t = gw_add(f.t, gw_cross(axis->arm, f.f));
        }
        shift_inertia(&all, j->arm);
    }
}

gw_twist gw_chain_link_acceleration(const gw_chain *chain, int link, const double *a)
{
    assert(link >= 0 && link < chain->def->count);
    gw_vec3 linear = {0, 0, 0}, angular = {0, 0, 0}, w = {0, 0, 0};
    for (int i = 0; i <= link; i++) {
        const gw_chain_link_state *j = &chain->states[i];
        gw_vec3 axis = gw_chain_axis(j), along = gw_scale(chain->v[i], gw_cross(w, axis));
        linear = gw_add(linear, gw_cross(angular, j->arm));
        linear = gw_add(linear, gw_cross(w, gw_cross(w, j->arm)));
        if (j->prismatic) {
            linear = gw_mul_add(linear, 2, along);
            linear = gw_mul_add(linear, a ? a[i] : 0, axis);
        } else {
            angular = gw_add(angular, along);
            angular = gw_mul_add(angular, a ? a[i] : 0, axis);
        }
        w = j->twist.w;
    }
    return (gw_twist){linear, angular};
}

/*
 * lambda = rate of momentum - weight - other wrenches, of the held link alone. The link's inertia
 * is rotated here, since a chain on a local model does not keep it in world axes.
 */
gw_wrench gw_chain_constraint_wrench(const gw_chain *chain, const double *a, const gw_wrench *on)
{
    int link = gw_chain_held_link(chain->def);
    const gw_chain_link_state *j = &chain->states[link];
    const gw_mat3 *r = &j->world_from_axes;
    gw_vec3 com = gw_mat3_mul(r, j->com), arm = gw_mat3_mul(r, chain->held_point);
    gw_sym3 inertia = gw_sym3_turned(r, &j->inertia);
    gw_twist rate = gw_chain_link_acceleration(chain, link, a);
    rate.v = gw_sub(rate.v, chain->def->gravity);
    gw_wrench need = newton_euler(j->mass, com, &inertia, j->twist.w, &rate);
    gw_vec3 f = gw_sub(need.f, on->f), t = gw_sub(need.t, on->t);
    return (gw_wrench){f, gw_sub(t, gw_cross(arm, f))};
}

/* ---- planar recursion -------------------------------------------------------------------------
 *
 * For chains whose joints all turn about parallel axes: the articulated-body recursion in the
 * plane, a third of the general one's cost. A revolute joint passes on forces and its own torque
 * only, so the articulated inertia that remains after the joint is a symmetric 2 x 2 matrix. With
 * M, b, I of f = M a + b alpha, t = b . a + I alpha,
 *
 *   M' = M - b b^T / I,   and seen from the parent, e = (-r_y, r_x):   b' = M' e,   I' = e . M' e
 *
 * Plane coordinates are x, y, z of the first joint's axes at q = 0, from its origin; z is the axis.
 */

void gw_chain_sines(int count, const double *q, gw_joint_sines *out)
{
    for (int i = 0; i < count; i++)
        sincos(q[i], &out->s[i], &out->c[i]);
}

/* Below this angle (rad) the series of sine and cosine are exact to rounding. */
#define SERIES_ANGLE 0.05

/* cos q and sin q from those of `from`, one stage's step before: a third of the time of sincos().
 */
GW_CHAIN_INLINE void advance_sine_cosine(double q, double from, double *c, double *s)
{
    double d = q - from, d2 = d * d, c0 = *c, s0 = *s;
    if (!(d2 < SERIES_ANGLE * SERIES_ANGLE)) {
        sincos(q, s, c);
        return;
    }
    double less = d2 * (-1. / 2 + d2 * (1. / 24 + d2 * (-1. / 720 + d2 * (1. / 40320))));
    double sine = d + d * d2 * (-1. / 6 + d2 * (1. / 120 + d2 * (-1. / 5040 + d2 * (1. / 362880))));
    *c = c0 + (c0 * less - s0 * sine);
    *s = s0 + (s0 * less + c0 * sine);
}

/* From the base out: poses, velocities and the bias forces m (a - w^2 c), with a = a_p - w_p^2 r.
 */
void gw_planar_kinematics(const gw_chain *chain, const gw_joint_sines *start, const double *q,
                          const double *v, gw_planar_link *links)
{
    gw_vec3 g = gw_mat3_tmul(&chain->world_from_plane, chain->def->gravity);
    double ax = -g.x, ay = -g.y;
    gw_planar_link p = {.c = 1};
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &chain->states[i];
        double c = start->c[i], s = start->s[i], w2 = p.w * p.w, pc = p.c, ps = p.s;
        advance_sine_cosine(q[i], chain->q[i], &c, &s);
        if (i > 0) {
            double c0 = j->parent_from_axes.m[0][0], s0 = j->parent_from_axes.m[1][0];
            p.rx = pc * j->offset.x - ps * j->offset.y;
            p.ry = ps * j->offset.x + pc * j->offset.y;
            double turned = pc * c0 - ps * s0;
            ps = pc * s0 + ps * c0;
            pc = turned;
            p.z += j->offset.z;
        }
        p.c = pc * c - ps * s;
        p.s = pc * s + ps * c;
        p.x += p.rx;
        p.y += p.ry;
        p.vx -= p.w * p.ry;
        p.vy += p.w * p.rx;
        p.w += v[i];
        ax -= w2 * p.rx;
        ay -= w2 * p.ry;
        p.cx = p.c * j->com.x - p.s * j->com.y;
        p.cy = p.s * j->com.x + p.c * j->com.y;
        w2 = p.w * p.w;
        p.fx = j->mass * (ax - w2 * p.cx);
        p.fy = j->mass * (ay - w2 * p.cy);
        p.t = p.cx * p.fy - p.cy * p.fx;
        links[i] = p;
    }
}

/* Joint accelerations. Back to the base force[i] becomes u = (tau - t) / I, and from the base out
 * alpha = u - b . a / I. */
void gw_planar_accelerations(const gw_chain *chain, gw_planar_link *links, double *force)
{
    double mxx = 0, mxy = 0, myy = 0, bx = 0, by = 0, inertia = 0, fx = 0, fy = 0, t = 0;
    for (int i = chain->def->count - 1; i >= 0; i--) {
        const gw_chain_link_state *j = &chain->states[i];
        gw_planar_link *p = &links[i];
        double m = j->mass, tau = force[i];
        mxx += m;
        myy += m;
        p->bx = bx - m * p->cy;
        p->by = by + m * p->cx;
        p->inverse = 1 / (inertia + j->inertia.zz + m * (p->cx * p->cx + p->cy * p->cy));
        force[i] = (tau - t - p->t) * p->inverse;
        double ux = p->bx * p->inverse, uy = p->by * p->inverse;
        mxx -= ux * p->bx;
        mxy -= ux * p->by;
        myy -= uy * p->by;
        fx += p->fx + p->bx * force[i];
        fy += p->fy + p->by * force[i];
        bx = mxy * p->rx - mxx * p->ry;
        by = myy * p->rx - mxy * p->ry;
        inertia = by * p->rx - bx * p->ry;
        t = tau + p->rx * fy - p->ry * fx;
    }
    double ax = 0, ay = 0, alpha = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_planar_link *p = &links[i];
        double before = alpha;
        ax -= alpha * p->ry;
        ay += alpha * p->rx;
        alpha = force[i] - p->inverse * (p->bx * ax + p->by * ay);
        force[i] = alpha - before;
    }
}

/* The link's axes, origin and twist in the world. */
static void planar_link_in_world(const gw_chain *chain, const gw_planar_link *p, gw_mat3 *r,
                                 gw_vec3 *at, gw_twist *twist)
{
    const gw_mat3 *plane = &chain->world_from_plane;
    for (int i = 0; i < 3; i++) {
        double x = plane->m[i][0], y = plane->m[i][1];
        r->m[i][0] = p->c * x + p->s * y;
        r->m[i][1] = p->c * y - p->s * x;
        r->m[i][2] = plane->m[i][2];
    }
    *at = gw_add(chain->states[0].origin, gw_mat3_mul(plane, gw_v3(p->x, p->y, p->z)));
    twist->v = gw_mat3_mul(plane, gw_v3(p->vx, p->vy, 0));
    twist->w = gw_mat3_mul(plane, gw_v3(0, 0, p->w));
}

/* Subtracts the in-plane part of a wrench at the link's origin from the bias force. */
static void planar_subtract_wrench(const gw_chain *chain, gw_planar_link *p, const gw_wrench *w)
{
    gw_vec3 f = gw_mat3_tmul(&chain->world_from_plane, w->f);
    gw_vec3 t = gw_mat3_tmul(&chain->world_from_plane, w->t);
    p->fx -= f.x;
    p->fy -= f.y;
    p->t -= t.z;
}

gw_wrench gw_planar_apply_hand(const gw_chain *chain, gw_planar_link *links,
                               const gw_forces *forces, double t, double *power)
{
    gw_planar_link *p = &links[gw_chain_held_link(chain->def)];
    gw_mat3 r;
    gw_vec3 at;
    gw_twist twist;
    planar_link_in_world(chain, p, &r, &at, &twist);
    gw_vec3 arm = gw_mat3_mul(&r, chain->held_point);
    gw_pose held = {gw_add(at, arm), gw_quat_mul(gw_quat_from_mat3(&r), chain->axes_from_held)};
    twist.v = gw_add(twist.v, gw_cross(twist.w, arm));
    gw_wrench w = forces->at(forces->context, t, &held, &twist);
    *power = gw_dot(w.f, twist.v) + gw_dot(w.t, twist.w);
    w.t = gw_add(w.t, gw_cross(arm, w.f));
    planar_subtract_wrench(chain, p, &w);
    return w;
}

gw_wrench gw_planar_apply_to_links(const gw_chain *chain, gw_planar_link *links,
                                   const gw_forces *forces, double t, double *power, double *pushed)
{
    gw_pose poses[GW_MAX_LINKS];
    gw_twist twists[GW_MAX_LINKS];
    gw_wrench on[GW_MAX_LINKS];
    int n = chain->def->count;
    memset(on, 0, (size_t)n * sizeof *on);
    int i = 0;
    do { /* a chain has a link */
        gw_mat3 r;
        planar_link_in_world(chain, &links[i], &r, &poses[i].p, &twists[i]);
        poses[i].q = gw_quat_mul(gw_quat_from_mat3(&r), chain->states[i].axes_from_link);
    } while (++i < n);
    if (forces && forces->touch)
        forces->touch(forces->touching, t, poses, twists, on);
    for (i = 0; i < n; i++) {
        if (chain->pushed) {
            const gw_wrench *p = &chain->pushed[i];
            on[i] = gw_wrench_add(on[i], *p);
            *pushed += gw_dot(p->f, twists[i].v) + gw_dot(p->t, twists[i].w);
        }
        *power += gw_dot(on[i].f, twists[i].v) + gw_dot(on[i].t, twists[i].w);
        planar_subtract_wrench(chain, &links[i], &on[i]);
    }
    return on[gw_chain_held_link(chain->def)];
}

/* True where all joints turn about axes of the first one's direction and sense. */
bool gw_chain_is_planar(const gw_chain *chain)
{
    for (int i = 0; i < chain->def->count; i++) {
        const gw_mat3 *r = &chain->states[i].parent_from_axes;
        if (chain->states[i].prismatic || (i > 0 && hypot(r->m[0][2], r->m[1][2]) > 1e-12) ||
            (i > 0 && r->m[2][2] < 0))
            return false;
    }
    return true;
}
