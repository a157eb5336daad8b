/*
 * Massless objects that follow by joints: what an enabled joint joins to something that moves goes
 * rigidly with that, the joint at its position at the start.
 */
#ifndef GW_SCENE_JOINED_FOLLOWERS_H
#define GW_SCENE_JOINED_FOLLOWERS_H

#include "rt/scene/layout.h"

/* Enters `follow`, `carrier` and the pose of massless objects that no constraint joins, chains of
 * them too. `carrier`: of each object and link, what it moves rigidly with, -1: it stands. */
void gw_layout_carry_joined(const gw_scene *scene, gw_layout *layout, int *carrier);

#endif
