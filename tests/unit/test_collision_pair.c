/*
 * The pair cache: contacts through an update by the detector's candidates.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "rt/contact/world_private.h"

/* A continuous contact that was carried over from another world (its geoms have no number) is
 * marked fresh, and the detector's next candidates do not have it. It is removed with its pair; a
 * fresh contact that is removed continues no other one, nor itself. */
static void a_removed_pair_continues_no_contact(void **state)
{
    (void)state;
    const gw_world_body bodies[2] = {{.model = -1}, {.model = -1}};
    gw_world_def def = {.model_bytes = 64, .body_count = 2, .bodies = bodies};
    gw_world *w = gw_world_create(&def, NULL);
    assert_non_null(w);
    gw_contact_candidate carried = {.a = 0, .b = 1, .geom_a = -1, .geom_b = -1, .key = 1};
    gw_pairs_clear(w);
    gw_contact *c = gw_pair_add_contact(w, gw_pair_of_candidate(w, &carried), &carried);
    assert_non_null(c);
    c->continuous = c->fresh = true;
    w->candidates[0] = (gw_contact_candidate){
        .a = 0, .b = 1, .key = 2, .point_a = {1, 0, 0}, .point_b = {1, 0, 0}};
    w->candidate_count = 1;
    assert_true(gw_pairs_apply_candidates(w));
    assert_int_equal(w->pair_count, 1);
    assert_int_equal(w->contact_count, 1);
    assert_int_equal(w->contacts[0].pair, 0);
    assert_true(w->contacts[0].candidate.key == 2);
    gw_world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_removed_pair_continues_no_contact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
