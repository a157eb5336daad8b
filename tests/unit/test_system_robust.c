/*
 * Systems of bodies where they are hard to step: singular postures of loops, and masses over four
 * decades in random trees and loops.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "rt/dynamics/system.h"
#include "tests/random_system.h"

#define G  9.81
#define DT 1e-3

static double kinetic_of(gw_system *s, double *potential)
{
    double kinetic;
    gw_model_energy(gw_system_model(s), &kinetic, potential);
    return kinetic;
}

static double total(gw_system *s)
{
    double potential, kinetic = kinetic_of(s, &potential);
    return kinetic + potential;
}

/* A uniform bar of 1 m and 1 kg. */
static gw_system_body_def bar(int parent, double x, double angle, double rate)
{
    double i = 1. / 12;
    return (gw_system_body_def){.mass = {1, {0.5, 0, 0}, {{{0, 0, 0}, {0, i, 0}, {0, 0, i}}}},
                                .parent = parent,
                                .joint = GW_MOBILIZER_REVOLUTE,
                                .parent_from_f = {{x, 0, 0}, {1, 0, 0, 0}},
                                .body_from_m = gw_pose_identity(),
                                .position = {angle},
                                .velocity = {rate}};
}

/* n + 1 parallel bars, joined by n level ones; all lie in a line where the angle is zero. */
static gw_system *parallelograms(int n, double angle)
{
    gw_system_body_def bodies[16];
    gw_closure_def closures[8];
    gw_pose tip = {{1, 0, 0}, {1, 0, 0, 0}};
    gw_error error = {0};
    for (int i = 0; i <= n; i++)
        bodies[i] = bar(GW_GROUND, i, angle, -1);
    for (int i = 0; i < n; i++) {
        bodies[n + 1 + i] = bar(i, 1, -angle, 1);
        closures[i] = (gw_closure_def){.a = n + 1 + i, .b = i + 1};
        closures[i].row_count =
            gw_mobilizer_rows(GW_MOBILIZER_REVOLUTE, &tip, &tip, closures[i].rows);
    }
    gw_system_def def = {.body_count = 2 * n + 1,
                         .closure_count = n,
                         .bodies = bodies,
                         .closures = closures,
                         .gravity = {0, -G, 0}};
    gw_system *s = gw_system_create(&def, &error);
    assert_non_null(s);
    return s;
}

/* theta'' = -c cos(theta) of them, by steps of a quarter. */
static void swing(double c, double state[2])
{
    double h = DT / 4;
    for (int k = 0; k < 4; k++) {
        double x = state[0], v = state[1];
        double a1 = -c * cos(x), v2 = v + h / 2 * a1;
        double a2 = -c * cos(x + h / 2 * v), v3 = v + h / 2 * a2;
        double a3 = -c * cos(x + h / 2 * v2), v4 = v + h * a3;
        double a4 = -c * cos(x + h * v3);
        state[0] += h / 6 * (v + 2 * v2 + 2 * v3 + v4);
        state[1] += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
    }
}

/* In line their freedoms jump from 1 to n + 1. Wherever a step meets that, exactly or by any
 * distance, the bars go on as they were. What keeps them parallel, as the outer ones bear less than
 * those between, is inverse to the angle, and none where the line is met. */
static void parallelograms_pass_the_line(void **state)
{
    (void)state;
    const double starts[] = {0, 1e-15, 1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3};
    double worst = 0, energy = 0, force = 0;
    for (int n = 1; n <= 5; n += 2)
        for (size_t k = 0; k < sizeof starts / sizeof *starts; k++) {
            gw_system *s = parallelograms(n, starts[k]);
            double before = total(s), exact[2] = {starts[k], -1}, q[6], u[6];
            double c = G * ((n + 1) / 2. + n) / ((n + 1) / 3. + n);
            for (int i = 0; i < 3000; i++) {
                gw_step step;
                gw_model_step(gw_system_model(s), NULL, DT, &step);
                assert_true(step.finite);
                double from = exact[0];
                swing(c, exact);
                for (int b = 0; b <= n; b++) {
                    gw_system_joint(s, b, q, u);
                    worst = fmax(worst, fabs(q[0] - exact[0]));
                    double f = gw_norm(gw_system_joint_wrench(s, b).f);
                    assert_true(fabs(sin(from)) * f < 1 + 500 * fabs(sin(from)));
                    force = fmax(force, f);
                }
                energy = fmax(energy, fabs(total(s) - before));
            }
            gw_system_destroy(s);
        }
    print_message("off %.1e rad, energy %.1e J, largest force %.0f N\n", worst, energy, force);
    assert_true(worst < 1e-6);
    assert_true(energy < 1e-6);
    assert_true(force < 1e6);
}

