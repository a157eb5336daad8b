/*
 * The guided body against closed forms, conserved quantities and published solutions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/scenario_fixture.h"

static gw_wrench constant(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    (void)t;
    (void)held;
    (void)twist;
    return *(const gw_wrench *)context;
}

/* Of stated size along the circle about the z axis, wherever the frame is. */
static gw_wrench tangential(const void *context, double t, const gw_pose *held,
                            const gw_twist *twist)
{
    (void)t;
    (void)twist;
    gw_vec3 along = gw_unit(gw_cross(gw_v3(0, 0, 1), held->p));
    return (gw_wrench){gw_scale(*(const double *)context, along), {0, 0, 0}};
}

static void place(gw_guided *body, const gw_guided_def *def, gw_vec3 at)
{
    gw_pose pose = {at, def->set.rotation.zero};
    gw_guided_init(body, def, &pose);
}

static void run(gw_guided *body, const gw_forces *forces, double rate, int steps)
{
    gw_step step;
    for (int i = 0; i < steps; i++) {
        gw_model_step(&body->model, forces, 1 / rate, &step);
        assert_true(step.finite);
    }
}

static void close_to(gw_vec3 a, gw_vec3 b, double tolerance)
{
    if (!(gw_distance(a, b) <= tolerance))
        print_error("%.15g %.15g %.15g is %g from %.15g %.15g %.15g\n", a.x, a.y, a.z,
                    gw_distance(a, b), b.x, b.y, b.z);
    assert_true(gw_distance(a, b) <= tolerance);
}

/* angle'' = -(F / m r) sin(angle - direction), in long double at ten steps a millisecond. */
static double circle_angle(double force_over_mr, double seconds)
{
    long double a = 0, w = 0, h = 1e-4L, k = force_over_mr;
    long steps = lround(seconds * 1e4);
    for (long i = 0; i < steps; i++) {
        long double k1 = k * cosl(a), w1 = w + h / 2 * k1;
        long double k2 = k * cosl(a + h / 2 * w), w2 = w + h / 2 * k2;
        long double k3 = k * cosl(a + h / 2 * w1), w3 = w + h * k3;
        long double k4 = k * cosl(a + h * w2);
        a += h / 6 * (w + 2 * w1 + 2 * w2 + w3);
        w += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    return (double)a;
}

static void motion_on_a_circle_keeps_its_closed_form_for_a_minute(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_CIRCLE));
    gw_wrench push = {{0, 0.5, 0}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    gw_guided body;
    place(&body, &def, gw_v3(0.1, 0, 0));
    run(&body, &forces, 1000, 60000);
    double a = circle_angle(0.5 / (2 * 0.1), 60);
    close_to(body.pose.p, gw_v3(0.1 * cos(a), 0.1 * sin(a), 0), 1e-9);
    assert_true(gw_guided_residual(&body, &body.pose) <= 1e-13);
}

static void circle_under_a_tangential_force_speeds_up_evenly(void **state)
{
    (void)state;
    double force = 0.5, angle = 0.5 * 0.5 / (2 * 0.1) * 60 * 60;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_CIRCLE));
    gw_forces forces = {.at = tangential, .context = &force};
    gw_guided body;
    place(&body, &def, gw_v3(0.1, 0, 0));
    run(&body, &forces, 1000, 60000);
    close_to(body.pose.p, gw_v3(0.1 * cos(angle), 0.1 * sin(angle), 0), 1e-9);
}

static void simple_pendulum_matches_the_library_of_problems(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_set(GW_ROTATION_FIXED, GW_LOCUS_CIRCLE, false));
    def.set.translation.locus.a = 1;
    def.mass.mass = 1;
    def.gravity = gw_v3(0, -9.81, 0);
    gw_guided body;
    place(&body, &def, gw_v3(-1, 0, 0));
    run(&body, NULL, 1000, 1000);
    close_to(body.pose.p, gw_v3(0.98629175113188, -0.16501085312554, 0), 1e-9);
    run(&body, NULL, 1000, 9000);
    close_to(body.pose.p, gw_v3(-0.27508746257612, -0.96141920509913, 0), 1e-8);
}

