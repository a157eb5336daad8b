/*
 * Edits: a copy of the scene is changed, checked, compared with the scene before, laid out, written
 * to the history, and handed over to the loop as values or as a new scenario; the resulting
 * document replaces the old one. Undo and redo are edits whose scene is read from the history.
 * Under the edit lock.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/app/clock.h"
#include "server/app/diff.h"
#include "server/app/private.h"
#include "server/files/history.h"
#include "server/schema/wire.h"

#define SEND_TRIES   50   /* a millisecond apart: many ticks of the slowest loop */
#define REHEARSED_MS 1000 /* least time between two edits that build a rehearsal */

/* ---- devices ------------------------------------------------------------------------------- */

static gw_device_slot *slot_of(const app_slots *slots, const char *id)
{
    for (int i = 0; i < slots->count; i++)
        if (strcmp(gw_device_slot_id(slots->slot[i]), id) == 0)
            return slots->slot[i];
    return NULL;
}

bool app_edit_device_info(const app_edit *edit, const char *id, gw_device_info *info)
{
    assert(edit && id && info);
    const gw_device_slot *slot = slot_of(&edit->app->slots, id);
    if (slot)
        *info = *gw_device_slot_info(slot);
    return slot != NULL;
}

bool app_device_info(gw_app *app, const char *id, gw_device_info *info)
{
    assert(app && id && info);
    pthread_mutex_lock(&app->edit);
    const gw_device_slot *slot = slot_of(&app->slots, id);
    if (slot)
        *info = *gw_device_slot_info(slot);
    pthread_mutex_unlock(&app->edit);
    return slot != NULL;
}

static bool has_slot(const app_slots *slots, const gw_device_slot *slot)
{
    for (int i = 0; i < slots->count; i++)
        if (slots->slot[i] == slot)
            return true;
    return false;
}

static void close_new(const app_slots *slots, const app_slots *old)
{
    for (int i = 0; i < slots->count; i++)
        if (!has_slot(old, slots->slot[i]))
            gw_device_slot_close(slots->slot[i]);
}

/* Slots for every device of the scene: those of the base that did not change, new ones for the
 * rest. On failure the new ones are closed again. */
static bool open_slots(const app_slots *old, const gw_scene *base, const gw_scene *scene,
                       app_slots *slots, gw_error *error)
{
    slots->count = 0;
    for (int i = 0; i < scene->device_count; i++) {
        const gw_device *device = &scene->devices[i];
        int before = base ? gw_scene_device(base, device->id) : -1;
        gw_device_slot *slot = NULL;
        if (before >= 0 && app_same_device(&base->devices[before], device))
            slot = slot_of(old, device->id);
        if (!slot)
            slot = gw_device_slot_open(device, gw_scene_step_rate(scene), error);
        if (!slot) {
            close_new(slots, old);
            return false;
        }
        slots->slot[slots->count++] = slot;
    }
    return true;
}

/* A scenario without a rehearsal of its own takes over that of the scenario before, whose code is
 * much the same: in a quick series of edits a rehearsal is built once in REHEARSED_MS. */
static bool is_rehearsed(const app_edit *edit)
{
    int64_t now_ms = clock_ms();
    if (edit && edit->dry_run)
        return false;
    if (edit && !edit->restart && now_ms - edit->app->rehearsed_ms < REHEARSED_MS)
        return false;
    if (edit)
        edit->app->rehearsed_ms = now_ms;
    return true;
}

/* `edit`: the edit that made the document, NULL at a start; `like`: a detector of the same solids,
 * or NULL. */
static gw_scenario *build_scenario(const app_document *document, const app_slots *slots,
                                   const app_edit *edit, const struct gw_detector *like,
                                   gw_error *error)
{
    bool goes_on = edit && document->from_current;
    gw_scenario_def def = {.scene = document->scene,
                           .layout = document->layout,
                           .slots = slots->slot,
                           .slot_count = slots->count,
                           .revision = document->revision,
                           .go_to_layout = edit && edit->go_to_layout,
                           .begins = edit ? edit->begins : NULL,
                           .renamed = edit ? edit->renamed : NULL,
                           .renamed_count = edit ? edit->renamed_count : 0,
                           .detector = like,
                           .reused = edit ? edit->app->detector : NULL,
                           .before = goes_on ? edit->base->scene : NULL,
                           .rehearsed = is_rehearsed(edit)};
    return gw_scenario_create(&def, error);
}

