/*
 * The force of continuous contacts, a spring with damping that never pulls, and friction
 * (impulsive-forces eq. 2 to 4 as corrected), for a batch of contacts of one body in SIMD lanes:
 *
 *   F_n = max(0, K p - B d(gap)/dt) n,   p = -gap - rest penetration
 *
 * The other bodies' motions are set lane by lane, and transposed when the forces are evaluated. RT
 * safe.
 */
#include <assert.h>
#include <float.h>
#include <string.h>

#include "rt/contact/penalty_contact.h"

/* Motion of the other body in unused lanes. */
static const gw_body_motion nowhere;

void gw_penalty_batch_init(gw_penalty_batch *f, int body)
{
    memset(f, 0, sizeof *f);
    f->body = body;
    for (int lane = 0; lane < GW_LANES; lane++)
        f->motion[lane] = &nowhere;
}

static void set_lane3(gw_lanes3 *to, int lane, gw_vec3 a)
{
    to->x[lane] = a.x;
    to->y[lane] = a.y;
    to->z[lane] = a.z;
}

/* A normal fixed to mine is kept in its frame, one fixed to the other in that; n of the pair is
 * e_mine x e_other / |..| whichever of both is a. */
static void add_normal(gw_penalty_batch *f, int lane, const gw_contact_candidate *candidate,
                       bool is_a)
{
    gw_vec3 n = is_a ? candidate->normal : gw_neg(candidate->normal);
    switch (candidate->kind) {
    case GW_NORMAL_IN_A:
    case GW_NORMAL_IN_B:
        set_lane3(is_a == (candidate->kind == GW_NORMAL_IN_A) ? &f->normal : &f->other_normal, lane,
                  n);
        break;
    case GW_NORMAL_BETWEEN:
        f->between[lane] = 1;
        f->any_between = true;
        break;
    case GW_NORMAL_ACROSS:
        f->across_edges[lane] = -1;
        f->any_across = true;
        set_lane3(&f->edge, lane, is_a ? candidate->edge_a : candidate->edge_b);
        set_lane3(&f->other_edge, lane, is_a ? candidate->edge_b : candidate->edge_a);
        if (!gw_is_bowed(candidate))
            break;
        f->bowed[lane] = -1;
        f->any_bowed = true;
        set_lane3(&f->bow, lane, is_a ? candidate->bow_a : candidate->bow_b);
        set_lane3(&f->other_bow, lane, is_a ? candidate->bow_b : candidate->bow_a);
        if (candidate->taper_a == 0 && candidate->taper_b == 0)
            break;
        f->tapered[lane] = -1;
        f->any_tapered = true;
        f->taper[lane] = is_a ? candidate->taper_a : candidate->taper_b;
        f->other_taper[lane] = is_a ? candidate->taper_b : candidate->taper_a;
        break;
    }
}

/* Curvature of a bent surface. Exchanging the bodies reverses both n and d: it stays the same. */
static void add_bend(gw_penalty_batch *f, int lane, const gw_contact_candidate *candidate,
                     bool is_a)
{
    bool in_other = candidate->kind == (is_a ? GW_NORMAL_IN_B : GW_NORMAL_IN_A);
    f->any_bent = true;
    f->bent_in_other[lane] = in_other ? -1 : 0;
    for (int i = 0; i < 2; i++) {
        f->curvature[i][lane] = candidate->bend.curvature[i];
        set_lane3(&f->direction[i], lane, candidate->bend.direction[i]);
    }
    if (!candidate->bend.tilts)
        return;
    f->any_tilts = true;
    set_lane3(&f->tilting, lane, is_a ? candidate->bend.other : gw_neg(candidate->bend.other));
    for (int i = 0; i < 4; i++) {
        f->across[i / 2][i % 2][lane] = candidate->bend.across[i / 2][i % 2];
        f->tilt[i / 2][i % 2][lane] = candidate->bend.tilt[i / 2][i % 2];
    }
}

