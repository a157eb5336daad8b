/*
 * What follows from a leaf without closed form. Any thread, RT safe; bounded by the run's `work`.
 *
 * A constraint whose rows are linear combinations of the leaf's, in the 17 coordinates of a pose,
 * follows from it: that is a proof. One whose gradients are no combinations of the leaf's at a pose
 * of the answer does not. What is left is tried: the leaf is solved, and every pose of it must
 * satisfy the constraint; where they are isolated, all of them must be known.
 */
#include <string.h>

#include "rt/base/small.h"
#include "rt/positioning/polynomial/roots.h"

#define RANK   1e-6
#define TRIES  24
#define PLENTY 8 /* poses of a leaf with freedoms that settle it */

static bool combined(const gw_forms *forms, const gw_row *rows, int count)
{
    for (int i = 0; i < count; i++)
        if (!gw_forms_contain(forms, &rows[i]))
            return false;
    return true;
}

static int rank_of(int rows, double (*a)[6])
{
    int order[GW_MAX_COMPLETION_ROWS];
    gw_small_lq q;
    gw_small_lq_factor(rows, a, RANK, order, &q);
    return q.rank;
}

/* True where the rows add to the rank of the leaf's at a pose. */
static bool adds(const gw_completion *c, const gw_pose *x, const gw_row *rows, int count)
{
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6], b[GW_MAX_COMPLETION_ROWS][6];
    int n = c->row_count;
    if (n + count > GW_MAX_COMPLETION_ROWS)
        return true;
    gw_scaled_rows(c, x, h, a);
    gw_rows_value_and_jacobian(rows, count, x, h, a + n);
    for (int i = n; i < n + count; i++)
        for (int j = 3; j < 6 && rows[i - n].kind != GW_ROW_ANGLE; j++)
            a[i][j] /= c->size;
    memcpy(b, a, sizeof a[0] * (size_t)(n + count));
    return rank_of(n + count, b) > rank_of(n, a);
}

/* Solves the leaf; those of `asked` that all its poses satisfy. */
static unsigned long tried(gw_completion *c, unsigned long asked)
{
    gw_solver *run = c->run;
    int checked = 0, freedoms = 0;
    for (int k = 0; asked && k < TRIES && checked < PLENTY && run->work > 0; k++) {
        gw_completion_try(c, gw_completion_random(c));
        for (; checked < c->found_count; checked++) {
            asked &= gw_satisfied_constraints(run, &c->found[checked], asked);
            freedoms += c->dof[checked] > 0;
        }
    }
    if (!asked || checked == 0 || run->work <= 0)
        return 0;
    if (freedoms > 0)
        return freedoms == checked ? asked : 0;
    gw_root_summary roots = gw_roots_by_eigenvalues(c);
    if (!roots.exact)
        roots = gw_roots_by_homotopy(c);
    for (; checked < c->found_count; checked++)
        asked &= gw_satisfied_constraints(run, &c->found[checked], asked);
    return roots.exact ? asked : 0;
}

unsigned long gw_satisfied_constraints(const gw_solver *run, const gw_pose *x, unsigned long asked)
{
    unsigned long held = 0;
    for (int i = 0; i < run->problem->count; i++)
        if (asked >> i & 1 &&
            gw_problem_residual(run->problem, 1ul << i, run->size, x) <= GW_VERIFIED)
            held |= 1ul << i;
    return held;
}

unsigned long gw_dependent_constraints(gw_solver *run, const gw_solver_state *leaf,
                                       const gw_solution *answer, unsigned long asked)
{
    gw_completion c;
    gw_forms forms;
    gw_row rows[GW_MAX_ROWS];
    unsigned long proved = 0, open = 0;
    if (run->work <= 0)
        return 0;
    run->work -= 400; /* forms and ranks, in the completion's units */
    gw_completion_begin(&c, run, leaf, false);
    gw_forms_of(&c, &forms);
    for (int i = 0; i < run->problem->count; i++) {
        if (!(asked >> i & 1))
            continue;
        const gw_constraint *one = &run->problem->constraints[i];
        int n = gw_constraint_rows(run, i, rows);
        bool sensed = one->sense != GW_EITHER &&
                      gw_constraint_has_sense(one->kind, one->mobile.kind, one->fixed.kind);
        sensed |= one->kind == GW_ANGLE && n > 1; /* 0 or pi: as a parallel, one way */
        if (!sensed && combined(&forms, rows, n))
            proved |= 1ul << i;
        else if (!adds(&c, &answer->branches[0].nearest, rows, n))
            open |= 1ul << i;
    }
    return proved | (open ? tried(&c, open) : 0);
}