static void spinning_body_tumbles_as_published(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_set(GW_ROTATION_FREE, GW_LOCUS_FREE, false));
    def.mass.inertia = (gw_mat3){{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}};
    gw_guided body;
    place(&body, &def, gw_v3(0, 0, 0));
    gw_twist twist = {{0, 0, 0}, {0.01, 1, 0.01}};
    gw_guided_set_twist(&body, &twist);
    run(&body, NULL, 1000, 10000);
    close_to(gw_unrotate(body.pose.q, body.twist.w),
             gw_v3(-0.874573437891, 0.484996187341, 0.505001220548), 1e-11);
    gw_quat q = {0.242702990920, 0.118144126725, -0.822720146747, -0.500268711449};
    assert_true(gw_quat_angle(q, body.pose.q) < 1e-11);
}

static void spherical_pendulum_swings_through_the_pole(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_set(GW_ROTATION_FIXED, GW_LOCUS_SPHERE, false));
    def.gravity = gw_v3(-9.81, 0, 0); /* the poles of the set's angles are met on the way */
    gw_guided body;
    double kinetic, potential, energy;
    place(&body, &def, gw_v3(0, 0, 0.1));
    gw_model_energy(&body.model, &kinetic, &potential);
    energy = kinetic + potential;
    run(&body, NULL, 1000, 20000);
    gw_model_energy(&body.model, &kinetic, &potential);
    assert_true(fabs(kinetic + potential - energy) < 1e-7);
    assert_true(fabs(body.pose.p.y) < 1e-12);
    assert_true(fabs(gw_norm(body.pose.p) - 0.1) < 1e-15);
}

/* Energy error over a minute, of the larger of work and peak kinetic energy. */
static double energy_error(gw_guided_def def, gw_vec3 spin, gw_wrench push, int rate,
                           double *spin_max)
{
    gw_guided body;
    gw_step step;
    gw_forces forces = {.at = constant, .context = &push};
    double kinetic, potential, start, work = 0, worst = 0, peak = 0;
    gw_twist twist = {{0, 0.1, 0}, spin};
    place(&body, &def, gw_v3(0.1, 0, 0));
    gw_guided_set_twist(&body, &twist);
    gw_model_energy(&body.model, &kinetic, &potential);
    start = kinetic + potential;
    *spin_max = 0;
    for (int i = 0; i < 60 * rate; i++) {
        gw_model_step(&body.model, &forces, 1.0 / rate, &step);
        work += step.work;
        gw_model_energy(&body.model, &kinetic, &potential);
        peak = fmax(peak, kinetic);
        worst = fmax(worst, fabs(kinetic + potential - start - work));
        *spin_max = fmax(*spin_max, gw_norm(body.twist.w));
    }
    return worst / fmax(peak, fabs(work));
}

static void energy_is_kept_and_converges(void **state)
{
    (void)state;
    gw_guided_def circle = fixture_body(fixture_turning(GW_LOCUS_CIRCLE));
    circle.mass.com = gw_v3(0.02, -0.005, 0.025);
    circle.mass.inertia = (gw_mat3){{{2e-3, 1e-4, 0}, {1e-4, 3e-3, -2e-4}, {0, -2e-4, 1e-3}}};
    gw_guided_def plane = circle, free_body = circle;
    plane.set = fixture_turning(GW_LOCUS_PLANE);
    free_body.set = fixture_set(GW_ROTATION_FREE, GW_LOCUS_FREE, false);
    gw_guided_def level = circle;
    level.gravity = gw_v3(0, 0, -9.81);
    circle.gravity = gw_v3(9.81, 0, 0);
    plane.gravity = gw_v3(0, 0, -9.81);
    const struct {
        gw_guided_def *def;
        gw_vec3 spin;
        gw_wrench push;
    } cases[] = {{&circle, {0, 0, 13}, {{0, 0, 0}, {0, 0, 0}}},
                 {&level, {0, 0, 13}, {{0.5, 0, 0}, {0, 0, 0}}},
                 {&plane, {0, 0, 13}, {{0.2, 0, 0}, {0, 0, 0}}},
                 {&free_body, {7, 4, 12}, {{0, 0, 0}, {0, 0, 0}}}};
    for (int i = 0; i < 4; i++) {
        double spin;
        double fine = energy_error(*cases[i].def, cases[i].spin, cases[i].push, 1000, &spin);
        /* the order shows at larger steps: at 1 kHz the sixth order is at rounding already */
        double half = energy_error(*cases[i].def, cases[i].spin, cases[i].push, 500, &spin);
        double coarse = energy_error(*cases[i].def, cases[i].spin, cases[i].push, 250, &spin);
        print_message("case %d: %.2e at 1 kHz, %.2e at 500 Hz, %.1f times more at 250 Hz, up to "
                      "%.1f rad/s\n",
                      i, fine, half, coarse / half, spin);
        assert_true(fine <= 1e-8);
        assert_true(coarse >= 14 * half);
    }
}

