/*
 * The requested stiffness and mass of a tool, and those that its device renders.
 */
#include <assert.h>

#include "server/rest/call.h"

/* The mass that the device has to render: a held object's own; for links and members of systems the
 * loop's last value. */
static void model_mass(const gw_scene *scene, const gw_tool *tool, const gw_tool_state *state,
                       gw_render_request *request)
{
    int object = gw_scene_object(scene, tool->object);
    request->mass = state && state->felt_mass > 0 ? state->felt_mass : 1;
    request->inertia = state && state->felt_inertia > 0 ? state->felt_inertia : 1;
    request->couplings = state ? state->couplings : 1;
    if (tool->desired.has_mass) {
        request->mass = gw_desired_least_mass(&tool->desired);
        request->inertia = gw_desired_least_inertia(&tool->desired);
        return;
    }
    if (state || object < 0)
        return;
    gw_mass mass = gw_object_mass(&scene->objects[object]);
    request->mass = mass.mass;
    request->inertia = fmin(fmin(mass.inertia.m[0][0], mass.inertia.m[1][1]), mass.inertia.m[2][2]);
}

json_t *api_rendered(const gw_scene *scene, int index, const gw_device_info *info,
                     const gw_snapshot *snapshot)
{
    assert(scene && info && index >= 0 && index < scene->tool_count);
    const gw_tool *tool = &scene->tools[index];
    const gw_tool_state *state =
        snapshot && index < snapshot->tool_count ? &snapshot->tools[index] : NULL;
    double s = tool->force_scale > 0 ? tool->force_scale : 1;
    double k = tool->workspace.has_scale ? tool->workspace.scale : state ? state->map_scale : 1;
    gw_render_request request = {.bandwidth = info->bandwidth,
                                 .structure = s * info->stiffness,
                                 .structure_angular = s * info->stiffness_angular / (k * k),
                                 .device = {.mass = s * info->mass,
                                            .inertia = s * info->inertia / (k * k),
                                            .damping = s * info->damping,
                                            .damping_angular = s * info->damping_angular / (k * k),
                                            .force_max = s * info->force_max / k,
                                            .delay = info->delay,
                                            .velocity_delay = info->velocity_delay},
                                 .dt = 1.0 / gw_scene_step_rate(scene)};
    if (tool->control != GW_CONTROL_ADMITTANCE)
        request.def = &tool->rendering;
    request.desired = &tool->desired;
    model_mass(scene, tool, state, &request);
    gw_rendered rendered = gw_renderable_values(&request);
    return wire_rendered(&rendered);
}

void api_rendered_get(api_call *call)
{
    gw_device_info info;
    gw_snapshot *snapshot = api_snapshot(call);
    if (!snapshot)
        return;
    app_document *document = app_read_state(call->app, snapshot);
    json_t *list = json_array();
    for (int i = 0; i < document->scene->tool_count; i++)
        if (app_device_info(call->app, document->scene->tools[i].device, &info))
            json_array_append_new(list, api_rendered(document->scene, i, &info, snapshot));
    api_json(call, 200, list);
    app_document_put(document);
}
