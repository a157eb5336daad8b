/*
 * Joints and springs between objects, links and the world.
 *
 * A union of three tables: joints; the screw, which has a pitch; the gear, which joins two others.
 * The type is that of the mobilizer. The mobilizer with six freedoms is not a joint, and its place
 * among the names is used for the gear.
 */
#include <assert.h>
#include <string.h>

#include "server/schema/field.h"

#define GEAR GW_MOBILIZER_FREE

static const char *joint_type(int type)
{
    if (type == GEAR)
        return "gear";
    return type < GEAR ? gw_mobilizers[type].name : NULL;
}

/* ---- ends ---------------------------------------------------------------------------------- */

#define BODY(type)                                                                                 \
    STRING, AT(type, object), REQUIRED,                                                            \
        .must = "must be the id of an object, a link as mechanism.number, or \"world\""

static const wire_field of_frame[] = {{"object", BODY(gw_joint_end)},
                                      {"at", OBJECT, AT(gw_joint_end, at),
                                       .table = &wire_table_pose,
                                       .about = "the frame in its axes; z is the joint's axis"},
                                      {0}};
INITIAL(no_end, gw_joint_end, (gw_joint_end){.at = gw_pose_identity()})
const wire_table wire_table_joint_frame = {
    .name = "JointFrame",
    .about = "A frame of an object, a link (mechanism.number) or the world (\"world\", where no "
             "object is called so).",
    .fields = of_frame,
    .size = sizeof(gw_joint_end),
    .initial = no_end};

_Static_assert(offsetof(gw_joint_end, object) == offsetof(gw_feature_ref, object) &&
                   offsetof(gw_joint_end, feature) == offsetof(gw_feature_ref, feature),
               "an end begins with a reference to a feature");

/* An end: a frame, or "object/feature". */
DECODE(decode_end)
{
    gw_joint_end *end = (void *)((char *)owner + f->offset);
    *end = (gw_joint_end){.at = gw_pose_identity()};
    if (json_is_object(value))
        return wire_decode_at(&wire_table_joint_frame, value, at, end, error);
    if (!json_is_string(value))
        return wire_refuse(at, error, "%s: must be {\"object\", \"at\"} or \"object/feature\"",
                           f->name);
    return FEATURE_ID->decode(f, value, at, owner, error);
}

ENCODE(encode_end)
{
    const gw_joint_end *end = (const void *)((const char *)owner + f->offset);
    return end->feature[0] ? FEATURE_ID->encode(f, owner, context)
                           : wire_encode(&wire_table_joint_frame, end, context);
}

SCHEMA(schema_end)
{
    return json_pack("{s[oo]}", "anyOf", wire_schema_ref("JointFrame"),
                     wire_schema_ref("FeatureId"));
}

static const wire_type joint_end = {decode_end, encode_end, schema_end};

/* ---- coordinates --------------------------------------------------------------------------- */

static int dof_of(const void *joint)
{
    return gw_mobilizers[((const gw_scene_joint *)joint)->type].dof;
}

static bool check_count(const json_t *value, const wire_path *at, const void *joint,
                        const char *entries, gw_error *error)
{
    int dof = dof_of(joint);
    const char *name = gw_mobilizers[((const gw_scene_joint *)joint)->type].name;
    if (json_is_array(value) && json_array_size(value) == (size_t)dof)
        return true;
    if (dof == 0)
        return wire_refuse(at, error, "must be [] or left out: a %s joint has no coordinates",
                           name);
    return wire_refuse(at, error, "must be an array of %d %s: a %s joint has %d coordinate%s", dof,
                       entries, name, dof, dof == 1 ? "" : "s");
}

/* One number for each coordinate. */
DECODE(decode_coordinates)
{
    return check_count(value, at, owner, "numbers", error) &&
           wire_get_numbers(value, at, dof_of(owner), (void *)((char *)owner + f->offset), error);
}

ENCODE(encode_coordinates)
{
    return wire_numbers((const void *)((const char *)owner + f->offset), dof_of(owner), context);
}

SCHEMA(schema_coordinates)
{
    json_t *number = wire_schema_number(&(wire_field){.type = NUMBER, .has_low = f->has_low});
    return json_pack("{ss so si}", "type", "array", "items", number, "maxItems", 3);
}

static const wire_type coordinates = {decode_coordinates, encode_coordinates, schema_coordinates};

