/*
 * Objects: geometry, mass and initial velocity; poses and the other small shapes.
 */
#include <stdio.h>

#include "server/schema/field.h"

/* ---- poses --------------------------------------------------------------------------------- */

INITIAL(identity, gw_pose, gw_pose_identity())

static const wire_field of_pose[] = {{"p", VEC3, AT(gw_pose, p)}, {"q", QUAT, AT(gw_pose, q)}, {0}};
const wire_table wire_table_pose = {.name = "PoseGiven",
                                    .about = "A pose; a member left out is that of the identity.",
                                    .fields = of_pose,
                                    .size = sizeof(gw_pose),
                                    .initial = identity};
const wire_table wire_table_pose_read = {.name = "Pose",
                                         .about = "Position (m) and orientation of a frame.",
                                         .fields = of_pose,
                                         .answered = true};

static const wire_field of_twist[] = {
    {"v", VEC3, AT(gw_twist, v)}, {"w", VEC3, AT(gw_twist, w)}, {0}};
const wire_table wire_table_twist = {
    .name = "Twist",
    .about = "Velocity of a point (m/s) and angular velocity (rad/s), world axes.",
    .fields = of_twist,
    .answered = true};

static const wire_field of_wrench[] = {
    {"force", VEC3, AT(gw_wrench, f)}, {"torque", VEC3, AT(gw_wrench, t)}, {0}};
const wire_table wire_table_wrench = {
    .name = "Wrench",
    .about = "Force (N) and torque (N m) at the tool frame's origin, world axes.",
    .fields = of_wrench,
    .answered = true};

json_t *wire_vec3(gw_vec3 v)
{
    return wire_numbers((const double[]){v.x, v.y, v.z}, 3, NULL);
}

CODEC(pose, gw_pose)

/* ---- geometry ------------------------------------------------------------------------------ */

INITIAL(no_shape, gw_shape, (gw_shape){0})
FINISH(finish_shape, gw_shape, gw_shape_finish(it))

static const wire_field of_box[] = {
    {"size", VEC3, AT(gw_shape, size), REQUIRED, .about = "full lengths of the edges", .unit = "m"},
    {0}};
static const wire_field of_round[] = {{"radius", NUMBER, AT(gw_shape, radius), REQUIRED},
                                      {"height", NUMBER, AT(gw_shape, height), REQUIRED},
                                      {0}};
static const wire_field of_sphere[] = {{"radius", NUMBER, AT(gw_shape, radius), REQUIRED}, {0}};

/* A mesh is identified by its file and whether its convex hull is meant; it is looked up when both
 * are decoded. */
DECODE(check_file)
{
    char file[GW_MAX_ID + 1];
    const wire_field name = {.name = f->name, .size = sizeof file};
    return STRING->decode(&name, value, at, file, error);
}

ENCODE(encode_file)
{
    return json_string(((const gw_shape *)owner)->mesh->file);
}

DECODE(check_convex)
{
    bool convex;
    const wire_field plain = {.name = f->name};
    return BOOLEAN->decode(&plain, value, at, &convex, error);
}

ENCODE(encode_convex)
{
    return json_boolean(((const gw_shape *)owner)->mesh->convex);
}

static _Thread_local wire_mesh_finder *finder;
static _Thread_local void *finder_context;

void wire_use_meshes(wire_mesh_finder *find, void *context)
{
    finder = find;
    finder_context = context;
}

/* The mesh of that file, or its hull, found by this thread's finder (wire_use_meshes()). */
static gw_mesh *mesh_of_file(const char *file, bool convex, gw_error *error)
{
    if (finder)
        return finder(finder_context, file, convex, error);
    gw_fail(error, GW_NOT_FOUND, "", "there is no folder of meshes here, and no \"%.64s\"", file);
    return NULL;
}

HOOK(find_mesh)
{
    gw_shape *shape = owner;
    gw_error inner = {0};
    char where[WIRE_POINTER];
    wire_path_text(&(wire_path){.parent = at, .name = "file"}, where);
    shape->mesh = mesh_of_file(json_string_value(json_object_get(value, "file")),
                               json_is_true(json_object_get(value, "convex")), &inner);
    return shape->mesh || gw_fail(error, inner.code == GW_NOT_FOUND ? GW_BAD_INPUT : inner.code,
                                  where, "%s", inner.message);
}

