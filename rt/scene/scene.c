/*
 * Ownership of the document: copies, growth, removal. Not for use inside a tick.
 */
#include "rt/scene/scene.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/driver.h"

gw_scene gw_scene_default(void)
{
    return (gw_scene){.rate = 1000};
}

gw_tool gw_tool_default(void)
{
    gw_tool tool = {.at = gw_pose_identity(),
                    .start = gw_pose_identity(),
                    .rendering = gw_impedance_def_default(),
                    .substeps = 1};
    tool.rendering.resisted = (gw_resisted_def){.length = 0.05, .threshold = 1e-3, .fade = 10};
    tool.rendering.mass_known = 1;
    tool.force_scale = 1;
    tool.rendering.passivity = true;
    return tool;
}

gw_contact_material gw_contact_material_default(void)
{
    /* dry wood or plastic; as stiff as a tick of a millisecond bears with a kilogram in hand */
    return (gw_contact_material){
        .restitution = 0.5, .friction = 0.3, .stiffness = 2e4, .damping = 50};
}

bool gw_device_latched(const gw_device *device)
{
    if (device->safety != GW_SAFETY_BY_DRIVER)
        return device->safety == GW_SAFETY_LATCHED;
    const gw_driver *driver = gw_driver_find(device->driver);
    return driver && !gw_driver_is_simulated(driver);
}

const char *gw_tool_held_id(const gw_tool *tool)
{
    return tool->mechanism[0] ? tool->mechanism : tool->object;
}

/* ---- what entries own ----------------------------------------------------------------------- */

void gw_operator_finish(gw_operator *o)
{
    free(o->samples);
    free(o->path);
    *o = (gw_operator){0};
}

static void *duplicate(const void *from, size_t bytes, bool *ok)
{
    if (!from || bytes == 0)
        return NULL;
    void *to = malloc(bytes);
    if (to)
        memcpy(to, from, bytes);
    else
        *ok = false;
    return to;
}

bool gw_operator_copy(gw_operator *to, const gw_operator *from)
{
    bool ok = true;
    *to = *from;
    to->samples = duplicate(from->samples, (size_t)from->count * sizeof *from->samples, &ok);
    to->path = duplicate(from->path, (size_t)from->count * sizeof *from->path, &ok);
    return ok;
}

/* ---- the whole ------------------------------------------------------------------------------ */

/* Every array is taken at a multiple of this many entries. */
enum { GROW_BY = 16 };

static size_t capacity_of(int count)
{
    return ((size_t)count + GROW_BY - 1) / GROW_BY * GROW_BY;
}

static void *copy_array(const void *from, int count, size_t size, bool *ok)
{
    if (count == 0)
        return NULL;
    void *to = calloc(capacity_of(count), size);
    if (to)
        memcpy(to, from, (size_t)count * size);
    else
        *ok = false;
    return to;
}

/* After the flat copy, the entries' own memory; what fails is left empty. */
static bool copy_owned(gw_scene *to, const gw_scene *from)
{
    bool ok = true;
    for (int i = 0; i < to->object_count; i++)
        ok &= gw_shape_copy(&to->objects[i].shape, &from->objects[i].shape, NULL);
    for (int i = 0; i < to->device_count; i++)
        ok &= gw_operator_copy(&to->devices[i].operator, & from->devices[i].operator);
    for (int i = 0; i < to->task_count; i++)
        ok &= gw_task_copy(&to->tasks[i], &from->tasks[i]);
    for (int i = 0; i < to->mechanism_count; i++)
        ok &= gw_mechanism_copy(&to->mechanisms[i], &from->mechanisms[i]);
    return ok;
}

static void free_arrays(gw_scene *scene)
{
    free(scene->objects);
    free(scene->features);
    free(scene->constraints);
    free(scene->tools);
    free(scene->devices);
    free(scene->tasks);
    free(scene->mechanisms);
    free(scene->materials);
    free(scene->joints);
    free(scene->springs);
    free(scene->contact.ignore);
    free(scene);
}

