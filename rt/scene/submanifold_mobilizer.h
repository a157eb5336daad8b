/*
 * The joint whose relative poses are a given submanifold of SE(3): converts the set that the
 * positioning solver finds for the constraints of two bodies into a joint. Pure functions.
 */
#ifndef GW_SCENE_SUBMANIFOLD_MOBILIZER_H
#define GW_SCENE_SUBMANIFOLD_MOBILIZER_H

#include "rt/dynamics/mobilizer.h"
#include "rt/geometry/submanifold.h"

/* The joint type of the set; GW_MOBILIZER_FREE if there is none. */
gw_mobilizer gw_submanifold_mobilizer(const gw_submanifold *set);

/* True if a system accepts the set itself as a joint (GW_MOBILIZER_SUBMANIFOLD). */
bool gw_submanifold_is_mobilizer(const gw_submanifold *set);

/* Frames M and F of that joint at the pose b_from_a. For a point on a locus the point is M's origin
 * and the locus is fixed to F, or the reverse if the locus is fixed to the body. */
void gw_submanifold_mobilizer_frames(const gw_submanifold *set, gw_mobilizer type,
                                     const gw_pose *b_from_a, gw_pose *a_from_m, gw_pose *b_from_f);

#endif
