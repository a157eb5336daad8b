/*
 * A tree of boxes: which of many things are near a box. Made once, never changed; what asks it may
 * do so on any thread, RT safe.
 */
#ifndef GW_COLLISION_AABB_TREE_H
#define GW_COLLISION_AABB_TREE_H

#include "rt/geometry/shape.h"

typedef struct gw_aabb_tree gw_aabb_tree;

/* Over boxes 0 .. count - 1; NULL where memory is short. Not for use inside a tick. */
gw_aabb_tree *gw_aabb_tree_create(const gw_aabb *boxes, int count);
void gw_aabb_tree_destroy(gw_aabb_tree *boxes); /* NULL is fine */

/* Those that meet the probe, `room` at most; returns how many, room + 1 where there are more. */
int gw_aabb_tree_query(const gw_aabb_tree *boxes, const gw_aabb *probe, int *near, int room);

#endif
