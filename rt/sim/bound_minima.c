/*
 * Minima of bounds of the distance from free-form shapes (rt/geometry/free_form_distance.h): the
 * local minima of the distance that count. Where a bound keeps a distance each one near it is a
 * row of its own; where it keeps them together the nearest one counts, and one row has them all.
 * A shape that lies nearly flat along another one has no distinct minima: fixed points of it that
 * are near and far from one another, its supports, are rows as well.
 *
 * Minima are followed from tick to tick, and others searched for from the parts of a shape. As the
 * elements move by a way w relative to one another, no distance changes by more than w: a part
 * that is farther than the bound by more than the margin m needs no trial until the way exceeds
 * the difference. At rest nothing is searched. Creation is outside the tick; all else is RT safe.
 */
#include <math.h>

#include "rt/geometry/nurbs.h"
#include "rt/sim/scene_dynamics_private.h"

#define MARGIN      0.05 /* m, and of the shape's size: minima with a larger gap are not kept */
#define NEAREST     2e-3 /* of the size: the same, beyond the nearest one */
#define AHEAD       4    /* steps of the present motion that the margin covers */
#define AGAIN       0.02 /* of the shape's size: way after which a near part is tried again */
#define SAME        1e-6 /* of the size: minima nearer are one */
#define FLAT        2e-3 /* of the size: gaps of supports, */
#define SPREAD      0.02 /* and their least distance */
#define LOADED      2
#define SURE        1e-9 /* of the size: by which a minimum is nearer than the one it replaces */
#define TRIALS      24   /* parts tried in a tick, */
#define PAIR_TRIALS 4    /* of two shapes; */
#define PAIR_BEGIN  64   /* and as a motion begins; */
#define IN_TIME     1.5  /* more in motion: all parts this often on the way of the margin */
#define BEHIND                                                                                     \
    1e-3 /* m: minima of the other side of a surface, deeper than that, do not count               \
            beside a nearer one */

/* The elements at these poses, and which of them is the shape. */
typedef struct elements {
    gw_element a, b;
    const gw_element *shape, *other;
} elements;

static void find_elements(const gw_unilateral_row *row, const gw_pose *a, const gw_pose *b,
                          elements *e)
{
    e->a = gw_element_moved(a, &row->a);
    e->b = gw_element_moved(b, &row->b);
    bool is_a = gw_is_free_form(e->a.kind);
    e->shape = is_a ? &e->a : &e->b;
    e->other = is_a ? &e->b : &e->a;
    if (row->kind == GW_UNILATERAL_ANGLE) /* at the point of the shape closest to the other's */
        *(is_a ? &e->b : &e->a) = (gw_element){.kind = GW_POINT, .p = e->other->p};
}

/* ---- the way --------------------------------------------------------------------------------- */

static gw_vec3 middle_of(const gw_nurbs *s)
{
    return gw_scale(0.5, gw_add(s->bounds.low, s->bounds.high));
}

/* The other element from the shape's frame: p is a point whose motion counts, of a line and a plane
 * the one closest to the shape's middle. */
static gw_element seen_from(const elements *e)
{
    gw_pose to = {e->shape->p, e->shape->q};
    gw_pose from = gw_pose_inverse(&to);
    gw_element seen = gw_element_moved(&from, e->other);
    gw_vec3 off = gw_sub(middle_of(e->shape->nurbs), seen.p);
    if (seen.kind == GW_LINE)
        seen.p = gw_mul_add(seen.p, gw_dot(off, seen.d), seen.d);
    else if (seen.kind == GW_PLANE)
        seen.p = gw_add(seen.p, gw_reject(off, seen.d));
    else if (gw_is_free_form(seen.kind))
        seen.p = gw_add(seen.p, gw_rotate(seen.q, middle_of(seen.nurbs)));
    return seen;
}

/* No distance between the elements has changed by more (m). */
static double way_between(const gw_element *was, const gw_element *now, double size)
{
    double moved = gw_distance(was->p, now->p);
    if (was->kind == GW_LINE || was->kind == GW_PLANE)
        return moved + 0.5 * size * gw_distance(was->d, now->d);
    if (!gw_is_free_form(was->kind))
        return moved;
    gw_quat turn = gw_quat_mul(now->q, gw_quat_conj(was->q));
    return moved + 0.5 * now->nurbs->size * gw_norm(gw_quat_log(turn));
}

/* ---- the list of minima ---------------------------------------------------------------------- */

#define ROWS (GW_BOUND_MINIMA + GW_BOUND_SUPPORTS)

/* Minima, then supports; `count` of both. */
typedef struct minimum_list {
    int count;
    gw_distance_minimum *of[ROWS];
    gw_distance_at at[ROWS];
    double far[ROWS]; /* the distance without sign (m), of a highest point negated */
    bool touches[ROWS];
} minimum_list;

static double far_of(const gw_unilateral_row *row, const elements *e, const gw_distance_at *at)
{
    if (e->other->kind == GW_PLANE)
        return row->of.side < 0 ? -at->value : at->value;
    return gw_distance(at->on_a, at->on_b);
}

