/*
 * Trees of a system: kinematics, and the articulated-body algorithm. RT safe.
 *
 * Everything is in world axes, each body about its own origin, spatial vectors ordered [v; w] and
 * [f; t]. With r from the parent's origin to the body's:
 *
 *   v = v_p + w_p x r + S_v u,   w = w_p + S_w u
 *   a = a_p + alpha_p x r + c_v + S_v u-dot,     c_v = w_p x (w_p x r) + 2 w_p x S_v u + S_v-dot u
 *   alpha = alpha_p + c_w + S_w u-dot,           c_w = w_p x S_w u + S_w-dot u
 *
 * On a moving ground these are the ground's instead of the parent's. S-dot u is what the columns
 * change by as the joint itself moves. The accelerations at u-dot = 0, `coasting`, are summed up
 * first, with the momentum rates that they ask for, so that the passes of the articulated-body
 * algorithm are linear: u-dot by forces.
 */
#include <math.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/dynamics/system_private.h"

/* ---- kinematics ------------------------------------------------------------------------------ */

const gw_system_body gw_ground_body = {
    .pose = {{0, 0, 0}, {1, 0, 0, 0}},
    .turn = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    .flat = {.cosine = 1, .half = {1, 0}, .upright = {1, 0, 0, 0}}};

/* Near 1 the reciprocal root of the squared norm is 1.5 less half of it. */
static gw_quat renormalise(gw_quat q)
{
    double by = 1.5 - 0.5 * (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return (gw_quat){by * q.w, by * q.x, by * q.y, by * q.z};
}

static gw_vec3 z_axis(gw_quat q)
{
    return gw_v3(2 * (q.x * q.z + q.w * q.y), 2 * (q.y * q.z - q.w * q.x),
                 1 - 2 * (q.x * q.x + q.y * q.y));
}

/* q times a turn about z. */
static gw_quat turned_about_z(gw_quat q, double angle)
{
    double c = cos(0.5 * angle), s = sin(0.5 * angle);
    return (gw_quat){q.w * c - q.z * s, q.x * c + q.y * s, q.y * c - q.x * s, q.z * c + q.w * s};
}

/* The pose of M in the world from that of F, and the columns about M's origin. */
static gw_pose move_m(gw_system_body *k, const gw_pose *f)
{
    gw_vec3 v[6], w[6], zero = {0, 0, 0};
    if (k->def.joint == GW_MOBILIZER_REVOLUTE) {
        gw_spatial_set(k->columns[0], zero, z_axis(f->q));
        return (gw_pose){f->p, turned_about_z(f->q, k->joint.z[0])};
    }
    if (k->def.joint == GW_MOBILIZER_PRISMATIC) {
        gw_vec3 axis = z_axis(f->q);
        gw_spatial_set(k->columns[0], axis, zero);
        return (gw_pose){gw_mul_add(f->p, k->joint.z[0], axis), f->q};
    }
    k->f_turn = f->q;
    if (!k->set && k->def.joint == GW_MOBILIZER_PLANAR) {
        gw_mat3 m = gw_quat_to_mat3(f->q);
        gw_vec3 x = gw_v3(m.m[0][0], m.m[1][0], m.m[2][0]);
        gw_vec3 y = gw_v3(m.m[0][1], m.m[1][1], m.m[2][1]);
        gw_spatial_set(k->columns[0], x, zero);
        gw_spatial_set(k->columns[1], y, zero);
        gw_spatial_set(k->columns[2], zero, gw_v3(m.m[0][2], m.m[1][2], m.m[2][2]));
        gw_vec3 at = gw_mul_add(gw_mul_add(f->p, k->joint.z[0], x), k->joint.z[1], y);
        return (gw_pose){at, turned_about_z(f->q, k->joint.z[2])};
    }
    gw_pose f_from_m = k->set ? gw_set_joint_pose(k, v, w)
                              : gw_mobilizer_pose(k->def.joint, k->def.pitch, &k->joint, v, w);
    for (int j = 0; j < k->dof; j++)
        gw_spatial_set(k->columns[j], gw_rotate(f->q, v[j]), gw_rotate(f->q, w[j]));
    return gw_pose_mul(f, &f_from_m);
}

/* The same for a reversed joint: the pose of F from that of M; columns about M's origin. */
static gw_pose move_f(gw_system_body *k, const gw_pose *m)
{
    gw_vec3 v[6], w[6];
    gw_pose f_from_m = gw_mobilizer_pose(k->def.joint, k->def.pitch, &k->joint, v, w);
    gw_pose m_from_f = gw_pose_inverse(&f_from_m), f = gw_pose_mul(m, &m_from_f);
    for (int j = 0; j < k->dof; j++)
        gw_spatial_set(k->columns[j], gw_neg(gw_rotate(f.q, v[j])), gw_neg(gw_rotate(f.q, w[j])));
    return f;
}

/* Applies the offset to the joint's frame on the parent. */
static gw_pose offset_frame(const gw_system *s, gw_joint_offset *o, const gw_pose *frame)
{
    gw_pose by = {gw_scale(s->apart_now, o->shift), gw_quat_exp(gw_scale(s->apart_now, o->turn))};
    o->frame = gw_pose_mul(frame, &by);
    o->v = gw_rotate(frame->q, gw_scale(s->apart.rate, o->shift));
    o->w = gw_rotate(frame->q, gw_scale(s->apart.rate, o->turn));
    return o->frame;
}

/* Mass and damping of the body in the world's axes, by k->pose.q. */
static inline __attribute__((always_inline)) void turn_body(gw_system_body *k)
{
    k->turn = gw_quat_to_mat3(k->pose.q);
    k->com = gw_mat3_mul(&k->turn, k->def.mass.com);
    if (k->damping_rate > 0)
        k->damper = gw_mat3_mul(&k->turn, k->def.damping_at);
    k->inertia_com = k->has_principal_axes ? gw_sym3_turned_diagonal(&k->turn, &k->inertia_in_body)
                                           : gw_sym3_turned(&k->turn, &k->inertia_in_body);
}

/* Of a joint that turns about the body's origin: with F and B the orientations of its frame on the
 * parent and of the body in M, cos(z / 2) F B + sin(z / 2) F k B is the body's in the parent. */
static inline __attribute__((always_inline)) void
update_hinge_position(gw_system_body *k, const gw_system_body *p, bool in_stage)
{
    double half[2];
    gw_turn_half(&k->begin, k->joint.z[0], in_stage, half);
    const double c = half[0], s = half[1];
    const gw_quat *a = &k->upright, *b = &k->crossed;
    gw_quat q = {c * a->w + s * b->w, c * a->x + s * b->x, c * a->y + s * b->y,
                 c * a->z + s * b->z};
    k->r = p ? gw_mat3_mul(&p->turn, k->def.parent_from_f.p) : k->def.parent_from_f.p;
    k->pose.p = p ? gw_add(p->pose.p, k->r) : k->r;
    k->pose.q = renormalise(p ? gw_quat_mul(p->pose.q, q) : q);
    turn_body(k);
    gw_spatial_set(k->columns[0], gw_v3(0, 0, 0), gw_mat3_mul(&k->turn, k->axis));
}

/* The same of any joint. */
static inline __attribute__((always_inline)) void update_position(gw_system *s, gw_system_body *k,
                                                                  const gw_system_body *p)
{
    gw_pose joint = k->def.parent_from_f;
    if (p) {
        joint.p = gw_add(p->pose.p, gw_mat3_mul(&p->turn, joint.p));
        joint.q = gw_quat_mul(p->pose.q, joint.q);
    }
    if (s->is_offset)
        joint = offset_frame(s, &s->offsets[k - s->bodies], &joint);
    gw_pose moved = k->def.reversed ? move_f(k, &joint) : move_m(k, &joint);
    /* columns about the body's origin */
    gw_vec3 m_at = k->def.reversed ? joint.p : moved.p;
    k->pose = moved;
    if (k->turned_at_joint && !k->is_at_joint)
        k->pose.q = gw_quat_mul(moved.q, k->m_from_body.q);
    else if (!k->is_at_joint)
        k->pose = gw_pose_mul(&moved, &k->m_from_body);
    k->pose.q = renormalise(k->pose.q);
    k->arm = gw_sub(k->pose.p, m_at);
    if (!k->turned_at_joint)
        for (int j = 0; j < k->dof; j++) {
            double *column = k->columns[j];
            gw_vec3 w = gw_angular_part(column);
            gw_spatial_set(column, gw_add(gw_linear_part(column), gw_cross(w, k->arm)), w);
        }
    k->r = p ? gw_sub(k->pose.p, p->pose.p) : k->pose.p;
    turn_body(k);
}

/*
 * The rate of momentum [f; t] about the body's origin where its acceleration is [a; alpha]:
 *
 *   f = m (a + alpha x c + w x (w x c)),   t = I_c alpha + w x I_c w + c x f
 */
gw_wrench gw_tree_momentum_rate(const gw_system_body *k, gw_vec3 a, gw_vec3 alpha)
{
    gw_vec3 w = k->twist.w;
    gw_vec3 at_com = gw_add(a, gw_add(gw_cross(alpha, k->com), gw_cross(w, gw_cross(w, k->com))));
    gw_vec3 f = gw_scale(k->def.mass.mass, at_com);
    gw_vec3 spin = gw_cross(w, gw_sym3_mul(&k->inertia_com, w));
    gw_vec3 t = gw_add(gw_add(gw_sym3_mul(&k->inertia_com, alpha), spin), gw_cross(k->com, f));
    return (gw_wrench){f, t};
}

/* The offset frame as the carrier of the joint: with d from the parent's origin,
 *   v = v_p + w_p x d + v_o,   a = a_p + alpha_p x d + w_p x (w_p x d) + 2 w_p x v_o,
 *   w = w_p + w_o,             alpha = alpha_p + w_p x w_o */
static gw_system_body moving_frame(const gw_joint_offset *o, const gw_system_body *p)
{
    gw_system_body f = {.pose = o->frame, .twist = {o->v, o->w}};
    if (!p)
        return f;
    gw_twist c = gw_bias_acceleration_of(p);
    gw_vec3 w = p->twist.w, d = gw_sub(o->frame.p, p->pose.p), carried = gw_cross(w, d);
    f.twist.v = gw_add(o->v, gw_add(p->twist.v, carried));
    f.twist.w = gw_add(o->w, w);
    gw_vec3 a = gw_add(gw_cross(c.w, d), gw_cross(w, gw_mul_add(carried, 2, o->v)));
    gw_spatial_set(f.coasting, gw_add(c.v, a), gw_add(c.w, gw_cross(w, o->w)));
    return f;
}

/* For a hinge; r: from the origin of the carrier p to the body's. */
static inline __attribute__((always_inline)) void
update_hinge_velocity(gw_system_body *k, const gw_system_body *p, gw_vec3 r)
{
    gw_vec3 rel_w = gw_scale(k->joint.u[0], gw_angular_part(k->columns[0]));
    gw_vec3 c_v = {0, 0, 0}, c_w = {0, 0, 0};
    k->twist = (gw_twist){c_v, rel_w};
    if (p) {
        gw_vec3 w_p = p->twist.w, carried = gw_cross(w_p, r);
        gw_twist coasting = gw_bias_acceleration_of(p);
        k->twist.v = gw_add(p->twist.v, carried);
        k->twist.w = gw_add(rel_w, w_p);
        c_v = gw_add(gw_cross(w_p, carried), gw_add(coasting.v, gw_cross(coasting.w, r)));
        c_w = gw_add(gw_cross(w_p, rel_w), coasting.w);
    }
    gw_spatial_set(k->coasting, c_v, c_w);
    k->needed = gw_tree_momentum_rate(k, c_v, c_w);
}

/* The same of any joint. */
static inline __attribute__((always_inline)) void
update_velocity(gw_system_body *k, const gw_system_body *p, gw_vec3 r)
{
    gw_vec3 rel_v = {0, 0, 0}, rel_w = {0, 0, 0}, c_v = {0, 0, 0}, c_w = {0, 0, 0};
    for (int j = 0; j < k->dof; j++) {
        rel_v = gw_mul_add(rel_v, k->joint.u[j], gw_linear_part(k->columns[j]));
        rel_w = gw_mul_add(rel_w, k->joint.u[j], gw_angular_part(k->columns[j]));
    }
    if (gw_mobilizers[k->def.joint].second_turns)
        c_w = gw_scale((k->def.reversed ? -1 : 1) * k->joint.u[0] * k->joint.u[1],
                       gw_cross(gw_angular_part(k->columns[0]), gw_angular_part(k->columns[1])));
    if (k->set) {
        gw_vec3 v[6], w[6];
        gw_set_joint_pose(k, v, w);
        c_v = gw_rotate(k->f_turn, k->set->bias.v);
        c_w = gw_rotate(k->f_turn, k->set->bias.w);
    }
    if (!k->turned_at_joint) {
        gw_vec3 around = gw_cross(rel_w, k->arm);
        c_v = gw_add(c_v, gw_add(gw_cross(c_w, k->arm), gw_cross(rel_w, around)));
        /* columns are at rest in F: where that is the body's own frame they turn with it */
        if (k->def.reversed)
            c_v = gw_add(c_v, gw_scale(2, gw_cross(rel_w, gw_sub(rel_v, around))));
    }
    k->twist = (gw_twist){rel_v, rel_w};
    if (p) {
        gw_vec3 w_p = p->twist.w, carried = gw_cross(w_p, r);
        gw_twist coasting = gw_bias_acceleration_of(p);
        k->twist.v = gw_add(rel_v, gw_add(p->twist.v, carried));
        k->twist.w = gw_add(rel_w, w_p);
        c_v = gw_add(c_v, gw_cross(w_p, gw_mul_add(carried, 2, rel_v)));
        c_v = gw_add(c_v, gw_add(coasting.v, gw_cross(coasting.w, r)));
        c_w = gw_add(gw_add(c_w, gw_cross(w_p, rel_w)), coasting.w);
    }
    gw_spatial_set(k->coasting, c_v, c_w);
    k->needed = gw_tree_momentum_rate(k, c_v, c_w);
}

static void update_apart(const gw_system *s, gw_system_body *k)
{
    const gw_joint_offset *o = &s->offsets[k - s->bodies];
    gw_system_body frame = moving_frame(o, gw_parent_or_ground_of(s, k));
    update_velocity(k, &frame, gw_sub(k->pose.p, o->frame.p));
}

/* The body's own inertia about its origin, and h times its damping; c is its centre of mass. */
static inline void set_rigid_inertia(gw_system_body *k, double h)
{
    double m = k->def.mass.mass, x = k->com.x, y = k->com.y, z = k->com.z;
    const gw_vec3 s = gw_v3(m * x, m * y, m * z);
    const gw_sym3 *c = &k->inertia_com;
    gw_articulated *out = &k->inertia;
    *out = (gw_articulated){.m = {m, 0, m, 0, 0, m},
                            .b = {{{0, s.z, -s.y}, {-s.z, 0, s.x}, {s.y, -s.x, 0}}},
                            .i = {c->xx + m * (y * y + z * z), c->yx - m * x * y,
                                  c->yy + m * (x * x + z * z), c->zx - m * x * z, c->zy - m * y * z,
                                  c->zz + m * (x * x + y * y)}};
    if (h == 0 || k->damping_rate == 0)
        return;
    double d = h * k->def.damping_linear, turn = h * k->def.damping_angular;
    const gw_vec3 r = k->damper, l = gw_v3(s.x + d * r.x, s.y + d * r.y, s.z + d * r.z);
    out->m.xx += d, out->m.yy += d, out->m.zz += d;
    out->b = (gw_mat3){{{0, l.z, -l.y}, {-l.z, 0, l.x}, {l.y, -l.x, 0}}};
    out->i.xx += turn + d * (r.y * r.y + r.z * r.z);
    out->i.yx -= d * r.x * r.y;
    out->i.yy += turn + d * (r.x * r.x + r.z * r.z);
    out->i.zx -= d * r.x * r.z;
    out->i.zy -= d * r.y * r.z;
    out->i.zz += turn + d * (r.x * r.x + r.y * r.y);
}

/* Not inlined: a single copy keeps the code of a step within the instruction cache. */
GW_TARGET_CLONES
static __attribute__((noinline)) void place_in_space(gw_system *s, gw_system_body *k)
{
    if (k->is_hinge && !s->is_offset)
        update_hinge_position(k, gw_parent_or_ground_of(s, k), s->in_stage);
    else
        update_position(s, k, gw_parent_or_ground_of(s, k));
}

GW_TARGET_CLONES
static __attribute__((noinline)) void move_in_space(const gw_system *s, gw_system_body *k)
{
    if (s->is_offset)
        update_apart(s, k);
    else if (k->is_hinge)
        update_hinge_velocity(k, gw_parent_or_ground_of(s, k), k->r);
    else
        update_velocity(k, gw_parent_or_ground_of(s, k), k->r);
}

static void move_to_position(gw_system *s, int index)
{
    gw_system_body *k = &s->bodies[index];
    if (!k->flat.plane) {
        place_in_space(s, k);
        return;
    }
    gw_planar_update_position(k, k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL, s->in_stage,
                              !s->flat_only || index == s->held);
}

static void move_at_velocity(gw_system *s, int index)
{
    gw_system_body *k = &s->bodies[index];
    if (!k->flat.plane) {
        move_in_space(s, k);
        return;
    }
    gw_planar_update_velocity(k, k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL,
                              !s->flat_only || index == s->held);
}

void gw_tree_update_positions(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++)
        move_to_position(s, i);
}

