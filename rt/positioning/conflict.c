/*
 * Certainty of incompatibility, and the constraints that conflict. Each branch has a conflict of
 * its own, which may involve only that branch's constraints; the reported ones have no common pose
 * on any branch. An inequality that fails by little, or between uncertain quantities, is no proof:
 * if it fails by less than 2e-4 a numeric search comes first. If a branch ends by less than 1e-9,
 * or by less than the uncertainty of its tangencies, and others are found, a numeric search looks
 * for its poses.
 *
 * The perturbation test: directions between near points and crossings of nearly parallel lines are
 * far more uncertain than the features from which they are derived, and tangencies by the square
 * root of the snap; contradictions inherit that. Instead of carrying error bounds through every
 * rule, the exploration is repeated with all input perturbed by a tenth of the snap and each
 * tangency by its slack; each contradiction must remain nearly the same. The perturbation may
 * separate numbers that coincide in the input, so that other rules fit: the tolerances of
 * equalities and contradictions are therefore widened until all branches end as before.
 *
 * Any thread, RT safe; 20 kB of stack.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/random.h"
#include "rt/positioning/solver.h"

#define BY_FAR             1e6  /* times the snap: near tangency poses lie off by its square root */
#define PERTURBATION       0.1  /* of the snap: numbers of the input move by so much */
#define MAX_CHANGE         0.03 /* of a contradiction's excess: with more it is uncertain */
#define WIDEST             1e6  /* times the snap: widest tolerance of equalities */
#define WIDER              30
#define DRAWS              3
#define MAX_CONTRADICTIONS 256 /* branches; more are left unproven */

/* The contradictions by which the branches of an exploration ended, in their order. */
typedef struct gw_contradictions {
    int count;
    bool open;               /* one ended without a contradiction */
    unsigned long long draw; /* of the perturbation; 0: as stated */
    double excess[MAX_CONTRADICTIONS];
} gw_contradictions;

/* ---- the input perturbed --------------------------------------------------------------------- */

/* A number between -1 and 1, the k-th that a vector determines: equal vectors move alike. */
static double number_of(gw_vec3 v, unsigned long long k)
{
    double x[3] = {v.x + 0.0, v.y + 0.0, v.z + 0.0}; /* -0 is 0 */
    unsigned long long bits[3], z = k;
    memcpy(bits, x, sizeof bits);
    for (int i = 0; i < 3; i++)
        z = gw_splitmix64_mix((z ^ bits[i]) + GW_SPLITMIX64_STEP);
    return (double)(z >> 11) / 4503599627370496.0 - 1;
}

static gw_vec3 moved_vector(gw_vec3 v, double by, unsigned long long draw)
{
    gw_vec3 step = {number_of(v, 3 * draw), number_of(v, 3 * draw + 1), number_of(v, 3 * draw + 2)};
    return gw_mul_add(v, by, step);
}

/* A direction and its opposite stay opposite. */
static gw_vec3 moved_direction(gw_vec3 d, double by, unsigned long long draw)
{
    bool back = d.x < 0 || (d.x == 0 && (d.y < 0 || (d.y == 0 && d.z < 0)));
    gw_vec3 m = gw_unit(moved_vector(back ? gw_neg(d) : d, by, draw));
    return back ? gw_neg(m) : m;
}

static void perturb_constraint(gw_constraint *c, double size, unsigned long long draw)
{
    const double by = PERTURBATION * GW_SNAP;
    gw_element *e[2] = {&c->mobile, &c->fixed};
    for (int i = 0; i < 2; i++) {
        e[i]->p = moved_vector(e[i]->p, by * size, draw);
        e[i]->d = e[i]->kind == GW_POINT ? e[i]->d : moved_direction(e[i]->d, by, draw);
    }
    double step = copysign(by * number_of(gw_v3(fabs(c->value), 0, 0), 3 * draw), c->value);
    if (!gw_constraint_has_value(c->kind))
        return;
    if (!gw_constraint_has_length(c->kind))
        c->value += step;
    else if (fabs(c->value) > GW_SNAP * size)
        c->value += step * size;
}

void gw_perturb_alternatives(gw_solver *solver)
{
    assert(solver->contradictions);
    const gw_contradictions *record = solver->contradictions;
    const gw_rule_result *r = &solver->result;
    for (int i = 0; i < r->count && record->draw > 0; i++) {
        gw_alternative *a = &solver->result.alternatives[i];
        for (int k = 0; k < a->distance_count && r->slack_length > 0; k++)
            if (a->distances[k].from == 0)
                a->distances[k].b = moved_vector(a->distances[k].b, r->slack_length, record->draw);
        for (int k = 0; k < a->angle_count && r->slack_angle > 0; k++)
            a->angles[k].f = moved_direction(a->angles[k].f, r->slack_angle, record->draw);
        if (a->fixes_rotation && r->slack_angle > 0) {
            gw_vec3 turn = moved_vector(gw_v3(0, 0, 0), r->slack_angle,
                                        record->draw + (unsigned)record->count);
            a->rotation = gw_quat_unit(gw_quat_mul(gw_quat_exp(turn), a->rotation));
        }
    }
}

/* ---- explorations compared ------------------------------------------------------------------- */

void gw_record_contradiction(gw_solver *solver)
{
    gw_contradictions *record = solver->contradictions;
    if (!record)
        return;
    if (record->count == MAX_CONTRADICTIONS)
        record->open = solver->stop = true;
    else
        record->excess[record->count++] = solver->result.excess;
}

