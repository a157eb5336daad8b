/*
 * Numeric completion of a leaf that the rules leave without a closed form: poses from many starts
 * by the Levenberg-Marquardt method, isolated poses as roots of polynomials (polynomial/), and
 * solution components where there are freedoms (solution_components.c). A search without result is
 * no proof; the work is bounded, every evaluation being counted. Any thread, RT safe, but takes 0.1
 * to 20 ms.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/random.h"
#include "rt/base/small.h"
#include "rt/geometry/two_angles.h"
#include "rt/positioning/numeric_completion.h"

#define FIRST_TRIES 24   /* starts before the answer's kind is decided */
#define MIXED_TRIES 96   /* where components of several dimensions are likely */
#define NEAR_TRIES  12   /* of these, near the elements */
#define ENOUGH      8    /* poses of a component with two freedoms or more */
#define FAR_START   1e-4 /* worst row of free-form starts that ended beside the set, by the size */
#define IDLE_TRIES  100  /* starts in a row without a new pose that end the search, and 20 a pose */
#define VAIN_TRIES  240  /* the same if no pose was found yet */
#define MOST_TRIES  600  /* starts at the most */
#define HELD        1e-11 /* worst row of a pose, by the size */
#define FARTHEST    1e5   /* times the size: beyond that rounding hides any residual */
#define SAME_POSE   1e-5  /* poses closer than this, times the size, are the same */

/* ---- descent to the rows: Levenberg-Marquardt method ----------------------------------------- */

void gw_scaled_rows(const gw_completion *c, const gw_pose *x, double (*starts)[2], double *h,
                    double (*a)[6])
{
    gw_rows_value_and_jacobian_from(c->rows, c->row_count, x, starts, h, a);
    for (int i = 0; i < c->row_count; i++)
        gw_scale_row(&c->rows[i], c->size, &h[i], a[i]);
}

typedef struct descent {
    const gw_completion *c;
    double (*starts)[2]; /* parameters of free-form rows, found by the last evaluation */
} descent;

static void evaluate_normal_equations(const void *context, const gw_pose *x,
                                      gw_normal_equations *to)
{
    const descent *down = context;
    const gw_completion *c = down->c;
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6];
    gw_scaled_rows(c, x, down->starts, h, a);
    *to = (gw_normal_equations){.sum = 0};
    for (int r = 0; r < c->row_count; r++)
        gw_normal_equations_add(to, h[r], a[r]);
    c->solver->work -= c->row_count + 6;
}

/* True at the bound of work: a search for a closest point may cost as much as thousands of rows. */
static bool is_work_spent(const gw_completion *c)
{
    return c->solver->work < -GW_OVERDRAFT;
}

/* True at a minimum of the residual that is not a root, or at the bound of work. At such a minimum
 * |A^T h| is small relative to |h|; near a root, simple or multiple, it is not while h is this
 * large.
 */
static bool gives_up(const void *context, const gw_normal_equations *at)
{
    const descent *down = context;
    const gw_completion *c = down->c;
    double gg = 0;
    if (is_work_spent(c))
        return true;
    for (int i = 0; i < 6; i++)
        gg += at->g[i] * at->g[i];
    return at->sum > 1e-6 * c->size * c->size && gg < 1e-6 * at->sum;
}

double gw_completion_descend(const gw_completion *c, gw_pose *x)
{
    double starts[GW_MAX_COMPLETION_ROWS][2];
    const descent down = {c, starts};
    for (int i = 0; i < c->row_count; i++)
        starts[i][0] = c->rows[i].start[0], starts[i][1] = c->rows[i].start[1];
    const gw_levenberg_marquardt method = {.size = c->size,
                                           .evaluate = evaluate_normal_equations,
                                           .give_up = gives_up,
                                           .context = &down,
                                           .steps = 80,
                                           .goal = c->size * c->size * 1e-29,
                                           .round_off = c->size * c->size * 1e-24,
                                           .accepted = c->size * c->size * HELD * HELD,
                                           .damping = 1e-2,
                                           .least = 1e-15,
                                           .most = 1e12,
                                           .raise = 6};
    gw_normal_equations at;
    gw_levenberg_marquardt_descend(&method, x, &at);
    return at.worst / c->size;
}

/* ---- starts ---------------------------------------------------------------------------------- */

double gw_completion_uniform(gw_completion *c, double low, double high)
{
    return gw_random_uniform(&c->random, low, high);
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
    if (c->state->rotation_known)
        x.q = c->state->rotation;
    x.p = gw_sub(x.p, gw_rotate(x.q, c->middle_m));
    gw_vec3 off = {gw_completion_uniform(c, -1, 1), gw_completion_uniform(c, -1, 1),
                   gw_completion_uniform(c, -1, 1)};
    x.p = gw_mul_add(x.p, 0.5 * c->size, off);
    return x;
}

