/*
 * The app's life, its documents and its history. Any thread; see private.h for the locks.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/app/clock.h"
#include "server/app/describe.h"
#include "server/app/private.h"
#include "server/files/history.h"
#include "server/schema/wire.h"

#define VIEW_WAIT_MS 500 /* for the loop's next tick after an edit; a loaded host may delay it */

/* ---- the newest document --------------------------------------------------------------------- */

app_document *app_document_get(gw_app *app)
{
    assert(app);
    pthread_mutex_lock(&app->view);
    app_document *document = app->document;
    atomic_fetch_add(&document->refs, 1);
    pthread_mutex_unlock(&app->view);
    return document;
}

void app_publish(gw_app *app, app_document *document)
{
    assert(app && document);
    pthread_mutex_lock(&app->view);
    app_document *old = app->document;
    document->version = old ? old->version + 1 : 1;
    document->shape = old && document->same_index ? old->shape : document->version;
    app->document = document;
    pthread_mutex_unlock(&app->view);
    app_document_put(old);
    app_wake(app);
}

bool app_try_read_state(gw_app *app, app_document **document, gw_snapshot *snapshot)
{
    assert(app && document && snapshot);
    *document = app_document_get(app);
    app_snapshot(app, snapshot);
    if (snapshot->scenario == (*document)->scenario)
        return true;
    snapshot->tool_count = snapshot->follower_count = 0;
    snapshot->joint_count = snapshot->free_count = snapshot->contact_count = 0;
    snapshot->coordinate_count = 0;
    snapshot->hit_count = snapshot->collision_count = 0;
    return false;
}

