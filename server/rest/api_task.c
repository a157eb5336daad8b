/*
 * Tasks: add, read, change, remove, start, stop. A task that runs is left alone.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/api_call.h"

/* The progress of a task: what is known of it, or nothing yet. */
static json_t *progress_json(gw_app *app, const gw_task *task)
{
    char id[GW_MAX_ID + 1];
    gw_task_progress progress;
    if (!app_task_last(app, id, &progress) || strcmp(id, task->id) != 0)
        progress = gw_task_progress_of(task);
    return wire_task_progress(&progress);
}

static json_t *task_json(gw_app *app, const gw_task *task)
{
    json_t *json = wire_task(task);
    json_object_set_new(json, "progress", progress_json(app, task));
    return json;
}

void api_tasks_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    json_t *list = json_array();
    for (int i = 0; i < document->scene->task_count; i++)
        json_array_append_new(list, task_json(call->app, &document->scene->tasks[i]));
    api_part(call, 200, document, list);
    app_document_put(document);
}

static bool no_such(api_call *call, int index)
{
    if (index < 0)
        api_refuse(call, 404, "", "there is no task %s", call->part[0]);
    return index < 0;
}

void api_task_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_task(document->scene, call->part[0]);
    if (!no_such(call, index))
        api_part(call, 200, document, task_json(call->app, &document->scene->tasks[index]));
    app_document_put(document);
}

static void answer_progress(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_task(document->scene, call->part[0]);
    if (!no_such(call, index))
        api_json(call, 200, progress_json(call->app, &document->scene->tasks[index]));
    app_document_put(document);
}

void api_task_progress_get(api_call *call)
{
    answer_progress(call);
}

/* ---- edits --------------------------------------------------------------------------------- */

/* Commits and answers the task at `index`. The loop has nothing to do with it. */
static void finish(api_call *call, app_edit *edit, int index, int status)
{
    char item[64];
    snprintf(item, sizeof item, "/tasks/%d", index);
    edit->operator_only = true;
    if (!api_commit(call, edit, item, NULL))
        return;
    const gw_task *task = &edit->document->scene->tasks[index];
    if (status == 201)
        api_location(call, "tasks", task->id);
    api_part(call, status, edit->document, task_json(call->app, task));
    app_edit_end(edit);
}

static bool taken(api_call *call, app_edit *edit, const char *id)
{
    if (gw_scene_task(edit->scene, id) < 0)
        return false;
    api_refuse(call, 409, "/id", "there is a task %s already", id);
    app_edit_end(edit);
    return true;
}

/* Puts the task (taken over) at the end of the scene. */
static void add(api_call *call, app_edit *edit, gw_task *task)
{
    gw_error error = {0};
    gw_task *place = gw_scene_add_task(edit->scene, &error);
    if (!place) {
        gw_task_finish(task);
        api_abandon(call, edit, &error);
        return;
    }
    *place = *task;
    finish(call, edit, edit->scene->task_count - 1, 201);
}

void api_tasks_post(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_task task;
    if (!wire_get_task(call->body, "", &task, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit) || taken(call, &edit, task.id)) {
        gw_task_finish(&task);
        return;
    }
    add(call, &edit, &task);
}

static bool runs(api_call *call)
{
    bool busy = app_task_runs(call->app, call->part[0]);
    if (busy)
        api_refuse(call, 409, "", "task %s runs: stop it first", call->part[0]);
    return busy;
}

/* Puts the task (taken over) in the place of the one at `index`. */
static void replace(api_call *call, app_edit *edit, int index, gw_task *task)
{
    if (strcmp(task->id, call->part[0]) != 0 && taken(call, edit, task->id)) {
        gw_task_finish(task);
        return;
    }
    gw_task_finish(&edit->scene->tasks[index]);
    edit->scene->tasks[index] = *task;
    finish(call, edit, index, 200);
}

void api_task_put(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_task task;
    if (!json_object_get(call->body, "id"))
        json_object_set_new(call->body, "id", json_string(call->part[0]));
    if (!wire_get_task(call->body, "", &task, &error)) {
        api_error(call, &error);
        return;
    }
    if (strcmp(task.id, call->part[0]) != 0) {
        api_refuse(call, 400, "/id", "the address says %s; PATCH renames", call->part[0]);
        gw_task_finish(&task);
        return;
    }
    if (runs(call) || !api_begin(call, &edit)) {
        gw_task_finish(&task);
        return;
    }
    int index = gw_scene_task(edit.scene, task.id);
    if (index < 0)
        add(call, &edit, &task);
    else
        replace(call, &edit, index, &task);
}

void api_task_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_task task;
    if (runs(call) || !api_begin(call, &edit))
        return;
    int index = gw_scene_task(edit.scene, call->part[0]);
    if (no_such(call, index)) {
        app_edit_end(&edit);
        return;
    }
    json_t *merged = api_merge(call, wire_task(&edit.scene->tasks[index]));
    bool read = wire_get_task(merged, "", &task, &error);
    json_decref(merged);
    if (read)
        replace(call, &edit, index, &task);
    else
        api_abandon(call, &edit, &error);
}

void api_task_delete(api_call *call)
{
    app_edit edit;
    if (runs(call) || !api_begin(call, &edit))
        return;
    int index = gw_scene_task(edit.scene, call->part[0]);
    if (no_such(call, index)) {
        app_edit_end(&edit);
        return;
    }
    gw_scene_remove_task(edit.scene, index);
    edit.operator_only = true;
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}

/* ---- running ------------------------------------------------------------------------------- */

void api_task_start(api_call *call)
{
    gw_error error = {0};
    if (app_task_start(call->app, call->part[0], &error))
        answer_progress(call);
    else
        api_error(call, &error);
}

void api_task_stop(api_call *call)
{
    app_task_stop(call->app, call->part[0]);
    answer_progress(call);
}
