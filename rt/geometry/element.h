/*
 * Points, lines and planes: what constraints are stated between. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_ELEMENT_H
#define GW_GEOMETRY_ELEMENT_H

#include "rt/base/space.h"

typedef enum gw_element_kind { GW_POINT, GW_LINE, GW_PLANE } gw_element_kind;

/* p: the point, or a point of the line or plane (m); d: the line's direction or the plane's
 * normal, of unit length (unused for a point). */
typedef struct gw_element {
    gw_element_kind kind;
    gw_vec3 p;
    gw_vec3 d;
} gw_element;

/* The same element in the frame that `a_from_b` maps to. */
static inline gw_element gw_element_moved(const gw_pose *a_from_b, const gw_element *b)
{
    return (gw_element){b->kind, gw_pose_point(a_from_b, b->p), gw_rotate(a_from_b->q, b->d)};
}

const char *gw_element_kind_name(gw_element_kind kind);

#endif