void gw_tree_update_velocities(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++)
        move_at_velocity(s, i);
}

void gw_tree_update(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        if (k->flat.plane) {
            gw_planar_update(k, k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL, s->in_stage,
                             !s->flat_only || i == s->held, s->one_pass);
            continue;
        }
        place_in_space(s, k);
        move_in_space(s, k);
        if (s->one_pass)
            set_rigid_inertia(k, 0);
    }
}

/* ---- the articulated-body algorithm --------------------------------------------------------- */

/* B^T a */
static gw_vec3 transposed_mul(const gw_mat3 *b, gw_vec3 a)
{
    return gw_v3(b->m[0][0] * a.x + b->m[1][0] * a.y + b->m[2][0] * a.z,
                 b->m[0][1] * a.x + b->m[1][1] * a.y + b->m[2][1] * a.z,
                 b->m[0][2] * a.x + b->m[1][2] * a.y + b->m[2][2] * a.z);
}

/* S^T f of a single coordinate; a += S u. */
static inline double along_column(const gw_system_body *k, const double f[6])
{
    return k->is_hinge ? gw_dot3(k->columns[0] + 3, f + 3) : gw_dot6(k->columns[0], f);
}

static inline void add_column(const gw_system_body *k, double u, gw_twist *a)
{
    if (!k->is_hinge)
        a->v = gw_mul_add(a->v, u, gw_linear_part(k->columns[0]));
    a->w = gw_mul_add(a->w, u, gw_angular_part(k->columns[0]));
}

