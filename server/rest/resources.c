/*
 * The rows of the resources, and the table of all routes. A new collection needs one row here, its
 * specific functions, and five lines of routes. Any thread of HTTP.
 */
#include "server/rest/resource.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/diff.h"
#include "server/files/urdf.h"

/* ---- common to all rows -------------------------------------------------------------------- */

/* Untyped wrappers of the functions of scene and schema for an entry, as a row takes them. */
#define ENTRY(name, type, most, made)                                                              \
    static inline json_t *encode_##name(const void *entry)                                         \
    {                                                                                              \
        return wire_##name(entry);                                                                 \
    }                                                                                              \
    static inline bool decode_##name(const json_t *value, const char *at, void *entry,             \
                                     gw_error *error)                                              \
    {                                                                                              \
        return wire_get_##name(value, at, entry, error);                                           \
    }                                                                                              \
    static inline void *add_##name(gw_scene *scene, gw_error *error)                               \
    {                                                                                              \
        return gw_scene_add_##name(scene, error);                                                  \
    }                                                                                              \
    static inline void finish_##name(void *entry)                                                  \
    {                                                                                              \
        gw_scene_finish_##name(entry);                                                             \
    }                                                                                              \
    _Static_assert(sizeof(type) <= RESOURCE_BYTES, "an entry of any resource has room");
GW_SCENE_ARRAYS(ENTRY)

