/*
 * Systems of bodies against published references and closed forms.
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

#define G 9.81

static const gw_mat3 no_inertia = {{{0}}};

static gw_pose at(double x, double y, double z)
{
    return (gw_pose){{x, y, z}, {1, 0, 0, 0}};
}

static gw_mass rod_mass(double length, double mass)
{
    double i = mass * length * length / 12;
    return (gw_mass){mass, {length / 2, 0, 0}, {{{0, 0, 0}, {0, i, 0}, {0, 0, i}}}};
}

static void run(gw_system *s, double seconds, double dt)
{
    gw_step step;
    int n = (int)lround(seconds / dt);
    for (int i = 0; i < n; i++) {
        gw_model_step(gw_system_model(s), NULL, dt, &step);
        assert_true(step.finite);
    }
}

static gw_vec3 point_of(gw_system *s, int body, gw_vec3 p)
{
    gw_pose pose;
    gw_twist twist;
    gw_model_body(gw_system_model(s), body, &pose, &twist);
    return gw_pose_point(&pose, p);
}

static double total(gw_system *s)
{
    double kinetic, potential;
    gw_model_energy(gw_system_model(s), &kinetic, &potential);
    return kinetic + potential;
}

/* The IFToMM benchmark A02: 2 N + 1 bars of 1 m and 1 kg, theta'' in closed form. */
static gw_system *n_four_bar(int n)
{
    int bars = 2 * n + 1;
    gw_system_body_def *bodies = calloc((size_t)bars, sizeof *bodies);
    gw_closure_def *closures = calloc((size_t)n, sizeof *closures);
    gw_error error = {0};
    /* bars 0 .. n stand on the ground at (i, 0); bar n + 1 + i lies from the tip of bar i to that
     * of bar i + 1 */
    for (int i = 0; i <= n; i++) {
        bodies[i] = (gw_system_body_def){.mass = rod_mass(1, 1),
                                         .parent = GW_GROUND,
                                         .joint = GW_MOBILIZER_REVOLUTE,
                                         .parent_from_f = at(i, 0, 0),
                                         .body_from_m = gw_pose_identity(),
                                         .position = {GW_PI / 2},
                                         .velocity = {-1}};
    }
    for (int i = 0; i < n; i++) {
        bodies[n + 1 + i] = (gw_system_body_def){.mass = rod_mass(1, 1),
                                                 .parent = i,
                                                 .joint = GW_MOBILIZER_REVOLUTE,
                                                 .parent_from_f = at(1, 0, 0),
                                                 .body_from_m = gw_pose_identity(),
                                                 .position = {-GW_PI / 2},
                                                 .velocity = {1}};
        /* a hinge in space: three rows of a point, two of an axis */
        gw_closure_def *c = &closures[i];
        *c = (gw_closure_def){.a = n + 1 + i, .b = i + 1, .row_count = 5};
        gw_vec3 tip = {1, 0, 0};
        c->rows[0] = (gw_row){.kind = GW_ROW_PLANE, .m = tip, .f = tip, .n = {1, 0, 0}, .value = 0};
        c->rows[1] = (gw_row){.kind = GW_ROW_PLANE, .m = tip, .f = tip, .n = {0, 1, 0}, .value = 0};
        c->rows[2] = (gw_row){.kind = GW_ROW_PLANE, .m = tip, .f = tip, .n = {0, 0, 1}, .value = 0};
        c->rows[3] = (gw_row){
            .kind = GW_ROW_ANGLE, .m = {0, 0, 1}, .f = {0, 0, 0}, .n = {1, 0, 0}, .value = 0};
        c->rows[4] = (gw_row){
            .kind = GW_ROW_ANGLE, .m = {0, 0, 1}, .f = {0, 0, 0}, .n = {0, 1, 0}, .value = 0};
    }
    gw_system_def def = {.body_count = bars,
                         .closure_count = n,
                         .bodies = bodies,
                         .closures = closures,
                         .gravity = {0, -G, 0}};
    gw_system *s = gw_system_create(&def, &error);
    if (!s)
        print_message("%s\n", error.message);
    free(bodies);
    free(closures);
    return s;
}