/* f - U x of a single coordinate, as it is at the parent's origin, onto the parent. */
static inline void pass_rest(const gw_system_body *k, double x, gw_system_body *p)
{
    const double *f = k->force, *u = k->pulled[0];
    double rest[6] = {f[0] - u[0] * x, f[1] - u[1] * x, f[2] - u[2] * x,
                      f[3] - u[3] * x, f[4] - u[4] * x, f[5] - u[5] * x};
    if (p->flat.plane)
        gw_planar_add_wrench(rest, k->r, p);
    else
        gw_spatial_add_shifted(rest, k->r, p->force);
}

/* U = I^A S of one column. */
static void pull_column(const gw_articulated *x, const double column[6], double pulled[6])
{
    gw_vec3 v = gw_linear_part(column), w = gw_angular_part(column);
    gw_spatial_set(pulled, gw_add(gw_sym3_mul(&x->m, v), gw_mat3_mul(&x->b, w)),
                   gw_add(transposed_mul(&x->b, v), gw_sym3_mul(&x->i, w)));
}

/* The same of a column that turns about the body's origin. */
static void pull_turn(const gw_articulated *x, const double column[6], double pulled[6])
{
    gw_vec3 w = gw_angular_part(column);
    gw_spatial_set(pulled, gw_mat3_mul(&x->b, w), gw_sym3_mul(&x->i, w));
}

