/*
 * Coulomb friction of joints: it stops what slides, holds what stands, and its energy balance
 * closes.
 */
#include "tests/unit/link_fixture.h"

#define INERTIA  0.3
#define FRICTION 0.8
/* what its bristle bends before it slips: 15/8 F/k, k = I (0.7 / dt)^2 */
#define SPAN (15. / 8 * FRICTION / (INERTIA * 490000))

/* One joint without weight. */
static serial_def wheel(gw_joint_kind kind)
{
    serial_def def = fixture_rods(1, 0, INERTIA, INERTIA, 0);
    def.links[0].kind = kind;
    def.links[0].friction = FRICTION;
    return def;
}

static double step(serial *chain)
{
    gw_step step;
    double before = serial_energy(chain);
    serial_step(chain, NULL, 1e-3, &step);
    assert_true(step.finite && step.dissipated >= -1e-12);
    near(serial_energy(chain) - before, step.motors - step.dissipated, 1e-11);
    return step.dissipated;
}

static double run(serial *chain, int steps)
{
    double lost = 0;
    for (int i = 0; i < steps; i++)
        lost += step(chain);
    return lost;
}

static void sliding_dissipates_friction_times_the_way(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        serial_def def = wheel((gw_joint_kind)kind);
        double v = -2;
        serial chain;
        serial_open(&chain, &def, NULL, &v);
        run(&chain, 100);
        double kinetic = chain.kinetic, way = chain.q[0];
        double lost = run(&chain, 500);
        way = fabs(chain.q[0] - way);
        near(lost, FRICTION * way, 1e-12);
        near(chain.kinetic, kinetic - FRICTION * way, 1e-12);
        near(chain.v[0], -2 + FRICTION / INERTIA * 0.6, 1e-12);
    }
}

/* I v^2 / (2 F), then it stands for good. */
static void a_sliding_joint_stops_as_coulomb_friction_predicts(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    double v = 2;
    serial chain;
    serial_open(&chain, &def, NULL, &v);
    run(&chain, 900);
    near(chain.q[0], INERTIA * 4 / (2 * FRICTION), 1e-12);
    double before = chain.q[0];
    run(&chain, 5000);
    near(chain.q[0], before, 1e-12);
    assert_true(chain.kinetic < 1e-25);
    before = chain.q[0];
    run(&chain, 5000);
    near(chain.q[0], before, 1e-13);
}

static void a_joint_below_friction_does_not_creep(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    serial chain;
    def.links[0].motor.torque = 0.98 * FRICTION;
    serial_open(&chain, &def, NULL, NULL);
    for (int i = 0; i < 20; i++) {
        run(&chain, 1000);
        near(chain.q[0], 0, 1e-14);
    }
}

static void a_joint_above_friction_accelerates_by_the_excess(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    serial chain;
    def.links[0].motor.torque = 1.5 * FRICTION;
    serial_open(&chain, &def, NULL, NULL);
    run(&chain, 100);
    double v = chain.v[0];
    run(&chain, 1000);
    near(chain.v[0] - v, 0.5 * FRICTION / INERTIA, 1e-12);
}

/* A joint whose velocity is what it is: no more than F either way, and no jump. */
static void friction_is_bounded_and_continuous(void **state)
{
    (void)state;
    serial_def def = wheel(GW_JOINT_REVOLUTE);
    for (double v = -3; v <= 3; v += 0.25) {
        double last = NAN;
        serial chain;
        serial_open(&chain, &def, NULL, &v);
        for (double q = -2 * SPAN; q <= 2 * SPAN; q += 1e-4 * SPAN) {
            double a;
            serial_put(&chain, &q, &v); /* the bristle stays where it was */
            gw_model_free_acceleration(chain.model, &a);
            assert_true(fabs(a * INERTIA) <= FRICTION * (1 + 1e-12));
            assert_true(isnan(last) || fabs(a - last) < 2e-3);
            last = a;
        }
    }
}

static int calls;

static gw_wrench counted(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    calls++;
    return constant(context, t, held, twist);
}

