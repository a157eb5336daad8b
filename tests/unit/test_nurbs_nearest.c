/* Closest points of curves and surfaces: the global search against exhaustive sampling and closed
 * forms, with its certificate; the followed branch against its own conditions, and its events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "nurbs_fixture.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/oracle/nearest_campaign.h"

static gw_vec3 random_point_about(unsigned long long *seed, const gw_nurbs *s)
{
    gw_vec3 middle = gw_scale(0.5, gw_add(s->bounds.low, s->bounds.high));
    double r = 0.8 * s->size;
    return gw_add(middle, gw_v3(gw_random_uniform(seed, -r, r), gw_random_uniform(seed, -r, r),
                                gw_random_uniform(seed, -r, r)));
}

/* The least distance over a grid, which is at least the least distance of all. */
static double sampled(const gw_nurbs *s, gw_vec3 to, int n)
{
    double least = HUGE_VAL;
    gw_nurbs_span span = {{0, 0}};
    int m = s->dimension == 2 ? n : 0;
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            const gw_nurbs_direction *u = &s->direction[0], *v = &s->direction[1];
            double x[2] = {u->low + (u->high - u->low) * i / n,
                           m ? v->low + (v->high - v->low) * j / m : 0};
            gw_nurbs_point at;
            gw_nurbs_evaluate(s, x, 0, &span, &at);
            least = fmin(least, gw_distance(at.d[0][0], to));
        }
    return least;
}

static void the_global_point_is_closer_than_any_sample(void **state)
{
    (void)state;
    unsigned long long seed = 5;
    int queries = 0, cells = 0, most = 0, uncertain = 0;
    for (int trial = 0; trial < 100; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        for (int i = 0; i < 20; i++, queries++) {
            gw_vec3 to = random_point_about(&seed, s);
            gw_nurbs_nearest nearest;
            gw_nurbs_point at;
            gw_nurbs_nearest_point(s, to, &nearest);
            gw_nurbs_evaluate(s, nearest.parameter, 0, NULL, &at);
            assert_true(gw_distance(at.d[0][0], nearest.point) <= 1e-12 * s->size);
            assert_true(fabs(gw_distance(to, nearest.point) - nearest.distance) <= 1e-12 * s->size);
            assert_true(nearest.bound <= nearest.distance);
            assert_true(nearest.distance <= sampled(s, to, 60) + 1e-12 * s->size);
            uncertain += nearest.bound < nearest.distance - 1.01e-9 * s->size;
            cells += nearest.cells;
            most = nearest.cells > most ? nearest.cells : most;
        }
        gw_nurbs_put(s);
    }
    print_message("%d queries, %.1f cells each, at most %d, %d not certified\n", queries,
                  (double)cells / queries, most, uncertain);
    assert_int_equal(uncertain, 0);
}

/* A slice of `make verify-nearest`. */
static void an_exhaustive_search_finds_nothing_closer(void **state)
{
    (void)state;
    nearest_findings f = nearest_campaign_run(&(nearest_campaign){
        .surfaces = 20, .queries = 2000, .steps = 20000, .pairs = 40, .grid = 60, .seed = 3});
    print_message("%ld queries, %.1e farther at most; %ld steps, %ld events\n", f.queries, f.worst,
                  f.steps, f.events);
    assert_int_equal(f.farther, 0);
    assert_int_equal(f.untrue, 0);
    assert_int_equal(f.lost, 0);
    assert_int_equal(f.pairs_farther, 0);
    assert_int_equal(f.pairs_untrue, 0);
    assert_true(f.checked > f.steps * 9 / 10);
}

