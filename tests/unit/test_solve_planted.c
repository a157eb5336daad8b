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

/* ---- far from the world's origin ------------------------------------------------------------- */

/* The branches of a set are those of the set at a place, ten kilometres off, and are tracked there.
 */
static void compare_far(const gw_constraint *c, int count, const gw_pose *x)
{
    static gw_solution near;
    const gw_vec3 off = {8192, -4096, 2048};
    gw_constraint there[8];
    gw_problem p = {*x, 1, count, c}, far = {{gw_add(x->p, off), x->q}, 1, count, there};
    gw_solve(&p, &near);
    for (int i = 0; i < count; i++) {
        there[i] = c[i];
        there[i].fixed.p = gw_add(c[i].fixed.p, off);
    }
    gw_solve(&far, &solution);
    assert_int_equal(solution.status, near.status);
    if (near.method == GW_NUMERIC && near.dof > 0)
        return; /* which branches a search from starts finds is not certain */
    assert_int_equal(solution.branch_count, near.branch_count);
    for (int i = 0; i < near.branch_count; i++) {
        const gw_branch *b = &solution.branches[i];
        unsigned long long random = 9;
        gw_branch after;
        gw_pose y = gw_branch_sample(b, 1, &random), on;
        assert_int_equal(b->set.dof, near.branches[i].set.dof);
        assert_true(fabs(b->distance - near.branches[i].distance) < 1e-5);
        for (int k = 0; k < count; k++) {
            assert_true(gw_constraint_residual(&there[k], &b->nearest, 1) < 1e-8);
            assert_true(gw_constraint_residual(&there[k], &y, 1) < 1e-8);
        }
        assert_true(gw_solve_branch(&far, b, &after));
        assert_string_equal(after.id, b->id);
        assert_true(gw_submanifold_nearest(&after.set, &b->nearest, 1, &on) < 1e-5);
    }
}

static void a_set_far_from_the_origin_has_the_same_branches(void **unused)
{
    (void)unused;
    gw_constraint c[6];
    for (int i = 0; i < 250; i++) {
        int count = 1 + i % 6;
        gw_pose x = random_pose();
        for (int k = 0; k < count; k++)
            c[k] = planted(&x, false);
        compare_far(c, count, &x);
    }
}

/* So far off that rounding of the coordinates moves elements by more than the tolerance of what
 * they span: it refuses no set. */
static void rounding_of_far_coordinates_refuses_no_set(void **unused)
{
    (void)unused;
    static const double far[] = {1e7, 1e9, 1e12, 1e15};
    int solved = 0, count = 0;
    for (int i = 0; i < 1000; i++) {
        gw_vec3 off = gw_scale(far[i % 4], direction());
        gw_pose x = random_pose();
        gw_constraint c[5];
        gw_problem p = {{gw_add(x.p, off), x.q}, 1, 1 + i % 5, c};
        for (int k = 0; k < p.count; k++) {
            c[k] = planted(&x, false);
            c[k].fixed.p = gw_add(c[k].fixed.p, off);
        }
        gw_solve(&p, &solution);
        assert_int_not_equal(solution.status, GW_STATUS_INCOMPATIBLE);
        solved += solution.status == GW_SOLVED;
        count++;
        for (int b = 0; b < solution.branch_count; b++)
            for (int k = 0; k < p.count; k++)
                assert_true(gw_constraint_residual(&c[k], &solution.branches[b].nearest, 1) <
                            1e-7 + 2e-14 * far[i % 4]);
    }
    printf("%d of %d far sets solved\n", solved, count);
    assert_true(solved > 0.95 * count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_constraints_are_closed_forms),
        cmocka_unit_test(pairs_are_never_refused),
        cmocka_unit_test(more_are_never_refused),
        cmocka_unit_test(no_pose_is_missing),
        cmocka_unit_test(a_set_far_from_the_origin_has_the_same_branches),
        cmocka_unit_test(rounding_of_far_coordinates_refuses_no_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
