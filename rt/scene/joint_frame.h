/*
 * Frames of a scene's joints: where M stands on what side `a` names, and F on what side `b` names
 * (rt/dynamics/mobilizer.h). Not for use inside a tick.
 */
#ifndef GW_SCENE_JOINT_FRAME_H
#define GW_SCENE_JOINT_FRAME_H

#include "rt/scene/scene.h"

/* Frames of a joint that is no gear, in the frames of the objects, links or the world. The turn of
 * a line's or a plane's frame about its z is taken so that the joint's position is zero at the
 * scene's poses; true where it was open so. */
bool gw_scene_joint_frames(const gw_scene *scene, const gw_scene_joint *joint, gw_pose *a_from_m,
                           gw_pose *b_from_f);

/* Where the frame of a stands in that of b as the joint's position is stated; false where it is
 * not, and for gears. */
bool gw_scene_joint_stated_pose(const gw_scene_joint *joint, gw_pose *f_from_m);

/* The joint's position as it is stated, else where the scene's poses have it (m, rad). */
void gw_scene_joint_position(const gw_scene *scene, const gw_scene_joint *joint,
                             double position[6]);

#endif
