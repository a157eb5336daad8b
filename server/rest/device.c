/*
 * Drivers, and the scripted operators of devices.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/resource.h"

void api_drivers_get(api_call *call)
{
    json_t *list = json_array();
    for (const gw_driver *const *driver = gw_drivers; *driver; driver++)
        json_array_append_new(list, wire_driver(*driver));
    api_json(call, 200, list);
}

/* ---- the operator -------------------------------------------------------------------------- */

void api_operator_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_device(document->scene, call->part[0]);
    if (index < 0)
        resource_missing(call, document->scene);
    else
        api_part(call, 200, document, wire_operator(&document->scene->devices[index].operator));
    app_document_put(document);
}

/* Sets the operator, ownership passes; in effect in the next tick. */
static bool set_operator(api_call *call, gw_operator *operator, app_edit * edit)
{
    int index = resource_begin(call, edit);
    if (index < 0) {
        gw_operator_finish(operator);
        return false;
    }
    gw_device *device = &edit->scene->devices[index];
    gw_operator_finish(&device->operator);
    device->operator= * operator;
    char item[64];
    snprintf(item, sizeof item, "/devices/%d/operator", index);
    return api_commit(call, edit, item, NULL);
}

void api_operator_put(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_operator operator= {0};
    if (!wire_get_operator(call->body, "", &operator, & error)) {
        api_error(call, &error);
        return;
    }
    if (!set_operator(call, &operator, & edit))
        return;
    int index = gw_scene_device(edit.document->scene, call->part[0]);
    api_part(call, 200, edit.document,
             wire_operator(&edit.document->scene->devices[index].operator));
    app_edit_end(&edit);
}

void api_operator_delete(api_call *call)
{
    app_edit edit;
    gw_operator none = {0};
    if (!set_operator(call, &none, &edit))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
