/*
 * Massless objects that follow by joints: an object that an enabled joint connects to a moving body
 * moves rigidly with it, with the joint at its initial position.
 */
#ifndef GW_SCENE_JOINED_FOLLOWERS_H
#define GW_SCENE_JOINED_FOLLOWERS_H

#include "rt/scene/layout.h"

/* Sets `follow`, `carrier` and the pose of massless objects without constraints that joints connect
 * to a body, directly or in chains. `carrier`: for each object and link the body with which it
 * moves rigidly, -1: none. */
void gw_layout_carry_joined(const gw_scene *scene, gw_layout *layout, int *carrier);

#endif
