/*
 * The solver's stages in order: explore (decompose, combine, branch), then at each leaf the closed
 * form or the numeric completion, verification, the nearest pose; last, which constraints are
 * redundant. Any thread, RT safe with the caller's memory.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/geometry/implicit_curve.h"
#include "rt/positioning/solver.h"

/* Distance of a pose from a branch (m); a lower bound where positions suffice. */
static double off_branch(const gw_solver *solver, const gw_branch *b, const gw_pose *x)
{
    gw_pose on;
    double apart = b->set.dof == 0 ? gw_distance(b->nearest.p, x->p) : 0;
    if (apart > 1e-5 * solver->size)
        return apart;
    return b->set.dof == 0 ? gw_pose_distance(&b->nearest, x, solver->size)
                           : gw_submanifold_nearest(&b->set, x, solver->size, &on);
}

#define ASIDE       0.02 /* of a curve's seed, times the size */
#define ASIDE_STEPS 60   /* largest number of steps to get that far */

/* A pose of a curve aside of its seed, at which another arc may end as well. */
static gw_pose aside_of_seed(const gw_submanifold *set, double size)
{
    gw_submanifold followed = *set;
    gw_pose aside = set->seed;
    for (int way = 0; way < 2 && gw_pose_distance(&aside, &set->seed, size) < ASIDE * size; way++) {
        gw_curve_trace w = gw_curve_trace_from_seed(&followed, size, way > 0);
        for (int k = 0; k < ASIDE_STEPS && gw_pose_distance(&w.x, &set->seed, size) < ASIDE * size;
             k++)
            if (gw_curve_trace_step(&w) != GW_TRACE_CONTINUES)
                break;
        aside = w.x;
    }
    return aside;
}

/* True if a curve's seed, and a pose of the curve aside of it, are on the curve of another
 * branch. */
static bool same_curve(const gw_solver *solver, const gw_branch *b, const gw_submanifold *set)
{
    const double size = solver->size, same = 1e-5 * size;
    gw_pose on, aside;
    if (gw_implicit_curve_nearest(&b->set, size, &set->seed, size, &on) >= same)
        return false;
    aside = aside_of_seed(set, size);
    return gw_implicit_curve_nearest(&b->set, size, &aside, size, &on) < same;
}

static bool is_curve(const gw_submanifold *set)
{
    return set->general && set->dof == 1;
}

/* True where another branch has the pose already. Sets with freedoms are compared only in the
 * completion of all constraints; but curves that share their nearest pose may be one. */
static bool is_listed(const gw_solver *solver, const gw_submanifold *set, const gw_pose *nearest)
{
    const gw_solution *s = solver->solution;
    const double same = 1e-5 * solver->size;
    for (int i = 0; i < s->branch_count; i++) {
        const gw_branch *b = &s->branches[i];
        if (is_curve(set) && is_curve(&b->set)) {
            if (gw_pose_distance(&b->nearest, nearest, solver->size) < same &&
                same_curve(solver, b, set))
                return true;
            continue;
        }
        bool compared = solver->may_miss_poses || (set->dof == 0 && !b->set.general);
        if (compared && off_branch(solver, b, nearest) < same)
            return true;
    }
    return false;
}

/* True where a cosine of the rows is nearly one: it determines its angle badly. */
static bool has_ill_conditioned_rows(const gw_submanifold *set)
{
    bool any = false;
    for (int i = 0; i < set->row_count; i++)
        any |= set->rows[i].kind == GW_ROW_ANGLE && fabs(set->rows[i].value) > 1 - 1e-6;
    return any;
}

/* Each pose is verified where it is found. A general set whose rows are ill-conditioned, or those
 * of a closed form that is not verified, is verified at samples, too. */
static bool holds_elsewhere(gw_solver *solver, const gw_branch *b)
{
    gw_branch_point x[4];
    unsigned long long random = 1;
    /* elsewhere on such a leaf's set the residual may be several times as large */
    double most = (solver->leaf_not_verified ? 0.25 : 1) * GW_VERIFIED;
    if (!b->set.general || b->set.dof == 0 ||
        !(solver->leaf_not_verified || has_ill_conditioned_rows(&b->set)))
        return true;
    gw_branch_samples(b, solver->size, &random, 4, x);
    for (int i = 0; i < 4; i++)
        if (gw_solver_residual(solver, &x[i].pose) > most)
            return false;
    return true;
}

static bool offsets_surface(const gw_submanifold *set)
{
    bool any = false;
    for (int i = 0; i < set->row_count; i++)
        any |= set->rows[i].value != 0 &&
               (set->rows[i].kind == GW_ROW_SURFACE || set->rows[i].kind == GW_ROW_SURFACE_BODY);
    return any;
}

