/*
 * States of bodies within a substep, and gaps and gap rates of contacts for them. RT safe.
 */
#include "rt/contact/kinematics.h"

#include <assert.h>

#include "rt/base/simd.h"
#include "rt/collision/edge_pair.h"
#include "rt/contact/unilateral_row.h"
#include "rt/contact/world_private.h"

/* ---- gap ------------------------------------------------------------------------------------ */

/* Unit vector from b to a; any where they coincide. */
static gw_vec3 direction_between(gw_vec3 a, gw_vec3 b)
{
    gw_vec3 d = gw_sub(a, b);
    return gw_norm2(d) > 0 ? gw_unit(d) : gw_v3(0, 0, 1);
}

/* s, r and w . r of what tilts (candidate.h), in the frame of the body that the normal is fixed to:
 * adds T w to s. `at`: d; `normal`: the one that is fixed to the other body. */
static double follow_tilt(const gw_curvatures *bend, gw_vec3 at, gw_vec3 normal, gw_vec3 *s,
                          gw_vec3 *r)
{
    double sum = 0;
    for (int i = 0; i < 2; i++) {
        double of_s = 0, of_r = 0;
        for (int k = 0; k < 2; k++) {
            double w = gw_dot(bend->direction[k], normal), d = gw_dot(bend->direction[k], at);
            of_s += bend->across[i][k] * w;
            of_r += bend->across[k][i] * d + bend->tilt[i][k] * w;
        }
        *s = gw_mul_add(*s, of_s, bend->direction[i]);
        *r = gw_mul_add(*r, of_r, bend->direction[i]);
        sum += gw_dot(bend->direction[i], normal) * of_r;
    }
    return sum;
}

/* Second-order correction of the normal of a bent surface for the displacement d between the points
 * (world; q: orientation of its body; other: of the other body); returns the correction of the gap
 * n . d. *slide: r (candidate.h). */
static double follow_bend(const gw_curvatures *bend, gw_quat q, gw_quat other, gw_vec3 d,
                          gw_vec3 *n, gw_vec3 *slide)
{
    gw_vec3 at = gw_unrotate(q, d), s = {0, 0, 0}, r = {0, 0, 0};
    double tilted = 0;
    for (int i = 0; i < 2; i++)
        s = gw_mul_add(s, bend->curvature[i] * gw_dot(bend->direction[i], at), bend->direction[i]);
    if (bend->tilts)
        tilted = follow_tilt(bend, at, gw_unrotate(q, gw_rotate(other, bend->other)), &s, &r);
    double length = sqrt(1 + gw_norm2(s));
    *n = gw_scale(1 / length, gw_add(*n, gw_rotate(q, s)));
    *slide = gw_rotate(q, r);
    return (gw_dot(at, s) + tilted) / (1 + length);
}

/* Normal across two edges; moves the points to where these are nearest. The rate of the gap is that
 * of the two points there. */
GW_LANE_INLINE gw_vec3 across_edges(const gw_contact_candidate *candidate, gw_quat a, gw_quat b,
                                    gw_edge_point *on_a, gw_edge_point *on_b)
{
    on_a->e = gw_rotate(a, candidate->edge_a);
    on_b->e = gw_rotate(b, candidate->edge_b);
    int steps = 1;
    if (gw_is_bowed(candidate)) {
        on_a->k = gw_rotate(a, candidate->bow_a);
        on_b->k = gw_rotate(b, candidate->bow_b);
        on_a->taper = candidate->taper_a;
        on_b->taper = candidate->taper_b;
        steps = GW_BOWED_STEPS;
    }
    for (int i = 0; i < steps; i++)
        gw_edge_points_approach(on_a, on_b);
    return gw_edge_points_normal(on_a, on_b);
}

