/*
 * Forces at the joints of systems of bodies, against closed forms: springs and dampers of any
 * size, limits, friction, motors; and the energy audit.
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

static gw_mass ball(double mass, double inertia)
{
    return (gw_mass){mass, {0, 0, 0}, {{{inertia, 0, 0}, {0, inertia, 0}, {0, 0, inertia}}}};
}

static gw_mass rod_mass(double length, double mass)
{
    double i = mass * length * length / 12;
    return (gw_mass){mass, {length / 2, 0, 0}, {{{i / 100, 0, 0}, {0, i, 0}, {0, 0, i}}}};
}

/* 1 kg that slides along the world's z, which points up. */
static gw_system_body_def slider(double mass)
{
    return (gw_system_body_def){.mass = ball(mass, 1),
                                .parent = GW_GROUND,
                                .joint = GW_MOBILIZER_PRISMATIC,
                                .parent_from_f = gw_pose_identity(),
                                .body_from_m = gw_pose_identity()};
}

static gw_system_body_def arm(int parent, double at)
{
    return (gw_system_body_def){.mass = rod_mass(1, 1),
                                .parent = parent,
                                .joint = GW_MOBILIZER_REVOLUTE,
                                .parent_from_f = {{at, 0, 0}, {1, 0, 0, 0}},
                                .body_from_m = gw_pose_identity()};
}

static gw_system *make(const gw_system_body_def *bodies, int count, gw_vec3 gravity)
{
    gw_error error = {0};
    gw_system_def def = {.body_count = count, .bodies = bodies, .gravity = gravity};
    gw_system *s = gw_system_create(&def, &error);
    assert_non_null(s);
    return s;
}

static double total(gw_system *s)
{
    double kinetic, potential;
    gw_model_energy(gw_system_model(s), &kinetic, &potential);
    return kinetic + potential;
}

/* Work, motors and dissipation of `seconds`; the final energy is what they say within `within`. */
static gw_step run(gw_system *s, const gw_forces *forces, double seconds, double within)
{
    gw_step sum = {.finite = true}, step;
    double before = total(s);
    int n = (int)lround(seconds / DT);
    for (int i = 0; i < n; i++) {
        gw_model_step(gw_system_model(s), forces, DT, &step);
        assert_true(step.finite);
        gw_step_add(&sum, &step, i == 0);
    }
    double out = total(s) - before - sum.work - sum.motors + sum.dissipated;
    if (!(fabs(out) <= within))
        print_message("energy off by %.3e of %.3e\n", out, total(s));
    assert_true(fabs(out) <= within);
    return sum;
}

static double position(gw_system *s, int body)
{
    double q[6], u[6];
    gw_system_joint(s, body, q, u);
    return q[0];
}

static double velocity(gw_system *s, int body)
{
    double q[6], u[6];
    gw_system_joint(s, body, q, u);
    return u[0];
}

static gw_wrench constant(const void *context, double t, const gw_pose *pose, const gw_twist *twist)
{
    (void)t, (void)pose, (void)twist;
    return *(const gw_wrench *)context;
}

static void a_damper_of_any_size_ends_at_force_over_damping(void **state)
{
    (void)state;
    const double sizes[] = {0.1, 10, 900, 5e3, 1e4, 1e6, 1e9};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int own = 0; own < 2; own++) {
            double c = sizes[i], f = 3, m = 1.0, t = 0.5;
            gw_system_body_def body = slider(m);
            if (own)
                body.damping_linear = c;
            else
                body.damping[0] = c;
            gw_system *s = make(&body, 1, gw_v3(0, 0, 0));
            gw_wrench pushed = {{0, 0, f}, {0, 0, 0}};
            gw_forces forces = {.at = constant, .context = &pushed};
            gw_step sum = run(s, &forces, t, 1e-9 * f);
            double expected = f / c * -expm1(-c * t / m);
            assert_true(fabs(velocity(s, 0) - expected) < 1e-8 * expected);
            /* its way, and what it loses */
            double way = f / c * (t - m / c * -expm1(-c * t / m));
            assert_true(fabs(position(s, 0) - way) < 2e-4 * way + 1e-15);
            assert_true(fabs(sum.dissipated - (f * way - m / 2 * expected * expected)) <
                        2e-4 * f * way);
            gw_system_destroy(s);
        }
}

