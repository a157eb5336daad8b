/*
 * Couples of a contact world: what a look within a step found, and the next look does not know.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "rt/contact/world_private.h"

/* A contact of another world's pieces, -1, told as fresh; the next look knows the bodies apart from
 * it. It goes with its couple and takes over no spring, its own neither. */
static void what_goes_takes_over_nothing(void **state)
{
    (void)state;
    const gw_world_body bodies[2] = {{0}, {0}};
    gw_world_def def = {.model_bytes = 64, .body_count = 2, .bodies = bodies};
    gw_world *w = gw_world_create(&def, NULL);
    assert_non_null(w);
    gw_contact_candidate carried = {.a = 0, .b = 1, .geom_a = -1, .geom_b = -1, .key = 1};
    gw_pairs_clear(w);
    gw_contact *c = gw_pair_add_contact(w, gw_pair_of_candidate(w, &carried), &carried);
    assert_non_null(c);
    c->continuous = c->fresh = true;
    w->arrived[0] = (gw_contact_candidate){
        .a = 0, .b = 1, .key = 2, .point_a = {1, 0, 0}, .point_b = {1, 0, 0}};
    w->arrived_count = 1;
    assert_true(gw_pairs_apply_candidates(w));
    assert_int_equal(w->couple_count, 1);
    assert_int_equal(w->touch_count, 1);
    assert_int_equal(w->touches[0].couple, 0);
    assert_true(w->touches[0].near.key == 2);
    gw_world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_takes_over_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
