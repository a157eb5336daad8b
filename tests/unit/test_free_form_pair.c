/*
 * Contacts of free-form surfaces with one another: gaps, normals and their second order against
 * those of primitives and of a new query, and balls of free form in bowls against closed forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/collision/free_form.h"
#include "rt/contact/kinematics.h"
#include "rt/geometry/nurbs_mesh.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/free_form_fixture.h"

/* ---- the narrow phase ------------------------------------------------------------------------ */

static gw_shape ellipsoid(double x, double y, double z)
{
    return (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE,
                      .nurbs = gw_nurbs_ellipsoid(gw_v3(x, y, z), NULL)};
}

/* A sphere of free form at any other one, and in front of a bowl: its gap and normal are those of a
 * primitive ball. */
static void gaps_of_two_surfaces_are_those_of_a_ball(void **state)
{
    (void)state;
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.03, 0), form = ellipsoid(0.03, 0.03, 0.03);
    gw_shape others[4] = {
        ellipsoid(0.2, 0.1, 0.15),
        {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_torus(0.2, 0.05, NULL)},
        bowl(0.3),
        sheet(2, -1)};
    unsigned seed = 7;
    for (int kind = 0; kind < 4; kind++) {
        gw_detector *exact = pair_of(&ball, &others[kind]);
        gw_detector *first = pair_of(&form, &others[kind]), *last = pair_of(&others[kind], &form);
        double worst = 0, turned = 0;
        int asked = 0;
        for (int i = 0; i < 400; i++) {
            gw_contact_candidate e[GW_PAIR_CANDIDATES], f[GW_PAIR_CANDIDATES];
            gw_vec3 way = gw_unit(some_vector(&seed, 1));
            gw_pose b = some_pose_at(&seed, some_vector(&seed, 1)), a = some_pose_at(&seed, b.p);
            double gap, own;
            bool open = kind >= 2;
            if (open) /* over its middle */
                way = gw_rotate(b.q, gw_v3(0.15 * way.x, 0.15 * way.y, kind == 2 ? -0.3 : 0.5));
            a.p = open ? gw_mul_add(b.p, kind == 2 ? 0.5 : 0.2, way) : gw_mul_add(b.p, 0.5, way);
            double deep = i % 2 ? -1e-4 : 1e-3;
            for (int k = 0; k < 20; k++)
                if (detect(exact, &a, &b, 1, e, &gap) > 0) {
                    gw_gap at = gw_gap_at(&e[0], &a, &b);
                    a.p = gw_mul_add(a.p, deep - at.gap, at.normal);
                }
            if (detect(exact, &a, &b, 2e-3, e, &gap) == 0 || fabs(gap - deep) > 1e-9)
                continue;
            asked++;
            gw_gap at = gw_gap_at(&e[0], &a, &b);
            assert_true(detect(first, &a, &b, 2e-3, f, &own) > 0);
            gw_gap found = gw_gap_at(&f[0], &a, &b);
            worst = fmax(worst, fmax(fabs(own - gap), fabs(found.gap - gap)));
            turned = fmax(turned, gw_distance(found.normal, at.normal));
            assert_true(detect(last, &b, &a, 2e-3, f, &own) > 0);
            found = gw_gap_at(&f[0], &b, &a);
            worst = fmax(worst, fabs(found.gap - gap));
            turned = fmax(turned, gw_norm(gw_add(found.normal, at.normal)));
        }
        print_message("%d: %d asked, gap off by %.1e m, normal by %.1e\n", kind, asked, worst,
                      turned);
        assert_true(asked > 100 && worst < 1e-9 && turned < 1e-6);
        gw_detector_destroy(exact);
        gw_detector_destroy(first);
        gw_detector_destroy(last);
        gw_shape_finish(&others[kind]);
    }
    gw_shape_finish(&form);
}

/* An ellipsoid on a torus that moves by s and turns by s / 0.05 m: the gap that its candidate tells
 * is off by the third order of s, normal and point by the second, and the key stays. */
