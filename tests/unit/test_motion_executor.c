/*
 * The simulated robot: ways along parameters with bounded speed, guards by reaction and contact,
 * what blocks it, and how it holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/world_fixture.h"

static world made_on(gw_submanifold set, const char *profile, const fixture_wall *walls, int count)
{
    world w = fixture_world(&(world_def){
        .body = fixture_body(set), .profile = profile, .walls = walls, .wall_count = count});
    fixture_state(w.simulation, GW_RUNNING);
    return w;
}

static world made(const fixture_wall *walls, int count)
{
    return made_on(fixture_turning(GW_LOCUS_PLANE), "", walls, count);
}

static gw_motion_target nowhere(void)
{
    gw_motion_target g = {.on = true, .speed = 0.05, .spin = 0.5};
    for (int i = 0; i < 6; i++)
        g.to[i] = g.by[i] = NAN;
    return g;
}

static void guide(world *w, gw_motion_target g, uint64_t tag)
{
    command(w, (gw_command){.kind = GW_COMMAND_MOTION, .tag = tag, .guide = g});
}

/* The end of the way with this tag, NONE where there was none. */
static gw_event ended(world *w, uint64_t tag)
{
    gw_event events[64], found = {.outcome = GW_MOTION_NONE};
    int count = gw_simulation_events(w->simulation, events, 64);
    for (int i = 0; i < count; i++)
        if (events[i].kind == GW_EVENT_MOTION_ENDED && events[i].tag == tag)
            found = events[i];
    return found;
}

/* Ticks until the way ends, at most so many; how many it took. */
static int until_end(world *w, int most)
{
    for (int k = 0; k < most; k++)
        if (!ticked(w, 1)->guide.moving)
            return k;
    return most;
}

static fixture_wall wall_at_x(double x)
{
    return fixture_wall_at_x("x", x);
}

/* The point p of the body keeps y at `at` at most. */
static fixture_wall wall_at_y(gw_vec3 p, double at)
{
    return (fixture_wall){.id = "y",
                          .own = fixture_point(p),
                          .other = fixture_plane(gw_v3(0, at, 0), gw_v3(0, 1, 0)),
                          .bound = GW_BOUND_AT_MOST};
}

/* ---- ways ----------------------------------------------------------------------------------- */

static void it_goes_there_with_bounded_speed_and_ramps(void **state)
{
    (void)state;
    world w = made(NULL, 0);
    gw_motion_target g = nowhere();
    g.to[0] = 0.8, g.to[1] = 0.3, g.to[2] = -0.1;
    guide(&w, g, 11);
    double fastest = 0, spin = 0, jolt = 0;
    gw_twist before = {{0, 0, 0}, {0, 0, 0}};
    int ticks = 0;
    for (; ticks < 20000; ticks++) {
        const gw_tool_state *t = ticked(&w, 1);
        fastest = fmax(fastest, gw_norm(t->twist.v));
        spin = fmax(spin, gw_norm(t->twist.w));
        jolt = fmax(jolt, gw_distance(t->twist.v, before.v) * 1000);
        before = t->twist;
        if (ticks > 2 && !t->guide.moving)
            break;
    }
    const gw_tool_state *t = ticked(&w, 1);
    assert_int_equal(t->guide.outcome, GW_MOTION_REACHED);
    assert_int_equal(ended(&w, 11).outcome, GW_MOTION_REACHED);
    assert_true(t->guide.tag == 11 && t->guide.active && t->guide.parameter_count == 3);
    assert_true(fabs(t->guide.parameters[0] - 0.8) < 5e-4);
    assert_true(fabs(t->guide.parameters[1] - 0.3) < 5e-5);
    assert_true(fabs(t->guide.parameters[2] + 0.1) < 5e-5);
    assert_true(fastest < 0.051 && fastest > 0.049 && spin < 0.51);
    assert_true(jolt < 2.5); /* m/s^2; the reference keeps to 1, its last tick to 2 */
    double way = hypot(0.2, 0.1);
    assert_true(ticks > way / 0.05 * 1000 && ticks < way / 0.05 * 1000 + 400);
    assert_true(t->residual < 1e-12);
    gone(&w);
}

