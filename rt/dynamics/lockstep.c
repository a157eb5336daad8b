/*
 * Free bodies that step together (lockstep.h): Newton-Euler equations about each centre of mass c,
 * in body axes, where the inertia I is constant and its inverse known, one body in each lane.
 *
 *   m c'' = f,   I w' = R^T torque - w x I w,   q = q_0 exp(theta)
 *   theta' = w + theta x w / 2 + (1/12 + |theta|^2/720 + |theta|^4/30240) theta x (theta x w)
 *
 * Runs on the loop's thread, RT safe.
 */
#include "rt/dynamics/lockstep.h"

#include <assert.h>
#include <string.h>

#include "rt/dynamics/rigid_body.h"
#include "rt/dynamics/runge_kutta.h"

#define STAGES 4    /* of gw_kutta4 */
#define TURN   0.05 /* rad of rotation in a step up to which fourth order is used */

bool gw_lockstep_takes(const gw_model *model, double h)
{
    if (!gw_model_is_guided(model))
        return false;
    const gw_guided *body = (const gw_guided *)model;
    return gw_is_floating(&body->def.set) && body->decay == 0 &&
           gw_norm2(gw_angular_part(body->z_dot)) * h * h < TURN * TURN;
}

/* ---- between bodies and lanes ---------------------------------------------------------------- */

static void put(gw_lanes3 *to, int lane, gw_vec3 a)
{
    to->x[lane] = a.x;
    to->y[lane] = a.y;
    to->z[lane] = a.z;
}

static void put_body(gw_lockstep_lanes *l, int lane, const gw_guided *body)
{
    const gw_mass *mass = &body->def.mass;
    const gw_quat q = body->pose.q;
    const double from[4] = {q.w, q.x, q.y, q.z};
    l->inverse_mass[lane] = 1 / mass->mass;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            l->inertia[i][j][lane] = mass->inertia.m[i][j];
            l->inverse[i][j][lane] = body->inverse.m[i][j];
        }
    put(&l->com, lane, mass->com);
    put(&l->gravity, lane, body->def.gravity);
    for (int i = 0; i < 4; i++)
        l->q[i][lane] = from[i];
    put(&l->c, lane, gw_add(body->pose.p, gw_rotate(q, mass->com)));
    put(&l->v, lane, gw_linear_part(body->z_dot));
    put(&l->w, lane, gw_angular_part(body->z_dot));
}

/* Stores the state after a step; false: it is not finite, and the body keeps its state. */
static bool take_body(const gw_lockstep_lanes *l, int lane, const gw_body_motion *end,
                      const gw_lanes *q, const gw_lanes3 *v, gw_guided *body)
{
    gw_pose pose = {end->p, {q[0][lane], q[1][lane], q[2][lane], q[3][lane]}};
    pose.q = gw_quat_unit(pose.q);
    if (!gw_finite_pose(&pose) || !gw_finite3(end->twist.v) || !gw_finite3(end->twist.w))
        return false;
    body->pose = pose;
    body->twist = end->twist;
    gw_spatial_set(body->z_dot, gw_v3(v->x[lane], v->y[lane], v->z[lane]),
                   gw_v3(l->spin.x[lane], l->spin.y[lane], l->spin.z[lane]));
    return true;
}

/* ---- vectors in lanes ------------------------------------------------------------------------ */

GW_LANE_INLINE gw_lanes3 cross(const gw_lanes3 *a, const gw_lanes3 *b)
{
    return (gw_lanes3){a->y * b->z - a->z * b->y, a->z * b->x - a->x * b->z,
                       a->x * b->y - a->y * b->x};
}

/* M a */
GW_LANE_INLINE gw_lanes3 times(const gw_lanes (*m)[3], const gw_lanes3 *a)
{
    return (gw_lanes3){m[0][0] * a->x + m[0][1] * a->y + m[0][2] * a->z,
                       m[1][0] * a->x + m[1][1] * a->y + m[1][2] * a->z,
                       m[2][0] * a->x + m[2][1] * a->y + m[2][2] * a->z};
}

/* M^T a */
GW_LANE_INLINE gw_lanes3 transposed_times(const gw_lanes (*m)[3], const gw_lanes3 *a)
{
    return (gw_lanes3){m[0][0] * a->x + m[1][0] * a->y + m[2][0] * a->z,
                       m[0][1] * a->x + m[1][1] * a->y + m[2][1] * a->z,
                       m[0][2] * a->x + m[1][2] * a->y + m[2][2] * a->z};
}

