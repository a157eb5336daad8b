/*
 * Contact points on free-form surfaces. The triangles that stand for a surface (trimesh.h) say
 * where it may be touched; the points of contact, their normals and gaps, and how both change as
 * the solids move over one another, are then those of the surface itself.
 *
 * Heap memory, taken at creation; nothing changes afterwards: any thread may query it, RT safe.
 */
#ifndef GW_COLLISION_FREE_FORM_H
#define GW_COLLISION_FREE_FORM_H

#include "rt/collision/trimesh.h"
#include "rt/geometry/nurbs_mesh.h"

typedef struct gw_free_form gw_free_form;

/* Of a surface and its triangles, which are not owned and outlive it, with their `parameters`,
 * which are taken over in any case. NULL with an error (GW_FAILED) where memory is short. */
gw_free_form *gw_free_form_create(const gw_nurbs *surface, const gw_mesh *mesh,
                                  const gw_trimesh *trimesh, gw_corner_parameters *parameters,
                                  gw_error *error);
void gw_free_form_destroy(gw_free_form *form); /* NULL is fine */

/* How far the triangles are from the surface, at most (m; sampled). */
double gw_free_form_deviation(const gw_free_form *form);

/* The surface at a pose, and the solid that may touch it. */
typedef struct gw_free_form_query {
    const gw_free_form *form;
    gw_vec3 origin; /* world_from_surface */
    gw_mat3 rotation;
    const gw_convex *convex;
    gw_vec3 centre; /* of the solid (world): an open surface is touched from the side where it is */
    double reach;   /* m */
    double side; /* 1 where that is the surface's normal's, -1 where the other; 0: of each foot */
} gw_free_form_query;

/* The side of a query: by the foot of the solid's centre. A plane at the foot of a point far from
 * that may lie above the centre where the surface is bent. 0: no foot is near. RT safe. */
double gw_free_form_side(const gw_free_form_query *query);

/* A ball: each local minimum of the surface's distance from its centre is a point, with a gap of at
 * most the reach; at most `capacity`, nearest first; returns how many. *gap: the distance of the
 * two, the reach where they are farther. The ball is a, the surface b. RT safe. */
int gw_free_form_ball(const gw_free_form_query *query, gw_manifold_point *points, int capacity,
                      double *gap);

/* A capsule, a cylinder or a cone, where the surface is smooth and goes on all about it: each of
 * its features, rims, ends, side, apex. -1: it is another solid, or the surface has an edge or a
 * kink there. Otherwise as gw_free_form_ball(). */
int gw_free_form_curves(const gw_free_form_query *query, gw_manifold_point *points, int capacity,
                        double *gap);

/* Any other convex solid, whose points on the triangles are known: a is the solid, b the surface.
 * Each is moved to the local minimum that the same feature of the solid has on the surface itself,
 * points that have become one are merged, those of features that cannot touch it go. `found`: at
 * most GW_TRIMESH_FOUND, nearest first. Returns how many are left, at most `capacity` and
 * GW_TRIMESH_POINTS, nearest first. RT safe. */
int gw_free_form_refine(const gw_free_form_query *query, const gw_manifold_point *found, int count,
                        gw_manifold_point *points, int capacity);

#endif
