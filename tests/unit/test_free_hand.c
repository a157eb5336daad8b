/*
 * A person's hand at free bodies: dragged and pushed while they run, along what their constraints
 * leave, against what they touch; its work booked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

static void hand(running *r, gw_command command, const char *object)
{
    gw_command retired;
    strcpy(command.object, object);
    gw_simulation_apply(r->simulation, &command, &retired);
}

static void drag(running *r, const char *object, gw_vec3 point, gw_vec3 target)
{
    hand(r, (gw_command){.kind = GW_COMMAND_DRAG, .drag = {.point = point, .target = target}},
         object);
}

/* A door's end is drawn out sideways and up: it hangs where spring and weight agree, whatever of
 * the pull its hinge bears. */
static void a_dragged_door_turns_on_its_hinge(void **state)
{
    (void)state;
    running r;
    double worst = 0, off = 0, most = 0;
    gw_vec3 end = {-0.1, 0, 0}, target = {0.3, 0.2, 0.1};
    gw_scene *s = door(0);
    s->objects[1].body.damping_angular = 5e-3;
    running_open(&r, s);
    drag(&r, "door", end, target);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 4000; i++) {
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
        off = fmax(off, residual(&r, now));
        most = fmax(most, gw_norm(body(now, &r, "door")->operator.f));
    }
    const gw_free_body *b = body(now, &r, "door");
    gw_vec3 at = gw_pose_point(&b->pose, end), arm = gw_scale(0.5, at);
    assert_true(b->dragging);
    gw_vec3 pull = b->operator.f, weight = gw_v3(0, -0.08 * 9.81, 0);
    double torque = gw_cross(at, pull).z + gw_cross(arm, weight).z;
    print_message("dragged door: %.2g N m left, energy off by %.2g J, %.2g m off, %.1f N at most\n",
                  torque, worst, off, most);
    assert_true(fabs(torque) <= 1e-6 && gw_norm(b->twist.w) <= 1e-5);
    assert_true(gw_cross(gw_unit(at), gw_unit(pull)).z < 0.1 && at.x > 0.1);
    assert_true(worst <= 1e-12 && off <= 1e-14);
    assert_true(now->energy.work_in > 0.05);
    double height = at.y;
    hand(&r, (gw_command){.kind = GW_COMMAND_RELEASE}, "door");
    for (int i = 0; i < 100; i++)
        now = running_tick(&r);
    b = body(now, &r, "door");
    assert_true(!b->dragging && gw_norm(b->operator.f) == 0);
    assert_true(gw_pose_point(&b->pose, end).y < height);
    running_close(&r);
}

/* The pull is bounded, and a heavy box is lifted like a light one. */
static void a_pull_is_bounded_and_lifts_what_is_heavy(void **state)
{
    (void)state;
    for (int heavy = 0; heavy < 2; heavy++) {
        running r;
        double most = 0, worst = 0;
        gw_scene *s = new_scene();
        s->gravity = gw_v3(0, 0, -9.81);
        gw_object *box = add_box(s, "box", gw_v3(0, 0, 0), false);
        box->shape.size = heavy ? gw_v3(0.4, 0.4, 0.4) : gw_v3(0.04, 0.04, 0.1);
        box->free = true;
        double mass = gw_object_mass(box).mass;
        running_open(&r, s);
        drag(&r, "box", gw_v3(0, 0, 0.05), gw_v3(0, 0, 3));
        const gw_snapshot *now = NULL;
        for (int i = 0; i < 6000; i++) {
            now = running_tick(&r);
            most = fmax(most, gw_norm(body(now, &r, "box")->operator.f));
            worst = fmax(worst, fabs(energy_error(now)));
        }
        double top = body(now, &r, "box")->pose.p.z + 0.05;
        print_message("%g kg: lifted to %.3f m of 3, at most %.1f N, energy off by %.2g J\n", mass,
                      top, most, worst);
        assert_true(top > 2.97 && top <= 3);
        assert_true(most <= 30 + 2 * mass * 9.81 + 1e-9);
        assert_true(worst <= 1e-9);
        running_close(&r);
    }
}

/* A wheel on an axle, whose middle cannot move, is drawn beyond its reach and never harder than
 * what is as heavy: 30 N and twice its weight. */