/* Of the points of a grid that are nearer than their neighbours, those that lead to a minimum. */
static int sampled_minima(const gw_nurbs *s, gw_vec3 to, double within, gw_vec3 *found)
{
    enum { N = 64, MOST = 64 };
    static double distance[N + 1][N + 1];
    const gw_nurbs_direction *u = &s->direction[0], *v = &s->direction[1];
    int count = 0, m = s->dimension == 2 ? N : 2;
    gw_nurbs_point at;
    for (int i = 0; i <= N; i++)
        for (int j = 0; j <= m; j++) {
            double x[2] = {u->low + (u->high - u->low) * i / N,
                           m == N ? v->low + (v->high - v->low) * j / N : 0};
            gw_nurbs_evaluate(s, x, 0, NULL, &at);
            distance[i][j] = gw_distance(at.d[0][0], to);
        }
    for (int i = 1; i < N; i++)
        for (int j = 1; j < m; j++) {
            double x[2] = {u->low + (u->high - u->low) * i / N,
                           m == N ? v->low + (v->high - v->low) * j / N : 0};
            bool least = true, known = false;
            for (int k = 0; k < 9; k++)
                least = least && distance[i][j] <= distance[i + k / 3 - 1][j + k % 3 - 1];
            if (!least || gw_nurbs_follow(s, to, x, NULL, &at) != GW_NURBS_REGULAR ||
                gw_distance(at.d[0][0], to) > within - 1e-9)
                continue;
            for (int k = 0; k < count; k++)
                known = known || gw_distance(found[k], at.d[0][0]) < 1e-6 * s->size;
            if (!known && count < MOST)
                found[count++] = at.d[0][0];
        }
    return count;
}

static void all_local_minima_are_found(void **state)
{
    (void)state;
    enum { ROOM = 64 };
    unsigned long long seed = 8;
    int all = 0, missing = 0, most = 0, sum = 0, queries = 0;
    for (int trial = 0; trial < 60; trial++) {
        gw_nurbs *s = trial % 3 ? random_bicubic(&seed, 3 + trial % 8, 0.02 + 0.1 * (trial % 4))
                                : random_nurbs(&seed, trial);
        for (int i = 0; i < 30; i++, queries++) {
            gw_vec3 to = random_point_about(&seed, s), found[ROOM];
            gw_nurbs_nearest minima[ROOM];
            double within = gw_random_uniform(&seed, 0.1, 1) * s->size;
            int expected = sampled_minima(s, to, within, found), cells = 20000;
            int count = gw_nurbs_minima(s, to, within, &cells, ROOM, minima);
            sum += cells, most = cells > most ? cells : most, all += count;
            for (int k = 0; k < count; k++) {
                gw_nurbs_point at;
                gw_nurbs_evaluate(s, minima[k].parameter, 1, NULL, &at);
                gw_vec3 d = gw_sub(at.d[0][0], to);
                assert_true(gw_distance(at.d[0][0], minima[k].point) <= 1e-12 * s->size);
                assert_true(minima[k].distance < within);
                assert_true(fabs(gw_dot(d, gw_unit(at.d[1][0]))) < 1e-8 * s->size);
                assert_true(k == 0 || minima[k].distance >= minima[k - 1].distance);
            }
            for (int k = 0; k < expected; k++) {
                bool there = false;
                for (int j = 0; j < count; j++)
                    there = there || gw_distance(minima[j].point, found[k]) < 1e-6 * s->size;
                missing += !there;
            }
            int few = 20000, of = gw_nurbs_minima(s, to, within, &few, 2, minima + 2);
            assert_int_equal(of, count < 2 ? count : 2);
            for (int k = 0; k < of; k++)
                assert_true(minima[k].distance == minima[2 + k].distance);
        }
        gw_nurbs_put(s);
    }
    print_message("%d minima in %d queries, %d missing; %.0f cells each, at most %d\n", all,
                  queries, missing, (double)sum / queries, most);
    assert_true(all > 500); /* depends on the order of arguments */
    assert_int_equal(missing, 0);
}

