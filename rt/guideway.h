/*
 * Guideway's library, in one page: a scene in, ticks, snapshots out.
 *
 *     gw_error error = {0};
 *     gw_sim *sim = gw_sim_create(scene, &error);      lay out, open devices, build; NULL: error
 *     gw_sim_command(sim, &command);                   run, pause, drag, push, guide, switch
 *     gw_sim_step(sim, 1000);                          a thousand ticks, as fast as they go
 *     const gw_snapshot *now = gw_sim_snapshot(sim);   the state before the last tick's step
 *     gw_sim_destroy(sim);
 *
 * A scene is a plain struct (rt/scene/scene.h), filled in by a program or read from a file by the
 * server's decoder; its author checks it with gw_scene_check(). SI units and radians inside and
 * out, right-handed frames, z up, quaternions w x y z of unit length, vectors in world axes unless
 * a name says otherwise (`world_from_tool`).
 *
 * Errors. Invalid input is reported by value: a function returns NULL or false and fills in a
 * gw_error that says what is wrong, where in the scene (a JSON pointer) and what would be right;
 * nothing has changed then. A programmer's error (a null pointer, an index out of range) asserts.
 *
 * Threads. A gw_sim belongs to one thread at a time; two gw_sims share nothing. The same scene,
 * commands and ticks give bitwise the same result. gw_sim_step() allocates nothing and takes no
 * lock; collision detection and local models run between two ticks, as often as the scene says. In
 * real time the same simulation runs on a thread of its own, which other threads command and read
 * without blocking it: rt/sim/loop.h.
 *
 * Where to read on: rt/positioning/solve.h (constraints to sets of poses, by itself),
 * rt/scene/scene.h and layout.h (the document and its solution), rt/sim/simulation.h (all commands,
 * the snapshot's fields, events), rt/sim/task_runner.h (tasks), drivers/driver.h (devices).
 */
#ifndef GW_GUIDEWAY_H
#define GW_GUIDEWAY_H

#include "rt/base/error.h"
#include "rt/base/limits.h"
#include "rt/base/space.h"
#include "rt/dynamics/system.h"
#include "rt/geometry/coordinate_curve.h"
#include "rt/geometry/mesh.h"
#include "rt/geometry/nurbs_build.h"
#include "rt/geometry/nurbs_mesh.h"
#include "rt/geometry/nurbs_primitive.h"
#include "rt/haptics/renderable.h"
#include "rt/positioning/solve.h"
#include "rt/scene/assembly.h"
#include "rt/scene/layout.h"
#include "rt/scene/scene.h"
#include "rt/scene/surface.h"
#include "rt/sim/loop.h"
#include "rt/sim/scenario.h"
#include "rt/sim/simulation.h"
#include "rt/sim/task_runner.h"

/* ---- create and destroy --------------------------------------------------------------------- */

typedef struct gw_sim gw_sim;

/* Lays the scene out, opens its devices and builds the simulation, stopped at tick 0. The scene is
 * read during the call only. NULL with an error: constraints that contradict one another
 * (GW_INCOMPATIBLE) or that the solver does not handle (GW_UNHANDLED), a device that does not open,
 * memory. */
gw_sim *gw_sim_create(const gw_scene *scene, gw_error *error);

/* Puts devices into their safe state, closes them and frees all memory. NULL is fine. */
void gw_sim_destroy(gw_sim *sim);

/* ---- commands ------------------------------------------------------------------------------- */

/* Takes effect before the next tick. GW_COMMAND_SCENARIO is not allowed here: call gw_sim_change().
 * The operator's program that a command replaces is freed. */
void gw_sim_command(gw_sim *sim, const gw_command *command);

/* Runs, pauses, or stops (tick 0 and the scene's poses): GW_RUNNING, GW_PAUSED, GW_STOPPED. */
void gw_sim_set_state(gw_sim *sim, gw_run_state state);

/* Replaces the scene by a changed one with the same objects and devices. It is laid out from the
 * current poses, and the held object moves onto its new set by a bumpless transition. False with an
 * error: the former scene stays in effect. */
bool gw_sim_change(gw_sim *sim, const gw_scene *scene, gw_error *error);

/* ---- steps ---------------------------------------------------------------------------------- */

/* Makes `ticks` ticks of 1 / rate seconds each (paused: devices are serviced, nothing moves). Each
 * is timed; the snapshot has the figures. */
void gw_sim_step(gw_sim *sim, uint64_t ticks);

/* Pauses, and updates the snapshot to the state at the end of the last step. */
void gw_sim_finish(gw_sim *sim);

/* ---- what it tells -------------------------------------------------------------------------- */

/* The state before the last tick's step and the wrenches that acted in it; tick 0 before any. Valid
 * until the next step. */
const gw_snapshot *gw_sim_snapshot(const gw_sim *sim);

/* The oldest event not yet taken; false when there is none. The last 64 between two steps are kept.
 */
bool gw_sim_event(gw_sim *sim, gw_event *event);

/* The solution of the scene: branches, poses at tick 0. Valid until the next change. */
const gw_layout *gw_sim_layout(const gw_sim *sim);

/* Number of the newest scene, from 1; a snapshot of it has the same `revision`. */
uint64_t gw_sim_revision(const gw_sim *sim);

/* Pose of every object of the scene, fixed ones included, as of the snapshot (index:
 * gw_scene_object()), followed by the poses of all links. Valid until the next step. */
const gw_pose *gw_sim_poses(gw_sim *sim);

#endif
