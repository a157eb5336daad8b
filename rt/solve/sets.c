/*
 * From the poses that the numeric completion found to sets: their rows, their freedoms, and closed
 * curves followed round so that each is one branch. Any thread, RT safe.
 */
#include <string.h>

#include "rt/base/small.h"
#include "rt/geom/curve.h"
#include "rt/solve/numeric.h"

void gw_isolated_set(const gw_completion *c, const gw_pose *x, gw_submanifold *set)
{
    gw_place point = {GW_POINT, false, {0, 0, 0}, x->p, {0, 0, 1}, 0, 0, 0};
    if (c->state->place_count > 0) {
        const gw_place *p = &c->state->places[0];
        point.a = p->body_owns ? p->b : p->a;
        point.b = gw_pose_point(x, point.a);
    }
    gw_state pose;
    memset(&pose, 0, offsetof(gw_state, places));
    pose.fixed = true;
    pose.rotation = x->q;
    gw_add_place(&pose, &point);
    gw_synthesise(c->run, &pose, set);
}

/* ---- sets with freedoms ---------------------------------------------------------------------- */

/* Independent rows at x, in their order; returns how many. */
static int independent_rows(const gw_completion *c, const gw_pose *x, gw_row *rows)
{
    double h[GW_MAX_SOUGHT], a[GW_MAX_SOUGHT][6], kept[7][6];
    int n = 0;
    gw_scaled_rows(c, x, h, a);
    for (int r = 0; r < c->row_count && n < 6; r++) {
        memcpy(kept[n], a[r], sizeof kept[n]);
        double before = 0, after = 0;
        for (int i = 0; i < 6; i++)
            before += a[r][i] * a[r][i];
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < n; k++) {
                double dot = 0;
                for (int i = 0; i < 6; i++)
                    dot += kept[n][i] * kept[k][i];
                for (int i = 0; i < 6; i++)
                    kept[n][i] -= dot * kept[k][i];
            }
        for (int i = 0; i < 6; i++)
            after += kept[n][i] * kept[n][i];
        if (after <= 1e-10 * before)
            continue;
        for (int i = 0; i < 6; i++)
            kept[n][i] /= sqrt(after);
        rows[n++] = c->rows[r];
    }
    return n;
}

/* All rows, also dependent ones: those that are independent at one pose hold for other sets as
 * well. Where there are too many of them the independent ones go first. */
static void choose_rows(const gw_completion *c, const gw_pose *x, gw_submanifold *set)
{
    int n = c->row_count <= GW_MAX_ROWS ? 0 : independent_rows(c, x, set->rows);
    for (int i = 0; i < c->row_count && n < GW_MAX_ROWS; i++)
        set->rows[n++] = c->rows[i];
    set->row_count = n;
}

/* Motions of the set that do not turn: the null space of the rows' first three columns. */
static void count_factors(const gw_completion *c, const gw_pose *x, gw_submanifold *set)
{
    double h[GW_MAX_SOUGHT], a[GW_MAX_SOUGHT][6];
    int order[GW_MAX_SOUGHT];
    gw_small_lq q;
    gw_scaled_rows(c, x, h, a);
    for (int r = 0; r < c->row_count; r++)
        a[r][3] = a[r][4] = a[r][5] = 0;
    gw_small_reduce(c->row_count, a, 1e-6, order, &q);
    int slides = 3 - q.rank;
    set->translation.dof = slides < set->dof ? slides : set->dof;
    int turns = set->dof - set->translation.dof;
    if (set->rotation.dof != turns || set->rotation.kind == GW_ROTATION_GENERAL)
        set->rotation.kind = GW_ROTATION_GENERAL;
    set->rotation.dof = turns;
}

static void general_set(gw_completion *c, int at, gw_submanifold *set)
{
    const gw_pose *x = &c->found[at];
    gw_synthesise(c->run, c->state, set);
    set->general = true;
    set->dof = c->dof[at];
    set->seed = *x;
    set->translation = (gw_translation_set){.dof = 0, .locus = {.kind = GW_LOCUS_GENERAL}};
    choose_rows(c, x, set);
    count_factors(c, x, set);
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* Goes along the set's curve one way, marks the found poses that it passes, and notes the place
 * nearest to the problem's pose. */
static gw_trip go_along(const gw_completion *c, gw_walk *w, bool *covered, gw_pose *nearest)
{
    const gw_problem *p = c->run->problem;
    double least = gw_pose_distance(nearest, &p->pose, p->length);
    gw_trip t = GW_ON_THE_WAY;
    for (int k = 0; k < GW_CURVE_STEPS && t == GW_ON_THE_WAY && c->run->work > 0; k++) {
        t = gw_walk_on(w);
        c->run->work -= 5 * (w->set->row_count + 6);
        for (int i = 0; i < c->found_count; i++)
            if (c->dof[i] == 1 && !covered[i])
                covered[i] = gw_walk_passes(w, &c->found[i]);
        double d = gw_pose_distance(&w->x, &p->pose, p->length);
        if (d < least)
            least = d, *nearest = w->x;
    }
    return t;
}

/* Marks the found poses on the set's curve, and moves its seed to where it is nearest to the
 * problem's pose. False where not all of it could be seen: then nothing is known of the others. */
static bool follow(const gw_completion *c, gw_submanifold *set, bool *covered)
{
    gw_pose nearest = set->seed;
    gw_trip t = GW_GONE;
    for (int way = 0; way < 2 && t == GW_GONE; way++) {
        gw_walk w = gw_walk_from(set, c->size, way > 0);
        t = go_along(c, &w, covered, &nearest);
    }
    set->seed = nearest;
    return t == GW_CLOSED || t == GW_GONE;
}

/* The found pose of this dimension nearest to the problem's, of those not covered; or -1. */
static int nearest_found(const gw_completion *c, int dof, const bool *covered)
{
    int best = -1;
    double least = HUGE_VAL;
    for (int i = 0; i < c->found_count; i++) {
        if (c->dof[i] != dof || covered[i])
            continue;
        double d = gw_pose_distance(&c->found[i], &c->run->problem->pose, c->run->problem->length);
        if (d < least)
            best = i, least = d;
    }
    return best;
}

int gw_continuous_sets(gw_completion *c, gw_submanifold *sets, int room)
{
    bool covered[GW_MAX_FOUND] = {false};
    int count = 0;
    for (int dof = 6; dof > 0; dof--)
        for (int at; count < room && (at = nearest_found(c, dof, covered)) >= 0;) {
            gw_submanifold *set = &sets[count++];
            general_set(c, at, set);
            covered[at] = true;
            if (dof > 1 || !follow(c, set, covered))
                break;
        }
    return count;
}
