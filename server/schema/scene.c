/*
 * The scene, its features and its constraints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/field.h"

const char *const wire_senses[] = {
    [GW_EITHER] = "either", [GW_SAME] = "same", [GW_OPPOSITE] = "opposite", NULL};
static const char *const bounds[] = {[GW_BOUND_EQUAL] = "equal",
                                     [GW_BOUND_AT_LEAST] = "at-least",
                                     [GW_BOUND_AT_MOST] = "at-most",
                                     NULL};

static const char *const contacts[] = {"bilateral", "unilateral", NULL};

/* ---- elements ------------------------------------------------------------------------------ */

static const wire_field of_line[] = {
    {"point", VEC3, AT(gw_element, p), REQUIRED},
    {"direction", DIRECTION, AT(gw_element, d), REQUIRED, .about = "of any length but zero"},
    {0}};
static const wire_field of_plane[] = {
    {"point", VEC3, AT(gw_element, p), REQUIRED},
    {"normal", DIRECTION, AT(gw_element, d), REQUIRED, .about = "of any length but zero"},
    {0}};
static const wire_table line_table = {.name = "Line", .fields = of_line};
static const wire_table plane_table = {.name = "Plane", .fields = of_plane};

#define ELEMENT(type, member)                                                                      \
    {"point", VEC3, AT(type, member.p), ALTERNATIVE, .kinds = KIND(GW_POINT)},                     \
        {"line",                                                                                   \
         OBJECT,                                                                                   \
         AT(type, member),                                                                         \
         ALTERNATIVE,                                                                              \
         .kinds = KIND(GW_LINE),                                                                   \
         .table = &line_table},                                                                    \
    {                                                                                              \
        "plane", OBJECT, AT(type, member), ALTERNATIVE, .kinds = KIND(GW_PLANE),                   \
                                                        .table = &plane_table                      \
    }

INITIAL(no_element, gw_element, (gw_element){0})

typedef struct one_element {
    gw_element element;
} one_element;

/* Elements of problems may be free-form shapes; in scenes these are geometries of objects. */
static const wire_field of_element[] = {
    ELEMENT(one_element, element),
    {"curve", OBJECT, AT(one_element, element), ALTERNATIVE, .kinds = KIND(GW_CURVE),
     .table = &wire_table_curve_element},
    {"surface", OBJECT, AT(one_element, element), ALTERNATIVE, .kinds = KIND(GW_SURFACE),
     .table = &wire_table_surface_element},
    {0}};

static void finish_element(void *element)
{
    gw_element *e = element;
    gw_nurbs_put((gw_nurbs *)e->nurbs);
    e->nurbs = NULL;
}

const wire_table wire_table_element = {.name = "Element",
                                       .about =
                                           "A point, a line or a plane; or a free-form curve or "
                                           "surface in the frame of the other elements.",
                                       .fields = of_element,
                                       .size = sizeof(gw_element),
                                       .initial = no_element,
                                       .finish = finish_element,
                                       .kind = offsetof(gw_element, kind)};

ENCODER(element, gw_element)

/* ---- features ------------------------------------------------------------------------------ */

_Static_assert(offsetof(gw_feature, name) == offsetof(gw_feature_ref, feature) &&
                   offsetof(gw_feature, object) == offsetof(gw_feature_ref, object),
               "a feature begins with its id");

INITIAL(no_feature, gw_feature, (gw_feature){0})

static const char *const touches[] = {"sphere", "cylinder", "rim", NULL};

static const wire_field of_feature[] = {
    {"id", FEATURE_ID, AT(gw_feature, object), REQUIRED | IN_ADDRESS},
    {"derived", BOOLEAN, .flags = READ_ONLY | SENT_BACK},
    ELEMENT(gw_feature, element),
    {"curve", OBJECT, AT(gw_feature, element), READ_ONLY | ALTERNATIVE, .kinds = KIND(GW_CURVE),
     .table = &wire_table_curve_element},
    {"surface", OBJECT, AT(gw_feature, element), READ_ONLY | ALTERNATIVE, .kinds = KIND(GW_SURFACE),
     .table = &wire_table_surface_element},
    {"touches", CHOICE, .flags = READ_ONLY | SOMETIMES, .choices = touches,
     .about = "a surface or a rim of a primitive, which slides and rolls; its point is the middle"},
    {"axis", VEC3, .flags = READ_ONLY | SOMETIMES, .about = "of what touches, unit length"},
    {"radius", NUMBER, .flags = READ_ONLY | SOMETIMES, .about = "of what touches", .unit = "m"},
    {0}};
