/*
 * Unilateral constraints as rows of the contact system: gap(q) >= 0 between two bodies, whose gap
 * is a function of their poses instead of two points and a normal (candidate.h).
 *
 *   distance, at least d   gap = h - d           h of two points, lines or planes
 *             at most d    gap = d - h
 *   angle                  gap = L (angle - a), or L (a - angle)     L: m that a radian counts
 *   turn                   the same for a joint's coordinate, not limited to -pi .. pi
 *   rotation               the same for the angle of the rotation between two frames, 0 .. pi
 *   surfaces               gap of two surfaces that may slide or roll on each other
 *   edge                   l (x_end - x), x a parameter of a free-form shape in a closure
 *
 * h is the distance of two points, of a point from a line, and of two lines along their common
 * normal (of a's point from b's line where they are parallel); with a plane it is the height of the
 * other's point along the plane's normal, of two planes of a's point over b's. Of a free-form shape
 * it is that of the closest points, at a local minimum that is followed from `minima` or at the
 * nearest of these, and over a plane the height of the shape's lowest point, or its highest one
 * (free_form_distance.h). Angles are those of directed
 * lines and normals, 0 .. pi, and of a line and a plane, -pi/2 .. pi/2; a curve counts as its
 * tangent and a surface as its tangent plane at the point closest to the other element's.
 *
 * Pure functions: any thread, RT safe. The row of an edge reads its system's state and belongs to
 * the thread of that system.
 */
#ifndef GW_CONTACT_UNILATERAL_ROW_H
#define GW_CONTACT_UNILATERAL_ROW_H

#include "rt/contact/kinematics.h"
#include "rt/dynamics/system.h"
#include "rt/geometry/free_form_distance.h"

typedef enum gw_unilateral_kind {
    GW_UNILATERAL_DISTANCE,
    GW_UNILATERAL_ANGLE, /* no points, but beside a free-form shape */
    GW_UNILATERAL_TURN,  /* about an axis that the bodies share: of a's direction from b's, which
                            lie across it */
    GW_UNILATERAL_ROTATION,
    GW_UNILATERAL_SURFACES,
    GW_UNILATERAL_EDGE /* of a system's closure */
} gw_unilateral_kind;

/* Directions besides its normal that the row's continuous contact resists. */
typedef enum gw_unilateral_traction {
    GW_TRACTION_NONE,
    GW_TRACTION_SLIP,         /* rolls: no slip while it is pressed */
    GW_TRACTION_SLIP_AND_SPIN /* nor spin about the normal */
} gw_unilateral_traction;

#define GW_BOUND_MINIMA   4 /* local minima of one bound that are followed at once at most */
#define GW_BOUND_SUPPORTS 6 /* fixed points of a shape beside them */

typedef struct gw_unilateral_row {
    gw_unilateral_kind kind;
    gw_element a, b;                             /* in the bodies' frames */
    double value;                                /* d (m) or a (rad) */
    double sign;                                 /* 1: at least the value; -1: at most */
    double length;                               /* L (m), of an angle */
    gw_distance_kind of;                         /* of a free-form shape; */
    gw_distance_minimum minima[GW_BOUND_MINIMA]; /* the first one is followed, */
    bool nearest;                                /* or the nearest one of all */
    gw_vec3 axis;                                /* of a turn, in the frame of b, */
    bool axis_in_a;                              /* or of a */
    double near;              /* of a turn: the angle is the one nearest to this (rad), */
    int joint, coordinate;    /* and the system's coordinate that counts whole turns */
    bool limits;              /* that coordinate, be it a turn or a slide: sign (q - value) >= 0 */
    gw_quat frame_a, frame_b; /* of a rotation, in the bodies' */
    int owned;                /* for whoever made it */
    gw_closure_contact surfaces; /* in the bodies' frames */
    gw_unilateral_traction traction;
    gw_system *system; /* that has the edge, followed from where it is; or of surfaces that may be
                          constrained: the system of which they are */
    int closure;       /* this unilateral closure; else NULL */
    gw_system_edge edge;
    gw_pose b_from_end; /* of an edge: the frame that the closure's end b has in the system, where a
                           ground's begins as the world's, in the frame of b */
} gw_unilateral_row;

/* Gap, normal and points with the bodies at a and b (world_from_body): d(gap)/dt is the power of a
 * unit force along the normal on a at at_a and its opposite on b at at_b, or, where `lever` is not
 * zero, of a couple `lever` along the normal; the row of an edge is general (gw_gap). The normal is
 * arbitrary where two points, or the directions of an angle, coincide. */
gw_gap gw_unilateral_row_gap(const gw_unilateral_row *row, const gw_pose *a, const gw_pose *b);

#endif
