/*
 * Numeric completion of what the rules leave: poses by Levenberg and Marquardt's method from many
 * starts, the dimension of the set from the rank at the poses found (checked a small step away, so
 * that a singular pose does not mislead), isolated poses one by one, and a general set where there
 * are freedoms. Finding nothing proves nothing. Any thread, RT safe, but not quick: milliseconds.
 */
#include <string.h>

#include "rt/base/small.h"
#include "rt/solve/solve_internal.h"

#define MAX_ROWS    200 /* of the whole state, before independent ones are chosen */
#define MAX_FOUND   GW_MAX_BRANCHES
#define FIRST_TRIES 24  /* starts before the answer's kind is decided */
#define MOST_TRIES  600 /* starts at the most */
#define RANK        1e-6
#define SAME_POSE   1e-5 /* poses closer than this, times the size, are one */

typedef struct completion {
    gw_run *run;
    const gw_state *state;
    double size;
    gw_vec3 middle_m, middle_f; /* of the places' points on either side */
    unsigned long long random;
    int row_count;
    gw_row rows[MAX_ROWS];
    int found_count;
    gw_pose found[MAX_FOUND];
    int dof[MAX_FOUND];
    double best; /* residual */
    bool any_sense;
} completion;

/* ---- random poses ------------------------------------------------------------------------------
 */