/* gap = n . (x_a - x_b) - r_a - r_b, corrected for bent surfaces (candidate.h) */
GW_LANE_INLINE gw_gap gap_of_points(const gw_contact_candidate *candidate, const gw_pose *a,
                                    const gw_pose *b)
{
    gw_gap g = {0};
    gw_edge_point on_a = {.x = gw_pose_point(a, candidate->point_a), .radius = candidate->radius_a};
    gw_edge_point on_b = {.x = gw_pose_point(b, candidate->point_b), .radius = candidate->radius_b};
    gw_vec3 slide = {0, 0, 0};
    switch (candidate->kind) {
    case GW_NORMAL_IN_A:
        g.normal = gw_rotate(a->q, candidate->normal);
        break;
    case GW_NORMAL_IN_B:
        g.normal = gw_rotate(b->q, candidate->normal);
        break;
    case GW_NORMAL_BETWEEN:
        g.normal = direction_between(on_a.x, on_b.x);
        break;
    case GW_NORMAL_ACROSS:
        g.normal = across_edges(candidate, a->q, b->q, &on_a, &on_b);
        break;
    }
    gw_vec3 d = gw_sub(on_a.x, on_b.x);
    g.gap = gw_dot(g.normal, d) - on_a.radius - on_b.radius;
    bool in_a = candidate->kind == GW_NORMAL_IN_A;
    if (gw_is_curved(&candidate->bend))
        g.gap += follow_bend(&candidate->bend, in_a ? a->q : b->q, in_a ? b->q : a->q, d, &g.normal,
                             &slide);
    g.at_a = gw_mul_add(gw_sub(on_a.x, slide), -on_a.radius, g.normal);
    g.at_b = gw_mul_add(gw_add(on_b.x, slide), on_b.radius, g.normal);
    if (in_a)
        g.at_a = g.at_b;
    else
        g.at_b = g.at_a;
    return g;
}

gw_gap gw_gap_at(const gw_contact_candidate *candidate, const gw_pose *a, const gw_pose *b)
{
    if (candidate->row)
        return gw_unilateral_row_gap(candidate->row, a, b);
    return gap_of_points(candidate, a, b);
}

/* d(gap)/dt = n . (v_a - v_b), or that of a lever or general row, for the gap of these states. */
static double rate_of(const gw_gap *g, const gw_body_state *a, const gw_body_state *b)
{
    gw_vec3 v = gw_sub(gw_velocity_at(&a->pose, &a->twist, g->at_a),
                       gw_velocity_at(&b->pose, &b->twist, g->at_b));
    double rate = g->lever > 0 ? g->lever * gw_dot(g->normal, gw_sub(a->twist.w, b->twist.w))
                               : gw_dot(g->normal, v);
    if (g->general)
        rate += gw_dot(g->couple, gw_sub(a->twist.w, b->twist.w));
    return rate;
}

gw_gap gw_gap_of_states(const gw_contact_candidate *candidate, const gw_body_state *a,
                        const gw_body_state *b, double *rate)
{
    gw_gap g = gw_gap_at(candidate, &a->pose, &b->pose);
    *rate = rate_of(&g, a, b);
    return g;
}

/* ---- bodies --------------------------------------------------------------------------------- */

/* The acceleration counts: without it, two bodies that fall together would lag behind each other in
 * each other's prediction. */
gw_pose gw_body_state_extrapolate(const gw_body_state *state, double t, gw_twist *twist)
{
    *twist = state->start_twist;
    if (!state->moving || t == 0)
        return state->start_pose;
    const gw_twist *v = &state->start_twist, *a = &state->acceleration;
    gw_twist d = {gw_mul_add(gw_scale(t, v->v), 0.5 * t * t, a->v),
                  gw_mul_add(gw_scale(t, v->w), 0.5 * t * t, a->w)};
    *twist = (gw_twist){gw_mul_add(v->v, t, a->v), gw_mul_add(v->w, t, a->w)};
    return gw_pose_add(&state->start_pose, &d);
}

/* Hermite cubic of poses, in the exponential chart at the start pose; twists are interpolated
 * linearly. */
gw_body_state gw_body_state_interpolate(const gw_world *w, int body, double t)
{
    assert(body >= 0 && body < w->body_count);
    gw_body_state state = w->bodies[body];
    int m = state.model;
    if (m < 0)
        state.pose = gw_body_state_extrapolate(&state, t, &state.twist);
    bool at_rest = m < 0 || w->systems[m].still || w->frozen[w->group[m]];
    double h = at_rest ? 0 : w->substep_end[m] - w->substep_start[m];
    if (!(h > 0))
        return state;
    if (t == w->substep_start[m]) { /* the cubic there, to the last bit */
        state.pose = (gw_pose){state.start_pose.p, gw_quat_unit(state.start_pose.q)};
        state.twist = state.start_twist;
        return state;
    }
    double s = (t - w->substep_start[m]) / h;
    double b = s * s * (3 - 2 * s), c = s * (1 - s) * (1 - s) * h, d = s * s * (s - 1) * h;
    gw_twist all = gw_pose_sub(&state.pose, &state.start_pose), part;
    part.v = gw_mul_add(gw_mul_add(gw_scale(b, all.v), c, state.start_twist.v), d, state.twist.v);
    part.w = gw_mul_add(gw_mul_add(gw_scale(b, all.w), c, state.start_twist.w), d, state.twist.w);
    state.pose = gw_pose_add(&state.start_pose, &part);
    state.twist.v = gw_mul_add(gw_scale(1 - s, state.start_twist.v), s, state.twist.v);
    state.twist.w = gw_mul_add(gw_scale(1 - s, state.start_twist.w), s, state.twist.w);
    return state;
}

