/* Free bodies to watch: a door on its hinge, a ball, and what is judged of a tick. */
#ifndef GW_TESTS_UNIT_FREE_FIXTURE_H
#define GW_TESTS_UNIT_FREE_FIXTURE_H

#include "tests/unit/scene_building.h"
#include "tests/unit/scene_running.h"

/* ---- what is judged ------------------------------------------------------------------------- */

static inline double energy_error(const gw_snapshot *s)
{
    const gw_energy *e = &s->energy;
    return e->kinetic + e->potential - e->initial - e->work_in - e->edits + e->dissipated;
}

/* Of the stated constraints, at the poses of the snapshot. */
static inline double residual(const running *r, const gw_snapshot *s)
{
    gw_pose poses[16];
    for (int i = 0; i < r->scene->object_count; i++)
        poses[i] = r->layout->poses[i];
    for (int i = 0; i < s->follower_count; i++)
        poses[s->followers[i].object] = s->followers[i].world_from_object;
    for (int i = 0; i < s->free_count; i++)
        poses[s->free[i].object] = s->free[i].pose;
    return gw_layout_residual(r->layout, poses);
}

static inline const gw_free_body *body(const gw_snapshot *s, const running *r, const char *id)
{
    int object = gw_scene_object(r->scene, id);
    for (int i = 0; i < s->free_count; i++)
        if (s->free[i].object == object)
            return &s->free[i];
    fail_msg("%s is not free", id);
    return NULL;
}

/* ---- what is done to it ---------------------------------------------------------------------- */

/* The simulation goes over to the scene as it is now, laid out from where things are, contacts from
 * where they are followed. */
static inline void hand_over(running *r, const gw_snapshot *now, const gw_begin *begins)
{
    gw_error error = {0};
    gw_pose poses[16];
    gw_command retired, command = {.kind = GW_COMMAND_SCENARIO, .tag = 1};
    for (int i = 0; i < r->scene->object_count; i++)
        poses[i] = r->scene->objects[i].pose;
    for (int i = 0; i < now->tool_count; i++)
        if (now->tools[i].object >= 0)
            poses[now->tools[i].object] = now->tools[i].world_from_object;
    for (int i = 0; i < now->free_count; i++)
        if (!begins || begins[now->free[i].object] == GW_BEGIN_GO_ON)
            poses[now->free[i].object] = now->free[i].pose;
    gw_layout_destroy(r->layout);
    const gw_layout_known known = {.starts = {begins ? 0 : now->followed_count, now->followed}};
    r->layout = gw_layout_update(r->scene, poses, &known, &error);
    assert_non_null(r->layout);
    assert_null(gw_layout_unsolved(r->layout));
    gw_scenario_def def = {.scene = r->scene,
                           .layout = r->layout,
                           .begins = begins,
                           .slots = r->slots,
                           .slot_count = r->scene->device_count};
    command.scenario = gw_scenario_create(&def, &error);
    assert_non_null(command.scenario);
    gw_simulation_apply(r->simulation, &command, &retired);
    gw_scenario_destroy(retired.scenario);
}

static inline void move_feature(running *r, const char *object, const char *name,
                                gw_element element)
{
    int index = gw_scene_feature(r->scene, object, name);
    gw_command retired, command = {.kind = GW_COMMAND_GEOMETRY};
    command.geometry.moved =
        (gw_moved_geometry){.feature = index, .object = -1, .element = element};
    gw_simulation_apply(r->simulation, &command, &retired);
    r->scene->features[index].element = element;
}

static inline void move_object(running *r, const char *id, gw_pose to)
{
    gw_command retired, command = {.kind = GW_COMMAND_GEOMETRY};
    command.geometry.moved =
        (gw_moved_geometry){.feature = -1, .object = gw_scene_object(r->scene, id), .pose = to};
    gw_simulation_apply(r->simulation, &command, &retired);
    r->scene->objects[command.geometry.moved.object].pose = to;
}

static inline void set_state(running *r, gw_run_state state)
{
    gw_command retired, command = {.kind = GW_COMMAND_STATE, .state = state};
    gw_simulation_apply(r->simulation, &command, &retired);
}

