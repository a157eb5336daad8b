/*
 * The least value of a function over a curve or surface, with a certificate: for proofs that no
 * point of a shape satisfies a condition. Any thread, RT safe; the work is bounded.
 */
#ifndef GW_GEOMETRY_NURBS_LEAST_H
#define GW_GEOMETRY_NURBS_LEAST_H

#include "rt/geometry/nurbs.h"

/* A part of a shape, about the middle of its parameters; in the shape's frame. */
typedef struct gw_nurbs_part {
    double parameter[2];
    gw_vec3 point; /* in the middle */
    gw_vec3 along; /* there: unit normal of a surface, tangent of a curve; zero where it has none */
    double reach;  /* no point of the part is farther from `point` (m) */
    double turn; /* no normal or tangent of the part is at a larger angle to `along`; at most pi */
} gw_nurbs_part;

/* The function's value in the middle of a part; `bound`: no value on the part is less. */
typedef double gw_nurbs_function(const void *context, const gw_nurbs_part *part, double *bound);

typedef struct gw_nurbs_least {
    double value; /* the least one that was found */
    double bound; /* no value on the shape is less: at least 9/10 of `value` where the search came
                     to its end, 1/2 where it came half-way; else -HUGE_VAL */
    gw_nurbs_part at; /* where it was found: without extent */
} gw_nurbs_least;

/* Searches at most `cells` parts. Ends at the first value that is not greater than `enough`. */
void gw_nurbs_least_value(const gw_nurbs *nurbs, gw_nurbs_function *function, const void *context,
                          double enough, int cells, gw_nurbs_least *least);

#endif
