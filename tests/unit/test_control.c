/*
 * Workspace map, PID, coupling and travel on their own; then the figures of the device profile
 * against a plane and a circle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/scenario_fixture.h"

/* ---- the map -------------------------------------------------------------------------------- */

static gw_workspace_map fitted(gw_submanifold *set, double radius, gw_vec3 tool)
{
    gw_workspace_fit fit = {.set = set,
                            .world_from_body = {{0.1, 0, 0}, {1, 0, 0, 0}},
                            .body_from_tool = {tool, {1, 0, 0, 0}},
                            .workspace_radius = radius,
                            .scene_diagonal = 0.4};
    return gw_workspace_fitted(&fit);
}

static void bounded_sets_take_half_the_workspace_about_their_centre(void **state)
{
    (void)state;
    gw_submanifold circle = fixture_turning(GW_LOCUS_CIRCLE);
    gw_workspace_map map = fitted(&circle, 0.08, gw_v3(0, 0, 0.03));
    assert_true(fabs(map.scale - 0.4) < 1e-15);
    assert_true(gw_distance(map.centre, gw_v3(0, 0, 0.03)) < 1e-15);
}

static void unbounded_sets_fit_the_scene_into_the_workspace(void **state)
{
    (void)state;
    gw_submanifold plane = fixture_turning(GW_LOCUS_PLANE);
    gw_workspace_map map = fitted(&plane, 0.08, gw_v3(0, 0, 0));
    assert_true(fabs(map.scale - 0.08 / 0.4) < 1e-15);
    assert_true(gw_distance(map.centre, gw_v3(0.1, 0, 0)) < 1e-15);
}

static void a_device_without_limits_is_in_the_task(void **state)
{
    (void)state;
    gw_submanifold plane = fixture_turning(GW_LOCUS_PLANE);
    gw_workspace_map map = fitted(&plane, 0, gw_v3(0, 0, 0));
    assert_true(map.scale == 1 && gw_norm(map.centre) == 0);
}

/* m x'' = f in the task is m x'' = f at the device. */
static void the_hand_feels_the_mass_as_given(void **state)
{
    (void)state;
    gw_workspace_map map = {0.3, {1, 2, 3}, {1, 0, 0, 0}, 1};
    gw_wrench hand = {{2, -1, 4}, {0.1, 0.2, 0.3}};
    gw_wrench task = gw_workspace_wrench_to_task(&map, &hand);
    gw_twist rate = {gw_scale(1 / 2.0, task.f), {0, 0, 0}};
    gw_twist device = gw_workspace_twist_to_device(&map, &rate);
    assert_true(gw_distance(gw_scale(2, device.v), hand.f) < 1e-14);
    gw_wrench back = gw_workspace_wrench_to_device(&map, &task);
    assert_true(gw_distance(back.f, hand.f) < 1e-14 && gw_distance(back.t, hand.t) < 1e-14);
}

static void recentring_brings_the_tool_to_the_device(void **state)
{
    (void)state;
    gw_workspace_map map = {0.3, {1, 2, 3}, {1, 0, 0, 0}, 1};
    gw_pose task = {{0.4, 0.1, -2}, gw_quat_exp(gw_v3(0.4, 1, -0.3))};
    gw_pose device = {{0.01, -0.04, 0.02}, gw_quat_exp(gw_v3(-1, 0.2, 0.6))};
    gw_workspace_map moved = gw_workspace_recentred(&map, &task, &device);
    gw_pose there = gw_workspace_to_device(&moved, &task),
            back = gw_workspace_to_task(&moved, &device);
    assert_true(gw_pose_distance(&there, &device, 1) < 1e-15);
    assert_true(gw_pose_distance(&back, &task, 1) < 1e-14);
}

/* ---- the controller ------------------------------------------------------------------------- */

static void integral_waits_while_the_command_saturates(void **state)
{
    (void)state;
    gw_pid pid = {.p = 100, .i = 2500};
    gw_command_limits limits = {.speed = 0.1};
    gw_twist zero = {{0, 0, 0}, {0, 0, 0}}, error = {{0.01, 0, 0}, {0, 0, 0}};
    bool limited = false;
    for (int i = 0; i < 1000; i++) {
        gw_twist u = gw_pid_command(&pid, &zero, &error, &limits, 1e-3, &limited);
        assert_true(limited && fabs(gw_norm(u.v) - 0.1) < 1e-15);
    }
    assert_true(gw_norm(pid.integral.v) == 0);
}