/* The first members of the row of an array of the scene. */
#define COLLECTION(name)                                                                           \
#name "s", #name, sizeof *((gw_scene *)NULL)->name##s, offsetof(gw_scene, name##s),            \
        offsetof(gw_scene, name##_count), add_##name, gw_scene_remove_##name, finish_##name,       \
        encode_##name, decode_##name

static bool is_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* ---- references to objects and links -------------------------------------------------------- */

/* True where the name is that of object `index`, or of a link of mechanism `index` from number
 * `first` on. */
static bool names_object(const gw_scene *scene, const char *name, bool object, int index, int first)
{
    int link;
    if (object)
        return is_equal(scene->objects[index].id, name);
    return gw_scene_link(scene, name, &link) == index && link >= first;
}

/* Appends an entry to the list; a feature is named together with its body. */
static void name_entry(char *list, size_t size, const gw_name_use *use, const char *id)
{
    char whole[RESOURCE_ID];
    snprintf(whole, sizeof whole, "%s%s%s", use->local ? use->names[0] : "", use->local ? "/" : "",
             id);
    api_name(list, size, use->noun, whole);
}

/* Appends the entries that refer to the object or the links. */
static void users_of_body(const gw_scene *scene, bool object, int index, int first, char *list,
                          size_t size)
{
    gw_name_use use;
    const gw_named not = object ? GW_NAMES_JOINT : GW_NAMES_OBJECT;
    for (int n = 0; gw_scene_name_use(scene, n, &use); n++)
        for (int k = 0; k < 2 && use.named != not ; k++)
            if (use.names[k] && names_object(scene, use.names[k], object, index, first)) {
                name_entry(list, size, &use, use.id ? use.id : use.names[1 - k]);
                break;
            }
}

/* ---- objects ------------------------------------------------------------------------------- */

static void object_itself(const gw_scene *scene, int index, char object[GW_MAX_ID + 1])
{
    strcpy(object, scene->objects[index].id);
}

static bool says_member(const json_t *patch, const char *member)
{
    const json_t *value = json_object_get(patch, member);
    return value && !json_is_null(value);
}

static void object_begins(const json_t *patch, bool *position, bool *motion)
{
    *position = says_member(patch, "pose");
    *motion =
        says_member(patch, "velocity") || says_member(json_object_get(patch, "body"), "velocity");
}

static gw_nurbs *shape_of_object(const void *entry)
{
    const gw_shape *shape = &((const gw_object *)entry)->shape;
    return gw_shape_is_free_form(shape->kind) ? shape->nurbs : NULL;
}

/* Takes the velocity from an object that the patch makes fixed. */
static void patched_object(const json_t *patch, const void *now, void *entry)
{
    gw_object *object = entry;
    bool position, motion;
    (void)now;
    object_begins(patch, &position, &motion);
    if (object->fixed && !motion)
        object->velocity = object->spin = (gw_vec3){0, 0, 0};
}

static void users_of_object(const gw_scene *scene, int index, char *list, size_t size)
{
    users_of_body(scene, true, index, 0, list, size);
}

/* ---- features: those that shapes have are read only, the others are the scene's -------------- */

static void id_of_feature(const void *entry, char id[RESOURCE_ID])
{
    const gw_feature *feature = entry;
    snprintf(id, RESOURCE_ID, "%s/%s", feature->object, feature->name);
}

/* Splits "object/feature" or "mechanism.link/feature"; false where it is not of this form. */
static bool parse_reference(const char *id, gw_feature_ref *ref)
{
    const char *slash = strchr(id, '/');
    size_t size = slash ? (size_t)(slash - id) : 0;
    if (!slash || size > GW_MAX_LINK_NAME || strlen(slash + 1) > GW_MAX_ID)
        return false;
    memcpy(ref->object, id, size);
    ref->object[size] = 0;
    strcpy(ref->feature, slash + 1);
    return true;
}

static int find_feature(const gw_scene *scene, const char *id)
{
    gw_feature_ref ref;
    return parse_reference(id, &ref) ? gw_scene_feature(scene, ref.object, ref.feature) : -1;
}

/* A derived feature cannot be edited: a stated one of the same name would replace it in the
 * constraints that refer to it. */
static bool derived_feature(const gw_scene *scene, const char *id, gw_error *error)
{
    gw_feature_ref ref;
    gw_element element;
    gw_surface surface;
    if (!parse_reference(id, &ref) || (!gw_scene_element(scene, &ref, &element) &&
                                       !gw_scene_primitive_surface(scene, &ref, &surface)))
        return false;
    gw_fail(error, GW_CONFLICT, "", "%s comes from the shape: it can only be read", id);
    return true;
}

/* Lists the features of the object, or the objects where it is not there. */
static void missing_feature(const gw_scene *scene, const char *id, gw_error *error)
{
    gw_feature_ref ref;
    bool known = parse_reference(id, &ref) && gw_scene_body_number(scene, ref.object) >= 0;
    if (known)
        gw_scene_no_feature(scene, &ref, "features", 0, "", error);
    else
        gw_error_names(error, scene->objects, scene->object_count, sizeof *scene->objects);
    error->code = GW_NOT_FOUND;
    error->where[0] = 0;
}

/* {"id","derived","point"/"line"/"plane"} */
static json_t *feature_json(const char *object, const char *name, bool derived,
                            const gw_element *element)
{
    json_t *json =
        json_pack("{s:o, s:b}", "id", json_sprintf("%s/%s", object, name), "derived", derived);
    json_t *shape = wire_element(element);
    json_object_update(json, shape);
    json_decref(shape);
    return json;
}

/* {"id","derived","touches","point","axis","radius"} */
static json_t *surface_json(const char *object, const char *name, const gw_surface *surface)
{
    const char *touches = surface->kind == GW_SURFACE_SPHERE     ? "sphere"
                          : surface->kind == GW_SURFACE_CYLINDER ? "cylinder"
                                                                 : "rim";
    json_t *json = json_pack("{s:o, s:b, s:s, s:o, s:f}", "id", json_sprintf("%s/%s", object, name),
                             "derived", true, "touches", touches, "point",
                             wire_vec3(surface->point), "radius", surface->radius);
    if (surface->kind != GW_SURFACE_SPHERE)
        json_object_set_new(json, "axis", wire_vec3(surface->axis));
    return json;
}

static json_t *show_feature(const resource_view *view, int index)
{
    const gw_feature *feature = &view->document->scene->features[index];
    return feature_json(feature->object, feature->name, false, &feature->element);
}

/* The object of a feature; empty for a feature of a link. */
static void object_of_feature(const gw_scene *scene, int index, char object[GW_MAX_ID + 1])
{
    int of = gw_scene_object(scene, scene->features[index].object);
    strcpy(object, of < 0 ? "" : scene->objects[of].id);
}

static bool names_feature(const char *object, const char *name, const gw_feature *feature)
{
    return is_equal(object, feature->object) && is_equal(name, feature->name);
}

static void users_of_feature(const gw_scene *scene, int index, char *list, size_t size)
{
    const gw_feature *feature = &scene->features[index];
    for (int i = 0; i < scene->constraint_count; i++) {
        const gw_scene_constraint *c = &scene->constraints[i];
        size_t used = strlen(list);
        if (names_feature(c->a.object, c->a.feature, feature) ||
            names_feature(c->b.object, c->b.feature, feature))
            snprintf(list + used, size - used, "%s%s", used ? ", " : "constraint ", c->id);
    }
    for (int i = 0; i < scene->joint_count; i++) {
        const gw_scene_joint *j = &scene->joints[i];
        if (names_feature(j->a.object, j->a.feature, feature) ||
            names_feature(j->b.object, j->b.feature, feature))
            api_name(list, size, "joint", j->id);
    }
}

/* Derived features of a shape (NULL: none) at its pose, surfaces and rims of an object's
 * primitives, then those that the scene states for the object or link. */
static json_t *features_of(const gw_scene *scene, const char *id, const gw_shape *shape,
                           const gw_pose *pose)
{
    json_t *list = json_array();
    int count = shape ? gw_feature_count(shape) : 0;
    int names = shape ? gw_scene_surface_names(shape) : 0;
    for (int i = 0; i < count; i++) {
        char name[GW_FEATURE_NAME];
        gw_element element;
        gw_feature_at(shape, i, name, &element);
        element = gw_element_moved(pose, &element);
        if (gw_scene_feature(scene, id, name) < 0)
            json_array_append_new(list, feature_json(id, name, true, &element));
    }
    for (int i = 0; i < names; i++) {
        char name[GW_FEATURE_NAME];
        gw_surface surface;
        if (!gw_scene_surface_at(shape, i, name, &surface) ||
            gw_scene_feature(scene, id, name) >= 0)
            continue;
        gw_scene_surface_move(pose, &surface);
        json_array_append_new(list, surface_json(id, name, &surface));
    }
    for (int i = 0; i < scene->feature_count; i++) {
        const gw_feature *stated = &scene->features[i];
        if (is_equal(stated->object, id))
            json_array_append_new(
                list, feature_json(stated->object, stated->name, false, &stated->element));
    }
    return list;
}

/* The features of one object, or, for an index after the objects, of one link. */
static json_t *features_at(const api_entries *entries, int index)
{
    const gw_scene *scene = entries->document->scene;
    const gw_pose here = gw_pose_identity();
    char name[GW_MAX_LINK_NAME + 1];
    int at = entries->first + index, link = at - scene->object_count, mechanism = 0;
    if (link < 0)
        return features_of(scene, scene->objects[at].id, &scene->objects[at].shape, &here);
    while (link >= scene->mechanisms[mechanism].link_count)
        link -= scene->mechanisms[mechanism++].link_count;
    const gw_mechanism *m = &scene->mechanisms[mechanism];
    const gw_link_geometry *g = &m->geometries[link];
    gw_link_name(m, link, name);
    return features_of(scene, name, g->has_geometry ? &g->shape : NULL, &g->pose);
}

static void api_features_get(api_call *call)
{
    char object[API_MAX_VALUE];
    app_document *document = app_document_get(call->app);
    const gw_scene *scene = document->scene;
    api_entries entries = {.count = scene->object_count + gw_scene_joints(scene),
                           .at = features_at,
                           .document = document};
    if (api_query(call, "object", object, sizeof object)) {
        int link = 0, mechanism = gw_scene_link(scene, object, &link);
        entries.first = gw_scene_object(scene, object);
        entries.count = 1;
        if (entries.first < 0 && mechanism < 0) {
            gw_error error = {0};
            gw_fail(&error, GW_NOT_FOUND, "", "there is no object %s", object);
            gw_error_names(&error, scene->objects, scene->object_count, sizeof *scene->objects);
            api_error(call, &error);
            app_document_put(document);
            return;
        }
        if (entries.first < 0)
            entries.first = scene->object_count + gw_scene_first_joint(scene, mechanism) + link;
    }
    api_list(call, entries);
}

static void api_feature_get(api_call *call)
{
    char id[RESOURCE_ID];
    gw_feature_ref ref;
    gw_element element;
    gw_surface surface;
    app_document *document = app_document_get(call->app);
    resource_address(call, id);
    if (parse_reference(id, &ref) && gw_scene_element(document->scene, &ref, &element))
        api_part(
            call, 200, document,
            feature_json(ref.object, ref.feature, find_feature(document->scene, id) < 0, &element));
    else if (parse_reference(id, &ref) &&
             gw_scene_primitive_surface(document->scene, &ref, &surface))
        api_part(call, 200, document, surface_json(ref.object, ref.feature, &surface));
    else
        resource_missing(call, document->scene);
    app_document_put(document);
}

/* ---- constraints --------------------------------------------------------------------------- */

/* Clears the value where the new type of constraint has none. */
static void patched_constraint(const json_t *patch, const void *now, void *entry)
{
    gw_scene_constraint *constraint = entry;
    (void)now;
    if (!gw_constraint_has_value(constraint->kind) && !json_object_get(patch, "value"))
        constraint->value = 0;
}

static json_t *show_constraint(const resource_view *view, int index)
{
    return describe_constraint(view->document->scene, view->document->layout, index);
}

/* The object that the constraint moves: the held one, else the one that is not fixed, else the
 * later one of the scene. */
static void object_of_constraint(const gw_scene *scene, int index, char object[GW_MAX_ID + 1])
{
    const gw_scene_constraint *constraint = &scene->constraints[index];
    int a = gw_scene_object(scene, constraint->a.object);
    int b = gw_scene_object(scene, constraint->b.object);
    bool second = a < 0 || (b >= 0 && scene->objects[a].fixed && !scene->objects[b].fixed);
    if (a >= 0 && b >= 0 && scene->objects[a].fixed == scene->objects[b].fixed)
        second = app_tool_of(scene, constraint->b.object) >= 0 ||
                 (app_tool_of(scene, constraint->a.object) < 0 && b > a);
    int moved = second ? b : a;
    strcpy(object, moved < 0 ? "" : scene->objects[moved].id);
}

static void users_of_constraint(const gw_scene *scene, int index, char *list, size_t size)
{
    const gw_task *task = gw_scene_task_using(scene, scene->constraints[index].id);
    if (task)
        api_name(list, size, "task", task->id);
}

/* ---- joints -------------------------------------------------------------------------------- */

/* The joint as in the scene, with its present state. */
static json_t *show_joint(const resource_view *view, int index)
{
    const gw_scene *scene = view->document->scene;
    json_t *json = wire_joint(&scene->joints[index]);
    json_t *state = wire_scene_joint_state(scene, index, view->snapshot);
    if (state)
        wire_add(json, "state", state);
    return json;
}

static void joint_begins(const json_t *patch, bool *position, bool *motion)
{
    *position = says_member(patch, "position");
    *motion = says_member(patch, "velocity");
}

static void users_of_joint(const gw_scene *scene, int index, char *list, size_t size)
{
    const char *id = scene->joints[index].id;
    for (int i = 0; i < scene->joint_count; i++)
        if (is_equal(scene->joints[i].joints[0], id) || is_equal(scene->joints[i].joints[1], id))
            api_name(list, size, "gear", scene->joints[i].id);
}

/* ---- devices ------------------------------------------------------------------------------- */

static json_t *show_device(const resource_view *view, int index)
{
    gw_device_info info;
    const gw_device *device = &view->document->scene->devices[index];
    json_t *json = wire_device(device);
    json_object_set_new(json, "safety", wire_safety(device));
    if (app_device_info(view->app, device->id, &info))
        json_object_set_new(json, "info", wire_device_info(&info));
    return json;
}

static void rename_device(gw_scene *scene, const char *from, const char *to)
{
    for (int i = 0; i < scene->tool_count; i++)
        if (is_equal(scene->tools[i].device, from))
            snprintf(scene->tools[i].device, sizeof scene->tools[i].device, "%s", to);
}

static void users_of_device(const gw_scene *scene, int index, char *list, size_t size)
{
    for (int i = 0; i < scene->tool_count && !*list; i++)
        if (is_equal(scene->tools[i].device, scene->devices[index].id))
            snprintf(list, size, "%s", gw_tool_held_id(&scene->tools[i]));
}

/* ---- materials ----------------------------------------------------------------------------- */

static void users_of_material(const gw_scene *scene, int index, char *list, size_t size)
{
    const char *id = scene->materials[index].id;
    for (int i = 0; i < scene->object_count; i++)
        if (is_equal(scene->objects[i].material, id))
            api_name(list, size, "object", scene->objects[i].id);
    for (int i = 0; i < scene->mechanism_count; i++)
        for (int k = 0; k < scene->mechanisms[i].link_count; k++) {
            char name[GW_MAX_LINK_NAME + 1];
            gw_link_name(&scene->mechanisms[i], k, name);
            if (is_equal(scene->mechanisms[i].geometries[k].material, id))
                api_name(list, size, "link", name);
        }
}

/* ---- mechanisms ---------------------------------------------------------------------------- */

/* The mechanism as in the scene, with the present state of its joints. */
static json_t *show_mechanism(const resource_view *view, int index)
{
    const gw_scene *scene = view->document->scene;
    json_t *json = wire_mechanism(&scene->mechanisms[index]);
    wire_add(json, "state", wire_joints(scene, index, view->snapshot));
    return json;
}

/* ---- robot descriptions --------------------------------------------------------------------- */

/* Decodes {"id", "urdf", "tip", "base"}; the member `urdf` distinguishes it from a mechanism or an
 * object. The caller finishes the robot; NULL with an error. */
static urdf_robot *decode_robot(const json_t *body, gw_pose *base, gw_error *error)
{
    static const char *const allowed[] = {"id", "urdf", "tip", "base", NULL};
    const json_t *urdf = json_object_get(body, "urdf"), *tip = json_object_get(body, "tip");
    const json_t *id = json_object_get(body, "id"), *at = json_object_get(body, "base");
    *base = gw_pose_identity();
    if (!wire_only(body, "", allowed, error))
        return NULL;
    if (!json_is_string(urdf))
        gw_fail(error, GW_BAD_INPUT, "/urdf", "must be a string, the robot's URDF");
    else if (tip && !json_is_string(tip))
        gw_fail(error, GW_BAD_INPUT, "/tip", "must be a string, the name of a link");
    else if (id && (!json_is_string(id) || !gw_id_valid(json_string_value(id))))
        gw_fail(error, GW_BAD_INPUT, "/id",
                "an id is 1 to 64 of the characters A-Z a-z 0-9 _ . : + -");
    else if (!at || wire_get_pose(at, "/base", base, error)) {
        urdf_robot *robot = malloc(sizeof *robot);
        if (!robot)
            gw_fail(error, GW_FAILED, "", "no memory for a robot description");
        else if (urdf_read(json_string_value(urdf), json_string_length(urdf),
                           json_string_value(tip), robot, error))
            return robot;
        else
            snprintf(error->where, sizeof error->where, "%s", error->where[0] ? URDF_TIP : "/urdf");
        free(robot);
    }
    return NULL;
}

/* Moves the mechanism or the object out of a robot; the other of the two is empty. */
static bool take_robot(const json_t *body, bool one_body, void *entry, char note[APP_NOTE],
                       gw_error *error)
{
    gw_pose base;
    const char *id = json_string_value(json_object_get(body, "id"));
    urdf_robot *robot = decode_robot(body, &base, error);
    if (!robot)
        return false;
    robot->mechanism.base = robot->object.pose = base;
    urdf_notes(robot, note, APP_NOTE);
    if (id) {
        snprintf(robot->mechanism.id, sizeof robot->mechanism.id, "%s", id);
        snprintf(robot->object.id, sizeof robot->object.id, "%s", id);
    }
    bool fits = robot->one_body == one_body;
    if (!fits)
        gw_fail(error, GW_BAD_INPUT, "/urdf",
                one_body ? "joints of it move: POST it to /mechanisms"
                         : "no joint of it moves, it is one body: POST it to /objects");
    if (fits && one_body)
        memcpy(entry, &robot->object, sizeof robot->object);
    else if (fits)
        memcpy(entry, &robot->mechanism, sizeof robot->mechanism);
    if (!fits || one_body)
        gw_mechanism_finish(&robot->mechanism);
    if (!fits)
        gw_shape_finish(&robot->object.shape);
    free(robot);
    return fits;
}

static bool decode_posted_object(const json_t *body, void *entry, char note[APP_NOTE],
                                 gw_error *error)
{
    return json_object_get(body, "urdf") ? take_robot(body, true, entry, note, error)
                                         : wire_get_object(body, "", entry, error);
}

static bool decode_posted_mechanism(const json_t *body, void *entry, char note[APP_NOTE],
                                    gw_error *error)
{
    return json_object_get(body, "urdf") ? take_robot(body, false, entry, note, error)
                                         : wire_get_mechanism(body, "", entry, error);
}

void api_users_of_links(const gw_scene *scene, int index, int first, char *list, size_t size)
{
    for (int i = 0; i < scene->tool_count; i++)
        if (is_equal(scene->tools[i].mechanism, scene->mechanisms[index].id) &&
            scene->tools[i].link >= first)
            api_name(list, size, "tool", scene->tools[i].device);
    users_of_body(scene, false, index, first, list, size);
}

static void users_of_mechanism(const gw_scene *scene, int index, char *list, size_t size)
{
    api_users_of_links(scene, index, 0, list, size);
}

/* ---- tasks --------------------------------------------------------------------------------- */

/* The progress of a task, where it ran in this scene; else the initial one. */
static json_t *progress_of(gw_app *app, const gw_task *task)
{
    char id[GW_MAX_ID + 1];
    gw_task_progress progress;
    if (!app_task_last(app, id, &progress) || !is_equal(id, task->id))
        progress = gw_task_progress_of(task);
    return wire_task_progress(&progress);
}

static json_t *show_task(const resource_view *view, int index)
{
    const gw_task *task = &view->document->scene->tasks[index];
    json_t *json = wire_task(task);
    json_object_set_new(json, "progress", progress_of(view->app, task));
    return json;
}

static bool task_runs(api_call *call)
{
    bool busy = app_task_runs(call->app, call->part[0]);
    if (busy)
        api_refuse(call, 409, "", "task %s runs: stop it first", call->part[0]);
    return busy;
}

static void api_task_progress_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_task(document->scene, call->part[0]);
    if (index < 0)
        resource_missing(call, document->scene);
    else
        api_json(call, 200, progress_of(call->app, &document->scene->tasks[index]));
    app_document_put(document);
}

