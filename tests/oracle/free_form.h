/*
 * Points and directions of free-form shapes, and all local closest points of them, by methods of
 * their own: de Boor's algorithm on the control points as they were stated, and samples of the
 * whole domain. Of rt/ only the struct of a shape is read. Single-threaded; no allocation.
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

/* Into the domain: closed directions wrap around, others end. */
void form_into_domain(const gw_nurbs *shape, double z[2]);

/* Parameters of points whose distance from x has a local minimum, nearest first; how many. */
int form_feet(const gw_nurbs *shape, gw_vec3 x, double z[MOST_FEET][2]);

/* The same with more starts: from half a sample away all around each of `count` that were found,
 * for minima that lie between samples. Slower. */
int form_feet_between(const gw_nurbs *shape, gw_vec3 x, int count, double z[MOST_FEET][2]);

/* Parameters near z of the point whose offset by `value` along the direction is nearest to x: the
 * distance that is left (m). */
double form_settle_offset(const gw_nurbs *shape, gw_vec3 x, double value, double z[2]);

/* Of all samples, the one whose offset comes nearest to x, its direction (times `size`) to `along`
 * (or, where `either`, to that or its opposite); without a direction where `along` is zero. */
void form_start(const gw_nurbs *shape, gw_vec3 x, double value, gw_vec3 along, bool either,
                double size, double z[2]);

#endif
