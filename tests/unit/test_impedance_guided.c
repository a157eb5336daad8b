/*
 * Control of impedance devices does not care what it holds: a guided body.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/held_play.h"
#include "tests/unit/scenario_fixture.h"

/* 2 kg that slide in z = 0 and turn about z, pushed by 1 N along x and 5 N into the plane for a
 * second; the device's way. */
static gw_vec3 pushed_on_a_plane(gw_control_law kind)
{
    static gw_guided body;
    gw_guided_def body_def = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    gw_impedance_def def = gw_impedance_def_default();
    const gw_named_value set[] = {{"inertia", 0.002}};
    held_play p;
    gw_pose start = {{0.1, 0, 0}, {1, 0, 0, 0}};
    def.kind = kind;
    def.coupling = (gw_spring_damper){500, 0.5, 40, 0.02};
    gw_guided_init(&body, &body_def, &start);
    assert_true(held_open(&p, &body.model, "ideal", set, 1, 1000, &def));
    held_place(&p, (gw_twist){{0, 0, 0}, {0, 0, 0}});
    gw_pose from = held_truth(&p);
    p.push.f = gw_v3(1, 0, -5);
    for (int t = 0; t < 1000; t++)
        held_tick(&p);
    gw_pose to = held_truth(&p);
    held_close(&p);
    return gw_sub(to.p, from.p);
}

static void a_guided_body_is_felt_as_a_mass_on_its_plane(void **state)
{
    (void)state;
    gw_vec3 penalty = pushed_on_a_plane(GW_LAW_PENALTY);
    gw_vec3 coupling = pushed_on_a_plane(GW_LAW_COUPLING);
    assert_true(fabs(penalty.x - 0.25) < 2e-3); /* F t^2 / 2m */
    assert_true(fabs(penalty.z) < 1e-9 && fabs(penalty.y) < 1e-9);
    assert_true(coupling.z < -0.009); /* F/k */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guided_body_is_felt_as_a_mass_on_its_plane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
