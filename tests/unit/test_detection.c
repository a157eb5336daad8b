/* Detection between loop and world's thread: what is detected anew, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/sim/detection.h"
#include "tests/unit/detector_fixture.h"

static gw_contact_material counted(const void *context, int a, int b)
{
    (void)a, (void)b;
    ++*(int *)(uintptr_t)context;
    return (gw_contact_material){0};
}

/* Candidates of bodies that stand still are told again without another detection. */
static void bodies_at_rest_are_detected_once(void **state)
{
    (void)state;
    int asked = 0, count = 0;
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.05, 0);
    gw_collider colliders[] = {{0, &ball, at(0, 0, 0), 0}, {1, &ball, at(0, 0, 0), 0}};
    gw_pose poses[] = {at(0, 0, 0), at(0.101, 0, 0)};
    gw_detection_def def = {
        .detector = {.body_count = 2,
                     .collider_count = 2,
                     .colliders = colliders,
                     .surface = counted,
                     .context = &asked},
        .poses = poses,
        .moving = 2,
        .period = 0.005,
        .tick = 0.001,
        .margin = 0.005,
    };
    gw_detection *d = gw_detection_create(&def, NULL);
    assert_non_null(d);
    gw_detection_body bodies[] = {{.body = 0, .pose = poses[0]}, {.body = 1, .pose = poses[1]}};
    int first = asked;
    assert_true(first > 0);
    for (int i = 0; i < 5; i++) {
        gw_detection_publish(d, bodies, 2);
        gw_detection_run(d);
        const gw_contact_candidate *near = gw_detection_candidates(d, &count);
        assert_non_null(near);
        assert_int_equal(count, 1);
        assert_int_equal(asked, first);
    }
    bodies[1].pose.p.x += 1e-4;
    gw_detection_publish(d, bodies, 2);
    gw_detection_run(d);
    assert_non_null(gw_detection_candidates(d, &count));
    assert_true(asked > first);
    int second = asked;
    bodies[1].twist.v.x = -1; /* where it is, but faster */
    gw_detection_publish(d, bodies, 2);
    gw_detection_run(d);
    assert_true(asked > second);
    gw_detection_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bodies_at_rest_are_detected_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
