/*
 * Which pieces are near one another, from step to step, and the touches that are followed between
 * them: what is found anew takes the place of what was, contacts go on by key. RT safe.
 */
#include <string.h>

#include "rt/contact/world_private.h"

#define OUTDATED 5e-3 /* left out for so long, a couple is better known to the detector (s) */

/* ---- couples -------------------------------------------------------------------------------- */

static bool is_of(const gw_collision_pair *p, const gw_contact_candidate *near)
{
    return p->geom_a == near->geom_a && p->geom_b == near->geom_b && p->a == near->a &&
           p->b == near->b;
}

static unsigned hash(int geom_a, int geom_b, int a, int b)
{
    unsigned h = (unsigned)geom_a * 0x9e3779b1u + (unsigned)geom_b * 0x85ebca6bu +
                 (unsigned)a * 0xc2b2ae35u + (unsigned)b * 0x27d4eb2fu;
    return (h ^ h >> 15) & (GW_PAIR_HASH_SLOTS - 1);
}

static void enter(gw_world *w, int index)
{
    const gw_collision_pair *p = &w->couples[index];
    unsigned at = hash(p->geom_a, p->geom_b, p->a, p->b);
    while (w->slot[at] != 0)
        at = (at + 1) & (GW_PAIR_HASH_SLOTS - 1);
    w->slot[at] = index + 1;
}

/* Pieces that were carried from another world have no number in this one. */
static bool watch(const gw_narrow_phase *look, gw_collision_pair *p)
{
    bool known = look->cost && p->geom_a >= 0 && p->geom_b >= 0;
    p->cost =
        known ? 1 + look->cost(look->context, p->geom_a) + look->cost(look->context, p->geom_b) : 1;
    return look->ball && p->geom_a >= 0 && p->geom_b >= 0 &&
           look->ball(look->context, p->geom_a, &p->centre_a, &p->radius_a) &&
           look->ball(look->context, p->geom_b, &p->centre_b, &p->radius_b);
}

int gw_pair_of_candidate(gw_world *w, const gw_contact_candidate *near)
{
    unsigned at = hash(near->geom_a, near->geom_b, near->a, near->b);
    for (; w->slot[at] != 0; at = (at + 1) & (GW_PAIR_HASH_SLOTS - 1))
        if (is_of(&w->couples[w->slot[at] - 1], near))
            return w->slot[at] - 1;
    gw_collision_pair *p = &w->couples[w->couple_count];
    *p = (gw_collision_pair){.geom_a = near->geom_a,
                             .geom_b = near->geom_b,
                             .a = near->a,
                             .b = near->b,
                             .found = -1,
                             .first = -1};
    p->watched = watch(&w->looker, p);
    w->slot[at] = ++w->couple_count;
    return w->couple_count - 1;
}

void gw_pairs_clear(gw_world *w)
{
    w->couple_count = w->touch_count = w->found_count = 0;
    memset(w->slot, 0, sizeof w->slot);
}

/* Those that arrived stay; touches of others belong to none. */
static void drop_couples(gw_world *w)
{
    int map[2 * GW_MAX_CONTACT_CANDIDATES], count = 0;
    for (int i = 0; i < w->couple_count; i++) {
        map[i] = w->couples[i].kept ? count : -1;
        if (w->couples[i].kept)
            w->couples[count++] = w->couples[i];
    }
    w->couple_count = count;
    memset(w->slot, 0, sizeof w->slot);
    for (int i = 0; i < count; i++)
        enter(w, i);
    for (int i = 0; i < w->touch_count; i++)
        w->touches[i].couple = map[w->touches[i].couple];
}

/* ---- touches -------------------------------------------------------------------------------- */

gw_contact *gw_pair_find_contact(gw_world *w, const gw_collision_pair *p,
                                 const gw_contact_candidate *near)
{
    for (int i = p->first; i >= 0; i = w->touches[i].sibling)
        if (w->touches[i].near.key == near->key)
            return &w->touches[i];
    return NULL;
}

gw_contact *gw_pair_add_contact(gw_world *w, int couple, const gw_contact_candidate *near)
{
    gw_collision_pair *p = &w->couples[couple];
    if (w->touch_count == 2 * GW_MAX_CONTACT_CANDIDATES)
        return NULL;
    gw_contact *c = &w->touches[w->touch_count];
    *c = (gw_contact){.near = *near, .couple = couple, .sibling = p->first};
    p->first = w->touch_count++;
    return c;
}