static void a_gap_is_followed_as_either_surface_turns(void **state)
{
    (void)state;
    gw_shape egg = ellipsoid(0.02, 0.025, 0.03);
    gw_shape ring = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_torus(0.2, 0.05, NULL)};
    gw_detector *d[2] = {pair_of(&egg, &ring), pair_of(&ring, &egg)};
    const double steps[2] = {5e-4, 1e-3};
    unsigned seed = 3;
    for (int order = 0; order < 2; order++) {
        double gaps[2] = {0, 0}, normals[2] = {0, 0}, points[2] = {0, 0};
        for (int i = 0; i < 300; i++) {
            gw_contact_candidate was[GW_PAIR_CANDIDATES], is[GW_PAIR_CANDIDATES];
            gw_pose b = some_pose_at(&seed, some_vector(&seed, 1));
            gw_pose a = some_pose_at(&seed, b.p), moved;
            double u = 3 * some(&seed), v = 3 * some(&seed), away = 0.05 + 0.03, gap;
            a.p = gw_pose_point(&b, gw_v3((0.2 + away * cos(v)) * cos(u),
                                          (0.2 + away * cos(v)) * sin(u), away * sin(v)));
            const gw_pose *at[2] = {order ? &b : &a, order ? &a : &b};
            int count = detect(d[order], at[0], at[1], 0.012, was, &gap);
            assert_true(count > 0);
            if (count > 1)
                continue;
            gw_vec3 way = gw_unit(some_vector(&seed, 1)), turn = gw_unit(some_vector(&seed, 1));
            for (int k = 0; k < 2; k++) {
                moved.p = gw_mul_add(at[0]->p, steps[k], way);
                moved.q = gw_quat_mul(gw_quat_exp(gw_scale(steps[k] / 0.05, turn)), at[0]->q);
                assert_true(detect(d[order], &moved, at[1], 0.012, is, &gap) > 0);
                assert_true(is[0].key == was[0].key);
                gw_gap told = gw_gap_at(&was[0], &moved, at[1]);
                gw_gap found = gw_gap_at(&is[0], &moved, at[1]);
                gaps[k] = fmax(gaps[k], fabs(told.gap - found.gap));
                normals[k] = fmax(normals[k], gw_distance(told.normal, found.normal));
                points[k] = fmax(points[k], gw_distance(told.at_a, found.at_a));
            }
        }
        print_message("gap off by %.1e, %.1e m, normal by %.1e, %.1e, point by %.1e, %.1e m\n",
                      gaps[0], gaps[1], normals[0], normals[1], points[0], points[1]);
        assert_true(gaps[1] < 1e-5 && gaps[0] < gaps[1] / 6);
        assert_true(normals[1] < 5e-3 && normals[0] < normals[1] / 3);
        assert_true(points[1] < 2e-4 && points[0] < points[1] / 3);
    }
    gw_detector_destroy(d[0]);
    gw_detector_destroy(d[1]);
    gw_shape_finish(&egg);
    gw_shape_finish(&ring);
}

/* ---- motion ---------------------------------------------------------------------------------- */

/* A solid wanders at another by small steps, near which it is kept: queries that keep the triangles
 * of earlier ones find the same as new ones. */
