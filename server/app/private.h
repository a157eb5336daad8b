/*
 * Shared by the files of the app. Locks, in the order in which they may be taken:
 *
 *   stepping  one request of steps at a time, until its ticks are made
 *   stating   one request of a run state at a time, until the loop has taken it
 *   state  the text of the simulation's state; held while it is written, a copy of a snapshot
 *   edit   one edit at a time: the history, slots, everything that builds; may be held for long
 *   task   which task runs and how far it is; held for a copy
 *   view   the pointer to the newest document; held for a few instructions
 *   loop   the pointer to the loop, its commands, snapshots, events and records; held for a copy
 *   log    the event log
 *
 * The database has locks of its own, taken last.
 */
#ifndef GW_SERVER_APP_PRIVATE_H
#define GW_SERVER_APP_PRIVATE_H

#include <pthread.h>

#include "server/app/app.h"

struct app_diff;

/* Longest time between edits of a group (s): of one slider or motor; of a drag whose client names
 * the group. */
#define APP_GROUP_S        1.0
#define APP_STATED_GROUP_S 60.0
#define APP_SENSOR_S       0.1 /* at most, between values of a sensor: nobody waits for the disk */
#define APP_STORAGE_S      5.0 /* least time between events about the disk's refusals */
#define APP_MAX_RETIRED    64  /* device slots that the loop still uses */
#define APP_PRESSES        64  /* remembered presses of HALT */
#define APP_FLOODS         8   /* kinds of events that may occur every tick */

typedef struct app_slots {
    int count;
    gw_device_slot *slot[GW_MAX_DEVICES];
} app_slots;

typedef struct app_retired {
    gw_device_slot *slot;
    uint64_t revision; /* closed once the loop runs this scenario */
} app_retired;

/* Events of a kind that may occur every tick: a few a second are logged, each for several. */
typedef struct app_flood {
    gw_event worst;
    unsigned count; /* since the last event that was logged */
    double empty_s; /* CLOCK_MONOTONIC; see log.c */
} app_flood;

/* The task that runs, or ran last, and the thread that runs it. */
typedef struct app_task {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool created, quit;        /* the thread; quit: it shall end */
    bool busy;                 /* a task is starting or running */
    bool ready;                /* the simulation runs: the thread may start the task */
    bool stop;                 /* a request to stop the task */
    bool forget;               /* another scene was loaded: the task is no longer reported */
    gw_task task;              /* a copy; of the thread while busy */
    gw_task_run run;           /* used by the thread while busy */
    gw_snapshot now;           /* scratch of the thread: the loop's newest state */
    gw_task_progress progress; /* the newest */
    uint64_t runs;             /* so far: makes the tags of each run's commands unique */
} app_task;

/* The text of the simulation's state, and the values for which it was written. */
typedef struct app_state_text {
    gw_text *text; /* NULL: not written yet */
    uint64_t version, tick, steps_left, step_tag;
    gw_run_state state;
    gw_halt_word halt;
    double at_s; /* CLOCK_MONOTONIC: some figures change between ticks */
} app_state_text;

struct gw_app {
    pthread_mutex_t edit, view, loop_lock, log;
    bool best_effort;
    gw_loop_placement placement;
    app_task task;

    app_document *document;   /* view */
    pthread_mutex_t state;    /* before view and loop: of */
    app_state_text newest;    /* the newest state as text, */
    gw_snapshot newest_state; /* and scratch */
    struct gw_database *database;
    struct gw_history *history; /* edit */
    atomic_llong saved;         /* the history's state that was saved or opened last */
    char group[96];             /* edit: of the newest edit, and when it was made (s) */
    double group_s;
    gw_snapshot poses_now;         /* edit: scratch, the loop's state when the scene is laid out */
    app_document *group_base;      /* edit: before the first edit of the group; NULL: no group */
    double sensor_s;               /* edit: when geometry was moved last */
    app_slots slots;               /* edit, for the running document */
    struct gw_detector *detector;  /* edit: of the newest scenario */
    int64_t rehearsed_ms;          /* edit: when a rehearsal was built last (clock_ms()), */
    int64_t opening_ms;            /* and the opening of a file of the scene checked; */
    app_document *searched;        /* for which contacts were searched for then; NULL: none */
    atomic_llong check_opening_ms; /* clock_ms() at which to check the opening again; 0: never */
    atomic_ullong detectors_built, objects_solved, entries_written; /* since the start */
    atomic_bool ending;       /* requests that wait for ticks end with an error */
    atomic_bool arming;       /* a request to arm waits */
    pthread_mutex_t stepping; /* before all others: steps, one request at a time */
    pthread_mutex_t stating;  /* before `edit`: a run state, one request at a time */
    atomic_int steps_waiting; /* requests */
    uint64_t steps_asked;     /* stepping: number of requests so far, the tags of their commands */

