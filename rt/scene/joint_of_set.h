/*
 * The joint that moves as a set of poses does, where there is one: what the positioning solver
 * leaves of two bodies' constraints becomes a joint between them. Pure functions.
 */
#ifndef GW_SCENE_JOINT_OF_SET_H
#define GW_SCENE_JOINT_OF_SET_H

#include "rt/dynamics/mobilizer.h"
#include "rt/geometry/submanifold.h"

/* Its type; GW_MOBILIZER_FREE where no joint moves so. */
gw_mobilizer gw_joint_of_set(const gw_submanifold *set);

/* Whether a system takes the set itself as a joint (GW_MOBILIZER_SUBMANIFOLD). */
bool gw_set_is_joint(const gw_submanifold *set);

/* Frames of that joint at the pose b_from_a. The point that moves on the locus is M's origin and
 * the locus F's, or the other way round where the locus is the body's. */
void gw_joint_frames_of_set(const gw_submanifold *set, gw_mobilizer type, const gw_pose *b_from_a,
                            gw_pose *a_from_m, gw_pose *b_from_f);

#endif
