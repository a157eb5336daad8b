/*
 * Isolated poses: all of them are found. Sets are made around a pose; what Newton's method finds
 * from many random starts, straight from the rows, must be among the answer.
 */
#include "planting.h"

#include <stdlib.h>
#include <time.h>

#include "rt/positioning/polynomial/study_equations.h"
#include "rt/positioning/solver.h"

#define SAME 1e-5

/* ---- sets ------------------------------------------------------------------------------------ */

/* A constraint that the pose satisfies, in general position. */
static gw_constraint around(const gw_pose *x, gw_constraint_kind kind, gw_element_kind m,
                            gw_element_kind f)
{
    gw_constraint c = {.kind = kind, .sense = GW_SAME};
    c.mobile = (gw_element){.kind = m, .p = vector(), .d = direction()};
    c.fixed = (gw_element){.kind = f, .p = vector(), .d = direction()};
    unsigned long long unused = 0;
    making_hold(&c, x, &unused);
    return c;
}

/* The constraints of a family. */
typedef struct ingredient {
    int count;
    gw_constraint_kind kind;
    gw_element_kind mobile, fixed;
} ingredient;

typedef struct family {
    const char *name;
    int trials, starts; /* random starts of Newton's method a trial */
    int roots;          /* complex ones */
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
    static gw_solver_state state;
    gw_solver run = {.problem = p, .use = ~0ul};
    int n = 0;
    memset(&state, 0, sizeof state);
    for (int i = 0; i < p->count; i++)
        gw_decompose(&run, &state, i, GW_SAME);
    for (int i = 0; i < state.distance_count; i++)
        n += gw_distance_rows(&state.distances[i], rows + n);
    for (int i = 0; i < state.angle_count; i++)
        n += gw_angle_rows(&state.angles[i], rows + n);
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
        if (gw_rows_project(rows, n, 6, 1, 60, &x) < 1e-12 && satisfied(p, &x, 1e-11))
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

/* Every trial's count is the family's, and nothing that Newton's method finds is missing. */
static void check_family(const family *f)
{
    static double times[1000];
    for (int trial = 0; trial < f->trials; trial++) {
        gw_constraint c[8];
        gw_pose x = random_pose();
        gw_problem p = {gw_pose_identity(), 1, fill(f, &x, c), c};
        double start = now_us();
        gw_solve(&p, &solution);
        times[trial] = now_us() - start;
        assert_sound(&p, &solution);
        int lost = missing(&p, f->starts);
        bool counted = solution.complex_roots == f->roots && f->roots > 0 &&
                       solution.real_roots == solution.branch_count;
        counted = counted || solution.method == GW_CLOSED_FORM; /* rules count no roots */
        if (!listed(&x) || lost > 0 || !counted) {
            print_problem(c, p.count);
            fail_msg(
                "%s, trial %d: %d roots of %d, %d real, %d branches; %d starts end elsewhere%s",
                f->name, trial, solution.complex_roots, f->roots, solution.real_roots,
                solution.branch_count, lost, listed(&x) ? "" : ", the planted pose is missing");
        }
    }
    qsort(times, (size_t)f->trials, sizeof *times, ascending);
    printf("%-48s %2d roots, median %6.0f us, p90 %6.0f us\n", f->name, f->roots,
           times[f->trials / 2], times[f->trials * 9 / 10]);
}

#define PT GW_POINT
#define LN GW_LINE
#define PL GW_PLANE
#define ON GW_COINCIDENT
#define AT GW_DISTANCE
static const family families[] = {
    {"three points on three lines", 300, 40, 8, {{3, ON, PT, LN}}},
    {"six points on planes", 300, 40, 8, {{6, ON, PT, PL}}},
    {"six planes through points", 300, 40, 8, {{6, ON, PL, PT}}},
    {"seven points on planes", 100, 40, 1, {{7, ON, PT, PL}}},
    {"a point on a line, two on planes, two angles",
     300,
     40,
     8,
     {{1, ON, PT, LN}, {2, ON, PT, PL}, {2, GW_ANGLE, LN, LN}}},
    {"four points on planes, two angles", 300, 40, 8, {{4, ON, PT, PL}, {2, GW_ANGLE, LN, LN}}},
    {"four points at planes, one parallel",
     300,
     40,
     2,
     {{4, AT, PT, PL}, {1, GW_PARALLEL, LN, LN}}},
    {"one distance and five planes", 200, 40, 16, {{1, AT, PT, PT}, {5, ON, PT, PL}}},
    {"two distances and four planes", 200, 40, 32, {{2, AT, PT, PT}, {4, ON, PT, PL}}},
    {"three distances and three planes", 200, 40, 40, {{3, AT, PT, PT}, {3, ON, PT, PL}}},
    {"four distances and two planes", 100, 40, 40, {{4, AT, PT, PT}, {2, ON, PT, PL}}},
    {"five distances and a plane", 100, 40, 40, {{5, AT, PT, PT}, {1, ON, PT, PL}}},
    {"six distances", 200, 60, 40, {{6, AT, PT, PT}}},
    {"seven distances", 50, 60, 1, {{7, AT, PT, PT}}},
    {"three planes on either side", 100, 40, 20, {{3, ON, PT, PL}, {3, ON, PL, PT}}},
    {"four planes and two of the body", 100, 40, 20, {{4, ON, PT, PL}, {2, ON, PL, PT}}},
    {"a line in line, two planes through points", 300, 40, 2, {{1, ON, LN, LN}, {2, ON, PL, PT}}},
    {"a line in line, a line through a point", 300, 40, 2, {{1, ON, LN, LN}, {1, ON, LN, PT}}},
    {"a plane in plane, a line through a point, a point on a plane",
     300,
     40,
     2,
     {{1, ON, PL, PL}, {1, ON, LN, PT}, {1, ON, PT, PL}}},
    {"two points on lines, a line through a point", 100, 40, 8, {{2, ON, PT, LN}, {1, ON, LN, PT}}},
    {"a cylinder and five planes", 200, 40, 16, {{1, AT, PT, LN}, {5, ON, PT, PL}}},
    {"a cylinder, a distance and four planes",
     100,
     40,
     32,
     {{1, AT, PT, LN}, {1, AT, PT, PT}, {4, ON, PT, PL}}},
    {"two cylinders and four planes", 100, 40, 32, {{2, AT, PT, LN}, {4, ON, PT, PL}}},
    {"three cylinders and three planes", 100, 40, 64, {{3, AT, PT, LN}, {3, ON, PT, PL}}},
    {"three cylinders and a point", 100, 40, 64, {{3, AT, PT, LN}, {1, ON, PT, PT}}},
    {"a cylinder and five distances", 40, 20, 80, {{1, AT, PT, LN}, {5, AT, PT, PT}}},
    {"two cylinders and four distances", 20, 20, 160, {{2, AT, PT, LN}, {4, AT, PT, PT}}},
    {"a cylinder of either side and four distances",
     20,
     20,
     160,
     {{1, AT, PT, LN}, {1, AT, LN, PT}, {4, AT, PT, PT}}},
    {"three cylinders and three distances", 10, 20, 320, {{3, AT, PT, LN}, {3, AT, PT, PT}}},
    {"two cylinders, one of the body, and three distances",
     10,
     20,
     320,
     {{2, AT, PT, LN}, {1, AT, LN, PT}, {3, AT, PT, PT}}},
    {"three cylinders of the body and a point", 100, 40, 64, {{3, AT, LN, PT}, {1, ON, PT, PT}}},
    {"two parallels and three cylinders", 200, 40, 8, {{2, GW_PARALLEL, LN, LN}, {3, AT, PT, LN}}},
    {"two parallels, two cylinders and a plane",
     200,
     40,
     4,
     {{2, GW_PARALLEL, LN, LN}, {2, AT, PT, LN}, {1, ON, PT, PL}}},
    {"two parallels, two distances and a cylinder",
     200,
     40,
     4,
     {{2, GW_PARALLEL, LN, LN}, {2, AT, PT, PT}, {1, AT, PT, LN}}},
    {"two lines through points, a point on a line", 200, 40, 8, {{2, ON, LN, PT}, {1, ON, PT, LN}}},
    {"a point on a line, a line through a point, one in a plane",
     200,
     40,
     8,
     {{1, ON, PT, LN}, {1, ON, LN, PT}, {1, ON, LN, PL}}},
    {"a point on a line, a line through a point, a plane through a line",
     200,
     40,
     8,
     {{1, ON, PT, LN}, {1, ON, LN, PT}, {1, ON, PL, LN}}},
    {"a point on a line, two planes through lines", 200, 40, 8, {{1, ON, PT, LN}, {2, ON, PL, LN}}},
    {"a line through a point, two lines in planes", 200, 40, 8, {{1, ON, LN, PT}, {2, ON, LN, PL}}},
    {"a point on a line, a line through a point, two angles",
     200,
     40,
     8,
     {{1, ON, PT, LN}, {1, ON, LN, PT}, {2, GW_ANGLE, LN, LN}}},
    {"two planes of either side, two angles",
     100,
     40,
     16,
     {{2, ON, PT, PL}, {2, ON, PL, PT}, {2, GW_ANGLE, LN, LN}}},
};

static void all_poses_of_a_family_are_found(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        check_family(&families[i]);
}

/* Dietmaier, "The Stewart-Gough platform of general geometry can have 40 real postures" (1998). */
static void a_platform_with_forty_real_poses_has_them_all(void **unused)
{
    (void)unused;
    static const double base[6][3] = {
        {0, 0, 0},
        {1.107915, 0, 0},
        {0.549094, 0.756063, 0},
        {0.735077, -0.223935, 0.525991},
        {0.514188, -0.526063, -0.368418},
        {0.590473, 0.094733, -0.205018},
    };
    static const double platform[6][3] = {
        {0, 0, 0},
        {0.542805, 0, 0},
        {0.956919, -0.528915, 0},
        {0.665885, -0.353482, 1.402538},
        {0.478359, 1.158742, 0.107672},
        {-0.137087, -0.235121, 0.353913},
    };
    static const double legs[6] = {1, 0.645275, 1.086284, 1.503439, 1.281933, 0.771071};
    for (int trial = 0; trial < 20; trial++) { /* wherever it is, and however large */
        gw_pose world = random_pose(), body = random_pose();
        double size = pow(10, below(7) - 3);
        gw_constraint c[6];
        for (int i = 0; i < 6; i++) {
            const double *a = base[i], *b = platform[i];
            c[i] =
                distance(point_at(gw_scale(size, gw_pose_point(&body, gw_v3(b[0], b[1], b[2])))),
                         point_at(gw_scale(size, gw_pose_point(&world, gw_v3(a[0], a[1], a[2])))),
                         size * legs[i]);
        }
        solve_set(c, 6);
        assert_int_equal(solution.branch_count, 40);
        assert_int_equal(solution.complex_roots, 40);
        assert_int_equal(solution.real_roots, 40);
    }
}

/* The table of start_roots.c belongs to the numbers of start_system.c. */
static void paths_start_from_roots(void **unused)
{
    (void)unused;
    for (int cylinders = 0; cylinders <= GW_MAX_START_CYLINDERS; cylinders++) {
        gw_study_homotopy s;
        gw_start_system(cylinders, &s);
        memset(s.to, 0, sizeof s.to);
        memset(s.to_axis, 0, sizeof s.to_axis);
        gw_study_matrices ways;
        gw_study_matrices_of(&s, &ways);
        for (int i = 0; i < gw_start_root_count(cylinders); i++) {
            gw_complex_pose x = gw_start_root(cylinders, &s, i);
            gw_complex v[8];
            gw_complex_lanes lanes[8] = {{{0}, {0}}};
            gw_lanes tau = {0};
            gw_linearisation at;
            gw_study_point(&x, v);
            for (int n = 0; n < 8; n++)
                gw_lane_set(&lanes[n], i % GW_LANES, v[n]);
            gw_study_evaluate(&ways, lanes, &tau, false, &at);
            for (int k = 0; k < 7; k++) {
                double terms = 0;
                for (int n = 0; n < 8; n++)
                    terms = fmax(terms, cabs(gw_lane_get(&at.j[k][n], i % GW_LANES)) * cabs(v[n]));
                assert_true(cabs(gw_lane_get(&at.f[k], i % GW_LANES)) < 1e-6 * terms);
            }
            for (int k = 0; k < i; k++) {
                gw_complex_pose y = gw_start_root(cylinders, &s, k);
                assert_true(cabs(y.e[1] - x.e[1]) + cabs(y.e[2] - x.e[2]) > 1e-4);
            }
        }
    }
}

/* No method finds all poses of six cylinders in time: the answer says so. */
static void restarts_are_named(void **unused)
{
    (void)unused;
    static const family cylinders = {"six cylinders", 0, 0, 0, {{6, AT, PT, LN}}};
    for (int trial = 0; trial < 5; trial++) {
        gw_constraint c[8];
        gw_pose x = random_pose();
        bool told = false;
        solve_set(c, fill(&cylinders, &x, c));
        assert_int_equal(solution.complex_roots, 0);
        for (int i = 0; i < solution.trace_count; i++)
            told = told || strstr(solution.trace[i].rule, "there may be more");
        assert_true(told || solution.branch_count == 0);
    }
}

/* ---- what follows from what --------------------------------------------------------------------
 */

/* The bits of the redundant constraints. */
static unsigned long redundant(void)
{
    unsigned long bits = 0;
    for (int i = 0; i < solution.redundant_count; i++)
        bits |= 1ul << solution.redundant[i].index;
    return bits;
}

/* A copy of one of the constraints of a numeric set is redundant, because of that one alone. */
static void copies_in_numeric_sets_are_redundant(void **unused)
{
    (void)unused;
    static const family sets[] = {
        {"two distances", 20, 0, 0, {{2, AT, PT, PT}}},
        {"a distance and an axis", 20, 0, 0, {{1, AT, PT, PT}, {1, AT, PT, LN}}},
        {"planes of either side", 20, 0, 0, {{2, ON, PT, PL}, {2, AT, PL, PT}}},
        {"five distances", 10, 0, 0, {{5, AT, PT, PT}}},
        {"six distances", 10, 0, 0, {{6, AT, PT, PT}}},
        {"six planes", 20, 0, 0, {{6, ON, PT, PL}}},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        for (int trial = 0; trial < sets[i].trials; trial++) {
            gw_constraint c[8];
            gw_pose x = random_pose();
            int n = fill(&sets[i], &x, c), of = below(n);
            solve_set(c, n);
            if (solution.method != GW_NUMERIC)
                fail_msg("%s: not numeric", sets[i].name);
            assert_int_equal(redundant(), 0);
            c[n] = c[of];
            solve_set(c, n + 1);
            if (redundant() != 1ul << n || solution.redundant[0].because != 1ul << of)
                fail_msg("%s: redundant %lx, copied %d", sets[i].name, redundant(), of);
        }
}

/* Four points of the body in one plane, and in one of the world: one of them follows. */
static void a_fourth_point_on_a_plane_is_redundant(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 20; trial++) {
        gw_pose x = random_pose();
        gw_vec3 o = vector(), n = direction(), u = gw_any_normal(n), v = gw_cross(n, u);
        gw_element floor = plane(gw_pose_point(&x, o), gw_rotate(x.q, n));
        gw_constraint c[7];
        for (int i = 0; i < 4; i++)
            c[i] = coincident(
                point_at(gw_add(o, gw_add(gw_scale(uniform(), u), gw_scale(uniform(), v)))), floor);
        for (int i = 4; i < 6; i++)
            c[i] = around(&x, GW_DISTANCE, GW_POINT, GW_POINT);
        solve_set(c, 6);
        assert_int_equal(solution.method, GW_NUMERIC);
        assert_int_equal(redundant(), 1ul << 3);
    }
}

/* A seventh distance that one of many poses satisfies does not follow from six. */
static void what_takes_poses_away_is_not_redundant(void **unused)
{
    (void)unused;
    static const family seven = {"seven distances", 0, 0, 0, {{7, AT, PT, PT}}};
    for (int trial = 0; trial < 10; trial++) {
        gw_constraint c[8];
        gw_pose x = random_pose();
        fill(&seven, &x, c);
        solve_set(c, 6);
        int poses = solution.branch_count;
        solve_set(c, 7);
        assert_int_equal(solution.branch_count, 1);
        assert_int_equal(redundant() >> 6 & 1, poses == 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_start_from_roots),
        cmocka_unit_test(all_poses_of_a_family_are_found),
        cmocka_unit_test(a_platform_with_forty_real_poses_has_them_all),
        cmocka_unit_test(restarts_are_named),
        cmocka_unit_test(copies_in_numeric_sets_are_redundant),
        cmocka_unit_test(a_fourth_point_on_a_plane_is_redundant),
        cmocka_unit_test(what_takes_poses_away_is_not_redundant),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