static void a_relative_way_adds_up_and_may_be_more_than_a_turn(void **state)
{
    (void)state;
    world w = made(NULL, 0);
    gw_motion_target g = nowhere();
    g.spin = 3;
    g.by[0] = 3 * GW_PI;
    g.by[1] = -0.02;
    guide(&w, g, 1);
    double turned = 0;
    gw_quat last = gw_quat_identity();
    for (int k = 0; k < 8000; k++) {
        gw_quat q = ticked(&w, 1)->world_from_object.q;
        turned += gw_quat_log(gw_quat_mul(q, gw_quat_conj(last))).z;
        last = q;
    }
    assert_true(fabs(turned - 3 * GW_PI) < 1e-4);
    assert_true(fabs(ticked(&w, 1)->guide.parameters[1] - 0.08) < 2e-5);
    gone(&w);
}

static void a_turn_to_a_value_takes_the_short_way(void **state)
{
    (void)state;
    world w = made(NULL, 0);
    gw_motion_target g = nowhere();
    g.to[0] = 2.9;
    g.spin = 2;
    guide(&w, g, 1);
    until_end(&w, 5000);
    g.to[0] = -2.9;
    guide(&w, g, 2);
    for (int k = 0; k < 2000; k++)
        assert_true(fabs(ticked(&w, 1)->guide.parameters[0]) > 2.89);
    assert_true(fabs(ticked(&w, 1)->guide.parameters[0] + 2.9) < 1e-4);
    gone(&w);
}

static void it_pulls_through_a_device_of_modest_character(void **state)
{
    (void)state;
    world w = made_on(fixture_turning(GW_LOCUS_PLANE), "cobotic-hand-controller", NULL, 0);
    gw_motion_target g = nowhere();
    g.to[1] = 0.16, g.to[2] = 0.03, g.to[0] = 0.4;
    guide(&w, g, 5);
    until_end(&w, 6000);
    const gw_tool_state *t = ticked(&w, 1);
    assert_int_equal(t->guide.outcome, GW_MOTION_REACHED);
    assert_true(gw_distance(t->world_from_tool.p, gw_v3(0.16, 0.03, 0)) < 1e-4);
    assert_true(gw_distance(t->device.p, t->world_from_tool.p) < 2e-3);
    gone(&w);
}

static void it_follows_a_circle_and_carries_the_weight(void **state)
{
    (void)state;
    static const gw_operator nobody = {.kind = GW_OPERATOR_NONE};
    world w = {.body = fixture_body(fixture_turning(GW_LOCUS_CIRCLE))};
    w.body.gravity = gw_v3(3, -9, 0);
    w.body.mass.com = gw_v3(0.02, 0.01, 0);
    w.slot = fixture_device("", &nobody, 1000);
    w.simulation = gw_simulation_create(fixture_scenario(&w.body, w.slot, 1000), NULL);
    fixture_state(w.simulation, GW_RUNNING);
    gw_motion_target g = nowhere();
    g.to[1] = 2.0; /* phi_t, 0.1 m each radian */
    guide(&w, g, 1);
    double fastest = 0;
    for (int k = 0; k < 6000; k++)
        fastest = fmax(fastest, gw_norm(ticked(&w, 1)->twist.v));
    const gw_tool_state *t = ticked(&w, 1);
    assert_int_equal(t->guide.outcome, GW_MOTION_REACHED);
    assert_true(fastest < 0.051 && fastest > 0.045);
    gw_vec3 there = {0.1 * cos(2), 0.1 * sin(2), 0};
    assert_true(gw_distance(t->world_from_tool.p, there) < 2e-5);
    assert_true(fabs(gw_quat_log(t->world_from_object.q).z) < 1e-4);
    assert_true(gw_distance(ticked(&w, 3000)->world_from_tool.p, there) < 2e-5); /* holds */
    gone(&w);
}

