/*
 * Mechanisms: links, joints and motors.
 *
 * gw_mechanism stores the links' members in arrays. The tables work on a row with the members of
 * one link, which is gathered before encoding and scattered after decoding.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/field.h"

#define DENSITY 1000 /* kg/m^3, of a link that states a geometry and no mass */

/* Types of a link's joint in JSON: the kinds of one coordinate, then these. */
enum { PLANAR = GW_JOINT_KIND_COUNT, SPHERICAL, FLOATING, JOINT_TYPES };

#define BEFORE (-2) /* the parent is the link before */

typedef struct link_row {
    gw_link_def link;
    gw_link_geometry geometry;
    double position, velocity;
    int type, parent, index;
} link_row;

static const char *link_joint_type(int type)
{
    static const char *const several[] = {"planar", "spherical", "floating"};
    if (type >= JOINT_TYPES)
        return NULL;
    return type < GW_JOINT_KIND_COUNT ? gw_joint_kind_names[type]
                                      : several[type - GW_JOINT_KIND_COUNT];
}

static const gw_mobilizer several_of[JOINT_TYPES] = {
    [PLANAR] = GW_MOBILIZER_PLANAR,
    [SPHERICAL] = GW_MOBILIZER_SPHERICAL,
    [FLOATING] = GW_MOBILIZER_FREE}; /* GW_MOBILIZER_FIXED, 0: a joint of one coordinate */

static int type_of(const gw_mechanism *m, int link)
{
    for (int type = PLANAR; type < JOINT_TYPES; type++)
        if (m->several[link] == several_of[type])
            return type;
    return (int)m->links[link].kind;
}

/* ---- joints -------------------------------------------------------------------------------- */

INITIAL(no_motor, gw_motor, (gw_motor){0})

static const wire_field of_motor[] = {
    {"torque", NUMBER, AT(gw_motor, torque), .unit = "N m or N"},
    {"target", NUMBER, AT(gw_motor, target), .unit = "rad or m"},
    {"stiffness", NUMBER, AT(gw_motor, stiffness), .unit = "N m/rad or N/m"},
    {"rate", NUMBER, AT(gw_motor, rate), .unit = "rad/s or m/s"},
    {"damping", NUMBER, AT(gw_motor, damping), .unit = "N m s/rad or N s/m"},
    {"max", NUMBER, AT(gw_motor, max), .unit = "N m or N, either way; 0: unlimited"},
    {"speed", NUMBER, AT(gw_motor, speed),
     .unit = "rad/s or m/s that it drives at, at most; what moves faster is not held back; 0: "
             "unlimited"},
    {0}};
const wire_table wire_table_motor = {
    .name = "Motor",
    .about = "torque + stiffness (target - q) + damping (rate - v), at most max either way; what "
             "would speed the joint up fades out over the last tenth before speed; 0 unless given.",
    .patch = {NULL, "Members of the motor."},
    .fields = of_motor,
    .size = sizeof(gw_motor),
    .initial = no_motor};

CODEC(motor, gw_motor)

static const wire_field of_limits[] = {
    {"lower", NUMBER, AT(gw_link_def, lower), REQUIRED, .unit = "rad or m"},
    {"upper", NUMBER, AT(gw_link_def, upper), REQUIRED, .unit = "rad or m"},
    {0}};
static const wire_table joint_limits_table = {
    .name = "JointLimits", .patch = {NULL, "Members of the limits."}, .fields = of_limits};

INITIAL(no_link, link_row,
        (link_row){
            .link = {.parent_from_joint = gw_pose_identity(), .axis = {0, 0, 1}},
            .geometry = {.pose = gw_pose_identity()},
            .parent = BEFORE,
        })