gw_scene *gw_scene_copy(const gw_scene *from)
{
    gw_scene *to = malloc(sizeof *to);
    if (!to)
        return NULL;
    bool ok = true;
    *to = *from;
    const gw_scene_contact *contact = &from->contact;
    to->objects = copy_array(from->objects, from->object_count, sizeof *to->objects, &ok);
    to->features = copy_array(from->features, from->feature_count, sizeof *to->features, &ok);
    to->constraints =
        copy_array(from->constraints, from->constraint_count, sizeof *to->constraints, &ok);
    to->tools = copy_array(from->tools, from->tool_count, sizeof *to->tools, &ok);
    to->devices = copy_array(from->devices, from->device_count, sizeof *to->devices, &ok);
    to->tasks = copy_array(from->tasks, from->task_count, sizeof *to->tasks, &ok);
    to->mechanisms =
        copy_array(from->mechanisms, from->mechanism_count, sizeof *to->mechanisms, &ok);
    to->materials = copy_array(from->materials, from->material_count, sizeof *to->materials, &ok);
    to->joints = copy_array(from->joints, from->joint_count, sizeof *to->joints, &ok);
    to->springs = copy_array(from->springs, from->spring_count, sizeof *to->springs, &ok);
    to->contact.ignore =
        copy_array(contact->ignore, contact->ignore_count, sizeof *contact->ignore, &ok);
    if (!ok) {
        free_arrays(to);
        return NULL;
    }
    if (!copy_owned(to, from)) {
        gw_scene_destroy(to);
        return NULL;
    }
    return to;
}

void gw_scene_destroy(gw_scene *scene)
{
    if (!scene)
        return;
    for (int i = 0; i < scene->object_count; i++)
        gw_shape_finish(&scene->objects[i].shape);
    for (int i = 0; i < scene->device_count; i++)
        gw_operator_finish(&scene->devices[i].operator);
    for (int i = 0; i < scene->task_count; i++)
        gw_task_finish(&scene->tasks[i]);
    for (int i = 0; i < scene->mechanism_count; i++)
        gw_mechanism_finish(&scene->mechanisms[i]);
    free_arrays(scene);
}

/* ---- growth --------------------------------------------------------------------------------- */

/* One more zeroed entry at the end of *array. */
static void *grow(void **array, int *count, size_t size, int cap, const char *what, gw_error *error)
{
    if (*count >= cap) {
        gw_fail(error, GW_TOO_LARGE, "", "a scene has at most %d %s", cap, what);
        return NULL;
    }
    if (*count % GROW_BY == 0) {
        void *larger = realloc(*array, capacity_of(*count + 1) * size);
        if (!larger) {
            gw_fail(error, GW_FAILED, "", "no memory for more %s", what);
            return NULL;
        }
        *array = larger;
    }
    void *entry = (char *)*array + (size_t)*count * size;
    memset(entry, 0, size);
    ++*count;
    return entry;
}

gw_object *gw_scene_add_object(gw_scene *s, gw_error *error)
{
    gw_object *o =
        grow((void **)&s->objects, &s->object_count, sizeof *o, GW_MAX_OBJECTS, "objects", error);
    if (o) {
        o->pose = gw_pose_identity();
        o->body.density = 1000;
    }
    return o;
}

gw_feature *gw_scene_add_feature(gw_scene *s, gw_error *error)
{
    return grow((void **)&s->features, &s->feature_count, sizeof(gw_feature), GW_MAX_FEATURES,
                "features", error);
}

gw_scene_constraint *gw_scene_add_constraint(gw_scene *s, gw_error *error)
{
    gw_scene_constraint *c = grow((void **)&s->constraints, &s->constraint_count, sizeof *c,
                                  GW_MAX_CONSTRAINTS, "constraints", error);
    if (c)
        c->enabled = true;
    return c;
}

gw_tool *gw_scene_add_tool(gw_scene *s, gw_error *error)
{
    gw_tool *t = grow((void **)&s->tools, &s->tool_count, sizeof *t, GW_MAX_TOOLS, "tools", error);
    if (t)
        *t = gw_tool_default();
    return t;
}

gw_device *gw_scene_add_device(gw_scene *s, gw_error *error)
{
    return grow((void **)&s->devices, &s->device_count, sizeof(gw_device), GW_MAX_DEVICES,
                "devices", error);
}

