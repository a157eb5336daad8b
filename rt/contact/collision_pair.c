/*
 * The pair cache: collision pairs, and their contacts, through their life.
 *
 *   candidates of the detector   replace the cache's between two steps
 *   candidates of queries        of the narrow phase inside a step (time_of_impact.c) replace those
 *                                of their pair at the start of the next
 *   contact states               persist by the candidates' key; where the key changed, the state
 *                                of a near continuous contact of the same bodies is continued
 *   a new world                  after an edit takes over the continuous contacts of the old one
 *
 * RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/contact/world_private.h"

#define UNKNOWN_EFFORT 20.0 /* of a query, at most, until one is made */
#define OUTDATED       5e-3 /* a query left out for so long, the detector's candidates are newer (s) */

/* ---- pairs: a hash table with linear probing ------------------------------------------------- */

static bool is_pair_of(const gw_collision_pair *p, const gw_contact_candidate *candidate)
{
    return p->geom_a == candidate->geom_a && p->geom_b == candidate->geom_b &&
           p->a == candidate->a && p->b == candidate->b;
}

static unsigned hash_key(int geom_a, int geom_b, int a, int b)
{
    unsigned h = (unsigned)geom_a * 0x9e3779b1u + (unsigned)geom_b * 0x85ebca6bu +
                 (unsigned)a * 0xc2b2ae35u + (unsigned)b * 0x27d4eb2fu;
    return (h ^ h >> 15) & (GW_PAIR_HASH_SLOTS - 1);
}

static void hash_pair(gw_world *w, int index)
{
    const gw_collision_pair *p = &w->pairs[index];
    unsigned at = hash_key(p->geom_a, p->geom_b, p->a, p->b);
    while (w->pair_hash[at] != 0)
        at = (at + 1) & (GW_PAIR_HASH_SLOTS - 1);
    w->pair_hash[at] = index + 1;
}

/* True if the pair can be queried inside a step; sets its query cost and bounding spheres. Geoms of
 * another world's detector have index -1. */
static bool init_redetection(const gw_narrow_phase *n, gw_collision_pair *p)
{
    bool known = p->geom_a >= 0 && p->geom_b >= 0;
    p->query_cost = 1;
    if (n->query_cost && known)
        p->query_cost +=
            n->query_cost(n->context, p->geom_a) + n->query_cost(n->context, p->geom_b);
    return n->bounding_sphere && known &&
           n->bounding_sphere(n->context, p->geom_a, &p->centre_a, &p->radius_a) &&
           n->bounding_sphere(n->context, p->geom_b, &p->centre_b, &p->radius_b);
}

int gw_pair_of_candidate(gw_world *w, const gw_contact_candidate *candidate)
{
    unsigned at = hash_key(candidate->geom_a, candidate->geom_b, candidate->a, candidate->b);
    for (; w->pair_hash[at] != 0; at = (at + 1) & (GW_PAIR_HASH_SLOTS - 1))
        if (is_pair_of(&w->pairs[w->pair_hash[at] - 1], candidate))
            return w->pair_hash[at] - 1;
    assert(w->pair_count < w->most);
    gw_collision_pair *p = &w->pairs[w->pair_count];
    *p = (gw_collision_pair){.geom_a = candidate->geom_a,
                             .geom_b = candidate->geom_b,
                             .a = candidate->a,
                             .b = candidate->b,
                             .detected = -1,
                             .first_contact = -1};
    p->can_redetect = init_redetection(&w->narrow_phase, p);
    p->effort = gw_min(p->query_cost - 1, UNKNOWN_EFFORT);
    w->pair_hash[at] = ++w->pair_count;
    return w->pair_count - 1;
}

void gw_pairs_clear(gw_world *w)
{
    assert(w);
    w->pair_count = w->contact_count = w->detected_count = 0;
    memset(w->pair_hash, 0, sizeof w->pair_hash);
    if (w->near)
        gw_near_lists_clear(w->near);
}

/* Removes pairs that are not kept; their contacts belong to pair -1. */
static void remove_pairs(gw_world *w)
{
    int map[2 * GW_MAX_CONTACT_CANDIDATES], count = 0;
    for (int i = 0; i < w->pair_count; i++) {
        map[i] = w->pairs[i].kept ? count : -1;
        if (w->pairs[i].kept)
            w->pairs[count++] = w->pairs[i];
    }
    w->pair_count = count;
    memset(w->pair_hash, 0, sizeof w->pair_hash);
    for (int i = 0; i < count; i++)
        hash_pair(w, i);
    for (int i = 0; i < w->contact_count; i++)
        w->contacts[i].pair = map[w->contacts[i].pair];
}

/* ---- contacts ------------------------------------------------------------------------------- */