/* x -= u u^T by */
static void subtract_square(gw_articulated *x, const double u[6], double by)
{
    gw_vec3 f = gw_linear_part(u), t = gw_angular_part(u);
    gw_vec3 g = gw_scale(by, f), h = gw_scale(by, t);
    double(*b)[3] = x->b.m;
    x->m.xx -= g.x * f.x, x->m.yx -= g.y * f.x, x->m.yy -= g.y * f.y;
    x->m.zx -= g.z * f.x, x->m.zy -= g.z * f.y, x->m.zz -= g.z * f.z;
    b[0][0] -= g.x * t.x, b[0][1] -= g.x * t.y, b[0][2] -= g.x * t.z;
    b[1][0] -= g.y * t.x, b[1][1] -= g.y * t.y, b[1][2] -= g.y * t.z;
    b[2][0] -= g.z * t.x, b[2][1] -= g.z * t.y, b[2][2] -= g.z * t.z;
    x->i.xx -= h.x * t.x, x->i.yx -= h.y * t.x, x->i.yy -= h.y * t.y;
    x->i.zx -= h.z * t.x, x->i.zy -= h.z * t.y, x->i.zz -= h.z * t.z;
}

/* to += x as it is at the parent's origin, r from there: M, B' = B - M [r], I + [r] B' + ([r] B)^T
 */