/* ---- guards --------------------------------------------------------------------------------- */

static void a_reaction_ends_the_way_where_the_wall_is(void **state)
{
    (void)state;
    fixture_wall wall = wall_at_x(0.15);
    world w = made(&wall, 1);
    gw_motion_target g = nowhere();
    g.to[1] = 0.3;
    g.force = 5;
    guide(&w, g, 7);
    int ticks = until_end(&w, 6000);
    assert_true(ticks > 950 && ticks < 1100);
    gw_event end = ended(&w, 7);
    assert_int_equal(end.outcome, GW_MOTION_REACTION);
    assert_true(end.value >= 5 && end.value < 40); /* 2 kg strike at 0.05 m/s */
    const gw_tool_state *t = ticked(&w, 500);
    assert_true(fabs(t->world_from_tool.p.x - 0.15) < 2e-5 && gw_norm(t->twist.v) < 1e-6);
    assert_true(t->guide.reaction >= 5);
    gone(&w);
}

/* The tool frame's lever does not matter: the torque about the turn's axis does. */
static void a_turn_is_ended_by_torque(void **state)
{
    (void)state;
    fixture_wall wall = wall_at_y(gw_v3(0.06, 0, 0), 0.03);
    world w = made(&wall, 1);
    gw_motion_target g = nowhere();
    g.by[0] = 2;
    g.torque = 0.3;
    guide(&w, g, 3);
    until_end(&w, 8000);
    gw_event end = ended(&w, 3);
    assert_int_equal(end.outcome, GW_MOTION_REACTION);
    assert_true(end.value >= 0.3 && end.value < 1);
    const gw_tool_state *t = ticked(&w, 500);
    assert_true(fabs(t->guide.parameters[0] - asin(0.5)) < 2e-3); /* the robot yields sideways */
    gone(&w);
}

/* A wall that is leaned on and slid along pushes across the motion: no reaction. */
static void what_pushes_across_is_no_reaction(void **state)
{
    (void)state;
    fixture_wall walls[2] = {wall_at_x(0.12), wall_at_y(gw_v3(0, 0, 0), 0.1)};
    world w = made(walls, 2);
    command(&w, (gw_command){.kind = GW_COMMAND_PUSH, .push = {{12, 0, 0}, {0, 0, 0}}});
    ticked(&w, 1500);
    gw_motion_target g = nowhere();
    g.by[2] = 0.3;
    g.force = 4;
    guide(&w, g, 3);
    until_end(&w, 8000);
    const gw_tool_state *t = ticked(&w, 0);
    assert_int_equal(t->guide.outcome, GW_MOTION_REACTION);
    assert_true(fabs(t->world_from_tool.p.y - 0.1) < 1e-3); /* the other wall, not on the way */
    assert_true(t->contact.f.x < -5);
    gone(&w);
}

/* Walls that touched at the start do not count as contact, new ones do. */
static void contact_is_with_another_wall(void **state)
{
    (void)state;
    fixture_wall walls[2] = {wall_at_x(0.12), wall_at_y(gw_v3(0, 0, 0), 0.1)};
    world w = made(walls, 2);
    command(&w, (gw_command){.kind = GW_COMMAND_PUSH, .push = {{12, 0, 0}, {0, 0, 0}}});
    assert_true(ticked(&w, 1500)->walls == 1);
    gw_motion_target g = nowhere();
    g.by[2] = 0.3;
    g.contact = true;
    guide(&w, g, 3);
    until_end(&w, 8000);
    const gw_tool_state *t = ticked(&w, 0);
    assert_int_equal(t->guide.outcome, GW_MOTION_CONTACT);
    assert_true(t->walls & 2);
    assert_true(fabs(t->world_from_tool.p.y - 0.1) < 1e-3);
    gone(&w);
}

