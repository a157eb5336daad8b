/*
 * General sets of one freedom: curves that cross themselves or one another, that come in pieces, or
 * lie far from what they are made of. What is known of them in closed form must be on a branch.
 */
#include "planting.h"

#include "rt/geometry/geodesic.h"
#include "rt/geometry/implicit_curve.h"

static double off_branches(const gw_pose *x)
{
    double least = HUGE_VAL;
    for (int i = 0; i < solution.branch_count; i++) {
        gw_pose on;
        least = fmin(least, gw_submanifold_nearest(&solution.branches[i].set, x, 1, &on));
    }
    return least;
}

/* The same problem wherever it is put: an element of the body or of the world. */
static gw_element put(const gw_pose *frame, gw_element e)
{
    return gw_element_moved(frame, &e);
}

static void solve_by(gw_method method, const gw_constraint *c, int count, const gw_pose *pose)
{
    gw_problem p = {*pose, 1, count, c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    assert_int_equal(solution.method, method);
    assert_int_equal(solution.dof, 1);
    assert_sound(&p, &solution);
}

static void solve_from(const gw_constraint *c, int count, const gw_pose *pose)
{
    solve_by(GW_NUMERIC, c, count, pose);
}

static const gw_vec3 ex = {1, 0, 0}, ey = {0, 1, 0}, ez = {0, 0, 1}, origin = {0, 0, 0};

/* The body keeps its orientation; its origin is at a distance from a centre and from an axis. */
static void state_window(gw_constraint c[4], const gw_pose *body, const gw_pose *world,
                         double radius, double aside)
{
    gw_element pin = put(body, point_at(origin));
    c[0] = sensed((gw_constraint){.kind = GW_PARALLEL}, GW_SAME);
    c[0].mobile = put(body, line(origin, ex)), c[0].fixed = put(world, line(origin, ex));
    c[1] = c[0];
    c[1].mobile = put(body, line(origin, ey)), c[1].fixed = put(world, line(origin, ey));
    c[2] = distance(pin, put(world, point_at(origin)), 1);
    c[3] = distance(pin, put(world, line(gw_v3(aside, 0, 0), ez)), radius);
}

static gw_pose posed(const gw_pose *world, const gw_pose *body, gw_vec3 p, gw_quat q)
{
    gw_pose x = {p, q}, back = gw_pose_inverse(body), out = gw_pose_mul(world, &x);
    return gw_pose_mul(&out, &back);
}

/* Viviani's window, (cos^2 u, cos u sin u, sin u): a figure of eight, crossing at (1, 0, 0). */
static void a_curve_that_crosses_itself_is_one_branch(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 30; trial++) {
        gw_constraint c[4];
        gw_pose body = random_pose(), world = random_pose(), from = random_pose();
        state_window(c, &body, &world, 0.5, 0.5);
        if (trial % 3 == 0) /* at the crossing */
            from = posed(&world, &body, ex, gw_quat_identity());
        solve_from(c, 4, &from);
        assert_int_equal(solution.branch_count, 1);
        if (trial % 3 == 0)
            assert_true(solution.branches[0].distance < 1e-6);
        for (double u = 0.01; u < 2 * GW_PI; u += 0.1) {
            gw_vec3 p = gw_v3(cos(u) * cos(u), cos(u) * sin(u), sin(u));
            gw_pose x = posed(&world, &body, p, gw_quat_identity());
            assert_true(off_branches(&x) < 1e-6);
        }
    }
}

static void a_curve_in_two_pieces_is_two_branches(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 30; trial++) {
        gw_constraint c[4];
        gw_pose body = random_pose(), world = random_pose(), from = random_pose();
        state_window(c, &body, &world, 0.49, 0.5); /* they all but touch */
        solve_from(c, 4, &from);
        assert_int_equal(solution.branch_count, 2);
        for (double u = 0.01; u < 2 * GW_PI; u += 0.3)
            for (int side = -1; side <= 1; side += 2) {
                double x = 0.5 + 0.49 * cos(u), y = 0.49 * sin(u);
                gw_vec3 p = gw_v3(x, y, side * sqrt(1 - x * x - y * y));
                gw_pose pose = posed(&world, &body, p, gw_quat_identity());
                assert_true(off_branches(&pose) < 1e-6);
            }
    }
}

/* A parallelogram of cranks 0.4 and ground 1: it swings as one, or folds over; both pass through
 * its two stretched poses. */
