/*
 * An AABB tree: a balanced bounding volume hierarchy of axis-aligned boxes, built top-down. The
 * broad phase refits it to moving bodies; a triangle mesh builds it once and queries it.
 *
 * Heap memory, allocated at creation only. One thread at a time may update a tree; while none does,
 * any thread may query it, RT safe.
 */
#ifndef GW_COLLISION_AABB_TREE_H
#define GW_COLLISION_AABB_TREE_H

#include "rt/geometry/shape.h"

typedef struct gw_aabb_tree gw_aabb_tree;

/* A tree over items 0 .. count - 1; NULL if memory is exhausted. Not for use inside a tick. */
gw_aabb_tree *gw_aabb_tree_create(const gw_aabb *boxes, int count);
void gw_aabb_tree_destroy(gw_aabb_tree *tree); /* NULL is fine */

/* Sets new boxes of all items: refits the tree, or rebuilds it if the refitted one is too loose. */
void gw_aabb_tree_update(gw_aabb_tree *tree, const gw_aabb *boxes);

/* The items whose boxes overlap the probe, at most `capacity`; returns how many, capacity + 1 where
 * there are more. */
int gw_aabb_tree_query(const gw_aabb_tree *tree, const gw_aabb *probe, int *items, int capacity);

/* A box with axes of its own, in the tree's frame. */
typedef struct gw_oriented_box {
    gw_vec3 centre, half;
    gw_mat3 rotation; /* tree_from_box */
} gw_oriented_box;

/* The items whose boxes are within `reach` (m) of an oriented box along the axes of both: all that
 * are within it, and few more. Their order and the count are those of gw_aabb_tree_query(). RT
 * safe. */
int gw_aabb_tree_query_oriented(const gw_aabb_tree *tree, const gw_oriented_box *probe,
                                double reach, int *items, int capacity);

/* Calls `visit` for items whose boxes are within `reach` of an oriented box, the nearer first;
 * each call returns the reach from there on; a negative one ends the search. RT safe. */
void gw_aabb_tree_approach(const gw_aabb_tree *tree, const gw_oriented_box *probe, double reach,
                           double (*visit)(void *context, int item), void *context);

/* Tells the items' unit normals, and the sines of what they turn by about an item: queries of two
 * trees that know these leave out what cannot have a common normal. The boxes must not change any
 * more. False if memory is exhausted. Not for use inside a tick. */
bool gw_aabb_tree_set_normals(gw_aabb_tree *tree, const gw_vec3 *normals, const double *sines);

/* A query for items of two trees that are within `reach` (m) of each other. Those of the first are
 * triangles. */
typedef struct gw_aabb_near {
    gw_vec3 origin; /* of the second tree's frame in that of the first */
    gw_mat3 rotation;
    double reach;
    bool opposite; /* normals of the two are opposite; else they are on one line; */
    double turn;   /* within this angle (rad, at least 0) */
    double (*triangle)(void *context, int a, gw_vec3 corner[3]); /* its own reach, which is less */
    bool (*near)(void *context, int a, int b);                   /* false ends the query */
    void *context;
} gw_aabb_near;

/* Calls `near` for each pair that may be that near, each once. RT safe. */
void gw_aabb_trees_near(const gw_aabb_tree *a, const gw_aabb_tree *b, const gw_aabb_near *near);

/* The item nearest to a point, by `distance` (m), which is at least that of the item's box; of some
 * that are as near the one that gw_aabb_tree_query() finds first. -1: none is within `range`. RT
 * safe. */
int gw_aabb_tree_nearest(const gw_aabb_tree *tree, gw_vec3 point, double range,
                         double (*distance)(const void *context, int item, gw_vec3 point),
                         const void *context);

/* Calls `overlap` once for each pair of items whose boxes overlap, in any order. */
void gw_aabb_tree_pairs(const gw_aabb_tree *tree, void (*overlap)(void *context, int a, int b),
                        void *context);

#endif