    gw_halt_latch halt;                 /* no lock: any thread, and every loop */
    atomic_llong halted_ms;             /* when somebody halted last (clock_ms()) */
    atomic_uint presses;                /* of HALT that were named, so far */
    atomic_ullong pressed[APP_PRESSES]; /* n at n % APP_PRESSES: name's hash, second */
    gw_fault_log *faults;               /* no lock: every loop, any reader */
    unsigned fault_stored;     /* the newest that is stored: of app_store_fault()'s thread */
    gw_lease lease;            /* no lock: the stream's thread and every loop */
    char armed_by[GW_HALT_BY]; /* log: who armed last */

    gw_loop *loop;     /* loop */
    unsigned loops;    /* loop: started so far */
    bool recording;    /* loop: per-tick records are wanted */
    int retired_count; /* loop */
    app_retired retired[APP_MAX_RETIRED];

    double storage_s;                /* log: when the disk's refusal was reported */
    uint64_t seq;                    /* log: of the newest event */
    gw_text *events[APP_LOG_EVENTS]; /* log: event n at n % APP_LOG_EVENTS */
    app_flood floods[APP_FLOODS];    /* by kind, of the thread that takes events */
    atomic_bool branch_lost; /* geometry took a branch away: the next edit sends a whole scenario */

    void (*wake)(void *context);
    void *wake_context;
};

/* Creates the fault log, whose numbers go on from the stored ones; false with an error. */
bool app_open_faults(gw_app *app, gw_error *error);

/* ---- documents ----------------------------------------------------------------------------- */

/* A document of a scene and its layout, one reference. Takes over both, also on failure. */
app_document *app_document_new(gw_scene *scene, gw_layout *layout, gw_error *error);

/* Writes the scene's members as texts; entries that are equal in `base` (NULL: none) share its
 * text. To be called before the document is published. False with an error, GW_TOO_LARGE where the
 * scene is too long to be read again. */
bool app_document_write(app_document *document, const app_document *base, gw_error *error);

/* Shares the texts of solutions that are the same as in `base`, where it has any. */
void app_document_inherit(app_document *document, app_document *base, const struct app_diff *diff);

/* A member of the scene as text: for a list one text for each entry, otherwise one. */
typedef struct app_part {
    char name[24];
    bool list;
    int count;
    gw_text **texts;
} app_part;

/* The number of entries of long lists whose text is not shared with the document before. */
int app_document_written(const app_document *document);

/* An upper bound of the length of the scene as text, in bytes. */
size_t app_document_bytes(const app_document *document);

const app_part *app_document_parts(const app_document *document, int *count);

/* Publishes the document in place of the newest one, whose reference is released. Ownership
 * passes. */
void app_publish(gw_app *app, app_document *document);

void app_wake(gw_app *app);

/* As app_poses(), for a snapshot that may be of an earlier scenario, from `since` on: all edits
 * after `since` left every object its index. */
gw_pose *app_poses_of(const app_document *document, const gw_snapshot *snapshot, uint64_t since);

/* ---- initial_state.c
 * ----------------------------------------------------------------------------- */

/* Lays out the edit's scene from the poses of the snapshot, and sets how its bodies begin. NULL
 * with an error. */
gw_layout *app_lay_out_now(app_edit *edit, const gw_snapshot *snapshot, gw_error *error);

/* True where some body of the laid out edit does not simply go on. */
bool app_begins_any(const app_edit *edit);

/* Finds the entries that an edit renames when only its scene is known (undo, redo): entries of
 * another id at the same index that are equal otherwise. False when memory is short. */
bool app_edit_finds_renamed(app_edit *edit, gw_error *error);

/* Notes poses stated by the edit that have no effect at a start, since a joint states a
 * position. */
