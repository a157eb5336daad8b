/*
 * Shared by the files of the app. Locks, in the order in which they may be taken:
 *
 *   stepping  one request of steps at a time, until its ticks are made
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

/* Between edits of a group at most, s: of one slider or motor; of a drag whose group is stated. */
#define APP_GROUP_S        1.0
#define APP_STATED_GROUP_S 60.0
#define APP_SENSOR_S       0.1 /* between values of a sensor, at most: nobody waits for the disk */
#define APP_STORAGE_S      5.0 /* between events of the disk's refusals */
#define APP_MAX_RETIRED    64  /* device slots that wait for the loop to let go */
#define APP_PRESSES        64  /* of HALT that are known again */
#define APP_FLOODS         7   /* kinds of events that may come every tick */

typedef struct app_slots {
    int count;
    gw_device_slot *slot[GW_MAX_DEVICES];
} app_slots;

typedef struct app_retired {
    gw_device_slot *slot;
    uint64_t revision; /* closed once the loop runs this scenario */
} app_retired;

/* Events of a kind that comes in floods: a few a second are written down, for all of them. */
typedef struct app_flood {
    gw_event worst;
    unsigned count; /* since the last one that was written down */
    double empty_s; /* CLOCK_MONOTONIC; see log.c */
} app_flood;

/* The task that runs, or ran last, and the thread that runs it. */
typedef struct app_task {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool created, quit;        /* the thread; quit: it shall end */
    bool busy;                 /* a task is starting or runs */
    bool ready;                /* the simulation runs: the thread may take it */
    bool stop;                 /* somebody wants it to stop */
    bool forget;               /* another scene was loaded: nothing is known of it any more */
    gw_task task;              /* a copy; of the thread while busy */
    gw_task_run run;           /* of the thread while busy */
    gw_task_progress progress; /* the newest */
    uint64_t runs;             /* so far: commands of each have tags of their own */
} app_task;

/* The text about the simulation, and its time. */
typedef struct app_state_text {
    gw_text *text; /* NULL: nothing yet */
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

    app_document *document; /* view */
    pthread_mutex_t state;  /* before view and loop: of */
    app_state_text newest;  /* the newest state as text, */
    struct gw_database *database;
    struct gw_history *history; /* edit */
    atomic_llong saved;         /* the history's state that was saved or opened last */
    char group[96];             /* edit: of the newest edit, and when it was made (s) */
    double group_s;
    app_document *group_base;      /* edit: before the first edit of the group; NULL: no group */
    double sensor_s;               /* edit: when geometry was moved last */
    app_slots slots;               /* edit, for the running document */
    struct gw_detector *detector;  /* edit: of the newest scenario */
    int64_t rehearsed_ms;          /* edit: when a rehearsal was built last (clock_ms()), */
    int64_t opening_ms;            /* and the opening of a file of the scene checked; */
    app_document *searched;        /* for which contacts were searched for then; NULL: none */
    atomic_llong check_opening_ms; /* when that is to be checked again; 0: it needs not */
    atomic_ullong detectors_built, objects_solved, entries_written; /* since the start */
    atomic_bool ending;       /* nobody waits for ticks any more */
    atomic_bool arming;       /* somebody's arming waits */
    pthread_mutex_t stepping; /* before all others: steps, one request at a time */
    atomic_int steps_waiting; /* requests */
    uint64_t steps_asked;     /* stepping: requests so far, tags of their commands */

    gw_halt_latch halt;                 /* no lock: any thread, and every loop */
    atomic_llong halted_ms;             /* when somebody halted last (clock_ms()) */
    atomic_uint presses;                /* of HALT that were named, so far */
    atomic_ullong pressed[APP_PRESSES]; /* press n at n % APP_PRESSES: its hash and its second */
    gw_fault_log *faults;               /* no lock: every loop, any reader */
    gw_lease lease;                     /* no lock: the stream's thread and every loop */
    char armed_by[GW_HALT_BY];          /* log: who armed last */

    gw_loop *loop;     /* loop */
    bool recording;    /* loop: per-tick records are wanted */
    int retired_count; /* loop */
    app_retired retired[APP_MAX_RETIRED];

    double storage_s;                /* log: when the disk's refusal was reported */
    uint64_t seq;                    /* log: of the newest event */
    gw_text *events[APP_LOG_EVENTS]; /* log: event n at n % APP_LOG_EVENTS */
    app_flood floods[APP_FLOODS];    /* of the thread that pumps, one a kind */
    atomic_bool left_behind; /* geometry took a branch away: what is next is handed over whole */

    void (*wake)(void *context);
    void *wake_context;
};

/* ---- documents ----------------------------------------------------------------------------- */

/* A document of a scene and its layout, one reference; takes both over, also on failure. */
app_document *app_document_new(gw_scene *scene, gw_layout *layout, gw_error *error);

/* Writes the scene's members as texts; those of entries that are the same as in `base` (NULL: no
 * document is) are taken over from there. Before the document is published. False with an error,
 * GW_TOO_LARGE beyond what can be read again. */
bool app_document_write(app_document *document, const app_document *base, gw_error *error);

/* Texts of solutions that are the same as in `base` are taken over from there, where it has any. */
void app_document_inherit(app_document *document, app_document *base, const struct app_diff *diff);

/* A member of the scene as text: a list has one for each entry, anything else has one. */
typedef struct app_part {
    char name[24];
    bool list;
    int count;
    gw_text **texts;
} app_part;

