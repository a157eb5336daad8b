/*
 * Elements: points, lines, planes, curves and surfaces, between which constraints are stated. Any
 * thread, RT safe.
 */
#ifndef GW_GEOMETRY_ELEMENT_H
#define GW_GEOMETRY_ELEMENT_H

#include "rt/base/space.h"

typedef struct gw_nurbs gw_nurbs; /* rt/geometry/nurbs.h */

typedef enum gw_element_kind {
    GW_POINT,
    GW_LINE,
    GW_PLANE,
    GW_CURVE,  /* free-form */
    GW_SURFACE /* free-form, normal S_u x S_v */
} gw_element_kind;

static inline bool gw_is_free_form(gw_element_kind kind)
{
    return kind == GW_CURVE || kind == GW_SURFACE;
}

/* p: the point, or a point of the line or plane (m); d: the line's direction or the plane's normal,
 * of unit length (unused for the others). Of a curve or surface p and q are the frame of its
 * control points; the element does not own its `nurbs`. */
typedef struct gw_element {
    gw_element_kind kind;
    gw_vec3 p;
    gw_vec3 d;
    gw_quat q;
    const gw_nurbs *nurbs; /* NULL but for curves and surfaces */
} gw_element;

/* The element b, given in frame b, in frame a. */
static inline gw_element gw_element_moved(const gw_pose *a_from_b, const gw_element *b)
{
    gw_element a = {.kind = b->kind, .p = gw_pose_point(a_from_b, b->p)};
    if (gw_is_free_form(b->kind)) {
        a.q = gw_quat_mul(a_from_b->q, b->q);
        a.nurbs = b->nurbs;
    } else {
        a.d = gw_rotate(a_from_b->q, b->d);
    }
    return a;
}

#endif