static void api_task_start(api_call *call)
{
    gw_error error = {0};
    if (app_task_start(call->app, call->part[0], &error))
        api_task_progress_get(call);
    else if (error.code == GW_NOT_FOUND)
        api_task_progress_get(call); /* which says what tasks there are */
    else
        api_error(call, &error);
}

static void api_task_stop(api_call *call)
{
    app_task_stop(call->app, call->part[0]);
    api_task_progress_get(call);
}

/* ---- the rows ------------------------------------------------------------------------------ */

enum { OBJECTS, FEATURES, CONSTRAINTS, JOINTS, SPRINGS, DEVICES, MATERIALS, MECHANISMS, TASKS };

static const gw_resource resources[] = {
    [OBJECTS] = {COLLECTION(object), .rename = gw_scene_rename_object,
                 .shares_ids = &resources[MECHANISMS], .decode_posted = decode_posted_object,
                 .object = object_itself, .users = users_of_object, .begins = object_begins,
                 .patched = patched_object, .shape = shape_of_object,
                 .in_use = "%s is referred to by %s: delete these first"},
    [FEATURES] = {COLLECTION(feature), .id = id_of_feature, .find = find_feature,
                  .show = show_feature, .object = object_of_feature, .users = users_of_feature,
                  .in_use = "%s is used by %s: delete these first", .derived = derived_feature,
                  .missing = missing_feature, .two_parts = true, .mismatch = "the address says %s",
                  .group = "feature", .read_only = "derived"},
    [CONSTRAINTS] = {COLLECTION(constraint), .find = gw_scene_constraint_index, .letter = 'c',
                     .rename = gw_scene_rename_constraint, .show = show_constraint,
                     .object = object_of_constraint, .users = users_of_constraint,
                     .in_use = "%s is referred to by %s: delete this first",
                     .patched = patched_constraint, .read_only = "state"},
    [JOINTS] = {COLLECTION(joint), .find = gw_scene_joint_index, .letter = 'j',
                .rename = gw_scene_rename_joint, .read_only = "state", .live = true,
                .show = show_joint, .users = users_of_joint, .begins = joint_begins,
                .in_use = "%s is referred to by %s: delete these first"},
    [SPRINGS] = {COLLECTION(spring), .find = gw_scene_spring_index, .letter = 's'},
    [DEVICES] = {COLLECTION(device), .rename = rename_device, .show = show_device,
                 .users = users_of_device, .in_use = "%s holds %s: delete the tool first",
                 .read_only = "info"},
    [MATERIALS] = {COLLECTION(material), .rename = gw_scene_rename_material,
                   .users = users_of_material,
                   .in_use = "%s is referred to by %s: change these first"},
    [MECHANISMS] = {COLLECTION(mechanism), .rename = gw_scene_rename_mechanism,
                    .shares_ids = &resources[OBJECTS], .read_only = "state", .live = true,
                    .decode_posted = decode_posted_mechanism, .show = show_mechanism,
                    .users = users_of_mechanism, .derive = wire_take_gears,
                    .in_use = "%s is referred to by %s: delete or change these first"},
    [TASKS] = {COLLECTION(task), .show = show_task, .locked = task_runs,
               .mismatch = "the address says %s; PATCH renames", .read_only = "progress"},
};

