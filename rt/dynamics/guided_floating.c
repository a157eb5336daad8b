/*
 * The guided body that nothing guides: Newton and Euler directly, about its centre of mass c and in
 * its own axes, where the inertia I is constant and its inverse known.
 *
 *   m c'' = f,   I w' = R^T torque - w x I w,   q = q_0 exp(theta)
 *   theta' = w + theta x w / 2 + (1/12 + |theta|^2/720 + ...) theta x (theta x w)
 *
 * Runs on the loop's thread, RT safe.
 */
#include "rt/dynamics/guided_stage.h"
#include "rt/dynamics/runge_kutta.h"

#define FAR 0.05 /* turned by more in a step, the fourth order is not enough (rad) */

/* Where it is in a step: w in the body's axes, theta from the step's start. */
typedef struct motion {
    gw_vec3 c, v, theta, w;
} motion;

/* What changes it: c'', theta', w'. */
typedef struct rates {
    gw_vec3 fall, turn, spin;
} rates;

/* A stage's body as what acts on it sees it. */
typedef struct sight {
    gw_mat3 turned; /* world_from_body */
    gw_rigid_body rigid;
    gw_pose pose;
    gw_twist twist;
} sight;

/* By cofactors; what has no inertia has none that is finite. */
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

/* ---- coordinates: turning about the point `of`, and that point along the locus' axes -------- */

