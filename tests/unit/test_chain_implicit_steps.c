/*
 * Chains whose joints' springs and dampers no explicit formula bears.
 */
#include "tests/unit/link_fixture.h"

#define GRAVITY 9.81

static const double rates[] = {250, 1000, 8000};

/* Sums over the reports of steps. */
typedef struct step_sums {
    double work, dissipated, motors;
} step_sums;

static step_sums run(serial *chain, const gw_forces *forces, double seconds)
{
    step_sums sum = {0, 0, 0};
    gw_step step;
    double dt = chain->def->dt;
    for (int i = 0; i < seconds / dt - 0.5; i++) {
        serial_step(chain, forces, dt, &step);
        assert_true(step.finite);
        sum.work += step.work;
        sum.dissipated += step.dissipated;
        sum.motors += step.motors;
    }
    return sum;
}

/* Nothing came from nowhere: what is there is what was, and what came. */
static void balanced(const serial *chain, double start, const step_sums *sum, double tolerance)
{
    assert_true(sum->dissipated >= 0);
    near(serial_energy(chain), start + sum->work + sum->motors - sum->dissipated, tolerance);
}

/* dV/dq_i */
static double weight_at(const serial_def *def, const double *q, int joint)
{
    double at[GW_MAX_LINKS], e[2];
    for (int side = 0; side < 2; side++) {
        serial chain;
        memcpy(at, q, sizeof at);
        at[joint] += side ? 1e-5 : -1e-5;
        serial_open(&chain, def, at, NULL);
        e[side] = serial_energy(&chain);
    }
    return (e[1] - e[0]) / 2e-5;
}

/* Skew axes, slides among them, light links at the end: mobilities of 0.1 to 1000. */
static serial_def arm(double rate)
{
    serial_def def = fixture_skew(6);
    def.dt = 1 / rate;
    for (int i = 3; i < 6; i++) {
        def.links[i].mass.mass = 0.02;
        def.links[i].mass.com = gw_v3(0.02, 0, 0);
        def.links[i].mass.inertia = (gw_mat3){{{1e-4, 0, 0}, {0, 2e-4, 0}, {0, 0, 2e-4}}};
    }
    return def;
}

static void a_damper_of_any_strength_creeps_by_weight_over_damping(void **state)
{
    (void)state;
    for (size_t r = 0; r < 3; r++)
        for (double c = 1e3; c <= 1e9; c *= 1e2) {
            serial_def def = arm(rates[r]);
            double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
            serial chain;
            fixture_joints(q, v);
            for (int i = 0; i < 6; i++)
                def.links[i].damping = c;
            serial_open(&chain, &def, q, v);
            double start = serial_energy(&chain);
            step_sums sum = run(&chain, NULL, 0.2);
            for (int i = 0; i < 6; i++)
                near(c * chain.v[i], -weight_at(&def, chain.q, i), c > 1e3 ? 1e-3 : 0.1);
            balanced(&chain, start, &sum, 1e-9 * fabs(start));
        }
}

/* I v' = -c v, from decays that an explicit formula bears to those that it does not. */
static void a_decay_is_that_of_the_closed_form_at_any_strength(void **state)
{
    (void)state;
    for (double decay = 1; decay < 1e6; decay *= 1.7) {
        serial_def def = fixture_rods(1, 0, 1, 0.3, 0);
        double v = 2;
        serial chain;
        def.dt = 1e-3;
        def.links[0].damping = 0.3 * decay / def.dt;
        serial_open(&chain, &def, NULL, &v);
        step_sums sum = run(&chain, NULL, def.dt);
        near(chain.v[0], 2 * exp(-decay), 2e-3);
        near(chain.q[0], 2 * def.dt / decay * (1 - exp(-decay)), 2e-3 * 2 * def.dt);
        near(sum.dissipated, 0.6 - chain.kinetic, 1e-12);
    }
}

static void stiff_motors_hold_an_arm_against_its_weight(void **state)
{
    (void)state;
    for (size_t r = 0; r < 3; r++)
        for (double k = 1e5; k <= 1e9; k *= 1e2) {
            serial_def def = arm(rates[r]);
            double q[GW_MAX_LINKS], v[GW_MAX_LINKS], held = 0;
            serial chain;
            fixture_joints(q, v);
            for (int i = 0; i < 6; i++)
                def.links[i].motor =
                    (gw_motor){.target = q[i] + 0.1, .stiffness = k, .damping = 0.01 * k};
            serial_open(&chain, &def, q, NULL);
            double start = serial_energy(&chain);
            step_sums sum = run(&chain, NULL, 1);
            for (int i = 0; i < 6; i++) {
                double stretch = q[i] + 0.1 - chain.q[i];
                near(k * stretch, weight_at(&def, chain.q, i), 1e-3);
                held += 0.5 * k * 0.01;
            }
            assert_true(chain.kinetic < 1e-9);
            balanced(&chain, start, &sum, 1e-9 * held);
        }
}

/* No motor gives more than its spring held, however far beyond what a step resolves it swings. */
static void unresolved_springs_give_no_more_than_their_energy(void **state)
{
    (void)state;
    serial_def def = arm(1000);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], held = 0;
    serial chain;
    gw_step step;
    fixture_joints(q, v);
    for (int i = 0; i < 6; i++) {
        def.links[i].motor = (gw_motor){.target = q[i] + 0.2, .stiffness = 1e6};
        held += 0.5 * 1e6 * 0.04;
    }
    serial_open(&chain, &def, q, NULL);
    for (int i = 0; i < 2000; i++) {
        serial_step(&chain, NULL, def.dt, &step);
        assert_true(step.finite && chain.kinetic < 1.001 * held);
    }
}