static void constraint_wrench_holds_the_body_on_the_circle(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_CIRCLE));
    def.gravity = gw_v3(0, 0, -9.81);
    gw_guided body;
    gw_step step;
    gw_twist twist = {{0, 0.5, 0}, {0, 0, 0}};
    place(&body, &def, gw_v3(0.1, 0, 0));
    gw_guided_set_twist(&body, &twist);
    gw_model_step(&body.model, NULL, 1e-3, &step);
    /* m v^2 / r inwards, the weight upwards */
    close_to(step.constraint.f, gw_v3(-2 * 0.25 / 0.1, 0, 2 * 9.81), 1e-12);
    close_to(step.constraint.t, gw_v3(0, 0, 0), 1e-12);
}

static void constraint_wrench_is_taken_at_the_held_frame(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    def.body_from_held.p = gw_v3(0, 0, 0.1);
    gw_wrench push = {{3, 0, -5}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    gw_guided body;
    gw_step step;
    place(&body, &def, gw_v3(0.1, 0, 0));
    gw_model_step(&body.model, &forces, 1e-3, &step);
    /* the push acts 0.1 m above the centre of mass: its moment about y is held by the set */
    close_to(step.constraint.f, gw_v3(0, 0, 5), 1e-12);
    close_to(step.constraint.t, gw_v3(0, -0.3, 0), 1e-12);
}

/* The part removed from a twist has no momentum along the free directions. */
static void twist_is_projected_in_the_mass_metric(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_CIRCLE));
    def.mass.com = gw_v3(0.02, -0.005, 0.025);
    gw_guided body;
    double columns[6][6], drift[6];
    gw_twist twist = {{0.3, -0.2, 0.5}, {1, 2, -3}};
    place(&body, &def, gw_v3(0.1, 0, 0));
    gw_guided_set_twist(&body, &twist);
    gw_model_jacobian(&body.model, columns, drift);
    gw_vec3 dv = gw_sub(twist.v, body.twist.v), dw = gw_sub(twist.w, body.twist.w);
    gw_vec3 p = gw_scale(2, gw_add(dv, gw_cross(dw, def.mass.com)));
    gw_vec3 l = gw_add(gw_mat3_mul(&def.mass.inertia, dw), gw_cross(def.mass.com, p));
    for (int k = 0; k < 2; k++) {
        const double *j = columns[k];
        double power = gw_dot(gw_v3(j[0], j[1], j[2]), p) + gw_dot(gw_v3(j[3], j[4], j[5]), l);
        assert_true(fabs(power) < 1e-14);
    }
}

static void damping_acts_at_the_held_frame(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    def.damping_linear = 4;
    gw_guided body;
    gw_twist twist = {{0.5, 0, 0}, {0, 0, 0}};
    double lost = 0;
    place(&body, &def, gw_v3(0.1, 0, 0));
    gw_guided_set_twist(&body, &twist);
    for (int i = 0; i < 1000; i++) {
        gw_step step;
        gw_model_step(&body.model, NULL, 1e-3, &step);
        lost += step.dissipated;
    }
    double left = 0.5 * exp(-4.0 / 2);
    close_to(body.twist.v, gw_v3(left, 0, 0), 1e-12);
    assert_true(fabs(lost - (0.25 - left * left)) < 1e-12);
}

