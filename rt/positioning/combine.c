/*
 * The rewriting engine (PMF's combination): applies rules to pairs of fundamental constraints until
 * none fits, branches where a rule leaves alternatives, and passes every branch without a conflict
 * to the exploration's leaf(). Any thread, RT safe; the stack holds one state a choice, at most
 * GW_MAX_CHOICES and eight more.
 *
 * Order: angles with angles; known directions move points together; distances with distances; then
 * an open sense is chosen; then three angles, or one parallel and the distances, are solved for the
 * rotation. Each choice appends a character to the branch's id.
 */
#include <assert.h>
#include <string.h>

#include "rt/geometry/nurbs.h"
#include "rt/positioning/solver.h"

/* ---- the state ------------------------------------------------------------------------------- */

void gw_solver_state_init(gw_solver_state *state)
{
    memset(state, 0, offsetof(gw_solver_state, distances));
    state->rotation = gw_quat_identity();
}

void gw_add_distance(gw_solver_state *state, const gw_distance_constraint *distance)
{
    assert(state && distance);
    if (state->distance_count == GW_MAX_DISTANCES) {
        state->capped = true;
        return;
    }
    gw_distance_constraint *at = &state->distances[state->distance_count++];
    *at = *distance;
    at->serial = ++state->serial;
    /* a distance between points is either side's: kept as the world's */
    if (distance->surface == GW_POINT && distance->body_owns) {
        at->body_owns = false;
        at->a = distance->b;
        at->b = distance->a;
    }
}

void gw_add_angle(gw_solver_state *state, const gw_angle_constraint *angle)
{
    assert(state && angle);
    if (state->angle_count == GW_MAX_ANGLES) {
        state->capped = true;
        return;
    }
    state->angles[state->angle_count++] = *angle;
}

/* Copies a state with the counted entries of its arrays only. */
static void copy_state(gw_solver_state *to, const gw_solver_state *from)
{
    memcpy(to, from, offsetof(gw_solver_state, distances));
    memcpy(to->distances, from->distances,
           sizeof(gw_distance_constraint) * (size_t)from->distance_count);
    memcpy(to->angles, from->angles, sizeof(gw_angle_constraint) * (size_t)from->angle_count);
    memcpy(to->pairs, from->pairs, sizeof from->pairs[0] * (size_t)from->pair_count);
    memcpy(to->open_senses, from->open_senses, (size_t)from->open_sense_count);
}

static void remove_distance(gw_solver_state *state, int i)
{
    state->distance_count--;
    for (int k = i; k < state->distance_count; k++)
        state->distances[k] = state->distances[k + 1];
}

static void remove_angle(gw_solver_state *state, int i)
{
    state->angle_count--;
    for (int k = i; k < state->angle_count; k++)
        state->angles[k] = state->angles[k + 1];
}

/* Moves the newest distance to `at`: answers keep the order in which constraints were stated. */
static void move_newest_to(gw_solver_state *state, int at)
{
    int last = state->distance_count - 1;
    if (at >= last)
        return;
    gw_distance_constraint newest = state->distances[last];
    for (int k = last; k > at; k--)
        state->distances[k] = state->distances[k - 1];
    state->distances[at] = newest;
}

/* Adds an alternative's constraints, distances at `at`; `from` is of the pair that they replace. */
static void apply_alternative(gw_solver_state *state, const gw_alternative *chosen, int at,
                              unsigned long from)
{
    for (int k = 0; k < chosen->distance_count; k++) {
        gw_add_distance(state, &chosen->distances[k]);
        gw_distance_constraint *newest = &state->distances[state->distance_count - 1];
        newest->from = newest->from ? newest->from : from;
        move_newest_to(state, at + k);
    }
    for (int k = 0; k < chosen->angle_count; k++) {
        gw_angle_constraint angle = chosen->angles[k];
        angle.from = angle.from ? angle.from : from;
        gw_add_angle(state, &angle);
    }
    state->left_out |= chosen->left_out;
    if (chosen->fixes_rotation) {
        state->rotation_known = true;
        state->nearly_double = chosen->nearly_double;
        state->rotation = chosen->rotation;
        state->rotation_from |= from;
    }
}

