/*
 * Numeric completion of what the rules leave: poses from many starts (settle.c), the dimension of
 * the set from the rank at the poses found, isolated poses one by one, and a general set where
 * there are freedoms (sets.c). Finding nothing proves nothing, and the work is bounded. Any thread,
 * RT safe, but not quick: a tenth of a millisecond to twenty.
 */
#include <string.h>

#include "rt/positioning/polynomial/roots.h"

#define FIRST_TRIES 24   /* starts before the answer's kind is decided */
#define MIXED_TRIES 96   /* where sets of several dimensions are likely */
#define NEAR_TRIES  12   /* of these, near the elements */
#define ENOUGH      8    /* poses of a set with two freedoms or more */
#define IDLE_TRIES  100  /* starts in a row without a new pose that end the search, and 20 a pose */
#define VAIN_TRIES  240  /* where there is none */
#define MOST_TRIES  600  /* starts at the most */
#define FARTHEST    1e5  /* times the size: beyond that rounding hides any residual */
#define SAME_POSE   1e-5 /* poses closer than this, times the size, are one */

/* ---- random poses --------------------------------------------------------------------------- */

static unsigned long long next_random(unsigned long long *s)
{
    unsigned long long z = (*s += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

double gw_completion_uniform(gw_completion *c, double low, double high)
{
    return low + (high - low) * (double)(next_random(&c->random) >> 11) / 9007199254740992.0;
}

static gw_quat random_rotation(gw_completion *c)
{
    double a = gw_completion_uniform(c, 0, 1), b = gw_completion_uniform(c, 0, 2 * GW_PI),
           d = gw_completion_uniform(c, 0, 2 * GW_PI);
    double r = sqrt(1 - a), s = sqrt(a);
    return (gw_quat){r * cos(b), r * sin(b), s * cos(d), s * sin(d)};
}

gw_pose gw_completion_random(gw_completion *c)
{
    gw_pose x = {c->middle_f, random_rotation(c)};
    if (c->state->fixed)
        x.q = c->state->rotation;
    x.p = gw_sub(x.p, gw_rotate(x.q, c->middle_m));
    gw_vec3 off = {gw_completion_uniform(c, -1, 1), gw_completion_uniform(c, -1, 1),
                   gw_completion_uniform(c, -1, 1)};
    x.p = gw_mul_add(x.p, 0.5 * c->size, off);
    return x;
}

/* ---- search ---------------------------------------------------------------------------------- */

static bool known(const gw_completion *c, const gw_pose *x)
{
    for (int i = 0; i < c->found_count; i++)
        if (c->dof[i] == 0 && gw_pose_distance(&c->found[i], x, c->size) < SAME_POSE * c->size)
            return true;
    return false;
}

/* The rows of parallels hold for opposite vectors too: those belong to another branch. */
static bool this_branch(const gw_completion *c, const gw_pose *x)
{
    const gw_solver_state *s = c->state;
    if (c->any_sense)
        return true;
    if (s->fixed && gw_quat_angle(x->q, s->rotation) > 1e-3)
        return false;
    for (int i = 0; i < s->direction_count; i++) {
        const gw_angle_constraint *d = &s->directions[i];
        if (d->angle == 0 && gw_dot(gw_rotate(x->q, d->u), d->f) < 0)
            return false;
    }
    return true;
}

bool gw_completion_refine(gw_completion *c, gw_pose *x)
{
    const gw_solver *run = c->run;
    double worst = gw_levenberg_marquardt(c, x);
    if (worst > 1e-11) {
        if (worst < c->best)
            c->best = worst,
            c->residual = gw_problem_residual(run->problem, run->use, run->size, x);
        return false;
    }
    if (!this_branch(c, x) || gw_norm(x->p) > FARTHEST * c->size)
        return false;
    double residual = gw_problem_residual(run->problem, run->use, run->size, x);
    if (residual > GW_VERIFIED)
        c->residual = fmin(c->residual, residual);
    return residual <= GW_VERIFIED;
}

bool gw_completion_add(gw_completion *c, const gw_pose *x)
{
    if (c->found_count == GW_MAX_FOUND || known(c, x))
        return false;
    c->dof[c->found_count] = gw_local_dimension(c, x);
    c->found[c->found_count++] = *x;
    return true;
}

bool gw_completion_try(gw_completion *c, gw_pose x)
{
    return gw_completion_refine(c, &x) && gw_completion_add(c, &x);
}

static int most_dof(const gw_completion *c)
{
    int most = -1;
    for (int i = 0; i < c->found_count; i++)
        most = c->dof[i] > most ? c->dof[i] : most;
    return most;
}

static bool may_go_on(const gw_completion *c)
{
    return c->run->work > 0;
}

/* Isolated poses without a method that finds all of them: on until many starts in a row brought
 * nothing new, or one that is not isolated. */
static void restart(gw_completion *c, int tries)
{
    for (int idle = 0; tries < MOST_TRIES && may_go_on(c) && most_dof(c) < 1; tries++) {
        idle = gw_completion_try(c, gw_completion_start(c, tries)) ? 0 : idle + 1;
        if (idle >= (c->found_count > 0 ? IDLE_TRIES + 20 * c->found_count : VAIN_TRIES))
            break;
    }
}

/* Starts up to so many, near ones first, until enough poses were found; returns how many in all. */
static int try_some(gw_completion *c, int tries, int most, int enough)
{
    for (; tries < most && c->found_count < enough && may_go_on(c); tries++)
        gw_completion_try(c, tries < NEAR_TRIES ? gw_completion_random(c)
                                                : gw_completion_start(c, tries));
    return tries;
}

/* Rows that are fewer on the set than elsewhere hold for sets of fewer freedoms as well. */
static bool may_be_mixed(gw_completion *c)
{
    gw_pose any = gw_completion_random(c);
    return gw_nullity_at(c, &any) < most_dof(c);
}

/* The chart of a set with freedoms is one pose; beside it there may be others. */
static void search_freedoms(gw_completion *c, int tries, int more)
{
    if (most_dof(c) > 1) {
        bool mixed = may_be_mixed(c);
        try_some(c, tries, mixed ? MIXED_TRIES : FIRST_TRIES, (mixed ? 6 : 2) * ENOUGH + more);
    }
    if (most_dof(c) == 1)
        gw_sample_curves(c);
}

/* From the given pose; starts are the same whatever it is, and so is what they find. */
static bool try_given(gw_completion *c)
{
    unsigned long long random = c->random;
    bool found = gw_completion_try(c, c->run->problem->pose);
    c->random = random;
    return found;
}

static void search(gw_completion *c)
{
    gw_root_summary roots = gw_roots_by_eigenvalues(c);
    c->complex_roots = roots.complex_roots;
    if (roots.exact && roots.simple)
        return;
    int more = try_given(c), tries = try_some(c, 0, FIRST_TRIES, ENOUGH + more);
    if (most_dof(c) < 1 && !roots.exact) {
        roots = gw_roots_by_homotopy(c);
        c->complex_roots = roots.complex_roots;
        c->restarted = !roots.exact;
        if (c->restarted)
            restart(c, tries);
    }
    search_freedoms(c, tries, more);
}

/* ---- branches -------------------------------------------------------------------------------- */

/* The pose's own name: its side, and how many on that side are below it. It does not depend on the
 * order of finding, nor on poses elsewhere. */
static void name_pose(const gw_completion *c, int at, char name[3])
{
    gw_branch_label here = gw_pose_label(c->run, &c->found[at]);
    int below = 0;
    for (int i = 0; i < c->found_count; i++) {
        gw_branch_label there = gw_pose_label(c->run, &c->found[i]);
        below += i != at && c->dof[i] == 0 && there.side == here.side && there.height < here.height;
    }
    name[0] = (char)('A' + here.side);
    name[1] = gw_label_digit(below);
    name[2] = 0;
}

/* The names of sets with freedoms: a letter for those of fewer than the first one has, and curves
 * by how many rise less. */
static void name_sets(const gw_solution_component *sets, int count, char names[][3])
{
    for (int i = 0; i < count; i++) {
        int alike = 0, below = 0, n = 0;
        for (int k = 0; k < count; k++) {
            bool same = k != i && sets[k].set.dof == sets[i].set.dof;
            alike += same;
            below += same && sets[k].top < sets[i].top;
        }
        if (sets[i].set.dof < sets[0].set.dof)
            names[i][n++] = (char)('t' + sets[i].set.dof);
        if (alike > 0)
            names[i][n++] = gw_label_digit(below);
        names[i][n] = 0;
    }
}

static void add_found(gw_completion *c)
{
    gw_solution_component sets[GW_MAX_COMPONENTS];
    gw_submanifold single;
    char name[3], names[GW_MAX_COMPONENTS][3];
    int count = gw_solution_components(c, sets, GW_MAX_COMPONENTS);
    name_sets(sets, count, names);
    for (int i = 0; i < count; i++)
        gw_add_branch(c->run, c->state, names[i], &sets[i].set, &sets[i].nearest);
    for (int i = 0; i < c->found_count; i++) {
        if (c->dof[i] > 0)
            continue;
        gw_synthesise_pose(c->run, c->state, &c->found[i], &single);
        name_pose(c, i, name);
        gw_add_branch(c->run, c->state, name, &single, NULL);
    }
}

static void add_rows(gw_completion *c)
{
    const gw_solver_state *s = c->state;
    int n = 0;
    if (s->fixed)
        n += gw_rotation_rows(s->rotation, c->rows);
    for (int i = 0; i < s->direction_count && n + 2 <= GW_MAX_COMPLETION_ROWS; i++)
        n += gw_angle_rows(&s->directions[i], c->rows + n);
    for (int i = 0; i < s->place_count && n + 3 <= GW_MAX_COMPLETION_ROWS; i++)
        n += gw_distance_rows(&s->places[i], c->rows + n);
    for (int i = 0; i < c->run->problem->count && n + GW_MAX_ROWS <= GW_MAX_COMPLETION_ROWS; i++)
        if (s->left_out >> i & 1)
            n += gw_constraint_rows(c->run, i, c->rows + n);
    c->row_count = n;
}

static void find_middles(gw_completion *c)
{
    const gw_solver_state *s = c->state;
    c->middle_m = c->middle_f = gw_v3(0, 0, 0);
    for (int i = 0; i < s->place_count; i++) {
        const gw_distance_constraint *p = &s->places[i];
        double share = 1.0 / s->place_count;
        c->middle_m = gw_mul_add(c->middle_m, share, p->body_owns ? p->b : p->a);
        c->middle_f = gw_mul_add(c->middle_f, share, p->body_owns ? p->a : p->b);
    }
}

static void note(gw_solution *s, const char *rule, unsigned long use)
{
    for (int i = 0; i < s->trace_count; i++)
        if (s->trace[i].rule == rule)
            return;
    if (s->trace_count < GW_MAX_TRACE)
        s->trace[s->trace_count++] = (gw_trace_step){rule, use};
}

/* Says once where poses may be missing. */
static void note_limits(const gw_completion *c)
{
    static const char *const bound = "numeric search ended at its bound: there may be more poses";
    static const char *const restarts = "found by restarts: there may be more";
    gw_solution *s = c->run->solution;
    if (c->run->work <= 0)
        note(s, bound, c->run->use);
    else if (c->restarted && c->found_count > 0 && most_dof(c) == 0)
        note(s, restarts, c->run->use);
}

/* Roots are those of the constraints as they were stated: behind a choice there are others. */
static void count_roots(const gw_completion *c)
{
    gw_solution *s = c->run->solution;
    bool whole = c->any_sense || c->state->choice_count == 0;
    s->complex_roots = whole ? c->complex_roots : GW_ROOTS_UNCOUNTED;
}

void gw_completion_begin(gw_completion *c, gw_solver *run, const gw_solver_state *state,
                         bool any_sense)
{
    c->run = run;
    c->state = state;
    c->size = run->size;
    c->random = 1;
    c->found_count = c->along_count = 0;
    c->complex_roots = 0;
    c->restarted = false;
    c->best = c->residual = HUGE_VAL;
    c->any_sense = any_sense;
    add_rows(c);
    find_middles(c);
}

int gw_count_roots(gw_solver *run, const gw_solver_state *state)
{
    gw_completion c;
    gw_completion_begin(&c, run, state, true);
    gw_root_summary roots = gw_roots_by_eigenvalues(&c);
    return roots.exact ? roots.complex_roots : 0;
}

void gw_complete_numerically(gw_solver *run, const gw_solver_state *state, bool any_sense)
{
    gw_completion c;
    gw_completion_begin(&c, run, state, any_sense);
    search(&c);
    gw_solution *s = run->solution;
    s->best_residual = fmin(s->best_residual, c.residual * c.size);
    if (c.found_count == 0)
        run->doubt = true;
    note_limits(&c);
    count_roots(&c);
    add_found(&c);
}
