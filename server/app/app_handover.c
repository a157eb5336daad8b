/*
 * Hand-over of a document to the loop, with the devices that it needs. Under the edit lock.
 */
#include <string.h>

#include "server/app/app_private.h"

/* ---- devices ------------------------------------------------------------------------------- */

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
            slot = gw_device_slot_open(device, gw_scene_step_rate(scene), error);
        if (!slot) {
            close_new(slots, old);
            return false;
        }
        slots->slot[slots->count++] = slot;
    }
    return true;
}

/* `edit`: whose document it is, NULL for a fresh start. */
static gw_scenario *build(const app_document *document, const app_slots *slots,
                          const app_edit *edit, gw_error *error)
{
    gw_scenario_def def = {.scene = document->scene,
                           .layout = document->layout,
                           .slots = slots->slot,
                           .slot_count = slots->count,
                           .revision = document->revision,
                           .go_to_layout = edit && edit->go_to_layout,
                           .placed = edit ? edit->placed : NULL};
    return gw_scenario_create(&def, error);
}

bool app_start_loop(gw_app *app, app_document *document, gw_error *error)
{
    app_slots slots, none = {0};
    if (!open_slots(&none, NULL, document->scene, &slots, error))
        return false;
    gw_scenario *scenario = build(document, &slots, NULL, error);
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

/* Operators that the edit changed, at devices that stay open, are changed by command. Their
 * programs are made before anything is sent; by device of the scene, NULL where nothing changes. */
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
        if (before < 0 || !same_device(&base->devices[before], device) ||
            same_operator(&base->devices[before].operator, & device->operator))
            continue;
        made->of[i] = gw_operator_program_create(&device->operator);
        if (!made->of[i]) {
            drop_programs(made);
            return gw_fail(error, GW_FAILED, "", "memory is short for the operator");
        }
    }
    return true;
}

/* Sends them; what the loop did not take is given back to memory. */
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

/* A scenario of the document is made and sent, the devices change with it. */
static bool send_scenario(app_edit *edit, gw_error *error)
{
    gw_app *app = edit->app;
    app_document *document = edit->document;
    app_slots slots;
    if (!open_slots(&app->slots, edit->base->scene, document->scene, &slots, error))
        return false;
    gw_scenario *scenario = build(document, &slots, edit, error);
    gw_command command = {
        .kind = GW_COMMAND_SCENARIO, .tag = document->revision, .scenario = scenario};
    if (!scenario || !app_send_command(app, &command, error)) {
        gw_scenario_destroy(scenario);
        close_new(&slots, &app->slots);
        return false;
    }
    document->scenario = document->revision;
    atomic_store(&app->left_behind, false);
    pthread_mutex_lock(&app->loop_lock);
    retire_slots(app, &slots, document->revision);
    pthread_mutex_unlock(&app->loop_lock);
    return true;
}

bool app_hand_over(app_edit *edit, gw_error *error)
{
    gw_app *app = edit->app;
    app_document *document = edit->document;
    programs made;
    if (edit->restart || document->scene->rate != edit->base->scene->rate ||
        gw_scene_step_rate(document->scene) != gw_scene_step_rate(edit->base->scene))
        return app_start_loop(app, document, error);
    if (app_moves_geometry(edit))
        return app_move_geometry(edit, error);
    if (app_tunes(edit))
        return app_tune(edit, error);
    document->scenario = edit->base->scenario;
    if (!make_programs(edit, &made, error))
        return false;
    if (edit->operator_only)
        return send_programs(edit, &made, error);
    if (!send_scenario(edit, error)) {
        drop_programs(&made);
        return false;
    }
    /* The loop has the scenario: there is no way back, only a word about what is missing. */
    if (!send_programs(edit, &made, error))
        app_log(app, "operator", "error", "A device goes on with its former operator.");
    return true;
}