/* An arm that stands against its weight by friction alone, and costs no more than one without. */
static void an_arm_at_rest_needs_no_refinement(void **state)
{
    (void)state;
    serial_def def = fixture_table_one(9.81);
    gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
    gw_forces forces = {.at = counted, .context = &none};
    serial chain;
    gw_step step;
    def.held = 2;
    for (int i = 0; i < 3; i++)
        def.links[i].friction = 6;
    serial_open(&chain, &def, NULL, NULL);
    for (int i = 0; i < 2000; i++)
        serial_step(&chain, &forces, 1e-3, &step);
    calls = 0;
    for (int i = 0; i < 2000; i++)
        serial_step(&chain, &forces, 1e-3, &step);
    assert_int_equal(calls, 5 * 2000);
    for (int i = 0; i < 3; i++)
        near(chain.q[i], 0, 1e-12);
}

/* An edit makes the chain anew: it must not sag again, also where the edit is one of friction. */
static void friction_state_is_copied(void **state)
{
    (void)state;
    serial_def def = fixture_table_one(9.81);
    serial chain, next;
    for (int i = 0; i < 3; i++)
        def.links[i].friction = 6;
    def.links[1].motor.torque = 3;
    serial_open(&chain, &def, NULL, NULL);
    run(&chain, 700);
    for (double friction = 6; friction < 10; friction += 3) {
        for (int i = 0; i < 3; i++)
            def.links[i].friction = friction;
        serial_open(&next, &def, chain.q, chain.v);
        gw_system_continue_joints(next.system, chain.system,
                                  (gw_joint_before[3]){{.body = 0}, {.body = 1}, {.body = 2}});
        serial_read(&next);
        run(&next, 100);
        for (int i = 0; i < 3; i++)
            near(next.q[i], chain.q[i], 1e-9);
    }
}

static double chance(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / 8388608.0 - 1;
}

/* Pushed about at random; a copy that is put back moves on as if nothing had happened. */
static void friction_never_adds_energy(void **state)
{
    (void)state;
    serial_def def = fixture_skew(6);
    gw_wrench push = {{0, 0, 0}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    unsigned seed = 3;
    double most = 0;
    static unsigned char copy[10000];
    serial chain;
    for (int i = 0; i < 6; i++)
        def.links[i].friction = i == 4 ? 0 : 0.3 * i + 0.2;
    def.gravity = gw_v3(0, 0, -1);
    def.links[2].limited = def.links[5].limited = true;
    def.links[2].upper = def.links[5].upper = 0.5;
    serial_open(&chain, &def, NULL, NULL);
    for (int i = 0; i < 30000; i++) {
        gw_step step, again;
        double before = serial_energy(&chain);
        if (i % 40 == 0)
            push.f = gw_scale(25, gw_v3(chance(&seed), chance(&seed), chance(&seed)));
        memcpy(copy, chain.model, chain.model->ops->size);
        serial_step(&chain, &forces, 1e-3, &step);
        assert_true(step.finite && step.dissipated >= -1e-12);
        /* what substeps were out by together is paid back at once, from 2e-9 of the most motion
         * of the last seconds */
        most = fmax(chain.kinetic, 0.9999 * most);
        near(serial_energy(&chain) - before, step.work - step.dissipated,
             3e-9 * most + 1e-9 + step.energy_error);
        assert_true(step.energy_error <= 1e-8 * (1 + chain.kinetic)); /* at kinks of limits */
        if (i % 100 == 0) {
            memcpy(chain.model, copy, chain.model->ops->size);
            serial_step(&chain, &forces, 1e-3, &again);
            assert_true(again.work == step.work && again.dissipated == step.dissipated);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sliding_dissipates_friction_times_the_way),
        cmocka_unit_test(a_sliding_joint_stops_as_coulomb_friction_predicts),
        cmocka_unit_test(a_joint_below_friction_does_not_creep),
        cmocka_unit_test(a_joint_above_friction_accelerates_by_the_excess),
        cmocka_unit_test(friction_is_bounded_and_continuous),
        cmocka_unit_test(an_arm_at_rest_needs_no_refinement),
        cmocka_unit_test(friction_state_is_copied),
        cmocka_unit_test(friction_never_adds_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
