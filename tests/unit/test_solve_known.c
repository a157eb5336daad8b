/*
 * Problems whose answers are known: mobilities of points in planes, poses of three angles, three
 * points on three lines, crossing cylinders, thirty-two branches, conflicts.
 */
#include "solve_util.h"

typedef struct on_plane {
    gw_vec3 p, n;
} on_plane;

#define X                                                                                          \
    {                                                                                              \
        1, 0, 0                                                                                    \
    }
#define Y                                                                                          \
    {                                                                                              \
        0, 1, 0                                                                                    \
    }
#define Z                                                                                          \
    {                                                                                              \
        0, 0, 1                                                                                    \
    }

static void expect(const on_plane *list, int count, int turns, int slides)
{
    gw_constraint c[8];
    for (int i = 0; i < count; i++)
        c[i] = coincident(point_at(list[i].p), plane(list[i].p, list[i].n));
    /* the identity is a pose of the set: start there, and beside it */
    for (int off = 0; off < 2; off++) {
        gw_problem p = problem_of(c, count);
        if (off)
            p.pose = (gw_pose){{0.1, -0.2, 0.05}, gw_quat_exp(gw_v3(0.1, 0.05, -0.2))};
        solve(&p);
        int b = solution.branch_count;
        assert_mobility(b, turns, slides);
        if (!off)
            assert_true(solution.branches[0].distance < 1e-9);
    }
}

#define EXPECT(turns, slides, ...)                                                                 \
    do {                                                                                           \
        const on_plane list[] = {__VA_ARGS__};                                                     \
        expect(list, (int)(sizeof list / sizeof *list), turns, slides);                            \
    } while (0)

static void points_in_planes_have_the_known_mobilities(void **unused)
{
    (void)unused;
    EXPECT(3, 2, {X, X});
    EXPECT(3, 1, {X, X}, {{0, -1, 0}, Y});
    EXPECT(3, 0, {X, X}, {{0, -1, 0}, Y}, {Z, Z});
    EXPECT(2, 2, {{1, 0, -1}, X}, {{1, 0, 1}, X});
    EXPECT(2, 1, {{1, 0, -1}, X}, {{1, 0, 1}, X}, {{0, -1, 0}, Y});
    EXPECT(2, 1, {{1, 1, 0}, X}, {{1, -1, 0}, X}, {{0, -1, 0}, Y});
    EXPECT(2, 0, {Z, Z}, {{1, 0, 1}, X}, {{1, 0, -1}, X}, {{0, -1, 0}, Y});
    EXPECT(1, 2, {{1, 1, 1}, X}, {{1, 1, -1}, X}, {{1, -1, -1}, X});
    EXPECT(1, 1, {{1, 1, 1}, X}, {{1, 1, -1}, X}, {{1, -1, -1}, X}, {{0, -1, 0}, Y});
    EXPECT(1, 1, {{1, 0, 1}, X}, {{1, 0, -1}, X}, {{1, -1, 0}, Y}, {{-1, -1, 0}, Y});
    EXPECT(1, 1, {{1, 0, 1}, X}, {{1, 0, -1}, X}, {{0, -1, 1}, Y}, {{0, -1, -1}, Y});
}

static void three_angles_of_sixty_degrees_have_eight_poses(void **unused)
{
    (void)unused;
    gw_vec3 axes[] = {X, Y, Z}, none = {0, 0, 0};
    gw_constraint c[4] = {coincident(point(0.1, 0.2, 0.3), point(1, 2, 3))};
    for (int i = 0; i < 3; i++)
        c[i + 1] = angle(line(none, axes[i]), line(none, axes[i]), GW_PI / 3);
    solve_set(c, 4);
    assert_mobility(8, 0, 0);
    assert_int_equal(solution.method, GW_CLOSED_FORM);
}

