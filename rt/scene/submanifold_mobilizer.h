/*
 * The joint that moves as a set of poses does, where there is one: what the positioning solver
 * leaves of two bodies' constraints becomes a joint between them. Pure functions.
 */
#ifndef GW_SCENE_SUBMANIFOLD_MOBILIZER_H
#define GW_SCENE_SUBMANIFOLD_MOBILIZER_H

#include "rt/dynamics/mobilizer.h"
#include "rt/geometry/submanifold.h"

/* Its type; GW_MOBILIZER_FREE where no joint moves so. */
gw_mobilizer gw_submanifold_mobilizer(const gw_submanifold *set);

/* Whether a system takes the set itself as a joint (GW_MOBILIZER_SUBMANIFOLD). */
bool gw_submanifold_is_mobilizer(const gw_submanifold *set);

/* Frames of that joint at the pose b_from_a. The point that moves on the locus is M's origin and
 * the locus F's, or the other way round where the locus is the body's. */
void gw_submanifold_mobilizer_frames(const gw_submanifold *set, gw_mobilizer type,
                                     const gw_pose *b_from_a, gw_pose *a_from_m, gw_pose *b_from_f);

#endif
