/*
 * Curves and surfaces from points and curves: interpolation and least squares, lofts, surfaces of
 * revolution and swept ones against what they must be.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "rt/geometry/nurbs_build.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_primitive.h"

static gw_nurbs *curve(int degree, int count, const double *knots, const gw_vec3 *points,
                       const double *weights)
{
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                           .degree = {degree},
                                           .count = {count},
                                           .knot_count = {count + degree + 1},
                                           .knots = {knots},
                                           .points = points,
                                           .weights = weights},
                           NULL);
}

static gw_vec3 at(const gw_nurbs *s, double u, double v)
{
    gw_nurbs_point p;
    gw_nurbs_evaluate(s, (double[2]){u, v}, 0, NULL, &p);
    return p.d[0][0];
}

static double to(const gw_nurbs *s, gw_vec3 p)
{
    gw_nurbs_nearest nearest;
    gw_nurbs_nearest_point(s, p, &nearest);
    return nearest.distance;
}

/* A wavy sheet. */
static gw_vec3 wave(double x, double y)
{
    return gw_v3(x, y, 0.1 * sin(3 * x) * cos(2 * y));
}

enum { ROWS = 20, COLUMNS = 16 };

static void sample(gw_vec3 points[ROWS * COLUMNS])
{
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            points[i * COLUMNS + j] = wave(i / (ROWS - 1.), 0.8 * j / (COLUMNS - 1.));
}

static void as_many_control_points_interpolate(void **state)
{
    (void)state;
    gw_vec3 points[ROWS * COLUMNS];
    gw_error error = {0};
    sample(points);
    gw_nurbs_fit fit = {2, {ROWS, COLUMNS}, points, {3, 3}, {ROWS, COLUMNS}};
    gw_nurbs *s = gw_nurbs_fit_points(&fit, &error);
    assert_non_null(s);
    assert_true(gw_nurbs_deviation(s, ROWS * COLUMNS, points) < 1e-12);
    assert_true(fabs(to(s, wave(0.333, 0.444))) < 2e-4); /* between them */
    gw_nurbs_put(s);
    fit = (gw_nurbs_fit){1, {ROWS}, points, {5}, {ROWS}};
    for (int i = 0; i < ROWS; i++)
        points[i] = points[i * COLUMNS];
    gw_nurbs *c = gw_nurbs_fit_points(&fit, &error);
    assert_non_null(c);
    assert_true(gw_nurbs_deviation(c, ROWS, points) < 1e-12);
    gw_nurbs_put(c);
}

/* More control points come closer; the corners are kept; a plane is found exactly. */
static void fewer_control_points_approximate(void **state)
{
    (void)state;
    gw_vec3 points[ROWS * COLUMNS];
    double last = 1;
    sample(points);
    for (int count = 4; count <= 10; count += 2) {
        gw_nurbs_fit fit = {2, {ROWS, COLUMNS}, points, {3, 3}, {count, count}};
        gw_nurbs *s = gw_nurbs_fit_points(&fit, NULL);
        assert_non_null(s);
        double off = gw_nurbs_deviation(s, ROWS * COLUMNS, points);
        print_message("%d x %d control points: %.1e m\n", count, count, off);
        assert_true(off < last);
        assert_true(gw_distance(at(s, 0, 0), points[0]) < 1e-15);
        assert_true(gw_distance(at(s, 1, 1), points[ROWS * COLUMNS - 1]) < 1e-15);
        last = off;
        gw_nurbs_put(s);
    }
    assert_true(last < 1e-4);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        points[i].z = 0.3 * points[i].x - 0.7 * points[i].y;
    gw_nurbs_fit flat = {2, {ROWS, COLUMNS}, points, {2, 3}, {4, 6}};
    gw_nurbs *s = gw_nurbs_fit_points(&flat, NULL);
    assert_true(gw_nurbs_deviation(s, ROWS * COLUMNS, points) < 1e-14);
    gw_nurbs_put(s);
}

/* The residual of a fitted line of points is orthogonal to every basis function: no other control
 * points of these knots are nearer. */
