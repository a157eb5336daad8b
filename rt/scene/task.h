/*
 * A task: a sequence of steps that moves one object along its freedoms, as stated in a scene
 * (relational-positioning VI-B.1). rt/sim/ executes tasks.
 *
 * Plain structs; a task owns its steps (heap). Not for use inside a tick.
 */
#ifndef GW_SCENE_TASK_H
#define GW_SCENE_TASK_H

#include <stdbool.h>

#include "rt/base/limits.h"

typedef enum gw_step_kind {
    GW_STEP_CONSTRAIN, /* which constraints hold from here on, and on which branch */
    GW_STEP_MOVE,      /* along the freedoms, position and guard */
    GW_STEP_WAIT
} gw_step_kind;

/* Target of one parameter of the branch, by its name (submanifold.h). */
typedef struct gw_step_target {
    char name[16];
    bool relative; /* `value` is a change, not a position */
    double value;  /* m or rad, 1 of a free-form shape */
} gw_step_target;

typedef struct gw_task_step {
    gw_step_kind kind;

    /* constrain */
    int enable_count, disable_count;
    char enable[GW_MAX_STEP_IDS][GW_MAX_ID + 1];
    char disable[GW_MAX_STEP_IDS][GW_MAX_ID + 1];
    char branch[16]; /* empty: the nearest */

    /* move */
    int target_count;
    gw_step_target targets[6];
    double speed, spin; /* m/s, rad/s */
    bool guarded;       /* `until` is given */
    double reaction;    /* N along a slide, N m about a turn; 0: no such guard */
    bool contact;       /* stop at a contact that was open when the move began */
    bool required;      /* reaching the end without the guard is a failure */

    /* wait */
    double seconds;
} gw_task_step;

/* Defaults of a move. */
#define GW_STEP_SPEED 0.05 /* m/s */
#define GW_STEP_SPIN  0.5  /* rad/s */

typedef struct gw_task {
    char id[GW_MAX_ID + 1];
    char name[128];
    char object[GW_MAX_ID + 1]; /* that a tool holds when the task starts */
    int step_count;
    gw_task_step *steps; /* owned */
} gw_task;

/* A deep copy (false: memory is exhausted, `to` has no steps); gw_task_finish() frees the steps. */
bool gw_task_copy(gw_task *to, const gw_task *from);
void gw_task_finish(gw_task *task);

#endif
