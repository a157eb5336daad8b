/*
 * Local charts against finite differences, for every pairing of factors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/geometry/two_angles.h"
#include "tests/unit/scenario_fixture.h"

static const double z0[6] = {0.021, -0.034, 0.013, 0.027, -0.018, 0.009};
static const double zd[6] = {0.7, -1.1, 0.4, 0.9, -0.6, 0.8};

/* A set of this kind with the chart about some pose on it. */
static gw_submanifold chart_of(int rotation, int locus, bool in_mobile, gw_chart *chart,
                               gw_submanifold *kept)
{
    gw_submanifold set = fixture_set((gw_rotation_kind)rotation, (gw_locus_kind)locus, in_mobile);
    gw_pose near = {{0.13, -0.06, 0.05}, set.rotation.zero};
    set.translation.of = gw_v3(0.03, -0.02, 0.05);
    if (rotation == GW_ROTATION_FREE)
        near.q = gw_quat_exp(gw_v3(0.3, -0.8, 0.5));
    *kept = set;
    gw_chart_at(kept, &near, chart);
    return set;
}

/* Displacement from the pose at z to the one at z + e * step. */
static gw_twist moved(const gw_chart *chart, const double *z, const double *way, double e, int dof)
{
    double at[6] = {0}, none[6] = {0}, jacobian[6][6], bias[6];
    gw_pose a, b;
    for (int k = 0; k < dof; k++)
        at[k] = z[k] + e * way[k];
    gw_chart_eval(chart, z, none, &a, jacobian, bias);
    gw_chart_eval(chart, at, none, &b, jacobian, bias);
    return gw_pose_sub(&b, &a);
}

/* The same with two angles, and with a locus that shifts. */
static gw_submanifold shifting_chart_of(int rotation, int locus, bool in_mobile, gw_chart *chart,
                                        gw_submanifold *kept)
{
    gw_submanifold set = chart_of(rotation, locus, in_mobile, chart, kept);
    if (rotation == GW_ROTATION_FIXED) {
        gw_vector_angle first = {{0, 0, 1}, {0, 0, 1}, 0.7};
        gw_vector_angle second = {{1, 0, 0}, {0, 0.6, 0.8}, 1.1};
        assert_true(gw_two_angles(&first, &second, &set.rotation));
        set.dof++;
    }
    set.translation.shift_count = 2;
    set.translation.shifts[0] =
        (gw_locus_shift){{0.3, -0.8, 0.2}, {0.6, 0, 0.8}, {0.04, 0.07, -0.05}};
    set.translation.shifts[1] = (gw_locus_shift){{0.9, 0.3, 0.5}, {0, 1, 0}, {-0.06, 0.02, 0.03}};
    gw_pose near = {{0.13, -0.06, 0.05}, set.rotation.zero};
    if (rotation == GW_ROTATION_FREE)
        near.q = gw_quat_exp(gw_v3(0.3, -0.8, 0.5));
    *kept = set;
    gw_chart_at(kept, &near, chart);
    return set;
}

static void check_close(gw_vec3 a, gw_vec3 b, double tolerance)
{
    if (gw_distance(a, b) > tolerance)
        print_error("%g %g %g  and  %g %g %g\n", a.x, a.y, a.z, b.x, b.y, b.z);
    assert_true(gw_distance(a, b) <= tolerance);
}

static void check_jacobian(const gw_chart *chart, int dof)
{
    double jacobian[6][6], bias[6], none[6] = {0};
    gw_pose pose;
    gw_chart_eval(chart, z0, none, &pose, jacobian, bias);
    for (int k = 0; k < dof; k++) {
        double way[6] = {0};
        way[k] = 1;
        gw_twist ahead = moved(chart, z0, way, 1e-6, dof), back = moved(chart, z0, way, -1e-6, dof);
        const double *j = jacobian[k];
        check_close(gw_scale(5e5, gw_sub(ahead.v, back.v)), gw_v3(j[0], j[1], j[2]), 1e-8);
        check_close(gw_scale(5e5, gw_sub(ahead.w, back.w)), gw_v3(j[3], j[4], j[5]), 1e-8);
    }
}

