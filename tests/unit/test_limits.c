/*
 * The last gate: whatever control asks for, a device is commanded finite values within the tool's
 * limits and its own, and a command that is cut keeps its direction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/haptics/limits.h"
#include "rt/sim/device_slot.h"
#include "tests/random.h"
#include "tests/unit/scenario_fixture.h"

#define TICKS 400

/* ---- the gate by itself --------------------------------------------------------------------- */

/* From ordinary sizes to jumps of 1e300, now and then zero, infinite or no number. */
static double any_number(unsigned long long *state)
{
    double sign = random_uniform(state, 0, 1) < 0.5 ? -1 : 1, kind = random_uniform(state, 0, 1);
    if (kind < 0.01)
        return NAN;
    if (kind < 0.02)
        return sign * INFINITY;
    if (kind < 0.1)
        return 0;
    return sign * pow(10, kind < 0.7 ? 6 * random_uniform(state, 0, 1) - 3
                                     : 616 * random_uniform(state, 0, 1) - 308);
}

static gw_vec3 any_vector(unsigned long long *state)
{
    double x = any_number(state), y = any_number(state);
    return gw_v3(x, y, any_number(state));
}

/* Length without overflow. */
static double length_of(gw_vec3 a)
{
    return hypot(hypot(a.x, a.y), a.z);
}

/* What came out of `in`: within `most`, in the same direction, and as it was where it may be. */
static void assert_gated(gw_vec3 in, const double out[3], double most, bool *cut)
{
    gw_vec3 o = {out[0], out[1], out[2]};
    double before = length_of(in), after = length_of(o);
    assert_true(gw_finite3(o));
    assert_true(!(most > 0) || after <= most * (1 + 2e-12));
    if (!(most > 0) || before <= most) {
        assert_memory_equal(&in, &o, sizeof o);
        return;
    }
    *cut = *cut || before > most * (1 + 2e-12);
    assert_true(after >= most * (1 - 1e-12));
    for (int i = 0; i < 3; i++) {
        double a = i == 0 ? in.x : i == 1 ? in.y : in.z, part = a / before;
        assert_true(fabs(out[i] / after - part) < 1e-12);
    }
}

static void commands_are_finite_within_limits_and_keep_their_direction(void **state)
{
    unsigned long long random = 1;
    int cuts = 0, infinite = 0;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        gw_vec3 a = any_vector(&random), b = any_vector(&random);
        double most_a = random_uniform(&random, 0, 1) < 0.2
                            ? 0
                            : pow(10, 8 * random_uniform(&random, 0, 1) - 4);
        double most_b = random_uniform(&random, 0, 1) < 0.2
                            ? 0
                            : pow(10, 8 * random_uniform(&random, 0, 1) - 4);
        bool by_force = i % 2, finite = gw_finite3(a) && gw_finite3(b), cut = false;
        gw_command_limits limits = by_force ? (gw_command_limits){.force = most_a, .torque = most_b}
                                            : (gw_command_limits){.speed = most_a, .spin = most_b};
        gw_gated_command out = by_force ? gw_gate_wrench(&(gw_wrench){a, b}, &limits, true)
                                        : gw_gate_velocity(&(gw_twist){a, b}, &limits, true);
        const gw_vec3 zero = {0, 0, 0};
        assert_int_equal(out.finite, finite);
        assert_int_equal(out.command.engaged, finite || !by_force);
        assert_gated(finite ? a : zero, by_force ? out.command.f : out.command.v, most_a, &cut);
        assert_gated(finite ? b : zero, by_force ? out.command.t : out.command.w, most_b, &cut);
        assert_true(out.limited || !cut);
        cuts += out.limited;
        infinite += !finite;
    }
    assert_true(cuts > 10000 && infinite > 1000);
}

static void the_stricter_limit_holds_in_device_space(void **state)
{
    (void)state;
    gw_command_limits tool = {.force = 4, .torque = 2, .speed = 0.5};
    gw_device_info device = {.force_max = 3, .torque_max = 0.1, .spin_max = 2};
    gw_command_limits l = gw_command_limits_of(&tool, 0.5, &device);
    assert_true(l.force == 2 && l.torque == 0.1 && l.speed == 0.25 && l.spin == 2);
    l = gw_command_limits_of(&(gw_command_limits){0}, 2, &(gw_device_info){0});
    assert_true(l.force == 0 && l.torque == 0 && l.speed == 0 && l.spin == 0);
}