static void kept_triangles_give_the_same_points(void **state)
{
    (void)state;
    gw_shape pairs[4][2] = {
        {ellipsoid(0.16, 0.14, 0.1),
         {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_torus(0.15, 0.05, NULL)}},
        {ellipsoid(0.16, 0.14, 0.1), bowl(0.2)},
        {{.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_torus(0.12, 0.05, NULL)},
         {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_torus(0.15, 0.05, NULL)}},
        {sheet_of(0.3, 1, 0.5), sheet_of(0.5, -1, 2)}};
    const gw_vec3 from[4] = {
        {0.02, 0.01, 0.13}, {0.01, 0.02, -0.06}, {0.05, 0.01, 0.1}, {0, 0, 0.05}};
    unsigned seed = 3;
    for (int kind = 0; kind < 4; kind++) {
        gw_detector *d = pair_of(&pairs[kind][0], &pairs[kind][1]);
        gw_near_lists *lists = gw_near_lists_create();
        gw_pose a = {from[kind], gw_quat_exp(gw_v3(0, 0, 0.3))}, b = gw_pose_identity();
        double worst = 0;
        int touched = 0, points = 0, missed = 0;
        assert_non_null(lists);
        for (int i = 0; i < 1500; i++) {
            gw_contact_candidate fresh[GW_PAIR_CANDIDATES], kept[GW_PAIR_CANDIDATES];
            double size = i % 100 == 0 ? 10 : 1, gap, same;
            a.p = gw_mul_add(a.p, size, some_vector(&seed, 1.5e-4));
            a.q = gw_quat_unit(gw_quat_mul(gw_quat_exp(some_vector(&seed, 1e-3 * size)), a.q));
            gw_pair_query query = {.geom_b = 1, .world_from_a = a, .world_from_b = b};
            query.reach = 2e-3;
            int count = gw_detect_pair(d, &query, fresh, &gap);
            query.near = lists;
            int again = gw_detect_pair(d, &query, kept, &same);
            if (count > 0 && again > 0)
                worst = fmax(worst, fabs(same - gap));
            touched += count > 0;
            missed += (count > 0) != (again > 0);
            for (int k = 0; k < count; k++) {
                double least = INFINITY;
                for (int j = 0; j < again; j++)
                    least = fmin(least, fabs(kept[j].gap - fresh[k].gap) +
                                            gw_distance(kept[j].point_b, fresh[k].point_b));
                points++;
                missed += least > 1e-6;
            }
            gw_vec3 up = gw_v3(0, 0, 1e-3);
            if (count > 0)
                a.p = gw_mul_add(a.p, 2e-4 - gap, gw_gap_at(&fresh[0], &a, &b).normal);
            else
                a.p = gw_sub(a.p, up);
        }
        print_message("%d: %d touch, %d points, %d missed, gap off by %.1e m\n", kind, touched,
                      points, missed, worst);
        assert_true(touched > 1000 && worst < 1e-9 && missed <= points / 100);
        gw_near_lists_destroy(lists);
        gw_detector_destroy(d);
        gw_shape_finish(&pairs[kind][0]);
        gw_shape_finish(&pairs[kind][1]);
    }
}

/* A ball in a bowl from 0.5 rad, both of free form: 10 s with and without friction, as the
 * primitive ball there (test_free_form_contact.c). */
static void a_ball_of_free_form_swings_in_a_bowl_as_a_pendulum(void **state)
{
    (void)state;
    const double frictions[2] = {0, 0.8};
    gw_shape wall = bowl(0.3);
    for (int k = 0; k < 2; k++) {
        swing s = swing_in_a_bowl(ellipsoid(0.02, 0.02, 0.02), &wall, frictions[k], 10000);
        print_message("lost %.1e, gained %.1e, gap %.1e to %.1e m, period off by %.1e, %.1e m "
                      "aside\n",
                      s.lost, s.gained, s.deepest, s.farthest, s.slow, s.aside);
        assert_true(fabs(s.lost) < 1e-3 && fabs(s.slow) < 1e-4 && s.aside < 1e-6);
        assert_true(s.deepest > -2e-5 && s.farthest < 1e-6 && s.gained < 1e-4);
    }
    gw_shape_finish(&wall);
}

/* ---- what is thrown -------------------------------------------------------------------------- */

static gw_shape some_body(int kind, unsigned *seed)
{
    double s = 0.04 + 0.015 * some(seed);
    gw_nurbs *forms[3] = {gw_nurbs_ellipsoid(gw_v3(s, 0.7 * s, 0.5 * s), NULL),
                          gw_nurbs_torus(s, 0.4 * s, NULL), gw_nurbs_cylinder(0.6 * s, s, NULL)};
    gw_shape shape = {.kind = GW_SHAPE_NURBS_SURFACE};
    if (kind < 3)
        shape.nurbs = gw_nurbs_get(forms[kind]);
    for (int i = 0; i < 3; i++)
        gw_nurbs_put(forms[i]);
    return kind == 3 ? sheet_of(4 * s, 2, 1) : kind == 4 ? bowl(s) : shape;
}

