/*
 * The appliance behind its interfaces: the document and its revisions, undo and redo, the loop,
 * the event log. The only writer of commands to the loop and the only reader of its snapshots.
 *
 * A document is an immutable, counted value: readers take the newest one and never wait for an
 * edit. One edit runs at a time, on a copy of the scene that is checked, solved and built before
 * anything changes. Any thread of the server may call everything here, unless said otherwise.
 */
#ifndef GW_SERVER_APP_APP_H
#define GW_SERVER_APP_APP_H

#include <stdatomic.h>
#include <jansson.h>
#include <stdint.h>

#include "rt/guideway.h"
#include "server/files/fault_store.h"

typedef struct gw_app gw_app;
typedef struct app_texts app_texts;

/* ---- the document -------------------------------------------------------------------------- */

typedef struct app_document {
    atomic_int refs;
    uint64_t revision; /* of the scene, raised by every edit */
    uint64_t version;  /* raised by everything that changes this struct */
    uint64_t shape;    /* the newest version at which the index of moving objects changed */
    bool same_index;   /* the same objects move under the same names as in the document before */
    uint64_t scenario; /* what snapshots report once the loop runs this document's scenario */
    uint64_t
        placed_since;  /* from this scenario on, snapshots have every object where edits put it */
    bool from_current; /* laid out from the loop's present poses, not the scene's */
    gw_scene *scene;
    gw_layout *layout;
    gw_layout *opening; /* layout from the scene's stated poses, NULL where it was not checked, */
    bool opening_followed; /* its contacts were followed, not searched for */
    int moving_count;
    int *moving;      /* objects that are not fixed, by index: the order of pose frames */
    int link_count;   /* links of all mechanisms: they follow in pose frames */
    bool undo, redo;  /* true where an undo, a redo is possible */
    int64_t state;    /* the number of the history's state that this document is */
    app_texts *texts; /* written on demand by app_document_text() */
} app_document;

/* The newest document, one reference, to be released by app_document_put(). */
app_document *app_document_get(gw_app *app);
void app_document_put(app_document *document); /* NULL has no effect */

/* The members of `hello` and `scene` that describe the document: revision, scene, solutions, index,
 * undo and redo, as JSON text without braces. Written at the first call. Returns one reference,
 * NULL when memory is short. */
gw_text *app_document_text(const app_document *document);

/* Records that the document was saved or opened. app_is_saved() is true for this document, and
 * again when undo or redo come back to its state. The record survives a restart; it is unchanged
 * where the disk fails. */
void app_mark_saved(gw_app *app, const app_document *document);
bool app_is_saved(gw_app *app, const app_document *document);

/* The scene as text, as a scene file has it: one reference. NULL when memory is short. */
gw_text *app_document_scene(const app_document *document);

/* Entry `index` of a list of the scene as text, as a scene file has it: one reference. */
gw_text *app_document_entry(const app_document *document, const char *list, int index);

/* Returns the newest document and a snapshot whose object indices belong to its scene. Right after
 * an edit it waits for the loop's next tick, VIEW_WAIT_MS at most; after that the snapshot has no
 * tools. */
app_document *app_read_state(gw_app *app, gw_snapshot *snapshot);

/* The same without waiting: false, and a snapshot without tools, where the loop does not yet run
 * the document's scenario. */
bool app_try_read_state(gw_app *app, app_document **document, gw_snapshot *snapshot);

/* True where app_read_state() would not wait. */
bool app_settled(gw_app *app);

/* The resource `Simulation` as JSON text, written at most once a tick for all callers. Returns one
 * reference, NULL when memory is short. Waits as app_read_state() does. */
gw_text *app_simulation_text(gw_app *app);

/* The world poses of the document's objects at that snapshot: object_count poses, freed by the
 * caller; NULL when memory is short. */
gw_pose *app_poses(const app_document *document, const gw_snapshot *snapshot);

/* The world poses of all links of the document's mechanisms at that snapshot: link_count poses,
 * freed by the caller; NULL when memory is short. */