static const wire_field of_joint[] = {
    {"type", CHOICE, AT(link_row, type), REQUIRED, .name_of = link_joint_type,
     .about = "planar, spherical and floating ones begin at their origin"},
    {"origin", OBJECT, AT(link_row, link.parent_from_joint), .table = &wire_table_pose,
     .about = "of the link's frame at position 0, in its parent's"},
    {"axis", DIRECTION, AT(link_row, link.axis),
     .about = "in the link's frame; z unless given; the normal of a planar one"},
    {"position", NUMBER, AT(link_row, position), .about = "at tick 0", .unit = "rad or m"},
    {"velocity", NUMBER, AT(link_row, velocity), .about = "at tick 0", .unit = "rad/s or m/s"},
    {"damping", NUMBER, AT(link_row, link.damping), .unit = "N m s/rad or N s/m"},
    {"friction", NUMBER, AT(link_row, link.friction), OMITTED, LOW(0), .unit = "N m or N",
     .about = "Coulomb's: what it holds before it slips, and takes while it slides"},
    {"limits", OBJECT, AT(link_row, link), HAS(link_row, link.limited),
     .table = &joint_limits_table},
    {"restitution", NUMBER, AT(link_row, link.restitution), OMITTED, RANGE(0, 1),
     .about = "at its limits; 0 unless given"},
    {"motor", OBJECT, AT(link_row, link.motor), OMITTED, .table = &wire_table_motor},
    {0}};
static const wire_table link_joint_table = {
    .name = "Joint", .patch = {"JointPatch", NULL}, .fields = of_joint, .size = sizeof(link_row)};

/* ---- links --------------------------------------------------------------------------------- */

DECODE(decode_tensor)
{
    double t[6];
    gw_mass *m = &((link_row *)owner)->link.mass;
    if (!wire_get_numbers(value, at, 6, t, error))
        return false;
    m->inertia = (gw_mat3){{{t[0], t[3], t[4]}, {t[3], t[1], t[5]}, {t[4], t[5], t[2]}}};
    return true;
}

ENCODE(encode_tensor)
{
    const double(*t)[3] = ((const link_row *)owner)->link.mass.inertia.m;
    return wire_numbers((const double[]){t[0][0], t[1][1], t[2][2], t[0][1], t[0][2], t[1][2]}, 6,
                        context);
}

static const wire_type tensor = {decode_tensor, encode_tensor, wire_schema_numbers};

/* Refuses an empty name: the member may be left out instead. */
static bool is_stated(const json_t *value, const wire_path *at, const char *name, gw_error *error)
{
    const json_t *given = json_object_get(value, name);
    return !given || json_string_length(given) > 0 ||
           wire_refuse(&(wire_path){.parent = at, .name = name}, error,
                       "\"\" must be 1 to 64 of the characters A-Z a-z 0-9 _ . : + -");
}

static bool missing_member(const json_t *value, const wire_path *at, const char *name,
                           gw_error *error)
{
    return !json_object_get(value, name) &&
           !wire_refuse(&(wire_path){.parent = at, .name = name}, error, "%s: is missing", name);
}

/* Completes the mass properties of a link with a geometry: a missing inertia is the geometry's,
 * scaled to the link's mass; a missing centre of mass is then the geometry's, or with a stated
 * inertia the link's origin. */
HOOK(complete_mass)
{
    link_row *row = owner;
    gw_mass *m = &row->link.mass, stated = *m;
    bool inertia = json_object_get(value, "inertia") != NULL;
    if (!is_stated(value, at, "id", error) || !is_stated(value, at, "material", error))
        return false;
    row->geometry.has_geometry = json_object_get(value, "geometry") != NULL;
    if (!row->geometry.has_geometry)
        return !missing_member(value, at, "mass", error) &&
               !missing_member(value, at, "inertia", error);
    *m = gw_placed_mass(&row->geometry.shape, &row->geometry.pose, DENSITY);
    double whole = m->mass;
    if (json_object_get(value, "mass"))
        m->mass = stated.mass;
    for (int i = 0; i < 9; i++)
        m->inertia.m[i / 3][i % 3] *= m->mass / whole;
    if (inertia)
        m->inertia = stated.inertia;
    if (inertia || json_object_get(value, "com"))
        m->com = stated.com; /* zero where not stated */
    return true;
}

WHEN(hangs_elsewhere, link_row, it->parent != it->index - 1)
WHEN(is_shown, link_row, it->geometry.has_geometry || it->geometry.mesh[0])
WHEN(has_geometry, link_row, it->geometry.has_geometry)

FINISH(finish_row, link_row, gw_shape_finish(&it->geometry.shape))