static bool is_same(const gw_distance_at *a, const gw_distance_at *b, double size)
{
    return gw_distance(a->on_a, b->on_a) + gw_distance(a->on_b, b->on_b) < SAME * size;
}

static void list_minima(const gw_scene_unilaterals *u, const gw_bound_search *s, minimum_list *list)
{
    gw_scene_unilateral_row *r = &u->rows[s->first];
    list->count = r->row.nearest ? GW_BOUND_MINIMA : s->rows;
    for (int k = 0; k < list->count; k++) {
        gw_scene_unilateral_row *of = r->row.nearest ? r : r + k;
        list->of[k] = &of->row.minima[r->row.nearest ? k : 0];
        list->touches[k] = of->now.touches && !r->row.nearest;
        list->far[k] = HUGE_VAL;
    }
}

/* Follows the known minima, and drops minima that have come together. */
static void follow_minima(const gw_unilateral_row *row, const elements *e, minimum_list *list)
{
    for (int k = 0; k < list->count; k++) {
        if (!list->of[k]->known)
            continue;
        /* one in contact stays where it is along what is flat: others are found beside it */
        list->of[k]->keeps = list->touches[k] && e->other->kind != GW_POINT;
        gw_distance_follow(&e->a, &e->b, row->of, list->of[k], &list->at[k]);
        list->far[k] = far_of(row, e, &list->at[k]);
        for (int i = 0; i < k && k < GW_BOUND_MINIMA && list->of[k]->known; i++) {
            int drop = list->touches[k] && !list->touches[i] ? i : k;
            if (!list->of[i]->known || !is_same(&list->at[i], &list->at[k], e->shape->nurbs->size))
                continue;
            list->of[drop]->known = false;
            list->far[drop] = HUGE_VAL;
        }
    }
}

/* Takes a minimum into the list, in the stead of a farther one where there is no room. */
static void offer_minimum(const gw_unilateral_row *row, const elements *e, minimum_list *list,
                          gw_distance_minimum *minimum, const gw_distance_at *at)
{
    double far = far_of(row, e, at);
    int take = -1;
    for (int k = 0; k < GW_BOUND_MINIMA; k++) {
        if (list->of[k]->known && is_same(&list->at[k], at, e->shape->nurbs->size))
            return;
        if (!list->touches[k] && (take < 0 || list->far[k] > list->far[take]))
            take = k;
    }
    if (take < 0 || !(far < list->far[take] - SURE * e->shape->nurbs->size))
        return;
    *list->of[take] = *minimum;
    list->at[take] = *at;
    list->far[take] = far;
}

static double spread_of(const gw_distance_at *a, const gw_distance_at *b)
{
    return fmax(gw_distance(a->on_a, b->on_a), gw_distance(a->on_b, b->on_b));
}

/* Takes a support into the list. Where there is no room, one of the two that are closest to one
 * another is left out, the new one among them. */
static void offer_support(const gw_unilateral_row *row, const elements *e, minimum_list *list,
                          const gw_distance_minimum *minimum, const gw_distance_at *at)
{
    int take = -1, closest = -1;
    double least = HUGE_VAL, own = HUGE_VAL;
    for (int k = GW_BOUND_MINIMA; k < list->count; k++) {
        if (!list->of[k]->known) {
            take = k;
            continue;
        }
        own = fmin(own, spread_of(&list->at[k], at));
        for (int i = GW_BOUND_MINIMA; i < k; i++) {
            double spread = list->of[i]->known ? spread_of(&list->at[i], &list->at[k]) : HUGE_VAL;
            if (list->touches[i] && list->touches[k])
                spread *= LOADED; /* one of these is left out less readily */
            if (!(spread < least))
                continue;
            least = spread;
            closest = list->touches[k] ? i : k;
        }
    }
    if (take < 0 && own > least)
        take = closest;
    if (take < 0 || own < SPREAD * e->shape->nurbs->size)
        return;
    *list->of[take] = *minimum;
    list->at[take] = *at;
    list->far[take] = far_of(row, e, at);
}