/* [lower, upper] or null for each coordinate. */
DECODE(decode_limits)
{
    gw_scene_joint *j = owner;
    if (!check_count(value, at, owner, "pairs [lower, upper], or null where there is none", error))
        return false;
    for (int i = 0; i < dof_of(j); i++) {
        const json_t *pair = json_array_get(value, (size_t)i);
        const wire_path entry = {.parent = at, .index = (size_t)i};
        double ends[2];
        j->limited[i] = !json_is_null(pair);
        if (!j->limited[i])
            continue;
        if (!json_is_array(pair) || json_array_size(pair) != 2)
            return wire_refuse(&entry, error, "must be [lower, upper], or null for no limits");
        if (!wire_get_numbers(pair, &entry, 2, ends, error))
            return false;
        j->lower[i] = ends[0];
        j->upper[i] = ends[1];
    }
    return true;
}

ENCODE(encode_limits)
{
    const gw_scene_joint *j = owner;
    json_t *list = json_array();
    for (int i = 0; list && i < dof_of(j); i++)
        list = wire_append(
            list, j->limited[i]
                      ? wire_numbers((const double[]){j->lower[i], j->upper[i]}, 2, context)
                      : json_null());
    return list;
}

SCHEMA(schema_limits)
{
    return json_pack("{ss s{s[{ss s{ss} si si} {ss}]} si}", "type", "array", "items", "anyOf",
                     "type", "array", "items", "type", "number", "minItems", 2, "maxItems", 2,
                     "type", "null", "maxItems", 3);
}

static const wire_type joint_limits = {decode_limits, encode_limits, schema_limits};

/* ---- motors -------------------------------------------------------------------------------- */

/* Of the first coordinate alone, or a list with one or null for each coordinate. */
DECODE(decode_motors)
{
    gw_scene_joint *j = owner;
    if (json_is_object(value)) {
        j->has_motor[0] = true;
        return wire_decode_at(&wire_table_motor, value, at, &j->motor[0], error);
    }
    if (!json_is_array(value))
        return wire_refuse(at, error, "must be a motor, or a list of one or null a coordinate");
    if (!check_count(value, at, owner, "motors, or null where there is none", error))
        return false;
    for (int i = 0; i < dof_of(j); i++) {
        const json_t *one = json_array_get(value, (size_t)i);
        const wire_path entry = {.parent = at, .index = (size_t)i};
        j->has_motor[i] = !json_is_null(one);
        if (j->has_motor[i] && !wire_decode_at(&wire_table_motor, one, &entry, &j->motor[i], error))
            return false;
    }
    return true;
}

ENCODE(encode_motors)
{
    const gw_scene_joint *j = owner;
    if (gw_scene_only_first_motor(j))
        return wire_encode(&wire_table_motor, &j->motor[0], context);
    json_t *list = json_array();
    for (int i = 0; list && i < dof_of(j); i++)
        list = wire_append(list, j->has_motor[i]
                                     ? wire_encode(&wire_table_motor, &j->motor[i], context)
                                     : json_null());
    return list;
}

SCHEMA(schema_motors)
{
    return json_pack("{s[o{ss s{s[o{ss}]} si}]}", "anyOf", wire_schema_ref("Motor"), "type",
                     "array", "items", "anyOf", wire_schema_ref("Motor"), "type", "null",
                     "maxItems", 3);
}

static const wire_type joint_motors = {decode_motors, encode_motors, schema_motors};

WHEN(has_motors, gw_scene_joint, it->has_motor[0] || it->has_motor[1] || it->has_motor[2])

static bool any_nonzero(const double values[6])
{
    for (int i = 0; i < 6; i++)
        if (values[i] != 0)
            return true;
    return false;
}

WHEN(has_limits, gw_scene_joint,
     it->limited[0] || it->limited[1] || it->limited[2] || it->limited[3] || it->limited[4] ||
         it->limited[5])
WHEN(has_spring, gw_scene_joint, any_nonzero(it->stiffness) || any_nonzero(it->rest))

#define COORDINATES(member) &coordinates, AT(gw_scene_joint, member)

static const wire_field of_joint_spring[] = {
    {"stiffness", COORDINATES(stiffness), LOW(0), .unit = "N/m, N m/rad"},
    {"rest", COORDINATES(rest), .about = "where it pulls to", .unit = "m, rad"},
    {0}};
static const wire_table joint_spring = {.about = "Of each coordinate; 0 unless given.",
                                        .patch = {NULL, "Members of the spring."},
                                        .fields = of_joint_spring};

/* ---- joints -------------------------------------------------------------------------------- */

