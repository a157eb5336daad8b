/*
 * Geodesics of a general set: the straightest path from a pose on it, and the exponential map that
 * parameterises the whole of a connected set by its tangent space at the seed. The parameters of
 * gw_submanifold_try_pose() are cheaper, and end where the set folds over that space; near the seed
 * both are the same to first order. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_GEODESIC_H
#define GW_GEOMETRY_GEODESIC_H

#include "rt/geometry/submanifold.h"

typedef struct gw_geodesic {
    gw_submanifold *set; /* general; the parameters of its free-form rows are updated */
    double length;       /* of the metric (m) */
    gw_pose x;           /* the present pose */
    double direction[6]; /* the unit tangent there, [v; length w] */
    int tried;           /* steps, halved ones too: their number is bounded */
} gw_geodesic;

/* From a pose on the set, along the tangent closest to `direction` ([v; length w]). */
gw_geodesic gw_geodesic_from(gw_submanifold *set, const gw_pose *pose, const double direction[6],
                             double length);

/* Advances by `step` (m), projecting onto the rows, in shorter steps at high curvature. False if
 * the set ends or is singular before that: the geodesic is then unchanged. */
bool gw_geodesic_step(gw_geodesic *geodesic, double step);

/* The unit of the exponential map (m), by which rotations are weighted: the largest of the rows'
 * values and of the distances of their points from the body's origin and from their elements at the
 * seed; 1 if that is zero. */
double gw_exponential_map_unit(const gw_submanifold *set);

/*
 * Exponential map: the end of the geodesic from the seed whose initial tangent and length are z
 * (dof values, m), in the basis of gw_submanifold_tangent() there with the unit above. False if the
 * path leaves the set earlier; `pose` is then the end of the path.
 */
bool gw_exponential_map(const gw_submanifold *set, const double *z, gw_pose *pose);

#endif
