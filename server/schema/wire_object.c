/*
 * Decoding of objects: geometry, body, velocity. Any server thread; no state.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/schema/wire_base.h"

/* ---- geometry ------------------------------------------------------------------------------ */

static bool get_shape(const json_t *value, const char *at, bool whole, gw_shape *shape,
                      gw_error *error);

static bool get_part(const json_t *value, const char *at, gw_part *part, gw_error *error)
{
    static const char *const allowed[] = {"geometry", "pose", NULL};
    const json_t *geometry;
    part->pose = gw_pose_identity();
    if (!wire_open(value, at, allowed, error) ||
        !wire_member(value, at, "geometry", WIRE_REQUIRED, &geometry, error) ||
        !wire_pose_member(value, at, "pose", &part->pose, error))
        return false;
    char where[WIRE_POINTER];
    wire_pointer(where, at, "geometry");
    return get_shape(geometry, where, false, &part->shape, error);
}

static bool get_compound(const json_t *value, const char *at, gw_shape *shape, gw_error *error)
{
    static const char *const allowed[] = {"type", "parts", NULL};
    const json_t *parts;
    if (!wire_open(value, at, allowed, error) ||
        !wire_array(value, at, "parts", WIRE_REQUIRED, GW_MAX_PARTS, &parts, error))
        return false;
    size_t count = json_array_size(parts);
    shape->parts = calloc(count + 1, sizeof *shape->parts);
    if (!shape->parts)
        return gw_fail(error, GW_FAILED, at, "no memory for a compound's parts");
    shape->part_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        char list[WIRE_POINTER], where[WIRE_POINTER];
        wire_pointer(list, at, "parts");
        wire_pointer_index(where, list, i);
        if (!get_part(json_array_get(parts, i), where, &shape->parts[i], error)) {
            gw_shape_finish(shape);
            return false;
        }
    }
    return true;
}

static bool get_mesh(const json_t *value, const char *at, gw_shape *shape, gw_error *error)
{
    static const char *const allowed[] = {"type", "file", "convex", NULL};
    char file[GW_MAX_ID + 1], where[WIRE_POINTER];
    bool convex = false;
    if (!wire_open(value, at, allowed, error) ||
        !wire_string(value, at, "file", WIRE_REQUIRED, file, sizeof file, error) ||
        !wire_bool(value, at, "convex", &convex, error))
        return false;
    gw_error inner = {0};
    shape->mesh = wire_find_mesh(file, convex, &inner);
    wire_pointer(where, at, "file");
    return shape->mesh || gw_fail(error, inner.code == GW_NOT_FOUND ? GW_BAD_INPUT : inner.code,
                                  where, "%s", inner.message);
}

/* Stated dimensions of a primitive; the members differ by type. */
static bool get_dimensions(const json_t *value, const char *at, gw_shape *shape, gw_error *error)
{
    static const char *const of_box[] = {"type", "size", NULL};
    static const char *const of_round[] = {"type", "radius", "height", NULL};
    static const char *const of_sphere[] = {"type", "radius", NULL};
    switch (shape->kind) {
    case GW_SHAPE_BOX:
        return wire_open(value, at, of_box, error) &&
               wire_vec3_member(value, at, "size", WIRE_REQUIRED, &shape->size, error);
    case GW_SHAPE_SPHERE:
        return wire_open(value, at, of_sphere, error) &&
               wire_number(value, at, "radius", WIRE_REQUIRED, &shape->radius, error);
    case GW_SHAPE_MESH:
        return get_mesh(value, at, shape, error);
    default:
        return wire_open(value, at, of_round, error) &&
               wire_number(value, at, "radius", WIRE_REQUIRED, &shape->radius, error) &&
               wire_number(value, at, "height", WIRE_REQUIRED, &shape->height, error);
    }
}

/* `whole`: compounds are allowed, and the finished solid is checked. */
static bool get_shape(const json_t *value, const char *at, bool whole, gw_shape *shape,
                      gw_error *error)
{
    static const char *const types[] = {"box",      "cylinder", "cone", "sphere",
                                        "compound", "capsule",  "mesh", NULL};
    int kind = 0;
    *shape = (gw_shape){0};
    if (!json_is_object(value))
        return gw_fail(error, GW_BAD_INPUT, at, "must be an object");
    if (!wire_choice(value, at, "type", WIRE_REQUIRED, types, &kind, error))
        return false;
    if (kind == GW_SHAPE_COMPOUND && !whole)
        return gw_fail(error, GW_BAD_INPUT, at, "a compound's part must be a primitive");
    shape->kind = (gw_shape_kind)kind;
    bool ok = kind == GW_SHAPE_COMPOUND ? get_compound(value, at, shape, error)
                                        : get_dimensions(value, at, shape, error);
    gw_error inner = {0};
    if (!ok || !whole || gw_shape_check(shape, &inner))
        return ok;
    gw_shape_finish(shape);
    char where[WIRE_POINTER * 2];
    snprintf(where, sizeof where, "%s%s", at, inner.where);
    return gw_fail(error, inner.code, where, "%s", inner.message);
}