static void add_shifted(const gw_articulated *x, gw_vec3 r, gw_articulated *to)
{
    const gw_sym3 *m = &x->m;
    const double(*b)[3] = x->b.m;
    double c[3][3] = {{b[0][0] - (m->yx * r.z - m->zx * r.y), b[0][1] - (m->zx * r.x - m->xx * r.z),
                       b[0][2] - (m->xx * r.y - m->yx * r.x)},
                      {b[1][0] - (m->yy * r.z - m->zy * r.y), b[1][1] - (m->zy * r.x - m->yx * r.z),
                       b[1][2] - (m->yx * r.y - m->yy * r.x)},
                      {b[2][0] - (m->zy * r.z - m->zz * r.y), b[2][1] - (m->zz * r.x - m->zx * r.z),
                       b[2][2] - (m->zx * r.y - m->zy * r.x)}};
    to->m.xx += m->xx, to->m.yx += m->yx, to->m.yy += m->yy;
    to->m.zx += m->zx, to->m.zy += m->zy, to->m.zz += m->zz;
    double(*d)[3] = to->b.m;
    d[0][0] += c[0][0], d[0][1] += c[0][1], d[0][2] += c[0][2];
    d[1][0] += c[1][0], d[1][1] += c[1][1], d[1][2] += c[1][2];
    d[2][0] += c[2][0], d[2][1] += c[2][1], d[2][2] += c[2][2];
    to->i.xx += x->i.xx + (r.y * (c[2][0] + b[2][0]) - r.z * (c[1][0] + b[1][0]));
    to->i.yy += x->i.yy + (r.z * (c[0][1] + b[0][1]) - r.x * (c[2][1] + b[2][1]));
    to->i.zz += x->i.zz + (r.x * (c[1][2] + b[1][2]) - r.y * (c[0][2] + b[0][2]));
    to->i.yx += x->i.yx + (r.z * c[0][0] - r.x * c[2][0]) + (r.y * b[2][1] - r.z * b[1][1]);
    to->i.zx += x->i.zx + (r.x * c[1][0] - r.y * c[0][0]) + (r.y * b[2][2] - r.z * b[1][2]);
    to->i.zy += x->i.zy + (r.x * c[1][1] - r.y * c[0][1]) + (r.z * b[0][2] - r.x * b[2][2]);
}

