/*
 * Held objects on geometry that moves: the hand that holds them feels the base's speed and
 * acceleration as free ones do (test_free_moving_base.c), against closed forms; what moves it
 * works, and that is booked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

#define DT 1e-3

/* The free object of a scene in a hand, at an ideal device. */
static gw_scene *held(gw_scene *s, const char *id)
{
    s->objects[gw_scene_object(s, id)].free = false;
    hold(s, id);
    return s;
}

static void command(running *r, gw_command command)
{
    gw_command retired;
    gw_simulation_apply(r->simulation, &command, &retired);
}

/* ---- closed forms ---------------------------------------------------------------------------- */

/* tan angle = -a/g: what hangs along apparent weight stays there. */
static void a_door_in_hand_hangs_along_apparent_weight(void **state)
{
    (void)state;
    running r;
    double a = 1, lean = -atan2(a, 9.81), off = 0, worst = 0;
    running_open(&r, held(door(lean), "door"));
    begin_row(&r);
    const gw_snapshot *now = NULL;
    for (int i = 1; i <= 200; i++) {
        move_object(&r, "ground", pushed_on(a, i * DT));
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
        off = fmax(off, fabs(angle_of_door(now->tools[0].world_from_object) - lean));
    }
    double v = now->tools[0].twist.v.x;
    print_message("held door pushed on at 1 m/s2: off by %.2g rad; energy off by %.2g J\n", off,
                  worst);
    assert_true(off <= 2e-6);
    assert_true(fabs(v - 0.199) <= 1e-3); /* the ground is a tick behind */
    assert_true(worst <= 1e-12);
    assert_true(fabs(now->energy.edits - 0.5 * 0.08 * v * v) <= 0.02 * now->energy.edits);
    running_close(&r);
}

static gw_scene *bead_on_a_rod(void)
{
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    add_ball(s, "bead", gw_v3(0.1, 0, 0), 0.06);
    join(s, "rail", GW_COINCIDENT, "bead", "center", "ground", "rail");
    return held(s, "bead");
}

static void follow_hyperbola(const char *what, void (*turn)(running *r, double angle))
{
    running r;
    double w = 0.5, off = 0, worst = 0, r0 = 0, u0 = 0, apart = 0;
    running_open(&r, bead_on_a_rod());
    for (int i = 1; i <= 3000; i++) {
        turn(&r, w * i * DT);
        const gw_snapshot *now = running_tick(&r);
        const gw_tool_state *b = &now->tools[0];
        double t = (i - 10) * DT, at = gw_norm(b->world_from_object.p);
        worst = fmax(worst, fabs(energy_error(now)));
        apart = fmax(apart, b->error_p);
        if (i == 10) {
            r0 = at;
            u0 = gw_dot(b->twist.v, gw_unit(b->world_from_object.p));
        }
        if (i >= 10)
            off = fmax(off, fabs(at - r0 * cosh(w * t) - u0 / w * sinh(w * t)));
    }
    print_message("held bead on a rod that turns (%s): off by %.2g m of 0.13; device within %.2g "
                  "m; energy off by %.2g J\n",
                  what, off, apart, worst);
    assert_true(off <= 1e-13);
    assert_true(apart <= 1e-4);
    assert_true(worst <= 1e-13);
    running_close(&r);
}

/* r'' = w^2 r */
static void a_bead_in_hand_is_thrown_out_along_a_turning_rod(void **state)
{
    (void)state;
    follow_hyperbola("object", turn_ground);
    follow_hyperbola("feature", turn_rail);
}

/* No closed form, but on a ground that accelerates it moves as one under weight that leans. */
static void threads_pulled_on_are_threads_under_leaning_weight(void **state)
{
    (void)state;
    running moved, still;
    double a = 0.5, off = 0, worst = 0;
    running_open(&moved, held(plate_on_threads(), "plate"));
    gw_scene *s = held(plate_on_threads(), "plate");
    s->gravity = gw_add(s->gravity, gw_v3(-a, 0, 0));
    running_open(&still, s);
    begin_row(&moved);
    for (int i = 1; i <= 400; i++) {
        move_object(&moved, "ground", pushed_on(a, i * DT));
        const gw_snapshot *x = running_tick(&moved), *y = running_tick(&still);
        gw_pose p = x->tools[0].world_from_object, q = y->tools[0].world_from_object;
        p.p.x -= pushed_on(a, (i - 1) * DT).p.x;
        off = fmax(off, gw_pose_distance(&p, &q, 0.1));
        worst = fmax(worst, fabs(energy_error(x)));
    }
    print_message("held plate on threads: off by %.2g m, energy off by %.2g J\n", off, worst);
    assert_true(off <= 2e-7);
    assert_true(worst <= 1e-12);
    running_close(&moved);
    running_close(&still);
}

