/*
 * Coordinate curves: the motion of a body along one freedom of a set, as a sequence of poses, for
 * display. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_COORDINATE_CURVE_H
#define GW_GEOMETRY_COORDINATE_CURVE_H

#include "rt/geometry/submanifold.h"

#define GW_COORDINATE_CURVE_MAX 48 /* poses to each side of the start */

typedef struct gw_coordinate_curve {
    int count;   /* of poses, in order; at least 1 */
    int here;    /* index of the start */
    bool closed; /* the last pose is one step before the first */
    gw_pose poses[2 * GW_COORDINATE_CURVE_MAX + 1];
} gw_coordinate_curve;

/*
 * The path of a freedom (0 .. dof - 1, in the order of the parameters) through a pose on the set,
 * at most `most` poses to each side, `step` (m) apart by gw_pose_distance(.., length). It ends at
 * the end of the parameter's range, or of the set.
 */
void gw_coordinate_curve_along(const gw_submanifold *set, const gw_pose *from, int freedom,
                               double length, double step, int most, gw_coordinate_curve *path);

#endif