static void closed_forms_of_primitives_are_met(void **state)
{
    (void)state;
    unsigned long long seed = 6;
    gw_nurbs *ball = gw_nurbs_ellipsoid(gw_v3(1, 1, 1), NULL), *ring = gw_nurbs_circle(2, NULL);
    gw_nurbs *torus = gw_nurbs_torus(2, 0.5, NULL), *tube = gw_nurbs_cylinder(1, 20, NULL);
    double worst = 0;
    for (int i = 0; i < 500; i++) {
        gw_vec3 x = {gw_random_uniform(&seed, -3, 3), gw_random_uniform(&seed, -3, 3),
                     gw_random_uniform(&seed, -3, 3)};
        double expected[4] = {fabs(gw_norm(x) - 1), hypot(hypot(x.x, x.y) - 2, x.z),
                              fabs(hypot(hypot(x.x, x.y) - 2, x.z) - 0.5),
                              fabs(hypot(x.x, x.y) - 1)};
        const gw_nurbs *of[4] = {ball, ring, torus, tube};
        for (int k = 0; k < 4; k++) {
            gw_nurbs_nearest nearest;
            gw_nurbs_nearest_point(of[k], x, &nearest);
            worst = fmax(worst, fabs(nearest.distance - expected[k]));
        }
    }
    print_message("distance from primitives: %.1e\n", worst);
    assert_true(worst < 1e-13);
    /* poles, and the centre, from where all is as far */
    gw_nurbs_nearest nearest;
    gw_nurbs_nearest_point(ball, gw_v3(0, 0, 3), &nearest);
    assert_true(fabs(nearest.distance - 2) < 1e-13 && nearest.bound > 2 - 4e-9);
    gw_nurbs_nearest_point(ball, gw_v3(0, 0, 0), &nearest);
    assert_true(fabs(nearest.distance - 1) < 1e-13 && nearest.bound <= 1);
    print_message("from the centre: bound %.6f, %d cells\n", nearest.bound, nearest.cells);
    gw_nurbs_put(ball);
    gw_nurbs_put(ring);
    gw_nurbs_put(torus);
    gw_nurbs_put(tube);
}

/* The gradient of the distance along the tangents, relative to it. */
static double stationarity(const gw_nurbs_point *at, gw_vec3 to)
{
    gw_vec3 d = gw_sub(at->d[0][0], to);
    return fmax(fabs(gw_dot(d, gw_unit(at->d[1][0]))), fabs(gw_dot(d, gw_unit(at->d[0][1]))));
}

static void a_branch_is_followed_in_small_steps_or_an_event_says_so(void **state)
{
    (void)state;
    unsigned long long seed = 7;
    long steps = 0, events = 0, lost = 0;
    for (int trial = 0; trial < 50; trial++) {
        gw_nurbs *s = random_bicubic(&seed, 6, 0.15);
        double x[2] = {3, 3};
        gw_nurbs_span span = {{0, 0}};
        gw_nurbs_point at, before;
        gw_nurbs_evaluate(s, x, 2, &span, &before);
        gw_vec3 to = gw_mul_add(before.d[0][0], 0.02, gw_nurbs_normal(s, x, &before));
        gw_vec3 heading = {1, 0.3, 0};
        gw_nurbs_event last = GW_NURBS_REGULAR;
        gw_nurbs_follow(s, to, x, &span, &before);
        for (int i = 0; i < 2000; i++, steps++) {
            heading = gw_unit(gw_add(heading, gw_v3(gw_random_uniform(&seed, -0.3, 0.3),
                                                    gw_random_uniform(&seed, -0.3, 0.3),
                                                    gw_random_uniform(&seed, -0.3, 0.3))));
            gw_vec3 back = gw_sub(gw_v3(0.5, 0.5, 0), to);
            heading = gw_unit(gw_mul_add(heading, 0.3 * gw_norm2(back), back));
            to = gw_mul_add(to, 5e-4, heading);
            gw_nurbs_event event = gw_nurbs_follow(s, to, x, &span, &at);
            events += event != GW_NURBS_REGULAR;
            if (event == GW_NURBS_REGULAR) {
                assert_true(stationarity(&at, to) < 1e-14);
                /* one branch: the foot moves with the point, as far as 1 - kappa delta lets it */
                if (last == GW_NURBS_REGULAR && gw_distance(at.d[0][0], before.d[0][0]) > 0.1)
                    lost++;
            }
            before = at;
            last = event;
        }
        gw_nurbs_put(s);
    }
    print_message("%ld steps, %ld with an event, %ld lost\n", steps, events, lost);
    assert_int_equal(lost, 0);
    assert_true(events < steps / 5);
}

