/*
 * The scene as a whole: reading, replacing, undo, saving and opening.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/call.h"
#include "server/files/gallery.h"

static void answer_scene(api_call *call, const app_document *document)
{
    api_tag(call, document);
    api_text(call, 200, app_document_scene(document));
}

void api_scene_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    answer_scene(call, document);
    app_document_put(document);
}

/* Replaces the edit's scene by the one that `value` describes. The edit ends here. */
static void replace_scene(api_call *call, app_edit *edit, const json_t *value)
{
    gw_error error = {0};
    gw_scene *scene = wire_get_scene(value, &error);
    if (!scene) {
        if (error.code == GW_NOT_FOUND)
            error.code = GW_BAD_INPUT;
        api_abandon(call, edit, &error);
        return;
    }
    app_edit_replace(edit, scene);
    if (!api_commit(call, edit, NULL, NULL))
        return;
    answer_scene(call, edit->document);
    app_edit_end(edit);
}

static void load_scene(api_call *call, const json_t *value)
{
    app_edit edit;
    if (!api_begin(call, &edit))
        return;
    edit.restart = true;
    replace_scene(call, &edit, value);
}

void api_scene_put(api_call *call)
{
    load_scene(call, call->body);
}

void api_scene_patch(api_call *call)
{
    app_edit edit;
    if (!api_begin(call, &edit))
        return;
    json_t *merged = api_merge(call, wire_scene(edit.scene));
    replace_scene(call, &edit, merged);
    json_decref(merged);
}

/* ---- undo ---------------------------------------------------------------------------------- */

static void step_history(api_call *call, bool (*go)(app_edit *edit, gw_error *error))
{
    app_edit edit;
    gw_error error = {0};
    if (!api_begin(call, &edit))
        return;
    if (!go(&edit, &error)) {
        api_abandon(call, &edit, &error);
        return;
    }
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    api_history(call, edit.document);
    app_edit_end(&edit);
}

void api_scene_undo(api_call *call)
{
    step_history(call, app_edit_undo);
}

void api_scene_redo(api_call *call)
{
    step_history(call, app_edit_redo);
}

/* ---- saving and opening -------------------------------------------------------------------- */

/* Appends to the error of a missing scene which are saved and, where it may be one of them, those
 * of the gallery. */
static void name_scenes(const api_call *call, bool bundled, gw_error *error)
{
    json_t *list = gallery_list(call->store, NULL);
    int count = 0;
    for (int saved = 1; saved >= !bundled; saved--)
        for (size_t i = 0; i < json_array_size(list); i++) {
            const json_t *entry = json_array_get(list, i);
            if (json_is_true(json_object_get(entry, "saved")) == saved)
                gw_error_name(error, count++, json_string_value(json_object_get(entry, "file")));
        }
    json_decref(list);
}

/* The document of a scene that is saved or in the gallery; NULL: the reply is set. */
static json_t *load_saved(api_call *call, const char *file, const char *where, int64_t *version)
{
    gw_error error = {0};
    json_t *value = gallery_load(call->store, file, version, &error);
    if (value)
        return value;
    if (error.code == GW_NOT_FOUND)
        name_scenes(call, true, &error);
    api_refuse(call, error.code == GW_NOT_FOUND ? 404 : 500, where, "%s", error.message);
    return NULL;
}

/* The string member, which must be the only one of the body; NULL: the reply is set. */
static const char *only_string(api_call *call, const char *name)
{
    const char *const allowed[] = {name, NULL};
    if (!api_only(call, allowed))
        return NULL;
    const char *value = json_string_value(json_object_get(call->body, name));
    char where[32] = "/";
    strncat(where, name, sizeof where - 2);
    if (!value)
        api_refuse(call, 400, where, "%s is a string and must be given", name);
    return value;
}

/* Checks the conditions on the saved scene that would be replaced (version 0: none). If-Match may
 * list the document's revision, so that what is saved is what the client has seen, or the saved
 * version's tag. False: the reply is set. */
static bool may_save(api_call *call, const char *file, const app_document *document,
                     int64_t version)
{
    char now[API_TAG], saved[API_TAG];
    const char *wanted = call->request->if_match, *unwanted = call->request->if_none_match;
    snprintf(now, sizeof now, "\"%llu\"", (unsigned long long)document->revision);
    api_version_tag(version, saved);
    if (unwanted && version && api_lists_tag(unwanted, saved)) {
        api_refuse(call, 412, "", "If-None-Match is %.40s, and %s is saved already as version %s",
                   unwanted, file, saved);
        return false;
    }
    bool star = wanted && strcmp(wanted, "*") == 0;
    if (!wanted || (star && version) || (!star && api_lists_revision(wanted, document->revision)) ||
        (!star && version && api_lists_tag(wanted, saved)))
        return true;
    api_refuse(call, 412, "", "If-Match is %.40s, the scene is at revision %s and %s is %s%s",
               wanted, now, file, version ? "saved as version " : "not saved yet",
               version ? saved : "");
    return false;
}

