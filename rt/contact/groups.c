/*
 * An island through a step. Movers that exchange forces make a group; each group goes on by itself,
 * from one of its collisions to the next, and where two of them meet they are one for the rest of
 * the step. Who else is in the island is neither put back nor stepped again. RT safe.
 */
#include <string.h>

#include "rt/contact/world_private.h"

#define TOGETHER 1e-7 /* gap at which a collision goes on to the next (m) */

/* ---- groups --------------------------------------------------------------------------------- */

static int any_mover(const gw_contact *c)
{
    return c->mover_a >= 0 ? c->mover_a : c->mover_b;
}

/* Group `other` becomes part of `into`. */
static void join(gw_world *w, int into, int other)
{
    if (into == other)
        return;
    for (int i = 0; i < w->whole.mover_count; i++)
        if (w->group[w->whole.movers[i]] == other)
            w->group[w->whole.movers[i]] = into;
    w->collisions[into] =
        w->collisions[into] > w->collisions[other] ? w->collisions[into] : w->collisions[other];
    w->stands[into] = w->stands[into] || w->stands[other];
}

/* Whom a group has become part of, while groups are made. */
static int leader(const gw_world *w, int m)
{
    while (w->group[m] != m)
        m = w->group[m];
    return m;
}

static void make_groups(gw_world *w)
{
    const gw_island *whole = &w->whole;
    for (int i = 0; i < whole->mover_count; i++) {
        int m = whole->movers[i];
        w->group[m] = whole->mover_count <= GW_ISLAND_SMALL ? whole->movers[0] : m;
        w->collisions[m] = 0;
        w->stands[m] = false;
        w->since[m] = 0;
    }
    for (int i = 0; i < whole->touch_count; i++) {
        const gw_contact *c = &w->touches[whole->touches[i]];
        if (gw_contact_both_dynamic(c) && (c->continuous || c->now.gap <= TOGETHER))
            w->group[leader(w, c->mover_b)] = leader(w, c->mover_a);
    }
    for (int i = 0; i < whole->mover_count; i++)
        w->group[whole->movers[i]] = leader(w, whole->movers[i]);
}

static bool within(const gw_world *w, int mover, int a, int b)
{
    return w->group[mover] == a || w->group[mover] == b;
}

/* What mover m of groups a and b has: what it shares with another of them comes with the first of
 * the two. */
static void take_mover(gw_world *w, int m, int a, int b)
{
    gw_island *in = &w->island, *out = &w->outer;
    const gw_incidence *touches = &w->touches_of, *couples = &w->couples_of;
    in->movers[in->mover_count++] = m;
    for (int i = touches->first[m]; i >= 0; i = touches->next[i]) {
        const gw_contact *c = &w->touches[touches->of[i]];
        int other = gw_other_system(m, c->mover_a, c->mover_b);
        bool inside = other < 0 || within(w, other, a, b);
        if (!inside)
            out->touches[out->touch_count++] = touches->of[i];
        else if (other < 0 || m == c->mover_a)
            in->touches[in->touch_count++] = touches->of[i];
    }
    for (int i = couples->first[m]; i >= 0; i = couples->next[i]) {
        const gw_collision_pair *p = &w->couples[couples->of[i]];
        int other = gw_other_system(m, p->mover_a, p->mover_b);
        bool inside = other < 0 || within(w, other, a, b);
        if (!inside)
            out->couples[out->couple_count++] = couples->of[i];
        else if (other < 0 || m == p->mover_a)
            in->couples[in->couple_count++] = couples->of[i];
    }
}

/* Groups a and b are what is stepped. */
static void take(gw_world *w, int a, int b)
{
    const gw_island *whole = &w->whole;
    gw_island *in = &w->island, *out = &w->outer;
    in->mover_count = in->touch_count = in->couple_count = 0;
    out->mover_count = out->touch_count = out->couple_count = 0;
    for (int i = 0; i < whole->mover_count; i++)
        if (within(w, whole->movers[i], a, b))
            take_mover(w, whole->movers[i], a, b);
}

