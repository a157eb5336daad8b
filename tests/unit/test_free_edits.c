/*
 * Free bodies that constraints guide, while edits and moved geometry change these; what is joined
 * to them; the same bits again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

/* ---- edits and geometry that moves ----------------------------------------------------------- */

static int events_of(running *r, gw_event_kind kind, gw_event *last)
{
    gw_event events[64];
    int count = 0, seen = gw_simulation_events(r->simulation, events, 64);
    for (int i = 0; i < seen; i++)
        if (events[i].kind == kind) {
            *last = events[i];
            count++;
        }
    return count;
}

/* A ball that flies is caught by a ring and let go again: it is brought there, without a jump of
 * place or speed, and its energy balance stays closed. */
static void an_edit_brings_a_body_onto_its_set(void **state)
{
    (void)state;
    running r;
    gw_event event = {0};
    double worst = 0, jump = 0, jerk = 0, arrived = 0;
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    s->gravity = gw_v3(0, -9.81, 0);
    gw_object *bead = add_ball(s, "bead", gw_v3(0.3, 0, 0.05), 0.02);
    bead->velocity = gw_v3(0, 1, 0.2);
    bead->spin = gw_v3(3, 1, 2);
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 100; i++)
        now = running_tick(&r);
    assert_true(residual(&r, now) == 0);
    gw_free_body before = *body(now, &r, "bead");
    join(s, "ring", GW_DISTANCE, "bead", "center", "ground", "left")->value = 0.2;
    join(s, "level", GW_COINCIDENT, "bead", "center", "ground", "face");
    hand_over(&r, now, NULL);
    for (int i = 0; i < 1500; i++) {
        now = running_tick(&r);
        const gw_free_body *b = body(now, &r, "bead");
        worst = fmax(worst, fabs(energy_error(now)));
        jump = fmax(jump, gw_distance(b->pose.p, before.pose.p));
        jerk = fmax(jerk, gw_distance(b->twist.v, before.twist.v));
        jerk = fmax(jerk, 0.1 * gw_distance(b->twist.w, before.twist.w));
        arrived = b->travelling ? now->time : arrived;
        assert_true(b->travelling || residual(&r, now) <= 1e-14);
        before = *b;
    }
    arrived -= 0.1;
    print_message(
        "caught: arrives after %.3f s; %.2g mm and %.2g m/s a tick at most, energy off by "
        "%.2g J\n",
        arrived, 1e3 * jump, jerk, worst);
    assert_true(arrived > 0.3 && arrived < 1);
    assert_true(jump <= 4e-3 && jerk <= 0.1);
    assert_int_equal(events_of(&r, GW_EVENT_SETTLED, &event), 1);
    assert_true(event.tool == -1 && event.object == gw_scene_object(s, "bead"));
    double edits = now->energy.edits;
    assert_true(fabs(edits) > 0.001);
    s->constraints[0].enabled = s->constraints[1].enabled = false;
    hand_over(&r, now, NULL);
    now = running_tick(&r);
    assert_true(gw_norm(gw_sub(body(now, &r, "bead")->twist.v, before.twist.v)) <= 0.1);
    before = *body(now, &r, "bead");
    for (int i = 0; i < 100; i++)
        now = running_tick(&r);
    assert_true(fmax(worst, fabs(energy_error(now))) <= 1e-12);
    assert_true(fabs(now->energy.edits - edits) <= 1e-3);
    gw_vec3 v = before.twist.v, fell = {v.x, v.y - 0.981, v.z};
    assert_true(gw_norm(gw_sub(body(now, &r, "bead")->twist.v, fell)) <= 1e-12);
    running_close(&r);
}

