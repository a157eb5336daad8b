/*
 * Islands and contact groups. Systems joined by collision pairs are an island (union-find); islands
 * cannot meet within a step. Systems of an island that exchange contact forces are a group, which
 * has substeps of its own; groups that meet within the step are merged.
 *
 * w->island is the island that is stepped, w->active the groups of it that are integrated now, and
 * w->boundary what these share with other groups. RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/contact/world_private.h"

#define TOUCHING_GAP 1e-7 /* gap up to which two systems are of one group (m) */

/* ---- islands -------------------------------------------------------------------------------- */

static int find_root(gw_world *w, int m)
{
    while (w->parent[m] != m)
        m = w->parent[m] = w->parent[w->parent[m]];
    return m;
}

/* The system that moves a body; -1: static, moved from outside, or of a system that is still. */
static int system_of(const gw_world *w, int body)
{
    int m = w->bodies[body].model;
    return m >= 0 && !w->systems[m].still ? m : -1;
}

static void join_pairs(gw_world *w)
{
    for (int i = 0; i < w->pair_count; i++) {
        gw_collision_pair *p = &w->pairs[i];
        p->system_a = system_of(w, p->a);
        p->system_b = system_of(w, p->b);
        if (p->system_a >= 0 && p->system_b >= 0)
            w->parent[find_root(w, p->system_a)] = find_root(w, p->system_b);
    }
}

void gw_islands_find(gw_world *w)
{
    assert(w);
    for (int m = 0; m < w->system_count; m++) {
        w->parent[m] = m;
        w->first_contact[m] = w->first_pair[m] = -1;
        w->continuous_count[m] = 0;
    }
    /* systems of the contacts; continuous ones are counted at each */
    for (int i = 0; i < w->contact_count; i++) {
        gw_contact *c = &w->contacts[i];
        c->system_a = system_of(w, c->candidate.a);
        c->system_b = system_of(w, c->candidate.b);
        c->continuous = c->continuous && gw_contact_any_system(c) >= 0;
        for (int k = 0; c->continuous && k < 2; k++) {
            int m = k == 0 ? c->system_a : c->system_b;
            if (m >= 0 && (k == 0 || c->system_b != c->system_a))
                w->continuous_count[m]++;
        }
    }
    join_pairs(w);
    /* lists of each island, in the order of the cache */
    for (int i = w->pair_count - 1; i >= 0; i--) {
        gw_collision_pair *p = &w->pairs[i];
        int m = p->system_a >= 0 ? p->system_a : p->system_b;
        if (m < 0)
            continue;
        p->next_in_island = w->first_pair[find_root(w, m)];
        w->first_pair[find_root(w, m)] = i;
    }
    for (int i = w->contact_count - 1; i >= 0; i--) {
        gw_contact *c = &w->contacts[i];
        if (gw_contact_any_system(c) < 0)
            continue;
        int r = find_root(w, gw_contact_any_system(c));
        c->next_in_island = w->first_contact[r];
        w->first_contact[r] = i;
    }
}

/* Enters an element into the lists of its one or two systems. */
static void add_incidence(gw_incidence *l, int element, int system_a, int system_b)
{
    int system[2] = {system_a, system_b == system_a ? -1 : system_b};
    for (int k = 0; k < 2; k++) {
        if (system[k] < 0)
            continue;
        l->of[l->count] = element;
        l->next[l->count] = l->first[system[k]];
        l->first[system[k]] = l->count++;
    }
}

static void add_contact_incidence(gw_world *w, int contact)
{
    const gw_contact *c = &w->contacts[contact];
    add_incidence(&w->contacts_of, contact, c->system_a, c->system_b);
}

/* Adds a pair with its bodies, each body once. */
static void add_pair(gw_world *w, gw_island *to, int pair)
{
    const int body[2] = {w->pairs[pair].a, w->pairs[pair].b};
    to->pairs[to->pair_count++] = pair;
    for (int k = 0; k < 2; k++) {
        unsigned *listed = &w->bodies[body[k]].listed[to == &w->boundary];
        if (*listed != w->listing)
            to->bodies[to->body_count++] = body[k];
        *listed = w->listing;
    }
}

static void clear_island(gw_island *part)
{
    part->system_count = part->contact_count = part->pair_count = part->body_count = 0;
}

static void copy_part(gw_island *to, const gw_island *from)
{
    to->system_count = from->system_count;
    to->contact_count = from->contact_count;
    to->pair_count = from->pair_count;
    to->body_count = from->body_count;
    memcpy(to->systems, from->systems, (size_t)from->system_count * sizeof *to->systems);
    memcpy(to->contacts, from->contacts, (size_t)from->contact_count * sizeof *to->contacts);
    memcpy(to->pairs, from->pairs, (size_t)from->pair_count * sizeof *to->pairs);
    memcpy(to->bodies, from->bodies, (size_t)from->body_count * sizeof *to->bodies);
}

