/*
 * Walking along a general set of one freedom. Any thread, RT safe.
 */
#ifndef GW_GEOM_CURVE_H
#define GW_GEOM_CURVE_H

#include "rt/geom/submanifold.h"

#define GW_CURVE_STEPS 500 /* of a walk, at the most */

/* Where a walk is, the unit tangent on in its direction, and the step to come. */
typedef struct gw_walk {
    const gw_submanifold *set;
    double size; /* of the problem (m): steps are in parts of it */
    gw_pose x;
    double tangent[6]; /* [v; size w] */
    double step;
    bool away; /* it has left its seed's surroundings */
} gw_walk;

typedef enum gw_trip {
    GW_ON_THE_WAY,
    GW_CLOSED, /* back at the seed */
    GW_GONE,   /* so far that it does not come back */
    GW_STUCK   /* no way on: the curve ends or branches here */
} gw_trip;

/* A walk from the set's seed, one way or (backward) the other. */
gw_walk gw_walk_from(const gw_submanifold *set, double size, bool backward);

/* One step along the tangent and back onto the rows: short where the curve bends. */
gw_trip gw_walk_on(gw_walk *walk);

/* True where the pose is on the curve, within half a step of the walk's place. */
bool gw_walk_passes(const gw_walk *walk, const gw_pose *pose);

/* True where the pose can be on the set's curve: unless a walk round it misses the pose. `best`
 * becomes the place of the walk that is nearest to `near`. */
bool gw_curve_has(const gw_submanifold *set, double size, const gw_pose *pose, const gw_pose *near,
                  double length, gw_pose *best);

#endif
