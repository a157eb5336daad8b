/*
 * The tool: which object or link the hand holds, at which point, with which device.
 */
#include <stdio.h>
#include <string.h>

#include "server/app/diff.h"
#include "server/rest/call.h"

/* The tool as in the scene; at an impedance device also the present state of its control. */
static json_t *tool_json(const gw_scene *scene, int index, const gw_snapshot *snapshot)
{
    const gw_tool *tool = &scene->tools[index];
    json_t *json = wire_tool(tool);
    if (tool->control != GW_CONTROL_ADMITTANCE && index < snapshot->tool_count)
        wire_add(json, "state", wire_tool_state(scene, index, &snapshot->tools[index]));
    return json;
}

void api_tools_get(api_call *call)
{
    gw_snapshot *snapshot = api_snapshot(call);
    if (!snapshot)
        return;
    app_document *document = app_read_state(call->app, snapshot);
    json_t *list = json_array();
    for (int i = 0; i < document->scene->tool_count; i++)
        json_array_append_new(list, tool_json(document->scene, i, snapshot));
    api_part(call, 200, document, list);
    app_document_put(document);
}

static bool refuse_if_none(api_call *call, const gw_scene *scene)
{
    if (scene->tool_count == 0)
        api_refuse(call, 404, "", "the scene has no tool: PUT one");
    return scene->tool_count == 0;
}

void api_tool_get(api_call *call)
{
    gw_snapshot *snapshot = api_snapshot(call);
    if (!snapshot)
        return;
    app_document *document = app_read_state(call->app, snapshot);
    if (!refuse_if_none(call, document->scene))
        api_part(call, 200, document, tool_json(document->scene, 0, snapshot));
    app_document_put(document);
}

static const char *const simulated[] = {"sim", "sim-impedance", NULL};

/* Adds the simulated device to a scene without devices, for a tool that names none. */
static bool need_device(gw_scene *scene, const gw_tool *tool, gw_error *error)
{
    for (int i = 0; simulated[i]; i++) {
        if (strcmp(tool->device, simulated[i]) != 0 || gw_scene_device(scene, simulated[i]) >= 0)
            continue;
        gw_device *device = gw_scene_add_device(scene, error);
        if (!device)
            return false;
        strcpy(device->id, simulated[i]);
        strcpy(device->driver, simulated[i]);
    }
    return true;
}

/* Decodes a tool. Its read-only members, which a GET answers, are ignored. */
static bool read_tool(json_t *value, gw_tool *tool, gw_error *error)
{
    const char *control = json_string_value(json_object_get(value, "control"));
    bool impedance = control && strcmp(control, "admittance") != 0;
    json_object_del(value, "state");
    json_object_del(value, "rendered");
    if (json_is_object(value) && !json_object_get(value, "device"))
        wire_add(value, "device", json_string(simulated[impedance]));
    return wire_get_tool(value, "", tool, error);
}

/* The loop's state of the tool before the edit; false where it held another object or link. */
static bool state_before(const api_call *call, const gw_tool *tool, gw_snapshot *snapshot)
{
    app_document *document;
    bool known = app_try_read_state(call->app, &document, snapshot) && snapshot->tool_count > 0 &&
                 document->scene->tool_count > 0;
    const gw_tool *was = known ? &document->scene->tools[0] : NULL;
    known = known && strcmp(was->object, tool->object) == 0 &&
            strcmp(was->mechanism, tool->mechanism) == 0 && was->link == tool->link;
    app_document_put(document);
    return known;
}

static void finish_tool(api_call *call, app_edit *edit, int status)
{
    gw_snapshot *before = api_snapshot(call);
    if (!before) {
        app_edit_end(edit);
        return;
    }
    bool known = state_before(call, &edit->scene->tools[0], before);
    char object[GW_MAX_ID + 1];
    gw_device_info info;
    strcpy(object, gw_tool_held_id(&edit->scene->tools[0]));
    if (!api_commit(call, edit, "/tools/0", object))
        return;
    if (status == 201)
        snprintf(call->reply->location, sizeof call->reply->location, "/api/v1/tool");
    const gw_scene *scene = edit->document->scene;
    json_t *json = wire_tool(&scene->tools[0]);
    if (app_edit_device_info(edit, scene->tools[0].device, &info))
        wire_add(json, "rendered", api_rendered(scene, 0, &info, known ? before : NULL));
    api_part(call, status, edit->document, json);
    app_edit_end(edit);
}

void api_tool_put(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_tool tool = {0};
    if (!read_tool(call->body, &tool, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit))
        return;
    bool is_new = edit.scene->tool_count == 0;
    if (!is_new && !api_replaces(call, "a tool")) {
        app_edit_end(&edit);
        return;
    }
    if ((is_new && !gw_scene_add_tool(edit.scene, &error)) ||
        !need_device(edit.scene, &tool, &error)) {
        api_abandon(call, &edit, &error);
        return;
    }
    gw_scene_name_held_link(edit.scene, &tool);
    edit.scene->tools[0] = tool;
    finish_tool(call, &edit, is_new ? 201 : 200);
}

void api_tool_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_tool tool = {0};
    if (!api_begin(call, &edit))
        return;
    if (refuse_if_none(call, edit.scene)) {
        app_edit_end(&edit);
        return;
    }
    json_t *merged = api_merge(call, wire_tool(&edit.scene->tools[0]));
    bool read = read_tool(merged, &tool, &error) && need_device(edit.scene, &tool, &error);
    json_decref(merged);
    if (!read) {
        api_abandon(call, &edit, &error);
        return;
    }
    gw_scene_name_held_link(edit.scene, &tool);
    if (app_only_control(&edit.scene->tools[0], &tool))
        strcpy(edit.group, "rendering");
    edit.scene->tools[0] = tool;
    finish_tool(call, &edit, 200);
}

void api_tool_delete(api_call *call)
{
    app_edit edit;
    if (!api_begin(call, &edit))
        return;
    if (refuse_if_none(call, edit.scene)) {
        app_edit_end(&edit);
        return;
    }
    gw_scene_remove_tool(edit.scene, 0);
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
