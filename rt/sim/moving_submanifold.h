/*
 * Moves the submanifold of a guided body, held or free, when the geometry of its constraints has
 * moved. On the loop's thread, RT safe.
 */
#ifndef GW_SIM_MOVING_SUBMANIFOLD_H
#define GW_SIM_MOVING_SUBMANIFOLD_H

#include "rt/sim/kinematics.h"
#include "rt/dynamics/guided.h"

typedef enum gw_moving_submanifold_status {
    GW_SUBMANIFOLD_UNMOVED, /* no geometry of its constraints has moved since the last call */
    GW_SUBMANIFOLD_MOVED,
    GW_SUBMANIFOLD_GONE /* the branch no longer exists: the body stays on the former set */
} gw_moving_submanifold_status;

/* At a change of scenario with geometry displaced from the layout: sets def->set to the same branch
 * for the present geometry, near a pose. */
void gw_moving_submanifold_at_switch(gw_kinematics *kinematics, int object, const char *branch,
                                     gw_guided_def *def, const gw_pose *near);

/* The pose of the set nearest to `near`; `otherwise` where the projection is not finite. */
gw_pose gw_moving_submanifold_nearest(const gw_guided_def *def, const gw_pose *near,
                                      const gw_pose *otherwise);

/* The twist of the set due to its moving geometry, from the body `was` on the former set. */
gw_twist gw_moving_submanifold_twist(const gw_kinematics *kinematics, const gw_guided *was);

/* Replaces the body's set by the same branch (by its id) of the present constraints of `object`.
 * The body keeps pose and motion, on a set whose base motion reaches the new set in `dt` seconds
 * and ends when the geometry stops. In addition the set may be displaced by a transition: by
 * `before` at the start and `after` at the end, identities if there is none. `kinematics`: NULL if
 * no geometry moves. */
gw_moving_submanifold_status gw_moving_submanifold_advance(gw_kinematics *kinematics, int object,
                                                           const char *branch, gw_guided *body,
                                                           const gw_pose *before,
                                                           const gw_pose *after, double dt);

#endif
