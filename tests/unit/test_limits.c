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

/* The gate's result for `in`: within `most`, in the same direction, unchanged where allowed. */
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

static double any_limit(unsigned long long *random)
{
    double size = pow(10, 8 * random_uniform(random, 0, 1) - 4);
    return random_uniform(random, 0, 1) < 0.2 ? 0 : size;
}

static void commands_are_finite_within_limits_and_keep_their_direction(void **state)
{
    unsigned long long random = 1;
    int cuts = 0, infinite = 0;
    (void)state;
    for (int i = 0; i < 200000; i++) {
        gw_vec3 a = any_vector(&random), b = any_vector(&random);
        double most_a = any_limit(&random), most_b = any_limit(&random);
        bool by_force = i % 2, finite = gw_finite3(a) && gw_finite3(b), cut = false;
        gw_command_limits limits = by_force ? (gw_command_limits){.force = most_a, .torque = most_b}
                                            : (gw_command_limits){.speed = most_a, .spin = most_b};
        gw_command_gate gate = {0};
        gw_gate_input in = {.dt = 1e-3, .engaged = true};
        gw_gated_command out = by_force ? gw_gate_wrench(&gate, &(gw_wrench){a, b}, &limits, &in)
                                        : gw_gate_velocity(&gate, &(gw_twist){a, b}, &limits, &in);
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

static gw_vec3 vector_of(const double a[3])
{
    return gw_v3(a[0], a[1], a[2]);
}

/* `out` is `along` times something from 0 to 1, to rounding of `size`. */
static void assert_along(gw_vec3 out, gw_vec3 along, double size)
{
    double whole = length_of(along), got = length_of(out);
    if (got <= 1e-9 * size)
        return;
    assert_true(got <= whole * (1 + 1e-9) + 1e-12 * size);
    gw_vec3 n = gw_v3(along.x / whole, along.y / whole, along.z / whole);
    gw_vec3 off = gw_sub(out, gw_scale(got, n));
    assert_true(length_of(off) <= 1e-6 * got + 1e-11 * size);
}

/* One of a command's vectors through the whole chain: within its limit, and changed by no more than
 * its rate allows, towards what was asked for. `last`: what went out before; `left`: what the
 * oscillation gate leaves, and where there is no limit the soft engagement. */
static void assert_chain(gw_vec3 asked, double left, bool guarded, gw_vec3 out, gw_vec3 last,
                         double most, double rate, double dt)
{
    gw_vec3 aim = asked, change = gw_sub(out, last);
    double size = fmax(length_of(last), length_of(out));
    if (rate > 0 || guarded) /* lengths beyond have no squares */
        gw_clamp_norm(&aim, 1e150);
    aim = gw_scale(left, aim);
    gw_clamp_norm(&aim, most);
    assert_true(!(most > 0) || length_of(out) <= most * (1 + 1e-11));
    assert_true(!(rate > 0) || length_of(change) <= rate * dt * (1 + 1e-9) + 1e-12 * size);
    if (rate > 0)
        assert_along(change, gw_sub(aim, last), fmax(size, length_of(aim)));
    else
        assert_along(out, aim, length_of(aim));
}

/* A million commands, a thousand to each device: what comes out is finite, within limits and rates
 * and in the direction of what was asked for, whatever that was and whatever came before. */
static void the_whole_chain_holds_for_a_million_commands(void **state)
{
    unsigned long long random = 11;
    int zeros = 0, slewed = 0, soft = 0;
    (void)state;
    for (int device = 0; device < 1000; device++) {
        gw_command_limits l = {.force = any_limit(&random),
                               .torque = any_limit(&random),
                               .force_rate = 100 * any_limit(&random),
                               .torque_rate = 100 * any_limit(&random)};
        l.speed = l.force;
        l.spin = l.torque;
        l.acceleration = l.force_rate;
        l.spin_acceleration = l.torque_rate;
        gw_command_gate gate = {0};
        gw_vec3 last_a = {0, 0, 0}, last_b = {0, 0, 0};
        gw_gate_input in = {.dt = pow(10, -2 - 2 * random_uniform(&random, 0, 1)), .engaged = true};
        bool by_force = device % 2, guarded = device % 3 == 0;
        for (int k = 0; k < 1000; k++) {
            /* calm, then jumps; now and then off, and engaged anew */
            gw_vec3 a = k % 100 < 50 ? gw_v3(sin(0.01 * k), 2, 0) : any_vector(&random);
            gw_vec3 b = k % 100 < 50 ? gw_v3(0, 0.1, 0.2) : any_vector(&random);
            bool finite = gw_finite3(a) && gw_finite3(b);
            in.guarded = guarded;
            in.engaged = random_uniform(&random, 0, 1) > 0.01;
            if (!in.engaged && guarded)
                gw_gate_engage_softly(&gate);
            double share = gw_gate_limits(&gate, &(gw_command_limits){.force = 1}, guarded).force;
            gw_gated_command out = by_force ? gw_gate_wrench(&gate, &(gw_wrench){a, b}, &l, &in)
                                            : gw_gate_velocity(&gate, &(gw_twist){a, b}, &l, &in);
            gw_vec3 x = vector_of(by_force ? out.command.f : out.command.v);
            gw_vec3 y = vector_of(by_force ? out.command.t : out.command.w);
            assert_true(gw_finite3(x) && gw_finite3(y));
            if (!finite || !in.engaged) { /* none, or one that nobody obeys, at once */
                assert_true(finite || (length_of(x) == 0 && length_of(y) == 0));
                assert_true(!by_force || !out.command.engaged);
                last_a = last_b = gw_v3(0, 0, 0);
                zeros++;
                continue;
            }
            assert_chain(a, (l.force > 0 ? 1 : share) * (1 - gate.reduction), guarded, x, last_a,
                         share * l.force, l.force_rate, in.dt);
            assert_chain(b, (l.torque > 0 ? 1 : share) * (1 - gate.reduction), guarded, y, last_b,
                         share * l.torque, l.torque_rate, in.dt);
            slewed += l.force_rate > 0 && gw_norm(gw_sub(x, last_a)) > 0.999 * l.force_rate * in.dt;
            soft += share < 1;
            last_a = x;
            last_b = y;
        }
    }
    assert_true(zeros > 10000 && slewed > 10000 && soft > 10000);
}

static void a_soft_engagement_begins_small_and_grows(void **state)
{
    (void)state;
    gw_command_gate gate = {0};
    gw_command_limits limits = {.force = 10};
    gw_gate_input in = {.dt = 1e-3, .guarded = true, .engaged = true};
    gw_wrench asked = {{0, 50, 0}, {0, 0, 0}};
    assert_true(gw_gate_wrench(&gate, &asked, &limits, &in).command.f[1] == 10);
    gw_gate_engage_softly(&gate);
    double before = 0;
    for (int k = 0; k < 3000; k++) {
        double f = gw_gate_wrench(&gate, &asked, &limits, &in).command.f[1];
        assert_true(k >= 500 || fabs(f - 1) < 1e-9);
        assert_true(k < 2600 || f == 10);
        assert_true(f >= before * (1 - 1e-12) && (k == 0 || f - before < 0.006));
        before = f;
    }
    in.guarded = false; /* nobody else knows of it */
    gw_gate_engage_softly(&gate);
    assert_true(gw_gate_wrench(&gate, &asked, &limits, &in).command.f[1] == 10);
}

/* The most that is left of a command that swings `hertz` times a second by `size`, after half a
 * second of it; for the second after that it stands still. */
static double left_of_swing(double hertz, double size, double *after)
{
    gw_command_gate gate = {0};
    gw_command_limits limits = {.force = 10};
    gw_gate_input in = {.dt = 1e-3, .guarded = true, .engaged = true};
    double most = 0;
    for (int k = 0; k < 4000; k++) {
        double f = k < 1000 ? size * sin(2 * 3.141592653589793 * hertz * k * in.dt) : size;
        gw_wrench asked = {{0, f, 0}, {0, 0, 0}};
        double out = gw_gate_wrench(&gate, &asked, &limits, &in).command.f[1];
        if (k >= 500 && k < 1000)
            most = fmax(most, out);
        *after = out;
    }
    return most;
}

static void what_swings_faster_than_a_hand_loses_its_size(void **state)
{
    (void)state;
    double after;
    assert_true(left_of_swing(80, 8, &after) < 0.5);
    assert_true(after > 0.99 * 8);
    assert_true(left_of_swing(200, 3, &after) < 0.5);
    assert_true(left_of_swing(8, 8, &after) > 7.99);     /* a tremor */
    assert_true(left_of_swing(80, 0.3, &after) > 0.299); /* texture */
}

static void a_guarded_device_goes_nowhere_at_the_edge_of_its_workspace(void **state)
{
    (void)state;
    gw_device_info device = {.class = GW_DEVICE_IMPEDANCE, .workspace_radius = 0.1};
    for (int guarded = 0; guarded < 2; guarded++) {
        gw_command_limits l =
            gw_command_limits_of(&(gw_command_limits){0}, 1, &device, guarded == 1);
        gw_command_gate gate = {0};
        gw_gate_input in = {
            .at = {0.1, 0, 0}, .dt = 1e-3, .guarded = guarded == 1, .engaged = true};
        gw_wrench outward = {{3, 4, 0}, {0, 0, 0}}, inward = {{-3, 4, 0}, {0, 0, 0}};
        gw_gated_command out = gw_gate_wrench(&gate, &outward, &l, &in);
        assert_true(out.command.f[0] == (guarded ? 0 : 3) && out.command.f[1] == 4);
        assert_true(out.limited == (guarded == 1));
        assert_true(gw_gate_wrench(&gate, &inward, &l, &in).command.f[0] == -3);
    }
}

static void a_device_at_no_finite_place_gets_no_force(void **state)
{
    (void)state;
    const double odd[] = {NAN, INFINITY, -INFINITY};
    const gw_command_limits l = {.force = 10, .reach = 0.1};
    for (int i = 0; i < 9; i++) {
        gw_command_gate gate = {0};
        double at[3] = {0.01, 0.02, 0.03};
        at[i / 3] = odd[i % 3];
        const gw_gate_input in = {.at = {at[0], at[1], at[2]}, .dt = 1e-3, .engaged = true};
        gw_gated_command out = gw_gate_wrench(&gate, &(gw_wrench){{3, 4, 0}, {0, 0, 0}}, &l, &in);
        for (int k = 0; k < 3; k++)
            assert_true(out.command.f[k] == 0);
    }
}

static void the_stricter_limit_holds_in_device_space(void **state)
{
    (void)state;
    gw_command_limits tool = {.force = 4, .torque = 2, .speed = 0.5};
    gw_device_info device = {.force_max = 3, .torque_max = 0.1, .spin_max = 2};
    gw_command_limits l = gw_command_limits_of(&tool, 0.5, &device, false);
    assert_true(l.force == 2 && l.torque == 0.1 && l.speed == 0.25 && l.spin == 2);
    assert_true(l.force_rate == 0 && l.spin_acceleration == 0);
    l = gw_command_limits_of(&tool, 0.5, &device, true); /* the whole within 10 ms */
    assert_true(fabs(l.force_rate - 200) < 1e-9 && fabs(l.spin_acceleration - 200) < 1e-9);
    tool.force_rate = 60;
    l = gw_command_limits_of(&tool, 0.5, &device, true);
    assert_true(l.force_rate == 30);
    l = gw_command_limits_of(&(gw_command_limits){0}, 2, &(gw_device_info){0}, true);
    assert_true(l.force == 0 && l.torque == 0 && l.speed == 0 && l.spin == 0 && l.force_rate == 0);
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

/* The speed that a latched device is commanded after so many ticks of a strong push. */
static double speed_after(gw_simulation *s, int ticks)
{
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push.f = {4, 0, 0}};
    gw_simulation_apply(s, &push, &retired);
    for (int k = 0; k < ticks; k++)
        gw_simulation_tick(s);
    return length3(last.v);
}

/* In a loop; `run` begins at once. An arming begins softly again. */
static void a_latched_device_is_engaged_softly(void **state)
{
    (void)state;
    for (int latched = 0; latched < 2; latched++) {
        gw_guided_def body = fixture_body(fixture_turning(GW_LOCUS_PLANE));
        gw_device_slot *slot = spied("sim", "speed_max", 0.1);
        gw_scenario *scenario = fixture_scenario(&body, slot, 1000);
        scenario->latched = scenario->tools[0].latched = latched == 1;
        gw_simulation *s = gw_simulation_create(scenario, NULL);
        fixture_state(s, GW_RUNNING);
        assert_true(speed_after(s, 300) > 0.099);
        gw_simulation_engage_softly(s);
        assert_within(speed_after(s, 300), latched ? 0.01 : 0.1);
        assert_true(speed_after(s, 2300) > 0.099);
        gw_command retired, command = {.kind = GW_COMMAND_HALT};
        gw_simulation_apply(s, &command, &retired);
        command.kind = GW_COMMAND_ARM;
        gw_simulation_apply(s, &command, &retired);
        fixture_state(s, GW_RUNNING);
        assert_within(speed_after(s, 300), latched ? 0.01 : 0.1);
        gw_simulation_destroy(s);
        gw_device_slot_close(slot);
    }
}

/* A tool's slew limit is kept from tick to tick, at an unguarded device too. */
static void a_stated_rate_is_kept_from_tick_to_tick(void **state)
{
    (void)state;
    gw_guided_def body = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    gw_device_slot *slot = spied("sim-impedance", NULL, 0);
    gw_scenario *scenario = fixture_scenario(&body, slot, 1000);
    scenario->tools[0].limits.force_rate = 50;
    scenario->tools[0].renders = true;
    scenario->tools[0].rendering = gw_impedance_def_default();
    double scale = scenario->tools[0].map.scale, most = 0;
    gw_simulation *s = gw_simulation_create(scenario, NULL);
    fixture_state(s, GW_RUNNING);
    gw_device_command before = last;
    for (int k = 0; k < 200; k++) {
        gw_command retired,
            push = {.kind = GW_COMMAND_PUSH, .push.f = {k % 40 < 20 ? 20 : -20, 3, 0}};
        gw_simulation_apply(s, &push, &retired);
        gw_simulation_tick(s);
        gw_vec3 change = gw_sub(vector_of(last.f), vector_of(before.f));
        most = k > 0 ? fmax(most, gw_norm(change)) : 0;
        before = last;
    }
    assert_true(most <= 50e-3 * scale * (1 + 1e-9) && most > 49e-3 * scale);
    assert_true(gw_simulation_snapshot(s)->limited_ticks > 20);
    gw_simulation_destroy(s);
    gw_device_slot_close(slot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_finite_within_limits_and_keep_their_direction),
        cmocka_unit_test(the_whole_chain_holds_for_a_million_commands),
        cmocka_unit_test(a_soft_engagement_begins_small_and_grows),
        cmocka_unit_test(what_swings_faster_than_a_hand_loses_its_size),
        cmocka_unit_test(a_guarded_device_goes_nowhere_at_the_edge_of_its_workspace),
        cmocka_unit_test(a_device_at_no_finite_place_gets_no_force),
        cmocka_unit_test(the_stricter_limit_holds_in_device_space),
        cmocka_unit_test(an_admittance_device_keeps_the_tools_limits_of_speed),
        cmocka_unit_test(an_admittance_device_keeps_its_own),
        cmocka_unit_test(every_control_of_an_impedance_device_keeps_the_limits),
        cmocka_unit_test(limits_that_are_not_reached_change_and_count_nothing),
        cmocka_unit_test(a_strong_hand_alone_is_no_limited_tick),
        cmocka_unit_test(a_device_keeps_up_with_a_tool_at_its_limit_of_speed),
        cmocka_unit_test(a_latched_device_is_engaged_softly),
        cmocka_unit_test(a_stated_rate_is_kept_from_tick_to_tick),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