const wire_table wire_table_feature = {
    .name = "Feature",
    .about =
        "A feature that the scene states, in its object's frame. In a whole scene one may have "
        "the name of a feature that the shape gives, and takes its place.",
    .read = {"FeatureRead", "A feature in its object's frame; derived ones come from the shape and "
                            "can only be read."},
    .given = {"FeatureGiven", "A feature; the address says its id."},
    .patch = {"FeaturePatch", "Merge patch of a stated feature."},
    .fields = of_feature,
    .size = sizeof(gw_feature),
    .initial = no_feature,
    .kind = offsetof(gw_feature, element.kind)};

CODEC(feature, gw_feature)

/* ---- constraints --------------------------------------------------------------------------- */

INITIAL(no_constraint, gw_scene_constraint, (gw_scene_constraint){.enabled = true})

/* The state is derived from the layout by the folder that answers. */
static const char *const constraint_states[] = {"ok", "redundant", "disabled", NULL};

static const wire_field of_constraint[] = {
    {"id", ID, AT(gw_scene_constraint, id),
     .must = "id: must match [A-Za-z0-9_.:+-]{1,64}, or be left out"},
    {"type", CHOICE, AT(gw_scene_constraint, kind), REQUIRED, .name_of = gw_any_constraint_name,
     .synonym = "contained", .synonym_of = GW_COINCIDENT, .about = "contained means coincident"},
    {"a", FEATURE_ID, AT(gw_scene_constraint, a), REQUIRED},
    {"b", FEATURE_ID, AT(gw_scene_constraint, b), REQUIRED},
    {"value", NUMBER, AT(gw_scene_constraint, value),
     .unit =
         "m or rad; 0 unless given, and for every type but distance, angle, normal and tangent"},
    {"bound", CHOICE, AT(gw_scene_constraint, bound), OMITTED, .choices = bounds,
     .about = "a distance or an angle: one-sided ones are walls"},
    {"sense", CHOICE, AT(gw_scene_constraint, sense), .choices = wire_senses},
    {"inside", BOOLEAN, AT(gw_scene_constraint, inside), OMITTED,
     .about = "what rolls or slides does so within b's surface, as a ball in a tube; two cylinders "
              "stay in line then, and where their axes are within 5 degrees of parallel"},
    {"contact", CHOICE, AT(gw_scene_constraint, unilateral), OMITTED, .choices = contacts,
     .about = "what rolls or slides is held to the surface both ways, or unilaterally: then it "
              "lifts off, and collides where it meets the surface again"},
    {"enabled", BOOLEAN, AT(gw_scene_constraint, enabled)},
    {"state", CHOICE, .flags = READ_ONLY | SENT_BACK, .choices = constraint_states},
    {0}};
const wire_table wire_table_constraint = {
    .name = "Constraint",
    .about = "Joins features of two objects; for signs b plays the fixed part. An id left out is "
             "made.",
    .read = {"ConstraintRead", NULL},
    .patch = {"ConstraintPatch", "Merge patch of a constraint."},
    .fields = of_constraint,
    .size = sizeof(gw_scene_constraint),
    .initial = no_constraint};

CODEC(constraint, gw_scene_constraint)

/* ---- ids that are made ---------------------------------------------------------------------- */

/* The first free id of c1, c2 .. from *n on; *n moves past it. */
static void next_id(const gw_scene *scene, wire_finder *find, char letter, int *n,
                    char id[GW_MAX_ID + 1])
{
    do
        snprintf(id, GW_MAX_ID + 1, "%c%d", letter, (*n)++);
    while (find(scene, id) >= 0);
}

void wire_make_id(const gw_scene *scene, wire_finder *find, char letter, char id[GW_MAX_ID + 1])
{
    next_id(scene, find, letter, &(int){1}, id);
}

/* Makes ids for the entries of a collection that have none; an entry begins with its id. The id is
 * made in a local buffer, since the scene is searched meanwhile. */
static void make_ids(const gw_scene *scene, wire_finder *find, char letter, void *array, int count,
                     size_t size)
{
    int n = 1;
    for (int i = 0; i < count; i++) {
        char *id = (char *)array + (size_t)i * size, made[GW_MAX_ID + 1];
        if (id[0])
            continue;
        next_id(scene, find, letter, &n, made);
        memcpy(id, made, sizeof made);
    }
}

