/*
 * Who may meet whom within a step: movers joined by near pairs, each group stepped by itself. RT
 * safe.
 */
#include "rt/contact/world_private.h"

static int root(gw_world *w, int m)
{
    while (w->parent[m] != m)
        m = w->parent[m] = w->parent[w->parent[m]];
    return m;
}

static int mover_of(const gw_world *w, int body)
{
    int m = w->places[body].model;
    return m >= 0 && !w->movers[m].still ? m : -1;
}

static int any_mover(const gw_contact *c)
{
    return c->mover_a >= 0 ? c->mover_a : c->mover_b;
}

/* Who is near another; each couple to its island. */
static void join(gw_world *w)
{
    for (int i = 0; i < w->couple_count; i++) {
        gw_collision_pair *p = &w->couples[i];
        p->mover_a = mover_of(w, p->a);
        p->mover_b = mover_of(w, p->b);
        if (p->mover_a >= 0 && p->mover_b >= 0)
            w->parent[root(w, p->mover_a)] = root(w, p->mover_b);
    }
    for (int i = w->couple_count - 1; i >= 0; i--) {
        gw_collision_pair *p = &w->couples[i];
        int m = p->mover_a >= 0 ? p->mover_a : p->mover_b;
        if (m < 0)
            continue;
        p->next = w->first_couple[root(w, m)];
        w->first_couple[root(w, m)] = i;
    }
}

void gw_islands_find(gw_world *w)
{
    for (int m = 0; m < w->mover_count; m++) {
        w->parent[m] = m;
        w->first[m] = w->first_couple[m] = -1;
        w->crowd[m] = 0;
    }
    for (int i = 0; i < w->touch_count; i++) {
        gw_contact *c = &w->touches[i];
        c->mover_a = mover_of(w, c->near.a);
        c->mover_b = mover_of(w, c->near.b);
        c->continuous = c->continuous && any_mover(c) >= 0;
        for (int k = 0; c->continuous && k < 2; k++) {
            int m = k == 0 ? c->mover_a : c->mover_b;
            if (m >= 0 && (k == 0 || c->mover_b != c->mover_a))
                w->crowd[m]++;
        }
    }
    join(w);
    for (int i = w->touch_count - 1; i >= 0; i--) {
        gw_contact *c = &w->touches[i];
        if (any_mover(c) < 0)
            continue;
        int r = root(w, any_mover(c));
        c->next = w->first[r];
        w->first[r] = i;
    }
}

/* One more that its movers have. */
static void list(gw_incidence *l, int which, int mover_a, int mover_b)
{
    int mover[2] = {mover_a, mover_b == mover_a ? -1 : mover_b};
    for (int k = 0; k < 2; k++) {
        if (mover[k] < 0)
            continue;
        l->of[l->count] = which;
        l->next[l->count] = l->first[mover[k]];
        l->first[mover[k]] = l->count++;
    }
}

static void list_touch(gw_world *w, int touch)
{
    list(&w->touches_of, touch, w->touches[touch].mover_a, w->touches[touch].mover_b);
}

static void list_all(gw_world *w)
{
    const gw_island *island = &w->whole;
    w->touches_of.count = w->couples_of.count = 0;
    for (int i = 0; i < island->mover_count; i++)
        w->touches_of.first[island->movers[i]] = w->couples_of.first[island->movers[i]] = -1;
    for (int i = island->touch_count - 1; i >= 0; i--)
        list_touch(w, island->touches[i]);
    for (int i = island->couple_count - 1; i >= 0; i--) {
        const gw_collision_pair *p = &w->couples[island->couples[i]];
        list(&w->couples_of, island->couples[i], p->mover_a, p->mover_b);
    }
}

bool gw_island_select(gw_world *w, int m)
{
    gw_island *island = &w->whole;
    island->mover_count = island->touch_count = island->couple_count = 0;
    if (w->movers[m].still || root(w, m) != m)
        return false;
    for (int k = 0; k < w->mover_count; k++)
        if (!w->movers[k].still && root(w, k) == m)
            island->movers[island->mover_count++] = k;
    for (int i = w->first[m]; i >= 0; i = w->touches[i].next)
        island->touches[island->touch_count++] = i;
    for (int i = w->first_couple[m]; i >= 0; i = w->couples[i].next)
        island->couples[island->couple_count++] = i;
    list_all(w);
    return true;
}

gw_contact *gw_island_add_contact(gw_world *w, const gw_collision_pair *p,
                                  const gw_contact_candidate *near)
{
    gw_contact *c = gw_pair_add_contact(w, (int)(p - w->couples), near);
    if (!c)
        return NULL;
    c->mover_a = mover_of(w, near->a);
    c->mover_b = mover_of(w, near->b);
    c->meets = INFINITY;
    w->whole.touches[w->whole.touch_count++] = (int)(c - w->touches);
    w->island.touches[w->island.touch_count++] = (int)(c - w->touches);
    list_touch(w, (int)(c - w->touches));
    return c;
}
