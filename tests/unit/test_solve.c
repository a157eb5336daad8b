/*
 * The papers' examples: relational-positioning VI-A, framework III-C and V.
 */
#include "solve_util.h"

#include "rt/positioning/solver.h"

static void simple_example_has_one_freedom_and_a_redundant_constraint(void **unused)
{
    (void)unused;
    gw_constraint c[] = {coincident(point(0, 5, 3), line(gw_v3(0, 0, 3), gw_v3(0, 1, 0))),
                         coincident(point(0, 5, 3), line(gw_v3(0, 0, 3), gw_v3(0, 0, 1))),
                         coincident(point(0, 7, 3), point(-2, 0, 3))};
    solve_set(c, 3);
    assert_mobility(1, 1, 0);
    assert_int_equal(solution.method, GW_CLOSED_FORM);
    const gw_branch *b = &solution.branches[0];
    assert_string_equal(b->id, "b0");
    assert_int_equal(b->set.rotation.kind, GW_ROTATION_AXIS);
    assert_vec(b->set.rotation.axis, gw_v3(-1, 0, 0), 1e-12);
    assert_int_equal(b->set.translation.locus.kind, GW_LOCUS_POINT);
    assert_vec(b->set.translation.of, gw_v3(0, 5, 3), 1e-12);
    assert_vec(b->set.translation.locus.origin, gw_v3(0, 0, 3), 1e-12);
    assert_int_equal(solution.redundant_count, 1);
    assert_int_equal(solution.redundant[0].index, 1);
    assert_int_equal(solution.redundant[0].because, 5);
    assert_int_equal(solution.implied_count, 1);
    assert_int_equal(solution.implied[0].from, 5);
    /* eqs. (15) and (17) at phi = 0 */
    double phi = 0;
    gw_pose x = gw_submanifold_pose(&b->set, &phi);
    assert_vec(x.p, gw_v3(5, 0, 0), 1e-12);
    assert_vec(gw_rotate(x.q, gw_v3(1, 0, 0)), gw_v3(0, 1, 0), 1e-12);
    assert_vec(gw_rotate(x.q, gw_v3(0, 1, 0)), gw_v3(-1, 0, 0), 1e-12);
    /* eq. (15): columns at any phi */
    phi = 0.8;
    x = gw_submanifold_pose(&b->set, &phi);
    assert_vec(gw_rotate(x.q, gw_v3(1, 0, 0)), gw_v3(0, cos(phi), -sin(phi)), 1e-12);
    assert_vec(gw_rotate(x.q, gw_v3(0, 0, 1)), gw_v3(0, sin(phi), cos(phi)), 1e-12);
}

static void two_points_on_skew_lines_at_their_distance_turn_about_the_normal(void **unused)
{
    (void)unused;
    gw_constraint c[] = {coincident(point(0, 0, 0), line(gw_v3(1, 0, 0), gw_v3(1, 0, 0))),
                         coincident(point(0, 0, 2), line(gw_v3(0, 4, 2), gw_v3(0, 1, 0)))};
    solve_set(c, 2);
    assert_mobility(1, 1, 0);
    assert_vec(solution.branches[0].set.translation.locus.origin, gw_v3(0, 0, 0), 1e-12);
}

static void two_points_on_parallel_lines_slide_and_turn(void **unused)
{
    (void)unused;
    gw_constraint c[] = {coincident(point(0, 0, 0), line(gw_v3(1, 0, 0), gw_v3(1, 0, 0))),
                         coincident(point(0, 0, 2), line(gw_v3(5, 0, 2), gw_v3(1, 0, 0)))};
    solve_set(c, 2);
    assert_mobility(1, 1, 1);
    assert_vec(solution.branches[0].set.rotation.axis, gw_v3(0, 0, 1), 1e-12);
}

static void two_points_farther_apart_than_parallel_lines_have_two_branches(void **unused)
{
    (void)unused;
    gw_constraint c[] = {coincident(point(0, 0, 0), line(gw_v3(1, 0, 0), gw_v3(1, 0, 0))),
                         coincident(point(0, 0, 2.5), line(gw_v3(5, 0, 2), gw_v3(1, 0, 0)))};
    solve_set(c, 2);
    assert_mobility(2, 1, 1);
    assert_vec(solution.branches[0].set.rotation.axis, gw_v3(0.6, 0, 0.8), 1e-12);
    assert_vec(solution.branches[1].set.rotation.axis, gw_v3(-0.6, 0, 0.8), 1e-12);
    assert_string_equal(solution.branches[0].id, "b0");
    assert_string_equal(solution.branches[1].id, "b1");
}

static gw_constraint plane_on_plane(void)
{
    return sensed(coincident(plane(gw_v3(0.01, 0.02, 0), gw_v3(0, 0, -1)),
                             plane(gw_v3(0.3, 0.1, 0.1), gw_v3(0, 0, 1))),
                  GW_OPPOSITE);
}

