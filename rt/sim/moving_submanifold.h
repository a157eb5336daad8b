/*
 * A guided body, held or free, whose constraints' geometry has moved. On the loop's thread, RT
 * safe.
 */
#ifndef GW_SIM_MOVING_SUBMANIFOLD_H
#define GW_SIM_MOVING_SUBMANIFOLD_H

#include "rt/sim/kinematics.h"
#include "rt/dynamics/guided.h"

typedef enum gw_moving_submanifold_status {
    GW_SUBMANIFOLD_UNMOVED, /* nothing that it is joined to has moved since the last call */
    GW_SUBMANIFOLD_MOVED,
    GW_SUBMANIFOLD_GONE /* the branch is no longer there: the body stays on the former set */
} gw_moving_submanifold_status;

/* At a change of scenario while geometry is not as the layout has it: the set as it is now, the
 * same branch, next to a pose. */
void gw_moving_submanifold_at_switch(gw_kinematics *kinematics, int object, const char *branch,
                                     gw_guided_def *def, const gw_pose *near);

/* The pose of a body's set that is nearest to `near`; `otherwise` where none is within numbers. */
gw_pose gw_moving_submanifold_nearest(const gw_guided_def *def, const gw_pose *near,
                                      const gw_pose *otherwise);

/* The motion of that set with its geometry: that of the body's former set. */
gw_twist gw_moving_submanifold_twist(const gw_kinematics *kinematics, const gw_guided *was);

/* Goes over to the same branch (by its id) of the constraints of `object` as they are now: the body
 * goes on from where it is with the motion that it has, on a set that rides in `dt` seconds to
 * where it is to be, and stands again where the geometry does. Beside that the set may be shown
 * displaced, by `before` now and `after` then: both the identity where it is not. `kinematics`:
 * NULL where no geometry moves. */
gw_moving_submanifold_status gw_moving_submanifold_advance(gw_kinematics *kinematics, int object,
                                                           const char *branch, gw_guided *body,
                                                           const gw_pose *before,
                                                           const gw_pose *after, double dt);

#endif