/* A wall that is taken away does not make another one new. */
static void walls_that_change_sides_are_no_contact(void **state)
{
    (void)state;
    fixture_wall walls[2] = {fixture_wall_at_x("far", 0.5), wall_at_x(0.12)};
    world w = made(walls, 2);
    command(&w, (gw_command){.kind = GW_COMMAND_PUSH, .push = {{12, 0, 0}, {0, 0, 0}}});
    assert_true(ticked(&w, 1500)->walls == 2);
    gw_motion_target g = nowhere();
    g.by[2] = 0.05;
    g.contact = true;
    guide(&w, g, 3);
    ticked(&w, 300);
    gw_scenario *next = fixture_scenario(&w.body, w.slot, 1000);
    fixture_set_walls(next, &walls[1], 1);
    command(&w, (gw_command){.kind = GW_COMMAND_SCENARIO, .scenario = next});
    assert_true(ticked(&w, 100)->walls == 1);
    until_end(&w, 8000);
    assert_int_equal(ticked(&w, 0)->guide.outcome, GW_MOTION_REACHED);
    gone(&w);
}

static void without_a_guard_a_wall_blocks(void **state)
{
    (void)state;
    fixture_wall wall = wall_at_x(0.15);
    world w = made(&wall, 1);
    gw_motion_target g = nowhere();
    g.to[1] = 0.3;
    guide(&w, g, 9);
    int ticks = until_end(&w, 8000);
    assert_int_equal(ended(&w, 9).outcome, GW_MOTION_BLOCKED);
    assert_true(ticks < 2500);
    /* it pulled with what it has, and then lets up */
    assert_true(ticked(&w, 0)->guide.reaction > 20 && ticked(&w, 0)->guide.reaction < 45);
    const gw_tool_state *t = ticked(&w, 500);
    assert_true(gw_norm(t->contact.f) < 15 && fabs(t->world_from_tool.p.x - 0.15) < 2e-4);
    gone(&w);
}

/* ---- ends ----------------------------------------------------------------------------------- */

static void a_way_is_lost_by_release_halt_stop_and_another(void **state)
{
    (void)state;
    gw_motion_target g = nowhere(), off = {.on = false};
    g.to[1] = 0.3;
    static const gw_command_kind by[] = {GW_COMMAND_RELEASE, GW_COMMAND_MOTION, GW_COMMAND_HALT};
    for (int i = 0; i < 3; i++) {
        world w = made(NULL, 0);
        guide(&w, g, 1);
        assert_true(ticked(&w, 500)->guide.moving);
        command(&w, (gw_command){.kind = by[i], .guide = off, .tag = 2});
        assert_int_equal(ended(&w, 1).outcome, GW_MOTION_LOST);
        const gw_tool_state *t = ticked(&w, 1);
        assert_true(!t->guide.moving && t->guide.active == (by[i] == GW_COMMAND_HALT));
        gone(&w);
    }
    world w = made(NULL, 0);
    guide(&w, g, 1);
    ticked(&w, 500);
    guide(&w, g, 2);
    assert_int_equal(ended(&w, 1).outcome, GW_MOTION_LOST);
    until_end(&w, 8000);
    assert_int_equal(ended(&w, 2).outcome, GW_MOTION_REACHED);
    fixture_state(w.simulation, GW_STOPPED);
    assert_false(ticked(&w, 1)->guide.active);
    gone(&w);
}

static void after_a_halt_it_holds_where_it_was(void **state)
{
    (void)state;
    world w = made(NULL, 0);
    gw_motion_target g = nowhere();
    g.to[1] = 0.3;
    guide(&w, g, 1);
    gw_vec3 at = ticked(&w, 700)->world_from_tool.p;
    command(&w, (gw_command){.kind = GW_COMMAND_HALT});
    ticked(&w, 100);
    command(&w, (gw_command){.kind = GW_COMMAND_ARM});
    fixture_state(w.simulation, GW_RUNNING);
    assert_true(gw_distance(ticked(&w, 500)->world_from_tool.p, at) < 1e-4);
    gone(&w);
}

