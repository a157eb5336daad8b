/*
 * Redundancy by its definition: a constraint follows from others if every branch of these satisfies
 * it. One pass, an exploration of a set of constraints, finds all others that follow from it. Any
 * thread, RT safe; leaves without closed form are bounded by the solver's `work`.
 *
 * Forward: a set equivalent to the first i constraints grows to a dozen or so. Backward, later ones
 * first: the set is reduced until each constraint is needed, and likewise the set from which each
 * of the others follows. The work is a few dozen passes over few constraints, however many there
 * are.
 *
 * Where all constraints meet transversally at a pose of the answer, none of them follows from
 * others, and there is nothing to explore.
 *
 * At a leaf without closed form, a constraint follows, with proof, if its rows are linear
 * combinations of the leaf's in the 17 coordinates of a pose. It does not follow if its gradients
 * are not combinations of the leaf's at a pose of the solution. Otherwise the leaf is solved, and
 * every pose of it must satisfy the constraint; if poses are isolated, all of them must be known.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/positioning/numeric_completion.h"

#define FEW        4    /* constraints: so few are reduced without growing a set first */
#define MAX_PASSES 160  /* passes stored with their answers, which many constraints share */
#define RANK       1e-6 /* pivots below this share of the largest are zero */
#define TRIES      24   /* starts at a leaf */
#define PLENTY     8    /* poses of a leaf with freedoms that are tested */
/* Sine from which on directions are clearly different: at a tangency within the snap they are
 * uncertain by its square root, 2e-5. */
#define TRANSVERSAL 1e-3

typedef struct passes {
    const gw_solver *whole;
    int count;
    long work;                 /* left to leaves without closed form */
    unsigned long transversal; /* bits of constraints that are needed, whatever the others */
    struct {
        unsigned long use, asked, follow; /* bits of constraints */
    } done[MAX_PASSES];
} passes;

/* One pass: `follow` are the constraints satisfied on every branch so far. */
typedef struct pass {
    unsigned long follow;
    bool any;                  /* branch */
    const gw_solution *answer; /* to all constraints */
} pass;

/* ---- a leaf without closed form -------------------------------------------------------------- */

static int rank_of(int rows, double (*a)[6])
{
    int order[GW_MAX_COMPLETION_ROWS];
    gw_small_lq q;
    gw_small_lq_factor(rows, a, RANK, order, &q);
    return q.rank;
}

/* Gradients of rows at a pose, those of distances with respect to rotations times `size`. */
static void scaled_gradients(const gw_row *rows, int count, const gw_pose *x, double size,
                             double (*a)[6])
{
    gw_rows_jacobian(rows, count, x, a);
    for (int i = 0; i < count; i++)
        for (int j = 3; j < 6 && rows[i].kind != GW_ROW_ANGLE; j++)
            a[i][j] /= size;
}

/* True where the rows add to the rank of the leaf's at a pose. */
static bool adds_to_rank(const gw_completion *c, const gw_pose *x, const gw_row *rows, int count)
{
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6], b[GW_MAX_COMPLETION_ROWS][6];
    int n = c->row_count;
    if (n + count > GW_MAX_COMPLETION_ROWS)
        return true;
    gw_scaled_rows(c, x, NULL, h, a);
    scaled_gradients(rows, count, x, c->size, a + n);
    memcpy(b, a, sizeof a[0] * (size_t)(n + count));
    return rank_of(n + count, b) > rank_of(n, a);
}

/* Solves the leaf; returns those of `asked` that all its poses satisfy. */
static unsigned long held_by_all_poses(gw_completion *c, unsigned long asked)
{
    gw_solver *solver = c->solver;
    int checked = 0, freedoms = 0;
    for (int k = 0; asked && k < TRIES && checked < PLENTY && solver->work > 0; k++) {
        gw_completion_try(c, gw_completion_random(c));
        for (; checked < c->found_count; checked++) {
            asked &= gw_satisfied_constraints(solver, &c->found[checked], asked);
            freedoms += c->dof[checked] > 0;
        }
    }
    if (!asked || checked == 0 || solver->work <= 0)
        return 0;
    if (freedoms > 0)
        return freedoms == checked ? asked : 0;
    gw_root_summary roots = gw_roots_by_eigenvalues(&c->system);
    if (!roots.exact)
        roots = gw_completion_homotopy(c);
    for (; checked < c->found_count; checked++)
        asked &= gw_satisfied_constraints(solver, &c->found[checked], asked);
    return roots.exact ? asked : 0;
}