/* ---- the scene ----------------------------------------------------------------------------- */

INITIAL(default_scene, gw_scene, gw_scene_default())

/* Appends an entry to an array of the scene. */
#define ADD(name, type, most, id)                                                                  \
    static void *add_##name(void *scene, gw_error *error)                                          \
    {                                                                                              \
        return gw_scene_add_##name(scene, error);                                                  \
    }
GW_SCENE_ARRAYS(ADD)

/* One tool is written as "tool", two as "tools". */
WHEN(one_tool, gw_scene, it->tool_count == 1)
WHEN(more_tools, gw_scene, it->tool_count > 1)

DECODE(decode_tool)
{
    if (json_is_null(value))
        return true;
    gw_tool *tool = gw_scene_add_tool(owner, error);
    return tool && wire_decode_at(f->table, value, at, tool, error);
}

ENCODE(encode_tool)
{
    return wire_encode(f->table, &((const gw_scene *)owner)->tools[0], context);
}

static const wire_type single_tool = {decode_tool, encode_tool, wire_schema_object};

HOOK(not_both_tools)
{
    return !json_object_get(value, "tool") || !json_object_get(value, "tools") ||
           wire_refuse(&(wire_path){.parent = at, .name = "tools"}, error,
                       "takes \"tool\" or \"tools\", not both");
}

static const char *const formats[] = {"guideway-scene/1", NULL};

ENCODE(encode_format)
{
    return json_string(formats[0]);
}

DECODE(decode_format)
{
    int format;
    const wire_field plain = {.name = f->name, .size = sizeof format, .choices = formats};
    return CHOICE->decode(&plain, value, at, &format, error);
}

SCHEMA(schema_format)
{
    return json_pack("{ss}", "const", formats[0]);
}

static const wire_type scene_format = {decode_format, encode_format, schema_format};

/* Contact settings are left out where contacts are not enabled. */
static json_t *contact_or_null(const gw_scene_contact *contact)
{
    const gw_scene_contact none = {0};
    json_t *now = wire_contact(contact), *unsaid = wire_contact(&none);
    if (json_equal(now, unsaid)) {
        json_decref(now);
        now = NULL;
    }
    json_decref(unsaid);
    return now;
}

static bool has_contact(const void *scene, const wire_context *context UNUSED)
{
    json_t *contact = contact_or_null(&((const gw_scene *)scene)->contact);
    json_decref(contact);
    return contact != NULL;
}

