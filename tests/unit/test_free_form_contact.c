/*
 * Contacts with free-form surfaces: points, normals and gaps against those of the same surface as a
 * primitive, and balls that roll and slide on them against their closed forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/contact/kinematics.h"
#include "rt/geometry/nurbs_mesh.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/free_form_fixture.h"

/* ---- the narrow phase ------------------------------------------------------------------------ */

/* A sphere of 0.2 m in front of every kind of solid, turned at random, 5 mm away and 0.1 mm deep:
 * the gap and its normal are those of the primitive sphere, also where the sphere is the first of
 * the pair. The triangles are up to 0.4 mm inside of it. */
static void gaps_from_a_sphere_are_those_of_the_primitive(void **state)
{
    (void)state;
    static const double depths[2] = {5e-3, -1e-4};
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.2, 0);
    gw_shape form = {.kind = GW_SHAPE_NURBS_SURFACE,
                     .nurbs = gw_nurbs_ellipsoid(gw_v3(0.2, 0.2, 0.2), NULL)};
    unsigned seed = 7;
    for (int kind = 0; kind < 5; kind++) {
        gw_shape shape = some_shape(kind);
        gw_detector *exact = pair_of(&shape, &ball), *by_form = pair_of(&shape, &form);
        gw_detector *first = pair_of(&form, &shape);
        double worst = 0, turned = 0;
        for (int i = 0; i < 200; i++) {
            gw_contact_candidate e[GW_PAIR_CANDIDATES], f[GW_PAIR_CANDIDATES];
            gw_vec3 way = gw_unit(some_vector(&seed, 1));
            gw_pose b = some_pose_at(&seed, some_vector(&seed, 1)), a = some_pose_at(&seed, b.p);
            double gap, own;
            a.p = gw_mul_add(b.p, 1, way);
            detect(exact, &a, &b, 2, e, &gap);
            a.p = gw_mul_add(a.p, depths[i % 2] - gap, way);
            /* not along the normal, so once more */
            for (int k = 0; k < 4; k++) {
                detect(exact, &a, &b, 2, e, &gap);
                a.p = gw_mul_add(a.p, depths[i % 2] - gap, way);
            }
            assert_true(detect(exact, &a, &b, 0.02, e, &gap) > 0);
            gw_gap at = gw_gap_at(&e[0], &a, &b);
            int count = detect(by_form, &a, &b, 0.02, f, &own);
            assert_true(count > 0);
            gw_gap found = gw_gap_at(&f[0], &a, &b);
            worst = fmax(worst, fmax(fabs(own - gap), fabs(found.gap - gap)));
            turned = fmax(turned, gw_distance(found.normal, at.normal));
            assert_true(detect(first, &b, &a, 0.02, f, &own) > 0);
            found = gw_gap_at(&f[0], &b, &a);
            worst = fmax(worst, fabs(found.gap - gap));
            turned = fmax(turned, gw_norm(gw_add(found.normal, at.normal)));
        }
        print_message("kind %d: gap off by %.1e m, normal by %.1e\n", kind, worst, turned);
        /* a rim that lies has points that are fixed, and a lower one from 1 um on */
        assert_true(worst < (kind < 3 ? 1e-9 : 1e-6) && turned < (kind < 3 ? 1e-6 : 5e-3));
        gw_detector_destroy(exact);
        gw_detector_destroy(by_form);
        gw_detector_destroy(first);
    }
    gw_shape_finish(&form);
}

/* A ball on a torus that moves by s: the gap that its candidate tells is off by the third order of
 * s, the normal by the second, and the key stays. */