/* State of a body after a trial to t. */
static void update_body(gw_world *w, gw_body_state *state, double t)
{
    if (state->model < 0) {
        state->pose = gw_body_state_extrapolate(state, t, &state->twist);
        return;
    }
    gw_model_body(gw_world_model(w, state->model), state->index, &state->pose, &state->twist);
    if (w->systems[state->model].still)
        state->twist = (gw_twist){{0, 0, 0}, {0, 0, 0}};
}

static void update_bodies(gw_world *w, const gw_island *of, double t)
{
    for (int i = 0; i < of->body_count; i++)
        update_body(w, &w->bodies[of->bodies[i]], t);
}

/* ---- contacts ------------------------------------------------------------------------------- */

void gw_contact_update_gap(const gw_world *w, gw_contact *c)
{
    c->now = gw_gap_of_states(&c->candidate, &w->bodies[c->candidate.a], &w->bodies[c->candidate.b],
                              &c->gap_rate);
    c->now.gap += c->turned;
    c->anchored = false;
}

void gw_contact_update_rate(const gw_world *w, gw_contact *c)
{
    c->gap_rate = rate_of(&c->now, &w->bodies[c->candidate.a], &w->bodies[c->candidate.b]);
}

double gw_contact_whole_turns(const gw_contact *c, const gw_model *model, double gap)
{
    const gw_unilateral_row *row = c->candidate.row;
    if (!row || row->kind != GW_UNILATERAL_TURN || !model || !model->ops->coordinate)
        return 0;
    double q = model->ops->coordinate(model, row->joint, row->coordinate);
    double whole = 2 * GW_PI * row->length;
    return whole * round((row->length * row->sign * (q - row->value) - gap) / whole);
}

void gw_contact_update_turned_gap(const gw_world *w, gw_contact *c)
{
    c->turned = 0;
    gw_contact_update_gap(w, c);
    c->turned = gw_contact_whole_turns(c, gw_world_model(w, gw_contact_any_system(c)), c->now.gap);
    c->now.gap += c->turned;
}

void gw_contact_set_start(const gw_world *w, gw_contact *c, double from)
{
    double a_start = c->system_a >= 0 ? w->substep_start[c->system_a] : 0;
    double b_start = c->system_b >= 0 ? w->substep_start[c->system_b] : 0;
    c->start_time = fmax(from, fmax(a_start, b_start));
    gw_body_state a = gw_body_state_interpolate(w, c->candidate.a, c->start_time);
    gw_body_state b = gw_body_state_interpolate(w, c->candidate.b, c->start_time);
    c->start = gw_gap_of_states(&c->candidate, &a, &b, &c->start_gap_rate);
    c->start.gap += c->turned;
    c->impact_gap = c->continuous ? 0 : fmin(0, c->start.gap);
}

/* Gaps and rates of the active contacts. */
GW_TARGET_CLONES
static void update_active_gaps(gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (c->candidate.row) {
            w->row_work += gw_contact_row_work(c);
            gw_contact_update_turned_gap(w, c);
            continue;
        }
        const gw_body_state *a = &w->bodies[c->candidate.a], *b = &w->bodies[c->candidate.b];
        c->turned = 0;
        c->now = gap_of_points(&c->candidate, &a->pose, &b->pose);
        c->gap_rate = rate_of(&c->now, a, b);
        c->anchored = false;
    }
}

void gw_world_update_gaps(gw_world *w, double t)
{
    assert(w);
    update_bodies(w, &w->active, t);
    update_bodies(w, &w->boundary, t);
    update_active_gaps(w);
}
