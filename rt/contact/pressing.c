/*
 * Springs, dampers and friction of several contacts at once. RT safe.
 */
#include "rt/contact/penalty_contact.h"

#include <float.h>
#include <string.h>

gw_body_motion gw_body_motion_of(const gw_pose *pose, const gw_twist *twist)
{
    return (gw_body_motion){gw_quat_to_mat3(pose->q), pose->p, *twist};
}

void gw_penalty_batch_init(gw_penalty_batch *f, int body)
{
    memset(f, 0, sizeof *f);
    f->body = body;
}

static void put(gw_lanes3 *to, int lane, gw_vec3 a)
{
    to->x[lane] = a.x;
    to->y[lane] = a.y;
    to->z[lane] = a.z;
}

/* Where the normal is fixed to the asking body it is kept in its frame; else in the other's. */
static void add_normal(gw_penalty_batch *f, int lane, const gw_contact_candidate *near, bool is_a)
{
    gw_vec3 n = is_a ? near->normal : gw_neg(near->normal);
    bool in_mine = near->kind == (is_a ? GW_NORMAL_IN_A : GW_NORMAL_IN_B);
    f->turns[lane] = near->kind == (is_a ? GW_NORMAL_IN_B : GW_NORMAL_IN_A);
    f->between[lane] = near->kind == GW_NORMAL_BETWEEN;
    f->any_between = f->any_between || near->kind == GW_NORMAL_BETWEEN;
    if (in_mine)
        put(&f->normal, lane, n);
    else if (!f->between[lane])
        f->its_normal[lane] = n;
}

void gw_penalty_batch_add(gw_penalty_batch *f, const gw_penalty_contact *c, int its)
{
    const gw_contact_candidate *near = c->near;
    int lane = f->count++;
    bool is_a = c->is_a, at_b = near->kind == GW_NORMAL_IN_A,
         apart = near->kind == GW_NORMAL_IN_WORLD;
    f->its[lane] = its;
    put(&f->point, lane, is_a ? near->point_a : near->point_b);
    f->its_point[lane] = is_a ? near->point_b : near->point_a;
    f->radius[lane] = is_a ? near->radius_a : near->radius_b;
    f->its_radius[lane] = is_a ? near->radius_b : near->radius_a;
    add_normal(f, lane, near, is_a);
    /* both bodies feel it where the normal's owner says */
    f->mine_there[lane] = !apart && is_a == at_b;
    f->its_here[lane] = !apart && is_a != at_b;
    f->stiffness[lane] = c->stiffness;
    f->damping[lane] = c->damping;
    f->slack[lane] = c->slack;
    f->friction[lane] = c->friction;
    f->viscous[lane] = c->viscous;
    f->hold[lane] = c->hold;
    f->sticks = f->sticks || c->hold > 0;
    f->hold_damping[lane] = c->hold_damping;
    put(&f->slip, lane, is_a ? c->slip : gw_neg(c->slip));
    put(&f->mark, lane, is_a ? c->mark_a : c->mark_b);
    f->its_mark[lane] = is_a ? c->mark_b : c->mark_a;
    put(&f->mark_apart, lane, is_a ? c->mark_apart : gw_neg(c->mark_apart));
}

void gw_penalty_batch_set_other(gw_penalty_batch *f, int lane, const gw_body_motion *its)
{
    gw_vec3 n = f->its_normal[lane];
    put(&f->x, lane, gw_add(its->p, gw_mat3_mul(&its->turned, f->its_point[lane])));
    put(&f->n, lane, f->turns[lane] ? gw_mat3_mul(&its->turned, n) : n);
    put(&f->p, lane, its->p);
    put(&f->v, lane, its->twist.v);
    put(&f->w, lane, its->twist.w);
    if (f->sticks)
        put(&f->marked, lane, gw_add(its->p, gw_mat3_mul(&its->turned, f->its_mark[lane])));
}

/* ---- side by side --------------------------------------------------------------------------- */

GW_LANE_INLINE void dot(const gw_lanes3 *a, const gw_lanes3 *b, gw_lanes *out)
{
    *out = a->x * b->x + a->y * b->y + a->z * b->z;
}