static void curves_that_cross_are_branches_each(void **unused)
{
    (void)unused;
    const gw_vec3 far = {1, 0, 0};
    for (int trial = 0; trial < 30; trial++) {
        gw_constraint c[3];
        gw_pose body = random_pose(), world = random_pose(), from = random_pose();
        c[0] = sensed(coincident(put(&body, plane(origin, ez)), put(&world, plane(origin, ez))),
                      GW_SAME);
        c[1] = distance(put(&body, point_at(origin)), put(&world, line(origin, ez)), 0.4);
        c[2] = distance(put(&body, point_at(far)), put(&world, line(far, ez)), 0.4);
        if (trial % 3 == 0)
            from = posed(&world, &body, gw_v3(0.4, 0, 0), gw_quat_identity());
        solve_from(c, 3, &from);
        assert_int_equal(solution.branch_count, 2);
        for (double u = 0.01; u < 2 * GW_PI; u += 0.1) {
            gw_vec3 p = gw_v3(0.4 * cos(u), 0.4 * sin(u), 0);
            gw_pose x = posed(&world, &body, p, gw_quat_identity());
            assert_true(off_branches(&x) < 1e-6);
            /* folded: the coupler's end is the far crank's other end */
            double dx = 1 - p.x, dy = -p.y, d2 = dx * dx + dy * dy;
            double along = (1 + d2 - 0.16) / (2 * d2), across = sqrt(1 / d2 - along * along);
            for (int side = -1; side <= 1; side += 2) {
                double vx = along * dx - side * across * dy, vy = along * dy + side * across * dx;
                x = posed(&world, &body, p, gw_quat_axis(ez, atan2(vy, vx)));
                assert_true(off_branches(&x) < 1e-6);
            }
        }
    }
}

/* Two cylinders whose axes meet far from the points that they are stated by. */
static void curves_far_away_are_found(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 30; trial++) {
        gw_constraint c[4];
        gw_pose body = random_pose(), world = random_pose(), from = random_pose();
        gw_vec3 tilted = gw_unit(gw_v3(0.2, 0, 1)), away = gw_scale(-5, tilted);
        state_window(c, &body, &world, 0.3, 0);
        c[2] = distance(put(&body, point_at(origin)), put(&world, line(away, tilted)), 0.4);
        c[3].fixed = put(&world, line(gw_v3(0, 0, -5), ez));
        solve_from(c, 4, &from);
        assert_int_equal(solution.branch_count, 2);
    }
}

/* A shaft in its bearing, and a point that stays in a plane all but along the shaft: once round,
 * the body slides 170 sizes to and fro. Whichever of both has the plane, that is one curve; it is
 * traced where the body has it. */
static void a_curve_that_comes_back_from_far_away_is_one_branch(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 20; trial++) {
        gw_pose body = random_pose(), world = random_pose(), from = random_pose();
        gw_element leaning = plane(origin, gw_unit(gw_v3(1, 0, 0.006))), tip = point_at(ex);
        gw_constraint c[2];
        c[0] = sensed(coincident(put(&body, line(origin, ez)), put(&world, line(origin, ez))),
                      GW_SAME);
        c[1] = coincident(put(&body, trial & 1 ? leaning : tip),
                          put(&world, trial & 1 ? tip : leaning));
        solve_by(trial & 1 ? GW_NUMERIC : GW_CLOSED_FORM, c, 2, &from);
        assert_int_equal(solution.branch_count, 1);
    }
}

/* A plane on a plane, either way, and a line that all but lies in it at a distance from a point
 * above: far along the line. Each sense has its share of the search. */
static void sets_far_away_are_found_in_either_sense(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 30; trial++) {
        gw_constraint c[2];
        gw_pose body = random_pose(), world = random_pose(), from = random_pose();
        c[0] = coincident(put(&body, plane(origin, ez)), put(&world, plane(origin, ez)));
        c[1] = distance(put(&body, line(origin, gw_v3(1, 0, 0.2))),
                        put(&world, point_at(gw_v3(0, 0, 1))), 0.2);
        gw_problem p = {from, 1, 2, c};
        gw_solve(&p, &solution);
        assert_int_equal(solution.status, GW_SOLVED);
        assert_int_equal(solution.dof, 2);
        assert_int_equal(solution.branch_count, 2);
        assert_sound(&p, &solution);
    }
}

