/*
 * The rewriting engine: applies rules to pairs until none fits, branching where a rule leaves
 * alternatives, and hands every branch that holds to the run's leaf. Any thread, RT safe; the
 * stack holds one state a choice, at most GW_MAX_CHOICES and eight more.
 *
 * Order: angles with angles; known directions move points together; places with places; then an
 * open sense is chosen; then three angles are solved. Each choice appends a digit to the branch's
 * id.
 */
#include <string.h>

#include "rt/positioning/solver.h"

/* ---- which rule ---------------------------------------------------------------------------- */

static gw_distance_constraint turned_over(const gw_distance_constraint *x)
{
    gw_distance_constraint y = *x;
    y.body_owns = !x->body_owns;
    y.a = x->b;
    y.b = x->a;
    return y;
}

static void same_side(gw_solver *run, const gw_distance_constraint *x,
                      const gw_distance_constraint *y)
{
    typedef void rule(gw_solver *, const gw_distance_constraint *, const gw_distance_constraint *);
    static rule *const rules[3][3] = {
        {gw_rule_point_point, gw_rule_point_line, gw_rule_point_plane},
        {NULL, gw_rule_line_line, gw_rule_line_plane},
        {NULL, NULL, gw_rule_plane_plane}};
    if (x->surface <= y->surface)
        rules[x->surface][y->surface](run, x, y);
    else
        rules[y->surface][x->surface](run, y, x);
}

void gw_rule_distances(gw_solver *run, const gw_distance_constraint *x,
                       const gw_distance_constraint *y)
{
    if (x->body_owns == y->body_owns) {
        same_side(run, x, y);
    } else if (x->surface == GW_POINT) { /* a distance of points is either side's */
        gw_distance_constraint z = turned_over(x);
        same_side(run, &z, y);
    } else if (y->surface == GW_POINT) {
        gw_distance_constraint z = turned_over(y);
        same_side(run, x, &z);
    } else {
        gw_rule_opposite_sides(run, x, y);
    }
}

/* ---- exploring ----------------------------------------------------------------------------- */

static void note(const gw_solver *run, const char *rule, unsigned long from)
{
    gw_solution *s = run->solution;
    if (!s || s->trace_count == GW_MAX_TRACE)
        return;
    s->trace[s->trace_count++] = (gw_trace_step){rule, from};
}

static void note_implied(const gw_solver *run, unsigned long from)
{
    gw_solution *s = run->solution;
    if (!s)
        return;
    for (int i = 0; i < s->implied_count; i++)
        if (s->implied[i].from == from)
            return;
    if (s->implied_count < GW_MAX_PROBLEM)
        s->implied[s->implied_count++] = (gw_implied){from, "angle"};
}

typedef enum progress { UNCHANGED, CHANGED, ENDED } progress;

static void explore(gw_solver *run, gw_solver_state *state);

/* One alternative goes on in place; more are explored one by one. */
static progress go_on(gw_solver *run, gw_solver_state *state, int at, unsigned long from)
{
    int count = run->finding.count;
    if (run->ends)
        gw_perturb_alternatives(run);
    if (count == 1 || run->guide) {
        int k = count == 1 ? 0 : gw_tracked_alternative(run, state);
        char mark = run->finding.edits[k].mark;
        gw_apply_alternative(state, &run->finding.edits[k], at, from);
        if (count > 1 || (run->guide && mark))
            gw_add_choice(state, mark ? mark : (char)('0' + k));
        return CHANGED;
    }
    gw_alternative edits[GW_MAX_ALTERNATIVES];
    memcpy(edits, run->finding.edits, sizeof edits[0] * (size_t)count);
    for (int k = 0; k < count && !run->stop; k++) {
        gw_solver_state next;
        gw_solver_state_copy(&next, state);
        gw_apply_alternative(&next, &edits[k], at, from);
        gw_add_choice(&next, edits[k].mark ? edits[k].mark : (char)('0' + k));
        explore(run, &next);
    }
    return ENDED;
}

/* The outcomes that end a branch, and the one that leaves it. */
static bool settled(gw_solver *run, const gw_solver_state *state, progress *p)
{
    gw_rule_result *f = &run->finding;
    if (f->outcome == GW_RULE_REWRITES)
        return false;
    if (f->outcome == GW_RULE_CONFLICT && state->rough)
        run->lost = run->doubt = true;
    if (f->outcome == GW_RULE_NO_ROOT)
        run->doubt = true;
    if (f->outcome == GW_RULE_CONFLICT)
        gw_record_contradiction(run);
    *p = f->outcome == GW_RULE_NONE ? UNCHANGED : ENDED;
    return true;
}

