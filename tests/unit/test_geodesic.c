/*
 * Geodesics of general sets: the exponential map measures arcs, reaches all of a set, and ends
 * on it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rt/geometry/geodesic.h"
#include "tests/random.h"

static unsigned long long state = 7;

static double uniform(void)
{
    return random_uniform(&state, -1, 1);
}

/* Vectors m of the body and n of the world that stay at a right angle. */
static gw_row angle(gw_vec3 m, gw_vec3 n)
{
    return (gw_row){.kind = GW_ROW_ANGLE, .m = m, .n = n};
}

/* The body's origin on a sphere about c, without turning; in a plane through c, too. */
static gw_submanifold on_a_sphere(double radius, bool in_plane)
{
    const gw_vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1}, c = {0.3, -0.2, 0.7};
    gw_submanifold set;
    memset(&set, 0, sizeof set);
    set.general = true;
    set.dof = in_plane ? 1 : 2;
    set.rotation.kind = GW_ROTATION_GENERAL;
    set.translation.locus.kind = GW_LOCUS_GENERAL;
    set.rows[0] = angle(x, y);
    set.rows[1] = angle(x, z);
    set.rows[2] = angle(y, z);
    set.rows[3] = (gw_row){.kind = GW_ROW_SPHERE, .f = c, .n = z, .value = radius};
    set.rows[4] = (gw_row){.kind = GW_ROW_PLANE, .f = c, .n = z};
    set.row_count = in_plane ? 5 : 4;
    set.seed = (gw_pose){gw_add(c, gw_v3(radius, 0, 0)), gw_quat_identity()};
    return set;
}

/* Two points of the body, one on a plane and one on a sphere: four freedoms. */
static gw_submanifold on_a_plane_and_a_sphere(void)
{
    gw_submanifold set;
    memset(&set, 0, sizeof set);
    set.general = true;
    set.dof = 4;
    set.rotation.kind = GW_ROTATION_GENERAL;
    set.translation.locus.kind = GW_LOCUS_GENERAL;
    set.row_count = 2;
    set.rows[0] = (gw_row){.kind = GW_ROW_PLANE, .m = {0.4, 0, 0}, .n = {0, 0, 1}};
    set.rows[1] = (gw_row){
        .kind = GW_ROW_SPHERE, .m = {-0.4, 0, 0}, .f = {0, 0.3, 0.5}, .n = {0, 0, 1}, .value = 0.6};
    set.seed = (gw_pose){gw_v3(0.1, 0, 0.1), gw_quat_identity()};
    gw_rows_project(set.rows, set.row_count, 2, 1, 40, &set.seed);
    return set;
}

static void an_exponential_map_measures_the_arc(void **unused)
{
    (void)unused;
    for (double radius = 1e-3; radius < 2e3; radius *= 1e3) {
        gw_submanifold set = on_a_sphere(radius, true);
        for (int k = -30; k <= 30; k++) {
            double z = 0.1 * k * radius, turn;
            gw_pose x;
            assert_true(gw_exponential_map(&set, &z, &x));
            gw_vec3 arm = gw_sub(x.p, set.rows[3].f);
            assert_true(fabs(gw_norm(arm) - radius) < 1e-9 * (radius + 1));
            turn = atan2(arm.y, arm.x);
            assert_true(fabs(fabs(turn) - 0.1 * abs(k)) < 0.04);
        }
    }
}

static void an_exponential_map_reaches_all_of_a_set(void **unused)
{
    (void)unused;
    enum { SAMPLES = 600 };
    static gw_vec3 reached[SAMPLES];
    gw_submanifold set = on_a_sphere(1, false);
    for (int i = 0; i < SAMPLES; i++) {
        double z[2];
        gw_pose x;
        do {
            z[0] = GW_PI * uniform(), z[1] = GW_PI * uniform();
        } while (hypot(z[0], z[1]) > GW_PI);
        assert_true(gw_exponential_map(&set, z, &x));
        reached[i] = gw_sub(x.p, set.rows[3].f);
    }
    for (int k = 0; k < 300; k++) {
        gw_vec3 any = gw_unit(gw_v3(uniform(), uniform(), uniform()));
        double least = 2;
        for (int i = 0; i < SAMPLES; i++)
            least = fmin(least, gw_distance(any, reached[i]));
        assert_true(least < 0.5);
    }
}

/* The tangent space of the seed folds at a slope of infinity; the exponential map goes on. */
static void an_exponential_map_goes_on_over_folds(void **unused)
{
    (void)unused;
    gw_submanifold set = on_a_plane_and_a_sphere();
    int beyond = 0;
    for (int k = 0; k < 300; k++) {
        double z[6] = {2 * uniform(), 2 * uniform(), 2 * uniform(), 2 * uniform()}, h[2];
        gw_pose x, again, other;
        assert_true(gw_exponential_map(&set, z, &x));
        gw_rows_value(set.rows, 2, &x, h);
        assert_true(fabs(h[0]) < 1e-10 && fabs(h[1]) < 1e-10);
        assert_true(gw_exponential_map(&set, z, &again));
        assert_true(memcmp(&x, &again, sizeof x) == 0);
        beyond += !gw_submanifold_try_pose(&set, z, &other);
    }
    assert_true(beyond > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exponential_map_measures_the_arc),
        cmocka_unit_test(an_exponential_map_reaches_all_of_a_set),
        cmocka_unit_test(an_exponential_map_goes_on_over_folds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