static void events_tell_where_a_branch_ends(void **state)
{
    (void)state;
    gw_nurbs_point at;
    /* the edge of a cylinder, and back */
    gw_nurbs *tube = gw_nurbs_cylinder(1, 2, NULL);
    double x[2] = {0.3, 0.9};
    gw_nurbs_evaluate(tube, x, 0, NULL, &at);
    gw_vec3 to = gw_scale(1.2, at.d[0][0]);
    to.z = 0.95;
    assert_int_equal(gw_nurbs_follow(tube, to, x, NULL, &at), GW_NURBS_REGULAR);
    to.z = 1.05;
    assert_int_equal(gw_nurbs_follow(tube, to, x, NULL, &at), GW_NURBS_EDGE);
    assert_true(x[1] == 1 && fabs(at.d[0][0].z - 1) < 1e-15);
    to.z = 0.95;
    assert_int_equal(gw_nurbs_follow(tube, to, x, NULL, &at), GW_NURBS_REGULAR);
    assert_true(fabs(at.d[0][0].z - 0.95) < 1e-14);
    /* around the seam without a jump */
    double u = x[0];
    for (int i = 1; i <= 200; i++) {
        double angle = atan2(to.y, to.x) + 2 * GW_PI / 100;
        to = gw_v3(1.2 * cos(angle), 1.2 * sin(angle), 0.5);
        assert_int_equal(gw_nurbs_follow(tube, to, x, NULL, &at), GW_NURBS_REGULAR);
        assert_true(fabs(gw_norm(gw_sub(to, at.d[0][0])) - 0.2) < 1e-14);
    }
    assert_true(fabs(x[0] - u - 8) < 1e-9);
    /* inward through the axis, a line of focal points */
    to = gw_v3(0.02, 0, 0);
    x[0] = 0, x[1] = 0.5;
    assert_int_equal(gw_nurbs_follow(tube, to, x, NULL, &at), GW_NURBS_REGULAR);
    to.x = 1e-5;
    assert_int_equal(gw_nurbs_follow(tube, to, x, NULL, &at), GW_NURBS_FOCAL);
    gw_nurbs_put(tube);
}

static void a_kink_is_stayed_on_or_passed(void **state)
{
    (void)state;
    /* a roof: two lines that meet at (1, 0, 1) */
    gw_vec3 points[3] = {{0, 0, 0}, {1, 0, 1}, {2, 0, 0}};
    gw_nurbs *roof = gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                                     .degree = {1},
                                                     .count = {3},
                                                     .knot_count = {5},
                                                     .knots = {(double[]){0, 0, 1, 2, 2}},
                                                     .points = points},
                                     NULL);
    double x[2] = {0.5, 0};
    gw_nurbs_point at;
    assert_int_equal(gw_nurbs_follow(roof, gw_v3(0.3, 0, 1), x, NULL, &at), GW_NURBS_REGULAR);
    assert_true(fabs(x[0] - 0.65) < 1e-15);
    /* above the ridge: on it */
    assert_int_equal(gw_nurbs_follow(roof, gw_v3(0.9, 0, 2), x, NULL, &at), GW_NURBS_KINK);
    assert_true(gw_distance(at.d[0][0], gw_v3(1, 0, 1)) < 1e-15);
    assert_int_equal(gw_nurbs_follow(roof, gw_v3(1.1, 0, 2), x, NULL, &at), GW_NURBS_KINK);
    assert_true(gw_distance(at.d[0][0], gw_v3(1, 0, 1)) < 1e-15);
    /* on, down the other side */
    gw_nurbs_follow(roof, gw_v3(1.7, 0, 1), x, NULL, &at);
    assert_true(fabs(x[0] - 1.35) < 1e-14);
    assert_int_equal(gw_nurbs_follow(roof, gw_v3(1.7, 0, 1), x, NULL, &at), GW_NURBS_REGULAR);
    gw_nurbs_put(roof);
}

