/*
 * The scene as a whole: reading, replacing, undo, saving and opening.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/call.h"
#include "server/files/gallery.h"

static void answer_scene(api_call *call, int status)
{
    app_document *document = app_document_get(call->app);
    api_part(call, status, document, wire_scene(document->scene));
    app_document_put(document);
}

void api_scene_get(api_call *call)
{
    answer_scene(call, 200);
}

/* A scene's check speaks of tools; where the body says `tool`, the pointer does too. */
static void name_tool(const json_t *value, gw_error *error)
{
    static const char tools[] = "/tools/0";
    char rest[sizeof error->where];
    if (!json_object_get(value, "tool") || strncmp(error->where, tools, sizeof tools - 1) != 0)
        return;
    strcpy(rest, error->where + sizeof tools - 1);
    snprintf(error->where, sizeof error->where, "/tool%.180s", rest);
}

/* Puts the scene that `value` says in the place of the edit's. The edit ends here. */
static void replace(api_call *call, app_edit *edit, const json_t *value)
{
    gw_error error = {0};
    gw_scene *scene = wire_get_scene(value, &error);
    if (!scene) {
        if (error.code == GW_NOT_FOUND)
            error.code = GW_BAD_INPUT;
        name_tool(value, &error);
        api_abandon(call, edit, &error);
        return;
    }
    app_edit_replace(edit, scene);
    if (!api_commit(call, edit, NULL, NULL))
        return;
    api_part(call, 200, edit->document, wire_scene(edit->document->scene));
    app_edit_end(edit);
}

static void load(api_call *call, const json_t *value)
{
    app_edit edit;
    if (!api_begin(call, &edit))
        return;
    edit.restart = true;
    replace(call, &edit, value);
}

void api_scene_put(api_call *call)
{
    load(call, call->body);
}

void api_scene_patch(api_call *call)
{
    app_edit edit;
    if (!api_begin(call, &edit))
        return;
    json_t *merged = api_merge(call, wire_scene(edit.scene));
    replace(call, &edit, merged);
    json_decref(merged);
}

/* ---- undo ---------------------------------------------------------------------------------- */

static void travel(api_call *call, bool (*go)(gw_app *app, gw_error *error))
{
    gw_error error = {0};
    if (!go(call->app, &error)) {
        api_error(call, &error);
        return;
    }
    app_document *document = app_document_get(call->app);
    api_part(call, 200, document,
             json_pack("{s:I, s:b, s:b}", "revision", (json_int_t)document->revision, "undo",
                       document->undo, "redo", document->redo));
    app_document_put(document);
}

void api_scene_undo(api_call *call)
{
    travel(call, app_undo);
}

void api_scene_redo(api_call *call)
{
    travel(call, app_redo);
}

/* ---- saving and opening -------------------------------------------------------------------- */

/* The string member that is all of the body; NULL: the reply is set. */
static const char *only_string(api_call *call, const char *name)
{
    gw_error error = {0};
    const char *const allowed[] = {name, NULL};
    if (!wire_only(call->body, "", allowed, &error)) {
        api_error(call, &error);
        return NULL;
    }
    const char *value = json_string_value(json_object_get(call->body, name));
    char where[32] = "/";
    strncat(where, name, sizeof where - 2);
    if (!value)
        api_refuse(call, 400, where, "%s is a string and must be given", name);
    return value;
}

void api_scene_save(api_call *call)
{
    char file[STORE_NAME + 1];
    gw_error error = {0};
    const char *name = only_string(call, "name");
    if (!name)
        return;
    if (!store_slug(name, file)) {
        api_refuse(call, 400, "/name", "a name needs at least one letter or digit");
        return;
    }
    if (gallery_has(file)) {
        api_refuse(call, 409, "/name", "%s is a scene of the gallery: choose another name", file);
        return;
    }
    app_document *document = app_document_get(call->app);
    json_t *scene = wire_scene(document->scene);
    if (!scene || !store_save(call->store, file, scene, &error)) {
        json_decref(scene);
        api_error(call, &error);
    } else {
        api_location(call, "scenes", file);
        api_part(call, 201, document, scene);
        app_log(call->app, "saved", "info", "Saved as %s.", file);
    }
    app_document_put(document);
}

void api_scene_open(api_call *call)
{
    gw_error error = {0};
    const char *file = only_string(call, "scene");
    if (!file)
        return;
    json_t *value = gallery_load(call->store, file, &error);
    if (!value) {
        api_refuse(call, error.code == GW_NOT_FOUND ? 404 : 500, "/scene", "%s", error.message);
        return;
    }
    load(call, value);
    json_decref(value);
    if (call->reply->status == 200)
        app_log(call->app, "opened", "info", "Opened %.64s.", file);
}

void api_scenes_get(api_call *call)
{
    gw_error error = {0};
    json_t *list = gallery_list(call->store, &error);
    if (list)
        api_json(call, 200, list);
    else
        api_error(call, &error);
}

void api_scenes_file_get(api_call *call)
{
    gw_error error = {0};
    json_t *value = gallery_load(call->store, call->part[0], &error);
    if (!value)
        api_refuse(call, error.code == GW_NOT_FOUND ? 404 : 500, "", "%s", error.message);
    else
        api_json(call, 200, value);
}

void api_scenes_file_delete(api_call *call)
{
    gw_error error = {0};
    if (gallery_has(call->part[0]))
        api_refuse(call, 409, "", "%s belongs to the gallery: only saved scenes can be deleted",
                   call->part[0]);
    else if (!store_delete(call->store, call->part[0], &error))
        api_error(call, &error);
    else
        call->reply->status = 204;
}