/* A door that swings is given another pin while its ground moves: it comes onto the moved one. */
static void a_body_is_brought_onto_geometry_that_moves(void **state)
{
    (void)state;
    running r;
    double worst = 0, jump = 0;
    gw_scene *s = door(0.5);
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 100; i++)
        now = running_tick(&r);
    gw_vec3 before = body(now, &r, "door")->pose.p;
    strcpy(s->constraints[0].b.feature, "right");
    hand_over(&r, now, NULL);
    gw_command retired, command = {.kind = GW_COMMAND_GEOMETRY};
    gw_pose turned = {{0.1, 0, 0}, gw_quat_axis(gw_v3(0, 0, 1), 0.3)};
    command.geometry.moved = (gw_moved_geometry){.feature = -1, .object = 0, .pose = turned};
    gw_simulation_apply(r.simulation, &command, &retired);
    for (int i = 0; i < 4000; i++) {
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
        jump = fmax(jump, gw_distance(body(now, &r, "door")->pose.p, before));
        before = body(now, &r, "door")->pose.p;
    }
    gw_vec3 pin = gw_pose_point(&body(now, &r, "door")->pose, gw_v3(0.1, 0, 0));
    gw_vec3 off = gw_sub(pin, gw_pose_point(&turned, gw_v3(0.5, 0, 0)));
    print_message(
        "another pin of a ground that moves: %.2g m off it, %.2g mm a tick, energy off by "
        "%.2g J\n",
        gw_norm(off), 1e3 * jump, worst);
    assert_true(gw_norm(off) <= 1e-12 && jump <= 4e-3 && worst <= 1e-11);
    assert_true(!body(now, &r, "door")->travelling);
    running_close(&r);
}

/* An edit that says where it is puts it there, as the scene has it moving. */
static void an_edit_may_say_where_a_body_is(void **state)
{
    (void)state;
    running r;
    gw_scene *s = door(1);
    gw_begin begins[2] = {GW_BEGIN_GO_ON, GW_BEGIN_POSE};
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 150; i++)
        now = running_tick(&r);
    gw_object *bar = &s->objects[1];
    bar->pose.q = gw_quat_axis(gw_v3(0, 0, 1), GW_PI);
    bar->pose.p = gw_v3(0.1, 0, 0);
    hand_over(&r, now, begins);
    now = running_tick(&r);
    assert_true(gw_pose_distance(&body(now, &r, "door")->pose, &bar->pose, 0.1) <= 1e-12);
    assert_true(gw_norm(body(now, &r, "door")->twist.w) == 0);
    assert_true(fabs(energy_error(now)) <= 1e-12);
    running_close(&r);
}

/* The pin goes 0.1 m aside while the door hangs on it, swinging. */
static void a_body_follows_geometry_that_moves(void **state)
{
    (void)state;
    running r;
    double worst = 0;
    gw_event event;
    running_open(&r, door(0.5));
    for (int i = 0; i < 100; i++)
        running_tick(&r);
    move_feature(&r, "ground", "left",
                 (gw_element){.kind = GW_LINE, .p = {0.06, 0.08, 0}, .d = {0, 0, 1}});
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 1500; i++) {
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
    }
    const gw_free_body *b = body(now, &r, "door");
    gw_vec3 pin = gw_pose_point(&b->pose, gw_v3(0.1, 0, 0));
    print_message("door on a pin that moved: %.2g m off it, energy off by %.2g J, edits %.4f J\n",
                  gw_norm(gw_sub(pin, gw_v3(0.06, 0.08, 0))), worst, now->energy.edits);
    assert_true(gw_norm(gw_sub(pin, gw_v3(0.06, 0.08, 0))) <= 1e-12);
    assert_true(worst <= 1e-12);
    assert_true(now->energy.edits > 0.03); /* 0.08 kg, 0.08 m up */
    assert_int_equal(events_of(&r, GW_EVENT_LEFT_BEHIND, &event), 0);
    running_close(&r);
}

/* A ring that shrinks to less than nothing, a plane that leaves a sphere: told, and it stays. */
static void a_body_whose_branch_is_gone_is_told(void **state)
{
    (void)state;
    running r;
    gw_event event;
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    add_ball(s, "other", gw_v3(2, 0, 0), 0.02);
    add_ball(s, "bead", gw_v3(0.2, 0, 0), 0.02);
    state_feature(s, "ground", "centre",
                  (gw_element){.kind = GW_POINT, .p = {0, 0, 0}, .d = {0, 0, 0}});
    join(s, "sphere", GW_DISTANCE, "bead", "center", "ground", "centre")->value = 0.2;
    join(s, "level", GW_COINCIDENT, "bead", "center", "ground", "face");
    running_open(&r, s);
    running_tick(&r);
    move_feature(&r, "ground", "face",
                 (gw_element){.kind = GW_PLANE, .p = {0, 0, 0.5}, .d = {0, 0, 1}});
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 3500; i++)
        now = running_tick(&r);
    assert_true(events_of(&r, GW_EVENT_LEFT_BEHIND, &event) >= 1);
    assert_int_equal(event.tool, -1);
    assert_int_equal(event.object, gw_scene_object(s, "bead"));
    assert_true(isfinite(body(now, &r, "bead")->pose.p.z));
    assert_true(fabs(gw_norm(body(now, &r, "bead")->pose.p) - 0.2) <= 1e-9);
    running_close(&r);
}

