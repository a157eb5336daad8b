/*
 * Random problems in series. Scales run from a micrometre to a megametre. Single-threaded.
 */
#include "tests/oracle/campaign.h"

#include <time.h>

#include "tests/oracle/oracle.h"
#include "tests/random.h"

#define MOST 8

typedef struct problem_made {
    gw_constraint c[MOST];
    gw_pose hidden;
    gw_problem problem;
} problem_made;

static const statement *all_statements(bool free_form, int *count)
{
    static statement list[2][MOST_STATEMENTS];
    static int n[2];
    if (n[free_form] == 0)
        n[free_form] = making_statements(free_form, list[free_form]);
    *count = n[free_form];
    return list[free_form];
}

static const statement *statements(int *count)
{
    return all_statements(false, count);
}

static void add_true(problem_made *m, const statement *s, numbers from, unsigned long long *random)
{
    m->c[m->problem.count] = making_true(s, from, &m->hidden, m->c, m->problem.count, random);
    m->problem.count++;
}

/* The size and the present pose: the hidden one, or a random one. Coordinates of free-form shapes
 * are at most 1e6 m. */
static void finish(problem_made *m, bool shapes, unsigned long long *random)
{
    double k = pow(10, 2 * (random_below(random, shapes ? 6 : 7) - 3));
    m->problem.pose = random_below(random, 3) ? making_pose(GENERAL, random) : m->hidden;
    making_scale(&m->problem, m->c, k);
    m->hidden.p = gw_scale(k, m->hidden.p);
}

static void start(problem_made *m, numbers from, unsigned long long *random)
{
    m->problem = (gw_problem){gw_pose_identity(), 1, 0, m->c};
    m->hidden = making_pose(from, random);
}

static void make_pair(problem_made *m, long number, unsigned long long *random)
{
    int n;
    const statement *list = statements(&n);
    numbers from = (numbers)(number / ((long)n * n) % 3);
    start(m, from, random);
    add_true(m, &list[number % n], from, random);
    add_true(m, &list[number / n % n], from, random);
}

static void make_true(problem_made *m, unsigned long long *random)
{
    int n, count = 2 + random_below(random, 5);
    const statement *list = statements(&n);
    numbers from = (numbers)random_below(random, 3);
    start(m, from, random);
    while (m->problem.count < count)
        add_true(m, &list[random_below(random, n)], from, random);
}

static void make_shapes(problem_made *m, unsigned long long *random)
{
    int n, count = 1 + random_below(random, 5);
    numbers from = (numbers)random_below(random, 3);
    start(m, from, random);
    while (m->problem.count < count) {
        bool shape = m->problem.count == 0 || random_below(random, 3) == 0;
        const statement *list = all_statements(shape, &n);
        add_true(m, &list[random_below(random, n)], from, random);
    }
}

static void make_beside(problem_made *m, unsigned long long *random)
{
    int n, count = 2 + random_below(random, 6);
    const statement *list = statements(&n);
    numbers from = (numbers)random_below(random, 3);
    start(m, from, random);
    for (; m->problem.count < count; m->problem.count++)
        m->c[m->problem.count] = making_beside(&list[random_below(random, n)], from, &m->hidden,
                                               m->c, m->problem.count, random);
}

/* Moves one number of a constraint by `by` (m or rad). */
static void nudge(gw_constraint *c, double by, unsigned long long *random)
{
    bool alike = c->mobile.kind == c->fixed.kind;
    gw_vec3 off = {random_uniform(random, -1, 1), random_uniform(random, -1, 1),
                   random_uniform(random, -1, 1)};
    if (c->kind == GW_DISTANCE && random_below(random, 2)) {
        c->value = c->value < 0 ? c->value - by : c->value + by;
    } else if (c->kind == GW_ANGLE && random_below(random, 2)) {
        double high = alike ? GW_PI : GW_PI / 2, low = alike ? 0 : -GW_PI / 2;
        c->value = c->value + by < high ? c->value + by : fmax(low, c->value - by);
    } else if (c->kind == GW_DISTANCE || c->kind == GW_COINCIDENT) {
        c->fixed.p = gw_mul_add(c->fixed.p, by, off);
    } else {
        c->fixed.d = gw_unit(gw_mul_add(c->fixed.d, by, off));
    }
}

/* Adds a copy of a constraint with another number or direction, or the other sense. */
static void contradict(problem_made *m, unsigned long long *random)
{
    gw_constraint *c = &m->c[m->problem.count];
    *c = m->c[random_below(random, m->problem.count)];
    m->problem.count++;
    if (gw_constraint_has_sense(c->kind, c->mobile.kind, c->fixed.kind) && c->sense &&
        random_below(random, 2))
        c->sense = c->sense == GW_SAME ? GW_OPPOSITE : GW_SAME;
    else
        nudge(c, 0.05 + random_uniform(random, 0, 0.5), random);
}

int campaign_step(series which, long number, const searches *how, unsigned long long *random,
                  tally *count)
{
    static problem_made m;
    searches h = *how;
    gw_error error;
    if (which == SERIES_PAIRS)
        make_pair(&m, number, random);
    else if (which == SERIES_BESIDE)
        make_beside(&m, random);
    else if (which == SERIES_SHAPES)
        make_shapes(&m, random);
    else
        make_true(&m, random);
    double by = 0;
    if (which == SERIES_NUDGED) {
        by = pow(10, random_uniform(random, -13, -0.5));
        nudge(&m.c[random_below(random, m.problem.count)], by, random);
    } else if (which == SERIES_CONTRARY) {
        by = 1;
        contradict(&m, random);
    }
    /* between these the tolerance decides whether a pose or a freedom exists */
    h.blurred = which == SERIES_BESIDE || (by > 1e-12 && by < 1e-5);
    h.lenient = which == SERIES_BESIDE;
    h.again = h.blurred ? 0 : h.again;
    finish(&m, which == SERIES_SHAPES, random);
    /* the check compares an offset with the focal distance at the present pose */
    if (which == SERIES_SHAPES && !gw_problem_check(&m.problem, &error))
        m.problem.pose = m.hidden;
    if (!gw_problem_check(&m.problem, &error)) {
        fprintf(stderr, "%s: %s\n", error.where, error.message);
        return 1;
    }
    /* a nudge within the tolerance leaves the hidden pose true */
    double off = oracle_worst(&m.problem, ~0ul, oracle_size(&m.problem), &m.hidden, NULL);
    /* from a copy, so that the solver's answers do not change the problems that follow */
    unsigned long long looks = *random;
    return judge(&m.problem, off < ORACLE_ROOT ? &m.hidden : NULL, &h, &looks, count);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

long campaign(double seconds, unsigned long long random, int only, FILE *to)
{
    static const char *const names[] = {"every pair of statements, true",
                                        "true sets",
                                        "true sets, one number nudged",
                                        "true sets, one contradicted",
                                        "true sets of elements beside one another",
                                        "true sets on free-form curves and surfaces"};
    long faults = 0;
    for (int i = 0; i < SERIES_COUNT; i++) {
        if (only >= 0 && i != only)
            continue;
        const searches how = {.starts = 60, .samples = 6, .again = 4};
        tally count = {.most_printed = 6, .to = to};
        double end = now() + seconds / (only < 0 ? SERIES_COUNT : 1);
        for (long n = 0; now() < end; n++)
            faults += campaign_step((series)i, n, &how, &random, &count);
        fprintf(to, "-- %s\n", names[i]);
        judge_print(to, &count);
    }
    return faults;
}
