/*
 * A tree of boxes: which of many things are near a box. Made once, never changed; what asks it may
 * do so on any thread, RT safe.
 */
#ifndef GW_COLLISION_BOXES_H
#define GW_COLLISION_BOXES_H

#include "rt/geometry/shape.h"

typedef struct gw_boxes gw_boxes;

/* Over boxes 0 .. count - 1; NULL where memory is short. Not for use inside a tick. */
gw_boxes *gw_boxes_create(const gw_box *boxes, int count);
void gw_boxes_destroy(gw_boxes *boxes); /* NULL is fine */

/* Those that meet the probe, `room` at most; returns how many, room + 1 where there are more. */
int gw_boxes_near(const gw_boxes *boxes, const gw_box *probe, int *near, int room);

#endif
