/*
 * Circles and the round surfaces as rational B-splines, exactly: what tests and benchmarks compare
 * with the closed forms. NULL with an error.
 */
#ifndef GW_TESTS_NURBS_SHAPES_H
#define GW_TESTS_NURBS_SHAPES_H

#include "rt/geometry/nurbs.h"

/* Angles from x towards y, of a quarter turn each; radius in m, about the origin in the xy-plane.
 */
gw_nurbs *gw_nurbs_circle(double radius, gw_error *error);
/* u: about z from x; v: along the profile, upward. The normal points outward. */
gw_nurbs *gw_nurbs_cylinder(double radius, double height, gw_error *error); /* centred */
gw_nurbs *gw_nurbs_cone(double radius, double height, gw_error *error);     /* apex at z = height */
gw_nurbs *gw_nurbs_ellipsoid(gw_vec3 semi_axes, gw_error *error); /* poles at v = 0 and 1 */
gw_nurbs *gw_nurbs_torus(double radius, double tube_radius, gw_error *error);

#endif
