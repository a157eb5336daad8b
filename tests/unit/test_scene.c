/* The document: ownership, checks that name what is wrong, and the layout of several objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/scene_building.h"

/* base (fixed) <- lid lies on it <- knob lies on the lid */
static gw_scene *stack(void)
{
    gw_scene *s = new_scene();
    add_box(s, "knob", gw_v3(0.3, 0, 0.5), false);
    add_box(s, "lid", gw_v3(0.02, 0, 0.3), false);
    add_box(s, "base", gw_v3(0, 0, 0), true);
    join(s, "c1", GW_COINCIDENT, "knob", "-z", "lid", "+z")->sense = GW_OPPOSITE;
    join(s, "c2", GW_COINCIDENT, "lid", "-z", "base", "+z")->sense = GW_OPPOSITE;
    return s;
}

static void a_copy_shares_nothing(void **state)
{
    (void)state;
    gw_scene *s = stack();
    gw_scene *copy = gw_scene_copy(s);
    gw_scene_rename_object(copy, "lid", "cover");
    gw_scene_remove_object(copy, 0);
    assert_int_equal(s->object_count, 3);
    assert_string_equal(s->constraints[1].a.object, "lid");
    assert_string_equal(copy->constraints[1].a.object, "cover");
    gw_scene_destroy(s);
    assert_int_equal(gw_scene_object(copy, "base"), 1);
    gw_scene_destroy(copy);
}

static void scenes_grow_to_their_caps_and_no_further(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    gw_error error = {0};
    for (int i = 0; i < GW_MAX_CONSTRAINTS; i++)
        assert_non_null(gw_scene_add_constraint(s, &error));
    assert_null(gw_scene_add_constraint(s, &error));
    assert_int_equal(error.code, GW_TOO_LARGE);
    gw_scene_destroy(s);
}

static void assert_refused(gw_scene *s, const char *where, const char *word)
{
    gw_error error = {0};
    assert_false(gw_scene_check(s, &error));
    assert_string_equal(error.where, where);
    assert_non_null(strstr(error.message, word));
    gw_scene_destroy(s);
}

static void checks_name_the_member(void **state)
{
    (void)state;
    gw_scene *s = stack();
    gw_error error = {0};
    assert_true(gw_scene_check(s, &error));
    strcpy(s->constraints[1].b.feature, "lop");
    assert_refused(s, "/constraints/1/b", "lop");
    s = stack();
    strcpy(s->objects[1].id, "knob");
    assert_refused(s, "/objects/1/id", "knob");
    s = stack();
    s->constraints[0].kind = GW_DISTANCE;
    s->constraints[0].value = NAN;
    assert_refused(s, "/constraints/0/value", "finite");
    s = stack();
    s->objects[0].shape.size.y = -1;
    assert_refused(s, "/objects/0/geometry/size/1", "-1");
    s = stack();
    s->objects[1].body =
        (gw_body){.density = 1, .has_inertia = true, .inertia = {1, 1, 3, 0, 0, 0}};
    assert_refused(s, "/objects/1/body/inertia", "real solid");
    s = stack();
    s->objects[1].body = (gw_body){.density = 1, .has_inertia = true};
    assert_refused(s, "/objects/1/body/inertia", "real solid");
    s = stack();
    s->objects[1].shape.size = gw_v3(1e-70, 1e-70, 1e-70);
    assert_refused(s, "/objects/1/geometry", "mass");
    s = stack();
    s->objects[1].shape.size = gw_v3(1e74, 1e74, 1e74);
    assert_refused(s, "/objects/1/geometry", "mass");
    s = stack();
    s->objects[1].pose.p.y = 1e76;
    assert_refused(s, "/objects/1/pose", "1e+75");
    s = stack();
    hold(s, "base");
    assert_refused(s, "/tools/0/object", "fixed");
    s = stack();
    hold(s, "lid");
    strcpy(s->devices[0].driver, "magic");
    assert_refused(s, "/devices/0/driver", "magic");
    s = stack();
    join(s, "c3", GW_PARALLEL, "lid", "center", "base", "+z");
    assert_refused(s, "/constraints/2/type", "");
}

