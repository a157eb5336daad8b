/*
 * A system's local model against the exact one, its own energy balance, and what it costs in
 * energy.
 */
#include "tests/unit/link_fixture.h"

static double set_local(serial *s, const gw_local_model *local)
{
    double brought = gw_system_set_local_model(s->system, local);
    serial_read(s);
    return brought;
}

/* By an exact system of its own. */
static double true_energy(serial *exact, const serial *s)
{
    serial_put(exact, s->q, s->v);
    return serial_energy(exact);
}

/* ---- at the look ---------------------------------------------------------------------------- */

/* Weight, motors, damping and inertia are the exact ones; velocity is in damping alone. */
static void agrees_where_it_was_looked_at(int count)
{
    serial_def def = fixture_skew(count);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], a[GW_MAX_LINKS], b[GW_MAX_LINKS], f[GW_MAX_LINKS];
    serial exact, chain;
    gw_local_model local;
    fixture_joints(q, v);
    serial_open(&exact, &def, q, v);
    gw_local_model_make(exact.system, 0.01, &local);
    def.links[count / 2].damping = 0.3;
    def.links[0].motor = (gw_motor){.torque = 0.7, .stiffness = 5, .target = 1};
    serial_open(&chain, &def, q, v);
    near(set_local(&chain, &local), 0, 1e-13 * exact.kinetic);
    for (int i = 0; i < count; i++)
        f[i] = cos(i);
    gw_model_apply_inverse(exact.model, f, a);
    gw_model_apply_inverse(chain.model, f, b);
    for (int i = 0; i < count; i++)
        near(b[i], a[i], 1e-10 * fmax(1, fabs(a[i])));
    gw_model_free_acceleration(chain.model, b);
    serial_close(&exact);
    serial_open(&exact, &def, q, NULL);
    gw_model_free_acceleration(exact.model, a);
    for (int i = 0; i < count; i++)
        f[i] = -def.links[i].damping * v[i];
    gw_model_apply_inverse(exact.model, f, f);
    for (int i = 0; i < count; i++)
        near(b[i], a[i] + f[i], 1e-10 * fmax(1, fabs(a[i])));
    serial_close(&exact);
    serial_close(&chain);
}

static void a_local_model_has_the_exact_inertia_and_weight(void **state)
{
    (void)state;
    agrees_where_it_was_looked_at(1);
    agrees_where_it_was_looked_at(7);
    agrees_where_it_was_looked_at(64);
}

static void kinematics_are_those_of_the_present_configuration(void **state)
{
    (void)state;
    serial_def def = fixture_skew(7);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], a[GW_MAX_LINKS][6], b[GW_MAX_LINKS][6], drift[2][6];
    serial exact, chain;
    gw_local_model local;
    gw_pose held[2];
    gw_twist twist[2];
    fixture_joints(q, v);
    serial_open(&chain, &def, NULL, NULL);
    gw_local_model_make(chain.system, 0.01, &local);
    serial_put(&chain, q, v);
    set_local(&chain, &local);
    serial_open(&exact, &def, q, v);
    gw_model_held(exact.model, &held[0], &twist[0]);
    gw_model_held(chain.model, &held[1], &twist[1]);
    gw_model_jacobian(exact.model, a, drift[0]);
    gw_model_jacobian(chain.model, b, drift[1]);
    assert_memory_equal(&held[0], &held[1], sizeof held[0]);
    assert_memory_equal(&twist[0], &twist[1], sizeof twist[0]);
    assert_memory_equal(a, b, 7 * sizeof a[0]);
    assert_memory_equal(drift[0], drift[1], sizeof drift[0]);
    serial_close(&exact);
    serial_close(&chain);
}

/* ---- energy --------------------------------------------------------------------------------- */

/* A hand that sways by so many newtons. */
typedef struct swaying {
    double newtons, t;
} swaying;

static gw_wrench sway(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const swaying *hand = context;
    double at = hand->t + t, f = hand->newtons;
    (void)held, (void)twist;
    return (gw_wrench){{f * cos(6 * at), f * sin(4 * at), 0}, {0, 0, 0}};
}

typedef struct error {
    double worst;      /* of the true energy against the hand's work, of the peak kinetic energy */
    double last;       /* the same, when it ended */
    double energy_off; /* of the model's own measure against work, losses and what looks brought */
    double edits;      /* what looks brought */
    double exact;      /* of the exact chain, for comparison */
    double strain;     /* the farthest from a look */
    double apart;      /* of joints from the exact chain's (rad) */
} error;

static double raise(double *most, double value)
{
    *most = fmax(*most, fabs(value));
    return fabs(value);
}