/* For offset surfaces: replaces the nearest pose by the nearest one at which no other part of the
 * surface is nearer; false if there is none or the set needs none. */
static bool nearest_elsewhere(gw_solver *solver, const gw_submanifold *set, gw_pose *nearest,
                              double *distance)
{
    const gw_problem *p = solver->problem;
    if (set->dof == 0 || is_curve(set) || !offsets_surface(set) ||
        !gw_nearest_over_surfaces(solver, set, nearest))
        return false;
    *distance = gw_pose_distance(nearest, &p->pose, p->length);
    return true;
}

/* `verified`: the set is one pose, which is verified. */
static void add_branch(gw_solver *solver, const gw_solver_state *state, const char *name,
                       const gw_submanifold *set, const gw_pose *known, bool verified)
{
    gw_solution *s = solver->solution;
    const gw_problem *p = solver->problem;
    bool curve = is_curve(set);
    gw_pose nearest;
    if (s->branch_count == GW_MAX_BRANCHES)
        return;
    double distance = curve ? gw_pose_distance(known, &p->pose, p->length)
                            : gw_submanifold_nearest(set, &p->pose, p->length, &nearest);
    nearest = curve ? *known : nearest;
    if (!verified && gw_solver_residual(solver, &nearest) > GW_VERIFIED &&
        !nearest_elsewhere(solver, set, &nearest, &distance)) {
        solver->unproven = true;
        return;
    }
    if (s->branch_count > 0 && is_listed(solver, set, &nearest))
        return;
    gw_branch *b = &s->branches[s->branch_count++];
    gw_write_branch_id(state, name, b->id);
    memcpy(&b->set, set, offsetof(gw_submanifold, rows));
    memcpy(b->set.rows, set->rows, sizeof(gw_row) * (size_t)set->row_count);
    b->set.seed = curve ? set->seed : nearest;
    b->nearest = nearest;
    b->distance = distance;
    if (!holds_elsewhere(solver, b)) {
        s->branch_count--;
        solver->unproven = true;
    }
}

/* Adds a branch with an overdraft of work, so that it is kept if the search used all of the
 * work. */
static void add_with_overdraft(gw_solver *solver, const gw_solver_state *state, const char *name,
                               const gw_submanifold *set, const gw_pose *known, bool verified)
{
    solver->work += GW_OVERDRAFT;
    add_branch(solver, state, name, set, known, verified);
    solver->work -= GW_OVERDRAFT;
}

void gw_add_branch(gw_solver *solver, const gw_solver_state *state, const char *name,
                   const gw_submanifold *set, const gw_pose *known)
{
    assert(solver && state && set);
    add_with_overdraft(solver, state, name, set, known, false);
}

/* Records closed forms whose rotation or translation no single constraint gives in the trace. */
static void trace_closed_form(const gw_solver_state *state, const gw_submanifold *set,
                              gw_solution *s)
{
    unsigned long from = 0;
    if (set->rotation.kind == GW_ROTATION_TWO_ANGLES && state->loop == 0 &&
        s->trace_count < GW_MAX_TRACE)
        s->trace[s->trace_count++] = (gw_trace_step){"two angles: a loop of rotations",
                                                     state->angles[0].from | state->angles[1].from};
    for (int i = 0; i < state->distance_count; i++)
        from |= state->distances[i].from;
    if (set->translation.shift_count > 0 && s->trace_count < GW_MAX_TRACE)
        s->trace[s->trace_count++] =
            (gw_trace_step){"places of several points: the translation follows the rotation", from};
}

/* A leaf of the exploration: its closed form, verified; else a conflict of the constraints as they
 * were stated, or the numeric completion. */
static void solve_leaf(gw_solver *solver, const gw_solver_state *state)
{
    gw_solution *s = solver->solution;
    gw_submanifold set;
    bool closed = gw_synthesise(solver, state, &set);
    gw_submanifold_count_work(&set, &solver->work);
    if (closed && gw_verified(solver, &set, &solver->work)) {
        trace_closed_form(state, &set, s);
        add_with_overdraft(solver, state, "", &set, NULL, set.dof == 0);
        return;
    }
    if (!solver->stated_checked && gw_stated_conflict(solver)) {
        solver->stop = true;
        return;
    }
    solver->stated_checked = true;
    for (int i = 0; i < state->distance_count; i++)
        s->left |= state->distances[i].from;
    for (int i = 0; i < state->angle_count; i++)
        s->left |= state->angles[i].from;
    s->method = GW_NUMERIC;
    /* with free-form shapes a closed form may fail because another part of the shape is nearer */
    solver->leaf_not_verified = closed && !gw_has_free_form(solver->problem);
    gw_complete_numerically(solver, state, false);
    solver->leaf_not_verified = false;
}

