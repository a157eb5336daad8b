/*
 * Problems made around a known pose: none may be refused, and the pose must be on a branch. Points
 * and directions come from a small lattice, so that special positions are frequent.
 */
#include "planting.h"

#include "rt/positioning/solver.h"

static int numeric_count, total_count;

/* Solves with the planted pose as the present one: a branch must be there. */
static void check_planted(const gw_constraint *c, int count, const gw_pose *x)
{
    gw_problem p = {*x, 1, count, c};
    solve(&p);
    total_count++;
    numeric_count += solution.method == GW_NUMERIC;
    double near = 1e-3; /* multiple roots hold to the cube root of round-off */
    if (solution.status != GW_SOLVED || !(solution.branches[0].distance < near)) {
        print_problem(c, count);
        for (int i = 0; i < solution.trace_count; i++)
            printf("  trace: %s\n", solution.trace[i].rule);
        fail_msg("status %d, distance %g, method %d, %d branches, condition %s, trial seed %llu",
                 solution.status, solution.branch_count ? solution.branches[0].distance : -1,
                 solution.method, solution.branch_count,
                 solution.status == GW_STATUS_INCOMPATIBLE ? solution.conflict.condition : "-",
                 seed);
    }
}

static void run(int trials, int count, bool lattice_rotations, bool lattice)
{
    numeric_count = total_count = 0;
    for (int trial = 0; trial < trials; trial++) {
        gw_constraint c[8];
        gw_pose x = {lattice ? lattice_point() : vector(),
                     lattice_rotations ? lattice_rotation() : rotation()};
        for (int i = 0; i < count; i++)
            c[i] = planted(&x, lattice);
        check_planted(c, count, &x);
    }
    printf("%d constraints: %d of %d numeric\n", count, numeric_count, total_count);
}

static void single_constraints_are_closed_forms(void **unused)
{
    (void)unused;
    run(400, 1, false, false);
    assert_int_equal(numeric_count, 0);
    run(400, 1, true, true);
    assert_int_equal(numeric_count, 0);
}

static void pairs_are_never_refused(void **unused)
{
    (void)unused;
    run(150, 2, false, false);
    run(400, 2, true, true);
    run(400, 2, false, true);
}

static void more_are_never_refused(void **unused)
{
    (void)unused;
    for (int count = 3; count < 6; count++) {
        run(60, count, false, false);
        run(200, count, true, true);
    }
}

/* Poses found by Newton's method on the fundamental rows from anywhere: none may be missing. */
static void found_poses_are_listed(int trials, int count, bool lattice_rotations, bool lattice)
{
    for (int trial = 0; trial < trials; trial++) {
        gw_constraint c[8];
        gw_pose x = {lattice ? lattice_point() : vector(),
                     lattice_rotations ? lattice_rotation() : rotation()};
        for (int i = 0; i < count; i++)
            c[i] = planted(&x, lattice);
        gw_problem p = {x, 1, count, c};
        double size = fmax(size_of(&p), 1e-3);
        gw_solver run_all = {.problem = &p, .use = ~0ul};
        static gw_solver_state state;
        memset(&state, 0, sizeof state);
        for (int i = 0; i < count; i++)
            gw_decompose(&run_all, &state, i, c[i].sense == GW_EITHER ? GW_SAME : c[i].sense);
        gw_row rows[GW_MAX_ROWS];
        int n = 0;
        for (int i = 0; i < state.distance_count; i++)
            n += gw_distance_rows(&state.distances[i], rows + n);
        for (int i = 0; i < state.angle_count; i++)
            n += gw_angle_rows(&state.angles[i], rows + n);
        for (int start = 0; start < 12; start++) {
            gw_pose y = random_pose();
            double residual = 0;
            if (gw_rows_project(rows, n, 6, 1, 60, &y) > 1e-12)
                continue;
            for (int i = 0; i < count; i++)
                residual = fmax(residual, gw_constraint_residual(&c[i], &y, size));
            if (residual < 1e-11)
                check_planted(c, count, &y);
        }
    }
}

static void no_pose_is_missing(void **unused)
{
    (void)unused;
    for (int count = 1; count < 5; count++) {
        found_poses_are_listed(12, count, false, false);
        found_poses_are_listed(25, count, true, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_constraints_are_closed_forms),
        cmocka_unit_test(pairs_are_never_refused),
        cmocka_unit_test(more_are_never_refused),
        cmocka_unit_test(no_pose_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