/* ---- at an impedance device -------------------------------------------------------------------
 */

static gw_scene *at_an_impedance_device(gw_scene *s, gw_control_law kind)
{
    strcpy(s->devices[0].driver, "sim-impedance");
    s->tools[0].control = GW_CONTROL_IMPEDANCE + (gw_control_kind)(kind - GW_LAW_IMPEDANCE);
    s->tools[0].rendering = gw_impedance_def_default();
    s->tools[0].rendering.kind = kind;
    return s;
}

/* The drift of the held frame is in what the device is to do: it stays with the bead. */
static void the_device_is_taken_along(gw_control_law kind, const char *name, double most)
{
    running r;
    double w = 0.5, apart = 0, worst = 0;
    running_open(&r, at_an_impedance_device(bead_on_a_rod(), kind));
    const gw_snapshot *now = NULL;
    for (int i = 1; i <= 2000; i++) {
        turn_ground(&r, w * i * DT);
        now = running_tick(&r);
        apart = fmax(apart, now->tools[0].error_p);
        worst = fmax(worst, fabs(energy_error(now)));
    }
    gw_vec3 p = now->tools[0].world_from_object.p;
    print_message("held bead, %s control: device within %.2g m, at %.3f m; energy off by %.2g J\n",
                  name, apart, gw_norm(p), worst);
    assert_true(apart <= most);
    assert_true(worst <= 1e-12);
    running_close(&r);
}

static void an_impedance_device_is_taken_along(void **state)
{
    (void)state;
    the_device_is_taken_along(GW_LAW_IMPEDANCE, "impedance", 3e-4);
    the_device_is_taken_along(GW_LAW_PENALTY, "penalty", 3e-4);
    the_device_is_taken_along(GW_LAW_COUPLING, "coupling", 5e-4);
    the_device_is_taken_along(GW_LAW_FOUR_CHANNEL, "four-channel", 2e-3);
}

/* ---- held still -------------------------------------------------------------------------------
 */

/* In the clutch the tool goes along with its rail, at rest on it, and off the rail at no time. */
static void a_clutched_bead_goes_along(void **state)
{
    (void)state;
    running r;
    double w = 0.5, off = 0, worst = 0, bump = 0;
    gw_vec3 last = {0.1, 0, 0};
    running_open(&r, bead_on_a_rod());
    for (int i = 1; i <= 1200; i++) {
        if (i == 200 || i == 800)
            command(&r, (gw_command){.kind = GW_COMMAND_CLUTCH, .clutch = i == 200});
        if (i == 1000) {
            command(&r, (gw_command){.kind = GW_COMMAND_HALT});
            command(&r, (gw_command){.kind = GW_COMMAND_ARM});
            set_state(&r, GW_RUNNING);
        }
        turn_ground(&r, w * i * DT);
        const gw_snapshot *now = running_tick(&r);
        gw_pose at = now->tools[0].world_from_object;
        gw_vec3 rail = {cos(w * (i - 1) * DT), sin(w * (i - 1) * DT), 0};
        off = i < 10 ? 0 : fmax(off, gw_norm(gw_reject(at.p, rail))); /* the first is eased */
        bump = fmax(bump, gw_distance(at.p, last));
        worst = fmax(worst, fabs(energy_error(now)));
        last = at.p;
    }
    print_message("clutched and halted: off its rail by %.2g m, %.2g m a tick; energy off by %.2g "
                  "J\n",
                  off, bump, worst);
    assert_true(off <= 1e-12);
    assert_true(bump <= 1e-4); /* 0.5 rad/s at 0.13 m */
    assert_true(worst <= 1e-13);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_door_in_hand_hangs_along_apparent_weight),
        cmocka_unit_test(a_bead_in_hand_is_thrown_out_along_a_turning_rod),
        cmocka_unit_test(threads_pulled_on_are_threads_under_leaning_weight),
        cmocka_unit_test(an_impedance_device_is_taken_along),
        cmocka_unit_test(a_clutched_bead_goes_along),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