static void a_gap_is_followed_to_second_order(void **state)
{
    (void)state;
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.02, 0);
    gw_shape form = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_torus(0.2, 0.05, NULL)};
    gw_detector *d = pair_of(&ball, &form);
    const double steps[2] = {1e-3, 2e-3};
    double gaps[2] = {0, 0}, normals[2] = {0, 0};
    unsigned seed = 3;
    for (int i = 0; i < 300; i++) {
        gw_contact_candidate was[GW_PAIR_CANDIDATES], is[GW_PAIR_CANDIDATES];
        gw_pose b = some_pose_at(&seed, some_vector(&seed, 1)), a = gw_pose_identity(), moved;
        double u = 3 * some(&seed), v = 3 * some(&seed), away = 0.05 + 0.0201, gap;
        a.p = gw_pose_point(&b, gw_v3((0.2 + away * cos(v)) * cos(u),
                                      (0.2 + away * cos(v)) * sin(u), away * sin(v)));
        assert_int_equal(detect(d, &a, &b, 0.003, was, &gap), 1);
        assert_true(fabs(gap - 1e-4) < 1e-12);
        gw_vec3 n = gw_gap_at(&was[0], &a, &b).normal, way = gw_unit(some_vector(&seed, 1));
        way = gw_unit(gw_reject(way, n));
        for (int k = 0; k < 2; k++) {
            moved = (gw_pose){gw_mul_add(a.p, steps[k], way), gw_quat_exp(some_vector(&seed, 1))};
            assert_int_equal(detect(d, &moved, &b, 0.003, is, &gap), 1);
            assert_true(is[0].key == was[0].key);
            gw_gap told = gw_gap_at(&was[0], &moved, &b), found = gw_gap_at(&is[0], &moved, &b);
            gaps[k] = fmax(gaps[k], fabs(told.gap - found.gap));
            normals[k] = fmax(normals[k], gw_distance(told.normal, found.normal));
        }
    }
    print_message("gap off by %.1e, %.1e m, normal by %.1e, %.1e\n", gaps[0], gaps[1], normals[0],
                  normals[1]);
    assert_true(gaps[0] < 3e-8 && gaps[1] < 9 * gaps[0] + 1e-12);
    assert_true(normals[0] < 2e-4 && normals[1] < 4.5 * normals[0]);
    gw_detector_destroy(d);
    gw_shape_finish(&form);
}

/* The least height over that sheet, to first order, of 4096 points: those of a box's edges, or of
 * a cone's rim and apex. */
static double lowest_of_edges(const gw_shape *s, const gw_pose *p, double a, double b)
{
    double least = INFINITY;
    for (int i = 0; i < 4096; i++) {
        double share = (i % 256) / 255., turn = 2 * GW_PI * i / 4096;
        int edge = i / 256, along = edge / 4;
        double of_edge[3] = {edge & 1 ? 0.5 : -0.5, edge & 2 ? 0.5 : -0.5, share - 0.5};
        gw_vec3 x = gw_v3(s->radius * cos(turn), s->radius * sin(turn), 0);
        if (s->kind == GW_SHAPE_BOX)
            x = gw_v3(s->size.x * of_edge[along % 3], s->size.y * of_edge[(along + 1) % 3],
                      s->size.z * of_edge[(along + 2) % 3]);
        else if (i == 0)
            x = gw_v3(0, 0, s->height);
        x = gw_pose_point(p, x);
        double slope = gw_norm(gw_v3(1, 2 * a * x.x, 2 * b * x.y));
        least = fmin(least, (x.z - a * x.x * x.x - b * x.y * x.y) / slope);
    }
    return least;
}

/* A solid that touches with edges, rims and corners alone, a cone or a box in a steep bowl and a
 * box on a saddle, is as deep as the deepest of their points. */
static void solids_are_as_deep_as_their_edges(void **state)
{
    (void)state;
    static const double bends[3][2] = {{8, 5}, {2, -1}, {8, 5}};
    const gw_shape solids[3] = {round_shape(GW_SHAPE_CONE, 0.03, 0.06),
                                box_shape(0.05, 0.054, 0.07), box_shape(0.064, 0.119, 0.078)};
    unsigned seed = 5;
    for (int kind = 0; kind < 3; kind++) {
        double a = bends[kind][0], b = bends[kind][1], worst = 0;
        gw_shape form = sheet(a, b);
        gw_detector *d = pair_of(&solids[kind], &form);
        for (int i = 0; i < 400; i++) {
            gw_contact_candidate c[GW_PAIR_CANDIDATES];
            gw_vec3 over = some_vector(&seed, 0.12);
            gw_pose at = some_pose_at(&seed, gw_v3(over.x, over.y, 0)), ground = gw_pose_identity();
            double gap, low = -1, high = 2, deep = i % 2 ? -1e-3 : -1e-4;
            for (int k = 0; k < 50; k++) {
                at.p.z = 0.5 * (low + high);
                *(lowest_of_edges(&solids[kind], &at, a, b) < deep ? &low : &high) = at.p.z;
            }
            assert_true(detect(d, &at, &ground, 2e-3, c, &gap) > 0);
            worst = fmax(worst, fabs(gap - deep));
        }
        print_message("off by %.1e m\n", worst);
        assert_true(worst < 1e-5);
        gw_detector_destroy(d);
        gw_shape_finish(&form);
    }
}

