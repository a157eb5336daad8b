/*
 * The simulated impedance device: settings, motion, friction, sensors, delay, limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "drivers/driver.h"

#define SIM (*gw_driver_find("sim-impedance"))

static gw_driver_device *opened(const char *profile, const gw_named_value *values, int count)
{
    char why[160] = "";
    gw_driver_device *d = SIM.open(profile, values, count, 1000, why, sizeof why);
    if (!d)
        print_message("%s\n", why);
    return d;
}

static const double none[3] = {0, 0, 0};

static void run(gw_driver_device *d, gw_device_command c, int ticks)
{
    c.engaged = true;
    for (int i = 0; i < ticks; i++)
        SIM.write(d, &c);
}

static gw_device_sample sample(gw_driver_device *d)
{
    gw_device_sample s;
    SIM.read(d, &s);
    return s;
}

static void the_driver_is_found_and_its_info_is_complete(void **state)
{
    (void)state;
    gw_driver_device *d = opened("planar-haptic-interface", NULL, 0);
    const gw_device_info *info = SIM.info(d);
    assert_int_equal(info->class, GW_DEVICE_IMPEDANCE);
    assert_true(info->mass == 1 && info->inertia == 0.01 && info->planar && info->measures_wrench);
    assert_true(info->damping == 1 && info->damping_angular == 5e-3 && info->delay == 1e-3);
    assert_true(info->force_max == 40 && info->velocity_delay == 4e-3);
    SIM.close(d);
    d = opened("", &(gw_named_value){"force_sensor", 0}, 1);
    assert_false(SIM.info(d)->measures_wrench);
    SIM.close(d);
}

static void bad_settings_are_refused_in_words(void **state)
{
    (void)state;
    assert_null(opened("no-such-profile", NULL, 0));
    assert_null(opened("", &(gw_named_value){"colour", 1}, 1));
    assert_null(opened("", &(gw_named_value){"mass", 0}, 1));
    assert_null(opened("", &(gw_named_value){"delay", 9}, 1));
    assert_null(opened("", &(gw_named_value){"inertia", NAN}, 1));
}

/* x = f t^2 / 2m, angle = tau t^2 / 2I */
static void hand_and_motors_push_a_mass(void **state)
{
    (void)state;
    const gw_named_value set[] = {{"mass", 2}, {"inertia", 0.5}};
    gw_driver_device *d = opened("", set, 2);
    SIM.exert(d, (double[]){1, 0, -1}, (double[]){0, 0.2, 0});
    run(d, (gw_device_command){.f = {1, 2, 0}, .t = {0, 0.2, 0}}, 500);
    gw_device_sample s = sample(d);
    assert_true(fabs(s.p[0] - 0.125) < 1e-13 && fabs(s.p[1] - 0.125) < 1e-13);
    assert_true(fabs(s.p[2] + 0.0625) < 1e-13 && fabs(s.v[0] - 0.5) < 1e-13);
    assert_true(fabs(2 * asin(s.q[2]) - 0.1) < 1e-13 && fabs(s.w[1] - 0.4) < 1e-13);
    assert_true(s.f[0] == 1 && s.t[1] == 0.2);
    SIM.close(d);
}

/* m v' = f - c v: v = f/c (1 - exp(-c t/m)), whatever the tick. */
static void viscous_friction_is_exact(void **state)
{
    (void)state;
    const gw_named_value set[] = {{"mass", 0.5}, {"viscous", 3}, {"viscous_angular", 2e-5}};
    gw_driver_device *d = opened("", set, 3);
    SIM.exert(d, (double[]){1, 0, 0}, (double[]){0, 0, 1});
    run(d, (gw_device_command){.engaged = true}, 300);
    gw_device_sample s = sample(d);
    double decay = exp(-3 * 0.3 / 0.5);
    assert_true(fabs(s.v[0] - (1 - decay) / 3) < 1e-14);
    assert_true(fabs(s.p[0] - (0.3 - 0.5 / 3 * (1 - decay)) / 3) < 1e-14);
    decay = -expm1(-2e-5 * 0.3);
    assert_true(fabs(s.w[2] - decay / 2e-5) < 1e-10);
    SIM.close(d);
}

/* Slides v^2/(2 mu) m and stops for good; below the threshold nothing moves. */
static void coulomb_friction_stops_and_holds(void **state)
{
    (void)state;
    const gw_named_value set[] = {{"mass", 2}, {"coulomb", 0.5}};
    gw_driver_device *d = opened("", set, 2);
    SIM.exert(d, (double[]){0.3, 0.39, 0}, none);
    run(d, (gw_device_command){.engaged = true}, 100);
    assert_true(sample(d).p[0] == 0 && sample(d).v[1] == 0);
    SIM.exert(d, (double[]){4.5, 0, 0}, none);
    run(d, (gw_device_command){.engaged = true}, 100); /* a = 2: v = 0.2, x = 0.01 */
    assert_true(fabs(sample(d).v[0] - 0.2) < 1e-13);
    SIM.exert(d, none, none);
    run(d, (gw_device_command){.engaged = true}, 2000); /* 0.04 m^2/s^2 / (2 * 0.25) = 0.08 */
    assert_true(sample(d).v[0] == 0 && fabs(sample(d).p[0] - 0.09) < 1e-12);
    SIM.close(d);
}