static void least_squares_are_least(void **state)
{
    (void)state;
    enum { SAMPLES = 30, COUNT = 7 };
    gw_vec3 points[SAMPLES];
    double chords[SAMPLES] = {0}, best = 0;
    for (int i = 0; i < SAMPLES; i++)
        points[i] = gw_v3(i / 29., 0.2 * sin(0.4 * i) + 0.01 * cos(7 * i), 0.05 * cos(3 * i));
    for (int i = 1; i < SAMPLES; i++)
        chords[i] = chords[i - 1] + sqrt(gw_distance(points[i], points[i - 1]));
    gw_nurbs_fit fit = {1, {SAMPLES}, points, {3}, {COUNT}};
    gw_nurbs *c = gw_nurbs_fit_points(&fit, NULL);
    assert_non_null(c);
    for (int change = -1; change < 6 * (COUNT - 2); change++) {
        gw_vec3 moved[COUNT];
        double sum = 0;
        memcpy(moved, c->stated, sizeof moved);
        if (change >= 0) {
            gw_vec3 *p = &moved[1 + change / 6];
            double by = change % 2 ? 1e-4 : -1e-4;
            *p = gw_add(*p, gw_v3(change % 6 / 2 == 0 ? by : 0, change % 6 / 2 == 1 ? by : 0,
                                  change % 6 / 2 == 2 ? by : 0));
        }
        gw_nurbs *other = gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                                          .degree = {3},
                                                          .count = {COUNT},
                                                          .knot_count = {COUNT + 4},
                                                          .knots = {c->direction[0].knots},
                                                          .points = moved},
                                          NULL);
        for (int i = 0; i < SAMPLES; i++) {
            gw_vec3 off = gw_sub(at(other, chords[i] / chords[SAMPLES - 1], 0), points[i]);
            sum += gw_norm2(off);
        }
        if (change < 0)
            best = sum;
        assert_true(sum >= best);
        gw_nurbs_put(other);
    }
    gw_nurbs_put(c);
}

static void lofts_pass_through_their_sections(void **state)
{
    (void)state;
    gw_error error = {0};
    const double radii[4] = {0.1, 0.2, 0.15, 0.3};
    gw_nurbs *rings[4];
    const gw_nurbs *sections[4];
    for (int k = 0; k < 4; k++) {
        gw_nurbs *ring = gw_nurbs_circle(radii[k], NULL);
        gw_vec3 points[9];
        for (int i = 0; i < 9; i++)
            points[i] = gw_add(ring->stated[i], gw_v3(0, 0, 0.2 * k));
        gw_nurbs_def def = {.dimension = 1,
                            .degree = {2},
                            .count = {9},
                            .knot_count = {12},
                            .knots = {ring->direction[0].knots},
                            .points = points,
                            .weights = ring->weights};
        sections[k] = rings[k] = gw_nurbs_create(&def, NULL);
        gw_nurbs_put(ring);
    }
    gw_nurbs *cone = gw_nurbs_loft(2, sections, 1, &error),
             *vase = gw_nurbs_loft(4, sections, 3, &error);
    assert_non_null(cone);
    assert_non_null(vase);
    for (int i = 0; i < 50; i++) {
        gw_vec3 p = at(cone, i / 50., 0.37);
        assert_true(fabs(hypot(p.x, p.y) - (0.1 + 0.1 * p.z / 0.2)) < 1e-15);
        for (int k = 0; k < 4; k++)
            assert_true(to(vase, at(rings[k], 4 * i / 50., 0)) < 1e-12);
    }
    gw_nurbs_put(cone);
    gw_nurbs_put(vase);
    /* a straight line, and a cubic with a knot of its own */
    double line[4] = {2, 2, 5, 5}, bent[9] = {0, 0, 0, 0, 0.3, 1, 1, 1, 1};
    gw_vec3 ends[2] = {{0, 0, 0}, {1, 0, 0}};
    gw_vec3 net[5] = {{0, 1, 0}, {0.2, 1, 0.3}, {0.5, 1, -0.2}, {0.8, 1, 0.1}, {1, 1, 0}};
    gw_nurbs *a = curve(1, 2, line, ends, NULL);
    gw_nurbs *b = curve(3, 5, bent, net, NULL);
    const gw_nurbs *both[2] = {a, b};
    gw_nurbs *ruled = gw_nurbs_loft(2, both, 1, &error);
    assert_non_null(ruled);
    for (int i = 0; i <= 20; i++)
        for (int j = 0; j <= 4; j++) {
            gw_vec3 p = at(a, 2 + 3 * i / 20., 0), q = at(b, i / 20., 0);
            gw_vec3 between = gw_add(gw_scale(1 - j / 4., p), gw_scale(j / 4., q));
            assert_true(gw_distance(at(ruled, i / 20., j / 4.), between) < 1e-14);
        }
    gw_nurbs_put(ruled);
    gw_nurbs_put(a);
    gw_nurbs_put(b);
    for (int k = 0; k < 4; k++)
        gw_nurbs_put(rings[k]);
}