static void begin(gw_solver *run)
{
    run->finding.outcome = GW_RULE_NONE;
    run->finding.count = 0;
    run->finding.keeps_pair = false;
    run->finding.play_place = run->finding.play_turn = 0;
}

static progress combine_directions(gw_solver *run, gw_solver_state *state, int i, int j)
{
    progress p;
    begin(run);
    gw_rule_angles(run, &state->directions[i], &state->directions[j]);
    if (settled(run, state, &p))
        return p;
    unsigned long from = state->directions[i].from | state->directions[j].from;
    note(run, run->finding.rule, from);
    gw_remove_angle(state, j);
    gw_remove_angle(state, i);
    return go_on(run, state, 0, from);
}

static progress check_fixed(gw_solver *run, gw_solver_state *state, int i)
{
    progress p;
    begin(run);
    gw_rule_known_rotation(run, state, &state->directions[i]);
    if (settled(run, state, &p))
        return p;
    note(run, run->finding.rule, state->directions[i].from | state->fixed_from);
    gw_remove_angle(state, i);
    return CHANGED;
}

static progress all_directions(gw_solver *run, gw_solver_state *state)
{
    for (int i = 0; i < state->direction_count; i++) {
        progress p = state->fixed ? check_fixed(run, state, i) : UNCHANGED;
        for (int j = i + 1; j < state->direction_count && p == UNCHANGED; j++)
            p = combine_directions(run, state, i, j);
        if (p != UNCHANGED)
            return p;
    }
    return UNCHANGED;
}

static bool pair_done(const gw_solver_state *state, int a, int b)
{
    for (int i = 0; i < state->pair_count; i++)
        if (state->pairs[i][0] == a && state->pairs[i][1] == b)
            return true;
    return false;
}

static progress combine_places(gw_solver *run, gw_solver_state *state, int i, int j)
{
    progress p;
    const gw_distance_constraint *x = &state->places[i], *y = &state->places[j];
    if (state->pair_count > 0 && pair_done(state, x->serial, y->serial))
        return UNCHANGED;
    begin(run);
    gw_rule_distances(run, x, y);
    if (settled(run, state, &p))
        return p;
    unsigned long from = x->from | y->from;
    note(run, run->finding.rule, from);
    if (run->finding.edits[0].direction_count > 0)
        note_implied(run, from);
    if (run->finding.keeps_pair) {
        if (state->pair_count == GW_MAX_PAIRS)
            return UNCHANGED;
        state->pairs[state->pair_count][0] = x->serial;
        state->pairs[state->pair_count++][1] = y->serial;
        for (int k = 0; k < run->finding.count; k++)
            run->finding.edits[k].place_count = 0;
    } else {
        gw_remove_distance(state, j);
        gw_remove_distance(state, i);
    }
    return go_on(run, state, i, from);
}

static progress all_places(gw_solver *run, gw_solver_state *state)
{
    for (int i = 0; i < state->place_count; i++)
        for (int j = i + 1; j < state->place_count; j++) {
            progress p = combine_places(run, state, i, j);
            if (p != UNCHANGED)
                return p;
        }
    return UNCHANGED;
}

/* Takes the next constraint whose sense is open: what is known of the rotation decides, or both
 * senses are branches. */
static progress choose_sense(gw_solver *run, gw_solver_state *state)
{
    int at = 0;
    gw_sense sense = GW_EITHER;
    for (int k = 0; k < state->pending_count && sense == GW_EITHER; k++) {
        sense = gw_implied_sense(run, state, state->pending[k]);
        at = sense == GW_EITHER ? 0 : k;
    }
    int i = state->pending[at];
    state->pending_count--;
    for (int k = at; k < state->pending_count; k++)
        state->pending[k] = state->pending[k + 1];
    if (sense == GW_EITHER && run->guide) {
        sense = gw_tracked_sense(run, state, i);
        gw_add_choice(state, sense == GW_SAME ? '0' : '1');
    }
    if (sense != GW_EITHER) {
        note(run, "the directions known so far decide the sense", 1ul << i);
        gw_decompose(run, state, i, sense);
        return CHANGED;
    }
    for (int k = 0; k < 2 && !run->stop; k++) {
        gw_solver_state next;
        note(run, k == 0 ? "either sense is possible: first the same way" : "and the opposite way",
             1ul << i);
        gw_solver_state_copy(&next, state);
        gw_decompose(run, &next, i, k == 0 ? GW_SAME : GW_OPPOSITE);
        gw_add_choice(&next, (char)('0' + k));
        explore(run, &next);
    }
    return ENDED;
}