/* A plate that lies tilted on the top of a hill is above it with all its corners, though the planes
 * at their feet are above its centre. */
static void a_plate_is_above_the_hill_that_it_lies_on(void **state)
{
    (void)state;
    gw_shape plate = box_shape(0.2, 0.2, 0.01), hill = sheet(-1.5, -1.5);
    gw_detector *d = pair_of(&plate, &hill);
    unsigned seed = 2;
    for (int i = 0; i < 200; i++) {
        gw_contact_candidate c[GW_PAIR_CANDIDATES];
        gw_vec3 tilt = some_vector(&seed, 0.1);
        gw_pose at = {{0, 0, 0.0049}, gw_quat_exp(gw_v3(tilt.x, tilt.y, 3 * tilt.z))};
        gw_pose ground = gw_pose_identity();
        double gap;
        int count = detect(d, &at, &ground, 0.05, c, &gap);
        assert_true(count > 0 && gap > -4e-3);
        for (int k = 0; k < count; k++)
            assert_true(gw_gap_at(&c[k], &at, &ground).normal.z > 0.5);
    }
    gw_detector_destroy(d);
    gw_shape_finish(&hill);
}

/* A ball, a capsule and a cylinder on the ridge of a sheet that is folded: of neither side's
 * normal. */
static void solids_touch_a_ridge(void **state)
{
    (void)state;
    static const double knots[] = {0, 0, 0.25, 0.5, 0.75, 1, 1}; /* far from the borders */
    gw_vec3 points[25];
    for (int i = 0; i < 25; i++)
        points[i] = gw_v3(0.1 * (i / 5 - 2), 0.1 * (i % 5 - 2), -0.05 * abs(i / 5 - 2));
    const gw_nurbs_def def = {.dimension = 2,
                              .degree = {1, 1},
                              .count = {5, 5},
                              .knot_count = {7, 7},
                              .knots = {knots, knots},
                              .points = points};
    gw_shape ridge = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_create(&def, NULL)};
    assert_non_null(ridge.nurbs);
    const gw_shape solids[3] = {round_shape(GW_SHAPE_SPHERE, 0.03, 0),
                                round_shape(GW_SHAPE_CAPSULE, 0.03, 0.1),
                                round_shape(GW_SHAPE_CYLINDER, 0.03, 0.1)};
    for (int kind = 0; kind < 3; kind++) {
        gw_detector *d = pair_of(&solids[kind], &ridge);
        for (int i = 0; i < 5; i++) { /* lying across it */
            gw_contact_candidate c[GW_PAIR_CANDIDATES];
            gw_pose at = {{2e-3 * (i - 2), 0.011, 0.0299}, gw_quat_exp(gw_v3(0, GW_PI / 2, 0))};
            gw_pose ground = gw_pose_identity();
            double gap, far = kind == 0 ? gw_norm(gw_v3(at.p.x, 0, at.p.z)) : at.p.z;
            assert_true(detect(d, &at, &ground, 1e-3, c, &gap) > 0);
            assert_true(fabs(gap - (far - 0.03)) < 1e-9);
        }
        gw_detector_destroy(d);
    }
    gw_shape_finish(&ridge);
}

static void parameters_of_triangles_are_those_of_their_corners(void **state)
{
    (void)state;
    gw_nurbs *forms[3] = {gw_nurbs_ellipsoid(gw_v3(0.2, 0.1, 0.05), NULL),
                          gw_nurbs_torus(0.2, 0.05, NULL), gw_nurbs_cone(0.1, 0.2, NULL)};
    for (int i = 0; i < 3; i++) {
        gw_corner_parameters *x;
        gw_mesh *mesh = gw_nurbs_mesh(forms[i], &x, NULL);
        assert_non_null(mesh);
        for (int t = 0; t < mesh->triangle_count; t++)
            for (int k = 0; k < 3; k++) {
                gw_nurbs_point at;
                gw_nurbs_evaluate(forms[i], x[t][k], 0, NULL, &at);
                assert_true(gw_distance(at.d[0][0], mesh->vertices[mesh->triangles[t][k]]) < 1e-12);
            }
        free(x);
        gw_mesh_put(mesh);
        gw_nurbs_put(forms[i]);
    }
}