static void a_wheel_is_pulled_as_what_is_as_heavy(void **state)
{
    (void)state;
    running r;
    double most = 0;
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, -9.81);
    gw_object *wheel = add_box(s, "wheel", gw_v3(0, 0, 0), false);
    wheel->free = true;
    double mass = gw_object_mass(wheel).mass;
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    strcpy(j->id, "axle");
    j->type = GW_MOBILIZER_REVOLUTE;
    strcpy(j->a.object, "wheel");
    strcpy(j->b.object, "world");
    j->a.at = gw_pose_identity();
    j->a.at.q = (gw_quat){sqrt(0.5), sqrt(0.5), 0, 0}; /* along -y */
    j->b.at = j->a.at;
    running_open(&r, s);
    drag(&r, "wheel", gw_v3(0.05, 0, 0), gw_v3(0.1, 0, 1));
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 3000; i++) {
        now = running_tick(&r);
        most = fmax(most, gw_norm(body(now, &r, "wheel")->operator.f));
    }
    print_message("wheel of %g kg: pulled by %.1f N at most\n", mass, most);
    assert_true(most > 20 && most <= 30 + 2 * mass * 9.81 + 1e-9);
    running_close(&r);
}

/* A constant push is an acceleration: s = F t^2 / 2 m, W = F s; the next one ends it. */
static void a_push_accelerates(void **state)
{
    (void)state;
    running r;
    gw_scene *s = new_scene();
    gw_object *box = add_box(s, "box", gw_v3(0, 0, 0), false);
    box->free = true;
    running_open(&r, s);
    double mass = gw_object_mass(box).mass;
    hand(&r, (gw_command){.kind = GW_COMMAND_PUSH, .push = {.f = {2, 0, 0}}}, "box");
    const gw_snapshot *now = NULL;
    for (int i = 0; i <= 1000; i++)
        now = running_tick(&r);
    double way = 2 / (2 * mass);
    assert_true(fabs(body(now, &r, "box")->pose.p.x - way) <= 1e-12);
    assert_true(fabs(now->energy.work_in - 2 * way) <= 1e-12);
    hand(&r, (gw_command){.kind = GW_COMMAND_PUSH}, "box");
    hand(&r, (gw_command){.kind = GW_COMMAND_PUSH, .push = {.f = {2, 0, 0}}}, "nobody");
    running_tick(&r);
    double speed = body(running_tick(&r), &r, "box")->twist.v.x;
    assert_true(body(running_tick(&r), &r, "box")->twist.v.x == speed);
    running_close(&r);
}

/* A dragged body has contacts: a wall stops it, and it pushes free bodies. */
static void a_dragged_body_feels_contacts(void **state)
{
    (void)state;
    running r;
    double worst = 0, deepest = 0;
    gw_scene *s = new_scene();
    add_box(s, "wall", gw_v3(0.4, 0, 0), true);
    add_ball(s, "near", gw_v3(0, 0, 0), 0.05);
    add_ball(s, "far", gw_v3(0.15, 0, 0), 0.05);
    s->contact.enabled = true;
    running_open(&r, s);
    drag(&r, "near", gw_v3(0, 0, 0), gw_v3(0.6, 0, 0));
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 5000; i++) {
        now = running_tick(&r);
        double near = body(now, &r, "near")->pose.p.x, far = body(now, &r, "far")->pose.p.x;
        deepest = fmax(deepest, fmax(0.1 - (far - near), far - 0.3));
        worst = fmax(worst, fabs(energy_error(now)));
    }
    print_message("dragged against a wall: %.2g m deep, energy off by %.2g J\n", deepest, worst);
    /* 30 N by what a step bears, less than the plain surface's 500 kN/m: 0.4 m / dt^2 */
    double mass = 1000 * 4 * GW_PI / 3 * 0.05 * 0.05 * 0.05;
    assert_true(fabs(body(now, &r, "far")->pose.p.x - 0.3 - 30 / (0.4e6 * mass)) <= 1e-6);
    assert_true(gw_norm(body(now, &r, "near")->operator.f) > 29);
    assert_true(deepest <= 1e-3);
    assert_true(worst <= 1e-9);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dragged_door_turns_on_its_hinge),
        cmocka_unit_test(a_pull_is_bounded_and_lifts_what_is_heavy),
        cmocka_unit_test(a_wheel_is_pulled_as_what_is_as_heavy),
        cmocka_unit_test(a_push_accelerates),
        cmocka_unit_test(a_dragged_body_feels_contacts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