/* Takes over the detector of the scenario that the loop runs. */
static void keep_detector(gw_app *app, struct gw_detector *detector)
{
    gw_scenario_release_detector(app->detector);
    app->detector = detector;
    if (detector)
        atomic_fetch_add(&app->detectors_built, 1);
}

app_effort app_edit_effort(gw_app *app)
{
    return (app_effort){.detectors = atomic_load(&app->detectors_built),
                        .solved = atomic_load(&app->objects_solved),
                        .written = atomic_load(&app->entries_written)};
}

static void count_effort(gw_app *app, const app_document *document)
{
    const gw_layout *layout = document->layout;
    int solved = 0;
    for (int i = 0; i < layout->count; i++)
        solved += !layout->placements[i]->reused;
    atomic_fetch_add(&app->objects_solved, (unsigned long long)solved);
    atomic_fetch_add(&app->entries_written, (unsigned long long)app_document_written(document));
}

bool app_start_loop(gw_app *app, app_document *document, gw_error *error)
{
    app_slots slots, none = {0};
    if (!open_slots(&none, NULL, document->scene, &slots, error))
        return false;
    gw_scenario *scenario = build_scenario(document, &slots, NULL, NULL, error);
    struct gw_detector *detector = scenario ? gw_scenario_share_detector(scenario) : NULL;
    gw_loop *loop = NULL;
    if (scenario) {
        gw_loop_def def = gw_loop_def_default();
        def.rate = document->scene->rate;
        def.best_effort = app->best_effort;
        def.placement = app->placement;
        def.halt = &app->halt;
        def.lease = &app->lease;
        def.faults = app->faults;
        def.scenario = scenario;
        loop = gw_loop_create(&def, error);
    }
    if (!loop) {
        gw_scenario_release_detector(detector);
        close_new(&slots, &none);
        return false;
    }
    keep_detector(app, detector);
    document->scenario = document->placed_since = document->revision;
    pthread_mutex_lock(&app->loop_lock);
    gw_loop *old = app->loop;
    app_slots old_slots = app->slots;
    app->loop = loop;
    app->loops++;
    app->slots = slots;
    gw_loop_record(loop, app->recording);
    pthread_mutex_unlock(&app->loop_lock);
    gw_loop_destroy(old);
    close_new(&old_slots, &none);
    pthread_mutex_lock(&app->loop_lock);
    for (int i = 0; i < app->retired_count; i++)
        gw_device_slot_close(app->retired[i].slot);
    app->retired_count = 0;
    pthread_mutex_unlock(&app->loop_lock);
    return true;
}

/* Slots that the new scenario does not use wait until the loop runs it. Under the edit and loop
 * locks. */
static void retire_slots(gw_app *app, const app_slots *slots, uint64_t revision)
{
    for (int i = 0; i < app->slots.count; i++)
        if (!has_slot(slots, app->slots.slot[i]) && app->retired_count < APP_MAX_RETIRED)
            app->retired[app->retired_count++] = (app_retired){app->slots.slot[i], revision};
    app->slots = *slots;
}

/* Operator programs that the edit changed at devices that stay open, by device of the scene; NULL:
 * unchanged. They are created before any is sent by command. */
typedef struct programs {
    gw_operator_program *of[GW_MAX_DEVICES];
} programs;

static void drop_programs(programs *made)
{
    for (int i = 0; i < GW_MAX_DEVICES; i++)
        gw_operator_program_destroy(made->of[i]);
}

static bool make_programs(const app_edit *edit, programs *made, gw_error *error)
{
    const gw_scene *base = edit->base->scene, *scene = edit->document->scene;
    *made = (programs){0};
    for (int i = 0; i < scene->device_count; i++) {
        const gw_device *device = &scene->devices[i];
        int before = gw_scene_device(base, device->id);
        if (before < 0 || !app_same_device(&base->devices[before], device) ||
            app_same_operator(&base->devices[before].operator, & device->operator))
            continue;
        made->of[i] = gw_operator_program_create(&device->operator);
        if (!made->of[i]) {
            drop_programs(made);
            return gw_fail(error, GW_FAILED, "", "memory is short for the operator");
        }
    }
    return true;
}