/* Heights (m) of a body's triangles over the sheet z = a x^2 + b y^2: the least, and the mean. */
static double heights_over(const gw_mesh *mesh, const gw_pose *at, double a, double b, double *mean)
{
    double least = INFINITY;
    *mean = 0;
    for (int i = 0; i < mesh->vertex_count; i++) {
        gw_vec3 x = gw_pose_point(at, mesh->vertices[i]);
        double slope = gw_norm(gw_v3(1, 2 * a * x.x, 2 * b * x.y));
        double height = (x.z - a * x.x * x.x - b * x.y * x.y) / slope;
        least = fabs(x.x) < 0.5 && fabs(x.y) < 0.5 ? fmin(least, height) : least;
        *mean += height / mesh->vertex_count;
    }
    return least;
}

/* Ellipsoids, tori, tubes, sheets and bowls that are thrown on bowls, hills and saddles stay above
 * these. */
static void nothing_thrown_passes_a_sheet(void **state)
{
    (void)state;
    static const double rates[2] = {1000, 4000}, deepest[2] = {-2e-3, -1e-3};
    for (int r = 0; r < 2; r++) {
        unsigned seed = 11;
        double worst = 0;
        int passed = 0;
        for (int i = 0; i < 40; i++) {
            static thrown t;
            double a = 1.5 * some(&seed), b = 1.5 * some(&seed), mean;
            gw_shape wall = sheet(a, b), body = some_body(i % 5, &seed);
            gw_vec3 at = gw_v3(0.1 * some(&seed), 0.1 * some(&seed), 0.25);
            gw_mesh *mesh = gw_nurbs_mesh(body.nurbs, NULL, NULL);
            shapes_on(&t, &body, 1, &at, &wall, 0.3, 1 / rates[r]);
            t.surface.restitution = 0.3;
            gw_twist twist = {some_vector(&seed, 1), some_vector(&seed, 15)};
            gw_guided_set_twist(&t.a.body[0], &twist);
            bool passes = false;
            double least = 0;
            for (int k = 0; k < lround(1.5 * rates[r]) && !passes; k++) {
                gw_pose pose;
                gw_twist now;
                thrown_tick(&t);
                gw_model_body(t.a.system[0].model, 0, &pose, &now);
                least = fmin(least, heights_over(mesh, &pose, a, b, &mean));
                if (fabs(pose.p.x) > 0.4 || fabs(pose.p.y) > 0.4)
                    break;
                passes = mean < 0;
            }
            passed += passes;
            worst = fmin(worst, least);
            thrown_close(&t);
            gw_shape_finish(&t.wall);
            gw_shape_finish(&wall);
            gw_shape_finish(&body);
            gw_mesh_put(mesh);
        }
        print_message("%g Hz: %d pass, deepest %.1e m\n", rates[r], passed, worst);
        assert_true(passed == 0 && worst > deepest[r]);
    }
}

/* A query tells what it took: much of two surfaces that lie on each other, little of those that
 * do not meet, and nothing of two balls. */
static void a_query_tells_its_effort(void **state)
{
    (void)state;
    gw_shape wall = sheet(1, 0.5), body = sheet_of(0.2, 1, 0.5);
    gw_shape balls[2] = {round_shape(GW_SHAPE_SPHERE, 0.1, 0),
                         round_shape(GW_SHAPE_SPHERE, 0.1, 0)};
    gw_detector *d[2] = {pair_of(&body, &wall), pair_of(&balls[0], &balls[1])};
    double effort[3] = {0}, gap;
    for (int i = 0; i < 3; i++) {
        gw_contact_candidate found[GW_PAIR_CANDIDATES];
        gw_pose at = gw_pose_identity();
        at.p.z = i == 1 ? 0.3 : 1e-3;
        const gw_pair_query query = {.geom_b = 1,
                                     .world_from_a = at,
                                     .world_from_b = gw_pose_identity(),
                                     .reach = 2e-3,
                                     .effort = &effort[i]};
        gw_detect_pair(d[i / 2], &query, found, &gap);
    }
    print_message("near %.1f, distant %.1f, balls %g steps of a free body\n", effort[0], effort[1],
                  effort[2]);
    assert_true(effort[0] > 20 && effort[1] < 0.5 * effort[0] && effort[2] == 0);
    for (int i = 0; i < 2; i++) {
        gw_detector_destroy(d[i]);
        gw_shape_finish(&balls[i]);
    }
    gw_shape_finish(&wall);
    gw_shape_finish(&body);
}

