/*
 * The guided body without constraints: Newton-Euler equations about its centre of mass c, in body
 * axes, where the inertia I is constant and its inverse known.
 *
 *   m c'' = f,   I w' = R^T torque - w x I w,   q = q_0 exp(theta)
 *   theta' = w + theta x w / 2 + (1/12 + |theta|^2/720 + ...) theta x (theta x w)
 *
 * Runs on the loop's thread, RT safe.
 */
#include "rt/base/simd.h"
#include "rt/dynamics/rigid_body.h"
#include "rt/dynamics/runge_kutta.h"

#define FAR 0.05 /* rad of rotation in a step above which sixth order is used */

/* State during a step: centre of mass and its velocity, rotation vector theta since the step's
 * start, angular velocity w in body axes. */
typedef struct motion {
    gw_vec3 c, v, theta, w;
} motion;

/* Its rates c'', theta', w'. */
typedef struct rates {
    gw_vec3 c_ddot, theta_dot, w_dot;
} rates;

/* The body at a stage, in world axes. */
typedef struct body_state {
    gw_mat3 rotation; /* world_from_body */
    gw_rigid_body rigid;
    gw_pose pose;
    gw_twist twist;
} body_state;

/* By cofactors; not finite where a principal moment is zero. */
gw_mat3 gw_inertia_inverse(const gw_mat3 *inertia)
{
    const double(*m)[3] = inertia->m;
    gw_vec3 a = {m[0][0], m[1][0], m[2][0]}, b = {m[0][1], m[1][1], m[2][1]},
            c = {m[0][2], m[1][2], m[2][2]};
    gw_vec3 row[3] = {gw_cross(b, c), gw_cross(c, a), gw_cross(a, b)};
    double det = gw_dot(a, row[0]);
    gw_mat3 out;
    for (int i = 0; i < 3; i++) {
        gw_vec3 r = gw_scale(1 / det, row[i]);
        memcpy(out.m[i], (double[3]){r.x, r.y, r.z}, sizeof out.m[i]);
    }
    return out;
}

/* ---- coordinates: rotation about the point `of`, and that point along the axes of the locus - */

void gw_floating_jacobian(const gw_guided *body, double (*columns)[6])
{
    const gw_translation_set *t = &body->def.set.translation;
    gw_vec3 arm = gw_rotate(body->pose.q, t->of);
    gw_vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
            e[3] = {t->locus.e1, t->locus.e2, t->locus.e3};
    for (int k = 0; k < 3; k++) {
        gw_spatial_set(columns[k], gw_cross(arm, axis[k]), axis[k]);
        gw_spatial_set(columns[3 + k], e[k], gw_v3(0, 0, 0));
    }
}

/* force += J^T wrench: column k of the rotations is (arm x e_k, e_k). */
void gw_floating_pull_back(const gw_guided *body, const gw_wrench *wrench, double *force)
{
    const gw_translation_set *t = &body->def.set.translation;
    gw_vec3 arm = gw_rotate(body->pose.q, t->of), f = wrench->f;
    force[0] += (arm.z * f.y - arm.y * f.z) + wrench->t.x;
    force[1] += (arm.x * f.z - arm.z * f.x) + wrench->t.y;
    force[2] += (arm.y * f.x - arm.x * f.y) + wrench->t.z;
    force[3] += gw_dot(t->locus.e1, f);
    force[4] += gw_dot(t->locus.e2, f);
    force[5] += gw_dot(t->locus.e3, f);
}

void gw_floating_velocity(const gw_guided *body, double *v)
{
    const gw_translation_set *t = &body->def.set.translation;
    gw_vec3 w = body->twist.w, arm = gw_rotate(body->pose.q, t->of);
    gw_vec3 at = gw_add(body->twist.v, gw_cross(w, arm));
    gw_vec3 slide = {gw_dot(t->locus.e1, at), gw_dot(t->locus.e2, at), gw_dot(t->locus.e3, at)};
    gw_spatial_set(v, w, slide);
}

/* The velocity of the centre of mass and the angular velocity in body axes are kept from step to
 * step: computed from the twist their rounding errors would accumulate, which is visible in the
 * energy. */