/* ---- examples ------------------------------------------------------------------------------ */

/* One example for each body that a route takes, by the name in the route. A test sends them all. */
#define POSE(p) "{\"p\":" p ",\"q\":[1,0,0,0]}"
#define WAIT    "[{\"type\":\"wait\",\"seconds\":0.2}]"

static const struct example {
    const char *request, *body;
} examples[] = {
    {"Scene",
     "{\"format\":\"guideway-scene/1\",\"name\":\"Cone on cylinder\",\"objects\":["
     "{\"id\":\"cylinder\",\"geometry\":{\"type\":\"cylinder\",\"radius\":0.1,\"height\":0.2},"
     "\"fixed\":true},"
     "{\"id\":\"cone\",\"geometry\":{\"type\":\"cone\",\"radius\":0.04,\"height\":0.1},"
     "\"pose\":" POSE("[0.1,0,0.3]") ",\"body\":{\"mass\":2}}],"
                                     "\"constraints\":[{\"id\":\"c1\",\"type\":\"coincident\","
                                     "\"a\":\"cone/base\","
                                     "\"b\":\"cylinder/top\",\"sense\":\"opposite\"}],"
                                     "\"tool\":{\"object\":\"cone\",\"device\":\"sim\"},"
                                     "\"devices\":[{\"id\":\"sim\",\"driver\":\"sim\"}]}"},
    {"ScenePatch", "{\"gravity\":[0,0,-9.81]}"},
    {"SceneEdit[1024]",
     "[{\"method\":\"POST\",\"path\":\"/objects\",\"body\":{\"id\":\"ball\","
     "\"geometry\":{\"type\":\"sphere\",\"radius\":0.05}}},"
     "{\"method\":\"PATCH\",\"path\":\"/objects/ball\",\"body\":{\"pose\":" POSE("[0,0,1]") "}}]"},
    {"SaveRequest", "{\"name\":\"my scene\"}"},
    {"OpenRequest", "{\"scene\":\"paper-plane\"}"},
    {"RestoreRequest", "{\"version\":1}"},
    {"Object|RobotDescription",
     "{\"id\":\"ball\",\"geometry\":{\"type\":\"sphere\",\"radius\":0.05},"
     "\"pose\":" POSE("[0.3,0,0.5]") ",\"body\":{\"mass\":1}}"},
    {"ObjectPatch", "{\"pose\":" POSE("[0.1,0,0.4]") "}"},
    {"Feature", "{\"id\":\"cone/grip\",\"line\":{\"point\":[0,0,0.05],\"direction\":[1,0,0]}}"},
    {"FeatureGiven", "{\"line\":{\"point\":[0,0,0.05],\"direction\":[1,0,0]}}"},
    {"FeaturePatch", "{\"point\":[0.02,0,0.05]}"},
    {"Constraint", "{\"type\":\"distance\",\"a\":\"cone/axis\",\"b\":\"cylinder/axis\","
                   "\"value\":0.03,\"sense\":\"same\"}"},
    {"ConstraintPatch", "{\"enabled\":false}"},
    {"SceneJoint", "{\"id\":\"hinge\",\"type\":\"revolute\",\"a\":{\"object\":\"door\"},"
                   "\"b\":{\"object\":\"world\",\"at\":" POSE(
                       "[0.5,0,0.2]") "},"
                                      "\"limits\":[[-1,1]],\"damping\":[0.1]}"},
    {"SceneJointPatch", "{\"damping\":[0.2]}"},
    {"SceneSpring", "{\"a\":{\"object\":\"door\",\"p\":[0.1,0,0]},"
                    "\"b\":{\"object\":\"world\",\"p\":[0.5,0.3,0.2]},"
                    "\"stiffness\":100,\"length\":0.1}"},
    {"SceneSpringPatch", "{\"stiffness\":200}"},
    {"SolutionPatch", "{\"branch\":\"b0\"}"},
    {"Device", "{\"id\":\"second\",\"driver\":\"sim\"}"},
    {"DevicePatch", "{\"safety\":\"latched\"}"},
    {"Operator", "{\"type\":\"wrench\",\"samples\":[{\"t\":0,\"force\":[0,0,0],\"torque\":[0,0,0]},"
                 "{\"t\":0.5,\"force\":[1,0,-5],\"torque\":[0,0,0]}]}"},
    {"ToolGiven", "{\"object\":\"cone\",\"device\":\"sim\"}"},
    {"ToolPatch", "{\"limits\":{\"force\":10}}"},
    {"MechanismGiven|RobotDescription",
     "{\"id\":\"leg\",\"base\":" POSE("[1,0,0]") ",\"links\":[{\"joint\":{\"type\":\"revolute\","
                                                 "\"axis\":[0,0,1]},\"mass\":3,\"com\":[0.2,0,0],"
                                                 "\"inertia\":[0.01,0.05,0.05,0,0,0]}]}"},
    {"MechanismPatch", "{\"base\":" POSE("[1,0,0.5]") "}"},
    {"Link", "{\"joint\":{\"type\":\"revolute\",\"origin\":" POSE(
                 "[0.4,0,0]") ","
                              "\"axis\":[0,0,1]},\"mass\":1,\"com\":[0.1,0,0],"
                              "\"inertia\":[0.01,0.01,0.01,0,0,0]}"},
    {"LinkPatch", "{\"joint\":{\"position\":0.3}}"},
    {"Motor", "{\"target\":0.5,\"stiffness\":20,\"damping\":1,\"max\":10}"},
    {"Material", "{\"id\":\"rubber\",\"restitution\":0.5,\"friction\":0.8}"},
    {"MaterialPatch", "{\"friction\":0.5}"},
    {"ContactPatch", "{\"enabled\":true}"},
    {"StateRequest", "{\"state\":\"running\"}"},
    {"StepRequest", "{\"ticks\":100}"},
    {"Task", "{\"id\":\"pause\",\"name\":\"Pause\",\"object\":\"cone\",\"steps\":" WAIT "}"},
    {"TaskGiven", "{\"name\":\"Pause\",\"object\":\"cone\",\"steps\":" WAIT "}"},
    {"TaskPatch", "{\"name\":\"A longer pause\"}"},
    {"PositioningProblem",
     "{\"constraints\":[{\"type\":\"coincident\","
     "\"mobile\":{\"plane\":{\"point\":[0,0,0],\"normal\":[0,0,-1]}},"
     "\"fixed\":{\"plane\":{\"point\":[0,0,0.1],\"normal\":[0,0,1]}},\"sense\":\"opposite\"}],"
     "\"samples\":2}"},
    {"SurfaceRequest", "{\"revolve\":{\"profile\":[[0.1,0,0],[0.2,0,0.1],[0.1,0,0.2]],"
                       "\"axis\":[0,0,1],\"angle\":3}}"},
    {"AssemblyRequest", "{\"method\":\"auto\",\"seed\":1}"},
};

