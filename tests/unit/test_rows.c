/*
 * H, A and the drift of every row kind, by finite differences; projection by Newton's method.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/submanifold.h"
#include "rt/geometry/nurbs_primitive.h"

#define KINDS GW_ROW_KINDS

static const gw_nurbs *ellipsoid, *circle;

static unsigned long long state = 7;

static double uniform(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) / 9007199254740992.0 * 2 - 1;
}

static gw_vec3 vector(void)
{
    return gw_v3(uniform(), uniform(), uniform());
}

static gw_pose random_pose(void)
{
    return (gw_pose){vector(), gw_quat_unit((gw_quat){uniform(), uniform(), uniform(), uniform()})};
}

static void random_rows(gw_row *rows)
{
    for (int i = 0; i < KINDS; i++)
        rows[i] = (gw_row){.kind = (gw_row_kind)i,
                           .m = vector(),
                           .f = vector(),
                           .n = gw_unit(vector()),
                           .value = 0.3};
    rows[GW_ROW_ANGLE].m = gw_unit(rows[GW_ROW_ANGLE].m);
    /* small shapes: all about them has one closest point */
    for (int i = GW_ROW_SURFACE; i < KINDS; i++) {
        bool curve = i == GW_ROW_CURVE || i == GW_ROW_CURVE_BODY || i >= GW_ROW_TANGENT;
        rows[i].q = random_pose().q;
        rows[i].nurbs = curve ? circle : ellipsoid;
    }
}

static gw_pose moved(const gw_pose *x, const gw_twist *twist, double h)
{
    gw_twist d = {gw_scale(h, twist->v), gw_scale(h, twist->w)};
    return gw_pose_add(x, &d);
}

static void jacobian_is_the_derivative_of_the_rows(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 50; trial++) {
        gw_row rows[KINDS];
        random_rows(rows);
        gw_pose x = random_pose();
        gw_twist t = {vector(), vector()};
        double a[KINDS][6], plus[KINDS], minus[KINDS], h = 1e-6;
        gw_rows_jacobian(rows, KINDS, &x, a);
        gw_pose forward = moved(&x, &t, h), backward = moved(&x, &t, -h);
        gw_rows_value(rows, KINDS, &forward, plus);
        gw_rows_value(rows, KINDS, &backward, minus);
        for (int i = 0; i < KINDS; i++) {
            double rate = a[i][0] * t.v.x + a[i][1] * t.v.y + a[i][2] * t.v.z + a[i][3] * t.w.x +
                          a[i][4] * t.w.y + a[i][5] * t.w.z;
            assert_true(fabs(rate - (plus[i] - minus[i]) / (2 * h)) < 1e-7);
        }
    }
}

static void bias_is_the_second_derivative_at_constant_twist(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 50; trial++) {
        gw_row rows[KINDS];
        random_rows(rows);
        gw_pose x = random_pose();
        gw_twist t = {vector(), vector()};
        double drift[KINDS], here[KINDS], plus[KINDS], minus[KINDS], h = 2e-5;
        gw_rows_bias(rows, KINDS, &x, &t, drift);
        gw_pose forward = moved(&x, &t, h), backward = moved(&x, &t, -h);
        gw_rows_value(rows, KINDS, &x, here);
        gw_rows_value(rows, KINDS, &forward, plus);
        gw_rows_value(rows, KINDS, &backward, minus);
        for (int i = 0; i < KINDS; i++) {
            double second = (plus[i] - 2 * here[i] + minus[i]) / (h * h);
            assert_true(fabs(drift[i] - second) < 1e-4 * (1 + fabs(second) * fabs(second)));
        }
    }
}

static void values_are_the_distances_they_name(void **unused)
{
    (void)unused;
    gw_pose x = {{1, 2, 3}, gw_quat_axis(gw_v3(0, 0, 1), GW_PI / 2)};
    /* X = R (1,0,0) + t = (1,3,3) */
    gw_row rows[] = {
        {.kind = GW_ROW_PLANE, .m = {1, 0, 0}, .f = {0, 0, 1}, .n = {0, 0, 1}, .value = 0.5},
        {.kind = GW_ROW_PLANE_BODY,
         .m = {1, 0, 0},
         .f = {1, 5, 3},
         .n = {1, 0, 0},
         .value = 0.5}, /* R n = +y */
        {.kind = GW_ROW_SPHERE, .m = {1, 0, 0}, .f = {1, 3, 0}, .n = {0, 0, 0}, .value = 1},
        {.kind = GW_ROW_CYLINDER, .m = {1, 0, 0}, .f = {0, 0, 0}, .n = {0, 0, 1}, .value = 1},
        {.kind = GW_ROW_CYLINDER_BODY, .m = {1, 0, 0}, .f = {1, 9, 5}, .n = {1, 0, 0}, .value = 1},
        {.kind = GW_ROW_ANGLE, .m = {1, 0, 0}, .f = {0, 0, 0}, .n = {0, 1, 0}, .value = 0.25}};
    double h[6], expected[6] = {1.5, 1.5, 2, sqrt(10) - 1, 1, 0.75};
    gw_rows_value(rows, 6, &x, h);
    for (int i = 0; i < 6; i++)
        assert_true(fabs(h[i] - expected[i]) < 1e-14);
}