gw_task *gw_scene_add_task(gw_scene *s, gw_error *error)
{
    return grow((void **)&s->tasks, &s->task_count, sizeof(gw_task), GW_MAX_TASKS, "tasks", error);
}

gw_mechanism *gw_scene_add_mechanism(gw_scene *s, gw_error *error)
{
    gw_mechanism *m = grow((void **)&s->mechanisms, &s->mechanism_count, sizeof *m,
                           GW_MAX_MECHANISMS, "mechanisms", error);
    if (m)
        m->base = gw_pose_identity();
    return m;
}

gw_material *gw_scene_add_material(gw_scene *s, gw_error *error)
{
    gw_material *m = grow((void **)&s->materials, &s->material_count, sizeof *m, GW_MAX_MATERIALS,
                          "materials", error);
    if (m)
        m->surface = gw_contact_material_default();
    return m;
}

gw_scene_joint *gw_scene_add_joint(gw_scene *s, gw_error *error)
{
    gw_scene_joint *j =
        grow((void **)&s->joints, &s->joint_count, sizeof *j, GW_MAX_SCENE_JOINTS, "joints", error);
    if (j) {
        j->a.at = j->b.at = gw_pose_identity();
        j->coordinates[0] = j->coordinates[1] = -1;
        j->enabled = true;
    }
    return j;
}

gw_scene_spring *gw_scene_add_spring(gw_scene *s, gw_error *error)
{
    gw_scene_spring *k = grow((void **)&s->springs, &s->spring_count, sizeof *k,
                              GW_MAX_SCENE_SPRINGS, "springs", error);
    if (k)
        k->enabled = true;
    return k;
}

gw_pair_name *gw_scene_add_ignored(gw_scene *s, gw_error *error)
{
    return grow((void **)&s->contact.ignore, &s->contact.ignore_count, sizeof(gw_pair_name),
                GW_MAX_IGNORED, "pairs that never touch", error);
}

/* ---- removal -------------------------------------------------------------------------------- */

static void cut(void *array, int *count, size_t size, int index)
{
    assert(index >= 0 && index < *count);
    char *at = (char *)array + (size_t)index * size;
    memmove(at, at + size, (size_t)(*count - index - 1) * size);
    --*count;
}

void gw_scene_remove_object(gw_scene *s, int index)
{
    assert(index >= 0 && index < s->object_count);
    gw_shape_finish(&s->objects[index].shape);
    cut(s->objects, &s->object_count, sizeof *s->objects, index);
}

void gw_scene_remove_feature(gw_scene *s, int index)
{
    cut(s->features, &s->feature_count, sizeof *s->features, index);
}

void gw_scene_remove_constraint(gw_scene *s, int index)
{
    cut(s->constraints, &s->constraint_count, sizeof *s->constraints, index);
}

void gw_scene_remove_tool(gw_scene *s, int index)
{
    cut(s->tools, &s->tool_count, sizeof *s->tools, index);
}

void gw_scene_remove_device(gw_scene *s, int index)
{
    assert(index >= 0 && index < s->device_count);
    gw_operator_finish(&s->devices[index].operator);
    cut(s->devices, &s->device_count, sizeof *s->devices, index);
}

void gw_scene_remove_task(gw_scene *s, int index)
{
    assert(index >= 0 && index < s->task_count);
    gw_task_finish(&s->tasks[index]);
    cut(s->tasks, &s->task_count, sizeof *s->tasks, index);
}

void gw_scene_remove_mechanism(gw_scene *s, int index)
{
    assert(index >= 0 && index < s->mechanism_count);
    gw_mechanism_finish(&s->mechanisms[index]);
    cut(s->mechanisms, &s->mechanism_count, sizeof *s->mechanisms, index);
}

void gw_scene_remove_material(gw_scene *s, int index)
{
    cut(s->materials, &s->material_count, sizeof *s->materials, index);
}

void gw_scene_remove_joint(gw_scene *s, int index)
{
    cut(s->joints, &s->joint_count, sizeof *s->joints, index);
}

void gw_scene_remove_spring(gw_scene *s, int index)
{
    cut(s->springs, &s->spring_count, sizeof *s->springs, index);
}