/* a += s b */
GW_LANE_INLINE void add(gw_lanes3 *a, double s, const gw_lanes3 *b)
{
    a->x += s * b->x;
    a->y += s * b->y;
    a->z += s * b->z;
}

/* ---- a stage ----------------------------------------------------------------------------------
 */

/* q_0 exp(theta), by the series that small turns need. */
GW_LANE_INLINE void turn_by(const gw_lanes *from, const gw_lanes3 *theta, gw_lanes *q)
{
    gw_lanes x2 = 0.25 * (theta->x * theta->x + theta->y * theta->y + theta->z * theta->z);
    gw_lanes s = 0.5 * (1 - x2 * (1. / 6) * (1 - x2 * (1. / 20) * (1 - x2 * (1. / 42))));
    gw_lanes w = 1 - x2 * (1. / 2) * (1 - x2 * (1. / 12) * (1 - x2 * (1. / 30)));
    gw_lanes x = s * theta->x, y = s * theta->y, z = s * theta->z;
    q[0] = from[0] * w - from[1] * x - from[2] * y - from[3] * z;
    q[1] = from[0] * x + from[1] * w + from[2] * z - from[3] * y;
    q[2] = from[0] * y - from[1] * z + from[2] * w + from[3] * x;
    q[3] = from[0] * z + from[1] * y - from[2] * x + from[3] * w;
}

GW_LANE_INLINE void rotation_of(const gw_lanes *q, gw_lanes (*r)[3])
{
    gw_lanes xx = q[1] * q[1], yy = q[2] * q[2], zz = q[3] * q[3];
    gw_lanes xy = q[1] * q[2], xz = q[1] * q[3], yz = q[2] * q[3];
    gw_lanes wx = q[0] * q[1], wy = q[0] * q[2], wz = q[0] * q[3];
    r[0][0] = 1 - 2 * (yy + zz), r[0][1] = 2 * (xy - wz), r[0][2] = 2 * (xz + wy);
    r[1][0] = 2 * (xy + wz), r[1][1] = 1 - 2 * (xx + zz), r[1][2] = 2 * (yz - wx);
    r[2][0] = 2 * (xz - wy), r[2][1] = 2 * (yz + wx), r[2][2] = 1 - 2 * (xx + yy);
}

/* The bodies at stage i, or at the step's end (i = STAGES). */
GW_LANE_INLINE void place(gw_lockstep_lanes *l, int i, double h, gw_lanes *q, gw_lanes3 *v,
                          gw_body_motion *motion)
{
    const gw_tableau *rk = &gw_kutta4;
    const gw_lanes3 none = {{0}, {0}, {0}};
    gw_lanes3 c = l->c, theta = none, displacement = none;
    *v = l->v;
    l->spin = l->w;
#pragma GCC unroll 4
    for (int j = 0; j < i; j++) {
        if (rk->aa[i][j] != 0)
            add(&displacement, h * rk->aa[i][j], &l->k[j].c_ddot);
        if (rk->a[i][j] == 0)
            continue;
        add(v, h * rk->a[i][j], &l->k[j].c_ddot);
        add(&theta, h * rk->a[i][j], &l->k[j].theta_dot);
        add(&l->spin, h * rk->a[i][j], &l->k[j].w_dot);
    }
    add(&displacement, i < STAGES ? rk->c[i] : 1, &l->v);
    add(&c, h, &displacement);
    l->theta = theta;
    turn_by(l->q, &theta, q);
    rotation_of(q, l->rotation);
    l->rotated_com = times((const gw_lanes(*)[3])l->rotation, &l->com);
    gw_lanes3 w = times((const gw_lanes(*)[3])l->rotation, &l->spin);
    gw_lanes3 turning = cross(&w, &l->rotated_com), p = c, u = *v;
    add(&p, -1, &l->rotated_com);
    add(&u, -1, &turning);
    for (int lane = 0; lane < GW_LANES; lane++) {
        gw_body_motion *m = &motion[lane];
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                m->rotation.m[a][b] = l->rotation[a][b][lane];
        m->p = gw_v3(p.x[lane], p.y[lane], p.z[lane]);
        m->twist.v = gw_v3(u.x[lane], u.y[lane], u.z[lane]);
        m->twist.w = gw_v3(w.x[lane], w.y[lane], w.z[lane]);
    }
}

