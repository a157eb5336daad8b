/*
 * The app's side of the loop: commands in, snapshots and events out, and the hand-over of a
 * document with the devices that it needs. Everything here holds the loop lock only for a copy,
 * so that no reader of snapshots waits for an edit.
 */
#include <string.h>
#include <time.h>

#include "server/app_private.h"

#define ANSWER_WAIT_MS 500  /* for the loop to report a new run state */
#define STEP_WAIT_MS   5000 /* for a request of many steps; then it answers what is reached */
#define STEP_MAX       1000000

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* ---- commands and snapshots ---------------------------------------------------------------- */

void app_snapshot(gw_app *app, gw_snapshot *snapshot)
{
    pthread_mutex_lock(&app->loop_lock);
    gw_loop_snapshot(app->loop, snapshot);
    pthread_mutex_unlock(&app->loop_lock);
}

static bool send_command(gw_app *app, const gw_command *command, gw_error *error)
{
    pthread_mutex_lock(&app->loop_lock);
    bool sent = gw_loop_send(app->loop, command);
    pthread_mutex_unlock(&app->loop_lock);
    return sent || gw_fail(error, GW_FAILED, "", "the loop takes no more commands: %d are waiting",
                           GW_COMMAND_RING);
}

bool app_send(gw_app *app, const gw_command *command, gw_error *error)
{
    gw_snapshot snapshot;
    app_snapshot(app, &snapshot);
    bool about_tool = command->kind != GW_COMMAND_HALT && command->kind != GW_COMMAND_ARM;
    if (about_tool && (command->tool < 0 || command->tool >= snapshot.tool_count))
        return gw_fail(error, GW_NOT_FOUND, "/tool", "there is no tool %d: the scene has %d",
                       command->tool, snapshot.tool_count);
    return send_command(app, command, error);
}

static bool reached(const gw_snapshot *snapshot, gw_run_state state)
{
    return snapshot->state == state && (state != GW_STOPPED || snapshot->tick == 0);
}

/* A running edit was laid out from where the hand had the objects; a stop goes back to the poses
 * that the scene states, so the loop gets a scenario of those first. Under the edit lock. */
static void lay_out_again(gw_app *app, gw_error *error)
{
    app_document *now = app_document_get(app);
    app_edit edit = {.app = app, .base = now};
    gw_scene *scene = now->from_current ? gw_scene_copy(now->scene) : NULL;
    gw_layout *layout = scene ? gw_layout_create(scene, NULL, error) : NULL;
    if (layout && !gw_layout_problem(layout)) {
        edit.document = app_document_new(scene, layout, error);
        if (edit.document) {
            edit.document->revision = now->revision;
            edit.document->undo = now->undo;
            edit.document->redo = now->redo;
            if (app_document_write(edit.document, error) && app_hand_over(&edit, error))
                app_publish(app, edit.document);
            else
                app_document_put(edit.document);
        }
    } else {
        gw_layout_destroy(layout);
        gw_scene_destroy(scene);
    }
    app_document_put(now);
}

bool app_set_state(gw_app *app, gw_run_state state, gw_error *error)
{
    gw_snapshot snapshot;
    app_snapshot(app, &snapshot);
    if (snapshot.halted && state == GW_RUNNING)
        return gw_fail(error, GW_CONFLICT, "/state",
                       "halted: nothing moves until POST /api/v1/simulation/arm");
    pthread_mutex_lock(&app->edit);
    if (state == GW_STOPPED)
        lay_out_again(app, NULL);
    bool sent = send_command(app, &(gw_command){.kind = GW_COMMAND_STATE, .state = state}, error);
    pthread_mutex_unlock(&app->edit);
    if (!sent)
        return false;
    for (int waited_ms = 0; waited_ms < ANSWER_WAIT_MS; waited_ms++) {
        app_snapshot(app, &snapshot);
        if (reached(&snapshot, state))
            return true;
        sleep_ms(1);
    }
    return gw_fail(error, GW_FAILED, "", "the loop did not take the state within %d ms",
                   ANSWER_WAIT_MS);
}

bool app_step(gw_app *app, uint64_t ticks, gw_error *error)
{
    if (ticks < 1 || ticks > STEP_MAX)
        return gw_fail(error, GW_BAD_INPUT, "/ticks", "1 to %d ticks at once", STEP_MAX);
    gw_snapshot snapshot;
    app_snapshot(app, &snapshot);
    if (snapshot.state != GW_PAUSED)
        return gw_fail(error, GW_CONFLICT, "", "steps are made while paused: pause first");
    if (snapshot.halted)
        return gw_fail(error, GW_CONFLICT, "", "halted: nothing moves until armed");
    uint64_t target = snapshot.tick + ticks;
    if (!send_command(app, &(gw_command){.kind = GW_COMMAND_STEP, .ticks = ticks}, error))
        return false;
    for (int waited_ms = 0; waited_ms < STEP_WAIT_MS; waited_ms++) {
        app_snapshot(app, &snapshot);
        if (snapshot.tick >= target || snapshot.state != GW_PAUSED)
            break;
        sleep_ms(1);
    }
    return true;
}

