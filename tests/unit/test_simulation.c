/*
 * The simulation's ticks, commands, switches and faults, on sets made by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/world_fixture.h"

/* ---- a world of one tool -------------------------------------------------------------------- */

static world made(gw_submanifold set, const gw_operator *operator)
{
    return fixture_world(&(world_def){.body = fixture_body(set), .operator= operator});
}

/* The same world on another set, from now on. */
static void switched(world *w, gw_submanifold set, bool go_to_layout)
{
    w->body = fixture_body(set);
    gw_scenario *next = fixture_scenario(&w->body, w->slot, 1000);
    next->go_to_layout = go_to_layout;
    next->revision = 2;
    command(w, (gw_command){.kind = GW_COMMAND_SCENARIO, .scenario = next, .tag = 7});
}

static int events_of(world *w, gw_event_kind kind)
{
    gw_event events[64];
    int count = gw_simulation_events(w->simulation, events, 64), found = 0;
    for (int i = 0; i < count; i++)
        found += events[i].kind == kind;
    return found;
}

static bool at(gw_vec3 a, gw_vec3 b, double tolerance)
{
    if (gw_distance(a, b) > tolerance)
        print_error("%.12g %.12g %.12g is not %.12g %.12g %.12g\n", a.x, a.y, a.z, b.x, b.y, b.z);
    return gw_distance(a, b) <= tolerance;
}

/* The plane z = height. */
static gw_submanifold plane_at(double height)
{
    gw_submanifold set = fixture_turning(GW_LOCUS_PLANE);
    set.translation.locus.origin.z = height;
    set.rows[2].value = height;
    return set;
}

/* ---- time and wrench ------------------------------------------------------------------------ */