static const wire_field of_link[] = {
    {"id", ID, AT(link_row, geometry.id), OMITTED,
     .about = "a label; messages name a link mechanism.number"},
    {"parent", WHOLE, AT(link_row, parent), RANGE(-1, GW_MAX_LINKS - 2), .when = hangs_elsewhere,
     .about = "number of the link that it hangs on, -1 the base; the one before it unless given"},
    {"joint", OBJECT, .flags = REQUIRED, .table = &link_joint_table},
    {"mass", NUMBER, AT(link_row, link.mass.mass), SOMETIMES,
     .unit = "kg; that of the geometry at 1000 kg/m3 unless given"},
    {"com", VEC3, AT(link_row, link.mass.com), SOMETIMES,
     .about = "centre of mass in the link's axes", .unit = "m"},
    {"inertia", &tensor, .most = 6, .unit = "kg m2",
     .about = "ixx iyy izz ixy ixz iyz, entries of the tensor about the centre of mass; the "
              "geometry's unless given"},
    {"geometry", OBJECT, AT(link_row, geometry.shape), .when = has_geometry,
     .table = &wire_table_shape},
    {"geometry_at", OBJECT, AT(link_row, geometry.pose), .when = is_shown,
     .table = &wire_table_pose},
    {"mesh", STRING, AT(link_row, geometry.mesh), OMITTED,
     .about = "name of a mesh file that the page shows"},
    {"material", ID, AT(link_row, geometry.material), OMITTED},
    {0}};
static const wire_table link_table = {
    .name = "Link",
    .about = "A link and the joint that moves it against the one that it hangs on.",
    .patch = {"LinkPatch", "Merge patch of a link."},
    .fields = of_link,
    .size = sizeof(link_row),
    .initial = no_link,
    .after = complete_mass,
    .finish = finish_row};

static bool get_link(const json_t *value, const wire_path *at, gw_mechanism *m, int index,
                     gw_error *error)
{
    link_row row;
    gw_shape_finish(&m->geometries[index].shape);
    m->geometries[index].shape = (gw_shape){0};
    if (!wire_decode_at(&link_table, value, at, &row, error))
        return false;
    m->links[index] = row.link;
    m->links[index].kind =
        row.type < GW_JOINT_KIND_COUNT ? (gw_joint_kind)row.type : GW_JOINT_REVOLUTE;
    m->several[index] = several_of[row.type];
    m->parent[index] = row.parent == BEFORE ? index - 1 : row.parent;
    m->geometries[index] = row.geometry;
    m->position[index] = row.position;
    m->velocity[index] = row.velocity;
    return true;
}

bool wire_get_link(const json_t *value, const char *at, gw_mechanism *m, int index, gw_error *error)
{
    return get_link(value, &(wire_path){.name = at}, m, index, error);
}

json_t *wire_link(const gw_mechanism *m, int index)
{
    assert(m && index >= 0 && index < m->link_count);
    const link_row row = {.link = m->links[index],
                          .geometry = m->geometries[index],
                          .position = m->position[index],
                          .velocity = m->velocity[index],
                          .type = type_of(m, index),
                          .parent = m->parent[index],
                          .index = index};
    return wire_encode(&link_table, &row, NULL);
}

/* ---- mechanisms ---------------------------------------------------------------------------- */

DECODE(decode_links)
{
    gw_mechanism *m = owner;
    size_t count = json_array_size(value);
    char where[WIRE_POINTER];
    if (!json_is_array(value))
        return wire_refuse(at, error, "%s: must be an array", f->name);
    wire_path_text(at, where);
    if (count > f->most)
        return gw_fail(error, GW_TOO_LARGE, where, "%s: %zu entries, at most %zu are taken",
                       f->name, count, f->most);
    if (!gw_mechanism_resize(m, (int)count))
        return gw_fail(error, GW_FAILED, "", "no memory for a mechanism");
    for (size_t i = 0; i < count; i++)
        if (!get_link(json_array_get(value, i), &(wire_path){.parent = at, .index = i}, m, (int)i,
                      error))
            return false;
    return true;
}

ENCODE(encode_links)
{
    const gw_mechanism *m = owner;
    json_t *links = json_array();
    for (int i = 0; links && i < m->link_count; i++)
        links = wire_append(links, wire_link(m, i));
    return links;
}

static const wire_type links = {decode_links, encode_links, wire_schema_list};

/* ---- gears --------------------------------------------------------------------------------- */

static const wire_field geared = {"joints", WHOLE, .size = sizeof(int), RANGE(0, GW_MAX_LINKS - 1)};