static double least_of(const minimum_list *list)
{
    double least = HUGE_VAL;
    for (int k = 0; k < GW_BOUND_MINIMA && k < list->count; k++)
        least = fmin(least, list->far[k]);
    return least;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* The distance that a bound keeps, without sign (m). */
static double kept_of(const gw_unilateral_row *row, const elements *e)
{
    if (e->other->kind == GW_PLANE)
        return row->of.side < 0 ? -row->value : row->value;
    return fabs(row->value);
}

/* Minima at a larger distance are not kept (m). */
static double kept_within(const gw_unilateral_row *row, const elements *e, const minimum_list *list,
                          double margin)
{
    return (row->nearest ? least_of(list) : kept_of(row, e)) + margin;
}

/* Tries the parts that are due, at most `most` of them. */
static void try_parts(gw_bound_search *s, const gw_unilateral_row *row, const elements *e,
                      minimum_list *list, int most)
{
    double size = e->shape->nurbs->size;
    for (int n = 0; n < s->start_count && most > 0; n++) {
        int i = s->cursor;
        s->cursor = (s->cursor + 1) % s->start_count;
        if (s->due[i] > s->moved)
            continue;
        gw_distance_minimum minimum;
        gw_distance_at at;
        double bound, within = kept_within(row, e, list, s->margin);
        gw_distance_try_start(&e->a, &e->b, row->of, &s->starts[i], within, &minimum, &bound);
        most--;
        /* the least distance of a pair that is kept together changes as well */
        s->due[i] = s->moved + fmax(AGAIN * size, (row->nearest ? 0.5 : 1) * (bound - within));
        if (bound >= within)
            continue;
        double flat = kept_of(row, e) + s->flat;
        bool ball = e->other->kind == GW_POINT && kept_of(row, e) < SPREAD * size;
        if (list->count > GW_BOUND_MINIMA && bound < flat && !ball) {
            gw_distance_minimum corner;
            for (int k = 0; gw_distance_corner(&e->a, &e->b, row->of, &s->starts[i], k, &minimum,
                                               &corner, &at);
                 k++)
                if (far_of(row, e, &at) < flat)
                    offer_support(row, e, list, &corner, &at);
        }
        gw_distance_follow(&e->a, &e->b, row->of, &minimum, &at);
        if (far_of(row, e, &at) < within)
            offer_minimum(row, e, list, &minimum, &at);
    }
}

/* True if a minimum is to be a contact candidate. */
static bool counts(const gw_unilateral_row *row, const minimum_list *list, int k, double within)
{
    if (!list->of[k]->known || !(list->far[k] < within || list->touches[k]))
        return false;
    /* on the side where the distance is to be kept, or the nearest of all */
    return !row->of.signs || row->sign * list->at[k].value > -BEHIND ||
           list->far[k] <= least_of(list);
}

static void search_bound(gw_scene_unilaterals *u, gw_bound_search *s, const gw_pose *a,
                         const gw_pose *b, gw_world *world)
{
    const gw_unilateral_row *row = &u->rows[s->first].row;
    elements e;
    find_elements(row, a, b, &e);
    minimum_list list;
    gw_element seen = seen_from(&e);
    double size = e.shape->nurbs->size, moved = s->fresh ? 0 : way_between(&s->seen, &seen, size);
    bool pair = gw_is_free_form(e.other->kind), all = s->fresh || moved > s->margin;
    if (!isfinite(moved)) /* of a step that diverged */
        return;
    s->seen = seen;
    s->moved = s->fresh ? 0 : s->moved + moved;
    double margin = row->nearest ? NEAREST * size : fmin(MARGIN, MARGIN * size);
    s->margin = fmax(margin, AHEAD * moved);
    s->flat = fmax(FLAT * size, AHEAD * moved);
    list_minima(u, s, &list);
    follow_minima(row, &e, &list);
    if (all)
        for (int i = 0; i < s->start_count; i++)
            s->due[i] = s->moved;
    int most = (pair ? PAIR_TRIALS : TRIALS) + (int)(IN_TIME * s->start_count * moved / s->margin);
    if (all)
        most = s->start_count;
    try_parts(s, row, &e, &list, most);
    s->fresh = false;
    double within = kept_within(row, &e, &list, s->margin);
    for (int k = GW_BOUND_MINIMA; k < list.count; k++) /* supports that have been lifted */
        if (!(list.far[k] < kept_of(row, &e) + 2 * s->flat) && !list.touches[k])
            list.of[k]->known = false;
    for (int k = 0; k < list.count && !row->nearest; k++) {
        list.of[k]->keeps = e.other->kind != GW_POINT;
        if (list.of[k]->known && list.of[k]->keeps)
            gw_distance_hold(&e.a, &e.b, row->of, list.of[k]);
        if (world)
            gw_world_follow(world, s->first + k, counts(row, &list, k, within));
    }
}

/* ---- for unilateral_rows.c ------------------------------------------------------------------- */

void gw_bound_search_init(gw_bound_search *s, const gw_scene_unilaterals *u, int first, int rows)
{
    const gw_unilateral_row *row = &u->rows[first].row;
    *s = (gw_bound_search){.first = first, .rows = rows, .fresh = true};
    s->start_count = gw_distance_starts(&row->a, &row->b, s->starts);
}

void gw_bound_search_begin(gw_scene_unilaterals *u, gw_bound_search *s, const gw_pose *a,
                           const gw_pose *b)
{
    s->fresh = true;
    search_bound(u, s, a, b, NULL);
}

void gw_bound_searches_pre_step(gw_scene_dynamics *m)
{
    gw_scene_unilaterals *u = m->unilaterals;
    for (int i = 0; i < u->search_count; i++) {
        gw_bound_search *s = &u->searches[i];
        const gw_contact_candidate *of = &u->candidates[s->first];
        gw_pose a = gw_world_pose(m->world, m->world_systems, of->a);
        gw_pose b = gw_world_pose(m->world, m->world_systems, of->b);
        search_bound(u, s, &a, &b, m->world);
    }
}
