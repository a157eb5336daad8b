/*
 * Isolated poses: all of them are found. Sets are made around a pose; what Newton's method finds
 * from many random starts, straight from the rows, must be among the answer.
 */
#include "planting.h"

#include <stdlib.h>
#include <time.h>

#include "rt/solve/solve_internal.h"

#define SAME 1e-5

/* ---- sets ------------------------------------------------------------------------------------ */

/* A constraint that the pose satisfies, in general position. */
static gw_constraint around(const gw_pose *x, gw_constraint_kind kind, gw_element_kind m,
                            gw_element_kind f)
{
    gw_constraint c = {.kind = kind, .sense = GW_SAME};
    c.mobile = (gw_element){m, vector(), direction()};
    c.fixed = (gw_element){f, vector(), direction()};
    gw_element moved = gw_element_moved(x, &c.mobile);
    align(&c, &moved, false);
    if (kind == GW_DISTANCE || kind == GW_COINCIDENT)
        place(&c, &moved);
    return c;
}

/* What a family is made of. */
typedef struct ingredient {
    int count;
    gw_constraint_kind kind;
    gw_element_kind mobile, fixed;
} ingredient;

typedef struct family {
    const char *name;
    int trials;
    double most_us; /* median */
    ingredient parts[4];
} family;

static int fill(const family *f, const gw_pose *x, gw_constraint *c)
{
    int n = 0;
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < f->parts[i].count; k++)
            c[n++] = around(x, f->parts[i].kind, f->parts[i].mobile, f->parts[i].fixed);
    return n;
}

/* ---- Newton's method from anywhere ----------------------------------------------------------- */

static int rows_of(const gw_problem *p, gw_row *rows)
{
    static gw_state state;
    gw_run run = {.problem = p, .use = ~0ul};
    int n = 0;
    memset(&state, 0, sizeof state);
    for (int i = 0; i < p->count; i++)
        gw_decompose(&run, &state, i, GW_SAME);
    for (int i = 0; i < state.place_count; i++)
        n += gw_place_rows(&state.places[i], rows + n);
    for (int i = 0; i < state.direction_count; i++)
        n += gw_direction_rows(&state.directions[i], rows + n);
    return n;
}

static bool satisfied(const gw_problem *p, const gw_pose *x, double slack)
{
    for (int i = 0; i < p->count; i++)
        if (gw_constraint_residual(&p->constraints[i], x, 1) > slack)
            return false;
    return true;
}

static bool listed(const gw_pose *x)
{
    for (int i = 0; i < solution.branch_count; i++)
        if (gw_pose_distance(&solution.branches[i].nearest, x, 1) < SAME)
            return true;
    return false;
}