/* The rotations that are left finite in number: by three directions, or by one and the places. */
static progress solve_rotation(gw_solver *run, gw_solver_state *state)
{
    progress p;
    unsigned long from = 0;
    begin(run);
    if (state->direction_count > 2)
        gw_rule_three_angles(run, state);
    else
        gw_rule_rotation_about_axis(run, state);
    if (settled(run, state, &p))
        return p;
    for (int i = 0; i < state->place_count && state->direction_count == 1; i++)
        from |= state->places[i].from;
    for (int i = 0; i < state->direction_count; i++)
        from |= state->directions[i].from;
    note(run, run->finding.rule, from);
    return go_on(run, state, 0, from);
}

#define MOST_ROUNDS 2000 /* rewriting ends: each round removes or moves a constraint for good */

static void explore(gw_solver *run, gw_solver_state *state)
{
    progress p = CHANGED;
    for (int round = 0; p == CHANGED && !run->stop && round < 2 * MOST_ROUNDS; round++) {
        p = all_directions(run, state);
        state->stuck |= round > MOST_ROUNDS;
        unsigned long from = 0;
        if (p == UNCHANGED && !state->stuck && gw_use_known_directions(run, state, &from)) {
            note(run, "known directions bring places onto one point", from);
            p = CHANGED;
        }
        if (p == UNCHANGED)
            p = all_places(run, state);
        if (p == UNCHANGED && state->pending_count > 0)
            p = choose_sense(run, state);
        if (p == UNCHANGED && !state->fixed &&
            (state->direction_count > 2 || (state->direction_count == 1 && state->place_count > 1)))
            p = solve_rotation(run, state);
    }
    if (p == UNCHANGED || (p == CHANGED && !run->stop))
        run->leaf(run, state);
}

static bool open_sense(const gw_constraint *c)
{
    return c->sense == GW_EITHER && gw_constraint_has_sense(c->kind, c->mobile.kind, c->fixed.kind);
}

/* The problem's size: the farthest that an element is from its frame's origin, or a distance. */
static double size_of(const gw_problem *p)
{
    double ss = 0;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        if (c->kind == GW_ANGLE || c->kind == GW_PARALLEL || c->kind == GW_PERPENDICULAR)
            continue;
        ss = fmax(ss, fmax(gw_norm2(c->mobile.p), gw_norm2(c->fixed.p)));
        ss = fmax(ss, c->kind == GW_DISTANCE ? c->value * c->value : 0);
    }
    /* no less than a trace of the body: coordinates that cancel to zero leave only round-off */
    return fmax(sqrt(ss), 1e-4 * p->length);
}

void gw_solver_init(gw_solver *run, const gw_problem *problem,
                    void (*leaf)(gw_solver *run, const gw_solver_state *state), void *context)
{
    run->problem = problem;
    run->use = problem->count >= 64 ? ~0ul : (1ul << problem->count) - 1;
    run->size = size_of(problem);
    run->snap = run->snap_clash = GW_SNAP * run->size;
    run->snap_angle = run->same_angle = GW_SNAP;
    run->solution = NULL;
    run->guide = NULL;
    run->leaf = leaf;
    run->context = context;
    run->ends = NULL;
    run->work = 0;
    run->stop = run->asked = run->doubt = run->lost = false;
    run->conflict.condition = NULL;
    run->conflict.constraints = 0;
    run->conflict.value_count = 0;
}

void gw_solver_explore(gw_solver *run)
{
    gw_solver_state state;
    memset(&state, 0, offsetof(gw_solver_state, places));
    state.rotation = gw_quat_identity();
    for (int i = 0; i < run->problem->count; i++) {
        if (!(run->use >> i & 1))
            continue;
        const gw_constraint *c = &run->problem->constraints[i];
        if (open_sense(c))
            state.pending[state.pending_count++] = (unsigned char)i;
        else
            gw_decompose(run, &state, i, c->sense);
    }
    explore(run, &state);
}

bool gw_stated_conflict(gw_solver *run)
{
    gw_solver_state state;
    memset(&state, 0, offsetof(gw_solver_state, places));
    for (int i = 0; i < run->problem->count; i++)
        if (run->use >> i & 1) /* the sense matters to angles only */
            gw_decompose(run, &state, i, GW_SAME);
    for (int i = 0; i < state.place_count; i++)
        for (int j = i + 1; j < state.place_count; j++) {
            begin(run);
            gw_rule_distances(run, &state.places[i], &state.places[j]);
            if (run->finding.outcome == GW_RULE_CONFLICT)
                return true;
        }
    return false;
}
