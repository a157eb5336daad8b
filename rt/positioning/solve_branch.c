/*
 * One branch solved again after its elements have moved. Choices follow its id; where the rules for
 * the moved elements have other choices than before (two branches that touch, elements that have
 * become parallel), they follow its former pose. A state without closed form is continued by a
 * descent from the former pose to the moved rows, with the same number of freedoms. Any thread, RT
 * safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/geometry/two_angles.h"
#include "rt/positioning/levenberg_marquardt.h"
#include "rt/positioning/solver.h"

typedef struct tracking {
    const gw_branch *before;
    bool found;
    gw_branch after;
} tracking;

/* ---- choices --------------------------------------------------------------------------------- */

/* Distance of a pose from an alternative (m). */
static double distance_to_alternative(const gw_solver *solver, const gw_alternative *e,
                                      const gw_pose *x)
{
    double worst = e->fixes_rotation ? solver->size * gw_quat_angle(e->rotation, x->q) : 0;
    for (int i = 0; i < e->distance_count; i++) {
        gw_row rows[GW_DISTANCE_ROWS];
        double h[GW_DISTANCE_ROWS];
        int n = gw_distance_rows(&e->distances[i], rows);
        gw_rows_value(rows, n, x, h);
        for (int k = 0; k < n; k++)
            worst = gw_worst(worst, fabs(h[k]));
    }
    for (int i = 0; i < e->angle_count; i++) {
        const gw_angle_constraint *d = &e->angles[i];
        double angle = gw_angle_between(gw_rotate(x->q, d->u), d->f);
        worst = gw_worst(worst, solver->size * fabs(angle - d->angle));
    }
    return worst;
}

/* The next label of the id; 0 where the former pose chooses. */
static char next_label(const gw_solver *solver, const gw_solver_state *state)
{
    return solver->tracked->by_pose ? 0 : solver->tracked->before->id[1 + state->choice_count];
}

int gw_tracked_alternative(const gw_solver *solver, const gw_solver_state *state)
{
    const gw_rule_result *f = &solver->result;
    char label = next_label(solver, state);
    for (int k = 0; k < f->count; k++)
        if (label && label == (f->alternatives[k].label ? f->alternatives[k].label : '0' + k))
            return k;
    int best = 0;
    double least = HUGE_VAL;
    for (int k = 0; k < f->count; k++) {
        double off =
            distance_to_alternative(solver, &f->alternatives[k], &solver->tracked->before->nearest);
        if (off < least)
            best = k, least = off;
    }
    return best;
}

void gw_keep_tracked_rotation(gw_solver *solver, const gw_solver_state *state)
{
    gw_rule_result *r = &solver->result;
    const gw_branch *before = solver->tracked->before;
    int best = -1;
    double least = solver->tracked->reach / solver->size;
    for (int k = 0; k < r->count; k++) {
        double angle = gw_quat_angle(r->alternatives[k].rotation, before->nearest.q);
        if (angle <= least)
            best = k, least = angle;
    }
    if (best < 0) {
        r->outcome = GW_RULE_NO_ROOT;
        r->count = 0;
        return;
    }
    if (best > 0)
        r->alternatives[0] = r->alternatives[best];
    r->alternatives[0].label = before->id[1 + state->choice_count];
    r->count = 1;
}

gw_sense gw_tracked_sense(const gw_solver *solver, const gw_solver_state *state, int i)
{
    char label = next_label(solver, state);
    if (label == '0' || label == '1')
        return label == '0' ? GW_SAME : GW_OPPOSITE;
    return gw_constraint_sense_at(&solver->problem->constraints[i],
                                  &solver->tracked->before->nearest);
}

/* Chosen by the pose: loops that met may have separated again with exchanged signs. */
int gw_tracked_loop(const gw_solver *solver, const gw_rotation_set *rotations)
{
    return gw_two_angles_loop(rotations, solver->tracked->before->nearest.q);
}