static const wire_field of_gear[] = {
    {"joints", PAIR, AT(gw_link_gear, links), REQUIRED, .item = &geared, .stride = sizeof(int),
     .must = "must be the numbers of two links, whose joints it joins",
     .about = "numbers of links"},
    {"ratio", NUMBER, AT(gw_link_gear, ratio), REQUIRED,
     .about = "position of the first = ratio times that of the second plus a constant; not 0"},
    {0}};
static const wire_table link_gear = {.fields = of_gear};

/* Checks that the links of gears exist. */
HOOK(check_gears)
{
    const gw_mechanism *m = owner;
    const wire_path list = {.parent = at, .name = "gears"};
    for (int i = 0; i < m->gear_count; i++)
        for (size_t side = 0; side < 2; side++) {
            const wire_path gear = {.parent = &list, .index = (size_t)i},
                            joints = {.parent = &gear, .name = "joints"};
            if (m->gears[i].links[side] >= m->link_count)
                return wire_refuse(&(wire_path){.parent = &joints, .index = side}, error,
                                   "is %d, there are links 0 to %d", m->gears[i].links[side],
                                   m->link_count - 1);
        }
    return true;
}

bool wire_take_gears(gw_scene *scene, gw_error *error)
{
    for (int i = 0; i < scene->mechanism_count; i++) {
        gw_mechanism *m = &scene->mechanisms[i];
        for (int k = 0; k < m->gear_count; k++) {
            char id[GW_MAX_ID + 1]; /* made before the new joint exists */
            wire_make_id(scene, gw_scene_joint_index, 'j', id);
            gw_scene_joint *joint = gw_scene_add_joint(scene, error);
            if (!joint)
                return false;
            memcpy(joint->id, id, sizeof id);
            joint->gear = true;
            joint->type = GW_MOBILIZER_FREE;
            joint->ratio = m->gears[k].ratio;
            gw_link_name(m, m->gears[k].links[0], joint->joints[0]);
            gw_link_name(m, m->gears[k].links[1], joint->joints[1]);
        }
        free(m->gears);
        m->gears = NULL;
        m->gear_count = 0;
    }
    return true;
}

/* ---- state --------------------------------------------------------------------------------- */

static const wire_field a_number = {"number", NUMBER};
static const wire_field of_joints[] = {
    {"positions", LIST, .item = &a_number, .most = GW_MAX_LINKS, .unit = "rad or m"},
    {"velocities", LIST, .item = &a_number, .most = GW_MAX_LINKS, .unit = "rad/s or m/s"},
    {0}};
static const wire_table joints_table = {.name = "JointsState",
                                        .about = "The joints now; read only.",
                                        .fields = of_joints,
                                        .answered = true};

INITIAL(no_mechanism, gw_mechanism, (gw_mechanism){.base = gw_pose_identity()})
FINISH(finish_mechanism, gw_mechanism, gw_mechanism_finish(it))

static const wire_field of_mechanism[] = {
    {"id", ID, AT(gw_mechanism, id), REQUIRED},
    {"base", OBJECT, AT(gw_mechanism, base), .table = &wire_table_pose, .about = "in the world"},
    {"links", &links, .flags = REQUIRED, .table = &link_table, .least = 1, .most = GW_MAX_LINKS},
    {"tip", WHOLE, AT(gw_mechanism, tip), HAS(gw_mechanism, has_tip), RANGE(0, GW_MAX_LINKS - 1),
     .about = "the link that a tool holds which names none"},
    {"gears", LIST, AT(gw_mechanism, gears), OMITTED, .table = &link_gear,
     COUNTED(gw_mechanism, gear_count, gw_link_gear), .most = GW_MAX_LINKS,
     .about = "taken over by the scene, as gears among its joints"},
    {"state", OBJECT, .flags = READ_ONLY | SENT_BACK, .table = &joints_table},
    {0}};
const wire_table wire_table_mechanism = {
    .name = "Mechanism",
    .about = "A tree of links, fixed to the world at its base.",
    .read = {"MechanismRead", NULL},
    .given = {"MechanismGiven", "A mechanism; the state is not looked at."},
    .patch = {"MechanismPatch", "Merge patch of a mechanism; links are replaced whole. Another id "
                                "renames it."},
    .fields = of_mechanism,
    .size = sizeof(gw_mechanism),
    .initial = no_mechanism,
    .after = check_gears,
    .finish = finish_mechanism};

CODEC(mechanism, gw_mechanism)
