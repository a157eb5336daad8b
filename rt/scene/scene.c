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
    /* dry wood or plastic: stiffer than is stable at 1 kHz with 1 kg, so that bodies of up to 10 kg
     * rest and slide as rigid ones do; damped as far as is stable */
    return (gw_contact_material){
        .restitution = 0.5, .friction = 0.3, .stiffness = 1e6, .damping = 0};
}

bool gw_device_latched(const gw_device *device)
{
    assert(device);
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

static void *duplicate_bytes(const void *from, size_t bytes, bool *ok)
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

/* A deep copy. False: memory is exhausted; *to still requires gw_operator_finish(). */
static bool operator_copy(gw_operator *to, const gw_operator *from)
{
    bool ok = true;
    *to = *from;
    to->samples = duplicate_bytes(from->samples, (size_t)from->count * sizeof *from->samples, &ok);
    to->path = duplicate_bytes(from->path, (size_t)from->count * sizeof *from->path, &ok);
    return ok;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* Array capacities are multiples of this many entries. */
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

/* ---- entries: how they begin, what they own ------------------------------------------------- */

static void start_object(void *entry)
{
    gw_object *object = entry;
    object->pose = gw_pose_identity();
    object->body.density = 1000;
}

static void start_constraint(void *entry)
{
    ((gw_scene_constraint *)entry)->enabled = true;
}

static void start_tool(void *entry)
{
    *(gw_tool *)entry = gw_tool_default();
}

static void start_mechanism(void *entry)
{
    ((gw_mechanism *)entry)->base = gw_pose_identity();
}

static void start_material(void *entry)
{
    ((gw_material *)entry)->surface = gw_contact_material_default();
}

static void start_joint(void *entry)
{
    gw_scene_joint *joint = entry;
    joint->a.at = joint->b.at = gw_pose_identity();
    joint->coordinates[0] = joint->coordinates[1] = -1;
    joint->enabled = true;
}

static void start_spring(void *entry)
{
    ((gw_scene_spring *)entry)->enabled = true;
}

static void start_zero(void *entry)
{
    (void)entry;
}

static bool copy_object(void *to, const void *from)
{
    return gw_shape_copy(&((gw_object *)to)->shape, &((const gw_object *)from)->shape, NULL);
}

static void finish_object(void *entry)
{
    gw_shape_finish(&((gw_object *)entry)->shape);
}

static bool copy_device(void *to, const void *from)
{
    return operator_copy(&((gw_device *)to)->operator, &((const gw_device *)from)->operator);
}

static void finish_device(void *entry)
{
    gw_operator_finish(&((gw_device *)entry)->operator);
}

static bool copy_task(void *to, const void *from)
{
    return gw_task_copy(to, from);
}

static void finish_task(void *entry)
{
    gw_task_finish(entry);
}

static bool copy_mechanism(void *to, const void *from)
{
    return gw_mechanism_copy(to, from);
}

static void finish_mechanism(void *entry)
{
    gw_mechanism_finish(entry);
}

static bool copy_nothing(void *to, const void *from)
{
    (void)to, (void)from;
    return true;
}

static void finish_nothing(void *entry)
{
    (void)entry;
}

/* Deep copy of the memory that an entry owns: called with the flat copy; what fails is left empty.
 */
#define COPY_OWNED(type)                                                                           \
    _Generic((type *)0, gw_object *                                                                \
             : copy_object, gw_device *                                                            \
             : copy_device, gw_task *                                                              \
             : copy_task, gw_mechanism *                                                           \
             : copy_mechanism, default                                                             \
             : copy_nothing)
#define FINISH(type)                                                                               \
    _Generic((type *)0, gw_object *                                                                \
             : finish_object, gw_device *                                                          \
             : finish_device, gw_task *                                                            \
             : finish_task, gw_mechanism *                                                         \
             : finish_mechanism, default                                                           \
             : finish_nothing)
#define START(type)                                                                                \
    _Generic((type *)0, gw_object *                                                                \
             : start_object, gw_scene_constraint *                                                 \
             : start_constraint, gw_tool *                                                         \
             : start_tool, gw_mechanism *                                                          \
             : start_mechanism, gw_material *                                                      \
             : start_material, gw_scene_joint *                                                    \
             : start_joint, gw_scene_spring *                                                      \
             : start_spring, default                                                               \
             : start_zero)

/* ---- the whole ------------------------------------------------------------------------------ */

static void free_arrays(gw_scene *scene)
{
#define FREE(name, type, most, id) free(scene->name##s);
    GW_SCENE_ARRAYS(FREE)
    free(scene->contact.ignore);
    free(scene);
}

gw_scene *gw_scene_copy(const gw_scene *from)
{
    assert(from);
    gw_scene *to = malloc(sizeof *to);
    if (!to)
        return NULL;
    bool ok = true;
    *to = *from;
    const gw_scene_contact *contact = &from->contact;
#define COPY(name, type, most, id)                                                                 \
    to->name##s = copy_array(from->name##s, from->name##_count, sizeof(type), &ok);
    GW_SCENE_ARRAYS(COPY)
    to->contact.ignore =
        copy_array(contact->ignore, contact->ignore_count, sizeof *contact->ignore, &ok);
    if (!ok) {
        free_arrays(to);
        return NULL;
    }
#define OWNED(name, type, most, id)                                                                \
    for (int i = 0; i < to->name##_count; i++)                                                     \
        ok &= COPY_OWNED(type)(&to->name##s[i], &from->name##s[i]);
    GW_SCENE_ARRAYS(OWNED)
    if (!ok) {
        gw_scene_destroy(to);
        return NULL;
    }
    return to;
}

void gw_scene_destroy(gw_scene *scene)
{
    if (!scene)
        return;
#define END(name, type, most, id)                                                                  \
    for (int i = 0; i < scene->name##_count; i++)                                                  \
        FINISH(type)(&scene->name##s[i]);
    GW_SCENE_ARRAYS(END)
    free_arrays(scene);
}

/* ---- growth and removal --------------------------------------------------------------------- */

/* One more zeroed entry at the end of *array. */
static void *append_entry(void **array, int *count, size_t size, int cap, const char *what,
                          gw_error *error)
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

static void remove_entry(void *array, int *count, size_t size, int index)
{
    char *at = (char *)array + (size_t)index * size;
    memmove(at, at + size, (size_t)(*count - index - 1) * size);
    --*count;
}

/* gw_scene_add_object(), gw_scene_finish_object() and gw_scene_remove_object(), and so on. */
#define ENTRIES(name, type, most, id)                                                              \
    type *gw_scene_add_##name(gw_scene *s, gw_error *error)                                        \
    {                                                                                              \
        type *entry = append_entry((void **)&s->name##s, &s->name##_count, sizeof *entry, most,    \
                                   #name "s", error);                                              \
        if (entry)                                                                                 \
            START(type)(entry);                                                                    \
        return entry;                                                                              \
    }                                                                                              \
    void gw_scene_finish_##name(type *entry)                                                       \
    {                                                                                              \
        FINISH(type)(entry);                                                                       \
    }                                                                                              \
    void gw_scene_remove_##name(gw_scene *s, int index)                                            \
    {                                                                                              \
        assert(index >= 0 && index < s->name##_count);                                             \
        FINISH(type)(&s->name##s[index]);                                                          \
        remove_entry(s->name##s, &s->name##_count, sizeof(type), index);                           \
    }
GW_SCENE_ARRAYS(ENTRIES)
