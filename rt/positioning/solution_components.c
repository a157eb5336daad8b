/*
 * Solution components with freedoms, from the poses that the numeric completion found: the
 * dimension, the rows and the seed of each. For one freedom: enough starts to reach every curve,
 * and a trace of each whole curve (../geometry/implicit_curve.h), so that it is one branch also
 * through crossings with others. Any thread, RT safe; bounded by the solver's `work`.
 */
#include <string.h>

#include "rt/base/small.h"
#include "rt/geometry/implicit_curve.h"
#include "rt/positioning/numeric_completion.h"

#define RANK         1e-6 /* pivots below this share of the largest are zero */
#define DESCENTS     4    /* to the nearest pose, from as many found ones */
#define CLOSER       16   /* and starts from within the distance so found */
#define CURVE_STARTS 144
#define FEW          5    /* starts on a curve beside which others may have none */
#define MORE_STARTS  3    /* times CURVE_STARTS, at most, for these */
#define CLEARANCE    0.02 /* of a seed from a crossing, times the size */
#define CLEAR_STEPS  60   /* largest number of steps to get that far */

/* ---- the dimension at a pose ----------------------------------------------------------------- */

/* 6 - rank at x, and a basis of the null space. */
static int nullity_at(const gw_completion *c, const gw_pose *x, double (*basis)[6])
{
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6];
    int order[GW_MAX_COMPLETION_ROWS];
    gw_small_lq q;
    gw_scaled_rows(c, x, NULL, h, a);
    gw_small_lq_factor(c->row_count, a, RANK, order, &q);
    gw_small_lq_columns(&q, q.rank, basis);
    return 6 - q.rank;
}

int gw_nullity_at(const gw_completion *c, const gw_pose *x)
{
    double ignored[6][6];
    return nullity_at(c, x, ignored);
}

/* The nullity of a neighbour of x, `reach` (m) along a random direction of x's null space; 0 where
 * there is none. A neighbour must satisfy the rows to round-off, else a root of higher order would
 * pass. */
static int neighbour_nullity(gw_completion *c, const gw_pose *x, const double (*basis)[6],
                             int nullity, double reach)
{
    double step[6] = {0}, weight = 0;
    for (int j = 0; j < nullity; j++) {
        double w = gw_completion_uniform(c, -1, 1);
        weight += w * w;
        for (int i = 0; i < 6; i++)
            step[i] += w * basis[j][i];
    }
    gw_pose next = gw_scaled_step(c->size, x, step, reach / sqrt(weight));
    double off = gw_completion_descend(c, &next), far = gw_pose_distance(&next, x, c->size);
    if (off > 1e-11 || far < 0.2 * reach || far > 5 * reach)
        return 0;
    return gw_nullity_at(c, &next);
}

int gw_local_dimension(gw_completion *c, const gw_pose *x)
{
    /* a loop may be as small as the least element: then a long step ends beside it */
    static const double reaches[] = {2e-2, 2e-3, 2e-4};
    double basis[6][6];
    int nullity = nullity_at(c, x, basis), dof = 0;
    for (int r = 0; r < 3 && dof == 0; r++)
        for (int k = 0; k < 4 && dof < nullity; k++) {
            /* a neighbour cannot have more freedoms than x: as many decide */
            int here =
                neighbour_nullity(c, x, (const double(*)[6])basis, nullity, reaches[r] * c->size);
            dof = here > dof ? here : dof;
        }
    return dof < nullity ? dof : nullity;
}

/* ---- the set through a pose ------------------------------------------------------------------ */

/* Independent rows at x, in their order; returns their number. */
static int independent_rows(const gw_completion *c, const gw_pose *x, gw_row *rows)
{
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6], kept[7][6];
    int n = 0;
    gw_scaled_rows(c, x, NULL, h, a);
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

/* All rows, also dependent ones: rows that are independent at one pose may be satisfied on other
 * sets too. If there are too many rows, independent ones go first. */
static void choose_rows(const gw_completion *c, const gw_pose *x, gw_submanifold *set)
{
    int n = c->row_count <= GW_MAX_ROWS ? 0 : independent_rows(c, x, set->rows);
    for (int i = 0; i < c->row_count && n < GW_MAX_ROWS; i++)
        set->rows[n++] = c->rows[i];
    set->row_count = n;
}

