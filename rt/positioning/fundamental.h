/*
 * Fundamental constraints, to which the input is decomposed (relational-positioning Table I), and
 * which the rules rewrite.
 *
 * Notation, after the papers: object "b" owns the surface of a distance, object "a" the point on
 * it; either may be the body. A pose g = (R, t) takes the body's coordinates to the world's.
 *
 *   distance   d(P_a, S_b) = p     of a point: a sphere (p = 0: the point); of a line: a cylinder
 *                                  (p = 0: the line); of a plane: p = 0, the value moves the plane
 *   angle      R u . f = cos alpha, u of the body and f of the world
 *
 * Rules for two distances on one side, in combine_*.c, have the point P on the first surface at
 * distance p and Q on the second at q; d_a = |PQ| and u its direction; d_b the distance of the
 * surfaces' elements and w its direction from the first to the second. Rules for two angles have
 * u_1, u_2 and f_1, f_2, sigma_a and sigma_b apart, and the angles alpha and beta.
 */
#ifndef GW_POSITIONING_FUNDAMENTAL_H
#define GW_POSITIONING_FUNDAMENTAL_H

#include "rt/geometry/element.h"
#include "rt/geometry/submanifold.h"

/*
 * A fundamental translational constraint, d(point, surface) = p. The surface is a gw_element_kind:
 * a point (p >= 0: sphere), a line (p >= 0: cylinder), a plane (p = 0), a free-form curve (p = 0)
 * or surface (p along its normal): rules do not use the free-form ones; synthesis and the numeric
 * completion do.
 */
typedef struct gw_distance_constraint {
    gw_element_kind surface;
    bool body_owns;     /* the surface is the body's and the point the world's */
    gw_vec3 a;          /* the point */
    gw_vec3 b, d;       /* the surface: a point of it, its unit direction or normal */
    double p;           /* m */
    unsigned long from; /* bits of the input constraints that it stems from */
    int serial;         /* number of the constraint within an exploration */
    gw_quat q;          /* free-form: the frame of the shape at b */
    const gw_nurbs *nurbs;
    bool directed; /* and the unit vector `along` of the point's object lies along the surface's */
    gw_vec3 along; /* normal, or the curve's tangent, at the point closest to it */
    double span;   /* scale of that vector's rows (m): residual / span is an angle */
} gw_distance_constraint;

/* A fundamental rotational constraint: the angle between R u and f. An angle of pi is kept as 0
 * with u reversed; an angle of 0 is called a parallel. A parallel of open sense stays open until
 * the known rotation decides it; otherwise both senses become branches. */
typedef struct gw_angle_constraint {
    gw_vec3 u; /* unit, body */
    gw_vec3 f; /* unit, world */
    double angle, cosine;
    unsigned long from; /* bits of the input constraints that it stems from */
} gw_angle_constraint;

/* A distance between two points, seen from the other object. */
static inline gw_distance_constraint gw_distance_exchanged(const gw_distance_constraint *x)
{
    gw_distance_constraint y = *x;
    y.body_owns = !x->body_owns;
    y.a = x->b;
    y.b = x->a;
    return y;
}

#endif