/* True where the choices made are those of the id: all of them, or all before a numeric name. */
static bool matches_id(const char *id, const gw_solver_state *state, bool closed)
{
    size_t n = (size_t)state->choice_count;
    if (strncmp(id + 1, state->choices, n) != 0)
        return false;
    return !closed || id[1 + n] == 0 || (n == 0 && strcmp(id, "b0") == 0);
}

/* ---- by continuity --------------------------------------------------------------------------- */

/* The rows of part k of a state: its rotation, its angles, its distances; -1 past the last. */
static int part_rows(const gw_solver_state *s, int k, gw_row rows[GW_DISTANCE_ROWS])
{
    if (k == 0)
        return s->rotation_known ? gw_rotation_rows(s->rotation, rows) : 0;
    k--;
    if (k < s->angle_count)
        return gw_angle_rows(&s->angles[k], rows);
    k -= s->angle_count;
    return k < s->distance_count ? gw_distance_rows(&s->distances[k], rows) : -1;
}

typedef struct continued {
    const gw_solver_state *state;
    double size;
} continued;

static void normal_equations_at(const void *context, const gw_pose *x, gw_normal_equations *to)
{
    const continued *c = context;
    gw_row rows[GW_DISTANCE_ROWS];
    *to = (gw_normal_equations){.sum = 0};
    for (int k = 0, n; (n = part_rows(c->state, k, rows)) >= 0; k++) {
        double h[GW_DISTANCE_ROWS], a[GW_DISTANCE_ROWS][6];
        gw_rows_value_and_jacobian(rows, n, x, h, a);
        for (int i = 0; i < n; i++) {
            gw_scale_row(&rows[i], c->size, &h[i], a[i]);
            gw_normal_equations_add(to, h[i], a[i]);
        }
    }
}

/* Descends from x to the state's rows; false if it ends at no root. `at`: the normal equations of
 * the pose reached. */
static bool descend_to_rows(const gw_solver_state *state, double size, gw_pose *x,
                            gw_normal_equations *at)
{
    const gw_levenberg_marquardt method = {.size = size,
                                           .evaluate = normal_equations_at,
                                           .context = &(continued){state, size},
                                           .steps = 60,
                                           .goal = 1e-29 * size * size,
                                           .round_off = 1e-24 * size * size,
                                           .damping = 1e-7,
                                           .least = 1e-14,
                                           .most = 1e9,
                                           .raise = 10,
                                           .raise_to = 1e-12};
    gw_levenberg_marquardt_descend(&method, x, at);
    return at->worst <= 1e-11 * size;
}

/* 6 - rank, and a basis of the null space. */
static int nullity_of(const gw_normal_equations *at, double (*basis)[6])
{
    double n[6][6];
    int order[6];
    gw_small_lq q;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            n[i][j] = i > j ? at->n[i][j] : at->n[j][i];
    gw_small_lq_factor(6, n, 1e-12, order, &q); /* squares: 1e-6 of the rows */
    gw_small_lq_columns(&q, q.rank, basis);
    return 6 - q.rank;
}

/* True where the set has `dof` dimensions at x: where x is singular, by its neighbours. */
static bool has_dimension(const gw_solver_state *state, double size, const gw_pose *x,
                          const gw_normal_equations *at, int dof)
{
    static const double weights[2][6] = {{0.8, -0.6, 0.5, 0.7, -0.4, 0.9},
                                         {-0.5, -0.9, 0.8, 0.3, 0.6, -0.7}};
    const double reach = 2e-2 * size;
    double basis[6][6], ignored[6][6];
    int nullity = nullity_of(at, basis), most = 0;
    if (nullity <= dof)
        return nullity == dof;
    for (int k = 0; k < 2; k++) {
        double step[6] = {0};
        gw_normal_equations there;
        for (int j = 0; j < nullity; j++)
            for (int i = 0; i < 6; i++)
                step[i] += weights[k][j] * basis[j][i];
        gw_pose next = gw_scaled_step(size, x, step, reach);
        if (!descend_to_rows(state, size, &next, &there) ||
            gw_pose_distance(&next, x, size) < 0.2 * reach)
            continue;
        int here = nullity_of(&there, ignored);
        most = here > most ? here : most;
    }
    return most == dof;
}

