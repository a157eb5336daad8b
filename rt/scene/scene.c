/*
 * Ownership of the document: copies, growth, removal, look-up. Not for use inside a tick.
 */
#include "rt/scene/scene.h"

#include <stdlib.h>
#include <string.h>

gw_scene gw_scene_default(void)
{
    return (gw_scene){.rate = 1000};
}

/* ---- what entries own ---------------------------------------------------------------------- */

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

/* ---- the whole ----------------------------------------------------------------------------- */

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
    return ok;
}

gw_scene *gw_scene_copy(const gw_scene *from)
{
    gw_scene *to = malloc(sizeof *to);
    if (!to)
        return NULL;
    bool ok = true;
    *to = *from;
    to->objects = copy_array(from->objects, from->object_count, sizeof *to->objects, &ok);
    to->features = copy_array(from->features, from->feature_count, sizeof *to->features, &ok);
    to->constraints =
        copy_array(from->constraints, from->constraint_count, sizeof *to->constraints, &ok);
    to->tools = copy_array(from->tools, from->tool_count, sizeof *to->tools, &ok);
    to->devices = copy_array(from->devices, from->device_count, sizeof *to->devices, &ok);
    to->tasks = copy_array(from->tasks, from->task_count, sizeof *to->tasks, &ok);
    if (!ok) {
        free(to->objects);
        free(to->features);
        free(to->constraints);
        free(to->tools);
        free(to->devices);
        free(to->tasks);
        free(to);
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
    free(scene->objects);
    free(scene->features);
    free(scene->constraints);
    free(scene->tools);
    free(scene->devices);
    free(scene->tasks);
    free(scene);
}

/* ---- growth -------------------------------------------------------------------------------- */

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
        t->at = gw_pose_identity();
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

/* ---- removal ------------------------------------------------------------------------------- */

static void cut(void *array, int *count, size_t size, int index)
{
    char *at = (char *)array + (size_t)index * size;
    memmove(at, at + size, (size_t)(*count - index - 1) * size);
    --*count;
}

void gw_scene_remove_object(gw_scene *s, int index)
{
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
    gw_operator_finish(&s->devices[index].operator);
    cut(s->devices, &s->device_count, sizeof *s->devices, index);
}

void gw_scene_remove_task(gw_scene *s, int index)
{
    gw_task_finish(&s->tasks[index]);
    cut(s->tasks, &s->task_count, sizeof *s->tasks, index);
}

/* ---- look-up ------------------------------------------------------------------------------- */

int gw_scene_object(const gw_scene *s, const char *id)
{
    for (int i = 0; i < s->object_count; i++)
        if (strcmp(s->objects[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_constraint_index(const gw_scene *s, const char *id)
{
    for (int i = 0; i < s->constraint_count; i++)
        if (strcmp(s->constraints[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_device(const gw_scene *s, const char *id)
{
    for (int i = 0; i < s->device_count; i++)
        if (strcmp(s->devices[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_task(const gw_scene *s, const char *id)
{
    for (int i = 0; i < s->task_count; i++)
        if (strcmp(s->tasks[i].id, id) == 0)
            return i;
    return -1;
}

int gw_scene_feature(const gw_scene *s, const char *object, const char *name)
{
    for (int i = 0; i < s->feature_count; i++)
        if (strcmp(s->features[i].object, object) == 0 && strcmp(s->features[i].name, name) == 0)
            return i;
    return -1;
}

int gw_scene_wall(const gw_scene *s, int object, int n)
{
    const char *id = s->objects[object].id;
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i];
        if (!c->enabled || c->bound == GW_BOUND_EQUAL ||
            (strcmp(c->a.object, id) != 0 && strcmp(c->b.object, id) != 0))
            continue;
        if (n-- == 0)
            return i;
    }
    return -1;
}

bool gw_scene_element(const gw_scene *s, const gw_feature_ref *ref, gw_element *element)
{
    int stated = gw_scene_feature(s, ref->object, ref->feature);
    if (stated >= 0) {
        *element = s->features[stated].element;
        return true;
    }
    int object = gw_scene_object(s, ref->object);
    return object >= 0 && gw_feature_find(&s->objects[object].shape, ref->feature, element);
}

static void rename_id(char *id, const char *from, const char *to)
{
    if (strcmp(id, from) != 0)
        return;
    size_t length = strlen(to) < GW_MAX_ID ? strlen(to) : GW_MAX_ID;
    memcpy(id, to, length);
    id[length] = '\0';
}

void gw_scene_rename_object(gw_scene *s, const char *from, const char *to)
{
    char old[GW_MAX_ID + 1] = "";
    strncpy(old, from, GW_MAX_ID); /* `from` may be one of the ids that change */
    for (int i = 0; i < s->object_count; i++)
        rename_id(s->objects[i].id, old, to);
    for (int i = 0; i < s->feature_count; i++)
        rename_id(s->features[i].object, old, to);
    for (int i = 0; i < s->constraint_count; i++) {
        rename_id(s->constraints[i].a.object, old, to);
        rename_id(s->constraints[i].b.object, old, to);
    }
    for (int i = 0; i < s->tool_count; i++)
        rename_id(s->tools[i].object, old, to);
    for (int i = 0; i < s->task_count; i++)
        rename_id(s->tasks[i].object, old, to);
}

void gw_scene_rename_constraint(gw_scene *s, const char *from, const char *to)
{
    for (int i = 0; i < s->task_count; i++)
        for (int k = 0; k < s->tasks[i].step_count; k++) {
            gw_task_step *step = &s->tasks[i].steps[k];
            for (int j = 0; j < step->enable_count; j++)
                rename_id(step->enable[j], from, to);
            for (int j = 0; j < step->disable_count; j++)
                rename_id(step->disable[j], from, to);
        }
}