/* ---- joints of several coordinates ---- *
 *
 * These are inlined with a constant number of coordinates for the most frequent joint types, so
 * that loops over coordinates unroll. */

#define ON_COORDINATES(dof, pass, ...)                                                             \
    ((dof) == 3   ? pass(__VA_ARGS__, 3)                                                           \
     : (dof) == 2 ? pass(__VA_ARGS__, 2)                                                           \
     : (dof) == 6 ? pass(__VA_ARGS__, 6)                                                           \
                  : pass(__VA_ARGS__, dof))

#define PASS static inline __attribute__((always_inline))

/* L of D = S^T I^A S + added, with U = `pulled`; a coordinate without inertia gets 1 / L_ii = 0 and
 * does not accelerate. */
PASS void factor_joint(gw_system_body *k, const double pulled[6][6], const double *added, int dof)
{
    double d[6][6], largest = 0;
    for (int i = 0; i < dof; i++) {
        for (int j = 0; j <= i; j++)
            d[i][j] = gw_dot6(k->columns[i], pulled[j]);
        d[i][i] += added ? added[i] : 0;
        largest = d[i][i] > largest ? d[i][i] : largest;
    }
    for (int j = 0; j < dof; j++) {
        bool moves = d[j][j] > 1e-14 * largest;
        k->chol[j][j] = moves ? sqrt(d[j][j]) : 0;
        k->inverse[j] = moves ? 1 / k->chol[j][j] : 0;
        for (int i = j + 1; i < dof; i++) {
            double l = d[i][j] * k->inverse[j];
            k->chol[i][j] = l;
            for (int n = j + 1; n <= i; n++)
                d[i][n] -= l * k->chol[n][j];
        }
    }
}

PASS void solve_lower(const gw_system_body *k, double *x, int dof)
{
    for (int i = 0; i < dof; i++) {
        for (int l = 0; l < i; l++)
            x[i] -= k->chol[i][l] * x[l];
        x[i] *= k->inverse[i];
    }
}

PASS void solve_upper(const gw_system_body *k, double *x, int dof)
{
    for (int i = dof - 1; i >= 0; i--) {
        for (int l = i + 1; l < dof; l++)
            x[i] -= k->chol[l][i] * x[l];
        x[i] *= k->inverse[i];
    }
}

void gw_tree_solve_lower(const gw_system_body *k, double *x)
{
    ON_COORDINATES(k->dof, solve_lower, k, x);
}

void gw_tree_solve_upper(const gw_system_body *k, double *x)
{
    ON_COORDINATES(k->dof, solve_upper, k, x);
}

/* U, L and, where there is a parent, I^a = I^A - U D^-1 U^T: the columns of U L^-T one by one. */
PASS void articulate_joint(gw_system_body *k, const double *added, bool passed_on, int dof)
{
    gw_articulated x = k->inertia; /* copies: stores through k cannot change them */
    double pulled[6][6];
    for (int j = 0; j < dof; j++)
        pull_column(&x, k->columns[j], pulled[j]);
    factor_joint(k, (const double(*)[6])pulled, added, dof);
    for (int j = 0; j < dof; j++)
        for (int n = 0; n < 6; n++)
            k->pulled[j][n] = pulled[j][n];
    for (int i = 0; i < dof && passed_on; i++) {
        for (int l = 0; l < i; l++)
            for (int n = 0; n < 6; n++)
                pulled[i][n] -= k->chol[i][l] * pulled[l][n];
        for (int n = 0; n < 6; n++)
            pulled[i][n] *= k->inverse[i];
        subtract_square(&x, pulled[i], 1);
    }
    k->inertia = x;
}

