/*
 * Redundancy by its definition: a constraint follows from others when every branch that they leave
 * satisfies it. Each constraint is left out in turn, the later ones first, and the rest solved
 * again; then the reasons are thinned out in the same way. Any thread, RT safe.
 */
#include "rt/solve/solve_internal.h"

/* What a pass without constraint `index` looks for. */
typedef struct without {
    int index;
    bool holds;
} without;

static void check_leaf(gw_run *run, const gw_state *state)
{
    without *w = run->context;
    gw_submanifold set;
    unsigned long one = 1ul << w->index;
    w->holds = gw_synthesise(run, state, &set) && gw_verified(run->problem, one, run->size, &set) &&
               gw_verified(run->problem, run->use, run->size, &set);
    run->stop = !w->holds;
}

/* True when the constraints in `use` imply constraint `index`. */
static bool implies(const gw_run *whole, unsigned long use, int index)
{
    without w = {index, false};
    gw_run run;
    gw_run_init(&run, whole->problem, check_leaf, &w);
    run.use = use;
    gw_explore(&run);
    return w.holds && !run.doubt;
}

/* Scalar rows of a constraint at a generic pose: what it takes away alone. */
static int codimension(const gw_constraint *c)
{
    gw_element_kind m = c->mobile.kind, f = c->fixed.kind;
    bool mixed = m != f, zero = c->kind == GW_COINCIDENT || c->value == 0;
    switch (c->kind) {
    case GW_PARALLEL:
        return mixed ? 1 : 2;
    case GW_PERPENDICULAR:
        return mixed ? 2 : 1;
    case GW_ANGLE:
        return 1;
    default:
        break;
    }
    if (m == GW_PLANE || f == GW_PLANE)
        return m == GW_POINT || f == GW_POINT ? 1 : mixed ? 2 : 3;
    if (m == GW_LINE && f == GW_LINE)
        return zero ? 4 : 3;
    if (m == GW_LINE || f == GW_LINE)
        return zero ? 2 : 1;
    return zero ? 3 : 1;
}

/* Of two constraints neither follows where the answer has fewer freedoms than the other leaves. */
static bool plainly_needed(const gw_run *run, int dof)
{
    const gw_problem *p = run->problem;
    if (p->count < 2)
        return true;
    if (p->count > 2)
        return false;
    return 6 - dof > codimension(&p->constraints[0]) && 6 - dof > codimension(&p->constraints[1]);
}

/* The constraints that are needed to imply constraint `index`, out of those in `use`: halves are
 * left out first, then ever smaller blocks, the later ones before the earlier. */
static unsigned long thinned(const gw_run *run, unsigned long use, int index)
{
    for (int size = GW_MAX_PROBLEM / 2; size > 0; size /= 2)
        for (int first = GW_MAX_PROBLEM - size; first >= 0; first -= size) {
            unsigned long block = ((1ul << size) - 1) << first;
            if (use & block && implies(run, use & ~block, index))
                use &= ~block;
        }
    return use;
}

void gw_find_redundant(const gw_run *run)
{
    gw_solution *s = run->solution;
    unsigned long use = run->use;
    if (plainly_needed(run, s->dof))
        return;
    for (int i = run->problem->count - 1; i >= 0; i--) {
        unsigned long rest = use & ~(1ul << i);
        if (!implies(run, rest, i))
            continue;
        use = rest;
        unsigned long because = thinned(run, rest, i);
        s->redundant[s->redundant_count++] =
            (gw_redundant){i, because, "every pose that the others allow satisfies it"};
    }
    for (int k = 0; k < s->implied_count; k++)
        if (s->implied[k].from & use)
            s->implied[k].from &= use;
}