/* A spinning body with its own angular damping: w = w0 exp(-c t / I). */
static void spin_decays_as_its_damping_says(void **state)
{
    (void)state;
    const double sizes[] = {0.2, 30, 1e5};
    for (size_t i = 0; i < 3; i++) {
        gw_system_body_def body = {.mass = ball(1, 0.1),
                                   .parent = GW_GROUND,
                                   .joint = GW_MOBILIZER_FREE,
                                   .parent_from_f = gw_pose_identity(),
                                   .body_from_m = gw_pose_identity(),
                                   .velocity = {0, 0, 0, 1, 2, 3},
                                   .damping_angular = sizes[i]};
        gw_system *s = make(&body, 1, gw_v3(0, 0, 0));
        run(s, NULL, 0.1, 1e-10);
        double q[6], u[6], factor = exp(-sizes[i]);
        gw_system_joint(s, 0, q, u);
        for (int k = 0; k < 3; k++)
            assert_true(fabs(u[3 + k] - (k + 1) * factor) < 1e-8);
        gw_system_destroy(s);
    }
}

/* Mass on a spring, beside a joint that is much stiffer: x = cos(w t). */
static double spring_error(double dt, bool stiff)
{
    gw_system_body_def bodies[2] = {slider(1), slider(1)};
    gw_step step;
    bodies[0].stiffness[0] = 40;
    bodies[0].position[0] = 1;
    bodies[0].damping[0] = 0.3;
    bodies[1].damping[0] = stiff ? 1e7 : 0;
    gw_system *s = make(bodies, 2, gw_v3(0, 0, 0));
    int n = (int)lround(1 / dt);
    for (int i = 0; i < n; i++)
        gw_model_step(gw_system_model(s), NULL, dt, &step);
    double d = 0.15, w = sqrt(40 - d * d), expected = exp(-d) * (cos(w) + d / w * sin(w));
    double error = fabs(position(s, 0) - expected);
    gw_system_destroy(s);
    return error;
}

static void springs_keep_fourth_order_beside_stiff_joints(void **state)
{
    (void)state;
    for (int stiff = 0; stiff < 2; stiff++) {
        double coarse = spring_error(8e-3, stiff), fine = spring_error(4e-3, stiff);
        print_message("stiff %d: %.2e %.2e order %.2f\n", stiff, coarse, fine, log2(coarse / fine));
        assert_true(fine < 1e-7);
        assert_true(!stiff || log2(coarse / fine) > 3.8);
    }
}

/* A spring far too stiff for the step holds its weight where it should, and is still. */
static void a_stiff_spring_bears_its_load(void **state)
{
    (void)state;
    const double sizes[] = {1e3, 1e6, 1e9, 1e12};
    for (size_t i = 0; i < 4; i++) {
        gw_system_body_def body = slider(1);
        body.stiffness[0] = sizes[i];
        body.damping[0] = 2 * sqrt(sizes[i]);
        body.rest[0] = 0.2;
        body.position[0] = 0.2;
        gw_system *s = make(&body, 1, gw_v3(0, 0, -G));
        run(s, NULL, 1, 1e-9);
        assert_true(fabs(position(s, 0) - 0.2 + G / sizes[i]) < 1e-9 * (G / sizes[i]) + 1e-15);
        gw_system_destroy(s);
    }
}

