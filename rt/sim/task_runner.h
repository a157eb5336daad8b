/*
 * Execution of a task: a state machine that a host polls with snapshots. It returns the edits and
 * commands that the host has to carry out; progress is a plain value. It uses no thread and only
 * the simulation's clock and changes nothing itself: the same snapshots give the same actions.
 *
 *   idle -> running -> done | failed | stopped
 *
 * One thread at a time per run. Not for use inside a tick.
 */
#ifndef GW_SIM_TASK_RUNNER_H
#define GW_SIM_TASK_RUNNER_H

#include <stddef.h>

#include "rt/sim/simulation.h"

typedef enum gw_task_state {
    GW_TASK_IDLE,
    GW_TASK_RUNNING,
    GW_TASK_DONE,
    GW_TASK_FAILED,
    GW_TASK_STOPPED
} gw_task_state;

/* The reason why a step ended, or NONE. */
typedef enum gw_step_reason {
    GW_STEP_NONE,
    GW_STEP_APPLIED,      /* the constraints are satisfied */
    GW_STEP_REACHED,      /* the end of the path */
    GW_STEP_REACTION,     /* the guard: reaction force reached */
    GW_STEP_CONTACT,      /* the guard: a bound touched */
    GW_STEP_WAITED,       /* the waiting time is over */
    GW_STEP_NO_GUARD,     /* failed: end of the path without the required guard */
    GW_STEP_BLOCKED,      /* failed: no progress */
    GW_STEP_LOST,         /* failed: released, or another set during the motion */
    GW_STEP_REFUSED,      /* failed: the edit has no solution */
    GW_STEP_NO_PARAMETER, /* failed: the branch has no parameter of that name */
    GW_STEP_HALTED,       /* stopped by a halt */
    GW_STEP_STOPPED       /* stopped by a person, or with the simulation */
} gw_step_reason;

typedef struct gw_step_progress {
    gw_task_state state; /* idle: not begun */
    gw_step_reason reason;
    int parameter_count; /* of the object at the step's end, on its branch then */
    const char *names[6];
    double parameters[6];
    double reaction; /* along the motion at its end: N (slide) or N m (turn) */
    double seconds;  /* simulation time of the step */
} gw_step_progress;

typedef struct gw_task_progress {
    gw_task_state state;
    int step; /* index of the running or last step */
    int step_count;
    gw_step_progress steps[GW_MAX_STEPS];
    char message[256]; /* a sentence on how it ended; empty before */
} gw_task_progress;

const char *gw_task_state_name(gw_task_state state);
const char *gw_step_reason_name(gw_step_reason reason); /* NONE: "" */

/* Initial progress of a task: every step idle. */
gw_task_progress gw_task_progress_of(const gw_task *task);

/* The state that the host polls. */
typedef struct gw_task_view {
    const gw_snapshot *snapshot;
    /* The tool's branch in the snapshot's scenario; NULL while the host's document is not the one
     * that the loop runs. */
    const gw_submanifold *set;
} gw_task_view;

typedef enum gw_task_action_kind {
    GW_TASK_NOTHING,
    GW_TASK_EDIT,   /* apply the step's constraints, then call gw_task_edited() */
    GW_TASK_COMMAND /* send it to the simulation */
} gw_task_action_kind;

typedef struct gw_task_action {
    gw_task_action_kind kind;
    const gw_task_step *step; /* of the edit */
    gw_command command;
} gw_task_action;

typedef enum gw_task_phase {
    GW_PHASE_BEGIN,  /* of a step */
    GW_PHASE_EDIT,   /* the host applies the edit */
    GW_PHASE_TRAVEL, /* transition to the edit's set */
    GW_PHASE_MOVE,
    GW_PHASE_WAIT
} gw_task_phase;

typedef struct gw_task_run {
    const gw_task *task; /* the host's, alive as long as the run */
    int tool;
    gw_task_progress progress;
    gw_task_phase phase;
    double began;      /* simulation time when the step began (s) */
    uint64_t tag;      /* of the newest command */
    uint64_t revision; /* of the newest edit */
} gw_task_run;

/* Begins with the first step. `tag`: commands carry tag + 1, tag + 2 .. */
void gw_task_begin(gw_task_run *run, const gw_task *task, int tool, uint64_t tag);

/* Advances the state machine by at most one step's begin or end; returns the host's next action. */
gw_task_action gw_task_poll(gw_task_run *run, const gw_task_view *view);

/* Changes the scene to the constraints of a constrain step; false if they are there already. */
bool gw_task_edit(gw_scene *scene, int tool, const gw_task_step *step);

/* Reports that the host has applied the edit (`revision`: as the loop will report it), or why it
 * could not. */
void gw_task_edited(gw_task_run *run, bool done, uint64_t revision, const char *why);

/* Stops the task; `why` is a sentence. Returns the host's action: guided motion holds the tool. */
gw_task_action gw_task_stop(gw_task_run *run, gw_step_reason reason, const char *why);

/* A sentence about a step that ended: "Step 2 of 5: a wall touched after 1.2 s." */
void gw_task_step_sentence(const gw_task *task, const gw_task_progress *progress, int step,
                           char *out, size_t size);

#endif
