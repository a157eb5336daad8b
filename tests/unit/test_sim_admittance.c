/*
 * The simulated device: settings, servo, sensors, structure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "drivers/driver.h"

#define SIM (*gw_driver_find("sim"))

static gw_driver_device *opened(const char *profile, const gw_named_value *values, int count)
{
    char why[128] = "";
    gw_driver_device *d = SIM.open(profile, values, count, 1000, why, sizeof why);
    if (!d)
        print_message("%s\n", why);
    return d;
}

static void drivers_are_found_by_name(void **state)
{
    (void)state;
    assert_string_equal(gw_driver_find("sim")->name, "sim");
    assert_null(gw_driver_find("no-such-driver"));
}

static void bad_settings_are_refused_in_words(void **state)
{
    (void)state;
    assert_null(opened("no-such-profile", NULL, 0));
    assert_null(opened("", &(gw_named_value){"colour", 1}, 1));
    assert_null(opened("", &(gw_named_value){"bandwidth", -1}, 1));
    assert_null(opened("", &(gw_named_value){"bandwidth", NAN}, 1));
}

static void the_ideal_device_follows_and_measures_exactly(void **state)
{
    (void)state;
    gw_driver_device *d = opened("", NULL, 0);
    gw_device_command c = {.v = {0.1, 0, -0.2}, .w = {0, 0, 1}, .engaged = true};
    gw_device_sample s;
    double f[3] = {1.23456789, 0, -3}, t[3] = {0.1, 0, 0};
    SIM.exert(d, f, t);
    for (int i = 0; i < 1000; i++)
        SIM.write(d, &c);
    SIM.read(d, &s);
    assert_true(fabs(s.p[0] - 0.1) < 1e-14 && fabs(s.p[2] + 0.2) < 1e-14);
    assert_true(fabs(s.q[3] - sin(0.5)) < 1e-13 && s.v[0] == 0.1);
    assert_memory_equal(s.f, f, sizeof f);
    SIM.close(d);
}

static void the_servo_follows_with_its_bandwidth(void **state)
{
    (void)state;
    gw_driver_device *d = opened("", &(gw_named_value){"bandwidth", 40}, 1);
    gw_device_command c = {.v = {1, 0, 0}, .engaged = true};
    gw_device_sample s;
    double tau = 1 / (2 * 3.14159265358979 * 40);
    for (int i = 0; i < 10; i++)
        SIM.write(d, &c);
    SIM.read(d, &s);
    assert_true(fabs(s.v[0] - (1 - exp(-0.01 / tau))) < 1e-12);
    assert_true(fabs(s.p[0] - (0.01 - tau * (1 - exp(-0.01 / tau)))) < 1e-12);
    SIM.close(d);
}

static void load_bends_the_structure_and_makes_it_creep(void **state)
{
    (void)state;
    gw_named_value values[2] = {{"stiffness", 1e5}, {"creep", 1e-4}};
    gw_driver_device *d = opened("", values, 2);
    gw_device_command c = {.engaged = true};
    gw_device_sample s;
    gw_device_truth truth;
    double f[3] = {20, 0, 0}, t[3] = {0, 0, 0};
    SIM.exert(d, f, t);
    for (int i = 0; i < 500; i++)
        SIM.write(d, &c);
    SIM.read(d, &s);
    SIM.truth(d, &truth);
    assert_true(fabs(s.p[0] - 20 * 1e-4 * 0.5) < 1e-12);
    assert_true(fabs(truth.p[0] - s.p[0] - 20 / 1e5) < 1e-12);
    SIM.close(d);
}

static void a_disengaged_device_stops(void **state)
{
    (void)state;
    gw_driver_device *d = opened("cobotic-hand-controller", NULL, 0);
    gw_device_command c = {.v = {0.1, 0, 0}, .engaged = true};
    gw_device_sample a, b;
    double f[3] = {0, 20, 0}, t[3] = {0, 0, 0};
    for (int i = 0; i < 100; i++)
        SIM.write(d, &c);
    c.engaged = false;
    SIM.exert(d, f, t);
    SIM.write(d, &c);
    SIM.read(d, &a);
    for (int i = 0; i < 100; i++)
        SIM.write(d, &c);
    SIM.read(d, &b);
    assert_memory_equal(a.p, b.p, sizeof a.p);
    SIM.close(d);
}

static void sensors_have_their_quantum_and_the_same_noise_each_time(void **state)
{
    (void)state;
    gw_device_sample s[2];
    for (int i = 0; i < 2; i++) {
        gw_driver_device *d = opened("cobotic-hand-controller", NULL, 0);
        gw_device_command c = {.v = {0.0123456, 0, 0}, .engaged = true};
        double f[3] = {3.33333, 0, 0}, t[3] = {0, 0, 0};
        SIM.exert(d, f, t);
        for (int k = 0; k < 50; k++) {
            SIM.write(d, &c);
            SIM.read(d, &s[i]);
        }
        double quantum = SIM.info(d)->quantum;
        assert_true(fabs(remainder(s[i].p[0], quantum)) < 1e-15);
        assert_true(fabs(s[i].f[0] - 3.33333) < 0.03);
        SIM.close(d);
    }
    assert_memory_equal(s[0].f, s[1].f, sizeof s[0].f);
}

static void it_stays_within_its_workspace(void **state)
{
    (void)state;
    gw_driver_device *d = opened("cobotic-hand-controller", NULL, 0);
    gw_device_command c = {.v = {1, 1, 0}, .engaged = true};
    gw_device_truth truth;
    for (int i = 0; i < 1000; i++)
        SIM.write(d, &c);
    SIM.truth(d, &truth);
    assert_true(hypot(truth.p[0], truth.p[1]) < 0.08 + 1e-12);
    SIM.close(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drivers_are_found_by_name),
        cmocka_unit_test(bad_settings_are_refused_in_words),
        cmocka_unit_test(the_ideal_device_follows_and_measures_exactly),
        cmocka_unit_test(the_servo_follows_with_its_bandwidth),
        cmocka_unit_test(load_bends_the_structure_and_makes_it_creep),
        cmocka_unit_test(a_disengaged_device_stops),
        cmocka_unit_test(sensors_have_their_quantum_and_the_same_noise_each_time),
        cmocka_unit_test(it_stays_within_its_workspace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