/* Counts the motions of the set without rotation, the null space of the rows' first three
 * columns. */
static void count_factors(const gw_completion *c, const gw_pose *x, gw_submanifold *set)
{
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6];
    int order[GW_MAX_COMPLETION_ROWS];
    gw_small_lq q;
    gw_scaled_rows(c, x, NULL, h, a);
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

static void general_set(const gw_completion *c, const gw_pose *x, int dof, gw_submanifold *set)
{
    gw_synthesise(c->solver, c->state, set);
    set->general = true;
    set->dof = dof;
    set->seed = *x;
    set->translation = (gw_translation_set){.dof = 0, .locus = {.kind = GW_LOCUS_GENERAL}};
    choose_rows(c, x, set);
    count_factors(c, x, set);
}

/* ---- two freedoms and more ------------------------------------------------------------------- */

/* The found pose of this dimension nearest to the problem's, of those not taken; or -1. */
static int nearest_found(const gw_completion *c, int dof, const bool *taken)
{
    int best = -1;
    double least = HUGE_VAL;
    for (int i = 0; i < c->found_count; i++) {
        if (c->dof[i] != dof || taken[i])
            continue;
        double d =
            gw_pose_distance(&c->found[i], &c->solver->problem->pose, c->solver->problem->length);
        if (d < least)
            best = i, least = d;
    }
    return best;
}

/* Descends to a nearest pose from a pose on the set, and keeps it as seed where it is nearest so
 * far. */
static void descend_to_nearest(const gw_completion *c, const gw_pose *from, gw_submanifold *set,
                               double *least)
{
    const gw_problem *p = c->solver->problem;
    gw_pose on, seed = set->seed;
    set->seed = *from;
    double d = gw_submanifold_nearest_local(set, &p->pose, p->length, &on);
    set->seed = seed;
    if (d < *least && gw_submanifold_contains(set, &on))
        *least = d, set->seed = on;
}

/* A pose within a distance of the problem's. */
static gw_pose random_within(gw_completion *c, double distance)
{
    const gw_problem *p = c->solver->problem;
    double d[6], ss = 0, l = p->length;
    for (int i = 0; i < 6; i++) {
        d[i] = gw_completion_uniform(c, -1, 1);
        ss += d[i] * d[i];
    }
    double k = distance * gw_completion_uniform(c, 0.2, 1) / sqrt(ss);
    gw_twist move = {{k * d[0], k * d[1], k * d[2]}, {k / l * d[3], k / l * d[4], k / l * d[5]}};
    return gw_pose_add(&p->pose, &move);
}

/* Moves the seed to where the set is nearest to the problem's pose, as far as descents find: from
 * found poses, then from others that are no farther than the best of these. */
static void move_seed_to_nearest(gw_completion *c, gw_submanifold *set, bool *taken)
{
    const gw_problem *p = c->solver->problem;
    double least = HUGE_VAL;
    for (int k = 0, at; k < DESCENTS && (at = nearest_found(c, set->dof, taken)) >= 0; k++) {
        taken[at] = true;
        descend_to_nearest(c, &c->found[at], set, &least);
    }
    if (least == HUGE_VAL) /* no descent stayed on the set: its seed is the pose that was found */
        return;
    for (int k = 0; k < CLOSER && least > 1e-9 * c->size && c->solver->work > 0; k++) {
        gw_pose x = random_within(c, least);
        if (gw_completion_refine(c, &x) && gw_pose_distance(&x, &p->pose, p->length) < 1.5 * least)
            descend_to_nearest(c, &x, set, &least);
    }
}

/* ---- curves: starts and traces --------------------------------------------------------------- */

static void add_curve_pose(gw_completion *c, const gw_pose *x)
{
    if (c->curve_pose_count < GW_MAX_CURVE_POSES)
        c->curve_poses[c->curve_pose_count++] = *x;
}

