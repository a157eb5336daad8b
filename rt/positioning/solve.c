/*
 * The solver's stages in order: explore (decompose, combine, branch), then at each leaf the closed
 * form or the numeric completion, verification, the nearest pose; last, what is redundant. Any
 * thread, RT safe with the caller's memory.
 */
#include <string.h>

#include "rt/geometry/implicit_curve.h"
#include "rt/positioning/solver.h"

char gw_label_digit(int number)
{
    return "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 62];
}

/* "b", the choices, and what tells numeric sets apart: that is kept where all is too long. */
static void write_id(const gw_solver_state *state, const char *name, char id[16])
{
    int n = 1, room = 15 - (int)strlen(name);
    memset(id, 0, 16);
    id[0] = 'b';
    for (int i = 0; i < state->choice_count && n < room; i++)
        id[n++] = state->choices[i];
    for (int i = 0; name[i]; i++)
        id[n++] = name[i];
    if (n == 1)
        id[n++] = '0';
}

/* How far a pose is from a branch (m); at least that far, where places tell. */
static double off_branch(const gw_solver *run, const gw_branch *b, const gw_pose *x)
{
    gw_pose on;
    double apart = b->set.dof == 0 ? gw_distance(b->nearest.p, x->p) : 0;
    if (apart > 1e-5 * run->size)
        return apart;
    return b->set.dof == 0 ? gw_pose_distance(&b->nearest, x, run->size)
                           : gw_submanifold_nearest(&b->set, x, run->size, &on);
}

/* True where a curve's seed, which no other curve passes, is on another branch's. */
static bool same_curve(const gw_solver *run, const gw_branch *b, const gw_submanifold *set)
{
    gw_pose on;
    return gw_implicit_curve_nearest(&b->set, run->size, &set->seed, run->size, &on) <
           1e-5 * run->size;
}

static bool is_curve(const gw_submanifold *set)
{
    return set->general && set->dof == 1;
}

/* True where another branch has the pose. Sets with freedoms: only the second look at all
 * constraints asks; but curves that share their nearest pose may be one. */
static bool listed(const gw_solver *run, const gw_submanifold *set, const gw_pose *nearest)
{
    const gw_solution *s = run->solution;
    const double same = 1e-5 * run->size;
    for (int i = 0; i < s->branch_count; i++) {
        const gw_branch *b = &s->branches[i];
        if (is_curve(set) && is_curve(&b->set)) {
            if (gw_pose_distance(&b->nearest, nearest, run->size) < same && same_curve(run, b, set))
                return true;
            continue;
        }
        bool asked = run->lost || (set->dof == 0 && !b->set.general);
        if (asked && off_branch(run, b, nearest) < same)
            return true;
    }
    return false;
}

/* True where a cosine of the rows is all but one: of an angle that it tells badly. */
static bool has_dull_rows(const gw_submanifold *set)
{
    bool dull = false;
    for (int i = 0; i < set->row_count; i++)
        dull |= set->rows[i].kind == GW_ROW_ANGLE && fabs(set->rows[i].value) > 1 - 1e-6;
    return dull;
}

/* A pose is held against the constraints by who found it; a set that the rows tell badly is so
 * elsewhere, too. */
static bool holds_elsewhere(const gw_solver *run, const gw_branch *b)
{
    gw_pose x[4];
    unsigned long long random = 1;
    if (!b->set.general || b->set.dof == 0 || !has_dull_rows(&b->set))
        return true;
    gw_branch_samples(b, run->size, &random, 4, x);
    for (int i = 0; i < 4; i++)
        if (gw_problem_residual(run->problem, run->use, run->size, &x[i]) > GW_VERIFIED)
            return false;
    return true;
}

void gw_add_branch(gw_solver *run, const gw_solver_state *state, const char *name,
                   const gw_submanifold *set, const gw_pose *known)
{
    gw_solution *s = run->solution;
    const gw_problem *p = run->problem;
    bool curve = is_curve(set);
    gw_pose nearest;
    if (s->branch_count == GW_MAX_BRANCHES)
        return;
    double distance = curve ? gw_pose_distance(known, &p->pose, p->length)
                            : gw_submanifold_nearest(set, &p->pose, p->length, &nearest);
    nearest = curve ? *known : nearest;
    if (gw_problem_residual(run->problem, run->use, run->size, &nearest) > GW_VERIFIED) {
        run->doubt = true;
        return;
    }
    if (s->branch_count > 0 && listed(run, set, &nearest))
        return;
    gw_branch *b = &s->branches[s->branch_count++];
    write_id(state, name, b->id);
    memcpy(&b->set, set, offsetof(gw_submanifold, rows));
    memcpy(b->set.rows, set->rows, sizeof(gw_row) * (size_t)set->row_count);
    b->set.seed = curve ? set->seed : nearest;
    b->nearest = nearest;
    b->distance = distance;
    if (!holds_elsewhere(run, b)) {
        s->branch_count--;
        run->doubt = true;
    }
}