void gw_penalty_batch_add(gw_penalty_batch *f, const gw_penalty_contact *c, int other)
{
    assert(f->count < GW_LANES);
    const gw_contact_candidate *candidate = c->candidate;
    int lane = f->count++;
    bool is_a = c->is_a, at_b = candidate->kind == GW_NORMAL_IN_A;
    f->other[lane] = other;
    set_lane3(&f->point, lane, is_a ? candidate->point_a : candidate->point_b);
    set_lane3(&f->other_point, lane, is_a ? candidate->point_b : candidate->point_a);
    f->radius[lane] = is_a ? candidate->radius_a : candidate->radius_b;
    f->other_radius[lane] = is_a ? candidate->radius_b : candidate->radius_a;
    add_normal(f, lane, candidate, is_a);
    if (gw_is_curved(&candidate->bend))
        add_bend(f, lane, candidate, is_a);
    /* the force acts at the contact point of the body without the normal (kinematics.h) */
    f->mine_at_other[lane] = is_a == at_b;
    f->stiffness[lane] = c->stiffness;
    f->damping[lane] = c->damping;
    f->rest_penetration[lane] = c->rest_penetration;
    f->friction[lane] = c->friction;
    f->viscous[lane] = c->viscous;
    f->tangential_stiffness[lane] = c->tangential_stiffness;
    f->sticks = f->sticks || c->tangential_stiffness > 0;
    f->tangential_damping[lane] = c->tangential_damping;
    set_lane3(&f->slip, lane, is_a ? c->slip : gw_neg(c->slip));
    set_lane3(&f->anchor, lane, is_a ? c->anchor_a : c->anchor_b);
    set_lane3(&f->other_anchor, lane, is_a ? c->anchor_b : c->anchor_a);
    set_lane3(&f->anchor_offset, lane, is_a ? c->anchor_offset : gw_neg(c->anchor_offset));
}

void gw_penalty_batch_set_other(gw_penalty_batch *f, int lane, const gw_body_motion *other)
{
    assert(lane >= 0 && lane < f->count);
    f->motion[lane] = other;
    f->moved = true;
}

GW_LANE_INLINE void dot(const gw_lanes3 *a, const gw_lanes3 *b, gw_lanes *out)
{
    *out = a->x * b->x + a->y * b->y + a->z * b->z;
}

/* out = v + w x (x - p) */
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

/* Motions of bodies in the world, one in each lane. */
typedef struct motions {
    gw_lanes r[3][3];
    gw_lanes3 p, v, w;
} motions;

/* out = R a */
GW_LANE_INLINE void turn(const motions *m, const gw_lanes3 *a, gw_lanes3 *out)
{
    out->x = m->r[0][0] * a->x + m->r[0][1] * a->y + m->r[0][2] * a->z;
    out->y = m->r[1][0] * a->x + m->r[1][1] * a->y + m->r[1][2] * a->z;
    out->z = m->r[2][0] * a->x + m->r[2][1] * a->y + m->r[2][2] * a->z;
}

/* out = p + R a */
GW_LANE_INLINE void transform(const motions *m, const gw_lanes3 *a, gw_lanes3 *out)
{
    turn(m, a, out);
    out->x = m->p.x + out->x;
    out->y = m->p.y + out->y;
    out->z = m->p.z + out->z;
}

/* A member of all lanes' motions. */
#if GW_LANES == 4
#define OF_ALL(m, member)                                                                          \
    (gw_lanes)                                                                                     \
    {                                                                                              \
        (m)[0]->member, (m)[1]->member, (m)[2]->member, (m)[3]->member                             \
    }
#else
#define OF_ALL(m, member)                                                                          \
    (gw_lanes)                                                                                     \
    {                                                                                              \
        (m)[0]->member, (m)[1]->member                                                             \
    }
#endif

GW_LANE_INLINE void gather(const gw_body_motion *const m[GW_LANES], motions *out)
{
    for (int i = 0; i < 3; i++) {
        out->r[i][0] = OF_ALL(m, rotation.m[i][0]);
        out->r[i][1] = OF_ALL(m, rotation.m[i][1]);
        out->r[i][2] = OF_ALL(m, rotation.m[i][2]);
    }
    out->p = (gw_lanes3){OF_ALL(m, p.x), OF_ALL(m, p.y), OF_ALL(m, p.z)};
    out->v = (gw_lanes3){OF_ALL(m, twist.v.x), OF_ALL(m, twist.v.y), OF_ALL(m, twist.v.z)};
    out->w = (gw_lanes3){OF_ALL(m, twist.w.x), OF_ALL(m, twist.w.y), OF_ALL(m, twist.w.z)};
}

