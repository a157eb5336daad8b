/*
 * Stops and bases on their way: walls whose geometry moves, against closed forms; and a change of
 * scenario meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

#define DT    1e-3
#define SPEED 0.2 /* m/s */

/* A bead on a rail, 2 cm at least from the plane "stop" that lies across it. */
static gw_scene *bead_and_stop(double restitution)
{
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    state_feature(s, "ground", "stop",
                  (gw_element){.kind = GW_PLANE, .p = {-0.05, 0, 0}, .d = {1, 0, 0}});
    add_ball(s, "bead", gw_v3(0, 0, 0), 0.02);
    join(s, "on", GW_COINCIDENT, "bead", "center", "ground", "rail");
    gw_scene_constraint *wall = join(s, "wall", GW_DISTANCE, "bead", "center", "ground", "stop");
    wall->value = 0.02;
    wall->bound = GW_BOUND_AT_LEAST;
    touch_elastically(s);
    s->contact.enabled = false;
    s->materials[0].surface.restitution = restitution;
    return s;
}

static void advance_stop(running *r, double x)
{
    move_feature(r, "ground", "stop",
                 (gw_element){.kind = GW_PLANE, .p = {x, 0, 0}, .d = {1, 0, 0}});
}

/* At rest, hit by what comes at V and does not yield: (1 + e) V. */
static void a_moving_stop_throws_a_free_bead(void **state)
{
    (void)state;
    const double restitutions[] = {1, 0.5, 0};
    for (int k = 0; k < 3; k++) {
        running r;
        double worst = 0, deepest = 0, e = restitutions[k];
        running_open(&r, bead_and_stop(e));
        const gw_snapshot *now = NULL;
        for (int i = 1; i <= 400; i++) {
            double x = -0.05 + SPEED * i * DT;
            advance_stop(&r, x);
            now = running_tick(&r);
            worst = fmax(worst, fabs(energy_error(now)));
            /* a value is reached when the next is due, and the snapshot is of the tick's start */
            double stop = x - 2 * SPEED * DT;
            deepest = fmax(deepest, stop + 0.02 - body(now, &r, "bead")->pose.p.x);
        }
        double v = body(now, &r, "bead")->twist.v.x;
        print_message("stop at %g m/s, e = %g: bead at %.12f m/s, %.2g m deep at most; energy "
                      "by %.2g J\n",
                      SPEED, e, v, deepest, worst);
        assert_true(fabs(v - (1 + e) * SPEED) <= 1e-9);
        assert_true(deepest <= 1e-9);
        assert_true(worst <= 1e-15);
        running_close(&r);
    }
}

/* The stop's spring pushes the held bead along, which rests against it in the end. */
static void a_moving_stop_shoves_a_held_bead(void **state)
{
    (void)state;
    running r;
    double worst = 0, deepest = 0, lost = 0, last = 0, from = 0;
    gw_scene *s = bead_and_stop(0);
    s->objects[1].free = false;
    s->objects[1].body.damping_linear = 2;
    hold(s, "bead");
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 1; i <= 1000; i++) {
        double x = -0.05 + SPEED * i * DT;
        advance_stop(&r, x);
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
        lost = fmax(lost, last - now->energy.dissipated);
        last = now->energy.dissipated;
        deepest = fmax(deepest, now->tools[0].depth);
        if (i == 900)
            from = now->tools[0].world_from_object.p.x;
    }
    double v = (now->tools[0].world_from_object.p.x - from) / (100 * DT);
    print_message("held: shoved at %.9f m/s, %.2g m deep at most; energy off by %.2g J, %.2g J "
                  "gained in a tick\n",
                  v, deepest, worst, lost);
    assert_true(fabs(v - SPEED) <= 1e-6);
    assert_true(deepest <= 1e-3);
    assert_true(worst <= 1e-13);
    assert_true(lost <= 1e-6); /* kinks inside a step */
    assert_true(fabs(now->energy.edits - now->energy.kinetic - now->energy.dissipated) <= 1e-4);
    running_close(&r);
}