static void solve_leaf(gw_solver *run, const gw_solver_state *state)
{
    gw_solution *s = run->solution;
    gw_submanifold set;
    if (gw_synthesise(run, state, &set) && gw_verified(run->problem, run->use, run->size, &set)) {
        gw_add_branch(run, state, "", &set, NULL);
        return;
    }
    if (!run->asked && gw_stated_conflict(run)) {
        run->stop = true;
        return;
    }
    run->asked = true;
    for (int i = 0; i < state->place_count; i++)
        s->left |= state->places[i].from;
    for (int i = 0; i < state->direction_count; i++)
        s->left |= state->directions[i].from;
    s->method = GW_NUMERIC;
    gw_complete_numerically(run, state, false);
}

/* Nearest first; of equally near ones the smaller id. */
static bool before(const gw_branch *a, const gw_branch *b)
{
    double same = 1e-12 * (a->distance + b->distance);
    if (fabs(a->distance - b->distance) > same)
        return a->distance < b->distance;
    return strcmp(a->id, b->id) < 0;
}

/* Copies what is used of a branch. */
static void copy_branch(gw_branch *to, const gw_branch *from)
{
    memcpy(to->id, from->id, sizeof to->id);
    memcpy(&to->set, &from->set, offsetof(gw_submanifold, rows));
    memcpy(to->set.rows, from->set.rows, sizeof(gw_row) * (size_t)from->set.row_count);
    to->set.seed = from->set.seed;
    to->nearest = from->nearest;
    to->distance = from->distance;
}