static void a_planar_device_stays_in_its_plane(void **state)
{
    (void)state;
    gw_driver_device *d = opened("", &(gw_named_value){"planar", 1}, 1);
    SIM.exert(d, (double[]){0, 0, 5}, (double[]){1, 1, 0});
    run(d, (gw_device_command){.f = {1, 0, 9}, .t = {3, 0, 1}}, 100);
    gw_device_sample s = sample(d);
    assert_true(s.p[2] == 0 && s.q[1] == 0 && s.q[2] == 0 && s.p[0] > 0 && s.q[3] > 0);
    SIM.close(d);
}

static void commands_come_late_by_the_delay(void **state)
{
    (void)state;
    for (int delay = 0; delay <= 8; delay++) {
        gw_driver_device *d = opened("", &(gw_named_value){"delay", delay}, 1);
        for (int i = 0; i < delay; i++) {
            run(d, (gw_device_command){.f = {i + 1, 0, 0}}, 1);
            assert_true(sample(d).v[0] == 0);
        }
        run(d, (gw_device_command){.f = {99, 0, 0}}, 1);
        assert_true(fabs(sample(d).v[0] - (delay > 0 ? 1e-3 : 99e-3)) < 1e-15);
        SIM.close(d);
    }
}

static void motors_have_limits_and_disengage_at_once(void **state)
{
    (void)state;
    const gw_named_value set[] = {{"force_max", 5}, {"torque_max", 1}, {"delay", 3}};
    gw_driver_device *d = opened("", set, 3);
    run(d, (gw_device_command){.f = {30, 40, 0}, .t = {0, 0, 10}}, 103);
    gw_device_sample s = sample(d);
    assert_true(fabs(s.v[0] - 0.3) < 1e-13 && fabs(s.v[1] - 0.4) < 1e-13);
    assert_true(fabs(s.w[2] - 0.1) < 1e-13);
    gw_device_command off = {.f = {30, 0, 0}, .engaged = false};
    SIM.write(d, &off);
    assert_true(fabs(sample(d).v[0] - s.v[0]) < 1e-15);
    SIM.close(d);
}

static void the_workspace_ends(void **state)
{
    (void)state;
    gw_driver_device *d = opened("", &(gw_named_value){"workspace_radius", 0.05}, 1);
    run(d, (gw_device_command){.f = {10, 0, 0}}, 1000);
    gw_device_sample s = sample(d);
    assert_true(fabs(s.p[0] - 0.05) < 1e-15 && fabs(s.v[0]) < 0.011);
    SIM.close(d);
}

static void velocity_is_differenced_from_measured_positions(void **state)
{
    (void)state;
    const gw_named_value set[] = {
        {"quantum", 1e-4}, {"quantum_angular", 1e-3}, {"velocity_window", 10}};
    gw_driver_device *d = opened("", set, 3);
    run(d, (gw_device_command){.f = {100, 0, 0}, .t = {0, 0, 100}}, 1); /* 0.1 m/s, 0.1 rad/s */
    for (int i = 0; i < 40; i++) {
        gw_device_sample s = sample(d);
        assert_true(fabs(s.p[0] / 1e-4 - nearbyint(s.p[0] / 1e-4)) < 1e-9);
        if (i > 10) { /* a quantum in ten ticks either way */
            assert_true(fabs(s.v[0] - 0.1) <= 0.0101);
            assert_true(fabs(s.w[2] - 0.1) <= 0.101);
        }
        run(d, (gw_device_command){.engaged = true}, 1);
    }
    SIM.close(d);
}

static void two_runs_give_the_same_bits(void **state)
{
    (void)state;
    gw_driver_device *d = opened("planar-haptic-interface", NULL, 0);
    gw_device_sample first[50];
    for (int round = 0; round < 2; round++) {
        SIM.place(d, (double[]){0.01, 0.02, 0}, (double[]){1, 0, 0, 0});
        SIM.exert(d, (double[]){1, 2, 0}, (double[]){0, 0, 0.01});
        for (int i = 0; i < 50; i++) {
            gw_device_sample s;
            memset(&s, 0, sizeof s);
            SIM.read(d, &s);
            if (round == 0)
                first[i] = s;
            else
                assert_memory_equal(s.f, first[i].f, sizeof s.f);
            assert_memory_equal(s.p, first[i].p, sizeof s.p);
            assert_memory_equal(s.v, first[i].v, sizeof s.v);
            run(d, (gw_device_command){.f = {-s.v[0], 0, 0}}, 1);
        }
    }
    SIM.close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_driver_is_found_and_its_info_is_complete),
        cmocka_unit_test(bad_settings_are_refused_in_words),
        cmocka_unit_test(hand_and_motors_push_a_mass),
        cmocka_unit_test(viscous_friction_is_exact),
        cmocka_unit_test(coulomb_friction_stops_and_holds),
        cmocka_unit_test(a_planar_device_stays_in_its_plane),
        cmocka_unit_test(commands_come_late_by_the_delay),
        cmocka_unit_test(motors_have_limits_and_disengage_at_once),
        cmocka_unit_test(the_workspace_ends),
        cmocka_unit_test(velocity_is_differenced_from_measured_positions),
        cmocka_unit_test(two_runs_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