/* ---- postures that are rigid to second order ------------------------------------------------ */

/* A slider along z, held at (0.3, 0, 0) by a bar that lies in the plane normal to z. */
static gw_system *slider_on_a_normal_bar(void)
{
    gw_pose at = {{0.3, 0, 0}, {1, 0, 0, 0}}, tip = {{-0.3, -0.1, 0}, {1, 0, 0, 0}};
    gw_error error = {0};
    gw_system_body_def bodies[2] = {bar(GW_GROUND, 0, 0, 0), bar(GW_GROUND, 0.6, 0, 0)};
    bodies[0].joint = GW_MOBILIZER_PRISMATIC;
    bodies[1].joint = GW_MOBILIZER_SPHERICAL;
    bodies[1].parent_from_f.p.y = 0.1;
    bodies[1].mass =
        (gw_mass){0.3, {-0.15, -0.05, 0}, {{{2e-3, 0, 0}, {0, 2e-3, 0}, {0, 0, 3e-3}}}};
    gw_closure_def closure = {.a = 1, .b = 0};
    closure.row_count = gw_mobilizer_rows(GW_MOBILIZER_SPHERICAL, &at, &tip, closure.rows);
    gw_system_def def = {.body_count = 2,
                         .closure_count = 1,
                         .bodies = bodies,
                         .closures = &closure,
                         .gravity = {0, -3, -G}};
    gw_system *s = gw_system_create(&def, &error);
    assert_non_null(s);
    return s;
}

/* Two bars in line, the second folded back to a bearing. */
static gw_system *folded_bars(void)
{
    gw_pose end = {{0.4, 0, 0}, {1, 0, 0, 0}}, bearing = {{0.6, 0, 0}, {1, 0, 0, 0}};
    gw_error error = {0};
    gw_system_body_def bodies[2] = {bar(GW_GROUND, 0, 0, 0), bar(0, 1, GW_PI, 0)};
    gw_closure_def closure = {.a = 1, .b = GW_GROUND};
    closure.row_count = gw_mobilizer_rows(GW_MOBILIZER_REVOLUTE, &bearing, &end, closure.rows);
    gw_system_def def = {.body_count = 2,
                         .closure_count = 1,
                         .bodies = bodies,
                         .closures = &closure,
                         .gravity = {0, -G, 0}};
    gw_system *s = gw_system_create(&def, &error);
    assert_non_null(s);
    return s;
}

/* No wrench; counts the evaluations of the forces. */
static gw_wrench count_calls(const void *context, double t, const gw_pose *pose,
                             const gw_twist *twist)
{
    (void)t, (void)pose, (void)twist;
    ++**(int *const *)context;
    return (gw_wrench){{0, 0, 0}, {0, 0, 0}};
}

/* Weight pulls along the freedom that the velocities have. The mechanism stays where it is, the
 * steps' effort is bounded and soon an ordinary one, and what was lost is told. */
static void what_is_rigid_to_second_order_rests(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_system *s = k == 0 ? slider_on_a_normal_bar() : folded_bars();
        double start = total(s), lost = 0, q[6], u[6];
        int calls, *count = &calls, most = 0;
        gw_forces counting = {.at = count_calls, .context = &count};
        for (int i = 0; i < 2000; i++) {
            gw_step step;
            calls = 0;
            gw_model_step(gw_system_model(s), &counting, DT, &step);
            assert_true(step.finite);
            lost += step.dissipated;
            most = calls > most ? calls : most;
            assert_true(i < 20 || calls < 50);
            assert_true(step.dissipated >= 0 && step.energy_error < 1e-9);
            gw_system_joint(s, 0, q, u);
            assert_true(fabs(q[0]) < 1e-5);
            assert_true(i < 20 || fabs(u[0]) < 1e-9);
        }
        print_message("at %.1e, %d evaluations of a step at most, %.1e J lost\n", q[0], most, lost);
        assert_true(most < 400);
        assert_true(fabs(total(s) + lost - start) < 1e-12);
        gw_system_destroy(s);
    }
}