/* One more character of the branch's id. */
static void add_choice(gw_solver_state *state, char label)
{
    if (state->choice_count == GW_MAX_CHOICES) {
        state->capped = true;
        return;
    }
    state->choices[state->choice_count++] = label;
    state->choices[state->choice_count] = 0;
}

/* ---- the result of a rule -------------------------------------------------------------------- */

static void clear_result(gw_solver *solver)
{
    solver->result.outcome = GW_RULE_NONE;
    solver->result.count = 0;
    solver->result.keeps_pair = false;
    solver->result.slack_length = solver->result.slack_angle = 0;
}

gw_alternative *gw_add_alternative(gw_solver *solver, const char *rule)
{
    gw_rule_result *r = &solver->result;
    assert(r->count < GW_MAX_ALTERNATIVES);
    gw_alternative *added = &r->alternatives[r->count++];
    r->outcome = GW_RULE_REWRITES;
    r->rule = rule;
    added->distance_count = added->angle_count = 0;
    added->fixes_rotation = added->nearly_double = false;
    added->left_out = 0;
    added->label = 0;
    return added;
}

void gw_put_distance(gw_alternative *to, const gw_distance_constraint *like,
                     gw_element_kind surface, gw_vec3 a, gw_vec3 b, gw_vec3 d, double p)
{
    to->distances[to->distance_count++] = (gw_distance_constraint){.surface = surface,
                                                                   .body_owns = like->body_owns,
                                                                   .a = a,
                                                                   .b = b,
                                                                   .d = d,
                                                                   .p = p,
                                                                   .from = 0,
                                                                   .serial = 0};
}

void gw_keep_distance(gw_alternative *to, const gw_distance_constraint *distance)
{
    to->distances[to->distance_count++] = *distance;
}

void gw_put_angle(gw_alternative *to, const gw_distance_constraint *like, gw_vec3 u, gw_vec3 w,
                  double angle)
{
    to->angles[to->angle_count++] = like->body_owns ? gw_angle_constraint_of(w, u, angle, 0)
                                                    : gw_angle_constraint_of(u, w, angle, 0);
}

void gw_add_rotation(gw_solver *solver, const char *rule, gw_quat rotation)
{
    gw_alternative *added = gw_add_alternative(solver, rule);
    added->fixes_rotation = true;
    added->rotation = gw_quat_unit(rotation);
}

static int count_bits(unsigned long x)
{
    return __builtin_popcountl(x);
}

/* Keeps the conflict of the fewest constraints, and of those the one with the least excess, that of
 * the branch nearest to a solution: for a distance of 60 mm with the object at 100 mm that is 40
 * mm, not the 160 mm of the flipped object. */
void gw_add_conflict(gw_solver *solver, unsigned long first, unsigned long second, double excess,
                     const gw_inequality *fails)
{
    unsigned long from = first | second;
    solver->result.outcome = GW_RULE_CONFLICT;
    solver->result.excess = excess;
    gw_conflict *c = &solver->conflict;
    int fewer = c->condition ? count_bits(c->constraints) - count_bits(from) : 1;
    if (fewer < 0 || (fewer == 0 && c->excess <= excess)) {
        solver->result.keeps_pair = true; /* an earlier one stays: its values too */
        return;
    }
    c->excess = excess;
    c->constraints = from;
    c->first = first;
    c->second = second;
    c->condition = fails->condition;
    c->sentence = fails->sentence;
    memcpy(c->apart, fails->apart, sizeof c->apart);
    c->value_count = 0;
}

void gw_add_conflict_value(gw_solver *solver, const char *name, double value)
{
    gw_conflict *c = &solver->conflict;
    if (solver->result.keeps_pair || c->value_count == 8)
        return;
    c->values[c->value_count].name = name;
    c->values[c->value_count++].value = value;
}

void gw_add_conflict_distances(gw_solver *solver, double d_a, double d_b, double p, double q)
{
    gw_add_conflict_value(solver, "d_a", d_a);
    gw_add_conflict_value(solver, "d_b", d_b);
    gw_add_conflict_value(solver, "p", p);
    gw_add_conflict_value(solver, "q", q);
}

