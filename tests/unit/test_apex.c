/*
 * Bodies beside places where a surface has no tangent plane: nothing there makes energy.
 */
#include "rt/geometry/nurbs.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/rolling.h"

/* A body with a pendulum, one point of it kept off a cone, starts over the apex or beside it and
 * goes over: there its distance is that from the apex. */
static void an_offset_over_an_apex_throws_nothing(void **state)
{
    (void)state;
    gw_nurbs *cone = gw_nurbs_cone(0.1, 0.2, NULL);
    int made = 0;
    double most = 0, energy_error = 0;
    for (unsigned trial = 0; trial < 60; trial++) {
        srand(1000 + trial);
        double off = trial % 2 ? 0.03 : 0.003, near = trial % 4 < 2 ? 1e-3 : 2e-2;
        gw_system_body_def bodies[2] = {
            joined(GW_MOBILIZER_FREE, diagonal(1, 0.02, 0.03, 0.01)),
            joined(GW_MOBILIZER_SPHERICAL, diagonal(0.3, 0.002, 0.003, 0.001))};
        bodies[1].parent = 0;
        bodies[1].body_from_m.p = gw_v3(0, 0, -0.1);
        for (int i = 0; i < 6; i++) {
            double x = noise();
            bodies[0].position[i] = i < 2 ? near * x : i == 2 ? 0.2 + off + 0.3 * near * x : 0;
            bodies[0].velocity[i] = i < 3 ? 0.3 * noise() : noise();
        }
        gw_closure_def c = {.a = 0, .b = GW_GROUND, .row_count = 1};
        c.rows[0] = (gw_row){.kind = GW_ROW_SURFACE,
                             .q = {1, 0, 0, 0},
                             .nurbs = cone,
                             .value = off,
                             .past_edges = true};
        gw_system_def def = {.body_count = 2,
                             .closure_count = 1,
                             .bodies = bodies,
                             .closures = &c,
                             .gravity = gw_v3(0, 0, -G)};
        gw_system *s = gw_system_create(&def, NULL);
        if (!s)
            continue;
        made++;
        double first = total(s), dissipated = 0, sum = 0;
        for (int t = 0; t < 150; t++) {
            gw_step step;
            gw_model_step(gw_system_model(s), NULL, DT, &step);
            assert_true(step.finite);
            dissipated += step.dissipated, sum += step.energy_error;
            most = fmax(most, total(s) - first);
            assert_true(total(s) < first + 1e-6);
            assert_true(fabs(total(s) + dissipated - first) < 1e-6 + sum);
        }
        energy_error = fmax(energy_error, sum / first);
        gw_system_destroy(s);
    }
    print_message(
        "%d went over the apex: %.1e J gained at most, %.1e of the energy unaccounted for\n", made,
        most, energy_error);
    assert_true(made > 40);
    assert_true(energy_error < 0.02);
    gw_nurbs_put(cone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_offset_over_an_apex_throws_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