static unsigned long long next_random(unsigned long long *s)
{
    unsigned long long z = (*s += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static double uniform(completion *c, double low, double high)
{
    return low + (high - low) * (double)(next_random(&c->random) >> 11) / 9007199254740992.0;
}

static gw_quat random_rotation(completion *c)
{
    double a = uniform(c, 0, 1), b = uniform(c, 0, 2 * GW_PI), d = uniform(c, 0, 2 * GW_PI);
    double r = sqrt(1 - a), s = sqrt(a);
    return (gw_quat){r * cos(b), r * sin(b), s * cos(d), s * sin(d)};
}

static gw_pose random_start(completion *c)
{
    gw_pose x = {c->middle_f, random_rotation(c)};
    if (c->state->fixed)
        x.q = c->state->rotation;
    x.p = gw_sub(x.p, gw_rotate(x.q, c->middle_m));
    gw_vec3 off = {uniform(c, -1, 1), uniform(c, -1, 1), uniform(c, -1, 1)};
    x.p = gw_mul_add(x.p, 0.5 * c->size, off);
    return x;
}

/* ---- Levenberg and Marquardt
 * --------------------------------------------------------------------- */

/* Rows and Jacobian in metres, rotations by the size; returns the sum of squares. */
static double scaled_rows(const completion *c, const gw_pose *x, double *h, double (*a)[6])
{
    double sum = 0;
    gw_rows_value(c->rows, c->row_count, x, h);
    if (a)
        gw_rows_jacobian(c->rows, c->row_count, x, a);
    for (int i = 0; i < c->row_count; i++) {
        bool angle = c->rows[i].kind == GW_ROW_ANGLE;
        h[i] *= angle ? c->size : 1;
        sum += h[i] * h[i];
        for (int j = 3; j < 6 && a; j++)
            a[i][j] *= angle ? 1 : 1 / c->size;
    }
    return sum;
}

/* Solves (N + damping I) x = g by Cholesky's method; false where that is not positive. */
static bool solve_normal(const double n[6][6], double damping, const double g[6], double x[6])
{
    double l[6][6];
    for (int j = 0; j < 6; j++)
        for (int i = j; i < 6; i++) {
            double sum = n[i][j] + (i == j ? damping : 0);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j && !(sum > 0))
                return false;
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    for (int i = 0; i < 6; i++) {
        double sum = g[i];
        for (int k = 0; k < i; k++)
            sum -= l[i][k] * x[k];
        x[i] = sum / l[i][i];
    }
    for (int i = 5; i >= 0; i--) {
        double sum = x[i];
        for (int k = i + 1; k < 6; k++)
            sum -= l[k][i] * x[k];
        x[i] = sum / l[i][i];
    }
    return true;
}

static gw_pose stepped(const completion *c, const gw_pose *x, const double s[6], double factor)
{
    double turn = factor / c->size;
    gw_twist d = {{factor * s[0], factor * s[1], factor * s[2]},
                  {turn * s[3], turn * s[4], turn * s[5]}};
    return gw_pose_add(x, &d);
}

/* Goes down from x; returns the largest row's size relative to the problem's. */
static double settle(const completion *c, gw_pose *x)
{
    double h[MAX_ROWS], a[MAX_ROWS][6], damping = 1e-2;
    double sum = scaled_rows(c, x, h, a), goal = c->size * c->size * 1e-28;
    for (int k = 0; k < 80 && sum > goal && damping < 1e12; k++) {
        double n[6][6] = {{0}}, g[6] = {0}, step[6];
        for (int r = 0; r < c->row_count; r++)
            for (int i = 0; i < 6; i++) {
                g[i] += a[r][i] * h[r];
                for (int j = 0; j <= i; j++)
                    n[i][j] += a[r][i] * a[r][j];
            }
        bool down = false;
        while (!down && damping < 1e12) {
            if (solve_normal((const double(*)[6])n, damping, g, step)) {
                gw_pose next = stepped(c, x, step, -1);
                double now = scaled_rows(c, &next, h, NULL);
                down = now < sum;
                if (down)
                    *x = next, sum = now;
            }
            damping = down ? fmax(damping * 0.05, 1e-15) : damping * 6;
        }
        scaled_rows(c, x, h, a);
    }
    double worst = 0;
    for (int r = 0; r < c->row_count; r++)
        worst = fmax(worst, fabs(h[r]));
    return worst / c->size;
}

/* ---- dimension
 * ----------------------------------------------------------------------------------- */

/* Rank at x; v's last 6 - rank columns span the null space. */
static int rank_at(const completion *c, const gw_pose *x, double v[6][6])
{
    double h[MAX_ROWS], a[MAX_ROWS][6], s[6];
    scaled_rows(c, x, h, a);
    gw_small_svd(c->row_count, a, s, v);
    return gw_small_rank(s, RANK);
}

/* The dimension of the set at x: of its neighbours along the null space, if it has any. */
static int dimension_at(completion *c, const gw_pose *x)
{
    double v[6][6], ignored[6][6];
    int rank = rank_at(c, x, v), dof = 0;
    for (int k = 0; k < 4 && rank < 6; k++) {
        double step[6] = {0}, weight = 0;
        for (int j = rank; j < 6; j++) {
            double w = uniform(c, -1, 1);
            weight += w * w;
            for (int i = 0; i < 6; i++)
                step[i] += w * v[i][j];
        }
        const double reach = 2e-2 * c->size;
        gw_pose next = stepped(c, x, step, reach / sqrt(weight));
        if (settle(c, &next) > 1e-11 || gw_pose_distance(&next, x, c->size) < 0.2 * reach)
            continue;
        int here = 6 - rank_at(c, &next, ignored);
        dof = here > dof ? here : dof;
    }
    return dof;
}

/* ---- search
 * ---------------------------------------------------------------------------------------- */

static bool known(const completion *c, const gw_pose *x)
{
    for (int i = 0; i < c->found_count; i++)
        if (c->dof[i] == 0 && gw_pose_distance(&c->found[i], x, c->size) < SAME_POSE * c->size)
            return true;
    return false;
}

/* The rows of parallels hold for opposite vectors too: those belong to another branch. */
static bool this_branch(const completion *c, const gw_pose *x)
{
    const gw_state *s = c->state;
    if (c->any_sense)
        return true;
    if (s->fixed && gw_quat_angle(x->q, s->rotation) > 1e-3)
        return false;
    for (int i = 0; i < s->direction_count; i++) {
        const gw_direction *d = &s->directions[i];
        if (d->angle == 0 && gw_dot(gw_rotate(x->q, d->u), d->f) < 0)
            return false;
    }
    return true;
}

/* One start; true when it found a pose that was not known. */
static bool attempt(completion *c, gw_pose x)
{
    const gw_run *run = c->run;
    double worst = settle(c, &x);
    double residual = gw_residual(run->problem, run->use, run->size, &x);
    c->best = fmin(c->best, residual);
    if (worst > 1e-11 || residual > GW_VERIFIED || c->found_count == MAX_FOUND || known(c, &x) ||
        !this_branch(c, &x))
        return false;
    c->dof[c->found_count] = dimension_at(c, &x);
    c->found[c->found_count++] = x;
    return true;
}

static int most_dof(const completion *c)
{
    int most = -1;
    for (int i = 0; i < c->found_count; i++)
        most = c->dof[i] > most ? c->dof[i] : most;
    return most;
}

static void search(completion *c)
{
    int idle = 0, tries = 0;
    attempt(c, c->run->problem->pose);
    for (; tries < FIRST_TRIES && c->found_count < 12; tries++)
        attempt(c, random_start(c));
    if (most_dof(c) > 0) { /* the chart of the set is one pose; beside it there may be others */
        for (; tries < 4 * FIRST_TRIES && c->found_count < MAX_FOUND; tries++)
            attempt(c, random_start(c));
        return;
    }
    /* isolated poses: on until many starts in a row brought nothing new */
    for (; tries < MOST_TRIES && idle < 100 + 20 * c->found_count; tries++)
        idle = attempt(c, random_start(c)) ? 0 : idle + 1;
}

/* ---- branches
 * --------------------------------------------------------------------------------------- */

static void isolated_set(const completion *c, const gw_pose *x, gw_submanifold *set)
{
    gw_place point = {GW_POINT, false, {0, 0, 0}, x->p, {0, 0, 1}, 0, 0, 0};
    if (c->state->place_count > 0) {
        const gw_place *p = &c->state->places[0];
        point.a = p->body_owns ? p->b : p->a;
        point.b = gw_pose_point(x, point.a);
    }
    gw_state pose;
    memset(&pose, 0, offsetof(gw_state, places));
    pose.fixed = true;
    pose.rotation = x->q;
    gw_add_place(&pose, &point);
    gw_synthesise(c->run, &pose, set);
}

/* Independent rows at x, in their order; returns how many. */
static int independent_rows(const completion *c, const gw_pose *x, gw_row *rows)
{
    double h[MAX_ROWS], a[MAX_ROWS][6], kept[7][6];
    int n = 0;
    scaled_rows(c, x, h, a);
    for (int r = 0; r < c->row_count && n < 6; r++) {
        memcpy(kept[n], a[r], sizeof kept[n]);
        double before = 0, after = 0;
        for (int i = 0; i < 6; i++)
            before += a[r][i] * a[r][i];
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < n; k++) {
                double dot = 0;
                for (int i = 0; i < 6; i++)
                    dot += kept[n][i] * kept[k][i];
                for (int i = 0; i < 6; i++)
                    kept[n][i] -= dot * kept[k][i];
            }
        for (int i = 0; i < 6; i++)
            after += kept[n][i] * kept[n][i];
        if (after <= 1e-10 * before)
            continue;
        for (int i = 0; i < 6; i++)
            kept[n][i] /= sqrt(after);
        rows[n++] = c->rows[r];
    }
    return n;
}

/* The rows that describe the set: the independent ones where poses that they give away from x
 * still satisfy all, else as many as fit. */
static void choose_rows(completion *c, const gw_pose *x, gw_submanifold *set)
{
    set->row_count = independent_rows(c, x, set->rows);
    bool enough = set->row_count == 6 - set->dof;
    for (int k = 0; k < 10 && enough; k++) {
        double step[6];
        for (int i = 0; i < 6; i++)
            step[i] = uniform(c, -1, 1);
        gw_pose y = stepped(c, x, step, (k + 1) * 0.2 * c->size);
        enough = gw_rows_project(set->rows, set->row_count, c->size, 60, &y) > 1e-11 * c->size ||
                 !gw_submanifold_same_sense(set, &y) ||
                 gw_residual(c->run->problem, c->run->use, c->size, &y) < GW_VERIFIED;
    }
    if (enough)
        return;
    set->row_count = c->row_count < GW_MAX_ROWS ? c->row_count : GW_MAX_ROWS;
    memcpy(set->rows, c->rows, sizeof(gw_row) * (size_t)set->row_count);
}

/* Motions of the set that do not turn: the null space of the rows' first three columns. */
static void count_factors(const completion *c, const gw_pose *x, gw_submanifold *set)
{
    double h[MAX_ROWS], a[MAX_ROWS][6], s[6], v[6][6];
    scaled_rows(c, x, h, a);
    for (int r = 0; r < c->row_count; r++)
        a[r][3] = a[r][4] = a[r][5] = 0;
    gw_small_svd(c->row_count, a, s, v);
    int slides = 3 - gw_small_rank(s, RANK);
    set->translation.dof = slides < set->dof ? slides : set->dof;
    int turns = set->dof - set->translation.dof;
    if (set->rotation.dof != turns || set->rotation.kind == GW_ROTATION_GENERAL)
        set->rotation.kind = GW_ROTATION_GENERAL;
    set->rotation.dof = turns;
}

static void general_set(completion *c, int at, gw_submanifold *set)
{
    const gw_pose *x = &c->found[at];
    gw_synthesise(c->run, c->state, set);
    set->general = true;
    set->dof = c->dof[at];
    set->seed = *x;
    set->translation = (gw_translation_set){.dof = 0, .locus = {.kind = GW_LOCUS_GENERAL}};
    choose_rows(c, x, set);
    count_factors(c, x, set);
}

/* ---- curves
 * --------------------------------------------------------------------------------------- */

#define CURVE_STEP                                                                                 \
    0.05 /* times the size: small beside a loop, of which most are a turn or more                  \
          */
#define CURVE_STEPS 600

/* One step along the tangent, on in the direction of the last one. */
static bool step_along(const gw_submanifold *set, double size, double last[6], gw_pose *x)
{
    double basis[6][6], dot = 0;
    gw_submanifold_tangent(set, x, size, basis);
    for (int i = 0; i < 6; i++)
        dot += basis[0][i] * last[i] * (i < 3 ? 1 : size * size);
    double go = (dot < 0 ? -1 : 1) * CURVE_STEP * size;
    for (int i = 0; i < 6; i++)
        last[i] = basis[0][i] * (dot < 0 ? -1 : 1);
    gw_twist d = {{go * basis[0][0], go * basis[0][1], go * basis[0][2]},
                  {go * basis[0][3], go * basis[0][4], go * basis[0][5]}};
    gw_pose next = gw_pose_add(x, &d);
    double off = gw_rows_project(set->rows, set->row_count, size, 20, &next);
    double moved = gw_pose_distance(&next, x, size);
    *x = next;
    return off < 1e-10 * size && moved < 2 * CURVE_STEP * size;
}

/* Marks the found poses that lie on the set's curve, by going round it from its seed. False where
 * it does not come back: then nothing is known of the others. */
static bool go_round(const completion *c, const gw_submanifold *set, bool *covered)
{
    gw_pose x = set->seed;
    double last[6] = {0};
    const double near = 0.6 * CURVE_STEP * c->size;
    for (int k = 0; k < CURVE_STEPS; k++) {
        for (int i = 0; i < c->found_count; i++)
            if (c->dof[i] == 1 && gw_pose_distance(&x, &c->found[i], c->size) < near)
                covered[i] = true;
        if (!step_along(set, c->size, last, &x))
            return false;
        if (k > 2 && gw_pose_distance(&x, &set->seed, c->size) < near)
            return true;
    }
    return false;
}

/* The found pose of this dimension nearest to the problem's, of those not covered; or -1. */
static int nearest_found(const completion *c, int dof, const bool *covered)
{
    int best = -1;
    double least = HUGE_VAL;
    for (int i = 0; i < c->found_count; i++) {
        double d = gw_pose_distance(&c->found[i], &c->run->problem->pose, c->run->problem->length);
        if (c->dof[i] == dof && !covered[i] && d < least)
            best = i, least = d;
    }
    return best;
}

/* Sets with freedoms: one a dimension, and one a closed curve. Returns how many. */
static int continuous_sets(completion *c, gw_submanifold *sets, int room)
{
    bool covered[MAX_FOUND] = {false};
    int count = 0;
    for (int dof = 6; dof > 0; dof--)
        for (int at; count < room && (at = nearest_found(c, dof, covered)) >= 0;) {
            gw_submanifold *set = &sets[count++];
            general_set(c, at, set);
            covered[at] = true;
            if (dof > 1 || !go_round(c, set, covered))
                break;
        }
    return count;
}

#define MAX_SETS 8 /* continuous sets of one leaf */

static void add_found(completion *c)
{
    gw_submanifold sets[MAX_SETS], single;
    int continuous = continuous_sets(c, sets, MAX_SETS), total = continuous, number = 0;
    for (int i = 0; i < c->found_count; i++)
        total += c->dof[i] == 0;
    for (int i = 0; i < continuous; i++)
        gw_add_branch(c->run, c->state, total > 1 ? number++ : -1, &sets[i]);
    for (int i = 0; i < c->found_count; i++) {
        if (c->dof[i] > 0)
            continue;
        isolated_set(c, &c->found[i], &single);
        gw_add_branch(c->run, c->state, total > 1 ? number++ : -1, &single);
    }
}

static void add_rows(completion *c)
{
    const gw_state *s = c->state;
    int n = 0;
    if (s->fixed)
        n += gw_fixed_rows(s->rotation, c->rows);
    for (int i = 0; i < s->direction_count && n + 2 <= MAX_ROWS; i++)
        n += gw_direction_rows(&s->directions[i], c->rows + n);
    for (int i = 0; i < s->place_count && n + 3 <= MAX_ROWS; i++)
        n += gw_place_rows(&s->places[i], c->rows + n);
    c->row_count = n;
}

static void find_middles(completion *c)
{
    const gw_state *s = c->state;
    c->middle_m = c->middle_f = gw_v3(0, 0, 0);
    for (int i = 0; i < s->place_count; i++) {
        const gw_place *p = &s->places[i];
        double share = 1.0 / s->place_count;
        c->middle_m = gw_mul_add(c->middle_m, share, p->body_owns ? p->b : p->a);
        c->middle_f = gw_mul_add(c->middle_f, share, p->body_owns ? p->a : p->b);
    }
}

void gw_complete(gw_run *run, const gw_state *state, bool any_sense)
{
    completion c;
    c.run = run;
    c.state = state;
    c.size = run->size;
    c.random = 1;
    c.found_count = 0;
    c.best = HUGE_VAL;
    c.any_sense = any_sense;
    add_rows(&c);
    find_middles(&c);
    search(&c);
    gw_solution *s = run->solution;
    s->best_residual = fmin(s->best_residual, c.best * c.size);
    if (c.found_count == 0)
        run->doubt = true;
    add_found(&c);
}
