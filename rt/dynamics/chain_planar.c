/*
 * Chains whose joints all turn about parallel axes: the articulated recursion in the plane, a
 * third of the general one's time. On the loop's thread, RT safe.
 *
 * A pin passes on forces and its own torque, nothing else: what of an articulated inertia is left
 * after the joint is a symmetric 2 x 2 matrix. With M, b, I of f = M a + b alpha, t = b . a + I
 * alpha,
 *
 *   M' = M - b b^T / I,   and seen from the parent, e = (-r_y, r_x):   b' = M' e,   I' = e . M' e
 *
 * Plane coordinates: x, y, z of the first joint's axes at q = 0, from its origin; z is the axis.
 */
#include <string.h>

#include "rt/dynamics/articulated_body.h"

typedef struct pin {
    double c, s;            /* of the link's axes in the plane */
    double x, y, z;         /* its origin */
    double rx, ry;          /* from the parent's origin to it */
    double cx, cy;          /* from it to the centre of mass */
    double vx, vy, w;       /* velocity of the origin, rate of turning */
    double fx, fy, t;       /* what it needs so that no joint accelerates; less what acts on it */
    double bx, by, inverse; /* b and 1 / I of the links from here on */
} pin;

void gw_chain_sines(int count, const double *q, gw_joint_sines *out)
{
    for (int i = 0; i < count; i++)
        sincos(q[i], &out->s[i], &out->c[i]);
}

/* Where a small angle makes series of sine and cosine exact to rounding. */
#define SMALL 0.05

/* cos q, sin q from those of `from`, a stage's way before: a third of sincos()'s time. */
GW_CHAIN_INLINE void turn_on(double q, double from, double *c, double *s)
{
    double d = q - from, d2 = d * d, c0 = *c, s0 = *s;
    if (!(d2 < SMALL * SMALL)) {
        sincos(q, s, c);
        return;
    }
    double less = d2 * (-1. / 2 + d2 * (1. / 24 + d2 * (-1. / 720 + d2 * (1. / 40320))));
    double sine = d + d * d2 * (-1. / 6 + d2 * (1. / 120 + d2 * (-1. / 5040 + d2 * (1. / 362880))));
    *c = c0 + (c0 * less - s0 * sine);
    *s = s0 + (s0 * less + c0 * sine);
}

/* Out from the base: where everything is, how it moves, and m (a - w^2 c) with
 * a = a_p - w_p^2 r. */
static void place(const gw_chain *chain, const gw_joint_sines *start, const double *q,
                  const double *v, pin *pins)
{
    gw_vec3 g = gw_mat3_tmul(&chain->world_from_plane, chain->def->gravity);
    double ax = -g.x, ay = -g.y;
    pin p = {.c = 1};
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link_state *j = &chain->joints[i];
        double c = start->c[i], s = start->s[i], w2 = p.w * p.w, pc = p.c, ps = p.s;
        turn_on(q[i], chain->q[i], &c, &s);
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
        pins[i] = p;
    }
}

/* Back to the base: force[i] becomes (tau - t) / I, then out again: alpha = that - b . a / I. */
static void solve(const gw_chain *chain, pin *pins, double *force)
{
    double mxx = 0, mxy = 0, myy = 0, bx = 0, by = 0, inertia = 0, fx = 0, fy = 0, t = 0;
    for (int i = chain->def->count - 1; i >= 0; i--) {
        const gw_chain_link_state *j = &chain->joints[i];
        pin *p = &pins[i];
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
        const pin *p = &pins[i];
        double before = alpha;
        ax -= alpha * p->ry;
        ay += alpha * p->rx;
        alpha = force[i] - p->inverse * (p->bx * ax + p->by * ay);
        force[i] = alpha - before;
    }
}

/* ---- what acts on the links ----------------------------------------------------------------- */