static void two_angles_leave_one_loop_or_two(void **unused)
{
    (void)unused;
    int loops[3] = {0};
    gw_vec3 o = {0, 0, 0};
    for (int trial = 0; trial < 30; trial++) {
        gw_pose x = random_pose();
        gw_constraint c[3] = {coincident(point(0.1, 0.2, 0.3), point_at(x.p))};
        for (int i = 1; i < 3; i++) {
            gw_vec3 u = direction(), f = direction();
            c[i] = angle(line(o, u), line(o, f), gw_angle_between(gw_rotate(x.q, u), f));
        }
        solve_set(c, 3);
        assert_in_range(solution.branch_count, 1, 2);
        assert_mobility(solution.branch_count, 1, 0);
        loops[solution.branch_count]++;
    }
    /* of random feasible pairs about half have one loop */
    assert_true(loops[1] > 5 && loops[2] > 5);
}

static void six_points_in_planes_three_two_one_have_up_to_four_poses(void **unused)
{
    (void)unused;
    /* a box against locators */
    EXPECT(0, 0, {{1, 1, 0}, Z}, {{-1, 1, 0}, Z}, {{0, -1, 0}, Z}, {{1, 0, 0.2}, X},
           {{1, 0.5, 0.3}, X}, {{0, 1, 0.2}, Y});
    assert_int_equal(solution.branch_count, 4);
    for (int trial = 0; trial < 20; trial++) {
        gw_vec3 normals[] = {Z, Z, Z, X, X, Y};
        gw_constraint c[6];
        gw_pose x = random_pose();
        for (int i = 0; i < 6; i++) {
            gw_vec3 p = vector();
            c[i] = coincident(point_at(p), plane(gw_pose_point(&x, p), normals[i]));
        }
        gw_problem problem = {x, 1, 6, c};
        solve(&problem);
        assert_true(solution.branch_count == 2 || solution.branch_count == 4);
        assert_mobility(solution.branch_count, 0, 0);
        assert_true(solution.branches[0].distance < 1e-6);
    }
}

static void three_points_on_three_lines_have_two_to_eight_poses(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 30; trial++) {
        gw_constraint c[3];
        gw_pose x = random_pose();
        for (int i = 0; i < 3; i++) {
            gw_vec3 p = vector();
            c[i] = coincident(point_at(p), line(gw_pose_point(&x, p), direction()));
        }
        gw_problem problem = {x, 1, 3, c};
        solve(&problem);
        assert_int_equal(solution.status, GW_SOLVED);
        assert_int_equal(solution.dof, 0);
        assert_true(solution.branches[0].distance < 1e-6);
        assert_in_range(solution.branch_count, 2, 8);
        assert_int_equal(solution.branch_count % 2, 0);
    }
}

static void assert_names_differ(void)
{
    for (int i = 0; i < solution.branch_count; i++)
        for (int k = 0; k < i; k++)
            assert_string_not_equal(solution.branches[i].id, solution.branches[k].id);
}

/* The branch of `list` with this id; NULL where there is none. */
static const gw_branch *named(const gw_solution *list, const char *id)
{
    for (int i = 0; i < list->branch_count; i++)
        if (strcmp(list->branches[i].id, id) == 0)
            return &list->branches[i];
    return NULL;
}

static void names_of_poses_stay_while_geometry_moves(void **unused)
{
    (void)unused;
    static gw_solution before;
    for (int trial = 0; trial < 30; trial++) {
        gw_constraint c[3], moved[3];
        gw_pose x = random_pose();
        for (int i = 0; i < 3; i++) {
            gw_vec3 p = vector();
            c[i] = coincident(point_at(p), line(gw_pose_point(&x, p), direction()));
            moved[2 - i] = c[i]; /* in another order, and a little away */
            moved[2 - i].fixed.p = gw_mul_add(c[i].fixed.p, 1e-7, vector());
        }
        gw_problem p = {x, 1, 3, c}, q = {random_pose(), 1, 3, moved};
        solve(&p);
        before = solution;
        solve(&q);
        assert_int_equal(solution.branch_count, before.branch_count);
        assert_names_differ();
        for (int i = 0; i < solution.branch_count; i++) {
            const gw_branch *was = named(&before, solution.branches[i].id);
            assert_non_null(was);
            assert_true(gw_pose_distance(&was->nearest, &solution.branches[i].nearest, 1) < 1e-3);
        }
    }
}