/* All groups at once: contacts between them count as the island's own. */
static void take_all(gw_world *w)
{
    w->island = w->whole;
    w->outer.mover_count = w->outer.touch_count = w->outer.couple_count = 0;
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* A body of the group that is stepped begins a piece. */
static void begin_body(gw_world *w, int body)
{
    gw_body_state *place = &w->places[body];
    if (place->model < 0 || w->group[place->model] != w->group[w->island.movers[0]])
        return;
    place->start = place->pose;
    place->start_twist = place->twist;
}

static void begin_bodies(gw_world *w, const gw_island *of)
{
    for (int i = 0; i < of->couple_count; i++) {
        begin_body(w, w->couples[of->couples[i]].a);
        begin_body(w, w->couples[of->couples[i]].b);
    }
}

static void begin_piece(gw_world *w)
{
    w->era++;
    begin_bodies(w, &w->island);
    begin_bodies(w, &w->outer);
    for (int i = 0; i < w->island.touch_count; i++)
        gw_contact_begin_substep(w, &w->touches[w->island.touches[i]]);
    for (int i = 0; i < w->island.mover_count; i++) {
        int m = w->island.movers[i];
        const gw_model *model = gw_world_model(w, m);
        w->felt[m] = w->felt[m] || w->crowd[m] > 0;
        memcpy(w->saved + (size_t)m * w->stride, (const void *)model, model->ops->size);
        w->tried[m] = false;
    }
}

/* How fast a body of a mover gains speed; too short a piece does not tell. */
static void note_rate(gw_world *w, int body, double t)
{
    gw_body_state *p = &w->places[body];
    double h = p->model >= 0 ? t - w->since[p->model] : 0;
    if (h < 1e-3 * w->dt)
        return;
    p->rate.v = gw_scale(1 / h, gw_sub(p->twist.v, p->start_twist.v));
    p->rate.w = gw_scale(1 / h, gw_sub(p->twist.w, p->start_twist.w));
}

static void end_piece(gw_world *w, double t)
{
    w->era++;
    for (int i = 0; i < w->island.couple_count; i++) {
        note_rate(w, w->couples[w->island.couples[i]].a, t);
        note_rate(w, w->couples[w->island.couples[i]].b, t);
    }
    for (int i = 0; i < w->island.touch_count; i++) {
        gw_contact *c = &w->touches[w->island.touches[i]];
        gw_contact_end_substep(w, c, t - w->since[any_mover(c)]);
    }
    for (int i = 0; i < w->island.mover_count; i++) {
        int m = w->island.movers[i];
        if (t > w->since[m] && !w->stands[w->group[m]])
            gw_step_add(&w->movers[m].step, &w->trial[m], w->since[m] == 0);
        w->since[m] = t;
    }
}

/* ---- meetings of groups --------------------------------------------------------------------- */

/* The island is at t. Whoever of another group touches it there joins it. */
static void gather_groups(gw_world *w, double t)
{
    int here = w->group[w->island.movers[0]];
    for (int i = 0; i < w->outer.touch_count; i++) {
        const gw_contact *c = &w->touches[w->outer.touches[i]];
        bool from_a = w->group[c->mover_a] == here;
        int other = from_a ? c->mover_b : c->mover_a, there = w->group[other];
        gw_body_state own = w->places[from_a ? c->near.a : c->near.b];
        gw_body_state its = gw_body_state_interpolate(w, from_a ? c->near.b : c->near.a, t);
        gw_gap gap =
            gw_gap_at(&c->near, from_a ? &own.pose : &its.pose, from_a ? &its.pose : &own.pose);
        if (gap.gap > TOGETHER || c->immovable || w->since[other] > t)
            continue;
        take(w, there, there);
        gw_substep_trial(w, t);
        end_piece(w, t);
        join(w, here, there);
        take(w, here, here);
        gw_world_update_gaps(w, t);
        i = -1;
    }
}

/* When contacts will collide, all bodies having been tried to the step's end. */
static void foresee(gw_world *w, const gw_island *of)
{
    for (int i = 0; i < of->touch_count; i++) {
        gw_contact *c = &w->touches[of->touches[i]];
        c->meets = gw_toi_estimate(w, c, w->dt);
        if (c->awaited || !isfinite(c->meets))
            continue;
        c->awaited = true;
        w->awaited[w->awaited_count++] = of->touches[i];
    }
}

/* Tries the island to the step's end. */
static void go_ahead(gw_world *w)
{
    gw_substep_trial(w, w->dt);
    foresee(w, &w->island);
    for (int i = 0; i < w->outer.touch_count; i++) {
        gw_contact *c = &w->touches[w->outer.touches[i]];
        c->slow = false;
        gw_contact_set_start(w, c, 0);
        gw_contact_update_gap(w, c);
    }
    foresee(w, &w->outer);
}

static gw_contact *earliest(gw_world *w)
{
    gw_contact *first = NULL;
    int count = 0;
    for (int i = 0; i < w->awaited_count; i++) {
        gw_contact *c = &w->touches[w->awaited[i]];
        c->awaited = isfinite(c->meets);
        if (!c->awaited)
            continue;
        w->awaited[count++] = w->awaited[i];
        if (!first || c->meets < first->meets)
            first = c;
    }
    w->awaited_count = count;
    return first;
}

/* ---- a step --------------------------------------------------------------------------------- */

/* Bodies moved from outside begin anew with each island. */
static void begin_island(gw_world *w, gw_world_step_result *out)
{
    const gw_island *whole = &w->whole;
    w->era++;
    w->moved = 0;
    w->touched = false;
    w->awaited_count = 0;
    for (int i = 0; i < whole->couple_count; i++) {
        const gw_collision_pair *p = &w->couples[whole->couples[i]];
        gw_body_state *place[2] = {&w->places[p->a], &w->places[p->b]};
        for (int k = 0; k < 2; k++)
            if (place[k]->model < 0)
                place[k]->pose = place[k]->start = place[k]->home;
    }
    if (whole->touch_count == 0)
        return;
    gw_contact *c = &w->touches[whole->touches[w->turn % (unsigned)whole->touch_count]];
    double held = gw_contact_spring_energy(c);
    if (c->continuous)
        gw_contact_soften(w, c);
    out->dissipated += held - gw_contact_spring_energy(c);
}

/* No room for more collisions but to go on by so much. */
static bool spent(const gw_world *w, int rest)
{
    return w->effort + rest >= w->budget;
}

static void put_off(gw_world *w, gw_contact *c)
{
    c->deferred = true;
    c->meets = INFINITY;
    w->deferred++;
}

/* All that collides where the island is now; what is deep already must not go on. */
static void put_off_all(gw_world *w)
{
    for (int i = 0; i < w->island.touch_count; i++) {
        gw_contact *c = &w->touches[w->island.touches[i]];
        if (!gw_contact_collides(w, c))
            continue;
        put_off(w, c);
        if (gw_contact_too_deep(c))
            w->stands[w->group[w->island.movers[0]]] = true;
    }
}

/* What meets slowly rests; whether something collides. */
static bool collides(gw_world *w)
{
    bool any = false;
    for (int i = 0; i < w->island.touch_count; i++) {
        gw_contact *c = &w->touches[w->island.touches[i]];
        gw_contact_rest_if_slow(w, c);
        any = any || gw_contact_collides(w, c);
    }
    return any;
}

static void collide(gw_world *w, int rest, gw_world_step_result *out)
{
    int here = w->group[w->island.movers[0]];
    while (collides(w)) {
        if (w->collisions[here] >= 2 * GW_WORLD_MAX_TOI_EVENTS) {
            w->stands[here] = true;
            return;
        }
        if (spent(w, rest)) {
            put_off_all(w);
            return;
        }
        gw_resolve_collision(w, w->collisions[here]++ < GW_WORLD_MAX_TOI_EVENTS
                                    ? GW_COLLISION_RESTITUTION
                                    : GW_COLLISION_PLASTIC);
        out->collisions++;
    }
}

/* All that collides where the island is now, and the next piece begins. After
 * GW_WORLD_MAX_TOI_EVENTS collisions nothing bounces any more; after as many again the group stands
 * for what is left of the step: it goes through nothing, whatever presses it. */
static void resolve(gw_world *w, int rest, gw_world_step_result *out)
{
    collide(w, rest, out);
    begin_piece(w);
}

/* A group stays where its piece began. */
static void stay(gw_world *w, int group)
{
    take(w, group, group);
    w->stands[group] = true;
    go_ahead(w);
}

/* Whether there is no room for its collision: its groups would be put back and stepped again, and
 * what does not pass through is as well where it is then. */
static bool no_room(const gw_world *w, const gw_contact *c)
{
    int again = 0;
    for (int i = 0; i < w->whole.mover_count; i++) {
        int g = w->group[w->whole.movers[i]];
        again += (c->mover_a >= 0 && g == w->group[c->mover_a]) ||
                 (c->mover_b >= 0 && g == w->group[c->mover_b]);
    }
    return spent(w, c->now.gap > -GW_CONTACT_CLOSED_GAP ? 0 : 2 * again);
}

/* A collision that there is no room for: what would go too deep, or through, stays. */
static void leave(gw_world *w, gw_contact *c)
{
    int mover[2] = {c->mover_a, c->mover_b};
    bool stays = gw_contact_overshot(c) && spent(w, 0);
    put_off(w, c);
    for (int k = 0; stays && k < 2; k++)
        if (mover[k] >= 0 && !w->stands[w->group[mover[k]]])
            stay(w, w->group[mover[k]]);
}

/* Everybody as the step begins, on trial to its end. */
static void start(gw_world *w, gw_world_step_result *out)
{
    make_groups(w);
    for (int i = 0; i < w->whole.mover_count; i++) {
        int m = w->whole.movers[i];
        if (w->group[m] != m)
            continue;
        take(w, m, m);
        if (gw_island_overcompressed(w))
            gw_resolve_collision(w, GW_COLLISION_OVERCOMPRESSED);
        resolve(w, w->whole.mover_count, out);
    }
    take_all(w);
    for (int i = 0; i < w->island.touch_count; i++) {
        gw_contact *c = &w->touches[w->island.touches[i]];
        if (!gw_contact_both_dynamic(c) || w->group[c->mover_a] == w->group[c->mover_b])
            continue;
        c->slow = false;
        c->start = c->now;
        c->start_rate = c->rate;
        c->level = c->continuous ? 0 : fmin(0, c->start.gap);
        c->from = 0;
    }
    go_ahead(w);
}

/* The next collision of the island, and on trial again what it moved. */
static void go_on(gw_world *w, gw_contact *c, gw_world_step_result *out)
{
    int a = w->group[any_mover(c)], b = gw_contact_both_dynamic(c) ? w->group[c->mover_b] : a;
    take(w, a, b);
    double t = gw_toi_rewind(w, c, w->dt);
    c->meets = INFINITY;
    if (!(t < w->dt))
        return;
    end_piece(w, t);
    join(w, a, b);
    take(w, a, a);
    gather_groups(w, t);
    resolve(w, w->island.mover_count, out);
    go_ahead(w);
}

/* What nobody foresaw has met on the way. */
static bool overlooked(gw_world *w)
{
    take_all(w);
    if (!gw_toi_redetect_after_trial(w))
        return false;
    foresee(w, &w->island);
    return true;
}

void gw_island_step(gw_world *w, gw_world_step_result *out)
{
    gw_energy_audit open;
    if (w->whole.couple_count == 0) {
        gw_energy_audit_without_contacts(w, out);
        return;
    }
    begin_island(w, out);
    gw_energy_audit_open(w, &open);
    start(w, out);
    do
        for (gw_contact *c; (c = earliest(w));)
            if (no_room(w, c))
                leave(w, c);
            else
                go_on(w, c, out);
    while (overlooked(w));
    end_piece(w, w->dt);
    gw_energy_audit_close(w, &open, out);
}
