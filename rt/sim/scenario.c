/*
 * Builds scenarios from a scene and its layout. On a server thread or in `run`, never in a tick.
 */
#include <assert.h>

#include "rt/sim/scenario_private.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/haptics/admittance.h"

#define TRANSITION_SPEED 0.25 /* m/s */
#define TRANSITION_SPIN  1.0  /* rad/s */

/* The diagonal of the box around all objects at their poses (framework eq. 30), m. */
static double scene_diagonal(const gw_scene *scene, const gw_pose *poses)
{
    double low[3] = {DBL_MAX, DBL_MAX, DBL_MAX}, high[3] = {-DBL_MAX, -DBL_MAX, -DBL_MAX};
    for (int i = 0; i < scene->object_count; i++) {
        gw_aabb box = gw_shape_bounds(&scene->objects[i].shape);
        for (int corner = 0; corner < 8; corner++) {
            gw_vec3 c = {corner & 1 ? box.high.x : box.low.x, corner & 2 ? box.high.y : box.low.y,
                         corner & 4 ? box.high.z : box.low.z};
            gw_vec3 x = gw_pose_point(&poses[i], c);
            double at[3] = {x.x, x.y, x.z};
            for (int k = 0; k < 3; k++) {
                low[k] = fmin(low[k], at[k]);
                high[k] = fmax(high[k], at[k]);
            }
        }
    }
    gw_vec3 d = {high[0] - low[0], high[1] - low[1], high[2] - low[2]};
    return scene->object_count > 0 ? fmax(gw_norm(d), 1e-6) : 1;
}

static gw_device_slot *find_slot(const gw_scenario_def *def, const char *id)
{
    for (int i = 0; i < def->slot_count; i++)
        if (strcmp(gw_device_slot_id(def->slots[i]), id) == 0)
            return def->slots[i];
    return NULL;
}

static gw_workspace_map map_of(const gw_scenario_def *def, const gw_tool *tool, gw_scenario_tool *t)
{
    gw_workspace_fit fit = {.set = &t->guided.set,
                            .world_from_body = t->pose,
                            .body_from_tool = t->guided.body_from_held,
                            .workspace_radius = gw_device_slot_info(t->slot)->workspace_radius,
                            .scene_diagonal = scene_diagonal(def->scene, def->layout->poses)};
    gw_workspace_map map = gw_workspace_fitted(&fit);
    t->scale_fitted = gw_workspace_fits_locus(&fit);
    map.force = tool->force_scale > 0 ? tool->force_scale : 1;
    if (tool->workspace.has_scale)
        map.scale = tool->workspace.scale;
    if (tool->workspace.has_centre)
        map.centre = tool->workspace.centre;
    return map;
}

static void tool_settings(gw_scenario_tool *t, const gw_tool *tool)
{
    t->gain_p = tool->has_gains ? tool->gains.p : GW_PID_P;
    t->gain_i = tool->has_gains ? tool->gains.i : GW_PID_I;
    t->gain_d = tool->has_gains ? tool->gains.d : GW_PID_D;
    t->limits = (gw_command_limits){.force = tool->force_max,
                                    .torque = tool->torque_max,
                                    .speed = tool->speed_max,
                                    .spin = tool->spin_max,
                                    .force_rate = tool->force_rate_max,
                                    .torque_rate = tool->torque_rate_max,
                                    .acceleration = tool->acceleration_max,
                                    .spin_acceleration = tool->spin_acceleration_max,
                                    .reach = tool->reach_max};
}