/* True if the constraint has one sense only, which its rows do not express: a stated sense, or an
 * angle of 0 or pi. */
static bool is_one_way(const gw_constraint *c, int row_count)
{
    if (c->sense != GW_EITHER && gw_constraint_has_sense(c->kind, c->mobile.kind, c->fixed.kind))
        return true;
    return gw_constraint_kind_info_of(c->kind)->value == GW_ANGLE_VALUE && row_count > 1;
}

/* The subset of `asked` that follows from a leaf without closed form. The rank at a pose of the
 * solution of all constraints excludes some at once. */
static unsigned long dependent_on_leaf(gw_solver *solver, const gw_solver_state *leaf,
                                       const gw_solution *answer, unsigned long asked)
{
    gw_completion c;
    gw_row rows[GW_MAX_PROBLEM * GW_CONSTRAINT_ROWS];
    unsigned char constraint[GW_MAX_PROBLEM * GW_CONSTRAINT_ROWS];
    int first[GW_MAX_PROBLEM], count[GW_MAX_PROBLEM], n = 0;
    unsigned long one_way = 0, open = 0;
    if (solver->work <= 0)
        return 0;
    solver->work -= 400; /* forms and ranks, in the completion's units */
    gw_completion_begin(&c, solver, leaf, false);
    /* the rows of all that is asked */
    for (int i = 0; i < solver->problem->count; i++) {
        if (!(asked >> i & 1))
            continue;
        first[i] = n;
        count[i] = gw_constraint_rows(solver, i, rows + n);
        memset(constraint + n, i, (size_t)count[i]);
        n += count[i];
        if (is_one_way(&solver->problem->constraints[i], count[i]))
            one_way |= 1ul << i;
    }
    /* proved, refuted by the rank, or open */
    unsigned long proved = gw_linearly_dependent(&c.system, rows, constraint, n) & ~one_way;
    for (int i = 0; i < solver->problem->count; i++)
        if (asked & ~proved & 1ul << i &&
            !adds_to_rank(&c, &answer->branches[0].nearest, rows + first[i], count[i]))
            open |= 1ul << i;
    return proved | (open ? held_by_all_poses(&c, open) : 0);
}

/* ---- one pass -------------------------------------------------------------------------------- */

/* The constraints of `asked` that generic poses of a leaf's closed form satisfy. */
static unsigned long on_set(gw_solver *solver, const gw_submanifold *set, unsigned long asked)
{
    gw_pose x[2];
    int n = gw_generic_poses(set, solver->size, x);
    for (int k = 0; k < n && asked; k++)
        asked &= gw_satisfied_constraints(solver, &x[k], asked);
    return asked && gw_verified(solver, set, &solver->work) ? asked : 0;
}

static void check_leaf(gw_solver *solver, const gw_solver_state *state)
{
    pass *p = solver->context;
    gw_submanifold set;
    p->any = true;
    bool numeric = p->answer->method == GW_NUMERIC;
    if (gw_synthesise(solver, state, &set) &&
        (!numeric || gw_verified(solver, &set, &solver->work)))
        p->follow = on_set(solver, &set, p->follow);
    else if (numeric) /* else it is not worth the time */
        p->follow = dependent_on_leaf(solver, state, p->answer, p->follow);
    else
        p->follow = 0;
    solver->stop = p->follow == 0;
}

/* The constraints of `asked` that follow from those in `use`. */
static unsigned long implied_constraints(passes *all, unsigned long use, unsigned long asked)
{
    for (int i = 0; i < all->count; i++)
        if (all->done[i].use == use && !(asked & ~all->done[i].asked))
            return all->done[i].follow & asked;
    if (all->count == MAX_PASSES || (all->work <= 0 && gw_has_free_form(all->whole->problem)))
        return 0;
    pass p = {asked, false, all->whole->solution};
    gw_solver solver;
    gw_solver_init(&solver, all->whole->problem, check_leaf, &p);
    solver.use = use;
    solver.work = all->work;
    gw_solver_explore(&solver);
    all->work = solver.work;
    unsigned long follow = p.any && !solver.unproven && !solver.may_end_early ? p.follow : 0;
    all->done[all->count].use = use;
    all->done[all->count].asked = asked;
    all->done[all->count++].follow = follow;
    return follow;
}