/* Nearest first; of equally near ones the smaller id. */
static bool goes_before(const gw_branch *a, const gw_branch *b)
{
    double same = 1e-12 * (a->distance + b->distance);
    if (fabs(a->distance - b->distance) > same)
        return a->distance < b->distance;
    return strcmp(a->id, b->id) < 0;
}

/* Copies the counted part of a branch. */
static void copy_branch(gw_branch *to, const gw_branch *from)
{
    memcpy(to->id, from->id, sizeof to->id);
    memcpy(&to->set, &from->set, offsetof(gw_submanifold, rows));
    memcpy(to->set.rows, from->set.rows, sizeof(gw_row) * (size_t)from->set.row_count);
    to->set.seed = from->set.seed;
    to->nearest = from->nearest;
    to->distance = from->distance;
}

/* Sorts the branches' numbers, then moves each branch once, along the cycles of the permutation. */
static void sort_branches(gw_solution *s)
{
    int order[GW_MAX_BRANCHES];
    gw_branch first;
    for (int i = 0; i < s->branch_count; i++) {
        int k = i;
        for (; k > 0 && goes_before(&s->branches[i], &s->branches[order[k - 1]]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    for (int i = 0; i < s->branch_count; i++) {
        if (order[i] == i)
            continue;
        copy_branch(&first, &s->branches[i]);
        int to = i;
        for (int from = order[to]; from != i; from = order[to]) {
            copy_branch(&s->branches[to], &s->branches[from]);
            order[to] = to;
            to = from;
        }
        copy_branch(&s->branches[to], &first);
        order[to] = to;
    }
}

/* A numeric completion of all constraints, for an exploration that ended without an answer and
 * without a proof; its branches have an "n" in their id. */
static void complete_all(gw_solver *solver)
{
    gw_solver_state state;
    gw_decompose_all(solver, &state);
    state.choices[state.choice_count++] = 'n';
    solver->solution->left = solver->use;
    solver->solution->method = GW_NUMERIC;
    gw_complete_numerically(solver, &state, true);
}

/* The number of roots of isolated poses; where choices led to them, of the constraints as stated.
 */
static void count_roots(gw_solver *solver, gw_solution *s)
{
    if (s->complex_roots == GW_ROOTS_UNCOUNTED) {
        gw_solver_state state;
        gw_decompose_all(solver, &state);
        s->complex_roots = s->dof == 0 ? gw_count_roots(solver, &state) : 0;
    }
    bool isolated = s->dof == 0 && s->branch_count > 0;
    /* where elements are within the tolerance of one another a root may be two poses */
    bool sure = isolated && s->complex_roots >= s->branch_count;
    s->complex_roots = sure ? s->complex_roots : 0;
    s->real_roots = s->complex_roots > 0 ? s->branch_count : 0;
}

/* No branch, and an inequality fails on each. If it fails by little, the numeric completion may
 * still find a pose, and nothing is proven if its residual is within the tolerance. */
static void confirm_conflict(gw_solver *solver)
{
    gw_conflict_certainty certainty = gw_minimal_conflict(solver);
    if (certainty == GW_CONFLICT_BY_FAR)
        return;
    complete_all(solver);
    solver->unproven = solver->solution->best_residual <= GW_VERIFIED * solver->size ||
                       certainty == GW_CONFLICT_UNCERTAIN;
}

/* True where a pose is off a set's rows: on none of its curves, and quicker to find than by a
 * trace.
 */
static bool off_rows(const gw_solver *solver, const gw_submanifold *set, const gw_pose *x)
{
    double h[GW_MAX_ROWS], worst = 0;
    gw_rows_value(set->rows, set->row_count, x, h);
    for (int i = 0; i < set->row_count; i++)
        worst =
            gw_worst(worst, fabs(h[i]) * (set->rows[i].kind == GW_ROW_ANGLE ? solver->size : 1));
    return !(worst <= 1e-4 * solver->size);
}

/* True where arbitrary poses of a set are all on another one of more freedoms. */
static bool is_within(const gw_solver *solver, const gw_branch *b, const gw_branch *other)
{
    unsigned long long random = 1;
    gw_pose x = b->nearest, on;
    for (int k = 0; k < 3; k++) {
        if (is_curve(&other->set) && off_rows(solver, &other->set, &x))
            return false;
        if (gw_submanifold_nearest(&other->set, &x, solver->size, &on) > 1e-5 * solver->size)
            return false;
        x = gw_branch_sample(b, solver->size, &random);
    }
    return true;
}

/* Drops branches that are part of another one: alternatives of a rule may lie within one another
 * once other constraints hold as well. */
static void drop_contained(const gw_solver *solver, gw_solution *s)
{
    for (int i = s->branch_count - 1; i >= 0; i--) {
        bool inside = false;
        for (int k = 0; k < s->branch_count && !inside; k++)
            inside = s->branches[i].set.dof < s->branches[k].set.dof &&
                     is_within(solver, &s->branches[i], &s->branches[k]);
        if (inside && i < --s->branch_count)
            copy_branch(&s->branches[i], &s->branches[s->branch_count]);
    }
}

static const char *why_unhandled(const gw_solver *solver, const gw_solution *s)
{
    if (s->best_residual <= GW_VERIFIED * solver->size)
        return "The constraints contradict one another by no more than the tolerance: poses come "
               "within 1e-9 of the problem's size of them all, and none was found that meets them.";
    if (solver->problem->count == 1 && solver->problem->constraints[0].value != 0 &&
        gw_has_free_form(solver->problem))
        return "No pose was found at the stated distance along the surface's normal: wherever the "
               "search led, another part of the surface is nearer. That does not prove that there "
               "is none; a smaller value leaves more room.";
    if (solver->work <= 0)
        return "No rule reaches these constraints together, and the search for a pose ended at its "
               "bound before it found one; that does not prove that there is none.";
    return "No rule reaches these constraints together and no pose was found from many starts; "
           "that does not prove that there is none.";
}

/* Sets the status and the members that depend on it. */
static void conclude_solution(gw_solver *solver, gw_solution *s)
{
    solver->work += GW_OVERDRAFT;
    drop_contained(solver, s);
    solver->work -= GW_OVERDRAFT;
    s->dof = 0;
    for (int i = 0; i < s->branch_count; i++)
        s->dof = s->branches[i].set.dof > s->dof ? s->branches[i].set.dof : s->dof;
    if (s->branch_count == 0)
        s->complex_roots = 0; /* at most those of one branch that was tried */
    if (s->branch_count > 0) {
        s->status = GW_SOLVED;
        s->left = 0;
        gw_make_ids_unique(solver, s);
        sort_branches(s);
        count_roots(solver, s);
        gw_find_redundant(solver);
    } else if (!solver->unproven && solver->conflict.condition) {
        s->status = GW_STATUS_INCOMPATIBLE;
        s->left = 0;
        s->conflict = solver->conflict;
    } else {
        s->status = GW_STATUS_UNHANDLED;
        s->reason = why_unhandled(solver, s);
    }
}

/* Records stated senses that have no meaning in the trace: programs state a sense with every
 * constraint. */
static void trace_unused_senses(const gw_problem *p, gw_solution *s)
{
    unsigned long from = 0;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        if (c->sense != GW_EITHER &&
            !gw_constraint_has_sense(c->kind, c->mobile.kind, c->fixed.kind))
            from |= 1ul << i;
    }
    if (from != 0)
        s->trace[s->trace_count++] = (gw_trace_step){
            "sense not used: no two lines or normals are brought along one another", from};
}

static void solve_here(const gw_problem *problem, gw_solution *solution)
{
    gw_solver solver;
    gw_solver_init(&solver, problem, solve_leaf, NULL);
    solver.solution = solution;
    solver.work = gw_work_limit(problem) - (gw_has_free_form(problem) ? GW_OVERDRAFT : 0);
    solution->method = GW_CLOSED_FORM;
    solution->branch_count = solution->redundant_count = solution->implied_count = 0;
    solution->trace_count = 0;
    trace_unused_senses(problem, solution);
    solution->complex_roots = solution->real_roots = 0;
    solution->left = 0;
    solution->reason = NULL;
    solution->best_residual = HUGE_VAL;
    gw_solver_explore(&solver);
    solver.may_miss_poses |= solver.may_end_early && solution->branch_count > 0;
    if (solver.may_miss_poses || (solution->branch_count == 0 && solver.unproven))
        complete_all(&solver);
    else if (solution->branch_count == 0)
        confirm_conflict(&solver);
    if (solution->branch_count == 0 && solver.unproven && gw_free_form_conflict(&solver))
        solver.unproven = false;
    conclude_solution(&solver, solution);
    for (int i = 0; i < solution->branch_count; i++)
        gw_submanifold_count_work(&solution->branches[i].set, NULL);
}

void gw_solve(const gw_problem *problem, gw_solution *solution)
{
    assert(problem->count == 0 || problem->constraints);
    gw_constraint constraints[GW_MAX_PROBLEM];
    gw_problem shifted;
    gw_vec3 shift;
    if (!gw_origin_shift(problem, &shift)) {
        solve_here(problem, solution);
        return;
    }
    gw_shift_problem(problem, shift, constraints, &shifted);
    solve_here(&shifted, solution);
    for (int i = 0; i < solution->branch_count; i++)
        gw_shift_branch(&solution->branches[i], shift);
}