/* Sets up a held object: its body on its branch. */
static bool build_held_object(const gw_scenario_def *def, const gw_tool *tool, const char *where,
                              gw_scenario_tool *t, gw_error *error)
{
    const gw_placement *placement =
        t->object >= 0 ? gw_layout_placement(def->layout, t->object) : NULL;
    if (!placement || placement->branch < 0)
        return gw_fail(error, GW_BAD_INPUT, where, "%s is fixed or has no solution to be held on",
                       tool->object);
    const gw_object *object = &def->scene->objects[t->object];
    t->name = gw_name_hash(object->id, 0);
    t->guided = (gw_guided_def){.set = placement->solution.branches[placement->branch].set,
                                .mass = gw_object_mass(object),
                                .gravity = def->scene->gravity,
                                .damping_linear = object->body.damping_linear,
                                .damping_angular = object->body.damping_angular,
                                .body_from_held = tool->at,
                                .length = placement->length};
    memcpy(t->branch, placement->solution.branches[placement->branch].id, sizeof t->branch);
    t->pose = def->layout->poses[t->object];
    t->twist = (gw_twist){object->velocity, object->spin};
    int *count = &t->unilateral_count;
    for (int i; *count < GW_MAX_UNILATERALS &&
                (i = gw_scene_unilateral(def->scene, t->object, *count)) >= 0;
         ++*count)
        t->unilaterals[*count] = gw_name_hash(def->scene->constraints[i].id, 0);
    return true;
}

/* Sets up a held body of a system: like that of a mechanism's link, its held frame is free for the
 * workspace map. */
static bool build_held_member(const gw_scenario_def *def, const gw_tool *tool, const char *where,
                              gw_scenario_tool *t, gw_error *error)
{
    const gw_scene_system *system = gw_layout_system(def->layout, t->object, &t->body);
    if (!system)
        return gw_fail(error, GW_BAD_INPUT, where, "%s has no solution to be held on",
                       tool->object);
    t->system = def->layout->system_of[t->object];
    t->name = gw_name_hash(def->scene->objects[t->object].id, 0);
    t->pose = def->layout->poses[t->object];
    t->guided = (gw_guided_def){.set = gw_submanifold_free(), .body_from_held = tool->at};
    return true;
}

/* Sets up a held mechanism: for the workspace map its held frame is free. */
static void build_held_mechanism(const gw_scenario_def *def, const gw_tool *tool,
                                 gw_scenario_tool *t)
{
    const gw_mechanism *m = &def->scene->mechanisms[t->mechanism];
    t->name = gw_name_hash(m->id, 0);
    t->link = tool->link;
    t->guided = (gw_guided_def){.set = gw_submanifold_free(), .body_from_held = tool->at};
}

/* The device's class determines its control; the scene's `control` has to agree. */
static bool build_control(const gw_tool *tool, const char *where, gw_scenario_tool *t,
                          gw_error *error)
{
    bool impedance = gw_device_slot_info(t->slot)->class == GW_DEVICE_IMPEDANCE;
    t->renders = tool->control != GW_CONTROL_ADMITTANCE;
    t->start = tool->start;
    t->rendering = tool->rendering;
    t->desired = tool->desired;
    t->grasp = tool->grasp;
    if (impedance == t->renders)
        return true;
    return gw_fail(error, GW_BAD_INPUT, where,
                   impedance ? "device %s is an impedance device: control is one of impedance, "
                               "penalty, coupling, four-channel"
                             : "device %s is an admittance device: its control is admittance, the "
                               "others want an impedance device (driver sim-impedance)",
                   tool->device);
}

/* One tool: its object or mechanism, its device, its map. */
static bool build_tool(const gw_scenario_def *def, int index, gw_scenario_tool *t, gw_error *error)
{
    const gw_tool *tool = &def->scene->tools[index];
    char where[48];
    t->object = t->mechanism = t->system = -1;
    snprintf(where, sizeof where, "/tools/%d/%s", index,
             tool->mechanism[0] ? "mechanism" : "object");
    if (!tool->mechanism[0]) {
        t->object = gw_scene_object(def->scene, tool->object);
        bool member = t->object >= 0 && def->layout->system_of[t->object] >= 0;
        if (!(member ? build_held_member : build_held_object)(def, tool, where, t, error))
            return false;
    }
    if (tool->mechanism[0]) {
        t->mechanism = gw_scene_mechanism(def->scene, tool->mechanism);
        if (t->mechanism < 0)
            return gw_fail(error, GW_BAD_INPUT, where, "there is no mechanism %s", tool->mechanism);
        build_held_mechanism(def, tool, t);
        int number =
            def->scene->object_count + gw_scene_first_joint(def->scene, t->mechanism) + t->link;
        t->system = def->layout->system_of[number];
        if (!gw_layout_system(def->layout, number, &t->body))
            return gw_fail(error, GW_BAD_INPUT, where, "%s has no solution to be held on",
                           tool->mechanism);
        t->pose = def->layout->poses[number];
    }
    t->slot = find_slot(def, tool->device);
    int device = gw_scene_device(def->scene, tool->device);
    t->latched = device >= 0 && gw_device_latched(&def->scene->devices[device]);
    snprintf(where, sizeof where, "/tools/%d/device", index);
    if (!t->slot)
        return gw_fail(error, GW_NOT_FOUND, where, "device %s is not open", tool->device);
    snprintf(where, sizeof where, "/tools/%d/control", index);
    if (!build_control(tool, where, t, error))
        return false;
    t->map = map_of(def, tool, t);
    t->scale_stated = tool->workspace.has_scale;
    tool_settings(t, tool);
    return true;
}

