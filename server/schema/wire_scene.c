/*
 * Decoding of scene files, features and constraints. Any server thread; no state.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/wire_base.h"

/* ---- features and constraints -------------------------------------------------------------- */

/* "object/feature" in two. */
static bool split_ref(const json_t *owner, const char *at, const char *name, gw_feature_ref *ref,
                      gw_error *error)
{
    char text[2 * GW_MAX_ID + 2] = "";
    if (!wire_string(owner, at, name, WIRE_REQUIRED, text, sizeof text, error))
        return false;
    char *slash = strchr(text, '/');
    if (slash)
        *slash = '\0';
    if (!slash || !gw_id_valid(text) || !gw_id_valid(slash + 1)) {
        char where[WIRE_POINTER];
        wire_pointer(where, at, name);
        return gw_fail(error, GW_BAD_INPUT, where, "%s: must be \"object/feature\"", name);
    }
    memcpy(ref->object, text, strlen(text) + 1);
    memcpy(ref->feature, slash + 1, strlen(slash + 1) + 1);
    return true;
}

bool wire_get_feature(const json_t *value, const char *at, gw_feature *f, gw_error *error)
{
    static const char *const allowed[] = {"id", "point", "line", "plane", NULL};
    gw_feature_ref ref;
    *f = (gw_feature){0};
    if (!wire_open(value, at, allowed, error) || !split_ref(value, at, "id", &ref, error))
        return false;
    memcpy(f->object, ref.object, sizeof f->object);
    memcpy(f->name, ref.feature, sizeof f->name);
    return wire_get_element(value, at, &f->element, error);
}

bool wire_get_constraint(const json_t *value, const char *at, gw_scene_constraint *c,
                         gw_error *error)
{
    static const char *const allowed[] = {"id",    "type",  "a",       "b", "value",
                                          "bound", "sense", "enabled", NULL};
    int kind = 0, sense = GW_EITHER, bound = GW_BOUND_EQUAL;
    *c = (gw_scene_constraint){.enabled = true};
    if (!wire_open(value, at, allowed, error) || !wire_id(value, at, "id", c->id, error) ||
        !wire_choice(value, at, "type", WIRE_REQUIRED, wire_constraint_types, &kind, error) ||
        !split_ref(value, at, "a", &c->a, error) || !split_ref(value, at, "b", &c->b, error) ||
        !wire_number(value, at, "value", WIRE_OPTIONAL, &c->value, error) ||
        !wire_choice(value, at, "bound", WIRE_OPTIONAL, wire_bounds, &bound, error) ||
        !wire_choice(value, at, "sense", WIRE_OPTIONAL, wire_senses, &sense, error) ||
        !wire_bool(value, at, "enabled", &c->enabled, error))
        return false;
    c->kind = (gw_constraint_kind)kind;
    c->bound = (gw_bound)bound;
    c->sense = (gw_sense)sense;
    return true;
}

/* ---- the scene ----------------------------------------------------------------------------- */

/* The first free one of c1, c2 .. from *n on, which moves past it. */
static void next_constraint_id(const gw_scene *scene, int *n, char id[GW_MAX_ID + 1])
{
    do
        snprintf(id, GW_MAX_ID + 1, "c%d", (*n)++);
    while (gw_scene_constraint_index(scene, id) >= 0);
}

void wire_make_constraint_id(const gw_scene *scene, char id[GW_MAX_ID + 1])
{
    int n = 1;
    next_constraint_id(scene, &n, id);
}

/* Ids for the constraints that have none; made aside, for the scene is searched meanwhile. */
static void make_ids(gw_scene *scene)
{
    char id[GW_MAX_ID + 1];
    int n = 1;
    for (int i = 0; i < scene->constraint_count; i++) {
        if (scene->constraints[i].id[0])
            continue;
        next_constraint_id(scene, &n, id);
        memcpy(scene->constraints[i].id, id, sizeof id);
    }
}

/* Decodes array `name` of the scene by `get`, which reads entry i into a new one. */
typedef bool get_entry(const json_t *value, const char *at, gw_scene *scene, gw_error *error);

static bool get_all(const json_t *value, const char *name, size_t most, get_entry *get,
                    gw_scene *scene, gw_error *error)
{
    const json_t *array;
    if (!wire_array(value, "", name, WIRE_OPTIONAL, most, &array, error))
        return false;
    for (size_t i = 0; array && i < json_array_size(array); i++) {
        char list[WIRE_POINTER], where[WIRE_POINTER];
        wire_pointer(list, "", name);
        wire_pointer_index(where, list, i);
        if (!get(json_array_get(array, i), where, scene, error))
            return false;
    }
    return true;
}

static bool get_scene_object(const json_t *v, const char *at, gw_scene *s, gw_error *error)
{
    gw_object *o = gw_scene_add_object(s, error);
    return o && wire_get_object(v, at, o, error);
}

static bool get_scene_feature(const json_t *v, const char *at, gw_scene *s, gw_error *error)
{
    gw_feature *f = gw_scene_add_feature(s, error);
    return f && wire_get_feature(v, at, f, error);
}

/* A stored scene may hold the value that a constraint had before its type was changed: no reason
 * not to open it. */
