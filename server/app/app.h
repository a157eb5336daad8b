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
#include "server/schema/text.h"

typedef struct gw_app gw_app;
typedef struct app_texts app_texts;

/* ---- the document -------------------------------------------------------------------------- */

typedef struct app_document {
    atomic_int refs;
    uint64_t revision; /* of the scene, raised by every edit */
    uint64_t version;  /* raised by everything that changes this struct */
    uint64_t shape;    /* the newest version that has another index than the one before */
    bool same_index;   /* as the document before: the same objects move, under the same names */
    uint64_t scenario; /* what snapshots report once the loop runs this document's scenario */
    uint64_t
        placed_since;  /* from this scenario on, snapshots have every object where edits put it */
    bool from_current; /* laid out from where the objects were, not from the scene's own poses */
    gw_scene *scene;
    gw_layout *layout;
    gw_layout *opening;    /* where a file of it begins, as it was checked; NULL: it was not, */
    bool opening_followed; /* or not searched for contacts over all of their surfaces */
    int moving_count;
    int *moving;      /* objects that are not fixed, by index: the order of pose frames */
    int link_count;   /* links of all mechanisms: they follow in pose frames */
    bool undo, redo;  /* is there something to undo, to redo */
    int64_t state;    /* of the history, by its number */
    app_texts *texts; /* made when somebody reads them: app_document_text() */
} app_document;

/* The newest document, to be given back by app_document_put(). */
app_document *app_document_get(gw_app *app);
void app_document_put(app_document *document); /* NULL is fine */

/* The part of `hello` and `scene` about the document,
 * "revision":..,"scene":..,"solutions":..,"index":.., "undo":..,"redo":..: one reference, written
 * when it is first asked for. NULL when memory is short.
 */
gw_text *app_document_text(const app_document *document);

/* The document was saved or opened as it is: until it changes, and again when undo and redo come
 * back to it, app_is_saved() says so. Kept over a restart; a disk that refuses leaves it as it was.
 */
void app_mark_saved(gw_app *app, const app_document *document);
bool app_is_saved(gw_app *app, const app_document *document);

/* The scene as text, as a scene file has it: one reference. NULL when memory is short. */
gw_text *app_document_scene(const app_document *document);

/* The newest document together with a snapshot that belongs to it (its tools' objects are indices
 * of this scene). Right after an edit this waits for the loop's next tick; where the loop does not
 * come, the snapshot has no tools. */
app_document *app_view(gw_app *app, gw_snapshot *snapshot);

/* The same without waiting: false where they do not belong together yet, and then the snapshot has
 * no tools. */
bool app_peek(gw_app *app, app_document **document, gw_snapshot *snapshot);

/* True where app_view() would not wait. */
bool app_settled(gw_app *app);

/* `Simulation` as text, one reference: written once a tick, however many ask. NULL when memory is
 * short. Waits where app_view() does. */
gw_text *app_simulation_text(gw_app *app);

/* Where every object of the document is at that snapshot: object_count poses, to be freed. */
gw_pose *app_poses(const app_document *document, const gw_snapshot *snapshot);

/* Where every link of the document's mechanisms is at that snapshot: link_count poses, to be freed.
 */
gw_pose *app_links(const app_document *document, const gw_snapshot *snapshot);

/* ---- life ---------------------------------------------------------------------------------- */

typedef struct app_def {
    gw_scene *scene;              /* ownership passes, also on failure */
    bool best_effort;             /* do not ask for real-time scheduling */
    gw_loop_placement placement;  /* of the loop's thread */
    struct gw_database *database; /* outlives the app, and so does: */
    struct gw_history *history;   /* the document's states; of the app from now on */
    bool kept;                    /* the scene is the present state of the history */
} app_def;

/* Solves and opens the scene, starts the loop, stopped at tick 0. A scene that is not the history's
 * becomes its next state: undo leads back to what there was. NULL with an error. */
gw_app *app_create(const app_def *def, gw_error *error);
void app_destroy(gw_app *app); /* NULL is fine; after every thread that calls into it */

/* The end is near: whoever waits for steps is sent away. */
void app_end(gw_app *app);

/* `wake` is called, from any thread, when there is something new for clients. */
void app_on_change(gw_app *app, void (*wake)(void *context), void *context);

/* ---- edits --------------------------------------------------------------------------------- */