static void the_n_four_bar_moves_as_published(void **state)
{
    (void)state;
    static const struct {
        double t, x, y;
    } told[] = {{1, -0.19502030194944, -0.98079920566217},
                {5, -0.81131046100513, -0.58461554534895},
                {10, 0.32845811154084, 0.94451853817859}};
    gw_system *s = n_four_bar(2);
    assert_non_null(s);
    assert_int_equal(gw_system_mobility(s), 1);
    double before = total(s), now = 0;
    for (size_t i = 0; i < 3; i++) {
        run(s, told[i].t - now, 1e-3);
        now = told[i].t;
        gw_vec3 b0 = point_of(s, 0, gw_v3(1, 0, 0));
        print_message("t %g: off %.2e %.2e, energy %.2e, residual %.2e\n", now, b0.x - told[i].x,
                      b0.y - told[i].y, total(s) - before, gw_system_residual(s));
        assert_true(hypot(b0.x - told[i].x, b0.y - told[i].y) < 1e-7);
        assert_true(fabs(total(s) - before) < 1e-6);
        assert_true(gw_system_residual(s) < 1e-12);
    }
    gw_system_destroy(s);
}

/* Two point masses on massless bars of 1 m, from horizontal. */
static void a_double_pendulum_swings_as_integrated_in_long_double(void **state)
{
    (void)state;
    gw_system_body_def bodies[2];
    gw_error error = {0};
    for (int i = 0; i < 2; i++)
        bodies[i] = (gw_system_body_def){.mass = {1, {1, 0, 0}, no_inertia},
                                         .parent = i - 1,
                                         .joint = GW_MOBILIZER_REVOLUTE,
                                         .parent_from_f = at(i, 0, 0),
                                         .body_from_m = gw_pose_identity()};
    gw_system_def def = {.body_count = 2, .bodies = bodies, .gravity = {0, -G, 0}};
    gw_system *s = gw_system_create(&def, &error);
    run(s, 2, 2.5e-4);
    double q[6], u[6], first, second;
    gw_system_joint(s, 0, q, u);
    first = remainder(q[0] + GW_PI / 2, 2 * GW_PI);
    gw_system_joint(s, 1, q, u);
    second = remainder(first + q[0], 2 * GW_PI);
    print_message("off %.2e %.2e\n", first + 0.4829715342518, second + 1.3240487123024);
    assert_true(fabs(first + 0.4829715342518) < 1e-9);
    assert_true(fabs(second + 1.3240487123024) < 1e-9);
    gw_system_destroy(s);
}

/* Bruls, Cardona and Arnold's heavy top. */
static void the_heavy_top_precesses_as_published(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_system_body_def top = {
        .mass = {15, {0, 1, 0}, {{{0.234375, 0, 0}, {0, 0.46875, 0}, {0, 0, 0.234375}}}},
        .parent = GW_GROUND,
        .joint = GW_MOBILIZER_SPHERICAL,
        .parent_from_f = gw_pose_identity(),
        .body_from_m = gw_pose_identity(),
        .velocity = {0, 150, -4.61538}};
    gw_system_def def = {.body_count = 1, .bodies = &top, .gravity = {0, 0, -G}};
    double steps[] = {1e-3, 5e-4, 2.5e-4, 1.25e-4};
    for (int i = 0; i < 4; i++) {
        gw_system *s = gw_system_create(&def, &error);
        run(s, 1, steps[i]);
        gw_vec3 x = point_of(s, 0, gw_v3(0, 1, 0));
        gw_vec3 published = gw_v3(0.173343964098, 0.640088592071, -0.748490791134);
        print_message("steps of %g s: off %.1e m\n", steps[i], gw_distance(x, published));
        assert_true(gw_distance(x, published) < 1e-11);
        gw_system_destroy(s);
    }
}