static void plane_on_plane_turns_and_slides(void **unused)
{
    (void)unused;
    gw_constraint c = plane_on_plane();
    solve_set(&c, 1);
    assert_mobility(1, 1, 2);
    const gw_submanifold *set = &solution.branches[0].set;
    assert_int_equal(set->translation.locus.kind, GW_LOCUS_PLANE);
    assert_vec(set->translation.of, c.mobile.p, 0);
    char words[128];
    gw_submanifold_description(set, NULL, words, sizeof words);
    assert_string_equal(words, "3 freedoms: slides in the plane (2), turns about its normal (1)");
}

static void with_a_line_distance_it_moves_on_a_circle(void **unused)
{
    (void)unused;
    for (int shifted = 0; shifted < 2; shifted++) {
        /* the cone's axis against the cylinder's, support points on or off the planes */
        gw_vec3 on_axis = gw_v3(0, 0, shifted ? 0.07 : 0),
                on_fixed = gw_v3(0, 0, shifted ? -3 : 0.1);
        gw_constraint c[] = {plane_on_plane(), distance(line(on_axis, gw_v3(0, 0, 1)),
                                                        line(on_fixed, gw_v3(0, 0, 1)), 0.1)};
        solve_set(c, 2);
        assert_mobility(1, 1, 1);
        const gw_submanifold *set = &solution.branches[0].set;
        assert_int_equal(set->translation.locus.kind, GW_LOCUS_CIRCLE);
        assert_true(fabs(set->translation.locus.a - 0.1) < 1e-15);
        assert_vec(set->translation.locus.origin, gw_v3(0, 0, 0.1), 1e-12);
        assert_vec(set->translation.of, gw_v3(0, 0, 0), 1e-12);
        assert_int_equal(solution.redundant_count, 0);
        char words[128];
        gw_submanifold_description(set, NULL, words, sizeof words);
        assert_string_equal(words,
                            "2 freedoms: moves along the circle (1), turns about its axis (1)");
    }
}

static void either_sense_branches_and_both_are_named_for_it(void **unused)
{
    (void)unused;
    gw_constraint c = sensed(plane_on_plane(), GW_EITHER);
    solve_set(&c, 1);
    assert_mobility(2, 1, 2);
    assert_string_equal(solution.branches[0].id, "b1"); /* opposite, and nearer */
    assert_string_equal(solution.branches[1].id, "b0");
}

static void no_constraint_leaves_everything_free(void **unused)
{
    (void)unused;
    solve_set(NULL, 0);
    assert_mobility(1, 3, 3);
    char words[64];
    gw_submanifold_description(&solution.branches[0].set, NULL, words, sizeof words);
    assert_string_equal(words, "6 freedoms: free");
    assert_true(solution.branches[0].distance == 0);
}

/* A point on two cylinders has no closed form; its place does not depend on how the body turns. */
static void one_point_does_not_shift_as_the_body_turns(void **unused)
{
    (void)unused;
    gw_vec3 o = {0, 0, 0}, high = {0, 0, 0.8}, arm = {0.3, 0, 0};
    gw_constraint c[] = {distance(point_at(o), line(o, gw_v3(1, 0, 0)), 1),
                         distance(point_at(o), line(high, gw_v3(0, 1, 0)), 0.5)};
    char words[128];
    solve_set(c, 2);
    gw_submanifold_description(&solution.branches[0].set, NULL, words, sizeof words);
    assert_string_equal(words, "4 freedoms: slides (1), turns freely (3)");
    c[1].mobile.p = arm;
    solve_set(c, 2);
    gw_submanifold_description(&solution.branches[0].set, NULL, words, sizeof words);
    assert_non_null(strstr(words, "shifting as it turns"));
}

/* A demand on one part is not reported as out of the object's reach. */
static void a_conflict_of_one_point_tells_of_the_same_part(void **unused)
{
    (void)unused;
    gw_vec3 o = {0, 0, 0}, x = {1, 0, 0}, y = {0, 1, 0}, high = {0, 0, 2};
    const gw_element on[][2] = {{line(o, x), line(high, y)},
                                {line(o, x), line(high, x)},
                                {line(o, x), plane(high, gw_v3(0, 0, 1))},
                                {point_at(o), plane(high, gw_v3(0, 0, 1))},
                                {point_at(o), line(high, x)},
                                {plane(o, gw_v3(0, 0, 1)), plane(high, gw_v3(0, 0, 1))}};
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++)
        for (int apart = 0; apart < 2; apart++) {
            gw_constraint c[] = {coincident(point_at(o), on[i][0]),
                                 coincident(point(apart, 0, 0), on[i][1])};
            gw_problem p = problem_of(c, 2);
            gw_solve(&p, &solution);
            assert_int_equal(solution.status, GW_STATUS_INCOMPATIBLE);
            assert_true((strstr(solution.conflict.sentence, "The same part") != NULL) == !apart);
        }
}