bool wire_get_shape(const json_t *value, const char *at, gw_shape *shape, gw_error *error)
{
    return get_shape(value, at, true, shape, error);
}

/* ---- body and object ----------------------------------------------------------------------- */

static bool get_damping(const json_t *body, const char *at, gw_body *b, gw_error *error)
{
    static const char *const allowed[] = {"linear", "angular", NULL};
    const json_t *damping = json_object_get(body, "damping");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "damping");
    return !damping ||
           (wire_open(damping, where, allowed, error) &&
            wire_number(damping, where, "linear", WIRE_OPTIONAL, &b->damping_linear, error) &&
            wire_number(damping, where, "angular", WIRE_OPTIONAL, &b->damping_angular, error));
}

static bool get_inertia(const json_t *body, const char *at, gw_body *b, gw_error *error)
{
    const json_t *inertia = json_object_get(body, "inertia");
    b->has_inertia = inertia != NULL;
    if (!inertia)
        return true;
    char where[WIRE_POINTER];
    wire_pointer(where, at, "inertia");
    if (!json_is_array(inertia) || json_array_size(inertia) != 6)
        return gw_fail(error, GW_BAD_INPUT, where,
                       "must be six numbers [ixx,iyy,izz,ixy,ixz,iyz] (kg m2)");
    for (size_t i = 0; i < 6; i++) {
        const json_t *n = json_array_get(inertia, i);
        if (!json_is_number(n))
            return gw_fail(error, GW_BAD_INPUT, where, "must be six numbers (kg m2)");
        b->inertia[i] = json_number_value(n);
    }
    return true;
}

/* A twist {"v","w"}, either member may be left out. */
static bool get_velocity(const json_t *owner, const char *at, gw_object *o, gw_error *error)
{
    static const char *const allowed[] = {"v", "w", NULL};
    const json_t *velocity = json_object_get(owner, "velocity");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "velocity");
    return !velocity ||
           (wire_open(velocity, where, allowed, error) &&
            wire_vec3_member(velocity, where, "v", WIRE_OPTIONAL, &o->velocity, error) &&
            wire_vec3_member(velocity, where, "w", WIRE_OPTIONAL, &o->spin, error));
}

static bool get_body(const json_t *value, const char *at, gw_object *o, gw_error *error)
{
    static const char *const allowed[] = {"mass",    "density",  "com", "inertia",
                                          "damping", "velocity", NULL};
    gw_body *b = &o->body;
    if (!wire_open(value, at, allowed, error))
        return false;
    bool mass = json_object_get(value, "mass"), density = json_object_get(value, "density");
    if (mass && density)
        return gw_fail(error, GW_BAD_INPUT, at, "takes \"mass\" or \"density\", not both");
    b->source = mass ? GW_MASS_GIVEN : GW_MASS_BY_DENSITY;
    b->has_com = json_object_get(value, "com") != NULL;
    return wire_number(value, at, "mass", WIRE_OPTIONAL, &b->mass, error) &&
           wire_number(value, at, "density", WIRE_OPTIONAL, &b->density, error) &&
           wire_vec3_member(value, at, "com", WIRE_OPTIONAL, &b->com, error) &&
           get_inertia(value, at, b, error) && get_damping(value, at, b, error) &&
           get_velocity(value, at, o, error);
}

static bool get_object_members(const json_t *value, const char *at, gw_object *o, gw_error *error)
{
    const json_t *geometry, *body = json_object_get(value, "body");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "body");
    if (!wire_string(value, at, "id", WIRE_REQUIRED, o->id, sizeof o->id, error) ||
        !wire_pose_member(value, at, "pose", &o->pose, error) ||
        !wire_bool(value, at, "fixed", &o->fixed, error) ||
        !wire_bool(value, at, "free", &o->free, error) ||
        !wire_string(value, at, "material", WIRE_OPTIONAL, o->material, sizeof o->material,
                     error) ||
        !get_velocity(value, at, o, error) || (body && !get_body(body, where, o, error)) ||
        !wire_member(value, at, "geometry", WIRE_REQUIRED, &geometry, error))
        return false;
    wire_pointer(where, at, "geometry");
    return get_shape(geometry, where, true, &o->shape, error); /* last: it owns memory */
}

bool wire_get_object(const json_t *value, const char *at, gw_object *o, gw_error *error)
{
    static const char *const allowed[] = {"id",   "geometry", "pose",     "fixed", "free",
                                          "body", "velocity", "material", NULL};
    *o = (gw_object){.pose = gw_pose_identity(), .body = {.density = 1000}};
    return wire_open(value, at, allowed, error) && get_object_members(value, at, o, error);
}