/* L^-1 u with u = rest + S^T f; f - U D^-1 u */
PASS void reduce_joint(gw_system_body *k, double *f, int dof)
{
    double x[6];
    for (int j = 0; j < dof; j++)
        k->rest[j] += gw_dot6(k->columns[j], k->force);
    solve_lower(k, k->rest, dof);
    for (int j = 0; j < dof; j++)
        x[j] = k->rest[j];
    solve_upper(k, x, dof);
    for (int l = 0; l < 6; l++)
        f[l] = k->force[l];
    for (int j = 0; j < dof; j++)
        for (int l = 0; l < 6; l++)
            f[l] -= k->pulled[j][l] * x[j];
}

/* L^T u-dot = rest - L^-1 U^T a with a the parent's acceleration, shifted; a += S u-dot */
PASS void accelerate_joint(gw_system_body *k, bool carried, int dof)
{
    double *a = k->acceleration, pulled[6];
    if (carried) {
        for (int j = 0; j < dof; j++)
            pulled[j] = gw_dot6(k->pulled[j], a);
        solve_lower(k, pulled, dof);
        for (int j = 0; j < dof; j++)
            k->rest[j] -= pulled[j];
    }
    solve_upper(k, k->rest, dof);
    for (int j = 0; j < dof; j++)
        for (int l = 0; l < 6; l++)
            a[l] += k->columns[j][l] * k->rest[j];
}

GW_TARGET_CLONES
static __attribute__((noinline)) void articulate_several(gw_system_body *k, const double *added,
                                                         gw_system_body *p)
{
    ON_COORDINATES(k->dof, articulate_joint, k, added, p != NULL);
    if (p && p->flat.plane)
        gw_planar_add_inertia(&k->inertia, k->r, p);
    else if (p)
        add_shifted(&k->inertia, k->r, &p->inertia);
}

GW_TARGET_CLONES
static __attribute__((noinline)) void reduce_several(gw_system_body *k, gw_system_body *p)
{
    double f[6];
    ON_COORDINATES(k->dof, reduce_joint, k, f);
    if (p && p->flat.plane)
        gw_planar_add_wrench(f, k->r, p);
    else if (p)
        gw_spatial_add_shifted(f, k->r, p->force);
}

GW_TARGET_CLONES
static __attribute__((noinline)) void accelerate_several(gw_system_body *k, bool carried)
{
    ON_COORDINATES(k->dof, accelerate_joint, k, carried);
}

/* U and 1/D, with `added`, of a single coordinate; adds I^a to the parent. U U^T / D is subtracted
 * last, so that the division overlaps with the other operations. Returns D. */
GW_TARGET_CLONES
static __attribute__((noinline)) double pass_inertia(gw_system_body *k, double added,
                                                     gw_system_body *p)
{
    gw_articulated *x = &k->inertia;
    if (k->is_hinge)
        pull_turn(x, k->columns[0], k->pulled[0]);
    else
        pull_column(x, k->columns[0], k->pulled[0]);
    double d = along_column(k, k->pulled[0]) + added;
    k->inverse_d = d > 0 ? 1 / d : 0;
    if (!p)
        return d;
    if (p->flat.plane) {
        subtract_square(x, k->pulled[0], k->inverse_d);
        gw_planar_add_inertia(x, k->r, p);
        return d;
    }
    double pulled[6] = {0};
    gw_articulated sum = p->inertia;
    add_shifted(x, k->r, &sum);
    gw_spatial_add_shifted(k->pulled[0], k->r, pulled);
    subtract_square(&sum, pulled, k->inverse_d);
    p->inertia = sum;
    return d;
}

static void set_rigid_inertias(gw_system *s, double h)
{
    for (int i = 0; i < s->body_count; i++) {
        if (s->bodies[i].flat.plane)
            gw_planar_rigid_inertia(&s->bodies[i], h);
        else
            set_rigid_inertia(&s->bodies[i], h);
    }
}

/* Articulated inertias of all bodies, from the tips to the roots:
 * I^a = I^A - U D^-1 U^T, shifted to the parent and added there. */
void gw_tree_articulate(gw_system *s, double h, const double *added)
{
    set_rigid_inertias(s, h);
    for (int i = s->body_count - 1; i >= 0; i--) {
        gw_system_body *k = &s->bodies[i];
        gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        if (k->flat.plane) {
            gw_planar_articulate(k, added ? added + k->first : NULL, p);
            continue;
        }
        if (k->dof == 1) {
            double d = pass_inertia(k, added ? added[k->first] : 0, p);
            k->chol[0][0] = sqrt(d);
            k->inverse[0] = sqrt(k->inverse_d);
            continue;
        }
        articulate_several(k, added ? added + k->first : NULL, p);
    }
}

