/*
 * Objects: add, read, change, rename, remove.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/api_call.h"

static void item_pointer(char item[64], const char *collection, int index)
{
    snprintf(item, 64, "/%s/%d", collection, index);
}

void api_objects_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    json_t *list = json_array();
    for (int i = 0; i < document->scene->object_count; i++)
        json_array_append_new(list, wire_object(&document->scene->objects[i]));
    api_part(call, 200, document, list);
    app_document_put(document);
}

static bool no_such(api_call *call, int index)
{
    if (index < 0)
        api_refuse(call, 404, "", "there is no object %s", call->part[0]);
    return index < 0;
}

void api_object_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_object(document->scene, call->part[0]);
    if (!no_such(call, index))
        api_part(call, 200, document, wire_object(&document->scene->objects[index]));
    app_document_put(document);
}

/* Commits and answers the object at `index`. */
static void finish(api_call *call, app_edit *edit, int index, int status)
{
    char item[64], id[GW_MAX_ID + 1];
    item_pointer(item, "objects", index);
    strcpy(id, edit->scene->objects[index].id);
    if (!api_commit(call, edit, item, id))
        return;
    if (status == 201)
        api_location(call, "objects", id);
    api_part(call, status, edit->document, wire_object(&edit->document->scene->objects[index]));
    app_edit_end(edit);
}

void api_objects_post(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_object object = {0};
    if (!wire_get_object(call->body, "", &object, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit)) {
        gw_shape_finish(&object.shape);
        return;
    }
    if (api_taken(call, &edit, object.id)) {
        gw_shape_finish(&object.shape);
        return;
    }
    gw_object *place = gw_scene_add_object(edit.scene, &error);
    if (!place) {
        gw_shape_finish(&object.shape);
        api_abandon(call, &edit, &error);
        return;
    }
    *place = object;
    finish(call, &edit, edit.scene->object_count - 1, 201);
}

/* The object as the merge patch makes it. */
static bool patched(const api_call *call, const gw_object *now, gw_object *object, gw_error *error)
{
    json_t *merged = api_merge(call, wire_object(now));
    bool done = wire_get_object(merged, "", object, error);
    json_decref(merged);
    return done;
}

void api_object_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_object object = {0};
    if (!api_begin(call, &edit))
        return;
    int index = gw_scene_object(edit.scene, call->part[0]);
    if (no_such(call, index)) {
        app_edit_end(&edit);
        return;
    }
    if (!patched(call, &edit.scene->objects[index], &object, &error)) {
        api_abandon(call, &edit, &error);
        return;
    }
    edit.geometry_only = edit.scene->objects[index].fixed && object.fixed &&
                         json_object_size(call->body) == 1 && json_object_get(call->body, "pose");
    bool renamed = strcmp(object.id, call->part[0]) != 0;
    if (renamed && api_taken(call, &edit, object.id)) {
        gw_shape_finish(&object.shape);
        return;
    }
    if (renamed)
        gw_scene_rename_object(edit.scene, call->part[0], object.id);
    gw_shape_finish(&edit.scene->objects[index].shape);
    edit.scene->objects[index] = object;
    finish(call, &edit, index, 200);
}

/* ---- removing ------------------------------------------------------------------------------ */

/* Names everything that refers to the object. */
static void dependents(const gw_scene *scene, const char *id, char *list, size_t size)
{
    list[0] = 0;
    for (int i = 0; i < scene->constraint_count; i++)
        if (strcmp(scene->constraints[i].a.object, id) == 0 ||
            strcmp(scene->constraints[i].b.object, id) == 0)
            api_name(list, size, "constraint", scene->constraints[i].id);
    for (int i = 0; i < scene->feature_count; i++)
        if (strcmp(scene->features[i].object, id) == 0)
            api_name(list, size, "feature", scene->features[i].name);
    for (int i = 0; i < scene->tool_count; i++)
        if (strcmp(scene->tools[i].object, id) == 0)
            api_name(list, size, "tool", scene->tools[i].device);
    for (int i = 0; i < scene->task_count; i++)
        if (strcmp(scene->tasks[i].object, id) == 0)
            api_name(list, size, "task", scene->tasks[i].id);
    for (int i = 0; i < scene->contact.ignore_count; i++) {
        const gw_pair_name *pair = &scene->contact.ignore[i];
        bool a = strcmp(pair->a, id) == 0;
        if (a || strcmp(pair->b, id) == 0)
            api_name(list, size, "contact ignore", a ? pair->b : pair->a);
    }
}

void api_object_delete(api_call *call)
{
    app_edit edit;
    char list[300];
    if (!api_begin(call, &edit))
        return;
    int index = gw_scene_object(edit.scene, call->part[0]);
    if (no_such(call, index)) {
        app_edit_end(&edit);
        return;
    }
    dependents(edit.scene, call->part[0], list, sizeof list);
    if (*list) {
        api_refuse(call, 409, "", "%s is referred to by %s: delete these first", call->part[0],
                   list);
        app_edit_end(&edit);
        return;
    }
    gw_scene_remove_object(edit.scene, index);
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