static void equal_cylinders_that_cross_meet_in_two_ellipses(void **unused)
{
    (void)unused;
    gw_constraint c[] = {distance(point(0, 0, 0), line(gw_v3(0, 0, 0), gw_v3(1, 0, 0)), 2),
                         distance(point(0, 0, 0), line(gw_v3(0, 0, 0), gw_v3(1, 1, 0)), 2)};
    solve_set(c, 2);
    assert_mobility(2, 3, 1);
    for (int i = 0; i < 2; i++) {
        const gw_locus *l = &solution.branches[i].set.translation.locus;
        assert_int_equal(l->kind, GW_LOCUS_ELLIPSE);
        assert_true(l->a >= l->b && fabs(l->b - 2) < 1e-12);
    }
}

static void a_point_and_a_sense_have_two_branches_each(void **unused)
{
    (void)unused;
    /* a point where a sphere meets a line: two; a parallel of either sense: two */
    gw_vec3 o = {0, 0, 0}, z = Z;
    gw_constraint c[] = {
        distance(point(0, 0, 0), point(0, 0, 0), 2),
        coincident(point(0, 0, 0), line(gw_v3(0, 1, 0), gw_v3(1, 0, 0))),
        {.kind = GW_PARALLEL, .mobile = line(o, z), .fixed = line(gw_v3(0, 0, 5), z)},
    };
    solve_set(c, 3);
    assert_mobility(4, 1, 0);
    assert_names_differ();
}

/*
 * Two parallels of either sense, at right angles: four rotations. A point at distance a from the
 * axes x and y, that is x = +-y, and b from z, x^2 + y^2 = b^2: eight places.
 */
static void five_incidences_have_thirty_two_branches(void **unused)
{
    (void)unused;
    gw_vec3 axes[] = {X, Y, Z}, o = {0, 0, 0}, p = {0.1, 0.2, 0.3};
    const double a = 2, b = 1;
    gw_constraint c[5];
    for (int i = 0; i < 2; i++)
        c[i] = (gw_constraint){
            .kind = GW_PARALLEL, .mobile = line(o, axes[i]), .fixed = line(o, axes[i])};
    for (int i = 0; i < 3; i++)
        c[i + 2] = distance(point_at(p), line(o, axes[i]), i < 2 ? a : b);
    solve_set(c, 5);
    assert_int_equal(solution.method, GW_CLOSED_FORM);
    assert_mobility(32, 0, 0);
    assert_int_equal(solution.redundant_count, 0);
    assert_names_differ();
    for (int i = 0; i < 32; i++) {
        const gw_pose *x = &solution.branches[i].nearest;
        gw_vec3 at = gw_pose_point(x, p);
        gw_vec3 size = {fabs(at.x), fabs(at.y), fabs(at.z)};
        assert_vec(size, gw_v3(b / sqrt(2), b / sqrt(2), sqrt(a * a - b * b / 2)), 1e-12);
        for (int k = 0; k < i; k++)
            assert_true(gw_pose_distance(x, &solution.branches[k].nearest, 1) > 0.1);
    }
}

static void a_contradiction_is_told_with_its_numbers(void **unused)
{
    (void)unused;
    gw_constraint c[] = {coincident(point(0, 0, 0), point(0, 0, 0)),
                         coincident(point(0, 0, 1), point(0, 0, 1.5))};
    solve_set(c, 2);
    assert_int_equal(solution.status, GW_STATUS_INCOMPATIBLE);
    assert_int_equal(solution.conflict.constraints, 3);
    assert_int_equal(solution.conflict.value_count, 4);
    const char *names[] = {"c1", "c2"};
    char words[512];
    gw_conflict_description(&solution.conflict, names, words, sizeof words);
    assert_non_null(strstr(words, "c1, c2: "));
    assert_non_null(strstr(words, "The 1500 mm between the points on the other side would have to "
                                  "equal the 1000 mm between the points on one side."));
}