/* Two arms fall against their limits again and again: no energy comes, and they stay near. */
static void limits_never_give_energy(void **state)
{
    (void)state;
    for (int closed = 0; closed < 2; closed++) {
        gw_system_body_def bodies[2] = {arm(GW_GROUND, 0), arm(0, 1)};
        gw_closure_def closure = {.a = 1, .b = GW_GROUND, .row_count = 1};
        gw_error error = {0};
        closure.rows[0] = (gw_row){
            .kind = GW_ROW_PLANE, .m = {1, 0, 0}, .f = {1, 1, 0}, .n = {1, 0, 0}, .value = 0};
        bodies[0].limited[0] = bodies[1].limited[0] = true;
        bodies[0].lower[0] = -1, bodies[0].upper[0] = 1;
        bodies[1].lower[0] = -0.5, bodies[1].upper[0] = 2;
        bodies[1].position[0] = closed ? GW_PI / 2 : 0;
        gw_system_def def = {.body_count = 2,
                             .closure_count = closed,
                             .bodies = bodies,
                             .closures = &closure,
                             .gravity = {0, -G, 0}};
        gw_system *s = gw_system_create(&def, &error);
        assert_non_null(s);
        double most = total(s), deepest = 0;
        for (int i = 0; i < 3000; i++) {
            run(s, NULL, DT, 1e-8);
            assert_true(total(s) <= most + 1e-9);
            most = fmin(most, total(s) + 1e-9);
            for (int k = 0; k < 2; k++) {
                double q = position(s, k);
                deepest = fmax(deepest, fmax(q - bodies[k].upper[0], bodies[k].lower[0] - q));
            }
        }
        print_message("deepest %.3g rad\n", deepest);
        assert_true(deepest > 0 && deepest < 0.02);
        gw_system_destroy(s);
    }
}

/* A slider on Coulomb friction: holds below mu, slides and stops as the formula says above it. */
static void friction_holds_and_brakes(void **state)
{
    (void)state;
    gw_system_body_def body = slider(2);
    body.friction[0] = 5;
    body.velocity[0] = 1;
    gw_system *s = make(&body, 1, gw_v3(0, 0, 0));
    gw_step sum = run(s, NULL, 1, 1e-9);
    /* v^2 m / (2 F) = 0.2 m, in 0.4 s, less what the bristle stores */
    assert_true(fabs(position(s, 0) - 0.2) < 1e-4);
    assert_true(fabs(velocity(s, 0)) < 1e-6);
    assert_true(fabs(sum.dissipated - 1) < 1e-3);
    gw_wrench pushed = {{0, 0, 4.9}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &pushed};
    run(s, &forces, 0.5, 1e-8);
    double held = position(s, 0);
    run(s, &forces, 5, 1e-8);
    assert_true(fabs(position(s, 0) - held) < 1e-8);
    pushed.f.z = 7;
    run(s, &forces, 1, 1e-8);
    assert_true(fabs(velocity(s, 0) - 1) < 1e-3);
    gw_system_destroy(s);
}

/* Thrown up a rail that it rubs on, a slider comes back down if its weight is more than friction,
 * and stays at the top if not; on a spring every swing is shorter by 2 F / k. Friction changes its
 * sign where they turn back, within a step, whatever its phase. */
static void friction_turns_over_where_a_slider_turns_back(void **state)
{
    (void)state;
    for (int phase = 0; phase < 8; phase++) {
        double m = 2, v0 = 1 + 0.0013 * phase;
        for (double force = 5; force < 30; force += 20) {
            gw_system_body_def body = slider(m);
            body.friction[0] = force;
            body.velocity[0] = v0;
            gw_system *s = make(&body, 1, gw_v3(0, 0, -G));
            gw_step sum = run(s, NULL, 0.6, 1e-9);
            double up = G + force / m, top = v0 * v0 / (2 * up), down = 0;
            if (force < m * G)
                down = 0.5 * (G - force / m) * pow(0.6 - v0 / up, 2);
            assert_true(fabs(position(s, 0) - (top - down)) < 2e-5);
            assert_true(fabs(sum.dissipated - force * (top + down)) < 1e-3);
            gw_system_destroy(s);
        }
        /* x = c + (turning point - c) cos(w (t - its time)), c = F / k on the side of that point */
        double k = 800, force = 4, w = sqrt(k / m), shift = force / k;
        double swing = hypot(shift, v0 / w), turned = acos(shift / swing) / w, at = swing - shift;
        gw_system_body_def body = slider(m);
        body.friction[0] = force;
        body.stiffness[0] = k;
        body.velocity[0] = v0;
        gw_system *s = make(&body, 1, gw_v3(0, 0, 0));
        double end = turned + 4 * GW_PI / w;
        for (int tick = 1; tick * DT < end; tick++) {
            double t = tick * DT, c = t < turned ? -shift : copysign(shift, at);
            run(s, NULL, DT, 1e-9);
            if (t > turned + GW_PI / w) {
                turned += GW_PI / w, at = -copysign(fabs(at) - 2 * shift, at);
                c = copysign(shift, at);
            }
            double x = c + (at - c) * cos(w * (t - turned));
            assert_true(fabs(position(s, 0) - x) < 2e-5);
        }
        gw_system_destroy(s);
    }
}