/* `any` rotated so that it satisfies the first known direction, if there is one. */
static gw_quat turned_along(gw_completion *c, gw_quat any)
{
    const gw_solver_state *s = c->state;
    for (int i = 0; i < s->angle_count && !s->rotation_known; i++) {
        const gw_angle_constraint *d = &s->angles[i];
        if (d->angle > 0)
            continue;
        gw_quat turn = gw_quat_axis(d->f, gw_completion_uniform(c, -GW_PI, GW_PI));
        gw_vec3 f = c->any_sense && gw_completion_uniform(c, 0, 1) < 0.5 ? gw_neg(d->f) : d->f;
        return gw_quat_mul(turn, gw_quat_between(d->u, f));
    }
    return any;
}

/* Curves may lie far beside the rows' points: two cylinders meet where their axes come near. */
gw_pose gw_completion_start(gw_completion *c, int k)
{
    static const double wider[] = {1, 2.5, 6, 1, 2.5, 16, 1, 2.5, 40, 1, 6, 100};
    gw_pose x = gw_completion_random(c);
    gw_vec3 centre = gw_pose_point(&x, c->middle_m), off = gw_sub(centre, c->middle_f);
    x.q = turned_along(c, x.q);
    centre = gw_mul_add(c->middle_f, wider[k % 12], off);
    x.p = gw_sub(centre, gw_rotate(x.q, c->middle_m));
    return x;
}

/* ---- search ---------------------------------------------------------------------------------- */

static bool is_known(const gw_completion *c, const gw_pose *x)
{
    for (int i = 0; i < c->found_count; i++)
        if (c->dof[i] == 0 && gw_pose_distance(&c->found[i], x, c->size) < SAME_POSE * c->size)
            return true;
    return false;
}

/* True where a direction along a normal or a tangent is not opposite to it. */
static bool has_sense(const gw_distance_constraint *d, const gw_pose *x)
{
    gw_row rows[GW_DISTANCE_ROWS];
    double cosine;
    gw_row *last = &rows[gw_distance_rows(d, rows) - 1];
    last->n = d->along;
    gw_rows_value(last, 1, x, &cosine);
    return cosine > 0;
}

/* False where a pose belongs to another branch: the rows of parallels hold for opposite vectors. */
static bool on_this_branch(const gw_completion *c, const gw_pose *x)
{
    const gw_solver_state *s = c->state;
    if (c->any_sense)
        return true;
    if (s->rotation_known && gw_quat_angle(x->q, s->rotation) > 1e-3)
        return false;
    for (int i = 0; i < s->angle_count; i++) {
        const gw_angle_constraint *d = &s->angles[i];
        if (d->angle == 0 && gw_dot(gw_rotate(x->q, d->u), d->f) < 0)
            return false;
    }
    for (int i = 0; i < s->distance_count; i++)
        if (s->distances[i].directed && !has_sense(&s->distances[i], x))
            return false;
    gw_rotation_set loops;
    return s->loop == 0 || !gw_rotation_by_two_angles(s, &loops) ||
           gw_two_angles_loop(&loops, x->q) == s->loop;
}

/* Records the residual of a descent that ended off the rows, for the report. */
static void note_failed(gw_completion *c, double worst, const gw_pose *x)
{
    if (worst >= c->best_rows)
        return;
    c->best_rows = worst;
    c->best_residual = gw_solver_residual(c->solver, x);
}

bool gw_completion_refine(gw_completion *c, gw_pose *x)
{
    double worst = gw_completion_descend(c, x);
    if (worst > HELD) {
        note_failed(c, worst, x);
        return false;
    }
    if (!on_this_branch(c, x) || gw_norm(x->p) > FARTHEST * c->size)
        return false;
    double residual = gw_solver_residual(c->solver, x);
    if (residual > GW_VERIFIED)
        c->best_residual = fmin(c->best_residual, residual);
    return residual <= GW_VERIFIED;
}

bool gw_completion_refine_start(gw_completion *c, gw_pose *x)
{
    double worst = gw_free_form_start(c, x);
    if (worst > FAR_START) {
        note_failed(c, worst, x);
        return false;
    }
    return gw_completion_refine(c, x);
}

bool gw_completion_add(gw_completion *c, const gw_pose *x)
{
    if (c->found_count == GW_MAX_FOUND || is_known(c, x))
        return false;
    c->dof[c->found_count] = gw_local_dimension(c, x);
    if (is_work_spent(c)) /* the dimension is not known */
        return false;
    c->found[c->found_count++] = *x;
    return true;
}