#define JOINT_FIELDS                                                                               \
    {"a", &joint_end, AT(gw_scene_joint, a), REQUIRED,                                             \
     .about = "what is placed; as object/feature a line is the axis, a plane's normal is, a "      \
              "point has the object's axes"},                                                      \
        {"b", &joint_end, AT(gw_scene_joint, b), REQUIRED, .about = "what it is placed against"},  \
        {"position", COORDINATES(position), HAS(gw_scene_joint, has_position), .unit = "m, rad",   \
         .about = "at tick 0, an entry a coordinate: cylindrical [slide, turn], universal "        \
                  "[about b's y, about a's x], planar [x, y, turn], spherical a rotation vector; " \
                  "where the objects' poses have it unless given"},                                \
        {"velocity", COORDINATES(velocity), HAS(gw_scene_joint, has_velocity),                     \
         .unit = "m/s, rad/s", .about = "at tick 0; that of the objects unless given"},            \
        {"limits", &joint_limits, .when = has_limits, .unit = "m, rad",                            \
         .about =                                                                                  \
             "[lower, upper] of each coordinate, null where it has none; of spherical [0, swing "  \
             "of a's z from b's], [0, whole rotation], null"},                                     \
        {"restitution", NUMBER,      AT(gw_scene_joint, restitution),                              \
         OMITTED,       RANGE(0, 1), .about = "at its limits; 0 unless given"},                    \
        {"damping", COORDINATES(damping), OMITTED, LOW(0), .unit = "N s/m, N m s/rad"},            \
        {"friction", COORDINATES(friction), OMITTED,                                               \
         LOW(0),     .unit = "N, N m",      .about = "Coulomb's"},                                 \
        {"spring", OBJECT, .when = has_spring, .table = &joint_spring},                            \
        {"motor", &joint_motors, .when = has_motors, .table = &wire_table_motor,                   \
         .about = "of the first coordinate, or a list with one or null for each; of spherical "    \
                  "about the axes of b, the targets a rotation vector"},                           \
    {                                                                                              \
        "collide", BOOLEAN, AT(gw_scene_joint, collide), OMITTED,                                  \
            .about = "what it joins may collide where contact is enabled; false unless given"      \
    }

static const wire_field of_plain[] = {JOINT_FIELDS, {0}};
static const wire_table plain = {
    .about = "Places a against b, their frames aligned but for the type's coordinates.",
    .fields = of_plain};

static const wire_field of_screw[] = {
    JOINT_FIELDS,
    {"pitch", NUMBER, AT(gw_scene_joint, pitch), REQUIRED, .about = "not 0", .unit = "m/rad"},
    {0}};
static const wire_table screw = {.about = "Turns about its axis and slides by the pitch.",
                                 .fields = of_screw};

static const wire_field geared = {"joints", STRING, .size = sizeof((gw_scene_joint *)0)->joints[0],
                                  .must =
                                      "must be the id of a joint, or a link as mechanism.number"};
static const wire_field chosen = {"coordinates", WHOLE, .size = sizeof(int), RANGE(0, 5),
                                  .must = "must be the number of a coordinate, from 0"};

WHEN(is_chosen, gw_scene_joint, it->coordinates[0] >= 0 && it->coordinates[1] >= 0)

static const wire_field of_gear[] = {
    {"joints", PAIR, AT(gw_scene_joint, joints), REQUIRED, .item = &geared,
     .stride = sizeof((gw_scene_joint *)0)->joints[0],
     .must = "must be two names, of joints or of links as mechanism.number",
     .about = "ids of joints, or links as mechanism.number for the joints that move them"},
    {"ratio", NUMBER, AT(gw_scene_joint, ratio), REQUIRED,
     .about = "position of the first = ratio times that of the second plus a constant from the "
              "start; not 0"},
    {"coordinates", PAIR, AT(gw_scene_joint, coordinates), .when = is_chosen, .item = &chosen,
     .stride = sizeof(int), .must = "must be two numbers of coordinates, from 0",
     .about = "which of each joint; the only one, or the only turn, unless given"},
    {0}};
static const wire_table gear = {.about = "Joins the positions of two joints.", .fields = of_gear};

/* ---- where a joint is ---------------------------------------------------------------------- */

static const wire_field a_number = {"number", NUMBER};
static const wire_field of_state[] = {
    {"position", LIST, .item = &a_number, .most = 3, .unit = "m, rad; turns count on beyond pi"},
    {"velocity", LIST, .item = &a_number, .most = 3, .unit = "m/s, rad/s"},
    {"force", LIST, .item = &a_number, .most = 3, .unit = "N",
     .about = "of b on a, motor, spring, damper and limits included, world axes; of what is "
              "redundant the smallest"},
    {"torque", LIST, .item = &a_number, .most = 3, .unit = "N m",
     .about = "the same about the origin of a's frame"},
    {0}};
static const wire_table scene_joint_state_table = {
    .name = "SceneJointState", .about = "Now; read only.", .fields = of_state, .answered = true};

