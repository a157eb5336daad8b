/*
 * A geom: one convex piece of a body's shapes, or a triangle mesh that is not convex. A compound's
 * parts and a mesh's convex cells are geoms of their own.
 *
 * Not for use inside a tick, except for functions marked RT safe: these read only data that never
 * changes once it is made.
 */
#ifndef GW_COLLISION_GEOM_H
#define GW_COLLISION_GEOM_H

#include "rt/collision/free_form.h"
#include "rt/collision/gjk_epa.h"
#include "rt/collision/polytope.h"
#include "rt/collision/trimesh.h"

typedef struct gw_geom {
    int body, material;
    int next; /* of the same body's geoms, in a ring */
    gw_pose body_from_geom;
    gw_polytope *polytope;   /* owned; NULL where the core is curved */
    gw_trimesh *trimesh;     /* of a mesh that is not convex: owned; of a surface: its own */
    gw_free_form *free_form; /* of a free-form surface, a reference, else NULL */
    gw_convex convex;        /* at the pose that was last set */
    gw_vec3 centre, half;    /* of its bounding box, in its frame (m) */
    double radius;           /* of the bounding sphere about the centre (m) */
    gw_vec3 world_centre;    /* as last set */
    gw_twist twist;          /* as last set, of the centre, world axes */
} gw_geom;

/* Initialises the geom of a primitive or a mesh; false with GW_FAILED if memory is exhausted, with
 * GW_BAD_INPUT for a compound. gw_geom_finish() is required in either case. `like`: see
 * gw_free_form_create(). */
bool gw_geom_init(gw_geom *geom, const gw_shape *shape, const gw_pose *body_from_geom,
                  gw_free_form *like, gw_error *error);
void gw_geom_finish(gw_geom *geom);

/* Sets the pose of the convex solid, and the twist. `twist`: of the body's origin, world axes. */
void gw_geom_set_pose(gw_geom *geom, const gw_pose *world_from_body, const gw_twist *twist);

/* Half lengths of its AABB in world axes, about world_centre (m). */
gw_vec3 gw_geom_half_extents(const gw_geom *geom);

/* The convex solid with its body at the given pose, whatever pose was set; of a mesh its frame
 * alone. RT safe. */
gw_convex gw_geom_convex_at(const gw_geom *geom, const gw_pose *world_from_body);

/* Signed distance (m) of a point (world) from the geom with its body at the given pose, and the
 * outward normal. False if it is more than `reach`, and for a mesh. RT safe. */
bool gw_geom_point_distance(const gw_geom *geom, const gw_pose *world_from_body, gw_vec3 point,
                            double reach, gw_signed_distance *result);

#endif