static bool get_scene_constraint(const json_t *v, const char *at, gw_scene *s, gw_error *error)
{
    gw_scene_constraint *c = gw_scene_add_constraint(s, error);
    if (!c || !wire_get_constraint(v, at, c, error))
        return false;
    if (!gw_constraint_has_value(c->kind))
        c->value = 0;
    return true;
}

static bool get_scene_tool(const json_t *v, const char *at, gw_scene *s, gw_error *error)
{
    gw_tool *t = gw_scene_add_tool(s, error);
    return t && wire_get_tool(v, at, t, error);
}

static bool get_scene_device(const json_t *v, const char *at, gw_scene *s, gw_error *error)
{
    gw_device *d = gw_scene_add_device(s, error);
    return d && wire_get_device(v, at, d, error);
}

static bool get_scene_task(const json_t *v, const char *at, gw_scene *s, gw_error *error)
{
    gw_task *t = gw_scene_add_task(s, error);
    return t && wire_get_task(v, at, t, error);
}

static bool get_scene_mechanism(const json_t *v, const char *at, gw_scene *s, gw_error *error)
{
    gw_mechanism *m = gw_scene_add_mechanism(s, error);
    return m && wire_get_mechanism(v, at, m, error);
}

static bool get_scene_material(const json_t *v, const char *at, gw_scene *s, gw_error *error)
{
    gw_material *m = gw_scene_add_material(s, error);
    return m && wire_get_material(v, at, m, error);
}

static bool get_contact(const json_t *v, gw_scene *s, gw_error *error)
{
    const json_t *contact = json_object_get(v, "contact");
    return !contact || wire_get_contact(contact, "/contact", &s->contact, error);
}

static bool get_head(const json_t *v, gw_scene *s, gw_error *error)
{
    static const char *const formats[] = {"guideway-scene/1", NULL};
    int format = 0;
    long long rate = s->rate;
    if (!wire_choice(v, "", "format", WIRE_REQUIRED, formats, &format, error) ||
        !wire_string(v, "", "name", WIRE_OPTIONAL, s->name, sizeof s->name, error) ||
        !wire_string(v, "", "description", WIRE_OPTIONAL, s->description, sizeof s->description,
                     error) ||
        !wire_vec3_member(v, "", "gravity", WIRE_OPTIONAL, &s->gravity, error) ||
        !wire_whole(v, "", "rate", WIRE_OPTIONAL, GW_RATE_MIN_HZ, GW_RATE_MAX_HZ, &rate, error))
        return false;
    s->rate = (int)rate;
    return true;
}

static bool get_tools(const json_t *v, gw_scene *s, gw_error *error)
{
    const json_t *tool = json_object_get(v, "tool");
    if (tool && json_object_get(v, "tools"))
        return gw_fail(error, GW_BAD_INPUT, "/tools", "takes \"tool\" or \"tools\", not both");
    if (tool && !json_is_null(tool))
        return get_scene_tool(tool, "/tool", s, error);
    return get_all(v, "tools", GW_MAX_TOOLS, get_scene_tool, s, error);
}

static bool get_scene(const json_t *v, gw_scene *s, gw_error *error)
{
    static const char *const allowed[] = {"format", "name",      "description", "gravity",
                                          "rate",   "objects",   "features",    "constraints",
                                          "tool",   "tools",     "devices",     "mechanisms",
                                          "tasks",  "materials", "contact",     NULL};
    if (!wire_open(v, "", allowed, error) || !get_head(v, s, error) ||
        !get_all(v, "objects", GW_MAX_OBJECTS, get_scene_object, s, error) ||
        !get_all(v, "features", GW_MAX_FEATURES, get_scene_feature, s, error) ||
        !get_all(v, "constraints", GW_MAX_CONSTRAINTS, get_scene_constraint, s, error) ||
        !get_tools(v, s, error) ||
        !get_all(v, "devices", GW_MAX_DEVICES, get_scene_device, s, error) ||
        !get_all(v, "tasks", GW_MAX_TASKS, get_scene_task, s, error) ||
        !get_all(v, "mechanisms", GW_MAX_MECHANISMS, get_scene_mechanism, s, error) ||
        !get_all(v, "materials", GW_MAX_MATERIALS, get_scene_material, s, error) ||
        !get_contact(v, s, error))
        return false;
    make_ids(s);
    return gw_scene_check(s, error);
}

/* A scene's check counts tools; a file that states one as "tool" is answered in its own words. */
static void name_tool(const json_t *value, gw_error *error)
{
    static const char counted[] = "/tools/0";
    if (!error || !json_object_get(value, "tool") || strncmp(error->where, counted, 8) != 0)
        return;
    char rest[sizeof error->where];
    snprintf(rest, sizeof rest, "/tool%s", error->where + 8);
    memcpy(error->where, rest, sizeof rest);
}

gw_scene *wire_get_scene(const json_t *value, gw_error *error)
{
    gw_scene *scene = malloc(sizeof *scene);
    if (!scene) {
        gw_fail(error, GW_FAILED, "", "no memory for a scene");
        return NULL;
    }
    *scene = gw_scene_default();
    if (get_scene(value, scene, error))
        return scene;
    name_tool(value, error);
    gw_scene_destroy(scene);
    return NULL;
}