void app_note_overruled_poses(app_edit *edit, const gw_layout *layout, bool stopped);

/* Checks that joints are within the limits that the edit sets, unless the simulation is stopped;
 * notes joints that begin at a limit because their poses are beyond. False with an error. */
bool app_check_limits(app_edit *edit, const gw_layout *layout, bool stopped, gw_error *error);

/* Logs the same for the document with which the server starts. */
void app_log_beyond_limits(gw_app *app, const app_document *document);

/* True where the pose is finite and within GW_MAX_COORDINATE, so that a body can begin there. */
bool app_within_numbers(const gw_pose *pose);

/* ---- open_check.c -----------------------------------------------------------------------------
 */

/* Checks that the edit's scene could be opened as a file; false with an error. Under the edit
 * lock. */
bool app_opens_again(app_edit *edit, gw_error *error);

/* The edit is in effect: its document keeps the result of the check. */
void app_keep_opening(app_edit *edit);

/* The contact points of an opening as text for the history, NULL when memory is short; and
 * the layout of a scene that opens with these contact points (`contacts`: NULL to search for them),
 * NULL with an error. */
gw_text *app_write_contacts(const gw_layout *opening);
gw_layout *app_open_layout(const gw_scene *scene, const json_t *contacts, gw_error *error);

/* For checks that followed contacts: schedules a search over whole surfaces once the edits rest;
 * the time until it is due (ms), -1: none is scheduled; the search itself, which logs an event if
 * the scene could not be opened. The last one is called with no lock held. */
void app_check_opening_later(gw_app *app);
int64_t app_opening_due(const gw_app *app);
void app_check_opening(gw_app *app);

/* ---- the loop ------------------------------------------------------------------------------ */

/* For a stop after edits that were laid out from the loop's present poses: sends the loop a
 * scenario of the poses that the scene states. Under the edit lock. */
void app_lay_out_again(gw_app *app);

/* Geometry took a branch away from a tool: wakes the thread that calls app_resend_scenario(), which
 * sends a whole scenario, so that the tool moves to where its constraints hold. */
void app_branch_lost(gw_app *app);
void app_wake_tasks(gw_app *app);
void app_resend_scenario(gw_app *app);

/* Starts a new loop with newly opened devices for the document; ends the old ones. Under the edit
 * lock. */
bool app_start_loop(gw_app *app, app_document *document, gw_error *error);

/* Sends a command. For all but drags and pushes, which clients repeat, it waits while the ring is
 * full; the loop empties it every tick. */
bool app_send_command(gw_app *app, const gw_command *command, gw_error *error);

/* A few numbers of the newest snapshot, which is 100 kB. */
typedef struct app_loop_state {
    uint64_t tick, scenario;
    double time;
    gw_run_state state;
    bool halted;
    int tool_count;
    uint64_t steps_left, step_tag; /* see gw_snapshot */
    unsigned loops;                /* started so far: another number, another loop */
} app_loop_state;

app_loop_state app_loop_now(gw_app *app);

/* The newest snapshot. */
void app_snapshot(gw_app *app, gw_snapshot *snapshot);

/* Logs that an edit is in effect for which the loop sends no event. */
void app_log_in_effect(gw_app *app, uint64_t revision);

/* Logs an event of the loop; kinds that may occur every tick are combined. */
void app_log_loop(gw_app *app, const gw_event *event, const app_document *document);

/* Logs the combined events that are due; true where some are due. */
void app_log_floods(gw_app *app, const app_document *document);
bool app_log_due(const gw_app *app);

/* ---- tasks --------------------------------------------------------------------------------- */

/* Starts the thread that runs tasks; false with an error. */
bool app_task_create(gw_app *app, gw_error *error);

/* A scene was loaded: the task of the former scene is no longer reported. */
void app_task_forget(gw_app *app);

/* Ends the thread and the task that it runs. To be called before the loop ends. */
void app_task_destroy(gw_app *app);

/* ---- changes ------------------------------------------------------------------------------- */

/* The change from the scene of `from` to that of `to`, as JSON text: an array of [member] for a
 * removed one, [member, value], or, of lists, [member, at, removed, [added]]. NULL when memory is
 * short. */
gw_text *app_change(const app_document *from, const app_document *to);

#endif