static void a_way_that_a_halt_overtook_never_begins(void **state)
{
    (void)state;
    world w = made(NULL, 0);
    gw_motion_target g = nowhere();
    g.to[1] = 0.3;
    gw_vec3 at = ticked(&w, 10)->world_from_tool.p;
    command(&w, (gw_command){.kind = GW_COMMAND_HALT});
    guide(&w, g, 1);
    ticked(&w, 1);
    assert_int_equal(ended(&w, 1).outcome, GW_MOTION_LOST);
    command(&w, (gw_command){.kind = GW_COMMAND_ARM});
    fixture_state(w.simulation, GW_RUNNING);
    assert_true(gw_distance(ticked(&w, 500)->world_from_tool.p, at) < 1e-9);
    gone(&w);
}

/* A person's hand takes the object from a robot that only holds it, and bears with one under way.
 */
static void a_drag_takes_over_from_a_hold(void **state)
{
    (void)state;
    world w = made(NULL, 0);
    gw_command drag = {.kind = GW_COMMAND_DRAG};
    drag.drag.target = gw_v3(0.3, 0.1, 0);
    gw_motion_target g = nowhere();
    g.to[1] = 0.11;
    guide(&w, g, 1);
    command(&w, drag);
    assert_true(ticked(&w, 2)->guide.active);
    command(&w, (gw_command){.kind = GW_COMMAND_RELEASE});
    until_end(&w, 3000);
    assert_true(ticked(&w, 1)->guide.active);
    command(&w, drag);
    assert_true(gw_distance(ticked(&w, 3000)->world_from_tool.p, drag.drag.target) < 1e-3);
    assert_false(ticked(&w, 1)->guide.active);
    gone(&w);
}

/* ---- other sets ----------------------------------------------------------------------------- */

static void switched(world *w, gw_submanifold set)
{
    w->body = fixture_body(set);
    gw_scenario *next = fixture_scenario(&w->body, w->slot, 1000);
    next->revision = 2;
    command(w, (gw_command){.kind = GW_COMMAND_SCENARIO, .scenario = next, .tag = 7});
}

static void an_edit_elsewhere_does_not_disturb_it(void **state)
{
    (void)state;
    world w = made(NULL, 0), same = made(NULL, 0);
    gw_motion_target g = nowhere();
    g.to[1] = 0.2;
    guide(&w, g, 1);
    guide(&same, g, 1);
    ticked(&w, 500);
    ticked(&same, 500);
    switched(&w, fixture_turning(GW_LOCUS_PLANE));
    for (int k = 0; k < 3000; k++)
        assert_true(gw_distance(ticked(&w, 1)->world_from_tool.p,
                                ticked(&same, 1)->world_from_tool.p) < 1e-9);
    assert_int_equal(ended(&w, 1).outcome, GW_MOTION_REACHED);
    gone(&w);
    gone(&same);
}

static void another_set_loses_the_way_and_keeps_the_hold(void **state)
{
    (void)state;
    world w = made(NULL, 0);
    gw_motion_target g = nowhere();
    g.to[1] = 0.3;
    guide(&w, g, 1);
    ticked(&w, 1000);
    switched(&w, fixture_turning(GW_LOCUS_CIRCLE));
    assert_int_equal(ended(&w, 1).outcome, GW_MOTION_LOST);
    const gw_tool_state *t = ticked(&w, 2000);
    assert_true(t->guide.active && !t->travelling && gw_norm(t->twist.v) < 1e-6);
    assert_true(gw_distance(t->world_from_tool.p, gw_v3(0.1, 0, 0)) < 2e-3);
    gone(&w);
}

