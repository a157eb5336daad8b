/*
 * Drivers, and who operates a device by script.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/resource.h"

json_t *api_device_info(const gw_device_info *info)
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

/* ---- the operator -------------------------------------------------------------------------- */

void api_operator_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_device(document->scene, call->part[0]);
    if (index < 0)
        resource_missing(call);
    else
        api_part(call, 200, document, wire_operator(&document->scene->devices[index].operator));
    app_document_put(document);
}

/* Puts an operator in place (taken over), effective in the next tick. */
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