static void told(const gw_constraint *c, int count, const char *expected)
{
    const char *names[] = {"c1", "c2", "c3"};
    char words[512];
    solve_set(c, count);
    assert_int_equal(solution.status, GW_STATUS_INCOMPATIBLE);
    gw_conflict_description(&solution.conflict, names, words, sizeof words);
    assert_string_equal(words, expected);
}

/* Every sentence ends in what would make the inequality hold. */
static void a_contradiction_tells_what_would_hold(void **unused)
{
    (void)unused;
    gw_element floor = plane(gw_v3(0, 0, 0), gw_v3(0, 0, 1));
    gw_element shelf = plane(gw_v3(0, 0, 0.08), gw_v3(0, 0, 1));
    gw_constraint planes[] = {coincident(point(0, 0, 0), floor), coincident(point(0, 0, 0), shelf)};
    told(planes, 2,
         "c1, c2: The same part would have to be in two parallel planes at once. The 80 mm between "
         "the planes would have to be 0 mm.");
    planes[1].mobile = point(0.05, 0, 0);
    told(planes, 2,
         "c1, c2: Two points cannot be in parallel planes that are farther apart than the points. "
         "The 80 mm between the planes would have to be at most the 50 mm between the points.");
    gw_constraint points[] = {distance(point(0, 0, 0), point(0, 0, 0), 0.3),
                              distance(point(0, 0, 0), point(0.1, 0, 0), 0.1)};
    told(points, 2,
         "c1, c2: The distances do not fit: one is longer than the others reach together. The 300 "
         "mm of c1 would have to be at most 200 mm, the 100 mm between the points on the other "
         "side and the 100 mm of c2 together.");
}

/* A plate at 100 mm from the floor has its top in the ceiling: 60 mm from there is 60 mm off, and
 * not the 140 mm of the plate turned over, whichever branch was explored first. */
static void a_contradiction_is_that_of_the_nearest_branch(void **unused)
{
    (void)unused;
    gw_vec3 up = {0, 0, 1}, down = {0, 0, -1};
    gw_constraint lower =
        distance(plane(gw_v3(0, 0, -0.05), down), plane(gw_v3(0, 0, 0.05), up), 0.1);
    gw_constraint upper =
        distance(plane(gw_v3(0, 0, 0.05), up), plane(gw_v3(0, 0, 0.25), down), 0.06);
    const gw_constraint orders[2][2] = {{lower, upper}, {upper, lower}};
    for (int i = 0; i < 2; i++)
        told(orders[i], 2,
             "c1, c2: The same part would have to be in two parallel planes at once. The 60 mm "
             "between the planes would have to be 0 mm.");
}

/* In one sense of the second the first two contradict each other, in the other one the third does:
 * it takes all three, whichever branch had the shorter proof. */
static void a_conflict_names_constraints_that_contradict(void **unused)
{
    (void)unused;
    gw_vec3 o = {0, 0, 0}, x = X, y = Y, z = Z;
    gw_vec3 by_30 = {0.5, 0, sqrt(0.75)}, by_150 = {0.5, 0, -sqrt(0.75)};
    gw_constraint c[] = {
        {.kind = GW_PARALLEL, .mobile = line(o, z), .fixed = line(o, z)},
        {.kind = GW_PARALLEL, .mobile = line(o, by_30), .fixed = line(o, by_150)},
        {.kind = GW_PARALLEL, .mobile = line(o, y), .fixed = line(o, gw_v3(0.6, 0.8, 0))},
        {.kind = GW_PARALLEL, .mobile = line(o, x), .fixed = line(o, x)},
    };
    solve_set(c, 4);
    assert_int_equal(solution.status, GW_STATUS_INCOMPATIBLE);
    unsigned long named = solution.conflict.constraints;
    for (int left_out = 0; left_out < 5; left_out++) {
        gw_constraint some[4];
        int n = 0;
        for (int i = 0; i < 4; i++)
            if (named >> i & 1 && i != left_out)
                some[n++] = c[i];
        solve_set(some, n);
        bool all = left_out == 4 || !(named >> left_out & 1);
        assert_int_equal(solution.status, all ? GW_STATUS_INCOMPATIBLE : GW_SOLVED);
    }
}

