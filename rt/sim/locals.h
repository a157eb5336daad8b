/*
 * Looks at mechanisms beside the loop, for those that run on a local model
 * (rt/dynamics/chain_local.h, mechanisms VII): where joints are goes out, D^, G^ and U^ come back,
 * each by a latest-value mailbox. A part of what detection.h has the world's thread do.
 */
#ifndef GW_SIM_LOCALS_H
#define GW_SIM_LOCALS_H

#include "rt/base/error.h"
#include "rt/haptics/resisted.h"
#include "rt/dynamics/chain_local.h"

typedef struct gw_locals gw_locals;

typedef struct gw_locals_def {
    int count;                                     /* mechanisms, at most GW_MAX_MECHANISMS */
    const gw_chain_def *chains[GW_MAX_MECHANISMS]; /* copied */
    double period;                                 /* between two looks (s) */
    double dt;                                     /* between two tells (s) */
} gw_locals_def;

gw_locals *gw_locals_create(const gw_locals_def *def, gw_error *error);
void gw_locals_destroy(gw_locals *locals); /* NULL is fine; nobody looks any more */

/* The world's side: looks at all mechanisms as they were told last. Any thread but the loop's, one
 * at a time. */
void gw_locals_look(gw_locals *locals);

/* ---- the loop's side, RT safe ------------------------------------------------------------------
 */

/* A chain that is exact begins to run on a look at where it is; looks from before are forgotten. */
void gw_locals_begin(gw_locals *locals, int index, gw_chain *chain, const gw_resisted_def *def);

/* Where it is now, and which directions are wanted: once a tick. */
void gw_locals_tell(gw_locals *locals, int index, const gw_chain *chain,
                    const gw_resisted_def *def);

/* Goes over to the newest look, where there is one; energy that it brought (J). */
double gw_locals_take(gw_locals *locals, int index, gw_chain *chain);

/* How far beyond what its look serves for: of the farthest reach, or of the longest time, whichever
 * is more. Good up to 1. */
double gw_locals_strain(const gw_locals *locals, int index, const gw_chain *chain);

/* U^ of the look that it runs on. */
const gw_resisted *gw_locals_directions(const gw_locals *locals, int index);

#endif
