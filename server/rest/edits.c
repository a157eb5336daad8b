/*
 * Several edits in one request: each is made by the handler of its route on one copy of the scene,
 * which is committed once. Where the result is invalid, or an edit of the whole scene finds what an
 * edit before it made invalid, the edits are made again with a check of the scene after each, so
 * that the error names the first invalid one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/rest/call.h"

#define EDITS_MOST 1024 /* enough for one for each constraint */

/* Method, path and body of an edit; false: the reply is set. */
static bool read_edit(api_call *one, const json_t *value, api_request *request)
{
    static const char *const allowed[] = {"method", "path", "body", NULL};
    gw_error error = {0};
    char at[16];
    api_call outside = {.reply = one->reply}; /* the error is not in the edit's body */
    const char *path = json_string_value(json_object_get(value, "path"));
    const json_t *body = json_object_get(value, "body");
    request->method = json_string_value(json_object_get(value, "method"));
    if (!json_is_object(value) || !request->method || !path) {
        api_refuse(one, 400, "",
                   "an edit is an object with method, path and, where it has one, body");
        return false;
    }
    snprintf(at, sizeof at, "/%d", one->batch->index);
    if (!wire_only(value, at, allowed, &error)) {
        api_error(&outside, &error);
        return false;
    }
    request->path =
        strncmp(path, API_PREFIX "/", sizeof API_PREFIX) == 0 ? path + strlen(API_PREFIX) : path;
    one->body = json_deep_copy(body); /* handlers modify it */
    return true;
}

/* The route of an edit, and its body where the route takes one; NULL: the reply is set. */
static const api_route *find_route(api_call *one)
{
    char allow[64];
    const api_request *request = one->request;
    const api_route *route = api_find_route(one, request->path, allow);
    if (request->path[0] != '/')
        api_refuse(one, 404, "", "an edit's path begins with a slash: /objects");
    else if (!route && *allow)
        api_refuse(one, 405, "", "%.20s is not for %.100s: %s are", request->method, request->path,
                   allow);
    else if (!route)
        api_refuse(one, 404, "", "there is nothing at %.200s", request->path);
    else if (!wire_batched(&route->about))
        api_refuse(one, 404, "", "%.20s %.100s is not one of the edits that can go together",
                   request->method, request->path);
    else if (route->about.request ? !json_is_object(one->body) : one->body != NULL)
        api_refuse(one, 400, "", "%.20s %.100s takes %s", request->method, request->path,
                   route->about.request ? "an object as body" : "no body");
    else
        return route;
    return NULL;
}

/* Makes one edit; false: the reply is set, and the batch's edit may have ended. */
static bool make_edit(const api_call *call, api_batch *batch, const json_t *value)
{
    api_request request = {0};
    api_call one = {.app = call->app,
                    .store = call->store,
                    .meshes = call->meshes,
                    .request = &request,
                    .batch = batch,
                    .reply = call->reply};
    batch->made = false;
    const api_route *route = read_edit(&one, value, &request) ? find_route(&one) : NULL;
    batch->whole = route && !route->resource;
    if (route)
        route->handler(&one);
    json_decref(one.body);
    free(one.snapshot);
    return batch->made;
}

/* Makes all edits in the scene; again with checks where an edit of the whole scene fails, since the
 * fault may be that of one before it. False: the reply is set and the edit has ended. */
static bool make_all(api_call *call, app_edit *edit, bool checks)
{
    api_batch batch = {.edit = *edit, .checks = checks};
    int count = (int)json_array_size(call->body);
    for (; batch.index < count; batch.index++) {
        if (make_edit(call, &batch, json_array_get(call->body, (size_t)batch.index)))
            continue;
        if (batch.edit.app)
            app_edit_end(&batch.edit);
        return !checks && batch.whole && api_begin(call, edit) && make_all(call, edit, true);
    }
    *edit = batch.edit;
    edit->group[0] = 0;
    return true;
}

void api_scene_edits(api_call *call)
{
    app_edit edit;
    size_t count = json_array_size(call->body);
    if (count < 1 || count > EDITS_MOST) {
        api_refuse(call, count ? 413 : 400, "", "%zu edits: 1 to %d go together", count,
                   EDITS_MOST);
        return;
    }
    if (!api_begin(call, &edit) || !make_all(call, &edit, false))
        return;
    if (!gw_scene_make_surfaces(edit.scene, NULL) || !gw_scene_check(edit.scene, NULL)) {
        app_edit_end(&edit);
        if (!api_begin(call, &edit) || !make_all(call, &edit, true))
            return;
    }
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    api_history(call, edit.document);
    app_edit_end(&edit);
}