/* Runs the chain by looks `ticks` apart, each at where it was a tick before, as the loop does. */
static error run(const serial_def *def, const double *q, double newtons, int ticks, int steps)
{
    swaying hand = {newtons, 0};
    gw_forces forces = {.at = sway, .context = &hand};
    serial exact, chain, seen, check;
    gw_local_model local;
    gw_step step;
    error e = {0};
    serial_open(&exact, def, q, NULL);
    serial_open(&chain, def, q, NULL);
    serial_open(&seen, def, q, NULL);
    serial_open(&check, def, q, NULL);
    gw_local_model_make(seen.system, (2 * ticks + 1) * 1e-3, &local);
    set_local(&chain, &local);
    double start = serial_energy(&exact), peak = 0, work = 0, exact_work = 0;
    for (int i = 0; i < steps; i++, hand.t += 1e-3) {
        if (i > 0 && i % ticks == 0) {
            raise(&e.strain, gw_system_local_model_validity(chain.system));
            gw_local_model_make(seen.system, (2 * ticks + 1) * 1e-3, &local);
            e.edits += set_local(&chain, &local);
        }
        serial_put(&seen, chain.q, chain.v);
        serial_step(&chain, &forces, 1e-3, &step);
        assert_true(step.finite);
        work += step.work;
        serial_step(&exact, &forces, 1e-3, &step);
        exact_work += step.work;
        e.last = raise(&e.worst, true_energy(&check, &chain) - start - work);
        raise(&e.energy_off, serial_energy(&chain) - start - work - e.edits);
        raise(&e.exact, serial_energy(&exact) - start - exact_work);
        raise(&peak, seen.kinetic);
        for (int k = 0; k < def->count; k++)
            raise(&e.apart, chain.q[k] - exact.q[k]);
    }
    e.worst /= peak, e.last /= peak, e.edits /= peak, e.energy_off /= peak, e.exact /= peak;
    print_message(
        "%5d Hz: true energy %.2g, looks %.2g, own balance %.1g, exact %.1g, strain %.2f, "
        "joints apart %.2g rad\n",
        1000 / ticks, e.worst, e.edits, e.energy_off, e.exact, e.strain, e.apart);
    serial_close(&exact);
    serial_close(&chain);
    serial_close(&seen);
    serial_close(&check);
    return e;
}

/* Mechanisms VI: at the middle link, 0.4 N and ten times as much, that sway. */
static error by_hand(double newtons, int ticks)
{
    serial_def def = fixture_table_one(0);
    double q[3] = {-GW_PI / 4, GW_PI / 6, -GW_PI / 6};
    def.held = 1;
    def.link_from_held.p.x = 0.021;
    return run(&def, q, newtons, ticks, 3000);
}

static void energy_balances_close_between_and_across_models(void **state)
{
    (void)state;
    serial_def def = fixture_skew(6);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    fixture_joints(q, v);
    error e = run(&def, q, 20, 5, 500);
    assert_true(e.energy_off <= 1e-11);
    assert_true(fabs(e.edits) > 1e-3);
    assert_true(by_hand(4, 20).energy_off <= 1e-11);
}

static void errors_are_small_under_a_hand_at_any_rate(void **state)
{
    (void)state;
    const int ticks[3] = {1, 5, 20};
    for (int i = 0; i < 3; i++) {
        error gentle = by_hand(0.4, ticks[i]), strong = by_hand(4, ticks[i]);
        assert_true(gentle.worst <= 0.006 && gentle.worst >= 0.001);
        assert_true(strong.worst <= 0.04 && strong.worst >= 0.01);
        assert_true(gentle.exact <= 1e-12 && strong.exact <= 1e-12);
        assert_true(gentle.strain <= 1 && strong.strain <= 1);
        assert_true(gentle.apart <= 0.025);
        /* what looks bring is all of it */
        near(fabs(gentle.edits), gentle.last, 0.02 * gentle.last);
    }
}

/* Far from what it is for: a chain that whirls loses or gains as much as it has. */
static void a_swinging_chain_does_not_keep_its_energy(void **state)
{
    (void)state;
    serial_def def = fixture_table_one(9.81);
    double rates[2] = {0};
    for (int i = 0; i < 2; i++) {
        error e = run(&def, NULL, 0, i == 0 ? 5 : 20, 10000);
        rates[i] = e.worst;
        assert_true(e.exact <= 1e-9);
        assert_true(e.strain <= 1);
    }
    assert_true(rates[0] >= 0.1 && rates[0] <= 0.8);
    assert_true(rates[1] >= 0.1 && rates[1] <= 1.2);
}

/* 1/2 v . (D - D^) v + V - V^ - G^ (q - q^) */
static void a_new_model_changes_energy_by_the_difference_of_measures(void **state)
{
    (void)state;
    serial_def def = fixture_skew(6);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    serial exact, chain;
    gw_local_model old, new;
    fixture_joints(q, v);
    serial_open(&exact, &def, q, v);
    gw_local_model_make(exact.system, 0.01, &old);
    for (int i = 0; i < 6; i++)
        q[i] += 0.05 * cos(i);
    serial_put(&exact, q, v);
    serial_open(&chain, &def, q, v);
    gw_local_model_make(exact.system, 0.01, &new);
    double to_old = set_local(&chain, &old);
    near(serial_energy(&chain), serial_energy(&exact) + to_old, 1e-12 * exact.kinetic);
    assert_true(fabs(to_old) > 1e-3 * exact.kinetic);
    near(set_local(&chain, &new), -to_old, 1e-12 * exact.kinetic);
    near(set_local(&chain, NULL), 0, 1e-12 * exact.kinetic);
    assert_true(chain.kinetic == exact.kinetic && chain.potential == exact.potential);
    serial_close(&exact);
    serial_close(&chain);
}

