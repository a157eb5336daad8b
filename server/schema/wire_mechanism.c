/*
 * Mechanisms, their links, joints and motors as JSON, both ways. Any server thread; no state.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/schema/wire_base.h"

#define DENSITY 1000 /* kg/m^3, of a link with a geometry and nothing said about its mass */

static const char *const joint_types[] = {"revolute", "prismatic", NULL};

/* ---- joints -------------------------------------------------------------------------------- */

static bool get_limits(const json_t *joint, const char *at, gw_chain_link *l, gw_error *error)
{
    static const char *const allowed[] = {"lower", "upper", NULL};
    const json_t *limits = json_object_get(joint, "limits");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "limits");
    l->limited = limits != NULL;
    return !limits || (wire_open(limits, where, allowed, error) &&
                       wire_number(limits, where, "lower", WIRE_REQUIRED, &l->lower, error) &&
                       wire_number(limits, where, "upper", WIRE_REQUIRED, &l->upper, error));
}

bool wire_get_motor(const json_t *v, const char *at, gw_motor *m, gw_error *error)
{
    static const char *const allowed[] = {"torque",  "target", "stiffness", "rate",
                                          "damping", "max",    "speed",     NULL};
    *m = (gw_motor){0};
    return wire_open(v, at, allowed, error) &&
           wire_number(v, at, "torque", WIRE_OPTIONAL, &m->torque, error) &&
           wire_number(v, at, "target", WIRE_OPTIONAL, &m->target, error) &&
           wire_number(v, at, "stiffness", WIRE_OPTIONAL, &m->stiffness, error) &&
           wire_number(v, at, "rate", WIRE_OPTIONAL, &m->rate, error) &&
           wire_number(v, at, "damping", WIRE_OPTIONAL, &m->damping, error) &&
           wire_number(v, at, "max", WIRE_OPTIONAL, &m->max, error) &&
           wire_number(v, at, "speed", WIRE_OPTIONAL, &m->speed, error);
}

static bool get_joint(const json_t *v, const char *at, gw_mechanism *m, int index, gw_error *error)
{
    static const char *const allowed[] = {"type",    "origin",   "axis",   "position", "velocity",
                                          "damping", "friction", "limits", "motor",    NULL};
    gw_chain_link *l = &m->links[index];
    const json_t *motor = json_object_get(v, "motor");
    char where[WIRE_POINTER];
    int kind = 0;
    wire_pointer(where, at, "motor");
    if (!wire_open(v, at, allowed, error) ||
        !wire_choice(v, at, "type", WIRE_REQUIRED, joint_types, &kind, error) ||
        !wire_pose_member(v, at, "origin", &l->parent_from_joint, error) ||
        !wire_direction_member(v, at, "axis", WIRE_OPTIONAL, &l->axis, error) ||
        !wire_number(v, at, "position", WIRE_OPTIONAL, &m->position[index], error) ||
        !wire_number(v, at, "velocity", WIRE_OPTIONAL, &m->velocity[index], error) ||
        !wire_number(v, at, "damping", WIRE_OPTIONAL, &l->damping, error) ||
        !wire_number(v, at, "friction", WIRE_OPTIONAL, &l->friction, error) ||
        !get_limits(v, at, l, error) || (motor && !wire_get_motor(motor, where, &l->motor, error)))
        return false;
    l->kind = (gw_joint_kind)kind;
    return true;
}

/* ---- links --------------------------------------------------------------------------------- */

/* An inertia that is not stated is the geometry's, as heavy as the link; a centre of mass that is
 * not stated is then the geometry's too, and else the link's origin. */
static bool get_mass(const json_t *v, const char *at, const gw_link_geometry *look, gw_mass *m,
                     gw_error *error)
{
    const json_t *inertia = json_object_get(v, "inertia");
    wire_need need = look->has_geometry ? WIRE_OPTIONAL : WIRE_REQUIRED;
    const json_t *mass;
    double t[6];
    char where[WIRE_POINTER];
    wire_pointer(where, at, "inertia");
    if (!wire_member(v, at, "mass", need, &mass, error) ||
        !wire_member(v, at, "inertia", need, &inertia, error))
        return false;
    *m = (gw_mass){0};
    if (look->has_geometry)
        *m = gw_placed_mass(&look->shape, &look->pose, DENSITY);
    double whole = m->mass;
    if (!wire_number(v, at, "mass", need, &m->mass, error))
        return false;
    for (int i = 0; look->has_geometry && i < 9; i++)
        m->inertia.m[i / 3][i % 3] *= m->mass / whole;
    if (inertia) {
        if (!wire_numbers(inertia, where, 6, t, error))
            return false;
        m->inertia = (gw_mat3){{{t[0], t[3], t[4]}, {t[3], t[1], t[5]}, {t[4], t[5], t[2]}}};
        m->com = gw_v3(0, 0, 0);
    }
    return wire_vec3_member(v, at, "com", WIRE_OPTIONAL, &m->com, error);
}

/* An empty name is none that could be left out instead. */
static bool stated(const json_t *v, const char *at, const char *member, const char *name,
                   gw_error *error)
{
    char where[WIRE_POINTER];
    wire_pointer(where, at, member);
    return name[0] || !json_object_get(v, member) ||
           gw_fail(error, GW_BAD_INPUT, where,
                   "\"\" must be 1 to 64 of the characters A-Z a-z 0-9 _ . : + -");
}