/* out = a + w x (x - p) */
GW_LANE_INLINE void velocity(const gw_lanes3 *v, const gw_lanes3 *w, const gw_lanes3 *x,
                             const gw_lanes3 *p, gw_lanes3 *out)
{
    gw_lanes ax = x->x - p->x, ay = x->y - p->y, az = x->z - p->z;
    out->x = v->x + (w->y * az - w->z * ay);
    out->y = v->y + (w->z * ax - w->x * az);
    out->z = v->z + (w->x * ay - w->y * ax);
}

/* out = a - n (n . a) */
GW_LANE_INLINE void reject(const gw_lanes3 *a, const gw_lanes3 *n, gw_lanes3 *out)
{
    gw_lanes along;
    dot(a, n, &along);
    out->x = a->x - along * n->x;
    out->y = a->y - along * n->y;
    out->z = a->z - along * n->z;
}

/* out = p + R a */
GW_LANE_INLINE void turn(const gw_mat3 *r, const gw_lanes3 *a, gw_vec3 p, gw_lanes3 *out)
{
    out->x = p.x + (r->m[0][0] * a->x + r->m[0][1] * a->y + r->m[0][2] * a->z);
    out->y = p.y + (r->m[1][0] * a->x + r->m[1][1] * a->y + r->m[1][2] * a->z);
    out->z = p.z + (r->m[2][0] * a->x + r->m[2][1] * a->y + r->m[2][2] * a->z);
}

/* out = a > b ? a : b, lane by lane */
GW_LANE_INLINE void larger(const gw_lanes *a, const gw_lanes *b, gw_lanes *out)
{
    gw_mask m = *a > *b;
    *out = (gw_lanes)(((gw_mask)*a & m) | ((gw_mask)*b & ~m));
}

GW_LANE_INLINE void root(const gw_lanes *a, gw_lanes *out)
{
    for (int k = 0; k < GW_LANES; k++)
        (*out)[k] = sqrt((*a)[k]);
}

GW_LANE_INLINE void length(const gw_lanes3 *a, gw_lanes *out)
{
    gw_lanes a2, least = (gw_lanes){0} + DBL_MIN;
    dot(a, a, &a2);
    larger(&a2, &least, &a2);
    root(&a2, out);
}

/* The normal: of what it is fixed to, or from point to point. */
GW_LANE_INLINE void normal_of(const gw_penalty_batch *f, const gw_body_motion *mine,
                              const gw_lanes3 *d, gw_lanes3 *n)
{
    gw_lanes distance, part;
    turn(&mine->turned, &f->normal, gw_v3(0, 0, 0), n);
    n->x += f->n.x;
    n->y += f->n.y;
    n->z += f->n.z;
    if (!f->any_between)
        return;
    length(d, &distance);
    part = f->between / distance;
    n->x += part * d->x;
    n->y += part * d->y;
    n->z += part * d->z;
}

/* t = s x + (1 - s) y */
GW_LANE_INLINE void mix(const gw_lanes *s, const gw_lanes3 *x, const gw_lanes3 *y, gw_lanes3 *t)
{
    t->x = y->x + *s * (x->x - y->x);
    t->y = y->y + *s * (x->y - y->y);
    t->z = y->z + *s * (x->z - y->z);
}

/* F = -c v, c being limit / max(|v|, v_th) and at most what a step bears. */
GW_LANE_INLINE void creep(const gw_penalty_batch *f, const gw_lanes *limit, double slip_speed,
                          const gw_lanes3 *v, gw_lanes3 *force)
{
    gw_lanes speed, least = (gw_lanes){0} + slip_speed, c;
    length(v, &speed);
    larger(&speed, &least, &speed);
    c = -(*limit / speed);
    gw_lanes most = -f->viscous;
    larger(&c, &most, &c);
    force->x = c * v->x;
    force->y = c * v->y;
    force->z = c * v->z;
}