/* A line through a point of a plane, and in the plane: that the line's own point is there is one
 * pose of many, not another branch. */
static void a_set_within_another_is_no_branch(void **unused)
{
    (void)unused;
    gw_vec3 p = {-1, 1, 1};
    gw_element l = line(gw_v3(0, -1, -1), gw_v3(0, 1, 1));
    gw_constraint c[] = {coincident(l, plane(p, gw_v3(1, 1, 0))), coincident(l, point_at(p)),
                         coincident(l, line(p, gw_v3(1, -1, 2)))};
    solve_set(c, 2);
    assert_int_equal(solution.branch_count, 1);
    assert_int_equal(solution.dof, 3);
    solve_set(c, 3);
    assert_mobility(2, 1, 1);
}

/* Two directions of the body a hair apart, as the fuzzer found them. */
static void angles_about_nearly_one_direction_are_solved(void **unused)
{
    (void)unused;
    for (double apart = 1e-9; apart < 1e-2; apart *= 7) {
        gw_pose x = random_pose();
        gw_vec3 u = direction(), f = direction(), v = direction(), g = direction();
        gw_vec3 o = {0, 0, 0}, near_u = gw_unit(gw_mul_add(u, apart, direction()));
        gw_constraint c[] = {
            angle(line(o, u), line(o, f), gw_angle_between(gw_rotate(x.q, u), f)),
            angle(line(o, near_u), line(o, f), gw_angle_between(gw_rotate(x.q, near_u), f)),
            angle(line(o, v), line(o, g), gw_angle_between(gw_rotate(x.q, v), g)),
        };
        gw_problem p = {x, 1, 3, c};
        solve(&p);
        assert_int_equal(solution.status, GW_SOLVED);
        assert_true(solution.branches[0].distance < 1e-3);
    }
}

/* Rounding at a place far from what it is to meet is no reason to refuse it. */
static void a_body_far_away_comes_to_its_plane(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 50; trial++) {
        gw_constraint c = coincident(point_at(vector()), plane(vector(), direction()));
        gw_problem p = {{gw_scale(1e11, vector()), rotation()}, 1, 1, &c};
        gw_solve(&p, &solution);
        assert_mobility(1, 3, 2);
        assert_int_equal(solution.method, GW_CLOSED_FORM);
    }
}

/* A point on a line, and a line through it through another point: its rows taken as few as its
 * codimension hold elsewhere, too. */
static void samples_of_a_set_without_closed_form_are_on_it(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 200; trial++) {
        gw_vec3 on = vector();
        gw_constraint c[] = {coincident(point_at(on), line(vector(), direction())),
                             coincident(line(on, direction()), point_at(vector()))};
        solve_set(c, 2);
        assert_int_equal(solution.dof, 2);
    }
}

/* A distance of planes stated along the mobile normal, its sense left open and told by others,
 * beside what has no closed form. */
