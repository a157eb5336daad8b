/*
 * Constraints: add, read, change, disable, remove; each edit is solved before it counts.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/api_call.h"

void api_constraints_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    json_t *list = json_array();
    for (int i = 0; i < document->scene->constraint_count; i++)
        json_array_append_new(list, describe_constraint(document->scene, document->layout, i));
    api_part(call, 200, document, list);
    app_document_put(document);
}

static bool no_such(api_call *call, int index)
{
    if (index < 0)
        api_refuse(call, 404, "", "there is no constraint %s", call->part[0]);
    return index < 0;
}

void api_constraint_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_constraint_index(document->scene, call->part[0]);
    if (!no_such(call, index))
        api_part(call, 200, document,
                 describe_constraint(document->scene, document->layout, index));
    app_document_put(document);
}

static bool is_held(const gw_scene *scene, const char *object)
{
    for (int i = 0; i < scene->tool_count; i++)
        if (strcmp(scene->tools[i].object, object) == 0)
            return true;
    return false;
}

/* The object that the constraint moves: the held one, else the one that is not fixed, else the
 * later one of the scene. Copied into `id`. */
static void moved_object(const gw_scene *scene, const gw_scene_constraint *constraint,
                         char id[GW_MAX_ID + 1])
{
    int a = gw_scene_object(scene, constraint->a.object);
    int b = gw_scene_object(scene, constraint->b.object);
    bool second = a < 0 || (b >= 0 && scene->objects[a].fixed && !scene->objects[b].fixed);
    if (a >= 0 && b >= 0 && scene->objects[a].fixed == scene->objects[b].fixed)
        second = is_held(scene, constraint->b.object) ||
                 (!is_held(scene, constraint->a.object) && b > a);
    strcpy(id, second ? constraint->b.object : constraint->a.object);
}

/* Commits and answers the constraint at `index`. */
static void finish(api_call *call, app_edit *edit, int index, int status)
{
    char item[64], object[GW_MAX_ID + 1];
    snprintf(item, sizeof item, "/constraints/%d", index);
    moved_object(edit->scene, &edit->scene->constraints[index], object);
    if (!api_commit(call, edit, item, object))
        return;
    const app_document *document = edit->document;
    if (status == 201)
        api_location(call, "constraints", document->scene->constraints[index].id);
    api_part(call, status, document, describe_constraint(document->scene, document->layout, index));
    app_edit_end(edit);
}

static bool taken(api_call *call, app_edit *edit, const char *id)
{
    if (gw_scene_constraint_index(edit->scene, id) < 0)
        return false;
    api_refuse(call, 409, "/id", "there is a constraint %s already", id);
    app_edit_end(edit);
    return true;
}

void api_constraints_post(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_scene_constraint constraint = {0};
    if (!wire_get_constraint(call->body, "", &constraint, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit))
        return;
    if (!constraint.id[0])
        wire_make_constraint_id(edit.scene, constraint.id);
    if (taken(call, &edit, constraint.id))
        return;
    gw_scene_constraint *place = gw_scene_add_constraint(edit.scene, &error);
    if (!place) {
        api_abandon(call, &edit, &error);
        return;
    }
    *place = constraint;
    finish(call, &edit, edit.scene->constraint_count - 1, 201);
}

void api_constraint_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_scene_constraint constraint = {0};
    if (!api_begin(call, &edit))
        return;
    int index = gw_scene_constraint_index(edit.scene, call->part[0]);
    if (no_such(call, index)) {
        app_edit_end(&edit);
        return;
    }
    json_t *merged = api_merge(call, wire_constraint(&edit.scene->constraints[index]));
    bool read = wire_get_constraint(merged, "", &constraint, &error);
    json_decref(merged);
    if (!read) {
        api_abandon(call, &edit, &error);
        return;
    }
    if (!gw_constraint_has_value(constraint.kind) && !json_object_get(call->body, "value"))
        constraint.value = 0; /* the former type's */
    if (!constraint.id[0])
        strcpy(constraint.id, call->part[0]);
    if (strcmp(constraint.id, call->part[0]) != 0 && taken(call, &edit, constraint.id))
        return;
    gw_scene_rename_constraint(edit.scene, call->part[0], constraint.id);
    edit.scene->constraints[index] = constraint;
    finish(call, &edit, index, 200);
}

void api_constraint_delete(api_call *call)
{
    app_edit edit;
    char object[GW_MAX_ID + 1];
    if (!api_begin(call, &edit))
        return;
    int index = gw_scene_constraint_index(edit.scene, call->part[0]);
    if (no_such(call, index)) {
        app_edit_end(&edit);
        return;
    }
    const gw_task *task = gw_scene_task_using(edit.scene, call->part[0]);
    if (task) {
        api_refuse(call, 409, "", "%s is referred to by task %s: delete this first", call->part[0],
                   task->id);
        app_edit_end(&edit);
        return;
    }
    moved_object(edit.scene, &edit.scene->constraints[index], object);
    gw_scene_remove_constraint(edit.scene, index);
    if (!api_commit(call, &edit, NULL, object))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
