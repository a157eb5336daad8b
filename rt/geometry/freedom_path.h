/*
 * Strands: the way of a body along one freedom of a set, as poses in order, to draw and to show
 * what the freedom is. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_FREEDOM_PATH_H
#define GW_GEOMETRY_FREEDOM_PATH_H

#include "rt/geometry/submanifold.h"

#define GW_FREEDOM_PATH_MAX 48 /* poses to each side of where it begins */

typedef struct gw_freedom_path {
    int count;   /* of poses, in order; at least 1 */
    int here;    /* index of the pose where it begins */
    bool closed; /* the last pose is one step before the first */
    gw_pose poses[2 * GW_FREEDOM_PATH_MAX + 1];
} gw_freedom_path;

/*
 * The strand of a freedom (0 .. dof - 1, in the order of the parameters) through a pose on the set,
 * at most `most` poses to each side, `step` (m) apart by gw_pose_distance(.., length). It ends
 * where a parameter's range does, or where the set lets it go no further.
 */
void gw_freedom_path_along(const gw_submanifold *set, const gw_pose *from, int freedom,
                           double length, double step, int most, gw_freedom_path *strand);

#endif