static void distances_along_the_mobile_normal_hold_in_either_sense(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 60; trial++) {
        gw_pose x = random_pose();
        gw_vec3 n = direction(), n_f = gw_rotate(x.q, trial % 2 ? n : gw_neg(n));
        gw_vec3 p = vector(), q = vector(), b = vector(), d = direction();
        gw_element m = plane(vector(), n), f = plane(vector(), n_f);
        gw_vec3 from_m = gw_sub(f.p, gw_pose_point(&x, m.p));
        gw_constraint c[] = {
            distance(point_at(p), line(b, d),
                     gw_norm(gw_reject(gw_sub(gw_pose_point(&x, p), b), d))),
            {.kind = GW_PARALLEL,
             .sense = trial % 2 ? GW_SAME : GW_OPPOSITE,
             .mobile = m,
             .fixed = f},
            distance(m, f, gw_dot(gw_rotate(x.q, n), from_m)),
            coincident(point_at(q), point_at(gw_pose_point(&x, q))),
        };
        c[2].reversed = true;
        gw_problem problem = {x, 1, 4, c};
        solve(&problem);
        assert_int_equal(solution.status, GW_SOLVED);
        assert_true(solution.branches[0].distance < 1e-5);
    }
}

static void contradicting_angles_are_incompatible(void **unused)
{
    (void)unused;
    gw_vec3 o = {0, 0, 0};
    gw_constraint c[] = {angle(line(o, gw_v3(1, 0, 0)), line(o, gw_v3(1, 0, 0)), 0.2),
                         angle(line(o, gw_v3(0, 1, 0)), line(o, gw_v3(1, 0, 0)), 0.3)};
    solve_set(c, 2);
    assert_int_equal(solution.status, GW_STATUS_INCOMPATIBLE);
    char words[512];
    gw_conflict_description(&solution.conflict, NULL, words, sizeof words);
    assert_non_null(strstr(words, "deg"));
}

static void parallel_planes_at_two_distances_are_incompatible(void **unused)
{
    (void)unused;
    gw_element m = plane(gw_v3(0, 0, 0), gw_v3(0, 0, 1)), f = plane(gw_v3(1, 2, 3), gw_v3(0, 1, 0));
    gw_constraint c[] = {distance(m, f, 0.1), distance(m, f, 0.2)};
    solve_set(c, 2);
    assert_int_equal(solution.status, GW_STATUS_INCOMPATIBLE);
}

/* Points in planes of arbitrary directions: seven leave one pose, and all others follow, however
 * many they are. */
static void of_many_planes_all_but_seven_are_redundant(void **unused)
{
    (void)unused;
    gw_constraint c[GW_MAX_PROBLEM];
    gw_pose x = random_pose(), back = gw_pose_inverse(&x);
    for (int count = 17; count <= GW_MAX_PROBLEM; count = count < 40 ? count + 15 : count + 17) {
        for (int i = 0; i < count; i++) {
            gw_vec3 p = vector();
            c[i] = coincident(point_at(gw_pose_point(&back, p)), plane(p, direction()));
        }
        gw_problem p = {gw_pose_identity(), 1, count, c};
        gw_solve(&p, &solution);
        assert_int_equal(solution.branch_count, 1);
        assert_int_equal(solution.redundant_count, count - 7);
    }
}

static void a_repeated_constraint_is_redundant(void **unused)
{
    (void)unused;
    gw_element m = plane(gw_v3(0, 0, 0), gw_v3(0, 0, 1)), f = plane(gw_v3(1, 2, 3), gw_v3(0, 1, 0));
    gw_constraint c[] = {distance(m, f, 0.1), distance(m, f, 0.1), distance(m, f, 0.1)};
    solve_set(c, 3);
    assert_mobility(2, 1, 2);
    assert_int_equal(solution.redundant_count, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(solution.redundant[i].index, 2 - i);
        assert_int_equal(solution.redundant[i].because, 1);
    }
}

