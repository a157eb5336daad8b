/*
 * Kinematics of a scene: objects that follow what a hand moves, without mass, and geometry that is
 * moved from outside. Part of a scenario: built with it on a server thread, then the loop's alone.
 *
 * A tick calls gw_kinematics_advance() before the tools step, which moves geometry and puts what
 * stands on it in place, and gw_kinematics_follow() after, which makes the rest follow the hands.
 * Both are RT safe.
 */
#ifndef GW_SIM_KINEMATICS_H
#define GW_SIM_KINEMATICS_H

#include <stdint.h>

#include "rt/scene/layout.h"
#include "rt/sim/new_names.h"

typedef struct gw_kinematics gw_kinematics;

/* A network of the scene as laid out; NULL with an error: memory. */
gw_kinematics *gw_kinematics_create(const gw_scene *scene, const gw_layout *layout,
                                    gw_error *error);
void gw_kinematics_destroy(gw_kinematics *kinematics); /* NULL is fine */

/* Everything where the layout put it. */
void gw_kinematics_reset(gw_kinematics *kinematics);

/* ---- followers ------------------------------------------------------------------------------- */

/* Says where a held object is shown. */
void gw_kinematics_set_held(gw_kinematics *kinematics, int object,
                            const gw_pose *world_from_object);

/* Moves what follows. False where something cannot follow: then it is where it was before the call,
 * and so should the hands be; unless `forced`, when it comes as near as it can. */
bool gw_kinematics_follow(gw_kinematics *kinematics, bool forced);

/* An object that is not where the layout has it, or may leave it. */
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

/* Takes a new value at tick `tick`. Values that come in a row are joined by straight lines, each
 * reached when the next is due; a single one is reached at bounded speed. */
void gw_kinematics_move(gw_kinematics *kinematics, const gw_moved_geometry *moved, uint64_t tick,
                        int rate);

/* Its objects and features get the hashes that they have in the next scenario. RT safe. */
void gw_kinematics_rename(gw_kinematics *kinematics, const gw_new_names *names);

/* Another scenario's network goes over to this one: geometry is where `old` has it and goes from
 * there to where this layout has it, what stands on it waits there. RT safe. */
void gw_kinematics_carry_over(gw_kinematics *kinematics, const gw_kinematics *old, uint64_t tick,
                              int rate);

/* Goes on by a tick with what is moving, and solves again what stands on it. False where nothing
 * moves. */
bool gw_kinematics_advance(gw_kinematics *kinematics);

/* Fixed objects that are on their way, or came to where they are by one: at most `capacity` of
 * them; returns how many. */
int gw_kinematics_moved_fixed(const gw_kinematics *kinematics, gw_follower *moved, int capacity);

/* A feature of an object: an element in the object's frame, the value of a stated feature. */
typedef struct gw_geometry_feature {
    int object, feature; /* index in the scene; -1: not a stated feature */
    gw_element element;  /* as laid out */
} gw_geometry_feature;

/* Whether any geometry moved since the layout. Where it did: what an end is now, in its object's
 * frame; and where an object stands, which is the layout's pose of what a hand or a model moves. */
bool gw_kinematics_moved(const gw_kinematics *kinematics);
gw_element gw_kinematics_element(const gw_kinematics *kinematics, const gw_geometry_feature *end);
gw_pose gw_kinematics_pose(const gw_kinematics *kinematics, int object);

/* The constraints of a held or a free object, in the layout's order, with their geometry as it is
 * now: how many (room for GW_MAX_PROBLEM), or -1 where it has not moved since the last call. */
int gw_kinematics_problem(gw_kinematics *kinematics, int object, gw_constraint *constraints);

/* Whether all that the object's constraints join it to moved as one rigid body in this tick, and
 * how (from world to world). */
bool gw_kinematics_motion(gw_kinematics *kinematics, int object, gw_pose *motion);

#endif