/* Sorts their numbers; then each goes to its place, along the cycles of the permutation. */
static void sort_branches(gw_solution *s)
{
    int order[GW_MAX_BRANCHES];
    gw_branch first;
    for (int i = 0; i < s->branch_count; i++) {
        int k = i;
        for (; k > 0 && before(&s->branches[i], &s->branches[order[k - 1]]); k--)
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

/* Where rules ended without an answer and without a proof: all constraints as they were stated. A
 * sense that is open needs no choice, the rows of parallels hold for both. */
static void state_all(const gw_solver *run, gw_solver_state *state)
{
    memset(state, 0, offsetof(gw_solver_state, places));
    state->rotation = gw_quat_identity();
    for (int i = 0; i < run->problem->count; i++) {
        gw_sense sense = run->problem->constraints[i].sense;
        gw_decompose(run, state, i, sense == GW_EITHER ? GW_SAME : sense);
    }
}

static void complete_all(gw_solver *run)
{
    gw_solver_state state;
    state_all(run, &state);
    state.choices[state.choice_count++] = 'n';
    run->solution->left = run->use;
    run->solution->method = GW_NUMERIC;
    gw_complete_numerically(run, &state, true);
}

/* The roots of isolated poses; where choices led to them, those of the constraints as stated. */
static void count_roots(gw_solver *run, gw_solution *s)
{
    if (s->complex_roots == GW_ROOTS_UNCOUNTED) {
        gw_solver_state state;
        state_all(run, &state);
        s->complex_roots = s->dof == 0 ? gw_count_roots(run, &state) : 0;
    }
    bool isolated = s->dof == 0 && s->branch_count > 0;
    /* where elements are near the tolerance poses may be told apart that are one root */
    bool sure = isolated && s->complex_roots >= s->branch_count;
    s->complex_roots = sure ? s->complex_roots : 0;
    s->real_roots = s->complex_roots > 0 ? s->branch_count : 0;
}

/* An inequality fails by little: there is a pose all the same where the numeric search finds one,
 * and nothing is proven where it comes as near as is asked. */
static void look_again(gw_solver *run)
{
    gw_conflict_certainty proof = gw_minimal_conflict(run);
    if (proof == GW_CONFLICT_BY_FAR)
        return;
    complete_all(run);
    run->doubt =
        run->solution->best_residual <= GW_VERIFIED * run->size || proof == GW_CONFLICT_UNCERTAIN;
}

/* True where a pose is on none of the curves with these rows: quicker than a walk. */
static bool off_rows(const gw_solver *run, const gw_submanifold *set, const gw_pose *x)
{
    double h[GW_MAX_ROWS], worst = 0;
    gw_rows_value(set->rows, set->row_count, x, h);
    for (int i = 0; i < set->row_count; i++)
        worst = fmax(worst, fabs(h[i]) * (set->rows[i].kind == GW_ROW_ANGLE ? run->size : 1));
    return worst > 1e-4 * run->size;
}

/* True where arbitrary poses of a set are all on another one of more freedoms. */
static bool is_within(const gw_solver *run, const gw_branch *b, const gw_branch *other)
{
    unsigned long long random = 1;
    gw_pose x = b->nearest, on;
    for (int k = 0; k < 3; k++) {
        if (is_curve(&other->set) && off_rows(run, &other->set, &x))
            return false;
        if (gw_submanifold_nearest(&other->set, &x, run->size, &on) > 1e-5 * run->size)
            return false;
        x = gw_branch_sample(b, run->size, &random);
    }
    return true;
}

/* Alternatives of a rule may lie within one another once other constraints hold as well: what is
 * within another set is no branch of its own. */
static void drop_contained(const gw_solver *run, gw_solution *s)
{
    for (int i = s->branch_count - 1; i >= 0; i--) {
        bool inside = false;
        for (int k = 0; k < s->branch_count && !inside; k++)
            inside = s->branches[i].set.dof < s->branches[k].set.dof &&
                     is_within(run, &s->branches[i], &s->branches[k]);
        if (inside && i < --s->branch_count)
            copy_branch(&s->branches[i], &s->branches[s->branch_count]);
    }
}

#define TOLD_APART 13 /* characters of an id that is followed by a colon and a digit */

/* How many branches have the beginning of one's id and rise less. */
static int below_alike(const gw_solver *run, const gw_solution *s, int at)
{
    const gw_branch *b = &s->branches[at];
    double height = gw_pose_label(run, &b->nearest).height;
    int below = 0;
    for (int i = 0; i < s->branch_count; i++) {
        const gw_branch *other = &s->branches[i];
        if (i == at || strncmp(other->id, b->id, TOLD_APART) != 0)
            continue;
        double there = gw_pose_label(run, &other->nearest).height;
        below += there < height || (there == height && i < at);
    }
    return below;
}

/* An id is one branch's alone: where choices and places do not tell two apart, heights do. */
static void tell_apart(const gw_solver *run, gw_solution *s)
{
    int rank[GW_MAX_BRANCHES];
    for (int i = 0; i < s->branch_count; i++) {
        bool alone = true;
        for (int k = 0; k < s->branch_count && alone; k++)
            alone = k == i ||
                    memcmp(s->branches[i].id, s->branches[k].id, sizeof s->branches[i].id) != 0;
        rank[i] = alone ? 0 : below_alike(run, s, i);
    }
    for (int i = 0; i < s->branch_count; i++) {
        char *id = s->branches[i].id;
        size_t n = strlen(id) < TOLD_APART ? strlen(id) : TOLD_APART;
        if (rank[i] > 0)
            id[n] = ':', id[n + 1] = gw_label_digit(rank[i]), id[n + 2] = 0;
    }
}

static const char *why_unhandled(const gw_solver *run, const gw_solution *s)
{
    if (s->best_residual <= GW_VERIFIED * run->size)
        return "The constraints contradict one another by no more than the tolerance: poses come "
               "within 1e-9 of the problem's size of them all, and none was found that meets them.";
    if (run->work <= 0)
        return "No rule reaches these constraints together, and the search for a pose ended at its "
               "bound before it found one; that does not prove that there is none.";
    return "No rule reaches these constraints together and no pose was found from many starts; "
           "that does not prove that there is none.";
}

static void conclude(gw_solver *run, gw_solution *s)
{
    drop_contained(run, s);
    s->dof = 0;
    for (int i = 0; i < s->branch_count; i++)
        s->dof = s->branches[i].set.dof > s->dof ? s->branches[i].set.dof : s->dof;
    if (s->branch_count == 0)
        s->complex_roots = 0; /* those of one branch that was tried, at most */
    if (s->branch_count > 0) {
        s->status = GW_SOLVED;
        s->left = 0;
        tell_apart(run, s);
        sort_branches(s);
        count_roots(run, s);
        gw_find_redundant(run);
    } else if (!run->doubt && run->conflict.condition) {
        s->status = GW_STATUS_INCOMPATIBLE;
        s->left = 0;
        s->conflict = run->conflict;
    } else {
        s->status = GW_STATUS_UNHANDLED;
        s->reason = why_unhandled(run, s);
    }
}

/* Senses are taken wherever they stand, as programs give one to every constraint. */
static void note_unused_senses(const gw_problem *p, gw_solution *s)
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

void gw_solve(const gw_problem *problem, gw_solution *solution)
{
    gw_solver run;
    gw_solver_init(&run, problem, solve_leaf, NULL);
    run.solution = solution;
    run.work = GW_MAX_WORK;
    solution->method = GW_CLOSED_FORM;
    solution->branch_count = solution->redundant_count = solution->implied_count = 0;
    solution->trace_count = 0;
    note_unused_senses(problem, solution);
    solution->complex_roots = solution->real_roots = 0;
    solution->left = 0;
    solution->reason = NULL;
    solution->best_residual = HUGE_VAL;
    gw_solver_explore(&run);
    if (run.lost || (solution->branch_count == 0 && run.doubt))
        complete_all(&run);
    else if (solution->branch_count == 0)
        look_again(&run);
    conclude(&run, solution);
}