/* The same motion in all lanes. */
GW_LANE_INLINE void spread(const gw_body_motion *m, motions *out)
{
    const gw_lanes zero = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            out->r[i][j] = zero + m->rotation.m[i][j];
    out->p = (gw_lanes3){zero + m->p.x, zero + m->p.y, zero + m->p.z};
    out->v = (gw_lanes3){zero + m->twist.v.x, zero + m->twist.v.y, zero + m->twist.v.z};
    out->w = (gw_lanes3){zero + m->twist.w.x, zero + m->twist.w.y, zero + m->twist.w.z};
}

/* The other bodies' points, normals and twists in the world. */
GW_LANE_INLINE void place_others(gw_penalty_batch *f)
{
    motions m;
    gather(f->motion, &m);
    f->other_p = m.p;
    f->other_v = m.v;
    f->other_w = m.w;
    transform(&m, &f->other_point, &f->other_x);
    turn(&m, &f->other_normal, &f->other_n);
    if (f->any_across)
        turn(&m, &f->other_edge, &f->other_edge_x);
    if (f->any_bowed)
        turn(&m, &f->other_bow, &f->other_bow_x);
    if (f->sticks)
        transform(&m, &f->other_anchor, &f->other_anchor_x);
    for (int i = 0; i < 2 && f->any_bent; i++)
        turn(&m, &f->direction[i], &f->other_direction[i]);
    if (f->any_tilts)
        turn(&m, &f->tilting, &f->other_tilting);
    f->moved = false;
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

/* |a|, never zero */
GW_LANE_INLINE void length(const gw_lanes3 *a, gw_lanes *out)
{
    gw_lanes a2, least = (gw_lanes){0} + DBL_MIN;
    dot(a, a, &a2);
    larger(&a2, &least, &a2);
    root(&a2, out);
}

/* to += part e */
GW_LANE_INLINE void add_part(const gw_lanes *part, const gw_lanes3 *e, gw_lanes3 *to)
{
    to->x += *part * e->x;
    to->y += *part * e->y;
    to->z += *part * e->z;
}

/* out = a x b */
GW_LANE_INLINE void cross(const gw_lanes3 *a, const gw_lanes3 *b, gw_lanes3 *out)
{
    *out = (gw_lanes3){a->y * b->z - a->z * b->y, a->z * b->x - a->x * b->z,
                       a->x * b->y - a->y * b->x};
}

GW_LANE_INLINE void select3(const gw_mask *of, const gw_lanes3 *x, const gw_lanes3 *y,
                            gw_lanes3 *out)
{
    out->x = (gw_lanes)(((gw_mask)x->x & *of) | ((gw_mask)y->x & ~*of));
    out->y = (gw_lanes)(((gw_mask)x->y & *of) | ((gw_mask)y->y & ~*of));
    out->z = (gw_lanes)(((gw_mask)x->z & *of) | ((gw_mask)y->z & ~*of));
}

/* Points of edges in all lanes (edge_pair.h). */
typedef struct edge_points {
    gw_lanes3 x, e, k;
    gw_lanes radius, taper;
} edge_points;

/* out = 1 / sqrt(1 + a) */
GW_LANE_INLINE void inverse_root(const gw_lanes *a, gw_lanes *out)
{
    gw_lanes sum = 1 + *a;
    root(&sum, &sum);
    *out = 1 / sum;
}

/* gw_edge_point_move(); where no edge is a rim k is zero. */
GW_LANE_INLINE void move_edge_point(const gw_penalty_batch *f, edge_points *p, const gw_lanes *s)
{
    if (!f->any_bowed) {
        add_part(s, &p->e, &p->x);
        return;
    }
    gw_lanes k2, c, part;
    gw_lanes3 e = p->e;
    p->radius += p->taper * *s;
    dot(&p->k, &p->k, &k2);
    part = k2 * *s * *s;
    inverse_root(&part, &c);
    part = *s * c;
    add_part(&part, &e, &p->x);
    part *= part / (1 + c);
    add_part(&part, &p->k, &p->x);
    add_part(s, &p->k, &p->e);
    part = -k2 * *s;
    add_part(&part, &e, &p->k);
    p->e = (gw_lanes3){c * p->e.x, c * p->e.y, c * p->e.z};
    p->k = (gw_lanes3){c * p->k.x, c * p->k.y, c * p->k.z};
}

GW_LANE_INLINE void select1(const gw_mask *of, const gw_lanes *x, const gw_lanes *y, gw_lanes *out)
{
    *out = (gw_lanes)(((gw_mask)*x & *of) | ((gw_mask)*y & ~*of));
}

/* gw_edge_points_approach_tapered() in the lanes of cones: -s D, -t D and D. */
GW_LANE_INLINE void taper_step(const gw_penalty_batch *f, const edge_points *a,
                               const edge_points *b, const gw_lanes3 *d, gw_lanes *s, gw_lanes *t,
                               gw_lanes *det)
{
    gw_lanes size, q, of_a, of_b, at_a, at_b, sum;
    length(d, &size);
    dot(&a->e, &b->e, &q);
    dot(d, &a->k, &of_a);
    dot(d, &b->k, &of_b);
    dot(&a->e, d, &at_a);
    dot(&b->e, d, &at_b);
    q += a->taper * b->taper;
    of_a = 1 - a->taper * a->taper + of_a;
    of_b = 1 - b->taper * b->taper - of_b;
    at_a -= a->taper * size;
    at_b += b->taper * size;
    sum = of_b * at_a - q * at_b;
    select1(&f->tapered, &sum, s, s);
    sum = q * at_a - of_a * at_b;
    select1(&f->tapered, &sum, t, t);
    sum = of_a * of_b - q * q;
    select1(&f->tapered, &sum, det, det);
}

/* gw_edge_points_approach() in the lanes `of`; a and b may be exchanged. */
GW_LANE_INLINE void approach_edge_points(const gw_penalty_batch *f, const gw_mask *of,
                                         edge_points *a, edge_points *b)
{
    gw_lanes s, t, det;
    gw_lanes3 d = {a->x.x - b->x.x, a->x.y - b->x.y, a->x.z - b->x.z}, c, of_a, of_b;
    cross(&a->e, &b->e, &c);
    cross(&d, &b->e, &of_a);
    cross(&d, &a->e, &of_b);
    dot(&of_a, &c, &s);
    dot(&of_b, &c, &t);
    dot(&c, &c, &det);
    if (f->any_bowed) {
        gw_lanes bow_a, bow_b, at_a, at_b;
        dot(&d, &a->k, &bow_a);
        dot(&d, &b->k, &bow_b);
        dot(&a->e, &d, &at_a);
        dot(&b->e, &d, &at_b);
        det += bow_a - bow_b - bow_a * bow_b;
        s -= bow_b * at_a;
        t -= bow_a * at_b;
    }
    if (f->any_tapered)
        taper_step(f, a, b, &d, &s, &t, &det);
    s = (gw_lanes)((gw_mask)(-s / det) & *of);
    t = (gw_lanes)((gw_mask)(-t / det) & *of);
    move_edge_point(f, a, &s);
    move_edge_point(f, b, &t);
}

/* Adds the normal across edges, and moves the points to where these are nearest. */
GW_LANE_INLINE void add_across(const gw_penalty_batch *f, const motions *mine, edge_points *own,
                               edge_points *other, gw_lanes3 *n)
{
    turn(mine, &f->edge, &own->e);
    other->e = f->other_edge_x;
    if (f->any_bowed) {
        turn(mine, &f->bow, &own->k);
        other->k = f->other_bow_x;
        own->taper = f->taper;
        other->taper = f->other_taper;
    }
    approach_edge_points(f, &f->across_edges, own, other);
    for (int i = 1; i < GW_BOWED_STEPS && f->any_bowed; i++)
        approach_edge_points(f, &f->bowed, own, other);
    gw_lanes size, part;
    gw_lanes3 c, d = {own->x.x - other->x.x, own->x.y - other->x.y, own->x.z - other->x.z};
    cross(&own->e, &other->e, &c);
    if (f->any_tapered)
        select3(&f->tapered, &d, &c, &c);
    length(&c, &size);
    part = (gw_lanes)((gw_mask)(1 / size) & f->across_edges);
    add_part(&part, &c, n);
}

/* The normal: fixed to a body, from point to point, or across edges, which moves the points. */
GW_LANE_INLINE void normal_of(const gw_penalty_batch *f, const motions *mine, edge_points *own,
                              edge_points *other, gw_lanes3 *n)
{
    gw_lanes distance, part;
    turn(mine, &f->normal, n);
    n->x += f->other_n.x;
    n->y += f->other_n.y;
    n->z += f->other_n.z;
    if (f->any_across)
        add_across(f, mine, own, other, n);
    if (!f->any_between)
        return;
    gw_lanes3 d = {own->x.x - other->x.x, own->x.y - other->x.y, own->x.z - other->x.z};
    length(&d, &distance);
    part = f->between / distance;
    add_part(&part, &d, n);
}

/* s, r and w . r of what tilts (candidate.h), along the directions e: adds T w to s. */
GW_LANE_INLINE void follow_tilt(const gw_penalty_batch *f, const motions *mine, const gw_lanes3 *d,
                                const gw_lanes3 e[2], gw_lanes3 *s, gw_lanes3 *slide, gw_lanes *sum)
{
    gw_lanes3 normal;
    gw_lanes w[2], x[2];
    turn(mine, &f->tilting, &normal);
    select3(&f->bent_in_other, &normal, &f->other_tilting, &normal);
    for (int i = 0; i < 2; i++) {
        dot(&e[i], &normal, &w[i]);
        dot(&e[i], d, &x[i]);
    }
    for (int i = 0; i < 2; i++) {
        gw_lanes of_s = f->across[i][0] * w[0] + f->across[i][1] * w[1];
        gw_lanes of_r = f->across[0][i] * x[0] + f->across[1][i] * x[1] + f->tilt[i][0] * w[0] +
                        f->tilt[i][1] * w[1];
        add_part(&of_s, &e[i], s);
        add_part(&of_r, &e[i], slide);
        *sum += w[i] * of_r;
    }
}

/* Second-order correction of bent surfaces for the displacement d between the points:
 * s = sum k_i (e_i . d) e_i, l = sqrt(1 + |s|^2), n' = (n + s) / l, gap += d . s / (1 + l). */
GW_LANE_INLINE void follow_bend(const gw_penalty_batch *f, const motions *mine, const gw_lanes3 *d,
                                gw_lanes3 *n, gw_lanes *gap, gw_lanes3 *slide)
{
    const gw_lanes zero = {0};
    gw_lanes3 s = {zero, zero, zero}, e[2];
    gw_lanes part, size, tilted = zero;
    for (int i = 0; i < 2; i++) {
        turn(mine, &f->direction[i], &e[i]);
        select3(&f->bent_in_other, &f->other_direction[i], &e[i], &e[i]);
        dot(&e[i], d, &part);
        part *= f->curvature[i];
        add_part(&part, &e[i], &s);
    }
    if (f->any_tilts)
        follow_tilt(f, mine, d, e, &s, slide, &tilted);
    dot(&s, &s, &size);
    size += 1;
    root(&size, &size);
    dot(d, &s, &part);
    part += tilted;
    *gap += part / (1 + size);
    n->x = (n->x + s.x) / size;
    n->y = (n->y + s.y) / size;
    n->z = (n->z + s.z) / size;
}

/* t = s x + (1 - s) y */
GW_LANE_INLINE void mix(const gw_lanes *s, const gw_lanes3 *x, const gw_lanes3 *y, gw_lanes3 *t)
{
    t->x = y->x + *s * (x->x - y->x);
    t->y = y->y + *s * (x->y - y->y);
    t->z = y->z + *s * (x->z - y->z);
}

/* F_t = -c v_t with c = limit / max(|v_t|, v_th), at most `viscous` */
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

/* F_t = -(k x + d v_t), scaled down to `limit` */
GW_LANE_INLINE void stick(const gw_penalty_batch *f, const motions *mine, const gw_lanes *limit,
                          const gw_lanes3 *n, const gw_lanes3 *v, gw_lanes3 *force)
{
    gw_lanes3 moved, slid;
    gw_lanes size, part;
    transform(mine, &f->anchor, &moved);
    moved.x -= f->other_anchor_x.x + f->anchor_offset.x;
    moved.y -= f->other_anchor_x.y + f->anchor_offset.y;
    moved.z -= f->other_anchor_x.z + f->anchor_offset.z;
    reject(&moved, n, &slid);
    const gw_lanes *k = &f->tangential_stiffness, *d = &f->tangential_damping;
    force->x = -(*k * (f->slip.x + slid.x) + *d * v->x);
    force->y = -(*k * (f->slip.y + slid.y) + *d * v->y);
    force->z = -(*k * (f->slip.z + slid.z) + *d * v->z);
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

/* r x f */
GW_LANE_INLINE void moment(const gw_lanes3 *at, const gw_lanes3 *about, const gw_lanes3 *f,
                           gw_lanes3 *out)
{
    gw_lanes3 arm = {at->x - about->x, at->y - about->y, at->z - about->z};
    cross(&arm, f, out);
}

/* Forces of all lanes. Positions are relative to the origin of mine, which avoids cancellation far
 * from the world's origin. `both`: the torque on the other as well. */
GW_LANE_INLINE void forces_of(gw_penalty_batch *f, const motions *mine, double slip_speed,
                              bool both, gw_penalty_forces *out)
{
    const gw_lanes zero = {0};
    const gw_lanes3 p = mine->p, v = mine->v, w = mine->w;
    if (f->moved)
        place_others(f);
    gw_lanes3 d, n, here, there, at, va, vb, u, across, drag = {zero, zero, zero};
    edge_points own = {.radius = f->radius}, other = {.x = f->other_x, .radius = f->other_radius};
    /* contact points of both bodies, and where the force acts */
    transform(mine, &f->point, &own.x);
    normal_of(f, mine, &own, &other, &n);
    d = (gw_lanes3){own.x.x - other.x.x, own.x.y - other.x.y, own.x.z - other.x.z};
    gw_lanes gap, rate, push, limit;
    dot(&n, &d, &gap);
    gw_lanes3 slide = {zero, zero, zero}, still = slide, slides = slide;
    if (f->any_bent)
        follow_bend(f, mine, &d, &n, &gap, &slide);
    here = (gw_lanes3){own.x.x - own.radius * n.x, own.x.y - own.radius * n.y,
                       own.x.z - own.radius * n.z};
    there = (gw_lanes3){other.x.x + other.radius * n.x, other.x.y + other.radius * n.y,
                        other.x.z + other.radius * n.z};
    if (f->any_tilts) {
        select3(&f->bent_in_other, &slide, &still, &slides);
        here = (gw_lanes3){here.x - slides.x, here.y - slides.y, here.z - slides.z};
        select3(&f->bent_in_other, &still, &slide, &slides);
        there = (gw_lanes3){there.x + slides.x, there.y + slides.y, there.z + slides.z};
    }
    mix(&f->mine_at_other, &there, &here, &at);
    /* gap, its rate, and the normal force */
    velocity(&v, &w, &at, &p, &va);
    velocity(&f->other_v, &f->other_w, &at, &f->other_p, &vb);
    u = (gw_lanes3){va.x - vb.x, va.y - vb.y, va.z - vb.z};
    dot(&n, &u, &rate);
    gw_lanes depth = own.radius + other.radius - gap - f->rest_penetration;
    push = f->stiffness * depth - f->damping * rate;
    larger(&push, &zero, &push);
    push = (gw_lanes)((gw_mask)push & (depth > zero));
    /* friction */
    limit = f->friction * push;
    reject(&u, &n, &across);
    if (f->sticks)
        stick(f, mine, &limit, &n, &across, &drag);
    else
        creep(f, &limit, slip_speed, &across, &drag);
    out->force = (gw_lanes3){push * n.x + drag.x, push * n.y + drag.y, push * n.z + drag.z};
    moment(&at, &p, &out->force, &out->torque);
    if (!both)
        return;
    moment(&at, &f->other_p, &out->force, &out->other_torque);
    out->other_torque.x = -out->other_torque.x;
    out->other_torque.y = -out->other_torque.y;
    out->other_torque.z = -out->other_torque.z;
}

/* The wrench at mine's origin. */
GW_TARGET_CLONES
static void apply_batch(gw_penalty_batch *f, const gw_body_motion *mine, double slip_speed,
                        gw_wrench *on)
{
    motions m;
    gw_penalty_forces forces;
    spread(mine, &m);
    forces_of(f, &m, slip_speed, false, &forces);
    on->f = gw_add(on->f, sum3(&forces.force));
    on->t = gw_add(on->t, sum3(&forces.torque));
}

GW_TARGET_CLONES
static void apply_between(gw_penalty_batch *f, const gw_body_motion *const mine[GW_LANES],
                          double slip_speed, gw_penalty_forces *out)
{
    motions m;
    gather(mine, &m);
    forces_of(f, &m, slip_speed, true, out);
}

void gw_penalty_batch_apply(gw_penalty_batch *f, const gw_body_motion *mine, double slip_speed,
                            gw_wrench *on)
{
    apply_batch(f, mine, slip_speed, on);
}

void gw_penalty_batch_apply_between(gw_penalty_batch *f, const gw_body_motion *const mine[GW_LANES],
                                    double slip_speed, gw_penalty_forces *out)
{
    apply_between(f, mine, slip_speed, out);
}