static void a_nut_falls_on_its_screw_as_pitch_and_inertia_say(void **state)
{
    (void)state;
    gw_error error = {0};
    double p = 0.02, m = 0.3, i = 2e-4;
    gw_system_body_def nut = {.mass = {m, {0, 0, 0}, {{{i, 0, 0}, {0, i, 0}, {0, 0, i}}}},
                              .parent = GW_GROUND,
                              .joint = GW_MOBILIZER_SCREW,
                              .parent_from_f = gw_pose_identity(),
                              .body_from_m = gw_pose_identity(),
                              .pitch = p};
    gw_system_def def = {.body_count = 1, .bodies = &nut, .gravity = {0, 0, -G}};
    gw_system *s = gw_system_create(&def, &error);
    run(s, 1, 1e-3);
    double z = point_of(s, 0, gw_v3(0, 0, 0)).z, a = G * m / (m + i / (p * p));
    assert_true(fabs(z + 0.5 * a) < 1e-12);
    gw_system_destroy(s);
}

/* Two shafts bent by `bend`, joined by a universal joint: tan(out) = tan(in) cos(bend). */
static void a_universal_joint_turns_as_hooke_says(void **state)
{
    (void)state;
    gw_error error = {0};
    double bend = 0.4, i = 1e-3;
    gw_mass m = {1, {0, 0, 0}, {{{i, 0, 0}, {0, i, 0}, {0, 0, i}}}};
    gw_system_body_def bodies[2] = {{.mass = m,
                                     .parent = GW_GROUND,
                                     .joint = GW_MOBILIZER_REVOLUTE,
                                     .parent_from_f = gw_pose_identity(),
                                     .body_from_m = gw_pose_identity(),
                                     .velocity = {3}},
                                    {.mass = m,
                                     .parent = 0,
                                     .joint = GW_MOBILIZER_UNIVERSAL,
                                     .parent_from_f = gw_pose_identity(),
                                     .body_from_m = gw_pose_identity(),
                                     .position = {0, bend}}};
    /* the second shaft's axis (its z) turns in a bearing: along the bent axis of the world */
    gw_vec3 axis = gw_rotate(gw_quat_axis(gw_v3(1, 0, 0), bend), gw_v3(0, 0, 1));
    gw_vec3 across = gw_v3(1, 0, 0), other = gw_cross(axis, across);
    gw_closure_def bearing = {.a = 1, .b = GW_GROUND, .row_count = 2};
    bearing.rows[0] =
        (gw_row){.kind = GW_ROW_ANGLE, .m = {0, 0, 1}, .f = {0, 0, 0}, .n = across, .value = 0};
    bearing.rows[1] =
        (gw_row){.kind = GW_ROW_ANGLE, .m = {0, 0, 1}, .f = {0, 0, 0}, .n = other, .value = 0};
    gw_system_def def = {
        .body_count = 2, .closure_count = 1, .bodies = bodies, .closures = &bearing};
    gw_system *s = gw_system_create(&def, &error);
    assert_non_null(s);
    assert_int_equal(gw_system_mobility(s), 1);
    for (int k = 0; k < 20; k++) {
        run(s, 0.05, 1e-3);
        double q[6], u[6];
        gw_pose pose;
        gw_twist twist;
        gw_system_joint(s, 0, q, u);
        gw_model_body(gw_system_model(s), 1, &pose, &twist);
        gw_vec3 x = gw_rotate(pose.q, gw_v3(1, 0, 0));
        double out = atan2(gw_dot(x, other), gw_dot(x, across));
        /* the cross: the driven yoke's x stays perpendicular to the driving yoke's y */
        gw_vec3 y = {-sin(q[0]), cos(q[0]), 0};
        assert_true(fabs(gw_dot(x, y)) < 1e-12);
        double expected = atan2(sin(q[0]), cos(q[0]) * cos(bend));
        (void)expected;
        assert_true(fabs(tan(q[0]) - tan(out) * cos(bend)) < 1e-9 * (1 + tan(out) * tan(out)) ||
                    fabs(tan(out) - tan(q[0]) * cos(bend)) < 1e-9 * (1 + tan(out) * tan(out)));
    }
    gw_system_destroy(s);
}