gw_pose *app_links(const app_document *document, const gw_snapshot *snapshot);

/* ---- life ---------------------------------------------------------------------------------- */

typedef struct app_def {
    gw_scene *scene;              /* ownership passes, also on failure */
    bool best_effort;             /* do not ask for real-time scheduling */
    gw_loop_placement placement;  /* of the loop's thread */
    struct gw_database *database; /* outlives the app, and so does: */
    struct gw_history *history;   /* the document's states; owned by the app from now on */
    bool kept;                    /* the scene is the history's present state */
} app_def;

/* Solves and opens the scene and starts the loop, stopped at tick 0. A scene that is not the
 * history's present state is added to the history, so that undo leads back to the former one. NULL
 * with an error. */
gw_app *app_create(const app_def *def, gw_error *error);
void app_destroy(gw_app *app); /* NULL is fine; after every thread that calls into it */

/* The server is about to stop: requests that wait for steps end with an error. */
void app_end(gw_app *app);

/* Sets the function that is called, on any thread, when there is something new to send to
 * clients. */
void app_on_change(gw_app *app, void (*wake)(void *context), void *context);

/* ---- edits --------------------------------------------------------------------------------- */

#define APP_NOTE 256 /* bytes of a note on an edit's effect */

typedef struct app_edit {
    gw_app *app;
    app_document *base;
    gw_scene *scene; /* the copy to change */
    bool dry_run;
    bool restart;      /* a load: a fresh loop, stopped at tick 0 */
    bool go_to_layout; /* while running, move along a trajectory to the scene's stated pose */
    gw_begin *begins;  /* owned: how each body begins, objects first, then links; NULL: all go on */
    struct app_statement *statements; /* owned: app_edit_states() */
    int statement_count;
    gw_renamed *renamed; /* owned: app_edit_renames() */
    int renamed_count;
    bool keeps_history; /* adds no state to the history: undo, redo, or the same scene again */
    int history_step;   /* undo -1, redo 1 */
    bool whole;         /* send a whole scenario, even where values would be enough */
    char group[96];     /* consecutive edits of one group are one step for undo */
    bool group_stated;  /* named by the client for one drag: longer pauses do not end the group */
    gw_layout *opening; /* owned: app_opens_again() */
    bool opening_followed;
    /* Results of app_edit_commit() */
    app_document *document;     /* the new document; if dry or refused: what would have been */
    const gw_placement *failed; /* the placement without a solution, if any */
    uint64_t ticket;            /* for app_keep(); 0: there is nothing to wait for */
    char note[APP_NOTE];        /* how the effect differs from the request; "": not at all */
} app_edit;

/* Waits for the edit lock, then provides a copy of the scene to change. False with an error when
 * memory is short. */
bool app_edit_begin(gw_app *app, app_edit *edit, gw_error *error);

/* Records that the request states the initial position, or the initial velocity, of the entry of a
 * collection ("objects", "joints", "links"). While paused or running the statement acts at once,
 * also where it equals the document's value. False when memory is short. */
bool app_edit_states(app_edit *edit, const char *collection, const char *id, bool position,
                     bool motion, gw_error *error);

/* Records that the entry of the collection ("objects", "joints", "mechanisms"; other collections
 * are ignored) gets another id. Its motion goes on, and statements about it apply to the new id.
 * False when memory is short. */
bool app_edit_renames(app_edit *edit, const char *collection, const char *from, const char *to,
                      gw_error *error);

/* Checks the scene, lays it out, builds the scenario and, unless it is a dry run, writes the edit
 * to the history and hands it over to the loop. False with an error: nothing changed.
 * GW_INCOMPATIBLE and GW_UNHANDLED come with `document` and `failed`. */
bool app_edit_commit(app_edit *edit, gw_error *error);

/* Waits until the edit of that ticket is on the disk; one sync serves all that wait. Call it after
 * app_edit_end(), so that other edits go on meanwhile. Edits that nobody waits for are synced
 * within DATABASE_LATER_MS. False with an error: the edit is in effect, but may not survive a crash
 * of the machine. */