static const wire_type mesh_file = {check_file, encode_file, wire_schema_string};
static const wire_type mesh_convex = {check_convex, encode_convex, wire_schema_boolean};

static const wire_field of_mesh[] = {
    {"file", &mesh_file, .flags = REQUIRED}, {"convex", &mesh_convex}, {0}};

static const char *const shape_types[] = {[GW_SHAPE_BOX] = "box",
                                          [GW_SHAPE_CYLINDER] = "cylinder",
                                          [GW_SHAPE_CONE] = "cone",
                                          [GW_SHAPE_SPHERE] = "sphere",
                                          [GW_SHAPE_COMPOUND] = "compound",
                                          [GW_SHAPE_CAPSULE] = "capsule",
                                          [GW_SHAPE_MESH] = "mesh",
                                          [GW_SHAPE_NURBS_CURVE] = "nurbs-curve",
                                          [GW_SHAPE_NURBS_SURFACE] = "nurbs-surface",
                                          NULL};

static const wire_table box = {.fields = of_box}, round_solid = {.fields = of_round},
                        sphere = {.fields = of_sphere};
static const wire_table mesh = {
    .about = "The triangles of a file beside the scene file or under /meshes, in metres. With "
             "convex its hull, which touches more quickly; without, the surface must be closed.",
    .fields = of_mesh,
    .after = find_mesh};

static const wire_field of_shape[] = {
    {"type", CHOICE, AT(gw_shape, kind), REQUIRED, .choices = shape_types}, {0}};
static const wire_table *const primitives[] = {
    [GW_SHAPE_BOX] = &box,          [GW_SHAPE_CYLINDER] = &round_solid,
    [GW_SHAPE_CONE] = &round_solid, [GW_SHAPE_SPHERE] = &sphere,
    [GW_SHAPE_COMPOUND] = NULL,     [GW_SHAPE_CAPSULE] = &round_solid,
    [GW_SHAPE_MESH] = &mesh,        [GW_SHAPE_NURBS_CURVE] = NULL,
    [GW_SHAPE_NURBS_SURFACE] = NULL};
static const wire_table primitive_table = {.name = "Primitive",
                                           .fields = of_shape,
                                           .size = sizeof(gw_shape),
                                           .initial = no_shape,
                                           .of_kind = primitives,
                                           .excluded = "a compound's part must be a primitive"};

static const wire_field of_part[] = {
    {"geometry", OBJECT, AT(gw_part, shape), REQUIRED, .table = &primitive_table},
    {"pose", OBJECT, AT(gw_part, pose), .table = &wire_table_pose},
    {0}};
INITIAL(no_part, gw_part, (gw_part){.pose = gw_pose_identity()})

static const wire_table part_table = {
    .name = "Part", .fields = of_part, .size = sizeof(gw_part), .initial = no_part};
static const wire_field of_compound[] = {
    {"parts", LIST, AT(gw_shape, parts), REQUIRED, .table = &part_table,
     COUNTED(gw_shape, part_count, gw_part), .most = GW_MAX_PARTS},
    {0}};
static const wire_table compound = {.fields = of_compound};

/* Checks the decoded solid: lengths above zero, number of parts within limits. */
HOOK(check_shape)
{
    gw_error found = {0};
    return gw_shape_check(owner, &found) || wire_refuse_within(at, &found, error);
}

static const wire_table *const shapes[] = {[GW_SHAPE_BOX] = &box,
                                           [GW_SHAPE_CYLINDER] = &round_solid,
                                           [GW_SHAPE_CONE] = &round_solid,
                                           [GW_SHAPE_SPHERE] = &sphere,
                                           [GW_SHAPE_COMPOUND] = &compound,
                                           [GW_SHAPE_CAPSULE] = &round_solid,
                                           [GW_SHAPE_MESH] = &mesh,
                                           [GW_SHAPE_NURBS_CURVE] = &wire_table_nurbs_curve,
                                           [GW_SHAPE_NURBS_SURFACE] = &wire_table_nurbs_surface};