static void far_beyond_all_coordinates_a_corner_is_as_near_as_any(void **state)
{
    (void)state;
    gw_nurbs *ball = gw_nurbs_ellipsoid(gw_v3(1, 1, 1), NULL);
    const gw_vec3 far[] = {{NAN, 0, 0}, {0, HUGE_VAL, 0}, {0, 0, -1e200}};
    for (int i = 0; i < 3; i++) {
        gw_nurbs_nearest nearest;
        gw_nurbs_nearest_point(ball, far[i], &nearest);
        assert_true(isinf(nearest.distance));
        assert_true(fabs(gw_norm(nearest.point) - 1) < 1e-12);
        assert_true(nearest.parameter[0] == ball->direction[0].low);
    }
    gw_nurbs_put(ball);
}

/* An apex is one point all along its edge. Outside over a cone all of that edge is as near, about
 * its axis inside a circle nearly. */
static void few_parts_decide_over_an_apex_and_about_an_axis(void **state)
{
    (void)state;
    gw_nurbs *cone = gw_nurbs_cone(0.5, 0.8, NULL);
    const struct {
        gw_vec3 to;
        double distance;
        int cells;
    } queries[] = {{{0.05, 0.015, 0.9}, 0.1128051, 200},    {{0.001, 0.0003, 1.2}, 0.4000014, 100},
                   {{0.05, 0.015, 2}, 1.2011349, 100},      {{0.05, 0.015, 3}, 2.2006192, 100},
                   {{1e-6, 3e-7, -0.6}, 0.7810243, 2500},   {{0.001, 0.0003, -0.6}, 0.7803571, 400},
                   {{0.001, 0.0003, 0.2}, 0.3171134, 1300}, {{0.001, 0.0003, 0.7}, 0.0521147, 900}};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        gw_nurbs_nearest nearest;
        gw_nurbs_nearest_point(cone, queries[i].to, &nearest);
        assert_true(fabs(nearest.distance - queries[i].distance) < 1e-6);
        assert_true(nearest.bound >= nearest.distance - 1.01e-9 * cone->size);
        assert_in_range(nearest.cells, 1, queries[i].cells);
    }
    gw_nurbs_put(cone);
}

static void a_shape_comes_within_what_is_more_than_its_distance(void **state)
{
    (void)state;
    unsigned long long seed = 15;
    for (int trial = 0; trial < 100; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        for (int i = 0; i < 20; i++) {
            gw_vec3 to = random_point_about(&seed, s);
            gw_nurbs_nearest nearest;
            gw_nurbs_nearest_point(s, to, &nearest);
            double d = nearest.distance, little = 4e-9 * s->size;
            int cells[3] = {nearest.cells, nearest.cells, 500};
            assert_true(gw_nurbs_is_within(s, to, d + little, &cells[0]));
            assert_true(gw_nurbs_is_within(s, to, 2 * d + little, &cells[1]));
            assert_false(gw_nurbs_is_within(s, to, d - little, &cells[2]));
            for (int k = 0; k < 3; k++)
                assert_true(cells[k] <= (k < 2 ? nearest.cells : 500));
        }
        int cells = 500;
        assert_false(gw_nurbs_is_within(s, gw_v3(NAN, 0, 0), 1, &cells));
        assert_int_equal(cells, 0);
        gw_nurbs_put(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_global_point_is_closer_than_any_sample),
        cmocka_unit_test(an_exhaustive_search_finds_nothing_closer),
        cmocka_unit_test(all_local_minima_are_found),
        cmocka_unit_test(closed_forms_of_primitives_are_met),
        cmocka_unit_test(a_branch_is_followed_in_small_steps_or_an_event_says_so),
        cmocka_unit_test(events_tell_where_a_branch_ends),
        cmocka_unit_test(a_kink_is_stayed_on_or_passed),
        cmocka_unit_test(a_shape_comes_within_what_is_more_than_its_distance),
        cmocka_unit_test(few_parts_decide_over_an_apex_and_about_an_axis),
        cmocka_unit_test(far_beyond_all_coordinates_a_corner_is_as_near_as_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