/* However strong it is: no motion is left that it should have taken, and it took what was there. */
static void damping_never_adds_energy(void **state)
{
    (void)state;
    const gw_submanifold sets[] = {gw_submanifold_free(), fixture_turning(GW_LOCUS_PLANE),
                                   fixture_turning(GW_LOCUS_CIRCLE)};
    for (int k = 0; k < 3; k++)
        for (double damping = 0.01; damping < 1e6; damping *= 10) {
            gw_guided_def def = fixture_body(sets[k]);
            gw_guided body;
            gw_step step;
            double begin, end, potential, lost = 0;
            def.damping_linear = 100 * damping;
            def.damping_angular = damping;
            def.body_from_held.p = gw_v3(0.05, 0.02, 0);
            place(&body, &def, gw_v3(0.1, 0, 0));
            gw_guided_set_twist(&body, &(gw_twist){{0.3, 0.5, 0}, {1, 2, 5}});
            gw_model_energy(&body.model, &begin, &potential);
            double last = begin;
            for (int i = 0; i < 200; i++) {
                gw_model_step(&body.model, NULL, 1e-3, &step);
                gw_model_energy(&body.model, &end, &potential);
                assert_true(step.finite && end <= last * (1 + 1e-12));
                lost += step.dissipated;
                last = end;
            }
            assert_true(fabs(begin - end - lost) <= 1e-9 * begin);
            assert_true(damping < 10 || end <= 1e-6 * begin);
        }
}

/* The same set by its rows alone. */
static void general_set_moves_as_its_closed_form(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_CIRCLE)), by_rows;
    def.mass.com = gw_v3(0.02, -0.005, 0.025);
    def.gravity = gw_v3(1, -2, -9.81);
    by_rows = def;
    by_rows.set.general = true;
    by_rows.set.rotation.kind = GW_ROTATION_GENERAL;
    by_rows.set.translation.locus.kind = GW_LOCUS_GENERAL;
    gw_twist twist = {{0, 0.3, 0}, {0, 0, 4}};
    gw_guided a, b;
    place(&a, &def, gw_v3(0.1, 0, 0));
    place(&b, &by_rows, gw_v3(0.1, 0, 0));
    gw_guided_set_twist(&a, &twist);
    gw_guided_set_twist(&b, &twist);
    for (int i = 0; i < 2000; i++) {
        gw_step one, other;
        gw_model_step(&a.model, NULL, 1e-3, &one);
        gw_model_step(&b.model, NULL, 1e-3, &other);
        close_to(one.constraint.f, other.constraint.f, 1e-6);
        close_to(one.constraint.t, other.constraint.t, 1e-6);
    }
    assert_true(gw_pose_distance(&a.pose, &b.pose, 0.1) < 1e-9);
    assert_true(gw_guided_residual(&b, &b.pose) < 1e-13);
}

/* Of more damping than the stages of a step bear: on a set in closed form or by its rows, a body
 * that is pushed ends at the speed F / c, and what the damper takes is what the hand gives. */
static void damping_of_any_size_ends_at_force_over_damping(void **state)
{
    (void)state;
    double push = 3, sizes[] = {1e3, 3e3, 1e4, 1e6, 1e9};
    gw_wrench along_x = {{3, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 5; i++) {
            gw_guided_def def = fixture_body(k == 0   ? gw_submanifold_free()
                                             : k == 1 ? fixture_turning(GW_LOCUS_PLANE)
                                                      : fixture_turning(GW_LOCUS_CIRCLE));
            gw_forces forces = {.at = k < 2 ? constant : tangential,
                                .context = k < 2 ? (void *)&along_x : (void *)&push};
            if (k == 3) {
                def.set.general = true;
                def.set.rotation.kind = GW_ROTATION_GENERAL;
                def.set.translation.locus.kind = GW_LOCUS_GENERAL;
            }
            def.mass.com = gw_v3(0.02, -0.005, 0.025);
            def.damping_linear = sizes[i];
            def.damping_angular = sizes[i];
            gw_guided body;
            gw_step step;
            double begin, end, potential, given = 0, lost = 0;
            place(&body, &def, gw_v3(0.1, 0, 0));
            gw_guided_set_twist(&body, &(gw_twist){{0, 0.5, 0}, {0, 0, 3}});
            gw_model_energy(&body.model, &begin, &potential);
            for (int t = 0; t < 200; t++) {
                gw_model_step(&body.model, &forces, 1e-3, &step);
                assert_true(step.finite);
                given += step.work;
                lost += step.dissipated;
            }
            gw_model_energy(&body.model, &end, &potential);
            assert_true(fabs(gw_norm(body.twist.v) - 3 / sizes[i]) < 1e-9 * 3 / sizes[i]);
            assert_true(fabs(begin + given - lost - end) < 1e-12);
        }
}

/* The transient of one whose motion is gone within a step or two: v = v_0 exp(-c t / m). */
static void strong_damping_decays_as_it_should(void **state)
{
    (void)state;
    double sizes[] = {2e3, 6e3, 1.5e4};
    for (int i = 0; i < 3; i++) {
        gw_guided_def def = fixture_body(gw_submanifold_free());
        def.damping_linear = sizes[i];
        gw_guided body;
        place(&body, &def, gw_v3(0, 0, 0));
        gw_guided_set_twist(&body, &(gw_twist){{0.5, 0, 0}, {0, 0, 0}});
        run(&body, NULL, 1000, 1);
        close_to(body.twist.v, gw_v3(0.5 * exp(-sizes[i] / 2 * 1e-3), 0, 0), 1e-6);
    }
}

static void a_force_that_is_not_finite_leaves_the_body_at_rest_in_place(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_CIRCLE));
    gw_wrench push = {{NAN, 0, 0}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    gw_guided body;
    gw_step step;
    gw_twist twist = {{0, 0.5, 0}, {0, 0, 0}};
    place(&body, &def, gw_v3(0.1, 0, 0));
    gw_guided_set_twist(&body, &twist);
    gw_model_step(&body.model, &forces, 1e-3, &step);
    assert_false(step.finite);
    close_to(body.pose.p, gw_v3(0.1, 0, 0), 0);
    close_to(body.twist.v, gw_v3(0, 0, 0), 0);
}