/* A fixed object that is moved pushes what lies in its way, and stands again where it arrived. */
static void a_fixed_object_that_moves_pushes_bodies(void **state)
{
    (void)state;
    running r;
    double worst = 0, deepest = 0;
    gw_scene *s = new_scene();
    add_ground(s, 5);
    s->objects[0].pose.p.z = -3;
    add_box(s, "ram", gw_v3(0, 0, 0), true);
    add_ball(s, "bead", gw_v3(0.09, 0, 0), 0.02)->body.damping_linear = 1;
    s->contact.enabled = true;
    running_open(&r, s);
    running_tick(&r);
    gw_command retired, command = {.kind = GW_COMMAND_GEOMETRY};
    command.geometry.moved =
        (gw_moved_geometry){.feature = -1, .object = 1, .pose = {{0.2, 0, 0}, gw_quat_identity()}};
    gw_simulation_apply(r.simulation, &command, &retired);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 3000; i++) {
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
        for (int k = 0; k < now->contact_count; k++)
            deepest = fmax(deepest, -now->contacts[k].at.gap);
    }
    print_message("pushed: %.2g m deep, energy off by %.2g J, edits %.3g J\n", deepest, worst,
                  now->energy.edits);
    double x = body(now, &r, "bead")->pose.p.x;
    assert_true(x >= 0.27 - 1e-6 && x <= 0.4);
    assert_true(deepest <= 1e-4);
    assert_true(now->energy.edits > 1e-4 && worst <= 1e-9);
    running_close(&r);
}

/* ---- what is joined to a free body ------------------------------------------------------------
 */

/* A wing hangs by its end on the middle of the swinging door. */
static gw_scene *door_with_wing(bool joined)
{
    gw_scene *s = door(1);
    gw_object *wing = add_bar(s, "wing", gw_v3(0, 0, 0), 1.2, 0.1);
    wing->pose.p = gw_sub(s->objects[1].pose.p, gw_rotate(wing->pose.q, gw_v3(0.1, 0, 0)));
    if (joined)
        hinge(s, "h2", "wing", "far", "door", "near");
    return s;
}

/* Where the door is after a second; how far energy and hinges are off on the way. */
static gw_pose door_after_a_second(gw_scene *s, double *energy_off, double *hinges)
{
    running r;
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 1000; i++) {
        now = running_tick(&r);
        *energy_off = fmax(*energy_off, fabs(energy_error(now)));
        *hinges = fmax(*hinges, residual(&r, now));
    }
    gw_pose out = body(now, &r, "door")->pose;
    running_close(&r);
    return out;
}

/* The wing's mass is felt whether it is free, nothing at all, or held as well. */
static void what_is_joined_to_a_free_body_moves_with_it(void **state)
{
    (void)state;
    double energy_off = 0, hinges = 0;
    gw_pose alone = door_after_a_second(door_with_wing(false), &energy_off, &hinges);
    gw_scene *s = door_with_wing(true);
    gw_pose led = door_after_a_second(s, &energy_off, &hinges);
    s = door_with_wing(true);
    s->objects[2].free = true;
    gw_pose both_free = door_after_a_second(s, &energy_off, &hinges);
    s = door_with_wing(true);
    hold(s, "wing");
    gw_pose held = door_after_a_second(s, &energy_off, &hinges);
    s = door_with_wing(true);
    s->objects[2].massless = true;
    gw_pose massless = door_after_a_second(s, &energy_off, &hinges);
    print_message("a door with a wing: energy off by %.2g J, hinges by %.2g m\n", energy_off,
                  hinges);
    assert_true(gw_pose_distance(&led, &both_free, 0.1) == 0);
    assert_true(gw_pose_distance(&led, &held, 0.1) <= 1e-12);
    assert_true(gw_pose_distance(&alone, &massless, 0.1) == 0);
    assert_true(gw_pose_distance(&alone, &led, 0.1) > 0.01);
    assert_true(energy_off <= 1e-9 && hinges <= 1e-12);
}

