/*
 * Looks at mechanisms beside the loop, for those that run on a local model
 * (rt/dynamics/chain_local_model.h, mechanisms VII): where joints are goes out, D^, G^ and U^ come
 * back, each by a latest-value mailbox. A part of what detection.h has the world's thread do.
 */
#ifndef GW_SIM_LOCAL_MODELS_H
#define GW_SIM_LOCAL_MODELS_H

#include "rt/base/error.h"
#include "rt/haptics/operational_space.h"
#include "rt/dynamics/chain_local_model.h"

typedef struct gw_local_models gw_local_models;

typedef struct gw_local_models_def {
    int count;                                     /* mechanisms, at most GW_MAX_MECHANISMS */
    const gw_chain_def *chains[GW_MAX_MECHANISMS]; /* copied */
    double period;                                 /* between two looks (s) */
    double dt;                                     /* between two tells (s) */
} gw_local_models_def;

gw_local_models *gw_local_models_create(const gw_local_models_def *def, gw_error *error);
void gw_local_models_destroy(gw_local_models *locals); /* NULL is fine; nobody looks any more */

/* The world's side: looks at all mechanisms as they were told last. Any thread but the loop's, one
 * at a time. */
void gw_local_models_update(gw_local_models *locals);

/* ---- the loop's side, RT safe ------------------------------------------------------------------
 */

/* A chain that is exact begins to run on a look at where it is; looks from before are forgotten. */
void gw_local_models_start(gw_local_models *locals, int index, gw_chain *chain,
                           const gw_resisted_def *def);

/* Where it is now, and which directions are wanted: once a tick. */
void gw_local_models_publish(gw_local_models *locals, int index, const gw_chain *chain,
                             const gw_resisted_def *def);

/* Goes over to the newest look, where there is one; energy that it brought (J). */
double gw_local_models_adopt(gw_local_models *locals, int index, gw_chain *chain);

/* How far beyond what its look serves for: of the farthest reach, or of the longest time, whichever
 * is more. Good up to 1. */
double gw_local_models_strain(const gw_local_models *locals, int index, const gw_chain *chain);

/* U^ of the look that it runs on. */
const gw_resisted_directions *gw_local_models_resisted(const gw_local_models *locals, int index);

#endif