/* The base with its stop is put elsewhere: what hangs on both comes along, pressed or not. */
static void a_base_takes_its_stop_along(void **state)
{
    (void)state;
    running r;
    double worst = 0, fastest = 0, deepest = 0;
    gw_scene *s = bead_and_stop(0.2);
    s->gravity = gw_v3(-9.81, 0, 0);
    s->objects[1].body.damping_linear = 0.5;
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    gw_pose to = {{0.1, 0.2, 0}, gw_quat_axis(gw_v3(0, 0, 1), 0.4)};
    for (int i = 0; i < 3000; i++) {
        if (i == 500)
            move_object(&r, "ground", to);
        now = running_tick(&r);
        const gw_free_body *b = body(now, &r, "bead");
        worst = fmax(worst, fabs(energy_error(now)));
        fastest = i < 500 ? 0 : fmax(fastest, gw_norm(b->twist.v));
    }
    gw_pose back = gw_pose_inverse(&to);
    gw_vec3 at = gw_pose_point(&back, body(now, &r, "bead")->pose.p);
    deepest = -0.03 - at.x;
    print_message("base with its stop: bead %.2g m in at last, up to %.2f m/s; energy off by %.2g "
                  "J\n",
                  deepest, fastest, worst);
    assert_true(deepest > 0 && deepest <= 1e-4);
    assert_true(fabs(at.y) <= 1e-12);
    assert_true(fastest < 0.7);
    assert_true(worst <= 1e-12);
    running_close(&r);
}

/* ---- a change of scenario meanwhile ------------------------------------------------------------
 */

static gw_scene *in_hand(gw_scene *s)
{
    s->objects[1].free = false;
    hold(s, "bead");
    return s;
}

static gw_pose bead_of(const gw_snapshot *now, const running *r)
{
    return now->tool_count > 0 ? now->tools[0].world_from_object : body(now, r, "bead")->pose;
}

/* Geometry goes on as it did: what rides on it does not feel the edit. */
static void edits_meanwhile(bool held)
{
    running plain, edited;
    double off = 0, jump = 0, worst = 0;
    running_open(&plain, held ? in_hand(bead_and_stop(0.2)) : bead_and_stop(0.2));
    running_open(&edited, held ? in_hand(bead_and_stop(0.2)) : bead_and_stop(0.2));
    gw_pose to = {{0.1, 0.2, 0}, gw_quat_axis(gw_v3(0, 0, 1), 0.4)};
    gw_vec3 last = {0, 0, 0};
    for (int i = 0; i < 2500; i++) {
        if (i == 100) {
            move_object(&plain, "ground", to);
            move_object(&edited, "ground", to);
        }
        const gw_snapshot *x = running_tick(&plain), *y = running_tick(&edited);
        gw_pose p = bead_of(x, &plain), q = bead_of(y, &edited);
        off = fmax(off, gw_pose_distance(&p, &q, 0.1));
        jump = fmax(jump, gw_distance(q.p, last));
        worst = fmax(worst, fabs(energy_error(y)));
        last = q.p;
        if (i == 300 || i == 301 || i == 600)
            hand_over(&edited, y, NULL);
    }
    print_message("three edits while the base moves, %s: off by %.2g m, %.2g m a tick at most; "
                  "energy off by %.2g J\n",
                  held ? "held" : "free", off, jump, worst);
    assert_true(off <= 1e-12);
    assert_true(jump <= 4e-4);
    assert_true(worst <= 1e-12);
    running_close(&plain);
    running_close(&edited);
}

static void an_edit_meanwhile_is_not_felt(void **state)
{
    (void)state;
    edits_meanwhile(false);
    edits_meanwhile(true);
}

/* A fixed object that a whole scenario has elsewhere goes there as by a command of its own. */
static void a_base_that_an_edit_moves_goes_there(void **state)
{
    (void)state;
    running r;
    double jump = 0, worst = 0;
    running_open(&r, bead_and_stop(0.2));
    const gw_snapshot *now = running_tick(&r);
    gw_vec3 last = {0, 0, 0};
    r.scene->objects[0].pose.p = gw_v3(0, 0.2, 0);
    r.scene->objects[1].body.damping_linear = 1;
    hand_over(&r, now, NULL);
    for (int i = 0; i < 2000; i++) {
        now = running_tick(&r);
        gw_vec3 p = body(now, &r, "bead")->pose.p;
        jump = fmax(jump, gw_distance(p, last));
        worst = fmax(worst, fabs(energy_error(now)));
        last = p;
    }
    print_message("moved with a whole scenario: %.2g m a tick at most; energy off by %.2g J\n",
                  jump, worst);
    assert_true(fabs(last.y - 0.2) <= 1e-12);
    assert_true(jump <= 3e-4);
    assert_true(worst <= 1e-12);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moving_stop_throws_a_free_bead),
        cmocka_unit_test(a_moving_stop_shoves_a_held_bead),
        cmocka_unit_test(a_base_takes_its_stop_along),
        cmocka_unit_test(an_edit_meanwhile_is_not_felt),
        cmocka_unit_test(a_base_that_an_edit_moves_goes_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