/* ---- every control -------------------------------------------------------------------------- */

/* The driver under test forwards, and keeps what it was commanded. */
static const gw_driver *inner;
static gw_driver spy;
static gw_device_command last;

static void spy_write(gw_driver_device *device, const gw_device_command *command)
{
    last = *command;
    inner->write(device, command);
}

static gw_device_slot *spied(const char *driver, const char *setting, double value)
{
    gw_device device;
    memset(&device, 0, sizeof device);
    strcpy(device.id, "device");
    strcpy(device.driver, driver);
    device.setting_count = setting ? 1 : 0;
    if (setting)
        strcpy(device.settings[0].name, setting);
    device.settings[0].value = value;
    gw_device_slot *slot = gw_device_slot_open(&device, 1000, NULL);
    assert_non_null(slot);
    inner = slot->driver;
    spy = *inner;
    spy.write = spy_write;
    slot->driver = &spy;
    return slot;
}

typedef struct played {
    double force, torque, speed, spin; /* the most that was commanded */
    uint64_t limited;
    double way; /* of the tool (m): to tell two plays apart */
} played;

static double length3(const double a[3])
{
    return length_of(gw_v3(a[0], a[1], a[2]));
}

/* A body on a plane whose hand pushes hard, jumps, and now and then pushes beyond all numbers. */
static played play(gw_device_slot *slot, const gw_impedance_def *def, gw_command_limits limits)
{
    played out = {0};
    gw_guided_def body = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    gw_scenario *scenario = fixture_scenario(&body, slot, 1000);
    scenario->tools[0].limits = limits;
    scenario->tools[0].renders = def != NULL;
    if (def)
        scenario->tools[0].rendering = *def;
    gw_simulation *s = gw_simulation_create(scenario, NULL);
    unsigned long long random = 7;
    assert_non_null(s);
    fixture_state(s, GW_RUNNING);
    for (int k = 0; k < TICKS; k++) {
        gw_command retired, push = {.kind = GW_COMMAND_PUSH};
        double size = k == 200 ? 1e200 : k == 300 ? NAN : 40;
        push.push.f = gw_v3(size * (random_uniform(&random, 0, 1) - 0.3),
                            size * random_uniform(&random, 0, 1), 5);
        push.push.t.z = random_uniform(&random, 0, 1) - 0.5;
        gw_simulation_apply(s, &push, &retired);
        gw_simulation_tick(s);
        for (int i = 0; i < 3; i++)
            assert_true(isfinite(last.f[i]) && isfinite(last.t[i]) && isfinite(last.v[i]) &&
                        isfinite(last.w[i]));
        out.force = fmax(out.force, length3(last.f));
        out.torque = fmax(out.torque, length3(last.t));
        out.speed = fmax(out.speed, length3(last.v));
        out.spin = fmax(out.spin, length3(last.w));
        if (k < 200) /* what an ordinary hand did */
            out.way = gw_simulation_snapshot(s)->tools[0].world_from_tool.p.x;
    }
    out.limited = gw_simulation_snapshot(s)->limited_ticks;
    gw_simulation_destroy(s);
    gw_device_slot_close(slot);
    return out;
}

static void assert_within(double x, double most)
{
    assert_true(x <= most * (1 + 1e-11));
    assert_true(x > 0);
}

static void an_admittance_device_keeps_the_tools_limits_of_speed(void **state)
{
    (void)state;
    played free = play(spied("sim", NULL, 0), NULL, (gw_command_limits){0});
    played held =
        play(spied("sim", NULL, 0), NULL, (gw_command_limits){.speed = 0.05, .spin = 0.2});
    assert_true(free.speed > 0.5 && free.spin > 0.4);
    assert_within(held.speed, 0.05);
    assert_within(held.spin, 0.2);
    assert_true(held.limited > 100 && held.way != free.way);
}

static void an_admittance_device_keeps_its_own(void **state)
{
    (void)state;
    played p = play(spied("sim", "speed_max", 0.1), NULL, (gw_command_limits){0});
    assert_within(p.speed, 0.1);
    assert_true(p.limited > 100);
}

