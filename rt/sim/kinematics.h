/*
 * Kinematics of a scene: followers (massless objects constrained to held ones), and geometry that
 * is moved from outside. Part of a scenario: built with it on a server thread, then used by the
 * loop's thread alone.
 *
 * A tick calls gw_kinematics_advance() before the tools step, which moves geometry and solves the
 * objects that depend on it, and gw_kinematics_follow() after the step, which solves the followers
 * of held objects. Both are RT safe.
 */
#ifndef GW_SIM_KINEMATICS_H
#define GW_SIM_KINEMATICS_H

#include <stdint.h>

#include "rt/scene/layout.h"
#include "rt/sim/new_names.h"

typedef struct gw_kinematics gw_kinematics;

/* Builds the constraint network of the scene as laid out; NULL with an error: memory. */
gw_kinematics *gw_kinematics_create(const gw_scene *scene, const gw_layout *layout,
                                    gw_error *error);
void gw_kinematics_destroy(gw_kinematics *kinematics); /* NULL is fine */

/* Resets all poses to the layout. */
void gw_kinematics_reset(gw_kinematics *kinematics);

/* ---- followers ------------------------------------------------------------------------------- */

/* Sets the pose at which a held object is displayed. */
void gw_kinematics_set_held(gw_kinematics *kinematics, int object,
                            const gw_pose *world_from_object);

/* Solves the followers. False where one cannot follow: all are then as before the call, and the
 * caller has to revert the hands' step; with `forced` followers go as near as they can instead. */
bool gw_kinematics_follow(gw_kinematics *kinematics, bool forced);

/* An object that has left its layout pose, or may leave it. */
typedef struct gw_follower {
    int object; /* index in the scene */
    gw_pose world_from_object;
} gw_follower;

/* At most `capacity` of them; returns how many. */
int gw_kinematics_followers(const gw_kinematics *kinematics, gw_follower *followers, int capacity);

/* ---- geometry that is moved from outside ------------------------------------------------------
 */

/* A new value of a stated feature, or where `feature` is -1 a new pose of a fixed object. */
typedef struct gw_moved_geometry {
    int feature; /* index in the scene's features */
    int object;  /* index in the scene's objects */
    gw_element element;
    gw_pose pose;
} gw_moved_geometry;

/* Takes a new value at tick `tick`. Values within 0.1 s of one another are interpolated linearly,
 * each reached when the next is due; a single value is approached from rest to rest. No element
 * moves faster than 0.25 m/s or 1 rad/s. At most 64 values are approached at once: a further one
 * completes one of them. */
void gw_kinematics_move(gw_kinematics *kinematics, const gw_moved_geometry *moved, uint64_t tick,
                        int rate);

/* Gives objects and features the name hashes of the next scenario. RT safe. */
void gw_kinematics_rename(gw_kinematics *kinematics, const gw_new_names *names);

/* Takes over the state of the former scenario's network: geometry starts where `old` has it and
 * moves to this layout's values, and motions to a value that is still valid continue; objects that
 * depend on it start there as well. RT safe. */
void gw_kinematics_carry_over(gw_kinematics *kinematics, const gw_kinematics *old, uint64_t tick,
                              int rate);

/* Advances moving geometry by a tick and solves the objects that depend on it. False where nothing
 * moves. */
bool gw_kinematics_advance(gw_kinematics *kinematics);

/* Fixed objects that move, or have been moved since the layout: at most `capacity`; returns how
 * many. */
int gw_kinematics_moved_fixed(const gw_kinematics *kinematics, gw_follower *moved, int capacity);

/* A feature of an object: an element in the object's frame, or a stated feature. */
typedef struct gw_geometry_feature {
    int object, feature; /* index in the scene; -1: not a stated feature */
    gw_element element;  /* as laid out */
} gw_geometry_feature;

/* True if any geometry has moved since the layout. If so: the present element of a constraint's end
 * in its object's frame; and the present pose of an object (the layout's pose if a hand or a model
 * moves it). */
bool gw_kinematics_moved(const gw_kinematics *kinematics);
gw_element gw_kinematics_element(const gw_kinematics *kinematics, const gw_geometry_feature *end);
gw_pose gw_kinematics_pose(const gw_kinematics *kinematics, int object);

/* The constraints of a held or a free object, in the layout's order, with their geometry as it is
 * now: how many (room for GW_MAX_PROBLEM), or -1 where it has not moved since the last call. */
int gw_kinematics_problem(gw_kinematics *kinematics, int object, gw_constraint *constraints);

/* True if all geometry that the object's constraints refer to moved as one rigid body in this tick;
 * `motion` is the displacement (world to world). */
bool gw_kinematics_motion(gw_kinematics *kinematics, int object, gw_pose *motion);

#endif
