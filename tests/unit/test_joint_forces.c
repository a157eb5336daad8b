/*
 * Forces at a chain's joints: damping, motors, limits, and their energy.
 */
#include "tests/unit/link_fixture.h"

#define INERTIA 0.3

/* Sums over the reports of steps. */
typedef struct step_sums {
    double dissipated, motors;
} step_sums;

static step_sums run(serial *chain, int steps)
{
    step_sums sum = {0, 0};
    gw_step step;
    for (int i = 0; i < steps; i++) {
        serial_step(chain, NULL, 1e-3, &step);
        assert_true(step.finite && step.work == 0);
        sum.dissipated += step.dissipated;
        sum.motors += step.motors;
    }
    return sum;
}

/* A wheel: one joint, no weight. */
static serial_def wheel(gw_joint_kind kind)
{
    serial_def def = fixture_rods(1, 0, INERTIA, INERTIA, 0);
    def.links[0].kind = kind;
    return def;
}

static void damping_decays_exponentially_and_dissipates(void **state)
{
    (void)state;
    for (int kind = GW_JOINT_REVOLUTE; kind <= GW_JOINT_PRISMATIC; kind++) {
        serial_def def = wheel((gw_joint_kind)kind);
        double v = 2;
        serial chain;
        def.links[0].damping = 0.5;
        serial_open(&chain, &def, NULL, &v);
        step_sums sum = run(&chain, 1000);
        near(chain.v[0], 2 * exp(-0.5 / INERTIA), 1e-12);
        near(chain.q[0], 2 * INERTIA / 0.5 * (1 - exp(-0.5 / INERTIA)), 1e-12);
        near(sum.dissipated, 0.5 * INERTIA * 4 - chain.kinetic, 1e-12);
    }
}

static void constant_torque_speeds_up_evenly(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    serial chain;
    def.links[0].motor.torque = 0.6;
    serial_open(&chain, &def, NULL, NULL);
    step_sums sum = run(&chain, 1000);
    near(chain.q[0], 0.5 * 0.6 / INERTIA, 1e-12);
    near(sum.motors, 0.6 * chain.q[0], 1e-12);
    near(sum.motors, chain.kinetic, 1e-12);
}

static void a_servo_motor_settles_as_a_damped_oscillator(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    double w = 10, zeta = 0.2, wd = w * sqrt(1 - zeta * zeta), t = 1.3;
    serial chain;
    def.links[0].motor =
        (gw_motor){.stiffness = INERTIA * w * w, .target = 0.5, .damping = 2 * zeta * w * INERTIA};
    serial_open(&chain, &def, NULL, NULL);
    step_sums sum = run(&chain, 1300);
    double expected = 0.5 - 0.5 * exp(-zeta * w * t) * (cos(wd * t) + zeta * w / wd * sin(wd * t));
    near(chain.q[0], expected, 1e-9);
    near(sum.motors, chain.kinetic, 1e-9);
}

static void a_motors_force_is_clamped(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_PRISMATIC);
    serial chain;
    def.links[0].motor = (gw_motor){.rate = -50, .damping = 10, .max = 0.9};
    serial_open(&chain, &def, NULL, NULL);
    run(&chain, 1000);
    near(chain.v[0], -0.9 / INERTIA, 1e-12);
}

static void a_motor_drives_no_faster_than_its_speed(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    serial chain;
    def.links[0].motor = (gw_motor){.torque = 0.9, .speed = 2};
    serial_open(&chain, &def, NULL, NULL);
    run(&chain, 500);
    near(chain.v[0], 0.9 / INERTIA * 0.5, 1e-12);
    run(&chain, 5000);
    near(chain.v[0], 2, 1e-9);
    /* what is faster is not held back, and braking is at full strength */
    serial_put(&chain, chain.q, (double[]){3});
    run(&chain, 100);
    near(chain.v[0], 3, 1e-12);
    def.links[0].motor.torque = -0.9;
    gw_system_set_motor(chain.system, 0, 0, &def.links[0].motor);
    run(&chain, 100);
    near(chain.v[0], 3 - 0.9 / INERTIA * 0.1, 1e-12);
    /* any strength and any speed */
    def.links[0].motor = (gw_motor){.torque = 1e6, .speed = 0.1};
    gw_system_set_motor(chain.system, 0, 0, &def.links[0].motor);
    run(&chain, 3000);
    assert_true(chain.v[0] > 0 && isfinite(chain.q[0]));
}

static void a_motor_may_change_between_steps(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    serial chain;
    serial_open(&chain, &def, NULL, NULL);
    run(&chain, 10);
    assert_true(chain.v[0] == 0);
    def.links[0].motor.torque = 0.6;
    gw_system_set_motor(chain.system, 0, 0, &def.links[0].motor);
    run(&chain, 1000);
    near(chain.v[0], 0.6 / INERTIA, 1e-12);
}

static void springs_and_dampers_of_any_strength_hold_the_joint(void **state)
{
    (void)state;
    for (double strength = 1; strength <= 1e12; strength *= 1e3) {
        serial_def def = wheel(GW_JOINT_REVOLUTE);
        double v = 3;
        serial chain;
        def.links[0].mass.inertia.m[2][2] = 1e-4;
        def.links[0].damping = strength;
        serial_open(&chain, &def, NULL, &v);
        double start = serial_energy(&chain);
        step_sums sum = run(&chain, 100);
        near(serial_energy(&chain) + sum.dissipated, start, 1e-9 * start);
        assert_true(fabs(chain.v[0]) < 1e-6 && fabs(chain.q[0]) < 0.01);
        def.links[0].damping = 0;
        def.links[0].motor = (gw_motor){.stiffness = strength, .damping = 0.01 * sqrt(strength)};
        serial_open(&chain, &def, NULL, &v);
        run(&chain, 1000);
        assert_true(fabs(chain.v[0]) < 1e-6 && fabs(chain.q[0]) < 1e-6);
    }
}