bool app_keep(gw_app *app, uint64_t ticket, gw_error *error);

/* Ends an edit, committed or not. */
void app_edit_end(app_edit *edit);

/* Replaces the edit's scene; ownership passes. */
void app_edit_replace(app_edit *edit, gw_scene *scene);

/* Replaces the edit's scene by that before the last edit, or that before the last undo;
 * app_edit_commit() is still to be called. False with an error, GW_CONFLICT where there is no such
 * state: the edit is unchanged. */
bool app_edit_undo(app_edit *edit, gw_error *error);
bool app_edit_redo(app_edit *edit, gw_error *error);

/* Applies a change, as the history keeps them, to a scene; false where it does not fit. */
bool app_apply_change(json_t *scene, const json_t *change);

/* ---- the loop ------------------------------------------------------------------------------ */

/* Sends the state and waits until the loop reports it. GW_CONFLICT where it is halted, GW_FAILED
 * when the loop does not answer in time. */
bool app_set_state(gw_app *app, gw_run_state state, gw_error *error);

/* Computes `ticks` ticks while paused, as fast as possible, and waits for them. GW_CONFLICT where
 * the simulation is not paused, and where a halt, a stop or a time-out of 30 s intervened; the
 * remaining ticks are then not computed. */
bool app_step(gw_app *app, uint64_t ticks, gw_error *error);

/* Sets the halt latch, without a lock: devices are off in the loop's next tick, whatever else was
 * requested. The latch stays set through edits, loads and restarts until somebody arms. `by`: the
 * client's name.
 *
 * `press` (NULL: none) identifies one press of HALT that a client sends by REST and by the stream:
 * a second request with the same name within APP_PRESS_S is not carried out, so that it cannot undo
 * an arming between the two. Returns false where it was not carried out. */
#define APP_PRESS_S 10
bool app_halt_latch(gw_app *app, const char *press, const char *by);

/* Waits for the tick that heeds the latch, APP_HALT_WAIT_MS at most. */
#define APP_HALT_WAIT_MS 15
void app_halt_await(gw_app *app);

/* The state of the halt: cause, who and since when. Takes no lock. */
gw_halt_state app_halt_state(const gw_app *app);

/* The latch's present value, which a request to arm takes when it arrives. */
gw_halt_word app_halt_seen(const gw_app *app);

/* Arms, and waits until the loop has taken it. A halt stands for APP_HALT_STANDS_MS at least,
 * counted from the last request to halt. GW_CONFLICT where somebody halted since `seen`, or while
 * another request to arm waits. */
#define APP_HALT_STANDS_MS 100
bool app_arm(gw_app *app, gw_halt_word seen, const char *by, gw_error *error);

/* The operator's lease (rt/sim/lease.h): which client may command force at the scene's latched
 * devices. On the stream's thread only. GW_CONFLICT where another client operates; renewing returns
 * false where the lease has expired. Every change is logged as an event `lease`. */
typedef enum app_lease_ending {
    APP_LEASE_GIVEN_BACK, /* in order */
    APP_LEASE_ABANDONED,  /* the client disconnected: latched devices are forced off */
    APP_LEASE_LAPSED      /* expired: the loop has forced off latched devices */
} app_lease_ending;
bool app_lease_take(gw_app *app, const char *by, gw_error *error);
bool app_lease_renew(gw_app *app);
bool app_lease_held(const gw_app *app);
void app_lease_end(gw_app *app, const char *by, app_lease_ending how);

/* True where the tool holds body `body` of the scene (objects first, then links), or a body of the
 * same system of bodies. */
bool app_tool_moves(const app_document *document, int tool, int body);

/* True where a drag or push at the tool, or at the object or link named `object` ("": at the tool),
 * moves a latched device: the tool's own, or one that holds a body of the object's system. */
bool app_latched(const app_document *document, int tool, const char *object);