/* acos and asin of a product one rounding short of 1 miss 0 and pi by some 1e-8. */
static void an_angle_from_an_arc_cosine_means_along(void **unused)
{
    (void)unused;
    double nearly = acos(-1 + 4 * 2.220446049250313e-16);
    gw_vec3 z = {0, 0, 1};
    gw_constraint c[] = {
        angle(line(gw_v3(0, 0, 0), z), line(gw_v3(1, 0, 0), z), nearly),
        sensed(distance(line(gw_v3(0, 0, 0), z), line(gw_v3(1, 0, 0), z), 0.5), GW_OPPOSITE)};
    solve_set(c, 2);
    assert_mobility(1, 1, 2);
    c[0] = angle(plane(gw_v3(0, 0, 0), z), line(gw_v3(1, 0, 0), z), nearly - GW_PI / 2);
    solve_set(c, 1);
    assert_mobility(1, 1, 3);
}

/* Ranks tell that constraints are needed only where these meet transversally. */
static void what_follows_is_told_beside_what_meets_transversally(void **unused)
{
    (void)unused;
    gw_vec3 o = {0, 0, 0}, x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
    gw_constraint along[] = {angle(line(o, z), line(o, z), 0),
                             angle(line(o, x), line(o, z), GW_PI / 2),
                             distance(plane(o, x), point(0.1, 0.2, 0.3), 0.2)};
    solve_set(along, 3);
    assert_int_equal(solution.redundant_count, 1);
    assert_int_equal(solution.redundant[0].index, 1);
    assert_int_equal(solution.redundant[0].because, 1);
    gw_constraint three[] = {angle(line(o, x), line(o, x), 0), angle(line(o, y), line(o, y), 0),
                             angle(line(o, z), line(o, z), 0),
                             sensed(coincident(plane(o, z), plane(o, z)), GW_SAME)};
    solve_set(three, 3);
    assert_int_equal(solution.redundant_count, 1);
    assert_int_equal(solution.redundant[0].index, 2);
    assert_int_equal(solution.redundant[0].because, 3);
    solve_set(three, 4);
    assert_int_equal(solution.redundant_count, 2);
    gw_constraint corner[] = {coincident(plane(o, x), plane(o, x)),
                              coincident(plane(o, y), plane(o, y)),
                              coincident(plane(o, z), plane(o, z))};
    solve_set(corner, 3);
    assert_int_equal(solution.redundant_count, 0);
    /* a sphere and a plane touch: the point is there, and the line through it says less */
    gw_constraint touching[] = {distance(point_at(o), point(0, 0, 0.1), 0.1),
                                coincident(point_at(o), plane(o, z)),
                                coincident(point_at(o), line(o, x))};
    solve_set(touching, 3);
    assert_int_equal(solution.redundant_count, 1);
}

/* A pose that is not a number is off every constraint. */
static void a_pose_that_is_no_number_satisfies_nothing(void **unused)
{
    (void)unused;
    gw_vec3 o = {0, 0, 0}, z = {0, 0, 1};
    gw_constraint c[] = {coincident(point_at(o), point_at(o)),
                         sensed(coincident(plane(o, z), plane(o, z)), GW_SAME)};
    gw_problem p = problem_of(c, 2);
    gw_pose none = {{NAN, 0, 0}, gw_quat_identity()};
    assert_true(isinf(gw_problem_residual(&p, 3, 1, &none)));
    assert_true(isinf(gw_problem_residual(&p, 2, 1, &none)));
    none = (gw_pose){o, {NAN, 0, 0, 0}};
    assert_true(isinf(gw_problem_residual(&p, 3, 1, &none)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_example_has_one_freedom_and_a_redundant_constraint),
        cmocka_unit_test(two_points_on_skew_lines_at_their_distance_turn_about_the_normal),
        cmocka_unit_test(two_points_on_parallel_lines_slide_and_turn),
        cmocka_unit_test(two_points_farther_apart_than_parallel_lines_have_two_branches),
        cmocka_unit_test(plane_on_plane_turns_and_slides),
        cmocka_unit_test(with_a_line_distance_it_moves_on_a_circle),
        cmocka_unit_test(either_sense_branches_and_both_are_named_for_it),
        cmocka_unit_test(no_constraint_leaves_everything_free),
        cmocka_unit_test(one_point_does_not_shift_as_the_body_turns),
        cmocka_unit_test(a_conflict_of_one_point_tells_of_the_same_part),
        cmocka_unit_test(an_angle_from_an_arc_cosine_means_along),
        cmocka_unit_test(what_follows_is_told_beside_what_meets_transversally),
        cmocka_unit_test(a_pose_that_is_no_number_satisfies_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