static void sizes_from_a_micrometre_to_a_megametre_behave_alike(void **unused)
{
    (void)unused;
    for (double k = 1e-6; k < 1e7; k *= 1e3) {
        gw_constraint c[] = {
            coincident(point(0, 5 * k, 3 * k), line(gw_v3(0, 0, 3 * k), gw_v3(0, 1, 0))),
            coincident(point(0, 5 * k, 3 * k), line(gw_v3(0, 0, 3 * k), gw_v3(0, 0, 1))),
            coincident(point(0, 7 * k, 3 * k), point(-2 * k, 0, 3 * k))};
        gw_problem p = problem_of(c, 3);
        p.length = k;
        solve(&p);
        assert_mobility(1, 1, 0);
        assert_int_equal(solution.redundant_count, 1);
        c[1] = coincident(point(0, 0, k), plane(gw_v3(5 * k, 0, 3 * k), gw_v3(1, 2, 3)));
        solve(&p);
        assert_mobility(2, 0, 0);
    }
}

static void order_and_roles_do_not_change_the_answer(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 100; trial++) {
        gw_pose x = random_pose();
        gw_constraint c[3], back[3];
        for (int i = 0; i < 3; i++) {
            gw_vec3 p = vector(), d = direction();
            c[i] = trial % 3 == 0   ? coincident(point_at(p), plane(gw_pose_point(&x, p), d))
                   : trial % 3 == 1 ? coincident(point_at(p), line(gw_pose_point(&x, p), d))
                                    : coincident(plane(p, d), point_at(gw_pose_point(&x, p)));
            back[2 - i] = c[i];
            back[2 - i].mobile = c[i].fixed;
            back[2 - i].fixed = c[i].mobile;
        }
        gw_problem p = {x, 1, 3, c}, q = {gw_pose_inverse(&x), 1, 3, back};
        solve(&p);
        int dof = solution.dof, count = solution.branch_count;
        solve(&q);
        assert_int_equal(solution.dof, dof);
        assert_int_equal(solution.branch_count, count);
        assert_true(solution.branches[0].distance < 1e-6);
    }
}

/* A line of the body through a world's plane and a world's line through the body's, both at the
 * distance where the planes' normals may also be opposite: three freedoms there, two elsewhere. */
static void sets_of_two_and_of_three_freedoms_are_told_apart(void **unused)
{
    (void)unused;
    const double far = 1.5 * sqrt(2);
    gw_element body_plane = plane(gw_v3(1, 1, 1), gw_v3(0, 1, 1));
    gw_constraint c[] = {distance(line(gw_v3(-1, 1, 1), gw_v3(-1, 1, -1)),
                                  plane(gw_v3(1, -1, 1), gw_v3(0, -1, -1)), far),
                         distance(body_plane, line(gw_v3(1, 1, -1), gw_v3(1, 0, 0)), -far)};
    gw_problem p = problem_of(c, 2);
    solve(&p);
    for (int turn = 0; turn < 4; turn++) {
        unsigned long long random = 7;
        assert_int_equal(solution.branch_count, 2);
        for (int i = 0; i < 2; i++) {
            gw_branch *b = &solution.branches[i];
            assert_int_equal(b->set.dof, strcmp(b->id, "b0") == 0 ? 3 : 2);
            for (int k = 0; k < 5; k++) {
                gw_pose x = k == 0 ? b->nearest : gw_branch_sample(b, 1, &random);
                gw_vec3 n = gw_rotate(x.q, body_plane.d);
                bool opposite = gw_distance(n, c[0].fixed.d) < 1e-6;
                assert_int_equal(opposite, b->set.dof == 3);
            }
        }
        p.pose = gw_branch_sample(&solution.branches[turn % 2], 1, &random);
        solve(&p);
    }
}

