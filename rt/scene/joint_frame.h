/*
 * Frames of a scene's joints: M, fixed to the body of side `a`, and F, fixed to the body of side
 * `b` (rt/dynamics/mobilizer.h). Not for use inside a tick.
 */
#ifndef GW_SCENE_JOINT_FRAME_H
#define GW_SCENE_JOINT_FRAME_H

#include "rt/scene/scene.h"

/* Frames of a joint that is not a gear, in the frames of the objects, links or the world. The frame
 * of a line or a plane leaves its rotation about z open: it is chosen so that the joint's position
 * is zero at the scene's poses, and true is returned. */
bool gw_scene_joint_frames(const gw_scene *scene, const gw_scene_joint *joint, gw_pose *a_from_m,
                           gw_pose *b_from_f);

/* Pose of M in F at the stated position of the joint; false if none is stated, and for gears. */
bool gw_scene_joint_stated_pose(const gw_scene_joint *joint, gw_pose *f_from_m);

/* The joint's stated position, else the position at the scene's poses (m, rad). */
void gw_scene_joint_position(const gw_scene *scene, const gw_scene_joint *joint,
                             double position[6]);

#endif
