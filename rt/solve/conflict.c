/*
 * What a verdict of incompatibility rests on. A conflict is found on each branch by itself and may
 * name the constraints of that branch only: the ones to tell are those that have no pose together.
 * And an inequality that fails by little, between directions of short arms, is no proof. Any
 * thread, RT safe.
 */
#include "rt/solve/solve_internal.h"

#define NEARLY 1e6 /* times the snap: where directions touch, poses lie off by its square root */

#define NEAR_POINTS 1e-4 /* times the size: nearer points give no direction to rely on */

static void note_leaf(gw_run *run, const gw_state *state)
{
    gw_submanifold set;
    run->stop = true;
    if (gw_synthesise(run, state, &set) || !gw_stated_clash(run))
        *(bool *)run->context = true;
}

/* How many times smaller the body is than the problem: directions between its points are as much
 * less certain than places. */
static double lever(const gw_run *run)
{
    const gw_constraint *c = run->problem->constraints;
    double extent = 0;
    for (int i = 1; i < run->problem->count; i++)
        extent = fmax(extent, gw_distance(c[i].mobile.p, c[0].mobile.p));
    return extent > 0 ? fmax(1, run->size / extent) : 1;
}

/* The same of the two points of the body that are nearest to one another, where that is very little
 * beside the problem: what is placed by their direction is as uncertain. */
static double far_lever(const gw_run *run)
{
    const gw_constraint *c = run->problem->constraints;
    double least = NEAR_POINTS * run->size;
    for (int i = 0; i < run->problem->count; i++)
        for (int k = 0; k < i; k++) {
            double apart = gw_distance(c[i].mobile.p, c[k].mobile.p);
            if (apart > 0)
                least = fmin(least, apart);
        }
    return NEAR_POINTS * run->size / least;
}

/* True where the constraints in `use` have a conflict on every branch, `conflict` being one that
 * fails by more than `times` the snap. */
static bool refuted(const gw_run *whole, unsigned long use, double times, gw_conflict *conflict)
{
    bool reached = false;
    gw_run run;
    gw_run_init(&run, whole->problem, note_leaf, &reached);
    run.use = use;
    double far = far_lever(whole);
    run.snap_clash *= times * far;
    run.snap_angle *= times * far * lever(whole);
    gw_explore(&run);
    if (reached || run.doubt || !run.conflict.condition)
        return false;
    *conflict = run.conflict;
    return true;
}

static bool surely_refuted(const gw_run *run, unsigned long use, gw_conflict *conflict)
{
    return refuted(run, use, 1, conflict) && gw_conflict_stays(run, use);
}

/* By the snap, too: past a pardoned contradiction rules may drop poses that are there. */
static bool plainly_refuted(const gw_run *run, unsigned long use, gw_conflict *conflict)
{
    gw_conflict ignored;
    return refuted(run, use, NEARLY, &ignored) && surely_refuted(run, use, conflict);
}

/* Leaves out what is not needed: halves first, then ever smaller blocks, the later constraints
 * before the earlier. */
static unsigned long thinned(const gw_run *run, unsigned long use, gw_conflict *conflict)
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
gw_proof gw_narrow_conflict(gw_run *run)
{
    gw_conflict *c = &run->conflict, found = *c;
    unsigned long use = c->constraints;
    gw_proof proof = GW_PLAIN;
    if (!plainly_refuted(run, use, &found))
        use = run->use;
    if (use != run->use || plainly_refuted(run, use, &found))
        use = thinned(run, use, &found);
    else
        proof = surely_refuted(run, use, &found) ? GW_PROOF : GW_NO_PROOF;
    *c = found;
    c->constraints = use;
    return proof;
}