bool gw_refuse_pair(gw_solver *solver, const gw_distance_constraint *x,
                    const gw_distance_constraint *y, double excess, double d_a, double d_b,
                    double q, const gw_inequality fails[2])
{
    if (!(excess > solver->conflict_snap))
        return false;
    gw_add_conflict(solver, x->from, y->from, excess / solver->size,
                    &fails[gw_zero_length(solver, d_a)]);
    gw_add_conflict_distances(solver, d_a, d_b, x->p, q);
    return true;
}

void gw_put_angles_with_axis(gw_solver *solver, const char *rule, const gw_distance_constraint *x,
                             gw_vec3 u, gw_vec3 l, double q, double d_a)
{
    bool across = gw_equal_lengths(solver, q, d_a);
    double angle = across ? GW_PI / 2 : asin(fmin(1, q / d_a));
    if (across)
        gw_tangency_slack(solver, 0, d_a, 1);
    for (int i = 0; i < (across ? 1 : 2); i++) {
        gw_alternative *e = gw_add_alternative(solver, rule);
        gw_keep_distance(e, x);
        gw_put_angle(e, x, u, l, i == 0 ? angle : GW_PI - angle);
    }
}

/* ---- which rule: by the surfaces of a pair of distances -------------------------------------- */

static void rule_same_side(gw_solver *solver, const gw_distance_constraint *x,
                           const gw_distance_constraint *y)
{
    typedef void rule(gw_solver *, const gw_distance_constraint *, const gw_distance_constraint *);
    static rule *const rules[3][3] = {
        {gw_rule_point_point, gw_rule_point_line, gw_rule_point_plane},
        {NULL, gw_rule_line_line, gw_rule_line_plane},
        {NULL, NULL, gw_rule_plane_plane}};
    if (x->surface <= y->surface)
        rules[x->surface][y->surface](solver, x, y);
    else
        rules[y->surface][x->surface](solver, y, x);
}

static void rule_distances(gw_solver *solver, const gw_distance_constraint *x,
                           const gw_distance_constraint *y)
{
    if (gw_is_free_form(x->surface) || gw_is_free_form(y->surface))
        return;
    if (x->body_owns == y->body_owns) {
        rule_same_side(solver, x, y);
    } else if (x->surface == GW_POINT) {
        gw_distance_constraint z = gw_distance_exchanged(x);
        rule_same_side(solver, &z, y);
    } else if (y->surface == GW_POINT) {
        gw_distance_constraint z = gw_distance_exchanged(y);
        rule_same_side(solver, x, &z);
    } else {
        gw_rule_opposite_sides(solver, x, y);
    }
}

/* ---- one step: a rule applied ---------------------------------------------------------------- */

static void add_trace(const gw_solver *solver, const char *rule, unsigned long from)
{
    gw_solution *s = solver->solution;
    if (!s || s->trace_count == GW_MAX_TRACE)
        return;
    s->trace[s->trace_count++] = (gw_trace_step){rule, from};
}

static void add_implied(const gw_solver *solver, unsigned long from)
{
    gw_solution *s = solver->solution;
    if (!s)
        return;
    for (int i = 0; i < s->implied_count; i++)
        if (s->implied[i].from == from)
            return;
    if (s->implied_count < GW_MAX_PROBLEM)
        s->implied[s->implied_count++] = (gw_implied){from, "angle"};
}

/* The effect of a step on a branch. ENDED: the branch ended, or its alternatives were explored. */
typedef enum progress { UNCHANGED, CHANGED, ENDED } progress;

static void apply_rules(gw_solver *solver, gw_solver_state *state);

static void note_slack(const gw_solver *solver, gw_solver_state *state)
{
    const gw_rule_result *r = &solver->result;
    if (r->slack_length > 0 || r->slack_angle > 0)
        state->slack = fmax(state->slack, fmax(r->slack_length / solver->size, r->slack_angle));
}

/* Continues with the result's alternatives: a single one in place, several one by one, each as a
 * branch of its own; a tracked branch takes the one that is its own. */
