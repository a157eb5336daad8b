/*
 * Mechanisms: add, read with their joints as they are now, change, rename, remove.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/api_call.h"
#include "server/files/urdf.h"

/* The scene's words, and the joints now. */
static json_t *described(const gw_scene *scene, int index, const gw_snapshot *snapshot)
{
    json_t *json = wire_mechanism(&scene->mechanisms[index]);
    wire_add(json, "state", wire_joints(scene, index, snapshot));
    return json;
}

void api_mechanisms_get(api_call *call)
{
    gw_snapshot snapshot;
    app_document *document = app_view(call->app, &snapshot);
    json_t *list = json_array();
    for (int i = 0; i < document->scene->mechanism_count; i++)
        json_array_append_new(list, described(document->scene, i, &snapshot));
    api_part(call, 200, document, list);
    app_document_put(document);
}

bool api_no_mechanism(api_call *call, int index)
{
    if (index < 0)
        api_refuse(call, 404, "", "there is no mechanism %s", call->part[0]);
    return index < 0;
}

void api_mechanism_get(api_call *call)
{
    gw_snapshot snapshot;
    app_document *document = app_view(call->app, &snapshot);
    int index = gw_scene_mechanism(document->scene, call->part[0]);
    if (!api_no_mechanism(call, index))
        api_part(call, 200, document, described(document->scene, index, &snapshot));
    app_document_put(document);
}

int api_begin_mechanism(api_call *call, app_edit *edit)
{
    if (!api_begin(call, edit))
        return -1;
    int index = gw_scene_mechanism(edit->scene, call->part[0]);
    if (api_no_mechanism(call, index))
        app_edit_end(edit);
    return index;
}

/* Commits and answers the mechanism at `index`. The edit ends first: the joints are looked up in
 * the loop, which may take a tick. */
static void finish(api_call *call, app_edit *edit, int index, int status)
{
    char item[64], id[GW_MAX_ID + 1];
    gw_snapshot snapshot;
    snprintf(item, sizeof item, "/mechanisms/%d", index);
    strcpy(id, edit->scene->mechanisms[index].id);
    if (!api_commit(call, edit, item, NULL))
        return;
    app_document *document = edit->document;
    atomic_fetch_add(&document->refs, 1);
    app_edit_end(edit);
    app_document_put(app_view(call->app, &snapshot));
    if (snapshot.scenario != document->scenario)
        snapshot.joint_count = 0;
    if (status == 201)
        api_location(call, "mechanisms", id);
    api_part(call, status, document, described(document->scene, index, &snapshot));
    app_document_put(document);
}

/* {"id", "urdf", "tip", "base"}: a robot description; a member `urdf` tells it from a mechanism. */
static bool read_urdf(const json_t *body, gw_mechanism *m, gw_error *error)
{
    static const char *const allowed[] = {"id", "urdf", "tip", "base", NULL};
    const json_t *urdf = json_object_get(body, "urdf"), *tip = json_object_get(body, "tip");
    const json_t *id = json_object_get(body, "id"), *base = json_object_get(body, "base");
    gw_pose at = gw_pose_identity();
    if (!wire_only(body, "", allowed, error))
        return false;
    if (!json_is_string(urdf))
        return gw_fail(error, GW_BAD_INPUT, "/urdf", "must be a string, the robot's URDF");
    if (tip && !json_is_string(tip))
        return gw_fail(error, GW_BAD_INPUT, "/tip", "must be a string, the name of a link");
    if (id && (!json_is_string(id) || !gw_id_valid(json_string_value(id))))
        return gw_fail(error, GW_BAD_INPUT, "/id",
                       "an id is 1 to 64 of the characters A-Z a-z 0-9 _ . : + -");
    if (base && !wire_get_pose(base, "/base", &at, error))
        return false;
    if (!urdf_read(json_string_value(urdf), json_string_length(urdf), json_string_value(tip), m,
                   error)) {
        snprintf(error->where, sizeof error->where, "/urdf");
        return false;
    }
    if (id)
        snprintf(m->id, sizeof m->id, "%s", json_string_value(id));
    m->base = at;
    return true;
}

static bool read_posted(const json_t *body, gw_mechanism *m, gw_error *error)
{
    if (json_object_get(body, "urdf"))
        return read_urdf(body, m, error);
    return wire_get_mechanism(body, "", m, error);
}

void api_mechanisms_post(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_mechanism mechanism = {0};
    json_object_del(call->body, "state");
    if (!read_posted(call->body, &mechanism, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit) || api_taken(call, &edit, mechanism.id)) {
        gw_mechanism_finish(&mechanism);
        return;
    }
    gw_mechanism *place = gw_scene_add_mechanism(edit.scene, &error);
    if (!place) {
        gw_mechanism_finish(&mechanism);
        api_abandon(call, &edit, &error);
        return;
    }
    *place = mechanism;
    finish(call, &edit, edit.scene->mechanism_count - 1, 201);
}

void api_mechanism_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_mechanism mechanism = {0};
    int index = api_begin_mechanism(call, &edit);
    if (index < 0)
        return;
    json_object_del(call->body, "state");
    json_t *merged = api_merge(call, wire_mechanism(&edit.scene->mechanisms[index]));
    bool read = wire_get_mechanism(merged, "", &mechanism, &error);
    json_decref(merged);
    if (!read) {
        api_abandon(call, &edit, &error);
        return;
    }
    bool renamed = strcmp(mechanism.id, call->part[0]) != 0;
    if (renamed && api_taken(call, &edit, mechanism.id)) {
        gw_mechanism_finish(&mechanism);
        return;
    }
    if (renamed)
        gw_scene_rename_mechanism(edit.scene, call->part[0], mechanism.id);
    gw_mechanism_finish(&edit.scene->mechanisms[index]);
    edit.scene->mechanisms[index] = mechanism;
    finish(call, &edit, index, 200);
}

/* ---- removing ------------------------------------------------------------------------------ */

/* Names everything that refers to links of mechanism `index` from number `first` on. */
static void dependents(const gw_scene *scene, int index, int first, char *list, size_t size)
{
    int link = 0;
    list[0] = 0;
    for (int i = 0; i < scene->tool_count; i++)
        if (strcmp(scene->tools[i].mechanism, scene->mechanisms[index].id) == 0 &&
            scene->tools[i].link >= first)
            api_name(list, size, "tool", scene->tools[i].device);
    for (int i = 0; i < scene->contact.ignore_count; i++) {
        const gw_pair_name *pair = &scene->contact.ignore[i];
        bool a = gw_scene_link(scene, pair->a, &link) == index && link >= first;
        bool b = gw_scene_link(scene, pair->b, &link) == index && link >= first;
        if (a || b)
            api_name(list, size, "contact ignore", a ? pair->b : pair->a);
    }
}

bool api_links_used(api_call *call, app_edit *edit, int index, int first)
{
    char list[300];
    dependents(edit->scene, index, first, list, sizeof list);
    if (!*list)
        return false;
    api_refuse(call, 409, "", "%s is referred to by %s: delete or change these first",
               call->part[0], list);
    app_edit_end(edit);
    return true;
}

void api_mechanism_delete(api_call *call)
{
    app_edit edit;
    int index = api_begin_mechanism(call, &edit);
    if (index < 0 || api_links_used(call, &edit, index, 0))
        return;
    gw_scene_remove_mechanism(edit.scene, index);
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