static void objects_are_placed_outward_from_fixed_ones(void **state)
{
    (void)state;
    gw_scene *s = stack();
    gw_layout *l = gw_layout_create(s, NULL, NULL);
    assert_non_null(l);
    assert_null(gw_layout_unsolved(l));
    assert_true(fabs(l->poses[1].p.z - 0.1) < 1e-12); /* lid on base */
    assert_true(fabs(l->poses[0].p.z - 0.2) < 1e-12); /* knob on lid */
    assert_int_equal(gw_layout_placement(l, 0)->solution.dof, 3);
    assert_null(gw_layout_placement(l, 2));
    assert_true(gw_layout_residual(l, l->poses) < 1e-12);
    gw_pose moved[3] = {l->poses[0], l->poses[1], l->poses[2]};
    moved[1].p.z += 0.01;
    assert_true(fabs(gw_layout_residual(l, moved) - 0.01) < 1e-12);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

static void two_held_objects_may_be_joined(void **state)
{
    (void)state;
    gw_scene *s = stack();
    hold(s, "lid");
    hold(s, "knob");
    gw_error error = {0};
    gw_layout *l = gw_layout_create(s, NULL, &error);
    assert_non_null(l);
    assert_null(gw_layout_unsolved(l));
    assert_int_equal(l->system_count, 1);
    assert_int_equal(l->systems[0]->member_count, 2);
    assert_int_equal(gw_layout_mobility(s, l), 6); /* each slides and turns on the one below it */
    assert_true(gw_layout_residual(l, l->poses) < 1e-12);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

static void the_side_that_moves_does_not_change_a_signed_distance(void **state)
{
    (void)state;
    for (int swap = 0; swap < 2; swap++) {
        gw_scene *s = new_scene();
        add_box(s, "base", gw_v3(0, 0, 0), true);
        add_box(s, "lid", gw_v3(0.02, 0, 0.3), false);
        /* n_b . (p_a - p_b) = 0.03: the lid's bottom 3 cm above the base's top, or with b the lid,
         * whose normal points down, the base's top 3 cm below it */
        gw_scene_constraint *c = swap ? join(s, "c", GW_DISTANCE, "base", "+z", "lid", "-z")
                                      : join(s, "c", GW_DISTANCE, "lid", "-z", "base", "+z");
        c->value = 0.03;
        c->sense = GW_OPPOSITE;
        gw_layout *l = gw_layout_create(s, NULL, NULL);
        assert_non_null(l);
        assert_true(fabs(l->poses[1].p.z - 0.13) < 1e-12);
        gw_layout_destroy(l);
        gw_scene_destroy(s);
    }
}

static void unjoined_objects_cost_little(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    for (int i = 0; i < GW_MAX_OBJECTS; i++) {
        char id[16];
        snprintf(id, sizeof id, "o%d", i);
        add_box(s, id, gw_v3(i, 0, 0), false);
    }
    gw_error error = {0};
    assert_true(gw_scene_check(s, &error));
    gw_layout *l = gw_layout_create(s, NULL, &error);
    assert_non_null(l);
    assert_int_equal(l->count, GW_MAX_OBJECTS);
    assert_int_equal(l->placements[77]->solution.dof, 6);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_shares_nothing),
        cmocka_unit_test(scenes_grow_to_their_caps_and_no_further),
        cmocka_unit_test(checks_name_the_member),
        cmocka_unit_test(objects_are_placed_outward_from_fixed_ones),
        cmocka_unit_test(two_held_objects_may_be_joined),
        cmocka_unit_test(the_side_that_moves_does_not_change_a_signed_distance),
        cmocka_unit_test(unjoined_objects_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