static void save_scene(api_call *call, const char *name, const char *file, int64_t version,
                       app_document *document)
{
    gw_error error = {0};
    bool asked = call->request->if_match || call->request->if_none_match;
    json_t *scene = wire_scene(document->scene);
    if (scene && !wire_memory_short() &&
        store_save(call->store, file, name, scene, asked ? version : -1, &error)) {
        api_location(call, "scenes", file);
        api_part(call, 201, document, scene);
        app_mark_saved(call->app, document);
        app_log(call->app, "saved", "info", "Saved as %s.", file);
        return;
    }
    json_decref(scene);
    if (error.code == GW_CONFLICT) /* its condition was true until another request intervened */
        api_refuse(call, 412, "", "%s", error.message);
    else
        api_storage_error(call, &error);
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
    int64_t version = store_place(call->store, name, gallery_has, file, &error);
    if (version < 0) {
        api_storage_error(call, &error);
        return;
    }
    app_document *document = app_document_get(call->app);
    if (may_save(call, file, document, version))
        save_scene(call, name, file, version, document);
    app_document_put(document);
}

/* Records that the document is as saved, unless it was edited since it was opened. */
static void mark_opened(api_call *call)
{
    char now[API_TAG];
    app_document *document = app_document_get(call->app);
    snprintf(now, sizeof now, "\"%llu\"", (unsigned long long)document->revision);
    if (strcmp(now, call->reply->etag) == 0)
        app_mark_saved(call->app, document);
    app_document_put(document);
}

void api_scene_open(api_call *call)
{
    const char *file = only_string(call, "scene");
    json_t *value = file ? load_saved(call, file, "/scene", NULL) : NULL;
    if (!value)
        return;
    load_scene(call, value);
    json_decref(value);
    if (call->reply->status == 200) {
        mark_opened(call);
        app_log(call->app, "opened", "info", "Opened %.64s.", file);
    }
}

void api_scenes_get(api_call *call)
{
    gw_error error = {0};
    json_t *list = gallery_list(call->store, &error);
    api_made(call, list, &error);
}

/* ---- saved scenes -------------------------------------------------------------------------- */

void api_scenes_file_get(api_call *call)
{
    int64_t version;
    json_t *value = load_saved(call, call->part[0], "", &version);
    if (!value)
        return;
    api_version_tag(version, call->reply->etag);
    api_json(call, 200, value);
}

/* True where the address names a scene of the gallery: the reply is set. */
static bool refuse_if_bundled(api_call *call, const char *what)
{
    bool is = gallery_has(call->part[0]);
    if (is)
        api_refuse(call, 409, "", "%s belongs to the gallery: only saved scenes can be %s",
                   call->part[0], what);
    return is;
}

/* The saved version that If-Match allows to replace, -1: any. False: the reply is set. */
static bool take_seen(api_call *call, int64_t *seen)
{
    char tag[API_TAG];
    gw_error error = {0};
    const char *wanted = call->request->if_match, *file = call->part[0];
    *seen = -1;
    if (!wanted)
        return true;
    if (!store_version(call->store, file, seen, &error)) {
        api_storage_error(call, &error);
        return false;
    }
    api_version_tag(*seen, tag);
    if (*seen && api_lists_tag(wanted, tag))
        return true;
    api_refuse(call, 412, "", "If-Match is %.40s, and %.64s is %s%s", wanted, file,
               *seen ? "saved as version " : "not saved", *seen ? tag : "");
    return false;
}

/* Answers 412 where the version that If-Match allowed has been replaced by another request. */
static void answer_unstored(api_call *call, int64_t seen, const gw_error *error)
{
    if (seen >= 0 && error->code == GW_CONFLICT)
        api_refuse(call, 412, "", "%s", error->message);
    else
        api_storage_error(call, error);
}

void api_scenes_file_delete(api_call *call)
{
    int64_t seen;
    gw_error error = {0};
    const char *file = call->part[0];
    if (refuse_if_bundled(call, "deleted") || !take_seen(call, &seen))
        return;
    if (!store_delete(call->store, file, seen, &error)) {
        if (error.code == GW_NOT_FOUND)
            name_scenes(call, false, &error);
        answer_unstored(call, seen, &error);
        return;
    }
    call->reply->status = 204;
    app_log(call->app, "saved", "info", "Deleted %.64s; POST /scenes/%.64s/restore brings it back.",
            file, file);
}

void api_scenes_versions_get(api_call *call)
{
    gw_error error = {0};
    json_t *list = store_versions(call->store, call->part[0], &error);
    if (error.code == GW_NOT_FOUND)
        name_scenes(call, false, &error);
    api_made(call, list, &error);
}

void api_scenes_restore(api_call *call)
{
    static const char *const allowed[] = {"version", NULL};
    gw_error error = {0};
    const json_t *wanted = json_object_get(call->body, "version");
    json_int_t version = json_integer_value(wanted);
    int64_t seen;
    if (refuse_if_bundled(call, "restored"))
        return;
    if (call->body && !api_only(call, allowed))
        return;
    if (wanted && version < 1) {
        api_refuse(call, 400, "/version", "version is a whole number from 1 on, or left out");
        return;
    }
    if (!take_seen(call, &seen))
        return;
    if (!store_restore(call->store, call->part[0], version, seen, &error)) {
        answer_unstored(call, seen, &error);
        return;
    }
    app_log(call->app, "saved", "info", "Restored a former version of %.64s.", call->part[0]);
    api_scenes_file_get(call);
}
