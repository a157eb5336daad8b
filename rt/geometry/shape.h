/*
 * Solids: primitives and compounds of them, their mass properties and bounding boxes; and free-form
 * curves and surfaces, which have neither inside nor thickness.
 *
 * Boxes, cylinders, capsules and spheres are centred on their frame, axis along +z; a cone's base
 * disc is centred on it, with the apex at z = height. A compound owns its parts (heap memory, taken
 * at creation). Any thread; not for use inside a tick.
 */
#ifndef GW_GEOMETRY_SHAPE_H
#define GW_GEOMETRY_SHAPE_H

#include "rt/base/error.h"
#include "rt/base/space.h"

typedef enum gw_shape_kind {
    GW_SHAPE_BOX,
    GW_SHAPE_CYLINDER,
    GW_SHAPE_CONE,
    GW_SHAPE_SPHERE,
    GW_SHAPE_COMPOUND,
    GW_SHAPE_CAPSULE,
    GW_SHAPE_MESH,
    GW_SHAPE_NURBS_CURVE,
    GW_SHAPE_NURBS_SURFACE
} gw_shape_kind;

static inline bool gw_shape_is_free_form(gw_shape_kind kind)
{
    return kind == GW_SHAPE_NURBS_CURVE || kind == GW_SHAPE_NURBS_SURFACE;
}

typedef struct gw_shape gw_shape;

typedef struct gw_part gw_part;

typedef struct gw_mesh gw_mesh; /* rt/geometry/mesh.h */

typedef struct gw_nurbs gw_nurbs; /* rt/geometry/nurbs.h */

struct gw_shape {
    gw_shape_kind kind;
    gw_vec3 size;    /* box: full lengths of its edges (m) */
    double radius;   /* cylinder, cone (of its base), sphere, capsule (m) */
    double height;   /* cylinder, cone; capsule: of its cylindrical part (m) */
    int part_count;  /* compound */
    gw_part *parts;  /* compound: owned; part_count of them */
    gw_mesh *mesh;   /* mesh: shared, counted; closed or a hull */
    gw_nurbs *nurbs; /* curve, surface: shared, counted; of a sphere, a cylinder, a capsule NULL or
                        its round surface, */
    gw_nurbs *rim;   /* of a cylinder, a cone: NULL or the circle of its rim (feature.h) */
};

struct gw_part {
    gw_shape shape; /* never itself a compound */
    gw_pose pose;   /* compound_from_part */
};

/* Mass (kg), centre of mass (m) and inertia tensor (kg m^2) about it, both in the shape's axes. */
typedef struct gw_mass {
    double mass;
    gw_vec3 com;
    gw_mat3 inertia;
} gw_mass;

/* Axis-aligned box in the shape's frame (m). */
typedef struct gw_aabb {
    gw_vec3 low, high;
} gw_aabb;

/* A deep copy; false (GW_FAILED) if memory is exhausted. */
bool gw_shape_copy(gw_shape *to, const gw_shape *from, gw_error *error);
void gw_shape_finish(gw_shape *shape);

/* True if every length is positive and finite and part counts are within limits.h; else
 * GW_BAD_INPUT with the member's pointer ("/radius", "/parts/2/geometry/size/0"). */
bool gw_shape_check(const gw_shape *shape, gw_error *error);

/* Mass properties of the solid at `density` (kg/m^3); for a curve or surface those of its bounding
 * box, for uses where they have no physical effect. A compound's parts are taken as disjoint. */
gw_mass gw_shape_mass(const gw_shape *shape, double density);

gw_aabb gw_shape_bounds(const gw_shape *shape);
const char *gw_shape_kind_name(gw_shape_kind kind);

#endif