/* ---- needed constraints ---------------------------------------------------------------------- */

/* Codimension of the rotations that keep a state's parallels, without those of the constraints in
 * `without`: 0, 2 with all directions along `axis`, or 3; -1 where directions are only nearly
 * along. */
static int parallels_codimension(const gw_solver_state *state, unsigned long without, gw_vec3 *axis)
{
    int codimension = 0;
    for (int i = 0; i < state->angle_count; i++) {
        const gw_angle_constraint *k = &state->angles[i];
        if (k->angle > 0 || k->from & without)
            continue;
        double sine = codimension > 0 ? gw_norm(gw_cross(*axis, k->f)) : 0;
        if (codimension == 0)
            codimension = 2, *axis = k->f;
        else if (sine > TRANSVERSAL)
            codimension = 3;
        else if (sine > GW_SNAP)
            return -1;
    }
    return codimension;
}

/* The rows of a state's distances, and of its angles that are no parallels, as long as there are at
 * most six; `from`: the bits of each row's constraints. Returns their number. */
static int rows_beside_parallels(const gw_solver_state *state, gw_row *rows, unsigned long *from)
{
    int n = 0;
    for (int i = 0; i < state->angle_count && n <= 6; i++) {
        if (state->angles[i].angle == 0)
            continue;
        n += gw_angle_rows(&state->angles[i], rows + n);
        *from |= state->angles[i].from;
    }
    for (int i = 0; i < state->distance_count && n <= 6; i++) {
        n += gw_distance_rows(&state->distances[i], rows + n);
        *from |= state->distances[i].from;
    }
    return n;
}

/* The rotations that parallels remove, as gradients: unit vectors. */
static void put_turns(int codimension, gw_vec3 axis, double (*a)[6])
{
    gw_vec3 across = gw_any_normal(axis), turns[3] = {across, gw_cross(axis, across), axis};
    for (int i = 0; i < codimension; i++) {
        a[i][0] = a[i][1] = a[i][2] = 0;
        a[i][3] = turns[i].x, a[i][4] = turns[i].y, a[i][5] = turns[i].z;
    }
}

/* True if each vector is clearly outside the span of those before it (Gram-Schmidt method, in
 * place). */
static bool are_independent(int count, double (*a)[6])
{
    for (int i = 0; i < count; i++) {
        double before = gw_dot_n(6, a[i], a[i]);
        for (int k = 0; k < i; k++)
            gw_axpy_n(6, -gw_dot_n(6, a[k], a[i]), a[k], a[i]);
        double off = sqrt(gw_dot_n(6, a[i], a[i]));
        if (!(off > TRANSVERSAL * fmax(1, sqrt(before))))
            return false;
        for (int j = 0; j < 6; j++)
            a[i][j] /= off;
    }
    return true;
}

/*
 * Constraints that all meet transversally at a pose of the answer: their parallels leave a smooth
 * set of rotations, of codimension r, and the gradients of the n other rows are independent on it.
 * Then any of them leave a smooth set, too, and one with a row, or without which r is smaller, does
 * not follow from the others. Returns these; none where gradients depend on one another.
 */
static unsigned long transversal_constraints(const gw_solver *solver, const gw_pose *x)
{
    gw_solver_state state;
    gw_row rows[6 + GW_DISTANCE_ROWS];
    double a[6][6];
    gw_vec3 axis = {0, 0, 0};
    unsigned long needed = 0;
    if (solver->problem->count > 6 || gw_has_free_form(solver->problem))
        return 0;
    gw_decompose_all(solver, &state);
    const int r = parallels_codimension(&state, 0, &axis);
    const int n = rows_beside_parallels(&state, rows, &needed);
    if (r < 0 || r + n > 6)
        return 0;
    put_turns(r, axis, a);
    scaled_gradients(rows, n, x, solver->size, a + r);
    if (!are_independent(r + n, a))
        return 0;
    for (int i = 0; i < solver->problem->count; i++)
        if (parallels_codimension(&state, 1ul << i, &axis) < r)
            needed |= 1ul << i;
    return needed;
}

