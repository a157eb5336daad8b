/*
 * Where the world's bodies are, and the gaps between them. RT safe.
 */
#include "rt/contact/world_private.h"

/* Two bodies that fall together must not see one another stay behind: hence the rate. */
gw_pose gw_body_state_extrapolate(const gw_body_state *place, double t, gw_twist *twist)
{
    *twist = place->start_twist;
    if (!place->moves || t == 0)
        return place->start;
    const gw_twist *v = &place->start_twist, *a = &place->rate;
    gw_twist d = {gw_mul_add(gw_scale(t, v->v), 0.5 * t * t, a->v),
                  gw_mul_add(gw_scale(t, v->w), 0.5 * t * t, a->w)};
    *twist = (gw_twist){gw_mul_add(v->v, t, a->v), gw_mul_add(v->w, t, a->w)};
    return gw_pose_add(&place->start, &d);
}

/* By the cubic that has its poses and twists at both ends of its piece. */
gw_body_state gw_body_state_interpolate(const gw_world *w, int body, double t)
{
    gw_body_state place = w->places[body];
    int m = place.model;
    if (m < 0)
        place.pose = gw_body_state_extrapolate(&place, t, &place.twist);
    bool waits = m < 0 || w->movers[m].still || w->stands[w->group[m]];
    double h = waits ? 0 : w->until[m] - w->since[m];
    if (!(h > 0))
        return place;
    double s = (t - w->since[m]) / h;
    double b = s * s * (3 - 2 * s), c = s * (1 - s) * (1 - s) * h, d = s * s * (s - 1) * h;
    gw_twist all = gw_pose_sub(&place.pose, &place.start), part;
    part.v = gw_mul_add(gw_mul_add(gw_scale(b, all.v), c, place.start_twist.v), d, place.twist.v);
    part.w = gw_mul_add(gw_mul_add(gw_scale(b, all.w), c, place.start_twist.w), d, place.twist.w);
    place.pose = gw_pose_add(&place.start, &part);
    place.twist.v = gw_mul_add(gw_scale(1 - s, place.start_twist.v), s, place.twist.v);
    place.twist.w = gw_mul_add(gw_scale(1 - s, place.start_twist.w), s, place.twist.w);
    return place;
}

static void look_at(gw_world *w, gw_body_state *place, double t)
{
    if (place->model < 0) {
        place->pose = gw_body_state_extrapolate(place, t, &place->twist);
        return;
    }
    gw_model_body(gw_world_model(w, place->model), place->index, &place->pose, &place->twist);
    if (w->movers[place->model].still)
        place->twist = (gw_twist){{0, 0, 0}, {0, 0, 0}};
}

gw_gap gw_gap_of_states(const gw_contact_candidate *near, const gw_body_state *a,
                        const gw_body_state *b, double *rate)
{
    gw_gap g = gw_gap_at(near, &a->pose, &b->pose);
    gw_vec3 v = gw_sub(gw_velocity_at(&a->pose, &a->twist, g.at_a),
                       gw_velocity_at(&b->pose, &b->twist, g.at_b));
    *rate = gw_dot(g.normal, v);
    return g;
}

void gw_contact_update_gap(const gw_world *w, gw_contact *c)
{
    c->now = gw_gap_of_states(&c->near, &w->places[c->near.a], &w->places[c->near.b], &c->rate);
}

void gw_contact_set_start(const gw_world *w, gw_contact *c, double from)
{
    double a_from = c->mover_a >= 0 ? w->since[c->mover_a] : 0;
    double b_from = c->mover_b >= 0 ? w->since[c->mover_b] : 0;
    c->from = fmax(from, fmax(a_from, b_from));
    gw_body_state a = gw_body_state_interpolate(w, c->near.a, c->from);
    gw_body_state b = gw_body_state_interpolate(w, c->near.b, c->from);
    c->start = gw_gap_of_states(&c->near, &a, &b, &c->start_rate);
    c->level = c->continuous ? 0 : fmin(0, c->start.gap);
}

static void look_at_couples(gw_world *w, const gw_island *of, double t)
{
    for (int i = 0; i < of->couple_count; i++) {
        const gw_collision_pair *p = &w->couples[of->couples[i]];
        look_at(w, &w->places[p->a], t);
        look_at(w, &w->places[p->b], t);
    }
}

void gw_world_update_gaps(gw_world *w, double t)
{
    look_at_couples(w, &w->island, t);
    look_at_couples(w, &w->outer, t);
    for (int i = 0; i < w->island.touch_count; i++)
        gw_contact_update_gap(w, &w->touches[w->island.touches[i]]);
}