bool gw_completion_try(gw_completion *c, gw_pose x)
{
    return gw_completion_refine_start(c, &x) && gw_completion_add(c, &x);
}

static int most_dof(const gw_completion *c)
{
    int most = -1;
    for (int i = 0; i < c->found_count; i++)
        most = c->dof[i] > most ? c->dof[i] : most;
    return most;
}

static bool has_work_left(const gw_completion *c)
{
    return c->solver->work > 0;
}

/* Isolated poses where no method finds all: starts until many in a row find nothing new, or one
 * finds a pose that is not isolated. */
static void search_isolated_poses(gw_completion *c, int tries)
{
    for (int idle = 0; tries < MOST_TRIES && has_work_left(c) && most_dof(c) < 1; tries++) {
        idle = gw_completion_try(c, gw_completion_start(c, tries)) ? 0 : idle + 1;
        if (idle >= (c->found_count > 0 ? IDLE_TRIES + 20 * c->found_count : VAIN_TRIES))
            break;
    }
}

/* Starts number `tries` to `most`, near ones first, until `enough` poses were found; returns the
 * number of the next start. */
static int try_some(gw_completion *c, int tries, int most, int enough)
{
    for (; tries < most && c->found_count < enough && has_work_left(c); tries++)
        gw_completion_try(c, tries < NEAR_TRIES ? gw_completion_random(c)
                                                : gw_completion_start(c, tries));
    return tries;
}

/* True where components of fewer freedoms are likely: the rows' rank is lower on the component than
 * elsewhere. */
static bool may_be_mixed(gw_completion *c)
{
    gw_pose any = gw_completion_random(c);
    return gw_nullity_at(c, &any) < most_dof(c);
}

/* More poses of components with freedoms: there may be others besides the one found. */
static void search_freedoms(gw_completion *c, int tries, int more)
{
    if (most_dof(c) > 1) {
        bool mixed = may_be_mixed(c);
        try_some(c, tries, mixed ? MIXED_TRIES : FIRST_TRIES, (mixed ? 6 : 2) * ENOUGH + more);
    }
    if (most_dof(c) == 1)
        gw_sample_curves(c);
}

/* A start from the problem's pose. The random sequence is restored afterwards, so that the other
 * starts do not depend on that pose. */
static bool try_given(gw_completion *c)
{
    unsigned long long random = c->random;
    gw_pose x = c->solver->problem->pose;
    bool found = gw_completion_refine(c, &x) && gw_completion_add(c, &x);
    c->random = random;
    return found;
}

/* After a choice the work is shared with the other leaves. */
gw_root_summary gw_completion_homotopy(gw_completion *c)
{
    gw_solver *solver = c->solver;
    bool alone = c->state->choice_count == 0 || c->any_sense;
    long kept = alone || solver->work <= 0 ? 0 : 3 * (solver->work / 4);
    solver->work -= kept;
    gw_root_summary found = gw_roots_by_homotopy(&c->system);
    solver->work += kept;
    return found;
}

/* Fills c->found. Isolated poses by an eigenproblem, where that finds all; else some starts decide
 * whether there are freedoms, and then homotopy, restarts or more starts complete the answer. */
static void complete_search(gw_completion *c)
{
    gw_root_summary roots = gw_roots_by_eigenvalues(&c->system);
    c->complex_roots = roots.complex_roots;
    if (roots.exact && roots.simple)
        return;
    int more = try_given(c), tries = try_some(c, 0, FIRST_TRIES, ENOUGH + more);
    if (most_dof(c) < 1 && !roots.exact) {
        roots = gw_completion_homotopy(c);
        c->complex_roots = roots.complex_roots;
        c->restarted = !roots.exact;
        if (c->restarted)
            search_isolated_poses(c, tries);
    }
    search_freedoms(c, tries, more);
}

/* ---- the leaf -------------------------------------------------------------------------------- */

/* Adds the components with freedoms and the isolated poses to the solution. */
static void add_branches(gw_completion *c)
{
    gw_solution_component components[GW_MAX_COMPONENTS];
    gw_submanifold single;
    char name[3], names[GW_MAX_COMPONENTS][3];
    int count = gw_solution_components(c, components, GW_MAX_COMPONENTS);
    gw_label_components(components, count, names);
    for (int i = 0; i < count; i++)
        gw_add_branch(c->solver, c->state, names[i], &components[i].set, &components[i].nearest);
    for (int i = 0; i < c->found_count; i++) {
        if (c->dof[i] > 0)
            continue;
        gw_synthesise_pose(c->solver, c->state, &c->found[i], &single);
        gw_label_isolated_pose(c, i, name);
        gw_add_branch(c->solver, c->state, name, &single, NULL);
    }
}