void gw_floating_jacobian(const gw_guided *body, double (*columns)[6])
{
    const gw_translation_set *t = &body->def.set.translation;
    gw_vec3 arm = gw_rotate(body->pose.q, t->of);
    gw_vec3 axis[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
            e[3] = {t->locus.e1, t->locus.e2, t->locus.e3};
    for (int k = 0; k < 3; k++) {
        put_column(columns[k], gw_cross(arm, axis[k]), axis[k]);
        put_column(columns[3 + k], e[k], gw_v3(0, 0, 0));
    }
}

void gw_floating_velocity(const gw_guided *body, double *v)
{
    const gw_translation_set *t = &body->def.set.translation;
    gw_vec3 w = body->twist.w, arm = gw_rotate(body->pose.q, t->of);
    gw_vec3 at = gw_add(body->twist.v, gw_cross(w, arm));
    gw_vec3 slide = {gw_dot(t->locus.e1, at), gw_dot(t->locus.e2, at), gw_dot(t->locus.e3, at)};
    put_column(v, w, slide);
}

/* The centre's velocity and the spin in the body's axes go on as numbers from step to step: taken
 * from the twist they would be rounded the same way each time, which shows in the energy. */
void gw_floating_set_twist(gw_guided *body, const gw_twist *twist)
{
    gw_vec3 com = gw_rotate(body->pose.q, body->def.mass.com);
    gw_vec3 v = gw_add(twist->v, gw_cross(twist->w, com)), w = gw_unrotate(body->pose.q, twist->w);
    body->twist = *twist;
    put_column(body->z_dot, v, w);
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

/* J^T f and D^-1 f need no matrix of six: a force at `of`, and what it turns about c. */
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
    put_column(answer, alpha, gw_v3(gw_dot(l->e1, a), gw_dot(l->e2, a), gw_dot(l->e3, a)));
}

/* ---- the step ------------------------------------------------------------------------------- */

static motion begin(const gw_guided *body)
{
    const double *z = body->z_dot;
    gw_vec3 com = gw_rotate(body->pose.q, body->def.mass.com);
    return (motion){gw_add(body->pose.p, com), {z[0], z[1], z[2]}, {0, 0, 0}, {z[3], z[4], z[5]}};
}

GW_STEP_INLINE sight look(const gw_guided *body, const motion *m)
{
    const gw_guided_def *def = &body->def;
    sight s;
    s.pose.q = gw_quat_mul(body->pose.q, gw_quat_exp(m->theta));
    s.turned = gw_quat_to_mat3(s.pose.q);
    s.rigid.com = gw_mat3_mul(&s.turned, def->mass.com);
    s.rigid.held = gw_mat3_mul(&s.turned, def->body_from_held.p);
    s.rigid.held_q = gw_quat_mul(s.pose.q, def->body_from_held.q);
    s.twist.w = gw_mat3_mul(&s.turned, m->w);
    s.pose.p = gw_sub(m->c, s.rigid.com);
    s.twist.v = gw_sub(m->v, gw_cross(s.twist.w, s.rigid.com));
    return s;
}

GW_STEP_INLINE rates change(const gw_guided *body, const motion *m, const gw_mat3 *turned,
                            const gw_load *load)
{
    const gw_mass *mass = &body->def.mass;
    gw_vec3 momentum = gw_mat3_mul(&mass->inertia, m->w);
    gw_vec3 torque = gw_sub(gw_mat3_tmul(turned, load->about_com.t), gw_cross(m->w, momentum));
    gw_vec3 across = gw_cross(m->theta, m->w);
    double t2 = gw_norm2(m->theta), bend = 1.0 / 12 + t2 * (1.0 / 720 + t2 / 30240);
    return (rates){
        gw_scale(1 / mass->mass, load->about_com.f),
        gw_mul_add(gw_mul_add(m->w, 0.5, across), bend, gw_cross(m->theta, across)),
        gw_mat3_mul(&body->inverse, torque),
    };
}

/* Where stage i, or the step's end (i = rk->stages), lies. */
GW_STEP_INLINE motion advance(const gw_tableau *rk, int i, double c, double h, const motion *from,
                              const rates *k)
{
    gw_vec3 none = {0, 0, 0}, gain = none, way = none, turn = none, spin = none;
    for (int j = 0; j < i; j++) {
        gain = gw_mul_add(gain, rk->a[i][j], k[j].fall);
        way = gw_mul_add(way, rk->aa[i][j], k[j].fall);
        turn = gw_mul_add(turn, rk->a[i][j], k[j].turn);
        spin = gw_mul_add(spin, rk->a[i][j], k[j].spin);
    }
    return (motion){gw_mul_add(from->c, h, gw_mul_add(gw_scale(c, from->v), h, way)),
                    gw_mul_add(from->v, h, gain), gw_scale(h, turn), gw_mul_add(from->w, h, spin)};
}

/* A force of springs and dampers bends within a step however smooth the formula: what touches is
 * asked four times, and the books are closed on it; but what turns far in a step is not spared. */
static const gw_tableau *tableau_for(const gw_forces *forces, const motion *from, double h)
{
    bool pressed = forces && forces->touch;
    return pressed && gw_norm2(from->w) * h * h < FAR * FAR ? &gw_kutta4 : &gw_butcher6;
}

void gw_floating_step(gw_guided *body, const gw_forces *forces, double h, gw_step *step)
{
    const motion from = begin(body);
    const gw_tableau *rk = tableau_for(forces, &from, h);
    rates k[GW_RK_MAX_STAGES];
    for (int i = 0; i < rk->stages; i++) {
        motion m = advance(rk, i, rk->c[i], h, &from, k);
        sight s = look(body, &m);
        gw_load load =
            gw_rigid_body_load(&body->def, &s.rigid, &s.pose, &s.twist, forces, rk->c[i] * h);
        k[i] = change(body, &m, &s.turned, &load);
        step->work += rk->b[i] * h * load.power;
        step->dissipated += rk->b[i] * h * load.dissipation;
    }
    motion m = advance(rk, rk->stages, 1, h, &from, k);
    sight end = look(body, &m);
    end.pose.q = gw_quat_unit(end.pose.q);
    step->finite = gw_finite_pose(&end.pose) && gw_finite3(end.twist.v) && gw_finite3(end.twist.w);
    if (!step->finite)
        return;
    body->pose = end.pose;
    body->twist = end.twist;
    put_column(body->z_dot, m.v, m.w);
}