/* Adds the gradient of `row` at x, orthogonalised against the kept ones; false if it is
 * dependent. */
static bool is_independent(double size, const gw_row *row, const gw_pose *x, double (*kept)[6],
                           int n)
{
    double before = 0, after = 0;
    gw_rows_jacobian(row, 1, x, &kept[n]);
    for (int j = 3; j < 6 && row->kind != GW_ROW_ANGLE; j++)
        kept[n][j] /= size;
    for (int i = 0; i < 6; i++)
        before += kept[n][i] * kept[n][i];
    for (int k = 0; k < 2 * n; k++) {
        double dot = 0;
        for (int i = 0; i < 6; i++)
            dot += kept[n][i] * kept[k % n][i];
        for (int i = 0; i < 6; i++)
            kept[n][i] -= dot * kept[k % n][i];
    }
    for (int i = 0; i < 6; i++)
        after += kept[n][i] * kept[n][i];
    for (int i = 0; i < 6; i++)
        kept[n][i] /= sqrt(after);
    return after > 1e-10 * before;
}

/* The rows of a general set, chosen as the former set's were: independent ones where those were as
 * many as its codimension, else all that fit. */
static bool choose_rows(const gw_solver_state *state, double size, const gw_pose *x,
                        const gw_submanifold *former, gw_submanifold *set)
{
    const int codimension = 6 - former->dof;
    bool few = former->row_count == codimension;
    double kept[7][6];
    gw_row rows[GW_DISTANCE_ROWS];
    set->row_count = 0;
    for (int k = 0, n; (n = part_rows(state, k, rows)) >= 0; k++)
        for (int i = 0; i < n && set->row_count < (few ? codimension : GW_MAX_ROWS); i++)
            if (!few || is_independent(size, &rows[i], x, kept, set->row_count))
                set->rows[set->row_count++] = rows[i];
    return set->row_count >= codimension;
}

/* The general set at x, of the former set's mobility. */
static bool general_set(const gw_solver *solver, const gw_solver_state *state, const gw_pose *x,
                        const gw_submanifold *former, gw_submanifold *set)
{
    gw_synthesise(solver, state, set);
    gw_rotation_kind kind = set->rotation.kind;
    set->general = true;
    set->dof = former->dof;
    set->seed = *x;
    set->translation = former->translation;
    set->translation.locus = (gw_locus){.kind = GW_LOCUS_GENERAL};
    set->rotation.dof = former->rotation.dof;
    set->rotation.kind = kind == former->rotation.kind ? kind : GW_ROTATION_GENERAL;
    return choose_rows(state, solver->size, x, former, set);
}

/* Continues a branch without closed form from its former pose; false if it ended. */
static bool continue_numerically(const gw_solver *solver, const gw_solver_state *state, tracking *f)
{
    const gw_submanifold *former = &f->before->set;
    const gw_problem *p = solver->problem;
    gw_branch *b = &f->after;
    gw_pose x = f->before->nearest;
    gw_normal_equations at;
    if (!descend_to_rows(state, solver->size, &x, &at) ||
        gw_pose_distance(&x, &f->before->nearest, solver->size) > solver->tracked->reach ||
        !has_dimension(state, solver->size, &x, &at, former->dof))
        return false;
    if (former->dof == 0) {
        gw_synthesise_pose(solver, state, &x, &b->set);
        b->nearest = x;
        b->distance = gw_pose_distance(&x, &p->pose, p->length);
        return true;
    }
    if (!general_set(solver, state, &x, former, &b->set))
        return false;
    b->distance = gw_submanifold_nearest_local(&b->set, &p->pose, p->length, &b->nearest);
    return true;
}

/* ---- the branch ------------------------------------------------------------------------------ */