typedef struct app_edit {
    gw_app *app;
    app_document *base;
    gw_scene *scene; /* the copy to change */
    bool dry_run;
    bool restart;                     /* a load: a fresh loop, stopped at tick 0 */
    bool go_to_layout;                /* while running, travel to the scene's new stated pose */
    gw_begin *begins;                 /* owned, by object, then by link; NULL: all go on */
    struct app_statement *statements; /* owned: app_edit_states() */
    int statement_count;
    gw_renamed *renamed; /* owned: app_edit_renames() */
    int renamed_count;
    bool keeps_history; /* adds no state: undo and redo, or the same scene again */
    int history_step;   /* undo -1, redo 1 */
    bool whole;         /* a new scenario, also where values would do */
    char group[96];     /* edits of one group that follow one another count as one for undo */
    bool group_stated;  /* by the client, of one drag: it may rest for a while in the middle */
    gw_layout *opening; /* owned: app_opens_again() */
    bool opening_followed;
    /* Results of app_edit_commit() */
    app_document *document;     /* what is, or for a dry run and a refusal what would be */
    const gw_placement *failed; /* the placement without a solution, where that is why */
    uint64_t ticket;            /* for app_keep(), by whoever takes it; 0: nobody need wait */
    char note[256];             /* what it does otherwise than it says; "": nothing */
} app_edit;

/* Waits for its turn, then gives a copy of the scene to change. False when memory is short. */
bool app_edit_begin(gw_app *app, app_edit *edit, gw_error *error);

/* The request states where the entry of the collection ("objects", "joints", "links") begins, or
 * how it moves then. While paused or running that acts at once, also where it is what the document
 * says already. False when memory is short. */
bool app_edit_states(app_edit *edit, const char *collection, const char *id, bool place,
                     bool motion, gw_error *error);

/* The entry of the collection ("objects", "joints", "mechanisms"; others have nothing to go on
 * with) gets another id: it goes on as it is, and what was stated of it before goes with it. False
 * when memory is short. */
bool app_edit_renames(app_edit *edit, const char *collection, const char *from, const char *to,
                      gw_error *error);

/* Checks, lays out, builds and, unless it is a dry run, writes down and hands over to the loop.
 * False with an error: nothing changed. GW_INCOMPATIBLE and GW_UNHANDLED come with `document` and
 * `failed`. */
bool app_edit_commit(app_edit *edit, gw_error *error);

/* Waits until the edit whose ticket it is is on the disk, for all that wait at once; after
 * app_edit_end(), so that other edits go on meanwhile. What nobody waits for gets there within
 * DATABASE_LATER_MS. False with an error: the edit is in effect, but not known to be kept. */
bool app_keep(gw_app *app, uint64_t ticket, gw_error *error);

/* Ends an edit, committed or not. */
void app_edit_end(app_edit *edit);

/* Replaces the edit's scene; ownership passes. */
void app_edit_replace(app_edit *edit, gw_scene *scene);

/* The edit's scene becomes that from before the last edit, or that from before the last undo; to be
 * committed. False with an error, GW_CONFLICT where there is none: the edit is as it was. */
bool app_edit_undo(app_edit *edit, gw_error *error);
bool app_edit_redo(app_edit *edit, gw_error *error);

/* Applies a change, as the history keeps them, to a scene; false where it does not fit. */
bool app_apply_change(json_t *scene, const json_t *change);

/* ---- the loop ------------------------------------------------------------------------------ */

/* Sends the state and waits until the loop reports it. GW_CONFLICT where it is halted, GW_FAILED
 * when the loop does not answer in time. */
bool app_set_state(gw_app *app, gw_run_state state, gw_error *error);

/* So many ticks while paused, as fast as they are computed, and waits for them. GW_CONFLICT where
 * it is not paused, and where a halt, a stop or too long a time came between: what is left of them
 * is not made then. */
bool app_step(gw_app *app, uint64_t ticks, gw_error *error);

/* Devices off, at once: the latch is set without a lock and the loop heeds it in its next tick,
 * whatever else it is asked for; it stays through edits, loads and restarts until somebody arms.
 * `by`: who.
 *
 * A client that asks by REST and by the stream names both `press` (NULL: none): what was carried
 * out within APP_PRESS_S is not carried out again, so that the later of the two does not undo an
 * arming that came between them. False: it was not. */
#define APP_PRESS_S 10
bool app_halt_latch(gw_app *app, const char *press, const char *by);

/* Waits for the tick that heeds it, so long at most. */
#define APP_HALT_WAIT_MS 15
void app_halt_await(gw_app *app);

/* How it is halted, without a lock. */
gw_halt_state app_halt_state(const gw_app *app);

/* The latch as it is now: what a request to arm has seen when it arrived. */
gw_halt_word app_halt_seen(const gw_app *app);

/* Arms and waits until the loop has taken it. A halt stands for APP_HALT_STANDS_MS at least, and so
 * does one that came while another one stood: whoever asked for it is answered before it is armed.
 * GW_CONFLICT where somebody halted since `seen`, or while somebody else's arming waits. */