/* Two masses in one system need not agree: each takes the place of what moves at its hand, the
 * other hand's mass included. */
static bool check_desired_masses(const gw_scenario_def *def, const int *systems, gw_error *error)
{
    char where[48];
    for (int i = 0; i < def->scene->tool_count; i++)
        for (int k = 0; k < i; k++) {
            const gw_tool *a = &def->scene->tools[k], *b = &def->scene->tools[i];
            if (systems[i] < 0 || systems[i] != systems[k] || !a->desired.has_mass ||
                !b->desired.has_mass)
                continue;
            snprintf(where, sizeof where, "/tools/%d/desired/mass", i);
            return gw_fail(error, GW_BAD_INPUT, where,
                           "tools %d and %d hold one system of bodies, in which one hand can have "
                           "a desired mass: damping and stiffness may be desired at both",
                           k, i);
        }
    return true;
}

static bool build_dynamics(const gw_scenario_def *def, gw_scenario *s, gw_error *error)
{
    int objects[GW_MAX_TOOLS], systems[GW_MAX_TOOLS], bodies[GW_MAX_TOOLS];
    for (int i = 0; i < s->tool_count; i++) {
        const gw_scenario_tool *t = &s->tools[i];
        systems[i] = t->system;
        bodies[i] = t->body;
        objects[i] = t->system < 0 ? t->object : -1;
    }
    if (!check_desired_masses(def, systems, error))
        return false;
    gw_scene_dynamics_def dynamics = {.scene = def->scene,
                                      .layout = def->layout,
                                      .tool_count = s->tool_count,
                                      .objects = objects,
                                      .systems = systems,
                                      .bodies = bodies,
                                      .begins = def->begins,
                                      .detector = def->detector,
                                      .reused = def->reused,
                                      .before = def->before,
                                      .rate = s->rate * s->substeps};
    s->dynamics = gw_scene_dynamics_create(&dynamics, error);
    return s->dynamics;
}

/* Sum of -m g . com of movable objects that are not held and rest at their layout poses. */
static double rest_potential(const gw_scenario_def *def, const gw_scenario *s)
{
    double sum = 0;
    for (int i = 0; i < def->scene->object_count; i++) {
        const gw_object *object = &def->scene->objects[i];
        bool held = false;
        for (int k = 0; k < s->tool_count; k++)
            held = held || s->tools[k].object == i;
        if (object->fixed || object->free || held || def->layout->system_of[i] >= 0)
            continue;
        gw_mass mass = gw_object_mass(object);
        gw_vec3 com = gw_pose_point(&def->layout->poses[i], mass.com);
        sum -= mass.mass * gw_dot(def->scene->gravity, com);
    }
    return sum;
}

/* Takes references to the free-form shapes of a solid, as far as there are any; returns their
 * number. `to` NULL: counts them. */
static int hold_shape(const gw_shape *shape, gw_nurbs **to)
{
    gw_nurbs *const own[] = {shape->nurbs, shape->rim};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        if (own[i] && to)
            to[count] = gw_nurbs_get(own[i]);
        count += own[i] != NULL;
    }
    for (int i = 0; shape->kind == GW_SHAPE_COMPOUND && i < shape->part_count; i++)
        count += hold_shape(&shape->parts[i].shape, to ? to + count : NULL);
    return count;
}