static void revolved_and_swept_surfaces_are_exact(void **state)
{
    (void)state;
    gw_error error = {0};
    double corner = sqrt(0.5), knots[6] = {0, 0, 0, 1, 1, 1};
    gw_vec3 quarter[3] = {{0.2, 0, 0}, {0.2, 0, 0.2}, {0, 0, 0.2}};
    double weights[3] = {1, corner, 1};
    gw_nurbs *arc = curve(2, 3, knots, quarter, weights);
    const double angles[4] = {0.7, GW_PI / 2, 4, 2 * GW_PI};
    for (int k = 0; k < 4; k++) {
        gw_nurbs *dome = gw_nurbs_revolve(arc, gw_v3(0, 0, 0), gw_v3(0, 0, 3), angles[k], &error);
        assert_non_null(dome);
        double last = dome->direction[0].high;
        for (int i = 0; i <= 30; i++)
            assert_true(fabs(gw_norm(at(dome, last * i / 30, (i * 7 % 31) / 31.)) - 0.2) < 1e-15);
        gw_vec3 end = at(dome, last * (1 - 1e-15), 0);
        assert_true(gw_distance(end, gw_v3(0.2 * cos(angles[k]), 0.2 * sin(angles[k]), 0)) < 1e-14);
        assert_int_equal(dome->direction[0].closed, k == 3);
        gw_nurbs_point p;
        gw_nurbs_evaluate(dome, (double[2]){0, 0.3}, 2, NULL, &p);
        gw_vec3 n = gw_nurbs_normal(dome, (double[2]){0, 0.3}, &p);
        assert_true(gw_distance(gw_scale(0.2, n), p.d[0][0]) < 1e-14); /* outward */
        gw_nurbs_put(dome);
    }
    gw_nurbs *ring = gw_nurbs_circle(0.05, NULL), *pipe = gw_nurbs_sweep(ring, arc, &error);
    assert_non_null(pipe);
    for (int i = 0; i <= 20; i++)
        for (int j = 0; j <= 20; j++) {
            gw_vec3 is = at(pipe, 4 * i / 20., j / 20.), start = at(arc, 0, 0);
            gw_vec3 want = gw_add(at(ring, 4 * i / 20., 0), gw_sub(at(arc, j / 20., 0), start));
            assert_true(gw_distance(is, want) < 1e-15);
        }
    gw_nurbs_put(pipe);
    gw_nurbs_put(ring);
    gw_nurbs_put(arc);
}

/* A profile that meets the axis between its ends is refused with the point: a line through it, a
 * parabola that touches it, a polyline with a corner on it, a circle about a point of it. Lines
 * beside it, a micrometre off and askew, and ends on it are no error. */
