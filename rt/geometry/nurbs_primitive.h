/*
 * Primitives as rational B-splines, exactly: what is stated, computed or tested of free-form shapes
 * then holds for them too. The functions allocate and are not for use inside a tick; any thread.
 * They return a shape with one reference, or NULL with an error.
 *
 * Source: Versprille, Computer-aided design applications of the rational B-spline approximation
 * form (1975); Piegl and Tiller, The NURBS Book (1997), chapters 7 and 8.
 */
#ifndef GW_GEOMETRY_NURBS_PRIMITIVE_H
#define GW_GEOMETRY_NURBS_PRIMITIVE_H

#include "rt/geometry/nurbs.h"

typedef enum gw_primitive_kind {
    GW_PRIMITIVE_CIRCLE, /* a curve: radius; the others are surfaces */
    GW_PRIMITIVE_PLANE,  /* size: a rectangle in the xy-plane */
    GW_PRIMITIVE_DISC,   /* radius: in the xy-plane */
    GW_PRIMITIVE_SPHERE,
    GW_PRIMITIVE_CYLINDER, /* radius, height: its round surface */
    GW_PRIMITIVE_CAPSULE,  /* radius, height of its cylindrical part */
    GW_PRIMITIVE_CONE,     /* radius of the base, height: its round surface, apex at z = height */
    GW_PRIMITIVE_TORUS, /* radius of the circle along which the tube's centre runs, tube_radius */
    GW_PRIMITIVE_ELLIPSOID /* semi_axes */
} gw_primitive_kind;

/* Centred on the frame, axis along +z, as the shapes of shape.h are; lengths in m. */
typedef struct gw_primitive {
    gw_primitive_kind kind;
    double radius, height, tube_radius;
    gw_vec3 semi_axes;
    double size[2]; /* along x and y */
} gw_primitive;

const char *gw_primitive_kind_name(gw_primitive_kind kind);

/*
 * The curve or surface of a primitive. u: about z from x, of quarter turns with integer knots; v:
 * along the profile, upward, of a disc inward. A plane's u and v are along x and y from 0 to 1.
 * Normals point outward, of planes and discs along +z. Poles are at the ends of v. Errors
 * (GW_BAD_INPUT): a length that is not positive, at /radius, /height, /tube_radius, /semi_axes/0,
 * /size/0; a tube as wide as its circle, at /tube_radius.
 */
gw_nurbs *gw_nurbs_convert(const gw_primitive *primitive, gw_error *error);

/* The same for one kind each. */
gw_nurbs *gw_nurbs_circle(double radius, gw_error *error);
gw_nurbs *gw_nurbs_cylinder(double radius, double height, gw_error *error);
gw_nurbs *gw_nurbs_cone(double radius, double height, gw_error *error);
gw_nurbs *gw_nurbs_ellipsoid(gw_vec3 semi_axes, gw_error *error);
gw_nurbs *gw_nurbs_torus(double radius, double tube_radius, gw_error *error);

#endif
