/*
 * The facade: a scene in, ticks, snapshots out, errors as values.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/guideway.h"
#include "tests/unit/scene_building.h"

/* A held box whose lower face slides on the upper one of a fixed box. */
static gw_scene *sliding(void)
{
    gw_scene *s = new_scene();
    add_box(s, "table", gw_v3(0, 0, 0), true);
    add_box(s, "cup", gw_v3(0.02, 0, 0.2), false);
    join(s, "c1", GW_COINCIDENT, "cup", "-z", "table", "+z")->sense = GW_OPPOSITE;
    hold(s, "cup");
    return s;
}

static void push(gw_sim *sim, gw_vec3 force)
{
    gw_sim_command(sim, &(gw_command){.kind = GW_COMMAND_PUSH, .push = {force, {0, 0, 0}}});
}

static void a_scene_is_stepped_under_commands(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *scene = sliding();
    gw_sim *sim = gw_sim_create(scene, &error);
    gw_scene_destroy(scene); /* it was read during the call only */
    assert_non_null(sim);
    assert_true(gw_sim_snapshot(sim)->state == GW_STOPPED && gw_sim_snapshot(sim)->tick == 0);
    gw_sim_step(sim, 10);
    assert_true(gw_sim_snapshot(sim)->tick == 0);
    gw_sim_set_state(sim, GW_RUNNING);
    push(sim, gw_v3(1, 0, -5));
    gw_sim_step(sim, 500);
    assert_true(gw_sim_snapshot(sim)->tick == 499 && gw_sim_snapshot(sim)->tick_us > 0);
    gw_sim_finish(sim);
    const gw_snapshot *now = gw_sim_snapshot(sim);
    assert_true(now->tick == 500 && now->state == GW_PAUSED);
    assert_true(fabs(now->tools[0].world_from_object.p.x - (0.02 + 0.5 * 0.25)) < 1e-9);
    assert_true(gw_layout_residual(gw_sim_layout(sim), gw_sim_poses(sim)) < 1e-12);
    assert_true(gw_sim_poses(sim)[1].p.x == now->tools[0].world_from_object.p.x);
    gw_sim_destroy(sim);
}

static void two_simulations_make_the_same_bits(void **state)
{
    (void)state;
    gw_scene *scene = sliding();
    gw_pose end[2];
    for (int i = 0; i < 2; i++) {
        gw_sim *sim = gw_sim_create(scene, NULL), *other = gw_sim_create(scene, NULL);
        gw_sim_set_state(sim, GW_RUNNING);
        gw_sim_set_state(other, GW_RUNNING);
        push(sim, gw_v3(1, 0.3, 0));
        push(other, gw_v3(-3, 0, 0));
        for (int k = 0; k < 100; k++) {
            gw_sim_step(sim, i ? 1 : 2);
            gw_sim_step(other, 1);
        }
        gw_sim_step(sim, i ? 100 : 0);
        end[i] = gw_sim_snapshot(sim)->tools[0].world_from_object;
        gw_sim_destroy(sim);
        gw_sim_destroy(other);
    }
    assert_memory_equal(&end[0], &end[1], sizeof end[0]);
    gw_scene_destroy(scene);
}

static void a_changed_scene_goes_on_from_where_everything_is(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *scene = sliding();
    gw_sim *sim = gw_sim_create(scene, &error);
    gw_sim_set_state(sim, GW_RUNNING);
    push(sim, gw_v3(1, 0, 0));
    gw_sim_step(sim, 200);
    double x = gw_sim_snapshot(sim)->tools[0].world_from_object.p.x;
    scene->constraints[0].kind = GW_DISTANCE; /* 2 cm above the table */
    scene->constraints[0].value = 0.02;
    assert_true(gw_sim_change(sim, scene, &error) && gw_sim_revision(sim) == 2);
    gw_sim_step(sim, 1);
    assert_true(gw_sim_snapshot(sim)->revision == 2 && gw_sim_snapshot(sim)->tools[0].travelling);
    assert_true(fabs(gw_sim_snapshot(sim)->tools[0].world_from_object.p.x - x) < 1e-3);
    gw_sim_step(sim, 2000);
    assert_true(fabs(gw_sim_snapshot(sim)->tools[0].world_from_object.p.z - 0.12) < 1e-9);
    bool settled = false;
    for (gw_event event; gw_sim_event(sim, &event);)
        settled = settled || event.kind == GW_EVENT_SETTLED;
    assert_true(settled);
    gw_sim_destroy(sim);
    gw_scene_destroy(scene);
}

static void errors_are_values_and_change_nothing(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *scene = sliding();
    gw_sim *sim = gw_sim_create(scene, &error);
    gw_scene_constraint *c = join(scene, "c2", GW_DISTANCE, "cup", "-z", "table", "+z");
    c->sense = GW_OPPOSITE;
    c->value = 0.3;
    assert_false(gw_sim_change(sim, scene, &error));
    assert_int_equal(error.code, GW_INCOMPATIBLE);
    assert_non_null(strstr(error.message, "cup"));
    assert_int_equal(gw_sim_revision(sim), 1);
    gw_sim_step(sim, 1);
    assert_null(gw_sim_create(scene, &error));
    scene->constraint_count = 1;
    strcpy(scene->devices[0].driver, "none-such");
    error = (gw_error){0};
    assert_null(gw_sim_create(scene, &error));
    assert_int_equal(error.code, GW_BAD_INPUT);
    add_box(scene, "third", gw_v3(1, 1, 1), true);
    error = (gw_error){0};
    assert_false(gw_sim_change(sim, scene, &error));
    assert_int_equal(error.code, GW_BAD_INPUT);
    gw_sim_destroy(sim);
    gw_sim_destroy(NULL);
    gw_scene_destroy(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scene_is_stepped_under_commands),
        cmocka_unit_test(two_simulations_make_the_same_bits),
        cmocka_unit_test(a_changed_scene_goes_on_from_where_everything_is),
        cmocka_unit_test(errors_are_values_and_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
