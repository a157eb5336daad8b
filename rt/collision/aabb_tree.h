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

/* Calls `overlap` once for each pair of items whose boxes overlap, in any order. */
void gw_aabb_tree_pairs(const gw_aabb_tree *tree, void (*overlap)(void *context, int a, int b),
                        void *context);

#endif