/* Rates at stage i under the wrenches at the bodies' origins. */
GW_LANE_INLINE void find_rates(gw_lockstep_lanes *l, int i, const gw_wrench *on)
{
    gw_lanes3 f, t;
    for (int lane = 0; lane < GW_LANES; lane++) {
        put(&f, lane, on[lane].f);
        put(&t, lane, on[lane].t);
    }
    gw_lanes3 off = cross(&l->rotated_com, &f);
    add(&t, -1, &off);
    gw_lanes3 momentum = times((const gw_lanes(*)[3])l->inertia, &l->spin);
    gw_lanes3 gyroscopic = cross(&l->spin, &momentum);
    gw_lanes3 torque = transposed_times((const gw_lanes(*)[3])l->rotation, &t);
    add(&torque, -1, &gyroscopic);
    gw_lanes3 across = cross(&l->theta, &l->spin), twice = cross(&l->theta, &across);
    gw_lanes t2 = l->theta.x * l->theta.x + l->theta.y * l->theta.y + l->theta.z * l->theta.z;
    gw_lanes bend = 1. / 12 + t2 * (1. / 720 + t2 * (1. / 30240)), m = l->inverse_mass;
    l->k[i].c_ddot = (gw_lanes3){m * f.x + l->gravity.x, m * f.y + l->gravity.y, //
                                 m * f.z + l->gravity.z};
    l->k[i].theta_dot = (gw_lanes3){l->spin.x + 0.5 * across.x + bend * twice.x,
                                    l->spin.y + 0.5 * across.y + bend * twice.y,
                                    l->spin.z + 0.5 * across.z + bend * twice.z};
    l->k[i].w_dot = times((const gw_lanes(*)[3])l->inverse, &torque);
}

/* ---- the step ---------------------------------------------------------------------------------
 */

GW_TARGET_CLONES
static void place_all(gw_lockstep *s, int i, double h)
{
    gw_lanes q[4];
    gw_lanes3 v;
    for (int g = 0; g * GW_LANES < s->count; g++) {
        gw_lockstep_lanes *l = &s->lanes[g];
        gw_body_motion *motion = &s->motion[g * GW_LANES];
        switch (i) { /* constants, so that loops over stages unroll */
        case 0:
            place(l, 0, h, q, &v, motion);
            break;
        case 1:
            place(l, 1, h, q, &v, motion);
            break;
        case 2:
            place(l, 2, h, q, &v, motion);
            break;
        default:
            place(l, 3, h, q, &v, motion);
        }
    }
}

GW_TARGET_CLONES
static void find_all_rates(gw_lockstep *s, int i)
{
    for (int g = 0; g * GW_LANES < s->count; g++)
        find_rates(&s->lanes[g], i, &s->on[g * GW_LANES]);
}

GW_TARGET_CLONES
static void end_all(gw_lockstep *s, double h, bool *finite)
{
    gw_lanes q[4];
    gw_lanes3 v;
    for (int g = 0; g * GW_LANES < s->count; g++) {
        gw_lockstep_lanes *l = &s->lanes[g];
        place(l, STAGES, h, q, &v, &s->motion[g * GW_LANES]);
        for (int lane = 0; lane < GW_LANES && g * GW_LANES + lane < s->count; lane++) {
            int at = g * GW_LANES + lane;
            finite[at] =
                take_body(l, lane, &s->motion[at], q, &v, (gw_guided *)(void *)s->bodies[at]);
        }
    }
}

void gw_lockstep_step(gw_lockstep *s, void (*touch)(void *context, double t), void *context,
                      double h, bool *finite)
{
    assert(s && touch && finite && s->count >= 0 && s->count <= GW_LOCKSTEP_BODIES && isfinite(h));
    const int end = (s->count + GW_LANES - 1) / GW_LANES * GW_LANES;
    for (int at = 0; at < end; at++) /* lanes that are left over have the last body's motion */
        put_body(&s->lanes[at / GW_LANES], at % GW_LANES,
                 (const gw_guided *)(const void *)s->bodies[at < s->count ? at : s->count - 1]);
    for (int i = 0; i < STAGES; i++) {
        place_all(s, i, h);
        memset(s->on, 0, (size_t)end * sizeof *s->on);
        touch(context, gw_kutta4.c[i] * h);
        find_all_rates(s, i);
    }
    end_all(s, h, finite);
}
