/*
 * From the poses that the numeric completion found to sets: their rows and their freedoms. Any
 * thread, RT safe.
 */
#include <string.h>

#include "rt/base/small.h"
#include "rt/positioning/numeric_completion.h"

/* Independent rows at x, in their order; returns how many. */
static int independent_rows(const gw_completion *c, const gw_pose *x, gw_row *rows)
{
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6], kept[7][6];
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
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6];
    int order[GW_MAX_COMPLETION_ROWS];
    gw_small_lq q;
    gw_scaled_rows(c, x, h, a);
    for (int r = 0; r < c->row_count; r++)
        a[r][3] = a[r][4] = a[r][5] = 0;
    gw_small_lq_factor(c->row_count, a, 1e-6, order, &q);
    int slides = 3 - q.rank;
    set->translation.dof = slides < set->dof ? slides : set->dof;
    int turns = set->dof - set->translation.dof;
    if (set->rotation.dof != turns || set->rotation.kind == GW_ROTATION_GENERAL)
        set->rotation.kind = GW_ROTATION_GENERAL;
    set->rotation.dof = turns;
}

void gw_general_set(const gw_completion *c, const gw_pose *x, int dof, gw_submanifold *set)
{
    gw_synthesise(c->run, c->state, set);
    set->general = true;
    set->dof = dof;
    set->seed = *x;
    set->translation = (gw_translation_set){.dof = 0, .locus = {.kind = GW_LOCUS_GENERAL}};
    choose_rows(c, x, set);
    count_factors(c, x, set);
}

/* ---- two freedoms and more ------------------------------------------------------------------- */

#define DESCENTS 4  /* to the nearest pose, from as many found ones */
#define CLOSER   16 /* and starts from within the distance found so */

/* The found pose of this dimension nearest to the problem's, of those not taken; or -1. */
static int nearest_found(const gw_completion *c, int dof, const bool *taken)
{
    int best = -1;
    double least = HUGE_VAL;
    for (int i = 0; i < c->found_count; i++) {
        if (c->dof[i] != dof || taken[i])
            continue;
        double d = gw_pose_distance(&c->found[i], &c->run->problem->pose, c->run->problem->length);
        if (d < least)
            best = i, least = d;
    }
    return best;
}

/* Goes down from a pose on the set, and keeps the end as seed where it is nearest so far. */
static void descend(const gw_completion *c, const gw_pose *from, gw_submanifold *set, double *least)
{
    const gw_problem *p = c->run->problem;
    gw_pose on, seed = set->seed;
    set->seed = *from;
    double d = gw_submanifold_nearest_local(set, &p->pose, p->length, &on);
    set->seed = seed;
    if (d < *least && gw_submanifold_contains(set, &on))
        *least = d, set->seed = on;
}

/* A pose within a distance of the problem's. */
static gw_pose within(gw_completion *c, double distance)
{
    const gw_problem *p = c->run->problem;
    double d[6], ss = 0, l = p->length;
    for (int i = 0; i < 6; i++) {
        d[i] = gw_completion_uniform(c, -1, 1);
        ss += d[i] * d[i];
    }
    double k = distance * gw_completion_uniform(c, 0.2, 1) / sqrt(ss);
    gw_twist move = {{k * d[0], k * d[1], k * d[2]}, {k / l * d[3], k / l * d[4], k / l * d[5]}};
    return gw_pose_add(&p->pose, &move);
}

/* Moves the seed to where the set is nearest to the problem's pose, as far as descents tell: from
 * found poses, then from others that are no farther than the best of these. */
static void seek_nearest(gw_completion *c, gw_submanifold *set, bool *taken)
{
    const gw_problem *p = c->run->problem;
    double least = HUGE_VAL;
    for (int k = 0, at; k < DESCENTS && (at = nearest_found(c, set->dof, taken)) >= 0; k++) {
        taken[at] = true;
        descend(c, &c->found[at], set, &least);
    }
    for (int k = 0; k < CLOSER && least > 1e-9 * c->size && c->run->work > 0; k++) {
        gw_pose x = within(c, least);
        if (gw_completion_refine(c, &x) && gw_pose_distance(&x, &p->pose, p->length) < 1.5 * least)
            descend(c, &x, set, &least);
    }
}

int gw_solution_components(gw_completion *c, gw_solution_component *sets, int room)
{
    bool taken[GW_MAX_FOUND] = {false};
    int count = 0;
    for (int dof = 6; dof > 1; dof--) {
        int at = nearest_found(c, dof, taken);
        if (at < 0 || count == room)
            continue;
        gw_submanifold *set = &sets[count].set;
        gw_general_set(c, &c->found[at], dof, set);
        seek_nearest(c, set, taken);
        sets[count++].top = 0;
    }
    return count + gw_curve_components(c, sets + count, room - count);
}