/* ---- random systems ------------------------------------------------------------------------- */

/* So many steps of each. No step fails or gives energy; what it could not account for is reported:
 * no more than `most` of a run's kinetic energy. */
static void run_random_systems(const random_traits *traits, int first, int count, int steps,
                               double most)
{
    int reports = 0, made = 0;
    double worst = 0;
    for (int seed = first; seed < first + count; seed++) {
        gw_system *s = random_system((unsigned long long)seed, traits);
        assert_non_null(s);
        double start = total(s), dissipated = 0, energy_error = 0, largest = 1e-9, potential;
        for (int i = 0; i < steps; i++, made++) {
            gw_step step;
            gw_model_step(gw_system_model(s), NULL, DT, &step);
            assert_true(step.finite);
            dissipated += step.dissipated;
            energy_error += step.energy_error;
            reports += step.energy_error > 0;
            largest = fmax(largest, kinetic_of(s, &potential));
            /* the energy balance closes, and all that is there comes from the start */
            assert_true(fabs(total(s) + dissipated - start) < 1e-7 * largest + energy_error);
            assert_true(total(s) < start + 1e-7 * largest + energy_error);
            assert_true(gw_system_residual(s) < 1e-11);
        }
        worst = fmax(worst, energy_error / largest);
        gw_system_destroy(s);
    }
    print_message(
        "%d of %d steps reported what they could not account for, at most %.1e of a run's "
        "kinetic energy\n",
        reports, made, worst);
    assert_true(worst < most);
}

static void random_systems_never_jump(void **state)
{
    (void)state;
    const random_traits smooth = {.bodies = 30, .loops = 3, .decades = 2};
    const random_traits stiff = {.bodies = 30, .loops = 3, .decades = 2, .stiff = true};
    run_random_systems(&smooth, 1, 8, 1000, 1e-9);
    run_random_systems(&stiff, 1, 8, 1000, 1e-8);
}

/* Friction holds and slides, limits are met, in postures where joints have a thousandth of the
 * inertia that they started with, and where loops lock them. */
static void random_systems_with_limits_and_friction_never_jump(void **state)
{
    (void)state;
    const random_traits bounded = {.bodies = 12, .loops = 2, .decades = 2, .bounded = true};
    const random_traits both = {
        .bodies = 12, .loops = 2, .decades = 2, .bounded = true, .stiff = true};
    run_random_systems(&bounded, 1, 8, 1000, 1e-5);
    run_random_systems(&both, 1, 8, 1000, 1e-5);
    /* limits that are met where a row is moved by next to nothing, and within implicit substeps */
    random_traits many = both;
    many.bodies = RANDOM_BODIES, many.loops = RANDOM_LOOPS;
    run_random_systems(&many, 263, 1, 600, 1e-8);
    run_random_systems(&many, 167, 1, 700, 1e-8);
}

/* Bristles begin to slip within implicit substeps of a sixteenth of a step. */
static void friction_slips_within_implicit_substeps(void **state)
{
    (void)state;
    const random_traits both = {.bodies = RANDOM_BODIES,
                                .loops = RANDOM_LOOPS,
                                .decades = 2,
                                .stiff = true,
                                .bounded = true};
    run_random_systems(&both, 219, 1, 1900, 1e-8);
    run_random_systems(&both, 551, 1, 1600, 1e-8);
    /* beside rows that depend on one another within 5e-6, for good */
    run_random_systems(&both, 439, 1, 1900, 1e-8);
}

/* Joints with friction and limits that come into postures with a thousandth of the inertia, where
 * bristles made for the start's are far too stiff for the step. */
static void friction_keeps_to_the_inertia_that_joints_have(void **state)
{
    (void)state;
    const random_traits bounded = {
        .bodies = RANDOM_BODIES, .loops = RANDOM_LOOPS, .decades = 2, .bounded = true};
    run_random_systems(&bounded, 202, 1, 1800, 1e-8);
}

