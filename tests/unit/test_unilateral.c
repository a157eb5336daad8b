/*
 * Walls at the held object: they push, never pull, hold what they are pushed with, keep the
 * the energy balance, and take an object that is found beyond them as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "rt/sim/scene_dynamics_private.h"
#include "tests/unit/world_fixture.h"

#define PLACE 0.2 /* m: of the walls below */

/* The body's origin keeps x at most PLACE. */
static fixture_wall wall_at_x(void)
{
    return fixture_wall_at_x("x", PLACE);
}

static world made(const gw_guided_def *body, int rate, const fixture_wall *walls, int count,
                  const gw_operator *operator)
{
    world w = fixture_world(&(world_def){
        .body = *body, .rate = rate, .operator= operator, .walls = walls, .wall_count = count});
    fixture_state(w.simulation, GW_RUNNING);
    return w;
}

static gw_guided_def on_plane(void)
{
    return fixture_body(fixture_turning(GW_LOCUS_PLANE));
}

static double unbalanced(const world *w)
{
    const gw_energy *e = &gw_simulation_snapshot(w->simulation)->energy;
    return e->kinetic + e->potential - e->initial - e->work_in + e->dissipated - e->edits;
}

/* ---- what holds ----------------------------------------------------------------------------- */

static void a_wall_holds_what_pushes(void **state)
{
    (void)state;
    static const int rates[] = {250, 1000, 8000};
    for (int i = 0; i < 3; i++) {
        gw_wrench_sample push = {0, {{5, 0, 0}, {0, 0, 0}}};
        gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &push};
        gw_guided_def body = on_plane();
        fixture_wall wall = wall_at_x();
        world w = made(&body, rates[i], &wall, 1, &o);
        const gw_tool_state *t = ticked(&w, 3 * rates[i]);
        assert_true(t->walls == 1);
        assert_true(t->depth < 1e-8);
        assert_true(fabs(t->world_from_tool.p.x - PLACE - t->depth) < 1e-12);
        assert_true(gw_distance(t->contact.f, gw_v3(-5, 0, 0)) < 1e-3);
        assert_true(gw_norm(t->twist.v) < 1e-6);
        gone(&w);
    }
}