/* True if neither of two constraints follows from the other: the solution has fewer freedoms than
 * either alone leaves. */
static bool plainly_needed(const gw_solver *solver, int dof)
{
    const gw_problem *p = solver->problem;
    if (p->count < 2)
        return true;
    if (p->count > 2)
        return false;
    return 6 - dof > gw_constraint_codimension(&p->constraints[0]) &&
           6 - dof > gw_constraint_codimension(&p->constraints[1]);
}

/* The constraints, in their order, that do not follow from those before them. */
static unsigned long leading_constraints(passes *all)
{
    unsigned long use = 0, open = all->whole->use;
    while (open) {
        use |= open & -open;
        open &= ~use;
        if (open)
            open &= ~implied_constraints(all, use, open);
    }
    return use;
}

/* `use` without the constraints that are not needed, later ones removed first: needed for
 * constraint `one`, or for themselves where that is -1, and all for `goal`. `asked`: further
 * constraints for the same passes. */
static unsigned long reduce_to_needed(passes *all, unsigned long use, int one, unsigned long goal,
                                      unsigned long asked)
{
    for (int i = GW_MAX_PROBLEM - 1; i >= 0; i--) {
        unsigned long rest = use & ~(1ul << i), held = goal & ~rest;
        held |= 1ul << (one < 0 ? i : one);
        if (one < 0 && all->transversal >> i & 1)
            continue;
        if (rest != use && !(held & ~implied_constraints(all, rest, asked | held)))
            use = rest;
    }
    return use;
}

/* A minimal set of constraints from which all others follow. A constraint that follows only within
 * the tolerance may be needed for others: then all constraints are tested for each reduction. */
static unsigned long needed_constraints(passes *all)
{
    unsigned long use = all->whole->use;
    unsigned long begin = all->whole->problem->count <= FEW ? use : leading_constraints(all);
    unsigned long needed = reduce_to_needed(all, begin, -1, 0, 0);
    if (needed == begin || !(use & ~needed & ~implied_constraints(all, needed, use & ~needed)))
        return needed;
    return reduce_to_needed(all, begin, -1, use, 0);
}

static const char *rule_of(const gw_solver *solver, const gw_redundant *r)
{
    if (r->because == 0)
        return "every pose satisfies it";
    if (r->because & (r->because - 1))
        return solver->solution->dof == 0 ? "the others leave no freedom, and it holds there"
                                          : "every pose that the others allow satisfies it";
    int other = __builtin_ctzl(r->because);
    const gw_constraint *c = solver->problem->constraints;
    return gw_constraint_codimension(&c[other]) == gw_constraint_codimension(&c[r->index])
               ? "it says the same as another"
               : "it is part of what another says";
}

void gw_find_redundant(const gw_solver *solver)
{
    assert(solver);
    gw_solution *s = solver->solution;
    passes all;
    if (plainly_needed(solver, s->dof))
        return;
    all.transversal = transversal_constraints(solver, &s->branches[0].nearest);
    if (all.transversal == solver->use)
        return;
    all.whole = solver;
    all.work = solver->work + (gw_has_free_form(solver->problem) ? GW_OVERDRAFT : 0);
    all.count = 0;
    unsigned long needed = needed_constraints(&all);
    unsigned long rest = solver->use & ~needed;
    all.count = 0; /* from here on all are asked for at once */
    for (int i = solver->problem->count - 1; i >= 0; i--) {
        if (!(rest >> i & 1))
            continue;
        gw_redundant *r = &s->redundant[s->redundant_count++];
        r->index = i;
        r->because = reduce_to_needed(&all, needed, i, 0, rest);
        r->rule = rule_of(solver, r);
    }
    for (int k = 0; k < s->implied_count; k++)
        if (s->implied[k].from & needed)
            s->implied[k].from &= needed;
}
