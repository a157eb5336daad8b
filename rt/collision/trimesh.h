/*
 * Triangle meshes that are not convex. Each triangle is a convex solid of its own; normals at an
 * internal edge or vertex count only where they belong to the whole surface (no ghost collisions).
 *
 * Heap memory, taken at creation; nothing changes afterwards: any thread may query it, RT safe.
 */
#ifndef GW_COLLISION_TRIMESH_H
#define GW_COLLISION_TRIMESH_H

#include "rt/collision/aabb_tree.h"
#include "rt/collision/convex.h"
#include "rt/collision/manifold.h"
#include "rt/geometry/mesh.h"

#define GW_TRIMESH_POINTS 32  /* of a manifold where one solid is a trimesh, at most */
#define GW_TRIMESH_FOUND  256 /* before they are reduced to these */

typedef struct gw_trimesh gw_trimesh;

/* Keeps a reference to the mesh. NULL with an error (GW_FAILED) if memory is exhausted. */
gw_trimesh *gw_trimesh_create(gw_mesh *mesh, gw_error *error);
void gw_trimesh_destroy(gw_trimesh *trimesh); /* NULL is fine */

/* A trimesh at a pose against a convex solid, or against another trimesh: `other`, whose frame is
 * then that of `convex`. */
typedef struct gw_trimesh_query {
    const gw_trimesh *trimesh;
    gw_vec3 origin; /* world_from_mesh */
    gw_mat3 rotation;
    const gw_convex *convex;
    gw_vec3 centre, half; /* of a box around the convex solid with its rounding, in its frame (m) */
    const gw_trimesh *other; /* NULL: none */
    bool mesh_is_a;          /* else it is b of the points found */
    bool nearest_only; /* points about as near as the nearest, of a limited number of triangles */
    bool unreduced;    /* all that are found, up to GW_TRIMESH_FOUND */
    double reach;      /* m */
    struct gw_near_list *near; /* of two free-form surfaces (free_form.h); NULL: none */
    double ahead;              /* m */
    double *effort;            /* as gw_pair_query has it */
} gw_trimesh_query;

/* Points with a gap of at most the reach, nearest first, at most `capacity`; returns how many. *gap
 * (NULL: not asked): the distance of the surfaces, the reach where they are farther; at most 0
 * where more triangles are near than the limit. RT safe. */
int gw_trimesh_manifold(const gw_trimesh_query *query, gw_manifold_point *points, int capacity,
                        double *gap);

/* Sorts points, at most GW_TRIMESH_FOUND, by their gaps; those with the same gap keep their order.
 * RT safe, unlike qsort(), which takes memory. */
void gw_trimesh_sort(gw_manifold_point *points, int count);

/* Of points, nearest first, with about the same normal the nearest and those farthest from the ones
 * taken: four at most. Returns how many are left, at most `capacity`. RT safe. */
int gw_trimesh_reduce(gw_manifold_point *points, int count, int capacity);

/* gw_aabb_tree_nearest() of the triangles, by a point in the mesh's frame. RT safe. */
int gw_trimesh_nearest(const gw_trimesh *trimesh, gw_vec3 point, double range,
                       double (*distance)(const void *context, int triangle, gw_vec3 point),
                       const void *context);

/* gw_aabb_tree_set_normals() of the triangles. */
bool gw_trimesh_set_normals(gw_trimesh *trimesh, const gw_vec3 *normals, const double *sines);

/* gw_aabb_trees_near() of the triangles of two meshes. RT safe. */
void gw_trimesh_near_pairs(const gw_trimesh *a, const gw_trimesh *b, const gw_aabb_near *near);

/* The triangles whose boxes are within `reach` of a point in the mesh's frame, at most `capacity`;
 * returns how many, capacity + 1 where there are more. RT safe. */
int gw_trimesh_near(const gw_trimesh *trimesh, gw_vec3 point, double reach, int *triangles,
                    int capacity);

#endif