/* Continues the branch in closed form; false if it has none, or if that is another branch. */
static bool continue_closed_form(const gw_solver *solver, const gw_solver_state *state, tracking *f)
{
    const gw_problem *p = solver->problem;
    gw_branch *b = &f->after;
    gw_pose ignored;
    if (!gw_synthesise(solver, state, &b->set) || b->set.dof != f->before->set.dof ||
        !gw_verified(solver, &b->set, NULL))
        return false;
    if (solver->tracked->by_pose &&
        gw_submanifold_nearest(&b->set, &f->before->nearest, solver->size, &ignored) >
            solver->tracked->reach)
        return false;
    b->distance = gw_submanifold_nearest(&b->set, &p->pose, p->length, &b->nearest);
    return true;
}

static void track_leaf(gw_solver *solver, const gw_solver_state *state)
{
    tracking *f = solver->context;
    bool any = solver->tracked->by_pose;
    if (any || matches_id(f->before->id, state, true))
        f->found = continue_closed_form(solver, state, f);
    bool no_form = f->before->set.general || f->before->set.dof == 0;
    if (!f->found && no_form && (any || matches_id(f->before->id, state, false)))
        f->found = continue_numerically(solver, state, f);
}

/* All constraints as they are stated, each with the sense that it has at the former pose. */
static void track_stated(const gw_solver *solver, tracking *f)
{
    gw_solver_state state;
    gw_solver_state_init(&state);
    for (int i = 0; i < solver->problem->count; i++) {
        const gw_constraint *c = &solver->problem->constraints[i];
        gw_decompose(solver, &state, i,
                     c->sense == GW_EITHER ? gw_constraint_sense_at(c, &f->before->nearest)
                                           : c->sense);
    }
    f->found = !state.capped && continue_numerically(solver, &state, f);
}

/* Bound of the motion of the branch's nearest pose (m): of the order of the elements' motion, which
 * the residual at the former pose measures; near touching branches, of its square root. */
static double reach_of(const gw_solver *solver, const gw_branch *before)
{
    double off = gw_problem_residual(solver->problem, solver->use, solver->size, &before->nearest);
    return solver->size * (10 * off + 4 * sqrt(off) + 1e-6);
}

static bool track_here(const gw_problem *problem, const gw_branch *before, gw_branch *after)
{
    gw_solver solver;
    tracking f;
    gw_solver_init(&solver, problem, track_leaf, &f);
    gw_tracked_branch tracked = {before, false, reach_of(&solver, before)};
    solver.tracked = &tracked;
    f.before = before;
    f.found = false;
    bool stated = before->id[1] == 'n';
    if (!stated)
        gw_solver_explore(&solver);
    tracked.by_pose = true;
    if (!stated && !f.found)
        gw_solver_explore(&solver);
    if (!f.found && (before->set.general || before->set.dof == 0))
        track_stated(&solver, &f);
    gw_branch *b = &f.after;
    if (!f.found ||
        gw_problem_residual(problem, solver.use, solver.size, &b->nearest) > GW_VERIFIED)
        return false;
    memmove(after->id, before->id, sizeof after->id);
    memcpy(&after->set, &b->set, offsetof(gw_submanifold, rows));
    memcpy(after->set.rows, b->set.rows, sizeof(gw_row) * (size_t)b->set.row_count);
    after->set.seed = after->nearest = b->nearest;
    after->distance = b->distance;
    return true;
}

bool gw_solve_branch(const gw_problem *problem, const gw_branch *before, gw_branch *after)
{
    assert(before->id[0] == 'b');
    gw_constraint constraints[GW_MAX_PROBLEM];
    gw_problem shifted;
    gw_vec3 shift;
    if (!gw_origin_shift(problem, &shift))
        return track_here(problem, before, after);
    gw_branch b = *before;
    gw_shift_problem(problem, shift, constraints, &shifted);
    gw_shift_branch(&b, gw_neg(shift));
    if (!track_here(&shifted, &b, &b))
        return false;
    gw_shift_branch(&b, shift);
    *after = b;
    return true;
}