/* A servo motor holds an arm at its target with the sag that its stiffness says, whatever it is;
 * torque, maximum and speed bound it; its work is told. */
static void motors_do_what_their_law_says(void **state)
{
    (void)state;
    const double stiffness[] = {100, 1e5, 1e8};
    for (size_t i = 0; i < 3; i++) {
        gw_system_body_def body = arm(GW_GROUND, 0);
        double k = stiffness[i], inertia = 1. / 3;
        body.motor[0] = (gw_motor){.target = 0.3, .stiffness = k, .damping = 2 * sqrt(k * inertia)};
        gw_system *s = make(&body, 1, gw_v3(0, -G, 0));
        gw_step sum = run(s, NULL, 3, 1e-8 * k);
        double sag = 0.3 - position(s, 0);
        assert_true(fabs(k * sag - 0.5 * G * cos(position(s, 0))) < 1e-6 * k * 1e-4 + 1e-6);
        /* k (q - target)^2 / 2 from start to end, less what the damper took, raised the arm */
        assert_true(sum.motors > 0);
        gw_system_destroy(s);
    }
    gw_system_body_def body = slider(1);
    gw_system *s = make(&body, 1, gw_v3(0, 0, 0));
    gw_system_set_motor(s, 0, 0, &(gw_motor){.rate = 2, .damping = 1e6, .max = 5});
    gw_step sum = run(s, NULL, 0.2, 1e-9);
    assert_true(fabs(velocity(s, 0) - 1) < 1e-6);
    assert_true(fabs(sum.motors - 0.5) < 1e-6);
    sum = run(s, NULL, 1, 1e-9);
    assert_true(fabs(velocity(s, 0) - 2) < 1e-6);
    assert_true(fabs(sum.motors - 1.5) < 1e-5);
    gw_system_set_motor(s, 0, 0, &(gw_motor){.torque = 3, .speed = 2.5});
    run(s, NULL, 2, 1e-6);
    assert_true(fabs(velocity(s, 0) - 2.5) < 0.05);
    gw_system_set_motor(s, 0, 0, &(gw_motor){0});
    double v = velocity(s, 0);
    run(s, NULL, 1, 1e-9);
    assert_true(velocity(s, 0) == v);
    gw_system_destroy(s);
}

/* A light slider with a servo of speed against a constant force: at its maximum the motor speeds it
 * up evenly, and as it reaches the speed where the law asks for less, v = rate - force / damping,
 * it stays there. The law is stiff: from one maximum a step of it asks for the other one. */
static void a_stiff_servo_of_speed_passes_its_maximum(void **state)
{
    (void)state;
    const gw_motor servo = {.rate = 50, .damping = 10, .max = 80};
    const double mass = 1.25e-5;
    for (double force = 60; force < 90; force += 0.25) {
        gw_system_body_def body = slider(mass);
        body.motor[0] = servo;
        gw_system *s = make(&body, 1, gw_v3(0, 0, 0));
        gw_wrench against = {{0, 0, -force}, {0, 0, 0}};
        gw_step step;
        double q[6], v[6], even = (servo.max - force) * DT / mass;
        gw_system_push(s, 0, &against);
        gw_model_step(gw_system_model(s), NULL, DT, &step);
        gw_system_joint(s, 0, q, v);
        double wanted = fmin(even, servo.rate - force / servo.damping);
        assert_true(fabs(v[0] - wanted) < 0.5 && fabs(v[0] - wanted) < 0.02 * fabs(wanted) + 1e-3);
        gw_system_destroy(s);
    }
}