/* Sends a command of a person's hand: drag, release, push, clutch. False with an error where the
 * loop takes no command or has no such tool. A command for a free object that no longer exists has
 * no effect. */
bool app_send(gw_app *app, const gw_command *command, gw_error *error);

/* From now on snapshots contain the joints' wrenches; false where the loop takes no more
 * commands. */
bool app_tell_links(gw_app *app);

/* True where a client drags the tool, or, where `body` is not -1, the body of that number in the
 * document (objects first, then links); false while the loop runs another document's scenario. */
bool app_dragged(gw_app *app, const app_document *document, int tool, int body);

/* Logs the loop's events; true where there were any. On the stream's thread, as app_collect(). */
bool app_take_events(gw_app *app);

/* Frees memory that the loop handed back and closes devices that it released, once detector and
 * watchdog have finished with them, which can take one collision detection. */
void app_collect(gw_app *app);

/* Per-tick records, for one reader: switches them on or off, and reads up to `capacity` of them. */
void app_record(gw_app *app, bool on);
int app_records(gw_app *app, gw_snapshot *records, int capacity, uint64_t *lost);

/* The loop's timing and the scheduling that the system grants it. */
void app_loop_figures(gw_app *app, gw_loop_figures *figures);

/* The newest faults whose ticks are kept, oldest first; returns how many, or -1 with an error. */
#define APP_FAULTS (FAULTS_STORED + GW_FAULTS_KEPT)
int app_faults(gw_app *app, wire_fault faults[APP_FAULTS], gw_error *error);

/* The ticks before a fault as CSV, one reference; NULL with an error, GW_NOT_FOUND where they are
 * not kept. */
gw_text *app_fault_csv(gw_app *app, unsigned number, gw_error *error);

/* Writes the oldest fault that is in memory alone to the database; false where there is none, or
 * the disk refuses it, which an event reports. To be called by one thread, a few times a second. */
bool app_store_fault(gw_app *app);

/* Counts of the work of all edits so far; entries that an edit leaves unchanged are not counted,
 * nor is a detector where no solid changes. */
typedef struct app_effort {
    uint64_t detectors; /* built */
    uint64_t solved;    /* objects whose constraints were solved */
    uint64_t written;   /* objects, features and constraints that were written as text */
} app_effort;
app_effort app_edit_effort(gw_app *app);

/* Copies the driver's description of the device; false where no such device is open. */
bool app_device_info(gw_app *app, const char *id, gw_device_info *info);

/* The same during an edit, for the devices of its document. */
bool app_edit_device_info(const app_edit *edit, const char *id, gw_device_info *info);

/* ---- tasks --------------------------------------------------------------------------------- */

/* Starts the task, and the simulation where it does not run. GW_NOT_FOUND; GW_CONFLICT while one
 * runs, while halted, or where no tool holds its object. */
bool app_task_start(gw_app *app, const char *id, gw_error *error);

/* Stops the task where it is, if it runs, and waits until it has stopped. */
void app_task_stop(gw_app *app, const char *id);

bool app_task_runs(gw_app *app, const char *id);

/* Id and progress of the task that runs, or ran last in this scene; false where there is none. */
bool app_task_last(gw_app *app, char id[GW_MAX_ID + 1], gw_task_progress *progress);

/* ---- events -------------------------------------------------------------------------------- */

#define APP_LOG_EVENTS 1000 /* kept for later requests */

/* Adds an event of the server; `format` makes a sentence. */
void app_log(gw_app *app, const char *kind, const char *severity, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Logs that the disk refuses to store an edit or a file; at most once in APP_STORAGE_S. */
void app_log_storage(gw_app *app, const gw_error *error);

/* The sequence number of the newest event, 0 where there is none. */
uint64_t app_log_last(gw_app *app);

/* The sequence number of the oldest event that is kept. */
uint64_t app_log_first(gw_app *app);

/* The event's JSON text, a new reference; NULL where it is not in the log. */
gw_text *app_log_get(gw_app *app, uint64_t seq);

#endif