static void projection_reaches_the_rows_at_every_scale(void **unused)
{
    (void)unused;
    for (double scale = 1e-6; scale < 1e7; scale *= 1e3) {
        gw_vec3 n = gw_v3(0, 0, 1);
        gw_row rows[] = {
            {.kind = GW_ROW_PLANE,
             .m = gw_scale(scale, vector()),
             .f = gw_scale(scale, vector()),
             .n = n,
             .value = 0},
            {.kind = GW_ROW_ANGLE, .m = {1, 0, 0}, .f = {0, 0, 0}, .n = n, .value = 0},
            {.kind = GW_ROW_ANGLE, .m = {0, 1, 0}, .f = {0, 0, 0}, .n = n, .value = 0},
            {.kind = GW_ROW_ANGLE, .m = {0, 1, 0}, .f = {0, 0, 0}, .n = n, .value = 0}};
        gw_pose x = {gw_scale(scale, vector()), gw_quat_exp(gw_scale(0.5, vector()))};
        double worst = gw_rows_project(rows, 4, 6, scale, 30, &x);
        assert_true(worst < 1e-12 * scale);
    }
}

/* Beside a circle's axis all of it is as near, and the branch followed is not sure: rows of one
 * point search for it together, on the set none does. */
static void rows_of_one_point_share_a_search(void **unused)
{
    (void)unused;
    gw_nurbs *tube = gw_nurbs_cylinder(0.05, 0.2, NULL);
    gw_row rows[3] = {{.kind = GW_ROW_SURFACE, .nurbs = tube, .q = {1, 0, 0, 0}}};
    rows[1] = rows[2] = rows[0];
    rows[1].kind = rows[2].kind = GW_ROW_NORMAL;
    rows[1].n = gw_v3(0, 1, 0);
    rows[2].n = gw_v3(0, 0, 1);
    double h[3], a[3][6];
    gw_pose x = gw_pose_identity();
    x.p = gw_v3(1e-5, 0, 0.03);
    long work = 0;
    for (int i = 0; i < 3; i++)
        rows[i].value = -0.0499, rows[i].work = &work;
    gw_rows_value_and_jacobian(rows, 1, &x, h, a);
    long one = -work - GW_NURBS_FOLLOW_WORK;
    assert_true(one > 1);
    work = 0;
    gw_rows_value_and_jacobian(rows, 3, &x, h, a);
    assert_int_equal(-work - (GW_NURBS_FOLLOW_WORK + 2 * GW_NURBS_POINT_WORK), one);
    assert_true(fabs(h[0] + 0.00009) < 1e-12 && fabs(h[1]) < 1e-9 && fabs(h[2]) < 1e-9);
    for (int i = 0; i < 3; i++)
        rows[i].value = -0.04999;
    work = 0;
    gw_rows_value_and_jacobian(rows, 3, &x, h, a);
    assert_int_equal(-work, (GW_NURBS_FOLLOW_WORK + 2 * GW_NURBS_POINT_WORK));
    for (int i = 0; i < 3; i++)
        rows[i].value = -0.03;
    /* where no work is left projection ends where it is */
    gw_pose before = x;
    assert_true(gw_rows_out_of_work(rows, 3));
    assert_true(gw_rows_project(rows, 3, 3, 1, 40, &x) > 1e-6);
    assert_true(gw_pose_distance(&before, &x, 1) == 0);
    work = 10000;
    assert_true(gw_rows_project(rows, 3, 3, 1, 40, &x) < 1e-12 && work < 10000);
    gw_nurbs_put(tube);
}

int main(void)
{
    ellipsoid = gw_nurbs_ellipsoid(gw_v3(0.1, 0.08, 0.06), NULL);
    circle = gw_nurbs_circle(0.05, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jacobian_is_the_derivative_of_the_rows),
        cmocka_unit_test(bias_is_the_second_derivative_at_constant_twist),
        cmocka_unit_test(values_are_the_distances_they_name),
        cmocka_unit_test(projection_reaches_the_rows_at_every_scale),
        cmocka_unit_test(rows_of_one_point_share_a_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