static progress branch_on(gw_solver *solver, gw_solver_state *state, int at, unsigned long from)
{
    int count = solver->result.count;
    note_slack(solver, state);
    if (solver->contradictions)
        gw_perturb_alternatives(solver);
    if (count == 1 || solver->tracked) {
        int k = count == 1 ? 0 : gw_tracked_alternative(solver, state);
        char label = solver->result.alternatives[k].label;
        apply_alternative(state, &solver->result.alternatives[k], at, from);
        if (count > 1 || (solver->tracked && label))
            add_choice(state, label ? label : (char)('0' + k));
        return CHANGED;
    }
    gw_alternative choices[GW_MAX_ALTERNATIVES]; /* exploring overwrites the result */
    memcpy(choices, solver->result.alternatives, sizeof choices[0] * (size_t)count);
    for (int k = 0; k < count && !solver->stop; k++) {
        gw_solver_state next;
        copy_state(&next, state);
        apply_alternative(&next, &choices[k], at, from);
        add_choice(&next, choices[k].label ? choices[k].label : (char)('0' + k));
        apply_rules(solver, &next);
    }
    return ENDED;
}

/* True where the rule gave no alternatives: the pair stays, or the branch ends. */
static bool without_alternatives(gw_solver *solver, const gw_solver_state *state, progress *p)
{
    switch (solver->result.outcome) {
    case GW_RULE_REWRITES:
        return false;
    case GW_RULE_NONE:
        *p = UNCHANGED;
        return true;
    case GW_RULE_CONFLICT:
        if (state->nearly_double)
            solver->may_miss_poses = solver->unproven = true;
        solver->may_end_early |= solver->result.excess < fmax(state->slack, GW_VERIFIED);
        gw_record_contradiction(solver);
        break;
    case GW_RULE_NO_ROOT:
        solver->unproven = true;
        break;
    }
    *p = ENDED;
    return true;
}

static progress combine_angle_pair(gw_solver *solver, gw_solver_state *state, int i, int j)
{
    progress p;
    clear_result(solver);
    gw_rule_angles(solver, &state->angles[i], &state->angles[j]);
    if (without_alternatives(solver, state, &p))
        return p;
    unsigned long from = state->angles[i].from | state->angles[j].from;
    add_trace(solver, solver->result.rule, from);
    remove_angle(state, j);
    remove_angle(state, i);
    return branch_on(solver, state, 0, from);
}

static progress check_known_rotation(gw_solver *solver, gw_solver_state *state, int i)
{
    progress p;
    clear_result(solver);
    gw_rule_known_rotation(solver, state, &state->angles[i]);
    if (without_alternatives(solver, state, &p))
        return p;
    add_trace(solver, solver->result.rule, state->angles[i].from | state->rotation_from);
    remove_angle(state, i);
    return CHANGED;
}