/* ---- motion ---------------------------------------------------------------------------------- */

/* Balls of 2 cm. */
static void balls_on(thrown *t, int count, const gw_vec3 *at, const gw_shape *wall, double friction)
{
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.02, 0);
    shapes_on(t, &ball, count, at, wall, friction, 1e-3);
}

/* A ball in a bowl from 0.5 rad: 10 s with and without friction. It loses at most 1e-3 of its
 * energy, stays within what its spring gives, and takes as long as a pendulum of that length. */
static void a_ball_in_a_bowl_keeps_its_energy(void **state)
{
    (void)state;
    const double frictions[2] = {0, 0.8};
    gw_shape wall = bowl(0.3);
    for (int k = 0; k < 2; k++) {
        swing s =
            swing_in_a_bowl(round_shape(GW_SHAPE_SPHERE, 0.02, 0), &wall, frictions[k], 10000);
        print_message("lost %.1e, gap %.1e to %.1e m, period off by %.1e, %.1e m aside\n", s.lost,
                      s.deepest, s.farthest, s.slow, s.aside);
        assert_true(fabs(s.lost) < 1e-3 && fabs(s.slow) < 1e-4 && s.aside < 1e-9);
        assert_true(s.gained < 1e-4 && s.deepest > -2e-5 && s.farthest < 1e-6);
    }
    gw_shape_finish(&wall);
}

/* A ball rolls down a sphere of free form as down the primitive. */
static void a_ball_on_a_sphere_moves_as_on_the_primitive(void **state)
{
    (void)state;
    gw_shape walls[2] = {
        {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_ellipsoid(gw_v3(0.3, 0.3, 0.3), NULL)},
        round_shape(GW_SHAPE_SPHERE, 0.3, 0)};
    gw_vec3 at = gw_v3(0.32 * sin(0.05), 0.32 * sin(0.03), 0), end[2];
    at.z = sqrt(0.32 * 0.32 - at.x * at.x - at.y * at.y);
    for (int k = 0; k < 2; k++) {
        static thrown t;
        balls_on(&t, 1, &at, &walls[k], 0.5);
        for (int i = 0; i < 400; i++)
            thrown_tick(&t);
        energy_of(&t, 0, &end[k]);
        thrown_close(&t);
        gw_shape_finish(&t.wall);
    }
    print_message("%.1e m apart after %.3f m\n", gw_distance(end[0], end[1]),
                  gw_distance(end[0], at));
    assert_true(gw_distance(end[0], end[1]) < 1e-8 && gw_distance(end[0], at) > 0.04);
    gw_shape_finish(&walls[0]);
}

/* Five balls roll in a bowl, until they meet: the step bears the queries of all of them, every
 * tick. */
static void five_balls_in_a_bowl_are_queried_in_every_tick(void **state)
{
    (void)state;
    static thrown t;
    gw_shape wall = bowl(0.3);
    gw_vec3 at[5];
    for (int i = 0; i < 5; i++)
        at[i] = gw_v3(0.2 * cos(1.25 * i), 0.2 * sin(1.25 * i), -sqrt(0.28 * 0.28 - 0.04));
    balls_on(&t, 5, at, &wall, 0.3);
    int skipped = 0;
    for (int i = 0; i < 250; i++) {
        thrown_tick(&t);
        skipped += t.a.last.redetections_skipped;
    }
    print_message("%d queries skipped\n", skipped);
    assert_int_equal(skipped, 0);
    thrown_close(&t);
    gw_shape_finish(&t.wall);
    gw_shape_finish(&wall);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_from_a_sphere_are_those_of_the_primitive),
        cmocka_unit_test(a_gap_is_followed_to_second_order),
        cmocka_unit_test(solids_are_as_deep_as_their_edges),
        cmocka_unit_test(a_plate_is_above_the_hill_that_it_lies_on),
        cmocka_unit_test(solids_touch_a_ridge),
        cmocka_unit_test(parameters_of_triangles_are_those_of_their_corners),
        cmocka_unit_test(a_ball_in_a_bowl_keeps_its_energy),
        cmocka_unit_test(a_ball_on_a_sphere_moves_as_on_the_primitive),
        cmocka_unit_test(five_balls_in_a_bowl_are_queried_in_every_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