static void a_snapshot_is_the_state_before_its_tick(void **state)
{
    (void)state;
    gw_wrench_sample samples[2] = {{0.002, {{1, 0, 0}, {0, 0, 0}}}, {0.5, {{0, 0, 0}, {0, 0, 0}}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 2, .samples = samples};
    world w = made(plane_at(0), &o);
    fixture_state(w.simulation, GW_RUNNING);
    for (int k = 0; k < 600; k++) {
        const gw_tool_state *t = ticked(&w, 1);
        const gw_snapshot *s = gw_simulation_snapshot(w.simulation);
        double pushed = fmin(fmax(k - 2, 0), 498) * 1e-3, coasted = fmax(k - 500, 0) * 1e-3;
        double x = 0.1 + 0.25 * pushed * pushed + 0.5 * pushed * coasted;
        assert_true(s->tick == (uint64_t)k && s->time == k / 1000.0);
        assert_true(t->operator.f.x ==(k >= 2 && k < 500 ? 1 : 0));
        assert_true(at(t->world_from_tool.p, gw_v3(x, 0, 0), 1e-12));
        assert_true(at(t->device.p, t->world_from_tool.p, 1e-12));
    }
    gone(&w);
}

static void stopping_returns_to_tick_zero(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0, {{1, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(plane_at(0), &o);
    fixture_state(w.simulation, GW_RUNNING);
    gw_pose once = ticked(&w, 300)->world_from_tool;
    fixture_state(w.simulation, GW_STOPPED);
    assert_true(at(ticked(&w, 5)->world_from_tool.p, gw_v3(0.1, 0, 0), 0));
    assert_true(gw_simulation_snapshot(w.simulation)->tick == 0);
    fixture_state(w.simulation, GW_RUNNING);
    gw_pose again = ticked(&w, 300)->world_from_tool;
    assert_memory_equal(&once, &again, sizeof once);
    gone(&w);
}

static void pausing_keeps_the_state_and_steps_go_on(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0, {{1, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(plane_at(0), &o), same = made(plane_at(0), &o);
    fixture_state(w.simulation, GW_RUNNING);
    fixture_state(same.simulation, GW_RUNNING);
    ticked(&w, 100);
    fixture_state(w.simulation, GW_PAUSED);
    ticked(&w, 50);
    assert_true(gw_simulation_snapshot(w.simulation)->tick == 100);
    command(&w, (gw_command){.kind = GW_COMMAND_STEP, .ticks = 20});
    gw_pose stepped = ticked(&w, 21)->world_from_tool, run = ticked(&same, 121)->world_from_tool;
    assert_true(gw_simulation_snapshot(w.simulation)->tick == 120);
    assert_memory_equal(&stepped, &run, sizeof run);
    gone(&w);
    gone(&same);
}

static void energy_balances(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0, {{0, 0.5, 1}, {0, 0, 1e-3}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(fixture_turning(GW_LOCUS_CIRCLE), &o);
    fixture_state(w.simulation, GW_RUNNING);
    ticked(&w, 5000);
    const gw_energy *e = &gw_simulation_snapshot(w.simulation)->energy;
    assert_true(e->work_in > 1e-3);
    assert_true(fabs(e->kinetic + e->potential - e->initial - e->work_in) < 1e-10 * e->work_in);
    gone(&w);
}

static void force_splits_along_and_against_the_set(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0, {{3, 0, -4}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(plane_at(0), &o);
    fixture_state(w.simulation, GW_RUNNING);
    const gw_tool_state *t = ticked(&w, 1);
    assert_true(fabs(t->force_normal - 4) < 1e-12 && fabs(t->force_tangential - 3) < 1e-12);
    assert_true(at(t->constraint.f, gw_v3(0, 0, 4), 1e-12));
    gone(&w);
}

/* ---- operators ------------------------------------------------------------------------------ */

static void an_operators_time_counts_from_its_tick(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0.01, {{1, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(plane_at(0), NULL);
    fixture_state(w.simulation, GW_RUNNING);
    ticked(&w, 37);
    gw_command c = {.kind = GW_COMMAND_OPERATOR, .tag = 3};
    c.operator.device = gw_device_slot_id(w.slot);
    c.operator.program = gw_operator_program_create(&o);
    command(&w, c);
    assert_int_equal(events_of(&w, GW_EVENT_ACTIVE), 1);
    assert_true(ticked(&w, 10)->operator.f.x == 0);
    assert_true(ticked(&w, 1)->operator.f.x == 1);
    gone(&w);
}

static void a_hand_brings_the_tool_along_its_path(void **state)
{
    (void)state;
    gw_hand_knot path[2] = {{0, {{0.1, 0, 0}, {1, 0, 0, 0}}}, {1, {{0.2, 0.1, 0}, {1, 0, 0, 0}}}};
    gw_operator o = {.kind = GW_OPERATOR_HAND, .count = 2, .path = path};
    world w = made(plane_at(0), &o);
    fixture_state(w.simulation, GW_RUNNING);
    assert_true(at(ticked(&w, 4000)->world_from_tool.p, gw_v3(0.2, 0.1, 0), 1e-4));
    gone(&w);
}

static void a_hand_is_as_stiff_as_it_says(void **state)
{
    (void)state;
    gw_hand_knot path = {0, {{0.1, 0, 0.01}, {1, 0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_HAND, .count = 1, .path = &path, .stiffness = 800};
    world w = made(plane_at(0), &o);
    fixture_state(w.simulation, GW_RUNNING);
    assert_true(at(ticked(&w, 3000)->operator.f, gw_v3(0, 0, 8), 1e-3));
    gone(&w);
}

static void a_drag_pulls_the_grabbed_point_to_its_target(void **state)
{
    (void)state;
    world w = made(plane_at(0), NULL);
    gw_command c = {.kind = GW_COMMAND_DRAG};
    c.drag.point = gw_v3(0.03, 0, 0);
    c.drag.target = gw_v3(0.2, 0.05, 0);
    fixture_state(w.simulation, GW_RUNNING);
    command(&w, c);
    const gw_tool_state *t = ticked(&w, 3000);
    assert_true(t->dragging && gw_norm(t->operator.f) <= 30);
    assert_true(at(gw_pose_point(&t->world_from_object, c.drag.point), c.drag.target, 5e-3));
    command(&w, (gw_command){.kind = GW_COMMAND_RELEASE});
    assert_true(gw_norm(ticked(&w, 1)->operator.f) == 0);
    gone(&w);
}

static void a_light_body_bears_a_stiff_drag(void **state)
{
    (void)state;
    world w = made(plane_at(0), NULL);
    gw_scenario *light;
    gw_command c = {.kind = GW_COMMAND_DRAG};
    w.body.mass.mass = 1e-3;
    w.body.mass.inertia = (gw_mat3){{{1e-8, 0, 0}, {0, 1e-8, 0}, {0, 0, 1e-8}}};
    light = fixture_scenario(&w.body, w.slot, 1000);
    command(&w, (gw_command){.kind = GW_COMMAND_SCENARIO, .scenario = light});
    c.drag.point = gw_v3(0.005, 0, 0);
    c.drag.target = gw_v3(0.2, 0.05, 0);
    fixture_state(w.simulation, GW_RUNNING);
    command(&w, c);
    const gw_tool_state *t = ticked(&w, 5000);
    assert_true(at(gw_pose_point(&t->world_from_object, c.drag.point), c.drag.target, 1e-3));
    gone(&w);
}

static void a_push_lasts_until_the_next(void **state)
{
    (void)state;
    world w = made(plane_at(0), NULL);
    gw_command c = {.kind = GW_COMMAND_PUSH};
    fixture_state(w.simulation, GW_RUNNING);
    c.push.f = gw_v3(2, 0, 0);
    command(&w, c);
    assert_true(ticked(&w, 10)->operator.f.x == 2);
    c.push.f = gw_v3(0, 0, 0);
    command(&w, c);
    assert_true(ticked(&w, 1)->operator.f.x == 0);
    gone(&w);
}

/* ---- switches of scenario ------------------------------------------------------------------- */

static void a_switch_travels_to_the_new_set_in_half_a_second(void **state)
{
    (void)state;
    world w = made(plane_at(0.05), NULL);
    fixture_state(w.simulation, GW_RUNNING);
    gw_pose last = ticked(&w, 10)->world_from_tool;
    switched(&w, plane_at(0), false);
    assert_int_equal(events_of(&w, GW_EVENT_ACTIVE), 1);
    int ticks = 0, settled = 0;
    while (!settled && ticks < 1000) {
        const gw_tool_state *t = ticked(&w, 1);
        assert_true(gw_distance(t->world_from_tool.p, last.p) <= 0.2501e-3);
        last = t->world_from_tool;
        settled = events_of(&w, GW_EVENT_SETTLED);
        ticks++;
    }
    print_message("5 cm travelled in %d ms\n", ticks);
    assert_true(settled == 1 && ticks <= 500);
    assert_true(at(ticked(&w, 2)->world_from_tool.p, gw_v3(0.1, 0, 0), 1e-12));
    gone(&w);
}

static void motion_along_the_new_set_goes_on_through_a_switch(void **state)
{
    (void)state;
    world w = made(plane_at(0.05), NULL);
    gw_command push = {.kind = GW_COMMAND_PUSH};
    push.push.f = gw_v3(4, 0, 0);
    fixture_state(w.simulation, GW_RUNNING);
    command(&w, push);
    ticked(&w, 100);
    push.push.f = gw_v3(0, 0, 0);
    command(&w, push);
    double speed = ticked(&w, 1)->twist.v.x;
    double x = ticked(&w, 1)->world_from_tool.p.x;
    switched(&w, plane_at(0), false);
    const gw_tool_state *t = ticked(&w, 600);
    assert_true(fabs(t->twist.v.x - speed) < 1e-9 && !t->travelling);
    assert_true(fabs(t->world_from_tool.p.x - x - 0.6 * speed) < 1e-3 * speed + 1e-9);
    gone(&w);
}

/* A still hand of 500 N/m while its tool is taken 5 cm away. */
static void a_hand_feels_no_bump(void **state)
{
    (void)state;
    gw_hand_knot path = {0, {{0.1, 0, 0.05}, {1, 0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_HAND, .count = 1, .path = &path, .stiffness = 500};
    world w = made(plane_at(0.05), &o);
    fixture_state(w.simulation, GW_RUNNING);
    gw_vec3 last = ticked(&w, 100)->operator.f;
    switched(&w, plane_at(0), false);
    double worst = 0;
    int ticks = 0;
    for (int i = 0; i < 1500; i++) {
        const gw_tool_state *t = ticked(&w, 1);
        worst = fmax(worst, gw_distance(t->operator.f, last));
        last = t->operator.f;
        ticks += t->travelling;
    }
    print_message("with a hand: 5 cm in %d ms, force changes by %.4f N per ms\n", ticks, worst);
    assert_true(worst <= 0.05);
    assert_true(at(last, gw_v3(0, 0, 25), 0.1));
    gone(&w);
}

static void a_constraint_met_in_passing_takes_the_forbidden_velocity_softly(void **state)
{
    (void)state;
    world w = made(fixture_set(GW_ROTATION_AXIS, GW_LOCUS_FREE, false), NULL);
    gw_command push = {.kind = GW_COMMAND_PUSH};
    push.push.f = gw_v3(2, 0, 3);
    fixture_state(w.simulation, GW_RUNNING);
    command(&w, push);
    ticked(&w, 100);
    push.push.f = gw_v3(0, 0, 0);
    command(&w, push);
    gw_tool_state before = *ticked(&w, 1), shown = *ticked(&w, 1);
    switched(&w, plane_at(shown.world_from_tool.p.z), false);
    gw_tool_state after = *ticked(&w, 1);
    gw_vec3 step = gw_sub(shown.world_from_tool.p, before.world_from_tool.p);
    assert_true(at(gw_sub(after.world_from_tool.p, shown.world_from_tool.p), step, 1e-12));
    assert_true(at(after.twist.v, shown.twist.v, 1e-12));
    const gw_tool_state *t = ticked(&w, 400);
    assert_true(fabs(t->twist.v.z) < 1e-12 && fabs(t->twist.v.x - shown.twist.v.x) < 1e-9);
    const gw_energy *e = &gw_simulation_snapshot(w.simulation)->energy;
    assert_true(e->edits < 0);
    double balance = e->kinetic + e->potential - e->initial - e->work_in - e->edits;
    assert_true(fabs(balance) < 1e-12);
    gone(&w);
}

static void a_stated_pose_is_travelled_to(void **state)
{
    (void)state;
    world w = made(plane_at(0), NULL);
    gw_command push = {.kind = GW_COMMAND_PUSH};
    push.push.f = gw_v3(0, 5, 0);
    fixture_state(w.simulation, GW_RUNNING);
    command(&w, push);
    ticked(&w, 200);
    push.push.f = gw_v3(0, 0, 0);
    command(&w, push);
    switched(&w, plane_at(0), true);
    assert_true(at(ticked(&w, 1500)->world_from_tool.p, gw_v3(0.1, 0, 0), 1e-12));
    gone(&w);
}

static void while_stopped_a_scenario_is_taken_at_once(void **state)
{
    (void)state;
    world w = made(plane_at(0.05), NULL);
    ticked(&w, 3);
    switched(&w, plane_at(0), false);
    const gw_tool_state *t = ticked(&w, 1);
    assert_true(at(t->world_from_tool.p, gw_v3(0.1, 0, 0), 0) && t->error_p == 0);
    gone(&w);
}

/* ---- clutch, clamps, faults ----------------------------------------------------------------- */

static void a_clutch_frees_the_device_and_holds_the_tool(void **state)
{
    (void)state;
    world w = made(plane_at(0), NULL);
    gw_command push = {.kind = GW_COMMAND_PUSH};
    fixture_state(w.simulation, GW_RUNNING);
    command(&w, (gw_command){.kind = GW_COMMAND_CLUTCH, .clutch = true});
    push.push.f = gw_v3(1, 0, 2);
    command(&w, push);
    const gw_tool_state *t = ticked(&w, 300);
    assert_true(t->clutched && t->error_p > 0.01);
    assert_true(at(t->world_from_tool.p, gw_v3(0.1, 0, 0), 0));
    push.push.f = gw_v3(0, 0, 0);
    command(&w, push);
    command(&w, (gw_command){.kind = GW_COMMAND_CLUTCH, .clutch = false});
    t = ticked(&w, 2);
    assert_true(!t->clutched && t->error_p < 1e-12);
    assert_true(at(t->world_from_tool.p, gw_v3(0.1, 0, 0), 1e-12));
    gone(&w);
}

static void clamps_act_and_are_counted(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0, {{10, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(plane_at(0), &o);
    gw_scenario *limited = fixture_scenario(&w.body, w.slot, 1000);
    limited->tools[0].limits.force = 4;
    limited->tools[0].limits.speed = 0.1;
    command(&w, (gw_command){.kind = GW_COMMAND_SCENARIO, .scenario = limited});
    fixture_state(w.simulation, GW_RUNNING);
    const gw_tool_state *t = ticked(&w, 200);
    assert_true(t->limited && t->operator.f.x == 4 && t->twist.v.x <= 0.1 + 1e-12);
    assert_int_equal(events_of(&w, GW_EVENT_LIMITED), 1);
    ticked(&w, 1);
    assert_true(gw_simulation_snapshot(w.simulation)->limited_ticks == 200);
    const gw_energy *e = &gw_simulation_snapshot(w.simulation)->energy;
    assert_true(fabs(e->kinetic - e->work_in + e->dissipated) < 1e-12);
    gone(&w);
}

static void a_halt_stops_all_and_arming_moves_nothing(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0, {{10, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(plane_at(0), &o);
    fixture_state(w.simulation, GW_RUNNING);
    ticked(&w, 100);
    command(&w, (gw_command){.kind = GW_COMMAND_HALT});
    gw_pose there = ticked(&w, 1)->world_from_tool;
    fixture_state(w.simulation, GW_RUNNING);
    const gw_tool_state *t = ticked(&w, 50);
    assert_true(gw_simulation_snapshot(w.simulation)->halted);
    assert_true(at(t->world_from_tool.p, there.p, 0) && gw_norm(t->twist.v) == 0);
    command(&w, (gw_command){.kind = GW_COMMAND_ARM});
    t = ticked(&w, 50);
    assert_true(at(t->world_from_tool.p, there.p, 0));
    assert_true(gw_simulation_snapshot(w.simulation)->state == GW_PAUSED);
    fixture_state(w.simulation, GW_RUNNING);
    assert_true(ticked(&w, 50)->world_from_tool.p.x > there.p.x);
    gone(&w);
}

/* A device that forwards to the simulated one and answers rubbish when told to. */
static gw_driver broken;
static int rubbish;

static void broken_read(gw_driver_device *device, gw_device_sample *sample)
{
    gw_driver_find("sim")->read(device, sample);
    if (rubbish == 1)
        sample->f[1] = NAN;
    if (rubbish == 2)
        sample->valid = false;
    if (rubbish == 3)
        sample->q[0] = sample->q[1] = sample->q[2] = sample->q[3] = 0;
}

static void rubbish_from_a_device_holds_the_tool(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0, {{1, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(plane_at(0), &o);
    broken = *gw_driver_find("sim");
    broken.read = broken_read;
    w.slot->driver = &broken;
    fixture_state(w.simulation, GW_RUNNING);
    for (int kind = 1; kind <= 3; kind++) {
        ticked(&w, 100);
        rubbish = kind;
        gw_vec3 there = ticked(&w, 1)->world_from_tool.p;
        const gw_tool_state *t = ticked(&w, 20);
        assert_true(at(t->world_from_tool.p, there, 0) && gw_norm(t->twist.v) == 0);
        assert_int_equal(events_of(&w, GW_EVENT_DEVICE_LOST), 1);
        rubbish = 0;
        assert_true(ticked(&w, 100)->world_from_tool.p.x > there.x);
    }
    gone(&w);
}

static void a_step_that_fails_is_no_singular_point(void **state)
{
    (void)state;
    gw_wrench_sample sample = {0, {{0, 0, 0}, {0, 0, 1e300}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    world w = made(fixture_turning(GW_LOCUS_PLANE), &o);
    gw_event events[64];
    int failed = 0;
    fixture_state(w.simulation, GW_RUNNING);
    ticked(&w, 3);
    for (int i = 0, count = gw_simulation_events(w.simulation, events, 64); i < count; i++) {
        failed += events[i].kind == GW_EVENT_NOT_FINITE;
        assert_true(events[i].kind != GW_EVENT_SINGULAR);
    }
    assert_true(failed == 1);
    gone(&w);
}

static void two_runs_give_the_same_bits(void **state)
{
    (void)state;
    gw_wrench_sample samples[2] = {{0, {{1, 2, 0}, {0, 0, 1e-3}}}, {0.3, {{-2, 0, 1}, {0, 0, 0}}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 2, .samples = samples};
    gw_snapshot last[2];
    for (int i = 0; i < 2; i++) {
        world w = made(fixture_turning(GW_LOCUS_CIRCLE), &o);
        fixture_state(w.simulation, GW_RUNNING);
        ticked(&w, 2000);
        switched(&w, plane_at(0.02), false);
        ticked(&w, 1000);
        last[i] = *gw_simulation_snapshot(w.simulation);
        gone(&w);
    }
    assert_memory_equal(&last[0].tools[0].world_from_tool, &last[1].tools[0].world_from_tool,
                        sizeof(gw_pose));
    assert_memory_equal(&last[0].energy, &last[1].energy, sizeof(gw_energy));
}

static void a_world_without_tools_ticks(void **state)
{
    (void)state;
    gw_scenario *empty = calloc(1, sizeof *empty);
    empty->kinematics = fixture_network();
    empty->dynamics = fixture_dynamics(1000, 0);
    empty->substeps = 1;
    empty->rate = 1000;
    empty->dt = 1e-3;
    gw_simulation *s = gw_simulation_create(empty, NULL);
    fixture_state(s, GW_RUNNING);
    for (int i = 0; i < 10; i++)
        gw_simulation_tick(s);
    assert_true(gw_simulation_snapshot(s)->tick == 9);
    gw_simulation_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_is_the_state_before_its_tick),
        cmocka_unit_test(stopping_returns_to_tick_zero),
        cmocka_unit_test(pausing_keeps_the_state_and_steps_go_on),
        cmocka_unit_test(energy_balances),
        cmocka_unit_test(force_splits_along_and_against_the_set),
        cmocka_unit_test(an_operators_time_counts_from_its_tick),
        cmocka_unit_test(a_hand_brings_the_tool_along_its_path),
        cmocka_unit_test(a_hand_is_as_stiff_as_it_says),
        cmocka_unit_test(a_drag_pulls_the_grabbed_point_to_its_target),
        cmocka_unit_test(a_light_body_bears_a_stiff_drag),
        cmocka_unit_test(a_push_lasts_until_the_next),
        cmocka_unit_test(a_switch_travels_to_the_new_set_in_half_a_second),
        cmocka_unit_test(motion_along_the_new_set_goes_on_through_a_switch),
        cmocka_unit_test(a_hand_feels_no_bump),
        cmocka_unit_test(a_constraint_met_in_passing_takes_the_forbidden_velocity_softly),
        cmocka_unit_test(a_stated_pose_is_travelled_to),
        cmocka_unit_test(while_stopped_a_scenario_is_taken_at_once),
        cmocka_unit_test(a_clutch_frees_the_device_and_holds_the_tool),
        cmocka_unit_test(clamps_act_and_are_counted),
        cmocka_unit_test(a_halt_stops_all_and_arming_moves_nothing),
        cmocka_unit_test(rubbish_from_a_device_holds_the_tool),
        cmocka_unit_test(a_step_that_fails_is_no_singular_point),
        cmocka_unit_test(two_runs_give_the_same_bits),
        cmocka_unit_test(a_world_without_tools_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