static void profiles_do_not_cross_the_axis(void **state)
{
    (void)state;
    double line[4] = {0, 0, 1, 1}, parabola[6] = {0, 0, 0, 1, 1, 1}, poly[5] = {0, 0, 0.5, 1, 1};
    double late[6] = {0, 0, 0.01, 0.02, 1, 1};
    const struct {
        int degree, count;
        const double *knots;
        gw_vec3 points[4], meets;
        bool crosses;
    } cases[] = {
        {1, 2, line, {{-1, 0, 0}, {2, 0, 3}}, {0, 0, 1}, true},
        {1, 2, line, {{-1e-3, 0, 0}, {1, 0, 1}}, {0, 0, 1e-3 / 1.001}, true},
        {2, 3, parabola, {{1, 0, 0}, {-1, 0, 1}, {1, 0, 2}}, {0, 0, 1}, true},
        {1, 3, poly, {{1, 1, 0}, {0, 0, 0.3}, {2, 2, 1}}, {0, 0, 0.3}, true},
        {1, 4, late, {{1, 0, 0}, {1, 0, 1}, {-1, 0, 2}, {-1, 0, 9}}, {0, 0, 1.5}, true},
        {1, 2, line, {{-1, 1e-6, 0}, {2, 1e-6, 3}}, {0, 0, 0}, false},
        {1, 2, line, {{0.5, -1, 0}, {0.5, 1, 3}}, {0, 0, 0}, false},
        {1, 2, line, {{1e-17, 0, 0}, {2, 0, 3}}, {0, 0, 0}, false},
        {1, 3, poly, {{-1e-17, 0, 0}, {2, 0, 1}, {1e-17, 0, 3}}, {0, 0, 0}, false},
        {2, 3, parabola, {{1, 0, 0}, {-0.9, 0, 1}, {1, 0, 2}}, {0, 0, 0}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gw_error error = {0};
        gw_nurbs *profile =
            curve(cases[i].degree, cases[i].count, cases[i].knots, cases[i].points, NULL);
        gw_vec3 shift = {0.3, -0.2, 0.1}, p = {0, 0, 0};
        gw_nurbs *made = gw_nurbs_revolve(profile, p, gw_v3(0, 0, 2), 2 * GW_PI, &error);
        assert_int_equal(made == NULL, cases[i].crosses);
        if (!made) {
            assert_string_equal(error.where, "/profile");
            assert_int_equal(
                sscanf(strchr(error.message, '['), "[%lf, %lf, %lf]", &p.x, &p.y, &p.z), 3);
            assert_true(gw_distance(p, cases[i].meets) < 1e-5);
        } else {
            gw_nurbs_put(made);
        }
        /* no other axis of this direction is met */
        error = (gw_error){0};
        made = gw_nurbs_revolve(profile, gw_add(cases[i].points[0], gw_scale(9, shift)),
                                gw_v3(0, 0, 2), 1, &error);
        assert_non_null(made);
        gw_nurbs_put(made);
        gw_nurbs_put(profile);
    }
    gw_error error = {0};
    gw_nurbs *ring = gw_nurbs_circle(0.1, NULL);
    assert_null(gw_nurbs_revolve(ring, gw_v3(0, 0, 0), gw_v3(0, 1, 0), 1, &error));
    assert_string_equal(error.where, "/profile");
    gw_nurbs *torus = gw_nurbs_revolve(ring, gw_v3(0.3, 0, 0), gw_v3(0, 1, 0), 1, &error);
    assert_non_null(torus);
    gw_nurbs_put(torus);
    gw_nurbs_put(ring);
}

static void refusals_name_what_is_wrong(void **state)
{
    (void)state;
    gw_vec3 points[4] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 0}, {2, 0, 0}};
    gw_error error = {0};
    gw_nurbs_fit twice = {1, {4}, points, {3}, {4}};
    assert_null(gw_nurbs_fit_points(&twice, &error));
    assert_string_equal(error.where, "/points");
    gw_nurbs_fit steep = {1, {4}, points, {4}, {4}}, many = {1, {4}, points, {2}, {5}};
    error = (gw_error){0};
    assert_null(gw_nurbs_fit_points(&steep, &error));
    assert_string_equal(error.where, "/degree");
    error = (gw_error){0};
    assert_null(gw_nurbs_fit_points(&many, &error));
    assert_string_equal(error.where, "/count");
    gw_nurbs *ring = gw_nurbs_circle(0.1, NULL);
    const gw_nurbs *same[2] = {ring, ring};
    error = (gw_error){0};
    assert_null(gw_nurbs_loft(2, same, 1, &error));
    assert_string_equal(error.where, "/sections");
    error = (gw_error){0};
    assert_null(gw_nurbs_loft(2, same, 2, &error));
    assert_string_equal(error.where, "/degree");
    error = (gw_error){0};
    assert_null(gw_nurbs_revolve(ring, gw_v3(0, 0, 0), gw_v3(0, 0, 0), 1, &error));
    assert_string_equal(error.where, "/axis");
    error = (gw_error){0};
    assert_null(gw_nurbs_revolve(ring, gw_v3(0, 0, 0), gw_v3(0, 0, 1), 7, &error));
    assert_string_equal(error.where, "/angle");
    gw_nurbs_put(ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_control_points_interpolate),
        cmocka_unit_test(fewer_control_points_approximate),
        cmocka_unit_test(least_squares_are_least),
        cmocka_unit_test(lofts_pass_through_their_sections),
        cmocka_unit_test(revolved_and_swept_surfaces_are_exact),
        cmocka_unit_test(profiles_do_not_cross_the_axis),
        cmocka_unit_test(refusals_name_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
