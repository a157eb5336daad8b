/*
 * Points and directions of free-form shapes, and all local closest points of them, by methods
 * independent of rt/: de Boor's algorithm on the control points as given, and samples of the whole
 * domain. Of rt/ only the struct of a shape is read. Single-threaded; no allocation.
 */
#ifndef GW_TESTS_ORACLE_FREE_FORM_H
#define GW_TESTS_ORACLE_FREE_FORM_H

#include "rt/geometry/nurbs.h"

#define MOST_FEET 6

typedef struct form_point {
    gw_vec3 p;         /* in the shape's frame */
    gw_vec3 d[2];      /* derivatives by u and v */
    gw_vec3 direction; /* the unit normal of a surface, tangent of a curve */
    bool degenerate;   /* no tangent plane by u and v: a pole or an apex */
} form_point;

void form_at(const gw_nurbs *shape, const double z[2], form_point *at);

/* Brings parameters into the domain: closed directions wrap around, others end at their bounds. */
void form_into_domain(const gw_nurbs *shape, double z[2]);

/* Parameters of points whose distance from x has a local minimum, nearest first; returns their
 * number. */
int form_feet(const gw_nurbs *shape, gw_vec3 x, double z[MOST_FEET][2]);

/* The same with more starts: half a sample away in every direction from each of the `count` found,
 * for minima between samples. Slower. */
int form_feet_between(const gw_nurbs *shape, gw_vec3 x, int count, double z[MOST_FEET][2]);

/* Moves z to the parameters near it at which the point, offset by `value` along the direction, is
 * nearest to x; returns the distance left (m). */
double form_settle_offset(const gw_nurbs *shape, gw_vec3 x, double value, double z[2]);

/* Sets z to the sample whose offset point is nearest to x, and whose direction, weighted with
 * `size`, is nearest to `along` (or its opposite, if `either`; ignored if `along` is zero). */
void form_start(const gw_nurbs *shape, gw_vec3 x, double value, gw_vec3 along, bool either,
                double size, double z[2]);

#endif