static int hold_all(const gw_scene *scene, gw_nurbs **to)
{
    int count = 0;
    for (int i = 0; i < scene->object_count; i++)
        count += hold_shape(&scene->objects[i].shape, to ? to + count : NULL);
    for (int i = 0; i < scene->mechanism_count; i++)
        for (int k = 0; k < scene->mechanisms[i].link_count; k++)
            if (scene->mechanisms[i].geometries[k].has_geometry)
                count +=
                    hold_shape(&scene->mechanisms[i].geometries[k].shape, to ? to + count : NULL);
    return count;
}

/* Takes references to the free-form shapes of sets and constraints, as the scene may be destroyed
 * before the scenario. */
static bool hold_shapes(gw_scenario *s, const gw_scene *scene, gw_error *error)
{
    s->shapes = calloc((size_t)hold_all(scene, NULL) + 1, sizeof(gw_nurbs *));
    if (!s->shapes)
        return gw_fail(error, GW_FAILED, "", "no memory for a scenario's shapes");
    s->shape_count = hold_all(scene, s->shapes);
    return true;
}

/* Creates the rehearsal, with the same detector. */
static void make_rehearsal(const gw_scenario_def *def, gw_scenario *s)
{
    struct gw_detector *detector = gw_scenario_share_detector(s);
    gw_scenario_def like = *def;
    like.detector = detector;
    like.renamed_count = 0;
    s->rehearsal = gw_rehearsal_create(&like);
    gw_scenario_release_detector(detector);
}

gw_scenario *gw_scenario_create(const gw_scenario_def *def, gw_error *error)
{
    assert(def);
    gw_scenario *s = calloc(1, sizeof *s);
    if (!s) {
        gw_fail(error, GW_FAILED, "", "no memory for a scenario");
        return NULL;
    }
    s->kinematics = gw_kinematics_create(def->scene, def->layout, error);
    if (!s->kinematics || !hold_shapes(s, def->scene, error) ||
        !gw_new_names_create(&s->new_names, def, error)) {
        gw_scenario_destroy(s);
        return NULL;
    }
    s->built = s->revision = def->revision;
    s->rate = def->scene->rate > 0 ? def->scene->rate : 1000;
    s->dt = 1.0 / s->rate;
    s->substeps = gw_scene_step_rate(def->scene) / s->rate;
    s->go_to_layout = def->go_to_layout;
    s->transition_speed = def->transition_speed > 0 ? def->transition_speed : TRANSITION_SPEED;
    s->transition_spin = def->transition_spin > 0 ? def->transition_spin : TRANSITION_SPIN;
    for (int i = 0; i < def->slot_count && i < GW_MAX_DEVICES; i++)
        s->slots[s->slot_count++] = def->slots[i];
    for (int i = 0; i < def->scene->device_count; i++)
        s->latched = s->latched || gw_device_latched(&def->scene->devices[i]);
    for (int i = 0; i < def->scene->tool_count && i < GW_MAX_TOOLS; i++) {
        if (!build_tool(def, i, &s->tools[i], error)) {
            gw_scenario_destroy(s);
            return NULL;
        }
        s->tool_count = i + 1;
    }
    if (!build_dynamics(def, s, error)) {
        gw_scenario_destroy(s);
        return NULL;
    }
    s->rest_potential = rest_potential(def, s);
    if (def->rehearsed)
        make_rehearsal(def, s);
    return s;
}

void gw_scenario_destroy(gw_scenario *scenario)
{
    if (!scenario)
        return;
    gw_rehearsal_destroy(scenario->rehearsal);
    gw_scene_dynamics_destroy(scenario->dynamics);
    gw_kinematics_destroy(scenario->kinematics);
    gw_new_names_destroy(&scenario->new_names);
    for (int i = 0; i < scenario->shape_count; i++)
        gw_nurbs_put(scenario->shapes[i]);
    free(scenario->shapes);
    free(scenario);
}

struct gw_detector *gw_scenario_share_detector(const gw_scenario *scenario)
{
    const gw_detection *detection = gw_scene_dynamics_detection(scenario->dynamics);
    const gw_detector *detector = detection ? gw_detection_detector(detection) : NULL;
    return detector ? gw_detector_share(detector, NULL, NULL) : NULL;
}

void gw_scenario_release_detector(struct gw_detector *detector)
{
    gw_detector_destroy(detector);
}