app_document *app_read_state(gw_app *app, gw_snapshot *snapshot)
{
    assert(app && snapshot);
    for (int waited_ms = 0;; waited_ms++) {
        app_document *document;
        if (app_try_read_state(app, &document, snapshot) || waited_ms >= VIEW_WAIT_MS)
            return document;
        app_document_put(document);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

bool app_settled(gw_app *app)
{
    app_document *document = app_document_get(app);
    bool settled = app_loop_now(app).scenario == document->scenario;
    app_document_put(document);
    return settled;
}

#define STATE_TEXT_S 0.001

static bool same_state(const app_state_text *a, const app_state_text *b)
{
    return a->text && a->version == b->version && a->tick == b->tick &&
           a->steps_left == b->steps_left && a->step_tag == b->step_tag && a->state == b->state &&
           a->halt == b->halt && b->at_s < a->at_s + STATE_TEXT_S;
}

static gw_text *write_simulation(const app_document *document, const gw_snapshot *snapshot)
{
    wire_memory_clear();
    return wire_text(describe_simulation(document, snapshot));
}

/* The stored text of the simulation's state, written again where it is out of date. NULL while the
 * loop does not run the newest document's scenario. */
static gw_text *settled_text(gw_app *app)
{
    app_loop_state loop = app_loop_now(app);
    app_document *document = app_document_get(app);
    app_state_text *kept = &app->newest;
    app_state_text now = {NULL,          document->version, loop.tick,          loop.steps_left,
                          loop.step_tag, loop.state,        app_halt_seen(app), clock_s()};
    bool settled = loop.scenario == document->scenario;
    if (settled && !same_state(kept, &now)) {
        app_snapshot(app, &app->newest_state);
        text_unref(kept->text);
        now.text = write_simulation(document, &app->newest_state);
        *kept = now;
    }
    app_document_put(document);
    return settled && kept->text ? text_ref(kept->text) : NULL;
}

/* The same text, after waiting until the loop runs the newest document's scenario. */
static gw_text *awaited_text(gw_app *app)
{
    gw_snapshot *now = malloc(sizeof *now);
    if (!now)
        return NULL;
    app_document *document = app_read_state(app, now);
    gw_text *text = write_simulation(document, now);
    app_document_put(document);
    free(now);
    return text;
}

gw_text *app_simulation_text(gw_app *app)
{
    assert(app);
    pthread_mutex_lock(&app->state);
    gw_text *text = settled_text(app);
    pthread_mutex_unlock(&app->state);
    return text ? text : awaited_text(app);
}

gw_pose *app_poses(const app_document *document, const gw_snapshot *snapshot)
{
    return app_poses_of(document, snapshot, document->scenario);
}

gw_pose *app_poses_of(const app_document *document, const gw_snapshot *snapshot, uint64_t since)
{
    assert(document && snapshot && since <= document->scenario);
    size_t count = (size_t)document->scene->object_count;
    gw_pose *poses = malloc((count + 1) * sizeof *poses);
    if (!poses)
        return NULL;
    if (count)
        memcpy(poses, document->layout->poses, count * sizeof *poses);
    if (snapshot->scenario < since || snapshot->scenario > document->scenario)
        return poses;
    for (int i = 0; i < snapshot->tool_count; i++)
        if ((size_t)snapshot->tools[i].object < count) /* -1 where it holds a mechanism */
            poses[snapshot->tools[i].object] = snapshot->tools[i].world_from_object;
    for (int i = 0; i < snapshot->follower_count; i++)
        if ((size_t)snapshot->followers[i].object < count)
            poses[snapshot->followers[i].object] = snapshot->followers[i].world_from_object;
    for (int i = 0; i < snapshot->free_count; i++)
        if ((size_t)snapshot->free[i].object < count)
            poses[snapshot->free[i].object] = snapshot->free[i].pose;
    return poses;
}

gw_pose *app_links(const app_document *document, const gw_snapshot *snapshot)
{
    assert(document && snapshot);
    const gw_scene *scene = document->scene;
    size_t count = (size_t)document->link_count;
    gw_pose *poses = malloc((count + 1) * sizeof *poses);
    if (!poses)
        return NULL;
    if (snapshot->scenario == document->scenario && snapshot->joint_count == document->link_count) {
        memcpy(poses, snapshot->links, count * sizeof *poses);
        return poses;
    }
    for (int i = 0; i < scene->mechanism_count; i++)
        gw_mechanism_poses(&scene->mechanisms[i], NULL, poses + gw_scene_first_joint(scene, i));
    return poses;
}

/* ---- life ---------------------------------------------------------------------------------- */

void app_on_change(gw_app *app, void (*wake)(void *context), void *context)
{
    assert(app);
    app->wake = wake;
    app->wake_context = context;
}

void app_wake(gw_app *app)
{
    if (app->wake)
        app->wake(app->wake_context);
}

static app_document *first_document(const app_def *def, gw_error *error)
{
    gw_scene *scene = def->scene;
    json_t *contacts = def->kept ? history_contacts(def->history) : NULL;
    bool followed = json_array_size(contacts) > 0;
    gw_layout *layout =
        gw_scene_check(scene, error) ? app_open_layout(scene, contacts, error) : NULL;
    json_decref(contacts);
    if (!layout) {
        gw_scene_destroy(scene);
        return NULL;
    }
    app_document *document = app_document_new(scene, layout, error);
    if (!document)
        return NULL;
    const gw_placement *failed = gw_layout_unsolved(layout);
    if (failed) {
        bool clash = failed->solution.status == GW_STATUS_INCOMPATIBLE;
        gw_fail(error, clash ? GW_INCOMPATIBLE : GW_UNHANDLED, "/constraints", "%s of object %s",
                clash ? "contradictory constraints" : "constraints that cannot be solved",
                scene->objects[failed->object].id);
        app_document_put(document);
        return NULL;
    }
    document->opening_followed = followed;
    if (app_document_write(document, NULL, error))
        return document;
    app_document_put(document);
    return NULL;
}

/* Sets the document's revision, undo and redo from the history; where the scene is not the
 * history's present state, it is first added to the history as a new state and synced to the
 * disk. */
static bool keep_first(const app_def *def, app_document *document, gw_error *error)
{
    gw_history *history = def->history;
    bool done = def->kept;
    document->revision = history_revision(history);
    if (!def->kept) {
        gw_text *text = app_document_scene(document);
        document->revision++;
        done =
            text ? history_add(history, document->revision,
                               &(history_text){text->data, text->size, true, NULL}, false, error) &&
                       history_mark_saved(history, history_state(history), error) &&
                       database_sync(def->database, history_ticket(history), error)
                 : gw_fail(error, GW_FAILED, "", "memory is short for this scene");
        text_unref(text);
    }
    document->undo = history_undo(history);
    document->redo = history_redo(history);
    document->state = history_state(history);
    return done;
}

gw_app *app_create(const app_def *def, gw_error *error)
{
    assert(def && def->scene && def->database && def->history && error);
    app_document *document = first_document(def, error);
    if (!document)
        return NULL;
    gw_app *app = calloc(1, sizeof *app);
    if (!app)
        gw_fail(error, GW_FAILED, "", "memory is short");
    if (!app || !keep_first(def, document, error)) {
        app_document_put(document);
        free(app);
        return NULL;
    }
    pthread_mutex_init(&app->stepping, NULL);
    pthread_mutex_init(&app->stating, NULL);
    app->database = def->database;
    app->history = def->history;
    atomic_init(&app->saved, history_saved(def->history));
    pthread_mutex_init(&app->state, NULL);
    pthread_mutex_init(&app->edit, NULL);
    pthread_mutex_init(&app->view, NULL);
    pthread_mutex_init(&app->loop_lock, NULL);
    pthread_mutex_init(&app->log, NULL);
    gw_halt_latch_init(&app->halt);
    gw_lease_init(&app->lease);
    if (!app_open_faults(app, error)) {
        app_document_put(document);
        app_destroy(app);
        return NULL;
    }
    app->best_effort = def->best_effort;
    app->placement = def->placement;
    if (!app_start_loop(app, document, error) || !app_task_create(app, error)) {
        app_document_put(document);
        app_destroy(app);
        return NULL;
    }
    app_publish(app, document);
    app_log_beyond_limits(app, document);
    gw_error open; /* of bodies that nothing moves */
    if (!gw_layout_standing_hold(document->scene, document->layout, &open))
        app_log(app, "edit", "warning", "%s.", open.message);
    if (document->opening_followed)
        app_check_opening_later(app);
    return app;
}

void app_destroy(gw_app *app)
{
    if (!app)
        return;
    app_task_destroy(app);
    while (app->faults && app_store_fault(app))
        ;
    gw_loop_destroy(app->loop);
    for (int i = 0; i < app->slots.count; i++)
        gw_device_slot_close(app->slots.slot[i]);
    for (int i = 0; i < app->retired_count; i++)
        gw_device_slot_close(app->retired[i].slot);
    gw_scenario_release_detector(app->detector);
    app_document_put(app->group_base);
    app_document_put(app->searched);
    app_document_put(app->document);
    for (int i = 0; i < APP_LOG_EVENTS; i++)
        text_unref(app->events[i]);
    gw_fault_log_destroy(app->faults);
    pthread_mutex_destroy(&app->stepping);
    pthread_mutex_destroy(&app->stating);
    text_unref(app->newest.text);
    pthread_mutex_destroy(&app->state);
    pthread_mutex_destroy(&app->edit);
    pthread_mutex_destroy(&app->view);
    pthread_mutex_destroy(&app->loop_lock);
    pthread_mutex_destroy(&app->log);
    free(app);
}
