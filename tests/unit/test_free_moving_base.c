/*
 * Free bodies on geometry that moves: what the base's speed and acceleration do to them, against
 * closed forms; what moves it works, and that is booked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

#define DT 1e-3

/* In a frame that accelerates weight seems to lean, tan angle = -a/g: a door that hangs along it
 * stays there, and what the ground pushes is all that it gains. */
static void a_door_hangs_along_apparent_weight(void **state)
{
    (void)state;
    running r;
    double a = 1, lean = -atan2(a, 9.81), off = 0, worst = 0;
    running_open(&r, door(lean));
    begin_row(&r);
    const gw_snapshot *now = NULL;
    for (int i = 1; i <= 200; i++) {
        move_object(&r, "ground", pushed_on(a, i * DT));
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
        off = fmax(off, fabs(angle_of_door(body(now, &r, "door")->pose) - lean));
    }
    double v = body(now, &r, "door")->twist.v.x;
    print_message(
        "door pushed on at 1 m/s2: leans by %.6f, off by %.2g rad; energy off by %.2g J\n", lean,
        off, worst);
    assert_true(off <= 2e-6);
    assert_true(fabs(v - 0.199) <= 1e-3); /* the ground is a tick behind */
    assert_true(worst <= 1e-12);
    assert_true(fabs(now->energy.edits - 0.5 * 0.08 * v * v) <= 0.02 * now->energy.edits);
    running_close(&r);
}

static void follow_hyperbola(const char *what, void (*turn)(running *r, double angle))
{
    running r;
    double w = 0.5, off = 0, worst = 0, r0 = 0, u0 = 0;
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    add_ball(s, "bead", gw_v3(0.1, 0, 0), 0.01);
    join(s, "rail", GW_COINCIDENT, "bead", "center", "ground", "rail");
    running_open(&r, s);
    for (int i = 1; i <= 3000; i++) {
        turn(&r, w * i * DT);
        const gw_snapshot *now = running_tick(&r);
        const gw_free_body *b = body(now, &r, "bead");
        double t = (i - 10) * DT, at = gw_norm(b->pose.p);
        worst = fmax(worst, fabs(energy_error(now)));
        if (i == 10) {
            r0 = at;
            u0 = gw_dot(b->twist.v, gw_unit(b->pose.p));
        }
        if (i >= 10)
            off = fmax(off, fabs(at - r0 * cosh(w * t) - u0 / w * sinh(w * t)));
    }
    print_message("bead on a rod that turns (%s): off by %.2g m of 0.13; energy off by %.2g J\n",
                  what, off, worst);
    assert_true(off <= 1e-13);
    assert_true(worst <= 1e-13);
    running_close(&r);
}

/* r'' = w^2 r */
static void a_bead_is_thrown_out_along_a_turning_rod(void **state)
{
    (void)state;
    follow_hyperbola("object", turn_ground);
    follow_hyperbola("feature", turn_rail);
}

/* A plate on three threads has no closed form, but on a ground that accelerates it moves as one
 * under weight that leans. */
static void threads_that_are_pulled_on_are_threads_under_leaning_weight(void **state)
{
    (void)state;
    running moved, still;
    double a = 0.5, off = 0, worst = 0;
    running_open(&moved, plate_on_threads());
    gw_scene *s = plate_on_threads();
    s->gravity = gw_add(s->gravity, gw_v3(-a, 0, 0));
    running_open(&still, s);
    begin_row(&moved);
    for (int i = 1; i <= 400; i++) {
        move_object(&moved, "ground", pushed_on(a, i * DT));
        const gw_snapshot *x = running_tick(&moved), *y = running_tick(&still);
        gw_pose p = body(x, &moved, "plate")->pose, q = body(y, &still, "plate")->pose;
        p.p.x -= pushed_on(a, (i - 1) * DT).p.x;
        off = fmax(off, gw_pose_distance(&p, &q, 0.1));
        worst = fmax(worst, fabs(energy_error(x)));
    }
    print_message("plate on threads: off by %.2g m, energy off by %.2g J\n", off, worst);
    assert_true(off <= 2e-7);
    assert_true(worst <= 1e-12);
    running_close(&moved);
    running_close(&still);
}

/* A bead on a rail that is carried sideways at V hits a ball of its mass m at rest, along n: the
 * rail bears what leads across it, so p (n_x^2 + 1) / m = 2 V n_y where nothing is lost. */
static void what_is_carried_hits_with_its_whole_speed(void **state)
{
    (void)state;
    running r;
    double worst = 0, speed = 0.2;
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    s->objects[0].shape.size = gw_v3(0.001, 0.001, 0.001);
    add_ball(s, "bead", gw_v3(0.1, 0, 0), 0.02);
    join(s, "on", GW_COINCIDENT, "bead", "center", "ground", "rail");
    add_ball(s, "ball", gw_v3(0.12, 0.08, 0), 0.02);
    touch_elastically(s);
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 1; i <= 400; i++) {
        move_object(&r, "ground", (gw_pose){{0, speed * i * DT, 0}, gw_quat_identity()});
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
    }
    gw_vec3 v = body(now, &r, "ball")->twist.v, n = gw_unit(v);
    gw_vec3 bead = body(now, &r, "bead")->twist.v;
    double left = gw_norm(v), closed = 2 * speed * n.y / (n.x * n.x + 1);
    print_message("carried against a ball: it leaves at %.12f of %.12f m/s, energy off by %.2g J\n",
                  left, closed, worst);
    assert_int_equal(now->contact.collisions, 1);
    assert_true(n.x > 0.3 && n.y > 0.3 && fabs(left - closed) <= 1e-9);
    assert_true(fabs(bead.x + v.x) <= 1e-9 && fabs(bead.y - speed) <= 1e-9);
    assert_true(worst <= 1e-12);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_door_hangs_along_apparent_weight),
        cmocka_unit_test(a_bead_is_thrown_out_along_a_turning_rod),
        cmocka_unit_test(threads_that_are_pulled_on_are_threads_under_leaning_weight),
        cmocka_unit_test(what_is_carried_hits_with_its_whole_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