/* ---- limits --------------------------------------------------------------------------------- */

static void a_joint_bounces_off_its_limit_with_closed_energy_balance(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    double v = 3, past = 0, lost = 0;
    serial chain;
    def.links[0].limited = true;
    def.links[0].lower = -0.3;
    def.links[0].upper = 0.3;
    serial_open(&chain, &def, NULL, &v);
    double start = serial_energy(&chain);
    for (int i = 0; i < 500; i++) {
        lost += run(&chain, 1).dissipated;
        past = fmax(past, fabs(chain.q[0]) - 0.3);
        near(serial_energy(&chain) + lost, start, 1e-9 * start);
    }
    /* as far as 3 rad/s against a spring of 700 rad/s, damped to a half, can go */
    assert_true(past > 0.001 && past <= 3. / 700);
    assert_true(lost > 0.5 * start && lost < start);
}

static void every_joint_stays_at_its_limits_under_weight(void **state)
{
    (void)state;
    serial_def def = fixture_skew(8);
    double q[GW_MAX_LINKS] = {0}, lost = 0;
    serial chain;
    for (int i = 0; i < 8; i++) {
        def.links[i].limited = true;
        def.links[i].lower = -0.2;
        def.links[i].upper = 0.1;
        def.links[i].damping = 0.1;
    }
    serial_open(&chain, &def, q, NULL);
    double start = serial_energy(&chain);
    for (int i = 0; i < 20000; i++) {
        lost += run(&chain, 1).dissipated;
        for (int k = 0; k < 8; k++)
            assert_true(chain.q[k] > -0.23 && chain.q[k] < 0.13);
    }
    near(serial_energy(&chain) + lost, start, 1e-9 * fabs(start));
    assert_true(chain.kinetic < 1e-6);
}

static void limits_are_as_stiff_as_a_step_bears_at_any_rate(void **state)
{
    (void)state;
    const double periods[] = {1. / 250, 1. / 1000, 1. / 8000};
    for (int p = 0; p < 3; p++) {
        serial_def def = fixture_rods(3, 0.3, 1, 0.01, 9.81);
        serial chain;
        gw_step step;
        def.dt = periods[p];
        for (int i = 0; i < 3; i++) {
            def.links[i].limited = true;
            def.links[i].lower = -0.4;
            def.links[i].upper = 0.4;
            def.links[i].damping = 0.05;
        }
        serial_open(&chain, &def, NULL, NULL);
        double start = serial_energy(&chain), lost = 0;
        for (double t = 0; t < 5; t += def.dt) {
            serial_step(&chain, NULL, def.dt, &step);
            lost += step.dissipated;
            assert_true(step.finite);
            near(serial_energy(&chain) + lost, start, 1e-8);
        }
        assert_true(chain.kinetic < 1e-3);
        assert_true(fabs(chain.q[0] + 0.4) < 0.03);
    }
}

/* ---- passivity ------------------------------------------------------------------------------ */

typedef struct hand {
    gw_wrench wrench;
} hand;

static gw_wrench holds(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const hand *h = context;
    (void)t, (void)held;
    return (gw_wrench){gw_mul_add(h->wrench.f, -2, twist->v),
                       gw_mul_add(h->wrench.t, -0.02, twist->w)};
}

/* -1 .. 1 */
static double chance(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 8388608.0 - 1;
}

static gw_vec3 anywhere(unsigned *state)
{
    double x = chance(state), y = chance(state), z = chance(state);
    return gw_v3(x, y, z);
}

static void no_tick_gains_energy_without_work(void **state)
{
    (void)state;
    serial_def def = fixture_skew(6);
    hand h = {{{0, 0, 0}, {0, 0, 0}}};
    gw_forces forces = {.at = holds, .context = &h};
    unsigned seed = 7;
    serial chain;
    for (int i = 0; i < 6; i++) {
        def.links[i].limited = i != 3;
        def.links[i].lower = -0.5;
        def.links[i].upper = 0.4;
        def.links[i].damping = i == 2 ? 50 : 0.05;
    }
    def.links[4].motor = (gw_motor){.stiffness = 300, .damping = 1, .max = 5};
    serial_open(&chain, &def, NULL, NULL);
    for (int i = 0; i < 30000; i++) {
        double before = serial_energy(&chain);
        gw_step step;
        if (i % 50 == 0)
            h.wrench = (gw_wrench){gw_scale(30, anywhere(&seed)), gw_scale(3, anywhere(&seed))};
        if (i % 700 == 0)
            def.links[4].motor.target = 0.6 * chance(&seed);
        serial_step(&chain, &forces, 1e-3, &step);
        assert_true(step.finite && step.dissipated >= -1e-12);
        near(serial_energy(&chain) - before, step.work + step.motors - step.dissipated, 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damping_decays_exponentially_and_dissipates),
        cmocka_unit_test(constant_torque_speeds_up_evenly),
        cmocka_unit_test(a_servo_motor_settles_as_a_damped_oscillator),
        cmocka_unit_test(a_motors_force_is_clamped),
        cmocka_unit_test(a_motor_drives_no_faster_than_its_speed),
        cmocka_unit_test(a_motor_may_change_between_steps),
        cmocka_unit_test(springs_and_dampers_of_any_strength_hold_the_joint),
        cmocka_unit_test(a_joint_bounces_off_its_limit_with_closed_energy_balance),
        cmocka_unit_test(every_joint_stays_at_its_limits_under_weight),
        cmocka_unit_test(no_tick_gains_energy_without_work),
        cmocka_unit_test(limits_are_as_stiff_as_a_step_bears_at_any_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