/* Random trees of all joint types, branches, either side as the parent. */
static void random_trees_keep_their_energy(void **state)
{
    (void)state;
    const random_traits light = {.bodies = 12, .decades = 0.5};
    for (unsigned long long seed = 1; seed <= 80; seed++) {
        gw_system *s = random_system(seed, &light);
        double before = total(s), kinetic, potential;
        run(s, 1, 1e-3);
        gw_model_energy(gw_system_model(s), &kinetic, &potential);
        if (fabs(total(s) - before) > 1e-8 * (1 + kinetic))
            print_message("seed %llu: %.3e of %.3e\n", seed, total(s) - before, kinetic);
        assert_true(fabs(total(s) - before) < 1e-7 * (1 + kinetic));
        gw_system_destroy(s);
    }
}

/* Trees of joints that turn about one direction or slide across it, each with a body in space at
 * its end, joined by a loop, a spring and a damper. With `screws` turning joints are screws without
 * pitch, which do the same and are not taken for joints in a plane. */
static gw_system *tree_in_plane(unsigned long long seed, bool screws)
{
    random_state r = seed;
    gw_system_body_def bodies[7];
    gw_quat plane = gw_quat_exp(random_vector(&r, 2));
    for (int i = 0; i < 7; i++) {
        bool last = i == 6, slides = random_below(&r, 3) == 0;
        gw_quat turn = gw_quat_axis(gw_v3(0, 0, 1), random_noise(&r));
        gw_quat side = gw_quat_axis(gw_v3(1, 0, 0), GW_PI / 2);
        gw_quat flip =
            random_below(&r, 2) ? gw_quat_axis(gw_v3(1, 0, 0), GW_PI) : (gw_quat){1, 0, 0, 0};
        gw_quat f = gw_quat_mul(turn, slides ? side : flip),
                back = slides ? gw_quat_conj(side) : flip;
        bodies[i] = (gw_system_body_def){
            .mass = random_mass(&r, 0.5),
            .parent = i == 0 ? GW_GROUND : random_below(&r, i),
            .joint = last     ? GW_MOBILIZER_SPHERICAL
                     : slides ? GW_MOBILIZER_PRISMATIC
                     : screws ? GW_MOBILIZER_SCREW
                              : GW_MOBILIZER_REVOLUTE,
            .parent_from_f = {random_vector(&r, 0.3), i == 0 ? gw_quat_mul(plane, f) : f},
            .body_from_m = {random_vector(&r, 0.1), back},
            .reversed = random_below(&r, 2) == 1,
            .position = {0.3 * random_noise(&r)},
            .velocity = {random_noise(&r), random_noise(&r), random_noise(&r)},
            .damping = {0.01},
            .damping_linear = 0.05,
            .damping_angular = 0.01};
        if (!last)
            bodies[i].stiffness[0] = 5;
    }
    gw_system_spring_def spring = {
        6, GW_GROUND, random_vector(&r, 0.2), random_vector(&r, 0.5), 10, 0.1, 0.2};
    gw_system_def def = {.body_count = 7,
                         .bodies = bodies,
                         .gravity = random_vector(&r, 5),
                         .spring_count = 1,
                         .springs = &spring};
    gw_system *open = gw_system_create(&def, NULL);
    gw_closure_def closure = random_closure(&r, open, 5, 4);
    gw_pose tip = gw_pose_identity(), at[2];
    gw_twist twist;
    gw_model_body(gw_system_model(open), 5, &at[0], &twist);
    gw_model_body(gw_system_model(open), 4, &at[1], &twist);
    gw_pose b_from_world = gw_pose_inverse(&at[1]), b_from_a = gw_pose_mul(&b_from_world, &at[0]);
    gw_pose b_from_f = {b_from_a.p, bodies[4].body_from_m.q};
    tip.q = gw_quat_mul(gw_quat_conj(b_from_a.q), b_from_f.q);
    closure.row_count = gw_mobilizer_rows(GW_MOBILIZER_SPHERICAL, &b_from_f, &tip, closure.rows);
    gw_system_destroy(open);
    def.closures = &closure;
    def.closure_count = 1;
    return gw_system_create(&def, NULL);
}