/* Values of the ground come in a row from before it moves, so that none is eased. */
static inline void begin_row(running *r)
{
    set_state(r, GW_PAUSED);
    for (int i = 0; i < 3; i++) {
        move_object(r, "ground", gw_pose_identity());
        running_tick(r);
    }
    set_state(r, GW_RUNNING);
}

/* A shift of the ground along x, x = a t^2 / 2 from t = 0 on. */
static inline gw_pose pushed_on(double a, double t)
{
    return (gw_pose){{0.5 * a * t * t, 0, 0}, gw_quat_identity()};
}

static inline void turn_ground(running *r, double angle)
{
    move_object(r, "ground", (gw_pose){{0, 0, 0}, gw_quat_axis(gw_v3(0, 0, 1), angle)});
}

static inline void turn_rail(running *r, double angle)
{
    move_feature(r, "ground", "rail",
                 (gw_element){.kind = GW_LINE, .p = {0, 0, 0}, .d = {cos(angle), sin(angle), 0}});
}

/* ---- scenes --------------------------------------------------------------------------------- */

/* A bar of 0.2 m hinged at its end on the ground's left pin, along z; weight along -y. It begins
 * `angle` from hanging. */
static inline gw_scene *door(double angle)
{
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    s->gravity = gw_v3(0, -9.81, 0);
    gw_object *bar = add_bar(s, "door", gw_v3(0, 0, 0), angle + 0.5 * GW_PI, 0.1);
    bar->pose.p = gw_neg(gw_rotate(bar->pose.q, gw_v3(0.1, 0, 0)));
    bar->free = true;
    hinge(s, "h", "door", "far", "ground", "left");
    return s;
}

/* A door's angle from hanging. */
static inline double angle_of_door(gw_pose door)
{
    gw_vec3 down = gw_rotate(door.q, gw_v3(-1, 0, 0));
    return atan2(down.x, -down.y);
}

/* Its end stops at a plane of the ground, 2 cm to the right of the hinge. */
static inline gw_scene *door_with_a_stop(void)
{
    gw_scene *s = door(1);
    s->objects[0].shape.size = gw_v3(0.001, 0.001, 0.001);
    state_feature(s, "ground", "stop",
                  (gw_element){.kind = GW_PLANE, .p = {0.02, 0, 0}, .d = {1, 0, 0}});
    state_feature(s, "door", "end",
                  (gw_element){.kind = GW_POINT, .p = {-0.1, 0, 0}, .d = {0, 0, 0}});
    join(s, "stop", GW_DISTANCE, "door", "end", "ground", "stop")->bound = GW_BOUND_AT_LEAST;
    return s;
}

static inline gw_object *add_ball(gw_scene *s, const char *id, gw_vec3 at, double radius)
{
    gw_object *ball = add_box(s, id, at, false);
    ball->shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = radius};
    ball->free = true;
    return ball;
}

/* Three threads of one length bear a plate: it swings without turning, on a set that has no closed
 * form. */
static inline gw_scene *plate_on_threads(void)
{
    const char *const names[3] = {"one", "two", "three"};
    gw_scene *s = new_scene();
    add_ground(s, 0.5);
    s->gravity = gw_v3(0, 0, -9.81);
    gw_object *plate = add_box(s, "plate", gw_v3(0.06, 0.02, -0.2), false);
    plate->free = true;
    for (int i = 0; i < 3; i++) {
        gw_vec3 at = {0.1 * cos(2 * i), 0.1 * sin(2 * i), 0};
        state_feature(s, "plate", names[i],
                      (gw_element){.kind = GW_POINT, .p = at, .d = {0, 0, 0}});
        state_feature(s, "ground", names[i],
                      (gw_element){.kind = GW_POINT, .p = at, .d = {0, 0, 0}});
        join(s, names[i], GW_DISTANCE, "plate", names[i], "ground", names[i])->value = 0.2;
    }
    return s;
}

static inline void touch_elastically(gw_scene *s)
{
    gw_material *m = gw_scene_add_material(s, NULL);
    assert_non_null(m);
    strcpy(m->id, "steel");
    m->surface.restitution = 1;
    m->surface.friction = 0;
    for (int i = 0; i < s->object_count; i++)
        strcpy(s->objects[i].material, "steel");
    s->contact.enabled = true;
}

#endif
