/*
 * Local models of mechanisms, computed beside the loop for those that run on one
 * (rt/dynamics/local_model.h, mechanisms VII): where joints are goes out, D^, G^ and U^ come back,
 * each by a latest-value mailbox. Computed on the world's thread, with collision detection
 * (detection.h).
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
    const gw_scene_system *const *systems; /* NULL: that one runs exactly */
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

/* Whether the system `index` runs on local models; else nothing below but start() is asked of it.
 */
bool gw_local_models_has(const gw_local_models *locals, int index);

/* A system that runs exactly goes over to a model made here, at its present position, unless it
 * outruns that; older models are discarded. Returns the energy that it brought (J). */
double gw_local_models_start(gw_local_models *locals, int index, gw_system *system,
                             const gw_resisted_def *def);

/* A tick that moves something begins: a model is as old as so many of them. */
void gw_local_models_tick(gw_local_models *locals, int index);

/* Its present position, and which resisted directions are wanted. */
void gw_local_models_publish(gw_local_models *locals, int index, gw_system *system,
                             const gw_resisted_def *def);

/* Goes over to the newest model, where it `takes` and there is one; to the exact one where it
 * outruns local models. Returns the energy that it brought (J). */
double gw_local_models_adopt(gw_local_models *locals, int index, gw_system *system, bool takes);

/* Distance or age of its model relative to the largest that it serves for, whichever is more: valid
 * up to 1. */
double gw_local_models_strain(const gw_local_models *locals, int index, gw_system *system);

/* U^ of the model that it runs on; NULL: it runs exactly. */
const gw_resisted_directions *gw_local_models_resisted(const gw_local_models *locals, int index);

#endif