/* ---- how far it serves ---------------------------------------------------------------------- */

static void two_periods_stay_within_reach(void **state)
{
    (void)state;
    for (int count = 1; count <= 16; count *= 2) {
        serial_def def = fixture_skew(count);
        double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
        gw_wrench push = {{30, -20, 30}, {2, -3, 1}};
        gw_forces forces = {.at = constant, .context = &push};
        serial chain;
        gw_local_model local;
        gw_step step;
        fixture_joints(q, v);
        serial_open(&chain, &def, q, v);
        assert_true(gw_system_local_model_validity(chain.system) == 0);
        gw_local_model_make(chain.system, 0.01, &local);
        set_local(&chain, &local);
        assert_true(gw_system_local_model_validity(chain.system) == 0);
        for (int i = 0; i < 10; i++)
            serial_step(&chain, &forces, 1e-3, &step);
        assert_true(gw_system_local_model_validity(chain.system) > 0.1 &&
                    gw_system_local_model_validity(chain.system) <= 1);
        for (int i = 0; i < 90; i++)
            serial_step(&chain, &forces, 1e-3, &step);
        assert_true(gw_system_local_model_validity(chain.system) > 1);
        serial_close(&chain);
    }
}

static void a_model_is_copied_by_its_bytes(void **state)
{
    (void)state;
    serial_def def = fixture_skew(9);
    serial chain, copy;
    gw_local_model local, partial;
    gw_step step;
    serial_open(&chain, &def, NULL, NULL);
    gw_local_model_make(chain.system, 0.01, &local);
    assert_true(gw_local_model_bytes(9) < gw_local_model_bytes(10));
    assert_true(gw_local_model_bytes(GW_MAX_LOCAL_LINKS) == sizeof local);
    memset(&partial, 0xa5, sizeof partial);
    memcpy(&partial, &local, gw_local_model_bytes(9));
    serial_open(&copy, &def, NULL, NULL);
    set_local(&chain, &local);
    set_local(&copy, &partial);
    for (int i = 0; i < 20; i++) {
        serial_step(&chain, NULL, 1e-3, &step);
        serial_step(&copy, NULL, 1e-3, &step);
    }
    assert_memory_equal(chain.q, copy.q, 9 * sizeof chain.q[0]);
    assert_true(chain.kinetic > 0);
    serial_close(&chain);
    serial_close(&copy);
}

static void limits_and_velocity_scaling_act_on_a_local_model(void **state)
{
    (void)state;
    serial_def def = fixture_table_one(0);
    double v[3] = {3, 0, 0}, lost = 0;
    serial chain, seen;
    gw_local_model local;
    gw_step step;
    def.links[0].limited = true;
    def.links[0].lower = -0.2;
    def.links[0].upper = 0.2;
    serial_open(&seen, &def, NULL, v);
    serial_open(&chain, &def, NULL, v);
    gw_local_model_make(seen.system, 0.011, &local);
    set_local(&chain, &local);
    double start = serial_energy(&chain), edits = 0;
    for (int i = 0; i < 500; i++) {
        if (i % 5 == 4) {
            gw_local_model_make(seen.system, 0.011, &local);
            edits += set_local(&chain, &local);
        }
        serial_put(&seen, chain.q, chain.v);
        serial_step(&chain, NULL, 1e-3, &step);
        lost += step.dissipated;
        assert_true(fabs(chain.q[0]) < 0.23);
    }
    assert_true(lost > 0.1 * start);
    near(serial_energy(&chain), start + edits - lost, 1e-9 * start);
    double before = chain.kinetic;
    near(gw_system_scale_velocity(chain.system, 0.5), 0.75 * before, 1e-14 * before);
    serial_close(&seen);
    serial_close(&chain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_local_model_has_the_exact_inertia_and_weight),
        cmocka_unit_test(kinematics_are_those_of_the_present_configuration),
        cmocka_unit_test(energy_balances_close_between_and_across_models),
        cmocka_unit_test(errors_are_small_under_a_hand_at_any_rate),
        cmocka_unit_test(a_swinging_chain_does_not_keep_its_energy),
        cmocka_unit_test(a_new_model_changes_energy_by_the_difference_of_measures),
        cmocka_unit_test(two_periods_stay_within_reach),
        cmocka_unit_test(a_model_is_copied_by_its_bytes),
        cmocka_unit_test(limits_and_velocity_scaling_act_on_a_local_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
