/*
 * Two scenes compared, member by member: each difference is either a value that a command carries,
 * or requires a new scenario. Plain structs are compared by their bytes: a difference in padding
 * costs at most an unnecessary scenario.
 */
#include "server/app/diff.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SAME(a, b) (memcmp(&(a), &(b), sizeof(a)) == 0)

static bool same_id(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* ---- solids -------------------------------------------------------------------------------- */

/* Compares the numbers, since a patch of an object creates its shape again. */
static bool same_nurbs(const gw_nurbs *a, const gw_nurbs *b)
{
    return a == b || (a && b && gw_nurbs_equal(a, b));
}

/* Meshes are shared and counted: an unchanged file is the same mesh in memory. Surfaces made of
 * primitives follow from the rest. */
static bool same_shape(const gw_shape *a, const gw_shape *b)
{
    bool same = a->kind == b->kind && SAME(a->size, b->size) && a->radius == b->radius &&
                a->height == b->height && a->mesh == b->mesh && a->part_count == b->part_count &&
                (!gw_shape_is_free_form(a->kind) || same_nurbs(a->nurbs, b->nurbs));
    for (int i = 0; same && i < a->part_count; i++)
        same = SAME(a->parts[i].pose, b->parts[i].pose) &&
               same_shape(&a->parts[i].shape, &b->parts[i].shape);
    return same;
}

int app_tool_of(const gw_scene *scene, const char *object)
{
    assert(scene && object);
    for (int i = 0; i < scene->tool_count; i++)
        if (same_id(scene->tools[i].object, object))
            return i;
    return -1;
}

static bool is_held(const gw_scene *scene, const char *object)
{
    return app_tool_of(scene, object) >= 0;
}

/* ---- objects and features ------------------------------------------------------------------ */

bool app_same_object(const gw_object *a, const gw_object *b)
{
    return same_shape(&a->shape, &b->shape) && SAME(a->pose, b->pose) && a->fixed == b->fixed &&
           a->free == b->free && a->massless == b->massless && same_id(a->material, b->material) &&
           SAME(a->body, b->body) && SAME(a->velocity, b->velocity) && SAME(a->spin, b->spin);
}

static void add_geometry(app_diff *d, const gw_moved_geometry *moved)
{
    if (d->geometry_count == DIFF_GEOMETRY)
        d->scenario = true;
    else
        d->geometry[d->geometry_count++] = *moved;
}

static bool is_feature(const char *object, const char *name, const gw_feature *feature)
{
    return same_id(object, feature->object) && same_id(name, feature->name);
}

/* True where the feature places a joint, or belongs to an enabled constraint of a system of
 * bodies. */
static bool shapes_system(const gw_scene *scene, const gw_feature *feature)
{
    for (int i = 0; i < scene->joint_count; i++) {
        const gw_joint_end *a = &scene->joints[i].a, *b = &scene->joints[i].b;
        if (is_feature(a->object, a->feature, feature) ||
            is_feature(b->object, b->feature, feature))
            return true;
    }
    int *of_body = calloc((size_t)gw_scene_body_count(scene) + 1, sizeof *of_body);
    bool shapes = !of_body || gw_scene_number_systems(scene, false, of_body) < 0;
    for (int i = 0; i < scene->constraint_count && !shapes; i++) {
        const gw_scene_constraint *c = &scene->constraints[i];
        int a = gw_scene_body_number(scene, c->a.object);
        int b = gw_scene_body_number(scene, c->b.object);
        bool names = is_feature(c->a.object, c->a.feature, feature) ||
                     is_feature(c->b.object, c->b.feature, feature);
        shapes =
            names && c->enabled && ((a >= 0 && of_body[a] >= 0) || (b >= 0 && of_body[b] >= 0));
    }
    free(of_body);
    return shapes;
}

/* The pose of a fixed object is a value; any other change of an object needs a new scenario. */
static void compare_object(const gw_scene *base, const gw_scene *scene, int i, app_diff *d)
{
    const gw_object *a = &base->objects[i], *b = &scene->objects[i];
    gw_object placed = *b;
    placed.pose = a->pose;
    bool names = !same_id(a->id, b->id);
    bool solids = !same_shape(&a->shape, &b->shape) || a->fixed != b->fixed || a->free != b->free ||
                  !same_id(a->material, b->material) ||
                  is_held(base, a->id) != is_held(scene, b->id);
    d->names |= names;
    d->solids |= solids;
    if (names || solids || !app_same_object(a, &placed))
        d->scenario = true;
    else if (SAME(a->pose, b->pose))
        return;
    else if (b->fixed)
        add_geometry(d, &(gw_moved_geometry){.feature = -1, .object = i, .pose = b->pose});
    else
        d->scenario = true;
}

static void compare_objects(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    if (base->object_count != scene->object_count)
        d->scenario = d->solids = d->names = true;
    for (int i = 0; i < base->object_count && i < scene->object_count; i++)
        compare_object(base, scene, i, d);
}

/* The numbers of a feature are values, unless a system of bodies is made of it. */
static void compare_features(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    if (base->feature_count != scene->feature_count)
        d->scenario = true;
    for (int i = 0; i < base->feature_count && i < scene->feature_count; i++) {
        const gw_feature *a = &base->features[i], *b = &scene->features[i];
        const gw_element *x = &a->element, *y = &b->element;
        if (!same_id(a->object, b->object) || !same_id(a->name, b->name) || x->kind != y->kind)
            d->scenario = true;
        else if (SAME(x->p, y->p) && (x->kind == GW_POINT || SAME(x->d, y->d)))
            continue;
        else if (shapes_system(scene, b))
            d->scenario = true;
        else
            add_geometry(d, &(gw_moved_geometry){.feature = i, .object = -1, .element = *y});
    }
}

/* ---- constraints --------------------------------------------------------------------------- */

static bool same_reference(const gw_feature_ref *a, const gw_feature_ref *b)
{
    return same_id(a->object, b->object) && same_id(a->feature, b->feature);
}

static void compare_constraints(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    bool names = base->constraint_count != scene->constraint_count, same = !names;
    for (int i = 0; i < base->constraint_count && i < scene->constraint_count; i++) {
        const gw_scene_constraint *a = &base->constraints[i], *b = &scene->constraints[i];
        bool named =
            same_id(a->id, b->id) && same_reference(&a->a, &b->a) && same_reference(&a->b, &b->b);
        names = names || !named;
        same = same && named && a->kind == b->kind && a->bound == b->bound &&
               a->value == b->value && a->sense == b->sense && a->enabled == b->enabled &&
               a->inside == b->inside && a->unilateral == b->unilateral;
    }
    d->names |= names;
    d->scenario |= !same;
}

/* ---- joints and springs -------------------------------------------------------------------- */

/* True where both joints have the same id, type of relation, objects and collision setting. */
static bool same_joint_place(const gw_scene_joint *a, const gw_scene_joint *b)
{
    return same_id(a->id, b->id) && same_id(a->a.object, b->a.object) &&
           same_id(a->b.object, b->b.object) && a->gear == b->gear && a->collide == b->collide &&
           a->enabled == b->enabled;
}

/* Adds the motors with other numbers; false where there are too many of them. */
static bool compare_motors(const gw_scene_joint *a, const gw_scene_joint *b, int index, app_diff *d)
{
    for (int i = 0; i < 6; i++) {
        if (!a->has_motor[i] || SAME(a->motor[i], b->motor[i]))
            continue;
        if (d->motor_count == DIFF_MOTORS)
            return false;
        d->motor[d->motor_count].mechanism = -1;
        d->motor[d->motor_count].joint = index;
        d->motor[d->motor_count++].coordinate = i;
    }
    return true;
}

/* Joined bodies do not collide, so a changed relation changes the detector as well. The numbers of
 * a motor are values. */
static void compare_joints(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    bool placed = base->joint_count == scene->joint_count, same = placed;
    for (int i = 0; placed && i < base->joint_count; i++) {
        const gw_scene_joint *a = &base->joints[i], *b = &scene->joints[i];
        gw_scene_joint driven = *b;
        memcpy(driven.motor, a->motor, sizeof driven.motor);
        placed = same_joint_place(a, b);
        same = same && SAME(*a, driven) && compare_motors(a, b, i, d);
    }
    d->names |= !placed;
    d->solids |= !placed;
    d->scenario |= !placed || !same;
}

static void compare_springs(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    bool same = base->spring_count == scene->spring_count;
    for (int i = 0; same && i < base->spring_count; i++)
        same = SAME(base->springs[i], scene->springs[i]);
    d->scenario |= !same;
}

/* ---- tools and devices --------------------------------------------------------------------- */

/* True where everything but the control and its values is equal. */
static bool same_hold(const gw_tool *a, const gw_tool *b)
{
    return same_id(a->object, b->object) && same_id(a->mechanism, b->mechanism) &&
           a->link == b->link && SAME(a->at, b->at) && same_id(a->device, b->device) &&
           SAME(a->start, b->start) && a->substeps == b->substeps && a->has_gains == b->has_gains &&
           SAME(a->gains, b->gains) && a->grasp == b->grasp && SAME(a->desired, b->desired) &&
           a->force_scale == b->force_scale && SAME(a->workspace, b->workspace) &&
           same_id(a->branch, b->branch) && a->force_max == b->force_max &&
           a->torque_max == b->torque_max && a->speed_max == b->speed_max &&
           a->spin_max == b->spin_max && a->force_rate_max == b->force_rate_max &&
           a->torque_rate_max == b->torque_rate_max && a->acceleration_max == b->acceleration_max &&
           a->spin_acceleration_max == b->spin_acceleration_max && a->reach_max == b->reach_max;
}

static bool has_rendering(const gw_tool *tool)
{
    return tool->control != GW_CONTROL_ADMITTANCE;
}

bool app_only_control(const gw_tool *a, const gw_tool *b)
{
    return has_rendering(a) && has_rendering(b) && same_hold(a, b);
}

static void compare_tools(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    if (base->tool_count != scene->tool_count)
        d->scenario = true;
    for (int i = 0; i < base->tool_count && i < scene->tool_count; i++) {
        const gw_tool *a = &base->tools[i], *b = &scene->tools[i];
        bool same = a->control == b->control && SAME(a->rendering, b->rendering);
        if (!same_hold(a, b) || (!same && !app_only_control(a, b)))
            d->scenario = true;
        else if (!same)
            d->control[d->control_count++] = i;
    }
}

bool app_same_device(const gw_device *a, const gw_device *b)
{
    bool same = same_id(a->driver, b->driver) && same_id(a->profile, b->profile) &&
                a->setting_count == b->setting_count;
    for (int i = 0; same && i < a->setting_count; i++)
        same = same_id(a->settings[i].name, b->settings[i].name) &&
               a->settings[i].value == b->settings[i].value;
    return same;
}

bool app_same_operator(const gw_operator *a, const gw_operator *b)
{
    if (a->kind != b->kind || a->count != b->count || a->mass != b->mass ||
        a->stiffness != b->stiffness || a->damping != b->damping ||
        a->stiffness_angular != b->stiffness_angular || a->damping_angular != b->damping_angular)
        return false;
    size_t count = (size_t)a->count;
    if (a->kind == GW_OPERATOR_WRENCH)
        return count == 0 || memcmp(a->samples, b->samples, count * sizeof *a->samples) == 0;
    return count == 0 || memcmp(a->path, b->path, count * sizeof *a->path) == 0;
}

static void compare_devices(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    if (base->device_count != scene->device_count)
        d->scenario = true;
    for (int i = 0; i < base->device_count && i < scene->device_count; i++) {
        const gw_device *a = &base->devices[i], *b = &scene->devices[i];
        d->scenario |= !same_id(a->id, b->id) || !app_same_device(a, b) || a->safety != b->safety;
        d->operators |= !app_same_operator(&a->operator, & b->operator);
    }
}

/* ---- mechanisms and contacts --------------------------------------------------------------- */

static bool same_geometry(const gw_link_geometry *a, const gw_link_geometry *b)
{
    return a->has_geometry == b->has_geometry && same_shape(&a->shape, &b->shape) &&
           SAME(a->pose, b->pose) && same_id(a->material, b->material);
}

/* The numbers of a motor are values. */
static void compare_links(const gw_scene *base, const gw_scene *scene, int index, app_diff *d)
{
    const gw_mechanism *a = &base->mechanisms[index], *b = &scene->mechanisms[index];
    for (int i = 0; i < a->link_count; i++) {
        gw_link_def driven = b->links[i];
        driven.motor = a->links[i].motor;
        bool solid = same_geometry(&a->geometries[i], &b->geometries[i]);
        d->solids |= !solid;
        d->names |= !same_id(a->geometries[i].id, b->geometries[i].id);
        if (!SAME(a->links[i], driven) || !solid || a->position[i] != b->position[i] ||
            a->velocity[i] != b->velocity[i] || a->parent[i] != b->parent[i] ||
            a->several[i] != b->several[i] || !same_id(a->geometries[i].id, b->geometries[i].id) ||
            !same_id(a->geometries[i].mesh, b->geometries[i].mesh))
            d->scenario = true;
        if (SAME(a->links[i].motor, b->links[i].motor))
            continue;
        d->motor[d->motor_count].mechanism = index;
        d->motor[d->motor_count++].joint = i;
    }
}

static void compare_mechanisms(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    bool same = base->mechanism_count == scene->mechanism_count;
    for (int i = 0; same && i < base->mechanism_count; i++)
        same = base->mechanisms[i].link_count == scene->mechanisms[i].link_count;
    if (!same) {
        d->scenario = d->solids = d->names = true;
        return;
    }
    for (int i = 0; i < base->mechanism_count; i++) {
        const gw_mechanism *a = &base->mechanisms[i], *b = &scene->mechanisms[i];
        d->names |= !same_id(a->id, b->id);
        d->scenario |= !same_id(a->id, b->id) || !SAME(a->base, b->base);
        compare_links(base, scene, i, d);
    }
}

static void compare_contact(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    const gw_scene_contact *a = &base->contact, *b = &scene->contact;
    bool same = a->enabled == b->enabled && a->local == b->local && a->rate == b->rate &&
                SAME(a->rules, b->rules) && a->ignore_count == b->ignore_count;
    for (int i = 0; same && i < a->ignore_count; i++)
        same = same_id(a->ignore[i].a, b->ignore[i].a) && same_id(a->ignore[i].b, b->ignore[i].b);
    d->scenario |= !same;
    d->solids |= a->enabled != b->enabled;
}

/* A solid refers to its material by index. */
static void compare_materials(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    bool same = base->material_count == scene->material_count;
    for (int i = 0; same && i < base->material_count; i++)
        same = same_id(base->materials[i].id, scene->materials[i].id);
    d->solids |= !same;
    for (int i = 0; same && i < base->material_count; i++)
        same = SAME(base->materials[i], scene->materials[i]);
    d->scenario |= !same;
}

/* ---- tasks --------------------------------------------------------------------------------- */

/* The loop does not know the tasks. */
static void compare_tasks(const gw_scene *base, const gw_scene *scene, app_diff *d)
{
    bool same = base->task_count == scene->task_count;
    for (int i = 0; same && i < base->task_count; i++) {
        const gw_task *a = &base->tasks[i], *b = &scene->tasks[i];
        same = same_id(a->id, b->id) && same_id(a->name, b->name) &&
               same_id(a->object, b->object) && a->step_count == b->step_count &&
               (a->step_count == 0 ||
                memcmp(a->steps, b->steps, (size_t)a->step_count * sizeof *a->steps) == 0);
    }
    d->tasks = !same;
}

/* ---- the whole ----------------------------------------------------------------------------- */

app_diff app_diff_of(const gw_scene *base, const gw_scene *scene)
{
    app_diff d = {0};
    assert(base && scene);
    d.restart = base->rate != scene->rate || gw_scene_step_rate(base) != gw_scene_step_rate(scene);
    d.scenario = !SAME(base->gravity, scene->gravity);
    compare_objects(base, scene, &d);
    compare_features(base, scene, &d);
    compare_constraints(base, scene, &d);
    compare_joints(base, scene, &d);
    compare_springs(base, scene, &d);
    compare_tools(base, scene, &d);
    compare_devices(base, scene, &d);
    compare_mechanisms(base, scene, &d);
    compare_materials(base, scene, &d);
    compare_contact(base, scene, &d);
    compare_tasks(base, scene, &d);
    d.text = !same_id(base->name, scene->name) || !same_id(base->description, scene->description);
    return d;
}

bool app_same_branches(const gw_layout *a, const gw_layout *b)
{
    assert(a && b);
    bool same = a->count == b->count && a->edge_count == b->edge_count;
    for (int i = 0; same && i < a->count; i++) {
        const gw_placement *x = a->placements[i], *y = b->placements[i];
        same = x->object == y->object && x->rank == y->rank && x->follow == y->follow &&
               x->carrier == y->carrier && x->cluster == y->cluster && x->count == y->count;
        if (same && (x->follow == GW_OBJECT_HELD || x->follow == GW_OBJECT_FREE))
            same =
                x->branch >= 0 && y->branch >= 0 &&
                strcmp(x->solution.branches[x->branch].id, y->solution.branches[y->branch].id) == 0;
    }
    return same;
}