/* Sends the programs; those that the loop did not take are freed. */
static bool send_programs(app_edit *edit, programs *made, gw_error *error)
{
    const app_document *document = edit->document;
    bool sent = true;
    for (int i = 0; i < document->scene->device_count; i++) {
        gw_command command = {.kind = GW_COMMAND_OPERATOR, .tag = document->revision};
        if (!made->of[i])
            continue;
        command.operator.device =
            gw_device_slot_id(slot_of(&edit->app->slots, document->scene->devices[i].id));
        command.operator.program = made->of[i];
        if (app_send_command(edit->app, &command, error))
            made->of[i] = NULL;
        else
            sent = false;
    }
    drop_programs(made);
    return sent;
}

/* Builds a scenario of the document and sends it; opens and retires devices accordingly. */
static bool send_scenario(app_edit *edit, const app_diff *diff, gw_error *error)
{
    gw_app *app = edit->app;
    app_document *document = edit->document;
    app_slots slots;
    if (!open_slots(&app->slots, edit->base->scene, document->scene, &slots, error))
        return false;
    const struct gw_detector *like = diff->solids ? NULL : app->detector;
    gw_scenario *scenario = build_scenario(document, &slots, edit, like, error);
    struct gw_detector *detector = scenario && !like ? gw_scenario_share_detector(scenario) : NULL;
    gw_command command = {
        .kind = GW_COMMAND_SCENARIO, .tag = document->revision, .scenario = scenario};
    if (!scenario || !app_send_command(app, &command, error)) {
        gw_scenario_release_detector(detector);
        gw_scenario_destroy(scenario);
        close_new(&slots, &app->slots);
        return false;
    }
    if (!like)
        keep_detector(app, detector);
    document->scenario = document->revision;
    atomic_store(&app->branch_lost, false);
    pthread_mutex_lock(&app->loop_lock);
    retire_slots(app, &slots, document->revision);
    pthread_mutex_unlock(&app->loop_lock);
    return true;
}

/* ---- handing over to the loop -------------------------------------------------------------- */

static bool try_send(gw_app *app, const gw_command *command)
{
    pthread_mutex_lock(&app->loop_lock);
    bool sent = gw_loop_send(app->loop, command);
    pthread_mutex_unlock(&app->loop_lock);
    return sent;
}