/* Bodies in a plane take a quarter of the arithmetic and nothing else: the same motion, wrenches at
 * the joints, and Jacobian as in space. */
static void bodies_in_a_plane_move_as_in_space(void **state)
{
    (void)state;
    double worst = 0, force = 0, column = 0;
    for (unsigned long long seed = 1; seed <= 30; seed++) {
        gw_system *s[2] = {tree_in_plane(seed, false), tree_in_plane(seed, true)};
        assert_non_null(s[0]);
        assert_non_null(s[1]);
        assert_int_equal(gw_system_mobility(s[0]), gw_system_mobility(s[1]));
        for (int i = 0; i < 2; i++) {
            gw_system_hold(s[i], 6, &(gw_pose){{0.1, 0, 0.2}, {1, 0, 0, 0}});
            gw_system_push(s[i], 3, &(gw_wrench){{1, 2, 0.5}, {0.1, 0, 0.2}});
            run(s[i], 0.5, 1e-3);
        }
        double j[2][16][6], drift[2][6];
        for (int i = 0; i < 2; i++)
            gw_model_jacobian(gw_system_model(s[i]), j[i], drift[i]);
        /* two rows in the plane; where one follows from joints, forces have no one answer */
        int dof = gw_model_dof(gw_system_model(s[0]));
        bool unique = gw_system_mobility(s[0]) == dof - 2;
        for (int b = 0; b < 7; b++) {
            worst = fmax(worst, gw_distance(point_of(s[0], b, gw_v3(0, 1, 0)),
                                            point_of(s[1], b, gw_v3(0, 1, 0))));
            gw_wrench x = gw_system_joint_wrench(s[0], b), y = gw_system_joint_wrench(s[1], b);
            if (unique)
                force = fmax(force, (gw_distance(x.f, y.f) + gw_distance(x.t, y.t)) /
                                        (1 + gw_norm(x.f) + gw_norm(x.t)));
        }
        for (int n = 0; n < dof; n++)
            for (int l = 0; l < 6; l++)
                column = fmax(column, fabs(j[0][n][l] - j[1][n][l]));
        for (int l = 0; l < 6; l++)
            assert_true(fabs(drift[0][l] - drift[1][l]) < 1e-6 * (1 + fabs(drift[0][l])));
        gw_system_destroy(s[0]);
        gw_system_destroy(s[1]);
    }
    print_message("apart %.1e m, wrenches %.1e, columns %.1e\n", worst, force, column);
    assert_true(worst < 1e-9);
    assert_true(force < 1e-7);
    assert_true(column < 1e-8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_n_four_bar_moves_as_published),
        cmocka_unit_test(a_double_pendulum_swings_as_integrated_in_long_double),
        cmocka_unit_test(the_heavy_top_precesses_as_published),
        cmocka_unit_test(a_nut_falls_on_its_screw_as_pitch_and_inertia_say),
        cmocka_unit_test(a_universal_joint_turns_as_hooke_says),
        cmocka_unit_test(random_trees_keep_their_energy),
        cmocka_unit_test(bodies_in_a_plane_move_as_in_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
