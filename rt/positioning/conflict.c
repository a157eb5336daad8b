/*
 * What a verdict of incompatibility rests on. A conflict is found on each branch by itself and may
 * name the constraints of that branch only: the ones to tell are those that have no pose together.
 * And an inequality that fails by little, or between what is uncertain, is no proof. Any thread, RT
 * safe.
 */
#include "rt/positioning/solver.h"

#define NEARLY 1e6 /* times the snap: where directions touch, poses lie off by its square root */

static void note_leaf(gw_solver *run, const gw_solver_state *state)
{
    gw_submanifold set;
    run->stop = true;
    if (gw_synthesise(run, state, &set) || !gw_stated_conflict(run))
        *(bool *)run->context = true;
}

/* True where the constraints in `use` have a conflict on every branch, `conflict` being one that
 * fails by more than `times` the snap. */
static bool refuted(const gw_solver *whole, unsigned long use, double times, gw_conflict *conflict)
{
    bool reached = false;
    gw_solver run;
    gw_solver_init(&run, whole->problem, note_leaf, &reached);
    run.use = use;
    run.snap_clash *= times;
    run.snap_angle *= times;
    gw_solver_explore(&run);
    if (reached || run.doubt || !run.conflict.condition)
        return false;
    *conflict = run.conflict;
    return true;
}

/* And none of the contradictions hangs on round-off. */
static bool surely_refuted(const gw_solver *run, unsigned long use, gw_conflict *conflict)
{
    return refuted(run, use, 1, conflict) && gw_conflict_survives_perturbation(run, use);
}

/* By the snap, too: past a pardoned contradiction rules may drop poses that are there. */
static bool plainly_refuted(const gw_solver *run, unsigned long use, gw_conflict *conflict)
{
    gw_conflict ignored;
    return refuted(run, use, NEARLY, &ignored) && surely_refuted(run, use, conflict);
}

/* Leaves out what is not needed: halves first, then ever smaller blocks, the later constraints
 * before the earlier. */
static unsigned long thinned(const gw_solver *run, unsigned long use, gw_conflict *conflict)
{
    for (int size = GW_MAX_PROBLEM / 2; size > 0; size /= 2)
        for (int first = GW_MAX_PROBLEM - size; first >= 0; first -= size) {
            unsigned long block = ((1ul << size) - 1) << first, rest = use & ~block;
            if (rest != use && plainly_refuted(run, rest, conflict))
                use = rest;
        }
    return use;
}

/* What fails by little on some branch only all constraints together are sure to contradict. */
gw_conflict_certainty gw_minimal_conflict(gw_solver *run)
{
    gw_conflict *c = &run->conflict, found = *c;
    unsigned long use = c->constraints;
    gw_conflict_certainty proof = GW_CONFLICT_BY_FAR;
    if (!plainly_refuted(run, use, &found))
        use = run->use;
    if (use != run->use || plainly_refuted(run, use, &found))
        use = thinned(run, use, &found);
    else
        proof = surely_refuted(run, use, &found) ? GW_CONFLICT_CERTAIN : GW_CONFLICT_UNCERTAIN;
    *c = found;
    c->constraints = use;
    return proof;
}