static progress combine_angles(gw_solver *solver, gw_solver_state *state)
{
    for (int i = 0; i < state->angle_count; i++) {
        progress p = state->rotation_known ? check_known_rotation(solver, state, i) : UNCHANGED;
        for (int j = i + 1; j < state->angle_count && p == UNCHANGED; j++)
            p = combine_angle_pair(solver, state, i, j);
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

static progress combine_distance_pair(gw_solver *solver, gw_solver_state *state, int i, int j)
{
    progress p;
    const gw_distance_constraint *x = &state->distances[i], *y = &state->distances[j];
    if (state->pair_count > 0 && pair_done(state, x->serial, y->serial))
        return UNCHANGED;
    clear_result(solver);
    rule_distances(solver, x, y);
    if (without_alternatives(solver, state, &p))
        return p;
    unsigned long from = x->from | y->from;
    add_trace(solver, solver->result.rule, from);
    if (solver->result.alternatives[0].angle_count > 0)
        add_implied(solver, from);
    if (solver->result.keeps_pair) {
        if (state->pair_count == GW_MAX_PAIRS)
            return UNCHANGED;
        state->pairs[state->pair_count][0] = x->serial;
        state->pairs[state->pair_count++][1] = y->serial;
        for (int k = 0; k < solver->result.count; k++)
            solver->result.alternatives[k].distance_count = 0;
    } else {
        remove_distance(state, j);
        remove_distance(state, i);
    }
    return branch_on(solver, state, i, from);
}

static progress combine_distances(gw_solver *solver, gw_solver_state *state)
{
    for (int i = 0; i < state->distance_count; i++)
        for (int j = i + 1; j < state->distance_count; j++) {
            progress p = combine_distance_pair(solver, state, i, j);
            if (p != UNCHANGED)
                return p;
        }
    return UNCHANGED;
}

/* Chooses the sense of the next constraint with an open one: by the known rotations, or both senses
 * as branches. */
static progress choose_sense(gw_solver *solver, gw_solver_state *state)
{
    int at = 0;
    gw_sense sense = GW_EITHER;
    for (int k = 0; k < state->open_sense_count && sense == GW_EITHER; k++) {
        sense = gw_implied_sense(solver, state, state->open_senses[k]);
        at = sense == GW_EITHER ? 0 : k;
    }
    int i = state->open_senses[at];
    state->open_sense_count--;
    for (int k = at; k < state->open_sense_count; k++)
        state->open_senses[k] = state->open_senses[k + 1];
    if (sense == GW_EITHER && solver->tracked) {
        sense = gw_tracked_sense(solver, state, i);
        add_choice(state, sense == GW_SAME ? '0' : '1');
    }
    if (sense != GW_EITHER) {
        add_trace(solver, "the directions known so far decide the sense", 1ul << i);
        gw_decompose(solver, state, i, sense);
        return CHANGED;
    }
    /* searches on free-form shapes may use all of the work */
    long kept = solver->work > 0 && gw_has_free_form(solver->problem) ? solver->work / 2 : 0;
    solver->work -= kept;
    for (int k = 0; k < 2 && !solver->stop; k++) {
        gw_solver_state next;
        add_trace(solver,
                  k == 0 ? "either sense is possible: first the same way" : "and the opposite way",
                  1ul << i);
        copy_state(&next, state);
        gw_decompose(solver, &next, i, k == 0 ? GW_SAME : GW_OPPOSITE);
        add_choice(&next, (char)('0' + k));
        apply_rules(solver, &next);
        solver->work += k == 0 ? kept : 0;
    }
    return ENDED;
}

/* Solves for the rotations that are left finite in number: by three angles, or by one parallel and
 * the distances. */
static progress solve_rotation(gw_solver *solver, gw_solver_state *state)
{
    progress p;
    unsigned long from = 0;
    clear_result(solver);
    if (state->angle_count > 2)
        gw_rule_three_angles(solver, state);
    else
        gw_rule_rotation_about_axis(solver, state);
    if (without_alternatives(solver, state, &p))
        return p;
    for (int i = 0; i < state->distance_count && state->angle_count == 1; i++)
        from |= state->distances[i].from;
    for (int i = 0; i < state->angle_count; i++)
        from |= state->angles[i].from;
    add_trace(solver, solver->result.rule, from);
    return branch_on(solver, state, 0, from);
}

/* Passes a state of two angles to the leaf: if these have two loops of rotations and the state has
 * a closed form, each loop is a branch of its own. */
static void give_loops(gw_solver *solver, gw_solver_state *state)
{
    gw_rotation_set loops;
    gw_submanifold set;
    state->loop = 1;
    if (gw_rotation_by_two_angles(state, &loops))
        state->loops = &loops;
    bool two = state->loops && loops.second.loops == 2 && gw_synthesise(solver, state, &set);
    state->loop = 0;
    if (two)
        add_trace(solver, "two angles: two loops of rotations",
                  state->angles[0].from | state->angles[1].from);
    if (two && solver->tracked) {
        state->loop = (signed char)gw_tracked_loop(solver, &loops);
        add_choice(state, state->loop > 0 ? '0' : '1');
    }
    if (!two || solver->tracked)
        solver->leaf(solver, state);
    for (int k = 0; k < 2 && two && !solver->tracked && !solver->stop; k++) {
        gw_solver_state next;
        copy_state(&next, state);
        next.loop = k == 0 ? 1 : -1;
        add_choice(&next, (char)('0' + k));
        solver->leaf(solver, &next);
    }
    state->loops = NULL;
}

/* ---- exploring ------------------------------------------------------------------------------- */

#define MAX_ROUNDS 2000 /* rewriting ends: each round removes or moves a constraint for good */

/* Applies rules until none changes the state, then gives it to the leaf. */
static void apply_rules(gw_solver *solver, gw_solver_state *state)
{
    progress p = CHANGED;
    for (int round = 0; p == CHANGED && !solver->stop && round < 2 * MAX_ROUNDS; round++) {
        p = combine_angles(solver, state);
        state->capped |= round > MAX_ROUNDS;
        unsigned long from = 0;
        if (p == UNCHANGED && !state->capped && gw_use_known_directions(solver, state, &from)) {
            add_trace(solver, "known directions bring places onto one point", from);
            p = CHANGED;
        }
        if (p == UNCHANGED)
            p = combine_distances(solver, state);
        if (p == UNCHANGED && state->open_sense_count > 0)
            p = choose_sense(solver, state);
        if (p == UNCHANGED && !state->rotation_known &&
            (state->angle_count > 2 || (state->angle_count == 1 && state->distance_count > 1)))
            p = solve_rotation(solver, state);
    }
    if (p == UNCHANGED && !solver->stop && !state->rotation_known && state->angle_count == 2)
        give_loops(solver, state);
    else if (p == UNCHANGED || (p == CHANGED && !solver->stop))
        solver->leaf(solver, state);
}

static bool open_sense(const gw_constraint *c)
{
    return c->sense == GW_EITHER && gw_constraint_has_sense(c->kind, c->mobile.kind, c->fixed.kind);
}

double gw_element_reach(const gw_element *e)
{
    return gw_norm(e->p) + (e->nurbs ? e->nurbs->size : 0);
}

/* The problem's size: the largest distance of an element from its frame's origin, or value of a
 * distance. */
static double size_of(const gw_problem *p)
{
    double ss = 0;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        if (!gw_constraint_has_distance(c->kind))
            continue;
        double reach = fmax(gw_element_reach(&c->mobile), gw_element_reach(&c->fixed));
        ss = fmax(ss, reach * reach);
        ss = fmax(ss, gw_constraint_has_length(c->kind) ? c->value * c->value : 0);
    }
    /* at least a small part of the body: coordinates that cancel to zero leave only round-off */
    return fmax(sqrt(ss), 1e-4 * p->length);
}

void gw_solver_init(gw_solver *solver, const gw_problem *problem,
                    void (*leaf)(gw_solver *solver, const gw_solver_state *state), void *context)
{
    assert(problem->count >= 0 && problem->count <= GW_MAX_PROBLEM && problem->length > 0);
    solver->problem = problem;
    solver->use = problem->count >= 64 ? ~0ul : (1ul << problem->count) - 1;
    solver->size = size_of(problem);
    solver->snap = solver->conflict_snap = GW_SNAP * solver->size;
    solver->conflict_snap_angle = solver->direction_snap = GW_SNAP;
    solver->solution = NULL;
    solver->tracked = NULL;
    solver->leaf = leaf;
    solver->context = context;
    solver->contradictions = NULL;
    solver->work = 0;
    solver->stop = solver->stated_checked = solver->unproven = false;
    solver->may_miss_poses = solver->may_end_early = solver->leaf_not_verified = false;
    solver->conflict.condition = NULL;
    solver->conflict.constraints = 0;
    solver->conflict.value_count = 0;
}

void gw_solver_explore(gw_solver *solver)
{
    gw_solver_state state;
    gw_solver_state_init(&state);
    for (int i = 0; i < solver->problem->count; i++) {
        if (!(solver->use >> i & 1))
            continue;
        const gw_constraint *c = &solver->problem->constraints[i];
        if (open_sense(c))
            state.open_senses[state.open_sense_count++] = (unsigned char)i;
        else
            gw_decompose(solver, &state, i, c->sense);
    }
    apply_rules(solver, &state);
}

bool gw_stated_conflict(gw_solver *solver)
{
    gw_solver_state state;
    gw_solver_state_init(&state);
    for (int i = 0; i < solver->problem->count; i++)
        if (solver->use >> i & 1) /* the sense matters to angles only */
            gw_decompose(solver, &state, i, GW_SAME);
    for (int i = 0; i < state.distance_count; i++)
        for (int j = i + 1; j < state.distance_count; j++) {
            clear_result(solver);
            rule_distances(solver, &state.distances[i], &state.distances[j]);
            if (solver->result.outcome == GW_RULE_CONFLICT)
                return true;
        }
    return false;
}
