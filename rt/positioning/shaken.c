/*
 * How much a contradiction depends on the last digits of the input. What rules derive from features
 * that nearly coincide, directions of near points, crossings of nearly parallel lines, is uncertain
 * by far more than the features are; what touches may be off by the root of what counts as equal;
 * and so is a contradiction with it. Rather than carry that through every rule, an exploration is
 * made again with every number moved by a tenth of what counts as equal and what touches by its
 * play, and each contradiction must stay what it was. Any thread, RT safe; 20 kB of stack.
 *
 * What coincides in the input may be moved apart by that, and then other rules fit. So equalities
 * and contradictions are taken ever more widely, until the branches end as they did.
 */
#include <string.h>

#include "rt/positioning/solver.h"

#define SHARE    0.1  /* of the snap: numbers move by so much */
#define CHANGE   0.03 /* of a contradiction: more makes it uncertain */
#define WIDEST   1e6  /* times the snap: no equality is taken more widely */
#define WIDER    30
#define DRAWS    3
#define MOST_END 256 /* branches; more are left in doubt */

/* How the branches of an exploration ended: each by a contradiction of so much, in their order. */
typedef struct gw_contradictions {
    int count;
    bool open;               /* one did not */
    unsigned long long draw; /* of numbers; 0: as stated */
    double excess[MOST_END];
} gw_contradictions;

/* ---- the input moved ------------------------------------------------------------------------- */

/* A number between -1 and 1 that three others tell, the k-th: what is shared moves together. */
static double told(gw_vec3 v, unsigned long long k)
{
    double x[3] = {v.x + 0.0, v.y + 0.0, v.z + 0.0}; /* -0 is 0 */
    unsigned long long bits[3], z = k;
    memcpy(bits, x, sizeof bits);
    for (int i = 0; i < 3; i++) {
        z = (z ^ bits[i]) + 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        z ^= z >> 31;
    }
    return (double)(z >> 11) / 4503599627370496.0 - 1;
}

static gw_vec3 moved(gw_vec3 v, double by, unsigned long long draw)
{
    gw_vec3 step = {told(v, 3 * draw), told(v, 3 * draw + 1), told(v, 3 * draw + 2)};
    return gw_mul_add(v, by, step);
}

/* A direction and its opposite stay opposite. */
static gw_vec3 turned(gw_vec3 d, double by, unsigned long long draw)
{
    bool back = d.x < 0 || (d.x == 0 && (d.y < 0 || (d.y == 0 && d.z < 0)));
    gw_vec3 m = gw_unit(moved(back ? gw_neg(d) : d, by, draw));
    return back ? gw_neg(m) : m;
}

static void shake(gw_constraint *c, double size, unsigned long long draw)
{
    const double by = SHARE * GW_SNAP;
    gw_element *e[2] = {&c->mobile, &c->fixed};
    for (int i = 0; i < 2; i++) {
        e[i]->p = moved(e[i]->p, by * size, draw);
        e[i]->d = e[i]->kind == GW_POINT ? e[i]->d : turned(e[i]->d, by, draw);
    }
    double step = copysign(by * told(gw_v3(fabs(c->value), 0, 0), 3 * draw), c->value);
    if (c->kind == GW_DISTANCE && fabs(c->value) > GW_SNAP * size)
        c->value += step * size;
    else if (c->kind == GW_ANGLE)
        c->value += step;
}

void gw_perturb_alternatives(gw_solver *run)
{
    gw_contradictions *e = run->ends;
    const gw_rule_result *f = &run->finding;
    for (int i = 0; i < f->count && e->draw > 0; i++) {
        gw_alternative *edit = &run->finding.edits[i];
        for (int k = 0; k < edit->place_count && f->play_place > 0; k++)
            if (edit->places[k].from == 0)
                edit->places[k].b = moved(edit->places[k].b, f->play_place, e->draw);
        for (int k = 0; k < edit->direction_count && f->play_turn > 0; k++)
            edit->directions[k].f = turned(edit->directions[k].f, f->play_turn, e->draw);
        if (edit->fix && f->play_turn > 0) {
            gw_quat q = edit->rotation;
            gw_vec3 axis = moved(gw_v3(0, 0, 0), f->play_turn, e->draw + (unsigned)e->count);
            edit->rotation = gw_quat_unit(gw_quat_mul(gw_quat_exp(axis), q));
        }
    }
}

/* ---- explorations compared ------------------------------------------------------------------- */

void gw_record_contradiction(gw_solver *run)
{
    gw_contradictions *e = run->ends;
    if (!e)
        return;
    if (e->count == MOST_END)
        e->open = run->stop = true;
    else
        e->excess[e->count++] = run->finding.excess;
}

static void note_leaf(gw_solver *run, const gw_solver_state *state)
{
    (void)state;
    if (gw_stated_conflict(run))
        gw_record_contradiction(run);
    else
        run->ends->open = run->stop = true;
}

/* Explores `problem`; false where a branch ended without a contradiction. */
static bool all_end(const gw_problem *problem, unsigned long use, double wide,
                    unsigned long long draw, gw_contradictions *ends)
{
    gw_solver run;
    gw_solver_init(&run, problem, note_leaf, NULL);
    run.use = use;
    run.ends = ends;
    run.snap *= wide;
    run.snap_clash *= wide;
    run.snap_angle *= wide;
    run.same_angle *= wide;
    ends->count = 0;
    ends->draw = draw;
    ends->open = false;
    gw_solver_explore(&run);
    return !ends->open && !run.doubt;
}

static bool alike(const gw_contradictions *a, const gw_contradictions *b)
{
    for (int i = 0; i < a->count && a->count == b->count; i++)
        if (!(fabs(a->excess[i] - b->excess[i]) <= CHANGE * a->excess[i]))
            return false;
    return a->count == b->count;
}

static bool stays(const gw_solver *run, unsigned long use, double wide,
                  const gw_contradictions *as_stated)
{
    gw_constraint c[GW_MAX_PROBLEM];
    gw_problem shaken = *run->problem;
    gw_contradictions now;
    shaken.constraints = c;
    for (unsigned long long draw = 1; draw <= DRAWS; draw++) {
        memcpy(c, run->problem->constraints, sizeof *c * (size_t)shaken.count);
        for (int i = 0; i < shaken.count; i++)
            shake(&c[i], run->size, draw);
        if (!all_end(&shaken, use, wide, draw, &now) || !alike(as_stated, &now))
            return false;
    }
    return true;
}

bool gw_conflict_survives_perturbation(const gw_solver *run, unsigned long use)
{
    gw_contradictions as_stated;
    bool same = false;
    if (!all_end(run->problem, use, 1, 0, &as_stated))
        return false;
    for (double wide = 1; wide <= WIDEST && !same; wide *= WIDER)
        same = stays(run, use, wide, &as_stated);
    return same;
}