GW_LANE_INLINE void stick(const gw_penalty_batch *f, const gw_body_motion *mine,
                          const gw_lanes *limit, const gw_lanes3 *n, const gw_lanes3 *v,
                          gw_lanes3 *force)
{
    gw_lanes3 moved, slid;
    gw_lanes size, part;
    turn(&mine->turned, &f->mark, mine->p, &moved);
    moved.x -= f->marked.x + f->mark_apart.x;
    moved.y -= f->marked.y + f->mark_apart.y;
    moved.z -= f->marked.z + f->mark_apart.z;
    reject(&moved, n, &slid);
    force->x = -(f->hold * (f->slip.x + slid.x) + f->hold_damping * v->x);
    force->y = -(f->hold * (f->slip.y + slid.y) + f->hold_damping * v->y);
    force->z = -(f->hold * (f->slip.z + slid.z) + f->hold_damping * v->z);
    length(force, &size);
    larger(&size, limit, &size);
    part = *limit / size;
    force->x *= part;
    force->y *= part;
    force->z *= part;
}

GW_LANE_INLINE double sum_of(const gw_lanes *a)
{
    double sum = 0;
    for (int k = 0; k < GW_LANES; k++)
        sum += (*a)[k];
    return sum;
}

GW_LANE_INLINE gw_vec3 sum3(const gw_lanes3 *a)
{
    return gw_v3(sum_of(&a->x), sum_of(&a->y), sum_of(&a->z));
}

/* Everything about the asking body's origin, so that nothing is lost far from the world's. */
GW_TARGET_CLONES
static void act(const gw_penalty_batch *f, const gw_body_motion *mine, double slip_speed,
                gw_wrench *on)
{
    const gw_lanes zero = {0};
    gw_lanes3 own, d, n, here, there, at, at_its, va, vb, u, across, drag = {zero, zero, zero};
    gw_lanes3 p = {zero + mine->p.x, zero + mine->p.y, zero + mine->p.z};
    gw_lanes3 v = {zero + mine->twist.v.x, zero + mine->twist.v.y, zero + mine->twist.v.z};
    gw_lanes3 w = {zero + mine->twist.w.x, zero + mine->twist.w.y, zero + mine->twist.w.z};
    turn(&mine->turned, &f->point, mine->p, &own);
    d = (gw_lanes3){own.x - f->x.x, own.y - f->x.y, own.z - f->x.z};
    normal_of(f, mine, &d, &n);
    here = (gw_lanes3){own.x - f->radius * n.x, own.y - f->radius * n.y, own.z - f->radius * n.z};
    there = (gw_lanes3){f->x.x + f->its_radius * n.x, f->x.y + f->its_radius * n.y,
                        f->x.z + f->its_radius * n.z};
    mix(&f->mine_there, &there, &here, &at);
    mix(&f->its_here, &here, &there, &at_its);
    velocity(&v, &w, &at, &p, &va);
    velocity(&f->v, &f->w, &at_its, &f->p, &vb);
    u = (gw_lanes3){va.x - vb.x, va.y - vb.y, va.z - vb.z};
    gw_lanes gap, rate, push, limit;
    dot(&n, &d, &gap);
    dot(&n, &u, &rate);
    gw_lanes depth = f->radius + f->its_radius - gap - f->slack;
    push = f->stiffness * depth - f->damping * rate;
    larger(&push, &zero, &push);
    push = (gw_lanes)((gw_mask)push & (depth > zero));
    limit = f->friction * push;
    reject(&u, &n, &across);
    if (f->sticks)
        stick(f, mine, &limit, &n, &across, &drag);
    else
        creep(f, &limit, slip_speed, &across, &drag);
    gw_lanes3 force = {push * n.x + drag.x, push * n.y + drag.y, push * n.z + drag.z};
    gw_lanes ax = at.x - p.x, ay = at.y - p.y, az = at.z - p.z;
    gw_lanes3 torque = {ay * force.z - az * force.y, az * force.x - ax * force.z,
                        ax * force.y - ay * force.x};
    on->f = gw_add(on->f, sum3(&force));
    on->t = gw_add(on->t, sum3(&torque));
}

void gw_penalty_batch_apply(const gw_penalty_batch *f, const gw_body_motion *mine,
                            double slip_speed, gw_wrench *on)
{
    act(f, mine, slip_speed, on);
}
