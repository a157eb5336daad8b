/*
 * Residuals of which one is no number, as numbers overflow, are not taken for good ones.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/base/small.h"
#include "rt/dynamics/system.h"
#include "tests/unit/scene_building.h"
#include "tests/unit/scenario_fixture.h"

#define HUGE_M 1.5e308 /* metres whose difference to the other side is infinite */

static void none_is_the_worst_of_several(void **state)
{
    (void)state;
    assert_true(gw_worst(1, 2) == 2 && gw_worst(2, 1) == 2);
    assert_true(isnan(gw_worst(1, NAN)) && isnan(gw_worst(NAN, 1)));
    assert_true(isnan(gw_worst(gw_worst(0, NAN), INFINITY)));
}

/* n . (X - f) = inf - inf */
static gw_row overflowing(void)
{
    return (gw_row){.kind = GW_ROW_PLANE, .f = {-HUGE_M, HUGE_M, 0}, .n = gw_unit(gw_v3(1, 1, 0))};
}

static const gw_pose far_out = {{HUGE_M, -HUGE_M, 0}, {1, 0, 0, 0}};

static void a_pose_off_its_rows_beyond_numbers_is_not_on_them(void **state)
{
    (void)state;
    gw_row rows[2] = {overflowing(), {.kind = GW_ROW_PLANE, .n = {0, 0, 1}}};
    gw_pose x = far_out;
    double off = gw_rows_project(rows, 2, 2, 1, 10, &x);
    print_message("off by %g\n", off);
    assert_true(!(off <= 1e300));
}

static void a_body_beyond_numbers_is_not_on_its_set(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_CIRCLE));
    gw_guided body;
    gw_pose at = {{0.1, 0, 0}, {1, 0, 0, 0}}, lost = {{NAN, 0, 0}, {1, 0, 0, 0}};
    gw_guided_init(&body, &def, &at);
    assert_true(gw_guided_residual(&body, &body.pose) < 1e-12);
    assert_true(!(gw_guided_residual(&body, &lost) <= 1e300));
}

static void a_closure_open_beyond_numbers_is_refused(void **state)
{
    (void)state;
    gw_system_body_def body = {.mass = {1, {0, 0, 0}, {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
                               .parent = GW_GROUND,
                               .joint = GW_MOBILIZER_FREE,
                               .parent_from_f = far_out,
                               .body_from_m = gw_pose_identity()};
    gw_closure_def closure = {.a = 0, .b = GW_GROUND, .row_count = 1, .rows = {overflowing()}};
    gw_system_def def = {
        .body_count = 1, .bodies = &body, .closure_count = 1, .closures = &closure};
    gw_error error = {0};
    gw_system *s = gw_system_create(&def, &error);
    assert_null(s);
    print_message("%s\n", error.message);
}

static void a_layout_with_a_lost_pose_does_not_hold(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    add_box(s, "lid", gw_v3(0, 0.2, 0.3), false);
    add_box(s, "base", gw_v3(0, 0, 0), true);
    join(s, "c1", GW_COINCIDENT, "lid", "-z", "base", "+z")->sense = GW_OPPOSITE;
    hold(s, "lid");
    gw_layout *l = gw_layout_create(s, NULL, NULL);
    assert_non_null(l);
    assert_true(gw_layout_residual(l, l->poses) < 1e-12);
    l->poses[0].p.z = NAN;
    assert_true(!(gw_layout_residual(l, l->poses) <= 1e300));
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_is_the_worst_of_several),
        cmocka_unit_test(a_pose_off_its_rows_beyond_numbers_is_not_on_them),
        cmocka_unit_test(a_body_beyond_numbers_is_not_on_its_set),
        cmocka_unit_test(a_closure_open_beyond_numbers_is_refused),
        cmocka_unit_test(a_layout_with_a_lost_pose_does_not_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