/* Random trees with springs, dampers and motors at all their joints: the energy balance closes. */
static void smooth_joint_forces_close_their_books(void **state)
{
    (void)state;
    const random_traits light = {.bodies = 8, .decades = 0.3, .gravity = 1, .sprung = true};
    for (unsigned long long seed = 1; seed <= 40; seed++) {
        gw_system *s = random_system(seed, &light);
        run(s, NULL, 1, 1e-9 * (1 + fabs(total(s))));
        gw_system_destroy(s);
    }
}

/* A contact of 1 mN that closes in the last twentieth of a step. */
static void touch_late(const void *context, double t, const gw_pose *pose, const gw_twist *twist,
                       gw_wrench *on)
{
    (void)context, (void)pose, (void)twist;
    on->f = gw_v3(0, 0, t > 0.95 * DT ? 1e-3 : 0);
}

/* Its impulse is 5e-8 N s a step: no formula resolves the kink, and none turns it round. */
static void contacts_that_close_late_in_a_step_push(void **state)
{
    (void)state;
    gw_system_body_def body = slider(1);
    body.velocity[0] = 1;
    gw_system *s = make(&body, 1, gw_v3(0, 0, 0));
    gw_forces forces = {.contact_wrenches = touch_late};
    for (int i = 1; i <= 10; i++) {
        gw_step step;
        double z[6], u[6];
        gw_model_step(gw_system_model(s), &forces, DT, &step);
        gw_system_joint(s, 0, z, u);
        assert_true(step.finite && u[0] >= 1 && u[0] <= 1 + i * 2e-7);
    }
    gw_system_destroy(s);
}

static gw_system_body_def free_ball(double mass, double x)
{
    return (gw_system_body_def){.mass = ball(mass, 0.4),
                                .parent = GW_GROUND,
                                .joint = GW_MOBILIZER_FREE,
                                .parent_from_f = {{x, 0, 0}, {1, 0, 0, 0}},
                                .body_from_m = gw_pose_identity()};
}

static gw_system *make_sprung(const gw_system_body_def *bodies, int count,
                              const gw_system_spring_def *springs, int spring_count,
                              gw_vec3 gravity)
{
    gw_error error = {0};
    gw_system_def def = {.body_count = count,
                         .bodies = bodies,
                         .gravity = gravity,
                         .springs = springs,
                         .spring_count = spring_count};
    gw_system *s = gw_system_create(&def, &error);
    assert_non_null(s);
    return s;
}

/* Two free bodies of 1 and 3 kg on a spring: x = cos(w t), w^2 = k / (3/4 kg), momentum kept. */
static void two_bodies_swing_on_their_spring(void **state)
{
    (void)state;
    gw_system_body_def bodies[2] = {free_ball(1, 0), free_ball(3, 1)};
    gw_system_spring_def spring = {0, 1, {0, 0, 0}, {0, 0, 0}, 30, 0, 0.9};
    gw_system *s = make_sprung(bodies, 2, &spring, 1, gw_v3(0, 0, 0));
    assert_true(fabs(total(s) - 0.5 * 30 * 0.01) < 1e-12);
    run(s, NULL, 3, 1e-9);
    double q[2][6], u[2][6], stretch = 0.1 * cos(sqrt(40) * 3);
    for (int i = 0; i < 2; i++)
        gw_system_joint(s, i, q[i], u[i]);
    assert_true(fabs(1 + q[1][0] - q[0][0] - 0.9 - stretch) < 1e-9);
    assert_true(fabs(u[0][0] + 3 * u[1][0]) < 1e-12);
    gw_system_destroy(s);
}

/* A ball hangs on a spring and swings, the spring stiff, stiffer, or without length: it is a
 * pendulum about the spring's length, and hangs as deep as its weight pulls. */