const wire_table wire_table_shape = {
    .name = "Geometry",
    .about = "Boxes, cylinders, capsules and spheres are centred on their frame, axis along +z (a "
             "capsule's height is that of its cylindrical part); a cone's base disc is, its apex "
             "at z = height. Lengths in m.",
    .patch = {"GeometryPatch", "Members of the geometry; another type takes the place of all."},
    .fields = of_shape,
    .size = sizeof(gw_shape),
    .initial = no_shape,
    .after = check_shape,
    .finish = finish_shape,
    .of_kind = shapes};

/* ---- body ---------------------------------------------------------------------------------- */

static const wire_field of_velocity[] = {
    {"v", VEC3, AT(gw_object, velocity)}, {"w", VEC3, AT(gw_object, spin)}, {0}};
static const wire_table velocity_table = {
    .name = "Velocity",
    .about = "Initial velocity of the frame's origin (m/s) and angular velocity (rad/s), world "
             "axes; a fixed object has none.",
    .fields = of_velocity};

static const wire_field of_damping[] = {
    {"linear", NUMBER, AT(gw_object, body.damping_linear), .unit = "N s/m"},
    {"angular", NUMBER, AT(gw_object, body.damping_angular), .unit = "N m s/rad"},
    {0}};
static const wire_table damping_table = {
    .name = "Damping", .about = "At the tool frame.", .fields = of_damping};

DECODE(decode_inertia)
{
    double *inertia = ((gw_object *)owner)->body.inertia;
    if (!json_is_array(value) || json_array_size(value) != 6)
        return wire_refuse(at, error, "must be six numbers [ixx,iyy,izz,ixy,ixz,iyz] (kg m2)");
    for (size_t i = 0; i < 6; i++) {
        const json_t *n = json_array_get(value, i);
        if (!json_is_number(n))
            return wire_refuse(at, error, "must be six numbers (kg m2)");
        inertia[i] = json_number_value(n);
    }
    return true;
}

ENCODE(encode_inertia)
{
    return NUMBERS->encode(f, owner, context);
}

static const wire_type body_inertia = {decode_inertia, encode_inertia, wire_schema_numbers};

WHEN(by_mass, gw_object, it->body.source == GW_MASS_GIVEN)
WHEN(by_density, void, !by_mass(owner, context))

WHEN(never, void, false)

HOOK(choose_mass)
{
    bool mass = json_object_get(value, "mass"), density = json_object_get(value, "density");
    if (mass && density)
        return wire_refuse(at, error, "takes \"mass\" or \"density\", not both");
    ((gw_object *)owner)->body.source = mass ? GW_MASS_GIVEN : GW_MASS_BY_DENSITY;
    return true;
}

static const wire_field of_body[] = {
    {"mass", NUMBER, AT(gw_object, body.mass), .when = by_mass, .unit = "kg; instead of a density"},
    {"density", NUMBER, AT(gw_object, body.density), .when = by_density,
     .unit = "kg/m3; 1000 unless given"},
    {"com", VEC3, AT(gw_object, body.com), HAS(gw_object, body.has_com),
     .about = "centre of mass in body axes; the geometry's unless given, of a curve or surface the "
              "middle of its bounds along the axes",
     .unit = "m"},
    {"inertia", &body_inertia, AT(gw_object, body.inertia), .most = 6,
     HAS(gw_object, body.has_inertia), .unit = "kg m2",
     .about = "ixx iyy izz ixy ixz iyz, entries of the tensor about the centre of mass"},
    {"damping", OBJECT, .table = &damping_table},
    {"velocity", OBJECT, .table = &velocity_table,
     .when = never}, /* written as a member of the object */
    {0}};
static const wire_table body_table = {
    .name = "Body",
    .patch = {"BodyPatch", "Members of the body; a mass takes the place of a density and the other "
                           "way round."},
    .fields = of_body,
    .before = choose_mass,
    .in_order = true};

/* ---- objects ------------------------------------------------------------------------------- */