bool app_halt(gw_app *app, bool on, gw_error *error)
{
    gw_command command = {.kind = on ? GW_COMMAND_HALT : GW_COMMAND_ARM};
    if (!send_command(app, &command, error))
        return false;
    for (int waited_ms = 0; waited_ms < ANSWER_WAIT_MS; waited_ms++) {
        gw_snapshot snapshot;
        app_snapshot(app, &snapshot);
        if (snapshot.halted == on)
            return true;
        sleep_ms(1);
    }
    return gw_fail(error, GW_FAILED, "", "the loop did not answer within %d ms", ANSWER_WAIT_MS);
}

/* ---- what the loop says -------------------------------------------------------------------- */

/* Closes the devices that no scenario in the loop uses any more. Under the loop lock. */
static void close_retired(gw_app *app)
{
    gw_snapshot snapshot;
    if (app->retired_count == 0)
        return;
    gw_loop_snapshot(app->loop, &snapshot);
    int kept = 0;
    for (int i = 0; i < app->retired_count; i++) {
        if (snapshot.revision >= app->retired[i].revision)
            gw_device_slot_close(app->retired[i].slot);
        else
            app->retired[kept++] = app->retired[i];
    }
    app->retired_count = kept;
}

void app_pump(gw_app *app)
{
    gw_event events[32];
    int count = 0;
    pthread_mutex_lock(&app->loop_lock);
    while (count < 32 && gw_loop_event(app->loop, &events[count]))
        count++;
    gw_loop_collect(app->loop);
    close_retired(app);
    pthread_mutex_unlock(&app->loop_lock);
    if (count == 0)
        return;
    app_document *document = app_document_get(app);
    for (int i = 0; i < count; i++)
        app_log_loop(app, &events[i], document);
    app_document_put(document);
}

void app_record(gw_app *app, bool on)
{
    pthread_mutex_lock(&app->loop_lock);
    app->recording = on;
    gw_loop_record(app->loop, on);
    pthread_mutex_unlock(&app->loop_lock);
}

int app_records(gw_app *app, gw_snapshot *records, int capacity, uint64_t *lost)
{
    pthread_mutex_lock(&app->loop_lock);
    int count = gw_loop_records(app->loop, records, capacity, lost);
    pthread_mutex_unlock(&app->loop_lock);
    return count;
}

int app_rt_thread(gw_app *app)
{
    pthread_mutex_lock(&app->loop_lock);
    int id = gw_loop_thread_id(app->loop);
    pthread_mutex_unlock(&app->loop_lock);
    return id;
}

static gw_device_slot *slot_of(const app_slots *slots, const char *id)
{
    for (int i = 0; i < slots->count; i++)
        if (strcmp(gw_device_slot_id(slots->slot[i]), id) == 0)
            return slots->slot[i];
    return NULL;
}

bool app_device_info(gw_app *app, const char *id, gw_device_info *info)
{
    pthread_mutex_lock(&app->edit);
    const gw_device_slot *slot = slot_of(&app->slots, id);
    if (slot)
        *info = *gw_device_slot_info(slot);
    pthread_mutex_unlock(&app->edit);
    return slot != NULL;
}

/* ---- hand-over ----------------------------------------------------------------------------- */

static bool same_device(const gw_device *a, const gw_device *b)
{
    if (strcmp(a->driver, b->driver) != 0 || strcmp(a->profile, b->profile) != 0 ||
        a->setting_count != b->setting_count)
        return false;
    for (int i = 0; i < a->setting_count; i++)
        if (strcmp(a->settings[i].name, b->settings[i].name) != 0 ||
            a->settings[i].value != b->settings[i].value)
            return false;
    return true;
}

static bool same_operator(const gw_operator *a, const gw_operator *b)
{
    if (a->kind != b->kind || a->count != b->count || a->mass != b->mass ||
        a->stiffness != b->stiffness || a->damping != b->damping ||
        a->stiffness_angular != b->stiffness_angular || a->damping_angular != b->damping_angular)
        return false;
    size_t count = (size_t)a->count;
    if (a->kind == GW_OPERATOR_WRENCH)
        return count == 0 || memcmp(a->samples, b->samples, count * sizeof *a->samples) == 0;
    return count == 0 || memcmp(a->path, b->path, count * sizeof *a->path) == 0;
}