/* A spring on a light body gets too stiff for explicit substeps only on the way, as joints come
 * into line: there the system must not stop for good. */
static void springs_may_become_stiff_on_the_way(void **state)
{
    (void)state;
    const random_traits stiff = {
        .bodies = RANDOM_BODIES, .loops = RANDOM_LOOPS, .decades = 2, .stiff = true};
    random_traits both = stiff;
    both.bounded = true;
    run_random_systems(&stiff, 681, 1, 7000, 1e-6);
    run_random_systems(&both, 599, 1, 10000, 1e-6);
}

/* Light links that spin by 200 rad/s beside stiff dampers: by order and not by width. */
static void what_spins_beside_stiff_joints_keeps_its_energy(void **state)
{
    (void)state;
    random_traits both = {.bodies = 30, .loops = 3, .decades = 2, .stiff = true, .bounded = true};
    run_random_systems(&both, 79, 1, 3200, 1e-4);
}

/* Light links that swing round within a sixteenth of a step, in a tree that has fallen 300 m. */
static void what_swings_round_at_once_keeps_its_energy(void **state)
{
    (void)state;
    const random_traits smooth = {.bodies = RANDOM_BODIES, .loops = RANDOM_LOOPS, .decades = 2};
    run_random_systems(&smooth, 64, 1, 7600, 1e-5);
}

/* Bars of 0.2 m on hinges, level at first: 1 kg, `count` light ones, 1 kg. */
static gw_system *bars_on_a_thread(int count, double light)
{
    gw_system_body_def bodies[8];
    gw_error error = {0};
    for (int i = 0; i < count + 2; i++) {
        double m = i == 0 || i > count ? 1 : light;
        bodies[i] = (gw_system_body_def){
            .mass = {m, {0.1, 0, 0}, {{{1e-4 * m, 0, 0}, {0, 3.5e-3 * m, 0}, {0, 0, 3.5e-3 * m}}}},
            .parent = i == 0 ? GW_GROUND : i - 1,
            .joint = GW_MOBILIZER_REVOLUTE,
            .parent_from_f = {{i == 0 ? 0 : 0.2, 0, 0}, {1, 0, 0, 0}},
            .body_from_m = gw_pose_identity()};
    }
    gw_system_def def = {.body_count = count + 2, .bodies = bodies, .gravity = {0, -G, 0}};
    gw_system *s = gw_system_create(&def, &error);
    assert_non_null(s);
    return s;
}

/* The thread hangs slack and snaps taut: within microseconds its links take up and give back all
 * the energy, again and again. */
static void a_thread_of_light_links_snaps_taut(void **state)
{
    (void)state;
    for (int count = 2; count <= 3; count++)
        for (double light = 1e-3; light > 5e-6; light /= 10) {
            gw_system *s = bars_on_a_thread(count, light);
            double begin = total(s), lost = 0, potential, most = 0;
            for (int k = 0; k < 3000; k++) {
                gw_step step;
                gw_model_step(gw_system_model(s), NULL, DT, &step);
                assert_true(step.finite);
                lost += step.dissipated;
                most = fmax(most, kinetic_of(s, &potential));
            }
            assert_true(most > 5);
            assert_true(fabs(total(s) + lost - begin) < 1e-8);
            assert_true(lost < 1e-5);
            gw_system_destroy(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parallelograms_pass_the_line),
        cmocka_unit_test(what_is_rigid_to_second_order_rests),
        cmocka_unit_test(random_systems_never_jump),
        cmocka_unit_test(random_systems_with_limits_and_friction_never_jump),
        cmocka_unit_test(friction_slips_within_implicit_substeps),
        cmocka_unit_test(friction_keeps_to_the_inertia_that_joints_have),
        cmocka_unit_test(springs_may_become_stiff_on_the_way),
        cmocka_unit_test(what_spins_beside_stiff_joints_keeps_its_energy),
        cmocka_unit_test(what_swings_round_at_once_keeps_its_energy),
        cmocka_unit_test(a_thread_of_light_links_snaps_taut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