/* The rows of the whole state, and of the input constraints that rules left out. */
static void add_rows(gw_completion *c)
{
    const gw_solver_state *s = c->state;
    int n = 0;
    if (s->rotation_known)
        n += gw_rotation_rows(s->rotation, c->rows);
    for (int i = 0; i < s->angle_count && n + 2 <= GW_MAX_COMPLETION_ROWS; i++)
        n += gw_angle_rows(&s->angles[i], c->rows + n);
    for (int i = 0; i < s->distance_count && n + GW_DISTANCE_ROWS <= GW_MAX_COMPLETION_ROWS; i++)
        n += gw_distance_rows(&s->distances[i], c->rows + n);
    for (int i = 0; i < c->solver->problem->count && n + GW_MAX_ROWS <= GW_MAX_COMPLETION_ROWS; i++)
        if (s->left_out >> i & 1)
            n += gw_constraint_rows(c->solver, i, c->rows + n);
    for (int i = 0; i < n; i++)
        c->rows[i].work = c->rows[i].nurbs ? &c->solver->work : NULL;
    c->row_count = n;
}

static void find_middles(gw_completion *c)
{
    const gw_solver_state *s = c->state;
    c->middle_m = c->middle_f = gw_v3(0, 0, 0);
    for (int i = 0; i < s->distance_count; i++) {
        const gw_distance_constraint *p = &s->distances[i];
        double share = 1.0 / s->distance_count;
        c->middle_m = gw_mul_add(c->middle_m, share, p->body_owns ? p->b : p->a);
        c->middle_f = gw_mul_add(c->middle_f, share, p->body_owns ? p->a : p->b);
    }
}

static void add_trace_once(gw_solution *s, const char *rule, unsigned long use)
{
    for (int i = 0; i < s->trace_count; i++)
        if (s->trace[i].rule == rule)
            return;
    if (s->trace_count < GW_MAX_TRACE)
        s->trace[s->trace_count++] = (gw_trace_step){rule, use};
}

/* Records in the trace that poses may be missing. */
static void trace_limits(const gw_completion *c)
{
    static const char *const bound = "numeric search ended at its bound: there may be more poses";
    static const char *const restarts = "found by restarts: there may be more";
    gw_solution *s = c->solver->solution;
    if (c->solver->work <= 0)
        add_trace_once(s, bound, c->solver->use);
    else if (c->restarted && c->found_count > 0 && most_dof(c) == 0)
        add_trace_once(s, restarts, c->solver->use);
}

/* Sets the root count, which is of the constraints as stated: after a choice the count differs. */
static void put_root_count(const gw_completion *c)
{
    gw_solution *s = c->solver->solution;
    bool whole = c->any_sense || c->state->choice_count == 0;
    s->complex_roots = whole ? c->complex_roots : GW_ROOTS_UNCOUNTED;
}

static void report_root(void *context, const gw_pose *x)
{
    gw_completion_try(context, *x);
}

void gw_completion_begin(gw_completion *c, gw_solver *solver, const gw_solver_state *state,
                         bool any_sense)
{
    c->solver = solver;
    c->state = state;
    c->size = solver->size;
    c->random = 1;
    c->found_count = c->curve_pose_count = 0;
    c->complex_roots = 0;
    c->restarted = false;
    c->sampling_work = 0;
    c->best_rows = c->best_residual = HUGE_VAL;
    c->any_sense = any_sense;
    add_rows(c);
    find_middles(c);
    c->system = (gw_pose_system){.row_count = c->row_count,
                                 .rows = c->rows,
                                 .distance_count = state->distance_count,
                                 .angle_count = state->angle_count,
                                 .distances = state->distances,
                                 .angles = state->angles,
                                 .rotation_known = state->rotation_known,
                                 .rotation = state->rotation,
                                 .any_sense = any_sense,
                                 .size = c->size,
                                 .middle_m = c->middle_m,
                                 .middle_f = c->middle_f,
                                 .work = &solver->work,
                                 .report = report_root,
                                 .context = c};
}

int gw_count_roots(gw_solver *solver, const gw_solver_state *state)
{
    gw_completion c;
    gw_completion_begin(&c, solver, state, true);
    gw_root_summary roots = gw_roots_by_eigenvalues(&c.system);
    return roots.exact ? roots.complex_roots : 0;
}

void gw_complete_numerically(gw_solver *solver, const gw_solver_state *state, bool any_sense)
{
    assert(solver->solution);
    gw_completion c;
    gw_completion_begin(&c, solver, state, any_sense);
    complete_search(&c);
    gw_solution *s = solver->solution;
    s->best_residual = fmin(s->best_residual, c.best_residual * c.size);
    if (c.found_count == 0)
        solver->unproven = true;
    trace_limits(&c);
    put_root_count(&c);
    add_branches(&c);
}