static void a_wall_never_pulls_and_lets_go(void **state)
{
    (void)state;
    gw_wrench_sample push[3] = {
        {0, {{5, 0, 0}, {0, 0, 0}}}, {0.5, {{-5, 0, 0}, {0, 0, 0}}}, {0.6, {{0, 0, 0}, {0, 0, 0}}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 3, .samples = push};
    gw_guided_def body = on_plane();
    fixture_wall wall = wall_at_x();
    world w = made(&body, 1000, &wall, 1, &o);
    bool touched = false;
    for (int k = 0; k < 1500; k++) {
        const gw_tool_state *t = ticked(&w, 1);
        touched = touched || t->walls;
        assert_true(t->contact.f.x <= 0);
        assert_true(t->walls || gw_norm(t->contact.f) == 0);
    }
    assert_true(touched);
    assert_true(ticked(&w, 1)->world_from_tool.p.x < PLACE - 0.01);
    gone(&w);
}

/* Every kind of pair, by the distance that the object keeps in the end under a push. */
static void every_pair_keeps_its_distance(void **state)
{
    (void)state;
    gw_vec3 far = {PLACE + 0.3, 0, 0}, z = {0, 0, 1}, x = {1, 0, 0};
    gw_element origin = fixture_point(gw_v3(0, 0, 0)), point = fixture_point(far);
    const fixture_wall cases[] = {
        {"plane", origin, fixture_plane(far, gw_neg(x)), GW_BOUND_AT_LEAST, 0.3},
        {"sphere", origin, point, GW_BOUND_AT_LEAST, 0.3},
        {"tether", origin, fixture_point(gw_v3(-0.1, 0, 0)), GW_BOUND_AT_MOST, 0.3},
        {"cylinder", origin, fixture_line(far, z), GW_BOUND_AT_LEAST, 0.3},
        {"own cylinder", fixture_line(origin.p, z), point, GW_BOUND_AT_LEAST, 0.3},
        {"own plane", fixture_plane(origin.p, x), point, GW_BOUND_AT_LEAST, 0.3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gw_wrench_sample push = {0, {{2, 0, 0}, {0, 0, 0}}};
        gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &push};
        gw_guided_def body = on_plane();
        world w = made(&body, 1000, &cases[i], 1, &o);
        const gw_tool_state *t = ticked(&w, 2000);
        assert_true(t->walls == 1 && fabs(t->contact.f.x + 2) < 0.02);
        assert_true(fabs(t->world_from_tool.p.x - PLACE) < 2e-6);
        gone(&w);
    }
}

/* Many at one place are as stable as one. */
static void sixty_four_walls_at_one_place_stand_still(void **state)
{
    (void)state;
    gw_wrench_sample push = {0, {{20, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &push};
    gw_guided_def body = on_plane();
    fixture_wall walls[GW_MAX_UNILATERALS];
    char id[GW_MAX_UNILATERALS][16];
    for (int i = 0; i < GW_MAX_UNILATERALS; i++) {
        snprintf(id[i], sizeof id[i], "w%d", i);
        walls[i] = fixture_wall_at_x(id[i], PLACE);
    }
    world w = made(&body, 1000, walls, GW_MAX_UNILATERALS, &o);
    double deepest = 0;
    for (int k = 0; k < 2000; k++)
        deepest = fmax(deepest, ticked(&w, 1)->depth);
    const gw_tool_state *t = ticked(&w, 1);
    assert_true(t->walls == UINT64_MAX);
    assert_true(deepest < 1e-7 && gw_norm(t->twist.v) < 1e-9);
    assert_true(gw_distance(t->contact.f, gw_v3(-20, 0, 0)) < 1e-6);
    assert_true(fabs(unbalanced(&w)) < 1e-9);
    gone(&w);
}

/* A corner far from the centre of mass is light. */
static void a_corner_that_turns_is_held_too(void **state)
{
    (void)state;
    gw_wrench_sample push = {0, {{0, 0, 0}, {0, 0, 0.2}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &push};
    gw_guided_def body = on_plane();
    fixture_wall walls[2];
    for (int i = 0; i < 2; i++) {
        double side = i ? -1 : 1;
        walls[i] = (fixture_wall){.id = i ? "lower" : "upper",
                                  .own = fixture_point(gw_v3(0.08 * side, 0, 0)),
                                  .other = fixture_plane(gw_v3(0, 0.05 * side, 0), gw_v3(0, 1, 0)),
                                  .bound = i ? GW_BOUND_AT_LEAST : GW_BOUND_AT_MOST};
    }
    world w = made(&body, 1000, walls, 2, &o);
    const gw_tool_state *t = ticked(&w, 4000);
    assert_true(t->walls == 3);
    assert_true(gw_norm(t->twist.w) < 1e-4 && t->depth < 1e-6);
    assert_true(fabs(gw_quat_log(t->world_from_object.q).z - asin(0.05 / 0.08)) < 0.02);
    assert_true(fabs(t->contact.t.z + 0.2) < 1e-3);
    gone(&w);
}

/* ---- energy --------------------------------------------------------------------------------- */

static void energy_balances_through_a_hundred_bounces(void **state)
{
    (void)state;
    gw_guided_def body = on_plane();
    body.gravity = gw_v3(9.81, 0, 0);
    fixture_wall wall = wall_at_x();
    world w = made(&body, 1000, &wall, 1, NULL);
    double lost = 0, most = 0;
    bool touching = false;
    int bounces = 0;
    for (int k = 0; k < 5000; k++) {
        const gw_tool_state *t = ticked(&w, 1);
        const gw_energy *e = &gw_simulation_snapshot(w.simulation)->energy;
        bounces += t->walls && !touching;
        touching = t->walls;
        most = fmax(most, e->kinetic);
        /* damping only takes: what a kink in a step makes of it stays below a thousandth */
        assert_true(e->dissipated >= lost - 1e-3 * most);
        lost = fmax(lost, e->dissipated);
        assert_true(fabs(unbalanced(&w)) <= 1e-9 * most);
    }
    assert_true(bounces >= 3);
    assert_true(lost > 0.9 * 2 * 9.81 * 0.1); /* it came to rest: the fall's energy went */
    assert_true(gw_norm(ticked(&w, 1)->twist.v) < 1e-6);
    gone(&w);
}

/* The reported work is that of the push, without the position errors of the walls. */
static void work_is_what_the_hand_did(void **state)
{
    (void)state;
    gw_wrench_sample push = {0, {{5, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &push};
    gw_guided_def body = on_plane();
    fixture_wall wall = wall_at_x();
    world w = made(&body, 1000, &wall, 1, &o);
    for (int k = 0; k < 3000; k++) {
        const gw_tool_state *t = ticked(&w, 1);
        double done = 5 * (t->world_from_tool.p.x - 0.1);
        assert_true(fabs(gw_simulation_snapshot(w.simulation)->energy.work_in - done) < 1e-12);
    }
    assert_true(fabs(unbalanced(&w)) < 1e-12);
    gone(&w);
}

static void tumbling_against_walls_balances(void **state)
{
    (void)state;
    gw_guided_def body = fixture_body(fixture_set(GW_ROTATION_FREE, GW_LOCUS_FREE, false));
    body.mass.com = gw_v3(0.01, 0.005, -0.02);
    static const char *const names[6] = {"a", "b", "c", "d", "e", "f"};
    fixture_wall walls[6];
    for (int i = 0; i < 6; i++) {
        double s = i % 2 ? -1 : 1;
        gw_vec3 n = i < 2 ? gw_v3(s, 0, 0) : i < 4 ? gw_v3(0, s, 0) : gw_v3(0, 0, s);
        walls[i] = (fixture_wall){.id = names[i],
                                  .own = fixture_point(gw_scale(0.05, gw_v3(n.y, n.z, n.x))),
                                  .other = fixture_plane(gw_scale(PLACE, n), n),
                                  .bound = GW_BOUND_AT_MOST};
    }
    world w = made(&body, 1000, walls, 6, NULL);
    gw_command retired,
        push = {.kind = GW_COMMAND_PUSH, .push = {{3, 4, -2}, {0.01, -0.02, 0.015}}};
    gw_simulation_apply(w.simulation, &push, &retired);
    ticked(&w, 600);
    push.push = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    gw_simulation_apply(w.simulation, &push, &retired);
    ticked(&w, 3000);
    const gw_energy *e = &gw_simulation_snapshot(w.simulation)->energy;
    assert_true(e->dissipated > 0.1 * e->work_in && e->kinetic < e->work_in);
    assert_true(fabs(unbalanced(&w)) < 1e-9 * e->work_in);
    gone(&w);
}

/* ---- change --------------------------------------------------------------------------------- */

static void apply_scenario(world *w, gw_scenario *next)
{
    gw_command retired, command = {.kind = GW_COMMAND_SCENARIO, .scenario = next};
    next->revision = 2;
    gw_simulation_apply(w->simulation, &command, &retired);
    gw_scenario_destroy(retired.scenario);
}

/* A wall that is put where the object already stands beyond it gives it no push. */
static void a_wall_found_passed_does_not_throw(void **state)
{
    (void)state;
    gw_guided_def body = on_plane();
    world w = made(&body, 1000, NULL, 0, NULL);
    ticked(&w, 10);
    fixture_wall wall = wall_at_x();
    wall.other.p.x = 0.05; /* the body stands at 0.1 */
    apply_scenario(&w, scenario_of(&w, &wall, 1));
    const gw_tool_state *t = ticked(&w, 200);
    assert_true(gw_norm(t->contact.f) == 0 && gw_norm(t->twist.v) == 0);
    assert_true(fabs(t->depth - 0.05) < 1e-12);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push = {{5, 0, 0}, {0, 0, 0}}};
    gw_simulation_apply(w.simulation, &push, &retired);
    assert_true(ticked(&w, 1000)->world_from_tool.p.x < 0.1 + 1e-4); /* no further */
    push.push.f.x = -5;
    gw_simulation_apply(w.simulation, &push, &retired);
    assert_true(ticked(&w, 500)->world_from_tool.p.x < 0); /* but back */
    push.push.f.x = 5;
    gw_simulation_apply(w.simulation, &push, &retired);
    ticked(&w, 3000);
    assert_true(fabs(ticked(&w, 1)->world_from_tool.p.x - 0.05) < 1e-4); /* then it holds */
    gone(&w);
}

/* An edit elsewhere leaves an object that leans on a wall where it is. */
static void an_edit_leaves_who_leans_alone(void **state)
{
    (void)state;
    gw_wrench_sample push = {0, {{5, 0, 0}, {0, 0, 0}}};
    gw_operator o = {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &push};
    gw_guided_def body = on_plane();
    fixture_wall walls[2] = {fixture_wall_at_x("far", 0.7), wall_at_x()};
    world w = made(&body, 1000, &walls[1], 1, &o);
    gw_vec3 before = ticked(&w, 3000)->world_from_tool.p;
    for (int i = 0; i < 20; i++) {
        apply_scenario(&w, scenario_of(&w, i % 2 ? &walls[1] : walls, i % 2 ? 1 : 2));
        const gw_tool_state *t = ticked(&w, 50);
        assert_true(gw_distance(t->world_from_tool.p, before) < 1e-9);
        assert_true(fabs(t->contact.f.x + 5) < 1e-4);
    }
    assert_true(fabs(unbalanced(&w)) < 1e-9);
    apply_scenario(&w, scenario_of(&w, walls, 1)); /* the wall goes: so does the object */
    assert_true(ticked(&w, 300)->world_from_tool.p.x > before.x + 0.05);
    assert_true(fabs(unbalanced(&w)) < 1e-9);
    gone(&w);
}

/* A set that lies behind a wall is travelled to: the edit's way, not the hand's. From there the
 * wall lets it come back and not go further. */
static void a_wall_yields_to_a_travel_and_not_to_a_hand(void **state)
{
    (void)state;
    gw_guided_def body = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    fixture_wall walls[2] = {{"z", fixture_point(gw_v3(0, 0, 0)),
                              fixture_plane(gw_v3(0, 0, 0.05), gw_v3(0, 0, 1)), GW_BOUND_AT_MOST,
                              0},
                             fixture_wall_at_x("x", 0.12)};
    world w = made(&body, 1000, walls, 2, NULL);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push = {{10, 0, 0}, {0, 0, 0}}};
    gw_simulation_apply(w.simulation, &push, &retired);
    ticked(&w, 1000); /* it leans on the second wall */
    w.body.set.translation.locus.origin.z = w.body.set.rows[2].value = 0.2;
    apply_scenario(&w, scenario_of(&w, walls, 2));
    const gw_tool_state *t;
    do {
        t = ticked(&w, 1);
        assert_true(fabs(t->contact.f.z) < 1e-9 && t->world_from_object.p.x < 0.1202);
    } while (t->travelling);
    t = ticked(&w, 100);
    assert_true(fabs(t->world_from_object.p.z - 0.2) < 1e-12);
    assert_true(fabs(t->contact.f.x + 10) < 1e-2 && fabs(t->depth - 0.15) < 1e-9);
    assert_true(fabs(unbalanced(&w)) < 1e-9);
    gone(&w);
}

/* ---- built from a scene --------------------------------------------------------------------- */

static void put_constraint(gw_scene *s, const char *id, const char *a, const char *fa,
                           const char *b, const char *fb, gw_bound bound, double value)
{
    gw_scene_constraint *c = gw_scene_add_constraint(s, NULL);
    strcpy(c->id, id);
    c->kind = GW_DISTANCE;
    strcpy(c->a.object, a), strcpy(c->a.feature, fa);
    strcpy(c->b.object, b), strcpy(c->b.feature, fb);
    c->bound = bound;
    c->value = value;
}

static gw_scene *two_boxes(void)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    for (int i = 0; i < 2; i++) {
        gw_object *o = gw_scene_add_object(s, NULL);
        strcpy(o->id, i ? "cover" : "base");
        o->shape = (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.1, 0.1, 0.1}};
        o->fixed = !i;
        o->pose.p.z = i * 0.3;
    }
    return s;
}

/* Depth of the only wall of `cover`, which moves freely, at its pose. */
static double depth_of(gw_scene *s)
{
    gw_error error = {0};
    s->objects[1].free = true;
    s->gravity = gw_v3(0, 0, 0);
    gw_layout *layout = gw_layout_create(s, NULL, &error);
    gw_scene_dynamics *d = gw_scene_dynamics_create(
        &(gw_scene_dynamics_def){.scene = s, .layout = layout, .rate = 1000}, &error);
    assert_non_null(d);
    gw_scene_dynamics_step(d, 1e-3);
    assert_int_equal(d->unilaterals->count, 1);
    double depth = -d->unilaterals->rows[0].now.gap;
    gw_scene_dynamics_destroy(d);
    gw_layout_destroy(layout);
    return depth;
}

static void walls_mean_what_the_scene_says(void **state)
{
    (void)state;
    const struct {
        const char *own, *other;
        bool own_first;
        gw_bound bound;
        double value, depth;
    } cases[] = {
        /* the cover's bottom corners stand 0.2 above the base's top */
        {"+x+y-z", "+z", true, GW_BOUND_AT_LEAST, 0, -0.2},
        {"+x+y-z", "+z", true, GW_BOUND_AT_LEAST, 0.25, 0.05},
        {"+x+y-z", "+z", false, GW_BOUND_AT_MOST, 0.15, 0.05},
        /* the base's top corner lies 0.2 below the cover's bottom, whose normal points down */
        {"-z", "+x+y+z", true, GW_BOUND_AT_LEAST, 0, -0.2},
        {"-z", "+x+y+z", false, GW_BOUND_AT_MOST, 0.1, 0.1},
        {"center", "center", true, GW_BOUND_AT_LEAST, 0.4, 0.1},
        {"center", "axis-x", false, GW_BOUND_AT_MOST, 0.2, 0.1},
        {"axis-y", "center", true, GW_BOUND_AT_LEAST, 0.35, 0.05},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gw_scene *s = two_boxes();
        if (cases[i].own_first)
            put_constraint(s, "w", "cover", cases[i].own, "base", cases[i].other, cases[i].bound,
                           cases[i].value);
        else
            put_constraint(s, "w", "base", cases[i].other, "cover", cases[i].own, cases[i].bound,
                           cases[i].value);
        gw_error error = {0};
        if (!gw_scene_check(s, &error))
            print_error("%s %s\n", error.where, error.message);
        assert_true(!error.code && fabs(depth_of(s) - cases[i].depth) < 1e-12);
        gw_scene_destroy(s);
    }
}

static void walls_position_nothing(void **state)
{
    (void)state;
    gw_scene *s = two_boxes();
    put_constraint(s, "w", "cover", "+x+y-z", "base", "+z", GW_BOUND_AT_LEAST, 0.5);
    gw_layout *layout = gw_layout_create(s, NULL, NULL);
    assert_int_equal(layout->placements[0]->solution.dof, 6);
    assert_true(gw_distance(layout->poses[1].p, gw_v3(0, 0, 0.3)) == 0);
    assert_true(gw_layout_residual(layout, layout->poses) == 0);
    gw_layout_destroy(layout);
    gw_scene_destroy(s);
}

/* Distances and angles of any kinds; nothing else has two sides. */
static void only_distances_and_angles_are_bounds(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *s = two_boxes();
    put_constraint(s, "w", "cover", "-z", "base", "+z", GW_BOUND_AT_LEAST, 0);
    assert_true(gw_scene_check(s, &error));
    s->constraints[0].kind = GW_ANGLE;
    assert_true(gw_scene_check(s, &error));
    s->constraints[0].kind = GW_COINCIDENT;
    assert_false(gw_scene_check(s, &error));
    assert_string_equal(error.where, "/constraints/0/bound");
    assert_non_null(strstr(error.message, "only a distance and an angle"));
    gw_scene_destroy(s);
}

static void too_many_walls_are_refused(void **state)
{
    (void)state;
    gw_error error = {0};
    gw_scene *s = two_boxes();
    strcpy(gw_scene_add_device(s, NULL)->id, "sim");
    strcpy(s->devices[0].driver, "sim");
    gw_tool *tool = gw_scene_add_tool(s, NULL);
    strcpy(tool->object, "cover"), strcpy(tool->device, "sim");
    for (int i = 0; i < GW_MAX_UNILATERALS + 1; i++) {
        char id[16];
        snprintf(id, sizeof id, "w%d", i);
        assert_true(gw_scene_check(s, &error));
        put_constraint(s, id, "cover", "+x+y-z", "base", "+z", GW_BOUND_AT_LEAST, 0);
    }
    assert_false(gw_scene_check(s, &error));
    assert_true(error.code == GW_TOO_LARGE && strstr(error.message, "more than 64"));
    gw_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wall_holds_what_pushes),
        cmocka_unit_test(a_wall_never_pulls_and_lets_go),
        cmocka_unit_test(every_pair_keeps_its_distance),
        cmocka_unit_test(sixty_four_walls_at_one_place_stand_still),
        cmocka_unit_test(a_corner_that_turns_is_held_too),
        cmocka_unit_test(energy_balances_through_a_hundred_bounces),
        cmocka_unit_test(work_is_what_the_hand_did),
        cmocka_unit_test(tumbling_against_walls_balances),
        cmocka_unit_test(a_wall_found_passed_does_not_throw),
        cmocka_unit_test(an_edit_leaves_who_leans_alone),
        cmocka_unit_test(a_wall_yields_to_a_travel_and_not_to_a_hand),
        cmocka_unit_test(walls_mean_what_the_scene_says),
        cmocka_unit_test(walls_position_nothing),
        cmocka_unit_test(only_distances_and_angles_are_bounds),
        cmocka_unit_test(too_many_walls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