void gw_floating_set_twist(gw_guided *body, const gw_twist *twist)
{
    gw_vec3 com = gw_rotate(body->pose.q, body->def.mass.com);
    gw_vec3 v = gw_add(twist->v, gw_cross(twist->w, com)), w = gw_unrotate(body->pose.q, twist->w);
    body->twist = *twist;
    gw_spatial_set(body->z_dot, v, w);
}

void gw_floating_kick(gw_guided *body, const double *dv)
{
    const gw_locus *l = &body->def.set.translation.locus;
    gw_vec3 arm = gw_rotate(body->pose.q, body->def.set.translation.of);
    gw_vec3 dw = {dv[0], dv[1], dv[2]};
    gw_vec3 at = gw_mul_add(gw_mul_add(gw_scale(dv[3], l->e1), dv[4], l->e2), dv[5], l->e3);
    gw_twist twist = {gw_add(body->twist.v, gw_sub(at, gw_cross(dw, arm))),
                      gw_add(body->twist.w, dw)};
    gw_floating_set_twist(body, &twist);
}

/* D^-1 f without a 6 x 6 matrix: a force at `of`, and its torque about c. */
GW_TARGET_CLONES
void gw_floating_apply_inverse(const gw_guided *body, const double *force, double *answer)
{
    const gw_translation_set *t = &body->def.set.translation;
    const gw_locus *l = &t->locus;
    gw_vec3 f = gw_mul_add(gw_scale(force[3], l->e1), force[4], l->e2);
    f = gw_mul_add(f, force[5], l->e3);
    gw_mat3 r = gw_quat_to_mat3(body->pose.q);
    gw_vec3 from_com = gw_mat3_mul(&r, gw_sub(t->of, body->def.mass.com));
    gw_vec3 torque = gw_add(gw_v3(force[0], force[1], force[2]), gw_cross(from_com, f));
    gw_vec3 spin = gw_mat3_mul(&body->inverse, gw_mat3_tmul(&r, torque));
    gw_vec3 alpha = gw_mat3_mul(&r, spin);
    gw_vec3 a = gw_add(gw_scale(1 / body->def.mass.mass, f), gw_cross(alpha, from_com));
    gw_spatial_set(answer, alpha, gw_v3(gw_dot(l->e1, a), gw_dot(l->e2, a), gw_dot(l->e3, a)));
}

/* ---- the step ------------------------------------------------------------------------------- */

static motion initial_motion(const gw_guided *body)
{
    const double *z = body->z_dot;
    gw_vec3 com = gw_rotate(body->pose.q, body->def.mass.com);
    return (motion){gw_add(body->pose.p, com), {z[0], z[1], z[2]}, {0, 0, 0}, {z[3], z[4], z[5]}};
}

/* `held`: also the held frame, which only a hand and damping need. */
GW_STEP_INLINE body_state state_at(const gw_guided *body, const motion *m, bool held)
{
    const gw_guided_def *def = &body->def;
    body_state s;
    s.pose.q = gw_quat_mul(body->pose.q, gw_quat_exp(m->theta));
    s.rotation = gw_quat_to_mat3(s.pose.q);
    s.rigid.com = gw_mat3_mul(&s.rotation, def->mass.com);
    if (held) {
        s.rigid.held = gw_mat3_mul(&s.rotation, def->body_from_held.p);
        s.rigid.held_q = gw_quat_mul(s.pose.q, def->body_from_held.q);
    }
    s.twist.w = gw_mat3_mul(&s.rotation, m->w);
    s.pose.p = gw_sub(m->c, s.rigid.com);
    s.twist.v = gw_sub(m->v, gw_cross(s.twist.w, s.rigid.com));
    return s;
}