/* J z' at z0 + t zd: its derivative by t is the bias, with z'' = 0. */
static gw_twist twist_at(const gw_chart *chart, double t, int dof)
{
    double z[6] = {0}, jacobian[6][6], bias[6];
    gw_pose pose;
    gw_twist twist = {{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < dof; k++)
        z[k] = z0[k] + t * zd[k];
    gw_chart_eval(chart, z, zd, &pose, jacobian, bias);
    for (int k = 0; k < dof; k++) {
        const double *j = jacobian[k];
        twist.v = gw_mul_add(twist.v, zd[k], gw_v3(j[0], j[1], j[2]));
        twist.w = gw_mul_add(twist.w, zd[k], gw_v3(j[3], j[4], j[5]));
    }
    return twist;
}

static void check_bias(const gw_chart *chart, int dof)
{
    double jacobian[6][6], bias[6];
    gw_pose pose;
    gw_twist ahead = twist_at(chart, 1e-6, dof), back = twist_at(chart, -1e-6, dof);
    gw_chart_eval(chart, z0, zd, &pose, jacobian, bias);
    /* differences of what grows with the curvature */
    gw_vec3 v = gw_v3(bias[0], bias[1], bias[2]), w = gw_v3(bias[3], bias[4], bias[5]);
    double scale = fmax(1, fmax(gw_norm(v), gw_norm(w)));
    check_close(gw_scale(5e5, gw_sub(ahead.v, back.v)), v, 1e-8 * scale);
    check_close(gw_scale(5e5, gw_sub(ahead.w, back.w)), w, 1e-8 * scale);
}

/* An axis along the normal of an ellipsoid, beside it, or along the tangent of a curve. */
static gw_submanifold axis_chart_of(gw_rotation_kind kind, bool in_mobile, gw_chart *chart,
                                    gw_submanifold *kept)
{
    gw_locus_kind locus = kind == GW_ROTATION_NORMAL ? GW_LOCUS_SURFACE : GW_LOCUS_CURVE;
    gw_submanifold set = fixture_set(GW_ROTATION_AXIS, locus, in_mobile);
    set.rotation.kind = kind;
    set.rotation.axis = set.rotation.axis_body = gw_v3(0.6, 0, 0.8);
    set.rotation.zero = gw_quat_between(set.rotation.axis, gw_v3(0, 0, 1));
    set.translation.of = gw_v3(0.03, -0.02, 0.05);
    gw_quat turn = gw_quat_exp(gw_v3(0.2, -0.1, 0.4));
    gw_locus *l = &set.translation.locus;
    l->origin = gw_v3(0.02, 0.01, -0.03);
    l->e1 = gw_rotate(turn, l->e1), l->e2 = gw_rotate(turn, l->e2), l->e3 = gw_rotate(turn, l->e3);
    gw_pose near = gw_submanifold_pose(&set, (const double[]){0.4, 1.3, 0.6});
    *kept = set;
    gw_chart_at(kept, &near, chart);
    return set;
}

static void for_every_kind(void (*check)(const gw_chart *chart, int dof))
{
    for (int mobile = 0; mobile < 2; mobile++) {
        gw_chart chart;
        gw_submanifold kept, set = axis_chart_of(GW_ROTATION_NORMAL, mobile, &chart, &kept);
        check(&chart, set.dof);
        set = axis_chart_of(GW_ROTATION_TANGENT, mobile, &chart, &kept);
        check(&chart, set.dof);
    }
    for (int mobile = 0; mobile < 2; mobile++)
        for (int r = GW_ROTATION_FREE; r <= GW_ROTATION_FIXED; r++)
            for (int l = GW_LOCUS_FREE; l <= GW_LOCUS_POINT; l++) {
                gw_chart chart;
                gw_submanifold kept, set = chart_of(r, l, mobile, &chart, &kept);
                check(&chart, set.dof);
                set = shifting_chart_of(r, l, mobile, &chart, &kept);
                check(&chart, set.dof);
            }
}

static void columns_are_the_derivative_of_the_pose(void **state)
{
    (void)state;
    for_every_kind(check_jacobian);
}

static void bias_is_the_derivative_of_the_twist(void **state)
{
    (void)state;
    for_every_kind(check_bias);
}

static void check_velocity(const gw_chart *chart, int dof)
{
    double none[6] = {0}, jacobian[6][6], bias[6], found[6];
    gw_pose pose;
    gw_twist twist = {{0, 0, 0}, {0, 0, 0}};
    gw_chart_eval(chart, none, zd, &pose, jacobian, bias);
    for (int k = 0; k < dof; k++) {
        const double *j = jacobian[k];
        twist.v = gw_mul_add(twist.v, zd[k], gw_v3(j[0], j[1], j[2]));
        twist.w = gw_mul_add(twist.w, zd[k], gw_v3(j[3], j[4], j[5]));
    }
    gw_chart_velocity(chart, &twist, found);
    for (int k = 0; k < dof; k++)
        assert_true(fabs(found[k] - zd[k]) < 1e-12);
    assert_true(gw_pose_distance(&pose, &chart->centre, 1) < 1e-15);
}

static void velocity_is_found_from_the_twist(void **state)
{
    (void)state;
    for_every_kind(check_velocity);
}

static void check_idempotent(const gw_chart *chart, int dof)
{
    gw_chart again;
    (void)dof;
    gw_chart_at(chart->set, &chart->centre, &again);
    assert_true(gw_pose_distance(&again.centre, &chart->centre, 1) < 1e-14);
}

static void a_centre_stays_where_it_is(void **state)
{
    (void)state;
    for_every_kind(check_idempotent);
}

/* The exponential map's terms on both sides of the switch from series to functions. */
static void series_and_functions_meet(void **state)
{
    gw_chart chart;
    gw_submanifold set;
    (void)state;
    chart_of(GW_ROTATION_FREE, GW_LOCUS_POINT, false, &chart, &set);
    for (double size = 0.0999; size < 0.1002; size += 0.0002) {
        double z[6] = {size, 0, 0}, jacobian[6][6], bias[6];
        gw_pose pose;
        gw_chart_eval(&chart, z, zd, &pose, jacobian, bias);
        double sine = sin(size) / size, versine = (1 - cos(size)) / size;
        assert_true(fabs(jacobian[1][4] - sine) < 1e-15);
        assert_true(fabs(jacobian[1][5] - versine) < 1e-15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_the_derivative_of_the_pose),
        cmocka_unit_test(bias_is_the_derivative_of_the_twist),
        cmocka_unit_test(velocity_is_found_from_the_twist),
        cmocka_unit_test(a_centre_stays_where_it_is),
        cmocka_unit_test(series_and_functions_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