/* ---- the same again -------------------------------------------------------------------------- */

static void the_same_scene_gives_the_same_bits(void **state)
{
    (void)state;
    gw_free_body last[2][2];
    for (int k = 0; k < 2; k++) {
        running r;
        gw_scene *s = door(1);
        state_feature(s, "ground", "stop",
                      (gw_element){.kind = GW_PLANE, .p = {0.02, 0, 0}, .d = {1, 0, 0}});
        state_feature(s, "door", "end",
                      (gw_element){.kind = GW_POINT, .p = {-0.1, 0, 0}, .d = {0, 0, 0}});
        join(s, "stop", GW_DISTANCE, "door", "end", "ground", "stop")->bound = GW_BOUND_AT_LEAST;
        add_ball(s, "ball", gw_v3(0.07, 0.1, 0), 0.02);
        s->contact.enabled = true;
        running_open(&r, s);
        const gw_snapshot *now = NULL;
        for (int i = 0; i < 2000; i++)
            now = running_tick(&r);
        memcpy(last[k], now->free, sizeof last[k]);
        assert_true(now->contact.collisions > 0);
        running_close(&r);
    }
    for (int i = 0; i < 2; i++) {
        assert_memory_equal(&last[0][i].pose, &last[1][i].pose, sizeof last[0][i].pose);
        assert_memory_equal(&last[0][i].twist, &last[1][i].twist, sizeof last[0][i].twist);
    }
}

/* Contacts are turned off under a ball that lies on the ground, in a scene that has bounds besides:
 * nothing bears it any more, and its spring's energy is accounted for. */
static void what_lay_falls_once_contacts_are_off(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    running r;
    double worst = 0;
    s->gravity = gw_v3(0, 0, -9.81);
    s->contact.enabled = true;
    add_ground(s, 0.5);
    double top = 0.5 * s->objects[0].shape.size.z;
    add_ball(s, "ball", gw_v3(0, 0, top + 0.05), 0.05);
    state_feature(s, "ground", "ceiling",
                  (gw_element){.kind = GW_PLANE, .p = {0, 0, 2}, .d = {0, 0, 1}});
    state_feature(s, "ball", "middle",
                  (gw_element){.kind = GW_POINT, .p = {0, 0, 0}, .d = {0, 0, 0}});
    join(s, "below", GW_DISTANCE, "ball", "middle", "ground", "ceiling")->bound = GW_BOUND_AT_MOST;
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 300; i++)
        now = running_tick(&r);
    double lay = body(now, &r, "ball")->pose.p.z;
    assert_true(fabs(lay - top - 0.05) < 1e-3 && now->contact_count > 0);
    s->contact.enabled = false;
    hand_over(&r, now, NULL);
    for (int i = 0; i < 100; i++) {
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
    }
    double fell = lay - body(now, &r, "ball")->pose.p.z;
    print_message("fell by %.4g m in 0.1 s, energy balance off by %.2g J\n", fell, worst);
    assert_true(fabs(fell - 0.5 * 9.81 * 0.099 * 0.099) < 1e-3 && worst < 1e-9);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_edit_brings_a_body_onto_its_set),
        cmocka_unit_test(a_body_is_brought_onto_geometry_that_moves),
        cmocka_unit_test(an_edit_may_say_where_a_body_is),
        cmocka_unit_test(a_body_follows_geometry_that_moves),
        cmocka_unit_test(a_body_whose_branch_is_gone_is_told),
        cmocka_unit_test(a_fixed_object_that_moves_pushes_bodies),
        cmocka_unit_test(what_is_joined_to_a_free_body_moves_with_it),
        cmocka_unit_test(the_same_scene_gives_the_same_bits),
        cmocka_unit_test(what_lay_falls_once_contacts_are_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
