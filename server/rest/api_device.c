/*
 * Devices and who operates them.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/api_call.h"

static json_t *info_json(const gw_device_info *info)
{
    json_t *v = json_pack("{s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "class",
                          info->class == GW_DEVICE_ADMITTANCE ? "admittance" : "impedance",
                          "measures_wrench", info->measures_wrench, "workspace_radius",
                          info->workspace_radius, "force_max", info->force_max, "torque_max",
                          info->torque_max, "speed_max", info->speed_max, "spin_max",
                          info->spin_max, "quantum", info->quantum, "quantum_angular",
                          info->quantum_angular, "stiffness", info->stiffness, "stiffness_angular",
                          info->stiffness_angular, "bandwidth", info->bandwidth);
    json_t *inertial = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:b}", "mass", info->mass,
                                 "inertia", info->inertia, "damping", info->damping,
                                 "damping_angular", info->damping_angular, "delay", info->delay,
                                 "velocity_delay", info->velocity_delay, "planar", info->planar);
    if (v && inertial)
        json_object_update(v, inertial);
    json_decref(inertial);
    return v;
}

/* ---- drivers ------------------------------------------------------------------------------- */

static json_t *driver_settings(const gw_driver *driver)
{
    json_t *list = json_array();
    for (int i = 0; i < driver->setting_count; i++) {
        const gw_driver_setting *s = &driver->settings[i];
        json_array_append_new(list, json_pack("{ss ss ss sf sf sf}", "name", s->name, "unit",
                                              s->unit, "meaning", s->meaning, "ideal", s->ideal,
                                              "low", s->low, "high", s->high));
    }
    return list;
}

static json_t *driver_json(const gw_driver *driver)
{
    json_t *profiles = json_array();
    for (const char *const *profile = driver->profiles; *profile; profile++)
        json_array_append_new(profiles, json_string(*profile));
    return json_pack("{ss ss so so}", "name", driver->name, "class",
                     driver->class == GW_DEVICE_ADMITTANCE ? "admittance" : "impedance", "profiles",
                     profiles, "settings", driver_settings(driver));
}

void api_drivers_get(api_call *call)
{
    json_t *list = json_array();
    for (const gw_driver *const *driver = gw_drivers; *driver; driver++)
        json_array_append_new(list, driver_json(*driver));
    api_json(call, 200, list);
}

/* ---- devices ------------------------------------------------------------------------------- */

static json_t *device_json(api_call *call, const gw_device *device)
{
    gw_device_info info;
    json_t *json = wire_device(device);
    if (app_device_info(call->app, device->id, &info))
        json_object_set_new(json, "info", info_json(&info));
    return json;
}

void api_devices_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    json_t *list = json_array();
    for (int i = 0; i < document->scene->device_count; i++)
        json_array_append_new(list, device_json(call, &document->scene->devices[i]));
    api_part(call, 200, document, list);
    app_document_put(document);
}

static bool no_such(api_call *call, int index)
{
    if (index < 0)
        api_refuse(call, 404, "", "there is no device %s", call->part[0]);
    return index < 0;
}

void api_device_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_device(document->scene, call->part[0]);
    if (!no_such(call, index))
        api_part(call, 200, document, device_json(call, &document->scene->devices[index]));
    app_document_put(document);
}

/* Begins an edit of the device that the address names: its index, or -1 with the reply set. */
static int begin(api_call *call, app_edit *edit)
{
    if (!api_begin(call, edit))
        return -1;
    int index = gw_scene_device(edit->scene, call->part[0]);
    if (no_such(call, index))
        app_edit_end(edit);
    return index;
}

static bool taken(api_call *call, app_edit *edit, const char *id)
{
    if (gw_scene_device(edit->scene, id) < 0)
        return false;
    api_refuse(call, 409, "/id", "there is a device %s already", id);
    app_edit_end(edit);
    return true;
}

/* Commits and answers the device at `index`. The edit ends first: the driver's info is asked for
 * with the next lock. */
static void finish(api_call *call, app_edit *edit, int index, int status)
{
    char item[64];
    snprintf(item, sizeof item, "/devices/%d", index);
    if (!api_commit(call, edit, item, NULL))
        return;
    app_document *document = edit->document;
    atomic_fetch_add(&document->refs, 1);
    app_edit_end(edit);
    if (status == 201)
        api_location(call, "devices", document->scene->devices[index].id);
    api_part(call, status, document, device_json(call, &document->scene->devices[index]));
    app_document_put(document);
}

void api_devices_post(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_device device = {0};
    if (!wire_get_device(call->body, "", &device, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit) || taken(call, &edit, device.id)) {
        gw_operator_finish(&device.operator);
        return;
    }
    gw_device *place = gw_scene_add_device(edit.scene, &error);
    if (!place) {
        gw_operator_finish(&device.operator);
        api_abandon(call, &edit, &error);
        return;
    }
    *place = device;
    finish(call, &edit, edit.scene->device_count - 1, 201);
}

static void rename_device(gw_scene *scene, const char *from, const char *to)
{
    for (int i = 0; i < scene->tool_count; i++)
        if (strcmp(scene->tools[i].device, from) == 0)
            strcpy(scene->tools[i].device, to);
}

void api_device_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_device device = {0};
    int index = begin(call, &edit);
    if (index < 0)
        return;
    json_t *merged = api_merge(call, wire_device(&edit.scene->devices[index]));
    bool read = wire_get_device(merged, "", &device, &error);
    json_decref(merged);
    if (!read) {
        api_abandon(call, &edit, &error);
        return;
    }
    bool renamed = strcmp(device.id, call->part[0]) != 0;
    if (renamed && taken(call, &edit, device.id)) {
        gw_operator_finish(&device.operator);
        return;
    }
    if (renamed)
        rename_device(edit.scene, call->part[0], device.id);
    gw_operator_finish(&edit.scene->devices[index].operator);
    edit.scene->devices[index] = device;
    finish(call, &edit, index, 200);
}

void api_device_delete(api_call *call)
{
    app_edit edit;
    int index = begin(call, &edit);
    if (index < 0)
        return;
    for (int i = 0; i < edit.scene->tool_count; i++)
        if (strcmp(edit.scene->tools[i].device, call->part[0]) == 0) {
            api_refuse(call, 409, "", "%s holds %s: delete the tool first", call->part[0],
                       gw_tool_held_id(&edit.scene->tools[i]));
            app_edit_end(&edit);
            return;
        }
    gw_scene_remove_device(edit.scene, index);
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}

/* ---- the operator -------------------------------------------------------------------------- */

void api_operator_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_device(document->scene, call->part[0]);
    if (no_such(call, index)) {
        app_document_put(document);
        return;
    }
    api_part(call, 200, document, wire_operator(&document->scene->devices[index].operator));
    app_document_put(document);
}

/* Puts an operator in place (taken over), effective in the next tick. */
static bool set_operator(api_call *call, gw_operator *operator, app_edit * edit)
{
    int index = begin(call, edit);
    if (index < 0) {
        gw_operator_finish(operator);
        return false;
    }
    gw_device *device = &edit->scene->devices[index];
    gw_operator_finish(&device->operator);
    device->operator= * operator;
    edit->operator_only = true;
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