static void record_leaf(gw_solver *solver, const gw_solver_state *state)
{
    (void)state;
    if (gw_stated_conflict(solver))
        gw_record_contradiction(solver);
    else
        solver->contradictions->open = solver->stop = true;
}

/* Explores `problem`, equalities taken `wide` times the snap; false where a branch ended without a
 * contradiction. */
static bool all_contradict(const gw_problem *problem, unsigned long use, double wide,
                           unsigned long long draw, gw_contradictions *record)
{
    gw_solver solver;
    gw_solver_init(&solver, problem, record_leaf, NULL);
    solver.use = use;
    solver.contradictions = record;
    solver.snap *= wide;
    solver.conflict_snap *= wide;
    solver.conflict_snap_angle *= wide;
    solver.direction_snap *= wide;
    record->count = 0;
    record->draw = draw;
    record->open = false;
    gw_solver_explore(&solver);
    return !record->open && !solver.unproven;
}

static bool same_contradictions(const gw_contradictions *a, const gw_contradictions *b)
{
    for (int i = 0; i < a->count && a->count == b->count; i++)
        if (!(fabs(a->excess[i] - b->excess[i]) <= MAX_CHANGE * a->excess[i]))
            return false;
    return a->count == b->count;
}

static bool still_contradicts(const gw_solver *solver, unsigned long use, double wide,
                              const gw_contradictions *as_stated)
{
    gw_constraint c[GW_MAX_PROBLEM];
    gw_problem perturbed = *solver->problem;
    gw_contradictions now;
    perturbed.constraints = c;
    for (unsigned long long draw = 1; draw <= DRAWS; draw++) {
        memcpy(c, solver->problem->constraints, sizeof *c * (size_t)perturbed.count);
        for (int i = 0; i < perturbed.count; i++)
            perturb_constraint(&c[i], solver->size, draw);
        if (!all_contradict(&perturbed, use, wide, draw, &now) ||
            !same_contradictions(as_stated, &now))
            return false;
    }
    return true;
}

/* The perturbation test: true if every branch of the constraints in `use` ends by a contradiction
 * that remains nearly the same when the input is perturbed by less than the snap. */
static bool survives_perturbation(const gw_solver *solver, unsigned long use)
{
    gw_contradictions as_stated;
    bool same = false;
    if (!all_contradict(solver->problem, use, 1, 0, &as_stated))
        return false;
    for (double wide = 1; wide <= WIDEST && !same; wide *= WIDER)
        same = still_contradicts(solver, use, wide, &as_stated);
    return same;
}

/* ---- the constraints that conflict ----------------------------------------------------------- */

static void note_leaf(gw_solver *solver, const gw_solver_state *state)
{
    gw_submanifold set;
    solver->stop = true;
    if (gw_synthesise(solver, state, &set) || !gw_stated_conflict(solver))
        *(bool *)solver->context = true;
}

/* True where the constraints in `use` have a conflict on every branch, `conflict` being one that
 * fails by more than `times` the snap. */
static bool find_refutation(const gw_solver *whole, unsigned long use, double times,
                            gw_conflict *conflict)
{
    bool reached = false;
    gw_solver solver;
    gw_solver_init(&solver, whole->problem, note_leaf, &reached);
    solver.use = use;
    solver.conflict_snap *= times;
    solver.conflict_snap_angle *= times;
    gw_solver_explore(&solver);
    if (reached || solver.unproven || !solver.conflict.condition)
        return false;
    *conflict = solver.conflict;
    return true;
}

/* The same, and the contradictions survive the perturbation test. */
static bool certainly_refuted(const gw_solver *solver, unsigned long use, gw_conflict *conflict)
{
    return find_refutation(solver, use, 1, conflict) && survives_perturbation(solver, use);
}

/* Refuted by far, and also by the snap: rules that continue past a tolerated contradiction may drop
 * existing poses. */
static bool refuted_by_far(const gw_solver *solver, unsigned long use, gw_conflict *conflict)
{
    gw_conflict ignored;
    return find_refutation(solver, use, BY_FAR, &ignored) &&
           certainly_refuted(solver, use, conflict);
}

/* Leaves out constraints that are not needed: halves first, then ever smaller blocks, the later
 * constraints before the earlier. */
static unsigned long minimal_subset(const gw_solver *solver, unsigned long use,
                                    gw_conflict *conflict)
{
    for (int size = GW_MAX_PROBLEM / 2; size > 0; size /= 2)
        for (int first = GW_MAX_PROBLEM - size; first >= 0; first -= size) {
            unsigned long block = ((1ul << size) - 1) << first, rest = use & ~block;
            if (rest != use && refuted_by_far(solver, rest, conflict))
                use = rest;
        }
    return use;
}

/* If an inequality fails by little on some branch, the conflict is certain for all constraints
 * together only. */
gw_conflict_certainty gw_minimal_conflict(gw_solver *solver)
{
    assert(solver);
    gw_conflict *c = &solver->conflict, found = *c;
    unsigned long use = c->constraints;
    gw_conflict_certainty certainty = GW_CONFLICT_BY_FAR;
    if (!refuted_by_far(solver, use, &found))
        use = solver->use;
    if (use != solver->use || refuted_by_far(solver, use, &found))
        use = minimal_subset(solver, use, &found);
    else
        certainty =
            certainly_refuted(solver, use, &found) ? GW_CONFLICT_CERTAIN : GW_CONFLICT_UNCERTAIN;
    *c = found;
    c->constraints = use;
    return certainty;
}
