/*
 * Where the world's bodies are, and the gaps between them. RT safe.
 */
#include "rt/contact/world_private.h"

/* Two bodies that fall together must not see one another stay behind: hence the rate. */
gw_pose gw_place_ahead(const gw_place *place, double t, gw_twist *twist)
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

static void look_at(gw_world *w, gw_place *place, double t)
{
    if (place->model < 0) {
        place->pose = gw_place_ahead(place, t, &place->twist);
        return;
    }
    gw_model_body(gw_world_model(w, place->model), place->index, &place->pose, &place->twist);
    if (w->movers[place->model].still)
        place->twist = (gw_twist){{0, 0, 0}, {0, 0, 0}};
}

void gw_touch_look(const gw_world *w, gw_touch *c)
{
    const gw_place *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    c->now = gw_gap_at(&c->near, &a->pose, &b->pose);
    gw_vec3 v = gw_sub(gw_velocity_at(&a->pose, &a->twist, c->now.at_a),
                       gw_velocity_at(&b->pose, &b->twist, c->now.at_b));
    c->rate = gw_dot(c->now.normal, v);
}

void gw_world_look(gw_world *w, double t)
{
    const gw_island *island = &w->island;
    for (int i = 0; i < island->couple_count; i++) {
        const gw_couple *p = &w->couples[island->couples[i]];
        look_at(w, &w->places[p->a], t);
        look_at(w, &w->places[p->b], t);
    }
    for (int i = 0; i < island->touch_count; i++)
        gw_touch_look(w, &w->touches[island->touches[i]]);
}
