/* Motion besides that of the held object: massless followers, cycles, and geometry that is moved
 * from outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>

#include "rt/sim/simulation.h"
#include "tests/unit/scene_building.h"

typedef struct world {
    gw_scene *scene;
    gw_layout *layout;
    gw_device_slot *slot;
    gw_simulation *simulation;
    gw_pose *poses;
} world;

static void set_state(world *w, gw_run_state state)
{
    gw_command retired, command = {.kind = GW_COMMAND_STATE, .state = state};
    gw_simulation_apply(w->simulation, &command, &retired);
}

/* Lays the scene out, opens its one device and runs; what is not held follows without mass. The
 * scene is the world's from now on. */
static world running(gw_scene *scene)
{
    gw_error error = {0};
    let_others_follow(scene);
    world w = {.scene = scene, .layout = gw_layout_create(scene, NULL, &error)};
    assert_non_null(w.layout);
    assert_null(gw_layout_unsolved(w.layout));
    w.slot = gw_device_slot_open(&scene->devices[0], 1000, &error);
    assert_non_null(w.slot);
    gw_scenario_def def = {.scene = scene, .layout = w.layout, .slots = &w.slot, .slot_count = 1};
    gw_scenario *scenario = gw_scenario_create(&def, &error);
    if (!scenario)
        fail_msg("%s: %s", error.where, error.message);
    w.simulation = gw_simulation_create(scenario, &error);
    assert_non_null(w.simulation);
    w.poses = malloc((size_t)scene->object_count * sizeof *w.poses);
    memcpy(w.poses, w.layout->poses, (size_t)scene->object_count * sizeof *w.poses);
    set_state(&w, GW_RUNNING);
    return w;
}

static void end(world *w)
{
    gw_simulation_destroy(w->simulation);
    gw_device_slot_close(w->slot);
    gw_layout_destroy(w->layout);
    gw_scene_destroy(w->scene);
    free(w->poses);
}

/* Where all objects are, out of the last tick's snapshot. */
static const gw_snapshot *look(world *w)
{
    const gw_snapshot *s = gw_simulation_snapshot(w->simulation);
    for (int i = 0; i < s->tool_count; i++)
        w->poses[s->tools[i].object] = s->tools[i].world_from_object;
    for (int i = 0; i < s->follower_count; i++)
        w->poses[s->followers[i].object] = s->followers[i].world_from_object;
    return s;
}

static void push(world *w, gw_vec3 force, gw_vec3 torque)
{
    gw_command retired, command = {.kind = GW_COMMAND_PUSH, .push = {force, torque}};
    gw_simulation_apply(w->simulation, &command, &retired);
}

/* Ticks, and the largest residual of the stated constraints seen. */
static double tick(world *w, int ticks)
{
    double worst = 0;
    for (int k = 0; k < ticks; k++) {
        gw_simulation_tick(w->simulation);
        look(w);
        worst = fmax(worst, gw_layout_residual(w->layout, w->poses));
    }
    return worst;
}

static int count_events(world *w, gw_event_kind kind)
{
    gw_event events[64];
    int count = 0, seen = gw_simulation_events(w->simulation, events, 64);
    for (int i = 0; i < seen; i++)
        count += events[i].kind == kind;
    return count;
}

static gw_vec3 at(const world *w, const char *id)
{
    return w->poses[gw_scene_object(w->scene, id)].p;
}

static double heading(const world *w, const char *id)
{
    gw_quat q = w->poses[gw_scene_object(w->scene, id)].q;
    gw_vec3 x = gw_rotate(q, gw_v3(1, 0, 0));
    return atan2(x.y, x.x);
}

/* ---- trees ----------------------------------------------------------------------------------- */

