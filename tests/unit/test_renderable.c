/*
 * The stiffness and mass that can be rendered of those requested: the bounds against motions that
 * sample a spring, and a hand that acts late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "rt/haptics/renderable.h"

#define T 1e-3

/* Energy that a spring K with damping B, sampled every T and `delay` ticks late, gives to a hand
 * that goes to and fro at one speed, less what the friction b takes. */
static double energy_given(double K, double B, double b, int delay)
{
    enum { STEPS = 20, HALF = 4000 };
    const double v = 0.1;
    double force[16] = {0}, x = 0, energy = 0;
    for (int k = 0; k < 20 * HALF; k++) {
        double way = k / HALF % 2 ? -v : v;
        force[k % 16] = -K * (x - 0.5 * v * HALF * T) - B * way;
        for (int i = 0; i < STEPS && k >= 2 * HALF; i++)
            energy += (force[(k + 16 - delay) % 16] - b * way) * way * T / STEPS;
        x += way * T;
    }
    return energy;
}

static void a_spring_within_the_sampling_bound_gives_nothing(void **state)
{
    (void)state;
    for (int delay = 0; delay < 5; delay++)
        for (double B = 0; B < 2; B += 0.7) {
            double K = gw_sampling_bound(2, B, T, delay * T);
            assert_true(fabs((0.5 + delay) * T * K + B - 2) < 1e-12);
            /* damping that is sampled brakes here: what it may do at its worst is |B| */
            assert_true(energy_given(0.98 * K, -B, 2, delay) < 0);
            assert_true(energy_given(1.02 * K, -B, 2, delay) > 0);
        }
    assert_true(gw_sampling_bound(1, 1.5, T, 0) == 0);
}

/* A hand of stiffness K and damping ratio 0.7 holds a mass and acts tau late: does it come to rest?
 */
static bool calms_down(double mass, double K, double tau)
{
    enum { LATE = 100, STEPS = 60000 };
    double x[LATE] = {0}, v[LATE] = {0}, dt = tau / LATE, at = 1e-2, speed = 0, early = 0, late = 0;
    for (int k = 0; k < STEPS; k++) {
        double force = -K * x[k % LATE] - 1.4 * sqrt(K * mass) * v[k % LATE];
        x[k % LATE] = at;
        v[k % LATE] = speed;
        speed += dt * force / mass;
        at += dt * speed;
        if (k > STEPS / 4 && k < STEPS / 2)
            early = fmax(early, fabs(at));
        if (k > 3 * STEPS / 4)
            late = fmax(late, fabs(at));
    }
    return late < early;
}

static void the_smallest_mass_bears_a_hand_four_times_as_stiff(void **state)
{
    (void)state;
    for (double tau = 1e-3; tau < 1e-2; tau *= 3) {
        double m = gw_smallest_mass(500, tau);
        assert_true(calms_down(m, 500, tau));
        assert_true(calms_down(m, 3.5 * 500, tau));
        assert_false(calms_down(m, 4.5 * 500, tau));
    }
}

static gw_render_request asked(const gw_impedance_def *def)
{
    return (gw_render_request){
        .def = def,
        .device = {.mass = 1, .inertia = 0.01, .damping = 1, .force_max = 40},
        .mass = 2,
        .inertia = 0.02,
        .dt = T};
}

static void every_request_is_answered_with_its_reason(void **state)
{
    (void)state;
    gw_impedance_def def = gw_impedance_def_default();
    gw_render_request r = asked(&def);
    def.kind = GW_LAW_COUPLING;
    def.passivity = true;
    def.coupling = (gw_spring_damper){1500, 2, 0, 0};
    gw_rendered a = gw_renderable_values(&r);
    assert_true(a.stiffness.requested == 1500 && a.stiffness.applied == 1500);
    assert_true(fabs(a.stiffness.bound - 2000) < 1e-9 && a.stiffness.why == GW_RENDERED_AS_ASKED);
    assert_true(a.stiffness_angular.bound == 0 && a.stiffness_angular.why == GW_RENDERED_WATCHED);
    assert_true(fabs(a.reach - 40.0 / 1500) < 1e-12);
    assert_true(a.mass.applied == 3 && a.mass.why == GW_RENDERED_WITH_DEVICE);
    def.coupling.linear = 2500;
    assert_true(gw_renderable_values(&r).stiffness.why == GW_RENDERED_WATCHED);
    def.passivity = false;
    assert_true(gw_renderable_values(&r).stiffness.why == GW_RENDERED_BEYOND_BOUND);
    memset(&def.coupling, 0, sizeof def.coupling);
    a = gw_renderable_values(&r);
    gw_spring_damper bound = gw_virtual_coupling_bound(1, 0.01, 2, 0.02, T, 0);
    assert_true(a.stiffness.requested == 0 && a.stiffness.applied == bound.linear);
    def.kind = GW_LAW_PENALTY;
    a = gw_renderable_values(&r);
    assert_true(a.penalty.requested == def.penalty && a.penalty.applied == def.penalty);
    assert_true(a.mass.applied == 2 && a.mass.why == GW_RENDERED_AS_ASKED);
    gw_desired_def desired = {.stiffness = {100, 3000, 0, 0, 0, 0}};
    r.desired = &desired;
    a = gw_renderable_values(&r);
    assert_true(a.desired.requested == 3000 && a.desired.why == GW_RENDERED_BEYOND_BOUND);
    assert_true(a.desired_angular.requested == 0);
    r.mass = 0.4; /* less than half of the device's */
    assert_true(gw_renderable_values(&r).mass.why == GW_RENDERED_TOO_LIGHT);
}

static void an_admittance_device_answers_for_the_mass(void **state)
{
    (void)state;
    gw_render_request r = asked(NULL);
    gw_rendered a = gw_renderable_values(&r);
    assert_true(a.mass.requested == 2 && a.mass.applied == 2 && a.mass.why == GW_RENDERED_AS_ASKED);
    r.bandwidth = 40;
    r.mass = 0.01;
    a = gw_renderable_values(&r);
    assert_true(a.mass.why == GW_RENDERED_TOO_LIGHT && a.mass.bound > 0.05 && a.mass.bound < 0.1);
}

static void an_admittance_device_answers_for_the_stiffness(void **state)
{
    (void)state;
    gw_desired_def desired = {.stiffness = {100, 3e5, 0, 0, 0, 2}};
    gw_render_request r = asked(NULL);
    r.desired = &desired;
    gw_rendered a = gw_renderable_values(&r);
    assert_true(a.desired.requested == 3e5 && a.desired.applied == 3e5);
    assert_true(isinf(a.desired.bound) && a.desired.why == GW_RENDERED_AS_ASKED);
    assert_true(a.desired_angular.applied == 2 && a.stiffness.requested == 0);
    r.structure = 1e5; /* in series: 1/3e5 + 1/1e5 = 4/3e5 */
    r.structure_angular = 1000;
    a = gw_renderable_values(&r);
    assert_true(fabs(a.desired.applied - 0.75e5) < 1e-6 && a.desired.bound == 1e5);
    assert_true(a.desired.why == GW_RENDERED_SOFTER);
    assert_true(a.desired_angular.why == GW_RENDERED_AS_ASKED && a.desired_angular.applied < 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spring_within_the_sampling_bound_gives_nothing),
        cmocka_unit_test(the_smallest_mass_bears_a_hand_four_times_as_stiff),
        cmocka_unit_test(every_request_is_answered_with_its_reason),
        cmocka_unit_test(an_admittance_device_answers_for_the_mass),
        cmocka_unit_test(an_admittance_device_answers_for_the_stiffness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
