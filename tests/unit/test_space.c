/* Rotations and poses: exponential and logarithm, frames, the metric. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/base/space.h"

static double rotation_error(gw_quat a, gw_quat b)
{
    return gw_norm(gw_quat_log(gw_quat_mul(a, gw_quat_conj(b))));
}

static void logarithm_undoes_exponential_at_every_size(void **state)
{
    (void)state;
    const double angles[] = {0, 1e-12, 1e-5, 0.9e-3, 1.1e-3, 0.5, 2, 3.1415926};
    gw_vec3 axis = gw_unit(gw_v3(1, -2, 0.5));
    for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
        gw_vec3 r = gw_scale(angles[i], axis);
        gw_vec3 back = gw_quat_log(gw_quat_exp(r));
        assert_true(gw_distance(r, back) <= 1e-14 + 1e-9 * (angles[i] > 3));
    }
}

static void exponential_is_the_rotation_about_its_axis(void **state)
{
    (void)state;
    gw_quat q = gw_quat_exp(gw_v3(0, 0, GW_PI / 2));
    assert_true(gw_distance(gw_rotate(q, gw_v3(1, 0, 0)), gw_v3(0, 1, 0)) < 1e-15);
    assert_true(gw_distance(gw_unrotate(q, gw_v3(0, 1, 0)), gw_v3(1, 0, 0)) < 1e-15);
}

static void between_takes_one_vector_to_the_other(void **state)
{
    (void)state;
    gw_vec3 a = gw_unit(gw_v3(1, 2, 3));
    gw_vec3 b[] = {a, gw_neg(a), gw_unit(gw_v3(-1, -2, -2.9999999)), gw_unit(gw_v3(0, 3, -2)),
                   gw_unit(gw_v3(-1, -2, -3.001))};
    for (size_t i = 0; i < sizeof b / sizeof *b; i++) {
        gw_quat q = gw_quat_between(a, b[i]);
        assert_true(gw_distance(gw_rotate(q, a), b[i]) < 1e-14);
        assert_true(fabs(gw_quat_dot(q, q) - 1) < 1e-14);
    }
}

static void matrices_and_quaternions_agree(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        gw_quat q = gw_quat_exp(gw_v3(sin(i) * 3, cos(2.0 * i) * 2, sin(3.0 * i)));
        gw_mat3 m = gw_quat_to_mat3(q);
        gw_vec3 v = {0.3, -1, 2};
        assert_true(gw_distance(gw_mat3_mul(&m, v), gw_rotate(q, v)) < 1e-14);
        assert_true(rotation_error(gw_quat_from_mat3(&m), q) < 1e-14);
    }
}

static void poses_compose_and_invert(void **state)
{
    (void)state;
    gw_pose a = {{1, 2, 3}, gw_quat_exp(gw_v3(0.3, 0.2, -1))};
    gw_pose b = {{-1, 0, 0.5}, gw_quat_exp(gw_v3(-2, 0.1, 0.4))};
    gw_pose ab = gw_pose_mul(&a, &b);
    gw_vec3 x = {0.7, -0.2, 0.1};
    assert_true(gw_distance(gw_pose_point(&ab, x), gw_pose_point(&a, gw_pose_point(&b, x))) <
                1e-15);
    gw_pose inverse = gw_pose_inverse(&ab);
    assert_true(gw_distance(gw_pose_point(&inverse, gw_pose_point(&ab, x)), x) < 1e-14);
    gw_twist d = gw_pose_sub(&b, &a);
    gw_pose c = gw_pose_add(&a, &d);
    assert_true(gw_pose_distance(&c, &b, 1) < 1e-14);
}

/* A steady turn about an axis through c: w x (x - c); many small pieces of it are the whole. */
static void a_screw_turns_about_its_axis(void **state)
{
    (void)state;
    const double angles[] = {1e-9, 0.9e-3, 1.1e-3, 0.02, 1.5, 3};
    gw_vec3 c = {0.3, -0.2, 5}, x = {1, 1, 1};
    for (size_t i = 0; i < sizeof angles / sizeof *angles; i++) {
        gw_vec3 w = gw_scale(angles[i], gw_unit(gw_v3(1, -2, 0.5)));
        gw_twist screw = {gw_cross(c, w), w}, piece = {gw_scale(0.01, screw.v), gw_scale(0.01, w)};
        gw_pose whole = gw_screw_exp(&screw), step = gw_screw_exp(&piece), sum = gw_pose_identity();
        assert_true(gw_distance(gw_pose_point(&whole, c), c) <= 1e-13);
        gw_vec3 turned = gw_add(c, gw_rotate(gw_quat_exp(w), gw_sub(x, c)));
        assert_true(gw_distance(gw_pose_point(&whole, x), turned) <= 1e-13);
        for (int k = 0; k < 100; k++)
            sum = gw_pose_mul(&step, &sum);
        assert_true(gw_pose_distance(&sum, &whole, 1) <= 1e-12);
        gw_twist back = gw_screw_log(&whole);
        assert_true(gw_distance(back.v, screw.v) <= 1e-12 && gw_distance(back.w, w) <= 1e-13);
    }
}

static void distance_weighs_the_angle_with_a_length(void **state)
{
    (void)state;
    gw_pose a = gw_pose_identity(), b = {{3, 0, 0}, gw_quat_exp(gw_v3(0, 2, 0))};
    assert_true(fabs(gw_pose_distance(&a, &b, 2) - 5) < 1e-14);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm_undoes_exponential_at_every_size),
        cmocka_unit_test(exponential_is_the_rotation_about_its_axis),
        cmocka_unit_test(between_takes_one_vector_to_the_other),
        cmocka_unit_test(matrices_and_quaternions_agree),
        cmocka_unit_test(poses_compose_and_invert),
        cmocka_unit_test(a_screw_turns_about_its_axis),
        cmocka_unit_test(distance_weighs_the_angle_with_a_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