static void close_new(const app_slots *slots, const app_slots *old)
{
    for (int i = 0; i < slots->count; i++) {
        bool kept = false;
        for (int k = 0; k < old->count; k++)
            kept = kept || old->slot[k] == slots->slot[i];
        if (!kept)
            gw_device_slot_close(slots->slot[i]);
    }
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
        if (before >= 0 && same_device(&base->devices[before], device))
            slot = slot_of(old, device->id);
        if (!slot)
            slot = gw_device_slot_open(device, scene->rate, error);
        if (!slot) {
            close_new(slots, old);
            return false;
        }
        slots->slot[slots->count++] = slot;
    }
    return true;
}

static gw_scenario *build(const app_document *document, const app_slots *slots, bool go_to_layout,
                          gw_error *error)
{
    gw_scenario_def def = {.scene = document->scene,
                           .layout = document->layout,
                           .slots = slots->slot,
                           .slot_count = slots->count,
                           .revision = document->revision,
                           .go_to_layout = go_to_layout};
    return gw_scenario_create(&def, error);
}

bool app_start_loop(gw_app *app, app_document *document, gw_error *error)
{
    app_slots slots, none = {0};
    if (!open_slots(&none, NULL, document->scene, &slots, error))
        return false;
    gw_scenario *scenario = build(document, &slots, false, error);
    gw_loop *loop = NULL;
    if (scenario) {
        gw_loop_def def = gw_loop_def_default();
        def.rate = document->scene->rate;
        def.best_effort = app->best_effort;
        def.scenario = scenario;
        loop = gw_loop_create(&def, error);
    }
    if (!loop) {
        close_new(&slots, &none);
        return false;
    }
    document->scenario = document->revision;
    pthread_mutex_lock(&app->loop_lock);
    gw_loop *old = app->loop;
    app_slots old_slots = app->slots;
    app->loop = loop;
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

/* Under the edit and loop locks: slots that the new scenario does not use wait for the swap. */
static void retire_slots(gw_app *app, const app_slots *slots, uint64_t revision)
{
    for (int i = 0; i < app->slots.count; i++) {
        bool kept = false;
        for (int k = 0; k < slots->count; k++)
            kept = kept || slots->slot[k] == app->slots.slot[i];
        if (!kept && app->retired_count < APP_MAX_RETIRED)
            app->retired[app->retired_count++] = (app_retired){app->slots.slot[i], revision};
    }
    app->slots = *slots;
}

/* Operators that the edit changed, at devices that stay open, are changed by command. */
static bool send_operators(app_edit *edit, gw_error *error)
{
    const gw_scene *base = edit->base->scene, *scene = edit->document->scene;
    for (int i = 0; i < scene->device_count; i++) {
        const gw_device *device = &scene->devices[i];
        int before = gw_scene_device(base, device->id);
        if (before < 0 || !same_device(&base->devices[before], device) ||
            same_operator(&base->devices[before].operator, & device->operator))
            continue;
        gw_operator_program *program = gw_operator_program_create(&device->operator);
        if (!program)
            return gw_fail(error, GW_FAILED, "", "memory is short for the operator");
        gw_command command = {.kind = GW_COMMAND_OPERATOR, .tag = edit->document->revision};
        command.operator.device = gw_device_slot_id(slot_of(&edit->app->slots, device->id));
        command.operator.program = program;
        if (!send_command(edit->app, &command, error)) {
            gw_operator_program_destroy(program);
            return false;
        }
    }
    return true;
}

bool app_hand_over(app_edit *edit, gw_error *error)
{
    gw_app *app = edit->app;
    app_document *document = edit->document;
    if (edit->restart || document->scene->rate != edit->base->scene->rate)
        return app_start_loop(app, document, error);
    document->scenario = edit->base->scenario;
    if (edit->operator_only)
        return send_operators(edit, error);
    app_slots slots;
    if (!open_slots(&app->slots, edit->base->scene, document->scene, &slots, error))
        return false;
    gw_scenario *scenario = build(document, &slots, edit->go_to_layout, error);
    if (!scenario) {
        close_new(&slots, &app->slots);
        return false;
    }
    gw_command command = {
        .kind = GW_COMMAND_SCENARIO, .tag = document->revision, .scenario = scenario};
    if (!send_command(app, &command, error)) {
        gw_scenario_destroy(scenario);
        close_new(&slots, &app->slots);
        return false;
    }
    document->scenario = document->revision;
    pthread_mutex_lock(&app->loop_lock);
    retire_slots(app, &slots, document->revision);
    pthread_mutex_unlock(&app->loop_lock);
    return send_operators(edit, error);
}