void gw_sample_curves(gw_completion *c)
{
    long before = c->solver->work;
    for (int k = 0; k < CURVE_STARTS && c->solver->work > 0; k++) {
        gw_pose x = gw_completion_start(c, k);
        if (gw_completion_refine_start(c, &x))
            add_curve_pose(c, &x);
    }
    c->sampling_work = before - c->solver->work;
}

/* Record of a curve while it is traced. */
typedef struct curve_record {
    const gw_completion *c;
    bool *covered; /* of c->curve_poses */
    double top;    /* largest height: a property of the curve, wherever the trace begins */
    gw_curve_minima minima;
} curve_record;

/* Records one point of the trace. */
static void record_point(curve_record *t, const gw_curve_trace *w)
{
    const gw_completion *c = t->c;
    for (int i = 0; i < c->curve_pose_count; i++)
        if (!t->covered[i])
            t->covered[i] = gw_curve_trace_passes(w, &c->curve_poses[i]);
    t->top = fmax(t->top, gw_pose_label(c->solver, &w->x).height);
}

/* Traces the set's curve one way. */
static gw_curve_trace_status trace_one_way(curve_record *t, gw_submanifold *set, bool backward)
{
    gw_solver *solver = t->c->solver;
    gw_curve_trace w = gw_curve_trace_from_seed(set, t->c->size, backward);
    gw_curve_trace_status status = GW_TRACE_CONTINUES;
    record_point(t, &w);
    gw_curve_minima_visit(&t->minima, &w, true);
    for (int k = 0;
         k < GW_CURVE_TRACE_MAX_STEPS && status == GW_TRACE_CONTINUES && solver->work > 0; k++) {
        status = gw_curve_trace_step(&w);
        /* records included */
        solver->work -= (8 + 6 * w.tries) * (set->row_count + 6);
        record_point(t, &w);
        gw_curve_minima_visit(&t->minima, &w, false);
    }
    gw_curve_minima_end(&t->minima);
    bool given_up = status == GW_TRACE_STUCK && gw_rows_out_of_work(set->rows, set->row_count);
    return given_up ? GW_TRACE_CONTINUES : status;
}

/* A pose of the curve near the nearest pose, but clear of a crossing or an end there: further along
 * the trace, or back. */
static gw_pose clear_of_crossing(const gw_curve_minima *minima, const gw_pose *nearest, double size)
{
    gw_curve_trace from = minima->trace[0];
    for (int i = 1; i < minima->count; i++)
        if (gw_pose_distance(&minima->trace[i].x, nearest, size) <
            gw_pose_distance(&from.x, nearest, size))
            from = minima->trace[i];
    gw_curve_trace w = from;
    for (int way = 0; way < 2 && gw_pose_distance(&w.x, nearest, size) < CLEARANCE * size; way++) {
        w = from;
        if (way > 0)
            gw_curve_trace_turn_back(&w);
        for (int k = 0; k < CLEAR_STEPS && gw_pose_distance(&w.x, nearest, size) < CLEARANCE * size;
             k++)
            if (gw_curve_trace_step(&w) != GW_TRACE_CONTINUES)
                break;
    }
    return w.x;
}

/* Traces the whole curve, and finds where it is nearest to the problem's pose. False where not all
 * of it could be traced: then nothing is known of the poses that were not passed. */
static bool trace_curve(const gw_completion *c, gw_solution_component *curve, bool *covered)
{
    curve_record t = {.c = c, .covered = covered, .top = -HUGE_VAL};
    gw_submanifold *set = &curve->set;
    gw_curve_trace_status status = GW_TRACE_UNBOUNDED;
    bool whole = true;
    gw_curve_minima_begin(&t.minima, &c->solver->problem->pose, c->solver->problem->length);
    for (int way = 0; way < 2 && status != GW_TRACE_CLOSED; way++) {
        status = trace_one_way(&t, set, way > 0);
        whole = whole && status != GW_TRACE_CONTINUES;
    }
    curve->top = t.top;
    c->solver->work += GW_OVERDRAFT;
    gw_curve_minima_nearest(&t.minima, &curve->nearest);
    bool plain = gw_implicit_curve_is_regular(set, c->size, &curve->nearest);
    set->seed = plain ? curve->nearest : clear_of_crossing(&t.minima, &curve->nearest, c->size);
    c->solver->work -= GW_OVERDRAFT;
    return whole;
}