static void springs_of_any_stiffness_hold_their_weight(void **state)
{
    (void)state;
    const double sizes[] = {1e2, 1e5, 1e8, 1e11};
    for (size_t i = 0; i < 4; i++)
        for (int long_one = 0; long_one < 2; long_one++) {
            double k = sizes[i], length = long_one ? 0.5 : 0;
            gw_system_body_def body = free_ball(1, 0);
            body.position[2] = -length;
            body.damping_linear = 20;
            body.damping_angular = 20;
            gw_system_spring_def spring = {0, GW_GROUND, {0, 0, 0}, {0, 0, 0}, k, 10, length};
            gw_system *s = make_sprung(&body, 1, &spring, 1, gw_v3(0.5, 0, -G));
            run(s, NULL, 12, 1e-7);
            double q[6], u[6];
            gw_system_joint(s, 0, q, u);
            double stretch = hypot(q[0], q[2]) - length, weight = hypot(0.5, G);
            assert_true(fabs(k * stretch - weight) < 1e-4 * weight + 1e-15 * k);
            assert_true(fabs(q[0] / q[2] + 0.5 / G) < 1e-4 || k * 1e-12 > 1e-3);
            gw_system_destroy(s);
        }
}

/* Off the centres of mass, of links of two trees, damped: the energy balance closes, and momentum
 * is kept. */
static void springs_close_their_books(void **state)
{
    (void)state;
    gw_system_body_def bodies[4] = {free_ball(1, 0), arm(0, 0.2), free_ball(2, 1), arm(2, -0.3)};
    gw_system_spring_def springs[2] = {{1, 3, {0.7, 0.1, 0}, {0.4, 0, 0.2}, 50, 0.3, 0.4},
                                       {0, 3, {0.1, 0.2, 0}, {0.9, 0, 0.1}, 20, 0.1, 0}};
    bodies[0].velocity[4] = 2;
    bodies[3].velocity[0] = 3;
    for (int stiff = 0; stiff < 2; stiff++) {
        springs[0].damping = stiff ? 1e4 : 0.3;
        gw_system *s = make_sprung(bodies, 4, springs, 2, gw_v3(0, 0, 0));
        gw_vec3 before = {0, 0, 0}, after = {0, 0, 0};
        gw_pose pose;
        gw_twist twist;
        for (int time = 0; time < 2; time++) {
            for (int i = 0; i < 4; i++) {
                gw_model_body(gw_system_model(s), i, &pose, &twist);
                gw_vec3 com = gw_rotate(pose.q, bodies[i].mass.com);
                gw_vec3 v = gw_add(twist.v, gw_cross(twist.w, com));
                gw_vec3 *sum = time ? &after : &before;
                *sum = gw_mul_add(*sum, bodies[i].mass.mass, v);
            }
            if (time == 0)
                run(s, NULL, 1, 1e-9);
        }
        assert_true(gw_distance(before, after) < (stiff ? 1e-5 : 1e-9));
        gw_system_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damper_of_any_size_ends_at_force_over_damping),
        cmocka_unit_test(spin_decays_as_its_damping_says),
        cmocka_unit_test(springs_keep_fourth_order_beside_stiff_joints),
        cmocka_unit_test(a_stiff_spring_bears_its_load),
        cmocka_unit_test(limits_never_give_energy),
        cmocka_unit_test(friction_holds_and_brakes),
        cmocka_unit_test(friction_turns_over_where_a_slider_turns_back),
        cmocka_unit_test(motors_do_what_their_law_says),
        cmocka_unit_test(a_stiff_servo_of_speed_passes_its_maximum),
        cmocka_unit_test(smooth_joint_forces_close_their_books),
        cmocka_unit_test(contacts_that_close_late_in_a_step_push),
        cmocka_unit_test(two_bodies_swing_on_their_spring),
        cmocka_unit_test(springs_of_any_stiffness_hold_their_weight),
        cmocka_unit_test(springs_close_their_books),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