bool gw_island_select(gw_world *w, int m)
{
    assert(m >= 0 && m < w->system_count);
    gw_island *island = &w->island;
    clear_island(island);
    if (w->systems[m].still || find_root(w, m) != m)
        return false;
    w->listing++;
    for (int k = 0; k < w->system_count; k++)
        if (!w->systems[k].still && find_root(w, k) == m)
            island->systems[island->system_count++] = k;
    for (int i = w->first_contact[m]; i >= 0; i = w->contacts[i].next_in_island)
        island->contacts[island->contact_count++] = i;
    for (int i = w->first_pair[m]; i >= 0; i = w->pairs[i].next_in_island)
        add_pair(w, island, i);
    /* contacts and pairs of each of its systems */
    w->contacts_of.count = w->pairs_of.count = 0;
    for (int i = 0; i < island->system_count; i++)
        w->contacts_of.first[island->systems[i]] = w->pairs_of.first[island->systems[i]] = -1;
    for (int i = island->contact_count - 1; i >= 0; i--)
        add_contact_incidence(w, island->contacts[i]);
    for (int i = island->pair_count - 1; i >= 0; i--) {
        const gw_collision_pair *p = &w->pairs[island->pairs[i]];
        add_incidence(&w->pairs_of, island->pairs[i], p->system_a, p->system_b);
    }
    return true;
}

gw_contact *gw_island_add_contact(gw_world *w, const gw_collision_pair *p,
                                  const gw_contact_candidate *candidate)
{
    assert(p >= w->pairs && p < w->pairs + w->pair_count);
    gw_contact *c = gw_pair_add_contact(w, (int)(p - w->pairs), candidate);
    if (!c)
        return NULL;
    int contact = (int)(c - w->contacts);
    c->system_a = system_of(w, candidate->a);
    c->system_b = system_of(w, candidate->b);
    c->toi = INFINITY;
    w->island.contacts[w->island.contact_count++] = contact;
    w->active.contacts[w->active.contact_count++] = contact;
    add_contact_incidence(w, contact);
    return c;
}

gw_collision_pair *gw_island_add_pair(gw_world *w, int m, const gw_contact_candidate *candidate)
{
    int before = w->pair_count, pair = gw_pair_of_candidate(w, candidate);
    gw_collision_pair *p = &w->pairs[pair];
    if (w->pair_count == before)
        return p;
    p->system_a = system_of(w, candidate->a);
    p->system_b = system_of(w, candidate->b);
    assert((p->system_a == m || p->system_b == m) && w->island.pair_count > 0);
    add_pair(w, &w->island, pair);
    w->listing++; /* its bodies are in both */
    add_pair(w, &w->active, pair);
    add_incidence(&w->pairs_of, pair, p->system_a, p->system_b);
    return p;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* The system whose index is the number of m's group, while groups are made. */
static int group_root(const gw_world *w, int m)
{
    while (w->group[m] != m)
        m = w->group[m];
    return m;
}

void gw_groups_find(gw_world *w)
{
    const gw_island *island = &w->island;
    for (int i = 0; i < island->system_count; i++) {
        int m = island->systems[i];
        w->group[m] = island->system_count <= GW_ISLAND_SMALL ? island->systems[0] : m;
        w->collisions[m] = 0;
        w->frozen[m] = false;
        w->substep_start[m] = 0;
    }
    for (int i = 0; i < island->contact_count; i++) {
        const gw_contact *c = &w->contacts[island->contacts[i]];
        if (gw_contact_both_dynamic(c) && (c->continuous || c->now.gap <= TOUCHING_GAP))
            w->group[group_root(w, c->system_b)] = group_root(w, c->system_a);
    }
    for (int i = 0; i < island->system_count; i++)
        w->group[island->systems[i]] = group_root(w, island->systems[i]);
}

void gw_groups_merge(gw_world *w, int into, int other)
{
    assert(w);
    if (into == other)
        return;
    for (int i = 0; i < w->island.system_count; i++)
        if (w->group[w->island.systems[i]] == other)
            w->group[w->island.systems[i]] = into;
    w->collisions[into] =
        w->collisions[into] > w->collisions[other] ? w->collisions[into] : w->collisions[other];
    w->frozen[into] = w->frozen[into] || w->frozen[other];
}

static bool in_groups(const gw_world *w, int system, int a, int b)
{
    return w->group[system] == a || w->group[system] == b;
}

/* Adds a system of groups a and b with its contacts and pairs. Those that two active systems share
 * are added with system_a. */
static void activate_system(gw_world *w, int m, int a, int b)
{
    gw_island *in = &w->active, *out = &w->boundary;
    const gw_incidence *contacts = &w->contacts_of, *pairs = &w->pairs_of;
    in->systems[in->system_count++] = m;
    for (int i = contacts->first[m]; i >= 0; i = contacts->next[i]) {
        const gw_contact *c = &w->contacts[contacts->of[i]];
        int other = gw_other_system(m, c->system_a, c->system_b);
        if (other >= 0 && !in_groups(w, other, a, b))
            out->contacts[out->contact_count++] = contacts->of[i];
        else if (other < 0 || m == c->system_a)
            in->contacts[in->contact_count++] = contacts->of[i];
    }
    for (int i = pairs->first[m]; i >= 0; i = pairs->next[i]) {
        const gw_collision_pair *p = &w->pairs[pairs->of[i]];
        int other = gw_other_system(m, p->system_a, p->system_b);
        if (other >= 0 && !in_groups(w, other, a, b))
            add_pair(w, out, pairs->of[i]);
        else if (other < 0 || m == p->system_a)
            add_pair(w, in, pairs->of[i]);
    }
}

void gw_groups_activate(gw_world *w, int a, int b)
{
    const gw_island *island = &w->island;
    clear_island(&w->active);
    clear_island(&w->boundary);
    w->listing++;
    for (int i = 0; i < island->system_count; i++)
        if (in_groups(w, island->systems[i], a, b))
            activate_system(w, island->systems[i], a, b);
}

void gw_groups_activate_all(gw_world *w)
{
    copy_part(&w->active, &w->island);
    clear_island(&w->boundary);
}