/* World from the link's axes, its origin and its twist. */
static void in_world(const gw_chain *chain, const pin *p, gw_mat3 *r, gw_vec3 *at, gw_twist *twist)
{
    const gw_mat3 *plane = &chain->world_from_plane;
    for (int i = 0; i < 3; i++) {
        double x = plane->m[i][0], y = plane->m[i][1];
        r->m[i][0] = p->c * x + p->s * y;
        r->m[i][1] = p->c * y - p->s * x;
        r->m[i][2] = plane->m[i][2];
    }
    *at = gw_add(chain->joints[0].at, gw_mat3_mul(plane, gw_v3(p->x, p->y, p->z)));
    twist->v = gw_mat3_mul(plane, gw_v3(p->vx, p->vy, 0));
    twist->w = gw_mat3_mul(plane, gw_v3(0, 0, p->w));
}

/* A wrench at the link's origin: what of it lies in the plane. */
static void take(const gw_chain *chain, pin *p, const gw_wrench *w)
{
    gw_vec3 f = gw_mat3_tmul(&chain->world_from_plane, w->f);
    gw_vec3 t = gw_mat3_tmul(&chain->world_from_plane, w->t);
    p->fx -= f.x;
    p->fy -= f.y;
    p->t -= t.z;
}

static void hold(const gw_chain *chain, pin *pins, const gw_forces *forces, double t,
                 gw_chain_stage_load *flow)
{
    pin *p = &pins[gw_chain_held_link(chain->def)];
    gw_mat3 r;
    gw_vec3 at;
    gw_twist twist;
    in_world(chain, p, &r, &at, &twist);
    gw_vec3 arm = gw_mat3_mul(&r, chain->held_at);
    gw_pose held = {gw_add(at, arm), gw_quat_mul(gw_quat_from_mat3(&r), chain->axes_from_held)};
    twist.v = gw_add(twist.v, gw_cross(twist.w, arm));
    gw_wrench w = forces->at(forces->context, t, &held, &twist);
    flow->power.work = gw_dot(w.f, twist.v) + gw_dot(w.t, twist.w);
    w.t = gw_add(w.t, gw_cross(arm, w.f));
    take(chain, p, &w);
    flow->on_held = w;
}

static void touch(const gw_chain *chain, pin *pins, const gw_forces *forces, double t,
                  gw_chain_stage_load *flow)
{
    gw_pose poses[GW_MAX_LINKS];
    gw_twist twists[GW_MAX_LINKS];
    gw_wrench on[GW_MAX_LINKS];
    int n = chain->def->count;
    memset(on, 0, (size_t)n * sizeof *on);
    for (int i = 0; i < n; i++) {
        gw_mat3 r;
        in_world(chain, &pins[i], &r, &poses[i].p, &twists[i]);
        poses[i].q = gw_quat_mul(gw_quat_from_mat3(&r), chain->joints[i].axes_from_link);
    }
    forces->touch(forces->touching, t, poses, twists, on);
    for (int i = 0; i < n; i++) {
        flow->power.touched += gw_dot(on[i].f, twists[i].v) + gw_dot(on[i].t, twists[i].w);
        take(chain, &pins[i], &on[i]);
    }
    flow->on_held = gw_wrench_add(flow->on_held, on[gw_chain_held_link(chain->def)]);
}

void gw_chain_planar_stage(const gw_chain *chain, const gw_joint_sines *start, const double *q,
                           const double *v, const gw_forces *forces, double t, double *a,
                           gw_chain_stage_load *flow)
{
    pin pins[GW_MAX_LINKS];
    *flow = (gw_chain_stage_load){0};
    place(chain, start, q, v, pins);
    gw_chain_joint_forces(chain, q, v, a, &flow->power.motors, &flow->power.lost);
    if (forces && forces->at)
        hold(chain, pins, forces, t, flow);
    if (forces && forces->touch)
        touch(chain, pins, forces, t, flow);
    solve(chain, pins, a);
}

/* All joints turn about axes of the first one's direction and sense. */
bool gw_chain_is_planar(const gw_chain *chain)
{
    for (int i = 0; i < chain->def->count; i++) {
        const gw_mat3 *r = &chain->joints[i].parent_from_axes;
        if (chain->joints[i].slides || (i > 0 && hypot(r->m[0][2], r->m[1][2]) > 1e-12) ||
            (i > 0 && r->m[2][2] < 0))
            return false;
    }
    return true;
}