GW_STEP_INLINE rates rates_at(const gw_guided *body, const motion *m, const gw_mat3 *rotation,
                              const gw_load *load)
{
    const gw_mass *mass = &body->def.mass;
    gw_vec3 momentum = gw_mat3_mul(&mass->inertia, m->w);
    gw_vec3 torque = gw_sub(gw_mat3_tmul(rotation, load->about_com.t), gw_cross(m->w, momentum));
    gw_vec3 across = gw_cross(m->theta, m->w);
    double t2 = gw_norm2(m->theta), bend = 1.0 / 12 + t2 * (1.0 / 720 + t2 / 30240);
    return (rates){
        gw_scale(1 / mass->mass, load->about_com.f),
        gw_mul_add(gw_mul_add(m->w, 0.5, across), bend, gw_cross(m->theta, across)),
        gw_mat3_mul(&body->inverse, torque),
    };
}

/* The load on a body without hand and damping: contacts and weight. */
GW_STEP_INLINE gw_load undriven_load(const gw_guided *body, const body_state *s,
                                     const gw_forces *forces, double t)
{
    gw_wrench on = {{0, 0, 0}, {0, 0, 0}};
    if (forces && forces->contact_wrenches)
        on = gw_rigid_body_contact_wrench(&s->rigid, &s->pose, &s->twist, forces, t);
    on.f = gw_mul_add(on.f, body->def.mass.mass, body->def.gravity);
    return (gw_load){on, 0, 0};
}

/*
 * c'' and w' under damping that lags (gw_rigid_body_lagging): with e from the centre of mass to the
 * held frame, world axes,
 *
 *   [m + k, -k [e]; k [e], I + j - k [e] [e]] [c''; alpha] = [f; torque],  k = lag C, j = lag C_w
 *
 * The power dissipated is added to that of the load.
 */
static void damped_rates(const gw_guided *body, const body_state *s, gw_load *load, rates *r)
{
    const gw_guided_def *def = &body->def;
    double k = body->lag * def->damping_linear, j = body->lag * def->damping_angular, m[6][6];
    double mass = def->mass.mass;
    gw_vec3 e = gw_sub(s->rigid.held, s->rigid.com);
    gw_mat3 inertia = gw_inertia_turned(&s->rotation, &def->mass.inertia);
    double skew[3][3] = {{0, -e.z, e.y}, {e.z, 0, -e.x}, {-e.y, e.x, 0}}, at[3] = {e.x, e.y, e.z};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            m[a][b] = a == b ? mass + k : 0;
            m[3 + a][b] = k * skew[a][b];
            m[3 + a][3 + b] =
                inertia.m[a][b] + (a == b ? j + k * gw_norm2(e) : 0) - k * at[a] * at[b];
        }
    gw_vec3 f = gw_scale(mass, r->c_ddot), spin = gw_mat3_mul(&def->mass.inertia, r->w_dot);
    gw_vec3 t = gw_mat3_mul(&s->rotation, spin);
    double x[6] = {f.x, f.y, f.z, t.x, t.y, t.z};
    if (!gw_ldl(m, 6))
        return;
    gw_ldl_solve(m, 6, x);
    gw_vec3 alpha = {x[3], x[4], x[5]};
    r->c_ddot = gw_v3(x[0], x[1], x[2]);
    r->w_dot = gw_mat3_tmul(&s->rotation, alpha);
    gw_vec3 of_origin = gw_sub(r->c_ddot, gw_cross(alpha, s->rigid.com));
    gw_wrench more = gw_rigid_body_lagging(def, &s->rigid, body->lag, of_origin, alpha);
    load->dissipation += gw_rigid_body_dissipates(&s->rigid, &more, &s->twist);
}

/* The state at stage i, or at the step's end (i = rk->stages). */
GW_STEP_INLINE motion advance(const gw_tableau *rk, int i, double c, double h, const motion *from,
                              const rates *k)
{
    gw_vec3 none = {0, 0, 0}, gain = none, displacement = none, turn = none, spin = none;
#pragma GCC unroll 8
    for (int j = 0; j < i; j++) {
        double first = rk->a[i][j], second = rk->aa[i][j];
        if (second != 0)
            displacement = gw_mul_add(displacement, second, k[j].c_ddot);
        if (first == 0)
            continue;
        gain = gw_mul_add(gain, first, k[j].c_ddot);
        turn = gw_mul_add(turn, first, k[j].theta_dot);
        spin = gw_mul_add(spin, first, k[j].w_dot);
    }
    return (motion){gw_mul_add(from->c, h, gw_mul_add(gw_scale(c, from->v), h, displacement)),
                    gw_mul_add(from->v, h, gain), gw_scale(h, turn), gw_mul_add(from->w, h, spin)};
}