/* Entries of its long lists whose text is not that of the document before. */
int app_document_written(const app_document *document);

/* How long the scene is as text, or a little more. */
size_t app_document_bytes(const app_document *document);

const app_part *app_document_parts(const app_document *document, int *count);

/* Publishes it in place of the newest one, whose reference is given back; takes one over. */
void app_publish(gw_app *app, app_document *document);

void app_wake(gw_app *app);

/* app_poses() of a snapshot that may be older than the document's scenario, by nothing but edits
 * since scenario `since` that left every object its index. */
gw_pose *app_poses_of(const app_document *document, const gw_snapshot *snapshot, uint64_t since);

/* ---- placing.c ----------------------------------------------------------------------------- */

/* Lays out the edit's scene from where the snapshot has its bodies, and says how they begin. */
gw_layout *app_lay_out_now(app_edit *edit, const gw_snapshot *snapshot, gw_error *error);

/* Whether an edit that is laid out has a body begin otherwise than it goes on. */
bool app_begins_any(const app_edit *edit);

/* The renamed entries of an edit that is known by its scene alone: those of another id in the same
 * place that are the same otherwise. False when memory is short. */
bool app_edit_finds_renamed(app_edit *edit, gw_error *error);

/* Poses that the edit states of objects whose joints state a position have no effect at a start. */
void app_note_overruled_poses(app_edit *edit, const gw_layout *layout, bool stopped);

/* Whether joints are within limits that the edit gives them, where the simulation is not stopped;
 * what begins at a limit since its poses are beyond is noted. False with an error. */
bool app_check_limits(app_edit *edit, const gw_layout *layout, bool stopped, gw_error *error);

/* The same of a document as the server starts, in words. */
void app_log_beyond_limits(gw_app *app, const app_document *document);

/* Where a step failed, or went beyond what a scene may say, a pose is no place to begin at. */
bool app_within_numbers(const gw_pose *pose);

/* ---- opening.c ----------------------------------------------------------------------------- */

/* Whether a file of the edit's scene could be opened; false with an error. Under the edit lock. */
bool app_opens_again(app_edit *edit, gw_error *error);

/* The edit is in effect: its document keeps what was found. */
void app_keep_opening(app_edit *edit);

/* Where the contacts of an opening were found, as text for the history, NULL when memory is short;
 * and a scene as it opens from there (`contacts`: NULL to search for them), NULL with an error. */
gw_text *app_write_contacts(const gw_layout *opening);
gw_layout *app_open_layout(const gw_scene *scene, const json_t *contacts, gw_error *error);

/* That was answered with contacts that were followed: they are to be searched for once the edits
 * rest. How long until then (ms), -1: nothing is to be checked. The check, which tells by an event
 * if a file could not be opened; with no lock held. */
void app_check_opening_later(gw_app *app);
int64_t app_opening_due(const gw_app *app);
void app_check_opening(gw_app *app);

/* ---- the loop ------------------------------------------------------------------------------ */

/* A running edit was laid out from where the hand had the objects; a stop goes back to the poses
 * that the scene states, so the loop gets a scenario of those first. Under the edit lock. */
void app_lay_out_again(gw_app *app);

/* Geometry took a branch away from under a tool: wakes the thread that calls app_catch_up(), which
 * hands the document over whole, so that the tool travels to where its constraints hold now. */
void app_left_behind(gw_app *app);
void app_wake_tasks(gw_app *app);
void app_catch_up(gw_app *app);

/* A fresh loop with fresh devices for the document; the old ones end. Under the edit lock. */
bool app_start_loop(gw_app *app, app_document *document, gw_error *error);

/* Sends a command. A hand's moves are sent again anyway; everything else waits for the ring, which
 * the loop empties every tick. */
bool app_send_command(gw_app *app, const gw_command *command, gw_error *error);

/* A few numbers of the newest snapshot, which is 100 kB. */
typedef struct app_loop_state {
    uint64_t tick, scenario;
    double time;
    gw_run_state state;
    bool halted;
    int tool_count;
    uint64_t steps_left, step_tag; /* see gw_snapshot */
} app_loop_state;

app_loop_state app_loop_now(gw_app *app);

/* The newest snapshot. */
void app_snapshot(gw_app *app, gw_snapshot *snapshot);

/* An edit is in effect of which the loop has nothing to say. */
void app_log_in_effect(gw_app *app, uint64_t revision);

/* Takes over what the loop reported. */
void app_log_loop(gw_app *app, const gw_event *event, const app_document *document);

/* Writes down what waits for its flood to be quiet; whether something does and is due. */
void app_log_floods(gw_app *app, const app_document *document);
bool app_log_due(const gw_app *app);

/* ---- tasks --------------------------------------------------------------------------------- */

/* The thread that runs tasks; false with an error where there is none to be had. */
bool app_task_create(gw_app *app, gw_error *error);

/* A load: what ran in the scene before is no longer reported. */
void app_task_forget(gw_app *app);

/* Ends the thread, and the task that it runs. Before the loop ends. */
void app_task_destroy(gw_app *app);

/* ---- changes ------------------------------------------------------------------------------- */

/* The change from the scene of `from` to that of `to`, as text: an array of [member] that is gone,
 * [member, value], or of lists [member, at, removed, [added]]. NULL when memory is short. */
gw_text *app_change(const app_document *from, const app_document *to);

#endif