json_t *wire_scene_joint_state(const gw_scene *scene, int index, const gw_snapshot *s)
{
    assert(scene && s && index >= 0 && index < scene->joint_count);
    const wire_context context = {.clamp = true};
    bool live = s->coordinate_count == gw_scene_first_coordinate(scene, scene->joint_count) &&
                s->scene_joint_count == scene->joint_count;
    if (!live || scene->joints[index].gear || !scene->joints[index].enabled)
        return NULL;
    int first = gw_scene_first_coordinate(scene, index), dof = dof_of(&scene->joints[index]);
    const gw_wrench *w = &s->joint_wrenches[index];
    return json_pack("{so so so so}", "position",
                     wire_numbers(s->coordinates + first, dof, &context), "velocity",
                     wire_numbers(s->rates + first, dof, &context), "force",
                     wire_numbers((const double[]){w->f.x, w->f.y, w->f.z}, 3, &context), "torque",
                     wire_numbers((const double[]){w->t.x, w->t.y, w->t.z}, 3, &context));
}

/* ---- the union ----------------------------------------------------------------------------- */

static const wire_table *const joint_kinds[] = {[GW_MOBILIZER_SCREW] = &screw, [GEAR] = &gear};

INITIAL(no_joint, gw_scene_joint,
        (gw_scene_joint){.a.at = gw_pose_identity(),
                         .b.at = gw_pose_identity(),
                         .coordinates = {-1, -1},
                         .enabled = true})

HOOK(gear_kind)
{
    gw_scene_joint *j = owner;
    j->gear = j->type == GEAR;
    return true;
}

static const wire_field of_scene_joint[] = {
    {"type", CHOICE, AT(gw_scene_joint, type), REQUIRED, .name_of = joint_type},
    {"id", ID, AT(gw_scene_joint, id),
     .must = "id: must match [A-Za-z0-9_.:+-]{1,64}, or be left out"},
    {"enabled", BOOLEAN, AT(gw_scene_joint, enabled)},
    {"state", OBJECT, .flags = READ_ONLY | SENT_BACK | SOMETIMES,
     .table = &scene_joint_state_table},
    {0}};
const wire_table wire_table_joint = {
    .name = "SceneJoint",
    .about =
        "A relation with coordinates between two objects, links of mechanisms or the world, or "
        "a gear between two such. An id left out is made.",
    .read = {"SceneJointRead", "A joint, with its state where it is of bodies that move."},
    .patch = {"SceneJointPatch", "Merge patch of a joint; another type drops the numbers of the "
                                 "coordinates. Another id renames it."},
    .fields = of_scene_joint,
    .size = sizeof(gw_scene_joint),
    .initial = no_joint,
    .after = gear_kind,
    .of_kind = joint_kinds,
    .other = &plain};

CODEC(joint, gw_scene_joint)

/* ---- springs ------------------------------------------------------------------------------- */

INITIAL(no_spring_end, gw_spring_end, (gw_spring_end){0})

static const wire_field of_spring_end[] = {
    {"object", BODY(gw_spring_end)},
    {"p", VEC3, AT(gw_spring_end, p), .about = "in its axes", .unit = "m"},
    {0}};
static const wire_table spring_end_table = {
    .name = "SpringEnd",
    .about = "A point of an object, a link (mechanism.number) or the world (\"world\", where no "
             "object is called so).",
    .patch = {NULL, "Members of the end."},
    .fields = of_spring_end,
    .size = sizeof(gw_spring_end),
    .initial = no_spring_end};

INITIAL(no_spring, gw_scene_spring, (gw_scene_spring){.enabled = true})

static const wire_field of_spring[] = {
    {"id", ID, AT(gw_scene_spring, id),
     .must = "id: must match [A-Za-z0-9_.:+-]{1,64}, or be left out"},
    {"a", OBJECT, AT(gw_scene_spring, a), REQUIRED, .table = &spring_end_table},
    {"b", OBJECT, AT(gw_scene_spring, b), REQUIRED, .table = &spring_end_table},
    {"stiffness", NUMBER, AT(gw_scene_spring, stiffness), LOW(0), .unit = "N/m"},
    {"damping", NUMBER, AT(gw_scene_spring, damping), LOW(0), .unit = "N s/m"},
    {"length", NUMBER, AT(gw_scene_spring, length), LOW(0), .about = "at rest", .unit = "m"},
    {"enabled", BOOLEAN, AT(gw_scene_spring, enabled)},
    {0}};
const wire_table wire_table_spring = {
    .name = "SceneSpring",
    .about = "A spring with a damper along the line between two points. An id left out is made.",
    .patch = {"SceneSpringPatch", "Merge patch of a spring. Another id renames it."},
    .fields = of_spring,
    .size = sizeof(gw_scene_spring),
    .initial = no_spring};

CODEC(spring, gw_scene_spring)
