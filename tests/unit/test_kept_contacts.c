/* Surfaces that a two-sided constraint keeps in touch are told as contacts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/geometry/nurbs.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/free_fixture.h"

/* A ball on the top of a larger one. */
static void touch(gw_constraint_kind kind, bool free_form)
{
    gw_scene *s = new_scene();
    gw_object *big = add_box(s, "big", gw_v3(0, 0, 0), true);
    gw_object *o = add_box(s, "ball", gw_v3(0, 0, 0.6), false);
    s->gravity = gw_v3(0, 0, -10);
    big->shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.5};
    if (free_form)
        big->shape = (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE,
                                .nurbs = gw_nurbs_ellipsoid(gw_v3(0.5, 0.5, 0.5), NULL)};
    o->shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.1};
    o->free = true;
    o->body.source = GW_MASS_GIVEN;
    o->body.mass = 2;
    join(s, "c", kind, "ball", "surface", "big", "surface");
    gw_error error = {0};
    assert_true(gw_scene_check(s, &error));
    running r;
    running_open(&r, s);
    const gw_snapshot *at = running_tick(&r);
    for (int i = 0; i < 20; i++)
        at = running_tick(&r);
    assert_int_equal(at->contact_count, 1);
    const gw_snapshot_contact *c = &at->contacts[0];
    assert_int_equal(c->a, 1);
    assert_int_equal(c->b, 0);
    assert_int_equal(c->at.state, GW_CONTACT_CONTINUOUS);
    assert_true(gw_distance(c->at.point, gw_v3(0, 0, 0.5)) < 1e-9);
    assert_true(gw_distance(c->at.normal, gw_v3(0, 0, 1)) < 1e-9);
    assert_true(fabs(c->at.gap) < 1e-12);
    assert_true(gw_distance(c->at.force, gw_v3(0, 0, 20)) < 1e-6);
    assert_int_equal(at->hit_count, 0);
    running_close(&r);
}

static void kept_contacts_are_told_with_their_force(void **state)
{
    (void)state;
    for (int free_form = 0; free_form < 2; free_form++) {
        touch(GW_SLIDING, free_form);
        touch(GW_ROLLING, free_form);
        touch(GW_PURE_ROLLING, free_form);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kept_contacts_are_told_with_their_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