gw_contact *gw_pair_find_contact(gw_world *w, const gw_collision_pair *p,
                                 const gw_contact_candidate *candidate)
{
    for (int i = p->first_contact; i >= 0; i = w->contacts[i].next_in_pair)
        if (w->contacts[i].candidate.key == candidate->key)
            return &w->contacts[i];
    return NULL;
}

gw_contact *gw_pair_add_contact(gw_world *w, int pair, const gw_contact_candidate *candidate)
{
    gw_collision_pair *p = &w->pairs[pair];
    assert(pair >= 0 && pair < w->pair_count);
    if (w->contact_count == w->most)
        return NULL;
    gw_contact *c = &w->contacts[w->contact_count];
    *c = (gw_contact){
        .candidate = *candidate, .renewed = true, .pair = pair, .next_in_pair = p->first_contact};
    p->first_contact = w->contact_count++;
    return c;
}

/* Keeps the contact of a detected candidate, or adds it. */
static void keep_contact(gw_world *w, int pair, const gw_contact_candidate *candidate)
{
    gw_contact *c = gw_pair_find_contact(w, &w->pairs[pair], candidate);
    if (c)
        c->candidate = *candidate;
    else
        c = gw_pair_add_contact(w, pair, candidate);
    if (!c)
        return;
    c->kept = c->renewed = true;
    c->fresh = !c->continuous;
}

/* The nearest continuous contact of the same bodies that is not kept, NULL: none. While a body
 * tips, features with different keys touch at one point in turn. */
static gw_contact *contact_to_continue(gw_world *w, const gw_contact_candidate *candidate)
{
    gw_contact *best = NULL;
    double least = GW_CONTACT_MATCH_DISTANCE;
    for (int i = 0; i < w->contact_count; i++) {
        gw_contact *c = &w->contacts[i];
        if (c->kept || !c->continuous || c->candidate.a != candidate->a ||
            c->candidate.b != candidate->b)
            continue;
        double d = gw_distance(c->candidate.point_a, candidate->point_a);
        d = fmin(d, gw_distance(c->candidate.point_b, candidate->point_b));
        if (d < least)
            least = d, best = c;
    }
    return best;
}

/* Warm start of a new contact with the state of a lost one, each of which is used once; false:
 * none.
 */
static bool continue_lost_contact(gw_world *w, gw_contact *c)
{
    gw_contact *old = contact_to_continue(w, &c->candidate);
    if (!old)
        return false;
    gw_contact mine = *c;
    *c = *old;
    c->candidate = mine.candidate;
    c->pair = mine.pair;
    c->kept = c->renewed = true;
    old->continuous = false;
    return true;
}

static bool any_lost(const gw_world *w)
{
    for (int i = 0; i < w->contact_count; i++)
        if (!w->contacts[i].kept && w->contacts[i].continuous)
            return true;
    return false;
}

/* Removes contacts that are not kept, after new ones were warm-started by those that are lost, and
 * links the others to their pairs. */
static void compact_contacts(gw_world *w)
{
    int count = 0;
    bool lost = any_lost(w);
    for (int i = 0; i < w->contact_count && lost; i++)
        if (w->contacts[i].kept && w->contacts[i].fresh && !w->contacts[i].candidate.row &&
            continue_lost_contact(w, &w->contacts[i]))
            lost = any_lost(w);
    for (int i = 0; i < w->pair_count; i++)
        w->pairs[i].first_contact = -1;
    for (int i = 0; i < w->contact_count; i++)
        if (!w->contacts[i].kept && w->contacts[i].constrained)
            gw_contact_open(&w->contacts[i]);
    for (int i = 0; i < w->contact_count; i++)
        if (w->contacts[i].kept && count < GW_MAX_CONTACT_CANDIDATES) {
            gw_contact *c = &w->contacts[count];
            if (i != count)
                *c = w->contacts[i];
            c->fresh = c->spurious = false;
            c->next_in_pair = w->pairs[c->pair].first_contact;
            w->pairs[c->pair].first_contact = count++;
        }
    w->contact_count = count;
}

void gw_pairs_add_unilaterals(gw_world *w)
{
    assert(w);
    for (int i = 0; i < w->unilateral_count; i++) {
        const gw_contact_candidate *candidate = &w->unilaterals[i];
        if (!w->followed[i])
            continue;
        int pair = gw_pair_of_candidate(w, candidate);
        if (!gw_pair_find_contact(w, &w->pairs[pair], candidate))
            gw_pair_add_contact(w, pair, candidate);
    }
}

/* ---- updates -------------------------------------------------------------------------------- */

bool gw_pairs_apply_redetected(gw_world *w)
{
    if (w->detected_count == 0)
        return false;
    for (int i = 0; i < w->contact_count; i++)
        w->contacts[i].kept = w->pairs[w->contacts[i].pair].detected < 0;
    for (int i = 0; i < w->pair_count; i++) {
        gw_collision_pair *p = &w->pairs[i];
        for (int k = 0; p->detected >= 0 && k < p->detected_count; k++)
            keep_contact(w, i, &w->detected[p->detected + k]);
        p->detected = -1;
    }
    compact_contacts(w);
    w->detected_count = 0;
    return true;
}

