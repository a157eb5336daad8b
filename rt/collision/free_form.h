/*
 * Contact points on free-form surfaces. A triangle mesh of the surface (trimesh.h) locates the
 * regions of possible contact; contact points, normals and gaps, to second order in the motion of
 * the solids, are then those of the surface itself.
 *
 * Heap memory, allocated at creation, shared and counted; immutable afterwards: any thread may
 * query it, RT safe.
 */
#ifndef GW_COLLISION_FREE_FORM_H
#define GW_COLLISION_FREE_FORM_H

#include "rt/collision/candidate.h"
#include "rt/collision/trimesh.h"
#include "rt/geometry/nurbs_mesh.h"

typedef struct gw_free_form gw_free_form;
typedef struct gw_near_list gw_near_list; /* near_triangles.h */

/* Lists of the triangles that are near, of the pairs of free-form surfaces that were queried last:
 * a query of the same pair need not search again while these have hardly moved. One thread at a
 * time. NULL: memory is exhausted. */
gw_near_lists *gw_near_lists_create(void);
void gw_near_lists_destroy(gw_near_lists *lists); /* NULL is fine */
void gw_near_lists_clear(gw_near_lists *lists);   /* RT safe */

/*
 * Triangles of a surface and what they tell of contacts: one reference; NULL with an error
 * (GW_FAILED) if memory is exhausted. `like`: the same of a surface that differs in few control
 * points, of which samples are reused where both surfaces are the same; NULL: none. The result is
 * the same to the last bit, and `like` itself where it is of the same surface.
 */
gw_free_form *gw_free_form_create(gw_nurbs *surface, gw_free_form *like, gw_error *error);
void gw_free_form_put(gw_free_form *form); /* one reference less; NULL is fine */

const gw_nurbs *gw_free_form_surface(const gw_free_form *form);
gw_trimesh *gw_free_form_trimesh(gw_free_form *form);

/* Largest distance of the triangles from the surface (m; sampled). */
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
    struct gw_near_list *near; /* of earlier queries of two surfaces; NULL: none */
    double ahead;              /* motion that it is to serve when it is made anew (m) */
    double *effort;            /* as gw_pair_query has it */
} gw_free_form_query;

/* Contact points of a ball: each local minimum of the surface's distance from its centre, with a
 * gap of at most the reach; at most `capacity`, nearest first; returns how many. *gap: the distance
 * of ball and surface, at most the reach. The ball is a, the surface b. RT safe. */
int gw_free_form_ball(const gw_free_form_query *query, gw_manifold_point *points, int capacity,
                      double *gap);

/* Contact points of each feature (vertices, edges, rims, sides, faces) of a solid that has few of
 * them, where the near surface is smooth and has no border; otherwise as gw_free_form_ball(). -1:
 * the solid has more features, or the surface has an edge or a kink there. RT safe. */
int gw_free_form_solid(const gw_free_form_query *query, gw_manifold_point *points, int capacity,
                       double *gap);

/* Contact points of two surfaces: `other` (a), whose frame is that of the query's solid, and the
 * query's (b). Each is a local minimum of their distance. *gap as by gw_free_form_ball(). -1: only
 * edges or kinks of both are near one another. RT safe. */
int gw_free_form_pair(const gw_free_form_query *query, const gw_free_form *other,
                      gw_manifold_point *points, int capacity, double *gap);

/* Contact points of any other convex solid (a) from its points `found` on the triangles: each is
 * moved to the local minimum of the distance of the same feature from the surface itself (b);
 * coincident points are merged, and points of features that cannot touch the surface are removed.
 * `found`: at most GW_TRIMESH_FOUND, nearest first. Returns the number of points, at most
 * `capacity` and GW_TRIMESH_POINTS, nearest first. RT safe. */
int gw_free_form_refine(const gw_free_form_query *query, const gw_manifold_point *found, int count,
                        gw_manifold_point *points, int capacity);

#endif