static void coupling_pulls_only_beyond_its_slack(void **state)
{
    (void)state;
    gw_virtual_coupling c = gw_virtual_coupling_for(2, 1, 1e-3);
    gw_vec3 zero = {0, 0, 0};
    assert_true(gw_norm(gw_virtual_coupling_force(&c, zero, zero, gw_v3(c.slack, 0, 0))) == 0);
    gw_vec3 f = gw_virtual_coupling_force(&c, zero, zero, gw_v3(c.slack + 0.001, 0, 0));
    assert_true(fabs(f.x - c.stiffness * 0.001) < 1e-9);
    assert_true(gw_norm(gw_virtual_coupling_force(&c, zero, zero, gw_v3(1, 0, 0))) <= c.force_max);
}

/* ---- travel --------------------------------------------------------------------------------- */

/* Runs a travel; checks that pose and twist agree, that nothing jumps, and returns its time. */
static double travelled(gw_pose from, gw_twist twist, const gw_transition_limits *limits,
                        double *speed, double *force_rate)
{
    gw_transition travel;
    gw_pose to = gw_pose_identity(), last = from;
    gw_twist still = {{0, 0, 0}, {0, 0, 0}}, shown_twist, last_twist = twist;
    double dt = 1e-4, t = 0, force = 0;
    bool first = true;
    gw_transition_start(&travel, &from, &twist, &to, &still, limits);
    *speed = *force_rate = 0;
    while (travel.active && t < 10) {
        gw_pose shown = to;
        shown_twist = still;
        gw_transition_apply(&travel, &shown, &shown_twist);
        gw_twist step = gw_pose_sub(&shown, &last);
        double far = first ? 1e-15 : 0.5 * dt * dt * 200;
        assert_true(gw_norm(gw_mul_add(step.v, first ? 0 : -dt, last_twist.v)) < far + 1e-12);
        assert_true(gw_norm(gw_mul_add(step.w, first ? 0 : -dt, last_twist.w)) < far + 1e-12);
        double pull = limits->hand_stiffness * gw_norm(gw_sub(shown.p, from.p)) +
                      limits->hand_damping * gw_norm(shown_twist.v);
        if (!first)
            *force_rate = fmax(*force_rate, fabs(pull - force) / dt);
        *speed = fmax(*speed, gw_norm(shown_twist.v));
        force = pull;
        last = shown;
        last_twist = shown_twist;
        first = false;
        gw_transition_advance(&travel, dt, 1);
        t += dt;
    }
    assert_true(gw_pose_distance(&last, &to, 1) < 1e-6);
    return t;
}

static const gw_transition_limits hand_free = {.speed = 0.25, .spin = 1, .acceleration = 10};

static void five_centimetres_take_less_than_half_a_second(void **state)
{
    (void)state;
    double speed, rate;
    gw_twist still = {{0, 0, 0}, {0, 0, 0}};
    gw_pose from = {{0.03, 0, 0.04}, {1, 0, 0, 0}};
    double t = travelled(from, still, &hand_free, &speed, &rate);
    print_message("free: 5 cm in %.3f s, at most %.3f m/s\n", t, speed);
    assert_true(t < 0.5 && speed <= 0.25 * (1 + 1e-9));
}

static void a_travel_starts_with_the_twist_that_was(void **state)
{
    (void)state;
    double speed, rate;
    gw_twist moving = {{0.2, -0.1, 0}, {0.5, 1, 0}};
    gw_pose from = {{0.03, 0, 0.04}, gw_quat_exp(gw_v3(0.2, 0.3, -0.1))};
    double t = travelled(from, moving, &hand_free, &speed, &rate);
    assert_true(t < 1.5);
}

static void a_hand_feels_a_slow_change_of_force(void **state)
{
    (void)state;
    double speed, rate;
    gw_transition_limits limits = hand_free;
    gw_twist still = {{0, 0, 0}, {0, 0, 0}};
    gw_pose from = {{0.05, 0, 0}, {1, 0, 0, 0}};
    limits.hand_stiffness = 500;
    limits.hand_damping = 22;
    limits.hand_mass = 0.5;
    limits.hand_force_rate = 49;
    double t = travelled(from, still, &limits, &speed, &rate);
    print_message("held by 500 N/m: 5 cm in %.3f s, %.4f N per ms\n", t, rate * 1e-3);
    assert_true(rate <= 50 && t < 0.8);
}

/* ---- the profile's figures ------------------------------------------------------------------ */

/* Errors of the true device pose against the set: the static one, before the step ends, and the
 * peak. */
