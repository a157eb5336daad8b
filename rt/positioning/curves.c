/*
 * Sets of one freedom: starts enough to reach every curve, and each curve walked round, so that it
 * is one branch, whatever it crosses on its way. Any thread, RT safe; bounded by the run's `work`.
 */
#include "rt/geometry/implicit_curve.h"
#include "rt/positioning/numeric_completion.h"

#define STARTS  144
#define CLEAR   0.02 /* from a crossing, times the size */
#define CLEARED 60   /* steps that get so far */

/* ---- starts ---------------------------------------------------------------------------------- */

/* A rotation that has the first known direction along, where there is one. */
static gw_quat turned_along(gw_completion *c, gw_quat any)
{
    const gw_solver_state *s = c->state;
    for (int i = 0; i < s->direction_count && !s->fixed; i++) {
        const gw_angle_constraint *d = &s->directions[i];
        if (d->angle > 0)
            continue;
        gw_quat turn = gw_quat_axis(d->f, gw_completion_uniform(c, -GW_PI, GW_PI));
        gw_vec3 f = c->any_sense && gw_completion_uniform(c, 0, 1) < 0.5 ? gw_neg(d->f) : d->f;
        return gw_quat_mul(turn, gw_quat_between(d->u, f));
    }
    return any;
}

/* Curves may lie far beside the rows' points: two cylinders meet where their axes come near. */
gw_pose gw_completion_start(gw_completion *c, int k)
{
    static const double wider[] = {1, 2.5, 6, 1, 2.5, 16, 1, 2.5, 40, 1, 6, 100};
    gw_pose x = gw_completion_random(c);
    gw_vec3 centre = gw_pose_point(&x, c->middle_m), off = gw_sub(centre, c->middle_f);
    x.q = turned_along(c, x.q);
    centre = gw_mul_add(c->middle_f, wider[k % 12], off);
    x.p = gw_sub(centre, gw_rotate(x.q, c->middle_m));
    return x;
}

static void add_along(gw_completion *c, const gw_pose *x)
{
    if (c->along_count < GW_MAX_CURVE_POSES)
        c->along[c->along_count++] = *x;
}

void gw_sample_curves(gw_completion *c)
{
    for (int k = 0; k < STARTS && c->run->work > 0; k++) {
        gw_pose x = gw_completion_start(c, k);
        if (gw_completion_refine(c, &x))
            add_along(c, &x);
    }
}

/* ---- walks ----------------------------------------------------------------------------------- */

/* What is seen of a curve on a walk. */
typedef struct tour {
    const gw_completion *c;
    bool *covered; /* of c->along */
    double top;    /* how high it rises: its own, wherever it is entered */
    gw_curve_minima vales;
} tour;

static void look(tour *t, const gw_curve_trace *w)
{
    const gw_completion *c = t->c;
    for (int i = 0; i < c->along_count; i++)
        if (!t->covered[i])
            t->covered[i] = gw_curve_trace_passes(w, &c->along[i]);
    t->top = fmax(t->top, gw_pose_label(c->run, &w->x).height);
}

/* Along the set's curve one way. */
static gw_curve_trace_status go_along(tour *t, const gw_submanifold *set, bool backward)
{
    gw_solver *run = t->c->run;
    gw_curve_trace w = gw_curve_trace_from_seed(set, t->c->size, backward);
    gw_curve_trace_status trip = GW_TRACE_CONTINUES;
    look(t, &w);
    gw_curve_minima_visit(&t->vales, &w, true);
    for (int k = 0; k < GW_CURVE_TRACE_MAX_STEPS && trip == GW_TRACE_CONTINUES && run->work > 0;
         k++) {
        trip = gw_curve_trace_step(&w);
        run->work -= (8 + 6 * w.tries) * (set->row_count + 6); /* looks included */
        look(t, &w);
        gw_curve_minima_visit(&t->vales, &w, false);
    }
    gw_curve_minima_end(&t->vales);
    return trip;
}

/* A place of the curve beside the nearest pose, clear of what crosses there. */
static gw_pose clear_of(const gw_curve_minima *vales, const gw_pose *nearest, double size)
{
    gw_curve_trace w = vales->place[0];
    for (int i = 1; i < vales->count; i++)
        if (gw_pose_distance(&vales->place[i].x, nearest, size) <
            gw_pose_distance(&w.x, nearest, size))
            w = vales->place[i];
    for (int k = 0; k < CLEARED && gw_pose_distance(&w.x, nearest, size) < CLEAR * size; k++)
        if (gw_curve_trace_step(&w) != GW_TRACE_CONTINUES)
            break;
    return w.x;
}

/* Walks round the curve, and finds where it is nearest to the problem's pose. False where not all
 * of it could be seen: then nothing is known of the poses that were not passed. */
static bool follow(const gw_completion *c, gw_solution_component *curve, bool *covered)
{
    tour t = {.c = c, .covered = covered, .top = -HUGE_VAL};
    gw_submanifold *set = &curve->set;
    gw_curve_trace_status trip = GW_TRACE_UNBOUNDED;
    bool whole = true;
    gw_curve_minima_begin(&t.vales, &c->run->problem->pose, c->run->problem->length);
    for (int way = 0; way < 2 && trip != GW_TRACE_CLOSED; way++) {
        trip = go_along(&t, set, way > 0);
        whole = whole && trip != GW_TRACE_CONTINUES;
    }
    curve->top = t.top;
    gw_curve_minima_nearest(&t.vales, &curve->nearest);
    bool plain = gw_implicit_curve_is_regular(set, c->size, &curve->nearest);
    set->seed = plain ? curve->nearest : clear_of(&t.vales, &curve->nearest, c->size);
    return whole;
}

/* ---- which ----------------------------------------------------------------------------------- */

/* The pose nearest to the problem's of those that no curve has passed; or -1. */
static int nearest_left(const gw_completion *c, const bool *covered)
{
    const gw_problem *p = c->run->problem;
    int best = -1;
    double least = HUGE_VAL;
    for (int i = 0; i < c->along_count; i++) {
        if (covered[i])
            continue;
        double d = gw_pose_distance(&c->along[i], &p->pose, p->length);
        if (d < least)
            best = i, least = d;
    }
    return best;
}

int gw_curve_components(gw_completion *c, gw_solution_component *sets, int room)
{
    bool covered[GW_MAX_CURVE_POSES] = {false};
    int count = 0, crossing = -1;
    for (int i = 0; i < c->found_count; i++)
        if (c->dof[i] == 1)
            add_along(c, &c->found[i]);
    for (int at; count < room && (at = nearest_left(c, covered)) >= 0;) {
        gw_submanifold *set = &sets[count].set;
        gw_pose x = c->along[at];
        covered[at] = true;
        gw_general_set(c, &x, 1, set);
        if (!gw_implicit_curve_is_regular(set, c->size, &x)) {
            crossing = at; /* of curves that other poses are on */
            continue;
        }
        int dof = gw_local_dimension(c, &x);
        if (dof == 0)
            gw_completion_add(c, &x);
        if (dof == 1 && !follow(c, &sets[count++], covered))
            break;
    }
    if (count == 0 && crossing >= 0 && room > 0) {
        gw_general_set(c, &c->along[crossing], 1, &sets[0].set);
        sets[0].nearest = c->along[crossing];
        sets[count++].top = 0;
    }
    return count;
}