/* The LIST of an array of the scene, with the table of its entries. */
#define ALL(name, most_)                                                                           \
    LIST, AT(gw_scene, name##s),                                                                   \
        .table = &wire_table_##name, .count = offsetof(gw_scene, name##_count),                    \
        .stride = sizeof *((gw_scene *)NULL)->name##s, .most = most_, .add = add_##name

static const wire_field of_scene[] = {
    {"format", &scene_format, .flags = REQUIRED},
    {"name", STRING, AT(gw_scene, name)},
    {"description", STRING, AT(gw_scene, description), OMITTED},
    {"gravity", VEC3, AT(gw_scene, gravity), .unit = "m/s2"},
    {"rate", WHOLE, AT(gw_scene, rate), RANGE(GW_RATE_MIN_HZ, GW_RATE_MAX_HZ), .unit = "Hz"},
    {"objects", ALL(object, GW_MAX_OBJECTS)},
    {"features", ALL(feature, GW_MAX_FEATURES)},
    {"constraints", ALL(constraint, GW_MAX_CONSTRAINTS)},
    {"tool", &single_tool, .when = one_tool, .table = &wire_table_tool},
    {"tools", ALL(tool, GW_MAX_TOOLS), .when = more_tools},
    {"devices", ALL(device, GW_MAX_DEVICES)},
    {"mechanisms", ALL(mechanism, GW_MAX_MECHANISMS), .flags = OMITTED | LAST},
    {"joints", ALL(joint, GW_MAX_SCENE_JOINTS), .flags = OMITTED | LAST},
    {"springs", ALL(spring, GW_MAX_SCENE_SPRINGS), .flags = OMITTED | LAST},
    {"tasks", ALL(task, GW_MAX_TASKS), .flags = OMITTED},
    {"materials", ALL(material, GW_MAX_MATERIALS), .flags = OMITTED | LAST},
    {"contact", OBJECT, AT(gw_scene, contact), LAST, .when = has_contact,
     .table = &wire_table_contact},
    {0}};
const wire_table wire_table_scene = {
    .name = "Scene",
    .about = "A scene file.",
    .patch = {"ScenePatch", "Merge patch of the scene; arrays are replaced whole."},
    .fields = of_scene,
    .size = sizeof(gw_scene),
    .initial = default_scene,
    .before = not_both_tools};

/* Completes a decoded scene: missing ids of relations are made, a tool may name a link as its
 * object. What older files may have left over is removed: a value of a constraint's former type,
 * and the velocity of an object that was fixed later. */
static bool complete_scene(gw_scene *s, gw_error *error)
{
    for (int i = 0; i < s->constraint_count; i++)
        if (!gw_constraint_has_value(s->constraints[i].kind))
            s->constraints[i].value = 0;
    for (int i = 0; i < s->object_count; i++)
        if (s->objects[i].fixed)
            s->objects[i].velocity = s->objects[i].spin = (gw_vec3){0, 0, 0};
    for (int i = 0; i < s->tool_count; i++)
        gw_scene_name_held_link(s, &s->tools[i]);
    make_ids(s, gw_scene_constraint_index, 'c', s->constraints, s->constraint_count,
             sizeof *s->constraints);
    make_ids(s, gw_scene_joint_index, 'j', s->joints, s->joint_count, sizeof *s->joints);
    make_ids(s, gw_scene_spring_index, 's', s->springs, s->spring_count, sizeof *s->springs);
    return wire_take_gears(s, error) && gw_scene_make_surfaces(s, error);
}

/* The scene's check numbers the tools; for a file that has the single member "tool" the pointer is
 * changed to it. */
static void name_tool(const json_t *value, gw_error *error)
{
    static const char counted[] = "/tools/0";
    if (!error || !json_object_get(value, "tool") || strncmp(error->where, counted, 8) != 0)
        return;
    char rest[sizeof error->where];
    snprintf(rest, sizeof rest, "/tool%s", error->where + 8);
    memcpy(error->where, rest, sizeof rest);
}

/* The error that the list of all is reported by: an id that is taken twice, as other members may be
 * wrong for that alone. */
static int leading(const gw_error_list *list)
{
    for (int i = 0; i < list->count; i++)
        if (list->errors[i].code == GW_CONFLICT)
            return i;
    return 0;
}

/* Checks a scene whose members are valid, and notes all errors of the document. */
static bool check_scene(const json_t *value, const gw_scene *scene, gw_error *error)
{
    gw_error found[WIRE_ERRORS];
    gw_error_list list = {.errors = found, .most = WIRE_ERRORS};
    gw_scene_errors(scene, &list);
    if (list.count == 0)
        return true;
    for (int i = 0; i < list.count; i++)
        name_tool(value, &found[i]);
    const gw_error *first = &found[leading(&list)];
    bool document = first->code == GW_BAD_INPUT || first->code == GW_CONFLICT;
    wire_note(first);
    for (int i = 0; i < list.count; i++)
        if (found[i].code == first->code || (document && found[i].code == GW_BAD_INPUT))
            wire_note(&found[i]);
    if (error)
        *error = *first;
    return false;
}

/* The errors of a document whose invalid entries were taken out. */
static void list_errors(const json_t *value, gw_error_list *list)
{
    gw_error unwanted = {0};
    gw_scene *scene = malloc(sizeof *scene);
    if (!scene)
        return;
    if (wire_decode(&wire_table_scene, value, "", scene, &unwanted) &&
        complete_scene(scene, &unwanted))
        gw_scene_errors(scene, list);
    for (int i = 0; i < list->count; i++)
        name_tool(value, &list->errors[i]);
    gw_scene_destroy(scene);
}

gw_scene *wire_get_scene(const json_t *value, gw_error *error)
{
    gw_scene *scene = malloc(sizeof *scene);
    if (!scene) {
        gw_fail(error, GW_FAILED, "", "no memory for a scene");
        return NULL;
    }
    if (!wire_decode(&wire_table_scene, value, "", scene, error)) {
        gw_scene_destroy(scene);
        wire_note_rest(&wire_table_scene, value, list_errors);
        return NULL;
    }
    if (complete_scene(scene, error) && check_scene(value, scene, error))
        return scene;
    gw_scene_destroy(scene);
    return NULL;
}

json_t *wire_scene(const gw_scene *scene)
{
    return wire_encode(&wire_table_scene, scene, &(wire_context){.scene = scene});
}
