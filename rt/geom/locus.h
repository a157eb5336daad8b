/*
 * Loci of one point: from parameters to the point, back, and the nearest point. Inside of
 * rt/geom. Any thread, RT safe.
 */
#ifndef GW_GEOM_LOCUS_H
#define GW_GEOM_LOCUS_H

#include "rt/geom/submanifold.h"

/* P(z); z holds as many values as the locus has dimensions. */
gw_vec3 gw_locus_point(const gw_locus *locus, const double *z);

/* The z of a point on the locus. */
void gw_locus_parameters(const gw_locus *locus, gw_vec3 point, double *z);

/* The point of the locus nearest to `point`; where many are, one of them. */
gw_vec3 gw_locus_nearest(const gw_locus *locus, gw_vec3 point);

/* Tangent directions dP/dz (unit, mutually perpendicular) at a point on the locus; returns their
 * number. */
int gw_locus_tangent(const gw_locus *locus, gw_vec3 point, gw_vec3 out[3]);

/* The dimension of a locus of this kind; -1 for a general one. */
int gw_locus_dof(gw_locus_kind kind);

#endif
