/*
 * Asynchronous computation of local models of mechanisms (rt/dynamics/local_model.h, mechanisms
 * VII): joint positions go out, D^, G^ and U^ come back, each through a latest-value mailbox.
 * Computed on the world's thread, with collision detection (detection.h).
 *
 * A model is valid for two periods of that thread and a tick, and within the distance that the
 * mechanism can move in that time under a hand of 50 N and 5 N m. The held frame's kinematics stay
 * exact.
 */
#ifndef GW_SIM_LOCAL_MODELS_H
#define GW_SIM_LOCAL_MODELS_H

#include "rt/base/error.h"
#include "rt/haptics/operational_space.h"
#include "rt/dynamics/local_model.h"
#include "rt/scene/scene_system.h"

typedef struct gw_local_models gw_local_models;

/* Arrays of `count`, copied. */
typedef struct gw_local_models_def {
    int count;                             /* systems */
    const gw_scene_system *const *systems; /* NULL entries: exact model */
    const int *held;                       /* body with the held frame, for U^ */
    const gw_pose *body_from_held;
    double period; /* between two updates (s) */
    double dt;     /* of a tick (s) */
} gw_local_models_def;

gw_local_models *gw_local_models_create(const gw_local_models_def *def, gw_error *error);
void gw_local_models_destroy(gw_local_models *locals); /* NULL is fine; not while it is updated */

/* The world's side: models of all mechanisms at their newest positions. Any thread but the loop's,
 * one at a time. */
void gw_local_models_update(gw_local_models *locals);

/* ---- the loop's side, RT safe ------------------------------------------------------------------
 */

/* True if the system `index` uses local models; else only gw_local_models_start() may be called for
 * it. */
bool gw_local_models_has(const gw_local_models *locals, int index);

/* Switches a system from its exact model to a local one made at its present position, unless it
 * outruns local models; older models are discarded. Returns the change of energy (J). */
double gw_local_models_start(gw_local_models *locals, int index, gw_system *system,
                             const gw_resisted_def *def);

/* Begins a moving tick: increases the age of the model. */
void gw_local_models_tick(gw_local_models *locals, int index);

/* Publishes the present joint positions and the resisted directions requested. */
void gw_local_models_publish(gw_local_models *locals, int index, gw_system *system,
                             const gw_resisted_def *def);

/* Switches to the newest model if `takes` is true and there is one; to the exact model if the
 * system outruns local models. Returns the change of energy (J). */
double gw_local_models_adopt(gw_local_models *locals, int index, gw_system *system, bool takes);

/* The larger of the distance from the model's position and its age, each relative to its limit: up
 * to 1 the model is valid. */
double gw_local_models_validity(const gw_local_models *locals, int index, gw_system *system);

/* U^ of the local model in use; NULL: exact model. */
const gw_resisted_directions *gw_local_models_resisted(const gw_local_models *locals, int index);

#endif