/* The walk's own account of where it has been. */
static void a_trace_passes_poses_of_its_own_curve_alone(void **unused)
{
    (void)unused;
    gw_constraint c[4];
    gw_pose body = random_pose(), world = random_pose(), from = random_pose();
    state_window(c, &body, &world, 0.49999, 0.5);
    solve_from(c, 4, &from);
    assert_int_equal(solution.branch_count, 2);
    gw_pose on, top = posed(&world, &body, gw_v3(0.00001, 0, sqrt(1 - 1e-10)), gw_quat_identity());
    double off[2];
    for (int i = 0; i < 2; i++)
        off[i] = gw_submanifold_nearest(&solution.branches[i].set, &top, 1, &on);
    assert_true(fmin(off[0], off[1]) < 1e-6);
    assert_true(fmax(off[0], off[1]) > 0.5);
}

/* Lengths along a curve lead to poses on it and back, also over a tight bend, where two pieces all
 * but touch, and as far as samples are drawn. */
static void lengths_along_a_curve_lead_to_its_poses_and_back(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 12; trial++) {
        gw_constraint c[4];
        gw_pose body = random_pose(), world = random_pose(), from = random_pose();
        state_window(c, &body, &world, trial % 2 ? 0.4999 : 0.49, 0.5);
        solve_from(c, 4, &from);
        for (int b = 0; b < solution.branch_count; b++) {
            const gw_branch *branch = &solution.branches[b];
            gw_branch_point points[40];
            unsigned long long random = 5;
            gw_branch_samples(branch, 1, &random, 40, points);
            for (int i = 0; i < 40; i++) {
                gw_pose x, on;
                double s;
                assert_true(points[i].parameterised);
                assert_true(gw_branch_pose(branch, points[i].parameters, &x));
                assert_memory_equal(&x, &points[i].pose, sizeof x);
                assert_true(gw_implicit_curve_length(&branch->set, &x, &s));
                assert_true(gw_implicit_curve_pose(&branch->set, s, &on));
                assert_true(gw_pose_distance(&x, &on, 1) < 1e-8);
                assert_true(fabs(s) < fabs(points[i].parameters[0]) + 0.3); /* nearer: by a step */
            }
        }
    }
}

/* A length is that of the way: of a circle, whose poses are known. */
static void lengths_along_a_circle_are_its_arcs(void **unused)
{
    (void)unused;
    for (double radius = 1e-3; radius < 2e3; radius *= 1e3) {
        gw_submanifold set;
        memset(&set, 0, sizeof set);
        set.general = true, set.dof = 1, set.row_count = 5;
        set.rotation.kind = GW_ROTATION_GENERAL;
        set.translation.locus.kind = GW_LOCUS_GENERAL;
        set.rows[0] = (gw_row){.kind = GW_ROW_ANGLE, .m = ex, .n = ey};
        set.rows[1] = (gw_row){.kind = GW_ROW_ANGLE, .m = ex, .n = ez};
        set.rows[2] = (gw_row){.kind = GW_ROW_ANGLE, .m = ey, .n = ez};
        set.rows[3] = (gw_row){.kind = GW_ROW_SPHERE, .f = ey, .n = ez, .value = radius};
        set.rows[4] = (gw_row){.kind = GW_ROW_PLANE, .f = ey, .n = ez};
        set.seed = (gw_pose){gw_v3(radius, 1, 0), gw_quat_identity()};
        double unit = gw_exponential_map_unit(&set);
        for (int k = -30; k <= 30; k++) {
            gw_pose x;
            double s = 0.1 * k * radius;
            assert_true(gw_implicit_curve_pose(&set, s, &x));
            double turn = atan2(x.p.y - 1, x.p.x), most = 0.005 * fabs(0.1 * k) + 1e-9 * unit;
            assert_true(fabs(fabs(turn) - fabs(0.1 * k)) < most / fmin(radius, 1));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_curve_that_crosses_itself_is_one_branch),
        cmocka_unit_test(a_curve_in_two_pieces_is_two_branches),
        cmocka_unit_test(curves_that_cross_are_branches_each),
        cmocka_unit_test(a_curve_that_comes_back_from_far_away_is_one_branch),
        cmocka_unit_test(curves_far_away_are_found),
        cmocka_unit_test(sets_far_away_are_found_in_either_sense),
        cmocka_unit_test(a_trace_passes_poses_of_its_own_curve_alone),
        cmocka_unit_test(lengths_along_a_curve_lead_to_its_poses_and_back),
        cmocka_unit_test(lengths_along_a_circle_are_its_arcs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