static void every_control_of_an_impedance_device_keeps_the_limits(void **state)
{
    static const gw_control_law laws[] = {GW_LAW_IMPEDANCE, GW_LAW_PENALTY, GW_LAW_COUPLING,
                                          GW_LAW_FOUR_CHANNEL};
    (void)state;
    for (int i = 0; i < 4; i++) {
        gw_impedance_def def = gw_impedance_def_default();
        def.kind = laws[i];
        def.passivity = true;
        played free = play(spied("sim-impedance", NULL, 0), &def, (gw_command_limits){0});
        played tool = play(spied("sim-impedance", NULL, 0), &def,
                           (gw_command_limits){.force = 0.05, .torque = 0.001});
        played device =
            play(spied("sim-impedance", "force_max", 0.3), &def, (gw_command_limits){0});
        assert_true(free.force > 0.5);
        assert_within(tool.force, 0.05);
        assert_within(tool.torque, 0.001);
        assert_within(device.force, 0.3);
        assert_true(tool.limited > 10 && tool.way != free.way);
    }
}

static void limits_that_are_not_reached_change_and_count_nothing(void **state)
{
    (void)state;
    gw_impedance_def def = gw_impedance_def_default();
    gw_command_limits wide = {.force = 1e9, .torque = 1e9, .speed = 1e9, .spin = 1e9};
    for (int i = 0; i < 2; i++) {
        const char *driver = i ? "sim-impedance" : "sim";
        played a = play(spied(driver, NULL, 0), i ? &def : NULL, (gw_command_limits){0});
        played b = play(spied(driver, NULL, 0), i ? &def : NULL, wide);
        assert_true(a.limited == 0);
        assert_true(b.limited <= TICKS - 200); /* the push of 1e200 N */
        assert_true(a.way == b.way);
    }
}

/* The hand's own push is not what is limited at an impedance device. */
static void a_strong_hand_alone_is_no_limited_tick(void **state)
{
    (void)state;
    gw_impedance_def def = gw_impedance_def_default();
    gw_guided_def body = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    gw_device_slot *slot = spied("sim-impedance", "inertia", 0.001);
    gw_scenario *scenario = fixture_scenario(&body, slot, 1000);
    scenario->tools[0].limits.force = 30;
    scenario->tools[0].renders = true;
    scenario->tools[0].rendering = def;
    gw_simulation *s = gw_simulation_create(scenario, NULL);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push.f = {50, 0, 0}};
    fixture_state(s, GW_RUNNING);
    gw_simulation_apply(s, &push, &retired);
    for (int k = 0; k < 50; k++)
        gw_simulation_tick(s);
    const gw_snapshot *now = gw_simulation_snapshot(s);
    assert_true(gw_norm(now->tools[0].hand.f) == 50 && gw_norm(now->tools[0].command.f) < 30);
    assert_int_equal(now->limited_ticks, 0);
    gw_simulation_destroy(s);
    gw_device_slot_close(slot);
}

/* A speed limit is kept by the way of every tick, not by its end alone: the device keeps up. */
static void a_device_keeps_up_with_a_tool_at_its_limit_of_speed(void **state)
{
    (void)state;
    gw_guided_def body = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    gw_device_slot *slot = spied("sim", NULL, 0);
    gw_scenario *scenario = fixture_scenario(&body, slot, 1000);
    scenario->tools[0].limits.speed = 0.1;
    gw_simulation *s = gw_simulation_create(scenario, NULL);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push.f = {4, 0, 0}};
    fixture_state(s, GW_RUNNING);
    gw_simulation_apply(s, &push, &retired);
    for (int k = 0; k < 5000; k++)
        gw_simulation_tick(s);
    const gw_tool_state *t = &gw_simulation_snapshot(s)->tools[0];
    assert_true(t->world_from_tool.p.x > 0.55 && t->error_p < 1e-5);
    assert_true(gw_norm(t->twist.v) <= 0.1 && gw_norm(t->twist.v) > 0.098);
    gw_simulation_destroy(s);
    gw_device_slot_close(slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_finite_within_limits_and_keep_their_direction),
        cmocka_unit_test(the_stricter_limit_holds_in_device_space),
        cmocka_unit_test(an_admittance_device_keeps_the_tools_limits_of_speed),
        cmocka_unit_test(an_admittance_device_keeps_its_own),
        cmocka_unit_test(every_control_of_an_impedance_device_keeps_the_limits),
        cmocka_unit_test(limits_that_are_not_reached_change_and_count_nothing),
        cmocka_unit_test(a_strong_hand_alone_is_no_limited_tick),
        cmocka_unit_test(a_device_keeps_up_with_a_tool_at_its_limit_of_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