/* As it was found now. */
static void take(gw_world *w, int couple, const gw_contact_candidate *near)
{
    gw_contact *c = gw_pair_find_contact(w, &w->couples[couple], near);
    if (c)
        c->near = *near;
    else
        c = gw_pair_add_contact(w, couple, near);
    if (!c)
        return;
    c->kept = true;
    c->fresh = !c->continuous;
}

/* A contact known by another key, whose bodies and place are the same: features of a body take
 * turns at touching as it tips. It is taken over once. */
static gw_contact *inherited(gw_world *w, const gw_contact_candidate *near)
{
    gw_contact *best = NULL;
    double least = GW_CONTACT_MATCH_DISTANCE;
    for (int i = 0; i < w->touch_count; i++) {
        gw_contact *c = &w->touches[i];
        if (c->kept || !c->continuous || c->near.a != near->a || c->near.b != near->b)
            continue;
        double d = gw_distance(c->near.point_a, near->point_a);
        d = fmin(d, gw_distance(c->near.point_b, near->point_b));
        if (d < least)
            least = d, best = c;
    }
    return best;
}

static bool take_over(gw_world *w, gw_contact *c)
{
    gw_contact *old = inherited(w, &c->near);
    if (!old)
        return false;
    gw_contact mine = *c;
    *c = *old;
    c->near = mine.near;
    c->couple = mine.couple;
    c->kept = true;
    old->continuous = false;
    return true;
}

static bool lost_any(const gw_world *w)
{
    for (int i = 0; i < w->touch_count; i++)
        if (!w->touches[i].kept && w->touches[i].continuous)
            return true;
    return false;
}

/* What was not found again goes, the nearest of the others stay. */
static void close_lists(gw_world *w)
{
    int count = 0;
    bool lost = lost_any(w);
    for (int i = 0; i < w->touch_count && lost; i++)
        if (w->touches[i].kept && w->touches[i].fresh && take_over(w, &w->touches[i]))
            lost = lost_any(w);
    for (int i = 0; i < w->couple_count; i++)
        w->couples[i].first = -1;
    for (int i = 0; i < w->touch_count; i++)
        if (w->touches[i].kept && count < GW_MAX_CONTACT_CANDIDATES) {
            gw_contact *c = &w->touches[count];
            if (i != count)
                *c = w->touches[i];
            c->fresh = c->aside = false;
            c->sibling = w->couples[c->couple].first;
            w->couples[c->couple].first = count++;
        }
    w->touch_count = count;
}

/* ---- what is found anew --------------------------------------------------------------------- */

bool gw_pairs_apply_redetected(gw_world *w)
{
    if (w->found_count == 0)
        return false;
    for (int i = 0; i < w->touch_count; i++)
        w->touches[i].kept = w->couples[w->touches[i].couple].found < 0;
    for (int i = 0; i < w->couple_count; i++) {
        gw_collision_pair *p = &w->couples[i];
        for (int k = 0; p->found >= 0 && k < p->found_count; k++)
            take(w, i, &w->found[p->found + k]);
        p->found = -1;
    }
    close_lists(w);
    w->found_count = 0;
    return true;
}

bool gw_pairs_apply_candidates(gw_world *w)
{
    if (w->arrived_count < 0)
        return false;
    for (int i = 0; i < w->couple_count; i++)
        w->couples[i].kept = false;
    for (int i = 0; i < w->arrived_count; i++)
        w->couples[gw_pair_of_candidate(w, &w->arrived[i])].kept = true;
    drop_couples(w);
    for (int i = 0; i < w->couple_count; i++) {
        gw_collision_pair *p = &w->couples[i];
        p->looked = p->looked && p->left_out < OUTDATED;
    }
    for (int i = 0; i < w->touch_count; i++) {
        gw_contact *c = &w->touches[i];
        c->kept = c->couple >= 0 && w->couples[c->couple].looked;
    }
    for (int i = 0; i < w->arrived_count; i++) {
        int couple = gw_pair_of_candidate(w, &w->arrived[i]);
        if (!w->couples[couple].looked && !w->arrived[i].proximity_only) /* else it knows better */
            take(w, couple, &w->arrived[i]);
    }
    close_lists(w);
    w->arrived_count = -1;
    return true;
}