/* All stages of a body without hand and damping. Without contacts (`touched` false) its load is its
 * constant weight. `rk` is a compile-time constant, so that loops unroll. */
GW_STEP_INLINE motion undriven_stages(const gw_guided *body, const gw_tableau *rk,
                                      const gw_forces *forces, bool touched, double h)
{
    const motion from = initial_motion(body);
    const gw_wrench weight = {gw_scale(body->def.mass.mass, body->def.gravity), {0, 0, 0}};
    rates k[GW_RK_MAX_STAGES];
#pragma GCC unroll 8
    for (int i = 0; i < rk->stages; i++) {
        motion m = advance(rk, i, rk->c[i], h, &from, k);
        gw_mat3 rotation = {{{0}}};
        gw_load load = {weight, 0, 0};
        if (touched) {
            body_state s = state_at(body, &m, false);
            load = undriven_load(body, &s, forces, rk->c[i] * h);
            rotation = s.rotation;
        }
        k[i] = rates_at(body, &m, &rotation, &load);
    }
    return advance(rk, rk->stages, 1, h, &from, k);
}

GW_TARGET_CLONES
static motion touched_stages(const gw_guided *body, const gw_forces *forces, double h)
{
    return undriven_stages(body, &gw_kutta4, forces, true, h);
}

GW_TARGET_CLONES
static motion flying_stages(const gw_guided *body, double h)
{
    return undriven_stages(body, &gw_butcher6, NULL, false, h);
}

/* All stages of any other body. */
static motion all_stages(const gw_guided *body, const gw_tableau *rk, const gw_forces *forces,
                         double h, gw_step *step)
{
    const motion from = initial_motion(body);
    const gw_guided_def *def = &body->def;
    bool driven = (forces && forces->at) || def->damping_linear != 0 || def->damping_angular != 0;
    rates k[GW_RK_MAX_STAGES];
    for (int i = 0; i < rk->stages; i++) {
        motion m = advance(rk, i, rk->c[i], h, &from, k);
        body_state s = state_at(body, &m, driven);
        double t = rk->c[i] * h;
        gw_load load = driven ? gw_rigid_body_load(def, &s.rigid, &s.pose, &s.twist, forces, t)
                              : undriven_load(body, &s, forces, t);
        k[i] = rates_at(body, &m, &s.rotation, &load);
        if (__builtin_expect(body->lag > 0, 0))
            damped_rates(body, &s, &load, &k[i]);
        step->work += rk->b[i] * h * load.power;
        step->dissipated += rk->b[i] * h * load.dissipation;
    }
    return advance(rk, rk->stages, 1, h, &from, k);
}

/* Contact forces of springs and dampers have kinks within a step, where a higher order gains
 * nothing: with contacts the classic four stages are used, unless the body rotates far in a step or
 * damping lags. */
void gw_floating_step(gw_guided *body, const gw_forces *forces, double h, gw_step *step)
{
    const gw_guided_def *def = &body->def;
    bool driven = (forces && forces->at) || def->damping_linear != 0 || def->damping_angular != 0;
    bool touched = forces && forces->contact_wrenches;
    gw_vec3 spin = gw_angular_part(body->z_dot);
    bool far = gw_norm2(spin) * h * h >= FAR * FAR || body->lag > 0;
    motion m;
    if (!driven && !touched)
        m = flying_stages(body, h);
    else if (!driven && !far)
        m = touched_stages(body, forces, h);
    else
        m = all_stages(body, touched && !far ? &gw_kutta4 : &gw_butcher6, forces, h, step);
    body_state end = state_at(body, &m, false);
    end.pose.q = gw_quat_unit(end.pose.q);
    step->finite = gw_finite_pose(&end.pose) && gw_finite3(end.twist.v) && gw_finite3(end.twist.w);
    if (!step->finite)
        return;
    body->pose = end.pose;
    body->twist = end.twist;
    gw_spatial_set(body->z_dot, m.v, m.w);
}