/* The pose nearest to the problem's of those that no curve has passed; or -1. */
static int nearest_uncovered(const gw_completion *c, const bool *covered)
{
    const gw_problem *p = c->solver->problem;
    int best = -1;
    double least = HUGE_VAL;
    for (int i = 0; i < c->curve_pose_count; i++) {
        if (covered[i])
            continue;
        double d = gw_pose_distance(&c->curve_poses[i], &p->pose, p->length);
        if (d < least)
            best = i, least = d;
    }
    return best;
}

static int covered_poses(const gw_completion *c, const bool *covered)
{
    int count = 0;
    for (int i = 0; i < c->curve_pose_count; i++)
        count += covered[i];
    return count;
}

/* Traces all curves that poses are on, each from one of them, `from`. `fewest`: the poses of the
 * curve that has the fewest; 0 where not all of a curve could be traced. */
static int trace_curves(gw_completion *c, gw_solution_component *components, int room,
                        gw_pose *from, int *fewest)
{
    bool covered[GW_MAX_CURVE_POSES] = {false};
    int count = 0, crossing = -1;
    *fewest = GW_MAX_CURVE_POSES;
    for (int at; count < room && (at = nearest_uncovered(c, covered)) >= 0;) {
        int before = covered_poses(c, covered);
        gw_submanifold *set = &components[count].set;
        gw_pose x = c->curve_poses[at];
        covered[at] = true;
        general_set(c, &x, 1, set);
        if (!gw_implicit_curve_is_regular(set, c->size, &x)) {
            crossing = at; /* of curves that other poses are on */
            continue;
        }
        int dof = gw_local_dimension(c, &x);
        if (dof == 0)
            gw_completion_add(c, &x);
        if (dof != 1)
            continue;
        from[count] = x;
        bool whole = trace_curve(c, &components[count++], covered);
        int on = covered_poses(c, covered) - before;
        *fewest = !whole ? 0 : on < *fewest ? on : *fewest;
        if (!whole)
            break;
    }
    if (count == 0 && crossing >= 0 && room > 0) {
        general_set(c, &c->curve_poses[crossing], 1, &components[0].set);
        components[0].nearest = c->curve_poses[crossing];
        components[count++].top = 0;
    }
    return count;
}

/* If few starts reached a curve, there may be curves that none reached: the starts are continued as
 * long as work remains for as many again, and for the leaves after each choice. */
static int curve_components(gw_completion *c, gw_solution_component *components, int room)
{
    gw_pose from[GW_MAX_COMPONENTS];
    int fewest, choices = c->any_sense ? 0 : c->state->choice_count;
    long before = c->solver->work + c->sampling_work, shares = 1 + (1L << choices);
    for (int i = 0; i < c->found_count; i++)
        if (c->dof[i] == 1)
            add_curve_pose(c, &c->found[i]);
    int count = trace_curves(c, components, room, from, &fewest);
    long cost = before - c->solver->work;
    bool more = count > 1 && count < room && fewest > 0 && fewest < FEW;
    for (int k = 0; k < MORE_STARTS && more && c->solver->work > shares * cost; k++) {
        c->curve_pose_count = 0;
        for (int i = 0; i < count; i++)
            add_curve_pose(c, &from[i]);
        gw_sample_curves(c);
        count = trace_curves(c, components, room, from, &fewest);
        more = count < room && fewest > 0 && fewest < FEW;
    }
    return count;
}

/* ---- all of them ----------------------------------------------------------------------------- */

int gw_solution_components(gw_completion *c, gw_solution_component *components, int room)
{
    bool taken[GW_MAX_FOUND] = {false};
    int count = 0;
    for (int dof = 6; dof > 1; dof--) {
        int at = nearest_found(c, dof, taken);
        if (at < 0 || count == room)
            continue;
        gw_submanifold *set = &components[count].set;
        general_set(c, &c->found[at], dof, set);
        move_seed_to_nearest(c, set, taken);
        components[count++].top = 0;
    }
    return count + curve_components(c, components + count, room - count);
}