/* Eight sheets that fall on another one at once take a bounded effort, and none passes. */
static void many_sheets_share_the_effort_of_a_step(void **state)
{
    (void)state;
    enum { COUNT = 8 };
    static thrown t;
    gw_shape wall = sheet(0.5, 0.3), body = sheet_of(0.15, 2, 1);
    gw_vec3 at[COUNT];
    for (int i = 0; i < COUNT; i++)
        at[i] = gw_v3(0.2 * (i % 4) - 0.3, 0.25 * (i / 4) - 0.12, 0.15);
    shapes_on(&t, &body, COUNT, at, &wall, 0.3, 1e-3);
    unsigned seed = 3;
    for (int i = 0; i < COUNT; i++) {
        gw_twist twist = {gw_v3(0, 0, -1), some_vector(&seed, 8)};
        gw_guided_set_twist(&t.a.body[i], &twist);
    }
    int most = 0, passed = 0;
    long sum = 0;
    for (int k = 0; k < 500; k++) {
        thrown_tick(&t);
        most = t.a.last.effort > most ? t.a.last.effort : most;
        sum += t.a.last.effort;
        for (int i = 0; i < COUNT; i++) {
            gw_pose pose;
            gw_twist twist;
            gw_model_body(t.a.system[i].model, 0, &pose, &twist);
            passed += fabs(pose.p.x) < 0.45 && fabs(pose.p.y) < 0.45 && pose.p.z < -0.1;
        }
    }
    print_message("effort %d at most, %.0f in the mean; %d pass\n", most, (double)sum / 500,
                  passed);
    assert_true(passed == 0 && most < 1500);
    thrown_close(&t);
    gw_shape_finish(&t.wall);
    gw_shape_finish(&wall);
    gw_shape_finish(&body);
}

/* A square that stands on an edge, along x or y, its middle at height z. */
static gw_shape upright(double size, bool along_y, double z)
{
    static const double knots[] = {0, 0, 1, 1};
    gw_vec3 points[4];
    for (int i = 0; i < 4; i++) {
        double along = size * (i / 2 - 0.5);
        points[i] = gw_v3(along_y ? 0 : along, along_y ? along : 0, z + size * (i % 2 - 0.5));
    }
    const gw_nurbs_def def = {.dimension = 2,
                              .degree = {1, 1},
                              .count = {2, 2},
                              .knot_count = {4, 4},
                              .knots = {knots, knots},
                              .points = points};
    gw_shape shape = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_create(&def, NULL)};
    assert_non_null(shape.nurbs);
    return shape;
}

/* A square that falls with its lower edge across the upper edge of another one. */
static void edges_that_cross_hold_each_other(void **state)
{
    (void)state;
    static thrown t;
    gw_shape wall = upright(0.5, false, -0.25), body = upright(0.2, true, 0);
    gw_vec3 at = gw_v3(0, 0, 0.13);
    shapes_on(&t, &body, 1, &at, &wall, 0.3, 1e-3);
    gw_pose pose;
    gw_twist twist;
    for (int i = 0; i < 200; i++)
        thrown_tick(&t);
    gw_model_body(t.a.system[0].model, 0, &pose, &twist);
    print_message("its middle is %g m above the edge\n", pose.p.z);
    assert_true(pose.p.z > 0.09);
    thrown_close(&t);
    gw_shape_finish(&t.wall);
    gw_shape_finish(&wall);
    gw_shape_finish(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_of_two_surfaces_are_those_of_a_ball),
        cmocka_unit_test(a_gap_is_followed_as_either_surface_turns),
        cmocka_unit_test(kept_triangles_give_the_same_points),
        cmocka_unit_test(a_ball_of_free_form_swings_in_a_bowl_as_a_pendulum),
        cmocka_unit_test(nothing_thrown_passes_a_sheet),
        cmocka_unit_test(edges_that_cross_hold_each_other),
        cmocka_unit_test(a_query_tells_its_effort),
        cmocka_unit_test(many_sheets_share_the_effort_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