/* Geometry that moved: the way goes on, to the same parameters where these count from now on. */
static void a_set_that_moved_takes_the_way_along(void **state)
{
    (void)state;
    for (int relative = 0; relative < 2; relative++) {
        world w = made(NULL, 0);
        gw_motion_target g = nowhere();
        if (relative)
            g.by[1] = 0.1;
        else
            g.to[1] = 0.2;
        guide(&w, g, 1);
        ticked(&w, 1000);
        gw_submanifold moved = fixture_turning(GW_LOCUS_PLANE);
        moved.translation.locus.origin = gw_v3(0.03, 0.01, 0.05);
        moved.rows[2].value = 0.05;
        double fastest = 0;
        gw_vec3 before = ticked(&w, 1)->world_from_tool.p;
        switched(&w, moved);
        for (int k = 0; k < 6000; k++) {
            gw_vec3 p = ticked(&w, 1)->world_from_tool.p;
            fastest = fmax(fastest, 1000 * gw_distance(p, before));
            before = p;
        }
        assert_int_equal(ended(&w, 1).outcome, GW_MOTION_REACHED);
        assert_true(fabs(before.x - (relative ? 0.2 : 0.23)) < 5e-4);
        assert_true(fabs(before.z - 0.05) < 1e-12 && fastest < 0.4);
        gone(&w);
    }
}

static void energy_balances_under_the_robot(void **state)
{
    (void)state;
    fixture_wall wall = wall_at_x(0.15);
    world w = made(&wall, 1);
    gw_motion_target g = nowhere();
    g.to[1] = 0.3, g.to[0] = 1;
    guide(&w, g, 1);
    double most = 0;
    for (int k = 0; k < 4000; k++) {
        ticked(&w, 1);
        const gw_energy *e = &gw_simulation_snapshot(w.simulation)->energy;
        double off = e->kinetic + e->potential - e->initial - e->work_in + e->dissipated;
        most = fmax(most, e->kinetic);
        assert_true(fabs(off) < 1e-9 * most + 1e-15);
    }
    gone(&w);
}

static void two_runs_give_the_same_bits(void **state)
{
    (void)state;
    fixture_wall wall = wall_at_x(0.15);
    gw_pose last[2];
    for (int i = 0; i < 2; i++) {
        world w = made(&wall, 1);
        gw_motion_target g = nowhere();
        g.to[1] = 0.3, g.to[0] = 1, g.force = 5;
        guide(&w, g, 1);
        last[i] = ticked(&w, 3000)->world_from_tool;
        gone(&w);
    }
    assert_memory_equal(&last[0], &last[1], sizeof last[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_goes_there_with_bounded_speed_and_ramps),
        cmocka_unit_test(a_relative_way_adds_up_and_may_be_more_than_a_turn),
        cmocka_unit_test(a_turn_to_a_value_takes_the_short_way),
        cmocka_unit_test(it_pulls_through_a_device_of_modest_character),
        cmocka_unit_test(it_follows_a_circle_and_carries_the_weight),
        cmocka_unit_test(a_reaction_ends_the_way_where_the_wall_is),
        cmocka_unit_test(a_turn_is_ended_by_torque),
        cmocka_unit_test(what_pushes_across_is_no_reaction),
        cmocka_unit_test(contact_is_with_another_wall),
        cmocka_unit_test(walls_that_change_sides_are_no_contact),
        cmocka_unit_test(without_a_guard_a_wall_blocks),
        cmocka_unit_test(a_way_is_lost_by_release_halt_stop_and_another),
        cmocka_unit_test(after_a_halt_it_holds_where_it_was),
        cmocka_unit_test(a_way_that_a_halt_overtook_never_begins),
        cmocka_unit_test(a_drag_takes_over_from_a_hold),
        cmocka_unit_test(an_edit_elsewhere_does_not_disturb_it),
        cmocka_unit_test(another_set_loses_the_way_and_keeps_the_hold),
        cmocka_unit_test(a_set_that_moved_takes_the_way_along),
        cmocka_unit_test(energy_balances_under_the_robot),
        cmocka_unit_test(two_runs_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