static void a_loop_far_smaller_than_the_problem_is_a_curve(void **unused)
{
    (void)unused;
    gw_element shaft = line(gw_v3(0, 0, 1e-3), gw_v3(0.78, 0.61, -0.14));
    gw_constraint at = distance(shaft, point(1, 3e-3, 0), 1e-3);
    gw_constraint c[] = {coincident(plane(gw_v3(1e-3, 7e-4, -1e-3), gw_v3(0.366, 0.732, 0.575)),
                                    plane(gw_v3(1.6e-3, 1e-3, 0), gw_v3(0.495, 0.259, 0.829))),
                         coincident(plane(gw_v3(2e-3, 2e-3, -1e-3), gw_v3(0.852, -0.179, 0.492)),
                                    point(2e-3, -5e-4, 2e-3)),
                         at, at};
    c[0].sense = GW_SAME;
    solve_set(c, 4);
    assert_int_equal(solution.status, GW_SOLVED);
    for (int i = 0; i < solution.branch_count; i++)
        assert_int_equal(solution.branches[i].set.dof, 1);
    assert_in_range(solution.branch_count, 1, 2);
}

/* Of two curves among eight one start in fifty reaches one. */
static void curves_that_few_starts_reach_are_found(void **unused)
{
    (void)unused;
    gw_element edge = line(gw_v3(0, 0, -1), gw_v3(-1, -1, 0));
    gw_element corner = point(-2.0 / 3, 5.0 / 3, -2.0 / 3);
    gw_constraint c[] = {
        coincident(plane(gw_v3(0, -1, -1), gw_v3(1, -1, 1)), line(corner.p, gw_v3(-2, -1, 1))),
        distance(edge, corner, 0.70710678118654841),
        distance(point(-1, 1, 1), line(gw_v3(-1, 0, 1), gw_v3(1, 1, 0)), 1.2247448713915891),
        distance(edge, point(-0.90051773464691034, 1.5507564375576926, -0.64876567425494513),
                 0.70710678118654841)};
    solve_set(c, 4);
    assert_int_equal(solution.status, GW_SOLVED);
    assert_int_equal(solution.branch_count, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(solution.branches[i].set.dof, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_in_planes_have_the_known_mobilities),
        cmocka_unit_test(three_angles_of_sixty_degrees_have_eight_poses),
        cmocka_unit_test(two_angles_leave_one_loop_or_two),
        cmocka_unit_test(six_points_in_planes_three_two_one_have_up_to_four_poses),
        cmocka_unit_test(three_points_on_three_lines_have_two_to_eight_poses),
        cmocka_unit_test(names_of_poses_stay_while_geometry_moves),
        cmocka_unit_test(equal_cylinders_that_cross_meet_in_two_ellipses),
        cmocka_unit_test(a_point_and_a_sense_have_two_branches_each),
        cmocka_unit_test(five_incidences_have_thirty_two_branches),
        cmocka_unit_test(a_contradiction_is_told_with_its_numbers),
        cmocka_unit_test(a_contradiction_tells_what_would_hold),
        cmocka_unit_test(a_contradiction_is_that_of_the_nearest_branch),
        cmocka_unit_test(a_conflict_names_constraints_that_contradict),
        cmocka_unit_test(a_set_within_another_is_no_branch),
        cmocka_unit_test(angles_about_nearly_one_direction_are_solved),
        cmocka_unit_test(a_body_far_away_comes_to_its_plane),
        cmocka_unit_test(samples_of_a_set_without_closed_form_are_on_it),
        cmocka_unit_test(distances_along_the_mobile_normal_hold_in_either_sense),
        cmocka_unit_test(contradicting_angles_are_incompatible),
        cmocka_unit_test(parallel_planes_at_two_distances_are_incompatible),
        cmocka_unit_test(of_many_planes_all_but_seven_are_redundant),
        cmocka_unit_test(a_repeated_constraint_is_redundant),
        cmocka_unit_test(sizes_from_a_micrometre_to_a_megametre_behave_alike),
        cmocka_unit_test(sets_of_two_and_of_three_freedoms_are_told_apart),
        cmocka_unit_test(a_loop_far_smaller_than_the_problem_is_a_curve),
        cmocka_unit_test(curves_that_few_starts_reach_are_found),
        cmocka_unit_test(order_and_roles_do_not_change_the_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