/* How many poses are missing. */
static int missing(const gw_problem *p, int starts)
{
    gw_row rows[GW_MAX_ROWS];
    int n = rows_of(p, rows), count = 0;
    for (int k = 0; k < starts; k++) {
        gw_pose x = random_pose();
        x.p = gw_scale(2, x.p);
        if (gw_rows_project(rows, n, 1, 60, &x) < 1e-12 && satisfied(p, &x, 1e-11))
            count += !listed(&x);
    }
    return count;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check_family(const family *f)
{
    static double times[1000];
    int lost = 0, planted_lost = 0, restarts = 0, numeric = 0;
    int roots[256] = {0};
    for (int trial = 0; trial < f->trials; trial++) {
        gw_constraint c[8];
        gw_pose x = random_pose();
        gw_problem p = {gw_pose_identity(), 1, fill(f, &x, c), c};
        double start = now_us();
        gw_solve(&p, &solution);
        times[trial] = now_us() - start;
        assert_sound(&p, &solution);
        planted_lost += !listed(&x);
        lost += missing(&p, 40);
        numeric += solution.method == GW_NUMERIC;
        restarts += solution.complex_roots == 0;
        roots[solution.complex_roots]++;
    }
    qsort(times, (size_t)f->trials, sizeof *times, ascending);
    printf("%-46s %4d numeric, %3d unknown, median %6.0f us, p90 %6.0f, most %6.0f; lost %d+%d;", f->name, numeric, restarts,
           times[f->trials / 2], times[f->trials * 9 / 10], times[f->trials - 1], planted_lost, lost);
    for (int i = 1; i < 256; i++)
        if (roots[i])
            printf(" %d of %d", roots[i], i);
    printf("\n");
    fflush(stdout);
}

#define PT GW_POINT
#define LN GW_LINE
#define PL GW_PLANE
static const family families[] = {
    {"three points on three lines", 300, 1000, {{3, GW_COINCIDENT, PT, LN}}},
    {"six points on planes", 300, 1000, {{6, GW_COINCIDENT, PT, PL}}},
    {"six planes through points", 300, 1000, {{6, GW_COINCIDENT, PL, PT}}},
    {"seven points on planes", 100, 1000, {{7, GW_COINCIDENT, PT, PL}}},
    {"a point on a line, two on planes, two angles", 300, 1000,
     {{1, GW_COINCIDENT, PT, LN}, {2, GW_COINCIDENT, PT, PL}, {2, GW_ANGLE, LN, LN}}},
    {"four points on planes, two angles", 300, 1000, {{4, GW_COINCIDENT, PT, PL}, {2, GW_ANGLE, LN, LN}}},
    {"four points on planes, one parallel", 300, 1000, {{4, GW_DISTANCE, PT, PL}, {1, GW_PARALLEL, LN, LN}}},
    {"three spheres and three planes", 100, 20000, {{3, GW_DISTANCE, PT, PT}, {3, GW_COINCIDENT, PT, PL}}},
    {"two spheres and four planes", 100, 20000, {{2, GW_DISTANCE, PT, PT}, {4, GW_COINCIDENT, PT, PL}}},
    {"one sphere and five planes", 100, 20000, {{1, GW_DISTANCE, PT, PT}, {5, GW_COINCIDENT, PT, PL}}},
    {"six distances", 100, 20000, {{6, GW_DISTANCE, PT, PT}}},
    {"seven distances", 50, 20000, {{7, GW_DISTANCE, PT, PT}}},
    {"four distances, two planes", 50, 20000, {{4, GW_DISTANCE, PT, PT}, {2, GW_COINCIDENT, PT, PL}}},
    {"four distances and a parallel", 50, 20000, {{4, GW_DISTANCE, PT, PT}, {1, GW_PARALLEL, LN, LN}}},
    {"three planes on either side", 50, 20000, {{3, GW_COINCIDENT, PT, PL}, {3, GW_COINCIDENT, PL, PT}}},
    {"four planes and two of the body", 50, 20000, {{4, GW_COINCIDENT, PT, PL}, {2, GW_COINCIDENT, PL, PT}}},
    {"two points on lines, two lines through points", 50, 20000, {{2, GW_COINCIDENT, PT, LN}, {1, GW_COINCIDENT, LN, PT}}},
    {"a cylinder and five planes", 50, 20000, {{1, GW_DISTANCE, PT, LN}, {5, GW_COINCIDENT, PT, PL}}},
    {"two cylinders and four planes", 50, 20000, {{2, GW_DISTANCE, PT, LN}, {4, GW_COINCIDENT, PT, PL}}},
    {"a cylinder and five distances", 30, 20000, {{1, GW_DISTANCE, PT, LN}, {5, GW_DISTANCE, PT, PT}}},
    {"two cylinders and four distances", 30, 20000, {{2, GW_DISTANCE, PT, LN}, {4, GW_DISTANCE, PT, PT}}},
    {"one of the body, four distances", 30, 20000, {{1, GW_DISTANCE, PT, LN}, {1, GW_DISTANCE, LN, PT}, {4, GW_DISTANCE, PT, PT}}},
    {"three cylinders and a point", 30, 20000, {{3, GW_DISTANCE, PT, LN}, {1, GW_COINCIDENT, PT, PT}}},
    {"three cylinders and three planes", 30, 20000, {{3, GW_DISTANCE, PT, LN}, {3, GW_COINCIDENT, PT, PL}}},
    {"six cylinders", 10, 20000, {{6, GW_DISTANCE, PT, LN}}},
};

static void all_poses_of_a_family_are_found(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        check_family(&families[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_poses_of_a_family_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