typedef struct figures {
    double hold, peak, hold_angle, peak_angle;
} figures;

static figures measure(gw_locus_kind locus, gw_wrench push, bool pid)
{
    figures f = {0, 0, 0, 0};
    gw_wrench_sample steps[2] = {{0.1, push}, {0.9, {{0, 0, 0}, {0, 0, 0}}}};
    gw_operator operator= {.kind = GW_OPERATOR_WRENCH, .count = 2, .samples = steps};
    gw_device_slot *slot = fixture_device("cobotic-hand-controller", &operator, 1000);
    gw_guided_def body = fixture_body(fixture_turning(locus));
    gw_scenario *scenario = fixture_scenario(&body, slot, 1000);
    if (!pid)
        scenario->tools[0].gain_p = scenario->tools[0].gain_i = 0;
    gw_simulation *s = gw_simulation_create(scenario, NULL);
    fixture_state(s, GW_RUNNING);
    for (int i = 0; i < 1400; i++) {
        gw_simulation_tick(s);
        gw_pose truth = gw_simulation_snapshot(s)->tools[0].device_true;
        double off = fabs(truth.p.z);
        if (locus == GW_LOCUS_CIRCLE)
            off = hypot(off, hypot(truth.p.x, truth.p.y) - 0.1);
        gw_vec3 up = gw_v3(0, 0, 1);
        double lean = gw_angle_between(gw_rotate(truth.q, up), up);
        f.peak = fmax(f.peak, off);
        f.peak_angle = fmax(f.peak_angle, lean);
        if (i >= 600 && i < 900) {
            f.hold = fmax(f.hold, off);
            f.hold_angle = fmax(f.hold_angle, lean);
        }
    }
    gw_simulation_destroy(s);
    gw_device_slot_close(slot);
    return f;
}

static void check_figures(const char *name, gw_locus_kind locus, gw_vec3 force, gw_vec3 torque,
                          double scale)
{
    const double stiffness = 400e3, quantum = 1e-6 / scale;
    gw_wrench push = {force, {0, 0, 0}}, twist = {{0, 0, 0}, torque};
    figures on = measure(locus, push, true), off = measure(locus, push, false);
    figures turned = measure(locus, twist, true), slack = measure(locus, twist, false);
    print_message("%s: %.4f mm held, %.4f mm peak, %.2f mm without PID; %.4f, %.4f, %.3f deg\n",
                  name, 1e3 * on.hold, 1e3 * on.peak, 1e3 * off.hold,
                  turned.hold_angle * 180 / GW_PI, turned.peak_angle * 180 / GW_PI,
                  slack.hold_angle * 180 / GW_PI);
    double bound = 1.2 * gw_norm(force) / stiffness + quantum;
    assert_true(on.hold <= bound && on.peak <= 2 * bound);
    assert_true(on.hold <= 1e-4 && on.peak <= 1e-4);
    assert_true(turned.hold_angle <= 0.1 * GW_PI / 180 && turned.peak_angle <= 0.1 * GW_PI / 180);
    assert_true(off.hold >= 10 * on.hold);
    assert_true(slack.hold_angle >= 10 * turned.hold_angle);
}

static void the_profile_holds_the_plane(void **state)
{
    (void)state;
    check_figures("plane", GW_LOCUS_PLANE, gw_v3(0, 0, -30), gw_v3(0.5, 0, 0), 0.2);
}

static void the_profile_holds_the_circle(void **state)
{
    (void)state;
    check_figures("circle", GW_LOCUS_CIRCLE, gw_v3(30, 0, 0), gw_v3(0.5, 0, 0), 0.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounded_sets_take_half_the_workspace_about_their_centre),
        cmocka_unit_test(unbounded_sets_fit_the_scene_into_the_workspace),
        cmocka_unit_test(a_device_without_limits_is_in_the_task),
        cmocka_unit_test(the_hand_feels_the_mass_as_given),
        cmocka_unit_test(recentring_brings_the_tool_to_the_device),
        cmocka_unit_test(integral_waits_while_the_command_saturates),
        cmocka_unit_test(coupling_pulls_only_beyond_its_slack),
        cmocka_unit_test(five_centimetres_take_less_than_half_a_second),
        cmocka_unit_test(a_travel_starts_with_the_twist_that_was),
        cmocka_unit_test(a_hand_feels_a_slow_change_of_force),
        cmocka_unit_test(the_profile_holds_the_plane),
        cmocka_unit_test(the_profile_holds_the_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
