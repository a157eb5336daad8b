/*
 * Scenes of several objects around hidden poses: trees, cycles and what hangs on a held object.
 * Whatever the layout calls solved holds, and goes on holding while the hand is pushed about.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/sim/simulation.h"
#include "tests/unit/planting.h"
#include "tests/unit/scene_building.h"

#define SCENES 300
#define TICKS  60

/* A constraint between objects a and b that their hidden poses satisfy. */
static void join_planted(gw_scene *s, const gw_pose *hidden, int a, int b, bool lattice)
{
    char name[32];
    gw_pose b_from_world = gw_pose_inverse(&hidden[b]);
    gw_pose b_from_a = gw_pose_mul(&b_from_world, &hidden[a]);
    gw_constraint c;
    do
        c = planted(&b_from_a, lattice);
    while (c.reversed);
    snprintf(name, sizeof name, "f%d", s->feature_count);
    state_feature(s, s->objects[a].id, name, c.mobile);
    gw_scene_constraint *j = join(s, "", c.kind, s->objects[a].id, name, s->objects[b].id, "");
    snprintf(name, sizeof name, "f%d", s->feature_count);
    state_feature(s, s->objects[b].id, name, c.fixed);
    strcpy(j->b.feature, name);
    snprintf(j->id, sizeof j->id, "c%d", s->constraint_count);
    j->value = c.value;
    j->sense = c.sense;
}

static gw_scene *planted_scene(gw_pose *hidden)
{
    gw_scene *s = new_scene();
    bool lattice = below(3) == 0;
    int objects = 2 + below(5), extra = below(3 * objects);
    for (int i = 0; i < objects; i++) {
        char id[16];
        snprintf(id, sizeof id, "o%d", i);
        gw_object *o = add_box(s, id, gw_v3(0, 0, 0), i == 0 && below(4) > 0);
        hidden[i] = (gw_pose){lattice ? lattice_point() : vector(),
                              lattice ? lattice_rotation() : rotation()};
        gw_twist off = {gw_scale(0.2, vector()), gw_scale(0.2, vector())};
        o->pose = o->fixed ? hidden[i] : gw_pose_add(&hidden[i], &off);
    }
    for (int i = 1; i < objects; i++)
        join_planted(s, hidden, i, below(i), lattice);
    for (int k = 0; k < extra; k++) {
        int a = below(objects), b = below(objects);
        if (a != b && !(s->objects[a].fixed && s->objects[b].fixed))
            join_planted(s, hidden, a, b, lattice);
    }
    if (below(4) > 0)
        hold(s, s->objects[objects - 1 - below(objects - 1)].id);
    return s;
}

static void push(gw_simulation *s)
{
    gw_command retired,
        command = {.kind = GW_COMMAND_PUSH, .push = {gw_scale(3, vector()), vector()}};
    gw_simulation_apply(s, &command, &retired);
}

/* Pushed about: what held before goes on holding. */
static double moved_about(const gw_scene *scene, const gw_layout *l)
{
    double worst = 0;
    gw_pose poses[16];
    gw_device_slot *slot = gw_device_slot_open(&scene->devices[0], 1000, NULL);
    gw_scenario_def def = {.scene = scene, .layout = l, .slots = &slot, .slot_count = 1};
    gw_scenario *scenario = gw_scenario_create(&def, NULL);
    assert_non_null(scenario);
    gw_simulation *s = gw_simulation_create(scenario, NULL);
    gw_command retired, run = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    gw_simulation_apply(s, &run, &retired);
    memcpy(poses, l->poses, (size_t)scene->object_count * sizeof *poses);
    for (int k = 0; k < TICKS; k++) {
        if (k % 10 == 0)
            push(s);
        gw_simulation_tick(s);
        const gw_snapshot *now = gw_simulation_snapshot(s);
        poses[now->tools[0].object] = now->tools[0].world_from_object;
        for (int i = 0; i < now->free_count; i++)
            poses[now->free[i].object] = now->free[i].pose;
        for (int i = 0; i < now->follower_count; i++)
            poses[now->followers[i].object] = now->followers[i].world_from_object;
        worst = fmax(worst, gw_layout_residual(l, poses));
    }
    gw_simulation_destroy(s);
    gw_device_slot_close(slot);
    return worst;
}

/* Whatever follows has no mass, or everything has. */
static void hold_while_hands_move(bool massless)
{
    int solved = 0, moved = 0;
    for (int i = 0; i < SCENES; i++) {
        gw_pose hidden[16];
        seed = 1000 + (unsigned long long)i;
        gw_scene *s = planted_scene(hidden);
        gw_error error = {0};
        if (massless)
            let_others_follow(s);
        assert_true(gw_scene_check(s, &error));
        gw_layout *l = gw_layout_create(s, NULL, &error);
        if (!l)
            fail_msg("scene %d: %s: %s", i, error.where, error.message);
        if (!gw_layout_unsolved(l)) {
            double still = gw_layout_residual(l, l->poses);
            if (!(still < 1e-8))
                printf("scene %d: %g\n", i, still);
            assert_true(still < 1e-8);
            solved++;
            double then = s->tool_count > 0 ? moved_about(s, l) : 0;
            if (!(then < 1e-7))
                printf("scene %d: %g while it moves\n", i, then);
            assert_true(then < 1e-7);
            moved += s->tool_count > 0;
        } else {
            const gw_placement *p = gw_layout_unsolved(l);
            if (p->solution.status == GW_STATUS_INCOMPATIBLE)
                printf("scene %d: %s is called impossible\n", i, s->objects[p->object].id);
            assert_int_not_equal(p->solution.status, GW_STATUS_INCOMPATIBLE);
        }
        gw_layout_destroy(l);
        gw_scene_destroy(s);
    }
    printf("%d of %d scenes solved, %d of them moved about\n", solved, SCENES, moved);
    assert_true(solved > SCENES * 9 / 10);
}

static void solved_layouts_hold_while_hands_move(void **state)
{
    (void)state;
    hold_while_hands_move(true);
}

static void systems_hold_while_hands_move(void **state)
{
    (void)state;
    hold_while_hands_move(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(solved_layouts_hold_while_hands_move),
        cmocka_unit_test(systems_hold_while_hands_move),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