bool gw_pairs_apply_candidates(gw_world *w)
{
    assert(w);
    if (w->candidate_count < 0)
        return false;
    /* keep the pairs of these candidates alone */
    for (int i = 0; i < w->pair_count; i++)
        w->pairs[i].kept = false;
    for (int i = 0; i < w->candidate_count; i++)
        w->pairs[gw_pair_of_candidate(w, &w->candidates[i])].kept = true;
    for (int i = 0; i < w->unilateral_count; i++)
        if (w->followed[i])
            w->pairs[gw_pair_of_candidate(w, &w->unilaterals[i])].kept = true;
    remove_pairs(w);
    /* pairs that were queried inside the last steps know their contacts better than the detector */
    for (int i = 0; i < w->pair_count; i++) {
        gw_collision_pair *p = &w->pairs[i];
        p->has_detection = p->has_detection && p->time_skipped < OUTDATED;
    }
    for (int i = 0; i < w->contact_count; i++) {
        gw_contact *c = &w->contacts[i];
        c->kept = c->pair >= 0 && w->pairs[c->pair].has_detection;
    }
    for (int i = 0; i < w->unilateral_count; i++)
        if (w->followed[i])
            keep_contact(w, gw_pair_of_candidate(w, &w->unilaterals[i]), &w->unilaterals[i]);
    for (int i = 0; i < w->candidate_count; i++) {
        int pair = gw_pair_of_candidate(w, &w->candidates[i]);
        if (!w->pairs[pair].has_detection && !w->candidates[i].proximity_only)
            keep_contact(w, pair, &w->candidates[i]);
    }
    compact_contacts(w);
    w->candidate_count = -1;
    return true;
}

void gw_pairs_apply_followed(gw_world *w)
{
    if (!w->follows_others)
        return;
    w->follows_others = false;
    for (int i = 0; i < w->contact_count; i++)
        w->contacts[i].kept = !w->contacts[i].candidate.row;
    for (int i = 0; i < w->unilateral_count; i++)
        if (w->followed[i])
            keep_contact(w, gw_pair_of_candidate(w, &w->unilaterals[i]), &w->unilaterals[i]);
    for (int i = 0; i < w->pair_count; i++)
        w->pairs[i].kept = w->pairs[i].geom_a >= 0;
    for (int i = 0; i < w->contact_count; i++)
        if (w->contacts[i].kept)
            w->pairs[w->contacts[i].pair].kept = true;
    remove_pairs(w);
    compact_contacts(w);
}

/* ---- carry-over to another world --------------------------------------------------------------
 */

/* The unilateral constraint of the same key; NULL: there is none. */
static const gw_contact_candidate *unilateral_again(const gw_world *w,
                                                    const gw_contact_candidate *old)
{
    for (int i = 0; i < w->unilateral_count && old->row; i++)
        if (w->unilaterals[i].key == old->key)
            return &w->unilaterals[i];
    return NULL;
}

/* Sets a model's body to its former state: its own is not set before the first step. */
static void take_state(gw_world *w, int body, const gw_body_state *was)
{
    if (w->bodies[body].model < 0)
        return;
    w->bodies[body].pose = was->pose;
    w->bodies[body].twist = was->twist;
}

double gw_world_carry_over(gw_world *w, const gw_world *old,
                           int (*body)(const void *context, int old), const void *context)
{
    double spring = 0;
    gw_pairs_clear(w);
    for (int i = 0; i < old->contact_count; i++) {
        const gw_contact *from = &old->contacts[i];
        int a = from->continuous ? body(context, from->candidate.a) : -1;
        int b = from->continuous ? body(context, from->candidate.b) : -1;
        if (a < 0 || b < 0)
            continue;
        assert(a < w->body_count && b < w->body_count);
        take_state(w, a, &old->bodies[from->candidate.a]);
        take_state(w, b, &old->bodies[from->candidate.b]);
        const gw_contact_candidate *row = unilateral_again(w, &from->candidate);
        if (!row && (from->candidate.row || w->alone))
            continue;
        gw_contact_candidate candidate = row ? *row : from->candidate;
        candidate.a = a;
        candidate.b = b;
        candidate.geom_a = candidate.geom_b = -1; /* those of another detector */
        int pair = gw_pair_of_candidate(w, &candidate);
        gw_contact *c = gw_pair_add_contact(w, pair, &candidate);
        int next_in_pair = c->next_in_pair;
        *c = *from;
        c->candidate = candidate;
        c->renewed = true;
        c->pair = pair;
        c->next_in_pair = next_in_pair;
        spring += gw_contact_spring_energy(c);
    }
    gw_pairs_add_unilaterals(w);
    w->last_spring_energy = spring;
    return spring;
}