/* A tray on the ground's face, held, and 49 objects on it and on one another, three to each. */
static gw_scene *tree(void)
{
    gw_scene *s = new_scene();
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_box(s, "o0", gw_v3(0, 0, 0.2), false);
    join(s, "c0", GW_COINCIDENT, "o0", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    for (int i = 1; i < 50; i++) {
        char id[16], parent[16], c[16];
        snprintf(id, sizeof id, "o%d", i);
        snprintf(parent, sizeof parent, "o%d", (i - 1) / 3);
        snprintf(c, sizeof c, "c%d", i);
        add_box(s, id, gw_v3(0.1 * i, 0.03 * (i % 7), 0.1 * i), false);
        join(s, c, i % 2 ? GW_COINCIDENT : GW_DISTANCE, id, i % 2 ? "-z" : "center", parent,
             i % 2 ? "+z" : "center")
            ->sense = GW_OPPOSITE;
        s->constraints[s->constraint_count - 1].value = i % 2 ? 0 : 0.15;
        if (i % 2)
            s->constraints[s->constraint_count - 1].sense = GW_OPPOSITE;
        else
            s->constraints[s->constraint_count - 1].sense = GW_EITHER;
    }
    hold(s, "o0");
    return s;
}

static void fifty_objects_follow_their_root(void **state)
{
    (void)state;
    world w = running(tree());
    gw_vec3 before = at(&w, "o49");
    push(&w, gw_v3(1, 0.3, 0), gw_v3(0, 0, 0.02));
    assert_true(tick(&w, 500) < 1e-12);
    assert_int_equal(gw_simulation_snapshot(w.simulation)->follower_count, 49);
    assert_true(gw_distance(before, at(&w, "o49")) > 0.01);
    set_state(&w, GW_STOPPED);
    tick(&w, 1);
    assert_true(gw_distance(before, at(&w, "o49")) < 1e-12);
    end(&w);
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* Turned by a torque for a second: the crank, its residual watched. */
static double turned(world *w, double torque, int ticks)
{
    push(w, gw_v3(0, 0, 0), gw_v3(0, 0, torque));
    return tick(w, ticks);
}

static void a_rod_runs_along_its_rail(void **state)
{
    (void)state;
    world w = running(slider_crank());
    double way = 0, last = heading(&w, "crank");
    for (int k = 0; k < 40; k++) {
        assert_true(turned(&w, 0.01, 50) < 1e-12);
        double a = heading(&w, "crank"), y = 0.1 * sin(a);
        way += remainder(a - last, 2 * GW_PI);
        last = a;
        /* the tip is on the rail, the rod's other end on the crank's */
        double x = 0.1 * cos(a) + sqrt(0.09 - y * y);
        gw_vec3 tip = gw_pose_point(&w.poses[2], gw_v3(0.3, 0, 0));
        assert_true(gw_distance(tip, gw_v3(x, 0, 0)) < 1e-12);
    }
    assert_true(fabs(way) > 2 * GW_PI);
    assert_int_equal(count_events(&w, GW_EVENT_BOUND), 0);
    end(&w);
}

/* Freudenstein: the rocker's angle from the crank's, the branch that it was assembled on. */
static void a_four_bar_turns_round(void **state)
{
    (void)state;
    world w = running(four_bar());
    double way = 0, last = heading(&w, "crank");
    for (int k = 0; k < 40; k++) {
        assert_true(turned(&w, 0.01, 50) < 1e-12);
        double a = heading(&w, "crank");
        way += remainder(a - last, 2 * GW_PI);
        last = a;
        gw_vec3 far_c = gw_v3(0.1 * cos(a), 0.1 * sin(a), 0), pivot = {0.3, 0, 0};
        gw_vec3 d = gw_sub(far_c, pivot);
        double l = gw_norm(d), cosine = (0.04 + l * l - 0.09) / (2 * 0.2 * l);
        double b = atan2(d.y, d.x) - acos(cosine);
        assert_true(fabs(remainder(b - heading(&w, "rocker"), 2 * GW_PI)) < 1e-10);
    }
    assert_true(fabs(way) > 2 * GW_PI);
    assert_int_equal(count_events(&w, GW_EVENT_BOUND), 0);
    end(&w);
}

/* A crank too long to go round stops where its followers end, and comes back. */
static void a_hand_is_stopped_where_followers_end(void **state)
{
    (void)state;
    gw_scene *s = slider_crank();
    s->features[gw_scene_feature(s, "rod", "tip")].element.p.x = 0.06;
    s->objects[gw_scene_object(s, "crank")].pose.q = gw_quat_axis(gw_v3(0, 0, 1), 0.1);
    world w = running(s);
    assert_true(turned(&w, 0.01, 2000) < 1e-9);
    assert_int_equal(count_events(&w, GW_EVENT_BOUND), 1);
    double edge = heading(&w, "crank");
    assert_true(fabs(edge - asin(0.6)) < 1e-3);
    const gw_energy *e = &look(&w)->energy;
    assert_true(e->kinetic + e->potential - e->initial <= e->work_in - e->dissipated + 1e-9);
    assert_true(turned(&w, -0.01, 300) < 1e-9);
    assert_true(heading(&w, "crank") < edge - 0.05);
    end(&w);
}

/* ---- geometry that moves --------------------------------------------------------------------- */

/* A box lies on a stated plane of the fixed ground, held. */
static gw_scene *on_a_moving_plane(void)
{
    gw_scene *s = new_scene();
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_box(s, "lid", gw_v3(0, 0, 0.2), false);
    add_box(s, "knob", gw_v3(0, 0, 0.4), false);
    state_feature(s, "ground", "shelf",
                  (gw_element){.kind = GW_PLANE, .p = {0, 0, 0.1}, .d = {0, 0, 1}});
    join(s, "c1", GW_COINCIDENT, "lid", "-z", "ground", "shelf")->sense = GW_OPPOSITE;
    join(s, "c2", GW_COINCIDENT, "knob", "-z", "lid", "+z")->sense = GW_OPPOSITE;
    hold(s, "lid");
    return s;
}

static void move_shelf(world *w, double height, double tilt)
{
    gw_element shelf = {.kind = GW_PLANE, .p = {0, 0, height}, .d = {sin(tilt), 0, cos(tilt)}};
    gw_command retired,
        command = {
            .kind = GW_COMMAND_GEOMETRY,
            .geometry = {.moved = {.feature = 0, .object = -1, .element = shelf}, .revision = 7}};
    gw_simulation_apply(w->simulation, &command, &retired);
}

/* A sensor's values every tick: the tool is on each of them a tick later. */
static void a_tool_follows_a_plane_that_moves_every_tick(void **state)
{
    (void)state;
    world w = running(on_a_moving_plane());
    gw_vec3 last = at(&w, "lid");
    double fastest = 0, off = 0;
    for (int k = 1; k <= 2000; k++) {
        double h = 0.1 + 0.02 * (1 - cos(2 * GW_PI * k / 1000));
        move_shelf(&w, h, 0.1 * sin(2 * GW_PI * k / 1000));
        tick(&w, 1);
        gw_vec3 p = at(&w, "lid");
        fastest = fmax(fastest, gw_distance(p, last) * 1000);
        last = p;
        double before = 2 * GW_PI * (k - 1) / 1000; /* snapshots are of the step's start */
        double tilt = 0.1 * sin(before);
        gw_vec3 n = {sin(tilt), 0, cos(tilt)}, shelf = {0, 0, 0.1 + 0.02 * (1 - cos(before))};
        gw_vec3 bottom = gw_pose_point(&w.poses[1], gw_v3(0, 0, -0.05));
        off = k < 3 ? 0 : fmax(off, fabs(gw_dot(gw_sub(bottom, shelf), n)));
        assert_true(gw_distance(gw_pose_point(&w.poses[1], gw_v3(0, 0, 0.1)),
                                gw_pose_point(&w.poses[2], gw_v3(0, 0, 0))) < 0.2);
    }
    assert_true(off < 1e-12);
    assert_true(fastest < 0.25); /* 0.126 of the plane, and some of the tilt */
    assert_int_equal(count_events(&w, GW_EVENT_LEFT_BEHIND), 0);
    assert_int_equal(gw_simulation_snapshot(w.simulation)->revision, 7);
    end(&w);
}

/* A value that comes alone is gone to without a bump. */
static void a_single_move_is_smooth_and_slow(void **state)
{
    (void)state;
    world w = running(on_a_moving_plane());
    tick(&w, 1);
    gw_vec3 last = at(&w, "lid");
    double fastest = 0, hardest = 0, before = 0;
    move_shelf(&w, 0.2, 0);
    for (int k = 0; k < 1000; k++) {
        tick(&w, 1);
        double speed = gw_distance(at(&w, "lid"), last) * 1000;
        hardest = fmax(hardest, fabs(speed - before) * 1000);
        fastest = fmax(fastest, speed);
        before = speed;
        last = at(&w, "lid");
    }
    assert_true(fabs(last.z - 0.25) < 1e-12);
    assert_true(fastest < 0.2501 && fastest > 0.2);
    assert_true(hardest < 2); /* m/s^2 */
    assert_true(fabs(at(&w, "knob").z - 0.35) < 1e-12);
    end(&w);
}

/* Values 20 ms apart: no stop between them. */
static void slow_sensors_are_joined_by_straight_lines(void **state)
{
    (void)state;
    world w = running(on_a_moving_plane());
    tick(&w, 1);
    double least = 1;
    gw_vec3 last = at(&w, "lid");
    for (int k = 1; k <= 1000; k++) {
        if (k % 20 == 0)
            move_shelf(&w, 0.1 + 1e-4 * k, 0);
        tick(&w, 1);
        double speed = gw_distance(at(&w, "lid"), last) * 1000;
        last = at(&w, "lid");
        least = k > 400 ? fmin(least, speed) : least;
    }
    assert_true(least > 0.099); /* 0.1 m/s */
    end(&w);
}

static void a_moved_fixed_object_takes_along_what_stands_on_it(void **state)
{
    (void)state;
    world w = running(on_a_moving_plane());
    gw_command retired,
        command = {.kind = GW_COMMAND_GEOMETRY,
                   .geometry = {
                       .moved = {.feature = -1, .object = 0, .pose = {{0, 0, 0.05}, {1, 0, 0, 0}}},
                       .revision = 2}};
    gw_simulation_apply(w.simulation, &command, &retired);
    tick(&w, 1000);
    assert_true(fabs(at(&w, "lid").z - 0.2) < 1e-12);
    assert_true(fabs(at(&w, "knob").z - 0.3) < 1e-12);
    const gw_energy *e = &look(&w)->energy;
    assert_true(fabs(e->kinetic + e->potential - e->initial - e->edits) < 1e-12);
    end(&w);
}

/* ---- singular points ------------------------------------------------------------------------- */

/* A parallelogram: two points 0.3 m apart, 0.1 m from two pins as far apart, in a plane. Where all
 * four are in line it could go on as an antiparallelogram. */
static void singular_points_are_passed_and_told(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_box(s, "bar", gw_v3(0.03, 0.09, 0), false);
    const gw_vec3 ends[] = {{0, 0, 0}, {0.3, 0, 0}};
    const char *const objects[] = {"ground", "bar"};
    for (int i = 0; i < 2; i++) {
        state_feature(s, objects[i], "p",
                      (gw_element){.kind = GW_POINT, .p = ends[0], .d = {0, 0, 0}});
        state_feature(s, objects[i], "q",
                      (gw_element){.kind = GW_POINT, .p = ends[1], .d = {0, 0, 0}});
        state_feature(s, objects[i], "level",
                      (gw_element){.kind = GW_PLANE, .p = {0, 0, 0}, .d = {0, 0, 1}});
    }
    join(s, "c1", GW_DISTANCE, "bar", "p", "ground", "p")->value = 0.1;
    join(s, "c2", GW_DISTANCE, "bar", "q", "ground", "q")->value = 0.1;
    join(s, "c3", GW_COINCIDENT, "bar", "level", "ground", "level")->sense = GW_SAME;
    s->objects[1].velocity = gw_v3(0.5, 0, 0);
    hold(s, "bar");
    world w = running(s);
    double initial = look(&w)->energy.initial;
    assert_true(initial > 0.01);
    assert_true(tick(&w, 2000) < 1e-12);
    const gw_energy *e = &look(&w)->energy;
    assert_true(fabs(e->kinetic - initial) < 1e-9 * initial);
    assert_true(count_events(&w, GW_EVENT_SINGULAR) >= 2);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifty_objects_follow_their_root),
        cmocka_unit_test(a_rod_runs_along_its_rail),
        cmocka_unit_test(a_four_bar_turns_round),
        cmocka_unit_test(a_hand_is_stopped_where_followers_end),
        cmocka_unit_test(a_tool_follows_a_plane_that_moves_every_tick),
        cmocka_unit_test(a_single_move_is_smooth_and_slow),
        cmocka_unit_test(slow_sensors_are_joined_by_straight_lines),
        cmocka_unit_test(a_moved_fixed_object_takes_along_what_stands_on_it),
        cmocka_unit_test(singular_points_are_passed_and_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