/* Gives way where its most is less than the weight, as if that most were all it ever gave. */
static void a_stiff_motors_force_is_clamped(void **state)
{
    (void)state;
    for (size_t r = 0; r < 3; r++) {
        serial_def def = fixture_rods(1, 1, 1, 1.0 / 12, GRAVITY), plain = def;
        serial chain, falling;
        def.dt = plain.dt = 1 / rates[r];
        def.links[0].motor = (gw_motor){.stiffness = 1e8, .damping = 1e6, .max = 2};
        plain.links[0].motor.torque = 2;
        serial_open(&chain, &def, NULL, NULL);
        serial_open(&falling, &plain, NULL, NULL);
        double start = serial_energy(&chain);
        step_sums sum = run(&chain, NULL, 0.5);
        run(&falling, NULL, 0.5);
        near(chain.q[0], falling.q[0], 1e-3);
        near(sum.motors, 2 * chain.q[0], 1e-2);
        balanced(&chain, start, &sum, 1e-9);
    }
}

/* A servo of hundreds of N m at a light link travels at its speed, loaded or not, and arrives. */
static void a_stiff_motor_moves_at_its_speed(void **state)
{
    (void)state;
    for (size_t r = 0; r < 3; r++)
        for (int loaded = 0; loaded < 2; loaded++) {
            serial_def def = fixture_rods(1, 0.1, 0.1, 1e-4, loaded ? GRAVITY : 0);
            serial chain;
            def.dt = 1 / rates[r];
            def.links[0].motor =
                (gw_motor){.target = 1, .stiffness = 5e3, .damping = 50, .speed = 0.5};
            serial_open(&chain, &def, NULL, NULL);
            step_sums sum = run(&chain, NULL, 1);
            near(chain.v[0], 0.5, 0.03);
            near(chain.q[0], 0.5, 0.03);
            balanced(&chain, 0, &sum, 1e-9);
            run(&chain, NULL, 2);
            near(chain.q[0], 1, 1e-3);
            near(chain.v[0], 0, 1e-6);
        }
}

/* Control adds D^-1 J^T F: both together are what the coming step brings, nothing of 1/(c dt). */
static void the_implicit_acceleration_is_the_steps_mean(void **state)
{
    (void)state;
    serial_def def = arm(1000);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], free[GW_MAX_LINKS], by[GW_MAX_LINKS] = {0};
    gw_wrench push = {{3, -2, 5}, {0, 0, 0}}, at_origin = push;
    gw_forces forces = {.at = constant, .context = &push};
    serial chain;
    gw_pose held, link;
    gw_twist twist;
    fixture_joints(q, v);
    for (int i = 0; i < 6; i++)
        def.links[i].damping = 1e5;
    serial_open(&chain, &def, q, v);
    run(&chain, &forces, 0.1);
    chain.v[0] += 0.5; /* a hit */
    serial_put(&chain, chain.q, chain.v);
    gw_model_held(chain.model, &held, &twist);
    gw_model_body(chain.model, 5, &link, &twist);
    at_origin.t = gw_cross(gw_sub(held.p, link.p), push.f);
    gw_model_pull_back(chain.model, 5, &at_origin, by);
    gw_model_apply_inverse(chain.model, by, by);
    gw_model_free_acceleration(chain.model, free);
    memcpy(v, chain.v, sizeof v);
    run(&chain, &forces, def.dt);
    for (int i = 0; i < 6; i++)
        near(free[i] + by[i], (chain.v[i] - v[i]) / def.dt, 5);
    assert_true(fabs((chain.v[0] - v[0]) / def.dt + 500) < 5);
}

/* Speeds that no step follows fail it, and leave the chain at rest; they are no source of energy.
 */
static void a_step_with_unpayable_energy_fails(void **state)
{
    (void)state;
    for (double speed = 1e4; speed <= 1e12; speed *= 1e2) {
        serial_def def = arm(1000);
        double q[GW_MAX_LINKS] = {0}, v[GW_MAX_LINKS] = {speed};
        serial chain;
        gw_step step;
        def.links[0].limited = true;
        def.links[0].lower = -1;
        def.links[0].upper = 1;
        serial_open(&chain, &def, q, v);
        double start = 11 * serial_energy(&chain);
        for (int i = 0; i < 20; i++) {
            double kinetic = chain.kinetic;
            serial_step(&chain, NULL, def.dt, &step);
            assert_true(serial_energy(&chain) <= start);
            if (!step.finite)
                assert_true(chain.kinetic == 0 && step.dissipated == kinetic);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damper_of_any_strength_creeps_by_weight_over_damping),
        cmocka_unit_test(a_decay_is_that_of_the_closed_form_at_any_strength),
        cmocka_unit_test(stiff_motors_hold_an_arm_against_its_weight),
        cmocka_unit_test(unresolved_springs_give_no_more_than_their_energy),
        cmocka_unit_test(a_stiff_motors_force_is_clamped),
        cmocka_unit_test(a_stiff_motor_moves_at_its_speed),
        cmocka_unit_test(a_step_with_unpayable_energy_fails),
        cmocka_unit_test(the_implicit_acceleration_is_the_steps_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