INITIAL(no_object, gw_object, (gw_object){.pose = gw_pose_identity(), .body = {.density = 1000}})
FINISH(finish_object, gw_object, gw_shape_finish(&it->shape))

/* A velocity in the body takes precedence over the object's. */
HOOK(take_velocity)
{
    const json_t *stated = json_object_get(json_object_get(value, "body"), "velocity");
    return !stated || wire_decode_at(&velocity_table, stated, at, owner, error);
}

static const wire_field of_object[] = {
    {"id", ID, AT(gw_object, id), REQUIRED},
    {"geometry", OBJECT, AT(gw_object, shape), REQUIRED, .table = &wire_table_shape},
    {"pose", OBJECT, AT(gw_object, pose), .table = &wire_table_pose},
    {"fixed", BOOLEAN, AT(gw_object, fixed)},
    {"free", BOOLEAN, AT(gw_object, free), OMITTED | LAST,
     .about = "a rigid body of the world, moved by its weight and what touches it along what its "
              "constraints to fixed objects leave; with other objects it has none"},
    {"massless", BOOLEAN, AT(gw_object, massless), OMITTED | LAST,
     .about = "what it is joined to carries it along and feels nothing of it"},
    {"body", OBJECT, .table = &body_table},
    {"velocity", OBJECT, .flags = OMITTED, .table = &velocity_table},
    {"material", ID, AT(gw_object, material), OMITTED | LAST},
    {0}};
const wire_table wire_table_object = {
    .name = "Object",
    .about = "A solid of the scene.",
    .patch = {"ObjectPatch", "Merge patch of an object. Another id renames it, with all "
                             "references."},
    .fields = of_object,
    .size = sizeof(gw_object),
    .initial = no_object,
    .after = take_velocity,
    .finish = finish_object};

CODEC(object, gw_object)

/* ---- meshes -------------------------------------------------------------------------------- */

/* The vertices' coordinates, and the triangles' corners, as flat arrays. */
ENCODE(encode_vertices)
{
    const gw_mesh *m = owner;
    return wire_numbers(&m->vertices->x, 3 * m->vertex_count, context);
}

ENCODE(encode_triangles)
{
    const gw_mesh *m = owner;
    json_t *list = json_array();
    for (int i = 0; list && i < 3 * m->triangle_count; i++)
        list = wire_append(list, json_integer(m->triangles[i / 3][i % 3]));
    return list;
}

static const wire_type mesh_vertices = {NULL, encode_vertices, wire_schema_list};
static const wire_type mesh_triangles = {NULL, encode_triangles, wire_schema_list};

static const wire_field a_number = {"number", NUMBER}, an_index = {"index", WHOLE};
static const wire_field of_triangles[] = {
    {"name", STRING, AT(gw_mesh, file)},
    {"vertices", &mesh_vertices, .item = &a_number, .about = "x, y, z of each", .unit = "m"},
    {"triangles", &mesh_triangles, .item = &an_index,
     .about = "three vertices of each, from 0, counter-clockwise from outside"},
    {0}};
const wire_table wire_table_mesh = {.name = "Mesh", .fields = of_triangles, .answered = true};

static const wire_field of_mesh_about[] = {
    {"name", STRING, AT(gw_mesh, file)},
    {"vertices", WHOLE, AT(gw_mesh, vertex_count)},
    {"triangles", WHOLE, AT(gw_mesh, triangle_count)},
    {"closed", BOOLEAN, AT(gw_mesh, closed)},
    {"low", VEC3, AT(gw_mesh, bounds.low)},
    {"high", VEC3, AT(gw_mesh, bounds.high)},
    {"volume", NUMBER, AT(gw_mesh, mass.mass), .about = "0 where it is not closed", .unit = "m3"},
    {0}};
const wire_table wire_table_mesh_about = {
    .name = "MeshAbout",
    .about = "What a mesh file holds. One that is not closed is no solid, only its hull is.",
    .fields = of_mesh_about,
    .answered = true};

ENCODER(mesh, gw_mesh)
ENCODER(mesh_about, gw_mesh)