static bool get_look(const json_t *v, const char *at, gw_link_geometry *look, gw_error *error)
{
    const json_t *geometry = json_object_get(v, "geometry");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "geometry");
    if (!wire_string(v, at, "id", WIRE_OPTIONAL, look->id, sizeof look->id, error) ||
        !wire_pose_member(v, at, "geometry_at", &look->pose, error) ||
        !wire_string(v, at, "mesh", WIRE_OPTIONAL, look->mesh, sizeof look->mesh, error) ||
        !wire_string(v, at, "material", WIRE_OPTIONAL, look->material, sizeof look->material,
                     error) ||
        !stated(v, at, "id", look->id, error) || !stated(v, at, "material", look->material, error))
        return false;
    look->has_geometry = geometry && wire_get_shape(geometry, where, &look->shape, error);
    return !geometry || look->has_geometry;
}

bool wire_get_link(const json_t *v, const char *at, gw_mechanism *m, int index, gw_error *error)
{
    static const char *const allowed[] = {"id",       "joint",       "mass", "com",      "inertia",
                                          "geometry", "geometry_at", "mesh", "material", NULL};
    gw_chain_link *link = &m->links[index];
    gw_link_geometry *look = &m->looks[index];
    const json_t *joint;
    char where[WIRE_POINTER];
    wire_pointer(where, at, "joint");
    gw_shape_finish(&look->shape);
    *look = (gw_link_geometry){.pose = gw_pose_identity()};
    *link = (gw_chain_link){.parent_from_joint = gw_pose_identity(), .axis = {0, 0, 1}};
    m->position[index] = m->velocity[index] = 0;
    return wire_open(v, at, allowed, error) &&
           wire_member(v, at, "joint", WIRE_REQUIRED, &joint, error) &&
           get_joint(joint, where, m, index, error) && get_look(v, at, look, error) &&
           get_mass(v, at, look, &link->mass, error);
}

bool wire_get_mechanism(const json_t *v, const char *at, gw_mechanism *m, gw_error *error)
{
    static const char *const allowed[] = {"id", "base", "links", NULL};
    const json_t *links;
    char list[WIRE_POINTER], where[WIRE_POINTER];
    *m = (gw_mechanism){.base = gw_pose_identity()};
    if (!wire_open(v, at, allowed, error) ||
        !wire_string(v, at, "id", WIRE_REQUIRED, m->id, sizeof m->id, error) ||
        !wire_pose_member(v, at, "base", &m->base, error) ||
        !wire_array(v, at, "links", WIRE_REQUIRED, GW_MAX_LINKS, &links, error))
        return false;
    size_t count = json_array_size(links);
    if (!gw_mechanism_resize(m, (int)count))
        return gw_fail(error, GW_FAILED, "", "no memory for a mechanism");
    wire_pointer(list, at, "links");
    for (size_t i = 0; i < count; i++) {
        wire_pointer_index(where, list, i);
        if (!wire_get_link(json_array_get(links, i), where, m, (int)i, error)) {
            gw_mechanism_finish(m);
            return false;
        }
    }
    return true;
}

/* ---- encoding ------------------------------------------------------------------------------ */

json_t *wire_motor(const gw_motor *m)
{
    return json_pack("{sf sf sf sf sf sf sf}", "torque", m->torque, "target", m->target,
                     "stiffness", m->stiffness, "rate", m->rate, "damping", m->damping, "max",
                     m->max, "speed", m->speed);
}

static bool has_motor(const gw_motor *m)
{
    return m->torque != 0 || m->target != 0 || m->stiffness != 0 || m->rate != 0 ||
           m->damping != 0 || m->max != 0 || m->speed != 0;
}

static json_t *joint_json(const gw_mechanism *m, int index)
{
    const gw_chain_link *l = &m->links[index];
    json_t *joint =
        json_pack("{ss so so sf sf sf}", "type", joint_types[l->kind], "origin",
                  wire_pose(&l->parent_from_joint), "axis", wire_vec3(l->axis), "position",
                  m->position[index], "velocity", m->velocity[index], "damping", l->damping);
    if (l->friction > 0)
        wire_add(joint, "friction", json_real(l->friction));
    if (l->limited)
        wire_add(joint, "limits", json_pack("{sf sf}", "lower", l->lower, "upper", l->upper));
    if (has_motor(&l->motor))
        wire_add(joint, "motor", wire_motor(&l->motor));
    return joint;
}

json_t *wire_link(const gw_mechanism *m, int index)
{
    const gw_mass *mass = &m->links[index].mass;
    const gw_link_geometry *look = &m->looks[index];
    const double(*t)[3] = mass->inertia.m;
    json_t *link = json_pack("{so sf so s[ffffff]}", "joint", joint_json(m, index), "mass",
                             mass->mass, "com", wire_vec3(mass->com), "inertia", t[0][0], t[1][1],
                             t[2][2], t[0][1], t[0][2], t[1][2]);
    if (look->id[0])
        wire_add(link, "id", json_string(look->id));
    if (look->has_geometry)
        wire_add(link, "geometry", wire_shape(&look->shape));
    if (look->has_geometry || look->mesh[0])
        wire_add(link, "geometry_at", wire_pose(&look->pose));
    if (look->mesh[0])
        wire_add(link, "mesh", json_string(look->mesh));
    if (look->material[0])
        wire_add(link, "material", json_string(look->material));
    return link;
}

json_t *wire_mechanism(const gw_mechanism *m)
{
    json_t *links = json_array();
    for (int i = 0; i < m->link_count; i++)
        json_array_append_new(links, wire_link(m, i));
    return json_pack("{ss so so}", "id", m->id, "base", wire_pose(&m->base), "links", links);
}