void gw_tree_mass_matrix(gw_system *s, double *d, int stride)
{
    gw_planar_expand(s);
    for (int i = 0; i < s->dof; i++)
        memset(d + i * stride, 0, (size_t)s->dof * sizeof *d);
    for (int i = 0; i < s->body_count; i++)
        set_rigid_inertia(&s->bodies[i], 0);
    for (int i = s->body_count - 1; i >= 0; i--)
        if (s->bodies[i].def.parent >= 0)
            add_shifted(&s->bodies[i].inertia, s->bodies[i].r,
                        &s->bodies[s->bodies[i].def.parent].inertia);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++) {
            double f[6];
            int row = s->bodies[i].first + j;
            pull_column(&s->bodies[i].inertia, s->bodies[i].columns[j], f);
            for (int n = i; n >= 0; n = s->bodies[n].def.parent) { /* towards the root */
                const gw_system_body *k = &s->bodies[n];
                double at_parent[6] = {0};
                for (int l = 0; l < k->dof; l++) {
                    double entry = gw_dot6(k->columns[l], f);
                    d[row * stride + k->first + l] = d[(k->first + l) * stride + row] = entry;
                }
                gw_spatial_add_shifted(f, k->r, at_parent);
                memcpy(f, at_parent, sizeof f);
            }
        }
    gw_tree_articulate(s, 0, NULL);
}

/* L^-1 u with u = rest + S^T f, and on to the parent f - U D^-1 u. */
void gw_tree_reduce(gw_system *s, int last)
{
    for (int i = last; i >= 0; i--) {
        gw_system_body *k = &s->bodies[i];
        gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        if (k->flat.plane) {
            gw_planar_reduce(k, p);
            continue;
        }
        if (k->dof == 1) {
            k->rest[0] = (k->rest[0] + along_column(k, k->force)) * k->inverse[0];
            if (p)
                pass_rest(k, k->rest[0] * k->inverse[0], p);
            continue;
        }
        reduce_several(k, p);
    }
}

/* L^T u-dot = L^-1 (u - U^T a'), a' the parent's acceleration, shifted. */
void gw_tree_accelerate(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        const gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        double *a = k->acceleration;
        if (k->flat.plane) {
            gw_planar_accelerate(k, p);
            continue;
        }
        if (p) {
            gw_twist from = gw_acceleration_of(p);
            gw_spatial_set(a, gw_add(from.v, gw_cross(from.w, k->r)), from.w);
        } else {
            memset(a, 0, 6 * sizeof *a);
        }
        if (k->dof != 1) {
            accelerate_several(k, p != NULL);
            continue;
        }
        if (p)
            k->rest[0] -= gw_dot6(k->pulled[0], a) * k->inverse[0];
        k->rest[0] *= k->inverse[0];
        gw_twist own = {gw_linear_part(a), gw_angular_part(a)};
        add_column(k, k->rest[0], &own);
        gw_spatial_set(a, own.v, own.w);
    }
}

/* ---- both passes in one: gw_tree_solve()
 * ------------------------------------------------------ */

static void pass_force(gw_system_body *k, gw_system_body *p)
{
    k->rest[0] = (k->rest[0] + along_column(k, k->force)) * k->inverse_d;
    if (p)
        pass_rest(k, k->rest[0], p);
}

static void take_acceleration(gw_system_body *k, const gw_system_body *p)
{
    gw_twist a = p ? gw_acceleration_of(p) : (gw_twist){{0, 0, 0}, {0, 0, 0}};
    if (p)
        a.v = gw_add(a.v, gw_cross(a.w, k->r));
    const double *u = k->pulled[0];
    double along =
        u[0] * a.v.x + u[1] * a.v.y + u[2] * a.v.z + u[3] * a.w.x + u[4] * a.w.y + u[5] * a.w.z;
    k->rest[0] -= along * k->inverse_d;
    add_column(k, k->rest[0], &a);
    gw_spatial_set(k->acceleration, a.v, a.w);
}

GW_TARGET_CLONES
void gw_tree_solve(gw_system *s)
{
    for (int i = s->body_count - 1; i >= 0; i--) {
        gw_system_body *k = &s->bodies[i];
        gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        if (k->flat.plane) {
            gw_planar_pass(k, p);
        } else {
            pass_inertia(k, 0, p);
            pass_force(k, p);
        }
    }
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        const gw_system_body *p = k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL;
        if (k->flat.plane)
            gw_planar_take_acceleration(k, p);
        else
            take_acceleration(k, p);
    }
}