static void inverse_inertia_undoes_the_inertia(void **state)
{
    (void)state;
    gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    gw_guided body;
    double acceleration[6], force[6] = {0.3, 1, -2}; /* turn, then x and y */
    place(&body, &def, gw_v3(0.1, 0, 0));
    gw_model_apply_inverse(&body.model, force, acceleration);
    assert_true(fabs(acceleration[0] - 0.3 / 1e-3) < 1e-9);
    assert_true(fabs(acceleration[1] - 0.5) < 1e-15 && fabs(acceleration[2] + 1) < 1e-15);
}

/* A world of contacts saves and restores only what steps and kicks change. */
static void steps_and_kicks_change_only_the_state(void **state)
{
    (void)state;
    const gw_submanifold sets[] = {gw_submanifold_free(), fixture_turning(GW_LOCUS_PLANE)};
    for (int k = 0; k < 2; k++) {
        gw_guided_def def = fixture_body(sets[k]);
        gw_guided body, begin;
        double dv[GW_MODEL_MAX_DOF] = {0.1, -0.2, 0.3};
        def.damping_linear = 500;
        place(&body, &def, gw_v3(0.1, 0, 0));
        gw_guided_set_twist(&body, &(gw_twist){{0.3, 0.5, 0}, {0, 0, 5}});
        memcpy(&begin, &body, sizeof body);
        size_t size = gw_model_state_size(&body.model);
        assert_true(size > 0 && size <= sizeof body);
        assert_true(k > 0 || size < sizeof body / 4);
        run(&body, NULL, 1000, 10);
        gw_model_kick(&body.model, dv);
        run(&body, NULL, 1000, 10);
        assert_true(gw_distance(body.pose.p, begin.pose.p) > 1e-4);
        memcpy(&body, &begin, size);
        assert_memory_equal(&body, &begin, sizeof body);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(motion_on_a_circle_keeps_its_closed_form_for_a_minute),
        cmocka_unit_test(circle_under_a_tangential_force_speeds_up_evenly),
        cmocka_unit_test(simple_pendulum_matches_the_library_of_problems),
        cmocka_unit_test(spinning_body_tumbles_as_published),
        cmocka_unit_test(spherical_pendulum_swings_through_the_pole),
        cmocka_unit_test(energy_is_kept_and_converges),
        cmocka_unit_test(constraint_wrench_holds_the_body_on_the_circle),
        cmocka_unit_test(constraint_wrench_is_taken_at_the_held_frame),
        cmocka_unit_test(twist_is_projected_in_the_mass_metric),
        cmocka_unit_test(damping_acts_at_the_held_frame),
        cmocka_unit_test(damping_never_adds_energy),
        cmocka_unit_test(damping_of_any_size_ends_at_force_over_damping),
        cmocka_unit_test(strong_damping_decays_as_it_should),
        cmocka_unit_test(general_set_moves_as_its_closed_form),
        cmocka_unit_test(a_force_that_is_not_finite_leaves_the_body_at_rest_in_place),
        cmocka_unit_test(inverse_inertia_undoes_the_inertia),
        cmocka_unit_test(steps_and_kicks_change_only_the_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
