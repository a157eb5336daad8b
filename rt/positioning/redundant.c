/*
 * Redundancy by its definition: a constraint follows from others when every branch that they leave
 * satisfies it. One pass over a set of constraints tells all the others that follow from it. Any
 * thread, RT safe.
 *
 * Forward, the sets that say all that the first i constraints say grow to one of a dozen or so;
 * backward, later ones first, that one is thinned out until each is needed; and so are the reasons
 * of each of the others. So the work is a few dozen passes over few constraints, however many there
 * are.
 */
#include "rt/positioning/solver.h"

#define FEW         4   /* constraints: as quickly thinned out without growing a set first */
#define OPEN        16  /* constraints without closed form: among more, hardly a part has one */
#define MOST_PASSES 160 /* and their answers, which many constraints share */

typedef struct passes {
    const gw_solver *whole;
    int count;
    long work; /* what is left to leaves without closed form */
    struct {
        unsigned long use, asked, follow; /* bits of constraints */
    } done[MOST_PASSES];
} passes;

/* What a pass looks for: which of `follow` still hold on every branch. */
typedef struct pass {
    unsigned long follow;
    bool any;                  /* branch */
    const gw_solution *answer; /* to all constraints */
} pass;

/* ---- one pass ------------------------------------------------------------------------------- */

/* Those of `asked` that generic poses of a leaf's closed form satisfy. */
static unsigned long on_set(const gw_solver *run, const gw_submanifold *set, unsigned long asked)
{
    gw_pose x[2];
    int n = gw_generic_poses(set, run->size, x);
    for (int k = 0; k < n && asked; k++)
        asked &= gw_satisfied_constraints(run, &x[k], asked);
    return asked && gw_verified(run->problem, run->use, run->size, set) ? asked : 0;
}

static void check_leaf(gw_solver *run, const gw_solver_state *state)
{
    pass *p = run->context;
    gw_submanifold set;
    p->any = true;
    if (gw_synthesise(run, state, &set))
        p->follow = on_set(run, &set, p->follow);
    else if (p->answer->method == GW_NUMERIC) /* else it is not worth the time */
        p->follow = gw_dependent_constraints(run, state, p->answer, p->follow);
    else
        p->follow = 0;
    run->stop = p->follow == 0;
}

/* Those of `asked` that follow from the constraints in `use`. */
static unsigned long following(passes *all, unsigned long use, unsigned long asked)
{
    for (int i = 0; i < all->count; i++)
        if (all->done[i].use == use && !(asked & ~all->done[i].asked))
            return all->done[i].follow & asked;
    if (all->count == MOST_PASSES)
        return 0;
    pass p = {asked, false, all->whole->solution};
    gw_solver run;
    gw_solver_init(&run, all->whole->problem, check_leaf, &p);
    run.use = use;
    run.work = all->work;
    gw_solver_explore(&run);
    all->work = run.work;
    unsigned long follow = p.any && !run.doubt ? p.follow : 0;
    all->done[all->count].use = use;
    all->done[all->count].asked = asked;
    all->done[all->count++].follow = follow;
    return follow;
}

/* ---- what is needed -------------------------------------------------------------------------- */

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
static bool plainly_needed(const gw_solver *run, int dof)
{
    const gw_problem *p = run->problem;
    if (p->count < 2)
        return true;
    if (p->count > 2)
        return false;
    return 6 - dof > codimension(&p->constraints[0]) && 6 - dof > codimension(&p->constraints[1]);
}

/* The constraints, in their order, that do not follow from those before them. */
static unsigned long leading(passes *all)
{
    unsigned long use = 0, open = all->whole->use;
    while (open) {
        use |= open & -open;
        open &= ~use;
        if (open)
            open &= ~following(all, use, open);
    }
    return use;
}

/* What is left of `use` when those that are not needed are taken out, later ones first: needed for
 * constraint `one`, or for themselves where that is -1. `asked`: what to ask for along with it. */
static unsigned long thinned(passes *all, unsigned long use, int one, unsigned long asked)
{
    for (int i = GW_MAX_PROBLEM - 1; i >= 0; i--) {
        unsigned long rest = use & ~(1ul << i), goal = 1ul << (one < 0 ? i : one);
        if (rest != use && following(all, rest, asked | goal) & goal)
            use = rest;
    }
    return use;
}

static const char *rule_of(const gw_solver *run, const gw_redundant *r)
{
    if (r->because == 0)
        return "every pose satisfies it";
    if (r->because & (r->because - 1))
        return run->solution->dof == 0 ? "the others leave no freedom, and it holds there"
                                       : "every pose that the others allow satisfies it";
    int other = __builtin_ctzl(r->because);
    const gw_constraint *c = run->problem->constraints;
    return codimension(&c[other]) == codimension(&c[r->index]) ? "it says the same as another"
                                                               : "it is part of what another says";
}

void gw_find_redundant(const gw_solver *run)
{
    gw_solution *s = run->solution;
    passes all;
    if (plainly_needed(run, s->dof) || (s->method == GW_NUMERIC && run->problem->count > OPEN))
        return;
    all.whole = run;
    all.work = run->work;
    all.count = 0;
    bool few = run->problem->count <= FEW;
    unsigned long needed = thinned(&all, few ? run->use : leading(&all), -1, 0);
    unsigned long rest = run->use & ~needed;
    all.count = 0; /* from here on all are asked for at once */
    for (int i = run->problem->count - 1; i >= 0; i--) {
        if (!(rest >> i & 1))
            continue;
        gw_redundant *r = &s->redundant[s->redundant_count++];
        r->index = i;
        r->because = thinned(&all, needed, i, rest);
        r->rule = rule_of(run, r);
    }
    for (int k = 0; k < s->implied_count; k++)
        if (s->implied[k].from & needed)
            s->implied[k].from &= needed;
}
