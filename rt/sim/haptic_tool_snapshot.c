/*
 * The part of a haptic tool in the snapshot. On the loop's thread, RT safe.
 */
#include "rt/sim/haptic_tool.h"

/* Splits the operator's force into components along the free directions of the tool's origin and
 * normal to them. */
static void split_force(const gw_haptic_tool *tool, gw_tool_state *state)
{
    double columns[GW_MODEL_MAX_DOF][6], drift[6];
    gw_vec3 free[3], force = state->operator.f, normal = force;
    const gw_model *model = tool->shared ? tool->shared : &tool->body.model;
    int count = 0, dof = gw_model_dof(model);
    if (gw_norm2(force) == 0)
        return;
    gw_model_jacobian(model, columns, drift);
    for (int k = 0; k < dof && count < 3; k++) {
        gw_vec3 d = {columns[k][0], columns[k][1], columns[k][2]};
        double whole = gw_norm(d);
        for (int i = 0; i < count; i++)
            d = gw_reject(d, free[i]);
        if (gw_norm(d) <= 1e-6 * whole || whole < 1e-9)
            continue;
        free[count++] = gw_unit(d);
    }
    for (int i = 0; i < count; i++)
        normal = gw_reject(normal, free[i]);
    state->force_normal = count == 3 ? 0 : gw_norm(normal);
    state->force_tangential = gw_norm(count == 3 ? force : gw_sub(force, normal));
}

static void publish_motion(const gw_haptic_tool *tool, gw_motion_state *s)
{
    const gw_motion_executor *motion = &tool->motion;
    *s = (gw_motion_state){.active = motion->active,
                           .moving = motion->moving,
                           .tag = motion->tag,
                           .outcome = motion->outcome,
                           .reaction = motion->reaction};
    if (!motion->active)
        return;
    s->parameter_count = tool->body.def.set.dof;
    gw_submanifold_parameters_at(&tool->body.def.set, &tool->body.pose, s->parameters);
}

static void publish_control(const gw_haptic_tool *tool, gw_tool_state *s)
{
    s->renders = true;
    s->hand = tool->output.hand;
    s->resisted = tool->control.resisted;
    s->port = tool->control.observer.excess;
}

void gw_haptic_tool_publish_state(const gw_haptic_tool *tool, gw_tool_state *s)
{
    gw_pose truth;
    *s = (gw_tool_state){
        .object = tool->def->object, .mechanism = tool->def->mechanism, .link = tool->def->link};
    s->map_scale = tool->map.scale;
    s->map_centre = tool->map.centre;
    s->felt_mass = tool->felt_mass;
    s->couplings = tool->couplings;
    s->felt_inertia = tool->felt_inertia;
    s->world_from_object = gw_haptic_tool_object_pose(tool);
    s->world_from_tool = tool->pose;
    s->twist = tool->twist;
    s->device = s->device_true = tool->pose;
    if (tool->reading.valid)
        s->device = s->device_true = gw_workspace_to_task(&tool->map, &tool->reading.pose);
    if (gw_device_slot_true_pose(tool->def->slot, &truth))
        s->device_true = gw_workspace_to_task(&tool->map, &truth);
    s->operator= tool->wrench;
    gw_twist error = gw_pose_sub(&s->device, &s->world_from_tool);
    s->error_p = gw_norm(error.v);
    s->error_r = gw_norm(error.w);
    s->residual = tool->shared ? 0 : gw_guided_residual(&tool->body, &s->world_from_object);
    s->clutched = tool->clutched;
    s->dragging = tool->drag.active;
    s->contact = tool->unilaterals.wrench;
    s->walls = tool->unilaterals.touching;
    s->depth = tool->unilaterals.depth;
    if (!tool->shared)
        publish_motion(tool, &s->guide);
    s->too_light = tool->desired.too_light;
    if (tool->def->renders)
        publish_control(tool, s);
    split_force(tool, s);
}

void gw_haptic_tool_publish_step(const gw_haptic_tool *tool, gw_tool_state *state)
{
    state->constraint = tool->constraint;
    state->limited = tool->limited;
    if (!tool->def->renders)
        return;
    state->command = gw_wrench_scale(1 / tool->map.force, tool->output.command);
    state->impulse = gw_wrench_scale(1 / tool->map.force, tool->output.impulse);
    state->damped = tool->damped;
    state->withheld = tool->withheld;
}