const char *api_example(const wire_operation *about)
{
    for (size_t i = 0; about->request && i < sizeof examples / sizeof *examples; i++)
        if (is_equal(examples[i].request, about->request))
            return examples[i].body;
    return NULL;
}

/* ---- the routes ---------------------------------------------------------------------------- */

// clang-format off
static const api_route routes[] = {
    {{"GET", "", "What there is.", NULL, "Index", OP_STILL, NULL}, api_index, NULL},
    {{"GET", "/scene", "The scene file.", NULL, "Scene", OP_ETAG | OP_STILL, NULL}, api_scene_get, NULL},
    {{"PUT", "/scene", "Replaces the scene; the simulation is stopped.", "Scene", "Scene", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409 | OP_422, NULL}, api_scene_put, NULL},
    {{"PATCH", "/scene", "Changes members of the scene; another rate stops the simulation.", "ScenePatch", "Scene", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409 | OP_422, NULL}, api_scene_patch, NULL},
    {{"POST", "/scene/undo", "Takes back the last edit.", NULL, "History", OP_EDIT | OP_ETAG | OP_409, NULL}, api_scene_undo, NULL},
    {{"POST", "/scene/redo", "Takes back the last undo.", NULL, "History", OP_EDIT | OP_ETAG | OP_409, NULL}, api_scene_redo, NULL},
    {{"POST", "/scene/edits", "Several edits, all or none: one revision, one step for undo. A pointer in an error begins with the edit's index.", "SceneEdit[1024]", "History", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409 | OP_422, NULL}, api_scene_edits, NULL},
    {{"POST", "/scene/save", "Saves the scene under a name, whole or not at all.", "SaveRequest", "Scene", OP_EDIT | OP_NEW | OP_ETAG | OP_CREATES | OP_409, NULL}, api_scene_save, NULL},
    {{"POST", "/scene/open", "Opens a scene of the gallery or a saved one; the simulation is stopped.", "OpenRequest", "Scene", OP_EDIT | OP_ETAG | OP_404 | OP_422, NULL}, api_scene_open, NULL},
    {{"GET", "/scenes", "What can be opened.", NULL, "SceneEntry[]", OP_STILL | OP_PAGED, NULL}, api_scenes_get, NULL},
    {{"GET", "/scenes/{file}", "A scene file.", NULL, "Scene", OP_ETAG | OP_STILL, NULL}, api_scenes_file_get, NULL},
    {{"DELETE", "/scenes/{file}", "Deletes a saved scene; its versions are kept for a while.", NULL, NULL, OP_EDIT | OP_409, NULL}, api_scenes_file_delete, NULL},
    {{"GET", "/scenes/{file}/versions", "What is saved under the name and what was saved or deleted before, newest first: 20 for 30 days.", NULL, "SceneVersion[]", OP_STILL | OP_PAGED, NULL}, api_scenes_versions_get, NULL},
    {{"POST", "/scenes/{file}/restore", "Saves a former version again; without a version the newest of them.", "RestoreRequest", "Scene", OP_EDIT | OP_ETAG | OP_409, NULL}, api_scenes_restore, NULL},
    {{"GET", "/objects", "All objects.", NULL, "Object[]", OP_ETAG | OP_STILL | OP_PAGED, NULL}, resource_list, &resources[OBJECTS]},
    {{"POST", "/objects", "Adds an object, or the body of a robot description without joints that move.", "Object|RobotDescription", "Object", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_409, NULL}, resource_post, &resources[OBJECTS]},
    {{"GET", "/objects/{id}", "One object.", NULL, "Object", OP_ETAG | OP_STILL, NULL}, resource_get, &resources[OBJECTS]},
    {{"PATCH", "/objects/{id}", "Changes an object.", "ObjectPatch", "Object", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409 | OP_422, "group"}, resource_patch, &resources[OBJECTS]},
    {{"DELETE", "/objects/{id}", "Removes an object that nothing refers to.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_delete, &resources[OBJECTS]},
    {{"GET", "/features", "Features of all objects, or of one.", NULL, "FeatureRead[]", OP_ETAG | OP_404 | OP_STILL | OP_PAGED, "object"}, api_features_get, &resources[FEATURES]},
    {{"POST", "/features", "States a feature.", "Feature", "FeatureRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_409, NULL}, resource_post, &resources[FEATURES]},
    {{"GET", "/features/{object}/{feature}", "One feature.", NULL, "FeatureRead", OP_ETAG | OP_STILL, NULL}, api_feature_get, &resources[FEATURES]},
    {{"PUT", "/features/{object}/{feature}", "States or replaces a feature: 201 where it is new.", "FeatureGiven", "FeatureRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_REPLACES | OP_409 | OP_422, NULL}, resource_put, &resources[FEATURES]},
    {{"PATCH", "/features/{object}/{feature}", "Changes a stated feature.", "FeaturePatch", "FeatureRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409 | OP_422, NULL}, resource_patch, &resources[FEATURES]},
    {{"DELETE", "/features/{object}/{feature}", "Removes a stated feature that no constraint uses.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_delete, &resources[FEATURES]},
    {{"GET", "/constraints", "All constraints.", NULL, "ConstraintRead[]", OP_ETAG | OP_STILL | OP_PAGED, NULL}, resource_list, &resources[CONSTRAINTS]},
    {{"POST", "/constraints", "Adds a constraint.", "Constraint", "ConstraintRead", OP_EDIT | OP_DRY_RUN | OP_STRANDS | OP_ETAG | OP_CREATES | OP_409 | OP_422, NULL}, resource_post, &resources[CONSTRAINTS]},
    {{"GET", "/constraints/{id}", "One constraint.", NULL, "ConstraintRead", OP_ETAG | OP_STILL, NULL}, resource_get, &resources[CONSTRAINTS]},
    {{"PATCH", "/constraints/{id}", "Changes, enables or disables a constraint.", "ConstraintPatch", "ConstraintRead", OP_EDIT | OP_DRY_RUN | OP_STRANDS | OP_ETAG | OP_409 | OP_422, NULL}, resource_patch, &resources[CONSTRAINTS]},
    {{"DELETE", "/constraints/{id}", "Removes a constraint.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_delete, &resources[CONSTRAINTS]},
    {{"GET", "/joints", "All joints between objects, links and the world, and gears, with where they are now.", NULL, "SceneJointRead[]", OP_ETAG | OP_PAGED, NULL}, resource_list, &resources[JOINTS]},
    {{"POST", "/joints", "Adds a joint.", "SceneJoint", "SceneJointRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_409 | OP_422, NULL}, resource_post, &resources[JOINTS]},
    {{"GET", "/joints/{id}", "One joint.", NULL, "SceneJointRead", OP_ETAG, NULL}, resource_get, &resources[JOINTS]},
    {{"PATCH", "/joints/{id}", "Changes, enables, disables or renames a joint.", "SceneJointPatch", "SceneJointRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409 | OP_422, NULL}, resource_patch, &resources[JOINTS]},
    {{"DELETE", "/joints/{id}", "Removes a joint that no gear refers to.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_delete, &resources[JOINTS]},
    {{"GET", "/springs", "All springs.", NULL, "SceneSpring[]", OP_ETAG | OP_STILL | OP_PAGED, NULL}, resource_list, &resources[SPRINGS]},
    {{"POST", "/springs", "Adds a spring.", "SceneSpring", "SceneSpring", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_409, NULL}, resource_post, &resources[SPRINGS]},
    {{"GET", "/springs/{id}", "One spring.", NULL, "SceneSpring", OP_ETAG | OP_STILL, NULL}, resource_get, &resources[SPRINGS]},
    {{"PATCH", "/springs/{id}", "Changes, enables, disables or renames a spring.", "SceneSpringPatch", "SceneSpring", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_patch, &resources[SPRINGS]},
    {{"DELETE", "/springs/{id}", "Removes a spring.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG, NULL}, resource_delete, &resources[SPRINGS]},
    {{"GET", "/solutions", "What each object that is not fixed may still do.", NULL, "Solution[]", OP_ETAG | OP_PAGED, NULL}, api_solutions_get, NULL},
    {{"GET", "/solutions/{object}", "The same of one object.", NULL, "Solution", OP_STRANDS | OP_ETAG, NULL}, api_solution_get, NULL},
    {{"PATCH", "/solutions/{object}", "Chooses a branch or moves the object along its freedoms.", "SolutionPatch", "Solution", OP_EDIT | OP_DRY_RUN | OP_STRANDS | OP_ETAG, NULL}, api_solution_patch, NULL},
    {{"GET", "/drivers", "What devices there may be: drivers with their profiles and settings.", NULL, "Driver[]", OP_STILL | OP_PAGED, NULL}, api_drivers_get, NULL},
    {{"GET", "/devices", "All devices.", NULL, "DeviceRead[]", OP_ETAG | OP_STILL | OP_PAGED, NULL}, resource_list, &resources[DEVICES]},
    {{"POST", "/devices", "Adds and opens a device.", "Device", "DeviceRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_409, NULL}, resource_post, &resources[DEVICES]},
    {{"GET", "/devices/{id}", "One device.", NULL, "DeviceRead", OP_ETAG | OP_STILL, NULL}, resource_get, &resources[DEVICES]},
    {{"PATCH", "/devices/{id}", "Changes a device.", "DevicePatch", "DeviceRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_patch, &resources[DEVICES]},
    {{"DELETE", "/devices/{id}", "Closes and removes a device that holds nothing.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_delete, &resources[DEVICES]},
    {{"GET", "/devices/{id}/operator", "Who operates the device by script.", NULL, "Operator", OP_ETAG | OP_STILL, NULL}, api_operator_get, &resources[DEVICES]},
    {{"PUT", "/devices/{id}/operator", "Another operator, effective at once.", "Operator", "Operator", OP_EDIT | OP_DRY_RUN | OP_ETAG, NULL}, api_operator_put, &resources[DEVICES]},
    {{"DELETE", "/devices/{id}/operator", "Nobody operates the device by script.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG, NULL}, api_operator_delete, &resources[DEVICES]},
    {{"GET", "/tool", "The first tool.", NULL, "ToolRead", OP_ETAG | OP_404, NULL}, api_tool_get, NULL},
    {{"PUT", "/tool", "Sets the tool: 201 where it is new.", "ToolGiven", "ToolRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_REPLACES, NULL}, api_tool_put, NULL},
    {{"PATCH", "/tool", "Changes the tool.", "ToolPatch", "ToolRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_404, NULL}, api_tool_patch, NULL},
    {{"DELETE", "/tool", "The hand lets go.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_404, NULL}, api_tool_delete, NULL},
    {{"GET", "/tools/rendered", "What the tools' devices render of the stiffness and mass that are asked for, and why.", NULL, "Rendered[]", OP_PAGED, NULL}, api_rendered_get, NULL},
    {{"GET", "/tools", "All tools.", NULL, "ToolRead[]", OP_ETAG | OP_PAGED, NULL}, api_tools_get, NULL},
    {{"GET", "/mechanisms", "All mechanisms, with their joints now.", NULL, "MechanismRead[]", OP_ETAG | OP_PAGED, NULL}, resource_list, &resources[MECHANISMS]},
    {{"POST", "/mechanisms", "Adds a mechanism, or that of a robot description.", "MechanismGiven|RobotDescription", "MechanismRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_409, NULL}, resource_post, &resources[MECHANISMS]},
    {{"GET", "/mechanisms/{id}", "One mechanism, with its joints now.", NULL, "MechanismRead", OP_ETAG, NULL}, resource_get, &resources[MECHANISMS]},
    {{"PATCH", "/mechanisms/{id}", "Changes or renames a mechanism.", "MechanismPatch", "MechanismRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409 | OP_422, NULL}, resource_patch, &resources[MECHANISMS]},
    {{"DELETE", "/mechanisms/{id}", "Removes a mechanism that nothing refers to.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_delete, &resources[MECHANISMS]},
    {{"GET", "/mechanisms/{id}/links", "The links of a mechanism.", NULL, "Link[]", OP_ETAG | OP_STILL | OP_PAGED, NULL}, api_links_get, &resources[MECHANISMS]},
    {{"POST", "/mechanisms/{id}/links", "Adds a link behind the last one.", "Link", "Link", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES, NULL}, api_links_post, &resources[MECHANISMS]},
    {{"GET", "/mechanisms/{id}/links/{link}", "One link.", NULL, "Link", OP_ETAG | OP_STILL, NULL}, api_link_get, &resources[MECHANISMS]},
    {{"PATCH", "/mechanisms/{id}/links/{link}", "Changes a link, its joint's start too.", "LinkPatch", "Link", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_422, NULL}, api_link_patch, &resources[MECHANISMS]},
    {{"DELETE", "/mechanisms/{id}/links/{link}", "Removes the last link.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, api_link_delete, &resources[MECHANISMS]},
    {{"GET", "/mechanisms/{id}/joints/{link}/motor", "The motor of a joint.", NULL, "Motor", OP_ETAG | OP_STILL, NULL}, api_motor_get, &resources[MECHANISMS]},
    {{"PUT", "/mechanisms/{id}/joints/{link}/motor", "Sets the motor of a joint, also while it runs.", "Motor", "Motor", OP_EDIT | OP_DRY_RUN | OP_ETAG, NULL}, api_motor_put, &resources[MECHANISMS]},
    {{"DELETE", "/mechanisms/{id}/joints/{link}/motor", "Takes the motor of a joint away.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG, NULL}, api_motor_delete, &resources[MECHANISMS]},
    {{"GET", "/materials", "All materials.", NULL, "Material[]", OP_ETAG | OP_STILL | OP_PAGED, NULL}, resource_list, &resources[MATERIALS]},
    {{"POST", "/materials", "Adds a material.", "Material", "Material", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_409, NULL}, resource_post, &resources[MATERIALS]},
    {{"GET", "/materials/{id}", "One material.", NULL, "Material", OP_ETAG | OP_STILL, NULL}, resource_get, &resources[MATERIALS]},
    {{"PATCH", "/materials/{id}", "Changes or renames a material.", "MaterialPatch", "Material", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_patch, &resources[MATERIALS]},
    {{"DELETE", "/materials/{id}", "Removes a material that nothing is made of.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_delete, &resources[MATERIALS]},
    {{"GET", "/contact", "How contacts are resolved.", NULL, "Contact", OP_ETAG | OP_STILL, NULL}, api_contact_get, NULL},
    {{"PATCH", "/contact", "Changes how contacts are resolved.", "ContactPatch", "Contact", OP_EDIT | OP_DRY_RUN | OP_ETAG, NULL}, api_contact_patch, NULL},
    {{"GET", "/contacts", "What touches now, or hit in the last tick.", NULL, "ContactPoint[64]", OP_ETAG | OP_PAGED, NULL}, api_contacts_get, NULL},
    {{"GET", "/meshes", "The mesh files of the data folder.", NULL, "MeshFile[]", OP_STILL | OP_PAGED, NULL}, api_meshes_get, NULL},
    {{"GET", "/meshes/{name}", "The triangles of a mesh, equal vertices made one.", NULL, "Mesh", OP_STILL, NULL}, api_mesh_get, NULL},
    {{"PUT", "/meshes/{name}", "Keeps a mesh file: STL (binary or ASCII) or OBJ, at most 16 MiB, lengths in metres.", NULL, "MeshAbout", OP_CREATES | OP_REPLACES | OP_FILE | OP_409, NULL}, api_mesh_put, NULL},
    {{"DELETE", "/meshes/{name}", "Deletes a mesh file that nothing of the scene uses.", NULL, NULL, OP_409, NULL}, api_mesh_delete, NULL},
    {{"GET", "/simulation", "How the simulation is.", NULL, "Simulation", 0, NULL}, api_simulation_get, NULL},
    {{"PUT", "/simulation", "Runs, pauses or stops; stopped is tick 0 and the scene's poses.", "StateRequest", "Simulation", OP_409, NULL}, api_simulation_put, NULL},
    {{"POST", "/simulation/step", "Ticks while paused, as fast as they are computed; done when it answers.", "StepRequest", "Simulation", OP_409, NULL}, api_simulation_step, NULL},
    {{"POST", "/simulation/halt", "Devices to their safe state; nothing moves until armed. An Idempotency-Key that is the `press` of a halt on the stream says that both are one; a key that comes again within 10 s halts nothing anew: the answer tells how things stand, with `Idempotency-Replayed: true`. Whatever body comes with it, it halts: the answer says what it ignored.", NULL, "Halted", OP_ALWAYS, NULL}, api_simulation_halt, NULL},
    {{"POST", "/simulation/arm", "Ends a halt that has stood for a tenth of a second; loses against one that comes meanwhile.", NULL, "Simulation", OP_409, NULL}, api_simulation_arm, NULL},
    {{"GET", "/tasks", "All tasks, with their progress.", NULL, "TaskRead[]", OP_ETAG | OP_PAGED, NULL}, resource_list, &resources[TASKS]},
    {{"POST", "/tasks", "Adds a task.", "Task", "TaskRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_409, NULL}, resource_post, &resources[TASKS]},
    {{"GET", "/tasks/{id}", "One task, with its progress.", NULL, "TaskRead", OP_ETAG, NULL}, resource_get, &resources[TASKS]},
    {{"PUT", "/tasks/{id}", "Replaces a task, or adds it.", "TaskGiven", "TaskRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_CREATES | OP_REPLACES | OP_409, NULL}, resource_put, &resources[TASKS]},
    {{"PATCH", "/tasks/{id}", "Changes or renames a task; not while it runs.", "TaskPatch", "TaskRead", OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_patch, &resources[TASKS]},
    {{"DELETE", "/tasks/{id}", "Removes a task; not while it runs.", NULL, NULL, OP_EDIT | OP_DRY_RUN | OP_ETAG | OP_409, NULL}, resource_delete, &resources[TASKS]},
    {{"GET", "/tasks/{id}/progress", "How far a task is.", NULL, "TaskProgress", 0, NULL}, api_task_progress_get, &resources[TASKS]},
    {{"POST", "/tasks/{id}/start", "Starts a task, and the simulation where it does not run.", NULL, "TaskProgress", OP_409, NULL}, api_task_start, &resources[TASKS]},
    {{"POST", "/tasks/{id}/stop", "Stops a task where it is; answers when it has.", NULL, "TaskProgress", 0, NULL}, api_task_stop, &resources[TASKS]},
    {{"GET", "/loop/faults", "The 32 newest halts and force-offs with their last ticks, also of earlier runs, the oldest first.", NULL, "Fault[]", OP_STILL | OP_PAGED, NULL}, api_faults_get, NULL},
    {{"GET", "/loop/faults/{id}", "The last ticks before a fault, 1000 at most, the newest last: a row a tick, as CSV.", NULL, NULL, OP_CSV, NULL}, api_fault_get, NULL},
    {{"GET", "/loop", "How the loop does: scheduling, lateness, what ticks take, what was missed.", NULL, "LoopFigures", 0, NULL}, api_loop_get, NULL},
    {{"GET", "/events", "The last 1000 events after `since`.", NULL, "Event[]", OP_PAGED, "since"}, api_events_get, NULL},
    {{"POST", "/solve", "Solves a positioning problem; changes nothing.", "PositioningProblem", "Answer", 0, NULL}, api_solve, NULL},
    {{"POST", "/surfaces", "Makes a free-form curve or surface: the nearest to points, through sections, revolved, swept, a primitive converted; changes nothing.", "SurfaceRequest", "MadeSurface", 0, NULL}, api_surface, NULL},
    {{"POST", "/assemble", "Brings parts to where all constraints and joints hold; changes nothing unless told to commit.", "AssemblyRequest", "Assembly", OP_EDIT | OP_ETAG, "group"}, api_assemble, NULL},
    {{"GET", "/openapi.json", "This document.", NULL, "OpenApi", OP_STILL, NULL}, api_openapi, NULL},
};
// clang-format on

const api_route *api_routes(int *count)
{
    *count = sizeof routes / sizeof routes[0];
    return routes;
}