bool app_send_command(gw_app *app, const gw_command *command, gw_error *error)
{
    assert(app && command);
    bool fleeting = command->kind == GW_COMMAND_DRAG || command->kind == GW_COMMAND_PUSH;
    for (int tries = fleeting ? 1 : SEND_TRIES; tries > 0; tries--) {
        if (try_send(app, command))
            return true;
        if (tries > 1)
            nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return gw_fail(error, GW_FAILED, "", "the loop takes no more commands: %d are waiting",
                   GW_COMMAND_RING);
}

/* Sends each changed value as one command. */
static bool send_values(app_edit *edit, const app_diff *diff, gw_error *error)
{
    const gw_scene *scene = edit->document->scene;
    uint64_t revision = edit->document->revision;
    bool sent = true;
    for (int i = 0; sent && i < diff->geometry_count; i++) {
        gw_command command = {.kind = GW_COMMAND_GEOMETRY, .tag = revision};
        command.geometry.moved = diff->geometry[i];
        command.geometry.revision = revision;
        sent = app_send_command(edit->app, &command, error);
    }
    for (int i = 0; sent && i < diff->control_count; i++) {
        int tool = diff->control[i];
        gw_command command = {.kind = GW_COMMAND_CONTROL, .tool = tool, .tag = revision};
        command.rendering = scene->tools[tool].rendering;
        sent = app_send_command(edit->app, &command, error);
    }
    for (int i = 0; sent && i < diff->motor_count; i++) {
        int mechanism = diff->motor[i].mechanism, joint = diff->motor[i].joint;
        gw_command command = {.kind = GW_COMMAND_MOTOR, .tag = revision};
        command.motor.mechanism = mechanism;
        command.motor.joint = joint;
        command.motor.coordinate = mechanism < 0 ? diff->motor[i].coordinate : 0;
        command.motor.motor = mechanism < 0 ? scene->joints[joint].motor[command.motor.coordinate]
                                            : scene->mechanisms[mechanism].links[joint].motor;
        sent = app_send_command(edit->app, &command, error);
    }
    return sent;
}

/* True where the loop's scenario stays valid: at most values changed, the layout is from the
 * present poses, and every object is on the same branch. Operators and tasks are not part of a
 * scenario. */
static bool changes_values_only(const app_edit *edit, const app_diff *diff)
{
    bool values = diff->geometry_count + diff->control_count + diff->motor_count > 0;
    if (edit->whole || edit->go_to_layout || diff->scenario || app_begins_any(edit))
        return false;
    if (!values && (diff->operators || diff->tasks))
        return true;
    return (!values || edit->document->from_current) && !atomic_load(&edit->app->branch_lost) &&
           app_same_branches(edit->base->layout, edit->document->layout);
}

static bool send_changed_values(app_edit *edit, const app_diff *diff, programs *made,
                                gw_error *error)
{
    bool others = diff->control_count + diff->motor_count > 0 || diff->operators || diff->tasks;
    if (!send_values(edit, diff, error)) {
        drop_programs(made);
        return false;
    }
    if (diff->geometry_count == 0 && !others) /* the loop will send no event for this edit */
        app_log_in_effect(edit->app, edit->document->revision);
    return send_programs(edit, made, error);
}

/* Makes the loop run the edit's document, which is checked and laid out. Changes nothing on
 * failure. */
static bool send_to_loop(app_edit *edit, const app_diff *diff, gw_error *error)
{
    app_document *document = edit->document;
    programs made;
    if (edit->restart || diff->restart)
        return app_start_loop(edit->app, document, error);
    document->scenario = edit->base->scenario;
    if (!make_programs(edit, &made, error))
        return false;
    if (changes_values_only(edit, diff))
        return send_changed_values(edit, diff, &made, error);
    if (!send_scenario(edit, diff, error)) {
        drop_programs(&made);
        return false;
    }
    /* The loop has taken the scenario, which cannot be undone: a failure here is only reported. */
    if (!send_programs(edit, &made, error))
        app_log(edit->app, "operator", "error", "A device goes on with its former operator.");
    return true;
}

/* A dry run gives the refusals of send_to_loop(), by a scenario that no loop gets. */
static bool could_run(app_edit *edit, const app_diff *diff, gw_error *error)
{
    const app_slots none = {0};
    app_document *document = edit->document;
    app_slots slots;
    bool starts = edit->restart || diff->restart;
    const app_slots *open = starts ? &none : &edit->app->slots;
    const struct gw_detector *like = starts || diff->solids ? NULL : edit->app->detector;
    if (!starts && changes_values_only(edit, diff))
        return true;
    if (!open_slots(open, starts ? NULL : edit->base->scene, document->scene, &slots, error))
        return false;
    gw_scenario *scenario = build_scenario(document, &slots, starts ? NULL : edit, like, error);
    gw_scenario_destroy(scenario);
    close_new(&slots, open);
    return scenario != NULL;
}

/* ---- one edit ------------------------------------------------------------------------------ */

bool app_edit_begin(gw_app *app, app_edit *edit, gw_error *error)
{
    assert(app && edit);
    pthread_mutex_lock(&app->edit);
    *edit = (app_edit){.app = app, .base = app_document_get(app)};
    edit->scene = gw_scene_copy(edit->base->scene);
    if (edit->scene)
        return true;
    app_edit_end(edit);
    return gw_fail(error, GW_FAILED, "", "memory is short for an edit");
}

void app_edit_end(app_edit *edit)
{
    assert(edit && edit->app);
    if (edit->ticket)
        database_sync_later(edit->app->database);
    gw_scene_destroy(edit->scene);
    app_document_put(edit->base);
    app_document_put(edit->document);
    gw_layout_destroy(edit->opening);
    free(edit->begins);
    free(edit->statements);
    free(edit->renamed);
    pthread_mutex_unlock(&edit->app->edit);
    *edit = (app_edit){0};
}

void app_edit_replace(app_edit *edit, gw_scene *scene)
{
    assert(edit && scene);
    gw_scene_destroy(edit->scene);
    edit->scene = scene;
    edit->statement_count = edit->renamed_count = 0;
}

/* A snapshot that has the objects' present poses. Where the last edits moved no object, one from
 * before them is enough, and the edit need not wait for a tick. */
static void view_objects(const app_edit *edit, gw_snapshot *snapshot)
{
    app_snapshot(edit->app, snapshot);
    if (snapshot->state != GW_STOPPED && snapshot->scenario < edit->base->placed_since)
        app_document_put(app_read_state(edit->app, snapshot));
}

/* Takes over `layout`; NULL with an error where an object lies beyond GW_MAX_COORDINATE or is not
 * finite. */
static gw_layout *refuse_out_of_range(const app_edit *edit, gw_layout *layout, gw_error *error)
{
    for (int i = 0; layout && i < edit->scene->object_count; i++)
        if (!app_within_numbers(&layout->poses[i])) {
            gw_fail(error, GW_BAD_INPUT, "",
                    "%s would come to lie beyond %g m, or nowhere: its constraints and what they "
                    "join are too far apart",
                    edit->scene->objects[i].id, GW_MAX_COORDINATE);
            gw_layout_destroy(layout);
            return NULL;
        }
    return layout;
}

static gw_layout *lay_out(app_edit *edit, gw_error *error, bool *from_current)
{
    gw_snapshot *now = &edit->app->poses_now;
    view_objects(edit, now);
    *from_current =
        now->state != GW_STOPPED && !edit->restart && edit->scene->rate == edit->base->scene->rate;
    if (!*from_current)
        return refuse_out_of_range(
            edit,
            gw_layout_update(edit->scene, NULL, &(gw_layout_known){.layout = edit->base->layout},
                             error),
            error);
    return refuse_out_of_range(edit, app_lay_out_now(edit, now, error), error);
}

/* True where the edit makes joints of bodies that nothing moves contradict one another. A scene
 * that is loaded may be so, with a note: it can be assembled. */
static bool tears_standing(app_edit *edit, const gw_layout *layout, gw_error *error)
{
    gw_error before, now;
    if (edit->keeps_history || gw_layout_unsolved(layout) ||
        gw_layout_standing_hold(edit->scene, layout, &now))
        return false;
    if (edit->restart)
        snprintf(edit->note, sizeof edit->note, "%.*s", APP_NOTE - 1, now.message);
    if (edit->restart || !gw_layout_standing_hold(edit->base->scene, edit->base->layout, &before))
        return false;
    *error = now;
    return true;
}

static bool refuse_edit(app_edit *edit, gw_error *error)
{
    bool clash = edit->failed->solution.status == GW_STATUS_INCOMPATIBLE;
    const char *object = edit->document->scene->objects[edit->failed->object].id;
    return clash ? gw_fail(error, GW_INCOMPATIBLE, "",
                           "the constraints of %s contradict one another", object)
                 : gw_fail(error, GW_UNHANDLED, "",
                           "no pose of %s was found, and none was proven impossible", object);
}

/* ---- writing down ----------------------------------------------------------------------------
 */

/* True where the edit belongs to the same group as the one before, so that both are one step for
 * undo. */
static bool belongs_to_last(const app_edit *edit)
{
    const gw_app *app = edit->app;
    return edit->group[0] && app->group_base && strcmp(edit->group, app->group) == 0 &&
           clock_s() - app->group_s < (edit->group_stated ? APP_STATED_GROUP_S : APP_GROUP_S);
}

/* Adds the document to the history as the next state, as a change or, where that is not smaller,
 * whole. */
static bool add_state(const app_edit *edit, gw_error *error)
{
    gw_history *history = edit->app->history;
    const app_document *document = edit->document;
    bool instead = belongs_to_last(edit);
    gw_text *text = app_change(instead ? edit->app->group_base : edit->base, document);
    bool large = text && 2 * text->size > app_document_bytes(document);
    if (large) {
        text_unref(text);
        text = app_document_scene(document);
    }
    if (!text)
        return gw_fail(error, GW_FAILED, "", "memory is short for an edit");
    gw_text *contacts = edit->opening_followed ? app_write_contacts(edit->opening) : NULL;
    const history_text state = {text->data, text->size, large, contacts ? contacts->data : NULL};
    bool done = edit->opening_followed && !contacts
                    ? gw_fail(error, GW_FAILED, "", "memory is short for an edit")
                    : history_add(history, document->revision, &state, instead, error);
    text_unref(contacts);
    text_unref(text);
    return done;
}

/* Writes the state whole at regular intervals, which bounds the number of changes to read for any
 * state. */
static bool write_full_state(const app_edit *edit, gw_error *error)
{
    gw_text *whole = app_document_scene(edit->base);
    bool done = whole ? history_make_whole(edit->app->history, whole->data, whole->size, error)
                      : gw_fail(error, GW_FAILED, "", "memory is short for an edit");
    text_unref(whole);
    return done;
}

/* Writes the edit to the history before it takes effect: an edit that the disk refuses is not
 * made. */
static bool write_to_history(const app_edit *edit, gw_error *error)
{
    gw_app *app = edit->app;
    uint64_t revision = edit->document->revision;
    bool done;
    if (edit->keeps_history)
        done = history_go(app->history, revision, edit->history_step, error);
    else
        done = (belongs_to_last(edit) || !history_wants_whole(app->history) ||
                write_full_state(edit, error)) &&
               add_state(edit, error);
    if (!done)
        app_log_storage(app, error);
    return done;
}

static void push_undo(app_edit *edit)
{
    gw_app *app = edit->app;
    if (!belongs_to_last(edit)) {
        app_document_put(app->group_base);
        app->group_base = edit->group[0] ? edit->base : NULL;
        if (app->group_base)
            atomic_fetch_add(&edit->base->refs, 1);
    }
    memcpy(app->group, edit->group, sizeof app->group);
    app->group_s = clock_s();
}

/* True for geometry that is moved many times a second: such edits do not wait for the disk, and are
 * synced soon after. */
static bool is_sensor_value(app_edit *edit, const app_diff *diff)
{
    double before_s = edit->app->sensor_s;
    bool moved = diff->geometry_count > 0 && diff->control_count + diff->motor_count == 0 &&
                 !edit->restart && !diff->restart && !diff->scenario && !diff->operators &&
                 !diff->tasks && !diff->text;
    if (moved)
        edit->app->sensor_s = clock_s();
    return moved && edit->app->sensor_s - before_s < APP_SENSOR_S;
}

bool app_keep(gw_app *app, uint64_t ticket, gw_error *error)
{
    assert(app);
    if (database_sync(app->database, ticket, error))
        return true;
    app_log_storage(app, error);
    return false;
}

/* ---- the commit ------------------------------------------------------------------------------ */

bool app_edit_commit(app_edit *edit, gw_error *error)
{
    assert(edit && edit->scene && edit->base);
    gw_app *app = edit->app;
    bool from_current;
    if (!gw_scene_make_surfaces(edit->scene, error) || !gw_scene_check(edit->scene, error))
        return false;
    app_diff diff = app_diff_of(edit->base->scene, edit->scene);
    gw_layout *layout = lay_out(edit, error, &from_current);
    if (!layout)
        return false;
    if (from_current && !edit->keeps_history && !gw_layout_unsolved(layout) &&
        !app_opens_again(edit, error)) {
        gw_layout_destroy(layout);
        return false;
    }
    if (!edit->restart && !edit->keeps_history)
        app_note_overruled_poses(edit, layout, !from_current);
    if (tears_standing(edit, layout, error) ||
        !app_check_limits(edit, layout, !from_current, error)) {
        gw_layout_destroy(layout);
        return false;
    }
    edit->document = app_document_new(edit->scene, layout, error);
    edit->scene = NULL;
    if (!edit->document)
        return false;
    edit->failed = gw_layout_unsolved(edit->document->layout);
    edit->document->from_current = from_current;
    if (edit->failed)
        return edit->dry_run || refuse_edit(edit, error);
    edit->document->revision = edit->base->revision + 1;
    if (!app_document_write(edit->document, edit->base, error))
        return false;
    if (edit->dry_run)
        return could_run(edit, &diff, error);
    if (!write_to_history(edit, error))
        return false;
    edit->document->undo = history_undo(app->history);
    edit->document->redo = history_redo(app->history);
    edit->document->state = history_state(app->history);
    if (!send_to_loop(edit, &diff, error)) {
        history_take_back(app->history);
        return false;
    }
    edit->document->same_index = !edit->restart && !diff.restart && !diff.names && !diff.solids;
    edit->document->placed_since = edit->document->same_index && !app_begins_any(edit)
                                       ? edit->base->placed_since
                                       : edit->document->scenario;
    app_document_inherit(edit->document, edit->base, &diff);
    push_undo(edit);
    app_keep_opening(edit);
    if (is_sensor_value(edit, &diff))
        database_sync_later(app->database);
    else
        edit->ticket = history_ticket(app->history);
    if (edit->restart)
        app_task_forget(app);
    if (edit->note[0])
        app_log(app, "edit", "warning", "%s.", edit->note);
    count_effort(app, edit->document);
    atomic_fetch_add(&edit->document->refs, 1);
    app_publish(app, edit->document);
    if (edit->document->opening_followed)
        app_check_opening_later(app);
    return true;
}

/* ---- undo and redo -------------------------------------------------------------------------- */

/* The scene of the state `offset` steps away in the history; NULL with an error. */
static gw_scene *read_state(gw_app *app, int offset, gw_error *error)
{
    gw_error why = {0};
    json_t *value = history_scene(app->history, offset, app_apply_change, error);
    gw_scene *scene = value ? wire_get_scene(value, &why) : NULL;
    json_decref(value);
    if (value && !scene)
        gw_fail(error, why.code == GW_FAILED ? GW_FAILED : GW_CONFLICT, "",
                "the scene to go to cannot be opened any more: %.300s", why.message);
    return scene;
}

static bool step_history(app_edit *edit, int offset, gw_error *error)
{
    assert(edit && edit->app && edit->base);
    gw_scene *scene = read_state(edit->app, offset, error);
    if (!scene)
        return false;
    const app_diff diff = app_diff_of(edit->base->scene, scene);
    /* another scene, not the same one renamed */
    edit->restart = strcmp(scene->name, edit->base->scene->name) != 0 && diff.scenario;
    edit->keeps_history = true;
    edit->history_step = offset;
    app_edit_replace(edit, scene);
    return app_edit_finds_renamed(edit, error);
}

bool app_edit_undo(app_edit *edit, gw_error *error)
{
    return step_history(edit, -1, error);
}

bool app_edit_redo(app_edit *edit, gw_error *error)
{
    return step_history(edit, 1, error);
}

/* ---- saved ---------------------------------------------------------------------------------- */

void app_mark_saved(gw_app *app, const app_document *document)
{
    assert(app && document);
    gw_error error = {0};
    pthread_mutex_lock(&app->edit);
    if (history_mark_saved(app->history, document->state, &error)) {
        atomic_store(&app->saved, document->state);
        database_sync_later(app->database);
    }
    pthread_mutex_unlock(&app->edit);
    app_wake(app);
}

bool app_is_saved(gw_app *app, const app_document *document)
{
    return atomic_load(&app->saved) == document->state;
}

/* ---- back to the scene's poses ----------------------------------------------------------------
 */

void app_lay_out_again(gw_app *app)
{
    app_document *now = app_document_get(app);
    app_edit edit = {.app = app, .base = now, .whole = true};
    gw_error error = {0};
    gw_scene *scene = now->from_current ? gw_scene_copy(now->scene) : NULL;
    gw_layout *layout = scene ? gw_layout_create(scene, NULL, &error) : NULL;
    if (!layout || gw_layout_unsolved(layout)) {
        gw_layout_destroy(layout);
        gw_scene_destroy(scene);
    } else if ((edit.document = app_document_new(scene, layout, &error))) {
        const app_diff none = {0};
        edit.document->revision = now->revision;
        edit.document->undo = now->undo;
        edit.document->redo = now->redo;
        edit.document->state = now->state;
        edit.document->same_index = true;
        app_document_inherit(edit.document, now, &none);
        edit.document->placed_since = now->revision;
        if (app_document_write(edit.document, now, &error) && send_to_loop(&edit, &none, &error))
            app_publish(app, edit.document);
        else
            app_document_put(edit.document);
    }
    app_document_put(now);
}

/* ---- after geometry took a branch away ----------------------------------------------------- */

void app_resend_scenario(gw_app *app)
{
    app_edit edit;
    gw_error error = {0};
    if (!app_edit_begin(app, &edit, &error))
        return;
    if (atomic_exchange(&app->branch_lost, false)) {
        edit.keeps_history = edit.whole = true;
        if (!app_edit_commit(&edit, &error))
            app_log(app, "left-behind", "error", "No way onto the moved constraints: %s",
                    error.message);
    }
    app_edit_end(&edit);
}