#define APP_HALT_STANDS_MS 100
bool app_arm(gw_app *app, gw_halt_word seen, const char *by, gw_error *error);

/* The operator's lease (rt/sim/lease.h): who commands force at the scene's latched devices. From
 * the stream's thread alone. GW_CONFLICT where somebody else operates; false from renewing where it
 * ran out. Every change is an event `lease`. */
typedef enum app_lease_ending {
    APP_LEASE_GIVEN_BACK, /* in order */
    APP_LEASE_ABANDONED,  /* the client is gone: what is latched is forced off */
    APP_LEASE_LAPSED      /* the loop has found it run out, and has forced off what is latched */
} app_lease_ending;
bool app_lease_take(gw_app *app, const char *by, gw_error *error);
bool app_lease_renew(gw_app *app);
bool app_lease_held(const gw_app *app);
void app_lease_end(gw_app *app, const char *by, app_lease_ending how);

/* Whether the tool holds body `body` of the scene (objects, then links), or one of its system. */
bool app_tool_moves(const app_document *document, int tool, int body);

/* Whether a hand at the tool, or at the `object` ("": at the tool) or link of that name, moves a
 * device that is off until armed once something fails: the tool's own, or one that holds a body of
 * the object's system. */
bool app_latched(const app_document *document, int tool, const char *object);

/* Sends a command of a person's hand: drag, release, push, clutch. False: the loop is not
 * taking commands, or has no such tool. A free object that is gone hears nothing. */
bool app_send(gw_app *app, const gw_command *command, gw_error *error);

/* Snapshots have wrenches of links from now on; false where the loop takes no more commands. */
bool app_tell_links(gw_app *app);

/* Whether a hand drags the tool, or where `body` is not -1 the body of that number in the document,
 * an object or a link; false while the loop runs another document's scenario. */
bool app_dragged(gw_app *app, const app_document *document, int tool, int body);

/* Logs the loop's events; true: there were some. From the stream's timer, as the next one. */
bool app_take_events(gw_app *app);

/* Frees what the loop handed back, and closes devices that it let go of: after world and watchdog
 * are done with them, which takes up to a detection. */
void app_collect(gw_app *app);

/* Per-tick records, for one reader. */
void app_record(gw_app *app, bool on);
int app_records(gw_app *app, gw_snapshot *records, int capacity, uint64_t *lost);

/* How the loop does, and what the system grants it. */
void app_loop_figures(gw_app *app, gw_loop_figures *figures);

/* The ticks before the newest faults. */
const gw_fault_log *app_faults(const gw_app *app);

/* The work of all edits so far. An edit that leaves all solids as they are builds no detector; the
 * others count what is not as in the document before. */
typedef struct app_effort {
    uint64_t detectors; /* built */
    uint64_t solved;    /* objects whose constraints were solved */
    uint64_t written;   /* objects, features and constraints that were written as text */
} app_effort;
app_effort app_edit_effort(gw_app *app);

/* Copies what a driver tells of the device; false where no such device is open. */
bool app_device_info(gw_app *app, const char *id, gw_device_info *info);

/* The same while the edit is under way: of the devices that its document has. */
bool app_edit_device_info(const app_edit *edit, const char *id, gw_device_info *info);

/* ---- tasks --------------------------------------------------------------------------------- */

/* Starts the task, and the simulation where it does not run. GW_NOT_FOUND; GW_CONFLICT while one
 * runs, while halted, or where no tool holds its object. */
bool app_task_start(gw_app *app, const char *id, gw_error *error);

/* Stops it where it is, if it runs, and waits until it has. */
void app_task_stop(gw_app *app, const char *id);

bool app_task_runs(gw_app *app, const char *id);

/* The task that runs, or ran last in this scene: its id and progress; false where there is none. */
bool app_task_last(gw_app *app, char id[GW_MAX_ID + 1], gw_task_progress *progress);

/* ---- events -------------------------------------------------------------------------------- */

#define APP_LOG_EVENTS 1000 /* kept for those who ask later */

/* Adds an event of the server's own; `message` is a sentence. */
void app_log(gw_app *app, const char *kind, const char *severity, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The event that the disk refuses what is to be kept; every few seconds at most. */
void app_log_storage(gw_app *app, const gw_error *error);

/* The sequence number of the newest event, 0 where there is none. */
uint64_t app_log_last(gw_app *app);

/* The sequence number of the oldest event that is kept. */
uint64_t app_log_first(gw_app *app);

/* The event's JSON text, a new reference; NULL where it is not kept (any more). */
gw_text *app_log_get(gw_app *app, uint64_t seq);

#endif
